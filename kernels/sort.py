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
from nbx_array.memory import Storage, View, allocate
from nbx_array.memory.streams import current_stream
from nbx_array.memory.transfer import as_numpy

MODULE = "nbx_array.kernels.source.sort"
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


LONG = 32768
"""From this length on our kernels find the indices that sort some dtypes faster than NumPy does."""

PIECE = 1 << 26
"""Elements whose keys and places merging has in memory at a time."""

SIDES = (16, 128)
"""Lengths of rows, beside a run's, that have a kernel for all up to them."""


class Rule(NamedTuple):
    """Launch rule of a backend."""

    group: int  # elements that are sorted by counting for each those before it
    run: int  # the longest row that a program sorts alone
    merged: int  # the longest row that is merged from runs; longer ones are sorted by digits
    tile: int  # elements of a program that sorts short rows
    share: int  # elements of a warp that sorts and merges
    block: int  # elements of a block of a radix sort; a count of them fits 16 bits
    num_warps: int  # four elements of such a block a thread: each takes four counters of 64 bits
    look: int  # blocks that a block looks back at together; on the CPU those before it have mostly ended


_GPU = Rule(8, 2048, 1 << 21, 1024, 128, 1024, 8, 32)  # as measured on an H200 (benchmarks/NOTES.md)
# AMD's compiler loads the totals of all warps before it adds any: of 2048 elements in 8 warps they take 256 registers.
# On Metal the counters and their scan's totals must fit a threadgroup's 32 KiB.
_FEW = Rule(16, 2048, 1 << 21, 1024, 256, 512, 4, 16)
_RULES = {"cpu": Rule(16, 256, 256, 4096, 4096, 4096, 1, 1), "cuda": _GPU, "hip": _FEW, "metal": _FEW}


def _launcher(
    name: str, signature: dict[str, str], constants: dict[str, Any], device: Device, num_warps: int = 0
) -> Launcher:
    options = (("num_warps", num_warps or _RULES[device.backend].num_warps),)
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
    rule, (rows, n) = _RULES[x.storage.device.backend], x.shape
    merges = (-(-n // rule.run) - 1).bit_length()
    # a merge of 2^20 elements takes 23 µs on an H200, a pass over them 40
    if merges and (n > rule.merged or 2 * merges > 3 * _passes(x.dtype)):
        return _sort_long(x, values, indices, descending)
    run = _sort_by_merging if merges else _sort_short
    step = max(PIECE // n, 1)
    for first in range(0, rows, step):
        taken = min(step, rows - first)
        into, places = (None if view is None else _rows(view, first, taken) for view in (values, indices))
        run(_rows(x, first, taken), into, places, descending)


def _rows(x: View, first: int, count: int) -> View:
    n = x.shape[1]
    return x._replace(shape=(count, n), offset=x.offset + first * n)


def _passes(dtype: np.dtype) -> int:
    """Passes of a radix sort: its digits are of four bits."""
    return 1 if dtype.kind == "b" else 2 * dtype.itemsize


def _address(view: View | None, x: View) -> int:
    """What goes in a kernel's slot for an output, used or not."""
    return x.address if view is None else view.address


def _sort_short(x: View, values: View | None, indices: View | None, descending: bool) -> None:
    rows, n = x.shape
    wanted = values is not None, indices is not None
    launcher, together = special_or_general(
        lambda general: run_launcher(x.dtype, n, *wanted, x.storage.device, general)
    )
    keys, order = _run_buffers(x) if n > _RULES[x.storage.device.backend].group else (x.storage, x.storage)
    args = (x.address, _address(values, x), _address(indices, x), keys.ptr, order.ptr, rows, n, 1, -descending)
    launcher.spread(args, -(-rows // together), 1, 1)


def _run_buffers(x: View) -> tuple[Storage, Storage]:
    """Where keys and places of runs go, twice as many as elements: merging reads one half and writes the other."""
    device = x.storage.device
    return allocate(2 * x.nbytes, device), allocate(2 * x.size * INT32.itemsize, device)


def run_launcher(
    dtype: np.dtype, n: int, values: bool, indices: bool, device: Device, general: bool = False
) -> tuple[Launcher, int]:
    """The kernel that sorts rows of n elements, if `general` rows of up to so many, and the rows a program takes. Of
    rows longer than a run, the kernel that sorts the runs."""
    rule = _RULES[device.backend]
    whole = n <= rule.run
    side = 1 << (min(n, rule.run) - 1).bit_length()
    if general and whole:
        side = next(side for side in (*SIDES, rule.run) if side >= n)
    together = max(rule.tile // side, 1)
    pointer = _pointer(dtype)
    signature = {"x": pointer, "values": pointer, "indices": "*i64", "keys": pointer, "order": "*i32"}
    signature |= dict.fromkeys(("rows", "n", "runs", "flip"), "i64")
    constants = {**_order(dtype), "VALUES": values and whole, "INDICES": indices and whole}
    constants |= {"ROWS": together, "N": side, "GROUP": min(rule.group, side), "WHOLE": whole}
    num_warps = max(together * side // rule.share, 1)
    return _launcher("sort_runs", signature, constants, device, num_warps), together


def _sort_by_merging(x: View, values: View | None, indices: View | None, descending: bool) -> None:
    rows, n = x.shape
    device = x.storage.device
    rule = _RULES[device.backend]
    runs = -(-n // rule.run)
    launcher, _ = run_launcher(x.dtype, n, values is not None, indices is not None, device)
    key_buffer, order_buffer = _run_buffers(x)
    keys = [key_buffer.ptr + half * x.nbytes for half in range(2)]
    order = [order_buffer.ptr + half * x.size * INT32.itemsize for half in range(2)]
    results = x.address, _address(values, x), _address(indices, x)
    launcher.spread((*results, keys[0], order[0], rows, n, runs, -descending), rows * runs, 1, 1)
    here, width, blocks = (rule.run // rule.group).bit_length() - 1 & 1, rule.run, -(-n // rule.tile)
    while width < n:
        merge = merge_launcher(x.dtype, values is not None, indices is not None, 2 * width >= n, device)
        there = 1 - here
        addresses = (*results, keys[here], order[here], keys[there], order[there])
        merge.spread((*addresses, n, blocks, width), rows * blocks, 1, 1)
        here, width = there, 2 * width


def merge_launcher(dtype: np.dtype, values: bool, indices: bool, last: bool, device: Device) -> Launcher:
    rule = _RULES[device.backend]
    pointer = _pointer(dtype)
    signature = {"x": pointer, "values": pointer, "indices": "*i64", "keys": pointer, "order": "*i32"}
    signature |= {"merged_keys": pointer, "merged_order": "*i32"} | dict.fromkeys(("n", "blocks", "width"), "i64")
    constants = {"VALUES": values and last, "INDICES": indices and last, "LAST": last, "BLOCK": rule.tile}
    return _launcher("merge_runs", signature, constants, device, max(rule.tile // rule.share, 1))


def _sort_long(x: View, values: View | None, indices: View | None, descending: bool) -> None:
    device = x.storage.device
    rows, n = x.shape
    block = _RULES[device.backend].block
    blocks = -(-n // block)
    grid = rows * blocks
    small = INT32 if n < 2**29 else INT64  # four times a count must fit
    passes = _passes(x.dtype)
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
