"""Arrays whose elements follow from their position."""

import triton
import triton.language as tl


@triton.jit
def arithmetic(o, start, step, n, BLOCK: tl.constexpr):
    """o[i] = start + i * step, in the type of `start`, rounded or wrapped to the array's."""
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    value = start + (base + i).to(start.dtype) * step
    tl.store(o + base + i, value.to(o.dtype.element_ty), mask=i < tl.minimum(n - base, BLOCK).to(tl.int32))


@triton.jit
def spaced(o, start, step, stop, last, n, BLOCK: tl.constexpr):
    """o[i] = start + i * step, and `stop` at position `last` (-1 for none): a range whose end is exact."""
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    position = base + i
    value = start + position.to(start.dtype) * step
    value = tl.where(position == last, stop, value)
    tl.store(o + base + i, value.to(o.dtype.element_ty), mask=i < tl.minimum(n - base, BLOCK).to(tl.int32))


@triton.jit
def tile(rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A program's rows and columns of a packed matrix, and which of them there are."""
    across = tl.cdiv(columns, COLUMNS)
    g = tl.program_id(0).to(tl.int64)
    r0 = (g // across) * ROWS
    c0 = (g % across) * COLUMNS
    row = tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    row_m = row < tl.minimum(rows - r0, ROWS).to(tl.int32)
    column_m = column < tl.minimum(columns - c0, COLUMNS).to(tl.int32)
    return r0 + row, c0 + column, row_m[:, None] & column_m[None, :]


@triton.jit
def diagonal(o, one, rows, columns, k, WORDS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """o[r, c] = `one` where c - r = k, else 0. An element is WORDS words, of which `one` is the first."""
    r, c, m = tile(rows, columns, ROWS, COLUMNS)
    there = c[None, :] - r[:, None] == k
    at = (r[:, None] * columns + c[None, :]) * WORDS
    tl.store(o + at, tl.where(there, one, 0).to(o.dtype.element_ty), mask=m)
    if WORDS == 2:
        tl.store(o + at + 1, tl.zeros([ROWS, COLUMNS], o.dtype.element_ty), mask=m)


@triton.jit
def triangle(
    x, o, total, rows, columns, k, LOWER: tl.constexpr, WORDS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """o = x on one side of each matrix's k-th diagonal, and 0 on the other. `total` counts the rows of all matrices."""
    r, c, m = tile(total, columns, ROWS, COLUMNS)
    distance = c[None, :] - (r % rows)[:, None]
    keep = distance <= k if LOWER else distance >= k
    at = (r[:, None] * columns + c[None, :]) * WORDS
    for w in tl.static_range(WORDS):
        tl.store(o + at + w, tl.load(x + at + w, mask=m & keep, other=0), mask=m)
