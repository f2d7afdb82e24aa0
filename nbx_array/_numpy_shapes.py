"""NumPy's functions of shapes and axes. Views wherever NumPy has views."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbx_array import _statistical, linalg
from nbx_array._array import Array, broadcast_to, cast, copy, filled, view_basic
from nbx_array._creation import _array, _arrays, _new, _sizes, arange, asarray
from nbx_array._elementwise import clip, floor, minimum, round
from nbx_array._expression import from_view, write
from nbx_array._manipulation import _axes, concat, expand_dims, flip, moveaxis, permute_dims, reshape, stack, tile
from nbx_array._order import chosen, in_memory_order, is_c, is_fortran
from nbx_array._reduction import check_axes
from nbx_array._searching import nonzero
from nbx_array.memory.view import may_overlap

Pairs = Any  # pad's widths and values: a number, a pair, or pairs for each axis


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K", ndmin: int = 0, **options: Any
) -> Array:
    """An array of the given data, as `asarray` makes it, and a copy unless `copy` says otherwise.

    ndmin: the least number of dimensions; new ones of length 1 lead. Source: NumPy, `array`.

    >>> xp.array([1, 2], ndmin=2)
    Array([[1, 2]], device='cpu')
    """
    options.pop("subok", None)
    options.pop("like", None)
    needless = copy and not isinstance(object, (Array, np.ndarray))  # data of the host is copied anyway
    x = asarray(object, dtype=dtype, order=order, copy=None if needless else copy, **options)
    return x if x.ndim >= ndmin else x[(None,) * (ndmin - x.ndim)]


def asanyarray(
    a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None
) -> Array:
    """`asarray`: there are no subclasses. Source: NumPy, `asanyarray`."""
    return asarray(a, dtype=dtype, order=order, device=device, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    """An array of at least 1 dimension whose elements are packed in C order. Source: NumPy, `ascontiguousarray`.

    >>> xp.ascontiguousarray(xp.ones((2, 3)).T).flags.c_contiguous
    True
    """
    x = asarray(a, dtype=dtype, order="C")
    return x if x.ndim else x[None]


def asfortranarray(a: Any, dtype: Any = None) -> Array:
    """An array of at least 1 dimension whose elements are packed in Fortran's order. Source: NumPy, `asfortranarray`.

    >>> xp.asfortranarray(xp.ones((2, 3))).strides
    (8, 16)
    """
    x = asarray(a, dtype=dtype, order="F")
    return x if x.ndim else x[None]


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Array:
    """An array of a dtype that meets requirements: "C" or "F" for an order; the others hold anyway.

    Raises ValueError for both orders. Source: NumPy, `require`.
    """
    wanted = {str(r).upper()[0] for r in (requirements or ())}
    if {"C", "F"} <= wanted:
        raise ValueError('require: cannot have both "C" and "F" order')
    return asfortranarray(a, dtype) if "F" in wanted else ascontiguousarray(a, dtype)


def isfortran(a: Array) -> bool:
    """Whether the elements are packed in Fortran's order and not in C order. Source: NumPy, `isfortran`.

    >>> xp.isfortran(xp.ones((2, 3)).T)
    True
    """
    return is_fortran(a) and not is_c(a)


def ndim(a: Any) -> int:
    """The number of dimensions. Source: NumPy, `ndim`."""
    return _array(a, "ndim").ndim


def shape(a: Any) -> tuple[int, ...]:
    """The length of each dimension. Source: NumPy, `shape`."""
    return _array(a, "shape").shape


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length along an axis. Source: NumPy, `size`."""
    a = _array(a, "size")
    return a.size if axis is None else a.shape[axis]


def ravel(a: Any, order: str = "C") -> Array:
    """The elements as a vector, in C order, with "F" in Fortran's, with "K" as they lie: a view where there is one.

    Source: NumPy, `ravel`.

    >>> xp.ravel(xp.asarray([[1, 2], [3, 4]]), order="F")
    Array([1, 3, 2, 4], device='cpu')
    """
    a = _array(a, "ravel")
    if order != "C" and chosen("ravel", order) == "K":
        return reshape(in_memory_order(a), (-1,))
    return reshape(a, (-1,), order)


def transpose(a: Any, axes: Any = None) -> Array:
    """A view with the axes in the given order, reversed by default. Source: NumPy, `transpose`.

    >>> xp.transpose(xp.ones((2, 3))).shape
    (3, 2)
    """
    a = _array(a, "transpose")
    return a.T if axes is None else permute_dims(a, tuple(axes))


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged. Source: NumPy, `swapaxes`.

    >>> xp.swapaxes(xp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = _array(a, "swapaxes")
    order = list(range(a.ndim))
    (first,), (second,) = _axes(axis1, a.ndim, "swapaxes"), _axes(axis2, a.ndim, "swapaxes")
    order[first], order[second] = order[second], order[first]
    return permute_dims(a, tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """A view with an axis moved before the one at `start`. Source: NumPy, `rollaxis`.

    >>> xp.rollaxis(xp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = _array(a, "rollaxis")
    (origin,) = _axes(axis, a.ndim, "rollaxis")
    goal = start + a.ndim if start < 0 else start
    if not 0 <= goal <= a.ndim:
        raise np.exceptions.AxisError(f"rollaxis: start {start} is out of bounds for {a.ndim} dimensions")
    return moveaxis(a, origin, goal - (origin < goal))


def flipud(m: Any) -> Array:
    """A view that runs backwards along the first axis. Source: NumPy, `flipud`."""
    return flip(_array(m, "flipud"), axis=0)


def fliplr(m: Any) -> Array:
    """A view that runs backwards along the second axis. Source: NumPy, `fliplr`."""
    return flip(_array(m, "fliplr"), axis=1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """A view turned by k quarters from the first of two axes towards the second.

    Raises ValueError for axes that are the same. Source: NumPy, `rot90`.

    >>> xp.rot90(xp.asarray([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], device='cpu')
    """
    m = _array(m, "rot90")
    first, second = _axes(tuple(axes), m.ndim, "rot90")
    match operator.index(k) % 4:
        case 0:
            return m[...]
        case 1:
            return swapaxes(flip(m, axis=second), first, second)
        case 2:
            return flip(m, axis=(first, second))
        case _:
            return flip(swapaxes(m, first, second), axis=second)


def _at_least(x: Array, n: int) -> Array:
    """NumPy's places of the new dimensions: before a vector, and one before and one behind it for three."""
    if n == 3 and x.ndim in (1, 2):
        return x[None, :, None] if x.ndim == 1 else x[:, :, None]
    return x[(None,) * (n - x.ndim)] if x.ndim < n else x


def atleast_1d(*arrays: Any) -> Any:
    """The array with at least 1 dimension; a tuple of several. Source: NumPy, `atleast_1d`.

    >>> xp.atleast_1d(3.0)
    Array([3.], device='cpu')
    """
    found = tuple(_at_least(_array(x, "atleast_1d"), 1) for x in arrays)
    return found[0] if len(found) == 1 else found


def atleast_2d(*arrays: Any) -> Any:
    """The array with at least 2 dimensions, new ones first; a tuple of several. Source: NumPy, `atleast_2d`."""
    found = tuple(_at_least(_array(x, "atleast_2d"), 2) for x in arrays)
    return found[0] if len(found) == 1 else found


def atleast_3d(*arrays: Any) -> Any:
    """The array with at least 3 dimensions: (N,) gets (1, N, 1), and (M, N) gets (M, N, 1). Source: NumPy."""
    found = tuple(_at_least(_array(x, "atleast_3d"), 3) for x in arrays)
    return found[0] if len(found) == 1 else found


# ------------------------------------------------------------------------------------------------------------ joining


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays, of at least 2 dimensions, joined along the first axis. Source: NumPy, `vstack`.

    >>> xp.vstack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    Array([[1, 2],
           [3, 4]], device='cpu')
    """
    return concat([_at_least(x, 2) for x in _arrays(tup, "vstack")], axis=0, dtype=dtype)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays joined along the second axis; vectors along their only one. Source: NumPy, `hstack`.

    >>> xp.hstack([xp.asarray([1, 2]), xp.asarray([3])])
    Array([1, 2, 3], device='cpu')
    """
    parts = [_at_least(x, 1) for x in _arrays(tup, "hstack")]
    return concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1, dtype=dtype)


def dstack(tup: Sequence[Any]) -> Array:
    """Arrays, of at least 3 dimensions, joined along the third axis. Source: NumPy, `dstack`."""
    return concat([_at_least(x, 3) for x in _arrays(tup, "dstack")], axis=2)


def column_stack(tup: Sequence[Any]) -> Array:
    """Vectors as columns, and matrices, side by side. Source: NumPy, `column_stack`.

    >>> xp.column_stack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    Array([[1, 3],
           [2, 4]], device='cpu')
    """
    return concat([_at_least(x, 2).T if x.ndim < 2 else x for x in _arrays(tup, "column_stack")], axis=1)


def block(arrays: Any) -> Array:
    """Nested lists of arrays joined: the innermost along the last axis, those around them along the one before.

    Source: NumPy, `block`.

    >>> xp.block([[xp.ones((1, 1)), xp.zeros((1, 2))]])
    Array([[1., 0., 0.]], device='cpu')
    """

    def depth(x: Any) -> int:
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    def widest(x: Any) -> int:
        return max(map(widest, x)) if isinstance(x, list) else _array(x, "block").ndim

    levels = depth(arrays)
    dims = max(levels, widest(arrays))

    def join(x: Any, level: int) -> Array:
        if not isinstance(x, list):
            x = _array(x, "block")
            return x[(None,) * (dims - x.ndim)]
        return concat([join(part, level + 1) for part in x], axis=dims - levels + level)

    return join(arrays, 0)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """`arr` with values after its end along an axis; both flattened if axis is None. Source: NumPy, `append`.

    >>> xp.append(xp.asarray([1, 2]), 3)
    Array([1, 2, 3], device='cpu')
    """
    arr, values = _array(arr, "append"), _array(values, "append")
    return concat([ravel(arr), ravel(values)]) if axis is None else concat([arr, values], axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """`arr` with values put before the given places along an axis; `arr` flattened if axis is None.

    obj: an integer, a slice, or integers, of places in `arr`. Raises IndexError for one out of range. Source: NumPy,
    `insert`.

    >>> xp.insert(xp.asarray([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], device='cpu')
    """
    arr = _array(arr, "insert")
    if axis is None:
        arr, axis = ravel(arr), 0
    (along,) = _axes(axis, arr.ndim, "insert")
    n = arr.shape[along]
    places = _places(obj, n, "insert", inclusive=True)
    values = cast(_array(values, "insert"), arr.dtype)
    if places.size == 1:  # one place takes several values
        values = values[(None,) * max(arr.ndim - values.ndim, 0)]
        values = values if np.ndim(obj) or isinstance(obj, slice) else moveaxis(values, 0, along)
        goals = places + np.arange(values.shape[along])
    else:
        order = np.argsort(places, kind="stable")
        goals = np.empty_like(places)
        goals[order] = places[order] + np.arange(len(places))
    total = n + len(goals)
    out = _new((*arr.shape[:along], total, *arr.shape[along + 1 :]), arr.dtype, arr.device)
    stays = np.ones(total, bool)
    stays[goals] = False
    before = (slice(None),) * along
    shape = (*arr.shape[:along], len(goals), *arr.shape[along + 1 :])
    out[(*before, asarray(np.flatnonzero(stays), device=arr.device))] = arr
    out[(*before, asarray(goals, device=arr.device))] = broadcast_to(values, shape)
    return out


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """`arr` without the given places along an axis; flattened if axis is None.

    obj: an integer, a slice, integers, or a mask. Raises IndexError for a place out of range. Source: NumPy, `delete`.

    >>> xp.delete(xp.asarray([1, 2, 3]), 1)
    Array([1, 3], device='cpu')
    """
    arr = _array(arr, "delete")
    if axis is None:
        arr, axis = ravel(arr), 0
    (along,) = _axes(axis, arr.ndim, "delete")
    stays = np.ones(arr.shape[along], bool)
    stays[_places(obj, arr.shape[along], "delete")] = False
    return arr[(*(slice(None),) * along, asarray(np.flatnonzero(stays), device=arr.device))]


def _places(obj: Any, n: int, name: str, *, inclusive: bool = False) -> np.ndarray:
    """Places along an axis of length n, which the host has to know: what lies between them moves."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    host = np.asarray(obj)
    if host.dtype == np.bool_:
        if host.shape != (n,):
            raise ValueError(f"{name}: a mask of shape {host.shape} for an axis of length {n}")
        return np.flatnonzero(host)
    places = np.atleast_1d(host.astype(np.int64) if host.size == 0 else host).ravel()
    if places.dtype.kind not in "iu":
        raise IndexError(f"{name}: places are integers, not {places.dtype}")
    wrong = (places < -n) | (places >= n + inclusive)
    if wrong.any():
        raise IndexError(f"{name}: index {places[wrong][0]} is out of bounds for axis with size {n}")
    return np.where(places < 0, places + n, places)


def resize(a: Any, new_shape: Any) -> Array:
    """The elements in C order, over again as often as needed, in a new shape. Source: NumPy, `resize`.

    >>> xp.resize(xp.asarray([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], device='cpu')
    """
    a = ravel(_array(a, "resize"))
    dims = tuple(map(operator.index, _sizes(new_shape)))
    if any(d < 0 for d in dims):
        raise ValueError(f"resize: all elements of the new shape must be non-negative, got {dims}")
    total = math.prod(dims)
    if not a.size or not total:
        return filled(dims, 0, a.dtype, a.device, "resize")
    return reshape(tile(a, (-(-total // a.size),))[:total], dims)


# ---------------------------------------------------------------------------------------------------------- splitting


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of `ary` cut along an axis at places, or into parts whose lengths differ by at most 1.

    Raises ValueError for fewer than 1 part. Source: NumPy, `array_split`.

    >>> [part.tolist() for part in xp.array_split(xp.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    ary = _array(ary, "array_split")
    (along,) = _axes(axis, ary.ndim, "array_split")
    n = ary.shape[along]
    if hasattr(indices_or_sections, "__len__") and np.ndim(indices_or_sections):
        cuts = [0, *(operator.index(i) for i in indices_or_sections), n]
        pairs = list(itertools.pairwise(cuts))
        pairs[-1] = (pairs[-1][0], None)
    else:
        parts = operator.index(indices_or_sections)
        if parts < 1:
            raise ValueError(f"array_split: number of sections must be larger than 0, got {parts}")
        each, extra = divmod(n, parts)
        ends = [0]
        for k in range(parts):
            ends.append(ends[-1] + each + (k < extra))
        pairs = list(itertools.pairwise(ends))
    return [view_basic(ary, (*(slice(None),) * along, slice(start, stop))) for start, stop in pairs]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """`array_split` into equal parts; ValueError where the length does not divide. Source: NumPy, `split`.

    >>> [part.tolist() for part in xp.split(xp.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    ary = _array(ary, "split")
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % operator.index(indices_or_sections):
        raise ValueError(
            "split: array split does not result in an equal division: "
            f"length {ary.shape[axis]}, {indices_or_sections} parts"
        )
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the first axis of at least 2. Source: NumPy, `vsplit`."""
    if _array(ary, "vsplit").ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the second axis; of a vector along its only one. Source: NumPy, `hsplit`."""
    ary = _array(ary, "hsplit")
    if not ary.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the third axis. Source: NumPy, `dsplit`."""
    if _array(ary, "dsplit").ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


# ------------------------------------------------------------------------------------------------------------ padding


def pad(array: Any, pad_width: Pairs, mode: str = "constant", **options: Any) -> Array:
    """`array` with a border along each axis.

    pad_width: elements before and after, for each axis: a number for all, a pair for every axis, pairs, or a
    dictionary of axes. mode: "constant" (constant_values, like pad_width; 0), "edge", "wrap", "reflect" and
    "symmetric" (reflect_type "even" only), "linear_ramp" (end_values), "maximum", "minimum" and "mean" (over all of the
    axis), "empty". Each axis takes in the borders of those before it. Raises ValueError for another mode, a negative
    width, or no elements to repeat, TypeError for other options. Source: NumPy, `pad`.

    >>> xp.pad(xp.asarray([1, 2, 3]), (2, 1), mode="reflect")
    Array([3, 2, 1, 2, 3, 2], device='cpu')
    """
    array = _array(array, "pad")
    widths = [(operator.index(a), operator.index(b)) for a, b in _pairs(pad_width, array.ndim, "pad_width")]
    if any(a < 0 or b < 0 for a, b in widths):
        raise ValueError(f"pad: index can't contain negative values, got {pad_width!r}")
    values = _pairs(options.pop("constant_values", 0), array.ndim, "constant_values")
    ends = _pairs(options.pop("end_values", 0), array.ndim, "end_values")
    if options.pop("reflect_type", "even") != "even" or options.pop("stat_length", None) is not None:
        raise ValueError("pad: reflect_type is 'even' and stat_length None")
    if options:
        raise TypeError(f"pad: unsupported keyword arguments for mode {mode!r}: {set(options)}")
    modes = ("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "minimum", "mean", "empty")
    if mode not in modes:
        raise ValueError(f"pad: mode {mode!r} is not one of {', '.join(modes)}")
    if mode in ("constant", "empty"):
        return _framed(array, widths, values if mode == "constant" else ((0, 0),) * array.ndim)
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if not array.shape[axis]:
            raise ValueError(f"pad: can't extend empty axis {axis} using mode {mode!r}")
        array = _extended(array, axis, before, after, mode, ends[axis])
    return array[...]


def _pairs(given: Pairs, ndim: int, name: str) -> tuple[tuple[Any, Any], ...]:
    if isinstance(given, dict):
        pairs: list[tuple[Any, Any]] = [(0, 0)] * ndim
        for axis, pair in given.items():
            pairs[axis] = tuple(pair) if np.ndim(pair) else (pair, pair)
        return tuple(pairs)
    host = np.asarray(given)
    try:
        return tuple(map(tuple, np.broadcast_to(host, (ndim, 2)).tolist()))
    except ValueError:
        raise ValueError(f"pad: {name} {given!r} is no number, pair or pair for each of {ndim} axes") from None


def _framed(x: Array, widths: list[tuple[int, int]], values: Any) -> Array:
    """x in a larger array, and constants around it: what is written for a later axis covers the corners."""
    out = _new(tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)), x.dtype, x.device)
    write(
        view_basic(out, tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))) if x.ndim else out, x
    )
    for axis, ((a, b), (first, last)) in enumerate(zip(widths, values, strict=True)):
        inside = [slice(w, w + n) for n, (w, _) in zip(x.shape[axis + 1 :], widths[axis + 1 :], strict=True)]
        end = a + x.shape[axis]
        for piece, value in ((slice(0, a), first), (slice(end, end + b), last)):
            if piece.start < piece.stop:
                out[(*(slice(None),) * axis, piece, *inside)] = value
    return out


def _extended(x: Array, axis: int, before: int, after: int, mode: str, ends: tuple[Any, Any]) -> Array:
    """x with borders along one axis, made of its own elements."""
    n = x.shape[axis]
    front = (slice(None),) * axis
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        places = arange(-before, n + after, device=x.device)
        match mode:
            case "edge":
                places = clip(places, 0, n - 1)
            case "wrap":
                places = places % n
            case "symmetric":
                places = places % (2 * n)
                places = minimum(places, 2 * n - 1 - places)
            case "reflect":
                period = max(2 * n - 2, 1)
                places = places % period
                places = minimum(places, period - places) if n > 1 else places
        return x[(*front, places)]
    borders = []
    for width, edge, end, up in ((before, 0, ends[0], False), (after, n - 1, ends[1], True)):
        if mode == "linear_ramp":
            steps = reshape(arange(width, device=x.device), (width, *(1,) * (x.ndim - 1 - axis)))
            start = view_basic(x, (*front, slice(edge, edge + 1)))
            ramp = end + (start - end) * ((width - 1 - steps if up else steps) / max(width, 1))
            border = floor(ramp) if x.dtype.kind in "iu" else ramp
        else:
            value = getattr(_statistical, {"maximum": "max", "minimum": "min"}.get(mode, mode))(x, axis, keepdims=True)
            value = round(value) if mode == "mean" and x.dtype.kind in "iu" else value
            border = broadcast_to(value, (*x.shape[:axis], width, *x.shape[axis + 1 :]))
        borders.append(cast(border, x.dtype))
    return concat([borders[0], x, borders[1]], axis=axis)


def trim_zeros(filt: Any, trim: str = "fb") -> Array:
    """A view of a vector without zeros at its front ("f") and back ("b"). Waits for the device.

    Source: NumPy, `trim_zeros`.

    >>> xp.trim_zeros(xp.asarray([0, 1, 2, 0]))
    Array([1, 2], device='cpu')
    """
    filt = _array(filt, "trim_zeros")
    if filt.ndim != 1:
        raise ValueError(f"trim_zeros: expected 1 dimension, got shape {filt.shape}")
    (places,) = nonzero(filt)
    if not places.size:
        return filt[:0]
    first, last = int(places[0]), int(places[-1])
    return filt[first if "f" in trim.lower() else 0 : last + 1 if "b" in trim.lower() else filt.size]


def as_strided(x: Array, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Array:
    """A view of x's memory with any shape and strides in bytes, from x's first element on.

    Raises ValueError where it would reach outside of the memory, or strides are no multiples of the element's size.
    Source: NumPy, `lib.stride_tricks.as_strided`.

    >>> xp.lib.stride_tricks.as_strided(xp.arange(4), (3, 2), (8, 8)).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    x = _array(x, "as_strided")
    view = x.memory()
    dims = view.shape if shape is None else tuple(map(operator.index, shape))
    given = x.strides if strides is None else tuple(map(operator.index, strides))
    if len(dims) != len(given):
        raise ValueError(f"as_strided: shape {dims} and strides {given} differ in length")
    if any(step % x.itemsize for step in given):
        raise ValueError(f"as_strided: strides {given} are no multiples of {x.itemsize} bytes")
    steps = tuple(step // x.itemsize for step in given)
    if 0 not in dims:
        low = view.offset + sum(min((d - 1) * s, 0) for d, s in zip(dims, steps, strict=True))
        high = view.offset + sum(max((d - 1) * s, 0) for d, s in zip(dims, steps, strict=True))
        if low < 0 or (high + 1) * x.itemsize > view.storage.nbytes:
            raise ValueError(f"as_strided: shape {dims} and strides {given} reach outside of the array's memory")
    return from_view(Array, view._replace(shape=dims, strides=steps))


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, writeable: bool = False) -> Array:
    """A view of all windows of a shape: their places first, the window's axes last.

    Raises ValueError for a window larger than the array. Source: NumPy, `lib.stride_tricks.sliding_window_view`.

    >>> xp.lib.stride_tricks.sliding_window_view(xp.arange(4), 2).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    x = _array(x, "sliding_window_view")
    window = tuple(map(operator.index, _sizes(window_shape)))
    axes = tuple(range(x.ndim)) if axis is None else _axes(axis, x.ndim, "sliding_window_view")
    if len(axes) != len(window):
        raise ValueError(f"sliding_window_view: {len(window)} window lengths and {len(axes)} axes")
    view = x.memory()
    dims = list(view.shape)
    for d, w in zip(axes, window, strict=True):
        dims[d] -= w - 1
        if w < 0 or dims[d] < 1:
            raise ValueError(f"sliding_window_view: window {window} is larger than shape {x.shape}")
    steps = (*view.strides, *(view.strides[d] for d in axes))
    return from_view(Array, view._replace(shape=(*dims, *window), strides=steps))


def diag(v: Any, k: int = 0) -> Array:
    """A view of a matrix's k-th diagonal, or of a vector the matrix that has it there. Source: NumPy, `diag`.

    >>> xp.diag(xp.asarray([1, 2]))
    Array([[1, 0],
           [0, 2]], device='cpu')
    """
    v = _array(v, "diag")
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag: input must be 1- or 2-d, got shape {v.shape}")
    n = v.size + abs(k)
    out = copy(filled((n, n), 0, v.dtype, v.device, "diag"))
    diagonal(out, k)[...] = v
    return out


def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix with the elements of `v` on its k-th diagonal. Source: NumPy, `diagflat`."""
    return diag(ravel(_array(v, "diagflat")), k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of the diagonals over two axes, as a new last axis. Source: NumPy, `diagonal`.

    >>> xp.diagonal(xp.asarray([[1, 2], [3, 4]]))
    Array([1, 4], device='cpu')
    """
    a = _array(a, "diagonal")
    return linalg.diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Array:
    """The sum of the diagonals over two axes. Source: NumPy, `trace`.

    >>> xp.trace(xp.asarray([[1, 2], [3, 4]]))
    Array(5, device='cpu')
    """
    return _statistical.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether the memory of two arrays may overlap, judged by their ends. Source: NumPy, `may_share_memory`."""
    return isinstance(a, Array) and isinstance(b, Array) and may_overlap(a.memory(), b.memory())


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **options: Any) -> Array:
    """A `func1d` called with each vector along an axis; what it returns stands in the axis's place.

    The `func1d` is Python's and takes arrays: it is called once a vector, so that a `func1d` that takes an axis itself
    is much faster. Raises ValueError where there is no vector. Source: NumPy, `apply_along_axis`.

    >>> xp.apply_along_axis(xp.sum, 0, xp.asarray([[1, 2], [3, 4]]))
    Array([4, 6], device='cpu')
    """
    x = _array(arr, "apply_along_axis")
    (along,) = _axes(axis, x.ndim, "apply_along_axis")
    rows = moveaxis(x, along, -1)
    frame = rows.shape[:-1]
    if 0 in frame:
        raise ValueError("apply_along_axis: cannot apply along axis when any iteration dimensions are 0")
    results = [_array(func1d(rows[place], *args, **options), "apply_along_axis") for place in np.ndindex(*frame)]
    joined = reshape(stack(results), (*frame, *results[0].shape))
    inner = range(len(frame), joined.ndim)
    return moveaxis(joined, tuple(inner), tuple(along + k for k in range(len(inner)))) if inner else joined


def apply_over_axes(func: Any, a: Any, axes: Any) -> Array:
    """A function of an array and an axis called for one axis after the other. Source: NumPy, `apply_over_axes`."""
    x = _array(a, "apply_over_axes")
    for axis in check_axes("apply_over_axes", axes, x.ndim):
        result = _array(func(x, axis), "apply_over_axes")
        x = result if result.ndim == x.ndim else expand_dims(result, axis=axis)
    return x
