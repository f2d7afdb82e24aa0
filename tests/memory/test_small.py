"""The allocator of small blocks and their finaliser, as native code and in Python."""

from __future__ import annotations

import gc
import sys
from itertools import pairwise

import pytest
from nbx_array.backend import objects
from nbx_array.memory import pool as pools
from nbx_array.memory.pool import SMALL


@pytest.fixture(params=["native", "python"])
def pool(request, monkeypatch, fake_device):
    if request.param == "native" and not objects.AVAILABLE:
        pytest.skip("this interpreter's objects cannot be made by native code")
    monkeypatch.setattr(objects, "AVAILABLE", request.param == "native")
    return pools.pool_of(fake_device)


@pytest.mark.parametrize(
    "nbytes", [0, 1, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, SMALL - 1, SMALL, SMALL + 1, 3 * SMALL]
)
def test_every_size(pool, nbytes):
    storages = [pool.allocate(nbytes) for _ in range(5)]
    spans = sorted((s.ptr, s.ptr + max(nbytes, 1)) for s in storages)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(s.nbytes == nbytes and s.readers == () and s.shared is False and s.ptr % 64 == 0 for s in storages)
    assert all(s.device is pool.device for s in storages)
    addresses = {s.ptr for s in storages}
    del storages
    assert {s.ptr for s in [pool.allocate(nbytes) for _ in range(5)]} == addresses  # the blocks came back


@pytest.mark.parametrize("nbytes", [100, 3 * SMALL])
def test_a_storage_that_an_interrupt_left_empty(pool, nbytes):
    kind, before = type(pool.allocate(nbytes)), pool.info().live
    if kind.__del__.__class__.__name__ != "function":  # in Python it is an error that nobody sees
        kind.__new__(kind)
        assert pool.info().live == before


def test_a_block_comes_back_once_and_last_in_first_out(pool):
    first, second = pool.allocate(100), pool.allocate(100)
    a, b = first.ptr, second.ptr
    del first
    del second
    assert pool.allocate(100).ptr == b  # and is free again
    kept = pool.allocate(100)
    assert kept.ptr == b and pool.allocate(100).ptr == a


@pytest.mark.parametrize("nbytes", ["12", None, [1]])
def test_a_size_is_a_number(pool, nbytes):
    with pytest.raises(TypeError):
        pool.allocate(nbytes)


def test_references_are_counted(pool):
    size = 123456
    pool.allocate(size)
    gc.collect()
    before = sys.getrefcount(size), sys.getrefcount(None), sys.getrefcount(type(pool.allocate(size)))
    for _ in range(1000):
        pool.allocate(size)
    gc.collect()
    after = sys.getrefcount(size), sys.getrefcount(None), sys.getrefcount(type(pool.allocate(size)))
    assert all(abs(x - y) < 50 for x, y in zip(before, after, strict=True))
