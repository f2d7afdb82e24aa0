"""Eigenvalues and vectors of Hermitian matrices, singular values and vectors: stacks of shape (..., M, N).

By NumPy on the CPU (see `_lapack`), else by kernels: one-sided Jacobi, which is as accurate as any and as happy with a
stack of small matrices, each of which one program does all of. Larger ones its rotations move through memory n times a
sweep; matrices with more than LARGE rows are halved until they are no larger, by products: the polar factor of a
shifted matrix is a projection onto the eigenvectors on one side of the shift (Nakatsukasa and Higham, SIAM J. Sci.
Comput. 35, 2013).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from nbx_array import _lapack
from nbx_array._array import Array, cast
from nbx_array._creation import _new, arange, eye, tril
from nbx_array._elementwise import abs, bitwise_right_shift, bitwise_xor, conj, real, sign
from nbx_array._expression import realize
from nbx_array._factorisations import (
    _adjoint,
    _by_numpy,
    _diagonal,
    _Flag,
    _identities,
    _packed,
    _qr,
    _scaled,
    _triangles,
)
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import concat, reshape
from nbx_array._reduction import reduce
from nbx_array._searching import where
from nbx_array._sorting import sort
from nbx_array._statistical import sum
from nbx_array.kernels.linalg import blocked, jacobi, spectra
from nbx_array.kernels.types import component

LARGE = 1024
"""From this many rows on halving is worth its price: below, a polar factor takes as long as all rotations."""


# -------------------------------------------------------------------------------------------------- by rotations


def _lengths(x: Array) -> Array:
    """The norms of the rows of a packed stack."""
    return realize(reduce("vector_norm", abs(x) if x.dtype.kind == "c" else x, (2,), False))


def _orthogonalise(name: str, x: Array, w: Array, v: Array | None, *, finite: bool = False) -> None:
    flag, vectors = _Flag(x.device), v.memory() if v is not None else None
    if not jacobi.orthogonalise(w.memory(), vectors, flag.view, flag.read, flag.clear, finite=finite):
        raise _unfinished(name, x)


def _unfinished(name: str, x: Array) -> LinAlgError:
    return LinAlgError(f"{name}: Jacobi's iteration did not converge, given ({', '.join(map(str, x.shape))})")


def _work(a: Array) -> Array:
    """Memory for what a program does to each matrix of a packed stack."""
    n = spectra.side(a.shape[-1])
    return _new((a.shape[0], n, n), a.dtype, a.device)


def _eigen_of_small(name: str, x: Array, a: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and, in rows, eigenvectors of a packed stack of Hermitian matrices of at most spectra.SMALL
    rows, whose lower triangle is read."""
    a, work, flag = realize(a), _work(a), _Flag(a.device)
    values, rows = _new(a.shape[:2], component(a.dtype), a.device), _new(a.shape, a.dtype, a.device)
    spectra.eigh(a.memory(), work.memory(), values.memory(), rows.memory(), flag.address)
    if flag.read():
        raise _unfinished(name, x)
    return values, rows


def _svd_of_small(name: str, x: Array, a: Array, count: int, vectors: bool) -> tuple[Array, Array, Array]:
    """U with `count` columns, S and Vᴴ of a packed stack of matrices of at most spectra.SMALL columns and no more rows
    than spectra.side of those; where no `vectors` are wanted U and Vᴴ are any arrays."""
    a, work, flag = realize(a), _work(a), _Flag(a.device)
    stack, m, n = a.shape
    values, wanted, left, right = _new((stack, n), component(a.dtype), a.device), None, a, a
    if vectors:
        more, left, right = _work(a), _new((stack, count, m), a.dtype, a.device), _new((stack, n, n), a.dtype, a.device)
        wanted = left.memory(), right.memory(), more.memory()
    spectra.svd(a.memory(), work.memory(), values.memory(), wanted, flag.address)
    if flag.read():  # LAPACK, too, raises for NaN and infinity
        raise _unfinished(name, x)
    return left.mT, values, right


def _sorted(keys: Array, x: Array, *, descending: bool) -> tuple[Array, Array]:
    """The keys in order, and the rows of x with them."""
    keys, x = realize(keys), realize(x)
    ordered, rows = _new(keys.shape, keys.dtype, x.device), _new(x.shape, x.dtype, x.device)
    jacobi.sort_rows(keys.memory(), ordered.memory(), x.memory(), rows.memory(), descending=descending)
    return ordered, rows


def _norm_bounds(a: Array) -> Array:
    """Upper bounds of the 2-norms of Hermitian matrices, less than twice as large, by their 8th powers: what is lost in
    rounding grows with the shift that they give."""
    size = _frobenius(a)
    size = realize(where(size > 0, size, 1.0))
    x = a / size[:, None, None]
    for _ in range(3):
        x = matmul(x, x)
    return size * _frobenius(x) ** 0.125


def _frobenius(a: Array) -> Array:
    return reduce("vector_norm", abs(a) if a.dtype.kind == "c" else a, (1, 2), False)


def _eigen_by_rotations(name: str, a: Array) -> tuple[Array, Array]:
    """Eigenvalues and, in rows, eigenvectors of a packed stack of Hermitian matrices.

    By a shift, as `eigh_small` finds those of small ones.
    """
    if a.shape[-1] <= spectra.SMALL:
        return _eigen_of_small(name, a, a)
    shift = 2 * _norm_bounds(a)
    w = realize(_conjugate(a) + _one(a) * where(shift > 0, shift, 1.0)[:, None, None])
    _orthogonalise(name, a, w, None)
    rows = realize(w / _lengths(w)[:, :, None])
    image = matmul(a, rows.mT)
    return sum(real(_conjugate(rows) * image.mT), axis=-1), rows


# --------------------------------------------------------------------------------------------------- by products


def _polar(x: Array) -> Array:
    """The unitary factor of a square matrix (stack of one) of norm at most 1, to rounding: QDWH.

    Singular values below eps / 2 sqrt(n) may end below 1, a backward error of no more than that. Each step applies a
    rational function that lifts the least of them most; the first by QR, the later ones, whose matrix to invert is
    well-conditioned, by Cholesky's factorisation (Nakatsukasa, Bai and Gygi, SIAM J. Matrix Anal. Appl. 31, 2010).
    """
    n, eps = x.shape[-1], float(np.finfo(x.dtype).eps)
    one, flag, low = _one(x), _Flag(x.device), eps / (2 * math.sqrt(n))
    while low < 1 - 10 * eps:
        square = low * low
        d = (4 * (1 - square) / (square * square)) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        if c > 100:
            q, _ = _qr(realize(concat([math.sqrt(c) * x, one[None, :, :]], axis=1)), complete=False)
            step, factor = matmul(q[:, :n, :], _adjoint(q[:, n:, :])), (a - b / c) / math.sqrt(c)
        else:
            z = realize(one + c * matmul(_adjoint(x), x))
            solved = _packed(_adjoint(x))
            lower = blocked.cholesky(z.memory(), flag.address)
            blocked.solve_cholesky(z.memory(), lower, solved.memory())
            step, factor = _adjoint(solved), a - b / c
        x = realize((b / c) * x + factor * step)
        low = low * (a + b * square) / (1 + c * square)
    return x


def _signs(a: Array, columns: int) -> Array:
    """A matrix with as many rows as a of 1 and -1 in no order but always the same (MurmurHash3's mixing steps)."""
    x = cast(arange(a.shape[-2] * columns, device=a.device), np.dtype(np.uint32))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = bitwise_xor(x, bitwise_right_shift(x, shift)) * factor
    return reshape(where(bitwise_right_shift(x, 31) == 0, 1.0, -1.0), (1, a.shape[-2], columns))


def _invariant(a: Array) -> tuple[Array, int] | None:
    """A unitary matrix whose first columns span the eigenvectors of a Hermitian matrix (stack of one) on one side of
    the middle of its diagonal, and their number; None where none was found."""
    n, one = a.shape[-1], _one(a)
    x = realize(a - sort(real(_diagonal(a)))[:, n // 2, None, None] * one)
    size = _size(x)
    if not 0 < size < math.inf:
        return None
    u = _polar(realize(_hermitian(x) / size))
    projection = realize((_hermitian(u) + one) / 2)
    rank = float(sum(real(_diagonal(projection))))
    count = round(rank) if math.isfinite(rank) else 0
    if not 0 < count < n:
        return None
    basis = cast(_signs(a, count), a.dtype)
    for _ in range(2):  # the second time for what the random columns had little of
        basis = _qr(realize(matmul(projection, basis[:, :, :count])), complete=True)[0]
    return basis, count


def _eigen(name: str, a: Array) -> tuple[Array, Array]:
    """Eigenvalues and, in rows, eigenvectors of a packed stack of Hermitian matrices."""
    if a.shape[-1] <= LARGE:
        return _eigen_by_rotations(name, a)
    if a.shape[0] > 1:
        parts = [_eigen(name, a[i : i + 1, :, :]) for i in range(a.shape[0])]
        return concat([values for values, _ in parts]), concat([rows for _, rows in parts])
    found = _invariant(a)
    if found is not None:
        basis, k = found
        b = realize(matmul(_adjoint(basis), matmul(a, basis)))
        if _size(b[:, k:, :k]) <= 4 * math.sqrt(a.shape[-1]) * float(np.finfo(a.dtype).eps) * _size(a):
            halves = [_eigen(name, realize(_hermitian(part))) for part in (b[:, :k, :k], b[:, k:, k:])]
            columns = basis[:, :, :k], basis[:, :, k:]
            rows = [matmul(rows, side.mT) for (_, rows), side in zip(halves, columns, strict=True)]
            return concat([values for values, _ in halves], axis=1), concat(rows, axis=1)
    return _eigen_by_rotations(name, a)


def _left_vectors(name: str, r: Array) -> Array:
    """Left singular vectors, in rows, of packed square matrices: eigenvectors of R Uᴴ, where U is the polar factor."""
    parts = []
    for i in range(r.shape[0]):
        one = r[i : i + 1, :, :]
        size = _size(one)
        if not math.isfinite(size):
            raise LinAlgError(f"{name}: not all numbers are finite, given ({', '.join(map(str, r.shape))})")
        polar = _polar(realize(one / size)) if size else one
        parts.append(_eigen(name, realize(_hermitian(matmul(one, _adjoint(polar)))))[1])
    return realize(concat(parts))


def _hermitian(a: Array) -> Array:
    return (a + _adjoint(a)) / 2


def _size(a: Array) -> float:
    """Frobenius' norm of a stack of one, which the host waits for."""
    return float(reduce("vector_norm", abs(a) if a.dtype.kind == "c" else a, (0, 1, 2), False))


def _one(a: Array) -> Array:
    return eye(a.shape[-1], dtype=a.dtype, device=a.device)


def _conjugate(a: Array) -> Array:
    return conj(a) if a.dtype.kind == "c" else a


# ------------------------------------------------------------------------------------------------------ functions


def eigh(name: str, x: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, of which the lower triangle is read."""
    if _by_numpy(x):
        values, vectors = _lapack.run(name, np.linalg.eigh, x)
        return values, vectors
    if x.shape[-1] <= spectra.SMALL:
        values, rows = _eigen_of_small(name, x, reshape(x, (-1, *x.shape[-2:])))
        return reshape(values, x.shape[:-1]), reshape(rows, x.shape).mT
    a, scale = _scaled(tril(x))
    a = realize(tril(a, k=-1) + _adjoint(tril(a, k=-1)) + _one(a) * (real(a) if a.dtype.kind == "c" else a))
    values, rows = _sorted(*_eigen(name, a), descending=False)
    return reshape(values * scale, x.shape[:-1]), reshape(rows, x.shape).mT


def _svd(name: str, x: Array, full: bool, vectors: bool) -> tuple[Array, Array, Array]:
    """U, S, Vᴴ of matrices with no fewer rows than columns: R of QR has the adjoint V S Jᴴ, and U is Q J."""
    m, n = x.shape[-2:]
    if n <= spectra.SMALL and m <= spectra.side(n):
        u, values, vh = _svd_of_small(name, x, reshape(x, (-1, m, n)), m if full else n, vectors)
        return _as_stack(x, u), reshape(values, (*x.shape[:-2], n)), _as_stack(x, vh)
    a, scale = _scaled(x)
    q, r = _qr(a, complete=full) if vectors else (a, _triangles(a))
    if n <= spectra.SMALL:
        u, values, vh = _svd_of_small(name, x, r[:, :n, :], n, vectors)
        u, values = _rotated(q, u) if vectors else u, values * scale
        return _as_stack(x, u), reshape(values, (*x.shape[:-2], n)), _as_stack(x, vh)
    w, j = _packed(_conjugate(r[:, :n, :])), None
    if n > LARGE:
        j = _left_vectors(name, _conjugate(w))
        w = realize(matmul(j, w))
    else:
        j = _identities(a, n, n) if vectors else None
        _orthogonalise(name, x, w, j, finite=True)  # LAPACK, too, raises for NaN and infinity
    lengths = _lengths(w)
    values, w = _sorted(lengths, w, descending=True)
    values = reshape(values * scale, (*x.shape[:-2], n))
    if j is None or not vectors:
        return x, values, x
    _, j = _sorted(lengths, j, descending=True)
    # W = V S, whose columns may be zero: a QR factorisation fills them up
    v, r = _qr(_packed(w.mT), complete=False)
    phase = sign(_diagonal(realize(r)))
    v = v * where(phase != 0, phase, 1.0)[:, None, :]
    return _as_stack(x, _rotated(q, j.mT)), values, _as_stack(x, _adjoint(realize(v)))


def _rotated(q: Array, u: Array) -> Array:
    """The first columns of Q by U, and those after them."""
    n = u.shape[-1]
    if q.shape[-1] == n:
        return matmul(q, u)
    q[:, :, :n] = matmul(q[:, :, :n], u)
    return q


def _as_stack(x: Array, packed: Array) -> Array:
    """A packed stack with the leading dimensions of x."""
    return reshape(packed, (*x.shape[:-2], *packed.shape[-2:]))


def svd(name: str, x: Array, *, full: bool) -> tuple[Array, Array, Array]:
    if _by_numpy(x):
        u, s, vh = _lapack.run(name, _svd_by_numpy, x, full_matrices=full)
        return u, s, vh
    if x.shape[-2] >= x.shape[-1]:
        return _svd(name, x, full, True)
    v, s, uh = _svd(name, _adjoint(x), full, True)
    return _adjoint(uh), s, _adjoint(v)


def _svd_by_numpy(x: np.ndarray, **options: Any) -> Any:
    if not np.isfinite(x).all():  # for infinity LAPACK's may never end
        raise LinAlgError("not all numbers are finite")
    return np.linalg.svd(x, **options)


def svdvals(name: str, x: Array) -> Array:
    if _by_numpy(x):
        return _lapack.run(name, np.linalg.svdvals, x)[0]
    return _svd(name, x if x.shape[-2] >= x.shape[-1] else _adjoint(x), False, False)[1]
