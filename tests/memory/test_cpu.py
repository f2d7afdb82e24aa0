"""The pool over the CPU's own driver."""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys

import pytest
from nbx_array.backend.contract import get_device, get_driver
from nbx_array.memory import OutOfMemoryError, allocate, allocator, empty_cache, memory_info, memory_limit, wrap
from nbx_array.memory.pool import Pool

CPU = get_device("cpu")


@pytest.fixture
def pool():
    return Pool(CPU, get_driver("cpu"))


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, 1 << 20, (1 << 20) + 1, 4 << 20, 40_000_000])
def test_memory_is_there_and_aligned(pool, nbytes):
    for _ in range(2):  # fresh, and reused
        storage = pool.allocate(nbytes)
        assert storage.ptr % 64 == 0 and storage.nbytes == nbytes and storage.device is CPU
        ctypes.memset(storage.ptr, 0xA5, nbytes)
        assert ctypes.string_at(storage.ptr, min(nbytes, 1000)) == b"\xa5" * min(nbytes, 1000)
        del storage


def test_live_blocks_keep_their_bytes(pool):
    choose = random.Random(0)
    live = {}
    for step in range(2000):
        if len(live) > 30:
            mark, storage = live.pop(choose.choice(list(live)))
            assert ctypes.string_at(storage.ptr, storage.nbytes) == bytes([mark]) * storage.nbytes
            del storage
        storage = pool.allocate(int(2 ** choose.uniform(0, 21.5)))
        ctypes.memset(storage.ptr, step % 256, storage.nbytes)
        live[step] = step % 256, storage
        del storage
    live.clear()
    pool.empty_cache()
    assert pool.info()[:2] == (0, 0)


def test_more_than_the_machine_has(pool):
    info = pool.info()
    assert 0 < info.free <= info.total
    with pytest.raises(OutOfMemoryError, match=r"no room for 1152921\.50 TB on cpu"):
        pool.allocate(1 << 60)
    assert pool.allocate(1 << 21)


def test_public_functions():
    storage = allocate(3 << 20, CPU)
    assert memory_info("cpu").live >= 3 << 20
    held = memory_info("cpu").live
    del storage
    empty_cache("cpu")
    assert memory_info("cpu").live <= held - (3 << 20)
    memory_limit(memory_info("cpu").live + (8 << 20), "cpu")
    try:
        with pytest.raises(OutOfMemoryError, match="memory_limit"):
            allocate(200 << 20, CPU)
        assert allocator("cpu")(4 << 20).nbytes == 4 << 20
    finally:
        memory_limit(None, "cpu")
    assert memory_info(CPU).limit is None


def test_foreign_memory_is_let_go_with_its_storage():
    released = []

    class Owner:
        def __del__(self) -> None:
            released.append(True)

    storage = wrap(4096, 10, CPU, Owner())
    assert (storage.ptr, storage.nbytes, storage.device, storage.shared) == (4096, 10, CPU, True)
    assert not released
    del storage
    assert released


def test_nothing_is_said_when_the_interpreter_ends_with_storages_alive():
    program = """
import sys
from nbx_array.memory import allocate
from nbx_array.backend.contract import get_device
cpu = get_device("cpu")
kept = [allocate(n, cpu) for n in (0, 100, 1 << 20, 3 << 20)]
kept.append(kept)
sys.kept = [allocate(100, cpu), allocate(3 << 20, cpu)]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
