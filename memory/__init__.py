"""Memory of devices: storages and views of them, the pool, transfers, and what happens when memory runs short."""

from nbx_array.memory.exhaustion import OutOfMemoryError, register_release_hook
from nbx_array.memory.pool import MemoryInfo, allocate, allocator, empty_cache, memory_info, memory_limit
from nbx_array.memory.statistics import traffic
from nbx_array.memory.storage import Storage, wrap
from nbx_array.memory.view import View

__all__ = [
    "MemoryInfo",
    "OutOfMemoryError",
    "Storage",
    "View",
    "allocate",
    "allocator",
    "empty_cache",
    "memory_info",
    "memory_limit",
    "register_release_hook",
    "traffic",
    "wrap",
]
