"""NumPy's universal functions over our arrays: `np.exp(x)` is `nbx_array.exp(x)`."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import numpy as np

from nbx_array._array import Array, assign_in_place

_OURS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
}
"""NumPy's names that differ from the standard's."""

_ALIASES = _OURS | {
    "amax": "max",
    "amin": "min",
    "array": "asarray",
    "ascontiguousarray": "asarray",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "dot": "matmul",
    "inner": "vecdot",
    "swapaxes": "permute_dims",
    "transpose": "permute_dims",
    "unique": "unique_values",
}
"""What people who know NumPy type, and which of our functions they want."""

_REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
"""What NumPy's functions of arrays call, `np.sum` for one: the method `reduce` of these."""


def hint(name: str) -> str:
    """What an AttributeError adds where NumPy has a name that is another one here, or only a function."""
    name = _ALIASES.get(name, name)
    found = isinstance(vars(sys.modules["nbx_array"]).get(name), FunctionType) and not name.startswith("_")
    return f"; there is the function nbx_array.{name}" if found else ""


def universal(ufunc: Any, method: str, inputs: tuple[Any, ...], out: tuple[Any, ...], **options: Any) -> Any:
    """What `Array.__array_ufunc__` answers; NotImplemented for functions and options that the standard has not."""
    name = ufunc.__name__
    if any(isinstance(x, np.ndarray) for x in (*inputs, *out)):
        raise TypeError(
            f"{name}: a numpy.ndarray does not mix with nbx_array arrays; convert it with nbx_array.asarray"
        )
    if method == "reduce" and name in _REDUCTIONS:
        raise TypeError(f"{name}.reduce: NumPy reduces no nbx_array array; use nbx_array.{_REDUCTIONS[name]}")
    function = getattr(sys.modules["nbx_array"], _OURS.get(name, name), None)
    if function is None or getattr(np, name, None) is not ufunc or method != "__call__" or options:
        return NotImplemented
    result = function(*inputs)
    if not out:
        return result
    (target,) = out
    return assign_in_place(target, result, name) if isinstance(target, Array) else NotImplemented
