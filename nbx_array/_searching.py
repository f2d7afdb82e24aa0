"""Searching functions of the standard."""

from __future__ import annotations

from nbx_array import _indexing
from nbx_array._array import Array
from nbx_array._array import where as _where
from nbx_array._elementwise import Operand


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
