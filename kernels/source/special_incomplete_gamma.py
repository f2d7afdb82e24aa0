"""The incomplete gamma functions gammainc and gammaincc, the inverse gammaincinv, and chdtr and chdtrc, the chi-squared
distribution.

P(a, x) and Q = 1 - P, whichever is not near 1 first:

* a from 20 on and x of similar size: Temme's uniform expansion, a complementary error function and a power series;
* x above a and 1: a continued fraction for Q, from its end, so that rounding errors fade;
* a below 1/2 and x below 1: Q = 1 - x^a/Γ(1 + a) and a series;
* elsewhere the power series for P.

All but the first multiply D = x^a e^-x/Γ(a + 1), whose exponent is a pair, and for large a the divergence of a from x.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    negate,
    pair_add,
    pair_add_float,
    pair_div,
    pair_mul,
    pair_mul_float,
    pair_sqrt,
    polynomial,
    power_of_two,
    split,
    sqrt,
    two_prod,
    two_sum,
)
from nbx_array.kernels.source.elementwise import any_lane
from nbx_array.kernels.source.exponential import exp, expm1, log, log1p
from nbx_array.kernels.source.pairs import exp_pair, expm1_pair, log_pair
from nbx_array.kernels.source.special_beta import stirling
from nbx_array.kernels.source.special_coefficients import (
    LOG_GAMMA_32,
    LOG_GAMMA_64,
    TEMME_0_32,
    TEMME_0_64,
    TEMME_1_32,
    TEMME_1_64,
    TEMME_2_32,
    TEMME_2_64,
    TEMME_3_32,
    TEMME_3_64,
    TEMME_4_64,
    TEMME_5_64,
    TEMME_6_64,
    TEMME_7_64,
    TEMME_8_64,
    TEMME_9_64,
    TEMME_10_64,
    TEMME_11_64,
)
from nbx_array.kernels.source.special_errors import erfcx_pair, ndtri
from nbx_array.kernels.source.special_gamma import NEAR, exp_of_pair, gamma_near, times_power_of_two
from nbx_array.kernels.source.special_logarithms import divergence


@triton.jit
def temme_series(eta, a):
    """Σ c_k(η) a^-k."""
    r = div(a * 0.0 + 1.0, a)
    if a.dtype == tl.float32:
        s = tl.fma(polynomial(eta, TEMME_3_32), r, polynomial(eta, TEMME_2_32))
        s = tl.fma(s, r, polynomial(eta, TEMME_1_32))
        return tl.fma(s, r, polynomial(eta, TEMME_0_32))
    else:
        s = tl.fma(polynomial(eta, TEMME_11_64), r, polynomial(eta, TEMME_10_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_9_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_8_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_7_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_6_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_5_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_4_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_3_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_2_64))
        s = tl.fma(s, r, polynomial(eta, TEMME_1_64))
        return tl.fma(s, r, polynomial(eta, TEMME_0_64))


@triton.jit
def exp_of_divergence(a, x):
    """(h, l, n, y, low) with exp(-d) = (h + l) · 2^n and √d = y + low, for d = a log(a/x) - a + x, finite a, x > 0."""
    h, l, n = divergence(a, x)
    # what is beyond the exponential's range is as good as just beyond it
    limit: tl.constexpr = 20 if a.dtype == tl.float32 else 60
    m = tl.minimum(n, limit)
    half = m >> 1
    h = h * power_of_two(half, a) * power_of_two(m - half, a)
    l = l * power_of_two(half, a) * power_of_two(m - half, a)
    far = n > limit
    h = tl.where(far & (h > 0.0), 2000.0, h)
    l = tl.where(far, 0.0, l)
    y, low = pair_sqrt(h, l)
    h, l, n = exp_of_pair(negate(h), negate(l))
    return h, l, n, y, low


@triton.jit
def root_two_pi(a):
    """√(2πa) as a pair."""
    h, l = pair_sqrt(a, a * 0.0)
    if a.dtype == tl.float32:
        return pair_mul(h, l, constant(2.5066282749176025, a), constant(-2.866020476499642e-10, a))
    else:
        return pair_mul(h, l, constant(2.5066282746310007, a), constant(-1.8328579980459167e-16, a))


@triton.jit
def power_over_gamma(a, x, eh, el, en):
    """x^a e^-x/Γ(a + 1) = (h + l) · 2^n; the last three arguments are the exponential of the divergence."""
    large = a >= NEAR
    b = tl.where(large, a, NEAR)
    h, l = root_two_pi(b)
    sh, sl, _ = exp_pair(stirling(b))  # below 1/96: no power of two
    h, l = pair_mul(h, l, sh, sl)
    h, l = pair_div(eh, el, h, l)
    # small a: the logarithm of x
    c = tl.where(large, 1.0, a)
    m, e = split(x)
    th, t_l = log_pair(m, x * 0.0, e)
    th, t_l = pair_mul_float(th, t_l, c)
    th, t_l = pair_add_float(th, t_l, negate(x))
    th, t_l, n = exp_of_pair(th, t_l)
    one, one_low = two_sum(constant(1.0, a), c)
    gh, gl = gamma_near(one, one_low)
    th, t_l = pair_div(th, t_l, gh, gl)
    return tl.where(large, h, th), tl.where(large, l, t_l), tl.where(large, en, n)


@triton.jit
def lower_series(a, x, active):
    """1 + x/(a + 1) + x²/((a + 1)(a + 2)) + … as a pair, where `active`."""
    one = a * 0.0 + 1.0
    h, l = one, a * 0.0
    th, t_l = one, a * 0.0
    x = tl.where(active, x, 0.0)
    count = a * 0.0
    small: tl.constexpr = 2.0**-28 if a.dtype == tl.float32 else 2.0**-58
    going = active
    while any_lane(going):
        count += 1.0
        d, d_low = two_sum(a, count)
        d, d_low = pair_div(x, x * 0.0, d, d_low)
        th, t_l = pair_mul(th, t_l, d, d_low)
        nh, nl = pair_add(h, l, th, t_l)
        h = tl.where(going, nh, h)
        l = tl.where(going, nl, l)
        going = going & (th > h * small) & (count < 300.0)
    return h, l


@triton.jit
def upper_fraction(a, x, active):
    """Q/(a D) = 1/(x + 1 - a - 1·(1 - a)/(x + 3 - a - 2·(2 - a)/(x + 5 - a - …))), where `active`.

    106 terms make x = 1 exact (float32: 27), 20 the others above 2.
    """
    terms: tl.constexpr = 28 if a.dtype == tl.float32 else 108
    few: tl.constexpr = 16 if a.dtype == tl.float32 else 40
    x = tl.where(active, x, 2.0)
    a = tl.where(active, a, 1.0)
    d = x - a
    count = x * 0.0 + few
    f = d + (2 * few + 1)
    if any_lane(x < 3.0):
        count = x * 0.0 + terms
        f = tl.where(x < 3.0, d + (2 * terms + 1), f)
    count = tl.where(x < 3.0, count, few)
    while any_lane(count > 0.0):
        going = count > 0.0
        g = (d + (count * 2.0 - 1.0)) - div(count * (count - a), f)
        f = tl.where(going, g, f)
        count = count - 1.0
    return f


@triton.jit
def upper_of_small(a, x):
    """Q(a, x) for a ≤ 1/2 and x ≤ 1: 1 - x^a/Γ(1 + a) + x^a/Γ(1 + a) · a (x/(a + 1) - x²/(2! (a + 2)) + …)."""
    m, e = split(x)
    h, l = log_pair(m, x * 0.0, e)
    h, l = pair_mul_float(h, l, a)
    # log Γ(1 + a) = log Γ(2 + a) - log(1 + a)
    if a.dtype == tl.float32:
        p = polynomial(a, LOG_GAMMA_32)
        terms: tl.constexpr = 11
    else:
        p = polynomial(a, LOG_GAMMA_64)
        terms: tl.constexpr = 19
    p, p_low = two_prod(a, p)
    one, one_low = two_sum(constant(1.0, a), a)
    gh, gl = log_pair(one, one_low, a * 0.0)
    h, l = pair_add(h, l, gh, gl)
    h, l = pair_add(h, l, negate(p), negate(p_low))
    uh, ul, _ = expm1_pair(h)  # h is below 1/4
    ul += l * (uh + 1.0)
    # the alternating rest from its end
    s = a * 0.0
    for i in tl.static_range(terms, 1, -1):
        s = div(a * 0.0 + 1.0, a + i) - s * div(x, a * 0.0 + (i + 1))
    s = negate(s) * x * 0.5
    wh, wl = pair_div(constant(1.0, a), a * 0.0, one, one_low)
    wh, wl = pair_add_float(wh, wl, s)
    wh, wl = pair_mul(wh, wl, *two_prod(a, x))
    # Q = -u + (1 + u) w
    vh, vl = pair_add_float(uh, ul, constant(1.0, a))
    wh, wl = pair_mul(wh, wl, vh, vl)
    wh, wl = pair_add(wh, wl, negate(uh), negate(ul))
    return wh + wl


@triton.jit
def incomplete_gamma(a, x):
    """(P, Q, x dP/dx) for finite a > 0 and x > 0."""
    ratio = div(x, a)
    if a.dtype == tl.float32:
        uniform = (a >= 20.0) & (ratio > 0.31) & (ratio < 2.3)
    else:
        uniform = (a >= 20.0) & (ratio > 0.31) & (ratio < 2.3)
    fraction = ~uniform & (x >= 1.0) & (x >= a)
    small = (x < 1.0) & (a < 0.5)
    series = ~uniform & ~fraction
    eh, el, en, y, y_low = exp_of_divergence(a, x)
    above = x >= a
    # the uniform expansion of the smaller of P and Q
    b = tl.where(uniform, a, 20.0)
    eta = div(tl.where(uniform, tl.where(above, y, negate(y)), 0.0), sqrt(b * 0.5))
    h, l = erfcx_pair(tl.where(uniform, y, 0.0), tl.where(uniform, y_low, 0.0))
    rh, _ = root_two_pi(b)
    rest = div(temme_series(eta, b), rh)
    h, l = pair_add_float(h * 0.5, l * 0.5, tl.where(above, rest, negate(rest)))
    uh, ul = pair_mul(h, l, eh, el)
    # the others
    dh, dl, dn = power_over_gamma(a, x, eh, el, en)
    sh, sl = lower_series(a, x, series)
    sh, sl = pair_mul(sh, sl, dh, dl)
    f = upper_fraction(a, x, fraction)
    fh, fl = pair_mul_float(dh, dl, tl.where(fraction, a, 0.0))
    qh, ql = pair_div(fh, fl, f, f * 0.0)
    upper = fraction | (uniform & above)
    h = tl.where(uniform, uh, tl.where(fraction, qh, sh))
    l = tl.where(uniform, ul, tl.where(fraction, ql, sl))
    n = tl.where(uniform, en, dn)
    one = times_power_of_two(h + l, n)
    m = tl.minimum(tl.maximum(n, -100), 100)
    other = (1.0 - h * power_of_two(m, a)) - l * power_of_two(m, a)
    other = tl.where(n < -100, 1.0, other)
    p = tl.where(upper, other, one)
    q = tl.where(upper, one, other)
    q = tl.where(small, upper_of_small(tl.where(small, a, 0.25), tl.where(small, x, 0.25)), q)
    return p, q, times_power_of_two(dh, dn) * a


@triton.jit
def gammainc(a, x):
    inside = (a > 0.0) & (x > 0.0) & (a < INFINITY) & (x < INFINITY)
    p, _, _ = incomplete_gamma(tl.where(inside, a, 1.0), tl.where(inside, x, 1.0))
    # at the edges 0 or 1; nothing is known of 0 beside 0 and of two infinities
    known = (a >= 0.0) & (x >= 0.0) & ((a > 0.0) | (x > 0.0)) & ((a < INFINITY) | (x < INFINITY))
    edge = tl.where((a == 0.0) | (x == INFINITY), 1.0, 0.0)
    return tl.where(inside, p, tl.where(known, edge, float("nan")))


@triton.jit
def gammaincc(a, x):
    inside = (a > 0.0) & (x > 0.0) & (a < INFINITY) & (x < INFINITY)
    _, q, _ = incomplete_gamma(tl.where(inside, a, 1.0), tl.where(inside, x, 1.0))
    known = (a >= 0.0) & (x >= 0.0) & ((a > 0.0) | (x > 0.0)) & ((a < INFINITY) | (x < INFINITY))
    edge = tl.where((a == 0.0) | (x == INFINITY), 0.0, 1.0)
    return tl.where(inside, q, tl.where(known, edge, float("nan")))


@triton.jit
def gammaincinv(a, y):
    """x with P(a, x) = y, by Newton's method for log P or log Q as a function of log x: both are concave, so that from
    the second step on it approaches from one side, whatever the start. Where a tail vanishes or rounding leads out of
    what is known to enclose x, that is halved."""
    inside = (a > 0.0) & (a < INFINITY) & (y > 0.0) & (y < 1.0)
    b = tl.where(inside, a, 1.0)
    p = tl.where(inside, y, 0.5)
    q = 1.0 - p
    lower = p <= 0.5
    target = tl.where(lower, p, q)
    # from the cube of a normal variable (Wilson and Hilferty), of small ones from P = x^a/Γ(1 + a) or nearly
    root = sqrt(b)
    one = constant(1.0, a)
    cube = one - div(one, b * 9.0) + div(ndtri(p), root * 3.0)
    log_gamma = (b + 1.5) * log(b + 2.0) - (b + 2.0) + 0.919 + div(one, (b + 2.0) * 12.0) - log(b + 1.0)
    start = exp(div(log(p) + log_gamma, b))
    x = tl.where((cube > 0.3) & (b > 0.5), b * cube * cube * cube, start)
    if a.dtype == tl.float32:
        enough = constant(2.0**-14, a)
        least = constant(1e-37, a)
        most = constant(1e37, a)
    else:
        enough = constant(2.0**-28, a)
        least = constant(1e-307, a)
        most = constant(1e307, a)
    # below the smallest number
    vanishing = x < least
    going = inside & ~vanishing
    count = b * 0.0
    low = b * 0.0 + least
    high = b * 0.0 + most
    x = tl.where(x > least, tl.where(x < most, x, most), least)
    while any_lane(going):
        lower_tail, upper_tail, slope = incomplete_gamma(b, x)
        tail = tl.where(lower, lower_tail, upper_tail)
        difference = div(tail - target, target)
        near = tl.abs(difference) < 0.1
        error = tl.where(near, log1p(tl.where(near, difference, 0.0)), log(tail) - log(target))
        step = div(error * tail, tl.where(lower, negate(slope), slope))
        below = tl.where(lower, tail < target, tail > target)
        low = tl.where(below, x, low)
        high = tl.where(below, high, x)
        next = tl.fma(x, expm1(tl.where(tl.abs(step) < 50.0, step, 0.0)), x)
        good = (tl.abs(step) < 50.0) & (next >= low) & (next <= high)
        x = tl.where(going, tl.where(good, next, sqrt(low) * sqrt(high)), x)
        count += 1.0
        going = going & ~(good & (tl.abs(step) * (root + 1.0) < enough)) & (count < 100.0)
    x = tl.where(vanishing, start, x)
    edge = tl.where(y == 0.0, 0.0, tl.where(y == 1.0, INFINITY, float("nan")))
    edge = tl.where(a >= 0.0, edge, float("nan"))
    return tl.where(inside, x, edge)


@triton.jit
def chdtr(v, x):
    return gammainc(v * 0.5, x * 0.5)


@triton.jit
def chdtrc(v, x):
    return gammaincc(v * 0.5, x * 0.5)
