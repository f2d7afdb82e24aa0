"""Programs of the kinds that people run with NumPy: each as it is under NumPy, and with one import changed under ours.

What they print is compared: the words are the same, the numbers near.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import warnings
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|\binf\b|\bnan\b)j?")


def output(source: str, path: Path) -> str:
    """What a program prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def words(text: str) -> list[str]:
    """What stands between the numbers, spaces aside, and without the brackets of NumPy's scalars' names."""
    plain = re.sub(r"np\.\w+\((.*?)\)", r"\1", re.sub(r"Array\((.*?), device='[\w:]+'\)", r"\1", text))
    return re.sub(r"[()]|array", "", NUMBER.sub("#", plain)).split()


def numbers(text: str) -> list[float]:
    plain = re.sub(r"np\.\w+\((.*?)\)", r"\1", re.sub(r"Array\((.*?), device='[\w:]+'\)", r"\1", text))
    return [float(n.rstrip("j")) for n in NUMBER.findall(re.sub(r"dtype=\w+", "", plain))]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path, xp):
    source = path.read_text()
    changed = source.replace("import numpy as np", "import nbx_array as np")
    assert changed != source and "numpy" not in changed
    wanted, got = output(source, path), output(changed, path)
    assert wanted.strip()
    assert "".join(words(got)) == "".join(words(wanted))
    for x, y in zip(numbers(got), numbers(wanted), strict=True):
        assert math.isclose(x, y, rel_tol=1e-6, abs_tol=2e-8) or (math.isnan(x) and math.isnan(y)), f"{got}\n{wanted}"
