"""The CPU as a device: host memory, kernels as functions over a range of program numbers, threads."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from .. import native
from ..contract import CompiledKernel, Event, Properties, Target
from ..launcher import launch_cell
from .codegen import LIBRARY_FUNCTIONS, SOFTWARE_INSTRUCTIONS
from .threads import pool

ALIGNMENT = 64
# Fresh memory costs a page fault a page: 20 ms for 40 MB in pages of 4 KiB, 5 ms in huge ones.
HUGE_PAGE = 2 << 20
HUGE_FROM = 4 << 20
ADVICE_HUGE = 14  # MADV_HUGEPAGE of Linux


def open_driver() -> CpuDriver:
    return CpuDriver()


class CpuEvent:
    """A moment. Work on the CPU is done when its call returns, so an event is always over."""

    __slots__ = ("_time", "timing")

    def __init__(self, timing: bool) -> None:
        self.timing = timing
        self._time: float | None = None

    def record(self, stream: int = 0) -> None:
        self._time = time.perf_counter()

    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def milliseconds_since(self, start: Event) -> float:
        if not self.timing or not start.timing:
            raise ValueError("an event made without timing cannot be read as a clock")
        if not isinstance(start, CpuEvent):
            raise TypeError(f"the start must be an event of the CPU, not {type(start).__name__}")
        if self._time is None or start._time is None:
            raise ValueError("an event that was not recorded cannot be read as a clock")
        return (self._time - start._time) * 1e3


class CpuDriver:
    """Host memory behind the interface of a device. The index is always 0, and there is one stream, 0."""

    backend = "cpu"
    artifact_kind = "object"

    def count(self) -> int:
        return 1

    def target(self, index: int) -> Target:
        return Target("cpu", "host", 1)

    def properties(self, index: int) -> Properties:
        cores = os.cpu_count() or 1
        extra = {"caches": _cache_sizes(), "threads": pool.size}
        return Properties(_processor_name(), self.memory(index)[1], cores, extra)

    def bind(self, kernel: CompiledKernel, index: int) -> tuple[Callable[..., None], Callable[..., None]]:
        if kernel.kind != self.artifact_kind:
            raise ValueError(f"the CPU cannot load {kernel.name!r}, compiled to {kernel.kind} for {kernel.target}")
        return bind(kernel)

    # -- memory

    def allocate(self, nbytes: int, index: int = 0) -> int:
        address = _aligned_alloc(max(nbytes, 1))
        if not address:
            raise MemoryError(f"the CPU has no room for {nbytes} bytes")
        return address

    def free(self, address: int, index: int = 0) -> None:
        _aligned_free(address)

    allocate_pinned = allocate
    free_pinned = free

    def memory(self, index: int = 0) -> tuple[int, int]:
        return _memory()

    def copy_from_host(
        self, destination: int, source: int, nbytes: int, index: int = 0, stream: int = 0, wait: bool = True
    ) -> None:
        ctypes.memmove(destination, source, nbytes)

    copy_to_host = copy_from_host

    def copy(self, destination: int, source: int, nbytes: int, index: int = 0, stream: int = 0) -> None:
        ctypes.memmove(destination, source, nbytes)

    def fill(self, address: int, byte: int, nbytes: int, index: int = 0, stream: int = 0) -> None:
        ctypes.memset(address, byte, nbytes)

    # -- streams and events

    def create_stream(self, index: int = 0) -> int:
        return 0

    def destroy_stream(self, stream: int, index: int = 0) -> None:
        pass

    def wait_event(self, stream: int, event: Event, index: int = 0) -> None:
        pass

    def create_event(self, index: int = 0, timing: bool = False) -> Event:
        return CpuEvent(timing)

    def synchronize(self, index: int = 0, stream: int | None = None) -> None:
        pass


# ---------------------------------------------------------------------------------------------- launching

#: Functions of the C library that kernels call beside those of mathematics: for large temporaries.
MEMORY_FUNCTIONS = ("malloc", "free", "memcpy", "memset", "memmove")


@functools.cache
def _symbols() -> dict[str, int]:
    maths = memory = _c_library()
    if sys.platform.startswith("linux") and not hasattr(maths, "expf"):
        maths = ctypes.CDLL("libm.so.6")
    symbols = {name: native.function_address(getattr(memory, name)) for name in MEMORY_FUNCTIONS}
    for name in (*LIBRARY_FUNCTIONS, *SOFTWARE_INSTRUCTIONS):
        for variant in (name, name + "f"):
            if hasattr(maths, variant):  # roundeven is younger than others
                symbols[variant] = native.function_address(getattr(maths, variant))
    return symbols


def bind(kernel: CompiledKernel) -> tuple[Callable[..., None], Callable[..., None]]:
    """``run`` and ``spread`` of a kernel."""
    name = kernel.name
    address = native.link(kernel.artifact, [kernel.symbol], _symbols())[kernel.symbol]
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
    return native.load(ir, ["run", "run_range"])


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


# ---------------------------------------------------------------------------------------------- the host


@functools.cache
def _c_library() -> Any:
    return ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)


if sys.platform == "win32":

    def _aligned_alloc(nbytes: int) -> int | None:
        function = _c_library()._aligned_malloc
        function.restype, function.argtypes = ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_size_t)
        return function(nbytes, ALIGNMENT)

    def _aligned_free(address: int) -> None:
        function = _c_library()._aligned_free
        function.restype, function.argtypes = None, (ctypes.c_void_p,)
        function(address)

else:

    def _aligned_alloc(nbytes: int) -> int | None:
        place = ctypes.c_void_p()
        huge = nbytes >= HUGE_FROM and sys.platform == "linux"
        if _posix_memalign()(ctypes.byref(place), HUGE_PAGE if huge else ALIGNMENT, nbytes):
            return None
        if huge:
            _madvise()(place, nbytes, ADVICE_HUGE)  # without effect where the system has no huge pages
        return place.value

    def _aligned_free(address: int) -> None:
        _free()(address)

    @functools.cache
    def _posix_memalign() -> Any:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        return prototype(("posix_memalign", _c_library()))

    @functools.cache
    def _madvise() -> Any:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        return prototype(("madvise", _c_library()))

    @functools.cache
    def _free() -> Any:
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", _c_library()))


def _memory() -> tuple[int, int]:
    """Bytes free and in total; a limit set on a container counts where it is the smaller."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        total = int(lines["MemTotal"].split()[0]) * 1024
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            total = free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return 0, 0
    try:
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            bound = int(limit.read())
            total, free = min(total, bound), min(free, max(bound - int(used.read()), 0))
    except (OSError, ValueError):
        pass
    return free, total


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cache_sizes() -> dict[str, int]:
    """Bytes of each cache of the first processor, by level and kind; empty where the system does not say."""
    sizes: dict[str, int] = {}
    base = "/sys/devices/system/cpu/cpu0/cache"
    try:
        for entry in sorted(os.listdir(base)):
            if not entry.startswith("index"):
                continue
            level, kind, size = (_first_line(f"{base}/{entry}/{name}") for name in ("level", "type", "size"))
            unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1:], 1)
            sizes[f"L{level} {kind.lower()}"] = int(size.rstrip("KMG")) * unit
    except (OSError, ValueError):
        pass
    return sizes


def _first_line(path: str) -> str:
    with open(path) as file:
        return file.readline().strip()
