"""The array object: attributes, conversions to Python and NumPy, printing, pickling, exchange with other libraries."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import weakref

import numpy as np
import pytest
from table import BFLOAT16, DTYPES, assert_same_bits, kind, random_values


@pytest.fixture
def layouts(xp, rng):
    """Arrays of one shape whose memory differs, each with NumPy's."""
    a = rng.normal(size=(6, 8))
    x = xp.asarray(a)
    return {
        "whole": (x, a),
        "stepped": (x[::2, ::3], a[::2, ::3]),
        "transposed": (x.T, a.T),
        "reversed": (x[::-1, ::-2], a[::-1, ::-2]),
        "broadcast": (xp.broadcast_to(x[0], (3, 8)), np.broadcast_to(a[0], (3, 8))),
        "empty": (x[3:3], a[3:3]),
        "pending": (x + 1, a + 1),
        "scalar": (x[1, 2], a[1, 2]),
    }


LAYOUTS = ["whole", "stepped", "transposed", "reversed", "broadcast", "empty", "pending", "scalar"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_its_logical_elements(layout, layouts, xp, device):
    """To NumPy, bytes, pickles, lists and DLPack, however the memory lies."""
    x, a = layouts[layout]
    a = np.asarray(a)
    assert (x.shape, x.ndim, x.size, x.nbytes) == (a.shape, a.ndim, a.size, a.size * 8)
    assert_same_bits(xp.asnumpy(x), a)
    assert xp.asnumpy(x).flags.owndata  # as who resizes it wants
    assert_same_bits(np.asarray(x), a)
    assert np.asarray(x).tobytes() == a.tobytes()
    assert x.tolist() == a.tolist()
    assert_same_bits(xp.asnumpy(pickle.loads(pickle.dumps(x))), a)
    assert_same_bits(np.from_dlpack(x, device="cpu", copy=True), a)
    if device.backend == "cpu":
        assert_same_bits(np.from_dlpack(x), a)
    assert_same_bits(xp.asnumpy(xp.from_dlpack(x, copy=True)), a)
    if a.size:
        assert str(x) == str(a)


@pytest.mark.parametrize("name", DTYPES)
def test_scalars(name, xp):
    dtype = DTYPES[name]
    for number in (0, 1, 3):
        a = np.array(number).astype(dtype)
        x = xp.asarray(a)
        assert bool(x) == bool(a)
        assert x.item() == a.item()
        assert type(x.item()) is type(a.item())
        assert complex(x) == complex(a.item())
        assert f"{x}" == str(a)
        if dtype.kind == "c":
            for convert in (int, float):
                with pytest.raises(TypeError, match="complex"):
                    convert(x)
        else:
            assert (int(x), float(x)) == (int(a), float(a))
        if kind(dtype) in "iu":
            assert operator.index(x) == [0, 10, 20, 30][x] // 10 == a
        else:
            with pytest.raises(TypeError, match="index"):
                operator.index(x)
    assert f"{xp.asarray(1.2345):.2f}" == "1.23"


def test_scalars_of_views_and_pending_arrays(xp):
    x = xp.asarray([1.5, 2.5, 3.5])
    assert (float(x[-1]), int(x[1] * 2), complex(x[::-2][1])) == (3.5, 5, 1.5)
    assert xp.asarray([[7]]).item() == 7


def test_truth_of_one_element(xp):
    """As NumPy has it, whatever the number of dimensions; the other conversions take 0-d arrays alone."""
    x = xp.asarray([[0.0, 2.0], [3.0, 0.0]])
    assert [bool(y) for y in (x[:1, :1], x[1:, :1], x[::-1, 1:][:1], x.T[1:, :1], x[0, 1:] > 5)] == [
        *(False, True, False, True, False)
    ]
    for convert in (int, float, complex):
        with pytest.raises(TypeError, match="0-dim"):
            convert(x[:1, 1])


@pytest.mark.parametrize(
    ("error", "convert"),
    [
        (ValueError, bool),
        (TypeError, int),
        (TypeError, float),
        (TypeError, complex),
        (TypeError, operator.index),
        (ValueError, lambda x: x.item()),
        (TypeError, hash),
    ],
)
def test_what_is_no_scalar(error, convert, xp):
    for x in (xp.ones(2), xp.ones((0,)), xp.ones((2, 2))):
        with pytest.raises(error):
            convert(x)


def test_length_iteration_membership(xp):
    x = xp.asarray([[1, 2], [3, 4]])
    assert (len(x), [row.tolist() for row in x]) == (2, [[1, 2], [3, 4]])
    first, _ = x
    first[...] = 9
    assert x.tolist() == [[9, 9], [3, 4]]
    assert (4 in x, 5 in x) == (True, False)
    assert [int(v) for v in reversed(xp.arange(3))] == [2, 1, 0]
    for act in (len, iter):
        with pytest.raises(TypeError, match=r"unsized|0-d"):
            act(xp.asarray(1))


def test_repr(xp, device):
    place = f"device='{device}'"
    assert repr(xp.asarray([1.5, 2])) == f"Array([1.5, 2. ], {place})"
    assert repr(xp.asarray([[1, 2], [3, 4]])) == f"Array([[1, 2],\n       [3, 4]], {place})"
    assert repr(xp.asarray(1, dtype=xp.int8)) == f"Array(1, dtype=int8, {place})"
    assert repr(xp.ones(2, dtype=xp.bfloat16) * 2) == f"Array([2, 2], dtype=bfloat16, {place})"
    assert repr(xp.zeros((0, 3))) == f"Array([], shape=(0, 3), dtype=float64, {place})"
    assert "..." in repr(xp.zeros(100_000))


def test_copies(xp):
    x = xp.asarray([1, 2])
    pending = x + 1
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x, protocol=2))):
        y[0] = 9
        assert (x.tolist(), y.tolist(), y.device) == ([1, 2], [9, 2], x.device)
    assert copy.deepcopy(pending).tolist() == [2, 3]


def test_weak_references_and_attributes(xp):
    x = xp.ones(2)
    assert weakref.ref(x)() is x
    with pytest.raises(AttributeError):
        x.no_such_attribute = 1


def test_shapes_assigned(xp):
    """In place, as NumPy's, where the strides allow it; else nothing changes."""
    x = xp.arange(12) + 0
    view = x[2:8]
    x.shape = (3, -1)
    assert (x.shape, x.tolist()) == ((3, 4), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    x[0, 2] = -1
    assert view.tolist() == [-1, 3, 4, 5, 6, 7]
    y = x[:, ::2]
    y.shape = (3, 2, 1)
    assert (y + 1).tolist() == [[[1], [0]], [[5], [7]], [[9], [11]]]
    for error, shape in (
        (ValueError, (5, 2)),
        (ValueError, (-1, -1)),
        (TypeError, "12"),
        (TypeError, (2, 1.5, 4)),
        (TypeError, (True, 12)),
        (AttributeError, (12,)),
    ):
        z = xp.asarray(np.arange(12).reshape(3, 4)).T if error is AttributeError else xp.zeros(12)
        before = z.shape
        with pytest.raises(error, match="shape"):
            z.shape = shape
        assert z.shape == before == np.asarray(z).shape
    for name in ("dtype", "ndim", "size", "device", "T"):
        with pytest.raises(AttributeError):
            setattr(x, name, getattr(x, name))


def test_rounded_numbers(xp):
    """As NumPy's scalars; of arrays with dimensions NumPy has no such method."""
    for value in (2.5, -3.5, 2.567, np.float32(2.567), 7, np.int8(127)):
        x, scalar = xp.asarray(value), np.asarray(value)[()]
        assert (round(x), type(round(x))) == (round(scalar), int)
        assert (math.trunc(x), type(math.trunc(x))) == (int(scalar), int)
        assert_same_bits(xp.asnumpy(round(x, 1)), np.asarray(round(scalar, 1)))
    for act in (
        *(lambda: round(xp.ones(2)), lambda: round(xp.asarray(1j))),
        *(lambda: math.trunc(xp.ones(2)), lambda: math.trunc(xp.asarray(1j))),
    ):
        with pytest.raises(TypeError):
            act()


def test_to_device(xp, device):
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert x.to_device(device) is x
    assert x.to_device(str(device)) is x
    there = x.T.to_device("cpu")
    assert (str(there.device), there.tolist()) == ("cpu", [[1, 3], [2, 4]])
    assert there.to_device(device).device == device
    assert (x.device, str(x.device)) == (device, repr(x.device))
    with pytest.raises(ValueError, match="word"):
        x.to_device("word")


@pytest.mark.parametrize("name", DTYPES)
def test_parts_are_views(name, xp, rng):
    a = random_values(DTYPES[name], 12, rng).reshape(3, 4)
    x = xp.asarray(a)
    view = x[::-1, ::2]
    assert_same_bits(xp.asnumpy(view.real), a[::-1, ::2].real)
    if a.dtype.kind == "c":
        assert_same_bits(xp.asnumpy(view.imag), a[::-1, ::2].imag)
        view.real[...] = 1
        view.imag[0] = 2
        a[::-1, ::2].real[...] = 1
        a[::-1, ::2].imag[0] = 2
        assert_same_bits(xp.asnumpy(x), a)
        assert_same_bits(xp.asnumpy((x + 1).imag), a.imag)
    else:
        assert_same_bits(xp.asnumpy(x.imag), np.zeros((3, 4), a.dtype))


# ------------------------------------------------------------------------------------------------------------- NumPy


def test_numpy_conversions(xp, device):
    x = xp.asarray([1.5, 2.5])
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    a = np.array(x)
    a[0] = 9
    assert x.tolist() == [1.5, 2.5]
    if device.backend == "cpu":
        for seen in (np.asarray(x, copy=False), np.asarray(x)):
            seen[0] += 7
        assert x.tolist() == [15.5, 2.5]
        with pytest.raises(ValueError, match="float32"):
            np.asarray(x, dtype=np.float32, copy=False)
    else:
        np.asarray(x)[0] = 3
        assert x.tolist() == [1.5, 2.5]
        with pytest.raises(ValueError, match="without a copy"):
            np.asarray(x, copy=False)
    assert np.asarray([xp.asarray(1), xp.asarray(2)]).tolist() == [1, 2]
    for shares in (np.may_share_memory, np.shares_memory):
        assert shares(np.asarray(x), x[1:]) == (device.backend == "cpu")
        assert not shares(x, np.ones(2))


def test_numpy_testing(xp):
    x = xp.asarray([1.0, 2.0, np.nan])
    np.testing.assert_array_equal(x, x)
    np.testing.assert_array_equal(x, np.array([1, 2, np.nan]))
    np.testing.assert_allclose(x + 1e-9, x)
    np.testing.assert_array_less(x[:2], x[:2] + 1)
    np.testing.assert_array_almost_equal(x, x + 1e-8)
    np.testing.assert_allclose(np.ones(2), np.array([1.0, 1.1]), atol=xp.asarray(0.2))  # a number, not data
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(x, x + 1)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(x, x + 1)


def test_numpy_functions_are_ours(xp):
    x = xp.asarray([1.0, 4.0])
    for got, wanted in [
        (np.add(x, 1), [2, 5]),
        (np.exp(x - x), [1, 1]),
        (np.power(x, 2), [1, 16]),
        (np.arctan2(x, x), [np.pi / 4] * 2),
        (np.absolute(-x), [1, 4]),
        (np.float64(2) * x, [2, 8]),
        (np.float64(4) == x, [False, True]),
        (np.float64(2) < x, [False, True]),
        (np.equal(x, 4), [False, True]),
    ]:
        assert type(got) is type(x)
        assert got.tolist() == wanted
    assert np.add(x, 1, out=x) is x
    assert x.tolist() == [2, 5]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of numpy.matrix
@pytest.mark.parametrize(
    "act",
    [
        lambda x, a: x.__array_namespace__().equal(x, a),
        lambda x, a: x.__array_namespace__().add(x, a),
        lambda x, a: x.__array_namespace__().where(x > 0, a, x),
        lambda x, a: x.__array_namespace__().concat([x, a]),
        lambda x, a: x * a.astype(str),
        lambda x, a: x @ a.astype(object),
        lambda x, a: x + np.ma.array(a, mask=[True, False]),
        lambda x, a: x == np.ma.array(a, mask=[True, False]),
        lambda x, a: operator.imul(x, np.ma.array(a)),
        lambda x, a: np.hypot(x, np.ma.array(a)),
        lambda x, a: x * np.matrix(a),
        lambda x, a: np.matrix(a) + x,
        lambda x, a: x @ np.matrix(a).T,
    ],
)
def test_ndarrays_do_not_mix(act, xp):
    """An error that says what to do, and no array half-way between."""
    x, a = xp.asarray([1.0, 2.0]), np.array([3.0, 4.0])
    with pytest.raises(TypeError, match=r"asarray"):
        act(x, a)
    assert (x.tolist(), a.tolist()) == ([1, 2], [3, 4])


@pytest.mark.parametrize(
    "act",
    [
        operator.add,
        operator.sub,
        operator.truediv,
        operator.pow,
        operator.lt,
        operator.matmul,
        operator.iadd,
        lambda x, a: operator.sub(a, x),
        lambda x, a: operator.ge(a, x),
        lambda x, a: operator.matmul(a, x),
        lambda x, a: operator.add(x, np.asarray(7)),
        lambda x, a: operator.mul(x, a[:1].astype(np.float32)),
        lambda x, a: operator.mul(x.astype(np.float32), a),
        lambda x, a: operator.mul(x, a * 1j),
        lambda x, a: operator.mul(x, a.astype(np.int8)[::-1]),
        np.hypot,
        lambda x, a: np.arctan2(a, x),
    ],
)
def test_operators_with_ndarrays(act, xp, device):
    """On the CPU an ndarray is taken for an array of ours; nothing moves unseen from or to a GPU."""
    host, a = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    x = xp.asarray(host)
    if device.backend != "cpu":
        with pytest.raises(TypeError, match="asarray"):
            act(x, a)
        return
    got, wanted = act(x, a), act(host, a)
    assert isinstance(got, xp.Array)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-15 if wanted.dtype.itemsize > 4 else 1e-6)


@pytest.mark.parametrize(
    "act",
    [
        lambda x, a: np.equal(x, a, out=a > 0),
        lambda x, a: np.add(a, a, out=x),
        lambda x, a: np.add(x, x, out=a),
        lambda x, a: np.modf(x, out=(a, a.copy()))[0],
        lambda x, a: operator.iadd(a, x),
        lambda x, a: operator.imul(a[::-1], x),
        lambda x, a: np.add.at(a, [0, 0], x),
        lambda x, a: np.subtract.at(x, [1, 1], a),
        lambda x, a: x.__setitem__(slice(None), a),
        lambda x, a: x.__setitem__(slice(1, None), a[:1].astype(np.int8)),
        lambda x, a: x.__setitem__([1, 0], a),
        lambda x, a: x.__setitem__(x > 1, a[1:]),
    ],
)
def test_writing_with_ndarrays(act, xp, device):
    """On the CPU NumPy writes to its arrays, and they are values of ours; a result is what it was written to."""
    host, a = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    x, b = xp.asarray(host), a.copy()
    if device.backend != "cpu":
        with pytest.raises(TypeError, match="asarray"):
            act(x, a)
        return
    got, wanted = act(x, a), act(host, b)
    assert x.tolist() == host.tolist() and a.tolist() == b.tolist()
    if isinstance(wanted, np.ndarray):
        assert isinstance(got, xp.Array if wanted is host else np.ndarray)
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda special, x: special.erf(x), "erf: SciPy's.*SCIPY_ARRAY_API=1.*nbx_array.special.erf.*asarray"),
        (lambda special, x: special.dawsn(x), "dawsn: SciPy's.*SCIPY_ARRAY_API=1.*asarray"),
        (lambda special, x: np.add.accumulate(x), "use nbx_array.add.accumulate"),
        (lambda special, x: np.add(x, x, where=x > 0), "with where; use nbx_array.add"),
        (lambda special, x: np.frompyfunc(abs, 1, 1)(x), "asarray"),
    ],
)
def test_universal_functions_that_are_not_ours(call, advice, xp):
    import scipy.special

    with pytest.raises(TypeError, match=advice) as raised:
        call(scipy.special, xp.ones(1000))
    assert len(str(raised.value)) < 200


def test_other_libraries_arrays_in_errors(xp):
    """By their type and shape, not by all that they hold."""

    class Series:
        shape = (1000,)

        def __array__(self, dtype=None, copy=None):
            return np.ones(self.shape)

    for call in (xp.exp, lambda s: xp.add(xp.ones(3), s), xp.special.erf):
        with pytest.raises(TypeError, match=r"Series of shape \(1000,\) is no array.*asarray"):
            call(Series())


def test_negative_powers_of_ndarrays(xp, device):
    """They are looked at where NumPy would."""
    x, a = xp.asarray([1, 2]), np.array([2, -1])
    for act in (operator.pow, operator.ipow, np.power):
        with pytest.raises(ValueError if device.backend == "cpu" or act is not np.power else TypeError):
            act(x, a)
    assert x.tolist() == [1, 2]
    if device.backend == "cpu":
        assert (xp.asarray([2], dtype=xp.uint64) ** a[1:]).tolist() == [0.5]


def test_equality_with_ndarrays(xp, device):
    """An answer on the CPU, where nothing has to be moved; the words are those of every other operator on a GPU."""
    x, a = xp.asarray([[1.0, 2.0], [np.nan, 4.0]]), np.array([1.0, 4.0])
    acts = [lambda a: x == a, lambda a: a == x, lambda a: np.equal(x, a)]
    opposites = [lambda a: x != a, lambda a: a != x, lambda a: np.not_equal(a, x)]
    for act, opposite in zip(acts, opposites, strict=True):
        for other in (a, a.astype(">f4"), a.astype(np.uint8)):
            if device.backend != "cpu":
                with pytest.raises(TypeError, match="asarray"):
                    act(other)
                continue
            equal, different = act(other), opposite(other)
            assert isinstance(equal, xp.Array)
            assert isinstance(different, xp.Array)
            assert equal.tolist() == [[True, False], [False, True]]
            assert different.tolist() == [[False, True], [True, False]]
        with pytest.raises(TypeError, match="asarray"):
            act(np.array(["1", "4"]))
        if device.backend == "cpu":
            with pytest.raises(ValueError, match="equal"):
                act(np.ones(3))


@pytest.mark.parametrize(
    "act", [np.add.reduce, np.add.accumulate, np.bitwise_count, lambda x: np.add(x, x, where=[True])]
)
def test_numpy_functions_that_are_not_ours(act, xp):
    with pytest.raises(TypeError):
        act(xp.ones(3))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "all", "any"])
def test_reductions_of_numpy_name_ours(name, xp):
    method = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}.get(name)
    method = method or {"all": np.logical_and, "any": np.logical_or}[name]
    with pytest.raises(TypeError, match=rf"reduce.*nbx_array.{name}$"):
        method.reduce(xp.ones(3))


DISPATCHED = {
    "sum": lambda x: np.sum(x),
    "sum along an axis by position": lambda x: np.sum(x, 0),
    "keepdims": lambda x: np.max(x, axis=1, keepdims=True),
    "ddof": lambda x: np.var(x, 0, ddof=1),
    "correction": lambda x: np.std(x, correction=0.5),
    "bounds": lambda x: np.clip(x, 2, 3),
    "older names of bounds": lambda x: np.clip(x, a_min=2, a_max=None),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "stack": lambda x: np.stack([x, x], 1),
    "transpose": lambda x: np.transpose(x),
    "axes": lambda x: np.transpose(x, (0, 1)),
    "reshape": lambda x: np.reshape(x, (-1,)),
    "where": lambda x: np.where(x > 1, x, 0),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1], indexing="ij")[1],
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0])[1],
    "zeros_like": lambda x: np.zeros_like(x),
    "diff": lambda x: np.diff(x, 1, 0),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1),
    "sort": lambda x: np.sort(x, axis=0),
    "argmax": lambda x: np.argmax(x, 1),
    "tensordot": lambda x: np.tensordot(x, x, 1),
    "round": lambda x: np.round(x / 3),
    "real": lambda x: np.real(x),
    "solve": lambda x: np.linalg.solve(x, x),
    "svd": lambda x: np.linalg.svd(x)[1],
    "vector_norm": lambda x: np.linalg.vector_norm(x, ord=1),
    "fft": lambda x: np.fft.fft(x, 4, 0),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2)), "constant", constant_values=3),
    "median": lambda x: np.median(x, axis=0),
    "where of a sum": lambda x: np.sum(x, where=x > 0),
    "decimals": lambda x: np.round(x, 1),
    "order": lambda x: np.reshape(x, 4, order="F"),
    "cond": lambda x: np.linalg.cond(x),
    "vstack": lambda x: np.vstack((x, x)),
}


@pytest.mark.parametrize("name", DISPATCHED)
def test_functions_of_numpy_are_ours(name, xp):
    """With NumPy's arguments, by position and by its names of them."""
    a = np.array([[1.5, -2.0], [3.0, 4.0]])
    got, wanted = DISPATCHED[name](xp.asarray(a)), DISPATCHED[name](a)
    assert isinstance(got, xp.Array)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(xp.asnumpy(got), wanted, rtol=1e-14, atol=1e-14)


def test_functions_of_numpy_that_ask(xp):
    x = xp.asarray([[1.0, 2.0, 3.0]])
    assert (np.shape(x), np.ndim(x), np.size(x), np.iscomplexobj(x), np.isrealobj(x)) == ((1, 3), 2, 3, False, True)
    assert np.result_type(x, np.float32) == np.float64


def test_functions_of_numpy_that_are_not_ours(xp):
    """No silent way by the host."""
    x = xp.ones((2, 2))
    for act, words in (
        (lambda: np.is_busday(x), "is_busday: nbx_array has no numpy.is_busday; numpy.asarray"),
        (lambda: np.linalg.tensorinv(x), "tensorinv: .*numpy.asarray"),
        (lambda: np.percentile(x, 1, weights=x), "percentile: .*weights"),
    ):
        with pytest.raises(TypeError, match=words):
            act()


AMONG_NDARRAYS = {
    "average": lambda x, a: np.average(a, weights=x),
    "average of ours": lambda x, a: np.average(x, axis=0, weights=a[:, 0]),
    "concatenate": lambda x, a: np.concatenate([x, a]),
    "solve": lambda x, a: np.linalg.solve(a, x),
    "allclose": lambda x, a: np.allclose(x, a),
    "tolerance": lambda x, a: np.isclose(a, a + 1, atol=x),
    "select": lambda x, a: np.select([a > 2], [x], a),
    "not ours at all": lambda x, a: np.searchsorted(a[0], x, sorter=np.arange(2)),
    "block": lambda x, a: np.block([[x, a], [a, x]]),
}


@pytest.mark.parametrize("name", AMONG_NDARRAYS)
def test_functions_of_numpy_among_ndarrays(name, xp, device):
    """Who calls NumPy with an ndarray has NumPy's answer on the CPU, and nothing moves unseen from a GPU."""
    act, b, a = AMONG_NDARRAYS[name], np.array([[1.5, 2.0], [3.0, 4.0]]), np.array([[3.0, 1.0], [-1.0, 2.0]])
    if device.backend != "cpu":
        with pytest.raises(TypeError, match=r"^\w+: .*nbx_array.asarray"):
            act(xp.asarray(b), a)
        return
    got, wanted = act(xp.asarray(b), a), act(b, a)
    assert type(got) is type(wanted)
    np.testing.assert_array_equal(got, wanted)


def test_functions_of_numpy_that_write_among_ndarrays(xp, device):
    """They write to our memory, which readers before do not see, and `out` is what was given."""
    if device.backend != "cpu":
        pytest.skip("NumPy sees no memory but the host's")
    x = xp.asarray([1.0, 2.0, 3.0])
    before = x + 0.5
    np.copyto(x, np.array([4.0, 5.0, 6.0]))
    np.put(x, np.array([0]), 7)
    assert x.tolist() == [7, 5, 6]
    assert before.tolist() == [1.5, 2.5, 3.5]
    assert np.clip(np.array([1, 9, 9]), 2, 8, out=x) is x
    assert np.cumsum(np.array([1, 2, 3]), out=x) is x
    assert (x * 2).tolist() == [2, 6, 12]


@pytest.mark.parametrize(
    ("name", "ours"),
    [("resize", "resize"), ("exp", "exp"), ("concatenate", "concat"), ("median", "median")],
)
def test_functions_are_named_where_a_method_is_looked_for(name, ours, xp):
    with pytest.raises(AttributeError, match=rf"'Array'.*'{name}'; there is the function nbx_array.{ours}$") as caught:
        getattr(xp.ones(3), name)
    assert caught.value.name == name


@pytest.mark.parametrize("name", ["no_such_name", "pi", "float32", "fft", "hint", "_array", "__array_priority__"])
def test_other_attributes_are_not(name, xp):
    with pytest.raises(AttributeError, match=rf"'Array' object has no attribute '{name}'$"):
        getattr(xp.ones(3), name)


# ------------------------------------------------------------------------------------------------------------ exchange


def test_dlpack_of_a_pending_array(xp):
    x = xp.asarray([1, 2]) + 1
    assert xp.asnumpy(xp.from_dlpack(x)).tolist() == [2, 3]
    assert x.__dlpack_device__()[0] in (1, 2, 10)


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype != BFLOAT16])
def test_dlpack_of_every_dtype(name, xp, rng):
    a = random_values(DTYPES[name], 12, rng).reshape(3, 4)
    x = xp.asarray(a)
    for view, wanted in ((x, a), (x.T, a.T), (x[::2, ::-1], a[::2, ::-1]), (x[0, 0], a[0, 0])):
        copied = np.from_dlpack(view, device="cpu", copy=True)
        assert_same_bits(copied, np.asarray(wanted))
        other = xp.from_dlpack(view, copy=True)
        other[...] = 0
    assert_same_bits(xp.asnumpy(x), a)


def test_dlpack_refuses(xp, device):
    x = xp.ones(2)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(99, 0))
    with pytest.raises(AttributeError, match="__dlpack__"):
        xp.from_dlpack([1, 2])
    if device.backend == "cpu":
        with pytest.raises(ValueError, match="stream"):
            x.__dlpack__(stream=5)


def test_cuda_array_interface(xp, device):
    x = xp.asarray([[1.0, 2.0, 3.0]])[:, ::2]
    if device.backend != "cuda":
        assert not hasattr(x, "__cuda_array_interface__")
        with pytest.raises(AttributeError, match=str(device)):
            x.__cuda_array_interface__  # noqa: B018
        return
    interface = x.__cuda_array_interface__
    assert (interface["shape"], interface["strides"], interface["typestr"]) == ((1, 2), (24, 16), "<f8")
    assert (interface["version"], interface["data"][1]) == (3, False)
