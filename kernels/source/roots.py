"""Functions of square roots and quotients: hypot, reciprocal. (`sqrt` itself is in core_math.)"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import (
    INFINITY,
    constant,
    div,
    from_bits,
    sqrt,
    to_bits,
    two_prod,
    two_sum,
)


@triton.jit
def reciprocal(x):
    return div(constant(1.0, x), x)


@triton.jit
def hypot(x, y):
    """√(x² + y²), infinite when either is, even beside NaN."""
    x = tl.abs(x)
    y = tl.abs(y)
    larger = tl.where(x < y, y, x)
    # the sum of squares neither overflows nor loses bits after scaling by a power of two near 1/larger; the bounds keep
    # the scale and its inverse normal
    if x.dtype == tl.float32:
        exponent = tl.minimum(tl.maximum(to_bits(larger) & 0x7F800000, 0x00800000), 0x7E800000)
        down = from_bits(0x7F000000 - exponent)
    else:
        exponent = tl.minimum(tl.maximum(to_bits(larger) & 0x7FF0000000000000, 0x0010000000000000), 0x7FD0000000000000)
        down = from_bits(0x7FE0000000000000 - exponent)
    a, a_low = two_prod(x * down, x * down)
    b, b_low = two_prod(y * down, y * down)
    s, rest = two_sum(a, b)
    result = sqrt(s + (rest + (a_low + b_low))) * from_bits(exponent)
    return tl.where((x == INFINITY) | (y == INFINITY), INFINITY, result)
