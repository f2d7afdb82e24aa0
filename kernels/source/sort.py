"""Sorting rows and searching in sorted ones.

Elements move as integers of their size; `order.key` says how they compare. Equal elements keep their order.

Short rows are merged: in a merge the place of an element is the number of those that go before it, which a binary
search finds. A program merges a row, or a run of one, by itself; then launches merge what programs have sorted. Long
rows: a radix sort, four bits at a time from the lowest. One launch counts the digits of all passes; each pass then
reads and writes every element once, and a block learns from the blocks before it where its elements go by looking back
at what they have published (Adinolfi and Merrill: Onesweep, arXiv 2206.01784).
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.order import key


@triton.jit
def _place(keys, i, n, width):
    """The elements of n at places i in runs of `width` keys, a power of two, and where they go when each two runs
    become one.

    That is its place in its own run, and the number of keys of the other run that go before its own: of equal keys
    those of the run on the left do. Elements beside each other search at places beside each other, so that a warp's
    reads meet in few lines of the cache; they go without masks, which would have them wait for each other.
    """
    mine = tl.load(keys + tl.minimum(i, n - 1))
    right = (i & width) != 0
    other = (i & -width) ^ width
    length = tl.minimum(n - other, width)  # of the last run; below 1 where there is none
    count = i * 0
    step = width
    while step > 0:
        more = count + step
        key = tl.load(keys + tl.minimum(other + more, n) - 1)
        before = (key < mine) | (right & (key == mine))
        count = tl.where((more <= length) & before, more, count)
        step = step >> 1
    return mine, (i & ~width) + count


@triton.jit
def _give(x, values, indices, source, i, live, VALUES: tl.constexpr, INDICES: tl.constexpr):
    """The elements of x from places `source`, and these, as results i."""
    if VALUES:
        tl.store(values + i, tl.load(x + source, mask=live, other=0), mask=live)
    if INDICES:
        tl.store(indices + i, source.to(tl.int64), mask=live)


@triton.jit
def sort_runs(
    x,
    values,
    indices,
    keys,
    order,
    rows,
    n,
    runs,
    flip,
    UNSIGNED: tl.constexpr,
    INFINITY: tl.constexpr,
    VALUES: tl.constexpr,
    INDICES: tl.constexpr,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    GROUP: tl.constexpr,
    WHOLE: tl.constexpr,
):
    """Sort runs of N elements of rows of n: ROWS rows that are a run each if WHOLE, else one run of a row.

    Whole rows go to `values`, and where their elements stood to `indices`. Else the keys of a run go to `keys` and
    where they stood in the row to `order`, each of two times all elements, whose halves are read and written in turn.
    GROUP elements are sorted by counting for each those before it; then runs are merged.
    """
    g = tl.program_id(0).to(tl.int64)
    row = g // runs * ROWS + tl.arange(0, ROWS)[:, None]
    beyond = row >= rows
    row = tl.minimum(row, rows - 1)  # so that all may be read
    first = g % runs * N
    start = row * n + first
    size = tl.minimum(n - first, N).to(tl.int32)
    total = rows * n
    i = tl.arange(0, N)[None, :] + tl.zeros([ROWS, 1], tl.int32)
    live = (beyond == 0) & (i < size)
    x += start
    mine = key(tl.load(x + i, mask=live, other=0), flip, UNSIGNED, INFINITY)
    base = i & -GROUP
    place = base
    for j in range(GROUP):
        at = base + j
        counted = live & (at < size)
        other = key(tl.load(x + at, mask=counted, other=0), flip, UNSIGNED, INFINITY)
        before = (other < mine) | ((other == mine) & (at < i))
        place += (counted & before).to(tl.int32)
    if WHOLE and N <= GROUP:
        if VALUES:
            tl.store(values + start + place, tl.load(x + i, mask=live, other=0), mask=live)
        if INDICES:
            tl.store(indices + start + place, i.to(tl.int64), mask=live)
    else:
        keys += start
        order += start
        here = total * 0
        tl.store(keys + place, mine, mask=live)
        tl.store(order + place, i + first.to(tl.int32), mask=live)
        width = size * 0 + GROUP
        while width < (size if WHOLE else N):
            tl.debug_barrier()
            there = total - here
            mine, place = _place(keys + here, i, size, width)
            source = tl.load(order + here + i, mask=live, other=0)
            tl.store(keys + there + place, mine, mask=live)
            tl.store(order + there + place, source, mask=live)
            here = there
            width = width * 2
        if WHOLE:
            tl.debug_barrier()
            source = tl.load(order + here + i, mask=live, other=0)
            _give(x, values + start, indices + start, source, i, live, VALUES, INDICES)


@triton.jit
def merge_runs(
    x,
    values,
    indices,
    keys,
    order,
    merged_keys,
    merged_order,
    n,
    blocks,
    width,
    VALUES: tl.constexpr,
    INDICES: tl.constexpr,
    LAST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Merge each two runs of `width` keys of rows of n, and where they stood in the row; what is wanted if LAST."""
    g = tl.program_id(0).to(tl.int64)
    start = g // blocks * n
    size = n.to(tl.int32)
    i = (g % blocks * BLOCK).to(tl.int32) + tl.arange(0, BLOCK)
    live = i < size
    mine, place = _place(keys + start, i, size, width.to(tl.int32))
    source = tl.load(order + start + i, mask=live, other=0)
    if LAST:
        _give(x + start, values + start, indices + start, source, place, live, VALUES, INDICES)
    else:
        tl.store(merged_keys + start + place, mine, mask=live)
        tl.store(merged_order + start + place, source, mask=live)


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
