"""Statistical functions, searching and utility functions that reduce, against NumPy and exact sums."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = BOOL + SIGNED + UNSIGNED + FLOATS
ALL = REAL + COMPLEX

FUNCTIONS = {
    "sum": ALL,
    "prod": ALL,
    "mean": ALL,
    "var": ALL,
    "std": ALL,
    "max": REAL,
    "min": REAL,
    "argmax": REAL,
    "argmin": REAL,
    "count_nonzero": ALL,
    "any": ALL,
    "all": ALL,
}

# Shapes with axes: none, one, several; lengths around the sides of tiles, primes, rows and columns that are short.
CASES = [
    ((), None),
    ((1,), 0),
    ((5,), None),
    ((1023,), 0),
    ((4097,), None),
    ((70001,), None),
    ((7, 5), 1),
    ((7, 5), -2),
    ((1031, 3), 1),
    ((3, 1031), 0),
    ((33, 65), 1),
    ((65, 33), 0),
    ((3, 127, 4), 1),
    ((9, 101, 66), 1),
    ((2, 3, 4, 5), (0, 2)),
    ((2, 3, 4, 5), (-1, 1)),
    ((4, 1, 6), ()),
    ((2, 5000), 1),
    ((5000, 2), 0),
]


def make(rng, dtype, shape):
    """Numbers without surprises: small enough that products stay finite."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.9
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 9, size=shape, endpoint=True).astype(dtype)
    values = rng.normal(size=shape)
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values, dtype=dtype)


def check(name, got, host, axis, *, keepdims=False):
    """Compare with NumPy: exactly for integers and choices, within a rounding bound for sums."""
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        expected = np.asarray(function(host, axis=axis, keepdims=keepdims))
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    result = np.asarray(got)
    if expected.dtype.kind in "biu" or name in ("max", "min"):
        np.testing.assert_array_equal(result, expected)
        return
    wide = host.astype(np.clongdouble if host.dtype.kind == "c" else np.longdouble)
    with np.errstate(all="ignore"):
        exact = np.asarray(function(wide, axis=axis, keepdims=keepdims))
        scale = np.asarray(np.sum(abs(wide), axis=axis, keepdims=keepdims))
    count = max(host.size // max(exact.size, 1), 1)
    if name == "mean":
        scale = scale / count
    elif name != "sum":
        scale = abs(exact)
    limits = np.finfo(expected.dtype)
    steps = 3 * (count if name == "prod" else 8 + math.log2(count))
    bound = steps * float(limits.eps) * scale + float(limits.smallest_subnormal)
    in_range = abs(exact) <= limits.max
    assert (abs(result - exact)[in_range] <= bound[in_range]).all()
    assert (~np.isfinite(result[~in_range])).all()


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, dtypes in FUNCTIONS.items() for dtype in dtypes])
def test_dtypes(xp, rng, name, dtype):
    for shape, axis in ((2, 70001), 1), ((9, 101, 66), 1):
        host = make(rng, dtype, shape)
        if name == "prod" and host.dtype.kind in "fc":
            host = (host / abs(host)).astype(dtype)  # of length 1, so that no product overflows
        check(name, getattr(xp, name)(xp.asarray(host), axis=axis), host, axis)


@pytest.mark.parametrize(
    ("name", "shape", "axis"),  # one of each kind of state; the forms are shared
    [
        (name, *case)
        for name in ("sum", "argmax", "var")
        for case in CASES
        if name != "argmax" or type(case[1]) is not tuple
    ],
)
def test_shapes(xp, rng, name, shape, axis):
    host = make(rng, "float64", shape)
    check(name, getattr(xp, name)(xp.asarray(host), axis=axis), host, axis)
    check(name, getattr(xp, name)(xp.asarray(host), axis=axis, keepdims=True), host, axis, keepdims=True)


LAYOUTS = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "every second": lambda x: x[::2, 1::3],
    "a piece": lambda x: x[3:40, 5:70],
    "columns first": lambda x: x[:, ::-2],
    "one row": lambda x: x[5:6, :],
}


@pytest.mark.parametrize("name", ["sum", "argmin"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_strides(xp, rng, name, layout, axis):
    host = make(rng, "float32", (67, 131))
    view = LAYOUTS[layout]
    check(name, getattr(xp, name)(view(xp.asarray(host)), axis=axis), view(host), axis)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1)])
def test_zero_strides(xp, rng, axis):
    host = make(rng, "float32", (5, 1, 300))
    stretched = np.broadcast_to(host, (5, 41, 300))
    ours = xp.broadcast_to(xp.asarray(host), (5, 41, 300))
    for name in "sum", "std":
        check(name, getattr(xp, name)(ours, axis=axis), stretched, axis)


def test_all_orders_of_axes(xp, rng):
    host = make(rng, "float32", (6, 40, 11, 9))
    ours = xp.asarray(host)
    for order in (0, 1, 2, 3), (3, 1, 0, 2), (2, 0, 3, 1):
        for axis in None, 0, 1, (0, 3), (1, 2), (0, 1, 3):
            turned, mine = host.transpose(order), xp.permute_dims(ours, order)
            check("sum", xp.sum(mine, axis=axis), turned, axis)
            if not isinstance(axis, tuple):
                check("argmax", xp.argmax(mine, axis=axis), turned, axis)


def test_expressions_are_read_inside(xp, rng):
    host = make(rng, "float32", (300, 500))
    x = xp.asarray(host)
    for axis in None, 0, 1:
        mean = xp.mean(x, axis=axis, keepdims=True)
        fused = xp.sum((x - mean) ** 2, axis=axis)
        realised = xp.sum(xp.realize((x - mean) ** 2), axis=axis)
        exact = ((host - host.astype(np.float64).mean(axis=axis, keepdims=True)) ** 2).sum(axis=axis)
        np.testing.assert_allclose(np.asarray(fused), exact, rtol=3e-6)
        np.testing.assert_allclose(np.asarray(fused), np.asarray(realised), rtol=1e-6)
        np.testing.assert_array_equal(
            np.asarray(xp.max(x * 2 - mean, axis=axis)), np.asarray(xp.max(xp.realize(x * 2 - mean), axis=axis))
        )


def test_expression_of_mixed_dtypes(xp, rng):
    a, b = make(rng, "int16", (50, 70)), make(rng, "float64", (70,))
    for axis in None, 0, 1:
        got = xp.sum(xp.where(xp.asarray(a) > 2, xp.asarray(a) * xp.asarray(b), 1.5), axis=axis)
        np.testing.assert_allclose(np.asarray(got), np.where(a > 2, a * b, 1.5).sum(axis=axis), rtol=1e-13, atol=1e-12)


def test_filled_expression(xp):
    assert float(xp.sum(xp.full((100, 101), 0.5))) == 5050.0
    np.testing.assert_array_equal(np.asarray(xp.sum(xp.ones((4, 300)), axis=1)), np.full(4, 300.0))


def test_reading_a_pending_operand_leaves_it_pending_and_right(xp):
    x = xp.asarray(np.arange(10.0))
    y = x * 2
    total = xp.sum(y)
    x[0] = 100.0
    assert float(total) == 90.0
    np.testing.assert_array_equal(np.asarray(y), 2 * np.arange(10.0))


# ------------------------------------------------------------------------------------------------------ special values


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [4, 33, 5000])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_first_nan_is_found(xp, rng, name, length, dtype):
    function = getattr(xp, name)
    host = make(rng, dtype, (3, length))
    places = [length // 2, length - 1, 1]
    for line, place in enumerate(places):
        host[line, place] = np.nan
    host[0, place:] = host[0, place:]
    host[2, length - 1] = np.nan  # a later one
    x = xp.asarray(host)
    np.testing.assert_array_equal(np.asarray(function(x, axis=1)), places)
    np.testing.assert_array_equal(np.asarray(function(x.T, axis=0)), places)
    assert int(function(x)) == places[0]
    assert np.isnan(float(xp.max(x))) and np.isnan(float(xp.min(x)))
    assert np.isnan(np.asarray(xp.max(x, axis=1))).all()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_first_of_equals(xp, name):
    function = getattr(xp, name)
    for length in 1, 2, 63, 64, 65, 1000, 70000:
        assert int(function(xp.zeros(length))) == 0
        assert int(function(xp.full(length, -np.inf))) == 0
        assert int(function(xp.full(length, np.inf))) == 0
        assert int(function(xp.full(length, -128, dtype=xp.int8))) == 0
    zeros = np.array([0.0, -0.0, 0.0, -0.0])
    assert int(function(xp.asarray(zeros))) == int(function(xp.asarray(-zeros))) == 0


@pytest.mark.parametrize("length", [65, 101, 127])
def test_argmax_over_a_middle_axis(xp, rng, length):
    for shape in ((3, length, 5), (2, length, 300), (40, length, 1)):
        for dtype in "float32", "uint64":
            host = make(rng, dtype, shape)
            for name in "argmax", "argmin":
                check(name, getattr(xp, name)(xp.asarray(host), axis=1), host, 1)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED + FLOATS)
def test_extremes_of_the_dtype(xp, dtype):
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    host = np.array(
        [[limits.min, limits.max, 1, 0, limits.max], [1, 0, limits.min, limits.max, limits.min]], dtype=dtype
    )
    for axis in None, 1:
        for name in "max", "min", "argmax", "argmin":
            check(name, getattr(xp, name)(xp.asarray(host), axis=axis), host, axis)
    lowest = np.full(3, limits.min, dtype=dtype)
    assert xp.max(xp.asarray(lowest)) == limits.min and int(xp.argmax(xp.asarray(lowest))) == 0


def test_infinities(xp):
    host = np.array([[np.inf, 1.0, -np.inf], [-np.inf, -np.inf, 2.0], [np.inf, np.inf, 0.0]], dtype=np.float32)
    for name in FUNCTIONS:
        for axis in None, 1:
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(host, axis=axis)
            np.testing.assert_array_equal(np.asarray(getattr(xp, name)(xp.asarray(host), axis=axis)), expected)


def test_zeros_with_signs(xp):
    for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0] * 70000 + [0.0]):
        x = xp.asarray(np.array(values))
        assert not np.signbit(float(xp.max(x)))
        assert np.signbit(float(xp.min(x)))
    assert not np.signbit(float(xp.sum(xp.asarray(np.array([-0.0, -0.0])))))


def test_subnormals_are_kept(xp):
    tiny = np.full(1000, 1e-45, dtype=np.float32)
    assert float(xp.sum(xp.asarray(tiny))) == 1000 * float(tiny[0])
    assert float(xp.max(xp.asarray(-tiny))) == -float(tiny[0])


def test_truth(xp, rng):
    host = np.zeros((70, 300), dtype=np.float32)
    host[3, 299] = np.nan
    host[69] = -0.5
    for axis in None, 0, 1:
        for name in "any", "all", "count_nonzero":
            check(name, getattr(xp, name)(xp.asarray(host), axis=axis), host, axis)
    assert bool(xp.any(xp.asarray(np.array([0, 0, 1j]))))


# ------------------------------------------------------------------------------------------------------------- accuracy


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1000, 65537, 10_000_000])
def test_sum_is_as_accurate_as_pairwise(xp, rng, dtype, length):
    host = rng.random(length).astype(dtype) if dtype == "float64" else rng.random(length, dtype=np.float32)
    x = xp.asarray(host)
    exact = math.fsum(host.tolist())
    eps = float(np.finfo(dtype).eps)
    assert abs(float(xp.sum(x)) - exact) <= 3 * eps * exact
    assert abs(float(xp.mean(x)) - exact / length) <= 3 * eps * exact / length
    signed = host - host.dtype.type(0.5)
    exact = math.fsum(signed.tolist())
    assert abs(float(xp.sum(xp.asarray(signed))) - exact) <= (8 + math.log2(length)) * eps * float(abs(signed).sum())


def test_sums_of_integers_are_exact(xp, rng):
    for dtype in SIGNED + UNSIGNED:
        limits = np.iinfo(dtype)
        host = rng.integers(limits.min, limits.max, size=(2, 70001), dtype=dtype, endpoint=True)
        check("sum", xp.sum(xp.asarray(host), axis=1), host, 1)
        check("prod", xp.prod(xp.asarray(host | 1), axis=1), host | 1, 1)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_variance_reads_once(xp, rng, dtype):
    host = make(rng, dtype, (5, 300)) + 1000
    x = xp.realize(xp.asarray(host))
    for axis in (None, 0, 1):
        before = xp.counters()
        got = xp.var(x, axis=axis)
        assert (xp.counters() - before)["launches"] == 1
        np.testing.assert_allclose(
            xp.asnumpy(got), np.var(host.astype(np.complex128), axis=axis), rtol=1e-6 if dtype == "complex64" else 1e-14
        )


def test_no_cancellation_in_variance(xp):
    pair = np.array([2281.5, 2281.25], dtype=np.float32)
    assert float(xp.var(xp.asarray(pair), correction=1)) == 0.03125
    np.testing.assert_array_equal(np.asarray(xp.var(xp.asarray(pair)[None, :], axis=1, correction=1)), [0.03125])
    np.testing.assert_array_equal(np.asarray(xp.var(xp.asarray(pair)[:, None], axis=0, correction=1)), [0.03125])


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("length", [50, 3000, 200_000])
def test_variance_far_from_zero(xp, rng, offset, length):
    host = (rng.normal(size=(2, length)) + offset).astype(np.float32)
    host[0, 0] = 0  # an outlier first: no shift by the first element helps
    wide = host.astype(np.float64)
    for axis in None, 1:
        exact = wide.var(axis=axis)
        np.testing.assert_allclose(np.asarray(xp.var(xp.asarray(host), axis=axis)), exact, rtol=3e-6)
        np.testing.assert_allclose(np.asarray(xp.std(xp.asarray(host), axis=axis)), np.sqrt(exact), rtol=3e-6)
    clean = xp.asarray(host[:, 1:])
    np.testing.assert_allclose(np.asarray(xp.var(clean, axis=1)), wide[:, 1:].var(axis=1), rtol=3e-6)


def test_constant_has_no_variance(xp):
    for value in 0.1, 1e15, -3.7:
        assert float(xp.var(xp.full(100_001, value, dtype=xp.float32))) <= (1e-6 * value) ** 2


@pytest.mark.parametrize("correction", [0, 1, 1.5, 4, 5])
def test_correction(xp, correction):
    host = np.array([1.0, 2.0, 4.0, 9.0])
    with np.errstate(all="ignore"), pytest.warns() if correction >= 4 else _no_warning():
        expected = np.var(host, ddof=correction)
    np.testing.assert_allclose(float(xp.var(xp.asarray(host), correction=correction)), expected)


def _no_warning():
    import contextlib

    return contextlib.nullcontext()


def test_float16_is_accumulated_in_float32(xp):
    assert float(xp.mean(xp.asarray(np.full(3, 40000, dtype=np.float16)))) == 40000
    ones = xp.asarray(np.ones(60000, dtype=np.float16))
    assert float(xp.sum(ones)) == 60000
    assert float(xp.mean(ones)) == 1


def test_bfloat16(xp):
    x = xp.astype(xp.asarray(np.arange(1000, dtype=np.float32) % 7), xp.bfloat16)
    assert xp.sum(x).dtype == xp.bfloat16
    assert float(xp.sum(x[:21])) == 63
    assert float(xp.max(x)) == 6 and int(xp.argmax(x)) == 6


def test_results_repeat_whatever_the_number_of_threads():
    program = (
        "import numpy as np, nbx_array as xp, hashlib;"
        "x = xp.asarray(np.random.default_rng(1).normal(size=(1001, 1003)).astype(np.float32), device='cpu');"
        "results = [f(y, axis=a) for f in (xp.sum, xp.var, xp.max) for y in (x, x * x + 1, x.T) for a in (None, 0, 1)];"
        "print(hashlib.sha256(b''.join(np.asarray(r).tobytes() for r in results)).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NBX_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5", "2")
    }
    assert len(digests) == 1


def test_more_elements_than_32_bits_count(xp):
    values = xp.asarray(np.array([[0], [0], [1]], dtype=np.int8))
    x = xp.broadcast_to(values, (3, 2**30))
    assert int(xp.argmax(x)) == 2**31
    assert int(xp.argmin(x[2:, :])) == 0
    assert int(xp.sum(x + 1)) == 4 * 2**30
    np.testing.assert_array_equal(np.asarray(xp.count_nonzero(x, axis=1)), [0, 0, 2**30])


# ---------------------------------------------------------------------------------------------------------- dtype rules


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_result_dtypes(xp, name):
    function = getattr(xp, name)
    for dtype in BOOL + SIGNED:
        assert function(xp.ones(3, dtype=getattr(xp, dtype))).dtype == xp.int64
    for dtype in UNSIGNED:
        assert function(xp.ones(3, dtype=getattr(xp, dtype))).dtype == xp.uint64
    for dtype in FLOATS + COMPLEX:
        assert function(xp.ones(3, dtype=getattr(xp, dtype))).dtype == getattr(xp, dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_dtype_argument(xp, rng, name, dtype):
    for source in "int16", "float32", "bool":
        host = make(rng, source, (3, 40)) if name == "sum" else np.ones((3, 40), dtype=source)
        got = getattr(xp, name)(xp.asarray(host), axis=1, dtype=getattr(xp, dtype))
        expected = getattr(np, name)(host, axis=1, dtype=dtype)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(
            np.asarray(got),
            expected,
            rtol=2e-2 if dtype == "float16" else 1e-5,
            atol=1e-2 if dtype == "float16" else 1e-4,
        )


# ------------------------------------------------------------------------------------------------------- sizes of zero


def test_no_elements(xp):
    def empty(shape, dtype="float64"):
        return xp.zeros(shape, dtype=getattr(xp, dtype))

    assert float(xp.sum(empty(0))) == 0 and float(xp.prod(empty(0))) == 1
    assert xp.sum(empty(0, "uint8")).dtype == xp.uint64
    for name in "mean", "var", "std":
        assert np.isnan(float(getattr(xp, name)(empty(0))))
    assert not bool(xp.any(empty(0, "bool"))) and bool(xp.all(empty(0)))
    assert int(xp.count_nonzero(empty(0))) == 0
    np.testing.assert_array_equal(np.asarray(xp.sum(empty((0, 2)), axis=0)), [0, 0])
    np.testing.assert_array_equal(np.asarray(xp.all(empty((0, 2)), axis=0)), [True, True])
    for name in "max", "min":
        function, ufunc = getattr(xp, name), {"max": "maximum", "min": "minimum"}[name]
        assert function(empty((0, 2)), axis=1).shape == (0,)
        with pytest.raises(
            ValueError, match=f"{name}: zero-size array to reduction operation {ufunc} which has no identity"
        ):
            function(empty((0, 2)), axis=0)
        with pytest.raises(ValueError, match="no identity"):
            function(empty(0))
    for name in "argmax", "argmin":
        function = getattr(xp, name)
        assert function(empty((0, 2)), axis=1).shape == (0,)
        with pytest.raises(ValueError, match=f"attempt to get {name} of an empty sequence"):
            function(empty((0, 2)), axis=0)
        with pytest.raises(ValueError, match="empty sequence"):
            function(empty(0))


def test_results_stay_on_the_device(xp, device):
    x = xp.asarray(np.arange(6.0))
    before = xp.counters()
    results = [getattr(xp, name)(x) for name in FUNCTIONS]
    after = xp.counters()
    assert all(r.shape == () and r.device == device for r in results)
    assert before["synchronisations"] == after["synchronisations"]


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_input(xp, name):
    function = getattr(xp, name)
    x = xp.ones((2, 3))
    for wrong in np.ones(3), ["a"], "text", None:
        with pytest.raises(TypeError, match=f"^{name}: "):
            function(wrong)
    with pytest.raises(np.exceptions.AxisError, match=f"^{name}: axis 2 is out of bounds"):
        function(x, axis=2)
    with pytest.raises(np.exceptions.AxisError, match=f"^{name}: axis -3 is out of bounds"):
        function(x, axis=-3)
    with pytest.raises(TypeError, match=f"^{name}: axis"):
        function(x, axis=1.5)
    with pytest.raises(TypeError):
        function(x, other=0)
    if name.startswith("arg"):
        with pytest.raises(TypeError, match=f"^{name}: axis"):
            function(x, axis=(0, 1))
    else:
        with pytest.raises(ValueError, match=f"^{name}: duplicate value in 'axis'"):
            function(x, axis=(0, -2))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_has_no_order(xp, name, dtype):
    with pytest.raises(TypeError, match=f"^{name} is not defined for dtype {dtype}"):
        getattr(xp, name)(xp.ones(3, dtype=getattr(xp, dtype)))


def test_unknown_dtype_argument(xp):
    with pytest.raises(TypeError):
        xp.sum(xp.ones(3), dtype="U3")
