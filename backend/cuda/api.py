"""The CUDA driver API by ctypes: the functions that are called, their argument types, and their errors.

Only libcuda.so.1, which comes with the display driver, is used, and nothing of the CUDA toolkit. Symbols with a version
suffix are those that cuda.h maps the plain name to.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

LIBRARY = "libcuda.so.1"

_int, _uint, _size, _handle, _text = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
_address = ctypes.c_uint64  # CUdeviceptr
_out = ctypes.c_void_p  # a pointer to where a result is written: ctypes.byref(...)

# name: (symbol, argument types); every one returns a CUresult
FUNCTIONS: dict[str, tuple[str, tuple[type, ...]]] = {
    "cuInit": ("cuInit", (_uint,)),
    "cuDriverGetVersion": ("cuDriverGetVersion", (_out,)),
    "cuGetErrorName": ("cuGetErrorName", (_int, _out)),
    "cuGetErrorString": ("cuGetErrorString", (_int, _out)),
    "cuDeviceGetCount": ("cuDeviceGetCount", (_out,)),
    "cuDeviceGet": ("cuDeviceGet", (_out, _int)),
    "cuDeviceGetName": ("cuDeviceGetName", (_out, _int, _int)),
    "cuDeviceGetAttribute": ("cuDeviceGetAttribute", (_out, _int, _int)),
    "cuDeviceTotalMem": ("cuDeviceTotalMem_v2", (_out, _int)),
    "cuDevicePrimaryCtxRetain": ("cuDevicePrimaryCtxRetain", (_out, _int)),
    "cuCtxGetCurrent": ("cuCtxGetCurrent", (_out,)),
    "cuCtxSetCurrent": ("cuCtxSetCurrent", (_handle,)),
    "cuCtxSynchronize": ("cuCtxSynchronize", ()),
    "cuModuleLoadData": ("cuModuleLoadData", (_out, _text)),
    "cuModuleGetFunction": ("cuModuleGetFunction", (_out, _handle, _text)),
    "cuFuncSetAttribute": ("cuFuncSetAttribute", (_handle, _int, _int)),
    "cuLaunchKernel": ("cuLaunchKernel", (_handle, *[_uint] * 7, _handle, _handle, _handle)),
    "cuLaunchKernelEx": ("cuLaunchKernelEx", (_handle, _handle, _handle, _handle)),
    "cuMemAlloc": ("cuMemAlloc_v2", (_out, _size)),
    "cuMemFree": ("cuMemFree_v2", (_address,)),
    "cuMemAllocAsync": ("cuMemAllocAsync", (_out, _size, _handle)),
    "cuMemFreeAsync": ("cuMemFreeAsync", (_address, _handle)),
    "cuMemHostAlloc": ("cuMemHostAlloc", (_out, _size, _uint)),
    "cuMemFreeHost": ("cuMemFreeHost", (_handle,)),
    "cuMemGetInfo": ("cuMemGetInfo_v2", (_out, _out)),
    "cuMemcpyHtoD": ("cuMemcpyHtoD_v2", (_address, _handle, _size)),
    "cuMemcpyDtoH": ("cuMemcpyDtoH_v2", (_handle, _address, _size)),
    "cuMemcpyHtoDAsync": ("cuMemcpyHtoDAsync_v2", (_address, _handle, _size, _handle)),
    "cuMemcpyDtoHAsync": ("cuMemcpyDtoHAsync_v2", (_handle, _address, _size, _handle)),
    "cuMemcpyAsync": ("cuMemcpyAsync", (_address, _address, _size, _handle)),
    "cuMemsetD8Async": ("cuMemsetD8Async", (_address, ctypes.c_ubyte, _size, _handle)),
    "cuPointerGetAttribute": ("cuPointerGetAttribute", (_out, _int, _address)),
    "cuStreamCreate": ("cuStreamCreate", (_out, _uint)),
    "cuStreamDestroy": ("cuStreamDestroy_v2", (_handle,)),
    "cuStreamSynchronize": ("cuStreamSynchronize", (_handle,)),
    "cuStreamWaitEvent": ("cuStreamWaitEvent", (_handle, _handle, _uint)),
    "cuEventCreate": ("cuEventCreate", (_out, _uint)),
    "cuEventDestroy": ("cuEventDestroy_v2", (_handle,)),
    "cuEventRecord": ("cuEventRecord", (_handle, _handle)),
    "cuEventSynchronize": ("cuEventSynchronize", (_handle,)),
    "cuEventQuery": ("cuEventQuery", (_handle,)),
    "cuEventElapsedTime": ("cuEventElapsedTime", (_out, _handle, _handle)),
}

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_READY = 600
#: Codes of a fault in a kernel, which a later call reports. The context is lost with it.
FAULTS = frozenset({214, 220, 226, *range(700, 704), 710, *range(714, 720), 721, 999})

#: CUdevice_attribute: the name of a property here, and its number in cuda.h.
DEVICE_ATTRIBUTES = {
    "threads_per_block": 1,
    "shared_per_block": 8,
    "warp_size": 10,
    "registers_per_block": 12,
    "clock_khz": 13,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "threads_per_multiprocessor": 39,
    "capability_major": 75,
    "capability_minor": 76,
    "shared_per_multiprocessor": 81,
    "registers_per_multiprocessor": 82,
    "fp32_to_fp64_ratio": 87,
    "cooperative_launch": 95,
    "shared_per_block_optin": 97,
    "memory_pools": 115,
    "cluster_launch": 120,
}

FUNCTION_MAX_DYNAMIC_SHARED = 8
FUNCTION_NON_PORTABLE_CLUSTER = 14
LAUNCH_COOPERATIVE = 2
LAUNCH_CLUSTER_DIMENSION = 4
POINTER_MEMORY_TYPE = 2
POINTER_DEVICE_ORDINAL = 9
MEMORY_TYPE_DEVICE = 2
HOST_ALLOC_PORTABLE = 1
EVENT_DISABLE_TIMING = 2
#: Handles that stand for the legacy default stream.
LEGACY_STREAMS = (0, 1)


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute; the value is a union of 64 bytes."""

    _fields_ = (("id", ctypes.c_uint64), ("value", ctypes.c_uint32 * 16))


class CudaApi:
    """libcuda's functions as attributes; each returns a result code, which the driver looks at.

    ``library`` is anything whose attributes are C functions (a `ctypes.CDLL`); the tests pass one of their own.
    """

    def __init__(self, library: Any = None):
        self.library = ctypes.CDLL(LIBRARY) if library is None else library
        self._addresses: dict[str, int] = {}
        for name, (symbol, arguments) in FUNCTIONS.items():
            address = ctypes.cast(getattr(self.library, symbol), ctypes.c_void_p).value
            assert address is not None
            self._addresses[name] = address
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address))

    def __getattr__(self, name: str) -> Callable[..., int]:
        raise AttributeError(f"the CUDA function {name} is not bound: FUNCTIONS lists those that are")

    def address(self, name: str) -> int:
        """The function's address, for native code that calls it."""
        return self._addresses[name]

    def describe(self, code: int) -> str:
        """CUDA's own name and text of a result code."""
        texts = []
        for function in (self.cuGetErrorName, self.cuGetErrorString):
            text = ctypes.c_char_p()
            if function(code, ctypes.byref(text)) == SUCCESS and text.value:
                texts.append(text.value.decode())
        return f"{': '.join(texts)} (code {code})" if texts else f"unknown CUDA error {code}"
