"""Matrix products: Triton kernels on GPUs, NumPy on the same memory on the CPU unless NBX_HOST_ROUTINES=0."""

from __future__ import annotations

import os

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import get_launcher
from nbx_array.kernels.types import type_row
from nbx_array.memory import View
from nbx_array.memory.transfer import as_numpy

MODULE = "nbx_array.kernels.source.matmul"
HOST_ROUTINES = os.environ.get("NBX_HOST_ROUTINES", "1") != "0"


def on_host(device: Device) -> bool:
    """Whether NumPy does the work: on the CPU, where a well-kept BLAS beats our kernel."""
    return HOST_ROUTINES and device.backend == "cpu"


def matmul(a: View, b: View, out: View) -> None:
    """out = a @ b for stacks of matrices: shapes (s, m, k), (s, k, n), (s, m, n), `out` contiguous, one dtype."""
    if on_host(out.storage.device):
        x, y = as_numpy(a), as_numpy(b)
        if out.dtype.itemsize == 2 and type_row(out.dtype).kind == "f":
            x, y = x.astype(np.float32), y.astype(np.float32)
        as_numpy(out)[...] = np.matmul(x, y)
    else:
        multiply(a, b, out)


def multiply(a: View, b: View, out: View) -> None:
    """`matmul` by a Triton kernel."""
    device = out.storage.device
    stack, m, n = out.shape
    k = a.shape[-1]
    pointer = type_row(out.dtype).pointer
    signature = {"a": pointer, "b": pointer, "out": pointer}
    signature |= dict.fromkeys(("m", "n", "k", "a_stack", "a_row", "a_column", "b_stack", "b_row", "b_column"), "i64")
    floating = type_row(out.dtype).kind == "f"
    bm, bn, bk = _tile(m, n, k, out.dtype, floating)
    if floating:
        name, constants = "product", {"PRECISION": _precision(device, out.dtype), "BM": bm, "BN": bn, "BK": bk}
    else:
        name, constants = "outer_product_sum", {"COMPLEX": out.dtype.kind == "c", "BM": bm, "BN": bn}
    launcher = get_launcher(
        Source.of(MODULE, name),
        tuple(signature.items()),
        tuple(constants.items()),
        device,
        aligned=False,
        options=(("num_warps", 4),),
    )
    args = (a.address, b.address, out.address, m, n, k, *a.strides, *b.strides)
    for first in range(0, stack, 65535):  # a grid's second dimension ends there
        size = out.dtype.itemsize
        shifted = (
            args[0] + first * a.strides[0] * size,
            args[1] + first * b.strides[0] * size,
            args[2] + first * m * n * size,
            *args[3:],
        )
        launcher.spread(shifted, -(-m // bm) * -(-n // bn), min(stack - first, 65535), 1)


def _precision(device: Device, dtype: np.dtype) -> str:
    """float32 products have float32 accuracy: three TF32 products where the target has them (DESIGN, Numbers)."""
    return "tf32x3" if device.backend == "cuda" and dtype == np.float32 else "ieee"


def _tile(m: int, n: int, k: int, dtype: np.dtype, floating: bool) -> tuple[int, int, int]:
    def side(size: int, most: int) -> int:
        return min(max(1 << max(size - 1, 0).bit_length(), 16), most)

    most = 64 if floating else 32
    return side(m, most), side(n, most), side(k, 16 if dtype.itemsize == 8 else 32)
