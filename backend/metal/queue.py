"""The work of a Metal device: one sequence, put into command buffers of bounded length.

A command buffer is handed to the device when it holds `LENGTH` dispatches, when the host wants to read, and when an
event is to be a clock. Dispatches of one encoder, and command buffers of one queue, run one after the other, each
seeing what those before it wrote (Metal tracks the buffers that they use).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from ..contract import DeviceError

#: Dispatches of a command buffer. Longer ones start later, shorter ones cost more hand-overs of some 10 µs each.
LENGTH = 64
#: Command buffers under way; a queue of Metal has room for 64, and waits when it is full.
IN_FLIGHT = 16


class Commands:
    """A command buffer, and the names of the kernels in it."""

    __slots__ = ("buffer", "encoder", "kernels", "waited")

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.encoder: Any = None
        self.kernels: list[str] = []
        self.waited = False


class Queue:
    """A device's one queue. Safe to use from several threads."""

    def __init__(self, api: Any, device: Any, name: str) -> None:
        self._api, self._name = api, name
        self._queue = api.queue(device)
        self._lock = threading.RLock()
        self._open: Commands | None = None
        self._flying: deque[Commands] = deque()

    def dispatch(
        self, kernel: str, pipeline: Any, arguments: Sequence[bytes | tuple[Any, int]], grid: tuple[int, int, int],
        threads: int,
    ) -> None:  # fmt: skip
        with self._lock:
            commands = self.current()
            if commands.encoder is None:
                commands.encoder = self._api.encoder(commands.buffer)
            self._api.dispatch(commands.encoder, pipeline, arguments, grid, threads)
            commands.kernels.append(kernel)
            if len(commands.kernels) >= LENGTH:
                self.flush()

    def current(self) -> Commands:
        """The command buffer that work goes into now."""
        with self._lock:
            if self._open is None:
                self._open = Commands(self._api.command_buffer(self._queue))
            return self._open

    def newest(self) -> Commands | None:
        """The command buffer that the latest work went into; None where all has been waited for."""
        with self._lock:
            return self._open or (self._flying[-1] if self._flying else None)

    def flush(self) -> None:
        """Hand what there is to the device."""
        with self._lock:
            commands, self._open = self._open, None
            if commands is None:
                return
            self._api.commit(commands.buffer, commands.encoder)
            self._flying.append(commands)
            if len(self._flying) > IN_FLIGHT:
                self._land()

    def idle(self) -> bool:
        """Whether there is no work that is not done."""
        with self._lock:
            return self._open is None and all(self._api.done(commands.buffer) for commands in self._flying)

    def wait(self, until: Commands | None = None) -> None:
        """Wait for all work, or for that up to a command buffer. DeviceError for what went wrong in it."""
        with self._lock:
            if until is None or until is self._open:
                self.flush()
            while self._flying and not (until is not None and until.waited):
                self._land()

    def done(self, commands: Commands) -> bool:
        """Whether a command buffer is done; it is handed over first, so that it will be."""
        with self._lock:
            if commands is self._open:
                self.flush()
            return self._api.done(commands.buffer)

    def _land(self) -> None:
        """Wait for the oldest command buffer under way."""
        commands = self._flying.popleft()
        self._api.wait(commands.buffer)
        commands.waited = True
        problem = self._api.problem(commands.buffer)
        if problem:
            kernels = ", ".join(dict.fromkeys(reversed(commands.kernels))) or "none"
            raise DeviceError(f"{self._name}: {problem}; it lies in one of these kernels, the latest first: {kernels}")
