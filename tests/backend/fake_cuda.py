"""A libcuda without a GPU: the functions that the driver binds, over host memory, for tests.

It is as unhelpful as CUDA may be. Work put into a stream runs as late as possible, when something waits for it, and the
streams run in the order in which they are waited for; so a missing event, or a copy that does not wait, gives wrong
bytes. An unknown handle, a dead one or one of another device's context is an error. What was launched is recorded byte
by byte. `install` makes kernels run: each is compiled for the CPU too.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nbx_array.backend import compiler, contract, gpu_api, launcher
from nbx_array.backend.contract import get_driver
from nbx_array.backend.cuda import CudaDriver, api
from nbx_array.backend.cuda.api import CudaApi

NAMES = {
    0: ("CUDA_SUCCESS", "no error"),
    1: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    2: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    3: ("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    100: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    101: ("CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    200: ("CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    201: ("CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    400: ("CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    500: ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    600: ("CUDA_ERROR_NOT_READY", "device not ready"),
    700: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
}

ATTRIBUTES = {
    "threads_per_block": 1024,
    "shared_per_block": 49152,
    "warp_size": 32,
    "registers_per_block": 65536,
    "clock_khz": 1980000,
    "multiprocessors": 132,
    "memory_clock_khz": 3201000,
    "memory_bus_bits": 6144,
    "l2_bytes": 60 << 20,
    "threads_per_multiprocessor": 2048,
    "capability_major": 9,
    "capability_minor": 0,
    "shared_per_multiprocessor": 233472,
    "registers_per_multiprocessor": 65536,
    "fp32_to_fp64_ratio": 2,
    "cooperative_launch": 1,
    "shared_per_block_optin": 232448,
    "memory_pools": 1,
    "cluster_launch": 1,
}


def plain(symbol: str) -> str:
    """A function's name in cuda.h, without the version that its symbol has."""
    return symbol.removesuffix("_v2")


@dataclass
class Launch:
    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    arguments: list[bytes]  # eight bytes from where each argument lies
    attributes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    context: int = 0


@dataclass
class Artifact:
    """What the fake knows of a kernel's bytes."""

    symbol: str
    parameters: int  # how many the kernel takes, the two scratch pointers not counted
    run: Callable[[Launch], None] | None = None


@dataclass
class _Stream:
    context: int
    work: list[Callable[[], None]] = field(default_factory=list)
    started: int = 0

    def run_until(self, position: int) -> None:
        while self.started < position:
            self.started += 1
            self.work[self.started - 1]()


@dataclass
class _Event:
    flags: int
    stream: _Stream | None = None
    position: int = 0


class FakeCuda:
    """An object with libcuda's functions as attributes, for `CudaApi(library)`."""

    def __init__(self, devices: int = 1, memory: int = 1 << 28, **attributes: int):
        self.attributes = [dict(ATTRIBUTES, **attributes) for _ in range(devices)]
        self.numbers = {number: name for name, number in api.DEVICE_ATTRIBUTES.items()}
        self.total = memory
        self.artifacts: dict[bytes, Artifact] = {}
        self.launches: list[Launch] = []
        self.calls: list[str] = []
        self.fail: dict[str, int] = {}  # result codes of the next call of a function
        self.fault = 0  # a sticky error
        self.function_attributes: dict[tuple[int, int], int] = {}  # of handles: kernels share symbols
        self.memory: dict[int, tuple[Any, int, int]] = {}  # address: buffer, bytes, device
        self.pinned: dict[int, Any] = {}
        self.pid: int | None = None
        self._lock = threading.RLock()
        self._thread = threading.local()
        self._handles = itertools.count(0x5000, 16)
        self._objects: dict[int, Any] = {}
        self._contexts: dict[int, int] = {}
        self._default: dict[int, _Stream] = {}
        self._functions: dict[str, Any] = {}
        for symbol, arguments in api.FUNCTIONS.values():
            name = plain(symbol)
            prototype = ctypes.CFUNCTYPE(
                ctypes.c_int, *[ctypes.c_void_p if a is ctypes.c_char_p else a for a in arguments]
            )
            self._functions[symbol] = prototype(self._wrap(name, getattr(self, f"_{name}")))

    def __getattr__(self, symbol: str) -> Any:
        try:
            return self.__dict__["_functions"][symbol]
        except KeyError:
            raise AttributeError(symbol) from None

    def _wrap(self, name: str, function: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            if name.startswith("cuGetError"):
                return function(*arguments) or 0
            with self._lock:
                self.calls.append(name)
                if self.pid is not None and self.pid != os.getpid():
                    return 3
                if name in self.fail:
                    return self.fail.pop(name)
                if self.fault and name not in ("cuCtxGetCurrent", "cuCtxSetCurrent"):
                    return self.fault
                try:
                    return function(*arguments) or self.fault
                except _Code as code:
                    return code.args[0]

        return call

    # -- errors, devices, contexts

    def _text(self, code: int, out: int, which: int) -> int:
        if code not in NAMES:
            return 1
        text = NAMES[code][which].encode()
        _put(out, ctypes.c_char_p, text)
        return 0

    def _cuGetErrorName(self, code: int, out: int) -> int:
        return self._text(code, out, 0)

    def _cuGetErrorString(self, code: int, out: int) -> int:
        return self._text(code, out, 1)

    def _cuInit(self, flags: int) -> None:
        self.pid = os.getpid()

    def _cuDriverGetVersion(self, out: int) -> None:
        _put(out, ctypes.c_int, 13000)

    def _cuDeviceGetCount(self, out: int) -> None:
        _put(out, ctypes.c_int, len(self.attributes))

    def _cuDeviceGet(self, out: int, index: int) -> None:
        _require(0 <= index < len(self.attributes), 101)
        _put(out, ctypes.c_int, index)

    def _cuDeviceGetName(self, out: int, size: int, device: int) -> None:
        ctypes.memmove(out, b"Imaginary GPU\0", 14)

    def _cuDeviceGetAttribute(self, out: int, number: int, device: int) -> None:
        _put(out, ctypes.c_int, self.attributes[device][self.numbers[number]])

    def _cuDeviceTotalMem(self, out: int, device: int) -> None:
        _put(out, ctypes.c_size_t, self.total)

    def _cuDevicePrimaryCtxRetain(self, out: int, device: int) -> None:
        if device not in self._contexts:
            self._contexts[device] = handle = next(self._handles)
            self._objects[handle] = ("context", device)
            self._default[handle] = _Stream(handle)
        _put(out, ctypes.c_void_p, self._contexts[device])

    def _cuCtxGetCurrent(self, out: int) -> None:
        _put(out, ctypes.c_void_p, getattr(self._thread, "context", None))

    def _cuCtxSetCurrent(self, context: int | None) -> None:
        _require(context is None or context in self._contexts.values(), 201)
        self._thread.context = context

    def context(self) -> int:
        context = getattr(self._thread, "context", None)
        _require(context is not None, 201)
        return context  # type: ignore[return-value]

    def set_context(self, context: int | None) -> None:
        """What another library of the process does."""
        self._thread.context = context

    def context_of(self, device: int) -> int:
        out = ctypes.c_void_p()
        self._cuDevicePrimaryCtxRetain(ctypes.addressof(out), device)
        return self._contexts[device]

    def _device(self) -> int:
        return self._objects[self.context()][1]

    # -- streams and events

    def _stream(self, handle: int | None) -> _Stream:
        context = self.context()
        if not handle or handle in api.LEGACY_STREAMS:
            return self._default[context]
        stream = self._objects.get(handle)
        _require(isinstance(stream, _Stream) and stream.context == context, 400)
        return stream

    def _put_work(self, stream: _Stream, work: Callable[[], None]) -> None:
        """The legacy default stream waits for the others, and they for it."""
        default = self._default[stream.context]
        others = [s for s in self._streams(stream.context) if s is not stream] if stream is default else [default]
        before = [(s, len(s.work)) for s in others]

        def run() -> None:
            for other, position in before:
                other.run_until(position)
            work()

        stream.work.append(run)

    def _streams(self, context: int) -> list[_Stream]:
        made = [o for o in self._objects.values() if isinstance(o, _Stream) and o.context == context]
        return [self._default[context], *made]

    def _cuCtxSynchronize(self) -> None:
        for stream in reversed(self._streams(self.context())):
            stream.run_until(len(stream.work))

    def _cuStreamCreate(self, out: int, flags: int) -> None:
        handle = next(self._handles)
        self._objects[handle] = _Stream(self.context())
        _put(out, ctypes.c_void_p, handle)

    def _cuStreamDestroy(self, handle: int) -> None:
        stream = self._stream(handle)
        stream.run_until(len(stream.work))
        del self._objects[handle]

    def _cuStreamSynchronize(self, handle: int | None) -> None:
        stream = self._stream(handle)
        self._put_work(stream, lambda: None)
        stream.run_until(len(stream.work))

    def _cuStreamWaitEvent(self, handle: int | None, event: int, flags: int) -> None:
        stream, waited = self._stream(handle), self._event(event)
        source, position = waited.stream, waited.position
        if source is not None:
            self._put_work(stream, lambda: source.run_until(position))

    def _event(self, handle: int) -> _Event:
        event = self._objects.get(handle)
        _require(isinstance(event, _Event), 400)
        return event

    def _cuEventCreate(self, out: int, flags: int) -> None:
        self.context()
        handle = next(self._handles)
        self._objects[handle] = _Event(flags)
        _put(out, ctypes.c_void_p, handle)

    def _cuEventDestroy(self, handle: int) -> None:
        self._event(handle)
        del self._objects[handle]

    def _cuEventRecord(self, handle: int, stream: int | None) -> None:
        event, recorded = self._event(handle), self._stream(stream)
        self._put_work(recorded, lambda: None)
        event.stream, event.position = recorded, len(recorded.work)

    def _cuEventSynchronize(self, handle: int) -> None:
        event = self._event(handle)
        if event.stream is not None:
            event.stream.run_until(event.position)

    def _cuEventQuery(self, handle: int) -> int:
        event = self._event(handle)
        return 600 if event.stream is not None and event.stream.started < event.position else 0

    def _cuEventElapsedTime(self, out: int, start: int, end: int) -> None:
        events = [self._event(start), self._event(end)]
        _require(all(not e.flags & gpu_api.EVENT_DISABLE_TIMING and e.stream for e in events), 400)
        for event in events:
            _require(event.stream is not None and event.stream.started >= event.position, 600)
        _put(out, ctypes.c_float, 0.5 * (events[1].position - events[0].position))

    # -- memory

    def _allocate(self, out: int, nbytes: int) -> None:
        _require(nbytes > 0, 1)
        used = sum(size for _, size, device in self.memory.values() if device == self._device())
        _require(used + nbytes <= self.total, 2)
        buffer = ctypes.create_string_buffer(nbytes + 512)
        ctypes.memset(buffer, 0xA5, nbytes + 512)
        address = -(-ctypes.addressof(buffer) // 256) * 256
        self.memory[address] = (buffer, nbytes, self._device())
        _put(out, ctypes.c_uint64, address)

    def _cuMemAlloc(self, out: int, nbytes: int) -> None:
        self._allocate(out, nbytes)

    def _cuMemFree(self, address: int) -> None:
        _require(address in self.memory, 1)
        self._cuCtxSynchronize()
        del self.memory[address]

    def _cuMemAllocAsync(self, out: int, nbytes: int, stream: int | None) -> None:
        self._stream(stream)
        self._allocate(out, nbytes)

    def _cuMemFreeAsync(self, address: int, stream: int | None) -> None:
        _require(address in self.memory, 1)
        self._put_work(self._stream(stream), lambda: self.memory.pop(address) and None)

    def _cuMemHostAlloc(self, out: int, nbytes: int, flags: int) -> None:
        self.context()
        buffer = ctypes.create_string_buffer(nbytes)
        self.pinned[ctypes.addressof(buffer)] = buffer
        _put(out, ctypes.c_void_p, ctypes.addressof(buffer))

    def _cuMemFreeHost(self, address: int) -> None:
        _require(address in self.pinned, 1)
        del self.pinned[address]

    def _cuMemGetInfo(self, free: int, total: int) -> None:
        used = sum(size for _, size, device in self.memory.values() if device == self._device())
        _put(free, ctypes.c_size_t, self.total - used)
        _put(total, ctypes.c_size_t, self.total)

    def _find(self, address: int) -> tuple[int, int, int] | None:
        for base, (_, size, device) in self.memory.items():
            if base <= address < base + size:
                return base, size, device
        return None

    def _check_range(self, address: int, nbytes: int) -> None:
        found = self._find(address)
        _require(found is not None and address + nbytes <= found[0] + found[1], 1)

    def _cuMemcpyHtoD(self, destination: int, source: int, nbytes: int) -> None:
        self._check_range(destination, nbytes)
        self._cuStreamSynchronize(0)
        ctypes.memmove(destination, source, nbytes)

    def _cuMemcpyDtoH(self, destination: int, source: int, nbytes: int) -> None:
        self._check_range(source, nbytes)
        self._cuStreamSynchronize(0)
        ctypes.memmove(destination, source, nbytes)

    def _copy_later(self, destination: int, source: int, nbytes: int, stream: int | None) -> None:
        self._put_work(self._stream(stream), lambda: ctypes.memmove(destination, source, nbytes) and None)

    def _cuMemcpyHtoDAsync(self, destination: int, source: int, nbytes: int, stream: int | None) -> None:
        self._check_range(destination, nbytes)
        self._copy_later(destination, source, nbytes, stream)

    def _cuMemcpyDtoHAsync(self, destination: int, source: int, nbytes: int, stream: int | None) -> None:
        self._check_range(source, nbytes)
        self._copy_later(destination, source, nbytes, stream)

    def _cuMemcpyAsync(self, destination: int, source: int, nbytes: int, stream: int | None) -> None:
        self._copy_later(destination, source, nbytes, stream)

    def _cuMemsetD8Async(self, address: int, byte: int, nbytes: int, stream: int | None) -> None:
        self._check_range(address, nbytes)
        self._put_work(self._stream(stream), lambda: ctypes.memset(address, byte, nbytes) and None)

    def _cuPointerGetAttribute(self, out: int, attribute: int, address: int) -> None:
        found = self._find(address)
        _require(found is not None or address in self.pinned, 1)
        value = 1 if found is None else 2 if attribute == gpu_api.POINTER_MEMORY_TYPE else found[2]
        _put(out, ctypes.c_uint, value)

    # -- kernels

    def _cuModuleLoadData(self, out: int, image: int) -> None:
        self.context()
        # An image does not say how long it is; the bytes object that the driver passes, whose data it is, does.
        data = ctypes.cast(image - (sys.getsizeof(b"") - 1), ctypes.py_object).value
        if data not in self.artifacts:
            raise _Code(200)
        handle = next(self._handles)
        self._objects[handle] = self.artifacts[data]
        _put(out, ctypes.c_void_p, handle)

    def _cuModuleGetFunction(self, out: int, module: int, name: int) -> None:
        artifact = self._objects.get(module)
        _require(isinstance(artifact, Artifact), 400)
        _require(ctypes.string_at(name).decode() == artifact.symbol, 500)
        handle = next(self._handles)
        self._objects[handle] = ("function", artifact)
        _put(out, ctypes.c_void_p, handle)

    def _cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> None:
        self.function_attributes[function, attribute] = value

    def _launch(self, function: int, grid: Any, block: Any, shared: int, stream: int | None, parameters: int,
                attributes: dict[int, tuple[int, ...]]) -> None:  # fmt: skip
        kind, artifact = self._objects.get(function, (None, None))
        _require(kind == "function", 400)
        _require(all(g > 0 for g in grid) and all(b > 0 for b in block), 1)
        raised = self.function_attributes.get((function, api.FUNCTION_MAX_DYNAMIC_SHARED), 49152)
        _require(shared <= raised, 1)
        pointers = (ctypes.c_void_p * (artifact.parameters + 2)).from_address(parameters)
        arguments = [ctypes.string_at(p, 8) for p in pointers if p]
        launch = Launch(artifact.symbol, grid, block, shared, stream or 0, arguments, attributes, self.context())
        self.launches.append(launch)
        self._put_work(self._stream(stream), lambda: artifact.run(launch) if artifact.run else None)

    def _cuLaunchKernel(self, function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int,
                        stream: int | None, parameters: int, extra: int | None) -> None:  # fmt: skip
        self._launch(function, (gx, gy, gz), (bx, by, bz), shared, stream, parameters, {})

    def _cuLaunchKernelEx(self, config: int, function: int, parameters: int, extra: int | None) -> None:
        sizes = (ctypes.c_uint * 7).from_address(config)
        stream, attributes = (ctypes.c_void_p * 2).from_address(config + 32)
        count = ctypes.c_uint.from_address(config + 48).value
        listed = (api.LaunchAttribute * count).from_address(attributes or 0)
        self._launch(function, tuple(sizes[:3]), tuple(sizes[3:6]), sizes[6], stream, parameters,
                     {a.id: tuple(a.value[:3]) for a in listed})  # fmt: skip


class _Code(Exception):
    pass


def _require(condition: object, code: int) -> None:
    if not condition:
        raise _Code(code)


def _put(out: int, kind: type, value: Any) -> None:
    kind.from_address(out).value = value


# ------------------------------------------------------------------------------------------------ kernels that run


def decode(launch: Launch, parameters: tuple[str, ...]) -> list[int | float]:
    """The arguments of a launch as Python values, by the kernel's parameter types."""
    formats = {"fp32": "f", "fp64": "d", "i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
               "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}  # fmt: skip
    return [
        struct.unpack_from("Q" if p.startswith("*") else formats[p], raw)[0]
        for p, raw in zip(parameters, launch.arguments, strict=False)
    ]


def install(monkeypatch: Any, fake: FakeCuda) -> CudaDriver:
    """Make the fake this process's CUDA. Kernels are compiled for the fake's architecture and, to run, for the CPU."""
    driver = CudaDriver(CudaApi(fake))
    compile_kernel = compiler.compile_kernel

    def compile_both(source: Any, signature: Any, constants: Any, target: Any, aligned: Any, options: Any = ()) -> Any:
        kernel = compile_kernel(source, signature, constants, target, aligned, options)
        if target.backend == "cuda":
            host = compile_kernel(source, signature, constants, contract.Target("cpu", "host", 1), False)
            run, _ = get_driver("cpu").bind(host, 0)

            def on_host(launch: Launch) -> None:
                before = launcher.launch_cell("cpu").value
                run(*decode(launch, kernel.parameters), *launch.grid)
                launcher.launch_cell("cpu").value = before

            fake.artifacts[kernel.artifact] = Artifact(kernel.symbol, len(kernel.parameters), on_host)
        return kernel

    monkeypatch.setattr(compiler, "compile_kernel", compile_both)
    monkeypatch.setattr(launcher, "_launchers", {})
    monkeypatch.setitem(contract._drivers, "cuda", driver)
    return driver
