"""Searching functions of the standard."""

from __future__ import annotations

from nbx_array import _indexing
from nbx_array._array import Array, cast
from nbx_array._array import where as _where
from nbx_array._creation import _array
from nbx_array._elementwise import Operand
from nbx_array._reduction import Axis, check_axes, reduce
from nbx_array.kernels.pointwise import BOOL


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index, int64, of the greatest element along an axis; of equal ones the first. NaN counts as greater than all.

    x: any shape, real or bool. axis: None for an index into the elements in C order. keepdims: keep the axis, or for
    None all axes, with length 1. Raises TypeError for complex x, AxisError for an axis out of bounds, ValueError where
    there are no elements. Standard: searching functions, `argmax`.

    >>> xp.argmax(xp.asarray([3, 9, 4]))
    Array(1, device='cpu')
    """
    return _place("argmax", x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index, int64, of the least element along an axis; of equal ones the first. NaN counts as less than all.

    x: any shape, real or bool. axis: None for an index into the elements in C order. keepdims: keep the axis, or for
    None all axes, with length 1. Raises TypeError for complex x, AxisError for an axis out of bounds, ValueError where
    there are no elements. Standard: searching functions, `argmin`.

    >>> xp.argmin(xp.asarray([3, 9, 4]))
    Array(0, device='cpu')
    """
    return _place("argmin", x, axis, keepdims)


def _place(name: str, x: Array, axis: int | None, keepdims: bool) -> Array:
    _array(x, name)
    if isinstance(axis, tuple):
        raise TypeError(f"{name}: axis must be an integer or None, not {axis!r}")
    return reduce(name, x, check_axes(name, axis, x.ndim), keepdims)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number, int64, of elements over axes that are not zero; NaN is not.

    x: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice.
    Standard: searching functions, `count_nonzero`.

    >>> xp.count_nonzero(xp.asarray([0, 7, 0, 7]))
    Array(2, device='cpu')
    """
    _array(x, "count_nonzero")
    axes = check_axes("count_nonzero", axis, x.ndim)
    return reduce("sum", cast(x, BOOL), axes, keepdims, caller="count_nonzero")


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Coordinates of the elements that are not zero: an int64 array an axis, in C order. Waits for the device.

    Raises ValueError for a 0-d array. Standard: searching functions, `nonzero`.

    >>> xp.nonzero(xp.asarray([0, 3, 0, 5]))
    (Array([1, 3], device='cpu'),)
    """
    if not isinstance(x, Array):
        raise TypeError(f"nonzero: expected an array, got {type(x).__name__}; convert it with nbx_array.asarray")
    if not x.shape:
        raise ValueError("nonzero: expected at least 1 dimension, got a 0-d array")
    return _indexing.nonzero(x)


def where(condition: Array, x1: Operand, x2: Operand, /) -> Array:
    """Elements of x1 where the condition holds, of x2 elsewhere; all three broadcast against each other.

    Raises TypeError without any array among the operands. Standard: searching functions, `where`.

    >>> xp.where(xp.asarray([True, False]), 1, 2)
    Array([1, 2], device='cpu')
    """
    return _where(condition, x1, x2)
