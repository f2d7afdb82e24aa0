"""The command line: ``python -m nbx_array doctor``, or ``nbx-array doctor`` where the package is installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def doctor() -> int:
    """Say which backends and devices there are and why the others are not, the versions, and check every driver."""
    from nbx_array import _doctor

    return _doctor.main()


COMMANDS = {"doctor": doctor}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; its exit status."""
    parser = argparse.ArgumentParser(prog="nbx-array", description="The Python array API standard on any GPU.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in COMMANDS.items():
        commands.add_parser(name, help=function.__doc__, description=function.__doc__)
    return COMMANDS[parser.parse_args(arguments).command]()


if __name__ == "__main__":
    sys.exit(main())
