"""Launching the kernels that draw random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher
from nbx_array.kernels.types import default_float, type_row

MODULE = "nbx_array.kernels.source.random"


class Distribution(NamedTuple):
    """A distribution that has a kernel."""

    parameters: int
    rejects: bool  # draws for an element until one is accepted


DISTRIBUTIONS = {
    "uniform": Distribution(0, False),
    "normal": Distribution(0, False),
    "exponential": Distribution(0, False),
    "integers": Distribution(2, False),
    "gamma": Distribution(1, True),
    "poisson": Distribution(1, True),
    "binomial": Distribution(2, True),
    "zipf": Distribution(1, True),
    "hypergeometric": Distribution(3, True),
    "vonmises": Distribution(1, True),
}


def _block(name: str, device: Device) -> int:
    """Elements a program. All of them draw until the last is accepted, so there are few on a GPU; the CPU has none wait
    for another, and compiles loops over one element ten times as fast as loops over a thousand."""
    if device.backend != "cpu":
        return 128
    return 1 if DISTRIBUTIONS[name].rejects else 1024


def result_dtypes(name: str, device: Device) -> tuple[np.dtype, ...]:
    """The dtypes that a distribution is drawn in."""
    if name == "integers":
        return tuple(np.dtype(t) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"))
    if name in ("poisson", "binomial", "zipf", "hypergeometric"):
        return (np.dtype(np.int64),)
    return tuple({np.dtype(np.float32), default_float(device)})


def launcher_of(name: str, dtype: np.dtype, device: Device) -> Launcher:
    """The kernel of a distribution: output, each parameter's address and stride, key, offset, number of elements."""
    double = dtype == np.float64 or (dtype.kind != "f" and default_float(device) == np.float64)
    number = np.dtype(np.int64) if name == "integers" else np.dtype(np.float64 if double else np.float32)
    signature = [("o", type_row(dtype).pointer)]
    for k in range(DISTRIBUTIONS[name].parameters):
        signature += [(f"p{k}", type_row(number).pointer), (f"s{k}", "i64")]
    signature += [("key", "u64"), ("offset", "i64"), ("n", "i64")]
    constants = (("BLOCK", _block(name, device)), ("DOUBLE", double))
    options = (("num_warps", 1 if device.backend == "cpu" else 4),)
    return get_launcher(Source.of(MODULE, name), tuple(signature), constants, device, options=options)


def draw(
    name: str,
    address: int,
    dtype: np.dtype,
    device: Device,
    parameters: Sequence[tuple[int, int]],
    key: int,
    offset: int,
    n: int,
) -> None:
    """Write n variates: those at positions offset, offset + 1, ... of the stream of a 64-bit key.

    Each parameter is the address of contiguous numbers and their stride in elements, 0 for one number for all. They are
    int64 for ``integers`` (the least value, and how much the greatest is above it, both modulo 2^64), else of the dtype
    that the distribution is computed in: float32 for float32 results, the widest float of the device otherwise.
    """
    launcher = launcher_of(name, dtype, device)
    flat = [number for parameter in parameters for number in parameter]
    launcher.spread((address, *flat, key, offset, n), -(-n // _block(name, device)), 1, 1)
