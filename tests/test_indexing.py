"""Reading and writing elements, against NumPy: basic indices, integer arrays, masks, and mixtures of them."""

from __future__ import annotations

import itertools

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from table import BFLOAT16, DTYPES, assert_same_bits, random_values

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
pytestmark = pytest.mark.filterwarnings("ignore:Deprecat")
fixtures_stay = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def numbered(shape, dtype=np.int32):
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(dtype)


def ours(xp, key):
    """A key of NumPy's with our arrays in it."""
    if isinstance(key, tuple):
        return tuple(ours(xp, item) for item in key)
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


LAYOUTS = ["plain", "transposed", "reversed", "stepped"]


def laid_out(xp, a, layout):
    """Our array of the values of `a` whose memory has another layout."""
    match layout:
        case "transposed":
            return xp.asarray(a.T.copy()).T
        case "reversed":
            return xp.flip(xp.asarray(np.flip(a).copy()))
        case "stepped" if a.ndim:
            return xp.asarray(np.repeat(a, 2, axis=-1))[..., ::2]
    return xp.asarray(a)


def check_read(xp, x, a, key):
    assert_same_bits(xp.asnumpy(x[ours(xp, key)]), np.asarray(a[key]))


def check_write(xp, x, a, key, value):
    a[key] = value
    x[ours(xp, key)] = xp.asarray(value) if isinstance(value, np.ndarray) else value
    assert_same_bits(xp.asnumpy(x), a)


@st.composite
def entries(draw, shape):
    """A key with at least one array: an entry or a mask for some axes, in order."""
    key, axis, kinds = [], 0, []
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0 if 0 not in shape else 1, max_side=3))
    while axis < len(shape):
        kind = draw(st.sampled_from(["slice", "int", "array", "array", "mask", "mask2", "none", "end"]))
        size = shape[axis]
        if kind == "end":
            break
        if kind == "none":
            key.append(None)
            continue
        if kind == "slice":
            key.append(draw(st.slices(size)))
        elif kind == "int" and size:
            key.append(draw(st.integers(-size, size - 1)))
        elif kind == "array" and size:
            own = tuple(1 if draw(st.booleans()) else n for n in common)[draw(st.integers(0, len(common))) :]
            dtype = draw(st.sampled_from([np.int64, np.int8, np.uint16]))
            low = 0 if dtype is np.uint16 else -size
            key.append(draw(hnp.arrays(dtype, own, elements=st.integers(low, size - 1))))
        elif kind == "mask2" and axis + 1 < len(shape):
            key.append(draw(hnp.arrays(np.bool_, shape[axis : axis + 2])))
            axis += 1
        else:
            key.append(draw(hnp.arrays(np.bool_, (size,))))
        kinds.append(kind)
        axis += 1
    if axis < len(shape) and draw(st.booleans()):
        key.append(Ellipsis)
    if not any(isinstance(item, np.ndarray) for item in key):
        key.insert(0, np.array(draw(st.booleans())))
    return tuple(key)


@fixtures_stay
@given(st.data())
def test_basic_reads_are_views(xp, data):
    a = numbered(data.draw(SHAPES))
    layout = data.draw(st.sampled_from(LAYOUTS))
    x = laid_out(xp, a, layout)
    key = data.draw(hnp.basic_indices(a.shape, allow_newaxis=True))
    check_read(xp, x, a, key)
    view = x[key]
    if view.shape or (isinstance(key, tuple) and Ellipsis in key) or key is Ellipsis:
        a[key] = -1
        view[...] = -1
        assert_same_bits(xp.asnumpy(x), a)


@fixtures_stay
@given(st.data())
def test_basic_writes(xp, data):
    a = numbered(data.draw(SHAPES))
    x = laid_out(xp, a, data.draw(st.sampled_from(LAYOUTS)))
    key = data.draw(hnp.basic_indices(a.shape, allow_newaxis=True))
    shape = np.shape(a[key])
    cut = data.draw(st.integers(0, len(shape)))
    values = [-7, 2.5, True, numbered(shape), -numbered(shape, np.int8), numbered(shape[cut:], np.float64)]
    if shape:
        values.append(numbered((1, 1, *shape)))
    value = data.draw(st.sampled_from(values))
    check_write(xp, x, a, key, value)


@fixtures_stay
@given(st.data())
def test_array_reads_and_writes(xp, data):
    a = numbered(data.draw(SHAPES))
    x = laid_out(xp, a, data.draw(st.sampled_from(LAYOUTS)))
    key = data.draw(entries(a.shape))
    try:
        wanted = a[key]
    except IndexError:
        with pytest.raises(IndexError):
            x[ours(xp, key)]
        with pytest.raises(IndexError):
            x[ours(xp, key)] = 1
        assert_same_bits(xp.asnumpy(x), a)
        return
    assert_same_bits(xp.asnumpy(x[ours(xp, key)]), wanted)
    if len(np.unique(wanted)) == wanted.size:  # of equal indices NumPy's last one wins, on a GPU any
        check_write(xp, x, a, key, -numbered(wanted.shape))
    check_write(xp, x, a, key, 0)


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name, xp, rng):
    a = random_values(DTYPES[name], 35, rng).reshape(5, 7)
    x = xp.asarray(a)
    rows, mask = np.array([4, -2, 0]), rng.random((5, 7)) < 0.5  # none twice: on GPUs either value may win
    for key in (
        2,
        (slice(None), 3),
        (slice(None, None, -2), slice(1, 6, 2)),
        rows,
        (rows, rows),
        mask,
        (mask[:, 0], 2),
    ):
        check_read(xp, x, a, key)
    check_write(xp, x, a, (slice(1, None), slice(None, None, -3)), a[:4, ::3].copy())
    check_write(xp, x, a, rows[:2], a[2:4].copy())
    check_write(xp, x, a, mask, a[mask][::-1].copy())
    check_write(xp, x, a, mask, 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_apart(layout, xp):
    """Arrays and ints with a slice between them put their dimensions first, and others may lie on both sides."""
    a = numbered((2, 3, 4, 5))
    x = laid_out(xp, a, layout)
    i, j = np.array([[1, 0], [0, 1]]), np.array([0, 2])
    mask = np.array([True, False, True])
    a = xp.asnumpy(x).copy()
    for key in [
        (slice(None), j, slice(None), 0),
        (slice(None), np.array(0), slice(None), 0),
        (i, slice(None), j),
        (0, slice(None), slice(None, None, -1), j),
        (slice(None), mask, slice(None), j),
        (..., j, slice(None), 3),
        (i, slice(None), None, j),
        (slice(None, None, -1), slice(1, None), j, slice(None, None, 2)),
    ]:
        check_read(xp, x, a, key)
        check_write(xp, x, a, key, -numbered(a[key].shape))


def test_zero_dimensions(xp):
    x = xp.asarray(5.0)
    copy, view = x[()], x[...]
    x[()] = 6.0
    assert (float(copy), float(view), float(x)) == (5.0, 6.0, 6.0)
    x[...] = 7
    assert float(view) == 7.0
    assert x[None].shape == (1,)
    assert (x[True].tolist(), x[False].tolist()) == ([7.0], [])
    assert x[xp.asarray(True)].tolist() == [7.0]
    y = xp.arange(3)
    assert y[xp.asarray(1)].shape == ()
    assert (y[True].shape, y[False].shape) == ((1, 3), (0, 3))
    element = y[1]
    y[1] = 9
    assert (int(element), y.tolist()) == (1, [0, 9, 2])


def test_keys_of_other_kinds(xp):
    a = numbered((4, 5))
    x = xp.asarray(a)
    for key in ([1, 3], [True, False, True, False], ([0, 1], [2, 3]), np.int8(2), (np.uint64(1), slice(2)), []):
        assert_same_bits(xp.asnumpy(x[key]), np.asarray(a[key]))
    assert_same_bits(xp.asnumpy(x[xp.asarray(1)]), a[1])
    assert_same_bits(xp.asnumpy(x[xp.asarray(1), xp.asarray(2)]), np.asarray(a[1, 2]))
    assert_same_bits(xp.asnumpy(x[x > 5]), a[a > 5])
    assert_same_bits(xp.asnumpy(x[:, xp.asarray([0, 0, -1])]), a[:, [0, 0, -1]])


def test_the_last_of_equal_indices_wins(xp):
    x = xp.zeros(4, dtype=xp.int64)
    x[xp.asarray([1, 2, 1, 1])] = xp.asarray([5, 6, 7, 8])
    assert x.tolist() == [0, 8, 6, 0]
    y = xp.zeros(3, dtype=xp.int64)
    y[xp.asarray([0] * 50_000 + [1])] = xp.arange(50_001)
    assert y.tolist() == [49_999, 50_000, 0]


@pytest.mark.parametrize("n", (1, 2, 1023, 1025, 20_011))
def test_equal_indices_of_every_layout(n, xp, rng):
    a = rng.integers(-99, 99, (7, 31, 5))
    x = xp.asarray(a)
    i, j = rng.integers(-7, 7, n), rng.integers(-31, 31, n)
    keys = [
        (lambda m, i, j: m.__setitem__((i, j), values), (n, 5)),
        (lambda m, i, j: m.__setitem__((slice(None, None, -2), j, slice(1, None)), values), (4, n, 4)),
        (lambda m, i, j: m.transpose(2, 1, 0).__setitem__((slice(None), j, i), values), (5, n)),
        (lambda m, i, j: m.reshape(-1).__setitem__(i * 31 + j, values), (n,)),
    ]
    for assign, shape in keys:
        numbers = rng.integers(-(2**62), 2**62, shape)
        values = numbers
        assign(a, i, j)
        values = xp.asarray(numbers)
        assign(x, xp.asarray(i), xp.asarray(j))
        assert_same_bits(xp.asnumpy(x), a)


def test_large_masks_and_gathers(xp, rng):
    a = rng.integers(0, 100, (301, 407))
    x = xp.asarray(a)
    for mask in (a > 50, a < 0, a >= 0, a.T[::-1].T > 98):
        check_read(xp, x, a, mask)
        assert [p.tolist() for p in xp.nonzero(xp.asarray(mask))] == [p.tolist() for p in np.nonzero(mask)]
    rows = rng.integers(-301, 301, 10_001)
    check_read(xp, x, a, rows)
    check_read(xp, x.T, a.T, (slice(None), rows))
    check_read(xp, x, a, (rows, rows[::-1] % 407))
    check_write(xp, x, a, a % 7 == 0, -1)
    permutation = rng.permutation(301)
    check_write(xp, x, a, permutation, a[::-1].copy())


def test_keys_of_numpys(xp):
    """NumPy's arrays of integers and bools are places as well as ours or a list are; floats are none."""
    a = np.arange(12).reshape(3, 4)
    for key in (np.array([2, 0]), a > 5, (slice(None), np.array([True, False, True, False])), np.array([], np.int64)):
        x, b = xp.asarray(a), a.copy()
        assert_same_bits(xp.asnumpy(x[key]), a[key])
        x[key] = b[key] = -1
        assert_same_bits(xp.asnumpy(x), b)
    with pytest.raises(IndexError, match="integer or boolean"):
        xp.asarray(a)[np.array([1.0])]


def test_assigned_values_stay_as_they_are(xp):
    """Also arrays of one value, which are deferred: an assignment reads its right-hand side and no more."""
    for key in (np.array([2, 0]), np.array([True, False, True]), slice(1, 3), (np.array([0, 1]), ...)):
        for value in (xp.full(2, 7.0), xp.zeros(2, dtype=xp.int64), xp.ones(2) * 3, xp.full((), 2.0)):
            x, before, shape = xp.zeros(3), xp.asnumpy(value).copy(), value.shape
            a = xp.asnumpy(x)
            x[ours(xp, key)] = value
            a[key] = before
            assert_same_bits(xp.asnumpy(x), a)
            assert value.shape == shape
            assert_same_bits(xp.asnumpy(value), before)


def test_masks_without_elements(xp):
    """A mask's size along an axis may be 0 where the array's is not, and no other; then nothing is read or written."""
    for shape in itertools.product([0, 1, 2, 3], repeat=2):
        for sizes in [*itertools.product([0, 1, 2, 3], repeat=2), (0,), (1,), (2,), (3,)]:
            a, mask = np.ones(shape), np.zeros(sizes, bool)
            x, ours = xp.asarray(a), xp.asarray(mask)
            if all(size in (whole, 0) for size, whole in zip(sizes, shape, strict=False)):
                assert_same_bits(xp.asnumpy(x[ours]), a[mask])
                x[ours] = 2.0
            else:
                with pytest.raises(IndexError, match="boolean index"):
                    x[ours]
                with pytest.raises(IndexError, match="boolean index"):
                    x[ours] = 2.0
            assert_same_bits(xp.asnumpy(x), a)


def test_writes_that_read_themselves(xp):
    """The right-hand side is read first, and so are pending readers."""
    a = np.arange(10)
    x = xp.asarray(a)
    pending = x + 1
    order = np.array([3, 1, 4, 0])
    x[xp.asarray(order)] = x[:4]
    a[order] = a[:4].copy()
    assert_same_bits(xp.asnumpy(x), a)
    assert pending.tolist() == list(range(1, 11))
    x[x > 4] = x[x > 4][::-1]
    a[a > 4] = a[a > 4][::-1].copy()
    assert_same_bits(xp.asnumpy(x), a)
    pending = x * 2
    x[x >= 0] = 0
    assert (pending.tolist(), x.tolist()) == ((a * 2).tolist(), [0] * 10)


def test_values_are_cast_and_broadcast(xp):
    x = xp.zeros((2, 3), dtype=xp.int16)
    x[0] = 1.9
    x[1] = [1, 2, 3]
    assert x.tolist() == [[1, 1, 1], [1, 2, 3]]
    x[...] = xp.asarray([[4.7], [-5.2]])
    assert x.tolist() == [[4] * 3, [-5] * 3]
    x[:, 0] = np.float64(8.5)
    x[:, 1:] = xp.asarray(2**16 + 7)
    assert x.tolist() == [[8, 7, 7]] * 2
    x[xp.asarray([1])] = [[9, 9, 9]]
    assert x[1].tolist() == [9, 9, 9]


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype != BFLOAT16])
@pytest.mark.filterwarnings("ignore")
def test_scalars_assigned(name, xp):
    """Cast or refused as NumPy has it for slices: signed integers take no scalar out of range, unsigned ones wrap it.

    With arrays as indices NumPy wraps those that are NumPy's; here the index makes no difference.
    """
    numbers = [-1, 300, 2**31, 2**63, 2**64 - 1, 2**64, 1.5, 1e30, float("nan"), True, 1 + 2j]
    scalars = [np.uint64(2**64 - 1), np.int64(300), np.int64(-1), np.float64(1e30), np.float64("nan"), np.bool_(True)]
    for value in (*numbers, *scalars, np.float32(1.5), np.complex64(1 + 2j)):
        a = np.zeros(2, DTYPES[name])
        try:
            a[:] = value
        except (TypeError, ValueError, OverflowError) as error:
            raised = type(error)
        else:
            raised = None
        for key in (slice(None), (..., np.array([0, 1])), np.array([True, True])):
            x = xp.zeros(2, dtype=DTYPES[name])
            if raised:
                refused(xp, raised, lambda x=x, key=key, value=value: x.__setitem__(ours(xp, key), value), x)
            else:
                x[ours(xp, key)] = value
                assert_same_bits(xp.asnumpy(x), a)


def refused(xp, error, act, *arrays):
    """`act` raises, and nothing of the arrays has changed."""
    before = [xp.asnumpy(a) for a in arrays]
    with pytest.raises(error):
        act()
    for a, b in zip(arrays, before, strict=True):
        assert_same_bits(xp.asnumpy(a), b)


@pytest.mark.parametrize(
    ("error", "key"),
    [
        (IndexError, 4),
        (IndexError, -5),
        (IndexError, (0, 5)),
        (IndexError, (0, 0, 0)),
        (IndexError, (..., 0, ...)),
        (IndexError, 1.0),
        (IndexError, "a"),
        (IndexError, [0.5]),
        (IndexError, np.zeros(2)),
        (IndexError, np.ones(5, bool)),
        (IndexError, np.ones((4, 4), bool)),
        (IndexError, (np.array([0, 1]), np.array([0, 1, 2]))),
        (ValueError, slice(None, None, 0)),
        (TypeError, slice(0.5, 2)),
    ],
    ids=str,
)
def test_bad_keys(error, key, xp):
    """NumPy's exceptions, for reading and writing; nothing is written."""
    a = numbered((4, 5))
    x = xp.asarray(a)
    key_of_ours = ours(xp, key)
    with pytest.raises(error):
        a[key]
    refused(xp, error, lambda: x[key_of_ours], x)
    refused(xp, error, lambda: x.__setitem__(key_of_ours, 1), x)


def test_indices_out_of_range(xp, device):
    """At once on the CPU, where nothing is written; at the next synchronising call on a GPU."""
    x = xp.asarray(numbered((4, 5)))
    for bad in ([0, 4], [-5], [2**40]):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 4"):
            xp.asnumpy(x[xp.asarray(bad)])
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 4"):
            x[xp.asarray(bad)] = 1
            xp.synchronize()
    assert_same_bits(xp.asnumpy(x)[1:], numbered((4, 5))[1:])
    if device.backend == "cpu":
        assert_same_bits(xp.asnumpy(x), numbered((4, 5)))


@pytest.mark.parametrize(
    "key", [(0, [9]), (None, [9]), (slice(None), None, [9]), ([0], [9]), (..., [9], 0), ([True] * 4, 9)]
)
def test_errors_name_the_axis_of_the_array(key, xp):
    a = numbered((4, 5, 6))
    with pytest.raises(IndexError) as theirs:
        a[key]
    with pytest.raises(IndexError) as found:
        xp.asarray(a)[ours(xp, key)]
        xp.synchronize()
    assert str(found.value).split(" is ")[1] == str(theirs.value).split(" is ")[1]


def test_no_integer_names_an_element_of_an_empty_axis(xp):
    """Though none is looked up, where another index is empty."""
    x, zero = xp.zeros((5, 0, 3)), xp.asarray(0)
    for key in ((slice(None), zero), ([], zero), (False, 0, zero)):
        with pytest.raises(IndexError, match="axis 1 with size 0"):
            x[key]


def test_an_error_keeps_its_message(xp):
    """Whatever follows before the device is waited for."""
    x, few = xp.asarray(numbered((4, 5))), xp.asarray(numbered((3,)))
    with pytest.raises(IndexError, match="axis 0 with size 4"):
        wrong = x[xp.asarray([4])]
        for _ in range(20):
            few[xp.asarray([2])] = few[xp.asarray([0])]
        xp.asnumpy(wrong)
    assert few[xp.asarray([1])].tolist() == [2]


def test_bad_values(xp):
    x = xp.asarray(numbered((4, 5)))
    for value in (xp.zeros(4), xp.zeros((4, 5, 1)), xp.zeros((2, 4, 5)), [1, 2]):
        refused(xp, ValueError, lambda value=value: x.__setitem__(..., value), x)
        refused(xp, ValueError, lambda value=value: x.__setitem__(x > 0, value), x)
        refused(xp, ValueError, lambda value=value: x.__setitem__(xp.asarray([0, 1, 2, 3]), value), x)
    refused(xp, TypeError, lambda: x.__setitem__(0, 1j), x)
    refused(xp, ValueError if x.device.backend == "cpu" else TypeError, lambda: x.__setitem__(0, np.zeros(4)), x)
    refused(xp, ValueError, lambda: x.__setitem__(0, "word"), x)
    refused(xp, OverflowError, lambda: x.__setitem__(0, 2**40), x)
    refused(xp, ValueError, lambda: x.__setitem__(0, float("nan")), x)


def test_masks_take_little_memory(xp):
    """x[mask] needs no more than its result, one int64 per selected element and block counts."""
    n = 4_000_000
    x = xp.realize(xp.zeros(n, dtype=xp.int8))
    mask = xp.realize(xp.arange(n) % 10 == 0)
    xp.realize(x[mask])
    xp.empty_cache()
    info = xp.memory_info()
    xp.memory_limit(info.live + info.cached + n // 10 * (1 + 8) + (1 << 21))
    try:
        assert xp.realize(x[mask]).shape == (n // 10,)
    finally:
        xp.memory_limit(None)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float32", "int64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (5, 1100), (1, 2, 3, 4), (3, 2000, 2)])
def test_one_index_along_an_axis(xp, rng, dtype, shape):
    """`take`, an integer array between slices and `take_along_axis`, over views whose axes lie in any order."""
    host = rng.integers(0, 100, shape).astype(dtype)
    x = xp.asarray(host)
    order = tuple(rng.permutation(len(shape)).tolist())
    for a, ours in [(host, x), (host[::-1], xp.flip(x, axis=0)), (host.transpose(order), xp.permute_dims(x, order))]:
        for axis, n in enumerate(a.shape):
            k = rng.integers(-min(n, 100), min(n, 100), (4, 2))
            for kind in ("int64", "int8"):
                assert np.array_equal(xp.asnumpy(xp.take(ours, xp.asarray(k.astype(kind)), axis=axis)), a.take(k, axis))
            key = (slice(None),) * axis
            assert np.array_equal(xp.asnumpy(ours[(*key, xp.asarray(k))]), a[(*key, k)])
            each = rng.integers(-n, n, (*a.shape[:axis], 3, *a.shape[axis + 1 :]))
            expected = np.take_along_axis(a, each, axis)
            assert np.array_equal(xp.asnumpy(xp.take_along_axis(ours, xp.asarray(each), axis=axis)), expected)


SEQUENCES = {
    "range": range(2),
    "ranges": (range(2), range(1, 3)),
    "tuples": ((0, 1), (1, 2)),
    "tuple after a slice": (slice(None), (0, 2)),
    "range before an ellipsis": (range(3, 0, -1), ...),
    "bools": ((True, False, True, False), 0),
    "nested": [(0, 1), (1, 2)],
    "empty": (slice(None), ()),
    "no range": range(0),
}


@pytest.mark.parametrize("key", SEQUENCES.values(), ids=SEQUENCES)
def test_sequences_stand_for_arrays(key, xp):
    """A tuple within an index, a range and a list are arrays of places, as NumPy has it."""
    a = numbered((4, 4))
    x = xp.asarray(a)
    assert x[key].tolist() == a[key].tolist()
    x[key] = -1
    a[key] = -1
    assert x.tolist() == a.tolist()


@pytest.mark.parametrize("key", [{0}, {0: 1}.values(), (slice(None), (0.5, 1)), ((0, "a"),), [slice(0, 1)]], ids=str)
def test_what_stands_for_no_array(key, xp):
    for x in (np.zeros((2, 2)), xp.zeros((2, 2))):
        with pytest.raises(IndexError):
            x[key]


def test_elements_and_sums_are_integers(xp):
    """They index as NumPy's scalars: what they leave of the array is a view, and they name elements."""

    def use(m):
        x, order = m.asarray(numbered((4, 4))), m.asarray([2, 0, 3, 1])
        k, largest = order[0], m.argmax(order)
        row, column, rest = x[largest], x[:, k], x[1:, None, k]
        row[0] = -1
        x[k][1] = -2
        column[...] += 100
        rest[0] = 7
        x[order[1]] *= 2
        x[order[3], order[2]] = -5
        x[largest, -1] += x[k, order[1]]
        return x, row, column, rest, x[order[1], 1], order[order[order[0]]]

    assert [r.tolist() for r in use(xp)] == [r.tolist() for r in use(np)]
    x = xp.zeros((2, 2))
    for key in (xp.asarray([5])[0], (xp.asarray([5])[0], 0), (0, xp.asarray([-3])[0])):
        for act in (lambda key=key: x[key], lambda key=key: x.__setitem__(key, 1)):
            with pytest.raises(IndexError, match=r"out of (bounds|range)"):
                act()
                xp.synchronize()  # on a GPU the index is looked at by the kernel


def test_elements_and_sums_wait_for_views_alone(xp, device):
    """On a GPU an index that is not on the host is waited for where a view starts at it, and nowhere else."""
    if device.backend == "cpu":
        pytest.skip("nothing is waited for")
    x, order = xp.asarray(numbered((4, 4))), xp.asarray([2, 0, 3, 1])
    k = xp.argmax(order)

    def read(act):
        before = xp.counters()
        act()
        return (xp.counters() - before)["bytes_to_host"]

    assert read(lambda: (x[k, k], x[k, order], order[k], x.__setitem__(k, 1), x.__setitem__((k, 0), 2))) == 0
    assert read(lambda: x[k]) == 8
