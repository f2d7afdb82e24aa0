"""Complex arithmetic, comparison and the functions that need only a square root.

A complex operand is two real tensors of float32 (complex64) or float64 (complex128), a complex result a tuple
(real, imaginary). Errors are measured on the whole number, |error| / |result|: a component that cancels may lose digits
of its own. Intermediate results neither overflow nor underflow where the result does not: operands are brought near 1
by powers of two, which is exact, and the result is brought back with one rounding.

Products are rounded before they are added, without fma: so multiplication commutes, z · conj(z) has the imaginary part
0, and z / z is 1 (unless one part is 2^100 times the other). Infinities and NaN go by the textbook's formulas, as
NumPy's: the standard leaves the choice between those and C99's Annex G.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    copysign,
    div,
    negate,
    power_of_two,
    scale,
    to_bits,
)
from nbx_array.kernels.source.core_math import sqrt as real_sqrt
from nbx_array.kernels.source.elementwise import round as real_round

# Magnitudes and infinities.


@triton.jit
def larger(x, y):
    """max(|x|, |y|) of numbers; of a number and NaN, either."""
    x = tl.abs(x)
    y = tl.abs(y)
    return tl.where(x > y, x, y)


@triton.jit
def has_infinity(x, y):
    return (tl.abs(x) == INFINITY) | (tl.abs(y) == INFINITY)


@triton.jit
def all_finite(x, y):
    return (tl.abs(x) < INFINITY) & (tl.abs(y) < INFINITY)


@triton.jit
def with_sign(magnitude, sign):
    """copysign, where NaN counts as positive: the sign of a computed NaN is not the same on every device."""
    return copysign(magnitude, tl.where(sign != sign, constant(0.0, sign), sign))


@triton.jit
def box(x, condition):
    """Annex G's part of an infinite number, where `condition` says that the number is one: ±1 for an infinity, ±0 for
    anything else. Of another number: x, or 0 for NaN."""
    inf = tl.abs(x) == INFINITY
    boxed = with_sign(tl.where(inf, constant(1.0, x), constant(0.0, x)), x)
    return tl.where(condition | (x != x), boxed, x)


@triton.jit
def normalize(x, y):
    """(x', y', n) with x + yj = (x' + y'j) · 2^n and max(|x'|, |y'|) in [1, 4), for a finite number other than 0; the
    smaller part may be rounded where it is less than 2^-22 (float64: 2^-50) of the larger one and subnormal. Zeros,
    infinities and NaN stay what they are."""
    m = larger(x, y)
    if x.dtype == tl.float32:
        small = m < 7.888609052210118e-31  # 2^-100: the exponent is read from a normal number
        up = tl.where(small, constant(18446744073709551616.0, x), 1.0)
        n = tl.minimum((to_bits(m * up) >> 23) - 127, 126)
        down = power_of_two(0 - n, x)
        return x * up * down, y * up * down, tl.where(small, n - 64, n)
    else:
        small = m < 1.1830521861667747e-271  # 2^-900
        up = tl.where(small, constant(3.402823669209385e38, x), 1.0)
        n = tl.minimum((to_bits(m * up) >> 52) - 1023, 1022)
        down = power_of_two(0 - n, x)
        return x * up * down, y * up * down, tl.where(small, n - 128, n)


# Parts and comparisons.


@triton.jit
def real(x, y):
    return x


@triton.jit
def imag(x, y):
    return y


@triton.jit
def conj(x, y):
    return x, negate(y)


@triton.jit
def positive(x, y):
    return x, y


@triton.jit
def negative(x, y):
    return negate(x), negate(y)


@triton.jit
def equal(a, b, c, d):
    return (a == c) & (b == d)


@triton.jit
def not_equal(a, b, c, d):
    return (a != c) | (b != d)


@triton.jit
def isnan(x, y):
    return (x != x) | (y != y)


@triton.jit
def isinf(x, y):
    return has_infinity(x, y)


@triton.jit
def isfinite(x, y):
    return all_finite(x, y)


@triton.jit
def nonzero(x, y):
    """z != 0, of NaN, too."""
    return (x != 0.0) | (y != 0.0)


# Arithmetic: (a + bj) with (c + dj).


@triton.jit
def add(a, b, c, d):
    return a + c, b + d


@triton.jit
def subtract(a, b, c, d):
    return a - c, b - d


@triton.jit
def multiply(a, b, c, d):
    # A part of the result is at most twice m · n. Where that overflows, products of parts may although their difference
    # does not; where it is small, products rounded to subnormals would be an error beside that of the result. There the
    # operands are scaled; elsewhere all factors are 1.
    m = larger(a, b)
    n = larger(c, d)
    one = constant(1.0, a)
    if a.dtype == tl.float32:
        small = m * n < 7.888609052210118e-31  # 2^-100
        up = constant(1.8446744073709552e19, a)  # 2^64
        undo_up = constant(5.421010862427522e-20, a)
        down = constant(1.3552527156068805e-20, a)  # 2^-66
        undo_down = constant(7.378697629483821e19, a)
    else:
        small = m * n < 1.0261342003245941e-289  # 2^-960
        up = constant(3.402823669209385e38, a)  # 2^128
        undo_up = constant(2.938735877055719e-39, a)
        down = constant(1.8645851828000517e-155, a)  # 2^-514
        undo_down = constant(5.363123171977039e154, a)
    huge = (m * n == INFINITY) & (m < INFINITY) & (n < INFINITY)
    left = tl.where(huge, down, tl.where(small & (m < n), up, one))
    right = tl.where(huge, down, tl.where(small & (m >= n), up, one))
    p = a * left
    q = b * left
    r = c * right
    s = d * right
    undo = tl.where(huge, undo_down, tl.where(small, undo_up, one))
    again = tl.where(huge, undo_down, one)
    x = (p * r - q * s) * undo * again
    y = (p * s + q * r) * undo * again
    return x, y


@triton.jit
def square(x, y):
    return multiply(x, y, x, y)


@triton.jit
def divide(a, b, c, d):
    # (c + dj) becomes (r + sj) · 2^n near 1; (a + bj) becomes (p + qj) · 2^k, neither so large that p · r overflows nor
    # so small that it loses bits
    r, s, n = normalize(c, d)
    m = larger(a, b)
    one = constant(1.0, a)
    if a.dtype == tl.float32:
        large = m > 2.1267647932558654e37  # 2^124
        small = m < 9.094947017729282e-13  # 2^-40
        factor = tl.where(large, constant(0.0625, a), tl.where(small, constant(1.8446744073709552e19, a), one))
        k = tl.where(large, 4, tl.where(small, -64, 0))
    else:
        large = m > 1.1235582092889474e307  # 2^1020
        small = m < 1.499696813895631e-241  # 2^-800
        factor = tl.where(large, constant(0.0625, a), tl.where(small, constant(1.157920892373162e77, a), one))
        k = tl.where(large, 4, tl.where(small, -256, 0))
    p = a * factor
    q = b * factor
    norm = r * r + s * s
    x = scale(div(p * r + q * s, norm), k - n)
    y = scale(div(q * r - p * s, norm), k - n)
    # NumPy divides each part by a zero, which counts as positive; a finite number by one with one infinite part is 0
    by_zero = norm == 0.0
    x = tl.where(by_zero, a * INFINITY, x)
    y = tl.where(by_zero, b * INFINITY, y)
    smaller = tl.where(tl.abs(c) < tl.abs(d), tl.abs(c), tl.abs(d))
    vanishing = has_infinity(c, d) & (smaller < INFINITY) & all_finite(a, b)
    r = box(r, vanishing)
    s = box(s, vanishing)
    x = tl.where(vanishing, (p * r + q * s) * 0.0, x)
    y = tl.where(vanishing, (q * r - p * s) * 0.0, y)
    return x, y


@triton.jit
def reciprocal(x, y):
    return divide(constant(1.0, x), constant(0.0, x), x, y)


# Functions of one number.


@triton.jit
def abs(x, y):
    p, q, n = normalize(x, y)
    h = scale(real_sqrt(p * p + q * q), n)
    return tl.where(has_infinity(x, y), constant(INFINITY, x), h)


@triton.jit
def sign(x, y):
    """z / |z|, and 0 for 0. A number with one infinite part points along it, one with two has no direction."""
    zero = constant(0.0, x)
    infinite = has_infinity(x, y)
    p, q, _ = normalize(box(x, infinite), box(y, infinite))
    h = real_sqrt(p * p + q * q)
    p = div(p, h)
    q = div(q, h)
    none = (x != x) | (y != y) | ((tl.abs(x) == INFINITY) & (tl.abs(y) == INFINITY))
    nan = constant(float("nan"), x)
    origin = (x == 0.0) & (y == 0.0)
    return tl.where(none, nan, tl.where(origin, zero, p)), tl.where(none, nan, tl.where(origin, zero, q))


@triton.jit
def round(x, y):
    """Each part to the nearest integer, ties to even."""
    return real_round(x), real_round(y)


@triton.jit
def sqrt(x, y):
    # √z = t + y/(2t)j with t = √((x + |z|)/2) in the right half-plane; in the left one t is the imaginary part.
    p, q, n = normalize(x, y)
    odd = n & 1
    factor = tl.where(odd != 0, constant(2.0, x), constant(1.0, x))
    p = p * factor
    q = q * factor
    h = real_sqrt(p * p + q * q)
    t = real_sqrt((tl.abs(p) + h) * 0.5) * power_of_two((n - odd) >> 1, x)
    other = div(tl.abs(y), t + t)
    origin = (x == 0.0) & (y == 0.0)
    zero = constant(0.0, x)
    right = x >= 0.0
    re = tl.where(origin, zero, tl.where(right, t, other))
    im = tl.where(origin, zero, tl.where(right, other, t))
    # special cases
    inf = constant(INFINITY, x)
    nan = constant(float("nan"), x)
    left = x == -INFINITY
    re = tl.where(left, tl.where(y != y, y, zero), tl.where(x == INFINITY, inf, re))
    im = tl.where(left, inf, tl.where(x == INFINITY, tl.where(y != y, y, zero), im))
    none = (x != x) | ((y != y) & (tl.abs(x) != INFINITY))
    re = tl.where(none, nan, re)
    im = tl.where(none, nan, im)
    upward = tl.abs(y) == INFINITY
    return tl.where(upward, inf, re), with_sign(tl.where(upward, inf, im), y)
