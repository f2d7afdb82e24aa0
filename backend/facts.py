"""What is known of a kind of device beyond what its driver reports.

``devices/<vendor>/<architecture>.yml`` hold the facts with their sources; they are read when something first asks.
Where the driver reports a fact too, its word wins; the file's serves when kernels are compiled for a device that is not
here. What is not known is None.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .contract import Device, Target, get_driver

FOLDER = Path(__file__).parent / "devices"
VENDORS = {"cuda": "nvidia", "hip": "amd", "metal": "apple"}


class Facts(NamedTuple):
    """Of one device or, without what only a driver knows, of a target."""

    family: str | None
    name: str | None
    multiprocessors: int | None
    threads_per_multiprocessor: int | None
    registers_per_multiprocessor: int | None
    shared_per_multiprocessor: int | None  # bytes
    shared_per_block: int | None  # bytes, at most
    l2_bytes: int | None
    fp32_to_fp64_ratio: int | None
    bandwidth: float | None  # bytes per second of device memory, by the data sheet or the memory's clock
    fp32_rate: float | None  # operations per second without tensor cores, a fused multiply-add as two


@cache
def of_device(device: Device) -> Facts:
    """Facts of a device that is here."""
    driver = get_driver(device.backend)
    properties = driver.properties(device.index)
    return _facts(driver.target(device.index), properties.name, properties.cores, properties.extra)


def of_target(target: Target) -> Facts:
    """Facts of a target, whether or not there is such a device."""
    return _facts(target, None, None, {})


def _facts(target: Target, name: str | None, cores: int | None, driver: dict[str, Any]) -> Facts:
    architecture, capability = _row(target)

    def known(key: str) -> Any:
        return driver.get(key) or capability.get(key)

    lanes, clock = capability.get("fp32_lanes"), driver.get("clock_khz")
    return Facts(
        family=architecture.get("family"),
        name=name,
        multiprocessors=cores or None,
        threads_per_multiprocessor=known("threads_per_multiprocessor"),
        registers_per_multiprocessor=known("registers_per_multiprocessor"),
        shared_per_multiprocessor=known("shared_per_multiprocessor"),
        shared_per_block=driver.get("shared_per_block_optin") or capability.get("shared_per_block"),
        l2_bytes=driver.get("l2_bytes"),
        fp32_to_fp64_ratio=known("fp32_to_fp64_ratio"),
        bandwidth=_bandwidth(architecture, name, driver),
        fp32_rate=2e3 * lanes * clock * cores if lanes and clock and cores else None,
    )


def _bandwidth(architecture: dict[str, Any], name: str | None, driver: dict[str, Any]) -> float | None:
    """By the driver's memory clock (two transfers a cycle); else by the data sheet of the part with that name."""
    if driver.get("memory_clock_khz") and driver.get("memory_bus_bits"):
        return 2e3 * driver["memory_clock_khz"] * driver["memory_bus_bits"] / 8
    parts = architecture.get("bandwidth_gb_per_s") or {}
    for part in sorted(parts, key=len, reverse=True):  # "H100 NVL" before "H100"
        if name and part in name:
            return parts[part] * 1e9 if parts[part] else None
    return None


def _row(target: Target) -> tuple[dict[str, Any], dict[str, Any]]:
    """The architecture that a target belongs to, and what is known of its capability."""
    for architecture in _architectures(VENDORS.get(target.backend, target.backend)):
        for capability, row in architecture["capabilities"].items():
            if capability == target.arch:
                return architecture, row
    return {}, {}


@cache
def _architectures(vendor: str) -> tuple[dict[str, Any], ...]:
    import yaml

    return tuple(yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / vendor).glob("*.yml")))
