"""The way through a kernel: what becomes of each operation, whatever language it becomes.

Statements go one after the other. A tensor's element is computed where it is used, from its operands' elements, down to
what is in memory; a scalar is computed once. What a backend writes for each of them is its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from .graph import is_lazy
from .indices import Field, Index, Indices, Operand, cut, operand_indices, width_of
from .reader import Block, Operation, Value
from .types import NotSupported

#: Statements without an effect.
IGNORED = frozenset(("tt.assert", "tt.print", "llvm.intr.assume"))


class Walk(ABC):
    """Goes through a kernel; the classes of a backend build on it."""

    title: str  # the backend's name in messages

    def __init__(self) -> None:
        self.scalars: dict[Value, Operand] = {}
        #: Tensors that have an entry in `places`, once computed.
        self.materialised: set[Value] = set()
        #: Where tensors lie that have been computed.
        self.places: Mapping[Value, object] = {}
        #: Pointers that a loop increases: their first value, and how far they have come.
        self.inductions: dict[Value, tuple[Value, Operand]] = {}
        #: Values of elements, and of indices, in the block of code being written.
        self.known: dict[object, Operand] = {}

    # -- statements

    def block(self, block: Block) -> Operation | None:
        """The statements of a block; its last operation, where that is a yield."""
        for op in block.operations:
            if op.name in ("scf.yield", "scf.condition"):
                return op
            self.statement(op)
        return None

    def statement(self, op: Operation) -> None:
        """Emit one operation."""
        if is_lazy(op):
            if not op.results[0].type.is_tensor:
                self.section(lambda: self.scalar_operation(op))
            for result in op.results:
                if result in self.materialised:
                    self.materialise(result)
            return
        match op.name:
            case "tt.get_program_id":
                self.scalars[op.result] = self.program_id("xyz"[op.integer("axis")])
            case "tt.get_num_programs":
                self.scalars[op.result] = self.programs("xyz"[op.integer("axis")])
            case "tt.unsplat":
                source = op.operands[0]
                self.section(lambda: self.scalars.update({op.result: self.at(source, tuple(() for _ in source.shape))}))
            case "tt.store":
                self.store_statement(op)
            case "tt.reduce":
                self.reduce(op)
            case "tt.scan":
                self.scan(op)
            case "tt.dot":
                self.dot(op)
            case "tt.histogram":
                self.histogram(op)
            case "tt.atomic_rmw" | "tt.atomic_cas":
                self.atomic(op)
            case "scf.for":
                self.for_loop(op)
            case "scf.while":
                self.while_loop(op)
            case "scf.if":
                self.condition(op)
            case "cf.br" | "cf.cond_br":
                self.jump(op)
            case "tt.return":
                self.leave()
            case "ttg.barrier" | "gpu.barrier":
                self.wait_for_all()
            case name if name in IGNORED:
                pass
            case "tt.call":
                raise NotSupported(f"a call of a function marked noinline is not supported on {self.title}")
            case name:
                raise NotSupported(f"{name} is not supported on {self.title}")

    def region(self, block: Block, arguments: Sequence[Operand]) -> list[Operand]:
        """The combining function of a reduction or scan, on scalars."""
        for parameter, argument in zip(block.arguments, arguments, strict=True):
            self.scalars[parameter] = argument
        for op in block.operations:
            if op.name.endswith(".return"):
                return [self.scalars[value] for value in op.operands]
            self.scalar_operation(op)
        raise AssertionError("a region without a return")

    def scalar_operation(self, op: Operation) -> None:
        """Run a pointwise operation on scalars."""
        if op.name == "arith.constant":
            text = op.attributes["value"]
            self.scalars[op.result] = self.literal(op.result.type.element, text.rpartition(" : ")[0] or text)
            return
        arguments = [self.scalar(value) for value in op.operands]
        self.scalars[op.result] = (
            self.load_element(op, arguments) if op.name == "tt.load" else self.apply(op, arguments)
        )

    # -- values

    def scalar(self, value: Value) -> Operand:
        """The value of a scalar, or of a tensor without dimensions."""
        return self.at(value, ()) if value.type.is_tensor else self.scalars[value]

    def at(self, value: Value, indices: Indices) -> Operand:
        """The element of a tensor at some indices, computed here unless it is known; for a scalar its value."""
        if not value.type.is_tensor:
            return self.scalars[value]
        key = (value, indices)
        result = self.known.get(key)
        if result is None:
            result = self.known[key] = self.compute(value, indices)
        return result

    def compute(self, value: Value, indices: Indices) -> Operand:
        if value in self.places:
            return self.read(value, indices)
        if value in self.inductions:
            base, distance = self.inductions[value]
            return self.advance(value, self.at(base, indices), distance)
        op = value.operation
        assert op is not None, value
        operands = op.operands
        match op.name:
            case "arith.constant":
                found = re.match(r"dense<([^\[\]]*)> : ", op.attributes["value"])
                assert found, op.attributes["value"]
                return self.literal(value.type.element, found[1])
            case "tt.splat":
                return self.scalars[operands[0]]
            case "tt.make_range":
                return self.shifted(self.index_value(indices[0]), op.integer("start"))
            case "tt.join":
                return self.either(value, indices[-1], indices[:-1])
            case "tt.cat":
                half = width_of(value.shape[0]) - 1
                return self.either(value, cut(indices[0], half, 1), (cut(indices[0], 0, half), *indices[1:]))
            case "tt.gather":
                axis = op.integer("axis")
                chosen = self.as_index(operands[1].type.element, self.at(operands[1], indices))
                row = (Field(chosen, 0, width_of(operands[0].shape[axis])),)
                return self.at(operands[0], (*indices[:axis], row, *indices[axis + 1 :]))
        moved = operand_indices(value, indices)
        if moved is not None:
            return self.at(operands[0], moved)
        return self.pointwise(op, [self.at(one, indices) for one in operands])

    def pointwise(self, op: Operation, arguments: list[Operand]) -> Operand:
        return self.load_element(op, arguments) if op.name == "tt.load" else self.apply(op, arguments)

    def either(self, value: Value, side: Index, rest: Indices) -> Operand:
        """An element of the first or of the second operand, as an index of one bit says."""
        assert value.operation is not None
        operands = value.operation.operands
        which = self.index_value(side)
        known = self.literal_value(which)
        if known is not None:
            return self.at(operands[known], rest)
        first = self.is_zero(which)
        left, right = (self.at(one, rest) for one in operands)
        return self.choose(value, first, left, right)

    # -- what a backend writes

    @abstractmethod
    def section(self, body: Callable[[], None]) -> None:
        """Write what a statement is."""

    @abstractmethod
    def materialise(self, value: Value) -> None:
        """Compute a tensor into memory."""

    @abstractmethod
    def program_id(self, axis: str) -> Operand: ...
    @abstractmethod
    def programs(self, axis: str) -> Operand: ...
    @abstractmethod
    def store_statement(self, op: Operation) -> None: ...
    @abstractmethod
    def reduce(self, op: Operation) -> None: ...
    @abstractmethod
    def scan(self, op: Operation) -> None: ...
    @abstractmethod
    def dot(self, op: Operation) -> None: ...
    @abstractmethod
    def histogram(self, op: Operation) -> None: ...
    @abstractmethod
    def atomic(self, op: Operation) -> None: ...
    @abstractmethod
    def for_loop(self, op: Operation) -> None: ...
    @abstractmethod
    def while_loop(self, op: Operation) -> None: ...
    @abstractmethod
    def condition(self, op: Operation) -> None: ...
    @abstractmethod
    def jump(self, op: Operation) -> None: ...
    @abstractmethod
    def leave(self) -> None: ...
    @abstractmethod
    def wait_for_all(self) -> None: ...

    @abstractmethod
    def apply(self, op: Operation, arguments: list[Operand]) -> Operand:
        """A pointwise operation on one element."""

    @abstractmethod
    def load_element(self, op: Operation, arguments: list[Operand]) -> Operand:
        """``tt.load``: address, and perhaps a mask and what to take where it does not hold."""

    @abstractmethod
    def read(self, value: Value, indices: Indices) -> Operand:
        """An element of a tensor that has been computed."""

    @abstractmethod
    def advance(self, value: Value, start: Operand, distance: Operand) -> Operand:
        """An induction's value: a pointer or an integer some distance on."""

    @abstractmethod
    def literal(self, element: str, text: str) -> Operand:
        """A constant as MLIR prints it."""

    @abstractmethod
    def literal_value(self, text: Operand) -> int | None:
        """The number that an operand is, if it is one."""

    @abstractmethod
    def index_value(self, index: Index) -> Operand: ...
    @abstractmethod
    def shifted(self, place: Operand, start: int) -> Operand: ...
    @abstractmethod
    def as_index(self, element: str, value: Operand) -> Operand: ...
    @abstractmethod
    def is_zero(self, place: Operand) -> Operand: ...
    @abstractmethod
    def choose(self, value: Value, condition: Operand, yes: Operand, no: Operand) -> Operand: ...
