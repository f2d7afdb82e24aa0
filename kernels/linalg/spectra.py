"""Eigenvalues and singular values of stacks of small matrices, and their vectors, each stack in one launch."""

from __future__ import annotations

from nbx_array.backend.launcher import Launcher
from nbx_array.kernels.linalg.jacobi import SWEEPS, tolerance, warps
from nbx_array.kernels.linalg.launch import arguments, is_complex, kernel_of, power_of_two
from nbx_array.memory import View

MODULE = "linalg_spectra"
SMALL = 64  # rows and columns, at most, of a matrix that one program handles alone

_EIGH = arguments(
    "a:matrix w:matrix values:matrix vectors:matrix status:*i64 stack_stride row_stride column_stride n:i32 sweeps:i32"
    " tolerance:number"
)
_SVD = arguments(
    "a:matrix w:matrix v:matrix values:matrix left:matrix right:matrix status:*i64 stack_stride row_stride"
    " column_stride m:i32 n:i32 count:i32 sweeps:i32 tolerance:number"
)


def side(n: int) -> int:
    """The rows and columns that a program works in for a matrix with n columns."""
    return power_of_two(n, 2)


def eigh(a: View, work: View, values: View, vectors: View, status: int) -> None:
    """Ascending eigenvalues and, in rows, eigenvectors of Hermitian matrices, whose lower triangle is read.

    work: a packed stack of matrices with `side(n)` rows and columns; status: the address of an int64, zero, which
    becomes 1 where the rotations did not reach an end.
    """
    stack, n, _ = a.shape
    addresses = (a.address, work.address, values.address, vectors.address, status)
    eigh_launcher(a).spread((*addresses, *a.strides, n, SWEEPS, tolerance(a.dtype, n)), stack, 1, 1)


def svd(a: View, work: View, values: View, vectors: tuple[View, View, View] | None, status: int) -> None:
    """Descending singular values of matrices with no fewer rows than columns and no more than `side(columns)`; by
    `vectors` also left ones in rows, as many as that view has, and the adjoint of the right ones, with more memory like
    `work` last. `work` and `status` as for `eigh`; it becomes 2 where numbers are not finite."""
    stack, m, n = a.shape
    left, right, more = vectors or (work, work, work)
    addresses = (a.address, work.address, more.address, values.address, left.address, right.address, status)
    numbers = (*a.strides, m, n, left.shape[-2], SWEEPS, tolerance(a.dtype, n))
    svd_launcher(a, vectors is not None).spread((*addresses, *numbers), stack, 1, 1)


def eigh_launcher(a: View) -> Launcher:
    return _launcher("eigh_small", _EIGH, a)


def svd_launcher(a: View, vectors: bool) -> Launcher:
    return _launcher("svd_small", _SVD, a, ("VECTORS", vectors))


def _launcher(name: str, signature: tuple[tuple[str, str], ...], a: View, *others: tuple[str, bool]) -> Launcher:
    n, device = side(a.shape[-1]), a.storage.device
    constants = (*others, ("COMPLEX", is_complex(a)), ("N", n))
    return kernel_of(MODULE, name, signature, constants, a.dtype, device, warps(device, n * n * a.dtype.itemsize))
