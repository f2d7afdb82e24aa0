"""NumPy's methods of arrays, which the standard has as functions: each calls the function of its name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbx_array._expression import from_view
from nbx_array.memory.view import normalize_axis, reinterpret

if TYPE_CHECKING:
    from nbx_array._array import Array


def _xp() -> Any:
    """The namespace, which is whole only when its modules have been imported."""
    return sys.modules["nbx_array"]


def _dims(numbers: tuple[Any, ...]) -> Any:
    """A shape or axes given as one argument or as several."""
    return numbers[0] if len(numbers) == 1 else numbers


def _c_order(name: str, order: str) -> None:
    if order not in ("C", "K", "A"):
        raise ValueError(f"{name}: arrays are laid out in C order, not {order!r}")


class Methods:
    """What an array's methods do beyond the standard. `axis=None` stands for all axes or for the flattened array."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def ndim(self) -> int: ...

        @property
        def itemsize(self) -> int: ...

        def memory(self) -> Any: ...

    # ------------------------------------------------------------------------------------------ copies and views

    def astype(self, dtype: Any, *, copy: bool = True) -> Array:
        """A copy in another dtype; with `copy=False` the array itself if it has the dtype."""
        return _xp().astype(self, dtype, copy=copy)

    def copy(self, order: str = "C") -> Array:
        """A copy of the array."""
        _c_order("copy", order)
        return _xp().asarray(self, copy=True)

    def view(self, dtype: Any = None) -> Array:
        """The same memory as another array, its bytes read as `dtype` if given.

        A dtype of another size changes the last axis, which must be contiguous, and its length must come out whole:
        else ValueError.
        """
        from nbx_array._data_types import as_dtype

        memory = self.memory()
        if dtype is not None:
            try:
                memory = reinterpret(memory, as_dtype(dtype, "view"))
            except ValueError as error:
                raise ValueError(f"view: {error}") from None
        return from_view(type(self), memory)

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        self[...] = value  # type: ignore[index]

    def tobytes(self, order: str = "C") -> bytes:
        """The elements' bytes in C order."""
        _c_order("tobytes", order)
        return bytes(self)  # type: ignore[call-overload]

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return tuple(self.itemsize * step for step in self.memory().strides)

    # ---------------------------------------------------------------------------------------------------- shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
        """The elements in another shape, a view where that is possible."""
        _c_order("reshape", order)
        return _xp().reshape(self, _tuple(_dims(shape)), copy=copy)

    def ravel(self, order: str = "C") -> Array:
        """The elements in one dimension, a view where that is possible."""
        _c_order("ravel", order)
        return _xp().reshape(self, (-1,))

    def flatten(self, order: str = "C") -> Array:
        """A copy of the elements in one dimension."""
        _c_order("flatten", order)
        return _xp().reshape(self, (-1,), copy=True)

    def squeeze(self, axis: Any = None) -> Array:
        """A view without the axes, by default all, of length 1."""
        return _xp().squeeze(self, axis)

    def transpose(self, *axes: Any) -> Array:
        """A view with the axes in another order, by default reversed."""
        order = _dims(axes) if axes else None
        return _xp().permute_dims(self, tuple(range(self.ndim))[::-1] if order is None else _tuple(order))

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """A view with two axes exchanged."""
        order = list(range(self.ndim))
        first, second = normalize_axis(axis1, self.ndim), normalize_axis(axis2, self.ndim)
        order[first], order[second] = second, first
        return _xp().permute_dims(self, tuple(order))

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        """Each element, or slice along an axis, several times."""
        return _xp().repeat(self, repeats, axis=axis)

    # ------------------------------------------------------------------------------------------------ reductions

    def sum(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
        """The sum over axes."""
        return _xp().sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
        """The product over axes."""
        return _xp().prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Array:
        """The arithmetic mean over axes."""
        return _xp().mean(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """The variance over axes, divided by their length less `ddof`."""
        return _xp().var(self, axis=axis, correction=ddof, keepdims=keepdims)

    def std(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """The square root of the variance."""
        return _xp().std(self, axis=axis, correction=ddof, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Array:
        """The greatest element over axes."""
        return _xp().max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Array:
        """The least element over axes."""
        return _xp().min(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """The index of the greatest element."""
        return _xp().argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """The index of the least element."""
        return _xp().argmin(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Array:
        """Whether all elements are true."""
        return _xp().all(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Array:
        """Whether any element is true."""
        return _xp().any(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Array:
        """Running sums."""
        return _xp().cumulative_sum(self if axis is not None else self.ravel(), axis=axis, dtype=dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Array:
        """Running products."""
        return _xp().cumulative_prod(self if axis is not None else self.ravel(), axis=axis, dtype=dtype)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
        """The sum of the diagonal of two axes."""
        return _xp().linalg.trace(_xp().moveaxis(self, (axis1, axis2), (-2, -1)), offset=offset, dtype=dtype)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """The diagonal of two axes, as the last axis."""
        return _xp().linalg.diagonal(_xp().moveaxis(self, (axis1, axis2), (-2, -1)), offset=offset)

    # ---------------------------------------------------------------------------------------- elements and order

    def take(self, indices: Any, axis: int | None = None) -> Array:
        """The elements, or slices along an axis, at integer indices."""
        chosen = _xp().asarray(indices, device=self.device)  # type: ignore[attr-defined]
        return _xp().take(self, chosen, axis=axis)

    def nonzero(self) -> tuple[Array, ...]:
        """Coordinates of the elements that are not zero."""
        return _xp().nonzero(self)

    def sort(self, axis: int = -1) -> None:
        """Sort the array in place along an axis."""
        self[...] = _xp().sort(self, axis=axis)  # type: ignore[index]

    def argsort(self, axis: int | None = -1) -> Array:
        """The indices that sort the array along an axis."""
        return _xp().argsort(self.ravel() if axis is None else self, axis=-1 if axis is None else axis)

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Array:
        """Where elements can be inserted into this sorted array."""
        return _xp().searchsorted(self, v, side=side, sorter=sorter)

    # ----------------------------------------------------------------------------------------------- element-wise

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Elements below `min` set to it, those above `max` to that."""
        return _xp().clip(self, min, max)

    def conj(self) -> Array:
        """The complex conjugate."""
        return _xp().conj(self)

    conjugate = conj


def _tuple(numbers: Any) -> tuple[Any, ...]:
    return tuple(numbers) if isinstance(numbers, (tuple, list)) else (numbers,)
