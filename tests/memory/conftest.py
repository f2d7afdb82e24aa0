"""Devices served by the fake driver, registered like a real backend for one test."""

from __future__ import annotations

import pytest
from fake_driver import FakeDriver
from nbx_array.backend import contract
from nbx_array.memory import pool as pools
from nbx_array.memory import transfer


def served_by_fake(monkeypatch, name: str) -> contract.Device:
    """The device of this name over real host memory, for as long as the test runs."""
    backend = name.partition(":")[0]
    monkeypatch.setitem(contract.DRIVER_MODULES, backend, "fake_driver")
    monkeypatch.setitem(contract._drivers, backend, FakeDriver(real=True))
    monkeypatch.setattr(pools, "_pools", {})
    monkeypatch.setattr(pools, "_allocators", {})
    monkeypatch.setattr(transfer, "_stagings", {})
    return contract.get_device(name)


@pytest.fixture
def fake_device(monkeypatch):
    """The device ``fake:0``; its driver is ``pool_of(fake_device).driver``."""
    return served_by_fake(monkeypatch, "fake:0")


@pytest.fixture
def fake_gpu(monkeypatch):
    """The device ``cuda:0`` without a GPU: what depends on the name of the backend can be tried on it."""
    return served_by_fake(monkeypatch, "cuda:0")
