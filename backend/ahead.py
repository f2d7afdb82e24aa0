"""Compiling for a device that is not here.

`Absent` takes a driver's place: it knows its target and refuses everything else. So the code that launches a kernel can
be asked which kernel that is, as if the device were there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from . import compiler, contract, launcher, recording
from .contract import Device, DeviceError, Properties, Target
from .hip import notes
from .recording import Spec

#: What is known to Triton or to us of each kind; for another architecture LLVM and ptxas end the whole process.
_KNOWN = {
    "cuda": [f"sm_{n}" for n in (80, 86, 87, 89, 90, 100, 103, 110, 120, 121)],
    "hip": [f"gfx{n}" for n in ("90a", 942, 950, 1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153, 1200, 1201)],
}


def parse_target(text: str) -> Target:
    """``sm_90``, ``gfx942``, ``apple7``, ``cpu``, as compilers name what they compile for."""
    if text == "cpu":
        return Target("cpu", "host", 1)
    if text in _KNOWN["cuda"]:
        return Target("cuda", int(text[3:]), 32)
    if text in _KNOWN["hip"]:  # GCN and CDNA run 64 threads a wave, RDNA (gfx10 and later) 32
        return Target("hip", text, 64 if text.startswith("gfx9") else 32)
    if re.fullmatch(r"apple\d+", text):  # Apple's families of GPUs
        return Target("metal", text, 32)
    known = ", ".join(name for names in _KNOWN.values() for name in names)
    raise ValueError(f"unknown target {text!r}; known are {known}, apple7, ... and cpu")


class Outcome(NamedTuple):
    """What came of a compilation."""

    problem: str | None = None
    note: notes.Kernel | None = None  # of kernels for HIP
    shared: int = 0


def compile_ahead(spec: Spec, target: Target, may_spill: bool = False) -> Outcome:
    """Compile a kernel into the disk cache; for HIP, compare it with its code object's note too."""
    aligned = spec.aligned and target.backend != "cpu"
    try:
        kernel = compiler.compile_kernel(spec.source, spec.signature, spec.constants, target, aligned, spec.options)
        if target.backend != "hip":
            return Outcome()
        problem = "; ".join(notes.problems(kernel, may_spill)) or None
        return Outcome(problem, notes.kernels(kernel.artifact)[0], kernel.shared)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]  # Triton quotes the source first
        return Outcome(f"{type(error).__name__}: {lines[-1].strip() if lines else 'no reason given'}")


class Absent:
    """A driver of one device that has a target and nothing else."""

    artifact_kind = ""

    def __init__(self, target: Target):
        self.backend = target.backend
        self._target = target

    def count(self) -> int:
        return 1

    def target(self, index: int) -> Target:
        return self._target

    def properties(self, index: int) -> Properties:
        return Properties(str(self._target.arch), 0, 0, {})

    def memory(self, index: int) -> tuple[int, int]:
        return 0, 0

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        def refuse(*arguments: Any, **keywords: Any) -> NoReturn:
            raise DeviceError(f"there is no {self.backend} device here: {name} is impossible")

        return refuse


class _Noted(Exception):
    """Ends a launch once its kernel is known."""


_absent: dict[Target, Device] = {}


@contextmanager
def absent_device(target: Target) -> Iterator[Device]:
    """A device of the target's backend, with no kernel made yet, for as long as the context lasts.

    Its index is -1, so that nothing that is remembered of it is taken for what is known of a device that is there; and
    each target has one of its own, for the tile of a product, say, is remembered by device.
    """
    driver, launchers = contract._drivers.get(target.backend), launcher._launchers
    contract._drivers[target.backend] = Absent(target)
    launcher._launchers = {}
    place = target.backend, -1
    outer = contract._devices.get(place)
    device = contract._devices[place] = _absent.setdefault(target, Device(*place))
    try:
        yield device
    finally:
        del contract._devices[place]
        if outer is not None:
            contract._devices[place] = outer
        launcher._launchers = launchers
        contract._drivers.pop(target.backend)
        if driver is not None:
            contract._drivers[target.backend] = driver


def kernels_of(launches: Iterable[Callable[[], object]], device: Device) -> Iterator[Spec]:
    """The kernels that functions would launch on a device, the first of each function; none runs."""
    for launch in launches:
        noted: list[Spec] = []

        def note(spec: Spec, wanted: Device, noted: list[Spec] = noted) -> None:
            if wanted is device:
                noted.append(spec)
                raise _Noted

        recording.watchers.append(note)
        try:
            launch()
        except _Noted:
            pass
        finally:
            recording.watchers.remove(note)
        yield from noted
