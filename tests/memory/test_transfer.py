"""Copies between host and device: every stride, byte order and size comes through, and is counted."""

from __future__ import annotations

import numpy as np
import pytest
from fake_driver import FakeDriver
from nbx_array.backend.contract import get_device
from nbx_array.memory import streams, transfer
from nbx_array.memory.pool import allocate, pool_of
from nbx_array.memory.statistics import traffic
from nbx_array.memory.storage import wrap
from nbx_array.memory.view import View, contiguous_strides


@pytest.fixture(params=["cpu", "fake:0"])
def device(request, fake_device):
    return get_device(request.param)


@pytest.fixture(autouse=True)
def fresh_counters():
    traffic.reset()


def packed(storage, array) -> View:
    return View(storage, array.dtype.newbyteorder("="), array.shape, contiguous_strides(array.shape))


BASE = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)
ARRAYS = {
    "0-d": np.array(3.5),
    "empty": np.zeros((3, 0, 2), np.int16),
    "one": np.array([7], np.int8),
    "prime": np.arange(1009, dtype=np.uint16),
    "complex": np.arange(6).reshape(2, 3) * (1 + 2j),
    "bool": np.array([True, False, True]),
    "transposed": BASE.T,
    "sliced": BASE[::2, 1:4, ::3],
    "reversed": BASE[::-1, :, ::-2],
    "broadcast": np.broadcast_to(BASE[0, 0], (3, 6)),
    "swapped": np.arange(5, dtype=">f8"),
    "read-only": np.frombuffer(b"abcdefgh", np.int32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_round_trip(device, name):
    array = ARRAYS[name]
    storage = transfer.from_host(array, device)
    assert (storage.device, storage.nbytes) == (device, array.nbytes)
    back = transfer.to_host(packed(storage, array))
    assert back.flags.owndata  # NumPy resizes nothing else
    assert back.dtype == array.dtype.newbyteorder("=") and back.shape == array.shape
    assert np.array_equal(back, array) and back.flags.writeable
    assert traffic.bytes_to_device == traffic.bytes_to_host == array.nbytes
    assert traffic.synchronisations == (array.size > 0)


@pytest.mark.parametrize("nbytes", [transfer.STAGED - 1, transfer.STAGED, transfer.CHUNK, 3 * transfer.CHUNK + 5])
def test_large_copies_are_staged_in_turn(fake_device, nbytes):
    array = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    driver = pool_of(fake_device).driver
    assert isinstance(driver, FakeDriver)
    storage = transfer.from_host(array, fake_device)
    array_sent = array.copy()
    array[:] = 0  # the source may be changed at once
    back = transfer.to_host(packed(storage, array))
    assert back.flags.owndata  # NumPy resizes nothing else
    assert np.array_equal(back, array_sent)
    copies = [entry for entry in driver.log if entry[0] == "copy_from_host"]
    if nbytes < transfer.STAGED:
        assert copies == [("copy_from_host", nbytes, 0, True)] and not driver.pinned
    else:
        assert len(copies) == -(-nbytes // transfer.CHUNK) and not any(wait for *_, wait in copies)
        assert len(driver.pinned) == 2


def test_a_buffer_is_not_filled_before_the_device_has_read_it(fake_device):
    driver = pool_of(fake_device).driver
    transfer.from_host(np.zeros(4 * transfer.CHUNK, np.uint8), fake_device)
    last_use: dict[int, int] = {}
    events = [entry for entry in driver.log if entry[0] in ("copy_from_host", "record", "wait on host")]
    for number in range(4):  # wait for the buffer's event, copy, record the same event
        wait, copied, recorded = events[3 * number : 3 * number + 3]
        assert (wait[0], copied[0], recorded[0]) == ("wait on host", "copy_from_host", "record")
        assert wait[1] == recorded[2]
        last_use[recorded[2]] = number
    assert len(last_use) == 2


@pytest.mark.parametrize("name", ["transposed", "sliced", "reversed", "broadcast"])
def test_strided_views_come_back(device, name):
    array = ARRAYS[name]
    storage = transfer.from_host(BASE, device)
    address = array.__array_interface__["data"][0] - BASE.ctypes.data
    if name == "broadcast":
        address = 0
    view = View(storage, array.dtype, array.shape, tuple(s // 4 for s in array.strides), address // 4)
    assert np.array_equal(transfer.to_host(view), array)


def test_between_devices(fake_device):
    cpu = get_device("cpu")
    there = transfer.to_device(packed(transfer.from_host(BASE, cpu), BASE), fake_device)
    again = transfer.to_device(packed(there, BASE), fake_device)
    assert there.ptr != again.ptr and traffic.bytes_on_device == BASE.nbytes
    back = transfer.to_device(packed(again, BASE), cpu)
    assert back.device is cpu
    assert np.array_equal(transfer.as_numpy(packed(back, BASE)), BASE)


def test_as_numpy_shares_and_keeps_memory_alive():
    cpu = get_device("cpu")
    storage = transfer.from_host(np.arange(6.0), cpu)
    array = transfer.as_numpy(View(storage, np.dtype(float), (3,), (-2,), 5))
    assert array.tolist() == [5, 3, 1]
    array[0] = 50
    ptr = storage.ptr
    del storage
    assert array[0] == 50
    others = [allocate(48, cpu) for _ in range(100)]
    assert ptr not in {other.ptr for other in others}
    del array, others
    assert ptr in {other.ptr for other in [allocate(48, cpu) for _ in range(200)]}


def test_imported_memory_as_numpy():
    base = np.arange(10)
    storage = wrap(base.ctypes.data, base.nbytes, get_device("cpu"), base)
    assert np.shares_memory(transfer.as_numpy(View(storage, base.dtype, (10,), (1,))), base)


def test_a_new_stream_waits_for_the_old(fake_device):
    driver = pool_of(fake_device).driver
    stream = driver.create_stream(0)
    assert streams.current_stream(fake_device) == 0
    streams.set_stream(fake_device, stream)
    try:
        record, wait = driver.log
        assert record[:2] == ("record", 0) and wait == ("wait", stream, record[2])
        transfer.from_host(BASE, fake_device)
        assert driver.log[-1] == ("copy_from_host", BASE.nbytes, stream, True)
        driver.log.clear()
        streams.set_stream(fake_device, stream)
        assert driver.log == []
    finally:
        streams.set_stream(fake_device, 0)


def test_a_freed_block_is_reused_in_another_stream_only_behind_its_work(fake_device):
    """Whatever the old stream did with a block is ordered before what the new stream does with it."""
    driver = pool_of(fake_device).driver
    storage = transfer.from_host(BASE, fake_device)
    ptr = storage.ptr
    del storage
    stream = driver.create_stream(0)
    streams.set_stream(fake_device, stream)
    try:
        storage = transfer.from_host(BASE, fake_device)
        assert storage.ptr == ptr
        kinds = [(entry[0], entry[1] if entry[0] != "copy_from_host" else entry[2]) for entry in driver.log]
        assert kinds == [("copy_from_host", 0), ("record", 0), ("wait", stream), ("copy_from_host", stream)]
    finally:
        streams.set_stream(fake_device, 0)


def test_synchronize_counts(device):
    streams.synchronize(device)
    assert traffic.snapshot() == {
        "bytes_on_device": 0, "bytes_to_device": 0, "bytes_to_host": 0, "synchronisations": 1,
    }  # fmt: skip
