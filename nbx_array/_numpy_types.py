"""NumPy's functions of types, and constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbx_array._array import Array
from nbx_array._creation import _array

ndarray = Array


class _Kind(type):
    """One of NumPy's kinds of scalars, of which arrays of no dimension, which stand for scalars, are instances, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Array):
            return not instance.ndim and issubclass(instance.dtype.type, cls)
        return isinstance(instance, cls.__bases__)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__bases__)


def _kind(numpys: type) -> Any:
    return _Kind(numpys.__name__, (numpys,), {"__doc__": numpys.__doc__})


generic, number, integer = _kind(np.generic), _kind(np.number), _kind(np.integer)
signedinteger, unsignedinteger = _kind(np.signedinteger), _kind(np.unsignedinteger)
inexact, floating, complexfloating = _kind(np.inexact), _kind(np.floating), _kind(np.complexfloating)


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
