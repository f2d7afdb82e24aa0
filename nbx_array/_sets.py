"""Set functions of the standard. Equal means ==: no NaN equals another, and -0 equals +0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nbx_array import _indexing
from nbx_array._array import Array, cast, packed
from nbx_array._creation import _array, empty, ones, zeros
from nbx_array._elementwise import equal, logical_not, minimum, not_equal
from nbx_array._expression import from_view
from nbx_array._manipulation import concat, reshape
from nbx_array._operations import operands_of, promote
from nbx_array._searching import searchsorted
from nbx_array._sorting import sort, sorted_and_order
from nbx_array._statistical import cumulative_sum
from nbx_array._utility import any
from nbx_array.kernels import sets as kernels
from nbx_array.kernels.pointwise import BOOL
from nbx_array.kernels.types import kind

INT64 = np.dtype(np.int64)


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array) -> UniqueAll:
    """The distinct elements of x in ascending order, and where they are.

    x: any shape and dtype. Returns `values`; `indices`, of the first occurrence of each in x flattened;
    `inverse_indices`, of x's shape, the place in `values` of each element; `counts`, how often each occurs. All
    indices are int64. Waits for the device. Standard: set functions, `unique_all`.

    >>> [y.tolist() for y in xp.unique_all(xp.asarray([5, 3, 5]))]
    [[3, 5], [1, 0], [1, 0, 1], [1, 2]]
    """
    found = _distinct(_array(x, "unique_all"), indices=True, inverse=True, ends=True)
    return UniqueAll(found.values, found.indices, found.inverse, _counts(found))


def unique_counts(x: Array) -> UniqueCounts:
    """The distinct elements of x in ascending order, and how often each occurs, int64.

    x: any shape and dtype. Waits for the device. Standard: set functions, `unique_counts`.

    >>> [y.tolist() for y in xp.unique_counts(xp.asarray([5, 3, 5]))]
    [[3, 5], [1, 2]]
    """
    found = _distinct(_array(x, "unique_counts"), ends=True)
    return UniqueCounts(found.values, _counts(found))


def unique_inverse(x: Array) -> UniqueInverse:
    """The distinct elements of x in ascending order, and for each element of x, in its shape, its place there, int64.

    x: any shape and dtype. Waits for the device. Standard: set functions, `unique_inverse`.

    >>> [y.tolist() for y in xp.unique_inverse(xp.asarray([5, 3, 5]))]
    [[3, 5], [1, 0, 1]]
    """
    found = _distinct(_array(x, "unique_inverse"), inverse=True)
    return UniqueInverse(found.values, found.inverse)


def unique_values(x: Array) -> Array:
    """The distinct elements of x in ascending order.

    x: any shape and dtype. Waits for the device. Standard: set functions, `unique_values`.

    >>> xp.unique_values(xp.asarray([5, 3, 5]))
    Array([3, 5], device='cpu')
    """
    return _distinct(_array(x, "unique_values")).values


class _Found(NamedTuple):
    """The distinct elements of an array: empty where not asked for."""

    values: Array
    indices: Array
    inverse: Array
    ends: Array


def _distinct(x: Array, *, indices: bool = False, inverse: bool = False, ends: bool = False) -> _Found:
    """The distinct elements of an array in ascending order and what else is asked for (`kernels.sets.Distinct`), the
    inverse in x's shape."""
    flat = reshape(x, (-1,))
    if not x.size:
        nothing = empty(0, dtype=INT64, device=x.device)
        return _Found(flat, nothing, reshape(nothing, x.shape), zeros(1, dtype=INT64, device=x.device))
    if indices or inverse:
        ordered, order = sorted_and_order(flat)
        found = kernels.distinct(
            packed(ordered).memory(), packed(order).memory(), indices=indices, inverse=inverse, ends=ends
        )
    else:
        found = kernels.distinct(packed(sort(flat)).memory(), None, indices=False, inverse=False, ends=ends)
    nothing = empty(0, dtype=INT64, device=x.device)
    arrays = [nothing if view is None else from_view(Array, view) for view in found]
    if inverse:
        arrays[2] = reshape(arrays[2], x.shape)
    return _Found(*arrays)


def _counts(found: _Found) -> Array:
    return found.ends[1:] - found.ends[:-1]


def _at(x: Array, places: Array) -> Array:
    return _indexing.take(x, places, 0, exact=True)


def isin(
    element: Array | int,
    test_elements: Array | int,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Array:
    """Whether each element equals one of `test_elements`, or with `invert` none: bools of `element`'s shape.

    element, test_elements: any shapes and dtypes, at least one of them an array. assume_unique, kind: accepted; they
    change nothing. Standard: set functions, `isin`.

    >>> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([3, 1]))
    Array([ True, False,  True], device='cpu')
    """
    found = _isin(*operands_of("isin", (element, test_elements)))
    return logical_not(found) if invert else found


def _isin(operands: list[Any], device: Any) -> Array:
    x1, x2 = operands
    if not isinstance(x2, Array):
        return equal(x1, x2)
    if not isinstance(x1, Array):
        return any(equal(x1, x2))
    if not x1.size or not x2.size:
        return zeros(x1.shape, dtype=BOOL, device=device)
    dtype = promote((x1.dtype, x2.dtype), (), device)
    x1, x2 = cast(x1, dtype), reshape(cast(x2, dtype), (-1,))
    if kind(dtype) == "c":
        return _isin_complex(x1, x2)
    ordered = sort(x2)
    return equal(_at(ordered, minimum(searchsorted(ordered, x1), x2.size - 1)), x1)


def _isin_complex(x1: Array, x2: Array) -> Array:
    """`isin` by sorting both together: the last of equal elements comes from x2 if any of them does."""
    values, order = sorted_and_order(concat([reshape(x1, (-1,)), x2]))
    group = cumulative_sum(concat([ones(1, dtype=BOOL, device=values.device), not_equal(values[1:], values[:-1])]))
    last = _at(order, searchsorted(group, group, side="right") - 1)
    found = empty(order.shape, dtype=BOOL, device=order.device)
    found[order] = last >= x1.size
    return reshape(found[: x1.size], x1.shape)
