"""The parts of blocked factorisations that are no matrix products: diagonal blocks and panels of a few columns.

A program works on one matrix of a stack, or on a few columns of it. Where threads of a GPU read from memory what others
have written, a barrier comes between.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import copysign, div, sqrt
from nbx_array.kernels.source.linalg_numbers import (
    divide,
    greatest_part,
    load,
    load_one,
    modulus,
    multiply,
    square,
    store,
)


@triton.jit
def cholesky_block(a, status, n, stack, row, column, COMPLEX: tl.constexpr, B: tl.constexpr):
    """Replace the lower triangle of an n by n block, n <= B, by its Cholesky factor, the rest by zeros.

    A block that is not positive definite sets the status word.
    """
    words = 2 if COMPLEX else 1
    a += tl.program_id(0).to(tl.int64) * stack * words
    i = tl.arange(0, B)[:, None]
    k = tl.arange(0, B)[None, :]
    mask = (i < n) & (k < n)
    re, im = load(a, tl.maximum(i, k) * row + tl.minimum(i, k) * column, mask, COMPLEX)
    if COMPLEX:  # the upper triangle is the lower one's conjugate
        im = tl.where(i < k, -im, tl.where(i == k, 0.0, im))
    wrong = False
    for j in range(n):
        pivot = tl.sum(tl.sum(tl.where((i == j) & (k == j), re, 0.0), 1), 0)
        wrong = wrong | (pivot <= 0)
        root = sqrt(pivot)
        down_r = div(tl.sum(tl.where(k == j, re, 0.0), 1), root)[:, None]
        across_r = div(tl.sum(tl.where(i == j, re, 0.0), 0), root)[None, :]
        inner = (i > j) & (k > j)
        edge = (k == j) & (i > j)
        if COMPLEX:
            down_i = div(tl.sum(tl.where(k == j, im, 0.0), 1), root)[:, None]
            across_i = div(tl.sum(tl.where(i == j, im, 0.0), 0), root)[None, :]
            pr, pi = multiply(down_r, down_i, across_r, across_i, COMPLEX)
            im = tl.where(inner, im - pi, tl.where(edge, down_i, im))
        else:
            pr = down_r * across_r
        re = tl.where(inner, re - pr, tl.where(edge, down_r, tl.where((i == j) & (k == j), root, re)))
    tl.debug_barrier()  # the upper triangle was read from the lower one
    store(a, i * row + k * column, tl.where(i < k, 0.0, re), tl.where(i < k, 0.0, im), mask, COMPLEX)
    if wrong:
        tl.store(status, 1)


@triton.jit
def substitute(
    t,
    b,
    n,
    columns,
    t_stack,
    t_row,
    t_column,
    b_stack,
    b_row,
    b_column,
    UPPER: tl.constexpr,
    UNIT: tl.constexpr,
    CONJUGATE: tl.constexpr,
    COMPLEX: tl.constexpr,
    B: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Replace b by the x with t x = b, for a triangle t of n <= B rows: upper or lower, with ones on the diagonal if
    UNIT, its conjugate if CONJUGATE. A program solves for COLUMNS columns of b."""
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    t += s * t_stack * words
    b += s * b_stack * words
    i = tl.arange(0, B)
    c = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (i < n)[:, None] & (c < columns)[None, :]
    place = i[:, None] * b_row + c[None, :] * b_column
    re, im = load(b, place, mask, COMPLEX)
    for step in range(n):
        j = n - 1 - step if UPPER else step
        tr, ti = load(t, i * t_row + j * t_column, i < n, COMPLEX)
        at = (i == j)[:, None]
        xr = tl.sum(tl.where(at, re, 0.0), 0)
        xi = tl.sum(tl.where(at, im, 0.0), 0) if COMPLEX else xr
        pr, pi = load_one(t, j * (t_row + t_column), COMPLEX)
        if CONJUGATE:
            ti = -ti
            pi = -pi
        if not UNIT:
            xr, xi = divide(xr, xi, pr, pi, COMPLEX)
        rest = (i < j if UPPER else i > j)[:, None]
        yr, yi = multiply(tr[:, None], ti[:, None], xr[None, :], xi[None, :], COMPLEX)
        re = tl.where(at, xr[None, :], tl.where(rest, re - yr, re))
        if COMPLEX:
            im = tl.where(at, xi[None, :], tl.where(rest, im - yi, im))
    store(b, place, re, im, mask, COMPLEX)


@triton.jit
def lu_panel(
    a,
    pivots,
    status,
    rows,
    n,
    first,
    stack,
    row,
    column,
    pivots_stack,
    COMPLEX: tl.constexpr,
    ROWS: tl.constexpr,
    TALL: tl.constexpr,
    B: tl.constexpr,
):
    """Replace a panel of n <= B columns by its factors L (unit lower) and U, with partial pivoting.

    pivots[j] becomes first + the row that was exchanged with row j. A pivot of zero sets the status word.
    Of a column TALL rows are read at a time, of the panel ROWS.
    """
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * words
    pivots += s * pivots_stack
    i = tl.arange(0, ROWS)
    t = tl.arange(0, TALL)
    k = tl.arange(0, B)
    inside = k < n
    for j in range(tl.minimum(n, rows)):
        place = j + 0 * rows
        best = tl.zeros((), a.dtype.element_ty) - 1.0
        for start in range(j, rows, TALL):
            at = start + t
            re, im = load(a, at * row + j * column, at < rows, COMPLEX)
            size = tl.where((re != re) | (im != im), float("inf"), greatest_part(re, im, COMPLEX))  # so that NaN stays
            size = tl.where(at < rows, size, -1.0)
            most = tl.max(size, 0)
            where = tl.min(tl.where(size == most, at, rows), 0)
            place = tl.where(most > best, where, place)
            best = tl.where(most > best, most, best)
        tl.store(pivots + j, first + place)
        if best == 0:
            tl.store(status, 1)
        top_r, top_i = load(a, j * row + k * column, inside, COMPLEX)
        chosen_r, chosen_i = load(a, place * row + k * column, inside, COMPLEX)
        tl.debug_barrier()
        store(a, place * row + k * column, top_r, top_i, inside, COMPLEX)
        tl.debug_barrier()
        store(a, j * row + k * column, chosen_r, chosen_i, inside, COMPLEX)
        tl.debug_barrier()
        pr, pi = load_one(a, j * (row + column), COMPLEX)
        zero = best == 0
        pr = tl.where(zero, 1.0, pr)
        for start in range(j + 1, rows, ROWS):
            at = (start + i)[:, None]
            mask = (at < rows) & inside[None, :]
            spot = at * row + k[None, :] * column
            re, im = load(a, spot, mask, COMPLEX)
            here = k[None, :] == j
            lr = tl.sum(tl.where(here, re, 0.0), 1)
            li = tl.sum(tl.where(here, im, 0.0), 1) if COMPLEX else lr
            lr, li = divide(lr, li, pr, pi, COMPLEX)
            yr, yi = multiply(lr[:, None], li[:, None], chosen_r[None, :], chosen_i[None, :], COMPLEX)
            right = k[None, :] > j
            re = tl.where(here, lr[:, None], tl.where(right, re - yr, re))
            if COMPLEX:
                im = tl.where(here, li[:, None], tl.where(right, im - yi, im))
            store(a, spot, re, im, mask, COMPLEX)
        tl.debug_barrier()


@triton.jit
def swap_rows(
    a,
    pivots,
    first,
    stop,
    columns,
    skip,
    skip_end,
    stack,
    row,
    column,
    pivots_stack,
    WORDS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Exchange row j with row pivots[j], for j from `first` to `stop`, in all columns but skip <= c < skip_end."""
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * WORDS
    pivots += s * pivots_stack
    c = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (c < columns) & ((c < skip) | (c >= skip_end))
    for j in range(first, stop):
        other = tl.load(pivots + j)
        for w in tl.static_range(WORDS):
            here = a + (j * row + c * column) * WORDS + w
            there = a + (other * row + c * column) * WORDS + w
            x = tl.load(here, mask=mask)
            y = tl.load(there, mask=mask)
            tl.store(here, y, mask=mask)
            tl.store(there, x, mask=mask)


@triton.jit
def qr_panel(
    a,
    rows,
    n,
    stack,
    row,
    column,
    COMPLEX: tl.constexpr,
    ROWS: tl.constexpr,
    TALL: tl.constexpr,
    B: tl.constexpr,
):
    """Replace a panel of n <= B columns by R and, below the diagonal, the vectors v of its reflections.

    Reflection j is 1 - 2 v vᴴ / (vᴴ v), where v is 0 above row j and 1 in it: Hermitian and unitary, whatever v is, so
    that a column of zeros needs no case of its own.
    """
    words = 2 if COMPLEX else 1
    a += tl.program_id(0).to(tl.int64) * stack * words
    i = tl.arange(0, ROWS)
    t = tl.arange(0, TALL)
    k = tl.arange(0, B)
    inside = k < n
    for j in range(tl.minimum(n, rows)):
        most = tl.zeros((), a.dtype.element_ty)
        for start in range(j, rows, TALL):
            at = start + t
            re, im = load(a, at * row + j * column, at < rows, COMPLEX)
            most = tl.maximum(most, tl.max(greatest_part(re, im, COMPLEX), 0))
        scale = tl.where(most > 0, most, 1.0)
        squares = tl.zeros((), a.dtype.element_ty)
        for start in range(j, rows, TALL):
            at = start + t
            re, im = load(a, at * row + j * column, at < rows, COMPLEX)
            squares += tl.sum(square(div(re, scale), div(im, scale), COMPLEX), 0)
        norm = sqrt(squares)
        head_r, head_i = load_one(a, j * (row + column), COMPLEX)
        head_r = div(head_r, scale)
        head_i = div(head_i, scale)
        # the column becomes beta on the diagonal, of the sign or phase that cancels nothing in v
        if COMPLEX:
            size = modulus(head_r, head_i, COMPLEX)
            phase_r = tl.where(size > 0, div(head_r, tl.where(size > 0, size, 1.0)), 1.0)
            phase_i = tl.where(size > 0, div(head_i, tl.where(size > 0, size, 1.0)), 0.0)
            beta_r = -phase_r * norm
            beta_i = -phase_i * norm
        else:
            beta_r = -copysign(norm, head_r)
            beta_i = beta_r
        empty = norm == 0
        lead_r = tl.where(empty, 1.0, head_r - beta_r)
        lead_i = tl.where(empty, 0.0, head_i - beta_i)
        beta_r = tl.where(empty, 0.0, beta_r * scale)
        beta_i = tl.where(empty, 0.0, beta_i * scale)
        tl.debug_barrier()
        length = tl.zeros((), a.dtype.element_ty)
        wr = tl.zeros((B,), a.dtype.element_ty)
        wi = tl.zeros((B,), a.dtype.element_ty)
        for start in range(j, rows, ROWS):
            at = (start + i)[:, None]
            mask = (at < rows) & inside[None, :]
            re, im = load(a, at * row + k[None, :] * column, mask, COMPLEX)
            vr, vi = _reflector(re, im, at, k[None, :] == j, j, scale, lead_r, lead_i, COMPLEX)
            length += tl.sum(square(vr, vi, COMPLEX), 0)
            xr, xi = multiply(vr[:, None], -vi[:, None], re, im, COMPLEX)
            wr += tl.sum(xr, 0)
            if COMPLEX:
                wi += tl.sum(xi, 0)
        wr = div(2.0 * wr, length)
        wi = div(2.0 * wi, length)
        for start in range(j, rows, ROWS):
            at = (start + i)[:, None]
            mask = (at < rows) & inside[None, :]
            spot = at * row + k[None, :] * column
            re, im = load(a, spot, mask, COMPLEX)
            here = k[None, :] == j
            vr, vi = _reflector(re, im, at, here, j, scale, lead_r, lead_i, COMPLEX)
            yr, yi = multiply(vr[:, None], vi[:, None], wr[None, :], wi[None, :], COMPLEX)
            right = k[None, :] > j
            corner = at == j
            re = tl.where(right, re - yr, tl.where(here, tl.where(corner, beta_r, vr[:, None]), re))
            if COMPLEX:
                im = tl.where(right, im - yi, tl.where(here, tl.where(corner, beta_i, vi[:, None]), im))
            store(a, spot, re, im, mask, COMPLEX)
        tl.debug_barrier()


@triton.jit
def _reflector(re, im, at, here, j, scale, lead_r, lead_i, COMPLEX: tl.constexpr):
    """The vector of reflection j in some rows of a panel, from the column as it was."""
    vr = tl.sum(tl.where(here, re, 0.0), 1)
    vi = tl.sum(tl.where(here, im, 0.0), 1) if COMPLEX else vr
    vr, vi = divide(div(vr, scale), div(vi, scale), lead_r, lead_i, COMPLEX)
    first = tl.max((at == j).to(tl.int32), 1) > 0
    return tl.where(first, 1.0, vr), tl.where(first, 0.0, vi)
