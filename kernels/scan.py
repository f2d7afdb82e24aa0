"""Scans: running sums, products and extremes along an axis.

A kernel evaluates an expression inside its loop, so that what is pending needs no memory of its own. A program takes a
number of lanes, neighbours that are scanned side by side, and goes along the axis tile by tile, carrying what it has so
far. Where lanes alone do not fill a GPU the axis is split: one launch leaves each piece's total, a scan of the totals
tells each piece what comes before it, and a third launch scans the pieces. Pieces depend on shapes alone, so that
results repeat bit for bit. On the CPU a lane goes element by element, in NumPy's order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.compiler import KernelMissing, Source
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels import generate, signature
from nbx_array.kernels.fused import leaf_dtypes
from nbx_array.kernels.reduction import TABLE as REDUCTIONS
from nbx_array.kernels.reduction_table import accumulator, identity, state_dtypes
from nbx_array.kernels.signature import Sig
from nbx_array.kernels.types import component, is_complex, type_row
from nbx_array.memory.view import collapse, contiguous_strides

Strides = tuple[int, ...]

NAMES = {"cumulative_sum": "sum", "cumulative_prod": "prod", "cumulative_max": "max", "cumulative_min": "min"}
"""The scans, each with the reduction whose running results it gives."""


STAGES = ("whole", "totals", "pieces")
"""A scan in one launch, or the launches before and after the scan of the totals."""


FEW = 64
"""Kernels for any sizes take tiles of so many steps, or where there are more of as many as a tile has."""


class Rule(NamedTuple):
    """Launch rule of a backend."""

    nbytes: int  # of a tile
    lanes: int  # of a tile, at most, where they lie side by side
    steps: int  # of a tile, at most
    programs: int  # that it takes to fill the device
    num_warps: int


_GPU = Rule(8192, 64, 2048, 1024, 4)
RULES = {"cpu": Rule(8192, 1024, 1, 1, 1), "cuda": _GPU, "hip": _GPU, "metal": _GPU}


class Operand(NamedTuple):
    """Strides of an operand over a scan's three dimensions: other, step and lane."""

    other: int
    step: int
    lane: int


class Form(NamedTuple):
    """What a kernel's text depends on, besides the scan and the expression."""

    steps: int
    lanes: int
    inner: bool  # lanes lie nearer in memory than steps
    pattern: tuple[tuple[str, str], ...]  # of each operand and the output: the strides of steps and lanes, if 0 or 1
    stage: str  # one of STAGES


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _class(stride: int, size: int) -> str:
    return "0" if size == 1 else str(stride) if stride in (0, 1) else "s"


@lru_cache(maxsize=4096)
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
    found = split(shape, (*operands, strides), axis)
    if found is None:
        return False
    try:
        special_or_general(lambda general: _run(name, sig, args, *found, out, dtype, general))
    except KernelMissing:
        if sig.op == "leaf":
            raise
        return False
    return True


def _run(
    name: str,
    sig: Sig,
    args: tuple[Any, ...],
    sizes: tuple[int, int, int],
    operands: tuple[Operand, ...],
    out: int,
    dtype: np.dtype,
    general: bool,
) -> None:
    others, steps, lanes = sizes
    rule = RULES[sig.device.backend]
    wide = accumulator(REDUCTIONS[NAMES[name]], dtype)
    form = form_of(rule, sizes, operands, wide.itemsize, general)
    across, tiles = -(-lanes // form.lanes), -(-steps // form.steps)
    chunk, splits = tiles, 1
    if tiles > 4 and across * others < rule.programs // 4:
        chunk = max(tiles * across * others // rule.programs, 2)
        splits = -(-tiles // chunk)
    numbers = [across, splits, lanes, steps, chunk]
    for operand in operands:
        numbers += operand
    if splits == 1:
        launcher = launcher_of(name, sig, form, dtype)
        launcher.spread((*args, out, out, *numbers), across * others, 1, 1)
        return
    totals = sig.allocate(others * splits * lanes * wide.itemsize)
    launcher = launcher_of(name, sig, form._replace(stage="totals"), dtype)
    launcher.spread((*args, totals.ptr, totals.ptr, *numbers), across * others * splits, 1, 1)
    place = Operand(splits * lanes, lanes, 1)
    leaf = signature.leaf(wide, sig.device)
    _run(name, leaf, (totals.ptr,), (others, splits, lanes), (place, place), totals.ptr, wide, general)
    launcher = launcher_of(name, sig, form._replace(stage="pieces"), dtype)
    launcher.spread((*args, totals.ptr, out, *numbers), across * others * splits, 1, 1)


@lru_cache(maxsize=4096)
def form_of(
    rule: Rule, sizes: tuple[int, int, int], operands: tuple[Operand, ...], itemsize: int, general: bool = False
) -> Form:
    """The kernel that scans in one launch, if `general` one for any sizes and strides."""
    _, steps, lanes = sizes
    tile = rule.nbytes // max(itemsize, 4)  # bytes take a register each: tiles of more of them spill
    if general:
        height = min(FEW if steps <= FEW else tile, rule.steps)
        return Form(height, tile // height if rule.steps > 1 else 1, False, (("s", "s"),) * len(operands), "whole")
    inner = abs(operands[0].lane) <= abs(operands[0].step)
    if inner:
        width = min(_power_of_two(lanes), rule.lanes, tile)
        height = min(_power_of_two(steps), tile // width, rule.steps)
    else:
        height = min(_power_of_two(steps), rule.steps, tile)
        width = min(_power_of_two(lanes), tile // height) if rule.steps > 1 else 1
    pattern = tuple((_class(operand.step, steps), _class(operand.lane, width)) for operand in operands)
    return Form(height, width, inner, pattern, "whole")


# ---------------------------------------------------------------------------------------------------- kernel text


def launcher_of(name: str, sig: Sig, form: Form, dtype: np.dtype) -> Launcher:
    """The kernel of one stage of a scan."""
    key = (name, form, dtype)
    launcher = sig.launchers.get(key)
    if launcher is None:
        launcher = sig.launchers[key] = _write(name, sig, form, dtype)
    return launcher


def _write(name: str, sig: Sig, form: Form, dtype: np.dtype) -> Launcher:
    """A kernel. Its arguments: the expression's, the totals of pieces, the output, sizes, and each operand's and the
    output's strides."""
    row = REDUCTIONS[NAMES[name]]
    wide = accumulator(row, dtype)
    value = type_row(wide).value
    combine = row.function(row.combine, dtype)
    neutral = identity(row, state_dtypes(row, dtype, wide=False))
    parts = range(len(neutral))
    # Steps run along one axis of a tile, lanes along the other, which is the one that lies nearer in memory.
    axis, across, down = (0, "[None, :]", "[:, None]") if form.inner else (1, "[:, None]", "[None, :]")
    shape = f"[{form.steps}, {form.lanes}]" if form.inner else f"[{form.lanes}, {form.steps}]"

    def offset(k: object, classes: tuple[str, str]) -> str:
        step, lane = classes
        terms = [f"begin * step_{k} + ({'step' if step == '1' else f'step * step_{k}'})"]
        if lane != "0":
            terms.append("lane" if lane == "1" else f"lane * lane_{k}")
        return " + ".join(terms)

    def address(k: int) -> generate.Address:
        return generate.Address(offset(k, form.pattern[k]))

    body = generate.body(sig, address, shape)
    pointers = [name for name, kind in body.parameters if kind.startswith("*")]
    modules = body.modules | {"reduction"}

    def combined(left: str, right: str, target: str, expand: str = "") -> str:
        given = [f"{left}{j}{expand}" for j in parts] + [f"{right}{j}" for j in parts]
        return f"{', '.join(f'{target}{j}' for j in parts)} = {combine}({', '.join(given)})"

    def fold(function: str, target: str) -> str:
        given = "x0" if len(neutral) == 1 else f"({', '.join(f'x{j}' for j in parts)})"
        return f"{', '.join(f'{target}{j}' for j in parts)} = {function}({given}, {axis}, {combine})"

    lines = [
        "g = tl.program_id(0).to(tl.int64)",
        f"l0 = (g % across) * {form.lanes}",
        "g = g // across",
        "part = g % splits",
        "q = g // splits",
    ]
    scales = ["2 * " if is_complex(leaf) else "" for leaf in leaf_dtypes(sig)]
    lines += [
        f"{p} += {s}(q * other_{k} + l0 * lane_{k})" for k, (p, s) in enumerate(zip(pointers, scales, strict=True))
    ]
    lines += [
        f"lane = tl.arange(0, {form.lanes}){across}",
        f"step = tl.arange(0, {form.steps}){down}",
        f"lane_m = lane < tl.minimum(lanes - l0, {form.lanes}).to(tl.int32)",
        "lane = lane.to(tl.int64)",
    ]
    flat = f"tl.arange(0, {form.lanes})"
    place = f"(q * splits + part) * lanes + l0 + {flat}"
    lines += [f"c{j} = tl.full([{form.lanes}], {n}, {value})" for j, n in zip(parts, neutral, strict=True)]
    if form.stage == "pieces":
        mask = f"({flat} < lanes - l0) & (part > 0)"
        double = "2 * " if is_complex(dtype) else ""
        lines += [
            f"c{j} = tl.load(t + {double}({place} - lanes) + {j}, mask={mask}, other={neutral[j]})" for j in parts
        ]
    loop = [
        f"begin = tile * {form.steps}",
        f"step_m = step < tl.minimum(steps - begin, {form.steps}).to(tl.int32)",
        "m = step_m & lane_m",
        *body.lines,
    ]
    modules.add("elementwise")
    for j, result in zip(parts, body.value, strict=True):
        cast = result if component(sig.dtype) == component(wide) else f"elementwise.cast({result}, {value})"
        loop.append(f"x{j} = tl.where(m, tl.broadcast_to({cast}, {shape}), {neutral[j]})")
    if form.steps > 1:
        loop.append(fold("tl.reduce", "r"))
    else:
        loop += [f"r{j} = tl.reshape(x{j}, [{form.lanes}])" for j in parts]
    # Nothing is combined with the neutral element: complex infinities would not survive it.
    first = "(tile == 0)" if form.stage == "pieces" else "(tile == part * chunk)"
    if form.stage != "totals":
        loop.append(fold("tl.associative_scan", "x") if form.steps > 1 else "")
        loop.append(combined("c", "x", "y", across))
        loop += [f"y{j} = tl.where({first}, x{j}, y{j})" for j in parts]
        results = [f"y{j}" for j in parts]
        if wide != dtype:
            results = [f"elementwise.cast({result}, {type_row(component(dtype)).value})" for result in results]
        place_o = f"q * other_o + l0 * lane_o + {offset('o', form.pattern[-1])}"
        loop += generate.store("o", generate.Address(place_o), tuple(results))
    loop.append(combined("c", "r", "n"))
    loop += [f"c{j} = tl.where({first}, r{j}, n{j})" for j in parts]
    lines.append("for tile in range(part * chunk, tl.minimum((part + 1) * chunk, tl.cdiv(steps, STEPS))):")
    lines += [f"    {line}" for line in loop if line]
    if form.stage == "totals":
        lines += generate.store(
            "t", generate.Address(place, mask=f", mask={flat} < lanes - l0"), tuple(f"c{j}" for j in parts)
        )
    names = [f"{part}_{k}" for k in (*range(len(pointers)), "o") for part in ("other", "step", "lane")]
    parameters = [
        *body.parameters,
        ("t", type_row(wide).pointer),
        ("o", type_row(dtype).pointer),
        *((n, "i64") for n in ("across", "splits", "lanes", "steps", "chunk", *names)),
    ]
    text = generate.function("scan", [*(n for n, _ in parameters), "STEPS: tl.constexpr"], lines)
    return get_launcher(
        Source.generated(generate.module(modules, text), "scan"),
        tuple(parameters),
        (("STEPS", form.steps),),
        sig.device,
        aligned=False,
        options=(("num_warps", RULES[sig.device.backend].num_warps),),
    )
