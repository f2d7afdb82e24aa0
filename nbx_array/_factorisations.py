"""Factorisations of stacks of matrices, of shape (..., M, N) and a floating-point dtype that was checked.

By NumPy on the CPU (see `_lapack`), else by kernels for diagonal blocks and panels and matrix products for the rest:
Cholesky's factorisation, LU with partial pivoting and Householder's QR in blocks of columns; singular values and
Hermitian eigenvalues by one-sided Jacobi, which is as accurate as any and as happy with a stack of small matrices.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.linalg import LinAlgError

from nbx_array import _lapack
from nbx_array._array import Array, cast, copy, filled
from nbx_array._creation import _new, arange, eye, tril, triu
from nbx_array._elementwise import abs, conj, divide, log, maximum, real, sign
from nbx_array._expression import realize
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import broadcast_to, reshape
from nbx_array._reduction import reduce
from nbx_array._searching import where
from nbx_array._statistical import max, prod, sum
from nbx_array.backend.contract import Device
from nbx_array.kernels import matmul as products
from nbx_array.kernels.linalg import jacobi, panels
from nbx_array.kernels.linalg.panels import BLOCK
from nbx_array.memory.transfer import read_element

INT64 = np.dtype(np.int64)


def _by_numpy(*operands: Array) -> bool:
    """Whether NumPy does the work; always where no number is to be computed."""
    return products.on_host(operands[0].device) or any(0 in x.shape for x in operands)


class _Flag:
    """A word of the device that kernels set when something is wrong."""

    def __init__(self, device: Device) -> None:
        self._word = realize(filled((1,), 0, INT64, device, "flag"))
        self.view = self._word.memory()
        self.address = self.view.address

    def read(self) -> int:
        """Its value; waits for the device."""
        return int(read_element(self.view.storage, self.address, INT64))

    def clear(self) -> None:
        self._word[...] = 0


def _packed(x: Array) -> Array:
    """A copy with one leading dimension, in C order."""
    return reshape(realize(copy(x)), (math.prod(x.shape[:-2]), *x.shape[-2:]))


def _adjoint(x: Array) -> Array:
    return conj(x.mT) if x.dtype.kind == "c" else x.mT


def _diagonal(a: Array) -> Array:
    """The diagonals of a packed stack of square matrices."""
    stack, n, _ = a.shape
    return reshape(a, (stack, n * n))[:, :: n + 1]


def _blocks(n: int) -> list[tuple[int, int]]:
    return [(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


# -------------------------------------------------------------------------------------------------------- Cholesky


def cholesky(x: Array) -> Array:
    """Lower L with x = L Lᴴ."""
    if _by_numpy(x):
        return _lapack.run("cholesky", np.linalg.cholesky, x)[0]
    a, flag, n = _packed(x), _Flag(x.device), x.shape[-1]
    for start, end in _blocks(n):
        corner = a[:, start:end, start:end].memory()
        panels.cholesky_block(corner, flag.address)
        if end < n:
            below, rest = a[:, end:, start:end], a[:, end:, end:]
            panels.substitute(corner, below.mT.memory(), upper=False, conjugate=True)  # below Lᴴ = what stood there
            rest -= matmul(below, _adjoint(below))
            a[:, start:end, end:] = 0
    if flag.read():
        raise LinAlgError(f"cholesky: Matrix is not positive definite, given ({', '.join(map(str, x.shape))})")
    return reshape(a, x.shape)


# -------------------------------------------------------------------------------------------------------------- LU


def _lu(x: Array) -> tuple[Array, Array, _Flag]:
    """L below the diagonal, where L has ones, and U; the exchanges of rows; a flag that zero pivots set."""
    a, flag, n = _packed(x), _Flag(x.device), x.shape[-1]
    pivots = _new((a.shape[0], n), INT64, x.device)
    for start, end in _blocks(n):
        panels.lu_panel(a[:, start:, start:end].memory(), pivots[:, start:].memory(), start, flag.address)
        panels.swap_rows(a.memory(), pivots.memory(), start, end, skip=range(start, end))
        if end < n:
            right, rest = a[:, start:end, end:], a[:, end:, end:]
            panels.substitute(a[:, start:end, start:end].memory(), right.memory(), upper=False, unit=True)
            rest -= matmul(a[:, end:, start:end], right)
    return a, pivots, flag


def _substitute(t: Array, b: Array, *, upper: bool) -> None:
    """b becomes the x with t x = b, where t is upper triangular, or lower with ones on the diagonal."""
    blocks = _blocks(t.shape[-1])
    for start, end in reversed(blocks) if upper else blocks:
        known = b[:, start:end, :]
        panels.substitute(t[:, start:end, start:end].memory(), known.memory(), upper=upper, unit=not upper)
        others = slice(0, start) if upper else slice(end, None)
        rest = b[:, others, :]
        if rest.size:
            rest -= matmul(t[:, others, start:end], known)


def _solve(name: str, a: Array, b: Array) -> Array:
    """The x with a x = b; b, packed, is overwritten."""
    lu, pivots, flag = _lu(a)
    if flag.read():
        raise LinAlgError(f"{name}: Singular matrix, given ({', '.join(map(str, a.shape))})")
    panels.swap_rows(b.memory(), pivots.memory(), 0, a.shape[-1])
    _substitute(lu, b, upper=False)
    _substitute(lu, b, upper=True)
    return b


def solve(a: Array, b: Array) -> Array:
    """The X with a X = b, of shapes (..., N, N) and (..., N, K), stacks of one shape."""
    if _by_numpy(a, b):
        return _lapack.run("solve", np.linalg.solve, a, b)[0]
    return reshape(_solve("solve", a, _packed(b)), b.shape)


def inv(x: Array) -> Array:
    if _by_numpy(x):
        return _lapack.run("inv", np.linalg.inv, x)[0]
    return reshape(_solve("inv", x, _identities(x, x.shape[-1], x.shape[-1])), x.shape)


def det(x: Array) -> Array:
    if _by_numpy(x):
        return _lapack.run("det", np.linalg.det, x)[0]
    lu, pivots, _ = _lu(x)
    return reshape(_parity(pivots, x.dtype) * prod(_diagonal(lu), axis=-1), x.shape[:-2])


def slogdet(x: Array) -> tuple[Array, Array]:
    if _by_numpy(x):
        phase, logarithm = _lapack.run("slogdet", np.linalg.slogdet, x)
        return phase, logarithm
    lu, pivots, _ = _lu(x)
    pivot = _diagonal(lu)
    phase, logarithm = _parity(pivots, x.dtype) * prod(sign(pivot), axis=-1), sum(log(abs(pivot)), axis=-1)
    return reshape(phase, x.shape[:-2]), reshape(logarithm, x.shape[:-2])


def _parity(pivots: Array, dtype: np.dtype) -> Array:
    """1 or -1: the sign of the permutations that exchanges make up."""
    moved = sum(pivots != arange(pivots.shape[-1], device=pivots.device), axis=-1)
    return cast(1 - 2 * (moved % 2), dtype)


# -------------------------------------------------------------------------------------------------------------- QR


def _identities(x: Array, rows: int, columns: int) -> Array:
    """A packed stack of identity matrices, as many as x has matrices."""
    one = eye(rows, columns, dtype=x.dtype, device=x.device)
    return realize(copy(broadcast_to(one, (math.prod(x.shape[:-2]), rows, columns))))


def _reflect(v: Array, t: Array, b: Array, *, adjoint: bool) -> None:
    """b becomes (1 - V T Vᴴ) b or, if `adjoint`, (1 - V Tᴴ Vᴴ) b, where t is the inverse of T."""
    y = realize(matmul(_adjoint(v), b))
    panels.substitute((t.mT if adjoint else t).memory(), y.memory(), upper=not adjoint, conjugate=adjoint)
    b -= matmul(v, y)


def qr(x: Array, *, complete: bool) -> tuple[Array, Array]:
    """Q and R. The product of a panel's reflections is 1 - V T Vᴴ, and the inverse of T has the upper triangle of VᴴV
    with half its diagonal (the reflections being 1 - 2 v vᴴ / vᴴv)."""
    if _by_numpy(x):
        q, r = _lapack.run("qr", np.linalg.qr, x, mode="complete" if complete else "reduced")
        return q, r
    a = _packed(x)
    _, m, n = a.shape
    least = min(m, n)
    reflections = []
    for start, end in _blocks(least):
        panel = a[:, start:, start:end]
        panels.qr_panel(panel.memory())
        v = realize(tril(panel, k=-1) + eye(m - start, end - start, dtype=a.dtype, device=a.device))
        t = realize(matmul(_adjoint(v), v) * (1 - 0.5 * eye(end - start, dtype=a.dtype, device=a.device)))
        if end < n:
            _reflect(v, t, a[:, start:, end:], adjoint=True)
        reflections.append((start, v, t))
    rows = m if complete else least
    q = _identities(x, m, rows)
    for start, v, t in reversed(reflections):
        _reflect(v, t, q[:, start:, start:], adjoint=False)
    r = triu(a[:, :rows, :])
    return reshape(q, (*x.shape[:-1], rows)), reshape(r, (*x.shape[:-2], rows, n))


# ---------------------------------------------------------------------------------------- eigen- and singular values


def _scaled(x: Array) -> tuple[Array, Array]:
    """A packed stack of matrices whose greatest elements are about 1, so that squares stay in range; and the scales."""
    size = abs(x) if x.dtype.kind != "c" else maximum(abs(real(x)), abs(x.imag))
    size = max(size, axis=(-2, -1), keepdims=True)
    scale = realize(where(size > 0, size, 1.0))
    return _packed(divide(x, scale)), reshape(scale, (math.prod(x.shape[:-2]), 1))


def _lengths(x: Array) -> Array:
    """The norms of the rows of a packed stack."""
    return realize(reduce("vector_norm", abs(x) if x.dtype.kind == "c" else x, (2,), False))


def _orthogonalise(name: str, x: Array, w: Array, v: Array | None) -> None:
    flag = _Flag(x.device)
    if not jacobi.orthogonalise(w.memory(), v.memory() if v is not None else None, flag.view, flag.read, flag.clear):
        raise LinAlgError(f"{name}: Jacobi's iteration did not converge, given ({', '.join(map(str, x.shape))})")


def _sorted(keys: Array, x: Array, *, descending: bool) -> tuple[Array, Array]:
    """The keys in order, and the rows of x with them."""
    keys, x = realize(keys), realize(x)
    ordered, rows = _new(keys.shape, keys.dtype, x.device), _new(x.shape, x.dtype, x.device)
    jacobi.sort_rows(keys.memory(), ordered.memory(), x.memory(), rows.memory(), descending=descending)
    return ordered, rows


def eigh(name: str, x: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, of which the lower triangle is read.

    With a shift that makes it well-conditioned and positive definite, a matrix's singular vectors are its eigenvectors,
    on either side; those on the left come out without being accumulated.
    """
    if _by_numpy(x):
        values, vectors = _lapack.run(name, np.linalg.eigh, x)
        return values, vectors
    a, scale = _scaled(tril(x))
    one = eye(x.shape[-1], dtype=x.dtype, device=x.device)
    a = realize(tril(a, k=-1) + _adjoint(tril(a, k=-1)) + one * (real(a) if a.dtype.kind == "c" else a))
    shift = 2 * max(sum(abs(a), axis=-1), axis=-1)
    w = realize((conj(a) if a.dtype.kind == "c" else a) + one * where(shift > 0, shift, 1.0)[:, None, None])
    _orthogonalise(name, x, w, None)
    rows = realize(w / _lengths(w)[:, :, None])
    image = matmul(a, rows.mT)
    product = (conj(rows) if rows.dtype.kind == "c" else rows) * image.mT
    values, rows = _sorted(sum(real(product), axis=-1), rows, descending=False)
    return reshape(values * scale, x.shape[:-1]), reshape(rows, x.shape).mT


def _svd(name: str, x: Array, full: bool, vectors: bool) -> tuple[Array, Array, Array]:
    """U, S, Vᴴ of matrices with no fewer rows than columns: R of QR has the adjoint V S Jᴴ, and U is Q J."""
    n = x.shape[-1]
    a, scale = _scaled(x)
    q, r = qr(a, complete=full)
    w = _packed(conj(r[:, :n, :]) if r.dtype.kind == "c" else r[:, :n, :])
    j = _identities(a, n, n) if vectors else None
    _orthogonalise(name, x, w, j)
    lengths = _lengths(w)
    values, w = _sorted(lengths, w, descending=True)
    values = reshape(values * scale, (*x.shape[:-2], n))
    if j is None:
        return x, values, x
    _, j = _sorted(lengths, j, descending=True)
    # W = V S, whose columns may be zero: a QR factorisation fills them up
    v, r = qr(w.mT, complete=False)
    phase = sign(_diagonal(realize(r)))
    v = v * where(phase != 0, phase, 1.0)[:, None, :]
    q[:, :, :n] = matmul(q[:, :, :n], j.mT)
    u = reshape(q, (*x.shape[:-1], q.shape[-1]))
    return u, values, reshape(_adjoint(realize(v)), (*x.shape[:-2], n, n))


def svd(name: str, x: Array, *, full: bool) -> tuple[Array, Array, Array]:
    if _by_numpy(x):
        u, s, vh = _lapack.run(name, np.linalg.svd, x, full_matrices=full)
        return u, s, vh
    if x.shape[-2] >= x.shape[-1]:
        return _svd(name, x, full, True)
    v, s, uh = _svd(name, _adjoint(x), full, True)
    return _adjoint(uh), s, _adjoint(v)


def svdvals(name: str, x: Array) -> Array:
    if _by_numpy(x):
        return _lapack.run(name, np.linalg.svdvals, x)[0]
    return _svd(name, x if x.shape[-2] >= x.shape[-1] else _adjoint(x), False, False)[1]
