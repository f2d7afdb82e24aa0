"""Kernels that evaluate an expression into memory: their two forms and how each is launched.

The flat form takes contiguous operands and counts along one index. The general form takes any strides: dimensions are
collapsed to the fewest, the last two that matter become a tile, the rest come from the program's number, so that no
element needs a division (3.6 against 0.8 ms for 10^6 elements on the CPU).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from nbx_array.backend.compiler import KernelMissing, Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels import generate
from nbx_array.kernels.rules import SHORT, Rule, rule
from nbx_array.kernels.signature import Sig
from nbx_array.kernels.types import type_row
from nbx_array.memory.view import collapse

Strides = tuple[int, ...]


def _launcher(
    sig: Sig,
    text: str,
    parameters: list[tuple[str, str]],
    constants: tuple[tuple[str, Any], ...],
    aligned: bool,
    quick: bool = False,
) -> Launcher:
    source = Source.generated(text, "pointwise")
    limits = rule(sig.device)
    times = max(sig.block // limits.block, 1)
    warps = times * limits.num_warps if constants[0][0] == "BLOCK" else limits.tile_warps
    options = (("num_warps", warps), *quickly(sig.device, quick))
    return get_launcher(source, tuple(parameters), constants, sig.device, aligned=aligned, options=options)


def quickly(device: Device, wanted: bool) -> tuple[tuple[str, bool], ...]:
    """The option of a kernel of small arrays, whose compilation takes longer than all of its work."""
    return (("quick", True),) if wanted and device.backend == "cpu" else ()


def output(sig: Sig) -> tuple[str, str]:
    """The parameter of the array that receives the expression's value."""
    return ("o", type_row(sig.dtype).pointer)


# ---------------------------------------------------------------------------------------------------- contiguous


def flat_launcher(sig: Sig, aliases: tuple[tuple[int, int], ...] = (), few: bool = False) -> Launcher:
    """The kernel of an expression over contiguous operands: arguments, output, number of elements.

    `aliases` pairs array operands with the earlier operand that they repeat. While all runs of an operation were of few
    elements, as this one is if `few`, and not many, the CPU's kernel is compiled quickly.
    """
    if not aliases and sig.flat is not None:
        return sig.flat
    quick = few and sig.nodes == 1 and sig.trials < TRIALS and sig.device.backend == "cpu"
    launcher = _flat_launcher(sig, aliases, (), quick)
    if quick:
        sig.trials += 1
    elif not aliases and sig.read is None:  # an element is put into memory without a kernel
        sig.flat = launcher
    return launcher


def shared_launcher(sig: Sig, parts: tuple[tuple[int, ...], ...]) -> Launcher:
    """The same with further outputs: the parts of the expression at the given places of its signature."""
    return _flat_launcher(sig, (), parts, False)


def _flat_launcher(
    sig: Sig, aliases: tuple[tuple[int, int], ...], parts: tuple[tuple[int, ...], ...], quick: bool
) -> Launcher:
    key = ("flat", aliases, parts, quick)
    launcher = sig.launchers.get(key)
    if launcher is not None:
        return launcher
    on_gpu = sig.device.backend != "cpu"

    def statements(address: generate.Address) -> list[str]:
        body = generate.body(sig, lambda k: address, "[BLOCK]", dict(aliases), parts)
        modules.update(body.modules)
        stores = [generate.store("o", address, body.value)]
        stores += [generate.store(f"o{k}", address, value) for k, value in enumerate(body.parts)]
        return [*body.lines, *(line for lines in stores for line in lines)]

    modules: set[str] = set()
    masked = statements(generate.Address("base + i", paired=on_gpu))
    if on_gpu and not sig.long:
        # A mask keeps Triton from 16-byte accesses: every block but the last goes without, unless memory hardly counts.
        whole = statements(generate.Address("base + i", mask="", paired=True))
        lines = [
            "if base + BLOCK <= n:",
            *generate.indented(whole),
            "else:",
            *generate.indented(["m = i < n - base", *masked]),
        ]
    else:
        lines = ["m = i < tl.minimum(n - base, BLOCK).to(tl.int32)", *masked]
    lines = ["base = tl.program_id(0).to(tl.int64) * BLOCK", "i = tl.arange(0, BLOCK)", *lines]
    further = [(f"o{k}", type_row(at(sig, place).dtype).pointer) for k, place in enumerate(parts)]
    parameters = [*generate.parameters(sig), output(sig), *further, ("n", "i64")]
    names = [*(name for name, _ in parameters), "BLOCK: tl.constexpr"]
    text = generate.module(modules, generate.function("pointwise", names, lines))
    launcher = _launcher(sig, text, parameters, (("BLOCK", sig.block),), sig.aligned, quick)
    return sig.launchers.setdefault(key, launcher)


def at(sig: Sig, place: tuple[int, ...]) -> Sig:
    """The part of a signature at a place: the number of an operand, then of one of its own, and so on."""
    for k in place:
        sig = sig.kids[k]
    return sig


def run_flat(launcher: Launcher, block: int, args: tuple[Any, ...], out: int, n: int) -> None:
    """Evaluate an expression by its contiguous kernel, `block` elements a program."""
    if n <= block:
        launcher.run(*args, out, n, 1, 1, 1)
    else:
        launcher.spread((*args, out, n), -(-n // block), 1, 1)


# ------------------------------------------------------------------------------------------------------- strided


class Plan(NamedTuple):
    """A launch of the general form, ready but for pointers and scalars."""

    launcher: Launcher
    numbers: tuple[int, ...]  # the arguments after the output
    grid: int


def _tile_rule(sig: Sig) -> Rule:
    """The rule of a signature's device, with a part of its tile for long functions on GPUs (see `flat_block`)."""
    limits = rule(sig.device)
    if sig.long and sig.device.backend != "cpu":
        return limits._replace(tile=limits.tile // SHORT, side=limits.side // 2)
    return limits


def _next_power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _tile(sizes: list[int], strides: list[list[int]], limits: Rule) -> tuple[int, int, int]:
    """(the dimension of rows, rows, columns) of a tile; columns run along the last dimension.

    Rows run along a dimension in which some operand is contiguous, if there is one besides the last: then a tile
    with two long sides lets both directions use whole cache lines. Else they fill up what short columns leave free.
    """
    columns = sizes[-1]
    if len(sizes) == 1:
        return -1, 1, min(_next_power_of_two(columns), limits.tile)
    along = [d for d in range(len(sizes) - 1) if any(operand[d] in (1, -1) for operand in strides)]
    row = along[-1] if along else len(sizes) - 2
    width = _next_power_of_two(columns)
    width = min(width, limits.side if along else limits.tile)
    return (
        row,
        min(
            _next_power_of_two(sizes[row]), max(limits.tile // width, 1), limits.tile if not along else 4 * limits.side
        ),
        width,
    )


OUTER = (0, 2, 6, 62)
"""Dimensions outside the tile that kernels for any layout take: the fewest that will do, padded with ones."""

FEW = 1024
"""Up to so many elements a kernel for any layout serves: one for these strides and this size is no quicker there, and a
program that works on small arrays of many shapes would compile one for each."""
TRIALS = 16
"""So often an expression of few elements runs operation by operation, and an operation by itself by a kernel that takes
half the time to compile: most never return."""


@lru_cache(maxsize=4096)
def plan(
    sig: Sig, shape: tuple[int, ...], geo: tuple[Strides, ...], out: Strides, out_aligned: bool
) -> Plan | KernelMissing:
    """How to evaluate an expression whose array operands have the given strides into an output of strides `out`; the
    error, which is kept like a plan, where a kernel is missing."""
    try:
        return special_or_general(lambda general: _plan(sig, shape, geo, out, out_aligned, general))
    except KernelMissing as error:
        return error.with_traceback(None)


def _plan(
    sig: Sig, shape: tuple[int, ...], geo: tuple[Strides, ...], out: Strides, out_aligned: bool, general: bool
) -> Plan:
    """`plan` with a kernel for these strides or, if `general` or of few elements, with one for any layout."""
    few = prod(shape) <= FEW
    general = general or few
    collapsed, strides = collapse(shape, *geo, out)
    sizes, operands = (list(collapsed), [list(s) for s in strides]) if collapsed else ([1], [[0] for _ in strides])
    limits = _tile_rule(sig)
    row, rows, columns = _tile(sizes, operands, limits)
    if general:
        rows, columns = (1, limits.tile) if rows == 1 else (limits.side, limits.side)
        outside = len(sizes) - (1 if row < 0 else 2)
        padding = next(count for count in OUTER if count >= outside) - outside
        sizes, operands = [1] * padding + sizes, [[0] * padding + s for s in operands]
        row += padding if row >= 0 else 0
    outer = [d for d in range(len(sizes) - 1) if d != row]
    tile_strides = [(operand[row] if row >= 0 else 0, operand[-1]) for operand in operands]
    wide = general or any((rows - 1) * abs(a) + (columns - 1) * abs(b) >= 2**31 for a, b in tile_strides)
    pattern = tuple((_stride_class(a if rows > 1 else 0), _stride_class(b)) for a, b in tile_strides)
    if general:
        pattern = (("s", "s"),) * len(pattern)
    form = (pattern, len(outer), rows, columns, wide, out_aligned, few)
    launcher = sig.launchers.get(("general", form))
    if launcher is None:
        launcher = sig.launchers["general", form] = _general_launcher(sig, *form)
    m = sizes[row] if row >= 0 else 1
    across, down = -(-sizes[-1] // columns), -(-m // rows)
    numbers = [m, sizes[-1], down, across, *(sizes[d] for d in outer)]
    for operand, (a, b) in zip(operands, tile_strides, strict=True):
        numbers += [*(operand[d] for d in outer), a, b]
    return Plan(launcher, tuple(numbers), down * across * prod(sizes[d] for d in outer))


def _stride_class(stride: int) -> str:
    return str(stride) if stride in (0, 1) else "s"


def _general_launcher(
    sig: Sig,
    pattern: tuple[tuple[str, str], ...],
    outer: int,
    rows: int,
    columns: int,
    wide: bool,
    out_aligned: bool,
    quick: bool,
) -> Launcher:
    """Arguments: the expression's, the output, M, N, tiles down, tiles across, sizes of the outer dimensions, then each
    operand's and the output's strides (outer, row, column)."""
    index = "tl.int64" if wide else "tl.int32"

    def offset(k: str, classes: tuple[str, str]) -> generate.Address:
        terms = []
        for axis, cls in zip(("row", "column"), classes, strict=True):
            if cls != "0":
                terms.append(axis if cls == "1" else f"{axis} * {axis}_{k}.to({index})")
        return generate.Address(" + ".join(terms) or "0", bool(terms), ", mask=m" if len(terms) == 2 else "")

    names = [str(k) for k in range(len(pattern) - 1)] + ["o"]
    addresses = [offset(name, classes) for name, classes in zip(names, pattern, strict=True)]
    # An operand that one of the tile's axes does not move is loaded as a smaller block under that axis's own mask.
    masks = {
        (True, True): ", mask=m",
        (True, False): ", mask=row_m",
        (False, True): ", mask=column_m",
        (False, False): "",
    }
    addresses = [
        address._replace(mask=masks[(classes[0] != "0", classes[1] != "0")])
        for address, classes in zip(addresses, pattern, strict=True)
    ]
    body = generate.body(sig, lambda k: addresses[k], f"[{rows}, {columns}]")
    lines = [
        "g = tl.program_id(0).to(tl.int64)",
        "c0 = (g % across) * COLUMNS",
        "g = g // across",
        "r0 = (g % down) * ROWS",
        "g = g // down",
    ]
    for j in reversed(range(outer)):
        lines += [f"q{j} = g % d{j}", f"g = g // d{j}"]
    for name in names:
        terms = [f"q{j} * outer{j}_{name}" for j in range(outer)] + [f"r0 * row_{name}", f"c0 * column_{name}"]
        pointer = name if name == "o" else f"p{name}"
        scale = "2 * " if (sig.dtype if name == "o" else leaf_dtypes(sig)[int(name)]).kind == "c" else ""
        lines.append(f"{pointer} += {scale}({' + '.join(terms)})")
    lines += [
        f"row = tl.arange(0, ROWS).to({index})[:, None]",
        f"column = tl.arange(0, COLUMNS).to({index})[None, :]",
        f"row_m = row < tl.minimum(M - r0, ROWS).to({index})",
        f"column_m = column < tl.minimum(N - c0, COLUMNS).to({index})",
        "m = row_m & column_m",
        *body.lines,
        *generate.store("o", generate.Address(_full_offset("o", pattern[-1], index)), body.value),
    ]
    strides = [f"{part}_{name}" for name in names for part in (*(f"outer{j}" for j in range(outer)), "row", "column")]
    numbers = ["M", "N", "down", "across", *(f"d{j}" for j in range(outer)), *strides]
    parameters = [*body.parameters, output(sig), *((name, "i64") for name in numbers)]
    text = generate.module(
        body.modules,
        generate.function(
            "pointwise", [*(name for name, _ in parameters), "ROWS: tl.constexpr", "COLUMNS: tl.constexpr"], lines
        ),
    )
    return _launcher(sig, text, parameters, (("ROWS", rows), ("COLUMNS", columns)), sig.aligned and out_aligned, quick)


def _full_offset(name: str, classes: tuple[str, str], index: str) -> str:
    """The output's offset: its pointer block has the tile's whole shape."""
    row = "row" if classes[0] == "1" else f"row * row_{name}.to({index})"
    column = "column" if classes[1] == "1" else f"column * column_{name}.to({index})"
    return f"{row} + {column}"


@lru_cache(maxsize=4096)
def leaf_dtypes(sig: Sig) -> tuple[Any, ...]:
    """The dtypes of an expression's array operands."""
    if sig.op == "leaf":
        return (sig.dtype,)
    return tuple(dtype for kid in sig.kids for dtype in leaf_dtypes(kid))


def run_general(
    sig: Sig, args: tuple[Any, ...], shape: tuple[int, ...], geo: tuple[Strides, ...], out: int, out_strides: Strides
) -> None:
    """Evaluate an expression into memory at address `out`."""
    if 0 in shape:
        return
    aligned = sig.device.backend == "cpu" or out % 16 == 0
    planned = plan(sig, shape, geo, out_strides, aligned)
    if isinstance(planned, KernelMissing):
        raise KernelMissing(*planned.args)
    launcher, numbers, grid = planned
    launcher.launch((*args, out, *numbers), grid, prod(shape))
