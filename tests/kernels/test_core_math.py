"""The building blocks of the mathematical functions, against exact arithmetic with fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from accuracy import FORMATS, anything
from evaluate import evaluate

DTYPES = ["float32", "float64"]


def finite(rng: np.random.Generator, n: int, dtype: str, low: int, high: int) -> np.ndarray:
    """Numbers of both signs with exponents in [low, high) and full significands."""
    significand = rng.choice([-1.0, 1.0], n) * rng.uniform(1, 2, n)
    return np.ldexp(significand, rng.integers(low, high, n)).astype(dtype)


def exact(x: np.ndarray) -> list[Fraction]:
    return [Fraction(float(a)) for a in x]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("function", "operation"),
    [
        ("two_sum", lambda a, b: a + b),
        ("two_prod", lambda a, b: a * b),
        ("quick_two_sum", lambda a, b: a + b),
    ],
)
def test_error_free_transformations_lose_nothing(
    function: str, operation: Callable[[Fraction, Fraction], Fraction], dtype: str, rng: np.random.Generator
) -> None:
    a, b = finite(rng, 1000, dtype, -40, 40), finite(rng, 1000, dtype, -40, 40)
    if function == "quick_two_sum":
        a, b = np.where(np.abs(a) < np.abs(b), b, a), np.where(np.abs(a) < np.abs(b), a, b)
    high, low = evaluate("core_math", function, [a, b], [dtype, dtype])
    for x, y, h, l in zip(*map(exact, (a, b, high, low)), strict=True):
        assert h + l == operation(x, y)
    assert (np.abs(low) <= np.spacing(np.abs(high)) / 2).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("function", "operation"),
    [
        ("pair_add", lambda a, b: a + b),
        ("pair_mul", lambda a, b: a * b),
        ("pair_div", lambda a, b: a / b),
    ],
)
def test_pairs_carry_twice_the_precision(
    function: str, operation: Callable[[Fraction, Fraction], Fraction], dtype: str, rng: np.random.Generator
) -> None:
    high = [np.abs(finite(rng, 500, dtype, -10, 10)) for _ in range(2)]
    low = [(np.spacing(h) * rng.uniform(-0.5, 0.5, 500)).astype(dtype) for h in high]
    result = evaluate("core_math", function, [high[0], low[0], high[1], low[1]], [dtype, dtype])
    bound = Fraction(2) ** (6 - 2 * FORMATS[dtype].precision)
    for ah, al, bh, bl, h, l in zip(*map(exact, (high[0], low[0], high[1], low[1], *result)), strict=True):
        expected = operation(ah + al, bh + bl)
        assert abs(h + l - expected) <= bound * abs(expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pair_sqrt(dtype: str, rng: np.random.Generator) -> None:
    high = np.abs(finite(rng, 500, dtype, -10, 10))
    low = (np.spacing(high) * rng.uniform(-0.5, 0.5, 500)).astype(dtype)
    high[0] = low[0] = 0
    result = evaluate("core_math", "pair_sqrt", [high, low], [dtype, dtype])
    bound = Fraction(2) ** (6 - 2 * FORMATS[dtype].precision)
    for ah, al, h, l in zip(*map(exact, (high, low, *result)), strict=True):
        assert abs((h + l) ** 2 - (ah + al)) <= bound * (ah + al)


@pytest.mark.parametrize("dtype", DTYPES)
def test_division_and_root_are_correctly_rounded(dtype: str, rng: np.random.Generator) -> None:
    form = FORMATS[dtype]
    a, b = anything(rng, 5000, form), anything(rng, 5000, form)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(evaluate("core_math", "div", [a, b], [dtype])[0], a / b)
        np.testing.assert_array_equal(evaluate("core_math", "sqrt", [a], [dtype])[0], np.sqrt(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_split_takes_every_positive_number_apart(dtype: str, rng: np.random.Generator) -> None:
    form = FORMATS[dtype]
    x = np.abs(anything(rng, 5000, form))
    x = np.concatenate([x[np.isfinite(x) & (x > 0)], [np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max]])
    x = x.astype(dtype)
    m, e = evaluate("core_math", "split", [x], [dtype, dtype])
    assert ((np.sqrt(0.5) <= m * (1 + 1e-7)) & (m < np.sqrt(2) * (1 + 1e-7))).all()
    for value, significand, exponent in zip(exact(x), exact(m), e, strict=True):
        assert value == significand * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scale_rounds_once(dtype: str, rng: np.random.Generator) -> None:
    form = FORMATS[dtype]
    x = finite(rng, 5000, dtype, -2, 2)
    n = rng.integers(2 * form.least, 2 * form.greatest + 1, 5000).astype(f"i{form.dtype.itemsize}")
    n[:1000] = rng.integers(form.least - form.precision - 2, form.least + 2, 1000)
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, n.astype(np.int32))
    np.testing.assert_array_equal(evaluate("core_math", "scale", [x, n], [dtype])[0], expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scale_down_rounds_once(dtype: str, rng: np.random.Generator) -> None:
    x = finite(rng, 5000, dtype, -2, 2)
    low, high = (-188, 60) if dtype == "float32" else (-1532, 508)
    n = rng.integers(low, high + 1, 5000).astype(f"i{x.itemsize}")
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, n.astype(np.int32))
    np.testing.assert_array_equal(evaluate("core_math", "scale_down", [x, n], [dtype])[0], expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("function", "expected", "bound"),
    [("quick_reciprocal", lambda x: 1 / x, 0.8), ("quick_rsqrt", lambda x: 1 / np.sqrt(x), 1.5)],
)
def test_quick_reciprocals_are_nearly_right(
    function: str, expected: Callable[[np.ndarray], np.ndarray], bound: float, dtype: str, rng: np.random.Generator
) -> None:
    info = np.finfo(dtype)
    x = np.abs(finite(rng, 100000, dtype, info.minexp, info.maxexp - 3))
    x[: info.nmant] = 1 + 2 * np.exp2(-np.arange(info.nmant))
    got = evaluate("core_math", function, [x], [dtype])[0]
    wanted = expected(x.astype(np.longdouble))
    unit = np.spacing(wanted.astype(dtype)).astype(np.longdouble)  # where it is subnormal, 0.8 of it would be rounded
    assert (np.abs(got - wanted) <= bound * unit).all()
    if function == "quick_reciprocal":
        np.testing.assert_array_equal(evaluate("core_math", function, [-x], [dtype])[0], -got)


@pytest.mark.parametrize("dtype", DTYPES)
def test_signs_of_zeros_and_nan(dtype: str) -> None:
    values = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan], dtype)
    x, sign = (a.ravel() for a in np.meshgrid(values, values))
    flipped = np.copysign(1, evaluate("core_math", "flip_sign", [x, sign], [dtype])[0])
    np.testing.assert_array_equal(flipped, np.copysign(1, x) * np.copysign(1, sign))
    copied = evaluate("core_math", "copysign", [x, sign], [dtype])[0]
    np.testing.assert_array_equal(np.signbit(copied), np.signbit(sign))
    np.testing.assert_array_equal(np.abs(copied), np.abs(x))
    finite_values = values[:6].copy()
    negated = evaluate("core_math", "negate", [finite_values], [dtype])[0]
    np.testing.assert_array_equal(np.signbit(negated), ~np.signbit(finite_values))


def test_coefficients_of_a_polynomial_keep_their_bits() -> None:
    """Triton 3.6 rounds a literal operand of fma to float32."""
    from nbx_array.backend.compiler import Source
    from nbx_array.backend.contract import get_device
    from nbx_array.backend.launcher import get_launcher

    text = """
import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import polynomial

@triton.jit
def kernel(x, out):
    tl.store(out, polynomial(tl.load(x), (1e-310, 0.1, 0.3333333333333333)))
"""
    x, out = np.array([2.0]), np.empty(1)
    launcher = get_launcher(Source.generated(text, "kernel"), (("x", "*fp64"), ("out", "*fp64")), (), get_device("cpu"))
    launcher.run(x.ctypes.data, out.ctypes.data, 1, 1, 1)
    assert out[0] == 2.0 * 0.1 + 0.3333333333333333
