"""Fourier transforms along the middle one of three packed dimensions (outer, n, inner).

A transform of length n = R1 · R2 · ... is a chain of passes, one for each factor, each from one array to another
(Stockham's arrangement, whose result needs no reordering). A pass of radix R takes R elements that lie n/R apart, turns
each by its own root of unity (a twiddle factor), transforms the R of them, and stores them where the next pass wants
them: the pass for which the product of the factors before is L reads x[q·L + p + k·n/R] and writes y[q·L·R + p + k·L],
for p < L, k < R. An inner dimension makes L and n larger by its length and changes nothing else.

An inverse transform is the conjugate of the transform of the conjugate: `sign` is -1 for it, and multiplies imaginary
parts where they are read and where they are written.

Powers of w = exp(-2πi/n) come from a table of about 2·√n of them: those below 2^bits, then those of w^(2^bits). One
product gives any other, at an error of a unit or two in the last place.

A length with a large prime factor goes by way of a convolution (Bluestein): jk = (j² + k² - (k - j)²)/2, so the
transform is x times a chirp w^(j²/2), convolved with the chirp's conjugate, times the chirp again. The convolution is a
product of transforms, whose length M ≥ 2n - 1 can be a power of two.
"""

import math

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import constant


@triton.jit
def load(p, i, mask, PAIRED: tl.constexpr):
    """The complex numbers i of an array, 0 where the mask does not hold. `PAIRED`, for GPUs: both parts at once."""
    if PAIRED:
        pairs = tl.load(p + (2 * i)[:, None] + tl.arange(0, 2)[None, :], mask=mask[:, None], other=0.0)
        return tl.split(pairs)
    else:
        return tl.load(p + 2 * i, mask=mask, other=0.0), tl.load(p + 2 * i + 1, mask=mask, other=0.0)


@triton.jit
def store(p, i, re, im, mask, PAIRED: tl.constexpr):
    if PAIRED:
        tl.store(p + (2 * i)[:, None] + tl.arange(0, 2)[None, :], tl.join(re, im), mask=mask[:, None])
    else:
        tl.store(p + 2 * i, re, mask=mask)
        tl.store(p + 2 * i + 1, im, mask=mask)


@triton.jit
def multiply(a, b, c, d):
    return tl.fma(a, c, -(b * d)), tl.fma(a, d, b * c)


@triton.jit
def power(roots, t, bits, mask, PAIRED: tl.constexpr):
    """w^t, for the table of w."""
    a, b = load(roots, t & ((1 << bits) - 1), mask, PAIRED)
    c, d = load(roots, (1 << bits) + (t >> bits), mask, PAIRED)
    return multiply(a, b, c, d)


# ------------------------------------------------------------------------------------------ transforms in registers


@triton.constexpr_function
def cosine(j, n):
    """cos(2π · j/n), from an angle of at most π/4."""
    quarter = (8 * j + n) // (2 * n)
    angle = math.pi / 2 * (4 * j - quarter * n) / n
    return (math.cos(angle), -math.sin(angle), -math.cos(angle), math.sin(angle))[quarter % 4]


@triton.constexpr_function
def larger_factor(n):
    """The larger one of the two factors that a radix is split into; a prime, and 4, is one itself."""
    return {8: 4, 9: 3, 16: 4, 27: 3}.get(n, n)


@triton.jit
def turn(re, im, j: tl.constexpr, n: tl.constexpr):
    """(re + i·im) · exp(-2πi · j/n) for constants."""
    if j == 0:
        return re, im
    elif 4 * j == n:
        return im, -re
    elif 8 * j == n:
        half = constant(0.7071067811865476, re)
        return (re + im) * half, (im - re) * half
    elif 8 * j == 3 * n:
        half = constant(0.7071067811865476, re)
        return (im - re) * half, -(re + im) * half
    else:
        return multiply(re, im, constant(cosine(j, n), re), constant(cosine(4 * j + n, 4 * n), re))  # -sin


@triton.jit
def transform_4(a, b, c, d, e, f, g, h):
    """The transform of four numbers, given and returned as the real and imaginary part of each."""
    p, q, r, s = a + e, b + f, a - e, b - f
    t, u, v, w = c + g, d + h, c - g, d - h
    return (p + t, r + w, p - t, r - w), (q + u, s - v, q - u, s + v)


@triton.jit
def transform_prime(re, im, N: tl.constexpr):
    """The transform of a prime number of elements, by its definition: elements j and N - j have conjugate factors."""
    H: tl.constexpr = (N - 1) // 2
    sum_re, sum_im = re[0], im[0]
    for j in tl.static_range(1, H + 1):
        sum_re += re[j] + re[N - j]
        sum_im += im[j] + im[N - j]
    lower_re, lower_im = (sum_re,), (sum_im,)
    upper_re, upper_im = (), ()
    for k in tl.static_range(1, H + 1):
        even_re, even_im = re[0], im[0]
        odd_re, odd_im = tl.zeros_like(sum_re), tl.zeros_like(sum_re)
        for j in tl.static_range(1, H + 1):
            c = constant(cosine(j * k, N), sum_re)
            s = constant(cosine(4 * j * k - N, 4 * N), sum_re)  # sin
            even_re = tl.fma(re[j] + re[N - j], c, even_re)
            even_im = tl.fma(im[j] + im[N - j], c, even_im)
            odd_re = tl.fma(im[j] - im[N - j], s, odd_re)
            odd_im = tl.fma(re[N - j] - re[j], s, odd_im)
        lower_re += (even_re + odd_re,)
        lower_im += (even_im + odd_im,)
        upper_re = (even_re - odd_re,) + upper_re  # noqa: RUF005, Triton unpacks no tuples
        upper_im = (even_im - odd_im,) + upper_im  # noqa: RUF005, likewise
    return lower_re + upper_re, lower_im + upper_im


@triton.jit
def transform_small(re, im, N: tl.constexpr):
    """The transform of 2, 4 or an odd prime number of elements."""
    if N == 1:
        return re, im
    elif N == 2:
        return (re[0] + re[1], re[0] - re[1]), (im[0] + im[1], im[0] - im[1])
    elif N == 4:
        return transform_4(re[0], im[0], re[1], im[1], re[2], im[2], re[3], im[3])
    else:
        return transform_prime(re, im, N)


@triton.jit
def transform(re, im, N: tl.constexpr):
    """The transform of N = A · B elements: of A columns, turned, then of B rows."""
    B: tl.constexpr = larger_factor(N)
    A: tl.constexpr = N // B
    columns_re, columns_im = (), ()
    for b in tl.static_range(B):
        column_re, column_im = (), ()
        for a in tl.static_range(A):
            column_re += (re[a * B + b],)
            column_im += (im[a * B + b],)
        if A == 9:  # of 27
            column_re, column_im = transform(column_re, column_im, A)
        else:
            column_re, column_im = transform_small(column_re, column_im, A)
        for a in tl.static_range(A):
            x, y = turn(column_re[a], column_im[a], a * b, N)
            columns_re += (x,)
            columns_im += (y,)
    rows_re, rows_im = (), ()
    for a in tl.static_range(A):
        row_re, row_im = (), ()
        for b in tl.static_range(B):
            row_re += (columns_re[b * A + a],)
            row_im += (columns_im[b * A + a],)
        row_re, row_im = transform_small(row_re, row_im, B)
        rows_re += row_re
        rows_im += row_im
    out_re, out_im = (), ()
    for b in tl.static_range(B):
        for a in tl.static_range(A):
            out_re += (rows_re[a * B + b],)
            out_im += (rows_im[a * B + b],)
    return out_re, out_im


@triton.jit
def butterflies(
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
    R: tl.constexpr,
    FIRST: tl.constexpr,
    PAIRED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One pass of radix R over `total` sets of R elements, which lie `distance` = n/R · inner apart. `before` is the
    product of `inner` and the radices of the passes before, and step = n / (R · their product). The `FIRST` pass has no
    twiddle factors. The result is multiplied by `scale`."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    source = g + g // distance * ((R - 1) * distance)
    p = g % before
    turns = p // inner * step
    re, im = (), ()
    for k in tl.static_range(R):
        a, b = load(x, source + k * distance, mask, PAIRED)
        b = b * sign
        if k > 0 and not FIRST:
            c, d = power(roots, turns * k, bits, mask, PAIRED)
            a, b = multiply(a, b, c, d)
        re += (a,)
        im += (b,)
    re, im = transform(re, im, R)
    target = (g - p) * R + p
    for k in tl.static_range(R):
        store(y, target + k * before, re[k] * scale, im[k] * (scale * sign), mask, PAIRED)


@triton.jit
def direct_sums(
    x,
    y,
    roots,
    total,
    distance,
    before,
    inner,
    step,
    bits,
    radix,
    n,
    sign,
    scale,
    PAIRED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One pass of any radix, by the definition: `total` elements, each a sum of `radix` products."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    p = g % before
    k = g // before % radix
    s = g // (before * radix) * before + p  # the set of elements that are summed
    source = s + s // distance * ((radix - 1) * distance)
    turns = p // inner * step + k * (n // radix)
    t = tl.zeros_like(g)
    re, im = load(x, source, mask, PAIRED)
    im = im * sign
    for j in range(1, radix):
        t += turns
        t = tl.where(t >= n, t - n, t)
        a, b = load(x, source + j * distance, mask, PAIRED)
        c, d = power(roots, t, bits, mask, PAIRED)
        a, b = multiply(a, b * sign, c, d)
        re += a
        im += b
    store(y, g, re * scale, im * (scale * sign), mask, PAIRED)


# ----------------------------------------------------------------------------------------- before and after the passes


@triton.jit
def prepare(
    x,
    y,
    total,
    n,
    inner,
    given,
    width,
    KIND: tl.constexpr,
    PAIRED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Complex rows y of n elements from rows x of `width`, of which `given` count: the rest are zeros.

    KIND: "complex", "real", "pairs": real rows, whose pairs are the elements (`given` and `width` count numbers, inner
    is 1), or "half": rows whose second half is the conjugate of the first, which alone is given; the imaginary parts
    of the elements that are their own mates count as zero."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    column = g % (n * inner)
    i = column // inner
    start = g // (n * inner) * (width * inner)
    if KIND == "real":
        re = tl.load(x + start + column, mask=mask & (i < given), other=0.0)
        im = tl.zeros_like(re)
    elif KIND == "pairs":
        re = tl.load(x + start + 2 * i, mask=mask & (2 * i < given), other=0.0)
        im = tl.load(x + start + 2 * i + 1, mask=mask & (2 * i + 1 < given), other=0.0)
    elif KIND == "complex":
        re, im = load(x, start + column, mask & (i < given), PAIRED)
    else:
        mirrored = 2 * i > n
        j = tl.where(mirrored, n - i, i)
        column = tl.where(mirrored, column + (n - 2 * i) * inner, column)
        re, im = load(x, start + column, mask & (j < given), PAIRED)
        im = tl.where((j == 0) | (2 * j == n), 0.0, tl.where(mirrored, -im, im))
    store(y, g, re, im, mask, PAIRED)


@triton.jit
def deliver(x, y, total, n, inner, width, REAL: tl.constexpr, PAIRED: tl.constexpr, BLOCK: tl.constexpr):
    """The first n elements of each row of `width`, or their real parts."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    re, im = load(x, g + g // (n * inner) * ((width - n) * inner), mask, PAIRED)
    if REAL:
        tl.store(y + g, re, mask=mask)
    else:
        store(y, g, re, im, mask, PAIRED)


# Bluestein's algorithm.


@triton.jit
def chirp(roots, i, n, bits, mask, PAIRED: tl.constexpr):
    """w^(i²/2), for the table of √w. A square is below 2^63."""
    i = i.to(tl.int64)
    return power(roots, i * i % (2 * n.to(tl.int64)), bits, mask, PAIRED)


@triton.jit
def conjugate_chirp(y, roots, total, n, bits, scale, PAIRED: tl.constexpr, BLOCK: tl.constexpr):
    """w^(-i²/2) for |i| < n, modulo `total`, and zeros between."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    i = tl.minimum(g, total - g)
    re, im = chirp(roots, i, n, bits, mask, PAIRED)
    re = tl.where(i < n, re * scale, 0.0)
    im = tl.where(i < n, im * -scale, 0.0)
    store(y, g, re, im, mask, PAIRED)


@triton.jit
def multiply_by_chirp(
    x,
    y,
    roots,
    total,
    length,
    inner,
    width,
    n,
    bits,
    sign,
    scale,
    conjugate,
    PAIRED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Rows of `length` from rows of `width`: the first n elements times the chirp and `scale`, then zeros. `sign` and
    `conjugate`, 1 or -1, multiply imaginary parts before and after."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    row = g // (length * inner)
    i = g % (length * inner) // inner
    mask = (g < total) & (i < n)
    a, b = load(x, g + row * ((width - length) * inner), mask, PAIRED)
    c, d = chirp(roots, i, n, bits, mask, PAIRED)
    re, im = multiply(a, b * sign, c, d)
    store(y, g, re * scale, im * (scale * conjugate), g < total, PAIRED)


@triton.jit
def convolve(y, factors, total, length, inner, PAIRED: tl.constexpr, BLOCK: tl.constexpr):
    """Multiply each row of y by the factors."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    a, b = load(y, g, mask, PAIRED)
    c, d = load(factors, g // inner % length, mask, PAIRED)
    re, im = multiply(a, b, c, d)
    store(y, g, re, im, mask, PAIRED)


# A real row of 2m numbers is read as m complex ones. Of their transform Z follow the transforms of its even elements,
# (Z[k] + conj Z[m-k])/2, and of its odd ones, (Z[k] - conj Z[m-k])/2i, and so the real row's own: and back. Elements k
# and m - k on one side come of those on the other, so a lane reads and writes both.


@triton.jit
def untangle(x, y, roots, total, m, bits, sign, scale, WHOLE: tl.constexpr, PAIRED: tl.constexpr, BLOCK: tl.constexpr):
    """The first m + 1 elements of each real row's transform, times `scale`/2, from that of its pairs. `WHOLE`: all 2m
    elements, of which the others are conjugates."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    k = g % (m // 2 + 1)
    row = g // (m // 2 + 1)
    a, b = load(x, row * m + k, mask, PAIRED)
    c, d = load(x, row * m + tl.where(k == 0, 0, m - k), mask, PAIRED)
    p, q = power(roots, k, bits, mask, PAIRED)
    re, im = multiply(b + d, c - a, p, q)
    low_re, low_im = (a + c + re) * scale, (b - d + im) * (scale * sign)
    high_re, high_im = (a + c - re) * scale, (d - b + im) * (scale * sign)
    other = mask & (2 * k < m)  # the one in the middle is its own mate
    start = row * (2 * m if WHOLE else m + 1)
    store(y, start + k, low_re, low_im, mask, PAIRED)
    store(y, start + m - k, high_re, high_im, other, PAIRED)
    if WHOLE:
        store(y, start + 2 * m - k, low_re, -low_im, mask & (k > 0), PAIRED)
        store(y, start + m + k, high_re, -high_im, other & (k > 0), PAIRED)


@triton.jit
def tangle(x, y, roots, total, m, given, width, bits, sign, PAIRED: tl.constexpr, BLOCK: tl.constexpr):
    """Twice the transform of a real row's pairs from the first m + 1 elements of its own, of which `given` count, in
    rows of `width`; the others are zero. The imaginary parts of the first and the last count as zero."""
    g = tl.program_id(0).to(total.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = g < total
    k = g % (m // 2 + 1)
    row = g // (m // 2 + 1)
    a, b = load(x, row * width + k, mask & (k < given), PAIRED)
    c, d = load(x, row * width + m - k, mask & (m - k < given), PAIRED)
    b = tl.where(k == 0, 0.0, b * sign)
    d = tl.where(k == 0, 0.0, d * -sign)
    p, q = power(roots, k, bits, mask, PAIRED)
    re, im = multiply(a - c, b - d, p, -q)
    store(y, row * m + k, a + c - im, b + d + re, mask, PAIRED)
    store(y, row * m + m - k, a + c + im, re - b - d, mask & (k > 0) & (2 * k < m), PAIRED)
