"""Elements that were read on the CPU, in native code: reading and writing one, arithmetic of two, conversions.

A loop over elements costs what its steps cost, in Python 0.4 to 1 µs each. Here they are written once more as LLVM IR,
0.1 µs a step, for arrays in memory and values that fit 64 bits. A step that is not simple and exact gives null, and the
Python method decides: this code raises nothing. Its arithmetic has the bits of the kernels: float64 and wrapping
integers are the processor's own; float32 is computed in float64 and rounded once more, which for sums, products, quotients
and square roots is right (Figueroa, "When is double rounding innocuous?", 1995).

A value is a number of its dtype, its bits if it is whole or a truth value, and a double if it is real.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.contract import Device
from nbx_array.backend.objects import count, load, store, word
from nbx_array.kernels.signature import VALUE_DTYPES, element

BINARY = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
)
UNARY = ("negative", "positive", "abs", "bitwise_invert", "square", "sqrt")

_DTYPES = [np.dtype(code) for code in VALUE_DTYPES]
_BOOL, _FLOAT32, _FLOAT64, _UINT64 = map(VALUE_DTYPES.index, ("b1", "f4", "f8", "u8"))
_FLOAT, _INT = len(_DTYPES), len(_DTYPES) + 1  # Python's, which take the dtype of what they meet
_CODES = len(_DTYPES) + 2


def _promoted(left: int, right: int) -> int:
    """The dtype in which two values meet, -1 where that is not simple."""
    if left >= _FLOAT or right >= _FLOAT:
        typed, weak = min(left, right), max(left, right)
        if typed >= _FLOAT or typed == _BOOL:
            return -1
        return _FLOAT64 if weak == _FLOAT and _DTYPES[typed].kind != "f" else typed
    common = np.result_type(_DTYPES[left], _DTYPES[right])
    whole = _DTYPES[left].kind != "f" and _DTYPES[right].kind != "f"
    return -1 if common not in _DTYPES or (whole and common.kind == "f") else _DTYPES.index(common)


def _constant(name: str, bits: int, values: Sequence[int]) -> str:
    items = ", ".join(f"i{bits} {value}" for value in values)
    return f"@{name} = private constant [{len(values)} x i{bits}] [{items}]\n"


def _of_table(result: str, table: str, bits: int, size: int, place: str) -> str:
    return (
        f"  %{result}_at = getelementptr [{size} x i{bits}], ptr @{table}, i64 0, i64 {place}\n"
        f"  %{result} = load i{bits}, ptr %{result}_at\n"
    )


def _tables() -> str:
    whole = [dtype if dtype.kind in "iu" else np.dtype("i8") for dtype in _DTYPES]
    return (
        _constant("promoted", 8, [_promoted(i, j) for i in range(_CODES) for j in range(_CODES)])
        + _constant("spare", 64, [64 - 8 * dtype.itemsize for dtype in whole])  # bits of 64 that a dtype has not
        + _constant("is_real", 1, [int(dtype.kind == "f") for dtype in _DTYPES] + [1, 0])
        + _constant("is_signed", 1, [int(dtype.kind == "i") for dtype in whole])
        + _constant("lowest", 64, [int(np.iinfo(dtype).min) for dtype in whole])
        + _constant("highest", 64, [min(int(np.iinfo(dtype).max), 2**63 - 1) for dtype in whole])
    )


def _fetch() -> str:
    """Read a value from memory."""
    text = [
        "define internal void @fetch(i64 %code, ptr %address, ptr %whole, ptr %real) {\n  switch i64 %code, label %done [",
        *(f"    i64 {k}, label %read{k}" for k in range(len(_DTYPES))),
        "  ]",
    ]
    for k, dtype in enumerate(_DTYPES):
        bits = 8 * dtype.itemsize
        text.append(f"read{k}:")
        if dtype.kind == "f":
            kind = "float" if bits == 32 else "double"
            text += [f"  %v{k} = load {kind}, ptr %address, align 1"]
            if bits == 32:
                text += [f"  %w{k} = fpext float %v{k} to double"]
            text += [f"  store double %{'w' if bits == 32 else 'v'}{k}, ptr %real"]
        else:
            text += [f"  %v{k} = load i{bits}, ptr %address, align 1"]
            if bits < 64:
                text += [f"  %w{k} = {'sext' if dtype.kind == 'i' else 'zext'} i{bits} %v{k} to i64"]
            text += [f"  store i64 %{'w' if bits < 64 else 'v'}{k}, ptr %whole"]
        text.append("  br label %done")
    return "\n".join([*text, "done:", "  ret void", "}", ""])


def _keep() -> str:
    """Write a value to memory."""
    text = [
        "define internal void @keep(i64 %code, ptr %address, i64 %whole, double %real) {",
        "  switch i64 %code, label %done [",
        *(f"    i64 {k}, label %write{k}" for k in range(len(_DTYPES))),
        "  ]",
    ]
    for k, dtype in enumerate(_DTYPES):
        bits = 8 * dtype.itemsize
        text.append(f"write{k}:")
        if dtype.kind == "f":
            text += [f"  %v{k} = fptrunc double %real to float"] if bits == 32 else []
            kind, value = ("float", f"%v{k}") if bits == 32 else ("double", "%real")
        else:
            text += [f"  %v{k} = trunc i64 %whole to i{bits}"] if bits < 64 else []
            kind, value = f"i{bits}", f"%v{k}" if bits < 64 else "%whole"
        text += [f"  store {kind} {value}, ptr %address, align 1", "  br label %done"]
    return "\n".join([*text, "done:", "  ret void", "}", ""])


_VALUES = f"""define internal i64 @wrapped(i64 %code, i64 %whole) {{
{_of_table("spare", "spare", 64, len(_DTYPES), "%code")}\
{_of_table("signed", "is_signed", 1, len(_DTYPES), "%code")}\
  %up = shl i64 %whole, %spare
  %arithmetic = ashr i64 %up, %spare
  %logical = lshr i64 %up, %spare
  %result = select i1 %signed, i64 %arithmetic, i64 %logical
  ret i64 %result
}}
define internal double @as_real(i64 %code, i64 %whole) {{
  %signed = sitofp i64 %whole to double
  %unsigned = uitofp i64 %whole to double
  %is_unsigned = icmp eq i64 %code, {_UINT64}
  %result = select i1 %is_unsigned, double %unsigned, double %signed
  ret double %result
}}
define internal double @as_float32(double %real) {{
  %narrow = fptrunc double %real to float
  %result = fpext float %narrow to double
  ret double %result
}}
define internal i1 @convert(i64 %code, i64 %target, ptr %whole, ptr %real) {{
  %same = icmp eq i64 %code, %target
  br i1 %same, label %yes, label %look
look:
{_of_table("from_real", "is_real", 1, _CODES, "%code")}\
{_of_table("to_real", "is_real", 1, _CODES, "%target")}\
  %number = load i64, ptr %whole
  %to_single = icmp eq i64 %target, {_FLOAT32}
  %is_weak = icmp eq i64 %code, {_INT}
  br i1 %to_real, label %real_target, label %whole_target
real_target:
  br i1 %from_real, label %real_to_real, label %whole_to_real
real_to_real:
  br i1 %to_single, label %narrow, label %yes
narrow:
  %given = load double, ptr %real
  %rounded = call double @as_float32(double %given)
  %given_size = call double @llvm.fabs.f64(double %given)
  %rounded_size = call double @llvm.fabs.f64(double %rounded)
  %became_infinite = fcmp one double %given_size, %rounded_size
  %infinite = fcmp oeq double %rounded_size, 0x7FF0000000000000
  %overflowed = and i1 %became_infinite, %infinite
  store double %rounded, ptr %real
  br i1 %overflowed, label %no, label %yes
whole_to_real:
  %limit = select i1 %to_single, i64 {2**24}, i64 {2**53}
  %must_fit = or i1 %to_single, %is_weak
  %negated = sub i64 0, %limit
  %too_low = icmp slt i64 %number, %negated
  %too_high = icmp sgt i64 %number, %limit
  %outside = or i1 %too_low, %too_high
  %inexact = and i1 %must_fit, %outside
  %wide = call double @as_real(i64 %code, i64 %number)
  store double %wide, ptr %real
  br i1 %inexact, label %no, label %yes
whole_target:
  %to_bool = icmp eq i64 %target, {_BOOL}
  %lossy = or i1 %to_bool, %from_real
  br i1 %lossy, label %no, label %whole_to_whole
whole_to_whole:
{_of_table("lowest", "lowest", 64, len(_DTYPES), "%target")}\
{_of_table("highest", "highest", 64, len(_DTYPES), "%target")}\
  %below = icmp slt i64 %number, %lowest
  %above = icmp sgt i64 %number, %highest
  %misses = or i1 %below, %above
  %was_unsigned = icmp eq i64 %code, {_UINT64}
  %has_sign = icmp slt i64 %number, 0
  %huge = and i1 %was_unsigned, %has_sign
  %refused = or i1 %misses, %huge
  br i1 %refused, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
"""`convert` changes a value in place, where that is exact or what float32 makes of a real number short of infinity."""


def _objects(array: Mapping[str, int], sig: Mapping[str, int], words: Mapping[str, int]) -> str:
    """Between values and Python's objects."""

    def named(name: str) -> str:
        return word(name, words[name])

    return (
        "define internal ptr @number_of(i64 %code, i64 %whole, double %real) {\n"
        + _of_table("real_kind", "is_real", 1, _CODES, "%code")
        + "  br i1 %real_kind, label %float, label %whole_kind\n"
        "float:\n  %made_float = call ptr @PyFloat_FromDouble(double %real)\n  ret ptr %made_float\n"
        f"whole_kind:\n  switch i64 %code, label %int [ i64 {_BOOL}, label %bool i64 {_UINT64}, label %unsigned ]\n"
        "int:\n  %made_int = call ptr @PyLong_FromLongLong(i64 %whole)\n  ret ptr %made_int\n"
        "unsigned:\n  %made_unsigned = call ptr @PyLong_FromUnsignedLongLong(i64 %whole)\n  ret ptr %made_unsigned\n"
        "bool:\n"
        + named("true")
        + named("false")
        + "  %zero = icmp eq i64 %whole, 0\n  %truth = select i1 %zero, ptr %false, ptr %true\n"
        + count("truth")
        + "  ret ptr %truth\n}\n"
        # An array of no dimension that carries the value. Null, without an exception, where memory is short.
        "define internal ptr @element(i64 %code, i64 %whole, double %real) {\n"
        "  %value = call ptr @number_of(i64 %code, i64 %whole, double %real)\n"
        "  %no_value = icmp eq ptr %value, null\n  br i1 %no_value, label %failed, label %pack\npack:\n"
        "  %args = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %value)\n  call void @Py_DecRef(ptr %value)\n"
        "  %no_args = icmp eq ptr %args, null\n  br i1 %no_args, label %failed, label %make\nmake:\n"
        + named("array_type")
        + "  %new = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)\n"
        "  %no_new = icmp eq ptr %new, null\n  br i1 %no_new, label %drop, label %fill\nfill:\n"
        f"  %sig_index = add i64 %code, {words['signatures']}\n"
        + word("sig", "%sig_index")
        + named("nothing")
        + count("sig", "nothing", "nothing")
        + store("sig", "%new", array["sig"])
        + store("args", "%new", array["args"])
        + store("nothing", "%new", array["dims"])
        + f"  %keep_to = getelementptr i8, ptr %new, i64 {array['keep']}\n  store ptr %nothing, ptr %keep_to\n"
        "  ret ptr %new\n"
        "drop:\n  call void @Py_DecRef(ptr %args)\n  br label %failed\n"
        "failed:\n  call void @PyErr_Clear()\n  ret ptr null\n}\n"
        # The dtype's number of an element or of a Python number, and its value; -1 for all else. An array of no
        # dimension in memory counts as the element that it holds where `%any` is true.
        "define internal i64 @decode(ptr %object, i1 %any, ptr %whole, ptr %real) {\n"
        "  %type_at = getelementptr ptr, ptr %object, i64 1\n  %type = load ptr, ptr %type_at\n"
        + named("array_type")
        + "  %is_array = icmp eq ptr %type, %array_type\n  br i1 %is_array, label %array, label %scalar\narray:\n"
        + load("sig", "%object", array["sig"])
        + "  %raw = icmp eq ptr %sig, null\n  br i1 %raw, label %none, label %made\nmade:\n"
        + load("args", "%object", array["args"])
        + load("code", "%sig", sig["code"])
        + named("no_code")
        + "  %in_memory = icmp eq ptr %code, %no_code\n  br i1 %in_memory, label %memory, label %held\nheld:\n"
        "  %number = call i64 @PyLong_AsLongLong(ptr %code)\n"
        "  %value = call ptr @PyTuple_GetItem(ptr %args, i64 0)\n"
        + _of_table("real_kind", "is_real", 1, _CODES, "%number")
        + "  br i1 %real_kind, label %held_real, label %held_whole\n"
        "held_real:\n  %held_double = call double @PyFloat_AsDouble(ptr %value)\n"
        "  store double %held_double, ptr %real\n  ret i64 %number\n"
        f"held_whole:\n  %unsigned = icmp eq i64 %number, {_UINT64}\n"
        "  br i1 %unsigned, label %held_unsigned, label %held_signed\n"
        "held_unsigned:\n  %bits = call i64 @PyLong_AsUnsignedLongLong(ptr %value)\n"
        "  store i64 %bits, ptr %whole\n  ret i64 %number\n"
        "held_signed:\n  %integer = call i64 @PyLong_AsLongLong(ptr %value)\n"
        "  store i64 %integer, ptr %whole\n  ret i64 %number\n"
        "memory:\n"
        + load("element_sig", "%sig", sig["element"])
        + load("dims", "%object", array["dims"])
        + "  %no_element = icmp eq ptr %element_sig, %no_code\n"
        "  %ndim = call i64 @PyTuple_Size(ptr %dims)\n  %has_axes = icmp ne i64 %ndim, 0\n"
        "  %many = or i1 %no_element, %has_axes\n  %not_asked = xor i1 %any, true\n"
        "  %unfit = or i1 %many, %not_asked\n  br i1 %unfit, label %none, label %read\nread:\n"
        + load("read_code", "%element_sig", sig["code"])
        + "  %read_number = call i64 @PyLong_AsLongLong(ptr %read_code)\n"
        "  %address_object = call ptr @PyTuple_GetItem(ptr %args, i64 0)\n"
        "  %address_bits = call i64 @PyLong_AsUnsignedLongLong(ptr %address_object)\n"
        "  %address = inttoptr i64 %address_bits to ptr\n"
        "  call void @fetch(i64 %read_number, ptr %address, ptr %whole, ptr %real)\n  ret i64 %read_number\n"
        "scalar:\n"
        + named("float_type")
        + named("int_type")
        + "  %is_float = icmp eq ptr %type, %float_type\n  br i1 %is_float, label %float, label %other\n"
        "float:\n  %double = call double @PyFloat_AsDouble(ptr %object)\n  store double %double, ptr %real\n"
        f"  ret i64 {_FLOAT}\n"
        "other:\n  %is_int = icmp eq ptr %type, %int_type\n  br i1 %is_int, label %int, label %generic\n"
        "generic:\n"
        + "".join(
            word(f"type{k}", f"{words['types'] + k}")
            + f"  %is{k} = icmp eq ptr %type, %type{k}\n  br i1 %is{k}, label %typed{k}, label %untyped{k}\n"
            f"typed{k}:\n"
            + (
                f"  %float{k} = call double @PyFloat_AsDouble(ptr %object)\n  store double %float{k}, ptr %real\n"
                if _DTYPES[k].kind == "f"
                else f"  %int{k} = call i64 @PyLong_AsLongLong(ptr %object)\n  store i64 %int{k}, ptr %whole\n"
            )
            + f"  ret i64 {k}\nuntyped{k}:\n"
            for k in range(len(_DTYPES))
            if k not in (_BOOL, _UINT64)  # no integers for Python's interface
        )
        + "  br label %none\nint:\n"
        "  %long = call i64 @PyLong_AsLongLong(ptr %object)\n  store i64 %long, ptr %whole\n"
        "  %doubtful = icmp eq i64 %long, -1\n  br i1 %doubtful, label %ask, label %small\n"
        "ask:\n  %error = call ptr @PyErr_Occurred()\n  %erred = icmp ne ptr %error, null\n"
        "  br i1 %erred, label %large, label %small\n"
        f"small:\n  ret i64 {_INT}\n"
        "large:\n  call void @PyErr_Clear()\n  br label %none\n"
        "none:\n  ret i64 -1\n}\n"
        "define internal i1 @is_element(ptr %object) {\n"
        "  %type_at = getelementptr ptr, ptr %object, i64 1\n  %type = load ptr, ptr %type_at\n"
        + named("array_type")
        + "  %is_array = icmp eq ptr %type, %array_type\n  br i1 %is_array, label %array, label %no\narray:\n"
        + load("sig", "%object", array["sig"])
        + "  %raw = icmp eq ptr %sig, null\n  br i1 %raw, label %no, label %made\nmade:\n"
        + load("code", "%sig", sig["code"])
        + named("no_code")
        + "  %is_element = icmp ne ptr %code, %no_code\n  ret i1 %is_element\nno:\n  ret i1 false\n}\n"
    )


_REAL_RESULTS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_WHOLE_RESULTS = {"add": "add", "subtract": "sub", "multiply": "mul"}
_WHOLE_RESULTS |= {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_REAL_TRUTHS = {"less": "olt", "less_equal": "ole", "greater": "ogt", "greater_equal": "oge"}
_REAL_TRUTHS |= {"equal": "oeq", "not_equal": "une"}
_WHOLE_TRUTHS = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def _switch(names: Mapping[str, Any], order: Sequence[str], prefix: str, *more: str) -> str:
    cases = " ".join(f"i64 {order.index(name)}, label %{prefix}_{name}" for name in (*names, *more))
    return f"  switch i64 %operation, label %miss [ {cases} ]\n"


def _operate() -> str:
    """An operation on two operands of which one is an element, as an element; null for what is not simple."""
    text = (
        "define internal ptr @operate(ptr %left, ptr %right, i64 %operation) {\n"
        "  %w1 = alloca i64\n  %w2 = alloca i64\n  %r1 = alloca double\n  %r2 = alloca double\n"
        "  store i64 0, ptr %w1\n  store i64 0, ptr %w2\n  store double 0.0, ptr %r1\n  store double 0.0, ptr %r2\n"
        "  %left_element = call i1 @is_element(ptr %left)\n  %right_element = call i1 @is_element(ptr %right)\n"
        "  %some = or i1 %left_element, %right_element\n  br i1 %some, label %first, label %miss\nfirst:\n"
        "  %c1 = call i64 @decode(ptr %left, i1 true, ptr %w1, ptr %r1)\n"
        "  %no_left = icmp slt i64 %c1, 0\n  br i1 %no_left, label %miss, label %second\nsecond:\n"
        "  %c2 = call i64 @decode(ptr %right, i1 true, ptr %w2, ptr %r2)\n"
        "  %no_right = icmp slt i64 %c2, 0\n  br i1 %no_right, label %miss, label %both\nboth:\n"
        f"  %row = mul i64 %c1, {_CODES}\n  %place = add i64 %row, %c2\n"
        + _of_table("common", "promoted", 8, _CODES**2, "%place")
        + "  %code = sext i8 %common to i64\n  %apart = icmp slt i64 %code, 0\n"
        "  br i1 %apart, label %miss, label %meet\nmeet:\n"
        "  %fits1 = call i1 @convert(i64 %c1, i64 %code, ptr %w1, ptr %r1)\n"
        "  %fits2 = call i1 @convert(i64 %c2, i64 %code, ptr %w2, ptr %r2)\n"
        "  %fit = and i1 %fits1, %fits2\n  br i1 %fit, label %compute, label %miss\ncompute:\n"
        "  %x = load i64, ptr %w1\n  %y = load i64, ptr %w2\n  %a = load double, ptr %r1\n  %b = load double, ptr %r2\n"
        + _of_table("real_kind", "is_real", 1, _CODES, "%code")
        + f"  %is_bool = icmp eq i64 %code, {_BOOL}\n  %is_unsigned = icmp eq i64 %code, {_UINT64}\n"
        "  br i1 %real_kind, label %reals, label %wholes\nreals:\n"
        + _switch(_REAL_RESULTS | _REAL_TRUTHS, BINARY, "real")
        + "wholes:\n  br i1 %is_bool, label %bools, label %integers\nbools:\n"
        + _switch(_WHOLE_TRUTHS, BINARY, "whole", "equal", "not_equal", "bitwise_and", "bitwise_or", "bitwise_xor")
        + "integers:\n"
        + _switch(
            _WHOLE_RESULTS | _WHOLE_TRUTHS,
            BINARY,
            "whole",
            "equal",
            "not_equal",
            "divide",
            "floor_divide",
            "remainder",
            "bitwise_left_shift",
            "bitwise_right_shift",
        )
    )
    reals, wholes, truths = [], [], []
    for name, instruction in _REAL_RESULTS.items():
        text += f"real_{name}:\n  %f_{name} = {instruction} double %a, %b\n  br label %real\n"
        reals.append(f"[ %f_{name}, %real_{name} ]")
    for name, condition in _REAL_TRUTHS.items():
        text += f"real_{name}:\n  %t_{name} = fcmp {condition} double %a, %b\n  br label %truth\n"
        truths.append(f"[ %t_{name}, %real_{name} ]")
    for name, instruction in _WHOLE_RESULTS.items():
        text += f"whole_{name}:\n  %i_{name} = {instruction} i64 %x, %y\n  br label %whole\n"
        wholes.append(f"[ %i_{name}, %whole_{name} ]")
    for name, condition in _WHOLE_TRUTHS.items():
        text += (
            f"whole_{name}:\n  %s_{name} = icmp s{condition} i64 %x, %y\n"
            f"  %u_{name} = icmp u{condition} i64 %x, %y\n"
            f"  %o_{name} = select i1 %is_unsigned, i1 %u_{name}, i1 %s_{name}\n  br label %truth\n"
        )
        truths.append(f"[ %o_{name}, %whole_{name} ]")
    for name, condition in (("equal", "eq"), ("not_equal", "ne")):
        text += f"whole_{name}:\n  %o_{name} = icmp {condition} i64 %x, %y\n  br label %truth\n"
        truths.append(f"[ %o_{name}, %whole_{name} ]")
    text += (
        "whole_divide:\n  %dx = call double @as_real(i64 %code, i64 %x)\n"
        "  %dy = call double @as_real(i64 %code, i64 %y)\n  %quotient = fdiv double %dx, %dy\n"
        f"  %divided = call ptr @element(i64 {_FLOAT64}, i64 0, double %quotient)\n  ret ptr %divided\n"
    )
    for name in (
        "floor_divide",
        "remainder",
    ):  # by 0 and -1 Python's way: the first has no quotient, the second may not
        text += (
            f"whole_{name}:\n  %{name}_up = add i64 %y, 1\n  %{name}_none = icmp ult i64 %{name}_up, 2\n"
            f"  br i1 %{name}_none, label %miss, label %{name}_sign\n"
            f"{name}_sign:\n  br i1 %is_unsigned, label %{name}_unsigned, label %{name}_signed\n"
            f"{name}_unsigned:\n  %{name}_u = {'udiv' if name == 'floor_divide' else 'urem'} i64 %x, %y\n"
            "  br label %whole\n"
            f"{name}_signed:\n  %{name}_q = sdiv i64 %x, %y\n  %{name}_r = srem i64 %x, %y\n"
            f"  %{name}_mixed = xor i64 %{name}_r, %y\n  %{name}_opposed = icmp slt i64 %{name}_mixed, 0\n"
            f"  %{name}_rest = icmp ne i64 %{name}_r, 0\n  %{name}_off = and i1 %{name}_rest, %{name}_opposed\n"
            + (
                f"  %{name}_less = sub i64 %{name}_q, 1\n"
                f"  %{name}_s = select i1 %{name}_off, i64 %{name}_less, i64 %{name}_q\n"
                if name == "floor_divide"
                else f"  %{name}_more = add i64 %{name}_r, %y\n"
                f"  %{name}_s = select i1 %{name}_off, i64 %{name}_more, i64 %{name}_r\n"
            )
            + "  br label %whole\n"
        )
        wholes += [f"[ %{name}_u, %{name}_unsigned ]", f"[ %{name}_s, %{name}_signed ]"]
    for name, signed, unsigned in (("bitwise_left_shift", "shl", "shl"), ("bitwise_right_shift", "ashr", "lshr")):
        text += (  # by as many bits as there are, or more, or fewer than none, another way
            f"whole_{name}:\n"
            + _of_table(f"{name}_spare", "spare", 64, len(_DTYPES), "%code")
            + f"  %{name}_bits = sub i64 64, %{name}_spare\n  %{name}_fits = icmp ult i64 %y, %{name}_bits\n"
            f"  br i1 %{name}_fits, label %{name}_go, label %miss\n{name}_go:\n"
            f"  %{name}_s = {signed} i64 %x, %y\n  %{name}_u = {unsigned} i64 %x, %y\n"
            f"  %{name}_i = select i1 %is_unsigned, i64 %{name}_u, i64 %{name}_s\n  br label %whole\n"
        )
        wholes.append(f"[ %{name}_i, %{name}_go ]")
    return text + (
        f"real:\n  %f = phi double {', '.join(reals)}\n  %f32 = call double @as_float32(double %f)\n"
        f"  %single = icmp eq i64 %code, {_FLOAT32}\n  %f_out = select i1 %single, double %f32, double %f\n"
        "  %real_result = call ptr @element(i64 %code, i64 0, double %f_out)\n  ret ptr %real_result\n"
        f"whole:\n  %i = phi i64 {', '.join(wholes)}\n  %i_wrapped = call i64 @wrapped(i64 %code, i64 %i)\n"
        "  %whole_result = call ptr @element(i64 %code, i64 %i_wrapped, double 0.0)\n  ret ptr %whole_result\n"
        f"truth:\n  %t = phi i1 {', '.join(truths)}\n  %t_bits = zext i1 %t to i64\n"
        f"  %truth_result = call ptr @element(i64 {_BOOL}, i64 %t_bits, double 0.0)\n  ret ptr %truth_result\n"
        "miss:\n  ret ptr null\n}\n"
    )


def _alter() -> str:
    """An operation on one element, as an element; null for what is not simple, and for all other arrays."""
    real = {
        "negative": "fneg double %a",
        "abs": "call double @llvm.fabs.f64(double %a)",
        "square": "fmul double %a, %a",
        "sqrt": "call double @llvm.sqrt.f64(double %a)",
        "positive": "fadd double %a, -0.0",
    }
    whole = {
        "negative": "sub i64 0, %x",
        "abs": "call i64 @llvm.abs.i64(i64 %x, i1 false)",
        "square": "mul i64 %x, %x",
        "positive": "add i64 %x, 0",
        "bitwise_invert": "xor i64 %x, -1",
    }
    text = (
        "define internal ptr @alter(ptr %operand, i64 %operation) {\n"
        "  %w = alloca i64\n  %r = alloca double\n  store i64 0, ptr %w\n  store double 0.0, ptr %r\n"
        "  %code = call i64 @decode(ptr %operand, i1 false, ptr %w, ptr %r)\n"
        f"  %unfit = icmp sle i64 %code, {_BOOL}\n  br i1 %unfit, label %miss, label %compute\ncompute:\n"
        "  %x = load i64, ptr %w\n  %a = load double, ptr %r\n"
        + _of_table("real_kind", "is_real", 1, _CODES, "%code")
        + "  br i1 %real_kind, label %reals, label %wholes\nreals:\n"
        + _switch(real, UNARY, "real")
        + "wholes:\n"
        + f"  %is_unsigned = icmp eq i64 %code, {_UINT64}\n"
        + _switch(whole, UNARY, "whole", "sqrt")
    )
    for name, expression in real.items():
        text += f"real_{name}:\n  %f_{name} = {expression}\n  br label %real\n"
    for name, expression in whole.items():
        text += f"whole_{name}:\n  %i_{name} = {expression}\n"
        if name == "abs":
            text += "  %i_size = select i1 %is_unsigned, i64 %x, i64 %i_abs\n"
        text += "  br label %whole\n"
    return text + (
        "whole_sqrt:\n  %wide = call double @as_real(i64 %code, i64 %x)\n"
        "  %root = call double @llvm.sqrt.f64(double %wide)\n"
        f"  %rooted = call ptr @element(i64 {_FLOAT64}, i64 0, double %root)\n  ret ptr %rooted\n"
        f"real:\n  %f = phi double {', '.join(f'[ %f_{name}, %real_{name} ]' for name in real)}\n"
        f"  %f32 = call double @as_float32(double %f)\n  %single = icmp eq i64 %code, {_FLOAT32}\n"
        "  %f_out = select i1 %single, double %f32, double %f\n"
        "  %real_result = call ptr @element(i64 %code, i64 0, double %f_out)\n  ret ptr %real_result\n"
        "whole:\n  %i = phi i64 "
        + ", ".join(f"[ %i_{'size' if name == 'abs' else name}, %whole_{name} ]" for name in whole)
        + "\n  %i_wrapped = call i64 @wrapped(i64 %code, i64 %i)\n"
        "  %whole_result = call ptr @element(i64 %code, i64 %i_wrapped, double 0.0)\n  ret ptr %whole_result\n"
        "miss:\n  ret ptr null\n}\n"
    )


def _places(array: Mapping[str, int], sig: Mapping[str, int], words: Mapping[str, int]) -> str:
    """`place`: how many elements behind the first the one that a key names lies; -1 for every other key. `taken` is how
    many axes the key takes, of which there must be `ndim` or, for a single integer, more: then it counts rows."""

    def named(name: str) -> str:
        return word(name, words[name])

    return (
        "define internal i64 @integer_of(ptr %item) {\n"  # an index, or the lowest integer for what is none
        "  %w = alloca i64\n  %r = alloca double\n"
        "  %code = call i64 @decode(ptr %item, i1 false, ptr %w, ptr %r)\n"
        f"  %invalid = icmp sle i64 %code, {_BOOL}\n  br i1 %invalid, label %no, label %look\nlook:\n"
        + _of_table("real_kind", "is_real", 1, _CODES, "%code")
        + f"  %is_unsigned = icmp eq i64 %code, {_UINT64}\n  %no_index = or i1 %real_kind, %is_unsigned\n"
        "  br i1 %no_index, label %no, label %yes\nyes:\n  %index = load i64, ptr %w\n  ret i64 %index\n"
        f"no:\n  ret i64 {-(2**63)}\n}}\n"
        "define internal i64 @step(i64 %place, ptr %item, ptr %dims, i64 %axis) {\n"
        "  %length_object = call ptr @PyTuple_GetItem(ptr %dims, i64 %axis)\n"
        "  %length = call i64 @PyLong_AsLongLong(ptr %length_object)\n"
        "  %index = call i64 @integer_of(ptr %item)\n"
        "  %from_end = add i64 %index, %length\n  %negative = icmp slt i64 %index, 0\n"
        "  %k = select i1 %negative, i64 %from_end, i64 %index\n  %inside = icmp ult i64 %k, %length\n"
        "  %row = mul i64 %place, %length\n  %there = add i64 %row, %k\n"
        "  %result = select i1 %inside, i64 %there, i64 -1\n  ret i64 %result\n}\n"
        "define internal i64 @place(ptr %dims, i64 %ndim, ptr %key) {\n"
        "start:\n  %type_at = getelementptr ptr, ptr %key, i64 1\n  %type = load ptr, ptr %type_at\n"
        + named("tuple_type")
        + "  %is_tuple = icmp eq ptr %type, %tuple_type\n  br i1 %is_tuple, label %several, label %single\n"
        "single:\n  %no_axis = icmp eq i64 %ndim, 0\n  br i1 %no_axis, label %none, label %one\n"
        "one:\n  %only = call i64 @step(i64 0, ptr %key, ptr %dims, i64 0)\n  ret i64 %only\n"
        "several:\n  %size = call i64 @PyTuple_Size(ptr %key)\n  %agree = icmp eq i64 %size, %ndim\n"
        "  br i1 %agree, label %loop, label %none\n"
        "loop:\n  %axis = phi i64 [ 0, %several ], [ %next, %inside ]\n"
        "  %so_far = phi i64 [ 0, %several ], [ %found, %inside ]\n"
        "  %more = icmp slt i64 %axis, %ndim\n  br i1 %more, label %look, label %done\n"
        "look:\n  %item = call ptr @PyTuple_GetItem(ptr %key, i64 %axis)\n"
        "  %found = call i64 @step(i64 %so_far, ptr %item, ptr %dims, i64 %axis)\n  %next = add i64 %axis, 1\n"
        "  %outside = icmp slt i64 %found, 0\n  br i1 %outside, label %none, label %inside\n"
        "inside:\n  br label %loop\n"
        "done:\n  ret i64 %so_far\nnone:\n  ret i64 -1\n}\n"
        # The array's memory if it is whole and on the CPU, else null: where elements carry values.
        "define internal ptr @memory(ptr %self, ptr %element_out) {\n"
        + load("sig", "%self", array["sig"])
        + "  %raw = icmp eq ptr %sig, null\n  br i1 %raw, label %none, label %made\nmade:\n"
        + load("element_sig", "%sig", sig["element"])
        + named("no_code")
        + "  %no_element = icmp eq ptr %element_sig, %no_code\n  br i1 %no_element, label %none, label %held\nheld:\n"
        + load("args", "%self", array["args"])
        + load("code_object", "%element_sig", sig["code"])
        + "  %code = call i64 @PyLong_AsLongLong(ptr %code_object)\n  store i64 %code, ptr %element_out\n"
        "  %address_object = call ptr @PyTuple_GetItem(ptr %args, i64 0)\n"
        "  %bits = call i64 @PyLong_AsUnsignedLongLong(ptr %address_object)\n"
        "  %address = inttoptr i64 %bits to ptr\n  ret ptr %address\nnone:\n  ret ptr null\n}\n"
    )


_ITEMSIZES = _constant("sizes", 64, [dtype.itemsize for dtype in _DTYPES])


def _getitem(array: Mapping[str, int], sig: Mapping[str, int], words: Mapping[str, int]) -> str:
    return (
        "define ptr @__getitem__(ptr %self, ptr %key) {\n"
        "  %code_out = alloca i64\n  %w = alloca i64\n  %r = alloca double\n"
        "  store i64 0, ptr %w\n  store double 0.0, ptr %r\n"
        "  %memory = call ptr @memory(ptr %self, ptr %code_out)\n"
        "  %elsewhere = icmp eq ptr %memory, null\n  br i1 %elsewhere, label %python, label %here\nhere:\n"
        + load("dims", "%self", array["dims"])
        + "  %ndim = call i64 @PyTuple_Size(ptr %dims)\n"
        "  %place = call i64 @place(ptr %dims, i64 %ndim, ptr %key)\n"
        "  %none = icmp slt i64 %place, 0\n  br i1 %none, label %python, label %found\nfound:\n"
        "  %code = load i64, ptr %code_out\n"
        + _of_table("itemsize", "sizes", 64, len(_DTYPES), "%code")
        + "  %key_type_at = getelementptr ptr, ptr %key, i64 1\n  %key_type = load ptr, ptr %key_type_at\n"
        + word("tuple_type", words["tuple_type"])
        + "  %is_tuple = icmp eq ptr %key_type, %tuple_type\n  %is_vector = icmp eq i64 %ndim, 1\n"
        "  %names_element = or i1 %is_tuple, %is_vector\n  br i1 %names_element, label %read, label %row\nread:\n"
        "  %behind = mul i64 %place, %itemsize\n  %address = getelementptr i8, ptr %memory, i64 %behind\n"
        "  call void @fetch(i64 %code, ptr %address, ptr %w, ptr %r)\n"
        "  %whole = load i64, ptr %w\n  %real = load double, ptr %r\n"
        "  %new = call ptr @element(i64 %code, i64 %whole, double %real)\n"
        "  %failed = icmp eq ptr %new, null\n  br i1 %failed, label %python, label %done\n"
        "done:\n  ret ptr %new\n"
        # A row: a view of the same memory, `rest` the other axes.
        "row:\n"
        + load("sig", "%self", array["sig"])
        + load("keep", "%self", array["keep"])
        + count("sig", "keep", "dims")
        + word("array_type", words["array_type"])
        + "  %rest = call ptr @PyTuple_GetSlice(ptr %dims, i64 1, i64 %ndim)\n  call void @Py_DecRef(ptr %dims)\n"
        "  %no_rest = icmp eq ptr %rest, null\n  br i1 %no_rest, label %no_row, label %measure\n"
        "measure:\n  %axis = phi i64 [ 1, %row ], [ %next, %longer ]\n"
        "  %bytes = phi i64 [ %itemsize, %row ], [ %product, %longer ]\n"
        "  %more = icmp slt i64 %axis, %ndim\n  br i1 %more, label %longer, label %make\n"
        "longer:\n  %rest_axis = sub i64 %axis, 1\n"
        "  %length_object = call ptr @PyTuple_GetItem(ptr %rest, i64 %rest_axis)\n"
        "  %length = call i64 @PyLong_AsLongLong(ptr %length_object)\n"
        "  %product = mul i64 %bytes, %length\n  %next = add i64 %axis, 1\n  br label %measure\n"
        "make:\n  %down = mul i64 %place, %bytes\n  %start = ptrtoint ptr %memory to i64\n"
        "  %there = add i64 %start, %down\n  %number = call ptr @PyLong_FromUnsignedLongLong(i64 %there)\n"
        "  %no_number = icmp eq ptr %number, null\n  br i1 %no_number, label %no_args, label %pack\npack:\n"
        "  %args = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %number)\n  call void @Py_DecRef(ptr %number)\n"
        "  %no_pack = icmp eq ptr %args, null\n  br i1 %no_pack, label %no_args, label %allocate\nallocate:\n"
        "  %view = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)\n"
        "  %no_view = icmp eq ptr %view, null\n  br i1 %no_view, label %drop, label %fill\nfill:\n"
        + store("sig", "%view", array["sig"])
        + store("rest", "%view", array["dims"])
        + store("args", "%view", array["args"])
        + store("keep", "%view", array["keep"])
        + "  ret ptr %view\n"
        "drop:\n  call void @Py_DecRef(ptr %args)\n  br label %no_args\n"
        "no_args:\n  call void @Py_DecRef(ptr %rest)\n  br label %no_row\n"
        "no_row:\n  call void @Py_DecRef(ptr %sig)\n  call void @Py_DecRef(ptr %keep)\n  br label %python\n"
        "python:\n  call void @PyErr_Clear()\n"
        + word("method", words["__getitem__"])
        + "  %operands = alloca [2 x ptr]\n  store ptr %self, ptr %operands\n"
        "  %second = getelementptr ptr, ptr %operands, i64 1\n  store ptr %key, ptr %second\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 2, ptr null)\n  ret ptr %result\n}\n"
    )


def _setitem(
    array: Mapping[str, int], sig: Mapping[str, int], storage: Mapping[str, int], words: Mapping[str, int]
) -> str:
    """Nothing may be pending, since it could read what is written."""
    return (
        "define ptr @__setitem__(ptr %self, ptr %args, i64 %nargs) {\n"
        "  %code_out = alloca i64\n  %w = alloca i64\n  %r = alloca double\n"
        "  store i64 0, ptr %w\n  store double 0.0, ptr %r\n"
        "  %operands = alloca [3 x ptr]\n"
        "  %two = icmp eq i64 %nargs, 2\n  br i1 %two, label %begin, label %arguments\nbegin:\n"
        "  %key = load ptr, ptr %args\n"
        "  %value_at = getelementptr ptr, ptr %args, i64 1\n  %value = load ptr, ptr %value_at\n"
        "  %memory = call ptr @memory(ptr %self, ptr %code_out)\n"
        "  %elsewhere = icmp eq ptr %memory, null\n  br i1 %elsewhere, label %python, label %here\nhere:\n"
        + word("notes", words["notes"])
        + "  %pending = call i64 @PyList_Size(ptr %notes)\n"
        + load("keep", "%self", array["keep"])
        + "  %storage = call ptr @PyTuple_GetItem(ptr %keep, i64 0)\n"
        + load("readers", "%storage", storage["readers"])
        + "  %reading = call i64 @PyObject_Size(ptr %readers)\n  %waiting = or i64 %pending, %reading\n"
        "  %quiet = icmp eq i64 %waiting, 0\n  br i1 %quiet, label %look, label %python\nlook:\n"
        + load("dims", "%self", array["dims"])
        + "  %ndim = call i64 @PyTuple_Size(ptr %dims)\n"
        "  %place = call i64 @place(ptr %dims, i64 %ndim, ptr %key)\n"
        "  %none = icmp slt i64 %place, 0\n  br i1 %none, label %python, label %found\nfound:\n"
        "  %key_type_at = getelementptr ptr, ptr %key, i64 1\n  %key_type = load ptr, ptr %key_type_at\n"
        + word("tuple_type", words["tuple_type"])
        + "  %is_tuple = icmp eq ptr %key_type, %tuple_type\n  %is_vector = icmp eq i64 %ndim, 1\n"
        "  %names_element = or i1 %is_tuple, %is_vector\n  br i1 %names_element, label %take, label %python\ntake:\n"
        "  %code = load i64, ptr %code_out\n"
        "  %given = call i64 @decode(ptr %value, i1 false, ptr %w, ptr %r)\n"
        "  %unfit = icmp slt i64 %given, 0\n  br i1 %unfit, label %python, label %change\nchange:\n"
        "  %fits = call i1 @convert(i64 %given, i64 %code, ptr %w, ptr %r)\n"
        "  br i1 %fits, label %write, label %python\nwrite:\n"
        + _of_table("itemsize", "sizes", 64, len(_DTYPES), "%code")
        + "  %behind = mul i64 %place, %itemsize\n  %address = getelementptr i8, ptr %memory, i64 %behind\n"
        "  %whole = load i64, ptr %w\n  %real = load double, ptr %r\n"
        "  call void @keep(i64 %code, ptr %address, i64 %whole, double %real)\n"
        + word("no_code", words["no_code"])
        + count("no_code")
        + "  ret ptr %no_code\n"
        "arguments:\n"
        + word("complaint", words["__setitem__"])
        + "  %complained = call ptr @PyObject_Vectorcall(ptr %complaint, ptr %args, i64 0, ptr null)\n"
        "  ret ptr %complained\n"
        "python:\n" + word("method", words["__setitem__"]) + "  store ptr %self, ptr %operands\n"
        "  %second = getelementptr ptr, ptr %operands, i64 1\n  store ptr %key, ptr %second\n"
        "  %third = getelementptr ptr, ptr %operands, i64 2\n  store ptr %value, ptr %third\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 3, ptr null)\n  ret ptr %result\n}\n"
    )


class Conversion(NamedTuple):
    """What a method without arguments makes of an element's value."""

    real: str  # of a real one, %a; empty where Python decides
    whole: str  # of an integer or a truth value, %x
    truth: bool  # whether truth values count as integers


CONVERSIONS = {
    "__float__": Conversion(
        "  %out = call ptr @PyFloat_FromDouble(double %a)\n  ret ptr %out\n",
        "  %d = call double @as_real(i64 %code, i64 %x)\n"
        "  %out_d = call ptr @PyFloat_FromDouble(double %d)\n  ret ptr %out_d\n",
        True,
    ),
    "__int__": Conversion("", "  %out = call ptr @number_of(i64 %code, i64 %x, double 0.0)\n  ret ptr %out\n", False),
    "__index__": Conversion("", "  %out = call ptr @number_of(i64 %code, i64 %x, double 0.0)\n  ret ptr %out\n", False),
    "__bool__": Conversion(
        "  %true_a = fcmp une double %a, 0.0\n  %chosen_a = select i1 %true_a, ptr %true, ptr %false\n"
        "  call void @Py_IncRef(ptr %chosen_a)\n  ret ptr %chosen_a\n",
        "  %true_x = icmp ne i64 %x, 0\n  %chosen_x = select i1 %true_x, ptr %true, ptr %false\n"
        "  call void @Py_IncRef(ptr %chosen_x)\n  ret ptr %chosen_x\n",
        True,
    ),
    "__hash__": Conversion(
        "  %value_a = call ptr @PyFloat_FromDouble(double %a)\n  br label %hashed\n",
        "  %value_x = call ptr @number_of(i64 %code, i64 %x, double 0.0)\n  br label %hashed\n"
        "hashed:\n  %value = phi ptr [ %value_a, %real ], [ %value_x, %whole ]\n"
        "  %lost = icmp eq ptr %value, null\n  br i1 %lost, label %python, label %take\n"
        "take:\n  %number = call i64 @PyObject_Hash(ptr %value)\n  call void @Py_DecRef(ptr %value)\n"
        "  %out = call ptr @PyLong_FromLongLong(i64 %number)\n  ret ptr %out\n",
        True,
    ),
}


def _conversion(name: str, row: Conversion, words: Mapping[str, int]) -> str:
    return (
        f"define ptr @{name}(ptr %self, ptr %ignored) {{\n"
        "  %w = alloca i64\n  %r = alloca double\n  store i64 0, ptr %w\n  store double 0.0, ptr %r\n"
        "  %operand = alloca ptr\n"
        + word("true", words["true"])
        + word("false", words["false"])
        + "  %code = call i64 @decode(ptr %self, i1 true, ptr %w, ptr %r)\n"
        f"  %unfit = icmp sl{'t' if row.truth else 'e'} i64 %code, {_BOOL}\n"
        "  br i1 %unfit, label %python, label %look\nlook:\n"
        "  %x = load i64, ptr %w\n  %a = load double, ptr %r\n"
        + _of_table("real_kind", "is_real", 1, _CODES, "%code")
        + "  br i1 %real_kind, label %real, label %whole\nreal:\n"
        + (row.real or "  br label %python\n")
        + "whole:\n"
        + row.whole
        + "python:\n"
        + word("method", words[name])
        + "  store ptr %self, ptr %operand\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operand, i64 1, ptr null)\n  ret ptr %result\n}\n"
    )


def _in_place(name: str, operation: str, words: Mapping[str, int]) -> str:
    """An element stays what it is, so that `+=` makes a new one; what is no element is for the Python method."""
    return (
        f"define ptr @{name}(ptr %self, ptr %other) {{\n"
        "  %operands = alloca [2 x ptr]\n"
        "  %mine = call i1 @is_element(ptr %self)\n  br i1 %mine, label %try, label %python\ntry:\n"
        f"  %new = call ptr @operate(ptr %self, ptr %other, i64 {BINARY.index(operation)})\n"
        "  %missed = icmp eq ptr %new, null\n  br i1 %missed, label %python, label %done\ndone:\n  ret ptr %new\n"
        "python:\n" + word("method", words[name]) + "  store ptr %self, ptr %operands\n"
        "  %second = getelementptr ptr, ptr %operands, i64 1\n  store ptr %other, ptr %second\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 2, ptr null)\n  ret ptr %result\n}\n"
    )


WORDS = {"false": False, "no_code": None, "nothing": (), "float_type": float, "int_type": int, "tuple_type": tuple}
"""Objects that the code knows by these names, besides those of `_fastpath`."""


def by_number(device: Device) -> list[object]:
    """The signatures of elements, then NumPy's scalar types, both in the order of their dtypes' numbers."""
    return [*(element(dtype, device) for dtype in _DTYPES), *(dtype.type for dtype in _DTYPES)]


def text(
    array: Mapping[str, int],
    sig: Mapping[str, int],
    storage: Mapping[str, int],
    words: Mapping[str, int],
    in_place: Mapping[str, str],
) -> str:
    """The IR: `operate` and `alter` for the operators, and the methods themselves."""
    return "".join(
        (
            _tables(),
            _ITEMSIZES,
            "declare double @llvm.fabs.f64(double)\ndeclare double @llvm.sqrt.f64(double)\n"
            "declare i64 @llvm.abs.i64(i64, i1)\n",
            _fetch(),
            _keep(),
            _VALUES,
            _objects(array, sig, words),
            _operate(),
            _alter(),
            _places(array, sig, words),
            _getitem(array, sig, words),
            _setitem(array, sig, storage, words),
            *(_conversion(name, row, words) for name, row in CONVERSIONS.items()),
            *(_in_place(name, operation, words) for name, operation in in_place.items()),
        )
    )
