"""Matrix products of stacks of matrices with any strides."""

import triton
import triton.language as tl
from nbx_array.kernels.source.linalg_numbers import flat


@triton.jit
def _vector(x, UNIT: tl.constexpr):
    """A tile as a vector whose neighbours are neighbours in memory, see `linalg_numbers.flat`."""
    return flat(tl.trans(x) if UNIT == "row" else x)


@triton.jit
def _tile(x, ROWS: tl.constexpr, COLUMNS: tl.constexpr, UNIT: tl.constexpr):
    """The tile of a vector that `_vector` made."""
    if UNIT == "row":
        tile = tl.trans(tl.reshape(x, (COLUMNS, ROWS)))
    else:
        tile = tl.reshape(x, (ROWS, COLUMNS))
    return tile


@triton.jit
def product(
    a,
    b,
    out,
    m,
    n,
    k,
    a_stack,
    a_row,
    a_column,
    b_stack,
    b_row,
    b_column,
    out_stack,
    out_row,
    out_column,
    out_part,
    steps,
    PRECISION: tl.constexpr,
    A_UNIT: tl.constexpr,
    B_UNIT: tl.constexpr,
    OUT_UNIT: tl.constexpr,
    A_STEP: tl.constexpr,
    B_STEP: tl.constexpr,
    OUT_STEP: tl.constexpr,
    WHOLE: tl.constexpr,
    WHOLE_K: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    COMPLEX: tl.constexpr,
    SUBTRACT: tl.constexpr,
    CONJUGATE: tl.constexpr,
):
    """out[s] = a[s] @ b[s], or with SUBTRACT out[s] -= a[s] @ b[s], for floating-point matrices, real or COMPLEX;
    16-bit ones are added up in float32. CONJUGATE: "a" or "b" for the conjugate of that operand.

    A program computes a BM by BN tile, GROUP of them in a column next to each other, so that they share b in the cache.
    A_UNIT, B_UNIT and OUT_UNIT name the axis whose stride is 1, if any; strides are given as multiples of A_STEP,
    B_STEP and OUT_STEP; WHOLE says that tiles fit m and n, WHOLE_K that they fit k.

    Where k is split, program_id(2) counts its parts, of `steps` times BK each, and their products lie out_part apart.
    """
    down = tl.cdiv(m, BM)
    across = tl.cdiv(n, BN)
    g = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2).to(tl.int64)
    begin = part * steps * BK
    end = tl.minimum(k, begin + steps * BK)
    first = g // (GROUP * across) * GROUP
    height = tl.minimum(down - first, GROUP)
    row = (first + g % (GROUP * across) % height) * BM + tl.arange(0, BM)
    column = (g % (GROUP * across) // height) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    words = 2 if COMPLEX else 1
    row_step = (1 if A_UNIT == "row" else a_row * A_STEP) * words
    inner_step = (1 if A_UNIT == "column" else a_column * A_STEP) * words
    other_step = (1 if B_UNIT == "row" else b_row * B_STEP) * words
    column_step = (1 if B_UNIT == "column" else b_column * B_STEP) * words
    ap = a + s * a_stack * (A_STEP * words) + begin * inner_step
    ap += row[:, None] * row_step + inner[None, :] * inner_step
    bp = b + s * b_stack * (B_STEP * words) + begin * other_step
    bp += inner[:, None] * other_step + column[None, :] * column_step
    row_m = row < m
    column_m = column < n
    number = tl.float64 if a.dtype.element_ty == tl.float64 else tl.float32
    acc = tl.zeros((BM, BN), number)
    if COMPLEX:
        imaginary = tl.zeros((BM, BN), number)
        ap = _vector(ap, A_UNIT)
        bp = _vector(bp, B_UNIT)
    for k0 in range(begin, end, BK):
        if WHOLE and WHOLE_K:
            x = tl.load(ap)
            y = tl.load(bp)
            if COMPLEX:
                xi = _tile(tl.load(ap + 1), BM, BK, A_UNIT)
                yi = _tile(tl.load(bp + 1), BK, BN, B_UNIT)
        else:
            inner_m = inner < (BK if WHOLE_K else end - k0)  # a mask that is constant along whole vectors
            x_m = row_m[:, None] & inner_m[None, :]
            y_m = inner_m[:, None] & column_m[None, :]
            if COMPLEX:
                x_m = _vector(x_m, A_UNIT)
                y_m = _vector(y_m, B_UNIT)
            x = tl.load(ap, mask=x_m, other=0.0)
            y = tl.load(bp, mask=y_m, other=0.0)
            if COMPLEX:
                xi = _tile(tl.load(ap + 1, mask=x_m, other=0.0), BM, BK, A_UNIT)
                yi = _tile(tl.load(bp + 1, mask=y_m, other=0.0), BK, BN, B_UNIT)
        if COMPLEX:
            x = _tile(x, BM, BK, A_UNIT)
            y = _tile(y, BK, BN, B_UNIT)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=number)
        if COMPLEX:
            if CONJUGATE == "a":
                xi = -xi
            if CONJUGATE == "b":
                yi = -yi
            acc = tl.dot(-xi, yi, acc, input_precision=PRECISION, out_dtype=number)
            imaginary = tl.dot(x, yi, imaginary, input_precision=PRECISION, out_dtype=number)
            imaginary = tl.dot(xi, y, imaginary, input_precision=PRECISION, out_dtype=number)
        ap += BK * inner_step
        bp += BK * other_step
    down_step = (1 if OUT_UNIT == "row" else out_row * OUT_STEP) * words
    across_step = (1 if OUT_UNIT == "column" else out_column * OUT_STEP) * words
    op = (
        out
        + (part * out_part + s * out_stack) * (OUT_STEP * words)
        + row[:, None] * down_step
        + column[None, :] * across_step
    )
    out_m = row_m[:, None] & column_m[None, :]
    if COMPLEX:
        op = _vector(op, OUT_UNIT)
        out_m = _vector(out_m, OUT_UNIT)
        acc = _vector(acc, OUT_UNIT)
        imaginary = _vector(imaginary, OUT_UNIT)
    if SUBTRACT:
        acc = tl.load(op, mask=out_m, other=0.0).to(number) - acc
    tl.store(op, acc.to(out.dtype.element_ty), mask=out_m)
    if COMPLEX:
        if SUBTRACT:
            imaginary = tl.load(op + 1, mask=out_m, other=0.0) - imaginary
        tl.store(op + 1, imaginary, mask=out_m)


@triton.jit
def outer_product_sum(
    a,
    b,
    out,
    m,
    n,
    k,
    a_stack,
    a_row,
    a_column,
    b_stack,
    b_row,
    b_column,
    out_stack,
    out_row,
    out_column,
    out_part,
    steps,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """out[s] = a[s] @ b[s] by columns of a times rows of b: integers, exact modulo their width. A part of k is `steps`
    long."""
    down = tl.cdiv(m, BM)
    g = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2).to(tl.int64)
    begin = part * steps
    row = (g % down) * BM + tl.arange(0, BM)[:, None]
    column = (g // down) * BN + tl.arange(0, BN)[None, :]
    row_m = row < m
    column_m = column < n
    ap = a + s * a_stack + row * a_row + begin * a_column
    bp = b + s * b_stack + column * b_column + begin * b_row
    acc = tl.zeros((BM, BN), out.dtype.element_ty)
    for _ in range(begin, tl.minimum(k, begin + steps)):
        x = tl.load(ap, mask=row_m, other=0)
        y = tl.load(bp, mask=column_m, other=0)
        acc += x * y
        ap += a_column
        bp += b_row
    op = out + part * out_part + s * out_stack + row * out_row + column * out_column
    tl.store(op, acc, mask=row_m & column_m)


@triton.jit
def add_parts(
    parts,
    out,
    count,
    step,
    words,
    m,
    n,
    out_stack,
    out_row,
    out_column,
    WORDS: tl.constexpr,
    PARTS: tl.constexpr,
    BLOCK: tl.constexpr,
    SUBTRACT: tl.constexpr,
):
    """out = the sum, or with SUBTRACT out -= the sum, of `count` stacks of packed matrices that lie `step` words apart,
    of m by n numbers of WORDS words, `words` in all; always in the same order."""
    number = parts.dtype.element_ty
    word = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = word < words
    part = tl.arange(0, PARTS).to(tl.int64)
    total = tl.zeros((BLOCK,), number)
    for _ in range(0, count, PARTS):
        pointers = parts + part[:, None] * step + word[None, :]
        values = tl.load(pointers, mask=(part < count)[:, None] & inside[None, :], other=0)
        total += tl.sum(values, axis=0).to(number)
        part += PARTS
    element = word // WORDS
    row = element // n
    place = row // m * out_stack + row % m * out_row + element % n * out_column
    op = out + place * WORDS + word % WORDS
    if SUBTRACT:
        total = tl.load(op, mask=inside, other=0).to(number) - total
    tl.store(op, total.to(out.dtype.element_ty), mask=inside)
