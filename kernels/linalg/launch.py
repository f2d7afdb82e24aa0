"""How the kernels of factorisations are launched: by views of stacks of matrices, of shape (stack, rows, columns)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher
from nbx_array.kernels.rules import warps
from nbx_array.kernels.types import type_row
from nbx_array.memory import View

Constants = tuple[tuple[str, Any], ...]


def is_complex(a: View) -> bool:
    return a.dtype.kind == "c"


def kernel_of(
    module: str,
    name: str,
    arguments: tuple[tuple[str, str], ...],
    constants: Constants,
    dtype: np.dtype[Any],
    device: Device,
    num_warps: int = 4,
) -> Launcher:
    """A kernel for matrices of a dtype. Of an argument's type, "matrix" and "number" stand for the dtype's."""
    source, signature = _signature(module, name, arguments, dtype)
    options = (("num_warps", warps(device, num_warps)),)
    return get_launcher(source, signature, constants, device, aligned=False, options=options)


@lru_cache(maxsize=256)
def _signature(
    module: str, name: str, arguments: tuple[tuple[str, str], ...], dtype: np.dtype[Any]
) -> tuple[Source, tuple[tuple[str, str], ...]]:
    row = type_row(dtype)
    types = {"matrix": row.pointer, "number": row.parameter}
    source = Source.of(f"nbx_array.kernels.source.{module}", name)
    return source, tuple((argument, types.get(kind, kind)) for argument, kind in arguments)


def arguments(text: str) -> tuple[tuple[str, str], ...]:
    """Arguments from a line such as "a:matrix n m k:number": those without a type are 64-bit integers."""
    return tuple((word.partition(":")[0], word.partition(":")[2] or "i64") for word in text.split())


def power_of_two(n: int, least: int = 16) -> int:
    return max(least, 1 << max(n - 1, 0).bit_length())
