"""The error function and the normal distribution: erf, erfc, their inverses, ndtr, ndtri, log_ndtr.

erfc(x) is exp(-x²) times a function without exponential growth, one polynomial for all x ≥ 0; the square is a pair.
The inverses are polynomials in y² and in √(-log q).
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    copysign,
    div,
    exponent_as_float,
    flip_sign,
    negate,
    polynomial,
    quick_reciprocal,
    quick_two_sum,
    scale_down,
    split_normal,
    sqrt,
    two_prod,
)
from nbx_array.kernels.source.exponential import (
    add_multiple_of_ln2,
    exp,
    exp_tail,
    log,
    log1p_tail,
    log_of_pair,
    reduce_by_ln2,
)
from nbx_array.kernels.source.special_coefficients import (
    ERF_32,
    ERF_64,
    ERFCINV_32,
    ERFCINV_64,
    ERFCX_32,
    ERFCX_64,
    ERFINV_32,
    ERFINV_64,
    ERFINV_INNER_32,
    ERFINV_OUTER_32,
    LOG_ERFC_32,
    LOG_ERFC_64,
)


@triton.jit
def erf_near(x):
    """erf(x) for |x| ≤ 1."""
    if x.dtype == tl.float32:
        return tl.fma(x, polynomial(x * x, ERF_32), x)
    else:
        return tl.fma(x, polynomial(x * x, ERF_64), x)


@triton.jit
def erfcx_pair(x, low):
    """exp(x²) erfc(x) of x + low, from 0 to 1e30, as a pair: r = 1/(1 + x) times a polynomial in r. Its values are
    within 1/4 of 3/4, and from 1/2 on an error of r changes them by at most 0.3 times as much."""
    d = x + 1.0
    d_low = (x - (d - 1.0)) + low
    r = quick_reciprocal(d)
    r_low = tl.fma(negate(r), d_low, tl.fma(negate(r), d, constant(1.0, x)))
    t = r - 0.5
    if x.dtype == tl.float32:
        p = polynomial(t, ERFCX_32)
    else:
        p = polynomial(t, ERFCX_64)
    p, p_low = quick_two_sum(constant(0.75, x), p)
    h, l = two_prod(r, p)
    return h, tl.fma(h, r_low, tl.fma(r, p_low, l))


@triton.jit
def times_exp_minus(h, l, square, low):
    """(h + l) exp(-(square + low)) for square ≥ 0 and low below an ulp of it, rounded once."""
    n, r, rest = reduce_by_ln2(negate(square))
    r, rest = quick_two_sum(r, rest - low)
    return scale_down(h + tl.fma(h, r, tl.fma(h, tl.fma(exp_tail(r), r * r, rest), l)), n)


@triton.jit
def erfc_far(x):
    """erfc(x) for x ≥ 0; of use from 1/2 on, where 1 - erf(x) would lose digits."""
    if x.dtype == tl.float32:
        z = tl.where(x > 11.0, 11.0, x)
    else:
        z = tl.where(x > 28.0, 28.0, x)
    h, l = erfcx_pair(z, constant(0.0, z))
    return times_exp_minus(h, l, *two_prod(z, z))


@triton.jit
def erf(x):
    """Above 1 it is 1 - exp(log erfc x): of at most 0.16 that is taken away single numbers have digits enough."""
    a = tl.abs(x)
    near = a < 1.0
    b = tl.where(near, 1.0, tl.where(a > 6.0, 6.0, a))
    if x.dtype == tl.float32:
        logarithm = polynomial(b, LOG_ERFC_32)
    else:
        logarithm = polynomial(b, LOG_ERFC_64)
    return tl.where(near, erf_near(tl.where(near, x, 0.0)), flip_sign(1.0 - exp(logarithm), x))


@triton.jit
def erfc(x):
    a = tl.abs(x)
    far = erfc_far(a)
    return tl.where(a < 0.5, 1.0 - erf_near(x), tl.where(x < 0.0, 2.0 - far, far))


@triton.jit
def root_half_times(x):
    """x/√2 as a pair."""
    if x.dtype == tl.float32:
        high, low = two_prod(x, constant(0.7071067690849304, x))
        return high, tl.fma(x, constant(1.2101617485882343e-08, x), low)
    else:
        high, low = two_prod(x, constant(0.7071067811865476, x))
        return high, tl.fma(x, constant(-4.833646656726457e-17, x), low)


@triton.jit
def central(x):
    """ndtr(x) for |x| ≤ 0.7."""
    z, _ = root_half_times(x)
    return tl.fma(erf_near(z), constant(0.5, x), constant(0.5, x))


@triton.jit
def normal_tail(a):
    """(ndtr(-a), h, l) for a ≥ 0 with the pair h + l = erfcx(a/√2)/2: the exponent is -a²/2 exactly."""
    if a.dtype == tl.float32:
        b = tl.where(a > 16.0, 16.0, a)
    else:
        b = tl.where(a > 40.0, 40.0, a)
    square, low = two_prod(b, b)
    h, l = erfcx_pair(*root_half_times(tl.where(a < 1e30, a, 1e30)))
    h *= 0.5
    l *= 0.5
    return times_exp_minus(h, l, square * 0.5, low * 0.5), h, l


@triton.jit
def ndtr(x):
    """erfc(-x/√2)/2."""
    a = tl.abs(x)
    near = a < 0.7
    tail, _, _ = normal_tail(a)
    return tl.where(near, central(x), tl.where(x > 0.0, 1.0 - tail, tail))


@triton.jit
def log_ndtr(x):
    """log(ndtr(x)) by one logarithm: below 0 of erfcx/2, less x²/2, from 0 on of 1 less the tail."""
    a = tl.abs(x)
    above = x >= 0.0
    tail, h, l = normal_tail(a)
    one, rest = quick_two_sum(constant(1.0, x), negate(tail))
    logarithm = log_of_pair(tl.where(above, one, h), tl.where(above, rest, l), 0.0)
    square, low = two_prod(a, a)
    below = tl.where(a < 1e15, (logarithm - low * 0.5) - square * 0.5, a * 0.5 * negate(a))
    return tl.where(above, tl.where(one == 1.0, negate(tail), logarithm), below)


# The inverses are computed times a factor, 1 or √2, as the normal distribution's needs it.


@triton.jit
def erfinv_near(y, factor: tl.constexpr):
    """erfinv(y) for |y| ≤ 0.6."""
    z = y * y
    y = y * factor
    if y.dtype == tl.float32:
        return tl.fma(y, polynomial(z, ERFINV_32), y)
    else:
        return tl.fma(y, polynomial(z, ERFINV_64), y)


@triton.jit
def erfcinv_far(q, factor: tl.constexpr):
    """erfcinv(q) for 0 < q ≤ 0.4."""
    square = log(q) * (-factor * factor)
    s = sqrt(square)
    low = div(tl.fma(negate(s), s, square), s + s)
    t = div(s - 4.75 * factor, s + 4.75 * factor)
    if q.dtype == tl.float32:
        p = polynomial(t, ERFCINV_32)
    else:
        p = polynomial(t, ERFCINV_64)
    return s + tl.fma(negate(s), p, low)


@triton.jit
def inverse(y, q, factor: tl.constexpr):
    """The number of y's sign with erf = y, from y where |y| ≤ 0.6 and from q = 1 - |y| elsewhere."""
    near = tl.abs(y) <= 0.6
    central = erfinv_near(tl.where(near, y, 0.0), factor)
    inside = (q > 0.0) & (q <= 0.4)
    tail = erfcinv_far(tl.where(inside, q, 0.25), factor)
    limit = tl.where(q == 0.0, q * 0.0 + INFINITY, float("nan"))
    return copysign(tl.where(near, central, tl.where(inside, tail, limit)), y)  # of 0, too


@triton.jit
def erfinv(y):
    """In float32 y times one of two polynomials in -log(1 - y²), on which rounding 1 - y² has little effect."""
    if y.dtype == tl.float32:
        m, n = split_normal(tl.fma(negate(y), y, constant(1.0, y)))
        w = negate(add_multiple_of_ln2(exponent_as_float(n, y), m - 1.0, log1p_tail(m - 1.0)))
        ratio = tl.where(w < 5.0, polynomial(w, ERFINV_INNER_32), polynomial(w - 10.0, ERFINV_OUTER_32))
        a = tl.abs(y)
        return tl.where(a < 1.0, y * ratio, tl.where(a == 1.0, y * INFINITY, float("nan")))
    else:
        return inverse(y, 1.0 - tl.abs(y), 1.0)


@triton.jit
def erfcinv(q):
    return inverse(1.0 - q, tl.where(q > 1.0, 2.0 - q, q), 1.0)


@triton.jit
def ndtri(p):
    """The argument at which the normal distribution function is p: √2 erfinv(2p - 1)."""
    return inverse((p - 0.5) * 2.0, tl.where(p > 0.5, 1.0 - p, p) * 2.0, 1.4142135623730951)
