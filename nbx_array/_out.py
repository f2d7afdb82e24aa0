"""NumPy's `out=`: where a function leaves its result."""

from __future__ import annotations

from typing import Any

from nbx_array._array import Array, assign_in_place, broadcast_to


def deliver(name: str, result: Array, out: Any) -> Array:
    """The result, or `out` with its elements, broadcast to out's shape and cast to its dtype as `+=` casts.

    Raises TypeError where `out` is no array or its dtype holds no such elements, ValueError where the shapes differ.
    """
    if out is None:
        return result
    if isinstance(out, tuple):
        (out,) = out
        return deliver(name, result, out)
    if not isinstance(out, Array):
        raise TypeError(f"{name}: out must be an array, not {type(out).__name__}")
    if result.shape != out.shape:
        try:
            result = broadcast_to(result, out.shape)
        except ValueError:
            raise ValueError(f"{name}: the result has shape {result.shape} and out {out.shape}") from None
    return assign_in_place(out, result, name)
