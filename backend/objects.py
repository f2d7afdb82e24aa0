"""Python objects in native code: where their slots lie, and the LLVM IR that reads and fills them.

For code made by `native` that stands in for a Python method of a class with slots. It may do so where `AVAILABLE`;
the Python method stays elsewhere, and remains what the native code falls back on.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from types import MemberDescriptorType

from . import native

#: Objects of this interpreter can be made by native code: reference counts are plain and little-endian numbers.
AVAILABLE = native.HAVE_C_API and "free-threading" not in sys.version and sys.byteorder == "little"


def slot_offsets(cls: type, names: tuple[str, ...]) -> dict[str, int]:
    """Where objects of a class with slots keep them: the offset in each member descriptor's PyMemberDef.

    A descriptor is the object's head (two words), type, name and qualified name, then a pointer to
    {char *name; int type; Py_ssize_t offset; ...}: so from CPython 3.8 to 3.14. Raises LookupError where it is not.
    """
    word = ctypes.sizeof(ctypes.c_void_p)
    found = {}
    for name in names:
        descriptor = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
        if not isinstance(descriptor, MemberDescriptorType):
            raise LookupError(f"{cls.__name__}.{name} is no slot")
        definition = ctypes.c_void_p.from_address(id(descriptor) + 5 * word).value or 0
        if ctypes.c_char_p.from_address(definition).value != name.encode():
            raise LookupError(f"the slot {cls.__name__}.{name} lies elsewhere")
        found[name] = ctypes.c_ssize_t.from_address(definition + 2 * word).value
    return found


def load(result: str, base: str, offset: int) -> str:
    """Lines that load the pointer at a byte offset from ``base`` into ``%result``; no reference is counted."""
    return f"  %{result}_at = getelementptr i8, ptr {base}, i64 {offset}\n  %{result} = load ptr, ptr %{result}_at\n"


def store(value: str, base: str, offset: int) -> str:
    """Lines that store ``%value``, whose reference the object takes over, into an empty slot."""
    return f"  %{value}_to = getelementptr i8, ptr {base}, i64 {offset}\n  store ptr %{value}, ptr %{value}_to\n"


def word(result: str, index: int | str) -> str:
    """Lines that load a word of the table `words`, which `load_code` binds to addresses of objects."""
    return f"  %{result}_at = getelementptr ptr, ptr @words, i64 {index}\n  %{result} = load ptr, ptr %{result}_at\n"


def count(*names: str) -> str:
    """Lines that take a reference to each value."""
    return "".join(f"  call void @Py_IncRef(ptr %{name})\n" for name in names)


def load_code(ir: str, exports: Sequence[str], words: Sequence[object]) -> dict[str, int]:
    """The addresses of the functions of ``ir``, for which ``words`` are kept alive as long as the process."""
    table = (ctypes.c_void_p * len(words))(*map(id, words))
    native.keep(table, words)
    level = 0  # most of it is calls: optimising takes 75 ms more and saves nothing
    return native.load("@words = external global ptr\n" + ir, exports, {"words": ctypes.addressof(table)}, level)
