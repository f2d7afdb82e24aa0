"""Elements of tensors: the value of each as code, and loops of a threadgroup over them.

In a loop over elements, element ``i`` is computed by thread ``i % threads``; a tensor of fewer elements than there are
threads is computed by several at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod

from ..ttir.indices import Field, Index, Indices, Operand, cut, flatten, unflatten, width_of
from ..ttir.reader import Operation, Value
from ..ttir.types import SIZES
from ..ttir.walk import Walk
from .emission import TID, Home, element_kind, kind_of, memory_kind
from .scalars import Scalars, integer_literal, literal, literal_value

REGISTERS = re.compile(r"\br\d+\[")


class Elements(Scalars, Walk):
    """Emits the elements of tensors and the values of scalars."""

    title = "Metal"

    def __init__(self, threads: int, shared: set[Value]) -> None:
        Scalars.__init__(self, threads)
        Walk.__init__(self)
        #: Tensors that live in memory of the threadgroup, and those found to need it while emitting.
        self.shared = shared
        self.foreign: set[Value] = set()
        self.places: dict[Value, Home] = {}
        #: How many bits of an operand an index can have.
        self.widths: dict[Operand, int] = {TID: self.thread_bits}

    # -- indices

    def counter(self, name: Operand, bits: int) -> Index:
        self.widths[name] = bits
        return (Field(name, 0, bits),) if bits else ()

    def field_value(self, field: Field) -> Operand:
        number = literal_value(field.operand)
        if number is not None:
            return integer_literal("i32", number >> field.shift & (1 << field.bits) - 1)
        text = f"{field.operand} >> {field.shift}" if field.shift else str(field.operand)
        if field.shift + field.bits < self.widths.get(field.operand, 32):
            text = f"({text}) & {(1 << field.bits) - 1}u" if field.shift else f"{text} & {(1 << field.bits) - 1}u"
        return Operand(text)

    def index_value(self, index: Index) -> Operand:
        """An index as a uint."""
        known = self.known.get(index)
        if known is not None:
            return known
        constant, place, parts = 0, 0, []
        for field in index:
            part = self.field_value(field)
            value = literal_value(part)
            if value is not None:
                constant += value << place
            else:
                parts.append(f"({part}) * {1 << place}u" if place else f"({part})" if " " in part else str(part))
            place += field.bits
        if not parts:
            return integer_literal("i32", constant)
        if constant:
            parts.append(f"{constant}u")
        text = " + ".join(parts)
        result = self.known[index] = Operand(text) if re.fullmatch(r"\w+", text) else self.emit("uint", text)
        return result

    # -- loops

    def fresh(self, emit: Callable[[], None]) -> None:
        """Run ``emit`` and forget what it learns: it is in a block of its own."""
        known, self.known = self.known, dict(self.known)
        emit()
        self.known = known

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """Run ``body``'s code where the condition holds."""
        if condition == "true":
            body()
        elif condition != "false":
            with self.braces(f"if ({condition})"):
                self.fresh(body)

    def section(self, body: Callable[[], None]) -> None:
        self.known = {}
        super().section(body)
        self.known = {}

    def count_up(self, bits: int, body: Callable[[Index], None]) -> None:
        """``body`` for each index of some bits, which every thread counts through; no loop for a single one."""
        if not bits:
            body(())
            return
        name, place = self.name("i"), len(self.lines)
        with self.braces(f"for (uint {name} = 0; {name} < {1 << bits}u; ++{name})"):
            self.fresh(lambda: body(self.counter(name, bits)))
        if any(f"[{name}]" in line and REGISTERS.search(line) for line in self.lines[place:]):
            # Only at places that are known when it is compiled can an array of a thread's be in registers.
            self.lines.insert(place, "    " * self.depth + "#pragma clang loop unroll(full)")

    def elements(self, shape: Sequence[int], body: Callable[[Indices], None], once: bool = False) -> None:
        """``body`` for each element; with ``once`` by one thread alone, as what it does to memory wants."""
        bits = width_of(prod(shape))
        own = min(bits, self.thread_bits)

        def one(slot: Index) -> None:
            flat: Index = ((Field(TID, 0, own),) if own else ()) + slot
            body(unflatten(flat, shape))

        if once and own < self.thread_bits:
            with self.braces(f"if ({TID} < {1 << own}u)"):
                self.fresh(lambda: one(()))
        else:
            self.count_up(bits - own, one)

    # -- homes

    def home_of(self, *values: Value) -> Home:
        """A new home of a tensor, which may go by several names; not its place yet."""
        value = values[0]
        element = value.type.element
        shared = any(one in self.shared for one in values)
        kind = kind_of(value.type) if element == "ptr" else memory_kind(element) if shared else element_kind(element)
        home = self.new_home(kind, SIZES[element] * value.type.size, width_of(value.type.size), shared)
        home.values.update(values)
        return home

    def buffer(self, element: str, bits: int) -> Home:
        """Memory of the threadgroup for a moment."""
        return self.new_home(memory_kind(element), SIZES[element] << bits, bits, True)

    def place_in(self, home: Home, flat: Index, writes: bool) -> str:
        """An element in its home. One in other threads' registers is noted, and the text is not to be used."""
        self.touch(home, writes)
        if home.shared:
            return f"{home.name}[{self.index_value(flat)}]"
        own = min(home.bits, self.thread_bits)
        if cut(flat, 0, own) != ((Field(TID, 0, own),) if own else ()):
            self.foreign |= home.values
            return home.name
        if home.bits == own:
            return home.name
        return f"{home.name}[{self.index_value(cut(flat, own, home.bits - own))}]"

    def put(self, home: Home, flat: Index, value: str) -> None:
        text = f"uchar({value})" if home.kind == "uchar" else value
        self.add(f"{self.place_in(home, flat, True)} = {text};")

    def put_all(self, homes: Sequence[Home], flat: Index, values: Sequence[str]) -> None:
        for home, value in zip(homes, values, strict=True):
            self.put(home, flat, value)

    def get(self, home: Home, value: Value, flat: Index) -> Operand:
        place = self.place_in(home, flat, False)
        is_byte = home.shared and value.type.element == "i1"
        return self.emit(kind_of(value.type), f"{place} != 0" if is_byte else place)

    def fill(self, home: Home, value: Value) -> None:
        """Compute a tensor into a home."""
        shape = value.shape

        def body(indices: Indices) -> None:
            self.put(home, flatten(indices), self.at(value, indices))

        self.section(lambda: self.elements(shape, body, once=home.shared))

    def materialise(self, value: Value) -> None:
        home = self.home_of(value)
        self.fill(home, value)
        self.places[value] = home

    # -- values

    def read(self, value: Value, indices: Indices) -> Operand:
        return self.get(self.places[value], value, flatten(indices))

    def advance(self, value: Value, start: Operand, distance: Operand) -> Operand:
        element = value.type.element
        if element == "ptr":
            return self.emit(kind_of(value.type), f"{start} + long({distance})")
        return self.emit(kind_of(value.type), self.wrapped(element, f"{self.widened(element, start)} + {distance}"))

    def literal(self, element: str, text: str) -> Operand:
        return literal(element, text)

    def literal_value(self, text: Operand) -> int | None:
        return literal_value(text)

    def shifted(self, place: Operand, start: int) -> Operand:
        return self.emit("uint", f"{place} + {start}u") if start else place

    def as_index(self, element: str, value: Operand) -> Operand:
        return self.emit("uint", f"uint({value})")

    def is_zero(self, place: Operand) -> Operand:
        return Operand(f"{place} == 0u")

    def choose(self, value: Value, condition: Operand, yes: Operand, no: Operand) -> Operand:
        return self.emit(kind_of(value.type), f"{condition} ? {yes} : {no}")

    def load_element(self, op: Operation, arguments: list[Operand]) -> Operand:
        address, mask, other = (*arguments, None, None)[:3]
        element, kind = op.result.type.element, kind_of(op.result.type)
        if op.flag("isVolatile"):
            address = Operand(f"((volatile device {memory_kind(element)}*){address})")
        loaded = f"*{address} != 0" if element == "i1" else f"*{address}"
        if mask is None or mask == "true":
            return self.emit(kind, loaded)
        if other is None:
            other = literal(element, "0")
        return self.emit(kind, f"{mask} ? {loaded} : {other}")
