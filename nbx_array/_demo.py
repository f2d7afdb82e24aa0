"""``python -m nbx_array demo``: code written for the standard, on the default device and under NumPy, side by side."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import array_api_compat
import numpy as np
import rich.box
import rich.console
import rich.live
import rich.table
import scipy.stats
import sklearn.datasets

import nbx_array

REPEATS = 5
TOLERANCE = 1e-10
"""Of the largest difference from NumPy's result, relative to the largest value."""

HEADING = """\
The same code under NumPy and under nbx_array, on the data sets digits (1797 by 64) and breast cancer (569 by 30). \
Times are medians until the result lies in the host's memory, with every kernel compiled before."""


def k_means(x: Any, k: int, iterations: int = 20) -> Any:
    """The centres of ``k`` clusters after Lloyd's iterations; rows of ``x`` at equal distances are where they start."""
    xp = array_api_compat.array_namespace(x)
    numbers = xp.arange(k, device=array_api_compat.device(x))
    centres = x[:: x.shape[0] // k, :][:k, :]
    for _ in range(iterations):
        distances = xp.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        member = xp.astype(xp.argmin(distances, axis=1)[:, None] == numbers, x.dtype)
        sizes = xp.sum(member, axis=0)[:, None]
        centres = xp.where(sizes > 0, xp.matmul(member.T, x) / xp.where(sizes > 0, sizes, 1.0), centres)
    return centres


def logistic_regression(x: Any, y: Any, steps: int = 200, rate: float = 1.0) -> Any:
    """The weights, the intercept last, after gradient descent on the logistic loss; ``y`` holds 0 and 1."""
    xp = array_api_compat.array_namespace(x)
    x = xp.concat([x, xp.ones((x.shape[0], 1), dtype=x.dtype, device=array_api_compat.device(x))], axis=1)
    weights = xp.zeros(x.shape[1], dtype=x.dtype, device=array_api_compat.device(x))
    for _ in range(steps):
        error = 1 / (1 + xp.exp(-xp.matmul(x, weights))) - y
        weights = weights - rate / x.shape[0] * xp.matmul(x.T, error)
    return weights


def correlation(x: Any, y: Any) -> Any:
    """Pearson's correlation of every column of ``x`` with ``y``."""
    return scipy.stats.pearsonr(x, y[:, None], axis=0).statistic


class Step(NamedTuple):
    """One row of the table: a function of arrays, and its data as NumPy has it."""

    name: str
    function: Callable[..., Any]
    data: tuple[np.ndarray, ...]


def steps() -> list[Step]:
    """The demo's functions on data that scikit-learn ships."""
    digits = sklearn.datasets.load_digits().data
    cells, malignant = sklearn.datasets.load_breast_cancer(return_X_y=True)
    malignant = malignant.astype(cells.dtype)
    scores = scipy.stats.zscore(cells)
    return [
        Step("k-means", lambda x: k_means(x, 10), (digits,)),
        Step("logistic regression", logistic_regression, (scores, malignant)),
        Step("zscore of SciPy", scipy.stats.zscore, (cells,)),
        Step("pearsonr of SciPy", correlation, (cells, malignant)),
    ]


def measure(function: Callable[..., Any], arrays: tuple[Any, ...]) -> tuple[np.ndarray, float]:
    """The result in the host's memory, and the median time until it is there."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = np.asarray(function(*arrays))
        times.append(time.perf_counter() - start)
    return result, statistics.median(times)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def main() -> int:
    """Print the table; 1 where a result is not NumPy's."""
    console = rich.console.Console()
    device = nbx_array.empty(0).device
    table = rich.table.Table("step", box=rich.box.SIMPLE, pad_edge=False)
    for heading in ("largest\ndifference", "NumPy", f"nbx_array\non {device}", "kernels\nlaunched", "of them\nfused"):
        table.add_column(heading, justify="right")
    console.print(HEADING)
    started, before = time.perf_counter(), nbx_array.counters()
    wrong = []
    for step in steps():
        arrays = tuple(nbx_array.asarray(array) for array in step.data)

        def progress(name: str = step.name) -> str:
            compiled = (nbx_array.counters() - before)["compilations"]
            return f"{name}: {compiled} kernels compiled, {time.perf_counter() - started:.1f} s"

        with rich.live.Live(get_renderable=progress, console=console, transient=True):
            nbx_array.warmup(step.function, *arrays)
        expected, numpy_time = measure(step.function, step.data)
        idle = nbx_array.counters()
        result, our_time = measure(step.function, arrays)
        used = nbx_array.counters() - idle
        difference = float(np.max(np.abs(result - expected)))
        if not difference <= TOLERANCE * np.max(np.abs(expected)):
            wrong.append(step.name)
        table.add_row(
            step.name,
            f"{difference:.1e}",
            milliseconds(numpy_time),
            milliseconds(our_time),
            str(used["launches"] // REPEATS),
            str(used["fused"] // REPEATS),
        )
    console.print(table)
    total = nbx_array.counters() - before
    console.print(f"{total['compilations']} kernels compiled, {time.perf_counter() - started:.1f} s in all.")
    if wrong:
        console.print(f"Not NumPy's result: {', '.join(wrong)}.")
    return 1 if wrong else 0
