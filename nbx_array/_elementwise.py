"""Element-wise functions of the standard.

Every function takes arrays of one device, returns at once with a deferred result, and raises at the call: TypeError for
an operand that is no array or scalar or whose dtype has no meaning for the function, ValueError where shapes do not
broadcast or devices differ, OverflowError for a Python int that the dtype cannot hold. Python scalars take the dtype
of the arrays; NumPy scalars bring their own. Scalars alone, and nested sequences of them, become arrays first. What
is decorated as a `ufunc` takes NumPy's keywords and has its methods.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from nbx_array import _array
from nbx_array._array import Array, cast, part, power, refuse_negative
from nbx_array._data_types import result_type
from nbx_array._expression import describe
from nbx_array._operations import apply, operands_of
from nbx_array._out import deliver
from nbx_array._ufunc import ufunc

Operand = Array | bool | int | float | complex | np.generic


@ufunc
def abs(x: Array, /) -> Array:
    """Absolute value of each element; the modulus of a complex one, without overflow on the way.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype; of a complex array, the dtype of its parts.
    Standard: element-wise functions, `abs`.

    >>> xp.abs(xp.asarray([-1.5, 2.0]))
    Array([1.5, 2. ], device='cpu')
    """
    return _array.unary("abs", x)


@ufunc
def acos(x: Array, /) -> Array:
    """Inverse cosine of each element, in radians.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `acos`.

    >>> xp.acos(xp.asarray([1.0, -1.0]))
    Array([0.        , 3.14159265], device='cpu')
    """
    return _array.unary("acos", x)


@ufunc
def acosh(x: Array, /) -> Array:
    """Inverse hyperbolic cosine of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `acosh`.

    >>> xp.acosh(xp.asarray([1.0, 2.0]))
    Array([0.       , 1.3169579], device='cpu')
    """
    return _array.unary("acosh", x)


@ufunc
def add(x1: Operand, x2: Operand, /) -> Array:
    """Sum of the elements of x1 and x2; logical or of bools.

    x1, x2: arrays of any dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `add`.

    >>> xp.add(xp.asarray([1, 2]), 3)
    Array([4, 5], device='cpu')
    """
    return apply(Array, "add", x1, x2)


@ufunc
def asin(x: Array, /) -> Array:
    """Inverse sine of each element, in radians.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `asin`.

    >>> xp.asin(xp.asarray([0.0, 1.0]))
    Array([0.        , 1.57079633], device='cpu')
    """
    return _array.unary("asin", x)


@ufunc
def asinh(x: Array, /) -> Array:
    """Inverse hyperbolic sine of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `asinh`.

    >>> xp.asinh(xp.asarray([0.0, -4096.0]))
    Array([ 0.        , -9.01091336], device='cpu')
    """
    return _array.unary("asinh", x)


@ufunc
def atan(x: Array, /) -> Array:
    """Inverse tangent of each element, in radians.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `atan`.

    >>> xp.atan(xp.asarray([0.0, 1.0]))
    Array([0.        , 0.78539816], device='cpu')
    """
    return _array.unary("atan", x)


@ufunc
def atan2(x1: Operand, x2: Operand, /) -> Array:
    """Angle of the points (x2, x1), in radians in [-pi, pi]; x1 is the ordinate.

    x1, x2: arrays of any dtype; integers and bools count as the default float, broadcast against each other; either
    may be a scalar.
    Result: array of the broadcast shape, floating point.
    Standard: element-wise functions, `atan2`.

    >>> xp.atan2(xp.asarray([1.0, -1.0]), 0.0)
    Array([ 1.57079633, -1.57079633], device='cpu')
    """
    return apply(Array, "atan2", x1, x2)


@ufunc
def atanh(x: Array, /) -> Array:
    """Inverse hyperbolic tangent of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `atanh`.

    >>> xp.atanh(xp.asarray([0.0, 0.5]))
    Array([0.        , 0.54930614], device='cpu')
    """
    return _array.unary("atanh", x)


@ufunc
def bitwise_and(x1: Operand, x2: Operand, /) -> Array:
    """Bitwise and of the elements of x1 and x2.

    x1, x2: arrays of bool or integer dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `bitwise_and`.

    >>> xp.bitwise_and(xp.asarray([6, 5]), 3)
    Array([2, 1], device='cpu')
    """
    return apply(Array, "bitwise_and", x1, x2)


@ufunc
def bitwise_invert(x: Array, /) -> Array:
    """Every bit of each element inverted; logical not of bools.

    x: array of bool or integer dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `bitwise_invert`.

    >>> xp.bitwise_invert(xp.asarray([0, 5]))
    Array([-1, -6], device='cpu')
    """
    return _array.unary("bitwise_invert", x)


@ufunc
def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Array:
    """Elements of x1 shifted left by x2 bits; a shift by the width or more gives 0.

    x1, x2: arrays of integer dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `bitwise_left_shift`.

    >>> xp.bitwise_left_shift(xp.asarray([1, 3]), 2)
    Array([ 4, 12], device='cpu')
    """
    return apply(Array, "bitwise_left_shift", x1, x2)


@ufunc
def bitwise_or(x1: Operand, x2: Operand, /) -> Array:
    """Bitwise or of the elements of x1 and x2.

    x1, x2: arrays of bool or integer dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `bitwise_or`.

    >>> xp.bitwise_or(xp.asarray([6, 5]), 3)
    Array([7, 7], device='cpu')
    """
    return apply(Array, "bitwise_or", x1, x2)


@ufunc
def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Array:
    """Elements of x1 shifted right by x2 bits, keeping the sign; by the width or more gives 0 or -1.

    x1, x2: arrays of integer dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `bitwise_right_shift`.

    >>> xp.bitwise_right_shift(xp.asarray([8, -8]), 2)
    Array([ 2, -2], device='cpu')
    """
    return apply(Array, "bitwise_right_shift", x1, x2)


@ufunc
def bitwise_xor(x1: Operand, x2: Operand, /) -> Array:
    """Bitwise exclusive or of the elements of x1 and x2.

    x1, x2: arrays of bool or integer dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `bitwise_xor`.

    >>> xp.bitwise_xor(xp.asarray([6, 5]), 3)
    Array([5, 6], device='cpu')
    """
    return apply(Array, "bitwise_xor", x1, x2)


@ufunc
def ceil(x: Array, /) -> Array:
    """Smallest integer not below each element.

    x: array of a real dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `ceil`.

    >>> xp.ceil(xp.asarray([-1.5, 1.5]))
    Array([-1.,  2.], device='cpu')
    """
    return _array.unary("ceil", x)


def clip(
    a: Array,
    min: Operand | None = None,
    max: Operand | None = None,
    out: Any = None,
    *,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
) -> Array:
    """Elements of `a` limited to [min, max]; NaN where `a` or a bound is NaN.

    a: array of a real dtype. min, max: arrays or scalars, broadcast against `a`; None sets no bound. a_min, a_max:
    NumPy's other names of them; ValueError where a bound has both.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `clip`.

    >>> xp.clip(xp.asarray([-2, 0, 7]), 0, 5)
    Array([0, 0, 5], device='cpu')
    """
    if a_min is not None or a_max is not None:
        if (a_min is not None and min is not None) or (a_max is not None and max is not None):
            raise ValueError("clip: a bound was given by both of its names")
        min, max = a_min if min is None else min, a_max if max is None else max
    operands: list[Any] = [a, *(bound for bound in (min, max) if bound is not None)]
    if type(a) is not Array or a.sig.dtype.kind == "c" or not {int, float}.issuperset(map(type, operands[1:])):
        operands, _ = operands_of("clip", operands)
        a = operands[0]
        kinds = {getattr(operand, "dtype", np.dtype(type(operand))).kind for operand in operands}
        if not isinstance(a, Array) or "c" in kinds:
            raise TypeError(f"clip: expected a real array and real bounds, got {', '.join(map(describe, operands))}")
    if a.sig.dtype.kind in "iu" and float in (type(min), type(max)):
        a = cast(a, result_type(a, 0.5))
    if a.sig.dtype.kind in "iu":  # a Python int beyond the dtype bounds nothing, where an operator would refuse it
        limits = np.iinfo(a.sig.dtype)
        min = None if type(min) is int and min <= limits.min else min
        max = None if type(max) is int and max >= limits.max else max
    result = a
    if min is not None:
        result = _maximum(result, min)
    if max is not None:
        result = _minimum(result, max)
    return deliver("clip", _array.unary("positive", a) if result is a else result, out)


_maximum, _minimum = _array._binary("maximum"), _array._binary("minimum")


@ufunc
def conj(x: Array, /) -> Array:
    """Complex conjugate of each element; real arrays come back unchanged.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `conj`.

    >>> xp.conj(xp.asarray([1.0 + 2.0j]))
    Array([1.-2.j], device='cpu')
    """
    return _array.unary("conj", x)


@ufunc
def copysign(x1: Operand, x2: Operand, /) -> Array:
    """Magnitudes of x1 with the signs of x2.

    x1, x2: arrays of any dtype; integers and bools count as the default float, broadcast against each other; either
    may be a scalar.
    Result: array of the broadcast shape, floating point.
    Standard: element-wise functions, `copysign`.

    >>> xp.copysign(xp.asarray([1.0, -2.0]), -0.0)
    Array([-1., -2.], device='cpu')
    """
    return apply(Array, "copysign", x1, x2)


@ufunc
def cos(x: Array, /) -> Array:
    """Cosine of each element, which is in radians. Accurate for arguments of any size.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `cos`.

    >>> xp.cos(xp.asarray([0.0, 1e22]))
    Array([1.        , 0.52321479], device='cpu')
    """
    return _array.unary("cos", x)


@ufunc
def cosh(x: Array, /) -> Array:
    """Hyperbolic cosine of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `cosh`.

    >>> xp.cosh(xp.asarray([0.0, 1.0]))
    Array([1.        , 1.54308063], device='cpu')
    """
    return _array.unary("cosh", x)


@ufunc
def divide(x1: Operand, x2: Operand, /) -> Array:
    """Quotient of the elements of x1 and x2.

    x1, x2: arrays of any dtype; integers and bools count as the default float, broadcast against each other; either
    may be a scalar.
    Result: array of the broadcast shape, floating point.
    Standard: element-wise functions, `divide`.

    >>> xp.divide(xp.asarray([1.0, 3.0]), 2.0)
    Array([0.5, 1.5], device='cpu')
    """
    return apply(Array, "divide", x1, x2)


@ufunc
def equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether the elements of x1 and x2 are equal; exact between integers and Python ints of any size.

    x1, x2: arrays of any dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `equal`.

    >>> xp.equal(xp.asarray([1, 2]), 2)
    Array([False,  True], device='cpu')
    """
    return apply(Array, "equal", x1, x2)


@ufunc
def exp(x: Array, /) -> Array:
    """The exponential function of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `exp`.

    >>> xp.exp(xp.asarray([0.0, 1.0]))
    Array([1.        , 2.71828183], device='cpu')
    """
    return _array.unary("exp", x)


@ufunc
def expm1(x: Array, /) -> Array:
    """exp(x) - 1 of each element, accurate near zero.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `expm1`.

    >>> xp.expm1(xp.asarray([0.0, 1e-20]))
    Array([0.e+00, 1.e-20], device='cpu')
    """
    return _array.unary("expm1", x)


@ufunc
def floor(x: Array, /) -> Array:
    """Largest integer not above each element.

    x: array of a real dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `floor`.

    >>> xp.floor(xp.asarray([-1.5, 1.5]))
    Array([-2.,  1.], device='cpu')
    """
    return _array.unary("floor", x)


@ufunc
def floor_divide(x1: Operand, x2: Operand, /) -> Array:
    """Quotient rounded towards minus infinity; of integers by zero it is 0, as NumPy has it.

    Infinities are divided as the standard has it, which is not Python's way: inf // 2 is inf, and 1 // -inf is -0.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `floor_divide`.

    >>> xp.floor_divide(xp.asarray([7, -7]), 2)
    Array([ 3, -4], device='cpu')
    """
    return apply(Array, "floor_divide", x1, x2)


@ufunc
def greater(x1: Operand, x2: Operand, /) -> Array:
    """Whether elements of x1 exceed those of x2.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `greater`.

    >>> xp.greater(xp.asarray([1, 3]), 2)
    Array([False,  True], device='cpu')
    """
    return apply(Array, "greater", x1, x2)


@ufunc
def greater_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether elements of x1 are at least those of x2.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `greater_equal`.

    >>> xp.greater_equal(xp.asarray([1, 2]), 2)
    Array([False,  True], device='cpu')
    """
    return apply(Array, "greater_equal", x1, x2)


@ufunc
def hypot(x1: Operand, x2: Operand, /) -> Array:
    """sqrt(x1**2 + x2**2), without overflow on the way.

    x1, x2: arrays of any dtype; integers and bools count as the default float, broadcast against each other; either
    may be a scalar.
    Result: array of the broadcast shape, floating point.
    Standard: element-wise functions, `hypot`.

    >>> xp.hypot(xp.asarray([3.0, 5.0]), 4.0)
    Array([5.        , 6.40312424], device='cpu')
    """
    return apply(Array, "hypot", x1, x2)


def imag(x: Array, /) -> Array:
    """Imaginary part of each element. Of a complex array it is a view; of a real dtype it is 0, as NumPy has it.

    x: array of complex dtype.
    Result: array of x's shape, the dtype of the parts.
    Standard: element-wise functions, `imag`.

    >>> xp.imag(xp.asarray([1.0 + 2.0j]))
    Array([2.], device='cpu')
    """
    (x,), _ = operands_of("imag", (x,))
    return x.imag


@ufunc
def isfinite(x: Array, /) -> Array:
    """Whether each element is neither infinite nor NaN.

    x: array of any numeric dtype.
    Result: array of x's shape, bool.
    Standard: element-wise functions, `isfinite`.

    >>> xp.isfinite(xp.asarray([1.0, float('inf')]))
    Array([ True, False], device='cpu')
    """
    return _array.unary("isfinite", x)


@ufunc
def isinf(x: Array, /) -> Array:
    """Whether each element is an infinity.

    x: array of any numeric dtype.
    Result: array of x's shape, bool.
    Standard: element-wise functions, `isinf`.

    >>> xp.isinf(xp.asarray([1.0, float('-inf')]))
    Array([False,  True], device='cpu')
    """
    return _array.unary("isinf", x)


@ufunc
def isnan(x: Array, /) -> Array:
    """Whether each element is NaN.

    x: array of any numeric dtype.
    Result: array of x's shape, bool.
    Standard: element-wise functions, `isnan`.

    >>> xp.isnan(xp.asarray([1.0, float('nan')]))
    Array([False,  True], device='cpu')
    """
    return _array.unary("isnan", x)


@ufunc
def less(x1: Operand, x2: Operand, /) -> Array:
    """Whether elements of x1 are below those of x2.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `less`.

    >>> xp.less(xp.asarray([1, 3]), 2)
    Array([ True, False], device='cpu')
    """
    return apply(Array, "less", x1, x2)


@ufunc
def less_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether elements of x1 are at most those of x2.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `less_equal`.

    >>> xp.less_equal(xp.asarray([2, 3]), 2)
    Array([ True, False], device='cpu')
    """
    return apply(Array, "less_equal", x1, x2)


@ufunc
def log(x: Array, /) -> Array:
    """Natural logarithm of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `log`.

    >>> xp.log(xp.asarray([1.0, 10.0]))
    Array([0.        , 2.30258509], device='cpu')
    """
    return _array.unary("log", x)


@ufunc
def log10(x: Array, /) -> Array:
    """Logarithm to base 10 of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `log10`.

    >>> xp.log10(xp.asarray([1.0, 1000.0]))
    Array([0., 3.], device='cpu')
    """
    return _array.unary("log10", x)


@ufunc
def log1p(x: Array, /) -> Array:
    """log(1 + x) of each element, accurate near zero.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `log1p`.

    >>> xp.log1p(xp.asarray([0.0, 1e-20]))
    Array([0.e+00, 1.e-20], device='cpu')
    """
    return _array.unary("log1p", x)


@ufunc
def log2(x: Array, /) -> Array:
    """Logarithm to base 2 of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `log2`.

    >>> xp.log2(xp.asarray([1.0, 8.0]))
    Array([0., 3.], device='cpu')
    """
    return _array.unary("log2", x)


@ufunc
def logaddexp(x1: Operand, x2: Operand, /) -> Array:
    """log(exp(x1) + exp(x2)), without overflow on the way.

    x1, x2: arrays of any dtype; integers and bools count as the default float, broadcast against each other; either
    may be a scalar.
    Result: array of the broadcast shape, floating point.
    Standard: element-wise functions, `logaddexp`.

    >>> xp.logaddexp(xp.asarray([0.0, 1000.0]), 1000.0)
    Array([1000.        , 1000.69314718], device='cpu')
    """
    return apply(Array, "logaddexp", x1, x2)


@ufunc
def logical_and(x1: Operand, x2: Operand, /) -> Array:
    """Logical and of the elements of x1 and x2.

    x1, x2: arrays of any dtype; zero counts as False, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `logical_and`.

    >>> xp.logical_and(xp.asarray([True, False]), True)
    Array([ True, False], device='cpu')
    """
    return apply(Array, "logical_and", x1, x2)


@ufunc
def logical_not(x: Array, /) -> Array:
    """Logical not of each element.

    x: array of any dtype; zero counts as False.
    Result: array of x's shape, bool.
    Standard: element-wise functions, `logical_not`.

    >>> xp.logical_not(xp.asarray([True, False]))
    Array([False,  True], device='cpu')
    """
    return _array.unary("logical_not", x)


@ufunc
def logical_or(x1: Operand, x2: Operand, /) -> Array:
    """Logical or of the elements of x1 and x2.

    x1, x2: arrays of any dtype; zero counts as False, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `logical_or`.

    >>> xp.logical_or(xp.asarray([True, False]), False)
    Array([ True, False], device='cpu')
    """
    return apply(Array, "logical_or", x1, x2)


@ufunc
def logical_xor(x1: Operand, x2: Operand, /) -> Array:
    """Logical exclusive or of the elements of x1 and x2.

    x1, x2: arrays of any dtype; zero counts as False, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `logical_xor`.

    >>> xp.logical_xor(xp.asarray([True, False]), True)
    Array([False,  True], device='cpu')
    """
    return apply(Array, "logical_xor", x1, x2)


@ufunc
def maximum(x1: Operand, x2: Operand, /) -> Array:
    """The larger of the elements of x1 and x2; NaN if either is.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `maximum`.

    >>> xp.maximum(xp.asarray([1, 5]), 3)
    Array([3, 5], device='cpu')
    """
    return apply(Array, "maximum", x1, x2)


@ufunc
def minimum(x1: Operand, x2: Operand, /) -> Array:
    """The smaller of the elements of x1 and x2; NaN if either is.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `minimum`.

    >>> xp.minimum(xp.asarray([1, 5]), 3)
    Array([1, 3], device='cpu')
    """
    return apply(Array, "minimum", x1, x2)


@ufunc
def multiply(x1: Operand, x2: Operand, /) -> Array:
    """Product of the elements of x1 and x2; logical and of bools.

    x1, x2: arrays of any dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `multiply`.

    >>> xp.multiply(xp.asarray([1, 2]), 3)
    Array([3, 6], device='cpu')
    """
    return apply(Array, "multiply", x1, x2)


@ufunc
def negative(x: Array, /) -> Array:
    """Each element with its sign changed.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `negative`.

    >>> xp.negative(xp.asarray([1, -2]))
    Array([-1,  2], device='cpu')
    """
    return _array.unary("negative", x)


@ufunc
def nextafter(x1: Operand, x2: Operand, /) -> Array:
    """The next number of the dtype after x1 in the direction of x2.

    x1, x2: arrays of any dtype; integers and bools count as the default float, broadcast against each other; either
    may be a scalar.
    Result: array of the broadcast shape, floating point.
    Standard: element-wise functions, `nextafter`.

    >>> xp.nextafter(xp.asarray([0.0]), 1.0)
    Array([5.e-324], device='cpu')
    """
    return apply(Array, "nextafter", x1, x2)


@ufunc
def not_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether the elements of x1 and x2 differ; exact between integers and Python ints of any size.

    x1, x2: arrays of any dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, bool.
    Standard: element-wise functions, `not_equal`.

    >>> xp.not_equal(xp.asarray([1, 2]), 2)
    Array([ True, False], device='cpu')
    """
    return apply(Array, "not_equal", x1, x2)


@ufunc
def positive(x: Array, /) -> Array:
    """A copy of each element.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `positive`.

    >>> xp.positive(xp.asarray([1, -2]))
    Array([ 1, -2], device='cpu')
    """
    return _array.unary("positive", x)


@ufunc
def pow(x1: Operand, x2: Operand, /) -> Array:
    """Elements of x1 raised to the power x2.

    x1, x2: arrays of any numeric dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype. Integers to negative integer powers raise ValueError,
    but on a GPU an array of exponents is not looked at, for which it would have to be waited for: what is no integer
    is rounded towards zero.
    Standard: element-wise functions, `pow`.

    >>> xp.pow(xp.asarray([2.0, 3.0]), 3.0)
    Array([ 8., 27.], device='cpu')
    """
    ours = isinstance(x1, Array) or isinstance(x2, Array)
    mixed = isinstance(x1, np.ndarray) or isinstance(x2, np.ndarray)  # which the operator would take
    result = power(x1, x2) if ours and not mixed else NotImplemented
    if not ours:
        refuse_negative(x1, x2)
    return apply(Array, "pow", x1, x2) if result is NotImplemented else result  # `apply` says what is wrong


def real(x: Array, /) -> Array:
    """Real part of each element. Of a complex array it is a view.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype; of a complex array, the dtype of its parts.
    Standard: element-wise functions, `real`.

    >>> xp.real(xp.asarray([1.0 + 2.0j]))
    Array([1.], device='cpu')
    """
    return part("real", x)


@ufunc
def reciprocal(x: Array, /) -> Array:
    """1 / x of each element; of integers truncated, as NumPy has it.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `reciprocal`.

    >>> xp.reciprocal(xp.asarray([2.0, 4.0]))
    Array([0.5 , 0.25], device='cpu')
    """
    return _array.unary("reciprocal", x)


@ufunc
def remainder(x1: Operand, x2: Operand, /) -> Array:
    """Remainder of floor division, with the sign of x2; of integers by zero it is 0, as NumPy has it.

    x1, x2: arrays of a real dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `remainder`.

    >>> xp.remainder(xp.asarray([7, -7]), 3)
    Array([1, 2], device='cpu')
    """
    return apply(Array, "remainder", x1, x2)


def round(a: Array, decimals: int = 0, out: Any = None) -> Array:
    """Each element rounded to the nearest integer, halves to the even one; a complex one by its parts.

    a: array of any numeric dtype. decimals: how many digits to keep, before the point if negative: `a` is multiplied by
    a power of ten, rounded and divided by it, as NumPy has it.
    Result: array of `a`'s shape, of `a`'s dtype.
    Standard: element-wise functions, `round`.

    >>> xp.round(xp.asarray([0.5, 1.5, -2.5]))
    Array([ 0.,  2., -2.], device='cpu')
    """
    if decimals == 0:
        return deliver("round", _array.unary("round", a), out)
    (a,), _ = operands_of("round", (a,))
    power_of_ten = 10.0 ** builtins.abs(operator.index(decimals))
    if decimals > 0:
        result = a if a.dtype.kind in "biu" else _array.unary("round", a * power_of_ten) / power_of_ten
    else:
        result = cast(_array.unary("round", a / power_of_ten) * power_of_ten, a.dtype)
    return deliver("round", result, out)


@ufunc
def sign(x: Array, /) -> Array:
    """Sign of each element: -1, 0 or 1, NaN of NaN, and x / abs(x) of a complex one.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `sign`.

    >>> xp.sign(xp.asarray([-3.0, 0.0, 2.0]))
    Array([-1.,  0.,  1.], device='cpu')
    """
    return _array.unary("sign", x)


@ufunc
def signbit(x: Array, /) -> Array:
    """Whether each element's sign is negative, that of -0.0 and of NaN included.

    x: array of a real dtype.
    Result: array of x's shape, bool.
    Standard: element-wise functions, `signbit`.

    >>> xp.signbit(xp.asarray([-0.0, 0.0]))
    Array([ True, False], device='cpu')
    """
    return _array.unary("signbit", x)


@ufunc
def sin(x: Array, /) -> Array:
    """Sine of each element, which is in radians. Accurate for arguments of any size.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `sin`.

    >>> xp.sin(xp.asarray([0.0, 1e22]))
    Array([ 0.        , -0.85220085], device='cpu')
    """
    return _array.unary("sin", x)


@ufunc
def sinh(x: Array, /) -> Array:
    """Hyperbolic sine of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `sinh`.

    >>> xp.sinh(xp.asarray([0.0, 1.0]))
    Array([0.        , 1.17520119], device='cpu')
    """
    return _array.unary("sinh", x)


@ufunc
def sqrt(x: Array, /) -> Array:
    """Square root of each element, correctly rounded for real dtypes.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `sqrt`.

    >>> xp.sqrt(xp.asarray([4.0, 2.0]))
    Array([2.        , 1.41421356], device='cpu')
    """
    return _array.unary("sqrt", x)


@ufunc
def square(x: Array, /) -> Array:
    """Square of each element.

    x: array of any numeric dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `square`.

    >>> xp.square(xp.asarray([3, -4]))
    Array([ 9, 16], device='cpu')
    """
    return _array.unary("square", x)


@ufunc
def subtract(x1: Operand, x2: Operand, /) -> Array:
    """Difference of the elements of x1 and x2.

    x1, x2: arrays of any numeric dtype, broadcast against each other; either may be a scalar.
    Result: array of the broadcast shape, of the common dtype.
    Standard: element-wise functions, `subtract`.

    >>> xp.subtract(xp.asarray([1, 2]), 3)
    Array([-2, -1], device='cpu')
    """
    return apply(Array, "subtract", x1, x2)


@ufunc
def tan(x: Array, /) -> Array:
    """Tangent of each element, which is in radians.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `tan`.

    >>> xp.tan(xp.asarray([0.0, 1.0]))
    Array([0.        , 1.55740772], device='cpu')
    """
    return _array.unary("tan", x)


@ufunc
def tanh(x: Array, /) -> Array:
    """Hyperbolic tangent of each element.

    x: array of any dtype; integers and bools count as the default float.
    Result: array of x's shape, floating point.
    Standard: element-wise functions, `tanh`.

    >>> xp.tanh(xp.asarray([0.0, 1.0]))
    Array([0.        , 0.76159416], device='cpu')
    """
    return _array.unary("tanh", x)


@ufunc
def trunc(x: Array, /) -> Array:
    """Each element rounded towards zero.

    x: array of a real dtype.
    Result: array of x's shape, of x's dtype.
    Standard: element-wise functions, `trunc`.

    >>> xp.trunc(xp.asarray([-1.5, 1.5]))
    Array([-1.,  1.], device='cpu')
    """
    return _array.unary("trunc", x)
