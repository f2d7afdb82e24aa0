"""Searching functions of the standard."""

from __future__ import annotations

from nbx_array._array import Array
from nbx_array._array import where as _where
from nbx_array._elementwise import Operand


def where(condition: Array, x1: Operand, x2: Operand, /) -> Array:
    """Elements of x1 where the condition holds, of x2 elsewhere; all three broadcast against each other.

    Raises TypeError without any array among the operands. Standard: searching functions, `where`.

    >>> xp.where(xp.asarray([True, False]), 1, 2)
    Array([1, 2], device='cpu')
    """
    return _where(condition, x1, x2)
