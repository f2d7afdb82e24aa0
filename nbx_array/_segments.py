"""Combining runs of elements: what `reduceat`, `at` and sums by group have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbx_array import _indexing
from nbx_array._array import Array, as_value, cast, copy
from nbx_array._creation import _array, arange, asarray, ones
from nbx_array._elementwise import greater, logical_or, not_equal, subtract
from nbx_array._manipulation import broadcast_to, concat, moveaxis, repeat, reshape
from nbx_array._searching import nonzero, where
from nbx_array._sorting import sorted_and_order
from nbx_array._statistical import cumulative_sum, max
from nbx_array.kernels.pointwise import BOOL

INT64 = np.dtype(np.int64)


def combine_runs(function: Any, x: Array, starts: Array) -> Array:
    """The elements of each run along the first axis combined; runs begin at `starts`, ascending from 0.

    An element takes in what lies 1, 2, 4, ... before it in its run, so that sums are made of short ones. Waits for the
    device, to know the longest run.
    """
    n, count = x.shape[0], starts.shape[0]
    if not count:
        return x[:0]
    ends = concat([starts[1:], asarray([n], device=x.device)])
    longest = int(max(subtract(ends, starts)))
    begins = reshape(_marks(starts, n), (n, *(1,) * (x.ndim - 1)))
    step = 1
    while step < longest:
        joined = where(begins[step:], x[step:], function(x[:-step], x[step:]))
        x = concat([x[:step], joined])
        begins = concat([begins[:step], logical_or(begins[step:], begins[:-step])])
        step *= 2
    return _indexing.take(x, ends - 1, 0, exact=True)


def begins_run(changes: Array) -> Array:
    """Where runs begin in a vector, of whether each element but the first differs from the one before."""
    return concat([ones(1, dtype=BOOL, device=changes.device), changes])


def _marks(places: Array, n: int) -> Array:
    marks = copy(broadcast_to(asarray(False, device=places.device), (n,)))
    marks[places] = True
    return marks


def reduceat(function: Any, x: Array, indices: Any, axis: int) -> Array:
    """`ufunc.reduceat`."""
    name = f"{function.name}.reduceat"
    starts = _array(indices, name)
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices must be integers in 1 dimension, got {starts.dtype} in {starts.ndim}")
    rows = moveaxis(x, axis, 0)
    n = rows.shape[0]
    starts = cast(starts, INT64)
    if starts.size and not 0 <= int((low_high := _bounds(starts))[0]) <= low_high[1] < n:
        raise IndexError(f"{name}: index {low_high[0 if low_high[0] < 0 else 1]} out of bounds in [0, {n})")
    following = concat([starts[1:], asarray([n], device=x.device)])
    lengths = where(greater(following, starts), following - starts, 1)
    totals = cumulative_sum(lengths, include_initial=True)
    if starts.size:
        begin = totals[:-1]
        places = arange(int(totals[-1]), device=x.device) + repeat(starts - begin, lengths)
        rows = combine_runs(function, _indexing.take(rows, places, 0, exact=True), begin)
    else:
        rows = rows[:0]
    return moveaxis(rows, 0, axis)


def _bounds(x: Array) -> tuple[int, int]:
    from nbx_array._statistical import min

    return int(min(x)), int(max(x))


def combine_by_key(function: Any, keys: Array, values: Array) -> tuple[Array, Array]:
    """The distinct keys of a vector, ascending, and the values of each combined. Waits for the device."""
    if not keys.size:
        return keys, values
    ordered, order = sorted_and_order(keys)
    (starts,) = nonzero(begins_run(not_equal(ordered[1:], ordered[:-1])))
    runs = combine_runs(function, _indexing.take(values, order, 0, exact=True), starts)
    return _indexing.take(ordered, starts, 0, exact=True), runs


def combine_at(function: Any, together: Any, a: Array, indices: Any, b: Any) -> None:
    """`ufunc.at`: `together` combines several right operands of one element."""
    name = f"{function.name}.at"
    places = reshape(arange(a.size, device=a.device), a.shape)[indices]
    value = _array(b, name)
    dtype = value.dtype if value.dtype.kind in "fc" or a.dtype.kind in "biu" else a.dtype
    if isinstance(b, (bool, int)) or (isinstance(b, float) and a.dtype.kind in "fc"):
        dtype = a.dtype  # a Python number takes the array's
    value = as_value(value, places.shape, np.promote_types(dtype, a.dtype), a.device, name)
    if not np.can_cast(value.dtype, a.dtype, "same_kind"):
        raise TypeError(f"{name}: values of dtype {value.dtype} cannot be cast to {a.dtype}")
    keys, runs = combine_by_key(together, reshape(places, (-1,)), reshape(value, (-1,)))
    packed = not a.sig.general
    flat = reshape(a, (-1,)) if packed else reshape(copy(a), (-1,))
    flat[keys] = function(_indexing.take(flat, keys, 0, exact=True), runs)
    if not packed:
        a[...] = reshape(flat, a.shape)
