"""The text of a reduction's kernel.

The sum of all elements of a long array, without what such a simple case has no use for, reads

    split = tl.program_id(0)
    red = tl.arange(0, 8)[:, None, None] * 512 + tl.arange(0, 512)[None, None, :]  # 8 layers of a plane of 1 x 512
    c0 = tl.full([1, 512], 0, tl.float32)
    for step in range(0, tl.minimum(steps - split * chunk, chunk)):
        r0 = (split * chunk + step) * 4096
        m = red < N - r0
        b0 = tl.where(m, tl.load(a0 + r0 + red, mask=m), 0)
        c0 = reduction.add(c0, tl.reduce(b0, 0, reduction.add))
    tl.store(o0 + split, tl.reduce(c0, 1, reduction.add))

with `a` for operands, `o` for results, `c` for the carried state, `q` and `w` for indices of the kept and the reduced
dimensions outside the tile, `d` and `e` for their lengths.
"""

from __future__ import annotations

from typing import NamedTuple

from nbx_array.kernels import generate, words
from nbx_array.kernels.fused import leaf_dtypes
from nbx_array.kernels.reduction_table import Reduction, accumulator, identity, result_dtype, state_dtypes
from nbx_array.kernels.signature import Sig
from nbx_array.kernels.types import component, is_complex, type_row


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
    kept_masked: bool  # tiles may reach beyond the kept dimension; what they compute there is not stored
    masks: str  # which tiles may reach beyond the reduced dimension: "all", its "last" one, or "none"
    layered: bool  # layers of a tile that needs masks are taken one by one
    partial: bool  # programs leave states
    gathers: int  # so many of which, at a time, the last program to leave one reduces; 0 if the next launch does
    wide: bool  # offsets in a tile need 64 bits
    wide_index: bool
    even: tuple[str, ...]  # numbers passed as multiples of 16, see `_deciding`

    @property
    def kept_tile(self) -> int:
        return self.rows if self.along_columns else self.columns

    @property
    def reduced_tile(self) -> int:
        return self.depth * (self.columns if self.along_columns else self.rows)


class Writer:
    """Writes one kernel.

    Its arguments: the expression's, or a pointer to each component of partial states; a pointer to the result, or to
    each component; the number that `after` takes; then sizes and strides, see `numbers`.
    """

    def __init__(self, row: Reduction, sig: Sig, expression: Sig | None, form: Form, numbers: list[str]) -> None:
        self.row, self.sig, self.expression, self.form, self.numbers = row, sig, expression, form, numbers
        self.state = state_dtypes(row, sig.dtype, form.wide_index)
        self.types = [type_row(dtype).value for dtype in self.state]
        self.modules = {"reduction"}
        self.index = "tl.int64" if form.wide else "tl.int32"
        self.combine = row.function(row.combine, sig.dtype)
        count = len(form.pattern) - (row.state == "place" and expression is not None)
        self.operands = [str(j) for j in range(count)]
        self.names = [*self.operands, "i"] if count < len(form.pattern) else self.operands
        dtypes = leaf_dtypes(expression) if expression is not None else self.state
        self.scales = ["2 * " if is_complex(dtype) else "" for dtype in dtypes]
        self.lanes = form.reduced_tile // form.depth
        self.carried = ", ".join(f"c{j}" for j in range(len(self.state)))
        self.folds = row.fold is not None and expression is not None
        self.leaves = form.partial and not form.gathers
        across, down = "[None, None, :]", "[None, :, None]"
        self.kept_side, self.lane_side = (down, across) if form.along_columns else (across, down)

    def moves(self, name: str, side: str, start: str) -> list[str]:
        """The terms that move operand `name` along the tile's kept or reduced side, to where the tile starts."""
        j = -1 if name == "i" else int(name)
        cls = self.form.pattern[j][side == "reduced"]
        return [] if cls == "0" else [start if cls == "1" else f"{start} * {side}_{name}"]

    def kernel(self) -> tuple[str, list[tuple[str, str]]]:
        """The text, and names and types of the arguments."""
        form, row, dtype = self.form, self.row, self.sig.dtype
        loop = self.loop()
        # The loop moves from where the program starts (a0) to where the tile does (p0).
        parameters = [(f"a{name[1:]}" if name.startswith("p") else name, kind) for name, kind in self.parameters()]
        if self.leaves:
            parameters += [(f"o{j}", type_row(part).pointer) for j, part in enumerate(self.state)]
        else:
            parameters.append(("o0", type_row(result_dtype(row, dtype)).pointer))
            if row.after is not None:
                parameters.append(("number", type_row(self.state[0]).parameter))
        if form.gathers:
            parameters += [("words", "*i64"), ("tag", "i64")]
        parameters += [(name, "i64") for name in self.numbers]
        lines = [*self.start(), *loop, *self.finish()]
        text = generate.module(self.modules, generate.function("reduce", [name for name, _ in parameters], lines))
        return text, parameters

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of what is reduced."""
        if self.expression is not None:
            return generate.parameters(self.expression)
        return [(f"p{j}", type_row(dtype).pointer) for j, dtype in enumerate(self.state)]

    def start(self) -> list[str]:
        """Where the program stands, and its empty state."""
        form = self.form
        lines = [f"{name} = {name} * 16" for name in form.even]
        lines.append("g = tl.program_id(0).to(tl.int64)")
        if form.partial:
            lines += ["split = g % splits", "g = g // splits"]
        if form.gathers:
            lines.append("group = g")
        lines += [f"k0 = (g % across) * {form.kept_tile}", "g = g // across"]
        for j in reversed(range(form.kept)):
            lines += [f"q{j} = g % d{j}", f"g = g // d{j}"]
        for name, scale in zip(self.operands, self.scales, strict=True):
            terms = [*(f"q{j} * kept{j}_{name}" for j in range(form.kept)), *self.moves(name, "kept", "k0")]
            lines += [f"a{name} += {scale}({' + '.join(terms)})"] if terms else []
        place = " + ".join([*(f"q{j} * kept{j}_o" for j in range(form.kept)), "k0 * kept_o"])
        if self.leaves:
            lines += [f"o{j} += {place} + split" for j in range(len(self.state))]
        else:
            lines.append(f"o0 += {'2 * ' if is_complex(result_dtype(self.row, self.sig.dtype)) else ''}({place})")
        lines += [
            f"kept = tl.arange(0, {form.kept_tile}).to({self.index}){self.kept_side}",
            f"layer = (tl.arange(0, {form.depth}) * {self.lanes}).to({self.index})[:, None, None]",
            f"lane = tl.arange(0, {self.lanes}).to({self.index}){self.lane_side}",
        ]
        if form.masks != "all":
            lines.append("whole_tile = layer + lane")
        if form.kept_masked:
            lines.append(f"kept_m = kept < {self.limit('M - k0', form.kept_tile, not form.along_columns)}")
        for j, (text, dtype) in enumerate(zip(identity(self.row, self.state), self.types, strict=True)):
            lines.append(f"c{j} = tl.full([{form.rows}, {form.columns}], {text}, {dtype})")
            if not self.folds:
                lines.append(f"z{j} = tl.full([1, 1, 1], {text}, {dtype})")
        return lines

    def limit(self, left: str, tile: int, contiguous: bool) -> str:
        """How far a side of the tile reaches."""
        text = f"tl.minimum({left}, {tile}).to({self.index})"
        return f"tl.multiple_of({text}, 16)" if contiguous and self.form.even and tile % 16 == 0 else text

    def loop(self) -> list[str]:
        """The loop over tiles; a program with one tile has none."""
        form = self.form
        lines: list[str] = []
        if not form.looped:
            lines += self.step(form.masks != "none")
        else:
            lines.append(f"first = {'split * chunk' if form.partial else '0'}")
            lines.append("count = tl.minimum(steps - first, chunk).to(tl.int32)")
            if form.masks == "last":
                lines.append(f"whole = tl.maximum(tl.minimum(N // {form.reduced_tile} - first, count), 0).to(tl.int32)")
            if form.masks != "all":
                end = "whole" if form.masks == "last" else "count"
                lines += [f"for step in range(0, {end}):", *(f"    {line}" for line in self.step(False))]
            if form.masks != "none":
                start = "whole" if form.masks == "last" else "0"
                lines += [f"for step in range({start}, count):", *(f"    {line}" for line in self.step(True))]
        if self.folds and self.row.settle is not None:
            lines.append(f"{self.carried} = {self.row.function(self.row.settle, self.sig.dtype)}({self.carried})")
        return lines

    def step(self, masked: bool) -> list[str]:
        """Take one tile."""
        form = self.form
        lines = []
        if form.looped or form.partial:
            left = "N - r0"
            lines.append("u = first + step" if form.looped else "u = split")
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
        first = "step == 0" if form.looped else "True"
        if not masked:
            return [*lines, "red = whole_tile", *self.take(form.depth, False, first)]
        lines.append(f"limit = {self.limit(left, form.reduced_tile, form.along_columns)}")
        if form.layered and form.depth > 1:
            first = "(step == 0) & (t == 0)" if form.looped else "t == 0"
            layer = [f"red = t * {self.lanes} + lane", *self.masks(), *self.take(1, True, first)]
            return [*lines, f"for t in range(0, tl.cdiv(limit, {self.lanes})):", *(f"    {line}" for line in layer)]
        lines += ["red = layer + lane", *self.masks()]
        return lines + self.take(form.depth, True, first)

    def masks(self) -> list[str]:
        """Which elements of a tile exist."""
        lines = ["red_m = red < limit"]
        if self.form.kept_masked:
            lines.append("m = kept_m & red_m")
        if not self.form.along_columns:
            # Layers beyond the end read the last element again and are left out later: masks would vary by layer.
            lines.append("read = tl.minimum(red, limit - 1)")
        return lines

    def address(self, j: int, masked: bool) -> generate.Address:
        kept, reduced = self.form.pattern[j]
        place = "read" if masked and not self.form.along_columns else "red"
        terms = []
        for side, index, cls in (("kept", "kept", kept), ("reduced", place, reduced)):
            if cls != "0":
                terms.append(index if cls == "1" else f"{index} * {side}_{j}.to({self.index})")
        # What one side does not move is loaded as a smaller block under the other side's own mask.
        kept_mask = kept != "0" and self.form.kept_masked
        red_mask = reduced != "0" and masked and self.form.along_columns
        mask = {(True, True): ", mask=m", (True, False): ", mask=kept_m", (False, True): ", mask=red_m"}
        text = mask.get((kept_mask, red_mask), "")
        return generate.Address(" + ".join(terms) or "0", bool(terms), text)

    def take(self, depth: int, masked: bool, first: str) -> list[str]:
        """Statements that read layers, fold them, and take them into the carried state; `first` says whether they are
        the program's first."""
        form, row = self.form, self.row
        shape = f"[{depth}, {form.rows}, {form.columns}]"
        lines: list[str] = []
        if self.expression is None:
            elements = [f"x{j}" for j in range(len(self.state))]
            for j, element in enumerate(elements):
                address = self.address(j, masked)
                lines.append(f"{element} = tl.load(p{j} + ({address.offset}){address.mask})")
        else:
            body = generate.body(self.expression, lambda j: self.address(j, masked), shape)
            self.modules |= body.modules
            lines += body.lines
            base = type_row(component(accumulator(row, self.sig.dtype))).value
            elements = [f"x{j}" for j in range(len(body.value))]
            lines += [f"x{j} = tl.broadcast_to(({value}).to({base}), {shape})" for j, value in enumerate(body.value)]
            if row.fold is not None:
                mask = f"tl.broadcast_to(red_m, {shape})" if masked else "None"
                given = [*elements, mask, self.carried, first, str(bool(form.reduced))]
                return [*lines, f"{self.carried} = {row.function(row.fold, self.sig.dtype)}({', '.join(given)})"]
            if row.before is not None:
                count = 1 if row.state == "place" else len(self.state)
                names = [f"y{j}" for j in range(count)]
                lines.append(f"{', '.join(names)} = {row.function(row.before, self.sig.dtype)}({', '.join(elements)})")
                elements = names
            if row.state == "place":
                lines.append(f"place = tl.broadcast_to((i0 + {self.place()}).to({self.types[1]}), {shape})")
                elements.append("place")
        if masked:
            lines += [f"b{j} = tl.where(red_m, {element}, z{j})" for j, element in enumerate(elements)]
            elements = [f"b{j}" for j in range(len(elements))]
        folded = [f"t{j}" for j in range(len(elements))]
        lines.append(self.fold(elements, folded, 0))
        return [*lines, f"{self.carried} = {self.combine}({', '.join([self.carried, *folded])})"]

    def place(self) -> str:
        cls = self.form.pattern[-1][1]
        return {"0": "red * 0", "1": "red"}.get(cls, f"red * reduced_i.to({self.types[1]})")

    def fold(self, names: list[str], targets: list[str], axis: int) -> str:
        given = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{', '.join(targets)} = tl.reduce({given}, {axis}, {self.combine})"

    def finish(self) -> list[str]:
        """Fold the plane, and store."""
        form = self.form
        count = len(self.state)
        names = [f"f{j}" for j in range(count)]
        axis = 1 if form.along_columns else 0
        lines = [
            f"place1 = tl.arange(0, {form.kept_tile}).to(tl.int64)",
            "store_m = place1 < M - k0",
            self.fold([f"c{j}" for j in range(count)], names, axis),
        ]
        if self.leaves:
            return lines + [f"tl.store(o{j} + place1 * kept_o, f{j}, mask=store_m)" for j in range(count)]
        return lines + (self.gather() if form.gathers else self.result(names))

    def gather(self) -> list[str]:
        """Tell the state; the last program to do so reduces those of all, in their order, and stores."""
        form, device, slots = self.form, self.sig.device, self.form.kept_tile
        self.modules.add("look_back")
        each = words.words_of(self.state, device) * slots
        shape = f"[{form.gathers}, {slots}]"
        at, asked = f"states[None, :] + (first + part) * {each}", "first + part < splits"
        neutral = list(enumerate(zip(identity(self.row, self.state), self.types, strict=True)))
        total, given, folded = ([f"{name}{j}" for j, _ in neutral] for name in ("total", "given", "folded"))
        step = [
            *words.read("told", self.state, slots, at, asked, shape, "True", device),
            *(
                f"given{j} = tl.where(asked_told, told{j}, tl.full({shape}, {text}, {kind}))"
                for j, (text, kind) in neutral
            ),
            self.fold(given, folded, 0),
            f"{', '.join(total)} = {self.combine}({', '.join(total + folded)})",
        ]
        last = [
            f"part = tl.arange(0, {form.gathers})[:, None]",
            *(f"total{j} = tl.full([{slots}], {text}, {kind})" for j, (text, kind) in neutral),
            f"for first in range(0, splits, {form.gathers}):",
            *generate.indented(step),
            'tl.atomic_xchg(words + group, 0, sem="relaxed")',
            *self.result(total),
        ]
        return [
            f"states = words + {words.COUNTERS} + group * splits * {each} + tl.arange(0, {slots})",
            *words.publish("f", self.state, slots, f"states + split * {each}", device),
            'if tl.atomic_add(words + group, 1, sem="relaxed") == splits - 1:',
            *generate.indented(last),
        ]

    def result(self, names: list[str]) -> list[str]:
        """Store the result of states."""
        row, dtype, lines = self.row, self.sig.dtype, []
        if row.after is not None:
            parts = 2 if is_complex(result_dtype(row, dtype)) else 1
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
