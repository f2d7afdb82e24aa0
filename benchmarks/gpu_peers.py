"""Speed on a GPU against torch and CuPy, all in one run: ``python benchmarks/gpu_peers.py [cuda:0]``.

The libraries alternate; each makes a call that is not timed first, so that it meets its own code in the processor's
caches. A timing of a large array is one call between two synchronisations, a timing of a small one a thousand calls
between two; figures are medians. Results are checked against NumPy on a sample. What is not installed
is left out. The bytes are those that the function must move, held against the fastest device copy of the same run.
"""

from __future__ import annotations

import contextlib
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import report
from nbx_array.backend.contract import get_device, get_driver

import nbx_array as xp

LARGE, SMALL = 1 << 28, 1024
M, S = 0.5, 0.3
STRIDE = 1009  # of the sample that is checked


class Library:
    """What the benchmark needs of a library; this one is ours."""

    name = "nbx_array"

    def __init__(self, namespace: Any, index: int) -> None:
        self.namespace, self.device = namespace, f"cuda:{index}"

    def put(self, host: np.ndarray) -> Any:
        return self.namespace.asarray(host, device=self.device)

    def get(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def realize(self, array: Any) -> Any:
        return self.namespace.realize(array)

    def synchronize(self) -> None:
        self.namespace.synchronize(self.device)

    def copy(self, source: Any, target: Any) -> None:
        target[...] = source


class Torch(Library):
    name = "torch"

    def get(self, array: Any) -> np.ndarray:
        return array.cpu().numpy()

    def realize(self, array: Any) -> Any:
        return array

    def synchronize(self) -> None:
        self.namespace.cuda.synchronize(self.device)

    def copy(self, source: Any, target: Any) -> None:
        target.copy_(source)


class CuPy(Library):
    name = "CuPy"

    def __init__(self, namespace: Any, index: int) -> None:
        super().__init__(namespace, index)
        self.device = namespace.cuda.Device(index)
        self.device.use()

    def put(self, host: np.ndarray) -> Any:
        return self.namespace.asarray(host)

    def get(self, array: Any) -> np.ndarray:
        return self.namespace.asnumpy(array)

    def realize(self, array: Any) -> Any:
        return array

    def synchronize(self) -> None:
        self.device.synchronize()

    def copy(self, source: Any, target: Any) -> None:
        self.namespace.copyto(target, source)


def libraries(index: int) -> list[Library]:
    """Ours first, then the peers that are here."""
    found = [Library(xp, index)]
    for peer, module in ((Torch, "torch"), (CuPy, "cupy")):
        with contextlib.suppress(ImportError):
            found.append(peer(importlib.import_module(module), index))
    return found


def gaussian(namespace: Any, x: Any) -> Any:
    return namespace.exp(-((x - M) ** 2) / (2 * S * S))


def variance(namespace: Any, x: Any) -> Any:
    return x.var(correction=0) if namespace.__name__ == "torch" else namespace.var(x)


class Row(NamedTuple):
    """One function of ``x`` and ``y``, and the time to stay below."""

    name: str
    function: Callable[[Any, Any, Any], Any]
    size: int
    arrays_moved: int  # large arrays read and written
    bound: float  # of our time, relative to
    peer: str  # a library, or the better of them

    def aim(self) -> str:
        return f"≤ {self.bound:g}× {self.peer}"

    def verdict(self, times: dict[str, float]) -> str:
        """Whether the measured times reach the aim; nothing where the peer is absent."""
        others = [t for name, t in times.items() if name != Library.name and self.peer in (name, "the better")]
        return "" if not others else "met" if times[Library.name] <= self.bound * min(others) else "MISSED"


ROWS = [
    Row("add", lambda n, x, y: x + y, LARGE, 3, 1.02, "torch"),
    Row("exp", lambda n, x, y: n.exp(x), LARGE, 2, 1.02, "torch"),
    Row("Gaussian", lambda n, x, y: gaussian(n, x), LARGE, 2, 0.21, "torch"),
    Row("sum", lambda n, x, y: n.sum(x), LARGE, 1, 1.0, "the better"),
    Row("max", lambda n, x, y: n.max(x), LARGE, 1, 1.0, "the better"),
    Row("var", lambda n, x, y: variance(n, x), LARGE, 1, 0.8, "the better"),
    Row("add", lambda n, x, y: x + y, SMALL, 0, 0.8, "torch"),
    Row("Gaussian", lambda n, x, y: gaussian(n, x), SMALL, 0, 0.3, "torch"),
]


def seconds(library: Library, call: Callable[[], Any], loops: int) -> float:
    call()
    library.synchronize()
    start = time.perf_counter()
    for _ in range(loops):
        call()
    library.synchronize()
    return (time.perf_counter() - start) / loops


def medians(calls: dict[str, tuple[Library, Callable[[], Any]]], loops: int, rounds: int = 15) -> dict[str, float]:
    """The median time of a call by library; the libraries alternate."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for r in range(rounds + 3):
        for name, (library, call) in calls.items():
            taken = seconds(library, call, loops)
            if r >= 3:
                times[name].append(taken)
    return {name: statistics.median(t) for name, t in times.items()}


def check(row: Row, library: Library, result: Any, host: tuple[np.ndarray, np.ndarray]) -> None:
    """Hold a result against NumPy's in float64, on a sample where it is large."""
    if len(result.shape) == 0:
        expected = row.function(np, host[0].astype(np.float64), None)
    else:
        result = result[::STRIDE]
        expected = row.function(np, *(a[::STRIDE].astype(np.float64) for a in host))
    tolerance = (
        1e-5 if type(library) is Library else 1e-3
    )  # what the peers do is theirs: CuPy's var of 2^28 is off by 1e-4
    np.testing.assert_allclose(
        library.get(result), expected, rtol=tolerance, atol=1e-7, err_msg=f"{library.name} {row.name}"
    )


def launches(call: Callable[[], Any]) -> int:
    before = xp.counters()
    call()
    return (xp.counters() - before)["launches"]


def main() -> None:
    device = get_device(sys.argv[1] if len(sys.argv) > 1 else "cuda:0")
    found = libraries(device.index)
    name = get_driver(device.backend).properties(device.index).name
    print(report.heading(name, ["nbx-array", "triton", "numpy", "torch", "cupy-cuda13x", "cupy-cuda12x"]), end="\n\n")
    rng = np.random.default_rng(0)
    host = {size: (rng.random(size, np.float32), rng.random(size, np.float32)) for size in (SMALL, LARGE)}
    there = {size: {lib.name: tuple(map(lib.put, pair)) for lib in found} for size, pair in host.items()}

    copies = {lib.name: (lib, lambda lib=lib: lib.copy(*there[LARGE][lib.name])) for lib in found}
    copy_rate = 8 * LARGE / min(medians(copies, 1).values())
    for lib in found:  # the copy has overwritten y
        there[LARGE][lib.name] = tuple(map(lib.put, host[LARGE]))

    lines = []
    for row in ROWS:
        calls = {}
        for lib in found:
            x, y = there[row.size][lib.name]

            def call(lib: Library = lib, x: Any = x, y: Any = y, row: Row = row) -> Any:
                return lib.realize(row.function(lib.namespace, x, y))

            check(row, lib, call(), host[row.size])
            calls[lib.name] = (lib, call)
        times = medians(calls, 1 if row.size == LARGE else 1000)
        ours = times[Library.name]
        rate = row.arrays_moved * 4 * row.size / ours / copy_rate
        lines.append(
            [
                f"{row.name}, {'2^28' if row.size == LARGE else row.size}",
                *(f"{times[lib.name] * 1e6:.1f}" for lib in found),
                " ".join(f"{ours / times[lib.name]:.2f}" for lib in found[1:]),
                row.aim(),
                row.verdict(times),
                f"{rate:.0%}" if row.arrays_moved else "",
                str(launches(calls[Library.name][1])),
            ]
        )
    peers = [lib.name for lib in found[1:]]
    columns = ["float32, elements", *(f"{lib.name} µs" for lib in found), f"ratio to {' '.join(peers)}", "aim", ""]
    print(report.table([*columns, "bytes/s of a copy", "kernels"], lines))
    print(f"\nThe fastest device copy of 2^28 float32 moved {copy_rate / 1e12:.2f} TB/s, bytes read and written.")


if __name__ == "__main__":
    main()
