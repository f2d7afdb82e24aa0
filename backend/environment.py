"""Settings in the environment: which there are, and those that are on or off."""

from __future__ import annotations

import os

KNOWN = (
    *("NBX_ARCHIVE", "NBX_BACKEND", "NBX_CACHE_DIR", "NBX_FUSE", "NBX_HOST_ROUTINES", "NBX_NUM_THREADS"),
    "NBX_RECORD",
)


def is_on(name: str) -> bool:
    """Whether a switch is on, as it is unless it was set to 0; ValueError for what is neither 0 nor 1."""
    chosen = os.environ.get(name) or "1"
    if chosen not in ("0", "1"):
        raise ValueError(f"{name} is {chosen!r}; it must be 0 or 1")
    return chosen == "1"
