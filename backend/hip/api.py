"""HIP: the functions that are called, and the numbers of hip_runtime_api.h.

Everything bound is in libamdhip64 of ROCm 5.2 to 7, with the same parameters and numbers. Two things changed with
ROCm 6 and are chosen by what the library has or says: the layout of a device's properties, of which only the
architecture's name is read (everything else comes by `hipDeviceGetAttribute`), and the numbers of memory types.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

from ..gpu_api import ADDRESS, BYTE, HANDLE, INT, OUT, SIZE, TEXT, UINT, Functions, GpuApi

#: The library's names, the newest first. An installation of ROCm for developers has the last one.
LIBRARIES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")
FOLDER = "/opt/rocm/lib"

FUNCTIONS: Functions = {
    "initialize": ("hipInit", (UINT,)),
    "version": ("hipRuntimeGetVersion", (OUT,)),
    "count_devices": ("hipGetDeviceCount", (OUT,)),
    "get_device": ("hipDeviceGet", (OUT, INT)),
    "device_name": ("hipDeviceGetName", (OUT, INT, INT)),
    "device_attribute": ("hipDeviceGetAttribute", (OUT, INT, INT)),
    "device_memory": ("hipDeviceTotalMem", (OUT, INT)),
    "get_current": ("hipGetDevice", (OUT,)),
    "set_current": ("hipSetDevice", (INT,)),
    "synchronize": ("hipDeviceSynchronize", ()),
    "load_module": ("hipModuleLoadData", (OUT, TEXT)),
    "get_function": ("hipModuleGetFunction", (OUT, HANDLE, TEXT)),
    "launch": ("hipModuleLaunchKernel", (HANDLE, *[UINT] * 7, HANDLE, HANDLE, HANDLE)),
    "allocate": ("hipMalloc", (OUT, SIZE)),
    "free": ("hipFree", (ADDRESS,)),
    "allocate_async": ("hipMallocAsync", (OUT, SIZE, HANDLE)),
    "free_async": ("hipFreeAsync", (ADDRESS, HANDLE)),
    "allocate_pinned": ("hipHostMalloc", (OUT, SIZE, UINT)),
    "free_pinned": ("hipHostFree", (HANDLE,)),
    "memory": ("hipMemGetInfo", (OUT, OUT)),
    "copy_from_host": ("hipMemcpyHtoD", (ADDRESS, HANDLE, SIZE)),
    "copy_to_host": ("hipMemcpyDtoH", (HANDLE, ADDRESS, SIZE)),
    "copy_from_host_async": ("hipMemcpyHtoDAsync", (ADDRESS, HANDLE, SIZE, HANDLE)),
    "copy_to_host_async": ("hipMemcpyDtoHAsync", (HANDLE, ADDRESS, SIZE, HANDLE)),
    "copy_async": ("hipMemcpyDtoDAsync", (ADDRESS, ADDRESS, SIZE, HANDLE)),
    "fill_async": ("hipMemsetD8Async", (ADDRESS, BYTE, SIZE, HANDLE)),
    "pointer_attribute": ("hipPointerGetAttribute", (OUT, INT, ADDRESS)),
    "create_stream": ("hipStreamCreateWithFlags", (OUT, UINT)),
    "destroy_stream": ("hipStreamDestroy", (HANDLE,)),
    "synchronize_stream": ("hipStreamSynchronize", (HANDLE,)),
    "wait_event": ("hipStreamWaitEvent", (HANDLE, HANDLE, UINT)),
    "create_event": ("hipEventCreateWithFlags", (OUT, UINT)),
    "destroy_event": ("hipEventDestroy", (HANDLE,)),
    "record_event": ("hipEventRecord", (HANDLE, HANDLE)),
    "synchronize_event": ("hipEventSynchronize", (HANDLE,)),
    "query_event": ("hipEventQuery", (HANDLE,)),
    "elapsed_time": ("hipEventElapsedTime", (OUT, HANDLE, HANDLE)),
    "last_error": ("hipGetLastError", ()),
}

#: hipDeviceAttribute_t: the name of a property here, and its number. The memory's clock and width are left out: HIP
#: does not say how many transfers a cycle has.
DEVICE_ATTRIBUTES = {
    "clock_khz": 5,
    "l2_bytes": 19,
    "threads_per_block": 56,
    "threads_per_multiprocessor": 57,
    "multiprocessors": 63,
    "shared_per_block_optin": 74,  # all that a block may have, without asking as CUDA wants
    "warp_size": 87,
    "memory_pools": 88,
}

#: The function that gives a device's properties, and where the architecture's name lies in them: since ROCm 6, before.
PROPERTIES = (("hipGetDevicePropertiesR0600", 1160), ("hipGetDeviceProperties", 396))
PROPERTIES_BYTES = 4096  # more than either layout has

MEMORY_TYPE_DEVICE = 2
MEMORY_TYPE_DEVICE_BEFORE_6 = 1


def _open_library() -> ctypes.CDLL:
    """libamdhip64. One that the process already has comes first (PyTorch brings its own), so that memory is shared."""
    for name in LIBRARIES if hasattr(os, "RTLD_NOLOAD") else ():  # not on Windows
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    problems = []
    for name in (*LIBRARIES, f"{FOLDER}/{LIBRARIES[-1]}"):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            problems.append(str(error))
    raise OSError(problems[-1])


class HipApi(GpuApi):
    """libamdhip64. A device's number stands for its context: HIP's own contexts are deprecated."""

    title = "HIP"
    functions = FUNCTIONS
    attributes = DEVICE_ATTRIBUTES
    faults = frozenset({214, 700, 702, 710, 719})
    default_streams = (0,)
    no_context = 2**64 - 1  # some device is always current

    def __init__(self, library: Any = None):
        super().__init__(_open_library() if library is None else library)
        self._texts = [
            ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)((name, self.cdll))
            for name in ("hipGetErrorName", "hipGetErrorString")
        ]
        symbol, self._name_offset = next(row for row in PROPERTIES if hasattr(self.cdll, row[0]))
        self._properties = ctypes.CFUNCTYPE(ctypes.c_int, OUT, INT)((symbol, self.cdll))

    def texts(self, code: int) -> list[str]:
        return [text.decode() for text in (function(code) for function in self._texts) if text]

    def forget_error(self) -> None:
        """What `hipGetLastError` gives: other libraries of the process would take it for an error of theirs."""
        self.last_error()

    def device_memory_type(self) -> int:
        version = ctypes.c_int()
        before_6 = not self.version(ctypes.byref(version)) and version.value < 6 * 10**7
        return MEMORY_TYPE_DEVICE_BEFORE_6 if before_6 else MEMORY_TYPE_DEVICE

    def architecture(self, device: int) -> tuple[int, str]:
        """A result code and the target's name, with its features: ``gfx942:sramecc+:xnack-``."""
        properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
        code = self._properties(properties, device)
        return code, ctypes.string_at(ctypes.addressof(properties) + self._name_offset).decode()
