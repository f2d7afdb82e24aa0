"""A driver over a GPU vendor's C library: what CUDA and HIP have in common, which is nearly all.

A call makes the device's context current for its own duration where it is not, and leaves another library's choice of
a current device as it was. After a fork the libraries do not work in the child, which is told so.
"""

from __future__ import annotations

import ctypes
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

from . import gpu_api, gpu_launcher, launcher, native
from .contract import CompiledKernel, DeviceError, DriverUnavailable, Event, Properties, Target, get_device
from .gpu_api import GpuApi


def open_api(vendor: str, api: Callable[[], GpuApi]) -> Any:
    """The vendor's library, where the machine has it."""
    try:
        return api()
    except OSError as error:
        raise DriverUnavailable(f"no {vendor} driver is installed ({error})") from None
    except AttributeError as error:
        raise DriverUnavailable(f"the {vendor} driver is too old ({error})") from None


class Loaded:
    """A device in use: its context, what native launches need, and what has been loaded on it."""

    def __init__(self, name: str, context: int, no_context: int):
        self.name = name
        self.context = context
        self.cells = gpu_launcher.Cells(context=context, no_context=no_context)
        self.kernels: list[CompiledKernel] = []  # their places are the numbers in `cells.recent`
        self.alive: list[object] = []  # what native code holds by address


class GpuDriver(ABC):
    """One vendor's devices; the subclasses say what differs."""

    backend: str
    artifact_kind: str
    vendor: str

    def __init__(self, api: GpuApi):
        self.api: Any = api
        self._lock = threading.Lock()
        self._devices: dict[int, Loaded] = {}
        self._forked = False
        code = api.initialize(0)
        if code in (gpu_api.NO_DEVICE, gpu_api.INVALID_DEVICE):
            raise DriverUnavailable(f"the {self.vendor} driver sees no device: {api.describe(code)}")
        if code:
            raise DriverUnavailable(f"{api.title} does not start: {api.describe(code)}")
        count = ctypes.c_int()
        code = api.count_devices(ctypes.byref(count))
        if code != gpu_api.NO_DEVICE:
            self._check(code, f"{self.backend}: counting devices")
        self._count = count.value
        if not self._count:
            raise DriverUnavailable(f"the {self.vendor} driver sees no device")
        os.register_at_fork(after_in_child=self._after_fork)

    # -------------------------------------------------------------------------------------------- what differs

    @abstractmethod
    def target(self, index: int) -> Target: ...

    @abstractmethod
    def _version(self, number: int) -> tuple[int, int]:
        """The library's version, major and minor, from its number."""

    @abstractmethod
    def _context(self, ordinal: int, name: str) -> int:
        """What `get_current` gives when the device is current."""

    @abstractmethod
    def _programs(self, kernel: CompiledKernel) -> int:
        """How many programs a grid may have along x."""

    @abstractmethod
    def _launching(self, kernel: CompiledKernel, index: int) -> tuple[int, Any]:
        """The address of the function that launches the kernel, and an array of attributes of the launch.

        Raises DeviceError where the device lacks what the kernel needs beyond a plain launch.
        """

    def _prepare(self, function: ctypes.c_void_p, kernel: CompiledKernel, index: int) -> None:  # noqa: B027, nothing for HIP
        """What a loaded function needs before its first launch."""

    # -------------------------------------------------------------------------------------------- devices

    def count(self) -> int:
        return self._count

    def properties(self, index: int) -> Properties:
        ordinal = self._ordinal(index)
        text, memory, version = ctypes.create_string_buffer(256), ctypes.c_size_t(), ctypes.c_int()
        doing = f"{self.backend}:{index}: reading its properties"
        self._check(self.api.device_name(text, len(text), ordinal), doing)
        self._check(self.api.device_memory(ctypes.byref(memory), ordinal), doing)
        self._check(self.api.version(ctypes.byref(version)), doing)
        extra: dict[str, Any] = {name: self.attribute(index, name) for name in self.api.attributes}
        extra[f"{self.backend}_version"] = self._version(version.value)
        return Properties(text.value.decode(), memory.value, extra["multiprocessors"], extra)

    def attribute(self, index: int, name: str) -> int:
        """A property of the API's table, 0 where this version of the library does not know it.

        Reading it does not make the device's context.
        """
        value = ctypes.c_int()
        code = self.api.device_attribute(ctypes.byref(value), self.api.attributes[name], self._ordinal(index))
        if code == gpu_api.INVALID_VALUE:
            self.api.forget_error()
            return 0
        self._check(code, f"{self.backend}:{index}: reading {name}")
        return value.value

    def memory(self, index: int) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call(index, "reading free memory", "memory", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    # -------------------------------------------------------------------------------------------- kernels

    def bind(self, kernel: CompiledKernel, index: int) -> tuple[Callable[..., None], Callable[..., None]]:
        """Load a kernel; ``run`` and ``spread`` launch it on the device's current stream."""
        device = self._device(index)
        if kernel.kind != self.artifact_kind or kernel.target.backend != self.backend:
            raise ValueError(f"{device.name} loads a {self.artifact_kind} for {self.backend}, not kernel "
                             f"{kernel.name!r}, which is a {kernel.kind} for {kernel.target.backend}")  # fmt: skip
        self._require_room(kernel, index)
        launch, attributes = self._launching(kernel, index)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        doing = f"loading kernel {kernel.name!r}, compiled for {kernel.target},"
        self._call(index, doing, "load_module", ctypes.byref(module), kernel.artifact)
        self._call(index, doing, "get_function", ctypes.byref(function), module, kernel.symbol.encode())
        self._prepare(function, kernel, index)
        with self._lock:
            number = len(device.kernels)
            device.kernels.append(kernel)
            device.alive.append(attributes)
        run = gpu_launcher.bind(
            kernel,
            cells=ctypes.addressof(device.cells),
            number=number,
            launch=launch,
            function=function.value or 0,
            threads=kernel.num_warps * kernel.target.warp_size,
            shared=kernel.shared,
            blocks=prod(kernel.cluster_dims),
            programs=self._programs(kernel),
            attributes=ctypes.addressof(attributes),
            attribute_count=len(attributes),
            global_scratch=kernel.global_scratch_size,
            profile_scratch=kernel.profile_scratch_size,
        )
        return run, lambda args, gx, gy, gz: run(*args, gx, gy, gz)

    def _require_room(self, kernel: CompiledKernel, index: int) -> None:
        """Refuse a kernel that a block of the device has no room for."""
        limit = self.attribute(index, "shared_per_block_optin")
        if kernel.shared > limit:
            self._refuse(kernel, index, f"it needs {kernel.shared} bytes of shared memory, a block has at most {limit}")
        if kernel.num_warps * kernel.target.warp_size > self.attribute(index, "threads_per_block"):
            self._refuse(kernel, index, f"{kernel.num_warps} warps are more than a block has")
        if kernel.global_scratch_size or kernel.profile_scratch_size:
            most = gpu_launcher.SCRATCH_ALIGNMENT
            if max(kernel.global_scratch_align, kernel.profile_scratch_align) > most:
                self._refuse(kernel, index, f"its scratch memory is aligned to more than {most}")
            if not self.attribute(index, "memory_pools"):
                self._refuse(kernel, index, "it needs scratch memory, and the device has no memory pools")

    def _refuse(self, kernel: CompiledKernel, index: int, reason: str) -> NoReturn:
        raise DeviceError(f"{self.backend}:{index} cannot run kernel {kernel.name!r}: {reason}")

    # -------------------------------------------------------------------------------------------- memory

    def allocate(self, nbytes: int, index: int) -> int:
        address = ctypes.c_uint64()
        self._call(index, f"allocating {nbytes} bytes", "allocate", ctypes.byref(address), max(nbytes, 1))
        return address.value

    def free(self, address: int, index: int) -> None:
        if not self._forked:  # the child owns nothing of its parent's
            self._call(index, f"freeing memory at {address:#x}", "free", address)

    def allocate_pinned(self, nbytes: int, index: int) -> int:
        address = ctypes.c_void_p()
        self._call(index, f"allocating {nbytes} bytes of pinned host memory", "allocate_pinned",
                   ctypes.byref(address), max(nbytes, 1), gpu_api.HOST_ALLOC_PORTABLE)  # fmt: skip
        return address.value or 0

    def free_pinned(self, address: int, index: int) -> None:
        if not self._forked:
            self._call(index, f"freeing pinned host memory at {address:#x}", "free_pinned", address)

    def copy_from_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        doing = f"copying {nbytes} bytes from the host"
        if wait and stream in self.api.default_streams:  # returns once the source has been staged
            self._call(index, doing, "copy_from_host", destination, source, nbytes)
            return
        self._call(index, doing, "copy_from_host_async", destination, source, nbytes, stream)
        if wait:
            self.synchronize(index, stream)

    def copy_to_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        doing = f"copying {nbytes} bytes to the host"
        if wait and stream in self.api.default_streams:
            self._call(index, doing, "copy_to_host", destination, source, nbytes)
            return
        self._call(index, doing, "copy_to_host_async", destination, source, nbytes, stream)
        if wait:
            self.synchronize(index, stream)

    def copy(self, destination: int, source: int, nbytes: int, index: int, stream: int = 0) -> None:
        """On one device or between two: addresses are unique in the process."""
        self._call(index, f"copying {nbytes} bytes", "copy_async", destination, source, nbytes, stream)

    def fill(self, address: int, byte: int, nbytes: int, index: int, stream: int = 0) -> None:
        self._call(index, f"filling {nbytes} bytes", "fill_async", address, byte, nbytes, stream)

    def device_of(self, address: int) -> int | None:
        """Index of the device that an address belongs to; None for memory that is not a device's."""
        kind, ordinal = ctypes.c_uint(), ctypes.c_int()
        self._refuse_fork(self.backend)
        code = self.api.pointer_attribute(ctypes.byref(kind), gpu_api.POINTER_MEMORY_TYPE, address)
        if code == gpu_api.INVALID_VALUE:
            self.api.forget_error()
            return None
        self._check(code, f"{self.backend}: asking what memory at {address:#x} is")
        if kind.value != self.api.device_memory_type():
            return None
        code = self.api.pointer_attribute(ctypes.byref(ordinal), gpu_api.POINTER_DEVICE_ORDINAL, address)
        self._check(code, f"{self.backend}: asking whose memory at {address:#x} is")
        return ordinal.value

    # -------------------------------------------------------------------------------------------- order

    def create_stream(self, index: int) -> int:
        """A stream that waits for the default stream and is waited for by it, as CUDA's and HIP's streams do."""
        stream = ctypes.c_void_p()
        self._call(index, "making a stream", "create_stream", ctypes.byref(stream), 0)
        return stream.value or 0

    def destroy_stream(self, stream: int, index: int) -> None:
        self._call(index, "destroying a stream", "destroy_stream", stream)

    def create_event(self, index: int, timing: bool = False) -> GpuEvent:
        handle = ctypes.c_void_p()
        flags = 0 if timing else gpu_api.EVENT_DISABLE_TIMING
        self._call(index, "making an event", "create_event", ctypes.byref(handle), flags)
        return GpuEvent(self, index, handle.value or 0, timing)

    def wait_event(self, stream: int, event: Event, index: int) -> None:
        if not isinstance(event, GpuEvent):
            raise TypeError(f"{self.backend}:{index} cannot wait for {event!r}, which is not an event of "
                            f"{self.api.title}")  # fmt: skip
        self._call(index, "making a stream wait for an event", "wait_event", stream, event.handle, 0)

    def synchronize(self, index: int, stream: int | None = None) -> None:
        if stream is None:
            self._call(index, "waiting for the device", "synchronize")
        else:
            self._call(index, "waiting for a stream", "synchronize_stream", stream)

    # -------------------------------------------------------------------------------------------- inside

    def _ordinal(self, index: int) -> int:
        self._refuse_fork(f"{self.backend}:{index}")
        ordinal = ctypes.c_int()
        if not 0 <= index < self._count:
            last = f"{self.backend}:{self._count - 1}"
            raise ValueError(f"there is no device {self.backend}:{index}; the last one is {last}")
        self._check(self.api.get_device(ctypes.byref(ordinal), index), f"{self.backend}:{index}")
        return ordinal.value

    def _device(self, index: int) -> Loaded:
        """The device, its context made at the first use."""
        device = self._devices.get(index)
        if device is None or self._forked:
            with self._lock:
                device = self._devices.get(index) or self._open(index)
        return device

    def _open(self, index: int) -> Loaded:
        name, api = f"{self.backend}:{index}", self.api
        context = self._context(self._ordinal(index), name)
        device = self._devices[index] = Loaded(name, context, api.no_context)
        cells = device.cells
        cells.stream = launcher.stream_cell(get_device(name)).address
        cells.launches = launcher.launch_cell(self.backend).address
        cells.get_context = api.address("get_current")
        cells.set_context = api.address("set_current")
        cells.allocate = api.address("allocate_async")
        cells.free = api.address("free_async")

        def report(number: int, what: int, value: int) -> NoReturn:
            """Called by the native launch when it fails."""
            kernel = device.kernels[number]
            if what == gpu_launcher.GRID_TOO_LARGE:
                limit = (self._programs(kernel), *gpu_launcher.GRID_LIMITS[1:])[value]
                raise ValueError(f"{name}: the grid of kernel {kernel.name!r} has more than {limit} programs "
                                 f"along axis {value}")  # fmt: skip
            self._fail(value, f"{name}: launching kernel {kernel.name!r}", device)

        cells.report = report
        return device

    def _call(self, index: int, doing: str, name: str, *arguments: Any) -> None:
        """Call a function of the library with the device's context current, and raise where it fails."""
        device, api = self._device(index), self.api
        self._refuse_fork(device.name)
        current = ctypes.c_uint64()  # HIP writes four bytes of it
        code = api.get_current(ctypes.byref(current))
        theirs = current.value
        if not code and theirs != device.context:
            code = api.set_current(device.context)
        if not code:
            code = getattr(api, name)(*arguments)
            if theirs not in (api.no_context, device.context):
                api.set_current(theirs)
        if code:
            self._fail(code, f"{device.name}: {doing}", device)

    def _check(self, code: int, doing: str) -> None:
        if code:
            self._fail(code, doing, None)

    def _fail(self, code: int, doing: str, device: Loaded | None) -> NoReturn:
        self._refuse_fork(device.name if device else self.backend)
        message = f"{doing} failed: {self.api.describe(code)}"
        self.api.forget_error()
        if code == gpu_api.OUT_OF_MEMORY:
            raise MemoryError(message)
        if code in self.api.faults and device is not None:
            recent = ", ".join(self._recent(device)) or "none"
            message += f"; the fault lies in a kernel launched before, the latest first: {recent}"
        raise DeviceError(message)

    def _recent(self, device: Loaded) -> list[str]:
        """Names of the kernels launched last, the latest first."""
        turns = range(device.cells.turn - 1, max(device.cells.turn - 1 - gpu_launcher.RECENT, -1), -1)
        return [device.kernels[device.cells.recent[turn % gpu_launcher.RECENT]].name for turn in turns]

    def _after_fork(self) -> None:
        """In a forked child the library does not work: say so, and keep native code from calling it."""
        self._forked = True
        self._lock = threading.Lock()
        for device in self._devices.values():
            device.cells.get_context = native.function_address(_refusal)

    def _refuse_fork(self, name: str) -> None:
        if self._forked:
            raise DeviceError(
                f"{name} was in use before this process was forked, and {self.api.title} does not work in the child; "
                "start processes with multiprocessing's 'spawn' or 'forkserver' method, or use the device 'cpu' here"
            )


_refusal = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: gpu_api.NOT_INITIALIZED)


class GpuEvent:
    """A point in a stream's work. Only one made with ``timing`` can be read as a clock."""

    def __init__(self, driver: GpuDriver, index: int, handle: int, timing: bool):
        self.driver, self.index, self.handle, self.timing = driver, index, handle, timing

    def record(self, stream: int = 0) -> None:
        self.driver._call(self.index, "recording an event", "record_event", self.handle, stream)

    def done(self) -> bool:
        driver = self.driver
        code = driver.api.query_event(self.handle)
        if code == gpu_api.NOT_READY:
            driver.api.forget_error()
            return False
        driver._check(code, f"{driver.backend}:{self.index}: asking for an event")
        return True

    def synchronize(self) -> None:
        self.driver._call(self.index, "waiting for an event", "synchronize_event", self.handle)

    def milliseconds_since(self, start: Event) -> float:
        if not isinstance(start, GpuEvent):
            raise TypeError(f"{start!r} is not an event of {self.driver.api.title}")
        if not (self.timing and start.timing):
            raise ValueError("an event made without timing cannot be read as a clock")
        elapsed = ctypes.c_float()
        self.driver._call(self.index, "reading the time between two events", "elapsed_time",
                          ctypes.byref(elapsed), start.handle, self.handle)  # fmt: skip
        return elapsed.value

    def __del__(self) -> None:
        try:
            self.driver._call(self.index, "destroying an event", "destroy_event", self.handle)
        except Exception:
            return  # at interpreter exit what is needed may be gone, contextlib.suppress too
