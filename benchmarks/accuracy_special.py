"""The largest error of every special function, in units in the last place, against mpmath.

    python benchmarks/accuracy_special.py [--device cuda:0] [--count 2000] [--seed 0] [--output FILE] [name ...]

prints a table as accuracy.py does, SciPy's errors at the same points beside ours. A function is a row of FUNCTIONS;
tests hold its bound. Where a unit is given, the condition of the function is unbounded, and it says what the error is
measured in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import Format, Function, Peers, anywhere, around_one, run
from mpmath import mp, mpf
from special_coefficients import erfcinv as erfcinv_of_root
from special_coefficients import far_bessel

# ------------------------------------------------------------------------------------------------------- references


def xlogy(x: mpf, y: mpf) -> mpf:
    return x * mp.log(y)


def erfc(x: mpf) -> mpf:
    return mp.erfc(min(max(x, -(10**4)), 10**4))  # beyond, it is 2 or less than the smallest number


def erfcinv(q: mpf) -> mpf:
    if q > 1:
        return -erfcinv(2 - q)
    return mp.erfinv(1 - q) if q > 0.1 else erfcinv_of_root(mp.sqrt(-mp.log(q)))


def log_ndtr(x: mpf) -> mpf:
    if x > -1000:
        return mp.log(erfc(-x / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-erfc(x / mp.sqrt(2)) / 2)
    series = sum((-1) ** k * mp.fac2(2 * k - 1) / x ** (2 * k) for k in range(1, 9))
    return -x * x / 2 - mp.log(-x * mp.sqrt(2 * mp.pi)) + mp.log1p(series)


def bessel(order: int, x: mpf) -> mpf:
    return mp.besseli(order, min(max(x, -2000), 2000))  # overflows before


def scaled_bessel(order: int, x: mpf) -> mpf:
    a = abs(x)
    value = far_bessel(order, a) / mp.sqrt(a) if a > 1000 else mp.exp(-a) * mp.besseli(order, a)
    return -value if order and x < 0 else value


# ----------------------------------------------------------------------------------------------------- hard arguments


def around_half(form: Format) -> list[mpf]:
    return [mpf(0.5) + s * mpf(2) ** -k for k in range(2, form.precision) for s in (1, -1)]


def around_bounds(*bounds: float) -> Callable[[Format], list[mpf]]:
    """Where a function goes over to another expression."""
    return lambda form: [s * mpf(bound) for bound in bounds for s in (1, -1)]


def around_zero_and_two(form: Format) -> list[mpf]:
    small = [mpf(2) ** k for k in range(form.least - form.precision + 1, 0, 7)]
    return [*small, *(2 - x for x in small if x > mpf(2) ** -form.precision)]


def equal_or_near(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    """Positive numbers, the second near the first or anywhere."""
    x = np.exp2(rng.uniform(form.least, form.greatest, n))
    y = x * (1 + rng.standard_normal(n) * np.exp2(-rng.uniform(0, form.precision, n)))
    y[::3] = np.exp2(rng.uniform(form.least, form.greatest, y[::3].size))
    x[::5] = rng.uniform(0, 3, x[::5].size)
    return x, np.abs(y)


def weights(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    """Numbers of any size beside numbers near 0, 1 and anywhere."""
    x = rng.standard_normal(n) * np.exp2(rng.uniform(-30, 30, n))
    y = np.abs(rng.standard_normal(n)) * np.exp2(rng.uniform(-form.precision, 10, n))
    y[::3] = 1 + rng.standard_normal(y[::3].size) * np.exp2(-rng.uniform(1, form.precision, y[::3].size))
    return x, np.abs(y)


def no_pole(limit: float) -> Any:
    """Where a function of the gamma family is finite, and quick to compute."""
    return lambda x: (x > 0) | ((x != np.floor(x)) & (x > -limit))


def log_gamma(x: mpf) -> mpf:
    return mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))


def wide(function: Any) -> Any:
    """The function with enough digits for gamma functions of large numbers to cancel."""

    def call(*x: mpf) -> mpf:
        with mp.workprec(700):
            return function(*x)

    return call


def log_beta(a: mpf, b: mpf) -> mpf:
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


def beta(a: mpf, b: mpf) -> mpf:
    if min(a, b) > 0:
        return mp.exp(log_beta(a, b))
    return mp.gammaprod([a, b], [a + b])


def poch(a: mpf, m: mpf) -> mpf:
    if min(a, a + m) > 0:
        return mp.exp(mp.loggamma(a + m) - mp.loggamma(a))
    return mp.gammaprod([a + m], [a])


def gammainc(a: mpf, x: mpf) -> mpf:
    return mp.gammainc(a, 0, x, regularized=True)


def gammaincc(a: mpf, x: mpf) -> mpf:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def betainc(a: mpf, b: mpf, x: mpf) -> mpf:
    """By the hypergeometric series of positive terms, of the tail where it converges faster."""
    with mp.workprec(600):
        if x > 0.5:
            upper = 1 - betainc(b, a, 1 - x)
            if upper > mpf(2) ** -300:
                return upper
        total = term = mpf(1)
        n = 0
        while term > total * mpf(2) ** -400:
            term *= (a + b + n) * x / (a + 1 + n)
            total += term
            n += 1
        return mp.exp(a * mp.log(x) + b * mp.log1p(-x) - log_beta(a, b)) / a * total


def stdtr(df: mpf, t: mpf) -> mpf:
    y = t * t / (df + t * t)
    half = mpf(0.5)
    tail = (betainc(df / 2, half, 1 - y) if y > half else 1 - betainc(half, df / 2, y)) / 2
    return tail if t < 0 else 1 - tail


def fdtr(dfn: mpf, dfd: mpf, x: mpf) -> mpf:
    return betainc(dfn / 2, dfd / 2, dfn * x / (dfd + dfn * x))


def near_one(a: mpf, b: mpf, x: mpf) -> mpf:
    """The size whose eps is the unit of an incomplete beta function of small b above the mean or 0.95: that of 1."""
    return mpf(0.5) if b < 1 and x > min(a / (a + b), mpf(0.95)) else mpf(0)


def gammaincinv(a: mpf, p: mpf) -> mpf:
    """By Newton's method in log x for the smaller tail's logarithm, which is concave."""
    lower = p <= 0.5
    u = mp.log(a) if a > 1 else (mp.log(p) + mp.loggamma(1 + a)) / a
    for _ in range(200):
        x = mp.exp(u)
        tail, target = (gammainc(a, x), p) if lower else (gammaincc(a, x), 1 - p)
        slope = mp.exp(a * u - x - mp.loggamma(a)) / tail
        step = mp.log(tail / target) / (-slope if lower else slope)
        u += max(min(step, 3), -30)
        if abs(step) < mpf(2) ** -70:
            break
    return mp.exp(u)


def inverse_unit(form: Format, a: mpf, p: mpf) -> mpf:
    """The result's unit times the condition number, where that is above 1."""
    x = gammaincinv(a, p)
    density = mp.exp(a * mp.log(x) - x - mp.loggamma(a))
    return form.ulp(x) * max(1, min(p, 1 - p) / density)


def shapes_and_probabilities(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    p = rng.random(n)
    p[::4] = np.exp2(-rng.uniform(0, 80, p[::4].size))
    return np.exp2(rng.uniform(-4, 9, n)), p


def beside(function: Any, size: Any) -> Any:
    """The unit of a function whose zeros its condition forbids to find: that of the result, or eps times a size."""
    return lambda form, *x: max(form.ulp(function(*x)), mpf(2) ** (1 - form.precision) * size(*x))


def positive(*x: np.ndarray) -> Any:
    return np.logical_and.reduce([a > 0 for a in x])


def two_sizes(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    """Positive numbers of very different sizes, of moderate ones, and both near zero and negative."""
    a, b = np.exp2(rng.uniform(-12, 40, n)), np.exp2(rng.uniform(-12, 9, n))
    a[::3], b[::3] = rng.uniform(0, 60, a[::3].size), rng.uniform(0, 60, a[::3].size)
    a[::4], b[::4] = rng.uniform(-20, 20, a[::4].size), rng.uniform(-20, 20, a[::4].size)
    return (a, b) if rng.random() < 0.5 else (b, a)


def finite_beta(a: np.ndarray, b: np.ndarray) -> Any:
    """Where B(a, b) is finite and no zero, and quick to compute."""
    inside = (np.abs(a) < 1e15) & (np.abs(b) < 1e15)
    negative = (np.minimum(a, b) < 0) & (np.maximum(np.abs(a), np.abs(b)) > 30)
    return inside & ~negative & no_pole(31)(a) & no_pole(31)(b) & no_pole(61)(a + b) & (a != 0) & (b != 0)


def finite_poch(a: np.ndarray, m: np.ndarray) -> Any:
    inside = (np.abs(a) < 1e15) & (np.abs(m) < 1e15) & (a != 0) & (a + m != 0) & (np.abs(m) > 1e-30)
    return inside & no_pole(31)(a) & no_pole(31)(a + m)


def of_one_scale(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    """a of any moderate size and x near it, within some deviations or some factors."""
    a = np.exp2(rng.uniform(-10, 10, n))
    a[::2] = rng.uniform(0, 40, a[::2].size)
    x = np.abs(a + rng.standard_normal(n) * 3 * np.sqrt(a))
    x[::3] = a[::3] * np.exp2(rng.uniform(-3, 3, x[::3].size))
    x[::5] = np.exp2(rng.uniform(-20, 5, x[::5].size))
    return a, x


def moderate(a: np.ndarray, x: np.ndarray) -> Any:
    """What mpmath can compute in reasonable time."""
    return (a > 1e-12) & (x > 1e-30) & (a < 1e4) & (x < 1e4)


def three_of_one_scale(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any, Any]:
    """Parameters of any moderate size, and x anywhere or within some deviations of the mean."""
    a, b = np.exp2(rng.uniform(-8, 9, n)), np.exp2(rng.uniform(-8, 9, n))
    mean = a / (a + b)
    near = mean + rng.standard_normal(n) * 2 * np.sqrt(mean * (1 - mean) / (a + b + 1))
    return a, b, np.where((near > 0) & (near < 1) & (rng.random(n) < 0.6), near, rng.random(n))


def degrees(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    return np.exp2(rng.uniform(-6, 9, n)), rng.standard_normal(n) * np.exp2(rng.uniform(-12, 6, n))


def two_degrees(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any, Any]:
    return np.exp2(rng.uniform(-6, 9, n)), np.exp2(rng.uniform(-6, 9, n)), np.exp2(rng.standard_normal(n) * 2)


def hurwitz_zeta(s: mpf, q: mpf) -> mpf:
    """Hurwitz's zeta function by the Euler-Maclaurin formula (DLMF 25.11.5), whose rest is below 1e-50 of it.

    mpmath's own at s = 63.3, q = 2,719 has 9 right digits of 50, and 11 of 200."""
    count = max(0, int(mp.ceil(s + 60 - q)))
    end = q + count
    total = mp.fsum((q + k) ** -s for k in range(count)) + end ** (1 - s) / (s - 1) + end**-s / 2
    term = s * end ** (-s - 1)
    for j in range(1, 41):
        total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * term
        term *= (s + 2 * j - 1) * (s + 2 * j) / end**2
    return total


def zeta_arguments(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    s = 1 + np.exp2(rng.uniform(-12, 6, n))
    q = np.exp2(rng.uniform(-7, 12, n))
    s[::6], q[::6] = rng.integers(2, 9, s[::6].size), -rng.uniform(0, 20, s[::6].size)
    return s, q


def around_integers(form: Format) -> list[mpf]:
    return [k + s * mpf(2) ** -j for k in range(-12, 12) for j in (3, 9, 17, form.precision - 4) for s in (1, -1)]


GAMMA = ((-3, 3), (-9, 9), (-40, 36), (-190, 172))
NORMAL = ((-1, 1), (-6, 6), (-40, 40))

FUNCTIONS = [
    Function("expit", lambda x: 1 / (1 + mp.exp(-x)), anywhere, ((-2, 2), (-100, 40), (-745, 40)), bound=4),
    Function(
        "logit",
        lambda p: mp.log(p) - mp.log1p(-p),
        lambda p: (p > 0) & (p < 1),
        ((0, 1), (0.2, 0.7)),
        around_half,
        bound=4,
    ),
    Function("log_expit", lambda x: -mp.log1p(mp.exp(-x)), anywhere, ((-2, 2), (-100, 100)), bound=4),
    Function("xlogy", xlogy, lambda x, y: (x != 0) & (y > 0), ((0, 4),), pairs=weights, bound=4),
    Function(
        "xlog1py", lambda x, y: x * mp.log1p(y), lambda x, y: (x != 0) & (y > -1), ((-1, 4),), pairs=weights, bound=4
    ),
    Function("entr", lambda x: -xlogy(x, x), positive, ((0, 1), (0, 10)), around_one, bound=4),
    Function("rel_entr", lambda x, y: xlogy(x, x / y), positive, ((0, 3),), pairs=equal_or_near, bound=4),
    Function("kl_div", lambda x, y: xlogy(x, x / y) - x + y, positive, ((0, 3),), pairs=equal_or_near, bound=4),
    Function("sinc", mp.sincpi, anywhere, ((-3, 3), (-1000, 1000)), bound=4),
    Function("erf", mp.erf, lambda x: np.abs(x) < 1e4, ((-1, 1), (-6, 6)), bound=4),
    Function("erfc", erfc, anywhere, ((-1, 1), (-6, 6), (0, 28)), bound=4),
    Function("erfinv", mp.erfinv, lambda y: np.abs(y) < 1, ((-1, 1), (0.4, 0.7)), around_one, bound=4),
    Function("erfcinv", erfcinv, lambda q: (q > 0) & (q < 2), ((0, 2), (0, 0.6)), around_zero_and_two, bound=4),
    Function("ndtr", lambda x: erfc(-x / mp.sqrt(2)) / 2, anywhere, NORMAL, around_bounds(0.7), bound=4),
    Function(
        "ndtri",
        lambda p: -mp.sqrt(2) * erfcinv(2 * p),
        lambda p: (p > 0) & (p < 1),
        ((0, 1), (0, 0.4)),
        around_zero_and_two,
        bound=4,
    ),
    Function(
        "log_ndtr",
        log_ndtr,
        lambda x: x < 40,
        NORMAL,
        lambda form: [*around_bounds(1e-9)(form), -mpf(1.2) * mpf(2) ** ((form.greatest + 1) // 2)],  # its half fits
        bound=4,
    ),
    Function("gamma", mp.gamma, lambda x: no_pole(300)(x) & (x < 300), GAMMA, around_integers, bound=4),
    Function(
        "gammaln",
        log_gamma,
        no_pole(1e4),
        (*GAMMA, (0.5, 2.5), (0, 1e6)),
        lambda form: around_integers(form) + around_bounds(0.25, 1.25, 2.75)(form),
        unit=beside(log_gamma, lambda x: 0 if x > 0 else mpf(0.25)),
        bound=4,
    ),
    Function(
        "digamma",
        mp.digamma,
        no_pole(1e4),
        (*GAMMA, (1, 2), (0, 1e6)),
        around_integers,
        unit=beside(mp.digamma, lambda x: 0 if x > 0 else mpf(0.5) * mp.log(3 - x)),
        bound=4,
    ),
    Function("beta", wide(beta), finite_beta, ((-8, 8),), pairs=two_sizes, bound=4),
    Function(
        "betaln",
        wide(lambda a, b: log_beta(a, b)),
        finite_beta,
        ((-8, 8),),
        pairs=two_sizes,
        unit=beside(wide(log_beta), lambda a, b: mpf(0.25)),
        bound=4,
    ),
    Function("poch", wide(poch), finite_poch, ((-8, 8),), pairs=two_sizes, bound=4),
    Function("gammainc", gammainc, moderate, ((0, 20),), pairs=of_one_scale, bound=4),
    Function("gammaincc", gammaincc, moderate, ((0, 20),), pairs=of_one_scale, bound=4),
    Function(
        "gammaincinv",
        gammaincinv,
        lambda a, p: (a > 0.03) & (a < 1e3) & (p > 1e-25) & (p < 1) & (np.log2(p) > -120 * a),  # normal results
        ((0, 1),),
        pairs=shapes_and_probabilities,
        unit=inverse_unit,
        bound=4,
    ),
    Function("chdtr", lambda v, x: gammainc(v / 2, x / 2), moderate, ((0, 20),), pairs=of_one_scale, bound=4),
    Function("chdtrc", lambda v, x: gammaincc(v / 2, x / 2), moderate, ((0, 20),), pairs=of_one_scale, bound=4),
    Function(
        "betainc",
        betainc,
        lambda a, b, x: (a > 1e-6) & (b > 1e-6) & (a < 1e3) & (b < 1e3) & (x > 1e-30) & (x < 1),
        ((0, 1),),
        pairs=three_of_one_scale,
        unit=beside(betainc, lambda a, b, x: near_one(a, b, x)),
        bound=10,
    ),
    Function(
        "stdtr",
        stdtr,
        lambda df, t: (df > 1e-3) & (df < 1e3) & (np.abs(t) < 1e5) & (np.abs(t) > 1e-9),
        ((0, 4),),
        pairs=degrees,
        bound=10,
    ),
    Function(
        "fdtr",
        fdtr,
        lambda n, m, x: (n > 1e-3) & (m > 1e-3) & (n < 1e3) & (m < 1e3) & (x > 1e-9) & (x < 1e4),
        ((0, 4),),
        pairs=two_degrees,
        unit=beside(fdtr, lambda n, m, x: near_one(n / 2, m / 2, n * x / (m + n * x))),
        bound=10,
    ),
    Function(
        "zeta",
        wide(hurwitz_zeta),
        lambda s, q: (
            (s > 1) & (s < 200) & (q < 1e5) & ((q > 1e-3) | ((s == np.floor(s)) & (q != np.floor(q)) & (q > -30)))
        ),
        ((1, 9),),
        pairs=zeta_arguments,
        unit=beside(wide(hurwitz_zeta), lambda s, q: 0 if q > 0 else min(q - mp.floor(q), mp.ceil(q) - q) ** -s),
        bound=4,
    ),
    Function(
        "riemann_zeta",
        mp.zeta,
        lambda s: (s > -65) & (s < 300) & (s != 1) & ((s > -2) | (s % 2 != 0)),
        ((-1, 2), (-9, 9), (-65, 60)),
        bound=4,
    ),
    Function("i0", lambda x: bessel(0, x), anywhere, ((-5, 5), (-100, 100), (690, 715)), bound=4),
    Function("i0e", lambda x: scaled_bessel(0, x), anywhere, ((-5, 5), (-100, 100)), bound=4),
    Function("i1", lambda x: bessel(1, x), anywhere, ((-5, 5), (-100, 100), (690, 715)), bound=4),
    Function("i1e", lambda x: scaled_bessel(1, x), anywhere, ((-5, 5), (-100, 100)), bound=4),
]


def main() -> None:
    import scipy.special

    import nbx_array as xp

    scipy.special.riemann_zeta = scipy.special.zeta  # of one argument
    peers = Peers(xp.special, scipy.special, "SciPy", ("float32", "float64"))
    says = (
        "Of gammaln, digamma and betaln near their zeros, of betainc and fdtr with b < 1 above the mean, of zeta "
        "with q < 0, and of gammaincinv the unit is larger, as their docstrings say."
    )
    run(FUNCTIONS, peers, "accuracy_special.py", "Largest errors of special functions", says, __doc__ or "")


if __name__ == "__main__":
    main()
