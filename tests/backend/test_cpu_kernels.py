"""The CPU's lowering against NumPy: kernels of every kind, at sizes that are not the block's."""

import math

import ml_dtypes
import numpy as np
import pytest

from .launching import launch

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REALS = [*INTEGERS, "float16", "float32", "float64"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def random(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return (rng.standard_normal(shape) * 5).astype(dtype)


# -------------------------------- pointwise


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("n", [0, 1, 1000, 1024, 5003])
def test_add(rng, dtype, n):
    x, y = random(rng, dtype, n), random(rng, dtype, n)
    out = np.full(n + 8, 7, dtype)
    with np.errstate(over="ignore"):
        launch("add", (-(-n // 1024),), x, y, out, n, BLOCK=1024)
        assert np.array_equal(out[:n], x + y)
    assert (out[n:] == 7).all()


def test_add_bfloat16(rng):
    x, y = (random(rng, "float32", 3000).astype(ml_dtypes.bfloat16) for _ in range(2))
    out = np.zeros_like(x)
    launch("add", (3,), x, y, out, 3000, BLOCK=1024)
    assert np.array_equal(out.view("u2"), (x + y).view("u2"))


def test_bool_bytes(rng):
    x, y = rng.random(3000) < 0.5, rng.random(3000) < 0.5
    out = np.zeros(3000, bool)
    launch("logical_and", (3,), x, y, out, 3000, BLOCK=1024)
    assert np.array_equal(out.view("u1"), (x & y).view("u1"))
    bytes_ = np.array([0, 1, 2, 255], np.uint8)  # any byte but 0 is true
    launch("logical_and", (1,), bytes_.view(bool), np.ones(4, bool), out, 4, BLOCK=16)
    assert list(out[:4].view("u1")) == [0, 1, 1, 1]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_is_exact_and_never_traps(rng, dtype):
    info = np.iinfo(dtype)
    n = 20_000
    x = random(rng, dtype, n)
    y = random(rng, dtype, n) >> rng.integers(0, info.bits - 1, n).astype(dtype)
    x[:6] = info.max, info.min, info.min, info.max, 0, info.min
    y[:6] = info.max, 1, info.max, info.min, info.max, 2
    y[y == 0] = 3
    quotient, remainder = np.empty_like(x), np.empty_like(x)
    launch("k_divide", (20,), x, y, quotient, remainder, n, BLOCK=1024)
    expected = [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y, strict=True)]
    fits = [info.min <= value <= info.max for value in expected]
    assert all(q == e for q, e, f in zip(quotient.tolist(), expected, fits, strict=True) if f)
    assert np.array_equal((quotient * y + remainder), x)
    one = np.array([5, info.min, 7], dtype)
    zero = np.array([0, -1 if info.min else 0, 0]).astype(dtype)
    launch("k_divide", (1,), one, zero, quotient, remainder, 3, BLOCK=16)  # only must return
    assert quotient[1] == one[1]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_beyond_the_width(rng, dtype):
    bits = np.iinfo(dtype).bits
    amounts = np.array([0, 1, 7, 8, 31, 32, 33, 63, 64, 100], dtype)
    x = np.repeat(random(rng, dtype, 50), len(amounts))
    y = np.tile(amounts, 50)
    left, right = np.empty_like(x), np.empty_like(x)
    launch("k_shift", (1,), x, y, left, right, x.size, BLOCK=1024)
    for a, amount, gl, gr in zip(x.tolist(), y.tolist(), left.tolist(), right.tolist(), strict=True):
        # narrow integers are shifted as they are: their width counts
        assert gr == (a >> amount if amount < bits else (-1 if a < 0 else 0)), (a, amount)
        expected = (a << amount) & (1 << bits) - 1 if amount < bits else 0
        assert gl % (1 << bits) == expected, (a, amount)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_high_product(rng, dtype):
    x, y = random(rng, dtype, 1500), random(rng, dtype, 1500)
    out = np.empty_like(x)
    launch("k_high_product", (2,), x, y, out, 1500, BLOCK=1024)
    bits = np.iinfo(dtype).bits
    assert out.tolist() == [int(a) * int(b) >> bits for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extrema_of_special_values(dtype):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0], dtype)
    x, y = (a.ravel().copy() for a in np.meshgrid(special, special))
    low, high = np.empty_like(x), np.empty_like(x)
    for nan_wins in (True, False):
        launch("k_extremum", (1,), x, y, low, high, x.size, BLOCK=64, NAN=nan_wins)
        for a, b, lo, hi in zip(x, y, low, high, strict=True):
            if np.isnan(a) or np.isnan(b):
                rest = np.nan if nan_wins or (np.isnan(a) and np.isnan(b)) else b if np.isnan(a) else a
                assert np.array_equal([lo, hi], [rest, rest], equal_nan=True)
            elif a == b == 0:
                assert np.signbit(lo) == (np.signbit(a) or np.signbit(b))
                assert np.signbit(hi) == (np.signbit(a) and np.signbit(b))
            else:
                assert (lo, hi) == (min(a, b), max(a, b))


HARD = np.array(
    [0.0, -0.0, 1.0, 1.5, 65504, 65519.99, 65520, 65536, 1e-8, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0001, 6e-5, 6.1e-5,
     2049.0, 2051.0, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-9, np.inf, -np.inf, np.nan, 3.4e38, 1e-40,
     1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8, 1e308, 5e-324, -7.25]
)  # fmt: skip


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "int32", "int8", "uint8"])
def test_conversion_to_floats(rng, source, target):
    source_type, target_type = (np.dtype(getattr(ml_dtypes, t, None) or t) for t in (source, target))
    with np.errstate(all="ignore"):
        if source_type.kind in "iu":
            x = random(rng, source_type, 4000)
        else:
            wide = np.concatenate([HARD, -HARD, rng.standard_normal(4000) * 10.0 ** rng.uniform(-9, 6, 4000)])
            x = wide.astype(source_type)
        out = np.empty(x.size, target_type)
        launch("k_cast", (8,), x, out, x.size, BLOCK=1024)
        if target == "bfloat16":
            expected = bfloat16_bits(x.astype("f8"))
            number = ~np.isnan(x.astype("f8"))
            assert np.array_equal(out.view("u2")[number], expected[number])
            assert np.isnan(out[~number].astype("f4")).all()
        else:
            assert np.array_equal(out, x.astype(target_type), equal_nan=True)
            assert np.array_equal(np.signbit(out), np.signbit(x.astype("f8"))) or source_type.kind in "iu"


def bfloat16_bits(values):
    """Round float64 to bfloat16 once, by integers."""
    result = np.empty(values.size, "u2")
    for k, value in enumerate(values.tolist()):
        if math.isnan(value):
            result[k] = 0x7FC0
            continue
        sign, magnitude = (0x8000 if math.copysign(1, value) < 0 else 0), abs(value)
        if magnitude == 0 or math.isinf(magnitude):
            result[k] = sign | (0x7F80 if magnitude else 0)
            continue
        exponent = max(math.frexp(magnitude)[1], -125) - 8  # of the last of eight bits
        bits = round(math.ldexp(magnitude, -exponent)) + ((exponent + 133) << 7)  # Python rounds ties to even
        result[k] = sign | min(bits, 0x7F80)
    return result


@pytest.mark.parametrize("target", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_conversion_to_integers_saturates(rng, source, target):
    info = np.iinfo(target)
    values = [0.9, -0.9, 1e3, 1e30, -1e30, np.inf, -np.inf, np.nan, float(info.max), 2.5, -2.5]
    x = np.array(values * 9, source)  # the same in the vectors' part and in what is left over
    out = np.empty(x.size, target)
    launch("k_cast", (1,), x, out, x.size, BLOCK=128)

    def saturated(value):
        whole = int(value) if np.isfinite(value) else int(np.sign(value)) * 2**80
        return min(max(whole, info.min), info.max)

    assert out.tolist() == [0 if np.isnan(value) else saturated(value) for value in x.tolist()]


# -------------------------------- the same bits everywhere


@pytest.mark.parametrize("kernel", ["k_polynomial", "k_exp"])
def test_equal_values_give_equal_bits_at_every_position(kernel):
    for value in np.array([0.3, -1.7, 88.0, 1e-30, -100.25], "f4"):
        seen = set()
        for n in [*range(1, 40), 63, 64, 65, 127, 255, 1023, 1024, 1025]:
            out = np.zeros(n, "f4")
            launch(kernel, (2,), np.full(n, value, "f4"), out, n, BLOCK=1024)
            seen.update(out.view("u4").tolist())
        assert len(seen) == 1


def test_products_are_not_fused_with_sums(rng):
    x = rng.standard_normal(4001).astype("f4")
    out = np.empty_like(x)
    launch("k_square_plus", (4,), x, out, x.size, BLOCK=1024)
    assert np.array_equal(out, x * x + x)


# -------------------------------- functions of the C library


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_library_functions(rng, dtype):
    x = (rng.random(5000) * 5).astype(dtype)
    out = np.zeros_like(x)
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    launch("k_exp", (5,), x, out, x.size, BLOCK=1024)
    np.testing.assert_allclose(out, np.exp(x), rtol=tolerance)
    functions = {"log": np.log, "sin": np.sin, "erf": np.vectorize(math.erf), "sqrt": np.sqrt, "abs": np.abs}
    for name, function in {**functions, "floor": np.floor}.items():
        launch("k_math", (5,), x, out, x.size, BLOCK=1024, F=name)
        np.testing.assert_allclose(out, function(x.astype("f8")), rtol=10 * tolerance, atol=10 * tolerance)
    launch("k_gauss", (5,), x.astype("f4"), out32 := np.zeros(5000, "f4"), 5000, 1.5, 0.7, BLOCK=1024)
    np.testing.assert_allclose(out32, np.exp(-((x.astype("f4") - 1.5) ** 2) / (2 * 0.7 * 0.7)), rtol=1e-5)


# -------------------------------- reductions and scans


@pytest.mark.parametrize("block", [16, 64, 128, 1024])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_sum(rng, dtype, block):
    for n in (1, 5, 63, 64, 65, 1000, 5003):
        x = random(rng, dtype, n) if np.dtype(dtype).kind == "f" else rng.integers(0, 100, n).astype(dtype)
        parts = -(-n // block)
        out = np.zeros(parts, dtype)
        launch("k_sum", (parts,), x, out, n, BLOCK=block)
        with np.errstate(over="ignore"):
            expected = np.add.reduceat(x, range(0, n, block), dtype=dtype)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


def lanes_sum(x):
    """The documented order: 64 accumulators, then a tree."""
    lanes = x.reshape(-1, 64)
    total = lanes[0].copy()
    for row in lanes[1:]:
        total += row
    while total.size > 1:
        half = total.size // 2
        total = total[:half] + total[half:]
    return total[0]


def test_order_of_a_sum_is_fixed(rng):
    x = (rng.standard_normal(1024) * 10.0 ** rng.uniform(-4, 4, 1024)).astype("f4")
    out = np.zeros(1, "f4")
    launch("k_sum", (1,), x, out, 1024, BLOCK=1024)
    assert out[0] == lanes_sum(x)
    launch("k_square_sum", (1,), x, out, 1024, 0.0, BLOCK=1024)
    assert out[0] == lanes_sum(x * x)
    wide = np.zeros(1, "f8")
    launch("k_reduce_wide", (1,), x, wide, 1024, BLOCK=1024, T=_triton_type("float64"))
    assert wide[0] == lanes_sum(x.astype("f8"))
    for n in (1, 63, 65, 700, 1000):  # what is masked counts as zeros
        padded = np.zeros(1024, "f4")
        padded[:n] = x[:n]
        launch("k_sum", (1,), x, out, n, BLOCK=1024)
        assert out[0] == lanes_sum(padded)


def _triton_type(name):
    import triton.language as tl

    return getattr(tl, name)


def test_reductions_of_tiles(rng):
    x = rng.random((50, 100)).astype("f4")
    out = np.zeros(100, "f4")
    launch("k_sum2d", (1,), x, out, 50, 100, BM=64, BN=128, AX=0)
    np.testing.assert_allclose(out, x.sum(0), rtol=1e-5)
    out = np.zeros(50, "f4")
    launch("k_sum2d", (1,), x, out, 50, 100, BM=64, BN=128, AX=1)
    assert np.array_equal(out, x.max(1))
    total = np.zeros(1, "f4")
    launch("k_flat_sum", (1,), x, total, 50, 100, BM=64, BN=128)
    np.testing.assert_allclose(total[0], x.sum(), rtol=1e-5)
    launch("k_flat_sum", (1,), x[:3, :5].copy(), total, 3, 5, BM=4, BN=8)
    np.testing.assert_allclose(total[0], x[:3, :5].sum(), rtol=1e-5)
    launch("k_loop_sum", (1,), x, total, 5000, BLOCK=512)
    np.testing.assert_allclose(total[0], x.sum(), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(4, 8, 16), (2, 2, 128), (32, 1, 4), (1, 64, 2)])
def test_reductions_in_three_dimensions(rng, shape, axis):
    x = rng.random(shape).astype("f4")
    expected = x.sum(axis)
    out = np.zeros(expected.shape, "f4")
    launch("k_sum3d", (1,), x, out, A=shape[0], B=shape[1], C=shape[2], AXIS=axis)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_argmax(rng):
    x = rng.integers(0, 50, (40, 700)).astype("f4")
    for kernel in ("k_argmax", "k_argmax_tl"):
        out = np.zeros(40, "i4")
        launch(kernel, (40,), x, out, 700, BLOCK=1024)
        assert np.array_equal(out, x.argmax(1))
    low, high, where = np.zeros(1, "f4"), np.zeros(1, "f4"), np.zeros(1, "i4")
    for n in (1, 7, 200):
        launch("k_extremes", (1,), x.ravel(), low, high, where, n, BLOCK=256)
        part = x.ravel()[:n]
        assert (low[0], high[0], where[0]) == (part.min(), part.max(), part.argmin())


def test_extrema_of_nothing_but_nan():
    low, high, where = np.zeros(1, "f4"), np.zeros(1, "f4"), np.zeros(1, "i4")
    x = np.full(256, np.nan, "f4")
    launch("k_extremes", (1,), x, low, high, where, 256, BLOCK=256)
    assert np.isnan(high[0])
    x[100] = 5
    launch("k_extremes", (1,), x, low, high, where, 256, BLOCK=256)
    assert high[0] == 5


def test_scans(rng):
    for x in (rng.random(900).astype("f4"), rng.integers(-9, 9, 900)):
        out = np.zeros_like(x)
        launch("k_cumsum", (1,), x, out, 900, BLOCK=1024, REV=False)
        np.testing.assert_allclose(out, np.cumsum(x), rtol=1e-4)
        launch("k_cumsum", (1,), x, out, 900, BLOCK=1024, REV=True)
        np.testing.assert_allclose(out, np.cumsum(x[::-1])[::-1], rtol=1e-4)
    a, b = rng.random(512).astype("f4"), rng.random(512).astype("f4")
    out, expected, state = np.zeros_like(a), [], np.float32(0)
    for p, q in zip(a, b, strict=True):
        state = state * p + q
        expected.append(state)
    launch("k_ascan", (1,), a, b, out, BLOCK=512)
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    x = rng.random((32, 64)).astype("f4")
    for axis in (0, 1):
        out = np.zeros_like(x)
        launch("k_scan2d", (1,), x, out, M=32, N=64, AX=axis)
        np.testing.assert_allclose(out, np.cumsum(x, axis), rtol=1e-5)


def test_softmax_and_layer_norm(rng):
    x = rng.standard_normal((50, 781)).astype("f4")
    out = np.zeros_like(x)
    launch("k_softmax", (50,), x, out, 781, 781, BLOCK=1024)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5)
    w, b = rng.random(781).astype("f4"), rng.random(781).astype("f4")
    launch("k_layernorm", (50,), x, w, b, out, 781, BLOCK=1024)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4)


# -------------------------------- products


def test_matrix_product(rng):
    a, b = rng.random((100, 130)).astype("f4"), rng.random((130, 150)).astype("f4")
    out = np.zeros((100, 150), "f4")
    launch("k_mm", (2, 3), a, b, out, 100, 150, 130, BM=64, BN=64, BK=32)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)


@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 64, 16), (1, 16, 64), (4, 2, 8)])
def test_dot_types(rng, shape):
    m, n, k = shape
    for dtype, wide in (("float32", "float32"), ("float64", "float64"), ("float16", "float32"), ("int8", "int32")):
        a, b = (rng.integers(-9, 9, s).astype(dtype) for s in ((m, k), (k, n)))
        out = np.zeros((m, n), wide)
        launch("k_dot", (1,), a, b, out, M=m, N=n, K=k, T=_triton_type(wide))
        assert np.array_equal(out, a.astype(wide) @ b.astype(wide)), dtype


def test_dot_of_short_floats_and_batches(rng):
    a = rng.random((32, 32)).astype("f4")
    for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        out = np.zeros_like(a)
        launch("k_dot16", (1,), a, a, out, M=32, T=_triton_type(name))
        rounded = a.astype(dtype).astype("f8")
        np.testing.assert_allclose(out, rounded @ rounded, rtol=1e-6)
    x = rng.random((4, 16, 16)).astype("f4")
    out = np.zeros_like(x)
    launch("k_batched_dot", (1,), x, x, out, B=4, M=16)
    np.testing.assert_allclose(out, x @ x, rtol=1e-6)


def test_flash_attention(rng):
    n, width = 200, 64
    q, k, v = (rng.standard_normal((n, width)).astype("f4") for _ in range(3))
    out = np.zeros_like(q)
    launch("k_flash", (4,), q, k, v, out, n, 0.125, BM=64, BN=32, D=width)
    s = q @ k.T * 0.125
    s[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    np.testing.assert_allclose(out, p / p.sum(1, keepdims=True) @ v, rtol=1e-3, atol=1e-5)


# -------------------------------- moving elements


def test_strided(rng):
    x, y = rng.random((7, 1, 33)), rng.random((33, 11)).T
    out = np.zeros((7, 11, 33))
    strides = [s // 8 for a in (x, y) for s in np.broadcast_to(a, out.shape).strides]
    launch("k_strided", (3,), x, y, out, out.size, 11, 33, *strides, BLOCK=1024)
    assert np.array_equal(out, x + y)


def test_permutations(rng):
    x = rng.random((32, 64)).astype("f4")
    out = np.zeros((64, 32), "f4")
    launch("k_trans", (1,), x, out, M=32, N=64)
    assert np.array_equal(out, x.T)
    for n in (2, 64, 512):
        x = rng.random(n)
        out = np.zeros_like(x)
        launch("k_flip", (1,), x, out, N=n)
        assert np.array_equal(out, x[::-1])
        y, both = rng.random(n), np.zeros(2 * n)
        launch("k_interleave", (1,), x, y, both, N=n)
        assert np.array_equal(both[::2], x) and np.array_equal(both[1::2], y)
        launch("k_split", (1,), both, x2 := np.zeros(n), y2 := np.zeros(n), N=n)
        assert np.array_equal(x2, x) and np.array_equal(y2, y)
    x = rng.random((4, 8, 16))
    out = np.zeros((16, 4, 8))
    launch("k_permute", (1,), x, out, A=4, B=8, C=16)
    assert np.array_equal(out, x.transpose(2, 0, 1))


def test_permutations_in_place(rng):
    x = rng.random(256)
    expected = x[::-1].copy()
    launch("k_flip_in_place", (1,), x, N=256)
    assert np.array_equal(x, expected)
    x = rng.random((32, 32))
    expected = x.T.copy()
    launch("k_transpose_in_place", (1,), x, N=32)
    assert np.array_equal(x, expected)
    for n in (1, 30, 64):
        x = rng.random(n)
        expected = x[::-1].copy()
        launch("k_reverse_with_barrier", (1,), x, n, BLOCK=64)
        assert np.array_equal(x, expected)


def test_sort_gather_swap(rng):
    for n in (64, 256):
        x = rng.random(n).astype("f4")
        out = np.zeros_like(x)
        launch("k_sort", (1,), x, out, N=n)
        assert np.array_equal(out, np.sort(x))
    x, i = rng.random(64).astype("f4"), rng.permutation(64).astype("i4")
    out = np.zeros_like(x)
    launch("k_gather", (1,), x, i, out, N=64)
    np.testing.assert_allclose(out, np.exp(x)[i], rtol=1e-6)
    a, b = rng.random(5003).astype("f4"), rng.random(5003).astype("f4")
    a0, b0 = a.copy(), b.copy()
    launch("k_swap", (5,), a, b, 5003, BLOCK=1024)
    assert np.array_equal(a, b0) and np.array_equal(b, a0)


def test_tensor_descriptor(rng):
    x = rng.random((50, 32)).astype("f4")
    out = np.zeros_like(x)
    launch("k_descriptor", (4,), x, out, 50, 32, BM=16, BN=32)
    assert np.array_equal(out, x * 2)


# -------------------------------- atomics


def test_histograms(rng):
    x = rng.integers(0, 16, 5000).astype("i4")
    counts = np.zeros(16, "i4")
    launch("k_hist", (5,), x, counts, x.size, BLOCK=1024)
    assert np.array_equal(counts, np.bincount(x, minlength=16))
    launch("k_histogram", (1,), x[:256].copy(), counts, N=256, B=16)
    assert np.array_equal(counts, np.bincount(x[:256], minlength=16))


def test_atomics(rng):
    x = rng.integers(0, 1000, 100).astype("i4")
    add, high, conjunction, old = np.zeros(4, "i4"), np.zeros(4, "i4"), np.full(4, -1, "i4"), np.zeros(100, "i4")
    launch("k_atomics", (1,), x, add, high, conjunction, old, 100, BLOCK=128)
    for k in range(4):
        part = x[x % 4 == k]
        assert add[k] == part.sum() and high[k] == part.max() and conjunction[k] == np.bitwise_and.reduce(part)
        assert np.array_equal(old[x % 4 == k], np.cumsum(part) - part)
    out = np.zeros(1, "f4")
    y = rng.random(5000).astype("f4")
    launch("k_atomf", (5,), y, out, 5000, BLOCK=1024)
    np.testing.assert_allclose(out[0], y.sum(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_atomic_addition_of_floats_from_many_threads(dtype):
    out = np.zeros(4, dtype)
    launch("k_atomic_float", (32,), np.ones(4096, dtype), out, 4096, BLOCK=128, spread=True)
    assert (out == 1024).all()


def test_lock():
    lock, count = np.zeros(1, "i4"), np.zeros(1, "i4")
    launch("k_lock", (500,), lock, count, spread=True)
    assert count[0] == 500 and lock[0] == 0


# -------------------------------- control flow


def test_loops_and_conditions(rng):
    for n in (30, 100):
        x = rng.random(n).astype("f4") * 5
        out, q = np.zeros(n, "f4"), np.zeros(1, "i4")
        launch("k_misc", (1,), x, out, q, n, BLOCK=128)
        total, blocks, c = np.zeros(n, "f4"), -(-n // 4), 0
        for i in range(blocks):
            total += x * np.float32(i)
        while c < 10:
            total = np.where(total > 5, total - 1, total + c).astype("f4")
            c += 3
        total = total * 2 if n > 50 else total + 100
        np.testing.assert_allclose(out, total, rtol=1e-5)
        assert q[0] == c + blocks
    x = rng.standard_normal(50).astype("f4")
    for sign in (1, -1):
        y = (abs(x) * sign).astype("f4")
        out = np.zeros_like(y)
        launch("k_conditional_tensor", (1,), y, out, 50, BLOCK=64)
        assert np.array_equal(out, y * 2 + 1 if sign > 0 else np.where(y < -1, y, 0) + np.float32(2))


def test_while_carries_tensors():
    x, out = np.arange(1, 129, dtype="i4"), np.zeros(128, "i4")
    launch("k_while2", (1,), x, out, 128, BLOCK=128)

    def steps(v):
        count = 0
        while v > 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            count += 1
        return count

    assert out.tolist() == [steps(v) for v in range(1, 129)]


def test_early_return(rng):
    x, out = rng.random(10).astype("f4"), np.zeros(12, "f4")
    launch("k_ret", (12,), x, out, 10)
    assert np.array_equal(out[:10], np.where(x > 0.5, x, -x)) and (out[10:] == 0).all()


@pytest.mark.parametrize("spread", [False, True])
def test_grid_in_three_dimensions(spread):
    out = np.zeros((5, 3, 7), "i4")
    launch("k_grid", (7, 3, 5), out, 3, 5, spread=spread)
    z, y, x = np.indices(out.shape)
    assert np.array_equal(out, x + 1000 * y + 1000000 * z)


def test_large_temporaries_are_not_on_the_stack():
    n = 250_000
    x, out = np.ones(n, "i8"), np.zeros(n, "i8")
    launch("k_large_temporary", (1,), x, out, n, BLOCK=262144)
    assert np.array_equal(out, np.cumsum(np.cumsum(x)))


def test_scalar_arguments_of_every_type():
    out = np.zeros(7)
    values = [np.int8(-7), np.uint8(250), np.int64(-(2**53)), np.uint64(2**53), np.float32(0.1), np.float64(0.1)]
    launch("k_scalars", (1,), out, *values, np.bool_(True))
    assert out.tolist() == [-7, 250, -(2**53), 2**53, float(np.float32(0.1)), 0.1, 1]
