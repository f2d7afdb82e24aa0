"""What happens when a device has no room for an allocation.

In order: cached blocks go back to the driver, hooks that the array core registers realise the pending expressions that
hold memory, garbage in reference cycles is collected. The allocation is tried again after each step; if all have failed
an `OutOfMemoryError` says where the memory is and what would help. Cached blocks come first because giving them up
changes nothing a program can see, and because realising an expression needs room itself.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from nbx_array.backend.contract import Device

if TYPE_CHECKING:
    from nbx_array.memory.pool import Pool

__all__ = ["OutOfMemoryError", "bytes_text", "register_release_hook", "retry", "tidy_hooks"]

Block = TypeVar("Block")
ReleaseHook = Callable[[Device], None]

_hooks: list[ReleaseHook] = []
tidy_hooks: list[Callable[[], object]] = []  # called before each large allocation, to let go of what is dead


class OutOfMemoryError(MemoryError):
    """A device has no room for an allocation, even after everything that can be released has been."""


class _Relief(threading.local):
    running = False


_relief = _Relief()


def register_release_hook(hook: ReleaseHook) -> ReleaseHook:
    """Call ``hook(device)`` when memory of ``device`` runs short, for it to release what it can. Usable as decorator.

    The hook may allocate; an `OutOfMemoryError` in it ends the hook and is not an error.
    """
    _hooks.append(hook)
    return hook


def retry(pool: Pool, nbytes: int, attempt: Callable[[], Block | None]) -> Block:
    """Release memory step by step until ``attempt`` succeeds; raise `OutOfMemoryError` when it never does."""
    for step in (_empty_cache, _run_hooks, _collect_garbage):
        step(pool)
        block = attempt()
        if block is not None:
            return block
    raise OutOfMemoryError(_message(pool, nbytes)) from None


def _empty_cache(pool: Pool) -> None:
    pool.empty_cache()


def _run_hooks(pool: Pool) -> None:
    if _relief.running:  # a hook that ran out of memory itself
        return
    _relief.running = True
    try:
        for hook in _hooks:
            with contextlib.suppress(OutOfMemoryError):
                hook(pool.device)
    finally:
        _relief.running = False
    pool.empty_cache()


def _collect_garbage(pool: Pool) -> None:
    gc.collect()
    pool.empty_cache()


def _message(pool: Pool, nbytes: int) -> str:
    info = pool.info()
    limit = "no memory_limit" if info.limit is None else f"memory_limit {bytes_text(info.limit)}"
    helps = "delete arrays that are no longer needed, or work on smaller pieces"
    if info.limit is not None and info.live + nbytes <= info.total:
        helps += ", or raise memory_limit"
    return (
        f"no room for {bytes_text(nbytes)} on {pool.device}: {bytes_text(info.live)} in live arrays, "
        f"{bytes_text(info.cached)} cached, {bytes_text(info.free)} free of {bytes_text(info.total)}, {limit}. "
        f"What would help: {helps}."
    )


def bytes_text(nbytes: int) -> str:
    """A number of bytes for people: ``512 bytes``, ``1.50 GB`` (decimal units)."""
    size = float(nbytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{nbytes} bytes" if unit == "bytes" else f"{size:.2f} {unit}"
