"""Signatures: what an expression is, apart from its data.

A signature says which operations stand over which kinds of operand. It is interned, so that it hashes by identity and
one dictionary look-up takes an operation from its operands' signatures to its own, and with that to its dtype and its
compiled kernel (a node costs 0.3 µs, see benchmarks/NOTES.md). The data of an
expression, pointers and scalars, lies flat beside it in the order of the signature's leaves.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from nbx_array.backend.contract import Device, get_device
from nbx_array.backend.launcher import Launcher
from nbx_array.kernels import rules
from nbx_array.kernels.pointwise import TABLE
from nbx_array.kernels.types import check_device
from nbx_array.memory import Storage, allocator


class Sig:
    """An interned expression signature: a leaf, a scalar, or an operation over signatures.

    Tables of successors start empty. What is not in a table takes the slow path, which decides and may fill it; so
    limits, strided operands and unknown types cost the fast path nothing.
    """

    __slots__ = (
        "aligned",  # every array operand's address is a multiple of 16 bytes (always so on the CPU, where it is no use)
        "allocate",  # nbytes -> Storage on the device
        "binary",  # name -> other operand's Sig, SAME or a Python type -> Sig
        "block",  # elements that one program of the contiguous kernel takes
        "code",  # of an element that was read: the number of its dtype in VALUE_DTYPES; None for all others
        "compute",  # operations of the table: the dtype that operands are cast to
        "costly",  # the operation is worth storing rather than computing twice
        "device",
        "dtype",
        "element",  # flat leaves on the CPU: the signature of one element that was read, where elements carry values
        "flat",  # launcher of the kernel for contiguous operands, once made
        "general",  # some leaf has strides of its own: they lie in the expression's `geo`
        "inner",  # flat leaves: the signature of a contiguous piece that starts anywhere, None where that depends
        "inside",  # some operand is costly or has a costly one inside
        "itemsize",
        "kids",
        "launchers",  # launchers of every other form, by a key of that form
        "leaf",  # the signature of this expression once realised
        "leaves",  # number of array operands
        "long",  # some operation computes much longer than it moves memory, see `Pointwise`
        "nodes",  # number of operations
        "op",
        "read",  # of an element that was read: address -> the ctypes object of its memory; None for all others
        "reflected",  # as binary, for a left operand that is no array
        "runs",  # how often its kernel ran
        "scalars",  # number of scalar operands
        "seen",  # how often a kernel was wanted for it
        "single",  # flat leaves: what the function `single` gives, once asked for
        "successors",  # every other way on: a key of operation and operands -> Sig
        "trials",  # how often a quickly compiled kernel was wanted in place of its own
        "unary",  # name -> Sig
    )

    op: str
    kids: tuple[Sig, ...]
    dtype: np.dtype
    device: Device
    leaf: Sig
    inner: Sig | None
    single: Sig | None
    element: Sig | None
    code: int | None
    read: Callable[[int], Any] | None
    aligned: bool
    inside: bool
    long: bool
    nodes: int
    leaves: int
    scalars: int
    flat: Launcher | None
    launchers: dict[object, Any]  # a Launcher, or what a module of kernels keeps beside one
    allocate: Callable[[int], Storage]

    def __init__(
        self,
        op: str,
        kids: tuple[Sig, ...],
        dtype: np.dtype,
        device: Device,
        *,
        compute: np.dtype | None = None,
        general: bool = False,
        aligned: bool = True,
        costly: bool = False,
    ) -> None:
        check_device(dtype, device)
        if compute is not None:
            check_device(compute, device)
        self.op = op
        self.kids = kids
        self.dtype = dtype
        self.compute = compute
        self.itemsize = dtype.itemsize
        self.device = device
        self.general = general
        self.aligned = aligned and all(kid.aligned for kid in kids)
        self.costly = costly
        self.inside = any(kid.costly or kid.inside for kid in kids)
        self.long = (op in TABLE and TABLE[op].long) or any(kid.long for kid in kids)
        self.nodes = sum(kid.nodes for kid in kids) + (op not in ("leaf", "scalar", "same"))
        self.leaves = sum(kid.leaves for kid in kids) + (op == "leaf")
        self.scalars = sum(kid.scalars for kid in kids) + (op == "scalar")
        self.unary: dict[str, Sig] = {}
        self.binary: dict[str, dict[object, Sig]] = {}
        self.reflected: dict[str, dict[object, Sig]] = {}
        self.successors: dict[object, Sig] = {}
        self.flat = None
        self.single = None
        self.element = None
        self.code = None
        self.read = None
        self.launchers = {}
        self.seen = 0
        self.block = rules.flat_block(device, writes_only=not self.leaves, long=self.long)
        self.trials = 0
        self.runs = 0

    def __repr__(self) -> str:
        if self.op in ("leaf", "scalar"):
            return f"{self.op}:{self.dtype}" + ("*" if self.general else "")
        return f"{self.op}({', '.join(map(repr, self.kids))})" if self.kids else self.op


SAME = Sig("same", (), np.dtype(np.bool_), get_device("cpu"))
"""Stands for a second operand that is the first one, as in `x * x`: it brings no data of its own."""

_LEAVES: dict[tuple[np.dtype, Device, bool, bool], Sig] = {}
_SCALARS: dict[tuple[np.dtype, Device], Sig] = {}


def leaf(dtype: np.dtype, device: Device, *, general: bool = False, aligned: bool = True) -> Sig:
    """The signature of an array in memory; `general` if it is not C-contiguous."""
    key = dtype, device, general, aligned
    sig = _LEAVES.get(key)
    if sig is None:
        sig = Sig("leaf", (), dtype, device, general=general, aligned=aligned)
        sig.leaf = sig if not general and aligned else leaf(dtype, device)
        sig.inner = sig if not general and device.backend == "cpu" else None
        sig.allocate = allocator(device)
        if sig.inner is not None and dtype.str[1:] in _CELLS:
            sig.element = _element(sig)
        sig = _LEAVES.setdefault(key, sig)  # whole, for other threads find it there
    return sig


def single(sig: Sig) -> Sig:
    """The signature of one element of a flat leaf in memory: of whatever address."""
    found = sig.single
    if found is None:
        found = sig.single = leaf(sig.dtype, sig.device, aligned=sig.device.backend == "cpu")
    return found


def _pair(part: Any, name: str) -> Any:
    """The ctypes object of a complex number."""

    def get(self: Any) -> complex:
        return complex(self.real, self.imag)

    def put(self: Any, value: complex) -> None:
        self.real, self.imag = value.real, value.imag

    return type(name, (ctypes.Structure,), {"_fields_": [("real", part), ("imag", part)], "value": property(get, put)})


_CELLS: dict[str, Any] = {"b1": ctypes.c_bool, "f4": ctypes.c_float, "f8": ctypes.c_double}
_CELLS |= {f"i{n}": getattr(ctypes, f"c_int{8 * n}") for n in (1, 2, 4, 8)}
_CELLS |= {f"u{n}": getattr(ctypes, f"c_uint{8 * n}") for n in (1, 2, 4, 8)}
_CELLS |= {"c8": _pair(ctypes.c_float, "Complex64"), "c16": _pair(ctypes.c_double, "Complex128")}
VALUE_DTYPES = tuple(_CELLS)
"""The dtypes whose elements on the CPU carry their value when they are read."""


def _element(whole: Sig) -> Sig:
    """The signature of an element that was read on the CPU: a scalar, which does not take part in the fast tables."""
    sig = Sig("scalar", (), whole.dtype, whole.device)
    sig.read = _CELLS[whole.dtype.str[1:]].from_address
    sig.code = VALUE_DTYPES.index(whole.dtype.str[1:])
    sig.inner = None
    sig.allocate = whole.allocate
    sig.leaf = whole.leaf
    return sig


def scalar(dtype: np.dtype, device: Device) -> Sig:
    """The signature of a scalar operand of the given dtype: a kernel argument, never compiled in.

    By itself it is the expression of an array filled with one value.
    """
    key = dtype, device
    sig = _SCALARS.get(key)
    if sig is None:
        sig = Sig("scalar", (), dtype, device)
        sig.leaf = leaf(dtype, device)
        sig.inner = None
        sig.allocate = allocator(device)
        sig = _SCALARS.setdefault(key, sig)
    return sig


def operation(
    op: str,
    kids: tuple[Sig, ...],
    compute: np.dtype | None,
    dtype: np.dtype,
    device: Device,
    *,
    general: bool,
    costly: bool = False,
) -> Sig:
    """The signature of an operation over operands that have signatures, or are scalars."""
    key = (op, kids, compute, dtype, general)
    owner = kids[0].successors
    sig = owner.get(key)
    if sig is not None:
        return sig
    sig = Sig(op, kids, dtype, device, compute=compute, general=general, costly=costly)
    sig.leaf = leaf(dtype, device)
    sig.inner = None
    sig.allocate = sig.leaf.allocate
    if sig.nodes > 1:
        if len(_fused) >= LIMIT:
            _forget()
        _fused.append(sig)
    return owner.setdefault(key, sig)


LIMIT = 1 << 14
"""Signatures of more than one operation that are kept: a program may make new ones for ever, at some kB each."""
_fused: list[Sig] = []
_runs_of_forgotten = 0


def _forget() -> None:
    """Intern everything anew. Expressions keep their signatures, and kernels are found again by their source."""
    global _runs_of_forgotten
    _runs_of_forgotten += sum(sig.runs for sig in _fused)
    _fused.clear()
    for sig in [*_LEAVES.values(), *_SCALARS.values()]:
        for table in (sig.unary, sig.binary, sig.reflected, sig.successors):
            table.clear()


def fused_runs() -> int:
    """How often a kernel of more than one operation ran."""
    return _runs_of_forgotten + sum(sig.runs for sig in _fused)
