"""Launching the kernels that create arrays from numbers alone."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels.rules import rule
from nbx_array.kernels.types import default_float, type_row

MODULE = "nbx_array.kernels.source.creation"


@lru_cache(maxsize=1024)
def _launcher(
    name: str, dtype: np.dtype, number: str, scalars: tuple[str, ...], device: Device
) -> tuple[Launcher, int]:
    """The kernel of a row of numbers, and the elements a program takes."""
    limits = rule(device)
    signature = (
        ("o", type_row(dtype).pointer),
        *((s, "i64" if s == "last" else number) for s in scalars),
        ("n", "i64"),
    )
    options = (("num_warps", limits.num_warps),)
    constants = (("BLOCK", limits.block),)
    return get_launcher(Source.of(MODULE, name), signature, constants, device, options=options), limits.block


def _run(
    name: str, dtype: np.dtype, number: str, scalars: tuple[str, ...], device: Device, address: int, args: tuple, n: int
) -> None:
    launcher, block = _launcher(name, dtype, number, scalars, device)
    launcher.spread((address, *args, n), -(-n // block), 1, 1)


def arithmetic(address: int, dtype: np.dtype, device: Device, start: complex, step: complex, n: int) -> None:
    """Write start, start + step, ... : exact in integers (modulo 2^64), in the device's widest float otherwise."""
    if dtype.kind in "iu":
        args = tuple((int(x) + 2**63) % 2**64 - 2**63 for x in (start, step))  # type: ignore[call-overload]
        _run("arithmetic", dtype, "i64", ("start", "step"), device, address, args, n)
    else:
        number = type_row(default_float(device)).parameter
        _run("arithmetic", dtype, number, ("start", "step"), device, address, (float(start), float(step)), n)  # type: ignore[arg-type]


def spaced(
    address: int,
    dtype: np.dtype,
    device: Device,
    start: float,
    stop: float,
    n: int,
    endpoint: bool,
    single: bool = False,
) -> None:
    """Write n real numbers evenly spaced from start to stop, the last one exact if it is the end point; computed in the
    device's widest float or, if `single`, in float32."""
    intervals = n - 1 if endpoint else n
    number = np.float32 if single else np.float64
    step = (number(stop) - number(start)) / number(intervals) if intervals > 0 else 0.0
    last = n - 1 if endpoint and n > 1 else -1
    parameter = type_row(np.dtype(number) if single else default_float(device)).parameter
    args = (start, float(step), stop, last)
    _run("spaced", dtype, parameter, ("start", "step", "stop", "last"), device, address, args, n)


# ------------------------------------------------------------------------------------------------------- matrices


@lru_cache(maxsize=1024)
def matrix_launcher(
    name: str, itemsize: int, words: int, columns: int, lower: bool, device: Device, general: bool
) -> tuple[Launcher, int, int]:
    """The kernel `diagonal` or `triangle` for matrices of so many columns, if `general` of any; the rows and columns of
    its tile. Elements are integers of their size, complex ones two."""
    limits = rule(device)
    pointer = f"*i{8 * itemsize // words}"
    width = min(1 << max(columns - 1, 0).bit_length(), limits.tile)
    if general:
        width = next(size for size in (1, limits.side, limits.tile) if size >= width)
    height = max(limits.tile // width, 1)
    if name == "diagonal":
        signature = {"o": pointer} | dict.fromkeys(("one", "rows", "columns", "k"), "i64")
        constants: dict[str, Any] = {}
    else:
        signature = {"x": pointer, "o": pointer} | dict.fromkeys(("total", "rows", "columns", "k"), "i64")
        constants = {"LOWER": lower}
    constants |= {"WORDS": words, "ROWS": height, "COLUMNS": width}
    launcher = get_launcher(
        Source.of(MODULE, name),
        tuple(signature.items()),
        tuple(constants.items()),
        device,
        aligned=False,
        options=(("num_warps", limits.tile_warps),),
    )
    return launcher, height, width


def _over_matrices(
    name: str, dtype: np.dtype, lower: bool, device: Device, args: tuple[int, ...], total: int, columns: int
) -> None:
    """Launch a kernel over `total` rows."""
    make = partial(matrix_launcher, name, dtype.itemsize, 2 if dtype.kind == "c" else 1, columns, lower, device)
    launcher, height, width = special_or_general(make)
    launcher.spread(args, -(-total // height) * -(-columns // width), 1, 1)


def diagonal(address: int, dtype: np.dtype, device: Device, rows: int, columns: int, k: int) -> None:
    """Write a packed matrix with ones on its k-th diagonal and zeros elsewhere."""
    one = int.from_bytes(np.ones(1, dtype).tobytes()[: dtype.itemsize // (2 if dtype.kind == "c" else 1)], "little")
    args = (address, one, rows, columns, max(min(k, columns), -rows))
    _over_matrices("diagonal", dtype, False, device, args, rows, columns)


def triangle(
    source: int, target: int, dtype: np.dtype, device: Device, shape: tuple[int, ...], k: int, *, lower: bool
) -> None:
    """Copy the triangle below or above the k-th diagonal of packed matrices, with zeros elsewhere, or to where they
    are."""
    rows, columns = shape[-2:]
    total = math.prod(shape[:-1])
    args = (source, target, total, rows, columns, max(min(k, columns), -rows))
    _over_matrices("triangle", dtype, lower, device, args, total, columns)
