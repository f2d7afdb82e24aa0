"""Geometry of views against NumPy's, on random shapes, strides and indices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from nbx_array.backend.contract import get_device
from nbx_array.memory import view as geometry
from nbx_array.memory.storage import wrap
from nbx_array.memory.view import View

ITEMSIZE = 8
CPU = get_device("cpu")

shapes = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)


@st.composite
def strided_arrays(draw, max_dims=5):
    """An ndarray of int64, each element numbered, sliced, flipped, repeated by a stride of 0 and transposed at random,
    and the array that owns its memory."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=max_dims, min_side=0, max_side=5))
    base = np.arange(math.prod(shape) * 4, dtype=np.int64)[: math.prod(shape)].reshape(shape)
    array = base[draw(hnp.basic_indices(shape, allow_newaxis=True))]
    if not isinstance(array, np.ndarray):
        array = base
    repeats = draw(st.sampled_from([None, None, 1, 3]))
    if repeats is not None:
        array = np.broadcast_to(array[..., None], (*array.shape, repeats))
    return array.transpose(draw(st.permutations(range(array.ndim)))), base


def elements(array: np.ndarray, base: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides and offset of an array within its base, in elements."""
    address = array.__array_interface__["data"][0] if array.size else base.ctypes.data
    return array.shape, tuple(s // ITEMSIZE for s in array.strides), (address - base.ctypes.data) // ITEMSIZE


def show(base: np.ndarray, shape, strides, offset) -> np.ndarray:
    """What our geometry shows of a base, read one element at a time."""
    flat = base.reshape(-1)
    values = [
        flat[offset + sum(i * s for i, s in zip(index, strides, strict=True))]
        for index in itertools.product(*map(range, shape))
    ]
    return np.array(values, dtype=base.dtype).reshape(shape)


def outcome(call):
    """The result of a call, or the type of what it raises."""
    try:
        return call()
    except Exception as error:
        return type(error)


# ------------------------------------------------------------------------------------------------ sizes and strides


@given(shapes)
def test_contiguous_strides(shape):
    array = np.zeros(shape, np.int64)
    strides = geometry.contiguous_strides(shape)
    assert geometry.is_contiguous(shape, strides)
    if array.size:
        assert strides == tuple(s // ITEMSIZE for s in array.strides)


@given(strided_arrays())
def test_is_contiguous(pair):
    shape, strides, _ = elements(*pair)
    assert geometry.is_contiguous(shape, strides) == pair[0].flags.c_contiguous


@given(strided_arrays())
def test_span_and_reach(pair):
    array, base = pair
    shape, strides, offset = elements(array, base)
    low, high = geometry.span(shape, strides, offset)
    if array.size:
        assert (low, high - 1) == (array.min(), array.max())  # the values number the elements of the base
        assert geometry.reach(shape, strides) == high - 1 - low
    else:
        assert low == high and geometry.reach(shape, strides) == 0


@given(strided_arrays(), st.data())
def test_collapse_keeps_elements_and_order(pair, data):
    array, base = pair
    shape, strides, offset = elements(array, base)
    packed = geometry.contiguous_strides(shape)
    dims, (collapsed, collapsed_packed) = geometry.collapse(shape, strides, packed)
    flat = np.arange(array.size)
    assert np.array_equal(show(base, dims, collapsed, offset).ravel(), array.ravel())
    assert np.array_equal(show(flat, dims, collapsed_packed, 0).ravel(), flat)
    assert dims == (0,) or (1 not in dims and len(dims) <= len(shape))
    for i in range(len(dims) - 1):  # nothing is left to merge
        assert any(s[i] != s[i + 1] * dims[i + 1] for s in (collapsed, collapsed_packed))


def test_collapse_of_nothing():
    assert geometry.collapse((), ()) == ((), ((),))
    assert geometry.collapse((1, 1), (5, 7)) == ((), ((),))
    assert geometry.collapse((3, 0, 2), (0, 2, 1), (9, 9, 9)) == ((0,), ((0,), (0,)))


def test_collapse_merges_only_where_every_operand_can():
    assert geometry.collapse((2, 3, 4), (12, 4, 1), (0, 4, 1)) == ((2, 12), ((12, 1), (0, 1)))
    assert geometry.collapse((2, 3, 4), (0, 0, 0), (12, 4, 1)) == ((24,), ((0,), (1,)))
    assert geometry.collapse((2, 3, 4), (0, 0, 1), (12, 4, 1)) == ((6, 4), ((0, 1), (4, 1)))
    assert geometry.collapse((2, 3), (-3, -1)) == ((6,), ((-1,),))


@pytest.mark.parametrize(
    ("shape", "strides", "answer"),
    [
        ((2**31 - 1,), (1,), False),
        ((2**31,), (1,), True),
        ((2,), (2**31 - 1,), False),
        ((2,), (2**31,), True),
        ((2,), (-(2**31),), True),
        ((2**16, 2**15), (0, 0), True),
        ((0, 2**40), (2**40, 1), False),
        ((1,), (2**40,), False),
    ],
)
def test_needs_64bit(shape, strides, answer):
    assert geometry.needs_64bit(shape, strides) is answer
    assert geometry.needs_64bit(shape, (0,) * len(shape), strides) is answer


@pytest.mark.parametrize(
    "shape", [(-1,), (2, -3), (2**63,), (0, 2**63), (2**40, 2**40), (0, 2**62, 4), (2**60,), (3, 2**61)]
)
def test_impossible_shapes_raise_as_in_numpy(shape):
    with pytest.raises(ValueError) as theirs:
        np.empty(shape, np.int64)
    with pytest.raises(ValueError) as ours:
        geometry.check_shape(shape, ITEMSIZE)
    assert str(ours.value).split(";")[0] == str(theirs.value).split(";")[0]


@given(shapes)
def test_check_shape_gives_bytes(shape):
    assert geometry.check_shape(shape, ITEMSIZE) == np.zeros(shape, np.int64).nbytes


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 3, 4)])
def test_shape_text(shape):
    with pytest.raises(ValueError) as error:
        np.zeros(shape).reshape(5, 7)
    assert geometry.shape_text((5, 7)) in str(error.value)
    with pytest.raises(ValueError, match="shapes") as error:
        np.zeros(shape or (3,)) + np.zeros((5, 7, 11))
    assert geometry.shape_text(shape or (3,)) in str(error.value)


# ------------------------------------------------------------------------------------------------ broadcasting


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, min_side=0))
def test_broadcast_shapes(found):
    assert geometry.broadcast_shapes(*found.input_shapes) == found.result_shape


@given(shapes, shapes)
def test_broadcast_shapes_or_error(a, b):
    ours = outcome(lambda: geometry.broadcast_shapes(a, b))
    assert ours == outcome(lambda: np.broadcast_shapes(a, b))


def test_broadcast_error_names_shapes():
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(2,3\) \(2,\)"):
        geometry.broadcast_shapes((2, 3), (2,))


@given(strided_arrays(max_dims=3), shapes)
def test_broadcast_strides(pair, target):
    array, base = pair
    shape, strides, offset = elements(array, base)
    ours = outcome(lambda: geometry.broadcast_strides(shape, strides, target))
    theirs = outcome(lambda: np.broadcast_to(array, target))
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        assert np.array_equal(show(base, target, ours, offset), theirs)


# ------------------------------------------------------------------------------------------------ axes


@pytest.mark.parametrize("axis", [True, False, (0, True), np.bool_(True)])
def test_a_bool_is_no_axis(axis):
    """As for NumPy's reductions; its `normalize_axis_index` takes one."""
    with pytest.raises(TypeError):
        geometry.normalize_axes(axis, 3)


@pytest.mark.parametrize("axis", [-4, -3, -1, 0, 2, 3, 2**70, np.int8(-1), 1.0, "0", None])
def test_normalize_axis(axis):
    expected = outcome(lambda: np.lib.array_utils.normalize_axis_index(axis, 3))
    if expected is OverflowError:
        expected = np.exceptions.AxisError  # ours are not confined to 32 bits
    assert outcome(lambda: geometry.normalize_axis(axis, 3)) == expected


@pytest.mark.parametrize("axis", [None, 0, -1, (), (0, 2), (2, -3), (0, 0), (1, -2), (3,), (0.5,), [0, 1]])
def test_normalize_axes(axis):
    expected = outcome(lambda: tuple(range(3)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, 3))
    assert outcome(lambda: geometry.normalize_axes(axis, 3)) == expected


@given(strided_arrays(), st.data())
def test_transpose_and_flip(pair, data):
    array, base = pair
    shape, strides, offset = elements(array, base)
    axes = data.draw(st.permutations(range(array.ndim)))
    assert np.array_equal(show(base, *geometry.transpose(shape, strides, axes), offset), array.transpose(axes))
    some = data.draw(st.sets(st.sampled_from(axes))) if axes else set()
    assert np.array_equal(show(base, shape, *geometry.flip(shape, strides, offset, some)), np.flip(array, tuple(some)))


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (1, 0), (-1, 0), (1, 0, 2)])
def test_transpose_errors(axes):
    ours = outcome(lambda: geometry.transpose((2, 3), (3, 1), axes))
    theirs = outcome(lambda: np.zeros((2, 3), np.int64).transpose(axes))
    assert ours is theirs if isinstance(theirs, type) else ours == elements(theirs, theirs)[:2]


# ------------------------------------------------------------------------------------------------ indexing


@given(strided_arrays(), st.data())
def test_basic_index(pair, data):
    array, base = pair
    key = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True))
    shape, strides, offset = geometry.basic_index(*elements(array, base), key)
    assert np.array_equal(show(base, shape, strides, offset), array[key])


integers = st.integers(-7, 7) | st.sampled_from([2**63, -(2**63) - 1, 2**31])
slices = st.builds(slice, st.none() | integers, st.none() | integers, st.none() | integers)
bad = st.sampled_from(["a", 1.5, slice(1.5), slice(None, None, 0)])


@given(shapes, st.lists(integers | slices | st.none() | st.just(Ellipsis) | bad, max_size=5).map(tuple))
@settings(max_examples=300)
def test_any_key_gives_what_numpy_gives(shape, key):
    base = np.arange(math.prod(shape)).reshape(shape)
    theirs = outcome(lambda: base[key])
    ours = outcome(lambda: geometry.basic_index(shape, geometry.contiguous_strides(shape), 0, key))
    if isinstance(theirs, type):
        assert isinstance(ours, type)
    else:
        assert np.array_equal(show(base, *ours), theirs)
        low, high = geometry.span(*ours)
        assert 0 <= low <= high <= base.size  # even where it has no elements


@pytest.mark.parametrize(
    "key", [5, -3, (0, 3), (0, 0, 0), (..., ...), "a", 1.5, slice(None, None, 0), slice(1.5), (None, 0, 7), (0, ..., 3)]
)
def test_index_errors_have_numpys_words(key):
    with pytest.raises((IndexError, ValueError, TypeError)) as theirs:
        np.zeros((2, 3))[key]
    with pytest.raises(type(theirs.value)) as ours:
        geometry.basic_index((2, 3), (3, 1), 0, key)
    assert str(ours.value).startswith(str(theirs.value))


def test_index_beyond_31_bits():
    shape, strides, offset = geometry.basic_index((2**40,), (1,), 0, slice(None, None, 2**30 + 1))
    assert (shape, strides, offset) == ((1023 + 1,), (2**30 + 1,), 0)
    assert geometry.basic_index((2**33,), (1,), 0, -1) == ((), (), 2**33 - 1)


# ------------------------------------------------------------------------------------------------ reshaping


def factorings(size: int):
    """Shapes with the given number of elements, ones among them."""
    return [s for n in range(5) for s in itertools.product((0, 1, 2, 3, 4, 6, 12, size), repeat=n)
            if math.prod(s) == size]  # fmt: skip


@given(strided_arrays(), st.data())
def test_reshape_without_copy_where_numpy_does(pair, data):
    array, base = pair
    new_shape = data.draw(st.sampled_from(factorings(array.size)))
    shape, strides, offset = elements(array, base)
    ours = geometry.reshape_strides(shape, strides, new_shape)
    try:
        theirs = array.reshape(new_shape, copy=False)
    except ValueError:
        assert ours is None
    else:
        assert ours is not None
        assert np.array_equal(show(base, new_shape, ours, offset), theirs)


@pytest.mark.parametrize(
    ("size", "shape"),
    [(6, (-1,)), (6, (2, -1)), (6, (-1, 4)), (6, (-1, -1)), (6, (4,)), (0, (0, -1)), (0, (-1, 3)), (0, (-1, 0)),
     (1, ()), (6, ()), (6, (-2, -3)), (6, (2.0, 3)), (6, (2**40, 2**40))],
)  # fmt: skip
def test_infer_shape(size, shape):
    theirs = outcome(lambda: np.zeros(size).reshape(shape).shape)
    assert outcome(lambda: geometry.infer_shape(size, shape)) == theirs


def test_only_minus_one_is_inferred():
    with pytest.raises(ValueError, match=r"cannot reshape array of size 6 into shape \(-2,3\)"):
        geometry.infer_shape(6, (-2, 3))  # where NumPy takes any negative number for -1


# ------------------------------------------------------------------------------------------------ overlap


def view_of(array: np.ndarray, base: np.ndarray) -> View:
    shape, strides, offset = elements(array, base)
    return View(wrap(base.ctypes.data, base.nbytes, CPU, base), array.dtype, shape, strides, offset)


@given(st.data())
def test_overlap_is_never_missed(data):
    base = np.arange(60).reshape(3, 4, 5)
    a, b = (base[data.draw(hnp.basic_indices(base.shape))] for _ in range(2))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return
    ours = geometry.may_overlap(view_of(a, base), view_of(b, base))
    exact = bool(np.intersect1d(a, b).size)  # the values are distinct
    assert ours or not exact
    if not np.may_share_memory(a, b):
        assert not ours


def test_interleaved_views_do_not_overlap():
    base = np.arange(20)
    assert not geometry.may_overlap(view_of(base[::2], base), view_of(base[1::2], base))
    assert geometry.may_overlap(view_of(base[::2], base), view_of(base[1::3], base))
    assert geometry.may_overlap(view_of(base[1:], base), view_of(base[:-1], base))
    assert geometry.may_overlap(view_of(base[3:4], base), view_of(base[3:4], base))
    storage = wrap(base.ctypes.data, base.nbytes, CPU, base)
    complex_view = View(storage, np.dtype(np.complex64), (20,), (1,))
    real, imag = (View(storage, np.dtype(np.float32), (20,), (2,), offset) for offset in (0, 1))
    assert not geometry.may_overlap(real, imag)
    assert geometry.may_overlap(real, complex_view) and geometry.may_overlap(complex_view, imag)


def test_two_imports_of_the_same_memory_overlap():
    base = np.arange(4)
    assert geometry.may_overlap(view_of(base, base), view_of(base, base))


def test_view_properties():
    base = np.arange(24.0).reshape(4, 6)
    view = view_of(base[1:, ::-2], base)
    assert view.address == base[1:, ::-2].__array_interface__["data"][0]
    assert (view.size, view.nbytes) == (9, 72)
