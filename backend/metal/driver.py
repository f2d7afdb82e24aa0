"""Apple's GPUs by Metal.

The processor and the GPU share one memory, so an address is where the processor sees a buffer, and a kernel's pointer
is that buffer with the distance from its beginning. All work is one sequence, see `queue`: the device has one stream.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
import weakref
from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Any

from .. import launcher, native
from ..contract import CompiledKernel, DeviceError, DriverUnavailable, Event, Properties, Target
from .api import MetalApi
from .queue import Commands, Queue

#: Bytes of a page of memory on Apple's processors; buffers are whole pages.
PAGE = 1 << 14
#: Threads of a simdgroup.
SIMD = 32

# Copies and fills run on the device, in the order of its work, a byte at a time: their ends lie anywhere.
_BYTES_A_THREAD = 16
_THREADS = 256
_BYTES = f"""\
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup({_THREADS})]] void NAME(
    device uchar* a0 [[buffer(0)]],
    PARAMETER [[buffer(1)]],
    constant ulong& a2 [[buffer(2)]],
    uint3 pid [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]],
    uint tid [[thread_index_in_threadgroup]])
{{
    ulong first = (ulong(pid.x) * {_THREADS} + tid) * {_BYTES_A_THREAD};
    for (ulong k = first; k < first + {_BYTES_A_THREAD} && k < a2; ++k)
        a0[k] = VALUE;
}}
"""
_COPY = _BYTES.replace("NAME", "copy_bytes").replace("PARAMETER", "device uchar* a1").replace("VALUE", "a1[k]")
_FILL = _BYTES.replace("NAME", "fill_bytes").replace("PARAMETER", "constant uchar& a1").replace("VALUE", "a1")


def open_driver() -> MetalDriver:
    """The driver, where the machine is Apple's and has a GPU."""
    return MetalDriver(MetalApi())


class Adopted:
    """A buffer that another library has made. It is known to the device as long as this object lives."""

    def __init__(self, buffer: Any, address: int, nbytes: int) -> None:
        self.buffer, self.address, self.nbytes = buffer, address, nbytes


class _Opened:
    """A device in use: its queue, its buffers by address, and the kernels of its own."""

    def __init__(self, api: Any, device: Any, name: str) -> None:
        self.device, self.name = device, name
        self.queue = Queue(api, device, name)
        self.buffers: dict[int, tuple[Any, int]] = {}  # address: buffer, bytes
        self.starts: list[int] = []  # the addresses, sorted
        # Adopted objects die at any point of any thread, so they are found without a lock.
        self.adopted: weakref.WeakValueDictionary[int, Adopted] = weakref.WeakValueDictionary()
        self.lock = threading.Lock()
        self.pipelines: dict[str, Any] = {}

    def find(self, address: int) -> tuple[Any, int] | None:
        """The buffer that an address lies in, and how far from its beginning."""
        place = bisect_right(self.starts, address) - 1
        if place >= 0:
            start = self.starts[place]
            buffer, nbytes = self.buffers.get(start, (None, 0))  # another thread may be freeing it
            if address < start + nbytes:
                return buffer, address - start
        for other in list(self.adopted.values()):
            if 0 <= address - other.address < other.nbytes:
                return other.buffer, address - other.address
        return None


class MetalDriver:
    backend = "metal"
    artifact_kind = "msl"

    def __init__(self, api: Any) -> None:
        self.api = api
        self._lock = threading.Lock()
        self._opened: dict[int, _Opened] = {}
        self._forked = False
        self._devices = [device for device in api.devices() if api.family(device) is not None]
        if not self._devices:
            raise DriverUnavailable("there is no GPU of Apple's own here (family Apple7, the M1, or newer)")
        os.register_at_fork(after_in_child=self._after_fork)

    # -------------------------------------------------------------------------------------------- devices

    def count(self) -> int:
        return len(self._devices)

    def target(self, index: int) -> Target:
        return Target(self.backend, f"apple{self.api.family(self._device(index))}", SIMD)

    def properties(self, index: int) -> Properties:
        """Metal does not say how many cores a GPU has: 0."""
        limits = self.api.limits(self._device(index))
        extra: dict[str, Any] = {
            "threads_per_block": limits.threads_per_threadgroup,
            "shared_per_block_optin": limits.threadgroup_memory,
            "largest_buffer": limits.buffer,
        }
        return Properties(self.api.name(self._device(index)), limits.working_set, 0, extra)

    def memory(self, index: int) -> tuple[int, int]:
        limits = self.api.limits(self._device(index))
        return max(limits.working_set - limits.allocated, 0), limits.working_set

    # -------------------------------------------------------------------------------------------- kernels

    def bind(self, kernel: CompiledKernel, index: int) -> tuple[Callable[..., None], Callable[..., None]]:
        """Load a kernel; ``run`` and ``spread`` put it into the device's queue."""
        opened = self._open(index)
        if kernel.kind != self.artifact_kind or kernel.target.backend != self.backend:
            raise ValueError(f"{opened.name} loads Metal's language, not kernel {kernel.name!r}, "
                             f"which is a {kernel.kind} for {kernel.target.backend}")  # fmt: skip
        what = f"{opened.name} cannot run kernel {kernel.name!r}: "
        limit = self.api.limits(opened.device).threadgroup_memory
        if kernel.shared > limit:
            raise DeviceError(f"{what}it needs {kernel.shared} bytes of threadgroup memory, there are {limit}")
        pipeline = self._pipeline(opened, kernel.artifact.decode(), kernel.symbol, what)
        threads = kernel.num_warps * SIMD
        most = self.api.most_threads(pipeline)
        if threads > most:
            raise DeviceError(f"{what}a threadgroup of it has at most {most} threads, not {threads}")
        types, names = (*kernel.parameters, *native.GRID), (*kernel.names, "gx", "gy", "gz")
        packs = [
            None if kind.startswith("*") else struct.Struct(native.argument_type(kind).format).pack
            for kind in kernel.parameters
        ]
        cell, dispatch = launcher.launch_cell(self.backend), opened.queue.dispatch

        def run(*args: Any) -> None:
            native.check_arguments(kernel.name, types, names, args)
            if self._forked:
                self._refuse_fork(opened.name)
            *values, gx, gy, gz = args
            if not (gx and gy and gz):
                return
            arguments = []
            for name, pack, value in zip(kernel.names, packs, values, strict=True):
                place = pack(value) if pack is not None else opened.find(value)
                if place is None:
                    raise ValueError(f"{kernel.name}: argument {name!r} is {value:#x}, no memory of {opened.name}")
                arguments.append(place)
            dispatch(kernel.name, pipeline, arguments, (gx, gy, gz), threads)
            cell.value += 1

        return run, lambda args, gx, gy=1, gz=1: run(*args, gx, gy, gz)

    def _pipeline(self, opened: _Opened, text: str, entry: str, what: str) -> Any:
        pipeline, problem = self.api.pipeline(opened.device, text, entry)
        if pipeline is None:
            raise DeviceError(f"{what}{problem}")
        return pipeline

    # -------------------------------------------------------------------------------------------- memory

    def allocate(self, nbytes: int, index: int) -> int:
        opened, size = self._open(index), -(-max(nbytes, 1) // PAGE) * PAGE
        limits = self.api.limits(opened.device)
        if size > limits.buffer or limits.allocated + size > limits.working_set:
            raise MemoryError(
                f"{opened.name} has no room for {nbytes} bytes: a buffer has at most {limits.buffer}, and "
                f"{limits.allocated} of {limits.working_set} are in use"
            )
        buffer = self.api.buffer(opened.device, size)
        if buffer is None:
            raise MemoryError(f"{opened.name} has no room for {nbytes} bytes")
        address = self.api.address(buffer, size)
        with opened.lock:
            opened.buffers[address] = buffer, size
            insort(opened.starts, address)
        return address

    def free(self, address: int, index: int) -> None:
        """Give a buffer up. Metal keeps it until the work that uses it is done."""
        if self._forked:
            return
        opened = self._open(index)
        with opened.lock:
            if address not in opened.buffers:
                raise ValueError(f"{opened.name}: {address:#x} is no memory that was allocated")
            opened.starts.remove(address)
            del opened.buffers[address]

    def handle(self, address: int, index: int) -> tuple[int, int]:
        """What DLPack names memory by: the pointer of Metal's object for a buffer, and the distance from its start."""
        buffer, offset = self._place(self._open(index), address)
        return self.api.pointer(buffer), offset

    def adopt(self, pointer: int, index: int) -> Adopted:
        """Use a buffer that another library has made; BufferError for memory that the processor cannot see."""
        opened = self._open(index)
        found = self.api.shared_buffer(pointer)
        if found is None:
            raise BufferError(f"{opened.name} shares no memory with the processor in the buffer at {pointer:#x}")
        buffer, nbytes = found
        address = self.api.address(buffer, nbytes)
        adopted = Adopted(buffer, address, nbytes)
        with opened.lock:
            return adopted if address in opened.buffers else opened.adopted.setdefault(address, adopted)

    allocate_pinned = allocate
    free_pinned = free

    def copy_from_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        opened = self._open(index)
        if not wait and opened.find(source) is not None:
            self.copy(destination, source, nbytes, index)
        elif opened.queue.idle():
            self._place(opened, destination)
            ctypes.memmove(destination, source, nbytes)
        else:  # what is under way may still use the memory: its new contents wait in a buffer of their own
            staging = self.allocate(nbytes, index)
            ctypes.memmove(staging, source, nbytes)
            self.copy(destination, staging, nbytes, index)
            self.free(staging, index)

    def copy_to_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        opened = self._open(index)
        if not wait and opened.find(destination) is not None:
            self.copy(destination, source, nbytes, index)
        else:
            self._place(opened, source)
            opened.queue.wait()
            ctypes.memmove(destination, source, nbytes)

    def copy(self, destination: int, source: int, nbytes: int, index: int, stream: int = 0) -> None:
        opened = self._open(index)
        places = self._place(opened, destination), self._place(opened, source)
        self._bytes(opened, "copy_bytes", _COPY, places, nbytes)

    def fill(self, address: int, byte: int, nbytes: int, index: int, stream: int = 0) -> None:
        opened = self._open(index)
        self._bytes(opened, "fill_bytes", _FILL, (self._place(opened, address), bytes([byte])), nbytes)

    def _place(self, opened: _Opened, address: int) -> tuple[Any, int]:
        place = opened.find(address)
        if place is None:
            raise ValueError(f"{opened.name}: {address:#x} is no memory of the device")
        return place

    def _bytes(self, opened: _Opened, name: str, text: str, arguments: tuple[Any, ...], nbytes: int) -> None:
        if not nbytes:
            return
        pipeline = opened.pipelines.get(name)
        if pipeline is None:
            made = self._pipeline(opened, text, name, f"{opened.name} cannot run {name}: ")
            pipeline = opened.pipelines.setdefault(name, made)
        groups = -(-nbytes // (_THREADS * _BYTES_A_THREAD))
        packed = (*arguments, struct.pack("Q", nbytes))
        opened.queue.dispatch(name, pipeline, packed, (groups, 1, 1), _THREADS)

    # -------------------------------------------------------------------------------------------- order

    def create_stream(self, index: int) -> int:
        """The device's one stream."""
        return 0

    def destroy_stream(self, stream: int, index: int) -> None:
        pass

    def create_event(self, index: int, timing: bool = False) -> MetalEvent:
        return MetalEvent(self._open(index).queue, self.api, timing)

    def wait_event(self, stream: int, event: Event, index: int) -> None:
        """Nothing: all work of the device is one sequence."""

    def synchronize(self, index: int, stream: int | None = None) -> None:
        self._open(index).queue.wait()

    # -------------------------------------------------------------------------------------------- inside

    def _device(self, index: int) -> Any:
        self._refuse_fork(f"metal:{index}")
        if not 0 <= index < len(self._devices):
            raise ValueError(f"there is no device metal:{index}; the last one is metal:{len(self._devices) - 1}")
        return self._devices[index]

    def _open(self, index: int) -> _Opened:
        """The device, opened at its first use."""
        opened = self._opened.get(index)
        if opened is None or self._forked:
            device = self._device(index)
            with self._lock:
                opened = self._opened.get(index)
                if opened is None:
                    opened = self._opened[index] = _Opened(self.api, device, f"metal:{index}")
        return opened

    def _after_fork(self) -> None:
        self._forked = True
        self._lock = threading.Lock()

    def _refuse_fork(self, name: str) -> None:
        if self._forked:
            raise DeviceError(
                f"{name} was in use before this process was forked, and Metal does not work in the child; start "
                "processes with multiprocessing's 'spawn' method, or use the device 'cpu' here"
            )


class MetalEvent:
    """A point in the device's work: the end of the command buffer that it falls into.

    As a clock it ends that command buffer, whose end the device notes."""

    def __init__(self, queue: Queue, api: Any, timing: bool) -> None:
        self._queue, self._api, self.timing = queue, api, timing
        self._commands: Commands | None = None

    def record(self, stream: int = 0) -> None:
        if self.timing:
            self._commands = self._queue.current()
            self._queue.flush()
        else:
            self._commands = self._queue.newest()

    def done(self) -> bool:
        return self._commands is None or self._queue.done(self._commands)

    def synchronize(self) -> None:
        if self._commands is not None:
            self._queue.wait(self._commands)

    def milliseconds_since(self, start: Event) -> float:
        if not isinstance(start, MetalEvent):
            raise TypeError(f"{start!r} is not an event of Metal")
        if not (self.timing and start.timing):
            raise ValueError("an event made without timing cannot be read as a clock")
        if self._commands is None or start._commands is None:
            raise ValueError("an event that was not recorded cannot be read as a clock")
        ends = []
        for commands in (start._commands, self._commands):
            self._queue.wait(commands)
            ends.append(self._api.finished_at(commands.buffer))
        return (ends[1] - ends[0]) * 1e3
