"""What the host spends on every function: ``python benchmarks/host_time.py [NAME...]``, which needs no GPU.

The device is the tests' `cuda:0` of host memory, whose launch function is replaced by one that does nothing. So a time
is that of Python and of native code around launches, from the call to the last launch of its result; a GPU's driver
takes some 3.5 µs a launch besides. The calls are those of `benchmarks/functions.py`, on arrays of the same size. What
waits for a number that a kernel finds is left out: no kernel runs. Figures are the least of several rounds, by turns
with `x + y`, which they are given in multiples of.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "backend"))

import fake_cuda
import functions
import pytest
import report
from nbx_array.backend import native
from nbx_array.kernels.pointwise import TABLE

import nbx_array as xp

LOOPS, ROUNDS = 30, 7
WAITING = ("repeat, array", "mask", "nonzero", "isin", "from_dlpack", "unique", "linalg.")
LINALG = ("cross", "outer", "vector_norm", "matrix_norm", "trace", "diagonal", "matrix_transpose")

NOTHING = """
define i32 @launch(ptr %f, i32 %x, i32 %y, i32 %z, i32 %bx, i32 %by, i32 %bz, i32 %s, ptr %q, ptr %a, ptr %e) {
  ret i32 0
}
define i32 @current(ptr %out) {
  store i64 CONTEXT, ptr %out
  ret i32 0
}
"""


def open_device(patch: pytest.MonkeyPatch) -> None:
    """A cuda:0 that launches nothing, and whose context is always found current."""
    driver = fake_cuda.install(patch, fake_cuda.FakeCuda(memory=1 << 32))
    device = driver._device(0)
    code = native.load(NOTHING.replace("CONTEXT", str(device.cells.context)), ["launch", "current"])
    device.cells.get_context = code["current"]
    driver.api._addresses["launch"] = code["launch"]
    xp.set_device("cuda:0")


def microseconds(call: Callable[[], Any]) -> float:
    start = time.thread_time()
    for _ in range(LOOPS):
        call()
    return (time.thread_time() - start) / LOOPS * 1e6


def realized(call: functions.Call, operands: functions.Data) -> Callable[[], None]:
    def run() -> None:
        result = call(xp, operands)
        for array in result if isinstance(result, tuple) else (result,):
            xp.realize(array)

    return run


def main() -> None:
    operands = functions.Data(*map(xp.asarray, functions.data()))
    calls = {name: functions.element_wise(name, row.arity) for name, row in TABLE.items() if hasattr(xp, name)}
    calls |= {
        name: call
        for name, call in functions.CALLS.items()
        if not name.startswith(WAITING) or name.removeprefix("linalg.") in LINALG
    }
    add = realized(lambda f, d: d.x + d.y, operands)
    add(), add()
    print(report.heading(report.machine(), ["nbx-array", "triton", "numpy"]), end="\n\n")
    print("| function | µs | of x + y | launches |\n| --- | ---: | ---: | ---: |")
    for name in sys.argv[1:] or calls:
        run = realized(calls[name], operands)
        run(), run()  # an expression is compiled when it is seen again
        before = xp.counters()
        run()
        launches = (xp.counters() - before)["launches"]
        gc.collect()
        pairs = [(microseconds(run), microseconds(add)) for _ in range(ROUNDS)]
        least, least_add = map(min, zip(*pairs, strict=True))
        print(f"| {name} | {least:.1f} | {least / least_add:.1f} | {launches} |", flush=True)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        open_device(patch)
        main()
