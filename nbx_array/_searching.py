"""Searching functions of the standard."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nbx_array import _indexing
from nbx_array._array import Array, as_value, cast, filled, packed
from nbx_array._array import where as _where
from nbx_array._creation import _array, _new
from nbx_array._elementwise import Operand
from nbx_array._expression import describe
from nbx_array._operations import operands_of, promote
from nbx_array._out import deliver
from nbx_array._reduction import Axis, check_axes, reduce
from nbx_array.kernels import sort as kernels
from nbx_array.kernels.pointwise import BOOL
from nbx_array.kernels.types import kind

INT64 = np.dtype(np.int64)


def argmax(a: Array, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """The index, int64, of the greatest element along an axis; of equal ones the first. NaN counts as greater than all.

    a: any shape, real or bool. axis: None for an index into the elements in C order. keepdims: keep the axis, or for
    None all axes, with length 1. Raises TypeError for complex `a`, AxisError for an axis out of bounds, ValueError
    where there are no elements. Standard: searching functions, `argmax`.

    >>> xp.argmax(xp.asarray([3, 9, 4]))
    Array(1, device='cpu')
    """
    return deliver("argmax", _place("argmax", a, axis, keepdims), out)


def argmin(a: Array, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """The index, int64, of the least element along an axis; of equal ones the first. NaN counts as less than all.

    a: any shape, real or bool. axis: None for an index into the elements in C order. keepdims: keep the axis, or for
    None all axes, with length 1. Raises TypeError for complex `a`, AxisError for an axis out of bounds, ValueError
    where there are no elements. Standard: searching functions, `argmin`.

    >>> xp.argmin(xp.asarray([3, 9, 4]))
    Array(0, device='cpu')
    """
    return deliver("argmin", _place("argmin", a, axis, keepdims), out)


def _place(name: str, x: Array, axis: int | None, keepdims: bool) -> Array:
    x = _array(x, name)
    if isinstance(axis, tuple):
        raise TypeError(f"{name}: axis must be an integer or None, not {axis!r}")
    return reduce(name, x, check_axes(name, axis, x.ndim), keepdims)


def count_nonzero(a: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number, int64, of elements over axes that are not zero; NaN is not.

    a: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice.
    Standard: searching functions, `count_nonzero`.

    >>> xp.count_nonzero(xp.asarray([0, 7, 0, 7]))
    Array(2, device='cpu')
    """
    a = _array(a, "count_nonzero")
    axes = check_axes("count_nonzero", axis, a.ndim)
    return reduce("sum", cast(a, BOOL), axes, keepdims, caller="count_nonzero")


def nonzero(a: Array) -> tuple[Array, ...]:
    """Coordinates of the elements that are not zero: an int64 array an axis, in C order. Waits for the device.

    Raises ValueError for a 0-d array. Standard: searching functions, `nonzero`.

    >>> xp.nonzero(xp.asarray([0, 3, 0, 5]))
    (Array([1, 3], device='cpu'),)
    """
    a = _array(a, "nonzero")
    if not a.shape:
        raise ValueError("nonzero: expected at least 1 dimension, got a 0-d array")
    return _indexing.nonzero(a)


def searchsorted(
    a: Array, v: Array | float, side: Literal["left", "right"] = "left", sorter: Array | None = None
) -> Array:
    """For each element of `v` the index, int64, in sorted `a` before which it can be inserted and keep the order.

    NaN counts as greater than all, and -0 equals +0. `a`: 1 dimension, real, in ascending order, or with `sorter` in
    the order that its integers give. `v`: any shape, or a scalar. side: whether before or after ("right") elements that
    equal it. Raises ValueError for another side, an `a` of other dimensions or a sorter of another length, TypeError
    for complex arrays and a sorter of other than integers, IndexError for one out of range.
    Standard: searching functions, `searchsorted`.

    >>> xp.searchsorted(xp.asarray([10, 20, 30]), xp.asarray([15, 30]))
    Array([1, 2], device='cpu')
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    a = _array(a, "searchsorted")
    if a.ndim != 1:
        raise ValueError(f"searchsorted: x1 must have 1 dimension, got shape {a.shape}")
    if sorter is not None:
        sorter = _array(sorter, "searchsorted")
        if sorter.shape != a.shape:
            raise ValueError(f"searchsorted: x1 has shape {a.shape} and its sorter {sorter.shape}")
        if sorter.dtype.kind not in "iu":
            raise TypeError(f"searchsorted: a sorter holds integers, not {sorter.dtype}")
        a = _indexing.take(a, sorter, 0)
    (ours, needles), device = operands_of("searchsorted", (a, v))
    if isinstance(needles, (bool, int, float, complex)) and not isinstance(needles, np.generic):
        dtype = promote((a.dtype,), (type(needles),), device)
        if isinstance(needles, int) and dtype.kind in "iu" and not _fits(needles, dtype):
            return filled((), a.size if needles > 0 else 0, INT64, device, "searchsorted")
    else:
        dtype = promote((a.dtype, needles.dtype), (), device)
    if kind(dtype) == "c":
        raise TypeError(f"searchsorted is not defined for dtype {dtype}, given {describe(a)} and {describe(v)}")
    shape = needles.shape if isinstance(needles, Array) else ()
    ours = packed(cast(ours, dtype))
    needles = packed(as_value(needles, shape, dtype, device, "searchsorted"))
    out = _new(shape, INT64, device)
    if needles.size:
        kernels.search(ours.memory(), needles.memory(), out.memory(), right=side == "right")
    return out


def _fits(number: int, dtype: np.dtype) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def where(condition: Array, x1: Operand | None = None, x2: Operand | None = None, /) -> Any:
    """Elements of x1 where the condition holds, of x2 elsewhere; all three broadcast against each other.

    The condition alone gives what `nonzero` gives. Raises ValueError for one of x1 and x2 without the
    other. Standard: searching functions, `where`.

    >>> xp.where(xp.asarray([True, False]), 1, 2)
    Array([1, 2], device='cpu')
    """
    if x1 is None and x2 is None:
        return nonzero(_array(condition, "where"))
    if x1 is None or x2 is None:
        raise ValueError("where: either both or neither of x1 and x2 are given")
    return _where(condition, x1, x2)
