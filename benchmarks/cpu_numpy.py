"""Speed on the CPU against NumPy, both in one run: ``python benchmarks/cpu_numpy.py``.

The two alternate, every timing realises the whole result inside the timed region, every result is checked, and the
ratio is that of the medians. NumPy writes large results into an array that it was given.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["NBX_BACKEND"] = "cpu"

import numpy as np
import report

import nbx_array as xp

LARGE, SMALL = 10_000_000, 10
M, S = 0.5, 0.3


class Row(NamedTuple):
    """One comparison: what NumPy and what we run, and the ratio to stay below."""

    name: str
    target: float
    numpy: Callable[[], Any]
    ours: Callable[[], Any]
    loops: int  # calls in one timing


def gaussian(namespace: Any, x: Any) -> Any:
    return namespace.exp(-((x - M) ** 2) / (2 * S * S))


def six_calls(namespace: Any, x: Any) -> Any:
    d = x - M
    return namespace.exp(-d * d / S) * 2.0


def assign(x: Any, y: Any) -> Any:  # runs at the call
    x[3:7] = y
    return x


def rows() -> list[Row]:
    rng = np.random.default_rng(0)
    large = [rng.random(LARGE, dtype=np.float32) for _ in range(2)]
    small = [rng.random(SMALL, dtype=np.float32) for _ in range(2)]
    out = np.empty(LARGE, np.float32)
    (x, y), (u, v) = large, small
    (dx, dy), (du, dv) = ([xp.asarray(a, copy=True) for a in pair] for pair in (large, small))
    four, dfour = v[:4].copy(), xp.asarray(v[:4], copy=True)
    return [
        Row("add, 10^7", 1.1, lambda: np.add(x, y, out=out), lambda: xp.realize(dx + dy), 1),
        Row("exp, 10^7", 1.0, lambda: np.exp(x, out=out), lambda: xp.realize(xp.exp(dx)), 1),
        # Both read the same memory: with one of its own, each would push the other's out of the processor's cache.
        Row("sum, 10^7", 0.6, lambda: np.sum(np.asarray(dx)), lambda: xp.realize(xp.sum(dx)), 1),
        Row("exp(-(x-m)**2/(2*s*s)), 10^7", 0.2, lambda: gaussian(np, x), lambda: xp.realize(gaussian(xp, dx)), 1),
        Row("((x-m)**2).sum(), 10^7", 0.2, lambda: ((x - M) ** 2).sum(), lambda: xp.realize(xp.sum((dx - M) ** 2)), 1),
        Row("x + y, 10", 4.0, lambda: u + v, lambda: xp.realize(du + dv), 2000),
        Row("Gaussian of six calls, 10", 1.0, lambda: six_calls(np, u), lambda: xp.realize(six_calls(xp, du)), 2000),
        Row("x[3:7], 10", 5.0, lambda: u[3:7], lambda: du[3:7], 5000),
        Row("x[3:7] = y, 10", 6.0, lambda: assign(u, four), lambda: assign(du, dfour), 2000),
    ]


def seconds(function: Callable[[], Any], loops: int) -> tuple[float, Any]:
    """The time of one call, the mean of so many, and the last call's result."""
    repeats = range(loops - 1)
    start = time.perf_counter()
    for _ in repeats:
        function()
    result = function()
    return (time.perf_counter() - start) / loops, result


def compare(row: Row, rounds: int = 15) -> list[str]:
    """A row of the table: both medians, their ratio and the target."""
    times: tuple[list[float], list[float]] = ([], [])
    seconds(row.numpy, row.loops)
    for _ in range(3):  # an expression may be compiled at its second sight
        seconds(row.ours, row.loops)
    for _ in range(rounds):
        numpy_time, expected = seconds(row.numpy, row.loops)
        our_time, result = seconds(row.ours, row.loops)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=2e-5 if np.ndim(expected) == 0 else 2e-6)
        times[0].append(numpy_time)
        times[1].append(our_time)
    return figures(row.name, row.target, *map(statistics.median, times))


def figures(name: str, target: float, numpy_time: float, our_time: float) -> list[str]:
    ratio = our_time / numpy_time
    return [name, duration(numpy_time), duration(our_time), f"{ratio:.2f}", f"{target:.2f}", verdict(ratio <= target)]


def duration(value: float) -> str:
    unit, factor = next((u, f) for u, f in (("s", 1), ("ms", 1e3), ("µs", 1e6)) if value * f >= 1 or u == "µs")
    return f"{value * factor:.3g} {unit}"


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def process(program: str, **environment: str) -> tuple[float, str]:
    """The time of a whole Python process and what it printed; modules load from their compiled files."""
    chosen = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | environment
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], env=chosen, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout.strip()


def import_times(rounds: int = 15) -> list[str]:
    """Importing each in a fresh process, as the process itself measures it."""
    times: dict[str, list[float]] = {"numpy": [], "nbx_array": []}
    process("import nbx_array")
    for _ in range(rounds):
        for name, measured in times.items():
            program = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
            measured.append(float(process(program)[1]))
    return figures("import", 1.5, *map(statistics.median, times.values()))


def first_results(rounds: int = 5) -> list[list[str]]:
    """A whole process that computes one result, with an empty and with a filled cache."""
    program = "import nbx_array as xp; x = xp.arange(5.0); print(float(xp.sum(xp.exp(-x * x))))"
    empty, filled = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for measured in (empty, filled):
                taken, printed = process(program, NBX_CACHE_DIR=cache)
                assert printed.startswith("1.386318"), printed
                measured.append(taken)
    rows = (("first result, empty cache", 1.5, empty), ("first result, filled cache", 0.5, filled))
    return [
        [name, "", duration(t), "", duration(target), verdict(t <= target)]
        for name, target, measured in rows
        for t in [statistics.median(measured)]
    ]


def main() -> None:
    print(report.heading(report.machine(), ["nbx-array", "numpy", "triton", "llvmlite"]), end="\n\n")
    measured = [*map(compare, rows()), import_times(), *first_results()]
    print(report.table(["float32, elements", "NumPy", "nbx_array", "ratio", "target", ""], measured))


if __name__ == "__main__":
    main()
