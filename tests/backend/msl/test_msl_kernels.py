"""Kernels of every family in the Metal Shading Language, launched through the public API and run on this processor."""

import gc

import fake_metal
import numpy as np
import pytest
from nbx_array.kernels import matmul

import nbx_array

from . import shim

pytestmark = pytest.mark.skipif(shim.compiler() is None, reason="neither clang++ nor g++ builds libraries here")
REAL = ("float32", "int32")
NUMBERS = (*REAL, "complex64")


@pytest.fixture(scope="module", autouse=True)
def xp():
    """One device for all: arrays' memory is the pool's, which outlives a test."""
    with pytest.MonkeyPatch.context() as patch:
        fake_metal.install(patch)
        nbx_array.set_device("metal:0")
        yield nbx_array
        gc.collect()
        nbx_array.empty_cache()
        nbx_array.set_device(None)


def random(rng, name, *shape):
    dtype = np.dtype(name)
    if dtype.kind == "i":
        return rng.integers(-1000, 1000, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def near(got, wanted, steps, size=None):
    """Within so many eps of the largest, or of a size: sums that cancel are wrong by eps of what is added up."""
    got, wanted = nbx_array.asnumpy(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    if got.dtype.kind in "biu":
        assert np.array_equal(got, wanted)
    else:
        scale = max(np.abs(wanted).max(initial=0), np.finfo(np.float32).tiny) if size is None else size
        assert np.all(np.abs(got - wanted) <= steps * np.finfo(np.float32).eps * scale)


def wide(x):
    return x.astype({"f": np.float64, "c": np.complex128, "i": np.int64, "b": np.bool_}[x.dtype.kind])


# ------------------------------------------------------------------------------------------- reductions and scans


@pytest.mark.parametrize("name", [*NUMBERS, "bool"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(xp, rng, name, axis):
    x = random(rng, name, 37, 53)
    y = xp.asarray(x)
    near(xp.sum(y, axis=axis), wide(x).sum(axis=axis), 4, np.abs(wide(x)).sum(axis=axis))
    near(xp.any(y, axis=axis), x.any(axis=axis), 0)
    near(xp.count_nonzero(y, axis=axis), np.count_nonzero(x, axis=axis), 0)
    if name in REAL:
        near(xp.max(y, axis=axis), x.max(axis=axis), 0)
        near(xp.argmin(y, axis=axis), x.argmin(axis=axis), 0)
        near(xp.var(xp.astype(y, xp.float32), axis=axis), wide(x).var(axis=axis), 60)


def test_a_long_reduction_and_its_order(xp, rng):
    x = random(rng, "float32", 100_003)
    y = xp.asarray(x)
    total = xp.sum(y)
    near(total, wide(x).sum(), 4, np.abs(wide(x)).sum())
    near(xp.argmax(y), x.argmax(), 0)
    assert float(xp.sum(y + 0)) == float(total)  # whatever computes the elements
    x[70_001] = np.nan
    assert np.isnan(xp.asnumpy(xp.max(xp.asarray(x)))) and xp.asnumpy(xp.argmax(xp.asarray(x))) == 70_001


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(xp, rng, name, axis):
    x = random(rng, name, 37, 53)
    near(
        xp.cumulative_sum(xp.asarray(x), axis=axis),
        wide(x).cumsum(axis=axis),
        4,
        np.abs(wide(x)).sum(axis=axis, keepdims=True),
    )
    unit = x if name == "int32" else x / np.abs(x)
    near(xp.cumulative_prod(xp.asarray(unit), axis=axis), wide(unit).cumprod(axis=axis), 200)


def test_a_long_scan(xp, rng):
    x = rng.integers(-9, 9, 100_003)
    near(xp.cumulative_sum(xp.asarray(x)), x.cumsum(), 0)


# --------------------------------------------------------------------------------------------- sorting and indexing


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("shape", [(37, 53), (3, 2501)])  # by counting and by radix
def test_sorting(xp, rng, name, shape):
    x = random(rng, name, *shape)
    x[0, 3:9] = x[0, 5]
    if name == "float32":
        x[1, 2], x[1, 3], x[1, 4] = np.nan, -0.0, 0.0
    y = xp.asarray(x)
    near(xp.sort(y), np.sort(x), 0) if name == "int32" else np.testing.assert_array_equal(
        xp.asnumpy(xp.sort(y)), np.sort(x)
    )
    near(xp.argsort(y), np.argsort(x, stable=True), 0)


def test_searching_and_sets(xp, rng):
    x = np.sort(random(rng, "int32", 5003))
    needles = random(rng, "int32", 257)
    for side in ("left", "right"):
        near(xp.searchsorted(xp.asarray(x), xp.asarray(needles), side=side), np.searchsorted(x, needles, side), 0)
    near(xp.unique_values(xp.asarray(needles)), np.unique(needles), 0)


@pytest.mark.parametrize("name", [*NUMBERS, "bool"])
def test_indexing(xp, rng, name):
    x = random(rng, name, 37, 53)
    y, rows = xp.asarray(x), rng.integers(-37, 37, 19)
    near(xp.take(y, xp.asarray(rows), axis=0), x[rows], 0)
    near(y[xp.asarray(rows), 3], x[rows, 3], 0)
    mask = x > 0 if name in REAL else rng.random(x.shape) < 0.3
    near(y[xp.asarray(mask)], x[mask], 0)
    near(xp.nonzero(xp.asarray(mask))[1], np.nonzero(mask)[1], 0)
    order = rng.permutation(37)[:19]
    x[order], y[xp.asarray(order)] = x[:19].copy(), xp.asarray(x[:19])
    near(y, x, 0)


def test_views_in_place(xp, rng):
    for name in ("float32", "complex64"):
        x = random(rng, name, 37, 53)
        y = xp.asarray(x)
        x[::2, ::-1] += 2 * x[::2]
        y[::2, ::-1] += 2 * y[::2]
        y *= y
        near(y, wide(x) * wide(x), 4)
        near(y.T + y.T[:1], (wide(x) * wide(x)).T + (wide(x) * wide(x)).T[:1], 8)


# ---------------------------------------------------------------------------------------------------- linear algebra


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(5, 3, 7), (37, 53, 41), (129, 65, 70)])
def test_products(xp, rng, name, shape):
    m, k, n = shape
    a, b = random(rng, name, m, k), random(rng, name, n, k)
    near(xp.asarray(a) @ xp.asarray(b).mT, wide(a) @ wide(b).T, 60)
    near(xp.asarray(a)[None] @ xp.asarray(b).mT, (wide(a) @ wide(b).T)[None], 60)


@pytest.mark.parametrize("subtract", [False, True])
@pytest.mark.parametrize("name", ["float32", "complex64"])
def test_products_whose_neighbours_lie_along_rows(xp, rng, name, subtract):
    """A result by columns is turned in threadgroup memory, of which there is little."""
    x, y, start = (random(rng, name, *shape) for shape in ((1, 80, 7), (1, 7, 96), (1, 96, 80)))
    out = xp.asarray(start)
    view = out.memory()
    turned = view._replace(shape=(1, 80, 96), strides=(80 * 96, 1, 80))
    matmul.multiply(xp.asarray(x).memory(), xp.asarray(y).memory(), turned, subtract=subtract)
    product = wide(x) @ wide(y)
    near(out, (wide(start).swapaxes(1, 2) - product if subtract else product).swapaxes(1, 2), 50)


@pytest.mark.parametrize(("name", "n"), [("float32", 3), ("float32", 21), ("complex64", 21)])
def test_factorisations(xp, rng, name, n):
    x = random(rng, name, n, n) + n * np.eye(n, dtype=name)
    positive = (x @ x.conj().T / n).astype(name)
    y, p = xp.asarray(x), xp.asarray(positive)
    near(xp.linalg.cholesky(p), np.linalg.cholesky(wide(positive)), 200)
    near(xp.linalg.solve(y, y[:, :2]), np.eye(n)[:, :2], 200)
    near(xp.linalg.inv(y), np.linalg.inv(wide(x)), 200)
    near(xp.linalg.det(y / n), np.linalg.det(wide(x) / n), 500)
    q, r = xp.linalg.qr(y)
    near(q @ r, wide(x), 200)
    near(xp.conj(q).mT @ q, np.eye(n), 200)
    values, vectors = xp.linalg.eigh(p)
    near(values, np.linalg.eigvalsh(wide(positive)), 200)
    near((vectors * values) @ xp.conj(vectors).mT, wide(positive), 500)
    u, s, vh = xp.linalg.svd(y, full_matrices=False)
    near(s, np.linalg.svd(wide(x), compute_uv=False), 200)
    near((u * s) @ vh, wide(x), 500)


@pytest.mark.parametrize("n", [1, 8, 37, 60, 1021])
def test_transforms(xp, rng, n):
    x = random(rng, "complex64", 3, n)
    y = xp.asarray(x)
    near(xp.fft.fft(y), np.fft.fft(wide(x)), 60)
    near(xp.fft.ifft(y), np.fft.ifft(wide(x)), 60)
    near(xp.fft.rfft(xp.real(y)), np.fft.rfft(wide(x).real), 60)
    near(xp.fft.irfft(y, n=n), np.fft.irfft(wide(x), n), 60)
