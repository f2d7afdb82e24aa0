"""Manipulation functions of the standard. What can be a view is one, with NumPy's aliasing."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from numpy.exceptions import AxisError

from nbx_array._array import Array, cast
from nbx_array._array import broadcast_to as _broadcast
from nbx_array._array import copy as copied
from nbx_array._creation import _array, _new
from nbx_array._data_types import result_type
from nbx_array._expression import from_view, realize, write
from nbx_array.memory import view as geometry


def _axes(axis: Any, ndim: int, name: str) -> tuple[int, ...]:
    try:
        return geometry.normalize_axes(axis, ndim)
    except AxisError as error:
        raise AxisError(f"{name}: {error}") from None


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """A view of x stretched to a shape, with zero strides along the stretched dimensions.

    Raises ValueError where x does not broadcast to the shape. Standard: manipulation functions, `broadcast_to`.

    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], device='cpu')
    """
    dims = (operator.index(shape),) if not isinstance(shape, (tuple, list)) else tuple(map(operator.index, shape))
    try:
        geometry.check_shape(dims, x.itemsize if isinstance(x, Array) else 1)
        return _broadcast(_array(x, "broadcast_to"), dims)
    except ValueError as error:
        raise ValueError(f"broadcast_to: {error}") from None


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Views of the arrays stretched to their common shape.

    Raises ValueError where there is none. Standard: manipulation functions, `broadcast_arrays`.

    >>> [a.shape for a in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [(2, 3), (2, 3)]
    """
    try:
        shape = geometry.broadcast_shapes(*(_array(x, "broadcast_arrays").shape for x in arrays))
    except ValueError as error:
        raise ValueError(f"broadcast_arrays: {error}") from None
    return tuple(_broadcast(x, shape) for x in arrays)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of shapes.

    Raises ValueError where there is none. Standard: manipulation functions, `broadcast_shapes`.

    >>> xp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    try:
        return geometry.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ValueError(f"broadcast_shapes: {error}") from None


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """The arrays joined along an axis; flattened first if axis is None.

    The dtype is the common one. Raises ValueError for no arrays or shapes that differ elsewhere than along the axis.
    Each array is evaluated straight into its place. Standard: manipulation functions, `concat`.

    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])])
    Array([1, 2, 3], device='cpu')
    """
    parts = [_array(x, "concat") for x in arrays]
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
    dtype = result_type(*(x.dtype for x in parts))
    length = sum(x.shape[along] for x in parts)
    out = _new((*parts[0].shape[:along], length, *parts[0].shape[along + 1 :]), dtype, _one_device(parts, "concat"))
    start = 0
    for x in parts:
        stop = start + x.shape[along]
        piece = out.view()
        shape, strides, offset = geometry.basic_index(
            piece.shape, piece.strides, piece.offset, (slice(None),) * along + (slice(start, stop),)
        )
        write(from_view(Array, piece._replace(shape=shape, strides=strides, offset=offset)), cast(x, dtype))
        start = stop
    return out


def _one_device(parts: Sequence[Array], name: str) -> Any:
    device = parts[0].device
    for x in parts:
        if x.device is not device:
            raise ValueError(f"{name}: arrays lie on {device} and {x.device}; move one with to_device")
    return device


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """The arrays, all of one shape, joined along a new axis.

    Raises ValueError for no arrays or shapes that differ. Standard: manipulation functions, `stack`.

    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    Array([[1, 2],
           [3, 4]], device='cpu')
    """
    parts = [_array(x, "stack") for x in arrays]
    if not parts:
        raise ValueError("stack: at least one array is required")
    if len({x.shape for x in parts}) > 1:
        raise ValueError(f"stack: arrays must have one shape, got {', '.join(str(x.shape) for x in parts)}")
    (new,) = _axes(axis, parts[0].ndim + 1, "stack")
    return concat([expand_dims(x, axis=new) for x in parts], axis=new)


def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """A view with new axes of length 1 at the given places of the result.

    Raises IndexError (numpy's AxisError) for a place outside the result.
    Standard: manipulation functions, `expand_dims`.

    >>> xp.expand_dims(xp.asarray([1, 2]), axis=0).shape
    (1, 2)
    """
    view = _array(x, "expand_dims").view()
    count = len(axis) if isinstance(axis, tuple) else 1
    places = set(_axes(axis, x.ndim + count, "expand_dims"))
    shape, strides = iter(view.shape), iter(view.strides)
    total = range(x.ndim + count)
    return from_view(
        Array,
        view._replace(
            shape=tuple(1 if i in places else next(shape) for i in total),
            strides=tuple(0 if i in places else next(strides) for i in total),
        ),
    )


def squeeze(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view without the given axes, which must have length 1; None takes all axes of length 1.

    Raises ValueError for an axis of another length. Standard: manipulation functions, `squeeze`.

    >>> xp.squeeze(xp.ones((1, 3)), axis=0).shape
    (3,)
    """
    view = _array(x, "squeeze").view()
    if axis is None:
        gone = {i for i, size in enumerate(x.shape) if size == 1}
    else:
        gone = set(_axes(axis, x.ndim, "squeeze"))
    for i in gone:
        if x.shape[i] != 1:
            raise ValueError(f"squeeze: axis {i} of shape {x.shape} has length {x.shape[i]}, not 1")
    keep = [i for i in range(x.ndim) if i not in gone]
    return from_view(
        Array, view._replace(shape=tuple(view.shape[i] for i in keep), strides=tuple(view.strides[i] for i in keep))
    )


def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view that runs backwards along the given axes, along all if None. Standard: manipulation functions, `flip`.

    >>> xp.flip(xp.asarray([1, 2, 3]))
    Array([3, 2, 1], device='cpu')
    """
    view = _array(x, "flip").view()
    strides, offset = geometry.flip(view.shape, view.strides, view.offset, _axes(axis, x.ndim, "flip"))
    return from_view(Array, view._replace(strides=strides, offset=offset))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """A view with the axes in the given order.

    Raises ValueError where the axes are no permutation. Standard: manipulation functions, `permute_dims`.

    >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    view = _array(x, "permute_dims").view()
    try:
        shape, strides = geometry.transpose(view.shape, view.strides, axes)
    except (ValueError, AxisError) as error:
        raise type(error)(f"permute_dims: {error}") from None
    return from_view(Array, view._replace(shape=shape, strides=strides))


def moveaxis(x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """A view with axes moved to other places, the rest in their order.

    Raises ValueError where the numbers of axes differ or one is named twice.
    Standard: manipulation functions, `moveaxis`.

    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    origin = _axes(source, _array(x, "moveaxis").ndim, "moveaxis")
    goal = _axes(destination, x.ndim, "moveaxis")
    if len(origin) != len(goal):
        raise ValueError(f"moveaxis: {len(origin)} source axes and {len(goal)} destinations")
    order = [i for i in range(x.ndim) if i not in origin]
    for place, axis in sorted(zip(goal, origin, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The elements in C order in another shape, one length of which may be -1.

    copy: None gives a view where the strides allow it, True always copies, False raises ValueError where a copy would
    be needed. Raises ValueError where the sizes differ. Standard: manipulation functions, `reshape`.

    >>> xp.reshape(xp.asarray([1, 2, 3, 4]), (2, -1))
    Array([[1, 2],
           [3, 4]], device='cpu')
    """
    _array(x, "reshape")
    try:
        dims = geometry.infer_shape(math.prod(x.shape), shape if isinstance(shape, (tuple, list)) else (shape,))
    except ValueError as error:
        raise ValueError(f"reshape: {error}") from None
    view = x.view()
    strides = geometry.reshape_strides(view.shape, view.strides, dims)
    if strides is None and copy is False:
        raise ValueError(
            f"reshape: shape {x.shape} with strides {view.strides} cannot be seen as {dims} without a copy"
        )
    if strides is None or copy:
        view = realize(copied(x)).view()
        strides = geometry.contiguous_strides(dims)
    return from_view(Array, view._replace(shape=dims, strides=strides))
