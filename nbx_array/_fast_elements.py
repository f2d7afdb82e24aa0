"""Elements that were read on the CPU, in native code: reading and writing one, arithmetic of two, conversions.

A loop over elements costs what its steps cost, in Python 0.4 to 1 µs each. Here they are written once more as LLVM IR,
0.1 µs a step, for arrays in memory and values that fit 64 bits. A step that is not simple and exact gives null, and the
Python method decides: this code raises nothing. Its arithmetic has the bits of the kernels: float64 and wrapping
integers are the processor's own; float32 is computed in float64 and rounded once more, which for sums, products,
quotients and square roots is right (Figueroa, "When is double rounding innocuous?", 1995).

A value, `%value`, is three words: its bits if it is an integer or a truth value, else a double, and the double of its
imaginary part. Beside it goes its code, the number of its dtype in VALUE_DTYPES, or that of a Python number, which
takes the dtype of what it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Template
from typing import Any

import numpy as np

from nbx_array.backend import native
from nbx_array.backend.contract import Device
from nbx_array.backend.objects import Table
from nbx_array.kernels.signature import VALUE_DTYPES, leaf

REAL_RESULTS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
WHOLE_RESULTS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}
QUOTIENTS = ("floor_divide", "remainder")
SHIFTS = {"bitwise_left_shift": ("shl", "shl"), "bitwise_right_shift": ("ashr", "lshr")}  # of signed ones, unsigned
ORDERS = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
EQUALITIES = {"equal": ("oeq", "eq", "and"), "not_equal": ("une", "ne", "or")}  # of reals, integers, complex parts
BINARY = (*REAL_RESULTS, "bitwise_and", "bitwise_or", "bitwise_xor", *QUOTIENTS, *SHIFTS, *ORDERS, *EQUALITIES)
"""Operations on two elements, by their numbers."""

REAL_FUNCTIONS = {
    "negative": "fneg double %a",
    "positive": "fadd double %a, -0.0",
    "abs": "call double @llvm.fabs.f64(double %a)",
    "square": "fmul double %a, %a",
    "sqrt": "call double @llvm.sqrt.f64(double %a)",
}
WHOLE_FUNCTIONS = {
    "negative": "sub i64 0, %x",
    "positive": "add i64 %x, 0",
    "abs": "call i64 @llvm.abs.i64(i64 %x, i1 false)",
    "square": "mul i64 %x, %x",
    "bitwise_invert": "xor i64 %x, -1",
}
UNARY = (*REAL_FUNCTIONS, "bitwise_invert")
"""Operations on one."""

_DTYPES = [np.dtype(code) for code in VALUE_DTYPES]
_BOOL, _FLOAT32, _FLOAT64, _UINT64, _COMPLEX64, _COMPLEX128 = map(
    VALUE_DTYPES.index, ("b1", "f4", "f8", "u8", "c8", "c16")
)
_FLOAT, _INT, _COMPLEX = range(len(_DTYPES), len(_DTYPES) + 3)  # Python's
_CODES = len(_DTYPES) + 3
_WHOLE = [dtype if dtype.kind in "iu" else np.dtype(np.int64) for dtype in _DTYPES]

_NAMES: dict[str, Any] = {
    "BOOL": _BOOL,
    "FLOAT32": _FLOAT32,
    "FLOAT64": _FLOAT64,
    "UINT64": _UINT64,
    "COMPLEX64": _COMPLEX64,
    "COMPLEX128": _COMPLEX128,
    "FLOAT": _FLOAT,
    "INT": _INT,
    "COMPLEX": _COMPLEX,
    "CODES": _CODES,
    "NO_INDEX": -(2**63),
    "EXACT32": 2**24,
    "EXACT64": 2**53,
}


def _promoted(left: int, right: int) -> int:
    """The dtype in which two values meet, -1 where that is not simple."""
    weak = max(left, right)
    if weak >= _FLOAT:
        typed = min(left, right)
        if typed >= _FLOAT or typed in (_BOOL, _COMPLEX64):
            return -1
        if weak == _COMPLEX:
            return -1 if typed == _FLOAT32 else _COMPLEX128
        return _FLOAT64 if weak == _FLOAT and _DTYPES[typed].kind in "iu" else typed
    common = np.result_type(_DTYPES[left], _DTYPES[right])
    whole = _DTYPES[left].kind in "biu" and _DTYPES[right].kind in "biu"
    return -1 if common not in _DTYPES or (whole and common.kind == "f") else _DTYPES.index(common)


def _kinds() -> list[int]:
    """By code: 0 of integers and truth values, 1 of real numbers, 2 of complex ones."""
    kinds = [1 if dtype.kind == "f" else 2 if dtype.kind == "c" else 0 for dtype in _DTYPES]
    return [*kinds, 1, 0, 2]


TABLES: dict[str, Table] = {
    "promoted": (8, [_promoted(i, j) for i in range(_CODES) for j in range(_CODES)]),
    "kind": (8, _kinds()),
    "itemsize": (64, [dtype.itemsize for dtype in _DTYPES]),
    "spare": (64, [64 - 8 * dtype.itemsize for dtype in _WHOLE]),  # bits of 64 that an integer has not
    "signed": (1, [int(dtype.kind == "i") for dtype in _WHOLE]),
    "lowest": (64, [int(np.iinfo(dtype).min) for dtype in _WHOLE]),
    "highest": (64, [min(int(np.iinfo(dtype).max), 2**63 - 1) for dtype in _WHOLE]),
}


def _switch(prefix: str, names: Iterable[str], order: tuple[str, ...]) -> str:
    cases = " ".join(f"i64 {order.index(name)}, label %{prefix}_{name}" for name in names)
    return f"switch i64 %operation, label %miss [ {cases} ]"


# ---------------------------------------------------------------------------------------------- values in memory


def _by_code(name: str, arguments: str, cases: list[str]) -> str:
    labels = " ".join(f"i64 {k}, label %case{k}" for k in range(len(cases)))
    blocks = "".join(f"case{k}:\n{case}  br label %done\n" for k, case in enumerate(cases))
    return (
        f"define internal void @{name}(i64 %code, {arguments}) {{\n"
        "  %imag_at = getelementptr double, ptr %value, i64 2\n  %real_at = getelementptr double, ptr %value, i64 1\n"
        f"  switch i64 %code, label %done [ {labels} ]\n{blocks}done:\n  ret void\n}}\n"
    )


def _parts(dtype: np.dtype) -> list[tuple[str, str, int]]:
    """Of a number: where each part lies in a value, its type in memory, and how many bytes in."""
    bits = 8 * dtype.itemsize
    if dtype.kind == "f":
        return [("real_at", "float" if bits == 32 else "double", 0)]
    if dtype.kind == "c":
        part = "float" if bits == 64 else "double"
        return [("real_at", part, 0), ("imag_at", part, dtype.itemsize // 2)]
    return [("value", f"i{bits}", 0)]


def _fetch() -> str:
    """Read a value."""
    cases = []
    for k, dtype in enumerate(_DTYPES):
        case = ""
        for n, (place, kind, offset) in enumerate(_parts(dtype)):
            name = f"v{k}_{n}"
            case += f"  %{name}_at = getelementptr i8, ptr %address, i64 {offset}\n"
            case += f"  %{name} = load {kind}, ptr %{name}_at, align 1\n"
            if kind == "float":
                case += f"  %w{name} = fpext float %{name} to double\n  store double %w{name}, ptr %{place}\n"
            elif kind in ("double", "i64"):
                case += f"  store {kind} %{name}, ptr %{place}\n"
            else:
                widen = "sext" if dtype.kind == "i" else "zext"
                case += f"  %w{name} = {widen} {kind} %{name} to i64\n  store i64 %w{name}, ptr %{place}\n"
        cases.append(case)
    return _by_code("fetch", "ptr %address, ptr %value", cases)


def _put() -> str:
    """Write a value."""
    cases = []
    for k, dtype in enumerate(_DTYPES):
        case = ""
        for n, (place, kind, offset) in enumerate(_parts(dtype)):
            name = f"v{k}_{n}"
            wide = "i64" if place == "value" else "double"
            case += f"  %{name}_at = getelementptr i8, ptr %address, i64 {offset}\n"
            case += f"  %{name} = load {wide}, ptr %{place}\n"
            if kind == wide:
                case += f"  store {kind} %{name}, ptr %{name}_at, align 1\n"
            else:
                narrow = "fptrunc" if kind == "float" else "trunc"
                case += f"  %n{name} = {narrow} {wide} %{name} to {kind}\n"
                case += f"  store {kind} %n{name}, ptr %{name}_at, align 1\n"
        cases.append(case)
    return _by_code("put", "ptr %address, ptr %value", cases)


# ------------------------------------------------------------------------------------- values and Python's objects

_VALUES = """
define internal i64 @wrapped(i64 %code, i64 %whole) {
  %spare = entry spare[%code]
  %signed = entry signed[%code]
  %up = shl i64 %whole, %spare
  %arithmetic = ashr i64 %up, %spare
  %logical = lshr i64 %up, %spare
  %result = select i1 %signed, i64 %arithmetic, i64 %logical
  ret i64 %result
}
define internal double @as_real(i64 %code, i64 %whole) {
  %signed = sitofp i64 %whole to double
  %unsigned = uitofp i64 %whole to double
  %is_unsigned = icmp eq i64 %code, $UINT64
  %result = select i1 %is_unsigned, double %unsigned, double %signed
  ret double %result
}
define internal double @as_float32(double %real) {
  %narrow = fptrunc double %real to float
  %result = fpext float %narrow to double
  ret double %result
}
define internal i1 @round_at(ptr %place) { ; to float32; false where a number becomes infinite
  %given = load double, ptr %place
  %rounded = call double @as_float32(double %given)
  %given_size = call double @llvm.fabs.f64(double %given)
  %rounded_size = call double @llvm.fabs.f64(double %rounded)
  %infinite = fcmp oeq double %rounded_size, 0x7FF0000000000000
  %differs = fcmp one double %given_size, %rounded_size
  %overflows = and i1 %infinite, %differs
  %fits = xor i1 %overflows, true
  store double %rounded, ptr %place
  ret i1 %fits
}
define internal i1 @convert(i64 %code, i64 %target, ptr %value) {
  %same = icmp eq i64 %code, %target
  br i1 %same, label %yes, label %look
look:
  %from = entry kind[%code]
  %to = entry kind[%target]
  %descends = icmp ugt i8 %from, %to
  br i1 %descends, label %no, label %go
go:
  %number = load i64, ptr %value
  %real_at = getelementptr double, ptr %value, i64 1
  %imag_at = getelementptr double, ptr %value, i64 2
  %is_weak = icmp eq i64 %code, $INT
  %single_real = icmp eq i64 %target, $FLOAT32
  %single_complex = icmp eq i64 %target, $COMPLEX64
  %to_single = or i1 %single_real, %single_complex
  %to_whole = icmp eq i8 %to, 0
  br i1 %to_whole, label %whole, label %part
part:
  %from_whole = icmp eq i8 %from, 0
  br i1 %from_whole, label %widen, label %precision
widen:
  %limit = select i1 %to_single, i64 $EXACT32, i64 $EXACT64
  %must_fit = or i1 %to_single, %is_weak
  %negated = sub i64 0, %limit
  %too_low = icmp slt i64 %number, %negated
  %too_high = icmp sgt i64 %number, %limit
  %outside = or i1 %too_low, %too_high
  %inexact = and i1 %must_fit, %outside
  %wide = call double @as_real(i64 %code, i64 %number)
  store double %wide, ptr %real_at
  br i1 %inexact, label %no, label %yes
precision:
  br i1 %to_single, label %round, label %yes
round:
  %real_fits = call i1 @round_at(ptr %real_at)
  %imag_fits = call i1 @round_at(ptr %imag_at)
  %fit = and i1 %real_fits, %imag_fits
  ret i1 %fit
whole:
  %to_bool = icmp eq i64 %target, $BOOL
  br i1 %to_bool, label %no, label %range
range:
  %lowest = entry lowest[%target]
  %highest = entry highest[%target]
  %below = icmp slt i64 %number, %lowest
  %above = icmp sgt i64 %number, %highest
  %misses = or i1 %below, %above
  %was_unsigned = icmp eq i64 %code, $UINT64
  %has_sign = icmp slt i64 %number, 0
  %huge = and i1 %was_unsigned, %has_sign
  %refused = or i1 %misses, %huge
  br i1 %refused, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}
define internal ptr @number_of(i64 %code, ptr %value) {
  %real_at = getelementptr double, ptr %value, i64 1
  %real = load double, ptr %real_at
  %whole = load i64, ptr %value
  %kind = entry kind[%code]
  %is_real = icmp eq i8 %kind, 1
  br i1 %is_real, label %float, label %other
float:
  %made_float = call ptr @PyFloat_FromDouble(double %real)
  ret ptr %made_float
other:
  switch i64 %code, label %int [ i64 $BOOL, label %bool i64 $UINT64, label %unsigned ]
int:
  %made_int = call ptr @PyLong_FromLongLong(i64 %whole)
  ret ptr %made_int
unsigned:
  %made_unsigned = call ptr @PyLong_FromUnsignedLongLong(i64 %whole)
  ret ptr %made_unsigned
bool:
  %true = word true
  %false = word false
  %zero = icmp eq i64 %whole, 0
  %truth = select i1 %zero, ptr %false, ptr %true
  count %truth
  ret ptr %truth
}
define internal ptr @arguments_of(i64 %code, ptr %value) {
  %kind = entry kind[%code]
  %complex = icmp eq i8 %kind, 2
  br i1 %complex, label %two, label %one
one:
  %number = call ptr @number_of(i64 %code, ptr %value)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %failed, label %pack
pack:
  %single = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %number)
  drop %number
  ret ptr %single
two:
  %real_at = getelementptr double, ptr %value, i64 1
  %imag_at = getelementptr double, ptr %value, i64 2
  %real = load double, ptr %real_at
  %imag = load double, ptr %imag_at
  %first = call ptr @PyFloat_FromDouble(double %real)
  %second = call ptr @PyFloat_FromDouble(double %imag)
  %no_first = icmp eq ptr %first, null
  %no_second = icmp eq ptr %second, null
  %lost = or i1 %no_first, %no_second
  br i1 %lost, label %lose, label %pair
pair:
  %both = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %first, ptr %second)
  drop %first, %second
  ret ptr %both
lose:
  drop %first, %second
  br label %failed
failed:
  ret ptr null
}
define internal ptr @element(i64 %code, ptr %value) { ; null, without an exception, where memory is short
  %args = call ptr @arguments_of(i64 %code, ptr %value)
  %no_args = icmp eq ptr %args, null
  br i1 %no_args, label %failed, label %make
make:
  %array_type = word array_type
  %new = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)
  %no_new = icmp eq ptr %new, null
  br i1 %no_new, label %lose, label %complete
complete:
  %sig = word signatures[%code]
  %nothing = word nothing
  count %sig, %nothing, %nothing
  fill array.sig %new, %sig
  fill array.args %new, %args
  fill array.dims %new, %nothing
  fill array.keep %new, %nothing
  ret ptr %new
lose:
  drop %args
  br label %failed
failed:
  call void @PyErr_Clear()
  ret ptr null
}
define internal i1 @is_array(ptr %object) { ; one of ours that was made
  %type_at = getelementptr ptr, ptr %object, i64 1
  %type = load ptr, ptr %type_at
  %array_type = word array_type
  %ours = icmp eq ptr %type, %array_type
  br i1 %ours, label %array, label %no
array:
  %sig = slot array.sig %object
  %made = icmp ne ptr %sig, null
  ret i1 %made
no:
  ret i1 false
}
define internal i1 @is_element(ptr %object) {
  %array = call i1 @is_array(ptr %object)
  br i1 %array, label %look, label %no
look:
  %sig = slot array.sig %object
  %code = slot sig.code %sig
  %no_code = word none
  %is_element = icmp ne ptr %code, %no_code
  ret i1 %is_element
no:
  ret i1 false
}
define internal i64 @decode(ptr %object, i1 %any, ptr %value) {
  %real_at = getelementptr double, ptr %value, i64 1
  %imag_at = getelementptr double, ptr %value, i64 2
  store i64 0, ptr %value
  store double 0.0, ptr %real_at
  store double 0.0, ptr %imag_at
  %array = call i1 @is_array(ptr %object)
  br i1 %array, label %ours, label %python
ours:
  %sig = slot array.sig %object
  %args = slot array.args %object
  %code_object = slot sig.code %sig
  %no_code = word none
  %in_memory = icmp eq ptr %code_object, %no_code
  br i1 %in_memory, label %memory, label %held
held:
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  %first = call ptr @PyTuple_GetItem(ptr %args, i64 0)
  %kind = entry kind[%code]
  switch i8 %kind, label %held_complex [ i8 0, label %held_whole i8 1, label %held_real ]
held_complex:
  %second = call ptr @PyTuple_GetItem(ptr %args, i64 1)
  %held_imag = call double @PyFloat_AsDouble(ptr %second)
  store double %held_imag, ptr %imag_at
  br label %held_real
held_real:
  %held_double = call double @PyFloat_AsDouble(ptr %first)
  store double %held_double, ptr %real_at
  ret i64 %code
held_whole:
  %is_unsigned = icmp eq i64 %code, $UINT64
  br i1 %is_unsigned, label %held_unsigned, label %held_signed
held_unsigned:
  %bits = call i64 @PyLong_AsUnsignedLongLong(ptr %first)
  store i64 %bits, ptr %value
  ret i64 %code
held_signed:
  %integer = call i64 @PyLong_AsLongLong(ptr %first)
  store i64 %integer, ptr %value
  ret i64 %code
memory:
  %element_sig = slot sig.element %sig
  %dims = slot array.dims %object
  %no_element = icmp eq ptr %element_sig, %no_code
  %ndim = call i64 @PyTuple_Size(ptr %dims)
  %has_axes = icmp ne i64 %ndim, 0
  %many = or i1 %no_element, %has_axes
  %not_asked = xor i1 %any, true
  %unfit = or i1 %many, %not_asked
  br i1 %unfit, label %none, label %read
read:
  %read_object = slot sig.code %element_sig
  %read_code = call i64 @PyLong_AsLongLong(ptr %read_object)
  %address_object = call ptr @PyTuple_GetItem(ptr %args, i64 0)
  %address_bits = call i64 @PyLong_AsUnsignedLongLong(ptr %address_object)
  %address = inttoptr i64 %address_bits to ptr
  call void @fetch(i64 %read_code, ptr %address, ptr %value)
  ret i64 %read_code
python:
  %type_at = getelementptr ptr, ptr %object, i64 1
  %type = load ptr, ptr %type_at
  %float_type = word float_type
  %is_float = icmp eq ptr %type, %float_type
  br i1 %is_float, label %float, label %no_float
float:
  %double = call double @PyFloat_AsDouble(ptr %object)
  store double %double, ptr %real_at
  ret i64 $FLOAT
no_float:
  %int_type = word int_type
  %is_int = icmp eq ptr %type, %int_type
  br i1 %is_int, label %int, label %no_int
int:
  %long = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %long, ptr %value
  %doubtful = icmp eq i64 %long, -1
  br i1 %doubtful, label %ask, label %small
ask:
  %error = call ptr @PyErr_Occurred()
  %erred = icmp ne ptr %error, null
  br i1 %erred, label %large, label %small
small:
  ret i64 $INT
large:
  call void @PyErr_Clear()
  br label %none
no_int:
  %complex_type = word complex_type
  %is_complex = icmp eq ptr %type, %complex_type
  br i1 %is_complex, label %complex, label %generic
complex:
  %real = call double @PyComplex_RealAsDouble(ptr %object)
  %imag = call double @PyComplex_ImagAsDouble(ptr %object)
  store double %real, ptr %real_at
  store double %imag, ptr %imag_at
  ret i64 $COMPLEX
generic:
$GENERIC
  br label %none
none:
  ret i64 -1
}
"""
"""`convert` changes a value in place to what `target` makes of it; false where more is lost than digits of float32.
`decode` gives the code and the value of an element, of a number of NumPy's or Python's, -1 for all else; if `any`, of
an array of no dimension in memory, too."""


def _generic() -> str:
    """NumPy's scalars. Truth values and uint64 are no integers for Python's interface."""
    text = ""
    for k, dtype in enumerate(_DTYPES):
        if k in (_BOOL, _UINT64) or dtype.kind == "c":
            continue
        convert, kind, place = ("PyLong_AsLongLong", "i64", "value")
        if dtype.kind == "f":
            convert, kind, place = ("PyFloat_AsDouble", "double", "real_at")
        text += (
            f"  %type{k} = word types[{k}]\n  %is{k} = icmp eq ptr %type, %type{k}\n"
            f"  br i1 %is{k}, label %typed{k}, label %untyped{k}\ntyped{k}:\n"
            f"  %number{k} = call {kind} @{convert}(ptr %object)\n  store {kind} %number{k}, ptr %{place}\n"
            f"  ret i64 {k}\nuntyped{k}:\n"
        )
    return text


# ------------------------------------------------------------------------------------------------------ arithmetic

_OPERATE = """
define internal ptr @operate(ptr %left, ptr %right, i64 %operation) {
  %v1 = alloca [3 x i64]
  %v2 = alloca [3 x i64]
  %left_element = call i1 @is_element(ptr %left)
  %right_element = call i1 @is_element(ptr %right)
  %some = or i1 %left_element, %right_element
  br i1 %some, label %first, label %miss
first:
  %c1 = call i64 @decode(ptr %left, i1 true, ptr %v1)
  %no_left = icmp slt i64 %c1, 0
  br i1 %no_left, label %miss, label %second
second:
  %c2 = call i64 @decode(ptr %right, i1 true, ptr %v2)
  %no_right = icmp slt i64 %c2, 0
  br i1 %no_right, label %miss, label %both
both:
  %row = mul i64 %c1, $CODES
  %place = add i64 %row, %c2
  %common = entry promoted[%place]
  %code = sext i8 %common to i64
  %apart = icmp slt i64 %code, 0
  br i1 %apart, label %miss, label %meet
meet:
  %fits1 = call i1 @convert(i64 %c1, i64 %code, ptr %v1)
  %fits2 = call i1 @convert(i64 %c2, i64 %code, ptr %v2)
  %fit = and i1 %fits1, %fits2
  br i1 %fit, label %compute, label %miss
compute:
  %r1 = getelementptr double, ptr %v1, i64 1
  %r2 = getelementptr double, ptr %v2, i64 1
  %i1 = getelementptr double, ptr %v1, i64 2
  %i2 = getelementptr double, ptr %v2, i64 2
  %x = load i64, ptr %v1
  %y = load i64, ptr %v2
  %a = load double, ptr %r1
  %b = load double, ptr %i1
  %c = load double, ptr %r2
  %d = load double, ptr %i2
  %is_unsigned = icmp eq i64 %code, $UINT64
  %kind = entry kind[%code]
  switch i8 %kind, label %complexes [ i8 0, label %wholes i8 1, label %reals ]
reals:
  $REALS
wholes:
  %is_bool = icmp eq i64 %code, $BOOL
  br i1 %is_bool, label %bools, label %integers
bools:
  $BOOLS
integers:
  $INTEGERS
complexes: ; of complex64 every step would have to be rounded
  %double = icmp eq i64 %code, $COMPLEX128
  br i1 %double, label %complexes128, label %miss
complexes128:
  $COMPLEXES
$CASES
whole_divide:
  %dx = call double @as_real(i64 %code, i64 %x)
  %dy = call double @as_real(i64 %code, i64 %y)
  %quotient = fdiv double %dx, %dy
  store double %quotient, ptr %r1
  %divided = call ptr @element(i64 $FLOAT64, ptr %v1)
  ret ptr %divided
complex_multiply:
  %simple = call i1 @product(double %a, double %b, double %c, double %d, ptr %v1)
  br i1 %simple, label %complex_result, label %miss
complex_result:
  %complex_new = call ptr @element(i64 %code, ptr %v1)
  ret ptr %complex_new
real:
  %f = phi double $REAL_RESULTS
  %f32 = call double @as_float32(double %f)
  %single = icmp eq i64 %code, $FLOAT32
  %f_out = select i1 %single, double %f32, double %f
  store double %f_out, ptr %r1
  %real_new = call ptr @element(i64 %code, ptr %v1)
  ret ptr %real_new
whole:
  %i = phi i64 $WHOLE_RESULTS
  %i_out = call i64 @wrapped(i64 %code, i64 %i)
  store i64 %i_out, ptr %v1
  %whole_new = call ptr @element(i64 %code, ptr %v1)
  ret ptr %whole_new
truth:
  %t = phi i1 $TRUTHS
  %t_out = zext i1 %t to i64
  store i64 %t_out, ptr %v1
  %truth_new = call ptr @element(i64 $BOOL, ptr %v1)
  ret ptr %truth_new
miss:
  ret ptr null
}
define internal i1 @product(double %a, double %b, double %c, double %d, ptr %value) { ; where no operand is scaled
  %a_size = call double @llvm.fabs.f64(double %a)
  %b_size = call double @llvm.fabs.f64(double %b)
  %c_size = call double @llvm.fabs.f64(double %c)
  %d_size = call double @llvm.fabs.f64(double %d)
  %a_larger = fcmp ogt double %a_size, %b_size
  %c_larger = fcmp ogt double %c_size, %d_size
  %m = select i1 %a_larger, double %a_size, double %b_size
  %n = select i1 %c_larger, double %c_size, double %d_size
  %size = fmul double %m, %n
  %sized = fcmp ogt double %size, 0x0400000000000000
  %finite = fcmp olt double %size, 0x7FF0000000000000
  %simple = and i1 %sized, %finite
  br i1 %simple, label %go, label %done
go:
  %ac = fmul double %a, %c
  %bd = fmul double %b, %d
  %ad = fmul double %a, %d
  %bc = fmul double %b, %c
  %x = fsub double %ac, %bd
  %y = fadd double %ad, %bc
  %real_at = getelementptr double, ptr %value, i64 1
  %imag_at = getelementptr double, ptr %value, i64 2
  store double %x, ptr %real_at
  store double %y, ptr %imag_at
  ret i1 true
done:
  ret i1 false
}
"""
"""An operation on two operands of which one is an element, as an element; null for what is not simple."""

_ALTER = """
define internal ptr @alter(ptr %operand, i64 %operation) {
  %v = alloca [3 x i64]
  %code = call i64 @decode(ptr %operand, i1 false, ptr %v)
  %is_array = call i1 @is_array(ptr %operand)
  %some = icmp sgt i64 %code, $BOOL
  %fit = and i1 %some, %is_array
  br i1 %fit, label %compute, label %miss
compute:
  %r = getelementptr double, ptr %v, i64 1
  %i = getelementptr double, ptr %v, i64 2
  %x = load i64, ptr %v
  %a = load double, ptr %r
  %b = load double, ptr %i
  %is_unsigned = icmp eq i64 %code, $UINT64
  %kind = entry kind[%code]
  switch i8 %kind, label %complexes [ i8 0, label %wholes i8 1, label %reals ]
reals:
  $REALS
wholes:
  $WHOLES
complexes:
  %double = icmp eq i64 %code, $COMPLEX128
  br i1 %double, label %complexes128, label %miss
complexes128:
  $COMPLEXES
$CASES
whole_sqrt:
  %wide = call double @as_real(i64 %code, i64 %x)
  %root = call double @llvm.sqrt.f64(double %wide)
  store double %root, ptr %r
  %rooted = call ptr @element(i64 $FLOAT64, ptr %v)
  ret ptr %rooted
complex_negative:
  %minus_a = fneg double %a
  %minus_b = fneg double %b
  store double %minus_a, ptr %r
  store double %minus_b, ptr %i
  br label %complex_result
complex_square:
  %simple = call i1 @product(double %a, double %b, double %a, double %b, ptr %v)
  br i1 %simple, label %complex_result, label %miss
complex_result:
  %complex_new = call ptr @element(i64 %code, ptr %v)
  ret ptr %complex_new
real:
  %f = phi double $REAL_RESULTS
  %f32 = call double @as_float32(double %f)
  %single = icmp eq i64 %code, $FLOAT32
  %f_out = select i1 %single, double %f32, double %f
  store double %f_out, ptr %r
  %real_new = call ptr @element(i64 %code, ptr %v)
  ret ptr %real_new
whole:
  %n = phi i64 $WHOLE_RESULTS
  %n_out = call i64 @wrapped(i64 %code, i64 %n)
  store i64 %n_out, ptr %v
  %whole_new = call ptr @element(i64 %code, ptr %v)
  ret ptr %whole_new
miss:
  ret ptr null
}
"""
"""An operation on one element, as an element; null for what is not simple, and for all other arrays."""


def _operate() -> str:
    cases, reals, wholes, truths = "", [], [], []
    for name, instruction in REAL_RESULTS.items():
        cases += f"real_{name}:\n  %f_{name} = {instruction} double %a, %c\n  br label %real\n"
        reals.append(f"[ %f_{name}, %real_{name} ]")
        if name in ("add", "subtract"):
            cases += (
                f"complex_{name}:\n  %p_{name} = {instruction} double %a, %c\n"
                f"  %q_{name} = {instruction} double %b, %d\n"
                f"  store double %p_{name}, ptr %r1\n  store double %q_{name}, ptr %i1\n  br label %complex_result\n"
            )
    for name, instruction in WHOLE_RESULTS.items():
        cases += f"whole_{name}:\n  %i_{name} = {instruction} i64 %x, %y\n  br label %whole\n"
        wholes.append(f"[ %i_{name}, %whole_{name} ]")
    for name in QUOTIENTS:  # by 0 and by -1 another way: the first has no quotient, the second not always one
        divide, off, step = ("div", "q", "sub i64 %{0}_q, 1") if name == "floor_divide" else ("rem", "r", "")
        step = step.format(name) or f"add i64 %{name}_r, %y"
        cases += (
            f"whole_{name}:\n  %{name}_next = add i64 %y, 1\n  %{name}_none = icmp ult i64 %{name}_next, 2\n"
            f"  br i1 %{name}_none, label %miss, label %{name}_sign\n"
            f"{name}_sign:\n  br i1 %is_unsigned, label %{name}_unsigned, label %{name}_signed\n"
            f"{name}_unsigned:\n  %{name}_u = u{divide} i64 %x, %y\n  br label %whole\n"
            f"{name}_signed:\n  %{name}_q = sdiv i64 %x, %y\n  %{name}_r = srem i64 %x, %y\n"
            f"  %{name}_signs = xor i64 %{name}_r, %y\n  %{name}_opposed = icmp slt i64 %{name}_signs, 0\n"
            f"  %{name}_rest = icmp ne i64 %{name}_r, 0\n  %{name}_off = and i1 %{name}_rest, %{name}_opposed\n"
            f"  %{name}_other = {step}\n"
            f"  %{name}_s = select i1 %{name}_off, i64 %{name}_other, i64 %{name}_{off}\n  br label %whole\n"
        )
        wholes += [f"[ %{name}_u, %{name}_unsigned ]", f"[ %{name}_s, %{name}_signed ]"]
    for name, (signed, unsigned) in SHIFTS.items():  # by as many bits as there are, or more, another way
        cases += (
            f"whole_{name}:\n  %{name}_spare = entry spare[%code]\n  %{name}_bits = sub i64 64, %{name}_spare\n"
            f"  %{name}_fits = icmp ult i64 %y, %{name}_bits\n  br i1 %{name}_fits, label %{name}_go, label %miss\n"
            f"{name}_go:\n  %{name}_s = {signed} i64 %x, %y\n  %{name}_u = {unsigned} i64 %x, %y\n"
            f"  %{name}_i = select i1 %is_unsigned, i64 %{name}_u, i64 %{name}_s\n  br label %whole\n"
        )
        wholes.append(f"[ %{name}_i, %{name}_go ]")
    for name, condition in ORDERS.items():
        cases += (
            f"real_{name}:\n  %t_{name} = fcmp o{condition} double %a, %c\n  br label %truth\n"
            f"whole_{name}:\n  %s_{name} = icmp s{condition} i64 %x, %y\n  %u_{name} = icmp u{condition} i64 %x, %y\n"
            f"  %o_{name} = select i1 %is_unsigned, i1 %u_{name}, i1 %s_{name}\n  br label %truth\n"
        )
        truths += [f"[ %t_{name}, %real_{name} ]", f"[ %o_{name}, %whole_{name} ]"]
    for name, (real, whole, join) in EQUALITIES.items():
        cases += (
            f"real_{name}:\n  %t_{name} = fcmp {real} double %a, %c\n  br label %truth\n"
            f"whole_{name}:\n  %o_{name} = icmp {whole} i64 %x, %y\n  br label %truth\n"
            f"complex_{name}:\n  %p_{name} = fcmp {real} double %a, %c\n  %q_{name} = fcmp {real} double %b, %d\n"
            f"  %c_{name} = {join} i1 %p_{name}, %q_{name}\n  br label %truth\n"
        )
        truths += [f"[ %{letter}_{name}, %{kind}_{name} ]" for letter, kind in zip("toc", _KINDS, strict=True)]
    comparisons = (*ORDERS, *EQUALITIES)
    bits = ("bitwise_and", "bitwise_or", "bitwise_xor")
    return Template(_OPERATE).substitute(
        _NAMES,
        REALS=_switch("real", (*REAL_RESULTS, *comparisons), BINARY),
        BOOLS=_switch("whole", (*bits, *comparisons), BINARY),
        INTEGERS=_switch("whole", BINARY, BINARY),
        COMPLEXES=_switch("complex", ("add", "subtract", "multiply", *EQUALITIES), BINARY),
        CASES=cases,
        REAL_RESULTS=", ".join(reals),
        WHOLE_RESULTS=", ".join(wholes),
        TRUTHS=", ".join(truths),
    )


_KINDS = ("real", "whole", "complex")


def _alter() -> str:
    cases = "".join(f"real_{name}:\n  %f_{name} = {text}\n  br label %real\n" for name, text in REAL_FUNCTIONS.items())
    for name, text in WHOLE_FUNCTIONS.items():
        cases += f"whole_{name}:\n  %i_{name} = {text}\n"
        if name == "abs":
            cases += "  %i_size = select i1 %is_unsigned, i64 %x, i64 %i_abs\n"
        cases += "  br label %whole\n"
    wholes = [f"[ %i_{'size' if name == 'abs' else name}, %whole_{name} ]" for name in WHOLE_FUNCTIONS]
    return Template(_ALTER).substitute(
        _NAMES,
        REALS=_switch("real", REAL_FUNCTIONS, UNARY),
        WHOLES=_switch("whole", (*WHOLE_FUNCTIONS, "sqrt"), UNARY),
        COMPLEXES=_switch("complex", ("negative", "square"), UNARY),
        CASES=cases,
        REAL_RESULTS=", ".join(f"[ %f_{name}, %real_{name} ]" for name in REAL_FUNCTIONS),
        WHOLE_RESULTS=", ".join(wholes),
    )


def _operation_of() -> str:
    """The number of an operation on one element, by its name, which is one object wherever it is written."""
    text = "define internal i64 @operation_of(ptr %name) {\n  %n0 = add i64 0, -1\n"
    for k, name in enumerate(UNARY):
        text += (
            f"  %{name} = word unary[{k}]\n  %is_{name} = icmp eq ptr %name, %{name}\n"
            f"  %n{k + 1} = select i1 %is_{name}, i64 {k}, i64 %n{k}\n"
        )
    return f"{text}  ret i64 %n{len(UNARY)}\n}}\n"


# -------------------------------------------------------------------------------------------------------- indexing

_INDEXING = """
define internal i64 @integer_of(ptr %item) { ; an index, or the lowest integer for what is none
  %v = alloca [3 x i64]
  %code = call i64 @decode(ptr %item, i1 false, ptr %v)
  %invalid = icmp sle i64 %code, $BOOL
  br i1 %invalid, label %no, label %look
look:
  %kind = entry kind[%code]
  %no_integer = icmp ne i8 %kind, 0
  %is_unsigned = icmp eq i64 %code, $UINT64
  %unfit = or i1 %no_integer, %is_unsigned
  br i1 %unfit, label %no, label %yes
yes:
  %index = load i64, ptr %v
  ret i64 %index
no:
  ret i64 $NO_INDEX
}
define internal i64 @step(i64 %place, ptr %item, ptr %dims, i64 %axis) {
  %length_object = call ptr @PyTuple_GetItem(ptr %dims, i64 %axis)
  %length = call i64 @PyLong_AsLongLong(ptr %length_object)
  %index = call i64 @integer_of(ptr %item)
  %from_end = add i64 %index, %length
  %negative = icmp slt i64 %index, 0
  %k = select i1 %negative, i64 %from_end, i64 %index
  %inside = icmp ult i64 %k, %length
  %row = mul i64 %place, %length
  %there = add i64 %row, %k
  %result = select i1 %inside, i64 %there, i64 -1
  ret i64 %result
}
define internal i64 @place(ptr %dims, i64 %ndim, ptr %key) {
start:
  %is_tuple = call i1 @is_tuple(ptr %key)
  br i1 %is_tuple, label %several, label %single
single:
  %no_axis = icmp eq i64 %ndim, 0
  br i1 %no_axis, label %none, label %one
one:
  %only = call i64 @step(i64 0, ptr %key, ptr %dims, i64 0)
  ret i64 %only
several:
  %size = call i64 @PyTuple_Size(ptr %key)
  %agree = icmp eq i64 %size, %ndim
  br i1 %agree, label %loop, label %none
loop:
  %axis = phi i64 [ 0, %several ], [ %next, %inside ]
  %so_far = phi i64 [ 0, %several ], [ %found, %inside ]
  %more = icmp slt i64 %axis, %ndim
  br i1 %more, label %look, label %done
look:
  %item = call ptr @PyTuple_GetItem(ptr %key, i64 %axis)
  %found = call i64 @step(i64 %so_far, ptr %item, ptr %dims, i64 %axis)
  %next = add i64 %axis, 1
  %outside = icmp slt i64 %found, 0
  br i1 %outside, label %none, label %inside
inside:
  br label %loop
done:
  ret i64 %so_far
none:
  ret i64 -1
}
define internal i1 @is_tuple(ptr %key) {
  %type_at = getelementptr ptr, ptr %key, i64 1
  %type = load ptr, ptr %type_at
  %tuple_type = word tuple_type
  %is_tuple = icmp eq ptr %type, %tuple_type
  ret i1 %is_tuple
}
define internal i64 @elements_of(ptr %self) { ; the code of the elements that it reads, -1 where they carry no values
  %sig = slot array.sig %self
  %raw = icmp eq ptr %sig, null
  br i1 %raw, label %none, label %made
made:
  %element_sig = slot sig.element %sig
  %no_element_sig = word none
  %no_element = icmp eq ptr %element_sig, %no_element_sig
  br i1 %no_element, label %none, label %some
some:
  %code_object = slot sig.code %element_sig
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  ret i64 %code
none:
  ret i64 -1
}
define internal ptr @address_of(ptr %self, i64 %place, i64 %bytes) {
  %args = slot array.args %self
  %start_object = call ptr @PyTuple_GetItem(ptr %args, i64 0)
  %start = call i64 @PyLong_AsUnsignedLongLong(ptr %start_object)
  %behind = mul i64 %place, %bytes
  %there = add i64 %start, %behind
  %address = inttoptr i64 %there to ptr
  ret ptr %address
}
define ptr @__getitem__(ptr %self, ptr %key) {
  %operands = alloca [2 x ptr]
  %v = alloca [3 x i64]
  %code = call i64 @elements_of(ptr %self)
  %elsewhere = icmp slt i64 %code, 0
  br i1 %elsewhere, label %python, label %here
here:
  %dims = slot array.dims %self
  %ndim = call i64 @PyTuple_Size(ptr %dims)
  %place = call i64 @place(ptr %dims, i64 %ndim, ptr %key)
  %none = icmp slt i64 %place, 0
  br i1 %none, label %python, label %found
found:
  %itemsize = entry itemsize[%code]
  %is_tuple = call i1 @is_tuple(ptr %key)
  %is_vector = icmp eq i64 %ndim, 1
  %names_element = or i1 %is_tuple, %is_vector
  br i1 %names_element, label %read, label %row
read:
  %address = call ptr @address_of(ptr %self, i64 %place, i64 %itemsize)
  call void @fetch(i64 %code, ptr %address, ptr %v)
  %new = call ptr @element(i64 %code, ptr %v)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %python, label %done
done:
  ret ptr %new
row:
  %sig = slot array.sig %self
  %keep = slot array.keep %self
  %array_type = word array_type
  count %sig, %keep, %dims
  %rest = call ptr @PyTuple_GetSlice(ptr %dims, i64 1, i64 %ndim)
  drop %dims
  %no_rest = icmp eq ptr %rest, null
  br i1 %no_rest, label %no_row, label %measure
measure:
  %axis = phi i64 [ 1, %row ], [ %next, %longer ]
  %bytes = phi i64 [ %itemsize, %row ], [ %product, %longer ]
  %more = icmp slt i64 %axis, %ndim
  br i1 %more, label %longer, label %make
longer:
  %rest_axis = sub i64 %axis, 1
  %length_object = call ptr @PyTuple_GetItem(ptr %rest, i64 %rest_axis)
  %length = call i64 @PyLong_AsLongLong(ptr %length_object)
  %product = mul i64 %bytes, %length
  %next = add i64 %axis, 1
  br label %measure
make:
  %start = call ptr @address_of(ptr %self, i64 %place, i64 %bytes)
  %there = ptrtoint ptr %start to i64
  %number = call ptr @PyLong_FromUnsignedLongLong(i64 %there)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %no_args, label %pack
pack:
  %args = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %number)
  drop %number
  %no_pack = icmp eq ptr %args, null
  br i1 %no_pack, label %no_args, label %allocate
allocate:
  %view = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)
  %no_view = icmp eq ptr %view, null
  br i1 %no_view, label %lose, label %complete
complete:
  fill array.sig %view, %sig
  fill array.dims %view, %rest
  fill array.args %view, %args
  fill array.keep %view, %keep
  ret ptr %view
lose:
  drop %args
  br label %no_args
no_args:
  drop %rest
  br label %no_row
no_row:
  drop %sig, %keep
  br label %python
python:
  call void @PyErr_Clear()
  %method = word __getitem__
  store ptr %self, ptr %operands
  %second = getelementptr ptr, ptr %operands, i64 1
  store ptr %key, ptr %second
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 2, ptr null)
  ret ptr %result
}
define ptr @__setitem__(ptr %self, ptr %args, i64 %nargs) {
  %operands = alloca [3 x ptr]
  %v = alloca [3 x i64]
  %method = word __setitem__
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %begin, label %complain
complain: ; the Python method says what it takes
  %complaint = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 0, ptr null)
  ret ptr %complaint
begin:
  %key = load ptr, ptr %args
  %given_at = getelementptr ptr, ptr %args, i64 1
  %given = load ptr, ptr %given_at
  %code = call i64 @elements_of(ptr %self)
  %elsewhere = icmp slt i64 %code, 0
  br i1 %elsewhere, label %python, label %here
here: ; nothing may be pending, since it could read what is written
  %notes = word notes
  %pending = call i64 @PyList_Size(ptr %notes)
  %keep = slot array.keep %self
  %storage = call ptr @PyTuple_GetItem(ptr %keep, i64 0)
  %readers = slot storage.readers %storage
  %reading = call i64 @PyObject_Size(ptr %readers)
  %waiting = or i64 %pending, %reading
  %quiet = icmp eq i64 %waiting, 0
  br i1 %quiet, label %look, label %python
look:
  %dims = slot array.dims %self
  %ndim = call i64 @PyTuple_Size(ptr %dims)
  %place = call i64 @place(ptr %dims, i64 %ndim, ptr %key)
  %none = icmp slt i64 %place, 0
  br i1 %none, label %python, label %found
found:
  %is_tuple = call i1 @is_tuple(ptr %key)
  %is_vector = icmp eq i64 %ndim, 1
  %names_element = or i1 %is_tuple, %is_vector
  br i1 %names_element, label %take, label %python
take:
  %from = call i64 @decode(ptr %given, i1 false, ptr %v)
  %unfit = icmp slt i64 %from, 0
  br i1 %unfit, label %python, label %change
change:
  %fits = call i1 @convert(i64 %from, i64 %code, ptr %v)
  br i1 %fits, label %write, label %python
write:
  %itemsize = entry itemsize[%code]
  %address = call ptr @address_of(ptr %self, i64 %place, i64 %itemsize)
  call void @put(i64 %code, ptr %address, ptr %v)
  %nothing = word none
  count %nothing
  ret ptr %nothing
python:
  store ptr %self, ptr %operands
  %second = getelementptr ptr, ptr %operands, i64 1
  store ptr %key, ptr %second
  %third = getelementptr ptr, ptr %operands, i64 2
  store ptr %given, ptr %third
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 3, ptr null)
  ret ptr %result
}
"""
"""`place`: how many elements, or rows, behind the first the one lies that a key names; -1 for every other key. A tuple
names one element of all axes, an integer a row of the first."""

# ----------------------------------------------------------------------------------- conversions, in-place operators

_CONVERSION = Template("""
define ptr @$name(ptr %self, ptr %ignored) {
  %operand = alloca ptr
  %v = alloca [3 x i64]
  %code = call i64 @decode(ptr %self, i1 true, ptr %v)
  %unfit = icmp slt i64 %code, $lowest
  br i1 %unfit, label %python, label %look
look:
  %real_at = getelementptr double, ptr %v, i64 1
  %x = load i64, ptr %v
  %a = load double, ptr %real_at
  %kind = entry kind[%code]
  switch i8 %kind, label %python [ i8 0, label %whole i8 1, label %real ]
real:
  $real
whole:
  $whole
python:
  %method = word $name
  store ptr %self, ptr %operand
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operand, i64 1, ptr null)
  ret ptr %result
}
""")

_INTEGER = """%number = call ptr @number_of(i64 %code, ptr %v)
  ret ptr %number"""
_TRUTH = Template("""%is_true_$x = $comparison
  %true_$x = word true
  %false_$x = word false
  %truth_$x = select i1 %is_true_$x, ptr %true_$x, ptr %false_$x
  count %truth_$x
  ret ptr %truth_$x""")
_HASH = """br label %hash
hash:
  %value = call ptr @number_of(i64 %code, ptr %v)
  %lost = icmp eq ptr %value, null
  br i1 %lost, label %python, label %take
take:
  %hashed = call i64 @PyObject_Hash(ptr %value)
  drop %value
  %number = call ptr @PyLong_FromLongLong(i64 %hashed)
  ret ptr %number"""
_FLOAT_OF_WHOLE = """%wide = call double @as_real(i64 %code, i64 %x)
  %float_x = call ptr @PyFloat_FromDouble(double %wide)
  ret ptr %float_x"""
_FLOAT_OF_REAL = """%float_a = call ptr @PyFloat_FromDouble(double %a)
  ret ptr %float_a"""
_TO_PYTHON = "br label %python"

_CONVERSIONS = {
    "__float__": (_FLOAT_OF_REAL, _FLOAT_OF_WHOLE, _BOOL),
    "__int__": (_TO_PYTHON, _INTEGER, _BOOL + 1),
    "__index__": (_TO_PYTHON, _INTEGER, _BOOL + 1),
    "__bool__": (
        _TRUTH.substitute(x="a", comparison="fcmp une double %a, 0.0"),
        _TRUTH.substitute(x="x", comparison="icmp ne i64 %x, 0"),
        _BOOL,
    ),
    "__hash__": (_HASH, "br label %hash", _BOOL),
}
"""What methods without arguments make of a real value, of a whole one, and from which code on."""

_IN_PLACE = Template("""
define ptr @$name(ptr %self, ptr %other) {
  %operands = alloca [2 x ptr]
  %mine = call i1 @is_element(ptr %self)
  br i1 %mine, label %try, label %python
try:
  %new = call ptr @operate(ptr %self, ptr %other, i64 $operation)
  %missed = icmp eq ptr %new, null
  br i1 %missed, label %python, label %done
done:
  ret ptr %new
python:
  %method = word $name
  store ptr %self, ptr %operands
  %second = getelementptr ptr, ptr %operands, i64 1
  store ptr %other, ptr %second
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 2, ptr null)
  ret ptr %result
}
""")
"""An element stays what it is, so that `+=` makes a new one; what is no element is for the Python method."""

# ------------------------------------------------------------------------------------------------- what is taken over

WORDS: dict[str, object] = {
    "true": True,
    "false": False,
    "none": None,
    "nothing": (),
    "float_type": float,
    "int_type": int,
    "complex_type": complex,
    "tuple_type": tuple,
}
"""Objects that the code knows by these names, besides those of `_fastpath`."""


def groups(device: Device) -> dict[str, list[object]]:
    """The signatures of elements and NumPy's types of scalars by their codes, the names of operations on one."""
    return {
        "signatures": [leaf(dtype, device).element for dtype in _DTYPES],
        "types": [dtype.type for dtype in _DTYPES],
        "unary": list(UNARY),
    }


def methods(in_place: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    """Methods that have a native form: calling convention and parameters."""
    return {
        "__getitem__": (native.METH_O, "key, /"),
        "__setitem__": (native.METH_FASTCALL, "key, value, /"),
        **dict.fromkeys(_CONVERSIONS, (native.METH_NOARGS, "/")),
        **dict.fromkeys(in_place, (native.METH_O, "other, /")),
    }


def text(in_place: Mapping[str, str]) -> str:
    """The IR: `operate` and `alter` for the operators, and the methods themselves."""
    conversions = (
        _CONVERSION.substitute(name=name, real=real, whole=whole, lowest=lowest)
        for name, (real, whole, lowest) in _CONVERSIONS.items()
    )
    return "".join(
        (
            "declare double @llvm.fabs.f64(double)\ndeclare double @llvm.sqrt.f64(double)\n",
            "declare i64 @llvm.abs.i64(i64, i1)\n",
            _fetch(),
            _put(),
            Template(_VALUES).substitute(_NAMES, GENERIC=_generic()),
            _operate(),
            _alter(),
            _operation_of(),
            Template(_INDEXING).substitute(_NAMES),
            *conversions,
            *(_IN_PLACE.substitute(name=name, operation=BINARY.index(of)) for name, of in in_place.items()),
        )
    )
