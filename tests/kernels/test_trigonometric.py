"""Trigonometric functions against mpmath: multiples of π/2, huge arguments, the hardest known ones, quotients at the
limits; and that an element's bits do not depend on its neighbours.

Errors at ordinary points and special values are in test_math_accuracy.py.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from evaluate import evaluate

DTYPES = [np.float32, np.float64]
COUNT = 400
BOUND = 1.0  # in units in the last place

# The numbers of each format nearest to a multiple of π/2, relative to their size, and the largest.
HARDEST = {
    np.float32: [16367173 * 2.0**72, float.fromhex("0x1.f37e42p+101"), float.fromhex("0x1.ddebdep+119"), 3.4e38, 1e38],
    np.float64: [6381956970095103 * 2.0**797, 5.319372648326541e255, 1.7e308, 1e22, 2.0**1000],
}
LIMIT = {np.float32: 2.0**17, np.float64: 2.0**40}  # of the fast reduction


def units(dtype: type, got: np.ndarray, references: list[mpmath.mpf]) -> np.ndarray:
    """Errors in units in the last place of the reference, the smallest subnormal being the least unit."""
    info = np.finfo(dtype)
    errors = []
    for value, reference in zip(got, references, strict=True):
        exponent = int(mpmath.floor(mpmath.log(abs(reference), 2))) if reference else info.minexp
        unit = mpmath.mpf(2) ** (max(exponent, int(info.minexp)) - info.nmant)
        errors.append(abs(mpmath.mpf(float(value)) - reference) / unit if np.isfinite(value) else np.inf)
    return np.array(errors, float)


def check(function: str, device: object, *operands: np.ndarray) -> None:
    (got,) = evaluate("trigonometric", function, operands, [operands[0].dtype], str(device))
    with mpmath.workprec(1200):  # π has to be known to as many bits as the largest argument has
        references = [getattr(mpmath, function)(*map(mpmath.mpf, map(float, x))) for x in zip(*operands, strict=True)]
    errors = units(operands[0].dtype.type, got, references)
    worst = int(errors.argmax())
    assert errors[worst] <= BOUND, (errors[worst], [x[worst] for x in operands], got[worst])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_multiples_of_half_pi(function, dtype, device, rng):
    with mpmath.workprec(1200):
        turns = [*range(1, 65), *rng.integers(1, 2**20, COUNT).tolist(), *(2**k + 1 for k in range(20, 60))]
        near = np.array([float(k * mpmath.pi / 2) for k in turns]).astype(dtype)
    check(function, device, np.concatenate([near, -near, np.nextafter(near, dtype(0))]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_huge_arguments(function, dtype, device, rng):
    top = np.log2(float(np.finfo(dtype).max))
    everywhere = np.exp2(rng.uniform(np.log2(LIMIT[dtype]) - 3, top, COUNT)).astype(dtype)
    limit = dtype(LIMIT[dtype])
    known = np.array([*HARDEST[dtype], limit, np.nextafter(limit, dtype(0)), np.finfo(dtype).max], dtype)
    check(function, device, np.concatenate([everywhere, known, -known]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_huge_neighbours_change_nothing(function, dtype, device, rng):
    x = (rng.standard_normal(5000) * 1000).astype(dtype)
    disturbed = x.copy()
    disturbed[::97] = rng.choice([np.inf, 1e38, np.nan, -3e30], disturbed[::97].size)
    plain, other = (evaluate("trigonometric", function, [a], [dtype], str(device))[0] for a in (x, disturbed))
    kept = np.arange(x.size) % 97 != 0
    np.testing.assert_array_equal(plain[kept], other[kept], strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sincos_is_sin_and_cos(dtype, device, rng):
    x = (rng.standard_normal(1000) * np.exp2(rng.uniform(-20, 100, 1000))).astype(dtype)
    both = evaluate("trigonometric", "sincos", [x], [dtype, dtype], str(device))
    for name, result in zip(("sin", "cos"), both, strict=True):
        np.testing.assert_array_equal(evaluate("trigonometric", name, [x], [dtype], str(device))[0], result)


@pytest.mark.parametrize("dtype", DTYPES)
def test_atan2_at_the_limits(dtype, device, rng):
    """Both large, both small, both subnormal, and quotients that are subnormal."""
    info = np.finfo(dtype)
    largest, least = float(info.max), float(info.tiny)
    y, x = [], []
    for scale_y, scale_x in (
        (largest, largest),
        (largest, 1.0),
        (least, least),
        (float(info.smallest_subnormal) * 100, float(info.smallest_subnormal) * 100),
        (least * 8, 8.0),
        (1.0, largest / 4),
        (least, largest),
    ):
        y.append(rng.uniform(-1, 1, COUNT) * scale_y)
        x.append(rng.uniform(-1, 1, COUNT) * scale_x)
    y, x = np.concatenate(y).astype(dtype), np.concatenate(x).astype(dtype)
    keep = (y != 0) & (x != 0)  # mpmath has no -0
    check("atan2", device, y[keep], x[keep])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["asin", "acos"])
def test_ends_of_the_domain(function, dtype, device, rng):
    close = np.exp2(-rng.uniform(1, 60, COUNT))
    tiny = np.exp2(rng.uniform(float(np.finfo(dtype).minexp) - 20, 0, COUNT))
    x = np.concatenate([1 - close, close - 1, 0.5 + close / 2**10, 0.5 - close / 2**10, tiny, -tiny, [1, -1]])
    x = x.astype(dtype)
    x = x[x != 0]
    check(function, device, x)
