"""Hyperbolic functions and their inverses: sinh, cosh, tanh, asinh, acosh, atanh; errors about one ulp.

With |x| = n·ln 2 + r, sinh and cosh of x are sums of sinh(r) and cosh(r) times 2^n ± 2^-n: one formula from the
smallest to the largest argument, without cancellation. The inverse functions are logarithms of pairs.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    flip_sign,
    negate,
    pair_div,
    pair_sqrt,
    polynomial,
    power_of_two,
    quick_two_sum,
    sqrt,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.exponential import log_of_pair, reduce_by_ln2


@triton.jit
def sinh_cosh_of_remainder(r, low):
    """(sinh(r + low) - r, cosh(r + low) - 1) for |r| ≤ 0.3466, low within half an ulp of r."""
    z = r * r
    if r.dtype == tl.float32:
        sinh_series = polynomial(z, (0.00019974067981820554, 0.00833317544311285, 0.1666666716337204))
        cosh_series = polynomial(z, (0.0013935437891632318, 0.041666459292173386, 0.5))
    else:
        sinh_series = polynomial(
            z,
            (
                2.510932609503965e-08,
                2.7557243440846003e-06,
                0.0001984126988682353,
                0.008333333333321384,
                0.16666666666666677,
            ),
        )
        cosh_series = polynomial(
            z,
            (
                2.092176924909484e-09,
                2.755725182045478e-07,
                2.4801587349202103e-05,
                0.0013888888888873283,
                0.041666666666666685,
                0.5,
            ),
        )
    return tl.fma(r * z, sinh_series, low), z * cosh_series


@triton.jit
def sinh_cosh_sums(x, shift: tl.constexpr):
    """sinh(x)·2^(1-shift) and cosh(x)·2^(1-shift) for x ≥ 0, each as a leading term and a correction."""
    n, r, low = reduce_by_ln2(x)
    up = power_of_two(n - shift, x)
    if x.dtype == tl.float32:
        down = power_of_two(tl.maximum(0 - n - shift, -126), x)
    else:
        down = power_of_two(tl.maximum(0 - n - shift, -1022), x)
    difference, difference_rest = quick_two_sum(up, negate(down))
    total, total_rest = quick_two_sum(up, down)
    sinh_tail, cosh_tail = sinh_cosh_of_remainder(r, low)

    product, error = two_prod(total, r)
    s, rest = quick_two_sum(difference, product)
    rest += tl.fma(total_rest, r, difference_rest) + error
    s_low = rest + tl.fma(difference, cosh_tail, total * sinh_tail)

    product, error = two_prod(difference, r)
    c, rest = quick_two_sum(total, product)
    rest += tl.fma(difference_rest, r, total_rest) + error
    c_low = rest + tl.fma(total, cosh_tail, difference * sinh_tail)
    return s, s_low, c, c_low


@triton.jit
def sinh(x):
    if x.dtype == tl.float32:
        z = tl.where(tl.abs(x) > 89.6, 89.6, tl.abs(x))
        tiny = z < 0.0001220703125
    else:
        z = tl.where(tl.abs(x) > 710.7, 710.7, tl.abs(x))
        tiny = z < 7.450580596923828e-09
    # half of a half of e^x: e^x alone may overflow where sinh(x) does not
    s, low, _, _ = sinh_cosh_sums(z, 2)
    return tl.where(tiny, x, flip_sign((s + low) * 2.0, x))


@triton.jit
def cosh(x):
    if x.dtype == tl.float32:
        z = tl.where(tl.abs(x) > 89.6, 89.6, tl.abs(x))
    else:
        z = tl.where(tl.abs(x) > 710.7, 710.7, tl.abs(x))
    _, _, c, low = sinh_cosh_sums(z, 2)
    return (c + low) * 2.0


@triton.jit
def tanh(x):
    # beyond the bound the result rounds to 1
    if x.dtype == tl.float32:
        z = tl.where(tl.abs(x) > 10.0, 10.0, tl.abs(x))
    else:
        z = tl.where(tl.abs(x) > 20.0, 20.0, tl.abs(x))
    s, s_low, c, c_low = sinh_cosh_sums(z, 0)
    s, s_low = quick_two_sum(s, s_low)
    c, c_low = quick_two_sum(c, c_low)
    high, _ = pair_div(s, s_low, c, c_low)
    return flip_sign(high, x)


@triton.jit
def log1p_of_pair(high, low):
    """log(1 + high + low) for high > 0 not below 2^-13 (float64: 2^-27)."""
    u, rest = two_sum(constant(1.0, high), high)
    return log_of_pair(u, rest + low, 0.0)


@triton.jit
def asinh(x):
    z = tl.abs(x)
    if x.dtype == tl.float32:
        small = z < 0.000244140625
        large = z > 4096.0
    else:
        small = z < 1.4901161193847656e-08
        large = z > 67108864.0
    # log(1 + (z + z²/(1 + √(1 + z²)))), and log(2·z) where that would overflow
    y = tl.where(large, 1.0, z)
    square = y * y
    f, low = quick_two_sum(y, div(square, sqrt(square + 1.0) + 1.0))
    u, rest = two_sum(constant(1.0, f), f)
    result = log_of_pair(tl.where(large, z, u), tl.where(large, 0.0, rest + low), tl.where(large, 1.0, 0.0))
    result = tl.where(small, tl.fma(z * z, z * -0.16666666666666666, z), result)
    return flip_sign(tl.where(z < INFINITY, result, z), x)


@triton.jit
def acosh(x):
    if x.dtype == tl.float32:
        large = x > 4096.0
    else:
        large = x > 67108864.0
    # log(1 + (t + √(2·t + t²))) with t = x - 1, which is exact; log(2·x) where that would overflow
    t = tl.where(large, 1.0, x - 1.0)
    square, error = two_prod(t, t)
    radicand, rest = two_sum(t + t, square)
    root, root_low = pair_sqrt(radicand, rest + error)
    f, low = two_sum(t, root)
    u, rest = two_sum(constant(1.0, f), f)
    result = log_of_pair(
        tl.where(large, x, u), tl.where(large, 0.0, rest + (low + root_low)), tl.where(large, 1.0, 0.0)
    )
    return tl.where(x >= 1.0, tl.where(x < INFINITY, result, x), float("nan"))


@triton.jit
def atanh(x):
    z = tl.abs(x)
    if x.dtype == tl.float32:
        small = z < 0.000244140625
    else:
        small = z < 1.4901161193847656e-08
    # half of log(1 + 2·z/(1 - z))
    denominator, rest = quick_two_sum(constant(1.0, z), negate(z))
    f, low = pair_div(z + z, 0.0, denominator, rest)
    result = log1p_of_pair(f, low) * 0.5
    result = tl.where(small, tl.fma(z * z, z * 0.3333333333333333, z), result)
    return flip_sign(tl.where(z < 1.0, result, tl.where(z == 1.0, INFINITY, float("nan"))), x)
