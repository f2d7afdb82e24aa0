"""Launching the kernels that create arrays from numbers alone."""

from __future__ import annotations

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import get_launcher
from nbx_array.kernels.rules import rule
from nbx_array.kernels.types import default_float, type_row

MODULE = "nbx_array.kernels.source.creation"


def _run(
    name: str, dtype: np.dtype, number: str, scalars: tuple[str, ...], device: Device, address: int, args: tuple, n: int
) -> None:
    limits = rule(device)
    signature = (
        ("o", type_row(dtype).pointer),
        *((s, "i64" if s == "last" else number) for s in scalars),
        ("n", "i64"),
    )
    options = (("num_warps", limits.num_warps),)
    constants = (("BLOCK", limits.block),)
    launcher = get_launcher(Source.of(MODULE, name), signature, constants, device, options=options)
    launcher.spread((address, *args, n), -(-n // limits.block), 1, 1)


def arithmetic(address: int, dtype: np.dtype, device: Device, start: complex, step: complex, n: int) -> None:
    """Write start, start + step, ... : exact in integers (modulo 2^64), in the device's widest float otherwise."""
    if dtype.kind in "iu":
        args = tuple((int(x) + 2**63) % 2**64 - 2**63 for x in (start, step))  # type: ignore[call-overload]
        _run("arithmetic", dtype, "i64", ("start", "step"), device, address, args, n)
    else:
        number = type_row(default_float(device)).parameter
        _run("arithmetic", dtype, number, ("start", "step"), device, address, (float(start), float(step)), n)  # type: ignore[arg-type]


def spaced(address: int, dtype: np.dtype, device: Device, start: float, stop: float, n: int, endpoint: bool) -> None:
    """Write n real numbers evenly spaced from start to stop, the last one exact if it is the end point."""
    intervals = n - 1 if endpoint else n
    step = (stop - start) / intervals if intervals > 0 else 0.0
    last = n - 1 if endpoint and n > 1 else -1
    number = type_row(default_float(device)).parameter
    _run("spaced", dtype, number, ("start", "step", "stop", "last"), device, address, (start, step, stop, last), n)
