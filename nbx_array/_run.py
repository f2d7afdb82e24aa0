"""`nbx-array run`: a program written for NumPy, served by nbx_array without a change. Also IPython's `%load_ext`."""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

from nbx_array import _served


def run(target: list[str], *, module: bool, report: bool) -> int:
    """Run a script, or a module if so asked, with its arguments; its exit status. The report goes to stderr."""
    sys.argv = target
    if module:
        sys.path.insert(0, os.getcwd())
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(target[0])))
        if not os.path.exists(target[0]):
            print(f"nbx-array run: there is no file {target[0]!r}", file=sys.stderr)
            return 2
    _served.install()
    try:
        if module:
            runpy.run_module(target[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(target[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    finally:
        if report:
            print("\n".join(_served.record.lines()), file=sys.stderr)
    return 0


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext nbx_array`: from now on `import numpy` in this notebook is served; `%nbx_report` says what ran where.

    What was imported before stays NumPy's: load the extension first.
    """
    _served.install()
    ipython.register_magic_function(lambda line: print("\n".join(_served.record.lines())), "line", "nbx_report")
