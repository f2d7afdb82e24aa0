"""Operations that combine elements: reductions, scans, matrix products, histograms, atomics.

Reductions combine in an order that depends on the tensor's shape alone. Along the last axis there are :data:`LANES`
accumulators: element ``i`` goes to accumulator ``i % LANES``, in order, and in the end the accumulators are combined in
a tree. Neither the type, nor the processor's vectors, nor what computes the elements changes that: results repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..ttir.indices import Index, Indices, Operand, constant_index, flatten, join, width_of
from ..ttir.reader import Operation, Value
from ..ttir.types import ATOMIC_OPERATIONS, HALVES, SIZES, NotSupported, bits_of, is_float
from .emission import ZERO, operand
from .nests import Nests
from .scalars import BINARY, FLOAT_EXTREMA, INTEGER_EXTREMA, float_literal, literal, memory_type, register_type

#: Accumulators of a reduction along the last axis.
LANES = 64
#: A reduction of a tensor over so few elements is written out.
FEW = 8

#: Values that leave the other operand unchanged. A sum's first is -0, since 0 + -0 is 0.
NEUTRAL_INTEGERS = {"addi": 0, "muli": 1, "ori": 0, "xori": 0, "andi": -1, "maxui": 0, "minui": -1}
NEUTRAL_FLOATS = {
    "addf": (-0.0, 0.0), "mulf": (1.0,), "maximumf": (-math.inf,), "minimumf": (math.inf,),
    "maxnumf": (math.nan,), "minnumf": (math.nan,),
}  # fmt: skip
VECTOR_FOLDS = frozenset((*BINARY, *INTEGER_EXTREMA, *FLOAT_EXTREMA))


class Collectives(Nests):
    """Emits reductions and their kin."""

    def __init__(self, features: str, vector_bytes: int) -> None:
        super().__init__(features)
        self.vector_bytes = vector_bytes
        self.has_products = False
        #: Products that add to a buffer which already holds their third operand.
        self.accumulates_in: dict[Operation, Operand] = {}

    # -- reductions

    def reduce(self, op: Operation) -> None:
        axis, shape = op.integer("axis"), op.operands[0].shape
        others = shape[:axis] + shape[axis + 1 :]
        if not op.result.type.is_tensor:
            for value, result in zip(op.results, self.reduce_row(op, ()), strict=True):
                self.scalars[value] = result
            return
        places = [self.new_buffer(value) for value in op.results]
        if shape[axis] <= FEW:
            self.reduce_few(op, axis, others, places)
        elif axis == len(shape) - 1:

            def row(indices: Indices) -> None:
                results = self.reduce_row(op, indices)
                for value, place, result in zip(op.results, places, results, strict=True):
                    element = value.type.element
                    self.store(element, result, self.address(element, place, flatten(indices)))

            self.rows(others, row)
        else:
            self.reduce_layers(op, axis, others, places)
        self.places.update(zip(op.results, places, strict=True))

    def rows(self, shape: Sequence[int], body: Callable[[Indices], None], before: Indices = ()) -> None:
        """Loops, one statement after the other, over the leading dimensions."""
        if len(before) == len(shape):
            self.fresh(lambda: body(before))
        elif shape[len(before)] == 1:
            self.rows(shape, body, (*before, ()))
        else:
            size = shape[len(before)]
            self.loop("0", str(size), lambda i, _: self.rows(shape, body, (*before, self.counter(i, size))))

    def reduce_few(self, op: Operation, axis: int, shape: tuple[int, ...], places: list[Operand]) -> None:
        count = op.operands[0].shape[axis]

        def at(indices: Indices, i: int) -> Indices:
            return (*indices[:axis], constant_index(i, count), *indices[axis:])

        def body(indices: Indices) -> None:
            total = [self.at(value, at(indices, 0)) for value in op.operands]
            for i in range(1, count):
                total = self.region(op.regions[0][0], total + [self.at(value, at(indices, i)) for value in op.operands])
            self.store_all(op.results, places, total, flatten(indices))

        self.nest(shape, body, op.operands, indices_of=lambda indices: at(indices, 0))

    def reduce_layers(self, op: Operation, axis: int, shape: tuple[int, ...], places: list[Operand]) -> None:
        """Along an axis that is not the last: one layer after the other is combined into the results."""
        count = op.operands[0].shape[axis]
        neutral = self.neutral_value(op)

        def at(indices: Indices) -> Indices:
            """The element for the index along the axis followed by those of the result."""
            return (*indices[1 : axis + 1], indices[0], *indices[axis + 1 :])

        def combine(indices: Indices) -> None:
            new = [self.at(value, at(indices)) for value in op.operands]
            if not self.is_neutral(op, new):
                place = flatten(indices[1:])
                old = self.load_all(op.results, places, place)
                self.store_all(op.results, places, self.region(op.regions[0][0], old + new), place)

        if neutral is not None:
            self.nest(shape, lambda indices: self.store_all(op.results, places, [neutral], flatten(indices)))
            # The order of loops is the order of layers, so only the others can be joined or run in parallel.
            self.nest((count, *shape), combine, op.operands, indices_of=at, outer=1)
            return

        def layer(number: Index, body: Callable[[Indices], None]) -> None:
            self.nest(shape, lambda i: body((number, *i)), op.operands, indices_of=lambda i: at((number, *i)))

        def first(indices: Indices) -> None:
            new = [self.at(value, at(indices)) for value in op.operands]
            self.store_all(op.results, places, new, flatten(indices[1:]))

        layer(constant_index(0, count), first)
        self.loop("1", str(count), lambda i, _: self.fresh(lambda: layer(self.counter(i, count), combine)))

    def reduce_row(self, op: Operation, row: Indices) -> list[Operand]:
        """Reduce along the last axis, at given indices of the others."""
        count = op.operands[0].shape[-1]
        lanes = min(count, LANES)
        blocks = count // lanes
        accumulators = [self.new_buffer(value, lanes) for value in op.operands]
        if blocks == 1:
            self.reduce_block(op, row, (), accumulators, first=True)
        else:
            self.reduce_blocks(op, row, lanes, blocks, accumulators)
        return self.fold(op, lanes, accumulators)

    def reduce_block(
        self, op: Operation, row: Indices, number: Index, into: list[Operand], first: bool = False
    ) -> bool:
        """Combine a block of elements with the accumulators; whether elements that a mask excludes change nothing."""
        skipped = False

        def at(indices: Indices) -> Indices:
            return (*row, join([indices[0], number]))

        def body(indices: Indices) -> None:
            nonlocal skipped
            new = [self.at(value, at(indices)) for value in op.operands]
            if not first:
                if self.is_neutral(op, new):
                    skipped = True
                    return
                new = self.region(op.regions[0][0], self.load_all(op.operands, into, indices[0]) + new)
            self.store_all(op.operands, into, new, indices[0])

        self.nest((min(op.operands[0].shape[-1], LANES),), body, op.operands, indices_of=at)
        return skipped

    def reduce_blocks(self, op: Operation, row: Indices, lanes: int, blocks: int, accumulators: list[Operand]) -> None:
        """Combine the blocks of a row in order: those below a mask's bound without masks, then what is left."""

        def rest(start: str) -> None:
            self.loop(start, str(blocks), lambda i, _: self.fresh(lambda: block(i)))

        def block(number: Operand) -> None:
            self.reduce_block(op, row, self.counter(number, blocks), accumulators)

        neutral = self.neutral_value(op)
        if neutral is None:
            self.reduce_block(op, row, constant_index(0, blocks), accumulators, first=True)
            start = "1"
        else:
            vector = f"<{lanes} x {memory_type(op.operands[0].type.element)}>"
            values = ", ".join([f"{memory_type(op.operands[0].type.element)} {neutral}"] * lanes)
            self.effect(f"store {vector} <{values}>, ptr {accumulators[0]}, align 64")
            start = "0"
        whole = self.whole_blocks(op, row, lanes, blocks)
        if whole is None:
            rest(start)
            return
        stop, comparison = whole
        # Loops of constant length keep their accumulators in registers. They have buffers of their own, since what
        # comes after them addresses the accumulators by a variable.
        registers = [self.new_buffer(value, lanes) for value in op.operands]
        sizes = [lanes * SIZES[value.type.element] for value in op.operands]
        for target, source, nbytes in zip(registers, accumulators, sizes, strict=True):
            self.copy(target, source, nbytes)
        self.loop(start, stop, lambda i, _: self.fresh(
            lambda: self.reduce_whole_block(op, row, self.counter(i, blocks), lanes, comparison, registers)
        ))  # fmt: skip
        for target, source, nbytes in zip(accumulators, registers, sizes, strict=True):
            self.copy(target, source, nbytes)
        first = self.intrinsic("smax", "i32", stop, start) if start != "0" else stop
        last = self.emit(f"icmp slt i32 {first}, {blocks}", first)
        skipped = False

        def partial() -> None:
            nonlocal skipped
            skipped = self.reduce_block(op, row, self.counter(first, blocks), accumulators)

        self.when(last, lambda: self.fresh(partial))
        if not skipped:
            rest(self.emit(f"add i32 {first}, 1", first))

    def reduce_whole_block(
        self, op: Operation, row: Indices, number: Index, lanes: int, comparison: Value, into: list[Operand]
    ) -> None:
        """Combine a block in which a comparison holds for each element."""
        counters, indices = self.counters([[0]], (lanes,))
        place = (*row, join([indices[0], number]))
        bounds = self.find_bounds(counters, place, op.operands, None)
        decided = {bound.comparison: operand("true", 0) for bound in bounds if bound.comparison[0] is comparison}

        def body() -> None:
            new = [self.at(value, place) for value in op.operands]
            old = self.load_all(op.operands, into, indices[0])
            self.store_all(op.operands, into, self.region(op.regions[0][0], old + new), indices[0])

        self.emit_nest(counters, [("0", str(lanes))], decided, body, parallel=True)

    def fold(self, op: Operation, lanes: int, accumulators: list[Operand]) -> list[Operand]:
        """Combine the accumulators, the upper half with the lower, until one is left."""
        name = self.single_operation(op)
        element = op.operands[0].type.element
        half = lanes // 2
        if name is not None and element not in ("i1", *HALVES) and name in VECTOR_FOLDS:
            kind = register_type(element)
            whole = self.emit(f"load <{lanes} x {kind}>, ptr {accumulators[0]}, align 64")
            while half:
                vector = f"<{2 * half} x {kind}>"
                low, high = (
                    self.emit(
                        f"shufflevector {vector} {whole}, {vector} poison, "
                        f"<{half} x i32> <{', '.join(f'i32 {start + k}' for k in range(half))}>"
                    )
                    for start in (0, half)
                )
                whole = self.combine(name, f"<{half} x {kind}>", low, high)
                half //= 2
            return [self.emit(f"extractelement <1 x {kind}> {whole}, i32 0")]

        def step(number: Operand, _: list[Operand]) -> None:
            half = self.emit(f"lshr i32 {lanes // 2}, {number}", number)
            counters, indices = self.counters([[0]], (lanes,))

            def body() -> None:
                upper = self.emit(f"add nuw nsw i32 {counters[0]}, {half}", counters[0], half)
                old = self.load_all(op.operands, accumulators, indices[0])
                other = self.load_all(op.operands, accumulators, self.counter(upper, lanes))
                self.store_all(op.operands, accumulators, self.region(op.regions[0][0], old + other), indices[0])

            self.emit_nest(counters, [("0", half)], {}, body, parallel=True)

        self.loop("0", str(width_of(lanes)), step)
        return self.load_all(op.operands, accumulators, ())

    def combine(self, name: str, kind: str, x: Operand, y: Operand) -> Operand:
        """A simple operation on vectors."""
        if name in FLOAT_EXTREMA:
            return self.extremum(*FLOAT_EXTREMA[name], kind, x, y)
        return self.binary(BINARY[name], kind, x, y) if name in BINARY else self.intrinsic(
            INTEGER_EXTREMA[name], kind, x, y
        )  # fmt: skip

    def whole_blocks(self, op: Operation, row: Indices, lanes: int, blocks: int) -> tuple[Operand, Value] | None:
        """How many blocks of lanes lie whole below the bound of a mask, and the mask's comparison."""
        counter = operand(self.name(), 0)
        bounds = self.find_bounds([counter], (*row, self.counter(counter, lanes * blocks)), op.operands, None)
        if not bounds:
            return None
        limit = self.limit_value(bounds[0].limit, lanes * blocks)
        return self.emit(f"lshr i32 {limit}, {width_of(lanes)}", limit), bounds[0].comparison[0]

    def load_all(self, values: Sequence[Value], places: Sequence[Operand], index: Index) -> list[Operand]:
        elements = [value.type.element for value in values]
        level = len(self.segments) - 2
        return [self.load(e, self.address(e, place, index), level) for e, place in zip(elements, places, strict=True)]

    def store_all(
        self, values: Sequence[Value], places: Sequence[Operand], new: Sequence[Operand], index: Index
    ) -> None:
        for value, place, one in zip(values, places, new, strict=True):
            self.store(value.type.element, one, self.address(value.type.element, place, index))

    @staticmethod
    def single_operation(op: Operation) -> str | None:
        """The operation that a reduction combines with, where it is a single one: ``addf``."""
        body = op.regions[0][0].operations
        simple = len(op.operands) == 1 and len(body) == 2 and set(body[0].operands) == set(op.regions[0][0].arguments)
        return body[0].name.removeprefix("arith.") if simple and body[0].name.startswith("arith.") else None

    def neutral_values(self, op: Operation) -> list[Operand]:
        """The constants that change nothing when combined with an element; the first keeps a zero's sign too."""
        name, element = self.single_operation(op), op.operands[0].type.element
        if name is None:
            return []
        if is_float(element):
            return [float_literal(element, value) for value in NEUTRAL_FLOATS.get(name, ())]
        least = -(1 << bits_of(element) - 1)
        value = {**NEUTRAL_INTEGERS, "maxsi": least, "minsi": -least - 1}.get(name)
        return [] if value is None else [literal(element, str(value))]

    def neutral_value(self, op: Operation) -> Operand | None:
        values = self.neutral_values(op)
        return values[0] if values and op.operands[0].type.element != "i1" else None

    def is_neutral(self, op: Operation, new: list[Operand]) -> bool:
        """Whether combining with a constant element changes nothing, as where a mask does not hold."""
        return len(new) == 1 and new[0] in self.neutral_values(op)

    # -- scans

    def scan(self, op: Operation) -> None:
        """A cumulative combination, one element after the other."""
        axis, shape = op.integer("axis"), op.operands[0].shape
        count, backwards = shape[axis], op.flag("reverse")
        places = [self.new_buffer(value) for value in op.results]
        combine = op.regions[0][0]
        others = shape[:axis] + shape[axis + 1 :]

        def position(step: Operand) -> Index:
            """The index along the axis of a step, which runs backwards for a reversed scan."""
            if step == ZERO:
                return constant_index(count - 1 if backwards else 0, count)
            if backwards:
                step = self.emit(f"sub i32 {count - 1}, {step}", step)
            return self.counter(step, count)

        def along_row(row: Indices) -> None:
            at = (*row, position(ZERO))
            first = [self.at(value, at) for value in op.operands]
            self.store_all(op.results, places, first, flatten(at))

            def step(i: Operand, total: list[Operand]) -> list[Operand]:
                new: list[Operand] = []

                def one() -> None:
                    at = (*row, position(i))
                    new.extend(self.region(combine, total + [self.at(value, at) for value in op.operands]))
                    self.store_all(op.results, places, new, flatten(at))

                self.fresh(one)
                return new

            kinds = [register_type(value.type.element) for value in op.operands]
            self.loop("1", str(count), step, carried=list(zip(kinds, first, strict=True)))

        def layer(here: Index, previous: Index | None) -> None:
            def at(indices: Indices, place: Index = here) -> Indices:
                return (*indices[:axis], place, *indices[axis:])

            def body(indices: Indices) -> None:
                new = [self.at(value, at(indices)) for value in op.operands]
                if previous is not None:
                    old = self.load_all(op.results, places, flatten(at(indices, previous)))
                    new = self.region(combine, old + new)
                self.store_all(op.results, places, new, flatten(at(indices)))

            self.nest(others, body, op.operands, indices_of=at)

        def next_layer(i: Operand, _: list[Operand]) -> None:
            previous = position(self.emit(f"sub i32 {i}, 1", i))
            self.fresh(lambda: layer(position(i), previous))

        if axis == len(shape) - 1:
            self.rows(others, along_row)
        else:
            layer(position(ZERO), None)
            if count > 1:
                self.loop("1", str(count), next_layer)
        self.places.update(zip(op.results, places, strict=True))

    # -- matrix products

    def dot(self, op: Operation) -> None:
        """``a @ b + c``: each element adds up along k in order, by fused multiply-adds, in vectors along n."""
        self.has_products = True
        a, b, c = op.operands
        *batch, rows, columns = op.result.shape
        inner = a.shape[-1]
        element = op.result.type.element
        if element in HALVES:
            raise NotSupported(f"a product accumulated in {element} is not supported on the CPU")
        packed_a, packed_b = self.packed(a, element), self.packed(b, element)
        packed_c = self.accumulates_in.get(op)
        if packed_c is None:
            packed_c = self.new_buffer(op.result)
            self.fill(packed_c, c)

        def product(indices: Indices) -> None:
            number = self.index_value(flatten(indices))
            starts = []
            for place, size in ((packed_a, rows * inner), (packed_b, inner * columns), (packed_c, rows * columns)):
                offset = self.emit(f"mul i32 {number}, {size}", number) if batch else ZERO
                starts.append(self.emit(f"getelementptr {register_type(element)}, ptr {place}, i32 {offset}", offset))
            self.matrix_product(element, rows, columns, inner, *starts)

        self.rows(batch, product)
        self.places[op.result] = packed_c

    def packed(self, value: Value, element: str) -> Operand:
        """The address of a tensor's elements, converted to another type, row by row."""
        own = value.type.element
        if value in self.places and own == element:
            return self.places[value]
        place = self.buffer(SIZES[element] * value.type.size)

        def body(indices: Indices) -> None:
            one = self.at(value, indices)
            if own != element:
                if is_float(own):
                    one = self.widen(own, one)
                    if element == "f64" and own != "f64":
                        one = self.emit(f"fpext float {one} to double", one)
                else:
                    one = self.emit(f"sext {register_type(own)} {one} to {register_type(element)}", one)
            self.store(element, one, self.address(element, place, flatten(indices)))

        self.nest(value.shape, body, [value])
        return place

    def matrix_product(
        self, element: str, rows: int, columns: int, inner: int, a: Operand, b: Operand, c: Operand
    ) -> None:
        """Tiles of ``tall`` rows by ``wide`` vectors stay in registers along k."""
        kind = register_type(element)
        width = min(columns, self.vector_bytes // SIZES[element])
        wide = 2 if columns >= 2 * width else 1
        tall = min(rows, 8 if self.vector_bytes == 64 else 4)
        vector = f"<{width} x {kind}>"
        align = f"align {SIZES[element]}"

        def place(base: Operand, row: str, stride: int, column: str, more: int = 0) -> Operand:
            index = self.emit(f"mul i32 {row}, {stride}", row)
            index = self.emit(f"add i32 {index}, {column}", index, column)
            index = self.emit(f"add i32 {index}, {more}", index) if more else index
            return self.emit(f"getelementptr inbounds {kind}, ptr {base}, i32 {index}", base, index)

        def multiply_add(x: Operand, y: Operand, total: Operand) -> Operand:
            if is_float(element):
                name = f"llvm.fma.v{width}{element}"
                self.declarations[name] = f"declare {vector} @{name}({vector}, {vector}, {vector})"
                return self.emit(f"call {vector} @{name}({vector} {x}, {vector} {y}, {vector} {total})")
            product = self.emit(f"mul {vector} {x}, {y}")
            return self.emit(f"add {vector} {product}, {total}")

        def tile(row: Operand, column: Operand) -> None:
            targets = []
            for r in range(tall):
                this_row = self.emit(f"add i32 {row}, {r}", row)
                targets += [place(c, this_row, columns, column, v * width) for v in range(wide)]
            totals = [self.emit(f"load {vector}, ptr {target}, {align}") for target in targets]

            def step(k: Operand, totals: list[Operand]) -> list[Operand]:
                right = [place(b, k, columns, column, v * width) for v in range(wide)]
                right = [self.emit(f"load {vector}, ptr {address}, {align}") for address in right]
                new = []
                for r in range(tall):
                    address = place(a, self.emit(f"add i32 {row}, {r}", row), inner, k)
                    one = self.emit(f"load {kind}, ptr {address}")
                    one = self.emit(f"insertelement {vector} poison, {kind} {one}, i32 0")
                    left = self.emit(f"shufflevector {vector} {one}, {vector} poison, <{width} x i32> zeroinitializer")
                    new += [multiply_add(left, right[v], totals[r * wide + v]) for v in range(wide)]
                return new

            totals = self.loop("0", str(inner), step, carried=[(vector, total) for total in totals])
            for target, total in zip(targets, totals, strict=True):
                self.effect(f"store {vector} {total}, ptr {target}, {align}")

        def row_of_tiles(row: Operand, _: list[Operand]) -> None:
            self.loop("0", str(columns), lambda column, _: tile(row, column), step=width * wide)

        self.loop("0", str(rows), row_of_tiles, step=tall)

    # -- histograms

    def histogram(self, op: Operation) -> None:
        """Counts of the values of a tensor of integers; those out of range are left out."""
        element, bins = op.result.type.element, op.result.shape[0]
        place = self.new_buffer(op.result)
        self.nest((bins,), lambda i: self.store(element, ZERO, self.address(element, place, i[0])))
        source = op.operands[0]
        kind = register_type(source.type.element)

        def count(indices: Indices) -> None:
            value = self.at(source, indices)
            inside = self.emit(f"icmp ult {kind} {value}, {bins}", value)
            if len(op.operands) > 1:
                inside = self.conjunction(inside, self.at(op.operands[1], indices))
            address = self.emit(f"getelementptr {memory_type(element)}, ptr {place}, {kind} {value}", value)

            def add() -> None:
                old = self.effect(f"load {register_type(element)}, ptr {address}", has_result=True)
                new = self.effect(f"add {register_type(element)} {old}, 1", has_result=True)
                self.effect(f"store {register_type(element)} {new}, ptr {address}")

            self.when(inside, add)

        self.nest(source.shape, count, op.operands, parallel=False)
        self.places[op.result] = place

    # -- atomics

    def atomic(self, op: Operation) -> None:
        """Read, change and write at once, each element in turn; the results are what was there before."""
        value = op.operands[1]
        element = op.result.type.element
        exchange = op.name == "tt.atomic_cas"
        mask = op.operands[2] if not exchange and len(op.operands) > 2 else None
        shape = op.result.type.shape or ()
        place = self.new_buffer(op.result) if op.result.uses else None
        if place is not None and mask is not None:
            zero = literal(element, "0")
            self.nest(shape, lambda indices: self.store(element, zero, self.address(element, place, flatten(indices))))

        def body(indices: Indices) -> None:
            address, *arguments = (self.at(one, indices) for one in op.operands)

            def change() -> None:
                if exchange:
                    old = self.compare_exchange(element, address, arguments[0], arguments[1])
                else:
                    old = self.read_modify_write(op, element, address, arguments[0])
                if place is not None:
                    self.store(element, old, self.address(element, place, flatten(indices)))

            if mask is None or arguments[1] == "true":
                change()
            elif arguments[1] != "false":
                self.when(arguments[1], change)

        self.nest(shape, body, [value], mask, parallel=False)
        if op.result.type.is_tensor:
            if place is not None:
                self.places[op.result] = place
        elif place is not None:
            self.scalars[op.result] = self.load(element, place)

    def compare_exchange(self, element: str, address: Operand, expected: Operand, new: Operand) -> Operand:
        kind = register_type(element)
        if element in ("f32", "f64"):
            integer = f"i{bits_of(element)}"
            expected = self.effect(f"bitcast {kind} {expected} to {integer}", has_result=True)
            new = self.effect(f"bitcast {kind} {new} to {integer}", has_result=True)
        else:
            integer = kind
        pair = self.effect(
            f"cmpxchg ptr {address}, {integer} {expected}, {integer} {new} acq_rel monotonic, align {SIZES[element]}",
            has_result=True,
        )
        old = self.effect(f"extractvalue {{ {integer}, i1 }} {pair}, 0", has_result=True)
        return self.effect(f"bitcast {integer} {old} to {kind}", has_result=True) if integer != kind else old

    def read_modify_write(self, op: Operation, element: str, address: Operand, value: Operand) -> Operand:
        operation = ATOMIC_OPERATIONS[op.integer("atomic_rmw_op")]
        if element in HALVES and operation == "fadd":
            return self.atomic_half_addition(element, address, value)
        return self.effect(
            f"atomicrmw {operation} ptr {address}, {register_type(element)} {value} acq_rel, align {SIZES[element]}",
            has_result=True,
        )

    def atomic_half_addition(self, element: str, address: Operand, value: Operand) -> Operand:
        """No processor adds 16-bit floats atomically: try until nobody has changed the number in between."""
        wide = self.widen(element, value)
        segment = self.here
        level = len(self.segments) - 2
        start = self.effect(f"load atomic i16, ptr {address} monotonic, align 2", has_result=True)
        before, head, after = segment.end, self.label(), self.label()
        segment.add(f"br label %{head}")
        segment.begin(head)
        phi = segment.reserve()
        old = operand(self.name(), level)
        total = self.emit(f"fadd float {self.widen(element, old)}, {wide}", old, wide)
        new = self.narrow(element, total)
        pair = self.effect(f"cmpxchg ptr {address}, i16 {old}, i16 {new} acq_rel monotonic, align 2", has_result=True)
        found = self.effect(f"extractvalue {{ i16, i1 }} {pair}, 0", has_result=True)
        done = self.effect(f"extractvalue {{ i16, i1 }} {pair}, 1", has_result=True)
        segment.fill(phi, [f"{old} = phi i16 [ {start}, %{before} ], [ {found}, %{segment.end} ]"])
        segment.add(f"br i1 {done}, label %{after}, label %{head}")
        segment.begin(after)
        return old

    # -- buffers

    def fill(self, place: Operand, value: Value) -> None:
        """Compute a tensor into a buffer."""
        element = value.type.element

        def body(indices: Indices) -> None:
            one = self.at(value, indices)
            self.store(element, one, self.address(element, place, flatten(indices)))

        self.nest(value.shape, body, [value])

    def materialise(self, value: Value) -> None:
        place = self.new_buffer(value)
        self.fill(place, value)
        self.places[value] = place
