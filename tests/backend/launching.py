"""Launch a kernel of ``kernel_sources.py`` on NumPy arrays, for tests."""

from pathlib import Path

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import get_device
from nbx_array.backend.launcher import Launcher, get_launcher

TEXT = (Path(__file__).parent / "kernel_sources.py").read_text()
TYPES = {"bool": "i1", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
TYPES |= {f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
CPU = get_device("cpu")


def prepare(name: str, args: tuple, constants: dict, text: str = TEXT) -> tuple[Launcher, list]:
    """A launcher, and the arguments as it takes them. Python floats are fp32, ints i32 where they fit."""
    names = parameter_names(name, text)
    signature, values = [], []
    remaining = iter(args)
    for parameter in names:
        if parameter in constants:
            continue
        value = next(remaining)
        if isinstance(value, np.ndarray):
            signature.append((parameter, "*" + TYPES[value.dtype.name]))
            values.append(value.ctypes.data)
        elif isinstance(value, np.generic):
            signature.append((parameter, TYPES[value.dtype.name]))
            values.append(value.item())
        elif isinstance(value, float):
            signature.append((parameter, "fp32"))
            values.append(value)
        else:
            signature.append((parameter, "i32" if -(2**31) <= value < 2**31 else "i64"))
            values.append(value)
    launcher = get_launcher(Source.generated(text, name), tuple(signature), tuple(constants.items()), CPU)
    return launcher, values


def parameter_names(name: str, text: str = TEXT) -> list[str]:
    inside = text.split(f"def {name}(", 1)[1].split("):", 1)[0]
    return [part.split(":")[0].strip() for part in inside.replace("\n", " ").split(",") if part.strip()]


def launch(name: str, grid: tuple, *args, spread: bool = False, **constants) -> Launcher:
    launcher, values = prepare(name, args, constants)
    gx, gy, gz = (*grid, 1, 1)[:3]
    if spread:
        launcher.spread(tuple(values), gx, gy, gz)
    else:
        launcher.run(*values, gx, gy, gz)
    return launcher
