"""Counters of what moves between host and device, for tests and for people looking for a hidden copy."""

from __future__ import annotations

__all__ = ["Traffic", "traffic"]


class Traffic:
    """Bytes copied and times the host waited for a device, since the start or the last `reset`."""

    __slots__ = ("bytes_on_device", "bytes_to_device", "bytes_to_host", "synchronisations")

    bytes_to_device: int
    bytes_to_host: int
    bytes_on_device: int  # from one place of a device to another, by a copy and not by a kernel
    synchronisations: int

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set every counter to 0."""
        for name in self.__slots__:
            setattr(self, name, 0)

    def snapshot(self) -> dict[str, int]:
        """The counters by name."""
        return {name: getattr(self, name) for name in self.__slots__}


#: The counters of this process, for all devices together. The CPU counts like a GPU, so that tests can run on it.
traffic = Traffic()
