"""Elements of tensors: the value of each as code."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..ttir.indices import Field, Index, Indices, Operand, cut, flatten, operand_indices, width_of
from ..ttir.reader import Value
from .emission import FALSE, TRUE, ZERO, level_of, operand
from .scalars import Scalars, is_literal, literal, memory_type, register_type


class Elements(Scalars):
    """Emits the elements of tensors and the values of scalars."""

    def __init__(self, features: str) -> None:
        super().__init__(features)
        self.scalars: dict[Value, Operand] = {}
        #: Where materialised tensors lie, row by row.
        self.places: dict[Value, Operand] = {}
        #: Pointers that a loop increases: their first value, and how far they have come.
        self.inductions: dict[Value, tuple[Value, Operand]] = {}
        #: Values of elements in the nest being built, and masks known to hold or not in this part of it.
        self.known: dict[object, Operand] = {}
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

    def scalar(self, value: Value) -> Operand:
        """The value of a scalar, or of a tensor without dimensions."""
        return self.at(value, ()) if value.type.is_tensor else self.scalars[value]

    def at(self, value: Value, indices: Indices) -> Operand:
        """The element of a tensor at some indices, computed here unless it is known; for a scalar its value."""
        if not value.type.is_tensor:
            return self.scalars[value]
        key = (value, indices)
        result = self.decided.get(key) or self.known.get(key)
        if result is None:
            result = self.known[key] = self.compute(value, indices)
        return result

    def compute(self, value: Value, indices: Indices) -> Operand:
        element = value.type.element
        if value in self.places:
            return self.load(element, self.address(element, self.places[value], flatten(indices)))
        if value in self.inductions:
            base, distance = self.inductions[value]
            return self.advance(value, self.at(base, indices), distance)
        op = value.operation
        assert op is not None, value
        operands = op.operands
        if op.name == "arith.constant":
            found = re.match(r"dense<([^\[\]]*)> : ", op.attributes["value"])
            assert found, op.attributes["value"]
            return literal(element, found[1])
        if op.name == "tt.splat":
            return self.scalars[operands[0]]
        if op.name == "tt.make_range":
            place, start = self.index_value(indices[0]), op.integer("start")
            return self.emit(f"add nuw nsw i32 {place}, {start}", place) if start else place
        if op.name == "tt.join":
            last = self.index_value(indices[-1])
            if is_literal(last):
                return self.at(operands[int(last)], indices[:-1])
            first = self.emit(f"icmp eq i32 {last}, 0", last)
            left, right = (self.at(one, indices[:-1]) for one in operands)
            return self.choose(element, first, left, right)
        if op.name == "tt.cat":
            half = width_of(value.shape[0]) - 1
            upper = self.index_value(cut(indices[0], half, 1))
            rest = (cut(indices[0], 0, half), *indices[1:])
            if is_literal(upper):
                return self.at(operands[int(upper)], rest)
            first = self.emit(f"icmp eq i32 {upper}, 0", upper)
            left, right = (self.at(one, rest) for one in operands)
            return self.choose(element, first, left, right)
        if op.name == "tt.gather":
            axis = op.integer("axis")
            chosen = self.at(operands[1], indices)
            if operands[1].type.element != "i32":
                kind = register_type(operands[1].type.element)
                chosen = self.emit(f"{'trunc' if kind == 'i64' else 'zext'} {kind} {chosen} to i32", chosen)
            row = (Field(chosen, 0, width_of(operands[0].shape[axis])),)
            return self.at(operands[0], (*indices[:axis], row, *indices[axis + 1 :]))
        moved = operand_indices(value, indices)
        if moved is not None:
            return self.at(operands[0], moved)
        if op.name == "tt.load":
            return self.load_element(element, [self.at(one, indices) for one in operands])
        return self.apply(op, [self.at(one, indices) for one in operands])

    def choose(self, element: str, condition: Operand, yes: Operand, no: Operand) -> Operand:
        kind = register_type(element)
        return self.emit(f"select i1 {condition}, {kind} {yes}, {kind} {no}", condition, yes, no)

    def advance(self, value: Value, start: Operand, distance: Operand) -> Operand:
        """An induction's value: a pointer or an integer some distance on."""
        if value.type.element == "ptr":
            kind = memory_type(value.type.pointee or "i8")
            return self.emit(f"getelementptr {kind}, ptr {start}, i64 {distance}", start, distance)
        return self.emit(f"add {register_type(value.type.element)} {start}, {distance}", start, distance)

    def load_element(self, element: str, operands: list[Operand]) -> Operand:
        """``tt.load``: address, and perhaps a mask and what to take where it does not hold."""
        address, mask, other = (*operands, None, None)[:3]
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
