"""NVIDIA GPUs by CUDA's driver API.

Kernels, memory and streams belong to a device's primary context, the one that the CUDA runtime uses, so that arrays can
be shared with every other library of the process.
"""

from __future__ import annotations

import ctypes
from math import prod

from .. import gpu_launcher
from ..contract import CompiledKernel, Target
from ..gpu_driver import GpuDriver, open_api
from . import api as cuda
from .api import CudaApi


def open_driver() -> CudaDriver:
    """The driver, where the machine has NVIDIA's library and a device."""
    return CudaDriver(open_api(CudaDriver.vendor, CudaApi))


class CudaDriver(GpuDriver):
    backend = "cuda"
    artifact_kind = "cubin"
    vendor = "NVIDIA"

    def target(self, index: int) -> Target:
        major, minor = self.attribute(index, "capability_major"), self.attribute(index, "capability_minor")
        return Target("cuda", 10 * major + minor, self.attribute(index, "warp_size"))

    def _version(self, number: int) -> tuple[int, int]:
        return number // 1000, number % 1000 // 10

    def _context(self, ordinal: int, name: str) -> int:
        context = ctypes.c_void_p()
        self._check(self.api.retain_context(ctypes.byref(context), ordinal), f"{name}: making its context")
        return context.value or 0

    def _programs(self, kernel: CompiledKernel) -> int:
        return gpu_launcher.GRID_LIMITS[0] // prod(kernel.cluster_dims)

    def _launching(self, kernel: CompiledKernel, index: int) -> tuple[int, ctypes.Array[cuda.LaunchAttribute]]:
        attributes = []
        if kernel.cooperative:
            if not self.attribute(index, "cooperative_launch"):
                self._refuse(kernel, index, "it is cooperative, and the device has no cooperative launches")
            attributes.append(cuda.LaunchAttribute(cuda.LAUNCH_COOPERATIVE, (1,)))
        if prod(kernel.cluster_dims) > 1:
            if not self.attribute(index, "cluster_launch"):
                self._refuse(kernel, index, f"it runs in clusters of {kernel.cluster_dims}, and the device has none")
            attributes.append(cuda.LaunchAttribute(cuda.LAUNCH_CLUSTER_DIMENSION, tuple(kernel.cluster_dims)))
        name = "launch_with_attributes" if attributes else "launch"
        return self.api.address(name), (cuda.LaunchAttribute * len(attributes))(*attributes)

    def _prepare(self, function: ctypes.c_void_p, kernel: CompiledKernel, index: int) -> None:
        if kernel.shared > self.attribute(index, "shared_per_block"):
            self._call(index, f"giving kernel {kernel.name!r} {kernel.shared} bytes of shared memory",
                       "set_function_attribute", function, cuda.FUNCTION_MAX_DYNAMIC_SHARED, kernel.shared)  # fmt: skip
        blocks = prod(kernel.cluster_dims)
        if blocks > 8:  # more than every device with clusters can place
            self._call(index, f"allowing kernel {kernel.name!r} clusters of {blocks}",
                       "set_function_attribute", function, cuda.FUNCTION_NON_PORTABLE_CLUSTER, 1)  # fmt: skip
