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
from collections.abc import Callable, Iterator
from math import prod
from sys import getrefcount
from threading import get_ident
from typing import TYPE_CHECKING
from weakref import ref

from nbx_array.backend import locks
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
_lock = locks.lock()
several_write = False
"""Whether more than one thread has written to memory that something pending may have read."""
_writer: int | None = None  # the one that did so last
_removals = 0  # how often something was taken out of the journal


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
    global _removals
    with _lock:
        if notes and notes[-1] is expression:
            del notes[-1]
            _removals += 1


def _sweep(current: Expression | None = None) -> None:
    global _prune_at, _removals
    before, batch = _removals, notes[:]
    swept = slice(len(batch))
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
            first = [note]
            if storage.readers:
                storage.readers.append(note)
                if len(storage.readers) % 1024 == 0:
                    storage.readers = [note for note in storage.readers if _pending(note)]
            else:
                storage.readers = first
        _waiting.append(note)
        if held > GREEDY_BYTES and held > GREEDY_RATIO * prod(expression.shape) * expression.sig.itemsize:
            _greedy.append(note)
    if _removals == before:  # else a collection came in between, and a finaliser has swept the same
        notes[swept] = kept
        _removals += 1
    if len(_waiting) > _prune_at:
        _waiting[:] = [note for note in _waiting if _pending(note)]
        _prune_at = max(1024, 2 * len(_waiting))


def _tidy() -> None:
    """The dead may hold memory that a large allocation could take. One that lives may be what is being realised."""
    if len(notes) > 1 or (notes and not survivors(notes[:])):
        with _lock:
            _sweep()


tidy_hooks.append(_tidy)


def _collecting(phase: str, info: object) -> None:
    """Called by the garbage collector, in any thread and at any place."""
    if phase == "start" and len(notes) > LONG:
        for free in map(_lock.acquire, (False,)):  # a loop: no interrupt comes between taking the lock and the `try`
            if free:
                try:
                    _sweep()
                finally:
                    _lock.release()


gc.callbacks.append(_collecting)


def _pending(note: ref[Expression]) -> bool:
    expression = note()
    return expression is not None and expression.sig.op != "leaf"


def take_readers(storage: Storage, spared: Expression | None = None) -> Iterator[Expression]:
    """The live pending expressions that read a storage, but `spared`, for the caller to realise each before the next.
    Meanwhile other threads may build more on those that still wait."""
    global _writer, several_write
    if _writer != (thread := get_ident()):
        several_write = several_write or _writer is not None
        _writer = thread
    while True:
        if notes:
            sweep(spared)
        if not storage.readers:
            return
        with _lock:
            storage.readers = [note for note in storage.readers if _pending(note)]
            found = [expression for note in storage.readers if (expression := note()) is not None]
        readers = [expression for expression in found if expression is not spared and expression.sig.op != "leaf"]
        if not readers:
            return
        del found
        yield from readers


def pending() -> list[Expression]:
    """Every live pending expression."""
    sweep()
    with _lock:
        return [expression for note in _waiting if (expression := note()) is not None and expression.sig.op != "leaf"]
