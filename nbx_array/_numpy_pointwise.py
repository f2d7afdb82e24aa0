"""NumPy's element-wise functions beyond the standard, made of the standard's: each is one kernel once it is fused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbx_array import _array as core
from nbx_array._array import Array, cast, filled, where
from nbx_array._creation import _array
from nbx_array._elementwise import (
    Operand,
    abs,
    atan2,
    copysign,
    divide,
    equal,
    floor,
    floor_divide,
    imag,
    isfinite,
    isinf,
    isnan,
    less_equal,
    log2,
    logaddexp,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    nextafter,
    not_equal,
    pow,
    real,
    remainder,
    round,
    sin,
    subtract,
    trunc,
)
from nbx_array._operations import apply, operands_of
from nbx_array._out import deliver
from nbx_array._reduction import inexact
from nbx_array._ufunc import ufunc
from nbx_array._utility import all
from nbx_array.kernels.pointwise import BOOL

INT64 = np.dtype(np.int64)


def _pair(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two operands, at least one of them an array."""
    (x, y), _ = operands_of(name, (x1, x2))
    return x, y


def _floating(x: Any) -> Any:
    return inexact(x) if isinstance(x, Array) else float(x) if isinstance(x, (bool, int)) else x


@ufunc
def fabs(x: Array, /) -> Array:
    """Absolute value of each element as floating point. Source: NumPy, `fabs`.

    >>> xp.fabs(xp.asarray([-1, 2]))
    Array([1., 2.], device='cpu')
    """
    return abs(inexact(_array(x, "fabs")))


@ufunc
def rint(x: Array, /) -> Array:
    """Each element rounded to the nearest integer, halves to the even one, as floating point. Source: NumPy, `rint`."""
    return round(inexact(_array(x, "rint")))


@ufunc
def fmax(x1: Operand, x2: Operand, /) -> Array:
    """The greater of the elements of x1 and x2; of NaN and a number the number. Source: NumPy, `fmax`.

    >>> xp.fmax(xp.asarray([1.0, xp.nan]), 0.0)
    Array([1., 0.], device='cpu')
    """
    x, y = _pair("fmax", x1, x2)
    return where(not_equal(x, x), y, where(not_equal(y, y), x, maximum(x, y))) if _has_nan(x, y) else maximum(x, y)


@ufunc
def fmin(x1: Operand, x2: Operand, /) -> Array:
    """The less of the elements of x1 and x2; of NaN and a number the number. Source: NumPy, `fmin`.

    >>> xp.fmin(xp.asarray([1.0, xp.nan]), 0.0)
    Array([0., 0.], device='cpu')
    """
    x, y = _pair("fmin", x1, x2)
    return where(not_equal(x, x), y, where(not_equal(y, y), x, minimum(x, y))) if _has_nan(x, y) else minimum(x, y)


def _kind(x: Any) -> str:
    return x.dtype.kind if hasattr(x, "dtype") else np.dtype(type(x)).kind


def _has_nan(*operands: Any) -> bool:
    """Whether the dtype of some operand has NaN."""
    return any(_kind(x) not in "biu" for x in operands)


@ufunc
def fmod(x1: Operand, x2: Operand, /) -> Array:
    """Remainder of division rounded towards zero, with the sign of x1; of integers by zero it is 0.

    Source: NumPy, `fmod`.

    >>> xp.fmod(xp.asarray([-7, 7]), 3)
    Array([-1,  1], device='cpu')
    """
    x, y = _pair("fmod", x1, x2)
    if not _has_nan(x, y):
        rest = remainder(x, y)
        return where(logical_and(not_equal(rest, 0), not_equal(_below(rest), _below(x))), rest - y, rest)
    return copysign(remainder(abs(x), abs(y)), x)


def _below(x: Any) -> Any:
    return x < 0


@ufunc
def exp2(x: Array, /) -> Array:
    """2 to the power of each element. Source: NumPy, `exp2`.

    >>> xp.exp2(xp.asarray([3.0, -1.0]))
    Array([8. , 0.5], device='cpu')
    """
    return pow(2.0, inexact(_array(x, "exp2")))


@ufunc
def cbrt(x: Array, /) -> Array:
    """Cube root of each element, by a power and one step of Newton's method. Source: NumPy, `cbrt`.

    >>> xp.cbrt(xp.asarray([27.0, -8.0]))
    Array([ 3., -2.], device='cpu')
    """
    x = inexact(_array(x, "cbrt"))
    size = abs(x)
    root = pow(size, 1 / 3)
    better = root - (root - size / (root * root)) / 3.0
    return copysign(where(logical_and(isfinite(x), size > 0), better, root), x)


@ufunc
def deg2rad(x: Array, /) -> Array:
    """Degrees as radians. Source: NumPy, `deg2rad`.

    >>> xp.deg2rad(xp.asarray([180.0]))
    Array([3.14159265], device='cpu')
    """
    return inexact(_array(x, "deg2rad")) * (math.pi / 180)


@ufunc
def rad2deg(x: Array, /) -> Array:
    """Radians as degrees. Source: NumPy, `rad2deg`.

    >>> xp.rad2deg(xp.asarray([xp.pi]))
    Array([180.], device='cpu')
    """
    return inexact(_array(x, "rad2deg")) * (180 / math.pi)


@ufunc
def heaviside(x1: Operand, x2: Operand, /) -> Array:
    """0 where x1 is negative, 1 where it is positive, x2 where it is zero, NaN where it is NaN.

    Source: NumPy, `heaviside`.

    >>> xp.heaviside(xp.asarray([-1.0, 0.0, 2.0]), 0.5)
    Array([0. , 0.5, 1. ], device='cpu')
    """
    x, h = (_floating(x) for x in _pair("heaviside", x1, x2))
    x = _array(x, "heaviside")
    return where(equal(x, 0), h, where(isnan(x), x, cast(x > 0, x.dtype)))


@ufunc
def logaddexp2(x1: Operand, x2: Operand, /) -> Array:
    """log2(2 ** x1 + 2 ** x2), without overflow on the way. Source: NumPy, `logaddexp2`.

    >>> xp.logaddexp2(xp.asarray([1.0]), 1.0)
    Array([2.], device='cpu')
    """
    x, y = (_floating(x) for x in _pair("logaddexp2", x1, x2))
    return logaddexp(x * math.log(2), y * math.log(2)) * (1 / math.log(2))


@ufunc
def ldexp(x1: Operand, x2: Operand, /) -> Array:
    """x1 times 2 to the power x2, which holds integers. Source: NumPy, `ldexp`.

    >>> xp.ldexp(xp.asarray([1.5]), 3)
    Array([12.], device='cpu')
    """
    x, exponent = _pair("ldexp", x1, x2)
    x = _floating(x)
    if not isinstance(exponent, Array):
        exponent = _array(exponent, "ldexp")
    if exponent.dtype.kind not in "biu":
        raise TypeError(f"ldexp: exponents must be integers, got dtype {exponent.dtype}")
    exponent = cast(exponent, INT64)
    dtype = x.dtype if isinstance(x, Array) else np.dtype(np.float64)
    for k in range(3):  # in steps, so that no power alone is out of range
        step = maximum(minimum(floor_divide(exponent + k, 3), 1000), -1000)
        x = multiply(x, pow(2.0, cast(step, dtype)))
    return x


@ufunc
def spacing(x: Array, /) -> Array:
    """The distance from each element to the next number away from zero, with its sign. Source: NumPy, `spacing`.

    >>> xp.spacing(xp.asarray([1.0])) == xp.finfo(xp.float64).eps
    Array([ True], device='cpu')
    """
    x = inexact(_array(x, "spacing"))
    away = copysign(np.asarray(np.inf, x.dtype)[()], x)
    return nextafter(x, away) - x


@ufunc
def float_power(x1: Operand, x2: Operand, /) -> Array:
    """Elements of x1 to the power x2 in float64 or complex128. Source: NumPy, `float_power`.

    >>> xp.float_power(xp.asarray([2, 4]), -1)
    Array([0.5 , 0.25], device='cpu')
    """
    x, y = _pair("float_power", x1, x2)
    dtype = np.dtype(np.complex128 if "c" in (_kind(x), _kind(y)) else np.float64)
    return pow(*(cast(z, dtype) if isinstance(z, Array) else dtype.type(z) for z in (x, y)))


@ufunc
def gcd(x1: Operand, x2: Operand, /) -> Array:
    """The greatest common divisor of integers, not negative; of 0 and 0 it is 0. The least integer's magnitude wraps.

    Raises TypeError for other dtypes than integers. Source: NumPy, `gcd`.

    >>> xp.gcd(xp.asarray([12, 18]), 8)
    Array([4, 2], device='cpu')
    """
    return apply(Array, "gcd", x1, x2)


@ufunc
def lcm(x1: Operand, x2: Operand, /) -> Array:
    """The least common multiple of integers, not negative; 0 where one is 0. What is too large wraps.

    Raises TypeError for other dtypes than integers. Source: NumPy, `lcm`.

    >>> xp.lcm(xp.asarray([4, 6]), 10)
    Array([20, 30], device='cpu')
    """
    return apply(Array, "lcm", x1, x2)


@ufunc
def bitwise_count(x: Array, /) -> Array:
    """How many bits of each element's magnitude are set.

    x: array of bool or integer dtype. Result: array of x's shape, of uint8. Raises TypeError for other dtypes.
    Source: NumPy, `bitwise_count`.

    >>> xp.bitwise_count(xp.asarray([7, -8, 0]))
    Array([3, 1, 0], dtype=uint8, device='cpu')
    """
    return core.unary("bitwise_count", x)


degrees, radians = rad2deg, deg2rad


def divmod(x1: Operand, x2: Operand, /) -> tuple[Array, Array]:
    """Floor division and its remainder. Source: NumPy, `divmod`.

    >>> xp.divmod(xp.asarray([7]), 2)
    (Array([3], device='cpu'), Array([1], device='cpu'))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def modf(x: Array, /) -> tuple[Array, Array]:
    """What stands behind the point and what before it, both with the sign of x. Source: NumPy, `modf`.

    >>> xp.modf(xp.asarray([-1.5]))
    (Array([-0.5], device='cpu'), Array([-1.], device='cpu'))
    """
    x = inexact(_array(x, "modf"))
    whole = trunc(x)
    return copysign(where(isinf(x), np.zeros((), x.dtype)[()], subtract(x, whole)), x), whole


def frexp(x: Array, /) -> tuple[Array, Array]:
    """Mantissas of magnitude in [0.5, 1) and exponents of 2, int32, whose product is x. Source: NumPy, `frexp`.

    >>> xp.frexp(xp.asarray([12.0]))
    (Array([0.75], device='cpu'), Array([4], dtype=int32, device='cpu'))
    """
    x = inexact(_array(x, "frexp"))
    ordinary = logical_and(isfinite(x), not_equal(x, 0))
    exponent = cast(floor(log2(where(ordinary, abs(x), 1.0))), INT64) + 1
    mantissa = ldexp(x, -exponent)
    high, low = abs(mantissa) >= 1, abs(mantissa) < 0.5
    exponent = exponent + cast(high, INT64) - cast(low, INT64)
    mantissa = where(high, mantissa / 2, where(low, mantissa * 2, mantissa))
    return where(ordinary, mantissa, x), cast(where(ordinary, exponent, 0), np.dtype(np.int32))


def fix(x: Array, out: Any = None) -> Array:
    """Each element rounded towards zero. Source: NumPy, `fix`."""
    return deliver("fix", trunc(x), out)


def isposinf(x: Array, out: Any = None) -> Array:
    """Whether each element is +inf. Source: NumPy, `isposinf`."""
    x = _array(x, "isposinf")
    return deliver("isposinf", equal(x, math.inf), out)


def isneginf(x: Array, out: Any = None) -> Array:
    """Whether each element is -inf. Source: NumPy, `isneginf`."""
    x = _array(x, "isneginf")
    return deliver("isneginf", equal(x, -math.inf), out)


def isreal(x: Any) -> Array:
    """Whether each element has no imaginary part. Source: NumPy, `isreal`."""
    x = _array(x, "isreal")
    return equal(imag(x), 0) if x.dtype.kind == "c" else filled(x.shape, True, BOOL, x.device, "isreal")


def iscomplex(x: Any) -> Array:
    """Whether each element has an imaginary part. Source: NumPy, `iscomplex`."""
    x = _array(x, "iscomplex")
    return not_equal(imag(x), 0) if x.dtype.kind == "c" else filled(x.shape, False, BOOL, x.device, "iscomplex")


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex. Source: NumPy, `iscomplexobj`."""
    return _array(x, "iscomplexobj").dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex. Source: NumPy, `isrealobj`."""
    return not iscomplexobj(x)


def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real part where all imaginary parts are below tol epsilons, else `a`. Waits for the device.

    Source: NumPy, `real_if_close`.
    """
    a = _array(a, "real_if_close")
    if a.dtype.kind != "c":
        return a
    limit = tol * float(np.finfo(a.dtype).eps) if tol > 1 else tol
    return real(a) if bool(all(abs(imag(a)) < limit)) else a


def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers, in radians or degrees. Source: NumPy, `angle`.

    >>> xp.angle(xp.asarray([1j]))
    Array([1.57079633], device='cpu')
    """
    z = inexact(_array(z, "angle"))
    result = atan2(z.imag, real(z))
    return result * (180 / math.pi) if deg else result


def sinc(x: Any) -> Array:
    """sin(πx) / (πx), which is 1 at 0 and exactly 0 at the other integers. Source: NumPy, `sinc`.

    >>> xp.sinc(xp.asarray([0.0, 0.5]))
    Array([1.        , 0.63661977], device='cpu')
    """
    x = _array(x, "sinc")
    if x.dtype.kind != "c":
        return core.unary("sinc", x)
    y = x * math.pi
    return where(equal(y, 0), 1.0, divide(sin(y), where(equal(y, 0), 1.0, y)))


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    """x with numbers for NaN and infinities, by default 0 and the dtype's extremes.

    copy: False writes to x itself. Source: NumPy, `nan_to_num`.

    >>> xp.nan_to_num(xp.asarray([xp.nan, 1.0]))
    Array([0., 1.], device='cpu')
    """
    x = _array(x, "nan_to_num")
    if x.dtype.kind in "biu":
        return +x if copy and x.dtype.kind != "b" else x
    if x.dtype.kind == "c":
        result = +x
        for part in (real(result), imag(result)):
            nan_to_num(part, False, nan, posinf, neginf)
        return deliver("nan_to_num", result, None if copy else x)
    limits = np.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    result = where(isnan(x), nan, where(equal(x, math.inf), high, where(equal(x, -math.inf), low, x)))
    return deliver("nan_to_num", result, None if copy else x)


# ---------------------------------------------------------------------------------------------------------- comparing


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Whether |a - b| ≤ atol + rtol · |b|; infinities are close to themselves. Source: NumPy, `isclose`.

    >>> xp.isclose(xp.asarray([1.0, 2.0]), xp.asarray([1.0 + 1e-9, 2.1]))
    Array([ True, False], device='cpu')
    """
    x, y = _pair("isclose", a, b)
    x, y = _floating(_wide(x)), _floating(_wide(y))
    near = less_equal(abs(subtract(x, y)), atol + rtol * abs(y))
    close = logical_or(logical_and(near, isfinite(y)), equal(x, y))
    if equal_nan:
        close = logical_or(close, logical_and(not_equal(x, x), not_equal(y, y)))
    return close


def _wide(x: Any) -> Any:
    return cast(x, INT64) if isinstance(x, Array) and x.dtype.kind == "b" else x


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` has it. Waits for the device. Source: NumPy, `allclose`.

    >>> xp.allclose(xp.asarray([1.0]), 1.0)
    True
    """
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements. Waits for the device. Source: NumPy, `array_equal`.

    >>> xp.array_equal(xp.asarray([1, 2]), [1, 2])
    True
    """
    x, y = _array(a1, "array_equal"), _array(a2, "array_equal")
    if x.shape != y.shape:
        return False
    same = equal(x, y)
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = logical_or(same, logical_and(not_equal(x, x), not_equal(y, y)))
    return bool(all(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays are equal once they are broadcast. Waits for the device. Source: NumPy, `array_equiv`."""
    try:
        return bool(all(equal(_array(a1, "array_equiv"), _array(a2, "array_equiv"))))
    except ValueError:
        return False
