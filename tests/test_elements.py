"""Elements read on the CPU carry their value: with the bits of arrays of one element, and as NumPy's scalars behave."""

from __future__ import annotations

import inspect
import math
import operator
import statistics
import subprocess
import sys
from fractions import Fraction
from gc import collect
from sys import getrefcount

import numpy as np
import pytest
from table import assert_same_bits

DTYPES = [np.dtype(t) for t in ("?", "i1", "i8", "u1", "u8", "f4", "f8", "c8", "c16")]
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
    view[...] = 4.0
    assert float(view) == 4.0


VIEWS = {
    "reshape": lambda xp, e: xp.reshape(e, (1,)),
    "broadcast_to": lambda xp, e: xp.broadcast_to(e, (3,)),
    "expand_dims": lambda xp, e: xp.expand_dims(e, axis=0),
    "permute_dims": lambda xp, e: xp.permute_dims(e, ()),
    "T": lambda xp, e: e.T,
    "[...]": lambda xp, e: e[...],
    "[None]": lambda xp, e: e[None],
    "view": lambda xp, e: e.view(),
    "ravel": lambda xp, e: xp.ravel(e),
    "dlpack": lambda xp, e: np.from_dlpack(e),
}


@pytest.mark.parametrize("how", VIEWS)
@pytest.mark.parametrize("dtype", ["int16", "float64", "complex64"])
def test_views_of_elements_are_of_copies(xp, carried, how, dtype):
    """As those of NumPy's scalars: an element is a value, whatever is done with arrays made of it."""
    host = np.asarray([1, 2], dtype)
    x = xp.asarray(host)
    e = same = x[1]
    names = {e: "it"}
    made = VIEWS[how](xp, e)
    made[...] = 7
    e += 1
    assert (e.item(), same.item(), x.tolist()) == (3, 2, [1, 2]) and names[same] == "it"
    assert np.asarray(made).tolist() == np.full(made.shape, 7).tolist()


def test_elements_that_are_written_to(xp):
    """NumPy's scalars refuse it; here they are arrays of no dimension, which the standard has be written to."""
    x = xp.asarray([1.0, 2.0])
    for key in ((), ...):
        e = x[1]
        e[key] = 5
        assert float(e) == 5.0 and x.tolist() == [1.0, 2.0]
        e[key] += 1
        assert float(e) == 6.0 and e.shape == ()
    e = x[1]
    e.shape = (1, 1)
    assert e.tolist() == [[2.0]] and x.tolist() == [1.0, 2.0]


def test_numpy_sees_no_memory_of_elements(xp, carried):
    """As of its scalars."""
    for e in (xp.asarray([1.5])[0], np.asarray([1.5])[0]):
        with pytest.raises(ValueError, match="copy"):
            np.asarray(e, copy=False)
        seen = np.asarray(e)
        seen[()] = 7
        assert e == 1.5


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_elements_that_are_not_a_number_hash_by_identity(xp, dtype):
    x = xp.asarray([np.nan, 1], dtype=getattr(xp, dtype))
    e = x[0]
    before, held = hash(e), [float(k) for k in range(50)]  # which take the memory of numbers that were made for it
    assert held and before == hash(e) and e in {e} and {e: 1}[e] == 1 and x[0] not in {e}


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


@pytest.fixture
def carried(device):
    """For tests of what elements do because they carry values; they would take thousands of kernels elsewhere."""
    if device.backend != "cpu":
        pytest.skip("elements carry no values")


ALL = [np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")]
OF_TWO = (*ARITHMETIC, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)
OF_TWO += (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def few(dtype):
    """Values of a dtype among which most operations are settled: no quotient of zeros, no overflow in a cast."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind == "f":
        return np.array([1.5, -2.0, 0.1, 7.0, np.inf, np.nan, 1e-30, -0.0], dtype)
    info = np.iinfo(dtype)
    return np.array([3, 1, info.max, info.min, 7, 2], dtype)


@pytest.mark.parametrize("left", ALL, ids=str)
def test_of_two_dtypes(left, xp, carried):
    """Every operator on elements of every two dtypes, as NumPy has it on arrays of them; NumPy's scalars, too."""
    a = few(left)
    x = xp.asarray(a)
    for right in ALL:
        b = few(right)
        y = xp.asarray(b)
        pairs = np.broadcast_arrays(a[:, None], b[None, :])
        for op in OF_TWO:
            if op in (operator.floordiv, operator.mod) and "f" in (left.kind, right.kind):
                continue  # NumPy's and the standard's differ where infinities take part
            if op is operator.sub and left.kind == right.kind == "b":
                continue  # NumPy has none
            with np.errstate(all="ignore"):
                try:
                    wanted = op(*pairs)
                except TypeError:
                    with pytest.raises(TypeError):
                        op(x[0], y[0])
                    continue
            if wanted.dtype not in ALL:  # NumPy divides small integers in float16
                continue
            if {left.kind, right.kind} == {"b"} and wanted.dtype == np.int8:
                continue  # NumPy's divisions of truth values
            for i, j in np.ndindex(wanted.shape):
                for got in (op(x[i], y[j]), op(x[i], b[j])):
                    assert got.dtype == wanted.dtype and got.shape == (), (op, left, right)
                    assert_same_bits(np.asarray(got), wanted[i, j])


@pytest.mark.parametrize("left", [np.dtype("c8"), np.dtype("c16")], ids=str)
def test_with_complex_ones(left, xp, carried):
    """As our arrays have them, whose products do not overflow where NumPy's do."""
    numbers = [1 + 2j, -0.5j, 3e-200 + 1j, complex(np.inf, 1), complex(np.nan, 2), 1e160 - 1e150j, 0]
    with np.errstate(over="ignore"):
        a, single = np.array(numbers, left), np.array(numbers, "c8")
    x = xp.asarray(a)
    for right in (*ALL, np.dtype("c8"), np.dtype("c16")):
        b = few(right) if right.kind != "c" else single if right.itemsize == 8 else np.array(numbers)
        y = xp.asarray(b)
        for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne):
            for swapped in (False, True):
                ours = [xp.asarray(np.ascontiguousarray(part)) for part in np.broadcast_arrays(a[:, None], b[None, :])]
                wanted = np.asarray(op(*ours[::-1]) if swapped else op(*ours))
                for i, j in np.ndindex(wanted.shape):
                    got = op(y[j], x[i]) if swapped else op(x[i], y[j])
                    assert got.dtype == wanted.dtype and got.shape == ()
                    assert_same_bits(np.asarray(got), wanted[i, j])
    for number in (2, 0.5, 1j, 2 + 3j, True):
        for op in (operator.add, operator.mul, operator.truediv, operator.eq):
            for wanted, got in (
                (op(x, number), [op(e, number) for e in x]),
                (op(number, x), [op(number, e) for e in x]),
            ):
                assert all(e.dtype == wanted.dtype for e in got)
                assert_same_bits(np.asarray(got), np.asarray(wanted))
    for e, scalar in zip(x, a, strict=True):
        if scalar == scalar:
            assert complex(e) == complex(scalar) and bool(e) == bool(scalar) and hash(complex(e)) == hash(e)
        assert_same_bits(np.asarray(e.real), scalar.real)
        assert_same_bits(np.asarray(e.imag), scalar.imag)
        assert_same_bits(np.asarray(-e), -scalar)
        assert_same_bits(np.asarray(abs(e)), np.asarray(abs(xp.asarray([scalar])))[0])
        assert_same_bits(np.asarray(e**2), np.asarray(xp.asarray([scalar]) ** 2)[0])
        with pytest.raises(TypeError):
            float(e)
        with pytest.raises(TypeError):
            int(e)
        with pytest.raises(AttributeError):
            e.real = 2.0
    x[0], x[1], x[-1] = x[1], 2, y[0]
    a[0], a[1], a[-1] = a[1], 2, np.asarray(y[0])
    assert_same_bits(np.asarray(x), a)
    target = xp.zeros(2)
    with pytest.warns(np.exceptions.ComplexWarning):
        target[0] = x[1]
    assert target.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_functions_of_one(dtype, xp, carried):
    """As arrays of one element have them; what is made of an element is one."""
    host = values(dtype)
    x = xp.asarray(host)
    for name in ("negative", "positive", "abs", "bitwise_invert", "square", "sqrt", "exp", "floor", "isnan", "sign"):
        function = getattr(xp, name)
        for i in range(len(host)):
            try:
                wanted = np.asarray(function(x[i : i + 1]))[0]
            except TypeError:
                with pytest.raises(TypeError):
                    function(x[i])
                continue
            got = function(x[i])
            assert got.dtype == wanted.dtype and got.shape == ()
            assert_same_bits(np.asarray(got), wanted)
    for i in range(len(host)):
        scalar = host[i]
        assert bool(x[i]) == bool(scalar) and (scalar != scalar or hash(x[i]) == hash(scalar.item()))
        assert {x[i]: 1}.get(scalar.item(), 1 if scalar != scalar else 0) == 1
        assert repr(float(x[i])) == repr(float(scalar))
        if dtype.kind in "iu":
            assert int(x[i]) == int(scalar) and operator.index(x[i]) == operator.index(scalar)
        elif dtype.kind == "b":
            with pytest.raises(TypeError):
                operator.index(x[i])
        elif math.isfinite(scalar):
            assert int(x[i]) == int(scalar)
        else:
            with pytest.raises((OverflowError, ValueError)):
                int(x[i])


@pytest.mark.parametrize("target", ALL, ids=str)
def test_assigned_across_dtypes(target, xp, carried):
    """As NumPy casts what it is given: elements, its scalars and Python's."""
    for source in ALL:
        a = few(source)
        if source.kind == "f" and target.kind != "f":
            a = np.array([1.5, 7.0, 0.0], source)  # what has no integer is up to the processor
        y = xp.asarray(a)
        for i in range(len(a)):
            for given in (y[i], a[i]):
                host = np.zeros((2, 3), target)
                x = xp.asarray(host)
                try:
                    with np.errstate(all="ignore"):
                        host[1, -1] = a[i]
                except OverflowError:
                    with pytest.raises(OverflowError):
                        x[1, -1] = given
                else:
                    x[1, -1] = given
                assert_same_bits(np.asarray(x), host)
    for number in (1, 0, True, 100, 1.5, 1e300, 2**24 + 1, 2**53 + 1, -1):
        host, x = np.zeros(2, target), xp.zeros(2, dtype=target)
        try:
            with np.errstate(all="ignore"):
                host[1] = number
        except OverflowError:
            with pytest.raises(OverflowError):
                x[1] = number
            continue
        if target.kind in "iu" and number == 1e300:
            continue
        x[1] = number
        assert_same_bits(np.asarray(x), host)


def test_rows_are_views(xp):
    host = np.arange(24.0).reshape(2, 3, 4)
    x = xp.asarray(host)
    for i in (0, 1, -1, -2):
        assert x[i].shape == (3, 4) and x[i].tolist() == host[i].tolist()
        assert [float(row[2]) for row in x[i]] == host[i][:, 2].tolist()
    row = x[1][2]
    row[0] = -1.0
    x[1, 2, 1] = -2.0
    assert x[1, 2].tolist() == [-1.0, -2.0, 22.0, 23.0] == row.tolist()
    for bad in (2, -3, 2**70):
        with pytest.raises(IndexError):
            x[bad]
    pending = x * 2
    x[0][1][2] = 100.0
    assert float(pending[0, 1, 2]) == 12.0 and float(x[0, 1, 2]) == 100.0
    empty = xp.zeros((2, 0, 3))
    assert empty[1].shape == (0, 3) and len(empty[1]) == 0
    assert xp.zeros((0, 3)).tolist() == []
    with pytest.raises(IndexError):
        xp.zeros((0, 3))[0]


class Bound:
    """An index that does something when it is asked for."""

    def __init__(self, value, action=None):
        self.value, self.action = value, action

    def __index__(self):
        if self.action:
            self.action()
        return self.value


def test_slices_are_views(xp, rng):
    for shape in (0,), (1,), (5,), (4, 3), (3, 0), (2, 3, 4):
        host = rng.standard_normal(shape)
        x = xp.asarray(host)
        bounds = (None, 0, 1, 2, -1, -9, 9, 2**70, -(2**70), np.int64(1), Bound(1), xp.asarray([1, 2])[0])
        for start in bounds:
            for stop in bounds:
                wanted = host[slice(*(int(b) if b is not None else None for b in (start, stop)))]
                got = x[start:stop]
                assert got.shape == wanted.shape and got.tolist() == wanted.tolist()
        view = x[1:]
        view[...] = 7.0
        host[1:] = 7.0
        assert x.tolist() == host.tolist()
    for wrong in ("a", 1.5, []):
        with pytest.raises(TypeError):
            x[wrong:]
    with pytest.raises(ValueError):
        x[::0]
    with pytest.raises((IndexError, TypeError)):
        xp.asarray(1.0)[1:]
    x = xp.asarray([1.0, 2.0, 3.0])
    assert x[: Bound(2, lambda: x.__setitem__(0, 9.0))].tolist() == [9.0, 2.0]

    def fold():
        x.shape = (3, 1)

    # of the shape before or after, but of one of them
    assert x[: Bound(2, fold)].tolist() in ([9.0, 2.0], [[9.0], [2.0]])


def test_with_numbers_in_memory_and_where_memory_is_shared(xp):
    x = xp.asarray([1.0, 2.0, 4.0])
    total = xp.sum(x)
    for _ in range(2):
        assert float(total + x[1]) == 9.0 and float(x[1] - total) == -5.0 and float(total * 2) == 14.0
        assert (x[0] < total) and x[2] > x[0]
        seen = np.from_dlpack(x) if x.device.backend == "cpu" else None  # from here on others may write
    if seen is not None:
        seen[0] = 3.0
        assert float(x[0]) == 3.0 and float(x[0] + x[1]) == 5.0 and float(-x[0]) == -3.0 and float(xp.sqrt(x[2])) == 2.0
        x[1] = 7.0
        assert seen.tolist() == [3.0, 7.0, 4.0]


def test_errors_are_of_the_python_methods(xp):
    x = xp.asarray([1.0, 2.0])
    for use in (
        lambda: x["a"],
        lambda: x[1.0],
        lambda: x[0, 0],
        lambda: x[2],
        lambda: x.__setitem__(x, 1, 2),
        lambda: x.__setitem__(0),
        lambda: operator.setitem(x, 5, 1.0),
        lambda: operator.setitem(x, 0, "text"),
        lambda: x[0] + "text",
        lambda: x[0] & 1,
        lambda: operator.index(x[0]),
        lambda: float(x),
        lambda: bool(x),
    ):
        with pytest.raises((TypeError, IndexError, ValueError)):
            use()
    assert x.tolist() == [1.0, 2.0]


def test_references_of_elements_are_counted(carried, xp):
    x, matrix, n = xp.asarray([1.0, 2.5, 3.0]), xp.asarray([[1.0, 2.0]]), xp.asarray([1, 2])
    xp.realize(x + 1)
    tracked = [x.args, x.keep, x.dims, x.keep[0], matrix.dims, matrix.keep, x.sig, x.sig.element, n.sig.element]

    def use():
        total = 0.0
        for i in range(300):
            total += x[i % 3] * matrix[0][1] - matrix[0, n[0]] + n[1]
            total -= -(abs(x[n[0]]) ** 2)
            x[n[0]] = matrix[0, 1]
            assert x[1:3].shape == (2,) and matrix[n[0] - 1 :][0].shape == (2,)
            assert x[0] < x[2] and {x[0]: 1}[1.0] and [1, 2, 3][n[1]] and float(n[0])
            for wrong in (lambda: x[3], lambda: x[0] + "text", lambda: operator.setitem(x, 0, "text")):
                with pytest.raises((IndexError, TypeError, ValueError)):
                    wrong()

    use()
    collect()
    before = [getrefcount(item) for item in tracked]
    use()
    collect()
    assert all(abs(getrefcount(item) - count) < 20 for item, count in zip(tracked, before, strict=True))


def test_functions_of_numbers_that_are_no_arrays(xp):
    """After the native code is there, which the first kernel brings."""
    xp.realize(xp.ones(3) + 1)
    for number in (2.25, 4, np.float64(2.25), np.float32(2.25), np.int64(4), 2 + 1j, np.complex128(2j)):
        for name in ("abs", "negative", "square", "sqrt", "exp"):
            assert_same_bits(np.asarray(getattr(xp, name)(number)), np.asarray(getattr(xp, name)(xp.asarray(number))))


def test_elements_lie_in_memory_without_a_kernel(xp, carried):
    x, filled = xp.asarray([1.5, 2.5]), xp.zeros(3)
    filled[...] = x[1]  # of which one is made, to fill arrays
    xp.realize(filled)
    for number in (x[1], xp.sum(x), x[0] * x[1]):
        before = xp.counters()
        assert float(xp.realize(number)) == number.item()
        assert (xp.counters() - before)["launches"] == 0
        assert np.from_dlpack(number)[()] == number.item()


def test_sums_are_values(xp, carried):
    """`+=` on one makes a new one, as on NumPy's scalars; so do minima, products of vectors and the like."""
    x = xp.asarray([3.0, 1.0, 2.0])
    for number in (xp.sum(x), xp.min(x), xp.mean(x), x @ x, xp.vecdot(x, x), xp.linalg.vector_norm(x), xp.argmax(x)):
        before, same = number.item(), number
        number += 1
        assert number.item() == before + 1 and same.item() == before


def test_native_code_comes_without_a_kernel(device):
    """A loop over elements alone fetches it after a while."""
    program = """
import nbx_array as xp
from nbx_array._array import Array, MANY_STEPS
from nbx_array.backend import objects
xp.set_device("cpu")
x, total = xp.asarray([1.0, 2.0]), 0.0
for i in range(MANY_STEPS):
    total += x[i % 2]
assert float(total) == 1.5 * MANY_STEPS
assert not objects.AVAILABLE or type(vars(Array)["__getitem__"]).__name__ == "method_descriptor"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_methods_of_elements_can_be_inspected(xp):
    xp.realize(xp.ones(3) + 1)
    for name, parameters in (("__getitem__", ["self", "key"]), ("__setitem__", ["self", "key", "value"])):
        assert list(inspect.signature(getattr(type(xp.ones(1)), name)).parameters) == parameters


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


STORED = [np.dtype(t) for t in ("?", "i1", "i8", "u4", "f2", "f4", "f8", "c8", "c16")]


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_written_by_integers(dtype, xp, rng):
    """One element of contiguous and other arrays, at whatever address: of elements, pending and not, and numbers."""
    host = rng.integers(0, 2, (5, 7)).astype(dtype)
    vector = rng.integers(0, 2, 7).astype(dtype)
    whole, v = xp.asarray(host), xp.asarray(vector)
    host = host.copy()
    for select in (lambda a: a, lambda a: a[1:], lambda a: a[:, ::-2], lambda a: a.T):
        x, y = select(whole), select(host)
        for i in range(min(y.shape)):
            x[i, -1 - i], y[i, -1 - i] = v[i], vector[i]
            x[-1, i], y[-1, i] = x[i, 0], y[i, 0]  # of the array itself
            x[i, 1], y[i, 1] = v[i] * v[-1], vector[i] * vector[-1]
            x[np.int64(i), 0], y[i, 0] = True, True
        x[0, 0], y[0, 0] = np.float64(1), 1
        x[0, 1], y[0, 1] = xp.sum(v[:0]), 0
        x[1, 1], y[1, 1] = xp.asarray(1), 1
        if dtype.kind != "b":
            x[1, 0] += v[2]
            y[1, 0] += vector[2]
        assert_same_bits(np.asarray(xp.asnumpy(whole)), host)
    for place in ((5, 0), (0, -8), (0, 0, 0)):
        with pytest.raises(IndexError):
            whole[place] = 0
    with pytest.raises(ValueError):
        whole[0, 0] = v
    assert_same_bits(np.asarray(xp.asnumpy(whole)), host)


def test_read_elements_keep_their_value(xp):
    x = xp.asarray([1.0, 2.0, 4.0], dtype=xp.float32)
    e, f, large = x[1], x[-1], xp.isnan(xp.max(x))
    assert float(e) == float(e) == 2.0 and not large and not large
    x[1], x[2] = 9.0, xp.nan
    assert float(e) == 2.0 and float(f) == 4.0 and float(x[1]) == 9.0 and float(e + f) == 6.0 and not large
    pending = xp.exp(x[0] * 0)
    again = pending[()]
    again += 1
    assert float(pending) == 1.0 and float(again) == 2.0 and float(pending[()]) == 1.0
    e += 1
    assert float(e) == 3.0 and float(x[1]) == 9.0
    z = xp.asarray([1 + 2j, 3])[0]
    assert complex(z) == complex(z) == z.item() == 1 + 2j


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_arrays_of_one_number(dtype, xp):
    """What a function makes of Python's and NumPy's numbers and of 0-d arrays, rounded as NumPy rounds it."""
    for number in (
        0,
        True,
        1,
        0.1,
        -2.5,
        3e38,
        1 / 3 + 2j,
        np.float64(0.1),
        np.array(0.1),
        np.array(7, ">i4"),
        np.int8(-3),
    ):
        number_kind = np.asarray(number).dtype.kind
        if "biufc".index(number_kind.replace("u", "i")) > "biufc".index(dtype.kind.replace("u", "i")):
            continue
        if dtype.kind == "u" and number < 0:
            continue
        with np.errstate(all="ignore"):
            wanted = np.asarray(number, dtype)
        x = xp.asarray(number, dtype=dtype)
        same = x
        assert x.shape == () and x.dtype == dtype
        assert_same_bits(np.asarray(xp.asnumpy(x)), wanted)
        assert x.item() == wanted.item() and bool(x) == bool(wanted)
        assert_same_bits(np.asarray(xp.asnumpy(xp.stack((x, x)))), np.stack((wanted, wanted)))
        if dtype.kind in "fc":
            x += 1
            assert_same_bits(np.asarray(xp.asnumpy(same)), np.asarray(wanted + dtype.type(1)))
        x[...] = 1
        assert same.item() == 1
    with pytest.raises(TypeError, match="asarray"):
        xp.asarray("a")
    with pytest.raises(OverflowError, match="asarray"):
        xp.asarray(300, dtype=xp.int8)
    if dtype.kind not in "bc":
        for wrong in (1 + 2j, [1j]):
            with pytest.raises(TypeError, match="asarray"):
                xp.asarray(wrong, dtype=dtype)
