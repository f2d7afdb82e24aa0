"""Programs that import NumPy, run unchanged by `nbx-array run`: each prints what it prints under NumPy."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_scripts import SCRIPTS, numbers, output, words

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("[!_]*.py"))

RUN_ALL = """
import contextlib, io, json, sys, warnings
from nbx_array import _crossing, _run, _served
_served.install()
_crossing.install()
printed, ran = {}, {}
for path in sys.argv[1:]:
    text = io.StringIO()
    _served.record.__init__()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _run.run_script(path)
        except BaseException as error:
            text.write(f"{type(error).__name__}: {error}")
    printed[path] = text.getvalue()
    ran[path] = [sum(_served.record.device.values()), sum(_served.record.host.values())]
json.dump([printed, ran], sys.stdout)
"""


def environment(xp):
    device = str(xp.asarray(0).device)
    return os.environ | {"NBX_BACKEND": device.partition(":")[0]}


@pytest.fixture(scope="module")
def served(xp):
    """What every script of `tests/scripts` prints, and how many calls ran where."""
    command = [sys.executable, "-c", RUN_ALL, *map(str, SCRIPTS)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(xp), cwd=HERE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_prints(got: str, wanted: str) -> None:
    assert "".join(words(got)) == "".join(words(wanted)), f"{got}\n{wanted}"
    for x, y in zip(numbers(got), numbers(wanted), strict=True):
        assert math.isclose(x, y, rel_tol=1e-6, abs_tol=2e-8) or (math.isnan(x) and math.isnan(y)), f"{got}\n{wanted}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path, served):
    printed, ran = served
    assert_prints(printed[str(path)], output(path.read_text(), path))
    ours, theirs = ran[str(path)]
    assert ours > theirs, "most calls are ours"


def run(path: Path, xp, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbx_array", "run", *arguments, str(path), "an argument"]
    return subprocess.run(command, capture_output=True, text=True, env=environment(xp), cwd=HERE)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(path, xp):
    """Programs that use other packages and much that we lack."""
    wanted = subprocess.run([sys.executable, str(path), "an argument"], capture_output=True, text=True, cwd=HERE)
    done = run(path, xp, "--report")
    assert done.returncode == wanted.returncode, done.stderr
    assert_prints(done.stdout, wanted.stdout)
    assert "bytes copied" in done.stderr and "nbx_array" in done.stderr


def test_modules_and_missing_files(xp, tmp_path):
    (tmp_path / "beside.py").write_text("import numpy as np\nprint(type(np.ones(2)).__module__)\n")
    command = [sys.executable, "-m", "nbx_array", "run", "-m", "beside"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(xp), cwd=tmp_path)
    assert done.stdout == "nbx_array._array\n" and done.returncode == 0
    done = run(tmp_path / "absent.py", xp)
    assert done.returncode == 2 and "absent.py" in done.stderr


def test_vectorize(xp, tmp_path):
    """NumPy's own, whose results are ours, whatever its function gives."""
    path = tmp_path / "vectorized.py"
    path.write_text(
        "import numpy as np\n"
        "f = np.vectorize(lambda v: np.sin(v) if v else 0.0)\n"
        "@np.vectorize(otypes=[int], excluded=['n'])\n"
        "def g(v, n): return v * n.sum()\n"
        "for y in f(np.arange(3)), g(np.arange(3), n=np.ones(2)): print(type(y).__module__, y)\n"
        "print(np.vectorize(str)(np.arange(2)), isinstance(f, np.vectorize))\n"
    )
    done = run(path, xp, "--report")
    assert done.stdout.splitlines() == [
        "nbx_array._array [0.         0.84147098 0.90929743]",
        "nbx_array._array [0 2 4]",
        "['0' '1'] True",
    ]
    assert re.search(r"^vectorize +0 +3$", done.stderr, re.MULTILINE)


def test_a_program_that_fails(xp, tmp_path):
    path = tmp_path / "fails.py"
    path.write_text("import numpy as np\nnp.ones(3) + np.ones(4)\n")
    done = run(path, xp)
    assert done.returncode == 1
    assert "ValueError: operands could not be broadcast together with shapes (3,) (4,)" in done.stderr
    frames = re.findall(r'File "(.*)"', done.stderr)
    assert frames == [str(path)], "the program's own, and no error of ours before it"


def test_what_is_no_program(xp, tmp_path):
    for arguments, word in ((["."], "__main__"), (["-m", "nope"], "'nope'"), (["-m", "nope.x"], "'nope.x'")):
        command = [sys.executable, "-m", "nbx_array", "run", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(xp), cwd=tmp_path)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and word in done.stderr


def test_arrays_that_come_back_from_other_packages(xp, tmp_path):
    """Over our memory they are views of it for our functions, on the CPU; operators copy what is another's."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "other.py").write_text("import numpy as np\ndef end(a): return np.asarray(a)[1:]\n")
    path = tmp_path / "back.py"
    path.write_text(
        "import sys; sys.path.insert(0, 'site-packages')\n"
        "import other, numpy as np\n"
        "x = np.arange(4.0)\n"
        "y = np.ravel(other.end(x)); y += np.ones(3); np.asarray(other.end(x)[::-1])[0] = 7\n"
        "z = x[1:] + np.frombuffer(bytearray(24))\n"
        "print(x, z, type(y) is type(z) is type(np.sin(other.end(x))) is type(x))\n"
    )
    command = [sys.executable, "-m", "nbx_array", "run", "back.py"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(xp), cwd=tmp_path)
    assert done.stderr == "" and done.stdout.endswith(" True\n")
    if environment(xp)["NBX_BACKEND"] == "cpu":
        assert done.stdout == "[0. 2. 3. 7.] [2. 3. 7.] True\n"


def test_ipython(xp):
    pytest.importorskip("IPython")
    program = (
        "from IPython.core.interactiveshell import InteractiveShell as S\n"
        "s = S.instance()\n"
        "s.run_cell('import numpy as early')\n"
        "s.run_cell('%load_ext nbx_array')\n"
        "s.run_cell('import numpy as np; x = np.arange(3) * 2; print(type(x).__module__, x)')\n"
        "s.run_cell('%nbx_report')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment(xp))
    assert "nbx_array._array [0 2 4]" in done.stdout and "arange" in done.stdout
    assert "early is NumPy's own" in done.stderr
