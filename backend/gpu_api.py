"""A GPU vendor's C library by ctypes.

CUDA's driver API and HIP have the same functions under different names, so the driver calls them by names of ours, and
a vendor's table says which symbol that is. HIP also took over CUDA's numbers for errors and flags, which stand here.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

# Types of parameters. An address of device memory is a number, 64 bits wide.
INT, UINT, BYTE, SIZE = ctypes.c_int, ctypes.c_uint, ctypes.c_ubyte, ctypes.c_size_t
ADDRESS, HANDLE, TEXT = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p
OUT = ctypes.c_void_p  # a pointer to where a result is written: ctypes.byref(...)

#: Our name of a function: the library's symbol and its parameters. Every function returns a result code.
Functions = Mapping[str, tuple[str, tuple[type, ...]]]

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
NO_DEVICE = 100
INVALID_DEVICE = 101
NOT_READY = 600

EVENT_DISABLE_TIMING = 2
HOST_ALLOC_PORTABLE = 1
POINTER_MEMORY_TYPE = 2
POINTER_DEVICE_ORDINAL = 9


class GpuApi(ABC):
    """A library's functions as attributes; each returns a result code, which the driver looks at.

    ``library`` is anything whose attributes are C functions: a `ctypes.CDLL`, or what a test puts in its place.
    """

    title: str  # what users call the interface
    functions: Functions
    attributes: Mapping[str, int]  # properties of a device: our name and the vendor's number
    faults: frozenset[int]  # codes of a fault in a kernel, which a later call reports
    default_streams: tuple[int, ...]  # handles that stand for the default stream
    no_context: int  # what `get_current` gives where no device is current

    def __init__(self, library: Any):
        self.cdll = library
        self._addresses: dict[str, int] = {}
        for name, (symbol, parameters) in self.functions.items():
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
            assert address is not None
            self._addresses[name] = address
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *parameters)(address))

    def __getattr__(self, name: str) -> Callable[..., int]:
        raise AttributeError(f"the {self.title} function {name!r} is not bound: `functions` lists those that are")

    def address(self, name: str) -> int:
        """The function's address, for native code that calls it."""
        return self._addresses[name]

    @abstractmethod
    def texts(self, code: int) -> list[str]:
        """The library's own name and text of a result code, as far as it knows them."""

    def describe(self, code: int) -> str:
        texts = list(dict.fromkeys(self.texts(code)))
        return f"{': '.join(texts)} (code {code})" if texts else f"unknown {self.title} error {code}"

    def forget_error(self) -> None:  # noqa: B027, nothing for most
        """Clear what the library remembers of an error that has been dealt with."""

    @abstractmethod
    def device_memory_type(self) -> int:
        """What `POINTER_MEMORY_TYPE` is for memory of a device."""
