"""What every test shares: the device, the seed of random data, the Hypothesis profile."""

from __future__ import annotations

import os
import secrets
import zlib

import numpy
import pytest
from hypothesis import settings

CI = bool(os.environ.get("CI"))

# Kernels are compiled at first sight, so no example has a deadline. CI draws the same examples in every run.
settings.register_profile("nbx", deadline=None, derandomize=CI, print_blob=True)
settings.load_profile("nbx")


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        help="where the tests run: cpu, cuda:0, hip:0; fake, fake-hip or metal-shim for a cuda:0, hip:0 or metal:0 "
        "made of host memory",
    )


def pytest_configure(config):
    # Set here, before pytest-xdist starts its workers, so that all of them see one seed.
    os.environ.setdefault("NBX_TEST_SEED", "0" if CI else str(secrets.randbits(32)))
    # Workers have a core each. NumPy's BLAS would start a thread for every core in each of them: on 32 cores 12 workers
    # ended 18 slow factorisations in nine minutes, beside 17 others; 15 alone, with one thread each, 97 in one minute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if config.getoption("device") == "fake":
        import fake_cuda

        fake_cuda.install(pytest.MonkeyPatch(), fake_cuda.FakeCuda(memory=1 << 32))
    if config.getoption("device") == "fake-hip":
        import fake_hip

        fake_hip.install(pytest.MonkeyPatch(), fake_hip.FakeHip(memory=1 << 32))
    if config.getoption("device") == "metal-shim":
        import fake_metal

        fake_metal.install(pytest.MonkeyPatch(), fake_metal.FakeMetal(memory=1 << 32))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that asks for float64 is none for a device without it."""
    from nbx_array.kernels.types import DtypeAbsent

    try:
        return (yield)
    except DtypeAbsent as error:
        pytest.skip(str(error))


def pytest_report_header(config):
    chosen = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NBX_"))
    return f"nbx_array: device {config.getoption('device') or 'default'}, {', '.join(chosen)}"


@pytest.fixture(scope="session")
def xp(request):
    """The namespace under test, with the device of ``--device`` current."""
    import nbx_array

    chosen = request.config.getoption("device")
    if chosen is not None:
        nbx_array.set_device({"fake": "cuda:0", "fake-hip": "hip:0", "metal-shim": "metal:0"}.get(chosen, chosen))
    return nbx_array


@pytest.fixture(scope="session")
def device(xp):
    """The device under test."""
    return xp.empty(0).device


@pytest.fixture
def rng(request):
    """Random numbers that depend on the test and on NBX_TEST_SEED (in the header) alone."""
    return numpy.random.default_rng([int(os.environ["NBX_TEST_SEED"]), zlib.crc32(request.node.nodeid.encode())])
