"""Arithmetic of elements in native code.

An operation that is not simple and exact gives null, and the Python method decides: this code raises nothing. Its
results have the bits of the kernels: float64 and wrapping integers are the processor's own; float32 is computed in
float64 and rounded once more, which for sums, products, quotients and square roots is right (Figueroa, "When is double
rounding innocuous?", 1995).
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from nbx_array._fast_values import NAMES

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


def _switch(prefix: str, names: Iterable[str], order: tuple[str, ...]) -> str:
    cases = " ".join(f"i64 {order.index(name)}, label %{prefix}_{name}" for name in names)
    return f"switch i64 %operation, label %miss [ {cases} ]"


_RESULTS = """
define internal ptr @real_element(i64 %code, double %result, ptr %value) {
  %rounded = call double @as_float32(double %result)
  %single = icmp eq i64 %code, $FLOAT32
  %real = select i1 %single, double %rounded, double %result
  %real_at = getelementptr double, ptr %value, i64 1
  store double %real, ptr %real_at
  %new = call ptr @element(i64 %code, ptr %value)
  ret ptr %new
}
define internal ptr @whole_element(i64 %code, i64 %result, ptr %value) {
  %whole = call i64 @wrapped(i64 %code, i64 %result)
  store i64 %whole, ptr %value
  %new = call ptr @element(i64 %code, ptr %value)
  ret ptr %new
}
"""
"""Elements of what was computed: float32 rounded, integers wrapped."""

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
  %real_new = call ptr @real_element(i64 %code, double %f, ptr %v1)
  ret ptr %real_new
whole:
  %i = phi i64 $WHOLE_RESULTS
  %whole_new = call ptr @whole_element(i64 %code, i64 %i, ptr %v1)
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
  %real_new = call ptr @real_element(i64 %code, double %f, ptr %v)
  ret ptr %real_new
whole:
  %n = phi i64 $WHOLE_RESULTS
  %whole_new = call ptr @whole_element(i64 %code, i64 %n, ptr %v)
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
        NAMES,
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
        NAMES,
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


def text() -> str:
    """The IR: `operate`, `alter` and `operation_of`."""
    declarations = "declare double @llvm.sqrt.f64(double)\ndeclare i64 @llvm.abs.i64(i64, i1)\n"
    return "".join((declarations, Template(_RESULTS).substitute(NAMES), _operate(), _alter(), _operation_of()))
