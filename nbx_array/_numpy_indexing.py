"""NumPy's functions about places: grids, triangles, selections, and writes through masks and integer arrays."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbx_array._array import Array, as_value, cast, copy, filled, where
from nbx_array._array import where as choose_where
from nbx_array._creation import _array, _sizes, arange, eye, linspace, meshgrid, ones, tril
from nbx_array._data_types import as_dtype
from nbx_array._elementwise import clip, equal, logical_not
from nbx_array._expression import realize
from nbx_array._manipulation import _axes, broadcast_arrays, concat, reshape, stack
from nbx_array._out import deliver
from nbx_array._searching import nonzero, searchsorted
from nbx_array._sorting import argsort, sort
from nbx_array._statistical import max, min
from nbx_array._taking import take, take_along_axis
from nbx_array._utility import all
from nbx_array.kernels.pointwise import BOOL

INT64 = np.dtype(np.int64)

# -------------------------------------------------------------------------------------------------------------- grids


class Grid:
    """`mgrid` and `ogrid`: coordinates of a grid given by slices; a step of nj makes n points with both ends.

    Source: NumPy, `mgrid` and `ogrid`.

    >>> xp.mgrid[0:2, 0:2].tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _line(key)
        lines = [_line(k) for k in key]
        dtype = np.result_type(*(x.dtype for x in lines)) if lines else INT64
        axes = meshgrid(*(cast(x, dtype) for x in lines), indexing="ij", sparse=self.sparse, copy=False)
        return tuple(axes) if self.sparse else stack(axes)


def _line(key: slice) -> Array:
    """The numbers of a slice, ends included if its step is imaginary."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex):
        return linspace(float(start), float(key.stop), int(abs(step)))
    return arange(start, key.stop, step)


mgrid, ogrid = Grid(sparse=False), Grid(sparse=True)


class Joiner:
    """`r_` and `c_`: arrays, numbers and slices joined along an axis.

    A string first gives the axis, the least number of dimensions, and where the axes of arrays of fewer go:
    "axis,ndim,place". Source: NumPy, `r_` and `c_`.

    >>> xp.r_[0:3, 7, xp.asarray([8, 9])]
    Array([0, 1, 2, 7, 8, 9], device='cpu')
    """

    def __init__(self, axis: int, ndim: int, place: int) -> None:
        self.directions = (axis, ndim, place)

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndim, place = self.directions
        if items and isinstance(items[0], str):
            text = items.pop(0)
            if not text.replace("-", "").replace(",", "").isdigit():
                raise ValueError(f"r_: unknown special directive {text!r}")
            given = [int(number) for number in text.split(",")]
            axis, ndim, place = (*given, *self.directions[len(given) :])[:3]
        parts, weak = [], []
        for item in items:
            x = _line(item) if isinstance(item, slice) else _array(item, "r_")
            weak.append(isinstance(item, (int, float, complex)) and not isinstance(item, np.generic))
            if x.ndim < ndim or not x.ndim:
                x = _spread(x, ndim, place)
            parts.append(x)
        strong = [x.dtype for x, is_weak in zip(parts, weak, strict=True) if not is_weak]
        if strong:  # a Python number takes the dtype of the arrays beside it
            dtype = np.result_type(*strong, *(item for item, is_weak in zip(items, weak, strict=True) if is_weak))
            parts = [cast(x, dtype) for x in parts]
        return concat(parts, axis=axis)

    def __len__(self) -> int:
        return 0


def _spread(x: Array, ndim: int, place: int) -> Array:
    """x with new axes of length 1; its own begin at `place` of the result."""
    new = ndim - x.ndim
    if not x.ndim:
        return reshape(x, (1,) * builtins.max(ndim, 1))
    first = place if place >= 0 else new + place + 1
    return reshape(x, (*(1,) * first, *x.shape, *(1,) * (new - first)))


r_, c_ = Joiner(0, 1, -1), Joiner(-1, 2, 0)


class Index:
    """`s_` and `index_exp`: what stands in the brackets. Source: NumPy, `s_`.

    >>> xp.s_[1:3, ...]
    (slice(1, 3, None), Ellipsis)
    """

    def __init__(self, always_tuple: bool) -> None:
        self.always_tuple = always_tuple

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self.always_tuple and not isinstance(key, tuple) else key


s_, index_exp = Index(always_tuple=False), Index(always_tuple=True)


def ix_(*vectors: Any) -> tuple[Array, ...]:
    """An open mesh of vectors of integers, or of masks: `x[ix_(rows, columns)]` is where they cross.

    Source: NumPy, `ix_`.

    >>> xp.asarray([[1, 2], [3, 4]])[xp.ix_([1], [0, 1])]
    Array([[3, 4]], device='cpu')
    """
    found = []
    for k, vector in enumerate(vectors):
        x = _array(vector, "ix_") if not isinstance(vector, (list, tuple)) or len(vector) else arange(0)
        if x.ndim != 1:
            raise ValueError(f"ix_: expected vectors, got shape {x.shape}")
        (x,) = nonzero(x) if x.dtype == BOOL else (x,)
        found.append(reshape(x, (*(1,) * k, x.size, *(1,) * (len(vectors) - k - 1))))
    return tuple(found)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The coordinates of every place of a grid, an array an axis. Source: NumPy, `indices`.

    >>> xp.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    lines = [arange(operator.index(n), dtype=as_dtype(dtype, "indices")) for n in dimensions]
    axes = meshgrid(*lines, indexing="ij", sparse=sparse, copy=False)
    return tuple(axes) if sparse else stack(axes) if axes else arange(0)


def _order(name: str, dims: Any, order: str) -> tuple[int, ...]:
    sizes = tuple(map(operator.index, _sizes(dims)))
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order is 'C' or 'F', not {order!r}")
    return sizes


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """Places in the flattened array as coordinates, an array an axis. Waits for the device.

    Raises ValueError for a place outside of the shape. Source: NumPy, `unravel_index`.

    >>> xp.unravel_index(5, (2, 3))
    (Array(1, device='cpu'), Array(2, device='cpu'))
    """
    sizes = _order("unravel_index", shape, order)
    places = _whole("unravel_index", indices)
    total = math.prod(sizes)
    if places.size and not (int(min(places)) >= 0 and int(max(places)) < total):
        raise ValueError(f"unravel_index: an index is out of bounds for array with size {total}")
    found: list[Array] = []
    rest = places
    for size in sizes if order == "F" else reversed(sizes):
        found.append(rest % size if size else rest)
        rest = rest // size if size else rest
    return tuple(found if order == "F" else reversed(found))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    """Coordinates, an array an axis, as places in the flattened array. Waits for the device where mode is "raise".

    mode: "raise" for ValueError for a coordinate outside, "wrap" or "clip", or one for each axis. Source: NumPy,
    `ravel_multi_index`.

    >>> xp.ravel_multi_index(([1, 0], [2, 1]), (2, 3))
    Array([5, 1], device='cpu')
    """
    sizes = _order("ravel_multi_index", dims, order)
    parts = [_whole("ravel_multi_index", x) for x in multi_index]
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    if len(parts) != len(sizes):
        raise ValueError(f"ravel_multi_index: parameter multi_index must be a sequence of length {len(sizes)}")
    total: Any = 0
    step = 1
    for x, size, how in list(zip(parts, sizes, modes, strict=True))[:: 1 if order == "F" else -1]:
        if how == "wrap":
            x = x % size
        elif how == "clip":
            x = clip(x, 0, size - 1)
        elif how != "raise":
            raise ValueError(f"ravel_multi_index: mode is 'raise', 'wrap' or 'clip', not {how!r}")
        elif x.size and not (int(min(x)) >= 0 and int(max(x)) < size):
            raise ValueError("ravel_multi_index: invalid entry in coordinates array")
        total = x * step + total
        step *= size
    return total


def _whole(name: str, x: Any) -> Array:
    x = _array(x, name)
    if x.dtype.kind not in "iu" and x.size:
        raise TypeError(f"{name}: only int indices permitted, got dtype {x.dtype}")
    return cast(x, INT64)


# ----------------------------------------------------------------------------------------------------------- triangles


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """Ones on the k-th diagonal and below it, zeros above. Source: NumPy, `tri`.

    >>> xp.tri(2, 3)
    Array([[1., 0., 0.],
           [1., 1., 0.]], device='cpu')
    """
    rows, columns = operator.index(N), operator.index(N if M is None else M)
    return tril(ones((rows if rows > 0 else 0, columns if columns > 0 else 0), dtype=dtype, device=device), k)


def identity(n: int, dtype: Any = None, *, device: Any = None) -> Array:
    """The square matrix with ones on its diagonal. Source: NumPy, `identity`."""
    return eye(n, dtype=dtype, device=device)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of the lower triangle of a matrix of n rows and m columns. Source: NumPy, `tril_indices`.

    >>> [x.tolist() for x in xp.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return nonzero(tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of the upper triangle of a matrix of n rows and m columns. Source: NumPy, `triu_indices`."""
    return nonzero(logical_not(tri(n, m, k - 1, bool)))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """The coordinates of a matrix's lower triangle. Source: NumPy, `tril_indices_from`."""
    rows, columns = _array(arr, "tril_indices_from").shape
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """The coordinates of a matrix's upper triangle. Source: NumPy, `triu_indices_from`."""
    rows, columns = _array(arr, "triu_indices_from").shape
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The coordinates of the diagonal of a cube of side n. Source: NumPy, `diag_indices`."""
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """The coordinates of an array's diagonal, whose sides are all equal. Source: NumPy, `diag_indices_from`."""
    x = _array(arr, "diag_indices_from")
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ValueError(f"diag_indices_from: all dimensions of input must be of equal length, got {x.shape}")
    return diag_indices(x.shape[0], x.ndim)


def fill_diagonal(a: Array, val: Any, wrap: bool = False) -> None:
    """Write to the diagonal a[i, i, ...] in place; over again below it, with `wrap`, of a matrix taller than wide.

    Raises ValueError for fewer than 2 dimensions, or more of unequal length. Source: NumPy, `fill_diagonal`.
    """
    if not isinstance(a, Array) or a.ndim < 2:
        raise ValueError("fill_diagonal: array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"fill_diagonal: all dimensions of input must be of equal length, got {a.shape}")
    step = sum(math.prod(a.shape[d + 1 :]) for d in range(a.ndim))  # from one place of the diagonal to the next
    end = a.size if wrap and a.ndim == 2 else builtins.min(a.shape) * step
    places = arange(0, end, step, device=a.device)
    value = reshape(_array(val, "fill_diagonal"), (-1,))
    if value.size > 1:
        value = take(value, arange(places.size, device=a.device), mode="wrap")
    a[unravel_index(places, a.shape)] = value if value.size > 1 else value[0]


# ---------------------------------------------------------------------------------------------------------- selecting


def flatnonzero(a: Any) -> Array:
    """The places in the flattened array of what is not zero. Waits for the device. Source: NumPy, `flatnonzero`.

    >>> xp.flatnonzero(xp.asarray([0, 3, 5]))
    Array([1, 2], device='cpu')
    """
    return nonzero(reshape(_array(a, "flatnonzero"), (-1,)))[0]


def argwhere(a: Any) -> Array:
    """The coordinates of what is not zero, a row each. Waits for the device. Source: NumPy, `argwhere`.

    >>> xp.argwhere(xp.asarray([[0, 1], [1, 0]]))
    Array([[0, 1],
           [1, 0]], device='cpu')
    """
    a = _array(a, "argwhere")
    if not a.ndim:
        return filled((int(bool(a)), 0), 0, INT64, a.device, "argwhere")
    return stack(nonzero(a), axis=1)


def extract(condition: Any, arr: Any) -> Array:
    """The elements where a condition of the same size holds. Waits for the device. Source: NumPy, `extract`."""
    return take(reshape(_array(arr, "extract"), (-1,)), flatnonzero(condition))


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Array:
    """The places along an axis where a vector of conditions holds. Waits for the device. Source: NumPy, `compress`.

    >>> xp.compress([False, True], xp.asarray([[1, 2], [3, 4]]), axis=0)
    Array([[3, 4]], device='cpu')
    """
    x, mask = _array(a, "compress"), _array(condition, "compress")
    if mask.ndim != 1:
        raise ValueError(f"compress: condition must be a vector, got shape {mask.shape}")
    return deliver("compress", take(x, flatnonzero(mask), axis=axis), out)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Array:
    """For each place the element of the choice that `a` names there; all broadcast against each other.

    mode: "raise" for ValueError for a number of no choice, which waits for the device, "wrap" or "clip". Source: NumPy,
    `choose`.

    >>> xp.choose([1, 0], [[10, 20], [30, 40]])
    Array([30, 20], device='cpu')
    """
    which = _whole("choose", a)
    options = [_array(x, "choose") for x in choices]
    n = len(options)
    if mode == "raise" and which.size and not (int(min(which)) >= 0 and int(max(which)) < n):
        raise ValueError("choose: invalid entry in choice array")
    which = which % n if mode == "wrap" else clip(which, 0, n - 1)
    result = options[-1]
    for k in range(n - 2, -1, -1):
        result = where(equal(which, k), options[k], result)
    if n == 1:
        result = broadcast_arrays(result, which)[0]
    return deliver("choose", result, out)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Elements of the choice of the first condition that holds, `default` where none does.

    Raises ValueError for lists of unequal length or none, TypeError for conditions that are not bools. Source: NumPy,
    `select`.

    >>> xp.select([xp.asarray([True, False])], [xp.asarray([1, 2])], 9)
    Array([1, 9], device='cpu')
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions and {len(choicelist)} choices")
    conditions = [_array(condition, "select") for condition in condlist]
    if any(condition.dtype != BOOL for condition in conditions):
        raise TypeError("select: conditions must be bool arrays")
    result: Any = default
    for condition, choice in zip(reversed(conditions), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Functions of x, or constants, each where its condition holds: the last of those that hold.

    One function more than conditions is for where none holds. Functions are called with all of x. Source: NumPy,
    `piecewise`.

    >>> xp.piecewise(xp.asarray([-1.0, 2.0]), [xp.asarray([True, False])], [lambda x: -x, lambda x: x])
    Array([1., 2.], device='cpu')
    """
    x = _array(x, "piecewise")
    given = condlist if isinstance(condlist, (list, tuple)) and condlist and np.ndim(condlist[0]) else [condlist]
    if isinstance(condlist, (list, tuple)) and condlist and isinstance(condlist[0], Array):
        given = condlist
    elif isinstance(condlist, Array) and condlist.ndim > x.ndim:
        given = list(condlist)
    conditions = [cast(_array(condition, "piecewise"), BOOL) for condition in given]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"piecewise: {len(conditions)} conditions and {len(funclist)} functions")

    def value(function: Any) -> Any:
        return function(x, *args, **kw) if callable(function) else function

    otherwise = value(funclist[-1]) if len(funclist) > len(conditions) else 0
    result = as_value(otherwise, x.shape, x.dtype, x.device, "piecewise")
    for condition, function in zip(conditions, funclist, strict=False):
        result = where(condition, as_value(value(function), x.shape, x.dtype, x.device, "piecewise"), result)
    return result


# ------------------------------------------------------------------------------------------------------------ writing


def copyto(dst: Array, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write src, broadcast, to dst where a mask holds. TypeError where the cast is not allowed. Source: NumPy."""
    value = _array(src, "copyto") if not isinstance(src, (bool, int, float, complex)) else src
    if isinstance(value, Array) and not np.can_cast(value.dtype, dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"copyto: cannot cast from {value.dtype} to {dst.dtype} by the rule {casting!r}")
    value = as_value(value, dst.shape, dst.dtype, dst.device, "copyto")
    dst[...] = value if where is True else choose_where(cast(_array(where, "copyto"), BOOL), value, dst)


def putmask(a: Array, mask: Any, values: Any) -> None:
    """Write values, over again where they are fewer, to the places of a where a mask holds. Source: NumPy, `putmask`.

    >>> x = xp.asarray([1, 2, 3])
    >>> xp.putmask(x, x > 1, 0)
    >>> x
    Array([1, 0, 0], device='cpu')
    """
    mask, values = reshape(cast(_array(mask, "putmask"), BOOL), a.shape), _array(values, "putmask")
    if values.size == 0:
        return
    if values.size == 1:
        value = reshape(values, ())
    elif values.shape == a.shape:
        value = values
    else:
        value = reshape(take(reshape(values, (-1,)), arange(a.size, device=a.device), mode="wrap"), a.shape)
    a[...] = where(mask, cast(value, a.dtype), a)


def place(arr: Array, mask: Any, vals: Any) -> None:
    """Write the values in turn, over again where they are fewer, to where a mask holds. Waits for the device.

    Raises ValueError for no values where there is a place. Source: NumPy, `place`.
    """
    places = flatnonzero(mask)
    values = reshape(_array(vals, "place"), (-1,))
    if not places.size:
        return
    if not values.size:
        raise ValueError("place: cannot insert from an empty array")
    put(arr, places, values)


def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values, over again where they are fewer, to places of the flattened array. Source: NumPy, `put`.

    >>> x = xp.zeros(3)
    >>> xp.put(x, [0, -1], [7, 8])
    >>> x
    Array([7., 0., 8.], device='cpu')
    """
    places = reshape(_whole("put", ind), (-1,))
    values = reshape(_array(v, "put"), (-1,))
    if not places.size or not values.size:
        return
    if mode == "wrap":
        places = places % a.size
    elif mode == "clip":
        places = clip(places, 0, a.size - 1)
    if values.size != places.size:
        values = take(values, arange(places.size, device=a.device), mode="wrap")
    if a.sig.general:  # no vector of its elements is a view
        packed = realize(copy(a))
        put(packed, places, values)
        a[...] = packed
    else:
        reshape(a, (-1,))[places] = values


def put_along_axis(arr: Array, indices: Any, values: Any, axis: int | None) -> None:
    """Write values to the places that `take_along_axis` would read. Source: NumPy, `put_along_axis`."""
    if axis is None:
        put(arr, indices, values)
        return
    places = _array(indices, "put_along_axis")
    (along,) = _axes(axis, arr.ndim, "put_along_axis")
    if places.ndim != arr.ndim:
        raise ValueError("put_along_axis: `indices` and `arr` must have the same number of dimensions")
    key = tuple(
        places if d == along else reshape(arange(n, device=arr.device), (n, *(1,) * (arr.ndim - 1 - d)))
        for d, n in enumerate(arr.shape)
    )
    arr[key] = values


# ------------------------------------------------------------------------------------------------------------- sorting


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The indices that sort by the last key, equal ones by the key before it, and so on. Source: NumPy, `lexsort`.

    >>> xp.lexsort(([1, 2, 0], [0, 0, 1]))
    Array([0, 1, 2], device='cpu')
    """
    parts = [_array(x, "lexsort") for x in keys]
    if not parts:
        raise TypeError("lexsort: need sequence of keys with len > 0 in lexsort")
    order = argsort(parts[0], axis=axis)
    for key in parts[1:]:
        step = argsort(take_along_axis(key, order, axis=axis), axis=axis)
        order = take_along_axis(order, step, axis=axis)
    return order


def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> Array:
    """A sorted copy: every place holds what it would after sorting, `kth` too. Source: NumPy, `partition`."""
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> Array:
    """The indices that sort: `kth` holds what it would after sorting, as all others do. Source: NumPy."""
    return argsort(a, axis)


def sort_complex(a: Any) -> Array:
    """A sorted copy along the last axis, as complex numbers. Source: NumPy, `sort_complex`."""
    x = sort(_array(a, "sort_complex"))
    return x if x.dtype.kind == "c" else cast(x, np.result_type(x.dtype, np.complex64))


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The bin of each element: of ascending bins i with bins[i-1] <= x < bins[i], the other way with `right`.

    Raises ValueError for bins that neither ascend nor descend. Waits for the device. Source: NumPy, `digitize`.

    >>> xp.digitize(xp.asarray([0.5, 2.5]), [0, 1, 2])
    Array([1, 3], device='cpu')
    """
    x, bins = _array(x, "digitize"), _array(bins, "digitize")
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must be a vector, got shape {bins.shape}")
    side: Any = "left" if right else "right"
    if bool(all(bins[:-1] <= bins[1:])):
        return searchsorted(bins, x, side=side)
    if not bool(all(bins[:-1] >= bins[1:])):
        raise ValueError("digitize: bins must be monotonically increasing or decreasing")
    return bins.size - searchsorted(bins[::-1], x, side=side)
