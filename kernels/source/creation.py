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
