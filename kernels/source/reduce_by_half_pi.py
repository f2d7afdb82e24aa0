"""Argument reduction for sin, cos and tan: x = n · π/2 + r + low with |r| ≤ 0.8, for every finite x ≥ 0.

Up to `FAST_LIMIT` three parts of π/2 are subtracted. Above it the product with as many bits of 2/π as decide the result
is formed in integers (Payne and Hanek): the bits that would give multiples of four quarter turns are never touched.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    constant,
    negate,
    pair_mul,
    quick_two_sum,
    round_product,
    to_bits,
    two_prod,
    two_sum,
)

# 14 zero bits, then 2/π = 0.1010001011… in binary: enough for the largest float64.
TWO_OVER_PI = tl.constexpr(
    (
        0x00028BE60DB93910,
        0x54A7F09D5F47D4D3,
        0x77036D8A5664F10E,
        0x4107F9458EAF7AEF,
        0x1586DC91B8E90937,
        0x4B801924BBA82746,
        0x4873F877AC72C4A6,
        0x9CFBA208D7D4BAED,
        0x1213A671C09AD17D,
        0xF904E64758E60D4C,
        0xE7D272117E2EF7E4,
        0xA0EC7FE25FFF7816,
        0x603FBCBC462D6829,
        0xB47DB4D9FB3C9F2C,
        0x26DD3D18FD9A797F,
        0xA8B5D49EEB1FAF97,
        0xC5ECF41CE7DE294A,
        0x4BA9AFED7EC47E35,
        0x7421580CC11BF1ED,
    )
)


@triton.jit
def beyond_fast(x):
    """Whether x ≥ 0 needs `reduce_huge`: from 2^17 (float64: 2^40) on, infinity included."""
    if x.dtype == tl.float32:
        return x >= 131072.0
    else:
        return x >= 1099511627776.0


@triton.jit
def half_pi(like):
    """π/2 as a pair."""
    if like.dtype == tl.float32:
        return constant(1.5707963705062866, like), constant(-4.371138828673793e-08, like)
    else:
        return constant(1.5707963267948966, like), constant(6.123233995736766e-17, like)


@triton.jit
def reduce_fast(x):
    """(n, r, low) for 0 ≤ x below the limit; n is an integer as wide as x.

    The first difference is exact, because x and the product are multiples of half an ulp of 1 unless n = 0. Of the
    second the rounding error is kept, so that r keeps its relative precision where x is next to a multiple of π/2.
    """
    k, n = round_product(x, 0.6366197723675814)
    high, middle = half_pi(x)
    if x.dtype == tl.float32:
        last = constant(-1.7151245100058819e-15, x)
    else:
        last = constant(-1.4973849048591698e-33, x)
    product, product_low = two_prod(k, middle)
    r, r_low = two_sum(tl.fma(negate(k), high, x), negate(product))
    return n, r, tl.fma(negate(k), last, r_low - product_low)


@triton.jit
def word(index, offset: tl.constexpr, count: tl.constexpr):
    """Word index + offset of 2/π, for an index below count."""
    selected = tl.full((), TWO_OVER_PI[offset], tl.uint64)
    for i in tl.static_range(1, count):
        selected = tl.where(index == i, tl.full((), TWO_OVER_PI[offset + i], tl.uint64), selected)
    return selected


@triton.jit
def shift_pair(high, low, shift):
    """The upper word of (high, low) << shift, for 0 ≤ shift < 64."""
    return (high << shift) | ((low >> 1) >> (63 - shift))


@triton.jit
def multiply_limb(mantissa_low, mantissa_high, limb, previous_limb, carry, carry_high):
    """One step of the product of a mantissa of 32 + 21 bits with a long number, in limbs of 32 bits.

    Returns the two carries: the lower half of the second is the limb of the product.
    """
    carry = mantissa_low * limb + (carry >> 32)
    return carry, mantissa_high * previous_limb + (carry_high >> 32) + (carry & 0xFFFFFFFF)


@triton.jit
def reduce_huge(x):
    """(n, r, low) for finite x from the limit on."""
    # x = mantissa · 2^exponent; dropping exponent - 2 bits of 2/π drops multiples of 4 from x · 2/π
    width: tl.constexpr = x.dtype.fp_mantissa_width
    i = to_bits(x)
    mantissa = ((i & (2**width - 1)) | 2**width).to(tl.uint64)
    if x.dtype == tl.float32:
        position = (i >> width) - (127 + width) + 12
        words: tl.constexpr = 2
    else:
        position = (i >> width) - (1023 + width) + 12
        words: tl.constexpr = 16
    index = position >> 6
    shift = (position & 63).to(tl.uint64)
    w0 = word(index, 0, words)
    w1 = word(index, 1, words)
    w2 = word(index, 2, words)
    high = shift_pair(w0, w1, shift)
    middle = shift_pair(w1, w2, shift)
    # the product modulo 2^128 (float64: 2^192): two bits of whole quarter turns, then the fraction
    m = mantissa & 0xFFFFFFFF
    h = mantissa >> 32
    zero = mantissa & 0
    c, p0, l0 = zero, zero, zero
    if x.dtype == tl.float64:
        low = shift_pair(w2, word(index, 3, words), shift)
        l0 = low & 0xFFFFFFFF
        c, p0 = multiply_limb(m, h, l0, zero, c, p0)
        c, p0 = multiply_limb(m, h, low >> 32, l0, c, p0)
        l0 = low >> 32
    c, p0 = multiply_limb(m, h, middle & 0xFFFFFFFF, l0, c, p0)
    c, p1 = multiply_limb(m, h, middle >> 32, middle & 0xFFFFFFFF, c, p0)
    c, p2 = multiply_limb(m, h, high & 0xFFFFFFFF, middle >> 32, c, p1)
    c, p3 = multiply_limb(m, h, high >> 32, high & 0xFFFFFFFF, c, p2)
    upper = (p3 << 32) | (p2 & 0xFFFFFFFF)
    lower = (p1 << 32) | (p0 & 0xFFFFFFFF)
    # to the nearest quarter turn: a fraction from a half on becomes negative (as the complement, an error of 2^-126)
    fraction = (upper << 2) | (lower >> 62)
    n = (upper >> 62) + (fraction >> 63)
    negative = (fraction >> 63) != 0
    flip = zero - (fraction >> 63)
    fraction = fraction ^ flip
    if x.dtype == tl.float32:
        a, a_low = quick_two_sum(
            (fraction >> 40).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08,
            ((fraction >> 16) & 0xFFFFFF).to(tl.int32).to(tl.float32) * 3.552713678800501e-15,
        )
        a, a_low = quick_two_sum(a, a_low + (fraction & 0xFFFF).to(tl.int32).to(tl.float32) * 5.421010862427522e-20)
    else:
        a, a_low = quick_two_sum(
            (fraction >> 32).to(tl.float64) * 2.3283064365386963e-10,
            (fraction & 0xFFFFFFFF).to(tl.float64) * 5.421010862427522e-20,
        )
        a, a_low = quick_two_sum(a, a_low + ((lower << 2) ^ flip).to(tl.float64) * 2.938735877055719e-39)
    r, low_part = pair_mul(a, a_low, *half_pi(x))
    r = tl.where(negative, negate(r), r)
    low_part = tl.where(negative, negate(low_part), low_part)
    return n.to(i.dtype), r, low_part
