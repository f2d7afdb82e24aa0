"""``python -m nbx_array.kernels compile``: compile kernels ahead, for this machine or another one.

The result is a cache directory. Where ``NBX_CACHE_DIR`` names it, or its files lie in the machine's own cache, kernels
are loaded instead of compiled, without triton.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple

from nbx_array.backend import cache, recording
from nbx_array.backend.ahead import compile_ahead, parse_target
from nbx_array.backend.contract import Target
from nbx_array.kernels import registry


class Task(NamedTuple):
    """One kernel to compile for one target."""

    label: str
    spec: recording.Spec
    target: Target


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 where every kernel was compiled."""
    options = _parser().parse_args(arguments)
    if options.output:
        os.environ["NBX_CACHE_DIR"] = options.output
    try:
        tasks = list(dict.fromkeys(_listed(options.list, options.targets) if options.list else _registered(options)))
    except OSError as error:
        print(f"cannot read the list: {error}", file=sys.stderr)
        return 2
    if not tasks:
        print("there is nothing to compile")
        return 1
    start, failures = time.monotonic(), []
    print(f"compiling {len(tasks)} kernels with {options.jobs} processes into {cache.directory()}", flush=True)
    # Fresh processes: triton's compiler starts threads, which a fork would not carry over.
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(compile_ahead, task.spec, task.target): task for task in tasks}
        for count, done in enumerate(as_completed(running), 1):
            task, problem = running[done], done.result()
            if problem:
                failures.append(task)
                print(f"FAILED {task.label} for {task.target}: {problem}", flush=True)
            elif options.verbose or count % 100 == 0:
                print(f"{count:6} {task.label} for {task.target}", flush=True)
    print(f"{len(tasks) - len(failures)} of {len(tasks)} compiled in {time.monotonic() - start:.1f} s")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nbx_array.kernels", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("compile", help="compile kernels into a cache directory")
    command.add_argument(
        "--target",
        dest="targets",
        action="append",
        required=True,
        type=_target,
        help="sm_80, sm_90, ..., gfx942, gfx1100, ..., cpu; may be given several times",
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument("--list", metavar="FILE", help="compile what a program recorded with NBX_RECORD=FILE")
    source.add_argument("--family", action="append", choices=registry.FAMILIES, help="only this family; several times")
    command.add_argument("--output", metavar="DIR", help="the cache directory (default: NBX_CACHE_DIR, or the user's)")
    command.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    command.add_argument("--verbose", action="store_true", help="name every kernel")
    return parser


def _target(text: str) -> Target:
    try:
        return parse_target(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _registered(options: argparse.Namespace) -> Iterator[Task]:
    for target in options.targets:
        for family in options.family or registry.FAMILIES:
            for spec in registry.specs(family, target):
                yield Task(f"{family} {registry.describe(spec)}", spec, target)


def _listed(path: str, targets: list[Target]) -> Iterator[Task]:
    for name, recorded, spec in recording.read(path):
        if spec is None:
            print(f"left out: {name}, whose source a list does not hold")
            continue
        for target in targets:
            moved = registry.move(spec, recorded.backend, target.backend)
            yield Task(registry.describe(moved), moved, target)


if __name__ == "__main__":
    sys.exit(main())
