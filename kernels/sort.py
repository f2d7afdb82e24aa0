"""Sorting: Triton kernels on GPUs, NumPy on the same memory on the CPU unless NBX_HOST_ROUTINES=0. Searching: a Triton
kernel everywhere, which is several times faster than NumPy's for needles in no order."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device, get_driver
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels.host import on_host
from nbx_array.kernels.types import type_row
from nbx_array.memory import View, allocate
from nbx_array.memory.streams import current_stream
from nbx_array.memory.transfer import as_numpy

MODULE = "nbx_array.kernels.source.sort"
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


LONG = 32768
"""From this length on our kernels find the indices that sort some dtypes faster than NumPy does."""


SIDES = (16, 128)
"""Lengths of short rows, beside the longest, that have a kernel for all up to them."""


class Rule(NamedTuple):
    """Launch rule of a backend."""

    short: int  # the longest row that is sorted by counting for each element those before it
    compared: int  # pairs of elements that a program compares at once
    block: int  # elements of a block of a radix sort; a count of them fits 16 bits
    num_warps: int  # four elements of such a block a thread: each takes four counters of 64 bits
    look: int  # blocks that a block looks back at together; on the CPU those before it have mostly ended


_GPU = Rule(1024, 4096, 1024, 8, 32)
# AMD's compiler loads the totals of all warps before it adds any: of 2048 elements in 8 warps they take 256 registers.
# On Metal the counters and their scan's totals must fit a threadgroup's 32 KiB.
_FEW = Rule(1024, 4096, 512, 4, 16)
_RULES = {"cpu": Rule(256, 8192, 4096, 1, 1), "cuda": _GPU, "hip": _FEW, "metal": _FEW}


def _launcher(name: str, signature: dict[str, str], constants: dict[str, Any], device: Device) -> Launcher:
    options = (("num_warps", _RULES[device.backend].num_warps),)
    return get_launcher(
        Source.of(MODULE, name),
        tuple(signature.items()),
        tuple(constants.items()),
        device,
        aligned=False,
        options=options,
    )


@cache
def _order(dtype: np.dtype) -> dict[str, Any]:
    """The constants that say how the bits of a dtype compare."""
    return {"UNSIGNED": type_row(dtype).kind in "bu", "INFINITY": INFINITIES.get(dtype.name, 0)}


def _pointer(dtype: np.dtype) -> str:
    return f"*i{8 * dtype.itemsize}"


def sort(x: View, values: View | None, indices: View | None, *, descending: bool) -> None:
    """Sort each row of a contiguous array of shape (rows, n), n > 0: its elements to `values`, where each stood in its
    row, int64, to `indices`. Equal elements keep their order; NaN comes last."""
    if x.shape[1] <= _RULES[x.storage.device.backend].short:
        _sort_short(x, values, indices, descending)
    else:
        _sort_long(x, values, indices, descending)


def _address(view: View | None, x: View) -> int:
    """What goes in a kernel's slot for an output, used or not."""
    return x.address if view is None else view.address


def _sort_short(x: View, values: View | None, indices: View | None, descending: bool) -> None:
    rows, n = x.shape
    wanted = values is not None, indices is not None
    launcher, together = special_or_general(
        lambda general: short_launcher(x.dtype, n, *wanted, x.storage.device, general)
    )
    args = (x.address, _address(values, x), _address(indices, x), rows, n, -descending)
    launcher.spread(args, -(-rows // together), 1, 1)


def short_launcher(
    dtype: np.dtype, n: int, values: bool, indices: bool, device: Device, general: bool = False
) -> tuple[Launcher, int]:
    """The kernel that sorts rows of n elements, if `general` rows of up to so many, and the rows a program takes."""
    limits = _RULES[device.backend]
    side = 1 << (n - 1).bit_length()
    if general:
        side = next(side for side in (*SIDES, limits.short) if side >= n)
    chunk = min(side, max(limits.compared // side, 8))
    together = max(limits.compared // (side * chunk), 1)
    pointer = _pointer(dtype)
    signature = {"x": pointer, "values": pointer, "indices": "*i64", "rows": "i64", "n": "i64", "flip": "i64"}
    constants = {**_order(dtype), "VALUES": values, "INDICES": indices, "ROWS": together, "N": side, "CHUNK": chunk}
    return _launcher("sort_short", signature, constants, device), together


def _sort_long(x: View, values: View | None, indices: View | None, descending: bool) -> None:
    device = x.storage.device
    rows, n = x.shape
    block = _RULES[device.backend].block
    blocks = -(-n // block)
    grid = rows * blocks
    small = INT32 if n < 2**29 else INT64  # four times a count must fit
    passes = 1 if x.dtype.kind == "b" else 2 * x.dtype.itemsize  # of four bits
    counted = rows * passes * 16
    words = allocate((counted + passes + passes * grid * 16) * small.itemsize, device)
    get_driver(device.backend).fill(words.ptr, 0, words.nbytes, device.index, current_stream(device))
    tickets = words.ptr + counted * small.itemsize
    status = tickets + passes * small.itemsize
    starts = allocate(grid * 16 * small.itemsize, device)
    count_launcher(x.dtype, small, device).spread((x.address, words.ptr, n, blocks, passes, -descending), grid, 1, 1)
    # Passes write to two buffers in turn, the last one to the result.
    value_buffers = [allocate(x.nbytes, device) for _ in range(min(passes - 1, 2))]
    index_buffers = [allocate(x.size * small.itemsize, device) for _ in value_buffers] if indices is not None else []
    source, origin = x.address, x.address
    for k in range(passes):
        last = k == passes - 1
        if last:
            value_goal, index_goal = _address(values, x), _address(indices, x)
        else:
            value_goal = value_buffers[k % 2].ptr
            index_goal = index_buffers[k % 2].ptr if indices is not None else value_goal
        keeps_values = values is not None or not last
        move = move_launcher(x.dtype, small, device, keeps_values, indices is not None, k == 0, last)
        addresses = (source, origin, tickets, status, words.ptr, starts.ptr, value_goal, index_goal)
        move.spread((*addresses, n, blocks, passes, k, -descending), grid, 1, 1)
        source, origin = value_goal, index_goal


def count_launcher(dtype: np.dtype, small: np.dtype, device: Device) -> Launcher:
    signature = {"x": _pointer(dtype), "totals": _pointer(small)}
    signature |= dict.fromkeys(("n", "blocks", "passes", "flip"), "i64")
    return _launcher("count_digits", signature, {**_order(dtype), "BLOCK": _RULES[device.backend].block}, device)


def move_launcher(
    dtype: np.dtype, small: np.dtype, device: Device, values: bool, indices: bool, first: bool, last: bool
) -> Launcher:
    rule = _RULES[device.backend]
    pointer, index = _pointer(dtype), _pointer(small)
    signature = {"x": pointer, **dict.fromkeys(("index", "tickets", "status", "totals", "starts"), index)}
    signature |= {"values": pointer, "indices": "*i64" if last else index}
    signature |= dict.fromkeys(("n", "blocks", "passes", "number", "flip"), "i64")
    constants = {"VALUES": values, "INDICES": indices, "FIRST": first and indices}
    return _launcher("move", signature, {**_order(dtype), **constants, "LOOK": rule.look, "BLOCK": rule.block}, device)


def search(x: View, needles: View, out: View, *, right: bool) -> None:
    """For each element of contiguous `needles`, how many of the elements of x, contiguous and sorted, go before it, or
    if `right` do not go after it: int64, into contiguous `out`."""
    device = x.storage.device
    (n,), count = x.shape, needles.size
    block = _RULES[device.backend].block // 4  # a search waits for memory at every step: many short programs
    pointer = _pointer(x.dtype)
    signature = {"x": pointer, "needles": pointer, "out": "*i64"} | dict.fromkeys(("n", "count", "rounds"), "i64")
    constants = {"RIGHT": right, **_order(x.dtype), "BLOCK": block}
    args = (x.address, needles.address, out.address, n, count, n.bit_length())
    _launcher("search", signature, constants, device).spread(args, -(-count // block), 1, 1)


# ------------------------------------------------------------------------------------------------- NumPy's routines


def _readable(x: View) -> np.ndarray:
    """The elements of a view on the CPU as NumPy sorts them.

    16-bit floats go as float32: bfloat16 has no routine, and NumPy 2.4's for float16 leaves numbers out of order among
    NaNs on processors with AVX-512."""
    host = as_numpy(x)
    return host.astype(np.float32) if x.dtype.itemsize == 2 and type_row(x.dtype).kind == "f" else host


def _reversed(host: np.ndarray) -> np.ndarray:
    """Numbers in the opposite order, NaN still last."""
    return -host if host.dtype.kind == "f" else ~host


def host_sort(x: View, out: View, axis: int, *, descending: bool, stable: bool) -> None:
    """Sort along an axis by NumPy: views of any strides on the CPU, of one shape."""
    host, target = _readable(x), as_numpy(out)
    # NumPy's stable sort is a radix sort for 8 and 16 bits. Above that its quick sort is faster, and of equal numbers
    # only zeros differ: they are put in order afterwards.
    kind: Literal["stable", "quicksort"] = "stable" if host.dtype.itemsize <= 2 else "quicksort"
    ordered = np.sort(_reversed(host) if descending else host, axis=axis, kind=kind)
    target[...] = _reversed(ordered) if descending else ordered
    if stable and host.dtype.kind == "f":
        zeros = np.moveaxis(target, axis, -1) == 0
        if zeros.any():
            rows = np.moveaxis(host, axis, -1)
            np.moveaxis(target, axis, -1)[zeros] = rows[rows == 0]


def argsorts_on_host(dtype: np.dtype, n: int, device: Device) -> bool:
    """Whether NumPy finds the indices that sort rows of n elements.

    For long rows our radix sort takes a quarter of its time for 16-bit floats, half of it for float32 and two thirds
    for integers of four bytes (benchmarks/NOTES.md)."""
    ours = dtype.itemsize == 4 or (dtype.itemsize == 2 and type_row(dtype).kind == "f")
    return on_host(device) and not (ours and n >= LONG)


def host_argsort(x: View, out: View, axis: int, *, descending: bool, stable: bool) -> None:
    """The indices that sort along an axis, by NumPy."""
    host = _readable(x)
    kind: Literal["stable", "quicksort"] = "stable" if stable else "quicksort"
    as_numpy(out)[...] = np.argsort(_reversed(host) if descending else host, axis=axis, kind=kind)
