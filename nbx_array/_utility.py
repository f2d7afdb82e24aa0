"""Utility functions of the standard."""

from __future__ import annotations

from typing import Any

from nbx_array._array import Array, broadcast_to, cast, copy, view_basic
from nbx_array._creation import _array
from nbx_array._elementwise import logical_and, logical_not, logical_or, not_equal, subtract
from nbx_array._manipulation import concat
from nbx_array._out import deliver
from nbx_array._reduction import Axis, check_axes, check_axis, check_integer, reduce
from nbx_array.kernels.pointwise import BOOL


def all(a: Array, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Array:
    """Whether all elements are true over axes; True of none. All but zero is true, NaN too.

    a: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: utility functions, `all`.

    >>> xp.all(xp.asarray([True, False]))
    Array(False, device='cpu')
    """
    a = _array(a, "all")
    if not a.shape and where is True:
        return deliver("all", _truth(a, axis, "all"), out)
    mask = cast(a, BOOL) if where is True else logical_or(a, logical_not(_array(where, "all")))
    return deliver("all", reduce("min", mask, check_axes("all", axis, a.ndim), keepdims, caller="all"), out)


def any(a: Array, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Array:
    """Whether any element is true over axes; False of none. All but zero is true, NaN too.

    a: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: utility functions, `any`.

    >>> xp.any(xp.asarray([True, False]))
    Array(True, device='cpu')
    """
    a = _array(a, "any")
    if not a.shape and where is True:
        return deliver("any", _truth(a, axis, "any"), out)
    mask = cast(a, BOOL) if where is True else logical_and(a, where)
    return deliver("any", reduce("max", mask, check_axes("any", axis, a.ndim), keepdims, caller="any"), out)


def _truth(x: Array, axis: Axis, name: str) -> Array:
    """Whether the one element of an array of no dimension is true."""
    check_axes(name, axis, 0)
    return copy(x) if x.dtype == BOOL else cast(x, BOOL)


def diff(a: Array, n: int = 1, axis: int = -1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """The differences of neighbours along an axis, n times over.

    a: at least 1 dimension; of bools it is whether they differ. prepend, append: what to add at either end first.
    Raises ValueError for a 0-d array, a negative n or shapes that do not fit. Standard: utility functions, `diff`.

    >>> xp.diff(xp.asarray([1, 4, 9, 16]))
    Array([3, 5, 7], device='cpu')
    """
    a = _array(a, "diff")
    if not a.shape:
        raise ValueError("diff: expected at least 1 dimension, got a 0-d array")
    if check_integer("diff", "n", n) < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    along = check_axis("diff", axis, a.ndim)
    if n == 0:
        return a
    if prepend is not None or append is not None:
        edge = (*a.shape[:along], 1, *a.shape[along + 1 :])
        ends = [None if end is None else _array(end, "diff") for end in (prepend, append)]
        ends = [end if end is None or end.shape else broadcast_to(end, edge) for end in ends]
        a = concat([part for part in (ends[0], a, ends[1]) if part is not None], axis=along)
    before = (slice(None),) * along
    for _ in range(n):
        later, earlier = view_basic(a, (*before, slice(1, None))), view_basic(a, (*before, slice(None, -1)))
        a = not_equal(later, earlier) if a.dtype == BOOL else subtract(later, earlier)
    return a
