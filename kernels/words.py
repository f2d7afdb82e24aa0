"""What the programs of a launch tell each other: the memory for it, and the text that writes and reads it.

The numbers of a state travel as words of `source.look_back`, those of neighbouring slots side by side: first a word of
each slot, then the next. A launch has a tag by which its words are told from those of earlier launches.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from nbx_array.backend.contract import Device, get_driver
from nbx_array.kernels.types import type_row
from nbx_array.memory import Storage, allocate
from nbx_array.memory.streams import current_stream

COUNTERS = 1024
"""Words in front that count programs: zero between launches."""

LASTING = ("cuda", "hip")
"""Backends that keep words from launch to launch: Metal's have no room for tags, and on the CPU launches run side by
side."""

KEPT = 1 << 20
"""Bytes of words that a device keeps. More are allocated when wanted, and cleared: a small part of such a launch."""

TAGS = 2**32 - 1
"""Launches that can be told from each other by tags of 32 bits, of which 0 says that a word has never been written."""


# ------------------------------------------------------------------------------------------------------------- memory


class _Words:
    """Counters and words, clear at first."""

    def __init__(self, nbytes: int, device: Device) -> None:
        self.device = device
        self.lock = threading.Lock()
        self.storage = allocate(nbytes, device)
        self.clear()

    def clear(self) -> None:
        device, storage = self.device, self.storage
        get_driver(device.backend).fill(storage.ptr, 0, storage.nbytes, device.index, current_stream(device))
        self.launches = 0

    def tag(self) -> int:
        """That of the next launch."""
        with self.lock:
            if self.launches == TAGS:
                self.clear()
            self.launches += 1
            return self.launches


_kept: dict[Device, _Words] = {}


def words_for(count: int, device: Device) -> tuple[Storage, int]:
    """Counters and so many words for one launch, and its tag. Those that are kept need no clearing, since the work of a
    device is one sequence, whatever streams it runs in."""
    nbytes = nbytes_of(count, device)
    if device.backend in LASTING and nbytes <= KEPT:
        words = _kept.get(device) or _kept.setdefault(device, _Words(KEPT, device))
    else:
        words = _Words(nbytes, device)
    return words.storage, words.tag()


def nbytes_of(count: int, device: Device) -> int:
    """Bytes of the counters and so many words."""
    return (COUNTERS + count) * (word_bits(device) // 8)


def word_bits(device: Device) -> int:
    """Bits of a word: Metal's atomics have no 64."""
    return 32 if device.backend == "metal" else 64


def words_of(dtypes: Sequence[np.dtype], device: Device) -> int:
    """How many words a state of components of these dtypes takes: half of each is payload."""
    return len(_parts(dtypes, word_bits(device)))


def _parts(dtypes: Sequence[np.dtype], bits: int) -> list[tuple[int, int]]:
    """The component, and the part of it, of each word of a state."""
    return [(j, k) for j, dtype in enumerate(dtypes) for k in range(max(16 * dtype.itemsize // bits, 1))]


# --------------------------------------------------------------------------------------------------------------- text


def publish(letter: str, dtypes: Sequence[np.dtype], slots: int, to: str, device: Device) -> list[str]:
    """Write the state whose components the letter and numbers name to where the pointers `to` point."""
    return [
        f'tl.atomic_xchg({to} + {i * slots}, look_back.word({letter}{j}, {k}, tag), sem="relaxed")'
        for i, (j, k) in enumerate(_parts(dtypes, word_bits(device)))
    ]


def read(
    letter: str, dtypes: Sequence[np.dtype], slots: int, at: str, asked: str, shape: str, waiting: str, device: Device
) -> list[str]:
    """Read a block of states when all that are asked for are there; `waiting` says whether any is asked for."""
    bits = word_bits(device)
    parts = _parts(dtypes, bits)
    names = [f"w{letter}{i}" for i in range(len(parts))]
    missing = " | ".join(f"look_back.absent({w}, tag)" for w in names)
    missing = f"(({missing}) & asked_{letter}).to(tl.int32)"
    for _ in range(shape.count(",") + 1):
        missing = f"tl.max({missing}, 0)"
    lines = [
        f"at_{letter} = {at}",
        f"asked_{letter} = tl.broadcast_to({asked}, {shape})",
        *(f"{w} = tl.zeros({shape}, tl.int{bits})" for w in names),
        f"waiting_{letter} = {waiting}",
        f"while waiting_{letter}:",
        *(
            f'    {w} = tl.atomic_add(at_{letter} + {i * slots}, 0, mask=asked_{letter}, sem="relaxed")'
            for i, w in enumerate(names)
        ),
        f"    waiting_{letter} = {missing} > 0",
    ]
    for j, dtype in enumerate(dtypes):
        integer = f"tl.int{8 * dtype.itemsize}"
        halves = [f"look_back.half({w}, {k}, {integer})" for w, (i, k) in zip(names, parts, strict=True) if i == j]
        lines.append(f"{letter}{j} = ({' + '.join(halves)}).to({type_row(dtype).value}, bitcast=True)")
    return lines
