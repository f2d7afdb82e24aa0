"""NumPy's `vectorize`: a Python function of single elements over arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbx_array._array import Array, asnumpy
from nbx_array._creation import _PYTHON_FLOATS, _array, _holds_arrays, asarray
from nbx_array.backend import detect
from nbx_array.kernels.types import default_complex, default_float


class vectorize(np.vectorize):
    """A function of single elements as one of arrays, which broadcast.

    Such a function can only run in Python: each array is read to the host in one transfer, which waits for the device,
    `numpy.vectorize` applies the function there, and the results come back as arrays on the operands' device. A
    function of arrays, with `where` for its branches, runs on the device and is faster by far.

    pyfunc: takes elements as numbers, gives numbers or arrays of no dimension, several in a tuple. Without it
    the object decorates one. otypes: the dtypes of the results, as a string of their characters or a list; None takes
    those of the first call. doc: the docstring, by default pyfunc's. excluded: the places and names of arguments that
    pyfunc gets as they are. cache: keep what the first call, which finds out the dtypes, gave. signature: core
    dimensions, such as "(n),(n)->()"; pyfunc takes and gives arrays of these, each copied to the device and back.
    Calls raise TypeError for an ndarray and where the results are no numbers, ValueError for no elements without
    otypes, and what pyfunc raises. Source: NumPy, `vectorize`.

    >>> halves = xp.vectorize(lambda n: n // 2 if n % 2 == 0 else 3 * n + 1)
    >>> halves(xp.asarray([6, 7, 8]))
    Array([ 3, 22,  4], device='cpu')
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not callable(self.pyfunc):  # it decorates what it is called with
            return super().__call__(*args, **kwargs)
        arrays = [x for x in (*args, *kwargs.values()) if isinstance(x, Array)]
        device = arrays[0].device if arrays else detect.default_device()
        hosts = [x if k in self.excluded else _operand(x) for k, x in enumerate(args)]
        named = {k: x if k in self.excluded else _operand(x) for k, x in kwargs.items()}
        function = _called_from_host(self.pyfunc, device if self.signature else None)
        theirs = np.vectorize(function, self.otypes, None, self.excluded, self.cache, self.signature)
        results = theirs(*hosts, **named)
        return tuple(_result(x, device) for x in results) if isinstance(results, tuple) else _result(results, device)


def _operand(x: Any) -> Any:
    """An argument as NumPy takes it: what is no array, nor holds one, is on the host already."""
    return asnumpy(_array(x, "vectorize")) if isinstance(x, (Array, np.ndarray)) or _holds_arrays(x) else x


def _called_from_host(function: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """The function as NumPy calls it. device: where the function gets NumPy's arrays, unless that is None."""

    def value(x: Any) -> Any:
        return asnumpy(x)[()] if isinstance(x, Array) else x

    def call(*args: Any, **kwargs: Any) -> Any:
        if device is not None:
            args = tuple(asarray(x, device=device) if isinstance(x, np.ndarray) else x for x in args)
        results = function(*args, **kwargs)
        return tuple(map(value, results)) if isinstance(results, tuple) else value(results)

    return call


def _result(x: Any, device: Any) -> Any:
    """What NumPy gave as an array of ours; Python's floats and complex numbers in the device's dtypes of these."""
    if not isinstance(x, (np.ndarray, np.generic)):  # that of a function of no vectorized arguments
        return x
    if x.dtype in _PYTHON_FLOATS:
        x = x.astype(default_float(device) if x.dtype.kind == "f" else default_complex(device), copy=False)
    try:
        return asarray(x, device=device)
    except TypeError:
        raise TypeError(f"vectorize: the function's results are {x.dtype}, which no array takes") from None
