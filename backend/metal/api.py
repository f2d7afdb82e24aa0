"""Apple's Metal by pyobjc: every call that the driver makes, each a method of `MetalApi` over plain values.

What the methods take and return beside numbers, texts and bytes are Metal's own objects, which the driver only passes
on. So an object with the same methods can stand in for `MetalApi`, as the tests' own does over host memory.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..contract import DriverUnavailable

#: Families of GPUs, the newest first: each has what those before it have. MTLGPUFamilyApple1 is 1001 in MTLDevice.h.
FAMILIES = tuple(range(12, 6, -1))
_FAMILY_APPLE = 1000
#: MTLLanguageVersion3_1 and MTLMathModeSafe (MTLLibrary.h).
LANGUAGE_3_1 = (3 << 16) + 1
MATH_SAFE = 0
#: MTLResourceStorageModeShared (MTLResource.h): one memory for the processor and the GPU.
STORAGE_SHARED = 0
#: MTLCommandBufferStatusCompleted and MTLCommandBufferStatusError (MTLCommandBuffer.h).
COMPLETED, FAILED = 4, 5


class Limits(NamedTuple):
    """What a device says of itself, in bytes but for the first."""

    threads_per_threadgroup: int
    threadgroup_memory: int
    buffer: int  # the largest
    working_set: int  # that it recommends not to exceed
    allocated: int  # by this process


class MetalApi:
    """The calls. DriverUnavailable where the system is not Apple's or the bridge to it is not installed."""

    def __init__(self) -> None:
        if sys.platform != "darwin":
            raise DriverUnavailable(f"Metal is a part of macOS, and this is {sys.platform}")
        try:
            self._metal: Any = importlib.import_module("Metal")
            # What Metal returns is released when a pool ends, and a Python program has none of its own.
            self._objc: Any = importlib.import_module("objc")
            self._pool: Any = self._objc.autorelease_pool
        except ImportError as error:
            raise DriverUnavailable(
                f"Metal needs pyobjc-framework-Metal: pip install 'nbx-array[metal]' ({error})"
            ) from None

    # -------------------------------------------------------------------------------------------- devices

    def devices(self) -> list[Any]:
        """All GPUs, the default one first."""
        default = self._metal.MTLCreateSystemDefaultDevice()
        if default is None:
            return []
        others = [d for d in self._metal.MTLCopyAllDevices() if d.registryID() != default.registryID()]
        return [default, *others]

    def name(self, device: Any) -> str:
        return str(device.name())

    def family(self, device: Any) -> int | None:
        """The newest of `FAMILIES` that the device belongs to; None for one that is not Apple's own."""
        return next((n for n in FAMILIES if device.supportsFamily_(_FAMILY_APPLE + n)), None)

    def limits(self, device: Any) -> Limits:
        return Limits(
            int(device.maxThreadsPerThreadgroup().width),
            int(device.maxThreadgroupMemoryLength()),
            int(device.maxBufferLength()),
            int(device.recommendedMaxWorkingSetSize()),
            int(device.currentAllocatedSize()),
        )

    # -------------------------------------------------------------------------------------------- kernels

    def pipeline(self, device: Any, text: str, entry: str) -> tuple[Any, str]:
        """The kernel ``entry`` of a text in Metal's language, ready to run; or None, and what is wrong."""
        with self._pool():
            return self._pipeline(device, text, entry)

    def _pipeline(self, device: Any, text: str, entry: str) -> tuple[Any, str]:
        options = self._metal.MTLCompileOptions.alloc().init()
        options.setLanguageVersion_(LANGUAGE_3_1)
        if options.respondsToSelector_("setMathMode:"):  # macOS 15
            options.setMathMode_(MATH_SAFE)
        else:
            options.setFastMathEnabled_(False)
        library, error = device.newLibraryWithSource_options_error_(text, options, None)
        if library is None:
            return None, _description(error)
        function = library.newFunctionWithName_(entry)
        if function is None:
            return None, f"the text has no kernel {entry!r}"
        pipeline, error = device.newComputePipelineStateWithFunction_error_(function, None)
        return pipeline, "" if pipeline is not None else _description(error)

    def most_threads(self, pipeline: Any) -> int:
        """Threads of a threadgroup, at most, for a kernel."""
        return int(pipeline.maxTotalThreadsPerThreadgroup())

    # -------------------------------------------------------------------------------------------- memory

    def buffer(self, device: Any, nbytes: int) -> Any:
        """Memory that the processor and the GPU share; None where there is none."""
        return device.newBufferWithLength_options_(nbytes, STORAGE_SHARED)

    def address(self, buffer: Any, nbytes: int) -> int:
        """Where the processor sees a buffer."""
        memory = buffer.contents().as_buffer(nbytes)
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def pointer(self, buffer: Any) -> int:
        """The pointer of a buffer's object, by which other libraries of this process know it."""
        return int(self._objc.pyobjc_id(buffer))

    def shared_buffer(self, pointer: int) -> tuple[Any, int] | None:
        """The buffer whose object is at a pointer, and its size; None if the processor cannot see its memory."""
        buffer = self._objc.objc_object(c_void_p=ctypes.c_void_p(pointer))
        return (buffer, int(buffer.length())) if int(buffer.storageMode()) == STORAGE_SHARED else None

    # -------------------------------------------------------------------------------------------- work

    def queue(self, device: Any) -> Any:
        return device.newCommandQueue()

    def command_buffer(self, queue: Any) -> Any:
        """A command buffer, which holds what its work uses until it is done."""
        with self._pool():
            return queue.commandBuffer()

    def encoder(self, commands: Any) -> Any:
        """What puts dispatches into a command buffer, each of which sees what those before it have written."""
        with self._pool():
            return commands.computeCommandEncoder()

    def dispatch(
        self,
        encoder: Any,
        pipeline: Any,
        arguments: Sequence[bytes | tuple[Any, int]],
        grid: tuple[int, int, int],
        threads: int,
    ) -> None:
        """Run a kernel over a grid of threadgroups. An argument is a scalar's bytes, or a buffer and an offset."""
        encoder.setComputePipelineState_(pipeline)
        for index, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                encoder.setBytes_length_atIndex_(argument, len(argument), index)
            else:
                encoder.setBuffer_offset_atIndex_(*argument, index)
        size = self._metal.MTLSizeMake
        encoder.dispatchThreadgroups_threadsPerThreadgroup_(size(*grid), size(threads, 1, 1))

    def commit(self, commands: Any, encoder: Any) -> None:
        """Hand a command buffer to the device."""
        with self._pool():
            if encoder is not None:
                encoder.endEncoding()
            commands.commit()

    def wait(self, commands: Any) -> None:
        commands.waitUntilCompleted()

    def done(self, commands: Any) -> bool:
        return int(commands.status()) in (COMPLETED, FAILED)

    def problem(self, commands: Any) -> str:
        """What went wrong in a command buffer that is done; nothing if all is well."""
        return _description(commands.error()) if int(commands.status()) == FAILED else ""

    def finished_at(self, commands: Any) -> float:
        """When a command buffer was done, in seconds."""
        return float(commands.GPUEndTime())


def _description(error: Any) -> str:
    return str(error.localizedDescription()) if error is not None else "Metal gives no reason"
