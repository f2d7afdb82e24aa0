"""NumPy's functions of types, and constants."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from nbx_array._array import Array
from nbx_array._creation import _array
from nbx_array._numpy_shapes import as_strided, sliding_window_view

ndarray = Array

lib = types.SimpleNamespace(
    stride_tricks=types.SimpleNamespace(as_strided=as_strided, sliding_window_view=sliding_window_view)
)


def isscalar(element: Any) -> bool:
    """Whether something is a scalar: a number, a text, a NumPy scalar, or an array of no dimension, which stands for
    one. Source: NumPy, `isscalar`."""
    return not element.ndim if isinstance(element, Array) else bool(np.isscalar(element))


def iterable(y: Any) -> bool:
    """Whether something can be iterated over. Source: NumPy, `iterable`."""
    return bool(y.ndim) if isinstance(y, Array) else bool(np.iterable(y))


def min_scalar_type(a: Any) -> np.dtype:
    """The smallest dtype that holds a scalar, or an array's own dtype. Source: NumPy, `min_scalar_type`.

    >>> xp.min_scalar_type(300)
    dtype('uint16')
    """
    if isinstance(a, Array):
        return np.min_scalar_type(np.asarray(a)[()]) if not a.ndim else a.dtype
    return np.min_scalar_type(a)


def common_type(*arrays: Any) -> Any:
    """The floating-point scalar type that arrays have in common; integers count as float64. Source: NumPy."""
    return np.common_type(*(np.empty(0, _array(x, "common_type").dtype) for x in arrays))
