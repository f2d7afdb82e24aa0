"""Factorisations by NumPy, which calls LAPACK: on the CPU over the same memory, on a GPU by way of the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from nbx_array._array import Array, asnumpy, from_numpy
from nbx_array._creation import _new
from nbx_array.memory.transfer import as_numpy


def run(name: str, routine: Callable[..., Any], *operands: Array, **options: Any) -> tuple[Array, ...]:
    """The results of a function of numpy.linalg as arrays on the operands' device. LinAlgError names `name`."""
    device = operands[0].device
    hosts = [as_numpy(x.memory()) if device.backend == "cpu" else asnumpy(x) for x in operands]
    try:
        with np.errstate(all="ignore"):
            results = routine(*hosts, **options)
    except LinAlgError as error:
        shapes = " and ".join(str(x.shape) for x in operands)
        raise LinAlgError(f"{name}: {error}, given {shapes}") from None
    made = []
    for result in results if isinstance(results, tuple) else (results,):
        if device.backend == "cpu":
            out = _new(np.shape(result), result.dtype, device)
            as_numpy(out.memory())[...] = result
        else:
            out = from_numpy(np.asarray(result), device)
        made.append(out)
    return tuple(made)
