"""Elementary functions as pairs (high, low), for the complex functions, where products of two of them are rounded once.

Exponentials also carry a power of two: e^x = (high + low) · 2^n may be far outside the range of numbers where
e^x · cos y is not. The error is below 0.27 ulp of the high part, except where it is said to be less.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    copysign,
    flip_sign,
    negate,
    pair_add,
    pair_div,
    pair_mul,
    pair_mul_float,
    polynomial,
    power_of_two,
    quick_two_sum,
    round_product,
    scale,
    split,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.elementwise import any_lane
from nbx_array.kernels.source.exponential import reduce_by_ln2
from nbx_array.kernels.source.hyperbolic import sinh_cosh_of_remainder
from nbx_array.kernels.source.reduce_by_half_pi import beyond_fast, half_pi, reduce_fast, reduce_huge
from nbx_array.kernels.source.trigonometric import sin_cos_pairs, turn


@triton.jit
def pair_sum(ah, al, bh, bl):
    """a + b for pairs whose sum is not much smaller than they are."""
    s, e = two_sum(ah, bh)
    return quick_two_sum(s, e + (al + bl))


@triton.jit
def product(ah, al, bh, bl):
    """a · b for pairs, rounded; a zero has the sign of the product."""
    return tl.where((ah == 0.0) | (bh == 0.0), ah * bh, tl.fma(ah, bh, tl.fma(ah, bl, al * bh)))


@triton.jit
def scale_far(x, n):
    """x · 2^n with one rounding where n may be beyond what `scale` takes, up to three times the greatest exponent."""
    limit: tl.constexpr = 252 if x.dtype == tl.float32 else 2044
    near = tl.minimum(n, limit)
    return scale(x, near) * power_of_two(n - near, x)


# Exponentials.


@triton.jit
def exponent_and_remainder(x):
    """(n, r, sinh r - r, cosh r - 1) with x = n · ln 2 + r. x is clipped where results over- or underflow even if they
    are multiplied by the sine of a subnormal; r may have a low part, which the third number contains."""
    if x.dtype == tl.float32:
        x = tl.where(x > 200.0, 200.0, tl.where(x < -120.0, -120.0, x))
    else:
        x = tl.where(x > 1500.0, 1500.0, tl.where(x < -800.0, -800.0, x))
    n, r, low = reduce_by_ln2(x)
    sinh_tail, cosh_tail = sinh_cosh_of_remainder(r, low)
    return n, r, sinh_tail, cosh_tail


@triton.jit
def exp_pair(x):
    """e^x = (high + low) · 2^n."""
    n, r, sinh_tail, cosh_tail = exponent_and_remainder(x)
    eh, el = quick_two_sum(r, sinh_tail + cosh_tail)
    one = constant(1.0, x)
    h, rest = quick_two_sum(one, eh)
    h, l = quick_two_sum(h, rest + el)
    return h, l, n


@triton.jit
def expm1_pair(x):
    """e^x - 1 = (high + low) · 2^n with n = 0 unless e^x > 2^60."""
    n, r, sinh_tail, cosh_tail = exponent_and_remainder(x)
    eh, el = quick_two_sum(r, sinh_tail + cosh_tail)
    m = tl.minimum(tl.maximum(n, -60), 60)  # beyond, e^x is lost beside the 1, or the 1 beside e^x
    power = power_of_two(m, x)
    h, l = two_sum(power, constant(-1.0, x))
    h, l = pair_sum(h, l, eh * power, el * power)
    return h, l, tl.maximum(n - m, 0)


@triton.jit
def sinh_cosh_pair(x):
    """sinh |x| = (sh + sl) · 2^n, cosh x = (ch + cl) · 2^n."""
    n, r, sinh_tail, cosh_tail = exponent_and_remainder(tl.abs(x))
    # 2^(1-n) cosh = (1 + w) + (e^r - 1) + w (e^-r - 1) with w = 2^(-2n); sinh likewise with -w
    w = power_of_two(-2 * tl.minimum(n, 60), x)
    ph, pl = quick_two_sum(r, cosh_tail + sinh_tail)
    mh, ml = quick_two_sum(negate(r), cosh_tail - sinh_tail)
    mh = mh * w
    ml = ml * w
    one = constant(1.0, x)
    ah, al = two_sum(one, negate(w))
    bh, bl = pair_sum(ph, pl, negate(mh), negate(ml))
    sh, sl = pair_sum(ah, al, bh, bl)
    ah, al = two_sum(one, w)
    bh, bl = pair_sum(ph, pl, mh, ml)
    ch, cl = pair_sum(ah, al, bh, bl)
    return sh, sl, ch, cl, n - 1


# Sine and cosine.


@triton.jit
def reduce_angle(x):
    """(n, r, low) with x = n · π/2 + r + low and |r| ≤ 0.8; r is NaN where x is not finite."""
    a = tl.abs(x)
    n, r, low = reduce_fast(a)
    huge = beyond_fast(a)
    if any_lane(huge):
        huge_n, huge_r, huge_low = reduce_huge(a)
        n = tl.where(huge, huge_n, n)
        r = tl.where(huge, tl.where(a < INFINITY, huge_r, float("nan")), r)
        low = tl.where(huge, huge_low, low)
    return tl.where(x < 0.0, 0 - n, n), flip_sign(r, x), flip_sign(low, x)


@triton.jit
def reduce_pair_angle(high, low):
    """`reduce_angle` of a pair; the low part counts while it is below 2^17 (float64: 2^40)."""
    n, r, rest = reduce_angle(high)
    a = tl.abs(low)
    m, s, s_rest = reduce_fast(tl.where(beyond_fast(a), 0.0, a))
    m = tl.where(low < 0.0, 0 - m, m)
    r, rest = pair_add(r, rest, flip_sign(s, low), flip_sign(s_rest, low))
    step, quarters = round_product(r, 0.6366197723675814)
    quarter, quarter_low = half_pi(r)
    s, s_rest = pair_mul_float(quarter, quarter_low, negate(step))
    r, rest = pair_add(r, rest, s, s_rest)
    return n + m + quarters, r, rest


@triton.jit
def sin_cos_of_reduced(n, r, low):
    """sin and cos of n · π/2 + r + low."""
    sh, sl, ch, cl = sin_cos_pairs(r, low)
    sh, sl = quick_two_sum(sh, sl)
    ch, cl = quick_two_sum(ch, cl)
    odd = (n & 1) != 0
    ah = turn(tl.where(odd, ch, sh), n)
    al = turn(tl.where(odd, cl, sl), n)
    bh = turn(tl.where(odd, sh, ch), n + 1)
    bl = turn(tl.where(odd, sl, cl), n + 1)
    return ah, al, bh, bl


@triton.jit
def sin_cos_pair(x):
    """sin x and cos x as pairs; of infinity and NaN both are NaN."""
    n, r, low = reduce_angle(x)
    return sin_cos_of_reduced(n, r, low)


@triton.jit
def sin_cos_and_cos_minus_one(x):
    """sin x, cos x and cos x - 1, the last with all digits where x is near 0."""
    n, r, low = reduce_angle(x)
    sh, sl, ch, cl = sin_cos_of_reduced(n, r, low)
    _, _, w, rest = sin_cos_pairs(r, low)
    near_h, near_l = quick_two_sum(w - 1.0, rest)
    far_h, far_l = pair_sum(constant(-1.0, x), constant(0.0, x), ch, cl)
    near = (n & 3) == 0
    return sh, sl, ch, cl, tl.where(near, near_h, far_h), tl.where(near, near_l, far_l)


# Logarithm and angle for powers, where their errors are multiplied: of 2.4 million points the largest relative errors
# were 2^-44.8 (float64: 2^-81.2).


@triton.jit
def odd_series(uh, ul, sign: tl.constexpr):
    """artanh u (sign 1) or arctan u (sign -1) for |u| < 0.172."""
    zh, zl = pair_mul(uh, ul, uh, ul)
    zh = zh * sign
    zl = zl * sign
    if uh.dtype == tl.float32:
        s = polynomial(zh, [1 / 21, 1 / 19, 1 / 17, 1 / 15, 1 / 13, 1 / 11])
        third = constant(-9.934107758624577e-09, uh)
        fifth = constant(-2.9802322831784522e-09, uh)
        seventh = constant(-6.38621200366174e-09, uh)
        ninth = constant(-8.278422947149977e-10, uh)
    else:
        s = polynomial(
            zh, [1 / 33, 1 / 31, 1 / 29, 1 / 27, 1 / 25, 1 / 23, 1 / 21, 1 / 19, 1 / 17, 1 / 15, 1 / 13, 1 / 11]
        )
        third = constant(1.850371707708594e-17, uh)
        fifth = constant(-1.1102230246251566e-17, uh)
        seventh = constant(7.93016446160826e-18, uh)
        ninth = constant(6.1679056923619804e-18, uh)
    sh, sl = quick_two_sum(constant(1 / 9, uh), tl.fma(zh, s, ninth))
    sh, sl = pair_mul(sh, sl, zh, zl)
    sh, sl = pair_sum(constant(1 / 7, uh), seventh, sh, sl)
    sh, sl = pair_mul(sh, sl, zh, zl)
    sh, sl = pair_sum(constant(1 / 5, uh), fifth, sh, sl)
    sh, sl = pair_mul(sh, sl, zh, zl)
    sh, sl = pair_sum(constant(1 / 3, uh), third, sh, sl)
    sh, sl = pair_mul(sh, sl, zh, zl)
    sh, sl = pair_mul(sh, sl, uh, ul)
    return pair_sum(uh, ul, sh, sl)


@triton.jit
def log_pair(high, low, doublings):
    """log((high + low) · 2^doublings) for a pair with high in [1/4, 64] and doublings a whole number."""
    m, e = split(high)
    n = e.to(tl.int32)
    if high.dtype == tl.float64:
        n = n.to(tl.int64)
    low = low * power_of_two(0 - n, high)
    fh, fl = two_sum(m - 1.0, low)
    dh, dl = pair_sum(constant(2.0, high), constant(0.0, high), fh, fl)
    uh, ul = pair_div(fh, fl, dh, dl)
    uh, ul = odd_series(uh, ul, 1)
    e = e + doublings
    if high.dtype == tl.float32:
        h, l = pair_mul_float(constant(0.6931471824645996, e), constant(-1.9046542121259336e-09, e), e)
    else:
        h, l = pair_mul_float(constant(0.6931471805599453, e), constant(2.3190468138462996e-17, e), e)
    return pair_add(h, l, uh + uh, ul + ul)


@triton.jit
def angle_pair(y, x):
    """atan2(y, x) = k · π/4 + (h + l): k as a float from -4 to 4, and the pair with |h| ≤ π/8; for a finite x + yj with
    its larger part in [1, 4)."""
    a = tl.abs(x)
    b = tl.abs(y)
    steep = b > a
    a, b = tl.where(steep, b, a), tl.where(steep, a, b)
    # The angle of the point (p·a + q·b, p·b - q·a) is smaller by that of (p, q): by 0, arctan 1/4, π/4 - arctan 1/4
    # or π/4.
    zero = constant(0.0, x)
    one = constant(1.0, x)
    first = b > a * 0.125
    second = b > a * 0.41421356
    third = b > a * 0.7536
    p = tl.where(third, one, tl.where(second, one * 5.0, tl.where(first, one * 4.0, one)))
    q = tl.where(third, one, tl.where(second, one * 3.0, tl.where(first, one, zero)))
    if x.dtype == tl.float32:
        step_high = constant(0.244978666305542, x)
        step_low = constant(-3.1786777654474463e-09, x)
    else:
        step_high = constant(0.24497866312686414, x)
        step_low = constant(1.0698755618734451e-17, x)
    k = tl.where(second, one, zero)
    side = tl.where(third | ~first, zero, tl.where(second, negate(one), one))
    ch, cl = two_prod(p, b)
    dh, dl = two_prod(q, a)
    nh, nl = pair_add(ch, cl, negate(dh), negate(dl))
    ch, cl = two_prod(p, a)
    dh, dl = two_prod(q, b)
    dh, dl = pair_sum(ch, cl, dh, dl)
    uh, ul = pair_div(nh, nl, dh, dl)
    uh, ul = odd_series(uh, ul, -1)
    uh, ul = pair_add(step_high * side, step_low * side, uh, ul)
    # the other octants
    sign = tl.where(steep, negate(one), one)
    k = tl.where(steep, 2.0 - k, k)
    back = x < 0.0
    sign = tl.where(back, negate(sign), sign)
    k = tl.where(back, 4.0 - k, k)
    below = copysign(one, y)
    sign = sign * below
    return k * below, uh * sign, ul * sign
