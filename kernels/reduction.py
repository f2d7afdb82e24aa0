"""Reductions: the table, the kernels made from it, and how they are launched.

A kernel evaluates an expression inside its loop, so that `sum((x - m) ** 2)` reads `x` once. Dimensions fall into kept
and reduced ones, each collapsed to the fewest; one of each kind makes a tile, layers of a plane whose contiguous side
is whichever lies closest in memory. A program first folds the layers of a tile, then adds tile after tile to its
plane, then folds the plane. Longer reductions leave partial states; where these are few the last program to leave one
reduces them (`source.look_back` says how it learns of them), else the next stage does. How elements are grouped depends
on shapes, strides and the size of a state, not on the expression or the number of threads, and nothing is added in
order of arrival: results repeat bit for bit. The groups are short, so rounding errors grow with the logarithm of the
length as in pairwise summation.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from nbx_array.backend.compiler import KernelMissing, Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher
from nbx_array.kernels.fused import quickly
from nbx_array.kernels.reduction_kernel import Form, Writer
from nbx_array.kernels.reduction_table import TABLE, Reduction, accumulator, result_dtype, state_dtypes
from nbx_array.kernels.signature import Sig
from nbx_array.kernels.words import COUNTERS, KEPT, LASTING, nbytes_of, words_for, words_of
from nbx_array.memory.view import collapse, contiguous_strides

__all__ = ["TABLE", "accumulator", "plan", "reduce", "result_dtype"]

Strides = tuple[int, ...]


class Rule(NamedTuple):
    """Launch rule of a backend."""

    lanes: int  # elements of a plane, at least, if there are as many
    width: int  # at most
    depth: int  # layers of a tile, at most
    tile: int  # elements of a tile, at most
    chunk: int  # tiles a program, at most; more would add up too many numbers one after the other
    programs: int  # programs that it takes to fill the device
    num_warps: int
    layered: bool  # masks that vary by layer keep the CPU from vectors; to a GPU they are nothing


# On the CPU a plane of 64 float32 stays in registers; more than 8 rows far apart are too many streams to prefetch. On a
# GPU a tile is 32 elements a thread.
_GPU = Rule(512, 512, 8, 4096, 16, 1024, 4, False)
_RULES = {"cpu": Rule(64, 4096, 16, 32768, 16, 1, 1, True), "cuda": _GPU, "hip": _GPU, "metal": _GPU}

ALONE = 64
"""A program that takes this many tiles or fewer takes all of them, where there are programs enough."""
FEW = 16
"""A dimension shorter than this is not worth a side of a tile where there is a longer one."""
MANY = 64
"""Rows of small arrays of up to so many elements share a program: one row of 25 a program took 1 us each on the CPU."""
SMALL = 1024
"""Up to so many elements are reduced by kernels for any sizes and strides, at most three for a number of dimensions:
others are no quicker there, and a program that works on small arrays of many shapes would compile one for each."""
GATHERED, MOST_GATHERED = 1024, 4096
"""Words of partial states that a program reads at a time, and at most. More at a time take registers that the loop over
tiles has to do without: of 4,096 at a time the sum of 2^28 float32 takes 266 us on an H200, of 1,024 253, in a launch
of its own 259."""
WORDS = 2
"""Of a state that is gathered, at most, for the same reason: of four, a variance takes 276 us so and 252 otherwise."""
MORE = 2
"""Times as many tiles a program where states are gathered: 249 us for the 253."""


class _Dims(NamedTuple):
    """Dimensions of one kind, outermost first, with each operand's strides over them."""

    sizes: list[int]
    strides: list[list[int]]  # [operand][dimension]

    def main(self) -> int:
        """The dimension that a tile runs along: the innermost, unless it is short and another is not."""
        longest = max(range(len(self.sizes)), key=lambda d: (self.sizes[d], d))
        return longest if self.sizes[-1] < FEW else len(self.sizes) - 1


def _collapse(sizes: tuple[int, ...], strides: list[tuple[int, ...]], leading: int) -> _Dims:
    """Dimensions ordered by how far apart their elements lie in the first `leading` operands, and merged."""
    order = sorted(range(len(sizes)), key=lambda d: -sum(abs(s[d]) for s in strides[:leading]))
    merged, steps = collapse([sizes[d] for d in order], *([s[d] for d in order] for s in strides))
    if not merged:
        return _Dims([1], [[0] for _ in strides])
    return _Dims(list(merged), [list(s) for s in steps])


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _tile(reduced: int, kept: int, along_columns: bool, rule: Rule) -> tuple[int, int, int, bool]:
    """(depth, rows, columns, whether the reduced dimension runs along the columns) of a tile."""
    many = _power_of_two(kept)
    if reduced <= rule.depth // 2 and many >= rule.lanes:  # too few for lanes of their own
        return _power_of_two(reduced), 1, min(many, rule.width), False
    if along_columns:
        columns = min(_power_of_two(reduced), rule.lanes if 2 * reduced > rule.lanes else rule.lanes // 8)
        depth = min(_power_of_two(-(-reduced // columns)), rule.depth)
        rows = max(rule.tile // 32 // columns // depth, rule.lanes // columns)
        return depth, min(many, rows), columns, True
    columns = min(many, rule.width)
    rows = min(_power_of_two(reduced), max(rule.lanes // columns, 1))
    depth = min(_power_of_two(-(-reduced // rows)), rule.depth, rule.tile // columns // rows)
    return depth, rows, columns, False


def _chunk(steps: int, programs: int, most: int, rule: Rule) -> int:
    """Tiles a program, at most so many where there are programs enough."""
    if steps <= ALONE and programs >= rule.programs:
        return steps
    return max(1, min(most, steps * programs // rule.programs))


class Stage(NamedTuple):
    """One launch, ready but for pointers and scalars."""

    launcher: Launcher
    numbers: tuple[int, ...]  # the arguments after outputs and scalars
    grid: int
    scratch: tuple[int, ...]  # bytes of each component of the partial states that it leaves
    words: int  # by which its programs tell each other states


def _stride_class(stride: int, size: int) -> str:
    return "0" if size == 1 else str(stride) if stride in (0, 1) else "s"


@lru_cache(maxsize=4096)
def plan(
    name: str,
    sig: Sig,
    shape: tuple[int, ...],
    geo: tuple[Strides, ...] | None,
    axes: tuple[int, ...],
    general: bool = False,
) -> tuple[Stage, ...] | KernelMissing:
    """The launches that reduce an expression, of at least one element, over the given axes.

    `geo` has the strides of its array operands; None if they are all contiguous. `general` takes kernels for rows of
    any length: the array, no expression, is a matrix of contiguous rows then, which are reduced. The error, which is
    kept like a plan, where a kernel is missing.
    """
    try:
        return _plan(name, sig, shape, geo, axes, general)
    except KernelMissing as error:
        return error.with_traceback(None)


def _plan(
    name: str, sig: Sig, shape: tuple[int, ...], geo: tuple[Strides, ...] | None, axes: tuple[int, ...], general: bool
) -> tuple[Stage, ...]:
    row = TABLE[name]
    operands = list(geo) if geo is not None else [contiguous_strides(shape)] * sig.leaves
    leading = len(operands)
    inside = tuple(d for d in range(len(shape)) if d in axes)
    outside = tuple(d for d in range(len(shape)) if d not in axes)
    if row.state == "place":  # an element's place among the reduced ones, in C order
        places = contiguous_strides([shape[d] for d in inside])
        operands.append(tuple(places[inside.index(d)] if d in axes else 0 for d in range(len(shape))))
    reduced = _collapse(tuple(shape[d] for d in inside), [tuple(s[d] for d in inside) for s in operands], leading)
    # The result is one more operand over the kept dimensions.
    result = contiguous_strides([shape[d] for d in outside])
    kept_strides = [tuple(s[d] for d in outside) for s in operands]
    kept = _collapse(tuple(shape[d] for d in outside), [*kept_strides, result], leading)
    wide_index = row.state == "place" and (general or prod(reduced.sizes) >= 2**31)
    stages = []
    expression: Sig | None = sig
    while True:
        stage, splits = _stage(row, sig, expression, kept, reduced, wide_index, general)
        stages.append(stage)
        if not stage.scratch:
            return tuple(stages)
        # Partial states lie one result after the other, in the order of the kept dimensions as they are here.
        count = len(state_dtypes(row, sig.dtype, wide_index))
        partial = tuple(splits * s for s in contiguous_strides(kept.sizes))
        kept = _collapse(tuple(kept.sizes), [*([partial] * count), tuple(kept.strides[-1])], 1)
        reduced = _Dims([splits], [[1]] * count)
        expression = None


def _deciding(numbers: dict[str, int], along_columns: bool) -> list[str]:
    """The numbers that decide whether blocks begin and end at multiples of 16 elements: then GPUs load vectors.

    Where all are multiples of 16 they are passed divided by it and multiplied in the kernel, which tells the compiler.
    """
    strides = [name for name in numbers if name.startswith(("kept", "reduced")) and name.rpartition("_")[2].isdecimal()]
    return ["N" if along_columns else "M", *(name for name in strides if numbers[name] not in (0, 1))]


def _stage(
    row: Reduction,
    sig: Sig,
    expression: Sig | None,
    kept: _Dims,
    reduced: _Dims,
    wide_index: bool,
    general: bool,
) -> tuple[Stage, int]:
    """A launch over an expression, or over the partial states that an earlier stage left, and how many partial states
    it leaves of each result."""
    rule = _RULES[sig.device.backend]
    k, r = kept.main(), reduced.main()
    n, m = reduced.sizes[r], kept.sizes[k]
    operands = len(reduced.strides)
    reads = range(operands - (row.state == "place" and expression is not None))
    nearer = sum(abs(reduced.strides[j][r]) for j in reads) <= sum(abs(kept.strides[j][k]) for j in reads)
    depth, rows, columns, along_columns = _tile(n, m, m == 1 or nearer, rule)
    small = prod(kept.sizes) * prod(reduced.sizes) <= SMALL
    if general or small:  # one tile for rows that are long or few, one for many short ones
        ends = (FEW,) if general else (FEW, MANY)
        length = next((end for end in ends if expression is not None and n <= end and m > 1), 2**31)
        depth, rows, columns, along_columns = _tile(length, 2**31 if length in ends else 1, True, rule)
    kept_tile = rows if along_columns else columns
    reduced_tile = depth * (columns if along_columns else rows)
    tiles = -(-n // reduced_tile)
    across = -(-m // kept_tile)
    other_kept = [d for d in range(len(kept.sizes)) if d != k]
    other_reduced = [d for d in range(len(reduced.sizes)) if d != r]
    steps = tiles * prod(reduced.sizes[d] for d in other_reduced)
    programs = across * prod(kept.sizes[d] for d in other_kept)
    states = state_dtypes(row, sig.dtype, wide_index)
    each = words_of(states, sig.device)
    telling = not general and sig.device.backend in LASTING and each <= WORDS
    most = MORE * rule.chunk if telling else rule.chunk
    chunk = steps if small and not general else _chunk(steps, programs, most, rule)
    splits = -(-steps // chunk)
    gathers = _gathers(each, kept_tile, splits, programs, sig.device) if telling and splits > 1 else 0
    leaves = splits > 1 and not gathers
    # Names and values of the kernel's numbers, in the order of its arguments.
    numbers = {"M": m, "across": across, "N": n, "tiles": tiles, "steps": steps, "chunk": chunk, "splits": splits}
    numbers |= {f"d{i}": kept.sizes[d] for i, d in enumerate(other_kept)}
    numbers |= {f"e{i}": reduced.sizes[d] for i, d in enumerate(other_reduced)}
    for j in range(operands):
        name = str(j) if j in reads else "i"
        numbers |= {f"kept{i}_{name}": kept.strides[j][d] for i, d in enumerate(other_kept)}
        numbers |= {f"reduced{i}_{name}": reduced.strides[j][d] for i, d in enumerate(other_reduced)}
        numbers |= {f"kept_{name}": kept.strides[j][k], f"reduced_{name}": reduced.strides[j][r]}
    places = kept.strides[-1] if not leaves else [splits * stride for stride in contiguous_strides(kept.sizes)]
    numbers |= {f"kept{i}_o": places[d] for i, d in enumerate(other_kept)} | {"kept_o": places[k]}
    deciding = _deciding(numbers, along_columns)
    even = sig.device.backend != "cpu" and all(numbers[name] % 16 == 0 for name in deciding)
    masks = "none" if n % reduced_tile == 0 else "last" if chunk > 1 and not other_reduced else "all"
    form = Form(
        depth,
        rows,
        columns,
        along_columns,
        tuple((_stride_class(kept.strides[j][k], m), _stride_class(reduced.strides[j][r], n)) for j in range(operands)),
        len(other_kept),
        tuple(d < r for d in other_reduced),
        chunk > 1,
        m % kept_tile != 0,
        masks,
        rule.layered and chunk > 1,
        splits > 1,
        gathers,
        any(
            (kept_tile - 1) * abs(kept.strides[j][k]) + (reduced_tile - 1) * abs(reduced.strides[j][r]) >= 2**31
            for j in range(operands)
        ),
        wide_index,
        tuple(deciding) if even else (),
    )
    if general or small:
        even = False
        run = "1" if general else "s"  # the stride of elements that are reduced
        pattern = tuple(("0", run) if j not in reads else ("s", run) for j in range(operands))
        masks = "all" if other_reduced else "last"
        form = form._replace(pattern=pattern, looped=True, kept_masked=True, masks=masks, layered=False)
        form = form._replace(wide=True, even=())
    key = (row.name, expression is None, form, small)
    launcher: Any = sig.launchers.get(key)
    if launcher is None:
        launcher = sig.launchers[key] = _launcher(row, sig, expression, form, list(numbers), small)
    if even:
        numbers |= {name: numbers[name] // 16 for name in deciding}
    scratch = tuple(prod(kept.sizes) * splits * dtype.itemsize for dtype in states) if leaves else ()
    words = programs * splits * kept_tile * each if gathers else 0
    return Stage(launcher, tuple(numbers.values()), splits * programs, scratch, words), splits


def _gathers(words: int, kept_tile: int, splits: int, programs: int, device: Device) -> int:
    """How many partial states, each of so many words for each of a tile's results, the last program to leave one reads
    at a time; 0 if the next launch does that."""
    told = words * kept_tile * splits
    fits = programs <= COUNTERS and nbytes_of(programs * told, device) <= KEPT
    return GATHERED // _power_of_two(words * kept_tile) if fits and told <= MOST_GATHERED else 0


GENERAL_FORMS = (
    # rows, their length, whether of partial states
    (1, 2**40, False),  # in stages: leaves partial states,
    (1, 2**40, True),  # of which there may be so many that they are reduced in stages
    (1, 99, True),
    (2**20, 99, False),  # at once
    (2**20, 9, False),
)
"""Reductions that between them take every kernel for rows of any length."""


def general_launcher(row: Reduction, sig: Sig, rows: int, length: int, states: bool) -> Launcher:
    """The kernel for rows of any length that a matrix of these sizes is reduced by."""
    count = len(state_dtypes(row, sig.dtype, True)) if states else 2 if row.state == "place" else 1
    kept = _Dims([rows], [*([[length]] * count), [1]])
    reduced = _Dims([length], [[1]] * count)
    return _stage(row, sig, None if states else sig, kept, reduced, row.state == "place", True)[0].launcher


def _launcher(
    row: Reduction, sig: Sig, expression: Sig | None, form: Form, numbers: list[str], quick: bool
) -> Launcher:
    text, parameters = Writer(row, sig, expression, form, numbers).kernel()
    source = Source.generated(text, "reduce")
    aligned = expression is None or expression.aligned
    options = (("num_warps", _RULES[sig.device.backend].num_warps), *quickly(sig.device, quick))
    return get_launcher(source, tuple(parameters), (), sig.device, aligned=aligned, options=options)


def reduce(
    name: str,
    sig: Sig,
    args: tuple[Any, ...],
    shape: tuple[int, ...],
    geo: tuple[Strides, ...] | None,
    axes: tuple[int, ...],
    out: int,
    number: float = 0.0,
    general: bool = False,
) -> None:
    """Reduce an expression of at least one element over `axes` into contiguous memory at address `out`.

    `number` is what the reduction's `after` takes besides the state; `general` is as for `plan`.
    """
    stages = plan(name, sig, shape, geo, axes, general)
    if isinstance(stages, KernelMissing):
        raise KernelMissing(*stages.args)
    scalars = (number,) if TABLE[name].after is not None else ()
    elements = prod(shape)
    held = []
    for stage in stages[:-1]:
        scratch = [sig.allocate(nbytes) for nbytes in stage.scratch]
        held.append(scratch)  # until everything is launched
        pointers = tuple(storage.ptr for storage in scratch)
        stage.launcher.launch((*args, *pointers, *stage.numbers), stage.grid, elements)
        args = pointers
    launcher, numbers, grid, _, count = stages[-1]
    if count and grid > 1:
        words, tag = words_for(count, sig.device)
        args = (*args, out, *scalars, words.ptr, tag, *numbers)
    else:
        args = (*args, out, *scalars, *numbers)
    launcher.launch(args, grid, elements)
