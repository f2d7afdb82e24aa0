"""How each dtype looks to Triton: pointer, parameter and value types, and the type it is computed in."""

from typing import NamedTuple

import numpy as np
from nbx_array.backend.contract import WITHOUT_FLOAT64, Device


class TypeRow(NamedTuple):
    """One dtype. Complex dtypes describe their components, which lie interleaved in memory."""

    pointer: str  # Triton's type string of a pointer to it
    value: str  # the triton.language type of a loaded value
    parameter: str  # Triton's type string of a scalar argument of it
    compute: str  # the triton.language type that functions are applied in
    kind: str  # NumPy's kind letter; bfloat16 counts as "f"


_ROWS = {
    "bool": TypeRow("*i1", "tl.int1", "i1", "tl.int1", "b"),
    "int8": TypeRow("*i8", "tl.int8", "i8", "tl.int8", "i"),
    "int16": TypeRow("*i16", "tl.int16", "i16", "tl.int16", "i"),
    "int32": TypeRow("*i32", "tl.int32", "i32", "tl.int32", "i"),
    "int64": TypeRow("*i64", "tl.int64", "i64", "tl.int64", "i"),
    "uint8": TypeRow("*u8", "tl.uint8", "u8", "tl.uint8", "u"),
    "uint16": TypeRow("*u16", "tl.uint16", "u16", "tl.uint16", "u"),
    "uint32": TypeRow("*u32", "tl.uint32", "u32", "tl.uint32", "u"),
    "uint64": TypeRow("*u64", "tl.uint64", "u64", "tl.uint64", "u"),
    # A Python float meets a 16-bit array as float64 and is rounded once, in the kernel.
    "float16": TypeRow("*fp16", "tl.float16", "fp64", "tl.float32", "f"),
    "bfloat16": TypeRow("*bf16", "tl.bfloat16", "fp64", "tl.float32", "f"),
    "float32": TypeRow("*fp32", "tl.float32", "fp32", "tl.float32", "f"),
    "float64": TypeRow("*fp64", "tl.float64", "fp64", "tl.float64", "f"),
    "complex64": TypeRow("*fp32", "tl.float32", "fp32", "tl.float32", "c"),
    "complex128": TypeRow("*fp64", "tl.float64", "fp64", "tl.float64", "c"),
}

# bfloat16 is added when first met, so that a program without it never imports ml_dtypes (12 ms).
_BY_DTYPE = {np.dtype(name): row for name, row in _ROWS.items() if name != "bfloat16"}


def type_row(dtype: np.dtype) -> TypeRow:
    """The row of a dtype; TypeError for a dtype that no kernel takes."""
    row = _BY_DTYPE.get(dtype)
    if row is None:
        if dtype.name not in _ROWS:
            raise TypeError(f"Unsupported dtype {dtype}: arrays hold bools and numbers")
        row = _BY_DTYPE[dtype] = _ROWS[dtype.name]
    return row


def kind(dtype: np.dtype) -> str:
    """NumPy's kind letter ("b", "i", "u", "f" or "c"), with bfloat16 among the floats."""
    return type_row(dtype).kind


def is_complex(dtype: np.dtype) -> bool:
    return dtype.kind == "c"


def component(dtype: np.dtype) -> np.dtype:
    """The real dtype of a complex dtype's parts; a real dtype is its own."""
    if dtype.kind != "c":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


class DtypeAbsent(TypeError):
    """A dtype that a device does not have; the message names both."""


def check_device(dtype: np.dtype, device: Device) -> None:
    """Raise DtypeAbsent for float64 and complex128 on a device without them: nothing is narrowed in silence."""
    if device.backend in WITHOUT_FLOAT64 and dtype.kind in "fc" and component(dtype).itemsize == 8:
        narrower = "float32" if dtype.kind == "f" else "complex64"
        raise DtypeAbsent(f"{device} has no {dtype}; ask for {narrower} by dtype or astype")


def parameter(dtype: np.dtype, device: Device) -> str:
    """Triton's type string of a scalar argument. Without float64 a number meets a 16-bit float as float32."""
    kind = type_row(dtype).parameter
    return "fp32" if kind == "fp64" and device.backend in WITHOUT_FLOAT64 else kind


def default_float(device: Device) -> np.dtype:
    """float64, or float32 on a device without it (Metal)."""
    return np.dtype(np.float32 if device.backend in WITHOUT_FLOAT64 else np.float64)


def default_complex(device: Device) -> np.dtype:
    return np.dtype(np.complex64 if device.backend in WITHOUT_FLOAT64 else np.complex128)
