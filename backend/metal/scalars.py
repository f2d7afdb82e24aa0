"""Arithmetic on one element: Triton's pointwise operations in the Metal Shading Language.

Integers are held unsigned, whose overflow is defined, and taken as signed where an operation says so. float16 and
bfloat16 are computed in float32 and rounded once. The functions that only a user's kernel calls (``tl.exp``,
``tl.sin``...) are the language's precise ones.
"""

from __future__ import annotations

import math
import re
import struct

from ..ttir.indices import Operand
from ..ttir.reader import Operation, Type
from ..ttir.types import FLOAT_PREDICATES, HALVES, INTEGER_PREDICATES, SIZES, NotSupported, bits_of, is_float
from .emission import Writer, element_kind, kind_of

INTEGER_BINARY = {"addi": "+", "subi": "-", "muli": "*", "andi": "&", "ori": "|", "xori": "^"}
FLOAT_BINARY = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/", "precise_divf": "/"}
INTEGER_EXTREMA = {"maxsi": ("s", ">"), "minsi": ("s", "<"), "maxui": ("u", ">"), "minui": ("u", "<")}
#: Those that let NaN win, and those that let the number win.
FLOAT_EXTREMA = {"maximumf": ("maximum", True), "minimumf": ("minimum", True)}
FLOAT_EXTREMA |= {"maxnumf": ("maximum", False), "minnumf": ("minimum", False)}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
FLOAT_COMPARISONS = {
    "false": "false", "oeq": "{0} == {1}", "ogt": "{0} > {1}", "oge": "{0} >= {1}", "olt": "{0} < {1}",
    "ole": "{0} <= {1}", "one": "{0} < {1} || {0} > {1}", "ord": "{0} == {0} && {1} == {1}",
    "ueq": "!({0} < {1} || {0} > {1})", "ugt": "!({0} <= {1})", "uge": "!({0} < {1})", "ult": "!({0} >= {1})",
    "ule": "!({0} > {1})", "une": "{0} != {1}", "uno": "{0} != {0} || {1} != {1}", "true": "true",
}  # fmt: skip
FUNCTIONS = {
    "sqrt": "precise::sqrt", "precise_sqrt": "precise::sqrt", "rsqrt": "precise::rsqrt", "floor": "floor",
    "ceil": "ceil", "absf": "fabs", "trunc": "trunc", "round": "round", "roundeven": "rint", "fma": "fma",
    "remf": "fmod", "powf": "precise::pow", "pow": "precise::pow", "atan2": "precise::atan2", "fmod": "fmod",
}  # fmt: skip
FUNCTIONS |= {
    name: f"precise::{name}"
    for name in ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
                 "cosh", "tanh", "asinh", "acosh", "atanh")
}  # fmt: skip
#: The least normal float32. Below it a compiler may take a literal for 0.
LEAST_NORMAL = 2.0**-126


def float_literal(element: str, value: float) -> Operand:
    """A constant of a floating-point type, rounded to it."""
    if element == "f16":
        return from_bits(element, int.from_bytes(struct.pack("<e", value), "little"))
    if element == "bf16":
        return from_bits(element, int.from_bytes(struct.pack("<f", value), "little") >> 16)
    return from_bits(element, int.from_bytes(struct.pack("<f", value), "little"))


def from_bits(element: str, bits: int) -> Operand:
    if element in HALVES:
        return Operand(f"as_type<{element_kind(element)}>(ushort({bits:#06x}))")
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    if math.isfinite(value) and (value == 0 or abs(value) >= LEAST_NORMAL):
        return Operand(f"({value!r}f)" if math.copysign(1, value) < 0 else f"{value!r}f")
    return Operand(f"as_type<float>({bits:#010x}u)")


def integer_literal(element: str, number: int) -> Operand:
    number &= (1 << bits_of(element)) - 1
    if element == "i1":
        return Operand("true" if number else "false")
    if element in ("i8", "i16"):
        return Operand(f"{element_kind(element)}({number})")
    return Operand(f"{number}{'u' if element == 'i32' else 'ul'}")


def literal(element: str, text: str) -> Operand:
    """A constant as MLIR prints it: ``-3``, ``true``, ``1.5e+00``, ``0x7FC00000`` (the bits of a float)."""
    text = text.strip()
    if is_float(element):
        if text.lower().startswith("0x"):
            return from_bits(element, int(text, 16))
        return float_literal(element, float(text))
    if text in ("true", "false"):
        return integer_literal(element, int(text == "true"))
    return integer_literal(element, int(text, 0))


def literal_value(text: str) -> int | None:
    """The number that an integer constant is."""
    found = re.fullmatch(r"(?:uchar\(|ushort\()?(\d+)(?:u|ul|\))?", text)
    return int(found[1]) if found else None


def signed_kind(element: str) -> str:
    return "long" if element in ("i64", "index") else "int"


def wide_kind(element: str) -> str:
    """The unsigned type that an integer is computed in."""
    return "ulong" if element in ("i64", "index") else "uint"


class Scalars(Writer):
    """Emits pointwise operations."""

    def apply(self, op: Operation, arguments: list[Operand]) -> Operand:
        """The result of a pointwise operation."""
        type = op.result.type
        return self.emit(kind_of(type), self.expression(op, op.name.partition(".")[2], type, arguments))

    def expression(self, op: Operation, name: str, type: Type, x: list[Operand]) -> str:
        element = type.element
        source = op.operands[0].type.element if op.operands else element
        if name in INTEGER_BINARY:
            wide = [self.widened(element, one) for one in x]
            return self.wrapped(element, f"{wide[0]} {INTEGER_BINARY[name]} {wide[1]}")
        if name in FLOAT_BINARY:
            return self.in_float(element, f"{{}} {FLOAT_BINARY[name]} {{}}", *x)
        if name in ("shli", "shrsi", "shrui"):
            return self.wrapped(element, self.shift(name, element, *x))
        if name in ("divsi", "divui", "remsi", "remui"):
            function = self.helper("quotient" if name.startswith("div") else "remainder_of")
            if name.endswith("si"):
                wide = [f"{wide_kind(element)}({self.signed(element, one)})" for one in x]
                return self.wrapped(element, f"{function}<{signed_kind(element)}>({wide[0]}, {wide[1]})")
            wide = [self.widened(element, one) for one in x]
            return self.wrapped(element, f"{function}<{wide_kind(element)}>({wide[0]}, {wide[1]})")
        if name in INTEGER_EXTREMA:
            sign, comparison = INTEGER_EXTREMA[name]
            compared = [self.signed(element, one) if sign == "s" else one for one in x]
            return f"{compared[0]} {comparison} {compared[1]} ? {x[0]} : {x[1]}"
        if name in FLOAT_EXTREMA:
            function, nan_wins = FLOAT_EXTREMA[name]
            return self.extremum(function, nan_wins, element, *x)
        if name == "cmpi":
            return self.comparison(source, INTEGER_PREDICATES[op.integer("predicate")], *x)
        if name == "cmpf":
            return FLOAT_COMPARISONS[FLOAT_PREDICATES[op.integer("predicate")]].format(
                *(self.in_float32(source, one) for one in x)
            )
        if name == "select":
            return f"{x[0]} ? {x[1]} : {x[2]}"
        if name == "addptr":
            return f"{x[0]} + {self.signed(op.operands[1].type.element, x[1])}"
        if name == "negf":
            if element in HALVES:  # the sign bit, also of NaN
                return f"as_type<{element_kind(element)}>(ushort(as_type<ushort>({x[0]}) ^ 0x8000u))"
            return f"-{x[0]}"
        if name == "absi":
            signed = self.signed(element, x[0])
            size = self.widened(element, x[0])
            return self.wrapped(element, f"{signed} < 0 ? 0u - {size} : {size}")
        if name in ("mulhiui", "mului_extended"):
            if element == "i64":
                return f"{self.helper('high_product')}({x[0]}, {x[1]})"
            return self.wrapped(element, f"uint(ulong({x[0]}) * ulong({x[1]}) >> {bits_of(element)})")
        if name == "clampf":
            nan_wins = op.attributes.get("propagateNan", "").startswith("65535")
            low = self.emit(element_kind(element), self.extremum("maximum", nan_wins, element, x[0], x[1]))
            return self.extremum("minimum", nan_wins, element, low, x[2])
        if name in CONVERSIONS:
            return self.conversion(op, name, source, type, x[0])
        function = op.string("symbol") if name == "extern_elementwise" else name
        if function.startswith("__nv_"):  # libdevice's names, which tl.math and tl.extra use
            function = function[5:].removesuffix("f")
        if function in FUNCTIONS:
            return self.in_float(element, f"metal::{FUNCTIONS[function]}({', '.join(['{}'] * len(x))})", *x)
        raise NotSupported(f"{op.name} {function if function != name else ''}is not supported on Metal")

    # -- floating point

    def in_float32(self, element: str, x: str) -> str:
        return f"float({x})" if element in HALVES else x

    def in_float(self, element: str, form: str, *arguments: str) -> str:
        """Compute in float32, and round."""
        text = form.format(*(self.in_float32(element, one) for one in arguments))
        return f"{element_kind(element)}({text})" if element in HALVES else text

    def extremum(self, function: str, nan_wins: bool, element: str, x: str, y: str) -> str:
        """The larger or smaller, -0 below +0."""
        one, other = self.in_float32(element, x), self.in_float32(element, y)
        result = f"{self.helper(function)}({one}, {other})"
        if not nan_wins:
            result = f"{one} != {one} ? {other} : {other} != {other} ? {one} : {result}"
        return f"{element_kind(element)}({result})" if element in HALVES else result

    # -- integers

    def widened(self, element: str, x: str) -> str:
        """An integer in the type that it is computed in."""
        return f"uint({x})" if SIZES[element] < 4 else x

    def wrapped(self, element: str, text: str) -> str:
        """A computed integer in its own type again."""
        if element == "i1":
            return f"(({text}) & 1u) != 0u"
        return f"{element_kind(element)}({text})" if SIZES[element] < 4 else text

    def signed(self, element: str, x: str) -> str:
        """An integer taken as signed."""
        if element == "i1":
            return f"(-int({x}))"
        if SIZES[element] < 4:
            return f"(int(uint({x}) << {32 - bits_of(element)}) >> {32 - bits_of(element)})"
        return f"{signed_kind(element)}({x})"

    def comparison(self, element: str, predicate: str, x: str, y: str) -> str:
        if predicate[0] == "s":
            x, y = self.signed(element, x), self.signed(element, y)
        return f"{x} {COMPARISONS[predicate[-2:]]} {y}"

    def shift(self, name: str, element: str, x: str, amount: str) -> str:
        """A shift by the width or more gives 0, or the sign; in the language it would be undefined."""
        number = literal_value(amount)
        known = number is not None and number < bits_of(element)
        wide, wide_amount = self.widened(element, x), self.widened(element, amount)
        if name == "shrsi":
            if known:
                return f"{wide_kind(element)}({self.signed(element, x)} >> {number})"
            value = f"{wide_kind(element)}({self.signed(element, x)})"
            return f"{self.helper('shift_right_signed')}<{signed_kind(element)}>({value}, {wide_amount})"
        if known:
            return f"{wide} {'<<' if name == 'shli' else '>>'} {number}"
        return f"{self.helper('shift_left' if name == 'shli' else 'shift_right')}({wide}, {wide_amount})"

    # -- conversions

    def conversion(self, op: Operation, name: str, source: str, type: Type, x: Operand) -> str:
        target, kind = type.element, kind_of(type)
        if name in ("extui", "trunci", "index_cast", "extsi"):
            if name == "extui" or bits_of(target) <= bits_of(source):
                return self.wrapped(target, f"{wide_kind(target)}({x})")
            return self.wrapped(target, f"{wide_kind(target)}({self.signed(source, x)})")
        if name in ("ptr_to_int", "int_to_ptr"):
            return f"({kind})({x})"
        if name == "bitcast":
            if source == target == "ptr":
                return f"({kind})({x})"
            return x if source == target else f"as_type<{kind}>({x})"
        if name in ("sitofp", "uitofp"):
            number = f"float({self.signed(source, x) if name == 'sitofp' else x})"
            return f"{kind}({number})" if target in HALVES else number
        if name in ("fptosi", "fptoui"):
            function = ("to_" if name == "fptosi" else "to_u") + signed_kind(target)
            return self.wrapped(target, f"{self.helper(function)}({self.in_float32(source, x)})")
        if "rounding" in op.attributes and op.integer("rounding") == 0:
            raise NotSupported("rounding towards zero in a conversion is not supported on Metal")
        return x if source == target else f"{kind}({self.in_float32(source, x)})"


CONVERSIONS = frozenset(
    ("extsi", "extui", "trunci", "index_cast", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast", "extf", "truncf",
     "fp_to_fp", "ptr_to_int", "int_to_ptr")
)  # fmt: skip
