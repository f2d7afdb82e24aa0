"""The command line: ``python -m nbx_array`` with demo, doctor or run; ``nbx-array`` where it is installed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from nbx_array import __version__


def demo() -> int:
    """Run k-means, logistic regression and SciPy statistics on the default device and under NumPy, and compare."""
    try:
        from nbx_array import _demo
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "nbx_array":
            raise
        print(f"The demo needs {error.name}: pip install 'nbx-array[demo]'", file=sys.stderr)
        return 2
    from nbx_array.backend import contract, detect

    try:
        detect.default_device()
    except (ValueError, contract.DriverUnavailable) as error:
        print(f"nbx-array demo: {error}", file=sys.stderr)
        return 2
    return _demo.main()


def doctor() -> int:
    """Say which backends and devices there are and why the others are not, the versions, and check every driver."""
    from nbx_array import _doctor

    return _doctor.main()


COMMANDS = {"demo": demo, "doctor": doctor}
RUN = "Run a program that imports NumPy, unchanged: its arrays are ours, and NumPy does what we lack."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; its exit status."""
    parser = argparse.ArgumentParser(prog="nbx-array", description="The Python array API standard on any GPU.")
    parser.add_argument("--version", action="version", version=f"nbx-array {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in COMMANDS.items():
        commands.add_parser(name, help=function.__doc__, description=function.__doc__)
    running = commands.add_parser(
        "run", help=RUN, description=RUN, usage="nbx-array run [--report] [-m] PROGRAM [ARGUMENT ...]"
    )
    running.add_argument(
        "--report", action="store_true", help="say at the end which calls ran where, and what was copied"
    )
    running.add_argument(
        "-m", dest="module", action="store_true", help="PROGRAM is a module's name, as python -m has it"
    )
    running.add_argument("program", nargs=argparse.REMAINDER, help="a script and its arguments")
    chosen = parser.parse_args(arguments)
    if chosen.command != "run":
        try:
            return COMMANDS[chosen.command]()
        except BrokenPipeError:  # the reader has seen enough: `nbx-array doctor | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
            return 1
    if not chosen.program:
        running.error("a program is wanted")
    from nbx_array import _run

    return _run.run(chosen.program, module=chosen.module, report=chosen.report)


if __name__ == "__main__":
    sys.exit(main())
