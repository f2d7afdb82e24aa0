"""Sorting rows and searching in sorted ones.

Elements move as integers of their size; `order.key` says how they compare. Short rows: the place of an element is the
number of those that go before it. Long rows: a radix sort, four bits at a time from the lowest. One launch counts the
digits of all passes; each pass then reads and writes every element once, and a block learns from the blocks before it
where its elements go by looking back at what they have published (Adinolfi and Merrill: Onesweep, arXiv 2206.01784).
Equal elements keep their order.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.order import key


@triton.jit
def sort_short(
    x,
    values,
    indices,
    rows,
    n,
    flip,
    UNSIGNED: tl.constexpr,
    INFINITY: tl.constexpr,
    VALUES: tl.constexpr,
    INDICES: tl.constexpr,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Sort ROWS rows of n <= N elements: the elements to `values`, where they stood to `indices`."""
    r0 = tl.program_id(0).to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)
    i = tl.arange(0, N)
    row_m = row < tl.minimum(rows - r0, ROWS).to(tl.int32)
    m = row_m[:, None] & (i < n)[None, :]
    start = (r0 + row)[:, None] * n
    bits = tl.load(x + start + i[None, :], mask=m, other=0)
    mine = key(bits, flip, UNSIGNED, INFINITY)[:, :, None]
    place = tl.zeros([ROWS, N], tl.int32)
    for first in range(0, N, CHUNK):
        j = first + tl.arange(0, CHUNK)
        other_m = row_m[:, None] & (j < n)[None, :]
        other = key(tl.load(x + start + j[None, :], mask=other_m, other=0), flip, UNSIGNED, INFINITY)[:, None, :]
        earlier = j[None, None, :] < i[None, :, None]
        before = ((other < mine) | ((other == mine) & earlier)) & (j < n)[None, None, :]
        place += tl.sum(before.to(tl.int32), 2)
    if VALUES:
        tl.store(values + start + place, bits, mask=m)
    if INDICES:
        tl.store(indices + start + place, tl.broadcast_to(i[None, :], [ROWS, N]).to(tl.int64), mask=m)


@triton.jit
def digits(bits, flip, shift, UNSIGNED: tl.constexpr, INFINITY: tl.constexpr):
    """Four bits of the keys, from bit `shift` on, in the order of unsigned numbers."""
    LOWEST: tl.constexpr = -(2 ** (bits.dtype.primitive_bitwidth - 1))
    k = key(bits, flip, UNSIGNED, INFINITY) ^ LOWEST
    return ((k >> shift.to(bits.dtype)) & 15).to(tl.int32)


@triton.jit
def counters(digit, mask, WORD: tl.constexpr):
    """One for an element's digit among four counters of 16 bits: those of the digits from 4 * WORD on."""
    one = tl.full(digit.shape, 1, tl.int64) << ((digit & 3) * 16).to(tl.int64)
    return tl.where(mask & ((digit >> 2) == WORD), one, 0)


@triton.jit
def choose(digit, c0, c1, c2, c3):
    """The counter of a digit."""
    word = digit >> 2
    chosen = tl.where(word == 0, c0, tl.where(word == 1, c1, tl.where(word == 2, c2, c3)))
    return (chosen >> ((digit & 3) * 16).to(tl.int64)) & 0xFFFF


@triton.jit
def add_four(a0, a1, a2, a3, b0, b1, b2, b3):
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3


@triton.jit
def count_digits(
    x,
    totals,
    n,
    blocks,
    passes,
    flip,
    UNSIGNED: tl.constexpr,
    INFINITY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """totals[row, pass, digit] += how many elements of a row's block have the digit in a pass."""
    g = tl.program_id(0).to(tl.int64)
    row = g // blocks
    block = g % blocks
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - block * BLOCK, BLOCK).to(tl.int32)
    bits = tl.load(x + row * n + block * BLOCK + i, mask=m, other=0)
    every = tl.arange(0, 16)
    for number in range(passes):
        d = digits(bits, flip, 4 * number, UNSIGNED, INFINITY)
        words = (counters(d, m, 0), counters(d, m, 1), counters(d, m, 2), counters(d, m, 3))
        c0, c1, c2, c3 = tl.reduce(words, 0, add_four)
        count = choose(every, c0, c1, c2, c3).to(totals.dtype.element_ty)
        tl.atomic_add(totals + (row * passes + number) * 16 + every, count, sem="relaxed")


@triton.jit
def counted_before(status, row, block, blocks, LOOK: tl.constexpr):
    """How many elements of each digit the blocks before one have, from what they have published.

    A word of `status` is four times a count and 1 if it counts the block's own elements, 2 if also those of all blocks
    before it, 0 before anything is known. LOOK blocks are looked at at a time, those nearest first.
    """
    every = tl.arange(0, 16)
    back = tl.arange(0, LOOK)[:, None]
    before = tl.zeros([16], status.dtype.element_ty)
    open = every >= 0
    last = block - 1
    waiting = block > 0
    while waiting:
        at = last - back
        place = status + (row * blocks + at) * 16 + every[None, :]
        word = tl.atomic_add(place, 0, mask=(at >= 0) & (every >= 0)[None, :], sem="relaxed")
        word = tl.where(at >= 0, word, 2)
        found = tl.min(tl.where((word & 3) == 2, back, LOOK), 0)
        missing = tl.min(tl.where((word & 3) == 0, back, LOOK), 0)
        ready = tl.min(((missing > found) | (missing == LOOK)).to(tl.int32), 0) == 1
        seen = tl.sum(tl.where(back <= found, word >> 2, 0), 0)
        before = tl.where(ready & open, before + seen, before)
        open = open & ((found == LOOK) | (ready == 0))
        last = tl.where(ready, last - LOOK, last)
        waiting = tl.max(open.to(tl.int32), 0) == 1
    return before


@triton.jit
def move(
    x,
    index,
    tickets,
    status,
    totals,
    starts,
    values,
    indices,
    n,
    blocks,
    passes,
    number,
    flip,
    UNSIGNED: tl.constexpr,
    INFINITY: tl.constexpr,
    VALUES: tl.constexpr,
    INDICES: tl.constexpr,
    FIRST: tl.constexpr,
    LOOK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Pass `number`: move a block's elements to where their digit says, and with INDICES the index of each, which is at
    FIRST its place in the row.

    `tickets` (passes) and `status` (passes, blocks of all rows, digits) are zero beforehand. Blocks are taken in the
    order of tickets, so that none waits for one that has not begun. `starts` is where threads find a digit's start.
    """
    g = tl.atomic_add(tickets + number, 1, sem="relaxed").to(tl.int64)
    row = g // blocks
    block = g % blocks
    status += number * (tl.num_programs(0).to(tl.int64) * 16)
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - block * BLOCK, BLOCK).to(tl.int32)
    at = row * n + block * BLOCK + i
    bits = tl.load(x + at, mask=m, other=0)
    d = digits(bits, flip, 4 * number, UNSIGNED, INFINITY)
    words = (counters(d, m, 0), counters(d, m, 1), counters(d, m, 2), counters(d, m, 3))
    every = tl.arange(0, 16)
    c0, c1, c2, c3 = tl.reduce(words, 0, add_four)
    count = choose(every, c0, c1, c2, c3).to(status.dtype.element_ty)
    own = status + g * 16 + every
    tl.atomic_xchg(own, count * 4 + tl.where(block == 0, 2, 1), sem="relaxed")
    c0, c1, c2, c3 = tl.associative_scan(words, 0, add_four)
    before = counted_before(status, row, block, blocks, LOOK)
    if block > 0:
        tl.atomic_xchg(own, (before + count) * 4 + 2, sem="relaxed")
    total = tl.load(totals + (row * passes + number) * 16 + every)
    tl.store(starts + g * 16 + every, tl.cumsum(total, 0) - total + before)
    tl.debug_barrier()
    start = tl.load(starts + g * 16 + d, mask=m, other=0).to(tl.int64)
    goal = row * n + start + choose(d, c0, c1, c2, c3) - 1
    if VALUES:
        tl.store(values + goal, bits, mask=m)
    if INDICES:
        if FIRST:
            origin = block * BLOCK + i
        else:
            origin = tl.load(index + at, mask=m, other=0)
        tl.store(indices + goal, origin.to(indices.dtype.element_ty), mask=m)


@triton.jit
def search(
    x,
    needles,
    out,
    n,
    count,
    rounds,
    RIGHT: tl.constexpr,
    UNSIGNED: tl.constexpr,
    INFINITY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """out[i] = how many of n sorted elements go before needle i, or with RIGHT do not go after it."""
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(count - base, BLOCK).to(tl.int32)
    none = tl.zeros((), tl.int32)
    wanted = key(tl.load(needles + base + i, mask=m, other=0), none, UNSIGNED, INFINITY)
    low = tl.zeros([BLOCK], tl.int64)
    high = low + n
    for _ in range(rounds):
        middle = (low + high) >> 1
        open = m & (low < high)
        found = key(tl.load(x + middle, mask=open, other=0), none, UNSIGNED, INFINITY)
        if RIGHT:
            before = found <= wanted
        else:
            before = found < wanted
        low = tl.where(open & before, middle + 1, low)
        high = tl.where(open & (before == 0), middle, high)
    tl.store(out + base + i, low, mask=m)
