"""Programs that `nbx-array run` serves and that hand arrays to packages which take NumPy's alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

STRICT = """
import functools
import sys
import numpy as np

class Frame:
    def __init__(self, **columns):
        for column in columns.values():
            assert type(column) is np.ndarray, type(column)
        self.columns = columns

    def __getitem__(self, key):
        assert isinstance(key, (np.ndarray, np.integer, str)), type(key)
        return {k: v[key] for k, v in self.columns.items()} if not isinstance(key, str) else self.columns[key]

    def __setitem__(self, key, value):
        assert isinstance(value, (np.ndarray, np.floating)) and isinstance(key, (str, np.integer)), type(value)
        self.columns[key] = value

    def __delitem__(self, key):
        assert isinstance(key, (str, np.integer))
        del self.columns[key]

    def row(self, i, *, names=()):
        assert isinstance(i, np.integer) and all(isinstance(name, np.integer) for name in names), type(i)
        return [float(v[i]) for v in self.columns.values()], list(map(int, names))

    def double(self, x, scale=2):
        assert type(x) is np.ndarray
        x *= scale

    def query(self, name):
        return sys._getframe(1).f_locals[name]

def nested(table, items):
    assert type(table["a"][0]) is np.ndarray and isinstance(items[1][0], np.floating)
    return len(items)

def same(x):
    return x

def call(function, *args):
    return function(*args)

class compiled:
    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, x):
        assert type(x) is np.ndarray
        return float(self.__wrapped__(x))

def ufunc(function):
    assert isinstance(function, np.ufunc)
    return function(4.0)
"""

PROGRAMS = {
    "indices": """
        f = strict.Frame(a=x, b=2 * x)
        print(f[x > 2], f[np.argmax(x)])
        f["c"] = x + 1
        f[np.argmin(x)] = x[1]
        del f[np.argmin(x)]
        print(sorted(f.columns), f["c"])
    """,
    "arguments": """
        f = strict.Frame(a=x)
        print(f.row(np.argmax(x), names=[np.argmin(x)]), strict.nested({"a": [x]}, [1, (x[2],)]), strict.ufunc(np.sqrt))
    """,
    "what is changed": """
        f, y = strict.Frame(a=x), np.ones(4)
        f.double(y)
        f.double(y[1:3], scale=np.int64(5))
        print(y, y.sum())
    """,
    "what is the program's own": """
        items = [x, 1]
        print(strict.same(items) is not None, strict.call(lambda v: np.sum(v), x), max(items[0]))
        text, pair = ["a"], (1, "b")
        print(strict.same(text) is text, strict.same(pair) is pair)
        @strict.compiled
        def total(v):
            return v.sum()
        print(total(x), total.__module__)
        def local():
            inside = 7
            return strict.Frame(a=x).query("inside")
        print(local())
    """,
    "classes": """
        class Mine(strict.Frame):
            sizes: dict[str, int] = {"a": 1}
            def __init__(self, n: list[int], **columns) -> dict[str, int]:
                super().__init__(**columns)
                self.n: tuple[int, ...] = (n[0],)
        m = Mine([3], a=x)
        print(m.n, m["a"], m.sizes["a"], Mine.__init__.__annotations__)
    """,
    "bytes": """
        print(hashlib.md5(x).hexdigest(), zlib.crc32(x), bytes(memoryview(x))[8:16], struct.pack("d", x[1]))
        with open("out.bin", "wb") as file:
            file.write(x)
        print(np.fromfile("out.bin"), statistics.mean([x[0], x[3]]), datetime.timedelta(seconds=x[1]))
    """,
}


def run(tmp_path, text, *command, **variables):
    site = tmp_path / "site-packages"
    site.mkdir(exist_ok=True)
    (site / "strict.py").write_text(STRICT)
    (tmp_path / "helper.py").write_text(
        "import strict, numpy as np\nprint(strict.Frame(a=np.ones(2))[np.array([0])])\n"
    )
    script = tmp_path / "program.py"
    script.write_text(text)
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path} | variables
    done = subprocess.run(
        [sys.executable, *command, str(script)], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_it_prints_under_numpy(tmp_path, device, name):
    lines = [line.removeprefix("        ") for line in PROGRAMS[name].splitlines()]
    imports = "import datetime, hashlib, statistics, strict, struct, zlib\nimport numpy as np\nx = np.arange(6.0)\n"
    text = imports + "\n".join(lines)
    wanted = run(tmp_path, text).stdout
    assert run(tmp_path, text, "-m", "nbx_array", "run", NBX_BACKEND=device.backend).stdout == wanted


def test_modules_of_the_program(tmp_path):
    """They are compiled like the script, and no compiled code of theirs is left behind; crossings are counted."""
    done = run(tmp_path, "import numpy as np\nimport helper\n", "-m", "nbx_array", "run", "--report")
    assert done.stdout == "{'a': array([1.])}\n"
    assert "strict.Frame" in done.stderr
    assert not list(tmp_path.glob("__pycache__/helper*"))


def test_programs_that_hand_over_nothing_are_compiled_as_they_are():
    from nbx_array import _crossing

    plain = "import numpy as np, math, time\nprint(np.sin(x)[0], open('a', 'rb'))"
    assert "__nbx_call__" not in _crossing.compiled(plain, "a.py").co_names
    for text in ("import pandas", "from scipy import stats", "import zlib", "memoryview(x)", "open(f, 'wb')"):
        assert "__nbx_call__" in _crossing.compiled(f"{text}\nf(x)", "a.py").co_names
