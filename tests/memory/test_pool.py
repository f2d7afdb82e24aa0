"""The pool's policy on a driver without a device: reuse, bounds, limits, pressure, threads, collections, fork."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import random
import threading
import weakref

import pytest
from fake_driver import FAKE, FakeDriver
from nbx_array.memory import exhaustion
from nbx_array.memory.exhaustion import OutOfMemoryError, register_release_hook
from nbx_array.memory.pool import SLAB, SMALL, SPARE, Pool, memory_limit

MB = 1 << 20
GB = 10**9


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def pool(driver):
    return Pool(FAKE, driver)


def block_bytes(storage) -> int:
    """Bytes that a storage's block takes on a GPU's pool."""
    if storage.nbytes > SMALL:
        return storage.block
    return max(256, 1 << max(0, storage.nbytes - 1).bit_length())


# ------------------------------------------------------------------------------------------------ blocks


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 257, 4096, SMALL - 1, SMALL, SMALL + 1, 3 * MB + 7, 40_000_000])
def test_storage(pool, driver, nbytes):
    storage = pool.allocate(nbytes)
    assert storage.ptr % 256 == 0
    assert (storage.nbytes, storage.device, storage.shared, storage.readers) == (nbytes, FAKE, False, ())
    base = max(address for address in driver.blocks if address <= storage.ptr)
    assert storage.ptr + nbytes <= base + driver.blocks[base]
    assert weakref.ref(storage)() is storage


@pytest.mark.parametrize("nbytes", [0, 100, SMALL, SMALL + 1, 40_000_000])
def test_freed_block_is_reused(pool, driver, nbytes):
    storage = pool.allocate(nbytes)
    ptr, calls = storage.ptr, driver.calls["allocate"]
    del storage
    assert pool.allocate(nbytes).ptr == ptr
    assert driver.calls["allocate"] == calls


def test_best_fit_up_to_twice_the_size(pool, driver):
    for size in (7 * MB, 3 * MB, 5 * MB):  # freed when all three are there, so that each has its own block
        globals()[f"kept{size}"] = pool.allocate(size)
    pointers = {size: globals()[f"kept{size}"].ptr for size in (7 * MB, 3 * MB, 5 * MB)}
    for size in pointers:
        del globals()[f"kept{size}"]
    fits = pool.allocate(4 * MB)
    assert fits.ptr == pointers[5 * MB]
    assert pool.allocate(4 * MB).ptr == pointers[7 * MB]
    calls = driver.calls["allocate"]
    assert pool.allocate(3 * MB // 2 - 256).ptr != pointers[3 * MB]  # more than twice the size
    assert driver.calls["allocate"] == calls + 1


def test_near_the_limit_a_block_is_not_used_half_empty(pool):
    pool.set_limit(GB)
    pool.allocate(900 * 10**6)  # freed at once
    half = pool.allocate(GB // 2)
    other = pool.allocate(GB // 2)
    assert half.ptr != other.ptr


def test_small_blocks_share_a_slab(pool, driver):
    storages = [pool.allocate(300) for _ in range(SLAB // 512)]
    assert driver.calls["allocate"] == 1
    assert len({s.ptr for s in storages}) == len(storages)
    storages.append(pool.allocate(300))
    assert driver.calls["allocate"] == 2


def test_info(pool, driver):
    assert pool.info() == (0, 0, 0, None, driver.room, driver.room)
    large = pool.allocate(5 * MB)
    small = pool.allocate(700)
    info = pool.info()
    assert info.live == 5 * MB + 1024 and info.cached == SLAB - 1024 and info.peak == info.live
    assert info.free == driver.room - 5 * MB - SLAB
    del large, small
    info = pool.info()
    assert (info.live, info.cached, info.peak) == (0, 5 * MB + SLAB, 5 * MB + 1024)
    pool.reset_peak()
    assert pool.info().peak == 0


def test_empty_cache_returns_all_that_is_free(pool, driver):
    kept = [pool.allocate(n) for n in (100, 3 * MB)]
    storages = [pool.allocate(n) for n in (100, 5000, 5000, 70_000, MB, 2 * MB, 9 * MB)]
    del storages
    pool.empty_cache()
    assert driver.used == SLAB + 3 * MB
    del kept
    pool.empty_cache()
    assert driver.used == 0 and pool.info()[:2] == (0, 0)


# ------------------------------------------------------------------------------------------------ short of memory


def test_half_a_gigabyte_then_eight_tenths_within_one(pool):
    pool.set_limit(GB)
    storage = pool.allocate(GB // 2)
    del storage
    assert pool.allocate(GB // 10 * 8).nbytes == GB // 10 * 8


def test_all_of_a_limit_can_be_used(pool):
    pool.set_limit(GB)
    assert pool.allocate(GB).nbytes == GB
    pool.set_limit(1000)
    assert pool.allocate(100).nbytes == 100  # less than a slab is left
    with pytest.raises(OutOfMemoryError):
        pool.allocate(1025)


def test_a_limit_returns_what_is_cached_beyond_it(pool, driver):
    pool.allocate(8 * MB)
    pool.set_limit(4 * MB)
    assert driver.used == 0


def test_error_says_where_the_memory_is(pool, driver):
    driver.room = 64 * 10**6
    kept = pool.allocate(40 * 10**6)
    pool.allocate(20 * 10**6)
    with pytest.raises(OutOfMemoryError) as error:
        pool.allocate(30 * 10**6)
    assert isinstance(error.value, MemoryError)
    text = str(error.value)
    for part in ("30.00 MB", "fake:0", "40.00 MB in live arrays", "0 bytes cached", "24.00 MB free of 64.00 MB",
                 "no memory_limit", "What would help: delete arrays"):  # fmt: skip
        assert part in text
    assert "raise memory_limit" not in text
    pool.set_limit(50 * 10**6)
    with pytest.raises(OutOfMemoryError, match=r"memory_limit 50\.00 MB.*raise memory_limit"):
        pool.allocate(20 * 10**6)
    del kept
    assert pool.allocate(30 * 10**6)


def test_nothing_is_lost_when_an_allocation_fails(pool, driver):
    driver.room = 10 * MB
    for _ in range(3):
        with pytest.raises(OutOfMemoryError):
            pool.allocate(11 * MB)
        with pytest.raises(OutOfMemoryError):
            pool.allocate(10 * MB + 1)
    assert pool.info()[:3] == (0, 0, 0)
    assert pool.allocate(10 * MB)


@pytest.fixture
def hooks(monkeypatch):
    monkeypatch.setattr(exhaustion, "_hooks", [])


def test_order_of_relief(pool, driver, hooks):
    """Cached blocks first, then pending expressions, then garbage; each only when what came before was not enough."""
    driver.room = 100 * MB
    pending = [pool.allocate(30 * MB)]
    cycle = [pool.allocate(30 * MB)]
    cycle.append(cycle)
    calls = []

    @register_release_hook
    def release(device):
        calls.append(device)
        pending.clear()

    gc.disable()
    try:
        del cycle
        pool.allocate(30 * MB)  # cached from here on
        assert pool.allocate(40 * MB) and not calls
        assert pool.info().live == 60 * MB
        assert pool.allocate(60 * MB) and calls == [FAKE]
        assert pool.info().live == 30 * MB
        assert pool.allocate(90 * MB) and len(calls) == 2
        assert pool.info().live == 0
    finally:
        gc.enable()


def test_a_hook_may_allocate_and_fail(pool, driver, hooks):
    driver.room = 10 * MB
    kept = pool.allocate(6 * MB)

    @register_release_hook
    def hungry(device):
        pool.allocate(50 * MB)

    with pytest.raises(OutOfMemoryError, match=r"5\.24 MB"):
        pool.allocate(5 * MB)
    assert kept.nbytes == 6 * MB


def test_a_driver_that_fails_once(pool, driver):
    driver.refuse = 1
    assert pool.allocate(2 * MB)
    driver.refuse = 1
    assert pool.allocate(20)


def test_other_errors_of_the_driver_pass(pool, driver, monkeypatch):
    def broken(nbytes, index):
        raise RuntimeError("an earlier kernel failed")

    monkeypatch.setattr(driver, "allocate", broken)
    with pytest.raises(RuntimeError, match="an earlier kernel"):
        pool.allocate(2 * MB)
    assert pool.info()[:2] == (0, 0)


def test_limit_takes_a_number_of_bytes(fake_device):
    with pytest.raises(ValueError, match="-1"):
        memory_limit(-1, fake_device)
    with pytest.raises(TypeError, match=r"bytes or None, not 1000000000\.0"):
        memory_limit(1e9, fake_device)


# ------------------------------------------------------------------------------------------------ traces


def program(seed: int, steps: int = 3000):
    """Allocations and frees as a program makes them: ('allocate', bytes) and ('free', number of an allocation).

    Batches of a few sizes that recur, odd sizes between, most freed soon and some kept long, phases that end at once.
    """
    choose = random.Random(seed)
    live: list[int] = []
    count = 0
    sizes: list[int] = []
    for step in range(steps):
        if step % 500 == 0:  # a new phase of the program
            for number in live:
                yield "free", number
            live.clear()
            sizes = [int(2 ** choose.uniform(3, 27)) for _ in range(6)]
        if live and (len(live) > 60 or choose.random() < 0.48):
            late = min(int(choose.expovariate(0.5)), len(live) - 1)  # the youngest die first
            yield "free", live.pop(-1 - late)
        else:
            yield "allocate", choose.choice(sizes) if choose.random() < 0.8 else int(2 ** choose.uniform(0, 27))
            live.append(count)
            count += 1


def replay(pool: Pool, seed: int, check: bool = True) -> list[int]:
    """Run a trace, check that no two live blocks overlap and the bound holds; return the addresses given."""
    storages: dict[int, object] = {}
    pointers = []
    peak = live = 0
    for action, value in program(seed):
        if action == "free":
            live -= storages.pop(value).nbytes
            continue
        storage = pool.allocate(value)
        storages[len(pointers)] = storage
        pointers.append(storage.ptr)
        live += value
        peak = max(peak, live)
        del storage
        if check and len(pointers) % 50 == 0:
            ranges = sorted((s.ptr, s.ptr + block_bytes(s)) for s in storages.values())
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
            for a, b in ranges:
                assert any(base <= a and b <= base + size for base, size in pool.driver.blocks.items())
    return pointers


@pytest.mark.parametrize("seed", range(4))
def test_trace(seed):
    driver = FakeDriver()
    pool = Pool(FAKE, driver)
    highest = 0
    inner = driver.allocate

    def allocate(nbytes, index):
        nonlocal highest
        address = inner(nbytes, index)
        peak = max(pool._peak, pool._live() + nbytes)
        small = sum(size for bin in pool._bins for _, size in bin.slabs)
        assert driver.used - small <= SPARE * peak
        highest = max(highest, driver.used)
        return address

    driver.allocate = allocate
    pointers = replay(pool, seed)
    peak = pool.info().peak
    assert highest <= SPARE * peak + len(pool._bins) * SLAB  # what the pool holds, against what was live at once
    assert driver.calls["allocate"] < len(pointers) / 3
    info = pool.info()
    assert info.live == 0 and info.cached == driver.used
    pool.empty_cache()
    assert driver.used == 0


def test_trace_is_deterministic():
    traces = [replay(Pool(FAKE, FakeDriver()), seed=7, check=False) for _ in range(2)]
    assert traces[0] == traces[1]


def test_trace_within_a_limit():
    """With a limit a little above what the trace needs, it runs; the pool never holds more."""
    free = Pool(FAKE, FakeDriver())
    replay(free, 3, check=False)
    driver = FakeDriver()
    pool = Pool(FAKE, driver)
    pool.set_limit(free.info().peak * 3 // 2)
    replay(pool, 3, check=False)
    assert driver.used <= pool.limit


# ------------------------------------------------------------------------------------------------ concurrency


def test_threads():
    """Many threads allocate, write who they are, look again and free, with collections and an emptied cache between."""
    pool = Pool(FAKE, FakeDriver(real=True))
    owners: dict[int, int] = {}
    failures = []
    stop = threading.Event()

    def work(me: int) -> None:
        choose = random.Random(me)
        mine = []
        try:
            for _ in range(1500):
                if mine and choose.random() < 0.5:
                    storage = mine.pop(choose.randrange(len(mine)))
                    assert owners.pop(storage.ptr) == me
                    del storage
                else:
                    storage = pool.allocate(choose.choice((8, 300, 5000, 100_000, SMALL + 1, 2 * MB)))
                    assert owners.setdefault(storage.ptr, me) == me and storage.nbytes
                    mine.append(storage)
            for storage in mine:
                del owners[storage.ptr]
        except BaseException as error:
            failures.append(error)

    def disturb() -> None:
        while not stop.is_set():
            pool.empty_cache()
            gc.collect()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    other = threading.Thread(target=disturb)
    for thread in (*threads, other):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    other.join()
    assert not failures
    assert pool.info().live == 0
    pool.empty_cache()
    assert pool.driver.used == 0 and pool.info().cached == 0


def test_a_collection_inside_an_allocation_may_allocate_and_free(pool, driver, monkeypatch):
    class Finalised:
        def __init__(self) -> None:
            self.held = [pool.allocate(3 * MB), pool.allocate(100)]
            self.cycle = self

        def __del__(self) -> None:
            self.held.append(pool.allocate(4 * MB))
            pool.allocate(50)

    inner = driver.allocate

    def allocate(nbytes, index):  # every call of the driver, made under the pool's lock, finds garbage
        gc.collect()
        return inner(nbytes, index)

    monkeypatch.setattr(driver, "allocate", allocate)
    kept = []
    gc.freeze()  # what other tests have left takes most of a collection's time
    for i in range(50):
        Finalised()
        kept.append(pool.allocate((i + 2) * MB))
    gc.collect()
    gc.unfreeze()
    assert len({s.ptr for s in kept}) == 50
    del kept
    info = pool.info()
    assert info.live == 0 and info.cached == driver.used


@pytest.mark.parametrize("seed", range(3))
def test_collections_at_every_step(seed):
    """Cycles whose finalisers allocate and free die all over the pool's own code, and nothing gets lost or doubled."""
    driver = FakeDriver()
    pool = Pool(FAKE, driver)
    choose = random.Random(seed)
    sizes = (50, 3000, MB, 2 * MB, 3 * MB, 5 * MB)

    class Finalised:
        def __init__(self) -> None:
            self.held = [pool.allocate(choose.choice(sizes)) for _ in range(2)]
            self.cycle = self

        def __del__(self) -> None:
            self.held.append(pool.allocate(choose.choice(sizes)))
            if choose.random() < 0.1:
                pool.empty_cache()

    live = []
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(400):
            Finalised()
            live.append(pool.allocate(choose.choice(sizes)))
            if len(live) > 20:
                live.pop(choose.randrange(len(live)))
            ranges = sorted((s.ptr, s.ptr + block_bytes(s)) for s in live)
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
    finally:
        gc.set_threshold(*threshold)
    live.clear()
    gc.collect()
    info = pool.info()
    assert info.live == 0 and info.cached == driver.used
    pool.empty_cache()
    assert driver.used == 0 and pool.info()[:2] == (0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fork_while_another_thread_holds_the_lock(fake_device):
    from nbx_array.memory.pool import pool_of

    pool = pool_of(fake_device)
    kept = pool.allocate(2 * MB)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with pool._lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def child() -> None:
        assert pool.allocate(3 * MB).nbytes == 3 * MB and kept.nbytes == 2 * MB

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    release.set()
    thread.join()
    alive = process.is_alive()
    if alive:
        process.kill()
    assert not alive and process.exitcode == 0
