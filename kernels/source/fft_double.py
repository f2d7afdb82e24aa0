"""Two passes of a Fourier transform in one, whose elements go between registers of a program in the middle.

A set of R = A · B elements is transformed as columns and rows are (`fft.transform`), but is spread over lanes: first
each of B lanes holds a column, A elements that lie B apart in the set, and in the end each of A lanes holds a row.
Joining tensors, permuting dimensions and splitting again moves the elements: one trip through shared memory. A program
takes as many sets as fill lines of memory. A lane looks up two of A twiddle factors, w^t and w^(4t), and the others are
their products: to look up all would take as long as the elements' own traffic.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.fft import load, multiply, power, store, transform


@triton.jit
def lanes(N: tl.constexpr, SETS: tl.constexpr, ROWS: tl.constexpr):
    """Each lane's place among the N of its set, and its set. `ROWS`: those of a set are neighbours, not those of a
    place."""
    lane = tl.arange(0, N * SETS)
    if ROWS:
        return lane % N, lane // N
    else:
        return lane // SETS, lane % SETS


@triton.jit
def exchange(
    parts, A: tl.constexpr, B: tl.constexpr, SETS: tl.constexpr, ROWS_IN: tl.constexpr, ROWS_OUT: tl.constexpr
):
    """From A elements in each of B lanes of a set to B in each of A, for powers of two."""
    for level in tl.static_range(A.bit_length() - 1):
        joined = ()
        for i in tl.static_range(A >> (level + 1)):
            joined += (tl.join(parts[i], parts[i + (A >> (level + 1))]),)
        parts = joined
    if ROWS_IN:
        tensor = parts[0].reshape([SETS, B, A]).permute(1, 0, 2)
    else:
        tensor = parts[0].reshape([B, SETS, A])
    tensor = tensor.permute(1, 2, 0) if ROWS_OUT else tensor.permute(2, 1, 0)
    BITS: tl.constexpr = B.bit_length() - 1
    parts = (tensor.reshape([A * SETS] + [2] * BITS),)
    for level in tl.static_range(BITS):
        low, high = (), ()
        for i in tl.static_range(1 << level):
            a, b = tl.split(parts[i])
            low += (a,)
            high += (b,)
        parts = low + high
    return parts


@triton.jit
def powers(re, im, N: tl.constexpr):
    """w, w², ... w^(N-1)."""
    found_re, found_im = (re,), (im,)
    for k in tl.static_range(N - 2):
        p, q = multiply(found_re[k], found_im[k], re, im)
        found_re += (p,)
        found_im += (q,)
    return found_re, found_im


@triton.jit
def turn_by_powers(re, im, roots, t, bits, mask, N: tl.constexpr, PAIRED: tl.constexpr):
    """Element k times w^(k·t), for N = 8 or 16 elements. Two factors come from the table."""
    a, b = power(roots, t, bits, mask, PAIRED)
    c, d = power(roots, 4 * t, bits, mask, PAIRED)
    a, b = powers(a, b, 4)
    c, d = powers(c, d, N // 4)
    out_re, out_im = (re[0],), (im[0],)
    for k in tl.static_range(1, N):
        if k < 4:
            p, q = a[k - 1], b[k - 1]
        elif k % 4 == 0:
            p, q = c[k // 4 - 1], d[k // 4 - 1]
        else:
            p, q = multiply(a[k % 4 - 1], b[k % 4 - 1], c[k // 4 - 1], d[k // 4 - 1])
        p, q = multiply(re[k], im[k], p, q)
        out_re += (p,)
        out_im += (q,)
    return out_re, out_im


@triton.jit
def double_butterflies(
    x,
    y,
    roots,
    total,
    distance,
    before,
    inner,
    step,
    bits,
    sign,
    scale,
    A: tl.constexpr,
    B: tl.constexpr,
    PLACE: tl.constexpr,
    PAIRED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """`fft.butterflies` of radix A · B, of `BLOCK` sets a program. PLACE: "first", where before = 1, so that a set's
    elements become neighbours and need no turn before; "only", where they are neighbours from the start, too; or
    "later"."""
    R: tl.constexpr = A * B
    ROWS_IN: tl.constexpr = PLACE == "only"
    ROWS_OUT: tl.constexpr = PLACE != "later"
    first = tl.program_id(0).to(total.dtype) * BLOCK
    b, g = lanes(B, BLOCK, ROWS_IN)
    g += first
    mask = g < total
    source = g + g // distance * ((R - 1) * distance) + b * distance
    turns = g % before // inner * step
    re, im = (), ()
    if not ROWS_OUT:
        r, s = power(roots, turns * b, bits, mask, PAIRED)
    for k in tl.static_range(A):
        p, q = load(x, source + k * B * distance, mask, PAIRED)
        q = q * sign
        if not ROWS_OUT:
            p, q = multiply(p, q, r, s)
        re += (p,)
        im += (q,)
    if not ROWS_OUT:
        re, im = turn_by_powers(re, im, roots, turns * B, bits, mask, A, PAIRED)
    re, im = transform(re, im, A)
    re, im = turn_by_powers(re, im, roots, b * (before // inner * step), bits, mask, A, PAIRED)  # powers of w^(n/R)
    re, im = transform(exchange(re, A, B, BLOCK, ROWS_IN, ROWS_OUT), exchange(im, A, B, BLOCK, ROWS_IN, ROWS_OUT), B)
    a, g = lanes(A, BLOCK, ROWS_OUT)
    g += first
    mask = g < total
    p = g % before
    target = (g - p) * R + p + a * before
    for k in tl.static_range(B):
        store(y, target + k * A * before, re[k] * scale, im[k] * (scale * sign), mask, PAIRED)
