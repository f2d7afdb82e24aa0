"""Exponentials, logarithms and powers: exp, expm1, log, log1p, log2, log10, logaddexp, pow; errors about one ulp.

Polynomials are minimax in relative error, their coefficients rounded one after another from the lowest. Each function
ends in one addition of a leading term that is exact, or nearly, and a correction at most a quarter as large.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    exponent_as_float,
    flip_sign,
    negate,
    pair_div,
    pair_mul,
    polynomial,
    power_of_two,
    quick_two_sum,
    round_product,
    scale,
    split,
    split_normal,
    two_prod,
    two_sum,
)

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def reduce_by_ln2(x):
    """(n, r, low) with x = n·ln 2 + r + low and |r| ≤ 0.3466; n is an integer, low below half an ulp of r."""
    k, n = round_product(x, LOG2_E)
    if x.dtype == tl.float32:
        # the high part has 15 bits and n at most 8, so that their product is exact
        high = tl.fma(k, constant(-0.693145751953125, x), x)
        r = tl.fma(k, constant(-1.428606765330187e-06, x), high)
        low = tl.fma(k, constant(-1.428606765330187e-06, x), high - r)
    else:
        high = tl.fma(k, constant(-0.6931471806019545, x), x)
        r = tl.fma(k, constant(4.2009150726810846e-11, x), high)
        low = tl.fma(k, constant(4.2009150726810846e-11, x), high - r)
    return n, r, low


@triton.jit
def exp_tail(r):
    """(exp(r) - 1 - r) / r² for |r| ≤ 0.3466."""
    if r.dtype == tl.float32:
        return polynomial(
            r, (0.0014033981133252382, 0.008372263982892036, 0.04166555777192116, 0.16666488349437714, 0.5)
        )
    else:
        return polynomial(
            r,
            (
                2.097028436978944e-09,
                2.5113777524269402e-08,
                2.755708538239287e-07,
                2.755722904933331e-06,
                2.4801587546534126e-05,
                0.0001984126990311007,
                0.0013888888888780632,
                0.008333333333313946,
                0.041666666666666824,
                0.16666666666666688,
                0.5,
            ),
        )


@triton.jit
def exp(x):
    # beyond these bounds the result is infinite or rounds to zero
    if x.dtype == tl.float32:
        x = tl.where(x > 89.0, 89.0, x)
        x = tl.where(x < -104.0, -104.0, x)
    else:
        x = tl.where(x > 710.0, 710.0, x)
        x = tl.where(x < -746.0, -746.0, x)
    n, r, _ = reduce_by_ln2(x)
    return scale(tl.fma(exp_tail(r), r * r, r) + 1.0, n)


@triton.jit
def expm1(x):
    # below the lower bound the result rounds to -1; tiny: the next term, x²/2, does not matter
    if x.dtype == tl.float32:
        y = tl.where(x > 89.0, 89.0, x)
        y = tl.where(y < -30.0, -30.0, y)
        tiny = tl.abs(x) < 2.9802322387695312e-08
    else:
        y = tl.where(x > 710.0, 710.0, x)
        y = tl.where(y < -60.0, -60.0, y)
        tiny = tl.abs(x) < 5.551115123125783e-17
    n, r, low = reduce_by_ln2(y)
    # half of 2^n·exp(r) - 1, since 2^n itself may overflow where the result does not
    s = power_of_two(n - 1, y)
    high, error = two_sum(s - 0.5, s * r)
    result = (high + tl.fma(s, tl.fma(exp_tail(r), r * r, low), error)) * 2.0
    return tl.where(tiny, x, result)


@triton.jit
def log1p_tail(f):
    """log(1 + f) - f for √½ ≤ 1 + f < √2."""
    if f.dtype == tl.float32:
        return (f * f) * polynomial(
            f,
            (
                0.06748829036951065,
                -0.11669906973838806,
                0.11883625388145447,
                -0.1240626871585846,
                0.14220355451107025,
                -0.16667987406253815,
                0.2000207155942917,
                -0.25000008940696716,
                0.3333331346511841,
                -0.5,
            ),
        )
    else:
        # log(1 + f) = 2·atanh(s) with s = f/(2 + f), arranged so that the leading f stays exact
        s = f / (f + 2.0)
        z = s * s
        atanh_tail = z * polynomial(
            z,
            (
                0.14795627438734513,
                0.15314085386980475,
                0.1818356283275914,
                0.22222198605347648,
                0.2857142874202605,
                0.39999999999416647,
                0.6666666666666734,
            ),
        )
        half_square = f * f * 0.5
        return s * (half_square + atanh_tail) - half_square


@triton.jit
def multiple_of_ln2_and(e, f, tail):
    """e·ln 2 + f + tail for an integer e as high + low: high is within half an ulp of e·ln 2 + f."""
    if f.dtype == tl.float32:
        high, error = quick_two_sum(e * 0.693145751953125, f)
        return high, error + tl.fma(e, constant(1.428606765330187e-06, f), tail)
    else:
        high, error = quick_two_sum(e * 0.6931471806019545, f)
        return high, error + tl.fma(e, constant(-4.2009150726810846e-11, f), tail)


@triton.jit
def add_multiple_of_ln2(e, f, tail):
    """e·ln 2 + f + tail for an integer e, the tail much smaller than the sum."""
    high, low = multiple_of_ln2_and(e, f, tail)
    return high + low


@triton.jit
def logarithm_limits(x, result):
    """`result` for finite x > 0, and what a logarithm is elsewhere."""
    return tl.where(x > 0.0, tl.where(x < INFINITY, result, x), tl.where(x == 0.0, -INFINITY, float("nan")))


@triton.jit
def log(x):
    m, e = split(x)
    f = m - 1.0
    return logarithm_limits(x, add_multiple_of_ln2(e, f, log1p_tail(f)))


@triton.jit
def log2(x):
    m, e = split(x)
    f = m - 1.0
    tail = log1p_tail(f)
    if x.dtype == tl.float32:
        product, error = two_prod(f, constant(1.4426950216293335, x))
        tail = tl.fma(f, constant(1.925963033500011e-08, x), tail * 1.4426950216293335)
    else:
        product, error = two_prod(f, constant(1.4426950408889634, x))
        tail = tl.fma(f, constant(2.0355273740931033e-17, x), tail * 1.4426950408889634)
    high, low = quick_two_sum(e, product)
    return logarithm_limits(x, high + (low + (error + tail)))


@triton.jit
def log10(x):
    m, e = split(x)
    f = m - 1.0
    tail = log1p_tail(f)
    if x.dtype == tl.float32:
        product, error = two_prod(f, constant(0.4342944920063019, x))
        tail = tl.fma(f, constant(-1.0103049952192578e-08, x), tail * 0.4342944920063019)
        tail = tl.fma(e, constant(4.605039066518657e-06, x), tail)
        high, low = quick_two_sum(e * 0.301025390625, product)
    else:
        product, error = two_prod(f, constant(0.4342944819032518, x))
        tail = tl.fma(f, constant(1.098319650216765e-17, x), tail * 0.4342944819032518)
        tail = tl.fma(e, constant(-1.9043128467164274e-12, x), tail)
        high, low = quick_two_sum(e * 0.3010299956658855, product)
    return logarithm_limits(x, high + (low + (error + tail)))


@triton.jit
def log_of_pair(high, low, doublings):
    """log((high + low) · 2^doublings) for a pair with a normal, finite high > 0; near 1 relative to the logarithm."""
    m, n = split_normal(high)
    e = exponent_as_float(n, high)
    limit: tl.constexpr = 100 if high.dtype == tl.float32 else 1000
    f, rest = quick_two_sum(m - 1.0, low * power_of_two(0 - tl.minimum(n, limit), high))
    # the rest is below half an ulp of f: the derivative 1/(1 + f) matters little
    return add_multiple_of_ln2(e + doublings, f, tl.fma(rest, 1.0 - f, log1p_tail(f)))


@triton.jit
def log1p(x):
    if x.dtype == tl.float32:
        tiny = tl.abs(x) < 2.9802322387695312e-08
    else:
        tiny = tl.abs(x) < 5.551115123125783e-17
    high, low = two_sum(constant(1.0, x), x)
    result = logarithm_limits(high, log_of_pair(high, low, 0.0))
    return tl.where(tiny, x, result)


@triton.jit
def logaddexp(x, y):
    """log(exp(x) + exp(y)), within an ulp of the larger operand or of the result; NaN where either is."""
    difference = tl.where(x == y, 0.0, tl.abs(x - y))  # equal infinities differ by zero
    return tl.where(x < y, y, x) + log1p(exp(negate(difference)))


# pow is 2^(y·log2 x) with the logarithm to 36 bits in float32 and 70 in float64.


@triton.jit
def log2_pair(x):
    """log2(x) as a pair, for a positive finite x."""
    m, e = split(x)
    # log2(m) = s·(c1 + z·(c3 + z·(c5 + …))) with s = (m - 1)/(m + 1), z = s² ≤ 0.0295 and ck = 2/(k·ln 2): the first
    # coefficients are pairs, and the rest so small that single numbers do
    f = m - 1.0
    denominator, rest = quick_two_sum(constant(2.0, f), f)
    s, s_low = pair_div(f, 0.0, denominator, rest)
    z, z_low = pair_mul(s, s_low, s, s_low)
    if x.dtype == tl.float32:
        series = polynomial(z, (0.3378220200538635, 0.41184988617897034, 0.5770801901817322))
        c, c_low = quick_two_sum(constant(0.9617967009544373, z), z * series)
        c, c_low = pair_mul(z, z_low, c, c_low - 7.028461812552678e-09)
        c, rest = quick_two_sum(constant(2.885390043258667, z), c)
        c_low = rest + (c_low + 3.851926067000022e-08)
    else:
        series = polynomial(
            z,
            (
                0.17183655826735472,
                0.1685797996589336,
                0.19239438028648773,
                0.22195247057667228,
                0.26230819536034866,
                0.32059889794346824,
                0.41219858311119856,
            ),
        )
        c, c_low = quick_two_sum(constant(0.5770780163555853, z), z * series)
        c, c_low = pair_mul(z, z_low, c, c_low + 5.2551030481378675e-17)
        c, rest = quick_two_sum(constant(0.9617966939259756, z), c)
        c, c_low = pair_mul(z, z_low, c, rest + (c_low + 5.0577616648125907e-17))
        c, rest = quick_two_sum(constant(2.8853900817779268, z), c)
        c_low = rest + (c_low + 4.0710547481862066e-17)
    product, low = pair_mul(s, s_low, c, c_low)
    high, rest = quick_two_sum(e, product)
    return quick_two_sum(high, rest + low)


@triton.jit
def exp2_of_pair(high, low):
    """2^(high + low), rounded once to a subnormal; |high| at most twice the exponent of the largest number."""
    k, n = round_product(high, 1.0)
    r, r_low = quick_two_sum(high - k, low)
    if high.dtype == tl.float32:
        series = polynomial(
            r,
            (
                0.00015324038395192474,
                0.0013390040257945657,
                0.00961851142346859,
                0.05550362542271614,
                0.24022647738456726,
            ),
        )
        product, error = two_prod(r, constant(0.6931471824645996, r))
        error = tl.fma(r, constant(-1.9046542121259336e-09, r), error)
    else:
        series = polynomial(
            r,
            (
                4.4361977038573926e-10,
                7.073584050762118e-09,
                1.0178185333932743e-07,
                1.321543659021654e-06,
                1.525273354532416e-05,
                0.00015403530454082307,
                0.0013333558146687565,
                0.009618129107596995,
                0.05550410866482073,
                0.24022650695910122,
            ),
        )
        product, error = two_prod(r, constant(0.6931471805599453, r))
        error = tl.fma(r, constant(2.3190468138462996e-17, r), error)
    error = tl.fma(r_low, constant(0.6931471805599453, r), error)
    leading, rest = quick_two_sum(constant(1.0, r), product)
    return scale(leading + (rest + tl.fma(r * r, series, error)), n)


@triton.jit
def pow(x, y):
    magnitude = tl.abs(x)
    log_high, log_low = log2_pair(magnitude)
    high, low = two_prod(y, log_high)
    low = tl.fma(y, log_low, low)
    # beyond these bounds the result is infinite or rounds to zero
    if x.dtype == tl.float32:
        bound = constant(200.0, x)
    else:
        bound = constant(1200.0, x)
    moderate = tl.abs(high) < bound
    result = exp2_of_pair(
        tl.where(moderate, high, tl.where(high > 0.0, bound, bound * -1.0)), tl.where(moderate, low, 0.0)
    )

    # |x| 0 or infinite, then y infinite beside |x| = 1
    zero = magnitude == 0.0
    limit = tl.where(zero == (y > 0.0), 0.0, INFINITY)
    result = tl.where(zero | (magnitude == INFINITY), limit, result)
    result = tl.where((magnitude == 1.0) & (tl.abs(y) == INFINITY), 1.0, result)
    # the sign of an odd power; infinities and numbers above 2^24 (float64: 2^53) count as even
    integer = tl.floor(y) == y
    half = y * 0.5
    odd = integer & (tl.floor(half) != half)
    result = tl.where(odd, flip_sign(result, x), result)
    undefined = ((x < 0.0) & (x > -INFINITY) & (tl.floor(y) != y)) | (x != x) | (y != y)
    result = tl.where(undefined, float("nan"), result)
    return tl.where((x == 1.0) | (y == 0.0), 1.0, result)
