"""CUDA's driver API: the functions that are called, and the numbers of cuda.h.

Only libcuda.so.1, which comes with the display driver, is used, and nothing of the CUDA toolkit. Symbols with a version
suffix are those that cuda.h maps the plain name to.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ..gpu_api import ADDRESS, BYTE, HANDLE, INT, OUT, SIZE, SUCCESS, TEXT, UINT, Functions, GpuApi

LIBRARY = "libcuda.so.1"

FUNCTIONS: Functions = {
    "initialize": ("cuInit", (UINT,)),
    "version": ("cuDriverGetVersion", (OUT,)),
    "error_name": ("cuGetErrorName", (INT, OUT)),
    "error_text": ("cuGetErrorString", (INT, OUT)),
    "count_devices": ("cuDeviceGetCount", (OUT,)),
    "get_device": ("cuDeviceGet", (OUT, INT)),
    "device_name": ("cuDeviceGetName", (OUT, INT, INT)),
    "device_attribute": ("cuDeviceGetAttribute", (OUT, INT, INT)),
    "device_memory": ("cuDeviceTotalMem_v2", (OUT, INT)),
    "retain_context": ("cuDevicePrimaryCtxRetain", (OUT, INT)),
    "get_current": ("cuCtxGetCurrent", (OUT,)),
    "set_current": ("cuCtxSetCurrent", (HANDLE,)),
    "synchronize": ("cuCtxSynchronize", ()),
    "load_module": ("cuModuleLoadData", (OUT, TEXT)),
    "get_function": ("cuModuleGetFunction", (OUT, HANDLE, TEXT)),
    "set_function_attribute": ("cuFuncSetAttribute", (HANDLE, INT, INT)),
    "launch": ("cuLaunchKernel", (HANDLE, *[UINT] * 7, HANDLE, HANDLE, HANDLE)),
    "launch_with_attributes": ("cuLaunchKernelEx", (HANDLE, HANDLE, HANDLE, HANDLE)),
    "allocate": ("cuMemAlloc_v2", (OUT, SIZE)),
    "free": ("cuMemFree_v2", (ADDRESS,)),
    "allocate_async": ("cuMemAllocAsync", (OUT, SIZE, HANDLE)),
    "free_async": ("cuMemFreeAsync", (ADDRESS, HANDLE)),
    "allocate_pinned": ("cuMemHostAlloc", (OUT, SIZE, UINT)),
    "free_pinned": ("cuMemFreeHost", (HANDLE,)),
    "memory": ("cuMemGetInfo_v2", (OUT, OUT)),
    "copy_from_host": ("cuMemcpyHtoD_v2", (ADDRESS, HANDLE, SIZE)),
    "copy_to_host": ("cuMemcpyDtoH_v2", (HANDLE, ADDRESS, SIZE)),
    "copy_from_host_async": ("cuMemcpyHtoDAsync_v2", (ADDRESS, HANDLE, SIZE, HANDLE)),
    "copy_to_host_async": ("cuMemcpyDtoHAsync_v2", (HANDLE, ADDRESS, SIZE, HANDLE)),
    "copy_async": ("cuMemcpyAsync", (ADDRESS, ADDRESS, SIZE, HANDLE)),
    "fill_async": ("cuMemsetD8Async", (ADDRESS, BYTE, SIZE, HANDLE)),
    "pointer_attribute": ("cuPointerGetAttribute", (OUT, INT, ADDRESS)),
    "create_stream": ("cuStreamCreate", (OUT, UINT)),
    "destroy_stream": ("cuStreamDestroy_v2", (HANDLE,)),
    "synchronize_stream": ("cuStreamSynchronize", (HANDLE,)),
    "wait_event": ("cuStreamWaitEvent", (HANDLE, HANDLE, UINT)),
    "create_event": ("cuEventCreate", (OUT, UINT)),
    "destroy_event": ("cuEventDestroy_v2", (HANDLE,)),
    "record_event": ("cuEventRecord", (HANDLE, HANDLE)),
    "synchronize_event": ("cuEventSynchronize", (HANDLE,)),
    "query_event": ("cuEventQuery", (HANDLE,)),
    "elapsed_time": ("cuEventElapsedTime", (OUT, HANDLE, HANDLE)),
}

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
MEMORY_TYPE_DEVICE = 2
#: Handles that stand for the legacy default stream.
LEGACY_STREAMS = (0, 1)


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute; the value is a union of 64 bytes."""

    _fields_ = (("id", ctypes.c_uint64), ("value", ctypes.c_uint32 * 16))


class CudaApi(GpuApi):
    """libcuda; the context is lost with a fault in a kernel."""

    title = "CUDA"
    functions = FUNCTIONS
    attributes = DEVICE_ATTRIBUTES
    faults = frozenset({214, 220, 226, *range(700, 704), 710, *range(714, 720), 721, 999})
    default_streams = LEGACY_STREAMS
    no_context = 0

    def __init__(self, library: Any = None):
        super().__init__(ctypes.CDLL(LIBRARY) if library is None else library)

    def texts(self, code: int) -> list[str]:
        found = []
        for function in (self.error_name, self.error_text):
            text = ctypes.c_char_p()
            if function(code, ctypes.byref(text)) == SUCCESS and text.value:
                found.append(text.value.decode())
        return found

    def device_memory_type(self) -> int:
        return MEMORY_TYPE_DEVICE
