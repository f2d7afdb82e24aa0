"""Quotients of gamma functions: beta, betaln, poch.

Where no argument is large they are products of pairs; of large ones the logarithms are subtracted term by term, so that
what cancels is never rounded.
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
    polynomial,
    two_sum,
)
from nbx_array.kernels.source.exponential import log as natural_log
from nbx_array.kernels.source.pairs import log_pair
from nbx_array.kernels.source.special_coefficients import STIRLING_32, STIRLING_64
from nbx_array.kernels.source.special_gamma import (
    NEAR,
    exp_of_pair,
    gamma_parts,
    is_pole,
    log_gamma_far,
    log_of_any_pair,
    times_power_of_two,
)


@triton.jit
def stirling(a):
    """log Γ(a) less the leading terms of its asymptotic series, for a ≥ 8."""
    z = div(a * 0.0 + 1.0, a)
    if a.dtype == tl.float32:
        return polynomial(z * z, STIRLING_32) * z
    else:
        return polynomial(z * z, STIRLING_64) * z


@triton.jit
def log_quotient(a, b, down):
    """log(Γ(a)/Γ(a + b)) as a pair, times a power of two `down` that keeps it finite; for a ≥ 8 and b ≥ 0.

    It is -(a - 1/2) log(1 + b/a) - b log(a + b) + b and the difference of what Stirling's series adds.
    """
    zero = constant(0.0, a)
    s, s_low = two_sum(a, b)
    h, l = log_of_any_pair(s, s_low)
    h, l = pair_mul_float(h, l, negate(b) * down)
    h, l = pair_add_float(h, l, b * down)
    swapped = b > a
    r, r_low = pair_div(tl.where(swapped, a, b), zero, tl.where(swapped, b, a), zero)
    if a.dtype == tl.float32:
        slight = r < 1e-15
    else:
        slight = r < 1e-25
    t, t_low = two_sum(constant(1.0, a), tl.where(slight, 0.0, r))
    t, t_low = log_pair(t, tl.where(slight, 0.0, r_low) + t_low, zero)
    # where b > a: log(1 + b/a) = log(1 + a/b) + log(b/a)
    u, u_low = log_of_any_pair(tl.where(swapped, r, 1.0), tl.where(swapped, r_low, 0.0))
    t, t_low = pair_add(t, t_low, negate(u), negate(u_low))
    t, t_low = pair_mul_float(t, t_low, (a - 0.5) * down)
    slight = slight & ~swapped
    t = tl.where(slight, b * down, t)
    t_low = tl.where(slight, 0.0, t_low)
    h, l = pair_add(h, l, negate(t), negate(t_low))
    return pair_add_float(h, l, (stirling(a) - stirling(s)) * down)


@triton.jit
def rounded(a, s, s_low, large):
    """How much log(Γ(s + d)/Γ(s)) grows with s by s_low, a being s + d; for `large` arguments, at least 8."""
    # by its derivative, ψ(a) - ψ(s), where ψ(x) is nearly log(x - 1/2)
    return s_low * natural_log(div(tl.where(large, a, 1.0) - 0.5, tl.where(large, s, 1.0) - 0.5))


@triton.jit
def size_limit(x):
    """How large the arguments of `gamma_parts` may be."""
    if x.dtype == tl.float32:
        return constant(60.0, x)
    else:
        return constant(250.0, x)


@triton.jit
def is_tiny(x):
    """Whether 1/Γ(x) is x to all digits."""
    if x.dtype == tl.float32:
        return tl.abs(x) < 1e-9
    else:
        return tl.abs(x) < 1e-17


@triton.jit
def beta_parts(a, b):
    """(h, l, n, log, low, scale, direct) with B(a, b) = (h + l) · 2^n where `direct`, else (h + l) · 2^n times the
    exponential of (log + low) · scale; a is the larger argument."""
    limit = size_limit(a)
    s, s_low = two_sum(a, b)
    direct = (tl.abs(a) <= limit) & (tl.abs(b) <= limit) & (tl.abs(s) <= limit)
    large = ~direct & (a >= NEAR) & (s >= NEAR) & (b >= negate(limit))
    rising = b >= 0.0
    # Γ(b), of a large b its logarithm
    far = large & (b >= NEAR)
    zero = constant(0.0, a)
    bh, bl, bn = gamma_parts(tl.where(far, 1.0, b), zero)
    ah, al, an = gamma_parts(tl.where(direct, a, 1.0), zero)
    sh, sl, sn = gamma_parts(tl.where(direct, s, 1.0), tl.where(direct, s_low, 0.0))
    h, l = pair_mul(bh, bl, ah, al)
    h, l = pair_div(h, l, sh, sl)
    h = tl.where(direct | large, h, float("nan"))
    if a.dtype == tl.float32:
        down = tl.where(a > 1e30, 0.0009765625, 1.0)
    else:
        down = tl.where(a > 1e300, 0.0009765625, 1.0)
    base = tl.where(large, tl.where(rising, a, s), NEAR)
    log, low = log_quotient(base, tl.where(large, tl.abs(b), 1.0), down)
    log = tl.where(rising, log, negate(log))
    low = tl.where(rising, low, negate(low))
    low += tl.where(large & ~rising, rounded(a, s, s_low, large) * down, 0.0)
    gh, gl, factor = log_gamma_far(tl.where(far, b, NEAR))
    gh = gh * (factor * down)
    gl = gl * (factor * down)
    log, low = pair_add(log, low, tl.where(far, gh, 0.0), tl.where(far, gl, 0.0))
    return h, l, bn + an - sn, log, low, tl.where(down < 1.0, 1024.0, 1.0), direct


@triton.jit
def arrange(a, b):
    """(larger, smaller, sign, infinite): arguments with the same beta function, times the sign; infinite at a pole.

    At a pole -k of one argument the other may be a whole number n ≤ k: B(-k, n) = (-1)^n B(1 + k - n, n). That is a
    convention, SciPy's, which ends at poles that 32 bits do not count.
    """
    swap = is_pole(b) & ~is_pole(a)
    first = tl.where(swap, b, a)
    second = tl.where(swap, a, b)
    pole = is_pole(first)
    other = 1.0 - first - second
    last = constant(-2147483646.0, a)  # Triton 3.6 compares with literals as float32 holds them
    reducible = pole & (first >= last) & (tl.floor(second) == second) & (second > 0.0) & (other > 0.0)
    half = second * 0.5
    sign = tl.where(reducible & (tl.floor(half) != half), -1.0, 1.0)
    first = tl.where(reducible, other, first)
    infinite = pole & ~reducible
    ordered = first >= second
    return tl.where(ordered, first, second), tl.where(ordered, second, first), sign, infinite


@triton.jit
def by_size(a, b):
    """The argument nearer to 0, and the other one."""
    swap = tl.abs(b) < tl.abs(a)
    return tl.where(swap, b, a), tl.where(swap, a, b)


@triton.jit
def grows_with(x, y):
    """Whether B(x, y) is infinite for an infinite x and a negative y."""
    return (x == INFINITY) & (y < 0.0) & (y > -INFINITY)


@triton.jit
def beta(a, b):
    """Γ(a) Γ(b)/Γ(a + b)."""
    nan = (a != a) | (b != b)
    x, y, sign, infinite = arrange(a, b)
    unbounded = (x == INFINITY) & (y > 0.0)
    # so near 0 that B = 1/t + 1/other to all digits, 1/t beside another above 1
    t, other = by_size(x, y)
    tiny = is_tiny(t)
    pole = is_pole(x + y)
    usual = ~(nan | infinite | unbounded | tiny | pole | (tl.abs(x) == INFINITY) | (tl.abs(y) == INFINITY))
    h, l, n, log, low, scale, direct = beta_parts(tl.where(usual, x, 1.0), tl.where(usual, y, 1.0))
    # the exponential, its overflow and underflow; of a finite product Γ(b) may be too small, the exponential too large
    log, low = log * scale, low * scale
    near = tl.abs(log) < 5000.0
    nh, nl = times_ln2(n, a)
    sh, sl = pair_add(tl.where(near, log, 0.0), tl.where(near, low, 0.0), nh, nl)
    eh, el, en = exp_of_pair(tl.where(near, sh, log), tl.where(near, sl, low))
    ph, pl = pair_mul(eh, el, h, l)
    result = tl.where(direct, times_power_of_two(h + l, n), times_power_of_two(ph + pl, en))
    one = constant(1.0, a)
    small = div(one, t)
    small = tl.where(tl.abs(other) < 1.0, small + div(one, other), small)
    result = tl.where(pole | unbounded, 0.0, tl.where(tiny, small, result))
    # Γ(y) ∞^-y
    half = tl.floor(y) * 0.5
    result = tl.where(grows_with(x, y), tl.where(tl.floor(half) == half, INFINITY, -INFINITY), result)
    return tl.where(nan, float("nan"), tl.where(infinite, INFINITY, result * sign))


@triton.jit
def times_ln2(n, x):
    """n · log 2 as a pair of x's dtype, for an integer n."""
    if x.dtype == tl.float32:
        h, l = pair_mul_float(constant(0.6931471824645996, x), constant(-1.9046542121259336e-09, x), n.to(tl.float32))
    else:
        h, l = pair_mul_float(constant(0.6931471805599453, x), constant(2.3190468138462996e-17, x), n.to(tl.float64))
    return h, l


@triton.jit
def log_beta_pair(a, b):
    """(h, l, scale) with log |B(a, b)| = (h + l) · scale, for a ≥ b that are not very small."""
    h, l, n, log, low, scale, direct = beta_parts(a, b)
    flip = tl.where(h < 0.0, -1.0, 1.0)
    undefined = h != h
    h, l = log_of_any_pair(h * flip, l * flip)
    eh, el = times_ln2(n, a)
    h, l = pair_add(h, l, eh, el)
    back = div(constant(1.0, a), scale)
    h, l = pair_add(h * back, l * back, tl.where(direct, 0.0, log), tl.where(direct, 0.0, low))
    return tl.where(undefined, float("nan"), h), l, scale


@triton.jit
def betaln(a, b):
    """log |B(a, b)|."""
    nan = (a != a) | (b != b)
    x, y, _, infinite = arrange(a, b)
    unbounded = (x == INFINITY) & (y > 0.0)
    t, other = by_size(x, y)
    tiny = is_tiny(t)
    pole = is_pole(x + y)
    usual = ~(nan | infinite | unbounded | tiny | pole | (tl.abs(x) == INFINITY) | (tl.abs(y) == INFINITY))
    h, l, scale = log_beta_pair(tl.where(usual, x, 1.0), tl.where(usual, y, 1.0))
    # log |1/t + 1/other|
    small = negate(natural_log(tl.abs(t)))
    near = tl.abs(other) < 1.0
    ratio = div(t, tl.where(near, other, 1.0))
    small = tl.where(near, small + natural_log(tl.abs(ratio + 1.0)), small)
    result = tl.where(tiny, small, (h + l) * scale)
    result = tl.where(pole | unbounded, -INFINITY, tl.where(grows_with(x, y), INFINITY, result))
    return tl.where(nan, float("nan"), tl.where(infinite, INFINITY, result))


@triton.jit
def poch(a, m):
    """Γ(a + m)/Γ(a)."""
    nan = (a != a) | (m != m)
    zero = constant(0.0, a)
    limit = size_limit(a)
    s, s_low = two_sum(a, m)
    # both at poles: Γ(a + m)/Γ(a) = (-1)^m Γ(1 - a)/Γ(1 - a - m)
    lower = is_pole(a)
    upper = is_pole(s) & (s_low == 0.0)
    both = lower & upper
    top = tl.where(both, 1.0 - a, s)
    top_low = tl.where(both, 0.0, s_low)
    bottom = tl.where(both, 1.0 - s, a)
    half = m * 0.5
    sign = tl.where(both & (tl.floor(half) != half), -1.0, 1.0)
    usual = ~(nan | (lower != upper) | (m == 0.0) | (tl.abs(m) == INFINITY) | (tl.abs(a) == INFINITY))
    direct = usual & (tl.abs(top) <= limit) & (tl.abs(bottom) <= limit)
    large = usual & ~direct & (top >= NEAR) & (bottom >= NEAR)
    # Γ(x) = 1/x where x is tiny
    tiny_top = is_tiny(top)
    tiny_bottom = is_tiny(bottom)
    th, t_l, tn = gamma_parts(tl.where(direct & ~tiny_top, top, 1.0), tl.where(direct & ~tiny_top, top_low, 0.0))
    bh, bl, bn = gamma_parts(tl.where(usual & ~tiny_bottom & (tl.abs(bottom) <= limit), bottom, 1.0), zero)
    h, l = pair_div(th, t_l, bh, bl)
    # a subnormal one counts in full
    places: tl.constexpr = 24 if a.dtype == tl.float32 else 53
    h = tl.where(tiny_bottom, (h + l) * (bottom * 2.0**places), h)
    l = tl.where(tiny_bottom, 0.0, l)
    bn = tl.where(tiny_bottom, places, bn)
    rising = m >= 0.0
    base = tl.where(large, tl.where(rising, bottom, top), NEAR)
    log, low = log_quotient(base, tl.where(large, tl.abs(m), 1.0), constant(1.0, a))
    log = tl.where(rising, negate(log), log)
    low = tl.where(rising, negate(low), low)
    low -= tl.where(large & ~rising, rounded(a, s, s_low, large), 0.0)
    eh, el, en = exp_of_pair(log, low)
    result = tl.where(direct, times_power_of_two(h + l, tn - bn), times_power_of_two(eh + el, en))
    result = div(result, tl.where(tiny_top, top, 1.0))
    result = tl.where(tiny_top & tiny_bottom, div(bottom, tl.where(tiny_top, top, 1.0)), result)
    overflow = ~direct & ~large & (top > limit)
    result = tl.where(overflow, tl.where(tl.where(tiny_bottom, bottom, bh) < 0.0, -INFINITY, INFINITY), result)
    undefined = ~(direct | large | overflow)
    result = tl.where(undefined, float("nan"), result * sign)
    result = tl.where(upper & ~lower, INFINITY, tl.where(lower & ~upper, 0.0, result))
    return tl.where(nan, float("nan"), tl.where(m == 0.0, 1.0, result))
