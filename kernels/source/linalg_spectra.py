"""Eigenvalues and vectors of small Hermitian matrices, singular values and vectors of small ones: all of it by one
program a matrix, that works in N by N numbers of memory, N a power of two, which stand at a multiple of 16 bytes."""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import div, powers_below, sqrt
from nbx_array.kernels.source.linalg_jacobi import is_short, rotate_all
from nbx_array.kernels.source.linalg_numbers import greatest_part, load, multiply, square, store


@triton.jit
def _conjugate(a, row_stride, column_stride, i, j, n, COMPLEX: tl.constexpr):
    """Elements (i, j) of the conjugate of a Hermitian matrix of which the lower triangle is read, 0 outside of it."""
    at = tl.maximum(i, j) * row_stride + tl.minimum(i, j) * column_stride
    re, im = load(a, at, (i < n) & (j < n), COMPLEX)
    if COMPLEX:
        im = tl.where(i > j, -im, tl.where(i < j, im, 0.0))
    return re, im


@triton.jit
def eigh_small(
    a,
    w,
    values,
    vectors,
    status,
    stack_stride,
    row_stride,
    column_stride,
    n,
    sweeps,
    tolerance,
    COMPLEX: tl.constexpr,
    N: tl.constexpr,
):
    """Ascending eigenvalues and, in rows, eigenvectors of Hermitian n by n matrices, n <= N. One that takes more than
    `sweeps` sets the status word to 1.

    With a shift that makes it well-conditioned and positive definite, a matrix's singular vectors are its eigenvectors,
    on either side; those on the left come out without being accumulated.
    """
    words = 2 if COMPLEX else 1
    matrix = tl.program_id(0).to(tl.int64)
    a += matrix * stack_stride * words
    w = tl.multiple_of(w + matrix * (N * N * words), 16)
    values += matrix * n
    vectors += matrix * n * n * words
    rows = tl.arange(0, N)
    i = rows[:, None]
    j = rows[None, :]
    inside = (i < n) & (j < n)
    at = i * N + j

    re, im = _conjugate(a, row_stride, column_stride, i, j, n, COMPLEX)
    up, down = powers_below(tl.max(tl.max(greatest_part(re, im, COMPLEX), 1), 0))
    re *= down
    im *= down
    bound = tl.max(tl.sum(tl.sqrt(square(re, im, COMPLEX)), 1), 0)
    re += tl.where((i == j) & inside, tl.where(bound > 0, 2.0 * bound, 1.0), 0.0)
    store(w, at, re, im, at >= 0, COMPLEX)
    tl.debug_barrier()
    unfinished, _ = rotate_all(w, w, n, sweeps, tolerance, False, COMPLEX, N)
    tl.store(status, 1, mask=unfinished)

    # Rayleigh's quotients, which the shift has not made inaccurate
    image_re = tl.zeros((N, N), a.dtype.element_ty)
    image_im = tl.zeros((N, N), a.dtype.element_ty)
    for k in range(n):
        left_re, left_im = load(w, i * N + k, i < n, COMPLEX)
        right_re, right_im = _conjugate(a, row_stride, column_stride, k, j, n, COMPLEX)
        product_re, product_im = multiply(left_re, left_im, right_re * down, right_im * down, COMPLEX)
        image_re += product_re
        if COMPLEX:
            image_im += product_im
    re, im = load(w, at, inside, COMPLEX)
    norm = sqrt(tl.sum(square(re, im, COMPLEX), 1))
    unit = div(1.0 + 0.0 * norm, norm)[:, None]
    form = re * image_re
    if COMPLEX:
        form += im * image_im
    value = tl.sum(form, 1)[:, None] * unit * unit

    place = _place(tl.where(i < n, value, float("inf")), i, j, N)
    tl.store(values + place, value * up, mask=i < n)
    store(vectors, place * n + j, re * unit, im * unit, inside, COMPLEX)


@triton.jit
def _place(key, i, j, N: tl.constexpr):
    """The places of a column of keys in ascending order, NaN last; equal keys keep their order."""
    key = tl.where(key == key, key, float("inf"))
    other = tl.reshape(key, (1, N))
    before = (other < key) | ((other == key) & (j < i))
    return tl.sum(before.to(tl.int32), 1)[:, None]


@triton.jit
def svd_small(
    a,
    w,
    v,
    values,
    left,
    right,
    status,
    stack_stride,
    row_stride,
    column_stride,
    m,
    n,
    count,
    sweeps,
    tolerance,
    VECTORS: tl.constexpr,
    COMPLEX: tl.constexpr,
    N: tl.constexpr,
):
    """Descending singular values of m by n matrices, n <= m <= N; with VECTORS also `count` left vectors, n or m, in
    rows, and the adjoint of the right ones. A matrix that takes more than `sweeps` sets the status word to 1, one with
    a number that is not finite to 2."""
    words = 2 if COMPLEX else 1
    matrix = tl.program_id(0).to(tl.int64)
    a += matrix * stack_stride * words
    w = tl.multiple_of(w + matrix * (N * N * words), 16)
    v = tl.multiple_of(v + matrix * (N * N * words), 16)
    values += matrix * n
    left += matrix * count * m * words
    right += matrix * n * n * words
    rows = tl.arange(0, N)
    i = rows[:, None]
    j = rows[None, :]
    at = i * N + j
    everywhere = at >= 0

    re, im = load(a, j * row_stride + i * column_stride, (i < n) & (j < m), COMPLEX)
    up, down = powers_below(tl.max(tl.max(greatest_part(re, im, COMPLEX), 1), 0))
    store(w, at, re * down, im * down, everywhere, COMPLEX)
    if VECTORS:
        one = tl.where(i == j, 1.0 + 0.0 * up, 0.0)
        store(v, at, one, 0.0 * one, everywhere, COMPLEX)
    tl.debug_barrier()
    unfinished, odd = rotate_all(w, v, n, sweeps, tolerance, VECTORS, COMPLEX, N)
    tl.store(status, 1, mask=unfinished)
    tl.store(status, 2, mask=odd)

    re, im = load(w, at, everywhere, COMPLEX)
    row_up, row_down = powers_below(tl.max(greatest_part(re, im, COMPLEX), 1)[:, None])
    re *= row_down
    im *= row_down
    norm = sqrt(tl.sum(square(re, im, COMPLEX), 1))[:, None]
    value = norm * row_up
    place = _place(tl.where(i < n, -value, float("inf")), i, j, N)
    tl.store(values + place, value * up, mask=i < n)
    if VECTORS:
        absent = is_short(value * value)
        unit = tl.where(absent, 0.0, div(1.0 + 0.0 * norm, norm))
        re, im = _completed(re * unit, im * unit, absent, m, count, i, j, COMPLEX, N)
        store(left, place * m + j, re, im, (i < count) & (j < m), COMPLEX)
        re, im = load(v, at, everywhere, COMPLEX)
        store(right, place * n + j, re, -im, (i < n) & (j < n), COMPLEX)


@triton.jit
def _completed(re, im, absent, m, count, i, j, COMPLEX: tl.constexpr, N: tl.constexpr):
    """`count` orthonormal rows of m numbers, where some of them are absent and zero.

    Each comes of the vector of the standard basis that the others have least of, of which at least a part of 1 / m is
    left; orthogonalised again, it is orthogonal to rounding.
    """
    row = tl.min(tl.min(tl.where(absent, i, N), 1), 0)
    while row < count:
        share = tl.where(j < m, tl.sum(square(re, im, COMPLEX), 0)[None, :], 2.0)
        least = tl.min(tl.where(share == tl.min(share, 1)[:, None], j, N), 1)[:, None]
        x = tl.where(j == least, 1.0 + 0.0 * share, 0.0)
        y = 0.0 * x
        for _ in range(2):
            pr, pi = multiply(re, -im, x, y, COMPLEX)
            cr = tl.sum(pr, 1)[:, None]
            ci = tl.sum(pi, 1)[:, None] if COMPLEX else cr
            pr, pi = multiply(re, im, cr, ci, COMPLEX)
            x -= tl.sum(pr, 0)[None, :]
            if COMPLEX:
                y -= tl.sum(pi, 0)[None, :]
            norm = sqrt(tl.sum(square(x, y, COMPLEX), 1))[:, None]
            x = div(x, norm)
            y = div(y, norm)
        re = tl.where(i == row, x, re)
        im = tl.where(i == row, y, im)
        row = tl.min(tl.min(tl.where(absent & (i > row), i, N), 1), 0)
    return re, im
