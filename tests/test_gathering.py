"""Long reductions in one launch, whose last program reduces what the others have left, against NumPy and exact sums.

CUDA and HIP take them; here small tiles make short arrays long, and the CPU takes them, too, with more threads than it
has cores."""

from __future__ import annotations

import numpy as np
import pytest
from test_scans import launches, make

SHAPES = [
    ((4097,), None),
    ((1 << 13,), 0),
    ((70001,), None),
    ((7, 5003), 1),
    ((5003, 7), 0),
    ((3, 1031, 5), 1),
    ((3, 1031, 5), (0, 1)),
    ((501, 66), None),
    ((66, 501), 0),
]
DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64"]


@pytest.fixture(autouse=True)
def gathered(device, monkeypatch):
    from nbx_array.backend.cpu import threads
    from nbx_array.kernels import reduction, words

    if device.backend == "metal":
        pytest.skip("Metal's words have no room for tags")
    rule = reduction.Rule(lanes=32, width=64, depth=4, tile=256, chunk=2, programs=64, num_warps=1, layered=False)
    monkeypatch.setitem(reduction._RULES, device.backend, rule)
    monkeypatch.setattr(reduction, "LASTING", (device.backend,))
    monkeypatch.setattr(reduction, "GATHERED", 128)
    monkeypatch.setattr(words, "LASTING", (device.backend,))
    monkeypatch.setattr(words, "_kept", {})
    monkeypatch.setattr(threads.pool, "size", 5)
    reduction.plan.cache_clear()
    yield reduction
    reduction.plan.cache_clear()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sums(xp, rng, shape, axis, dtype):
    host = make(rng, dtype, shape)
    x = xp.realize(xp.asarray(host))
    count, got = launches(xp, lambda: xp.sum(x, axis=axis))
    assert count == 1
    if host.dtype.kind in "biu":
        np.testing.assert_array_equal(np.asarray(got), np.sum(host, axis=axis))
        return
    wide = host.astype(np.clongdouble if host.dtype.kind == "c" else np.longdouble)
    bound = 32 * np.finfo(np.float32 if host.dtype == np.float16 else host.dtype).eps * np.sum(abs(wide), axis=axis)
    exact = np.sum(wide, axis=axis)
    assert (abs(np.asarray(got) - exact) <= bound + np.finfo(host.dtype).eps * abs(exact)).all()


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32"])
@pytest.mark.parametrize(("shape", "axis"), [case for case in SHAPES if not isinstance(case[1], tuple)])
def test_extremes(xp, rng, shape, axis, dtype, name):
    host = make(rng, dtype, shape)
    got = getattr(xp, name)(xp.asarray(host), axis=axis)
    np.testing.assert_array_equal(np.asarray(got), getattr(np, name)(host, axis=axis))


@pytest.mark.parametrize("name", ["var", "linalg.vector_norm"])
def test_states_of_many_words_take_another_launch(xp, rng, name):
    host = make(rng, "float32", (70001,))
    function = xp.linalg.vector_norm if name.startswith("linalg") else xp.var
    count, got = launches(xp, lambda: function(xp.asarray(host)))
    assert count > 1
    expected = np.linalg.norm(host.astype(float)) if name.startswith("linalg") else np.var(host.astype(float))
    np.testing.assert_allclose(float(got), expected, rtol=1e-6)


def test_products_and_means(xp, rng):
    host = make(rng, "float64", (70001,))
    units = np.exp(1j * host)
    np.testing.assert_allclose(complex(xp.prod(xp.asarray(units))), np.exp(1j * host.sum()), rtol=1e-10)
    np.testing.assert_allclose(float(xp.mean(xp.asarray(host))), np.mean(host), rtol=1e-10)


def test_expressions(xp, rng):
    a, b = make(rng, "float32", (301, 77)), make(rng, "float32", (301, 1))
    x, y = xp.asarray(a), xp.asarray(b)
    for _ in range(3):  # an expression is compiled when it is seen again
        count, got = launches(xp, lambda: xp.sum((x - y) ** 2, axis=0))
    assert count == 1
    np.testing.assert_allclose(np.asarray(got), np.sum((a.astype(float) - b) ** 2, axis=0), rtol=1e-5)


def test_special_numbers(xp):
    host = np.zeros(70001, np.float32)
    host[[3, 60000]] = np.nan, -np.inf
    x = xp.asarray(host)
    assert np.isnan(float(xp.sum(x))) and np.isnan(float(xp.max(x)))
    assert int(xp.argmax(x)) == 3 and int(xp.argmin(x)) == 3
    host[3] = np.inf
    x = xp.asarray(host)
    assert np.isnan(float(xp.sum(x)))
    assert (float(xp.max(x)), float(xp.min(x))) == (np.inf, -np.inf)
    assert np.signbit(float(xp.min(xp.asarray(np.where(np.arange(9999) == 9000, -0.0, 0.0).astype(np.float32)))))


def test_who_is_faster_changes_nothing(xp, rng, monkeypatch):
    """States are reduced in their order, whichever program is the last."""
    from nbx_array.backend.cpu import threads

    x = xp.realize(xp.asarray(make(rng, "float32", (70001,))))
    results = set()
    for size in (1, 2, 7, 7, 7, 7):
        monkeypatch.setattr(threads.pool, "size", size)
        results.add(np.asarray(xp.sum(x)).tobytes())
    assert len(results) == 1


def test_launches_are_told_apart(xp, device, rng, monkeypatch):
    """Words are cleared once, and again before their tags would repeat; scans share them."""
    from nbx_array.kernels import words

    monkeypatch.setattr(words, "TAGS", 3)
    for n in (3001, 9000, 700, 3001, 3002, 64, 6500, 5000, 20_000, 80, 4000):
        for dtype in ("int32", "float64"):
            host = make(rng, dtype, (n,))
            np.testing.assert_allclose(float(xp.sum(xp.asarray(host))), float(np.sum(host)), rtol=1e-9)
            running = np.asarray(xp.cumulative_sum(xp.asarray(host)))
            np.testing.assert_allclose(running, np.cumulative_sum(host), rtol=1e-9, atol=1e-9)
    assert set(words._kept) == {device}
