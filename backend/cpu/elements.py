"""Elements of tensors: the value of each as code."""

from __future__ import annotations

from collections.abc import Callable

from ..ttir.indices import Field, Index, Indices, Operand, flatten, width_of
from ..ttir.reader import Operation, Value
from ..ttir.walk import Walk
from .emission import FALSE, TRUE, ZERO, level_of, operand
from .scalars import Scalars, is_literal, literal, memory_type, register_type


class Elements(Scalars, Walk):
    """Emits the elements of tensors and the values of scalars."""

    title = "the CPU"

    def __init__(self, features: str) -> None:
        Scalars.__init__(self, features)
        Walk.__init__(self)
        #: Where materialised tensors lie, row by row.
        self.places: dict[Value, Operand] = {}
        #: Masks known to hold or not in this part of the nest being built.
        self.decided: dict[tuple[Value, Indices], Operand] = {}
        #: How many bits of an operand an index can have.
        self.widths: dict[Operand, int] = {}

    # -- places

    def counter(self, counter: Operand, size: int) -> Index:
        """The index that a loop's counter is."""
        if size == 1:
            return ()
        self.widths[counter] = width_of(size)
        return (Field(counter, 0, width_of(size)),)

    def is_whole(self, field: Field) -> bool:
        return field.shift == 0 and self.widths.get(field.operand) == field.bits

    def field_value(self, field: Field) -> Operand:
        value = field.operand
        if is_literal(value):
            return Operand(str(int(value) >> field.shift & (1 << field.bits) - 1))
        if field.shift:
            value = self.emit(f"lshr i32 {value}, {field.shift}", value)
        if field.shift + field.bits < self.widths.get(field.operand, 32):
            value = self.emit(f"and i32 {value}, {(1 << field.bits) - 1}", value)
        return value

    def index_value(self, index: Index) -> Operand:
        """An index as an i32."""
        known = self.known.get(index)
        if known is not None:
            return known
        total, place = ZERO, 0
        for field in index:
            part = self.field_value(field)
            if part != "0":
                if is_literal(part):
                    part = Operand(str(int(part) << place))
                elif place:
                    part = self.emit(f"mul nuw nsw i32 {part}, {1 << place}", part)
                total = part if total == "0" else self.emit(f"add nuw nsw i32 {total}, {part}", total, part)
            place += field.bits
        self.known[index] = total
        return total

    def address(self, element: str, base: Operand, index: Index) -> Operand:
        """Where an element of a buffer is."""
        place = self.index_value(index)
        return self.emit(f"getelementptr inbounds {memory_type(element)}, ptr {base}, i32 {place}", base, place)

    def load(self, element: str, address: str, level: int = -1) -> Operand:
        kind = memory_type(element)
        self.vectorise &= not getattr(address, "wraps", False)
        self.accesses += 1
        value = self.emit(f"load {kind}, ptr {address}{self.access()}", address, operand("", level))
        return self.emit(f"trunc i8 {value} to i1", value) if element == "i1" else value

    def store(self, element: str, value: Operand, address: str) -> None:
        if element == "i1":
            value = self.emit(f"zext i1 {value} to i8", value)
        self.vectorise &= not getattr(address, "wraps", False)
        self.accesses += 1
        self.effect(f"store {memory_type(element)} {value}, ptr {address}{self.access()}")

    def new_buffer(self, value: Value, count: int | None = None) -> Operand:
        """Memory for a tensor's elements."""
        element = value.type.element
        kind = memory_type(element)
        size = {"float": 4, "double": 8, "ptr": 8}.get(kind) or int(kind[1:]) // 8
        return self.buffer(size * (value.type.size if count is None else count))

    def fresh(self, emit: Callable[[], None]) -> None:
        """Run ``emit`` without the values known here, and forget what it learns: it is in a block of its own."""
        known, self.known = self.known, {}
        emit()
        self.known = known

    # -- values

    def at(self, value: Value, indices: Indices) -> Operand:
        return self.decided.get((value, indices)) or super().at(value, indices)

    def read(self, value: Value, indices: Indices) -> Operand:
        element = value.type.element
        return self.load(element, self.address(element, self.places[value], flatten(indices)))

    def literal(self, element: str, text: str) -> Operand:
        return literal(element, text)

    def literal_value(self, text: Operand) -> int | None:
        return int(text) if is_literal(text) else None

    def shifted(self, place: Operand, start: int) -> Operand:
        return self.emit(f"add nuw nsw i32 {place}, {start}", place) if start else place

    def as_index(self, element: str, value: Operand) -> Operand:
        if element == "i32":
            return value
        kind = register_type(element)
        return self.emit(f"{'trunc' if kind == 'i64' else 'zext'} {kind} {value} to i32", value)

    def is_zero(self, place: Operand) -> Operand:
        return self.emit(f"icmp eq i32 {place}, 0", place)

    def choose(self, value: Value, condition: Operand, yes: Operand, no: Operand) -> Operand:
        kind = register_type(value.type.element)
        return self.emit(f"select i1 {condition}, {kind} {yes}, {kind} {no}", condition, yes, no)

    def advance(self, value: Value, start: Operand, distance: Operand) -> Operand:
        if value.type.element == "ptr":
            kind = memory_type(value.type.pointee or "i8")
            return self.emit(f"getelementptr {kind}, ptr {start}, i64 {distance}", start, distance)
        return self.emit(f"add {register_type(value.type.element)} {start}, {distance}", start, distance)

    def load_element(self, op: Operation, arguments: list[Operand]) -> Operand:
        address, mask, other = (*arguments, None, None)[:3]
        element = op.result.type.element
        assert address is not None
        if other is None:
            other = Operand("null" if element == "ptr" else literal(element, "0"))
        if mask is None or mask == TRUE:
            return self.load(element, address, level_of((mask,) if mask is not None else ()))
        if mask == FALSE:
            return operand(other, level_of((mask, other)))
        kind = register_type(element)
        level = level_of((address, mask, other))
        segment = self.segment_for(level)
        inside, after, before = self.label(), self.label(), segment.end
        segment.add(f"br i1 {mask}, label %{inside}, label %{after}")
        segment.begin(inside)
        loaded = self.load(element, address, level)
        segment.add(f"br label %{after}")
        segment.begin(after)
        return self.emit(
            f"phi {kind} [ {loaded}, %{inside} ], [ {other}, %{before} ]", operand("", level), loaded, other
        )
