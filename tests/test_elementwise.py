"""Element-wise functions against NumPy: every function, every dtype it takes, awkward shapes."""

from __future__ import annotations

import itertools

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from nbx_array.kernels.pointwise import TABLE
from table import (
    BY_NAME,
    DTYPES,
    ROWS,
    SPECIAL,
    arguments,
    assert_same_bits,
    check,
    kind,
    laid_out,
    random_values,
    specials,
    takes,
    weak,
)

SIZE = 4097
CASES = [(row, name) for row in ROWS for name, dtype in DTYPES.items() if takes(row, dtype)]
REFUSED = [
    (row, name) for row in ROWS for name, dtype in DTYPES.items() if not takes(row, dtype) and row.name != "imag"
]


def ids(cases):
    return [f"{row.name}-{name}" for row, name in cases]


def test_every_function_has_a_row():
    rows = BY_NAME | {row.name: row for row in SPECIAL}
    assert set(rows) == set(TABLE)
    for name, row in TABLE.items():
        assert (row.arity, set(row.kinds)) == (rows[name].arity, set(rows[name].kinds)), name


@pytest.mark.parametrize(("row", "name"), CASES, ids=ids(CASES))
def test_values(row, name, xp, rng):
    """Values against NumPy's at one length, the same bits at every other length; in one dtype of each kind of number
    also in a strided form, and by the kernel for few elements, which has no vectors on the CPU."""
    operands = arguments(row, DTYPES[name], SIZE, rng)
    function = getattr(xp, row.name)
    forms = name in ("bool", "int32", "float32", "complex64")
    few = function(*(xp.asarray(x[:1023]) for x in operands)) if forms else None
    whole = xp.asnumpy(function(*map(xp.asarray, operands)))
    check(row, whole, *operands)
    for shape in [(), (1,), (0,), (0, 3), (3, 1, 341), (1023,)]:
        size = int(np.prod(shape))
        part = function(*(xp.asarray(x[:size].reshape(shape)) for x in operands))
        assert_same_bits(xp.asnumpy(part), whole[:size].reshape(shape))

    def strided(x):
        return x[:4095].reshape(63, 65)[::-2, 1::3]

    def viewed(x):
        return xp.reshape(xp.asarray(x)[:4095], (63, 65))[::-2, 1::3]

    if few is not None:
        assert_same_bits(xp.asnumpy(few), whole[:1023])
        assert_same_bits(xp.asnumpy(function(*map(viewed, operands))), strided(whole))


OUTER = [(row, name) for row, name in CASES if row.arity == 2 and name in ("bool", "int64", "float32", "complex64")]


@pytest.mark.parametrize(("row", "name"), OUTER, ids=ids(OUTER))
def test_a_column_with_a_row(row, name, xp, rng):
    """Operands that a block reads in one dimension each: functions must take them in different shapes."""
    x, y = arguments(row, DTYPES[name], 35, rng)
    x, y = x[:5, None], y[-7:]
    function = getattr(xp, row.name)
    whole = xp.asnumpy(function(*map(xp.asarray, (np.broadcast_to(x, (5, 7)), np.broadcast_to(y, (5, 7))))))
    assert_same_bits(xp.asnumpy(function(xp.asarray(x), xp.asarray(y))), whole)


@pytest.mark.parametrize(("row", "name"), REFUSED, ids=ids(REFUSED))
def test_refused_dtypes(row, name, xp):
    x = xp.asarray(np.ones(3, DTYPES[name]))
    with pytest.raises(TypeError, match=row.name):
        getattr(xp, row.name)(*[x] * row.arity)


def test_imag_of_a_real_array_is_zero(xp):
    assert_same_bits(xp.asnumpy(xp.imag(xp.asarray(np.ones(3, np.float32)))), np.zeros(3, np.float32))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(["int16", "float32", "complex64"]))
def test_layouts(xp, data, name):
    """Operands whose axes lie in any order, backwards, stretched or broadcast, of sizes around those of a tile."""
    sides = st.sampled_from([0, 1, 2, 3, 5, 31, 33, 65])
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=5)).input_shapes
    if data.draw(st.booleans()):
        rows, columns = data.draw(sides), data.draw(sides)
        shapes = ((rows, columns), data.draw(st.sampled_from([(rows, columns), (columns,), (rows, 1), (2, 1, 1)])))
    originals = [np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(name) + 1 for shape in shapes]
    x, y = (laid_out(xp, a, data.draw(st.permutations(range(a.ndim)))) for a in originals)
    a, b = originals
    with np.errstate(over="ignore"):
        assert_same_bits(xp.asnumpy(x - y), np.asarray(a - b))
        assert_same_bits(xp.asnumpy(x + x), a + a)
        assert_same_bits(xp.asnumpy(xp.astype(x == y, xp.int8) - 1), np.asarray((a == b).astype(np.int8) - 1, np.int8))


# ------------------------------------------------------------------------------------------------- mixed dtypes

PAIRS = list(itertools.product(DTYPES, repeat=2))


@pytest.mark.parametrize("name", DTYPES)
def test_sums_of_two_dtypes(name, xp, rng):
    """Every pair of dtypes promotes as NumPy 2 has it, and the operands are converted before they are added."""
    x = random_values(DTYPES[name], 65, rng)
    for other in DTYPES.values():
        y = random_values(other, 65, rng)
        try:
            common = np.result_type(x, y)
        except TypeError:  # bfloat16 with float16 or with an integer that it does not hold
            with pytest.raises(TypeError, match="add: no common dtype"):
                xp.asarray(x) + xp.asarray(y)
        else:
            with np.errstate(all="ignore"):
                wanted = x.astype(common) + y.astype(common)
            assert_same_bits(xp.asnumpy(xp.asarray(x) + xp.asarray(y)), wanted)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons_of_integers_are_exact(name, xp):
    """Also of uint64 with signed integers, whose common dtype is float64."""
    signed = np.array([0, 1, -1, 5, 2**63 - 1, -(2**63), 2**53 + 1])
    unsigned = np.array([0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1, 2**53, 2**53 + 1], np.uint64)
    function, reference = getattr(xp, name), getattr(np, name)
    for dtype in (np.int8, np.int64):
        x = signed.astype(dtype)[:, None]
        assert_same_bits(xp.asnumpy(function(xp.asarray(x), xp.asarray(unsigned))), reference(x, unsigned))
        assert_same_bits(xp.asnumpy(function(xp.asarray(unsigned), xp.asarray(x))), reference(unsigned, x))
    for number in (-1, 2**63, 2**64, -(2**70), 10**30):
        for x in (signed, unsigned):
            assert_same_bits(xp.asnumpy(function(xp.asarray(x), number)), reference(x, number))
            assert_same_bits(xp.asnumpy(function(number, xp.asarray(x))), reference(number, x))


# --------------------------------------------------------------------------------------------------- casts, choices


def in_range(x, target):
    """Numbers that an integer dtype holds; the rest is undefined in C."""
    limits = np.iinfo(target)
    with np.errstate(all="ignore"):
        fits = np.isfinite(x) & (x.real > float(limits.min) - 1) & (x.real < float(limits.max) + 1)
    return np.where(fits, x, np.zeros((), x.dtype))


@pytest.mark.parametrize("name", DTYPES)
def test_casts(name, xp, rng):
    dtype = DTYPES[name]
    x = np.concatenate([specials(dtype), random_values(dtype, 1000, rng)])
    for target in DTYPES.values():
        source = x
        if kind(dtype) in "fc" and kind(target) in "iu":
            source = in_range(x.astype(np.float64) if kind(dtype) == "f" else x, target).astype(dtype)
            source = in_range(source, target)
        with np.errstate(all="ignore"):
            wanted = (source.real if dtype.kind == "c" and kind(target) not in "bc" else source).astype(target)
        got = xp.astype(xp.asarray(source), target)
        assert_same_bits(xp.asnumpy(got), wanted)
        assert_same_bits(xp.asnumpy(xp.astype(xp.asarray(source)[::-2], target)), wanted[::-2])


@pytest.mark.parametrize("name", DTYPES)
def test_where(name, xp, rng):
    dtype = DTYPES[name]
    condition = rng.random(1023) < 0.5
    x, y = random_values(dtype, 1023, rng), random_values(dtype, 1023, rng)
    wanted = np.where(condition, x, y)
    got = xp.where(xp.asarray(condition), xp.asarray(x), xp.asarray(y))
    assert_same_bits(xp.asnumpy(got), wanted)
    got = xp.where(xp.asarray(condition)[:, None], xp.asarray(x), xp.asarray(y)[-1])
    assert_same_bits(xp.asnumpy(got), np.where(condition[:, None], x, y[-1]))
    for scalar in (True, 1, 1.5):
        wanted = np.where(condition, x, weak(scalar, dtype))
        assert_same_bits(xp.asnumpy(xp.where(xp.asarray(condition), xp.asarray(x), scalar)), wanted)


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if kind(dtype) in "iuf"])
def test_clip(name, xp, rng):
    dtype = DTYPES[name]
    x = random_values(dtype, 1023, rng)
    low, high = np.full(1023, 1, dtype), random_values(dtype, 1023, rng)
    array = xp.asarray(x)
    for bounds in [(1, 3), (None, 3), (1, None), (3, 1), (low, high), (low, None), (None, high)]:
        ours = [xp.asarray(b) if isinstance(b, np.ndarray) else b for b in bounds]
        wanted = x if bounds[0] is None else np.maximum(x, weak(bounds[0], dtype))
        wanted = wanted if bounds[1] is None else np.minimum(wanted, weak(bounds[1], dtype))
        assert_same_bits(xp.asnumpy(xp.clip(array, *ours)), wanted, zeros=False)
    copy = xp.clip(array)
    copy[:] = 0
    assert_same_bits(xp.asnumpy(array), x)


def test_clip_takes_the_common_dtype(xp):
    x = xp.asarray([1, 2], dtype=xp.int8)
    assert_same_bits(xp.asnumpy(xp.clip(x, xp.asarray(300))), np.array([300, 300]))
    assert_same_bits(xp.asnumpy(xp.clip(x, 0.5, 1.5)), np.array([1.0, 1.5]))
    assert_same_bits(xp.asnumpy(xp.clip(x, 2, 300)), np.array([2, 2], np.int8))
    assert_same_bits(xp.asnumpy(xp.clip(x, 300, 400.5)), np.array([300.0, 300.0]))
    with pytest.raises(OverflowError):
        xp.clip(x, 300, None)
