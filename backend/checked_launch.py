"""Launching with every argument checked: what `nbx_array.launch` calls for a user's own kernels.

The launchers' ``run`` takes addresses and trusts them. Here array arguments are buffers: objects with ``ptr``,
``nbytes`` and ``device``, perhaps ``closed`` and a NumPy ``dtype``. An integer is never taken for an address.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import compiler, detect
from .contract import Device
from .launcher import Launcher, get_launcher

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Any]

_POINTERS = {
    f"{kind}{bits}": f"*{letter}{bits}" for kind, letter in (("int", "i"), ("uint", "u")) for bits in (8, 16, 32, 64)
}
_POINTERS |= {"bool": "*i1", "float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "float64": "*fp64"}


def launch(kernel: Any, grid: Grid, *args: Any, **keywords: Any) -> None:
    """Launch a kernel over a grid of one to three dimensions.

    ``kernel`` is a `Launcher`, which takes its run-time arguments, or a function made by ``@triton.jit``, which takes
    its arguments as Triton does: by position or by name, ``tl.constexpr`` parameters too, beside them options of the
    compiler such as ``num_warps``; ``grid`` may then be a function of the arguments' dictionary.
    """
    if isinstance(kernel, Launcher):
        if keywords:
            raise TypeError(f"launch: {kernel.kernel.name} takes no keyword arguments, got {', '.join(keywords)}")
        launcher, device = kernel, None
    else:
        launcher, args, bound, device = _specialise(kernel, args, keywords)
        if callable(grid):
            grid = grid(bound)
    compiled = launcher.kernel
    if len(args) != len(compiled.parameters):
        raise TypeError(f"launch: {compiled.name} takes {len(compiled.parameters)} arguments "
                        f"({', '.join(compiled.names)}), {len(args)} were given")  # fmt: skip
    values, home = [], device
    for name, parameter, value in zip(compiled.names, compiled.parameters, args, strict=True):
        where = f"launch: argument {name!r} of {compiled.name}"
        if not parameter.startswith("*"):
            values.append(value)
            continue
        _check_buffer(value, where)
        if value.device.backend != compiled.target.backend or home not in (None, value.device):
            raise ValueError(f"{where} is on {value.device}, the kernel runs on {home or compiled.target.backend}")
        home = value.device
        dtype = getattr(value, "dtype", None)
        if dtype is not None and pointer_type(dtype, where) != parameter:
            raise TypeError(f"{where} has dtype {dtype}, the kernel was compiled for {parameter}")
        values.append(value.ptr)
    launcher.spread(tuple(values), *_grid(grid, compiled.name))


def pointer_type(dtype: Any, where: str) -> str:
    """Triton's type of a pointer to elements of a NumPy dtype."""
    try:
        return _POINTERS[np.dtype(dtype).name]
    except KeyError:
        raise TypeError(
            f"{where} has dtype {dtype}, which Triton's pointers do not have; pass a view of another dtype"
        ) from None


def scalar_type(value: Any, where: str) -> str:
    """The type Triton gives a scalar argument; a value is never compiled into the kernel."""
    if isinstance(value, (bool, np.bool_)):
        return "i1"
    if isinstance(value, (float, np.floating)):
        return "fp32"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{where} is a {type(value).__name__}; it must be an array or a number") from None
    if -(2**31) <= number < 2**31:
        return "i32"
    if -(2**63) <= number < 2**63:
        return "i64"
    if number < 2**64 and number > 0:
        return "u64"
    raise OverflowError(f"{where} is {number}, which no integer type holds")


def _check_buffer(value: Any, where: str) -> None:
    if not (hasattr(value, "ptr") and hasattr(value, "nbytes") and isinstance(getattr(value, "device", None), Device)):
        raise TypeError(f"{where} must be an array, not {type(value).__name__}; an address is not taken")
    if getattr(value, "closed", False):
        raise ValueError(f"{where} has been closed")


def _grid(grid: Any, name: str) -> tuple[int, int, int]:
    sizes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"launch: the grid of {name} must have one to three dimensions, not {len(sizes)}")
    try:
        x, y, z = (*(operator.index(size) for size in sizes), 1, 1)[:3]
    except TypeError:
        raise TypeError(f"launch: the grid of {name} must be made of integers, not {grid!r}") from None
    if min(x, y, z) < 0:
        raise ValueError(f"launch: the grid of {name} must not be negative: {grid!r}")
    return x, y, z


def _specialise(
    function: Any, args: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Launcher, tuple[Any, ...], dict[str, Any], Device]:
    """A user's kernel compiled for these arguments: launcher, run-time arguments, all arguments by name, device."""
    if type(function).__name__ != "JITFunction" or not hasattr(function, "params"):
        raise TypeError(f"launch: {getattr(function, '__name__', function)!r} is a {type(function).__name__}; "
                        "a function made by @triton.jit is needed")  # fmt: skip
    name = function.__name__
    bound, options = _bind(function, args, keywords)
    signature, constants, values, device, aligned = [], [], [], None, True
    for parameter in function.params:
        value = bound[parameter.name]
        where = f"launch: argument {parameter.name!r} of {name}"
        if parameter.is_constexpr or value is None:
            constants.append((parameter.name, value))
        elif hasattr(value, "ptr"):
            _check_buffer(value, where)
            device = device or value.device
            aligned = aligned and value.ptr % 16 == 0
            signature.append((parameter.name, pointer_type(value.dtype, where)))
            values.append(value)
        else:
            kind = scalar_type(value, where)
            signature.append((parameter.name, kind))
            values.append(float(value) if kind == "fp32" else operator.index(value) if kind != "i1" else bool(value))
    device = device or detect.default_device()
    source = compiler.Source.of_function(function)
    launcher = get_launcher(source, tuple(signature), tuple(constants), device, aligned, tuple(sorted(options.items())))
    return launcher, tuple(values), bound, device


def _bind(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments by parameter name, with defaults, and the compiler's options."""
    name, parameters = function.__name__, function.params
    if len(args) > len(parameters):
        raise TypeError(f"launch: {name} takes {len(parameters)} arguments, {len(args)} were given")
    bound = {p.name: value for p, value in zip(parameters, args, strict=False)}
    known = {p.name for p in parameters}
    options = {}
    for key, value in keywords.items():
        if key in bound:
            raise TypeError(f"launch: {name} got two values for argument {key!r}")
        if key in known:
            bound[key] = value
        elif key in compiler.OPTIONS:
            options[key] = value
        else:
            raise TypeError(f"launch: {name} has no argument {key!r}, and it is no option of the compiler")
    for p in parameters:
        if p.name not in bound and p.has_default:
            bound[p.name] = p.default
    missing = [p.name for p in parameters if p.name not in bound]
    if missing:
        raise TypeError(f"launch: {name} needs {', '.join(missing)}")
    return bound, options
