"""Values of elements in native code: what LLVM IR reads of an element, a number or memory, and makes an element of.

A value, `%value`, is three words: its bits if it is an integer or a truth value, else a double, and the double of its
imaginary part. Beside it goes its code, the number of its dtype in VALUE_DTYPES, or that of a Python number, which
takes the dtype of what it meets.
"""

from __future__ import annotations

from string import Template
from typing import Any

import numpy as np

from nbx_array.backend.contract import Device
from nbx_array.backend.objects import Table
from nbx_array.kernels.signature import VALUE_DTYPES, leaf

_DTYPES = [np.dtype(code) for code in VALUE_DTYPES]
_BOOL, _FLOAT32, _FLOAT64, _UINT64, _COMPLEX64, _COMPLEX128 = map(
    VALUE_DTYPES.index, ("b1", "f4", "f8", "u8", "c8", "c16")
)
_FLOAT, _INT, _COMPLEX = range(len(_DTYPES), len(_DTYPES) + 3)  # Python's
_CODES = len(_DTYPES) + 3
_WHOLE = [dtype if dtype.kind in "iu" else np.dtype(np.int64) for dtype in _DTYPES]

NAMES: dict[str, Any] = {
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

_CALLS = """
define internal ptr @call_with_one(ptr %function, ptr %first) {
  %operands = alloca ptr
  store ptr %first, ptr %operands
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %operands, i64 1, ptr null)
  ret ptr %result
}
define internal ptr @call_with_two(ptr %function, ptr %first, ptr %second) {
  %operands = alloca [2 x ptr]
  store ptr %first, ptr %operands
  %second_at = getelementptr ptr, ptr %operands, i64 1
  store ptr %second, ptr %second_at
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %operands, i64 2, ptr null)
  ret ptr %result
}
"""

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


WORDS: dict[str, object] = {
    "true": True,
    "false": False,
    "none": None,
    "nothing": (),
    "float_type": float,
    "int_type": int,
    "complex_type": complex,
    "tuple_type": tuple,
    "slice_type": slice,
}
"""Objects that the code knows by these names, besides those of `_fastpath`."""


def groups(device: Device) -> dict[str, list[object]]:
    """The signatures of elements and NumPy's types of scalars, by their codes."""
    return {
        "signatures": [leaf(dtype, device).element for dtype in _DTYPES],
        "types": [dtype.type for dtype in _DTYPES],
    }


def text() -> str:
    """The IR: `decode`, `convert`, `element` and their like."""
    declarations = "declare double @llvm.fabs.f64(double)\n"
    return "".join((declarations, _CALLS, _fetch(), _put(), Template(_VALUES).substitute(NAMES, GENERIC=_generic())))
