"""Reducing an array: what the functions of several chapters share."""

from __future__ import annotations

import operator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from nbx_array._array import Array, cast, filled, packed, settled
from nbx_array._expression import NEVER, describe, evaluate, from_view, snapshot, worth_compiling
from nbx_array.backend.compiler import KernelMissing
from nbx_array.kernels import reduction
from nbx_array.kernels.signature import Sig, leaf
from nbx_array.kernels.types import default_float, kind
from nbx_array.memory.view import normalize_axes, normalize_axis, transpose

Axis = int | tuple[int, ...] | None


def check_axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes, sorted and counted from the front. Errors, of NumPy's types, name the function."""
    if axis is None:
        return tuple(range(ndim))
    try:
        axes = normalize_axes(axis, ndim)
        return axes if len(axes) == 1 else tuple(sorted(axes))
    except AxisError as error:
        raise AxisError(f"{name}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}, got {axis!r}") from None
    except TypeError:
        raise TypeError(f"{name}: axis must be an integer, a tuple of integers or None, not {axis!r}") from None


def check_axis(name: str, axis: Any, ndim: int) -> int:
    """One axis, counted from the front. Errors, of NumPy's types, name the function."""
    try:
        return normalize_axis(axis, ndim)
    except AxisError as error:
        raise AxisError(f"{name}: {error}") from None
    except TypeError:
        raise TypeError(f"{name}: an axis is an integer, not {axis!r}") from None


def check_integer(name: str, what: str, value: Any) -> int:
    """An integer that is no axis; TypeError names the function and what the integer is for."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {what} is an integer, not {value!r}") from None


_EMPTY: dict[str, Any] = {"sum": 0, "prod": 1, "mean": np.nan, "var": np.nan, "std": np.nan, "vector_norm": 0}
"""The results of reducing no element, where there is one."""


def reduce(
    name: str, x: Array, axes: tuple[int, ...], keepdims: bool, *, number: float = 0.0, caller: str = ""
) -> Array:
    """Reduce an array over axes that were checked. TypeError or ValueError name `caller`, else `name`."""
    caller = caller or name
    result = _result(name, x.sig)
    if result is None:
        raise TypeError(f"{caller} is not defined for dtype {x.sig.dtype}, given {describe(x)}")
    shape = x.shape
    kept, count = _kept(shape, axes, keepdims)
    if 0 in shape:
        return _reduce_nothing(caller, name, x, axes, kept, result.dtype)
    if x.sig.op != "leaf" and not worth_compiling(x, reduced=True):
        evaluate(x)
    now = snapshot(x)
    sig = now.sig
    storage = sig.allocate(count * result.itemsize)
    try:
        reduction.reduce(name, sig, now.args, shape, now.geo if sig.general else None, axes, storage.ptr, number)
        sig.runs += 1
        if x.sig is not sig:  # see the module `_expression`
            return reduce(name, x, axes, keepdims, number=number, caller=caller)
    except KernelMissing:
        if sig.nodes:
            sig.seen = NEVER
        rows = _rows(x, axes)
        reduction.reduce(name, rows.sig, rows.args, rows.shape, None, (1,), storage.ptr, number, general=True)
    new = Array()
    new.sig, new.dims, new.args, new.keep = result, kept, (storage.ptr,), (storage,)
    return new if kept else settled(new)


@lru_cache(maxsize=4096)
def _kept(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[tuple[int, ...], int]:
    """The shape of what a reduction leaves, and the number of its elements."""
    kept = tuple(1 if d in axes else size for d, size in enumerate(shape) if keepdims or d not in axes)
    return kept, prod(kept)


def _rows(x: Array, axes: tuple[int, ...]) -> Array:
    """An array as a matrix in memory whose contiguous rows hold what is reduced."""
    view = x.memory()
    outside = [d for d in range(len(view.shape)) if d not in axes]
    shape, strides = transpose(view.shape, view.strides, (*outside, *axes))
    rows = packed(from_view(Array, view._replace(shape=shape, strides=strides))).memory()
    sizes = prod(shape[: len(outside)]), prod(shape[len(outside) :])
    return from_view(Array, rows._replace(shape=sizes, strides=(sizes[1], 1)))


@lru_cache(maxsize=4096)
def _result(name: str, sig: Sig) -> Sig | None:
    """The signature of the result of a reduction; None if it takes no such dtype."""
    row = reduction.TABLE[name]
    return leaf(reduction.result_dtype(row, sig.dtype), sig.device) if kind(sig.dtype) in row.kinds else None


def _reduce_nothing(
    caller: str, name: str, x: Array, axes: tuple[int, ...], kept: tuple[int, ...], result: np.dtype
) -> Array:
    """The result of a reduction whose operand has no elements."""
    if name in _EMPTY:
        value = _EMPTY[name]
    elif name in ("argmax", "argmin"):
        if any(x.shape[d] == 0 for d in axes):
            raise ValueError(f"{caller}: attempt to get {name} of an empty sequence, given shape {x.shape}")
        value = 0
    elif 0 in kept:
        value = 0
    elif result == np.bool_:
        value = name == "min"  # all, and any
    else:
        ufunc = {"max": "maximum", "min": "minimum"}[name]
        raise ValueError(
            f"{caller}: zero-size array to reduction operation {ufunc} which has no identity, given shape {x.shape}"
        )
    return filled(kept, value, result, x.sig.device, caller)


def inexact(x: Array) -> Array:
    """An array as floating point: integers and bools as the default float, as NumPy's mean has it."""
    return x if kind(x.sig.dtype) in "fc" else cast(x, default_float(x.sig.device))
