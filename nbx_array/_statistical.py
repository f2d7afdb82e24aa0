"""Statistical functions of the standard. Each reads its operand, which may be a deferred expression, once.

NumPy's keywords mean the same in all of them: `out` takes the result; `where` is a mask, broadcast against x, of the
elements that count; `initial` is a number that counts, too; `ddof` is NumPy's name for `correction`.
"""

from __future__ import annotations

import builtins
from math import prod as product
from typing import Any

import numpy as np

from nbx_array._array import Array, broadcast_to, cast, copy, filled, view_basic, where
from nbx_array._creation import _array, _new
from nbx_array._data_types import as_dtype
from nbx_array._elementwise import (
    abs,
    add,
    divide,
    maximum,
    minimum,
    multiply,
    sqrt,
    square,
    subtract,
)
from nbx_array._expression import evaluate, realize, snapshot, worth_compiling, write
from nbx_array._out import deliver
from nbx_array._reduction import Axis, check_axes, check_axis, inexact, reduce
from nbx_array.kernels import scan
from nbx_array.kernels.pointwise import BOOL
from nbx_array.kernels.reduction import TABLE as REDUCTIONS
from nbx_array.kernels.reduction import result_dtype
from nbx_array.kernels.types import component, default_float, kind


def sum(
    a: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """The sum of the elements over axes; 0 of none.

    Numbers are added in short groups, and the groups' sums likewise, so that the error grows with the logarithm of the
    length; 16-bit floats are added in float32, integers in 64 bits, where they wrap.

    a: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    dtype: what elements are cast to first, and the result's; by default int64 for bool and signed integers, uint64 for
    unsigned ones, else that of `a`. Raises AxisError for an axis out of bounds, ValueError for one named twice.
    Standard: statistical functions, `sum`.

    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], device='cpu')
    """
    total = _total("sum", _only(_array(a, "sum"), where, 0), axis, dtype, keepdims)
    return deliver("sum", total if initial is None else add(total, initial), out)


def prod(
    a: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """The product of the elements over axes; 1 of none.

    a: any shape and dtype. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    dtype: what elements are cast to first, and the result's; by default int64 for bool and signed integers, uint64 for
    unsigned ones (both wrap), else that of `a`. Raises AxisError for an axis out of bounds, ValueError for one
    named twice. Standard: statistical functions, `prod`.

    >>> xp.prod(xp.asarray([2, 3, 7]))
    Array(42, device='cpu')
    """
    total = _total("prod", _only(_array(a, "prod"), where, 1), axis, dtype, keepdims)
    return deliver("prod", total if initial is None else multiply(total, initial), out)


def _only(x: Array, mask: Any, otherwise: Any) -> Array:
    """x with another number where a mask is false."""
    return x if mask is True else where(mask, x, np.asarray(otherwise, x.dtype)[()])


def _total(name: str, x: Array, axis: Axis, dtype: Any, keepdims: bool) -> Array:
    axes = check_axes(name, axis, x.ndim)
    if dtype is None:
        return reduce(name, x, axes, keepdims)
    dtype = as_dtype(dtype, name)
    total = reduce(name, x if dtype == x.sig.dtype else cast(x, dtype), axes, keepdims)
    return cast(total, dtype)


def max(
    a: Array,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """The greatest element over axes; NaN if there is one; +0 is above -0.

    a: any shape, real or bool. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises TypeError for complex `a`, AxisError for an axis out of bounds, ValueError for one named twice,
    and ValueError where there are no elements. Standard: statistical functions, `max`.

    >>> xp.max(xp.asarray([3, 9, 4]))
    Array(9, device='cpu')
    """
    return deliver("max", _extreme("max", maximum, a, axis, keepdims, initial, where), out)


def min(
    a: Array,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """The least element over axes; NaN if there is one; -0 is below +0.

    a: any shape, real or bool. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises TypeError for complex `a`, AxisError for an axis out of bounds, ValueError for one named twice,
    and ValueError where there are no elements. Standard: statistical functions, `min`.

    >>> xp.min(xp.asarray([3, 9, 4]))
    Array(3, device='cpu')
    """
    return deliver("min", _extreme("min", minimum, a, axis, keepdims, initial, where), out)


def _extreme(name: str, pick: Any, x: Array, axis: Axis, keepdims: bool, initial: Any, mask: Any) -> Array:
    x = _array(x, name)
    axes = check_axes(name, axis, x.ndim)
    if initial is None:
        if mask is not True:
            raise ValueError(f"{name}: reduction operation has no identity, so to use a where mask give initial, too")
        return reduce(name, x, axes, keepdims)
    if builtins.any(x.shape[d] == 0 for d in axes):
        kept = tuple(1 if d in axes else size for d, size in enumerate(x.shape) if keepdims or d not in axes)
        return filled(kept, initial, x.dtype, x.device, name)
    x = x if mask is True else where(mask, x, initial)
    return pick(reduce(name, x, axes, keepdims), initial)


def mean(
    a: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Array:
    """The arithmetic mean over axes, in the dtype of `a`; NaN of no elements. 16-bit floats are added in float32.

    a: any shape, floating point; bools and integers, which the standard leaves out, count as the default float.
    axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: statistical functions, `mean`.

    >>> xp.mean(xp.asarray([1.0, 2.0, 6.0]))
    Array(3., device='cpu')
    """
    a = _array(a, "mean")
    axes = check_axes("mean", axis, a.ndim)
    a = inexact(a) if dtype is None else cast(a, as_dtype(dtype, "mean"))
    if where is not True or kind(a.dtype) not in "fc":
        total, count = sum(a, axes, keepdims=keepdims, where=where), _count(a, axes, keepdims, where)
        return deliver("mean", cast(divide(total, count), a.dtype), out)
    return deliver("mean", reduce("mean", a, axes, keepdims, number=float(product(a.shape[d] for d in axes))), out)


def _count(x: Array, axes: tuple[int, ...], keepdims: bool, mask: Any) -> Any:
    """How many elements a mask lets count, in a real dtype that divides x's."""
    if mask is True:
        return float(product(x.shape[d] for d in axes))
    ones = broadcast_to(cast(_array(mask, "where"), BOOL), x.shape)
    dtype = component(x.dtype) if kind(x.dtype) in "fc" else default_float(x.device)
    return cast(reduce("sum", ones, axes, keepdims), dtype)


def var(
    a: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Array:
    """The variance over axes; NaN of no elements.

    `a` is read once. Squares are taken of deviations from the mean of a group, never of elements, so that a large mean
    costs a small variance no digits.

    a: any shape, real floating point; bools and integers count as the default float, and of a complex array it is the
    mean of |a - mean|², real. axis: an axis, several, or None for all. keepdims: keep the axes with length 1.
    correction: what is taken from the number of elements before dividing by it; 1 for a sample.
    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: statistical functions, `var`.

    >>> xp.var(xp.asarray([1.0, 2.0, 3.0]), correction=1)
    Array(1., device='cpu')
    """
    return deliver("var", _spread("var", a, axis, dtype, ddof or correction, keepdims, where), out)


def std(
    a: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Array:
    """The standard deviation over axes: the square root of `var`, which says what the arguments mean.

    Raises AxisError for an axis out of bounds, ValueError for one named twice. Standard: statistical functions, `std`.

    >>> xp.std(xp.asarray([1.0, 3.0]))
    Array(1., device='cpu')
    """
    return deliver("std", _spread("std", a, axis, dtype, ddof or correction, keepdims, where), out)


def _spread(name: str, x: Array, axis: Axis, dtype: Any, correction: float, keepdims: bool, mask: Any) -> Array:
    x = _array(x, name)
    axes = check_axes(name, axis, x.ndim)
    x = inexact(x) if dtype is None else cast(x, as_dtype(dtype, name))
    if mask is not True:
        middle = mean(x, axes, keepdims=True, where=mask)
        divisor = maximum(_count(x, axes, keepdims, mask) - float(correction), 0.0)
        variance = divide(sum(square(abs(subtract(x, middle))), axes, keepdims=keepdims, where=mask), divisor)
        return variance if name == "var" else sqrt(variance)
    divisor = product(x.shape[d] for d in axes) - float(correction)
    return reduce(name, x, axes, keepdims, number=divisor if divisor > 0 else 0.0)


def cumulative_sum(
    x: Array, /, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Array:
    """The sums of the elements along an axis up to and including each one.

    Integers are added exactly, wrapping; 16-bit floats in float32.

    x: any dtype. axis: None only for up to 1 dimension. dtype: what elements are cast to first, and the result's; by
    default as for `sum`. include_initial: whether the result starts with 0, one element longer than x.
    Raises AxisError for an axis out of bounds, ValueError where one is needed and not given.
    Standard: statistical functions, `cumulative_sum`.

    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]))
    Array([1, 3, 6], device='cpu')
    """
    return deliver("cumulative_sum", _running("cumulative_sum", x, axis, dtype, include_initial), out)


def cumulative_prod(
    x: Array, /, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Array:
    """The products of the elements along an axis up to and including each one.

    x: any dtype. axis: None only for up to 1 dimension. dtype: what elements are cast to first, and the result's; by
    default as for `prod`. include_initial: whether the result starts with 1, one element longer than x.
    Raises AxisError for an axis out of bounds, ValueError where one is needed and not given.
    Standard: statistical functions, `cumulative_prod`.

    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]), include_initial=True)
    Array([1, 1, 2, 6], device='cpu')
    """
    return deliver("cumulative_prod", _running("cumulative_prod", x, axis, dtype, include_initial), out)


def running_extreme(name: str, x: Array, axis: int) -> Array:
    """The greatest ("cumulative_max") or least element along an axis up to and including each one."""
    if x.dtype.kind == "b":
        return cast(_running(name, cast(x, np.dtype(np.int8)), axis, None, False), BOOL)
    return _running(name, x, axis, None, False)


def _running(name: str, x: Array, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    """A scan, straight into the result."""
    x = _array(x, name)
    if not x.shape:
        x = x[None]
    if axis is None and x.ndim > 1:
        raise ValueError(f"{name}: x has shape {x.shape}; more than 1 dimension needs an axis")
    along = check_axis(name, 0 if axis is None else axis, x.ndim)
    target = result_dtype(REDUCTIONS[scan.NAMES[name]], x.dtype) if dtype is None else as_dtype(dtype, name)
    x = cast(x, target)
    size = x.shape[along] + bool(include_initial)
    out = _new((*x.shape[:along], size, *x.shape[along + 1 :]), target, x.device)
    result = out
    if include_initial:
        place = (slice(None),) * along
        first = view_basic(out, (*place, slice(1)))
        write(first, filled(first.shape, int(name == "cumulative_prod"), target, x.device, name))
        result = view_basic(out, (*place, slice(1, None)))
    if not x.size:
        return out
    if x.sig.op != "leaf" and not worth_compiling(x, reduced=True):
        evaluate(x)
    view = result.memory()
    while True:
        now = snapshot(x)
        geo = now.geo if now.sig.general else None
        if not scan.scan(name, now.sig, now.args, now.dims, geo, along, view.address, target, view.strides):
            x = realize(copy(x))
        elif x.sig is now.sig:  # see the module `_expression`
            return out
