"""Sorting functions of the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbx_array import _indexing
from nbx_array._array import Array, cast, copy, packed
from nbx_array._creation import _array, _new
from nbx_array._elementwise import imag, isnan, real
from nbx_array._manipulation import moveaxis, reshape
from nbx_array._reduction import check_axis
from nbx_array._taking import take_along_axis
from nbx_array.kernels import sort as kernels
from nbx_array.kernels.host import on_host
from nbx_array.kernels.types import is_complex
from nbx_array.memory import View

INT64 = np.dtype(np.int64)


def sort(
    a: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Array:
    """The elements of `a` in order along an axis.

    NaN comes last in either order, and -0 equals +0; complex numbers go by their real and then by their imaginary
    part, those with a NaN part last. axis: None sorts the elements in C order. kind: NumPy's names of algorithms are
    accepted, and any one is stable. stable: whether equal elements are sure to keep their order, which shows in the
    signs of zeros alone. Raises ValueError for a 0-d array, AxisError for an axis out of bounds.
    Standard: sorting functions, `sort`.

    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    Array([3, 2, 1], device='cpu')
    """
    a, along = _row("sort", a, axis)
    if is_complex(a.dtype):
        return take_along_axis(a, argsort(a, axis=along, descending=descending), axis=along)
    if on_host(a.device):
        out = _new(a.shape, a.dtype, a.device)
        if a.size:
            kernels.host_sort(a.memory(), out.memory(), along, descending=descending, stable=stable)
        return out
    return _by_rows(a, along, a.dtype, lambda rows, out: kernels.sort(rows, out, None, descending=descending))


def argsort(
    a: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Array:
    """The indices, int64, that put the elements of `a` in order along an axis.

    NaN comes last in either order, and -0 equals +0; complex numbers go by their real and then by their imaginary
    part, those with a NaN part last. axis: None sorts the elements in C order. kind: NumPy's names of algorithms are
    accepted, and any one is stable. stable: whether equal elements are sure to keep their order, which they do in
    either order. Raises ValueError for a 0-d array, AxisError for an axis out of bounds.
    Standard: sorting functions, `argsort`.

    >>> xp.argsort(xp.asarray([3, 1, 2]))
    Array([1, 2, 0], device='cpu')
    """
    a, along = _row("argsort", a, axis)
    if is_complex(a.dtype):
        return _argsort_complex(a, along, descending)
    if kernels.argsorts_on_host(a.dtype, a.shape[along], a.device):
        out = _new(a.shape, INT64, a.device)
        if a.size:
            kernels.host_argsort(a.memory(), out.memory(), along, descending=descending, stable=stable)
        return out
    return _by_rows(a, along, INT64, lambda rows, out: kernels.sort(rows, None, out, descending=descending))


def _row(name: str, x: Array, axis: int | None) -> tuple[Array, int]:
    """The operand, flattened if axis is None, and the axis."""
    x = _array(x, name)
    if axis is None:
        return reshape(x, (-1,)), 0
    if not x.shape:
        raise ValueError(f"{name}: expected at least 1 dimension, got a 0-d array")
    return x, check_axis(name, axis, x.ndim)


def _argsort_complex(x: Array, axis: int, descending: bool) -> Array:
    """Sort by what counts least, then, keeping that order among equals, by what counts more."""
    re, im = real(x), imag(x)
    # numbers, then those whose imaginary part is NaN, then the real part, then both, in either order
    rank = cast(isnan(re), np.dtype(np.int8)) * 2 + isnan(im)
    order = argsort(im, axis=axis, descending=descending)
    for key, reverse in ((re, descending), (rank, False)):
        step = argsort(take_along_axis(key, order, axis=axis), axis=axis, descending=reverse)
        order = take_along_axis(order, step, axis=axis)
    return order


def _by_rows(x: Array, axis: int, dtype: np.dtype, run: Callable[[View, View], Any]) -> Array:
    """What a function does to each row along an axis: it takes contiguous views of the rows and of the result."""
    rows = moveaxis(x, axis, -1) if axis != x.ndim - 1 else x
    rows = packed(rows)
    out = _new(rows.shape, dtype, x.device)
    if not x.size:
        return reshape(out, x.shape)
    pair = (x.size // rows.shape[-1], rows.shape[-1])
    strides = (pair[1], 1)
    run(rows.memory()._replace(shape=pair, strides=strides), out.memory()._replace(shape=pair, strides=strides))
    return out if axis == x.ndim - 1 else copy(moveaxis(out, -1, axis))


def sorted_and_order(x: Array) -> tuple[Array, Array]:
    """A vector's elements in order, and where each stood: equal elements keep their order."""
    if is_complex(x.dtype) or kernels.argsorts_on_host(x.dtype, x.size, x.device) or not x.size:
        order = argsort(x)
        return _indexing.take(x, order, 0, exact=True), order
    x = packed(x)
    values, order = _new(x.shape, x.dtype, x.device), _new(x.shape, INT64, x.device)
    row = (1, x.size)
    views = [y.memory()._replace(shape=row, strides=(x.size, 1)) for y in (x, values, order)]
    kernels.sort(*views, descending=False)
    return values, order
