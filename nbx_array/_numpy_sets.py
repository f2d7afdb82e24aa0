"""NumPy's set functions. Results ascend; -0 equals +0, and NaNs count as one where NumPy has it so."""

from __future__ import annotations

from typing import Any

from nbx_array import _sets
from nbx_array._array import Array
from nbx_array._creation import _array, arange, asarray, empty, zeros
from nbx_array._elementwise import logical_and, minimum, not_equal
from nbx_array._manipulation import concat, moveaxis, reshape
from nbx_array._numpy_indexing import lexsort
from nbx_array._searching import count_nonzero, nonzero
from nbx_array._segments import begins_run
from nbx_array._sets import _at, _counts, _distinct, _Found
from nbx_array._sorting import sort, sorted_and_order
from nbx_array._statistical import cumulative_sum
from nbx_array._utility import any
from nbx_array.kernels.pointwise import BOOL


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements in ascending order, or with an axis the distinct parts along it. Waits for the device.

    return_index, return_inverse, return_counts: give, too, the place of the first of each, the place among the distinct
    ones of each element, how often each occurs. equal_nan: whether NaNs count as one. Source: NumPy, `unique`.

    >>> xp.unique(xp.asarray([5, 3, 5]), return_counts=True)
    (Array([3, 5], device='cpu'), Array([1, 2], device='cpu'))
    """
    x = _array(ar, "unique")
    if axis is not None:
        found = _parts(x, axis)
    else:
        found = _distinct(x, indices=return_index, inverse=return_inverse, ends=True)
        found = _one_nan(found) if equal_nan and x.dtype.kind in "fc" else found
    results: list[Any] = [found.values]
    if return_index:
        results.append(found.indices)
    if return_inverse:
        results.append(found.inverse)
    if return_counts:
        results.append(_counts(found))
    return results[0] if len(results) == 1 else tuple(results)


def _one_nan(found: _Found) -> _Found:
    """Distinct elements with one NaN for all, which come last. Waits for the device."""
    several = int(count_nonzero(not_equal(found.values, found.values)))
    if several <= 1:
        return found
    last = found.values.size - several
    ends = concat([found.ends[: last + 1], found.ends[-1:]])
    inverse = minimum(found.inverse, last) if found.inverse.size else found.inverse
    return _Found(found.values[: last + 1], found.indices[: last + 1], inverse, ends)


def _parts(x: Array, axis: int) -> _Found:
    """The distinct parts of an array along an axis, in the order of their elements."""
    rows = moveaxis(x, axis, 0)
    table = reshape(rows, (rows.shape[0], -1))
    n, width = table.shape
    order = lexsort([table[:, k] for k in reversed(range(width))]) if width and n else arange(n, device=x.device)
    ordered = _at(table, order)
    new = begins_run(any(not_equal(ordered[1:], ordered[:-1]), axis=1)) if n else zeros(0, dtype=BOOL, device=x.device)
    (starts,) = nonzero(new)
    values = moveaxis(reshape(_at(ordered, starts), (starts.size, *rows.shape[1:])), 0, axis)
    inverse = empty(n, dtype=order.dtype, device=x.device)
    inverse[order] = cumulative_sum(new) - 1
    ends = concat([starts, asarray([n], device=x.device)])
    return _Found(values, _at(order, starts), inverse, ends)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Array:
    """`isin` of x flattened. Source: NumPy 1, `in1d`."""
    return _sets.isin(reshape(_array(ar1, "in1d"), (-1,)), _array(ar2, "in1d"), invert=invert)


def union1d(ar1: Any, ar2: Any) -> Array:
    """The distinct elements of both arrays. Source: NumPy, `union1d`.

    >>> xp.union1d([1, 2], [2, 3])
    Array([1, 2, 3], device='cpu')
    """
    return unique(concat([_array(ar1, "union1d"), _array(ar2, "union1d")], axis=None))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that both arrays have; with `return_indices` where they first are in both, too.

    Source: NumPy, `intersect1d`.

    >>> xp.intersect1d([1, 2], [2, 3])
    Array([2], device='cpu')
    """
    x, y = _array(ar1, "intersect1d"), _array(ar2, "intersect1d")
    first, places = unique(x, return_index=True)
    second, others = unique(y, return_index=True)
    both = concat([first, second])
    values, order = sorted_and_order(both)
    (twice,) = nonzero(values[1:] == values[:-1])
    found = _at(values, twice)
    if not return_indices:
        return found
    return found, _at(places, _at(order, twice)), _at(others, _at(order, twice + 1) - first.size)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements of the first array that the second has not. Source: NumPy, `setdiff1d`.

    >>> xp.setdiff1d([3, 1, 2], [2])
    Array([1, 3], device='cpu')
    """
    x = _array(ar1, "setdiff1d")
    x = reshape(x, (-1,)) if assume_unique else unique(x)
    return x[in1d(x, ar2, invert=True)]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The elements that one array has and the other has not. Source: NumPy, `setxor1d`."""
    values = sort(concat([unique(ar1), unique(ar2)]))
    if not values.size:
        return values
    edge = asarray([True], device=values.device)
    changes = concat([edge, not_equal(values[1:], values[:-1]), edge])
    return values[logical_and(changes[1:], changes[:-1])]
