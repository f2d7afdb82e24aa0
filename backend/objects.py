"""Python objects in native code: where their slots lie, and short forms of LLVM IR that read and fill them.

For code made by `native` that stands in for a Python method of a class with slots. It may do so where `AVAILABLE`;
the Python method stays elsewhere, and remains what the native code falls back on.

The short forms, each a line of its own:

- ``%x = slot array.sig %object`` loads a slot of an object of the class that goes by the name ``array``; no reference
  is counted. ``fill array.sig %object, %x`` stores into an empty slot, which takes the reference over.
- ``%x = word true`` loads the address of an object that the code knows by that name, ``%x = word operators[%i]`` one of
  a group of them.
- ``%x = entry spare[%i]`` loads a number of a constant table.
- ``count %x, %y`` takes a reference to each, ``drop %x, %y`` gives it back.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Mapping, Sequence
from types import MemberDescriptorType

from . import native

#: Objects of this interpreter can be made by native code: reference counts are plain and little-endian numbers.
AVAILABLE = native.HAVE_C_API and "free-threading" not in sys.version and sys.byteorder == "little"

Table = tuple[int, Sequence[int]]
"""Bits of a number, and the numbers."""


def slot_offset(cls: type, name: str) -> int:
    """Where objects of a class with slots keep one: the offset in its member descriptor's PyMemberDef.

    A descriptor is the object's head (two words), type, name and qualified name, then a pointer to
    {char *name; int type; Py_ssize_t offset; ...}: so from CPython 3.8 to 3.14. Raises LookupError where it is not.
    """
    word = ctypes.sizeof(ctypes.c_void_p)
    descriptor = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    if not isinstance(descriptor, MemberDescriptorType):
        raise LookupError(f"{cls.__name__}.{name} is no slot")
    definition = ctypes.c_void_p.from_address(id(descriptor) + 5 * word).value or 0
    if ctypes.c_char_p.from_address(definition).value != name.encode():
        raise LookupError(f"the slot {cls.__name__}.{name} lies elsewhere")
    return ctypes.c_ssize_t.from_address(definition + 2 * word).value


_SHORT_FORM = re.compile(r"^ *(?:%(\w+) = )?(slot|fill|word|entry|count|drop) (.+)$", re.MULTILINE)
_INDEXED = re.compile(r"(\w+)\[(%?\w+)\]")


def written_out(
    ir: str, classes: Mapping[str, type], places: Mapping[str, int], tables: Mapping[str, Table] | None = None
) -> str:
    """IR whose short forms are replaced; ``places`` are those of the names in the table of words."""
    tables = tables or {}

    def lines(match: re.Match[str]) -> str:
        result, form, rest = match.groups()
        if form in ("count", "drop"):
            function = "Py_IncRef" if form == "count" else "Py_DecRef"
            return "\n".join(f"  call void @{function}(ptr {name.strip()})" for name in rest.split(","))
        at = f"%{result}_at"
        if form in ("slot", "fill"):
            place, operands = rest.split(" ", 1)
            cls, name = place.split(".")
            base, _, value = operands.partition(", ")
            if form == "fill":
                at = f"%{base[1:]}_{name}_at"
            pointer = f"  {at} = getelementptr i8, ptr {base}, i64 {slot_offset(classes[cls], name)}\n"
            return pointer + (f"  store ptr {value}, ptr {at}" if value else f"  %{result} = load ptr, ptr {at}")
        indexed = _INDEXED.fullmatch(rest)
        if form == "word":
            name, index = indexed.groups() if indexed else (rest, "0")
            return (
                f"  {at}_group = getelementptr ptr, ptr @words, i64 {places[name]}\n"
                f"  {at} = getelementptr ptr, ptr {at}_group, i64 {index}\n  %{result} = load ptr, ptr {at}"
            )
        assert indexed, rest
        name, index = indexed.groups()
        bits, numbers = tables[name]
        return (
            f"  {at} = getelementptr [{len(numbers)} x i{bits}], ptr @{name}, i64 0, i64 {index}\n"
            f"  %{result} = load i{bits}, ptr {at}"
        )

    constants = "".join(
        f"@{name} = private constant [{len(numbers)} x i{bits}] [{', '.join(f'i{bits} {k}' for k in numbers)}]\n"
        for name, (bits, numbers) in tables.items()
    )
    return constants + _SHORT_FORM.sub(lines, ir)


def load_code(
    ir: str,
    exports: Sequence[str],
    classes: Mapping[str, type],
    words: Mapping[str, object],
    groups: Mapping[str, Sequence[object]] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> dict[str, int]:
    """The addresses of the functions of ``ir``. The objects in ``words`` and ``groups`` live as long as the process."""
    held = list(words.values())
    places = {name: k for k, name in enumerate(words)}
    for name, group in (groups or {}).items():
        places[name] = len(held)
        held += group
    table = (ctypes.c_void_p * len(held))(*map(id, held))
    native.keep(table, held)
    text = "@words = external global ptr\n" + written_out(ir, classes, places, tables)
    level = 0  # most of it is calls: optimising takes 75 ms more and saves nothing
    return native.load(text, exports, {"words": ctypes.addressof(table)}, level)
