"""Elementary functions as pairs: the digits that their docstrings promise, against mpmath."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate
from mpmath import mp, mpf

COUNT = 1000
DTYPES = [np.float32, np.float64]
DIGITS = {np.float32: 44.5, np.float64: 80.9}  # of logarithms and angles; 2^-44.8 and 2^-81.2 of 2.4 million points


def call(name: str, dtype: type, *operands: np.ndarray, pairs: int, integers: int = 0) -> list[list[mpf]]:
    """The function's pairs, added up, times 2^n where its last result is an integer n."""
    integer = np.int32 if dtype is np.float32 else np.int64
    results = evaluate("pairs", name, operands, [dtype] * (2 * pairs) + [integer] * integers)
    n = results[-1] if integers else np.zeros(operands[0].size, int)
    return [
        [
            mp.ldexp(mpf(float(h)) + mpf(float(low)), int(k))
            for h, low, k in zip(*results[2 * i : 2 * i + 2], n, strict=True)
        ]
        for i in range(pairs)
    ]


def error_bits(values: list[mpf], exact: list[mpf]) -> float:
    """log2 of the largest relative error."""
    return float(mp.log(max(abs(v / x - 1) for v, x in zip(values, exact, strict=True) if x) + mpf(2) ** -500, 2))


@pytest.fixture(autouse=True)
def precision():
    with mp.workprec(300):
        yield


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponentials(dtype, rng):
    bits = np.finfo(dtype).nmant + 1.9  # a little more than a quarter ulp, whatever the leading digits
    top = 180 if dtype is np.float32 else 1400
    x = np.concatenate([rng.uniform(-100, top, COUNT), rng.choice([-1, 1], COUNT) * 2.0 ** -rng.uniform(0, 30, COUNT)])
    x = x.astype(dtype)
    exact = [mpf(float(v)) for v in x]
    (values,) = call("exp_pair", dtype, x, pairs=1, integers=1)
    assert error_bits(values, [mp.exp(v) for v in exact]) < -bits
    (values,) = call("expm1_pair", dtype, x, pairs=1, integers=1)
    # of 24,000 points the worst was 2^-53.4
    assert error_bits(values, [mp.expm1(v) for v in exact]) < -(np.finfo(dtype).nmant + 1.3)
    sines, cosines = call("sinh_cosh_pair", dtype, x, pairs=2, integers=1)
    assert error_bits(sines, [mp.sinh(abs(v)) for v in exact]) < -bits
    assert error_bits(cosines, [mp.cosh(v) for v in exact]) < -bits


@pytest.mark.parametrize("dtype", DTYPES)
def test_sine_and_cosine(dtype, rng):
    bits = np.finfo(dtype).nmant + 2
    far = 10.0 ** rng.uniform(2, 37, COUNT)
    x = np.concatenate([rng.uniform(-7, 7, COUNT), far, rng.integers(-99, 99, COUNT) * np.pi / 4]).astype(dtype)
    sines, cosines, less = call("sin_cos_and_cos_minus_one", dtype, x, pairs=3)
    exact = [mpf(float(v)) for v in x]
    assert error_bits(sines, [mp.sin(v) for v in exact]) < -bits
    assert error_bits(cosines, [mp.cos(v) for v in exact]) < -bits
    assert error_bits(less, [-2 * mp.sin(v / 2) ** 2 for v in exact]) < 1 - bits


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithm(dtype, rng):
    eps = float(np.finfo(dtype).eps)
    near_one = 1 + rng.choice([-1, 1], COUNT) * eps ** rng.uniform(0.1, 1, COUNT)
    high = np.concatenate([rng.uniform(0.25, 64, COUNT), near_one]).astype(dtype)
    low = (high * rng.uniform(-0.2, 0.2, high.size) * eps).astype(dtype)
    doublings = np.concatenate([rng.integers(-300, 300, COUNT), np.zeros(COUNT)]).astype(dtype)
    (values,) = call("log_pair", dtype, high, low, doublings, pairs=1)
    exact = [mp.log(mpf(float(h)) + mpf(float(s))) for h, s in zip(high, low, strict=True)]
    exact = [x + int(n) * mp.log(2) for x, n in zip(exact, doublings, strict=True)]
    assert error_bits(values, exact) < -DIGITS[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
def test_angle(dtype, rng):
    larger = rng.uniform(1, 4, COUNT) * rng.choice([-1, 1], COUNT)
    smaller = larger * rng.uniform(-1, 1, COUNT) * 2.0 ** -rng.integers(0, 25, COUNT)
    swap = rng.random(COUNT) < 0.5
    x, y = np.where(swap, smaller, larger).astype(dtype), np.where(swap, larger, smaller).astype(dtype)
    eighths, high, low = evaluate("pairs", "angle_pair", [y, x], [dtype] * 3)
    assert abs(high).max() <= 0.3927  # π/8
    exact = [mp.atan2(float(b), float(a)) - int(k) * mp.pi / 4 for b, a, k in zip(y, x, eighths, strict=True)]
    assert error_bits([mpf(float(h)) + mpf(float(s)) for h, s in zip(high, low, strict=True)], exact) < -DIGITS[dtype]
