"""A compiled kernel that can be launched, made once for each kernel, argument types and device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import compiler, native, recording
from .contract import CompiledKernel, Device, get_driver


class Launcher:
    """A kernel on a device.

    ``run(*args, gx, gy, gz)`` launches the whole grid, on the CPU in this thread. ``spread(args, gx, gy, gz)`` may use
    all cores. Pointers are addresses as ints. Both are reentrant.
    """

    __slots__ = ("kernel", "run", "spread")

    def __init__(self, kernel: CompiledKernel, run: Callable[..., None], spread: Callable[..., None]) -> None:
        self.kernel = kernel
        self.run = run
        self.spread = spread

    def launch(self, args: tuple[Any, ...], grid: int, elements: int) -> None:
        """Launch programs that take so many elements between them: over all cores where these are many."""
        if grid == 1 or elements <= LITTLE:
            self.run(*args, grid, 1, 1)
        else:
            self.spread(args, grid, 1, 1)


LITTLE = 1 << 14
"""Elements that one thread takes sooner than others wake: on the CPU that takes some 50 µs."""

Key = tuple[Any, ...]
Made = TypeVar("Made")
_launchers: dict[Key, Launcher] = {}
_missing: dict[Key, str] = {}  # what cannot be compiled here, and why: it is not looked for again
_launch_cells: dict[str, native.Cell] = {}
_stream_cells: dict[Device, native.Cell] = {}


def get_launcher(
    source: compiler.Source,
    signature: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, Any], ...],
    device: Device,
    aligned: bool = True,
    options: tuple[tuple[str, Any], ...] = (),
) -> Launcher:
    """The launcher of a kernel on a device, compiled at the first call with these arguments."""
    wanted = aligned
    if device.backend in compiler.OWN_BACKENDS:
        aligned = False  # alignment changes nothing there, and would compile everything twice
    # Types beside the values: 1, 1.0 and True are equal, and make different kernels.
    key = (source, signature, constants, tuple(type(v) for _, v in constants), device, aligned, options)
    launcher = _launchers.get(key)
    if launcher is None:
        with native.making:
            launcher = _launchers.get(key)
            if launcher is None:
                driver = get_driver(device.backend)
                target = driver.target(device.index)
                recording.announce(recording.Spec(source, signature, constants, wanted, options), device, target)
                if key in _missing:
                    raise compiler.KernelMissing(_missing[key])
                try:
                    kernel = compiler.compile_kernel(source, signature, constants, target, aligned, options)
                except compiler.KernelMissing as error:
                    _missing[key] = str(error)
                    raise
                launcher = _launchers[key] = Launcher(kernel, *driver.bind(kernel, device.index))
    return launcher


def special_or_general(make: Callable[[bool], Made]) -> Made:
    """``make(False)``, which wants a kernel for the case at hand, or ``make(True)``, which wants one for any case,
    where the first is missing on a machine without triton: the archive holds those for any case."""
    try:
        return make(False)
    except compiler.KernelMissing:
        return make(True)


def launch_cell(backend: str) -> native.Cell:
    """The number of launches of a backend so far, which native code adds to."""
    return _launch_cells.setdefault(backend, native.Cell())


def launch_count(backend: str | None = None) -> int:
    """Launches of one backend, or of all."""
    if backend is not None:
        return launch_cell(backend).value
    return sum(cell.value for cell in _launch_cells.values())


def stream_cell(device: Device) -> native.Cell:
    """The stream that launches on a device go to; native code reads it at each launch. 0 is the default stream."""
    return _stream_cells.setdefault(device, native.Cell())
