"""Linear algebra functions of the standard."""

from __future__ import annotations

import math
import operator

import numpy as np

from nbx_array._array import Array, cast
from nbx_array._creation import _array
from nbx_array._data_types import result_type
from nbx_array._elementwise import abs, conj, divide, isfinite, logical_and, multiply, pow
from nbx_array._linear_algebra import matmul as matmul
from nbx_array._manipulation import moveaxis
from nbx_array._reduction import Axis, check_axes, inexact, reduce
from nbx_array._searching import count_nonzero, where
from nbx_array._statistical import max, min, sum
from nbx_array.kernels.types import kind
from nbx_array.memory.view import normalize_axis

FLOAT32 = np.dtype(np.float32)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The dot product of vectors along an axis: the sum of conj(x1) * x2, in one pass over both.

    x1, x2: any dtypes, shapes that broadcast but for the axis, which has the same length in both. axis: counted in each
    array by itself. Result: of the common dtype; 16-bit floats are multiplied and added in float32.
    Raises AxisError for an axis out of bounds, ValueError for lengths that differ or shapes that do not broadcast.
    Standard: linear algebra functions, `vecdot`.

    >>> xp.vecdot(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([10.0, 1.0]))
    Array([12., 34.], device='cpu')
    """
    axis = operator.index(axis)
    places = [normalize_axis(axis, _array(x, "vecdot").ndim) for x in (x1, x2)]
    lengths = [x.shape[place] for x, place in zip((x1, x2), places, strict=True)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"vecdot: lengths {lengths[0]} and {lengths[1]} differ along axis {axis}")
    dtype = result_type(x1, x2)
    if places[0] - x1.ndim != places[1] - x2.ndim:
        x1, x2 = (moveaxis(x, place, -1) for x, place in zip((x1, x2), places, strict=True))
        places[0] = x1.ndim - 1
    fromend = places[0] - x1.ndim
    if _is_short(dtype):
        x1, x2 = cast(x1, FLOAT32), cast(x2, FLOAT32)
    product = multiply(conj(x1) if x1.dtype.kind == "c" else x1, x2)
    return cast(sum(product, axis=fromend), dtype)


def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2) -> Array:
    """The norm of vectors, of all elements by default: the ord-th root of the sum of |x| ** ord.

    Elements are scaled on the way where they need to be, so that only a result out of range overflows or underflows.

    x: any shape, floating point; bools and integers, which the standard leaves out, count as the default float.
    axis: an axis, several, or None for all. keepdims: keep the axes with length 1. ord: inf for the greatest |x|, -inf
    for the least, 0 for the number of elements that are not zero, or any number.
    Raises TypeError for an ord that is no number, AxisError for an axis out of bounds, ValueError for one named twice.
    Standard: linear algebra functions, `vector_norm`.

    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    Array(5., device='cpu')
    """
    axes = check_axes("vector_norm", axis, _array(x, "vector_norm").ndim)
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise TypeError(f"vector_norm: ord must be a number, not {ord!r}")
    x = inexact(x)
    size = x if x.dtype.kind != "c" and ord in (0, 2) else abs(x)
    if ord == 2:
        return reduce("vector_norm", size, axes, keepdims)
    if ord == 0:
        return cast(count_nonzero(x, axis=axes, keepdims=keepdims), abs(x).dtype)
    if ord == math.inf and 0 not in x.shape:
        return max(size, axis=axes, keepdims=keepdims)
    if ord == -math.inf:
        return min(size, axis=axes, keepdims=keepdims)
    if ord == 1 or 0 in x.shape:
        return pow(sum(size, axis=axes, keepdims=keepdims), 1.0 if ord > 0 else float(ord))
    return _scaled_norm(size, axes, keepdims, float(ord))


def _scaled_norm(size: Array, axes: tuple[int, ...], keepdims: bool, ord: float) -> Array:
    """The norm of magnitudes, scaled by the one that counts most."""
    dtype = size.dtype
    if _is_short(dtype):
        size = cast(size, FLOAT32)
    extreme = (max if ord > 0 else min)(size, axis=axes, keepdims=True)
    scale = where(logical_and(extreme > 0, isfinite(extreme)), extreme, 1.0)
    total = sum(pow(divide(size, scale), ord), axis=axes, keepdims=True)
    norm = multiply(scale, pow(total, 1.0 / ord))
    if not keepdims:
        norm = sum(norm, axis=axes)  # over axes of length 1
    return cast(norm, dtype)


def _is_short(dtype: np.dtype) -> bool:
    return kind(dtype) == "f" and dtype.itemsize == 2
