"""Combining runs of elements: what `reduceat`, `at` and sums by group have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbx_array import _indexing
from nbx_array._array import Array, as_value, cast, copy
from nbx_array._creation import _array, arange, asarray, ones
from nbx_array._elementwise import equal, greater, logical_or, minimum, not_equal, subtract
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


def fold(function: Any, rows: Array, dtype: np.dtype, start: Any, mask: Array | None) -> Array:
    """The parts along the first axis combined from left to right, beginning with `start` unless it is None."""
    if start is None:
        value, first = cast(rows[0], dtype), 1
    else:
        value, first = as_value(start, rows.shape[1:], dtype, rows.device, function.name), 0
    for k in range(first, rows.shape[0]):
        combined = function(value, rows[k])
        value = combined if mask is None else where(mask[k], combined, value)
    return value


def running(function: Any, rows: Array, dtype: np.dtype) -> list[Array]:
    """The parts along the first axis, each combined with all before it, from left to right."""
    found: list[Array] = []
    for k in range(rows.shape[0]):
        found.append(function(found[-1], rows[k]) if found else cast(rows[k], dtype))
    return found


def fold_runs(function: Any, x: Array, starts: Array, lengths: Array, dtype: np.dtype) -> Array:
    """The elements of runs along the first axis combined from left to right. Waits for the device."""
    value = cast(_indexing.take(x, starts, 0, exact=True), dtype)
    for step in range(1, int(max(lengths)) if lengths.size else 0):
        lives = reshape(greater(lengths, step), (-1, *(1,) * (x.ndim - 1)))
        following = _indexing.take(x, minimum(starts + step, x.shape[0] - 1), 0, exact=True)
        value = where(lives, function(value, following), value)
    return value


def begins_run(changes: Array) -> Array:
    """Where runs begin in a vector, of whether each element but the first differs from the one before."""
    return concat([ones(1, dtype=BOOL, device=changes.device), changes])


def _marks(places: Array, n: int) -> Array:
    marks = copy(broadcast_to(asarray(False, device=places.device), (n,)))
    marks[places] = True
    return marks


def starts_of(name: str, indices: Any, n: int, device: Any) -> Array:
    """The indices of `ufunc.reduceat` into n elements, checked. Waits for the device."""
    if isinstance(indices, (list, tuple)):  # of numbers of any kind, as NumPy takes them
        starts = asarray(np.asarray(indices).astype(np.int64), device=device)
    else:
        starts = _array(indices, name)
    if starts.dtype.kind not in "biu":
        raise TypeError(f"{name}: indices must be integers, got {starts.dtype}")
    if starts.ndim != 1:
        raise ValueError(f"{name}: indices must have 1 dimension, got {starts.ndim}")
    starts = cast(starts, INT64)
    low, high = _bounds(starts) if starts.size else (0, -1)
    if low < 0 or high >= n:
        raise IndexError(f"{name}: index {low if low < 0 else high} out of bounds in [0, {n})")
    return starts


def reduceat(function: Any, x: Array, starts: Array, axis: int, dtype: np.dtype, associative: bool) -> Array:
    """`ufunc.reduceat`."""
    rows = moveaxis(x, axis, 0)
    n = rows.shape[0]
    if not starts.size:
        return moveaxis(cast(rows[:0], dtype), 0, axis)
    following = concat([starts[1:], asarray([n], device=x.device)])
    lengths = where(greater(following, starts), following - starts, 1)
    if not associative:
        return moveaxis(fold_runs(function, rows, starts, lengths, dtype), 0, axis)
    totals = cumulative_sum(lengths, include_initial=True)
    begin = totals[:-1]
    places = arange(int(totals[-1]), device=x.device) + repeat(starts - begin, lengths)
    rows = combine_runs(function, _indexing.take(rows, places, 0, exact=True), begin)
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


def combine_at(function: Any, together: Any, a: Array, indices: Any, *b: Any) -> None:
    """`ufunc.at`: `together`, where there is such a function, combines several right operands of one element."""
    name = f"{function.name}.at"
    try:
        places = reshape(arange(a.size, device=a.device), a.shape)[indices]
    except IndexError as error:
        raise IndexError(f"{name}: {error}") from None
    keys = reshape(places, (-1,))
    values = [reshape(_right_operand(name, x, a, places.shape), (-1,)) for x in b]
    packed = not a.sig.general
    flat = reshape(a, (-1,)) if packed else reshape(copy(a), (-1,))
    result = function(flat[:0], *(x[:0] for x in values)).dtype
    if together is not None and (
        result == a.dtype or result.kind + a.dtype.kind in ("ii", "uu", "iu", "ui", "ff", "cc")
    ):
        ordered, runs = combine_by_key(together, keys, *(cast(x, np.promote_types(x.dtype, result)) for x in values))
        flat[ordered] = cast(function(_indexing.take(flat, ordered, 0, exact=True), runs), a.dtype)
    else:
        for chosen, ordered in _rounds(keys):
            parts = (_indexing.take(x, chosen, 0, exact=True) for x in values)
            flat[ordered] = cast(function(_indexing.take(flat, ordered, 0, exact=True), *parts), a.dtype)
    if not packed:
        a[...] = reshape(flat, a.shape)


def _right_operand(name: str, b: Any, a: Array, shape: tuple[int, ...]) -> Array:
    """What is combined with elements of a: a Python number takes a's dtype where that holds it."""
    if isinstance(b, (bool, int)) or (isinstance(b, float) and a.dtype.kind in "fc"):
        fits = a.dtype.kind not in "iu" or np.iinfo(a.dtype).min <= b <= np.iinfo(a.dtype).max
        if a.dtype.kind != "b" and fits:
            return as_value(b, shape, a.dtype, a.device, name)
    value = asarray(b, device=a.device) if isinstance(b, (bool, int, float, complex)) else _array(b, name)
    return as_value(value, shape, value.dtype, a.device, name)


def _rounds(keys: Array) -> Iterator[tuple[Array, Array]]:
    """Places in a vector of keys and the keys there: the first of each key, then the second of each, and so on."""
    if not keys.size:
        return
    ordered, order = sorted_and_order(keys)
    begins = begins_run(not_equal(ordered[1:], ordered[:-1]))
    (starts,) = nonzero(begins)
    run = cumulative_sum(cast(begins, INT64)) - 1
    rank = arange(keys.size, device=keys.device) - _indexing.take(starts, run, 0, exact=True)
    for number in range(int(max(rank)) + 1):
        (chosen,) = nonzero(equal(rank, number))
        yield _indexing.take(order, chosen, 0, exact=True), _indexing.take(ordered, chosen, 0, exact=True)
