"""Calling element-wise functions: from operands to deferred expressions.

Dtype, shape and device errors are raised here, when a function is called, never when its result is realised.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from nbx_array._expression import Expression, Strides, defer, describe, realize, snapshot
from nbx_array.backend import detect
from nbx_array.backend.contract import Device
from nbx_array.kernels import signature
from nbx_array.kernels.pointwise import TABLE, UnsupportedDtype, resolve
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.kernels.types import DtypeAbsent, check_device, default_complex, default_float, kind
from nbx_array.memory.view import broadcast_shapes, contiguous_strides

LIMIT_NODES = 32
"""An operand of this many operations is realised before it is built upon."""
LIMIT_ARGUMENTS = 16
"""Likewise an operand of this many arrays and scalars: `y + y` doubles them."""


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

SEQUENCES = (list, tuple, range)
"""What is taken for an array of the numbers and sequences in it."""


def operands_of(name: str, operands: Sequence[object]) -> tuple[list[Any], Device]:
    """Operands ready to be combined: arrays, at least one, or scalars. TypeError names `name`.

    Nested sequences become arrays; so do scalars where no operand is an array.
    """
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
        elif isinstance(operand, SEQUENCES):
            return operands_of(name, _as_arrays(name, operands))
        elif not isinstance(operand, (*_WEAK, np.generic)):
            hint = "; convert it with nbx_array.asarray" if hasattr(operand, "__array__") else ""
            raise TypeError(f"{name}: {describe(operand)} is no array or scalar{hint}")
        ready.append(operand)
    return (ready, device) if device is not None else operands_of(name, _as_arrays(name, ready))


def _as_arrays(name: str, operands: Sequence[Any]) -> list[Any]:
    """Operands with sequences as arrays; if none is one, NumPy's scalars; if there are none of these, all scalars."""
    from nbx_array._creation import _array

    where = next((x.sig.device for x in operands if isinstance(x, Expression)), None)
    made = [_array(x, name, where) if isinstance(x, SEQUENCES) else x for x in operands]
    if not any(isinstance(x, Expression) for x in made):
        made = [_array(x, name) if isinstance(x, np.generic) else x for x in made]
    if not any(isinstance(x, Expression) for x in made):
        made = [_of_number(x, name) for x in made]
    return made


def _of_number(x: Any, name: str) -> Any:
    """A Python number where no operand is an array: the expression of its value, for which nothing is copied."""
    from nbx_array._creation import _array, filled

    device = detect.default_device()
    if type(x) is float:
        return filled((), x, default_float(device), device, name)
    if type(x) is int and -(2**63) <= x < 2**63:
        return filled((), x, np.dtype(np.int64), device, name)
    return _array(x, name)


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
    if len(operands) > 2:
        found = combined(cls, name, operands)
        if found is not None:
            return found
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
        if kind(compute) == "f" and not weak and all(kind(dtype) in "iu" for dtype in dtypes):
            compute = np.dtype(np.int64)  # uint64 with a signed integer: exact, and not in their common float64
        constant = _compare_out_of_range(name, ready, compute)
        if constant is not None:
            return constant
    try:
        check_device(compute, device)
    except DtypeAbsent as error:
        raise DtypeAbsent(f"{name}: {error}; given {', '.join(map(describe, ready))}") from None
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


@lru_cache(maxsize=64)
def _limits(dtype: np.dtype) -> tuple[int, int]:
    """The least and the largest integer of a dtype."""
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def scalar_arguments(name: str, value: Any, dtype: np.dtype) -> tuple[Any, ...]:
    """A scalar as kernel arguments of the given dtype; OverflowError for an int that does not fit."""
    k = kind(dtype)
    if k == "b":
        return (bool(value),)
    if k in "iu":
        number = int(value)
        least, most = _limits(dtype)
        if not least <= number <= most:
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
    originals = [x for x in operands if isinstance(x, Expression)]
    frozen = {id(x): snapshot(x) for x in originals}
    given, operands = operands, [frozen.get(id(x), x) for x in operands]
    kids: list[Sig] = []
    args: tuple[Any, ...] = ()
    keep: tuple[Any, ...] = ()
    arrays = [x for x in operands if isinstance(x, Expression)]
    same = len(arrays) == len(operands) == 2 and arrays[0] is arrays[1] and arrays[0].sig.read is None
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
    shape = arrays[0].dims
    general = any(kid.general for kid in kids) or any(x.dims != shape for x in arrays)
    new = cls()
    new.sig = signature.operation(op, tuple(kids), compute, result, device, general=general, costly=costly)
    new.args = args
    new.keep = keep
    if general:
        new.dims, new.geo = broadcast_operands(op, *map(layout, arrays[:1] if same else arrays))
    else:
        new.dims = shape
    if new.sig.inside:
        new.sources = tuple(originals[:1] if same else originals)
    _remember(op, new.sig, operands, same)
    if _of_elements(new):
        return _settled(new)
    defer(new)
    for x in originals:
        if x.sig is not frozen[id(x)].sig:  # see the module `_expression`
            return combine(cls, op, compute, result, given, device, costly=costly)
    return new


def combined(cls: type[Any], op: str, operands: tuple[Any, ...]) -> Any:
    """The expression of an operation where operands of such kinds have been combined before, or None. Kinds decide all
    but the scalars' values: signatures of arrays, types of Python scalars. None for an int that does not fit."""
    kinds: list[object] = [op]
    arrays: list[Any] = []
    for x in operands:
        if type(x) is cls:
            x = snapshot(x)
            arrays.append(x)
            kinds.append(x.sig)
        else:
            kinds.append(type(x))
    if not arrays:
        return None
    shape = arrays[0].dims
    alike = True
    for x in arrays:
        if x.dims != shape:
            alike = False
    kinds.append(alike)
    sig = arrays[0].sig.successors.get(tuple(kinds))
    if sig is None:
        return None
    new = cls()
    new.args = new.keep = ()
    found = iter(arrays)
    for x, kid in zip(operands, sig.kids, strict=True):
        if type(x) is cls:
            now = next(found)
            new.args += now.args
            new.keep += now.keep
        else:
            try:
                new.args += scalar_arguments(op, x, kid.dtype)
            except OverflowError:  # an error, or a comparison with it
                return None
    new.sig, new.dims = sig, shape
    if sig.general:
        new.dims, new.geo = broadcast_operands(op, *map(layout, arrays))
    if sig.inside:
        new.sources = tuple([x for x in operands if type(x) is cls])
    if _of_elements(new):
        return _settled(new)
    defer(new)
    found = iter(arrays)
    for x in operands:
        if type(x) is cls and x.sig is not next(found).sig:  # see the module `_expression`
            return combined(cls, op, operands)
    return new


def _of_elements(new: Any) -> bool:
    """Whether an expression is of nothing but numbers that are known: elements that were read on the CPU, scalars."""
    return not new.keep and not new.dims and new.sig.leaf.element is not None


_cells: list[tuple[int, Any]] = []
"""Memory for one element each, and its address: taken while one is computed, by a finaliser in between, too."""


def _settled(new: Any) -> Any:
    """An expression of elements is computed at once, and is an element like them: NumPy's scalars make scalars."""
    sig = new.sig
    element = sig.leaf.element
    if sig.flat is None:
        realize(new)
        value = element.read(new.args[0]).value
    else:
        try:
            cell = _cells.pop()
        except IndexError:
            memory = (ctypes.c_int64 * 2)()
            cell = ctypes.addressof(memory), memory
        sig.flat.run(*new.args, cell[0], 1, 1, 1, 1)
        sig.runs += 1
        value = element.read(cell[0]).value
        _cells.append(cell)
    new.args = (value,) if type(value) is not complex else (value.real, value.imag)
    new.sig, new.keep = element, ()
    return new


def _remember(op: str, sig: Sig, operands: list[Any], same: bool) -> None:
    """Fill the fast tables: one array, two arrays, or an array and a Python float that becomes one float argument.

    A strided or broadcast result goes to `successors`, which the fast path does not look at; so does what `combined`
    and `cast` look up.
    """
    if op == "astype":
        operands[0].sig.successors[op, sig.dtype] = sig
        return
    if op not in TABLE and op != "where":
        return
    if len(operands) > 2 or any(isinstance(x, Expression) and x.sig.read is not None for x in operands):
        _remember_kinds(op, sig, operands)
        return
    first, second = operands[0], operands[-1]
    key: object
    if len(operands) == 1:
        first.sig.unary[op] = sig
        return
    if isinstance(first, Expression) and isinstance(second, Expression):
        owner, table, key = first.sig, first.sig.binary, SAME if same else second.sig
    elif sig.compute is None or kind(sig.compute) != "f" or float not in (type(first), type(second)):
        _remember_kinds(op, sig, operands)
        return
    elif type(second) is float:
        owner, table, key = first.sig, first.sig.binary, float
    else:
        owner, table, key = second.sig, second.sig.reflected, float
    if sig.general:
        owner.successors[op, key, table is owner.reflected] = sig
    else:
        table.setdefault(op, {})[key] = sig


def _remember_kinds(op: str, sig: Sig, operands: list[Any]) -> None:
    """What `combined` looks up."""
    arrays = [x for x in operands if isinstance(x, Expression)]
    if all(isinstance(x, Expression) or type(x) in _WEAK for x in operands):
        alike = all(x.dims == arrays[0].dims for x in arrays)
        kinds = (x.sig if isinstance(x, Expression) else type(x) for x in operands)
        arrays[0].sig.successors[op, *kinds, alike] = sig


Layout = tuple[tuple[int, ...], tuple[Strides, ...] | None, int]


def layout(x: Expression) -> Layout:
    """Shape, strides where they are not contiguous, and number of array operands."""
    return x.dims, x.geo if x.sig.general else None, x.sig.leaves


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
