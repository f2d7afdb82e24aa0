"""Data type functions: NumPy's dtype objects and promotion."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from table import BFLOAT16, DTYPES, assert_same_bits, kind


def test_dtypes_are_those_of_numpy(xp):
    for name, dtype in DTYPES.items():
        assert np.dtype(getattr(xp, name)) == dtype
        x = xp.zeros(2, dtype=getattr(xp, name))
        assert isinstance(x.dtype, np.dtype)
        assert (x.dtype, x.itemsize) == (dtype, dtype.itemsize)
        assert xp.zeros(2, dtype=name).dtype == dtype


@pytest.mark.parametrize("name", DTYPES)
def test_result_type(name, xp):
    dtype = DTYPES[name]
    x = xp.ones(2, dtype=dtype)
    for other in DTYPES.values():
        try:
            wanted = np.result_type(dtype, other)
        except TypeError:
            with pytest.raises(TypeError, match="result_type"):
                xp.result_type(dtype, other)
            continue
        assert xp.result_type(dtype, other) == xp.result_type(x, other) == wanted
        assert xp.can_cast(dtype, other) == xp.can_cast(x, other) == np.can_cast(dtype, other)
    if dtype != BFLOAT16:
        for scalar in (True, 1, 1.0, 1j):
            wanted = np.result_type(np.ones(2, dtype), scalar)
            assert xp.result_type(x, scalar) == xp.result_type(scalar, dtype) == wanted
            assert (x + scalar).dtype == wanted
    for third in itertools.islice(DTYPES.values(), 0, None, 4):
        if BFLOAT16 not in (dtype, third):
            assert xp.result_type(x, third, np.float32) == np.result_type(dtype, third, np.float32)


def test_result_type_of_scalars(xp):
    assert xp.result_type(1, 2.0) == np.float64
    assert xp.result_type(xp.int8, 2.0) == np.float64
    assert xp.result_type(xp.float32, 2, 3.0) == np.float32
    with pytest.raises(ValueError, match="result_type"):
        xp.result_type()
    with pytest.raises(TypeError, match="result_type"):
        xp.result_type("word")


@pytest.mark.parametrize("name", DTYPES)
def test_limits(name, xp):
    dtype = DTYPES[name]
    if kind(dtype) in "iu":
        ours, theirs, names = xp.iinfo(dtype), np.iinfo(dtype), ("bits", "max", "min")
        refuses = xp.finfo
    elif kind(dtype) == "b":
        for function in (xp.iinfo, xp.finfo):
            with pytest.raises(ValueError, match="bool"):
                function(dtype)
        return
    else:
        ours, theirs = xp.finfo(dtype), (ml_dtypes.finfo if dtype == BFLOAT16 else np.finfo)(dtype)
        names, refuses = ("bits", "max", "min", "eps", "smallest_normal", "tiny"), xp.iinfo
    for attribute in names:
        value = getattr(ours, attribute)
        assert type(value) in (int, float)
        assert value == getattr(theirs, attribute), attribute
    assert ours.dtype == np.zeros(0, dtype).real.dtype
    function = xp.iinfo if kind(dtype) in "iu" else xp.finfo
    assert function(xp.ones(1, dtype=dtype)) == ours
    with pytest.raises(ValueError, match=dtype.name):
        refuses(dtype)


KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@pytest.mark.parametrize("name", DTYPES)
def test_isdtype(name, xp):
    dtype = DTYPES[name]
    for group, letters in KINDS.items():
        assert xp.isdtype(dtype, group) == (kind(dtype) in letters)
    assert xp.isdtype(dtype, ("bool", "integral")) == (kind(dtype) in "biu")
    for other in DTYPES.values():
        assert xp.isdtype(dtype, other) == (dtype == other)
        assert xp.isdtype(dtype, (other, "complex floating")) == (dtype == other or kind(dtype) == "c")
    with pytest.raises(ValueError, match="unknown kind"):
        xp.isdtype(dtype, "word")


def test_astype(xp, device):
    x = xp.asarray([1.5, -2.5, 0.0])
    assert xp.astype(x, xp.float64, copy=False) is x
    copy = xp.astype(x, xp.float64)
    y = xp.astype(x, xp.int8, device=device)
    x[0] = 9
    assert (copy.tolist(), y.tolist(), y.device) == ([1.5, -2.5, 0.0], [1, -2, 0], device)
    assert_same_bits(xp.asnumpy(xp.astype(x, bool)), np.array([True, True, False]))
    z = xp.asarray([1 + 2j, 0j, 1j * np.nan])
    assert_same_bits(xp.asnumpy(xp.astype(z, xp.float32)), np.array([1, 0, np.nan], np.float32))
    assert_same_bits(xp.asnumpy(xp.astype(z, xp.bool)), np.array([True, False, True]))


@pytest.mark.parametrize(
    "dtype", ["U1", "S3", object, "datetime64[s]", "float128", np.dtype([("a", int)]), "word", 3.5]
)
def test_dtypes_that_arrays_do_not_have(dtype, xp):
    for act in (
        lambda: xp.zeros(2, dtype=dtype),
        lambda: xp.astype(xp.ones(2), dtype),
        lambda: xp.asarray([1], dtype=dtype),
        lambda: xp.isdtype(dtype, "bool"),
        lambda: xp.finfo(dtype),
    ):
        with pytest.raises(TypeError):
            act()


def test_bfloat16_is_that_of_ml_dtypes(xp):
    assert xp.bfloat16 is ml_dtypes.bfloat16
    x = xp.asarray(np.array([1, 2.5, -3], ml_dtypes.bfloat16))
    assert (x.dtype, (x * 2).tolist()) == (BFLOAT16, [2, 5, -6])
    assert xp.__array_namespace_info__().dtypes().keys() & {"bfloat16", "float16"} == set()
