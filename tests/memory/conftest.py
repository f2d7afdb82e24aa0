"""A device of the fake driver, registered like a real backend for one test."""

from __future__ import annotations

import pytest
from fake_driver import FakeDriver
from nbx_array.backend import contract
from nbx_array.memory import pool as pools
from nbx_array.memory import transfer


@pytest.fixture
def fake_device(monkeypatch):
    """The device ``fake:0`` over real host memory; its driver is ``pool_of(fake_device).driver``."""
    monkeypatch.setitem(contract.DRIVER_MODULES, "fake", "fake_driver")
    monkeypatch.setitem(contract._drivers, "fake", FakeDriver(real=True))
    monkeypatch.setattr(transfer, "_stagings", {})
    device = contract.get_device("fake:0")
    yield device
    pools._pools.pop(id(device), None)
    pools._allocators.pop(id(device), None)
