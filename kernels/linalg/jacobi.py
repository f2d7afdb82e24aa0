"""Orthogonal vectors by Jacobi's rotations, and rows in the order of keys, for packed stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, special_or_general
from nbx_array.kernels.linalg.launch import Constants, arguments, is_complex, kernel_of, power_of_two
from nbx_array.kernels.types import component
from nbx_array.memory import View

MODULE = "linalg_jacobi"
SWEEPS = 60  # six to ten are usual
BLOCK = 4  # vectors of a block that a program rotates with those of another one
TILE = 32768  # bytes of such a block at most

_ROUND = arguments("w:matrix v:matrix turns:*i64 n length v_length round tolerance:number")
_SORT = arguments("keys:matrix keys_out:matrix x:matrix out:matrix n length")


def tolerance(dtype: np.dtype, n: int) -> float:
    """The cosine of the angle between two of n vectors up to which they are orthogonal."""
    return float(np.finfo(dtype).eps) * max(n, 4) ** 0.5


def warps(device: Device, nbytes: int) -> int:
    """The warps of a program that rotates so many bytes of vectors."""
    return min(max(nbytes // 2048, 1), 8 if device.backend == "hip" else 16)


def orthogonalise(
    w: View, v: View | None, flag: View, read: Callable[[], int], clear: Callable[[], None], *, finite: bool
) -> bool:
    """Rotate the rows of matrices w until they are orthogonal, and those of v alike. Whether that was reached; if all
    are to be `finite`, not where a number is not.

    flag: an int64, zero; `read` waits for its value, once a sweep; `clear` makes it zero again.
    """
    stack, n, length = w.shape
    v_length = v.shape[-1] if v is not None else 0
    addresses = (w.address, v.address if v is not None else w.address, flag.address)
    kernel, block = special_or_general(partial(round_launcher, w, v, finite))
    blocks = -(-n // block)
    players, least = blocks + blocks % 2, tolerance(w.dtype, n)
    for _ in range(SWEEPS):
        for number in range(max(players - 1, 1)):
            kernel.spread((*addresses, n, length, v_length, number, least), stack, players // 2, 1)
        found = read()
        if found != 1:
            return not found
        clear()
    return False


def round_launcher(w: View, v: View | None, finite: bool, general: bool) -> tuple[Launcher, int]:
    """The kernel that rotates by rounds, if `general` for any sizes, and the vectors of a program's two blocks.

    Vectors that fit registers, a tile of them, come in blocks: a launch rotates more pairs."""
    length, v_length = w.shape[-1], v.shape[-1] if v is not None else 0
    device = w.storage.device
    constants: Constants = (("VECTORS", v is not None), ("FINITE", finite), ("COMPLEX", is_complex(w)))
    most = power_of_two(max(length, v_length)) * w.dtype.itemsize
    block = min(BLOCK, TILE // most)
    if general or block < 2:
        constants += (("BLOCK", 1024 if device.backend == "cpu" else 256),)
        return kernel_of(MODULE, "jacobi_round", _ROUND, constants, w.dtype, device, 4), 1
    sides = (block, power_of_two(length), power_of_two(v_length))
    constants += tuple(zip(("B", "LENGTH", "V_LENGTH"), sides, strict=True))
    return kernel_of(MODULE, "jacobi_blocks", _ROUND, constants, w.dtype, device, warps(device, block * most)), block


def sort_rows(keys: View, keys_out: View, x: View, out: View, *, descending: bool) -> None:
    """The rows of x in the order of real keys, of shape (stack, rows); all contiguous."""
    stack, n, length = x.shape
    words = 2 if is_complex(x) else 1
    constants = (("DESCENDING", descending), ("BLOCK", 256))
    kernel = kernel_of(MODULE, "sort_rows", _SORT, constants, component(x.dtype), x.storage.device, 4)
    args = (keys.address, keys_out.address, x.address, out.address, n, length * words)
    kernel.spread(args, stack, n, 1)
