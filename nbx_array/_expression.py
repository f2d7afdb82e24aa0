"""Deferred expressions, and the one place where they run.

An `Expression` is an array of a signature (`nbx_array.kernels.signature`), a shape, and flat tuples: the kernel
arguments (addresses and scalars in the order of the signature's leaves) and the storages that keep the addresses
alive. A realised array is an expression whose signature is a leaf. Realising walks nothing, unless an expensive part
of a large expression has other readers: then the same kernel stores that part, too.

Several threads may hold one expression, and any of them may realise it at any time. An interpreter with a global lock
changes threads only where something is called or a loop goes round. So whoever reads an expression takes its `sig`,
`args` and `keep` in one go, or a `snapshot`, and whoever has realised it sets all of them in one go, unless somebody
else was first. Another thread, or a finaliser, that writes to memory realises first what it knows to read it. Who built
on an expression, or read its operands, therefore looks at its `sig` afterwards: if that has changed, what was read may
have been written to since, and the expression has a value of its own now to do it all again with.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import prod
from operator import attrgetter
from sys import getrefcount
from typing import Any

from nbx_array import _journal
from nbx_array.backend import environment
from nbx_array.backend.compiler import OWN_BACKENDS, KernelMissing
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import special_or_general
from nbx_array.kernels import fused, signature
from nbx_array.kernels.pointwise import TABLE, computed_dtypes
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.memory import register_release_hook
from nbx_array.memory.view import View, contiguous_strides, is_contiguous

NEVER = -(1 << 62)
"""How often an expression was seen whose kernel is missing: it is not wanted again."""
EARLY_BYTES = 64 << 20
"""An expression that would save this many bytes of memory traffic is compiled at first sight (a kernel takes 50 ms)."""

SWEEP_BYTES = 1 << 20
"""An allocation above this sweeps the journal first: dead expressions hold memory that it could take."""
SWEEP_LENGTH = 64
"""So does a journal of this many expressions, when the next one is realised."""

_notes = _journal.notes
_alone = _journal.is_alone
Strides = tuple[int, ...]


FUSE = environment.is_on("NBX_FUSE")
"""Whether expressions are deferred and fused; without, each operation runs at its call."""


class Expression:
    """An array, deferred or in memory. See the module's docstring."""

    __slots__ = ("__weakref__", "args", "dims", "geo", "keep", "sig", "sources")

    sig: Sig
    dims: tuple[int, ...]  # the shape
    args: tuple[Any, ...]
    keep: tuple[Any, ...]
    geo: tuple[Strides, ...]  # strides in elements of each array operand over `dims`; set if sig.general
    sources: tuple[Expression, ...]  # the operands that are arrays, each once; set if sig.inside

    shape = property(attrgetter("dims"), doc="Lengths of the dimensions.")

    def memory(self) -> View:
        """The memory of this array, which is realised first; of an element that was read a copy."""
        x = self if self.sig.op == "leaf" else realize(self)
        sig, shape, (address,), (storage,) = x.sig, x.dims, x.args, x.keep
        strides = x.geo[0] if sig.general else contiguous_strides(shape)
        return View(storage, sig.dtype, shape, strides, (address - storage.ptr) // sig.itemsize)


def from_view(cls: type[Any], view: View) -> Any:
    """An array of class `cls` over existing memory."""
    storage, dtype, shape, strides, offset = view
    return over_memory(cls, dtype, (storage,), storage.ptr + offset * dtype.itemsize, shape, strides)


def over_memory(
    cls: type[Any], dtype: Any, keep: tuple[Any], address: int, shape: tuple[int, ...], strides: Strides
) -> Any:
    """An array of class `cls` over the memory that starts at an address in the storage `keep[0]`."""
    new = cls()
    contiguous = is_contiguous(shape, strides)
    device = keep[0].device
    aligned = address % 16 == 0 or device.backend == "cpu"
    new.sig = signature.leaf(dtype, device, general=not contiguous, aligned=aligned)
    new.dims = shape
    new.args = (address,)
    new.keep = keep
    new.geo = None if contiguous else (strides,)
    return new


def strides_of(x: Expression) -> Strides:
    """The strides, in elements, of an array, which is realised first."""
    if x.sig.op != "leaf":
        x = realize(x)
    return x.geo[0] if x.sig.general else contiguous_strides(x.dims)


def describe(operand: object) -> str:
    """What an operand is, for error messages."""
    if isinstance(operand, Expression):
        return f"an array of dtype {operand.sig.dtype} and shape {operand.dims} on {operand.sig.device}"
    kind = type(operand)
    if hasattr(operand, "__array__"):  # another library's array, whose repr may be long
        shape = f" of shape {operand.shape}" if hasattr(operand, "shape") else ""
        return f"a {kind.__module__.partition('.')[0]}.{kind.__name__}{shape}"
    return f"{kind.__name__} {operand!r}"[:120]


def defer(new: Any) -> Any:
    """Note a new expression as pending, or run it now where deferring is off or unsafe."""
    if not FUSE or any(storage.shared for storage in new.keep):
        realize(new)
    else:
        _journal.notes.append(new)
    return new


# -------------------------------------------------------------------------------------------------------- running

_at_first_run: list[Callable[[], None]] = []


def first_run(function: Callable[[], None]) -> Callable[[], None]:
    """A decorator: call the function before the first expression of the process runs."""
    _at_first_run.append(function)
    return function


def begin() -> None:
    """Call what is to be called before the first expression runs, now if that has not been."""
    while _at_first_run:
        try:
            function = _at_first_run.pop()
        except IndexError:  # another thread was quicker
            return
        function()


def realize(e: Any) -> Any:
    """Run an expression: afterwards the array lies in memory of its own. Returns it.

    Of an element that was read it returns a new array in memory: the element stays the value that it is, for whoever
    else has it.
    """
    sig = e.sig
    launcher = sig.flat
    if launcher is None:
        return _realize_slowly(e)
    shape, args, operands = e.dims, e.args, e.keep
    n = shape[0] if len(shape) == 1 else prod(shape)
    nbytes = n * sig.itemsize
    large = nbytes > SWEEP_BYTES
    if (large and (sig.inside or not _alone(e))) or len(_notes) > SWEEP_LENGTH:
        _sweep(e)
        if e.sig is not sig or (sig.inside and _share(e)):  # realised or built anew by now
            return realize(e)
    storage = sig.allocate(nbytes)
    address = storage.ptr
    if n <= sig.block:
        launcher.run(*(args + (address, n, 1, 1, 1)))  # noqa: RUF005, unpacked into the call it takes 25 ns more
    else:
        launcher.spread((*args, address, n), -(-n // sig.block), 1, 1)
    sig.runs += 1
    args = (address,)
    keep = (storage,)
    sources = getattr(e, "sources", ()) if sig.inside else ()
    if e.sig is sig:
        e.sig = sig.leaf
        e.args = args
        e.keep = keep
        if sources:
            e.sources = ()
    elif e.sig.op != "leaf":  # another thread has given it another expression, by `+=`
        return realize(e)
    if large:
        _journal.forget(e)
    del operands, sources  # only now may their finalisers run, and other threads with them
    return e


def snapshot(e: Expression) -> Expression:
    """An expression as it is now; other threads may realise the original meanwhile. What lies in memory stays so."""
    if e.sig.op == "leaf":
        return e
    now = Expression()
    now.sig, now.dims, now.args, now.keep = e.sig, e.dims, e.args, e.keep
    if now.sig.general:
        now.geo = e.geo
    return now


def value_of(element: Expression) -> Any:
    """The Python number that an element carries: its arguments as a kernel takes them, of a complex one two."""
    args = element.args
    return args[0] if len(args) == 1 else complex(*args)


def become(e: Expression, before: Sig, after: Sig, args: tuple[Any, ...], keep: tuple[Any, ...]) -> None:
    """Give a realised or rebuilt expression its new signature and data, unless another thread was first."""
    operands, sources = e.keep, getattr(e, "sources", ()) if before.inside else ()
    if e.sig is before:
        e.sig, e.args, e.keep = after, args, keep
        if sources and after.op == "leaf":
            e.sources = ()
    del operands, sources


def _sweep(e: Expression) -> None:
    """Sweep the journal before `e` is realised, and realise what holds much memory for a small result."""
    for expression in _journal.sweep(e):
        if expression is not e:
            realize(expression)


def _realize_slowly(e: Any) -> Any:
    """The same for strided or broadcast operands and for what has no kernel yet."""
    sig = e.sig
    if sig.op == "leaf":
        return e
    if sig.read is not None and not e.dims:  # an element that carries its value needs no kernel
        value, storage = value_of(e), sig.allocate(sig.itemsize)
        sig.read(storage.ptr).value = value
        return over_memory(type(e), sig.dtype, (storage,), storage.ptr, (), ())
    if _at_first_run:
        begin()
    nbytes = prod(e.dims) * sig.itemsize
    large = nbytes > SWEEP_BYTES
    if large or len(_notes) > SWEEP_LENGTH:
        _sweep(e)
        if e.sig is not sig or (sig.inside and _share(e)):  # realised or built anew by now
            return realize(e)
    if not worth_compiling(e):
        evaluate(e)
        return realize(e)
    now = snapshot(e)
    if now.sig is not sig:
        return realize(e)
    shape = now.dims
    try:
        storage = sig.allocate(nbytes)
        run_into(now, storage.ptr, contiguous_strides(shape))
    except KernelMissing:
        if sig.nodes <= 1:
            raise
        del storage, now
        sig.seen = NEVER
        evaluate(e)
        return realize(e)
    except Exception as error:
        error.add_note(f"while computing the deferred {sig!r} of shape {shape}")
        raise
    sig.runs += 1
    become(e, sig, sig.leaf, (storage.ptr,), (storage,))
    if large:
        _journal.forget(e)
    return realize(e)  # to which another thread may have given another expression


def run_into(e: Expression, address: int, strides: Strides) -> None:
    """Run an expression that is not a leaf, and that no other thread has, into existing memory: no temporary.

    Where its kernel is missing, on a machine without triton, it runs by the simpler ones that the archive has.
    """
    sig, shape = e.sig, e.dims
    packed = strides == contiguous_strides(shape)
    try:
        if not sig.general and packed and (sig.device.backend in OWN_BACKENDS or address % 16 == 0 or not sig.aligned):
            n = prod(shape)
            few = n <= fused.FEW and not warming.runs
            launcher = special_or_general(lambda general: fused.flat_launcher(sig, () if general else aliases(e), few))
            fused.run_flat(launcher, sig.block, e.args, address, n)
        else:
            geo = e.geo if sig.general else (contiguous_strides(shape),) * sig.leaves
            fused.run_general(sig, e.args, shape, geo, address, strides)
    except KernelMissing:
        if sig.nodes > 1:
            simpler = _copy(_Operands(e).take(sig))
        elif sig.kids and sig is copy_of(sig.kids[0]):  # nothing is simpler
            raise
        else:
            simpler = _uniform(e) if sig.kids else e
        if simpler.sig is sig:
            if packed:
                raise
            simpler = _copy(realize(simpler))
        run_into(simpler, address, strides)


def _uniform(e: Expression) -> Expression:
    """One operation over the same values, as packed arrays of the dtypes that it computes with."""
    sig, operands = e.sig, _Operands(e)
    parts = [operands.take(kid) for kid in sig.kids if kid is not SAME]
    if SAME in sig.kids:
        parts *= 2
    dtypes = [part.sig.dtype if isinstance(part, Expression) else part[0].dtype for part in parts]
    scalars = sig.op in TABLE and any(isinstance(part, Expression) for part in parts)
    kids: list[Sig] = []
    step = Expression()
    step.dims, step.args, step.keep = e.dims, (), ()
    for part, dtype in zip(parts, computed_dtypes(sig.op, sig.compute, sig.dtype, dtypes), strict=True):
        if not isinstance(part, Expression):
            if scalars and part[0].dtype == dtype:
                kids.append(part[0])
                step.args += part[1]
                continue
            fill = Expression()
            (fill.sig, fill.args), fill.dims, fill.keep = part, e.dims, ()
            part = fill
        array = realize(_copy(part) if part.sig.general else part)
        if array.sig.dtype != dtype:
            array = realize(_astype(array, dtype))
        kids.append(array.sig)
        step.args += array.args
        step.keep += array.keep
    step.sig = signature.operation(
        sig.op, tuple(kids), sig.compute, sig.dtype, sig.device, general=False, costly=sig.costly
    )
    return step


def aliases(e: Expression) -> tuple[tuple[int, int], ...]:
    """Array operands that repeat an earlier one, where reading them once is worth a kernel of its own."""
    if e.sig.leaves < 2 or prod(e.dims) < fused.rule(e.sig.device).block:
        return ()
    places = [(a, dtype) for a, dtype in zip(e.args, _leaf_dtypes(e.sig), strict=True) if dtype is not None]
    if len(set(places)) == len(places):
        return ()
    first: dict[Any, int] = {}
    pairs = []
    for k, place in enumerate(places):
        if first.setdefault(place, k) != k:
            pairs.append((k, first[place]))
    return tuple(pairs)


@lru_cache(maxsize=4096)
def _leaf_dtypes(sig: Sig) -> tuple[Any, ...]:
    """The dtypes of an expression's arguments that are addresses, None for those of scalars."""
    if sig.op == "leaf":
        return (sig.dtype,)
    if sig.op == "scalar":
        return (None,) * (2 if sig.dtype.kind == "c" else 1)
    return tuple(dtype for kid in sig.kids if kid is not SAME for dtype in _leaf_dtypes(kid))


class _Warmup(threading.local):
    """Whether this thread wants all kernels compiled."""

    runs = False


warming = _Warmup()


def worth_compiling(e: Expression, reduced: bool = False) -> bool:
    """Whether to compile the whole expression now, into its reduction if it is `reduced`.

    At first sight it runs operation by operation, unless it is large: chains of 1 to 11 terms must not compile 11
    kernels. What has few elements does so more often: a program of many small steps would compile each of them.
    """
    sig, n = e.sig, prod(e.dims)
    few = n <= fused.FEW
    if sig.nodes + (reduced and few and sig.op != "astype") <= 1:
        return True
    if not FUSE:
        return False
    sig.seen += 1 + fused.TRIALS if warming.runs else 1
    if few:
        return sig.seen > fused.TRIALS
    return sig.seen > 1 or (sig.seen == 1 and 2 * sig.nodes * n * sig.itemsize >= EARLY_BYTES)


def evaluate(e: Any) -> None:
    """Run an expression operation by operation, with the same bits as its one kernel has."""
    now = snapshot(e)
    if now.sig.op != "leaf":
        result = _Operands(now).take(now.sig)
        become(e, now.sig, result.sig, result.args, result.keep)


class _Operands:
    """The arguments of an expression, taken in the order of its signature's leaves.

    No closure over itself: that would be a cycle, and hold memory until the garbage collector comes by.
    """

    def __init__(self, e: Expression) -> None:
        self.dims, self.general = e.dims, e.sig.general
        self.args, self.keep, self.geo = iter(e.args), iter(e.keep), iter(e.geo if self.general else ())

    def take(self, sig: Sig) -> Any:
        """The value of a part of the expression: an array in memory, or a scalar's signature and arguments."""
        if sig.op == "leaf":
            part = Expression()
            part.sig, part.dims, part.args, part.keep = sig, self.dims, (next(self.args),), (next(self.keep),)
            if self.general:
                part.geo = (next(self.geo),)
                part.sig = signature.leaf(sig.dtype, sig.device, general=True, aligned=sig.aligned)
            return part
        if sig.op == "scalar":
            return sig, tuple(next(self.args) for _ in range(2 if sig.dtype.kind == "c" else 1))
        return self.run(sig, [self.take(kid) for kid in sig.kids if kid is not SAME])

    def run(self, sig: Sig, parts: list[Any]) -> Expression:
        """One operation over values."""
        same = SAME in sig.kids
        arrays = [part for part in parts if isinstance(part, Expression)]
        kids = tuple(part.sig if isinstance(part, Expression) else part[0] for part in parts) + (
            (SAME,) if same else ()
        )
        step = Expression()
        is_general = any(part.sig.general for part in arrays)
        step.sig = signature.operation(
            sig.op, kids, sig.compute, sig.dtype, sig.device, general=is_general, costly=sig.costly
        )
        step.dims = self.dims
        step.args = tuple(a for part in parts for a in (part.args if isinstance(part, Expression) else part[1]))
        step.keep = tuple(k for part in arrays for k in part.keep)
        if is_general:
            step.geo = tuple(part.geo[0] if part.sig.general else contiguous_strides(self.dims) for part in arrays)
        return realize(step)


# -------------------------------------------------------------------------------------------------------- sharing


def _share(e: Expression) -> bool:
    """Realise a large expression together with the expensive parts of it that something else refers to.

    Storing such a part from the kernel that computes it anyway was the cheapest of the ways tried; realising it by
    itself at its second use the dearest. Expressions made of a part that has been realised since are built anew on it.
    True if the expression is now another one, or a leaf.
    """
    n, before = prod(e.dims), e.sig
    if n * before.itemsize <= SWEEP_BYTES or before.general:
        return False
    _rebuild(e)
    parts = dict(_wanted(e, ()))
    if not parts or not before.seen:
        return e.sig is not before
    now = snapshot(e)
    outputs = [(e, now.sig), *((x, x.sig) for x in parts.values())]
    if any(sig.op == "leaf" for _, sig in outputs):
        return True
    try:
        launcher = fused.shared_launcher(now.sig, tuple(parts))
    except KernelMissing:
        return e.sig is not before
    storages = [sig.allocate(n * sig.itemsize) for _, sig in outputs]
    addresses = tuple(storage.ptr for storage in storages)
    launcher.spread((*now.args, *addresses, n), -(-n // now.sig.block), 1, 1)
    now.sig.runs += 1
    for (x, sig), storage in zip(outputs, storages, strict=True):
        become(x, sig, sig.leaf, (storage.ptr,), (storage,))
    return True


def _wanted(e: Expression, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Expression]]:
    """The expensive pending parts of an expression that have other references, by their place in its signature."""
    sources = getattr(e, "sources", ())
    places = _places(e.sig)
    if len(sources) != len(places):  # an array of one value counts as a scalar
        return
    for k, place in enumerate(places):
        external = getrefcount(sources[k]) > 2  # beside the tuple of sources and the argument
        part, here = sources[k], (*path, place)
        if part.sig.op == "leaf" or part.dims != e.dims:
            continue
        if part.sig.costly and external:
            yield here, part
        elif part.sig.inside:
            yield from _wanted(part, here)


def _places(sig: Sig) -> list[int]:
    """Which operands of an operation are arrays that bring data of their own."""
    return [k for k, kid in enumerate(sig.kids) if kid is not SAME and kid.leaves]


def _rebuild(e: Expression) -> None:
    """Build an expression anew on those of its parts that lie in memory by now."""
    sources = getattr(e, "sources", ())
    now = snapshot(e)
    sig, places = now.sig, _places(now.sig)
    if len(sources) != len(places) or any(x.dims != now.dims or x.sig.general for x in sources):
        return
    for source in sources:
        if source.sig.inside:
            _rebuild(source)
    parts = [snapshot(source) for source in sources]
    part_at = dict(zip(places, parts, strict=True))
    args: list[Any] = []
    kids: list[Sig] = []
    position = 0
    for k, kid in enumerate(sig.kids):
        count = 0 if kid is SAME else len(_leaf_dtypes(kid))
        part = part_at.get(k)
        if part is None:
            kids.append(kid)
            args += now.args[position : position + count]
        else:
            kids.append(part.sig)
            args += part.args
        position += count
    if tuple(kids) != sig.kids:
        keep = tuple(storage for part in parts for storage in part.keep)
        new = signature.operation(
            sig.op, tuple(kids), sig.compute, sig.dtype, sig.device, general=False, costly=sig.costly
        )
        become(e, sig, new, tuple(args), keep)


# -------------------------------------------------------------------------------------------------------- writing


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
    if _notes or storage.readers:
        for reader in _journal.take_readers(storage, value):
            realize(reader)
    now = snapshot(value)
    reads_target = storage in now.keep
    if reads_target and (_may_change(target, now) or not _reads_where_it_writes(target, now)):
        now = realize(_copy(now)) if now.sig.op == "leaf" else snapshot(realize(value))
    if now.sig.op == "leaf":
        reads_target = False
    sig = target.sig
    fill(target, now)
    if now.sig.op != "leaf" and value.sig is not now.sig and not reads_target:
        fill(target, value)
    if reads_target and value.args is now.args:  # what else refers to it shall have the value of before
        copied, geo = copy_of(sig), target.geo if sig.general else ()
        operands, sources = value.keep, getattr(value, "sources", ())
        value.sig, value.args, value.keep, value.geo, value.sources = copied, target.args, target.keep, geo, ()
        del operands, sources
        if not (_notes and _notes[-1] is value):  # a second note would look like somebody's reference
            _notes.append(value)


def fill(target: Expression, value: Expression) -> None:
    """Evaluate `value`, of the target's shape and dtype, into the memory of `target`, which nothing pending reads and
    `value` only at the places that it writes."""
    now = snapshot(value)
    before = now.sig
    if before.op == "leaf":
        now = _copy(now)
    sig, address = target.sig, target.args[0]
    flat = now.sig.flat
    if (
        flat is not None
        and not sig.general
        and not now.sig.general
        and (sig.inner is not None or ((address % 16 == 0 or not now.sig.aligned) and now.sig.leaves < 2))
    ):
        fused.run_flat(flat, now.sig.block, now.args, address, prod(target.dims))
    else:
        run_into(now, address, strides_of(target))
    if value.sig is not before:
        fill(target, value)


def _may_change(target: Expression, value: Expression) -> bool:
    """Whether other threads may write to what `value` reads beside the target: once begun, it cannot be done again."""
    return _journal.several_write and value.sig.nodes > 1 and any(x is not target.keep[0] for x in value.keep)


def _reads_where_it_writes(target: Expression, value: Expression) -> bool:
    """Whether `value` reads the target's storage only at the very elements that it writes."""
    storage = target.keep[0]
    own = target.geo[0] if target.sig.general else contiguous_strides(target.dims)
    leaves = [(a, dtype) for a, dtype in zip(value.args, _leaf_dtypes(value.sig), strict=True) if dtype is not None]
    geo = value.geo if value.sig.general else (contiguous_strides(value.dims),) * len(leaves)
    return all(
        keeper is not storage
        or (
            address == target.args[0]
            and dtype.itemsize == target.sig.itemsize
            and _same_places(target.dims, strides, own)
        )
        for (address, dtype), strides, keeper in zip(leaves, geo, value.keep, strict=True)
    )


def copy_of(sig: Sig) -> Sig:
    """The signature of a copy of an expression."""
    copied = sig.unary.get("copy")
    if copied is None:
        copied = sig.unary["copy"] = signature.operation(
            "astype", (sig,), None, sig.dtype, sig.device, general=sig.general
        )
    return copied


def _copy(value: Expression) -> Expression:
    """The expression that copies a value in memory."""
    return _astype(value, value.sig.dtype)


def _astype(value: Expression, dtype: Any) -> Expression:
    """The expression of a value in memory in another dtype."""
    sig = value.sig
    cast = Expression()
    cast.sig = (
        copy_of(sig)
        if dtype == sig.dtype
        else signature.operation("astype", (sig,), None, dtype, sig.device, general=sig.general)
    )
    cast.dims, cast.args, cast.keep = value.dims, value.args, value.keep
    if sig.general:
        cast.geo = value.geo
    return cast


def _same_places(shape: tuple[int, ...], a: Strides, b: Strides) -> bool:
    return all(size == 1 or x == y for size, x, y in zip(shape, a, b, strict=True))
