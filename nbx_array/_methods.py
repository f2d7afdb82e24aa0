"""NumPy's methods and attributes of arrays: functions of the namespace, or of `_numpy_methods`, with the array first.

A method's arguments are those of the function: `x.sum(0)` is `sum(x, 0)`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_METHODS = "nbx_array._numpy_methods"


def _method(name: str, module: str = "nbx_array") -> Callable[..., Any]:
    """A method that calls a function; its module, which imports arrays itself, is imported at the call, and waited for
    where another thread is at it."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(self, *args, **options)

    method.__name__ = name
    return method


class Methods:
    """What arrays have beyond the standard."""

    __slots__ = ()

    all = _method("all")
    any = _method("any")
    argmax = _method("argmax")
    argmin = _method("argmin")
    argpartition = _method("argpartition")
    argsort = _method("argsort")
    astype = _method("astype", _METHODS)
    base = property(_method("base", _METHODS))
    choose = _method("choose")
    clip = _method("clip")
    compress = _method("compress", _METHODS)
    conj = _method("conj")
    conjugate = _method("conj")
    copy = _method("copy", _METHODS)
    cumprod = _method("cumprod")
    cumsum = _method("cumsum")
    diagonal = _method("diagonal")
    dot = _method("dot")
    fill = _method("fill", _METHODS)
    flags = property(_method("Flags", _METHODS))
    flat = property(_method("Flat", _METHODS), _method("set_flat", _METHODS))
    flatten = _method("flatten", _METHODS)
    max = _method("max")
    mean = _method("mean")
    min = _method("min")
    nonzero = _method("nonzero")
    partition = _method("partition", _METHODS)
    prod = _method("prod")
    put = _method("put")
    ravel = _method("ravel")
    repeat = _method("repeat")
    reshape = _method("reshape", _METHODS)
    round = _method("round")
    searchsorted = _method("searchsorted")
    setflags = _method("setflags", _METHODS)
    sort = _method("sort", _METHODS)
    squeeze = _method("squeeze")
    std = _method("std")
    strides = property(_method("strides", _METHODS))
    sum = _method("sum")
    swapaxes = _method("swapaxes")
    take = _method("take")
    tobytes = _method("tobytes", _METHODS)
    tofile = _method("tofile", _METHODS)
    trace = _method("trace")
    transpose = _method("transpose", _METHODS)
    var = _method("var")
    view = _method("view", _METHODS)
    __copy__ = _method("copy", _METHODS)
