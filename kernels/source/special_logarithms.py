"""Special functions that are a few logarithms and exponentials: expit, logit, log_expit, xlogy, xlog1py, entr, rel_entr
and kl_div; and sinc."""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    flip_sign,
    negate,
    pair_add,
    pair_div,
    pair_mul_float,
    polynomial,
    power_of_two,
    quick_reciprocal,
    quick_two_sum,
    round_product,
    split,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.exponential import exp, log, log1p, log_of_pair
from nbx_array.kernels.source.pairs import log_pair
from nbx_array.kernels.source.reduce_by_half_pi import half_pi
from nbx_array.kernels.source.special_coefficients import SINC_32, SINC_64
from nbx_array.kernels.source.trigonometric import sin_cos_pairs, turn


@triton.jit
def expit(x):
    """1/(1 + e^-x)."""
    e = exp(negate(tl.abs(x)))
    return div(tl.where(x < 0.0, e, e * 0.0 + 1.0), e + 1.0)


@triton.jit
def logit(x):
    """log(x/(1 - x)) with the quotient as a pair, so that it is right near 1/2, too, where it vanishes."""
    tiny = x < 1e-30
    a = tl.where(tiny, x * 18446744073709551616.0, x)
    rest = 1.0 - x
    r = quick_reciprocal(rest)
    q = a * r
    # with what was rounded off in 1 - x
    remainder = tl.fma(q, x - (1.0 - rest), tl.fma(negate(q), rest, a))
    logarithm = log_of_pair(q, remainder * r, tl.where(tiny, constant(-64.0, x), constant(0.0, x)))
    limit = tl.where(x == 0.0, -INFINITY, tl.where(x == 1.0, INFINITY, float("nan")))
    return tl.where((x > 0.0) & (x < 1.0), logarithm, limit)


@triton.jit
def log_expit(x):
    """log(1/(1 + e^-x))."""
    return tl.where(x < 0.0, x, 0.0) - log1p(exp(negate(tl.abs(x))))


@triton.jit
def xlogy(x, y):
    return tl.where((x == 0.0) & (y == y), 0.0, x * log(y))


@triton.jit
def xlog1py(x, y):
    return tl.where((x == 0.0) & (y == y), 0.0, x * log1p(y))


@triton.jit
def entr(x):
    """-x log x, 0 at 0, -inf below."""
    return tl.where(x == 0.0, 0.0, tl.where(x < 0.0, -INFINITY, negate(x) * log(x)))


@triton.jit
def outside_entropy(x, y, at_zero):
    """What relative entropies are where x or y is not positive: `at_zero` where x = 0 ≤ y, else infinite or NaN."""
    return tl.where((x == 0.0) & (y >= 0.0), at_zero, tl.where((x != x) | (y != y), float("nan"), INFINITY))


@triton.jit
def rel_entr(x, y):
    """x log(x/y); where the quotient is near 1 its logarithm comes from the difference, which is exact there."""
    if x.dtype == tl.float32:
        least = constant(1.1754943508222875e-38, x)
    else:
        least = constant(2.2250738585072014e-308, x)
    quotient = div(x, y)
    near = (quotient > 0.5) & (quotient < 2.0)
    usual = (quotient >= least) & (quotient < INFINITY)
    logarithm = tl.where(near, log1p(div(x - y, y)), tl.where(usual, log(quotient), log(x) - log(y)))
    return tl.where((x > 0.0) & (y > 0.0), x * logarithm, outside_entropy(x, y, 0.0))


@triton.jit
def divergence(x, y):
    """(high, low, n) with x log(x/y) - x + y = (high + low) · 2^n, for positive finite x and y.

    With u = (x - y)/y it is y ((1 + u) log(1 + u) - u) = y (u²/2 - u³/6 + u⁴/12 - …); where u is not small the
    logarithm as a pair leaves enough digits after the cancellation.
    """
    x_part, x_exponent = split(x)
    y_part, y_exponent = split(y)
    # both divided by the power of two of the larger one
    exponent = tl.where(x_exponent > y_exponent, x_exponent, y_exponent)
    if x.dtype == tl.float32:
        limit = constant(-120.0, x)
        n = exponent.to(tl.int32)
        x_down = tl.where(x_exponent - exponent < limit, limit, x_exponent - exponent).to(tl.int32)
        y_down = tl.where(y_exponent - exponent < limit, limit, y_exponent - exponent).to(tl.int32)
        small = constant(0.015625, x)
    else:
        limit = constant(-1000.0, x)
        n = exponent.to(tl.int32).to(tl.int64)
        x_down = tl.where(x_exponent - exponent < limit, limit, x_exponent - exponent).to(tl.int32).to(tl.int64)
        y_down = tl.where(y_exponent - exponent < limit, limit, y_exponent - exponent).to(tl.int32).to(tl.int64)
        small = constant(0.0078125, x)
    a = x_part * power_of_two(x_down, x)
    b = y_part * power_of_two(y_down, x)
    zero = constant(0.0, x)
    q, q_low = pair_div(x_part, zero, y_part, zero)
    high, low = log_pair(q, q_low, x_exponent - y_exponent)
    high, low = pair_mul_float(high, low, a)
    d, d_low = two_sum(b, negate(a))
    high, low = pair_add(high, low, d, d_low)
    # near y
    u = div(a - b, b)
    near = tl.abs(u) < small
    u = tl.where(near, u, 0.0)
    if x.dtype == tl.float32:
        series = polynomial(u, (1 / 30, -1 / 20, 1 / 12, -1 / 6))
    else:
        series = polynomial(u, (-1 / 72, 1 / 56, -1 / 42, 1 / 30, -1 / 20, 1 / 12, -1 / 6))
    s, s_low = two_prod(u, u)
    h, l = quick_two_sum(s * 0.5, tl.fma(s * u, series, s_low * 0.5))
    h, l = pair_mul_float(h, l, b)
    return tl.where(near, h, high), tl.where(near, l, low), n


@triton.jit
def kl_div(x, y):
    """x log(x/y) - x + y."""
    finite = (x > 0.0) & (x < INFINITY) & (y > 0.0) & (y < INFINITY)
    high, low, n = divergence(tl.where(finite, x, 1.0), tl.where(finite, y, 1.0))
    half = n >> 1
    result = (high + low) * power_of_two(half, x) * power_of_two(n - half, x)
    positive = (x > 0.0) & (y > 0.0)
    return tl.where(finite, result, tl.where(positive, float("nan"), outside_entropy(x, y, y)))


@triton.jit
def sin_cos_pi(x):
    """sin πx and cos πx as pairs, for any finite x: x is reduced by halves exactly. NaN where x is not finite."""
    a = tl.abs(x)
    if x.dtype == tl.float32:
        even = a >= 16777216.0
    else:
        even = a >= 9007199254740992.0
    a = tl.where(even, 0.0, a)
    a = a - 2.0 * tl.floor(a * 0.5)
    half, n = round_product(a, 2.0)
    r = a - half * 0.5
    h, l = half_pi(x)
    h, l = pair_mul_float(h, l, r + r)
    sh, sl, ch, cl = sin_cos_pairs(h, l)
    sh, sl = quick_two_sum(sh, sl)
    ch, cl = quick_two_sum(ch, cl)
    odd = (n & 1) != 0
    finite = tl.abs(x) < INFINITY
    h = flip_sign(turn(tl.where(odd, ch, sh), n), x)
    l = flip_sign(turn(tl.where(odd, cl, sl), n), x)
    c = turn(tl.where(odd, sh, ch), n + 1)
    c_low = turn(tl.where(odd, sl, cl), n + 1)
    return tl.where(finite, h, float("nan")), l, tl.where(finite, c, float("nan")), c_low


@triton.jit
def sinc(x):
    """sin(πx)/(πx), 1 at 0; exactly 0 at the other integers. With x reduced by integers to r it is ±sinc(r) r/x, the
    quotient a pair."""
    a = tl.abs(x)
    b = a - 2.0 * tl.floor(a * 0.5)
    k, n = round_product(b, 1.0)
    r = b - k
    # sinc(r) - 1 = -3/2 r² + …, the first term a pair
    z, z_low = two_prod(r, r)
    h, l = two_prod(z, constant(-1.5, x))
    l = tl.fma(z_low, constant(-1.5, x), l)
    if x.dtype == tl.float32:
        l = tl.fma(z, polynomial(z, SINC_32), l)
    else:
        l = tl.fma(z, polynomial(z, SINC_64), l)
    a = tl.where(a > 1e30, 1e30, a)  # even, so that r is 0
    y = quick_reciprocal(a)
    r = turn(r, n + n)
    q = r * y
    q_low = tl.fma(negate(q), a, r) * y
    return tl.where(a < 0.5, (h + l) + 1.0, q + tl.fma(q, h, tl.fma(q, l, tl.fma(q_low, h, q_low))))
