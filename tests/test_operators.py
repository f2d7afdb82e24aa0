"""Operators of arrays: what they call, Python scalars on either side, in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from table import BFLOAT16, BY_NAME, DTYPES, assert_near, assert_near_complex, assert_same_bits, kind, takes, weak

from nbx_array import _array

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
UNARY = {"negative": operator.neg, "positive": operator.pos, "abs": operator.abs, "bitwise_invert": operator.invert}
IN_PLACE = {name: getattr(operator, f"i{BINARY[name].__name__.strip('_')}") for name in list(BINARY)[:12]}
SCALARS = (True, 3, 2.5, 1.5 - 2j)
CASES = [(name, dtype) for name in BINARY for dtype in DTYPES]


def values(dtype: np.dtype) -> np.ndarray:
    if kind(dtype) == "b":
        return np.array([False, True, True])
    numbers = [0, 1, 2, 3, 7, 100] if kind(dtype) == "u" else [0, 1, -1, 2, -3, 7, 100]
    return np.array(numbers, dtype)


def numpy_answer(op, left, right):
    """NumPy's result; None where it refuses."""
    dtype = left.dtype if isinstance(left, np.ndarray) else right.dtype
    try:
        with np.errstate(all="ignore"):
            return np.asarray(op(weak(left, dtype), weak(right, dtype)))
    except (TypeError, ValueError):
        return None


def agree(name, got, wanted):
    if got.dtype.kind == "c" and name in ("multiply", "divide", "pow"):
        assert_near_complex(got, wanted, 256 if name == "pow" else 16)
    elif name == "pow" and kind(got.dtype) == "f":
        assert_near(got, wanted, 6)
    else:
        assert_same_bits(got, wanted)


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=[f"{name}-{dtype}" for name, dtype in CASES])
def test_python_scalars_are_weak(name, dtype, xp):
    """A scalar on either side takes part as in NumPy 2: same dtype, same values, the same refusals."""
    op, x = BINARY[name], values(DTYPES[dtype])
    if name == "pow":
        x = abs(x)  # of a negative exponent NumPy looks at the values
    array = xp.asarray(x)
    # the rule of complex scalars is one for all functions, and complex powers are long kernels
    scalars = SCALARS[:3] if name == "pow" and dtype not in ("int32", "float32", "float64", "complex64") else SCALARS
    for scalar in scalars:
        for left, right, ours in ((x, scalar, (array, scalar)), (scalar, x, (scalar, array))):
            wanted = numpy_answer(op, left, right)
            # orders of complex numbers and shifts of bools are no functions of the standard
            ordered = {np.asarray(left).dtype.kind, np.asarray(right).dtype.kind} & {"c"} and name[:4] in (
                "less",
                "grea",
            )
            shifted = wanted is not None and "shift" in name and kind(DTYPES[dtype]) == "b" and scalar is True
            if wanted is None or ordered or shifted:
                with pytest.raises((TypeError, ValueError)):
                    op(*ours)
                continue
            agree(name, xp.asnumpy(op(*ours)), wanted)


@pytest.mark.parametrize("name", BINARY)
def test_operators_are_the_functions(name, xp):
    dtype = np.dtype(np.int32)
    x, y = values(dtype), np.array([1, 2, 3, 1, 2, 3, 1], dtype)
    assert_same_bits(xp.asnumpy(BINARY[name](xp.asarray(x), xp.asarray(y))), BINARY[name](x, y))
    assert_same_bits(xp.asnumpy(getattr(xp, name)(xp.asarray(x), xp.asarray(y))), BINARY[name](x, y))
    assert_same_bits(xp.asnumpy(getattr(xp, name)(2, xp.asarray(y))), BINARY[name](2, y))


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name, xp):
    for dtype in DTYPES.values():
        if takes(BY_NAME[name], dtype):
            x = values(dtype)
            assert_same_bits(xp.asnumpy(UNARY[name](xp.asarray(x))), UNARY[name](x))


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name, xp):
    """The array keeps its memory and dtype; what cannot be cast back is refused, and nothing is written."""
    for dtype in DTYPES.values():
        x = values(dtype)
        for other in (
            x[::-1] if "shift" not in name and name != "pow" else abs(x) if kind(dtype) == "f" else x * 0 + 1,
            2,
        ):
            mine, theirs = xp.asarray(x), x.copy()
            view = mine[1:]
            ours = xp.asarray(other) if isinstance(other, np.ndarray) else other
            try:
                with np.errstate(all="ignore"):
                    theirs = IN_PLACE[name](theirs, other)
            except (TypeError, ValueError):
                with pytest.raises((TypeError, ValueError)):
                    IN_PLACE[name](mine, ours)
                assert_same_bits(xp.asnumpy(mine), x)
                continue
            if "shift" in name and kind(dtype) == "b":
                continue
            same = IN_PLACE[name](mine, ours)
            assert same is mine
            agree(name, xp.asnumpy(mine), theirs)
            agree(name, xp.asnumpy(view), theirs[1:])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
def test_divmod(dtype, xp):
    x = np.array([0, 1, 2, 3, 7, 100, 5], dtype)
    y = x[::-1].copy()
    for left, right in ((x, y), (x, 3), (7, y)):
        ours = (xp.asarray(part) if isinstance(part, np.ndarray) else part for part in (left, right))
        for got, wanted in zip(divmod(*ours), divmod(left, right), strict=True):
            assert_same_bits(xp.asnumpy(got), wanted)
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(xp.ones(2), "word")
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(None, xp.ones(2))


def test_in_place_refuses_another_shape(xp):
    x = xp.ones((3, 1))
    with pytest.raises(ValueError, match="shape"):
        x += xp.ones((3, 4))
    assert_same_bits(xp.asnumpy(x), np.ones((3, 1)))


def test_numpy_scalars_are_typed(xp):
    x = xp.asarray([1, 2], dtype=xp.float32)
    assert (x + np.float64(1)).dtype == np.float64
    assert (np.float64(1) + x).dtype == np.float64
    assert (np.int8(1) * x).dtype == np.float32
    assert (x == np.int64(1)).dtype == np.bool_
    assert_same_bits(xp.asnumpy(np.float32(3) - x), np.array([2, 1], np.float32))


@pytest.mark.parametrize(("exponent", "dtype"), [(e, d) for e in (0, 1, 2, 3, -1, 0.5, -0.5, 2.0) for d in DTYPES])
def test_powers_of_cheap_exponents(exponent, dtype, xp):
    """They call other functions, with pow's answers: pow(-0.0, 0.5) is 0 and pow(-inf, 0.5) inf, unlike sqrt's."""
    if kind(DTYPES[dtype]) in "fc":
        x = np.array([0.0, -0.0, 1, -1, 4, -4, np.inf, -np.inf, np.nan], DTYPES[dtype])
        x = x[np.isfinite(x)] if DTYPES[dtype].kind == "c" else x
    else:
        x = values(DTYPES[dtype])
    array = xp.asarray(x)
    if exponent == -1 and kind(DTYPES[dtype]) in "biu":
        with pytest.raises((ValueError, OverflowError), match="integer"):
            array**exponent
        return
    wide = x.astype(np.float32) if DTYPES[dtype] == BFLOAT16 else x
    with np.errstate(all="ignore"):  # a whole array as the exponent: NumPy gives 0.5 alone sqrt's answers
        dtype = numpy_answer(operator.pow, x, exponent).dtype
        wanted = np.power(wide, np.full(x.shape, exponent)).astype(dtype)
    got = xp.asnumpy(array**exponent)
    agree("pow", got, wanted)
    array[...] = 0  # the result is no view, whatever the exponent
    agree("pow", got, wanted)


@pytest.mark.parametrize("sequence", [[1, 2, 3], (1, 2, 3), range(1, 4), [0.5, 1.5, 2.0]], ids=repr)
@pytest.mark.parametrize("name", BINARY)
def test_sequences_on_either_side(name, sequence, xp):
    host = np.asarray([3, 1, 2])
    for swapped in (False, True):

        def use(x, swapped=swapped):
            return BINARY[name](sequence, x) if swapped else BINARY[name](x, sequence)

        try:
            wanted = use(host)
        except TypeError:
            with pytest.raises(TypeError):
                use(xp.asarray(host))
            continue
        got = use(xp.asarray(host))
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(xp.asnumpy(got), wanted, rtol=1e-14)


def test_repeating_a_sequence(xp):
    """An integer of no dimension counts as NumPy's scalar: it repeats lists, tuples, text; an array multiplies."""

    def use(m):
        x = m.asarray([2, 3])
        numbers = [0, 1]
        numbers *= x[0]
        repeated = [[0] * x[0], x[1] * [1, 2], (1,) * m.max(x), m.sum(x) * (0,), "ab" * x[0], numbers]
        return repeated, m.asarray([1, 2] * x).tolist()

    assert use(xp) == use(np)


def test_negative_integer_powers(xp, device, monkeypatch):
    """Refused as NumPy refuses them wherever the exponents can be seen without waiting for a GPU."""
    x, y = xp.asarray([3, -1, 1, 0, -3]), xp.asarray([-1, -3, -2, -1, 2])
    known = [lambda: x ** range(-1, 4), lambda: xp.pow(2, -1), lambda: xp.pow([2, 3], [1, -1]), lambda: x**-1]
    seen = [lambda: x**y, lambda: 2**y, lambda: xp.pow(2, y), lambda: x[0] ** y[0], lambda: operator.ipow(x, y)]
    for act in known + (seen if device.backend == "cpu" else []):
        with pytest.raises(ValueError, match=r"pow.*negative"):
            act()
    assert (x ** xp.asarray([2, 3, 0, 1, 2])).tolist() == [9, -1, 1, 0, 9]
    assert (xp.asarray([2], dtype=xp.uint64) ** y[:1]).tolist() == [0.5]
    monkeypatch.setattr(_array, "refuse_negative", lambda base, exponent: None)
    for dtype in (xp.int8, xp.int16, xp.int32, xp.int64):  # what a GPU gives: rounded towards zero
        assert (x.astype(dtype) ** y.astype(dtype)).tolist() == [0, -1, 1, 0, 9]


def test_truth_of_one_element_launches_nothing(xp, device):
    """Questions about one element are answered where it has been read to."""
    special = [0.0, -0.0, 1.5, np.nan, np.inf, -np.inf]
    for dtype, values in (("float32", special), ("float64", special), ("float16", special), ("complex64", special),
                          ("int64", [0, 5, -(2**63)]), ("uint8", [0, 255]), ("bool", [False, True])):  # fmt: skip
        for value in values:
            host = np.asarray([value, 1], dtype)
            x = xp.realize(xp.asarray(host))[:1]
            y = xp.reshape(x, ())
            before = xp.counters()["launches"]
            for name in ("isnan", "isinf", "isfinite", "logical_not"):
                assert bool(getattr(xp, name)(x)) == bool(getattr(np, name)(host[0])), (name, dtype, value)
                assert bool(xp.logical_not(getattr(xp, name)(y))) != bool(getattr(np, name)(host[0]))
            assert bool(xp.any(y)) == bool(xp.all(y)) == bool(y) == bool(x[0]) == bool(host[0])
            if dtype != "float16":  # which our own expressions promote first
                assert xp.counters()["launches"] == before
            np.testing.assert_equal(x[0].item(), host[0].item())
            truth = xp.any(y)
            assert truth.shape == () and truth.dtype == xp.bool
            truth |= True
            assert bool(truth) and y.dtype == host.dtype
            np.testing.assert_array_equal(np.asarray(y), host[0])
