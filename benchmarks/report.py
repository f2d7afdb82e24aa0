"""What every benchmark prints around its figures: where, when and with what they were measured."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
from collections.abc import Iterable, Sequence


def machine() -> str:
    """The processor and the cores that this process may use."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def version(distribution: str) -> str | None:
    """The installed version of a distribution, None where there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def heading(device: str, distributions: Iterable[str]) -> str:
    """One paragraph to stand above a table."""
    found = [f"{d} {v}" for d in distributions if (v := version(d))]
    chosen = [f"{key}={value}" for key, value in sorted(os.environ.items()) if re.match("NBX_(?!CACHE)", key)]
    parts = [device, f"Python {platform.python_version()}", *found, *chosen, f"{datetime.date.today():%Y-%m-%d}"]
    return ", ".join(parts)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first column is text and whose others are figures."""
    rows = [list(columns), *map(list, rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        lines.append(f"| {' | '.join(cells)} |")
    rule = [("-" * (w - 1) + ":") if i else "-" * w for i, w in enumerate(widths)]
    lines.insert(1, f"| {' | '.join(rule)} |")
    return "\n".join(lines)
