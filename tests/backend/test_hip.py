"""The HIP driver over a fake libamdhip64 (`fake_hip.c`): argument segments, handles, order, errors, versions."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from fake_hip import FakeHip, install, needs_gcc
from nbx_array.backend import detect, native, verify
from nbx_array.backend.compiler import Source, compile_kernel
from nbx_array.backend.contract import CompiledKernel, DeviceError, DriverUnavailable, Target, get_device
from nbx_array.backend.hip import HipDriver, api, notes, open_driver
from nbx_array.backend.launcher import launch_count, stream_cell

TYPES = ("*fp32", "i8", "*i1", "i16", "i64", "u8", "i32", "u16", "fp64", "u32", "fp32", "u64", "i1")
FORMATS = "QbQhqBiHdIfQ?"
NAMES = "abcdefghijklm"
TARGETS = {"gfx942": Target("hip", "gfx942", 64), "gfx1100": Target("hip", "gfx1100", 32)}

#: Every type of argument, in an order that leaves gaps; each is used, so that none is left out of the code object.
_EVERY_TYPE = """
import triton
import triton.language as tl


@triton.jit
def every(a, b, c, d, e, f, g, h, i, j, k, l, m):
    tl.store(c, m.to(tl.int1))
    total = i + b + d + e + f + g + h + j + k + l + m
    tl.store(a, total.to(tl.float32))
"""


def every(arch: str, num_warps: int = 4) -> CompiledKernel:
    signature = tuple(zip(NAMES, TYPES, strict=True))
    source = Source.generated(_EVERY_TYPE, "every")
    return compile_kernel(source, signature, (), TARGETS[arch], True, (("num_warps", num_warps),))


@pytest.fixture(params=["native", "ctypes"])
def interface(request, monkeypatch):
    """With the C interface of Python, and without it."""
    monkeypatch.setattr(native, "HAVE_C_API", request.param == "native")


@pytest.fixture
def fake() -> FakeHip:
    if not shutil.which("gcc"):
        pytest.skip("gcc, which builds the fake libamdhip64, is not here")
    return FakeHip(devices=2)


@pytest.fixture
def driver(fake) -> HipDriver:
    return fake.driver()


# ------------------------------------------------------------------------------------------------ arguments

VALUES = (
    (2**63 + 4096, -128, 64, -(2**15), -(2**63), 255, -(2**31), 2**16 - 1, 1e-310, 2**32 - 1, 0.1, 2**64 - 1, True),
    (0, -1, 2**64 - 1, -1, -1, 0, -1, 0, -1.0, 0, -1.0, 0, False),
    (2**64 - 1, 127, 1, 2**15 - 1, 2**63 - 1, 1, 2**31 - 1, 1, -7, 1, float("-inf"), 2**63, 1),
)


@needs_gcc
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("num_warps", [1, 8])
def test_the_argument_segment_is_what_the_code_object_asks_for(interface, arch, num_warps):
    """Byte by byte: the fake reads the layout from the note, the test by `notes` and by what each type is."""
    fake = FakeHip(arch=arch, warp_size=TARGETS[arch].warp_size)
    compiled = every(arch, num_warps)
    (note,) = notes.kernels(compiled.artifact)
    given = [argument for argument in note.arguments if not argument.kind.startswith("hidden_")]
    assert len(given) == len(TYPES) + 2
    assert [argument.size for argument in given] == [*(struct.calcsize(f) for f in FORMATS), 8, 8]
    assert notes.problems(compiled) == []
    run, spread = fake.driver().bind(compiled, 0)
    for values in VALUES:
        expected = bytearray(b"\xcc" * note.segment)  # what the fake puts where nothing lies
        for argument, format_, value in zip(given, FORMATS + "QQ", (*values, 0, 0), strict=True):
            struct.pack_into(f"<{format_}", expected, argument.offset, value)
        for launch in (lambda: run(*values, 5, 3, 2), lambda: spread(values, 5, 3, 2)):  # noqa: B023
            assert launch() is None
            made = fake.launches()[-1]
            assert made.segment == expected
            assert tuple(made.grid) == (5, 3, 2)
            assert tuple(made.block) == (num_warps * TARGETS[arch].warp_size, 1, 1)
            assert (made.symbol, made.shared, made.stream) == (b"every", compiled.shared, None)
    assert len(fake.launches()) == 2 * len(VALUES)


@needs_gcc
def test_shared_memory_is_given_with_the_launch(fake, driver):
    compiled = verify_kernel(TARGETS["gfx942"])
    driver.bind(_with(compiled, shared=65536), 0)[0](1, 2, 1, 1.0, 1, 1, 1, 1)
    assert fake.launches()[-1].shared == 65536


def verify_kernel(target: Target) -> CompiledKernel:
    """The checker's kernel: of two pointers, i64, fp32 and i32."""
    signature = (("x", "*fp32"), ("o", "*fp32"), ("n", "i64"), ("scale", "fp32"), ("rows", "i32"))
    return compile_kernel(Source.generated(verify._SOURCE, "affine"), signature, (("BLOCK", 256),), target, True)


def _with(kernel: CompiledKernel, **fields: object) -> CompiledKernel:
    return CompiledKernel(**{**{name: getattr(kernel, name) for name in kernel.__dataclass_fields__}, **fields})


ARGUMENTS = (4096, 8192, 1, 1.0, 1)


@pytest.mark.parametrize(
    ("values", "grid", "error", "text"),
    [
        (ARGUMENTS[:-1], (1, 1, 1), TypeError, "7 were given"),
        ((*ARGUMENTS, 1), (1, 1, 1), TypeError, "9 were given"),
        (("x", *ARGUMENTS[1:]), (1, 1, 1), TypeError, "x"),
        ((*ARGUMENTS[:4], 2**31), (1, 1, 1), OverflowError, "2147483648"),
        (ARGUMENTS, (1, 65536, 1), ValueError, "65535 programs along axis 1"),
        (ARGUMENTS, (1, 1, 65536), ValueError, "65535 programs along axis 2"),
        # HIP counts threads, 256 a program here, in 32 bits.
        (ARGUMENTS, (2**24, 1, 1), ValueError, "hip:0: the grid of kernel 'affine' has more than 16777215 programs"),
    ],
)
def test_wrong_calls_raise_and_launch_nothing(interface, fake, driver, values, grid, error, text):
    run, _ = driver.bind(verify_kernel(TARGETS["gfx942"]), 0)
    before = launch_count("hip")
    with pytest.raises(error, match=text):
        run(*values, *grid)
    run(*ARGUMENTS, 0, 1, 1)  # an empty grid
    assert not fake.launches()
    assert launch_count("hip") == before
    run(*ARGUMENTS, 2**24 - 1, 65535, 65535)  # the largest
    assert len(fake.launches()) == 1
    assert launch_count("hip") == before + 1


def test_the_device_s_stream_is_read_at_each_launch(interface, fake, driver):
    run, _ = driver.bind(verify_kernel(TARGETS["gfx942"]), 1)
    stream, cell = driver.create_stream(1), stream_cell(get_device("hip:1"))
    run(*ARGUMENTS, 1, 1, 1)
    cell.value = stream
    try:
        run(*ARGUMENTS, 1, 1, 1)
    finally:
        cell.value = 0
    assert [(launch.stream, launch.device) for launch in fake.launches()] == [(None, 1), (stream, 1)]


@pytest.mark.parametrize("theirs", [0, 1])
def test_the_current_device_is_put_back(interface, fake, driver, theirs):
    """Device 0 too, whose number is no sign of there being none."""
    ours = 1 - theirs
    run, _ = driver.bind(verify_kernel(TARGETS["gfx942"]), ours)
    fake.cdll.hipSetDevice(theirs)
    run(*ARGUMENTS, 1, 1, 1)
    driver.fill(driver.allocate(16, ours), 1, 16, ours)
    assert fake.launches()[0].device == ours
    found = ctypes.c_int(-1)
    fake.cdll.hipGetDevice(ctypes.byref(found))
    assert found.value == theirs


def test_each_thread_has_its_own_current_device(interface, fake, driver):
    run, _ = driver.bind(verify_kernel(TARGETS["gfx942"]), 1)
    thread = threading.Thread(target=run, args=(*ARGUMENTS, 1, 1, 1))
    thread.start()
    thread.join()
    assert [launch.device for launch in fake.launches()] == [1]


@pytest.mark.parametrize(
    ("fields", "attributes", "text"),
    [
        ({"shared": 65537}, {}, "65537 bytes of shared memory, a block has at most 65536"),
        ({"num_warps": 32}, {}, "32 warps"),
        ({"cooperative": True}, {}, "cooperative"),
        ({"cluster_dims": (2, 1, 1)}, {}, "clusters"),
        ({"global_scratch_size": 8}, {"memory_pools": 0}, "scratch"),
        ({"global_scratch_size": 8, "global_scratch_align": 4096}, {}, "aligned"),
    ],
)
@needs_gcc
def test_what_the_device_lacks_is_refused(fields, attributes, text):
    driver = FakeHip(**attributes).driver()
    with pytest.raises(DeviceError, match=rf"hip:0 cannot run kernel 'affine': .*{text}"):
        driver.bind(_with(verify_kernel(TARGETS["gfx942"]), **fields), 0)


def test_scratch_memory_lives_as_long_as_the_launch(interface, fake, driver):
    kernel = _with(verify_kernel(TARGETS["gfx942"]), global_scratch_size=24, profile_scratch_size=8)
    (note,) = notes.kernels(kernel.artifact)
    run, _ = driver.bind(kernel, 0)
    run(*ARGUMENTS, 5, 2, 1)
    start, profile = struct.unpack_from("<QQ", fake.launches()[0].segment, note.arguments[5].offset)
    assert start and start % 256 == 0 and profile == start + 256  # 10 programs of 24 bytes, rounded up
    assert fake.used() == 256 + 80
    driver.synchronize(0)
    assert fake.used() == 0
    fake.fail("hipMallocAsync", 2)
    with pytest.raises(MemoryError, match="launching kernel 'affine'"):
        run(*ARGUMENTS, 5, 2, 1)
    fake.fail("hipModuleLaunchKernel", 1)
    with pytest.raises(DeviceError, match="hipErrorInvalidValue"):
        run(*ARGUMENTS, 5, 2, 1)
    driver.synchronize(0)
    assert fake.used() == 0 and len(fake.launches()) == 1


# ------------------------------------------------------------------------------------------------ devices, versions


@needs_gcc
@pytest.mark.parametrize(("rocm", "version"), [(5, (5, 2)), (6, (6, 3))])
def test_properties_and_memory_types_of_each_version(rocm, version):
    driver = FakeHip(devices=2, rocm=rocm, arch="gfx90a").driver()
    assert driver.target(1) == Target("hip", "gfx90a", 64)
    properties = driver.properties(1)
    assert (properties.name, properties.total_memory, properties.cores) == ("Imaginary Instinct", 1 << 25, 304)
    assert properties.extra["hip_version"] == version
    assert properties.extra["shared_per_block_optin"] == 65536
    a, b, pinned = driver.allocate(16, 0), driver.allocate(16, 1), driver.allocate_pinned(16, 0)
    host = ctypes.create_string_buffer(8)
    assert [driver.device_of(p) for p in (a, a + 15, b, pinned, ctypes.addressof(host))] == [0, 0, 1, None, None]


def test_an_attribute_that_the_library_does_not_know_is_0(fake, driver):
    fake.fail("hipDeviceGetAttribute", 1)
    assert driver.attribute(0, "memory_pools") == 0
    assert fake.last_error() == 0


@pytest.mark.parametrize("call", ["target", "properties", "memory"])
def test_a_device_that_is_not_there(driver, call):
    for index in (2, -1):
        with pytest.raises(ValueError, match="the last one is hip:1"):
            getattr(driver, call)(index)


@needs_gcc
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (100, "the AMD driver sees no device: hipErrorNoDevice"),
        (101, "the AMD driver sees no device: hipErrorInvalidDevice"),  # what ROCm 5 answers without a GPU
        (3, "HIP does not start: hipErrorNotInitialized: initialization error"),
    ],
)
def test_absence_has_a_reason(code, text):
    fake = FakeHip()
    fake.start(code)
    with pytest.raises(DriverUnavailable, match=text):
        fake.driver()
    with pytest.raises(DriverUnavailable, match="no device"):
        FakeHip(devices=0).driver()


def test_without_a_library_or_with_an_old_one_the_reason_says_so(monkeypatch):
    def refuse(name, mode=0):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    with pytest.raises(DriverUnavailable, match=r"no AMD driver is installed \(.*libamdhip64\.so: cannot open"):
        open_driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name, mode=0: ctypes.pythonapi)
    with pytest.raises(DriverUnavailable, match=r"the AMD driver is too old \(.*hipInit"):
        open_driver()


# ------------------------------------------------------------------------------------------------ errors


def test_errors_name_device_call_and_code_and_leave_none_behind(fake, driver):
    """An error that HIP remembers would be found by another library's next check."""
    fake.fail("hipMalloc", 1)
    with pytest.raises(DeviceError, match=r"hip:1: allocating 12 bytes failed: hipErrorInvalidValue: invalid arg"):
        driver.allocate(12, 1)
    assert fake.last_error() == 0
    fake.fail("hipStreamCreateWithFlags", 12345)
    with pytest.raises(DeviceError, match=r"hipErrorUnknown: unknown error \(code 12345"):
        driver.create_stream(0)
    event, stream = driver.create_event(0), driver.create_stream(0)
    driver.fill(driver.allocate(8, 0), 1, 8, 0, stream)
    event.record(stream)
    assert not event.done()
    assert fake.last_error() == 0


@pytest.mark.parametrize("name", ["hipGetDevice", "hipModuleLaunchKernel"])
def test_a_failing_launch_names_its_kernel(interface, fake, driver, name):
    run, _ = driver.bind(verify_kernel(TARGETS["gfx942"]), 0)
    before = launch_count("hip")
    fake.fail(name, 400)
    with pytest.raises(DeviceError, match="hip:0: launching kernel 'affine' failed: hipErrorInvalidHandle"):
        run(*ARGUMENTS, 1, 1, 1)
    assert launch_count("hip") == before and fake.last_error() == 0


def test_running_out_of_memory_is_a_memory_error(fake, driver):
    address = driver.allocate(1 << 24, 0)
    with pytest.raises(MemoryError, match="hip:0: allocating 33554432 bytes failed: hipErrorOutOfMemory"):
        driver.allocate(1 << 25, 0)
    driver.allocate(1 << 25, 1)
    driver.free(address, 0)
    assert driver.memory(0) == (1 << 25, 1 << 25)


def test_a_fault_surfaces_at_the_next_wait_with_the_kernels_before_it(interface, fake, driver):
    driver.bind(verify_kernel(TARGETS["gfx942"]), 0)[0](*ARGUMENTS, 1, 1, 1)
    driver.bind(every("gfx942"), 0)[0](*VALUES[0], 1, 1, 1)
    fake.fault(700)
    with pytest.raises(DeviceError, match=r"waiting for the device.*IllegalAddress.*latest first: every, affine$"):
        driver.synchronize(0)


def test_a_wrong_artifact_is_refused(fake, driver):
    with pytest.raises(ValueError, match="hip:0 loads a hsaco for hip, not kernel 'k', which is a object for cpu"):
        driver.bind(CompiledKernel("k", "k", "object", b"", Target("cpu", "host", 1), (), ()), 0)
    with pytest.raises(DeviceError, match="loading kernel 'k', compiled for gfx942, failed: hipErrorInvalidImage"):
        driver.bind(CompiledKernel("k", "k", "hsaco", b"rubbish" * 20, TARGETS["gfx942"], (), ()), 0)
    with pytest.raises(DeviceError, match="'every', compiled for gfx1100, failed: hipErrorNoBinaryForGpu"):
        driver.bind(every("gfx1100"), 0)


def test_a_forked_child_is_told(driver):
    run, _ = driver.bind(verify_kernel(TARGETS["gfx942"]), 0)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        messages = []
        for call in (lambda: run(*ARGUMENTS, 1, 1, 1), lambda: driver.allocate(4, 0), lambda: driver.target(0)):
            try:
                call()
                messages.append("nothing")
            except DeviceError as error:
                messages.append(str(error))
        os.write(write, "\n".join(messages).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        lines = file.read().decode().splitlines()
    os.waitpid(pid, 0)
    assert len(lines) == 3
    for line in lines:
        assert "before this process was forked, and HIP does not work in the child" in line and "'spawn'" in line


# ------------------------------------------------------------------------------------------------ memory, order


def test_copies_and_fills_on_a_device_and_between_two(driver, rng):
    data = rng.integers(0, 256, 1000, dtype=np.uint8)
    a, b, c = (driver.allocate(1000, i) for i in (0, 0, 1))
    driver.copy_from_host(a, data.ctypes.data, 1000, 0)
    driver.copy(b + 1, a, 999, 0)
    driver.fill(b, 7, 1, 0)
    driver.copy(c, b, 1000, 0)
    driver.synchronize(0)
    found = np.zeros(1000, np.uint8)
    driver.copy_to_host(found.ctypes.data, c, 1000, 1)
    assert found.tolist() == [7, *data[:999]]
    with pytest.raises(DeviceError, match="copying 1001 bytes failed: hipErrorInvalidValue"):
        driver.copy(c, b, 1001, 0)


def test_events_order_streams_and_only_they_do(driver):
    first, second = driver.create_stream(0), driver.create_stream(0)
    a, b = driver.allocate(4, 0), driver.allocate(4, 0)
    for wait, expected in ((False, 1), (True, 2)):
        driver.fill(a, 1, 4, 0)
        driver.synchronize(0)
        event = driver.create_event(0)
        driver.fill(a, 2, 4, 0, first)
        event.record(first)
        if wait:
            driver.wait_event(second, event, 0)
        driver.copy(b, a, 4, 0, second)
        found = np.zeros(4, np.uint8)
        driver.copy_to_host(found.ctypes.data, b, 4, 0, second)
        assert found.tolist() == [expected] * 4
        event.synchronize()
        assert event.done()


@needs_gcc
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("rocm", [5, 6])
def test_the_driver_passes_the_checker(monkeypatch, arch, rocm):
    fake = FakeHip(arch=arch, rocm=rocm, warp_size=TARGETS[arch].warp_size)
    install(monkeypatch, fake)
    checks = verify.verify_driver(get_device("hip:0"))
    assert [c for c in checks if c.problem] == []
    assert len(fake.launches()) > 300 and not fake.used()


@needs_gcc
def test_a_driver_without_order_fails_the_checker(monkeypatch):
    driver = install(monkeypatch, FakeHip())
    monkeypatch.setattr(driver, "wait_event", lambda *arguments: None)
    problems = {c.name for c in verify.verify_driver(get_device("hip:0")) if c.problem}
    assert problems == {"events order streams"}


# ------------------------------------------------------------------------------------------------ the real thing

HEADERS = "backends/amd/include"
#: What follows hipDeviceAttribute in the header's names.
ATTRIBUTE_NAMES = {
    "clock_khz": "ClockRate",
    "l2_bytes": "L2CacheSize",
    "threads_per_block": "MaxThreadsPerBlock",
    "threads_per_multiprocessor": "MaxThreadsPerMultiProcessor",
    "multiprocessors": "MultiprocessorCount",
    "shared_per_block_optin": "MaxSharedMemoryPerBlock",
    "warp_size": "WarpSize",
    "memory_pools": "MemoryPoolsSupported",
}


def _headers() -> str:
    triton = pytest.importorskip("triton")
    folder = os.path.join(os.path.dirname(triton.__file__), HEADERS)
    assert os.path.isdir(folder)
    return folder


def test_every_function_is_bound_with_the_types_of_the_header():
    """hip_runtime_api.h is where triton's package carries it."""
    with open(os.path.join(_headers(), "hip", "hip_runtime_api.h"), encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*|/\*.*?\*/|__dparm\([^)]*\)", "", file.read(), flags=re.DOTALL)
    wide = dict.fromkeys(("hipDeviceptr_t", "size_t", "hipStream_t", "hipEvent_t", "hipModule_t", "hipFunction_t"), 8)
    wide |= dict.fromkeys(("int", "unsigned", "hipDevice_t", "hipDeviceAttribute_t", "hipPointer_attribute"), 4)
    wide |= {"unsigned int": 4, "unsigned char": 1}
    for symbol, types in api.FUNCTIONS.values():
        declared = re.search(rf"hipError_t {symbol}\(([^)]*)\);", text)
        assert declared, symbol
        parameters = [p.strip() for p in declared[1].split(",")] if declared[1].strip() != "void" else []
        assert len(parameters) == len(types), symbol
        for parameter, type_ in zip(parameters, types, strict=True):
            kind = re.sub(r"\s*\w+(\s*=.*)?$", "", parameter.replace("const ", "")).strip()
            size = 8 if "*" in parameter else wide[kind]
            assert ctypes.sizeof(type_) == size, (symbol, parameter)
    listed = re.search(r"typedef enum hipDeviceAttribute_t \{(.*?)\}", text, re.DOTALL)
    assert listed
    numbers: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in listed[1].split(","))):
        name, _, value = (part.strip() for part in entry.partition("="))
        last = list(numbers.values())[-1] if numbers else -1
        numbers[name] = last + 1 if not value else numbers[value] if value in numbers else int(value)
    assert set(ATTRIBUTE_NAMES) == set(api.DEVICE_ATTRIBUTES)
    for name, number in api.DEVICE_ATTRIBUTES.items():
        assert numbers[f"hipDeviceAttribute{ATTRIBUTE_NAMES[name]}"] == number, name


@needs_gcc
def test_the_architecture_s_name_lies_where_the_headers_have_it(tmp_path):
    """Both layouts of a device's properties, by the compiler."""
    program = tmp_path / "layouts.c"
    program.write_text(
        """#define __HIP_PLATFORM_AMD__ 1
        #include <stddef.h>
        #include <stdio.h>
        #include <hip/hip_runtime_api.h>
        #include <hip/hip_deprecated.h>
        int main(void) {
          printf("%zu %zu %zu %zu\\n", offsetof(hipDeviceProp_tR0600, gcnArchName), sizeof(hipDeviceProp_tR0600),
                 offsetof(hipDeviceProp_tR0000, gcnArchName), sizeof(hipDeviceProp_tR0000));
        }"""
    )
    subprocess.run(["gcc", "-I", _headers(), "-o", tmp_path / "layouts", program], check=True)
    done = subprocess.run([tmp_path / "layouts"], check=True, capture_output=True, text=True)
    since_6, size_6, before, size_5 = map(int, done.stdout.split())
    assert (since_6, before) == tuple(offset for _, offset in api.PROPERTIES)
    assert max(size_6, size_5) < api.PROPERTIES_BYTES


@needs_gcc
@pytest.mark.parametrize("name", ["libamdhip64.so.6", "libamdhip64.so"])
def test_a_library_that_the_process_has_is_taken(tmp_path, name):
    """PyTorch brings one in a folder that no search finds; two in a process would not share memory."""
    source, library = os.path.join(os.path.dirname(__file__), "fake_hip.c"), tmp_path / "elsewhere.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-DROCM=6", f"-Wl,-soname,{name}", "-o", library, source, "-lpthread"], check=True
    )
    program = "import ctypes, sys\nfrom nbx_array.backend.hip import api\nlibrary = ctypes.CDLL(sys.argv[1])\n"
    program += "assert api._open_library()._handle == library._handle"
    subprocess.run([sys.executable, "-P", "-c", program, library], check=True)


def test_where_there_is_a_library_it_has_every_symbol_and_says_why_it_cannot_be_used(monkeypatch):
    """Debian's libamdhip64-5 loads without a GPU."""
    try:
        library = api._open_library()
    except OSError as error:
        pytest.skip(f"no libamdhip64 here: {error}")
    for symbol, _ in api.FUNCTIONS.values():
        assert hasattr(library, symbol), symbol
    bound = api.HipApi()
    assert bound.describe(2).startswith("hipErrorOutOfMemory") and bound.device_memory_type() in (1, 2)
    reason = detect.reason_absent("hip")
    if reason is None:
        assert detect.find_device("hip:0") in detect.devices()
    else:
        assert "the AMD driver sees no device: hipError" in reason
        monkeypatch.setattr(detect, "_default", None)
        monkeypatch.delenv("NBX_BACKEND", raising=False)
        assert detect.default_device().backend != "hip"  # the next backend that has a device


@needs_gcc
@pytest.mark.slow
def test_arrays_run_on_the_fake_device():
    """The public API over the driver, in a process of its own, whose only GPU is the fake."""
    program = """if True:
        import numpy as np, pytest, fake_hip
        fake = fake_hip.FakeHip(devices=2, memory=1 << 26, arch="gfx1100", warp_size=32)
        fake_hip.install(pytest.MonkeyPatch(), fake)
        import nbx_array as xp
        from nbx_array.backend.contract import get_device
        assert str(xp.empty(0).device) == "hip:0"
        rng = np.random.default_rng(1)
        a = rng.standard_normal((33, 65)).astype(np.float32)
        x = xp.asarray(a)
        def same(found, expected, rtol=0.0):
            assert found.device is get_device("hip:0")
            np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=10 * rtol)
        same((x - 1) * x, (a - 1) * a)
        same(xp.sum(x, axis=0), a.sum(0, dtype=np.float64), 1e-6)
        same(xp.cumulative_sum(x, axis=1), a.cumsum(1, dtype=np.float64), 1e-5)
        same(xp.sort(x, axis=1), np.sort(a, axis=1))
        same(xp.sort(xp.reshape(x, (-1,))), np.sort(a.ravel()))
        same(x @ x.T, a.astype(np.float64) @ a.T.astype(np.float64), 1e-5)
        same(x[::-2, 3:], a[::-2, 3:])
        same(xp.take(x, xp.asarray([5, 0, 64]), axis=1), a[:, [5, 0, 64]])
        same(x[x > 0], a[a > 0])
        same(x.to_device("hip:1").to_device("hip:0"), a)
        assert {launch.block[0] for launch in fake.launches()} <= {32, 64, 128, 256, 512, 1024}
        print(len(fake.launches()), "launches")
        """
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=os.path.dirname(__file__), text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= 10
