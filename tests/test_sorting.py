"""Sorting, searching in sorted vectors and sets, against NumPy. NumPy's routines and the Triton kernels alike."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

REAL = {
    name: np.dtype(getattr(ml_dtypes, name, name))
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64"),
    )
}
COMPLEX = ["complex64", "complex128"]
SHAPES = [(0,), (1,), (2,), (5,), (64,), (257,), (1023,), (2, 0, 3), (7, 5), (33, 65), (3, 300, 4), (1, 1)]
LONG = 40009  # several blocks of a radix sort
SPECIAL = np.asarray([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1, -1])


@pytest.fixture(params=["host", "kernels"], autouse=True)
def routines(request, device, monkeypatch):
    """Sorting by NumPy, and by our kernels."""
    from nbx_array.kernels import host

    if request.param == "host" and (device.backend != "cpu" or not host.HOST_ROUTINES):
        pytest.skip("NumPy has no part in this")
    monkeypatch.setattr(host, "HOST_ROUTINES", request.param == "host")


def make(rng, name, shape, few=False):
    """Numbers over the whole range, with ties and everything special; `few` different ones on demand."""
    dtype = REAL.get(name, np.dtype(name if name in COMPLEX else "f4"))
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = (0, 9) if few else (limits.min, limits.max)
        return rng.integers(low, high, shape, dtype, endpoint=True)
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-4, 4, shape)
    values = np.round(values) if few else values
    values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), values)
    if dtype.kind == "c":
        values = values.astype(dtype)
        values.imag = np.where(rng.random(shape) < 0.5, rng.choice([0, -0.0, np.nan, 1], shape), rng.normal(size=shape))
        return values
    return values.astype(dtype)


def comparable(host):
    """Numbers that NumPy sorts: bfloat16 as float32."""
    return host.astype(np.float32) if host.dtype.kind == "V" else host


def same(got, expected, dtype):
    """Equal, with equal signs of zeros; any NaN equals any NaN."""
    assert got.dtype == dtype
    assert got.shape == expected.shape
    result = comparable(np.asarray(got))
    np.testing.assert_array_equal(result, expected)
    if expected.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(expected[numbers]))


def order(host, axis, descending):
    """NumPy's stable order, NaN last in either direction."""
    if descending:
        host = -host if host.dtype.kind == "f" else ~host
    return np.argsort(host, axis=axis, kind="stable")


def check(xp, x, host, axis):
    plain = comparable(host)
    for descending in (False, True):
        places = order(plain, axis, descending)
        expected = np.take_along_axis(plain, places, axis)
        same(xp.sort(x, axis=axis, descending=descending), expected, host.dtype)
        got = xp.argsort(x, axis=axis, descending=descending)
        same(got, places, np.int64)
        loose = comparable(np.asarray(xp.sort(x, axis=axis, descending=descending, stable=False)))
        np.testing.assert_array_equal(loose, expected)
        loose = np.asarray(xp.argsort(x, axis=axis, descending=descending, stable=False))
        np.testing.assert_array_equal(np.take_along_axis(plain, loose, axis), expected)


@pytest.mark.parametrize("name", REAL)
def test_dtypes(xp, rng, name):
    for shape, axis in ((1023,), 0), ((65, 33), 0), ((4, 301), 1), ((LONG,), -1):
        for few in (False, True):
            host = make(rng, name, shape, few)
            check(xp, xp.asarray(host), host, axis)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(xp, rng, shape):
    for name in ("float32", "int16"):
        host = make(rng, name, shape)
        for axis in range(-host.ndim, host.ndim):
            check(xp, xp.asarray(host), host, axis)


def test_layouts(xp, rng):
    whole = make(rng, "float64", (60, 40))
    x = xp.asarray(whole)
    for view in (
        lambda a: a.T,
        lambda a: a[::-1, ::-1],
        lambda a: a[::2, 1::3],
        lambda a: a[:, ::-2],
        lambda a: a[5],
    ):
        for axis in range(view(whole).ndim):
            check(xp, view(x), view(whole), axis)
    check(xp, xp.broadcast_to(x[:, :1], (60, 5)), np.broadcast_to(whole[:, :1], (60, 5)), 1)


def test_the_operand_is_left_alone(xp):
    x = xp.asarray([3.0, 1.0, 2.0])
    assert xp.sort(x + 1).tolist() == [2, 3, 4]
    xp.sort(x), xp.argsort(x)
    assert x.tolist() == [3, 1, 2]
    assert xp.sort(xp.asarray([1, np.nan, 2, 0])).tolist()[:3] == [0, 1, 2]
    assert xp.sort(xp.asarray([1, np.nan, 2, 0]), descending=True).tolist()[:3] == [2, 1, 0]


def test_equal_keys_stay_in_order(xp):
    for n in (7, 200, LONG):
        for descending in (False, True):
            assert (np.asarray(xp.argsort(xp.ones(n), descending=descending)) == np.arange(n)).all()
            got = np.asarray(xp.argsort(xp.arange(n) % 3, descending=descending))
            expected = order(np.arange(n) % 3, 0, descending)
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_sort_as_in_numpy(xp, rng, name):
    for shape in ((5,), (1023,), (40, 30)):
        host = make(rng, name, shape, few=True)
        for axis in range(host.ndim):
            expected = np.argsort(host, axis=axis, kind="stable")
            np.testing.assert_array_equal(np.asarray(xp.argsort(xp.asarray(host), axis=axis)), expected)
            got = xp.sort(xp.asarray(host), axis=axis)
            np.testing.assert_array_equal(np.asarray(got), np.take_along_axis(host, expected, axis))
    x = xp.asarray(np.asarray([1 + 2j, 2 + 1j, 1 - 2j], name))
    assert xp.sort(x, descending=True).tolist() == [2 + 1j, 1 + 2j, 1 - 2j]


@pytest.mark.parametrize("name", REAL)
def test_searchsorted(xp, rng, name):
    for n in (0, 1, 2, 63, 1025):
        host = make(rng, name, (n,), few=n % 2 == 1)
        plain = comparable(host)
        places = np.argsort(plain, kind="stable")
        needles = make(rng, name, (21, 5), few=n % 2 == 1)
        for side in ("left", "right"):
            expected = np.searchsorted(plain[places], comparable(needles), side=side)
            x, y, sorter = xp.asarray(host), xp.asarray(needles), xp.asarray(places)
            same(xp.searchsorted(x, y, side=side, sorter=sorter), expected, np.int64)
            ordered = xp.take(x, sorter)
            same(xp.searchsorted(ordered, y.T, side=side), expected.T, np.int64)
            same(xp.searchsorted(ordered, y[::2, ::-1], side=side), expected[::2, ::-1], np.int64)


def test_searchsorted_with_scalars_and_other_dtypes(xp):
    x = xp.asarray([1, 2, 2, 5], dtype=xp.int8)
    host = np.asarray(x)
    for value in (0, 2, 2.5, 7, -1000, 1000, True, np.float32(2), float("nan"), float("inf"), -float("inf")):
        for side in ("left", "right"):
            got = xp.searchsorted(x, value, side=side)
            assert got.shape == () and got.dtype == np.int64
            assert int(got) == np.searchsorted(host, value, side=side)
    same(xp.searchsorted(x, xp.asarray([1.5, 300.0])), np.searchsorted(host, [1.5, 300.0]), np.int64)
    same(xp.searchsorted(x, xp.asarray([-300, 300])), np.searchsorted(host, [-300, 300]), np.int64)
    same(xp.searchsorted(x, xp.empty((0, 2))), np.empty((0, 2), int), np.int64)


@pytest.mark.parametrize("name", [*REAL, *COMPLEX])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (7, 50), (4099,)])
def test_sets(xp, rng, name, shape):
    host = make(rng, name, shape, few=True)
    x, plain = xp.asarray(host), comparable(host)
    values, indices, inverse, counts = found = xp.unique_all(x)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    expected = np.unique(plain, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    assert values.dtype == host.dtype
    assert indices.dtype == inverse.dtype == counts.dtype == np.int64
    assert inverse.shape == host.shape
    if plain.dtype.kind == "c":  # NumPy has another order
        flat, places, got = plain.reshape(-1), np.asarray(indices), np.asarray(values)
        assert len(got) == len(expected[0])
        np.testing.assert_array_equal(flat[places], got)
        numbers = ~np.isnan(got)
        first = [np.flatnonzero(flat == value)[0] for value in got[numbers]]
        np.testing.assert_array_equal(places[numbers], first)
        np.testing.assert_array_equal(np.asarray(counts), [max((flat == value).sum(), 1) for value in got])
        assert sorted(places[~numbers]) == list(np.flatnonzero(np.isnan(flat)))
        np.testing.assert_array_equal(got[np.asarray(inverse)], plain)
    else:
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(comparable(np.asarray(got)), wanted)
    parts = [xp.unique_counts(x), xp.unique_inverse(x), (xp.unique_values(x),)]
    assert parts[0]._fields == ("values", "counts") and parts[1]._fields == ("values", "inverse_indices")
    for part in parts:
        np.testing.assert_array_equal(comparable(np.asarray(part[0])), comparable(np.asarray(values)))
    np.testing.assert_array_equal(np.asarray(parts[0][1]), np.asarray(counts))
    np.testing.assert_array_equal(np.asarray(parts[1][1]), np.asarray(inverse))


@pytest.mark.parametrize("name", [*REAL, *COMPLEX])
def test_isin(xp, rng, name):
    for shape, other in (((), (3,)), ((0,), (3,)), ((3,), (0,)), ((40, 5), (4, 3)), ((5,), (1000,))):
        host, wanted = make(rng, name, shape, few=True), make(rng, name, other, few=True)
        for invert in (False, True):
            expected = np.isin(comparable(host), comparable(wanted), invert=invert)
            same(xp.isin(xp.asarray(host), xp.asarray(wanted), invert=invert), expected, np.bool_)


def test_isin_with_scalars_and_other_dtypes(xp):
    x = xp.asarray([1, 2, 3], dtype=xp.int8)
    assert xp.isin(x, 2).tolist() == [False, True, False]
    assert xp.isin(x, 1000, invert=True).tolist() == [True, True, True]
    assert xp.isin(2, x).tolist() is True
    assert xp.isin(4, x).shape == ()
    assert xp.isin(x, xp.asarray([[259, 3]])).tolist() == [False, False, True]
    assert xp.isin(x, xp.asarray([2.5, 2.0])).tolist() == [False, True, False]


def test_errors(xp):
    x = xp.ones((2, 3))
    for call, error, message in [
        (lambda: xp.sort(xp.asarray(1)), ValueError, "sort: expected at least 1 dimension"),
        (lambda: xp.argsort(xp.asarray(1)), ValueError, "argsort"),
        (lambda: xp.sort(x, axis=2), np.exceptions.AxisError, "sort: axis 2"),
        (lambda: xp.argsort(x, axis=-3), np.exceptions.AxisError, "argsort: axis -3"),
        (lambda: xp.sort(np.ones(2)), TypeError, "sort: expected an array"),
        (lambda: xp.sort(x, axis="0"), TypeError, "sort"),
        (lambda: xp.searchsorted(x, x), ValueError, "searchsorted: x1 must have 1 dimension"),
        (lambda: xp.searchsorted(x[0], x, side="middle"), ValueError, "searchsorted: side"),
        (lambda: xp.searchsorted(x[0], x, sorter=xp.asarray([0])), ValueError, "searchsorted"),
        (lambda: xp.searchsorted(x[0], x, sorter=x[0]), TypeError, "searchsorted: a sorter"),
        (lambda: xp.searchsorted(x[0], 1j), TypeError, "searchsorted"),
        (lambda: xp.searchsorted(x[0], np.ones(1)), TypeError, "searchsorted"),
        (lambda: xp.isin("a", 2), TypeError, "isin"),
        (lambda: xp.unique_all(np.ones(1)), TypeError, "unique_all"),
    ]:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("name", REAL)
def test_passes(xp, device, rng, monkeypatch, name, routines):
    """Many rows of several blocks, and the places where one way to sort takes over from another."""
    from nbx_array.kernels import host, sort

    if host.HOST_ROUTINES:
        pytest.skip("NumPy sorts")
    small = {"group": 4, "run": 16, "merged": 300, "tile": 32, "share": 32, "block": 64, "num_warps": 1, "look": 4}
    monkeypatch.setitem(sort._RULES, device.backend, sort.Rule(**small))
    monkeypatch.setattr(sort, "PIECE", 200)
    for shape in ((4,), (5, 5), (16,), (7, 17), (64,), (65,), (5, 131), (2, 300), (3, 1000)):
        values = make(rng, name, shape)
        check(xp, xp.asarray(values), values, -1)
