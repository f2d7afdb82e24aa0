"""Creation functions of the standard.

`order` and `subok` are NumPy's: `_order` says how a new array lies in memory, and there are no subclasses.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np

from nbx_array import _elementwise, _order
from nbx_array._array import Array, as_value, cast, filled, from_numpy, import_view, packed, view_of
from nbx_array._array import copy as copied
from nbx_array._data_types import as_dtype
from nbx_array._expression import describe, over_memory, realize, strides_of, value_of
from nbx_array._operations import SEQUENCES
from nbx_array.backend import detect
from nbx_array.backend.contract import Device, get_device
from nbx_array.kernels import creation
from nbx_array.kernels.types import component, default_complex, default_float
from nbx_array.memory import allocate
from nbx_array.memory.view import check_shape, contiguous_strides

Shape = int | tuple[int, ...]


def _device(device: Any, otherwise: Device | None = None) -> Device:
    if device is None:
        return otherwise or detect.default_device()
    return detect.find_device(device)


def _sizes(shape: Any) -> tuple[Any, ...]:
    """The entries of a shape: an integer's, or those of a sequence or an array of integers."""
    return (shape,) if hasattr(shape, "__index__") and not getattr(shape, "shape", ()) else tuple(shape)


def _shape(shape: Any, dtype: np.dtype, name: str) -> tuple[int, ...]:
    try:
        given = _sizes(shape)
        dims = tuple(map(operator.index, given))
        if bool in map(type, given):
            raise TypeError
    except TypeError:
        raise TypeError(f"{name}: a shape is an integer or a tuple of integers, not {shape!r}") from None
    try:
        check_shape(dims, dtype.itemsize)
    except ValueError as error:
        raise ValueError(f"{name}: {error}, given shape {shape!r}") from None
    return dims


def _new(shape: tuple[int, ...], dtype: np.dtype, device: Device) -> Array:
    """An array of uninitialised memory."""
    storage = allocate(math.prod(shape) * dtype.itemsize, device)
    return over_memory(Array, dtype, (storage,), storage.ptr, shape, contiguous_strides(shape))


def _array(x: Any, name: str, device: Device | None = None) -> Array:
    """An operand as an array: scalars and nested sequences become one; TypeError for all else, ndarrays too."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (*SEQUENCES, int, float, complex, np.generic)):
        try:
            return asarray(x, device=device)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"{name}: {error}") from None
    raise TypeError(f"{name}: expected an array, got {type(x).__name__}; convert it with nbx_array.asarray")


def _arrays(sequence: Any, name: str) -> list[Array]:
    if not isinstance(sequence, Iterable) or isinstance(sequence, (str, np.ndarray)):
        raise TypeError(f"{name}: expected a sequence of arrays, got {describe(sequence)}")
    return [_array(x, name) for x in sequence]


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None
) -> Array:
    """An array of the given data.

    a: an array, a Python or NumPy scalar, nested sequences of them, an ndarray or anything that NumPy or DLPack can
    read. dtype: None takes that of the data; Python scalars become bool, int64, float64 or complex128.
    copy: True always copies; False never does, and raises ValueError where that is impossible; None copies ndarrays
    and buffers too, so that what is written to the array does not reach them (memory that others may write to could
    not be part of deferred expressions), but neither arrays of this namespace nor what comes by DLPack.
    order: "C" or "F" has the elements packed so, "A" as those of the data are, and None as they come, or in C order
    where they are copied. Raises TypeError for data without a dtype of arrays, OverflowError for ints that the dtype
    cannot hold. Standard: creation functions, `asarray`.

    >>> xp.asarray([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], device='cpu')
    """
    if order is not None and (letter := _order.chosen("asarray", order)) != "K":
        return _in_order(a, dtype, letter, device, copy)
    target = None if dtype is None else as_dtype(dtype, "asarray")
    if isinstance(a, Array):
        return _of_array(a, target, device, copy)
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack__") or isinstance(a, np.generic):
        return _of_host(a, target, _device(device), copy)
    return _of_array(from_dlpack(a, copy=copy), target, device, copy)


def _in_order(obj: Any, dtype: Any, letter: str, device: Any, copy: bool | None) -> Array:
    """What `asarray` gives, packed in the order that a letter names."""
    if letter == "A" and isinstance(obj, np.ndarray):
        letter = "F" if obj.flags.fnc else "C"
    like = obj if isinstance(obj, Array) else None
    copies = like is not None and _order.laid("asarray", like, letter) is not like  # that is a copy already
    x = asarray(obj, dtype=dtype, device=device, copy=None if copy and copies else copy)
    if letter == "A" and x is obj and not copy:
        return x
    result = _order.laid("asarray", x, letter, like)
    if copy is False and result is not x:
        raise ValueError(f"asarray: the array cannot be had in the order {letter!r} without a copy")
    return result


_PYTHON_FLOATS = (np.dtype(np.float64), np.dtype(np.complex128))  # what NumPy makes of Python's numbers


def _of_array(x: Array, dtype: np.dtype | None, device: Any, copy: bool | None) -> Array:
    moves = device is not None and detect.find_device(device) is not x.device
    if copy is False and (moves or dtype not in (None, x.dtype)):
        raise ValueError(
            f"asarray: an array of {x.dtype} on {x.device} cannot be had as {dtype} on {device} without a copy"
        )
    result = x if dtype is None else cast(x, dtype)
    if moves:
        return result.to_device(device)
    return copied(x) if copy and result is x else result


def _of_host(obj: Any, dtype: np.dtype | None, device: Device, copy: bool | None) -> Array:
    if copy is False:
        if not isinstance(obj, np.ndarray) or device.backend != "cpu" or dtype not in (None, obj.dtype):
            raise ValueError(f"asarray: {type(obj).__name__} cannot become an array of {device} without a copy")
        return from_dlpack(obj, copy=False)
    if isinstance(obj, (list, tuple)) and _holds_arrays(obj):
        return _of_array(_stacked(obj), dtype, device, None)
    try:
        host = np.asarray(obj)
    except ValueError as error:  # ragged sequences
        raise ValueError(f"asarray: {error}") from None
    if host.dtype == object:
        if not _only_numbers(obj):
            raise TypeError(f"asarray: {type(obj).__name__} holds objects that no array takes")
        raise OverflowError(f"asarray: an integer of the data is out of bounds for {dtype or 'int64'}")
    if dtype is not None and host.dtype != dtype:
        host = _converted(obj, host, dtype)
    elif dtype is None and host.dtype in _PYTHON_FLOATS and not isinstance(obj, (np.ndarray, np.generic)):
        host = host.astype(default_float(device) if host.dtype.kind == "f" else default_complex(device), copy=False)
    try:
        return from_numpy(host, device)
    except TypeError as error:
        raise type(error)(f"asarray: {error}") from None


def _converted(obj: Any, host: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Data in a dtype; Python numbers must fit an integer one, as in NumPy."""
    if isinstance(obj, (np.ndarray, np.generic)):
        return host.astype(dtype)
    if (dtype.kind in "iu" and host.dtype.kind == "f") or (dtype.kind not in "bc" and host.dtype.kind == "c"):
        try:
            return np.asarray(obj, dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise type(error)(f"asarray: {error}, given for {dtype}") from None
    if dtype.kind in "iu" and host.dtype.kind in "iu" and host.size:
        limits = np.iinfo(dtype)
        low, high = int(host.min()), int(host.max())
        if low < limits.min or high > limits.max:
            raise OverflowError(
                f"asarray: Python integer {low if low < limits.min else high} out of bounds for {dtype}"
            )
    return host.astype(dtype)


def _only_numbers(obj: Any) -> bool:
    if isinstance(obj, (list, tuple)):
        return all(map(_only_numbers, obj))
    return isinstance(obj, (int, float, complex))


def _holds_arrays(obj: Any) -> bool:
    """Whether there is an array of ours among nested sequences."""
    if not isinstance(obj, (list, tuple)):
        return isinstance(obj, Array)
    types = set(map(type, obj))  # one pass in C over what are mostly numbers
    return Array in types or (not types.isdisjoint((list, tuple)) and any(map(_holds_arrays, obj)))


def _stacked(obj: Any) -> Array:
    """Nested sequences with arrays among them, joined on the arrays' device."""
    from nbx_array._manipulation import stack

    if not isinstance(obj, (list, tuple)):
        return asarray(obj)
    if all(not isinstance(x, Array) or x.sig.read is not None for x in _leaves(obj)):
        return from_numpy(np.asarray(_with_values(obj)), get_device("cpu"))
    where = next((x.device for x in _leaves(obj) if isinstance(x, Array)), None)
    parts = [_stacked(x) if _holds_arrays(x) else asarray(x, device=where) for x in obj]
    if len({x.shape for x in parts}) > 1:
        shapes = ", ".join(str(x.shape) for x in parts)
        raise ValueError(f"asarray: the sequence has an inhomogeneous shape: its elements' shapes are {shapes}")
    return stack(parts)


def _with_values(obj: Any) -> Any:
    """Nested sequences with NumPy's scalars for elements that carry their values."""
    if isinstance(obj, (list, tuple)):
        return [_with_values(x) for x in obj]
    return obj.sig.dtype.type(value_of(obj)) if isinstance(obj, Array) else obj


def _leaves(obj: Any) -> Iterator[Any]:
    if isinstance(obj, (list, tuple)):
        for x in obj:
            yield from _leaves(x)
    else:
        yield obj


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of the data of another library's array, by the DLPack protocol.

    Without a copy the memory is shared: both sides see what the other writes, and functions over the result run at
    their call. device: where the result lies; None leaves it where the data is. copy: True always, False never (then
    ValueError or BufferError where it would be needed), None if needed.
    Raises AttributeError for an object without `__dlpack__`. Standard: creation functions, `from_dlpack`.

    >>> xp.from_dlpack(np.arange(3))
    Array([0, 1, 2], device='cpu')
    """
    if isinstance(x, Array):
        return _of_array(x, None, device, copy)
    return import_view(x, None if device is None else detect.find_device(device), copy)


def _reversed(name: str, order: Any) -> bool:
    """Whether an order asks for the first axis to vary fastest."""
    return _order.chosen(name, order, "CF") == "F"


def _turned(shape: Any) -> Any:
    try:
        return _sizes(shape)[::-1]
    except TypeError:
        return shape  # refused where it is used


def _of_like(name: str, order: Any, x: Array) -> str:
    letter = _order.resolved(name, order, x)
    return "C" if letter == "K" else letter


def empty(shape: Shape, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """An array of the given shape whose elements are whatever its memory held. The default dtype is float64.

    Standard: creation functions, `empty`.

    >>> xp.empty((2, 3)).shape
    (2, 3)
    """
    if order != "C" and _reversed("empty", order):
        return empty(_turned(shape), dtype, device=device).T
    where = _device(device)
    kind = default_float(where) if dtype is None else as_dtype(dtype, "empty")
    return _new(_shape(shape, kind, "empty"), kind, where)


def empty_like(
    x: Array,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array of x's shape whose elements are whatever its memory held; x's dtype and device unless given.

    Standard: creation functions, `empty_like`.

    >>> xp.empty_like(xp.ones(3)).shape
    (3,)
    """
    x = _array(x, "empty_like")
    chosen = x.dtype if dtype is None else dtype
    how = "C" if order == "K" else _of_like("empty_like", order, x)
    return empty(x.shape if shape is None else shape, chosen, how, device=_device(device, x.device))


def full(shape: Shape, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """An array of the given shape, every element `fill_value`: a scalar or, as NumPy has it, what broadcasts to it.

    The default dtype is that of the value. Raises OverflowError for an int that the dtype cannot hold, ValueError for
    a value that does not broadcast. Standard: creation functions, `full`.

    >>> xp.full(3, 7)
    Array([7, 7, 7], device='cpu')
    """
    if order != "C" and _reversed("full", order):
        return full(_turned(shape), fill_value, dtype, device=device).T
    where = _device(device, fill_value.device if isinstance(fill_value, Array) else None)
    if isinstance(fill_value, (Array, np.ndarray, *SEQUENCES)):
        value = fill_value if isinstance(fill_value, np.ndarray) else _array(fill_value, "full", where)
        value = asarray(value, dtype=dtype, device=where)
        return copied(as_value(value, _shape(shape, value.dtype, "full"), value.dtype, where, "full"))
    if not isinstance(fill_value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"full: fill_value must be a scalar or an array, got {describe(fill_value)}")
    if dtype is None:
        if isinstance(fill_value, (float, complex)) and not isinstance(fill_value, np.generic):
            chosen = default_complex(where) if isinstance(fill_value, complex) else default_float(where)
        else:
            chosen = np.asarray(fill_value).dtype
    else:
        chosen = as_dtype(dtype, "full")
    if isinstance(fill_value, complex) and chosen.kind != "c":
        raise TypeError(f"full: {fill_value!r} is complex and the dtype is {chosen}")
    return filled(_shape(shape, chosen, "full"), fill_value, chosen, where, "full")


def full_like(
    a: Array,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array of `a`'s shape, every element `fill_value`; `a`'s dtype and device unless given.

    Standard: creation functions, `full_like`.

    >>> xp.full_like(xp.ones(3), 7)
    Array([7., 7., 7.], device='cpu')
    """
    a = _array(a, "full_like")
    chosen = a.dtype if dtype is None else dtype
    how = "C" if order == "K" else _of_like("full_like", order, a)
    return full(a.shape if shape is None else shape, fill_value, chosen, how, device=_device(device, a.device))


def zeros(shape: Shape, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """An array of zeros; float64 by default. Standard: creation functions, `zeros`.

    >>> xp.zeros(3)
    Array([0., 0., 0.], device='cpu')
    """
    if order != "C" and _reversed("zeros", order):
        return zeros(_turned(shape), dtype, device=device).T
    where = _device(device)
    kind = default_float(where) if dtype is None else as_dtype(dtype, "zeros")
    return filled(_shape(shape, kind, "zeros"), 0, kind, where, "zeros")


def zeros_like(
    a: Array,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array of zeros of `a`'s shape, dtype and device unless given. Standard: creation functions, `zeros_like`.

    >>> xp.zeros_like(xp.asarray([1, 2]))
    Array([0, 0], device='cpu')
    """
    a = _array(a, "zeros_like")
    chosen = a.dtype if dtype is None else dtype
    how = "C" if order == "K" else _of_like("zeros_like", order, a)
    return zeros(a.shape if shape is None else shape, chosen, how, device=_device(device, a.device))


def ones(shape: Shape, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """An array of ones; float64 by default. Standard: creation functions, `ones`.

    >>> xp.ones(3)
    Array([1., 1., 1.], device='cpu')
    """
    if order != "C" and _reversed("ones", order):
        return ones(_turned(shape), dtype, device=device).T
    where = _device(device)
    kind = default_float(where) if dtype is None else as_dtype(dtype, "ones")
    return filled(_shape(shape, kind, "ones"), 1, kind, where, "ones")


def ones_like(
    a: Array,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array of ones of `a`'s shape; `a`'s dtype and device unless given. Standard: creation functions, `ones_like`.

    >>> xp.ones_like(xp.asarray([1.5, 2]))
    Array([1., 1.], device='cpu')
    """
    a = _array(a, "ones_like")
    chosen = a.dtype if dtype is None else dtype
    how = "C" if order == "K" else _of_like("ones_like", order, a)
    return ones(a.shape if shape is None else shape, chosen, how, device=_device(device, a.device))


def arange(start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Array:
    """Numbers from start (0 where only one number is given) up to but not including stop, `step` apart.

    The dtype is int64 if all numbers are integers, else the default float. Raises ValueError for a step of zero or
    numbers that are not finite, OverflowError for integers that the dtype cannot hold.
    Standard: creation functions, `arange`.

    >>> xp.arange(2, 8, 2)
    Array([2, 4, 6], device='cpu')
    """
    if stop is None:
        start, stop = 0, start
    where = _device(device)
    numbers = [x.item() if isinstance(x, (Array, np.generic)) else x for x in (start, stop, step)]
    if any(isinstance(x, complex) or not isinstance(x, (int, float)) for x in numbers):
        raise TypeError(f"arange: start, stop and step are real numbers, got {start!r}, {stop!r}, {step!r}")
    start, stop, step = numbers
    if step == 0:
        raise ValueError("arange: step is zero")
    integral = all(isinstance(x, int) for x in numbers)
    if not integral and not all(map(math.isfinite, numbers)):
        raise ValueError(f"arange: start, stop and step must be finite, got {start!r}, {stop!r}, {step!r}")
    chosen = (
        as_dtype(dtype, "arange") if dtype is not None else np.dtype(np.int64) if integral else default_float(where)
    )
    if chosen.kind == "c":
        return cast(arange(start, stop, step, dtype=component(chosen), device=where), chosen)
    if chosen.kind not in "iuf" and chosen.name != "bfloat16":
        raise TypeError(f"arange: the dtype is a number's, not {chosen}")
    if integral:
        n = max(-((start - stop) // step), 0)
    else:
        quotient = (stop - start) / step
        n = max(
            math.ceil(quotient), int(start != stop and not quotient and math.copysign(1, quotient) > 0)
        )  # underflow
    _shape(n, chosen, "arange")
    if chosen.kind in "iu" and n:
        limits = np.iinfo(chosen)
        for x in (int(start), int(start) + (n - 1) * int(step)):
            if not limits.min <= x <= limits.max:
                raise OverflowError(f"arange: {x} is out of bounds for {chosen}")
    if not integral:
        step = (start + step) - start  # NumPy counts in steps of the second number less the first
    out = _new((n,), chosen, where)
    if n:
        creation.arithmetic(out.args[0], chosen, where, start, step, n)
    return out


def linspace(
    start: complex,
    stop: complex,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from start to stop, which is the last one if `endpoint`.

    Ends that are arrays or lists broadcast; the numbers between them then lie along a new axis, `axis`.
    retstep: return the step, a 0-d array, beside them. The default dtype is the default float, complex if either end
    is. Raises ValueError for a negative num. Standard: creation functions, `linspace`.

    >>> xp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], device='cpu')
    """
    if any(isinstance(x, (list, tuple)) or getattr(x, "ndim", 0) for x in (start, stop)):
        return _between(start, stop, num, endpoint, retstep, dtype, axis, device)
    of = [getattr(end, "dtype", end) for end in (start, stop)]
    if retstep:
        numbers = linspace(start, stop, num, endpoint, dtype=dtype, device=device)
        start, stop = _ends("linspace", start, stop)
        gaps = operator.index(num) - bool(endpoint)
        return numbers, asarray((stop - start) / gaps if gaps > 0 else math.nan, device=device)
    start, stop = _ends("linspace", start, stop)
    single = np.result_type(*of) == np.float32  # NumPy computes in the type of the ends
    where = _device(device)
    try:
        count = operator.index(num)
    except TypeError:
        raise TypeError(f"linspace: num is an integer, not {num!r}") from None
    if count < 0:
        raise ValueError(f"linspace: num must not be negative, got {num}")
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    natural = default_complex(where) if is_complex else default_float(where)
    chosen = natural if dtype is None else as_dtype(dtype, "linspace")
    _shape(count, chosen, "linspace")
    if is_complex and chosen.kind != "c":
        raise TypeError(f"linspace: the ends are complex and the dtype is {chosen}")
    out = _new((count,), chosen, where)
    if not count:
        return out
    if chosen.kind == "c":
        first, last = complex(start), complex(stop)
        for value, low, high in (("real", first.real, last.real), ("imag", first.imag, last.imag)):
            part = _new((count,), component(chosen), where)
            creation.spaced(part.args[0], part.dtype, where, low, high, count, endpoint)
            _elementwise_part(out, value)[:] = part
        return out
    if chosen.kind in "iu":  # NumPy rounds down what it computes in floating point
        exact = _new((count,), default_float(where), where)
        creation.spaced(exact.args[0], exact.dtype, where, float(start), float(stop), count, endpoint)  # type: ignore[arg-type]
        return cast(_elementwise.floor(exact), chosen)
    creation.spaced(out.args[0], chosen, where, float(start), float(stop), count, endpoint, single)  # type: ignore[arg-type]
    return out


def _between(start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int, device: Any) -> Any:
    """`linspace` from arrays to arrays."""
    from nbx_array._manipulation import moveaxis
    from nbx_array._reduction import check_axis

    first, last = _array(start, "linspace"), _array(stop, "linspace")
    wide = np.dtype(np.float64 if default_float(first.device) == np.float64 else np.float32)
    first = first * wide.type(1)
    reach = last - first
    place = check_axis("linspace", axis, reach.ndim + 1)
    gaps = operator.index(num) - bool(endpoint)
    places = linspace(0.0, gaps, num, endpoint=bool(endpoint), device=device or first.device)
    places = places if endpoint else arange(float(num), device=device or first.device)
    step = reach / gaps if gaps > 0 else reach * math.nan
    result = first + reach * (places.reshape((-1, *(1,) * reach.ndim)) / (gaps or 1))
    if endpoint and num > 1:
        result = copied(result)
        result[-1] = last
    result = moveaxis(result, 0, place)
    result = result if dtype is None else cast(result, as_dtype(dtype, "linspace"))
    return (result, step) if retstep else result


def _ends(name: str, start: Any, stop: Any) -> tuple[Any, Any]:
    """Two numbers, which 0-d arrays may give."""
    ends = tuple(x.item() if isinstance(x, (Array, np.generic)) else x for x in (start, stop))
    if not all(isinstance(x, (int, float, complex)) for x in ends):
        raise TypeError(f"{name}: start and stop are numbers, not {start!r} and {stop!r}")
    return ends


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array:
    """`num` numbers from base**start to base**stop, evenly spaced in their logarithms. NumPy's, not the standard's.

    Ends that are arrays or lists broadcast; the numbers between them then lie along a new axis, `axis`.

    >>> xp.logspace(0, 3, 4)
    Array([   1.,   10.,  100., 1000.], device='cpu')
    """
    try:
        exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis, device=device)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("linspace", "logspace")) from None
    powers = _elementwise.pow(base, exponents)
    return powers if dtype is None else cast(powers, as_dtype(dtype, "logspace"))


def _elementwise_part(x: Array, name: str) -> Array:
    return _elementwise.real(x) if name == "real" else _elementwise.imag(x)


def eye(
    n_rows: int | None = None,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: Any = None,
    order: str = "C",
    *,
    N: int | None = None,
    M: int | None = None,
    device: Any = None,
) -> Array:
    """A matrix with ones on its k-th diagonal, counted upwards from the main one, and zeros elsewhere.

    N, M: NumPy's names of the numbers of rows and of columns; TypeError without the former.
    Standard: creation functions, `eye`.

    >>> xp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], device='cpu')
    """
    n_rows, n_cols = N if n_rows is None else n_rows, M if n_cols is None else n_cols
    if n_rows is None:
        raise TypeError("eye: the number of rows is missing")
    if order != "C" and _reversed("eye", order):
        return eye(n_rows if n_cols is None else n_cols, n_rows, -operator.index(k), dtype, device=device).T
    where = _device(device)
    chosen = default_float(where) if dtype is None else as_dtype(dtype, "eye")
    rows, columns = _shape((n_rows, n_rows if n_cols is None else n_cols), chosen, "eye")
    k = operator.index(k)
    out = _new((rows, columns), chosen, where)
    if rows and columns:
        creation.diagonal(out.args[0], chosen, where, rows, columns, k)
    return out


def tril(m: Array, k: int = 0) -> Array:
    """The lower triangle of each matrix: zeros above the k-th diagonal.

    Raises ValueError for fewer than two dimensions. Standard: creation functions, `tril`.

    >>> xp.tril(xp.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], device='cpu')
    """
    return _triangle(m, "tril", k, lower=True)


def triu(m: Array, k: int = 0) -> Array:
    """The upper triangle of each matrix: zeros below the k-th diagonal.

    Raises ValueError for fewer than two dimensions. Standard: creation functions, `triu`.

    >>> xp.triu(xp.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], device='cpu')
    """
    return _triangle(m, "triu", k, lower=False)


def _triangle(x: Array, name: str, k: int, *, lower: bool) -> Array:
    x, k = _array(x, name), operator.index(k)
    shape = x.dims
    if len(shape) < 2:
        raise ValueError(f"{name}: expected at least 2 dimensions, got shape {shape}")
    x = packed(realize(x))
    dtype, device = x.sig.dtype, x.sig.device
    out = _new(shape, dtype, device)
    if 0 not in shape:
        creation.triangle(x.args[0], out.args[0], dtype, device, shape, k, lower=lower)
    return out


def meshgrid(
    *arrays: Array, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Array, ...]:
    """Coordinate matrices from coordinate vectors: each array stretched along the axes of all others.

    indexing: "ij" gives the k-th array the k-th axis; "xy" exchanges the first two. Raises ValueError for another
    one. Arrays of several dimensions are flattened, as NumPy has it. sparse: leave the arrays with length 1 along the
    others' axes. copy: False for views where they can be. Standard: creation functions, `meshgrid`.

    >>> [x.tolist() for x in xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    vectors = [_array(x, "meshgrid").reshape((-1,)) for x in arrays]
    axes = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        axes[:2] = 1, 0
    shape = [0] * len(arrays)
    for vector, axis in zip(vectors, axes, strict=True):
        shape[axis] = vector.size
    out = []
    for vector, axis in zip(vectors, axes, strict=True):
        (step,) = strides_of(vector)
        dims = [1] * len(axes) if sparse else shape
        dims[axis] = vector.dims[0]
        view = view_of(vector, tuple(dims), (*(0,) * axis, step, *(0,) * (len(axes) - 1 - axis)))
        out.append(copied(view) if copy else view)
    return tuple(out)
