"""NVIDIA GPUs by CUDA's driver API.

Kernels, memory and streams belong to a device's primary context, the one that the CUDA runtime uses, so that arrays can
be shared with every other library of the process. A call makes that context current for its own duration where it is
not, and leaves another library's choice of a current device as it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

from .. import gpu_launcher, launcher, native
from ..contract import CompiledKernel, DeviceError, DriverUnavailable, Event, Properties, Target, get_device
from . import api as cuda
from .api import CudaApi


def open_driver() -> CudaDriver:
    """The driver, where the machine has NVIDIA's library and a device."""
    try:
        api = CudaApi()
    except OSError as error:
        raise DriverUnavailable(f"no NVIDIA driver is installed ({error})") from None
    except AttributeError as error:
        raise DriverUnavailable(f"the NVIDIA driver is too old ({error})") from None
    return CudaDriver(api)


class _Loaded:
    """A device in use: its context, what native launches need, and what has been loaded on it."""

    def __init__(self, index: int, ordinal: int, context: int):
        self.name = f"cuda:{index}"
        self.ordinal = ordinal
        self.context = context
        self.cells = gpu_launcher.Cells(context=context)
        self.kernels: list[CompiledKernel] = []  # their places are the numbers in `cells.recent`
        self.alive: list[object] = []  # what native code holds by address


class CudaDriver:
    backend = "cuda"
    artifact_kind = "cubin"

    def __init__(self, api: CudaApi):
        self.api = api
        self._lock = threading.Lock()
        self._devices: dict[int, _Loaded] = {}
        self._forked = False
        code = api.cuInit(0)
        if code:
            raise DriverUnavailable(f"CUDA does not start: {api.describe(code)}")
        count = ctypes.c_int()
        self._check(api.cuDeviceGetCount(ctypes.byref(count)), "cuda: counting devices")
        self._count = count.value
        if not self._count:
            raise DriverUnavailable("the NVIDIA driver sees no device")
        os.register_at_fork(after_in_child=self._after_fork)

    # -------------------------------------------------------------------------------------------- devices

    def count(self) -> int:
        return self._count

    def target(self, index: int) -> Target:
        major, minor = self.attribute(index, "capability_major"), self.attribute(index, "capability_minor")
        return Target("cuda", 10 * major + minor, self.attribute(index, "warp_size"))

    def properties(self, index: int) -> Properties:
        ordinal = self._ordinal(index)
        text, memory, version = ctypes.create_string_buffer(256), ctypes.c_size_t(), ctypes.c_int()
        doing = f"cuda:{index}: reading its properties"
        self._check(self.api.cuDeviceGetName(text, len(text), ordinal), doing)
        self._check(self.api.cuDeviceTotalMem(ctypes.byref(memory), ordinal), doing)
        self._check(self.api.cuDriverGetVersion(ctypes.byref(version)), doing)
        extra: dict[str, Any] = {name: self.attribute(index, name) for name in cuda.DEVICE_ATTRIBUTES}
        extra["cuda_version"] = (version.value // 1000, version.value % 1000 // 10)
        return Properties(text.value.decode(), memory.value, extra["multiprocessors"], extra)

    def attribute(self, index: int, name: str) -> int:
        """A property of `api.DEVICE_ATTRIBUTES`; reading it does not make the device's context."""
        value = ctypes.c_int()
        code = self.api.cuDeviceGetAttribute(ctypes.byref(value), cuda.DEVICE_ATTRIBUTES[name], self._ordinal(index))
        self._check(code, f"cuda:{index}: reading {name}")
        return value.value

    def memory(self, index: int) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call(index, "reading free memory", "cuMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    # -------------------------------------------------------------------------------------------- kernels

    def bind(self, kernel: CompiledKernel, index: int) -> tuple[Callable[..., None], Callable[..., None]]:
        """Load a kernel; ``run`` and ``spread`` launch it on the device's current stream."""
        device = self._device(index)
        if kernel.kind != self.artifact_kind or kernel.target.backend != self.backend:
            raise ValueError(f"{device.name} loads a cubin for cuda, not kernel {kernel.name!r}, "
                             f"which is a {kernel.kind} for {kernel.target.backend}")  # fmt: skip
        attributes = self._launch_attributes(kernel, index)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        doing = f"loading kernel {kernel.name!r}, compiled for sm_{kernel.target.arch},"
        self._call(index, doing, "cuModuleLoadData", ctypes.byref(module), kernel.artifact)
        self._call(index, doing, "cuModuleGetFunction", ctypes.byref(function), module, kernel.symbol.encode())
        if kernel.shared > self.attribute(index, "shared_per_block"):
            self._call(index, f"giving kernel {kernel.name!r} {kernel.shared} bytes of shared memory",
                       "cuFuncSetAttribute", function, cuda.FUNCTION_MAX_DYNAMIC_SHARED, kernel.shared)  # fmt: skip
        blocks = prod(kernel.cluster_dims)
        if blocks > 8:  # more than every device with clusters can place
            self._call(index, f"allowing kernel {kernel.name!r} clusters of {blocks}",
                       "cuFuncSetAttribute", function, cuda.FUNCTION_NON_PORTABLE_CLUSTER, 1)  # fmt: skip
        with self._lock:
            number = len(device.kernels)
            device.kernels.append(kernel)
            device.alive.append(attributes)
        run = gpu_launcher.bind(
            kernel,
            cells=ctypes.addressof(device.cells),
            number=number,
            function=function.value or 0,
            threads=kernel.num_warps * kernel.target.warp_size,
            shared=kernel.shared,
            blocks=blocks,
            attributes=ctypes.addressof(attributes),
            attribute_count=len(attributes),
            global_scratch=kernel.global_scratch_size,
            profile_scratch=kernel.profile_scratch_size,
        )
        return run, lambda args, gx, gy, gz: run(*args, gx, gy, gz)

    def _launch_attributes(self, kernel: CompiledKernel, index: int) -> ctypes.Array[cuda.LaunchAttribute]:
        """What a launch asks for beyond grid and block; refuses what the device does not have."""
        what = f"cuda:{index} cannot run kernel {kernel.name!r}: "
        limit = self.attribute(index, "shared_per_block_optin")
        if kernel.shared > limit:
            raise DeviceError(f"{what}it needs {kernel.shared} bytes of shared memory, a block has at most {limit}")
        if kernel.num_warps * kernel.target.warp_size > self.attribute(index, "threads_per_block"):
            raise DeviceError(f"{what}{kernel.num_warps} warps are more than a block has")
        if kernel.global_scratch_size or kernel.profile_scratch_size:
            if max(kernel.global_scratch_align, kernel.profile_scratch_align) > gpu_launcher.SCRATCH_ALIGNMENT:
                raise DeviceError(f"{what}its scratch memory is aligned to more than {gpu_launcher.SCRATCH_ALIGNMENT}")
            if not self.attribute(index, "memory_pools"):
                raise DeviceError(f"{what}it needs scratch memory, and the device has no memory pools")
        attributes = []
        if kernel.cooperative:
            if not self.attribute(index, "cooperative_launch"):
                raise DeviceError(f"{what}it is cooperative, and the device has no cooperative launches")
            attributes.append(cuda.LaunchAttribute(cuda.LAUNCH_COOPERATIVE, (1,)))
        if prod(kernel.cluster_dims) > 1:
            if not self.attribute(index, "cluster_launch"):
                raise DeviceError(f"{what}it runs in clusters of {kernel.cluster_dims}, and the device has none")
            attributes.append(cuda.LaunchAttribute(cuda.LAUNCH_CLUSTER_DIMENSION, tuple(kernel.cluster_dims)))
        return (cuda.LaunchAttribute * len(attributes))(*attributes)

    # -------------------------------------------------------------------------------------------- memory

    def allocate(self, nbytes: int, index: int) -> int:
        address = ctypes.c_uint64()
        self._call(index, f"allocating {nbytes} bytes", "cuMemAlloc", ctypes.byref(address), max(nbytes, 1))
        return address.value

    def free(self, address: int, index: int) -> None:
        if not self._forked:  # the child owns nothing of its parent's
            self._call(index, f"freeing memory at {address:#x}", "cuMemFree", address)

    def allocate_pinned(self, nbytes: int, index: int) -> int:
        address = ctypes.c_void_p()
        self._call(index, f"allocating {nbytes} bytes of pinned host memory", "cuMemHostAlloc",
                   ctypes.byref(address), max(nbytes, 1), cuda.HOST_ALLOC_PORTABLE)  # fmt: skip
        return address.value or 0

    def free_pinned(self, address: int, index: int) -> None:
        if not self._forked:
            self._call(index, f"freeing pinned host memory at {address:#x}", "cuMemFreeHost", address)

    def copy_from_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        doing = f"copying {nbytes} bytes from the host"
        if wait and stream in cuda.LEGACY_STREAMS:  # returns once the source has been staged
            self._call(index, doing, "cuMemcpyHtoD", destination, source, nbytes)
            return
        self._call(index, doing, "cuMemcpyHtoDAsync", destination, source, nbytes, stream)
        if wait:
            self.synchronize(index, stream)

    def copy_to_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        doing = f"copying {nbytes} bytes to the host"
        if wait and stream in cuda.LEGACY_STREAMS:
            self._call(index, doing, "cuMemcpyDtoH", destination, source, nbytes)
            return
        self._call(index, doing, "cuMemcpyDtoHAsync", destination, source, nbytes, stream)
        if wait:
            self.synchronize(index, stream)

    def copy(self, destination: int, source: int, nbytes: int, index: int, stream: int = 0) -> None:
        """On one device or between two: addresses are unique in the process."""
        self._call(index, f"copying {nbytes} bytes", "cuMemcpyAsync", destination, source, nbytes, stream)

    def fill(self, address: int, byte: int, nbytes: int, index: int, stream: int = 0) -> None:
        self._call(index, f"filling {nbytes} bytes", "cuMemsetD8Async", address, byte, nbytes, stream)

    def device_of(self, address: int) -> int | None:
        """Index of the device that an address belongs to; None for memory that is not a device's."""
        kind, ordinal = ctypes.c_uint(), ctypes.c_int()
        self._refuse_fork("cuda")
        code = self.api.cuPointerGetAttribute(ctypes.byref(kind), cuda.POINTER_MEMORY_TYPE, address)
        if code == cuda.INVALID_VALUE or (not code and kind.value != cuda.MEMORY_TYPE_DEVICE):
            return None
        self._check(code, f"cuda: asking what memory at {address:#x} is")
        code = self.api.cuPointerGetAttribute(ctypes.byref(ordinal), cuda.POINTER_DEVICE_ORDINAL, address)
        self._check(code, f"cuda: asking whose memory at {address:#x} is")
        return ordinal.value

    # -------------------------------------------------------------------------------------------- order

    def create_stream(self, index: int) -> int:
        """A stream that, as CUDA's default is, waits for the legacy default stream and is waited for by it."""
        stream = ctypes.c_void_p()
        self._call(index, "making a stream", "cuStreamCreate", ctypes.byref(stream), 0)
        return stream.value or 0

    def destroy_stream(self, stream: int, index: int) -> None:
        self._call(index, "destroying a stream", "cuStreamDestroy", stream)

    def create_event(self, index: int, timing: bool = False) -> CudaEvent:
        handle = ctypes.c_void_p()
        flags = 0 if timing else cuda.EVENT_DISABLE_TIMING
        self._call(index, "making an event", "cuEventCreate", ctypes.byref(handle), flags)
        return CudaEvent(self, index, handle.value or 0, timing)

    def wait_event(self, stream: int, event: Event, index: int) -> None:
        if not isinstance(event, CudaEvent):
            raise TypeError(f"cuda:{index} cannot wait for {event!r}, which is not an event of CUDA")
        self._call(index, "making a stream wait for an event", "cuStreamWaitEvent", stream, event.handle, 0)

    def synchronize(self, index: int, stream: int | None = None) -> None:
        if stream is None:
            self._call(index, "waiting for the device", "cuCtxSynchronize")
        else:
            self._call(index, "waiting for a stream", "cuStreamSynchronize", stream)

    # -------------------------------------------------------------------------------------------- inside

    def _ordinal(self, index: int) -> int:
        self._refuse_fork(f"cuda:{index}")
        ordinal = ctypes.c_int()
        if not 0 <= index < self._count:
            raise ValueError(f"there is no device cuda:{index}; the last one is cuda:{self._count - 1}")
        self._check(self.api.cuDeviceGet(ctypes.byref(ordinal), index), f"cuda:{index}")
        return ordinal.value

    def _device(self, index: int) -> _Loaded:
        """The device, its primary context retained at the first use."""
        device = self._devices.get(index)
        if device is None or self._forked:
            with self._lock:
                device = self._devices.get(index) or self._open(index)
        return device

    def _open(self, index: int) -> _Loaded:
        ordinal, context, api = self._ordinal(index), ctypes.c_void_p(), self.api
        code = api.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal)
        self._check(code, f"cuda:{index}: making its context")
        device = self._devices[index] = _Loaded(index, ordinal, context.value or 0)
        cells = device.cells
        cells.stream = launcher.stream_cell(get_device(device.name)).address
        cells.launches = launcher.launch_cell(self.backend).address
        cells.launch = api.address("cuLaunchKernel")
        cells.launch_with_attributes = api.address("cuLaunchKernelEx")
        cells.get_context = api.address("cuCtxGetCurrent")
        cells.set_context = api.address("cuCtxSetCurrent")
        cells.allocate = api.address("cuMemAllocAsync")
        cells.free = api.address("cuMemFreeAsync")

        def report(number: int, what: int, value: int) -> NoReturn:
            """Called by the native launch when it fails."""
            kernel = device.kernels[number]
            if what == gpu_launcher.GRID_TOO_LARGE:
                limit = gpu_launcher.GRID_LIMITS[value] // (prod(kernel.cluster_dims) if value == 0 else 1)
                raise ValueError(f"{device.name}: the grid of kernel {kernel.name!r} has more than {limit} programs "
                                 f"along axis {value}")  # fmt: skip
            self._fail(value, f"{device.name}: launching kernel {kernel.name!r}", device)

        cells.report = report
        return device

    def _call(self, index: int, doing: str, name: str, *arguments: Any) -> None:
        """Call a function of CUDA with the device's context current, and raise where it fails."""
        device, api = self._device(index), self.api
        self._refuse_fork(device.name)
        current = ctypes.c_void_p()
        code = api.cuCtxGetCurrent(ctypes.byref(current))
        theirs = current.value
        if not code and theirs != device.context:
            code = api.cuCtxSetCurrent(device.context)
        if not code:
            code = getattr(api, name)(*arguments)
            if theirs is not None and theirs != device.context:
                api.cuCtxSetCurrent(theirs)
        if code:
            self._fail(code, f"{device.name}: {doing}", device)

    def _check(self, code: int, doing: str) -> None:
        if code:
            self._fail(code, doing, None)

    def _fail(self, code: int, doing: str, device: _Loaded | None) -> NoReturn:
        self._refuse_fork(device.name if device else "cuda")
        message = f"{doing} failed: {self.api.describe(code)}"
        if code == cuda.OUT_OF_MEMORY:
            raise MemoryError(message)
        if code in cuda.FAULTS and device is not None:
            recent = ", ".join(self._recent(device)) or "none"
            message += f"; the fault lies in a kernel launched before, the latest first: {recent}"
        raise DeviceError(message)

    def _recent(self, device: _Loaded) -> list[str]:
        """Names of the kernels launched last, the latest first."""
        turns = range(device.cells.turn - 1, max(device.cells.turn - 1 - gpu_launcher.RECENT, -1), -1)
        return [device.kernels[device.cells.recent[turn % gpu_launcher.RECENT]].name for turn in turns]

    def _after_fork(self) -> None:
        """In a forked child CUDA does not work: say so, and keep native code from calling it."""
        self._forked = True
        self._lock = threading.Lock()
        for device in self._devices.values():
            device.cells.get_context = _refusal_address()

    def _refuse_fork(self, name: str) -> None:
        if self._forked:
            raise DeviceError(
                f"{name} was in use before this process was forked, and CUDA does not work in the child; start "
                "processes with multiprocessing's 'spawn' or 'forkserver' method, or use the device 'cpu' here"
            )


_NOT_INITIALIZED = 3
_refusal = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: _NOT_INITIALIZED)


def _refusal_address() -> int:
    return native.function_address(_refusal)


class CudaEvent:
    """A point in a stream's work. Only one made with ``timing`` can be read as a clock."""

    def __init__(self, driver: CudaDriver, index: int, handle: int, timing: bool):
        self.driver, self.index, self.handle, self.timing = driver, index, handle, timing

    def record(self, stream: int = 0) -> None:
        self.driver._call(self.index, "recording an event", "cuEventRecord", self.handle, stream)

    def done(self) -> bool:
        ready = True
        code = self.driver.api.cuEventQuery(self.handle)
        if code == cuda.NOT_READY:
            ready = False
        else:
            self.driver._check(code, f"cuda:{self.index}: asking for an event")
        return ready

    def synchronize(self) -> None:
        self.driver._call(self.index, "waiting for an event", "cuEventSynchronize", self.handle)

    def milliseconds_since(self, start: Event) -> float:
        if not isinstance(start, CudaEvent):
            raise TypeError(f"{start!r} is not an event of CUDA")
        if not (self.timing and start.timing):
            raise ValueError("an event made without timing cannot be read as a clock")
        elapsed = ctypes.c_float()
        self.driver._call(self.index, "reading the time between two events", "cuEventElapsedTime",
                          ctypes.byref(elapsed), start.handle, self.handle)  # fmt: skip
        return elapsed.value

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # at interpreter exit what is needed may be gone
            self.driver._call(self.index, "destroying an event", "cuEventDestroy", self.handle)
