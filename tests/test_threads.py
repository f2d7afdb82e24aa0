"""Arrays between threads: deferred ones that several realise at once, writers, devices, dropped references."""

from __future__ import annotations

import gc
import operator
import queue
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from nbx_array.kernels import signature

from nbx_array import _array, _expression

THREADS = 8


@pytest.fixture(autouse=True)
def busy_switching():
    """Threads change as often as the interpreter allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(function, *arguments):
    """Call a function in several threads that start at once; errors surface here."""
    barrier = threading.Barrier(THREADS)

    def start(number):
        barrier.wait()
        return function(number, *arguments)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def test_one_expression_realised_by_all(xp):
    x = xp.asarray(np.arange(100.0))
    for round_ in range(150):
        y = (x + round_) * 2 - x
        total = y + 1

        def use(number, y=y, total=total):
            if number % 2:
                return float(y[number]), float(total[number])
            return float((y + 0)[number]), float(total[number])

        wanted = [(number + 2.0 * round_, number + 2.0 * round_ + 1) for number in range(THREADS)]
        assert together(use) == wanted


def test_expressions_over_shared_operands(xp):
    x = xp.asarray(np.arange(1000.0))
    shared = x * 3 + 1

    def work(number):
        out = 0.0
        for i in range(100):
            y = shared * number + x
            out += float((y - i)[number])
        return out

    wanted = [sum((number * 3 + 1) * number + number - i for i in range(100)) for number in range(THREADS)]
    assert together(work) == wanted


def test_new_signatures_everywhere(xp):
    """Many threads meet the same new kernels at the same time."""
    x = xp.asarray(np.arange(33, dtype=np.int16))

    def work(number):
        return ((((x ^ 5) + number) & 127) * 3 - x).tolist()

    a = np.arange(33, dtype=np.int16)
    assert together(work) == [((((a ^ 5) + n) & 127) * 3 - a).tolist() for n in range(THREADS)]


_READINGS = {
    "array": lambda xp, s: s + xp.zeros_like(s),
    "broadcast": lambda xp, s: s + xp.zeros((2, 1)),
    "function": lambda xp, s: xp.maximum(s, -1.0),
    "astype": lambda xp, s: xp.astype(s, xp.float32),
    "where": lambda xp, s: xp.where(s > -1, s, 0.0),
    "max": lambda xp, s: xp.max(s),
    "scan": lambda xp, s: xp.cumulative_sum(s) / xp.arange(1.0, s.size + 1),
    "assignment": lambda xp, s: _assigned(xp.zeros_like(s), s),
    "in place": lambda xp, s: operator.iadd(xp.realize(xp.zeros_like(s)), s),
}


def _assigned(target, value):
    target[...] = value
    return target


@pytest.mark.parametrize("reading", _READINGS)
@pytest.mark.parametrize("size", [100, 20_000])
def test_what_was_handed_over_stays_though_its_operands_change(xp, reading, size):
    """A thread uses one buffer again and again; others get what was made of it, pending still."""
    handed = queue.Queue(4)
    read, readers, rounds = _READINGS[reading], 3, 3000 if size == 100 else 300

    def produce():
        buffer = xp.zeros(size)
        for i in range(rounds):
            buffer[...] = float(i)
            handed.put((i, buffer * 2 + 1), timeout=60)  # a consumer that failed takes no more
        for _ in range(readers):
            handed.put(None, timeout=60)

    def consume():
        wrong = []
        while (item := handed.get(timeout=60)) is not None:
            i, value = item
            found = xp.asnumpy(read(xp, value))
            if not np.allclose(found, 2 * i + 1):
                wrong.append((i, found))
        return wrong

    with ThreadPoolExecutor(1 + readers) as pool:
        producer = pool.submit(produce)
        consumers = [pool.submit(consume) for _ in range(readers)]
        producer.result()
        assert [found.result() for found in consumers] == [[]] * readers


def test_signatures_of_arrays_are_whole_when_others_find_them(xp, device, monkeypatch):
    dtypes = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]

    def work(number):
        for dtype in dtypes:
            x = xp.full((3,), number, dtype=dtype, device=device)
            assert int((x + x)[1]) == int(x[0] + x[0]) == 2 * number

    for _ in range(20):
        for table in ("_LEAVES", "_SCALARS"):  # as in a process that has met none of them
            monkeypatch.setattr(signature, table, {})
        together(work)


def test_indices_out_of_range_are_their_own_threads_errors(xp, device):
    if device.backend != "cpu":
        pytest.skip("on a GPU whoever waits for the device learns of them")
    arrays = [xp.asarray(np.arange(float(10 + number))) for number in range(THREADS)]

    def work(number):
        x, last = arrays[number], xp.asarray([9 + number])
        messages = set()
        for _ in range(1000):
            try:
                x[last + 1]
            except IndexError as error:
                messages.add(str(error))
            else:
                messages.add("no error")
            assert float(x[last][0]) == 9 + number
        return messages

    for number, messages in enumerate(together(work)):
        assert len(messages) == 1
        assert f"with size {10 + number}" in messages.pop()


def test_writers_and_readers_of_their_own_arrays(xp):
    shared = xp.asarray(np.ones(500))

    def work(number):
        mine = xp.zeros(500)
        for i in range(60):
            pending = mine + shared
            mine[...] = i
            mine[number : number + 10] += 1
            if float(pending[400]) != (i - 1 if i else 0) + 1:
                return i
            waiting = [mine * k for k in range(5)]
            del waiting
        return float(mine[number])

    assert together(work) == [60.0] * THREADS


@pytest.mark.skipif(not _expression.FUSE, reason="nothing is deferred")
@pytest.mark.parametrize("step", [1, -1])
def test_what_is_added_to_while_it_is_realised(xp, monkeypatch, step):
    """Whoever wants its memory finds it in memory. Another thread's `+=` comes here where memory is allocated."""
    x = xp.arange(6.0)[::step]
    y = x * 2
    deferred, allocate = y.sig, y.sig.allocate

    def interrupted(nbytes):
        nonlocal y
        if y.sig is deferred:
            y += 1
        return allocate(nbytes)

    monkeypatch.setattr(deferred, "allocate", interrupted)
    assert np.asarray(y).tolist() == [2 * v + 1 for v in x.tolist()]


@pytest.mark.skipif(not _expression.FUSE, reason="nothing is deferred")
def test_what_is_realised_while_it_is_added_to(xp, monkeypatch):
    """It stays in the memory that others have seen. Another thread realises it here where `+=` takes its snapshot."""
    y, snapshot = xp.arange(6.0) * 2, _array.snapshot
    views = []

    def interrupted(expression):
        if not views:
            views.append(y[1:])
        return snapshot(expression)

    with monkeypatch.context() as patch:
        patch.setattr(_array, "snapshot", interrupted)
        same = y
        same += 1
    assert views[0].tolist() == [3, 5, 7, 9, 11] and y.tolist() == [1, *views[0].tolist()]


def test_methods_called_first_by_several_threads_at_once():
    """Their module is imported then, and each thread has to wait until it is whole."""
    program = """
import sys, threading
import nbx_array as xp
xp.set_device("cpu")
x, barrier, shapes = xp.arange(4.0), threading.Barrier(8), []
def call():
    barrier.wait()
    shapes.append(x.reshape(2, 2).shape)
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert shapes == [(2, 2)] * 8, shapes
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_one_writer_and_pending_readers(xp):
    """A write realises the readers that wait, whichever thread made them; each has a value that the array had."""
    x = xp.zeros(64)
    stop = threading.Event()
    wrong = []

    def read():
        while not stop.is_set():
            y = (x + 0.5).tolist()
            if not all(value % 1 == 0.5 and 0 <= value <= 201 for value in y):
                wrong.append(y)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in readers:
        thread.start()
    for i in range(200):
        x[...] = float(i)
    stop.set()
    for thread in readers:
        thread.join()
    assert not wrong
    assert float(x[0]) == 199


def test_large_work_from_several_threads(xp):
    def work(number):
        x = xp.arange(200_000) + number
        return int(((x * x) % 7)[199_999])

    assert together(work) == [(199_999 + n) ** 2 % 7 for n in range(THREADS)]


def test_memory_comes_back(xp):
    def work(number):
        for i in range(50):
            x = xp.realize(xp.full(100_000, float(i)))
            y = x[number] + x[-1]
            del x
            assert float(y) == 2 * i

    before = xp.memory_info().live
    together(work)
    gc.collect()
    assert xp.memory_info().live - before < 1 << 20


def test_memory_lent_to_numpy_by_all(xp, device):
    """Threads lend their arrays and take them back all the time; expressions see what was there at their call."""
    if device.backend != "cpu":
        pytest.skip("NumPy shares memory of the CPU alone")

    def work(number):
        x = xp.zeros(20)
        for i in range(60):
            held = np.asarray(x)
            held[:] = i
            early = x + number
            held[:] = -1
            if early.tolist() != [i + number] * 20:
                return f"{i}: {early.tolist()}"
            del held
            late = x * 2  # deferred, unless another thread's loan makes it run
            x[...] = 5
            if late.tolist() != [-2] * 20:
                return f"{i}: {late.tolist()}"
        return ""

    assert together(work) == [""] * THREADS
