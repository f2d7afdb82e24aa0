"""NumPy's `typing`: names for annotations."""

from numpy.typing import ArrayLike, DTypeLike

from nbx_array._array import Array as NDArray

__all__ = ["ArrayLike", "DTypeLike", "NDArray"]
