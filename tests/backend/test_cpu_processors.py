"""The same bits from processors without the newest instructions: kernels compiled for less than this machine has."""

import platform

import ml_dtypes
import numpy as np
import pytest
from nbx_array.backend import native
from nbx_array.backend.compiler import Source
from nbx_array.backend.cpu import codegen
from nbx_array.backend.launcher import get_launcher

from .launching import CPU, TEXT, TYPES, parameter_names

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of x86")
#: A name, its features, and the bytes of its vectors.
PROCESSORS = [("x86-64", "", 16), ("x86-64-v3", "+avx2,+fma,+f16c", 32)]


@pytest.fixture
def processor(monkeypatch, request, tmp_path):
    name, features, vector_bytes = request.param
    if not set(features.split(",")) - {""} <= set(native.host()[1].split(",")):
        pytest.skip("this machine lacks it")

    def use():
        monkeypatch.setenv("NBX_CACHE_DIR", str(tmp_path))
        monkeypatch.setattr(native, "host", lambda: (name, features))
        monkeypatch.setattr(codegen, "vector_bytes", lambda: vector_bytes)

    return use


def run(text, name, arrays, sizes, grid, constants):
    names = [parameter for parameter in parameter_names(name, TEXT) if parameter not in constants]
    kinds = ["*" + TYPES[a.dtype.name] for a in arrays] + ["i32"] * len(sizes)
    signature = tuple(zip(names, kinds, strict=True))
    launcher = get_launcher(Source.generated(text, name), signature, tuple(constants.items()), CPU)
    launcher.run(*(a.ctypes.data for a in arrays), *sizes, *grid)


def inputs():
    rng = np.random.default_rng(11)
    n = 1003
    single = (rng.standard_normal(n) * 10.0 ** rng.uniform(-6, 6, n)).astype("f4")
    single[:6] = 0, -0.0, np.inf, -np.inf, np.nan, 1e-42
    integers = rng.integers(-(2**31), 2**31, n).astype("i4")
    small = np.where(rng.random(n) < 0.5, integers >> 20, integers).astype("i4")
    small[small == 0] = 3
    with np.errstate(over="ignore"):
        halves = single.astype("f2")
    bfloats = single.astype(ml_dtypes.bfloat16)
    double = single.astype("f8") * 1.0000000123
    empty = np.zeros_like
    block = {"BLOCK": 256}
    grid = (4, 1, 1)
    yield "k_polynomial", [single, empty(single)], [n], grid, block
    yield "k_square_plus", [single, empty(single)], [n], grid, block
    yield "add", [halves, halves[::-1].copy(), empty(halves)], [n], grid, block
    yield "add", [bfloats, bfloats[::-1].copy(), empty(bfloats)], [n], grid, block
    yield "add", [double, double[::-1].copy(), empty(double)], [n], grid, block
    yield "k_divide", [integers, small, empty(integers), empty(integers)], [n], grid, block
    yield "k_shift", [integers, small & 63, empty(integers), empty(integers)], [n], grid, block
    yield "k_high_product", [integers.view("u4"), small.view("u4"), np.zeros(n, "u4")], [n], grid, block
    for source in (single, double, halves, bfloats, integers):
        for target in ("f2", ml_dtypes.bfloat16, "f4", "f8", "i4", "i8"):
            yield "k_cast", [source, np.zeros(n, target)], [n], grid, block
    yield "k_extremum", [single, single[::-1].copy(), empty(single), empty(single)], [n], grid, {**block, "NAN": False}
    yield "k_extremum", [double, double[::-1].copy(), empty(double), empty(double)], [n], grid, {**block, "NAN": True}
    finite = np.nan_to_num(single, posinf=1, neginf=1)
    yield "k_sum", [finite, np.zeros(1, "f4")], [n], (1, 1, 1), {"BLOCK": 1024}
    yield "k_sum", [double[6:], np.zeros(1, "f8")], [n - 6], (1, 1, 1), {"BLOCK": 1024}
    yield "k_cumsum", [finite, np.zeros(n, "f4")], [n], (1, 1, 1), {"BLOCK": 1024, "REV": False}
    a, b = (np.abs(finite[k : k + 128]) for k in (10, 200))
    square = np.resize(a, (32, 32)), np.resize(b, (32, 32)).copy(), np.zeros((32, 32), "f4")
    yield "k_mm", list(square), [32, 32, 32], (2, 2, 1), {
        "BM": 16, "BN": 16, "BK": 16}  # fmt: skip
    yield "k_argmax", [finite, np.zeros(1, "i4")], [n], (1, 1, 1), {"BLOCK": 1024}
    yield "k_atomic_float", [halves[6:40].copy(), np.zeros(4, "f2")], [34], (1, 1, 1), {"BLOCK": 64}


@pytest.mark.parametrize("processor", PROCESSORS, indirect=True, ids=[p[0] for p in PROCESSORS])
def test_bits_do_not_depend_on_the_processor(processor):
    results = []
    for here in (True, False):
        if not here:
            processor()
        # A text of its own, since launchers are kept by source.
        text = TEXT + f"\n# for {native.host()[0]}\n"
        for name, arrays, sizes, grid, constants in inputs():
            run(text, name, arrays, sizes, grid, constants)
            results.append((name, arrays))
    half = len(results) // 2
    for (name, ours), (_, theirs) in zip(results[:half], results[half:], strict=True):
        for x, y in zip(ours, theirs, strict=True):
            number = ~(np.isnan(x.astype("f8")) & np.isnan(y.astype("f8")))
            assert np.array_equal(x.view("u1" if x.ndim == 0 else f"u{x.itemsize}")[number],
                                  y.view(f"u{y.itemsize}")[number]), (name, x.dtype)  # fmt: skip
