"""Locks for what all threads share."""

from __future__ import annotations

import os
import threading
from typing import Any


def lock() -> Any:
    """A lock for as long as the process lives. It is reentrant: where an object is made, a collection may run
    finalisers that take it again. The child of a fork has it free: a thread of the parent that held it is not there."""
    made: Any = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made._at_fork_reinit)
    return made
