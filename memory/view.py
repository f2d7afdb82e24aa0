"""Views: a storage seen through a dtype, a shape, strides and an offset, and the arithmetic on them.

Everything here is pure geometry on Python integers, which do not overflow; strides and offsets count elements, not
bytes. No function looks at the memory itself. Errors have the type and the words NumPy gives them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import EllipsisType, NoneType
from typing import Any, NamedTuple

import numpy as np
from nbx_array.memory.storage import Storage
from numpy.exceptions import AxisError

__all__ = [
    "View",
    "basic_index",
    "broadcast_shapes",
    "broadcast_strides",
    "check_shape",
    "collapse",
    "contiguous_strides",
    "flip",
    "infer_shape",
    "is_contiguous",
    "may_overlap",
    "needs_64bit",
    "normalize_axes",
    "normalize_axis",
    "reach",
    "reshape_strides",
    "shape_text",
    "span",
    "transpose",
]

Shape = tuple[int, ...]

MAX_BYTES = 2**63 - 1
INDEX_32_LIMIT = 2**31


class View(NamedTuple):
    """Elements of a storage: element (i, j, ...) lies at index ``offset + i * strides[0] + j * strides[1] + ...``."""

    storage: Storage
    dtype: np.dtype[Any]
    shape: Shape
    strides: Shape
    offset: int = 0

    @property
    def address(self) -> int:
        """Address of the element whose indices are all zero."""
        return self.storage.ptr + self.offset * self.dtype.itemsize

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take when packed."""
        return math.prod(self.shape) * self.dtype.itemsize


def shape_text(shape: Iterable[int]) -> str:
    """A shape as NumPy's messages write it: ``(2,3)``, ``(2,)``, ``()``."""
    dims = tuple(shape)
    return f"({dims[0]},)" if len(dims) == 1 else f"({','.join(map(str, dims))})"


# ------------------------------------------------------------------------------------------------ sizes and strides


def check_shape(shape: Iterable[int], itemsize: int) -> int:
    """Return the bytes that an array of this shape takes; raise ValueError for a negative or an impossible one.

    As in NumPy, zeros among the dimensions do not excuse the others from fitting 63 bits.
    """
    nbytes = capacity = itemsize
    for d in shape:
        if d < 0:
            raise ValueError("negative dimensions are not allowed")
        if d > MAX_BYTES:
            raise ValueError("Maximum allowed dimension exceeded")
        nbytes *= d
        capacity *= d or 1
    if capacity > MAX_BYTES:
        raise ValueError(
            f"array is too big; shape {shape_text(shape)} of {itemsize}-byte elements is larger than the maximum "
            "possible size."
        )
    return nbytes


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Strides of a packed array in C order."""
    return _contiguous_strides(tuple(shape))


@lru_cache(maxsize=4096)
def _contiguous_strides(shape: Shape) -> Shape:
    strides = []
    step = 1
    for d in reversed(shape):
        strides.append(step)
        step *= d
    return tuple(reversed(strides))


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements are packed in C order (strides of dimensions of length 1 do not matter)."""
    return _is_contiguous(tuple(shape), tuple(strides))


@lru_cache(maxsize=4096)
def _is_contiguous(shape: Shape, strides: Shape) -> bool:
    step = 1
    packed = True
    for d, s in zip(reversed(shape), reversed(strides), strict=True):
        if d == 0:
            return True
        if d != 1:
            packed = packed and s == step
            step *= d
    return packed


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The sum of ``(d - 1) * abs(stride)``: how far apart, in elements, the two extreme elements lie."""
    return 0 if 0 in shape else sum((d - 1) * abs(s) for d, s in zip(shape, strides, strict=True))


def span(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> tuple[int, int]:
    """The half-open range of element indices that the view touches; empty for a view without elements."""
    if 0 in shape:
        return offset, offset
    below = sum((d - 1) * s for d, s in zip(shape, strides, strict=True) if s < 0)
    above = sum((d - 1) * s for d, s in zip(shape, strides, strict=True) if s > 0)
    return offset + below, offset + above + 1


def needs_64bit(shape: Sequence[int], *strides: Sequence[int]) -> bool:
    """Whether an element number or an offset reaches 2^31, so that kernels must index with 64 bits."""
    return math.prod(shape) >= INDEX_32_LIMIT or any(reach(shape, s) >= INDEX_32_LIMIT for s in strides)


def collapse(shape: Sequence[int], *strides: Sequence[int]) -> tuple[Shape, tuple[Shape, ...]]:
    """Describe the same elements, in the same order, with the fewest dimensions for all stride tuples at once.

    Dimensions of length 1 go, and neighbours merge when in every operand the outer stride is the inner one times the
    inner length. A single element gives ``()``, no elements ``(0,)``.
    """
    if 0 in shape:
        return (0,), tuple((0,) for _ in strides)
    dims: list[int] = []
    steps: list[list[int]] = []  # of each kept dimension: its stride in every operand
    for d, *here in zip(shape, *strides, strict=True):
        if d == 1:
            continue
        if steps and steps[-1] == [s * d for s in here]:
            dims[-1] *= d
            steps[-1] = here
        else:
            dims.append(d)
            steps.append(here)
    return tuple(dims), tuple(zip(*steps, strict=True)) if steps else ((),) * len(strides)


# ------------------------------------------------------------------------------------------------ broadcasting


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that all shapes stretch to, or NumPy's ValueError."""
    result = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, d in enumerate(reversed(shape), 1):
            if d != result[-i] and d != 1:
                if result[-i] != 1:
                    raise ValueError(
                        "operands could not be broadcast together with shapes " + " ".join(map(shape_text, shapes))
                    )
                result[-i] = d
    return tuple(result)


@lru_cache(maxsize=4096)
def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Strides with which an array of ``shape`` reads as one of ``target``: 0 where it is stretched or of length 1."""
    added = len(target) - len(shape)
    if added < 0 or any(d != t and d != 1 for d, t in zip(shape, target[added:], strict=True)):
        raise ValueError(f"array of shape {shape_text(shape)} could not be broadcast to shape {shape_text(target)}")
    return (0,) * added + tuple(0 if d == 1 else s for d, s in zip(shape, strides, strict=True))


# ------------------------------------------------------------------------------------------------ axes


def normalize_axis(axis: int, ndim: int) -> int:
    """An axis counted from the front; AxisError outside ``[-ndim, ndim)``, TypeError for what is no integer.

    A bool is none here: where True stands for an axis, another argument was meant."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    if isinstance(axis, bool):
        raise TypeError(f"an axis is an integer, not {axis!r}")
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise AxisError(f"axis {index} is out of bounds for array of dimension {ndim}")
    return index + ndim if index < 0 else index


def normalize_axes(axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, in the order given; None means all. ValueError when one is named twice."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    try:
        return (normalize_axis(axis, ndim),)  # type: ignore[arg-type]
    except TypeError:
        if not isinstance(axis, Iterable):
            raise
    axes = tuple(normalize_axis(a, ndim) for a in axis)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def transpose(shape: Shape, strides: Shape, axes: Sequence[int]) -> tuple[Shape, Shape]:
    """Shape and strides with the axes in the given order."""
    ndim = len(shape)
    if len(axes) != ndim:
        raise ValueError("axes don't match array")
    order = [normalize_axis(a, ndim) for a in axes]
    if len(set(order)) != ndim:
        raise ValueError("repeated axis in transpose")
    return tuple([shape[a] for a in order]), tuple([strides[a] for a in order])


def move_axes(origin: Shape, goal: Shape, ndim: int) -> list[int]:
    """The order of axes in which those at `origin` come to stand at `goal`, all of them counted from the front."""
    order = [axis for axis in range(ndim) if axis not in origin]
    for place, axis in sorted(zip(goal, origin, strict=True)):
        order.insert(place, axis)
    return order


def flip(shape: Shape, strides: Shape, offset: int, axes: Iterable[int]) -> tuple[Shape, int]:
    """Strides and offset of the view that runs backwards along the given axes."""
    steps = list(strides)
    for a in axes:
        if 0 not in shape:
            offset += (shape[a] - 1) * steps[a]
        steps[a] = -steps[a]
    return tuple(steps), offset


# ------------------------------------------------------------------------------------------------ indexing


def basic_index(shape: Shape, strides: Shape, offset: int, key: object) -> tuple[Shape, Shape, int]:
    """Shape, strides and offset of ``x[key]`` for a key of integers, slices, Ellipsis and None.

    A view without elements keeps the offset, so that it points nowhere outside its storage.
    """
    start = offset
    items = key if isinstance(key, tuple) else (key,)
    kinds = [type(item) for item in items]
    ellipses = kinds.count(EllipsisType)
    consumed = len(items) - ellipses - kinds.count(NoneType)
    if consumed > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {consumed} were indexed")
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    dims: list[int] = []
    steps: list[int] = []
    axis = 0
    for item in items:
        if item is None:
            dims.append(1)
            steps.append(0)
        elif item is Ellipsis:
            kept = slice(axis, axis + len(shape) - consumed)
            dims += shape[kept]
            steps += strides[kept]
            axis = kept.stop
        elif isinstance(item, slice):
            d, s, distance = _slice(shape[axis], strides[axis], item)
            dims.append(d)
            steps.append(s)
            offset += distance
            axis += 1
        else:
            offset += _position(item, axis, shape[axis]) * strides[axis]
            axis += 1
    dims += shape[axis:]
    steps += strides[axis:]
    return tuple(dims), tuple(steps), start if 0 in dims else offset


def _slice(length: int, stride: int, item: slice) -> tuple[int, int, int]:
    """Length and stride of a dimension after a slice, and how far its first element moves."""
    start, stop, step = item.indices(length)
    count = len(range(start, stop, step))
    return count, (stride * step if count > 1 else stride), start * stride


def _position(item: object, axis: int, length: int) -> int:
    try:
        index = operator.index(item)  # type: ignore[arg-type]
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            f"valid indices, not {type(item).__name__}"
        ) from None
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
    return index + length if index < 0 else index


# ------------------------------------------------------------------------------------------------ reshaping


def infer_shape(size: int, shape: Sequence[int]) -> Shape:
    """The shape with its -1, if any, replaced so that it holds ``size`` elements; ValueError when none does."""
    dims = tuple(map(operator.index, shape))
    if bool in map(type, shape):
        raise TypeError(f"a shape has integers, not {shape!r}")
    if not dims or min(dims) >= 0:
        if math.prod(dims) == size:
            return dims
        raise ValueError(f"cannot reshape array of size {size} into shape {shape_text(dims)}")
    unknown = [axis for axis, d in enumerate(dims) if d < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(d for d in dims if d >= 0)
    if dims[unknown[0]] == -1 and known and size % known == 0:
        axis = unknown[0]
        return (*dims[:axis], size // known, *dims[axis + 1 :])
    raise ValueError(f"cannot reshape array of size {size} into shape {shape_text(dims)}")


@lru_cache(maxsize=4096)
def reshape_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """Strides that show the same elements in C order as ``new_shape``, or None where only a copy can.

    Both shapes hold the same number of elements. The old dimensions are collapsed; every new one must then fill one
    old dimension from the inside.
    """
    if 0 in shape:
        return contiguous_strides(new_shape)
    old_dims, (old_strides,) = collapse(shape, strides)
    blocks = list(zip(old_dims, old_strides, strict=True))
    result = []
    length, stride = 1, 1  # what is left of the old dimension being filled, and the stride of its next piece
    for d in reversed(new_shape):
        if d == 1:
            result.append(stride)
            continue
        if length == 1:
            length, stride = blocks.pop()
        if length % d:
            return None
        result.append(stride)
        length //= d
        stride *= d
    return tuple(reversed(result))


def reinterpret(view: View, dtype: np.dtype[Any]) -> View:
    """The same bytes as elements of another dtype, along the last axis if its size differs; ValueError if none fit."""
    old, new = view.dtype.itemsize, dtype.itemsize
    if old == new:
        return view._replace(dtype=dtype)
    if not view.shape:
        raise ValueError(f"elements of {old} bytes of a 0-d array cannot be read as {dtype}")
    *outer, length = view.shape
    if view.strides[-1] != 1 and length != 1:
        raise ValueError(f"the last axis must be contiguous to be read as {dtype}, its elements are {old} bytes")
    steps = [step * old for step in view.strides[:-1]]
    if length * old % new or any(step % new for step in (view.address, *steps)):
        raise ValueError(f"an array of shape {view.shape} of {view.dtype} does not divide into elements of {dtype}")
    offset = (view.address - view.storage.ptr) // new
    return View(view.storage, dtype, (*outer, length * old // new), (*(step // new for step in steps), 1), offset)


# ------------------------------------------------------------------------------------------------ overlap


def may_overlap(a: View, b: View) -> bool:
    """Whether the two views might share a byte. False is certain; True may be a false alarm.

    Two storages can be the same memory where both are shared, so addresses are compared. Ranges that do not meet are
    disjoint, and so are views that interleave: when all strides are multiples of g bytes, every element starts at the
    same remainder modulo g (``x[::2]`` and ``x[1::2]``, the real and the imaginary parts).
    """
    if a.storage is not b.storage and not (
        a.storage.shared and b.storage.shared and a.storage.device is b.storage.device
    ):
        return False
    if 0 in a.shape or 0 in b.shape:
        return False
    size_a, size_b = a.dtype.itemsize, b.dtype.itemsize
    low_a, high_a = (a.storage.ptr + i * size_a for i in span(a.shape, a.strides, a.offset))
    low_b, high_b = (b.storage.ptr + i * size_b for i in span(b.shape, b.strides, b.offset))
    if high_a <= low_b or high_b <= low_a:
        return False
    steps = [s * v.dtype.itemsize for v in (a, b) for d, s in zip(v.shape, v.strides, strict=True) if d > 1]
    g = math.gcd(*steps)
    if g == 0:  # a single address each, and the ranges meet
        return True
    distance = (b.address - a.address) % g
    return distance < size_a or g - distance < size_b
