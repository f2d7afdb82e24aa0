"""Control flow: loops, conditions and jumps around statements.

Scalars that a loop carries are phi instructions. A tensor that it carries is a buffer, overwritten at the end of each
iteration; a tensor of pointers or integers that each iteration increases by one amount is its first value and a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ttir.graph import increment_of, reads_in_place
from ..ttir.indices import Indices, Operand, flatten
from ..ttir.reader import Operation, Value
from ..ttir.types import SIZES, NotSupported
from .collectives import Collectives
from .emission import ZERO, operand
from .scalars import register_type


class ControlFlow(Collectives):
    """Emits loops and branches of a kernel's own."""

    def __init__(self, features: str, vector_bytes: int) -> None:
        super().__init__(features, vector_bytes)
        #: The function's blocks: LLVM's label of each, and who jumps there with which values.
        self.labels: dict[str, str] = {}
        self.jumps: dict[str, list[tuple[str, list[Operand]]]] = {}

    # -- branches

    def condition(self, op: Operation) -> None:
        """``scf.if``: results are phi instructions, or buffers that either side fills."""
        tensors = {result: self.new_buffer(result) for result in op.results if result.type.is_tensor}
        scalars = [result for result in op.results if not result.type.is_tensor]
        sides = self.label(), self.label()
        after = self.label()
        segment = self.here
        segment.add(f"br i1 {self.scalars[op.operands[0]]}, label %{sides[0]}, label %{sides[1]}")
        arriving: list[tuple[str, dict[Value, Operand]]] = []
        for label, region in zip(sides, [*op.regions, []], strict=False):
            segment.begin(label)
            values = {}
            last = self.block(region[0]) if region else None
            if last is not None:
                for result, value in zip(op.results, last.operands, strict=True):
                    if result in tensors:
                        self.fill(tensors[result], value)
                    else:
                        values[result] = self.scalars[value]
            arriving.append((segment.end, values))
            segment.add(f"br label %{after}")
        segment.begin(after)
        for result in scalars:
            kind = register_type(result.type.element)
            sources = ", ".join(f"[ {values[result]}, %{label} ]" for label, values in arriving)
            self.scalars[result] = self.emit(f"phi {kind} {sources}")
        self.places.update(tensors)

    def jump(self, op: Operation) -> None:
        """``cf.br`` and ``cf.cond_br``, of an early return."""
        segment = self.here
        if op.name == "cf.br":
            self.arrive(op.successors[0], op.operands)
            segment.add(f"br label %{self.labels[op.successors[0]]}")
            return
        _, first, _ = op.integers("operandSegmentSizes")
        self.arrive(op.successors[0], op.operands[1 : 1 + first])
        self.arrive(op.successors[1], op.operands[1 + first :])
        yes, no = (self.labels[label] for label in op.successors)
        segment.add(f"br i1 {self.scalars[op.operands[0]]}, label %{yes}, label %{no}")

    def arrive(self, label: str, values: Sequence[Value]) -> None:
        if any(value.type.is_tensor for value in values):
            raise NotSupported("a tensor that differs by the path to a statement after an early return")
        self.jumps.setdefault(label, []).append((self.here.end, [self.scalars[value] for value in values]))

    # -- loops

    def for_loop(self, op: Operation) -> None:
        start, stop, step = (self.scalars[value] for value in op.operands[:3])
        kind = register_type(op.operands[0].type.element)
        body = op.regions[0][0]
        counter, *arguments = body.arguments
        last = body.operations[-1]
        inits = op.operands[3:]
        phis: list[tuple[Operand, str, Operand]] = []  # carried scalars: name, type, first value
        scalars: list[int] = []
        inductions: dict[int, Value] = {}
        buffers: dict[int, Operand] = {}
        for k, (argument, init, new) in enumerate(zip(arguments, inits, last.operands, strict=True)):
            if not argument.type.is_tensor:
                name = operand(self.name())
                phis.append((name, register_type(argument.type.element), self.scalars[init]))
                self.scalars[argument] = name
                scalars.append(k)
            elif (increment := increment_of(argument, init, new, body, self.materialised)) is not None:
                distance = operand(self.name())
                self.inductions[argument] = self.inductions[op.results[k]] = (init, distance)
                phis.append((distance, self.distance_type(argument), ZERO))
                inductions[k] = increment
            else:
                place = self.new_buffer(argument)
                self.fill(place, init)
                buffers[k] = self.places[argument] = self.places[op.results[k]] = place
                product = new.operation
                if (
                    product is not None and product.name == "tt.dot" and product.operands[2] is argument
                    and len(argument.uses) == 1 and len(new.uses) == 1 and product.block is body
                ):  # fmt: skip
                    self.accumulates_in[product] = place
        segment = self.here
        head, inside, after, before = self.label(), self.label(), self.label(), segment.end
        segment.add(f"br label %{head}")
        segment.begin(head)
        phi_lines = segment.reserve()
        name = self.scalars[counter] = operand(self.name())
        predicate = "ult" if op.flag("unsignedCmp") else "slt"
        more = self.emit(f"icmp {predicate} {kind} {name}, {stop}")
        segment.add(f"br i1 {more}, label %{inside}, label %{after}")
        segment.begin(inside)
        self.block(body)
        news: dict[int, Operand] = {k: self.scalars[last.operands[k]] for k in scalars}
        for k, increment in inductions.items():
            news[k] = self.further(arguments[k], self.inductions[arguments[k]][1], increment)
        self.overwrite([(arguments[k], place_k, last.operands[k]) for k, place_k in buffers.items()])
        following = self.emit(f"add {kind} {name}, {step}")
        segment.add(f"br label %{head}, !llvm.loop {self.loop_metadata(None, False)}")
        lines = [f"{name} = phi {kind} [ {start}, %{before} ], [ {following}, %{segment.end} ]"]
        order = sorted([*scalars, *inductions])
        for (phi, phi_kind, first), k in zip(phis, order, strict=True):
            lines.append(f"{phi} = phi {phi_kind} [ {first}, %{before} ], [ {news[k]}, %{segment.end} ]")
        segment.fill(phi_lines, lines)
        segment.begin(after)
        for (phi, _, _), k in zip(phis, order, strict=True):
            if k not in inductions:
                self.scalars[op.results[k]] = phi

    def while_loop(self, op: Operation) -> None:
        before_block, after_block = op.regions[0][0], op.regions[1][0]
        buffers = {}
        for argument, init in zip(before_block.arguments, op.operands, strict=True):
            if argument.type.is_tensor:
                place = buffers[argument] = self.new_buffer(argument)
                self.fill(place, init)
                self.places[argument] = place
        segment = self.here
        head, inside, after, before = self.label(), self.label(), self.label(), segment.end
        segment.add(f"br label %{head}")
        segment.begin(head)
        phis = segment.reserve()
        carried = [argument for argument in before_block.arguments if not argument.type.is_tensor]
        for argument in carried:
            self.scalars[argument] = operand(self.name())
        condition = self.block(before_block)
        assert condition is not None
        for value, argument, result in zip(condition.operands[1:], after_block.arguments, op.results, strict=True):
            if argument.type.is_tensor:
                place = self.new_buffer(argument)
                self.fill(place, value)
                self.places[argument] = self.places[result] = place
            else:
                self.scalars[argument] = self.scalars[result] = self.scalars[value]
        segment.add(f"br i1 {self.scalars[condition.operands[0]]}, label %{inside}, label %{after}")
        segment.begin(inside)
        last = self.block(after_block)
        assert last is not None
        new = dict(zip(before_block.arguments, last.operands, strict=True))
        first = dict(zip(before_block.arguments, op.operands, strict=True))
        self.overwrite([(argument, place, new[argument]) for argument, place in buffers.items()])
        segment.add(f"br label %{head}, !llvm.loop {self.loop_metadata(None, False)}")
        segment.fill(
            phis,
            [
                f"{self.scalars[a]} = phi {register_type(a.type.element)} [ {self.scalars[first[a]]}, %{before} ], "
                f"[ {self.scalars[new[a]]}, %{segment.end} ]"
                for a in carried
            ],
        )
        segment.begin(after)

    # -- what a loop carries

    def distance_type(self, argument: Value) -> str:
        return "i64" if argument.type.element == "ptr" else register_type(argument.type.element)

    def further(self, argument: Value, distance: Operand, increment: Value) -> Operand:
        """How far an induction is after another step."""
        kind, own = self.distance_type(argument), register_type(increment.type.element)
        value = self.compute(increment, ()) if increment.type.is_tensor else self.scalars[increment]
        if own != kind:
            value = self.emit(f"sext {own} {value} to {kind}", value)
        return self.emit(f"add {kind} {distance}, {value}", distance, value)

    def overwrite(self, items: list[tuple[Value, Operand, Value]]) -> None:
        """Put new values of carried tensors (argument, its buffer, new value) over the old ones."""
        items = [item for item in items if self.places.get(item[2]) != item[1]]
        if not items:
            return
        olds = {argument for argument, _, _ in items}
        shapes = {argument.shape for argument, _, _ in items}
        if len(shapes) == 1 and all(reads_in_place(value, olds, self.places) for _, _, value in items):

            def body(indices: Indices) -> None:
                news = [self.at(value, indices) for _, _, value in items]
                for (argument, place, _), new in zip(items, news, strict=True):
                    element = argument.type.element
                    self.store(element, new, self.address(element, place, flatten(indices)))

            self.nest(shapes.pop(), body, [value for _, _, value in items])
            return
        copies = []
        for _, place, value in items:
            if value in self.places and value not in olds:
                source = self.places[value]
            else:
                source = self.new_buffer(value)
                self.fill(source, value)
            copies.append((place, source, value.type.size * SIZES[value.type.element]))
        for place, source, nbytes in copies:
            self.copy(place, source, nbytes)
