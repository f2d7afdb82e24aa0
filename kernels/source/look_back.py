"""How the programs of a launch tell those after them numbers, and learn them from those before them.

A number travels in words of which the lower half holds bits of it and the upper half a tag. A word with this launch's
tag is there, whole, in whatever order memory shows writes to others: nothing needs a fence, relaxed atomics suffice,
and so the same text holds for CUDA, HIP, Metal, whose language orders nothing else, and threads of the CPU. A word is
written once in a launch. Programs take their places by counting, so that none waits for one that has not begun.
"""

import triton
import triton.language as tl


@triton.jit
def claim(counter):
    """A program's place in the order in which programs begin. The counter is zero before and after a launch."""
    taken = tl.atomic_add(counter, 1, sem="relaxed")
    if taken == tl.num_programs(0) - 1:
        tl.atomic_xchg(counter, 0, sem="relaxed")
    return taken.to(tl.int64)


@triton.jit
def word(x, k: tl.constexpr, tag):
    """The k-th word of a number, those with the lowest bits first, of the type of `tag`."""
    BITS: tl.constexpr = x.dtype.primitive_bitwidth
    HALF: tl.constexpr = tag.dtype.primitive_bitwidth // 2
    LOWER: tl.constexpr = 2**HALF - 1
    if BITS == 8:
        bits = x.to(tl.int8, bitcast=True)
    elif BITS == 16:
        bits = x.to(tl.int16, bitcast=True)
    elif BITS == 32:
        bits = x.to(tl.int32, bitcast=True)
    else:
        bits = x.to(tl.int64, bitcast=True)
    if k > 0:
        bits = bits >> (k * HALF)
    return (bits.to(tag.dtype) & LOWER) | (tag << HALF)


@triton.jit
def half(w, k: tl.constexpr, INTEGER: tl.constexpr):
    """What the k-th word of a number says of it: add up those of all words, and take the sum for the number's bits."""
    HALF: tl.constexpr = w.dtype.primitive_bitwidth // 2
    LOWER: tl.constexpr = 2**HALF - 1
    bits = (w & LOWER).to(INTEGER)
    if k > 0:
        bits = bits << (k * HALF)
    return bits


@triton.jit
def absent(w, tag):
    """Whether a word is not there yet."""
    HALF: tl.constexpr = w.dtype.primitive_bitwidth // 2
    LOWER: tl.constexpr = 2**HALF - 1
    return ((w >> HALF) & LOWER) != tag
