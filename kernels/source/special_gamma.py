"""The gamma function and its relatives: gamma, gammaln, digamma.

For gamma, and for the other two below zero, where they have zeros anywhere, numbers are pairs. Below 8 in size the
argument is a whole number and a rest f within 1/2 of it: Γ is a polynomial in f times or divided by a product of at
most ten factors. Beyond stands Stirling's series, reflected at 0 for negative arguments. Of positive arguments gammaln
and digamma need few pairs and at most a sixth of the instructions.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    flip_sign,
    negate,
    pair_add,
    pair_add_float,
    pair_div,
    pair_mul,
    pair_mul_float,
    polynomial,
    power_of_two,
    quick_reciprocal,
    quick_two_sum,
    split,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.elementwise import any_lane
from nbx_array.kernels.source.exponential import log, log1p_tail, multiple_of_ln2_and
from nbx_array.kernels.source.pairs import exp_pair, log_pair
from nbx_array.kernels.source.reduce_by_half_pi import half_pi
from nbx_array.kernels.source.special_coefficients import (
    DIGAMMA_32,
    DIGAMMA_64,
    DIGAMMA_FAR_32,
    DIGAMMA_FAR_64,
    DIGAMMA_ROOT_32,
    DIGAMMA_ROOT_64,
    DIGAMMA_ROOT_LOW_32,
    DIGAMMA_ROOT_LOW_64,
    LOG_GAMMA_32,
    LOG_GAMMA_64,
    RECIPROCAL_GAMMA_32,
    RECIPROCAL_GAMMA_64,
    STIRLING_32,
    STIRLING_64,
)
from nbx_array.kernels.source.special_logarithms import sin_cos_pi

NEAR = tl.constexpr(8.0)
FACTORS = tl.constexpr(10)


@triton.jit
def whole(e):
    """A float that is a whole number as the integer of its width."""
    if e.dtype == tl.float32:
        return e.to(tl.int32)
    else:
        return e.to(tl.int32).to(tl.int64)


@triton.jit
def times_power_of_two(x, n):
    """x · 2^n with one rounding, for a normal x; beyond twice the exponents of numbers n is of no consequence."""
    limit: tl.constexpr = 252 if x.dtype == tl.float32 else 2044
    n = tl.minimum(tl.maximum(n, -limit), limit)
    half = n >> 1
    return x * power_of_two(half, x) * power_of_two(n - half, x)


@triton.jit
def log_of_any_pair(high, low):
    """log(high + low) as a pair, for any normal high > 0."""
    m, e = split(high)
    n = whole(e)
    half = n >> 1
    return log_pair(m, low * power_of_two(0 - half, low) * power_of_two(half - n, low), e)


@triton.jit
def exp_of_pair(high, low):
    """exp(high + low) = (h + l) · 2^n for any number high, where the result is infinite or vanishes, too."""
    h, l, n = exp_pair(high)
    if high.dtype == tl.float32:
        beyond = (high > 199.0) | (high < -119.0)
    else:
        beyond = (high > 1499.0) | (high < -799.0)
    h, l = pair_mul(h, l, constant(1.0, high), tl.where(beyond, 0.0, low))
    return h, l, n


@triton.jit
def ladder(x, low):
    """(f, up, h, l) for |x| ≤ 8: Γ(x + low) = Γ(2 + f + low) times the pair (h, l), or divided by it unless `up`; f is
    exact and |f| ≤ 1/2."""
    k = tl.floor(x + 0.5)
    f = x - k
    up = k > 2.0
    count = tl.where(up, k - 2.0, 2.0 - k)
    first = tl.where(up, x - 1.0, x)
    step = tl.where(up, f * 0.0 - 1.0, f * 0.0 + 1.0)
    h = f * 0.0 + 1.0
    l = f * 0.0
    for i in range(FACTORS):  # unrolled it would make most of the kernel
        a, a_low = two_sum(first, step * i)
        a, a_low = pair_mul(h, l, a, a_low + low)
        h = tl.where(count > i, a, h)
        l = tl.where(count > i, a_low, l)
    return f, up, h, l


@triton.jit
def log_gamma_far(a):
    """log Γ(a) as a pair, for finite a ≥ 8, divided by 2^10 where it might overflow, and that factor."""
    m, e = split(a)
    high, low = log_pair(m, constant(0.0, a), e)
    z = div(a * 0.0 + 1.0, a)
    if a.dtype == tl.float32:
        large = a > 1e30
        rest = polynomial(z * z, STIRLING_32) * z
        c = constant(0.9189385175704956, a)
        c_low = constant(1.563417661998301e-08, a)
    else:
        large = a > 1e300
        rest = polynomial(z * z, STIRLING_64) * z
        c = constant(0.9189385332046728, a)
        c_low = constant(-3.8782941580672414e-17, a)
    down = tl.where(large, 0.0009765625, 1.0)
    h, l = pair_mul_float(high, low, (a - 0.5) * down)
    h, l = pair_add_float(h, l, negate(a) * down)
    rest, rest_low = quick_two_sum(c, rest)
    h, l = pair_add(h, l, rest, rest_low + c_low)
    return h, l, tl.where(large, 1024.0, 1.0)


@triton.jit
def gamma_near(x, low):
    """Γ(x + low) as a pair, for |x| ≤ 8 that is not very small."""
    f, up, h, l = ladder(x, low)
    one = constant(1.0, x)
    if x.dtype == tl.float32:
        p = polynomial(f, RECIPROCAL_GAMMA_32)
    else:
        p = polynomial(f, RECIPROCAL_GAMMA_64)
    # 1/Γ(2 + f), its derivative times the low part
    d, d_low = quick_two_sum(one, f * p)
    d_low += low * polynomial(f, (0.573, -0.466, -0.423))
    ph, pl = pair_mul(d, d_low, h, l)
    return pair_div(tl.where(up, h, one), tl.where(up, l, 0.0), tl.where(up, d, ph), tl.where(up, d_low, pl))


@triton.jit
def gamma_parts(x, low):
    """(h, l, n) with Γ(x + low) = (h + l) · 2^n, for numbers that are not very small, up to 250 (float32: 60) in size;
    the low part matters below 8 and is else at most half an ulp. Infinite or NaN at the poles."""
    a = tl.abs(x)
    near = a < NEAR
    if x.dtype == tl.float32:
        limit = constant(60.0, x)
    else:
        limit = constant(250.0, x)
    far = tl.where(near, NEAR, tl.where(a < limit, a, limit))
    high, rest, _ = log_gamma_far(far)
    # the low part times the derivative, ψ(a) or nearly
    rest += tl.where(near, 0.0, flip_sign(low, x)) * log(far - 0.5)
    h, l, n = exp_of_pair(high, rest)
    # Γ(-a) = -π/(a sin(πa) Γ(a))
    reflected = (x < 0.0) & ~near
    sh, sl, ch, _ = sin_cos_pi(tl.where(reflected, negate(x), 0.5))
    p, p_low = half_pi(x)
    sl += negate(low) * ch * (p + p)
    sh, sl = pair_mul(sh, sl, h, l)
    sh, sl = pair_mul_float(sh, sl, negate(far))
    sh, sl = pair_div(p + p, p_low + p_low, sh, sl)
    nh, nl = gamma_near(tl.where(near, x, 1.0), tl.where(near, low, 0.0))
    h = tl.where(near, nh, tl.where(reflected, sh, h))
    l = tl.where(near, nl, tl.where(reflected, sl, l))
    return h, l, tl.where(near, 0, tl.where(reflected, 0 - n, n))


@triton.jit
def is_pole(x):
    """Whether x is 0 or a negative whole number, -inf too."""
    return (x <= 0.0) & (tl.floor(x) == x)


@triton.jit
def gamma(x):
    if x.dtype == tl.float32:
        tiny = tl.abs(x) < 1e-9
        over = x > 36.0
        under = x < -46.0
    else:
        tiny = tl.abs(x) < 1e-17
        over = x > 172.0
        under = x < -186.0
    pole = is_pole(x)
    usual = ~(tiny | over | under | pole)
    h, l, n = gamma_parts(tl.where(usual, x, 1.0), constant(0.0, x))
    result = times_power_of_two(h + l, n)
    # beyond, it is infinite or vanishes with the sign of an odd or even number of factors
    half = tl.floor(x) * 0.5
    vanishing = tl.where(tl.floor(half) == half, 0.0, flip_sign(half * 0.0, half))
    result = tl.where(over, INFINITY, tl.where(under, vanishing, result))
    result = tl.where(tiny, div(x * 0.0 + 1.0, x), result)
    return tl.where(x != x, x, tl.where(pole & (x != 0.0), float("nan"), result))


@triton.jit
def log_gamma_above_zero(x):
    """log Γ(x) for finite x > 0. One logarithm serves three expressions: below 11/4, x is 0, 1 or 2 and a rest f
    within 3/4 of it, and log Γ(2 + f), a polynomial times f, less log(x (x + 1)), log x or nothing; beyond stands
    Stirling's series. Nothing is lost near the zeros at 1 and 2, where f is exact and so is the logarithm's high part.
    """
    small = x < 0.25
    below = x < 1.25
    near = x < 2.75
    f = x - tl.where(below, tl.where(small, 0.0, 1.0), 2.0)
    if x.dtype == tl.float32:
        p = polynomial(f, LOG_GAMMA_32)
        p_low = constant(6.637773886097875e-09, x)
    else:
        p = polynomial(f, LOG_GAMMA_64)
        p_low = constant(4.942915152430645e-18, x)
    m, e = split(tl.where(below, tl.where(small, tl.fma(x, x, x), x), tl.where(near, 1.0, x)))
    h, l = multiple_of_ln2_and(e, m - 1.0, log1p_tail(m - 1.0))
    # the polynomial's last coefficient, 1 - γ, is a pair: in float32 its low part is 0.6 ulp of the result at f = -3/4
    inner = tl.fma(f, p, negate(h)) + tl.fma(f, p_low, negate(l))
    # (x - 1/2) (log x - 1) + log(2π)/2 - 1/2 and the series: h - 1 is exact
    y = quick_reciprocal(tl.where(x > 1e30, 1e30, x))  # of no consequence beyond
    if x.dtype == tl.float32:
        rest = tl.fma(y, polynomial(y * y, STIRLING_32), constant(1.563417661998301e-08, x)) + 0.4189385175704956
    else:
        rest = tl.fma(y, polynomial(y * y, STIRLING_64), constant(-3.8782941580672414e-17, x)) + 0.4189385332046728
    h -= 1.0
    rest = tl.fma(h, constant(-0.5, x), rest)
    return tl.where(near, inner, tl.fma(x, h, tl.fma(x - 0.5, l, rest)))


@triton.jit
def log_gamma_below_zero(x):
    """log |Γ(x)| for finite x < 0 that is no whole number."""
    a = negate(x)
    if x.dtype == tl.float32:
        tiny = a < 1e-12
    else:
        tiny = a < 1e-25
    near = a < NEAR
    f, _, h, l = ladder(tl.where(near & ~tiny, x, -0.5), constant(0.0, x))
    negative = h < 0.0
    h, l = log_of_any_pair(tl.abs(h), tl.where(negative, negate(l), l))
    if x.dtype == tl.float32:
        p, p_low = two_prod(f, polynomial(f, LOG_GAMMA_32))
        ln_pi = constant(1.1447298526763916, x)
        ln_pi_low = constant(3.317300922844879e-08, x)
    else:
        p, p_low = two_prod(f, polynomial(f, LOG_GAMMA_64))
        ln_pi = constant(1.1447298858494002, x)
        ln_pi_low = constant(1.0265951162707826e-17, x)
    h, l = pair_add(p, p_low, negate(h), negate(l))
    result = tl.where(tiny, negate(log(a)), h + l)
    # far, by reflection: no number as large as to overflow has a fraction
    far = tl.where(near, NEAR + 0.5, a)
    high, low, _ = log_gamma_far(far)
    s, s_low, _, _ = sin_cos_pi(far)
    below = s < 0.0
    s, s_low = pair_mul_float(tl.abs(s), tl.where(below, negate(s_low), s_low), far)
    s, s_low = log_of_any_pair(s, s_low)
    s, s_low = pair_add(ln_pi, ln_pi_low, negate(s), negate(s_low))
    s, s_low = pair_add(s, s_low, negate(high), negate(low))
    return tl.where(near, result, s + s_low)


@triton.jit
def gammaln(x):
    """log |Γ(x)|."""
    result = tl.where(x == 0.0, INFINITY, log_gamma_above_zero(x))
    negative = x < 0.0
    if any_lane(negative):  # what is positive never pays for the rest
        pole = tl.floor(x) == x
        below = log_gamma_below_zero(tl.where(negative & ~pole, x, -0.5))
        result = tl.where(negative, tl.where(pole, INFINITY, below), result)
    return tl.where(tl.abs(x) < INFINITY, result, x)


@triton.jit
def digamma_factors(b, b_low):
    """(d, d_low, p) with ψ(b + b_low) = (d + d_low) · p for 1 ≤ b ≤ 2; d, the distance from the root, is exact but for
    its low part."""
    if b.dtype == tl.float32:
        return b - DIGAMMA_ROOT_32, b_low - DIGAMMA_ROOT_LOW_32, polynomial(b - 1.5, DIGAMMA_32)
    else:
        return b - DIGAMMA_ROOT_64, b_low - DIGAMMA_ROOT_LOW_64, polynomial(b - 1.5, DIGAMMA_64)


@triton.jit
def digamma_above_zero(x):
    """ψ(x) for finite x > 0: in [1, 2) a polynomial times the distance from the root, below from there by a step of
    1/x, above log x - 1/(2x) and a series."""
    below = x < 1.0
    d, d_low, p = digamma_factors(*two_sum(x, tl.where(below, 1.0, 0.0)))
    one = constant(1.0, x)
    y = div(one, x)
    step = tl.where(below, negate(y), 0.0)
    step_low = tl.fma(step, x, tl.where(below, 1.0, 0.0)) * step
    near = tl.fma(d, p, step) + tl.fma(d_low, p, step_low)
    m, e = split(x)
    h, l = multiple_of_ln2_and(e, m - 1.0, log1p_tail(m - 1.0))
    if x.dtype == tl.float32:
        series = polynomial(y * y, DIGAMMA_FAR_32)
        tiny = x < 1e-12
    else:
        series = polynomial(y * y, DIGAMMA_FAR_64)
        tiny = x < 1e-25
    far = h + (l - tl.fma(y * y, series, y * 0.5))
    return tl.where(tiny, negate(y), tl.where(x < 2.0, near, far))


@triton.jit
def digamma_below_zero(x):
    """ψ(x) for finite x ≤ 0 that is no whole number."""
    a = negate(x)
    if x.dtype == tl.float32:
        tiny = a < 1e-12
    else:
        tiny = a < 1e-25
    near = a < NEAR
    # from the interval [1, 2) by at most nine steps of 1/x
    z = tl.where(near & ~tiny, x, -0.5)
    k = tl.floor(z)
    count = 1.0 - k
    total = z * 0.0
    total_low = z * 0.0
    for i in range(FACTORS):  # unrolled it would make most of the kernel
        t, t_low = two_sum(z, z * 0.0 + i)
        q, q_low = pair_div(constant(1.0, x), constant(0.0, x), t, t_low)
        q, q_low = pair_add(total, total_low, q, q_low)
        total = tl.where(count > i, q, total)
        total_low = tl.where(count > i, q_low, total_low)
    b, b_low = two_sum(constant(1.0, x), z - k)
    p, p_low = pair_mul_float(*digamma_factors(b, b_low))
    h, l = pair_add(p, p_low, negate(total), negate(total_low))
    result = h + l
    # far; ψ(-a) = ψ(a) + 1/a + π cot πa
    far = tl.where(near, NEAR + 0.25, a)
    sh, sl, ch, cl = sin_cos_pi(far)
    p, p_low = half_pi(x)
    ch, cl = pair_div(ch, cl, sh, sl)
    ch, cl = pair_mul(ch, cl, p + p, p_low + p_low)
    h, l = two_sum(digamma_above_zero(far) + div(far * 0.0 + 1.0, far), ch)
    result = tl.where(near, result, h + (l + cl))
    return tl.where(tiny, div(x * 0.0 - 1.0, x), result)


@triton.jit
def digamma(x):
    """The derivative of log Γ."""
    pole = is_pole(x)
    at_pole = tl.where(x == 0.0, flip_sign(x * 0.0 - INFINITY, x), float("nan"))
    result = tl.where(pole, at_pole, digamma_above_zero(x))
    negative = (x < 0.0) & ~pole
    if any_lane(negative):  # as in gammaln
        result = tl.where(negative, digamma_below_zero(tl.where(negative, x, -0.5)), result)
    return tl.where(x < INFINITY, result, x)
