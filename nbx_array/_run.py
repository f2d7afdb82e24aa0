"""`nbx-array run`: a program written for NumPy, served by nbx_array without a change. Also IPython's `%load_ext`."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import zipfile
from types import ModuleType, TracebackType
from typing import Any

from nbx_array import _crossing, _served


def run(target: list[str], *, module: bool, report: bool) -> int:
    """Run a script, or a module if so asked, with its arguments; its exit status. The report goes to stderr."""
    sys.argv = target
    _served.install()
    _crossing.install()
    if module:
        sys.path.insert(0, os.getcwd())
        problem = _missing_module(target[0])
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(target[0])))
        problem = _missing_file(target[0])
    if problem:
        print(f"nbx-array run: {problem}", file=sys.stderr)
        return 2
    try:
        if module:
            runpy.run_module(target[0], run_name="__main__", alter_sys=True)
        else:
            run_script(target[0])
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception as error:
        _hide_ours(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    finally:
        if report:
            print("\n".join(_served.record.lines()), file=sys.stderr)
    return 0


def _missing_file(path: str) -> str | None:
    if not os.path.exists(path):
        return f"there is no file {path!r}"
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, "__main__.py")):
        return f"{path!r} is a folder without a __main__.py"
    return None


def _missing_module(name: str) -> str | None:
    try:
        found = importlib.util.find_spec(name)
        if found is not None and found.submodule_search_locations is not None:
            name += ".__main__"
            found = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        return f"there is no module {name!r}: {error}"
    return None if found else f"there is no module {name!r}"


_HIDDEN = os.path.dirname(os.path.abspath(__file__)) + os.sep, "<frozen runpy>", runpy.__file__


def _hide_ours(error: BaseException) -> None:
    """Leave of an error's tracebacks, and of the errors before it, what Python itself would show of the program."""
    error.__traceback__ = _without_ours(error.__traceback__)
    if error.__context__ is not None:
        _hide_ours(error.__context__)
        if error.__context__.__traceback__ is None:
            error.__context__ = None


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    if trace is None:
        return None
    trace.tb_next = _without_ours(trace.tb_next)
    return trace.tb_next if trace.tb_frame.f_code.co_filename.startswith(_HIDDEN) else trace


def run_script(path: str) -> None:
    """Run a file, or a folder or archive with a `__main__.py`, as `python path` does."""
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        runpy.run_path(path, run_name="__main__")
        return
    path = os.path.abspath(path)
    main = ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    with open(path, "rb") as file:
        code = _crossing.compiled(file.read(), path)
    exec(code, vars(main))


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext nbx_array`: from now on `import numpy` in this notebook is served; `%nbx_report` says what ran where.

    What was imported before stays NumPy's: load the extension first.
    """
    _served.install()
    for name, value in ipython.user_ns.items():
        if value is sys.modules["numpy"]:
            print(f"nbx_array: {name} is NumPy's own still; run `import numpy as {name}` again", file=sys.stderr)
    _crossing.install()
    ipython.ast_transformers.append(_crossing.Crossings())
    ipython.register_magic_function(nbx_report, "line")


def nbx_report(line: str) -> None:
    """How often each function of NumPy's ran by nbx_array and by NumPy itself, and how many bytes were copied."""
    print("\n".join(_served.record.lines()))
