"""Orthogonal vectors by Jacobi's rotations, eigenvalues and vectors of small matrices by them, and rows in the order of
keys, for stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from nbx_array.backend.launcher import Launcher, special_or_general
from nbx_array.kernels.linalg.launch import Constants, arguments, is_complex, kernel_of, power_of_two
from nbx_array.kernels.types import component
from nbx_array.memory import View

MODULE = "linalg_jacobi"
SMALL = 64  # longest side of a matrix that one program handles alone
SWEEPS = 60  # six to ten are usual
BLOCK = 4  # vectors of a block that a program rotates with those of another one
TILE = 32768  # bytes of such a block at most

_EIGH = arguments(
    "a:matrix w:matrix values:matrix vectors:matrix status:*i64 stack_stride row_stride column_stride"
    " n:i32 sweeps:i32 tolerance:number"
)
_SMALL = arguments("w:matrix v:matrix status:*i64 n:i32 length:i32 v_length:i32 sweeps:i32 tolerance:number")
_ROUND = arguments("w:matrix v:matrix turns:*i64 n length v_length round tolerance:number")
_SORT = arguments("keys:matrix keys_out:matrix x:matrix out:matrix n length")


def eigh(a: View, work: View, values: View, vectors: View, flag: View) -> None:
    """Ascending eigenvalues and, in rows, eigenvectors of Hermitian matrices a, none larger than SMALL, whose lower
    triangle is read.

    work: a packed stack of matrices with `side(n)` rows and columns. flag: an int64, zero, which is set where the
    rotations did not reach an end.
    """
    stack, n, _ = a.shape
    addresses = (a.address, work.address, values.address, vectors.address, flag.address)
    eigh_launcher(a).spread((*addresses, *a.strides, n, SWEEPS, _tolerance(a)), stack, 1, 1)


def side(n: int) -> int:
    """The rows and columns of a matrix that a program works in for one with n."""
    return power_of_two(n, 2)


def eigh_launcher(a: View) -> Launcher:
    n = side(a.shape[-1])
    constants, warps = (("COMPLEX", is_complex(a)), ("N", n)), _warps(a, n * n * a.dtype.itemsize)
    return kernel_of("linalg_eigen", "eigh_small", _EIGH, constants, a.dtype, a.storage.device, warps)


def _tolerance(w: View) -> float:
    return float(np.finfo(w.dtype).eps) * max(w.shape[-2], 4) ** 0.5


def _warps(w: View, nbytes: int) -> int:
    """The warps of a program that rotates so many bytes of vectors."""
    return min(max(nbytes // 2048, 1), 8 if w.storage.device.backend == "hip" else 16)


def orthogonalise(
    w: View, v: View | None, flag: View, read: Callable[[], int], clear: Callable[[], None], *, finite: bool
) -> bool:
    """Rotate the rows of matrices w until they are orthogonal, and those of v alike. Whether that was reached; if all
    are to be `finite`, not where a number is not.

    flag: an int64, zero; `read` waits for its value, once for small matrices and once a sweep for large ones; `clear`
    makes it zero again.
    """
    stack, n, length = w.shape
    tolerance = _tolerance(w)
    v_length = v.shape[-1] if v is not None else 0
    addresses = (w.address, v.address if v is not None else w.address, flag.address)
    if max(n, length, v_length) <= SMALL:
        kernel = special_or_general(partial(small_launcher, w, v))
        kernel.spread((*addresses, n, length, v_length, SWEEPS, tolerance), stack, 1, 1)
        return read() in ((0,) if finite else (0, 2))
    kernel, block = special_or_general(partial(round_launcher, w, v, finite))
    blocks = -(-n // block)
    players = blocks + blocks % 2
    for _ in range(SWEEPS):
        for number in range(max(players - 1, 1)):
            kernel.spread((*addresses, n, length, v_length, number, tolerance), stack, players // 2, 1)
        found = read()
        if found != 1:
            return not found
        clear()
    return False


def small_launcher(w: View, v: View | None, general: bool) -> Launcher:
    """The kernel that one program a matrix rotates by, if `general` for any sizes up to a power of two."""
    _, n, length = w.shape
    v_length = v.shape[-1] if v is not None else 0
    pairs, most = power_of_two((n + 1) // 2, 1), power_of_two(max(n, length, v_length), 2)
    sides = (most // 2, most, most) if general else (pairs, power_of_two(length, 2), power_of_two(v_length, 2))
    constants = _constants(w, v) + tuple(zip(("PAIRS", "LENGTH", "V_LENGTH"), sides, strict=True))
    warps = _warps(w, 2 * sides[0] * max(sides[1:]) * w.dtype.itemsize)
    return kernel_of(MODULE, "jacobi_small", _SMALL, constants, w.dtype, w.storage.device, warps)


def round_launcher(w: View, v: View | None, finite: bool, general: bool) -> tuple[Launcher, int]:
    """The kernel that rotates by rounds, if `general` for any sizes, and the vectors of a program's two blocks.

    Vectors that fit registers, a tile of them, come in blocks: a launch rotates more pairs."""
    length, v_length = w.shape[-1], v.shape[-1] if v is not None else 0
    device, constants = w.storage.device, (*_constants(w, v), ("FINITE", finite))
    most = power_of_two(max(length, v_length)) * w.dtype.itemsize
    block = min(BLOCK, TILE // most)
    if general or block < 2:
        constants += (("BLOCK", 1024 if device.backend == "cpu" else 256),)
        return kernel_of(MODULE, "jacobi_round", _ROUND, constants, w.dtype, device, 4), 1
    sides = (block, power_of_two(length), power_of_two(v_length))
    constants += tuple(zip(("B", "LENGTH", "V_LENGTH"), sides, strict=True))
    return kernel_of(MODULE, "jacobi_blocks", _ROUND, constants, w.dtype, device, _warps(w, block * most)), block


def _constants(w: View, v: View | None) -> Constants:
    return ("VECTORS", v is not None), ("COMPLEX", is_complex(w))


def sort_rows(keys: View, keys_out: View, x: View, out: View, *, descending: bool) -> None:
    """The rows of x in the order of real keys, of shape (stack, rows); all contiguous."""
    stack, n, length = x.shape
    words = 2 if is_complex(x) else 1
    constants = (("DESCENDING", descending), ("BLOCK", 256))
    kernel = kernel_of(MODULE, "sort_rows", _SORT, constants, component(x.dtype), x.storage.device, 4)
    args = (keys.address, keys_out.address, x.address, out.address, n, length * words)
    kernel.spread(args, stack, n, 1)
