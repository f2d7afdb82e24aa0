"""NumPy served by nbx_array to a program that knows nothing of it.

In the user's own code `import numpy` gives modules that look up each name in NumPy and call our function of that name.
What we lack, or refuse, NumPy does on the host with copies of the arrays; what it changes in them, and in lists, is
written back. An array of NumPy's over writeable memory of something else stays NumPy's, since a copy would lose writes.
Other packages keep the real NumPy, and an array of ours that reaches it there is converted; `_crossing` hands them
NumPy's arrays where the program calls them. Every call is counted.

NumPy has the last word: whatever our function raises, NumPy is asked, and its error is the one that the program sees.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
import os
import sys
import sysconfig
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import nbx_array
from nbx_array import _array, _numpy_names
from nbx_array._array import Array, asnumpy
from nbx_array._expression import from_view
from nbx_array.backend import detect
from nbx_array.backend.contract import DeviceError
from nbx_array.memory import transfer

# ------------------------------------------------------------------------------------------------ whose code it is

_FOREIGN = tuple(
    os.path.realpath(path) + os.sep
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.path.dirname(os.path.abspath(nbx_array.__file__)),
        os.path.dirname(os.path.dirname(np.__file__)),
    }
)


@functools.cache
def is_users_file(file: str) -> bool:
    path = os.path.realpath(file)
    return not path.startswith(_FOREIGN) and "site-packages" not in path and not file.startswith("<frozen")


def is_users(namespace: Mapping[str, Any] | None) -> bool:
    """Whether a module's globals are the program's own: the script's, the notebook's, or a module's beside it."""
    if namespace is None:
        return False
    file = namespace.get("__file__")
    return namespace.get("__name__") == "__main__" if not isinstance(file, str) else is_users_file(file)


# ---------------------------------------------------------------------------------------------------- the record


class Record:
    """What ran where, and what was copied for it."""

    def __init__(self) -> None:
        self.device: Counter[str] = Counter()
        self.host: Counter[str] = Counter()
        self.to_host = 0
        self.to_device = 0

    def lines(self) -> list[str]:
        """The report: a line a name, those that ran on the host first."""
        names = sorted({*self.device, *self.host}, key=lambda name: (-self.host[name], -self.device[name], name))
        width = max([len(name) for name in names], default=4)
        table = [f"{'call':{width}}  {'nbx_array':>9}  {'NumPy':>9}"]
        table += [f"{name:{width}}  {self.device[name]:9}  {self.host[name]:9}" for name in names]
        return [*table, f"bytes copied: {self.to_host} to NumPy, {self.to_device} from NumPy"]


record = Record()

# ------------------------------------------------------------------------------------------------- crossing over


def _is_ours(dtype: np.dtype) -> bool:
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8) and dtype.isnative


def _sees_foreign_memory(value: np.ndarray) -> bool:
    """Whether what is written to an array changes what is no array: a buffer, a mapped file, another library's data."""
    owner: Any = value
    while (base := getattr(owner, "base", None)) is not None:
        owner = base
    return value.flags.writeable and not isinstance(owner, np.ndarray)


def _copied(value: np.ndarray) -> Array:
    record.to_device += value.nbytes
    return nbx_array.asarray(value, copy=True)


def moved(value: Any) -> Any:
    """A result of NumPy's as the program gets it: arrays of numbers are ours, also within tuples and lists, except over
    foreign memory. One over memory of ours is a view of it."""
    if type(value) is np.ndarray and _is_ours(value.dtype):
        if not _sees_foreign_memory(value):
            return _copied(value)
        view = transfer.lent(value)
        return value if view is None else from_view(Array, view)
    if type(value) in (tuple, list):
        return type(value)(moved(item) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(item) for item in value))
    return value


class Hosted:
    """Arguments for NumPy: copies of our arrays and of lists, which are written back where NumPy has changed them."""

    def __init__(self) -> None:
        self.arrays: dict[int, tuple[Array | np.ndarray, np.ndarray, bytes | None]] = {}
        self.lists: dict[int, tuple[list[Any], list[Any], list[Any]]] = {}

    def take(self, value: Any) -> Any:
        if type(value) is Array:
            if id(value) not in self.arrays:
                host = asnumpy(value)
                record.to_host += host.nbytes
                self.arrays[id(value)] = value, host, host.tobytes()
            return self.arrays[id(value)][1]
        if type(value) is np.ndarray:
            self.arrays[id(value)] = value, value, None
            return value
        if type(value) is list:
            if id(value) not in self.lists:
                copied = [self.take(item) for item in value]
                self.lists[id(value)] = value, copied, copied.copy()
            return self.lists[id(value)][1]
        if type(value) is tuple:
            return tuple(self.take(item) for item in value)
        if type(value) is dict:
            return {key: self.take(item) for key, item in value.items()}
        if isinstance(value, Function):
            return value.theirs
        return np.ndarray if isinstance(value, ArrayType) else value

    def write_back(self, result: Any) -> Any:
        """Write back what was changed; a result that is one of the arguments is that argument of the program."""
        theirs: dict[int, Any] = {id(host): ours for ours, host, _ in self.arrays.values()}
        theirs |= {id(host): ours for ours, host, _ in self.lists.values()}
        for ours, host, before in self.arrays.values():
            if before is not None and host.tobytes() != before:
                record.to_device += host.nbytes
                ours[...] = nbx_array.asarray(host, copy=True)
        for given, copied, items in self.lists.values():
            if len(copied) != len(items) or any(x is not y for x, y in zip(copied, items, strict=True)):
                given[:] = [theirs[id(item)] if id(item) in theirs else moved(item) for item in copied]
        return theirs[id(result)] if id(result) in theirs else moved(result)


def on_host(name: str, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call NumPy's function; its results are the program's."""
    hosted = Hosted()
    args, keywords = hosted.take(args), hosted.take(keywords)
    record.host[name] += 1
    return hosted.write_back(function(*args, **keywords))


def _entering(value: Any) -> Any:
    """An argument for our functions: a host array that the program has, such as a result of another package."""
    if type(value) is np.ndarray:
        return moved(value)
    if isinstance(value, ArrayType):
        return Array
    if type(value) in (tuple, list) and any(type(item) is np.ndarray for item in value):
        return type(value)(moved(item) for item in value)
    return value


_SHARING = {
    *("array", "asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "require"),
    *("atleast_1d", "atleast_2d", "atleast_3d", "frombuffer"),
}
"""Functions whose results may see the memory of a buffer that they are given."""

_WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
"""Functions that write to their first argument, and methods `at` do."""


def _written(name: str, theirs: Callable[..., Any]) -> slice:
    """The places of the arguments that a function writes to."""
    if isinstance(theirs, np.ufunc):
        return slice(theirs.nin, None)
    if name in _WRITING or name.endswith(".at"):
        return slice(1)
    try:
        names = list(inspect.signature(theirs).parameters)
    except (TypeError, ValueError):  # some of NumPy's in C have none
        return slice(0)
    place = names.index("out") if "out" in names else len(names)
    return slice(place, place + 1)


def _is_buffer(value: Any) -> bool:
    """Whether a value is foreign memory that can be written to."""
    if type(value) is Array:
        return False
    if isinstance(value, np.ndarray):
        return _sees_foreign_memory(value) and transfer.lent(value) is None
    try:
        return not memoryview(value).readonly
    except (TypeError, ValueError, BufferError):  # no buffer, or not now
        return False


def _is_used_up(value: Any) -> bool:
    """Whether what is read of a value is gone from it."""
    return hasattr(type(value), "__next__")


class Function:
    """A function of NumPy's: ours, and NumPy's own where ours is missing or refuses, would copy an ndarray that is to
    be written to, or would leave nothing to NumPy of an iterator or a file when it refuses."""

    def __init__(self, name: str, ours: Callable[..., Any] | None, theirs: Callable[..., Any]) -> None:
        functools.update_wrapper(self, theirs, updated=())
        self.name, self.ours, self.theirs = name, ours, theirs
        self.shares, self.written = name in _SHARING, _written(name, theirs)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self.ours is not None and not self._writes_to_ndarray(args, keywords) and not any(map(_is_used_up, args)):
            try:
                given = [_entering(value) for value in args]
                result = self.ours(*given, **{key: _entering(value) for key, value in keywords.items()})
            except Exception:
                pass  # NumPy's error is the program's, without ours as its context
            else:
                record.device[self.name] += 1
                return result
        return on_host(self.name, self.theirs, args, keywords)

    def _writes_to_ndarray(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Whether an ndarray of the program takes results of the call, or later what is written to its result."""
        if self.shares:
            return any(map(_is_buffer, args[:1]))
        targets = args[self.written]
        if "out" in keywords:
            targets += (keywords["out"],)
        return bool(targets) and any(
            isinstance(x, np.ndarray) for target in targets for x in (target if type(target) is tuple else (target,))
        )

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.theirs, name)
        if name.startswith("__") or not callable(value):
            return value
        found = Function(f"{self.name}.{name}", getattr(self.ours, name, None), value)
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return repr(self.theirs)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.theirs)

    def __reduce__(self) -> Any:
        return _named, (self.name,)

    def __eq__(self, other: object) -> bool:
        return self.theirs == (other.theirs if isinstance(other, Function) else other)

    def __hash__(self) -> int:
        return hash(self.theirs)

    @property
    def _numba_type_(self) -> Any:
        return _type_for_numba(self.theirs)


def _type_for_numba(theirs: Any) -> Any:
    """What numba, which compiles functions of the program, takes a name of ours there for."""
    return sys.modules["numba.core.registry"].cpu_target.typing_context.resolve_value_type(theirs)


# ------------------------------------------------------------------------------------------------------- modules


class ArrayType(type):
    """The type of `numpy.ndarray` in the program: arrays of ours and of NumPy's are instances, but not those without
    dimensions, and a subclass is one of NumPy's own."""

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **keywords: Any) -> Any:
        if not bases:
            return super().__new__(meta, name, bases, namespace)
        theirs = tuple(np.ndarray if isinstance(base, ArrayType) else base for base in bases)
        return types.new_class(name, theirs, keywords, lambda body: body.update(namespace))

    def __instancecheck__(cls, instance: object) -> bool:
        return bool(instance.dims) if type(instance) is Array else isinstance(instance, np.ndarray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, (Array, np.ndarray))

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ndarray, name)

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        return moved(np.ndarray(*args, **keywords))


class ndarray(metaclass=ArrayType):
    """Stands for `numpy.ndarray` in the program."""

    __new__ = staticmethod(np.ndarray.__new__)  # type: ignore[assignment]  # that a program's subclasses call


class vectorize(np.vectorize):
    """`numpy.vectorize` of the program: its calls are NumPy's, on the host, and its results the program's."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if not callable(self.pyfunc):  # it decorates what it is called with
            return super().__call__(*args, **keywords)
        return on_host("vectorize", super().__call__, args, keywords)


class Served(types.ModuleType):
    """A module of NumPy's as the program sees it."""

    def __init__(self, theirs: types.ModuleType, ours: Any) -> None:
        super().__init__(theirs.__name__, theirs.__doc__)
        vars(self).update(
            _theirs=theirs, _ours=ours, __file__=theirs.__file__, __all__=getattr(theirs, "__all__", None)
        )
        if hasattr(theirs, "__path__"):
            self.__path__ = theirs.__path__

    def __getattr__(self, name: str) -> Any:
        theirs, ours = vars(self)["_theirs"], vars(self)["_ours"]
        value = getattr(theirs, name)
        if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "numpy":
            served: Any = serve(value)
        elif value is np.ndarray:
            served = ndarray
        elif value is np.vectorize:
            served = vectorize
        elif isinstance(value, type):
            served = _with_moved_results(value) if theirs is np.random else value
        elif callable(value) and typing.get_origin(value) is None:
            label = f"{theirs.__name__}.{name}".removeprefix("numpy.")
            served = Function(label, None if label in _BY_VALUE else _find(ours, name), value)
        else:
            served = value
        setattr(self, name, served)
        return served

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_theirs"])

    def __reduce__(self) -> Any:
        return _named, (self.__name__.removeprefix("numpy").removeprefix("."),)

    @property
    def _numba_type_(self) -> Any:
        return _type_for_numba(vars(self)["_theirs"])


_BY_VALUE = {"linalg.eig", "linalg.eigvals", "roots"}
"""Functions whose result is real or complex by its values in NumPy, and always complex in ours; both call LAPACK."""


def _find(ours: Any, name: str) -> Callable[..., Any] | None:
    try:
        found = getattr(ours, name, None)
    except Exception:  # a name with a hint of what to use instead
        return None
    return found if callable(found) else None


_SERVED_BY = {"numpy": nbx_array, "numpy.linalg": nbx_array.linalg, "numpy.fft": nbx_array.fft}
"""Our counterparts of NumPy's modules. `numpy.random` has none here: a program's seed shall give NumPy's numbers."""


@functools.cache
def serve(module: types.ModuleType) -> Served:
    """A module of NumPy's as the program sees it."""
    return Served(module, _SERVED_BY.get(module.__name__))


def _named(name: str) -> Any:
    """What is unpickled: what the program has of NumPy by a name, and NumPy's own in a process that is not served."""
    served: Any = serve(np) if Array.__array_ufunc__ is _mixed_ufunc else np
    return functools.reduce(getattr, filter(None, name.split(".")), served)


def _with_moved_results(cls: type) -> type:
    """A subclass of a class of random numbers whose methods give the program our arrays, and other packages NumPy's."""

    def method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(self: Any, *args: Any, **keywords: Any) -> Any:
            if not is_users(sys._getframe(1).f_globals):
                return function(self, *args, **keywords)
            return on_host(f"random.{cls.__name__}.{name}", functools.partial(function, self), args, keywords)

        return call

    if cls not in (np.random.Generator, np.random.RandomState):
        return cls
    methods = {n: method(n, f) for n, f in vars(cls).items() if not n.startswith("_") and callable(f)}
    return type(cls.__name__, (cls,), methods | {"__module__": cls.__module__})


def _default_rng(seed: Any = None) -> Any:
    """`numpy.random.default_rng`, whose generator gives the program our arrays."""
    return serve(np.random).Generator(np.random.default_rng(seed).bit_generator)


# --------------------------------------------------------------------------------------- operators and methods


def _mixed_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
    """A function of NumPy's met an array of ours: in the program it is ours again, elsewhere NumPy's on copies."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    call = ufunc if method == "__call__" else getattr(ufunc, method)
    keywords = options | ({"out": out if len(out) > 1 else out[0]} if out else {})
    if is_users(sys._getframe(1).f_globals):
        ours = _find(nbx_array, _our_name(ufunc.__name__))
        ours = ours if method == "__call__" or ours is None else getattr(ours, method, None)
        return Function(name, ours, call)(*inputs, **keywords)
    hosted = Hosted()
    record.host[name] += 1
    result = call(*hosted.take(inputs), **hosted.take(keywords))
    hosted.write_back(None)
    return result


def _our_name(name: str) -> str:
    return _numpy_names.ALIASES.get(name, name)


def _mixed_function(self: Array, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    hosted = Hosted()
    record.host[func.__name__] += 1
    result = func(*hosted.take(args), **hosted.take(kwargs))
    if is_users(sys._getframe(1).f_globals):
        return hosted.write_back(result)
    hosted.write_back(None)
    return result


def _method(name: str, ours: Callable[..., Any] | None) -> Callable[..., Any]:
    """A method of our arrays that NumPy stands behind."""
    served = Function(f"ndarray.{name}", ours, getattr(np.ndarray, name))

    def method(self: Array, *args: Any, **keywords: Any) -> Any:
        return served(self, *args, **keywords)

    method.__name__ = name
    return method


def _item_access(name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    """`x[i]` or `x[i] = y`: loops over elements go to ours at once, where nothing given has to be converted."""
    served = _method(name, ours)
    label = f"ndarray.{name}"

    def method(self: Array, key: Any, *value: Any) -> Any:
        if type(key) is int or (type(key) is tuple and np.ndarray not in map(type, key)):
            try:
                result = ours(self, key, *value)
            except Exception:
                pass
            else:
                record.device[label] += 1
                return result
        return served(self, key, *value)

    method.__name__ = name
    return method


def _resize(self: Array, *new_shape: Any, refcheck: bool = True) -> None:
    """NumPy's method, whatever refers to the array: views of it keep the memory that it had."""
    host = asnumpy(self)
    host.resize(*new_shape, refcheck=False)
    record.host["ndarray.resize"] += 1
    new = moved(host)
    self.sig, self.dims, self.args, self.keep, self.geo = new.sig, new.dims, new.args, new.keep, ()


class Scalar:
    """What an array of no dimension is in the program: an instance of NumPy's scalar type, and of `float` where that is
    one, with its attributes. Conversions that ours refuse raise NumPy's errors."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self: Any) -> type:
        return type(self) if self.dims else self.sig.dtype.type


def _missing_attribute(self: Array, name: str) -> Any:
    if name.startswith("_") or hasattr(type(self), name):
        return object.__getattribute__(self, name)
    return getattr(np.empty((0,) * self.ndim) if self.dims else asnumpy(self)[()], name)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__complex__": complex,
    "__float__": float,
    "__hash__": hash,
    "__index__": operator.index,
    "__int__": int,
    "__iter__": iter,
    "__len__": len,
}


def _conversion(ours: Callable[[Any], Any], theirs: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Array) -> Any:
        try:
            return ours(self)
        except Exception:
            pass
        return theirs(asnumpy(self)[()])

    method.__name__ = ours.__name__
    return method


def _in_place(name: str, ours: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator in place, which makes a new array of one of no dimension, as NumPy's scalars do."""
    plain = getattr(operator, name.replace("__i", "__", 1))

    def method(self: Array, other: Any) -> Any:
        if not self.dims:
            return plain(self, other)
        try:
            return ours(self, other)
        except Exception:
            pass
        return on_host(f"ndarray.{name}", getattr(np.ndarray, name), (self, other), {})

    method.__name__ = name
    return method


def _attribute(name: str) -> property:
    """A way to the memory that only NumPy's arrays have; ValueError on a GPU: a copy would lose what is written."""
    return property(lambda self: getattr(np.asarray(self, copy=False), name))


def _operand(value: Any) -> Any:
    host = np.asarray(value)
    return _copied(host) if _is_ours(host.dtype) else host


SYMBOLS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def _slow_binary(before: Callable[..., Any]) -> Callable[..., Any]:
    def slow_binary(name: str, left: Any, right: Any) -> Any:
        if _array.repeats(name, left, right):
            return NotImplemented
        if isinstance(left, (np.ndarray, list)) or isinstance(right, (np.ndarray, list)):
            left, right = (_operand(x) if type(x) in (np.ndarray, list) else x for x in (left, right))
            if type(left) is not Array or type(right) is not Array:  # of strings, objects, dates, or of a subclass
                return on_host(name, SYMBOLS[name], (left, right), {})
        try:
            result = before(name, left, right)
        except Exception:
            pass
        else:
            if result is not NotImplemented or type(left) is not Array or _takes_over(right):
                return result
        return on_host(name, lambda x, y: SYMBOLS[name](_scalar(x), y), (left, right), {})

    return slow_binary


def _takes_over(value: Any) -> bool:
    """Whether an object is the program's own, and one that NumPy leaves operators to."""
    kind = type(value)
    if getattr(kind, "__array_ufunc__", kind) is not None and getattr(kind, "__array_priority__", 0) <= 0:
        return False
    return is_users(vars(sys.modules[kind.__module__]))


def _scalar(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) else value


def _repr(self: Array) -> str:
    try:
        return repr(asnumpy(self)[()])
    except DeviceError as error:
        return _array.unreadable(self, error)


def _reduce(self: Array) -> Any:
    return _unpickled, (asnumpy(self),)


def _unpickled(host: np.ndarray) -> Array | np.ndarray:
    """An array of another process, on this one's device: the child of a fork has the CPU where its parent has a GPU. A
    process that was started anew, and has NumPy itself, has NumPy's array."""
    return _array.from_numpy(host, detect.default_device()) if _is_served() else host


def _importing(before: Callable[..., Any]) -> Callable[..., Any]:
    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        module = before(name, globals, locals, fromlist, level)
        if level == 0 and (name == "numpy" or name.startswith("numpy.")) and is_users(globals):
            return serve(sys.modules[name] if fromlist else sys.modules["numpy"])
        return module

    return importing


def _is_served() -> bool:
    return Array.__array_ufunc__ is _mixed_ufunc


def install() -> None:
    """From now on the program's own `import numpy` is served. Nothing of this process is as it was before."""
    if _is_served():
        return
    builtins.__import__ = _importing(builtins.__import__)
    vars(serve(np.random))["default_rng"] = _default_rng
    _array._slow_binary = _slow_binary(_array._slow_binary)
    Array.__array_ufunc__ = _mixed_ufunc  # type: ignore[method-assign]
    Array.__array_function__ = _mixed_function  # type: ignore[method-assign]
    Array.__repr__ = _repr  # type: ignore[method-assign]
    Array.resize = _resize  # type: ignore[attr-defined]
    Array.__reduce__ = _reduce  # type: ignore[method-assign]
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=detect.leave_gpus)
    Array.__bases__ = (Scalar, *Array.__bases__)
    Array.__getattr__ = _missing_attribute  # type: ignore[attr-defined]
    for name, theirs in _CONVERSIONS.items():
        setattr(Array, name, _conversion(getattr(Array, name), theirs))
    for compute in SYMBOLS.values():
        name = f"__i{compute.__name__.rstrip('_')}__"
        if hasattr(Array, name):
            setattr(Array, name, _in_place(name, getattr(Array, name)))
    skip = {"__array__", "tolist", "tobytes", "dtype", "device", "resize"}
    operators = {"__getitem__", "__setitem__", "__matmul__", "__rmatmul__", "__pow__", "__rpow__"}
    for name in dir(np.ndarray):
        if (not name.startswith("_") or name in operators) and name not in skip:
            theirs, ours = getattr(np.ndarray, name), getattr(Array, name, None)
            if name in ("__getitem__", "__setitem__"):
                setattr(Array, name, _item_access(name, ours))  # type: ignore[arg-type]
            elif callable(theirs):
                setattr(Array, name, _method(name, ours))
            elif ours is None:
                setattr(Array, name, _attribute(name))
