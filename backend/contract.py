"""What a driver presents, and the plain data that passes between compiler, launcher and drivers.

A driver speaks to one vendor's library. Everything above the drivers (launcher, memory, kernels) knows only the names
in this module, so that a backend is added by writing one driver and one row of :data:`DRIVER_MODULES`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from . import locks


class Device:
    """A device, as users name it: ``cpu``, ``cuda:0``. Made by :func:`get_device`: one object a device, so that
    comparing and hashing is by identity."""

    __slots__ = ("backend", "index")

    def __init__(self, backend: str, index: int = 0) -> None:
        self.backend = backend
        self.index = index

    def __str__(self) -> str:
        return self.backend if self.backend == "cpu" else f"{self.backend}:{self.index}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Callable[[str], Device], tuple[str]]:
        return get_device, (str(self),)


#: Where each backend's driver lives. The module has ``open_driver() -> Driver``, which raises ``DriverUnavailable``
#: where the machine lacks the library or a device.
DRIVER_MODULES = {
    "cpu": "nbx_array.backend.cpu.driver",
    "cuda": "nbx_array.backend.cuda",
    "hip": "nbx_array.backend.hip",
    "metal": "nbx_array.backend.metal",
}

#: Backends whose devices have no float64, and so no complex128.
WITHOUT_FLOAT64 = ("metal",)

_devices: dict[tuple[str, int], Device] = {}
_drivers: dict[str, Driver] = {}
_drivers_lock = locks.lock()


class DriverUnavailable(RuntimeError):
    """The machine lacks a backend's library or device; the message says which."""


class DeviceError(RuntimeError):
    """A vendor's library reports a failure; the message names the device and what was being done."""


def get_device(device: str | Device) -> Device:
    """The one ``Device`` object for ``"cpu"``, ``"cuda"`` (the first) or ``"cuda:1"``. Does not touch the device."""
    if isinstance(device, Device):
        backend, index = device.backend, device.index
    elif isinstance(device, str):
        backend, colon, number = device.partition(":")
        if colon and not number.isdecimal():
            raise ValueError(f"a device is 'cpu' or a backend and an index as in 'cuda:0', not {device!r}")
        index = int(number or 0)
    else:
        raise TypeError(f"a device is a string or a Device, not {type(device).__name__}")
    found = _devices.get((backend, index))
    if found is not None:
        return found
    if backend not in DRIVER_MODULES:
        raise ValueError(f"unknown backend {backend!r} in device {device!r}; known: {', '.join(DRIVER_MODULES)}")
    if backend == "cpu" and index:
        raise ValueError(f"there is one device 'cpu', not {device!r}")
    return _devices.setdefault((backend, index), Device(backend, index))


def get_driver(backend: str) -> Driver:
    """The driver of a backend, opened at first use; raises ``DriverUnavailable`` where it cannot be."""
    driver = _drivers.get(backend)
    if driver is None:
        with _drivers_lock:
            driver = _drivers.get(backend)
            if driver is None:
                try:
                    module = importlib.import_module(DRIVER_MODULES[backend])
                except ModuleNotFoundError as error:
                    if error.name != DRIVER_MODULES[backend]:
                        raise
                    raise DriverUnavailable(f"this version has no driver for {backend!r}") from None
                driver = _drivers[backend] = module.open_driver()
    return driver


def opened_backends() -> tuple[str, ...]:
    """The backends whose drivers are open in this process, or were in the one that it was forked from."""
    return tuple(_drivers)


class Target(NamedTuple):
    """What a kernel is compiled for: ``("cpu", "host", 1)``, ``("cuda", 90, 32)``, ``("hip", "gfx942", 64)``,
    ``("metal", "apple7", 32)``."""

    backend: str
    arch: str | int
    warp_size: int

    def __str__(self) -> str:
        """As compilers name it: ``sm_90``, ``gfx942``, ``cpu``."""
        return {"cuda": f"sm_{self.arch}", "cpu": "cpu"}.get(self.backend, str(self.arch))


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as bytes and numbers: it pickles, and holds no handle of a process or device."""

    name: str  # as its source has it
    symbol: str  # the entry point in the artifact
    kind: str  # "object", "cubin", "hsaco" or "msl"
    artifact: bytes
    target: Target
    #: Triton's type strings of the run-time arguments in order: "*fp32", "i64", "u8", "fp32", "i1".
    parameters: tuple[str, ...]
    #: The parameters' names, for error messages.
    names: tuple[str, ...]
    num_warps: int = 1
    shared: int = 0
    global_scratch_size: int = 0
    global_scratch_align: int = 1
    profile_scratch_size: int = 0
    profile_scratch_align: int = 1
    cluster_dims: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False


class Properties(NamedTuple):
    """What a driver reports of a device; ``extra`` holds what only that vendor has."""

    name: str
    total_memory: int
    cores: int  # multiprocessors of a GPU, logical processors of the CPU
    extra: dict[str, Any]


@runtime_checkable
class Event(Protocol):
    """A point in a stream's work."""

    timing: bool

    def record(self, stream: int = 0) -> None: ...

    def done(self) -> bool: ...

    def synchronize(self) -> None: ...

    def milliseconds_since(self, start: Event) -> float:
        """Time between two recorded events; ``ValueError`` where either was made without ``timing``."""
        ...


class Driver(Protocol):
    """One vendor's library. Addresses and streams are plain integers; stream 0 is the device's default stream."""

    backend: str
    artifact_kind: str

    def count(self) -> int: ...

    def target(self, index: int) -> Target: ...

    def properties(self, index: int) -> Properties: ...

    def bind(self, kernel: CompiledKernel, index: int) -> tuple[Callable[..., None], Callable[..., None]]:
        """Load a kernel: ``(run, spread)`` as :class:`nbx_array.backend.launcher.Launcher` has them."""
        ...

    def allocate(self, nbytes: int, index: int) -> int:
        """An address aligned to at least 64 bytes; ``MemoryError`` where there is no room."""
        ...

    def free(self, address: int, index: int) -> None: ...

    def memory(self, index: int) -> tuple[int, int]:
        """Bytes free and in total."""
        ...

    def allocate_pinned(self, nbytes: int, index: int) -> int:
        """Host memory that copies can run from without staging, and that kernels can write to."""
        ...

    def free_pinned(self, address: int, index: int) -> None: ...

    # Copies are ordered in `stream`. `copy_to_host` returns when the bytes are there, as `copy_from_host` does when
    # the source may be changed, unless `wait` is false (pinned memory).
    def copy_from_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None: ...

    def copy_to_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None: ...

    def copy(self, destination: int, source: int, nbytes: int, index: int, stream: int = 0) -> None: ...

    def fill(self, address: int, byte: int, nbytes: int, index: int, stream: int = 0) -> None: ...

    def create_stream(self, index: int) -> int: ...

    def destroy_stream(self, stream: int, index: int) -> None: ...

    def wait_event(self, stream: int, event: Event, index: int) -> None:
        """Work put into ``stream`` from now on starts after ``event``."""
        ...

    def create_event(self, index: int, timing: bool = False) -> Event: ...

    def synchronize(self, index: int, stream: int | None = None) -> None:
        """Wait for a stream, or for all work of the device."""
        ...
