"""Programs that `nbx-array run` serves and that hand arrays to packages which take NumPy's alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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

class Number:
    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        assert type(other) in (np.ndarray, np.float64, float), type(other)
        return self.value * other

    __rmul__ = __lt__ = __add__ = __mul__

    def __iadd__(self, other):
        return Number(self.value + self * other)

def applied(functions, x):
    found = [function(x) for function in functions]
    assert all(isinstance(y, (np.ndarray, np.floating)) for y in found), found
    return found

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
    "operators": """
        n = strict.Number(2.0)
        print(n * x[1], n * x, x[2] * n, n < x.sum(), n + x[1:3], x[3:] * n)
        n += x[3]
        print(n.value)
    """,
    "functions": """
        def double(v):
            return np.sum(v) * 2
        class Mean:
            def of(self, v):
                return np.mean(v) * np.ones(2)
        print(strict.applied([double, lambda v: v[1] + np.ones(1)[0], Mean().of], x))
        kept = strict.same(double)
        print(kept == double, {double: 1}[kept], pickle.loads(pickle.dumps(kept))(x), kept.__name__)
        print(strict.same(iter)([1]).__next__(), list(strict.call(lambda v: (w for w in v), x[:2])))
    """,
    "scalars": """
        i = np.arange(3)
        @functools.singledispatch
        def kind(v):
            return "other"
        kind.register(np.ndarray, lambda v: "array")
        kind.register(float, lambda v: "float")
        kind.register(np.integer, lambda v: "integer")
        print(kind(x), kind(x[0]), kind(x.sum()), kind(i[1]), kind("a"))
        for v in x, x[0], i[1], x.mean(), x[1] > 0:
            types = float, int, np.ndarray, np.floating, np.integer, np.bool_, np.generic, numbers.Real
            print([isinstance(v, t) for t in types], isinstance(v, collections.abc.Iterable), hasattr(v, "__len__"))
            match v:
                case np.ndarray(shape=(6,)):
                    print("six")
                case float():
                    print("float")
        best = total = np.sum(i)
        total += x[1] / 2
        total *= 2
        print(best, total, isinstance(np.add, np.ufunc), isinstance(np.add.reduce, np.ufunc))
        y = i
        y += 1
        try:
            y += 1.5
        except TypeError as error:
            print(error, i)
        print(x[2].is_integer(), np.mean(x).as_integer_ratio())
        for f in (lambda: len(i[0]), lambda: int(x), lambda: bool(x), lambda: hash(x), lambda: x @ np.ones(2),
                  lambda: i ** -1, lambda: x + "a", lambda: x.item(), lambda: x.nothing, lambda: x[0].nothing):
            try:
                print(f())
            except Exception as error:
                print(isinstance(error, TypeError), error)
    """,
    "json": """
        print(json.dumps({"a": x[1], "b": [x.sum()]}), json.dumps([x, x[0] > 1], default=lambda v: v.tolist()))
        try:
            json.dumps(np.arange(2)[1])
        except TypeError as error:
            print(error)
        print((ctypes.c_double * 2)(*x[:2])[1], datetime.datetime.fromtimestamp(x[1], datetime.timezone.utc))
    """,
    "what NumPy asks of the program": """
        class Wrapped:
            def __init__(self, a):
                self.a = np.asarray(a)
            def __array__(self, dtype=None, copy=None):
                return self.a * 1
        w = Wrapped([1.0, 2.0])
        print(np.sin(w), np.ones(2) + w, np.concatenate([w, w]), x[1] * np.asarray(w))
        class Asked:
            def __array_function__(self, function, types, args, keywords):
                return "mean" if function is np.mean else {np.sum: "sum"}.get(function, NotImplemented)
        print(np.mean(Asked()), np.sum(Asked()))
        class Tagged(np.ndarray):
            def __array_finalize__(self, other):
                self.tag = getattr(other, "tag", "new")
        t = np.arange(2.0).view(Tagged)
        t.tag = "old"
        print((np.ones(2) + t).tag, (t * np.ones(2)).tag, np.matrix([[1, 2], [3, 4]]) * np.array([[1], [1]]))
        print(np.ones(2) == None, x[0] == None)
    """,
    "streams": """
        print(np.genfromtxt(io.StringIO("a,b\\n1,2\\n3,"), delimiter=",", names=True))
        def column(v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return v[:, None]
        print(np.fromiter((v for v in x), "f8").sum(), column(x).shape, __file__)
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
    imports = (
        "import collections, ctypes, datetime, functools, hashlib, io, json, numbers, pickle, statistics, strict\n"
    )
    imports += "import struct, zlib\nimport numpy as np, numpy.typing as npt\nx = np.arange(6.0)\n"
    text = imports + "\n".join(lines)
    wanted = run(tmp_path, text).stdout
    assert run(tmp_path, text, "-m", "nbx_array", "run", NBX_BACKEND=device.backend).stdout == wanted


def test_other_processes(tmp_path):
    text = """
import multiprocessing, pickle
import numpy as np

def squares(x):
    return np.sum(x**2)

if __name__ == "__main__":
    x = [np.arange(n) for n in (2, 3)]
    with multiprocessing.Pool(1) as pool:
        print(pool.map(squares, x), pool.map(np.linalg.norm, x), pool.starmap(np.dot, [x[:1] * 2]))
    print([pickle.loads(pickle.dumps(f)) is f for f in (np.dot, np.linalg.norm, np.add.reduce, np.float64)])
    try:
        import joblib
    except ImportError:
        pass
    else:
        print(joblib.Parallel(n_jobs=2)(joblib.delayed(squares)(y) for y in x))
"""
    wanted = run(tmp_path, text).stdout.replace("[True, True, False, True]", "[True, True, True, True]")
    assert run(tmp_path, text, "-m", "nbx_array", "run").stdout == wanted


def test_processes_forked_from_one_with_a_gpu(tmp_path):
    """They compute on the CPU, and what they send arrives on the GPU."""
    text = """
import multiprocessing
import numpy as np

def squares(x):
    return x**2 + np.arange(len(x)), str(getattr(x, "device", "cpu"))

def inherited(_):
    return x

if __name__ == "__main__":
    x = np.arange(3.0) + 1
    with multiprocessing.get_context("fork").Pool(1) as pool:
        (y, place), = pool.map(squares, [x])
        print(y, x + y, place)
        try:
            pool.map(inherited, [0])
        except Exception as error:
            assert "in use before this process was forked" in str(error)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (z, place), = pool.map(squares, [x])
    print(z, x + z, place)
"""
    wanted = run(tmp_path, text).stdout
    site = tmp_path / "site-packages"
    (site / "sitecustomize.py").write_text(f"""
import os, sys
if os.environ.get("NBX_BACKEND") == "cuda":
    sys.path.insert(0, {str(Path(__file__).parent / "backend")!r})
    import pytest, fake_cuda
    del sys.path[0]
    fake_cuda.install(pytest.MonkeyPatch(), fake_cuda.FakeCuda())
""")
    done = run(tmp_path, text, "-W", "ignore", "-m", "nbx_array", "run", "--report", NBX_BACKEND="cuda")
    assert done.stdout == wanted and wanted.endswith(" cpu\n")


def test_what_numba_compiles(tmp_path):
    pytest.importorskip("numba")
    text = """
import numba, numpy as np
from numpy import sin

@numba.njit
def total(a):
    s = 0.0
    for i in range(a.size):
        s += a[i] * np.cos(a[i]) + sin(a[i])
    return s, np.zeros(2)

def inner(a):
    return a[0] + np.sum(a)

print(total(np.arange(4.0)), numba.njit(inner)(np.arange(4.0)) * np.ones(2))
"""
    wanted = run(tmp_path, text).stdout
    assert run(tmp_path, text, "-m", "nbx_array", "run").stdout == wanted


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
