"""Utility functions of the standard that reduce."""

from __future__ import annotations

from nbx_array._array import Array, cast
from nbx_array._creation import _array
from nbx_array._reduction import Axis, check_axes, reduce
from nbx_array.kernels.pointwise import BOOL


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements are true over axes; True of none. All but zero is true, NaN too.

    x: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: utility functions, `all`.

    >>> xp.all(xp.asarray([True, False]))
    Array(False, device='cpu')
    """
    _array(x, "all")
    return reduce("min", cast(x, BOOL), check_axes("all", axis, x.ndim), keepdims, caller="all")


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element is true over axes; False of none. All but zero is true, NaN too.

    x: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: utility functions, `any`.

    >>> xp.any(xp.asarray([True, False]))
    Array(True, device='cpu')
    """
    _array(x, "any")
    return reduce("max", cast(x, BOOL), check_axes("any", axis, x.ndim), keepdims, caller="any")
