"""Exact building blocks of the mathematical functions: correctly rounded division and square root, error-free sums and
products, numbers as unevaluated pairs (high, low), exponents and bits; and `hypot`, which needs nothing else.

Rules that keep results equal on every backend, to be followed by whoever writes a function from these:

* a multiply-add is fused only where `tl.fma` says so; kernels are compiled with `enable_fp_fusion=False`;
* `tl.fma` rounds a literal operand to float32 in Triton 3.6, so a constant reaches it through `constant(value, x)` or
  `polynomial`; in `x * literal`, `x + literal`, comparisons and `tl.where(c, x, literal)` it takes the type of x;
* Triton 3.6 turns `-x` into `0 - x` and the literal -0.0 into 0.0: change signs with `negate` and `copysign`;
* NaN is written `float("nan")`: Triton takes a global constant that is NaN for one that has changed;
* a value that may be NaN is compared so that NaN takes the branch that keeps it: `tl.where(x > a, a, x)`.
"""

import triton
import triton.language as tl

INFINITY = tl.constexpr(float("inf"))


@triton.jit
def constant(value: tl.constexpr, like):
    """`value` in the floating type of `like`."""
    return tl.full((), value, like.dtype)


@triton.jit
def div(a, b):
    """a / b, correctly rounded (a plain float32 `/` is an approximation on CUDA)."""
    if a.dtype == tl.float32:
        return tl.div_rn(a, b)
    else:
        return a / b


@triton.jit
def sqrt(x):
    """The square root, correctly rounded."""
    if x.dtype == tl.float32:
        return tl.sqrt_rn(x)
    else:
        return tl.sqrt(x)


@triton.jit
def negate(x):
    """-x; of a zero, too."""
    return x * -1.0


# Bits and exponents. Integers have the width of the float: int32 for float32, int64 for float64.


@triton.jit
def to_bits(x):
    if x.dtype == tl.float32:
        return x.to(tl.int32, bitcast=True)
    else:
        return x.to(tl.int64, bitcast=True)


@triton.jit
def from_bits(i):
    if i.dtype == tl.int32:
        return i.to(tl.float32, bitcast=True)
    else:
        return i.to(tl.float64, bitcast=True)


@triton.jit
def sign_bit(x):
    """The sign of x alone: the integer with x's sign bit and zeros below."""
    if x.dtype == tl.float32:
        return to_bits(x) & -0x80000000
    else:
        return to_bits(x) & -0x8000000000000000


@triton.jit
def copysign(magnitude, sign):
    """|magnitude| with the sign of `sign` (of -0 and NaN, too)."""
    return from_bits(to_bits(tl.abs(magnitude)) | sign_bit(sign))


@triton.jit
def flip_sign(x, sign):
    """x, negated where `sign` has its sign bit set."""
    return from_bits(to_bits(x) ^ sign_bit(sign))


@triton.jit
def round_product(x, factor: tl.constexpr):
    """x · factor rounded to the nearest integer, as a float and as an integer; below 2^22 (float64: 2^51) in size."""
    if x.dtype == tl.float32:
        shifted = tl.fma(x, constant(factor, x), constant(12582912.0, x))
        return shifted - 12582912.0, to_bits(shifted) - 0x4B400000
    else:
        shifted = tl.fma(x, constant(factor, x), constant(6755399441055744.0, x))
        return shifted - 6755399441055744.0, to_bits(shifted) - 0x4338000000000000


@triton.jit
def power_of_two(n, like):
    """2^n for the exponent n of a normal number, -126 ≤ n ≤ 127 (float64: -1022 ≤ n ≤ 1023); infinity for the next."""
    if like.dtype == tl.float32:
        return from_bits((n + 127) << 23)
    else:
        return from_bits((n + 1023) << 52)


@triton.jit
def scale(x, n):
    """x · 2^n with one rounding, for |x| in [1/4, 4] and any n from 2·(least normal exponent) to twice the greatest: a
    result below the normal numbers is rounded to a subnormal, one above them is infinite."""
    half = n >> 1
    return x * power_of_two(half, x) * power_of_two(n - half, x)


@triton.jit
def scale_down(x, n):
    """x · 2^n with one rounding, for |x| in [1/4, 4] and n from -188 to 60 (float64: -1532 to 508)."""
    if x.dtype == tl.float32:
        return x * power_of_two(n + 64, x) * 5.421010862427522e-20
    else:
        return x * power_of_two(n + 512, x) * 7.458340731200207e-155


@triton.jit
def split_normal(x):
    """(m, n) with x = m · 2^n, √½ ≤ m < √2 and n an integer of x's width, for a positive normal x."""
    if x.dtype == tl.float32:
        i = to_bits(x) - 0x3F3504F3
        return from_bits((i & 0x7FFFFF) + 0x3F3504F3), i >> 23
    else:
        i = to_bits(x) - 0x3FE6A09E667F3BCD
        return from_bits((i & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD), i >> 52


@triton.jit
def exponent_as_float(n, like):
    """An exponent, which has at most 12 bits; from int32, which is one instruction where from int64 it takes many."""
    return n.to(tl.int32).to(like.dtype)


@triton.jit
def split(x):
    """(m, e) with x = m · 2^e, √½ ≤ m < √2 and e a float, for a positive finite x, subnormal or not."""
    if x.dtype == tl.float32:
        subnormal = x < 1.1754943508222875e-38
        m, n = split_normal(tl.where(subnormal, x * 8388608.0, x))
        e = exponent_as_float(n, x)
        return m, tl.where(subnormal, e - 23.0, e)
    else:
        subnormal = x < 2.2250738585072014e-308
        m, n = split_normal(tl.where(subnormal, x * 4503599627370496.0, x))
        e = exponent_as_float(n, x)
        return m, tl.where(subnormal, e - 52.0, e)


# Reciprocals of float32 without the branches of correct rounding, which keep a GPU from interleaving elements: the
# exponent negated, which is right to 5% (of the square root: 3.4%), then steps that cube and square the error. Of
# normal numbers up to 2^125 they are wrong by at most 0.8 and 1.2 ulp, elsewhere meaningless. In float64 it would be
# more steps, and a CPU is faster by division: 0.5 and 1.5 ulp.


@triton.jit
def quick_reciprocal(x):
    """1/x, nearly, for x ≠ 0."""
    one = constant(1.0, x)
    if x.dtype == tl.float32:
        minus = negate(x)
        y = from_bits(0x7EF311C7 - to_bits(x))
        e = tl.fma(minus, y, one)
        y = tl.fma(y, tl.fma(e, e, e), y)
        return tl.fma(y, tl.fma(minus, y, one), y)
    else:
        return div(one, x)


@triton.jit
def quick_rsqrt(x):
    """1/√x, nearly, for x > 0."""
    one = constant(1.0, x)
    if x.dtype == tl.float32:
        y = from_bits(0x5F374750 - (to_bits(x) >> 1))
        e = tl.fma(negate(x * y), y, one)
        y = tl.fma(y * e, tl.fma(e, constant(0.375, x), constant(0.5, x)), y)
        e = tl.fma(negate(x * y), y, one)
        return tl.fma(y * 0.5, e, y)
    else:
        return div(one, sqrt(x))


# Error-free transformations: the two results sum to the exact value.


@triton.jit
def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@triton.jit
def quick_two_sum(a, b):
    """two_sum for |a| ≥ |b| or a = 0."""
    s = a + b
    return s, b - (s - a)


@triton.jit
def two_prod(a, b):
    p = a * b
    return p, tl.fma(a, b, negate(p))


# Pairs: an unevaluated sum (high, low) with |low| ≤ ulp(high)/2 carries twice the precision (relative error of a few
# 2^-47; float64: 2^-105). Where a pair is infinite or NaN, its high part says so and its low part is meaningless.


@triton.jit
def pair_add(ah, al, bh, bl):
    s, e = two_sum(ah, bh)
    t, f = two_sum(al, bl)
    s, e = quick_two_sum(s, e + t)
    return quick_two_sum(s, e + f)


@triton.jit
def pair_add_float(ah, al, b):
    s, e = two_sum(ah, b)
    return quick_two_sum(s, e + al)


@triton.jit
def pair_mul(ah, al, bh, bl):
    p, e = two_prod(ah, bh)
    return quick_two_sum(p, tl.fma(ah, bl, tl.fma(al, bh, e)))


@triton.jit
def pair_mul_float(ah, al, b):
    p, e = two_prod(ah, b)
    return quick_two_sum(p, tl.fma(al, b, e))


@triton.jit
def pair_div(ah, al, bh, bl):
    """a / b, with one division: the correction needs but few bits of 1/b."""
    r = div(constant(1.0, bh), bh)
    q = ah * r
    remainder = tl.fma(negate(q), bh, ah) + al
    return quick_two_sum(q, tl.fma(negate(q), bl, remainder) * r)


@triton.jit
def pair_sqrt(ah, al):
    """√a for a > 0, and (0, 0) for a = 0."""
    s = sqrt(ah)
    remainder = tl.fma(negate(s), s, ah) + al
    return quick_two_sum(s, tl.where(s > 0.0, div(remainder, s + s), 0.0))


@triton.jit
def polynomial(x, coefficients: tl.constexpr):
    """Σ coefficients[i] · x^(n-1-i) by Horner's rule: the leading coefficient first, at least two of them."""
    p = constant(coefficients[0], x)
    for i in tl.static_range(1, len(coefficients)):
        p = tl.fma(p, x, constant(coefficients[i], x))
    return p


@triton.jit
def powers_below(x):
    """(2^e, 2^-e) for the greatest 2^e that is no more than |x|, within the bounds that keep both normal numbers."""
    if x.dtype == tl.float32:
        exponent = tl.minimum(tl.maximum(to_bits(x) & 0x7F800000, 0x00800000), 0x7E800000)
        return from_bits(exponent), from_bits(0x7F000000 - exponent)
    else:
        exponent = tl.minimum(tl.maximum(to_bits(x) & 0x7FF0000000000000, 0x0010000000000000), 0x7FD0000000000000)
        return from_bits(exponent), from_bits(0x7FE0000000000000 - exponent)


@triton.jit
def hypot(x, y):
    """√(x² + y²), infinite when either is, even beside NaN."""
    x = tl.abs(x)
    y = tl.abs(y)
    larger = tl.where(x < y, y, x)
    # the sum of squares neither overflows nor loses bits after scaling by a power of two near 1/larger
    up, down = powers_below(larger)
    a, a_low = two_prod(x * down, x * down)
    b, b_low = two_prod(y * down, y * down)
    s, rest = two_sum(a, b)
    result = sqrt(s + (rest + (a_low + b_low))) * up
    return tl.where((x == INFINITY) | (y == INFINITY), INFINITY, result)
