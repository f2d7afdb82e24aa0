"""Pending readers: which deferred expressions read a storage, so that a write can let them read first.

A new expression is only put into a journal (a list append, 30 ns; a weak reference would take 150). Most are the
temporaries of a longer formula and die there. A sweep drops those that nothing else refers to and notes the others,
weakly, with the storages that they read. It runs before a write, before a large allocation (the dead hold memory),
when somebody asks for memory, and when the journal is long. The garbage collector sweeps a long journal, too: a program
may make expressions for ever and never look at one.

Threads share the journal. What they may see half done is arranged so that no reader is lost: a note stays in the
journal until the storages know of it, and on a storage's list until it is in memory.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from math import prod
from sys import getrefcount
from typing import TYPE_CHECKING
from weakref import ref

from nbx_array.memory.exhaustion import tidy_hooks

if TYPE_CHECKING:
    from nbx_array._expression import Expression
    from nbx_array.memory.storage import Storage

GREEDY_BYTES, GREEDY_RATIO = 1 << 20, 16
"""A pending expression that holds more than so many bytes, and so many times its own, is realised at the next sweep."""


LONG = 4096
"""A journal of this many expressions is swept by the garbage collector."""


def _unused() -> int:
    """What `getrefcount` says, in such a loop as `sweep`'s, of what only the journal refers to. Interpreters differ."""
    count = 0
    items = [object()]
    batch = items[:]
    for item in batch:
        count = getrefcount(item)
    return count


UNUSED = _unused()


def _survivors(batch: list[Expression]) -> list[Expression]:
    """Of a copy of the journal, what something else refers to."""
    return [expression for expression in batch if getrefcount(expression) != UNUSED]


survivors: Callable[[list[Expression]], list[Expression]] = _survivors  # `_fastpath` has a quicker one

notes: list[Expression] = []
_waiting: list[ref[Expression]] = []  # survivors of sweeps, pruned when they have doubled
_greedy: list[ref[Expression]] = []  # of these, what `sweep` has not named yet
_prune_at = 1024
_lock = threading.RLock()
_sweeping = False


def sweep(current: Expression | None = None) -> list[Expression]:
    """Drop the journal's dead expressions; note the live ones with the storages that they read.

    `current`, which the caller is about to realise, stays in the journal. Returns those that hold much more memory than
    they would take themselves, such as `x[0] + 1` of a large x.
    """
    with _lock:
        _sweep(current)
        if not _greedy:
            return []
        found = [expression for note in _greedy if (expression := note()) is not None]
        _greedy.clear()
    return [expression for expression in found if expression.sig.op != "leaf"]


def is_alone(expression: Expression) -> bool:
    """Whether there is nothing to sweep but an expression that is about to be realised."""
    try:
        return len(notes) == 1 and notes[0] is expression and not _greedy
    except IndexError:  # another thread swept it
        return False


def forget(expression: Expression) -> None:
    """Take what lies in memory by now off the end of the journal, which would hold that memory until a sweep."""
    with _lock:
        if not _sweeping and notes and notes[-1] is expression:
            del notes[-1]


def _sweep(current: Expression | None = None) -> None:
    global _prune_at, _sweeping
    if _sweeping:  # a collection in the midst of a sweep
        return
    _sweeping = True
    try:
        batch = notes[:]
        kept: tuple[Expression, ...] = ()
        for expression in survivors(batch):
            if expression is current:
                kept = (expression,)
                continue
            if expression.sig.op == "leaf":
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
                _greedy.append(note)
        count = len(batch)
        notes[:count] = kept
        if len(_waiting) > _prune_at:
            _waiting[:] = [note for note in _waiting if _pending(note)]
            _prune_at = max(1024, 2 * len(_waiting))
    finally:
        _sweeping = False


def _tidy() -> None:
    """The dead may hold memory that a large allocation could take. One that lives may be what is being realised."""
    if len(notes) > 1 or (notes and not survivors(notes[:])):
        with _lock:
            _sweep()


tidy_hooks.append(_tidy)


def _collecting(phase: str, info: object) -> None:
    """Called by the garbage collector, in any thread and at any place."""
    if phase == "start" and len(notes) > LONG and _lock.acquire(blocking=False):
        try:
            _sweep()
        finally:
            _lock.release()


gc.callbacks.append(_collecting)


def _after_fork_in_child() -> None:
    """Another thread of the parent may have held the lock, and it does not exist here."""
    global _lock, _sweeping
    _lock = threading.RLock()
    _sweeping = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _pending(note: ref[Expression]) -> bool:
    expression = note()
    return expression is not None and expression.sig.op != "leaf"


def take_readers(storage: Storage) -> Iterator[Expression]:
    """The live pending expressions that read a storage, for the caller to realise."""
    if notes:
        sweep()
    with _lock:
        readers = list(storage.readers)
    if not readers:
        return
    for note in readers:
        expression = note()
        if expression is not None and expression.sig.op != "leaf":
            yield expression
    with _lock:
        storage.readers = [note for note in storage.readers if _pending(note)]


def pending() -> list[Expression]:
    """Every live pending expression."""
    sweep()
    with _lock:
        return [expression for note in _waiting if (expression := note()) is not None and expression.sig.op != "leaf"]
