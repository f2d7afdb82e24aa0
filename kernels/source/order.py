"""The order that sorting and searching go by, as integers."""

import triton
import triton.language as tl


@triton.jit
def key(bits, flip, UNSIGNED: tl.constexpr, INFINITY: tl.constexpr):
    """Integers that order as the numbers do whose bits are given: NaN last whatever its sign, -0 equal to +0.

    INFINITY is the bits of infinity for floats, 0 for integers. With a flip of -1 instead of 0 the order is reversed,
    but for NaN.
    """
    LOWEST: tl.constexpr = -(2 ** (bits.dtype.primitive_bitwidth - 1))
    HIGHEST: tl.constexpr = 2 ** (bits.dtype.primitive_bitwidth - 1) - 1
    flip = flip.to(bits.dtype)
    if INFINITY != 0:
        magnitude = bits & HIGHEST
        number = tl.where(bits < 0, -magnitude, bits)
        return tl.where(magnitude > INFINITY, HIGHEST, number ^ flip)
    elif UNSIGNED:
        return bits ^ LOWEST ^ flip
    else:
        return bits ^ flip
