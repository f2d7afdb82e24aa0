"""The command line: ``python -m nbx_array demo`` and ``doctor``, or ``nbx-array`` where the package is installed."""

from __future__ import annotations

import argparse
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
    return _demo.main()


def doctor() -> int:
    """Say which backends and devices there are and why the others are not, the versions, and check every driver."""
    from nbx_array import _doctor

    return _doctor.main()


COMMANDS = {"demo": demo, "doctor": doctor}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; its exit status."""
    parser = argparse.ArgumentParser(prog="nbx-array", description="The Python array API standard on any GPU.")
    parser.add_argument("--version", action="version", version=f"nbx-array {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in COMMANDS.items():
        commands.add_parser(name, help=function.__doc__, description=function.__doc__)
    return COMMANDS[parser.parse_args(arguments).command]()


if __name__ == "__main__":
    sys.exit(main())
