"""Native code that stands in for Python methods does what they do, counts its references, and goes when it must."""

from __future__ import annotations

import inspect
import operator
import subprocess
import sys
from gc import collect
from sys import getrefcount

import numpy as np
import pytest
from nbx_array.backend import objects

import nbx_array as xp
from nbx_array._array import OPERATORS, Array
from nbx_array._expression import FUSE

pytestmark = pytest.mark.skipif(not (FUSE and objects.AVAILABLE), reason="the operators are Python's here")


@pytest.fixture(autouse=True)
def installed():
    xp.realize(xp.ones(3) + 1)  # the first kernel brings the native code
    if not any(inspect.ismethoddescriptor(vars(Array)[name]) for name in OPERATORS):
        pytest.skip("an earlier test shared memory: expressions run at the call from then on")


def others(x):
    """What an operator may meet on its other side."""
    yield from (x, xp.asarray([3.0, -0.5, 2.0]), xp.asarray([[3.0], [1.0]]), xp.arange(6.0)[::2], xp.asarray([1, 2, 3]))
    yield from (2, 2.5, True, 1j, 2**70, np.float32(0.1), np.int64(3), "text", None, {1.0: 2.0})


def outcome(function, *operands):
    """A result as it looks before it runs, or the error."""
    try:
        result = function(*operands)
    except Exception as error:
        return type(error), str(error)
    if type(result) is not Array:
        return result
    sources = () if result.sig.general else tuple(map(id, getattr(result, "sources", ())))  # of no use to these
    return result.sig, result.shape, result.args[-1] if result.args else None, len(result.args), result.keep, sources


@pytest.mark.parametrize("name", list(OPERATORS))
def test_as_the_python_method(name):
    python, native = OPERATORS[name].method, vars(Array)[name]
    for make in (lambda: xp.asarray([1.5, -2.0, 0.25]), lambda: xp.asarray([5, -7, 2]), lambda: xp.arange(6.0)[::2]):
        for deferred in (False, True):
            x = make() + 1 if deferred else make()
            if deferred and x.dtype.kind == "f":
                x = xp.exp(x)  # worth storing: what is made of it notes its parts
            if OPERATORS[name].kind == "unary":
                for _ in range(2):  # the second time its signature is known
                    assert outcome(native, x) == outcome(python, x)
                continue
            for other in others(x):
                for _ in range(2):
                    assert outcome(native, x, other) == outcome(python, x, other), other


def test_values_and_order():
    host = np.asarray([1.5, -2.0, 0.25])
    x = xp.asarray(host)
    for _ in range(3):
        np.testing.assert_array_equal(
            np.asarray(7 - (x * x - x) / 4.0 - -abs(x)), 7 - (host * host - host) / 4 + abs(host)
        )


def test_references_are_counted():
    x, y = xp.exp(xp.ones(5)), xp.asarray(np.arange(5.0))
    number = 1234.5
    for _ in range(3):
        xp.realize(x + y)
    tracked = [x.sig, x.shape, x.args, x.keep, y.args, y.keep, y.keep[0], (x + y).sig, (x + y).sig.leaf, number]

    def use():
        for _ in range(300):
            kept = [x + y, y + x, x * x, x - number, number - x, -x, xp.exp(x), xp.sin(-x) * x]
            xp.realize(kept[-1])
        del kept
        xp.realize(xp.ones(70) + 1)
        for _ in range(70):  # the journal forgets what is dead
            -xp.ones(2)
        xp.realize(xp.ones(70) + 1)
        collect()

    use()
    before = [getrefcount(item) for item in tracked]
    use()
    assert all(abs(getrefcount(item) - count) < 20 for item, count in zip(tracked, before, strict=True))


def test_methods_can_be_inspected():
    assert str(inspect.signature(Array.__add__)) == "(self, other, /)"
    assert str(inspect.signature(Array.__neg__)) == "(self, /)"
    with pytest.raises(TypeError, match="argument"):
        xp.ones(2).__add__()
    with pytest.raises(TypeError, match="Array"):
        Array.__add__(1, 2)


def test_an_array_that_was_never_made_is_refused():
    empty = Array.__new__(Array)
    for use in (operator.neg, lambda x: x + 1, lambda x: 1 + x, lambda x: x + x, lambda x: xp.ones(2) + x):
        with pytest.raises(AttributeError):
            use(empty)


def test_python_takes_over_where_memory_is_shared():
    program = """
import numpy as np, nbx_array as xp
from nbx_array import _array
from nbx_array._array import Array, OPERATORS
xp.set_device("cpu")
x = xp.asarray([1.0, 2.0])
for _ in range(3): xp.realize(x + 1)
assert type(vars(Array)["__add__"]).__name__ == "method_descriptor"
memory = np.from_dlpack(x)
assert all(vars(Array)[name] is _array._native.careful[name] for name in OPERATORS)
y, z = x + 1, xp.exp(x)
memory[0] = 5.0
assert y.tolist() == [2.0, 3.0] and float(z[0]) < 3
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=None)
