"""The incomplete beta function and the distributions of Student and Fisher: betainc, stdtr, fdtr.

One continued fraction, from its end, so that rounding errors fade, times x^a (1 - x)^b/B(a, b), whose logarithm is a
pair; above the mean a/(a + b) it is that of 1 - x. A. R. DiDonato and A. H. Morris, "Significant digit computation of
the incomplete beta function ratios", ACM TOMS 18 (1992), give the fraction.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    negate,
    pair_add,
    pair_div,
    pair_mul_float,
    sqrt,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.elementwise import any_lane
from nbx_array.kernels.source.exponential import expm1, log1p
from nbx_array.kernels.source.special_beta import log_beta_pair
from nbx_array.kernels.source.special_errors import ndtr
from nbx_array.kernels.source.special_gamma import exp_of_pair, log_of_any_pair, times_power_of_two

LONGEST = tl.constexpr(4000)


@triton.jit
def fraction_of_beta(a, b, x, y):
    """1/(b₀ + a₁/(b₁ + a₂/(b₂ + …))) = I_x(a, b) B(a, b)/(x^a y^b), for x up to about the mean.

    30 terms and 3 √(ab/(a + b)) were enough where b ≥ 16 or x ≤ 0.5, up to x = 0.95 for small b another 80.
    """
    p, p_low = two_prod(a, y)
    q, q_low = two_prod(b, x)
    excess, rest = two_sum(p, negate(q))
    excess += rest + (p_low - q_low)
    terms = tl.floor(sqrt(div(a, a + b) * b) * 3.0) + 30.0
    terms += tl.where((b < 16.0) & (x > 0.5), 80.0, 0.0)
    n = tl.where(terms < LONGEST, terms, LONGEST)
    f = n * 0.0
    first = n == n
    going = n >= 0.0
    while any_lane(going):
        # b_n, and a_{n+1} beside the fraction that follows
        d = tl.fma(n, constant(2.0, a), a)
        term = tl.fma(n, 2.0 - x, excess + 1.0)
        term = n + tl.where(n > 0.0, div(n * (b - n) * x, d - 1.0), 0.0) + div((a + n) * term, d + 1.0)
        m = n + 1.0
        u = div(x, d + 1.0)
        factor = ((a + n) * u) * ((a + b + n) * u) * (m * (b - m))
        g = term + tl.where(first, 0.0, div(factor, tl.where(first, 1.0, f)))
        f = tl.where(going, g, f)
        first = first & ~going
        n = n - 1.0
        going = n >= 0.0
    return f


@triton.jit
def complement_near_one(a, b, y, h, l, asked):
    """1 - I_y(b, a) = 1 - y^b/(b B(a, b)) (1 + b Σ ((1 - a)⋯(n - a)/n!) y^n/(b + n)) where b < 1 and a y < 1 (DLMF
    8.17.7), h and l being log(y^b/B(a, b)): all factors' logarithms are added, because little is left for small b."""
    lh, ll = log_of_any_pair(b, b * 0.0)
    h, l = pair_add(h, l, negate(lh), negate(ll))
    term = tl.where(asked, constant(1.0, y), 0.0)
    total = term * 0.0
    n = total + 1.0
    while any_lane(asked):
        term = term * (div(n - a, n) * y)
        total += div(term, b + n)
        n += 1.0
        asked = asked & (n < 40.0)
    h, l = pair_add(h, l, log1p(b * total), total * 0.0)
    e = expm1(h)
    return negate(e + l * (1.0 + e))


@triton.jit
def incomplete_beta(a, b, x, y, log_x, log_x_low, log_y, log_y_low):
    """I_x(a, b) for positive numbers, where 0 < x < 1, y = 1 - x, and the pairs are their logarithms."""
    # below the mean the fraction converges, and for small a up to (a + 1)/(a + b + 2)
    above = x * b > a * y
    later = x * (b + 1.0) > (a + 1.0) * y
    swap = later & above
    near_one = (b < 1.0) & (y < 0.05) & (a * y < 1.0)
    c = tl.where(swap, b, a)
    d = tl.where(swap, a, b)
    z = tl.where(swap, y, x)
    w = tl.where(swap, x, y)
    ordered = a >= b
    bh, bl, scale = log_beta_pair(tl.where(ordered, a, b), tl.where(ordered, b, a))
    h, l = pair_mul_float(log_x, log_x_low, a)
    uh, ul = pair_mul_float(log_y, log_y_low, b)
    uh, ul = pair_add(uh, ul, negate(bh * scale), negate(bl * scale))
    small = complement_near_one(a, b, y, uh, ul, near_one)
    h, l = pair_add(h, l, uh, ul)
    h, l, n = exp_of_pair(h, l)
    h, _ = pair_div(h, l, fraction_of_beta(c, d, z, w), z * 0.0)
    value = times_power_of_two(h, n)
    value = tl.where(swap, 1.0 - value, value)
    return tl.where(near_one, small, value)


@triton.jit
def betainc(a, b, x):
    inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < INFINITY) & (b < INFINITY)
    p = tl.where(inside, a, 1.0)
    q = tl.where(inside, b, 1.0)
    z = tl.where(inside, x, 0.5)
    y, y_low = two_sum(constant(1.0, x), negate(z))
    xh, xl = log_of_any_pair(z, z * 0.0)
    yh, yl = log_of_any_pair(y, y_low)
    result = incomplete_beta(p, q, z, y, xh, xl, yh, yl)
    # at the edges: all of the distribution at 0, at 1 or between
    known = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    known = known & ((a > 0.0) | (b > 0.0)) & ((a < INFINITY) | (b < INFINITY))
    low = (a == 0.0) | (b == INFINITY)
    edge = tl.where(x == 0.0, 0.0, tl.where((x == 1.0) | low, 1.0, 0.0))
    return tl.where(inside, result, tl.where(known, edge, float("nan")))


@triton.jit
def stdtr(df, t):
    """Student's distribution function: I_x(df/2, 1/2)/2 with x = df/(df + t²) is a tail."""
    inside = (df > 0.0) & (df < INFINITY) & (tl.abs(t) < INFINITY) & (t != 0.0)
    v = tl.where(inside, df, 1.0)
    u = tl.where(inside, tl.abs(t), 1.0)
    zero = constant(0.0, t)
    # t² may overflow; its logarithm does not
    if t.dtype == tl.float32:
        far = u > 1e15
    else:
        far = u > 1e150
    z = tl.where(far, 1.0, u)
    h, l = two_prod(z, z)
    s, s_low = two_sum(v, h)
    s_low += l
    x, x_low = pair_div(v, zero, s, s_low)
    y, y_low = pair_div(h, l, s, s_low)
    xh, xl = log_of_any_pair(x, x_low)
    yh, yl = log_of_any_pair(y, y_low)
    vh, vl = log_of_any_pair(v, zero)
    uh, ul = log_of_any_pair(u, zero)
    vh, vl = pair_add(vh, vl, uh * -2.0, ul * -2.0)
    xh = tl.where(far, vh, xh)
    xl = tl.where(far, vl, xl)
    x = tl.where(far, div(div(v, u), u), x)
    tail = incomplete_beta(
        v * 0.5, v * 0.0 + 0.5, x, tl.where(far, 1.0, y), xh, xl, tl.where(far, 0.0, yh), tl.where(far, 0.0, yl)
    )
    tail = tail * 0.5
    result = tl.where(t < 0.0, tail, 1.0 - tail)
    limit = tl.where(t == 0.0, 0.5, tl.where(t < 0.0, 0.0, 1.0))
    result = tl.where(inside, result, limit)
    result = tl.where(df == INFINITY, ndtr(t), result)
    return tl.where((df > 0.0) & (t == t), result, float("nan"))


@triton.jit
def fdtr(dfn, dfd, x):
    """Fisher's distribution function: I_z(dfn/2, dfd/2) with z = dfn x/(dfd + dfn x)."""
    product = dfn * x
    inside = (dfn > 0.0) & (dfd > 0.0) & (x > 0.0) & (dfn < INFINITY) & (dfd < INFINITY) & (product < INFINITY)
    inside = inside & (product > 0.0)
    n = tl.where(inside, dfn, 1.0)
    m = tl.where(inside, dfd, 1.0)
    zero = constant(0.0, x)
    h, l = two_prod(n, tl.where(inside, x, 1.0))
    s, s_low = two_sum(m, h)
    s_low += l
    z, z_low = pair_div(h, l, s, s_low)
    y, y_low = pair_div(m, zero, s, s_low)
    xh, xl = log_of_any_pair(z, z_low)
    yh, yl = log_of_any_pair(y, y_low)
    result = incomplete_beta(n * 0.5, m * 0.5, z, y, xh, xl, yh, yl)
    edge = tl.where(product > 0.0, 1.0, 0.0)
    known = (dfn > 0.0) & (dfd > 0.0) & (x >= 0.0) & (dfn < INFINITY) & (dfd < INFINITY)
    return tl.where(inside, result, tl.where(known, edge, float("nan")))
