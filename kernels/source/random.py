"""Random numbers: Philox4x32-10 of the element's position, and the distributions that need more than a formula of it.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). The generator has no state: the words
of element i are a function of the key, of i and of the attempt. So results depend neither on the launch's shape nor on
the backend, and rejection is a loop over attempts.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import constant, div, sqrt
from nbx_array.kernels.source.elementwise import any_lane, floor
from nbx_array.kernels.source.exponential import exp, log, log1p, pow
from nbx_array.kernels.source.trigonometric import asin, cos, sin

HALF_PI = tl.constexpr(1.5707963267948966)
TWO_PI = tl.constexpr(6.283185307179586)
HALF_LOG_TWO_PI = tl.constexpr(0.9189385332046727)


@triton.jit
def philox_round(a, b, c, d, key_0, key_1):
    x = a.to(tl.uint64) * 0xD2511F53
    y = c.to(tl.uint64) * 0xCD9E8D57
    return (
        (y >> 32).to(tl.uint32) ^ b ^ key_0,
        y.to(tl.uint32),
        (x >> 32).to(tl.uint32) ^ d ^ key_1,
        x.to(tl.uint32),
    )


@triton.jit
def words(key, position, attempt, purpose):
    """Four independent words of 32 random bits for each 64-bit position."""
    key_0 = (key & 0xFFFFFFFF).to(tl.uint32)
    key_1 = (key >> 32).to(tl.uint32)
    a = (position & 0xFFFFFFFF).to(tl.uint32)
    b = (position >> 32).to(tl.uint32)
    c = tl.zeros_like(a) + attempt.to(tl.uint32)
    d = tl.zeros_like(a) + purpose
    for _ in tl.static_range(10):
        a, b, c, d = philox_round(a, b, c, d, key_0, key_1)
        key_0 = (key_0.to(tl.uint64) + 0x9E3779B9).to(tl.uint32)
        key_1 = (key_1.to(tl.uint64) + 0xBB67AE85).to(tl.uint32)
    return a, b, c, d


@triton.jit
def unit(high, low, DOUBLE: tl.constexpr):
    """A multiple of 2^-53, or of 2^-24 in float32, in [0, 1)."""
    if DOUBLE:
        bits = (high.to(tl.uint64) << 32) | low.to(tl.uint64)
        return (bits >> 11).to(tl.int64).to(tl.float64) * 1.1102230246251565e-16
    else:
        return (high >> 8).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08


@triton.jit
def normal_of(a, b, c, d, DOUBLE: tl.constexpr):
    """A standard normal variate by Box and Muller."""
    u = 1.0 - unit(a, b, DOUBLE)
    return sqrt(-2.0 * log(u)) * cos(TWO_PI * unit(c, d, DOUBLE))


@triton.jit
def log_factorial(k):
    """log(k!) of whole k >= 0, by Stirling's series from 8 on: relative error below 1e-12."""
    few = k < 8
    z = tl.where(few, k + 9.0, k + 1.0)
    shift = tl.where(few, (k + 1) * (k + 2) * (k + 3) * (k + 4), 1.0)
    shift *= tl.where(few, (k + 5) * (k + 6) * (k + 7) * (k + 8), 1.0)
    w = div(constant(1.0, z), z * z)
    series = div(0.08333333333333333 - w * (0.002777777777777778 - w * (0.0007936507936507937 - w * 0.000595238)), z)
    return (z - 0.5) * log(z) - z + HALF_LOG_TWO_PI + series - log(shift)


@triton.jit
def stirling_rest(k):
    """log(k!) without Stirling's leading terms (k + 1/2) log(k + 1) - (k + 1) + log(2 pi)/2."""
    z = k + 1.0
    w = div(constant(1.0, z), z * z)
    series = div(0.08333333333333333 - w * (0.002777777777777778 - w * 0.0007936507936507937), z)
    return tl.where(k < 8, log_factorial(k) - ((k + 0.5) * log(z) - z + HALF_LOG_TWO_PI), series)


@triton.jit
def place(offset, n, BLOCK: tl.constexpr):
    """The block's first element, its lanes, which of them exist, and their positions in the stream."""
    base = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    return base, i, i < tl.minimum(n - base, BLOCK).to(tl.int32), (offset + base + i).to(tl.uint64)


@triton.jit
def parameter(p, stride, base, i, m, other):
    """One number for all elements (stride 0) or one for each."""
    return tl.load(p + (base + i) * stride, mask=m, other=other)


@triton.jit
def uniform(o, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    base, i, m, position = place(offset, n, BLOCK)
    a, b, _, _ = words(key, position, tl.zeros_like(i), 0)
    tl.store(o + base + i, unit(a, b, DOUBLE).to(o.dtype.element_ty), mask=m)


@triton.jit
def normal(o, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    base, i, m, position = place(offset, n, BLOCK)
    a, b, c, d = words(key, position, tl.zeros_like(i), 0)
    tl.store(o + base + i, normal_of(a, b, c, d, DOUBLE).to(o.dtype.element_ty), mask=m)


@triton.jit
def exponential(o, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    base, i, m, position = place(offset, n, BLOCK)
    a, b, _, _ = words(key, position, tl.zeros_like(i), 0)
    tl.store(o + base + i, (-log1p(-unit(a, b, DOUBLE))).to(o.dtype.element_ty), mask=m)


@triton.jit
def integers(o, p0, s0, p1, s1, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """low + a number in [0, last], all 64 bits of it: candidates below the next power of two until one is no larger."""
    base, i, m, position = place(offset, n, BLOCK)
    low = parameter(p0, s0, base, i, m, 0).to(tl.uint64)
    last = parameter(p1, s1, base, i, m, 0).to(tl.uint64)
    mask = last | (last >> 1)
    mask = mask | (mask >> 2)
    mask = mask | (mask >> 4)
    mask = mask | (mask >> 8)
    mask = mask | (mask >> 16)
    mask = mask | (mask >> 32)
    attempt = tl.zeros_like(i)
    a, b, c, d = words(key, position, attempt, 0)
    chosen = ((a.to(tl.uint64) << 32) | b.to(tl.uint64)) & mask
    spare = ((c.to(tl.uint64) << 32) | d.to(tl.uint64)) & mask
    chosen = tl.where(chosen > last, spare, chosen)
    while any_lane(chosen > last):
        attempt += 1
        a, b, c, d = words(key, position, attempt, 0)
        first = ((a.to(tl.uint64) << 32) | b.to(tl.uint64)) & mask
        spare = ((c.to(tl.uint64) << 32) | d.to(tl.uint64)) & mask
        chosen = tl.where(chosen > last, tl.where(first > last, spare, first), chosen)
    tl.store(o + base + i, (low + chosen).to(o.dtype.element_ty), mask=m)


@triton.jit
def gamma(o, p0, s0, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); below 1 from shape + 1."""
    base, i, m, position = place(offset, n, BLOCK)
    shape = parameter(p0, s0, base, i, m, 1.0)
    small = shape < 1.0
    d = tl.where(small, shape + 1.0, shape) - 0.3333333333333333
    c = div(constant(1.0, d), sqrt(9.0 * d))
    value = tl.zeros_like(d)
    attempt = tl.zeros_like(i)
    wanted = shape > 0.0
    while any_lane(wanted):
        w0, w1, w2, w3 = words(key, position, attempt, 0)
        u0, u1, _, _ = words(key, position, attempt, 1)
        x = normal_of(w0, w1, w2, w3, DOUBLE)
        t = 1.0 + c * x
        v = t * t * t
        u = 1.0 - unit(u0, u1, DOUBLE)
        accepted = (t > 0.0) & (log(u) < 0.5 * x * x + d - d * v + d * log(tl.where(t > 0.0, v, 1.0)))
        value = tl.where(wanted & accepted, d * v, value)
        wanted = wanted & (accepted == 0)
        attempt += 1
    if any_lane(small):
        u0, u1, _, _ = words(key, position, tl.zeros_like(i), 2)
        u = 1.0 - unit(u0, u1, DOUBLE)
        power = div(constant(1.0, shape), tl.where(small & (shape > 0.0), shape, 1.0))
        value = tl.where(small, value * pow(u, power), value)
    tl.store(o + base + i, value.to(o.dtype.element_ty), mask=m)


@triton.jit
def poisson(o, p0, s0, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """Below 10 by going through the distribution, else PTRS: Hörmann, "The transformed rejection method for generating
    Poisson random variables" (1993)."""
    base, i, m, position = place(offset, n, BLOCK)
    lam = parameter(p0, s0, base, i, m, 0.0)
    large = lam >= 10.0
    k = tl.zeros_like(lam)
    if any_lane(large == 0):
        w0, w1, _, _ = words(key, position, tl.zeros_like(i), 0)
        rest = unit(w0, w1, DOUBLE)
        mass = exp(tl.where(large, constant(0.0, lam), -lam))
        wanted = (large == 0) & (rest >= mass)
        while any_lane(wanted):
            rest = tl.where(wanted, rest - mass, rest)
            k = tl.where(wanted, k + 1.0, k)
            mass = tl.where(wanted, div(mass * lam, tl.where(wanted, k, 1.0)), mass)
            wanted = wanted & (rest >= mass) & (mass > 0.0)
    if any_lane(large):
        mean = tl.where(large, lam, 10.0)
        b = 0.931 + 2.53 * sqrt(mean)
        a = -0.059 + 0.02483 * b
        inverse_alpha = 1.1239 + div(constant(1.1328, b), b - 3.4)
        bound = 0.9277 - div(constant(3.6224, b), b - 2.0)
        log_mean = log(mean)
        wanted = large
        attempt = tl.zeros_like(i) + 1
        while any_lane(wanted):
            w0, w1, w2, w3 = words(key, position, attempt, 0)
            u = unit(w0, w1, DOUBLE) - 0.5
            v = 1.0 - unit(w2, w3, DOUBLE)
            us = 0.5 - tl.where(u < 0, -u, u)
            us_safe = tl.where(us > 0, us, 1e-30)
            x = floor((div(2.0 * a, us_safe) + b) * u + mean + 0.43)
            x_safe = tl.where(x < 0, 0.0, x)
            outside = (x < 0) | ((us < 0.013) & (v > us))
            left = log(v) + log(inverse_alpha) - log(div(a, us_safe * us_safe) + b)
            accepted = ((us >= 0.07) & (v <= bound)) | (
                (outside == 0) & (left <= x_safe * log_mean - mean - log_factorial(x_safe))
            )
            accepted = accepted & (x >= 0)
            k = tl.where(wanted & accepted, x, k)
            wanted = wanted & (accepted == 0)
            attempt += 1
    tl.store(o + base + i, k.to(tl.int64).to(o.dtype.element_ty), mask=m)


@triton.jit
def binomial(o, p0, s0, p1, s1, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """Where n min(p, 1-p) < 10 by going through the distribution, else BTRS: Hörmann, "The generation of binomial
    random variates" (1993)."""
    base, i, m, position = place(offset, n, BLOCK)
    count = parameter(p0, s0, base, i, m, 0.0)
    chance = parameter(p1, s1, base, i, m, 0.0)
    p = tl.where(chance > 0.5, 1.0 - chance, chance)
    q = 1.0 - p
    large = count * p >= 10.0
    k = tl.zeros_like(p)
    if any_lane(large == 0):
        w0, w1, _, _ = words(key, position, tl.zeros_like(i), 0)
        rest = unit(w0, w1, DOUBLE)
        mass = exp(tl.where(large, constant(0.0, p), count * log1p(-p)))
        odds = div(p, q)
        wanted = (large == 0) & (rest >= mass) & (count > 0)
        while any_lane(wanted):
            rest = tl.where(wanted, rest - mass, rest)
            mass = tl.where(wanted, div((count - k) * mass, k + 1.0) * odds, mass)
            k = tl.where(wanted, k + 1.0, k)
            wanted = wanted & (rest >= mass) & (mass > 0.0) & (k < count)
    if any_lane(large):
        trials = tl.where(large, count, 40.0)
        ps = tl.where(large, p, 0.5)
        qs = 1.0 - ps
        spread = sqrt(trials * ps * qs)
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * ps
        centre = trials * ps + 0.5
        bound = 0.92 - div(constant(4.2, b), b)
        alpha = (2.83 + div(constant(5.1, b), b)) * spread
        mode = floor((trials + 1.0) * ps)
        log_odds = log(div(ps, qs))
        at_mode = stirling_rest(mode) + stirling_rest(trials - mode)
        wanted = large
        attempt = tl.zeros_like(i) + 1
        while any_lane(wanted):
            w0, w1, w2, w3 = words(key, position, attempt, 0)
            u = unit(w0, w1, DOUBLE) - 0.5
            v = 1.0 - unit(w2, w3, DOUBLE)
            us = 0.5 - tl.where(u < 0, -u, u)
            us_safe = tl.where(us > 0, us, 1e-30)
            x = floor((div(2.0 * a, us_safe) + b) * u + centre)
            inside = (x >= 0) & (x <= trials)
            y = tl.where(inside, x, mode)
            left = log(div(v * alpha, div(a, us_safe * us_safe) + b))
            right = (mode + 0.5) * log(div(mode + 1.0, y + 1.0)) + (trials - mode + 0.5) * log(
                div(trials - mode + 1.0, trials - y + 1.0)
            )
            right += (y - mode) * (log_odds + log(div(trials - y + 1.0, y + 1.0)))
            right += at_mode - stirling_rest(y) - stirling_rest(trials - y)
            accepted = inside & (((us >= 0.07) & (v <= bound)) | (left <= right))
            k = tl.where(wanted & accepted, x, k)
            wanted = wanted & (accepted == 0)
            attempt += 1
    k = tl.where(chance > 0.5, count - k, k)
    tl.store(o + base + i, k.to(tl.int64).to(o.dtype.element_ty), mask=m)


@triton.jit
def zipf(o, p0, s0, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """Rejection from a Pareto variate: Devroye, "Non-uniform random variate generation" (1986), X.6.1."""
    base, i, m, position = place(offset, n, BLOCK)
    a = parameter(p0, s0, base, i, m, 2.0)
    less = a - 1.0
    b = pow(constant(2.0, a), less)
    power = div(constant(-1.0, a), less)
    k = tl.zeros_like(a) + 1.0
    wanted = a > 1.0
    attempt = tl.zeros_like(i)
    while any_lane(wanted):
        w0, w1, w2, w3 = words(key, position, attempt, 0)
        u = 1.0 - unit(w0, w1, DOUBLE)
        v = unit(w2, w3, DOUBLE)
        x = floor(pow(u, power))
        inside = x < 9.0e18  # beyond int64 NumPy draws again, too
        x = tl.where(inside, x, 1.0)
        t = pow(1.0 + div(constant(1.0, x), x), less)
        accepted = inside & (v * x * (t - 1.0) * b <= t * (b - 1.0))
        k = tl.where(wanted & accepted, x, k)
        wanted = wanted & (accepted == 0)
        attempt += 1
    tl.store(o + base + i, k.to(tl.int64).to(o.dtype.element_ty), mask=m)


@triton.jit
def log_factorial_step(x, d):
    """log((x - d)!) - log(x!) without the terms that are linear in d, of whole x and 0 <= x - d: small where d is,
    however large x may be."""
    rest = stirling_rest(x - d) - stirling_rest(x)
    return rest - d * log(x + 1.0) - (x - d + 0.5) * log1p(div(d, x - d + 1.0))


@triton.jit
def hypergeometric(o, p0, s0, p1, s1, p2, s2, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """Where the mean is below 10 by going through the distribution, else by the ratio of uniform variates: Stadlober,
    "The ratio of uniforms approach for generating discrete random variates" (1990).

    What is counted is how many marked ones are drawn, of which neither is more than half of all: so the least count is
    0. Marked and drawn ones may change places."""
    base, i, m, position = place(offset, n, BLOCK)
    good = parameter(p0, s0, base, i, m, 0.0)
    bad = parameter(p1, s1, base, i, m, 0.0)
    sample = parameter(p2, s2, base, i, m, 0.0)
    everything = good + bad
    less_drawn = sample + sample > everything
    drawn = tl.where(less_drawn, everything - sample, sample)
    marked = tl.minimum(good, bad)
    few = tl.minimum(marked, drawn)
    many = tl.maximum(marked, drawn)
    others = everything - many
    total = tl.where(everything > 0.0, everything, 1.0)
    mean = div(few * many, total)
    large = mean >= 10.0
    k = tl.zeros_like(good)
    if any_lane(large == 0):
        w0, w1, _, _ = words(key, position, tl.zeros_like(i), 0)
        rest = unit(w0, w1, DOUBLE)
        nothing = tl.where(large, constant(0.0, few), few)
        mass = exp(log_factorial_step(everything, nothing) - log_factorial_step(others, nothing))
        wanted = (large == 0) & (rest >= mass) & (few > 0.0)
        while any_lane(wanted):
            rest = tl.where(wanted, rest - mass, rest)
            ways = div((few - k) * mass, k + 1.0) * div(many - k, tl.where(wanted, others - few + k + 1.0, 1.0))
            mass = tl.where(wanted, ways, mass)
            k = tl.where(wanted, k + 1.0, k)
            wanted = wanted & (rest >= mass) & (mass > 0.0) & (k < few)
    if any_lane(large):
        f = tl.where(large, few, 20.0)
        g = tl.where(large, many, 20.0)
        spare = tl.where(large, others, 20.0) - f
        size = g + f + spare
        chance = div(g, size)
        centre = tl.where(large, mean, 10.0) + 0.5
        spread = sqrt(div(size - f, size - 1.0) * f * chance * (1.0 - chance)) + 0.5
        height = 1.7155277699214135 * spread + 0.8989161620588988
        mode = floor(div((f + 1.0) * (g + 1.0), size + 2.0))
        at_mode = stirling_rest(mode) + stirling_rest(g - mode) + stirling_rest(f - mode) + stirling_rest(spare + mode)
        wanted = large
        attempt = tl.zeros_like(i) + 1
        while any_lane(wanted):
            w0, w1, w2, w3 = words(key, position, attempt, 0)
            u = 1.0 - unit(w0, w1, DOUBLE)
            v = unit(w2, w3, DOUBLE) - 0.5
            x = floor(centre + div(height * v, u))
            inside = (x >= 0.0) & (x <= f)
            y = tl.where(inside, x, mode)
            right = (mode + 0.5) * log(div(mode + 1.0, y + 1.0))
            right += (g - mode + 0.5) * log(div(g - mode + 1.0, g - y + 1.0))
            right += (f - mode + 0.5) * log(div(f - mode + 1.0, f - y + 1.0))
            right += (spare + mode + 0.5) * log(div(spare + mode + 1.0, spare + y + 1.0))
            odds = div(y + 1.0, g - y + 1.0) * div(spare + y + 1.0, f - y + 1.0)
            right += (mode - y) * log(odds)
            right += at_mode - stirling_rest(y) - stirling_rest(g - y) - stirling_rest(f - y) - stirling_rest(spare + y)
            accepted = inside & (2.0 * log(u) <= right)
            k = tl.where(wanted & accepted, x, k)
            wanted = wanted & (accepted == 0)
            attempt += 1
    k = tl.where(good > bad, drawn - k, k)
    k = tl.where(less_drawn, good - k, k)
    tl.store(o + base + i, k.to(tl.int64).to(o.dtype.element_ty), mask=m)


@triton.jit
def vonmises(o, p0, s0, key, offset, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    """The angle from the middle: Best and Fisher, "Efficient simulation of the von Mises distribution" (1979).

    They accept or reject a wrapped Cauchy variate, whose cosine is (1 + s cos(a)) / (s + cos(a)) of a uniform a. Here
    it is made of half the angle and of s - 1, so that no digits are lost where the angles are narrow. Beyond the
    concentration 10^12 the angle is normal, and narrows by the root."""
    base, i, m, position = place(offset, n, BLOCK)
    concentration = parameter(p0, s0, base, i, m, 1.0)
    kappa = tl.minimum(tl.maximum(concentration, 1e-8), 1e12)
    q = sqrt(1.0 + 4.0 * kappa * kappa)
    root = sqrt(1.0 + q)
    rho = div(2.0 * kappa * root, (root + 1.4142135623730951) * (q + 1.0))
    narrow = div(1.4142135623730951 * root - 1.0 - div(constant(1.0, q), q + 2.0 * kappa), 2.0 * kappa)
    apart = tl.where(kappa < 1.0, 1.0 - rho, narrow)
    beyond = div(apart * apart, 2.0 * rho)  # s - 1
    value = tl.zeros_like(kappa)
    attempt = tl.zeros_like(i)
    wanted = concentration >= 0.0
    while any_lane(wanted):
        w0, w1, w2, w3 = words(key, position, attempt, 0)
        half = HALF_PI * unit(w0, w1, DOUBLE)
        v = 1.0 - unit(w2, w3, DOUBLE)
        across = sin(half)
        along = cos(half)
        above = beyond + 2.0 * along * along
        y = div(kappa * beyond * (beyond + 2.0), above)
        accepted = log(div(y, v)) + 1.0 - y >= 0.0
        angle = 2.0 * asin(tl.minimum(sqrt(div(beyond, above)) * across, 1.0))
        angle = tl.where((w1 & 1) != 0, angle, -angle)  # a bit that no number is made of
        value = tl.where(wanted & accepted, angle, value)
        wanted = wanted & (accepted == 0)
        attempt += 1
    value *= sqrt(div(kappa, tl.maximum(concentration, kappa)))
    value = tl.where(concentration >= 0.0, value, concentration)  # NaN
    tl.store(o + base + i, value.to(o.dtype.element_ty), mask=m)
