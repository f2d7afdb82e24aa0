"""Triton kernels that the tests compile. Nothing imports this file: its text is given to the compiler."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def logical_and(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) & tl.load(y + i, mask=m), mask=m)


@triton.jit
def k_exp(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.exp(tl.load(x + i, mask=m)), mask=m)


@triton.jit
def k_math(x, o, n, BLOCK: tl.constexpr, F: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m)
    if F == "log":
        r = tl.log(v)
    elif F == "sin":
        r = tl.sin(v)
    elif F == "erf":
        r = tl.erf(v)
    elif F == "sqrt":
        r = tl.sqrt(v)
    elif F == "abs":
        r = tl.abs(v)
    else:
        r = tl.floor(v)
    tl.store(o + i, r, mask=m)


@triton.jit
def k_gauss(x, o, n, mu, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = tl.load(x + i, mask=m) - mu
    tl.store(o + i, tl.exp(-(d * d) / (2 * s * s)), mask=m)


@triton.jit
def k_softmax(x, o, rs, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + r * rs + i, mask=m, other=-float("inf"))
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(o + r * rs + i, e / tl.sum(e, 0), mask=m)


@triton.jit
def k_sum(x, o, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + p, tl.sum(tl.load(x + i, mask=m, other=0), 0))


@triton.jit
def _am(a, ai, b, bi):
    t = (a > b) | ((a == b) & (ai < bi))
    return tl.where(t, a, b), tl.where(t, ai, bi)


@triton.jit
def k_argmax(x, o, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + p * n + i, mask=m, other=-float("inf"))
    _a, b = tl.reduce((v, i), 0, _am)
    tl.store(o + p, b)


@triton.jit
def k_argmax_tl(x, o, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + p * n + i, mask=m, other=-float("inf"))
    tl.store(o + p, tl.argmax(v, 0))


@triton.jit
def k_sum2d(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr, AX: tl.constexpr):
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    v = tl.load(x + i[:, None] * N + j[None, :], mask=(i[:, None] < M) & (j[None, :] < N), other=0)
    if AX == 0:
        tl.store(o + j, tl.sum(v, 0), mask=j < N)
    else:
        tl.store(o + i, tl.max(v, 1), mask=i < M)


@triton.jit
def k_cumsum(x, o, n, BLOCK: tl.constexpr, REV: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0)
    tl.store(o + i, tl.cumsum(v, 0, reverse=REV), mask=m)


@triton.jit
def _lin(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def k_ascan(a, b, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    _x, y = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, _lin)
    tl.store(o + i, y)


@triton.jit
def k_scan2d(x, o, M: tl.constexpr, N: tl.constexpr, AX: tl.constexpr):
    p = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + p, tl.cumsum(tl.load(x + p), AX))


@triton.jit
def k_mm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    ap = a + rm[:, None] * K + rk[None, :]
    bp = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(ap, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0.0)
        y = tl.load(bp, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        ap += BK
        bp += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def k_strided(x, y, o, n, d1, d2, xs0, xs1, xs2, ys0, ys1, ys2, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    i2 = i % d2
    r = i // d2
    i1 = r % d1
    i0 = r // d1
    v = tl.load(x + i0 * xs0 + i1 * xs1 + i2 * xs2, mask=m) + tl.load(y + i0 * ys0 + i1 * ys1 + i2 * ys2, mask=m)
    tl.store(o + i, v, mask=m)


@triton.jit
def k_sort(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.sort(tl.load(x + i)))


@triton.jit
def k_hist(x, h, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m)
    tl.atomic_add(h + v, 1, mask=m)


@triton.jit
def k_atomf(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.atomic_add(o, tl.sum(tl.load(x + i, mask=m, other=0.0), 0))


@triton.jit
def k_misc(x, o, q, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    acc = tl.zeros((BLOCK,), tl.float32)
    c = 0
    nb = tl.cdiv(n, 4)
    for k in range(nb):
        acc += tl.load(x + i, mask=m, other=0.0) * k
    while c < 10:
        acc = tl.where(acc > 5, acc - 1, acc + c)
        c += 3
    if n > 50:
        acc = acc * 2
    else:
        acc = acc + 100
    tl.store(o + i, acc, mask=m)
    tl.store(q, c + nb)


@triton.jit
def k_swap(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m)
    b = tl.load(y + i, mask=m)
    tl.store(x + i, b, mask=m)
    tl.debug_barrier()
    tl.store(y + i, a, mask=m)


@triton.jit
def k_trans(x, o, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(v))


@triton.jit
def k_while2(x, o, n, BLOCK: tl.constexpr):
    # Collatz steps: while loop carrying tensors
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    c = tl.zeros((BLOCK,), tl.int32)
    go = tl.max(v, 0) > 1
    while go:
        c += tl.where(v > 1, 1, 0)
        v = tl.where(v > 1, tl.where(v % 2 == 0, v // 2, 3 * v + 1), v)
        go = tl.max(v, 0) > 1
    tl.store(o + i, c)


@triton.jit
def k_ret(x, o, n):
    p = tl.program_id(0)
    if p >= n:
        return
    v = tl.load(x + p)
    if v > 0.5:
        tl.store(o + p, v)
        return
    tl.store(o + p, -v)


@triton.jit
def k_gather(x, i, o, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(o + r, tl.gather(tl.exp(tl.load(x + r)), tl.load(i + r), 0))


@triton.jit
def k_layernorm(x, w, b, o, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + r * n + i, mask=m, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    var = tl.sum(d * d, 0) / n
    y = d / tl.sqrt(var + 1e-5)
    tl.store(o + r * n + i, y * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


@triton.jit
def k_flash(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    qq = tl.load(q + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    mi = tl.full((BM,), -float("inf"), tl.float32)
    li = tl.zeros((BM,), tl.float32)
    for s in range(0, (tl.program_id(0) + 1) * BM, BN):
        c = s + rn
        kk = tl.load(k + c[None, :] * D + rd[:, None], mask=c[None, :] < n, other=0.0)
        qk = tl.dot(qq, kk) * scale
        qk = tl.where((rm[:, None] >= c[None, :]) & (c[None, :] < n), qk, -float("inf"))
        mn = tl.maximum(mi, tl.max(qk, 1))
        p = tl.exp(qk - mn[:, None])
        a = tl.exp(mi - mn)
        li = li * a + tl.sum(p, 1)
        vv = tl.load(v + c[:, None] * D + rd[None, :], mask=c[:, None] < n, other=0.0)
        acc = acc * a[:, None] + tl.dot(p, vv)
        mi = mn
    tl.store(o + rm[:, None] * D + rd[None, :], acc / li[:, None], mask=rm[:, None] < n)


@triton.jit
def k_flip(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.flip(tl.load(x + i), 0))


@triton.jit
def k_interleave(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + tl.arange(0, 2 * N), tl.interleave(tl.load(x + i), tl.load(y + i)))


@triton.jit
def k_split(x, a, b, N: tl.constexpr):
    p, q = tl.split(tl.reshape(tl.load(x + tl.arange(0, 2 * N)), (N, 2)))
    i = tl.arange(0, N)
    tl.store(a + i, p)
    tl.store(b + i, q)


@triton.jit
def k_permute(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    v = tl.reshape(tl.load(x + tl.arange(0, A * B * C)), (A, B, C))
    tl.store(o + tl.arange(0, A * B * C), tl.reshape(tl.permute(v, (2, 0, 1)), (A * B * C,)))


@triton.jit
def k_descriptor(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    b = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    r = tl.program_id(0) * BM
    b.store([r, 0], a.load([r, 0]) * 2)


@triton.jit
def k_histogram(x, o, N: tl.constexpr, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), tl.histogram(tl.load(x + tl.arange(0, N)), B))


@triton.jit
def k_dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    x = tl.load(a + i * K + k[None, :])
    y = tl.load(b + k[:, None] * N + j)
    tl.store(c + i * N + j, tl.dot(x, y, out_dtype=T))


@triton.jit
def k_dot16(a, b, c, M: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(c + i, tl.dot(tl.load(a + i).to(T), tl.load(b + i).to(T)))


@triton.jit
def k_batched_dot(a, b, c, B: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, B)[:, None, None] * M * M + tl.arange(0, M)[None, :, None] * M + tl.arange(0, M)[None, None, :]
    tl.store(c + i, tl.dot(tl.load(a + i), tl.load(b + i)))


@triton.jit
def k_lock(lock, count):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def k_extremes(x, low, high, where, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=float("inf"))
    a, b = tl.min(v, 0, return_indices=True)
    tl.store(low, a)
    tl.store(where, b)
    tl.store(high, tl.max(tl.load(x + i, mask=i < n, other=-float("inf")), 0))


@triton.jit
def k_divide(x, y, q, r, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m, other=1)
    b = tl.load(y + i, mask=m, other=1)
    tl.store(q + i, a // b, mask=m)
    tl.store(r + i, a % b, mask=m)


@triton.jit
def k_shift(x, y, l, r, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m, other=1)
    b = tl.load(y + i, mask=m, other=1)
    tl.store(l + i, a << b, mask=m)
    tl.store(r + i, a >> b, mask=m)


@triton.jit
def k_cast(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m).to(o.dtype.element_ty), mask=m)


@triton.jit
def k_high_product(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.umulhi(tl.load(x + i, mask=m), tl.load(y + i, mask=m)), mask=m)


@triton.jit
def k_extremum(x, y, lo, hi, n, BLOCK: tl.constexpr, NAN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m)
    b = tl.load(y + i, mask=m)
    if NAN:
        tl.store(lo + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL), mask=m)
        tl.store(hi + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL), mask=m)
    else:
        tl.store(lo + i, tl.minimum(a, b), mask=m)
        tl.store(hi + i, tl.maximum(a, b), mask=m)


@triton.jit
def polynomial(x):
    k = (x * 1.4426950408889634 + 12582912.0) - 12582912.0
    r = tl.fma(k, -0.693145751953125, x)
    r = tl.fma(k, -1.428606765330187e-06, r)
    p = tl.fma(r, 0.0013930436, 0.008360887)
    p = tl.fma(p, r, 0.041668236)
    p = tl.fma(p, r, 0.16666576)
    p = tl.fma(p, r, 0.49999994)
    p = tl.fma(p, r * r, r)
    ki = k.to(tl.int32)
    h = ki >> 1
    s1 = ((h + 127) << 23).to(tl.float32, bitcast=True)
    s2 = ((ki - h + 127) << 23).to(tl.float32, bitcast=True)
    e = (tl.fma(p, 1.0, 1.0) * s1) * s2
    return tl.where(x < -104.0, 0.0, tl.where(x > 89.0, float("inf"), e))


@triton.jit
def k_polynomial(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m)
    tl.store(o + i, tl.div_rn(polynomial(v) * v + v, tl.sqrt_rn(tl.abs(v) + 1.0)), mask=m)


@triton.jit
def k_gauss_own(x, o, n, mu, s, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = tl.load(x + i, mask=m) - mu
    tl.store(o + i, polynomial(tl.div_rn(-(d * d), 2 * s * s)), mask=m)


@triton.jit
def k_square_sum(x, o, n, mu, BLOCK: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    i = p * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = tl.load(x + i, mask=m) - mu
    tl.store(o + p, tl.sum(tl.where(m, d * d, 0.0), 0))


@triton.jit
def k_reduce_wide(x, o, n, BLOCK: tl.constexpr, T: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    i = p * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + p, tl.sum(tl.load(x + i, mask=m, other=0).to(T), 0))


@triton.jit
def k_loop_sum(x, o, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        acc += tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o, tl.sum(acc, 0))


@triton.jit
def k_flat_sum(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.arange(0, BM)[:, None]
    j = tl.arange(0, BN)[None, :]
    tl.store(o, tl.sum(tl.load(x + i * N + j, mask=(i < M) & (j < N), other=0)))


@triton.jit
def k_sum3d(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    v = tl.load(
        x
        + tl.arange(0, A)[:, None, None] * (B * C)
        + tl.arange(0, B)[None, :, None] * C
        + tl.arange(0, C)[None, None, :]
    )
    s = tl.sum(v, AXIS)
    P: tl.constexpr = B if AXIS == 0 else A
    Q: tl.constexpr = B if AXIS == 2 else C
    tl.store(o + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], s)


@triton.jit
def k_flip_in_place(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.flip(tl.load(x + i), 0))


@triton.jit
def k_transpose_in_place(x, N: tl.constexpr):
    p = x + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(p, tl.trans(tl.load(p)))


@triton.jit
def k_reverse_with_barrier(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m)
    b = tl.load(x + (n - 1 - i), mask=m)
    tl.debug_barrier()
    tl.store(x + i, b, mask=m)
    tl.debug_barrier()
    tl.store(x + (n - 1 - i), a, mask=m)


@triton.jit
def k_large_temporary(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.cumsum(tl.cumsum(tl.load(x + i, mask=m, other=0), 0), 0), mask=m)


@triton.jit
def k_grid(o, Y, Z):
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    gx = tl.num_programs(0)
    gy = tl.num_programs(1)
    tl.store(o + (z * gy + y) * gx + x, x + 1000 * y + 1000000 * z)


@triton.jit
def k_conditional_tensor(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    s = tl.sum(v, 0)
    if s > 0:
        w = v * 2
        k = 1
    else:
        w = tl.where(v < -1, v, 0.0)
        k = 2
    tl.store(o + i, w + k, mask=m)


@triton.jit
def k_scalars(o, a, b, c, d, e, f, g):
    tl.store(o + 0, a.to(tl.float64))
    tl.store(o + 1, b.to(tl.float64))
    tl.store(o + 2, c.to(tl.float64))
    tl.store(o + 3, d.to(tl.float64))
    tl.store(o + 4, e.to(tl.float64))
    tl.store(o + 5, f.to(tl.float64))
    tl.store(o + 6, g.to(tl.float64))


@triton.jit
def k_atomics(x, add_, max_, and_, old, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m)
    tl.store(old + i, tl.atomic_add(add_ + v % 4, v, mask=m), mask=m)
    tl.atomic_max(max_ + v % 4, v, mask=m)
    tl.atomic_and(and_ + v % 4, v, mask=m)


@triton.jit
def k_atomic_float(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.atomic_add(o + i % 4, tl.load(x + i, mask=m), mask=m)


@triton.jit
def k_square_plus(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m)
    tl.store(o + i, v * v + v, mask=m)
