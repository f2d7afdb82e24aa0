"""Inspection, constants, and the namespace as a whole."""

from __future__ import annotations

import math
import operator
import re
import types
from pathlib import Path

import numpy as np
import pytest
from table import BY_NAME, DTYPES, kind

from nbx_array._numpy_names import ALIASES


def test_constants(xp):
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)
    assert xp.__array_api_version__ == "2025.12"


def test_info(xp, device):
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.capabilities()["data-dependent shapes"] is True
    assert info.default_device() == device
    assert info.devices()[0] == device or device in info.devices()
    assert info.default_dtypes() == {
        "real floating": np.float64,
        "complex floating": np.complex128,
        "integral": np.int64,
        "indexing": np.int64,
    }
    standard = {name: dtype for name, dtype in DTYPES.items() if name not in ("float16", "bfloat16")}
    assert info.dtypes() == info.dtypes(device=device) == standard
    assert info.dtypes(kind="integral") == {name: d for name, d in standard.items() if kind(d) in "iu"}
    assert info.dtypes(kind=("bool", "real floating")) == {name: d for name, d in standard.items() if kind(d) in "bf"}
    with pytest.raises(ValueError, match="word"):
        info.dtypes(kind="word")


def test_namespace_of_arrays(xp):
    x = xp.ones(2)
    assert x.__array_namespace__() is xp
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is xp
    with pytest.raises(ValueError, match=r"2020\.12"):
        x.__array_namespace__(api_version="2020.12")


def test_public_names(xp):
    """Every function of the namespace has a docstring that says what it is; nothing else than the public is there."""
    for name in dir(xp):
        value = getattr(xp, name)
        if isinstance(value, types.FunctionType) and not name.startswith("__"):
            assert value.__doc__, name
            assert value.__name__ == ALIASES.get(name, name)
    assert set(BY_NAME) <= set(dir(xp))
    with pytest.raises(AttributeError, match=r"no_such_name'$"):
        xp.no_such_name  # noqa: B018


def test_every_public_function_is_tested(xp):
    """A new name of the namespace needs a row in a table of the tests, or a test."""
    text = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for name in dir(xp):
        value = getattr(xp, name)
        ours = isinstance(value, types.FunctionType) and value.__module__.startswith("nbx_array")
        if ours and not name.startswith("__") and name not in BY_NAME and name not in ALIASES:
            assert re.search(rf"\b(?:xp|m)\.{name}\b|\"{name}\"", text), name


def test_names_of_numpy_lead_to_ours(xp):
    assert xp.concatenate is xp.concat
    with pytest.raises(AttributeError, match=r"'frompyfunc'; .* call the function on arrays"):
        operator.attrgetter("frompyfunc")(xp)
