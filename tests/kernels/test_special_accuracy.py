"""Special functions: errors against mpmath at points drawn anew in each run."""

from __future__ import annotations

import accuracy
import accuracy_special
import mpmath
import numpy as np
import pytest
from table import SPECIAL

COUNT = 12  # points of each kind; benchmarks/accuracy_special.py takes more
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


def test_incomplete_beta_near_one(xp, rng):
    """Small b, where I_x(a, b) is small until x is next to 1: 1 - I_y(b, a) would lose it."""
    for _ in range(40):
        a, b = 10 ** rng.uniform(-1, 3), 10 ** rng.uniform(-3, 0)
        mean = a / (a + b)
        x = float(np.clip(mean - (1 - mean) * rng.uniform(-0.9, 30), 1e-3, 1 - 1e-9))
        got = float(xp.special.betainc(*map(xp.asarray, (a, b, x))))
        with mpmath.workdps(50):
            wanted = mpmath.betainc(a, b, 0, x, regularized=True)
            error = float(abs(mpmath.mpf(got) - wanted) / mpmath.mpf(np.spacing(float(wanted))))
        assert error <= 10 + 0.5 / b, (a, b, x, error)
