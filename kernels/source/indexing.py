"""Indexing by integer arrays and masks: offsets, gather, scatter, compaction, counts.

An offset says, in elements, where an index lands; the lowest int64 stands for an index out of range, which is neither
read nor written.
"""

import triton
import triton.language as tl

NOWHERE = tl.constexpr(-(2**63))


@triton.jit
def offsets(index, out, status, n, size, stride, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    """out[i] = (or, unless FIRST, +=) the offset of index[i] along an axis of `size` elements `stride` apart.

    Negative indices count from the end. An index out of range sets the status word.
    """
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - base, BLOCK).to(tl.int32)
    k = tl.load(index + base + i, mask=m, other=0).to(tl.int64)
    k = tl.where(k < 0, k + size, k)
    wrong = (k < 0) | (k >= size)
    offset = k * stride
    if not FIRST:
        before = tl.load(out + base + i, mask=m, other=0)
        wrong = wrong | (before == NOWHERE)
        offset += before
    tl.store(out + base + i, tl.where(wrong, NOWHERE, offset), mask=m)
    if tl.max((wrong & m).to(tl.int32), 0) != 0:
        tl.store(status, 1)


@triton.jit
def place(rows, length, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The numbers of a program's rows and columns, and which of them there are."""
    across = tl.cdiv(length, COLUMNS)
    g = tl.program_id(0).to(tl.int64)
    r0 = (g // across) * ROWS
    c0 = (g % across) * COLUMNS
    row = tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    row_m = row < tl.minimum(rows - r0, ROWS).to(tl.int32)
    column_m = column < tl.minimum(length - c0, COLUMNS).to(tl.int32)
    return r0 + row, c0 + column, row_m, column_m


@triton.jit
def tile(where, rows, count, length, outer, MANY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A program's rows, each a pair (p, b), and columns q: their numbers, where the rows begin, whether there is such a
    place, and which of them lie inside."""
    r, q, row_m, column_m = place(rows, length, ROWS, COLUMNS)
    if MANY:
        p = r // count
        offset = tl.load(where + (r - p * count), mask=row_m, other=NOWHERE)
        start = p * outer + offset
    else:
        offset = tl.load(where + r, mask=row_m, other=NOWHERE)
        start = offset
    return r, q, start, row_m & (offset != NOWHERE), row_m, column_m


@triton.jit
def pick(
    source,
    index,
    out,
    status,
    rows,
    count,
    length,
    size,
    outer,
    step,
    inner,
    EACH: tl.constexpr,
    MANY: tl.constexpr,
    WORDS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """out[p, b, q] = source[p * outer + k * step + q * inner] for b < count, q < length, rows = p's * count, where k
    is index[b] or, if EACH, index[p, b, q]; less than 0 it counts from the end of `size`.

    An index out of range sets the status word and gives 0. An element is WORDS words, two for a complex one.
    """
    r, q, row_m, column_m = place(rows, length, ROWS, COLUMNS)
    m = row_m[:, None] & column_m[None, :]
    goal = r[:, None] * length + q[None, :]
    p = r // count if MANY else r * 0
    if EACH:
        k = tl.load(index + goal, mask=m, other=0)
    else:
        k = tl.load(index + (r - p * count), mask=row_m, other=0)[:, None]
    k = tl.where(k < 0, k + size, k)
    wrong = (k < 0) | (k >= size)
    origin = (p * outer)[:, None] + k * step + (q * inner)[None, :]
    for w in tl.static_range(WORDS):
        value = tl.load(source + origin * WORDS + w, mask=m & ~wrong, other=0)
        tl.store(out + goal * WORDS + w, value, mask=m)
    tl.store(status + tl.zeros([ROWS, COLUMNS], tl.int32), tl.full([ROWS, COLUMNS], 1, tl.int64), mask=m & wrong)


@triton.jit
def gather(
    source,
    where,
    out,
    rows,
    count,
    length,
    outer,
    inner,
    MANY: tl.constexpr,
    WORDS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """out[p, b, q] = source[p * outer + where[b] + q * inner] for b < count, q < length, and rows = p's * count.

    An element is WORDS words, two for a complex one.
    """
    r, q, start, found, row_m, column_m = tile(where, rows, count, length, outer, MANY, ROWS, COLUMNS)
    origin = (start[:, None] + q[None, :] * inner) * WORDS
    goal = (r[:, None] * length + q[None, :]) * WORDS
    for w in tl.static_range(WORDS):
        value = tl.load(source + origin + w, mask=found[:, None] & column_m[None, :], other=0)
        tl.store(out + goal + w, value, mask=row_m[:, None] & column_m[None, :])


@triton.jit
def scatter(
    target,
    where,
    value,
    rows,
    count,
    length,
    outer,
    inner,
    step,
    MANY: tl.constexpr,
    WORDS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """target[p * outer + where[b] + q * inner] = value[(p, b, q) * step], where step 0 repeats one value."""
    r, q, start, found, _, column_m = tile(where, rows, count, length, outer, MANY, ROWS, COLUMNS)
    m = found[:, None] & column_m[None, :]
    origin = (r[:, None] * length + q[None, :]) * (step * WORDS)
    goal = (start[:, None] + q[None, :] * inner) * WORDS
    for w in tl.static_range(WORDS):
        x = tl.load(value + origin + w, mask=m)
        tl.store(target + goal + w, x, mask=m)


@triton.jit
def slot_of(place, bits):
    """Where the search for a place begins in a table of 2^bits slots: its hash by multiplication with 2^64 over the
    golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4)."""
    product = (place * -7046029254386353131).to(tl.uint64, bitcast=True)
    return (product >> (64 - bits).to(tl.uint64)).to(tl.int64)


@triton.jit
def claim(where, table, n, bits, BLOCK: tl.constexpr):
    """Enter the names 1 + b of all places where[b] in the table, all zeros before, so that the first name of a
    place that a search finds is its last.

    An ordered hash table (Amble and Knuth 1974, https://doi.org/10.1093/comjnl/17.2.135): a slot keeps the greatest
    name that came by, and others go on to the next slot. So it needs no compare and exchange, which Triton 3.6 cannot
    compile for AMD. A name that meets a greater one of its place goes no further.
    """
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - base, BLOCK).to(tl.int32)
    place = tl.load(where + base + i, mask=m, other=NOWHERE)
    name = base + i + 1
    slot = slot_of(place, bits)
    left = m & (place != NOWHERE)
    while tl.max(left.to(tl.int32), 0) != 0:
        old = tl.atomic_max(table + slot, name.to(table.dtype.element_ty), mask=left, sem="relaxed").to(tl.int64)
        left = left & (old != 0)
        other = tl.load(where + old - 1, mask=left, other=NOWHERE)
        left = left & (other != place)
        ousted = left & (old < name)
        name = tl.where(ousted, old, name)
        place = tl.where(ousted, other, place)
        slot = tl.where(left, (slot + 1) & ((1 << bits) - 1), slot)


@triton.jit
def keep_last(where, table, n, bits, BLOCK: tl.constexpr):
    """Turn each where[b] for which the table names a later one into NOWHERE. Those that it names stay, so what other
    programs compare with does not change under them."""
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - base, BLOCK).to(tl.int32)
    place = tl.load(where + base + i, mask=m, other=NOWHERE)
    slot = slot_of(place, bits)
    left = m & (place != NOWHERE)
    while tl.max(left.to(tl.int32), 0) != 0:
        last = tl.load(table + slot, mask=left, other=1).to(tl.int64) - 1
        same = left & (tl.load(where + last, mask=left, other=NOWHERE) == place)
        tl.store(where + base + i, tl.full([BLOCK], NOWHERE, tl.int64), mask=same & (last != base + i))
        left = left & (same == 0)
        slot = tl.where(left, (slot + 1) & ((1 << bits) - 1), slot)


@triton.jit
def read_mask(mask, base, n, GPU: tl.constexpr, BLOCK: tl.constexpr):
    """A block of a mask, false beyond its end. GPUs read whole blocks 16 bytes at a time."""
    i = tl.arange(0, BLOCK)
    if GPU:
        if base + BLOCK <= n:
            x = tl.load(mask + base + i)
        else:
            x = tl.load(mask + base + i, mask=i < n - base, other=0)
    else:
        x = tl.load(mask + base + i, mask=i < tl.minimum(n - base, BLOCK).to(tl.int32), other=0)
    return x != 0


@triton.jit
def count_true(mask, counts, n, GPU: tl.constexpr, BLOCK: tl.constexpr):
    """counts[p] = the number of true elements in block p."""
    pid = tl.program_id(0)
    x = read_mask(mask, pid.to(tl.int64) * BLOCK, n, GPU, BLOCK)
    tl.store(counts + pid, tl.sum(x.to(tl.int32), 0).to(tl.int64))


@triton.jit
def running_totals(counts, total, n, BLOCK: tl.constexpr):
    """Replace counts by the sum of those before; the sum of all goes to `total`. One program."""
    i = tl.arange(0, BLOCK)
    carry = tl.zeros((), tl.int64)
    for start in range(0, n, BLOCK):
        m = i < tl.minimum(n - start, BLOCK).to(tl.int32)
        x = tl.load(counts + start + i, mask=m, other=0)
        s = tl.cumsum(x, 0)
        tl.store(counts + start + i, carry + s - x, mask=m)
        carry += tl.sum(x, 0)
    tl.store(total, carry)


@triton.jit
def positions(mask, starts, out, n, GPU: tl.constexpr, BLOCK: tl.constexpr):
    """The positions of true elements, in order, from each block's start on; their number follows the last start."""
    pid = tl.program_id(0)
    start = tl.load(starts + pid)
    if tl.load(starts + pid + 1) == start:
        return
    base = pid.to(tl.int64) * BLOCK
    x = read_mask(mask, base, n, GPU, BLOCK)
    s = tl.cumsum(x.to(tl.int32), 0)
    tl.store(out + start + s - 1, base + tl.arange(0, BLOCK), mask=x)


@triton.jit
def count(index, counts, n, BLOCK: tl.constexpr):
    """counts[index[i]] += 1. Whole numbers add up to the same in any order."""
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - base, BLOCK).to(tl.int32)
    k = tl.load(index + base + i, mask=m, other=0).to(tl.int64)
    tl.atomic_add(counts + k, tl.full([BLOCK], 1, counts.dtype.element_ty), mask=m, sem="relaxed")
