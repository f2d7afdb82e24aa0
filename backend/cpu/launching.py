"""Launching on the CPU: a kernel's object file made into ``run`` and ``spread``."""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable
from typing import Any

from .. import native
from ..contract import CompiledKernel
from ..launcher import launch_cell
from .codegen import LIBRARY_FUNCTIONS, SOFTWARE_INSTRUCTIONS
from .host import c_library
from .threads import pool

#: Functions of the C library that kernels call beside those of mathematics: for large temporaries.
MEMORY_FUNCTIONS = ("malloc", "free", "memcpy", "memset", "memmove")


@functools.cache
def symbols() -> dict[str, int]:
    """Addresses of what kernels may call."""
    maths = memory = c_library()
    if sys.platform.startswith("linux") and not hasattr(maths, "expf"):
        maths = ctypes.CDLL("libm.so.6")
    found = {name: native.function_address(getattr(memory, name)) for name in MEMORY_FUNCTIONS}
    for name in (*LIBRARY_FUNCTIONS, *SOFTWARE_INSTRUCTIONS):
        for variant in (name, name + "f"):
            if hasattr(maths, variant):  # roundeven is younger than others
                found[variant] = native.function_address(getattr(maths, variant))
    return found


def bind(kernel: CompiledKernel) -> tuple[Callable[..., None], Callable[..., None]]:
    """``run`` and ``spread`` of a kernel."""
    name = kernel.name
    address = native.link(kernel.artifact, [kernel.symbol], symbols())[kernel.symbol]
    grid_names = ("gx", "gy", "gz")
    if native.HAVE_C_API:
        code = _wrapper(tuple("*" if p.startswith("*") else p for p in kernel.parameters))
        words = (address, launch_cell("cpu").address)
        types, names = kernel.parameters + native.GRID, kernel.names + grid_names
        run = native.bind(code["run"], words, name, native.complainer(name, types, names))
        range_complainer = native.complainer(name, (*types, "i64", "i64"), (*names, "lo", "hi"))
        run_range = native.bind(code["run_range"], words, name, range_complainer)
    else:
        run, run_range = through_ctypes(kernel, address)

    def spread(args: tuple[Any, ...], gx: int, gy: int = 1, gz: int = 1) -> None:
        total = gx * gy * gz
        if total <= 1 or pool.size == 1:
            run(*args, gx, gy, gz)
        else:
            pool.run(run_range, (*args, gx, gy, gz), total)

    return run, spread


@functools.cache
def _wrapper(types: tuple[str, ...]) -> dict[str, int]:
    """The native launcher of an argument list: ``run`` for a whole grid, ``run_range`` for a part of one."""
    n = len(types)
    call = f"call i32 %kernel(ptr %buffer, i64 %lo, i64 %hi, i32 %arg{n}, i32 %arg{n + 1}, i32 %arg{n + 2})"
    launch = (
        native.data_word("kernel", 0)
        + f"""
  %programs = sub i64 %hi, %lo
  %many = icmp ugt i64 %programs, 1
  br i1 %many, label %many_programs, label %one_program
one_program:  ; short: giving the interpreter lock away and taking it back would cost more
  %status1 = {call}
  br label %launched
many_programs:
  %thread = call ptr @PyEval_SaveThread()
  %status2 = {call}
  call void @PyEval_RestoreThread(ptr %thread)
  br label %launched
launched:
  %status = phi i32 [ %status1, %one_program ], [ %status2, %many_programs ]
  %well = icmp eq i32 %status, 0
  br i1 %well, label %none, label %no_memory
no_memory:
  %null = call ptr @PyErr_NoMemory()
  br label %failed
"""
    )
    count = native.data_word("counter", 1) + "  %counted_before = atomicrmw add ptr %counter, i64 1 monotonic\n"
    whole_grid = (
        f"""
  %gx = zext i32 %arg{n} to i64
  %gy = zext i32 %arg{n + 1} to i64
  %gz = zext i32 %arg{n + 2} to i64
  %gxy = mul i64 %gx, %gy  ; both below 2^31
  %product = call {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64 %gxy, i64 %gz)
  %hi = extractvalue {{ i64, i1 }} %product, 0
  %too_many = extractvalue {{ i64, i1 }} %product, 1
  br i1 %too_many, label %complain, label %fits
fits:
  %lo = add i64 0, 0
  %empty = icmp eq i64 %hi, 0
  br i1 %empty, label %none, label %count
count:
"""
        + count
        + launch
    )
    part = (
        f"""
  %lo = add i64 %arg{n + 3}, 0
  %hi = add i64 %arg{n + 4}, 0
  %first = icmp eq i64 %lo, 0
  br i1 %first, label %count, label %launch
count:
"""
        + count
        + "  br label %launch\nlaunch:\n"
        + launch
    )
    ir = "declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)\n"
    ir += native.fastcall("run", types + native.GRID, whole_grid)
    ir += native.fastcall("run_range", (*types, *native.GRID, "i64", "i64"), part)
    # Level 0 takes 5 ms instead of 22, and a launch 5 ns an argument more. Lists of few arguments, those of contiguous
    # arrays, are launched the most and few in number.
    return native.load(ir, ["run", "run_range"], level=2 if n <= 6 else 0)


def through_ctypes(kernel: CompiledKernel, address: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """The same two functions without Python's C interface: ten times slower, and right."""
    types = kernel.parameters + native.GRID
    names = (*kernel.names, "gx", "gy", "gz")
    n = len(kernel.parameters)
    pack = struct.Struct("@" + "".join(native.argument_type(t).format for t in kernel.parameters)).pack
    integers = ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, *integers)(address)
    counter = launch_cell("cpu")

    def run_range(*args: Any) -> None:
        *args, lo, hi = args  # type: ignore[assignment]
        native.check_arguments(kernel.name, types, names, args)
        if lo == 0:
            counter.value += 1
        if function(pack(*args[:n]), lo, hi, *args[n:]):
            raise MemoryError

    def run(*args: Any) -> None:
        native.check_arguments(kernel.name, types, names, args)
        gx, gy, gz = args[n:]
        if gx * gy * gz >= 2**63:
            raise ValueError(f"{kernel.name}: the grid {(gx, gy, gz)} is too large")
        if gx and gy and gz:
            run_range(*args, 0, gx * gy * gz)

    return run, run_range
