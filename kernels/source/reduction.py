"""What reductions are made of: how two partial results combine, and the maps before and after.

A reduction carries a state, one block for each component. `combine` takes two states and gives one; it is associative
up to rounding. Elements that a mask leaves out count as the state that changes nothing.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source import complex as complex_arithmetic
from nbx_array.kernels.source.core_math import div, sqrt, to_bits

# Sums, products and extremes.


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def add_complex(xr, xi, yr, yi):
    return xr + yr, xi + yi


@triton.jit
def multiply(x, y):
    return x * y


@triton.jit
def multiply_complex(xr, xi, yr, yi):
    return complex_arithmetic.multiply(xr, xi, yr, yi)


@triton.jit
def greater(x, y):
    """The greater one, NaN if either is; +0 is greater than -0, so that the order of elements does not matter."""
    if x.dtype.is_floating():
        return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.where(x > y, x, y)


@triton.jit
def less(x, y):
    """The lesser one, NaN if either is; -0 is less than +0."""
    if x.dtype.is_floating():
        return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.where(x < y, x, y)


@triton.jit
def quotient(total, count):
    return div(total, count.to(total.dtype))


@triton.jit
def quotient_complex(re, im, count):
    return div(re, count.to(re.dtype)), div(im, count.to(im.dtype))


# The place of an extreme: the state is a key and an index.


@triton.jit
def rank(x):
    """An integer that orders as x does: NaN above all, -0 equal to +0. Integers are their own."""
    if x.dtype.is_floating():
        bits = to_bits(x + 0.0)  # -0 becomes +0
        top: tl.constexpr = 2 ** (x.dtype.primitive_bitwidth - 1) - 1
        ordered = tl.where(bits < 0, bits ^ top, bits)
        return tl.where(x == x, ordered, top)
    else:
        return x


@triton.jit
def reverse_rank(x):
    """An integer that orders the other way round, NaN above all."""
    if x.dtype.is_floating():
        return rank(0.0 - x)
    else:
        return ~x


@triton.jit
def first_greatest(x, i, y, j):
    """The greater key with its index; of equal keys the smaller index."""
    second = (y > x) | ((y == x) & (j < i))
    return tl.where(second, y, x), tl.where(second, j, i)


# Mean and spread. The state is the number of elements, their mean as a sum of two numbers, and the sum of squared
# deviations from it. The mean's second part holds what rounding took from the first, which is as much as the spread of
# numbers far from zero.
#
# While elements are read the state is another one: their number, a shift, and the sums of deviations from the shift and
# of their squares. The shift is the mean of the first k of a lane's n elements, so that n (shift - mean)^2, which is
# taken from the sum of squares in the end, is never more than n / k times the result, and nothing cancels.


@triton.jit
def deviations(x, mask, n, shift, total, squared, first, several: tl.constexpr):
    """The state with a tile's layers, those under the mask if there is one. `several` if a lane may be without elements
    in the first tile."""
    if mask is None:
        count = tl.full(n.shape, x.shape[0], x.dtype)
    else:
        count = tl.sum(mask.to(x.dtype), 0)
    if several:
        shift = tl.where(n == 0, mean_of_layers(x, mask, count), shift)
    elif first:
        shift = mean_of_layers(x, mask, count)
    deviation = x - shift[None]
    if mask is not None:
        deviation = tl.where(mask, deviation, 0.0)
    more, more_squared = tl.reduce((deviation, deviation * deviation), 0, add_complex)
    return n + count, shift, total + more, squared + more_squared


@triton.jit
def mean_of_layers(x, mask, count):
    if mask is None:
        return div(tl.sum(x, 0), count)
    else:
        return div(tl.sum(tl.where(mask, x, 0.0), 0), tl.where(count == 0, 1.0, count))


@triton.jit
def moments(n, shift, total, squared):
    rest = div(total, tl.where(n == 0, 1.0, n))
    return n, shift, rest, squared - total * rest


@triton.jit
def merge_moments(n, mean, rest, spread, m, other_mean, other_rest, other_spread):
    """Moments of the union (Chan, Golub and LeVeque 1979)."""
    total = n + m
    share = div(m, tl.where(total == 0, 1.0, total))
    delta = (other_mean - mean) + (other_rest - rest)
    step = rest + delta * share
    merged = mean + step
    left = step - (merged - mean)
    # A side without elements has no say, whatever stands there.
    first = n == 0
    only = first | (m == 0)
    return (
        total,
        tl.where(first, other_mean, tl.where(only, mean, merged)),
        tl.where(first, other_rest, tl.where(only, rest, left)),
        spread + other_spread + tl.where(only, 0.0, delta * delta * (n * share)),
    )


@triton.jit
def variance(n, mean, rest, spread, divisor):
    return div(tl.where(spread < 0, 0.0, spread), divisor.to(spread.dtype))


@triton.jit
def deviation(n, mean, rest, spread, divisor):
    return sqrt(variance(n, mean, rest, spread, divisor))


# The same of complex numbers: the spread is that of both parts.


@triton.jit
def deviations_complex(x, y, mask, n, shift, total, shift_y, total_y, squared, first, several: tl.constexpr):
    _, shift, total, squared = deviations(x, mask, n, shift, total, squared, first, several)
    count, shift_y, total_y, squared = deviations(y, mask, n, shift_y, total_y, squared, first, several)
    return count, shift, total, shift_y, total_y, squared


@triton.jit
def moments_complex(n, shift, total, shift_y, total_y, squared):
    _, _, rest, spread = moments(n, shift, total, squared)
    _, _, rest_y, spread = moments(n, shift_y, total_y, spread)
    return n, shift, rest, shift_y, rest_y, spread


@triton.jit
def merge_moments_complex(
    n, mean, rest, mean_y, rest_y, spread, m, other_mean, other_rest, other_mean_y, other_rest_y, other_spread
):
    total, mean, rest, spread = merge_moments(n, mean, rest, spread, m, other_mean, other_rest, other_spread)
    zero = n - n
    _, mean_y, rest_y, more = merge_moments(n, mean_y, rest_y, zero, m, other_mean_y, other_rest_y, zero)
    return total, mean, rest, mean_y, rest_y, spread + more


@triton.jit
def variance_complex(n, mean, rest, mean_y, rest_y, spread, divisor):
    return variance(n, mean, rest, spread, divisor)


@triton.jit
def deviation_complex(n, mean, rest, mean_y, rest_y, spread, divisor):
    return deviation(n, mean, rest, spread, divisor)


# The Euclidean norm: three sums of squares, of numbers too great to be squared, of middling and of tiny ones, the outer
# two scaled by powers of two (Blue 1978; Anderson 2017, "Algorithm 978: Safe Scaling in the Level 1 BLAS").


@triton.jit
def squares(x):
    x = tl.abs(x)
    if x.dtype == tl.float32:
        great = x > 4503599627370496.0  # 2^52
        tiny = x < 1.0842021724855044e-19  # 2^-63
        down = x * 1.3234889800848443e-23  # 2^-76
        up = x * 3.777893186295716e22  # 2^75
    else:
        great = x > 1.997919072202235e146  # 2^486
        tiny = x < 1.4916681462400413e-154  # 2^-511
        down = x * 1.1113793747425387e-162  # 2^-538
        up = x * 4.49891379454319638e161  # 2^537
    return tl.where(great, down * down, 0.0), tl.where(great | tiny, 0.0, x * x), tl.where(tiny, up * up, 0.0)


@triton.jit
def add_squares(xg, xm, xt, yg, ym, yt):
    return xg + yg, xm + ym, xt + yt


@triton.jit
def root(great, middle, tiny, _number):
    if great.dtype == tl.float32:
        up = 7.555786372591432e22  # 2^76
        down = 2.6469779601696886e-23  # 2^-75
    else:
        up = 8.99782758908639276e161  # 2^538
        down = 2.2227587494850775e-162  # 2^-537
    # Where there is a great number a tiny one does not count, and middling ones count scaled.
    scaled_down = div(div(middle, up), up)
    with_great = sqrt(great + scaled_down) * up
    scaled_up = sqrt(tiny) * down
    middle_root = sqrt(middle)
    ratio = div(scaled_up, tl.where(middle_root == 0, 1.0, middle_root))
    without = tl.where(middle == 0, scaled_up, middle_root * sqrt(1.0 + ratio * ratio))
    return tl.where((great > 0) | (great != great), with_great, without)
