"""Matrix products of stacks of matrices with any strides."""

import triton
import triton.language as tl


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
    PRECISION: tl.constexpr,
    A_UNIT: tl.constexpr,
    B_UNIT: tl.constexpr,
    STEP: tl.constexpr,
    WHOLE: tl.constexpr,
    WHOLE_K: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    """out[s] = a[s] @ b[s] for floating-point matrices; 16-bit ones are added up in float32.

    A program computes a BM by BN tile, GROUP of them in a column next to each other, so that they share b in the cache.
    A_UNIT and B_UNIT name the axis whose stride is 1, if any; strides are given as multiples of STEP; WHOLE says that
    tiles fit m and n, WHOLE_K that they fit k.
    """
    down = tl.cdiv(m, BM)
    across = tl.cdiv(n, BN)
    g = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1).to(tl.int64)
    first = g // (GROUP * across) * GROUP
    height = tl.minimum(down - first, GROUP)
    row = (first + g % (GROUP * across) % height) * BM + tl.arange(0, BM)
    column = (g % (GROUP * across) // height) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    row_step = 1 if A_UNIT == "row" else a_row * STEP
    inner_step = 1 if A_UNIT == "column" else a_column * STEP
    other_step = 1 if B_UNIT == "row" else b_row * STEP
    column_step = 1 if B_UNIT == "column" else b_column * STEP
    ap = a + s * a_stack * STEP + row[:, None] * row_step + inner[None, :] * inner_step
    bp = b + s * b_stack * STEP + inner[:, None] * other_step + column[None, :] * column_step
    row_m = row < m
    column_m = column < n
    number = tl.float64 if a.dtype.element_ty == tl.float64 else tl.float32
    acc = tl.zeros((BM, BN), number)
    for k0 in range(0, k, BK):
        if WHOLE and WHOLE_K:
            x = tl.load(ap)
            y = tl.load(bp)
        else:
            inner_m = inner < k - k0
            x = tl.load(ap, mask=row_m[:, None] & inner_m[None, :], other=0.0)
            y = tl.load(bp, mask=inner_m[:, None] & column_m[None, :], other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=number)
        ap += BK * inner_step
        bp += BK * other_step
    op = out + s * m * n + row[:, None] * n + column[None, :]
    tl.store(op, acc.to(out.dtype.element_ty), mask=row_m[:, None] & column_m[None, :])


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
    COMPLEX: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """out[s] = a[s] @ b[s] by columns of a times rows of b: integers, exact modulo their width, and complex numbers."""
    down = tl.cdiv(m, BM)
    g = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1).to(tl.int64)
    row = (g % down) * BM + tl.arange(0, BM)[:, None]
    column = (g // down) * BN + tl.arange(0, BN)[None, :]
    row_m = row < m
    column_m = column < n
    words = 2 if COMPLEX else 1
    ap = a + (s * a_stack + row * a_row) * words
    bp = b + (s * b_stack + column * b_column) * words
    acc = tl.zeros((BM, BN), out.dtype.element_ty)
    imaginary = tl.zeros((BM, BN), out.dtype.element_ty)
    for _ in range(0, k):
        x = tl.load(ap, mask=row_m, other=0)
        y = tl.load(bp, mask=column_m, other=0)
        if COMPLEX:
            xi = tl.load(ap + 1, mask=row_m, other=0)
            yi = tl.load(bp + 1, mask=column_m, other=0)
            acc += x * y - xi * yi
            imaginary += x * yi + xi * y
        else:
            acc += x * y
        ap += a_column * words
        bp += b_row * words
    op = out + (s * m * n + row * n + column) * words
    m2 = row_m & column_m
    tl.store(op, acc, mask=m2)
    if COMPLEX:
        tl.store(op + 1, imaginary, mask=m2)
