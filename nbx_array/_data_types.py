"""Data types of the standard: NumPy's own dtype objects, and the functions over them."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nbx_array._array import Array, cast
from nbx_array._array import copy as copied
from nbx_array._operations import promote
from nbx_array.backend.contract import get_device
from nbx_array.kernels.types import check_device, kind, type_row

bool = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

_NUMBERS = (builtins.bool, int, float, complex)
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def bfloat16() -> Any:
    """The bfloat16 scalar type, from ml_dtypes, which is imported only when this is asked for."""
    from ml_dtypes import bfloat16

    return bfloat16


def as_dtype(dtype: Any, name: str) -> np.dtype:
    """A dtype that arrays can have; TypeError names the function that was given another."""
    if type(dtype) in _KNOWN_BY:
        found = _dtypes.get(dtype)
        if found is not None:
            return found
    if isinstance(dtype, (Array, np.ndarray)):
        raise TypeError(f"{name}: expected a dtype, got an array")
    if isinstance(dtype, str) and dtype == "bfloat16":
        dtype = bfloat16()
    try:
        result = np.dtype(dtype)
        result = result if result.isnative else result.newbyteorder("=")
        type_row(result)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    if type(dtype) in _KNOWN_BY and len(_dtypes) < 256:
        _dtypes[dtype] = result
    return result


_KNOWN_BY = {type, str, *map(type, map(np.dtype, "?bhilqBHILQefdFD"))}
"""The types of what dtypes are remembered by."""
_dtypes: dict[Any, np.dtype] = {}


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype

    @property
    def tiny(self) -> float:
        """NumPy's name of `smallest_normal`."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def _dtype_of(type: Any, name: str) -> np.dtype:
    return type.dtype if isinstance(type, Array) else as_dtype(type, name)


def finfo(type: Any, /) -> FloatInfo:
    """Machine limits of a floating-point dtype, or of an array's; those of its parts for a complex one.

    Raises ValueError for any other dtype. Standard: data type functions, `finfo`.

    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    """
    return _float_info(_dtype_of(type, "finfo"))


@lru_cache
def _float_info(dtype: np.dtype) -> FloatInfo:
    if kind(dtype) not in "fc":
        raise ValueError(f"finfo: {dtype} is no floating-point dtype")
    if dtype.name == "bfloat16":
        import ml_dtypes

        info: Any = ml_dtypes.finfo(dtype)
    else:
        info = np.finfo(dtype)
    return FloatInfo(
        int(info.bits),
        float(info.eps),
        float(info.max),
        float(info.min),
        float(info.smallest_normal),
        np.dtype(info.dtype),
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer dtype, or of an array's.

    Raises ValueError for any other dtype. Standard: data type functions, `iinfo`.

    >>> xp.iinfo(xp.int8).max
    127
    """
    return _integer_info(_dtype_of(type, "iinfo"))


@lru_cache
def _integer_info(dtype: np.dtype) -> IntegerInfo:
    if dtype.kind not in "iu":
        raise ValueError(f"iinfo: {dtype} is no integer dtype")
    info = np.iinfo(dtype)
    return IntegerInfo(int(info.bits), int(info.max), int(info.min), dtype)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is another one, of a kind ("bool", "signed integer", "unsigned integer", "integral",
    "real floating", "complex floating", "numeric"), or among a tuple of those.

    Standard: data type functions, `isdtype`.

    >>> xp.isdtype(xp.float32, ("real floating", "complex floating"))
    True
    """
    own = as_dtype(dtype, "isdtype")
    if isinstance(kind, tuple):
        return any(isdtype(own, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return type_row(own).kind in _KINDS[kind]
    if isinstance(kind, str) and kind != "bfloat16":
        raise ValueError(f"isdtype: unknown kind {kind!r}; known: {', '.join(_KINDS)}")
    return own == as_dtype(kind, "isdtype")


def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool:
    """Whether a dtype, or an array's, converts to another by promotion alone, or by another of NumPy's rules.

    Standard: data type functions, `can_cast`.

    >>> xp.can_cast(xp.int32, xp.int64)
    True
    """
    return np.can_cast(_dtype_of(from_, "can_cast"), as_dtype(to, "can_cast"), casting)  # type: ignore[arg-type]


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that an operation over the given arrays, dtypes and Python scalars has.

    Raises TypeError where there is no common dtype, ValueError without any argument. Standard: data type functions,
    `result_type`.

    >>> xp.result_type(xp.int8, xp.float32, 1.0)
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: at least one array or dtype is required")
    weak: list[Any] = []
    dtypes: list[np.dtype] = []
    device = None
    for x in arrays_and_dtypes:
        if type(x) in _NUMBERS:
            weak.append(type(x))
        elif isinstance(x, Array):
            dtypes.append(x.sig.dtype)
            device = device or x.sig.device
        else:
            dtypes.append(x.dtype if isinstance(x, np.generic) else as_dtype(x, "result_type"))
    if not dtypes:
        return np.result_type(*arrays_and_dtypes)
    device = device or get_device("cpu")
    try:
        result = promote(tuple(dtypes), tuple(weak), device)
        check_device(result, device)
        return result
    except np.exceptions.DTypePromotionError as error:
        raise TypeError(f"result_type: {error}") from None


def astype(x: Array, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Array:
    """The array in another dtype, deferred. Floats are truncated to integers; complex numbers lose their imaginary
    part only where NumPy's `astype` would drop it.

    copy: if False and the dtype is x's own, x itself is returned. device: where the result lies.
    Raises TypeError for what is no dtype of arrays. Standard: data type functions, `astype`.

    >>> xp.astype(xp.asarray([1.7, -1.7]), xp.int64)
    Array([ 1, -1], device='cpu')
    """
    if not isinstance(x, Array):
        raise TypeError(f"astype: expected an array, got {type(x).__name__}; convert it with nbx_array.asarray")
    target = as_dtype(dtype, "astype")
    result = cast(x, target)
    if result is x and copy:
        result = copied(x)
    return result if device is None else result.to_device(device)
