"""Modified Bessel functions of the first kind of order 0 and 1, also times e^-|x|: i0, i0e, i1, i1e.

Up to 4 polynomials in x², beyond e^x/√x times polynomials in 1/x.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import div, flip_sign, negate, polynomial, power_of_two, sqrt
from nbx_array.kernels.source.exponential import exp
from nbx_array.kernels.source.pairs import exp_pair
from nbx_array.kernels.source.special_coefficients import (
    I0_32,
    I0_64,
    I0_FAR_32,
    I0_FAR_64,
    I1_32,
    I1_64,
    I1_FAR_32,
    I1_FAR_64,
)


@triton.jit
def near(a, order: tl.constexpr):
    """I(a) for 0 ≤ a ≤ 4."""
    z = (a * 0.5) * (a * 0.5)
    if order == 0:
        if a.dtype == tl.float32:
            return z * polynomial(z, I0_32) + 1.0
        else:
            return z * polynomial(z, I0_64) + 1.0
    else:
        half = a * 0.5
        if a.dtype == tl.float32:
            return tl.fma(half * z, polynomial(z, I1_32), half)
        else:
            return tl.fma(half * z, polynomial(z, I1_64), half)


@triton.jit
def far(a, order: tl.constexpr):
    """e^-a I(a) for a ≥ 4."""
    t = div(a * 0.0 + 8.0, a) - 1.0
    if order == 0:
        if a.dtype == tl.float32:
            p = polynomial(t, I0_FAR_32)
        else:
            p = polynomial(t, I0_FAR_64)
    else:
        if a.dtype == tl.float32:
            p = polynomial(t, I1_FAR_32)
        else:
            p = polynomial(t, I1_FAR_64)
    return div(p, sqrt(a))


@triton.jit
def bessel(x, order: tl.constexpr):
    a = tl.abs(x)
    small = a <= 4.0
    # beyond, it is infinite; its exponential is so before
    if x.dtype == tl.float32:
        b = tl.where(a > 100.0, 100.0, a)
    else:
        b = tl.where(a > 800.0, 800.0, a)
    h, l, n = exp_pair(b)
    half = n >> 1
    large = far(tl.where(small, 4.0, b), order) * (h + l) * power_of_two(half, x) * power_of_two(n - half, x)
    return tl.where(small, near(tl.where(small, a, 4.0), order), large)


@triton.jit
def scaled_bessel(x, order: tl.constexpr):
    a = tl.abs(x)
    small = a <= 4.0
    inner = near(tl.where(small, a, 4.0), order) * exp(negate(tl.where(small, a, 4.0)))
    return tl.where(small, inner, far(tl.where(small, 4.0, a), order))


@triton.jit
def i0(x):
    return bessel(x, 0)


@triton.jit
def i0e(x):
    return tl.where(tl.abs(x) == float("inf"), 0.0, scaled_bessel(x, 0))


@triton.jit
def i1(x):
    return flip_sign(bessel(x, 1), x)


@triton.jit
def i1e(x):
    return flip_sign(tl.where(tl.abs(x) == float("inf"), 0.0, scaled_bessel(x, 1)), x)
