"""Scans: running sums, products and extremes along an axis.

A kernel evaluates an expression inside its loop, so that what is pending needs no memory of its own. A program takes a
number of lanes, neighbours that are scanned side by side, and goes along the axis tile by tile, carrying what it has so
far. Where lanes alone do not fill a GPU every tile has a program of its own, which learns from those before it what
comes before (`scan_kernel`): still one launch, which reads and writes every element once. What is combined with what
depends on shapes alone, so that results repeat bit for bit. On the CPU a lane goes element by element, in NumPy's
order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.compiler import KernelMissing, Source
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels.reduction import TABLE as REDUCTIONS
from nbx_array.kernels.reduction_table import accumulator, state_dtypes
from nbx_array.kernels.scan_kernel import NAMES, Form, Operand, Writer
from nbx_array.kernels.signature import Sig
from nbx_array.kernels.words import words_for, words_of
from nbx_array.memory.view import collapse, contiguous_strides

Strides = tuple[int, ...]


FEW = 64
"""Kernels for any sizes take tiles of so many steps, or where there are more of as many as a tile has."""


class Tile(NamedTuple):
    """How much a program takes at a time."""

    nbytes: int
    lanes: int  # at most, where they lie side by side
    steps: int  # at most
    num_warps: int


class Rule(NamedTuple):
    """Launch rule of a backend."""

    whole: Tile  # of a program that goes along the axis
    linked: Tile  # of one that takes one tile: it waits more, so that more is under way at a time
    programs: int  # the former fill the device from here on
    look: int  # numbers of lanes that a program reads at once of those before it


# Of float32, 16 elements a thread: 132 multiprocessors hold about 90 KB each of tiles that wait.
_GPU = Rule(Tile(8192, 64, 2048, 4), Tile(16384, 32, 4096, 8), 512, 512)
_CPU = Tile(8192, 1024, 1, 1)
RULES = {"cpu": Rule(_CPU, _CPU, 1, 512), "cuda": _GPU, "hip": _GPU, "metal": _GPU}


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _class(stride: int, size: int) -> str:
    return "0" if size == 1 else str(stride) if stride in (0, 1) else "s"


def split(
    shape: tuple[int, ...], strides: tuple[Strides, ...], axis: int
) -> tuple[tuple[int, int, int], tuple[Operand, ...]] | None:
    """The sizes (others, steps, lanes) of a scan and each operand's strides over them; None if the dimensions before
    or after the axis do not merge into one."""
    sides = []
    for part in (slice(axis), slice(axis + 1, None)):
        dims, steps = collapse(shape[part], *(s[part] for s in strides))
        if len(dims) > 1:
            return None
        sides.append((dims[0] if dims else 1, [s[0] if s else 0 for s in steps]))
    (before, outer), (after, inner) = sides
    along = [s[axis] for s in strides]
    if after == 1:
        return (1, shape[axis], before), tuple(Operand(0, *pair) for pair in zip(along, outer, strict=True))
    return (before, shape[axis], after), tuple(Operand(*three) for three in zip(outer, along, inner, strict=True))


def scan(
    name: str,
    sig: Sig,
    args: tuple[Any, ...],
    shape: tuple[int, ...],
    geo: tuple[Strides, ...] | None,
    axis: int,
    out: int,
    dtype: np.dtype,
    strides: Strides,
) -> bool:
    """Scan an expression of at least one element into memory at address `out` with the given strides, as `dtype`.

    `geo` has the strides of the expression's array operands; None if they are all contiguous. False if the operands'
    dimensions lie so that no kernel takes them, or if a kernel for the expression is missing: nothing is done then, and
    a packed copy will do.
    """
    operands = geo if geo is not None else (contiguous_strides(shape),) * sig.leaves
    device = sig.device
    fixed = name, sig, shape, (*operands, strides), axis, dtype, sig.aligned and out % 16 == 0, RULES[device.backend]
    try:
        planned = special_or_general(lambda general: plan(*fixed, general))
    except KernelMissing:
        if sig.op == "leaf":
            raise
        return False
    if planned is None:
        return False
    launcher, numbers, grid, count = planned
    if count:
        words, tag = words_for(count, device)
        launcher.spread((*args, out, words.ptr, tag, *numbers), grid, 1, 1)
    else:
        launcher.spread((*args, out, *numbers), grid, 1, 1)
    return True


class Plan(NamedTuple):
    """A launch, ready but for pointers and scalars."""

    launcher: Launcher
    numbers: tuple[int, ...]  # the arguments after pointers
    grid: int
    words: int  # by which programs tell each other numbers; none where each goes along the axis


@lru_cache(maxsize=4096)
def plan(
    name: str,
    sig: Sig,
    shape: tuple[int, ...],
    strides: tuple[Strides, ...],
    axis: int,
    dtype: np.dtype,
    aligned: bool,
    rule: Rule,
    general: bool,
) -> Plan | None:
    """How to scan an expression whose array operands, and the output after them, have the given strides; None if no
    kernel takes them. `aligned`: all are aligned to 16 bytes. `general`: by a kernel for any sizes and strides."""
    found = split(shape, strides, axis)
    if found is None:
        return None
    (others, steps, lanes), operands = found
    row = REDUCTIONS[NAMES[name]]
    wide = accumulator(row, dtype)
    form = form_of(rule, found[0], operands, wide.itemsize, general)
    across = -(-lanes // form.lanes)
    programs = across * others
    if -(-steps // form.steps) <= 4 or programs >= rule.programs:
        launcher = launcher_of(name, sig, form, dtype, False, rule.whole.num_warps)
        numbers = (across, lanes, steps, *(number for operand in operands for number in operand))
        return Plan(launcher, numbers, programs, 0)
    form = linked_form_of(rule, found[0], operands, wide.itemsize, general)
    across = -(-lanes // form.lanes)
    programs = across * others
    tiles = -(-steps // form.steps)
    launcher = launcher_of(name, sig, form, dtype, aligned, rule.linked.num_warps)
    even = 16 if form.rows == "even" else 1
    given = (number for o in operands for number in (o.other // even, o.step, o.lane // even))
    states = (tiles + 2 * -(-tiles // form.look)) * form.lanes  # of each tile, and two of each group of tiles
    words = states * words_of(state_dtypes(row, dtype, False), sig.device) * programs
    return Plan(launcher, (across, programs, tiles, lanes, steps, *given), programs * tiles, words)


# ------------------------------------------------------------------------------------------------------------- forms


def form_of(
    rule: Rule, sizes: tuple[int, int, int], operands: tuple[Operand, ...], itemsize: int, general: bool = False
) -> Form:
    """The kernel whose programs go along the axis, if `general` one for any sizes and strides."""
    _, steps, _ = sizes
    tile = rule.whole.nbytes // max(itemsize, 4)  # bytes take a register each: tiles of more of them spill
    if general:
        height = min(FEW if steps <= FEW else tile, rule.whole.steps)
        width = tile // height if rule.whole.steps > 1 else 1
        return Form(height, width, False, (("s", "s"),) * len(operands))
    return Form(*_tile(rule.whole, tile, sizes, operands))


def linked_form_of(
    rule: Rule, sizes: tuple[int, int, int], operands: tuple[Operand, ...], itemsize: int, general: bool = False
) -> Form:
    """The kernel whose programs take a tile each, if `general` one for any sizes and strides."""
    others, _, lanes = sizes
    tile = rule.linked.nbytes // max(itemsize, 4)
    if general:
        return Form(min(tile, rule.linked.steps), 1, False, (("s", "s"),) * len(operands), min(32, rule.look))
    height, width, inner, pattern = _tile(rule.linked, tile, sizes, operands)
    even = all(operand.other % 16 == 0 and operand.lane % 16 == 0 for operand in operands)
    rows = "one" if others * lanes == 1 else "even" if width == 1 and even else "any"
    return Form(height, width, inner, pattern, min(32, rule.look // width), rows, lanes % width == 0)


def _tile(
    limits: Tile, tile: int, sizes: tuple[int, int, int], operands: tuple[Operand, ...]
) -> tuple[int, int, bool, tuple[tuple[str, str], ...]]:
    """The first four fields of a form whose tiles have up to so many elements."""
    _, steps, lanes = sizes
    inner = abs(operands[0].lane) <= abs(operands[0].step)
    if inner:
        width = min(_power_of_two(lanes), limits.lanes, tile)
        height = min(_power_of_two(steps), tile // width, limits.steps)
    else:
        height = min(_power_of_two(steps), limits.steps, tile)
        width = min(_power_of_two(lanes), tile // height) if limits.steps > 1 else 1
    pattern = tuple((_class(operand.step, steps), _class(operand.lane, width)) for operand in operands)
    return height, width, inner, pattern


def launcher_of(name: str, sig: Sig, form: Form, dtype: np.dtype, aligned: bool, num_warps: int) -> Launcher:
    """The kernel of a scan."""
    key = (name, form, dtype, aligned, num_warps)
    launcher = sig.launchers.get(key)
    if launcher is None:
        text, parameters = Writer(name, sig, form, dtype).kernel()
        launcher = sig.launchers[key] = get_launcher(
            Source.generated(text, "scan"),
            tuple(parameters),
            (("STEPS", form.steps),),
            sig.device,
            aligned=aligned,
            options=(("num_warps", num_warps),),
        )
    return launcher
