"""Running sums and products, against NumPy."""

from __future__ import annotations

import math
from importlib.metadata import version

import numpy as np
import pytest

INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
FUNCTIONS = ["cumulative_sum", "cumulative_prod"]
SHAPES = [(0,), (1,), (7,), (1023,), (4097,), (70001,), (2, 0, 3), (7, 5), (1031, 3), (3, 1031), (65, 33), (3, 127, 4)]
LAYOUTS = {
    "transposed": lambda x: x.transpose(2, 1, 0),
    "axes in no order": lambda x: x.transpose(1, 0, 2),
    "reversed": lambda x: x[::-1, :, ::-1],
    "every second": lambda x: x[::2, 1::3, ::-2],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
}


def make(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    values = rng.normal(size=shape)
    return np.asarray(values + 1j * rng.normal(size=shape) if dtype.kind == "c" else values, dtype)


def unit(host):
    """Numbers of size 1, so that products stay in range."""
    if host.dtype.kind not in "fc":
        return host
    sizes = abs(host.astype(np.complex128))
    return (host / np.where(sizes == 0, 1, sizes)).astype(host.dtype)


def check(name, got, host, axis, **keywords):
    expected = getattr(np, name)(host, axis=axis, **keywords)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    if expected.dtype.kind in "iu":
        np.testing.assert_array_equal(np.asarray(got), expected)
        return
    wide = host.astype(np.clongdouble if expected.dtype.kind == "c" else np.longdouble)
    exact = getattr(np, name)(wide, axis=axis, **keywords)
    scale = np.cumulative_sum(abs(wide), axis=axis, include_initial=keywords.get("include_initial", False))
    steps = host.shape[axis or 0] if host.ndim else 1
    if name == "cumulative_sum":
        bound = np.finfo(expected.dtype).eps * (abs(exact) + min(steps, 10 + 8 * math.sqrt(steps)) * scale)
        if expected.dtype == np.float16:  # added in float32 and rounded once
            bound = np.finfo(np.float16).eps * abs(exact) + np.finfo(np.float32).eps * steps * scale
    else:
        bound = np.finfo(expected.dtype).eps * 4 * (steps + 1) * abs(exact)
    assert (abs(np.asarray(got) - exact) <= bound).all()


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes(xp, rng, name, dtype):
    for shape, axis in ((70001,), 0), ((9, 101, 66), 1), ((1031, 3), -1):
        host = make(rng, dtype, shape)
        host = unit(host) if name == "cumulative_prod" else host
        check(name, getattr(xp, name)(xp.asarray(host), axis=axis), host, axis)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(xp, rng, name, shape):
    host = unit(make(rng, "float64", shape))
    x = xp.asarray(host)
    for axis in range(-host.ndim, host.ndim):
        check(name, getattr(xp, name)(x, axis=axis), host, axis)
        got = getattr(xp, name)(x, axis=axis, include_initial=True)
        check(name, got, host, axis, include_initial=True)
    if host.ndim == 1:
        check(name, getattr(xp, name)(x, include_initial=True), host, 0, include_initial=True)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(xp, rng, name, layout):
    whole = unit(make(rng, "float64", (20, 30, 40)))
    host = LAYOUTS[layout](whole)
    x = xp.asarray(whole)
    match layout:
        case "transposed":
            x = xp.permute_dims(x, (2, 1, 0))
        case "axes in no order":
            x = xp.permute_dims(x, (1, 0, 2))
        case "repeated":
            x = xp.broadcast_to(x[:1], x.shape)
        case _:
            x = LAYOUTS[layout](x)
    for axis in range(3):
        check(name, getattr(xp, name)(x, axis=axis), host, axis)


def test_pending_operands_are_read_in_the_loop(xp, rng):
    host = make(rng, "float64", (50, 60))
    x = xp.asarray(host)
    for _ in range(2):  # the second time as one kernel
        got = xp.cumulative_sum(x * 2 + x[:1], axis=1)
    np.testing.assert_allclose(np.asarray(got), np.cumsum(host * 2 + host[:1], axis=1), rtol=1e-12, atol=1e-12)
    assert xp.cumulative_sum(xp.ones(5)).tolist() == [1, 2, 3, 4, 5]
    assert xp.cumulative_prod(xp.full(3, 2), include_initial=True).tolist() == [1, 2, 4, 8]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtype(xp, rng, name):
    host = rng.integers(-3, 4, 9)
    for dtype in ("int8", "uint16", "float32", "complex128"):
        expected = getattr(np, name)(host.astype(dtype), dtype=dtype)
        got = getattr(xp, name)(xp.asarray(host), dtype=getattr(xp, dtype))
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(got), expected)


def test_special_numbers(xp):
    host = np.asarray([-0.0, 0.0, 1, np.inf, 2, -np.inf, np.nan, 1])
    for name in FUNCTIONS:
        for first in range(len(host)):
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(host[first:])
            got = np.asarray(getattr(xp, name)(xp.asarray(host[first:])))
            np.testing.assert_array_equal(got, expected)
            np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[expected == 0]))
    number = complex(np.inf, 2)
    assert np.asarray(xp.cumulative_prod(xp.asarray([number])))[0] == number


def test_repeats_bit_for_bit(xp, rng):
    x = xp.asarray(make(rng, "float32", (100003,)))
    first = np.asarray(xp.cumulative_sum(x))
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(xp.cumulative_sum(x)), first)


def test_a_scalar_counts_as_a_vector(xp):
    assert xp.cumulative_sum(xp.asarray(3)).tolist() == [3]


def test_errors(xp):
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match="cumulative_sum: x has shape"):
        xp.cumulative_sum(x)
    with pytest.raises(np.exceptions.AxisError, match="cumulative_prod: axis 2"):
        xp.cumulative_prod(x, axis=2)
    with pytest.raises(TypeError, match="cumulative_sum"):
        xp.cumulative_sum(np.ones(2))
    with pytest.raises(TypeError):
        xp.cumulative_sum(x, axis=(0, 1))
    with pytest.raises(TypeError, match="cumulative_sum"):
        xp.cumulative_sum(x, axis=0, dtype="text")


# What a GPU does where lanes do not fill it: a program for each tile, which looks back at those before it.


@pytest.fixture
def linked(device, monkeypatch):
    """Tiles of 16 elements in groups of 4, so that short arrays make chains of groups of groups; on the CPU with more
    threads than it has cores."""
    from nbx_array.backend.cpu import threads
    from nbx_array.kernels import scan

    if device.backend in ("cuda", "hip") and version("triton").startswith("3.6."):
        pytest.skip("Triton 3.6 stops at an assertion where a tile is smaller than a warp's vectors")
    tile = scan.Tile(nbytes=64, lanes=4, steps=16, num_warps=1)
    monkeypatch.setitem(scan.RULES, device.backend, scan.Rule(tile, tile, programs=40, look=4))
    monkeypatch.setattr(threads.pool, "size", 5)
    return scan


def launches(xp, call):
    """How many launches a call takes, and its result."""
    before = xp.counters()["launches"]
    result = xp.realize(call())
    return xp.counters()["launches"] - before, result


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64", "complex64", "complex128"])
def test_linked_tiles(xp, rng, linked, dtype):
    name = "cumulative_prod" if dtype.startswith("complex") else "cumulative_sum"
    for shape in (5003,), (301, 3), (3, 320), (2, 301, 5), (50, 40):
        host = unit(make(rng, dtype, shape))
        x = xp.realize(xp.asarray(host))
        for axis in range(host.ndim):
            check(name, getattr(xp, name)(x, axis=axis), host, axis)
    check(name, getattr(xp, name)(x[::-1], axis=0, include_initial=True), host[::-1], 0, include_initial=True)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_lengths_about_ends_of_groups(xp, rng, linked, dtype):
    # float64 and the like take tiles of half as many elements, and so reach further.
    ends = sorted({k + d for k in (64, 128, 16 * 4, 16 * 16, 16 * 20, 16 * 64, 16 * 68, 16 * 256) for d in (-1, 0, 1)})
    for n in ends:
        host = make(rng, dtype, (n,))
        x = xp.realize(xp.asarray(host))
        count, got = launches(xp, lambda: xp.cumulative_sum(x))  # noqa: B023
        check("cumulative_sum", got, host, 0)
        assert count == 1, n


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_running_extremes_of_linked_tiles(xp, rng, linked, name):
    for dtype in ("bool", "int8", "uint16", "int64", "float32"):
        host = make(rng, dtype, (3001,))
        if dtype == "float32":
            host[1700] = np.nan
        got = getattr(xp, name).accumulate(xp.asarray(host))
        np.testing.assert_array_equal(np.asarray(got), getattr(np, name).accumulate(host))


def test_special_numbers_of_linked_tiles(xp, linked):
    zeros = np.asarray(xp.cumulative_sum(xp.full(2001, -0.0, dtype=xp.float32)))
    assert np.signbit(zeros).all()  # no sum with a zero of ours
    host = np.ones(2001, np.float32)
    host[1000] = np.inf
    host[1500] = -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.asarray(xp.cumulative_sum(xp.asarray(host))), np.cumsum(host))
    numbers = np.ones(301, np.complex64)
    numbers[0] = complex(np.inf, 2)
    assert np.asarray(xp.cumulative_prod(xp.asarray(numbers)))[0] == numbers[0]


def test_who_is_faster_changes_nothing(xp, rng, linked, monkeypatch):
    """Sums are grouped alike whether each program finds all before it done or has to wait."""
    from nbx_array.backend.cpu import threads

    x = xp.realize(xp.asarray(make(rng, "float32", (40_003,))))
    results = set()
    for size in (1, 2, 7, 7, 7, 7):
        monkeypatch.setattr(threads.pool, "size", size)
        results.add(np.asarray(xp.cumulative_sum(x)).tobytes())
    assert len(results) == 1


def test_words_are_told_from_those_of_earlier_launches(xp, device, rng, linked, monkeypatch):
    """On CUDA and HIP words are cleared once, and again before their tags would repeat."""
    from nbx_array.kernels import words

    monkeypatch.setattr(words, "LASTING", (device.backend,) if device.backend != "metal" else ())
    monkeypatch.setattr(words, "TAGS", 3)
    monkeypatch.setattr(words, "_kept", {})
    wide = "int64" if device.backend == "metal" else "float64"
    for n in (3001, 90, 700, 3001, 3002, 64, 65, 5000, 200_000, 80, 4000):
        for dtype in ("int32", wide):
            host = make(rng, dtype, (n,))
            check("cumulative_sum", xp.cumulative_sum(xp.asarray(host)), host, 0)
    assert set(words._kept) <= {device}


def test_long_scans_are_one_launch(xp, device):
    """With the rules of the device under test."""
    for shape, axis in ((2**20, 0), (300_007, 0), ((3, 50_000), 1), ((50_000, 3), 0), ((2**14, 64), 0), ((2000, 9), 1)):
        x = xp.realize(xp.ones(shape, dtype=xp.float32))
        xp.realize(xp.cumulative_sum(x, axis=axis))
        count, got = launches(xp, lambda: xp.cumulative_sum(x, axis=axis))  # noqa: B023
        assert count == 1
        np.testing.assert_array_equal(np.asarray(got), np.cumsum(np.ones(shape, np.float32), axis=axis))
