"""Distinct elements of a sorted vector: each is the first of its equals."""

import triton
import triton.language as tl


@triton.jit
def firsts(x, base, n, i, m, WORDS: tl.constexpr):
    """Which elements of a block differ from the one before them; an element is WORDS words, two for a complex one."""
    at = base + i
    before_m = m & (at > 0)
    new = at == 0
    for w in tl.static_range(WORDS):
        here = tl.load(x + at * WORDS + w, mask=m, other=0)
        before = tl.load(x + (at - 1) * WORDS + w, mask=before_m, other=0)
        new = new | (here != before)
    return new & m


@triton.jit
def count_firsts(x, counts, n, WORDS: tl.constexpr, BLOCK: tl.constexpr):
    """counts[p] = the number of distinct elements that begin in block p."""
    p = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - p * BLOCK, BLOCK).to(tl.int32)
    new = firsts(x, p * BLOCK, n, i, m, WORDS)
    tl.store(counts + p, tl.sum(new.to(tl.int32), 0).to(tl.int64))


@triton.jit
def place_firsts(
    x,
    order,
    starts,
    values,
    indices,
    inverse,
    ends,
    n,
    WORDS: tl.constexpr,
    INDICES: tl.constexpr,
    INVERSE: tl.constexpr,
    ENDS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The distinct elements to `values`; with INDICES the first one's of `order` to `indices`; with INVERSE the number
    of each element's value to inverse[order]; with ENDS where each value begins to `ends`, and n behind the last.

    starts[p] is how many distinct elements begin before block p.
    """
    p = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    m = i < tl.minimum(n - p * BLOCK, BLOCK).to(tl.int32)
    new = firsts(x, p * BLOCK, n, i, m, WORDS)
    k = tl.load(starts + p) + tl.cumsum(new.to(tl.int32), 0) - 1
    at = p * BLOCK + i
    for w in tl.static_range(WORDS):
        tl.store(values + k * WORDS + w, tl.load(x + at * WORDS + w, mask=new, other=0), mask=new)
    if ENDS:
        tl.store(ends + k, at, mask=new)
        tl.store(ends + k + 1, at + 1, mask=at == n - 1)
    if INDICES or INVERSE:
        place = tl.load(order + at, mask=m, other=0)
        if INDICES:
            tl.store(indices + k, place, mask=new)
        if INVERSE:
            tl.store(inverse + place, k, mask=m)
