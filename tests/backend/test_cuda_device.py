"""Special launches, on a GPU or on the fake one; and what only a GPU can show: faults, other libraries, costs."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time

import numpy as np
import pytest
import triton
import triton.language as tl
from fake_cuda import FakeCuda, install
from nbx_array.backend import detect
from nbx_array.backend.checked_launch import launch
from nbx_array.backend.compiler import Source, compile_kernel
from nbx_array.backend.contract import DeviceError, Target, get_device, get_driver
from nbx_array.backend.launcher import get_launcher
from nbx_array.backend.verify import _BLOCK, _SOURCE, _Bench

ABSENT = detect.reason_absent("cuda")
FAKE = not ABSENT and isinstance(get_driver("cuda").api.cdll, FakeCuda)
on_a_gpu = pytest.mark.skipif(FAKE or ABSENT is not None, reason="there is no CUDA device")


@pytest.fixture
def bench(monkeypatch):
    if ABSENT:
        install(monkeypatch, FakeCuda())
    with _Bench(get_device("cuda:0")) as bench:
        yield bench


@triton.jit
def copied(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    left = tl.load(a + i * K + k[None, :])
    right = tl.load(b + k[:, None] * N + j)
    tl.store(c + i * N + j, tl.dot(left, right, input_precision="ieee"))


@triton.jit
def by_descriptor(x, o, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(o, shape=[M, N], strides=[N, 1], block_shape=[ROWS, COLUMNS])
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    target.store([row, column], source.load([row, column]) * 2)


@pytest.mark.parametrize("options", [{"num_ctas": 2}, {"launch_cooperative_grid": True}, {"num_warps": 8}])
def test_clusters_and_cooperative_grids(bench, options):
    capability = bench.driver.target(0).arch
    if "num_ctas" in options and capability < 90:
        pytest.skip("the device has no clusters")
    x = np.arange(10_000, dtype=np.float32)
    source, out = bench.put(x), bench.put(np.zeros_like(x))
    launch(copied, triton.cdiv(x.size, 1024), source, out, x.size, BLOCK=1024, **options)
    np.testing.assert_array_equal(bench.get(out), x)


def test_shared_memory_above_48_kb(bench, rng):
    M, N, K = 64, 128, 256
    a, b = rng.integers(-8, 8, (M, K)).astype(np.float16), rng.integers(-8, 8, (K, N)).astype(np.float16)
    c = bench.empty(M * N)
    source, constants = Source.of_function(product), (("M", M), ("N", N), ("K", K))
    signature = (("a", "*fp16"), ("b", "*fp16"), ("c", "*fp32"))
    kernel = get_launcher(source, signature, constants, bench.device)
    assert kernel.kernel.shared > 48 << 10
    launch(kernel, 1, bench.put(a), bench.put(b), c)
    np.testing.assert_array_equal(bench.get(c).reshape(M, N), a.astype(np.float64) @ b.astype(np.float64))


def test_scratch_memory(bench):
    if bench.driver.target(0).arch < 90:
        pytest.skip("descriptors lie in scratch memory from sm_90 on")
    x = np.arange(64 * 128, dtype=np.float32)
    source, out = bench.put(x), bench.put(np.zeros_like(x))
    signature = (("x", "*fp32"), ("o", "*fp32"), ("M", "i32"), ("N", "i32"))
    kernel = get_launcher(Source.of_function(by_descriptor), signature, (("ROWS", 16), ("COLUMNS", 32)), bench.device)
    assert kernel.kernel.global_scratch_size > 0
    for _ in range(3):
        launch(kernel, (4, 4), source, out, 64, 128)
    np.testing.assert_array_equal(bench.get(out), 2 * x)


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", "-c", program], text=True, capture_output=True, timeout=100)


PRELUDE = f"""if True:
    from nbx_array.backend.verify import _Bench, _SOURCE
    from nbx_array.backend.contract import get_device, DeviceError
    from nbx_array.backend.compiler import Source
    import numpy as np
    bench = _Bench(get_device("cuda:0"))
    kernel, x = bench.affine(), bench.put(np.zeros({_BLOCK}, np.float32))
"""


@on_a_gpu
def test_a_fault_surfaces_with_the_kernel_s_name():
    """In a process of its own: CUDA's context is lost with the fault."""
    done = python(
        PRELUDE
        + """
    kernel.run(16, x.ptr, 256, 1.0, 1, 1, 1, 1)
    try:
        bench.driver.synchronize(0)
    except DeviceError as error:
        print(error)
    """
    )
    assert "cuda:0: waiting for the device failed: CUDA_ERROR_" in done.stdout, done.stderr
    assert "latest first: affine" in done.stdout


@on_a_gpu
def test_a_forked_child_is_told():
    done = python(
        PRELUDE
        + """
    import os
    if os.fork() == 0:
        for call in (lambda: kernel.run(x.ptr, x.ptr, 256, 1.0, 1, 1, 1, 1), lambda: bench.empty(1)):
            try:
                call()
            except DeviceError as error:
                print(error, flush=True)
        os._exit(0)
    os.wait()
    kernel.run(x.ptr, x.ptr, 256, 1.0, 1, 1, 1, 1)
    bench.driver.synchronize(0)
    print("the parent goes on")
    """
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and lines[2] == "the parent goes on", done.stdout + done.stderr
    assert all("before this process was forked" in line for line in lines[:2])


@on_a_gpu
def test_a_cubin_of_another_architecture(bench):
    other = 80 if bench.driver.target(0).arch >= 90 else 90
    signature = (("x", "*fp32"), ("o", "*fp32"), ("n", "i64"), ("scale", "fp32"), ("rows", "i32"))
    constants, target = (("BLOCK", _BLOCK),), Target("cuda", other, 32)
    kernel = compile_kernel(Source.generated(_SOURCE, "affine"), signature, constants, target, True)
    with pytest.raises(
        DeviceError, match=f"cuda:0: loading kernel 'affine', compiled for sm_{other}, failed: CUDA_ERROR_"
    ):
        bench.driver.bind(kernel, 0)


@on_a_gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_memory_is_shared_with_other_libraries(bench, library):
    """One primary context: their memory is ours to read and write, and their current device stays."""
    other = pytest.importorskip(library)
    theirs = other.ones(_BLOCK, dtype=other.float32, **({"device": "cuda:0"} if library == "torch" else {}))
    address = theirs.data_ptr() if library == "torch" else theirs.data.ptr
    assert bench.driver.device_of(address) == 0
    bench.affine().run(address, address, _BLOCK, 3.0, 1, 1, 1, 1)
    assert float(theirs.sum()) == 3 * _BLOCK
    assert bench.driver.device_of(bench.empty(4).ptr) == 0


def test_addresses_that_are_not_the_device_s(bench):
    host = ctypes.create_string_buffer(16)
    pinned = bench.driver.allocate_pinned(16, 0)
    assert bench.driver.device_of(ctypes.addressof(host)) is None
    assert bench.driver.device_of(pinned) is None
    bench.driver.free_pinned(pinned, 0)


@on_a_gpu
def test_what_the_driver_reports(bench):
    driver = get_driver("cuda")
    properties = driver.properties(0)
    free, total = driver.memory(0)
    assert properties.cores > 0 and properties.name
    assert 0 < free <= total <= properties.total_memory
    assert properties.extra["shared_per_block_optin"] >= 48 << 10


@on_a_gpu
def test_a_launch_costs_little_more_than_the_driver_s(bench):
    """Seen on an H200: 3.6 to 3.9 us, of which the unboxing takes 0.1."""
    run, x, n = bench.affine().run, bench.put(np.zeros(_BLOCK, np.float32)), 10_000
    args, best = (x.ptr, x.ptr, _BLOCK, 1.0, 1, 1, 1, 1), []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n):
            run(*args)
        best.append((time.perf_counter() - start) / n * 1e6)
        bench.driver.synchronize(0)
    start = time.perf_counter()
    for _ in range(n):
        run(x.ptr, x.ptr, _BLOCK, 1.0, 1, 0, 1, 1)
    empty = (time.perf_counter() - start) / n * 1e6
    print(f"a launch takes {min(best):.2f} us, an empty grid {empty:.2f}")
    assert min(best) < 10 and empty < 1
