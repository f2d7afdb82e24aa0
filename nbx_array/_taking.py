"""Indexing functions of the standard: elements by integer arrays."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nbx_array import _indexing
from nbx_array._array import Array, broadcast_to, cast
from nbx_array._creation import _array, arange
from nbx_array._elementwise import maximum, minimum, remainder
from nbx_array._manipulation import _axes, reshape
from nbx_array._out import deliver
from nbx_array.memory.view import broadcast_shapes

INT64 = np.dtype(np.int64)


def _indices(indices: Array, x: Array, name: str) -> Array:
    """An array of integers on x's device, or an error of NumPy's type."""
    indices = _array(indices, name)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices must be integers, got dtype {indices.dtype}")
    if indices.device is not x.device:
        raise ValueError(f"{name}: the array lies on {x.device} and its indices on {indices.device}")
    return indices


def take(
    a: Array,
    indices: Array,
    axis: int | None = None,
    out: Any = None,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Array:
    """The elements of `a` at the given places along an axis; of `a` flattened if axis is None.

    indices: integers of any shape, which stands for the axis in the result; negative ones count from the end.
    mode: "raise" for IndexError for an index out of range, on the CPU here, on a GPU at the next function that waits
    for it; "wrap" counts on from the other end, "clip" takes the first or last. Raises ValueError for another mode.
    Standard: indexing functions, `take`.

    >>> xp.take(xp.asarray([10, 20, 30]), xp.asarray([2, 0]))
    Array([30, 10], device='cpu')
    """
    a = _array(a, "take")
    indices = _indices(indices, a, "take")
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    (along,) = _axes(axis, a.ndim, "take")
    if not a.shape[along] and indices.size:
        raise IndexError(f"take: cannot take elements from axis {along} of shape {a.shape}, which has none")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    if mode == "wrap":
        indices = remainder(cast(indices, INT64), a.shape[along])
    elif mode == "clip":
        indices = minimum(maximum(cast(indices, INT64), 0), a.shape[along] - 1)
    return deliver("take", _indexing.take(a, indices, along, exact=mode != "raise"), out)


def take_along_axis(arr: Array, indices: Array, axis: int = -1) -> Array:
    """The element of `arr` at each of the given indices along an axis, in the same place along the other axes.

    indices: integers, of as many dimensions as `arr`; the other axes broadcast. Negative ones count from the end.
    Raises ValueError where the dimensions differ in number, IndexError where the shapes do not fit and for an index
    out of range: on the CPU here, on a GPU at the next function that waits for it.
    Standard: indexing functions, `take_along_axis`.

    >>> xp.take_along_axis(xp.asarray([[10, 20], [30, 40]]), xp.asarray([[1], [0]]))
    Array([[20],
           [30]], device='cpu')
    """
    arr = _array(arr, "take_along_axis")
    indices = _indices(indices, arr, "take_along_axis")
    (along,) = _axes(axis, arr.ndim, "take_along_axis")
    if indices.ndim != arr.ndim:
        raise ValueError(
            f"take_along_axis: x has shape {arr.shape} and indices {indices.shape}; their dimensions differ"
        )
    others = (*arr.shape[:along], 1, *arr.shape[along + 1 :])
    try:
        shape = broadcast_shapes(others, indices.shape)
    except ValueError as error:
        raise IndexError(f"take_along_axis: {error}") from None
    if not arr.shape[along] and 0 not in shape:
        raise IndexError(f"take_along_axis: axis {along} of shape {arr.shape} has no elements")
    whole = (*shape[:along], arr.shape[along], *shape[along + 1 :])
    if arr.shape != whole:
        arr = broadcast_to(arr, whole)

    def places() -> dict[int, Array]:
        return {
            d: reshape(arange(size, device=arr.device), (size, *(1,) * (len(shape) - 1 - d)))
            for d, size in enumerate(shape)
            if d != along and size > 1
        }

    return _indexing.take_along_axis(
        arr, indices if indices.shape == shape else broadcast_to(indices, shape), along, places
    )
