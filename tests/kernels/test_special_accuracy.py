"""Special functions: errors against mpmath at points drawn anew in each run."""

from __future__ import annotations

import accuracy
import accuracy_special
import pytest
from table import SPECIAL

COUNT = 25  # points of each kind; benchmarks/accuracy_special.py takes more
FUNCTIONS = {function.name: function for function in accuracy_special.FUNCTIONS}


def test_every_function_is_measured():
    assert set(FUNCTIONS) == {row.name for row in SPECIAL}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_the_bound(name, dtype, xp, device, rng):
    function = FUNCTIONS[name]
    x = accuracy.points(function, accuracy.FORMATS[dtype], COUNT, rng)
    call = accuracy.on_device(getattr(xp.special, name), xp, device)
    found = accuracy.worst(function, accuracy.FORMATS[dtype], x, call)
    assert found.error <= function.bound, found
