"""pow: 2^(y·log2 x) with the logarithm to 36 bits in float32 and 70 in float64, errors below one ulp."""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    NAN,
    constant,
    flip_sign,
    pair_div,
    pair_mul,
    polynomial,
    quick_two_sum,
    round_product,
    scale,
    split,
    two_prod,
)


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
    result = tl.where(undefined, NAN, result)
    return tl.where((x == 1.0) | (y == 0.0), 1.0, result)
