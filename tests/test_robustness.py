"""What programs do to arrays in odd orders: deferral, threads and the collector must never show in a result."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from nbx_array.kernels import signature

from nbx_array import _journal


@pytest.mark.parametrize("change", ["assign", "masked", "shifted", "exp"])
def test_assigned_expressions_keep_their_value(change, xp):
    """`x[...] = y` where y is pending and reads x: y is not computed again from what x holds afterwards."""
    host = np.arange(1.0, 6.0)
    x = xp.realize(xp.asarray(host))
    if change == "shifted":
        y = x[:-1] + 1.0
        x[1:] = y
        wanted = host[:-1] + 1.0
    else:
        y = xp.exp(x) + 1.0 if change == "exp" else x + 1.0
        wanted = xp.asnumpy(xp.exp(xp.asarray(host)) + 1.0) if change == "exp" else host + 1.0
        if change == "masked":
            x[x > 2] = y[xp.asarray(host > 2)]
        else:
            x[...] = y
    z = y * 2.0
    x[0] = 100.0
    x += 1.0
    np.testing.assert_array_equal(xp.asnumpy(y), wanted)
    np.testing.assert_array_equal(xp.asnumpy(z), wanted * 2)


def test_parts_of_pending_arrays_are_views(xp):
    x = xp.realize(xp.asarray(np.arange(4.0)))
    z = x * (1.0 + 2.0j)
    z.real[...] = 7
    z.imag[1:] += 1
    np.testing.assert_array_equal(xp.asnumpy(z), [7, 7 + 3j, 7 + 5j, 7 + 7j])
    y = x + 1.0
    y.real[0] = -1
    np.testing.assert_array_equal(xp.asnumpy(y), [-1, 2, 3, 4])


def test_expressions_that_nobody_looks_at_do_not_pile_up(xp):
    x = xp.realize(xp.zeros(3))
    for _ in range(50_000):
        x + 1.0
    assert len(_journal.notes) < 20_000


class _Writes:
    """A cycle whose finaliser writes to an array."""

    def __init__(self, array):
        self.array, self.myself = array, self

    def __del__(self):
        self.array[...] = -1.0


def test_finalisers_amid_a_sweep_write_to_what_it_has_not_noted(xp):
    """A sweep makes objects, so a collection may come in between, and its finalisers write to arrays."""
    target = xp.realize(xp.zeros(10) + 1.0)
    before = gc.get_threshold()
    try:
        for i in range(300):
            arrays = [xp.realize(xp.zeros(10) + 1.0) for _ in range(5)]
            pending = [x * 2.0 + 1.0 for x in arrays]
            for x in arrays:
                _Writes(x)
            gc.set_threshold(1 + i % 23)
            target[...] = 3.0  # sweeps
            gc.set_threshold(*before)
            assert [float(y[0]) for y in pending] == [3.0] * 5
    finally:
        gc.set_threshold(*before)


@pytest.fixture
def hasty():
    """Threads that take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def run_together(*jobs):
    """Start threads at one time; raise what one of them raised."""
    barrier = threading.Barrier(len(jobs))
    errors = []

    def run(job):
        barrier.wait()
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_realise_the_same_expressions(xp, hasty):
    x = xp.realize(xp.asarray(np.arange(8.0)))
    for _ in range(100):
        y = xp.negative(x)
        z = y * y + 1.0
        w = xp.permute_dims(xp.reshape(x, (2, 4)), (1, 0)) + 1.0
        wanted = [-np.arange(8.0), np.arange(8.0) ** 2 + 1, np.arange(8.0).reshape(2, 4).T + 1]

        def read(order, arrays=(y, z, w), wanted=wanted):
            for k in order:
                np.testing.assert_array_equal(xp.asnumpy(arrays[k] + 0.0), wanted[k])
                np.testing.assert_array_equal(xp.asnumpy(arrays[k]), wanted[k])
            gc.collect(0)

        run_together(*(lambda order=order: read(order) for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0])))


def test_threads_write_halves_of_what_a_pending_array_reads(xp, hasty):
    n = 50_000
    host = np.arange(float(n))
    for _ in range(50):
        x = xp.realize(xp.asarray(host))
        y, z = x * 2.0, x[10:] + 1.0

        def write(piece, value, x=x):
            x[piece] = value

        def sweep():
            for _ in range(20):
                xp.memory_info()

        run_together(lambda: write(slice(0, n // 2), -1.0), lambda: write(slice(n // 2, n), -2.0), sweep)
        np.testing.assert_array_equal(xp.asnumpy(y), host * 2)
        np.testing.assert_array_equal(xp.asnumpy(z), host[10:] + 1)
        np.testing.assert_array_equal(xp.asnumpy(x), np.where(host < n // 2, -1.0, -2.0))


def test_large_arrays_that_dropped_expressions_read_are_freed(xp):
    host = np.zeros(1 << 20)
    before = xp.memory_info().live
    for _ in range(10):
        xp.asarray(host) + 1.0
    gc.disable()
    try:
        xp.memory_info()
        for _ in range(10):
            last = xp.asarray(host)
            last + 1.0
        assert len(_journal.notes) <= 2
    finally:
        gc.enable()
    del last
    assert xp.memory_info().live - before <= host.nbytes


def test_endless_new_expressions_take_bounded_memory(xp, monkeypatch):
    monkeypatch.setattr(signature, "LIMIT", 8)
    x = xp.realize(xp.asarray([1.0, 2.0]))
    pending = x * 3.0 + 1.0
    held = 0  # by arrays of other tests, after the first look
    for depth in range(1, 20):
        y = x
        for _ in range(depth):
            y = y * 1.0 + 1.0
        assert xp.asnumpy(y).tolist() == [1.0 + depth, 2.0 + depth]
        held = held or len(signature._fused)
        assert len(signature._fused) <= 8 + held
    assert xp.asnumpy(pending + y).tolist() == [24.0, 28.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_while_threads_compile(xp, device, tmp_path):
    if device.backend != "cpu":
        pytest.skip("a GPU that was used raises in the child")
    program = """
import os, sys, threading, time
import nbx_array as xp
x = xp.realize(xp.arange(5.0))
pending = x * 2.0 + 1.0
def compile():
    xp.warmup(lambda: xp.exp(x) + xp.sin(x * 3.0))
thread = threading.Thread(target=compile)
thread.start()
time.sleep(0.05)
child = os.fork()
if not child:
    os._exit(0 if float(xp.sum(xp.tan(pending) * 0.0 + pending)) == 25.0 else 1)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {**os.environ, "NBX_CACHE_DIR": str(tmp_path), "NBX_BACKEND": "cpu"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, check=True, timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_while_threads_lend_memory(device):
    """A child does not wait for what a thread of its parent held."""
    if device.backend != "cpu":
        pytest.skip("a GPU that was used raises in the child")
    program = """
import os, sys, threading
import numpy as np
import nbx_array as xp
sys.setswitchinterval(1e-6)
x, rng = xp.realize(xp.arange(5.0)), xp.random.default_rng(1)
def lend():
    while True:
        held = np.asarray(x)
        y = x + rng.random(5)
        del held
        y[...] = 1
for _ in range(3):
    threading.Thread(target=lend, daemon=True).start()
for _ in range(15):
    child = os.fork()
    if not child:
        held = np.asarray(x)
        os._exit(0 if float((x + rng.random(5))[1]) >= 1.0 else 1)
    if os.waitpid(child, 0)[1]:
        os._exit(1)
os._exit(0)
"""
    environment = {**os.environ, "NBX_BACKEND": "cpu"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, check=True, timeout=120)


def test_membership_of_other_types(xp):
    x = xp.arange(3.0)
    assert 2 in x and 5 not in x and None not in x and "a" not in x


def test_bytes_are_those_of_the_elements(xp):
    host = np.arange(12, dtype=np.int16).reshape(3, 4)
    x = xp.asarray(host)
    assert bytes(x.T[::-1]) == bytes(host.T[::-1]) and bytes(x[1, 2]) == host[1, 2].tobytes()
    assert bytes(xp.zeros((0, 2))) == b""


@pytest.mark.parametrize("dtype", [np.zeros(3), np.array(["a"]), "abc", "M8[s]", object, "S3", [("a", int)]])
def test_bad_dtypes(dtype, xp):
    x = xp.ones(3)
    for name, call in {
        "zeros": lambda: xp.zeros(2, dtype=dtype),
        "astype": lambda: xp.astype(x, dtype),
        "can_cast": lambda: xp.can_cast(x, dtype),
        "result_type": lambda: xp.result_type(x, dtype),
    }.items():
        with pytest.raises(TypeError, match=f"{name}:"):
            call()


@pytest.mark.parametrize(
    ("error", "name", "arguments"),
    [
        (TypeError, "zeros", (True,)),
        (TypeError, "zeros", ((True, 2),)),
        (TypeError, "linspace", (0, 1, 2.5)),
        (TypeError, "reshape", (..., (2.0, 3))),
        (TypeError, "broadcast_to", (..., (2.0, 3))),
        (TypeError, "broadcast_to", (..., None)),
        (TypeError, "roll", (..., 1.5)),
        (ValueError, "asarray", ([[1], [1, 2]],)),
    ],
)
def test_errors_name_the_function(error, name, arguments, xp):
    x = xp.ones((2, 3))
    with pytest.raises(error, match=f"^{name}: "):
        getattr(xp, name)(*(x if value is ... else value for value in arguments))


@pytest.mark.parametrize("name", ["sum", "max", "flip", "expand_dims", "squeeze", "unstack", "argmax"])
@pytest.mark.parametrize("axis", [1.0, "a"])
def test_axes_are_integers(axis, name, xp):
    with pytest.raises(TypeError):
        getattr(xp, name)(xp.ones((1, 1)), axis=axis)


@pytest.mark.parametrize(
    ("value", "error"), [(np.inf, OverflowError), (np.nan, ValueError), (1e300, OverflowError), (-1e300, OverflowError)]
)
@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_python_floats_must_fit_integers(value, error, dtype, xp):
    for data in (value, [1.0, value]):
        with pytest.raises(error):
            np.asarray(data, dtype)
        with pytest.raises(error, match=r"^asarray: "):
            xp.asarray(data, dtype=dtype)
    assert xp.asarray([1.7, -1.7], dtype=dtype).tolist() == [1, -1]
