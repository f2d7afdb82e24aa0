"""Fourier transforms: the standard's extension `fft`.

Any length goes, primes too. ‖error‖₂ is at most 5 · eps · max(1, log2 n) · ‖result‖₂. float16 and bfloat16 are
transformed in single precision, bool and integers in that of the default float. Where x is shorter than the transform
zeros follow, where it is longer its beginning is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from nbx_array._array import Array, cast, packed
from nbx_array._array import copy as copied
from nbx_array._creation import _array, _device, _new, _shape, arange
from nbx_array._data_types import as_dtype
from nbx_array._expression import realize
from nbx_array._manipulation import roll
from nbx_array._out import deliver
from nbx_array._reduction import check_axis, check_integer
from nbx_array.backend.contract import Device
from nbx_array.kernels import fft as kernels
from nbx_array.kernels.fft import Kind
from nbx_array.kernels.types import component, default_float, is_complex, kind
from nbx_array.memory import View
from nbx_array.memory.view import contiguous_strides

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def fft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None) -> Array:
    """The discrete Fourier transform along an axis: y[k] = Σ a[j] · exp(-2πi · jk/n).

    n: the length of the transform and of the result; that of the axis by default. norm: "backward" leaves the sum as
    it is, "ortho" divides it by √n, "forward" by n. Raises ValueError for an n below 1 or an unknown norm, IndexError
    (numpy's AxisError) for an axis that `a` has not. out: an array that takes the result, of this function and of the
    others. Standard: FFT functions, `fft`.

    >>> xp.fft.fft(xp.asarray([1.0, 2.0, 3.0]))
    Array([ 6. +0.j       , -1.5+0.8660254j, -1.5-0.8660254j], device='cpu')
    """
    return deliver("fft", _along("fft", Kind(), a, n, axis, norm), out)


def ifft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None) -> Array:
    """The inverse of `fft` along an axis: y[j] = (1/n) · Σ a[k] · exp(2πi · jk/n).

    norm: "backward" divides the sum by n, "ortho" by √n, "forward" leaves it as it is. The other arguments are those of
    `fft`. Standard: FFT functions, `ifft`.

    >>> xp.real(xp.fft.ifft(xp.asarray([4.0, 0.0, 0.0, 0.0])))
    Array([1., 1., 1., 1.], device='cpu')
    """
    return deliver("ifft", _along("ifft", Kind(inverse=True), a, n, axis, norm), out)


def fftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """The transform along several axes, one after the other; along all by default.

    s: the length of the transform along each of the axes, -1 for that of the axis; without `axes`, of the last ones.
    norm: as for `fft`, with the product of the lengths for n. Raises ValueError where s and axes differ in length, and
    what `fft` raises. Standard: FFT functions, `fftn`.

    >>> xp.fft.fftn(xp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], device='cpu')
    """
    return deliver("fftn", _along_axes("fftn", Kind(), Kind(), a, s, axes, norm), out)


def ifftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """The inverse of `fftn`. The arguments are those of `fftn`, norms those of `ifft`.

    Standard: FFT functions, `ifftn`.

    >>> xp.real(xp.fft.ifftn(xp.asarray([[4.0, 0.0], [0.0, 0.0]])))
    Array([[1., 1.],
           [1., 1.]], device='cpu')
    """
    return deliver("ifftn", _along_axes("ifftn", Kind(inverse=True), Kind(inverse=True), a, s, axes, norm), out)


def fft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """`fftn` over the last two axes. Source: NumPy, `fft.fft2`."""
    return deliver("fft2", _along_axes("fft2", Kind(), Kind(), a, s, axes, norm), out)


def ifft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """`ifftn` over the last two axes. Source: NumPy, `fft.ifft2`."""
    return deliver("ifft2", _along_axes("ifft2", Kind(inverse=True), Kind(inverse=True), a, s, axes, norm), out)


def rfft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """`rfftn` over the last two axes. Source: NumPy, `fft.rfft2`."""
    return deliver("rfft2", _along_axes("rfft2", Kind(real_input=True), Kind(), a, s, axes, norm), out)


def irfft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """`irfftn` over the last two axes. Source: NumPy, `fft.irfft2`."""
    return deliver(
        "irfft2", _along_axes("irfft2", Kind(real_output=True, inverse=True), Kind(inverse=True), a, s, axes, norm), out
    )


def rfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None) -> Array:
    """The first n // 2 + 1 elements of the transform of real numbers; the others are the conjugates of these.

    Raises TypeError for a complex `a`. The arguments are those of `fft`. Standard: FFT functions, `rfft`.

    >>> xp.fft.rfft(xp.asarray([1.0, 0.0, 0.0, 0.0]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], device='cpu')
    """
    return deliver("rfft", _along("rfft", Kind(real_input=True), a, n, axis, norm), out)


def irfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None) -> Array:
    """The inverse of `rfft`: real numbers from the first n // 2 + 1 elements of their transform.

    n: the length of the result, 2 · (m - 1) by default, where m is the length of the axis; of an odd number of elements
    it has to be given. The imaginary part of the first element counts as zero, and for an even n that of the last.
    norm: as for `ifft`. Standard: FFT functions, `irfft`.

    >>> xp.fft.irfft(xp.asarray([4.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], device='cpu')
    """
    return deliver("irfft", _along("irfft", Kind(real_output=True, inverse=True), a, n, axis, norm), out)


def rfftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """`rfft` along the last of several axes, then `fft` along the others.

    The arguments are those of `fftn`. Raises TypeError for a complex `a`, IndexError where there is no axis.
    Standard: FFT functions, `rfftn`.

    >>> xp.fft.rfftn(xp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], device='cpu')
    """
    return deliver("rfftn", _along_axes("rfftn", Kind(real_input=True), Kind(), a, s, axes, norm), out)


def irfftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
    out: Any = None,
) -> Array:
    """The inverse of `rfftn`: `ifft` along all axes but the last, then `irfft` along that one.

    s: lengths of the result, the last one 2 · (m - 1) by default or if -1. The other arguments are those of `fftn`,
    norms those of `ifft`. Raises IndexError where there is no axis. Standard: FFT functions, `irfftn`.

    >>> xp.fft.irfftn(xp.asarray([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [1., 1.]], device='cpu')
    """
    return deliver(
        "irfftn", _along_axes("irfftn", Kind(real_output=True, inverse=True), Kind(inverse=True), a, s, axes, norm), out
    )


def hfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None) -> Array:
    """The transform, which is real, of a sequence with Hermitian symmetry, from its first n // 2 + 1 elements.

    n: the length of the result, 2 · (m - 1) by default, where m is the length of the axis. norm: as for `fft`.
    Standard: FFT functions, `hfft`.

    >>> xp.fft.hfft(xp.asarray([1.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], device='cpu')
    """
    return deliver("hfft", _along("hfft", Kind(real_output=True), a, n, axis, norm), out)


def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward", out: Any = None) -> Array:
    """The inverse of `hfft`: the first n // 2 + 1 elements of the inverse transform of real numbers.

    norm: as for `ifft`. Raises TypeError for a complex `a`. Standard: FFT functions, `ihfft`.

    >>> xp.fft.hfft(xp.fft.ihfft(xp.asarray([1.0, 2.0, 3.0, 2.0])))
    Array([1., 2., 3., 2.], device='cpu')
    """
    return deliver("ihfft", _along("ihfft", Kind(real_input=True, inverse=True), a, n, axis, norm), out)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of `fft`'s result, for n samples that lie d apart: 0, 1, ..., -2, -1, over n·d.

    Raises ValueError for an n below 1, TypeError for a dtype that is no real floating-point one.
    Standard: FFT functions, `fftfreq`.

    >>> xp.fft.fftfreq(5, d=0.2)
    Array([ 0.,  1.,  2., -2., -1.], device='cpu')
    """
    count = _length("fftfreq", n)
    half = count // 2
    return _frequencies("fftfreq", lambda k: (k + half) % count - half, count, count, d, dtype, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of `rfft`'s result, for n samples that lie d apart: 0, 1, ..., n // 2, over n·d.

    Raises what `fftfreq` raises. Standard: FFT functions, `rfftfreq`.

    >>> xp.fft.rfftfreq(5, d=0.2)
    Array([0., 1., 2.], device='cpu')
    """
    count = _length("rfftfreq", n)
    return _frequencies("rfftfreq", lambda k: k, count // 2 + 1, count, d, dtype, device)


def fftshift(x: Array, axes: int | Sequence[int] | None = None) -> Array:
    """Rotate axes, all by default, so that frequency zero is in the middle: by half their length.

    Raises AxisError for an axis that x has not. Standard: FFT functions, `fftshift`.

    >>> xp.fft.fftshift(xp.fft.fftfreq(5, d=0.2))
    Array([-2., -1.,  0.,  1.,  2.], device='cpu')
    """
    return _rotated("fftshift", x, axes, 1)


def ifftshift(x: Array, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`. Standard: FFT functions, `ifftshift`.

    >>> xp.fft.ifftshift(xp.asarray([-2.0, -1.0, 0.0, 1.0, 2.0]))
    Array([ 0.,  1.,  2., -2., -1.], device='cpu')
    """
    return _rotated("ifftshift", x, axes, -1)


# ---------------------------------------------------------------------------------------------------------- transforms


def _along(name: str, form: Kind, x: Array, n: int | None, axis: int, norm: str | None) -> Array:
    """Any of the transforms along one axis."""
    x = _array(x, name)
    place = check_axis(name, axis, x.ndim)
    given = x.shape[place]
    length = _length(name, n if n is not None else 2 * (given - 1) if form.real_output else given)
    if norm not in ("backward", "ortho", "forward", None):  # None is NumPy's other word for "backward"
        raise ValueError(f'{name}: norm is "backward", "ortho" or "forward", not {norm!r}')
    if form.real_input and is_complex(x.dtype):
        raise TypeError(f"{name}: expected real numbers, got dtype {x.dtype}")
    given_dtype, dtype = _dtypes(x.dtype, form, x.device)
    x = packed(realize(cast(x, given_dtype)))
    size = length // 2 + 1 if form.real_input else length
    out = _new(_shape((*x.shape[:place], size, *x.shape[place + 1 :]), dtype, name), dtype, x.device)
    kernels.transform(_around(x, place), _around(out, place), length, form, norm or "backward")
    return out


def _along_axes(
    name: str, last: Kind, others: Kind, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None
) -> Array:
    """A transform of one kind along the last of the axes and of another along those before it."""
    x = _array(x, name)
    ndim = x.ndim
    if axes is None:
        axes = range(ndim) if s is None else range(-len(s), 0)
    places = [check_axis(name, axis, ndim) for axis in axes]
    if s is not None and len(s) != len(places):
        raise ValueError(f"{name}: {len(s)} lengths {s} and {len(places)} axes")
    lengths = [x.shape[place] if s is None or s[k] == -1 else s[k] for k, place in enumerate(places)]
    if last.real_output and places and (s is None or s[-1] == -1):
        lengths[-1] = 2 * (lengths[-1] - 1)
    steps = [(others, place, n) for place, n in zip(places, lengths, strict=True)]
    if steps:
        steps[-1] = (last, *steps[-1][1:])
    elif last.real_input or last.real_output:
        raise IndexError(f"{name}: at least one axis is required")
    else:
        return copied(cast(x, _dtypes(x.dtype, last, x.device)[1]))
    for form, place, n in steps if last.real_output else reversed(steps):  # real numbers come first or last
        x = _along(name, form, x, n, place, norm)
    return x


def _around(x: Array, axis: int) -> View:
    """A packed array in memory as three dimensions: all before the axis, the axis, all behind it."""
    sig, dims, (address,), (storage,) = x.sig, x.dims, x.args, x.keep
    shape = (math.prod(dims[:axis]), dims[axis], math.prod(dims[axis + 1 :]))
    return View(storage, sig.dtype, shape, contiguous_strides(shape), (address - storage.ptr) // sig.itemsize)


@lru_cache(maxsize=256)
def _dtypes(dtype: np.dtype, form: Kind, device: Device) -> tuple[np.dtype, np.dtype]:
    """What an array of a dtype is cast to before a transform, and the dtype of the result."""
    if dtype.kind == "c":
        precise = dtype
    elif kind(dtype) == "f":
        precise = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    else:
        precise = default_float(device)
    return (_complex(precise), component(precise)) if form.real_output else (precise, _complex(precise))


def _complex(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.complex64 if component(dtype) == np.float32 else np.complex128)


def _length(name: str, n: int) -> int:
    length = check_integer(name, "n", n)
    if length < 1:
        raise ValueError(f"{name}: invalid number of data points, {length}")
    return length


# -------------------------------------------------------------------------------------------------------- frequencies


def _frequencies(
    name: str, order: Callable[[Array], Array], size: int, n: int, d: float, dtype: Any, device: Any
) -> Array:
    """Integers of a size, in an order, over n·d."""
    where = _device(device)
    chosen = default_float(where) if dtype is None else as_dtype(dtype, name)
    if kind(chosen) != "f":
        raise TypeError(f"{name}: the dtype is a real floating-point one, not {chosen}")
    return cast(order(arange(size, device=where)) * (1.0 / (n * d)), chosen)


def _rotated(name: str, x: Array, axes: int | Sequence[int] | None, direction: int) -> Array:
    """A copy of x whose axes are moved by half their length."""
    x = _array(x, name)
    ndim = x.ndim
    chosen = range(ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    places = tuple(check_axis(name, axis, ndim) for axis in chosen)
    return roll(x, tuple(direction * (x.shape[place] // 2) for place in places), axis=places) if places else copied(x)
