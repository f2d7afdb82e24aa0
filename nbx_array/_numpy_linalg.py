"""NumPy's functions of linear algebra beyond the standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nbx_array import linalg
from nbx_array._array import Array, cast, filled
from nbx_array._creation import _array
from nbx_array._data_types import result_type
from nbx_array._elementwise import abs, divide, multiply, square
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import moveaxis
from nbx_array._out import deliver
from nbx_array._reduction import Axis, inexact
from nbx_array._searching import count_nonzero, where
from nbx_array._statistical import sum


class LstsqResult(NamedTuple):
    """A least-squares solution, the sums of squared residuals, the matrix's rank and its singular values."""

    x: Array
    residuals: Array
    rank: Array
    s: Array


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """The norm of vectors along an axis, or of matrices over two; of all elements by default.

    ord: as `vector_norm` or `matrix_norm` has it. Without an axis it needs x of 1 or 2 dimensions, or is None. Raises
    ValueError for an ord or axes that do not fit. Source: NumPy, `linalg.norm`.

    >>> xp.linalg.norm(xp.asarray([3.0, 4.0]))
    Array(5., device='cpu')
    """
    x = inexact(_array(x, "norm"))
    if axis is None:
        if ord is None or (x.ndim == 1 and ord == 2):
            return linalg.vector_norm(x, keepdims=keepdims)
        axis = tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"norm: invalid norm order {ord!r} for vectors")
        return linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"norm: improper number of dimensions to norm, {len(axes)}")
    if axes[0] % x.ndim == axes[1] % x.ndim:
        raise ValueError("norm: duplicate axes given")
    result = linalg.matrix_norm(moveaxis(x, axes, (-2, -1)), keepdims=keepdims, ord="fro" if ord is None else ord)
    return moveaxis(result, (-2, -1), axes) if keepdims else result


def cond(x: Any, p: Any = None) -> Array:
    """The condition number: the norm of x times that of its inverse; by default of the greatest to the least singular
    value. Infinite for a singular matrix. Source: NumPy, `linalg.cond`.

    >>> xp.linalg.cond(xp.asarray([[2.0, 0.0], [0.0, 1.0]]))
    Array(2., device='cpu')
    """
    x = inexact(_array(x, "cond"))
    if 0 in x.shape[-2:]:
        raise linalg.LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = linalg.svdvals(x)
        greatest, least = s[..., 0], s[..., -1]
        return divide(least, greatest) if p == -2 else divide(greatest, least)
    return multiply(norm(x, p, (-2, -1)), norm(linalg.inv(x), p, (-2, -1)))


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """The x of least length that makes b - a x least, by the singular values of a.

    a: shape (M, N). b: shape (M,) or (M, K). rcond: singular values up to rcond times the greatest count as zero; by
    default the greater of M and N times epsilon. The residuals are empty unless a has rank N < M, to know which the
    function waits for the device. Source: NumPy, `linalg.lstsq`.

    >>> xp.round(xp.linalg.lstsq([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 3.0, 5.0]).x, 6)
    Array([2., 1.], device='cpu')
    """
    a, b = inexact(_array(a, "lstsq")), inexact(_array(b, "lstsq"))
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise linalg.LinAlgError(f"lstsq: incompatible dimensions: {a.shape} and {b.shape}")
    dtype = result_type(a, b)
    a, b = cast(a, dtype), cast(b, dtype)
    m, n = a.shape
    right = b if b.ndim == 2 else b[:, None]
    real = np.dtype(np.zeros((), dtype).real.dtype)
    rcond = max(m, n) * float(np.finfo(dtype).eps) if rcond is None or rcond < 0 else rcond
    u, s, vh = linalg.svd(a, full_matrices=False)
    counts = s > rcond * s[:1] if s.size else s > 0
    inverse = where(counts, divide(1.0, where(counts, s, 1.0)), 0.0)
    x = matmul(linalg._adjoint(vh), multiply(cast(inverse, real)[:, None], matmul(linalg._adjoint(u), right)))
    rank = count_nonzero(counts)
    if m > n and int(rank) == n:
        residuals = sum(square(abs(right - matmul(a, x))), axis=0)
    else:
        residuals = filled((0,), 0, real, a.device, "lstsq")
    return LstsqResult(x if b.ndim == 2 else x[:, 0], residuals, rank, s)


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of several matrices, the first and the last of which may be vectors, in the cheapest order.

    The order is found by dynamic programming over their sizes (Cormen, Introduction to Algorithms, 15.2). Raises
    ValueError for fewer than two. Source: NumPy, `linalg.multi_dot`.

    >>> xp.linalg.multi_dot([xp.ones((1, 2)), xp.ones((2, 2)), xp.ones((2, 1))])
    Array([[4.]], device='cpu')
    """
    parts = [_array(x, "multi_dot") for x in arrays]
    n = len(parts)
    if n < 2:
        raise ValueError("multi_dot: expecting at least two arrays")
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0][None, :] if row else parts[0]
    parts[-1] = parts[-1][:, None] if column else parts[-1]
    sizes = [*(x.shape[0] for x in parts), parts[-1].shape[1]]
    cost = [[0.0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], cut[i][j] = min(options)

    def product(i: int, j: int) -> Array:
        return parts[i] if i == j else matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    result = product(0, n - 1)
    result = result[0] if row else result
    result = result[..., 0] if column else result
    return deliver("multi_dot", result, out)
