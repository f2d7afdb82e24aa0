"""Linear algebra functions that reduce, against NumPy and exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest

REAL = ["int8", "int32", "uint16", "int64", "float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def make(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 9, size=shape).astype(dtype)
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if dtype.kind == "c" else values).astype(dtype)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_vecdot(xp, rng, dtype):
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    for left, right, axis in (
        ((33,), (33,), -1),
        ((4, 1, 65), (3, 65), -1),
        ((5, 7), (5, 7), 0),
        ((5, 2), (3, 5, 2), -2),
    ):
        a, b = make(rng, dtype, left), make(rng, dtype, right)
        expected = (
            (a.conj().astype(np.clongdouble) * b).sum(axis=axis).astype(np.result_type(a, b))
            if a.dtype.kind == "c"
            else np.sum(a.astype(np.float64) * b, axis=axis).astype(a.dtype)
        )
        got = xp.vecdot(xp.asarray(a), xp.asarray(b), axis=axis)
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=10 * tolerance)


def test_vecdot_counts_the_axis_in_each_operand(xp, rng):
    a, b = make(rng, "float64", (5, 3)), make(rng, "float64", (5, 4, 3))
    expected = np.vecdot(a, b, axis=0)
    np.testing.assert_allclose(np.asarray(xp.vecdot(xp.asarray(a), xp.asarray(b), axis=0)), expected)


def test_vecdot_mixes_dtypes_and_is_exact_where_it_can_be(xp):
    a = xp.asarray(np.full(100, 200, dtype=np.uint8))
    assert xp.vecdot(a, xp.asarray(np.ones(100, dtype=np.int16))).dtype == xp.int16
    assert int(xp.vecdot(a, xp.asarray(np.ones(100, dtype=np.int64)))) == 20000
    halves = xp.asarray(np.full(3, 300, dtype=np.float16))
    assert float(xp.vecdot(halves, halves / 10)) == pytest.approx(27000, rel=2e-3)
    assert float(xp.vecdot(xp.zeros(0), xp.zeros(0))) == 0


def test_vecdot_refuses(xp):
    with pytest.raises(ValueError, match="vecdot: lengths 4 and 1 differ"):
        xp.vecdot(xp.ones((3, 4)), xp.ones(1))
    with pytest.raises(np.exceptions.AxisError):
        xp.vecdot(xp.ones((3, 4)), xp.ones(4), axis=-2)
    with pytest.raises(ValueError, match="broadcast"):
        xp.vecdot(xp.ones((3, 4)), xp.ones((2, 4)))
    with pytest.raises(TypeError, match="vecdot"):
        xp.vecdot(xp.ones(3), np.ones(3))


@pytest.mark.parametrize("ord", [2, 1, 0, np.inf, -np.inf, 3, 0.5, -1, -2.5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_vector_norm(xp, rng, dtype, ord):
    host = make(rng, dtype, (6, 40, 3))
    for axis, keepdims in ((None, False), (1, True), ((0, 2), False), (-1, False)):
        wide = host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)
        got = xp.linalg.vector_norm(xp.asarray(host), axis=axis, keepdims=keepdims, ord=ord)
        expected = np.linalg.vector_norm(wide, axis=axis, keepdims=keepdims, ord=ord)
        assert got.dtype == abs(host).dtype and got.shape == expected.shape
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5 if dtype != "float64" else 1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ord", [2, 3, 1.5, -1])
def test_norm_neither_overflows_nor_underflows(xp, dtype, ord):
    limits = np.finfo(dtype)
    for values in (
        [limits.max, 1],
        [limits.max / 4, limits.max / 4, 0.5],
        [limits.tiny, limits.tiny],
        [limits.smallest_subnormal * 3, limits.smallest_subnormal * 4],
        [limits.tiny, 1.0],
        [1e-20, 1e-19, 1e-21],
        [1e15, 1e16, 1e17],
    ):
        host = np.array(values, dtype=dtype)
        largest = np.longdouble(host.max() if ord > 0 else host.min())
        expected = largest * ((host / largest) ** ord).sum() ** (1 / np.longdouble(ord))
        got = float(xp.linalg.vector_norm(xp.asarray(host), ord=ord))
        assert abs(got - expected) <= 8 * limits.eps * expected + limits.smallest_subnormal, values
    assert float(xp.linalg.vector_norm(xp.asarray(np.array([limits.max, 1], dtype=dtype)))) == limits.max


def test_norm_of_special_values(xp):
    def norm(*values, **keywords):
        return float(xp.linalg.vector_norm(xp.asarray(np.array(values)), **keywords))

    assert norm(np.inf, 1.0) == norm(-np.inf, np.inf) == math.inf
    assert math.isnan(norm(np.nan, 1.0)) and math.isnan(norm(np.nan, np.inf)) and math.isnan(norm(1e300, np.nan))
    assert norm(0.0, -0.0) == 0 and norm(np.inf, 1.0, ord=3) == math.inf and norm(0.0, 0.0, ord=3) == 0
    assert norm() == norm(ord=1) == norm(ord=np.inf) == norm(ord=3) == norm(ord=0) == 0
    assert norm(3.0 + 4j) == 5
    assert norm(0.0, 2.0, ord=-1) == 0
    with pytest.raises(ValueError, match="no identity"):
        norm(ord=-np.inf)
    with pytest.raises(TypeError, match="vector_norm: ord"):
        norm(1.0, ord="fro")
    ints = xp.linalg.vector_norm(xp.asarray(np.array([3, 4])))
    assert ints.dtype == xp.float64 and float(ints) == 5


def test_norm_of_float16_does_not_overflow_on_the_way(xp):
    x = xp.asarray(np.array([300, 400], dtype=np.float16))
    assert float(xp.linalg.vector_norm(x)) == 500
    assert float(xp.linalg.vector_norm(x, ord=3)) == pytest.approx(449.8, rel=2e-3)
