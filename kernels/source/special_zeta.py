"""The zeta functions of Riemann and Hurwitz: the first terms, then the Euler-Maclaurin formula (DLMF 25.11.5)."""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    flip_sign,
    negate,
    pair_add,
    pair_mul,
    pair_mul_float,
    polynomial,
    two_sum,
)
from nbx_array.kernels.source.elementwise import any_lane
from nbx_array.kernels.source.exponential import log, pow
from nbx_array.kernels.source.special_coefficients import ZETA_32, ZETA_64
from nbx_array.kernels.source.special_gamma import (
    NEAR,
    exp_of_pair,
    gamma_near,
    log_gamma_far,
    times_power_of_two,
)
from nbx_array.kernels.source.special_logarithms import sin_cos_pi

LONGEST = tl.constexpr(20000)


@triton.jit
def hurwitz(s, q):
    """Σ (q + k)^-s for s > 1 and q that is no pole: the terms up to q + k = 10 singly."""
    count = 10.0 + tl.where(q < 0.0, negate(tl.floor(q)), 0.0)
    count = tl.where(count < LONGEST, count, LONGEST)
    k = q * 0.0
    total = q * 0.0
    total_low = q * 0.0
    power = negate(s)
    while any_lane(k < count):
        a, a_low = two_sum(q, k)
        p = pow(a, power)
        p = tl.where((a_low == 0.0) | (tl.abs(p) == INFINITY), p, tl.fma(p * power, div(a_low, a), p))
        h, l = two_sum(total, p)
        going = k < count
        total_low = tl.where(going, total_low + l, total_low)
        total = tl.where(going, h, total)
        k += 1.0
    a, a_low = two_sum(q, count)
    integral = pow(a, 1.0 - s)  # far larger than the next terms, which may vanish beside it
    integral = tl.where(a_low == 0.0, integral, tl.fma(integral * (1.0 - s), div(a_low, a), integral))
    r = div(constant(1.0, s), a)
    p = integral * r
    # B_2j/(2j)!
    t = s * (p * r)
    rest = t * (1 / 12)
    step = r * r
    t = t * ((s + 1.0) * (s + 2.0)) * step
    rest += t * -0.001388888888888889
    t = t * ((s + 3.0) * (s + 4.0)) * step
    rest += t * 3.306878306878307e-05
    t = t * ((s + 5.0) * (s + 6.0)) * step
    rest += t * -8.267195767195768e-07
    if s.dtype == tl.float64:
        t = t * ((s + 7.0) * (s + 8.0)) * step
        rest += t * 2.08767569878681e-08
        t = t * ((s + 9.0) * (s + 10.0)) * step
        rest += t * -5.284190138687493e-10
        t = t * ((s + 11.0) * (s + 12.0)) * step
        rest += t * 1.3382536530684679e-11
        t = t * ((s + 13.0) * (s + 14.0)) * step
        rest += t * -3.3896802963225829e-13
        t = t * ((s + 15.0) * (s + 16.0)) * step
        rest += t * 8.586062056277845e-15
        t = t * ((s + 17.0) * (s + 18.0)) * step
        rest += t * -2.174868698558062e-16
    rest += p * 0.5
    rest = tl.where(p > 0.0, rest, 0.0) + div(integral, s - 1.0)
    return tl.where(tl.abs(total) < INFINITY, total + (total_low + rest), total)


@triton.jit
def zeta(x, q):
    """Hurwitz's zeta function of x > 1: infinite at the poles q = 0, -1, …; below 0 of whole numbers x alone."""
    whole = tl.floor(q) == q
    usual = (x > 1.0) & (tl.abs(q) < INFINITY) & ((q > 0.0) | (~whole & (tl.floor(x) == x) & (q > -LONGEST)))
    result = hurwitz(tl.where(usual, x, 2.0), tl.where(usual, q, 1.0))
    limit = tl.where((x > 1.0) & (q == INFINITY), 0.0, float("nan"))
    limit = tl.where((q <= 0.0) & whole & (x > 1.0), INFINITY, limit)
    limit = tl.where((x == 1.0) & (q == q), INFINITY, limit)
    return tl.where(usual, result, limit)


@triton.jit
def riemann_zeta(x):
    """From -1 to 2 a polynomial over x - 1; above the series; below by ζ(x) = 2 (2π)^(x-1) sin(πx/2) Γ(1-x) ζ(1-x)."""
    near = (x >= -1.0) & (x <= 2.0)
    z = tl.where(near, x, 0.0)
    if x.dtype == tl.float32:
        p = polynomial(z - 0.5, ZETA_32)
        least = constant(-70.0, x)
        ln = constant(1.8378770351409912, x)
        ln_low = constant(3.126835323996602e-08, x)
    else:
        p = polynomial(z - 0.5, ZETA_64)
        least = constant(-300.0, x)
        ln = constant(1.8378770664093456, x)
        ln_low = constant(-7.756588316134483e-17, x)
    central = div(p, z - 1.0)
    reflected = x < -1.0
    far = reflected & (x > least)
    y = tl.where(far, x, -2.0)
    t, t_low = two_sum(constant(1.0, x), negate(y))
    series = hurwitz(tl.where(reflected, t, tl.where(x > 2.0, x, 2.0)), z * 0.0 + 1.0)
    # Γ(t) (2π)^-t
    small = t < NEAR
    gh, gl, _ = log_gamma_far(tl.where(small, NEAR, t))
    gl += t_low * log(tl.where(small, NEAR, t) - 0.5)
    eh, el = pair_mul_float(ln, ln_low, t)
    el += ln * t_low
    eh, el = pair_add(negate(eh), negate(el), tl.where(small, 0.0, gh), tl.where(small, 0.0, gl))
    h, l, n = exp_of_pair(eh, el)
    gh, gl = gamma_near(tl.where(small, t, 1.0), tl.where(small, t_low, 0.0))
    h, l = pair_mul(h, l, tl.where(small, gh, 1.0), tl.where(small, gl, 0.0))
    sh, sl, _, _ = sin_cos_pi(y * 0.5)
    h, l = pair_mul(h, l, sh, sl)
    h, _ = pair_mul_float(h, l, series)
    below = times_power_of_two(h, n + 1)
    # beyond, it is infinite, or 0 at the even whole numbers
    sign, _, _, _ = sin_cos_pi(tl.where(reflected & (x > -INFINITY), x * 0.5, 0.0))
    limit = tl.where(sign == 0.0, 0.0, flip_sign(x * 0.0 + INFINITY, sign))
    limit = tl.where(x > -INFINITY, limit, float("nan"))
    below = tl.where(far, below, limit)
    result = tl.where(near, central, tl.where(reflected, below, series))
    return tl.where(x == 1.0, INFINITY, tl.where(x == x, result, x))
