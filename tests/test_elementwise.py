"""Element-wise functions against NumPy: every function, every dtype it takes, awkward shapes."""

from __future__ import annotations

import numpy as np
import pytest
from nbx_array.kernels.pointwise import TABLE
from table import BY_NAME, DTYPES, ROWS, arguments, assert_same_bits, check, takes

SIZE = 4097
CASES = [(row, name) for row in ROWS for name, dtype in DTYPES.items() if takes(row, dtype)]
REFUSED = [(row, name) for row in ROWS for name, dtype in DTYPES.items() if not takes(row, dtype)]


def ids(cases):
    return [f"{row.name}-{name}" for row, name in cases]


def test_every_function_has_a_row():
    assert set(BY_NAME) == set(TABLE)
    for name, row in TABLE.items():
        assert (row.arity, set(row.kinds)) == (BY_NAME[name].arity, set(BY_NAME[name].kinds)), name


@pytest.mark.parametrize(("row", "name"), CASES, ids=ids(CASES))
def test_values(row, name, xp, rng):
    """Values against NumPy's at one length; the same bits at every other length, and in a strided form."""
    operands = arguments(row, DTYPES[name], SIZE, rng)
    function = getattr(xp, row.name)
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

    assert_same_bits(xp.asnumpy(function(*map(viewed, operands))), strided(whole))


@pytest.mark.parametrize(("row", "name"), REFUSED, ids=ids(REFUSED))
def test_refused_dtypes(row, name, xp):
    x = xp.asarray(np.ones(3, DTYPES[name]))
    with pytest.raises(TypeError, match=row.name):
        getattr(xp, row.name)(*[x] * row.arity)
