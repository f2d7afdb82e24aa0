"""Manipulation functions of the standard. What can be a view is one, with NumPy's aliasing."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from nbx_array import _indexing, _statistical
from nbx_array._array import Array, cast, flat_view, view_basic, view_of
from nbx_array._array import broadcast_to as _broadcast
from nbx_array._array import copy as copied
from nbx_array._creation import _array, _arrays, _new, _shape, _sizes, arange, asarray
from nbx_array._data_types import as_dtype, result_type
from nbx_array._expression import describe, fill, from_view, realize, strides_of
from nbx_array._order import resolved
from nbx_array._out import deliver
from nbx_array._searching import searchsorted
from nbx_array.memory import view as geometry

INT64 = np.dtype(np.int64)


def _axes(axis: Any, ndim: int, name: str) -> tuple[int, ...]:
    try:
        return geometry.normalize_axes(axis, ndim)
    except AxisError as error:
        raise AxisError(f"{name}: {error}") from None
    except TypeError:
        raise TypeError(f"{name}: an axis is an integer, not {axis!r}") from None


def _integers(value: Any, name: str, what: str) -> tuple[int, ...]:
    """One integer or several, none of them negative, as a tuple."""
    try:
        numbers = tuple(map(operator.index, _sizes(value)))
    except TypeError:
        raise TypeError(f"{name}: {what} is an integer or a tuple of integers, not {value!r}") from None
    if any(number < 0 for number in numbers):
        raise ValueError(f"{name}: {what} must not be negative, got {value!r}")
    return numbers


def broadcast_to(array: Array, shape: tuple[int, ...], subok: bool = False) -> Array:
    """A view of `array` stretched to a shape, with zero strides along the stretched dimensions.

    Raises ValueError where `array` does not broadcast to the shape. Standard: manipulation functions, `broadcast_to`.

    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], device='cpu')
    """
    array = _array(array, "broadcast_to")
    dims = _shape(shape, array.dtype, "broadcast_to")
    try:
        return _broadcast(array, dims)
    except ValueError as error:
        raise ValueError(f"broadcast_to: {error}") from None


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Views of the arrays stretched to their common shape.

    Raises ValueError where there is none. Standard: manipulation functions, `broadcast_arrays`.

    >>> [a.shape for a in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [(2, 3), (2, 3)]
    """
    try:
        arrays = tuple(_array(x, "broadcast_arrays") for x in arrays)
        shape = geometry.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError as error:
        raise ValueError(f"broadcast_arrays: {error}") from None
    return tuple(_broadcast(x, shape) for x in arrays)


def broadcast_shapes(*shapes: int | tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of shapes; an integer is a shape of one dimension.

    Raises ValueError where there is none. Standard: manipulation functions, `broadcast_shapes`.

    >>> xp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    try:
        return geometry.broadcast_shapes(*map(_sizes, shapes))
    except ValueError as error:
        raise ValueError(f"broadcast_shapes: {error}") from None


def concat(
    arrays: Sequence[Array],
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Array:
    """The arrays joined along an axis; flattened first if axis is None.

    The dtype is the common one, or `dtype`, where `casting` allows it: else TypeError; `out` takes the result. Raises
    ValueError for no arrays or shapes that differ elsewhere than along the axis. Each array is evaluated straight into
    its place. Standard: manipulation functions, `concat`.

    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])])
    Array([1, 2, 3], device='cpu')
    """
    parts = _arrays(arrays, "concat")
    if not parts:
        raise ValueError("concat: at least one array is required")
    if axis is None:
        parts, axis = [reshape(x, (-1,)) for x in parts], 0
    ndim = parts[0].ndim
    if ndim == 0:
        raise ValueError("concat: zero-dimensional arrays cannot be joined; use stack")
    (along,) = _axes(axis, ndim, "concat")
    for x in parts:
        if x.ndim != ndim or any(
            i != along and a != b for i, (a, b) in enumerate(zip(x.shape, parts[0].shape, strict=True))
        ):
            shapes = ", ".join(str(part.shape) for part in parts)
            raise ValueError(f"concat: shapes {shapes} differ elsewhere than along axis {along}")
    target = result_type(*(x.dtype for x in parts)) if dtype is None else as_dtype(dtype, "concat")
    _check_casts("concat", parts, target if dtype is not None else None, casting)
    length = sum([x.shape[along] for x in parts])
    whole = _new((*parts[0].shape[:along], length, *parts[0].shape[along + 1 :]), target, _one_device(parts, "concat"))
    strides, start = strides_of(whole), 0
    for x in parts:
        _put(whole, x, strides, start * strides[along])
        start += x.shape[along]
    return deliver("concat", whole, out)


def _put(whole: Array, part: Array, strides: tuple[int, ...], offset: int) -> None:
    """Evaluate an array into its place in a new one."""
    if 0 not in part.dims:
        fill(view_of(whole, part.dims, strides, offset), cast(part, whole.sig.dtype))


def _check_casts(name: str, parts: Sequence[Array], target: np.dtype | None, casting: str) -> None:
    """TypeError where an array is not cast to a dtype that was asked for by a rule."""
    for x in parts if target is not None else ():
        if not np.can_cast(x.dtype, target, casting):  # type: ignore[arg-type]
            raise TypeError(f"{name}: cannot cast from {x.dtype} to {target} by the rule {casting!r}")


def _one_device(parts: Sequence[Array], name: str) -> Any:
    device = parts[0].device
    for x in parts:
        if x.device is not device:
            raise ValueError(f"{name}: arrays lie on {device} and {x.device}; move one with to_device")
    return device


def stack(
    arrays: Sequence[Array], axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    """The arrays, all of one shape, joined along a new axis.

    Raises ValueError for no arrays or shapes that differ. Standard: manipulation functions, `stack`.

    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    Array([[1, 2],
           [3, 4]], device='cpu')
    """
    parts = _arrays(arrays, "stack")
    if not parts:
        raise ValueError("stack: at least one array is required")
    if len({x.shape for x in parts}) > 1:
        raise ValueError(f"stack: arrays must have one shape, got {', '.join(str(x.shape) for x in parts)}")
    shape = parts[0].dims
    (new,) = _axes(axis, len(shape) + 1, "stack")
    target = result_type(*(x.dtype for x in parts)) if dtype is None else as_dtype(dtype, "stack")
    _check_casts("stack", parts, target if dtype is not None else None, casting)
    whole = _new((*shape[:new], len(parts), *shape[new:]), target, _one_device(parts, "stack"))
    strides = strides_of(whole)
    for k, x in enumerate(parts):
        _put(whole, x, (*strides[:new], *strides[new + 1 :]), k * strides[new])
    return deliver("stack", whole, out)


def expand_dims(a: Array, axis: int | tuple[int, ...]) -> Array:
    """A view with new axes of length 1 at the given places of the result.

    Raises IndexError (numpy's AxisError) for a place outside the result.
    Standard: manipulation functions, `expand_dims`.

    >>> xp.expand_dims(xp.asarray([1, 2]), axis=0).shape
    (1, 2)
    """
    a = _array(a, "expand_dims")
    shape, strides = list(a.dims), list(strides_of(a))
    if axis is None:
        raise TypeError("expand_dims: an axis is an integer, not None")
    count = len(_sizes(axis))
    for place in sorted(_axes(axis, len(shape) + count, "expand_dims")):
        shape.insert(place, 1)
        strides.insert(place, 0)
    return view_of(a, tuple(shape), tuple(strides))


def squeeze(a: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view without the given axes, which must have length 1; None takes all axes of length 1.

    Raises ValueError for an axis of another length. Standard: manipulation functions, `squeeze`.

    >>> xp.squeeze(xp.ones((1, 3)), axis=0).shape
    (3,)
    """
    a = _array(a, "squeeze")
    shape, strides = a.dims, strides_of(a)
    if axis is None:
        gone: Sequence[int] = [i for i, size in enumerate(shape) if size == 1]
    else:
        gone = _axes(axis, len(shape), "squeeze")
    for i in gone:
        if shape[i] != 1:
            raise ValueError(f"squeeze: axis {i} of shape {shape} has length {shape[i]}, not 1")
    kept = [i for i in range(len(shape)) if i not in gone]
    return view_of(a, tuple([shape[i] for i in kept]), tuple([strides[i] for i in kept]))


def flip(m: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view that runs backwards along the given axes, along all if None. Standard: manipulation functions, `flip`.

    >>> xp.flip(xp.asarray([1, 2, 3]))
    Array([3, 2, 1], device='cpu')
    """
    m = _array(m, "flip")
    return view_of(m, m.dims, *geometry.flip(m.dims, strides_of(m), 0, _axes(axis, m.ndim, "flip")))


def permute_dims(a: Array, axes: tuple[int, ...]) -> Array:
    """A view with the axes in the given order.

    Raises ValueError where the axes are no permutation. Standard: manipulation functions, `permute_dims`.

    >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    a = _array(a, "permute_dims")
    try:
        shape, strides = geometry.transpose(a.dims, strides_of(a), axes)
    except (ValueError, AxisError) as error:
        raise type(error)(f"permute_dims: {error}") from None
    except TypeError:
        raise TypeError(f"permute_dims: axes are a sequence of integers, not {axes!r}") from None
    return view_of(a, shape, strides)


def moveaxis(
    a: Array,
    source: int | tuple[int, ...],
    destination: int | tuple[int, ...],
) -> Array:
    """A view with axes moved to other places, the rest in their order.

    Raises ValueError where the numbers of axes differ or one is named twice.
    Standard: manipulation functions, `moveaxis`.

    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = _array(a, "moveaxis")
    ndim = a.ndim
    origin = _axes(source, ndim, "moveaxis")
    goal = _axes(destination, ndim, "moveaxis")
    if len(origin) != len(goal):
        raise ValueError(f"moveaxis: {len(origin)} source axes and {len(goal)} destinations")
    shape, strides = a.dims, strides_of(a)
    if origin == goal:
        return view_of(a, shape, strides)
    order = geometry.move_axes(origin, goal, ndim)
    return view_of(a, tuple([shape[i] for i in order]), tuple([strides[i] for i in order]))


def reshape(x: Array, /, shape: tuple[int, ...], order: str = "C", *, copy: bool | None = None) -> Array:
    """The elements in C order in another shape, one length of which may be -1; with order "F" in Fortran's order.

    order: "A" is "F" for an array that lies so in memory, else "C".
    copy: None gives a view where the strides allow it, True always copies, False raises ValueError where a copy would
    be needed. Raises ValueError where the sizes differ. Standard: manipulation functions, `reshape`.

    >>> xp.reshape(xp.asarray([1, 2, 3, 4]), (2, -1))
    Array([[1, 2],
           [3, 4]], device='cpu')
    """
    x = _array(x, "reshape")
    if order != "C" and resolved("reshape", order, x, "CFA") == "F":
        return reshape(x.T, _sizes(shape)[::-1], copy=copy).T
    try:
        dims = geometry.infer_shape(math.prod(x.shape), _sizes(shape))
    except ValueError as error:
        raise ValueError(f"reshape: {error}") from None
    except TypeError:
        raise TypeError(f"reshape: a shape is an integer or a tuple of integers, not {shape!r}") from None
    own = strides_of(x)
    if not copy and not x.sig.general and x.sig.op == "leaf":
        return flat_view(x, dims)
    strides = geometry.reshape_strides(x.dims, own, dims)
    if strides is None and copy is False:
        raise ValueError(f"reshape: shape {x.shape} with strides {own} cannot be seen as {dims} without a copy")
    if strides is None or copy:
        x, strides = realize(copied(x)), geometry.contiguous_strides(dims)
    return view_of(x, dims, strides)


def repeat(a: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """Each element of `a` along an axis, as often in a row as `repeats` says; of `a` flattened if axis is None.

    repeats: an integer, or an array of integers with one for each place along the axis, or one for all. An array is
    looked at to find the result's length, so the function waits for the device. Raises ValueError for a negative
    number or a length that differs. Standard: manipulation functions, `repeat`.

    >>> xp.repeat(xp.asarray([1, 2]), 2)
    Array([1, 1, 2, 2], device='cpu')
    """
    a = _array(a, "repeat")
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    (along,) = _axes(axis, a.ndim, "repeat")
    if isinstance(repeats, (list, tuple)):
        repeats = asarray(repeats, device=a.device)
    if isinstance(repeats, Array):
        return _repeat_each(a, repeats, along)
    (count,) = _integers(repeats, "repeat", "the number of repeats")
    view = a.memory()
    shape = (*view.shape[: along + 1], count, *view.shape[along + 1 :])
    strides = (*view.strides[: along + 1], 0, *view.strides[along + 1 :])
    size = _checked(view, "repeat", along, view.shape[along] * count)
    return reshape(from_view(Array, view._replace(shape=shape, strides=strides)), size, copy=True)


def _repeat_each(x: Array, repeats: Array, axis: int) -> Array:
    """`repeat` with an array of numbers: an element of the result comes from the first place that ends after it."""
    if repeats.dtype.kind not in "biu" or repeats.ndim > 1:
        raise TypeError(f"repeat: repeats must be integers in at most 1 dimension, not {describe(repeats)}")
    n = x.shape[axis]
    if repeats.size != n and repeats.size != 1:
        raise ValueError(f"repeat: {repeats.size} numbers of repeats and {n} places along axis {axis} of {x.shape}")
    counts = cast(repeats, INT64)
    ends = _statistical.cumulative_sum(_broadcast(counts, (n,)))
    if not n:
        return copied(x)
    least, total = stack([_statistical.min(counts), ends[-1]]).tolist()
    if least < 0:
        raise ValueError(f"repeat: the number of repeats must not be negative, got {least}")
    _checked(x.memory(), "repeat", axis, total)
    return _indexing.take(x, searchsorted(ends, arange(total, device=x.device), side="right"), axis, exact=True)


def _checked(view: geometry.View, name: str, axis: int, length: int) -> tuple[int, ...]:
    """A view's shape with another length along one axis; ValueError where that is too much."""
    shape = (*view.shape[:axis], length, *view.shape[axis + 1 :])
    try:
        geometry.check_shape(shape, view.dtype.itemsize)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return shape


def roll(a: Array, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array:
    """The elements moved along axes, those that leave at one end coming in at the other.

    shift: how far, towards higher indices; a tuple goes with a tuple of axes. axis: None moves the elements in C order.
    Raises ValueError where the numbers of shifts and axes differ. Standard: manipulation functions, `roll`.

    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    Array([3, 1, 2], device='cpu')
    """
    a = _array(a, "roll")
    if axis is None:
        return reshape(roll(reshape(a, (-1,)), shift, axis=0), a.shape)
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError(f"roll: {len(shifts)} shifts and {len(axes)} axes")
    ndim = a.ndim
    distances = [0] * ndim
    count = max(len(shifts), len(axes))
    if not all(hasattr(s, "__index__") for s in shifts):
        raise TypeError(f"roll: a shift is an integer, not {shift!r}")
    for s, d in zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True):
        distances[_axes(d, ndim, "roll")[0]] += operator.index(s)
    own = strides_of(a)
    out = _new(a.dims, a.sig.dtype, a.sig.device)
    if 0 in a.dims:
        return out
    strides = strides_of(out)
    # Along each axis the elements fall into those that stay in order and those that come in again: where a piece goes,
    # where it comes from, and its length.
    pieces = [
        [(d, 0, n - d), (0, n - d, d)] if d else [(0, 0, n)]
        for n, d in ((n, distance % n) for n, distance in zip(a.dims, distances, strict=True))
    ]
    for piece in itertools.product(*pieces):
        shape = tuple([length for _, _, length in piece])
        goal = sum([place * stride for (place, _, _), stride in zip(piece, strides, strict=True)])
        origin = sum([place * stride for (_, place, _), stride in zip(piece, own, strict=True)])
        fill(view_of(out, shape, strides, goal), view_of(a, shape, own, origin))
    return out


def tile(A: Array, reps: int | tuple[int, ...]) -> Array:
    """The whole of `A` side by side, as often along each axis as `reps` says.

    Where `A` has fewer dimensions than there are repetitions it gets leading ones; where it has more, the leading ones
    are not repeated. Raises ValueError for a negative number. Standard: manipulation functions, `tile`.

    >>> xp.tile(xp.asarray([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], device='cpu')
    """
    view = _array(A, "tile").memory()
    counts = _integers(reps, "tile", "reps")
    ndim = max(len(counts), len(view.shape))
    counts = (1,) * (ndim - len(counts)) + counts
    sizes = (1,) * (ndim - len(view.shape)) + view.shape
    strides = (0,) * (ndim - len(view.shape)) + view.strides
    shape = tuple(count * size for count, size in zip(counts, sizes, strict=True))
    try:
        geometry.check_shape(shape, view.dtype.itemsize)
    except ValueError as error:
        raise ValueError(f"tile: {error}") from None
    repeated = view._replace(
        shape=tuple(n for pair in zip(counts, sizes, strict=True) for n in pair),
        strides=tuple(s for stride in strides for s in (0, stride)),
    )
    return reshape(from_view(Array, repeated), shape, copy=True)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of x at each place along an axis, which they lack: views.

    Raises ValueError for a 0-d array. Standard: manipulation functions, `unstack`.

    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (Array([1, 2], device='cpu'), Array([3, 4], device='cpu'))
    """
    x = _array(x, "unstack")
    if not x.shape:
        raise ValueError("unstack: expected at least 1 dimension, got a 0-d array")
    (along,) = _axes(axis, x.ndim, "unstack")
    return tuple(view_basic(x, (*(slice(None),) * along, i)) for i in range(x.shape[along]))
