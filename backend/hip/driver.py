"""AMD GPUs by HIP.

HIP names a device by its number and keeps a current one for each thread, which is what stands for a context here. A
block is ``warp_size * num_warps`` threads, 64 to a warp on CDNA and 32 on RDNA, as the kernel was compiled.
"""

from __future__ import annotations

import ctypes
from math import prod

from .. import gpu_launcher
from ..contract import CompiledKernel, Target
from ..gpu_driver import GpuDriver, open_api
from .api import HipApi


def open_driver() -> HipDriver:
    """The driver, where the machine has AMD's library and a device."""
    return HipDriver(open_api(HipDriver.vendor, HipApi))


class HipDriver(GpuDriver):
    backend = "hip"
    artifact_kind = "hsaco"
    vendor = "AMD"

    def __init__(self, api: HipApi):
        super().__init__(api)
        self._targets: dict[int, Target] = {}  # launch rules ask for it

    def target(self, index: int) -> Target:
        target = self._targets.get(index)
        if target is None:
            target = self._targets[index] = self._read_target(index)
        return target

    def _read_target(self, index: int) -> Target:
        code, name = self.api.architecture(self._ordinal(index))
        self._check(code, f"hip:{index}: reading its architecture")
        return Target("hip", name.partition(":")[0], self.attribute(index, "warp_size"))

    def _version(self, number: int) -> tuple[int, int]:
        return number // 10**7, number // 10**5 % 100

    def _context(self, ordinal: int, name: str) -> int:
        return ordinal

    def _programs(self, kernel: CompiledKernel) -> int:
        # HIP counts threads in 32 bits along an axis.
        return min(gpu_launcher.GRID_LIMITS[0], (2**32 - 1) // (kernel.num_warps * kernel.target.warp_size))

    def _launching(self, kernel: CompiledKernel, index: int) -> tuple[int, ctypes.Array[ctypes.c_char]]:
        if prod(kernel.cluster_dims) > 1:
            self._refuse(kernel, index, f"it runs in clusters of {kernel.cluster_dims}, and HIP has none")
        # hipModuleLaunchCooperativeKernel is younger than the oldest library that is bound, and no kernel of ours asks.
        if kernel.cooperative:
            self._refuse(kernel, index, "it is cooperative, and cooperative launches are not made on HIP")
        return self.api.address("launch"), (ctypes.c_char * 0)()
