"""NumPy's packing of truth values into bytes, eight to a byte."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from nbx_array._array import Array, cast
from nbx_array._creation import _array, arange
from nbx_array._elementwise import bitwise_left_shift, bitwise_right_shift, not_equal
from nbx_array._manipulation import moveaxis, reshape
from nbx_array._numpy_shapes import pad
from nbx_array._reduction import check_axis
from nbx_array._statistical import sum

UINT8 = np.dtype(np.uint8)


def _last(name: str, x: Array, axis: Any) -> tuple[Array, int]:
    """x with the axis as the last one, and where that was; flattened for None and without dimensions."""
    if axis is None or not x.ndim:
        if axis is not None:
            check_axis(name, axis, 1)
        return reshape(x, (-1,)), 0
    place = check_axis(name, axis, x.ndim)
    return moveaxis(x, place, -1), place


def _places(name: str, bitorder: Any, x: Array) -> Array:
    """By how much each of a byte's eight bits, in their order, is shifted."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', not {bitorder!r}")
    ends = (7, -1, -1) if bitorder == "big" else (0, 8, 1)
    return arange(*ends, dtype=UINT8, device=x.device)


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Array:
    """The truth of the elements along an axis as bits, eight to a byte, and zeros behind them to a whole byte.

    a: array of bool or integer dtype. axis: None for all elements of a flattened. bitorder: "big" has the first element
    as the highest bit of a byte, "little" as the lowest. Result: of uint8, the axis an eighth as long.
    Raises TypeError for other dtypes, AxisError for an axis out of bounds, ValueError for another order.
    Source: NumPy, `packbits`.

    >>> xp.packbits(xp.asarray([True, False, False, False, False, False, True, True, True]))
    Array([131, 128], dtype=uint8, device='cpu')
    """
    x = _array(a, "packbits")
    if x.dtype.kind not in "biu":
        raise TypeError(f"packbits: takes an array of integer or bool dtype, got {x.dtype}")
    places = _places("packbits", bitorder, x)
    x, axis = _last("packbits", x, axis)
    bits = cast(not_equal(x, 0), UINT8)
    if rest := x.shape[-1] % 8:
        bits = pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, 8 - rest)])
    bits = reshape(bits, (*x.shape[:-1], bits.shape[-1] // 8, 8))
    return moveaxis(sum(bitwise_left_shift(bits, places), axis=-1, dtype=UINT8), -1, axis)


def unpackbits(a: Any, /, axis: Any = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of bytes along an axis as zeros and ones: what `packbits` packed.

    a: array of uint8. axis: None for all elements of a flattened. count: how many of the bits, zeros behind the last
    where there are fewer; a negative one leaves out that many at the end. bitorder: "big" has the highest bit of a byte
    first, "little" the lowest. Result: of uint8, the axis eight times as long, or `count`.
    Raises TypeError for other dtypes, AxisError for an axis out of bounds, ValueError for another order and for more
    bits to leave out than there are. Source: NumPy, `unpackbits`.

    >>> xp.unpackbits(xp.asarray([131, 128], dtype=xp.uint8), count=9)
    Array([1, 0, 0, 0, 0, 0, 1, 1, 1], dtype=uint8, device='cpu')
    """
    x = _array(a, "unpackbits")
    if x.dtype != UINT8:
        raise TypeError(f"unpackbits: takes an array of uint8, got {x.dtype}")
    places = _places("unpackbits", bitorder, x)
    x, axis = _last("unpackbits", x, axis)
    available = 8 * x.shape[-1]
    bits = reshape(bitwise_right_shift(x[..., None], places) & 1, (*x.shape[:-1], available))
    wanted = available if count is None else operator.index(count)
    if wanted < -available:
        raise ValueError(f"unpackbits: count {wanted} leaves out more than the {available} bits along axis {axis}")
    if wanted > available:
        bits = pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, wanted - available)])
    return moveaxis(bits[..., : wanted if wanted >= 0 else available + wanted], -1, axis)
