"""Detection: which devices there are, which is current, why a backend is absent."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from fake_cuda import FakeCuda, install
from nbx_array.backend import contract, detect
from nbx_array.backend.contract import DriverUnavailable, get_device


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No device chosen yet, no environment."""
    monkeypatch.setattr(detect, "_default", None)
    monkeypatch.setattr(detect, "_thread", threading.local())
    monkeypatch.delenv("NBX_BACKEND", raising=False)


def remove(monkeypatch, backend, api, library):
    def refuse():
        raise OSError(f"{library}: no such file")

    monkeypatch.setitem(contract._drivers, backend, None)
    monkeypatch.setattr(f"nbx_array.backend.{backend}.driver.{api}", refuse)


@pytest.fixture
def no_amd(monkeypatch):
    remove(monkeypatch, "hip", "HipApi", "libamdhip64.so")


@pytest.fixture
def no_gpu(monkeypatch, no_amd):
    remove(monkeypatch, "cuda", "CudaApi", "libcuda.so.1")


@pytest.fixture
def two_gpus(monkeypatch, no_amd):
    install(monkeypatch, FakeCuda(devices=2))


def test_without_a_gpu_the_cpu_is_the_default(no_gpu):
    assert detect.devices() == [get_device("cpu")]
    assert detect.default_device() is get_device("cpu")
    assert detect.reason_absent("cpu") is None
    assert detect.reason_absent("cuda") == "no NVIDIA driver is installed (libcuda.so.1: no such file)"
    assert detect.reason_absent("hip") == "no AMD driver is installed (libamdhip64.so: no such file)"


def test_a_gpu_comes_first(two_gpus):
    assert [str(d) for d in detect.devices()] == ["cuda:0", "cuda:1", "cpu"]
    assert detect.default_device() is get_device("cuda:0")
    assert detect.reason_absent("cuda") is None


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has Metal")
def test_a_backend_of_another_system_says_so(monkeypatch):
    assert detect.reason_absent("metal") == f"Metal is a part of macOS, and this is {sys.platform}"
    with pytest.raises(DriverUnavailable, match="there is no device 'metal:0': Metal is a part of macOS"):
        detect.find_device("metal:0")
    monkeypatch.setenv("NBX_BACKEND", "metal")
    with pytest.raises(DriverUnavailable, match=r"NBX_BACKEND.*metal: Metal is a part of macOS"):
        detect.default_device()


def test_the_environment_overrides(two_gpus, monkeypatch):
    monkeypatch.setenv("NBX_BACKEND", "cpu")
    assert detect.default_device() is get_device("cpu")
    assert detect.devices() == [get_device("cpu")]


@pytest.mark.parametrize("value", ["gpu", "CPU", "cuda:0"])
def test_a_wrong_environment_raises(value, monkeypatch):
    monkeypatch.setenv("NBX_BACKEND", value)
    for call in (detect.default_device, detect.devices):
        with pytest.raises(ValueError, match=f"NBX_BACKEND is '{value}'.*cuda, hip, metal, cpu"):
            call()


def test_an_absent_backend_in_the_environment_raises_with_the_reason(no_gpu, monkeypatch):
    monkeypatch.setenv("NBX_BACKEND", "cuda")
    with pytest.raises(DriverUnavailable, match="no NVIDIA driver"):
        detect.default_device()
    assert detect.devices() == []


def test_the_current_device_belongs_to_the_thread(two_gpus):
    seen = {}

    def work():
        seen["before"] = detect.default_device()
        detect.set_device("cpu")
        seen["after"] = detect.default_device()

    detect.set_device("cuda:1")
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert detect.default_device() is get_device("cuda:1")
    assert seen == {"before": get_device("cuda:0"), "after": get_device("cpu")}
    detect.set_device(None)
    assert detect.default_device() is get_device("cuda:0")


@pytest.mark.parametrize(
    ("device", "error", "text"),
    [
        ("cuda:2", ValueError, "the last one is cuda:1"),
        ("cuda:x", ValueError, "cuda:x"),
        ("cpu:1", ValueError, "cpu:1"),
        ("tpu", ValueError, "tpu"),
        ("hip", DriverUnavailable, "no AMD driver is installed"),
        (0, TypeError, "int"),
    ],
)
def test_a_device_that_is_not_there(two_gpus, device, error, text):
    detect.set_device("cuda:1")
    with pytest.raises(error, match=text):
        detect.set_device(device)
    assert detect.default_device() is get_device("cuda:1")


def test_importing_touches_no_device():
    program = """if True:
        import ctypes
        def refuse(*arguments, **keywords): raise SystemExit("a library was opened: %s" % (arguments,))
        real, ctypes.CDLL.__init__ = ctypes.CDLL.__init__, refuse
        import nbx_array, nbx_array.backend.detect, nbx_array.backend.facts
        import nbx_array.backend.cuda, nbx_array.backend.hip
        """
    subprocess.run([sys.executable, "-P", "-c", program], check=True, env=os.environ | {"NBX_BACKEND": "nonsense"})
