"""Control flow: loops, conditions and early returns around statements.

A scalar that a loop carries is a variable. A tensor that it carries has a home, overwritten at the end of each
iteration; a tensor of pointers or integers that each iteration increases by one amount is its first value and a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ttir.graph import increment_of, reads_in_place
from ..ttir.indices import Indices, Operand, flatten
from ..ttir.reader import Block, Operation, Value
from ..ttir.types import NotSupported
from .collectives import Collectives
from .emission import Accesses, Home, element_kind, kind_of


class ControlFlow(Collectives):
    """Emits loops and branches of a kernel's own."""

    def __init__(self, threads: int, shared: set[Value]) -> None:
        super().__init__(threads, shared)
        self.blocks: dict[str, Block] = {}

    # -- branches

    def condition(self, op: Operation) -> None:
        """``scf.if``: results are variables, or homes that either side fills."""
        tensors = {result: self.home_of(result) for result in op.results if result.type.is_tensor}
        scalars = {result: self.variable(kind_of(result.type)) for result in op.results if not result.type.is_tensor}
        before, after = self.since, Accesses()
        sides = [region[0] if region and region[0].operations else None for region in (*op.regions, [])[:2]]
        for number, side in enumerate(sides):
            if side is None:
                after |= before
                continue
            self.since = before | Accesses()
            with self.braces(f"if ({self.scalars[op.operands[0]]})" if number == 0 else "else"):
                last = self.block(side)
                for result, value in zip(op.results, last.operands if last is not None else (), strict=True):
                    if result in tensors:
                        self.fill(tensors[result], value)
                    else:
                        self.add(f"{scalars[result]} = {self.scalars[value]};")
            after |= self.since
        self.since = after
        self.scalars.update(scalars)
        self.places.update(tensors)

    def jump(self, op: Operation) -> None:
        """``cf.br`` and ``cf.cond_br``, of an early return. The language has no goto: what follows stands in each
        branch."""
        if op.name == "cf.br":
            self.arrive(op.successors[0], op.operands)
            return
        _, first, _ = op.integers("operandSegmentSizes")
        before = self.since
        for head, label, values in (
            (f"if ({self.scalars[op.operands[0]]})", op.successors[0], op.operands[1 : 1 + first]),
            ("else", op.successors[1], op.operands[1 + first :]),
        ):
            self.since = before | Accesses()
            with self.braces(head):
                self.arrive(label, values)

    def arrive(self, label: str, values: Sequence[Value]) -> None:
        if any(value.type.is_tensor for value in values):
            raise NotSupported("a tensor that differs by the path to a statement after an early return")
        block = self.blocks[label]
        for argument, value in zip(block.arguments, values, strict=True):
            self.scalars[argument] = self.scalars[value]
        self.block(block)

    # -- loops

    def for_loop(self, op: Operation) -> None:
        start, stop, step = (self.scalars[value] for value in op.operands[:3])
        element = op.operands[0].type.element
        body = op.regions[0][0]
        counter, *arguments = body.arguments
        last = body.operations[-1]
        inits = op.operands[3:]
        variables: dict[int, Operand] = {}
        increments: dict[int, Value] = {}
        homes: dict[int, Home] = {}
        for k, (argument, init, new) in enumerate(zip(arguments, inits, last.operands, strict=True)):
            result = op.results[k]
            if not argument.type.is_tensor:
                variables[k] = self.variable(kind_of(argument.type), self.scalars[init])
                self.scalars[argument] = self.scalars[result] = variables[k]
            elif (increment := increment_of(argument, init, new, body, self.materialised)) is not None:
                variables[k] = self.variable(self.distance_kind(argument), "0")
                self.inductions[argument] = self.inductions[result] = (init, variables[k])
                increments[k] = increment
            else:
                home = homes[k] = self.home_of(argument, result)
                self.fill(home, init)
                self.places[argument] = self.places[result] = home
                product = new.operation
                if (
                    product is not None and product.name == "tt.dot" and product.operands[2] is argument
                    and len(argument.uses) == 1 and len(new.uses) == 1 and product.block is body
                ):  # fmt: skip
                    self.accumulates_in[product] = home
        name = self.scalars[counter] = self.name("i")
        compared = [str(one) if op.flag("unsignedCmp") else self.signed(element, one) for one in (name, stop)]
        head = f"for ({element_kind(element)} {name} = {start}; {compared[0]} < {compared[1]}; {name} += {step})"
        with self.looping(), self.braces(head):
            self.block(body)
            self.overwrite([(arguments[k], home, last.operands[k]) for k, home in homes.items()])
            news = {
                k: self.further(arguments[k], variable, increments[k]) if k in increments
                else self.emit(kind_of(arguments[k].type), self.scalars[last.operands[k]])
                for k, variable in variables.items()
            }  # fmt: skip
            for k, new_value in news.items():
                self.add(f"{variables[k]} = {new_value};")

    def while_loop(self, op: Operation) -> None:
        before, after = op.regions[0][0], op.regions[1][0]
        homes: dict[Value, Home] = {}
        variables: dict[Value, Operand] = {}
        for argument, init in zip(before.arguments, op.operands, strict=True):
            if argument.type.is_tensor:
                homes[argument] = self.places[argument] = self.home_of(argument)
                self.fill(homes[argument], init)
            else:
                variables[argument] = self.scalars[argument] = self.variable(kind_of(argument.type), self.scalars[init])
        passed: dict[Value, Home] = {}
        for argument, result in zip(after.arguments, op.results, strict=True):
            if argument.type.is_tensor:
                passed[argument] = self.places[argument] = self.places[result] = self.home_of(argument, result)
            else:
                self.scalars[argument] = self.scalars[result] = self.variable(kind_of(argument.type))
        with self.looping() as exits, self.braces("while (true)"):
            condition = self.block(before)
            assert condition is not None
            for value, argument in zip(condition.operands[1:], after.arguments, strict=True):
                if argument.type.is_tensor:
                    self.fill(passed[argument], value)
                else:
                    self.add(f"{self.scalars[argument]} = {self.scalars[value]};")
            self.add(f"if (!{self.scalars[condition.operands[0]]}) break;")
            exits.append(self.since | Accesses())
            last = self.block(after)
            assert last is not None
            new = dict(zip(before.arguments, last.operands, strict=True))
            self.overwrite([(argument, home, new[argument]) for argument, home in homes.items()])
            news = {argument: self.emit(kind_of(argument.type), self.scalars[new[argument]]) for argument in variables}
            for argument, new_value in news.items():
                self.add(f"{variables[argument]} = {new_value};")

    # -- what a loop carries

    def distance_kind(self, argument: Value) -> str:
        return "ulong" if argument.type.element in ("ptr", "i64") else "uint"

    def further(self, argument: Value, distance: Operand, increment: Value) -> Operand:
        """How far an induction is after another step."""
        kind = self.distance_kind(argument)
        value = self.compute(increment, ()) if increment.type.is_tensor else self.scalars[increment]
        return self.emit(kind, f"{distance} + {kind}({self.signed(increment.type.element, value)})")

    def overwrite(self, items: list[tuple[Value, Home, Value]]) -> None:
        """Put new values of carried tensors (argument, its home, new value) over the old ones."""
        items = [item for item in items if self.places.get(item[2]) is not item[1]]
        if not items:
            return
        olds = {argument for argument, _, _ in items}
        shapes = {argument.shape for argument, _, _ in items}
        if len(shapes) == 1 and all(reads_in_place(value, olds, self.places) for _, _, value in items):
            once = all(home.shared for _, home, _ in items)

            def body(indices: Indices) -> None:
                news = [self.at(value, indices) for _, _, value in items]
                for (_, home, _), new in zip(items, news, strict=True):
                    self.put(home, flatten(indices), new)

            self.section(lambda: self.elements(shapes.pop(), body, once=once))
            return
        copies = {}
        for _, _, value in items:
            if value not in self.places or value in olds:
                copies[value] = self.home_of(value)
                self.fill(copies[value], value)
        kept, self.places = self.places, {**self.places, **copies}
        for _, home, value in items:
            self.fill(home, value)
        self.places = kept
