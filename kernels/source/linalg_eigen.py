"""Eigenvalues and eigenvectors of small Hermitian matrices, all of it by one program a matrix."""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import div, powers_below, sqrt
from nbx_array.kernels.source.linalg_jacobi import rotate_all
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
    """Ascending eigenvalues and, in rows, eigenvectors. `w` has N by N numbers for each matrix, N a power of two no
    less than n, and stands at a multiple of 16 bytes. A matrix that takes more than `sweeps` sets the status word to 1.

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
    unfinished, _ = rotate_all(w, w, n, N, 0, sweeps, tolerance, False, COMPLEX, N // 2, N, 1)
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

    # each goes to its place in order, NaN last
    key = tl.where((value == value) & (i < n), value, float("inf"))
    other = tl.reshape(key, (1, N))
    before = (other < key) | ((other == key) & (j < i))
    place = tl.sum(before.to(tl.int32), 1)[:, None]
    tl.store(values + place, value * up, mask=i < n)
    store(vectors, place * n + j, re * unit, im * unit, inside, COMPLEX)
