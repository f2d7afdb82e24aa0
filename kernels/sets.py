"""Launching the kernels that find the distinct elements of a sorted vector."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher
from nbx_array.kernels.indexing import running_total
from nbx_array.kernels.types import type_row
from nbx_array.memory import View, allocate

MODULE = "nbx_array.kernels.source.sets"
INT64 = np.dtype(np.int64)
BLOCK = 2048  # elements of a program


class Distinct(NamedTuple):
    """What is known of the distinct elements, in contiguous vectors; None for what was not asked for."""

    values: View
    indices: View | None  # where each stands first
    inverse: View | None  # of each element of the vector, which value it has
    ends: View | None  # where each begins among the sorted ones, and behind the last their number


def distinct(x: View, order: View | None, *, indices: bool, inverse: bool, ends: bool) -> Distinct:
    """The distinct elements of a contiguous sorted vector that is not empty, equal ones by ==.

    order: int64, where each element stood before; for `indices` and `inverse`. Reads their number from the device.
    """
    device = x.storage.device
    (n,) = x.shape
    blocks = -(-n // BLOCK)
    counts = allocate(8 * (blocks + 1), device)
    count_launcher(x.dtype, device).spread((x.address, counts.ptr, n), blocks, 1, 1)
    found = running_total(counts, blocks)

    def vector(length: int, dtype: np.dtype[Any]) -> View:
        return View(allocate(length * dtype.itemsize, device), dtype, (length,), (1,))

    result = Distinct(
        vector(found, x.dtype),
        vector(found, INT64) if indices else None,
        vector(n, INT64) if inverse else None,
        vector(found + 1, INT64) if ends else None,
    )
    addresses = [x.address if view is None else view.address for view in (order, *result)]
    launcher = place_launcher(x.dtype, device, indices, inverse, ends)
    launcher.spread((x.address, addresses[0], counts.ptr, *addresses[1:], n), blocks, 1, 1)
    return result


def count_launcher(dtype: np.dtype[Any], device: Device) -> Launcher:
    return _launcher("count_firsts", {"x": _pointer(dtype), "counts": "*i64", "n": "i64"}, {}, dtype, device)


def place_launcher(dtype: np.dtype[Any], device: Device, indices: bool, inverse: bool, ends: bool) -> Launcher:
    signature = {"x": _pointer(dtype), "order": "*i64", "starts": "*i64", "values": _pointer(dtype)}
    signature |= {**dict.fromkeys(("indices", "inverse", "ends"), "*i64"), "n": "i64"}
    constants = {"INDICES": indices, "INVERSE": inverse, "ENDS": ends}
    return _launcher("place_firsts", signature, constants, dtype, device)


def _pointer(dtype: np.dtype[Any]) -> str:
    return "*i8" if dtype.kind == "b" else type_row(dtype).pointer


def _launcher(
    name: str, signature: dict[str, str], constants: dict[str, Any], dtype: np.dtype[Any], device: Device
) -> Launcher:
    return get_launcher(
        Source.of(MODULE, name),
        tuple(signature.items()),
        tuple((constants | {"WORDS": 2 if dtype.kind == "c" else 1, "BLOCK": BLOCK}).items()),
        device,
        aligned=False,
        options=(("num_warps", 8),),
    )
