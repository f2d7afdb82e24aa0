"""Controls beyond the standard: when things run, where, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbx_array import _expression, _journal
from nbx_array import memory as _memory
from nbx_array._array import Array, settle_in_memory
from nbx_array.backend import checked_launch, compiler, detect
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import launch_count
from nbx_array.kernels import signature
from nbx_array.memory import MemoryInfo, streams
from nbx_array.memory.statistics import traffic


def realize(*arrays: Array) -> Any:
    """Run the deferred expressions of the arrays now. Returns the array, or a tuple of several.

    >>> xp.realize(xp.ones(2) + 1)
    Array([2., 2.], device='cpu')
    """
    for x in arrays:
        if type(x) is not Array:
            raise TypeError(f"realize: expected an array, got {type(x).__name__}")
        _expression.realize(x)
    return x if len(arrays) == 1 else arrays


def synchronize(device: Any = None) -> None:
    """Wait until all work of a device is done, of the current one if None. Faults of earlier kernels surface here."""
    streams.synchronize(_found(device))


def set_device(device: Any) -> None:
    """Make a device this thread's current one, where new arrays are made; None goes back to the default.

    Raises ValueError for a name that no device has, RuntimeError where its backend is absent.
    """
    detect.set_device(device)


@contextmanager
def device(name: Any) -> Iterator[Device]:
    """A block in which a device is this thread's current one.

    >>> with xp.device("cpu"):
    ...     xp.ones(2).device
    cpu
    """
    before = detect.default_device()
    detect.set_device(name)
    try:
        yield detect.default_device()
    finally:
        detect.set_device(before)


@contextmanager
def stream(handle: int, device: Any = None) -> Iterator[None]:
    """A block in which a device's work goes to a native stream, given by its handle; 0 is the default stream.

    Work of before is done first, and later work waits for that of the block.
    """
    target = _found(device)
    before = streams.current_stream(target)
    streams.set_stream(target, int(handle))
    try:
        yield
    finally:
        streams.set_stream(target, before)


def memory_info(device: Any = None) -> MemoryInfo:
    """Bytes of a device's memory: live, cached, their peak, the limit, free and total."""
    _journal.sweep()
    return _memory.memory_info(_found(device))


def memory_limit(nbytes: int | None, device: Any = None) -> None:
    """Let arrays on a device take at most so many bytes, or as many as there are if None."""
    _memory.memory_limit(nbytes, _found(device))


def empty_cache(device: Any = None) -> None:
    """Give a device's cached free blocks back to its driver."""
    _journal.sweep()
    _memory.empty_cache(_found(device))


class Counters(dict[str, int]):
    """Counts since the program began; `after - before` gives those between."""

    def __sub__(self, other: dict[str, int]) -> Counters:
        return Counters({name: count - other.get(name, 0) for name, count in self.items()})


def counters() -> Counters:
    """What has happened so far, on all devices together.

    launches: kernels launched; fused: of those, kernels of expressions of more than one operation; compilations;
    bytes_to_device, bytes_to_host, bytes_on_device: copies; synchronisations: times the host waited for a device.

    >>> before = xp.counters()
    >>> y = xp.realize(xp.ones(2) + 1)
    >>> (xp.counters() - before)["bytes_to_host"]
    0
    """
    return Counters(
        launches=launch_count(),
        fused=signature.fused_runs(),
        compilations=compiler.compilations.value,
        **traffic.snapshot(),
    )


def warmup(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function so that every kernel it needs is compiled, fused ones too, and return its result.

    At first sight an expression may run operation by operation; here it is called twice, as if seen before.
    """
    if not callable(function):
        raise TypeError(f"warmup: expected a function, got {type(function).__name__}")
    within, _expression.warming.runs = _expression.warming.runs, True
    try:
        for _ in range(2):
            result = function(*args, **kwargs)
            for expression in _journal.pending():
                _expression.realize(expression)
    finally:
        _expression.warming.runs = within
    return result


class _Buffer:
    """An array as an argument of a user's kernel."""

    def __init__(self, x: Array) -> None:
        view = settle_in_memory(x).memory()
        for reader in _journal.take_readers(view.storage):  # the kernel may write
            _expression.realize(reader)
        self.ptr = view.address
        self.nbytes = view.nbytes
        self.device = view.storage.device
        self.dtype = view.dtype


def launch(kernel: Any, grid: Any, *args: Any, **keywords: Any) -> None:
    """Launch your own `@triton.jit` kernel on arrays.

    grid: one to three integers, or a function of the arguments' dictionary. args, keywords: the kernel's arguments;
    an array gives the address of its first element (strides are yours to pass), complex arrays go in as a real view.
    `tl.constexpr` parameters and compiler options such as num_warps are keywords. The kernel sees the arrays' values at
    the time of the call, and what it writes is seen by everything after.
    Raises TypeError for arguments that the kernel does not take, ValueError for arrays on other devices.
    """
    checked_launch.launch(
        kernel,
        grid,
        *(_Buffer(x) if isinstance(x, Array) else x for x in args),
        **{name: _Buffer(x) if isinstance(x, Array) else x for name, x in keywords.items()},
    )


def _found(device: Any) -> Device:
    return detect.default_device() if device is None else detect.find_device(device)
