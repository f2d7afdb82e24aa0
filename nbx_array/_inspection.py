"""Inspection of the namespace: capabilities, devices and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbx_array.backend import detect
from nbx_array.backend.contract import Device
from nbx_array.kernels.types import default_complex, default_float

_DTYPES = {
    name: np.dtype(name)
    for name in (
        "bool",
        *(f"int{n}" for n in (8, 16, 32, 64)),
        *(f"uint{n}" for n in (8, 16, 32, 64)),
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
}
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class Devices(tuple[Device, ...]):
    """The standard's tuple of devices, to which a list can be added, as SciPy's tests do with NumPy's list."""

    def __add__(self, others: Any) -> Any:
        return [*self, *others] if isinstance(others, list) else super().__add__(others)


class ArrayNamespaceInfo:
    """What `__array_namespace_info__()` returns. Standard: inspection."""

    def capabilities(self) -> dict[str, Any]:
        """Optional behaviours of the standard that the namespace has.

        >>> xp.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of arrays that are created without naming one."""
        return detect.default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of arrays that are created without naming one, by kind."""
        chosen = detect.default_device() if device is None else detect.find_device(device)
        return {
            "real floating": default_float(chosen),
            "complex floating": default_complex(chosen),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The standard's dtypes that a device has, by name, of one kind or of a tuple of kinds if given."""
        chosen = detect.default_device() if device is None else detect.find_device(device)
        letters = "biufc" if kind is None else _letters(kind)
        absent = {"float64", "complex128"} if default_float(chosen) == np.float32 else set()
        return {name: dtype for name, dtype in _DTYPES.items() if dtype.kind in letters and name not in absent}

    def devices(self) -> tuple[Device, ...]:
        """Every device that arrays can lie on, the default one first."""
        return Devices(detect.devices())


def _letters(kind: Any) -> str:
    if isinstance(kind, tuple):
        return "".join(map(_letters, kind))
    if kind not in _KINDS:
        raise ValueError(f"dtypes: unknown kind {kind!r}; known: {', '.join(_KINDS)}")
    return _KINDS[kind]


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Inspection of the namespace: its capabilities, devices and dtypes.

    >>> xp.__array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """
    return ArrayNamespaceInfo()
