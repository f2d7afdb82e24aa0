"""Set functions of the standard. Equal means ==: no NaN equals another, and -0 equals +0."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbx_array import _indexing
from nbx_array._array import Array, cast
from nbx_array._creation import _array, asarray, empty, ones, zeros
from nbx_array._elementwise import equal, logical_not, minimum, not_equal
from nbx_array._manipulation import concat, reshape
from nbx_array._operations import operands_of, promote
from nbx_array._searching import nonzero, searchsorted
from nbx_array._sorting import sort, sorted_and_order
from nbx_array._statistical import cumulative_sum
from nbx_array._utility import any, diff
from nbx_array.kernels.pointwise import BOOL
from nbx_array.kernels.types import kind


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


def unique_all(x: Array, /) -> UniqueAll:
    """The distinct elements of x in ascending order, and where they are.

    x: any shape and dtype. Returns `values`; `indices`, of the first occurrence of each in x flattened;
    `inverse_indices`, of x's shape, the place in `values` of each element; `counts`, how often each occurs. All
    indices are int64. Waits for the device. Standard: set functions, `unique_all`.

    >>> [y.tolist() for y in xp.unique_all(xp.asarray([5, 3, 5]))]
    [[3, 5], [1, 0], [1, 0, 1], [1, 2]]
    """
    values, order = sorted_and_order(reshape(_array(x, "unique_all"), (-1,)))
    new = _starts(values)
    (starts,) = nonzero(new)
    return UniqueAll(_at(values, starts), _at(order, starts), _inverse(new, order, x.shape), _counts(starts, x.size))


def unique_counts(x: Array, /) -> UniqueCounts:
    """The distinct elements of x in ascending order, and how often each occurs, int64.

    x: any shape and dtype. Waits for the device. Standard: set functions, `unique_counts`.

    >>> [y.tolist() for y in xp.unique_counts(xp.asarray([5, 3, 5]))]
    [[3, 5], [1, 2]]
    """
    values = sort(reshape(_array(x, "unique_counts"), (-1,)))
    (starts,) = nonzero(_starts(values))
    return UniqueCounts(_at(values, starts), _counts(starts, x.size))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The distinct elements of x in ascending order, and for each element of x, in its shape, its place there, int64.

    x: any shape and dtype. Waits for the device. Standard: set functions, `unique_inverse`.

    >>> [y.tolist() for y in xp.unique_inverse(xp.asarray([5, 3, 5]))]
    [[3, 5], [1, 0, 1]]
    """
    values, order = sorted_and_order(reshape(_array(x, "unique_inverse"), (-1,)))
    new = _starts(values)
    (starts,) = nonzero(new)
    return UniqueInverse(_at(values, starts), _inverse(new, order, x.shape))


def unique_values(x: Array, /) -> Array:
    """The distinct elements of x in ascending order.

    x: any shape and dtype. Waits for the device. Standard: set functions, `unique_values`.

    >>> xp.unique_values(xp.asarray([5, 3, 5]))
    Array([3, 5], device='cpu')
    """
    values = sort(reshape(_array(x, "unique_values"), (-1,)))
    (starts,) = nonzero(_starts(values))
    return _at(values, starts)


def _starts(values: Array) -> Array:
    """Where in a sorted vector an element differs from the one before it."""
    first = ones(min(values.size, 1), dtype=BOOL, device=values.device)
    return concat([first, not_equal(values[1:], values[:-1])])


def _at(x: Array, places: Array) -> Array:
    return _indexing.take(x, places, 0, exact=True)


def _counts(starts: Array, size: int) -> Array:
    return diff(starts, append=asarray([size], device=starts.device))


def _inverse(new: Array, order: Array, shape: tuple[int, ...]) -> Array:
    """For each element of a vector, which of the distinct elements it is, in a shape."""
    out = empty(order.shape, dtype=order.dtype, device=order.device)
    out[order] = cumulative_sum(new) - 1
    return reshape(out, shape)


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Whether each element of x1 equals one of x2, or with `invert` none: bools of x1's shape.

    x1, x2: any shapes and dtypes, at least one of them an array. Standard: set functions, `isin`.

    >>> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([3, 1]))
    Array([ True, False,  True], device='cpu')
    """
    found = _isin(*operands_of("isin", (x1, x2)))
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
    group = cumulative_sum(_starts(values))
    last = _at(order, searchsorted(group, group, side="right") - 1)
    found = empty(order.shape, dtype=BOOL, device=order.device)
    found[order] = last >= x1.size
    return reshape(found[: x1.size], x1.shape)
