"""Pending readers: which deferred expressions read a storage, so that a write can let them read first.

A new expression is only noted in a journal (a list append, 30 ns). A write drains the journal into the storages'
reader lists, then realises the live readers of the storage it is about to change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from nbx_array._expression import Expression
    from nbx_array.memory.storage import Storage

LIMIT = 4096
"""Above this many notes the journal is drained, so that dropped expressions do not pile up."""

notes: list[ref[Expression]] = []
_waiting: list[ref[Expression]] = []  # drained notes, pruned when it doubles
_lock = threading.RLock()


def drain() -> None:
    """Move the journal's live expressions into the reader lists of the storages that they read."""
    with _lock:
        batch = notes[:]
        del notes[: len(batch)]
        for note in batch:
            expression = note()
            if expression is None or expression.sig.op == "leaf":
                continue
            for storage in set(expression.keep):
                if storage.readers:
                    storage.readers.append(note)
                    if len(storage.readers) > 2 * LIMIT:
                        storage.readers = [note for note in storage.readers if _pending(note)]
                else:
                    storage.readers = [note]
            _waiting.append(note)
        if len(_waiting) > 2 * LIMIT:
            _waiting[:] = [note for note in _waiting if _pending(note)]


def _pending(note: ref[Expression]) -> bool:
    expression = note()
    return expression is not None and expression.sig.op != "leaf"


def take_readers(storage: Storage) -> Iterator[Expression]:
    """The live pending expressions that read a storage, taken off its list."""
    if notes:
        drain()
    with _lock:
        readers, storage.readers = storage.readers, ()
    for note in readers:
        expression = note()
        if expression is not None and expression.sig.op != "leaf":
            yield expression


def pending() -> list[Expression]:
    """Every live pending expression."""
    drain()
    with _lock:
        _waiting[:] = [note for note in _waiting if _pending(note)]
        return [expression for note in _waiting if (expression := note()) is not None]
