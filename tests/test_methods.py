"""NumPy's methods of arrays, against NumPy's, and other views of the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from table import assert_same_bits

from nbx_array._methods import Methods

DATA = np.array([[3, -1, 4, -2], [5, -9, 2, 6], [7, 1, -5, 8]])

CALLS = {
    "all": [{}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}],
    "any": [{}, {"axis": -1}],
    "argmax": [{}, {"axis": 1}, {"axis": 0, "keepdims": True}],
    "argmin": [{}, {"axis": 0}],
    "argsort": [{}, {"axis": 0}, {"axis": None}],
    "astype": [{"dtype": np.float32}, {"dtype": np.int64, "copy": False}, {"dtype": np.complex64}],
    "clip": [{"min": -1, "max": 4}, {"min": 0}, {"max": 0}],
    "conj": [{}],
    "conjugate": [{}],
    "copy": [{}],
    "cumprod": [{}, {"axis": 0}, {"axis": 1, "dtype": np.float32}],
    "cumsum": [{}, {"axis": 0}, {"axis": -1, "dtype": np.float32}],
    "diagonal": [{}, {"offset": 1}, {"offset": -1, "axis1": 1, "axis2": 0}],
    "flatten": [{}],
    "max": [{}, {"axis": 0}, {"axis": 1, "keepdims": True}],
    "mean": [{}, {"axis": 0}, {"axis": (1,), "keepdims": True}],
    "min": [{}, {"axis": 0}],
    "nonzero": [{}],
    "prod": [{}, {"axis": 0}, {"axis": 1, "dtype": np.int64}],
    "ravel": [{}],
    "repeat": [{"repeats": 2}, {"repeats": 2, "axis": 0}],
    "reshape": [{"shape": (2, -1)}],
    "searchsorted": [],
    "squeeze": [{}],
    "std": [{}, {"axis": 0, "ddof": 1}],
    "strides": [],
    "sum": [{}, {"axis": 0}, {"axis": 1, "dtype": np.float32, "keepdims": True}],
    "swapaxes": [{"axis1": 0, "axis2": -1}, {"axis1": 1, "axis2": 1}],
    "take": [{"indices": [0, -1, 3]}, {"indices": [[1], [0]], "axis": 1}, {"indices": 2, "axis": 0}],
    "tobytes": [{}],
    "trace": [{}, {"offset": 1, "axis1": 1, "axis2": 0}],
    "transpose": [{}],
    "var": [{}, {"axis": 1, "keepdims": True}, {"ddof": 1.0}],
    "view": [{}, {"dtype": np.uint64}, {"dtype": np.int32}, {"dtype": np.complex128}],
    "fill": [],
    "sort": [],
}
"""Keywords that each method is called with; those with none have a test below."""
POSITIONAL = {"swapaxes", "repeat", "take", "reshape"}


def test_every_method_has_calls():
    """Here, or as `a.name` in the table of NumPy's names."""
    methods = {name for name in vars(Methods) if not name.startswith("_")}
    elsewhere = (Path(__file__).parent / "test_numpy_names.py").read_text()
    assert set(CALLS) <= methods
    assert not {name for name in methods - set(CALLS) if f".{name}" not in elsewhere}


def agree(got, wanted):
    if isinstance(wanted, (bytes, tuple)):
        assert type(got) is type(wanted) and len(got) == len(wanted)
    if isinstance(wanted, tuple):
        for ours, theirs in zip(got, wanted, strict=True):
            agree(ours, theirs)
    elif isinstance(wanted, bytes):
        assert got == wanted
    else:
        wanted = np.asarray(wanted)
        got = np.asarray(got)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-6 if wanted.dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("name", [name for name, calls in CALLS.items() if calls])
def test_method(name, xp):
    for keywords in CALLS[name]:
        for data in (DATA, DATA[:, ::-1]):
            if name == "view" and keywords.get("dtype", np.uint64) != np.uint64 and data is not DATA:
                continue  # the last axis is not contiguous
            given = dict(keywords)
            positional = [given.pop(key) for key in keywords if name in POSITIONAL and key != "axis"]
            x = xp.asarray(DATA) if data is DATA else xp.asarray(DATA)[:, ::-1]
            with np.errstate(all="ignore"):
                agree(getattr(x, name)(*positional, **given), getattr(data, name)(*positional, **given))


def test_axes_are_positional_as_in_numpy(xp):
    x = xp.asarray(DATA)
    reductions = ("sum", "prod", "mean", "std", "var", "max", "min", "argmax", "argmin", "all", "any")
    for name in (*reductions, "cumsum", "cumprod", "argsort"):
        agree(getattr(x, name)(0), getattr(DATA, name)(0))
    agree(x.reshape(4, 3), DATA.reshape(4, 3))
    agree(x.reshape([6, 2]), DATA.reshape(6, 2))
    agree(x.transpose(1, 0), DATA.T)
    agree(x.transpose((1, 0)), DATA.T)
    agree(x.reshape(3, 2, 2).swapaxes(0, 2), DATA.reshape(3, 2, 2).swapaxes(0, 2))
    assert x.strides == DATA.strides and x.T.strides == DATA.T.strides and x[::-1].strides == DATA[::-1].strides


def test_methods_in_place(xp):
    x = xp.asarray(DATA)
    assert x.sort() is None
    agree(x, np.sort(DATA))
    x.sort(axis=0)
    agree(x, np.sort(np.sort(DATA), axis=0))
    x = xp.asarray(np.sort(DATA.ravel()))
    agree(x.searchsorted(xp.asarray([-5, 3, 9]), "right"), np.asarray(x).searchsorted([-5, 3, 9], "right"))
    x = xp.asarray(DATA)
    view = x[1:, ::2]
    view.fill(7)
    assert np.asarray(x)[1:, ::2].tolist() == [[7, 7], [7, 7]]


def test_copies_and_views(xp):
    """What NumPy's methods share of the memory, ours do."""
    x = xp.asarray(DATA)
    views = [x.ravel(), x.reshape(2, 6), x.view(), x.transpose(), x.swapaxes(0, 1), x.squeeze(), x.diagonal()]
    copies = [x.copy(), x.flatten(), x.astype(np.int64), x.take([0])]
    before = [np.asarray(y).copy() for y in copies]
    x.fill(1)
    assert all((np.asarray(y) == 1).all() for y in views)
    for y, old in zip(copies, before, strict=True):
        agree(y, old)
    assert x.astype(np.int64, copy=False) is x


def test_fortran_order(xp):
    x = xp.asarray(DATA)
    for name, arguments in (("copy", ()), ("ravel", ()), ("flatten", ()), ("reshape", (2, 6)), ("tobytes", ())):
        for y, data in ((x, DATA), (x.T, DATA.T)):
            agree(getattr(y, name)(*arguments, order="F"), getattr(data, name)(*arguments, order="F"))


ORDERED = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: a.T,
    "neither": lambda a: a.transpose(1, 0, 2),
    "steps": lambda a: a[:, ::2, ::-1],
    "0-d": lambda a: a[0, 0, 0],
    "row": lambda a: a[0, 0],
    "empty": lambda a: a[:, :0].T,
}
CREATED = {
    "array": lambda m, a, order: m.array(a, order=order),
    "asarray": lambda m, a, order: m.asarray(a, order=order),
    "asanyarray": lambda m, a, order: m.asanyarray(a, order=order),
    "copy": lambda m, a, order: m.copy(a, order=order),
    "method copy": lambda m, a, order: a.copy(order),
    "astype": lambda m, a, order: a.astype(m.float32, order=order),
    "astype, same": lambda m, a, order: a.astype(m.float64, order=order, copy=False),
    "add": lambda m, a, order: m.add(a, a, order=order),
    "negative": lambda m, a, order: m.negative(a, order=order),
    "zeros": lambda m, a, order: m.zeros(a.shape, order=order),
    "ones": lambda m, a, order: m.ones(a.shape, order=order),
    "full": lambda m, a, order: m.full(a.shape, 3, order=order),
    "empty": lambda m, a, order: m.logical_and(m.empty(a.shape, order=order), False) * 1.0,
    "eye": lambda m, a, order: m.eye(3, 4, k=1, order=order),
    "zeros_like": lambda m, a, order: m.zeros_like(a, order=order),
    "ones_like": lambda m, a, order: m.ones_like(a, order=order),
    "full_like": lambda m, a, order: m.full_like(a, 3, order=order),
    "empty_like": lambda m, a, order: m.logical_and(m.empty_like(a, order=order), False) * 1.0,
    "einsum": lambda m, a, order: m.einsum("...,...->...", a, a, order=order),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CREATED)
@pytest.mark.parametrize("order", ["C", "F", "A", "f"])
def test_order_that_a_result_lies_in(xp, name, layout, order):
    """Elements, strides and flags are NumPy's."""
    create = CREATED[name]
    mine, numpys = LAYOUTS[layout](xp.asarray(ORDERED)), LAYOUTS[layout](ORDERED)
    try:
        wanted = create(np, numpys, order)
    except ValueError:
        with pytest.raises(ValueError, match=name):
            create(xp, mine, order)
        return
    got = create(xp, mine, order)
    np.testing.assert_array_equal(np.asarray(got), wanted)
    assert got.dtype == wanted.dtype
    if "empty" not in name and layout != "empty":  # times 0 the result is one of its own; strides of nothing are free
        assert got.flags.c_contiguous == wanted.flags.c_contiguous
        assert got.flags.f_contiguous == wanted.flags.f_contiguous
        if order in "CFf":
            assert got.strides == wanted.strides


@pytest.mark.parametrize("order", ["F", "A"])
def test_order_of_empty_arrays(xp, order):
    x = xp.empty_like(xp.ones((2, 3)).T, order=order)
    assert x.flags.f_contiguous and not x.flags.c_contiguous and x.strides == (8, 24)
    assert xp.empty((2, 3), order="F").strides == (8, 16)


def test_order_of_what_comes_from_numpy(xp):
    a = ORDERED[0].T
    assert xp.asarray(a, order="A").flags.fnc and xp.array(a, order="F").flags.fnc
    assert xp.asarray(a, order="C").flags.c_contiguous
    np.testing.assert_array_equal(np.asarray(xp.asarray(a, order="A")), a)
    assert xp.asarray([[1, 2], [3, 4]], order="F").strides == (8, 16)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K", "k"])
def test_order_that_elements_are_read_in(xp, layout, order):
    mine, numpys = LAYOUTS[layout](xp.asarray(ORDERED)), LAYOUTS[layout](ORDERED)
    agree(mine.flatten(order), numpys.flatten(order))
    agree(mine.ravel(order), numpys.ravel(order))
    agree(xp.ravel(mine, order=order), np.ravel(numpys, order=order))
    if order in "CFA":
        shape = (2, -1) if mine.size > 1 else (1, mine.size)
        agree(mine.reshape(shape, order=order), numpys.reshape(shape, order=order))
    mine.flatten(order)[...] = 0
    agree(mine, numpys)


@pytest.mark.parametrize("order, error", [("X", ValueError), ("CF", ValueError), (3, TypeError)])
def test_orders_that_there_are_not(xp, order, error):
    x = xp.asarray(ORDERED)
    for name, create in CREATED.items():
        with pytest.raises(error, match="order"):
            create(xp, x, order)
        if name != "einsum":
            with pytest.raises(error):
                create(np, ORDERED, order)
    for call in (x.flatten, x.ravel, x.tobytes, lambda o: x.reshape(-1, order=o)):
        with pytest.raises(error, match="order"):
            call(order)
    with pytest.raises(ValueError, match="reshape"):
        x.reshape(-1, order="K")
    with pytest.raises(ValueError, match="asarray"):
        xp.asarray(x, order="F", copy=False)
    assert xp.asarray(x.T, order="F", copy=False).base is not None


# ------------------------------------------------------------------------------------------ other dtypes of a memory


@pytest.mark.parametrize("source", ["uint8", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("target", ["int8", "uint16", "int32", "float64", "complex64", "complex128"])
def test_views_of_bytes(source, target, xp):
    data = np.arange(-8, 8).astype(source).reshape(2, 8)
    for key in ((), np.s_[1:,], np.s_[:, 2:6], np.s_[::-1,], np.s_[:, 1:4]):
        x, a = xp.asarray(data)[key], data[key]
        try:
            wanted = a.view(target)
        except ValueError:
            with pytest.raises(ValueError, match=r"view: .*divide"):
                x.view(target)
            continue
        if key and a.ctypes.data % np.dtype(target).itemsize:
            with pytest.raises(ValueError, match=r"view: .*divide"):
                x.view(target)  # our elements lie at multiples of their size
            continue
        assert_same_bits(np.asarray(x.view(target)), wanted)


def test_views_that_numpy_refuses(xp):
    x = xp.asarray(DATA)
    for y, dtype in ((x.T, np.int32), (x[:, ::2], np.int16), (x[0, 0], np.int32), (x[:, :3], np.complex128)):
        with pytest.raises(ValueError, match="view: "):
            y.view(dtype)


@pytest.mark.parametrize("n", [6, 5000])
def test_expressions_over_two_dtypes_of_one_memory(n, xp):
    """Two operands at one address are one operand only where their dtype is one, and writes see what they overlap."""
    data = np.linspace(-3, 9, n)
    x, a = xp.asarray(data), data.copy()
    assert_same_bits(np.asarray(x.view(np.int64) + xp.astype(x, xp.int64)), a.view(np.int64) + a.astype(np.int64))
    halves = x.view(np.int32)[:n]
    assert_same_bits(np.asarray(halves * x), a.view(np.int32)[:n] * a)
    pending = x + 1
    x.view(np.int64)[...] = xp.asarray(np.arange(n))
    assert_same_bits(np.asarray(pending), a + 1)
    assert_same_bits(np.asarray(x), np.arange(n).view(np.float64))
    z = xp.asarray(data + 1j)
    w = data + 1j
    z[::2] = z.real[: (n + 1) // 2] + 1.0
    w[::2] = w.real[: (n + 1) // 2].copy() + 1.0
    assert_same_bits(np.asarray(z), w)
    y, b = xp.asarray(data), data.copy()
    y[...] = y.view(np.int32)[:n]
    b[...] = b.view(np.int32)[:n].copy()
    assert_same_bits(np.asarray(y), b)


# ------------------------------------------------------------------------------------------------------ beside methods


@pytest.mark.parametrize("arguments", [(0, 3, 4), (1, -2, 7), (0, 1), (-3, 3, 1), (2, 5, 0)])
def test_logspace(arguments, xp):
    np.testing.assert_allclose(np.asarray(xp.logspace(*arguments)), np.logspace(*arguments), rtol=1e-14)
    got = xp.logspace(*arguments, base=2.0, endpoint=False, dtype=xp.float32)
    assert got.dtype == np.float32
    start, stop, num = (*arguments, 50)[:3]
    np.testing.assert_allclose(np.asarray(got), np.logspace(start, stop, num, False, 2.0), rtol=1e-6)


def test_devices_add_up_with_lists(xp):
    devices = xp.__array_namespace_info__().devices()
    assert isinstance(devices, tuple)
    assert devices.__add__([None]) == [*devices, None]
    assert devices.__add__((None,)) == (*devices, None)
