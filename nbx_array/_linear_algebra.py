"""Linear algebra functions of the main namespace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbx_array._array import Array, cast, copy, settled
from nbx_array._creation import _array, _new
from nbx_array._data_types import result_type
from nbx_array._elementwise import conj, multiply
from nbx_array._expression import from_view, realize
from nbx_array._manipulation import moveaxis, permute_dims, reshape, squeeze
from nbx_array._out import deliver
from nbx_array._reduction import check_axis, check_integer
from nbx_array._statistical import sum
from nbx_array.kernels import matmul as kernels
from nbx_array.kernels.types import kind
from nbx_array.memory import View
from nbx_array.memory.view import broadcast_shapes, broadcast_strides, collapse, contiguous_strides

_FLOAT32 = np.dtype(np.float32)
_INT64 = np.dtype(np.int64)
_TINY, _MANY = 4, 1024
"""On a GPU so many products, or more, of matrices with at most so many rows and columns are sums of products, element
by element: one program a product starts longer than it works. 10^6 rotations of vectors took 2.9 ms so on an H200,
torch's 1.5."""


def matmul(x1: Array, x2: Array, /, out: Any = None) -> Array:
    """The matrix product, over stacks of matrices in the last two dimensions; `x1 @ x2`.

    x1: shape (..., M, K) or (K,). x2: shape (..., K, N) or (K,). The leading dimensions broadcast; those of a vector
    are left out of the result, which `out` takes. float32 has float32 accuracy; float16 and bfloat16 are added up in
    float32. Raises ValueError for 0-d arrays and inner dimensions that differ. Standard: linear algebra functions,
    `matmul`.

    >>> xp.matmul(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]))
    Array([3, 7], device='cpu')
    """
    x1 = _array(x1, "matmul")
    x2 = _array(x2, "matmul")
    if not x1.shape or not x2.shape:
        raise ValueError(f"matmul: expected at least 1 dimension, got shapes {x1.shape} and {x2.shape}")
    if x1.device is not x2.device:
        raise ValueError(f"matmul: operands lie on {x1.device} and {x2.device}; move one with to_device")
    dtype = x1.sig.dtype if x1.sig.dtype == x2.sig.dtype else result_type(x1, x2)
    if dtype.kind == "b":
        return deliver("matmul", matmul(cast(x1, _INT64), cast(x2, _INT64)) > 0, out)
    a, b = cast(x1, dtype).memory(), cast(x2, dtype).memory()
    if len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0]:
        return deliver("matmul", _of_matrices(a, b), out)
    if len(a.shape) == 1:
        a = a._replace(shape=(1, *a.shape), strides=(0, *a.strides))
    if len(b.shape) == 1:
        b = b._replace(shape=(*b.shape, 1), strides=(*b.strides, 0))
    m, k = a.shape[-2:]
    n = b.shape[-1]
    if b.shape[-2] != k:
        raise ValueError(f"matmul: inner dimensions differ, {k} of shape {x1.shape} and {b.shape[-2]} of {x2.shape}")
    try:
        stack = broadcast_shapes(a.shape[:-2], b.shape[:-2]) if len(a.shape) + len(b.shape) > 4 else ()
    except ValueError as error:
        raise ValueError(f"matmul: {error}") from None
    count = math.prod(stack)
    vectors = (*((-2,) if x1.ndim == 1 else ()), *((-1,) if x2.ndim == 1 else ()))
    exact = dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize > 2)
    if exact and count >= _MANY and max(m, n, k) <= _TINY and x1.device.backend != "cpu":
        left, right = (from_view(Array, view) for view in (a, b))
        product = sum(left[..., :, None, :] * right.mT[..., None, :, :], axis=-1, dtype=dtype)
        product = squeeze(product, vectors) if vectors else product
    else:
        shape = (*stack, *((m,) if x1.ndim > 1 else ()), *((n,) if x2.ndim > 1 else ()))
        product = _new(shape, dtype, x1.device)
        if product.size:
            sizes = count, m, n
            target = View(product.keep[0], dtype, sizes, contiguous_strides(sizes), 0)
            kernels.matmul(_stacked(a, stack), _stacked(b, stack), target)
        product = settled(product)
    return deliver("matmul", product, out)


def _of_matrices(a: View, b: View) -> Array:
    """The product of two matrices that fit, by the shortest way."""
    m, n = a.shape[0], b.shape[1]
    product = _new((m, n), a.dtype, a.storage.device)
    if m and n:
        left = View(a.storage, a.dtype, (1, *a.shape), (0, *a.strides), a.offset)
        right = View(b.storage, b.dtype, (1, *b.shape), (0, *b.strides), b.offset)
        kernels.matmul(left, right, View(product.keep[0], a.dtype, (1, m, n), (m * n, n, 1), 0))
    return product


def _stacked(x: View, stack: tuple[int, ...]) -> View:
    """A stack of matrices along one leading dimension; copied where its dimensions do not merge into one."""
    matrix = x.shape[-2:]
    if not stack:
        return x._replace(shape=(1, *matrix), strides=(0, *x.strides))
    strides = broadcast_strides(x.shape, x.strides, (*stack, *matrix))
    dims, (steps,) = collapse(stack, strides[:-2])
    if len(dims) > 1:
        view = x._replace(shape=(*stack, *matrix), strides=strides)
        packed = realize(copy(from_view(Array, view))).memory()
        return _stacked(packed, stack)
    step = steps[0] if steps else 0
    return x._replace(shape=(math.prod(stack), *matrix), strides=(step, *strides[-2:]))


def matrix_transpose(x: Array, /) -> Array:
    """A view of a stack of matrices, each transposed; `x.mT`.

    Raises ValueError for fewer than two dimensions. Standard: linear algebra functions, `matrix_transpose`.

    >>> xp.matrix_transpose(xp.asarray([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], device='cpu')
    """
    x = _array(x, "matrix_transpose")
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, got shape {x.shape}")
    return x.mT


def tensordot(a: Array, b: Array, axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2) -> Array:
    """Products of elements summed over axes: the other axes of `a`, then those of `b`, remain.

    axes: the number of last axes of `a` and first ones of `b` to sum over, or the axes of each, one or several, which
    correspond in turn.
    Raises ValueError for axes that differ in number or length, or that are named twice, AxisError for one out of
    bounds. Standard: linear algebra functions, `tensordot`.

    >>> xp.tensordot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([10, 1]), axes=1)
    Array([12, 34], device='cpu')
    """
    a = _array(a, "tensordot")
    b = _array(b, "tensordot")
    if isinstance(axes, tuple | list):
        first, second = axes
        left, right = (
            tuple(check_axis("tensordot", axis, x.ndim) for axis in (axes if np.iterable(axes) else (axes,)))
            for x, axes in ((a, first), (b, second))
        )
    else:
        count = check_integer("tensordot", "axes", axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: {count} axes of shapes {a.shape} and {b.shape}")
        left, right = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    lengths = tuple(a.shape[axis] for axis in left)
    if lengths != tuple(b.shape[axis] for axis in right) or len(set(left)) < len(left) or len(set(right)) < len(right):
        raise ValueError(f"tensordot: axes {left} of shape {a.shape} and {right} of {b.shape} do not correspond")
    rows = tuple(axis for axis in range(a.ndim) if axis not in left)
    columns = tuple(axis for axis in range(b.ndim) if axis not in right)
    down, across = (tuple(x.shape[i] for i in kept) for x, kept in ((a, rows), (b, columns)))
    inner = math.prod(lengths)
    matrix = reshape(permute_dims(a, rows + left), (math.prod(down), inner))
    other = reshape(permute_dims(b, right + columns), (inner, math.prod(across)))
    return reshape(matmul(matrix, other), down + across)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The dot product of vectors along an axis: the sum of conj(x1) * x2, in one pass over both.

    x1, x2: any dtypes, shapes that broadcast but for the axis, which has the same length in both. axis: counted in each
    array by itself. Result: of the common dtype; 16-bit floats are multiplied and added in float32.
    Raises AxisError for an axis out of bounds, ValueError for lengths that differ or shapes that do not broadcast.
    Standard: linear algebra functions, `vecdot`.

    >>> xp.vecdot(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([10.0, 1.0]))
    Array([12., 34.], device='cpu')
    """
    x1, x2 = _array(x1, "vecdot"), _array(x2, "vecdot")
    places = [check_axis("vecdot", axis, x.ndim) for x in (x1, x2)]
    lengths = [x.shape[place] for x, place in zip((x1, x2), places, strict=True)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"vecdot: lengths {lengths[0]} and {lengths[1]} differ along axis {axis}")
    dtype = result_type(x1, x2)
    if places[0] - x1.ndim != places[1] - x2.ndim:
        x1, x2 = (moveaxis(x, place, -1) for x, place in zip((x1, x2), places, strict=True))
        places[0] = x1.ndim - 1
    fromend = places[0] - x1.ndim
    if kind(dtype) == "f" and dtype.itemsize == 2:
        x1, x2 = cast(x1, _FLOAT32), cast(x2, _FLOAT32)
    product = multiply(conj(x1) if x1.dtype.kind == "c" else x1, x2)
    return cast(sum(product, axis=fromend), dtype)
