"""The parts of Fourier transforms: factors, tables of roots, kernels with wide integers, what is kept between calls."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from nbx_array.backend.contract import get_device
from nbx_array.backend.launcher import launch_count
from nbx_array.kernels import fft
from nbx_array.kernels.fft import Kind
from nbx_array.memory import View, allocate, traffic
from nbx_array.memory.exhaustion import _hooks
from nbx_array.memory.transfer import as_numpy, from_host
from nbx_array.memory.view import contiguous_strides

CPU = get_device("cpu")


def view(x: np.ndarray) -> View:
    return View(from_host(x, CPU), x.dtype, x.shape, contiguous_strides(x.shape), 0)


def calculate(x: View, n: int, kind: Kind, scale: float = 1.0) -> np.ndarray:
    """The kernels' result for an array of three dimensions."""
    shape = (x.shape[0], n // 2 + 1 if kind.real_input else n, x.shape[2])
    example = np.zeros(0, x.dtype)
    dtype = example.real.dtype if kind.real_output else (example + np.zeros(0, np.complex64)).dtype
    out = View(allocate(math.prod(shape) * dtype.itemsize, CPU), dtype, shape, contiguous_strides(shape), 0)
    fft.calculate(x, out, n, kind, scale)
    return as_numpy(out).copy()


def largest_prime(n: int) -> int:
    found, p = 1, 2
    while n > 1:
        while n % p == 0:
            found, n = p, n // p
        p += 1
    return found


@pytest.mark.parametrize("large", [False, True])
def test_factors(large):
    for n in range(1, 3000):
        radices = fft.factors(n, large)
        assert bool(radices) == (largest_prime(n) <= fft.LARGEST_FACTOR)
        assert not radices or math.prod(radices) == n
    for k in range(1, 30):
        radices = fft.factors(2**k, large)
        assert len(radices) == -(-k // (8 if large else 4)) and max(radices) <= 2 * min(radices)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 12, 1000, 65537, 2**24, 2**31 - 1, 2**40 + 15])
def test_exponentials(n, rng):
    t = np.unique(np.concatenate([[0, n // 8, n // 4, n // 2, n - 1], rng.integers(0, n, 100)]))
    found = fft.exponentials(t, n)
    with mpmath.workdps(30):
        for k, value in zip(t, found, strict=True):
            exact = mpmath.expjpi(mpmath.mpf(-2 * int(k)) / n)
            assert abs(exact - mpmath.mpc(complex(value))) < 2.0**-52


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 255, 1025, 10**6])
def test_every_root_is_a_product_of_two_in_the_table(n, rng):
    storage, bits = fft.roots(n, np.dtype(np.complex128), CPU)
    size = storage.nbytes // 16
    table = as_numpy(View(storage, np.dtype(np.complex128), (size,), (1,), 0))
    t = np.arange(n) if n < 2000 else rng.integers(0, n, 1000)
    assert np.abs(table[t % 2**bits] * table[2**bits + t // 2**bits] - fft.exponentials(t, n)).max() < 2.0**-51
    assert size <= 3 * math.isqrt(n) + 4


KINDS = list(fft.ROUTINES)


@pytest.fixture(params=[False, True], ids=["small radices", "large radices"])
def large(request, monkeypatch):
    """Large ones are CUDA's."""
    monkeypatch.setattr(fft, "LARGE", {"cpu"} if request.param else set())


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [27, 32, 64, 108, 128, 256, 96, 512, 1024, 37 * 64, 3**8 * 5, 2**15 * 3, 2**17])
def test_large_radices(n, dtype, rng, monkeypatch):
    """The only, the first and later passes of every radix, along rows and columns."""
    monkeypatch.setattr(fft, "LARGE", {"cpu"})
    for outer, inner in ((1, 1), (3, 1), (1, 17)) if n < 5000 else ((1, 1),):
        x = (rng.normal(size=(outer, n, inner)) + 1j * rng.normal(size=(outer, n, inner))).astype(dtype)
        for kind, function in ((Kind(), np.fft.fft), (Kind(inverse=True), np.fft.ifft)):
            wanted = function(x.astype(np.complex128), axis=1, norm="forward" if kind.inverse else "backward")
            error = np.linalg.norm(calculate(view(x), n, kind) - wanted)
            assert error <= np.finfo(dtype).eps * math.log2(n) * np.linalg.norm(wanted)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("kind", KINDS)
def test_wide_integers_and_unaligned_operands_give_the_same_bits(kind, rng, monkeypatch):
    launcher_of = fft.launcher_of
    for n, inner in ((60, 1), (34, 3), (67, 1), (128, 2)):
        width = n // 2 + 1 if kind.real_output else n
        x = rng.normal(size=(3, width, inner)).astype(np.float32)
        if not kind.real_input:
            x = (x + 1j * rng.normal(size=x.shape)).astype(np.complex64)
        a = view(x)
        wanted = calculate(a, n, kind, 0.5)
        monkeypatch.setattr(fft, "launcher_of", lambda name, dtype, wide, *rest: launcher_of(name, dtype, True, *rest))
        assert (calculate(a, n, kind, 0.5) == wanted).all()
        monkeypatch.setattr(fft, "launcher_of", launcher_of)
        moved = view(np.concatenate([x.ravel()[:1], x.ravel()]))
        unaligned = a._replace(storage=moved.storage, offset=1)
        assert unaligned.address % 16
        assert (calculate(unaligned, n, kind, 0.5) == wanted).all()


def test_tables_are_kept_and_given_up(rng):
    x = view(rng.normal(size=(1, 101, 1)) + 0j)
    fft._forget_tables(CPU)
    first = calculate(x, 101, Kind())
    before, launches = traffic.bytes_to_device, launch_count("cpu")
    assert (calculate(x, 101, Kind()) == first).all()
    assert traffic.bytes_to_device == before
    assert launch_count("cpu") - launches == 3 + 2 * len(fft.factors(256, False))
    assert fft._forget_tables in _hooks
    for hook in _hooks:
        hook(CPU)
    assert fft.roots.cache_info().currsize == fft.filter_of.cache_info().currsize == 0
    assert (calculate(x, 101, Kind()) == first).all()


def test_stacks_are_convolved_in_parts(rng, monkeypatch):
    x = rng.normal(size=(7, 67, 2)) + 0j
    wanted = calculate(view(x), 67, Kind())
    monkeypatch.setattr(fft, "CONVOLVED_BYTES", 3 * 256 * 2 * 16)
    assert (calculate(view(x), 67, Kind()) == wanted).all()


@pytest.mark.parametrize("n", [17, 34, 61, 17 * 19, 23 * 16])
def test_direct_sums(n, rng):
    assert any(radix not in fft.RADICES for radix in fft.factors(n, False))
    x = rng.normal(size=(2, n, 3)) + 1j * rng.normal(size=(2, n, 3))
    for kind, function in ((Kind(), np.fft.fft), (Kind(inverse=True), np.fft.ifft)):
        wanted = function(x, axis=1, norm="forward" if kind.inverse else "backward")
        assert np.linalg.norm(calculate(view(x), n, kind) - wanted) < 1e-15 * n * np.linalg.norm(wanted)
