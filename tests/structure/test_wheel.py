"""The wheel: what is in it, its types, and what importing it brings along."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]


def run(*command, **kwargs) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy: setuptools would find stale files in a build folder of ours."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for top in {folder.split("/")[0] for folder in FOLDERS.values()}:
        shutil.copytree(ROOT / top, tree / top, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", out, tree)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder that holds the installed wheel and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def python(program: str, *paths: Path) -> str:
    """Run ``program`` in a fresh interpreter with ``paths`` first, from the last, so without our sources."""
    path = os.pathsep.join(map(str, [*paths, *filter(None, [os.environ.get("PYTHONPATH")])]))
    return run(sys.executable, "-c", program, cwd=paths[-1], env=os.environ | {"PYTHONPATH": path})


def test_wheel_contains_the_library_and_nothing_else(wheel):
    wanted = set()
    for package, folder in FOLDERS.items():
        here = ROOT / folder
        for pattern in ("*.py", "py.typed", "devices/*/*.yml", "*.archive"):
            wanted |= {f"{package.replace('.', '/')}/{path.relative_to(here)}" for path in here.glob(pattern)}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted
    assert wheel.name.endswith("-py3-none-any.whl")


def test_types_of_the_installed_wheel(installed, tmp_path):
    """mypy from outside the root, with the files counted: at the root it silently checks a part of them."""
    options = ("--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache")
    report = run(sys.executable, "-m", "mypy", *options, installed / "nbx_array", cwd=tmp_path)
    checked = int(re.search(r"no issues found in (\d+) source files", report)[1])
    assert checked == len(list(installed.rglob("*.py")))


def test_import_brings_no_generic_name_and_no_compiler(installed):
    program = "import nbx_array, sys; print(nbx_array.__file__, *sys.modules, sep='\\n')"
    where, *loaded = python(program, installed).splitlines()
    assert Path(where).is_relative_to(installed)
    assert not {"kernels", "memory", "backend", "conformance"} & set(loaded)
    assert not {"triton", "llvmlite", "torch", "yaml"} & set(loaded), "these load at first use, not at import"


def test_works_with_a_torch_that_raises(installed):
    program = "import nbx_array as xp; x = xp.arange(10.0); print(float(xp.sum(xp.exp(-x * x))))"
    assert python(program, ROOT / ".ci" / "no-torch", installed).startswith("1.386318602")
