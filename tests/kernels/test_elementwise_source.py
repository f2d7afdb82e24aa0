"""The element-wise functions that need no series, bit for bit against NumPy, over the extremes of every dtype."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from evaluate import evaluate
from table import floor_divide

# what ml_dtypes says about NaN and what does not fit
pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")

SIGNED = [np.dtype(f"int{w}") for w in (8, 16, 32, 64)]
UNSIGNED = [np.dtype(f"uint{w}") for w in (8, 16, 32, 64)]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
BOOL = np.dtype(bool)


def ids(value: object) -> str:
    return str(value)


def patterns(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def samples(dtype: np.dtype, rng: np.random.Generator, n: int = 120) -> np.ndarray:
    """Limits, small numbers, what lies around powers of two, and random numbers of all sizes; of 8 and 16 bits all."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.itemsize == 1 or dtype in HALVES:
        return np.arange(256**dtype.itemsize).astype(patterns(dtype)).view(dtype)
    random = rng.integers(0, np.iinfo(patterns(dtype)).max, n, patterns(dtype), endpoint=True).view(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        known = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100]
        known += [-1, -2, -3, -7, -8, -64] if dtype.kind == "i" else []
        return np.concatenate([np.array(known, dtype), random >> rng.integers(0, info.bits, n).astype(dtype)])
    near_zero, near_infinity = np.arange(3).astype(patterns(dtype)), np.array(np.inf, dtype).view(patterns(dtype)) - 2
    ends = np.concatenate([near_zero, near_infinity + near_zero]).view(dtype)
    powers = np.exp2([-1, 0, 1, 7, 8, 22, 23, 24, 31, 32, 51, 52, 53, 63, 64]).astype(dtype)
    known = np.concatenate(
        [[0.1, 1.5, 2.5, 3, 7, 300, 1e30, np.nan], ends, powers, np.nextafter(powers, 0), powers + 0.5]
    )
    ordinary = rng.standard_normal(n // 2) * 10 ** rng.uniform(-3, 3, n // 2)
    return np.concatenate([known, -known, ordinary, random]).astype(dtype)


def all_pairs(dtype: np.dtype, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(samples(dtype, rng), samples(dtype, rng))
    return x.ravel(), y.ravel()


def assert_same(got: np.ndarray, expected: np.ndarray, *operands: np.ndarray) -> None:
    """The same bits; any NaN equals any NaN."""
    assert got.dtype == expected.dtype
    wrong = got.view(patterns(got.dtype)) != expected.view(patterns(got.dtype))
    wrong &= ~((got != got) & (expected != expected))
    assert not wrong.any(), [tuple(x[wrong][:5].tolist()) for x in (*operands, got, expected)]


@pytest.fixture
def call(device):
    """Evaluate a function, with NumPy's result as the expected one."""

    def check(function, expected, *operands):
        with np.errstate(all="ignore"):
            reference = expected(*operands) if callable(expected) else expected
        reference = np.asarray(reference)
        (got,) = evaluate("elementwise", function, operands, [reference.dtype], str(device))
        assert_same(got, reference, *operands)

    return check


# ---------------------------------------------------------------------------------------------- as NumPy has them

BINARY = ["add", "subtract", "multiply", "floor_divide", "remainder"]
COMPARE = [
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
UNARY = ["negative", "positive", "abs", "square", "sign", "floor", "ceil", "trunc", "round"]
PREDICATES = ["isfinite", "isinf", "isnan", "logical_not"]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=ids)
@pytest.mark.parametrize("function", BINARY + COMPARE)
def test_binary(function, dtype, call, rng):
    expected = floor_divide if function == "floor_divide" else getattr(np, function)
    call(function, expected, *all_pairs(dtype, rng))


@pytest.mark.parametrize("function", COMPARE)
def test_binary_of_bool(function, call, rng):
    call(function, getattr(np, function), *all_pairs(BOOL, rng))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=ids)
@pytest.mark.parametrize("function", UNARY + PREDICATES + ["signbit"])
def test_unary(function, dtype, call, rng):
    call(function, getattr(np, function), samples(dtype, rng))


@pytest.mark.parametrize("function", PREDICATES)
def test_unary_of_bool(function, call, rng):
    call(function, getattr(np, function), samples(BOOL, rng))


@pytest.mark.parametrize("dtype", FLOATS, ids=ids)
@pytest.mark.parametrize("function", ["divide", "copysign", "nextafter"])
def test_binary_of_floats(function, dtype, call, rng):
    call(function, getattr(np, function), *all_pairs(dtype, rng))


@pytest.mark.parametrize("dtype", HALVES, ids=ids)
def test_nextafter_of_16_bits(dtype, call, rng):
    x = samples(dtype, rng)
    call("nextafter", np.nextafter, x, rng.permutation(x))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=ids)
def test_reciprocal(dtype, call, rng):
    x = samples(dtype, rng)
    if dtype.kind in "iu":
        x = x[x != 0]  # NumPy's answer there depends on the processor
    call("reciprocal", np.reciprocal, x)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=ids)
@pytest.mark.parametrize("function", ["maximum", "minimum"])
def test_maximum_and_minimum(function, dtype, call, rng):
    x, y = all_pairs(dtype, rng)
    with np.errstate(all="ignore"):
        expected = getattr(np, function)(x, y)
    call(function, np.where((x == 0) & (y == 0), y, expected), x, y)  # NumPy's sign of zero depends on the processor


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=ids)
def test_clip(dtype, call, rng):
    x = samples(dtype, rng)
    low, high = rng.permutation(x), rng.permutation(x)
    keep = ~((x == 0) & ((low == 0) | (high == 0)) | (low == 0) & (high == 0))
    call("clip", np.clip, x[keep], low[keep], high[keep])


# ------------------------------------------------------------------------------------------------- integers and bits


@pytest.mark.parametrize("dtype", [*INTEGERS, BOOL], ids=ids)
@pytest.mark.parametrize("function", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bitwise(function, dtype, call, rng):
    call(function, getattr(np, function), *all_pairs(dtype, rng))


@pytest.mark.parametrize("dtype", [*INTEGERS, BOOL], ids=ids)
def test_bitwise_invert(dtype, call, rng):
    call("bitwise_invert", np.invert, samples(dtype, rng))


@pytest.mark.parametrize("dtype", INTEGERS, ids=ids)
def test_bitwise_count(dtype, call, rng):
    call("bitwise_count", np.bitwise_count, samples(dtype, rng))


@pytest.mark.parametrize("dtype", INTEGERS, ids=ids)
def test_shifts_beyond_the_width(dtype, call, rng):
    x, y = all_pairs(dtype, rng)
    call("bitwise_left_shift", np.left_shift, x, y)
    call("bitwise_right_shift", np.right_shift, x, y)


@pytest.mark.parametrize("dtype", INTEGERS, ids=ids)
def test_integer_pow(dtype, call, rng):
    x, y = all_pairs(dtype, rng)
    call("integer_pow", np.power, x[y >= 0], y[y >= 0])


@pytest.mark.parametrize("dtype", SIGNED, ids=ids)
def test_division_never_traps(dtype, call):
    least = np.iinfo(dtype).min
    x, y = np.array([least, least, 0, -1], dtype), np.array([-1, 0, 0, 0], dtype)
    call("floor_divide", np.array([least, 0, 0, 0], dtype), x, y)
    call("remainder", np.zeros(4, dtype), x, y)


# ------------------------------------------------------------------------------------------------ division of floats


@pytest.mark.parametrize("dtype", FLOATS, ids=ids)
@pytest.mark.parametrize("function", ["fmod", "floor_divide", "remainder"])
def test_division_of_floats_of_any_size(function, dtype, call, rng):
    n = 20000
    top = np.iinfo(patterns(dtype)).max
    x, y = (rng.integers(0, top, n, patterns(dtype), endpoint=True).view(dtype) for _ in range(2))
    expected = floor_divide if function == "floor_divide" else getattr(np, function)
    call(function, expected, x, y)
    # quotients that are integers or next to one, below and above the last odd integer
    for low, high in ((1, 2**20), (2**20, 2**26), (2**50, 2**55)):
        with np.errstate(all="ignore"):
            multiple = (rng.integers(low, high, n).astype(dtype) * y).astype(dtype)
            x = np.where(
                rng.random(n) < 0.5, multiple, np.nextafter(multiple, rng.choice([-np.inf, np.inf], n))
            ).astype(dtype)
        call(function, expected, x, y)


# ------------------------------------------------------------------------------------------------------------- casts


def cut_to_integer(x: float, dtype: np.dtype) -> int:
    """What the documentation of `float_to_integer` says, in Python's integers."""
    bits = 8 * dtype.itemsize
    width = max(bits, 32)
    value = None if math.isnan(x) or math.isinf(x) else math.trunc(x)
    if dtype.kind == "u" and bits >= 32 and x >= 2 ** (width - 1):
        return 0 if value is None or value >= 2**width else value
    if value is None or not -(2 ** (width - 1)) <= value < 2 ** (width - 1):
        value = -(2 ** (width - 1))
    wrapped = value % 2**bits
    return wrapped - 2**bits if dtype.kind == "i" and wrapped >= 2 ** (bits - 1) else wrapped


def nearest(x: int | float, dtype: np.dtype) -> np.ndarray:
    """x in a 16-bit format, rounded once, ties to even."""
    if isinstance(x, float) and not math.isfinite(x):
        return np.array(x, dtype)
    finite = samples(dtype, None)
    finite = finite[np.isfinite(finite) & ~np.signbit(finite)].astype(np.float64)  # in ascending order
    beyond = 2 * finite[-1] - finite[-2]  # the number that follows the largest
    table = [*finite.tolist(), float(beyond)]
    exact = Fraction(abs(x))
    i = int(np.searchsorted(finite, float(abs(x))))
    candidates = range(max(i - 2, 0), min(i + 3, len(table)))
    best = min(candidates, key=lambda k: (abs(Fraction(table[k]) - exact), k % 2))
    rounded = table[best] if best < len(finite) else math.inf
    return np.array(math.copysign(rounded, x), dtype)


def cast(x: np.ndarray, dtype: np.dtype, device: object) -> np.ndarray:
    name = f"tl.{dtype}" if dtype != BOOL else "tl.int1"
    return evaluate("elementwise", "cast", [x], [dtype], str(device), [name])[0]


@pytest.mark.parametrize("target", INTEGERS, ids=ids)
@pytest.mark.parametrize("source", FLOATS + HALVES, ids=ids)
def test_cast_float_to_integer(source, target, device, rng):
    x = samples(source, rng)
    expected = np.array([cut_to_integer(float(v), target) for v in x.astype(np.float64)], target)
    assert_same(cast(x, target, device), expected, x)


@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, BOOL, HALVES[0]], ids=ids)
@pytest.mark.parametrize("source", [*INTEGERS, BOOL], ids=ids)
def test_cast_from_integer(source, target, device, rng):
    x = samples(source, rng, 5000)
    with np.errstate(all="ignore"):
        assert_same(cast(x, target, device), x.astype(target), x)


@pytest.mark.parametrize("target", [*FLOATS, BOOL, HALVES[0]], ids=ids)
@pytest.mark.parametrize("source", FLOATS + HALVES, ids=ids)
def test_cast_from_float(source, target, device, rng):
    x = samples(source, rng, 5000)
    with np.errstate(all="ignore"):
        assert_same(cast(x, target, device), x.astype(target), x)


@pytest.mark.parametrize("source", [HALVES[0], FLOATS[0]], ids=ids)
def test_cast_to_bfloat16(source, device, rng):
    x = samples(source, rng, 5000)
    assert_same(cast(x, HALVES[1], device), x.astype(HALVES[1]), x)


@pytest.mark.parametrize("target", HALVES, ids=ids)
def test_cast_float64_to_16_bits_rounds_once(target, device, rng):
    """Around the middles between neighbours, where rounding to float32 first goes wrong."""
    finite = samples(target, rng)
    finite = np.sort(finite[np.isfinite(finite)].astype(np.float64))
    middles = (finite[:-1] + finite[1:]) / 2
    middles = rng.choice(middles, 150)
    x = np.concatenate(
        [middles, np.nextafter(middles, -np.inf), np.nextafter(middles, np.inf), samples(FLOATS[1], rng)]
    )
    assert_same(cast(x, target, device), np.array([nearest(float(v), target) for v in x]), x)


@pytest.mark.parametrize("source", [np.dtype(t) for t in ("int32", "uint32", "int64", "uint64")], ids=ids)
def test_cast_integer_to_bfloat16_rounds_once(source, device, rng):
    bits = np.iinfo(source).bits
    exponent = rng.integers(9, bits - 2, 200)
    middle = [int(m) << int(e - 8) for m, e in zip(rng.integers(2**8, 2**9, 200) | 1, exponent, strict=True)]
    x = [m + d for m in middle for d in (-1, 0, 1)]
    x = np.array([v for v in x if v <= np.iinfo(source).max], source)
    x = np.concatenate([x, samples(source, rng)])
    assert_same(cast(x, HALVES[1], device), np.array([nearest(int(v), HALVES[1]) for v in x]), x)
