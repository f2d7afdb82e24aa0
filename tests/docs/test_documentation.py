"""The documentation is true: its examples print what it says, and its links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from nbx_array.backend import environment

import nbx_array

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/NOTES.md"]
COMMANDS = {"nbx_array.__main__", "nbx_array._demo", "nbx_array._doctor"}
FINDER = doctest.DocTestFinder(exclude_empty=True)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def docstring_examples() -> list[doctest.DocTest]:
    """The examples of every module on the users' floor."""
    found = []
    for module in pkgutil.iter_modules(nbx_array.__path__, "nbx_array."):
        if not module.ispkg and module.name not in COMMANDS:
            names = {"xp": nbx_array, "np": numpy}
            found += [test for test in FINDER.find(importlib.import_module(module.name), globs=names) if test.examples]
    return found


def page_examples() -> list[tuple[str, str]]:
    """The Python blocks of each page, joined: they share their names as a reader's session would."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
        found += [(page, "\n\n".join(blocks))] if blocks else []
    return found


def run(test: doctest.DocTest) -> None:
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not result.failed, "".join(report)


@pytest.fixture(autouse=True)
def on_the_cpu():
    """What an example prints names the device, and the pages show the CPU's."""
    chosen = nbx_array.empty(0).device
    nbx_array.set_device("cpu")
    yield
    nbx_array.set_device(chosen)


@pytest.mark.parametrize("test", docstring_examples(), ids=lambda test: test.name)
def test_docstring(test):
    run(test)


@pytest.mark.parametrize(("page", "text"), page_examples(), ids=[page for page, _ in page_examples()])
def test_page(page, text):
    run(doctest.DocTestParser().get_doctest(text, {}, page, page, 0))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_script(path):
    """A script exits with an error where what it shows is not so."""
    subprocess.run([sys.executable, path], check=True, timeout=300)


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths(page):
    """What a page links to, and what it names as a path of ours, is there."""
    text = (ROOT / page).read_text()
    links = set(re.findall(r"\]\((?!https?:)([^)#]+)\)", text))
    paths = set(re.findall(r"\b((?:nbx_array|kernels|memory|backend|tests|benchmarks)/[\w/.-]+\w)", text))
    missing = {link for link in links if not (ROOT / page).parent.joinpath(link).exists()}
    missing |= {path for path in paths if not (ROOT / path).exists()}
    assert not missing


def test_environment_variables():
    """The README has one row for each variable that the sources read."""
    rows = re.findall(r"^\| `(NBX_\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    sources = [path for floor in ("nbx_array", "kernels", "memory", "backend") for path in (ROOT / floor).rglob("*.py")]
    sources.remove(ROOT / "backend" / "environment.py")
    read = {name for path in sources for name in re.findall(r"[\"'](NBX_[A-Z_]+)[\"']", path.read_text())}
    assert sorted(rows) == sorted(read) == sorted(environment.KNOWN)
