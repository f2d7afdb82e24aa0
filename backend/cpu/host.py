"""What the driver asks of this machine: the C library, aligned memory, how much there is, processor and caches."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Any

ALIGNMENT = 64
# Fresh memory costs a page fault a page: 20 ms for 40 MB in pages of 4 KiB, 5 ms in huge ones.
HUGE_PAGE = 2 << 20
HUGE_FROM = 4 << 20
ADVICE_HUGE = 14  # MADV_HUGEPAGE of Linux


@functools.cache
def c_library() -> Any:
    return ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)


if sys.platform == "win32":

    def aligned_alloc(nbytes: int) -> int | None:
        function = c_library()._aligned_malloc
        function.restype, function.argtypes = ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_size_t)
        return function(nbytes, ALIGNMENT)

    def aligned_free(address: int) -> None:
        function = c_library().aligned_free
        function.restype, function.argtypes = None, (ctypes.c_void_p,)
        function(address)

else:

    def aligned_alloc(nbytes: int) -> int | None:
        place = ctypes.c_void_p()
        huge = nbytes >= HUGE_FROM and sys.platform == "linux"
        if _posix_memalign()(ctypes.byref(place), HUGE_PAGE if huge else ALIGNMENT, nbytes):
            return None
        if huge:
            _madvise()(place, nbytes, ADVICE_HUGE)  # without effect where the system has no huge pages
        return place.value

    def aligned_free(address: int) -> None:
        _free()(address)

    @functools.cache
    def _posix_memalign() -> Any:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        return prototype(("posix_memalign", c_library()))

    @functools.cache
    def _madvise() -> Any:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        return prototype(("madvise", c_library()))

    @functools.cache
    def _free() -> Any:
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", c_library()))


def memory() -> tuple[int, int]:
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


def processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cache_sizes() -> dict[str, int]:
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
