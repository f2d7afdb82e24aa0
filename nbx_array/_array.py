"""The array object of the standard."""

from __future__ import annotations

import cmath
import operator
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from math import inf, prod
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbx_array import _elements, _indexing, _journal
from nbx_array._expression import (
    FUSE,
    Expression,
    become,
    begin,
    copy_of,
    defer,
    describe,
    first_run,
    from_view,
    over_memory,
    realize,
    snapshot,
    strides_of,
    value_of,
    write,
)
from nbx_array._inspection import API_VERSIONS
from nbx_array._methods import Methods
from nbx_array._operations import (
    SEQUENCES,
    apply,
    broadcast_operands,
    combine,
    combined,
    layout,
    operands_of,
    promote,
    scalar_arguments,
)
from nbx_array.backend import detect, locks
from nbx_array.backend.contract import Device, DeviceError, get_device
from nbx_array.kernels.signature import SAME, Sig, leaf, scalar, single
from nbx_array.kernels.types import component, type_row
from nbx_array.memory import transfer
from nbx_array.memory.storage import any_shared, share
from nbx_array.memory.streams import current_stream
from nbx_array.memory.view import (
    View,
    basic_index,
    broadcast_strides,
    contiguous_strides,
    infer_shape,
    reshape_strides,
)

if TYPE_CHECKING:
    from nbx_array import _fastpath

_push: Callable[[Any], Any] = _journal.notes.append  # `_carefully` where deferring is off or may be unsafe
_BOOL = np.dtype(np.bool_)
_operators: dict[Any, tuple[str, str, Any]] = {}  # methods with a native form: table, key, what is called at a miss


class Operator(NamedTuple):
    """A Python method that native code can stand in for."""

    method: Callable[..., Any]
    kind: str  # the table of the signature that it looks in
    operation: str  # its key there
    missed: Callable[..., Any]  # the rest of the method, for operands that are not in the table


_native: _fastpath.Native | None = None  # the operators' native methods and `unary`, once they are compiled
_changing = locks.lock()  # held while the ways of deferring change


def defer_carefully() -> None:
    """Look at each new expression before it is deferred: some memory is shared with other code, or fusion is off."""
    global _push, unary
    with _changing:
        _push, unary = _carefully, _native.careful_function if _native else _one_array
        for name, row in OPERATORS.items():
            setattr(Array, name, _native.careful[name] if _native else row.method)


def _carefully(new: Array) -> Array:
    """`_push` while memory is shared; from the first expression on for which none is any more, the quick one again."""
    if FUSE and not any_shared():
        with _changing:
            if not any_shared():  # whoever shares memory does so first, then defers carefully
                _defer_quickly()
    return defer(new)


def _defer_quickly() -> None:
    global _push, unary
    _push, unary = _journal.notes.append, _native.quick_function if _native else _one_array
    for name, row in OPERATORS.items():
        setattr(Array, name, _native.quick[name] if _native else row.method)


@first_run
def _install() -> None:
    """Have native code take over when the first kernel runs: compiling it takes 15 ms the first time on a machine."""
    global _native
    from nbx_array import _fastpath

    with _changing:
        _native = _fastpath.install(Array, OPERATORS, _IN_PLACE, _one_array)
        if _push is _carefully:
            defer_carefully()
        else:
            _defer_quickly()


def _binary(name: str) -> Callable[[Any, Any], Any]:
    """An operator method. Its fast path is two dictionary look-ups; everything else is `_slow_binary`'s."""

    def method(self: Array, other: Any, /) -> Any:
        before, args, keep = self.sig, self.args, self.keep
        right = None
        try:
            if type(other) is Array:
                if other is self:
                    sig = before.binary[name][SAME]
                else:
                    right, more, kept = other.sig, other.args, other.keep
                    sig = before.binary[name][right]
                    if self.dims != other.dims:
                        return _slow_binary(name, self, other)
                    args = args + more
                    keep = keep + kept
            else:
                sig = before.binary[name][type(other)]
                args = (*args, other)
        except KeyError:
            return _slow_binary(name, self, other)
        new = Array()
        new.sig = sig
        new.dims = self.dims
        new.args = args
        new.keep = keep
        if sig.inside:
            new.sources = (self, other) if right is not None else (self,)
        _push(new)
        if self.sig is not before or (right is not None and other.sig is not right):  # see the module `_expression`
            return method(self, other)
        return new

    def missed(self: Array, other: Any, /) -> Any:
        return _slow_binary(name, self, other)

    _operators[method] = "binary", name, missed
    return method


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def missed(self: Array, other: Any, /) -> Any:
        if _is_scalar(other) or isinstance(other, (*SEQUENCES, np.ndarray)):  # of a subclass with operators of its own
            return _slow_binary(name, other, self)
        return NotImplemented

    def method(self: Array, other: Any, /) -> Any:
        before, args, keep = self.sig, self.args, self.keep
        try:
            sig = before.reflected[name][type(other)]
        except KeyError:
            return missed(self, other)
        new = Array()
        new.sig = sig
        new.dims = self.dims
        new.args = (other, *args)
        new.keep = keep
        if sig.inside:
            new.sources = (self,)
        _push(new)
        return new if self.sig is before else method(self, other)

    _operators[method] = "reflected", name, missed
    return method


_PYTHON_SCALARS = (int, float, complex, bool)


def _is_scalar(other: object) -> bool:
    return isinstance(other, (bool, int, float, complex, np.generic))


def repeats(name: str, left: Any, right: Any) -> bool:
    """Whether an operator is Python's `[0] * n`: an element or a sum counts as NumPy's scalar does, not as an array."""
    sequence, number = (left, right) if isinstance(right, Array) else (right, left)
    if name != "multiply" or not isinstance(sequence, (list, tuple)):
        return False
    return not number.dims and number.sig.dtype.kind in "iu"


def _slow_binary(name: str, left: Any, right: Any) -> Any:
    """An operator off the fast path: strided or broadcast operands, ints that stand for floats, all that is new."""
    if (type(left) is Array and left.sig.read is not None) or (type(right) is Array and right.sig.read is not None):
        found = _with_elements(name, left, right)
        if found is None:
            found = combined(Array, name, (left, right))
        if found is not None:
            return found
    new: Array | None = None
    if type(right) is int and type(left) is Array and left.sig.dtype.kind == "f" and abs(right) < 2**53:
        right = float(right)
        before, args, keep = left.sig, left.args, left.keep
        sig = before.binary.get(name, {}).get(float)
        if sig is not None:
            new = _deferred(sig, left.dims, (*args, right), keep, source=left)
            return new if left.sig is before else _slow_binary(name, left, right)
    elif type(left) is int and type(right) is Array and right.sig.dtype.kind == "f" and abs(left) < 2**53:
        left = float(left)
        before, args, keep = right.sig, right.args, right.keep
        sig = before.reflected.get(name, {}).get(float)
        if sig is not None:
            new = _deferred(sig, right.dims, (left, *args), keep, source=right)
            return new if right.sig is before else _slow_binary(name, left, right)
    x = snapshot(left) if type(left) is Array else left
    y = x if right is left else snapshot(right) if type(right) is Array else right
    if type(left) is Array:
        if type(right) is Array:
            sig = x.sig.successors.get((name, SAME if left is right else y.sig, False))
            if sig is not None:
                parts = (layout(x),) if left is right else (layout(x), layout(y))
                shape, geo = broadcast_operands(name, *parts)
                args, keep = (x.args, x.keep) if left is right else (x.args + y.args, x.keep + y.keep)
                new = _deferred(sig, shape, args, keep, geo)
        elif type(right) is float:
            sig = x.sig.successors.get((name, float, False))
            if sig is not None:
                new = _deferred(sig, x.dims, (*x.args, right), x.keep, x.geo)
    elif type(left) is float:
        sig = y.sig.successors.get((name, float, True))
        if sig is not None:
            new = _deferred(sig, y.dims, (left, *y.args), y.keep, y.geo)
    if new is not None:
        if (x is not left and x.sig is not left.sig) or (y is not right and y.sig is not right.sig):
            return _slow_binary(name, left, right)  # see the module `_expression`
        return new
    other = right if isinstance(left, Array) else left
    if type(other) in _PYTHON_SCALARS:
        found = combined(Array, name, (left, right))
        if found is not None:
            return found
    if repeats(name, left, right):
        return NotImplemented
    if not isinstance(other, (Array, *SEQUENCES)) and not _is_scalar(other):
        if isinstance(other, np.ndarray):
            ours = left if isinstance(left, Array) else right
            new = beside_ndarray(name, other, ours.device)
            return apply(Array, name, *((new, right) if left is other else (left, new)))
        return NotImplemented
    return apply(Array, name, left, right)


def beside_ndarray(name: str, ndarray: np.ndarray, device: Device) -> Array:
    """An ndarray that meets our arrays in an operator, an assignment or a universal function, as one of ours: on the
    CPU, where it is copied as `asarray` does. TypeError on a GPU, where nothing moves unseen, for what is no number,
    and for a subclass that NumPy's arrays would leave the operator to: its elements are not all that it means (a mask,
    a unit)."""
    if device.backend != "cpu" or ndarray.dtype.kind not in "biufc" or ndarray.__array_priority__ > 0:
        kind = type(ndarray)
        raise TypeError(
            f"{name}: a {kind.__module__}.{kind.__name__} does not mix with nbx_array arrays; convert it with "
            "nbx_array.asarray"
        )
    return from_numpy(ndarray, device)


def _with_elements(name: str, left: Any, right: Any) -> Array | None:
    """An operator where an operand is an element that was read; None for what takes the way of all arrays."""
    sig = left.sig if type(left) is Array else right.sig
    if type(left) is Array is type(right) and left.sig is not right.sig:
        return None
    a, b = (value_of(x) if type(x) is Array else _elements.number_for(sig, x) for x in (left, right))
    compute = _elements.TABLES[sig.dtype.str[1:]].get(name)
    if compute is None or a is None or b is None:
        return None
    function, is_truth = compute
    value = function(a, b)
    return None if value is None else element_of(leaf(_BOOL, sig.device).element if is_truth else sig, value)


MANY_STEPS = 2000
"""Elements that Python makes before native code is fetched for them, where no kernel has run before."""
_steps = 0


def element_of(sig: Any, value: Any) -> Array:
    """An element with its value: nothing pending, nothing in memory."""
    global _steps
    _steps += 1
    if _steps == MANY_STEPS:
        begin()
    new = Array()
    new.sig = sig
    new.dims = ()
    new.args = (value,) if type(value) is not complex else (value.real, value.imag)
    new.keep = ()
    return new


def settle_in_memory(x: Array) -> Array:
    """Realise an array that is to be written to. An element that was read is no value any more from then on."""
    now = realize(x)
    if now is not x:
        x.sig, x.args, x.keep = now.sig, now.args, now.keep
    return x


def settled(new: Array) -> Array:
    """What was computed into memory of its own, as an element if it is one and the CPU has it."""
    element: Any = new.sig.element
    if element is None or new.dims:
        return new
    return element_of(element, element.read(new.args[0]).value)


def _deferred(
    sig: Sig,
    shape: tuple[int, ...],
    args: tuple[Any, ...],
    keep: tuple[Any, ...],
    geo: Any = None,
    source: Array | None = None,
) -> Array:
    new = Array()
    new.sig = sig
    new.dims = shape
    new.args = args
    new.keep = keep
    new.geo = geo
    if sig.inside and source is not None:
        new.sources = (source,)
    _push(new)
    return new


def _one_array(name: str, x: Any) -> Any:
    """A function of one array: a look-up in the signature's table, or the slow path."""
    if type(x) is Array:
        before, args, keep = x.sig, x.args, x.keep
        geo: Any = x.geo if before.general else None
        sig = before.unary.get(name)
        if sig is not None:
            new = Array()
            new.sig = sig
            new.dims = x.dims
            new.args = args
            new.keep = keep
            if sig.general:
                new.geo = geo
            if sig.inside:
                new.sources = (x,)
            _push(new)
            return new if x.sig is before else _one_array(name, x)
        if before.read is not None:
            new = combined(Array, name, (x,))
            if new is not None:
                return new
    return apply(Array, name, x)


unary = _one_array


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Array, /) -> Any:
        return _one_array(name, self)

    _operators[method] = "unary", name, method
    return method


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    plain = f"__{name}__"

    def method(self: Array, other: Any, /) -> Any:
        result = getattr(self, plain)(other)
        if result is NotImplemented or self.sig.read is not None:  # an element stays what it is, as NumPy's scalars
            return result
        return assign_in_place(self, result, name)

    return method


def _set_shape(self: Array, shape: Any) -> None:
    """Another shape for the same memory, as NumPy assigns it; AttributeError where that would take a copy."""
    view = self.memory()
    try:
        dims = infer_shape(self.size, shape if isinstance(shape, (tuple, list)) else (shape,))
    except (TypeError, ValueError) as error:
        raise type(error)(f"shape: {error}") from None
    strides = reshape_strides(view.shape, view.strides, dims)
    if strides is None:
        raise AttributeError(f"shape: {view.shape} does not become {dims} in place; use nbx_array.reshape for a copy")
    new = from_view(Array, view._replace(shape=dims, strides=strides))
    self.sig, self.dims, self.args, self.keep, self.geo = new.sig, new.dims, new.args, new.keep, new.geo


_QUESTIONS: dict[str, Callable[[Any], bool]] = {
    "astype": bool,
    "logical_not": operator.not_,
    "isnan": lambda x: x != x,
    "isinf": cmath.isinf,
    "isfinite": cmath.isfinite,
}
"""Operations that give a bool, answered on the host once the element that they are about is read: `bool(isnan(max(x)))`
launches nothing after the maximum, and compiles nothing."""


class Array(Methods, Expression):
    """An n-dimensional array of the Python array API standard.

    Arrays are made by the functions of the namespace (`nbx_array.asarray`, `zeros`, ...), never by calling this class.
    An array is either in memory or a deferred element-wise expression; which of the two shows only in `explain` and
    in the time that things take.
    """

    __slots__ = ()

    __class_getitem__: Any = classmethod(GenericAlias)

    # ------------------------------------------------------------------------------------------------- attributes

    if TYPE_CHECKING:
        shape: tuple[int, ...]
    else:
        shape = Expression.shape.setter(_set_shape)

    @property
    def dtype(self) -> np.dtype:
        """Data type of the elements, a numpy.dtype."""
        return self.sig.dtype

    @property
    def device(self) -> Device:
        """The device whose memory holds the array, such as `cpu` or `cuda:0`."""
        return self.sig.device

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.sig.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.sig.itemsize

    # -------------------------------------------------------------------------------------------------- operators

    __add__ = _binary("add")
    __sub__ = _binary("subtract")
    __mul__ = _binary("multiply")
    __truediv__ = _binary("divide")
    __floordiv__ = _binary("floor_divide")
    __mod__ = _binary("remainder")

    def __divmod__(self, other: Any, /) -> Any:
        quotient = self // other
        return quotient if quotient is NotImplemented else (quotient, self % other)

    def __rdivmod__(self, other: Any, /) -> Any:
        return other // self, other % self

    __and__ = _binary("bitwise_and")
    __or__ = _binary("bitwise_or")
    __xor__ = _binary("bitwise_xor")
    __lshift__ = _binary("bitwise_left_shift")
    __rshift__ = _binary("bitwise_right_shift")
    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")
    __eq__ = _binary("equal")
    __ne__ = _binary("not_equal")

    def __hash__(self) -> int:
        """That of the element: what NumPy has as a scalar is an array of no dimension here."""
        if self.shape:
            raise TypeError("unhashable type: 'Array'")
        value = self.item()
        return hash(value) if value == value else object.__hash__(self)  # Python hashes NaN by identity, and so here

    __radd__ = _reflected("add")
    __rsub__ = _reflected("subtract")
    __rmul__ = _reflected("multiply")
    __rtruediv__ = _reflected("divide")
    __rfloordiv__ = _reflected("floor_divide")
    __rmod__ = _reflected("remainder")
    __rand__ = _reflected("bitwise_and")
    __ror__ = _reflected("bitwise_or")
    __rxor__ = _reflected("bitwise_xor")
    __rlshift__ = _reflected("bitwise_left_shift")
    __rrshift__ = _reflected("bitwise_right_shift")

    __iadd__ = _in_place("add")
    __isub__ = _in_place("sub")
    __imul__ = _in_place("mul")
    __itruediv__ = _in_place("truediv")
    __ifloordiv__ = _in_place("floordiv")
    __imod__ = _in_place("mod")
    __ipow__ = _in_place("pow")
    __iand__ = _in_place("and")
    __ior__ = _in_place("or")
    __ixor__ = _in_place("xor")
    __ilshift__ = _in_place("lshift")
    __irshift__ = _in_place("rshift")

    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("abs")
    __invert__ = _unary("bitwise_invert")

    def __matmul__(self, other: Any, /) -> Any:
        if isinstance(other, np.ndarray):
            other = beside_ndarray("matmul", other, self.device)
        return _matmul(self, other) if isinstance(other, (Array, list, tuple)) else NotImplemented

    def __rmatmul__(self, other: Any, /) -> Any:
        return _matmul(other, self) if isinstance(other, (Array, list, tuple)) else NotImplemented

    def __imatmul__(self, other: Any, /) -> Any:
        return assign_in_place(self, self @ other, "matmul")

    def __pow__(self, other: Any, /) -> Any:
        return unary("square", self) if type(other) is int and other == 2 else power(self, other)

    def __rpow__(self, other: Any, /) -> Any:
        return power(other, self)

    # ------------------------------------------------------------------------------------- namespace and exchange

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module `nbx_array`; ValueError for a version of the standard that it does not implement."""
        if api_version is not None and api_version not in API_VERSIONS:
            raise ValueError(
                f"__array_namespace__: unknown api_version {api_version!r}; known: {', '.join(API_VERSIONS)}"
            )
        return sys.modules["nbx_array"]

    @property
    def T(self) -> Array:
        """A view with the axes reversed."""
        strides = strides_of(self)
        return view_of(self, self.dims[::-1], strides[::-1])

    @property
    def mT(self) -> Array:
        """A view of a stack of matrices, each transposed; ValueError for fewer than two dimensions."""
        shape, strides = self.dims, strides_of(self)
        if len(shape) < 2:
            raise ValueError(f"mT: expected at least 2 dimensions, got shape {shape}")
        return view_of(self, (*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]))

    @property
    def real(self) -> Array:
        """The real part: a view of a complex array, the array itself of a real dtype."""
        return part("real", self)

    @real.setter
    def real(self, value: Any) -> None:
        _writable_part("real", self)[...] = value

    @property
    def imag(self) -> Array:
        """The imaginary part: a view of a complex array; zeros for a real dtype."""
        return part("imag", self) if self.dtype.kind == "c" else filled(self.shape, 0, self.dtype, self.device, "imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError(f"imag: an array of dtype {self.dtype} has no imaginary part to set")
        _writable_part("imag", self)[...] = value

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """The array on a device: itself if it lies there, else a copy.

        `stream` is a native stream handle of the device that the array leaves, after whose work the copy is made.
        """
        target = detect.find_device(device)
        if target is self.sig.device:
            return self
        if stream is not None:
            raise ValueError(f"to_device: stream {stream!r} is not taken; the copy follows the array's own stream")
        view = packed(self).memory()
        storage = transfer.to_device(view, target)
        return from_view(Array, View(storage, view.dtype, view.shape, contiguous_strides(view.shape), 0))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the array. Without `copy=True` its memory is shared from now on, and no longer part of
        deferred expressions. Standard: array object, `__dlpack__`."""
        from nbx_array import _dlpack

        view = self.memory()
        leaves = dl_device is not None and tuple(dl_device) != self.__dlpack_device__()
        if self.sig.general and (copy or (leaves and copy is not False)) and self.sig.device.backend != "cpu":
            view = packed(self).memory()
        capsule = _dlpack.to_capsule(view, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if view.storage.shared:
            open_to_others(view.storage)
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's type and number of the array's device."""
        from nbx_array import _dlpack

        return _dlpack.dlpack_device(self.sig.device)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array for other CUDA libraries, version 3; AttributeError on another device. Shares the memory."""
        if self.sig.device.backend != "cuda":
            raise AttributeError(f"__cuda_array_interface__: the array lies on {self.sig.device}")
        view = self.memory()
        share(view.storage)
        open_to_others(view.storage)
        itemsize = view.dtype.itemsize
        return {
            "shape": view.shape,
            "typestr": view.dtype.str,
            "data": (view.address if view.size else 0, False),
            "strides": None if not self.sig.general else tuple(stride * itemsize for stride in view.strides),
            "stream": current_stream(view.storage.device) or 1,
            "version": 3,
        }

    # --------------------------------------------------------------------------------------------------- indexing

    def __getitem__(self, key: Any, /) -> Array:
        """Elements or a view: basic indices give views, masks and integer arrays copies, integers alone a 0-d copy."""
        if self.sig.op != "leaf":
            if type(key) is tuple and not key and not self.dims:
                return _again(self)
            there = realize(self)
            if there is not self:
                return there[key]
        sig = self.sig
        if type(key) is slice and sig.inner is not None and self.dims:
            start, stop = key.start, key.stop
            shape = self.dims
            if (
                key.step is not None
                or type(start) is not int
                or type(stop) is not int
                or not 0 <= start <= stop <= shape[0]
            ):
                start, stop, step = key.indices(shape[0])
                if step != 1:
                    return index_basic(self, key)
                stop = max(start, stop)
            new = Array()
            new.sig = sig.inner
            new.keep = self.keep
            if len(shape) == 1:
                new.dims = (stop - start,)
                new.args = (self.args[0] + start * sig.itemsize,)
            else:
                new.dims = (stop - start, *shape[1:])
                new.args = (self.args[0] + start * sig.itemsize * prod(shape[1:]),)
            return new
        if type(key) in (int, tuple, Array) and not sig.general:
            place = _place(key if type(key) is tuple else (key,), self.dims)
            if place is not None:
                address, element = self.args[0] + place * sig.itemsize, sig.element
                if element is None:
                    return _deferred(copy_of(single(sig)), (), (address,), self.keep)
                return element_of(element, element.read(address).value)  # type: ignore[misc]
        key = _with_integers(self, key)
        if _is_basic(key):
            return index_basic(self, key)
        return _indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write elements; `value` is broadcast and cast to this array's dtype, as NumPy's assignment does."""
        if self.sig.op != "leaf":
            if type(key) is Array and _indexing.set_pending(self, key, value):
                return
            settle_in_memory(self)
        if type(key) is slice and type(value) is Array and self._set_piece(key, value):
            return
        if type(key) in (int, tuple, Array) and self._set_element(key, value):
            return
        key = _with_integers(self, key, writing=True)
        if type(key) is slice or _is_basic(key):
            target = self[key] if type(key) is slice else view_basic(self, key)
            write(target, as_value(value, target.shape, target.sig.dtype, target.sig.device, "setitem"))
        else:
            _indexing.set(self, key, value)

    def _set_element(self, key: int | Array | tuple[Any, ...], value: Any) -> bool:
        """The quick way of `x[i] = y` and `x[i, j] = y` for contiguous arrays."""
        sig, storage = self.sig, self.keep[0]
        place = None if sig.general else _place(key if type(key) is tuple else (key,), self.dims)
        if place is None:
            return False
        address, element = self.args[0] + place * sig.itemsize, sig.element
        if element is None:
            target = Array()
            target.sig, target.dims, target.args, target.keep = single(sig), (), (address,), self.keep
            if type(value) is not Array or value.dims or value.sig.dtype != sig.dtype:
                value = as_value(value, (), sig.dtype, sig.device, "setitem")
            elif value.sig.device is not sig.device:
                return False
            write(target, value)
            return True
        if _journal.notes or storage.readers:
            return False
        if type(value) is Array and value.sig is element:
            number = value_of(value)
        else:
            number = _elements.number_for(element, value)
            if number is None:
                return False
        element.read(address).value = number  # type: ignore[misc]
        return True

    def _set_piece(self, key: slice, value: Array) -> bool:
        """The quick way of `x[i:j] = y` for contiguous vectors in memory, while nothing is pending."""
        sig, shape, start, stop = self.sig, self.dims, key.start, key.stop
        storage = self.keep[0]
        if (
            value.sig is not sig.inner
            or len(shape) != 1
            or key.step is not None
            or type(start) is not int
            or type(stop) is not int
            or not 0 <= start <= stop <= shape[0]
            or value.dims != (stop - start,)
            or _journal.notes
            or storage.readers
            or storage is value.keep[0]
        ):
            return False
        launcher = copy_of(sig).flat
        if launcher is None or stop - start > sig.block:
            return False
        launcher.run(value.args[0], self.args[0] + start * sig.itemsize, stop - start, 1, 1, 1)
        return True

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return map(self.__getitem__, range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        found = self == value
        return bool(np.any(asnumpy(found))) if isinstance(found, Array) else False

    # ------------------------------------------------------------------------------------------------- conversions

    def item(self, *place: Any) -> Any:
        """The only element as a Python scalar, or the one at a place; ValueError if there are more or none. Waits for
        the device."""
        if place or self.size != 1:
            return import_module("nbx_array._numpy_methods").item(self, *place)
        return asnumpy(self).item()

    def tolist(self) -> Any:
        """Nested lists of Python scalars. Waits for the device."""
        return asnumpy(self).tolist()

    def _scalar(self, to: str) -> Any:
        if self.shape:
            raise TypeError(f"only 0-dimensional arrays can be converted to {to}, got shape {self.shape}")
        return self._first()

    def _first(self) -> Any:
        before, args, keep = self.sig, self.args, self.keep
        if before.read is not None:
            return value_of(self)
        if before.op == "scalar":
            return before.dtype.type(args[0] if len(args) == 1 else complex(*args)).item()
        sig = before
        questions: list[Callable[[Any], bool]] = []
        while sig.op in _QUESTIONS:
            (kid,) = sig.kids
            if sig.dtype == np.bool_:
                questions.append(_QUESTIONS[sig.op])
            elif kid.dtype != sig.dtype:
                break  # rounds; else it is a copy, as `x[0]` is one
            sig = kid
        if sig.op != "leaf" or sig.read is not None:
            realize(self)
            before, args, keep = self.sig, self.args, self.keep
            sig, questions = before, []
        value = transfer.read_element(keep[0], args[0], sig.dtype)
        if self.sig is not before:  # see the module `_expression`
            return self._first()
        for question in reversed(questions):
            value = question(value)
        if before.op != "leaf" and before.device.backend != "cpu":  # asked again, it does not wait for the device
            become(self, before, scalar(before.dtype, before.device), scalar_arguments("", value, before.dtype), ())
        return value

    def __bool__(self) -> bool:
        """Whether the only element is not zero, whatever the number of dimensions: NumPy's answer, too."""
        if self.shape and self.size != 1:
            raise ValueError(
                f"the truth value of an array of shape {self.shape} is ambiguous; use nbx_array.any() or all()"
            )
        return bool(self._first())

    def __int__(self) -> int:
        if self.dtype.kind == "c":
            raise TypeError("int() of a complex array; take its real part")
        return int(self._scalar("int"))

    def __float__(self) -> float:
        if self.dtype.kind == "c":
            raise TypeError("float() of a complex array; take its real part")
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __round__(self, ndigits: int | None = None) -> Any:
        """The nearest int, ties to even; with digits an array, as NumPy's scalars have it. Of 0-d arrays alone."""
        if self.shape:
            raise TypeError(f"round() takes 0-dimensional arrays, got shape {self.shape}; use nbx_array.round")
        number: Any = asnumpy(self)[()]
        value = round(number, ndigits)
        return value if ndigits is None else from_numpy(np.asarray(value, self.dtype), self.device)

    def __trunc__(self) -> int:
        """`math.trunc`, of 0-d arrays alone."""
        return int(self)

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"only integer arrays can be used as an index, got dtype {self.dtype}")
        return int(self._scalar("an index"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A NumPy array of the elements: on the CPU and in the same dtype over the same memory, else a copy.

        `copy=True` always copies, `copy=False` raises ValueError where a copy is needed. While NumPy holds the memory
        it may write to it at any time, and expressions over it run at the call.
        """
        here, same = self.device.backend == "cpu", dtype is None or np.dtype(dtype) == self.dtype
        if copy is False and not here:
            raise ValueError(f"__array__: an array on {self.device} cannot be seen by NumPy without a copy")
        if copy is False and self.sig.read is not None:
            raise ValueError("__array__: an element that was read is a value, and cannot be seen without a copy")
        if copy is False and not same:
            raise ValueError(f"__array__: {self.dtype} cannot be seen as {np.dtype(dtype)} without a copy")
        if copy is not True and here and same and self.sig.read is None:
            view = self.memory()
            seen = transfer.lent_to_numpy(view)
            open_to_others(view.storage)
            return seen
        host = asnumpy(self)
        return host if dtype is None else host.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        """NumPy's universal functions are ours. On the CPU an ndarray among their arguments is one of ours, and NumPy
        itself writes to one that takes the result; on a GPU they are a TypeError."""
        from nbx_array._numpy_functions import universal

        return universal(ufunc, method, inputs, out, **options)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """NumPy's other functions are ours where we have them, else a TypeError; with an ndarray among the arguments
        they are NumPy's own on the CPU, a TypeError on a GPU."""
        from nbx_array._numpy_functions import dispatched

        return dispatched(func, types, args, kwargs)

    def __bytes__(self) -> bytes:
        """The elements' bytes in C order."""
        return asnumpy(self).tobytes()

    if not TYPE_CHECKING:  # a type checker would let every name pass

        def __getattr__(self, name: str) -> Any:
            """What NumPy's scalars have is the Python number's of an array of no dimension, which stands for one. Some
            of NumPy's methods are functions here, which the error names."""
            from nbx_array._numpy_names import OF_SCALARS, advice_on_method

            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # a property that raised: once more, for its own error
            if name in OF_SCALARS and not self.shape and hasattr(number := self.item(), name):
                return getattr(number, name)
            message = f"'Array' object has no attribute {name!r}{advice_on_method(name)}"
            raise AttributeError(message, name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (asnumpy(self), str(self.device))

    def __repr__(self) -> str:
        try:
            host = asnumpy(self)
        except DeviceError as error:
            return unreadable(self, error)
        text = np.array2string(host, separator=", ", prefix="Array(")
        shape = f", shape={self.shape}" if not self.size and len(self.shape) != 1 else ""
        dtype = "" if self.dtype in _SHOWN_BY_VALUE and self.size else f", dtype={self.dtype}"
        return f"Array({text}{shape}{dtype}, device={str(self.device)!r})"

    def __str__(self) -> str:
        return str(asnumpy(self))

    def __format__(self, spec: str) -> str:
        return format(self._scalar("a formatted number"), spec) if spec and not self.shape else str(self)


_SHOWN_BY_VALUE = {np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128)}


OPERATORS = {
    name: Operator(method, *_operators[method])
    for name, method in vars(Array).items()
    if callable(method) and method in _operators
}
"""The operators that have a native form, by the names of their methods."""
_IN_PLACE = {
    f"__i{name}__": OPERATORS[f"__{name}__"].operation
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor")
}
"""Of methods that elements have in native form, their operations."""


def unreadable(x: Array, error: DeviceError) -> str:
    """What stands for an array whose device failed, or was lost in a fork: whoever reports errors asks for a `repr`."""
    return f"<{describe(x)}: {error}>"


def _unpickle(host: np.ndarray, device: str) -> Array:
    return from_numpy(host, get_device(device))


def from_numpy(host: np.ndarray, device: Device) -> Array:
    """A copy of an ndarray on a device; of a single number on a GPU an expression, which its kernels have as argument:
    a copy would take 30 µs, and what it broadcasts with a kernel for strides."""
    dtype = host.dtype if host.dtype.isnative else host.dtype.newbyteorder("=")  # a new object, also of a native one
    type_row(dtype)
    if host.ndim == 0 and device.backend != "cpu":
        return filled((), host[()], dtype, device, "asarray")
    storage = transfer.from_host(host, device)
    return from_view(Array, View(storage, dtype, host.shape, contiguous_strides(host.shape), 0))


def asnumpy(x: Array) -> np.ndarray:
    """A NumPy array with a copy of the elements. Waits for the device. Raises TypeError for what is no array."""
    if not isinstance(x, Array):
        raise TypeError(f"asnumpy: expected an array, got {describe(x)}")
    if x.sig.read is not None and not x.dims:
        return np.array(value_of(x), x.sig.dtype)
    if x.sig.op != "leaf":
        realize(x)
    if x.sig.device.backend != "cpu":
        x = packed(x)
    return transfer.to_host(x.memory())


def open_to_others(storage: Any) -> None:
    """Run what is pending over memory that other code can write to from now on, and what follows at its call."""
    for reader in _journal.take_readers(storage):
        realize(reader)
    defer_carefully()


def copy(x: Array) -> Array:
    """The deferred copy of an array."""
    now = snapshot(x)
    new = _deferred(copy_of(now.sig), now.dims, now.args, now.keep, now.geo if now.sig.general else None)
    return new if x.sig is now.sig else copy(x)  # see the module `_expression`


def _again(x: Array) -> Array:
    """The value of a pending array once more, in an array of its own; an element is its value."""
    now = snapshot(x)
    if now.sig.read is not None:
        return x
    if now.sig.op == "leaf":
        return copy(x)
    new = _deferred(now.sig, now.dims, now.args, now.keep, now.geo if now.sig.general else None)
    if now.sig.inside:
        new.sources = getattr(x, "sources", ())
    return new if x.sig is now.sig else copy(x)  # see the module `_expression`


def packed(x: Array) -> Array:
    """The array, or a contiguous copy where it is none: transfers from a GPU take contiguous memory."""
    return realize(copy(x)) if x.sig.general else x


def cast(x: Array, dtype: np.dtype) -> Array:
    """An array in another dtype, deferred; the array itself if it has the dtype already."""
    if x.sig.dtype == dtype:
        return x
    now = snapshot(x)
    sig = now.sig.successors.get(("astype", dtype))
    if sig is None:
        return combine(Array, "astype", None, dtype, [x], x.sig.device)
    new = _deferred(sig, now.dims, now.args, now.keep, now.geo if sig.general else None, x)
    return new if x.sig is now.sig else cast(x, dtype)  # see the module `_expression`


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype, device: Device, name: str) -> Array:
    """The deferred array of one value."""
    new = Array()
    new.sig = scalar(dtype, device)
    new.dims = shape
    new.args = scalar_arguments(name, value, dtype)
    new.keep = ()
    return new


def as_value(value: Any, shape: tuple[int, ...], dtype: np.dtype, device: Device, name: str) -> Array:
    """Anything assignable as an expression of the given shape and dtype on the given device."""
    if isinstance(value, Array) and value.sig.read is not None and value.sig.dtype != dtype:
        value = value.sig.dtype.type(value_of(value))  # an element is cast, or refused, as NumPy's scalar
    if not isinstance(value, Array):
        if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
            if dtype.kind not in "bc" and isinstance(value, complex):
                raise TypeError(f"{name}: {value!r} is complex and the array is {dtype}")
            return filled(shape, value, dtype, device, name)
        if isinstance(value, np.ndarray):
            value = beside_ndarray(name, value, device)
        else:
            value = from_numpy(_on_host(value, dtype, name), device)
    if value.sig.device is not device:
        raise ValueError(f"{name}: the value lies on {value.sig.device} and the array on {device}")
    value = cast(value, dtype)
    while len(value.shape) > len(shape) and value.shape[0] == 1:
        value = index_basic(value, 0) if len(value.shape) > 1 else value[0]
    if value.shape == shape:
        return value
    try:
        return broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"{name}: could not broadcast input of shape {value.shape} into shape {shape}") from None


def _on_host(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """A NumPy scalar or nested sequences in a dtype, converted and refused as NumPy's assignment does."""
    try:
        if not isinstance(value, np.generic):
            return np.asarray(value, dtype)
        host = np.empty((), dtype)
        host[()] = value
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"{name}: {error}") from None
    return host


def import_view(x: Any, device: Device | None, copy: bool | None) -> Array:
    """An array of another library's data, by DLPack. What may not be written to is copied."""
    from nbx_array import _dlpack

    view, readonly = _dlpack.from_capsule(x, device, copy)
    if view.storage.shared:
        if readonly and copy is False:
            raise BufferError(
                "from_dlpack: an array cannot be read-only; such data takes a copy, and copy=False was given"
            )
        if readonly:
            return import_view(x, device, True)
        defer_carefully()
    return from_view(Array, view)


def where(condition: Any, x1: Any, x2: Any) -> Array:
    """Elements of x1 where the condition holds, of x2 elsewhere."""
    found = combined(Array, "where", (condition, x1, x2))
    if found is not None:
        return found
    operands, device = operands_of("where", (condition, x1, x2))
    dtypes = tuple(x.dtype for x in operands[1:] if isinstance(x, (Array, np.generic)))
    weak = tuple(type(x) for x in operands[1:] if not isinstance(x, (Array, np.generic)))
    dtype = promote(dtypes or (np.dtype(np.bool_),), weak, device)
    return combine(Array, "where", dtype, dtype, operands, device)


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """A view with zero strides along the new and stretched dimensions; ValueError where the shapes do not fit."""
    strides = strides_of(x)
    return view_of(x, shape, broadcast_strides(x.dims, strides, shape))


def assign_in_place(target: Array, result: Array, name: str) -> Array:
    """Give `target` the value of `result`, in its own memory if it has any: `+=` and the like."""
    dtype = target.sig.dtype
    if result.shape != target.shape:
        raise ValueError(f"in-place {name}: the result's shape {result.shape} is not that of the array, {target.shape}")
    if result.sig.dtype != dtype:
        if not np.can_cast(result.sig.dtype, dtype, "same_kind"):
            raise TypeError(
                f"in-place {name}: the result's dtype {result.sig.dtype} cannot be cast to that of the array, {dtype}"
            )
        result = cast(result, dtype)
    before = target.sig
    if before.op == "leaf":
        write(target, result)
    else:
        operands, now = target.keep, snapshot(result)
        if target.sig is not before:  # in memory by now, where it stays: see the module `_expression`
            return assign_in_place(target, result, name)
        target.sig, target.args, target.keep = now.sig, now.args, now.keep
        target.sources = getattr(result, "sources", ()) if now.sig.inside else ()
        if now.sig.general:
            target.geo = now.geo
        del operands
        _push(target)
        if result.sig is not now.sig:  # see the module `_expression`
            return assign_in_place(target, result, name)
    return target


def _place(key: tuple[Any, ...], shape: tuple[int, ...]) -> int | None:
    """The place, in C order, of the element that integers name, one for each dimension; None for any other key."""
    if len(key) != len(shape):
        return None
    place = 0
    for item, n in zip(key, shape, strict=True):
        if type(item) is Array and item.sig.read is not None:
            item = item.args[0]
        if type(item) is not int or not -n <= item < n:
            return None
        place = place * n + (item if item >= 0 else item + n)
    return place


def _with_integers(x: Array, key: Any, writing: bool = False) -> Any:
    """An index with integers for arrays of no dimension, since they stand for NumPy's scalars: so `x[argmax(y)]` of a
    matrix is a view. Left as they are on a GPU where no view comes of it, and so there is no need to wait for them."""
    keys = key if type(key) is tuple else (key,)
    if not any(_is_integer(item, x) for item in keys):
        return key
    if x.sig.device.backend != "cpu":
        plain = tuple(0 if _is_integer(item, x) else item for item in keys)
        names_element = len(plain) == len(x.dims) and all(type(item) is int for item in plain)
        if writing or names_element or not _is_basic(plain):
            return key
    keys = tuple(int(item) if _is_integer(item, x) else item for item in keys)
    return keys if type(key) is tuple else keys[0]


def _is_integer(item: Any, x: Array) -> bool:
    return type(item) is Array and not item.dims and item.sig.dtype.kind in "iu" and item.sig.device is x.sig.device


def _is_basic(key: Any) -> bool:
    """Whether an index holds only integers, slices, Ellipsis and None."""
    return all(map(_is_basic_item, key)) if type(key) is tuple else _is_basic_item(key)


def _is_basic_item(item: Any) -> bool:
    if item is None or item is Ellipsis or type(item) in (int, slice):
        return True
    return not isinstance(item, (bool, np.bool_, Array, list, np.ndarray)) and hasattr(item, "__index__")


def view_of(x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Array:
    """A view of an array in memory, or of a copy of an element that was read: its shape, its strides, and how many
    elements behind the array's it starts."""
    if x.sig.read is not None:
        x = realize(x)
    sig = x.sig
    return over_memory(Array, sig.dtype, x.keep, x.args[0] + offset * sig.itemsize, shape, strides)


def flat_view(x: Array, shape: tuple[int, ...]) -> Array:
    """A contiguous array in memory seen in another shape of as many elements."""
    new = Array()
    new.sig, new.dims, new.args, new.keep = x.sig, shape, x.args, x.keep
    return new


def view_basic(x: Array, key: Any) -> Array:
    """The view that a basic index names, also where it names one element."""
    strides = strides_of(x)
    return view_of(x, *basic_index(x.dims, strides, 0, key))


def index_basic(x: Array, key: Any) -> Array:
    """`x[key]` for a basic index: a view, or a copy where integers alone name an element."""
    found = view_basic(x, key)
    keys = key if type(key) is tuple else (key,)
    if not found.shape and not any(item is Ellipsis for item in keys):
        element = found.sig.element
        return copy(found) if element is None else element_of(element, element.read(found.args[0]).value)  # type: ignore
    return found


def _matmul(x1: Any, x2: Any) -> Array:
    from nbx_array._linear_algebra import matmul

    return matmul(x1, x2)


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`. Exponents 0, 1, 2, -1 and 0.5 take cheaper functions with pow's answers."""
    if type(exponent) in (int, float) and isinstance(base, Array):
        kind = type_row(base.sig.dtype).kind
        if type(exponent) is int and exponent < 0 and kind in "bi":
            raise ValueError(
                f"pow: integers to the negative integer power {exponent} are not allowed; use a float exponent"
            )
        if kind in "fc" or (type(exponent) is int and kind != "b"):
            if exponent == 2:
                return unary("square", base)
            if exponent == 1:
                return copy(base)
            if exponent == 0:
                return filled(base.shape, 1, base.sig.dtype, base.sig.device, "pow")
            if exponent == -1 and kind == "f":
                return unary("reciprocal", base)
            if exponent == 0.5 and kind == "f":  # pow(-0.0, 0.5) is 0.0 and pow(-inf, 0.5) is inf, unlike sqrt
                root = unary("sqrt", base + 0.0)
                if base.sig.read is not None and base.args[0] != -inf:
                    return root
                return combine(
                    Array, "where", base.sig.dtype, base.sig.dtype, [base == -inf, inf, root], base.sig.device
                )
    elif isinstance(exponent, (Array, np.integer, np.ndarray, *SEQUENCES)):
        refuse_negative(base, exponent)
    looked_up = type(base) is Array and base.sig.read is None
    return _looked_up_pow(base, exponent) if looked_up else _slow_binary("pow", base, exponent)


def refuse_negative(base: Any, exponent: Any) -> None:
    """ValueError for an integer base and negative integer exponents, where no GPU has to be waited for to see them."""
    dtype = base.sig.dtype if isinstance(base, Array) else np.asarray(base).dtype
    if dtype.kind not in "biu" or dtype == np.uint64:
        return  # with signed integers uint64 has a common dtype of floats
    from nbx_array._creation import _holds_arrays

    if isinstance(exponent, Array):
        here = exponent.sig.dtype.kind == "i" and exponent.device.backend == "cpu"
        host = transfer.as_numpy(exponent.memory()) if here else None
    else:
        host = None if _holds_arrays(exponent) else np.asarray(exponent)
    if host is not None and host.dtype.kind == "i" and (host < 0).any():
        raise ValueError("pow: integers to negative integer powers are not allowed; use float exponents")


_looked_up_pow = _binary("pow")


def _writable_part(name: str, x: Array) -> Array:
    if x.sig.read is not None:
        raise AttributeError(f"{name}: an element that was read is a value, as NumPy's scalars; set it in its array")
    return part(name, x)


def part(name: str, x: Any) -> Array:
    """The real or imaginary part: a view of a complex array."""
    if not isinstance(x, Array) or x.sig.dtype.kind != "c":
        return x if isinstance(x, Array) and name == "real" else unary(name, x)
    if x.sig.read is not None:
        return element_of(leaf(component(x.sig.dtype), x.sig.device).element, getattr(value_of(x), name))
    view = x.memory()
    strides = tuple(2 * stride for stride in view.strides)
    return from_view(
        Array, View(view.storage, component(view.dtype), view.shape, strides, 2 * view.offset + (name == "imag"))
    )


if not FUSE:
    defer_carefully()
