"""The pool: blocks of device memory kept for reuse, one pool a device.

Blocks up to 1 MiB come in powers of two, cut from slabs. Each size has a bin: a list of free addresses that a
storage's finaliser appends to and `allocate` pops from. Both are single operations on a list, so this path takes no
lock and about a quarter of a microsecond.

Larger blocks are asked from the driver at their exact size and kept, when freed, in a list sorted by size. A request
takes the smallest free block that is no larger than twice the request, or than 9/8 of it where memory is short.
Reuse matters on the CPU too: the page faults of a fresh 40 MB block take longer than a kernel that fills it.

Before the pool asks the driver for more it returns cached blocks as long as it would otherwise hold more than
`SPARE` times the most that was ever live at once. So what it holds is bounded by twice that peak, slabs aside.

The work of a device is one sequence, in the order in which it was issued, even where the user changes the stream (see
`nbx_array.memory.streams`). A freed block can therefore be reused at once: whoever gets it runs later in the sequence.

A garbage collection can start anywhere in this module and run finalisers that allocate. The lock is therefore
reentrant, and every statement under it leaves the books in order.
"""

from __future__ import annotations

import contextlib
import operator
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from nbx_array.backend import locks
from nbx_array.backend.contract import Device, Driver, get_device, get_driver
from nbx_array.memory.exhaustion import retry, tidy_hooks
from nbx_array.memory.small import large_storage, small_allocator, small_storage
from nbx_array.memory.statistics import traffic
from nbx_array.memory.storage import Storage

__all__ = ["MemoryInfo", "Pool", "allocate", "allocator", "empty_cache", "memory_info", "memory_limit", "pool_of"]

SMALL = 1 << 20  # the largest block that is cut from a slab
SLAB = 1 << 18  # bytes asked from the driver at a time for smaller blocks
SPARE = 2  # the pool holds no more than this times the peak of live bytes
ALIGNMENT = {"cpu": 64}  # of every block; 256 on GPUs


class MemoryInfo(NamedTuple):
    """Where the memory of a device is, in bytes."""

    live: int  #: in use by arrays; small blocks count with their block size
    cached: int  #: held by the pool for reuse
    peak: int  #: the most that was live at once (small blocks are looked at when large ones take more than before)
    limit: int | None  #: set by `memory_limit`
    free: int  #: by the driver's word, cached blocks not counted
    total: int  #: of the device


class _Bin:
    """The blocks of one small size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.free: list[int] = []
        self.slabs: list[tuple[int, int]] = []  # (address, bytes), sorted


class Loan:
    """A storage in the hands of a consumer; see `Pool.lend`."""

    __slots__ = ("_back", "_storage")

    def __init__(self, storage: Storage, back: deque[Storage]) -> None:
        self._storage = storage
        self._back = back

    def __del__(self) -> None:
        self._back.append(self._storage)


class Pool:
    """The memory of one device. ``allocate(nbytes)`` returns a `Storage`."""

    allocate: Callable[[int], Storage]

    def __init__(self, device: Device, driver: Driver) -> None:
        self.device = device
        self.driver = driver
        self.limit: int | None = None
        self._alignment = ALIGNMENT.get(device.backend, 256)
        self._bins = [_Bin(1 << i) for i in range(self._alignment.bit_length() - 1, SMALL.bit_length())]
        self._free: list[tuple[int, int]] = []  # large blocks: (bytes, address), sorted
        self._returned: deque[tuple[int, int, int]] = deque()  # from finalisers: (block bytes, address, asked bytes)
        self._small_class = small_storage(device)
        self._large_class = large_storage(device, self._returned.append)
        self._lent: deque[Storage] = deque()  # back from consumers, whose streams may still be using them
        self._lock = locks.lock()
        self._held = 0  # bytes obtained from the driver
        self._held_small = 0  # of these, slabs
        self._cached_large = 0
        self._live_large = 0
        self._most_large = 0  # the most that was, when the peak was last looked at
        self._peak = 0
        self.allocate = self._allocator()

    # -------------------------------------------------------------------------------------------- allocation

    def _allocator(self) -> Callable[[int], Storage]:
        """Build the function that pops a block from the bin of its size: the path that every small array takes."""
        free = [self._bins[0].free] * (self._alignment.bit_length() - 1) + [bin.free for bin in self._bins]
        return small_allocator(self._small_class, free, self._alignment, self._allocate_slowly)

    def _allocate_slowly(self, nbytes: int) -> Storage:
        """Allocate a large block, or a small one whose bin is empty."""
        if nbytes <= SMALL:
            bin = self._bins[max(0, (nbytes - 1).bit_length() - self._alignment.bit_length() + 1)]
            address = self._small_block(bin)
            if address is None:
                address = retry(self, nbytes, lambda: self._small_block(bin))
            storage = self._small_class()
            storage.home = bin.free
        else:
            for tidy in tidy_hooks:
                tidy()
            storage = self._large_class()
            storage.nbytes = nbytes
            address = self._large_block(storage) or retry(self, nbytes, lambda: self._large_block(storage))
        storage.ptr = address
        storage.nbytes = nbytes
        storage.readers = ()
        storage.shared = False
        return storage

    def _small_block(self, bin: _Bin) -> int | None:
        """Take a free block of the bin, or cut a new slab; None when there is no room for one."""
        with self._lock:
            for _ in range(2):
                try:
                    return bin.free.pop()
                except IndexError:
                    if not self._recall():
                        break
            room = SLAB if self.limit is None else min(SLAB, self.limit - self._held)
            size = max(1, room // bin.size) * bin.size
            address = self._obtain(size)
            if address is None:
                return None
            self._held_small += size
            insort(bin.slabs, (address, size))
            bin.free.extend(range(address + size - bin.size, address, -bin.size))
            self._note_peak()
            return address

    def _large_block(self, storage: Any) -> int | None:
        """Take a free block that fits the storage, or a new one, and return its address; None when there is no room.

        The storage has it at once, so that it comes back whatever interrupts the rest."""
        nbytes = storage.nbytes
        size = -(-nbytes // self._alignment) * self._alignment
        with self._lock:
            block = self._last_returned(size) or self._fitting_block(size)
            if block is None and self._recall():
                block = self._fitting_block(size)
            if block is None:
                self._trim(size)
                address = self._obtain(size)
                if address is None:
                    return None
                block = size, address
            storage.block, storage.ptr = block
            self._live_large += nbytes
            if self._live_large > self._most_large:
                self._note_peak()
            return storage.ptr

    def _last_returned(self, size: int) -> tuple[int, int] | None:
        """Take the block that a finaliser returned last if it has this very size, as in a loop over equal arrays."""
        try:
            returned = self._returned.pop()
        except IndexError:
            return None
        if returned[0] != size:
            self._returned.append(returned)
            return None
        self._live_large -= returned[2]
        return returned[0], returned[1]

    def _fitting_block(self, size: int) -> tuple[int, int] | None:
        """Take the smallest free large block that fits, as (bytes, address)."""
        if self._returned:
            self._settle()
        try:
            block = self._free.pop(bisect_left(self._free, (size, 0)))
        except IndexError:
            return None
        if block[0] != size:
            largest = size + (size if self._roomy() else size // 8)
            if not size <= block[0] <= largest:  # too large, or another one if a collection came in between
                insort(self._free, block)
                return None
        self._cached_large -= block[0]
        return block

    def _obtain(self, size: int) -> int | None:
        """Ask the driver for ``size`` bytes, within the limit."""
        if self.limit is not None and self._held + size > self.limit:
            return None
        self._held += size
        try:
            return self.driver.allocate(size, self.device.index)
        except BaseException as error:
            self._held -= size
            if isinstance(error, MemoryError):
                return None
            raise

    def _roomy(self) -> bool:
        """Whether less than half of what the pool may hold is in use, so that a block may be used half empty."""
        return self.limit is None or 2 * self._held <= self.limit

    # -------------------------------------------------------------------------------------------- release

    def _settle(self) -> None:
        """Book the large blocks that finalisers have returned."""
        while self._returned:
            try:
                size, address, nbytes = self._returned.popleft()
            except IndexError:  # a collection came in between
                return
            insort(self._free, (size, address))
            self._cached_large += size
            self._live_large -= nbytes

    def lend(self, storage: Storage) -> Loan:
        """Keep a storage for a consumer that uses it in a stream of its own, until the loan is dropped.

        What that stream then still does with the block is not part of the device's sequence of work, so the block is
        not reused before the whole device has been waited for.
        """
        return Loan(storage, self._lent)

    def _recall(self) -> bool:
        """Free what consumers have given back, after waiting for the device; whether there was any."""
        back = len(self._lent)
        if back:
            traffic.synchronisations += 1
            self.driver.synchronize(self.device.index)
            with contextlib.suppress(IndexError):
                for _ in range(back):
                    self._lent.popleft()
        return back > 0

    def _trim(self, size: int) -> None:
        """Return cached blocks, the largest first, until ``size`` more bytes keep to the bound of `SPARE`."""
        bound = SPARE * max(self._peak, self._live() + size)
        while self._held + size > bound and self._release_largest():
            pass

    def _release_largest(self) -> bool:
        """Return the largest cached block to the driver; whether there was one."""
        try:
            size, address = self._free.pop()
        except IndexError:
            return False
        self._cached_large -= size
        self._held -= size
        self.driver.free(address, self.device.index)
        return True

    def empty_cache(self) -> None:
        """Give every large block and every slab that is not in use back to the driver."""
        with self._lock:
            self._recall()
            self._settle()
            while self._release_largest():
                pass
            for bin in self._bins:
                self._release_slabs(bin)

    def _release_slabs(self, bin: _Bin) -> None:
        """Return the bin's slabs whose blocks are all free. Other threads may pop and append meanwhile."""
        addresses: list[int] = []
        try:
            with contextlib.suppress(IndexError):
                for _ in range(len(bin.free)):
                    addresses.append(bin.free.pop())
            addresses.sort()
            for slab in bin.slabs[:]:
                address, size = slab
                blocks = slice(bisect_left(addresses, address), bisect_left(addresses, address + size))
                if (blocks.stop - blocks.start) * bin.size == size:
                    del addresses[blocks]
                    bin.slabs.remove(slab)
                    self._held_small -= size
                    self._held -= size
                    self.driver.free(address, self.device.index)
        finally:
            bin.free += addresses[::-1]  # an interrupt loses none

    # -------------------------------------------------------------------------------------------- books

    def _live(self) -> int:
        return self._live_large + self._held_small - sum(len(bin.free) * bin.size for bin in self._bins)

    def _note_peak(self) -> None:
        self._most_large = max(self._most_large, self._live_large)
        if self._live_large + self._held_small > self._peak:  # no less than what is live, and quicker to find
            self._peak = max(self._peak, self._live())

    def info(self) -> MemoryInfo:
        """Where the memory is now."""
        free, total = self.driver.memory(self.device.index)
        with self._lock:
            self._settle()
            self._note_peak()
            live = self._live()
            return MemoryInfo(live, self._held - live, self._peak, self.limit, free, total)

    def reset_peak(self) -> None:
        """Let `MemoryInfo.peak` start again from what is live now."""
        with self._lock:
            self._settle()
            self._peak = self._live()
            self._most_large = self._live_large

    def set_limit(self, nbytes: int | None) -> None:
        """Hold no more than ``nbytes`` from now on; cached blocks beyond it are returned at once."""
        with self._lock:
            self.limit = nbytes
            if nbytes is not None and self._held > nbytes:
                self.empty_cache()


# ------------------------------------------------------------------------------------------------ pools of devices

_pools: dict[int, Pool] = {}  # by id of the Device, of which there is one object a device
_allocators: dict[int, Callable[[int], Storage]] = {}
_pools_lock = locks.lock()


def pool_of(device: str | Device) -> Pool:
    """The pool of a device, made at first use."""
    device = get_device(device)
    pool = _pools.get(id(device))
    if pool is None:
        driver = get_driver(device.backend)
        with _pools_lock:
            pool = _pools.get(id(device))
            if pool is None:
                pool = _pools[id(device)] = Pool(device, driver)
                _allocators[id(device)] = pool.allocate
    return pool


def allocator(device: str | Device) -> Callable[[int], Storage]:
    """The function that allocates on a device, ``allocator(device)(nbytes)``, for callers that keep it."""
    return pool_of(device).allocate


def allocate(nbytes: int, device: Device) -> Storage:
    """Allocate ``nbytes`` bytes, uninitialised; raise `OutOfMemoryError` when there is no room."""
    allocate_here = _allocators.get(id(device))
    return pool_of(device).allocate(nbytes) if allocate_here is None else allocate_here(nbytes)


def memory_info(device: str | Device) -> MemoryInfo:
    """Where the memory of a device is: live, cached, peak, limit, free and total bytes."""
    return pool_of(device).info()


def memory_limit(nbytes: int | None, device: str | Device) -> None:
    """Let the pool of a device hold no more than ``nbytes`` bytes, cached blocks included; None lifts the limit."""
    if nbytes is not None and not isinstance(nbytes, int):
        raise TypeError(f"memory_limit: a limit is a number of bytes or None, not {nbytes!r}")
    if nbytes is not None and operator.index(nbytes) < 0:
        raise ValueError(f"memory_limit: a limit is a number of bytes or None, not {nbytes}")
    pool_of(device).set_limit(nbytes)


def empty_cache(device: str | Device) -> None:
    """Give the memory that the pool of a device keeps for reuse back to the driver."""
    pool_of(device).empty_cache()
