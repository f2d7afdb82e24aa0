"""``python -m nbx_array.kernels compile``: compile kernels ahead, for this machine or another one.

The result is a cache directory. Where ``NBX_CACHE_DIR`` names it, or its files lie in the machine's own cache, kernels
are loaded instead of compiled, without triton.

Kernels for AMD GPUs are checked against the notes in their code objects, too: arguments where the driver puts them,
local memory within 64 KB, nothing spilled, no function that AMD's device library lacks.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from pathlib import Path
from typing import NamedTuple

from nbx_array.backend import cache, compiler, recording
from nbx_array.backend.ahead import Outcome, compile_ahead, parse_target
from nbx_array.backend.contract import Target
from nbx_array.kernels import registry

RECORDED = "recorded"
#: The GPUs that Triton makes machine code for and that every kernel is compiled for.
EVERY = ("gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120")


class Task(NamedTuple):
    """One kernel to compile for one target."""

    family: str
    spec: recording.Spec
    target: Target

    def may_spill(self) -> bool:
        """What a program records are expressions of any length, too."""
        return self.family == RECORDED or registry.may_spill(self.family, self.target)

    def __str__(self) -> str:
        return f"{self.family} {registry.describe(self.spec)} for {self.target}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 where every kernel was compiled."""
    options = _parser().parse_args(arguments)
    if options.output:
        os.environ["NBX_CACHE_DIR"] = options.output
    try:
        recorded = recording.read(options.list) if options.list else None
    except (OSError, ValueError) as error:
        print(f"cannot read the list: {error}", file=sys.stderr)
        return 2
    wanted = _registered(options) if recorded is None else _listed(recorded, options.targets)
    tasks = list(dict.fromkeys(wanted))
    if not tasks:
        print("there is nothing to compile")
        return 1
    start = time.monotonic()
    print(f"compiling {len(tasks)} kernels with {options.jobs} processes into {cache.directory()}", flush=True)
    try:
        outcomes = _compile(tasks, options)
    except BrokenProcessPool:
        print("a process ended in the middle: killed for want of memory (try fewer --jobs), or by Triton's compiler",
              file=sys.stderr)  # fmt: skip
        return 1
    good = sum(not outcome.problem for outcome in outcomes.values())
    print(f"{good} of {len(tasks)} compiled in {time.monotonic() - start:.1f} s")
    return 0 if good == len(tasks) else 1


def _compile(tasks: Sequence[Task], options: argparse.Namespace) -> dict[Task, Outcome]:
    outcomes: dict[Task, Outcome] = {}
    # Fresh processes: triton's compiler starts threads, which a fork would not carry over.
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(compile_ahead, task.spec, task.target, task.may_spill()): task for task in tasks}
        for count, done in enumerate(as_completed(running), 1):
            task = running[done]
            outcome = outcomes[task] = done.result()
            if outcome.problem:
                print(f"FAILED {task}: {outcome.problem}", flush=True)
            elif options.verbose or count % 100 == 0:
                print(f"{count:6} {task}", flush=True)
            if options.report and (count % 100 == 0 or count == len(tasks)):  # of a run that is ended, too
                Path(options.report).write_text(_report(tasks, outcomes), encoding="utf-8")
    return outcomes


def _report(tasks: Sequence[Task], outcomes: Mapping[Task, Outcome]) -> str:
    """What came of each family for each target, and what the notes of AMD's code objects say, as Markdown."""
    targets = list(dict.fromkeys(task.target for task in tasks))
    families = list(dict.fromkeys(task.family for task in tasks))
    wanted, good = Counter[tuple[str, Target]](), Counter[tuple[str, Target]]()
    for task in tasks:
        for family in (task.family, "all"):
            wanted[family, task.target] += 1
            good[family, task.target] += task in outcomes and not outcomes[task].problem
    lines = [
        "# Kernels compiled for each target",
        "",
        f"By `python -m nbx_array.kernels compile`, triton {compiler.triton_version()}, {date.today()}: kernels of "
        "each family that compiled. Nothing here has run.",
        "",
        f"| family | {' | '.join(map(str, targets))} |",
        "| --- |" + " ---: |" * len(targets),
    ]
    for family in (*families, "all"):
        cells = (
            f"{wanted[family, t]}"
            if good[family, t] == wanted[family, t]
            else f"{good[family, t]} of {wanted[family, t]}"
            for t in targets
        )
        lines.append(f"| {family} | {' | '.join(cells)} |")
    hip = [target for target in targets if target.backend == "hip"]
    if hip:
        lines += [
            "",
            "For AMD's targets compiled means checked, too: by the note in its code object a kernel has our arguments "
            "at our offsets, its local memory is within 64 KB, it calls nothing that AMD's device library lacks, and "
            "it keeps no vector register in memory, unless its family cannot do without on the target (`may_spill` in "
            "`kernels/registry.py`).",
            "",
            "| target | kernels checked | most local memory, bytes | keep vector registers in memory | keep scalars in "
            "vector registers |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
    for target in hip:
        known = [(o.note, o.shared) for task, o in outcomes.items() if task.target == target and o.note]
        most = max((note.local_memory + shared for note, shared in known), default=0)
        spilled, scalars = (
            sum(bool(note.spilled) for note, _ in known),
            sum(bool(note.spilled_scalars) for note, _ in known),
        )
        lines.append(f"| {target} | {len(known)} | {most} | {spilled} | {scalars} |")
    failed = [f"- {task}: {outcomes[task].problem}" for task in tasks if task in outcomes and outcomes[task].problem]
    if len(outcomes) < len(tasks):
        lines += ["", f"The run was ended after {len(outcomes)} of {len(tasks)} kernels."]
    return "\n".join([*lines, *(["", "Not compiled, or not as they should be:", "", *failed] if failed else []), ""])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nbx_array.kernels", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("compile", help="compile kernels into a cache directory")
    command.add_argument(
        "--target",
        dest="targets",
        action="extend",
        required=True,
        type=_targets,
        help="sm_80, sm_90, ..., gfx942, gfx1100, ..., apple7, ..., cpu; several with commas between them; all: "
        f"{', '.join(EVERY)}",
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument("--list", metavar="FILE", help="compile what a program recorded with NBX_RECORD=FILE")
    source.add_argument("--family", action="append", choices=registry.FAMILIES, help="only this family; several times")
    command.add_argument("--output", metavar="DIR", help="the cache directory (default: NBX_CACHE_DIR, or the user's)")
    command.add_argument("--report", metavar="FILE", help="write there what came of each family for each target")
    command.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    command.add_argument("--verbose", action="store_true", help="name every kernel")
    return parser


def _targets(text: str) -> list[Target]:
    try:
        return [parse_target(part) for part in (EVERY if text == "all" else text.split(","))]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _registered(options: argparse.Namespace) -> Iterator[Task]:
    for target in options.targets:
        for family in options.family or registry.FAMILIES:
            for spec in registry.specs(family, target):
                yield Task(family, spec, target)


def _listed(kernels: list[recording.Recorded], targets: list[Target]) -> Iterator[Task]:
    for name, recorded, spec in kernels:
        if spec is None:
            print(f"left out: {name}, whose source a list does not hold")
            continue
        for target in targets:
            moved = registry.move(spec, recorded, target)
            yield Task(RECORDED, moved, target)


if __name__ == "__main__":
    sys.exit(main())
