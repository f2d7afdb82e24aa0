"""Modified Bessel functions of the first kind of order 0 and 1, also times e^-|x|: i0, i0e, i1, i1e.

Up to 4 polynomials in x², beyond e^x/√x times polynomials in 1/x.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import constant, flip_sign, negate, polynomial, power_of_two, quick_rsqrt
from nbx_array.kernels.source.exponential import exp_tail, reduce_by_ln2
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
    w = quick_rsqrt(a)
    t = tl.fma(w * 8.0, w, constant(-1.0, a))
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
    return p * w


@triton.jit
def times_exp(factor, x):
    """(h, n) with factor · e^x = h · 2^n."""
    n, r, _ = reduce_by_ln2(x)
    return tl.fma(factor, tl.fma(exp_tail(r), r * r, r), factor), n


@triton.jit
def bessel(x, order: tl.constexpr):
    a = tl.abs(x)
    # beyond, it is infinite
    if x.dtype == tl.float32:
        b = tl.where(a > 100.0, 100.0, a)
    else:
        b = tl.where(a > 720.0, 720.0, a)
    large, n = times_exp(far(b, order), b)
    # 2^n itself may be infinite where the result is not
    return tl.where(a <= 4.0, near(a, order), large * power_of_two(n - 64, x) * 18446744073709551616.0)


@triton.jit
def scaled_bessel(x, order: tl.constexpr):
    a = tl.abs(x)
    inner, n = times_exp(near(a, order), negate(tl.where(a > 4.0, 4.0, a)))
    return tl.where(a <= 4.0, inner * power_of_two(n, x), far(a, order))


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
