"""Storage: the owner of one allocation on one device.

A storage lives as long as an array, a view or a pending expression refers to it. Its finaliser gives the block back by
appending to a list or a deque of the pool, and does nothing else: a finaliser runs at any point of any thread, so one
that took the pool's lock would deadlock against the allocation that triggered the collection, and one that imported
or raised would fail while the interpreter shuts down.
"""

from __future__ import annotations

from typing import Any

from nbx_array.backend import locks
from nbx_array.backend.contract import Device

__all__ = ["ForeignStorage", "Storage", "any_shared", "lend", "share", "take_back", "wrap"]

_lock = locks.lock()
_loans: set[object] = set()  # of all storages; _FOR_GOOD once any is shared for good
_FOR_GOOD = "for good"


class Storage:
    """One block of device memory.

    ``ptr`` is its address as an integer and ``nbytes`` the size that was asked for. ``readers`` lists weak references
    to the pending expressions that read the block (the array core keeps it). ``shared`` is true while other code can
    write to the block: a set of loans that have an end, or True, which has none.
    """

    __slots__ = ("__weakref__", "nbytes", "ptr", "readers", "shared")

    device: Device
    ptr: int
    nbytes: int
    readers: Any
    shared: bool | set[object]

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
        self.shared = False
        share(self)


def wrap(ptr: int, nbytes: int, device: Device, owner: object) -> Storage:
    """Make a storage of ``nbytes`` bytes at ``ptr`` that belong to ``owner``, which the storage keeps alive."""
    return ForeignStorage(ptr, nbytes, device, owner)


def share(storage: Storage) -> None:
    """From now on other code can write to the block, for good."""
    with _lock:
        storage.shared = True
        _loans.add(_FOR_GOOD)


def lend(storage: Storage, loan: object) -> None:
    """Other code can write to the block until `take_back` is called with the same `loan`."""
    alone = {loan}
    with _lock:
        if storage.shared is True:
            return
        if storage.shared:
            storage.shared.add(loan)
        else:
            storage.shared = alone
        _loans.add(loan)


def take_back(storage: Storage, loan: object) -> None:
    """The end of a loan. A finaliser may call this anywhere: it takes no lock."""
    shared = storage.shared
    if shared is not True and shared:
        shared.discard(loan)
    _loans.discard(loan)


def any_shared() -> bool:
    """Whether other code can write to any storage."""
    return bool(_loans)
