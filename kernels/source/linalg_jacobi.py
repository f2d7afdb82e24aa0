"""One-sided Jacobi: rotate pairs of vectors until all are orthogonal to one another.

The vectors are the rows of w, of `length` elements; rows of v take the same rotations. All pairs come up in n - 1 (or
n, for odd n) rounds, in each of which every vector is in one pair.
"""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import copysign
from nbx_array.kernels.source.linalg_numbers import load, multiply, square, store

FAR = tl.constexpr(4.0)
"""A sweep none of whose rotations found a cosine above FAR times the tolerance is the last one: it leaves less."""


@triton.jit
def _pair(i, round, rounds):
    """Pair i of a round: vectors on opposite sides of a circle that turns, one of them in its middle."""
    ahead = round + i
    behind = round - i
    ahead = tl.where(ahead < rounds, ahead, ahead - rounds)  # a modulo takes longer than the rotation
    return tl.where(i == 0, rounds, ahead), tl.where(behind < 0, behind + rounds, behind)


@triton.jit
def _inner(pr, pi, qr, qi, COMPLEX: tl.constexpr):
    """Elements of conj(p) * q."""
    return multiply(pr, -pi, qr, qi, COMPLEX)


@triton.jit
def is_short(a):
    """Whether vectors of such squared lengths count as zero: their squares lose bits to underflow, so that turning them
    would not end, and they are far below the rounding errors of the rest, whose elements are about 1."""
    least: tl.constexpr = 1e-31 if a.dtype == tl.float32 else 1e-292  # the smallest normal number / epsilon
    return a <= least


@triton.jit
def _unit(x, y):
    """(x, y), whose length is nearly 1, with one that is 1 to rounding."""
    correction = 1.0 - 0.5 * ((x * x - 1.0) + y * y)
    return x * correction, y * correction


@triton.jit
def _rotation(a, b, gr, gi, tolerance, COMPLEX: tl.constexpr):
    """Of vectors p, q with squared lengths a, b and inner product g: whether they are to be rotated, the cosine of the
    angle between them, and c, s, phase with c p - s phase q and s p + c phase q orthogonal to each other.

    Every round waits for these numbers. So they are made of reciprocal roots and quotients that a GPU is quick at and
    may have a few ulp wrong: that matters to their lengths alone.
    """
    lengths = tl.rsqrt(a)
    others = tl.rsqrt(b)
    fr = gr * lengths * others
    fi = fr
    if COMPLEX:
        fi = gi * lengths * others
        size = tl.rsqrt(fr * fr + fi * fi)
        cosine = (fr * fr + fi * fi) * size
        fr, fi = _unit(fr * size, -fi * size)
        g = gr * fr - gi * fi
    else:
        cosine = tl.abs(fr)
        fr = copysign(1.0 + 0.0 * fr, fr)
        g = tl.abs(gr)
    # the cosine and the sine of the double angle, whose tangent is 2 g / (b - a)
    scale = 1.0 / (a + b)
    x = (b - a) * scale
    y = 2.0 * g * scale
    size = tl.rsqrt(x * x + y * y)
    square_of_c = 0.5 + 0.5 * tl.abs(x) * size
    root = tl.rsqrt(square_of_c)
    c, s = _unit(square_of_c * root, copysign(0.5 * y * size * root, x))
    return ~is_short(a) & ~is_short(b) & (cosine > tolerance), cosine, c, s, fr, fi


@triton.jit
def _rotate(p, places_p, places_q, mask, c, s, fr, fi, COMPLEX: tl.constexpr):
    pr, pi = load(p, places_p, mask, COMPLEX)
    qr, qi = load(p, places_q, mask, COMPLEX)
    qr, qi = multiply(qr, qi, fr, fi, COMPLEX)
    store(p, places_p, c * pr - s * qr, c * pi - s * qi, mask, COMPLEX)
    store(p, places_q, s * pr + c * qr, s * pi + c * qi, mask, COMPLEX)


@triton.jit
def _turn(
    w,
    v,
    p,
    q,
    with_p,
    with_q,
    length,
    v_length,
    tolerance,
    VECTORS: tl.constexpr,
    COMPLEX: tl.constexpr,
    LENGTH: tl.constexpr,
    V_LENGTH: tl.constexpr,
):
    """Rotate rows p[i] and q[i] of w, and of v, of those that there are. The cosines and sines of the pairs that
    turned, else zeros; whose numbers are not all finite."""
    x = tl.arange(0, LENGTH)[None, :]
    live = with_p & with_q
    at_p = p[:, None] * length + x
    at_q = q[:, None] * length + x
    pr, pi = load(w, at_p, with_p[:, None] & (x < length), COMPLEX)
    qr, qi = load(w, at_q, with_q[:, None] & (x < length), COMPLEX)
    gr, gi = _inner(pr, pi, qr, qi, COMPLEX)
    a = tl.sum(square(pr, pi, COMPLEX), 1)
    b = tl.sum(square(qr, qi, COMPLEX), 1)
    gr = tl.sum(gr, 1)
    gi = tl.sum(gi, 1) if COMPLEX else gr
    turn, cosine, c, s, fr, fi = _rotation(a, b, gr, gi, tolerance, COMPLEX)
    turn = turn & live
    cosine = tl.where(turn, cosine, 0.0)
    sine = tl.where(turn, tl.abs(s), 0.0)
    turned = turn[:, None] & (x < length)
    qr, qi = multiply(qr, qi, fr[:, None], fi[:, None], COMPLEX)
    c = c[:, None]
    s = s[:, None]
    store(w, at_p, c * pr - s * qr, c * pi - s * qi, turned, COMPLEX)
    store(w, at_q, s * pr + c * qr, s * pi + c * qi, turned, COMPLEX)
    if VECTORS:
        y = tl.arange(0, V_LENGTH)[None, :]
        also = turn[:, None] & (y < v_length)
        at_p = p[:, None] * v_length + y
        at_q = q[:, None] * v_length + y
        _rotate(v, at_p, at_q, also, c, s, fr[:, None], fi[:, None], COMPLEX)
    return cosine, sine, ~(a + b < float("inf"))


@triton.jit
def rotate_all(w, v, n, sweeps, tolerance, VECTORS: tl.constexpr, COMPLEX: tl.constexpr, N: tl.constexpr):
    """Rotate n rows of N numbers by one program until all are orthogonal, those of v alike. Whether more than `sweeps`
    would be needed for that; whether a number is not finite.

    A rotation makes the cosine of a pair zero; later ones of the sweep, with n other vectors, mix in the cosines of
    those, each times a sine. Where that leaves little of them no further sweep need find it.
    """
    i = tl.arange(0, N // 2)
    players = n + n % 2
    rounds = players - 1
    here = i < players // 2
    left = 1.0 + 0.0 * tolerance
    odd = n * 0
    sweep = n * 0
    while (left > FAR * tolerance) & (sweep < sweeps):
        cosines = tl.zeros((N // 2,), w.dtype.element_ty)
        sines = tl.zeros((N // 2,), w.dtype.element_ty)
        odds = tl.zeros((N // 2,), tl.int32)
        for round in range(rounds):
            p, q = _pair(i, round, rounds)
            cosine, sine, wrong = _turn(
                w, v, p, q, here & (p < n), here & (q < n), N, N, tolerance, VECTORS, COMPLEX, N, N
            )  # fmt: skip
            cosines = tl.maximum(cosines, cosine)
            sines = tl.maximum(sines, sine)
            odds |= wrong.to(tl.int32)
            tl.debug_barrier()
        most = tl.max(cosines, 0)
        left = most * tl.minimum(n * (tl.max(sines, 0) + most), 1.0)
        odd |= tl.max(odds, 0)
        sweep += 1
    return left > FAR * tolerance, odd > 0


@triton.jit
def jacobi_blocks(
    w,
    v,
    turns,
    n,
    length,
    v_length,
    round,
    tolerance,
    VECTORS: tl.constexpr,
    FINITE: tl.constexpr,
    COMPLEX: tl.constexpr,
    B: tl.constexpr,
    LENGTH: tl.constexpr,
    V_LENGTH: tl.constexpr,
):
    """One round over matrices of a middling size, two blocks of B vectors a program, which rotates each vector of one
    with each of the other; in the first round of a sweep also those of a block with each other. `turns` as in
    `jacobi_round`."""
    words = 2 if COMPLEX else 1
    matrix = tl.program_id(0).to(tl.int64)
    w += matrix * n * length * words
    v += matrix * n * v_length * words
    blocks = tl.cdiv(n, B)
    one, other = _pair(tl.program_id(1).to(tl.int64), round, blocks + blocks % 2 - 1)
    first = round == 0
    i = tl.arange(0, B)
    far = tl.zeros((B,), tl.int32)
    wrong = tl.zeros((B,), tl.int32)
    for step in range(tl.where(first, 2 * B - 1, B)):
        left, right = _pair(i, step, 2 * B - 1)
        left = tl.where(first, left, i)
        right = tl.where(first, right, B + (i + step) % B)
        p = tl.where(left < B, one * B + left, other * B + left - B)
        q = tl.where(right < B, one * B + right, other * B + right - B)
        cosine, _, odd = _turn(
            w, v, p, q, p < n, q < n, length, v_length, tolerance, VECTORS, COMPLEX, LENGTH, V_LENGTH
        )  # fmt: skip
        far |= (cosine > FAR * tolerance).to(tl.int32)
        wrong |= odd.to(tl.int32)
        tl.debug_barrier()
    if FINITE:
        tl.store(turns, 2, mask=tl.max(wrong, 0) > 0)
    tl.store(turns, 1, mask=tl.max(far, 0) > 0)


@triton.jit
def jacobi_round(
    w,
    v,
    turns,
    n,
    length,
    v_length,
    round,
    tolerance,
    VECTORS: tl.constexpr,
    FINITE: tl.constexpr,
    COMPLEX: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One round over large matrices, a pair of vectors a program. Rotations by far set `turns` to 1; if all numbers are
    to be FINITE those that are not set it to 2, once a sweep at least."""
    words = 2 if COMPLEX else 1
    matrix = tl.program_id(0).to(tl.int64)
    w += matrix * n * length * words
    v += matrix * n * v_length * words
    players = n + n % 2
    p, q = _pair(tl.program_id(1).to(tl.int64), round, players - 1)
    if (p < n) & (q < n):
        x = tl.arange(0, BLOCK)
        a = tl.zeros((BLOCK,), w.dtype.element_ty)
        b = tl.zeros((BLOCK,), w.dtype.element_ty)
        gr = tl.zeros((BLOCK,), w.dtype.element_ty)
        gi = tl.zeros((BLOCK,), w.dtype.element_ty)
        for start in range(0, length, BLOCK):
            at = start + x
            pr, pi = load(w, p * length + at, at < length, COMPLEX)
            qr, qi = load(w, q * length + at, at < length, COMPLEX)
            hr, hi = _inner(pr, pi, qr, qi, COMPLEX)
            a += square(pr, pi, COMPLEX)
            b += square(qr, qi, COMPLEX)
            gr += hr
            if COMPLEX:
                gi += hi
        aa = tl.sum(a, 0)
        bb = tl.sum(b, 0)
        turn, cosine, c, s, fr, fi = _rotation(aa, bb, tl.sum(gr, 0), tl.sum(gi, 0), tolerance, COMPLEX)
        if FINITE:
            tl.store(turns, 2, mask=~(aa + bb < float("inf")))
        if turn:
            tl.store(turns, 1, mask=cosine > FAR * tolerance)
            for start in range(0, length, BLOCK):
                at = start + x
                _rotate(w, p * length + at, q * length + at, at < length, c, s, fr, fi, COMPLEX)
            if VECTORS:
                for start in range(0, v_length, BLOCK):
                    at = start + x
                    _rotate(v, p * v_length + at, q * v_length + at, at < v_length, c, s, fr, fi, COMPLEX)


@triton.jit
def sort_rows(keys, keys_out, x, out, n, length, DESCENDING: tl.constexpr, BLOCK: tl.constexpr):
    """Put the rows of x, of `length` words, in the order of their keys, NaN last; equal keys keep their order.

    A program counts the keys that come before its own, and moves one row.
    """
    matrix = tl.program_id(0).to(tl.int64)
    keys += matrix * n
    r = tl.program_id(1).to(tl.int64)
    key = tl.load(keys + r)
    last = float("-inf") if DESCENDING else float("inf")
    mine = tl.where(key == key, key, last)
    i = tl.arange(0, BLOCK)
    place = tl.zeros((), tl.int64)
    for start in range(0, n, BLOCK):
        at = start + i
        other = tl.load(keys + at, mask=at < n, other=last)
        other = tl.where(other == other, other, last)
        before = (other > mine) if DESCENDING else (other < mine)
        before = (before | ((other == mine) & (at < r))) & (at < n)
        place += tl.sum(before.to(tl.int32), 0)
    tl.store(keys_out + matrix * n + place, key)
    source = x + (matrix * n + r) * length
    goal = out + (matrix * n + place) * length
    for start in range(0, length, BLOCK):
        at = start + i
        tl.store(goal + at, tl.load(source + at, mask=at < length), mask=at < length)
