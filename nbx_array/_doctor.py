"""``python -m nbx_array doctor``: what this machine has, what it lacks, and whether the drivers keep the contract."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable

from nbx_array.backend import cache, compiler, detect, facts, verify
from nbx_array.backend.contract import Device, get_driver


def main() -> int:
    """Print the report; 1 where a driver fails a check."""
    section("Versions", versions())
    section("Environment", ((key, value) for key, value in sorted(os.environ.items()) if key.startswith("NBX_")))
    section("Backends", ((name, detect.reason_absent(name) or "present") for name in detect.ORDER))
    found = detect.devices()
    for device in found:
        section(f"{device} (the default device)" if device is detect.default_device() else str(device), about(device))
    section("Kernel cache", cached())
    problems = 0
    for device in found:
        checks = verify.verify_driver(device)
        failed = [check for check in checks if check.problem]
        problems += len(failed)
        summary = ("checks", f"{len(checks) - len(failed)} of {len(checks)} passed")
        section(f"Driver of {device}", [summary, *((check.name, str(check.problem)) for check in failed)])
    return 1 if problems else 0


def section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """A title and the rows under it, nothing where there are none."""
    rows = list(rows)
    if rows:
        width = max(len(name) for name, _ in rows)
        print(title, *(f"  {name:{width}}  {value}" for name, value in rows), sep="\n", end="\n\n", flush=True)


def versions() -> Iterable[tuple[str, str]]:
    """What is installed, by the metadata alone: nothing is imported for it."""
    yield "Python", f"{platform.python_version()} on {platform.platform()}"
    for name in ("nbx-array", "numpy", "llvmlite", "ml_dtypes"):
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield name, "not installed as a package"
    yield "triton", compiler.triton_version() or "absent: only kernels that the cache holds can run"


def about(device: Device) -> Iterable[tuple[str, str]]:
    """What the driver and the table of facts know of a device."""
    driver = get_driver(device.backend)
    properties = driver.properties(device.index)
    free, total = driver.memory(device.index)
    yield "name", properties.name
    yield "target", ", ".join(map(str, driver.target(device.index)))
    yield "memory", f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
    yield "cores", str(properties.cores)
    for name, value in facts.of_device(device)._asdict().items():
        if isinstance(value, int | float | str) and name != "name":
            yield name.replace("_", " "), f"{value:g}" if isinstance(value, float) else str(value)


def cached() -> Iterable[tuple[str, str]]:
    """Where compiled kernels are kept, and how much of them."""
    folder = cache.directory()
    files = [entry.stat().st_size for entry in os.scandir(folder)] if folder.is_dir() else []
    yield "folder", str(folder)
    yield "holds", f"{len(files)} files, {sum(files) / 2**20:.1f} MiB of at most {cache.LIMIT_BYTES / 2**20:.0f}"
