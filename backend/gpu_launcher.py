"""The native launch of GPU kernels, the same for CUDA and for HIP.

A launch must cost little more than the driver's own (3.5 us on an H200, where packing the arguments by ctypes adds 2).
`native.fastcall` unboxes the Python arguments onto the function's own stack; what is generated here follows it: point
at the arguments, make the device's context current, take scratch memory, call the vendor's launch function, count.

The code is compiled once for each list of argument types. What differs between kernels comes as data words (`WORDS`),
what differs between devices as `Cells`: the stream, the addresses of the vendor's functions, what has been launched.
Nothing is shared between two calls, so threads cannot meet. The GIL is held: the launch takes a few microseconds, and
another thread that takes the GIL meanwhile keeps it for its whole switch interval.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from . import native
from .contract import CompiledKernel

RECENT = 8  # launches remembered, for faults that surface later; a power of two
GRID_LIMITS = (2**31 - 1, 65535, 65535)  # thread blocks; a kernel may have to stay lower along x
SCRATCH_ALIGNMENT = 256  # what the vendors' allocators give

# What the native code reports to `Cells.report`.
GRID_TOO_LARGE, VENDOR_ERROR = range(2)


class Cells(ctypes.Structure):
    """What the native code reads and writes of one device."""

    _fields_ = (
        ("context", ctypes.c_uint64),  # CUDA's handle; HIP's is the number of the device
        ("no_context", ctypes.c_uint64),  # what the vendor says where none is current
        ("stream", ctypes.c_uint64),  # where the current stream is written
        ("launches", ctypes.c_uint64),  # where the launches of all devices are counted
        ("turn", ctypes.c_uint64),  # launches of this device
        ("recent", ctypes.c_uint64 * RECENT),  # numbers of the kernels launched, by turn % RECENT
        # Addresses of the vendor's functions.
        ("get_context", ctypes.c_uint64),
        ("set_context", ctypes.c_uint64),
        ("allocate", ctypes.c_uint64),
        ("free", ctypes.c_uint64),
        # A Python function of a kernel's number, one of the codes above and a value; it raises.
        ("report", ctypes.py_object),
    )


#: The data words of a kernel on a device, in the order that `native.bind` is given them.
WORDS = (
    "cells",
    "number",
    "launch",  # address of the vendor's launch function: with attributes cuLaunchKernelEx, else one like cuLaunchKernel
    "function",
    "threads",
    "shared",
    "blocks",  # thread blocks a program: the size of a cluster
    "programs",  # the most along x
    "attributes",
    "attribute_count",
    "global_scratch",
    "profile_scratch",
)


def bind(kernel: CompiledKernel, **words: int) -> Callable[..., None]:
    """``run(*arguments, gx, gy, gz)`` of a kernel that is loaded on a device; `WORDS` names the words."""
    if not native.HAVE_C_API:
        return through_ctypes(kernel, **words)
    types = (*kernel.parameters, *native.GRID)
    code = _code(tuple("*" if p.startswith("*") else p for p in kernel.parameters))
    complainer = native.complainer(kernel.name, types, (*kernel.names, "gx", "gy", "gz"))
    return native.bind(code, [words[name] for name in WORDS], kernel.name, complainer)


def _word(name: str, kind: str = "i64") -> str:
    return native.data_word(name, WORDS.index(name), kind)


def _cell(name: str, kind: str = "ptr") -> str:
    offset = getattr(Cells, name).offset
    return f"  %{name}_at = getelementptr i8, ptr %cells, i64 {offset}\n  %{name} = load {kind}, ptr %{name}_at\n"


def _store_each(array: str, kind: str, values: Sequence[str]) -> str:
    return "".join(
        f"  {array}.{i} = getelementptr {kind}, ptr {array}, i32 0, i32 {i}\n  store {value}, ptr {array}.{i}\n"
        for i, value in enumerate(values)
    )


@cache
def _code(types: tuple[str, ...]) -> int:
    return native.load(_source(types), ["run"])["run"]


def _source(types: tuple[str, ...]) -> str:
    """LLVM IR of ``run`` for kernels whose parameters have these types."""
    n = len(types)
    slots = [f"ptr %slot{i}" for i in range(n)] + ["ptr %global.slot", "ptr %profile.slot"]
    pointers_type = f"[{n + 2} x ptr]"
    # CUlaunchConfig: grid, block, shared memory, stream, attributes.
    integers = ("%gx", "%gy", "%gz", "%threads", "1", "1", "%shared")
    configuration = [*(f"i32 {i}" for i in integers), "ptr %stream", "ptr %attributes", "i32 %count32"]
    configuration_type = "{ i32, i32, i32, i32, i32, i32, i32, ptr, ptr, i32 }"
    body = f"""
{_word("cells", "ptr")}
; the grid: programs of a cluster lie along x; an empty grid launches nothing
{_word("blocks")}
  %x = zext i32 %arg{n} to i64
  %y = zext i32 %arg{n + 1} to i64
  %z = zext i32 %arg{n + 2} to i64
  %xb = mul i64 %x, %blocks
{_word("programs").replace("%programs", "%most")}
  %x.wrong = icmp ugt i64 %x, %most
  br i1 %x.wrong, label %grid.wrong, label %grid.y
grid.y:
  %y.wrong = icmp ugt i64 %y, {GRID_LIMITS[1]}
  br i1 %y.wrong, label %grid.wrong, label %grid.z
grid.z:
  %z.wrong = icmp ugt i64 %z, {GRID_LIMITS[2]}
  br i1 %z.wrong, label %grid.wrong, label %grid.right
grid.right:
  %xy = mul i64 %xb, %y
  %programs = mul i64 %xy, %z
  %empty = icmp eq i64 %programs, 0
  br i1 %empty, label %none, label %context.find

; the device's context becomes current; that of another device is put back afterwards
context.find:
  %current = alloca ptr
  store i64 0, ptr %current  ; HIP writes four bytes
{_cell("context")}
{_cell("no_context")}
{_cell("get_context")}
{_cell("set_context")}
  %found = call i32 %get_context(ptr %current)
  %found.right = icmp eq i32 %found, 0
  br i1 %found.right, label %context.compare, label %vendor.error
context.compare:
  %theirs = load ptr, ptr %current
  %ours = icmp eq ptr %theirs, %context
  br i1 %ours, label %scratch, label %context.switch
context.switch:
  %switched = call i32 %set_context(ptr %context)
  %switched.right = icmp eq i32 %switched, 0
  br i1 %switched.right, label %scratch, label %vendor.error

; Triton's kernels take two more pointers, to global and profile scratch: one allocation in the stream's order
scratch:
{_cell("stream").replace("%stream", "%stream.cell")}
  %stream = load ptr, ptr %stream.cell
{_word("global_scratch")}
{_word("profile_scratch")}
  %global.slot = alloca i64
  %profile.slot = alloca i64
  store i64 0, ptr %global.slot
  store i64 0, ptr %profile.slot
  %scratch.each = add i64 %global_scratch, %profile_scratch
  %scratch.none = icmp eq i64 %scratch.each, 0
  br i1 %scratch.none, label %launching, label %scratch.take
scratch.take:
  %global.exact = mul i64 %global_scratch, %programs
  %global.more = add i64 %global.exact, {SCRATCH_ALIGNMENT - 1}
  %global.bytes = and i64 %global.more, {-SCRATCH_ALIGNMENT}
  %profile.bytes = mul i64 %profile_scratch, %programs
  %scratch.bytes = add i64 %global.bytes, %profile.bytes
{_cell("allocate")}
  %taken = call i32 %allocate(ptr %global.slot, i64 %scratch.bytes, ptr %stream)
  %global.base = load i64, ptr %global.slot
  %profile.base = add i64 %global.base, %global.bytes
  store i64 %profile.base, ptr %profile.slot
  %taken.right = icmp eq i32 %taken, 0
  br i1 %taken.right, label %launching, label %context.restore

launching:
  %pointers = alloca {pointers_type}, align 16
{_store_each("%pointers", pointers_type, slots)}
{_word("function", "ptr")}
{_word("threads", "i32")}
{_word("shared", "i32")}
{_word("attributes", "ptr")}
{_word("attribute_count")}
{_word("launch", "ptr")}
  %gx = trunc i64 %xb to i32
  %gy = trunc i64 %y to i32
  %gz = trunc i64 %z to i32
  %plain = icmp eq i64 %attribute_count, 0
  br i1 %plain, label %launching.plain, label %launching.special
launching.plain:
  %plain.code = call i32 %launch(ptr %function, i32 %gx, i32 %gy, i32 %gz, i32 %threads, i32 1, i32 1, i32 %shared,
                                 ptr %stream, ptr %pointers, ptr null)
  br label %launched
launching.special:
  %count32 = trunc i64 %attribute_count to i32
  %configuration = alloca {configuration_type}
{_store_each("%configuration", configuration_type, configuration)}
  %special.code = call i32 %launch(ptr %configuration, ptr %function, ptr %pointers, ptr null)
  br label %launched
launched:
  %launched.code = phi i32 [ %plain.code, %launching.plain ], [ %special.code, %launching.special ]
  br i1 %scratch.none, label %context.restore, label %scratch.return
scratch.return:
{_cell("free")}
  %scratch.address = load i64, ptr %global.slot
  %freed = call i32 %free(i64 %scratch.address, ptr %stream)
  br label %context.restore

context.restore:
  %outcome = phi i32 [ %launched.code, %launched ], [ %launched.code, %scratch.return ], [ %taken, %scratch.take ]
  %theirs.none = icmp eq ptr %theirs, %no_context
  %context.stays = or i1 %ours, %theirs.none
  br i1 %context.stays, label %outcome.check, label %context.return
context.return:
  %returned = call i32 %set_context(ptr %theirs)
  br label %outcome.check
outcome.check:
  %outcome.right = icmp eq i32 %outcome, 0
  br i1 %outcome.right, label %count, label %vendor.error
count:
{_word("number")}
{_cell("launches")}
  %launches.before = load i64, ptr %launches
  %launches.now = add i64 %launches.before, 1
  store i64 %launches.now, ptr %launches
{_cell("turn", "i64")}
  %turn.next = add i64 %turn, 1
  store i64 %turn.next, ptr %turn_at
  %place = and i64 %turn, {RECENT - 1}
  %recent = getelementptr i8, ptr %cells, i64 {Cells.recent.offset}
  %recent.at = getelementptr i64, ptr %recent, i64 %place
  store i64 %number, ptr %recent.at
  br label %none

grid.wrong:
  %axis = phi i64 [ 0, %go ], [ 1, %grid.y ], [ 2, %grid.z ]
  br label %reporting
vendor.error:
  %code32 = phi i32 [ %found, %context.find ], [ %switched, %context.switch ], [ %outcome, %outcome.check ]
  %code = zext i32 %code32 to i64
  br label %reporting
reporting:
  %what = phi i32 [ {GRID_TOO_LARGE}, %grid.wrong ], [ {VENDOR_ERROR}, %vendor.error ]
  %value = phi i64 [ %axis, %grid.wrong ], [ %code, %vendor.error ]
{native.data_word("culprit", WORDS.index("number"), "i64")}
{_cell("report")}
  %format = alloca [4 x i8]
  store i32 {int.from_bytes(b"KiK" + bytes(1), "little")}, ptr %format
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %report, ptr %format,
                                                           i64 %culprit, i32 %what, i64 %value)
  br label %failed
"""
    return native.fastcall("run", (*types, *native.GRID), body)


# ---------------------------------------------------------------------------------------------- without CPython


class _Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


_pointer = ctypes.c_void_p
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, *[ctypes.c_uint] * 7, _pointer, _pointer, _pointer)
_LAUNCH_WITH_ATTRIBUTES = ctypes.CFUNCTYPE(ctypes.c_int, *[_pointer] * 4)
_TAKES = {
    "get_context": (_pointer,),
    "set_context": (_pointer,),
    "allocate": (_pointer, ctypes.c_size_t, _pointer),
    "free": (ctypes.c_uint64, _pointer),
}


def through_ctypes(kernel: CompiledKernel, **words: int) -> Callable[..., None]:
    """The same function without Python's C interface: slower, and right."""
    cells = Cells.from_address(words["cells"])
    call = {name: ctypes.CFUNCTYPE(ctypes.c_int, *takes)(getattr(cells, name)) for name, takes in _TAKES.items()}
    types, names = (*kernel.parameters, *native.GRID), (*kernel.names, "gx", "gy", "gz")
    formats = [native.argument_type(kind).format for kind in kernel.parameters]
    scratch = words["global_scratch"] + words["profile_scratch"]

    def attempt(code: int) -> None:
        if code:
            cells.report(words["number"], VENDOR_ERROR, code)

    def run(*args: Any) -> None:
        native.check_arguments(kernel.name, types, names, args)
        *values, x, y, z = args
        limits = (words["programs"], *GRID_LIMITS[1:])
        for axis, (size, limit) in enumerate(zip((x, y, z), limits, strict=True)):
            if size > limit:
                cells.report(words["number"], GRID_TOO_LARGE, axis)
        grid = (x * words["blocks"], y, z)
        if 0 in grid:
            return
        current = ctypes.c_uint64()
        attempt(call["get_context"](ctypes.byref(current)))
        ours = current.value == cells.context
        if not ours:
            attempt(call["set_context"](cells.context))
        try:
            launch(values, grid)
        finally:
            if not ours and current.value != cells.no_context:
                call["set_context"](current.value)
        ctypes.c_uint64.from_address(cells.launches).value += 1
        cells.recent[cells.turn % RECENT] = words["number"]
        cells.turn += 1

    def launch(values: Sequence[Any], grid: tuple[int, int, int]) -> None:
        stream = ctypes.c_uint64.from_address(cells.stream).value
        base, offset = ctypes.c_uint64(), 0
        if scratch:
            programs = prod(grid)
            offset = -(-words["global_scratch"] * programs // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
            nbytes = offset + words["profile_scratch"] * programs
            attempt(call["allocate"](ctypes.byref(base), nbytes, stream))
        packed = [struct.pack(f, v) for f, v in zip(formats, values, strict=True)]
        packed += [struct.pack("Q", base.value), struct.pack("Q", base.value + offset)]
        slots = [ctypes.create_string_buffer(raw, len(raw)) for raw in packed]
        pointers = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
        sizes = (words["threads"], 1, 1)
        if words["attribute_count"]:
            configuration = _Configuration(
                grid, sizes, words["shared"], stream, words["attributes"], words["attribute_count"]
            )
            special = _LAUNCH_WITH_ATTRIBUTES(words["launch"])
            code = special(ctypes.byref(configuration), words["function"], pointers, None)
        else:
            plain = _LAUNCH(words["launch"])
            code = plain(words["function"], *grid, *sizes, words["shared"], stream, pointers, None)
        if scratch:
            call["free"](base, stream)
        attempt(code)

    return run
