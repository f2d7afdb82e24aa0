"""Linear algebra functions of the main namespace."""

from __future__ import annotations

import math

import numpy as np

from nbx_array._array import Array, cast, copy
from nbx_array._creation import _array, _new
from nbx_array._data_types import result_type
from nbx_array._expression import from_view, realize
from nbx_array.kernels import matmul as kernels
from nbx_array.memory import View
from nbx_array.memory.view import broadcast_shapes, broadcast_strides, collapse, contiguous_strides

_INT64 = np.dtype(np.int64)


def matmul(x1: Array, x2: Array, /) -> Array:
    """The matrix product, over stacks of matrices in the last two dimensions; `x1 @ x2`.

    x1: shape (..., M, K) or (K,). x2: shape (..., K, N) or (K,). The leading dimensions broadcast; those of a vector
    are left out of the result. float32 has float32 accuracy; float16 and bfloat16 are added up in float32.
    Raises ValueError for 0-d arrays and inner dimensions that differ. Standard: linear algebra functions, `matmul`.

    >>> xp.matmul(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]))
    Array([3, 7], device='cpu')
    """
    _array(x1, "matmul")
    _array(x2, "matmul")
    if not x1.shape or not x2.shape:
        raise ValueError(f"matmul: expected at least 1 dimension, got shapes {x1.shape} and {x2.shape}")
    if x1.device is not x2.device:
        raise ValueError(f"matmul: operands lie on {x1.device} and {x2.device}; move one with to_device")
    dtype = result_type(x1, x2)
    if dtype.kind == "b":
        return matmul(cast(x1, _INT64), cast(x2, _INT64)) > 0
    a, b = cast(x1, dtype).view(), cast(x2, dtype).view()
    if len(a.shape) == 1:
        a = a._replace(shape=(1, *a.shape), strides=(0, *a.strides))
    if len(b.shape) == 1:
        b = b._replace(shape=(*b.shape, 1), strides=(*b.strides, 0))
    m, k = a.shape[-2:]
    n = b.shape[-1]
    if b.shape[-2] != k:
        raise ValueError(f"matmul: inner dimensions differ, {k} of shape {x1.shape} and {b.shape[-2]} of {x2.shape}")
    try:
        stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as error:
        raise ValueError(f"matmul: {error}") from None
    out = _new((*stack, m, n), dtype, x1.device)
    if out.size:
        count = math.prod(stack)
        target = out.view()._replace(shape=(count, m, n), strides=contiguous_strides((count, m, n)))
        kernels.matmul(_stacked(a, stack), _stacked(b, stack), target)
    view = out.view()
    keep = [i for i in range(len(view.shape)) if not _dropped(i, len(stack), x1, x2)]
    shape = tuple(view.shape[i] for i in keep)
    return from_view(Array, view._replace(shape=shape, strides=contiguous_strides(shape)))


def _dropped(axis: int, stack: int, x1: Array, x2: Array) -> bool:
    return (axis == stack and x1.ndim == 1) or (axis == stack + 1 and x2.ndim == 1)


def _stacked(x: View, stack: tuple[int, ...]) -> View:
    """A stack of matrices along one leading dimension; copied where its dimensions do not merge into one."""
    matrix = x.shape[-2:]
    strides = broadcast_strides(x.shape, x.strides, (*stack, *matrix))
    dims, (steps,) = collapse(stack, strides[:-2])
    if len(dims) > 1:
        view = x._replace(shape=(*stack, *matrix), strides=strides)
        packed = realize(copy(from_view(Array, view))).view()
        return _stacked(packed, stack)
    step = steps[0] if steps else 0
    return x._replace(shape=(math.prod(stack), *matrix), strides=(step, *strides[-2:]))
