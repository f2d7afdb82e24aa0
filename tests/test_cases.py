"""Cases that other array libraries got wrong.

The others are where their subject is: writes, memory and chains in test_fusion.py; layouts, NumPy's functions and
conversions in test_array_object.py; indices, masks and assigned values in test_indexing.py; reductions, NaN and sizes 0
in test_statistical.py; ties, NaN, sets and needles in test_sorting.py; negative indices in test_rearranging.py; views
and copies in test_manipulation.py and test_creation.py; limits of dtypes in test_data_types.py; special complex numbers
in kernels/test_complex.py; singular and empty matrices in test_factorisations.py; long and prime lengths in
test_fft.py; versions of the standard in test_inspection.py, its signatures in test_standard.py; more than 2^32 elements
in backend/test_cuda_device.py.
"""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from table import BFLOAT16, DTYPES, ROWS, assert_near_complex, assert_same_bits, kind

INTEGERS = [name for name, dtype in DTYPES.items() if kind(dtype) in "iu"]
FLOATS = ["float32", "float64"]


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts_beyond_the_width(name, xp):
    """0 or -1, whatever the processor's shift does with its count."""
    dtype = DTYPES[name]
    info = np.iinfo(dtype)
    values = np.array([0, 1, 5, info.max, info.min, info.max // 3], dtype)
    shifts = [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100]
    for shift in shifts:
        right = [int(v) >> shift for v in values]
        left = [(int(v) << shift) % 2**info.bits for v in values]
        signed = [v - 2**info.bits if v > info.max else v for v in left]
        for amount in (shift, xp.asarray([shift], dtype=dtype)):
            assert (xp.asarray(values) >> amount).tolist() == right
            assert (xp.asarray(values) << amount).tolist() == signed


_INF, _NAN = float("inf"), float("nan")
# What the standard says of floats where an operand is zero or infinite: x1, x2, floor_divide, remainder.
DIVISIONS = [
    *((x, y, _NAN, _NAN) for x in (_INF, -_INF) for y in (_INF, -_INF)),
    *((x, y, _NAN, _NAN) for x in (0.0, -0.0) for y in (0.0, -0.0)),
    *((x, _NAN, _NAN, _NAN) for x in (0.0, -0.0, 2.5, -2.5, _INF, -_INF, _NAN)),
    *((_NAN, y, _NAN, _NAN) for y in (0.0, -0.0, 2.5, -2.5, _INF, -_INF)),
    *((0.0, y, 0.0, 0.0) for y in (2.5, _INF)),
    *((-0.0, y, -0.0, 0.0) for y in (2.5, _INF)),
    *((0.0, y, -0.0, -0.0) for y in (-2.5, -_INF)),
    *((-0.0, y, 0.0, -0.0) for y in (-2.5, -_INF)),
    *((x, 0.0, _INF, _NAN) for x in (2.5, _INF)),
    *((x, -0.0, -_INF, _NAN) for x in (2.5, _INF)),
    *((x, 0.0, -_INF, _NAN) for x in (-2.5, -_INF)),
    *((x, -0.0, _INF, _NAN) for x in (-2.5, -_INF)),
    (_INF, 2.5, _INF, _NAN),
    (_INF, -2.5, -_INF, _NAN),
    (-_INF, 2.5, -_INF, _NAN),
    (-_INF, -2.5, _INF, _NAN),
    (2.5, _INF, 0.0, 2.5),
    (2.5, -_INF, -0.0, -_INF),
    (-2.5, _INF, -0.0, _INF),
    (-2.5, -_INF, 0.0, -2.5),
    (2.0**15, 2.0**-15, 2.0**30, 0.0),
    (-3.0, 2.0, -2.0, 1.0),
    (3.0, -2.0, -2.0, -1.0),
]


@pytest.mark.parametrize("name", ["float16", "bfloat16", *FLOATS])
def test_division_with_zeros_and_infinities(name, xp):
    """`floor_divide` and `remainder` as functions, operators, in place, with scalars, within an expression."""
    dtype = DTYPES[name]
    with np.errstate(over="ignore"):
        x, y, quotient, rest = (np.array(column).astype(dtype) for column in zip(*DIVISIONS, strict=True))
    for function, op, in_place, wanted in (
        (xp.floor_divide, operator.floordiv, operator.ifloordiv, quotient),
        (xp.remainder, operator.mod, operator.imod, rest),
    ):
        a, b = xp.asarray(x), xp.asarray(y)
        results = [
            function(a, b),
            op(a, b),
            in_place(xp.asarray(x), b),
            op(a * 1.0, b + -0.0),
            -(-op(a[::-1], b[::-1]))[::-1],
        ]
        for result in results:
            assert_same_bits(xp.asnumpy(result), wanted)
        for left, right, answer in zip(x, y, wanted, strict=True):
            for result in (
                op(xp.asarray(left), xp.asarray(right)),
                op(xp.asarray(left), float(right)),
                op(float(left), xp.asarray(right)),
            ):
                assert_same_bits(xp.asnumpy(result), np.asarray(answer))


def test_integer_powers_are_exact(xp):
    assert int(xp.asarray(123456789) ** 2) == 123456789**2
    assert int(xp.asarray([3])[0] ** xp.asarray(39)) == 3**39
    assert (xp.asarray([7, 2], dtype=xp.uint64) ** 22).tolist() == [7**22, 2**22]
    assert int(xp.asarray(10, dtype=xp.int8) ** 3) == np.int8(1000 - 1024)


@pytest.mark.parametrize("name", ["int8", "uint8"])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow")
def test_every_quotient_of_bytes(name, xp):
    """Python's signs; 0 for a divisor 0; -128 // -1 wraps."""
    info = np.iinfo(name)
    every = np.arange(info.min, info.max + 1).astype(name)
    x, y = every[:, None], every
    assert_same_bits(xp.asnumpy(xp.asarray(x) // xp.asarray(y)), x // y)
    assert_same_bits(xp.asnumpy(xp.asarray(x) % xp.asarray(y)), x % y)
    if name == "int8":
        assert int((xp.asarray(x) // xp.asarray(y))[0, 127]) == -128
        for p, q in itertools.product((-7, -1, 5, 100), (-3, -1, 2, 13)):
            assert int(xp.asarray(p, dtype=xp.int8) // q) == p // q
            assert int(xp.asarray(p, dtype=xp.int8) % q) == p % q


@pytest.mark.parametrize("name", INTEGERS)
def test_divisors_that_trap(name, xp):
    dtype = DTYPES[name]
    low = np.iinfo(dtype).min
    x = xp.asarray(np.full(100, low, dtype))
    divisor = xp.asarray(np.full(100, 0 if low == 0 else -1, dtype))
    assert (x // divisor).tolist() == [low] * 100
    assert (x % divisor).tolist() == [0] * 100
    assert (x // 0).tolist() == (x % 0).tolist() == [0] * 100


@pytest.mark.parametrize("name", FLOATS)
def test_signs(name, xp):
    x = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 1e-40, -3], name)
    assert_same_bits(xp.asnumpy(xp.sign(xp.asarray(x))), np.array([np.nan, 0, 0, 1, -1, 1, -1], name), zeros=False)
    z = xp.asarray(np.array([0j, 3 - 4j, -2 + 0j], "complex64" if name == "float32" else "complex128"))
    np.testing.assert_allclose(xp.asnumpy(xp.sign(z)), [0, 0.6 - 0.8j, -1], rtol=1e-6)


def test_scalars_keep_float32(xp):
    x = xp.ones(3, dtype=xp.float32)
    for result in (
        x / 2,
        2 / x,
        x + 1.5,
        x**2,
        2**x,
        x // 3,
        x % 3,
        x * np.float32(2),
        xp.atan2(x, 1.0),
        xp.where(x > 0, x, 0),
    ):
        assert result.dtype == np.float32
    assert (x * np.float64(2)).dtype == np.float64


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_the_imaginary_axis(name, xp):
    dtype = DTYPES[name]
    for y in (0.0, 0.5, -2.0, 50.0):
        z = xp.asarray(np.array([complex(0, y)], dtype))
        part = dtype.type(0).real.dtype.type
        for function, wanted in [
            ("sin", complex(0, np.sinh(y))),
            ("cos", complex(np.cosh(y), 0)),
            ("sinh", complex(0, np.sin(y))),
            ("cosh", complex(np.cos(y), 0)),
            ("tan", complex(0, np.tanh(y))),
            ("exp", complex(np.cos(y), np.sin(y))),
        ]:
            got = xp.asnumpy(getattr(xp, function)(z))
            assert_near_complex(got, np.array([wanted], dtype), 4)
            if function in ("sin", "sinh", "tan"):
                assert got.real[0] == part(0)
    large = xp.asarray(np.array([100j if name == "complex64" else 1000j], dtype))
    sine, cosine = xp.asnumpy(xp.sin(large))[0], xp.asnumpy(xp.cos(large))[0]
    assert (sine.real, sine.imag) == (0, np.inf)
    assert (cosine.real, abs(cosine.imag)) == (np.inf, 0)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_division_near_the_limits(name, xp):
    dtype = DTYPES[name]
    info = np.finfo(dtype)
    small = complex(1e-36 if name == "complex64" else 1e-300)
    numerators = np.array([0, small, info.max, info.max / 2 * (1 + 1j), info.tiny * (1 - 1j), small * 1j, 1], dtype)
    denominators = np.array(
        [small, small, info.max, info.max / 2 * (1 + 1j), info.tiny, small * (1 + 1j), info.max], dtype
    )
    got = xp.asnumpy(xp.asarray(numerators) / xp.asarray(denominators))
    wanted = np.array([0, 1, 1, 1, 1 - 1j, 0.5 + 0.5j, 1 / info.max], dtype)
    assert_near_complex(got, wanted, 4)


@pytest.mark.parametrize("name", FLOATS)
def test_hypot_at_the_limits(name, xp):
    dtype = DTYPES[name]
    largest, tiny = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    x = np.array([largest, np.inf, np.nan, -np.inf, largest, tiny, 3 * tiny, 0, largest / 2], dtype)
    y = np.array([1, np.nan, np.inf, 0, largest, 0, 4 * tiny, -0.0, largest / 2], dtype)
    got = xp.asnumpy(xp.hypot(xp.asarray(x), xp.asarray(y)))
    with np.errstate(over="ignore"):
        wanted = np.array(
            [largest, np.inf, np.inf, np.inf, np.inf, tiny, 5 * tiny, 0, largest / 2 * np.sqrt(2.0)]
        ).astype(dtype)
    np.testing.assert_array_max_ulp(got[:-1], wanted[:-1], 0)
    np.testing.assert_array_max_ulp(got[-1:], wanted[-1:], 1)


def test_functions_of_huge_and_hard_arguments(xp):
    """Large angles are reduced exactly; log1p and expm1 keep small arguments."""
    x = xp.asarray([1e22, 1e300, 2.0**1000])
    np.testing.assert_allclose(xp.asnumpy(xp.sin(x)), np.sin([1e22, 1e300, 2.0**1000]), rtol=1e-15)
    small = xp.asarray([1e-20, -1e-300, 0.0, -0.0])
    for function in (xp.expm1, xp.log1p, xp.sin, xp.sinh, xp.tanh, xp.atan, xp.asinh):
        assert_same_bits(xp.asnumpy(function(small)), xp.asnumpy(small))
    got = xp.asnumpy(xp.asinh(xp.asarray([-4096.0], dtype=xp.float32)))
    np.testing.assert_array_max_ulp(got, np.arcsinh([-4096.0]).astype(np.float32), 2)
    assert xp.asnumpy(xp.logaddexp(xp.asarray(-np.inf), -np.inf)) == -np.inf


def test_subnormals_are_kept(xp):
    for name in FLOATS:
        tiny = np.finfo(name).smallest_subnormal
        x = xp.asarray(np.array([tiny, 3 * tiny, -tiny], name))
        assert_same_bits(xp.asnumpy(x * 1), np.array([tiny, 3 * tiny, -tiny], name))
        assert_same_bits(xp.asnumpy(x + x), np.array([2 * tiny, 6 * tiny, -2 * tiny], name))
        assert (x != 0).tolist() == [True] * 3


def test_a_freed_half_makes_room_for_more(xp):
    """A limit of 100 MB: allocate 50, delete, allocate 80 works."""
    xp.empty_cache()
    info = xp.memory_info()
    xp.memory_limit(info.live + info.cached + 100_000_000)
    try:
        for _ in range(3):
            half = xp.realize(xp.zeros(50_000_000, dtype=xp.int8))
            del half
            more = xp.realize(xp.zeros(80_000_000, dtype=xp.int8))
            del more
    finally:
        xp.memory_limit(None)


def test_indices_wrap_nowhere(xp):
    """Offsets are computed in 64 bits: a broadcast view of 2^40 elements is indexed and reduced to a corner of it."""
    x = xp.broadcast_to(xp.asarray([1, 2, 3]), (2**40, 3))
    assert x[2**40 - 1].tolist() == [1, 2, 3]
    assert x[:: 2**38, 1].tolist() == [2] * 4
    assert (x[-2:, ::-1] * 2).tolist() == [[6, 4, 2]] * 2


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize("row", [row for row in ROWS if row.arity == 1 and "f" in row.kinds], ids=lambda row: row.name)
def test_negative_zero(row, name, xp):
    """Through every function of one number, at every place of a vector."""
    x = np.full(33, -0.0, name)
    with np.errstate(all="ignore"):
        wanted = np.asarray(row.reference(x))
    assert_same_bits(xp.asnumpy(getattr(xp, row.name)(xp.asarray(x))), wanted)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_zeros_infinities_and_branch_cuts(name, xp):
    def f(function, z):
        return xp.asnumpy(getattr(xp, function)(xp.asarray(np.array(z, name))))[()]

    for z in (complex(0.0, 0.0), complex(-0.0, 0.0)):
        assert_same_bits(np.array(f("expm1", z)), np.array(0j, name))
    for z in itertools.starmap(complex, itertools.product((0.0, -0.0), repeat=2)):
        assert_same_bits(np.array(f("sign", z)), np.array(0j, name))
    for y in (0.0, 1.0, -2.0, np.inf, np.nan):
        value = f("tanh", complex(np.inf, y))
        assert (value.real, abs(value.imag)) == (1, 0)
    cuts = {
        "sqrt": [-2.0],
        "log": [-2.0],
        "log1p": [-3.0],
        "log2": [-2.0],
        "log10": [-2.0],
        "asin": [2.0, -2.0],
        "acos": [2.0, -2.0],
        "acosh": [-3.0, 0.5],
        "atanh": [2.0, -2.0],
    }
    for function, places in cuts.items():
        for x, zero in itertools.product(places, (0.0, -0.0)):
            numpy = {"asin": "arcsin", "acos": "arccos", "acosh": "arccosh", "atanh": "arctanh"}.get(function, function)
            wanted = np.array(getattr(np, numpy)(np.complex128(complex(x, zero))), name)
            got = np.array(f(function, complex(x, zero)))
            assert_near_complex(got, wanted, 4)
            assert np.signbit(got.imag) == np.signbit(wanted.imag), (function, x, zero)
    for function in ("asinh", "atan"):  # cuts on the imaginary axis
        for y, zero in itertools.product((2.0, -2.0), (0.0, -0.0)):
            wanted = np.array(getattr(np, "arc" + function[1:])(np.complex128(complex(zero, y))), name)
            got = np.array(f(function, complex(zero, y)))
            assert_near_complex(got, wanted, 4)
            assert np.signbit(got.real) == np.signbit(wanted.real), (function, y, zero)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_clip_with_nan_bounds(name, xp):
    """NaN wins, as in NumPy, and the dtype is x's."""
    dtype = DTYPES[name]
    x = np.array([-2, 0, 3, np.nan, np.inf], dtype)
    bounds = np.array([np.nan, -1, np.nan, 0, np.nan], dtype)
    for low, high in ((np.nan, None), (None, np.nan), (np.nan, 1.0), (-1.0, np.nan), (bounds, 1.0), (None, bounds)):
        ours = [xp.asarray(bound) if isinstance(bound, np.ndarray) else bound for bound in (low, high)]
        got = xp.clip(xp.asarray(x), *ours)
        assert_same_bits(xp.asnumpy(got), np.clip(x, low, high), zeros=False)


@pytest.mark.parametrize("name", ["int8", "uint8", "int64", "uint64"])
def test_clip_to_ints_beyond_the_dtype(name, xp):
    """An int that no element can pass bounds nothing; one that every element would have to pass is an OverflowError."""
    dtype, far = DTYPES[name], 2**70
    x = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    for low, high in ((-far, far), (0, far), (-far, 3), (None, far), (-far, None), (1, 2)):
        got = xp.clip(xp.asarray(x), low, high)
        assert got.dtype == dtype
        assert got.tolist() == np.clip(x, low, high).tolist()
    for low, high in ((far, None), (None, -far)):
        with pytest.raises(OverflowError):
            xp.clip(xp.asarray(x), low, high)


def test_copies_are_seen_through_writing(xp):
    """asarray, astype and reshape: what shares memory and what does not, either way round."""
    for act, shares in (
        (lambda x: xp.asarray(x), True),
        (lambda x: xp.asarray(x, copy=False), True),
        (lambda x: xp.asarray(x, copy=True), False),
        (lambda x: xp.asarray(x, dtype=x.dtype, copy=True), False),
        (lambda x: xp.astype(x, x.dtype, copy=False), True),
        (lambda x: xp.astype(x, x.dtype), False),
        (lambda x: xp.astype(x, x.dtype, copy=True), False),
        (lambda x: xp.reshape(x, (2, 2)), True),
        (lambda x: xp.reshape(x, (2, 2), copy=False), True),
        (lambda x: xp.reshape(x, (2, 2), copy=True), False),
        (lambda x: xp.reshape(x, (4,), copy=True), False),
        (lambda x: xp.from_dlpack(x, copy=True), False),
    ):
        for written_first in (True, False):
            x = xp.asarray([1, 2, 3, 4])
            y = act(x)
            first, second = (y, x) if written_first else (x, y)
            first[...] = 9
            assert int(xp.sum(second)) == (36 if shares else 10)


def test_many_dimensions(xp, rng):
    """As many as NumPy has."""
    a = rng.integers(0, 99, 8)
    for ndim in (32, 64):
        shape = (*(1,) * (ndim - 3), 2, 2, 2)
        x = xp.reshape(xp.asarray(a), shape)
        assert (x.ndim, x.shape) == (ndim, shape)
        assert_same_bits(xp.asnumpy(x * 2 + 1), (a * 2 + 1).reshape(shape))
        assert_same_bits(xp.asnumpy(xp.sum(x, axis=-2)), a.reshape(shape).sum(axis=-2))
        assert_same_bits(xp.asnumpy(xp.reshape(x, (8,))), a)
        assert x[(0,) * (ndim - 1)].shape == (2,)


def test_tuples(xp):
    """Where the standard says tuple it is one."""
    x = xp.ones((2, 3))
    info = xp.__array_namespace_info__()
    for value in (
        info.devices(),
        xp.meshgrid(x[0], x[1]),
        xp.broadcast_arrays(x, x[0]),
        xp.unstack(x),
        xp.nonzero(x),
        x.shape,
        x.__dlpack_device__(),
        xp.broadcast_shapes((2, 1), (3,)),
    ):
        assert isinstance(value, tuple)
    for value, fields in (
        (xp.unique_all(x), ("values", "indices", "inverse_indices", "counts")),
        (xp.unique_counts(x), ("values", "counts")),
        (xp.unique_inverse(x), ("values", "inverse_indices")),
        (xp.linalg.eigh(x @ x.T), ("eigenvalues", "eigenvectors")),
        (xp.linalg.eig(x @ x.T), ("eigenvalues", "eigenvectors")),
        (xp.linalg.qr(x), ("Q", "R")),
        (xp.linalg.slogdet(x @ x.T), ("sign", "logabsdet")),
        (xp.linalg.svd(x), ("U", "S", "Vh")),
    ):
        assert isinstance(value, tuple)
        assert value._fields == fields


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_initial_value_of_an_empty_axis(name, xp):
    function, reference = getattr(xp, name), getattr(np, name)
    for shape, axis in (((0,), 0), ((3, 0), 1), ((0, 3), 0), ((0, 3), 1), ((2, 0, 4), -2)):
        for dtype in ("int8", "float32", "complex128"):
            a = np.zeros(shape, dtype)
            got = function(xp.asarray(a), axis=axis, include_initial=True)
            assert_same_bits(xp.asnumpy(got), reference(a, axis=axis, include_initial=True))


def test_needles_of_any_layout(xp, rng):
    """searchsorted's result has the default index dtype and the needles' shape."""
    index = xp.__array_namespace_info__().default_dtypes()["indexing"]
    a, needles = np.sort(rng.integers(0, 50, 99)), rng.integers(-5, 55, (7, 5))
    x, y = xp.asarray(a), xp.asarray(needles)
    for side in ("left", "right"):
        for mine, theirs in (
            (y.T, needles.T),
            (y[::-2, 1::2], needles[::-2, 1::2]),
            (y[:0], needles[:0]),
            (y[0, 0], needles[0, 0]),
        ):
            got = xp.searchsorted(x, mine, side=side)
            assert got.dtype == index
            np.testing.assert_array_equal(xp.asnumpy(got), np.searchsorted(a, theirs, side=side))


def test_unique_keeps_every_nan(xp):
    a = np.array([[np.nan, 2.0, 1.0], [2.0, np.nan, -0.0]])
    values, indices, inverse, counts = xp.unique_all(xp.asarray(a))
    assert (values.tolist()[:3], np.isnan(xp.asnumpy(values)[3:]).tolist()) == ([0, 1, 2], [True, True])
    assert indices.tolist() == [5, 2, 1, 0, 4]
    assert (inverse.shape, counts.tolist()) == (a.shape, [1, 1, 2, 1, 1])
    assert_same_bits(xp.asnumpy(xp.take(values, inverse)), a)


def test_promotion_of_assigned_values(xp):
    """They take the dtype of the array, which does not change; a complex one into real numbers is NumPy's."""
    for name, dtype in DTYPES.items():
        if dtype == BFLOAT16:
            continue
        for other in ("bool", "int8", "uint8", "float32", "float64"):
            a, value = np.zeros(4, dtype), np.array([1, 0], other)
            x = xp.asarray(a)
            x[1:3] = xp.asarray(value)
            x[xp.asarray([0])] = xp.asarray(value[:1])
            a[1:3], a[[0]] = value, value[:1]
            assert x.dtype == dtype, name
            assert_same_bits(xp.asnumpy(x), a)
