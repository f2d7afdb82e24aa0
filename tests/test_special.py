"""Special functions: special values and agreement with SciPy, dtypes, fusion, and that SciPy finds them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special
from table import BFLOAT16, DTYPES, SPECIAL, assert_same_bits

import nbx_array

IDS = [row.name for row in SPECIAL]
NUMBERS = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 50.0, 1e-310, 1e-45, 1e-30, 1e30, 1e300, np.inf]
VALUES = np.array([*NUMBERS, *(-x for x in NUMBERS), np.nan])


LONG = {"stdtr", "gammaincinv", "fdtr", "beta", "betaln", "gammaincc", "chdtr", "chdtrc", "poch", "riemann_zeta"}
"""Kernels that take seconds to compile, and of whose source another function's is fused here."""


def outside(x: np.ndarray) -> np.ndarray:
    """Poles of Γ, where SciPy has other signs or infinities, and what is not finite."""
    return ~np.isfinite(x) | ((x <= 0) & (x == np.floor(x)))


def near_zero(*x: np.ndarray, limit: float = 1e-300) -> np.ndarray:
    """Where SciPy's functions over- or underflow on the way."""
    return np.any([(np.abs(a) < limit) & (a != 0) for a in x], axis=0)


# Where SciPy's answer is not the function's: its limit, or its value at arguments that SciPy computes otherwise.
DEPARTURES = {
    "gammaincinv": lambda a, y: near_zero(a, limit=1e-20) | near_zero(y, limit=1e-40) | (a == 0),
    "zeta": lambda x, q: (x > 1e10) | (q < -10000) | np.isnan(x + q),
    **dict.fromkeys(("gammainc", "gammaincc", "chdtr", "chdtrc"), lambda a, x: near_zero(a, x, limit=1e-40)),
    **dict.fromkeys(
        ("betainc", "fdtr", "stdtr"), lambda *x: near_zero(*x, limit=1e-40) | (np.max(np.abs(x), axis=0) > 1e6)
    ),
    **dict.fromkeys(
        ("beta", "betaln", "poch"), lambda x, y: outside(x) | outside(y) | outside(x + y) | near_zero(x, y)
    ),
    "expit": lambda x: x < -700,  # SciPy has fewer digits of subnormal results
    "sinc": lambda x: (x == np.floor(x)) & np.isfinite(x),  # π is no number: SciPy's sine of its multiples is not zero
    "i0": lambda x: np.isinf(x),
    "i1": lambda x: np.isinf(x),
    "kl_div": lambda x, y: (x > 0) & (y > 0) & ((x / y == np.inf) | (x / y < 1e-300)) & np.isfinite(x) & np.isfinite(y),
}


def close(got: np.ndarray, wanted: np.ndarray, tolerance: float) -> np.ndarray:
    """Within a relative tolerance; the same NaN and infinities, and of zeros the same signs."""
    with np.errstate(all="ignore"):
        near = np.abs(got - wanted) <= tolerance * np.abs(wanted)
    zeros = (got == 0) & (wanted == 0) & (np.signbit(got) == np.signbit(wanted))
    return ((got == wanted) & (got != 0)) | zeros | (near & (wanted != 0)) | (np.isnan(got) & np.isnan(wanted))


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("row", SPECIAL, ids=IDS)
@np.errstate(all="ignore")
def test_special_values_are_those_of_scipy(row, name, xp):
    dtype = np.dtype(name)
    chosen = VALUES if row.arity < 3 else VALUES[np.isin(np.abs(VALUES), [1e-30, 1e300], invert=True)]
    values = np.unique(chosen.astype(dtype).view(f"u{dtype.itemsize}")).view(dtype)
    x = [np.ascontiguousarray(a) for a in np.array(list(itertools.product(values, repeat=row.arity))).T]
    got = xp.asnumpy(getattr(xp.special, row.name)(*map(xp.asarray, x)))
    wide = [a.astype(np.float64) for a in x]
    wanted = getattr(scipy.special, "zeta" if row.name == "riemann_zeta" else row.name)(*wide).astype(dtype)
    assert got.dtype == dtype
    info = np.finfo(dtype)
    same = close(got, wanted, 1e-5 if dtype == np.float32 else 1e-11)
    same |= np.abs(got.astype(np.float64) - wanted.astype(np.float64)) <= 4 * info.smallest_subnormal
    if row.name in DEPARTURES:
        same |= DEPARTURES[row.name](*wide)
    assert same.all(), [tuple(map(float, t)) for t in zip(*(a[~same] for a in (*x, got, wanted)), strict=True)][:5]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["erf", "erfinv", "i1", "i1e"])
def test_odd_functions_keep_the_sign_of_zero(name, dtype, xp):
    """SciPy's not all do."""
    x = np.array([-0.0, 0.0], dtype)
    assert_same_bits(xp.asnumpy(getattr(xp.special, name)(xp.asarray(x))), x)


@pytest.mark.parametrize("row", SPECIAL, ids=IDS)
def test_fused_bits_are_those_of_single_operations(row, xp, rng):
    """At any length and position, in a fused kernel and alone."""
    x = [xp.realize(xp.asarray(rng.uniform(0.05, 0.95, 1025).astype(np.float32))) for _ in range(row.arity)]
    function = getattr(xp.special, row.name)
    few = xp.asnumpy(function(*(xp.asarray(a[:1023], copy=True) for a in x)))  # by a kernel without vectors on the CPU
    whole = xp.asnumpy(xp.realize(function(*x)))
    assert_same_bits(few, whole[:1023])
    for n in (1, 7, 1023):
        assert_same_bits(xp.asnumpy(function(*(a[:n] for a in x))), whole[:n])
    assert_same_bits(xp.asnumpy(function(*(a[5:700] for a in x))), whole[5:700])
    if row.name not in LONG:
        fused = xp.warmup(lambda *a: function(*(b * 1.0 for b in a)) * 3.0, *x)
        assert_same_bits(xp.asnumpy(fused), whole * np.float32(3))


@pytest.mark.parametrize("row", SPECIAL, ids=IDS)
def test_dtypes(row, xp):
    """16-bit floats are computed in float32, integers in the default float; complex numbers are refused."""
    function = getattr(xp.special, row.name)
    every = row.name == "expit"  # the rule is the same for all: of long kernels one of each kind
    for dtype in (DTYPES["float16"], BFLOAT16) if every else (DTYPES["float16"],):
        x = np.array([0.25, 0.5, 0.75]).astype(dtype)
        wide = xp.asnumpy(function(*(xp.asarray(x.astype(np.float32)) for _ in range(row.arity))))
        assert_same_bits(xp.asnumpy(function(*(xp.asarray(x) for _ in range(row.arity)))), wide.astype(dtype))
    for dtype in ("bool", "int8", "uint64") if every else ("int8",):
        x = np.array([0, 1]).astype(dtype)
        wide = xp.asnumpy(function(*(xp.asarray(x.astype(np.float64)) for _ in range(row.arity))))
        assert_same_bits(xp.asnumpy(function(*(xp.asarray(x) for _ in range(row.arity)))), wide)
    with pytest.raises(TypeError, match=row.name):
        function(*[xp.ones(3, dtype=xp.complex64)] * row.arity)
    with pytest.raises(TypeError, match=row.name):
        function(*[np.ones(2)] * row.arity)


def test_public_names(xp):
    """Every row of the table, and functions of axes, under SciPy's names and parameters."""
    assert set(xp.special.__all__) == {*IDS, "logsumexp", "softmax", "log_softmax"}
    for name in xp.special.__all__:
        assert getattr(xp.special, name).__name__ == name
        assert hasattr(scipy.special, name) or name == "riemann_zeta"
    assert_same_bits(
        np.asarray(xp.special.zeta(xp.asarray([0.5]))), np.asarray(xp.special.riemann_zeta(xp.asarray([0.5])))
    )


def test_operands_broadcast(xp, rng):
    x, y = rng.uniform(size=(4, 1, 3)), rng.uniform(size=(2, 1))
    got = xp.special.rel_entr(xp.asarray(x), xp.asarray(y))
    np.testing.assert_allclose(np.asarray(got), scipy.special.rel_entr(x, y), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(xp.special.xlogy(xp.asarray(x), 2)), scipy.special.xlogy(x, 2), rtol=1e-14)
    with pytest.raises(ValueError, match="xlogy"):
        xp.special.xlogy(xp.ones(3), xp.ones(4))


def test_scipy_calls_ours():
    """`scipy.special` hands our arrays to our functions: nothing passes through the host."""
    program = """
import nbx_array as xp, scipy.special
x = xp.realize(xp.asarray([0.25, 0.5]))
before = xp.counters()
y = scipy.special.erf(x) + scipy.special.xlogy(x, x) + scipy.special.ndtri(x) + scipy.special.i0e(x)
assert isinstance(y, xp.Array)
xp.realize(y)
assert (xp.counters() - before)["bytes_to_host"] == 0
"""
    subprocess.run([sys.executable, "-P", "-c", program], env=os.environ | {"SCIPY_ARRAY_API": "1"}, check=True)


# ------------------------------------------------------------------------------------------------- sums over axes

AXES = [None, -1, (0, 2)]


@pytest.mark.parametrize(("axis", "dtype"), [*((axis, "float64") for axis in AXES), (0, "float32")], ids=str)
def test_logsumexp(axis, dtype, xp, rng):
    a = (rng.standard_normal((3, 1, 5)) * 300).astype(dtype)
    b = rng.standard_normal((3, 4, 5)).astype(dtype)
    b[0, 1, 1:] = 0
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for keepdims in (True, False):
        for weights in (None, b):
            device_weights = None if weights is None else xp.asarray(weights)
            options = {"axis": axis, "keepdims": keepdims, "return_sign": True}
            got = xp.special.logsumexp(xp.asarray(a), b=device_weights, **options)
            wanted = scipy.special.logsumexp(a, b=weights, **options)
            for ours, theirs in zip(got, wanted, strict=True):
                assert ours.dtype == dtype
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=tolerance, atol=tolerance, strict=keepdims)


@pytest.mark.parametrize("values", [[1000.0, 1000.0], [-np.inf, -np.inf], [np.inf, 1.0], [np.nan, 1.0], [1e-20, -60.0]])
@np.errstate(all="ignore")
def test_sums_of_hard_values(values, xp):
    x = xp.asarray(values)
    for name in ("logsumexp", "softmax", "log_softmax"):
        got = np.asarray(getattr(xp.special, name)(x))
        np.testing.assert_allclose(got, getattr(scipy.special, name)(np.array(values)), rtol=1e-14, err_msg=name)
    np.testing.assert_allclose(float(xp.special.logsumexp(xp.asarray([1.0, 1.0]), b=xp.asarray([1.0, -1.0]))), -np.inf)
    assert np.isnan(float(xp.special.logsumexp(xp.asarray([1.0, 2.0]), b=xp.asarray([1.0, -1.0]))))


def test_logsumexp_of_nothing_and_of_integers(xp):
    assert float(xp.special.logsumexp(xp.zeros(0))) == -np.inf
    assert xp.special.logsumexp(xp.zeros((0, 3)), axis=0).shape == (3,)
    np.testing.assert_allclose(float(xp.special.logsumexp(xp.asarray([1, 2, 3]))), scipy.special.logsumexp([1, 2, 3]))
    for name in ("logsumexp", "softmax", "log_softmax"):
        with pytest.raises(TypeError, match=name):
            getattr(xp.special, name)(np.ones(1))
        with pytest.raises(TypeError, match=name):
            getattr(xp.special, name)(xp.ones(3, dtype=xp.complex64))


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_softmax(axis, xp, rng):
    a = rng.standard_normal((3, 2, 5)) * 300
    for name in ("softmax", "log_softmax"):
        got = np.asarray(getattr(xp.special, name)(xp.asarray(a), axis=axis))
        np.testing.assert_allclose(got, getattr(scipy.special, name)(a, axis=axis), rtol=1e-12, atol=1e-300)
    assert nbx_array.special is xp.special


@pytest.mark.parametrize(
    "a, b, x",
    [
        (221.18731556466227, 2.0184083518767695, 0.9906002785121568),  # 1,466 units off with a fraction of 21 terms
        (669.2345995082524, 1.4751937268474693, 0.9974744737386256),  # 744,301
        (1196.6240720652506, 210.79807993721005, 0.8502134070274773),  # 11,664
        (24000.0, 165.0, 0.99299),
    ],
)
def test_the_incomplete_beta_function_near_its_mean(a, b, x, xp):
    """There its continued fraction converges most slowly."""
    with mpmath.workdps(50):
        wanted = mpmath.betainc(a, b, 0, x, regularized=True)
        for dtype in (xp.float64, xp.float32):
            if dtype in xp.__array_namespace_info__().dtypes().values():
                given = [xp.asarray(v, dtype=dtype) for v in (a, b, x)]
                if dtype == xp.float32:
                    wanted = mpmath.betainc(*(float(v) for v in given[:2]), 0, float(given[2]), regularized=True)
                error = abs(float(xp.special.betainc(*given)) - wanted) / np.spacing(np.dtype(dtype).type(wanted))
                assert error <= 10


@pytest.mark.parametrize("name", ["beta", "betaln"])
def test_poles_of_the_beta_function(name, xp):
    """Of large integers, too, where SciPy's convention ends with 32 bits."""
    poles = [0, -1, -20, -1000, -(10**6), 2 - 2**31, 1 - 2**31, -(2**31), -(2**40), -(2**62)]
    numbers = [1, 2, 3, 50, 10**5, 2 * 10**9]
    a, b = np.array(list(itertools.product(poles, numbers)) + list(itertools.product(numbers, poles))).T
    wanted = getattr(scipy.special, name)(a, b)
    got = xp.asnumpy(getattr(xp.special, name)(xp.asarray(a), xp.asarray(b)))
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if got.dtype == np.float32 else 1e-8)


def test_the_beta_function_of_negative_numbers_far_out(xp):
    """Infinite for infinity, as in SciPy, and NaN, its logarithm too, where it is documented not to be found."""
    y = np.array([-0.5, -1.5, -300.5, -1e-20])
    np.testing.assert_array_equal(xp.special.beta(xp.asarray(y), np.inf), scipy.special.beta(y, np.inf))
    np.testing.assert_array_equal(xp.special.betaln(np.inf, xp.asarray(y)), np.inf)
    a, b = xp.asarray([-300.5, -300.5, -1000.5, -200.25]), xp.asarray([2.0, 400.0, 1e5, -100.5])
    for function in (xp.special.beta, xp.special.betaln):
        assert np.isnan(np.asarray(function(a, b))).all()


@pytest.mark.parametrize("name", ["beta", "poch"])
def test_falling_quotients_of_large_arguments(name, xp, rng):
    """Their sum is rounded, and what is left out of it counts; Γ of the negative one may be below the dtype's range."""
    for dtype, least in ((np.float64, -250), (np.float32, -60)):
        if np.dtype(dtype) not in xp.__array_namespace_info__().dtypes().values():
            continue
        a = np.concatenate([rng.uniform(-least, -2 * least, 30), 10 ** rng.uniform(2.5, 6, 30)]).astype(dtype)
        b = (least * rng.uniform(0, 1, 60)).astype(dtype)
        a, b = a[a + b >= 9], b[a + b >= 9]
        got = xp.asnumpy(getattr(xp.special, name)(xp.asarray(a), xp.asarray(b)))
        with mpmath.workdps(50):
            for x, y, value in zip(a.astype(float), b.astype(float), got, strict=True):
                s = mpmath.mpf(x) + mpmath.mpf(y)
                exact = mpmath.gammaprod([x, y], [s]) if name == "beta" else mpmath.gammaprod([s], [x])
                if np.finfo(dtype).tiny < abs(exact) < np.finfo(dtype).max:
                    error = abs(float((mpmath.mpf(float(value)) - exact) / exact))
                    assert error <= 4 * np.finfo(dtype).eps
