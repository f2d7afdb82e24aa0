"""Launch rules: how much work a program of a kernel takes, by device."""

from __future__ import annotations

from typing import NamedTuple

from nbx_array.backend.contract import Device


class Rule(NamedTuple):
    """Launch rule of a backend."""

    block: int  # elements a program
    num_warps: int
    tile: int  # elements of a tile
    tile_warps: int
    side: int  # longest side of a tile whose both sides matter


# The CPU wants long loops and few programs; a GPU wants 8 elements a thread in small blocks (benchmarks/NOTES.md).
_RULES = {
    "cpu": Rule(16384, 1, 4096, 1, 64),
    "cuda": Rule(512, 2, 1024, 4, 32),
    "hip": Rule(1024, 4, 1024, 4, 32),
    "metal": Rule(1024, 4, 1024, 4, 32),
}


def rule(device: Device) -> Rule:
    return _RULES[device.backend]
