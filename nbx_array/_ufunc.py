"""Element-wise functions as NumPy's ufuncs: called with `out`, `where` and `dtype`, and with methods over axes.

`add.reduce` is `sum`. What has no reduction of its own is combined by halves, and accumulated in steps of 1, 2, 4, ...:
for functions whose order of operations does not matter (associative ones); others have no such methods.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from nbx_array._array import Array, cast, where
from nbx_array._array import _binary as binary
from nbx_array._order import laid_by
from nbx_array._out import deliver
from nbx_array.kernels.pointwise import TABLE

_ABSENT: Any = object()
_OPERANDS = (Array, float, int)

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
"""The functions whose `reduce` is a function of the standard."""

_IDENTITIES: dict[str, Any] = {
    "add": 0,
    "multiply": 1,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "bitwise_and": -1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "hypot": 0,
    "logaddexp": -np.inf,
    "logaddexp2": -np.inf,
    "gcd": 0,
}
"""The reduction of no elements."""

_ASSOCIATIVE = {*_REDUCTIONS, *_IDENTITIES, "fmax", "fmin", "lcm"}

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
"""Functions that an operator of arrays computes as well: looking an expression up takes a tenth of building it."""

_REPEATED = {"subtract": "add", "divide": "multiply"}
"""`a - b - c` takes the sum of b and c from a: functions that several right operands are combined for first."""


class ufunc:
    """An element-wise function. Calling it with arrays alone costs a look at the arguments more than the function.

    out: an array that takes the result. where: a mask; elsewhere `out` keeps its elements, and without one they are 0.
    dtype: what operands are cast to first, and the result's. casting: "unsafe" lets `out` take any dtype. order: "F"
    has the result packed in Fortran's order, "A" where all operands lie so, else in C order. subok: accepted; there are
    no subclasses.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.nin = function.__code__.co_posonlyargcount
        self.nout = 1
        self.nargs = self.nin + 1
        self.identity = _IDENTITIES.get(self.name)
        self.operator = _OPERATORS.get(self.name)
        if self.operator is None and self.nin == 2 and self.name in TABLE and self.name != "pow":
            self.operator = binary(self.name)

    @property
    def name(self) -> str:
        """The standard's name of the function, or NumPy's where the standard has none."""
        return self.function.__name__

    @property
    def __signature__(self) -> inspect.Signature:
        own = list(inspect.signature(self.function).parameters.values())
        kind = inspect.Parameter.KEYWORD_ONLY
        options = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
        out = inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        return inspect.Signature([*own, out, *(inspect.Parameter(k, kind, default=v) for k, v in options.items())])

    def __repr__(self) -> str:
        return f"<ufunc {self.name!r}>"

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, x1: Any, x2: Any = _ABSENT, /, *rest: Any, **options: Any) -> Any:
        if not options and not rest:
            if x2 is _ABSENT:
                return self.function(x1)
            if self.operator is not None and type(x1) is Array and type(x2) in _OPERANDS:
                return self.operator(x1, x2)
            if self.nin == 2:
                return self.function(x1, x2)
        return self._with_options([x for x in (x1, x2, *rest) if x is not _ABSENT], **options)

    def _with_options(
        self,
        given: list[Any],
        *,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = None,
        subok: bool = True,
    ) -> Any:
        operands, more = given[: self.nin], given[self.nin :]
        if len(operands) < self.nin or len(more) > 1 or (more and out is not None):
            raise TypeError(f"{self.name}: takes {self.nin} operands and at most one out, got {len(given)} arguments")
        out = more[0] if more else out
        if isinstance(out, tuple):
            (out,) = out
        if dtype is not None:
            operands = [_cast(self.name, x, dtype) for x in operands]
        result = self(*operands)
        if dtype is not None:
            result = _cast(self.name, result, dtype)
        if isinstance(out, Array) and casting == "unsafe":
            result = cast(result, out.dtype)
        if where is not True:
            result = _masked(self.name, result, where, out)
        if order != "K" and out is None:
            result = laid_by(self.name, result, order, operands)
        return deliver(self.name, result, out)

    # ----------------------------------------------------------------------------------------------- over axes

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Array:
        """The elements along an axis combined; along all for None.

        Raises TypeError for a function that is not associative, ValueError for no elements without an identity.
        """
        x = self._operand("reduce", array, dtype)
        if self.name in ("logical_and", "logical_or"):
            return _ours(_REDUCTIONS[self.name])(x, axis, out, keepdims, where=where)
        if self.name in _REDUCTIONS:
            options = {} if dtype is None or self.name in ("maximum", "minimum") else {"dtype": dtype}
            name = _REDUCTIONS[self.name]
            return _ours(name)(x, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where, **options)
        if self.name == "subtract" and x.ndim and not isinstance(axis, tuple) and axis is not None:
            rest = _ours("sum")(_along(x, axis, slice(1, None)), axis=axis, keepdims=keepdims)
            return deliver("subtract", self(_along(x, axis, 0, keepdims), rest), out)
        self._check_associative("reduce")
        if where is not True:
            if self.identity is None:
                raise ValueError(f"{self.name}.reduce: has no identity, so it takes no where")
            x = _ours("where")(where, x, self.identity)
        result = self._halve(x, axis, keepdims)
        return deliver(self.name, result if initial is None else self(result, initial), out)

    def _halve(self, x: Array, axis: Any, keepdims: bool) -> Array:
        from nbx_array._reduction import check_axes

        axes = check_axes(self.name, axis, x.ndim)
        kept = tuple(1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes)
        others = tuple(d for d in range(x.ndim) if d not in axes)
        rows = _ours("permute_dims")(x, axes + others)
        rows = _ours("reshape")(rows, (-1, *(x.shape[d] for d in others))) if x.size else rows[(0,) * (len(axes) - 1)]
        n = rows.shape[0]
        if n == 0:
            if self.identity is None:
                raise ValueError(f"{self.name}.reduce: zero-size array to a reduction which has no identity")
            return _ours("full")(kept, self.identity, dtype=x.dtype, device=x.device)
        while n > 1:
            half = n // 2
            paired = self(rows[:half], rows[half : 2 * half])
            rows = _ours("concat")([paired, rows[2 * half :]]) if n % 2 else paired
            n = rows.shape[0]
        return _ours("reshape")(rows, kept)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        """For each place along an axis the elements up to it combined.

        Raises TypeError for a function that is not associative, ValueError for a 0-d array.
        """
        x = self._operand("accumulate", array, dtype)
        if not x.ndim:
            raise ValueError(f"{self.name}.accumulate: expected at least 1 dimension, got a 0-d array")
        if self.name in ("add", "multiply"):
            return _ours("cumulative_sum" if self.name == "add" else "cumulative_prod")(x, axis, dtype, out)
        if self.name in _REPEATED and self.name == "subtract":
            sums = _ours("cumulative_sum")(_along(x, axis, slice(1, None)), axis=axis, dtype=x.dtype)
            first = _along(x, axis, slice(0, 1))
            return deliver(self.name, _ours("concat")([first, self(first, sums)], axis=axis), out)
        if self.name in ("maximum", "minimum"):
            from nbx_array._statistical import running_extreme

            return deliver(self.name, running_extreme(f"cumulative_{self.name[:3]}", x, axis), out)
        self._check_associative("accumulate")
        step = 1
        while step < x.shape[axis]:
            later = self(_along(x, axis, slice(0, -step)), _along(x, axis, slice(step, None)))
            x = _ours("concat")([cast(_along(x, axis, slice(0, step)), later.dtype), later], axis=axis)
            step *= 2
        return deliver(self.name, x, out)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        """For each index the elements along an axis from it up to the next one combined; the last goes to the end.

        Where the next index is not greater it is the element at the index alone. indices: integers, 1 dimension.
        Waits for the device. Raises IndexError for an index out of range, TypeError for a function that is not
        associative.
        """
        from nbx_array._segments import reduceat

        x = self._operand("reduceat", array, dtype)
        self._check_associative("reduceat")
        if self.name in ("add", "multiply") and dtype is None and x.dtype.kind in "biu":
            x = cast(x, np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64))
        return deliver(self.name, reduceat(self, x, indices, axis), out)

    def at(self, a: Array, indices: Any, b: Any = _ABSENT, /) -> None:
        """`a[indices] = f(a[indices], b)`, where an index that occurs several times counts as often.

        Equal indices are brought together by sorting, so that the result repeats bit for bit. Raises TypeError for a
        function that is not associative, nor subtract or divide.
        """
        from nbx_array._segments import combine_at

        if self.nin != 2 or b is _ABSENT:
            raise TypeError(f"{self.name}.at: takes an array, indices and, of a function of two operands, the second")
        if not isinstance(a, Array):
            raise TypeError(f"{self.name}.at: expected an array, got {type(a).__name__}")
        together = _REPEATED.get(self.name, self.name)
        if together not in _ASSOCIATIVE:
            raise TypeError(f"{self.name}.at: is there for associative functions, subtract and divide")
        combine_at(self, _ours(together), a, indices, b)

    def outer(self, a: Any, b: Any, /, **options: Any) -> Array:
        """The function of each element of a with each one of b: shape (*a.shape, *b.shape)."""
        from nbx_array._creation import _array

        if self.nin != 2:
            raise ValueError(f"{self.name}.outer: a function of {self.nin} operand has none")
        x, y = _array(a, f"{self.name}.outer"), _array(b, f"{self.name}.outer")
        return self(x[(..., *(None,) * y.ndim)], y, **options)

    def _operand(self, method: str, array: Any, dtype: Any) -> Array:
        from nbx_array._creation import _array

        if self.nin != 2:
            raise ValueError(f"{self.name}.{method}: a function of {self.nin} operand has none")
        x = _array(array, f"{self.name}.{method}")
        return x if dtype is None or self.name in ("logical_and", "logical_or") else _cast(self.name, x, dtype)

    def _check_associative(self, method: str) -> None:
        if self.name not in _ASSOCIATIVE:
            raise TypeError(f"{self.name}.{method}: is there for associative functions alone, such as add and maximum")


def _ours(name: str) -> Any:
    return getattr(sys.modules["nbx_array"], name)


def _cast(name: str, x: Any, dtype: Any) -> Any:
    from nbx_array._creation import _array
    from nbx_array._data_types import as_dtype

    return cast(_array(x, name), as_dtype(dtype, name))


def _masked(name: str, result: Array, mask: Any, out: Any) -> Array:
    from nbx_array._creation import _array

    mask = _array(mask, name)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name}: where must be a mask of bools, got dtype {mask.dtype}")
    otherwise: Any = 0
    if out is not None:
        result, otherwise = cast(result, out.dtype) if _casts(result, out) else result, out
    return where(mask, result, otherwise if out is not None else np.zeros((), result.dtype)[()])


def _casts(result: Array, out: Array) -> bool:
    return bool(np.can_cast(result.dtype, out.dtype, "same_kind"))


def _along(x: Array, axis: int, key: Any, keepdims: bool = False) -> Array:
    """`x[key]` along an axis."""
    place = axis % x.ndim
    if keepdims and isinstance(key, int):
        key = slice(key, key + 1)
    return x[(slice(None),) * place + (key, ...)]
