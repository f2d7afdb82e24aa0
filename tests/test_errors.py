"""Bad input: the exception that NumPy raises, naming the function and what was given."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from table import ROWS

HUGE = 2**40


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_operands_of_functions(row, xp):
    """What is no array, scalar or sequence of numbers is refused; the message names the function."""
    function = getattr(xp, row.name)
    dtype = np.dtype("complex64" if row.kinds == "c" else "int32" if "f" not in row.kinds else "float32")
    x = xp.ones(3, dtype=dtype)
    rest = [x] * (row.arity - 1)
    for bad in (["a"], None, "word", np.ones(3, dtype), np.datetime64("2020-01-01"), object()):
        with pytest.raises(TypeError, match=row.name):
            function(bad, *rest)
        if rest:
            with pytest.raises(TypeError, match=row.name):
                function(x, bad)
    if row.arity == 2:
        with pytest.raises(ValueError, match=rf"{row.name}.*\(3,\).*\(4,\)"):
            function(x, xp.ones(4, dtype=dtype))
    with pytest.raises(TypeError):
        function()
    with pytest.raises(TypeError):
        function(*[x] * row.arity, unknown=x)


@pytest.mark.parametrize(
    ("error", "pattern", "act"),
    [
        # numbers that do not fit
        (OverflowError, r"add.*300.*int8", lambda xp: xp.ones(2, dtype=xp.int8) + 300),
        (OverflowError, r"multiply.*-1.*uint8", lambda xp: -1 * xp.ones(2, dtype=xp.uint8)),
        (OverflowError, r"bitwise_and.*int64", lambda xp: xp.ones(2, dtype=xp.int64) & 2**63),
        (OverflowError, r"full.*int8", lambda xp: xp.full(2, 200, dtype=xp.int8)),
        (OverflowError, r"asarray.*int8", lambda xp: xp.asarray([1, 200], dtype=xp.int8)),
        (OverflowError, r"asarray", lambda xp: xp.asarray([2**70])),
        (OverflowError, r"arange.*int8", lambda xp: xp.arange(200, dtype=xp.int8)),
        (ValueError, r"pow.*-1", lambda xp: xp.ones(2, dtype=xp.int32) ** -1),
        (ValueError, r"pow.*negative", lambda xp: xp.ones(2, dtype=xp.int32) ** np.int64(-1)),
        (ValueError, r"pow.*negative", lambda xp: xp.ones(2, dtype=bool) ** np.array([1, -1], np.int8)),
        (ValueError, r"pow.*negative", lambda xp: xp.power(xp.ones(2, dtype=xp.uint8), [1, -1])),
        # dtypes
        (TypeError, r"bitwise_and.*float64", lambda xp: xp.ones(2) & xp.ones(2)),
        (TypeError, r"bitwise_or.*float64", lambda xp: xp.ones(2, dtype=xp.int8) | 1.0),
        (TypeError, r"less.*complex128", lambda xp: xp.ones(2) < 1j),
        (TypeError, r"floor_divide.*complex64", lambda xp: xp.ones(2, dtype=xp.complex64) // 2),
        (TypeError, r"subtract.*bool", lambda xp: xp.ones(2, dtype=bool) - xp.ones(2, dtype=bool)),
        (TypeError, r"negative.*bool", lambda xp: -xp.ones(2, dtype=bool)),
        (TypeError, r"bitwise_invert.*float32", lambda xp: ~xp.ones(2, dtype=xp.float32)),
        (TypeError, r"add.*float64.*int8", lambda xp: xp.ones(2, dtype=xp.int8).__iadd__(1.5)),
        (TypeError, r"zeros.*datetime", lambda xp: xp.zeros(2, dtype="datetime64[s]")),
        (TypeError, r"asarray", lambda xp: xp.asarray(["a", "b"])),
        (TypeError, r"asarray", lambda xp: xp.asarray([None])),
        (TypeError, r"asarray", lambda xp: xp.asarray(np.array([object()]))),
        (TypeError, r"arange", lambda xp: xp.arange(3, dtype=bool)),
        (TypeError, r"arange", lambda xp: xp.arange(1j)),
        (TypeError, r"full.*1j", lambda xp: xp.full(2, 1j, dtype=xp.float64)),
        (TypeError, r"linspace", lambda xp: xp.linspace(0, 1j, 5, dtype=xp.float64)),
        (TypeError, r"astype", lambda xp: xp.astype("word", xp.int8)),
        # shapes
        (ValueError, r"zeros.*-1", lambda xp: xp.zeros((2, -1))),
        (ValueError, r"ones", lambda xp: xp.ones((HUGE, HUGE))),
        (ValueError, r"empty", lambda xp: xp.empty((2**62, 8), dtype=xp.int8)),
        (ValueError, r"full", lambda xp: xp.full((2**61,), 1.0)),
        (ValueError, r"eye", lambda xp: xp.eye(HUGE, HUGE)),
        (TypeError, r"zeros.*2\.5", lambda xp: xp.zeros(2.5)),
        (TypeError, r"zeros", lambda xp: xp.zeros("12")),
        (TypeError, r"empty", lambda xp: xp.empty(None)),
        (ValueError, r"asarray|inhomogeneous", lambda xp: xp.asarray([[1], [2, 3]])),
        (ValueError, r"linspace.*-1", lambda xp: xp.linspace(0, 1, -1)),
        (ValueError, r"arange", lambda xp: xp.arange(0, 1, 0)),
        (ValueError, r"arange", lambda xp: xp.arange(0.0, float("inf"), 1.0)),
        (ValueError, r"full", lambda xp: xp.full(2, xp.ones(3))),
        (ValueError, r"tril.*2 dim", lambda xp: xp.tril(xp.ones(3))),
        (ValueError, r"broadcast_to", lambda xp: xp.broadcast_to(xp.ones(3), (2, HUGE, HUGE, 3))),
        (ValueError, r"where.*\(2,\)", lambda xp: xp.where(xp.ones(2) > 0, xp.ones(3), xp.ones(2))),
        (ValueError, r"nonzero", lambda xp: xp.nonzero(xp.asarray(1))),
        # what is no array
        (TypeError, r"zeros_like", lambda xp: xp.zeros_like(np.ones(2))),
        (TypeError, r"where", lambda xp: xp.where("word", 1, 2)),
        (ValueError, r"where", lambda xp: xp.where(xp.ones(2), 1)),
        (TypeError, r"nonzero", lambda xp: xp.nonzero(np.ones(2))),
        (TypeError, r"clip", lambda xp: xp.clip(None, 0, 1)),
        (TypeError, r"clip", lambda xp: xp.clip(xp.ones(2), "a", 1)),
        (TypeError, r"clip.*complex", lambda xp: xp.clip(xp.ones(2, dtype=xp.complex64), 0, 1)),
        (TypeError, r"unsupported operand", lambda xp: xp.ones(2) + "word"),
        (TypeError, r"unsupported operand", lambda xp: None * xp.ones(2)),
        (TypeError, r"not supported", lambda xp: xp.ones(2) < "word"),
        # devices
        (ValueError, r"word", lambda xp: xp.zeros(2, device="word")),
        (ValueError, r"cpu:7|device", lambda xp: xp.zeros(2, device="cpu:7")),
        (TypeError, r"device.*int", lambda xp: xp.asarray([1], device=3)),
    ],
)
def test_bad_input(error, pattern, act, xp):
    with pytest.raises(error, match=pattern):
        act(xp)


def test_comparing_with_what_is_no_number(xp):
    """As NumPy's newer comparisons: nothing equals a word. Lists are operands."""
    x = xp.ones(2)
    assert (x == "word") is False
    assert (x != None) is True  # noqa: E711
    assert (x == [1, 2]).tolist() == [True, False] and (x != (1, 2)).tolist() == [False, True]
    with pytest.raises(ValueError, match=r"equal.*\(2,\).*\(3,\)"):
        _ = x == [1, 2, 3]


NO_ARRAYS = {"None": None, "words": ["a", "b"], "ndarray": np.ones(2), "text": "abc", "object": object()}
TAKEN = {("asarray", "ndarray"), ("from_dlpack", "ndarray"), ("can_cast", "None")} | {
    (name, "None") for name in ("finfo", "isdtype", "memory_limit")
}
"""Calls that are right: None as the default dtype."""
ABOUT_DEVICES = {"device", "explain", "launch", "set_device", "stream"}  # errors about devices name those


def _is_standard(name, function):
    """Functions of ours under their own names; those of NumPy's chapters may name one that they are made of."""
    chapter = getattr(function, "__module__", "").startswith(("numpy", "nbx_array._numpy"))
    own = inspect.isfunction(function) and function.__name__ == name and not name.startswith("_")
    return own and not chapter


@pytest.mark.parametrize("given", NO_ARRAYS)
def test_errors_name_the_function(given, xp):
    """Every function of the standard, given what is no array, number, shape or dtype for each argument it needs."""
    modules = (xp, xp.linalg, xp.fft)
    functions = {name: getattr(module, name) for module in modules for name in getattr(module, "__all__", dir(module))}
    for name, function in functions.items():
        if not _is_standard(name, function) or name in ABOUT_DEVICES or (name, given) in TAKEN:
            continue
        parameters = inspect.signature(function).parameters.values()
        needed = sum(p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD for p in parameters)
        if needed:
            with pytest.raises((TypeError, ValueError, AttributeError), match=name):
                function(*[NO_ARRAYS[given]] * needed)


AXES = {
    "concat": lambda xp, x: ([x, x],),
    "repeat": lambda xp, x: (x, 2),
    "roll": lambda xp, x: (x, 1),
    "stack": lambda xp, x: ([x, x],),
    "linspace": lambda xp, x: (x, x),
    "logspace": lambda xp, x: (x, x),
    "take": lambda xp, x: (x, xp.asarray([0])),
    "take_along_axis": lambda xp, x: (x, xp.asarray([[0], [0]])),
    "vecdot": lambda xp, x: (x, x),
    "cross": lambda xp, x: (xp.ones((3, 3)), xp.ones((3, 3))),
}


def test_a_bool_is_no_axis(xp):
    """TypeError, as NumPy's reductions; every function that has an axis."""
    x, found = xp.ones((2, 2)), 0
    for module in (xp, xp.linalg, xp.fft):
        for name in getattr(module, "__all__", dir(module)):
            function = getattr(module, name)
            if _is_standard(name, function) and "axis" in inspect.signature(function).parameters:
                found += 1
                args = AXES[name](xp, x) if name in AXES else (x,)
                with pytest.raises(TypeError, match=rf"^{name}:.*True"):
                    function(*args, axis=True)
    assert found >= 30
    for act in (lambda: xp.permute_dims(x, (True, False)), lambda: xp.moveaxis(x, True, 0)):
        with pytest.raises(TypeError, match="True"):
            act()
    for act in (lambda: xp.reshape(x, (True, 4)), lambda: xp.broadcast_to(x, (True, 2, 2)), lambda: xp.zeros(True)):
        with pytest.raises(TypeError, match="shape"):
            act()


def test_nothing_is_half_written(xp):
    """Errors come before the first element is written."""
    x = xp.asarray([1, 2, 3], dtype=xp.int8)
    for act in (
        lambda: x.__iadd__(xp.ones(4, dtype=xp.int8)),
        lambda: x.__iadd__(xp.ones((2, 3), dtype=xp.int8)),
        lambda: x.__itruediv__(2),
        lambda: x.__imul__(1.5),
        lambda: x.__setitem__(slice(None), xp.ones(2)),
        lambda: x.__setitem__(slice(None), [1, 2, 300]),
        lambda: x.__setitem__(slice(None), [1, 2, None]),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            act()
        assert x.tolist() == [1, 2, 3]


def test_devices_do_not_mix(xp, device):
    if device.backend == "cpu":
        pytest.skip("there is one device")
    here, there = xp.ones(3), xp.ones(3, device="cpu")
    for act in (
        lambda: here + there,
        lambda: xp.concat([here, there]),
        lambda: here.__setitem__(0, there[0]),
        lambda: here[there > 0],
    ):
        with pytest.raises(ValueError, match=f"{device}.*cpu|cpu.*{device}"):
            act()
