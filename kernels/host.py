"""Which work NumPy does on our memory: on the CPU, where its well-kept routines beat our kernels."""

from __future__ import annotations

from nbx_array.backend import environment
from nbx_array.backend.contract import Device

HOST_ROUTINES = environment.is_on("NBX_HOST_ROUTINES")
"""Whether to use them at all; without, the Triton kernels run there too."""


def on_host(device: Device) -> bool:
    """Whether NumPy does such work on a device."""
    return HOST_ROUTINES and device.backend == "cpu"
