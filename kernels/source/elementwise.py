"""Arithmetic, comparison, logic, bit operations, rounding and casts: the element-wise functions that need no series.

Operands arrive already cast to the operation's common dtype: bool (`int1`), any integer, float32 or float64. float16
and bfloat16 are computed by the caller in float32, except in `nextafter` and `cast`, which take them as they are.
Where the array API standard leaves room the answer is NumPy's on x86-64, so that results compare bit for bit.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    copysign,
    div,
    from_bits,
    negate,
    power_of_two,
    to_bits,
)


@triton.constexpr_function
def integer_type(dtype):
    """The signed integer type as wide as `dtype`."""
    return {8: tl.int8, 16: tl.int16, 32: tl.int32, 64: tl.int64}[dtype.primitive_bitwidth]


@triton.constexpr_function
def unsigned_type(dtype):
    """The unsigned integer type as wide as `dtype`."""
    return {8: tl.uint8, 16: tl.uint16, 32: tl.uint32, 64: tl.uint64}[dtype.primitive_bitwidth]


@triton.constexpr_function
def lowest(dtype):
    """The least value of the signed integer type as wide as `dtype`: as a bit pattern, the sign bit alone."""
    return -(2 ** (dtype.primitive_bitwidth - 1))


@triton.constexpr_function
def infinity_bits(dtype):
    """The bit pattern of a floating-point type's infinity; what is above it, without the sign, is NaN."""
    return 2 ** (dtype.primitive_bitwidth - 1) - 2**dtype.fp_mantissa_width


@triton.jit
def any_lane(condition):
    """Whether `condition` holds anywhere in the block, as one scalar. Only to skip work, never to choose a value."""
    if condition.type.is_block():
        return tl.max(condition.to(tl.int32), axis=None) != 0
    else:
        return condition


# ---- arithmetic


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def subtract(x, y):
    return x - y


@triton.jit
def multiply(x, y):
    return x * y


@triton.jit
def divide(x, y):
    return div(x, y)


@triton.jit
def negative(x):
    if x.dtype.is_floating():
        return negate(x)
    else:
        return -x


@triton.jit
def positive(x):
    return x


@triton.jit
def abs(x):
    if x.dtype.is_floating():
        return tl.abs(x)
    elif x.dtype.is_int_signed():
        return tl.where(x < 0, -x, x)  # the least integer stays itself
    else:
        return x


@triton.jit
def sign(x):
    """-1, 0 or 1; NaN stays NaN; -0 gives +0, as in NumPy (the standard asks for a zero only)."""
    if x.dtype.is_floating():
        return tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, tl.where(x == 0, 0.0, x))).to(x.dtype)
    elif x.dtype.is_int_signed():
        return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
    else:
        return (x != 0).to(x.dtype)


@triton.jit
def square(x):
    return x * x


@triton.jit
def reciprocal(x):
    """1 / x. For integers what casting 1.0 / x gives: 0 unless x is 1 or -1, and `cast` of infinity where x is 0."""
    if x.dtype.is_floating():
        return div(constant(1.0, x), x)
    elif x.dtype.is_int_signed():
        at_zero: tl.constexpr = lowest(x.dtype) if x.dtype.primitive_bitwidth >= 32 else 0
        return tl.where(x == 0, at_zero, tl.where((x == 1) | (x == -1), x, 0)).to(x.dtype)
    else:
        return (x == 1).to(x.dtype)


@triton.jit
def integer_pow(x, y):
    """x ** y by repeated squaring, modulo 2**width; towards zero for the negative exponents that nobody has refused."""
    x, y = tl.broadcast(x, y)  # what a loop carries keeps its shape
    n = y.to(unsigned_type(y.dtype), bitcast=True)
    result = ((x == x) & (y == y)).to(x.dtype)  # of their common shape
    base = x
    while any_lane(n != 0):
        result = tl.where((n & 1) != 0, result * x, result)
        x = x * x
        n = n >> 1
    if y.dtype.is_int_signed():
        result = tl.where((y >= 0) | (base == 1) | (base == -1), result, 0).to(x.dtype)
    return result


# ---- floor division and remainder: the divisor's sign, never a trap


@triton.jit
def quotient(x, y):
    """x / y of integers towards zero; 0 for a divisor 0; the least integer over -1 is itself (both trap)."""
    if x.dtype.is_int_signed():
        masked = (y == 0) | (y == -1)
        return tl.where(masked, tl.where(y == 0, y, -x), x // tl.where(masked, 1, y).to(y.dtype))
    else:
        return tl.where(y == 0, y, x // tl.where(y == 0, 1, y).to(y.dtype))


@triton.jit
def unsigned_magnitude(x):
    """|x| of integers as an unsigned one of the same width, which holds that of the least integer, too."""
    if x.dtype.is_int_signed():
        a = tl.where(x < 0, -x, x)
        if x.dtype.primitive_bitwidth == 8:
            return a.to(tl.uint8)
        elif x.dtype.primitive_bitwidth == 16:
            return a.to(tl.uint16)
        elif x.dtype.primitive_bitwidth == 32:
            return a.to(tl.uint32)
        else:
            return a.to(tl.uint64)
    else:
        return x


@triton.jit
def common_divisor(a, b):
    """The greatest common divisor of unsigned integers by Euclid's algorithm; of a and 0 it is a."""
    while any_lane(b != 0):
        rest = a % tl.where(b == 0, 1, b).to(b.dtype)
        a = tl.where(b == 0, a, b)
        b = tl.where(b == 0, b, rest)
    return a


@triton.jit
def gcd(x, y):
    x, y = tl.broadcast(x, y)  # what the loop carries keeps its shape
    return common_divisor(unsigned_magnitude(x), unsigned_magnitude(y)).to(x.dtype)


@triton.jit
def lcm(x, y):
    """0 where one is 0. What is too large wraps."""
    x, y = tl.broadcast(x, y)
    a = unsigned_magnitude(x)
    b = unsigned_magnitude(y)
    divisor = common_divisor(a, b)
    return ((a // tl.where(divisor == 0, 1, divisor).to(a.dtype)) * b).to(x.dtype)


@triton.jit
def exponent(x):
    """floor(log2(x)) of a positive finite x plus the exponent's bias, right for subnormals too; very small for 0."""
    mantissa: tl.constexpr = x.dtype.fp_mantissa_width
    shift: tl.constexpr = mantissa + 1
    least: tl.constexpr = 2.0**-126 if x.dtype == tl.float32 else 2.0**-1022
    small = x < least
    normal = tl.where(small, x * (2.0**shift), x)
    return (to_bits(normal) >> mantissa) - tl.where(small, shift, 0)


@triton.jit
def remainder_of_close(a, b):
    """a mod b, exactly, for 0 <= a and 0 < b with a / b below 2**(mantissa bits).

    The rounded quotient, cut to an integer, is right or one too large, so a - q * b lies in (-b, b): exact in one fma,
    and so is adding b.
    """
    q = tl.floor(div(a, b))
    r = tl.fma(negate(q), b, a)
    return tl.where(a < b, a, tl.where(r < 0, r + b, r))


@triton.jit
def fmod(x, y):
    """The exact remainder with x's sign, as C's fmod.

    Where the quotient has more bits than a mantissa (up to 2098), a mod (b * 2**k) is taken first, which leaves a mod b
    as it is, until the numbers are at most 2**22 (float64: 2**51) apart: nearly always at once.
    """
    x, y = tl.broadcast(x, y)  # what the loop carries keeps its shape
    width: tl.constexpr = x.dtype.fp_mantissa_width - 1
    a = tl.abs(x)
    b = tl.abs(y)
    valid = (a < INFINITY) & (b > 0)  # not for NaN either
    a = tl.where(valid, a, 0.0)
    b = tl.where(valid, b, 1.0)
    k = exponent(a) - exponent(b) - width
    while any_lane(k > 0):
        half = tl.maximum(k, 0) >> 1
        step = b * power_of_two(half, b) * power_of_two(tl.maximum(k, 0) - half, b)
        a = tl.where(k > 0, remainder_of_close(a, step), a)
        k = exponent(a) - exponent(b) - width
    return tl.where(valid, copysign(remainder_of_close(a, b), x), float("nan"))


@triton.jit
def floor_divide(x, y):
    """The floor of x / y. Of finite floats as NumPy: the exact remainder comes off first, leaving nearly an integer.

    Where an infinity or a divisor 0 takes part, the quotient itself, as the standard has it; Python has NaN for
    inf // 2 and -1 for 1 // -inf.
    """
    if x.dtype.is_floating():
        r = fmod(x, y)
        q = div(x - r, y)
        q = tl.where((r != 0) & ((y < 0) != (r < 0)), q - 1.0, q)
        nearest = tl.floor(q)
        nearest = tl.where(q - nearest > 0.5, nearest + 1.0, nearest)
        plain = div(x, y)
        finite = (tl.abs(x) < INFINITY) & (tl.abs(y) < INFINITY) & (y != 0)
        return tl.where(finite, tl.where(q == 0, copysign(q * 0.0, plain), nearest), plain)
    elif x.dtype.is_int_signed():
        q = quotient(x, y)
        return tl.where((x != q * y) & ((x < 0) != (y < 0)) & (y != 0), q - 1, q)
    else:
        return quotient(x, y)


@triton.jit
def remainder(x, y):
    """The remainder with the divisor's sign. Integers: 0 for a divisor 0. Floats: exact, zero included."""
    if x.dtype.is_floating():
        r = fmod(x, y)
        signed = tl.where((y < 0) != (r < 0), r + y, r)
        return tl.where(y == 0, r, tl.where(r == 0, copysign(r, y), signed))
    else:
        r = tl.where(y == 0, y, x - quotient(x, y) * y)
        if x.dtype.is_int_signed():
            r = tl.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)
        return r


# ---- choosing


@triton.jit
def maximum(x, y):
    """The larger; NaN wins. Of two zeros the second, as NumPy on x86-64 (the standard leaves the sign open)."""
    return tl.where((x > y) | (x != x), x, y)


@triton.jit
def minimum(x, y):
    """The smaller; NaN wins. Of two zeros the second, as NumPy on x86-64 (the standard leaves the sign open)."""
    return tl.where((x < y) | (x != x), x, y)


@triton.jit
def clip(x, low, high):
    """`high` wins over `low` where they cross; a NaN bound gives NaN."""
    return minimum(maximum(x, low), high)


@triton.jit
def clip_low(x, low):
    return maximum(x, low)


@triton.jit
def clip_high(x, high):
    return minimum(x, high)


@triton.jit
def where(condition, x, y):
    return tl.where(condition, x, y)


# ---- comparison


@triton.jit
def equal(x, y):
    return x == y


@triton.jit
def not_equal(x, y):
    return x != y


@triton.jit
def less(x, y):
    return x < y


@triton.jit
def less_equal(x, y):
    return x <= y


@triton.jit
def greater(x, y):
    return x > y


@triton.jit
def greater_equal(x, y):
    return x >= y


@triton.jit
def same_order(x, y):
    """An int64 and a uint64 as two int64 that compare as they do: what is beyond int64 is larger than any."""
    z = y.to(tl.int64, bitcast=True)
    return tl.where(z < 0, 0, x).to(tl.int64), tl.where(z < 0, 1, z).to(tl.int64)


@triton.jit
def isfinite(x):
    if x.dtype.is_floating():
        return tl.abs(x) < INFINITY
    else:
        return x == x


@triton.jit
def isinf(x):
    if x.dtype.is_floating():
        return tl.abs(x) == INFINITY
    else:
        return x != x


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def signbit(x):
    """Whether the sign bit is set, of zeros and NaN too."""
    if x.dtype.is_floating():
        return to_bits(x) < 0
    else:
        return x < 0


# ---- logic and bits


@triton.jit
def logical_and(x, y):
    return (x != 0) & (y != 0)


@triton.jit
def logical_or(x, y):
    return (x != 0) | (y != 0)


@triton.jit
def logical_xor(x, y):
    return (x != 0) ^ (y != 0)


@triton.jit
def logical_not(x):
    return x == 0


@triton.jit
def bitwise_and(x, y):
    return x & y


@triton.jit
def bitwise_or(x, y):
    return x | y


@triton.jit
def bitwise_xor(x, y):
    return x ^ y


@triton.jit
def bitwise_invert(x):
    return ~x


@triton.jit
def shift_within(x, y):
    """Whether 0 <= y < the width of x. Beyond it hardware disagrees, and LLVM may do as it likes."""
    return y.to(unsigned_type(y.dtype), bitcast=True) < x.dtype.primitive_bitwidth


@triton.jit
def bitwise_left_shift(x, y):
    """x << y; 0 where y is negative or not below the width, as in NumPy."""
    within = shift_within(x, y)
    return tl.where(within, x << tl.where(within, y, 0).to(y.dtype), 0).to(x.dtype)


@triton.jit
def bitwise_right_shift(x, y):
    """x >> y with the sign kept; 0, or -1 for a negative x, where y is negative or not below the width, as in NumPy."""
    within = shift_within(x, y)
    if x.dtype.is_int_signed():
        return x >> tl.where(within, y, x.dtype.primitive_bitwidth - 1).to(y.dtype)
    else:
        return tl.where(within, x >> tl.where(within, y, 0).to(y.dtype), 0).to(x.dtype)


@triton.jit
def bitwise_count(x):
    """How many bits of the magnitude are set: added up in pairs, in fours, in bytes, whose sum ends in the highest byte
    of a product."""
    ones: tl.constexpr = 2**x.dtype.primitive_bitwidth - 1
    a = unsigned_magnitude(x)
    a = a - ((a >> 1) & ones // 3)
    a = (a & ones // 5) + ((a >> 2) & ones // 5)
    a = (a + (a >> 4)) & ones // 17
    return ((a * (ones // 255)) >> (x.dtype.primitive_bitwidth - 8)).to(tl.uint8)


# ---- rounding


@triton.jit
def floor(x):
    if x.dtype.is_floating():
        return tl.floor(x)
    else:
        return x


@triton.jit
def ceil(x):
    if x.dtype.is_floating():
        return tl.ceil(x)
    else:
        return x


@triton.jit
def trunc(x):
    if x.dtype.is_floating():
        return tl.where(x < 0, tl.ceil(x), tl.floor(x))
    else:
        return x


@triton.jit
def round(x):
    """To the nearest integer, ties to even: adding 2**mantissa leaves no room for a fraction. Zero keeps its sign."""
    if x.dtype.is_floating():
        whole: tl.constexpr = 2.0**x.dtype.fp_mantissa_width
        a = tl.abs(x)
        return tl.where(a < whole, copysign((a + whole) - whole, x), x)
    else:
        return x


@triton.jit
def nextafter(x, y):
    """The next number after x towards y; y where they are equal. Works on bit patterns, for every floating-point type.

    `kx` and `ky` are integers in the order of the numbers, both zeros 0.
    """
    least: tl.constexpr = lowest(x.dtype)
    inf: tl.constexpr = infinity_bits(x.dtype)
    ix = x.to(integer_type(x.dtype), bitcast=True)
    iy = y.to(integer_type(x.dtype), bitcast=True)
    kx = tl.where(ix < 0, least - ix, ix)
    ky = tl.where(iy < 0, least - iy, iy)
    k = tl.where(kx < ky, kx + 1, kx - 1)
    stepped = tl.where(k < 0, least - k, tl.where(k == 0, ix & least, k))  # stepping onto zero keeps the sign
    nan = ((ix & ~least) > inf) | ((iy & ~least) > inf)
    return tl.where(nan, ~least, tl.where(kx == ky, iy, stepped)).to(integer_type(x.dtype)).to(x.dtype, bitcast=True)


# ---- casts


@triton.jit
def integer_within(x, dtype: tl.constexpr):
    """A float32 or float64 cut to int32 or int64; the least integer for NaN and what does not fit, as x86-64 has it."""
    least: tl.constexpr = lowest(dtype)
    fits = tl.abs(x) < -1.0 * least
    return tl.where(fits, tl.where(fits, x, 0.0).to(dtype), least).to(dtype)


@triton.jit
def float_to_integer(x, dtype: tl.constexpr):
    """A float32 or float64 to any integer type, cut towards zero. What does not fit is undefined in C and in the
    standard; here it is what NumPy gives for arrays on x86-64:

    - int32, int64: the least integer;
    - int8, int16, uint8, uint16: the low bits of the int32;
    - uint32, uint64: the bits of the signed integer below half the range (-1.0 is the largest), above the range 0.
    """
    if dtype == tl.uint32 or dtype == tl.uint64:
        half: tl.constexpr = -1.0 * lowest(dtype)
        upper = x >= half
        i = integer_within(tl.where(upper, x - half, x), integer_type(dtype))
        return tl.where(upper, i ^ lowest(dtype), i).to(dtype, bitcast=True)
    elif dtype == tl.int64:
        return integer_within(x, tl.int64)
    else:
        return integer_within(x, tl.int32).to(dtype)


@triton.jit
def float64_to_odd_float32(x):
    """A float64 to a float32 that a second rounding, to fewer bits, takes where one rounding would have gone.

    Cut towards zero, with the last bit set where anything was lost ("round to odd").
    """
    y = x.to(tl.float32)
    back = y.to(tl.float64)
    i = to_bits(y)
    i = tl.where(tl.abs(back) > tl.abs(x), i - 1, i)
    i = tl.where((back != x) & (x == x), i | 1, i)
    return from_bits(i)


@triton.jit
def float32_to_bfloat16(x):
    """To nearest, ties to even; a NaN stays one (rounding its bits could carry it to infinity)."""
    i = x.to(tl.uint32, bitcast=True)
    rounded = (i + 0x7FFF + ((i >> 16) & 1)) >> 16
    return tl.where(x == x, rounded, 0x7FC0).to(tl.uint16).to(tl.bfloat16, bitcast=True)


@triton.jit
def integer_to_float32_sticky(x):
    """An integer of 32 or 64 bits to a float32 for a second rounding, to at most ten bits, to take where one would have
    gone: where float32 has no room for all bits, the last one that is left says whether any below it was set."""
    negative = x < 0
    m = tl.where(negative, -x, x)
    if x.dtype.primitive_bitwidth == 64:
        m = m.to(tl.uint64, bitcast=True)
        lost = tl.where((m >> 52) != 0, 42, tl.where((m >> 38) != 0, 28, tl.where((m >> 24) != 0, 14, 0)))
    else:
        m = m.to(tl.uint32, bitcast=True)
        lost = tl.where((m >> 24) != 0, 8, 0)
    lost = lost.to(m.dtype)
    high = m >> lost
    f = (tl.where((high << lost) != m, high | 1, high) << lost).to(tl.float32)
    return tl.where(negative, negate(f), f)


@triton.jit
def float_to_float(x, dtype: tl.constexpr):
    """Between floating-point types, rounded once: float64 goes to the 16-bit types through a float32 rounded to odd."""
    if x.dtype == dtype:
        return x
    elif dtype == tl.float64:
        return x.to(tl.float32).to(tl.float64)
    elif dtype == tl.float32:
        return x.to(tl.float32)
    else:
        if x.dtype == tl.float64:
            narrow = float64_to_odd_float32(x)
        else:
            narrow = x.to(tl.float32)
        if dtype == tl.bfloat16:
            return float32_to_bfloat16(narrow)
        else:
            return narrow.to(dtype)


@triton.jit
def integer_to_float(x, dtype: tl.constexpr):
    """Any integer or bool to a floating-point type, rounded once."""
    if dtype == tl.float16:
        return x.to(tl.float32).to(tl.float16)  # what float32 cannot hold exactly is infinity here
    elif dtype == tl.bfloat16:
        if x.dtype.primitive_bitwidth >= 32:
            return float32_to_bfloat16(integer_to_float32_sticky(x))
        else:
            return float32_to_bfloat16(x.to(tl.float32))
    else:
        return x.to(dtype)


@triton.jit
def cast(x, dtype: tl.constexpr):
    """x as `dtype`, any type to any. NaN is True as bool; integers wrap."""
    if dtype == tl.int1:
        return x != 0
    elif x.dtype.is_floating():
        if dtype.is_floating():
            return float_to_float(x, dtype)
        elif x.dtype.primitive_bitwidth == 16:
            return float_to_integer(x.to(tl.float32), dtype)
        else:
            return float_to_integer(x, dtype)
    else:
        if dtype.is_floating():
            return integer_to_float(x, dtype)
        else:
            return x.to(dtype)
