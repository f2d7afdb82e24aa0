"""Launch rules: how much work a program of a kernel takes, by device."""

from __future__ import annotations

from typing import NamedTuple

from nbx_array.backend.contract import Device, Target, get_driver


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
    "metal": Rule(1024, 4, 1024, 4, 32),
}
# AMD's warps have 64 threads or 32. With four elements a thread every function keeps within RDNA's 256 registers; with
# eight 16 of complex128 spill.
_HIP = {64: Rule(1024, 4, 1024, 4, 32), 32: Rule(1024, 8, 1024, 8, 32)}


#: Of a rule's block an expression with a long function takes this part on a GPU.
SHORT = 4


def rule(device: Device) -> Rule:
    """The rule of a device."""
    if device.backend == "hip":
        return rule_of(get_driver("hip").target(device.index))
    return _RULES[device.backend]


def rule_of(target: Target) -> Rule:
    """The rule of a target, whether or not there is such a device."""
    return _HIP[target.warp_size] if target.backend == "hip" else _RULES[target.backend]


def flat_block(device: Device, *, writes_only: bool, long: bool) -> int:
    """The elements that a program of an expression's contiguous kernel takes.

    What only writes is over so soon that small blocks are bound by how fast they start. Of a `long` function, which
    computes much longer than it moves memory, Triton writes the body once for each element of a thread: on a GPU it
    takes a quarter (`betainc` of float64 is compiled for gfx942 in 8 s so; in two forms of a rule's block in 34 s).
    """
    block = rule(device).block
    if long and device.backend != "cpu":
        return block // SHORT
    return 4 * block if writes_only else block


def has_short_warps(device: Device) -> bool:
    """Is it an AMD GPU with warps of 32 threads: RDNA, which has no matrix instructions of float32 or wider either?"""
    return device.backend == "hip" and get_driver("hip").target(device.index).warp_size == 32


def warps(device: Device, number: int) -> int:
    """The warps of a launch that takes `number` on CUDA: as many of 64 threads on CDNA, twice as many of 32 on RDNA
    (AMD's compiler keeps more in registers), one on the CPU."""
    if device.backend == "cpu":
        return 1
    return 2 * number if has_short_warps(device) else number
