"""The text of a scan's kernel, of two kinds.

A whole one goes along the axis. The running sum of a vector, without what such a simple case has no use for, reads

    for tile in range(0, tl.cdiv(steps, STEPS)):
        x0 = tl.load(p0 + tile * STEPS + step, mask=m)
        y0 = c0 + tl.associative_scan(x0, 1, reduction.add)
        tl.store(o + tile * STEPS + step, y0, mask=m)
        c0 = c0 + tl.reduce(x0, 1, reduction.add)

A linked one has a program for each tile. It publishes its tile's total and looks back at the totals before it (Merrill
and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016). There a program adds up totals until it
meets one that already knows its prefix, so that how sums are grouped, and with it their rounding, depends on which
program was faster. Here the grouping is fixed. LOOK tiles make a group, LOOK groups a supergroup:

- a tile's prefix is that of the group before, combined with the totals of the tiles before it in its group;
- the last tile of a group publishes the group's total, and then its prefix, inclusive: that of the supergroup before,
  combined with the totals of the supergroup's groups up to this one.

So a chain of programs that wait for each other has a link for LOOK**2 tiles, and two for the ends: of 2^28 float32 in
tiles of 4,096, 64 links of perhaps 2 µs while 500 µs of memory traffic go on. A chain of the tiles themselves would
have 65,536; two passes, totals first, would read everything twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nbx_array.kernels import generate, words
from nbx_array.kernels.fused import leaf_dtypes
from nbx_array.kernels.reduction import TABLE as REDUCTIONS
from nbx_array.kernels.reduction_table import accumulator, identity, state_dtypes
from nbx_array.kernels.signature import Sig
from nbx_array.kernels.types import component, is_complex, type_row

NAMES = {"cumulative_sum": "sum", "cumulative_prod": "prod", "cumulative_max": "max", "cumulative_min": "min"}
"""The scans, each with the reduction whose running results it gives."""


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
    look: int = 0  # tiles of a group, whose programs learn from each other; 0 if a program goes along the axis
    rows: str = "any"  # linked: "one" row of tiles, "even" ones, whose strides are passed divided by 16, or any
    filled: bool = False  # linked: no tile has lanes beyond the last


class Writer:
    """Writes one kernel. Its arguments: the expression's, the output, sizes, and each operand's and the output's
    strides; a linked one's has words before the sizes, and more of these."""

    def __init__(self, name: str, sig: Sig, form: Form, dtype: np.dtype) -> None:
        self.sig, self.form, self.dtype = sig, form, dtype
        row = REDUCTIONS[NAMES[name]]
        self.wide = accumulator(row, dtype)
        self.value = type_row(self.wide).value
        self.combine = row.function(row.combine, dtype)
        self.neutral = identity(row, state_dtypes(row, dtype, wide=False))
        self.parts = range(len(self.neutral))
        self.dtypes = [component(self.wide)] * len(self.neutral)
        # Steps run along one axis of a tile, lanes along the other, which is the one that lies nearer in memory.
        self.axis, self.across, self.down = (
            (0, "[None, :]", "[:, None]") if form.inner else (1, "[:, None]", "[None, :]")
        )
        self.shape = self.tile_shape(form.steps)
        self.pointers = [name for name, kind in generate.parameters(sig) if kind.startswith("*")]
        self.modules = {"reduction", "elementwise"}

    def tile_shape(self, steps: int) -> str:
        return f"[{steps}, {self.form.lanes}]" if self.form.inner else f"[{self.form.lanes}, {steps}]"

    def kernel(self) -> tuple[str, list[tuple[str, str]]]:
        """Its module's text, and its parameters' names and types."""
        linked = self.form.look > 0
        lines = self.linked() if linked else self.whole()
        strides = [f"{part}_{k}" for k in (*range(len(self.pointers)), "o") for part in ("other", "step", "lane")]
        numbers = ("across", "rows", "tiles", "lanes", "steps") if linked else ("across", "lanes", "steps")
        bits = words.word_bits(self.sig.device)
        parameters = [
            *generate.parameters(self.sig),
            ("o", type_row(self.dtype).pointer),
            *([("words", f"*i{bits}"), ("tag", f"i{bits}")] if linked else []),
            *((n, "i64") for n in (*numbers, *strides)),
        ]
        text = generate.function("scan", [*(n for n, _ in parameters), "STEPS: tl.constexpr"], lines)
        return generate.module(self.modules, (self.joined() if linked else "") + text), parameters

    # -- parts of statements

    def names(self, letter: str, expand: str = "") -> list[str]:
        return [f"{letter}{j}{expand}" for j in self.parts]

    def combined(self, left: str, right: str, target: str, expand: str = "") -> str:
        given = ", ".join(self.names(left, expand) + self.names(right))
        return f"{', '.join(self.names(target))} = {self.combine}({given})"

    def fold(self, function: str, target: str) -> str:
        given = "x0" if len(self.parts) == 1 else f"({', '.join(self.names('x'))})"
        return f"{', '.join(self.names(target))} = {function}({given}, {self.axis}, {self.combine})"

    def offset(self, k: object, classes: tuple[str, str]) -> str:
        """Of an element of a tile, from the first step of the tile's first lane on."""
        step, lane = classes
        terms = ["begin + step" if step == "1" else f"begin * step_{k} + step * step_{k}"]
        if lane != "0":
            terms.append("lane" if lane == "1" else f"lane * lane_{k}")
        return " + ".join(terms)

    def start(self, k: object) -> str:
        """Of a tile's first lane."""
        match self.form.rows:
            case "one":
                return "0"
            case "even":
                return f"(q * other_{k} + l0 * lane_{k}) * 16"
            case _:
                return f"q * other_{k} + l0 * lane_{k}"

    def begin(self) -> list[str]:
        """Move the pointers to the first lane, and number a tile's elements."""
        lanes, steps = self.form.lanes, self.form.steps
        scales = ["2 * " if is_complex(leaf) else "" for leaf in leaf_dtypes(self.sig)]
        lines = [f"{p} += {s}({self.start(k)})" for k, (p, s) in enumerate(zip(self.pointers, scales, strict=True))]
        lines.append(f"o += {'2 * ' if is_complex(self.dtype) else ''}({self.start('o')})")
        return [
            *lines,
            f"lane = tl.arange(0, {lanes}){self.across}",
            f"step = tl.arange(0, {steps}){self.down}",
            f"lane_m = lane < tl.minimum(lanes - l0, {lanes}).to(tl.int32)",
            "lane = lane.to(tl.int64)",
        ]

    def masks(self) -> list[str]:
        return [f"step_m = step < tl.minimum(steps - begin, {self.form.steps}).to(tl.int32)", "m = step_m & lane_m"]

    def read(self, masked: bool) -> list[str]:
        """The tile's elements, in the dtype that they are accumulated in: those left out change nothing."""
        mask = ", mask=m" if masked else ""
        body = generate.body(
            self.sig, lambda k: generate.Address(self.offset(k, self.form.pattern[k]), mask=mask), self.shape
        )
        self.modules |= body.modules
        lines = list(body.lines)
        for j, result in zip(self.parts, body.value, strict=True):
            same = component(self.sig.dtype) == component(self.wide)
            cast = result if same else f"elementwise.cast({result}, {self.value})"
            element = f"tl.broadcast_to({cast}, {self.shape})"
            lines.append(f"x{j} = tl.where(m, {element}, {self.neutral[j]})" if masked else f"x{j} = {element}")
        return lines

    def write(self, masked: bool) -> list[str]:
        """Store the results, `y`."""
        results = self.names("y")
        if self.wide != self.dtype:
            target = type_row(component(self.dtype)).value
            results = [f"elementwise.cast({result}, {target})" for result in results]
        mask = ", mask=m" if masked else ""
        return generate.store("o", generate.Address(self.offset("o", self.form.pattern[-1]), mask=mask), tuple(results))

    # -- a program for some lanes

    def whole(self) -> list[str]:
        lanes, steps = self.form.lanes, self.form.steps
        loop = [f"begin = tile * {steps}", *self.masks(), *self.read(True)]
        if steps > 1:
            loop += [self.fold("tl.reduce", "r"), self.fold("tl.associative_scan", "x")]
        else:
            loop += [f"r{j} = tl.reshape(x{j}, [{lanes}])" for j in self.parts]
        # Nothing is combined with the neutral element: complex infinities would not survive it.
        loop.append(self.combined("c", "x", "y", self.across))
        loop += [f"y{j} = tl.where(tile == 0, x{j}, y{j})" for j in self.parts]
        loop += self.write(True)
        loop.append(self.combined("c", "r", "n"))
        loop += [f"c{j} = tl.where(tile == 0, r{j}, n{j})" for j in self.parts]
        return [
            "g = tl.program_id(0).to(tl.int64)",
            f"l0 = (g % across) * {lanes}",
            "q = g // across",
            *self.begin(),
            *(f"c{j} = tl.full([{lanes}], {n}, {self.value})" for j, n in zip(self.parts, self.neutral, strict=True)),
            "for tile in range(0, tl.cdiv(steps, STEPS)):",
            *generate.indented(loop),
        ]

    # -- a program for some lanes of one tile

    def linked(self) -> list[str]:
        form = self.form
        self.modules.add("look_back")
        count = words.words_of(self.dtypes, self.sig.device)
        lines = ["place = look_back.claim(words)", f"look = tl.arange(0, {form.look}){self.down}"]
        # Neighbouring lanes first, all of them before the next tile: who waits has been long behind.
        if form.rows == "one":
            lines += ["row = place * 0", "tile = place", "l0 = row", "q = row"]
        else:
            lines += [
                "row = place % rows",
                "tile = place // rows",
                f"l0 = (row % across) * {form.lanes}",
                "q = row // across",
            ]
        lines += [
            *self.begin(),
            f"begin = tile * {form.steps}",
            f"group = tile // {form.look}",
            f"groups = tl.cdiv(tiles, {form.look})",
            f"slot = tl.arange(0, {form.lanes})",
            f"words += {words.COUNTERS} + row * (tiles + 2 * groups) * {count * form.lanes}",
        ]
        # A mask keeps Triton from 16-byte accesses: tiles within the array go without.
        unmasked = form.filled and self.sig.device.backend != "cpu"
        inside = f"if begin + {form.steps} <= steps:"
        if unmasked:
            lines += [
                inside,
                *generate.indented(self.read(False)),
                "else:",
                *generate.indented([*self.masks(), *self.read(True)]),
            ]
        else:
            lines += [*self.masks(), *self.read(True)]
        lines.append(self.fold("tl.reduce", "r"))
        lines += self.publish("r", "tile")
        lines.append(self.fold("tl.associative_scan", "x"))
        # `a`: what comes before the tile in its group. `e`: what comes before the group.
        lines += self.gather("a", f"group * {form.look}", f"tile - group * {form.look}")
        lines += [
            f"if (tile + 1) % {form.look} == 0:",
            *generate.indented([self.join("a", "r", "n", "has_a", "1"), *self.publish("n", "tiles + group")]),
            f"    head = group // {form.look} * {form.look}",
            *generate.indented(self.gather("b", "tiles + head", "group - head")),
            *generate.indented(self.gather_one("u", "tiles + groups + head - 1", "head > 0")),
            *generate.indented([self.join("b", "n", "n", "has_b", "1"), self.join("u", "n", "n", "has_u", "1")]),
            *generate.indented(self.publish("n", "tiles + groups + group")),
            *self.gather_one("e", "tiles + groups + group - 1", "group > 0"),
            self.join("e", "a", "c", "has_e", "has_a"),
            self.combined("c", "x", "y", self.across),
            *(f"y{j} = tl.where(tile == 0, x{j}, y{j})" for j in self.parts),
        ]
        if unmasked:
            return [
                *lines,
                inside,
                *generate.indented(self.write(False)),
                "else:",
                *generate.indented([*self.masks(), *self.write(True)]),
            ]
        return lines + self.write(True)

    # -- what programs tell each other

    def joined(self) -> str:
        """A Triton function that combines two states of which either may not be there: the flag that follows it tells.

        The neutral element would not do: 0 + -0 is 0, and of complex infinities a product with 1 leaves NaN."""
        x, y, z = self.names("x"), self.names("y"), self.names("z")
        chosen = [f"tl.where(has_y == 0, x{j}, tl.where(has_x == 0, y{j}, z{j}))" for j in self.parts]
        lines = [
            f"{', '.join(z)} = {self.combine}({', '.join(x + y)})",
            f"return {', '.join(chosen)}, has_x | has_y",
        ]
        return generate.function("joined", [*x, "has_x", *y, "has_y"], lines) + "\n\n"

    def join(self, left: str, right: str, target: str, has_left: str, has_right: str) -> str:
        given = [*self.names(left), has_left, *self.names(right), has_right]
        return f"{', '.join(self.names(target))}, has_{target} = joined({', '.join(given)})"

    def place(self, place: str) -> str:
        """Pointers to the `place`-th state of the row, but for its slots."""
        return f"words + ({place}) * {words.words_of(self.dtypes, self.sig.device) * self.form.lanes}"

    def publish(self, letter: str, place: str) -> list[str]:
        """Make a state known as the `place`-th of the row."""
        lines = words.publish(letter, self.dtypes, self.form.lanes, "to", self.sig.device)
        return [f"to = {self.place(place)} + slot", *lines]

    def wait(self, letter: str, at: str, asked: str, shape: str, waiting: str) -> list[str]:
        """Read states when all that are asked for are there."""
        return words.read(letter, self.dtypes, self.form.lanes, at, asked, shape, waiting, self.sig.device)

    def gather(self, letter: str, first: str, count: str) -> list[str]:
        """Combine so many states from the first-th on: `has_` and the letter says whether there are any."""
        at = f"{self.place(f'{first} + look')} + slot{self.across}"
        lines = self.wait(letter, at, f"look < {count}", self.tile_shape(self.form.look), f"{count} > 0")
        given = ", ".join([*self.names(letter), f"asked_{letter}.to(tl.int32)"])
        targets = ", ".join([*self.names(letter), f"has_{letter}"])
        return [*lines, f"{targets} = tl.reduce(({given}), {self.axis}, joined)"]

    def gather_one(self, letter: str, place: str, condition: str) -> list[str]:
        """Read a state, where there is one."""
        at, shape = f"{self.place(place)} + slot", f"[{self.form.lanes}]"
        lines = self.wait(letter, at, f"(slot >= 0) & ({condition})", shape, condition)
        return [*lines, f"has_{letter} = asked_{letter}.to(tl.int32)"]
