"""Cases that other array libraries got wrong. Those about writes, memory and chains are in test_fusion.py, those about
layouts in test_array_object.py, those about reductions in test_statistical.py."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from table import DTYPES, assert_near_complex, assert_same_bits, kind

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
