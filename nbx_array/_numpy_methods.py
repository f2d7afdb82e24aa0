"""NumPy's methods and attributes of arrays that are not functions of the namespace, too."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbx_array import _sorting
from nbx_array._array import Array, asnumpy, cast
from nbx_array._array import copy as copied
from nbx_array._creation import _array, arange
from nbx_array._data_types import as_dtype
from nbx_array._expression import from_view
from nbx_array._manipulation import permute_dims
from nbx_array._manipulation import reshape as _reshape
from nbx_array._numpy_indexing import compress as _compress
from nbx_array._numpy_indexing import unravel_index
from nbx_array._order import chosen, in_memory_order, is_c, is_fortran, laid, resolved, strides_of
from nbx_array.memory.view import is_contiguous, reinterpret


def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    """A copy, packed in C order, with order "F" in Fortran's, and with "A" as the array is. Source: NumPy, `copy`.

    >>> xp.copy(xp.asarray([1, 2]))
    Array([1, 2], device='cpu')
    """
    x = _array(a, "copy")
    return copied(x.T).T if order not in ("C", "K") and resolved("copy", order, x) == "F" else copied(x)


def astype(
    x: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Array:
    """The array in another dtype, packed in an `order`. TypeError where `casting` does not allow it."""
    target = as_dtype(dtype, "astype")
    if casting != "unsafe" and not np.can_cast(x.dtype, target, casting):  # type: ignore[arg-type]
        raise TypeError(f"astype: cannot cast from {x.dtype} to {target} by the rule {casting!r}")
    result = cast(x, target)
    if order != "K":
        result = laid("astype", result, order, x)
    return copied(result) if result is x and copy else result


def reshape(x: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    """The elements in another shape, given as integers or as a tuple."""
    return _reshape(x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def transpose(x: Array, *axes: Any) -> Array:
    """A view with the axes in the given order, reversed if there is none."""
    order = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or None
    return x.T if order is None else permute_dims(x, tuple(order))


def flatten(x: Array, order: str = "C") -> Array:
    """A copy of the elements as a vector, in C order, with "F" in Fortran's, with "K" as they lie in memory."""
    if order != "C" and chosen("flatten", order) == "K":
        return _reshape(in_memory_order(x), (-1,), copy=True)
    return _reshape(x, (-1,), order, copy=True)


def fill(x: Array, value: Any) -> None:
    """Give every element one value."""
    x[...] = value


def sort(x: Array, axis: int = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None) -> None:
    """Put the elements in order along an axis, in place."""
    x[...] = _sorting.sort(x, axis)


def partition(x: Array, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None) -> None:
    """Put the elements in order along an axis, in place: `kth` too stands where it would."""
    x[...] = _sorting.sort(x, axis)


def compress(x: Array, condition: Any, axis: int | None = None, out: Any = None) -> Array:
    """The places along an axis where a vector of conditions holds."""
    return _compress(condition, x, axis, out)


def view(x: Array, dtype: Any = None, type: Any = None) -> Array:
    """The same memory as another array, its bytes read as another dtype if one is given.

    A dtype of another size changes the last axis, which must be contiguous, and its length must come out whole: else
    ValueError.
    """
    memory = x.memory()
    if dtype is None or dtype is Array:
        return from_view(Array, memory)
    try:
        return from_view(Array, reinterpret(memory, as_dtype(dtype, "view")))
    except ValueError as error:
        raise ValueError(f"view: {error}") from None


def tobytes(x: Array, order: str = "C") -> bytes:
    """The elements' bytes, in C order or with "F" in Fortran's. Waits for the device."""
    return asnumpy(x).tobytes("F" if resolved("tobytes", order, x) == "F" else "C")


def tofile(x: Array, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements in C order to a file, as bytes or, with a separator, as text. Waits for the device."""
    asnumpy(x).tofile(fid, sep, format)


def setflags(x: Array, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
    """Accepted where it changes nothing: arrays are always writeable and aligned. ValueError for anything else."""
    if write is False or align is False or uic:
        raise ValueError("setflags: arrays are always writeable and aligned; keep a copy instead")


def strides(x: Array) -> tuple[int, ...]:
    """Bytes from one element to the next along each axis."""
    return tuple(step * x.itemsize for step in strides_of(x))


def base(x: Array) -> Array | None:
    """None for an array that fills its memory; else all of that memory, as a vector."""
    view = x.memory()
    whole = view.storage.nbytes // view.dtype.itemsize
    if view.nbytes == view.storage.nbytes and is_contiguous(view.shape, view.strides):
        return None
    return from_view(Array, view._replace(shape=(whole,), strides=(1,), offset=0))


class Flags:
    """How an array lies in memory, under NumPy's names, as attributes and as keys."""

    owndata = property(lambda self: self.array.base is None)
    writeable = property(lambda self: True, lambda self, value: setflags(self.array, write=bool(value)))
    aligned = behaved = property(lambda self: True)
    writebackifcopy = property(lambda self: False)

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements are packed in C order."""
        return is_c(self.array)

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements are packed in Fortran's order."""
        return is_fortran(self.array)

    contiguous = c_contiguous

    @property
    def fnc(self) -> bool:
        """Whether they are packed in Fortran's order and not in C order."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """Whether they are packed in one order or the other."""
        return self.f_contiguous or self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        short = {"C": "C_CONTIGUOUS", "F": "F_CONTIGUOUS", "O": "OWNDATA", "W": "WRITEABLE", "A": "ALIGNED"}
        attribute = short.get(name, name).lower()
        if name != name.upper() or not hasattr(self, attribute):
            raise KeyError(f"unknown flag {name!r}")
        return bool(getattr(self, attribute))

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)


class Flat:
    """The elements in C order, to read and to write by their place: `x.flat`."""

    def __init__(self, array: Array) -> None:
        self.base = array

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Array]:
        return iter(_reshape(self.base, (-1,)))

    def __getitem__(self, key: Any) -> Array:
        return copied(_reshape(self.base, (-1,))[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        x = self.base
        if not x.memory().size:
            return
        if not x.sig.general:
            _reshape(x, (-1,))[key] = value
            return
        places = arange(x.size, device=x.device)[key]
        x[unravel_index(places, x.shape)] = value

    def copy(self) -> Array:
        """The elements as a vector."""
        return flatten(self.base)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return asnumpy(self.base).ravel().astype(dtype or self.base.dtype, copy=False)


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The place of each element and the element, in C order. Source: NumPy, `ndenumerate`.

    >>> [(place, int(element)) for place, element in xp.ndenumerate(xp.asarray([[3, 4]]))]
    [((0, 0), 3), ((0, 1), 4)]
    """
    x = _array(arr, "ndenumerate")
    return zip(np.ndindex(x.shape), Flat(x), strict=True)


def set_flat(x: Array, value: Any) -> None:
    """`x.flat = value`: values in C order, over again where they are fewer."""
    values = _reshape(_array(value, "flat"), (-1,))
    if values.size == x.size:
        x[...] = _reshape(values, x.shape)
    elif values.size:
        x[...] = _reshape(values[arange(x.size, device=x.device) % values.size], x.shape)


def item(x: Array, *place: Any) -> Any:
    """An element as a Python scalar: the only one, or the one at a place. Waits for the device."""
    if len(place) == 1 and isinstance(place[0], tuple):
        place = place[0]
    if len(place) == 1 and x.ndim != 1:
        n = operator.index(place[0])
        if not -x.size <= n < x.size:
            raise IndexError(f"item: index {n} is out of bounds for size {x.size}")
        place = tuple(int(k) for k in np.unravel_index(n % x.size, x.shape))
    if not place and x.size != 1:
        raise ValueError(f"item: can only convert an array of size 1 to a Python scalar, got shape {x.shape}")
    if len(place) not in (0, x.ndim):
        raise ValueError(f"item: incorrect number of indices for an array of shape {x.shape}")
    return asnumpy(x[place] if place else x).item()
