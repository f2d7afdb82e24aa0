"""Where an element of a tensor is: indices as strings of bits.

Every dimension of a Triton tensor is a power of two, so an index is a string of bits, and reshaping, transposing and
broadcasting only cut and join strings. An :data:`Index` says which bits come from which loop counter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .reader import Value


class Operand(str):
    """A value in the text being emitted: a name or a literal. What follows is for the lowering to LLVM."""

    #: The depth of the loop of the nest that the value changes in; -1 where it does not.
    level = -1
    #: Whether it follows from loop counters alone, and whether some bits of one were cut off on the way.
    counts = False
    wraps = False


class Field(NamedTuple):
    """Bits ``shift`` to ``shift + bits`` of an i32."""

    operand: Operand
    shift: int
    bits: int


#: Fields, the lowest bits first; the empty index is 0.
Index = tuple[Field, ...]
Indices = tuple[Index, ...]


def width_of(size: int) -> int:
    """The bits that count to a power of two."""
    return size.bit_length() - 1


def join(parts: Sequence[Index]) -> Index:
    """Indices one after the other, the lowest bits first."""
    fields: list[Field] = []
    for part in parts:
        for field in part:
            last = fields[-1] if fields else None
            if last and last.operand == field.operand and last.shift + last.bits == field.shift:
                fields[-1] = Field(last.operand, last.shift, last.bits + field.bits)
            else:
                fields.append(field)
    return tuple(fields)


def cut(index: Index, low: int, bits: int) -> Index:
    """Bits ``low`` to ``low + bits`` of an index."""
    fields, place = [], 0
    for field in index:
        start, stop = max(low, place), min(low + bits, place + field.bits)
        if start < stop:
            fields.append(Field(field.operand, field.shift + start - place, stop - start))
        place += field.bits
    return join([tuple(fields)])


def flatten(indices: Indices) -> Index:
    """The place of an element in a tensor laid out row by row."""
    return join(indices[::-1])


def unflatten(index: Index, shape: Sequence[int]) -> Indices:
    indices, place = [], 0
    for size in reversed(shape):
        indices.append(cut(index, place, width_of(size)))
        place += width_of(size)
    return tuple(reversed(indices))


def constant_index(value: int, size: int) -> Index:
    return (Field(Operand(str(value)), 0, width_of(size)),) if size > 1 else ()


def operand_indices(value: Value, indices: Indices) -> Indices | None:
    """For an operation that only moves elements: where its operand's element is."""
    op = value.operation
    assert op is not None
    shape = op.operands[0].type.shape
    if op.name == "tt.expand_dims":
        axis = op.integer("axis")
        return indices[:axis] + indices[axis + 1 :]
    if op.name == "tt.broadcast":
        assert shape is not None
        return tuple(() if size == 1 else index for size, index in zip(shape, indices, strict=True))
    if op.name == "tt.trans":
        order = op.integers("order")
        moved: list[Index] = [()] * len(order)
        for axis, source in enumerate(order):
            moved[source] = indices[axis]
        return tuple(moved)
    if op.name == "tt.reshape":
        assert shape is not None
        return unflatten(flatten(indices), shape)
    if op.name == "tt.split":
        return (*indices, constant_index(value.number, 2))
    return None
