"""Deferred expressions: how element-wise calls become them, and the one place where they run.

An `Expression` is an array of a signature (`nbx_array.kernels.signature`), a shape, and flat tuples: the kernel
arguments (addresses and scalars in the order of the signature's leaves) and the storages that keep the addresses
alive. A realised array is an expression whose signature is a leaf. Realising walks nothing.

Dtype, shape and device errors are raised when a function is called, never when its result is realised.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from nbx_array import _journal
from nbx_array.backend.contract import Device
from nbx_array.kernels import fused, signature
from nbx_array.kernels.pointwise import TABLE, UnsupportedDtype, resolve
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.kernels.types import default_complex, default_float, kind
from nbx_array.memory import register_release_hook
from nbx_array.memory.view import View, broadcast_shapes, contiguous_strides, is_contiguous

LIMIT_NODES = 32
"""An operand of this many operations is realised before it is built upon."""
LIMIT_ARGUMENTS = 16
"""Likewise an operand of this many arrays and scalars: `y + y` doubles them."""
EARLY_BYTES = 64 << 20
"""An expression that would save this many bytes of memory traffic is compiled at first sight (a kernel takes 50 ms)."""

SWEEP_BYTES = 1 << 20
"""An allocation above this sweeps the journal first: dead expressions hold memory that it could take."""
SWEEP_LENGTH = 64
"""So does a journal of this many expressions, when the next one is realised."""

_notes = _journal.notes
Strides = tuple[int, ...]


FUSE = os.environ.get("NBX_FUSE", "1") != "0"
"""Whether expressions are deferred and fused; without, each operation runs at its call."""


class Expression:
    """An array, deferred or in memory. See the module's docstring."""

    __slots__ = ("__weakref__", "args", "geo", "keep", "shape", "sig")

    sig: Sig
    shape: tuple[int, ...]
    args: tuple[Any, ...]
    keep: tuple[Any, ...]
    geo: tuple[Strides, ...]  # strides in elements of each array operand over `shape`; set if sig.general

    def view(self) -> View:
        """The memory of this array, which is realised first."""
        if self.sig.op != "leaf":
            realize(self)
        sig, shape, (address,), (storage,) = self.sig, self.shape, self.args, self.keep
        strides = self.geo[0] if sig.general else contiguous_strides(shape)
        return View(storage, sig.dtype, shape, strides, (address - storage.ptr) // sig.itemsize)


def from_view(cls: type[Any], view: View) -> Any:
    """An array of class `cls` over existing memory."""
    storage, dtype, shape, strides, offset = view
    new = cls()
    address = storage.ptr + offset * dtype.itemsize
    contiguous = is_contiguous(shape, strides)
    device = storage.device
    aligned = device.backend == "cpu" or address % 16 == 0
    new.sig = signature.leaf(dtype, device, general=not contiguous, aligned=aligned)
    new.shape = shape
    new.args = (address,)
    new.keep = (storage,)
    new.geo = None if contiguous else (strides,)
    return new


# ------------------------------------------------------------------------------------------------------- building


def describe(operand: object) -> str:
    """What an operand is, for error messages."""
    if isinstance(operand, Expression):
        return f"an array of dtype {operand.sig.dtype} and shape {operand.shape} on {operand.sig.device}"
    return f"{type(operand).__name__} {operand!r}"[:120]


@lru_cache(maxsize=4096)
def promote(dtypes: tuple[np.dtype, ...], weak: tuple[type, ...], device: Device) -> np.dtype:
    """The common dtype of arrays and weak Python scalars; TypeError where there is none."""
    common = np.result_type(*dtypes)
    for scalar in weak:
        k = kind(common)
        if scalar is int and k == "b":
            common = np.dtype(np.int64)
        elif scalar is float and k in "biu":
            common = default_float(device)
        elif scalar is complex and k != "c":
            single = k == "f" and common.itemsize <= 4
            common = np.dtype(np.complex64) if single else default_complex(device)
    return common


_WEAK = (bool, int, float, complex)


def operands_of(name: str, operands: Sequence[object]) -> tuple[list[Any], Device]:
    """Operands ready to be combined: arrays within the limits of an expression, or scalars. TypeError names `name`."""
    device: Device | None = None
    ready: list[Any] = []
    for operand in operands:
        if isinstance(operand, Expression):
            if device is None:
                device = operand.sig.device
            elif operand.sig.device is not device:
                raise ValueError(f"{name}: operands lie on {device} and {operand.sig.device}; move one with to_device")
        elif isinstance(operand, _WEAK) and type(operand) not in _WEAK and not isinstance(operand, np.generic):
            base: Any = next(base for base in _WEAK if isinstance(operand, base))
            operand = base(operand)  # an IntEnum, say
        elif not isinstance(operand, (*_WEAK, np.generic)):
            hint = "; convert it with nbx_array.asarray" if isinstance(operand, (np.ndarray, list, tuple)) else ""
            raise TypeError(f"{name}: {describe(operand)} is no array or scalar{hint}")
        ready.append(operand)
    if device is None:
        raise TypeError(f"{name}: no operand is an array, got {', '.join(map(describe, operands))}")
    return ready, device


def _limit(operands: Sequence[Any]) -> None:
    """Realise operands that are too long to build upon."""
    arrays = {id(x): x for x in operands if isinstance(x, Expression)}
    for x in arrays.values():
        sig = x.sig
        too_long = sig.nodes >= LIMIT_NODES // len(arrays)
        if sig.op != "leaf" and (too_long or sig.leaves + sig.scalars >= LIMIT_ARGUMENTS // len(arrays)):
            realize(x)


def apply(cls: type[Any], name: str, *operands: object) -> Any:
    """Call an element-wise function of the table: a new array of class `cls`, deferred where that is safe."""
    row = TABLE[name]
    ready, device = operands_of(name, operands)
    dtypes = tuple(x.sig.dtype if isinstance(x, Expression) else x.dtype for x in ready if type(x) not in _WEAK)
    weak = tuple(type(x) for x in ready if type(x) in _WEAK)
    try:
        common = promote(dtypes, weak, device)
        compute, result = resolve(row, common, default_float(device))
    except UnsupportedDtype:
        given = ", ".join(map(describe, ready))
        raise TypeError(f"{name} is not defined for dtype {common}, given {given}") from None
    except np.exceptions.DTypePromotionError:
        raise TypeError(f"{name}: no common dtype of {', '.join(map(describe, ready))}") from None
    if row.rule == "compare":
        constant = _compare_out_of_range(name, ready, compute)
        if constant is not None:
            return constant
    return combine(cls, name, compute, result, ready, device, costly=row.costly)


def _compare_out_of_range(name: str, ready: list[Any], compute: np.dtype) -> Any:
    """A comparison of integers with a Python int beyond their dtype: exact, so the same for every element."""
    if compute.kind not in "iu" or len(ready) != 2:
        return None
    for side, operand in enumerate(ready):
        if type(operand) is int:
            limits = np.iinfo(compute)
            if limits.min <= operand <= limits.max:
                return None
            array = ready[1 - side]
            above = operand > limits.max  # the array's elements are all smaller than the scalar
            smaller = above if side == 1 else not above  # the left operand is the smaller one
            answer = {"equal": False, "not_equal": True, "less": smaller, "less_equal": smaller}.get(name, not smaller)
            # x == x holds for every integer
            return apply(type(array), "equal" if answer else "not_equal", array, array)
    return None


def scalar_arguments(name: str, value: Any, dtype: np.dtype) -> tuple[Any, ...]:
    """A scalar as kernel arguments of the given dtype; OverflowError for an int that does not fit."""
    k = kind(dtype)
    if k == "b":
        return (bool(value),)
    if k in "iu":
        number = int(value)
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{name}: Python integer {number} out of bounds for {dtype}")
        return (number,)
    if k == "f":
        return (float(value),)
    pair = complex(value)
    return (pair.real, pair.imag)


def combine(
    cls: type[Any],
    op: str,
    compute: np.dtype | None,
    result: np.dtype,
    operands: list[Any],
    device: Device,
    *,
    costly: bool = False,
) -> Any:
    """The expression of an operation over arrays and scalars whose dtypes are already decided.

    Python scalars take the dtype `compute`."""
    _limit(operands)
    kids: list[Sig] = []
    args: tuple[Any, ...] = ()
    keep: tuple[Any, ...] = ()
    arrays = [x for x in operands if isinstance(x, Expression)]
    same = len(arrays) == len(operands) == 2 and arrays[0] is arrays[1]
    for position, x in enumerate(operands):
        if isinstance(x, Expression):
            if same and position == 1:
                kids.append(SAME)
                break
            kids.append(x.sig)
            args += x.args
            keep += x.keep
        else:
            dtype = x.dtype if isinstance(x, np.generic) else compute
            assert dtype is not None, op
            kids.append(signature.scalar(dtype, device))
            args += scalar_arguments(op, x, dtype)
    shape = arrays[0].shape
    general = any(kid.general for kid in kids) or any(x.shape != shape for x in arrays)
    new = cls()
    new.sig = _successor(op, tuple(kids), compute, result, device, general, costly)
    new.args = args
    new.keep = keep
    if general:
        new.shape, new.geo = broadcast_operands(op, *map(layout, arrays[:1] if same else arrays))
    else:
        new.shape, new.geo = shape, None
    _remember(op, new.sig, operands, same)
    return defer(new)


def _successor(
    op: str,
    kids: tuple[Sig, ...],
    compute: np.dtype | None,
    result: np.dtype,
    device: Device,
    general: bool,
    costly: bool,
) -> Sig:
    key = (op, kids, compute, result, general)
    owner = kids[0]
    sig = owner.successors.get(key)
    if sig is None:
        new = signature.operation(op, kids, compute, result, device, general=general, costly=costly)
        sig = owner.successors.setdefault(key, new)
    return sig


def _remember(op: str, sig: Sig, operands: list[Any], same: bool) -> None:
    """Fill the fast tables: one array, two arrays, or an array and a Python float that becomes one float argument.

    A strided or broadcast result goes to `successors`, which the fast path does not look at.
    """
    if op not in TABLE or len(operands) > 2:
        return
    first, second = operands[0], operands[-1]
    if len(operands) == 1:
        first.sig.unary[op] = sig
        return
    if isinstance(first, Expression) and isinstance(second, Expression):
        owner, table, key = first.sig, first.sig.binary, SAME if same else second.sig
    elif sig.compute is None or kind(sig.compute) != "f":
        return
    elif type(second) is float:
        owner, table, key = first.sig, first.sig.binary, float
    elif type(first) is float:
        owner, table, key = second.sig, second.sig.reflected, float
    else:
        return
    if sig.general:
        owner.successors[op, key, table is owner.reflected] = sig
    else:
        table.setdefault(op, {})[key] = sig


Layout = tuple[tuple[int, ...], tuple[Strides, ...] | None, int]


def layout(x: Expression) -> Layout:
    """Shape, strides where they are not contiguous, and number of array operands."""
    return x.shape, x.geo if x.sig.general else None, x.sig.leaves


@lru_cache(maxsize=4096)
def broadcast_operands(op: str, *parts: Layout) -> tuple[tuple[int, ...], tuple[Strides, ...]]:
    """The common shape of operands, and the strides of every array in them over it; ValueError where there is none."""
    try:
        shape = broadcast_shapes(*(own for own, _, _ in parts))
    except ValueError as error:
        raise ValueError(f"{op}: {error}") from None
    out: list[Strides] = []
    for own, geo, count in parts:
        missing = (0,) * (len(shape) - len(own))
        for strides in geo if geo is not None else (contiguous_strides(own),) * count:
            out.append(missing + tuple(0 if size == 1 else stride for size, stride in zip(own, strides, strict=True)))
    return shape, tuple(out)


def defer(new: Any) -> Any:
    """Note a new expression as pending, or run it now where deferring is off or unsafe."""
    if not FUSE or any(storage.shared for storage in new.keep):
        realize(new)
    else:
        _journal.notes.append(new)
    return new


# -------------------------------------------------------------------------------------------------------- running


def realize(e: Any) -> Any:
    """Run an expression: afterwards the array lies in memory of its own. Returns it."""
    sig = e.sig
    launcher = sig.flat
    if launcher is None:
        return _realize_slowly(e)
    shape, operands = e.shape, e.keep
    n = shape[0] if len(shape) == 1 else prod(shape)
    nbytes = n * sig.itemsize
    if nbytes > SWEEP_BYTES or len(_notes) > SWEEP_LENGTH:
        _journal.sweep()
    storage = sig.allocate(nbytes)
    address = storage.ptr
    if n <= sig.block:
        launcher.run(*e.args, address, n, 1, 1, 1)
    else:
        launcher.spread((*e.args, address, n), -(-n // sig.block), 1, 1)
    sig.runs += 1
    e.sig = sig.leaf
    e.args = (address,)
    e.keep = (storage,)
    del operands  # only now may their finalisers run, and other threads with them
    return e


def _realize_slowly(e: Any) -> Any:
    sig = e.sig
    if sig.op == "leaf":
        return e
    if not _worth_compiling(e):
        _evaluate(e)
        return e
    shape, operands = e.shape, e.keep
    _journal.sweep()
    storage = sig.allocate(prod(shape) * sig.itemsize)
    run_into(e, storage.ptr, contiguous_strides(shape))
    sig.runs += 1
    e.sig = sig.leaf
    e.args = (storage.ptr,)
    e.keep = (storage,)
    del operands
    return e


def run_into(e: Expression, address: int, strides: Strides) -> None:
    """Run an expression that is not a leaf into existing memory: one kernel, no temporary."""
    sig, shape = e.sig, e.shape
    if not sig.general and strides == contiguous_strides(shape) and (sig.device.backend == "cpu" or address % 16 == 0):
        fused.run_flat(fused.flat_launcher(sig, _aliases(e)), sig.device, e.args, address, prod(shape))
        return
    geo = e.geo if sig.general else (contiguous_strides(shape),) * sig.leaves
    fused.run_general(sig, e.args, shape, geo, address, strides)


def _aliases(e: Expression) -> tuple[tuple[int, int], ...]:
    """Array operands that repeat an earlier one, where reading them once is worth a kernel of its own."""
    if e.sig.leaves < 2 or prod(e.shape) < fused.rule(e.sig.device).block:
        return ()
    addresses = [a for a, is_leaf in zip(e.args, _leaf_flags(e.sig), strict=True) if is_leaf]
    if len(set(addresses)) == len(addresses):
        return ()
    first: dict[Any, int] = {}
    pairs = []
    for k, address in enumerate(addresses):
        if first.setdefault(address, k) != k:
            pairs.append((k, first[address]))
    return tuple(pairs)


@lru_cache(maxsize=4096)
def _leaf_flags(sig: Sig) -> tuple[bool, ...]:
    """Which of an expression's arguments are addresses."""
    if sig.op == "leaf":
        return (True,)
    if sig.op == "scalar":
        return (False,) * (2 if sig.dtype.kind == "c" else 1)
    return tuple(flag for kid in sig.kids if kid is not SAME for flag in _leaf_flags(kid))


def _worth_compiling(e: Expression) -> bool:
    """Whether to compile the whole expression now. At first sight it runs operation by operation, unless it is large:
    chains of 1 to 11 terms must not compile 11 kernels."""
    sig = e.sig
    if sig.nodes <= 1:
        return True
    if not FUSE:
        return False
    sig.seen += 1
    return sig.seen > 1 or 2 * sig.nodes * prod(e.shape) * sig.itemsize >= EARLY_BYTES


def _evaluate(e: Any) -> None:
    """Run an expression operation by operation, with the same bits as its one kernel has."""
    args, keep, geo = iter(e.args), iter(e.keep), iter(e.geo if e.sig.general else ())
    general, shape = e.sig.general, e.shape

    def visit(sig: Sig) -> Any:
        if sig.op == "leaf":
            part = Expression()
            part.sig, part.shape, part.args, part.keep = sig, shape, (next(args),), (next(keep),)
            if general:
                part.geo = (next(geo),)
                part.sig = signature.leaf(sig.dtype, sig.device, general=True, aligned=sig.aligned)
            return part
        if sig.op == "scalar":
            return sig, tuple(next(args) for _ in range(2 if sig.dtype.kind == "c" else 1))
        return single(sig, [visit(kid) for kid in sig.kids if kid is not SAME])

    def single(sig: Sig, parts: list[Any]) -> Expression:
        same = SAME in sig.kids
        arrays = [part for part in parts if isinstance(part, Expression)]
        if not arrays:  # an operation of scalars alone cannot arise: each call has an array
            raise AssertionError(sig)
        kids = tuple(part.sig if isinstance(part, Expression) else part[0] for part in parts) + (
            (SAME,) if same else ()
        )
        step = Expression()
        is_general = any(part.sig.general for part in arrays)
        step.sig = _successor(sig.op, kids, sig.compute, sig.dtype, sig.device, is_general, sig.costly)
        step.shape = shape
        step.args = tuple(a for part in parts for a in (part.args if isinstance(part, Expression) else part[1]))
        step.keep = tuple(k for part in arrays for k in part.keep)
        if is_general:
            step.geo = tuple(part.geo[0] if part.sig.general else contiguous_strides(shape) for part in arrays)
        return realize(step)

    result = visit(e.sig)
    old = e.keep
    e.sig, e.args, e.keep, e.geo = result.sig, result.args, result.keep, None
    del old


@register_release_hook
def release_pending(device: Device) -> None:
    """Realise what is pending on a device that is short of memory, so that operands held by nothing else are freed."""
    for expression in _journal.pending():
        if expression.sig.device is device:
            realize(expression)


def write(target: Expression, value: Expression) -> None:
    """Evaluate `value`, of the target's shape and dtype, into the memory of `target`, as if its operands were copied
    first. Pending readers of that memory run before."""
    storage = target.keep[0]
    if _journal.notes or storage.readers:
        for reader in _journal.take_readers(storage):
            if reader is not value:
                realize(reader)
    if storage in value.keep and not _reads_where_it_writes(target, value):
        value = realize(_copy(value))
    if value.sig.op == "leaf":
        value = _copy(value)
    sig = target.sig
    if not sig.general and not value.sig.general and sig.inner is not None and value.sig.flat is not None:
        shape = target.shape
        n = shape[0] if len(shape) == 1 else prod(shape)
        fused.run_flat(value.sig.flat, sig.device, value.args, target.args[0], n)
    else:
        run_into(value, target.args[0], target.geo[0] if sig.general else contiguous_strides(target.shape))


def _reads_where_it_writes(target: Expression, value: Expression) -> bool:
    """Whether `value` reads the target's storage only at the very elements that it writes."""
    storage = target.keep[0]
    own = target.geo[0] if target.sig.general else contiguous_strides(target.shape)
    addresses = [a for a, is_leaf in zip(value.args, _leaf_flags(value.sig), strict=True) if is_leaf]
    geo = value.geo if value.sig.general else (contiguous_strides(value.shape),) * len(addresses)
    return all(
        keeper is not storage or (address == target.args[0] and _same_places(target.shape, strides, own))
        for address, strides, keeper in zip(addresses, geo, value.keep, strict=True)
    )


def copy_of(sig: Sig) -> Sig:
    """The signature of a copy of an expression."""
    copied = sig.unary.get("copy")
    if copied is None:
        copied = sig.unary["copy"] = _successor("astype", (sig,), None, sig.dtype, sig.device, sig.general, False)
    return copied


def _copy(value: Expression) -> Expression:
    """The expression that copies a value in memory."""
    copy = Expression()
    copy.sig = copy_of(value.sig)
    copy.shape, copy.args, copy.keep = value.shape, value.args, value.keep
    if copy.sig.general:
        copy.geo = value.geo
    return copy


def _same_places(shape: tuple[int, ...], a: Strides, b: Strides) -> bool:
    return all(size == 1 or x == y for size, x, y in zip(shape, a, b, strict=True))
