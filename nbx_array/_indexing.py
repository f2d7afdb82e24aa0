"""Indexing by integer arrays and masks, alone or mixed with ints, slices, Ellipsis and None, as NumPy has it.

A mask counts as the positions of its true elements. The basic part of an index gives a view; what is left are axes
indexed by arrays. Their offsets are added up in one int64 array, and one kernel moves the elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbx_array import _array as core
from nbx_array import _journal
from nbx_array._expression import from_view, realize, snapshot, write
from nbx_array._operations import SEQUENCES
from nbx_array.kernels import indexing as kernels
from nbx_array.memory import View, allocate
from nbx_array.memory.view import basic_index, broadcast_shapes, collapse, contiguous_strides, is_contiguous

INT64 = np.dtype(np.int64)


class _Part(NamedTuple):
    """One array of an index."""

    array: Any  # integers, or a mask's positions
    axes: tuple[int, ...]  # the axes of the basic view that it indexes; several for a mask
    exact: bool  # positions of a mask are in range
    named: int  # the axis of the array itself, which errors name

    def message(self, size: int) -> str:
        """Of the error for an integer that names none of so many elements."""
        return f"index is out of bounds for axis {self.named} with size {size}"


class _Index(NamedTuple):
    """An index resolved against an array."""

    view: View  # what the basic part leaves
    parts: list[_Part]
    shape: tuple[int, ...]  # the arrays' common shape
    before: list[int]  # axes of the view whose dimensions come before those of the arrays in the result
    after: list[int]

    def result_shape(self) -> tuple[int, ...]:
        dims = self.view.shape
        return (*(dims[i] for i in self.before), *self.shape, *(dims[i] for i in self.after))


def get(x: Any, key: Any) -> Any:
    """`x[key]` for a key with arrays: always a copy."""
    return _gather(_resolve(x, key))


def take(x: Any, indices: Any, axis: int, *, exact: bool = False) -> Any:
    """The elements of x at integer indices along an axis, which are in range if `exact`."""
    view, after = x.memory(), range(axis + 1, x.ndim)
    return _gather(_Index(view, [_Part(indices, (axis,), exact, axis)], indices.shape, list(range(axis)), list(after)))


def take_along_axis(x: Any, indices: Any, axis: int, places: Callable[[], dict[int, Any]]) -> Any:
    """The elements of x at integer indices along an axis, each in its own place along the others, of the same lengths.

    `places` makes indices of the others, for an x whose axes do not lie in order.
    """
    view, shape = x.memory(), indices.shape
    out = View(
        allocate(math.prod(shape) * view.dtype.itemsize, view.storage.device),
        view.dtype,
        shape,
        contiguous_strides(shape),
    )
    before, after = range(axis), range(axis + 1, len(shape))
    part = _Part(indices, (axis,), False, axis)
    if not out.size or _pick(view, part, before, after, (shape[axis],), out, each=True):
        return from_view(core.Array, out)
    parts = [part, *(_Part(place, (d,), True, d) for d, place in places().items())]
    return _gather(_Index(view, parts, shape, [], []))


def _pick(
    view: View,
    part: _Part,
    before: Sequence[int],
    after: Sequence[int],
    shape: tuple[int, ...],
    out: View,
    *,
    each: bool,
) -> bool:
    """Read elements at indices along one axis in one launch, if the axes before and after it each lie in one row.

    `shape` stands for the axis in the result; there is an index for each of its places or, if `each`, of the result's.
    """
    groups = _rows(view, before, after)
    if groups is None:
        return False
    (outside, outer), (inside, inner) = groups
    (axis,) = part.axes
    picked = kernels.Picked(
        view.address,
        view.dtype,
        outside,
        math.prod(shape),
        inside,
        view.shape[axis],
        outer,
        view.strides[axis],
        inner,
        each,
    )
    indices = _packed(core.cast(part.array, INT64), out.shape if each else shape)
    kernels.pick(picked, indices, out, part.message(picked.size))
    return True


def _gather(index: _Index) -> Any:
    """A copy of the elements that an index names."""
    shape, device = index.result_shape(), index.view.storage.device
    dtype = index.view.dtype
    storage = allocate(math.prod(shape) * dtype.itemsize, device)
    out = View(storage, dtype, shape, contiguous_strides(shape), 0)
    part = index.parts[0]
    at_once = len(index.parts) == 1 and not part.exact and out.size
    if at_once and _pick(index.view, part, index.before, index.after, index.shape, out, each=False):
        return from_view(core.Array, out)
    view, offsets = index.view, _offsets(index)
    if not out.size:
        return from_view(core.Array, out)
    places = _places(view, index, offsets)
    if places is None:  # the other axes do not lie in order: read from a packed copy
        index = _arranged(index)
        index = index._replace(view=realize(core.copy(from_view(core.Array, index.view))).memory())
        places = _places(index.view, index, _offsets(index))
        assert places is not None
    kernels.gather(places, out)
    return from_view(core.Array, out)


def set(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value` for a key with arrays."""
    if _whole_mask(x, key) and _is_scalar(value):
        _set_masked(x, key if isinstance(key, core.Array) else core.from_numpy(np.asarray(key), x.device), value)
        return
    index = _resolve(x, key)
    shape = index.result_shape()
    value = core.as_value(value, shape, x.dtype, x.device, "setitem")
    repeat = value.sig.op == "scalar"
    if repeat:
        value = snapshot(value)  # the array of one value may be the caller's
        value.dims = ()
    if value.sig.op == "leaf" and (value.sig.general or value.keep[0] is x.keep[0]):
        value = core.copy(value)  # packed, and outside the memory that is written
    source = realize(value).memory()
    offsets = _offsets(index)
    storage = x.keep[0]
    for reader in _journal.take_readers(storage):
        realize(reader)
    if math.prod(shape) == 0:
        return
    places = _places(index.view, index, offsets)
    distinct = all(part.exact for part in index.parts)  # masks alone
    if places is not None:
        kernels.scatter(places, source, repeat=repeat, distinct=distinct)
        return
    # the other axes do not lie in order: change a packed copy, then write all of it
    index = _arranged(index)
    target = from_view(core.Array, index.view)
    packed = realize(core.copy(target))
    index = index._replace(view=packed.memory())
    places = _places(index.view, index, _offsets(index))
    assert places is not None
    kernels.scatter(places, source, repeat=repeat, distinct=distinct)
    write(target, packed)


def _arranged(index: _Index) -> _Index:
    """The same index of a view whose axes lie as in the result: a copy of that has the other axes in order."""
    taken = sorted({i for part in index.parts for i in part.axes})
    order = [*index.before, *taken, *index.after]
    place = {axis: k for k, axis in enumerate(order)}
    view = index.view
    return index._replace(
        view=view._replace(shape=tuple(view.shape[i] for i in order), strides=tuple(view.strides[i] for i in order)),
        parts=[part._replace(axes=tuple(place[i] for i in part.axes)) for part in index.parts],
        before=[place[i] for i in index.before],
        after=[place[i] for i in index.after],
    )


def nonzero(x: Any) -> tuple[Any, ...]:
    """Coordinates of the elements that are not zero, an int64 array an axis, in C order."""
    return _coordinates(_positions(x), x.shape)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic)) or (
        isinstance(value, core.Array) and not value.shape
    )


def _whole_mask(x: Any, key: Any) -> bool:
    return isinstance(key, core.Array) and key.dtype == np.bool_ and key.shape == x.shape and key.device is x.device


def _set_masked(x: Any, mask: Any, value: Any) -> None:
    """`x[mask] = scalar`: one pass over x, without finding positions."""
    write(x, _chosen(x, mask, value))


def set_pending(x: Any, mask: Any, value: Any) -> bool:
    """`x[mask] = scalar` for a pending x, which is another expression afterwards; whether the key is such a mask."""
    if not x.dims or not _whole_mask(x, mask) or not _is_scalar(value):
        return False
    core.assign_in_place(x, _chosen(x, mask, value), "setitem")
    return True


def _chosen(x: Any, mask: Any, value: Any) -> Any:
    """The scalar where the mask says so, x elsewhere."""
    scalar = core.as_value(value, (), x.dtype, x.device, "setitem")
    chosen = core.combined(core.Array, "where", (mask, scalar, x))
    if chosen is None:
        chosen = core.combine(core.Array, "where", x.dtype, x.dtype, [mask, scalar, x], x.device)
    return chosen


# ------------------------------------------------------------------------------------------------------ resolving


def _resolve(x: Any, key: Any) -> _Index:
    items = [_item(x, item) for item in (key if type(key) is tuple else (key,))]
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    consumed = sum(_consumes(item) for item in items)
    if consumed > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {consumed} were indexed")
    if Ellipsis not in [item for item in items if not isinstance(item, core.Array)]:
        items.append(Ellipsis)
    basic: list[Any] = []
    parts: list[tuple[Any, int, int]] = []  # an array, and the first axis of the view and of x that it indexes
    kept = plain = axis = 0  # axes so far: of the view, of those that no array indexes, and of x
    advanced: list[int] = []  # places in the key of arrays, and of ints, which count as arrays of no dimension
    plain_before = 0
    for place, item in enumerate(items):
        if item is not None and item is not Ellipsis and not isinstance(item, slice):
            if not advanced:
                plain_before = plain
            advanced.append(place)
        width = x.ndim - consumed if item is Ellipsis else _consumes(item)
        if isinstance(item, core.Array):
            if item.dtype == np.bool_:
                _check_mask(item, x.shape, axis)
            parts.append((item, kept, axis))
            basic += [slice(None)] * width
            kept += width
        elif item is None or item is Ellipsis or isinstance(item, slice):
            new = 1 if item is None else width
            basic += [slice(None)] * width if item is Ellipsis else [item]
            kept, plain = kept + new, plain + new
        else:
            basic.append(item)
        axis += width
    base = x.memory()
    shape, strides, offset = basic_index(base.shape, base.strides, base.offset, tuple(basic))
    view = base._replace(shape=shape, strides=strides, offset=offset)
    indexed = [_part(array, first, named, view) for array, first, named in parts]
    taken = {i for part in indexed for i in part.axes}
    others = [i for i in range(len(shape)) if i not in taken]
    adjacent = advanced == list(range(advanced[0], advanced[-1] + 1))
    split = plain_before if adjacent else 0
    try:
        common = broadcast_shapes(*(part.array.shape for part in indexed))
    except ValueError:
        shapes = " ".join(str(part.array.shape) for part in indexed)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        ) from None
    return _Index(view, indexed, common, others[:split], others[split:])


def _item(x: Any, item: Any) -> Any:
    """One entry of an index: arrays of integers or bools, or what basic indexing takes."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (bool, np.bool_, np.ndarray, *SEQUENCES)):  # places, copied to the array's device
        host = np.asarray(item, dtype=np.int64 if isinstance(item, SEQUENCES) and not item else None)
        item = core.from_numpy(host, x.device) if host.dtype.kind in "biu" else host
    if isinstance(item, core.Array):
        if item.device is not x.device:
            raise ValueError(f"index: the array lies on {x.device} and its index on {item.device}")
        if item.dtype.kind == "b":
            return item
        if item.dtype.kind in "iu":
            return item
    elif hasattr(item, "__index__") and not isinstance(item, np.ndarray):
        return item.__index__()
    dtype = getattr(item, "dtype", type(item).__name__)
    raise IndexError(f"arrays used as indices must be of integer or boolean dtype, got {dtype}")


def _consumes(item: Any) -> int:
    """How many axes of the array an entry indexes."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, core.Array) and item.dtype == np.bool_:
        return item.ndim
    return 1


def _check_mask(mask: Any, shape: tuple[int, ...], axis: int) -> None:
    """Raise IndexError unless each of a mask's sizes is the array's or, as the standard has it, 0."""
    for i, size in enumerate(mask.shape):
        if size not in (shape[axis + i], 0):
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is {shape[axis + i]} "
                f"but size of corresponding boolean axis is {size}"
            )


def _part(array: Any, first: int, named: int, view: View) -> _Part:
    if array.dtype == np.bool_:
        return _Part(_positions(array), tuple(range(first, first + array.ndim)), True, named)
    part = _Part(array, (first,), False, named)
    if not array.shape and not view.shape[first]:  # of no element of the result, perhaps, so that no kernel meets it
        raise IndexError(part.message(0))
    return part


def _positions(x: Any) -> Any:
    """Flat positions of the elements that are not zero."""
    mask = core.cast(x, np.dtype(np.bool_))
    if mask.sig.op != "leaf" or mask.sig.general:
        mask = realize(core.copy(mask) if mask.sig.op == "leaf" else mask)
    if x.size == 0:
        return core.from_numpy(np.empty(0, np.int64), x.device)
    return from_view(core.Array, kernels.positions(mask.memory()))


def _coordinates(positions: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """Flat positions as coordinates."""
    out: list[Any] = []
    for size in reversed(shape):
        out.append(positions % size if len(out) < len(shape) - 1 else positions)
        positions = positions // size if len(out) < len(shape) else positions
    return tuple(reversed(out))


# -------------------------------------------------------------------------------------------------------- offsets


def _offsets(index: _Index) -> View:
    """The offsets of all arrays of an index together, over their common shape, contiguous."""
    view, shape = index.view, index.shape
    if len(index.parts) == 1 and index.parts[0].exact and index.parts[0].axes:
        axes = index.parts[0].axes
        if is_contiguous([view.shape[i] for i in axes], [view.strides[i] for i in axes]):
            return index.parts[0].array.memory()  # a mask over packed elements: its positions are the offsets
    storage = allocate(8 * math.prod(shape), view.storage.device)
    out = View(storage, INT64, shape, contiguous_strides(shape), 0)
    if not out.size:
        return out
    total = from_view(core.Array, out)
    exact = [part for part in index.parts if part.exact]
    checked = [part for part in index.parts if not part.exact]
    for number, part in enumerate(checked):
        (axis,) = part.axes
        message = part.message(view.shape[axis])
        kernels.index_offsets(
            _packed(part.array, shape), out, view.shape[axis], view.strides[axis], first=number == 0, message=message
        )
    if exact:
        terms = [_linear(part, view) for part in exact]
        value = core.as_value(sum(terms[1:], terms[0]), shape, INT64, view.storage.device, "index")
        if checked:
            value = core.where(total == kernels.NOWHERE, total, total + value)
        write(total, value)
    return out


def _packed(array: Any, shape: tuple[int, ...]) -> View:
    """An index array over the common shape, contiguous."""
    if array.shape != shape:
        array = core.broadcast_to(array, shape)
    if array.sig.op == "leaf" and not array.sig.general:
        return array.memory()
    return realize(core.copy(array)).memory()


def _linear(part: _Part, view: View) -> Any:
    """Offsets of a mask's positions, from the strides of the axes that it covers."""
    sizes = [view.shape[i] for i in part.axes]
    strides = [view.strides[i] for i in part.axes]
    if not sizes:  # a 0-d mask: nothing moves
        return part.array * 0
    dims, (steps,) = collapse(sizes, strides)
    if len(dims) <= 1:
        return part.array * (steps[0] if steps else 0)
    terms = [c * step for c, step in zip(_coordinates(part.array, dims), steps, strict=True)]
    return sum(terms[1:], terms[0])


def _places(view: View, index: _Index, offsets: View) -> kernels.Places | None:
    """The elements that an index names, if the axes before and after the arrays' each lie in one row."""
    groups = _rows(view, index.before, index.after)
    if groups is None:
        return None
    (before, outer), (after, inner) = groups
    return kernels.Places(view.address, view.dtype, offsets, before, math.prod(index.shape), after, outer, inner)


def _rows(view: View, *groups: Sequence[int]) -> list[tuple[int, int]] | None:
    """The length and stride of each group of axes as one, None where an order of axes does not allow that."""
    rows = []
    for axes in groups:
        if len(axes) <= 1:
            rows.append((view.shape[axes[0]], view.strides[axes[0]]) if axes else (1, 0))
            continue
        dims, (steps,) = collapse([view.shape[i] for i in axes], [view.strides[i] for i in axes])
        if len(dims) > 1:
            return None
        rows.append((dims[0] if dims else 1, steps[0] if steps else 0))
    return rows
