"""The archive: kernels as TTIR, Triton's intermediate text, for machines that triton has no package for.

One file holds them, which `python -m nbx_array.kernels.archive` writes: a line with a magic word, the format's version
and the SHA-256 of all that follows; a line of JSON; the index, for each kernel its key and where its text lies; then
blocks of texts, each compressed as one, since kernels are much alike. Nothing in it is executed by reading it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import lzma
import os
import struct
from collections.abc import Iterable
from pathlib import Path

MAGIC = b"nbx_array kernels 1 "
#: Bytes of text that a block holds: a kernel is found by unpacking one, in some milliseconds.
BLOCK = 1 << 18
#: A kernel in the index: the first half of its key, the number of its block, where its text begins and how long it is.
_PLACE = struct.Struct("<16sIII")


class ArchiveError(RuntimeError):
    """An archive that is damaged or of another format; the message names the file."""


def path() -> Path:
    """Where the archive is: ``NBX_ARCHIVE``, else beside this module, where a wheel that was built with one has it."""
    return Path(os.environ.get("NBX_ARCHIVE") or Path(__file__).with_name("kernels.archive"))


class Archive:
    """An archive in memory, which its texts are unpacked from as they are asked for."""

    def __init__(self, file: Path) -> None:
        first, _, payload = file.read_bytes().partition(b"\n")
        if not first.startswith(MAGIC):
            raise ArchiveError(f"{file} is no archive of kernels that this version reads")
        if first[len(MAGIC) :] != hashlib.sha256(payload).hexdigest().encode():
            raise ArchiveError(f"{file} is damaged: its hash is another")
        header, _, payload = payload.partition(b"\n")
        described = json.loads(header)
        self.triton: str = described["triton"]
        index = payload[: described["kernels"] * _PLACE.size]
        self._places = {key: place for key, *place in _PLACE.iter_unpack(index)}
        self._blocks, start = [], len(index)
        for length in described["blocks"]:
            self._blocks.append(payload[start : start + length])
            start += length

    def __len__(self) -> int:
        return len(self._places)

    def text(self, key: bytes) -> str | None:
        """A kernel's text by its key of 32 bytes; None where the archive lacks it."""
        place = self._places.get(key[:16])
        if place is None:
            return None
        block, start, length = place
        return self._unpacked(block)[start : start + length].decode()

    @functools.lru_cache(maxsize=4)  # noqa: B019 - there is one archive a process
    def _unpacked(self, block: int) -> bytes:
        return lzma.decompress(self._blocks[block])


@functools.cache
def archive() -> Archive | None:
    """This machine's archive; None where there is none."""
    file = path()
    return Archive(file) if file.is_file() else None


def write(file: Path, kernels: Iterable[tuple[bytes, str]], triton: str) -> int:
    """Write an archive of texts with their keys, those that are alike side by side; the number of kernels."""
    places: dict[bytes, tuple[int, int, int]] = {}
    blocks: list[bytes] = []
    pending: list[bytes] = []
    size = 0

    def pack() -> None:
        nonlocal pending, size
        if pending:
            blocks.append(lzma.compress(b"".join(pending), preset=9))
        pending, size = [], 0

    for key, text in kernels:
        encoded = text.encode()
        if key[:16] in places:
            continue
        if size + len(encoded) > BLOCK:
            pack()
        places[key[:16]] = len(blocks), size, len(encoded)
        pending.append(encoded)
        size += len(encoded)
    pack()
    header = {"triton": triton, "kernels": len(places), "blocks": [len(block) for block in blocks]}
    payload = json.dumps(header, separators=(",", ":")).encode() + b"\n"
    payload += b"".join(_PLACE.pack(key, *place) for key, place in places.items()) + b"".join(blocks)
    file.write_bytes(MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
    return len(places)
