"""The benchmark of functions times all of them."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

import nbx_array as xp
from nbx_array._numpy_names import NAMES

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
NO_WORK = """
    asnumpy broadcast_shapes can_cast counters device empty_cache explain finfo iinfo isdtype launch memory_info
    memory_limit realize result_type set_device stream synchronize warmup
"""


def test_every_function_is_timed(monkeypatch):
    pytest.importorskip("array_api_compat")
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import functions

    timed = {*(name.partition(",")[0] for name in functions.CALLS), *functions.TABLE}
    public = {name for name, f in vars(xp).items() if callable(f) and name[0] != "_" and not inspect.isclass(f)}
    public -= set(NAMES)  # NumPy's, which the module holds once they have been asked for
    chapters = {
        f"{chapter.__name__.partition('.')[2]}.{name}"
        for chapter in (xp.linalg, xp.fft)
        for name in chapter.__all__
        if not inspect.isclass(getattr(chapter, name))
    }
    also = {f"linalg.{name}" for name in ("matmul", "tensordot", "vecdot", "matrix_transpose")}  # the main namespace's
    assert public - set(NO_WORK.split()) - timed == set()
    assert chapters - also - timed == set()
