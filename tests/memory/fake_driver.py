"""A driver over host memory that counts, refuses on request and records the order of work in streams."""

from __future__ import annotations

import ctypes
import itertools
from collections import Counter
from typing import Any

from nbx_array.backend.contract import Device


class FakeDriver:
    """Presents what the memory floor uses of `nbx_array.backend.contract.Driver`.

    With ``real`` false, addresses are numbers without memory behind them, so that traces of any size can be replayed.
    ``room`` is the memory of the device. ``log`` lists copies and the events that order streams.
    """

    backend = "fake"

    def __init__(self, room: int = 1 << 40, real: bool = False) -> None:
        self.room = room
        self.real = real
        self.blocks: dict[int, int] = {}
        self.buffers: dict[int, Any] = {}
        self.pinned: dict[int, Any] = {}
        self.calls: Counter[str] = Counter()
        self.log: list[tuple[Any, ...]] = []
        self.refuse = 0  # the next so many allocations fail
        self._next = 1 << 32
        self._streams = itertools.count(1)
        self._events = itertools.count(1)

    @property
    def used(self) -> int:
        return sum(self.blocks.values())

    def allocate(self, nbytes: int, index: int) -> int:
        self.calls["allocate"] += 1
        assert nbytes > 0
        if self.refuse or self.used + nbytes > self.room:
            self.refuse = max(0, self.refuse - 1)
            raise MemoryError
        if self.real:
            buffer = ctypes.create_string_buffer(nbytes + 256)
            address = -(-ctypes.addressof(buffer) // 256) * 256
            self.buffers[address] = buffer
        else:
            address = self._next
            self._next += -(-nbytes // 256) * 256
        self.blocks[address] = nbytes
        return address

    def free(self, address: int, index: int) -> None:
        self.calls["free"] += 1
        del self.blocks[address]
        self.buffers.pop(address, None)

    def memory(self, index: int) -> tuple[int, int]:
        return self.room - self.used, self.room

    def allocate_pinned(self, nbytes: int, index: int) -> int:
        buffer = ctypes.create_string_buffer(nbytes)
        self.pinned[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def free_pinned(self, address: int, index: int) -> None:
        del self.pinned[address]

    def copy_from_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        self.log.append(("copy_from_host", nbytes, stream, wait))
        ctypes.memmove(destination, source, nbytes)

    def copy_to_host(
        self, destination: int, source: int, nbytes: int, index: int, stream: int = 0, wait: bool = True
    ) -> None:
        self.log.append(("copy_to_host", nbytes, stream, wait))
        ctypes.memmove(destination, source, nbytes)

    def copy(self, destination: int, source: int, nbytes: int, index: int, stream: int = 0) -> None:
        self.log.append(("copy", nbytes, stream))
        ctypes.memmove(destination, source, nbytes)

    def create_stream(self, index: int) -> int:
        return next(self._streams)

    def destroy_stream(self, stream: int, index: int) -> None:
        self.log.append(("destroy_stream", stream))

    def create_event(self, index: int, timing: bool = False) -> FakeEvent:
        return FakeEvent(self, next(self._events))

    def wait_event(self, stream: int, event: FakeEvent, index: int) -> None:
        self.log.append(("wait", stream, event.number))

    def synchronize(self, index: int, stream: int | None = None) -> None:
        self.log.append(("synchronize", stream))


class FakeEvent:
    timing = False

    def __init__(self, driver: FakeDriver, number: int) -> None:
        self.driver = driver
        self.number = number

    def record(self, stream: int = 0) -> None:
        self.driver.log.append(("record", stream, self.number))

    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        self.driver.log.append(("wait on host", self.number))


#: A device that the fake driver serves; not one that `get_device` gives.
FAKE = Device("fake", 0)
