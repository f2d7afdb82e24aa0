"""Storage: the owner of one allocation on one device.

A storage lives as long as an array, a view or a pending expression refers to it. Its finaliser gives the block back by
appending to a list or a deque of the pool, and does nothing else: a finaliser runs at any point of any thread, so one
that took the pool's lock would deadlock against the allocation that triggered the collection, and one that imported
or raised would fail while the interpreter shuts down.
"""

from __future__ import annotations

from typing import Any

from nbx_array.backend.contract import Device

__all__ = ["ForeignStorage", "Storage", "wrap"]


class Storage:
    """One block of device memory.

    ``ptr`` is its address as an integer and ``nbytes`` the size that was asked for. ``readers`` lists weak references
    to the pending expressions that read the block (the array core keeps it). ``shared`` says that other code can
    write to the block; it is never reset.
    """

    __slots__ = ("__weakref__", "nbytes", "ptr", "readers", "shared")

    device: Device
    ptr: int
    nbytes: int
    readers: Any
    shared: bool

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self.device} at {self.ptr:#x}{', shared' if self.shared else ''}>"


class ForeignStorage(Storage):
    """Memory that other code allocated; ``owner`` keeps it alive and is dropped with the storage."""

    __slots__ = ("device", "owner")

    def __init__(self, ptr: int, nbytes: int, device: Device, owner: object) -> None:
        self.ptr = ptr
        self.nbytes = nbytes
        self.device = device
        self.owner = owner
        self.readers = ()
        self.shared = True


def wrap(ptr: int, nbytes: int, device: Device, owner: object) -> Storage:
    """Make a storage of ``nbytes`` bytes at ``ptr`` that belong to ``owner``, which the storage keeps alive."""
    return ForeignStorage(ptr, nbytes, device, owner)
