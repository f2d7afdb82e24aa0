"""The command line of the conformance runs: ``python -m nbx_array.conformance SUITE [options]``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from nbx_array.conformance import results, suites

RESULTS = Path(__file__).with_name("results")
"""Where a clone keeps results; the wheel has none."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments name; 1 where a test failed."""
    parser = argparse.ArgumentParser(prog="python -m nbx_array.conformance", description="Run other people's suites.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--device", help="where the arrays lie (default: the default device)")
    common.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    common.add_argument("--output", type=Path, default=RESULTS if RESULTS.is_dir() else Path("results"),
                        help="folder of the result's JSON (default: %(default)s)")  # fmt: skip
    common.add_argument("--reports", type=Path, help="keep a file for each process here, a line for each test")

    standard = commands.add_parser("array-api-tests", parents=[common], help="data-apis/array-api-tests")
    standard.add_argument("--suite", type=Path, required=True, help="a checkout, with its submodule array-api")
    standard.add_argument("--examples", type=int, nargs="+", default=[20, 200], help="Hypothesis examples of a test")
    standard.add_argument("--seed", type=int, help="Hypothesis's seed (default: a new one, which is printed)")
    for name in suites.PEERS:
        peer = commands.add_parser(name, parents=[common], help=f"the array-API tests of the installed {name}")
        peer.add_argument("--like", metavar="LIBRARY", help="count as this library where marks except it by name")
        peer.add_argument("parts", nargs="*", metavar="PART", help="subpackages (default: all that have such tests)")
    commands.add_parser("table", help="print the README's table of results").add_argument(
        "folder", type=Path, nargs="?", default=RESULTS, help="folder of results (default: %(default)s)"
    )

    chosen = parser.parse_args(arguments)
    if chosen.command == "table":
        if not any(chosen.folder.glob("*.json")):
            print(f"there are no results in {chosen.folder}: name a folder of them, or run this in a clone that "
                  "pip install -e . has installed", file=sys.stderr)  # fmt: skip
            return 1
        print(results.table(chosen.folder))
        return 0
    if chosen.command == "array-api-tests":
        runs = suites.array_api_tests(chosen.suite, chosen.examples, chosen.device, chosen.seed)
    else:
        runs = [suites.peer(chosen.command, chosen.parts, chosen.device, chosen.like)]
    return max([suites.execute(run, chosen.workers, chosen.output, chosen.reports) for run in runs])


if __name__ == "__main__":
    sys.exit(main())
