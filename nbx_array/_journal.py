"""Pending readers: which deferred expressions read a storage, so that a write can let them read first.

A new expression is only put into a journal (a list append, 30 ns; a weak reference would take 150). Most are the
temporaries of a longer formula and die there. A sweep drops those that nothing else refers to and notes the others,
weakly, with the storages that they read. It runs before a write, before a large allocation (the dead hold memory),
when somebody asks for memory, and when the journal is long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from math import prod
from sys import getrefcount
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from nbx_array._expression import Expression
    from nbx_array.memory.storage import Storage

GREEDY_BYTES, GREEDY_RATIO = 1 << 20, 16
"""A pending expression that holds more than so many bytes, and so many times its own, is realised at the next sweep."""


def _unused() -> int:
    """What `getrefcount` says, in such a loop as `sweep`'s, of what only the list refers to. Interpreters differ."""
    count = 0
    for item in [object()]:
        count = getrefcount(item)
    return count


UNUSED = _unused()

notes: list[Expression] = []
_waiting: list[ref[Expression]] = []  # survivors of sweeps, pruned when they have doubled
_prune_at = 1024
_lock = threading.RLock()


def sweep() -> list[Expression]:
    """Drop the journal's dead expressions; note the live ones with the storages that they read.

    Returns those that hold much more memory than they would take themselves, such as `x[0] + 1` of a large x.
    """
    global _prune_at
    greedy: list[Expression] = []
    with _lock:
        batch = notes[:]
        del notes[: len(batch)]
        for expression in batch:
            if getrefcount(expression) == UNUSED or expression.sig.op == "leaf":
                continue
            note = ref(expression)
            held = 0
            for storage in set(expression.keep):
                held += storage.nbytes
                if storage.readers:
                    storage.readers.append(note)
                    if len(storage.readers) % 1024 == 0:
                        storage.readers = [note for note in storage.readers if _pending(note)]
                else:
                    storage.readers = [note]
            _waiting.append(note)
            if held > GREEDY_BYTES and held > GREEDY_RATIO * prod(expression.shape) * expression.sig.itemsize:
                greedy.append(expression)
        if len(_waiting) > _prune_at:
            _waiting[:] = [note for note in _waiting if _pending(note)]
            _prune_at = max(1024, 2 * len(_waiting))
    return greedy


def _pending(note: ref[Expression]) -> bool:
    expression = note()
    return expression is not None and expression.sig.op != "leaf"


def take_readers(storage: Storage) -> Iterator[Expression]:
    """The live pending expressions that read a storage, taken off its list."""
    if notes:
        sweep()
    with _lock:
        readers, storage.readers = storage.readers, ()
    for note in readers:
        expression = note()
        if expression is not None and expression.sig.op != "leaf":
            yield expression


def pending() -> list[Expression]:
    """Every live pending expression."""
    sweep()
    with _lock:
        return [expression for note in _waiting if (expression := note()) is not None and expression.sig.op != "leaf"]
