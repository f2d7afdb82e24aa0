"""Special functions, with the names and the signatures of `scipy.special`; SciPy itself calls them for our arrays.

Element-wise, deferred and fused like the functions of the standard. Arrays of real dtypes go: float32 and float64 are
computed as they are, float16 and bfloat16 in float32, integers and bools count as the default float. Operands
broadcast; in functions of several, all but one may be scalars. TypeError is raised for what is no array or scalar and
for complex dtypes, ValueError where shapes do not broadcast. Special values (zeros, infinities, NaN, poles) are those
of SciPy, except where a docstring says otherwise.

Errors are at most 4 units in the last place, and mostly below 2, unless a docstring says more; `benchmarks/` measures
them against mpmath.
"""

from __future__ import annotations

import builtins
from math import inf, nan
from typing import Any

from nbx_array._array import Array, unary
from nbx_array._elementwise import Operand, exp, isfinite, log, log1p
from nbx_array._elementwise import abs as absolute
from nbx_array._elementwise import sign as sign_of
from nbx_array._expression import describe
from nbx_array._manipulation import broadcast_arrays, squeeze
from nbx_array._operations import apply
from nbx_array._searching import where
from nbx_array._statistical import max as largest
from nbx_array._statistical import sum as total
from nbx_array.kernels.types import is_complex

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "chdtr",
    "chdtrc",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "expit",
    "fdtr",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaincinv",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "poch",
    "rel_entr",
    "riemann_zeta",
    "sinc",
    "softmax",
    "stdtr",
    "xlog1py",
    "xlogy",
    "zeta",
]


def beta(a: Operand, b: Operand, /) -> Array:
    """The beta function Γ(a) Γ(b)/Γ(a + b).

    Infinite where a or b is at a pole of Γ and the quotient has one, too. NaN where an argument is negative and any of
    a, b and a + b exceeds 250 (float32: 60) in size, unless a + b is at least 8 and the negative one within that, or
    one is infinity and the other negative, which makes it infinite.

    >>> xp.special.beta(xp.asarray([2.0, 1e10]), 0.5)
    Array([1.33333333e+00, 1.77245385e-05], device='cpu')
    """
    return apply(Array, "beta", a, b)


def betainc(a: Operand, b: Operand, x: Operand, /) -> Array:
    """The regularized incomplete beta function I_x(a, b), for a and b from 0 on and x from 0 to 1.

    The error is at most 10 units in the last place, and 0.5/b more for small b above x = 0.95, of which little is left.
    Parameters above 10^7 (float32: 10^6) lose digits, since the logarithm of the distribution's density does.

    >>> xp.special.betainc(xp.asarray([2.0, 1e5]), 1e5, 0.5)
    Array([1. , 0.5], device='cpu')
    """
    return apply(Array, "betainc", a, b, x)


def betaln(a: Operand, b: Operand, /) -> Array:
    """log |B(a, b)|, with the domain of `beta`.

    Near its zeros the error is at most 4 units in the last place or 1 eps.

    >>> xp.special.betaln(xp.asarray([2.0, 1e300]), 0.5)
    Array([ 2.87682072e-01, -3.44815399e+02], device='cpu')
    """
    return apply(Array, "betaln", a, b)


def chdtr(v: Operand, x: Operand, /) -> Array:
    """The chi-squared distribution function of v degrees of freedom: P(v/2, x/2).

    >>> xp.special.chdtr(xp.asarray([1.0, 2.0]), 3.0)
    Array([0.91673548, 0.77686984], device='cpu')
    """
    return apply(Array, "chdtr", v, x)


def chdtrc(v: Operand, x: Operand, /) -> Array:
    """The upper tail of the chi-squared distribution of v degrees of freedom: Q(v/2, x/2).

    >>> xp.special.chdtrc(xp.asarray([1.0, 2.0]), 300.0)
    Array([3.29436238e-67, 7.17509597e-66], device='cpu')
    """
    return apply(Array, "chdtrc", v, x)


def digamma(x: Array, /) -> Array:
    """The derivative of log Γ; -inf at 0, NaN at negative whole numbers.

    Between those, where it has zeros, the error is at most 4 units in the last place or 2 eps · log(3 + |x|).

    >>> xp.special.digamma(xp.asarray([1.0, 0.5, 1e300]))
    Array([-5.77215665e-01, -1.96351003e+00,  6.90775528e+02], device='cpu')
    """
    return unary("digamma", x)


def entr(x: Array, /) -> Array:
    """-x log x, a term of Shannon's entropy; 0 at 0, -inf below.

    >>> xp.special.entr(xp.asarray([0.0, 0.5, -1.0]))
    Array([0.        , 0.34657359,       -inf], device='cpu')
    """
    return unary("entr", x)


def erf(x: Array, /) -> Array:
    """The error function 2/√π ∫ exp(-t²) from 0 to x.

    >>> xp.special.erf(xp.asarray([0.0, 0.5, -6.0]))
    Array([ 0.        ,  0.52049988, -1.        ], device='cpu')
    """
    return unary("erf", x)


def erfc(x: Array, /) -> Array:
    """The complement 1 - erf(x), without its cancellation.

    >>> xp.special.erfc(xp.asarray([0.0, 0.5, 20.0]))
    Array([1.00000000e+000, 4.79500122e-001, 5.39586561e-176], device='cpu')
    """
    return unary("erfc", x)


def erfcinv(y: Array, /) -> Array:
    """The inverse of `erfc`; inf at 0, -inf at 2, NaN beyond.

    >>> xp.special.erfcinv(xp.asarray([1.0, 1e-300, 2.0]))
    Array([ 0.        , 26.20946996,        -inf], device='cpu')
    """
    return unary("erfcinv", y)


def erfinv(y: Array, /) -> Array:
    """The inverse of `erf`; infinite at ±1, NaN beyond.

    >>> xp.special.erfinv(xp.asarray([0.0, 0.5, 1.0]))
    Array([0.        , 0.47693628,        inf], device='cpu')
    """
    return unary("erfinv", y)


def expit(x: Array, /) -> Array:
    """The logistic function 1/(1 + e^-x).

    >>> xp.special.expit(xp.asarray([0.0, -800.0, 800.0]))
    Array([0.5, 0. , 1. ], device='cpu')
    """
    return unary("expit", x)


def fdtr(dfn: Operand, dfd: Operand, x: Operand, /) -> Array:
    """Fisher's distribution function of dfn and dfd degrees of freedom.

    NaN where these are not positive and finite. The error is that of `betainc`.

    >>> xp.special.fdtr(xp.asarray([1.0, 10.0]), 5.0, 2.0)
    Array([0.78356277, 0.77002488], device='cpu')
    """
    return apply(Array, "fdtr", dfn, dfd, x)


def gamma(x: Array, /) -> Array:
    """The gamma function; infinite at 0, NaN at negative whole numbers.

    >>> xp.special.gamma(xp.asarray([5.0, 0.5, -1.5]))
    Array([24.        ,  1.77245385,  2.3632718 ], device='cpu')
    """
    return unary("gamma", x)


def gammainc(a: Operand, x: Operand, /) -> Array:
    """The regularized lower incomplete gamma function P(a, x), for a and x from 0 on.

    1 where a = 0 < x, NaN where both are 0 or infinite.

    >>> xp.special.gammainc(xp.asarray([0.5, 1e6]), 1e6)
    Array([1.        , 0.50013298], device='cpu')
    """
    return apply(Array, "gammainc", a, x)


def gammaincc(a: Operand, x: Operand, /) -> Array:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), without its cancellation.

    0 where a = 0 < x, NaN where both are 0 or infinite.

    >>> xp.special.gammaincc(xp.asarray([0.5, 100.0]), 100.0)
    Array([2.08848758e-45, 4.86701202e-01], device='cpu')
    """
    return apply(Array, "gammaincc", a, x)


def gammaincinv(a: Operand, y: Operand, /) -> Array:
    """The inverse of `gammainc` in x: P(a, gammaincinv(a, y)) = y; inf at y = 1.

    The error is at most 4 units in the last place times the condition number min(y, 1 - y)/(x dP/dx), which a below 1
    makes about 1/a. Results below the smallest normal number are less exact.

    >>> xp.special.gammaincinv(xp.asarray([0.5, 100.0]), 0.5)
    Array([ 0.22746821, 99.66686492], device='cpu')
    """
    return apply(Array, "gammaincinv", a, y)


def gammaln(x: Array, /) -> Array:
    """log |Γ(x)|; infinite at 0 and negative whole numbers.

    Between those, where it has zeros, the error is at most 4 units in the last place or 1 eps.

    >>> xp.special.gammaln(xp.asarray([5.0, 0.5, 1e300]))
    Array([3.17805383e+000, 5.72364943e-001, 6.89775528e+302], device='cpu')
    """
    return unary("gammaln", x)


def i0(x: Array, /) -> Array:
    """The modified Bessel function of the first kind of order 0.

    >>> xp.special.i0(xp.asarray([0.0, 1.0, -10.0]))
    Array([1.00000000e+00, 1.26606588e+00, 2.81571663e+03], device='cpu')
    """
    return unary("i0", x)


def i0e(x: Array, /) -> Array:
    """exp(-|x|) times `i0`.

    >>> xp.special.i0e(xp.asarray([0.0, 1.0, 1000.0]))
    Array([1.        , 0.46575961, 0.01261724], device='cpu')
    """
    return unary("i0e", x)


def i1(x: Array, /) -> Array:
    """The modified Bessel function of the first kind of order 1.

    >>> xp.special.i1(xp.asarray([0.0, 1.0, -10.0]))
    Array([ 0.00000000e+00,  5.65159104e-01, -2.67098830e+03], device='cpu')
    """
    return unary("i1", x)


def i1e(x: Array, /) -> Array:
    """exp(-|x|) times `i1`.

    >>> xp.special.i1e(xp.asarray([0.0, 1.0, 1000.0]))
    Array([0.        , 0.20791042, 0.01261093], device='cpu')
    """
    return unary("i1e", x)


def kl_div(x: Operand, y: Operand, /) -> Array:
    """x log(x/y) - x + y, a term of the Kullback-Leibler divergence; y where x = 0 ≤ y, inf where either is negative.

    >>> xp.special.kl_div(xp.asarray([0.5, 0.25]), 0.25)
    Array([0.09657359, 0.        ], device='cpu')
    """
    return apply(Array, "kl_div", x, y)


def log_expit(x: Array, /) -> Array:
    """The logarithm of the logistic function.

    >>> xp.special.log_expit(xp.asarray([0.0, -800.0, 800.0]))
    Array([-6.93147181e-01, -8.00000000e+02,  0.00000000e+00], device='cpu')
    """
    return unary("log_expit", x)


def log_ndtr(x: Array, /) -> Array:
    """The logarithm of `ndtr`, also where that is 0 or 1.

    >>> xp.special.log_ndtr(xp.asarray([0.0, -100.0, 10.0]))
    Array([-6.93147181e-01, -5.00552421e+03, -7.61985302e-24], device='cpu')
    """
    return unary("log_ndtr", x)


def log_softmax(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of `softmax`, also where that is 0 or 1.

    >>> xp.special.log_softmax(xp.asarray([1000.0, 1.0]))
    Array([   0., -999.], device='cpu')
    """
    x = _floating("log_softmax", x)
    top = largest(x, axis=axis, keepdims=True)
    shifted = x - where(isfinite(top), top, 0.0)
    return shifted - log(total(exp(shifted), axis=axis, keepdims=True))


def logit(p: Array, /) -> Array:
    """log(p/(1 - p)), the inverse of `expit`; infinite at 0 and 1, NaN beyond.

    >>> xp.special.logit(xp.asarray([0.5, 0.25, 1.0]))
    Array([ 0.        , -1.09861229,         inf], device='cpu')
    """
    return unary("logit", p)


def logsumexp(
    a: Array,
    axis: int | tuple[int, ...] | None = None,
    b: Operand | None = None,
    keepdims: builtins.bool = False,
    return_sign: builtins.bool = False,
) -> Any:
    """log(Σ b exp(a)) along axes, without overflow on the way.

    a: array of real dtype; b: weights, 1 by default, which broadcast with a; an element whose weight is 0 adds nothing.
    axis: all axes by default; they stay as axes of size 1 with keepdims. A sum of nothing gives -inf, a negative one
    NaN, unless return_sign asks for a pair: the logarithm of the sum's absolute value, and its sign. The error is that
    of the sum: 4 eps · Σ|b exp(a)| / |Σ b exp(a)|, absolute where the result is below 1.

    >>> xp.special.logsumexp(xp.asarray([1000.0, 1000.0]))
    Array(1000.69314718, device='cpu')
    """
    a = _floating("logsumexp", a)
    axis = tuple(range(a.ndim)) if axis is None else axis
    if b is not None:
        a, weight = broadcast_arrays(a, b if isinstance(b, Array) else a * 0.0 + b)
        a = where(weight == 0, -inf, a)
    if a.size == 0:  # a maximum of nothing has no meaning
        result = log(total(exp(a), axis=axis, keepdims=keepdims))
        return (result, sign_of(result)) if return_sign else result
    top = largest(a, axis=axis, keepdims=True)
    finite = isfinite(top)
    terms = exp(a - where(finite, top, 0.0))
    if b is not None:
        terms = where(weight == 0, 0.0, weight * terms)
    # the largest terms apart from the others: log1p keeps the digits of a small rest
    first = a == top
    main = total(where(first, terms, 0.0), axis=axis, keepdims=True)
    rest = total(where(first, 0.0, terms), axis=axis, keepdims=True)
    ratio = where(rest == 0, rest, rest / main)
    usual = log1p(where(ratio < -1, -2 - ratio, ratio)) + log(absolute(main)) + top
    result = where(finite, usual, log(absolute(main + rest)))
    sign = where(finite, sign_of(ratio + 1) * sign_of(main), sign_of(main + rest))
    if not return_sign:
        result = where(sign < 0, nan, result)
    if not keepdims:
        result, sign = squeeze(result, axis=axis), squeeze(sign, axis=axis)
    return (result, sign) if return_sign else result


def ndtr(x: Array, /) -> Array:
    """The standard normal distribution function.

    >>> xp.special.ndtr(xp.asarray([0.0, 1.0, -20.0]))
    Array([5.00000000e-01, 8.41344746e-01, 2.75362412e-89], device='cpu')
    """
    return unary("ndtr", x)


def ndtri(p: Array, /) -> Array:
    """The inverse of `ndtr`: the quantile of the standard normal distribution.

    >>> xp.special.ndtri(xp.asarray([0.5, 0.975, 0.0]))
    Array([0.        , 1.95996398,       -inf], device='cpu')
    """
    return unary("ndtri", p)


def poch(z: Operand, m: Operand, /) -> Array:
    """The rising factorial Γ(z + m)/Γ(z).

    NaN where z or z + m is below -250 (float32: -60), or both exceed it in size and not both are at least 8.

    >>> xp.special.poch(xp.asarray([2.0, 1e10]), 0.5)
    Array([1.32934039e+00, 1.00000000e+05], device='cpu')
    """
    return apply(Array, "poch", z, m)


def rel_entr(x: Operand, y: Operand, /) -> Array:
    """x log(x/y), a term of relative entropy; 0 where x = 0 ≤ y, inf where either is negative.

    >>> xp.special.rel_entr(xp.asarray([0.0, 0.5]), 0.25)
    Array([0.        , 0.34657359], device='cpu')
    """
    return apply(Array, "rel_entr", x, y)


def riemann_zeta(x: Array, /) -> Array:
    """Riemann's zeta function, of numbers below 1, too; infinite at 1. SciPy has it as `zeta` of one argument.

    >>> xp.special.riemann_zeta(xp.asarray([2.0, 0.5, -1.0]))
    Array([ 1.64493407, -1.46035451, -0.08333333], device='cpu')
    """
    return unary("riemann_zeta", x)


def sinc(x: Array, /) -> Array:
    """sin(πx)/(πx), 1 at 0; exactly 0 at the other integers.

    >>> xp.special.sinc(xp.asarray([0.0, 0.5, 3.0]))
    Array([1.        , 0.63661977, 0.        ], device='cpu')
    """
    return unary("sinc", x)


def softmax(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x) / Σ exp(x), the sum along axes (all by default), without overflow on the way.

    >>> xp.special.softmax(xp.asarray([1000.0, 1000.0]))
    Array([0.5, 0.5], device='cpu')
    """
    x = _floating("softmax", x)
    powers = exp(x - largest(x, axis=axis, keepdims=True))
    return powers / total(powers, axis=axis, keepdims=True)


def stdtr(df: Operand, t: Operand, /) -> Array:
    """Student's distribution function of df degrees of freedom; the normal distribution's where df is inf.

    NaN where df is not positive. The error is at most 10 units in the last place.

    >>> xp.special.stdtr(xp.asarray([1.0, 10.0]), -2.0)
    Array([0.14758362, 0.03669402], device='cpu')
    """
    return apply(Array, "stdtr", df, t)


def xlog1py(x: Operand, y: Operand, /) -> Array:
    """x log(1 + y); 0 where x is 0 and y is no NaN.

    >>> xp.special.xlog1py(xp.asarray([0.0, 2.0]), 1e-20)
    Array([0.e+00, 2.e-20], device='cpu')
    """
    return apply(Array, "xlog1py", x, y)


def xlogy(x: Operand, y: Operand, /) -> Array:
    """x log y; 0 where x is 0 and y is no NaN.

    >>> xp.special.xlogy(xp.asarray([0.0, 2.0]), 0.5)
    Array([ 0.        , -1.38629436], device='cpu')
    """
    return apply(Array, "xlogy", x, y)


def zeta(x: Operand, q: Operand | None = None) -> Array:
    """Hurwitz's zeta function Σ (q + k)^-x over k from 0 on, for x > 1; Riemann's, of any x, without q.

    inf where q is 0 or a negative whole number. Below 0 x must be whole, and q above -20000; elsewhere NaN. Terms of
    both signs may cancel there: the error is at most 4 units in the last place, or 4 eps times the largest term.

    >>> xp.special.zeta(xp.asarray([2.0, 3.0]), 0.5)
    Array([4.9348022 , 8.41439832], device='cpu')
    """
    return riemann_zeta(x) if q is None else apply(Array, "zeta", x, q)  # type: ignore[arg-type]


def _floating(name: str, x: Array) -> Array:
    """x as real floating point; integers and bools count as the default float."""
    if not isinstance(x, Array):
        raise TypeError(f"{name}: {describe(x)} is no array; convert it with nbx_array.asarray")
    if is_complex(x.dtype):
        raise TypeError(f"{name} is not defined for dtype {x.dtype}")
    return x + 0.0
