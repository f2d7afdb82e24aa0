"""What a user's kernel may contain, on the CPU: the parts of Triton's language that our own kernels use little."""

import textwrap

import numpy as np
import pytest
from nbx_array.backend import compiler

from .launching import prepare

HEAD = "import triton\nimport triton.language as tl\n\n\n"


def run(parameters, body, args, grid=(1,), helpers="", **constants):
    text = f"{HEAD}{textwrap.dedent(helpers)}\n\n@triton.jit\ndef k({parameters}):\n"
    text += textwrap.indent(textwrap.dedent(body), "    ")
    launcher, values = prepare("k", args, constants, text=text)
    gx, gy, gz = (*grid, 1, 1)[:3]
    launcher.run(*values, gx, gy, gz)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_random_numbers(rng):
    for function, low, high in (("rand", 0, 1), ("randn", -6, 6)):
        out = np.zeros(1024, "f4")
        run(
            "o, seed, N: tl.constexpr",
            f"i = tl.arange(0, N)\ntl.store(o + i, tl.{function}(seed, i))",
            (out, 42),
            N=1024,
        )
        assert low <= out.min() and out.max() < high and len(set(out)) > 1000
        assert abs(out.mean() - (low + high) / 2) < 0.1


def test_reductions_of_integers_and_bools(rng):
    x, out = rng.integers(0, 1000, 200).astype("i4"), np.zeros(3, "i4")
    run("x, o, n, B: tl.constexpr", """
        i = tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=100000)
        tl.store(o, tl.argmin(v, 0))
        tl.store(o + 1, tl.xor_sum(tl.where(i < n, v, 0), 0))
        tl.store(o + 2, tl.sum((v > 500).to(tl.int32) * (i < n).to(tl.int32), 0))
    """, (x, out, 200), B=256)  # fmt: skip
    assert out.tolist() == [x.argmin(), np.bitwise_xor.reduce(x), (x > 500).sum()]
    for y in (rng.random(100) < 0.5, np.ones(100, bool), np.zeros(100, bool)):
        either = np.zeros(2, bool)
        run("x, o, n, B: tl.constexpr", """
            i = tl.arange(0, B)
            v = tl.load(x + i, mask=i < n, other=0)
            tl.store(o, tl.reduce(v, 0, either))
            tl.store(o + 1, tl.reduce(v | (i >= n), 0, both))
        """, (y, either, 100), B=128, helpers="""
            @triton.jit
            def either(a, b):
                return a | b


            @triton.jit
            def both(a, b):
                return a & b
        """)  # fmt: skip
        assert either.tolist() == [y.any(), y.all()]


def test_printing_and_asserting_are_ignored():
    out = np.zeros(16, "i4")
    run("o, B: tl.constexpr", """
        i = tl.arange(0, B)
        tl.device_print("i", i)
        tl.device_assert(i > 3, "not so")
        tl.static_assert(B == 16)
        tl.assume(B > 0)
        tl.store(o + i, tl.max_contiguous(tl.multiple_of(i, 16), 16))
    """, (out,), B=16)  # fmt: skip
    assert np.array_equal(out, np.arange(16))


@pytest.mark.parametrize("n", [0, 1, 7])
def test_ranges(n):
    out, expected = np.zeros(6, "i4"), [0, 10, 0, 0, 0, 0]
    run("o, n, B: tl.constexpr", """
        s = 0
        for a in range(n, 0, -2):
            s = s * 10 + a
        tl.store(o, s)
        s = 0
        for a in tl.static_range(0, B):
            s += a
        tl.store(o + 1, s)
        s = 0
        for a in tl.range(0, n, num_stages=3):
            s += a * a
        tl.store(o + 2, s)
        c = 0
        for a in range(n.to(tl.int64)):
            c += 1
        tl.store(o + 3, c)
        c = 0
        for a in range(n):
            for b in range(a):
                if b % 2 == 0:
                    c += b
                else:
                    c -= 1
        tl.store(o + 4, c)
        p, q = 0, 1
        for _ in range(n):
            p, q = q, p + q
        tl.store(o + 5, p)
    """, (out, n), B=5)  # fmt: skip
    for a in range(n, 0, -2):
        expected[0] = expected[0] * 10 + a
    p, q = 0, 1
    for a in range(n):
        expected[2] += a * a
        expected[3] += 1
        expected[4] += sum(b if b % 2 == 0 else -1 for b in range(a))
        p, q = q, p + q
    expected[5] = p
    assert out.tolist() == expected


def test_a_while_loop_with_two_conditions():
    out = np.zeros(2, "i4")
    for value, expected in ((1000, [31, 5]), (1, [1, 0]), (4, [1, 2])):
        run("o, v", """
            c = 0
            while (v > 1) & (c < 5):
                v = v // 2
                c += 1
            tl.store(o, v)
            tl.store(o + 1, c)
        """, (out, value))  # fmt: skip
        assert out.tolist() == expected


def test_an_early_return_between_tensors(rng):
    x, out = rng.random(64).astype("f4"), np.zeros((4, 64), "f4")
    run("x, o, n", """
        p = tl.program_id(0)
        i = tl.arange(0, 64)
        v = tl.load(x + i)
        if p >= n:
            return
        w = v * p
        if p == 1:
            tl.store(o + p * 64 + i, -w)
            return
        tl.store(o + p * 64 + i, w + 1)
    """, (x, out, 3), grid=(4,))  # fmt: skip
    assert np.array_equal(out, [x * 0 + 1, -x, x * 2 + 1, x * 0])


def test_tensors_that_change_places(rng):
    x, y = rng.random(64), rng.random(64)
    a, b = x.copy(), y.copy()
    run("x, y, n", """
        i = tl.arange(0, 64)
        a = tl.load(x + i)
        b = tl.load(y + i)
        for _ in range(n):
            a, b = b, a
        tl.store(x + i, a)
        tl.store(y + i, b)
    """, (a, b, 3))  # fmt: skip
    assert np.array_equal(a, y) and np.array_equal(b, x)


def test_scalar_atomics():
    counts, seen = np.zeros(4, "i4"), np.zeros(4, "i4")
    run("o, q, n", """
        p = tl.program_id(0)
        tl.store(q + p, tl.atomic_add(o, 1, mask=p < n))
        tl.atomic_cas(o + 1, 0, p + 1)
        tl.atomic_min(o + 2, -p)
        tl.atomic_or(o + 3, 1 << p)
    """, (counts, seen, 3), grid=(4,))  # fmt: skip
    assert counts.tolist() == [3, 1, -3, 15] and seen.tolist() == [0, 1, 2, 0]


def test_atomic_extrema_of_floats_and_unsigned(rng):
    x, out, large = rng.standard_normal(64).astype("f4"), np.zeros(2, "f4"), np.zeros(2, "u8")
    run("x, o, p", """
        i = tl.arange(0, 64)
        tl.atomic_max(o + i % 2, tl.load(x + i))
        tl.atomic_max(p + i % 2, i.to(tl.uint64) + 9223372036854775808)
    """, (x, out, large))  # fmt: skip
    assert out.tolist() == [x[::2].max(), x[1::2].max()] and large.tolist() == [2**63 + 62, 2**63 + 63]


@pytest.mark.filterwarnings("ignore:tl.cat")  # its default differs between versions
def test_gather_concatenation_and_the_largest(rng):
    x, i = rng.random((4, 16)).astype("f4"), rng.integers(0, 16, (4, 16)).astype("i4")
    taken, both, largest = np.zeros_like(x), np.zeros(64, "f4"), np.zeros(8, "f4")
    run("x, i, o, c, k, n", """
        p = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
        tl.store(o + p, tl.gather(tl.load(x + p), tl.load(i + p), 1))
        a = tl.load(x + tl.arange(0, 32))
        b = tl.load(x + 32 + tl.arange(0, 32))
        tl.store(c + tl.arange(0, 64), tl.cat(a, b, can_reorder=True) * tl.where(n > 3, 2.0, 1.0))
        tl.store(k + tl.arange(0, 8), tl.topk(tl.load(x + tl.arange(0, 64)), 8))
    """, (x, i, taken, both, largest, 5))  # fmt: skip
    assert np.array_equal(taken, np.take_along_axis(x, i, 1))
    assert np.array_equal(np.sort(both), np.sort(x.ravel() * 2))
    assert np.array_equal(largest, np.sort(x.ravel())[::-1][:8])


def test_pointers_in_memory():
    rows = [np.full(8, k, "f4") for k in range(3)]
    pointers, out = np.array([row.ctypes.data for row in rows]), np.zeros((3, 8), "f4")
    run("ps, o, B: tl.constexpr", """
        p = tl.program_id(0)
        i = tl.arange(0, B)
        q = tl.load(ps + p).to(tl.pointer_type(tl.float32))
        tl.store(o + p * B + i, tl.load(q + i, volatile=True, cache_modifier=".cg", eviction_policy="evict_last") + 1)
    """, (pointers, out), grid=(3,), B=8)  # fmt: skip
    assert np.array_equal(out, np.array(rows) + 1)


def test_a_reversed_scan_of_maxima(rng):
    x, out = rng.integers(0, 100, 64).astype("i4"), np.zeros(64, "i4")
    run("x, o", """
        i = tl.arange(0, 64)
        tl.store(o + i, tl.associative_scan(tl.load(x + i), 0, larger, reverse=True))
    """, (x, out), helpers="""
        @triton.jit
        def larger(a, b):
            return tl.maximum(a, b)
    """)  # fmt: skip
    assert np.array_equal(out, np.maximum.accumulate(x[::-1])[::-1])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_functions_of_floats(rng, dtype):
    x = rng.standard_normal(64).astype(dtype)
    out = np.zeros((5, 64), dtype)
    run("x, o", """
        i = tl.arange(0, 64)
        v = tl.load(x + i)
        tl.store(o + i, tl.clamp(v, -0.5, 0.5))
        tl.store(o + 64 + i, tl.fma(v, v, v))
        tl.store(o + 128 + i, tl.where(v > 0, v, -v))
        tl.store(o + 192 + i, tl.ceil(v.to(tl.float32)) + tl.floor(v.to(tl.float32)))
        tl.store(o + 256 + i, tl.cumsum(v, 0))
    """, (x, out))  # fmt: skip
    assert np.array_equal(out[0], np.clip(x, -0.5, 0.5)) and np.array_equal(out[2], abs(x))
    wide = x.astype("g")
    np.testing.assert_array_equal(out[1], (wide * wide + wide).astype(dtype))
    assert np.array_equal(out[3], (np.ceil(x) + np.floor(x)).astype(dtype))
    np.testing.assert_allclose(out[4], np.cumsum(wide), rtol=0.1 if dtype == "float16" else 1e-4, atol=0.1)


def test_products_of_transposed_and_short_operands(rng):
    a, b, out = rng.random((32, 16)).astype("f4"), rng.random((64, 16)).astype("f4"), np.zeros((32, 64), "f4")
    run("a, b, o", """
        i = tl.arange(0, 32)
        j = tl.arange(0, 64)
        k = tl.arange(0, 16)
        x = tl.load(a + i[:, None] * 16 + k[None, :])
        y = tl.load(b + j[:, None] * 16 + k[None, :])
        tl.store(o + i[:, None] * 64 + j[None, :], tl.dot(x, y.T, input_precision="tf32x3"))
    """, (a, b, out))  # fmt: skip
    np.testing.assert_allclose(out, a @ b.T, rtol=1e-6)
    a, b, out = rng.random((32, 64)).astype("f2"), rng.random((64, 32)).astype("f2"), np.zeros((32, 32), "f2")
    run("a, b, o, K, BK: tl.constexpr", """
        i = tl.arange(0, 32)
        k = tl.arange(0, BK)
        acc = tl.zeros((32, 32), tl.float32)
        for s in range(0, K, BK):
            x = tl.load(a + i[:, None] * K + s + k[None, :])
            y = tl.load(b + (s + k)[:, None] * 32 + i[None, :])
            acc += tl.dot(x, y)
        tl.store(o + i[:, None] * 32 + i[None, :], tl.maximum(acc - 1, 0).to(tl.float16))
    """, (a, b, out, 64), BK=16)  # fmt: skip
    np.testing.assert_allclose(out, np.maximum(a.astype("f8") @ b.astype("f8") - 1, 0), rtol=1e-3)


def test_a_softmax_in_one_pass(rng):
    x, out = rng.standard_normal((7, 1000)).astype("f4"), np.zeros(7, "f4")
    run("x, o, n, B: tl.constexpr", """
        r = tl.program_id(0)
        m = -float("inf")
        s = 0.0
        for j in range(0, n, B):
            i = j + tl.arange(0, B)
            v = tl.load(x + r * n + i, mask=i < n, other=-float("inf"))
            larger = tl.maximum(m, tl.max(v, 0))
            s = s * tl.exp(m - larger) + tl.sum(tl.exp(v - larger), 0)
            m = larger
        tl.store(o + r, m + tl.log(s))
    """, (x, out, 1000), grid=(7,), B=128)  # fmt: skip
    np.testing.assert_allclose(out, np.log(np.exp(x.astype("f8")).sum(1)), rtol=1e-6)


def test_block_pointers(rng):
    if not compiler.triton_version().startswith("3.6"):
        pytest.skip("this version of Triton has none")
    x = rng.random((50, 30)).astype("f4")
    out = np.zeros_like(x)
    run("x, o, M, N, BM: tl.constexpr, BN: tl.constexpr", """
        p = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
        q = tl.make_block_ptr(o, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
        tl.store(q, tl.load(p, boundary_check=(0, 1)) * 2, boundary_check=(0, 1))
    """, (x, out, 50, 30), grid=(4,), BM=16, BN=32)  # fmt: skip
    assert np.array_equal(out, x * 2)


def test_calls_that_are_not_inlined_are_refused():
    helpers = """
        @triton.jit(noinline=True)
        def square(a):
            return a * a
    """
    with pytest.raises(NotImplementedError, match="k: a call of a function marked noinline"):
        run("o", "tl.store(o, square(tl.load(o)))", (np.ones(1, "f4"),), helpers=helpers)


def test_a_loop_carries_values_that_there_are_many_ways_to():
    """Each step uses the last one twice: 2^60 ways lead back to the start, and a compiler that tries all never ends."""
    out = np.zeros(4, "i4")
    steps = "\n            ".join(["y = y * y + y"] * 60)
    run("o, N: tl.constexpr", f"""
        x = tl.arange(0, N)
        k = 0
        while (k < 3) & (tl.max(x, 0) < 2**30):
            y = x
            {steps}
            x = tl.where(x > 1, x + (y & 1), y)
            k += 1
        tl.store(o + tl.arange(0, N), x)
    """, (out,), N=4)  # fmt: skip
    x = np.arange(4, dtype="i4")
    for _ in range(3):
        y = x
        with np.errstate(over="ignore"):
            for _ in range(60):
                y = y * y + y
        x = np.where(x > 1, x + (y & 1), y)
        if x.max() >= 2**30:
            break
    np.testing.assert_array_equal(out, x)
