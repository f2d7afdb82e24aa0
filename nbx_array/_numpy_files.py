"""Arrays from and to files, buffers and Python's iterators: what passes the host anyway."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from nbx_array._array import Array, asnumpy
from nbx_array._creation import _array, asarray
from nbx_array._data_types import as_dtype
from nbx_array._numpy_indexing import indices


def save(file: Any, arr: Any, allow_pickle: bool = False) -> None:
    """Write an array to a .npy file. Source: NumPy, `save`."""
    np.save(file, _storable(arr, "save"), allow_pickle=False)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write several arrays to a .npz file, by name or as arr_0, arr_1, ... Source: NumPy, `savez`."""
    named: dict[str, Any] = {k: _storable(x, "savez") for k, x in kwds.items()}
    np.savez(file, *(_storable(x, "savez") for x in args), **named)


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """`savez` with compression. Source: NumPy, `savez_compressed`."""
    named: dict[str, Any] = {k: _storable(x, "savez_compressed") for k, x in kwds.items()}
    np.savez_compressed(file, *(_storable(x, "savez_compressed") for x in args), **named)


def _storable(x: Any, name: str) -> np.ndarray:
    host = asnumpy(_array(x, name))
    if host.dtype.kind == "V":  # NumPy would write bytes without a meaning, which nothing reads back
        raise TypeError(f"{name}: files of NumPy's have no {host.dtype}; store x.view(uint16), and view what is loaded")
    return host


class Archive(Mapping[str, Array]):
    """The arrays of a .npz file by name, each read when it is asked for; a context manager that closes the file."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.files = list(file.files)

    def __getitem__(self, name: str) -> Array:
        return asarray(self.file[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


def load(file: Any, mmap_mode: str | None = None, allow_pickle: bool = False, **options: Any) -> Any:
    """The array of a .npy file, the arrays of a .npz file by name, or those of a .safetensors file as a dictionary.

    A file is read straight into arrays of the current device, those of .safetensors one at a time through a memory map.
    mmap_mode: "r" and "c" read through a map; ValueError for "r+" and "w+", since an array is no view of a file.
    allow_pickle: accepted for files of numbers; pickled objects are a ValueError either way. Source: NumPy, `load`; the
    format of safetensors.
    """
    if mmap_mode in ("r+", "w+"):
        raise ValueError(f"load: arrays are no views of files; mmap_mode={mmap_mode!r} is numpy.load's")
    if isinstance(file, (str, os.PathLike)) and os.fspath(file).endswith(".safetensors"):
        return _safetensors(os.fspath(file))
    try:
        found = np.load(file, mmap_mode=mmap_mode, allow_pickle=False, **options)  # type: ignore[arg-type]
    except ValueError as error:
        hint = "; pickled objects make no arrays, use numpy.load" if "pickle" in str(error) else ""
        raise ValueError(f"load: {error}{hint}") from None
    return Archive(found) if isinstance(found, np.lib.npyio.NpzFile) else asarray(found)


_SAFETENSORS = {
    **{f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "BOOL": "|b1",
}
"""The format's names of dtypes, bfloat16 aside, which NumPy has not."""


def _safetensors(path: str) -> dict[str, Array]:
    """An 8-byte length, a JSON header of that length, and the tensors' bytes at the offsets that it tells."""
    raw = np.memmap(path, np.uint8, "r")
    start = 8 + int(raw[:8].view("<u8")[0])
    header = json.loads(bytes(raw[8:start]))
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            dtype = as_dtype("bfloat16", "load")
        elif entry["dtype"] in _SAFETENSORS:
            dtype = np.dtype(_SAFETENSORS[entry["dtype"]])
        else:
            raise TypeError(f"load: {name!r} of {path} has dtype {entry['dtype']}, which no array has")
        found[name] = asarray(raw[start + begin : start + end].view(dtype).reshape(entry["shape"]))
    return found


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """A copy of a buffer's bytes as elements of a dtype. What is written to it does not reach the buffer;
    `asarray(numpy.frombuffer(...), copy=False)` sees the buffer's memory on the CPU. Source: NumPy, `frombuffer`.

    >>> xp.frombuffer(b"ab", dtype=xp.uint8)
    Array([97, 98], dtype=uint8, device='cpu')
    """
    return asarray(np.frombuffer(buffer, as_dtype(dtype, "frombuffer"), count, offset))


def fromiter(iter: Any, dtype: Any, count: int = -1) -> Array:
    """A vector of what an iterator gives. Source: NumPy, `fromiter`.

    >>> xp.fromiter(range(3), int)
    Array([0, 1, 2], device='cpu')
    """
    return asarray(np.fromiter(iter, as_dtype(dtype, "fromiter"), count))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """The numbers of a text. Source: NumPy, `fromstring`.

    >>> xp.fromstring("1, 2", sep=",")
    Array([1., 2.], device='cpu')
    """
    return asarray(np.fromstring(string, as_dtype(dtype, "fromstring"), count, sep=sep))


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0) -> Array:
    """The elements of a binary file, or with `sep` of a text file. Source: NumPy, `fromfile`."""
    return asarray(np.fromfile(file, as_dtype(dtype, "fromfile"), count, sep, offset))


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """A function called with the coordinates of every place of a shape, an array an axis. Source: NumPy.

    >>> xp.fromfunction(lambda i, j: i + j, (2, 2))
    Array([[0., 1.],
           [1., 2.]], device='cpu')
    """
    return function(*indices(shape, dtype), **kwargs)


def loadtxt(fname: Any, dtype: Any = float, **options: Any) -> Array:
    """The numbers of a text file's table; the options are NumPy's. Source: NumPy, `loadtxt`."""
    return asarray(np.loadtxt(fname, as_dtype(dtype, "loadtxt"), **options))


def genfromtxt(fname: Any, dtype: Any = float, **options: Any) -> Array:
    """The numbers of a text file's table with gaps; the options are NumPy's. Source: NumPy, `genfromtxt`."""
    return asarray(np.genfromtxt(fname, as_dtype(dtype, "genfromtxt"), **options))


def savetxt(fname: Any, X: Any, *args: Any, **options: Any) -> None:
    """Write a vector or a table as text; the options are NumPy's. Source: NumPy, `savetxt`."""
    np.savetxt(fname, asnumpy(_array(X, "savetxt")), *args, **options)


def array2string(a: Any, *args: Any, **options: Any) -> str:
    """The elements as text; the options are NumPy's. Source: NumPy, `array2string`.

    >>> xp.array2string(xp.asarray([1.25, 2]), precision=1)
    '[1.2 2. ]'
    """
    return np.array2string(asnumpy(_array(a, "array2string")), *args, **options)


def array_str(a: Any, *args: Any, **options: Any) -> str:
    """`str` with NumPy's options. Source: NumPy, `array_str`."""
    return np.array_str(asnumpy(_array(a, "array_str")), *args, **options)


def array_repr(arr: Any, *args: Any, **options: Any) -> str:
    """NumPy's `repr` of the elements, with its options. Source: NumPy, `array_repr`."""
    return np.array_repr(asnumpy(_array(arr, "array_repr")), *args, **options)
