"""Creation functions against NumPy."""

from __future__ import annotations

import enum
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from table import BFLOAT16, DTYPES, assert_near, assert_same_bits, kind, random_values

SHAPES = [(), 0, 1, 5, (3, 0, 2), (2, 3), [4, 1], (1023,), (17, 5, 3)]
fixtures_stay = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


@pytest.mark.parametrize("name", DTYPES)
def test_filled_arrays(name, xp, device):
    dtype = DTYPES[name]
    for shape in SHAPES:
        for function in ("zeros", "ones"):
            got = getattr(xp, function)(shape, dtype=dtype)
            assert got.device == device
            assert_same_bits(xp.asnumpy(got), getattr(np, function)(shape, dtype))
            like = getattr(xp, function + "_like")(got)
            assert_same_bits(xp.asnumpy(like), getattr(np, function)(shape, dtype))
        assert_same_bits(xp.asnumpy(xp.full(shape, 1, dtype=dtype)), np.full(shape, 1, dtype))
        empty = xp.empty(shape, dtype=dtype)
        assert (empty.shape, empty.dtype) == (np.empty(shape).shape, dtype)
        assert xp.empty_like(empty, dtype=xp.int8).dtype == np.int8
        empty[...] = 1
        assert_same_bits(xp.asnumpy(empty), np.ones(shape, dtype))


@pytest.mark.parametrize("value", [True, 7, -3, 2.5, 1 + 2j, np.float32(0.1), np.int8(-7), np.bool_(True), math.inf])
def test_full_takes_the_dtype_of_its_value(value, xp):
    assert_same_bits(xp.asnumpy(xp.full((2, 3), value)), np.full((2, 3), value))
    assert_same_bits(xp.asnumpy(xp.full(3, xp.asarray(value))), np.full(3, value))
    if not np.iscomplexobj(value):
        x = xp.zeros(3, dtype=xp.float32)
        assert_same_bits(xp.asnumpy(xp.full_like(x, value)), np.full(3, value, np.float32))


def test_defaults(xp):
    for function in (xp.zeros, xp.ones, xp.empty):
        assert function(2).dtype == np.float64
    assert xp.eye(2).dtype == xp.linspace(0, 1, 2).dtype == xp.arange(2.0).dtype == np.float64
    assert xp.arange(2).dtype == np.int64
    assert xp.linspace(0, 1j, 2).dtype == np.complex128


# ----------------------------------------------------------------------------------------------- arange, linspace

integers = st.integers(-(10**6), 10**6)
steps = st.integers(-(10**5), 10**5).filter(bool)


@fixtures_stay
@given(integers, integers, steps)
def test_arange_of_integers(xp, start, stop, step):
    if abs((stop - start) // step) < 10_000:
        assert_same_bits(xp.asnumpy(xp.arange(start, stop, step)), np.arange(start, stop, step))


@fixtures_stay
@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3), st.floats(0.0625, 1e6), st.booleans())
@example(0.0, -5e-324, 2.0, True)  # whose quotient is 0
@example(0.0, -5e-324, 2.0, False)
def test_arange_of_floats(xp, start, length, step, down):
    step = -step if down else step
    stop = start + length
    wanted = np.arange(start, stop, step)
    assert_same_bits(xp.asnumpy(xp.arange(start, stop, step)), wanted, zeros=False)
    if wanted.size:
        single = xp.asnumpy(xp.arange(start, stop, step, dtype=xp.float32))
        assert_same_bits(single, wanted.astype(np.float32), zeros=False)


def test_arange(xp):
    for arguments in [(5,), (0,), (-3,), (2, 9), (9, 2), (9, 2, -1), (0, 10, 3), (0, 10, -3), (1023,), (0, 1, 0.1)]:
        assert_same_bits(xp.asnumpy(xp.arange(*arguments)), np.arange(*arguments))
    for name, dtype in DTYPES.items():
        if kind(dtype) in "iuf":
            assert_same_bits(xp.asnumpy(xp.arange(3, 70, 2, dtype=dtype)), np.arange(3, 70, 2).astype(dtype))
            assert xp.arange(0, dtype=name if name != "bfloat16" else BFLOAT16).dtype == dtype
    assert xp.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    top = 2**64 - 1
    assert xp.arange(top - 2, top, dtype=xp.uint64).tolist() == [top - 2, top - 1]
    assert xp.arange(xp.asarray(3)).tolist() == [0, 1, 2]
    assert xp.arange(0.0, 1.0, 0.25, dtype=xp.float16).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.arange(5, step=2).tolist() == [0, 2, 4]
    for dtype in (np.complex64, np.complex128):
        if np.dtype(dtype) in xp.__array_namespace_info__().dtypes().values():
            assert_same_bits(xp.asnumpy(xp.arange(1.5, 4, dtype=dtype)), np.arange(1.5, 4, dtype=dtype))


@fixtures_stay
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(0, 200), st.booleans())
def test_linspace(xp, start, stop, num, endpoint):
    got = xp.asnumpy(xp.linspace(start, stop, num, endpoint=endpoint))
    assert_same_bits(got, np.linspace(start, stop, num, endpoint=endpoint), zeros=False)


@pytest.mark.parametrize("num", (1, 2, 7, 100, 1023))
@pytest.mark.parametrize("endpoint", (True, False))
def test_linspace_between_float32(num, endpoint, xp, rng):
    for scale in (1e-30, 1, 1e30):
        a, b = (rng.random(2) * scale).astype(np.float32)
        for start, stop in ((a, b), (a, float(b)), (0, b)):
            wanted = np.linspace(start, stop, num, endpoint=endpoint, dtype=np.float32)
            for ends in ((start, stop), tuple(xp.asarray(x) if x is a else x for x in (start, stop))):
                assert_same_bits(xp.asnumpy(xp.linspace(*ends, num, endpoint=endpoint, dtype=xp.float32)), wanted)


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if kind(dtype) != "b"])
def test_linspace_of_dtypes(name, xp):
    dtype = DTYPES[name]
    for start, stop in ((0, 10), (1, 100), (7, 7), (9, 2)):
        for num in (0, 1, 2, 7, 1023):
            got = xp.asnumpy(xp.linspace(start, stop, num, dtype=dtype))
            assert_same_bits(
                got, np.linspace(start, stop, num, dtype=np.float64 if kind(dtype) == "f" else dtype).astype(dtype)
            )
    ends = (1 - 2j, 4 + 0.5j)
    np.testing.assert_allclose(xp.asnumpy(xp.linspace(*ends, 9)), np.linspace(*ends, 9), rtol=1e-15)


# ---------------------------------------------------------------------------------------------------------- matrices


@pytest.mark.parametrize("name", DTYPES)
def test_eye(name, xp):
    dtype = DTYPES[name]
    for rows, columns, k in [
        (3, None, 0),
        (0, 3, 0),
        (3, 5, 1),
        (5, 3, -2),
        (4, 4, 9),
        (4, 4, -9),
        (1, 1, 0),
        (40, 4100, 33),
        (4100, 1, -9),
    ]:
        assert_same_bits(xp.asnumpy(xp.eye(rows, columns, k=k, dtype=dtype)), np.eye(rows, columns, k, dtype))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("function", ["tril", "triu"])
def test_triangles(function, name, xp, rng):
    dtype = DTYPES[name]
    for shape in [(3, 3), (5, 3), (2, 3, 4), (0, 3), (3, 0), (2, 33, 31), (3, 4100)]:
        a = random_values(dtype, math.prod(shape), rng).reshape(shape)
        x = xp.asarray(a)
        for k in (0, 1, -2, 40, -40):
            assert_same_bits(xp.asnumpy(getattr(xp, function)(x, k=k)), getattr(np, function)(a, k))
        assert_same_bits(xp.asnumpy(getattr(xp, function)(x.mT)), getattr(np, function)(a.mT))


# ------------------------------------------------------------------------------------------------------------ asarray


class Colour(enum.IntEnum):
    RED = 2


@pytest.mark.parametrize(
    "data",
    [
        *(True, 3, 2.5, 1j, np.float32(3), np.int16(4), Colour.RED, 2**63 - 1, -(2**63)),
        *([], [[]], [1, 2], (1.5, 2), [[1, 2], [3, 4]], [True, False], [1, 2.5], [1, 2j], [True, 2], [[[1]], [[2]]]),
        *(range(4), [np.float32(1), np.float32(2)], [np.arange(2), np.arange(2)], [2**63, 1]),
    ],
    ids=repr,
)
def test_asarray_of_python_data(data, xp):
    wanted = np.asarray(data)
    assert_same_bits(xp.asnumpy(xp.asarray(data)), wanted)
    for dtype in (np.float32, np.complex64):
        if wanted.dtype.kind != "c" or dtype is np.complex64:
            assert_same_bits(xp.asnumpy(xp.asarray(data, dtype=dtype)), wanted.astype(dtype))


def test_asarray_of_sequences_of_arrays(xp):
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray([x[0], x[1] + 1, 7]).tolist() == [1, 3, 7]
    assert xp.asarray([x, x * 2]).tolist() == [[1, 2], [2, 4]]


@pytest.mark.parametrize("name", DTYPES)
def test_asarray_of_ndarrays(name, xp, rng):
    a = random_values(DTYPES[name], 60, rng).reshape(3, 4, 5)
    swapped = a.byteswap().view(a.dtype.newbyteorder()) if a.dtype != BFLOAT16 else a
    unaligned = np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype)
    for source in (
        a,
        a.T,
        a[::-1, :, ::-2],
        a[:, :0],
        a[1, 2, 3],
        np.broadcast_to(a[0, 0], (3, 5)),
        swapped,
        unaligned,
    ):
        x = xp.asarray(source)
        assert_same_bits(xp.asnumpy(x), source.astype(a.dtype))
    frozen = a.copy()
    frozen.flags.writeable = False
    x = xp.asarray(frozen)
    x[...] = 0
    assert_same_bits(frozen, a)


def test_asarray_copies_or_does_not(xp, device):
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    copy, other = xp.asarray(x, copy=True), xp.asarray(x, dtype=xp.float32)
    x[0] = 9
    assert (copy.tolist(), other.tolist(), other.dtype) == ([1, 2], [1, 2], np.float32)
    a = np.arange(3.0)
    by_default = xp.asarray(a)
    a[0] = 5
    assert by_default.tolist() == [0, 1, 2]
    for bad in ([1, 2], 3.0, np.arange(3)):
        if device.backend != "cpu" or not isinstance(bad, np.ndarray):
            with pytest.raises(ValueError, match="without a copy"):
                xp.asarray(bad, copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray(x, dtype=xp.int8, copy=False)
    if device.backend == "cpu":
        shared = xp.asarray(a, copy=False)
        a[1] = 7
        assert shared.tolist() == [5, 7, 2]


def test_asarray_of_whatever_numpy_reads(xp):
    class Data:
        def __array__(self, dtype=None, copy=None):
            return np.asarray([1, 2], dtype)

    assert xp.asarray(Data()).tolist() == [1, 2]
    assert xp.asarray(memoryview(np.arange(3, dtype=np.int16))).dtype == np.int16


# --------------------------------------------------------------------------------------------------------- from_dlpack


def test_from_dlpack(xp, device):
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    for source in (a, a.T, a[::2, ::-1], a[:0], np.broadcast_to(a[0], (2, 4)), np.array(3.0)):
        x = xp.from_dlpack(source)
        assert str(x.device) == "cpu"
        assert_same_bits(xp.asnumpy(x), np.asarray(source))
        copy = xp.from_dlpack(source, copy=True)
        copy[...] = 0
        moved = xp.from_dlpack(source, device=device)
        assert moved.device == device
        assert_same_bits(xp.asnumpy(moved), np.asarray(source))
    assert_same_bits(a, np.arange(12, dtype=np.int32).reshape(3, 4))
    y = xp.asarray([1.0])
    assert xp.from_dlpack(y) is y
    assert_near(xp.asnumpy(xp.from_dlpack(y, copy=True) + 1), np.array([2.0]), 0)


def test_shapes_and_axes_of_any_integers(xp):
    """Arrays, elements of them, sums and ranges, wherever integers are wanted."""

    def use(m):
        n = m.asarray([2, 3])
        x = m.reshape(m.arange(6), n)
        shapes = [f(n).shape for f in (m.zeros, m.ones, m.empty, lambda s: m.full(s, 1.5))]
        shapes += [m.zeros(n[0]).shape, m.eye(m.max(n)).shape, m.zeros(range(3)).shape, m.zeros(n - n).shape]
        shapes += [x.reshape(n[::-1]).shape, m.broadcast_to(x[0], n).shape, m.zeros([n[1], 4]).shape]
        shapes += [m.zeros(n, order="F").shape, m.ones(range(1, 3), order="F").shape, m.tile(x, n).shape]
        for some in (n, range(2, 4)):
            shapes += [m.random.default_rng(0).random(some).shape, m.resize(x, some).shape]
            shapes += [m.unravel_index(5, some), m.ravel_multi_index((1, 1), some)]
        shapes += [m.expand_dims(x, [0, 3]).shape]
        last = n[0] - 1
        sums = [
            m.sum(x, axis=last),
            x.max(axis=last),
            m.flip(x, axis=last)[0],
            m.argmax(x, axis=last),
            m.sort(x, axis=-last),
        ]
        return shapes, [s.tolist() for s in sums], m.expand_dims(x, axis=last).shape

    assert use(xp) == use(np)
    for shape in (2.0, "23", [2.5], None, xp.asarray([1.0]), [[1]]):
        with pytest.raises(TypeError, match=r"zeros: a shape is an integer"):
            xp.zeros(shape)
        with pytest.raises(TypeError, match=r"ones: a shape is an integer"):
            xp.ones(shape, order="F")
    with pytest.raises(TypeError, match="expand_dims: an axis is an integer"):
        xp.expand_dims(xp.zeros(2), None)


def test_ranges_are_sequences(xp):
    """Functions take a range where they take a list."""

    def use(m):
        x = m.asarray([3.0, 1.0, 2.0])
        found = m.take(x, range(2)), m.concat([x, m.asarray(range(2))]), m.maximum(x, range(3)), m.sum(range(5))
        return [f.tolist() for f in found]

    assert use(xp) == use(np)
