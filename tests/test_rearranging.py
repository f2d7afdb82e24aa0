"""Functions that move elements or compare neighbours, against NumPy: repeat, roll, tile, take, diff and their kin."""

from __future__ import annotations

import numpy as np
import pytest

DTYPES = ["bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (0,), (1,), (7,), (1023,), (3, 1), (2, 0, 3), (5, 4), (33, 65), (2, 3, 4)]
LAYOUTS = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "every second": lambda x: x[::2, 1::3],
    "columns first": lambda x: x[:, ::-2],
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


def same(got, expected):
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(got), expected)


def each_axis(host):
    return [None, *range(-host.ndim, host.ndim)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_repeat_and_roll(xp, rng, dtype, shape):
    host = make(rng, dtype, shape)
    x = xp.asarray(host)
    for axis in each_axis(host):
        for count in (0, 1, 3):
            same(xp.repeat(x, count, axis=axis), np.repeat(host, count, axis=axis))
        for shift in (0, 1, -5, 1024):
            same(xp.roll(x, shift, axis=axis), np.roll(host, shift, axis=axis))
        n = host.size if axis is None else host.shape[axis]
        counts = rng.integers(0, 4, n)
        same(xp.repeat(x, xp.asarray(counts), axis=axis), np.repeat(host, counts, axis=axis))
        same(xp.repeat(x, xp.asarray([2], dtype=xp.uint8), axis=axis), np.repeat(host, [2], axis=axis))


def test_roll_over_several_axes(xp, rng):
    host = make(rng, "int64", (5, 6, 7))
    x = xp.asarray(host)
    for shift, axis in (((1, -2), (0, 2)), ((3, 4), (1, 1)), ((0, 6, 1), (0, 1, 2)), (2, (0, 1))):
        same(xp.roll(x, shift, axis=axis), np.roll(host, shift, axis=axis))
    with pytest.raises(ValueError, match="roll: 3 shifts and 2 axes"):
        xp.roll(x, (1, 2, 3), axis=(0, 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_tile_and_unstack(xp, rng, shape):
    host = make(rng, "float32", shape)
    x = xp.asarray(host)
    for counts in ((), (2,), (1, 3), (2, 1, 2), (0, 2), (1, 2, 1, 3)):
        same(xp.tile(x, counts), np.tile(host, counts))
    for axis in range(-host.ndim, host.ndim):
        parts = xp.unstack(x, axis=axis)
        assert isinstance(parts, tuple) and len(parts) == host.shape[axis]
        for part, expected in zip(parts, np.moveaxis(host, axis, 0), strict=True):
            same(part, expected)


def test_unstack_gives_views(xp):
    x = xp.zeros((2, 3))
    xp.unstack(x, axis=1)[2][0] = 7
    assert x.tolist() == [[0, 0, 7], [0, 0, 0]]


def test_repeat_and_tile_give_copies(xp):
    x = xp.zeros(3)
    for y in (xp.repeat(x, 1), xp.tile(x, (1,)), xp.roll(x, 0), xp.meshgrid(x)[0], xp.take(x, xp.asarray([0]))):
        y[0] = 7
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(), (3,), (2, 5), (4, 1, 3), (2, 0, 3), (2, 3, 4, 5)])
def test_meshgrid(xp, rng, indexing, lengths):
    hosts = [make(rng, dtype, n) for n, dtype in zip(lengths, ("int64", "float32", "bool", "complex64"), strict=False)]
    got = xp.meshgrid(*map(xp.asarray, hosts), indexing=indexing)
    assert isinstance(got, tuple)
    for x, expected in zip(got, np.meshgrid(*hosts, indexing=indexing), strict=True):
        same(x, expected)
    same(xp.meshgrid(xp.asarray(5), xp.asarray([1, 2]))[1], np.meshgrid(5, [1, 2])[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_diff(xp, rng, dtype, shape):
    host = make(rng, dtype, shape)
    x = xp.asarray(host)
    for axis in range(-host.ndim, host.ndim):
        for n in (0, 1, 2):
            same(xp.diff(x, axis=axis, n=n), np.diff(host, axis=axis, n=n))
        ends = make(rng, dtype, (*host.shape[: axis % host.ndim], 2, *host.shape[axis % host.ndim + 1 :]))
        y = xp.asarray(ends)
        expected = np.diff(host, axis=axis, prepend=ends, append=ends[..., :])
        same(xp.diff(x, axis=axis, prepend=y, append=y), expected)
        same(xp.diff(x, axis=axis, append=y), np.diff(host, axis=axis, append=ends))


@pytest.mark.parametrize("dtype", DTYPES)
def test_take(xp, rng, dtype):
    host = make(rng, dtype, (5, 1, 33))
    x = xp.asarray(host)
    for axis in each_axis(host):
        n = host.size if axis is None else host.shape[axis]
        for shape in ((), (0,), (1,), (17,), (3, 4)):
            for kind in ("int64", "int8", "uint16"):
                low = 0 if kind[0] == "u" else -min(n, 128)
                places = rng.integers(low, min(n, 127), shape).astype(kind)
                same(xp.take(x, xp.asarray(places), axis=axis), np.take(host, places, axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_take_along_axis(xp, rng, dtype):
    for shape in ((7,), (5, 33), (2, 3, 4), (4, 1, 5)):
        host = make(rng, dtype, shape)
        x = xp.asarray(host)
        for axis in range(-host.ndim, host.ndim):
            n = shape[axis]
            for length in (0, 1, n, 9):
                wanted = [*shape]
                wanted[axis] = length
                places = rng.integers(-n, n, wanted)
                got = xp.take_along_axis(x, xp.asarray(places), axis=axis)
                same(got, np.take_along_axis(host, places, axis=axis))
    host, places = make(rng, dtype, (1, 6)), rng.integers(-6, 6, (4, 3))  # the other axis broadcasts, either way
    same(xp.take_along_axis(xp.asarray(host), xp.asarray(places)), np.take_along_axis(host, places, -1))
    host, places = make(rng, dtype, (4, 6)), rng.integers(-6, 6, (1, 3))
    same(xp.take_along_axis(xp.asarray(host), xp.asarray(places)), np.take_along_axis(host, places, -1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(xp, rng, layout):
    whole = make(rng, "float64", (40, 60))
    host, x = LAYOUTS[layout](whole), LAYOUTS[layout](xp.asarray(whole))
    places = rng.integers(-5, 5, host.shape)
    for axis in (0, 1):
        same(xp.repeat(x, 2, axis=axis), np.repeat(host, 2, axis=axis))
        same(xp.roll(x, 3, axis=axis), np.roll(host, 3, axis=axis))
        same(xp.diff(x, axis=axis), np.diff(host, axis=axis))
        same(xp.take(x, xp.asarray([1, -2]), axis=axis), np.take(host, [1, -2], axis=axis))
        same(xp.take_along_axis(x, xp.asarray(places.T).T, axis=axis), np.take_along_axis(host, places, axis=axis))
    same(xp.tile(x, (2, 3)), np.tile(host, (2, 3)))


def test_pending_operands(xp):
    x = xp.asarray([1.0, 2.0, 3.0]) * 2
    assert xp.repeat(x + 1, 2).tolist() == [3, 3, 5, 5, 7, 7]
    assert xp.roll(x + 1, 1).tolist() == [7, 3, 5]
    assert xp.tile(x + 1, (2,)).tolist() == [3, 5, 7, 3, 5, 7]
    assert xp.take(x + 1, xp.asarray([1, 0]) + 1).tolist() == [7, 5]
    assert xp.diff(x + 1).tolist() == [2, 2]


def test_errors(xp):
    x = xp.ones((2, 3))
    for call, error, message in [
        (lambda: xp.repeat(x, -1), ValueError, "repeat"),
        (lambda: xp.repeat(x, xp.asarray([1, -1]), axis=0), ValueError, "repeat: .*-1"),
        (lambda: xp.repeat(x, xp.asarray([1, 2, 3]), axis=0), ValueError, "repeat: 3 numbers"),
        (lambda: xp.repeat(x, xp.asarray([1.0, 2.0]), axis=0), TypeError, "repeat"),
        (lambda: xp.repeat(x, 2, axis=2), np.exceptions.AxisError, "repeat: axis 2"),
        (lambda: xp.repeat(x, 2**61), ValueError, "repeat"),
        (lambda: xp.roll(x, 1.5), TypeError, "shift is an integer, not 1.5"),
        (lambda: xp.roll(x, 1, axis=5), np.exceptions.AxisError, "roll: axis 5"),
        (lambda: xp.tile(x, (-1,)), ValueError, "tile"),
        (lambda: xp.tile(x, (2**62,)), ValueError, "tile"),
        (lambda: xp.tile(x, (1.5,)), TypeError, "tile"),
        (lambda: xp.unstack(xp.asarray(1)), ValueError, "unstack"),
        (lambda: xp.unstack(x, axis=2), np.exceptions.AxisError, "unstack"),
        (lambda: xp.meshgrid(x[0], indexing="yx"), ValueError, "meshgrid: indexing"),
        (lambda: xp.diff(xp.asarray(1)), ValueError, "diff"),
        (lambda: xp.diff(x, n=-1), ValueError, "diff: n"),
        (lambda: xp.diff(x, prepend=x[0]), ValueError, "concat"),
        (lambda: xp.take(x, xp.asarray([0.5]), axis=0), TypeError, "take: indices"),
        (lambda: xp.take(x, xp.asarray([True]), axis=0), TypeError, "take: indices"),
        (lambda: xp.take(x, np.array([0]), axis=0), TypeError, "take"),
        (lambda: xp.take(x, xp.asarray([0]), axis=2), np.exceptions.AxisError, "take: axis 2"),
        (lambda: xp.take(xp.ones((0, 2)), xp.asarray([0]), axis=0), IndexError, "take"),
        (lambda: xp.take_along_axis(x, xp.asarray([0])), ValueError, "take_along_axis"),
        (lambda: xp.take_along_axis(x, xp.asarray([[0], [0], [0]])), IndexError, "take_along_axis"),
        (lambda: xp.take_along_axis(xp.ones((2, 0)), xp.asarray([[0], [0]])), IndexError, "take_along_axis"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_indices_out_of_range(xp):
    x = xp.ones((2, 3))
    for places in ([3], [-4]):
        with pytest.raises(IndexError, match="out of bounds for axis 1 with size 3"):
            xp.take(x, xp.asarray(places), axis=1)
            xp.synchronize()
        with pytest.raises(IndexError, match="out of bounds"):
            xp.take_along_axis(x, xp.asarray([places, places]), axis=1)
            xp.synchronize()


def test_repeat_by_an_array_waits_once(xp):
    """For the least of the numbers and for their sum."""
    before = xp.counters()
    xp.repeat(xp.ones(3), xp.asarray([1, 2, 3]))
    change = xp.counters() - before
    assert (change["bytes_to_host"], change["synchronisations"]) == (16, 1)
