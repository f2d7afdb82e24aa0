"""Elements read on the CPU carry their value: with the bits of arrays of one element, and as NumPy's scalars behave."""

from __future__ import annotations

import operator
import statistics
from fractions import Fraction

import numpy as np
import pytest
from table import assert_same_bits

DTYPES = [np.dtype(t) for t in ("?", "i1", "i8", "u1", "u8", "f4", "f8", "c16")]
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod)
OPERATORS = (*ARITHMETIC, operator.and_, operator.or_, operator.xor, operator.lt, operator.eq)


def values(dtype):
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 3, info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1], dtype)
    info = np.finfo(dtype)
    reals = [0.0, -0.0, 1.0, -1.5, 0.1, info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan, 1 / 3]
    return np.array(reals, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_as_arrays_of_one_element(op, dtype, xp):
    """All pairs of awkward values, and Python scalars on either side."""
    host = values(dtype)
    x = xp.asarray(host)
    left, right = np.broadcast_arrays(host[:, None], host[None, :])
    try:
        with np.errstate(all="ignore"):
            wanted = np.asarray(op(xp.asarray(left), xp.asarray(right)))
    except TypeError:
        with pytest.raises(TypeError):
            op(x[0], x[1])
        return
    places = range(len(host))
    got = [[op(x[i], x[j]) for j in places] for i in places]
    assert all(z.shape == () and z.dtype == wanted.dtype for row in got for z in row)
    assert_same_bits(np.array([[np.asarray(z) for z in row] for row in got]), wanted)
    assert_same_bits(np.asarray(op(x[1], x[1])), np.asarray(op(x[1:2], x[1:2]))[0])
    for number in (2, 2.5, 0, 2**60):
        for function in (lambda y, n=number: op(y, n), lambda y, n=number: op(n, y)):
            try:
                expected = np.asarray(function(x[:2]))
            except (TypeError, OverflowError, ValueError) as error:
                with pytest.raises(type(error)):
                    function(x[0])
                continue
            result = function(x[0])
            assert result.dtype == expected.dtype
            assert_same_bits(np.asarray(result), expected[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reading_and_writing(dtype, xp):
    host = values(dtype)
    x, n = xp.asarray(host), len(host)
    matrix = xp.asarray(np.stack([host, host[::-1]]))
    for i in (*range(n), -1, -n):
        assert_same_bits(np.asarray(x[i]), host[i])
        assert_same_bits(np.asarray(matrix[1, i]), host[::-1][i])
        assert_same_bits(np.asarray(matrix.T[i, 0]), host[i])
        assert x[i].shape == () and x[i].dtype == dtype and str(x[i]) == str(xp.asarray(host[i]))
    y = xp.asarray(host)
    for i in range(n):
        y[i] = x[n - 1 - i]
        y[-1 - i] = y[-1 - i]
    assert_same_bits(np.asarray(y), host[::-1])
    for bad in (n, -n - 1):
        with pytest.raises(IndexError):
            x[bad]
        with pytest.raises(IndexError):
            x[bad] = x[0]


def test_a_copy_of_the_element(xp, device):
    x = xp.asarray([1.0, 2.0, 3.0])
    e, pending = x[1], x * 2
    x[1] = 10.0
    assert float(e) == 2.0 and pending.tolist() == [2.0, 4.0, 6.0] and x.tolist() == [1.0, 10.0, 3.0]
    x[0], x[2] = x[2], x[0]
    assert x.tolist() == [3.0, 10.0, 1.0]
    first = e
    e += 5  # a new one on the CPU, as NumPy's scalars
    assert float(first) == (2.0 if device.backend == "cpu" else 7.0) and float(e) == 7.0
    view = first[...]
    view[...] = 4.0  # from here on it lies in memory
    assert float(view) == 4.0


def test_assigned_numbers_are_checked(xp):
    x = xp.zeros(3, dtype=xp.int8)
    x[0], x[-1] = 127, -128
    assert x.tolist() == [127, 0, -128]
    with pytest.raises(OverflowError):
        x[1] = 128
    y = xp.zeros(2, dtype=xp.float32)
    y[0], y[1] = 0.1, 10**6
    assert y.tolist() == [float(np.float32(0.1)), 1e6]
    flags = xp.zeros(2, dtype=xp.bool)
    flags[0] = 5
    assert flags.tolist() == [True, False]


def test_in_loops(xp):
    host = np.random.default_rng(1).standard_normal(50)
    x, total, largest = xp.asarray(host), 0.0, -np.inf
    expected = 0.0
    for i in range(50):
        total += x[i] * x[49 - i] / 2 - 1
        expected += host[i] * host[49 - i] / 2 - 1
        if x[i] > largest:
            largest = x[i]
    assert float(total) == expected and float(largest) == host.max()
    line = xp.asarray(host)
    for i in range(1, 50):
        line[i] = line[i - 1] * 0.5 + line[i]
        host[i] = host[i - 1] * 0.5 + host[i]
    assert line.tolist() == host.tolist()


def test_with_arrays_and_functions(xp):
    x = xp.asarray([4.0, 9.0])
    assert (x[0] * x).tolist() == [16.0, 36.0] and (x - x[1]).tolist() == [-5.0, 0.0]
    assert float(xp.sqrt(x[1])) == 3.0 and float(xp.maximum(x[0], x[1])) == 9.0 and float(-x[0]) == -4.0
    assert float(xp.sum(xp.stack([x[0], x[1], x[0] + 1]))) == 18.0 and xp.asarray([x[0], x[1]]).tolist() == [4.0, 9.0]
    small = xp.asarray([1, 2], dtype=xp.int16)
    assert (small[0] + x[0]).dtype == xp.float64 and (small[0] + small).dtype == xp.int16
    assert [10, 20, 30][small[1]] == 30 and f"{x[0]:.2f}" == "4.00" and bool(x[0]) and hash(x[0]) == hash(4.0)


def test_what_python_numbers_have(xp):
    """An array of no dimension has what NumPy's scalars have of Python's numbers."""
    x, n = xp.asarray([0.75, 4.0]), xp.asarray([6, 7])
    assert xp.sqrt(x[1]).is_integer() and not x[0].is_integer() and (x[0] + 0.25).is_integer()
    assert x[0].as_integer_ratio() == (3, 4) and x[0].hex() == (0.75).hex()
    assert (n[0].numerator, n[0].denominator) == (6, 1) and xp.sum(n).bit_count() == 3
    assert statistics.fmean(x) == 2.375 and Fraction(*x[0].as_integer_ratio()) == Fraction(3, 4)
    for what in (x, xp.asarray(1j), xp.asarray(0.5).reshape((1,))):
        with pytest.raises(AttributeError, match="'is_integer'"):
            _ = what.is_integer
