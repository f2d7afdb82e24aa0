"""Which devices there are, and which one is current.

A backend is present when its driver opens and counts a device; a library on the disk is not enough. Nothing is asked
before the first call that needs a device, so importing touches none. ``NBX_BACKEND`` names the one backend to look for.
"""

from __future__ import annotations

import os
import threading

from .contract import Device, DriverUnavailable, get_device, get_driver, opened_backends

#: In order of preference for the default device.
ORDER = ("cuda", "hip", "metal", "cpu")

_thread = threading.local()
_default: Device | None = None


def reason_absent(backend: str) -> str | None:
    """Why a backend cannot be used here; None where it can."""
    try:
        return None if get_driver(backend).count() else "it has no device"
    except DriverUnavailable as error:
        return str(error)


def devices() -> list[Device]:
    """All devices, the default one first."""
    return [get_device(f"{b}:{i}") for b in _backends() if not reason_absent(b) for i in range(get_driver(b).count())]


def default_device() -> Device:
    """The thread's current device; without one, the first GPU, else the CPU."""
    device = getattr(_thread, "device", None)
    if device is not None:
        return device
    global _default
    if _default is None:
        _default = _find_default()
    return _default


def set_device(device: str | Device | None) -> None:
    """Make a device the current one of this thread; None goes back to the default."""
    _thread.device = None if device is None else find_device(device)


def leave_gpus() -> None:
    """Make the CPU the default of a forked child whose parent used a GPU: that does not work in the child."""
    global _default
    if set(opened_backends()) - {"cpu"}:
        _default = get_device("cpu")
        _thread.device = None


def find_device(device: str | Device) -> Device:
    """The device of that name, which must be there."""
    found = get_device(device)
    reason = reason_absent(found.backend)
    if reason:
        raise DriverUnavailable(f"there is no device {str(device)!r}: {reason}")
    count = get_driver(found.backend).count()
    if found.index >= count:
        raise ValueError(f"there is no device {str(device)!r}: the last one is {found.backend}:{count - 1}")
    return found


def _backends() -> tuple[str, ...]:
    """The backends to look for, in order."""
    chosen = os.environ.get("NBX_BACKEND")
    if not chosen:
        return ORDER
    if chosen not in ORDER:
        raise ValueError(f"NBX_BACKEND is {chosen!r}; it must be one of {', '.join(ORDER)}")
    return (chosen,)


def _find_default() -> Device:
    reasons = []
    for backend in _backends():
        reason = reason_absent(backend)
        if reason is None:
            return get_device(backend)
        reasons.append(f"{backend}: {reason}")
    raise DriverUnavailable(f"NBX_BACKEND asks for a device that is not there; {'; '.join(reasons)}")
