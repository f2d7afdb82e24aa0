"""Reductions: the table, the kernels made from it, and how they are launched.

A kernel evaluates an expression inside its loop, so that `sum((x - m) ** 2)` reads `x` once. Dimensions fall into kept
and reduced ones, each collapsed to the fewest; one of each kind makes a tile, layers of a plane whose contiguous side
is whichever lies closest in memory. A program first folds the layers of a tile, then adds tile after tile to its
plane, then folds the plane. Longer reductions leave partial states, which the next stage reduces. How elements are
grouped depends on shapes and strides alone, not on the dtype, the expression or the number of threads, and nothing is
added in order of arrival: results repeat bit for bit. The groups are short, so rounding errors grow with the logarithm
of the length as in pairwise summation.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.launcher import Launcher, get_launcher
from nbx_array.kernels import generate
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.kernels.types import component, is_complex, kind, type_row
from nbx_array.memory.view import collapse, contiguous_strides

INT8, INT32, INT64, UINT64 = (np.dtype(name) for name in ("int8", "int32", "int64", "uint64"))
FLOAT32 = np.dtype(np.float32)

Strides = tuple[int, ...]


class Reduction(NamedTuple):
    """One reduction. Functions are Triton functions of nbx_array.kernels.source.reduction."""

    name: str
    kinds: str  # NumPy's letters of the operands' dtypes
    state: str  # which components a state has: see `_state`
    identity: str  # the state that changes nothing: see `_identity`
    combine: str
    result: str = "same"  # the dtype of the result: that of the operand, of the state's first component, or "index"
    before: str | None = None  # an element's state, if it is not the element cast to the state's dtype
    fold: str | None = None  # takes a tile into a state of its own kind, if not element by element
    settle: str | None = None  # the state of one of that kind
    after: str | None = None  # the result of a state and a number
    suffix: str = ""  # of the functions' names for complex operands

    def function(self, name: str, dtype: np.dtype) -> str:
        return f"reduction.{name}{self.suffix if is_complex(dtype) else ''}"


_ROWS = [
    Reduction("sum", "biufc", "total", "zero", "add", "state", suffix="_complex"),
    Reduction("prod", "biufc", "total", "one", "multiply", "state", suffix="_complex"),
    Reduction("mean", "fc", "total", "zero", "add", after="quotient", suffix="_complex"),
    Reduction("var", "f", "moments", "zero", "merge_moments", fold="deviations", settle="moments", after="variance"),
    Reduction("std", "f", "moments", "zero", "merge_moments", fold="deviations", settle="moments", after="deviation"),
    Reduction("vector_norm", "f", "squares", "zero", "add_squares", before="squares", after="root"),
    Reduction("max", "biuf", "value", "lowest", "greater"),
    Reduction("min", "biuf", "value", "highest", "less"),
    Reduction("argmax", "biuf", "place", "lowest", "first_greatest", "index", before="rank"),
    Reduction("argmin", "biuf", "place", "lowest", "first_greatest", "index", before="reverse_rank"),
]

TABLE: dict[str, Reduction] = {row.name: row for row in _ROWS}


def accumulator(row: Reduction, dtype: np.dtype) -> np.dtype:
    """The dtype that elements are accumulated in: float32 for 16-bit floats, 64 bits for sums of integers."""
    k = kind(dtype)
    if k == "f" and dtype.itemsize == 2:
        return FLOAT32
    if row.state == "total" and k in "biu":
        return UINT64 if k == "u" else INT64
    return INT8 if k == "b" else dtype


def result_dtype(row: Reduction, dtype: np.dtype) -> np.dtype:
    """The dtype of the result of a reduction over elements of `dtype`."""
    if row.result == "index":
        return INT64
    return accumulator(row, dtype) if row.result == "state" and kind(dtype) in "biu" else dtype


def _state(row: Reduction, dtype: np.dtype, wide: bool) -> tuple[np.dtype, ...]:
    """The dtypes of a state's components; `wide` if an index needs 64 bits."""
    base = accumulator(row, dtype)
    match row.state:
        case "moments":
            return (base,) * 4
        case "squares":
            return (base,) * 3
        case "place":
            key = np.dtype(f"int{8 * base.itemsize}") if kind(base) == "f" else base
            return key, INT64 if wide else INT32
        case _:
            return (component(base),) * (2 if is_complex(base) else 1)


def _identity(row: Reduction, dtypes: tuple[np.dtype, ...]) -> list[str]:
    match row.identity:
        case "zero":
            return ["0"] * len(dtypes)
        case "one":
            return ["1", "0"][: len(dtypes)]
    low = row.identity == "lowest"
    if kind(dtypes[0]) == "f":
        texts = [f'float("{"-" if low else ""}inf")']
    else:
        limits = np.iinfo(dtypes[0])
        texts = [str(limits.min if low else limits.max)]
    return texts + [str(np.iinfo(dtype).max) for dtype in dtypes[1:]]


# --------------------------------------------------------------------------------------------------------- launch rules


class Rule(NamedTuple):
    """Launch rule of a backend."""

    lanes: int  # elements of a plane, at least, if there are as many
    width: int  # at most
    depth: int  # layers of a tile, at most
    tile: int  # elements of a tile, at most
    chunk: int  # tiles a program, at most; more would add up too many numbers one after the other
    programs: int  # programs that it takes to fill the device
    num_warps: int


# On the CPU a plane of 64 float32 stays in registers; more than 8 rows far apart are too many streams to prefetch. On a
# GPU a tile is 32 elements a thread.
_GPU = Rule(512, 512, 8, 4096, 16, 1024, 4)
_RULES = {"cpu": Rule(64, 4096, 16, 32768, 16, 1, 1), "cuda": _GPU, "hip": _GPU, "metal": _GPU}

ALONE = 64
"""A program that takes this many tiles or fewer takes all of them, where there are programs enough."""
FEW = 16
"""A dimension shorter than this is not worth a side of a tile where there is a longer one."""


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


class Form(NamedTuple):
    """What a kernel's text depends on, besides the reduction and the expression."""

    depth: int
    rows: int
    columns: int
    along_columns: bool  # the reduced dimension runs along the plane's columns, the kept one along its rows
    pattern: tuple[tuple[str, str], ...]  # of each operand and of the index: strides of the kept and reduced side
    kept: int  # number of kept dimensions outside the tile
    reduced: tuple[bool, ...]  # of the reduced dimensions outside the tile: whether they go before it
    looped: bool
    partial: bool  # leaves a state
    wide: bool  # offsets in a tile need 64 bits
    wide_index: bool
    even: tuple[str, ...]  # numbers passed as multiples of 16, see `_deciding`

    @property
    def kept_tile(self) -> int:
        return self.rows if self.along_columns else self.columns

    @property
    def reduced_tile(self) -> int:
        return self.depth * (self.columns if self.along_columns else self.rows)


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


def _chunk(steps: int, programs: int, rule: Rule) -> int:
    """Tiles a program."""
    if steps <= ALONE and programs >= rule.programs:
        return steps
    return max(1, min(rule.chunk, steps * programs // rule.programs))


class Stage(NamedTuple):
    """One launch, ready but for pointers and scalars."""

    launcher: Launcher
    numbers: tuple[int, ...]  # the arguments after outputs and scalars
    grid: int
    scratch: tuple[int, ...]  # bytes of each component of the partial states that it leaves


def _stride_class(stride: int, size: int) -> str:
    return "0" if size == 1 else str(stride) if stride in (0, 1) else "s"


@lru_cache(maxsize=4096)
def plan(
    name: str, sig: Sig, shape: tuple[int, ...], geo: tuple[Strides, ...] | None, axes: tuple[int, ...]
) -> tuple[Stage, ...]:
    """The launches that reduce an expression, of at least one element, over the given axes.

    `geo` has the strides of its array operands; None if they are all contiguous.
    """
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
    wide_index = row.state == "place" and prod(reduced.sizes) >= 2**31
    stages = []
    expression: Sig | None = sig
    while True:
        stage, splits = _stage(row, sig, expression, kept, reduced, wide_index)
        stages.append(stage)
        if splits == 1:
            return tuple(stages)
        # Partial states lie one result after the other, in the order of the kept dimensions as they are here.
        count = len(_state(row, sig.dtype, wide_index))
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
    row: Reduction, sig: Sig, expression: Sig | None, kept: _Dims, reduced: _Dims, wide_index: bool
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
    kept_tile = rows if along_columns else columns
    reduced_tile = depth * (columns if along_columns else rows)
    tiles = -(-n // reduced_tile)
    across = -(-m // kept_tile)
    other_kept = [d for d in range(len(kept.sizes)) if d != k]
    other_reduced = [d for d in range(len(reduced.sizes)) if d != r]
    steps = tiles * prod(reduced.sizes[d] for d in other_reduced)
    programs = across * prod(kept.sizes[d] for d in other_kept)
    chunk = _chunk(steps, programs, rule)
    splits = -(-steps // chunk)
    # Names and values of the kernel's numbers, in the order of its arguments.
    numbers = {"M": m, "across": across, "N": n, "tiles": tiles, "steps": steps, "chunk": chunk, "splits": splits}
    numbers |= {f"d{i}": kept.sizes[d] for i, d in enumerate(other_kept)}
    numbers |= {f"e{i}": reduced.sizes[d] for i, d in enumerate(other_reduced)}
    for j in range(operands):
        name = str(j) if j in reads else "i"
        numbers |= {f"kept{i}_{name}": kept.strides[j][d] for i, d in enumerate(other_kept)}
        numbers |= {f"reduced{i}_{name}": reduced.strides[j][d] for i, d in enumerate(other_reduced)}
        numbers |= {f"kept_{name}": kept.strides[j][k], f"reduced_{name}": reduced.strides[j][r]}
    places = kept.strides[-1] if splits == 1 else [splits * stride for stride in contiguous_strides(kept.sizes)]
    numbers |= {f"kept{i}_o": places[d] for i, d in enumerate(other_kept)} | {"kept_o": places[k]}
    deciding = _deciding(numbers, along_columns)
    even = sig.device.backend != "cpu" and all(numbers[name] % 16 == 0 for name in deciding)
    form = Form(
        depth,
        rows,
        columns,
        along_columns,
        tuple((_stride_class(kept.strides[j][k], m), _stride_class(reduced.strides[j][r], n)) for j in range(operands)),
        len(other_kept),
        tuple(d < r for d in other_reduced),
        chunk > 1,
        splits > 1,
        any(
            (kept_tile - 1) * abs(kept.strides[j][k]) + (reduced_tile - 1) * abs(reduced.strides[j][r]) >= 2**31
            for j in range(operands)
        ),
        wide_index,
        tuple(deciding) if even else (),
    )
    key = (row.name, expression is None, form)
    launcher: Any = sig.launchers.get(key)
    if launcher is None:
        launcher = sig.launchers[key] = _Writer(row, sig, expression, form, list(numbers)).launcher()
    if even:
        numbers |= {name: numbers[name] // 16 for name in deciding}
    results = prod(kept.sizes)
    scratch = tuple(results * splits * dtype.itemsize for dtype in _state(row, sig.dtype, wide_index))
    return Stage(launcher, tuple(numbers.values()), splits * programs, scratch if splits > 1 else ()), splits


def reduce(
    name: str,
    sig: Sig,
    args: tuple[Any, ...],
    shape: tuple[int, ...],
    geo: tuple[Strides, ...] | None,
    axes: tuple[int, ...],
    out: int,
    number: float = 0.0,
) -> None:
    """Reduce an expression of at least one element over `axes` into contiguous memory at address `out`.

    `number` is what the reduction's `after` takes besides the state.
    """
    stages = plan(name, sig, shape, geo, axes)
    scalars = (number,) if TABLE[name].after is not None else ()
    held = []
    for stage in stages[:-1]:
        scratch = [sig.allocate(nbytes) for nbytes in stage.scratch]
        held.append(scratch)  # until everything is launched
        pointers = tuple(storage.ptr for storage in scratch)
        stage.launcher.spread((*args, *pointers, *stage.numbers), stage.grid, 1, 1)
        args = pointers
    launcher, numbers, grid, _ = stages[-1]
    if grid == 1:
        launcher.run(*args, out, *scalars, *numbers, 1, 1, 1)
    else:
        launcher.spread((*args, out, *scalars, *numbers), grid, 1, 1)


# ---------------------------------------------------------------------------------------------------- kernel text


class _Writer:
    """Writes one kernel.

    Its arguments: the expression's, or a pointer to each component of partial states; a pointer to the result, or to
    each component; the number that `after` takes; then sizes and strides, see `numbers`.
    """

    def __init__(self, row: Reduction, sig: Sig, expression: Sig | None, form: Form, numbers: list[str]) -> None:
        self.row, self.sig, self.expression, self.form, self.numbers = row, sig, expression, form, numbers
        self.state = _state(row, sig.dtype, form.wide_index)
        self.types = [type_row(dtype).value for dtype in self.state]
        self.modules = {"reduction"}
        self.index = "tl.int64" if form.wide else "tl.int32"
        self.combine = row.function(row.combine, sig.dtype)
        count = len(form.pattern) - (row.state == "place" and expression is not None)
        self.operands = [str(j) for j in range(count)]
        self.names = [*self.operands, "i"] if count < len(form.pattern) else self.operands
        dtypes = _leaf_dtypes(expression) if expression is not None else self.state
        self.scales = ["2 * " if is_complex(dtype) else "" for dtype in dtypes]
        self.carried = ", ".join(f"c{j}" for j in range(len(self.state)))
        self.folds = row.fold is not None and expression is not None
        across, down = "[None, None, :]", "[None, :, None]"
        self.kept_side, self.lane_side = (down, across) if form.along_columns else (across, down)

    def moves(self, name: str, side: str, start: str) -> list[str]:
        """The terms that move operand `name` along the tile's kept or reduced side, to where the tile starts."""
        j = -1 if name == "i" else int(name)
        cls = self.form.pattern[j][side == "reduced"]
        return [] if cls == "0" else [start if cls == "1" else f"{start} * {side}_{name}"]

    def launcher(self) -> Launcher:
        form, row, dtype = self.form, self.row, self.sig.dtype
        loop = self.step()
        parameters = [(f"a{name[1:]}" if name.startswith("p") else name, text) for name, text in self.parameters]
        if form.partial:
            outputs = [(f"o{j}", type_row(part).pointer) for j, part in enumerate(self.state)]
        else:
            outputs = [("o0", type_row(result_dtype(row, dtype)).pointer)]
        scalars = []
        if row.after is not None:
            # a pointer's type without the star; a kernel that leaves a state does not need it
            scalars = [] if form.partial else [("number", type_row(self.state[0]).parameter)]
        numbers = [(name, "i64") for name in self.numbers]
        lines = [*self.start([name for name, _ in outputs]), *loop, *self.finish()]
        everything = [*parameters, *outputs, *scalars, *numbers]
        text = generate.module(self.modules, generate.function("reduce", [name for name, _ in everything], lines))
        rule = _RULES[self.sig.device.backend]
        return get_launcher(
            Source.generated(text, "reduce"),
            tuple(everything),
            (),
            self.sig.device,
            aligned=self.expression is None or self.sig.aligned,
            options=(("num_warps", rule.num_warps),),
        )

    def start(self, outputs: list[str]) -> list[str]:
        """Where the program stands, and its empty state."""
        form = self.form
        lanes = form.reduced_tile // form.depth
        lines = [f"{name} = {name} * 16" for name in form.even]
        lines.append("g = tl.program_id(0).to(tl.int64)")
        if form.partial:
            lines += ["split = g % splits", "g = g // splits"]
        lines += [f"k0 = (g % across) * {form.kept_tile}", "g = g // across"]
        for j in reversed(range(form.kept)):
            lines += [f"q{j} = g % d{j}", f"g = g // d{j}"]
        for name, scale in zip(self.operands, self.scales, strict=True):
            terms = [*(f"q{j} * kept{j}_{name}" for j in range(form.kept)), *self.moves(name, "kept", "k0")]
            lines += [f"a{name} += {scale}({' + '.join(terms)})"] if terms else []
        place = " + ".join([*(f"q{j} * kept{j}_o" for j in range(form.kept)), "k0 * kept_o"])
        lines += [f"{name} += {self.result_scale()}({place}{' + split' if form.partial else ''})" for name in outputs]
        lines += [
            f"kept = tl.arange(0, {form.kept_tile}).to({self.index}){self.kept_side}",
            f"kept_m = kept < {self.limit('M - k0', form.kept_tile, not form.along_columns)}",
            f"layer = (tl.arange(0, {form.depth}) * {lanes}).to({self.index})[:, None, None]",
            f"lane = tl.arange(0, {lanes}).to({self.index}){self.lane_side}",
            "red = layer + lane",
        ]
        for j, (text, dtype) in enumerate(zip(_identity(self.row, self.state), self.types, strict=True)):
            lines.append(f"c{j} = tl.full([{form.rows}, {form.columns}], {text}, {dtype})")
            if not self.folds:
                lines.append(f"z{j} = tl.full([1, 1, 1], {text}, {dtype})")
        return lines

    def limit(self, left: str, tile: int, contiguous: bool) -> str:
        """How far a side of the tile reaches."""
        text = f"tl.minimum({left}, {tile}).to({self.index})"
        return f"tl.multiple_of({text}, 16)" if contiguous and self.form.even and tile % 16 == 0 else text

    def result_scale(self) -> str:
        return "2 * " if is_complex(self.sig.dtype) and not self.form.partial else ""

    def step(self) -> list[str]:
        """The loop over tiles; a program with one tile has none."""
        form = self.form
        state = self.take_tile()  # sets self.parameters
        lines = []
        if form.looped or form.partial:
            left = "N - r0"
            first = "split * chunk" if form.partial else "0"
            lines.append(f"u = {first} + step" if form.looped else f"u = {first}")
            inner = [j for j, before in enumerate(form.reduced) if not before]
            for j in reversed(inner):
                lines += [f"w{j} = u % e{j}", f"u = u // e{j}"]
            outer = [j for j, before in enumerate(form.reduced) if before]
            if outer:
                lines += [f"r0 = (u % tiles) * {form.reduced_tile}", "u = u // tiles"]
                for j in reversed(outer):
                    lines += [f"w{j} = u % e{j}", f"u = u // e{j}"]
            else:
                lines.append(f"r0 = u * {form.reduced_tile}")
            for name, scale in zip(self.operands, self.scales, strict=True):
                terms = [f"w{j} * reduced{j}_{name}" for j in range(len(form.reduced))]
                terms += self.moves(name, "reduced", "r0")
                lines.append(f"p{name} = a{name} + {scale}({' + '.join(terms) or '0'})")
            if "i" in self.names:
                terms = [f"w{j} * reduced{j}_i" for j in range(len(form.reduced))] + self.moves("i", "reduced", "r0")
                lines.append(f"i0 = {' + '.join(terms) or '0'}")
        else:
            left = "N"
            lines += [f"p{name} = a{name}" for name in self.operands]
            if "i" in self.names:
                lines.append("i0 = 0")
        lines.append(f"red_m = red < {self.limit(left, form.reduced_tile, form.along_columns)}")
        if not form.along_columns:
            # Layers beyond the end read the last element again, and are left out later: a mask would vary by layer.
            lines.append(f"read = tl.minimum(red, {self.limit(left, form.reduced_tile, False)} - 1)")
        lines += ["m = kept_m & red_m", *state]
        if form.looped:
            count = "tl.minimum(steps - split * chunk, chunk)" if form.partial else "steps"
            lines = [f"for step in range(0, {count}.to(tl.int32)):", *(f"    {line}" for line in lines)]
        if self.folds and self.row.settle is not None:
            lines.append(f"{self.carried} = reduction.{self.row.settle}({self.carried})")
        return lines

    def address(self, j: int) -> generate.Address:
        kept, reduced = self.form.pattern[j]
        place = "red" if self.form.along_columns else "read"
        terms = []
        for side, index, cls in (("kept", "kept", kept), ("reduced", place, reduced)):
            if cls != "0":
                terms.append(index if cls == "1" else f"{index} * {side}_{j}.to({self.index})")
        # What one side does not move is loaded as a smaller block under the other side's own mask.
        masks = {"": "", "kept": ", mask=kept_m", "red": ", mask=red_m", "keptred": ", mask=m"}
        mask = masks[("kept" if kept != "0" else "") + ("red" if reduced != "0" and self.form.along_columns else "")]
        return generate.Address(" + ".join(terms) or "0", bool(terms), mask)

    def take_tile(self) -> list[str]:
        """Statements that read a tile, fold its layers, and take them into the carried state."""
        form, row = self.form, self.row
        shape = f"[{form.depth}, {form.rows}, {form.columns}]"
        lines: list[str] = []
        if self.expression is None:
            self.parameters = [(f"p{j}", type_row(dtype).pointer) for j, dtype in enumerate(self.state)]
            elements = []
            for j in range(len(self.state)):
                address = self.address(j)
                lines.append(f"x{j} = tl.load(p{j} + ({address.offset}){address.mask})")
                elements.append(f"x{j}")
        else:
            body = generate.body(self.expression, self.address, shape)
            self.parameters = body.parameters
            self.modules |= body.modules
            lines += body.lines
            base = type_row(component(accumulator(row, self.sig.dtype))).value
            elements = [f"x{j}" for j in range(len(body.value))]
            lines += [f"x{j} = tl.broadcast_to(({value}).to({base}), {shape})" for j, value in enumerate(body.value)]
            if self.folds:
                first = "step == 0" if form.looped else "True"
                given = [*elements, f"tl.broadcast_to(m, {shape})", self.carried, first, str(bool(form.reduced))]
                return [*lines, f"{self.carried} = reduction.{row.fold}({', '.join(given)})"]
            if row.before is not None:
                count = 1 if row.state == "place" else len(self.state)
                names = [f"y{j}" for j in range(count)]
                lines.append(f"{', '.join(names)} = {row.function(row.before, self.sig.dtype)}({', '.join(elements)})")
                elements = names
            if row.state == "place":
                lines.append(f"place = tl.broadcast_to((i0 + {self.place()}).to({self.types[1]}), {shape})")
                elements.append("place")
        names = [f"b{j}" for j in range(len(elements))]
        lines += [f"b{j} = tl.where(m, {element}, z{j})" for j, element in enumerate(elements)]
        folded = [f"t{j}" for j in range(len(names))]
        lines.append(self.fold(names, folded, 0))
        return [*lines, f"{self.carried} = {self.combine}({', '.join([self.carried, *folded])})"]

    def place(self) -> str:
        cls = self.form.pattern[-1][1]
        return {"0": "red * 0", "1": "red"}.get(cls, f"red * reduced_i.to({self.types[1]})")

    def fold(self, names: list[str], targets: list[str], axis: int) -> str:
        given = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{', '.join(targets)} = tl.reduce({given}, {axis}, {self.combine})"

    def finish(self) -> list[str]:
        """Fold the plane, and store."""
        form, row, dtype = self.form, self.row, self.sig.dtype
        count = len(self.state)
        names = [f"f{j}" for j in range(count)]
        axis = 1 if form.along_columns else 0
        lines = [self.fold([f"c{j}" for j in range(count)], names, axis)]
        lines += [
            f"place1 = tl.arange(0, {form.kept_tile}).to(tl.int64)",
            "store_m = place1 < M - k0",
        ]
        if form.partial:
            return lines + [f"tl.store(o{j} + place1 * kept_o, f{j}, mask=store_m)" for j in range(count)]
        if row.after is not None:
            parts = 2 if is_complex(dtype) else 1
            results = [f"h{j}" for j in range(parts)]
            function = row.function(row.after, dtype)
            lines.append(f"{', '.join(results)} = {function}({', '.join([*names, 'number'])})")
        else:
            results = names[1:] if row.state == "place" else names
        target = result_dtype(row, dtype)
        part = component(target)
        source = component(self.state[-1] if row.state == "place" else self.state[0])
        if part != source:
            self.modules.add("elementwise")
            results = [f"elementwise.cast({name}, {type_row(part).value})" for name in results]
        where = generate.Address("place1 * kept_o", mask=", mask=store_m")
        return lines + generate.store("o0", where, tuple(results))


@lru_cache(maxsize=4096)
def _leaf_dtypes(sig: Sig) -> tuple[np.dtype, ...]:
    if sig.op == "leaf":
        return (sig.dtype,)
    return tuple(dtype for kid in sig.kids if kid is not SAME for dtype in _leaf_dtypes(kid))
