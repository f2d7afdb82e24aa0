"""The disk cache of compiled code: one file an entry, checked by hash, private to the user, bounded in size.

An entry's name is ``KEY.VERSION``: the key covers everything that the code depends on except the compiler's version,
which is the suffix. So a machine without the compiler can use an entry that any version of it has made.

A file is a line with a magic word and the SHA-256 of all that follows, a line of JSON, and the bytes of the artifact.
Nothing in it is executed by reading it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .digest import sha256

MAGIC = b"nbx_array 1 "
LIMIT_BYTES = 1 << 30
#: The directory is measured at a process's first store, and every so many stores after it.
STORES_BETWEEN_MEASUREMENTS = 64


class Entry(NamedTuple):
    header: dict[str, Any]
    artifact: bytes


def directory() -> Path:
    """``NBX_CACHE_DIR``, else ``nbx_array`` in the user's cache directory."""
    chosen = os.environ.get("NBX_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "nbx_array"


def load(key: str, version: str) -> Entry | None:
    """The entry, or None where there is none that is whole and safe to use."""
    return _read(directory() / f"{key}.{version}")


def load_any_version(key: str) -> Entry | None:
    """The newest whole entry that any version of the compiler has made."""
    for path in sorted(directory().glob(f"{key}.*"), key=_modified, reverse=True):
        entry = _read(path)
        if entry is not None:
            return entry
    return None


def store(key: str, version: str, header: dict[str, Any], artifact: bytes) -> None:
    """Write an entry so that another process sees all of it or nothing. Failing to is a warning, not an error."""
    import json  # a millisecond that importing the package need not take

    payload = json.dumps(header, separators=(",", ":")).encode() + b"\n" + artifact
    folder = directory()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".new-{os.getpid()}-{threading.get_ident()}-{next(_numbers)}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + sha256(payload).hexdigest().encode() + b"\n")
                file.write(payload)
            os.replace(temporary, folder / f"{key}.{version}")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _bound(folder)
    except OSError as error:
        warnings.warn(f"nbx_array cannot write its kernel cache in {folder}: {error}", RuntimeWarning, stacklevel=2)


def _read(path: Path) -> Entry | None:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            # Code that someone else may have written, or may change, is not run.
            if os.name == "posix" and (status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022):
                return None
            content = file.read()
    except OSError:
        return None
    first, _, payload = content.partition(b"\n")
    if first != MAGIC + sha256(payload).hexdigest().encode():
        with contextlib.suppress(OSError):
            os.unlink(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # what is used stays, what is not is evicted first
    import json  # likewise

    header, _, artifact = payload.partition(b"\n")
    return Entry(json.loads(header), artifact)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


_numbers = itertools.count()
_stores = 0


def _bound(folder: Path) -> None:
    """Remove the entries longest unused until three quarters of the limit are left."""
    global _stores
    _stores += 1
    if _stores % STORES_BETWEEN_MEASUREMENTS != 1:
        return
    files = sorted(_files(folder))
    total = sum(size for _, size, _ in files)
    if total <= LIMIT_BYTES:
        return
    for _, size, path in files:
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= LIMIT_BYTES * 3 // 4:
            return


def _files(folder: Path) -> Iterator[tuple[float, int, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                yield status.st_mtime, status.st_size, entry.path
