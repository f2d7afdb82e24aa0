"""The CPU as a device: host memory, kernels as functions over a range of program numbers, threads."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

from ..contract import CompiledKernel, Event, Properties, Target
from . import host
from .launching import bind
from .threads import pool


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
        extra = {"caches": host.cache_sizes(), "threads": pool.size}
        return Properties(host.processor_name(), self.memory(index)[1], cores, extra)

    def bind(self, kernel: CompiledKernel, index: int) -> tuple[Callable[..., None], Callable[..., None]]:
        if kernel.kind != self.artifact_kind:
            raise ValueError(f"the CPU cannot load {kernel.name!r}, compiled to {kernel.kind} for {kernel.target}")
        return bind(kernel)

    # -- memory

    def allocate(self, nbytes: int, index: int = 0) -> int:
        address = host.aligned_alloc(max(nbytes, 1))
        if not address:
            raise MemoryError(f"the CPU has no room for {nbytes} bytes")
        return address

    def free(self, address: int, index: int = 0) -> None:
        host.aligned_free(address)

    allocate_pinned = allocate
    free_pinned = free

    def memory(self, index: int = 0) -> tuple[int, int]:
        return host.memory()

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
