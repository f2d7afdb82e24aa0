"""The CUDA driver over a fake libcuda: handles, packing, order, errors."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import threading

import numpy as np
import pytest
from fake_cuda import Artifact, FakeCuda, install, plain
from nbx_array.backend import native, verify
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import CompiledKernel, DeviceError, DriverUnavailable, Target, get_device
from nbx_array.backend.cuda import CudaDriver, api
from nbx_array.backend.cuda.api import CudaApi
from nbx_array.backend.launcher import get_launcher, launch_count, stream_cell

CUBIN = b"\x7fELF imaginary"


@pytest.fixture(params=["native", "ctypes"])
def interface(request, monkeypatch):
    """With the C interface of Python, and without it."""
    monkeypatch.setattr(native, "HAVE_C_API", request.param == "native")


@pytest.fixture
def fake() -> FakeCuda:
    fake = FakeCuda(devices=2)
    fake.artifacts[CUBIN] = Artifact("kernel_symbol", 4)
    return fake


@pytest.fixture
def driver(fake) -> CudaDriver:
    return CudaDriver(CudaApi(fake))


def kernel(parameters=("*fp32", "i32", "fp32", "i1"), **fields) -> CompiledKernel:
    names = tuple(f"a{i}" for i in range(len(parameters)))
    fields = {"num_warps": 4, "shared": 0, **fields}
    return CompiledKernel("k", "kernel_symbol", "cubin", CUBIN, Target("cuda", 90, 32), parameters, names, **fields)


# ------------------------------------------------------------------------------------------------ packing


ALL_TYPES = ("*fp32", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32", "fp64", "i1")
FORMATS = "QbhiqBHIQfd?"


@pytest.mark.parametrize(
    "values",
    [
        (2**63 + 4096, -128, -(2**15), -(2**31), -(2**63), 255, 2**16 - 1, 2**32 - 1, 2**64 - 1, 0.1, 1e-310, True),
        (0, -1, -1, -1, -1, 0, 0, 0, 0, -1.0, -1.0, False),
        (2**64 - 1, 127, 2**15 - 1, 2**31 - 1, 2**63 - 1, 1, 1, 1, 1, 3, -7, 1),
        (1, 0, 0, 0, 0, 0, 0, 0, 0, 1e300, float("-inf"), 0),
    ],
)
def test_arguments_are_packed_byte_by_byte(interface, fake, driver, values):
    fake.artifacts[CUBIN] = Artifact("kernel_symbol", len(ALL_TYPES))
    run, spread = driver.bind(kernel(ALL_TYPES, shared=1234, num_warps=8), 0)
    assert run(*values, 5, 3, 2) is None
    assert spread(values, 5, 3, 2) is None
    assert len(fake.launches) == 2
    for launch in fake.launches:
        assert (launch.grid, launch.block, launch.shared, launch.stream) == ((5, 3, 2), (256, 1, 1), 1234, 0)
        assert launch.context == fake.context_of(0)
        for value, format_, raw in zip(values, FORMATS, launch.arguments, strict=False):
            narrow = ctypes.c_float(value).value if format_ == "f" else value
            assert raw[: struct.calcsize(format_)] == struct.pack(format_, narrow)
        assert launch.arguments[-2:] == [bytes(8)] * 2  # the two scratch pointers


def test_a_kernel_without_arguments(interface, fake, driver):
    fake.artifacts[CUBIN] = Artifact("kernel_symbol", 0)
    run, _ = driver.bind(kernel(()), 0)
    run(1, 1, 1)
    assert fake.launches[0].arguments == [bytes(8)] * 2


def test_many_arguments(fake, driver):
    n = 200
    fake.artifacts[CUBIN] = Artifact("kernel_symbol", n)
    run, _ = driver.bind(kernel(("i64",) * n), 0)
    run(*range(n), 1, 1, 1)
    assert [int.from_bytes(a, "little") for a in fake.launches[0].arguments[:n]] == list(range(n))


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ((1, 2, 3), TypeError, "7 arguments"),
        ((1, 2, 3.0, 1, 1, 1, 1, 1), TypeError, "8 were given"),
        (("x", 2, 1.0, 0, 1, 1, 1), TypeError, "a0"),
        ((-1, 2, 1.0, 0, 1, 1, 1), OverflowError, "a0"),
        ((2**64, 2, 1.0, 0, 1, 1, 1), OverflowError, "a0"),
        ((1, 2**31, 1.0, 0, 1, 1, 1), OverflowError, "2147483648"),
        ((1, -(2**31) - 1, 1.0, 0, 1, 1, 1), OverflowError, "i32"),
        ((1, 1.5, 1.0, 0, 1, 1, 1), TypeError, "a1"),
        ((1, 2, None, 0, 1, 1, 1), TypeError, "a2"),
        ((1, 2, 1.0, 2, 1, 1, 1), OverflowError, "i1"),
        ((1, 2, 1.0, 1, -1, 1, 1), OverflowError, "gx"),
        ((1, 2, 1.0, 1, 1, 65536, 1), ValueError, "65535 programs along axis 1"),
        ((1, 2, 1.0, 1, 1, 1, 65536), ValueError, "65535 programs along axis 2"),
        ((1, 2, 1.0, 1, 2**31, 1, 1), OverflowError, "gx"),
    ],
)
def test_wrong_calls_raise_and_launch_nothing(interface, fake, driver, values, error, text):
    run, _ = driver.bind(kernel(), 0)
    before = launch_count("cuda")
    with pytest.raises(error, match=text):
        run(*values)
    assert not fake.launches
    assert launch_count("cuda") == before
    run(1, 2, 3.0, True, 2**31 - 1, 65535, 65535)  # the largest grid; nothing of the error remains
    assert len(fake.launches) == 1


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (2**31 - 1, 0, 65535)])
def test_an_empty_grid_launches_nothing(interface, fake, driver, grid):
    run, _ = driver.bind(kernel(), 0)
    before = launch_count("cuda")
    assert run(1, 2, 3.0, True, *grid) is None
    assert not fake.launches
    assert launch_count("cuda") == before


def test_launches_are_counted(interface, driver):
    run, spread = driver.bind(kernel(), 0)
    before = launch_count("cuda")
    for _ in range(3):
        run(1, 2, 3.0, True, 1, 1, 1)
        spread((1, 2, 3.0, True), 1, 1, 1)
    assert launch_count("cuda") == before + 6


def test_the_device_s_stream_is_read_at_each_launch(interface, fake, driver):
    run, _ = driver.bind(kernel(), 1)
    stream, cell = driver.create_stream(1), stream_cell(get_device("cuda:1"))
    run(1, 2, 3.0, True, 1, 1, 1)
    cell.value = stream
    try:
        run(1, 2, 3.0, True, 1, 1, 1)
    finally:
        cell.value = 0
    assert [launch.stream for launch in fake.launches] == [0, stream]


# ------------------------------------------------------------------------------------------------ contexts


def test_the_context_of_another_device_is_put_back(interface, fake, driver):
    run, _ = driver.bind(kernel(), 0)
    theirs = fake.context_of(1)
    fake.set_context(theirs)
    run(1, 2, 3.0, True, 1, 1, 1)
    driver.fill(driver.allocate(16, 0), 1, 16, 0)
    assert fake.launches[0].context == fake.context_of(0)
    assert fake.context() == theirs


def test_a_thread_without_a_context_gets_one(interface, fake, driver):
    run, _ = driver.bind(kernel(), 0)
    raised = []

    def work():
        try:
            run(1, 2, 3.0, True, 1, 1, 1)
            run(1, 2, 3.0, True, 1, 1, 1)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not raised
    assert len(fake.launches) == 2


def test_nothing_is_initialised_until_a_device_is_used(fake, driver):
    driver.count(), driver.target(0), driver.properties(1)
    assert "cuDevicePrimaryCtxRetain" not in fake.calls
    driver.memory(0)
    assert fake.calls.count("cuDevicePrimaryCtxRetain") == 1


# ------------------------------------------------------------------------------------------------ special launches


def test_shared_memory_above_48_kb_is_asked_for(fake, driver):
    driver.bind(kernel(shared=48 << 10), 0)
    assert not fake.function_attributes
    run, _ = driver.bind(kernel(shared=100_000), 0)
    driver.bind(kernel(shared=64 << 10), 0)  # its own function, of the same name
    asked = [(attribute, size) for (_, attribute), size in fake.function_attributes.items()]
    assert asked == [(api.FUNCTION_MAX_DYNAMIC_SHARED, size) for size in (100_000, 64 << 10)]
    run(1, 2, 3.0, True, 1, 1, 1)
    assert fake.launches[0].shared == 100_000


@pytest.mark.parametrize(
    ("fields", "attributes", "text"),
    [
        ({"shared": 300_000}, {}, "300000 bytes of shared memory"),
        ({"num_warps": 64}, {}, "64 warps"),
        ({"cooperative": True}, {"cooperative_launch": 0}, "cooperative"),
        ({"cluster_dims": (2, 1, 1)}, {"cluster_launch": 0}, "clusters"),
        ({"global_scratch_size": 8}, {"memory_pools": 0}, "scratch"),
        ({"global_scratch_size": 8, "global_scratch_align": 4096}, {}, "aligned"),
    ],
)
def test_what_the_device_lacks_is_refused(fields, attributes, text):
    fake = FakeCuda(**attributes)
    fake.artifacts[CUBIN] = Artifact("kernel_symbol", 4)
    with pytest.raises(DeviceError, match=rf"cuda:0 cannot run kernel 'k': .*{text}"):
        CudaDriver(CudaApi(fake)).bind(kernel(**fields), 0)


def test_clusters_and_cooperative_grids(interface, fake, driver):
    run, _ = driver.bind(kernel(cluster_dims=(2, 1, 1), shared=64), 0)
    run(1, 2, 3.0, True, 5, 3, 2)
    launch = fake.launches[-1]
    assert (launch.grid, launch.block, launch.shared) == ((10, 3, 2), (128, 1, 1), 64)
    assert launch.attributes == {api.LAUNCH_CLUSTER_DIMENSION: (2, 1, 1)}
    assert launch.arguments[1][:4] == struct.pack("i", 2)
    with pytest.raises(ValueError, match="1073741823 programs"):
        run(1, 2, 3.0, True, 2**30, 1, 1)
    run, _ = driver.bind(kernel(cooperative=True, cluster_dims=(16, 1, 1)), 0)
    (asked,) = fake.function_attributes.items()
    assert asked[0][1] == api.FUNCTION_NON_PORTABLE_CLUSTER and asked[1] == 1
    run(1, 2, 3.0, True, 1, 1, 1)
    assert fake.launches[-1].attributes == {
        api.LAUNCH_COOPERATIVE: (1, 0, 0),
        api.LAUNCH_CLUSTER_DIMENSION: (16, 1, 1),
    }


def test_scratch_memory_lives_as_long_as_the_launch(interface, fake, driver):
    run, _ = driver.bind(kernel(global_scratch_size=24, profile_scratch_size=8, cluster_dims=(2, 1, 1)), 0)
    taken = []
    fake.artifacts[CUBIN].run = lambda launch: taken.append(dict(fake.memory))
    run(1, 2, 3.0, True, 5, 1, 1)
    driver.synchronize(0)
    (address,) = taken[0]
    assert taken[0][address][1] == 256 + 80  # 10 blocks of 24 bytes, rounded up, and 10 of 8
    start, profile = (int.from_bytes(a, "little") for a in fake.launches[0].arguments[-2:])
    assert (start, profile) == (address, address + 256)
    assert not fake.memory
    fake.fail["cuMemAllocAsync"] = 2
    with pytest.raises(MemoryError, match="launching kernel 'k'"):
        run(1, 2, 3.0, True, 5, 1, 1)
    assert len(fake.launches) == 1
    fake.fail["cuLaunchKernelEx"] = 1
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        run(1, 2, 3.0, True, 5, 1, 1)
    driver.synchronize(0)
    assert not fake.memory


# ------------------------------------------------------------------------------------------------ errors


def test_errors_name_device_call_and_code(fake, driver):
    fake.fail["cuMemAlloc"] = 1
    with pytest.raises(DeviceError, match=r"cuda:1: allocating 12 bytes failed: CUDA_ERROR_INVALID_VALUE: invalid arg"):
        driver.allocate(12, 1)
    fake.fail["cuStreamCreate"] = 12345
    with pytest.raises(DeviceError, match="unknown CUDA error 12345"):
        driver.create_stream(0)
    fake.fail["cuDevicePrimaryCtxRetain"] = 201
    with pytest.raises(DeviceError, match="INVALID_CONTEXT"):
        CudaDriver(CudaApi(fake)).memory(0)


@pytest.mark.parametrize("name", ["cuCtxGetCurrent", "cuLaunchKernel"])
def test_a_failing_launch_names_its_kernel(interface, fake, driver, name):
    run, _ = driver.bind(kernel(), 0)
    before = launch_count("cuda")
    fake.fail[name] = 400
    with pytest.raises(DeviceError, match="cuda:0: launching kernel 'k' failed: CUDA_ERROR_INVALID_HANDLE"):
        run(1, 2, 3.0, True, 1, 1, 1)
    assert launch_count("cuda") == before


def test_running_out_of_memory_is_a_memory_error(fake, driver):
    address = driver.allocate(1 << 27, 0)
    with pytest.raises(MemoryError, match="cuda:0: allocating 268435456 bytes failed: CUDA_ERROR_OUT_OF_MEMORY"):
        driver.allocate(1 << 28, 0)
    driver.allocate(1 << 28, 1)
    driver.free(address, 0)
    assert driver.memory(0) == (1 << 28, 1 << 28)


def test_a_fault_surfaces_at_the_next_wait_with_the_kernels_before_it(interface, fake, driver):
    names = [f"k{i}" for i in range(10)]
    for name in names:
        fake.artifacts[name.encode()] = Artifact(name, 0)
        compiled = CompiledKernel(name, name, "cubin", name.encode(), Target("cuda", 90, 32), (), ())
        driver.bind(compiled, 0)[0](1, 1, 1)
    fake.fault = 700
    with pytest.raises(DeviceError, match=r"waiting for the device.*ILLEGAL_ADDRESS.*latest first: k9, k8, k7, .*k2$"):
        driver.synchronize(0)
    with pytest.raises(DeviceError, match="latest first: k9, k8"):
        driver.allocate(4, 0)


def test_a_wrong_artifact_is_refused(fake, driver):
    with pytest.raises(ValueError, match="cuda:0 loads a cubin for cuda, not kernel 'k', which is a object for cpu"):
        driver.bind(
            CompiledKernel("k", "k", "object", b"", Target("cpu", "host", 1), (), ()),
            0,
        )
    with pytest.raises(DeviceError, match="loading kernel 'k', compiled for sm_80, failed: CUDA_ERROR_INVALID_IMAGE"):
        driver.bind(CompiledKernel("k", "k", "cubin", b"rubbish" * 9, Target("cuda", 80, 32), (), ()), 0)


@pytest.mark.parametrize("call", ["target", "properties", "memory"])
def test_a_device_that_is_not_there(driver, call):
    for index in (2, -1):
        with pytest.raises(ValueError, match="the last one is cuda:1"):
            getattr(driver, call)(index)


def test_absence_has_a_reason(fake):
    fake.fail["cuInit"] = 100
    with pytest.raises(DriverUnavailable, match="CUDA_ERROR_NO_DEVICE"):
        CudaDriver(CudaApi(fake))
    with pytest.raises(DriverUnavailable, match="no device"):
        CudaDriver(CudaApi(FakeCuda(devices=0)))


# ------------------------------------------------------------------------------------------------ memory and order


def to_host(driver, address, count, index=0, **keywords):
    found = np.zeros(count, np.uint8)
    driver.copy_to_host(found.ctypes.data, address, count, index, **keywords)
    return found


def test_copies_and_fills(driver, rng):
    data = rng.integers(0, 256, 1000, dtype=np.uint8)
    a, b, c = (driver.allocate(1000, i) for i in (0, 0, 1))
    driver.copy_from_host(a, data.ctypes.data, 1000, 0)
    driver.copy(b + 1, a, 999, 0)
    driver.fill(b, 7, 1, 0)
    driver.copy(c, b, 1000, 0)  # to the other device
    assert to_host(driver, b, 1000).tolist() == [7, *data[:999]]
    assert to_host(driver, c, 1000, 1).tolist() == [7, *data[:999]]


def test_copies_on_a_stream_wait_for_it(driver):
    stream = driver.create_stream(0)
    a = driver.allocate(8, 0)
    driver.fill(a, 3, 8, 0, stream)
    assert to_host(driver, a, 8, stream=stream).tolist() == [3] * 8
    data = np.arange(8, dtype=np.uint8)
    driver.copy_from_host(a, data.ctypes.data, 8, 0, stream=stream)
    data[:] = 0  # free to change when the call has returned
    assert to_host(driver, a, 8).tolist() == list(range(8))
    driver.destroy_stream(stream, 0)
    with pytest.raises(DeviceError, match="INVALID_HANDLE"):
        driver.fill(a, 3, 8, 0, stream)


def test_without_waiting_a_copy_is_done_when_its_stream_is(driver):
    pinned = driver.allocate_pinned(8, 0)
    a, b = driver.allocate(8, 0), driver.allocate(8, 0)
    ctypes.memset(pinned, 5, 8)
    driver.copy_from_host(a, pinned, 8, 0, wait=False)
    driver.copy(b, a, 8, 0)
    driver.copy_to_host(pinned, b, 8, 0, wait=False)
    driver.synchronize(0, 0)
    assert to_host(driver, b, 8).tolist() == [5] * 8
    driver.free_pinned(pinned, 0)


def test_events_order_streams_and_only_they_do(driver):
    first, second = driver.create_stream(0), driver.create_stream(0)
    a, b = driver.allocate(4, 0), driver.allocate(4, 0)
    driver.fill(a, 1, 4, 0)
    driver.synchronize(0)
    for wait, expected in ((False, 1), (True, 2)):
        event = driver.create_event(0)
        driver.fill(a, 2, 4, 0, first)
        event.record(first)
        assert not event.done()
        if wait:
            driver.wait_event(second, event, 0)
        driver.copy(b, a, 4, 0, second)
        assert to_host(driver, b, 4, stream=second).tolist() == [expected] * 4
        event.synchronize()
        assert event.done()
        driver.fill(a, 1, 4, 0)
        driver.synchronize(0)


def test_an_event_is_destroyed_with_its_object(fake, driver):
    event = driver.create_event(0)
    assert event.handle
    del event
    assert "cuEventDestroy" in fake.calls


def test_only_an_event_with_timing_is_a_clock(driver):
    start, end, untimed = driver.create_event(0, True), driver.create_event(0, True), driver.create_event(0)
    for event in (start, end, untimed):
        event.record()
    end.synchronize()
    assert end.milliseconds_since(start) == 0.5
    for a, b in ((end, untimed), (untimed, start)):
        with pytest.raises(ValueError, match="without timing"):
            a.milliseconds_since(b)
    with pytest.raises(TypeError, match="not an event of CUDA"):
        end.milliseconds_since(object())


def test_whose_memory_an_address_is(driver):
    a, b, pinned = driver.allocate(16, 0), driver.allocate(16, 1), driver.allocate_pinned(16, 0)
    host = ctypes.create_string_buffer(8)
    assert [driver.device_of(p) for p in (a, a + 15, b, pinned, ctypes.addressof(host))] == [0, 0, 1, None, None]


# ------------------------------------------------------------------------------------------------ processes and threads


def test_a_forked_child_is_told(driver):
    run, _ = driver.bind(kernel(), 0)
    address, event = driver.allocate(4, 0), driver.create_event(0)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        messages = []
        try:
            driver.free(address, 0)  # finalisers may run in the child
            del event
            for call in (
                lambda: run(1, 2, 3.0, True, 1, 1, 1),
                lambda: driver.allocate(4, 0),
                lambda: driver.target(0),
            ):
                try:
                    call()
                    messages.append("nothing")
                except DeviceError as error:
                    messages.append(str(error))
        finally:
            os.write(write, "\n".join(messages).encode())
            os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        lines = file.read().decode().splitlines()
    os.waitpid(pid, 0)
    assert len(lines) == 3
    for line in lines:
        assert "before this process was forked" in line and "'spawn'" in line
    run(1, 2, 3.0, True, 1, 1, 1)  # the parent goes on


def test_every_function_is_bound_with_the_types_of_cuda_h():
    """cuda.h is where triton's package carries it."""
    triton = pytest.importorskip("triton")
    header = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "include", "cuda.h")
    with open(header, encoding="utf-8", errors="replace") as file:
        text = file.read()
    wide = {"CUdeviceptr": 8, "size_t": 8, "int": 4, "unsigned int": 4, "unsigned char": 1, "CUdevice": 4}
    for symbol, types in api.FUNCTIONS.values():
        name = plain(symbol)
        if symbol != name:
            assert re.search(rf"#define {name}\s+(__CUDA_API_\w+\()?{symbol}\b", text), symbol
        declared = re.search(rf"CUresult CUDAAPI {name}\(([^)]*)\);", text)
        assert declared, name
        parameters = [p.strip() for p in declared[1].split(",")] if declared[1] != "void" else []
        assert len(parameters) == len(types), name
        for parameter, type_ in zip(parameters, types, strict=True):
            kind = re.sub(r"\s*\w+$", "", parameter.replace("const ", "")).strip()
            size = 8 if "*" in parameter else wide.get(kind, 4 if "_attribute" in kind or kind == "CUresult" else 8)
            assert ctypes.sizeof(type_) == size, (name, parameter)
    for name, number in api.DEVICE_ATTRIBUTES.items():
        assert re.search(rf"CU_DEVICE_ATTRIBUTE_\w+ = {number},", text), name


# ------------------------------------------------------------------------------------------------ the whole way


def test_the_driver_passes_the_checker(monkeypatch):
    fake = FakeCuda(devices=1)
    install(monkeypatch, fake)
    checks = verify.verify_driver(get_device("cuda:0"))
    assert [c for c in checks if c.problem] == []
    assert len(fake.launches) > 300 and not fake.memory


def test_a_driver_without_order_fails_the_checker(monkeypatch):
    driver = install(monkeypatch, FakeCuda())
    monkeypatch.setattr(driver, "wait_event", lambda *arguments: None)
    problems = {c.name for c in verify.verify_driver(get_device("cuda:0")) if c.problem}
    assert problems == {"events order streams"}


def test_kernels_are_bound_once_for_each_device(monkeypatch):
    fake = FakeCuda(devices=2)
    install(monkeypatch, fake)
    signature = (("x", "*fp32"), ("o", "*fp32"), ("n", "i64"), ("scale", "fp32"), ("rows", "i32"))
    source = Source.generated(verify._SOURCE, "affine")
    made = [get_launcher(source, signature, (("BLOCK", 256),), get_device(f"cuda:{i}")) for i in (0, 1, 0)]
    assert made[0] is made[2] is not made[1]
    assert fake.calls.count("cuModuleLoadData") == 2
    assert made[0].kernel.artifact[:4] == b"\x7fELF"
