"""One row a function of the standard other than the element-wise ones of table.py: calls with each of its arguments.

A call takes a namespace and operands of it, so that the same one runs here, in array-api-strict and in NumPy, and once
more on a GPU whose traffic is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

INF = float("inf")
ALL, NUMERIC, REAL, ORDERED, INEXACT = "biufc", "iufc", "iuf", "biuf", "fc"


class Call(NamedTuple):
    run: Callable[..., Any]  # of the namespace and the operands
    kinds: str = ALL  # dtypes of the operands, in NumPy's letters
    shapes: tuple[tuple[int, ...], ...] = ((4, 5),)
    exact: bool = False  # the same bits in floating point, too
    strict: bool = True  # array-api-strict is right
    numpy: bool = True  # NumPy knows the call
    words: int = 0  # 8-byte words that come to the host: sizes of results, whether a result exists


def moves(run: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> Call:
    """A call that computes nothing: of every dtype, exact."""
    return Call(run, ALL, shapes or ((4, 5),), exact=True, **options)


def here(xp: Any) -> Any:
    """The device under test."""
    return xp.empty(0).device


def ints(xp: Any, *values: Any) -> Any:
    return xp.asarray(list(values), dtype=xp.int64)


def dtype_of(xp: Any, dtype: Any) -> Any:
    return xp.zeros(1, dtype=dtype)


def adjoint(xp: Any, x: Any) -> Any:
    return xp.conj(x.mT)


def positive(xp: Any, x: Any) -> Any:
    """A Hermitian positive definite matrix of a square one."""
    return x @ adjoint(xp, x) + xp.eye(x.shape[-1], dtype=x.dtype)


def hermitian(xp: Any, x: Any) -> Any:
    return x + adjoint(xp, x)


def limits(info: Any, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(info, name) for name in names)


def product(xp: Any, *factors: Any) -> Any:
    result = factors[0]
    for factor in factors[1:]:
        result = result @ factor
    return result


def small(xp: Any, x: Any) -> Any:
    """Whether an error is about that of rounding."""
    return xp.max(xp.abs(x)) < 1e-3


def pairs(xp: Any, x: Any, w: Any, v: Any) -> tuple[Any, Any]:
    """Eigenvalues, and whether vectors belong to them."""
    return w, small(xp, x @ v - v * w)


def weighted(u: Any, s: Any, vh: Any) -> tuple[Any, Any]:
    return u * s, vh


SQUARE, STACK, VECTOR = ((4, 4),), ((2, 3, 3),), ((7,),)

CREATION = {
    "arange": [
        Call(lambda xp: xp.arange(7), "i", ()),
        Call(lambda xp: xp.arange(2, stop=9, step=3), "i", ()),
        Call(lambda xp: xp.arange(1, 0, -0.25, dtype=xp.float32, device=here(xp)), "f", (), exact=True),
    ],
    "asarray": [
        moves(lambda xp, x: xp.asarray(x, dtype=xp.complex128, device=here(xp), copy=True)),
        Call(lambda xp: xp.asarray([[1, 2], [3, 4]]), "i", ()),
    ],
    "empty": [Call(lambda xp: xp.empty((2, 3), dtype=xp.int8, device=here(xp)) * 0, "i", ())],
    "empty_like": [Call(lambda xp, x: xp.empty_like(x, dtype=xp.int16, device=here(xp)) * 0)],
    "eye": [
        Call(lambda xp: xp.eye(3), "f", ()),
        Call(lambda xp: xp.eye(3, 5, k=-1, dtype=xp.int32, device=here(xp)), "i", ()),
    ],
    "from_dlpack": [
        moves(lambda xp, x: xp.from_dlpack(x, device=None, copy=True)),
        moves(lambda xp, x: xp.from_dlpack(x)),
    ],
    "full": [
        Call(lambda xp: xp.full((2, 3), 2.5), "f", ()),
        Call(lambda xp: xp.full(4, 7, dtype=xp.uint8, device=here(xp)), "u", ()),
    ],
    "full_like": [
        Call(lambda xp, x: xp.full_like(x, 1), NUMERIC),
        Call(lambda xp, x: xp.full_like(x, 2.5, dtype=xp.float64, device=here(xp))),
    ],
    "linspace": [
        Call(lambda xp: xp.linspace(0, 1, 7), "f", ()),
        Call(lambda xp: xp.linspace(1, -2, num=5, dtype=xp.float32, device=here(xp), endpoint=False), "f", ()),
    ],
    "meshgrid": [
        moves(lambda xp, x, y: tuple(xp.meshgrid(x, y)), (3,), (4,)),
        moves(lambda xp, x, y: tuple(xp.meshgrid(x, y, indexing="ij")), (3,), (4,)),
    ],
    "ones": [Call(lambda xp: xp.ones((2, 3), dtype=xp.int8, device=here(xp)), "i", ())],
    "ones_like": [Call(lambda xp, x: xp.ones_like(x, dtype=xp.float32, device=here(xp)))],
    "tril": [moves(lambda xp, x: xp.tril(x)), moves(lambda xp, x: xp.tril(x, k=-1))],
    "triu": [moves(lambda xp, x: xp.triu(x)), moves(lambda xp, x: xp.triu(x, k=2))],
    "zeros": [Call(lambda xp: xp.zeros((2, 3), dtype=xp.int8, device=here(xp)), "i", ())],
    "zeros_like": [Call(lambda xp, x: xp.zeros_like(x, dtype=xp.float32, device=here(xp)))],
}

DATA_TYPES = {
    "astype": [
        Call(lambda xp, x: xp.astype(x, xp.float64, copy=False, device=here(xp)), ORDERED),
        Call(lambda xp, x: xp.astype(x, xp.complex64), exact=True),
        Call(lambda xp, x: xp.astype(x, xp.bool), ORDERED),
        Call(lambda xp, x: xp.astype(x, xp.int32), "biu"),
    ],
    "can_cast": [
        Call(lambda xp, x: xp.can_cast(x.dtype, xp.complex64), INEXACT),
        Call(lambda xp, x: xp.can_cast(x, xp.int16), "iu", numpy=False),
    ],
    "finfo": [
        Call(lambda xp, x: limits(xp.finfo(x.dtype), "bits", "eps", "max", "min", "smallest_normal"), "fc", numpy=False)
    ],
    "iinfo": [
        Call(lambda xp, x: limits(xp.iinfo(x), "bits", "max", "min"), "iu", numpy=False),
        Call(lambda xp, x: limits(xp.iinfo(x.dtype), "bits", "max", "min"), "iu"),
    ],
    "isdtype": [
        Call(lambda xp, x: tuple(xp.isdtype(x.dtype, kind) for kind in ("bool", "integral", ("numeric", "bool"))))
    ],
    "result_type": [
        Call(lambda xp, x: dtype_of(xp, xp.result_type(x, xp.uint8)), "iu"),
        Call(lambda xp, x: dtype_of(xp, xp.result_type(x, 1.5)), "fc"),
    ],
}

LINEAR_ALGEBRA = {
    "matmul": [
        Call(lambda xp, x, y: xp.matmul(x, y), NUMERIC, ((4, 5), (5, 3))),
        Call(lambda xp, x, y: xp.matmul(x, y), NUMERIC, ((2, 1, 3, 4), (5, 4, 2))),
        Call(lambda xp, x, y: x @ y, NUMERIC, ((5,), (2, 5, 3))),
    ],
    "matrix_transpose": [moves(lambda xp, x: xp.matrix_transpose(x), (2, 3, 4))],
    "tensordot": [
        Call(lambda xp, x, y: xp.tensordot(x, y), NUMERIC, ((3, 4), (3, 4))),
        Call(lambda xp, x, y: xp.tensordot(x, y, axes=1), NUMERIC, ((2, 3, 4), (4, 5))),
        Call(lambda xp, x, y: xp.tensordot(x, y, axes=((2, 0), (0, 1))), NUMERIC, ((2, 3, 4), (4, 2, 5))),
    ],
    "vecdot": [
        Call(lambda xp, x, y: xp.vecdot(x, y), NUMERIC, ((3, 5), (5,))),
        Call(lambda xp, x, y: xp.vecdot(x, y, axis=-2), NUMERIC, ((3, 5), (3, 1))),
    ],
}

MANIPULATION = {
    "broadcast_arrays": [moves(lambda xp, x, y: tuple(xp.broadcast_arrays(x, y)), (4, 1), (3,))],
    "broadcast_shapes": [Call(lambda xp: xp.broadcast_shapes((2, 1), (3,), ()), "i", ())],
    "broadcast_to": [
        moves(lambda xp, x: xp.broadcast_to(x, (2, 3, 5)), (3, 1)),
        moves(lambda xp, x: xp.broadcast_to(x, shape=(4, 5))),
    ],
    "concat": [
        moves(lambda xp, x, y: xp.concat([x, y]), (2, 3), (4, 3)),
        moves(lambda xp, x, y: xp.concat((x, y), axis=-1), (2, 3), (2, 1)),
        moves(lambda xp, x, y: xp.concat([x, y], axis=None), (2, 3), (5,)),
        Call(lambda xp, x: xp.concat([x, xp.astype(x, xp.float64)]), "f"),
    ],
    "expand_dims": [
        moves(lambda xp, x: xp.expand_dims(x, axis=1)),
        moves(lambda xp, x: xp.expand_dims(x, axis=-1)),
        moves(lambda xp, x: xp.expand_dims(x, axis=(0, -1))),
    ],
    "flip": [
        moves(lambda xp, x: xp.flip(x)),
        moves(lambda xp, x: xp.flip(x, axis=1)),
        moves(lambda xp, x: xp.flip(x, axis=(0, -1))),
    ],
    "moveaxis": [
        moves(lambda xp, x: xp.moveaxis(x, 0, -1), (2, 3, 4)),
        moves(lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)), (2, 3, 4)),
    ],
    "permute_dims": [moves(lambda xp, x: xp.permute_dims(x, axes=(2, 0, 1)), (2, 3, 4))],
    "repeat": [
        moves(lambda xp, x: xp.repeat(x, 3)),
        moves(lambda xp, x: xp.repeat(x, ints(xp, 2, 0, 1, 3), axis=0), words=2),
    ],
    "reshape": [
        moves(lambda xp, x: xp.reshape(x, (2, -1))),
        moves(lambda xp, x: xp.reshape(x, shape=(20,), copy=True)),
    ],
    "roll": [moves(lambda xp, x: xp.roll(x, -3)), moves(lambda xp, x: xp.roll(x, shift=(1, 7), axis=(0, 1)))],
    "squeeze": [
        moves(lambda xp, x: xp.squeeze(x, axis=(0, 2)), (1, 3, 1)),
        moves(lambda xp, x: xp.squeeze(x, axis=-1), (3, 1)),
    ],
    "stack": [
        moves(lambda xp, x, y: xp.stack([x, y]), (2, 3), (2, 3)),
        moves(lambda xp, x, y: xp.stack((x, y), axis=-1), (2, 3), (2, 3)),
    ],
    "tile": [moves(lambda xp, x: xp.tile(x, (2,))), moves(lambda xp, x: xp.tile(x, (2, 1, 3)))],
    "unstack": [moves(lambda xp, x: tuple(xp.unstack(x))), moves(lambda xp, x: tuple(xp.unstack(x, axis=-1)))],
}

SEARCHING = {
    "argmax": [Call(lambda xp, x: xp.argmax(x), REAL), Call(lambda xp, x: xp.argmax(x, axis=0, keepdims=True), REAL)],
    "argmin": [Call(lambda xp, x: xp.argmin(x), REAL), Call(lambda xp, x: xp.argmin(x, axis=-1, keepdims=True), REAL)],
    "count_nonzero": [
        Call(lambda xp, x: xp.count_nonzero(x)),
        Call(lambda xp, x: xp.count_nonzero(x, axis=(0, 1), keepdims=True)),
        Call(lambda xp, x: xp.count_nonzero(x, axis=1)),
    ],
    "nonzero": [Call(lambda xp, x: xp.nonzero(x), words=1)],
    "searchsorted": [
        Call(lambda xp, x, y: xp.searchsorted(xp.sort(x), y), REAL, ((9,), (3, 4))),
        Call(lambda xp, x, y: xp.searchsorted(x, y, side="right", sorter=xp.argsort(x)), REAL, ((9,), (5,))),
        Call(lambda xp, x: xp.searchsorted(xp.sort(x), 3), REAL, ((9,),)),
    ],
    "where": [
        moves(lambda xp, x, y: xp.where(x == y, x, y), (4, 1), (3,)),
        Call(lambda xp, x: xp.where(x > 1, x, 0), REAL),
    ],
}

SETS = {  # complex numbers, whose order the standard leaves open: test_sorting.py
    "isin": [
        Call(lambda xp, x, y: xp.isin(x, y), "iu", ((4, 5), (3,))),
        Call(lambda xp, x, y: xp.isin(x, y, invert=True), "iu", ((4, 5), (3,)), strict=False),  # 2.6 does not invert
    ],
    "unique_all": [Call(lambda xp, x: xp.unique_all(x), ORDERED, words=1)],
    "unique_counts": [Call(lambda xp, x: xp.unique_counts(x), ORDERED, words=1)],
    "unique_inverse": [Call(lambda xp, x: xp.unique_inverse(x), ORDERED, words=1)],
    "unique_values": [Call(lambda xp, x: xp.unique_values(x), ORDERED, numpy=False, words=1)],
}

SORTING = {
    "argsort": [
        Call(lambda xp, x: xp.argsort(x, stable=True), REAL),
        Call(lambda xp, x: xp.argsort(x, axis=0, descending=True, stable=True), REAL, numpy=False),
    ],
    "sort": [
        Call(lambda xp, x: xp.sort(x), REAL, exact=True),
        Call(lambda xp, x: xp.sort(x, axis=0, descending=True, stable=False), REAL, exact=True, numpy=False),
    ],
}

STATISTICS = {
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp, name)(x), NUMERIC, ((7,),)),
            Call(lambda xp, x, name=name: getattr(xp, name)(x, axis=1, dtype=xp.float64), "f"),
            Call(lambda xp, x, name=name: getattr(xp, name)(x, axis=0, include_initial=True), NUMERIC),
        ]
        for name in ("cumulative_sum", "cumulative_prod")
    },
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp, name)(x), REAL, exact=True),
            Call(lambda xp, x, name=name: getattr(xp, name)(x, axis=(0, 1), keepdims=True), REAL, exact=True),
        ]
        for name in ("max", "min")
    },
    "mean": [Call(lambda xp, x: xp.mean(x), INEXACT), Call(lambda xp, x: xp.mean(x, axis=0, keepdims=True), INEXACT)],
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp, name)(x), NUMERIC),
            Call(lambda xp, x, name=name: getattr(xp, name)(x, axis=1, dtype=xp.complex128, keepdims=True), NUMERIC),
        ]
        for name in ("sum", "prod")
    },
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp, name)(x), "f"),
            Call(lambda xp, x, name=name: getattr(xp, name)(x, axis=0, correction=1.5, keepdims=True), "f"),
        ]
        for name in ("std", "var")
    },
}

OTHERS = {
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp, name)(x)),
            Call(lambda xp, x, name=name: getattr(xp, name)(x, axis=(1,), keepdims=True)),
        ]
        for name in ("all", "any")
    },
    "clip": [
        Call(lambda xp, x: xp.clip(x, 2, 5), REAL, exact=True),
        Call(lambda xp, x, y: xp.clip(x, max=y), REAL, ((4, 5), (5,)), exact=True),
        Call(lambda xp, x, y: xp.clip(x, min=y), REAL, ((4, 5), (4, 1)), exact=True),
    ],
    "diff": [
        Call(lambda xp, x: xp.diff(x), NUMERIC, exact=True),
        Call(lambda xp, x, y: xp.diff(x, axis=0, n=2, prepend=y, append=y), NUMERIC, ((4, 5), (2, 5)), exact=True),
    ],
    "take": [
        moves(lambda xp, x: xp.take(x, ints(xp, 4, 0, 2), axis=1)),
        moves(lambda xp, x: xp.take(x, ints(xp, 3, 3)), (7,)),
    ],
    "take_along_axis": [
        moves(lambda xp, x: xp.take_along_axis(x, ints(xp, [0, 4], [1, 2], [3, 3], [0, 0]))),
        moves(lambda xp, x: xp.take_along_axis(x, ints(xp, [0, 1, 2, 3, 0]), axis=0)),
    ],
}

LINALG = {
    "cholesky": [
        Call(lambda xp, x: xp.linalg.cholesky(positive(xp, x)), INEXACT, SQUARE, words=1),
        Call(lambda xp, x: xp.linalg.cholesky(positive(xp, x), upper=True), INEXACT, STACK, words=1),
    ],
    "cross": [
        Call(lambda xp, x, y: xp.linalg.cross(x, y), NUMERIC, ((4, 3), (4, 3))),
        Call(lambda xp, x, y: xp.linalg.cross(x, y, axis=-2), NUMERIC, ((3, 4), (3, 4))),
    ],
    "det": [Call(lambda xp, x: xp.linalg.det(x), INEXACT, STACK)],
    "diagonal": [
        moves(lambda xp, x: xp.linalg.diagonal(x), (2, 3, 4)),
        moves(lambda xp, x: xp.linalg.diagonal(x, offset=-1), (2, 3, 4)),
    ],
    "eig": [Call(lambda xp, x: pairs(xp, x, *xp.linalg.eig(x))[1], INEXACT, SQUARE)],
    "eigh": [
        Call(lambda xp, x: pairs(xp, hermitian(xp, x), *xp.linalg.eigh(hermitian(xp, x))), INEXACT, SQUARE, words=1),
    ],
    "eigvals": [Call(lambda xp, x: xp.sum(xp.linalg.eigvals(x), axis=-1), INEXACT, STACK, numpy=False)],
    "eigvalsh": [Call(lambda xp, x: xp.linalg.eigvalsh(hermitian(xp, x)), INEXACT, STACK, words=1)],
    "inv": [Call(lambda xp, x: xp.linalg.inv(positive(xp, x)), INEXACT, STACK, words=1)],
    "matmul": [Call(lambda xp, x, y: xp.linalg.matmul(x, y), NUMERIC, ((2, 3, 4), (4, 2)))],
    "matrix_norm": [
        Call(lambda xp, x: xp.linalg.matrix_norm(x), INEXACT, ((2, 3, 4),)),
        Call(lambda xp, x: xp.linalg.matrix_norm(x, keepdims=True, ord=1), INEXACT, ((2, 3, 4),)),
        Call(lambda xp, x: tuple(xp.linalg.matrix_norm(x, ord=k) for k in (-1, INF, -INF)), INEXACT),
        Call(lambda xp, x: xp.linalg.matrix_norm(x, ord="nuc"), INEXACT, words=1),
        Call(lambda xp, x: xp.linalg.matrix_norm(x, ord=-2), INEXACT, words=1),
    ],
    "matrix_power": [
        Call(lambda xp, x: xp.linalg.matrix_power(x, 3), INEXACT, STACK),
        Call(lambda xp, x: xp.linalg.matrix_power(positive(xp, x), -2), INEXACT, STACK, words=1),
    ],
    "matrix_rank": [
        Call(lambda xp, x: xp.linalg.matrix_rank(x), INEXACT, ((2, 4, 3),), words=1),
        Call(lambda xp, x: xp.linalg.matrix_rank(x, rtol=0.5), INEXACT, words=1),
    ],
    "matrix_transpose": [moves(lambda xp, x: xp.linalg.matrix_transpose(x))],
    "outer": [Call(lambda xp, x, y: xp.linalg.outer(x, y), NUMERIC, ((4,), (3,)))],
    "pinv": [
        Call(lambda xp, x: xp.linalg.pinv(x), INEXACT, ((2, 4, 3),), words=1),
        Call(lambda xp, x: xp.linalg.pinv(x, rtol=0.01), INEXACT, words=1),
    ],
    "qr": [
        Call(lambda xp, x: product(xp, *xp.linalg.qr(x)), INEXACT, ((2, 4, 3),)),
        Call(lambda xp, x: (lambda q, r: (q.shape, q @ r))(*xp.linalg.qr(x, mode="complete")), INEXACT, ((4, 3),)),
    ],
    "slogdet": [Call(lambda xp, x: xp.linalg.slogdet(x), INEXACT, STACK)],
    "solve": [
        Call(lambda xp, x, y: xp.linalg.solve(positive(xp, x), y), INEXACT, ((2, 3, 3), (3,)), words=1),
        Call(lambda xp, x, y: xp.linalg.solve(positive(xp, x), y), INEXACT, ((3, 3), (4, 3, 2)), words=1),
    ],
    "svd": [
        Call(lambda xp, x: product(xp, *weighted(*xp.linalg.svd(x, full_matrices=False))), INEXACT, ((4, 3),), words=1),
        Call(lambda xp, x: tuple(part.shape for part in xp.linalg.svd(x)), INEXACT, ((2, 3, 4),), words=1),
    ],
    "svdvals": [Call(lambda xp, x: xp.linalg.svdvals(x), INEXACT, ((2, 3, 4),), words=1)],
    "tensordot": [Call(lambda xp, x, y: xp.linalg.tensordot(x, y, axes=1), NUMERIC, ((2, 3), (3, 2)))],
    "trace": [
        Call(lambda xp, x: xp.linalg.trace(x), NUMERIC, ((2, 3, 4),)),
        Call(lambda xp, x: xp.linalg.trace(x, offset=1, dtype=xp.float64), REAL, ((2, 3, 4),)),
    ],
    "vecdot": [Call(lambda xp, x, y: xp.linalg.vecdot(x, y, axis=-1), NUMERIC, ((3, 5), (5,)))],
    "vector_norm": [
        Call(lambda xp, x: xp.linalg.vector_norm(x), INEXACT),
        Call(lambda xp, x: xp.linalg.vector_norm(x, axis=(0, 1), keepdims=True, ord=3), INEXACT),
        Call(lambda xp, x: tuple(xp.linalg.vector_norm(x, axis=0, ord=k) for k in (0, 1, -1, INF, -INF)), INEXACT),
    ],
}  # fmt: skip

FFT = {
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x), kinds),
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x, n=7, axis=0, norm="ortho"), kinds),
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x, n=2, norm="forward"), kinds),
        ]
        for name, kinds in (
            ("fft", "c"),
            ("ifft", "c"),
            ("rfft", "f"),
            ("irfft", "c"),
            ("hfft", "c"),
            ("ihfft", "f"),
        )
    },
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x), kinds),
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x, s=(3, 8), axes=(1, 0), norm="forward"), kinds),
        ]
        for name, kinds in (("fftn", "c"), ("ifftn", "c"), ("rfftn", "f"), ("irfftn", "c"))
    },
    **{
        name: [
            Call(lambda xp, name=name: getattr(xp.fft, name)(7), "f", ()),
            Call(
                lambda xp, name=name: getattr(xp.fft, name)(8, d=0.1, dtype=xp.float32, device=here(xp)),
                "f",
                (),
                numpy=False,
            ),
        ]
        for name in ("fftfreq", "rfftfreq")
    },
    **{
        name: [
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x), INEXACT, exact=True),
            Call(lambda xp, x, name=name: getattr(xp.fft, name)(x, axes=(1,)), INEXACT, exact=True),
        ]
        for name in ("fftshift", "ifftshift")
    },
}

CALLS: dict[str, list[Call]] = {
    **{
        name: calls
        for chapter in (
            CREATION, DATA_TYPES, LINEAR_ALGEBRA, MANIPULATION, SEARCHING, SETS, SORTING, STATISTICS, OTHERS,
        )
        for name, calls in chapter.items()
    },
    **{f"linalg.{name}": calls for name, calls in LINALG.items()},
    **{f"fft.{name}": calls for name, calls in FFT.items()},
}  # fmt: skip
"""All of them by their names in the namespace."""


def operands(call: Call, dtype: np.dtype, rng: np.random.Generator) -> list[np.ndarray]:
    """Small numbers, with ties: no sum or product is out of range."""
    made = []
    for shape in call.shapes:
        match dtype.kind:
            case "b":
                values = rng.random(shape) < 0.5
            case "i" | "u":
                values = rng.integers(0 if dtype.kind == "u" else -9, 9, shape)
            case _:
                values = np.round(rng.normal(size=shape) * 2, 2)
                values = values + 1j * np.round(rng.normal(size=shape), 2) if dtype.kind == "c" else values
        made.append(np.asarray(values, dtype))
    return made
