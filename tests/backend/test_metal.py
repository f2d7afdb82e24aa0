"""The Metal driver on a device of host memory (`fake_metal`): the checker, and what only Metal has."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest
from fake_metal import FakeMetal, install
from msl import shim
from nbx_array.backend import compiler, launcher
from nbx_array.backend.ahead import parse_target
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import DeviceError, DriverUnavailable, Target, get_device
from nbx_array.backend.metal import MetalDriver, api, open_driver
from nbx_array.backend.metal.queue import IN_FLIGHT, LENGTH
from nbx_array.backend.verify import verify_driver

pytestmark = pytest.mark.skipif(shim.compiler() is None, reason="no C++ compiler, which builds the kernels, is here")
DEVICE = get_device("metal:0")


@pytest.fixture
def fake():
    return FakeMetal()


@pytest.fixture
def driver(monkeypatch, fake):
    return install(monkeypatch, fake)


def test_the_driver_keeps_the_contract(driver):
    assert [check for check in verify_driver(DEVICE) if check.problem] == []


def test_without_a_mac_the_reason_is_given():
    with pytest.raises(DriverUnavailable, match="macOS"):
        open_driver()


@pytest.mark.parametrize("fake", [FakeMetal(devices=0), FakeMetal(family=None)])
def test_a_machine_without_a_gpu_of_apples_is_refused(fake):
    with pytest.raises(DriverUnavailable, match="GPU of Apple's own"):
        MetalDriver(fake)


def test_what_the_device_says_of_itself(driver):
    assert driver.target(0) == Target("metal", "apple7", 32) == parse_target("apple7")
    assert driver.properties(0).name == "Imaginary M1"
    with pytest.raises(ValueError, match="no device metal:1; the last one is metal:0"):
        driver.target(1)


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def double(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
"""


def double():
    signature = (("x", "*fp32"), ("o", "*fp32"), ("n", "i32"))
    return launcher.get_launcher(Source.generated(SOURCE, "double"), signature, (("BLOCK", 128),), DEVICE)


def put(driver, values):
    address = driver.allocate(values.nbytes, 0)
    driver.copy_from_host(address, values.ctypes.data, values.nbytes, 0)
    return address


def get(driver, address, n, dtype=np.float32):
    values = np.empty(n, dtype)
    driver.copy_to_host(values.ctypes.data, address, values.nbytes, 0)
    return values


def test_an_address_inside_a_buffer_is_the_buffer_with_an_offset(driver, fake):
    x = np.arange(300, dtype=np.float32)
    source, target = put(driver, x), put(driver, np.zeros(300, np.float32))
    double().run(source + 4 * 7, target + 4 * 11, 250, 2, 1, 1)
    expected = np.zeros(300, np.float32)
    expected[11:261] = 2 * x[7:257]
    np.testing.assert_array_equal(get(driver, target, 300), expected)
    arguments = fake.dispatched[-1].arguments
    assert [a[1] for a in arguments[:2]] == [28, 44] and arguments[2] == (250).to_bytes(4, "little")


def test_a_foreign_address_is_refused_before_anything_is_dispatched(driver, fake):
    x = put(driver, np.zeros(4, np.float32))
    host = np.zeros(4, np.float32)
    count = len(fake.dispatched)
    for address in (0, host.ctypes.data, x + (1 << 14)):
        with pytest.raises(ValueError, match="argument 'o' is 0x"):
            double().run(x, address, 4, 1, 1, 1)
    freed = driver.allocate(4, 0)
    driver.free(freed, 0)
    with pytest.raises(ValueError, match="no memory"):
        double().run(freed, x, 4, 1, 1, 1)
    with pytest.raises(ValueError, match="no memory that was allocated"):
        driver.free(freed, 0)
    assert len(fake.dispatched) == count


def test_command_buffers_are_bounded_and_so_is_their_number(driver, fake):
    x, o = put(driver, np.ones(4, np.float32)), put(driver, np.zeros(4, np.float32))
    events = []
    fake.watch = events.append
    for _ in range(3 * LENGTH - 1):
        double().run(x, o, 4, 1, 1, 1)
    assert events == ["commit"] * 2
    np.testing.assert_array_equal(get(driver, o, 4), 2)  # a read hands over the rest
    assert events.count("commit") == 3
    events.clear()
    for _ in range((IN_FLIGHT + 3) * LENGTH):
        double().run(x, o, 4, 1, 1, 1)
    assert events.count("wait") == 3  # for the oldest


def test_writing_to_memory_in_use_waits_its_turn(driver):
    x, o = put(driver, np.full(4, 3, np.float32)), put(driver, np.zeros(4, np.float32))
    double().run(x, o, 4, 1, 1, 1)
    new = np.full(4, 5, np.float32)
    driver.copy_from_host(x, new.ctypes.data, 16, 0)
    new[:] = 9  # the copy has taken it
    np.testing.assert_array_equal(get(driver, o, 4), 6)
    np.testing.assert_array_equal(get(driver, x, 4), 5)


def test_an_event_of_an_idle_device_is_over(driver, fake):
    events = []
    fake.watch = events.append
    event = driver.create_event(0)
    event.record()
    assert event.done() and events == []
    x, o = put(driver, np.ones(4, np.float32)), put(driver, np.zeros(4, np.float32))
    double().run(x, o, 4, 1, 1, 1)
    event.record()
    assert not event.done() and events == ["commit"]  # asked for, it is on its way
    event.synchronize()
    assert event.done() and events == ["commit", "wait"]


def test_memory_freed_in_use_stays_until_it_is_done_with(driver):
    x, o = put(driver, np.full(4, 3, np.float32)), put(driver, np.zeros(4, np.float32))
    double().run(x, o, 4, 1, 1, 1)
    driver.free(x, 0)
    np.testing.assert_array_equal(get(driver, o, 4), 6)


@pytest.mark.parametrize("shift", [0, 1, 15, 17])
@pytest.mark.parametrize("n", [1, 16, 4095, 4097])
def test_copies_and_fills_of_any_length_and_place(driver, n, shift):
    data = (np.arange(n + 40) * 37 % 251).astype(np.uint8)
    a, b = put(driver, data), put(driver, np.zeros(n + 40, np.uint8))
    driver.copy(b + shift, a + 3, n, 0)
    expected = np.zeros(n + 40, np.uint8)
    expected[shift : shift + n] = data[3 : 3 + n]
    np.testing.assert_array_equal(get(driver, b, n + 40, np.uint8), expected)
    driver.fill(b + shift, 0xFE, n, 0)
    expected[shift : shift + n] = 0xFE
    np.testing.assert_array_equal(get(driver, b, n + 40, np.uint8), expected)


def test_memory_that_is_not_there_is_a_memory_error(monkeypatch):
    driver = install(monkeypatch, FakeMetal(memory=1 << 20))
    with pytest.raises(MemoryError, match="a buffer has at most 524288"):
        driver.allocate(1 << 19 | 1, 0)
    held = [driver.allocate(1 << 18, 0) for _ in range(4)]
    assert driver.memory(0) == (0, 1 << 20)
    with pytest.raises(MemoryError, match="1048576 of 1048576 are in use"):
        driver.allocate(1, 0)
    driver.free(held.pop(), 0)
    driver.allocate(1, 0)


def test_a_fault_surfaces_when_the_host_waits_and_names_the_kernels(driver, fake):
    x, o = put(driver, np.ones(4, np.float32)), put(driver, np.zeros(4, np.float32))
    double().run(x, o, 4, 1, 1, 1)
    fake.fail = "Caused GPU Address Fault Error"
    with pytest.raises(DeviceError, match=r"metal:0: Caused GPU Address Fault.*the latest first: double"):
        driver.synchronize(0)
    double().run(x, o, 4, 1, 1, 1)
    np.testing.assert_array_equal(get(driver, o, 4), 2)


def test_a_kernel_that_needs_more_threads_than_there_are_is_refused(monkeypatch):
    install(monkeypatch, FakeMetal(threads=64))
    with pytest.raises(DeviceError, match="has at most 64 threads, not 128"):
        double()


def test_float64_is_refused_before_anything_is_emitted(driver):
    signature = (("x", "*fp64"), ("o", "*fp64"), ("n", "i32"))
    with pytest.raises(NotImplementedError, match="float64"):
        launcher.get_launcher(Source.generated(SOURCE, "double"), signature, (("BLOCK", 128),), DEVICE)


def test_a_kernel_with_too_many_arguments_counts_as_missing(driver):
    names = [f"x{k}" for k in range(32)]
    text = SOURCE[: SOURCE.index("@triton")] + f"@triton.jit\ndef many({', '.join(names)}):\n    tl.store(x0, 1.0)\n"
    with pytest.raises(compiler.KernelMissing, match="32 arguments"):
        launcher.get_launcher(Source.generated(text, "many"), tuple((n, "*fp32") for n in names), (), DEVICE)


def test_after_a_fork_the_child_is_told(driver):
    address = put(driver, np.ones(4, np.float32))
    pid = os.fork()
    if not pid:
        try:
            driver.copy(address, address, 4, 0)
        except DeviceError as error:
            os._exit(0 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class Objects:
    """Objects like those of pyobjc: any method, called with what is recorded, gives what was set or another of them."""

    def __init__(self, **results):
        self.__dict__.update(results, calls=[])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments):
            self.calls.append((name, *arguments))
            return self

        return call


def metal_api(**metal):
    made = api.MetalApi.__new__(api.MetalApi)
    made._metal = Objects(**metal)

    class Pool:
        def __enter__(self):
            pass

        def __exit__(self, *exception):
            pass

    made._pool = Pool
    return made


def test_scalars_are_set_as_bytes_and_pointers_as_buffers_with_an_offset():
    encoder, size = Objects(), []
    made = metal_api(MTLSizeMake=lambda *sizes: size.append(sizes) or sizes)
    made.dispatch(encoder, "pipeline", [("buffer", 256), b"\1\2\3\4"], (5, 6, 7), 128)
    assert encoder.calls == [
        ("setComputePipelineState_", "pipeline"),
        ("setBuffer_offset_atIndex_", "buffer", 256, 0),
        ("setBytes_length_atIndex_", b"\1\2\3\4", 4, 1),
        ("dispatchThreadgroups_threadsPerThreadgroup_", (5, 6, 7), (128, 1, 1)),
    ]


@pytest.mark.parametrize("modern", [True, False])
def test_kernels_are_compiled_in_safe_mode(modern):
    options = Objects(respondsToSelector_=lambda selector: modern and selector == "setMathMode:")
    library, device = Objects(), Objects()
    device.__dict__["newLibraryWithSource_options_error_"] = lambda text, given, error: (
        (library, None) if given is options and text == "text" else (None, None)
    )
    device.__dict__["newComputePipelineStateWithFunction_error_"] = lambda function, error: ("ready", None)
    made = metal_api(MTLCompileOptions=Objects(alloc=lambda: Objects(init=lambda: options)))
    assert made.pipeline(device, "text", "kernel") == ("ready", "")
    assert options.calls == [
        ("setLanguageVersion_", 0x30001),
        ("setMathMode_", 0) if modern else ("setFastMathEnabled_", False),
    ]
    problem = Objects(localizedDescription=lambda: "error: no type")
    device.__dict__["newLibraryWithSource_options_error_"] = lambda text, given, error: (None, problem)
    assert made.pipeline(device, "text", "kernel") == (None, "error: no type")


def test_the_address_of_a_buffer_is_that_of_its_contents():
    memory = ctypes.create_string_buffer(64)
    buffer = Objects(contents=lambda: Objects(as_buffer=lambda n: memoryview(memory)[:n]))
    assert metal_api().address(buffer, 64) == ctypes.addressof(memory)


def test_a_buffer_is_known_by_the_pointer_of_its_object():
    buffer = Objects(length=lambda: 64, storageMode=lambda: 0)
    made = metal_api()
    made._objc = Objects(pyobjc_id=lambda given: 4096 if given is buffer else 0)
    made._objc.__dict__["objc_object"] = lambda c_void_p: buffer if c_void_p.value == 4096 else None
    assert made.pointer(buffer) == 4096
    assert made.shared_buffer(4096) == (buffer, 64)
    buffer.__dict__["storageMode"] = lambda: 2  # private to the GPU
    assert made.shared_buffer(4096) is None
