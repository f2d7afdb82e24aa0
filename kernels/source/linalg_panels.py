"""The parts of blocked factorisations that are no matrix products: diagonal blocks and panels of a few columns.

A program works on one matrix of a stack, or on a few columns of it. Where threads of a GPU read from memory what others
have written, a barrier comes between. Diagonal blocks come with their inverses, so that solving with them is a product.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import copysign, div, sqrt
from nbx_array.kernels.source.linalg_numbers import (
    dot,
    greatest_part,
    load,
    load_one,
    load_rows,
    modulus,
    multiply,
    reciprocal,
    square,
    store,
    store_rows,
)


@triton.jit
def inverted(re, im, COMPLEX: tl.constexpr, PRECISION: tl.constexpr, B: tl.constexpr):
    """The inverse of a lower triangle of B by B elements, B <= 32, with ones on its diagonal.

    With the inverses X of diagonal blocks of s by s elements known, twice as large ones [[X1, 0], [-X2 M X1, X2]] take
    two products, for all blocks at once; of one element X is 1, and the first ones take none.
    """
    i = tl.arange(0, B)[:, None]
    k = tl.arange(0, B)[None, :]
    pair = (i >> 1 == k >> 1) & (i > k)
    xr = tl.where(i == k, 1.0, tl.where(pair, -re, 0.0))
    xi = tl.where(pair, -im, 0.0)
    for level in range(1, 5):
        edge = (i >> (level + 1) == k >> (level + 1)) & (i >> level > k >> level)
        mr, mi = dot(tl.where(edge, re, 0.0), tl.where(edge, im, 0.0), xr, xi, COMPLEX, PRECISION)
        mr, mi = dot(xr, xi, mr, mi, COMPLEX, PRECISION)
        xr -= mr
        xi -= mi
    return xr, xi


@triton.jit
def diagonal(re, im, COMPLEX: tl.constexpr, B: tl.constexpr):
    """The diagonal of B by B elements."""
    here = tl.arange(0, B)[:, None] == tl.arange(0, B)[None, :]
    dr = tl.sum(tl.where(here, re, 0.0), 1)
    return dr, tl.sum(tl.where(here, im, 0.0), 1) if COMPLEX else dr


@triton.jit
def divided(re, im, dr, di, COMPLEX: tl.constexpr):
    """Rows divided by a diagonal's elements."""
    scale, dr, di = reciprocal(dr, di, COMPLEX)
    return multiply(re * scale[:, None], im * scale[:, None], dr[:, None], di[:, None], COMPLEX)


@triton.jit
def cholesky_block(
    a,
    inverse,
    status,
    n,
    stack,
    row,
    column,
    COMPLEX: tl.constexpr,
    PRECISION: tl.constexpr,
    B: tl.constexpr,
):
    """Replace the lower triangle of an n by n block, n <= B, by its Cholesky factor L; the inverse of L whose rows are
    divided by its diagonal goes to `inverse`, filled up to B by B elements as an identity matrix is.

    A block that is not positive definite sets the status word.
    """
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * words
    inverse += s * B * B * words
    rows = tl.arange(0, B)
    i = rows[:, None]
    k = rows[None, :]
    mask = (i < n) & (k <= i)
    re, im = load(a, i * row + k * column, mask, COMPLEX)
    re = tl.where((i == k) & (i >= n), 1.0, re)
    wrong = False
    for j in range(n):
        # what is above the diagonal is never used, so that the rest may be updated by whole columns
        down_r = tl.sum(tl.where(k == j, re, 0.0), 1)
        pivot = tl.sum(tl.where(rows == j, down_r, 0.0), 0)
        wrong = wrong | (pivot <= 0)
        root = sqrt(pivot)
        scale = div(1.0 + 0.0 * root, root)
        down_r = tl.where(rows > j, down_r * scale, 0.0)
        if COMPLEX:
            down_i = tl.where(rows > j, tl.sum(tl.where(k == j, im, 0.0), 1) * scale, 0.0)
        else:
            down_i = down_r
        pr, pi = multiply(down_r[:, None], down_i[:, None], down_r[None, :], -down_i[None, :], COMPLEX)
        here = k == j
        re = tl.where(here, tl.where(i == j, root, tl.where(i > j, down_r[:, None], re)), re - pr)
        if COMPLEX:
            im = tl.where(here, tl.where(i > j, down_i[:, None], 0.0), im - pi)
    store(a, i * row + k * column, re, im, mask, COMPLEX)
    if wrong:
        tl.store(status, 1)
    dr, di = diagonal(re, 0.0 * im, COMPLEX, B)
    re, im = divided(re, im, dr, di, COMPLEX)
    xr, xi = inverted(re, im, COMPLEX, PRECISION, B)
    store(inverse, i * B + k, xr, xi, (i < B) & (k < B), COMPLEX)


@triton.jit
def _triangle(
    t,
    n,
    row,
    column,
    UPPER: tl.constexpr,
    UNIT: tl.constexpr,
    CONJUGATE: tl.constexpr,
    COMPLEX: tl.constexpr,
    B: tl.constexpr,
):
    """A triangle of n <= B rows, filled up to B by B elements as an identity matrix is."""
    i = tl.arange(0, B)[:, None]
    k = tl.arange(0, B)[None, :]
    inside = (i < n) & (k < n)
    half = (i < k if UPPER else i > k) if UNIT else (i <= k if UPPER else i >= k)
    re, im = load(t, i * row + k * column, inside & half, COMPLEX)
    re = tl.where((i == k) & (UNIT | (i >= n)), 1.0, re)
    return re, -im if CONJUGATE else im


@triton.jit
def invert_triangles(
    t,
    inverse,
    size,
    stack,
    step,
    row,
    column,
    inverse_stack,
    UPPER: tl.constexpr,
    COMPLEX: tl.constexpr,
    PRECISION: tl.constexpr,
    B: tl.constexpr,
):
    """inverse[s, j] = the inverse of diagonal block j of triangles of `size` rows: of upper ones, each row divided by
    its diagonal's element, or of lower ones with ones on their diagonals. The blocks, of B by B elements or at the end
    fewer, are `step` elements apart."""
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1).to(tl.int64)
    t += (s * stack + j * step) * words
    i = tl.arange(0, B)[:, None]
    k = tl.arange(0, B)[None, :]
    place = s * inverse_stack + j * B * B
    if UPPER:  # the transpose of an upper triangle is a lower one
        re, im = _triangle(t, size - j * B, column, row, False, False, False, COMPLEX, B)
        dr, di = diagonal(re, im, COMPLEX, B)
        scale, dr, di = reciprocal(dr, di, COMPLEX)
        re, im = multiply(re * scale[None, :], im * scale[None, :], dr[None, :], di[None, :], COMPLEX)
        place += k * B + i
    else:
        re, im = _triangle(t, size - j * B, row, column, False, True, False, COMPLEX, B)
        place += i * B + k
    xr, xi = inverted(re, im, COMPLEX, PRECISION, B)
    store(inverse, place, xr, xi, (i < B) & (k < B), COMPLEX)


@triton.jit
def substitute(
    t,
    inverse,
    b,
    n,
    columns,
    t_stack,
    t_row,
    t_column,
    inverse_stack,
    b_stack,
    b_row,
    b_column,
    UPPER: tl.constexpr,
    UNIT: tl.constexpr,
    CONJUGATE: tl.constexpr,
    COMPLEX: tl.constexpr,
    PRECISION: tl.constexpr,
    B: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Replace b by the x with t x = b, for a triangle t of n <= B rows, upper or lower, with ones on the diagonal if
    UNIT, its conjugate if CONJUGATE. A program solves for COLUMNS columns of b.

    The inverse is given of t with its rows divided by its diagonal, which keeps scales of rows out of the products. A
    step of refinement makes up for what an inverse loses where t is ill-conditioned all the same.
    """
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    b += s * b_stack * words
    i = tl.arange(0, B)
    c = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (i < n)[:, None] & (c < columns)[None, :]
    place = i[:, None] * b_row + c[None, :] * b_column
    br, bi = load(b, place, mask, COMPLEX)
    tr, ti = _triangle(t + s * t_stack * words, n, t_row, t_column, UPPER, UNIT, CONJUGATE, COMPLEX, B)
    vr, vi = load(
        inverse + s * inverse_stack * words, i[:, None] * B + i[None, :], (i < B)[:, None] & (i < B)[None, :], COMPLEX
    )
    if CONJUGATE:
        vi = -vi
    dr, di = diagonal(tr, ti, COMPLEX, B)
    if UNIT:
        xr = br
        xi = bi
    else:
        xr, xi = divided(br, bi, dr, di, COMPLEX)
    xr, xi = dot(vr, vi, xr, xi, COMPLEX, PRECISION)
    yr, yi = dot(tr, ti, xr, xi, COMPLEX, PRECISION)
    yr = br - yr
    yi = bi - yi
    if not UNIT:
        yr, yi = divided(yr, yi, dr, di, COMPLEX)
    yr, yi = dot(vr, vi, yr, yi, COMPLEX, PRECISION)
    store(b, place, xr + yr, xi + yi, mask, COMPLEX)


@triton.jit
def _size(re, im, COMPLEX: tl.constexpr):
    """What pivots are chosen by: infinity for NaN, so that it stays."""
    return tl.where((re != re) | (im != im), float("inf"), greatest_part(re, im, COMPLEX))


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
    pivots_stack,
    COMPLEX: tl.constexpr,
    ROWS: tl.constexpr,
    B: tl.constexpr,
):
    """Replace a panel of n <= B columns by its factors L (unit lower) and U, with partial pivoting.

    Elements of a row lie side by side. pivots[j] becomes first + the row that was exchanged with row j. A pivot of zero
    sets the status word. ROWS rows are read at a time, once for each column: while they are updated the next pivot is
    looked for.
    """
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * words
    pivots += s * pivots_stack
    i = tl.arange(0, ROWS)
    k = tl.arange(0, B)
    inside = k < n
    sizes = tl.full((ROWS,), -1.0, a.dtype.element_ty)
    places = i + 0 * rows
    for start in range(0, rows, ROWS):
        at = start + i
        re, im = load(a, at * row, at < rows, COMPLEX)
        size = tl.where(at < rows, _size(re, im, COMPLEX), -1.0)
        places = tl.where(size > sizes, at, places)
        sizes = tl.where(size > sizes, size, sizes)
    tile = i[:, None] * row.to(tl.int32) + k[None, :]
    for j in range(tl.minimum(n, rows)):
        best = tl.max(sizes, 0)
        place = tl.min(tl.where(sizes == best, places, rows), 0)
        tl.store(pivots + j, first + place)
        if best == 0:
            tl.store(status, 1)
        top_r, top_i = load(a, j * row + k, inside, COMPLEX)
        chosen_r, chosen_i = load(a, place * row + k, inside, COMPLEX)
        tl.debug_barrier()
        store(a, place * row + k, top_r, top_i, inside & (place != j), COMPLEX)
        store(a, j * row + k, chosen_r, chosen_i, inside, COMPLEX)
        tl.debug_barrier()
        pr = tl.sum(tl.where(k == j, chosen_r, 0.0), 0)
        pi = tl.sum(tl.where(k == j, chosen_i, 0.0), 0) if COMPLEX else pr
        scale, pr, pi = reciprocal(tl.where(best == 0, 1.0, pr), pi, COMPLEX)
        here = (k == j)[None, :]
        right = (k > j)[None, :]
        coming = (k == j + 1)[None, :]
        sizes = tl.full((ROWS,), -1.0, a.dtype.element_ty)
        places = i + 0 * rows
        for start in range(j + 1, rows, ROWS):
            at = start + i
            mask = (at < rows)[:, None] & inside[None, :]
            some = a + start * row * words
            re, im = load(some, tile, mask, COMPLEX)
            lr = tl.sum(tl.where(here, re, 0.0), 1)
            li = tl.sum(tl.where(here, im, 0.0), 1) if COMPLEX else lr
            lr, li = multiply(lr * scale, li * scale, pr, pi, COMPLEX)
            yr, yi = multiply(lr[:, None], li[:, None], chosen_r[None, :], chosen_i[None, :], COMPLEX)
            re = tl.where(here, lr[:, None], tl.where(right, re - yr, re))
            if COMPLEX:
                im = tl.where(here, li[:, None], tl.where(right, im - yi, im))
            store(some, tile, re, im, mask, COMPLEX)
            nr = tl.sum(tl.where(coming, re, 0.0), 1)
            ni = tl.sum(tl.where(coming, im, 0.0), 1) if COMPLEX else nr
            size = tl.where(at < rows, _size(nr, ni, COMPLEX), -1.0)
            places = tl.where(size > sizes, at, places)
            sizes = tl.where(size > sizes, size, sizes)
        tl.debug_barrier()


@triton.jit
def lu_panel_in_registers(
    a,
    pivots,
    status,
    rows,
    first,
    stack,
    row,
    pivots_stack,
    COMPLEX: tl.constexpr,
    ROWS: tl.constexpr,
    B: tl.constexpr,
):
    """What `lu_panel` does, for B columns and at most ROWS rows, no fewer than B, which stay in registers.

    Threads hold rows, so that a column is there without an exchange between them. Rows do not move: `place` says where
    each stands. A pivot's row goes to memory, where it stays, and all read it there.
    """
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * words
    pivots += s * pivots_stack
    i = tl.arange(0, ROWS)
    k = tl.arange(0, B)
    here = tl.broadcast_to((i < rows)[None, :], [B, ROWS])
    step = row.to(tl.int32)
    re, im = load_rows(a, i[None, :] * step + k[:, None], here, COMPLEX)
    place = i
    tl.debug_barrier()
    for j in range(B):
        column = (k == j)[:, None]
        lr = tl.sum(tl.where(column, re, 0.0), 0)
        li = tl.sum(tl.where(column, im, 0.0), 0) if COMPLEX else lr
        size = tl.where((place >= j) & (i < rows), _size(lr, li, COMPLEX), -1.0)
        best = tl.max(size, 0)
        chosen = tl.min(tl.where(size == best, place, ROWS), 0)
        tl.store(pivots + j, first + chosen)
        if best == 0:
            tl.store(status, 1)
        pivot = place == chosen
        top = a + j * row * words
        store_rows(top, k[:, None] + 0 * i[None, :], re, im, tl.broadcast_to(pivot[None, :], [B, ROWS]), COMPLEX)
        place = tl.where(pivot, j, tl.where(place == j, chosen, place))
        tl.debug_barrier()
        top_r, top_i = load(top, k, k < B, COMPLEX)
        pr = tl.sum(tl.where(k == j, top_r, 0.0), 0)
        pi = tl.sum(tl.where(k == j, top_i, 0.0), 0) if COMPLEX else pr
        scale, pr, pi = reciprocal(tl.where(best == 0, 1.0, pr), pi, COMPLEX)
        lr, li = multiply(lr * scale, li * scale, pr, pi, COMPLEX)
        below = (place > j)[None, :]
        yr, yi = multiply(lr[None, :], li[None, :], top_r[:, None], top_i[:, None], COMPLEX)
        right = below & (k > j)[:, None]
        re = tl.where(below & column, lr[None, :], tl.where(right, re - yr, re))
        if COMPLEX:
            im = tl.where(below & column, li[None, :], tl.where(right, im - yi, im))
    # the rest are the rows below the pivots'
    rest = here & (place >= B)[None, :]
    store_rows(a, place[None, :] * step + k[:, None], re, im, rest, COMPLEX)


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
    ACROSS: tl.constexpr,
    B: tl.constexpr,
):
    """Exchange row j with row pivots[j], for j from `first` to `stop` one after another, in all columns but
    skip <= c < skip_end.

    A program takes ACROSS words of rows and B exchanges at a time, so that none waits for another's memory: each row
    that they reach learns by going back over them where its elements come from; all are read, then written.
    """
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * WORDS
    pivots += s * pivots_stack
    word = tl.program_id(1).to(tl.int64) * ACROSS + tl.arange(0, ACROSS)
    c = word // WORDS
    mask = (c < columns) & ((c < skip) | (c >= skip_end))
    across = c * column * WORDS + word % WORDS
    t = tl.arange(0, 2 * B)
    for start in range(first, stop, B):
        exchange = start + t % B
        known = exchange < stop
        to = tl.where(t < B, exchange, tl.load(pivots + exchange, mask=known, other=0))
        source = to
        for j in range(tl.minimum(start + B, stop) - 1, start - 1, -1):
            other = tl.load(pivots + j)
            source = tl.where(source == j, other, tl.where(source == other, j, source))
        here = known[:, None] & mask[None, :]
        x, _ = load_rows(a, source[:, None] * row * WORDS + across[None, :], here, False)
        tl.debug_barrier()
        store_rows(a, to[:, None] * row * WORDS + across[None, :], x, x, here, False)
        tl.debug_barrier()


@triton.jit
def qr_panel(
    a,
    v,
    t,
    rows,
    n,
    stack,
    row,
    v_stack,
    v_row,
    t_stack,
    t_row,
    COMPLEX: tl.constexpr,
    ROWS: tl.constexpr,
    B: tl.constexpr,
):
    """Replace a panel of n <= B columns by R above its diagonal; the vectors of its reflections go to the columns of v,
    and to t the upper triangle T of B by B elements with which their product is 1 - V T Vᴴ.

    Elements of a row lie side by side, of a and of v. Reflection j is 1 - 2 v vᴴ / (vᴴ v), where v is 0 above row j and
    1 in it: Hermitian and unitary, whatever v is, so that a column of zeros needs no case of its own. Squares of
    elements must be in range. A column takes two passes over ROWS rows at a time: products of v with all columns, then
    the update, with the norm of the column that follows. T grows by Schreiber and Van Loan's formula (SIAM J. Sci.
    Stat. Comput. 10, 1989), from the same products.
    """
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * words
    v += s * v_stack * words
    t += s * t_stack * words
    i = tl.arange(0, ROWS)
    k = tl.arange(0, B)
    inside = k < n
    squares = tl.zeros((ROWS,), a.dtype.element_ty)
    for start in range(0, rows, ROWS):
        at = start + i
        re, im = load(a, at * row, at < rows, COMPLEX)
        squares += square(re, im, COMPLEX)
    tr = tl.zeros((B, B), a.dtype.element_ty)
    ti = tl.zeros((B, B), a.dtype.element_ty)
    tile = i[:, None] * row.to(tl.int32) + k[None, :]
    for j in range(tl.minimum(n, rows)):
        norm = sqrt(tl.sum(squares, 0))
        head_r, head_i = load_one(a, j * (row + 1), COMPLEX)
        beta_r, beta_i, scale, lead_r, lead_i = _leading(norm, head_r, head_i, COMPLEX)
        here = (k == j)[None, :]
        right = (k > j)[None, :]
        coming = (k == j + 1)[None, :]
        lengths = tl.zeros((ROWS,), a.dtype.element_ty)
        wr = tl.zeros((B,), a.dtype.element_ty)
        wi = tl.zeros((B,), a.dtype.element_ty)
        for start in range(j, rows, ROWS):
            at = start + i
            mask = (at < rows)[:, None] & inside[None, :]
            re, im = load(a + start * row * words, tile, mask, COMPLEX)
            vr, vi = _reflector(re, im, at == j, here, scale, lead_r, lead_i, COMPLEX)
            vr = tl.where(at < rows, vr, 0.0)
            lengths += square(vr, vi, COMPLEX)
            # of columns on the left the part below the diagonal is that of their own vectors
            xr, xi = multiply(vr[:, None], -vi[:, None], re, im, COMPLEX)
            wr += tl.sum(xr, 0)
            if COMPLEX:
                wi += tl.sum(xi, 0)
        tau = div(2.0 + 0.0 * norm, tl.sum(lengths, 0))
        squares = tl.zeros((ROWS,), a.dtype.element_ty)
        tl.debug_barrier()
        for start in range(j, rows, ROWS):
            at = start + i
            mask = (at < rows)[:, None] & inside[None, :]
            some = a + start * row * words
            re, im = load(some, tile, mask, COMPLEX)
            corner = at == j
            vr, vi = _reflector(re, im, corner, here, scale, lead_r, lead_i, COMPLEX)
            yr, yi = multiply(vr[:, None], vi[:, None], tau * wr[None, :], tau * wi[None, :], COMPLEX)
            re = tl.where(right, re - yr, tl.where(here, tl.where(corner, beta_r, vr)[:, None], re))
            if COMPLEX:
                im = tl.where(right, im - yi, tl.where(here, tl.where(corner, beta_i, vi)[:, None], im))
            store(some, tile, re, im, mask, COMPLEX)
            below = ((at > j) & (at < rows))[:, None] & coming
            squares += tl.sum(tl.where(below, square(re, im, COMPLEX), 0.0), 1)
        tr, ti = _next_column(tr, ti, wr, wi, tau, j, k, COMPLEX)
        tl.debug_barrier()
    whole = (k < B)[:, None] & (k < B)[None, :]
    store(t, k[:, None] * t_row + k[None, :], tr, ti, whole, COMPLEX)
    for start in range(0, rows, ROWS):
        at = (start + i)[:, None]
        mask = (at < rows) & inside[None, :]
        re, im = load(a + start * row * words, tile, mask & (at > k[None, :]), COMPLEX)
        re = tl.where(at == k[None, :], 1.0, re)
        store(v, at * v_row + k[None, :], re, im, mask, COMPLEX)


@triton.jit
def qr_panel_in_registers(
    a,
    v,
    t,
    rows,
    stack,
    row,
    v_stack,
    v_row,
    t_stack,
    t_row,
    COMPLEX: tl.constexpr,
    ROWS: tl.constexpr,
    B: tl.constexpr,
):
    """What `qr_panel` does, for B columns and at most ROWS rows, no fewer than B, which stay in registers; threads hold
    rows."""
    words = 2 if COMPLEX else 1
    s = tl.program_id(0).to(tl.int64)
    a += s * stack * words
    v += s * v_stack * words
    t += s * t_stack * words
    i = tl.arange(0, ROWS)
    k = tl.arange(0, B)
    here = tl.broadcast_to((i < rows)[None, :], [B, ROWS])
    place = i[None, :] * row.to(tl.int32) + k[:, None]
    re, im = load_rows(a, place, here, COMPLEX)
    tr = tl.zeros((B, B), a.dtype.element_ty)
    ti = tl.zeros((B, B), a.dtype.element_ty)
    for j in range(B):
        column = (k == j)[:, None]
        xr = tl.sum(tl.where(column, re, 0.0), 0)
        xi = tl.sum(tl.where(column, im, 0.0), 0) if COMPLEX else xr
        norm = sqrt(tl.sum(tl.where(i >= j, square(xr, xi, COMPLEX), 0.0), 0))
        head_r = tl.sum(tl.where(i == j, xr, 0.0), 0)
        head_i = tl.sum(tl.where(i == j, xi, 0.0), 0) if COMPLEX else head_r
        beta_r, beta_i, scale, lead_r, lead_i = _leading(norm, head_r, head_i, COMPLEX)
        vr, vi = multiply(xr * scale, xi * scale, lead_r, lead_i, COMPLEX)
        vr = tl.where(i > j, vr, tl.where(i == j, 1.0, 0.0))
        vi = tl.where(i > j, vi, 0.0)
        tau = div(2.0 + 0.0 * norm, tl.sum(square(vr, vi, COMPLEX), 0))
        # of columns on the left the part below the diagonal is that of their own vectors
        pr, pi = multiply(vr[None, :], -vi[None, :], re, im, COMPLEX)
        wr = tl.sum(pr, 1)
        wi = tl.sum(pi, 1) if COMPLEX else wr
        yr, yi = multiply(vr[None, :], vi[None, :], tau * wr[:, None], tau * wi[:, None], COMPLEX)
        right = (k > j)[:, None]
        own = column & (i >= j)[None, :]
        corner = i == j
        re = tl.where(right, re - yr, tl.where(own, tl.where(corner, beta_r, vr)[None, :], re))
        if COMPLEX:
            im = tl.where(right, im - yi, tl.where(own, tl.where(corner, beta_i, vi)[None, :], im))
        tr, ti = _next_column(tr, ti, wr, wi, tau, j, k, COMPLEX)
    whole = (k < B)[:, None] & (k < B)[None, :]
    store(t, k[:, None] * t_row + k[None, :], tr, ti, whole, COMPLEX)
    store_rows(a, place, re, im, here & (i[None, :] <= k[:, None]), COMPLEX)
    lower = i[None, :] > k[:, None]
    re = tl.where(lower, re, tl.where(i[None, :] == k[:, None], 1.0, 0.0))
    im = tl.where(lower, im, 0.0)
    store_rows(v, i[None, :] * v_row.to(tl.int32) + k[:, None], re, im, here, COMPLEX)


@triton.jit
def _leading(norm, head_r, head_i, COMPLEX: tl.constexpr):
    """What a column of a norm becomes on the diagonal, of the sign or phase that cancels nothing in the reflection's
    vector, and a reciprocal by which the column makes that vector."""
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
    scale, lead_r, lead_i = reciprocal(lead_r, lead_i, COMPLEX)
    return beta_r, beta_i, scale, lead_r, lead_i


@triton.jit
def _next_column(tr, ti, wr, wi, tau, j, k, COMPLEX: tl.constexpr):
    """T with its column j: -tau T (Vᴴ v), of which w has the conjugate."""
    here = (k == j)[None, :]
    left = (k < j)[None, :]
    ur, ui = multiply(tr, ti, wr[None, :], -wi[None, :], COMPLEX)
    ur = -tau * tl.sum(tl.where(left, ur, 0.0), 1)
    tr = tl.where(here, tl.where(k == j, tau, ur)[:, None], tr)
    if COMPLEX:
        ui = -tau * tl.sum(tl.where(left, ui, 0.0), 1)
        ti = tl.where(here, tl.where(k == j, 0.0, ui)[:, None], ti)
    return tr, ti


@triton.jit
def _reflector(re, im, corner, here, scale, lead_r, lead_i, COMPLEX: tl.constexpr):
    """The vector of a reflection in some rows of a panel, from the column as it was and a reciprocal."""
    vr = tl.sum(tl.where(here, re, 0.0), 1)
    vi = tl.sum(tl.where(here, im, 0.0), 1) if COMPLEX else vr
    vr, vi = multiply(vr * scale, vi * scale, lead_r, lead_i, COMPLEX)
    return tl.where(corner, 1.0, vr), tl.where(corner, 0.0, vi)
