"""``python -m nbx_array doctor``: what this machine has, what it lacks, and whether the drivers keep the contract."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable

from nbx_array.backend import archive, cache, compiler, detect, environment, facts, verify
from nbx_array.backend.contract import Device, get_driver


def main() -> int:
    """Print the report; 1 where a driver fails a check or there is no device, 2 where settings make no sense."""
    try:
        found = detect.devices()
    except ValueError as error:
        print(f"nbx-array doctor: {error}", file=sys.stderr)
        return 2
    section("Versions", versions())
    section("Environment", settings())
    section("Backends", ((name, detect.reason_absent(name) or "present") for name in detect.ORDER))
    if not found:
        print("No device: no array can be made; NBX_BACKEND asks for a backend that is not there", end="\n\n")
    for device in found:
        section(f"{device} (the default device)" if device is detect.default_device() else str(device), about(device))
    section("Kernel cache", cached())
    section("Kernel archive", archived())
    problems = 0
    for device in found:
        checks = verify.verify_driver(device)
        failed = [check for check in checks if check.problem and check.ran]
        idle = [check for check in checks if not check.ran]
        problems += len(failed)
        rows = [("checks", f"{len(checks) - len(failed) - len(idle)} of {len(checks)} passed")]
        if idle:
            rows.append(("not run", f"{len(idle)}: without triton, their kernels are in neither cache nor archive"))
        section(f"Driver of {device}", [*rows, *((check.name, str(check.problem)) for check in failed)])
    return 1 if problems or not found else 0


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
    absent = "absent: only kernels that the cache or the archive holds can run"
    yield "triton", compiler.triton_version() or absent


def settings() -> Iterable[tuple[str, str]]:
    """The variables that are set, with a note on those that nothing reads."""
    for name, value in sorted(os.environ.items()):
        if name.startswith("NBX_"):
            meant = difflib.get_close_matches(name, environment.KNOWN, 1)
            hint = f", perhaps {meant[0]} was meant" if meant else ""
            yield name, value if name in environment.KNOWN else f"{value} (there is no such variable{hint})"


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


def archived() -> Iterable[tuple[str, str]]:
    """The archive of kernels, which serves where triton is absent."""
    file = archive.path()
    yield "file", str(file)
    try:
        found = archive.archive()
    except archive.ArchiveError as error:
        yield "unusable", str(error)
        return
    if found is None:
        yield "missing", "NBX_ARCHIVE names no file" if os.environ.get("NBX_ARCHIVE") else "this installation has none"
    else:
        yield "holds", f"{len(found)} kernels, made by triton {found.triton}, {file.stat().st_size / 1e6:.1f} MB"
