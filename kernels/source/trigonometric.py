"""Trigonometric functions and their inverses: sin, cos, tan, asin, acos, atan, atan2; errors below one ulp.

Polynomials are minimax in relative error, their coefficients rounded one after another from the lowest. Results are
formed as a leading term, which is exact or a rounded sum whose error is kept, plus a correction.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    flip_sign,
    from_bits,
    negate,
    pair_div,
    polynomial,
    quick_two_sum,
    sign_bit,
    sqrt,
    to_bits,
    two_sum,
)
from nbx_array.kernels.source.elementwise import any_lane
from nbx_array.kernels.source.reduce_by_half_pi import beyond_fast, half_pi, reduce_fast, reduce_huge


@triton.jit
def sin_tail(z):
    """(sin r - r) / r³ for z = r², |r| ≤ 0.8; a relative error of sin r of 2^-32.4 (float64: 2^-63.1)."""
    if z.dtype == tl.float32:
        return polynomial(z, (2.820315557983122e-06, -0.0001985206181416288, 0.008333377540111542, -0.1666666716337204))
    else:
        return polynomial(
            z,
            (
                -7.422267467173467e-13,
                1.6054905833670905e-10,
                -2.5052074964052983e-08,
                2.755731908665651e-06,
                -0.0001984126984098033,
                0.00833333333333305,
                -0.16666666666666666,
            ),
        )


@triton.jit
def cos_tail(z):
    """(cos r - 1 + r²/2) / r⁴ for z = r², |r| ≤ 0.8; a relative error of cos r of 2^-32.5 (float64: 2^-63.5)."""
    if z.dtype == tl.float32:
        return polynomial(z, (2.4412094717263244e-05, -0.0013887130189687014, 0.04166664183139801))
    else:
        return polynomial(
            z,
            (
                -1.1354258630081957e-11,
                2.0875618564111795e-09,
                -2.755731357727173e-07,
                2.480158728678204e-05,
                -0.001388888888886977,
                0.041666666666666574,
            ),
        )


@triton.jit
def atan_tail(z):
    """(atan t - t) / t³ for z = t², |t| ≤ 1/2; a relative error of atan t of 2^-31.4 (float64: 2^-65.7)."""
    if z.dtype == tl.float32:
        return polynomial(
            z,
            (
                0.03776456415653229,
                -0.07917264103889465,
                0.10923846811056137,
                -0.14270107448101044,
                0.19999392330646515,
                -0.33333325386047363,
            ),
        )
    else:
        return polynomial(
            z,
            (
                0.006609947092145469,
                -0.01988994546910346,
                0.032618625572451876,
                -0.04122033104191894,
                0.047120378713338025,
                -0.052551364949783096,
                0.05881412956561289,
                -0.06666587135221924,
                0.07692302927754983,
                -0.09090908895425451,
                0.11111111105905258,
                -0.14285714285631923,
                0.1999999999999934,
                -0.3333333333333333,
            ),
        )


@triton.jit
def asin_tail(z):
    """(asin s - s) / s³ for z = s², |s| ≤ 1/2; a relative error of asin s of 2^-31.6 (float64: 2^-63.8)."""
    if z.dtype == tl.float32:
        return polynomial(
            z,
            (
                0.03768999129533768,
                0.014317646622657776,
                0.03183875232934952,
                0.044513385742902756,
                0.07500521838665009,
                0.16666659712791443,
            ),
        )
    else:
        return polynomial(
            z,
            (
                0.033604672733748626,
                -0.026078701650565122,
                0.02476907767717698,
                0.0007095553619557272,
                0.010001186771508548,
                0.009485783171456008,
                0.011585419287626202,
                0.013961930937085911,
                0.017352941152761592,
                0.02237215180857758,
                0.03038194463786871,
                0.04464285713982525,
                0.07500000000002385,
                0.1666666666666666,
            ),
        )


# ---- sin, cos, tan


@triton.jit
def any_huge(x):
    return any_lane(beyond_fast(tl.abs(x)))


@triton.jit
def reduce(x, has_huge: tl.constexpr):
    """(n, r, low) with |x| = n · π/2 + r + low. Each element's own size chooses the way; without `has_huge` the way
    that no element takes is left out. So what an element gets does not depend on its neighbours."""
    a = tl.abs(x)
    n, r, low = reduce_fast(a)
    if has_huge:
        huge = beyond_fast(a)
        huge_n, huge_r, huge_low = reduce_huge(a)
        n = tl.where(huge, huge_n, n)
        r = tl.where(huge, tl.where(a < INFINITY, huge_r, float("nan")), r)
        low = tl.where(huge, huge_low, low)
    return n, r, low


@triton.jit
def sin_cos_pairs(r, low):
    """sin and cos of r + low as pairs (leading term, correction), the leading terms being r and 1 - r²/2 rounded."""
    z = r * r
    z_low = tl.fma(r, r, negate(z))
    half = 0.5 * z
    w = 1.0 - half
    s = tl.fma(r, z * sin_tail(z), low * w)
    c = tl.fma(z * z, cos_tail(z), ((1.0 - w) - half) - tl.fma(r, low, 0.5 * z_low))
    return r, s, w, c


@triton.jit
def turn(value, n):
    """value, negated where the bit of weight 2 in n is set."""
    return from_bits(to_bits(value) ^ ((n & 2) << (value.dtype.primitive_bitwidth - 2)))


@triton.jit
def sincos_of(x, has_huge: tl.constexpr):
    n, r, low = reduce(x, has_huge)
    s, s_low, c, c_low = sin_cos_pairs(r, low)
    s = s + s_low
    c = c + c_low
    odd = (n & 1) != 0
    return flip_sign(turn(tl.where(odd, c, s), n), x), turn(tl.where(odd, s, c), n + 1)


@triton.jit
def tan_of(x, has_huge: tl.constexpr):
    """sin/cos, or -cos/sin after an odd number of quarter turns."""
    n, r, low = reduce(x, has_huge)
    s, s_low, c, c_low = sin_cos_pairs(r, low)
    s, s_low = quick_two_sum(s, s_low)
    c, c_low = quick_two_sum(c, c_low)
    odd = (n & 1) != 0
    t, t_low = pair_div(
        tl.where(odd, c, s), tl.where(odd, c_low, s_low), tl.where(odd, s, c), tl.where(odd, s_low, c_low)
    )
    return flip_sign(turn(t + t_low, n + n), x)


# Reducing huge arguments takes longer than all the rest, so a block without any skips it. Each branch holds the whole
# function: values that crossed into it would be stored in between on the CPU.


@triton.jit
def sincos(x):
    """(sin x, cos x)."""
    if any_huge(x):
        s, c = sincos_of(x, True)
    else:
        s, c = sincos_of(x, False)
    return s, c


@triton.jit
def sin(x):
    return sincos(x)[0]


@triton.jit
def cos(x):
    return sincos(x)[1]


@triton.jit
def tan(x):
    if any_huge(x):
        t = tan_of(x, True)
    else:
        t = tan_of(x, False)
    return t


# ---- atan, atan2


@triton.jit
def rough_reciprocal(x):
    """1/x to 2%, for normal x > 0 with a normal reciprocal: the exponent negated, and one Newton step."""
    if x.dtype == tl.float32:
        y = from_bits(0x7EF311C7 - to_bits(x))
    else:
        y = from_bits(0x7FDE623822FC16E6 - to_bits(x))
    return y * (2.0 - x * y)


@triton.jit
def atan_parts(a, b):
    """(below, above, t, p) with atan(a / b) = base + t + p: base is 0 where `below`, π/2 where `above`, else π/4.

    0 ≤ a, 0 ≤ b, neither infinite, the larger normal and far from the ends of the range. |t| ≤ 1/2 is
    a/b, -b/a or (a - b)/(a + b), correctly rounded; p its correction and the polynomial.
    """
    below = a + a <= b
    above = a >= b + b
    between, between_low = two_sum(a, b)
    numerator = tl.where(below, a, tl.where(above, negate(b), a - b))
    denominator = tl.where(below, b, tl.where(above, a, between))
    t = div(numerator, denominator)
    remainder = tl.fma(negate(t), denominator, numerator)
    remainder = tl.where(below | above, remainder, tl.fma(negate(t), between_low, remainder))
    z = t * t
    return below, above, t, tl.fma(t * z, atan_tail(z), remainder * rough_reciprocal(denominator))


@triton.jit
def add_to_base(high, low, t, p):
    """high + low + t + p, where high is 0 or |high| ≥ |t|."""
    s, e = quick_two_sum(high, t)
    return s + (e + (low + p))


@triton.jit
def atan(x):
    a = tl.abs(x)
    a = tl.where(a > 1.8446744073709552e19, 1.8446744073709552e19, a)  # π/2 from here on
    below, above, t, p = atan_parts(a, constant(1.0, x))
    high, low = half_pi(x)
    high = tl.where(below, 0.0, tl.where(above, high, 0.5 * high))
    low = tl.where(below, 0.0, tl.where(above, low, 0.5 * low))
    return flip_sign(add_to_base(high, low, t, p), x)


@triton.jit
def three_quarters_pi(like):
    """3π/4 as a pair."""
    if like.dtype == tl.float32:
        return constant(2.356194496154785, like), constant(-5.962440319251527e-09, like)
    else:
        return constant(2.356194490192345, like), constant(9.184850993605148e-17, like)


@triton.jit
def atan2(y, x):
    """The angle of the point (x, y), with the standard's cases of zeros and infinities: those of their limits."""
    a = tl.abs(y)
    b = tl.abs(x)
    # infinities become 1 against 0 or 1, and (0, 0) lies on the axis of x
    infinite = (a == INFINITY) | (b == INFINITY)
    a = tl.where(infinite, tl.where(a == INFINITY, 1.0, 0.0), a)
    b = tl.where(infinite, tl.where(b == INFINITY, 1.0, 0.0), b)
    b = tl.where((a == 0.0) & (b == 0.0), 1.0, b)
    # away from the ends of the range: what underflows does not matter beside the other
    m = tl.where(a > b, a, b)
    if x.dtype == tl.float32:
        factor = tl.where(m > 1.0633823966279327e37, 0.00390625, tl.where(m < 1e-30, 18014398509481984.0, 1.0))
    else:
        factor = tl.where(m > 1.1235582092889474e307, 0.00390625, tl.where(m < 1e-290, 1.622592768292134e32, 1.0))
    a = a * factor
    b = b * factor
    below, above, t, p = atan_parts(a, b)
    left = sign_bit(x) != 0
    high, low = half_pi(x)
    high_left, low_left = three_quarters_pi(x)
    high_left = tl.where(below, 2.0 * high, tl.where(above, high, high_left))
    low_left = tl.where(below, 2.0 * low, tl.where(above, low, low_left))
    high = tl.where(below, 0.0, tl.where(above, high, 0.5 * high))
    low = tl.where(below, 0.0, tl.where(above, low, 0.5 * low))
    angle = add_to_base(
        tl.where(left, high_left, high),
        tl.where(left, low_left, low),
        tl.where(left, negate(t), t),
        tl.where(left, negate(p), p),
    )
    return tl.where((x != x) | (y != y), float("nan"), flip_sign(angle, y))


# ---- asin, acos


@triton.jit
def asin_parts(a):
    """(small, s, p): asin(a) = s + p where `small`, else π/2 - 2 (s + p), for 0 ≤ a ≤ 1."""
    small = a <= 0.5
    z = tl.where(small, a * a, 0.5 - 0.5 * a)
    root = sqrt(z)
    s = tl.where(small, a, root)
    root_low = tl.fma(negate(root), root, z) * rough_reciprocal(root + root)
    return small, s, tl.fma(s * z, asin_tail(z), tl.where(small, 0.0, root_low))


@triton.jit
def asin(x):
    small, s, p = asin_parts(tl.abs(x))
    high, low = half_pi(x)
    angle = tl.where(small, s + p, add_to_base(high, low, -2.0 * s, -2.0 * p))
    return flip_sign(angle, x)


@triton.jit
def acos(x):
    small, s, p = asin_parts(tl.abs(x))
    s = tl.where(small, flip_sign(s, x), 2.0 * s)
    p = tl.where(small, flip_sign(p, x), 2.0 * p)
    high, low = half_pi(x)
    left = x < 0.0
    # π/2 - asin x; from 1/2 on twice the angle, on the left π less it
    high = tl.where(small, high, tl.where(left, 2.0 * high, 0.0))
    low = tl.where(small, low, tl.where(left, 2.0 * low, 0.0))
    away = small | left
    return add_to_base(high, low, tl.where(away, negate(s), s), tl.where(away, negate(p), p))
