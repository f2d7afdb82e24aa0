"""Lists of kernels: what a program asked to have compiled, kept so that it can be compiled elsewhere ahead of time.

With ``NBX_RECORD=FILE`` each kernel that a process launches for the first time adds a line to the file: its source,
argument types, constants and options, as JSON. ``python -m nbx_array.kernels compile --list FILE`` reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from .compiler import Source
from .contract import Device, Target


class Spec(NamedTuple):
    """Everything that a kernel is made from, but for the target."""

    source: Source
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Any], ...]
    aligned: bool
    options: tuple[tuple[str, Any], ...]


class Recorded(NamedTuple):
    """A line of a list: a kernel and the target it was wanted for; without ``spec`` only its name is known."""

    name: str
    target: Target
    spec: Spec | None


#: Told of every kernel before it is made. What one raises reaches the caller, and the kernel is not made.
watchers: list[Callable[[Spec, Device], None]] = []


def announce(spec: Spec, device: Device, target: Target) -> None:
    """A kernel is about to be made: tell the watchers and write it to the list of ``NBX_RECORD``."""
    for watch in watchers:
        watch(spec, device)
    path = os.environ.get("NBX_RECORD")
    if path:
        with open(path, "a", encoding="utf-8") as file:  # one write a line, so that processes can share a list
            file.write(_line(spec, target) + "\n")


def _line(spec: Spec, target: Target) -> str:
    import json  # a millisecond that importing the package need not take

    source = spec.source
    line: dict[str, Any] = {"name": source.name, "target": target}
    try:
        if source.function is None:
            line |= {"module": source.module, "text": source.text, **spec._asdict()}
            del line["source"]
        return json.dumps(line)
    except TypeError:  # a constant that is no plain value; such a kernel can be named, not made again from a list
        return json.dumps({"name": source.name, "target": target})


def read(path: str) -> list[Recorded]:
    """The kernels of a list, each once."""
    import json  # likewise

    found: dict[str, Recorded] = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                found.setdefault(line, _parse(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: not a recorded kernel ({error!r})") from None
    return list(found.values())


def _parse(line: dict[str, Any]) -> Recorded:
    name, target = line["name"], Target(*line["target"])
    if "signature" not in line:
        return Recorded(name, target, None)
    pairs = {key: tuple((k, _frozen(v)) for k, v in line[key]) for key in ("signature", "constants", "options")}
    return Recorded(name, target, Spec(Source(line["module"], name, line["text"]), aligned=line["aligned"], **pairs))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
