"""Does a driver keep the contract? The checks run on the device itself, through the launcher.

The tests run ``verify_driver(device)`` for every backend, ``python -m nbx_array doctor`` runs it on a user's machine.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .checked_launch import launch
from .compiler import KernelMissing, Source
from .contract import WITHOUT_FLOAT64, Device, get_driver
from .launcher import Launcher, get_launcher, launch_count, stream_cell

_SOURCE = """
import triton
import triton.language as tl


@triton.jit
def affine(x, o, n, scale, rows, BLOCK: tl.constexpr):
    # Row r of o is x * scale + r: the grid is (blocks of a row, rows).
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1).to(tl.int64)
    m = (i < n) & (row < rows)
    tl.store(o + row * n + i, tl.load(x + i, mask=m, other=0) * scale + row.to(tl.float32), mask=m)


@triton.jit
def scalars(o8, o16, o32, o64, f32, f64, a, b, c, d, e, f, g, h, p, q, r):
    tl.store(o8, a)
    tl.store(o16, b)
    tl.store(o32, c)
    tl.store(o64, d)
    tl.store(o8 + 1, e.to(tl.int8, bitcast=True))
    tl.store(o16 + 1, f.to(tl.int16, bitcast=True))
    tl.store(o32 + 1, g.to(tl.int32, bitcast=True))
    tl.store(o64 + 1, h.to(tl.int64, bitcast=True))
    tl.store(f32, p)
    tl.store(f64, q)
    tl.store(o8 + 2, r.to(tl.int8))
"""
_BLOCK = 256
SCALARS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32")


class Check(NamedTuple):
    """One check: what it is about, what is wrong, None if nothing is, and whether its kernel was there to be run."""

    name: str
    problem: str | None
    ran: bool = True


def verify_driver(device: Device) -> list[Check]:
    """Run every check on a device."""
    results = []
    for name, check in _CHECKS.items():
        try:
            with _Bench(device) as bench:
                check(bench)
        except KernelMissing as error:
            results.append(Check(name, str(error), ran=False))
        except Exception as error:  # whatever is wrong belongs into the report
            results.append(Check(name, f"{type(error).__name__}: {error}"))
        else:
            results.append(Check(name, None))
    return results


def affine(device: Device) -> Launcher:
    """The kernel of most checks."""
    signature = (("x", "*fp32"), ("o", "*fp32"), ("n", "i64"), ("scale", "fp32"), ("rows", "i32"))
    return get_launcher(Source.generated(_SOURCE, "affine"), signature, (("BLOCK", _BLOCK),), device)


def scalars(device: Device) -> Launcher:
    """The kernel with an argument of every type, of which fp64 is fp32 where there is none."""
    double = "fp32" if device.backend in WITHOUT_FLOAT64 else "fp64"
    names = ("o8", "o16", "o32", "o64", "f32", "f64")
    pointers = ("*i8", "*i16", "*i32", "*i64", "*fp32", f"*{double}")
    signature = (*zip(names, pointers, strict=True), *zip("abcdefghpqr", (*SCALARS, double, "i1"), strict=True))
    return get_launcher(Source.generated(_SOURCE, "scalars"), signature, (), device)


class Buffer:
    """Device memory with the attributes that `checked_launch` looks at."""

    def __init__(self, device: Device, ptr: int, nbytes: int, dtype: Any):
        self.device, self.ptr, self.nbytes, self.dtype, self.closed = device, ptr, nbytes, np.dtype(dtype), False


class _Bench:
    """A device with what the checks share; frees what they allocate."""

    def __init__(self, device: Device):
        self.device, self.index = device, device.index
        self.driver = get_driver(device.backend)
        self.cell = stream_cell(device)
        self._addresses: list[int] = []
        self._lock = threading.Lock()

    def __enter__(self) -> _Bench:
        return self

    def __exit__(self, *exception: object) -> None:
        self.driver.synchronize(self.index)
        for address in self._addresses:
            self.driver.free(address, self.index)

    def empty(self, count: int, dtype: Any = np.float32) -> Buffer:
        nbytes = count * np.dtype(dtype).itemsize
        address = self.driver.allocate(nbytes, self.index)
        with self._lock:
            self._addresses.append(address)
        return Buffer(self.device, address, nbytes, dtype)

    def put(self, values: Any) -> Buffer:
        values = np.ascontiguousarray(values)
        buffer = self.empty(values.size, values.dtype)
        self.driver.copy_from_host(buffer.ptr, values.ctypes.data, values.nbytes, self.index, self.cell.value)
        return buffer

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        values = np.empty(buffer.nbytes // buffer.dtype.itemsize, buffer.dtype)
        self.driver.copy_to_host(values.ctypes.data, buffer.ptr, values.nbytes, self.index, self.cell.value)
        return values

    def affine(self) -> Launcher:
        return affine(self.device)

    @contextmanager
    def stream(self, stream: int) -> Iterator[None]:
        """Launch on a stream."""
        before, self.cell.value = self.cell.value, stream
        try:
            yield
        finally:
            self.cell.value = before

    @contextmanager
    def streams(self, count: int) -> Iterator[list[int]]:
        made = [self.driver.create_stream(self.index) for _ in range(count)]
        try:
            yield made
        finally:
            for stream in made:
                self.driver.destroy_stream(stream, self.index)


def _expect(condition: object, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)


def _expect_equal(found: Any, expected: Any, what: str) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    different = np.flatnonzero(found != expected)
    if different.size:
        k = different[0]
        raise AssertionError(f"{what}: {different.size} of {found.size} differ, at {k} {found[k]} is not {expected[k]}")


def _expect_refusal(kinds: type[Exception] | tuple[type[Exception], ...], action: Callable[[], Any], what: str) -> None:
    try:
        action()
    except kinds:
        return
    raise AssertionError(f"{what} is not refused")


# ------------------------------------------------------------------------------------------------ launches


def _grids(bench: _Bench) -> None:
    for n, rows in ((1, 1), (_BLOCK - 1, 1), (_BLOCK, 2), (17 * _BLOCK + 1, 3)):
        x = np.arange(n, dtype=np.float32) - n / 2
        source, out = bench.put(x), bench.put(np.full(n * rows + 1, -1, np.float32))
        launch(bench.affine(), (-(-n // _BLOCK), rows), source, out, n, 0.5, rows)
        expected = x * np.float32(0.5) + np.arange(rows, dtype=np.float32)[:, None]
        _expect_equal(bench.get(out), [*expected.ravel(), -1], f"a grid of {-(-n // _BLOCK)} by {rows} programs")


def _scalar_arguments(bench: _Bench) -> None:
    double = "fp32" if bench.device.backend in WITHOUT_FLOAT64 else "fp64"
    types, kernel = (*SCALARS, double, "i1"), scalars(bench.device)
    dtypes = (np.int8, np.int16, np.int32, np.int64, np.float32, np.float32 if double == "fp32" else np.float64)
    outs = [bench.put(np.zeros(3, t)) for t in dtypes]
    low = [-(2 ** (bits - 1)) for bits in (8, 16, 32, 64)]
    high = [2**bits - 1 for bits in (8, 16, 32, 64)]
    for values in ((*low, *high, 0.1, -1e-310, True), (-1, -1, -1, -1, 1, 2, 3, 2**63, -1.0, float("inf"), False)):
        launch(kernel, 1, *outs, *values)
        for k, out in enumerate(outs):
            found, bits = bench.get(out), 8 << k
            if k < 4:
                _expect_equal(found[0], values[k], f"an argument of type {types[k]}")
                _expect_equal(int(found[1]) % 2**bits, values[4 + k], f"an argument of type {types[4 + k]}")
            else:
                _expect_equal(found[0], found.dtype.type(values[4 + k]), f"an argument of type {types[4 + k]}")
        _expect_equal(bench.get(outs[0])[2], int(values[-1]), "an argument of type i1")


def _counting(bench: _Bench) -> None:
    x, out, kernel = bench.put(np.ones(1, np.float32)), bench.put(np.zeros(1, np.float32)), bench.affine()
    before = launch_count(bench.device.backend)
    launch(kernel, 0, x, out, 1, 1.0, 1)
    launch(kernel, (1, 0, 1), x, out, 1, 1.0, 1)
    _expect(launch_count(bench.device.backend) == before, "an empty grid is counted as a launch")
    _expect_equal(bench.get(out), 0, "an empty grid writes")
    launch(kernel, 1, x, out, 1, 1.0, 1)
    _expect(launch_count(bench.device.backend) == before + 1, "one launch is not counted as one")


def _refusals(bench: _Bench) -> None:
    x, out, kernel = bench.put(np.ones(8, np.float32)), bench.empty(8), bench.affine()
    good = (x, out, 8, 1.0, 1)
    _expect_refusal(TypeError, lambda: launch(kernel, 1, *good[:-1]), "an argument too few")
    _expect_refusal(TypeError, lambda: launch(kernel, 1, *good, 1), "an argument too many")
    _expect_refusal(TypeError, lambda: kernel.run(x.ptr, out.ptr, 8, 1.0, 1, 1, 1), "an argument too few for run")
    _expect_refusal(TypeError, lambda: launch(kernel, 1, x.ptr, out, 8, 1.0, 1), "an integer for an array")
    _expect_refusal(TypeError, lambda: launch(kernel, 1, x, out, "8", 1.0, 1), "a string for an integer")
    _expect_refusal(TypeError, lambda: launch(kernel, 1, x, out, 8.5, 1.0, 1), "a float for an integer")
    _expect_refusal(TypeError, lambda: launch(kernel, 1, x, out, 8, None, 1), "None for a float")
    _expect_refusal(OverflowError, lambda: launch(kernel, 1, x, out, 8, 1.0, 2**31), "an integer out of range")
    _expect_refusal(OverflowError, lambda: launch(kernel, 1, x, out, 2**63, 1.0, 1), "an integer out of range")
    _expect_refusal(ValueError, lambda: launch(kernel, -1, *good), "a negative grid")
    _expect_refusal((ValueError, OverflowError), lambda: launch(kernel, 2**31, *good), "a grid too large")
    wrong = Buffer(bench.device, x.ptr, 32, np.int32)
    _expect_refusal(TypeError, lambda: launch(kernel, 1, wrong, out, 8, 1.0, 1), "an array of another dtype")
    other = Buffer(Device("another", 0), x.ptr, 32, np.float32)
    _expect_refusal(ValueError, lambda: launch(kernel, 1, other, out, 8, 1.0, 1), "an array of another device")
    closed = Buffer(bench.device, x.ptr, 32, np.float32)
    closed.closed = True
    _expect_refusal(ValueError, lambda: launch(kernel, 1, closed, out, 8, 1.0, 1), "a closed array")
    foreign = replace(kernel.kernel, kind="msl", target=kernel.kernel.target._replace(backend="another"))
    _expect_refusal(ValueError, lambda: bench.driver.bind(foreign, bench.index), "an artifact of another backend")


def _threads(bench: _Bench) -> None:
    kernel, count, repeats, problems = bench.affine(), 4, 50, []
    kernel.run(bench.empty(1).ptr, bench.empty(1).ptr, 0, 0.0, 0, 1, 1, 1)

    def work(number: int) -> None:
        try:
            x, n = bench.put(np.full(_BLOCK, number, np.float32)), _BLOCK
            for repeat in range(repeats):
                out = bench.empty(n)
                kernel.run(x.ptr, out.ptr, n, float(repeat), 1, 1, 1, 1)
                _expect_equal(bench.get(out), np.float32(number * repeat), "a launch beside others")
        except Exception as error:
            problems.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if problems:
        raise problems[0]


# ------------------------------------------------------------------------------------------------ memory


def _copies(bench: _Bench) -> None:
    driver, index = bench.driver, bench.index
    for n in (1, 1023, 4097):
        data = (np.arange(n) * 7 % 251).astype(np.uint8)
        a, b, back = bench.put(data), bench.empty(n, np.uint8), np.zeros(n, np.uint8)
        driver.copy(b.ptr, a.ptr, n, index)
        driver.copy_to_host(back.ctypes.data, b.ptr, n, index)
        _expect_equal(back, data, f"{n} bytes copied to the device, on it and back")
        pinned = driver.allocate_pinned(n, index)
        try:
            ctypes.memmove(pinned, data[::-1].tobytes(), n)
            driver.copy_from_host(a.ptr, pinned, n, index, wait=False)
            driver.copy(b.ptr, a.ptr, n, index)
            driver.synchronize(index, 0)
            ctypes.memset(pinned, 0, n)
            driver.copy_to_host(pinned, b.ptr, n, index, wait=False)
            driver.synchronize(index)
            _expect_equal(list(ctypes.string_at(pinned, n)), data[::-1], f"{n} bytes copied by pinned memory")
        finally:
            driver.free_pinned(pinned, index)
    x, pinned = bench.put(np.arange(8, dtype=np.float32)), driver.allocate_pinned(32, index)
    try:
        launch(bench.affine(), 1, x, Buffer(bench.device, pinned, 32, np.float32), 8, 0.5, 1)
        driver.synchronize(index)
        found = np.frombuffer(ctypes.string_at(pinned, 32), np.float32)
        _expect_equal(found, np.arange(8) * 0.5, "what a kernel wrote to pinned memory")
    finally:
        driver.free_pinned(pinned, index)
    driver.copy(a.ptr, b.ptr, 0, index)
    driver.copy_from_host(a.ptr, data.ctypes.data, 0, index)


def _fills(bench: _Bench) -> None:
    data = np.arange(64, dtype=np.uint8)
    buffer = bench.put(data)
    bench.driver.fill(buffer.ptr + 3, 0xAB, 50, bench.index)
    data[3:53] = 0xAB
    _expect_equal(bench.get(buffer), data, "a fill of 50 bytes")


def _memory(bench: _Bench) -> None:
    driver, index = bench.driver, bench.index
    free, total = driver.memory(index)
    _expect(0 < free <= total, f"{free} bytes free of {total}")
    _expect(driver.properties(index).total_memory > 0, "no total memory")
    for n in (0, 1, 100):
        _expect(bench.empty(n, np.uint8).ptr % 64 == 0, f"an allocation of {n} bytes is not aligned to 64")
    _expect_refusal(MemoryError, lambda: driver.allocate(1 << 60, index), "an allocation of 2^60 bytes")
    _expect_equal(bench.get(bench.put(np.arange(5))), np.arange(5), "memory after an allocation failed")


# ------------------------------------------------------------------------------------------------ order


def _events(bench: _Bench) -> None:
    """A second stream reads, behind an event, what the first one writes after long work."""
    n, steps = 1 << 16, 100
    kernel, blocks = bench.affine(), -(-n // _BLOCK)
    with bench.streams(2) as (first, second):
        x, y, done = bench.put(np.zeros(n, np.float32)), bench.empty(n), bench.driver.create_event(bench.index)
        bench.driver.synchronize(bench.index)
        with bench.stream(first):
            for _ in range(steps):
                kernel.run(x.ptr, y.ptr, n, 2.0, 1, blocks, 1, 1)
            bench.driver.fill(x.ptr, 0x40, 4 * n, bench.index, first)
            done.record(first)
        bench.driver.wait_event(second, done, bench.index)
        with bench.stream(second):
            kernel.run(x.ptr, y.ptr, n, 0.5, 1, blocks, 1, 1)
            found = bench.get(y)
        expected = np.frombuffer(b"\x40" * 4, np.float32)[0] * np.float32(0.5)
        _expect_equal(found, np.full(n, expected), "a stream that waits for an event of another")
        done.synchronize()
        _expect(done.done(), "an event that was waited for is not done")


def _clocks(bench: _Bench) -> None:
    driver, index = bench.driver, bench.index
    start, end, untimed = driver.create_event(index, True), driver.create_event(index, True), driver.create_event(index)
    x = bench.put(np.zeros(1, np.float32))
    start.record()
    bench.affine().run(x.ptr, x.ptr, 1, 1.0, 1, 1, 1, 1)
    end.record()
    untimed.record()
    end.synchronize()
    untimed.synchronize()
    _expect(end.milliseconds_since(start) >= 0, "time runs backwards between two events")
    _expect_refusal(
        ValueError, lambda: untimed.milliseconds_since(start), "reading the time of an event without timing"
    )
    _expect_refusal(ValueError, lambda: end.milliseconds_since(untimed), "reading time since an event without timing")


_CHECKS: dict[str, Callable[[_Bench], None]] = {
    "grids of one and many programs": _grids,
    "scalar arguments of every type": _scalar_arguments,
    "counting launches": _counting,
    "wrong arguments are refused": _refusals,
    "launches from several threads": _threads,
    "copies": _copies,
    "fills": _fills,
    "allocation": _memory,
    "events order streams": _events,
    "events as clocks": _clocks,
}
