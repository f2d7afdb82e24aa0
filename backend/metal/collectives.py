"""Operations that combine elements of several threads: reductions, scans, matrix products, histograms, atomics.

Reductions and scans combine in an order that depends on the shape and on the number of threads alone, so results
repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..ttir.indices import Field, Index, Indices, Operand, cut, flatten, join, unflatten, width_of
from ..ttir.reader import Block, Operation, Value
from ..ttir.types import ATOMIC_OPERATIONS, HALVES, NotSupported, is_float
from .elements import Elements
from .emission import TID, Home, element_kind
from .scalars import literal

#: Bits that count the threads of a simdgroup.
LANE_BITS = 5
ZERO = Operand("0u")
RELAXED = "metal::memory_order_relaxed"
#: Triton's number of the order (``sem="relaxed"``) that asks for nothing more.
RELAXED_ORDER = 1
ALL_MEMORY = "metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup"


class Collectives(Elements):
    """Emits reductions and their kin."""

    def __init__(self, threads: int, shared: set[Value]) -> None:
        super().__init__(threads, shared)
        #: Products that add to a home which already holds their third operand.
        self.accumulates_in: dict[Operation, Home] = {}

    def combine_into(self, block: Block, totals: Sequence[Operand], new: Sequence[Operand]) -> None:
        for total, value in zip(totals, self.region(block, [*totals, *new]), strict=True):
            self.add(f"{total} = {value};")

    # -- reductions

    def reduce(self, op: Operation) -> None:
        """Each thread combines its own elements of a result, then the lanes of a simdgroup what they have, and what
        the simdgroups have goes through memory."""
        axis, shape = op.integer("axis"), op.operands[0].shape
        combine = op.regions[0][0]
        bits, width = width_of(prod(shape)), width_of(shape[axis])
        low = width_of(prod(shape[axis + 1 :]))
        own = min(bits, self.thread_bits)
        lanes = [bit for bit in range(low, low + width) if bit < min(own, LANE_BITS)]
        groups = [bit for bit in range(low, low + width) if LANE_BITS <= bit < own]
        serial = max(low + width - max(low, own), 0)
        before, after = max(low - own, 0), bits - max(low + width, own)
        scalar = not op.result.type.is_tensor
        elements = [value.type.element for value in op.operands]
        partials = [] if scalar and not groups else [
            self.buffer(element, bits - width + len(groups)) for element in elements
        ]  # fmt: skip
        #: Bits of the thread's number that are 0 in those threads that hand on a result.
        idle = sum(1 << bit for bit in lanes) + self.threads - (1 << own)

        def indices_of(other: Index, place: Index) -> Indices:
            parts = [((Field(TID, 0, own),) if own else ()), cut(other, 0, before), place, cut(other, before, after)]
            return unflatten(join(parts), shape)

        def partial(other: Index) -> None:
            if serial:
                totals = [self.variable(element_kind(element)) for element in elements]

                def step(place: Index) -> None:
                    new = [self.at(value, indices_of(other, place)) for value in op.operands]
                    with self.braces(f"if ({self.index_value(place)} == 0)"):
                        for total, value in zip(totals, new, strict=True):
                            self.add(f"{total} = {value};")
                    with self.braces("else"):
                        self.combine_into(combine, totals, new)

                self.count_up(serial, step)
            else:
                totals = [self.at(value, indices_of(other, ())) for value in op.operands]
            for bit in lanes:
                totals = self.combine_lanes(combine, elements, totals, bit)
            if not partials:
                self.scalars.update(zip(op.results, totals, strict=True))
                return
            rest = indices_of(other, (Field(ZERO, 0, serial),) if serial else ())
            place = join([flatten((*rest[:axis], *rest[axis + 1 :])), tuple(Field(TID, bit, 1) for bit in groups)])
            with self.braces(f"if (({TID} & {idle}u) == 0)" if idle else ""):
                self.fresh(lambda: self.put_all(partials, place, totals))

        self.section(lambda: self.count_up(before + after, partial))
        if partials:
            self.finish(op, partials, len(groups))

    def combine_lanes(self, combine: Block, elements: list[str], mine: list[Operand], bit: int) -> list[Operand]:
        """Combine with the lane whose number differs in a bit, the lower lane's value first: all get the same."""
        function = self.helper("exchange")
        other = [
            self.emit(element_kind(element), f"{function}({one}, ushort({1 << bit}))")
            for element, one in zip(elements, mine, strict=True)
        ]
        upper = self.emit("bool", f"({TID} & {1 << bit}u) != 0")
        pairs = list(zip(elements, mine, other, strict=True))
        first = [self.emit(element_kind(element), f"{upper} ? {theirs} : {ours}") for element, ours, theirs in pairs]
        second = [self.emit(element_kind(element), f"{upper} ? {ours} : {theirs}") for element, ours, theirs in pairs]
        return self.region(combine, first + second)

    def finish(self, op: Operation, partials: list[Home], group_bits: int) -> None:
        """Results from those of simdgroups."""
        combine = op.regions[0][0]
        if not group_bits:
            for value, home in zip(op.results, partials, strict=True):
                home.values.add(value)
                self.places[value] = home
            return

        def total(flat: Index) -> list[Operand]:
            def part(number: Index) -> list[Operand]:
                place = join([flat, number])
                return [self.get(home, value, place) for home, value in zip(partials, scalars_of, strict=True)]

            zero = (Field(ZERO, 0, group_bits),)
            totals = [
                self.variable(element_kind(value.type.element), first)
                for value, first in zip(op.results, part(zero), strict=True)
            ]
            name = self.name("i")
            with self.braces(f"for (uint {name} = 1; {name} < {1 << group_bits}u; ++{name})"):
                self.fresh(lambda: self.combine_into(combine, totals, part(self.counter(name, group_bits))))
            return totals

        scalars_of = combine.arguments[: len(op.results)]
        if not op.result.type.is_tensor:
            self.section(lambda: self.scalars.update(zip(op.results, total(()), strict=True)))
            return
        homes = [self.home_of(value) for value in op.results]

        def body(indices: Indices) -> None:
            flat = flatten(indices)
            self.put_all(homes, flat, total(flat))

        once = all(home.shared for home in homes)
        self.section(lambda: self.elements(op.result.shape, body, once=once))
        self.places.update(zip(op.results, homes, strict=True))

    # -- scans

    def scan(self, op: Operation) -> None:
        """Along each row, threads combine a stretch each, then put before it what the stretches before it have."""
        axis, shape = op.integer("axis"), op.operands[0].shape
        combine = op.regions[0][0]
        width, rows = width_of(shape[axis]), width_of(prod(shape)) - width_of(shape[axis])
        others = shape[:axis] + shape[axis + 1 :]
        backwards = op.flag("reverse")
        elements = [value.type.element for value in op.results]
        homes = [self.buffer(element, rows + width) for element in elements]
        for home, value in zip(homes, op.results, strict=True):
            home.values.add(value)
        spread = min(width, max(self.thread_bits - rows, 0))  # bits that count the stretches of a row
        stretch = width - spread
        own = min(rows, self.thread_bits)

        def copy(indices: Indices) -> None:
            new = [self.at(value, indices) for value in op.operands]
            self.put_all(homes, flatten(indices), new)

        self.section(lambda: self.elements(shape, copy, once=True))

        def at(row: Index, place: Index) -> Index:
            if backwards:
                last = (1 << width) - 1
                place = self.counter(self.emit("uint", f"{last}u - {self.index_value(place)}"), width)
            indices = unflatten(row, others)
            return flatten((*indices[:axis], place, *indices[axis:]))

        part: Index = (Field(TID, own, spread),) if spread else ()

        def each_row(body: Callable[[Index], None]) -> None:
            def run(slot: Index) -> None:
                body(join([(Field(TID, 0, own),) if own else (), slot]))

            if own + spread < self.thread_bits:
                with self.braces(f"if ({TID} < {1 << own + spread}u)"):
                    self.fresh(lambda: run(()))
            else:
                self.count_up(rows - own, run)

        scalars_of = combine.arguments[: len(op.results)]

        def load(place: Index) -> list[Operand]:
            return [self.get(home, value, place) for home, value in zip(homes, scalars_of, strict=True)]

        totals_of = [self.buffer(element, rows + spread) for element in elements] if spread else []

        def stretches(row: Index) -> None:
            first = load(at(row, join([(Field(ZERO, 0, stretch),) if stretch else (), part])))
            totals = [self.variable(element_kind(element), one) for element, one in zip(elements, first, strict=True)]
            if stretch:
                name = self.name("i")
                with self.braces(f"for (uint {name} = 1; {name} < {1 << stretch}u; ++{name})"):

                    def step() -> None:
                        place = at(row, join([self.counter(name, stretch), part]))
                        self.combine_into(combine, totals, load(place))
                        self.put_all(homes, place, totals)

                    self.fresh(step)
            if spread:
                self.put_all(totals_of, join([row, part]), totals)

        self.section(lambda: each_row(stretches))

        def sums_before(row: Index) -> None:
            number = self.index_value(part)
            with self.braces(f"if ({number} != 0)"):

                def before(place: Index) -> list[Operand]:
                    where = join([row, place])
                    return [self.get(home, value, where) for home, value in zip(totals_of, scalars_of, strict=True)]

                def run() -> None:
                    first = before((Field(ZERO, 0, spread),))
                    totals = [
                        self.variable(element_kind(element), one) for element, one in zip(elements, first, strict=True)
                    ]
                    name = self.name("i")
                    with self.braces(f"for (uint {name} = 1; {name} < {number}; ++{name})"):
                        self.fresh(lambda: self.combine_into(combine, totals, before(self.counter(name, spread))))

                    def add(inside: Index) -> None:
                        place = at(row, join([inside, part]))
                        new = self.region(combine, [*totals, *load(place)])
                        self.put_all(homes, place, new)

                    self.count_up(stretch, add)

                self.fresh(run)

        if spread:
            self.section(lambda: each_row(sums_before))
        self.places.update(zip(op.results, homes, strict=True))

    # -- matrix products

    def dot(self, op: Operation) -> None:
        """``a @ b + c``: each thread adds up its own elements along k in order, by fused multiply-adds."""
        a, b, c = op.operands
        *batch, rows, columns = op.result.shape
        inner = a.shape[-1]
        element = op.result.type.element
        if element in HALVES:
            raise NotSupported(f"a product accumulated in {element} is not supported on Metal")
        left = self.in_memory(a)
        right = left if b is a else self.in_memory(b)
        home = self.accumulates_in.get(op)
        if home is None:
            home = self.home_of(op.result)
            self.fill(home, c)
        name = self.name("i")

        def one(indices: Indices) -> None:
            along = self.counter(name, width_of(inner))
            *stack, row, column = indices
            x = self.operand(left, a, flatten((*stack, row, along)), element)
            y = self.operand(right, b, flatten((*stack, along, column)), element)
            place = self.place_in(home, flatten(indices), True)
            self.add(f"{place} = metal::fma({x}, {y}, {place});" if is_float(element) else f"{place} += {x} * {y};")

        def product() -> None:
            with self.braces(f"for (uint {name} = 0; {name} < {inner}u; ++{name})"):
                self.fresh(lambda: self.elements((*batch, rows, columns), one, once=home.shared))

        self.section(product)
        self.places[op.result] = home

    def in_memory(self, value: Value) -> Home:
        """A tensor's elements where every thread finds them."""
        place = self.places.get(value)
        if place is not None and place.shared:
            return place
        home = self.buffer(value.type.element, width_of(value.type.size))
        self.fill(home, value)
        return home

    def operand(self, home: Home, value: Value, flat: Index, element: str) -> Operand:
        """A factor, in the product's type."""
        own = value.type.element
        factor = self.emit(element_kind(own), self.place_in(home, flat, False))
        if own == element:
            return factor
        kind = element_kind(element)
        return self.emit(kind, f"{kind}({factor if is_float(own) else self.signed(own, factor)})")

    # -- histograms

    def histogram(self, op: Operation) -> None:
        """Counts of the values of a tensor of integers; those out of range are left out."""
        source, bins = op.operands[0], op.result.shape[0]
        if op.result.type.element != "i32":
            raise NotSupported(f"a histogram of {op.result.type.element} is not supported on Metal")
        home = self.buffer("i32", width_of(bins))
        home.values.add(op.result)
        self.section(lambda: self.elements((bins,), lambda at: self.put(home, at[0], "0u"), once=True))

        def count(indices: Indices) -> None:
            value = self.at(source, indices)
            holds = f" && {self.at(op.operands[1], indices)}" if len(op.operands) > 1 else ""
            self.touch(home, True)
            with self.braces(f"if ({value} < {bins}u{holds})"):
                place = f"(threadgroup metal::atomic_uint*)({home.name} + {value})"
                self.add(f"metal::atomic_fetch_add_explicit({place}, 1u, {RELAXED});")

        self.section(lambda: self.elements(source.shape, count, once=True))
        self.places[op.result] = home

    # -- atomics

    def atomic(self, op: Operation) -> None:
        """Read, change and write at once; the results are what was there before.

        The language's atomics order nothing but themselves. Where more is wanted a barrier orders a threadgroup's own
        accesses around them.
        """
        element = op.result.type.element
        operation = "cas" if op.name == "tt.atomic_cas" else ATOMIC_OPERATIONS[op.integer("atomic_rmw_op")]
        mask = op.operands[2] if operation != "cas" and len(op.operands) > 2 else None
        tensor = op.result.type.is_tensor
        shape = op.result.type.shape or ()
        home = None
        if op.result.uses:
            few = width_of(prod(shape)) < self.thread_bits
            home = self.buffer(element, width_of(prod(shape))) if few else self.home_of(op.result)
            home.values.add(op.result)
        ordered = op.integer("sem") != RELAXED_ORDER
        if ordered:
            self.barrier(ALL_MEMORY)

        def body(indices: Indices) -> None:
            address, *arguments = (self.at(one, indices) for one in op.operands)

            def change() -> None:
                if (element, operation, home) == ("i64", "add", None):
                    self.add(f"{self.helper('add_long')}((device metal::atomic_uint*){address}, {arguments[0]});")
                    return
                old = self.changed(operation, element, address, arguments)
                if home is not None:
                    self.put(home, flatten(indices), old)

            if mask is None:
                change()
                return
            if home is not None:
                self.put(home, flatten(indices), literal(element, "0"))
            self.when(arguments[1], change)

        self.section(lambda: self.elements(shape, body, once=True))
        if ordered:
            self.barrier(ALL_MEMORY)
        if home is not None and tensor:
            self.places[op.result] = home
        elif home is not None:
            self.section(lambda: self.scalars.update({op.result: self.get(home, op.result, ())}))

    def changed(self, operation: str, element: str, address: str, arguments: list[Operand]) -> Operand:
        """Change an element in memory; what it was."""
        if element == "f32":
            kind = "float"
        elif element == "i32":
            kind = "uint"
        else:
            raise NotSupported(f"an atomic {operation} of {element} is not supported on Metal")
        if operation == "cas":
            wanted, value = arguments
            if element == "f32":
                wanted, value = (Operand(f"as_type<uint>({one})") for one in (wanted, value))
            found = f"{self.helper('compare_exchange')}((device metal::atomic_uint*){address}, {wanted}, {value})"
            return self.emit(kind, f"as_type<float>({found})" if element == "f32" else found)
        function = {"xchg": "exchange", "fadd": "fetch_add", "umax": "fetch_max", "umin": "fetch_min"}.get(
            operation, f"fetch_{operation}"
        )
        if element == "f32" and operation not in ("fadd", "xchg"):
            raise NotSupported(f"an atomic {operation} of float32 is not supported on Metal")
        argument = arguments[0]
        if operation in ("max", "min"):
            place, argument = f"(device metal::atomic_int*){address}", Operand(f"int({argument})")
        else:
            place = f"(device metal::atomic_{kind}*){address}"
        return self.emit(kind, f"{kind}(metal::atomic_{function}_explicit({place}, {argument}, {RELAXED}))")
