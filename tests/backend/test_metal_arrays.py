"""Arrays on a device without float64: Metal's, as `fake_metal` has it, by the public API."""

from __future__ import annotations

import ctypes
import gc

import fake_metal
import numpy as np
import pytest
from msl import shim
from nbx_array.backend import contract
from nbx_array.kernels.types import DtypeAbsent

import nbx_array as xp
from nbx_array import _dlpack

pytestmark = pytest.mark.skipif(shim.compiler() is None, reason="no C++ compiler, which builds the kernels, is here")
NAMES = {"bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "float32", "complex64"}


@pytest.fixture(scope="module", autouse=True)
def metal():
    """Metal's device, current for the module's tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        fake_metal.install(monkeypatch)
        xp.set_device("metal:0")
        yield
        xp.set_device(None)


def equal(found, expected, tolerance=1e-6):
    expected = np.asarray(expected)
    found = np.asarray(found)
    assert found.dtype.itemsize <= 4 or found.dtype.kind in "iu" or found.dtype == np.complex64, found.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_the_namespace_says_what_the_device_has():
    info = xp.__array_namespace_info__()
    assert str(info.default_device()) == "metal:0"
    assert set(info.dtypes()) == NAMES
    assert set(info.dtypes(kind="real floating")) == {"float32"} and set(info.dtypes(kind="complex floating")) == {
        "complex64"
    }
    assert info.default_dtypes() == {
        "real floating": np.float32, "complex floating": np.complex64, "integral": np.int64, "indexing": np.int64,
    }  # fmt: skip
    assert set(info.dtypes(device="cpu")) == NAMES | {"float64", "complex128"}
    assert info.default_dtypes(device="cpu")["real floating"] == np.float64


CREATED = {
    "asarray": lambda: xp.asarray([1.5, 2]),
    "asarray, complex": lambda: xp.asarray(1j),
    "zeros": lambda: xp.zeros(3),
    "ones": lambda: xp.ones(3),
    "empty": lambda: xp.empty(3),
    "full": lambda: xp.full(3, 0.1),
    "eye": lambda: xp.eye(3),
    "arange": lambda: xp.arange(0.5, 3),
    "linspace": lambda: xp.linspace(0, 1, 5),
    "int * float": lambda: xp.arange(3) * 0.5,
    "int / int": lambda: xp.arange(1, 4) / xp.arange(1, 4),
    "int + complex": lambda: xp.arange(3) + 1j,
    "exp of int": lambda: xp.exp(xp.arange(3)),
    "mean of int": lambda: xp.mean(xp.arange(3)),
    "fftfreq": lambda: xp.fft.fftfreq(4),
    "fft of float": lambda: xp.fft.fft(xp.ones(4)),
}


@pytest.mark.parametrize("name", CREATED)
def test_nothing_is_float64_unasked(name):
    x = CREATED[name]()
    assert x.dtype in (np.float32, np.complex64)
    np.asarray(x)


ASKED = {
    "zeros": lambda: xp.zeros(3, dtype=xp.float64),
    "full": lambda: xp.full(3, 1, dtype=xp.complex128),
    "asarray": lambda: xp.asarray(np.ones(3)),
    "asarray, dtype": lambda: xp.asarray([1], dtype=xp.float64),
    "astype": lambda: xp.astype(xp.ones(3), xp.float64),
    "sum": lambda: xp.sum(xp.ones(3), dtype=xp.float64),
    "cumulative_sum": lambda: xp.cumulative_sum(xp.ones(3), dtype=xp.complex128),
    "a NumPy scalar": lambda: xp.ones(3) + np.float64(1),
    "int64 + float32": lambda: xp.arange(3) + xp.ones(3),
    "uint64 + int64": lambda: xp.arange(3) + xp.arange(3, dtype=xp.uint64),
    "result_type": lambda: xp.result_type(xp.ones(3), xp.float64),
    "to_device": lambda: xp.ones(3, dtype=xp.float64, device="cpu").to_device("metal:0"),
}


@pytest.mark.parametrize("name", ASKED)
def test_float64_is_refused_with_a_message(name):
    with pytest.raises(DtypeAbsent, match=r"metal:0 has no (float64; ask for float32|complex128; ask for complex64)"):
        ASKED[name]()


def test_unsigned_and_signed_integers_compare_exactly():
    x = xp.asarray(np.array([0, 2**63, 2**64 - 1], np.uint64))
    equal(x > xp.asarray([-1, 5, 2**63 - 1]), [True, True, True])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_meet_numbers(dtype):
    x = xp.asarray(np.arange(5, dtype=np.float32), dtype=dtype)
    equal(xp.astype(x * 1.5 + 0.25, xp.float32), np.arange(5) * 1.5 + 0.25)


def test_the_host_copies_or_shares_by_dlpack():
    x = xp.arange(5)
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), np.arange(5))
    shared = np.from_dlpack(x[::-2], device="cpu", copy=False)  # one memory
    x += 1
    xp.synchronize()
    np.testing.assert_array_equal(shared, [5, 3, 1])
    with pytest.raises(ValueError, match="one stream"):
        x.__dlpack__(stream=1)


@pytest.mark.parametrize(
    "part", [np.s_[:], np.s_[3:, ::2], np.s_[::-1, ::-3], np.s_[2:3, 2], np.s_[:0], np.s_[..., None]]
)
def test_dlpack_names_memory_by_metals_buffer(part):
    host = np.arange(35, dtype=np.float32).reshape(5, 7)
    x = xp.asarray(host)
    y = xp.from_dlpack(x[part])
    assert y.device == x.device
    equal(y, host[part])
    assert y.__dlpack_device__() == (8, 0)
    x += 1
    equal(y, host[part] + 1)
    y[...] = 0
    host += 1
    host[part] = 0
    equal(x, host)
    equal(xp.from_dlpack(x[part], copy=True), host[part])


class Other:
    """A producer of another library: elements 3 to 8 of a buffer of its own."""

    def __init__(self, buffer, pointer):
        self.buffer, self.pointer, self.kept = buffer, pointer, []
        self.values = np.frombuffer((ctypes.c_char * 64).from_address(buffer.address), np.float32)

    def __dlpack_device__(self):
        return 8, 0

    def __dlpack__(self, **keywords):
        kind = _dlpack._kinds()["dltensor_versioned"]
        managed, extents = kind.structure(major=1, minor=0), (ctypes.c_int64 * 2)(5, 1)
        self.kept += managed, extents
        tensor = managed.tensor
        tensor.data, tensor.byte_offset, tensor.device_type, tensor.ndim = self.pointer, 12, 8, 1
        tensor.code, tensor.bits, tensor.lanes = 2, 32, 1
        tensor.shape = ctypes.addressof(extents)
        return _dlpack._new_capsule(ctypes.addressof(managed), kind.name, kind.destroy)


def test_a_buffer_of_another_library_is_used_where_it_lies():
    driver = contract.get_driver("metal")
    device = driver.api.devices()[0]
    buffer = driver.api.buffer(device, 1 << 14)
    other = Other(buffer, driver.api.pointer(buffer))
    other.values[:] = np.arange(16)
    first, second = xp.from_dlpack(other), xp.from_dlpack(other)
    equal(first * 2, np.arange(3, 8) * 2)
    first += 1
    equal(second, np.arange(4, 9))
    assert other.values[3:8].tolist() == [4, 5, 6, 7, 8] and other.values[8] == 8
    assert len(driver._opened[0].adopted) == 1
    del first, second
    gc.collect()
    assert not driver._opened[0].adopted
    buffer.shared = False
    with pytest.raises(BufferError, match="no memory with the processor"):
        xp.from_dlpack(other)


# A sample of each family, with shapes and strides that take more than one way through it.


@pytest.fixture
def pair(rng):
    host = rng.normal(size=(33, 65)).astype(np.float32)
    return xp.asarray(host), host


def test_expressions(pair):
    x, h = pair
    for _ in range(2):  # operation by operation, then as one kernel
        equal(xp.where(x > 0, xp.exp(-x * x / 2), x.T[0, 0] + x[::-1, ::-1]), np.where(h > 0, np.exp(-h * h / 2),
              h[0, 0] + h[::-1, ::-1]))  # fmt: skip


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(pair, axis):
    x, h = pair
    equal(xp.sum(x[:, ::2] - 1, axis=axis), (h[:, ::2].astype(float) - 1).sum(axis), 1e-4)
    equal(xp.std(x, axis=axis), h.std(axis, dtype=float), 1e-5)
    equal(xp.argmin(x, axis=axis), h.argmin(axis))


def test_views_are_written_and_read(pair):
    x, h = pair
    y, k = xp.asarray(h), h.copy()
    y[1:20:3, ::-2] += x[1:20:3, ::-2]
    k[1:20:3, ::-2] += h[1:20:3, ::-2]
    y[xp.asarray([5, 7]), 3] = 1
    k[[5, 7], 3] = 1
    equal(y, k)
    equal(y[y > 0.5], k[k > 0.5])
    equal(y[:, xp.asarray([3, -1])], k[:, [3, -1]])
    with pytest.raises(IndexError):
        np.asarray(y[xp.asarray([33])])


def test_scans_and_sorting(pair, rng):
    x, h = pair
    equal(xp.cumulative_sum(x, axis=0), h.cumsum(0, dtype=float), 1e-4)
    equal(xp.sort(x, axis=1, descending=True), -np.sort(-h, axis=1))
    long = rng.integers(-100, 100, 3000).astype(np.int16)  # by a radix sort, whose blocks look back
    equal(xp.argsort(xp.asarray(long)), np.argsort(long, stable=True))
    equal(xp.unique_values(xp.asarray(long)), np.unique(long))


@pytest.mark.slow
def test_linear_algebra_and_transforms(pair):
    x, h = pair
    a = h[:, :33] + 33 * np.eye(33, dtype=np.float32)
    equal(x @ x.T, h.astype(float) @ h.T, 1e-4)
    equal(xp.linalg.solve(xp.asarray(a), x[:, :2]), np.linalg.solve(a, h[:, :2]), 1e-5)
    equal(xp.fft.fft(xp.astype(x[:, :15], xp.complex64)), np.fft.fft(h[:, :15]), 1e-4)
