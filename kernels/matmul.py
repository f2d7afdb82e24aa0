"""Matrix products: Triton kernels on GPUs, NumPy on the same memory on the CPU unless NBX_HOST_ROUTINES=0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import get_launcher
from nbx_array.kernels.host import on_host
from nbx_array.kernels.types import type_row
from nbx_array.memory import View
from nbx_array.memory.transfer import as_numpy

MODULE = "nbx_array.kernels.source.matmul"


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
    tile = _tile(m, n, k, out.dtype, device) if floating else _Tile(_side(m, 32), _side(n, 32), 1, 4, 1)
    strides = [*a.strides, *b.strides]
    even = all(stride % 16 == 0 for stride in strides if stride != 1)
    aligned = even and all(address % 16 == 0 for address in (a.address, b.address, out.address))
    constants: dict[str, object] = {"BM": tile.rows, "BN": tile.columns}
    if floating:
        name = "product"
        if even:  # as multiples of 16 they tell the compiler that rows begin at whole vectors
            strides = [stride // 16 if stride != 1 else 1 for stride in strides]
        constants |= {
            "PRECISION": _precision(device, out.dtype),
            "A_UNIT": _unit(a),
            "B_UNIT": _unit(b),
            "STEP": 16 if even else 1,
            "WHOLE": m % tile.rows == 0 and n % tile.columns == 0,
            "WHOLE_K": k % tile.inner == 0,
            "BK": tile.inner,
            "GROUP": 8,
        }
    else:
        name = "outer_product_sum"
        constants["COMPLEX"] = out.dtype.kind == "c"
    launcher = get_launcher(
        Source.of(MODULE, name),
        tuple(signature.items()),
        tuple(constants.items()),
        device,
        aligned=aligned,
        options=(("num_warps", tile.num_warps), ("num_stages", tile.num_stages)),
    )
    size, grid = out.dtype.itemsize, -(-m // tile.rows) * -(-n // tile.columns)
    for first in range(0, stack, 65535):  # a grid's second dimension ends there
        addresses = (
            a.address + first * a.strides[0] * size,
            b.address + first * b.strides[0] * size,
            out.address + first * m * n * size,
        )
        launcher.spread((*addresses, m, n, k, *strides), grid, min(stack - first, 65535), 1)


def _precision(device: Device, dtype: np.dtype) -> str:
    """float32 products have float32 accuracy: three TF32 products where the target has them (DESIGN, Numbers)."""
    return "tf32x3" if device.backend == "cuda" and dtype == np.float32 else "ieee"


def _unit(matrices: View) -> str:
    """The axis of the matrices along which neighbours lie next to each other, or ""."""
    return "column" if matrices.strides[-1] == 1 else "row" if matrices.strides[-2] == 1 else ""


class _Tile(NamedTuple):
    rows: int
    columns: int
    inner: int
    num_warps: int
    num_stages: int


def _side(size: int, most: int) -> int:
    return min(max(1 << max(size - 1, 0).bit_length(), 16), most)


def _tile(m: int, n: int, k: int, dtype: np.dtype, device: Device) -> _Tile:
    """The tile of a program, for floating point: large ones as measured on an H200 (benchmarks/NOTES.md)."""
    if device.backend == "cpu":
        return _Tile(_side(m, 64), _side(n, 64), _side(k, 64), 1, 1)
    most, inner, warps, stages = {2: ((128, 128), 64, 4, 4), 4: ((128, 64), 32, 4, 3), 8: ((64, 64), 16, 4, 3)}[
        dtype.itemsize
    ]
    if device.backend == "hip":  # 64 KiB of local memory
        stages = 2
    return _Tile(_side(m, most[0]), _side(n, most[1]), _side(k, inner), warps, stages)
