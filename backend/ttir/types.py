"""What Triton's intermediate language calls its elements, comparisons and atomic operations."""

from __future__ import annotations

#: Bytes of an element in memory.
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "index": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "ptr": 8}
HALVES = ("f16", "bf16")
FLOATS = ("f16", "bf16", "f32", "f64")

#: By the number that stands in the operation's attribute.
INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")  # fmt: skip
ATOMIC_OPERATIONS = dict(enumerate(("and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "xchg"), 1))


class NotSupported(NotImplementedError):
    """An operation that kernels of a backend cannot use."""


def bits_of(element: str) -> int:
    return 1 if element == "i1" else 8 * SIZES[element]


def is_float(element: str) -> bool:
    return element in FLOATS
