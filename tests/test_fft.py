"""Fourier transforms against NumPy's in more precision and against the definition."""

from __future__ import annotations

import inspect
import math

import mpmath
import numpy as np
import pytest
from nbx_array.kernels import host
from numpy.exceptions import AxisError

LENGTHS = [*range(1, 71), 85, 97, 101, 127, 128, 243, 360, 1000, 1023, 1024, 1025, 4096, 4099, 65536, 65537]
NORMS = ["backward", "ortho", "forward"]
REAL_INPUT, REAL_OUTPUT = {"rfft", "ihfft", "rfftn"}, {"irfft", "hfft", "irfftn"}
ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL_AXES = ["fftn", "ifftn", "rfftn", "irfftn"]


@pytest.fixture(params=["host routines", "kernels"], autouse=True)
def routines(request, device, monkeypatch):
    """NumPy on the same memory, which is the CPU's default, and Triton kernels."""
    if request.param == "host routines" and device.backend != "cpu":
        pytest.skip("a GPU has kernels only")
    monkeypatch.setattr(host, "HOST_ROUTINES", request.param == "host routines")


def numbers(rng, name, shape, dtype):
    """Random input of a function for results of a complex dtype."""
    x = rng.normal(size=shape)
    if name not in REAL_INPUT:
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype if x.dtype.kind == "c" else np.zeros(0, dtype).real.dtype)


def result_dtype(name, dtype):
    return np.zeros(0, dtype).real.dtype if name in REAL_OUTPUT else np.dtype(dtype)


def expected(name, x, *arguments, **keywords):
    wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    return getattr(np.fft, name)(wide, *arguments, **keywords)


def check(got, wanted, dtype, size, factor=5):
    """The 2-norm of the error, over all that a transform of `size` elements gives."""
    assert got.dtype == dtype
    assert got.shape == wanted.shape
    error = np.linalg.norm((got - wanted).astype(np.complex128))
    bound = factor * np.finfo(dtype).eps * max(1, math.log2(size)) * np.linalg.norm(wanted.astype(np.complex128))
    assert error <= bound, f"{error / bound} times the error that is allowed"


# ------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_every_length(name, dtype, xp, rng):
    for n in LENGTHS:
        x = numbers(rng, name, n // 2 + 1 if name in REAL_OUTPUT else n, dtype)
        got = xp.asnumpy(getattr(xp.fft, name)(xp.asarray(x), n=n))
        check(got, expected(name, x, n), result_dtype(name, dtype), n)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 12, 13, 17, 36, 97, 127])
def test_the_definition(n, xp, rng):
    """Sums of products with roots of unity, by mpmath."""
    x = numbers(rng, "fft", n, "complex128")
    with mpmath.workdps(30):
        powers = [mpmath.expjpi(mpmath.mpf(-2 * j) / n) for j in range(n)]
        sums = [mpmath.fsum(complex(a) * powers[j * k % n] for j, a in enumerate(x)) for k in range(n)]
        wanted = np.array([complex(y) for y in sums])
    check(xp.asnumpy(xp.fft.fft(xp.asarray(x))), wanted, np.complex128, n)
    check(xp.asnumpy(xp.fft.ifft(xp.asarray(wanted))), x, np.complex128, n)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [2**20, 2**18 * 5, 3**11, 17 * 4096, 99991])
def test_long_transforms_again_on_new_data(n, dtype, xp, rng):
    for _ in range(2):
        x = numbers(rng, "fft", n, dtype)
        y = xp.fft.fft(xp.asarray(x))
        check(xp.asnumpy(y), expected("fft", x), dtype, n)
        check(xp.asnumpy(xp.fft.ifft(y)), x, dtype, n, factor=10)
        real = x.real.copy()
        half = xp.fft.rfft(xp.asarray(real))
        check(xp.asnumpy(half), expected("rfft", real), dtype, n)
        check(xp.asnumpy(xp.fft.irfft(half, n=n)), real, real.dtype, n, factor=10)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2**22, 2**24, 2**21 + 17])
def test_very_long_transforms(n, xp, rng):
    x = numbers(rng, "fft", n, "complex64")
    for _ in range(2):
        check(xp.asnumpy(xp.fft.fft(xp.asarray(x))), np.fft.fft(x.astype(np.complex128)), np.complex64, n)
        x = x[::-1].copy()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_axes_lengths_and_norms(name, norm, xp, rng):
    x = numbers(rng, name, (4, 6, 5), "complex128")
    for axis in (0, 1, 2, -1, -2):
        for n in (None, 1, 2, 3, 5, 7, 8, 17, 24):
            got = xp.asnumpy(getattr(xp.fft, name)(xp.asarray(x), n=n, axis=axis, norm=norm))
            wanted = expected(name, x, n, axis, norm)
            check(got, wanted, result_dtype(name, "complex128"), 24)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_several_axes(name, norm, xp, rng):
    x = numbers(rng, name, (3, 4, 6), "complex64")
    cases = [(None, None), (None, (0,)), (None, (2, 0)), (None, (-1, -2, 0)), (None, [1]), ((4, 2, 9), (0, 1, 2)),
             ((5, 17), (1, 2)), ((2,), (1,)), ((7, 3), None), ((-1, 8), (0, 1)), (None, (1, 1))]  # fmt: skip
    for s, axes in cases:
        got = xp.asnumpy(getattr(xp.fft, name)(xp.asarray(x), s=s, axes=axes, norm=norm))
        wanted = expected(name, x, s, range(-len(s), 0) if s and axes is None else axes, norm)
        check(got, wanted, result_dtype(name, "complex64"), 72)


def test_lengths_of_minus_one_keep_an_axis(xp, rng):
    x = numbers(rng, "irfftn", (3, 5), "complex128")
    got = xp.fft.irfftn(xp.asarray(x), s=(-1, -1), axes=(0, 1))
    check(xp.asnumpy(got), expected("irfftn", x), np.float64, 24)


@pytest.mark.parametrize("name", ONE_AXIS)
def test_strided_operands(name, xp, rng):
    x = numbers(rng, name, (8, 9, 12), "complex64")
    a = xp.asarray(x)
    views = [
        (xp.permute_dims(a, (2, 0, 1)), x.transpose(2, 0, 1)),
        (a[::2, ::-1, 1::3], x[::2, ::-1, 1::3]),
        (a[1:, 2:, 5], x[1:, 2:, 5]),
        (a[3, 4, 1:], x[3, 4, 1:]),  # starts at an address that is no multiple of 16
        (xp.broadcast_to(a[:, 0, :], (2, 8, 12)), np.broadcast_to(x[:, 0, :], (2, 8, 12))),
        (a + a, x + x),
    ]
    for view, array in views:
        for axis in range(view.ndim):
            got = xp.asnumpy(getattr(xp.fft, name)(view, axis=axis))
            check(got, expected(name, array, None, axis), result_dtype(name, "complex64"), 24)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft"])
def test_real_rows_padded_and_cut(name, dtype, xp, rng):
    """Odd widths, and addresses that are no multiples of 16: pairs of numbers that end in the middle of one."""
    for width, n in [
        (1, 2),
        (3, 2),
        (2, 4),
        (7, 8),
        (9, 8),
        (13, 32),
        (97, 194),
        (131, 194),
        (4099, 8192),
        (77, 10240),
    ]:
        x = numbers(rng, "rfft", (3, width + 1), dtype)
        a = xp.asarray(x)
        for view, array in [(a[:, 1:], x[:, 1:]), (a[1, 1:], x[1, 1:]), (a[2, :-1], x[2, :-1])]:
            check(xp.asnumpy(getattr(xp.fft, name)(view, n=n)), expected(name, array, n), np.dtype(dtype), n)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0,), (3, 0, 5)])
def test_nothing_to_transform(shape, xp):
    for name in ONE_AXIS:
        x = np.ones(shape, np.float32)
        for axis in range(len(shape)):
            got = xp.asnumpy(getattr(xp.fft, name)(xp.asarray(x), n=6, axis=axis))
            wanted = getattr(np.fft, name)(x, 6, axis)
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            assert not got.any()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64"])
def test_dtypes(dtype, xp):
    x = xp.astype(xp.asarray([1.0, 0.0, 3.0, 2.0, 1.0]), getattr(xp, dtype))
    exact = np.asarray(xp.astype(x, xp.float64))
    wanted = np.dtype("complex64" if dtype in ("float16", "bfloat16", "float32") else "complex128")
    for name in (*ONE_AXIS, *SEVERAL_AXES):
        got = xp.asnumpy(getattr(xp.fft, name)(x))
        check(got, getattr(np.fft, name)(exact), result_dtype(name, wanted), 8)


# --------------------------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("n", [2, 9, 16, 31, 100, 1024])
def test_halves_are_those_of_the_whole(n, xp, rng):
    """rfft is the first half of fft; the imaginary parts that must vanish do so to the last bit."""
    x = numbers(rng, "rfft", (3, n), "complex64")
    half = xp.asnumpy(xp.fft.rfft(xp.asarray(x)))
    check(half, xp.asnumpy(xp.fft.fft(xp.asarray(x)))[:, : n // 2 + 1], np.complex64, n)
    if n & (n - 1) == 0:
        assert not half[:, 0].imag.any() and not half[:, -1].imag.any()
    ihalf = xp.asnumpy(xp.fft.ihfft(xp.asarray(x)))
    check(ihalf, half.conj() / n, np.complex64, n)


@pytest.mark.parametrize("n", [8, 9, 17])
def test_imaginary_parts_without_a_mate_count_as_zero(n, xp, rng):
    x = numbers(rng, "irfft", n // 2 + 1, "complex128")
    real = x.copy()
    real[0] = real[0].real
    if n % 2 == 0:
        real[-1] = real[-1].real
    for function in (xp.fft.irfft, xp.fft.hfft):
        assert (xp.asnumpy(function(xp.asarray(x), n=n)) == xp.asnumpy(function(xp.asarray(real), n=n))).all()


@pytest.mark.parametrize("n", [16, 60, 97, 1025])
def test_energy_linearity_and_symmetry(n, xp, rng):
    x, y = (numbers(rng, "fft", n, "complex128") for _ in range(2))
    a, b = xp.asarray(x), xp.asarray(y)
    transform = xp.asnumpy(xp.fft.fft(a, norm="ortho"))
    assert np.linalg.norm(transform) == pytest.approx(np.linalg.norm(x), rel=1e-13)
    check(xp.asnumpy(xp.fft.fft(2 * a - 3j * b)), 2 * np.fft.fft(x) - 3j * np.fft.fft(y), np.complex128, n, 20)
    mirrored = xp.asnumpy(xp.fft.fft(xp.asarray(x.real.copy())))
    check(mirrored[1:][::-1], mirrored[1:].conj(), np.complex128, n, 20)
    check(xp.asnumpy(xp.fft.ifft(xp.conj(a))), np.fft.fft(x).conj() / n, np.complex128, n, 20)


def test_impulses_and_waves(xp):
    for n in (7, 16, 30, 64, 101):
        impulse = np.zeros(n)
        impulse[1] = 1
        wave = xp.asnumpy(xp.fft.fft(xp.asarray(impulse)))
        check(wave, np.exp(-2j * np.pi * np.arange(n) / n), np.complex128, n)
        check(xp.asnumpy(xp.fft.ifft(xp.asarray(wave))), impulse + 0j, np.complex128, n)


def test_the_operand_is_left_alone(xp, rng):
    for name in ONE_AXIS:
        x = numbers(rng, name, (6, 16), "complex64")
        a = xp.asarray(x)
        for axis in (0, 1):
            getattr(xp.fft, name)(a, axis=axis)
        assert (xp.asnumpy(a) == x).all()


# -------------------------------------------------------------------------------------------------- frequencies, shifts


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name, xp):
    for n in (*range(1, 20), 1000, 1001):
        for d in (1.0, 0.1, 3):
            wanted = getattr(np.fft, name)(n, d)
            got = xp.asnumpy(getattr(xp.fft, name)(n, d=d))
            assert got.dtype == np.float64 and (got == wanted).all()
            got = xp.asnumpy(getattr(xp.fft, name)(n, d=d, dtype=xp.float32))
            assert got.dtype == np.float32 and (got == wanted.astype(np.float32)).all()


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name, xp):
    for shape in [(), (1,), (5,), (6,), (0,), (3, 4), (2, 0, 3), (3, 4, 5)]:
        x = np.arange(math.prod(shape)).reshape(shape)
        choices = [None, *range(-len(shape), len(shape)), tuple(range(len(shape))), (0, 0)[: 2 * len(shape)]]
        for axes in choices:
            got = xp.asnumpy(getattr(xp.fft, name)(xp.asarray(x), axes=axes))
            wanted = getattr(np.fft, name)(x, axes) if shape else x
            assert got.dtype == x.dtype and (got == wanted).all()


def test_a_shift_is_a_copy(xp):
    x = xp.asarray([7.0])
    xp.fft.fftshift(x)[0] = 1.0
    assert float(x[0]) == 7.0


# ------------------------------------------------------------------------------------------------------------- errors


def test_errors(xp):
    x = xp.ones((3, 4))
    for name in ONE_AXIS:
        function = getattr(xp.fft, name)
        for axis in (2, -3):
            with pytest.raises(AxisError, match=f"^{name}: axis {axis} "):
                function(x, axis=axis)
        for n in (0, -1):
            with pytest.raises(ValueError, match=f"^{name}: invalid number of data points"):
                function(x, n=n)
        with pytest.raises(ValueError, match=f"^{name}: norm"):
            function(x, norm="forwards")
        with pytest.raises(TypeError):
            function(x, n=2.5)
        with pytest.raises(IndexError):
            function(xp.asarray(1.0))
        with pytest.raises(TypeError, match="asarray"):
            function(np.ones(3))
        with pytest.raises(ValueError, match="data points"):
            function(xp.ones((3, 0)))
        with pytest.raises(ValueError, match=name):
            function(x, n=2**62)
    for name in ("irfft", "hfft"):
        with pytest.raises(ValueError, match="data points"):
            getattr(xp.fft, name)(xp.ones(1))
    for name in REAL_INPUT:
        with pytest.raises(TypeError, match=f"^{name}: .*complex128"):
            getattr(xp.fft, name)(xp.ones(3) + 0j)
    for name in SEVERAL_AXES:
        function = getattr(xp.fft, name)
        with pytest.raises(ValueError, match=name):
            function(x, s=(2, 2), axes=(0,))
        with pytest.raises(AxisError, match=name):
            function(x, axes=(0, 2))
        with pytest.raises(AxisError, match=name):
            function(x, s=(2, 2, 2))
    for name in ("rfftn", "irfftn"):
        with pytest.raises(IndexError, match=name):
            getattr(xp.fft, name)(xp.ones(3), axes=())
    for name in ("fftshift", "ifftshift"):
        with pytest.raises(AxisError, match=name):
            getattr(xp.fft, name)(x, axes=2)
    for name in ("fftfreq", "rfftfreq"):
        function = getattr(xp.fft, name)
        for n in (0, -3):
            with pytest.raises(ValueError, match=name):
                function(n)
        with pytest.raises(TypeError):
            function(2.5)
        with pytest.raises(TypeError, match=name):
            function(3, dtype=xp.int64)
        with pytest.raises(ZeroDivisionError):
            function(3, d=0.0)


def test_signatures(xp):
    for name in ONE_AXIS:
        assert _parameters(getattr(xp.fft, name)) == [("a",), ("n", None), ("axis", -1), ("norm", "backward")]
    for name in SEVERAL_AXES:
        assert _parameters(getattr(xp.fft, name)) == [("a",), ("s", None), ("axes", None), ("norm", "backward")]
    for name in ("fftfreq", "rfftfreq"):
        assert _parameters(getattr(xp.fft, name)) == [("n",), ("d", 1.0), ("dtype", None), ("device", None)]
    for name in ("fftshift", "ifftshift"):
        assert _parameters(getattr(xp.fft, name)) == [("x",), ("axes", None)]
    numpys = {"fft2", "ifft2", "rfft2", "irfft2"}
    assert set(xp.fft.__all__) - numpys == {*ONE_AXIS, *SEVERAL_AXES, "fftfreq", "rfftfreq", "fftshift", "ifftshift"}


def _parameters(function):
    found = [p for p in inspect.signature(function).parameters.values() if p.name != "out"]  # NumPy's
    keyword = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD  # by position as NumPy's, too
    assert found[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert all(p.kind in keyword for p in found)
    return [(p.name,) if p.default is p.empty else (p.name, p.default) for p in found]
