"""Elements read from an array on the CPU: arrays of no dimension that carry their value, as NumPy's scalars do.

`x[i]` is read at once, and so is what a reduction leaves of all elements. What is simple and exact of 0-d arithmetic is
done by native code (`_fast_arithmetic`), 2 to 8 times NumPy's time for a step of a loop, or where there is none by
Python, here; all else runs a kernel at once. An element behaves as a NumPy scalar in that `+=` makes a new one. Where
arrays take part it counts as the expression that fills an array with its value.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable
from typing import Any

from nbx_array.kernels.signature import VALUE_DTYPES, Sig

_EXACT_INTEGERS = 2**53  # a float64 holds the integers up to here


def number_for(sig: Sig, other: Any) -> Any:
    """A Python scalar as a value of an element's dtype, None where it is not one without more ado."""
    kind = sig.dtype.kind
    if kind == "c":
        return complex(other) if type(other) in (complex, float) and sig.itemsize == 16 else None
    if type(other) is float:
        return other if kind == "f" and sig.itemsize == 8 else None
    if type(other) is int:
        if kind == "f":
            return float(other) if sig.itemsize == 8 and -_EXACT_INTEGERS < other < _EXACT_INTEGERS else None
        if kind in "iu":
            low, high = _limits(sig.dtype.str[1:])
            return other if low <= other <= high else None
    return None


def _limits(code: str) -> tuple[int, int]:
    bits = 8 * int(code[1:])
    return (0, 2**bits - 1) if code[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


# ------------------------------------------------------------------------------------ what Python does, by dtype

Compute = Callable[[Any, Any], Any]

_ARITHMETIC: dict[str, Compute] = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
_COMPARISONS: dict[str, Compute] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def _divide(a: float, b: float) -> float | None:
    return a / b if b else None


def _floor_divide(a: int, b: int) -> int | None:
    return a // b if b else None


def _remainder(a: int, b: int) -> int | None:
    return a % b if b else None


def _real_remainder(x: float, y: float) -> float | None:
    """As the kernel: exact, with the divisor's sign."""
    if not y or math.isinf(x):
        return None
    r = math.fmod(x, y)
    return math.copysign(r, y) if r == 0 else r + y if (y < 0) != (r < 0) else r


def _real_floor_divide(x: float, y: float) -> float | None:
    """As the kernel: the exact remainder comes off first, leaving nearly an integer."""
    if not (y and math.isfinite(x) and math.isfinite(y)):
        return None
    r = math.fmod(x, y)
    q = (x - r) / y
    if r and (y < 0) != (r < 0):
        q -= 1.0
    if q == 0:
        return math.copysign(0.0, x / y)
    if math.isinf(q):
        return q
    nearest = float(math.floor(q))
    return nearest + 1.0 if q - nearest > 0.5 else nearest


_INTEGER_ARITHMETIC: dict[str, Compute] = {
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


def _rounded(function: Compute) -> Compute:
    """In float32: a double holds sums, products and quotients of two of them to more than twice their digits, so that
    rounding once more is right (Figueroa, "When is double rounding innocuous?", 1995)."""

    def compute(a: float, b: float) -> float | None:
        value = function(a, b)
        return None if value is None else ctypes.c_float(value).value

    return compute


def _wrapped(function: Compute, low: int, high: int) -> Compute:
    def compute(a: int, b: int) -> int | None:
        value = function(a, b)
        return value if value is None or low <= value <= high else (value - low) % (high - low + 1) + low

    return compute


def _table(code: str) -> dict[str, tuple[Compute, bool]]:
    """The operations on two values of one dtype, each with whether its result is a truth value."""
    found = {name: (function, True) for name, function in _COMPARISONS.items()}
    arithmetic = dict(_ARITHMETIC)
    if code[0] == "c":
        found = {name: found[name] for name in ("equal", "not_equal")}
        arithmetic = {name: arithmetic[name] for name in ("add", "subtract") if code == "c16"}
    elif code[0] == "f":
        arithmetic |= {"divide": _divide, "remainder": _real_remainder}
        if code == "f4":
            arithmetic = {name: _rounded(function) for name, function in arithmetic.items()}
        else:
            arithmetic["floor_divide"] = _real_floor_divide
    elif code[0] in "iu":
        arithmetic |= _INTEGER_ARITHMETIC
        arithmetic = {name: _wrapped(function, *_limits(code)) for name, function in arithmetic.items()}
    else:
        arithmetic = {}
    return found | {name: (function, False) for name, function in arithmetic.items()}


TABLES = {code: _table(code) for code in VALUE_DTYPES}
"""Operations with a kernel's bits; they give None for what Python does otherwise (a division by zero)."""
