"""The stream of a device, and the order of work when it changes.

All work of a device goes to one stream: the default stream 0, or the one set here. When it changes, the new stream
first waits for what was put into the old one. The work of a device thus stays one sequence, which is what lets the
pool reuse a freed block at once, and a kernel read what an earlier one wrote, whatever streams they run in.
"""

from __future__ import annotations

from collections.abc import Callable

from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import stream_cell
from nbx_array.memory.pool import pool_of
from nbx_array.memory.statistics import traffic

__all__ = ["current_stream", "order", "register_check", "run_checks", "set_stream", "synchronize"]

Check = Callable[[Device], None]
_checks: list[Check] = []


def register_check(check: Check) -> Check:
    """Call ``check(device)`` whenever the host has waited for a device, for it to raise what kernels have noted."""
    _checks.append(check)
    return check


def run_checks(device: Device) -> None:
    """Raise what kernels of the device have noted, if anything."""
    for check in _checks:
        check(device)


def current_stream(device: Device) -> int:
    """The stream that work of the device goes to."""
    return stream_cell(device).value


def set_stream(device: Device, stream: int) -> None:
    """Put the device's work into ``stream`` from now on, after all work issued so far.

    The stream belongs to the device, not to a thread: no other thread should be launching meanwhile.
    """
    cell = stream_cell(device)
    if cell.value != stream:
        order(device, cell.value, stream)
        cell.value = stream


def order(device: Device, first: int, then: int) -> None:
    """Let work put into the stream ``then`` from now on wait for all that is in the stream ``first``."""
    if first != then:
        driver = pool_of(device).driver
        event = driver.create_event(device.index)
        event.record(first)
        driver.wait_event(then, event, device.index)


def synchronize(device: Device) -> None:
    """Wait until all work of the device is done; faults of earlier kernels surface here."""
    traffic.synchronisations += 1
    pool_of(device).driver.synchronize(device.index)
    run_checks(device)
