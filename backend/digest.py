"""SHA-256 digests. Python's hashlib loads OpenSSL, which takes 3 ms: with the first kernel, not with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash


def sha256(data: bytes = b"") -> _Hash:
    """A SHA-256 hash that has seen the given bytes."""
    import hashlib

    return hashlib.sha256(data)
