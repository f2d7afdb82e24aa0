"""Factorisations of stacks of matrices, of shape (..., M, N) and a floating-point dtype that was checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbx_array import _lapack
from nbx_array._array import Array


def _pair(name: str, routine: Any, x: Array, **options: Any) -> tuple[Array, Array]:
    first, second = _lapack.run(name, routine, x, **options)
    return first, second


def cholesky(x: Array) -> Array:
    """Lower L with x = L Lᴴ."""
    return _lapack.run("cholesky", np.linalg.cholesky, x)[0]


def det(x: Array) -> Array:
    return _lapack.run("det", np.linalg.det, x)[0]


def slogdet(x: Array) -> tuple[Array, Array]:
    return _pair("slogdet", np.linalg.slogdet, x)


def inv(x: Array) -> Array:
    return _lapack.run("inv", np.linalg.inv, x)[0]


def solve(a: Array, b: Array) -> Array:
    """The X with a X = b, of shapes (..., N, N) and (..., N, K), stacks of one shape."""
    return _lapack.run("solve", np.linalg.solve, a, b)[0]


def qr(x: Array, *, complete: bool) -> tuple[Array, Array]:
    return _pair("qr", np.linalg.qr, x, mode="complete" if complete else "reduced")


def eigh(name: str, x: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, of which the lower triangle is read."""
    return _pair(name, np.linalg.eigh, x)


def svd(name: str, x: Array, *, full: bool) -> tuple[Array, Array, Array]:
    u, s, vh = _lapack.run(name, np.linalg.svd, x, full_matrices=full)
    return u, s, vh


def svdvals(name: str, x: Array) -> Array:
    return _lapack.run(name, np.linalg.svdvals, x)[0]
