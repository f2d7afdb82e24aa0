"""Element-wise functions as NumPy's ufuncs: called with `out`, `where` and `dtype`, and with methods over axes.

`add.reduce` is `sum`. What has no reduction of its own is combined by halves, and accumulated in steps of 1, 2, 4, ...,
where the function is associative. All others go from left to right: one launch for each place along the axis.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable
from math import prod as product
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

_REORDERABLE = _ASSOCIATIVE - {"lcm"}
"""The functions that NumPy reduces over several axes at once."""

_LOGICAL = {"logical_and", "logical_or", "logical_xor"}
_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}

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

    signature = None  # no function here takes more than elements

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
        initial: Any = _ABSENT,
        where: Any = True,
    ) -> Array:
        """The elements along an axis combined; along all for None, for which the order must not matter.

        initial: what comes before the first element, by default the identity; None for nothing. where: a mask of the
        elements that count, for which there must be something to begin with.
        Raises ValueError for no elements without anything to begin with, and for several axes of a function whose order
        matters; TypeError for a dtype that the function does not keep.
        """
        from nbx_array._reduction import check_axes

        x = self._operand("reduce", array)
        one_of_none = x.ndim == 0 and axis in (0, -1)  # NumPy takes these of a scalar
        axes = check_axes(f"{self.name}.reduce", () if one_of_none else axis, x.ndim)
        x, kind = self._loop("reduce", x, dtype)
        if len(axes) > 1 and self.name not in _REORDERABLE:
            raise ValueError(f"{self.name}.reduce: is not reorderable, so at most one axis may be specified")
        start = self.identity if initial is _ABSENT else initial
        if start is None:
            if where is not True:
                raise ValueError(f"{self.name}.reduce: has no identity, so with where it takes an initial")
            if not x.size and all(n for d, n in enumerate(x.shape) if d not in axes):
                raise ValueError(f"{self.name}.reduce: zero-size array to a reduction which has no identity")
        elif not isinstance(start, Array):
            start = np.asarray(start).astype(kind)[()]
        result = self._reduced(x, axes, kind, keepdims, start, initial is not _ABSENT and initial is not None, where)
        return self._deliver("reduce", result, out)

    def _reduced(
        self, x: Array, axes: tuple[int, ...], kind: np.dtype, keepdims: bool, start: Any, given: bool, where: Any
    ) -> Array:
        """`reduce` of what was checked. start: what to begin with or None; `given` unless it is the identity."""
        if self.name in _REDUCTIONS:
            options: dict[str, Any] = {"where": where}
            if self.name in ("add", "multiply"):
                options["dtype"] = kind
            elif self.name in ("maximum", "minimum"):
                options["initial"] = start
            result = _ours(_REDUCTIONS[self.name])(x, axis=axes, keepdims=keepdims, **options)
            return self(result, start) if given and self.name not in ("maximum", "minimum") else result
        if self.name == "subtract" and where is True and not given and len(axes) == 1:
            rest = _ours("sum")(_along(x, axes[0], slice(1, None)), axis=axes, dtype=kind, keepdims=keepdims)
            return self(_along(x, axes[0], 0, keepdims), rest)
        kept = tuple(1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes)
        if self.name in _ASSOCIATIVE:
            if where is not True:
                fill = 1 if self.name == "lcm" else start if self.identity is None else self.identity
                x = _ours("where")(where, x, np.asarray(fill).astype(kind)[()])
            result = self._halve(cast(x, kind), axes, kept, 0 if start is None else start)
            begins = given or (start is not None and self.name in ("gcd", "hypot"))  # whose identity takes a sign off
            return self(result, start) if begins else result
        from nbx_array._segments import fold

        rows = _first(x, axes)
        mask = None
        if where is not True:
            mask = _first(_ours("broadcast_to")(_mask(f"{self.name}.reduce", where), x.shape), axes)
        return _ours("reshape")(fold(self, rows, kind, start if given else None, mask), kept)

    def _halve(self, x: Array, axes: tuple[int, ...], kept: tuple[int, ...], of_none: Any) -> Array:
        rows = _first(x, axes)
        n = rows.shape[0]
        if n == 0:
            return _ours("full")(kept, of_none, dtype=x.dtype, device=x.device)
        while n > 1:
            half = n // 2
            paired = self(rows[:half], rows[half : 2 * half])
            rows = _ours("concat")([paired, rows[2 * half :]]) if n % 2 else paired
            n = rows.shape[0]
        return _ours("reshape")(rows, kept)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Array:
        """For each place along an axis the elements up to it combined.

        Raises TypeError for a 0-d array and for a dtype that the function does not keep.
        """
        x = self._operand("accumulate", array)
        place = self._axis("accumulate", x, axis)
        x, kind = self._loop("accumulate", x, dtype)
        if self.name in ("add", "multiply"):
            result = _ours("cumulative_sum" if self.name == "add" else "cumulative_prod")(x, axis=place, dtype=kind)
        elif self.name == "subtract" and x.size:
            sums = _ours("cumulative_sum")(_along(x, place, slice(1, None)), axis=place, dtype=kind)
            first = _along(x, place, slice(0, 1))
            result = _ours("concat")([first, self(first, sums)], axis=place)
        elif self.name in ("maximum", "minimum"):
            from nbx_array._statistical import running_extreme

            result = running_extreme(f"cumulative_{self.name[:3]}", x, place)
        elif self.name in _ASSOCIATIVE:
            result, step = cast(x, kind), 1
            while step < x.shape[place]:
                later = self(_along(result, place, slice(0, -step)), _along(result, place, slice(step, None)))
                result = _ours("concat")([_along(result, place, slice(0, step)), later], axis=place)
                step *= 2
        else:
            from nbx_array._segments import running

            parts = running(self, _first(x, (place,)), kind)
            result = _ours("stack")(parts, axis=place) if parts else cast(x, kind)
        return self._deliver("accumulate", result, out)

    def reduceat(self, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Array:
        """For each index the elements along an axis from it up to the next one combined; the last goes to the end.

        Where the next index is not greater it is the element at the index alone. indices: integers, 1 dimension.
        Waits for the device. A function that is not associative takes a launch for each place of the longest run.
        Raises IndexError for an index out of range, TypeError for a 0-d array and for a dtype that the function does
        not keep.
        """
        from nbx_array._segments import reduceat, starts_of

        x = self._operand("reduceat", array)
        place = self._axis("reduceat", x, axis)
        starts = starts_of(f"{self.name}.reduceat", indices, x.shape[place], x.device)
        x, kind = self._loop("reduceat", x, dtype)
        if self.name in _ASSOCIATIVE:
            x = cast(x, kind)
        return self._deliver("reduceat", reduceat(self, x, starts, place, kind, self.name in _ASSOCIATIVE), out)

    def at(self, a: Array, indices: Any, b: Any = _ABSENT, /) -> None:
        """`a[indices] = f(a[indices], b)`, where an index that occurs several times counts as often.

        Results are cast to a's dtype whatever it is, as NumPy casts here. Equal indices are brought together by
        sorting, so that the result repeats bit for bit: the cost is that of a sort of the indices, and of log2(k) steps
        for k equal ones (which for add, multiply, maximum and the like are combined first), but of k steps for a
        function that is not associative. Waits for the device.
        """
        from nbx_array._segments import combine_at

        name = f"{self.name}.at"
        if not isinstance(a, Array):
            raise TypeError(f"{name}: the first operand must be an array, got {type(a).__name__}")
        if self.nin > 2:
            raise ValueError(f"{name}: a function of {self.nin} operands has none")
        if (b is _ABSENT) != (self.nin == 1):
            raise ValueError(f"{name}: takes {self.nin - 1} operands after the indices, as its function does")
        together = _REPEATED.get(self.name, self.name)
        combined = _ours(together) if together in _ASSOCIATIVE else None
        combine_at(self, combined, a, indices, *(() if b is _ABSENT else (b,)))

    def outer(self, a: Any, b: Any, /, **options: Any) -> Array:
        """The function of each element of a with each one of b: shape (*a.shape, *b.shape)."""
        from nbx_array._creation import _array

        if self.nin != 2:
            raise ValueError(f"{self.name}.outer: a function of {self.nin} operand has none")
        x, y = _array(a, f"{self.name}.outer"), _array(b, f"{self.name}.outer")
        return self(x[(..., *(None,) * y.ndim)], y, **options)

    def _operand(self, method: str, array: Any) -> Array:
        from nbx_array._creation import _array

        if self.nin != 2:
            raise ValueError(f"{self.name}.{method}: is only supported for binary functions")
        return _array(array, f"{self.name}.{method}")

    def _loop(self, method: str, x: Array, dtype: Any) -> tuple[Array, np.dtype]:
        """The operand cast to `dtype`, if there is one, and the dtype that its elements are combined in."""
        from nbx_array._data_types import as_dtype

        name = f"{self.name}.{method}"
        wanted = None if dtype is None else as_dtype(dtype, name)
        if self.name in _LOGICAL:
            kind = np.dtype(np.bool_)
            x = cast(x, kind) if wanted in (None, kind) else x
        else:
            x = x if wanted is None else cast(x, wanted)
            if self.name in ("add", "multiply"):
                widens = wanted is None and x.dtype.kind in "biu"
                return x, np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64) if widens else x.dtype
            nothing = _ours("empty")((0,), dtype=x.dtype, device=x.device)
            kind = self(nothing, nothing).dtype
        if (wanted is not None and wanted != kind) or (self.name in _COMPARISONS and x.dtype != kind):
            raise TypeError(f"{name}: the function of {wanted or x.dtype} has another dtype, {kind}")
        return x, kind

    def _axis(self, method: str, x: Array, axis: Any) -> int:
        """One axis of an array that has one."""
        from nbx_array._reduction import check_axis

        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        if not x.ndim and axes in ((), (0,), (-1,)):
            raise TypeError(f"{self.name}.{method}: cannot {method} on a scalar")
        if len(axes) != 1:
            raise ValueError(f"{self.name}.{method}: does not allow multiple axes")
        return check_axis(f"{self.name}.{method}", axes[0], x.ndim)

    def _deliver(self, method: str, result: Array, out: Any) -> Array:
        """The result, or `out` with its elements whatever its dtype is, as NumPy's methods have it."""
        if isinstance(out, tuple):
            (out,) = out
        if isinstance(out, Array):
            if out.shape != result.shape:
                raise ValueError(f"{self.name}.{method}: the result has shape {result.shape} and out {out.shape}")
            result = cast(result, out.dtype)
        return deliver(f"{self.name}.{method}", result, out)


def _ours(name: str) -> Any:
    return getattr(sys.modules["nbx_array"], name)


def _cast(name: str, x: Any, dtype: Any) -> Any:
    from nbx_array._creation import _array
    from nbx_array._data_types import as_dtype

    return cast(_array(x, name), as_dtype(dtype, name))


def _mask(name: str, mask: Any) -> Array:
    from nbx_array._creation import _array

    mask = _array(mask, name)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name}: where must be a mask of bools, got dtype {mask.dtype}")
    return mask


def _masked(name: str, result: Array, mask: Any, out: Any) -> Array:
    mask = _mask(name, mask)
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


def _first(x: Array, axes: tuple[int, ...]) -> Array:
    """What is combined along one axis, the first."""
    others = tuple(d for d in range(x.ndim) if d not in axes)
    rows = _ours("permute_dims")(x, axes + others)
    return _ours("reshape")(rows, (product([x.shape[d] for d in axes]), *(x.shape[d] for d in others)))
