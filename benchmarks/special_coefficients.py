"""Make kernels/source/special_coefficients.py: the polynomials of the special functions, from mpmath.

    python benchmarks/special_coefficients.py > kernels/source/special_coefficients.py

A row of SERIES says which function, divided by its behaviour at the ends, is smooth enough to be one polynomial on an
interval. It is expanded in Chebyshev polynomials, cut where the rest is below 2^-57 (float32: 2^-28) of the smallest
value times the weight with which the polynomial enters the result, and written in powers of the variable, the leading
coefficient first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from mpmath import mp, mpf

PRECISION = {"32": (2.0**-28, np.float32), "64": (2.0**-57, np.float64)}
NODES = 80


class Series(NamedTuple):
    name: str
    says: str
    function: Callable[[mpf], mpf]
    low: float
    high: float
    weight: float = 1.0  # how much of the result the polynomial makes


def from_unit(t: mpf, k: float) -> mpf:
    """x of t = (x - k)/(x + k)."""
    return k * (1 + t) / (1 - t)


def erfcx(x: mpf) -> mpf:
    if x < 300:
        return mp.exp(x * x) * mp.erfc(x)
    return 1 / (x * mp.sqrt(mp.pi)) * mp.nsum(lambda k: (-1) ** int(k) * mp.fac2(2 * k - 1) / (2 * x * x) ** k, [0, 12])


def erfcinv(s: mpf) -> mpf:
    """x with erfc(x) = exp(-s²)."""

    def rest(x: mpf) -> mpf:
        return mp.log(erfcx(x)) - x * x + s * s

    return mp.findroot(rest, s - mp.log(1 + 2 * s) / (2 * s) if s > 1 else s / 2)


def erfinv_over_y(w: mpf) -> mpf:
    """erfinv(y)/y for y = √(1 - exp(-w))."""
    y = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(y) / y


def stirling(x: mpf) -> mpf:
    return mp.loggamma(x) - (x - mpf(0.5)) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


def near_zero(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """The function with a zero argument moved a little."""
    return lambda x: function(x if abs(x) > mpf(10) ** -25 else mpf(10) ** -25)


def root_of_digamma() -> mpf:
    return mp.findroot(mp.digamma, mpf(1.46163))


def temme(orders: int, terms: int = 120) -> list[list[mpf]]:
    """Coefficients in η of c_k, k < orders: DLMF 8.12.10-11, for the incomplete gamma function of large a, where
    η²/2 = μ - log(1 + μ)."""
    mu = [mpf(0), mpf(1)]  # μ μ' = η (1 + μ)
    for n in range(2, terms + 2 * orders + 3):
        mu.append((mu[n - 1] - mp.fsum(i * mu[i] * mu[n + 1 - i] for i in range(2, n))) / (n + 1))
    inverse = [mpf(1)]  # η/μ
    for n in range(1, len(mu) - 1):
        inverse.append(-mp.fsum(mu[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    # Γ(z) e^z z^(1/2 - z)/√(2π) = Σ g_k z^-k
    log_gamma = [mpf(0)] * (orders + 1)
    for k in range(1, orders + 1, 2):
        log_gamma[k] = mp.bernoulli(k + 1) / (k * (k + 1))
    g = [mpf(1)]
    for n in range(1, orders + 1):
        g.append(mp.fsum(k * log_gamma[k] * g[n - k] for k in range(1, n + 1)) / n)
    c = [inverse[1:]]
    for k in range(1, orders):
        before = c[-1]
        c.append([(n + 2) * before[n + 2] + (-1) ** k * g[k] * inverse[n + 1] for n in range(len(before) - 2)])
    return c


ONLY_32 = ("ERFINV_INNER", "ERFINV_OUTER")
TEMME_ORDERS = {"32": 4, "64": 12}
TEMME_FROM = 20
"""The least a of the uniform expansion, and how many orders it takes."""

mp.prec = 200
SERIES = [
    Series(
        "SINC",
        "(sin(πx)/(πx) - 1)/x² + 3/2 in x², |x| ≤ 1/2",
        near_zero(lambda z: (mp.sincpi(mp.sqrt(z)) - 1) / z + 1.5),
        0,
        0.25,
        0.25,
    ),
    Series(
        "ERF",
        "erf(x)/x - 1 in x², |x| ≤ 1",
        near_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1),
        0,
        1,
        0.13,
    ),
    Series("LOG_ERFC", "log erfc(x), 1 ≤ x ≤ 6", lambda x: mp.log(mp.erfc(x)), 1, 6, 0.15),
    Series(
        "ERFCX",
        "(1 + x) exp(x²) erfc(x) - 3/4 in t = 1/(1 + x) - 1/2, x ≥ 0",
        lambda t: erfcx(1 / (t + 0.5) - 1) / (t + 0.5) - 0.75,
        -0.5,
        1 - 0.5,
        0.5,
    ),
    Series(
        "ERFINV",
        "erfinv(y)/y - 1 in y², |y| ≤ 0.6",
        near_zero(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z) - 1),
        0,
        0.36,
        0.1,
    ),
    Series("ERFINV_INNER", "erfinv(y)/y in w = -log(1 - y²) ≤ 5", near_zero(erfinv_over_y), 0, 5, 0.5),
    Series("ERFINV_OUTER", "erfinv(y)/y in w - 10, 5 ≤ w ≤ 16", lambda t: erfinv_over_y(t + 10), -5, 6, 0.25),
    Series(
        "ERFCINV",
        "1 - erfcinv(q)/s in t = (s - 4.75)/(s + 4.75) with s = √(-log q), q ≤ 0.4",
        lambda t: 1 - erfcinv(from_unit(t, 4.75)) / from_unit(t, 4.75),
        -0.665,
        0.704,
        0.4,
    ),
    Series(
        "RECIPROCAL_GAMMA",
        "(1/Γ(2 + f) - 1)/f, |f| ≤ 1/2",
        near_zero(lambda f: (mp.rgamma(2 + f) - 1) / f),
        -0.5,
        0.5,
        0.3,
    ),
    Series("LOG_GAMMA", "log Γ(2 + f)/f, |f| ≤ 3/4", near_zero(lambda f: mp.loggamma(2 + f) / f), -0.75, 0.75, 4),
    Series(
        "STIRLING",
        "x (log Γ(x) - (x - 1/2) log x + x - log(2π)/2) in 1/x², x ≥ 11/4",
        near_zero(lambda z: stirling(1 / mp.sqrt(z)) / mp.sqrt(z)),
        0,
        16 / 121,
        0.4,
    ),
    Series(
        "DIGAMMA",
        "ψ(x)/(x - x₀) in x - 3/2, x₀ the root, 1 ≤ x ≤ 2",
        lambda f: mp.digamma(f + 1.5) / (f + 1.5 - root_of_digamma()),
        -0.5,
        0.5,
    ),
    Series(
        "DIGAMMA_FAR",
        "x² (log x - 1/(2x) - ψ(x)) in 1/x², x ≥ 2",
        near_zero(lambda z: (-mp.log(z) / 2 - mp.sqrt(z) / 2 - mp.digamma(1 / mp.sqrt(z))) / z),
        0,
        1 / 4,
        0.25,
    ),
    Series(
        "ZETA",
        "(s - 1) ζ(s) in s - 1/2, -1 ≤ s ≤ 2",
        lambda t: (t - 0.5) * mp.zeta(t + 0.5) if abs(t - 0.5) > mpf(10) ** -30 else mpf(1),
        -1.5,
        1.5,
        2,
    ),
    Series(
        "I0", "(I₀(x) - 1)/z in z = x²/4, x ≤ 4", near_zero(lambda z: (mp.besseli(0, 2 * mp.sqrt(z)) - 1) / z), 0, 4
    ),
    Series(
        "I1",
        "(2 I₁(x)/x - 1)/z in z = x²/4, x ≤ 4",
        near_zero(lambda z: (mp.besseli(1, 2 * mp.sqrt(z)) / mp.sqrt(z) - 1) / z),
        0,
        4,
    ),
    *(
        Series(
            f"TEMME_{k}",
            f"c_{k}(η) of the incomplete gamma function's uniform expansion, |η| ≤ 1",
            lambda eta, c=c: mp.polyval(c[::-1], eta),
            -1,
            1,
            0.5 * float(TEMME_FROM) ** -k,
        )
        for k, c in enumerate(temme(max(TEMME_ORDERS.values())))
    ),
    *(
        Series(
            f"I{k}_FAR",
            f"√x e^-x I{'₀₁'[k]}(x) in t = 8/x - 1, x ≥ 4",
            lambda t, k=k: (
                mp.sqrt(8 / (1 + t)) * mp.exp(-8 / (1 + t)) * mp.besseli(k, 8 / (1 + t))
                if t > -0.99
                else far_bessel(k, 8 / (1 + t))
            ),
            -1,
            1,
        )
        for k in (0, 1)
    ),
]


def far_bessel(k: int, x: mpf) -> mpf:
    """√x e^-x I_k(x) by its asymptotic series, for x > 800."""
    term = total = 1 / mp.sqrt(2 * mp.pi)
    for j in range(1, 40):
        term *= -(4 * k * k - (2 * j - 1) ** 2) / (8 * j * x)
        total += term
    return total


def chebyshev(series: Series) -> list[mpf]:
    """Coefficients of the function's Chebyshev polynomials over its interval."""
    middle, half = (mpf(series.high) + series.low) / 2, (mpf(series.high) - series.low) / 2
    angles = [mp.pi * (k + mpf(0.5)) / NODES for k in range(NODES)]
    values = [series.function(middle + half * mp.cos(a)) for a in angles]
    return [
        mpf(2 if j else 1) / NODES * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True))
        for j in range(NODES)
    ]


def powers(series: Series, coefficients: list[mpf]) -> list[mpf]:
    """The same polynomial in powers of the variable, the leading coefficient first."""
    middle, half = (mpf(series.high) + series.low) / 2, (mpf(series.high) - series.low) / 2
    line = [-middle / half, 1 / half]

    def times(p: list[mpf]) -> list[mpf]:
        out = [mpf(0)] * (len(p) + 1)
        for i, c in enumerate(p):
            out[i] += line[0] * c
            out[i + 1] += line[1] * c
        return out

    before, now = [mpf(1)], list(line)
    total = [mpf(0)] * max(len(coefficients), 2)
    for j, c in enumerate(coefficients):
        for i, p in enumerate(before):
            total[i] += c * p
        after = [2 * p for p in times(now)]
        for i, p in enumerate(before):
            after[i] -= p
        before, now = now, after
        assert j < NODES
    return total[::-1]


def main() -> None:
    print('"""Polynomials of the special functions, the leading coefficient first.')
    print()
    print('Made by benchmarks/special_coefficients.py, which says how; not to be edited."""')
    print()
    print("import triton.language as tl")
    root = root_of_digamma()
    for bits, (_, dtype) in PRECISION.items():
        high = mpf(float(dtype(root)))
        low = mpf(float(dtype(root - high)))
        print(f"\nDIGAMMA_ROOT_{bits} = tl.constexpr({float(high)!r})")
        print(f"DIGAMMA_ROOT_LOW_{bits} = tl.constexpr({float(low)!r})")
    for series in SERIES:
        coefficients = chebyshev(series)
        print(f"\n# {series.says}")
        for bits, (tolerance, dtype) in PRECISION.items():
            if series.name.startswith("TEMME") and int(series.name[6:]) >= TEMME_ORDERS[bits]:
                continue
            if bits == "64" and series.name in ONLY_32:
                continue
            count = NODES
            rest = mpf(0)
            while count > 2 and rest + abs(coefficients[count - 1]) < tolerance / series.weight * (
                1 if series.weight != 1 else min(abs(c) for c in coefficients[:1])
            ):
                count -= 1
                rest += abs(coefficients[count])
            listed = [float(dtype(float(c))) for c in powers(series, coefficients[:count])]
            print(f"{series.name}_{bits} = tl.constexpr(\n    (")
            for c in listed:
                print(f"        {c!r},")
            print("    )\n)")


if __name__ == "__main__":
    main()
