"""Complex exponential, trigonometric and hyperbolic functions, their inverses, and powers.

A product of two real functions is computed from pairs (module pairs) and rounded once; logarithms and inverse functions
take the real functions, whose errors add up to less than what is allowed. Special cases are the standard's.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.complex import box, has_infinity, larger, normalize, reciprocal, sqrt, with_sign
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    copysign,
    div,
    flip_sign,
    negate,
    pair_add,
    pair_div,
    pair_mul,
    pair_mul_float,
    power_of_two,
    quick_two_sum,
    scale,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.exponential import log_of_pair
from nbx_array.kernels.source.hyperbolic import asinh as real_asinh
from nbx_array.kernels.source.pairs import (
    angle_pair,
    exp_pair,
    expm1_pair,
    log_pair,
    pair_sum,
    product,
    reduce_pair_angle,
    scale_far,
    sin_cos_and_cos_minus_one,
    sin_cos_of_reduced,
    sin_cos_pair,
    sinh_cosh_pair,
)
from nbx_array.kernels.source.reduce_by_half_pi import half_pi
from nbx_array.kernels.source.trigonometric import atan2


@triton.jit
def is_finite(x):
    return tl.abs(x) < INFINITY


@triton.jit
def is_small(x, y):
    """Whether z³ is lost beside z."""
    if x.dtype == tl.float32:
        return (tl.abs(x) < 0.0001220703125) & (tl.abs(y) < 0.0001220703125)
    else:
        return (tl.abs(x) < 7.450580596923828e-09) & (tl.abs(y) < 7.450580596923828e-09)


@triton.jit
def exp(x, y):
    h, l, n = exp_pair(x)
    sh, sl, ch, cl = sin_cos_pair(y)
    re = scale_far(product(h, l, ch, cl), n)
    im = scale_far(product(h, l, sh, sl), n)
    im = tl.where(y == 0.0, y, im)
    # a direction is missing where y is not finite: it does not matter at 0, but does at infinity
    nowhere = ~is_finite(y)
    zero = constant(0.0, x)
    re = tl.where(nowhere & (x == INFINITY), x, tl.where(nowhere & (x == -INFINITY), zero, re))
    return re, tl.where(nowhere & (x == -INFINITY), with_sign(zero, y), im)


@triton.jit
def expm1(x, y):
    # e^x cos y - 1 = (e^x - 1) cos y + (cos y - 1): the terms cancel only where the imaginary part is larger
    ah, al, m = expm1_pair(x)
    sh, sl, ch, cl, dh, dl = sin_cos_and_cos_minus_one(y)
    ah, al = pair_mul(ah, al, ch, cl)
    ah, al = pair_sum(ah, al, dh, dl)
    re = scale_far(ah + al, m)
    h, l, n = exp_pair(x)
    im = scale_far(product(h, l, sh, sl), n)
    im = tl.where(y == 0.0, y, im)
    nowhere = ~is_finite(y)
    re = tl.where(nowhere & (tl.abs(x) == INFINITY), tl.where(x > 0.0, x, -1.0), re)
    return re, tl.where(nowhere & (x == -INFINITY), with_sign(constant(0.0, x), y), im)


@triton.jit
def sinh(x, y):
    ah, al, bh, bl, n = sinh_cosh_pair(x)
    sh, sl, ch, cl = sin_cos_pair(y)
    re = flip_sign(scale_far(product(ah, al, ch, cl), n), x)
    im = scale_far(product(bh, bl, sh, sl), n)
    re = tl.where(((x == 0.0) | (tl.abs(x) == INFINITY)) & ~is_finite(y), x, re)
    return re, tl.where(y == 0.0, y, im)


@triton.jit
def cosh(x, y):
    ah, al, bh, bl, n = sinh_cosh_pair(x)
    sh, sl, ch, cl = sin_cos_pair(y)
    re = scale_far(product(bh, bl, ch, cl), n)
    im = flip_sign(scale_far(product(ah, al, sh, sl), n), x)
    re = tl.where((tl.abs(x) == INFINITY) & ~is_finite(y), tl.abs(x), re)
    zero = with_sign(constant(0.0, x), x) * with_sign(constant(1.0, x), y)
    return re, tl.where((y == 0.0) | ((x == 0.0) & ~is_finite(y)), zero, im)


@triton.jit
def tanh(x, y):
    # (sinh x cosh x + sin y cos y j) / (sinh² x + cos² y), with numerator and denominator divided by 2^2n
    ah, al, bh, bl, n = sinh_cosh_pair(x)
    sh, sl, ch, cl = sin_cos_pair(y)
    uh, ul = pair_mul(ah, al, bh, bl)
    vh, vl = pair_mul(sh, sl, ch, cl)
    bh, bl = pair_mul(ah, al, ah, al)
    ch, cl = pair_mul(ch, cl, ch, cl)
    t = power_of_two(-2 * tl.minimum(n, 60), x)
    bh, bl = pair_sum(bh, bl, ch * t, cl * t)
    uh, ul = pair_div(uh, ul, bh, bl)
    vh, vl = pair_div(vh, vl, bh, bl)
    limit: tl.constexpr = 120 if x.dtype == tl.float32 else 1000
    re = copysign(uh, x)
    im = scale(vh, -2 * tl.minimum(n, limit))
    itself = is_small(x, y)
    one = constant(1.0, x)
    infinite = tl.abs(x) == INFINITY
    re = tl.where(infinite, copysign(one, x), tl.where(itself | ((x == 0.0) & ~is_finite(y)), x, re))
    im = tl.where(infinite, with_sign(constant(0.0, x), y), tl.where(itself | (y == 0.0), y, im))
    return re, im


@triton.jit
def sin(x, y):
    im, re = sinh(y, x)
    return re, im


@triton.jit
def cos(x, y):
    re, im = cosh(y, x)
    return re, negate(im)


@triton.jit
def tan(x, y):
    im, re = tanh(y, x)
    return re, im


# Logarithms.


@triton.jit
def modulus_pair(x, low, y):
    """(high + low) · 2^n = |x + low + yj|², n as a float, for low within half an ulp of x; x + yj finite, not 0."""
    p, q, n = normalize(x, y)
    low = low * power_of_two(0 - tl.maximum(n, -64), x)  # where n is less, x is so small that low is 0
    ah, al = two_prod(p, p)
    bh, bl = two_prod(q, q)
    high, rest = two_sum(ah, bh)
    high, low = quick_two_sum(high, rest + (al + (bl + 2.0 * p * low)))
    return high, low, 2.0 * n.to(x.dtype)


@triton.jit
def log_modulus_and_angle(x, low, y):
    """log |x + low + yj| and the angle of x + yj, for low within half an ulp of x."""
    high, rest, n = modulus_pair(x, low, y)
    re = 0.5 * log_of_pair(high, rest, n)
    re = tl.where((x != x) | (y != y), x + y, re)
    re = tl.where((x == 0.0) & (y == 0.0), -INFINITY, tl.where(has_infinity(x, y), INFINITY, re))
    return re, atan2(y, x)


@triton.jit
def log(x, y):
    return log_modulus_and_angle(x, x * 0.0, y)


@triton.jit
def log2(x, y):
    re, im = log(x, y)
    return re * 1.4426950408889634, im * 1.4426950408889634


@triton.jit
def log10(x, y):
    re, im = log(x, y)
    return re * 0.4342944819032518, im * 0.4342944819032518


@triton.jit
def log1p(x, y):
    high, low = two_sum(constant(1.0, x), x)
    low = tl.where(tl.abs(x) < INFINITY, low, 0.0)
    return log_modulus_and_angle(high, low, y)


# Inverse functions; the first four by Kahan's formulas ("Branch cuts for complex elementary functions", 1987) in
# √(1 - z) and √(1 + z), whose sums do not cancel.


@triton.jit
def shrink(x, y):
    """(x, y) divided by 4 where squares of z might overflow, and the logarithm of what was taken off."""
    if x.dtype == tl.float32:
        huge = larger(x, y) > 1e18
    else:
        huge = larger(x, y) > 1e150
    f = tl.where(huge, constant(0.25, x), constant(1.0, x))
    return x * f, y * f, tl.where(huge, constant(1.3862943611198906, x), constant(0.0, x))


@triton.jit
def asin(x, y):
    u, v, shift = shrink(x, y)
    p, q = sqrt(1.0 - u, negate(v))
    r, s = sqrt(1.0 + u, v)
    re = atan2(u, p * r - q * s)
    im = real_asinh(p * s - q * r) + flip_sign(shift, y)
    small = is_small(x, y)
    re = tl.where(small, x, re)
    im = tl.where(small, y, im)
    infinite = has_infinity(x, y)
    re = tl.where(infinite, atan2(x, tl.abs(y)), tl.where(x == 0.0, x, re))
    return re, tl.where(infinite, with_sign(constant(INFINITY, x), y), im)


@triton.jit
def acos(x, y):
    u, v, shift = shrink(x, y)
    p, q = sqrt(1.0 - u, negate(v))
    r, s = sqrt(1.0 + u, v)
    re = 2.0 * atan2(p, r)
    im = real_asinh(r * q - s * p) - flip_sign(shift, y)
    infinite = has_infinity(x, y)
    re = tl.where(infinite, atan2(tl.abs(y), x), re)
    re = tl.where((x == 0.0) & (y != y), constant(1.5707963267948966, x), re)
    return re, tl.where(infinite, negate(with_sign(constant(INFINITY, x), y)), im)


@triton.jit
def asinh(x, y):
    im, re = asin(y, x)
    return re, im


@triton.jit
def acosh(x, y):
    im, re = acos(x, y)
    return tl.abs(re), with_sign(im, y)


@triton.jit
def atanh(x, y):
    # real part: log(1 + 4x / ((1 - x)² + y²)) / 4; imaginary: the angle of (1 - x)(1 + x) - y² + 2yj, halved
    a = tl.abs(x)
    b = tl.abs(y)
    if x.dtype == tl.float32:
        far = larger(x, y) > 1073741824.0
        pole = (a == 1.0) & (b < 2.168404344971009e-19)
    else:
        far = larger(x, y) > 1.152921504606847e18
        pole = (a == 1.0) & (b < 2.983336292480083e-154)
    one = constant(1.0, x)
    zero = constant(0.0, x)
    c = tl.where(far, one, b)
    d = 1.0 - tl.where(far, zero, a)
    high, low = two_sum(one, div(4.0 * tl.where(far, zero, a), d * d + c * c))
    # beside the pole at 1, where y² would underflow: log(2 / |y|) / 2, with 2^64 |y|, which is no subnormal
    high = tl.where(pole, b * 9223372036854775808.0, high)
    low = tl.where(pole, zero, low)
    re = log_of_pair(high, low, tl.where(pole, constant(-64.0, x), zero)) * tl.where(
        pole, constant(-0.5, x), constant(0.25, x)
    )
    im = 0.5 * atan2(2.0 * y, d * (1.0 + tl.where(far, one, a)) - c * c)
    near_infinity, _ = reciprocal(x, y)
    quarter = with_sign(constant(1.5707963267948966, x), y)
    re = tl.where(far, tl.abs(near_infinity), tl.where(pole & (y == 0.0), INFINITY, re))
    im = tl.where(far, quarter, im)
    small = is_small(x, y)
    re = tl.where(small, a, re)
    im = tl.where(small, y, im)
    infinite = has_infinity(x, y)
    unknown = (x != x) | (y != y)
    nan = constant(float("nan"), x)
    re = tl.where(infinite | (x == 0.0), zero, tl.where(unknown, nan, re))
    im = tl.where(infinite & (y == y), quarter, tl.where(unknown, nan, im))
    return with_sign(re, x), im


@triton.jit
def atan(x, y):
    im, re = atanh(y, x)
    return re, im


# Powers.


@triton.jit
def finite_or(high, low, other):
    """The pair (high, low), or `other` where that is not finite."""
    good = is_finite(high) & is_finite(low)
    return tl.where(good, high, other), tl.where(good, low, 0.0)


@triton.jit
def pow(a, b, c, d):
    # z^w = e^(w log z). log z = L + T j with T = k · π/4 + t, in pairs; the multiples of π/4 are multiplied and reduced
    # apart, so that powers of numbers on the axes and diagonals are as exact as they can be.
    infinite = has_infinity(a, b)
    p, q, _ = normalize(box(a, infinite), box(b, infinite))
    high, low, n = modulus_pair(a, a * 0.0, b)
    lh, ll = log_pair(high, low, n)
    unknown = (a != a) | (b != b)
    nan = constant(float("nan"), a)
    lh = tl.where(infinite, INFINITY, tl.where(unknown, nan, 0.5 * lh))
    ll = 0.5 * ll
    k, t, t_low = angle_pair(q, p)
    t = tl.where(unknown, nan, t)
    quarter, quarter_low = half_pi(a)
    quarter = 0.5 * quarter
    quarter_low = 0.5 * quarter_low
    th, rest = pair_mul_float(quarter, quarter_low, k)
    th, rest = pair_add(th, rest, t, t_low)

    # the real part of w log z: c L - d T
    xh, xl = pair_mul_float(lh, ll, c)
    yh, yl = pair_mul_float(th, rest, d)
    xh, xl = pair_add(xh, xl, negate(yh), negate(yl))
    xh, xl = finite_or(xh, xl, c * lh - d * th)

    # the imaginary part: c T + d L = turns · π/4 + (c t + d L), with turns = c k less a multiple of 8
    turns, fraction = two_prod(c, k)
    whole = tl.floor(turns + 0.5)
    whole = tl.where(is_finite(whole), whole, 0.0)
    fraction = (turns - whole) + fraction
    eighths = (whole - 8.0 * tl.floor(whole * 0.125)).to(tl.int32)
    fraction = fraction + (eighths & 1).to(a.dtype)
    uh, ul = pair_mul_float(quarter, quarter_low, fraction)
    vh, vl = pair_mul_float(t, t_low, c)
    uh, ul = pair_add(uh, ul, vh, vl)
    vh, vl = pair_mul_float(lh, ll, d)
    uh, ul = pair_add(uh, ul, vh, vl)
    uh, ul = finite_or(uh, ul, c * th + d * lh)
    n, rh, rl = reduce_pair_angle(uh, ul)
    sh, sl, ch, cl = sin_cos_of_reduced(n + (eighths >> 1), rh, rl)

    h, l, n = exp_pair(xh)
    l = tl.fma(h, tl.where(tl.abs(xh) < 2048.0, xl, 0.0), l)
    re = scale_far(product(h, l, ch, cl), n)
    im = scale_far(product(h, l, sh, sl), n)
    nowhere = ~is_finite(uh)
    re = tl.where(nowhere & (xh == INFINITY), xh, tl.where(nowhere & (xh == -INFINITY), 0.0, re))
    im = tl.where(nowhere & (xh == -INFINITY), 0.0, im)
    # 0^w is 0 in the right half-plane; z^0 is 1 whatever z is
    zero = (a == 0.0) & (b == 0.0)
    re = tl.where(zero, tl.where((c > 0.0) & is_finite(d), 0.0, nan), re)
    im = tl.where(zero, tl.where((c > 0.0) & is_finite(d), 0.0, nan), im)
    one = (c == 0.0) & (d == 0.0)
    return tl.where(one, 1.0, re), tl.where(one, 0.0, im)
