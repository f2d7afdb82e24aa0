"""Launching the kernels of indexing: offsets of integer arrays, gather, scatter, positions of a mask."""

from __future__ import annotations

import ctypes
import itertools
import math
import threading
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device, get_driver
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels.rules import Rule, rule
from nbx_array.kernels.types import type_row
from nbx_array.memory import Storage, View, allocate
from nbx_array.memory.statistics import traffic
from nbx_array.memory.streams import current_stream, register_check
from nbx_array.memory.view import contiguous_strides

MODULE = "nbx_array.kernels.source.indexing"
INT64 = np.dtype(np.int64)
NOWHERE = -(2**63)  # the offset of an index out of range
COMPACTION = 4096  # elements of a block when the positions of a mask are found


def _launcher(
    name: str,
    signature: dict[str, str],
    constants: dict[str, Any],
    device: Device,
    *,
    num_warps: int,
    aligned: bool = False,
) -> Launcher:
    return get_launcher(
        Source.of(MODULE, name),
        tuple(signature.items()),
        tuple(constants.items()),
        device,
        aligned=aligned,
        options=(("num_warps", num_warps),),
    )


# ------------------------------------------------------------------------------------------------------- status


WORDS = 64
"""Launches between which a device's errors are told from each other."""
NO_ERROR = bytes(8 * WORDS)


class _Status:
    """Words that kernels of a GPU set when an index is out of range. Launches take them in turn, so that each has a
    message of its own. They are the host's memory, so that to look at them once the device has been waited for takes no
    copy."""

    def __init__(self, device: Device) -> None:
        self.address = get_driver(device.backend).allocate_pinned(len(NO_ERROR), device.index)
        self.words = (ctypes.c_int64 * WORDS).from_address(self.address)
        self.words[:] = [0] * WORDS
        self.messages = [""] * WORDS
        self.launches = itertools.count()

    def take(self, message: str) -> int:
        """The address of the next launch's word."""
        place = next(self.launches) % WORDS
        self.messages[place] = message
        return self.address + 8 * place

    def check(self) -> None:
        """Raise IndexError if a kernel that the host has waited for met an index out of range."""
        wrong = [place for place in range(WORDS) if self.words[place]]
        for place in wrong:
            self.words[place] = 0
        if wrong:
            raise IndexError(self.messages[wrong[0]])


_statuses: dict[Device, _Status] = {}


class _Word(threading.local):
    """The word for the CPU, which is waited for at each launch: every thread has its own, and so its own errors."""

    def __init__(self) -> None:
        self.word = ctypes.c_int64()
        self.address = ctypes.addressof(self.word)


_word = _Word()


def _run(
    launcher: Launcher, pointers: tuple[int, ...], numbers: tuple[int, ...], grid: int, device: Device, message: str
) -> None:
    """Launch a kernel that takes the address of a status word between its pointers and its numbers."""
    if device.backend == "cpu":
        word = _word.word
        word.value = 0  # a launch whose thread was interrupted may have left it set
        launcher.spread((*pointers, _word.address, *numbers), grid, 1, 1)
        if word.value:
            raise IndexError(message)
    else:
        status = _statuses.get(device) or _statuses.setdefault(device, _Status(device))
        launcher.spread((*pointers, status.take(message), *numbers), grid, 1, 1)


@register_check
def check(device: Device) -> None:
    """Raise the IndexError of an earlier operation of a GPU, if there was one."""
    status = _statuses.get(device)
    if status and ctypes.string_at(status.address, len(NO_ERROR)) != NO_ERROR:
        status.check()


# ------------------------------------------------------------------------------------------------------ offsets


def index_offsets(index: View, out: View, size: int, stride: int, *, first: bool, message: str) -> None:
    """Write (or, unless `first`, add) the offsets of a contiguous integer array along one axis.

    On the CPU an index out of range raises IndexError with `message` here, on a GPU at the next synchronising call.
    """
    device = index.storage.device
    launcher = offsets_launcher(index.dtype, first, device)
    n = math.prod(index.shape)
    pointers = index.address, out.address
    _run(launcher, pointers, (n, size, stride), -(-n // rule(device).block), device, message)


@lru_cache(maxsize=1024)
def offsets_launcher(dtype: np.dtype, first: bool, device: Device) -> Launcher:
    """The kernel for index arrays of a dtype, which writes offsets or adds to them."""
    limits = rule(device)
    signature = {"index": type_row(dtype).pointer, "out": "*i64", "status": "*i64"}
    signature |= dict.fromkeys(("n", "size", "stride"), "i64")
    return _launcher("offsets", signature, {"FIRST": first, "BLOCK": limits.block}, device, num_warps=limits.num_warps)


class Places(NamedTuple):
    """Elements source[p * outer + where[b] + q * inner] for p < before, b < picked, q < after."""

    address: int
    dtype: np.dtype
    where: View
    before: int
    picked: int
    after: int
    outer: int
    inner: int


@lru_cache(maxsize=1024)
def move_launcher(
    name: str, dtype: np.dtype, before: int, after: int, device: Device, general: bool
) -> tuple[Launcher, int, int]:
    """The kernel `gather` or `scatter` for these sizes, if `general` one for any; rows and columns of its tile.

    Elements move as integers of their size, complex ones as two.
    """
    limits = rule(device)
    words = 2 if dtype.kind == "c" else 1
    pointer = f"*i{8 * dtype.itemsize // words}"
    ends = ("source", "out") if name == "gather" else ("target", "value")
    signature = {ends[0]: pointer, "where": "*i64", ends[1]: pointer}
    signature |= dict.fromkeys(("rows", "count", "length", "outer", "inner"), "i64")
    if name == "scatter":
        signature["step"] = "i64"
    rows, columns = _sides(after, limits, general)
    constants = {"MANY": general or before > 1, "WORDS": words, "ROWS": rows, "COLUMNS": columns}
    return _launcher(name, signature, constants, device, num_warps=limits.tile_warps), rows, columns


class Picked(NamedTuple):
    """Elements source[p * outer + k * step + q * inner] for p < before, q < after and indices k of an axis of `size`
    elements: an index for each b < length, or one for each (p, b, q)."""

    address: int
    dtype: np.dtype
    before: int
    length: int
    after: int
    size: int
    outer: int
    step: int
    inner: int
    each: bool


@lru_cache(maxsize=1024)
def pick_launcher(
    each: bool, itemsize: int, words: int, before: int, after: int, device: Device, general: bool
) -> tuple[Launcher, int, int]:
    """The kernel `pick` for these sizes, if `general` one for any; rows and columns of its tile."""
    limits = rule(device)
    pointer = f"*i{8 * itemsize // words}"
    signature = {"source": pointer, "index": "*i64", "out": pointer, "status": "*i64"}
    signature |= dict.fromkeys(("rows", "count", "length", "size", "outer", "step", "inner"), "i64")
    rows, columns = _sides(after, limits, general)
    constants = {"EACH": each, "MANY": general or before > 1, "WORDS": words, "ROWS": rows, "COLUMNS": columns}
    return _launcher("pick", signature, constants, device, num_warps=limits.tile_warps), rows, columns


def pick(picked: Picked, index: View, out: View, message: str) -> None:
    """Read elements at indices, contiguous int64, into a contiguous array; out of range gives 0.

    On the CPU an index out of range raises IndexError with `message` here, on a GPU at the next synchronising call.
    """
    address, dtype, before, count, after, size, outer, step, inner, each = picked
    device = index.storage.device
    words = 2 if dtype.kind == "c" else 1
    launcher, rows, columns = special_or_general(
        partial(pick_launcher, each, dtype.itemsize, words, min(before, 2), _width(after), device)
    )
    grid = -(-before * count // rows) * -(-after // columns)
    numbers = (before * count, count, after, size, outer, step, inner)
    _run(launcher, (address, index.address, out.address), numbers, grid, device, message)


def _width(columns: int) -> int:
    """The power of two that holds so many columns."""
    return 1 << max(columns - 1, 0).bit_length()


def _sides(after: int, limits: Rule, general: bool) -> tuple[int, int]:
    """Rows and columns of the tile for rows of `after` elements, if `general` one of few that go for any."""
    columns = min(_width(after), limits.tile)
    if general:
        columns = next(size for size in (1, limits.side, limits.tile) if size >= columns)
    return max(limits.tile // columns, 1), columns


def _launch(name: str, places: Places, args: tuple[int, ...]) -> None:
    """Launch `gather` or `scatter`."""
    device = places.where.storage.device
    launcher, rows, columns = special_or_general(
        partial(move_launcher, name, places.dtype, places.before, places.after, device)
    )
    total = places.before * places.picked
    grid = -(-total // rows) * -(-places.after // columns)
    numbers = (total, places.picked, places.after, places.outer, places.inner)
    if name == "scatter" and device.backend == "cpu":  # in order, so that the last of equal indices wins, as in NumPy
        launcher.run(args[0], args[1], args[2], *numbers, *args[3:], grid, 1, 1)
    else:
        launcher.spread((args[0], args[1], args[2], *numbers, *args[3:]), grid, 1, 1)


def gather(places: Places, out: View) -> None:
    """Read elements into a contiguous array of shape (before, count, after); out of range gives 0."""
    _launch("gather", places, (places.address, places.where.address, out.address))


def scatter(places: Places, value: View, *, repeat: bool, distinct: bool) -> None:
    """Write the elements of a contiguous array of shape (before, count, after), or one value everywhere if `repeat`.

    Of equal indices the last one wins, as in NumPy. On a GPU, whose programs run in any order, the others are taken out
    of `places.where` first, unless they are known to be `distinct`.
    """
    if not (repeat or distinct or places.picked == 1 or places.where.storage.device.backend == "cpu"):
        drop_repeated(places.where, places.picked)
    args = (places.address, places.where.address, value.address, 0 if repeat else 1)
    _launch("scatter", places, args)


@lru_cache(maxsize=1024)
def last_launcher(name: str, wide: bool, device: Device) -> Launcher:
    """The kernel `claim` or `keep_last`, whose table is of int64 if `wide`, else of int32."""
    limits = rule(device)
    signature = {"where": "*i64", "table": "*i64" if wide else "*i32", "n": "i64", "bits": "i64"}
    return _launcher(name, signature, {"BLOCK": limits.block}, device, num_warps=limits.num_warps)


def drop_repeated(where: View, n: int) -> None:
    """Of equal ones among n offsets leave the last; the others become NOWHERE.

    By a hash table of at most 4 n words. Three words are read and one is written for each offset, in random order,
    which costs less than to sort them: that takes eight passes.
    """
    device = where.storage.device
    wide = n >= 2**31 - 1
    bits = (2 * n - 1).bit_length()
    size = (8 if wide else 4) << bits
    table = allocate(size, device)
    get_driver(device.backend).fill(table.ptr, 0, size, device.index, current_stream(device))
    for name in ("claim", "keep_last"):
        launcher = last_launcher(name, wide, device)
        launcher.spread((where.address, table.ptr, n, bits), -(-n // rule(device).block), 1, 1)


# -------------------------------------------------------------------------------------------------------- masks


@lru_cache(maxsize=1024)
def count_launcher(device: Device, aligned: bool = True) -> Launcher:
    signature = {"mask": "*i8", "counts": "*i64", "n": "i64"}
    return _launcher("count_true", signature, _compaction(device), device, num_warps=COMPACTION // 512, aligned=aligned)


@lru_cache(maxsize=1024)
def totals_launcher(device: Device) -> Launcher:
    return _launcher(
        "running_totals", {"counts": "*i64", "total": "*i64", "n": "i64"}, {"BLOCK": 1024}, device, num_warps=4
    )


@lru_cache(maxsize=1024)
def positions_launcher(device: Device, aligned: bool = True) -> Launcher:
    signature = {"mask": "*i8", "starts": "*i64", "out": "*i64", "n": "i64"}
    return _launcher("positions", signature, _compaction(device), device, num_warps=COMPACTION // 512, aligned=aligned)


def _compaction(device: Device) -> dict[str, Any]:
    return {"GPU": device.backend != "cpu", "BLOCK": COMPACTION}


def positions(mask: View) -> View:
    """Where a contiguous mask is true, in C order: one int64 each. Reads their number from the device."""
    device = mask.storage.device
    n = math.prod(mask.shape)
    blocks = -(-n // COMPACTION)
    counts = allocate(8 * (blocks + 1), device)
    aligned = mask.address % 16 == 0
    count_launcher(device, aligned).spread((mask.address, counts.ptr, n), blocks, 1, 1)
    found = running_total(counts, blocks)
    storage = allocate(8 * found, device)
    positions_launcher(device, aligned).spread((mask.address, counts.ptr, storage.ptr, n), blocks, 1, 1)
    return View(storage, INT64, (found,), contiguous_strides((found,)), 0)


def running_total(counts: Storage, blocks: int) -> int:
    """Replace the int64 counts of blocks by the sum of those before; the sum of all goes behind them and is returned,
    for which the host waits."""
    device, total = counts.device, ctypes.c_int64()
    end = counts.ptr + 8 * blocks
    totals_launcher(device).run(counts.ptr, end, blocks, 1, 1, 1)
    traffic.synchronisations += 1
    traffic.bytes_to_host += 8
    get_driver(device.backend).copy_to_host(ctypes.addressof(total), end, 8, device.index, current_stream(device))
    return total.value


# ------------------------------------------------------------------------------------------------------- counts


@lru_cache(maxsize=1024)
def tally_launcher(wide: bool, device: Device) -> Launcher:
    """The kernel that counts how often each int64 occurs; `wide` for counts beyond 2^31, which Metal's atomics lack."""
    limits = rule(device)
    signature = {"index": "*i64", "counts": "*i64" if wide else "*i32", "n": "i64"}
    return _launcher("count", signature, {"BLOCK": limits.block}, device, num_warps=limits.num_warps)


def tally(index: View, counts: View) -> None:
    """Add to counts, int32 or int64, how often each of their places occurs in contiguous int64s."""
    device = index.storage.device
    n = math.prod(index.shape)
    launcher = tally_launcher(counts.dtype.itemsize == 8, device)
    launcher.spread((index.address, counts.address, n), -(-n // rule(device).block), 1, 1)
