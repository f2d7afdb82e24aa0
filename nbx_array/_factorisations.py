"""Factorisations of stacks of matrices, of shape (..., M, N) and a floating-point dtype that was checked.

By NumPy on the CPU (see `_lapack`), else by kernels: Cholesky's factorisation, LU with partial pivoting and
Householder's QR in blocks of columns. A panel of columns is the work of one program, so that tall matrices are first
cut into blocks of rows, whose factorisations run side by side (TSQR: Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci.
Comput. 34, 2012): of A = [Q₁ R₁; Q₂ R₂; ...] the R are stacked and factorised in turn, [R₁; R₂; ...] = Q R, and the
blocks of that Q multiply Q₁, Q₂... Every Q is made of reflections, so that the whole is as stable as they are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.linalg import LinAlgError

from nbx_array import _lapack
from nbx_array._array import Array, cast, copy, filled
from nbx_array._creation import _new, arange, eye, tril, triu
from nbx_array._elementwise import abs, conj, divide, exp, floor, log, log2, maximum, minimum, pow, real, sign
from nbx_array._expression import realize
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import broadcast_to, concat, reshape
from nbx_array._searching import where
from nbx_array._statistical import max, prod, sum
from nbx_array.backend.contract import Device
from nbx_array.kernels import matmul as products
from nbx_array.kernels.linalg import blocked
from nbx_array.kernels.linalg.launch import power_of_two
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


# -------------------------------------------------------------------------------------------------------- Cholesky


def cholesky(x: Array) -> Array:
    """Lower L with x = L Lᴴ."""
    if _by_numpy(x):
        return _lapack.run("cholesky", np.linalg.cholesky, x)[0]
    a, flag = _packed(x), _Flag(x.device)
    blocked.cholesky(a.memory(), flag.address)
    lower = realize(tril(a))
    if flag.read():
        raise LinAlgError(f"cholesky: Matrix is not positive definite, given ({', '.join(map(str, x.shape))})")
    return reshape(lower, x.shape)


# -------------------------------------------------------------------------------------------------------------- LU


class _LU:
    """L below the diagonal, where L has ones, and U of a packed stack of square matrices, which they overwrite; the
    exchanges of rows."""

    def __init__(self, x: Array) -> None:
        self.factors, self._flag = x, _Flag(x.device)
        self.pivots = _new(self.factors.shape[:2], INT64, x.device)
        self._inverses = blocked.lu(self.factors.memory(), self.pivots.memory(), self._flag.address)

    def solve(self, name: str, shape: tuple[int, ...], b: Array) -> Array:
        """The x with a x = b, of a matrix a of a shape; b, packed, is overwritten."""
        if self._flag.read():
            raise LinAlgError(f"{name}: Singular matrix, given ({', '.join(map(str, shape))})")
        blocked.solve_lu(self.factors.memory(), self.pivots.memory(), self._inverses, b.memory())
        return b

    def parity(self) -> Array:
        """1 or -1: the sign of the permutations that exchanges make up."""
        moved = sum(self.pivots != arange(self.pivots.shape[-1], device=self.pivots.device), axis=-1)
        return cast(1 - 2 * (moved % 2), self.factors.dtype)


def solve(a: Array, b: Array) -> Array:
    """The X with a X = b, of shapes (..., N, N) and (..., N, K), stacks of one shape."""
    if _by_numpy(a, b):
        return _lapack.run("solve", np.linalg.solve, a, b)[0]
    lu, scale = _lu_of_scaled(a)
    power = _powers(b, (-2,))  # columns like 1: of numbers near the least, the low parts of TF32 products are lost
    x = reshape(lu.solve("solve", a.shape, _packed(divide(b, power))), b.shape)
    exponent = log2(power) - log2(reshape(scale, (*a.shape[:-2], 1, 1)))
    most = -2 * math.log2(np.finfo(x.dtype).tiny)  # beyond, no solution is in range
    exponent = minimum(maximum(exponent, -most), most)
    half = floor(exponent / 2)
    return x * pow(2.0, half) * pow(2.0, exponent - half)


def inv(x: Array) -> Array:
    if _by_numpy(x):
        return _lapack.run("inv", np.linalg.inv, x)[0]
    lu, scale = _lu_of_scaled(x)
    return reshape(divide(lu.solve("inv", x.shape, _identities(x, x.shape[-1], x.shape[-1])), scale), x.shape)


def _lu_of_scaled(x: Array) -> tuple[_LU, Array]:
    """The factors of matrices divided by scales, and these: inverses of triangles on the way to a solution may lie
    beyond the range where the solution does not."""
    scaled, scale = _scaled(x)
    return _LU(scaled), scale[:, :, None]


def det(x: Array) -> Array:
    if _by_numpy(x):
        return _lapack.run("det", np.linalg.det, x)[0]
    lu = _LU(_packed(x))
    pivot = _diagonal(lu.factors)
    parity, logarithm = lu.parity(), log(abs(pivot))
    # By logarithms, less exact, where some of the pivots may have a product that is no number of the dtype
    representable = sum(abs(logarithm), axis=-1) < -math.log(np.finfo(x.dtype).tiny)
    by_logarithms = parity * prod(sign(pivot), axis=-1) * exp(sum(logarithm, axis=-1))
    return reshape(where(representable, parity * prod(pivot, axis=-1), by_logarithms), x.shape[:-2])


def slogdet(x: Array) -> tuple[Array, Array]:
    if _by_numpy(x):
        phase, logarithm = _lapack.run("slogdet", np.linalg.slogdet, x)
        return phase, logarithm
    lu = _LU(_packed(x))
    pivot = _diagonal(lu.factors)
    phase, logarithm = lu.parity() * prod(sign(pivot), axis=-1), sum(log(abs(pivot)), axis=-1)
    return reshape(phase, x.shape[:-2]), reshape(logarithm, x.shape[:-2])


# -------------------------------------------------------------------------------------------------------------- QR


def _identities(x: Array, rows: int, columns: int) -> Array:
    """A packed stack of identity matrices, as many as x has matrices."""
    one = eye(rows, columns, dtype=x.dtype, device=x.device)
    return realize(copy(broadcast_to(one, (math.prod(x.shape[:-2]), rows, columns))))


def qr(x: Array, *, complete: bool) -> tuple[Array, Array]:
    """Q and R."""
    if _by_numpy(x):
        q, r = _lapack.run("qr", np.linalg.qr, x, mode="complete" if complete else "reduced")
        return q, r
    a, scale = _scaled(x)
    q, r = _qr(a, complete=complete)
    r = r * scale[:, :, None]
    return reshape(q, (*x.shape[:-1], q.shape[-1])), reshape(r, (*x.shape[:-2], q.shape[-1], x.shape[-1]))


def _qr(a: Array, *, complete: bool) -> tuple[Array, Array]:
    """Q and R of a packed stack of matrices whose elements have squares in range; it is overwritten."""
    stack, m, n = a.shape
    rows = m if complete else min(m, n)
    if not complete and (height := _block_height(m, n)):
        blocks, rest = _blocks(a, height)
        first, r = _qr(blocks, complete=False)
        second, r = _qr(_triangles_over(r, rest), complete=False)
        split = second.shape[1] - rest.shape[1]
        factors = reshape(second[:, :split, :], (blocks.shape[0], n, n))
        q = reshape(matmul(first, factors), (stack, m - rest.shape[1], n))
        return concat([q, second[:, split:, :]], axis=1) if rest.shape[1] else q, r
    q = _identities(a, m, rows)
    blocked.qr(a.memory(), q.memory())
    return q, triu(a[:, :rows, :])


def _triangles(a: Array) -> Array:
    """R alone, of a packed stack as `_qr` takes it."""
    _, m, n = a.shape
    if height := _block_height(m, n):
        blocks, rest = _blocks(a, height)
        return _triangles(_triangles_over(_triangles(blocks), rest))
    blocked.qr(a.memory(), None)
    return triu(a[:, : min(m, n), :])


BLOCK_ROWS = 1024
"""Rows of a block of a tall matrix, at least: enough that a program does more than start and wait."""


def _block_height(m: int, n: int) -> int:
    """The rows of the blocks that matrices of m by n are cut into, 0 for those that are not tall enough.

    At least four times the columns, so that the stacked R have a quarter of the rows at most; and two blocks at least.
    """
    height = power_of_two(4 * n, BLOCK_ROWS)
    return height if m >= 2 * height else 0


def _blocks(a: Array, height: int) -> tuple[Array, Array]:
    """Blocks of rows, as one packed stack, and the rows that are left over."""
    stack, m, n = a.shape
    whole = m // height * height
    return reshape(a[:, :whole, :], (stack * (whole // height), height, n)), a[:, whole:, :]


def _triangles_over(r: Array, rest: Array) -> Array:
    """The R of the blocks of each matrix above one another, and the rows left over below them."""
    stack, _, n = rest.shape
    return realize(concat([reshape(r, (stack, -1, n)), rest], axis=1))


def _scaled(x: Array) -> tuple[Array, Array]:
    """A packed stack of matrices whose greatest elements are about 1, so that squares stay in range; and the scales,
    powers of two, so that nothing is rounded."""
    scale = _powers(x, (-2, -1))
    return _packed(divide(x, scale)), reshape(scale, (math.prod(x.shape[:-2]), 1))


def _powers(x: Array, axes: tuple[int, ...]) -> Array:
    """The powers of two next below the greatest elements over axes, which are kept."""
    size = abs(x) if x.dtype.kind != "c" else maximum(abs(real(x)), abs(x.imag))
    size = max(size, axis=axes, keepdims=True)
    return realize(pow(2.0, floor(log2(where((size > 0) & (size < float("inf")), size, 1.0)))))
