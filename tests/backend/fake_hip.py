"""A libamdhip64 without a GPU: `fake_hip.c` built by gcc, and the Python side of it. `install` makes kernels run."""

from __future__ import annotations

import ctypes
import functools
import itertools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from nbx_array.backend import compiler, contract, launcher, native
from nbx_array.backend.cpu.launching import symbols
from nbx_array.backend.hip import HipDriver, api
from nbx_array.backend.hip.api import HipApi

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc, which builds the fake libamdhip64, is not here")

#: By `api.DEVICE_ATTRIBUTES`: an MI300X.
ATTRIBUTES = {
    "clock_khz": 2100000,
    "l2_bytes": 4 << 20,
    "threads_per_block": 1024,
    "threads_per_multiprocessor": 2048,
    "multiprocessors": 304,
    "shared_per_block_optin": 65536,
    "warp_size": 64,
    "memory_pools": 1,
}


class Launch(ctypes.Structure):
    _fields_ = (
        ("symbol", ctypes.c_char_p),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_uint32),
        ("device", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
        ("segment_at", ctypes.c_void_p),
        ("size", ctypes.c_uint32),
    )

    @property
    def segment(self) -> bytes:
        """The kernel's arguments as the device would read them."""
        return ctypes.string_at(self.segment_at, self.size)


@functools.cache
def _built(rocm: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fake_hip"))
    output = folder / f"rocm{rocm}.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", f"-DROCM={rocm}",
         "-o", output, Path(__file__).with_suffix(".c"), "-lpthread"], check=True,
    )  # fmt: skip
    return output


_numbers = itertools.count()


class FakeHip:
    """A library of its own, for `HipApi(library)`, and what tests set and read."""

    def __init__(self, devices: int = 1, memory: int = 1 << 25, rocm: int = 6, arch: str = "gfx942", **attributes: int):
        # The linker loads a file once: a copy has state of its own.
        path = shutil.copy(_built(rocm), _built(rocm).with_name(f"{next(_numbers)}.so"))
        self.cdll = ctypes.CDLL(path)
        self._call("fake_setup", devices, ctypes.c_size_t(memory), f"{arch}:sramecc+:xnack-".encode())
        for name, value in (ATTRIBUTES | attributes).items():
            for device in range(devices):
                self._call("fake_attribute", device, api.DEVICE_ATTRIBUTES[name], value)

    def _call(self, name: str, *arguments: Any, result: Any = None) -> Any:
        function = getattr(self.cdll, name)
        function.restype = result
        return function(*arguments)

    def start(self, code: int) -> None:
        self._call("fake_start", code)

    def fail(self, name: str, code: int) -> None:
        """The next call of a function gives this code."""
        self._call("fake_fail", name.encode(), code)

    def fault(self, code: int) -> None:
        """Every call gives this code from now on."""
        self._call("fake_fault", code)

    def last_error(self) -> int:
        return self._call("fake_last_error", result=ctypes.c_int)

    def used(self) -> int:
        """Bytes of device memory that are allocated."""
        return self._call("fake_used", result=ctypes.c_size_t)

    def launches(self) -> list[Launch]:
        count = self._call("fake_launches", result=ctypes.c_int)
        return [self._call("fake_launch", i, result=ctypes.POINTER(Launch)).contents for i in range(count)]

    def register(self, artifact: bytes, function: int) -> None:
        """What a code object does: the address of a function as `backend.cpu` compiles kernels."""
        self._call("fake_register", artifact, ctypes.c_size_t(len(artifact)), ctypes.c_void_p(function))

    def driver(self) -> HipDriver:
        return HipDriver(HipApi(self.cdll))


def install(monkeypatch: Any, fake: FakeHip) -> HipDriver:
    """Make the fake this process's HIP. Kernels are compiled for its architecture and, to run, for the CPU."""
    driver = fake.driver()
    compile_kernel = compiler.compile_kernel

    def compile_both(source: Any, signature: Any, constants: Any, target: Any, aligned: Any, options: Any = ()) -> Any:
        kernel = compile_kernel(source, signature, constants, target, aligned, options)
        if target.backend == "hip":
            host = compile_kernel(source, signature, constants, contract.Target("cpu", "host", 1), False)
            fake.register(kernel.artifact, native.link(host.artifact, [host.symbol], symbols())[host.symbol])
        return kernel

    monkeypatch.setattr(compiler, "compile_kernel", compile_both)
    monkeypatch.setattr(launcher, "_launchers", {})
    monkeypatch.setitem(contract._drivers, "hip", driver)
    return driver
