"""NumPy's products of arrays, and Einstein's sums, as matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbx_array import linalg
from nbx_array._array import Array, broadcast_to, cast
from nbx_array._creation import _array
from nbx_array._data_types import as_dtype, result_type
from nbx_array._elementwise import conj, multiply, subtract
from nbx_array._linear_algebra import matmul, tensordot
from nbx_array._manipulation import expand_dims, moveaxis, permute_dims, reshape, stack
from nbx_array._numpy_shapes import diagonal
from nbx_array._order import laid_by
from nbx_array._out import deliver
from nbx_array._statistical import sum
from nbx_array.memory.view import broadcast_shapes


def dot(a: Any, b: Any, out: Any = None) -> Array:
    """The sum of products over the last axis of a and the last but one of b, its only one if b is a vector.

    A 0-d operand multiplies. Raises ValueError for axes of unequal length. Source: NumPy, `dot`.

    >>> xp.dot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]))
    Array([3, 7], device='cpu')
    """
    x, y = _array(a, "dot"), _array(b, "dot")
    if not x.ndim or not y.ndim:
        return deliver("dot", multiply(x, y), out)
    if x.ndim <= 2 and y.ndim <= 2:
        return matmul(x, y, out)
    return deliver("dot", tensordot(x, y, ((-1,), (max(y.ndim - 2, 0),))), out)


def vdot(a: Any, b: Any, /) -> Array:
    """The dot product of all elements of two arrays, of the first conjugated. Source: NumPy, `vdot`.

    >>> xp.vdot(xp.asarray([1j]), xp.asarray([1j]))
    Array(1.+0.j, device='cpu')
    """
    x, y = (reshape(_array(z, "vdot"), (-1,)) for z in (a, b))
    return matmul(conj(x) if x.dtype.kind == "c" else x, y)


def inner(a: Any, b: Any, /) -> Array:
    """The sum of products over the last axes of both. Source: NumPy, `inner`.

    >>> xp.inner(xp.asarray([1, 2]), xp.asarray([3, 4]))
    Array(11, device='cpu')
    """
    x, y = _array(a, "inner"), _array(b, "inner")
    return tensordot(x, y, ((-1,), (-1,))) if x.ndim and y.ndim else multiply(x, y)


def matvec(x1: Any, x2: Any, /, out: Any = None) -> Array:
    """The products of matrices with vectors, over stacks of both.

    x1: shape (..., M, N). x2: shape (..., N). The leading dimensions broadcast. Result: shape (..., M), of the common
    dtype. Raises ValueError for too few dimensions, for lengths that differ and stacks that do not broadcast.
    Source: NumPy, `matvec`.

    >>> xp.matvec(xp.asarray([[0, 1], [-1, 0]]), xp.asarray([[1, 2], [3, 4]]))
    Array([[ 2, -1],
           [ 4, -3]], device='cpu')
    """
    x, y = _stacks("matvec", x1, x2, "(..., m, n) and (..., n)", 2, 1)
    return deliver("matvec", matmul(y, x.mT) if x.ndim == 2 else matmul(x, y[..., None])[..., 0], out)


def vecmat(x1: Any, x2: Any, /, out: Any = None) -> Array:
    """The products of vectors, conjugated, with matrices, over stacks of both.

    x1: shape (..., N). x2: shape (..., N, M). The leading dimensions broadcast. Result: shape (..., M), of the common
    dtype. Raises ValueError for too few dimensions, for lengths that differ and stacks that do not broadcast.
    Source: NumPy, `vecmat`.

    >>> xp.vecmat(xp.asarray([1j, 2]), xp.asarray([[1, 0], [0, 1]]))
    Array([0.-1.j, 2.+0.j], device='cpu')
    """
    x, y = _stacks("vecmat", x1, x2, "(..., n) and (..., n, m)", 1, 2)
    x = conj(x) if x.dtype.kind == "c" else x
    return deliver("vecmat", matmul(x, y) if y.ndim == 2 else matmul(x[..., None, :], y)[..., 0, :], out)


def _stacks(name: str, x1: Any, x2: Any, shapes: str, left: int, right: int) -> tuple[Array, Array]:
    """Operands that are stacks of what has `left` and `right` dimensions; ValueError for shapes that do not fit."""
    x, y = _array(x1, name), _array(x2, name)
    if x.ndim < left or y.ndim < right or x.shape[-1] != y.shape[-right]:
        raise ValueError(f"{name}: expected shapes {shapes}, got {x.shape} and {y.shape}")
    try:
        broadcast_shapes(x.shape[:-left], y.shape[:-right])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return x, y


def outer(a: Any, b: Any, out: Any = None) -> Array:
    """The products of every element of a with every one of b, both flattened. Source: NumPy, `outer`.

    >>> xp.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    Array([[3, 4],
           [6, 8]], device='cpu')
    """
    x, y = (reshape(_array(z, "outer"), (-1,)) for z in (a, b))
    return deliver("outer", multiply(x[:, None], y[None, :]), out)


def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: blocks of b, one for each element of a, which multiplies it. Source: NumPy, `kron`.

    >>> xp.kron(xp.asarray([1, 10]), xp.asarray([1, 1]))
    Array([ 1,  1, 10, 10], device='cpu')
    """
    x, y = _array(a, "kron"), _array(b, "kron")
    n = max(x.ndim, y.ndim)
    x, y = (z[(None,) * (n - z.ndim)] for z in (x, y))
    left = reshape(x, tuple(d for size in x.shape for d in (size, 1)))
    right = reshape(y, tuple(d for size in y.shape for d in (1, size)))
    return reshape(multiply(left, right), tuple(p * q for p, q in zip(x.shape, y.shape, strict=True)))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """The cross product of vectors of 3 components, or of 2 whose third is 0: then the third of the result alone.

    Source: NumPy, `cross`.

    >>> xp.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    Array([0, 0, 1], device='cpu')
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(_array(a, "cross"), axisa, -1), moveaxis(_array(b, "cross"), axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError(f"cross: incompatible dimensions for cross product: {x.shape} and {y.shape}")
    if x.shape[-1] == y.shape[-1] == 2:
        return subtract(multiply(x[..., 0], y[..., 1]), multiply(x[..., 1], y[..., 0]))
    if x.shape[-1] == y.shape[-1]:
        return moveaxis(linalg.cross(x, y), -1, axisc)
    longer, shorter = (x, y) if x.shape[-1] == 3 else (y, x)
    p, q, r = (longer[..., k] for k in range(3))
    s, t = (shorter[..., k] for k in range(2))
    parts = [-multiply(r, t), multiply(r, s), subtract(multiply(p, t), multiply(q, s))]
    result = stack(parts, axis=-1)
    return moveaxis(result if longer is x else -result, -1, axisc)


# ------------------------------------------------------------------------------------------------------ Einstein's sums


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = True,
) -> Array:
    """Sums of products over the axes that letters name: "ij,jk->ik" is a matrix product.

    Several operands are combined in pairs, each pair as a stack of matrix products, in the order that opt_einsum finds,
    or where it is not installed NumPy's `einsum_path`; without `optimize` from left to right. Operands may be followed
    by lists of integers in the place of letters. Raises ValueError for subscripts that do not fit. Source: NumPy,
    `einsum`.

    >>> xp.einsum("ij,jk->ik", xp.asarray([[1, 2], [3, 4]]), xp.asarray([[1], [1]]))
    Array([[3],
           [7]], device='cpu')
    """
    subscripts, arrays = _lettered(operands)
    if dtype is not None:
        arrays = [cast(x, as_dtype(dtype, "einsum")) for x in arrays]
    inputs, output = _parse(subscripts, arrays)
    common = result_type(*arrays)
    terms = []
    for k, (x, labels) in enumerate(zip(arrays, inputs, strict=True)):
        others = {label for other in (*inputs[:k], *inputs[k + 1 :], output) for label in other}
        terms.append(_summed(*_distinct(cast(x, common), labels), others))
    for step in _path(inputs, output, arrays, optimize):
        taken = [terms.pop(k) for k in sorted(step, reverse=True)][::-1]
        x, labels = taken.pop(0)
        while taken:
            y, others_labels = taken.pop(0)
            needed = {*output, *(label for _, rest in (*terms, *taken) for label in rest)}
            x, labels = _contract(x, labels, y, others_labels, needed)
        terms.append((x, labels))
    ((x, labels),) = terms
    x, labels = _summed(x, labels, set(output))
    result = permute_dims(x, tuple(labels.index(label) for label in output))
    if order != "K" and out is None:
        result = laid_by("einsum", result, order, arrays)
    return deliver("einsum", result, out)


def einsum_path(*operands: Any, optimize: Any = "greedy", **options: Any) -> Any:
    """The order in which operands are best combined, and a text that says what it costs.

    Source: NumPy, `einsum_path`.
    """
    subscripts, arrays = _lettered(operands)
    return np.einsum_path(subscripts, *(np.broadcast_to(0.0, x.shape) for x in arrays), optimize=optimize)


def _lettered(operands: tuple[Any, ...]) -> tuple[str, list[Array]]:
    """The subscripts as a string, and the operands."""
    if not operands:
        raise ValueError("einsum: must specify the einstein sum subscripts string and at least one operand")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [_array(x, "einsum") for x in operands[1:]]

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if k is Ellipsis else chr(97 + k if k < 26 else 39 + k) for k in labels)

    pairs = list(zip(operands[::2], operands[1::2], strict=False))
    left = ",".join(text(labels) for _, labels in pairs)
    return f"{left}->{text(operands[-1])}" if len(operands) % 2 else left, [_array(x, "einsum") for x, _ in pairs]


def _parse(subscripts: str, arrays: list[Array]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, an ellipsis written out as characters that are no letters."""
    left, arrow, right = subscripts.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(arrays):
        raise ValueError(f"einsum: {len(inputs)} subscripts and {len(arrays)} operands")
    widest = 0
    for labels, x in zip(inputs, arrays, strict=True):
        bare = labels.replace("...", "")
        if not all(label.isalpha() for label in bare):
            raise ValueError(f"einsum: invalid subscript in {subscripts!r}, subscripts must be letters")
        if len(bare) > x.ndim or (len(bare) < x.ndim and "..." not in labels):
            raise ValueError(f"einsum: subscripts {labels!r} do not fit an operand of {x.ndim} dimensions")
        widest = max(widest, x.ndim - len(bare))
    dots = "".join(map(chr, range(0x2460, 0x2460 + widest)))
    full = [
        labels.replace("...", dots[widest - (x.ndim - len(labels.replace("...", ""))) :])
        for labels, x in zip(inputs, arrays, strict=True)
    ]
    if arrow:
        output = right.replace("...", dots)
    else:
        joined = left.replace("...", "").replace(",", "")
        output = dots + "".join(sorted(label for label in set(joined) if joined.count(label) == 1))
    if len(set(output)) < len(output) or not set(output) <= set("".join(full)):
        raise ValueError(f"einsum: output subscripts {right or output!r} must occur once, and in an operand")
    sizes: dict[str, int] = {}
    for labels, x in zip(full, arrays, strict=True):
        for label, size in zip(labels, x.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                if 1 not in (size, sizes[label]):
                    raise ValueError(f"einsum: dimensions {sizes[label]} and {size} of label {label!r} differ")
                sizes[label] = max(size, sizes[label])
    for k, (labels, x) in enumerate(zip(full, arrays, strict=True)):
        arrays[k] = broadcast_to(x, tuple(sizes[label] for label in labels))
    return full, output


def _path(inputs: list[str], output: str, arrays: list[Array], optimize: Any) -> list[tuple[int, ...]]:
    """Which terms each step takes out of the list and combines; the result goes to its end."""
    n = len(arrays)
    if n == 1:
        return []
    if n == 2 or optimize is False:
        return [(0, 1), *((0, n - 2 - k) for k in range(n - 2))]
    text = f"{','.join(inputs)}->{output}"
    shapes = [x.shape for x in arrays]
    try:
        import opt_einsum
    except ImportError:
        letters = {label: chr(97 + k if k < 26 else 39 + k) for k, label in enumerate(sorted(set("".join(inputs))))}
        plain = "".join(letters.get(c, c) for c in text)
        return np.einsum_path(plain, *(np.broadcast_to(0.0, shape) for shape in shapes), optimize="greedy")[0][1:]
    return opt_einsum.contract_path(text, *shapes, shapes=True)[0]


def _distinct(x: Array, labels: str) -> tuple[Array, str]:
    """An operand with its diagonal in the place of axes that have one label."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return x, labels


def _summed(x: Array, labels: str, keep: set[str]) -> tuple[Array, str]:
    gone = tuple(k for k, label in enumerate(labels) if label not in keep)
    if not gone:
        return x, labels
    return sum(x, axis=gone, dtype=x.dtype), "".join(label for label in labels if label in keep)


def _contract(x: Array, xs: str, y: Array, ys: str, needed: set[str]) -> tuple[Array, str]:
    """Two terms as one: a stack over labels that both have and the rest needs, products over those it does not."""
    x, xs = _summed(x, xs, {*needed, *ys})
    y, ys = _summed(y, ys, {*needed, *xs})
    stacked = [label for label in xs if label in ys and label in needed]
    summed = [label for label in xs if label in ys and label not in needed]
    down = [label for label in xs if label not in ys]
    across = [label for label in ys if label not in xs]
    result = "".join(stacked + down + across)
    left = permute_dims(x, tuple(xs.index(label) for label in stacked + down + summed))
    right = permute_dims(y, tuple(ys.index(label) for label in stacked + summed + across))
    if not summed:
        k = len(stacked)
        left = expand_dims(left, axis=tuple(range(left.ndim, left.ndim + len(across)))) if across else left
        right = expand_dims(right, axis=tuple(range(k, k + len(down)))) if down else right
        return multiply(left, right), result
    sizes = dict(zip(xs + ys, x.shape + y.shape, strict=True))
    dims = [math.prod(sizes[label] for label in group) for group in (stacked, down, summed, across)]
    a = reshape(left, (dims[0], dims[1], dims[2]))
    b = reshape(right, (dims[0], dims[2], dims[3]))
    product = matmul(a, b)
    return reshape(product, tuple(sizes[label] for label in result)), result
