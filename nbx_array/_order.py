"""NumPy's `order`: how a result lies in memory, and in which order elements are read.

"C" has the last axis vary fastest, "F" the first one. "A" is "F" for an array that lies in Fortran's order and not in
C order, else "C". "K", NumPy's default in copies, leaves the layout to the library, which packs in C order, as its
kernels read it quickest; where elements are read (`ravel`, `flatten`) it is their order in memory. Only what is asked
for with "F" or "A", and views, lie otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbx_array._array import Array
from nbx_array._array import copy as copied
from nbx_array.memory.view import contiguous_strides, is_contiguous


def strides_of(x: Array) -> tuple[int, ...]:
    """Elements from one to the next along each axis, without running what is pending."""
    return x.geo[0] if x.sig.op == "leaf" and x.sig.general else contiguous_strides(x.shape)


def is_fortran(x: Array) -> bool:
    """Whether the elements are packed in Fortran's order."""
    return is_contiguous(x.shape[::-1], strides_of(x)[::-1])


def is_c(x: Array) -> bool:
    """Whether the elements are packed in C order."""
    return not (x.sig.op == "leaf" and x.sig.general)


def chosen(name: str, order: Any, allowed: str = "CFAK") -> str:
    """One of the letters, in capitals; None is K. Raises TypeError or ValueError for another order."""
    if order is None:
        order = "K" if "K" in allowed else "C"
    if not isinstance(order, str):
        raise TypeError(f"{name}: order must be str, not {type(order).__name__}")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"{name}: order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order.upper() not in allowed:
        raise ValueError(f"{name}: order {order!r} is not permitted, only one of {', '.join(map(repr, allowed))}")
    return order.upper()


def resolved(name: str, order: Any, like: Array, allowed: str = "CFAK") -> str:
    """The order that "A" means for an array, the others as they are."""
    letter = chosen(name, order, allowed)
    if letter == "A":
        return "F" if is_fortran(like) and not is_c(like) else "C"
    return letter


def laid(name: str, x: Array, order: Any, like: Array | None = None) -> Array:
    """The array itself if it lies in the order, else a copy that does. `like`: the array that "A" looks at."""
    letter = resolved(name, order, x if like is None else like)
    if letter == "F" and not is_fortran(x):
        return copied(x.T).T
    return copied(x) if letter == "C" and not is_c(x) else x


def laid_by(name: str, x: Array, order: Any, operands: Iterable[Any]) -> Array:
    """The array in the order; "A" is "F" where all operands lie so."""
    letter = chosen(name, order)
    if letter == "A":
        arrays = [a for a in operands if isinstance(a, Array)]
        letter = "F" if arrays and all(is_fortran(a) and not is_c(a) for a in arrays) else "C"
    return laid(name, x, letter)


def in_memory_order(x: Array) -> Array:
    """A view with the axes from the longest stride to the shortest: read in C order, the elements come as they lie."""
    from nbx_array._manipulation import permute_dims

    strides = strides_of(x)
    axes = sorted(range(x.ndim), key=lambda axis: -abs(strides[axis]))
    return x if axes == list(range(x.ndim)) else permute_dims(x, tuple(axes))
