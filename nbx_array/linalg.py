"""Linear algebra functions of the standard, over stacks of matrices in the last two dimensions.

On the CPU NumPy (LAPACK) factorises on the same memory, unless NBX_HOST_ROUTINES=0; elsewhere kernels do. LinAlgError
is numpy.linalg's: to know whether to raise it, the host waits for one word of the device.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from nbx_array import _factorisations, _lapack, _spectra
from nbx_array._array import Array, cast, filled, view_of
from nbx_array._creation import _array, eye
from nbx_array._data_types import result_type
from nbx_array._elementwise import abs, conj, divide, isfinite, logical_and, multiply, pow, subtract
from nbx_array._expression import from_view, strides_of
from nbx_array._linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from nbx_array._manipulation import broadcast_to, expand_dims, stack
from nbx_array._reduction import Axis, check_axes, check_axis, check_integer, inexact, reduce
from nbx_array._searching import count_nonzero, where
from nbx_array._statistical import max, min, sum
from nbx_array.kernels.types import default_complex, kind
from nbx_array.memory.view import broadcast_shapes

__all__ = [
    "LinAlgError",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

NUMPYS = ("cond", "lstsq", "multi_dot", "norm")
"""What NumPy has beyond the standard."""


def __getattr__(name: str) -> Any:
    """What is loaded when first asked for."""
    if name in NUMPYS:
        from nbx_array import _numpy_linalg

        return getattr(_numpy_linalg, name)
    hint = f"; numpy.linalg.{name} takes arrays converted with nbx_array.asnumpy" if hasattr(np.linalg, name) else ""
    raise AttributeError(f"module 'nbx_array.linalg' has no attribute {name!r}{hint}", name=name)


FLOAT32 = np.dtype(np.float32)


class EigResult(NamedTuple):
    """Eigenvalues and, in columns, eigenvectors of a square matrix."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and in columns orthonormal eigenvectors of a Hermitian matrix."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """An orthonormal and an upper triangular factor."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its magnitude."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Left singular vectors, singular values in descending order, and adjoint right singular vectors."""

    U: Array
    S: Array
    Vh: Array


# ------------------------------------------------------------------------------------------------------- operands


def _matrices(name: str, x: Array) -> Array:
    x = _array(x, name)
    if x.ndim < 2:
        raise LinAlgError(f"{name}: expected at least 2 dimensions, got shape {x.shape}")
    return x


def _inexact(name: str, x: Array) -> Array:
    """Matrices to factorise: of a dtype that NumPy factorises, too."""
    x = inexact(_matrices(name, x))
    if _is_short(x.dtype):
        raise TypeError(f"{name}: dtype {x.dtype} is not supported; cast to float32")
    return x


def _square(name: str, x: Array) -> Array:
    x = _matrices(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name}: expected square matrices, got shape {x.shape}")
    return _inexact(name, x)


def _adjoint(x: Array) -> Array:
    return conj(x.mT) if x.dtype.kind == "c" else x.mT


# ------------------------------------------------------------------------------------------------- factorisations


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """The lower triangular L with x = L Lᴴ, of Hermitian positive definite matrices; with `upper` U = Lᴴ.

    x: shape (..., N, N), floating point; only its lower triangle is read. Raises LinAlgError for a matrix that is not
    positive definite or not square.
    Standard: linear algebra functions, `cholesky`.

    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 10.0]]))
    Array([[2., 0.],
           [1., 3.]], device='cpu')
    """
    lower = _factorisations.cholesky(_square("cholesky", x))
    return _adjoint(lower) if upper else lower


def det(a: Array) -> Array:
    """The determinant of each matrix; 1 of an empty one.

    a: shape (..., N, N), floating point. Raises LinAlgError for matrices that are not square.
    Standard: linear algebra functions, `det`.

    >>> xp.linalg.det(xp.asarray([[2.0, 1.0], [1.0, 4.0]]))
    Array(7., device='cpu')
    """
    return _factorisations.det(_square("det", a))


def slogdet(a: Array) -> SlogdetResult:
    """The sign (of complex matrices, the phase) of the determinant and the logarithm of its magnitude.

    Of a singular matrix they are 0 and -inf. a: shape (..., N, N), floating point. Raises ValueError for matrices that
    are not square. Standard: linear algebra functions, `slogdet`.

    >>> xp.linalg.slogdet(xp.asarray([[0.0, 1.0], [1.0, 0.0]]))
    SlogdetResult(sign=Array(-1., device='cpu'), logabsdet=Array(0., device='cpu'))
    """
    return SlogdetResult(*_factorisations.slogdet(_square("slogdet", a)))


def eig(a: Array) -> EigResult:
    """Eigenvalues and eigenvectors, in columns of length 1, of square matrices; always complex.

    LAPACK computes them on the host: arrays of a GPU are copied there and the result back.
    a: shape (..., N, N), floating point. Raises LinAlgError for matrices that are not square and where the
    iteration does not converge or elements are not finite. Standard: linear algebra functions, `eig`.

    >>> xp.linalg.eig(xp.asarray([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    Array([2.+0.j, 3.+0.j], device='cpu')
    """
    a = _square("eig", a)
    values, vectors = _lapack.run("eig", np.linalg.eig, a)
    return EigResult(cast(values, _complex(a)), cast(vectors, _complex(a)))


def eigvals(a: Array) -> Array:
    """The eigenvalues of square matrices, always complex; as `eig` computes them.

    a: shape (..., N, N), floating point. Raises what `eig` raises. Standard: linear algebra functions, `eigvals`.

    >>> xp.linalg.eigvals(xp.asarray([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], device='cpu')
    """
    a = _square("eigvals", a)
    (values,) = _lapack.run("eigvals", np.linalg.eigvals, a)
    return cast(values, _complex(a))


def _complex(x: Array) -> np.dtype:
    return result_type(x.dtype, np.dtype(np.complex64)) if x.dtype != np.float64 else default_complex(x.device)


def eigh(a: Array, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and orthonormal eigenvectors, in columns, of Hermitian matrices.

    a: shape (..., N, N), floating point; only its lower triangle is read, or with UPLO "U" the upper one. Raises
    LinAlgError for matrices that are not square and where the iteration does not converge.
    Standard: linear algebra functions, `eigh`.

    >>> xp.linalg.eigh(xp.asarray([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    Array([1., 3.], device='cpu')
    """
    return EighResult(*_spectra.eigh("eigh", _lower("eigh", a, UPLO)))


def eigvalsh(a: Array, UPLO: str = "L") -> Array:
    """The eigenvalues, ascending, of Hermitian matrices.

    a: shape (..., N, N), floating point; only its lower triangle is read, or with UPLO "U" the upper one. Raises
    what `eigh` raises. Standard: linear algebra functions, `eigvalsh`.

    >>> xp.linalg.eigvalsh(xp.asarray([[2.0, 1.0], [1.0, 2.0]]))
    Array([1., 3.], device='cpu')
    """
    return _spectra.eigh("eigvalsh", _lower("eigvalsh", a, UPLO))[0]


def _lower(name: str, x: Array, triangle: str) -> Array:
    """Square matrices whose lower triangle is the one that is meant."""
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f"{name}: UPLO argument must be 'L' or 'U', not {triangle!r}")
    square = _square(name, x)
    return square if triangle.upper() == "L" else _adjoint(square)


def inv(a: Array) -> Array:
    """The inverse of each matrix.

    a: shape (..., N, N), floating point. Raises LinAlgError for a singular matrix and one that is not square.
    Standard: linear algebra functions, `inv`.

    >>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], device='cpu')
    """
    return _factorisations.inv(_square("inv", a))


def solve(a: Array, b: Array) -> Array:
    """The x with a x = b, for square matrices `a`.

    a: shape (..., N, N), floating point. b: one vector, shape (N,), for all matrices, or matrices of shape
    (..., N, K); the leading dimensions broadcast. Raises LinAlgError for a matrix that is singular
    or not square, ValueError for shapes that do not fit. Standard: linear algebra functions, `solve`.

    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0]))
    Array([1. , 0.5], device='cpu')
    """
    a, b = _square("solve", a), inexact(_array(b, "solve"))
    vector = b.ndim == 1
    if b.ndim == 0 or b.shape[0 if vector else -2] != a.shape[-1]:
        raise ValueError(f"solve: {a.shape} and {b.shape} are no matrices and right sides of one length")
    if a.device is not b.device:
        raise ValueError(f"solve: operands lie on {a.device} and {b.device}; move one with to_device")
    dtype = result_type(a, b)
    b = expand_dims(b, axis=1) if vector else b
    try:
        dims = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as error:
        raise ValueError(f"solve: {error}") from None
    a = broadcast_to(cast(a, dtype), (*dims, *a.shape[-2:]))
    b = broadcast_to(cast(b, dtype), (*dims, *b.shape[-2:]))
    result = _factorisations.solve(a, b)
    return result[..., 0] if vector else result


def qr(a: Array, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R with a = Q R.

    a: shape (..., M, N), floating point. mode: "reduced" for Q of shape (..., M, K) and R of (..., K, N), where K is
    the less of M and N, "complete" for (..., M, M) and (..., M, N), "r" for the R of "reduced" alone. Raises
    ValueError for another mode.
    Standard: linear algebra functions, `qr`.

    >>> xp.linalg.qr(xp.asarray([[0.0, 2.0], [0.0, 0.0], [0.0, 0.0]])).R.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'qr: mode must be "reduced", "complete" or "r", not {mode!r}')
    result = QRResult(*_factorisations.qr(_inexact("qr", a), complete=mode == "complete"))
    return result.R if mode == "r" else result


def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, S and Vᴴ with a = U diag(S) Vᴴ: orthonormal columns and rows, singular values in descending order.

    a: shape (..., M, N), floating point. full_matrices: U of shape (..., M, M) and Vh of (..., N, N); else (..., M, K)
    and (..., K, N), where K is the less of M and N. compute_uv: False gives S alone. hermitian: accepted; it changes
    nothing. Raises LinAlgError where the iteration does not converge. Standard: linear algebra functions, `svd`.

    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    Array([4., 3.], device='cpu')
    """
    if not compute_uv:
        return _singular_values("svd", a)
    return SVDResult(*_spectra.svd("svd", _inexact("svd", a), full=bool(full_matrices)))


def svdvals(x: Array, /) -> Array:
    """The singular values, in descending order, of each matrix.

    x: shape (..., M, N), floating point. Raises LinAlgError where the iteration does not converge.
    Standard: linear algebra functions, `svdvals`.

    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], device='cpu')
    """
    return _singular_values("svdvals", x)


def _singular_values(name: str, x: Array) -> Array:
    return _spectra.svdvals(name, _inexact(name, x))


# ------------------------------------------------------------------------------------------------ made of the above


def pinv(
    a: Array, rcond: float | Array | None = None, hermitian: bool = False, *, rtol: float | Array | None = None
) -> Array:
    """The Moore-Penrose pseudo-inverse of each matrix.

    a: shape (..., M, N), floating point. rtol: singular values up to rtol times the greatest count as zero; by default
    the greater of M and N times the dtype's epsilon. rcond: NumPy's other name of it. hermitian: accepted; it changes
    nothing. Raises what `svd` raises, ValueError for both names. Standard: linear algebra functions, `pinv`.

    >>> xp.linalg.pinv(xp.asarray([[2.0, 0.0]]))
    Array([[0.5],
           [0. ]], device='cpu')
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: rtol and rcond can't be both set")
    rtol = rcond if rtol is None else rtol
    a = _inexact("pinv", a)
    if 0 in a.shape:
        return _zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a)
    u, s, vh = _spectra.svd("pinv", a, full=False)
    counts = _above(s, a, rtol)
    inverse = where(counts, divide(1.0, where(counts, s, 1.0)), 0.0)
    return matmul(_adjoint(vh), multiply(inverse[..., :, None], _adjoint(u)))


def matrix_rank(
    A: Array, tol: float | Array | None = None, hermitian: bool = False, *, rtol: float | Array | None = None
) -> Array:
    """The number, int64, of singular values of each matrix that are above rtol times the greatest.

    A: shape (..., M, N), floating point. rtol: by default the greater of M and N times the dtype's epsilon. tol: counts
    singular values above this number instead. hermitian: accepted; it changes nothing. Raises what `svdvals` raises,
    ValueError for both limits. Standard: linear algebra functions, `matrix_rank`.

    >>> xp.linalg.matrix_rank(xp.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, device='cpu')
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: tol and rtol can't be both set")
    A = _inexact("matrix_rank", A)
    s = _singular_values("matrix_rank", A)
    if tol is not None:
        return count_nonzero(s > (expand_dims(tol, axis=-1) if isinstance(tol, Array) else tol), axis=-1)
    return count_nonzero(_above(s, A, rtol) if s.size else s, axis=-1)


def _above(s: Array, x: Array, rtol: float | Array | None) -> Array:
    """Which singular values of x count."""
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * float(np.finfo(s.dtype).eps)
    limit = expand_dims(rtol, axis=-1) if isinstance(rtol, Array) else rtol
    return s > multiply(max(s, axis=-1, keepdims=True), limit)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """The norm of each matrix.

    x: shape (..., M, N), floating point. keepdims: keep the last two axes with length 1. ord: "fro", the root of the
    sum of squares; "nuc", the sum of the singular values; 1 or inf, the greatest sum of magnitudes of a column or a
    row; 2, the greatest singular value; -1, -inf, -2 the least of these. Raises ValueError for another ord.
    Standard: linear algebra functions, `matrix_norm`.

    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, -4.0], [0.0, 0.0]]), ord=1)
    Array(4., device='cpu')
    """
    x = inexact(_matrices("matrix_norm", x))
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc":
        result = sum(_singular_values("matrix_norm", x), axis=-1)
    elif isinstance(ord, (int, float)) and builtins.abs(ord) in (1, 2, math.inf):
        if builtins.abs(ord) == 2:
            sizes = _singular_values("matrix_norm", x)
        else:
            sizes = sum(abs(x), axis=-2 if builtins.abs(ord) == 1 else -1)
        if ord > 0 and not sizes.shape[-1]:
            result = _zeros(sizes.shape[:-1], sizes)
        else:
            result = (max if ord > 0 else min)(sizes, axis=-1)
    else:
        raise ValueError(f'matrix_norm: ord must be "fro", "nuc", 1, -1, 2, -2, inf or -inf, not {ord!r}')
    return expand_dims(result, axis=(-2, -1)) if keepdims else result


def matrix_power(
    a: Array,
    n: int,
) -> Array:
    """The n-th power of each matrix; of the inverse if n is negative.

    a: shape (..., N, N). Raises TypeError for an n that is no integer, LinAlgError for a negative power of a singular
    matrix and for matrices that are not square. Standard: linear algebra functions, `matrix_power`.

    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 5)
    Array([[1., 5.],
           [0., 1.]], device='cpu')
    """
    a = _matrices("matrix_power", a)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError(f"matrix_power: expected square matrices, got shape {a.shape}")
    n = check_integer("matrix_power", "n", n)
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return broadcast_to(eye(a.shape[-1], dtype=a.dtype, device=a.device), a.shape)
    power = a
    result: Array | None = None
    while n:
        if n & 1:
            result = +power if result is None else matmul(result, power)
        n >>= 1
        power = matmul(power, power) if n else power
    assert result is not None
    return result


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three components along an axis.

    x1, x2: numeric, shapes that broadcast but for the axis. axis: counted in each array by itself. Raises ValueError
    for an axis of another length or shapes that do not broadcast, AxisError for an axis out of bounds.
    Standard: linear algebra functions, `cross`.

    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    Array([0, 0, 1], device='cpu')
    """
    x1, x2 = _array(x1, "cross"), _array(x2, "cross")
    places = [check_axis("cross", axis, x.ndim) for x in (x1, x2)]
    for x, place in zip((x1, x2), places, strict=True):
        if x.shape[place] != 3:
            raise ValueError(f"cross: expected 3 components along axis {axis}, got shape {x.shape}")
    a, b = (_components(x, place) for x, place in zip((x1, x2), places, strict=True))
    parts = [subtract(multiply(a[i], b[j]), multiply(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return stack(parts, axis=axis)


def _components(x: Array, axis: int) -> list[Array]:
    """Views of the elements at each place along an axis."""
    dims, strides = x.dims, strides_of(x)
    rest, steps = (*dims[:axis], *dims[axis + 1 :]), (*strides[:axis], *strides[axis + 1 :])
    return [view_of(x, rest, steps, i * strides[axis]) for i in range(dims[axis])]


def outer(x1: Array, x2: Array, /) -> Array:
    """The products of every element of one vector with every one of another.

    x1: shape (N,). x2: shape (M,). Result: shape (N, M). Raises ValueError for arrays of other dimensions.
    Standard: linear algebra functions, `outer`.

    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    Array([[3, 4],
           [6, 8]], device='cpu')
    """
    x1, x2 = _array(x1, "outer"), _array(x2, "outer")
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: expected 1-dimensional arrays, got shapes {x1.shape} and {x2.shape}")
    return multiply(x1[:, None], x2[None, :])


def diagonal(x: Array, /, offset: int = 0) -> Array:
    """A view of the diagonal of each matrix.

    x: shape (..., M, N). offset: of the diagonal, counted upwards from the main one; one beyond the matrix is empty.
    Raises ValueError for fewer than two dimensions. Standard: linear algebra functions, `diagonal`.

    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    Array([1, 4], device='cpu')
    """
    view = _matrices("diagonal", x).memory()
    offset = check_integer("diagonal", "offset", offset)
    (*dims, m, n), (*steps, row, column) = view.shape, view.strides
    length = builtins.max(builtins.min(m, n - offset) if offset >= 0 else builtins.min(m + offset, n), 0)
    start = (offset * column if offset > 0 else -offset * row) if length else 0
    return from_view(
        Array,
        view._replace(shape=(*dims, length), strides=(*steps, row + column), offset=view.offset + start),
    )


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal of each matrix.

    x: shape (..., M, N), numeric. offset: as `diagonal` has it. dtype: as `sum` has it, int64 for signed integers and
    uint64 for unsigned ones by default. Raises ValueError for fewer than two dimensions.
    Standard: linear algebra functions, `trace`.

    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    Array(5, device='cpu')
    """
    return sum(diagonal(_matrices("trace", x), offset=offset), axis=-1, dtype=dtype)


# --------------------------------------------------------------------------------------------------- vector norms


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
    x = _array(x, "vector_norm")
    axes = check_axes("vector_norm", axis, x.ndim)
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


def _zeros(shape: tuple[int, ...], like: Array) -> Array:
    return filled(shape, 0, like.dtype, like.device, "zeros")
