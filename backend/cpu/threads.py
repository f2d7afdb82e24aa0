"""Spreading the programs of one launch over all cores."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

#: Ranges a thread: more than one, so that a thread which is held up does not hold up the launch.
RANGES_PER_THREAD = 4


class _Job:
    """One launch: the ranges not begun yet, and how many helpers are at work."""

    __slots__ = ("active", "args", "closed", "error", "finished", "function", "lock", "ranges")

    def __init__(self, function: Callable[..., None], args: tuple[Any, ...], ranges: deque[tuple[int, int]]) -> None:
        self.function = function
        self.args = args
        self.ranges = ranges
        self.active = 0
        self.closed = False
        self.lock = threading.Lock()
        self.finished = threading.Lock()
        self.finished.acquire()
        self.error: BaseException | None = None

    def work(self) -> None:
        """Run ranges until none is left."""
        try:
            while True:
                try:
                    lo, hi = self.ranges.popleft()
                except IndexError:
                    return
                self.function(*self.args, lo, hi)
        except BaseException as error:
            self.error = error
            self.ranges.clear()

    def help(self) -> None:
        """A helper's part; nothing, where it comes too late."""
        with self.lock:
            if self.closed:
                return
            self.active += 1
        self.work()
        with self.lock:
            self.active -= 1
            last = self.closed and not self.active
        if last:
            self.finished.release()

    def finish(self) -> None:
        """Wait for the helpers that have begun; those that have not are not waited for. Can be called again."""
        with self.lock:
            self.closed = True
            wait = self.active > 0
        if wait:
            self.finished.acquire()


class ThreadPool:
    """Threads that wait for ranges of programs. Started at first use; after a fork the child starts its own."""

    def __init__(self) -> None:
        self.size = _thread_count()
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._started = 0
        self._lock = threading.Lock()

    def run(self, function: Callable[..., None], args: tuple[Any, ...], total: int) -> None:
        """``function(*args, lo, hi)`` over contiguous ranges that make up [0, total), this thread working too."""
        parts = min(total, self.size * RANGES_PER_THREAD)
        ranges = deque((total * k // parts, total * (k + 1) // parts) for k in range(parts))
        if self._started < self.size - 1:
            self._start()
        job = _Job(function, args, ranges)
        error: BaseException | None = None
        try:
            for _ in range(min(self.size, parts) - 1):
                self._jobs.put(job)
            job.work()
        except BaseException as interrupt:
            error = interrupt
            ranges.clear()
        while True:  # whatever comes, nothing may be written after this returns
            try:
                job.finish()
                break
            except BaseException as interrupt:
                error = interrupt
                ranges.clear()
        error = job.error or error
        if error is not None:
            raise error

    def _start(self) -> None:
        with self._lock:
            while self._started < self.size - 1:
                threading.Thread(target=self._serve, args=(self._jobs,), name="nbx_array", daemon=True).start()
                self._started += 1

    @staticmethod
    def _serve(jobs: queue.SimpleQueue[_Job]) -> None:
        while True:
            jobs.get().help()


def _thread_count() -> int:
    chosen = os.environ.get("NBX_NUM_THREADS")
    if chosen:
        if not chosen.isdecimal() or not int(chosen):
            raise ValueError(f"NBX_NUM_THREADS is the number of threads, not {chosen!r}")
        return int(chosen)
    try:
        return len(os.sched_getaffinity(0))  # the cores that this process may use
    except AttributeError:
        return os.cpu_count() or 1


pool = ThreadPool()
