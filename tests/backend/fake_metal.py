"""A Mac's GPU without one: the methods of `MetalApi` over host memory, for tests.

Kernels run: their text in Metal's language is built by a C++ compiler with the header in `msl` and runs on this
processor. The device is as unhelpful as Metal may be. A command buffer runs as late as possible, when something waits
for it or for a later one of its queue; memory is whatever it was; what Metal's validation layer refuses is an
AssertionError here. What was dispatched is recorded.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msl import shim
from nbx_array.backend import contract, launcher
from nbx_array.backend.metal import MetalDriver, api

THREADS = re.compile(r"max_total_threads_per_threadgroup\((\d+)\)")
LONGEST_BYTES = 4096  # of a scalar set by setBytes
MOST_BUFFERS = 31


@dataclass(eq=False)
class Device:
    name: str
    family: int | None
    limits: api.Limits
    allocated: int = 0


class Buffer:
    """Memory on a page of its own, with a margin that nothing may write to."""

    MARGIN = 256
    shared = True

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device, self.nbytes = device, nbytes
        self._memory = ctypes.create_string_buffer(nbytes + (1 << 14) + self.MARGIN)
        self.address = -(-ctypes.addressof(self._memory) // (1 << 14)) * (1 << 14)
        ctypes.memset(self.address, 0xA5, nbytes + self.MARGIN)
        device.allocated += nbytes

    def check(self) -> None:
        assert ctypes.string_at(self.address + self.nbytes, self.MARGIN) == b"\xa5" * self.MARGIN, "written beyond"

    def __del__(self) -> None:
        self.device.allocated -= self.nbytes
        ctypes.memset(self.address, 0x5A, self.nbytes)


@dataclass
class Pipeline:
    device: Device
    entry: str
    threads: int
    text: str
    kinds: list[str]
    _kernel: Any = None

    def kernel(self) -> Any:
        if self._kernel is None:
            self._kernel = shim.build(SimpleNamespace(text=self.text, entry=self.entry, threads=self.threads))
        return self._kernel


@dataclass
class Dispatch:
    pipeline: Pipeline
    arguments: list[bytes | tuple[Buffer, int]]
    grid: tuple[int, int, int]


@dataclass(eq=False)
class Commands:
    queue: Queue
    work: list[Dispatch] = field(default_factory=list)
    encoding: bool = False
    committed: bool = False
    problem: str = ""
    done: bool = False
    finished: float = 0.0


@dataclass(eq=False)
class Queue:
    device: Device
    committed: list[Commands] = field(default_factory=list)


class FakeMetal:
    """Stands in for `MetalApi`."""

    def __init__(self, devices: int = 1, memory: int = 1 << 30, family: int | None = 7, threads: int = 1024) -> None:
        limits = api.Limits(threads, 32768, memory // 2, memory, 0)
        self._devices = [Device(f"Imaginary M{k + 1}", family, limits) for k in range(devices)]
        self._clock = itertools.count(1)
        self.dispatched: list[Dispatch] = []
        self.fail = ""  # what goes wrong in the next command buffer that runs
        self.watch: Callable[[str], None] = lambda what: None  # told of hand-overs and waits
        self._pointers: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()

    # -- devices

    def devices(self) -> list[Device]:
        return self._devices

    def name(self, device: Device) -> str:
        return device.name

    def family(self, device: Device) -> int | None:
        return device.family

    def limits(self, device: Device) -> api.Limits:
        return device.limits._replace(allocated=device.allocated)

    # -- kernels

    def pipeline(self, device: Device, text: str, entry: str) -> tuple[Pipeline | None, str]:
        head = text.partition(f"void {entry}(")[2].partition("{")[0]
        if not head:
            return None, f"the text has no kernel {entry!r}"
        kinds = re.findall(r"(device|constant)\b[^\n]*\[\[buffer\(\d+\)\]\]", head)
        return Pipeline(device, entry, int(THREADS.search(text)[1]), text, kinds), ""

    def most_threads(self, pipeline: Pipeline) -> int:
        return min(pipeline.threads, pipeline.device.limits.threads_per_threadgroup)

    # -- memory

    def buffer(self, device: Device, nbytes: int) -> Buffer:
        assert 0 < nbytes <= device.limits.buffer and nbytes % (1 << 14) == 0
        return Buffer(device, nbytes)

    def address(self, buffer: Buffer, nbytes: int) -> int:
        assert nbytes == buffer.nbytes
        return buffer.address

    def pointer(self, buffer: Buffer) -> int:
        self._pointers[id(buffer)] = buffer
        return id(buffer)

    def shared_buffer(self, pointer: int) -> tuple[Buffer, int] | None:
        buffer = self._pointers[pointer]
        return (buffer, buffer.nbytes) if buffer.shared else None

    # -- work

    def queue(self, device: Device) -> Queue:
        return Queue(device)

    def command_buffer(self, queue: Queue) -> Commands:
        assert len([c for c in queue.committed if not c.done]) < 64, "the queue is full and would wait for ever"
        return Commands(queue)

    def encoder(self, commands: Commands) -> Commands:
        assert not commands.encoding and not commands.committed
        commands.encoding = True
        return commands

    def dispatch(self, encoder: Commands, pipeline: Pipeline, arguments: Any, grid: Any, threads: int) -> None:
        assert encoder.encoding and not encoder.committed
        assert pipeline.device is encoder.queue.device
        assert threads == pipeline.threads and all(0 < size < 2**31 for size in grid)
        assert len(arguments) == len(pipeline.kinds) <= MOST_BUFFERS
        for kind, argument in zip(pipeline.kinds, arguments, strict=True):
            if kind == "constant":
                assert isinstance(argument, bytes) and 0 < len(argument) <= LONGEST_BYTES
            else:
                buffer, offset = argument
                assert buffer.device is encoder.queue.device and 0 <= offset < buffer.nbytes
        work = Dispatch(pipeline, list(arguments), tuple(grid))
        encoder.work.append(work)
        self.dispatched.append(work)

    def commit(self, commands: Commands, encoder: Commands | None) -> None:
        assert not commands.committed and (encoder is commands) == commands.encoding
        commands.committed = True
        commands.queue.committed.append(commands)
        self.watch("commit")

    def wait(self, commands: Commands) -> None:
        assert commands.committed, "waiting for what was not handed over takes for ever"
        self.watch("wait")
        for earlier in commands.queue.committed:
            if not earlier.done:
                self._run(earlier)
            if earlier is commands:
                break
        del commands.queue.committed[: commands.queue.committed.index(commands) + 1 if commands.queue.committed else 0]

    def done(self, commands: Commands) -> bool:
        return commands.done

    def problem(self, commands: Commands) -> str:
        assert commands.done
        return commands.problem

    def finished_at(self, commands: Commands) -> float:
        assert commands.done
        return commands.finished

    def _run(self, commands: Commands) -> None:
        commands.done, commands.finished = True, next(self._clock) * 1e-3
        commands.problem, self.fail = self.fail, ""
        for work in commands.work if not commands.problem else ():
            scalars = [ctypes.create_string_buffer(a, len(a)) for a in work.arguments if isinstance(a, bytes)]
            remaining = iter(scalars)
            addresses = [
                ctypes.addressof(next(remaining)) if isinstance(a, bytes) else a[0].address + a[1]
                for a in work.arguments
            ]
            work.pipeline.kernel().run(addresses, work.grid)
            for argument in work.arguments:
                if not isinstance(argument, bytes):
                    argument[0].check()
        commands.work.clear()  # and let go of the buffers


@functools.cache
def _shared() -> MetalDriver:
    """The driver of all modules that compute on the device: the pool keeps its memory, and outlives a module."""
    return MetalDriver(FakeMetal())


def install(monkeypatch: Any, fake: FakeMetal | None = None) -> MetalDriver:
    """Make a fake this process's Metal: the given one, or one that all who give none share."""
    driver = _shared() if fake is None else MetalDriver(fake)
    monkeypatch.setattr(launcher, "_launchers", {})
    monkeypatch.setitem(contract._drivers, "metal", driver)
    return driver


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """``pytest -p fake_metal``, with this folder on the path, runs anybody's suite on the device."""
    import nbx_array

    install(pytest.MonkeyPatch(), FakeMetal(memory=1 << 32))
    nbx_array.set_device("metal:0")
