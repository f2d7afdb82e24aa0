"""NumPy's functions over our arrays: `np.exp(x)` is `exp(x)` of nbx_array, `np.sum(x, 0)` is `sum(x, axis=0)`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nbx_array._array import Array, assign_in_place, beside_ndarray, refuse_negative
from nbx_array._numpy_names import ALIASES

_REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
"""What NumPy's functions of arrays call, `np.sum` for one: the method `reduce` of these."""

_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def universal(ufunc: Any, method: str, inputs: tuple[Any, ...], out: tuple[Any, ...], **options: Any) -> Any:
    """What `Array.__array_ufunc__` answers; TypeError for functions and options that are not ours, or NotImplemented
    where an operand is of another library that may know better."""
    name = ufunc.__name__
    if name in _COMPARISONS:  # NumPy's scalars compare as ndarrays of no dimension
        inputs = tuple(x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs)
    if any(isinstance(x, np.ndarray) for x in (*inputs, *out)):
        arrays = [x for x in inputs if isinstance(x, Array)]
        if (
            method != "__call__" or not arrays or any(isinstance(x, np.ndarray) for x in out)
        ):  # NumPy writes to ndarrays
            return _among_ndarrays(getattr(ufunc, method), inputs, options | ({"out": out} if out else {}))
        device, given = arrays[0].device, inputs
        inputs = tuple(beside_ndarray(name, x, device) if isinstance(x, np.ndarray) else x for x in inputs)
        if name == "power":
            refuse_negative(*given)
    if method == "reduce" and name in _REDUCTIONS:
        raise TypeError(f"{name}.reduce: NumPy reduces no nbx_array array; use nbx_array.{_REDUCTIONS[name]}")
    function = getattr(sys.modules["nbx_array"], ALIASES.get(name, name), None)
    if function is None or getattr(np, name, None) is not ufunc or method != "__call__" or options:
        if any(hasattr(x, "__array_ufunc__") and not isinstance(x, (Array, np.generic)) for x in (*inputs, *out)):
            return NotImplemented
        raise TypeError(_advice(ufunc, function, method, options))
    result = function(*inputs)
    if not out:
        return result
    (target,) = out
    return assign_in_place(target, result, name) if isinstance(target, Array) else NotImplemented


def _advice(ufunc: Any, function: Any, method: str, options: dict[str, Any]) -> str:
    """What to use for a universal function that is not ours as it was called."""
    name, xp = ufunc.__name__, sys.modules["nbx_array"]
    if getattr(np, name, None) is ufunc and function is not None:
        name = ALIASES.get(name, name) + ("" if method == "__call__" else f".{method}")
        given = f" with {', '.join(options)}" if options else ""
        return f"{name}: NumPy's takes no nbx_array arrays{given}; use nbx_array.{name}"
    if getattr(sys.modules.get("scipy.special"), name, None) is ufunc:
        ours = f"nbx_array.special.{name}, " if hasattr(xp.special, name) else ""
        return (
            f"{name}: SciPy's takes no nbx_array arrays; use SCIPY_ARRAY_API=1 in the environment, {ours}or "
            "numpy.asarray(x), which it takes"
        )
    return f"{name}: {ufunc!r} takes no nbx_array arrays; use numpy.asarray(x), which it takes"


def _mixed(name: str) -> TypeError:
    return TypeError(f"{name}: a numpy.ndarray does not mix with nbx_array arrays; convert it with nbx_array.asarray")


# ---------------------------------------------------------------------------------------------- functions of arrays

_RENAMED = {"a_max": "max", "a_min": "min"}
"""Older names in NumPy of arguments."""


def dispatched(function: Any, types: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What `Array.__array_function__` answers: our function, or among ndarrays on the CPU NumPy's own.

    TypeError for ndarrays with arrays on a GPU, for functions and arguments that are not ours."""
    name = function.__name__
    if any(issubclass(type, np.ndarray) for type in types):
        return _among_ndarrays(function, args, keywords)
    ours = _counterpart(function)
    if ours is None:
        raise TypeError(
            f"{name}: nbx_array has no {function.__module__}.{name}; numpy.asarray(x) gives an array that NumPy takes"
        )
    theirs, mine = _parameters(function), _parameters(ours)
    given = inspect.Signature(list(theirs.values())).bind(*args, **keywords).arguments
    for key, parameter in theirs.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(key, {})
    positional = []
    for their, parameter in zip(theirs, mine.values(), strict=False):
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += given.pop(their, ())
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) or their not in given:
            break
        else:
            positional.append(given.pop(their))
    named = {
        _RENAMED.get(key, key): value
        for key, value in given.items()
        if key not in theirs or value is not theirs[key].default
    }
    unknown = [key for key in named if key not in mine or mine[key].kind is inspect.Parameter.POSITIONAL_ONLY]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in mine.values()):
        raise TypeError(f"{name}: that of nbx_array has no argument {', '.join(unknown)}")
    return ours(*positional, **named)


def _among_ndarrays(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """NumPy's answer where NumPy was called with an array of its own: on the CPU it sees our arrays' memory, as it does
    in `np.asarray`, writes to it where the function does, and what it makes is its own."""
    seen: dict[int, tuple[np.ndarray, Array]] = {}
    numbers = {key: _plain(keywords[key]) for key in ("rtol", "atol") if key in keywords}  # not data, on any device
    elsewhere = any(isinstance(x, Array) and x.device.backend != "cpu" for x in args)
    if elsewhere and function in (np.may_share_memory, np.shares_memory):  # asks for places
        return False
    args, keywords = (_seen_by_numpy(x, function.__name__, seen) for x in (args, keywords | numbers))
    result = function(*args, **keywords)
    return seen[id(result)][1] if id(result) in seen else result  # what was given as `out`


def _seen_by_numpy(value: Any, name: str, seen: dict[int, tuple[np.ndarray, Array]]) -> Any:
    """An argument with the arrays of ours that it holds as ndarrays, which `seen` keeps. TypeError for one on a GPU."""
    if isinstance(value, Array):
        if value.device.backend != "cpu":
            raise _mixed(name)
        view = np.asarray(value)
        seen[id(view)] = view, value
        return view
    if type(value) in (list, tuple):
        return type(value)(_seen_by_numpy(x, name, seen) for x in value)
    if type(value) is dict:
        return {key: _seen_by_numpy(x, name, seen) for key, x in value.items()}
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Array) and not value.shape else value


@cache
def _counterpart(function: Any) -> Callable[..., Any] | None:
    """Our function that is one of NumPy's, of the same module and name; None if there is none."""
    name, xp = function.__name__, sys.modules["nbx_array"]
    match function.__module__:
        case "numpy":
            ours = getattr(xp, name, None)
        case "numpy.linalg" | "numpy.fft":
            ours = getattr(getattr(xp, function.__module__[6:]), name, None)
        case _:
            return None
    return ours if callable(ours) and not isinstance(ours, type) and ours is not function else None


@cache
def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)
