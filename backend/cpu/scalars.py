"""Arithmetic on one element: Triton's pointwise operations as LLVM instructions.

Every operation gives the bits that a GPU gives, wherever it is run from: no fast-math flags, conversions that saturate,
divisions that cannot trap, shifts that are defined for every amount. float16 and bfloat16 are held as their 16 bits and
computed in float32 (or float64), rounded once; the rounding is ours, since not every processor has it.

The functions that only a user's kernel calls (``tl.exp``, ``tl.sin``...) go to the C library, one element at a time.
"""

from __future__ import annotations

import math
import re
import struct

from ..ttir.indices import Operand
from ..ttir.reader import Operation, Value
from ..ttir.types import (
    FLOAT_PREDICATES,
    HALVES,
    INTEGER_PREDICATES,
    SIZES,
    NotSupported,
    bits_of,
    is_float,
)
from .codegen import LIBRARY_FUNCTIONS
from .emission import FALSE, TRUE, Emitter, level_of, operand

#: LLVM's type of an element in a register. In memory, i1 takes a byte.
REGISTER_TYPES = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "index": "i64",
    "f16": "i16", "bf16": "i16", "f32": "float", "f64": "double", "ptr": "ptr",
}  # fmt: skip

BINARY = {
    "addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor",
    "addf": "fadd", "subf": "fsub", "mulf": "fmul", "divf": "fdiv",
}  # fmt: skip
SHIFTS = {"shli": "shl", "shrsi": "ashr", "shrui": "lshr"}
INTEGER_EXTREMA = {"maxsi": "smax", "minsi": "smin", "maxui": "umax", "minui": "umin"}
#: Those that let NaN win, and those that let the number win.
FLOAT_EXTREMA = {"maximumf": ("maximum", True), "minimumf": ("minimum", True)}
FLOAT_EXTREMA |= {"maxnumf": ("maximum", False), "minnumf": ("minimum", False)}
ROUNDINGS = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "absf": "fabs", "trunc": "trunc", "round": "round",
             "roundeven": "roundeven", "precise_sqrt": "sqrt"}  # fmt: skip
ZERO_FLOAT = "0x0000000000000000"


def register_type(element: str) -> str:
    try:
        return REGISTER_TYPES[element]
    except KeyError:
        raise NotSupported(f"elements of type {element} are not supported on the CPU") from None


def memory_type(element: str) -> str:
    return "i8" if element == "i1" else register_type(element)


def float_literal(element: str, value: float) -> Operand:
    """A constant of a floating-point type, rounded to it."""
    if element in HALVES:
        kind = "e" if element == "f16" else "f"
        bits = int.from_bytes(struct.pack("<" + kind, value), "little")
        return Operand(str(bits if element == "f16" else bits >> 16))
    if element == "f32" and math.isfinite(value):
        value = struct.unpack("f", struct.pack("f", value))[0]
    return Operand(f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}")


def literal(element: str, text: str) -> Operand:
    """A constant as MLIR prints it: ``-3``, ``true``, ``1.5e+00``, ``0x7FC00000`` (the bits of a float)."""
    text = text.strip()
    if is_float(element):
        if not text.lower().startswith("0x"):
            return float_literal(element, float(text))
        bits = int(text, 16)
        if element == "f32":
            return Operand(f"0x{_double_bits(bits):016X}")
        return Operand(str(bits) if element in HALVES else f"0x{bits:016X}")
    if text in ("true", "false"):
        return Operand(text if element == "i1" else str(int(text == "true")))
    number = int(text, 0)
    if element == "i1":
        return TRUE if number else FALSE
    return Operand(str(number))


def _double_bits(bits: int) -> int:
    """The bits of the float64 that equals the float32 with these bits; a NaN keeps its payload."""
    if bits & 0x7F800000 == 0x7F800000:
        return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    return struct.unpack("Q", struct.pack("d", struct.unpack("f", struct.pack("I", bits))[0]))[0]


def is_literal(text: str) -> bool:
    return not text.startswith("%")


class Scalars(Emitter):
    """Emits pointwise operations."""

    def __init__(self, features: str) -> None:
        super().__init__()
        self.has_half_conversions = "+f16c" in features.split(",") or "arm64" in features
        self.offsets: set[Value] = set()

    def apply(self, op: Operation, arguments: list[Operand]) -> Operand:
        """The result of a pointwise operation."""
        name = op.name.partition(".")[2]
        element = op.result.type.element
        source = op.operands[0].type.element if op.operands else element
        kind = register_type(element)
        if name in BINARY:
            if is_float(element):
                return self.in_float(element, lambda t, x, y: self.binary(BINARY[name], t, x, y), *arguments)
            if name == "andi" and element == "i1":
                return self.conjunction(*arguments)
            # An offset that wrapped would address nothing; that it does not is what makes accesses contiguous.
            flag = " nsw" if op.result in self.offsets and name in ("addi", "subi", "muli") else ""
            return self.binary(BINARY[name] + flag, kind, *arguments)
        if name in SHIFTS:
            return self.shift(SHIFTS[name], element, *arguments)
        if name in ("divsi", "divui", "remsi", "remui"):
            return self.integer_division(element, name.startswith("div"), name.endswith("si"), *arguments)
        if name in INTEGER_EXTREMA:
            return self.intrinsic(INTEGER_EXTREMA[name], kind, *arguments)
        if name in FLOAT_EXTREMA:
            intrinsic, nan_wins = FLOAT_EXTREMA[name]
            return self.in_float(element, lambda t, x, y: self.extremum(intrinsic, nan_wins, t, x, y), *arguments)
        if name == "cmpi":
            predicate = INTEGER_PREDICATES[op.integer("predicate")]
            return self.emit(f"icmp {predicate} {register_type(source)} {arguments[0]}, {arguments[1]}", *arguments)
        if name == "cmpf":
            predicate = FLOAT_PREDICATES[op.integer("predicate")]
            wide = [self.widen(source, x) for x in arguments]
            return self.emit(f"fcmp {predicate} {self.float_type(source)} {wide[0]}, {wide[1]}", *wide)
        if name == "select":
            condition, yes, no = arguments
            if is_literal(condition):
                chosen = yes if condition == TRUE else no
                return operand(chosen, level_of((condition, chosen)))
            return self.emit(f"select i1 {condition}, {kind} {yes}, {kind} {no}", *arguments)
        if name == "addptr":
            pointee = memory_type(op.result.type.pointee or "i8")
            offset = register_type(op.operands[1].type.element)
            return self.emit(f"getelementptr {pointee}, ptr {arguments[0]}, {offset} {arguments[1]}", *arguments)
        if name in ("extsi", "extui", "trunci", "index_cast", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast",
                    "extf", "truncf", "fp_to_fp", "ptr_to_int", "int_to_ptr"):  # fmt: skip
            return self.convert(op, name, source, element, arguments[0])
        if name == "negf":
            if element in HALVES:  # the sign bit, also of NaN
                return self.emit(f"xor i16 {arguments[0]}, -32768", arguments[0])
            return self.emit(f"fneg {kind} {arguments[0]}", arguments[0])
        if name == "absi":
            self.declarations[f"llvm.abs.{kind}"] = f"declare {kind} @llvm.abs.{kind}({kind}, i1)"
            return self.emit(f"call {kind} @llvm.abs.{kind}({kind} {arguments[0]}, i1 false)", arguments[0])
        if name in ("mulhiui", "mulsi_extended", "mului_extended"):
            return self.high_product(kind, bits_of(element), *arguments)
        if name in ROUNDINGS:
            return self.in_float(element, lambda t, x: self.intrinsic(ROUNDINGS[name], t, x), arguments[0])
        if name == "rsqrt":
            one = float_literal("f64", 1.0)
            return self.in_float(
                element, lambda t, x: self.binary("fdiv", t, one, self.intrinsic("sqrt", t, x)), arguments[0]
            )
        if name == "precise_divf":
            return self.in_float(element, lambda t, x, y: self.binary("fdiv", t, x, y), *arguments)
        if name == "fma":
            if element in HALVES:  # the product is exact in float64, and so nearly is the sum
                wide = [self.emit(f"fpext float {x} to double", x) for x in (self.widen(element, y) for y in arguments)]
                return self.narrow_double(element, self.intrinsic("fma", "double", *wide))
            return self.intrinsic("fma", kind, *arguments)
        if name == "clampf":
            nan_wins = op.attributes.get("propagateNan", "").startswith("65535")

            def clamp(t: str, x: str, low: str, high: str) -> Operand:
                return self.extremum("minimum", nan_wins, t, self.extremum("maximum", nan_wins, t, x, low), high)

            return self.in_float(element, clamp, *arguments)
        if name == "remf":
            return self.call_library("fmod", element, *arguments)
        function = op.string("symbol") if name == "extern_elementwise" else name
        if function.startswith("__nv_"):  # libdevice's names, which tl.math and tl.extra use
            function = function[5:].removesuffix("f") if element == "f32" else function[5:]
        if function in LIBRARY_FUNCTIONS:
            return self.call_library(function, element, *arguments)
        raise NotSupported(f"{op.name} {function if function != name else ''}is not supported on the CPU")

    # -- floating point

    def float_type(self, element: str) -> str:
        """The type that an element is computed in."""
        return "double" if element == "f64" else "float"

    def widen(self, element: str, x: Operand) -> Operand:
        """A float16 or bfloat16 as float32."""
        if element == "bf16":
            x = self.emit(f"zext i16 {x} to i32", x)
            x = self.emit(f"shl i32 {x}, 16", x)
            return self.emit(f"bitcast i32 {x} to float", x)
        return self.half_to_float(x) if element == "f16" else x

    def narrow(self, element: str, x: Operand) -> Operand:
        """A float32 rounded to float16 or bfloat16."""
        if element == "bf16":
            return self.float_to_bfloat(x)
        return self.float_to_half(x) if element == "f16" else x

    def in_float(self, element: str, compute: object, *arguments: Operand) -> Operand:
        """Compute in the type for an element's arithmetic, and round."""
        wide = [self.widen(element, x) for x in arguments]
        return self.narrow(element, compute(self.float_type(element), *wide))  # type: ignore[operator]

    def binary(self, instruction: str, kind: str, x: str, y: str) -> Operand:
        return self.emit(f"{instruction} {kind} {x}, {y}", x, y)

    def extremum(self, intrinsic: str, nan_wins: bool, kind: str, x: str, y: str) -> Operand:
        """The larger or smaller, -0 below +0."""
        result = self.intrinsic(intrinsic, kind, x, y)
        if nan_wins:
            return result
        for number, other in ((x, y), (y, x)):
            missing = self.emit(f"fcmp uno {kind} {other}, {other}", other)
            flags = kind.replace("float", "i1").replace("double", "i1")
            result = self.emit(f"select {flags} {missing}, {kind} {number}, {kind} {result}", missing, number, result)
        return result

    def call_library(self, function: str, element: str, *arguments: Operand) -> Operand:
        def call(kind: str, *wide: str) -> Operand:
            name = function + ("f" if kind == "float" else "")
            return self.call(name, kind, *wide, attributes=" #1")

        return self.in_float(element, call, *arguments)

    # -- float16 and bfloat16

    def float_to_bfloat(self, x: Operand) -> Operand:
        """Round to nearest, ties to even; a NaN stays one."""
        bits = self.emit(f"bitcast float {x} to i32", x)
        odd = self.emit(f"lshr i32 {bits}, 16", bits)
        last = self.emit(f"and i32 {odd}, 1", odd)
        bias = self.emit(f"add i32 {last}, 32767", last)
        rounded = self.emit(f"add i32 {bits}, {bias}", bits, bias)
        rounded = self.emit(f"lshr i32 {rounded}, 16", rounded)
        quiet = self.emit(f"or i32 {odd}, 64", odd)
        missing = self.emit(f"fcmp uno float {x}, {x}", x)
        chosen = self.emit(f"select i1 {missing}, i32 {quiet}, i32 {rounded}", missing, quiet, rounded)
        return self.emit(f"trunc i32 {chosen} to i16", chosen)

    def half_to_float(self, x: Operand) -> Operand:
        if self.has_half_conversions:
            half = self.emit(f"bitcast i16 {x} to half", x)
            return self.emit(f"fpext half {half} to float", half)
        wide = self.emit(f"zext i16 {x} to i32", x)
        magnitude = self.emit(f"and i32 {wide}, 32767", wide)
        shifted = self.emit(f"shl i32 {magnitude}, 13", magnitude)
        small = self.emit(f"bitcast i32 {shifted} to float", shifted)
        # The exponents' biases differ by 112; the product is exact, also of subnormal numbers.
        scaled = self.emit(f"fmul float {small}, {float_literal('f32', 2.0**112)}", small)
        finite = self.emit(f"bitcast float {scaled} to i32", scaled)
        infinite = self.emit(f"or i32 {shifted}, {0x7F800000}", shifted)
        is_finite = self.emit(f"icmp ult i32 {magnitude}, {0x7C00}", magnitude)
        bits = self.emit(f"select i1 {is_finite}, i32 {finite}, i32 {infinite}", is_finite, finite, infinite)
        sign = self.emit(f"and i32 {wide}, 32768", wide)
        sign = self.emit(f"shl i32 {sign}, 16", sign)
        bits = self.emit(f"or i32 {bits}, {sign}", bits, sign)
        return self.emit(f"bitcast i32 {bits} to float", bits)

    def float_to_half(self, x: Operand) -> Operand:
        if self.has_half_conversions:
            half = self.emit(f"fptrunc float {x} to half", x)
            return self.emit(f"bitcast half {half} to i16", half)
        bits = self.emit(f"bitcast float {x} to i32", x)
        magnitude = self.emit(f"and i32 {bits}, {0x7FFFFFFF}", bits)
        # Normal results: change the exponent's bias, round to nearest even by adding; a carry may give infinity.
        last = self.emit(f"lshr i32 {magnitude}, 13", magnitude)
        last = self.emit(f"and i32 {last}, 1", last)
        biased = self.emit(f"add i32 {magnitude}, {0xFFF - (112 << 23)}", magnitude)
        normal = self.emit(f"add i32 {biased}, {last}", biased, last)
        normal = self.emit(f"lshr i32 {normal}, 13", normal)
        # Subnormal results: adding 0.5 leaves their bits, rounded, at the end of the sum's.
        number = self.emit(f"bitcast i32 {magnitude} to float", magnitude)
        moved = self.emit(f"fadd float {number}, {float_literal('f32', 0.5)}", number)
        moved_bits = self.emit(f"bitcast float {moved} to i32", moved)
        subnormal = self.emit(f"sub i32 {moved_bits}, {0x3F000000}", moved_bits)
        is_small = self.emit(f"icmp ult i32 {magnitude}, {0x38800000}", magnitude)
        result = self.emit(f"select i1 {is_small}, i32 {subnormal}, i32 {normal}", is_small, subnormal, normal)
        is_large = self.emit(f"icmp uge i32 {magnitude}, {0x47800000}", magnitude)
        result = self.emit(f"select i1 {is_large}, i32 {0x7C00}, i32 {result}", is_large, result)
        missing = self.emit(f"icmp ugt i32 {magnitude}, {0x7F800000}", magnitude)
        result = self.emit(f"select i1 {missing}, i32 {0x7E00}, i32 {result}", missing, result)
        sign = self.emit(f"lshr i32 {bits}, 16", bits)
        sign = self.emit(f"and i32 {sign}, 32768", sign)
        result = self.emit(f"or i32 {result}, {sign}", result, sign)
        return self.emit(f"trunc i32 {result} to i16", result)

    def narrow_double(self, element: str, x: Operand) -> Operand:
        """A float64 rounded once to float16 or bfloat16: through float32 rounded to odd, which loses nothing."""
        single = self.emit(f"fptrunc double {x} to float", x)
        back = self.emit(f"fpext float {single} to double", single)
        bits = self.emit(f"bitcast float {single} to i32", single)
        inexact = self.emit(f"fcmp one double {back}, {x}", back, x)
        last = self.emit(f"and i32 {bits}, 1", bits)
        even = self.emit(f"icmp eq i32 {last}, 0", last)
        wrong = self.emit(f"and i1 {inexact}, {even}", inexact, even)
        below = self.emit(f"fcmp olt double {self.intrinsic('fabs', 'double', back)}, "
                          f"{self.intrinsic('fabs', 'double', x)}", back, x)  # fmt: skip
        step = self.emit(f"select i1 {below}, i32 1, i32 -1", below)
        moved = self.emit(f"add i32 {bits}, {step}", bits, step)
        bits = self.emit(f"select i1 {wrong}, i32 {moved}, i32 {bits}", wrong, moved, bits)
        return self.narrow(element, self.emit(f"bitcast i32 {bits} to float", bits))

    # -- integers

    def conjunction(self, x: Operand, y: Operand) -> Operand:
        if FALSE in (x, y):
            return operand("false", level_of((x, y)))
        if TRUE in (x, y):
            return operand(y if x == TRUE else x, level_of((x, y)))
        return self.emit(f"and i1 {x}, {y}", x, y)

    def shift(self, instruction: str, element: str, x: Operand, amount: Operand) -> Operand:
        """A shift by the width or more gives 0, or the sign, as on a GPU; in LLVM it would be undefined."""
        kind, width = register_type(element), bits_of(element)
        if is_literal(amount):
            if 0 <= int(amount) < width:
                return self.emit(f"{instruction} {kind} {x}, {amount}", x)
            amount = Operand(str(width))
        last = self.intrinsic("umin", kind, amount, str(width - 1))
        shifted = self.emit(f"{instruction} {kind} {x}, {last}", x, last)
        if instruction == "ashr":
            return shifted
        inside = self.emit(f"icmp ult {kind} {amount}, {width}", amount)
        return self.emit(f"select i1 {inside}, {kind} {shifted}, {kind} 0", inside, shifted)

    def integer_division(self, element: str, quotient: bool, signed: bool, x: Operand, y: Operand) -> Operand:
        """Division towards zero, or its remainder. Where it would trap, the divisor is taken as 1."""
        kind, width = register_type(element), bits_of(element)
        letter = "s" if signed else "u"
        if re.fullmatch(r"-?\d+", y) and int(y) not in (0, -1):
            return self.emit(f"{letter}{'div' if quotient else 'rem'} {kind} {x}, {y}", x)
        unsafe = self.emit(f"icmp eq {kind} {y}, 0", y)
        if signed:
            negates = self.emit(f"icmp eq {kind} {y}, -1", y)
            least = self.emit(f"icmp eq {kind} {x}, {-(1 << width - 1)}", x)
            overflows = self.emit(f"and i1 {negates}, {least}", negates, least)
            unsafe = self.emit(f"or i1 {unsafe}, {overflows}", unsafe, overflows)
        y = self.emit(f"select i1 {unsafe}, {kind} 1, {kind} {y}", unsafe, y)
        if width == 64:
            return self.emit(f"{letter}{'div' if quotient else 'rem'} {kind} {x}, {y}", x, y)
        # The quotient in float64, cut off, is exact for 32 bits; unlike the instruction it runs in vectors.
        wide_x = self.emit(f"{letter}itofp {kind} {x} to double", x)
        wide_y = self.emit(f"{letter}itofp {kind} {y} to double", y)
        ratio = self.emit(f"fdiv double {wide_x}, {wide_y}", wide_x, wide_y)
        whole = self.emit(f"fpto{letter}i double {ratio} to {kind}", ratio)
        if quotient:
            return whole
        product = self.emit(f"mul {kind} {whole}, {y}", whole, y)
        return self.emit(f"sub {kind} {x}, {product}", x, product)

    def high_product(self, kind: str, width: int, x: Operand, y: Operand) -> Operand:
        """The upper half of an unsigned product."""
        wide_x = self.emit(f"zext {kind} {x} to i{2 * width}", x)
        wide_y = self.emit(f"zext {kind} {y} to i{2 * width}", y)
        product = self.emit(f"mul i{2 * width} {wide_x}, {wide_y}", wide_x, wide_y)
        upper = self.emit(f"lshr i{2 * width} {product}, {width}", product)
        return self.emit(f"trunc i{2 * width} {upper} to {kind}", upper)

    # -- conversions

    def convert(self, op: Operation, name: str, source: str, target: str, x: Operand) -> Operand:
        before, after = register_type(source), register_type(target)
        if name in ("extsi", "extui", "trunci"):
            instruction = {"extsi": "sext", "extui": "zext", "trunci": "trunc"}[name]
            return self.emit(f"{instruction} {before} {x} to {after}", x) if before != after else x
        if name == "index_cast":
            if before == after:
                return x
            return self.emit(f"{'sext' if SIZES[target] > SIZES[source] else 'trunc'} {before} {x} to {after}", x)
        if name == "bitcast":
            return x if before == after else self.emit(f"bitcast {before} {x} to {after}", x)
        if name == "ptr_to_int":
            return self.emit(f"ptrtoint ptr {x} to {after}", x)
        if name == "int_to_ptr":
            return self.emit(f"inttoptr {before} {x} to ptr", x)
        if name in ("sitofp", "uitofp"):
            if target in HALVES:  # float64 holds 32 bits exactly
                return self.narrow_double(target, self.emit(f"{name} {before} {x} to double", x))
            return self.emit(f"{name} {before} {x} to {after}", x)
        if name in ("fptosi", "fptoui"):
            return self.float_to_integer(name[4:], source, target, self.widen(source, x))
        if "rounding" in op.attributes and op.integer("rounding") == 0:
            raise NotSupported("rounding towards zero in a conversion is not supported on the CPU")
        if source == target:
            return x
        if source == "f64":
            return self.narrow_double(target, x) if target in HALVES else self.emit(f"fptrunc double {x} to float", x)
        x = self.widen(source, x)
        return self.emit(f"fpext float {x} to double", x) if target == "f64" else self.narrow(target, x)

    def float_to_integer(self, to: str, source: str, target: str, x: Operand) -> Operand:
        """Towards zero, saturating, NaN to 0, as a GPU does; LLVM's own conversion is undefined out of range."""
        kind, width = self.float_type(source), max(bits_of(target), 32)
        signed = to == "si"
        low, high = (-(1 << width - 1), 1 << width - 1) if signed else (0, 1 << width)
        limits = [float_literal("f64" if kind == "double" else "f32", float(limit)) for limit in (low, high)]
        # LLVM's saturating intrinsics would be computed one element at a time.
        fits = self.emit(f"fcmp olt {kind} {x}, {limits[1]}", x)
        number = self.emit(f"select i1 {fits}, {kind} {x}, {kind} {ZERO_FLOAT}", fits, x)
        above = self.emit(f"fcmp ogt {kind} {number}, {limits[0]}", number)
        number = self.emit(f"select i1 {above}, {kind} {number}, {kind} {limits[0]}", above, number)
        result = self.emit(f"fpto{to} {kind} {number} to i{width}", number)
        large = self.emit(f"fcmp oge {kind} {x}, {limits[1]}", x)
        result = self.emit(f"select i1 {large}, i{width} {high - 1}, i{width} {result}", large, result)
        if bits_of(target) == width:
            return result
        return self.emit(f"trunc i{width} {result} to {register_type(target)}", result)
