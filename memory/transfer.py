"""Copies between the host's arrays and a device, and within a device.

Small copies to and from a GPU leave the packing to the driver. Large ones go through two pinned buffers in turn: while
the device copies from one, the processor fills the other. Memory of the CPU needs none of that and is read and written
as NumPy arrays.
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import Any

import numpy as np
from nbx_array.backend.contract import Device, Driver, Event, get_device
from nbx_array.memory.pool import allocate, pool_of
from nbx_array.memory.statistics import traffic
from nbx_array.memory.storage import Storage, lend, take_back
from nbx_array.memory.streams import current_stream, run_checks
from nbx_array.memory.view import View, contiguous_strides, is_contiguous, span

__all__ = ["as_numpy", "copy", "from_host", "lent", "lent_to_numpy", "read_element", "to_cpu", "to_device", "to_host"]

STAGED = 1 << 20  # copies from this size on are staged
CHUNK = 4 << 20  # bytes of a staging buffer


class _Memory:
    """What NumPy needs to know to see a storage as an array of bytes; keeps the storage alive."""

    __slots__ = ("__array_interface__", "storage")

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.__array_interface__ = {
            "version": 3,
            "shape": (storage.nbytes,),
            "typestr": "|u1",
            "data": (storage.ptr, False),
        }


class _Loan(_Memory):
    """Memory that code outside can write to as long as this object lives: an ndarray and all made of it hold it."""

    __slots__ = ()

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        lend(storage, id(self))

    def __del__(self) -> None:
        take_back(self.storage, id(self))


def lent_to_numpy(view: View) -> np.ndarray[Any, Any]:
    """As `as_numpy`, for code outside: the storage is shared until the ndarray and all made of it are gone."""
    return as_numpy(view, _Loan)


def lent(array: np.ndarray[Any, Any]) -> View | None:
    """The view of our memory that an ndarray is; None where the memory is another's or the strides are no view's."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if not isinstance(owner, _Memory):
        return None
    places = [array.ctypes.data - owner.storage.ptr, *array.strides]
    if any(place % array.itemsize for place in places):
        return None
    offset, *strides = (place // array.itemsize for place in places)
    return View(owner.storage, array.dtype, array.shape, tuple(strides), offset)


def as_numpy(view: View, memory: type[_Memory] = _Memory) -> np.ndarray[Any, Any]:
    """The elements of a view on the CPU as an ndarray over the same memory, which the ndarray keeps alive."""
    if view.size == 0:
        return np.empty(view.shape, view.dtype)
    itemsize = view.dtype.itemsize
    return np.ndarray(
        view.shape,
        view.dtype,
        np.asarray(memory(view.storage)),
        view.offset * itemsize,
        [s * itemsize for s in view.strides],
    )


def from_host(array: np.ndarray[Any, Any], device: Device) -> Storage:
    """Copy an ndarray, of any strides and either byte order, to a new storage in C order."""
    storage = allocate(array.nbytes, device)
    if array.nbytes == 0:
        return storage
    traffic.bytes_to_device += array.nbytes
    dtype = array.dtype.newbyteorder("=")
    if device.backend == "cpu":
        np.copyto(as_numpy(View(storage, dtype, array.shape, contiguous_strides(array.shape))), array)
        return storage
    packed = array if array.flags.c_contiguous and array.dtype.isnative else np.ascontiguousarray(array, dtype)
    driver, stream = pool_of(device).driver, current_stream(device)
    if packed.nbytes < STAGED:
        driver.copy_from_host(storage.ptr, packed.ctypes.data, packed.nbytes, device.index, stream)
    else:
        _staging_of(device).send(_bytes_of(packed), storage.ptr, stream)
    return storage


def to_host(view: View) -> np.ndarray[Any, Any]:
    """Copy the elements of a view to a new ndarray; waits for the device.

    From a GPU come all bytes between the first and the last element of the view, so the caller packs a sparse view
    beforehand. The result is in C order except where a view of a GPU is not.
    """
    if view.size == 0:
        return np.empty(view.shape, view.dtype)
    traffic.synchronisations += 1
    device = view.storage.device
    if device.backend == "cpu":
        traffic.bytes_to_host += view.nbytes
        return as_numpy(view).copy()
    if is_contiguous(view.shape, view.strides):
        array = np.empty(view.shape, view.dtype)
        _receive(array.ctypes.data, array.nbytes, view.address, device)
        return array
    itemsize = view.dtype.itemsize
    low, high = span(view.shape, view.strides, view.offset)
    raw = np.empty((high - low) * itemsize, np.uint8)
    _receive(raw.ctypes.data, raw.nbytes, view.storage.ptr + low * itemsize, device)
    strides = [s * itemsize for s in view.strides]
    return np.ndarray(view.shape, view.dtype, raw, (view.offset - low) * itemsize, strides)


def to_cpu(view: View) -> Storage:
    """Copy the elements of a contiguous view of a GPU to a new storage of the CPU; waits for the device."""
    storage = allocate(view.nbytes, get_device("cpu"))
    if view.nbytes:
        traffic.synchronisations += 1
        _receive(storage.ptr, view.nbytes, view.address, view.storage.device)
    return storage


def _receive(target: int, nbytes: int, source: int, device: Device) -> None:
    """Copy bytes of a GPU's memory to an address of the host's; waits for the device."""
    traffic.bytes_to_host += nbytes
    stream = current_stream(device)
    if nbytes < STAGED:
        pool_of(device).driver.copy_to_host(target, source, nbytes, device.index, stream)
    else:
        _staging_of(device).receive(source, _bytes_at(target, nbytes), stream)
    run_checks(device)


_NUMBERS = {
    np.dtype(number): number
    for number in (
        *(ctypes.c_bool, ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64),
        *(ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_float, ctypes.c_double),
    )
}


def read_element(storage: Storage, address: int, dtype: np.dtype[Any]) -> Any:
    """The element at an address inside a storage as a Python number; waits for the device."""
    number, device = _NUMBERS.get(dtype), storage.device
    if number is None:
        return to_host(View(storage, dtype, (), (), (address - storage.ptr) // dtype.itemsize)).item()
    traffic.synchronisations += 1
    traffic.bytes_to_host += dtype.itemsize
    if device.backend == "cpu":
        return number.from_address(address).value
    read = number()
    target, stream = ctypes.addressof(read), current_stream(device)
    pool_of(device).driver.copy_to_host(target, address, dtype.itemsize, device.index, stream)
    run_checks(device)
    return read.value


def copy(destination: int, source: int, nbytes: int, device: Device) -> None:
    """Copy bytes from one address of a device to another; the ranges do not overlap."""
    if nbytes:
        traffic.bytes_on_device += nbytes
        pool_of(device).driver.copy(destination, source, nbytes, device.index, current_stream(device))


def to_device(view: View, device: Device) -> Storage:
    """Copy the elements of a view to a new storage on any device, in C order. The view is packed on a GPU."""
    if view.storage.device is device and is_contiguous(view.shape, view.strides):
        storage = allocate(view.nbytes, device)
        copy(storage.ptr, view.address, view.nbytes, device)
        return storage
    return from_host(as_numpy(view) if view.storage.device.backend == "cpu" else to_host(view), device)


# ------------------------------------------------------------------------------------------------ staging


class _Staging:
    """Two pinned buffers of a GPU, each with an event that tells when the device is done with it."""

    def __init__(self, device: Device, driver: Driver) -> None:
        self._driver = driver
        self._index = device.index
        self._lock = threading.Lock()
        self._buffers: list[tuple[int, np.ndarray[Any, Any], Event]] = []
        for _ in range(2):
            address = driver.allocate_pinned(CHUNK, device.index)
            self._buffers.append((address, _bytes_at(address, CHUNK), driver.create_event(device.index)))

    def send(self, source: np.ndarray[Any, Any], destination: int, stream: int) -> None:
        """Copy host bytes to the device. Returns when they have been read, which may be before they arrive."""
        with self._lock:
            for number, start in enumerate(range(0, len(source), CHUNK)):
                address, buffer, event = self._buffers[number % 2]
                piece = source[start : start + CHUNK]
                event.synchronize()
                buffer[: len(piece)] = piece
                self._driver.copy_from_host(destination + start, address, len(piece), self._index, stream, wait=False)
                event.record(stream)

    def receive(self, source: int, destination: np.ndarray[Any, Any], stream: int) -> None:
        """Copy bytes of the device to the host and wait for them."""
        with self._lock:
            starts = range(0, len(destination), CHUNK)
            for number in range(len(starts) + 1):
                if number < len(starts):  # ask for one piece ...
                    address, _, event = self._buffers[number % 2]
                    start = starts[number]
                    length = min(CHUNK, len(destination) - start)
                    self._driver.copy_to_host(address, source + start, length, self._index, stream, wait=False)
                    event.record(stream)
                if number > 0:  # ... and take the one before
                    _, buffer, event = self._buffers[(number - 1) % 2]
                    piece = destination[starts[number - 1] : starts[number - 1] + CHUNK]
                    event.synchronize()
                    piece[:] = buffer[: len(piece)]


_stagings: dict[Device, _Staging] = {}
_stagings_lock = threading.Lock()


def _staging_of(device: Device) -> _Staging:
    with _stagings_lock:
        staging = _stagings.get(device)
        if staging is None:
            staging = _stagings[device] = _Staging(device, pool_of(device).driver)
        return staging


def _bytes_of(packed: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return packed.reshape(math.prod(packed.shape)).view(np.uint8)


def _bytes_at(address: int, nbytes: int) -> np.ndarray[Any, Any]:
    """Host memory that outlives its use as an array of bytes."""
    memory = _Memory.__new__(_Memory)
    memory.__array_interface__ = {"version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (address, False)}
    return np.asarray(memory)
