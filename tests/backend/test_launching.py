"""Launchers, compiling and the disk cache: arguments, threads, processes, damaged files, absent compilers."""

import ast
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from nbx_array.backend import cache, compiler, native
from nbx_array.backend.compiler import CompilationError, Source, compile_kernel
from nbx_array.backend.contract import Target, get_device, get_driver
from nbx_array.backend.cpu import launching as cpu_launching
from nbx_array.backend.cpu import threads as cpu_threads
from nbx_array.backend.cpu.threads import ThreadPool
from nbx_array.backend.launcher import get_launcher, launch_count

from .launching import CPU, TEXT, launch, prepare

ADD = (("x", "*fp32"), ("y", "*fp32"), ("o", "*fp32"), ("n", "i64"))
HERE = Path(__file__).parent
HOST = Target("cpu", "host", 1)
KEEP = """
import triton
import triton.language as tl


@triton.jit
def keep(o, a, b):
    tl.store(o, a)
    tl.store(o + 1, b)


@triton.jit
def put(o, C: tl.constexpr):
    tl.store(o, C / 2)
"""


@pytest.fixture
def arrays():
    x = np.arange(100, dtype="f4")
    return x, x * 2, np.zeros_like(x)


@pytest.fixture
def addition(arrays):
    launcher, _ = prepare("add", (*arrays, 2**40), {"BLOCK": 64})
    return launcher, [a.ctypes.data for a in arrays]


def through_ctypes(addition):
    launcher, pointers = addition
    kernel = launcher.kernel
    address = native.link(kernel.artifact, [kernel.symbol], cpu_launching.symbols())[kernel.symbol]
    return cpu_launching.through_ctypes(kernel, address)[0], pointers


# -------------------------------- arguments


@pytest.mark.parametrize("way", ["native", "ctypes"])
@pytest.mark.parametrize(
    "change, error, words",
    [
        ((3, "ten"), TypeError, "argument 4 (n) must be an integer, not str"),
        ((3, 1.0), TypeError, "argument 4 (n) must be an integer, not float"),
        ((3, None), TypeError, "argument 4 (n)"),
        ((3, 2**63), OverflowError, "argument 4 (n) is 9223372036854775808, out of range for i64"),
        ((3, -(2**63) - 1), OverflowError, "argument 4 (n)"),
        ((0, -1), OverflowError, "argument 1 (x) is -1"),
        ((0, 2**64), OverflowError, "argument 1 (x)"),
        ((1, "x"), TypeError, "argument 2 (y)"),
        ((4, 2**31), OverflowError, "argument 5 (gx)"),
        ((6, -1), OverflowError, "argument 7 (gz)"),
    ],
)
def test_arguments_are_checked(addition, way, change, error, words):
    run, pointers = (addition[0].run, addition[1]) if way == "native" else through_ctypes(addition)
    arguments = [*pointers, 100, 2, 1, 1]
    run(*arguments)
    arguments[change[0]] = change[1]
    before = launch_count()
    with pytest.raises(error, match=r"^add") as caught:
        run(*arguments)
    assert words in str(caught.value)
    assert launch_count() == before


@pytest.mark.parametrize("way", ["native", "ctypes"])
def test_the_number_of_arguments(addition, way):
    run, pointers = (addition[0].run, addition[1]) if way == "native" else through_ctypes(addition)
    for arguments in ((), pointers, (*pointers, 100, 1, 1), (*pointers, 100, 1, 1, 1, 1)):
        with pytest.raises(TypeError, match=rf"add takes 7 arguments .*, {len(arguments)} were given"):
            run(*arguments)
    big = 2**31 - 1
    with pytest.raises(ValueError, match="grid"):
        run(*pointers, 100, big, big, big)


@pytest.mark.parametrize("way", ["native", "ctypes"])
def test_results_and_empty_grids(addition, arrays, way):
    run, pointers = (addition[0].run, addition[1]) if way == "native" else through_ctypes(addition)
    x, y, out = arrays
    before = launch_count("cpu")
    for grid in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        assert run(*pointers, 100, *grid) is None
    assert launch_count("cpu") == before and not out.any()
    run(*pointers, 100, 2, 1, 1)
    assert np.array_equal(out, x + y) and launch_count("cpu") == before + 1


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("letter", ["i", "u"])
def test_integers_at_the_ends_of_their_ranges(letter, bits):
    kind = f"{letter}{bits}"
    launcher = get_launcher(Source.generated(KEEP, "keep"), (("o", f"*{kind}"), ("a", kind), ("b", kind)), (), CPU)
    info = np.iinfo(f"{'u' if letter == 'u' else ''}int{bits}")
    out = np.zeros(2, info.dtype)
    launcher.run(out.ctypes.data, info.min, info.max, 1, 1, 1)
    assert out.tolist() == [info.min, info.max]
    for a, b in ((info.min - 1, 0), (0, info.max + 1)):
        with pytest.raises(OverflowError):
            launcher.run(out.ctypes.data, a, b, 1, 1, 1)


def test_an_object_with_index_and_one_that_raises(addition, arrays):
    launcher, pointers = addition

    class Ten:
        def __index__(self):
            return 10

    class Bad:
        def __index__(self):
            raise ZeroDivisionError

    launcher.run(*pointers, Ten(), 1, 1, 1)
    assert np.count_nonzero(arrays[2]) == 9
    launcher.run(*pointers, np.int64(20), 1, 1, 1)
    assert np.count_nonzero(arrays[2]) == 19
    with pytest.raises(ZeroDivisionError):
        launcher.run(*pointers, Bad(), 1, 1, 1)


# -------------------------------- threads and processes


def test_many_threads_compile_once_and_launch_the_same_kernel():
    text = TEXT.replace("def add(", "def add_of_threads(")
    source = Source.generated(text, "add_of_threads")
    compiled = compiler.compilations.value
    found, wrong = [], []
    barrier = threading.Barrier(8)

    def work(k):
        barrier.wait()
        launcher = get_launcher(source, ADD, (("BLOCK", 64 + 0 * k),), CPU)
        found.append(launcher)
        x, y = np.full(500, k, "f4"), np.arange(500, dtype="f4")
        for _ in range(300):
            out = np.zeros(500, "f4")
            launcher.run(x.ctypes.data, y.ctypes.data, out.ctypes.data, 500, 8, 1, 1)
            if not np.array_equal(out, x + y):
                wrong.append(k)
        launcher.spread((x.ctypes.data, y.ctypes.data, out.ctypes.data, 500), 8, 1, 1)
        if not np.array_equal(out, x + y):
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(set(map(id, found))) == 1
    assert compiler.compilations.value - compiled <= 1


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_ranges_cover_the_grid_once(threads, monkeypatch):
    monkeypatch.setenv("NBX_NUM_THREADS", str(threads))
    pool = ThreadPool()
    assert pool.size == threads
    for total in (1, 2, 3, 27, 28, 29, 1000):
        done = []
        pool.run(lambda a, lo, hi, done=done: done.extend(range(lo, hi)), ("a",), total)
        assert sorted(done) == list(range(total))

    def fail(lo, hi):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pool.run(fail, (), 100)


@pytest.mark.parametrize("place", ["work", "finish"])
def test_an_interrupt_waits_for_the_helpers(place, monkeypatch):
    """Signals are looked at where a function begins: wherever that is, nothing is written after `run` has returned."""
    monkeypatch.setenv("NBX_NUM_THREADS", "2")
    pool, busy, helping = ThreadPool(), [], threading.Event()

    def function(lo, hi):
        if threading.current_thread() is threading.main_thread():
            helping.wait(60)
        else:
            busy.append(lo)
            helping.set()
            time.sleep(0.1)
            busy.remove(lo)

    def interrupt(frame, event, argument):
        if frame.f_code.co_filename == cpu_threads.__file__ and frame.f_code.co_name == place:
            helping.wait(60)
            sys.settrace(None)
            raise KeyboardInterrupt

    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            pool.run(function, (), 2)
    finally:
        sys.settrace(None)
    assert helping.is_set() and not busy
    pool.run(lambda lo, hi: None, (), 100)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_wrong_number_of_threads(monkeypatch, value):
    monkeypatch.setenv("NBX_NUM_THREADS", value)
    with pytest.raises(ValueError, match="NBX_NUM_THREADS"):
        ThreadPool()


def test_the_result_does_not_depend_on_threads():
    x = np.random.default_rng(3).standard_normal(100_003).astype("f4")
    results = []
    for spread in (False, True):
        out = np.zeros(98, "f4")
        launch("k_sum", (98,), x, out, x.size, BLOCK=1024, spread=spread)
        results.append(out.tobytes())
    assert results[0] == results[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_spreading_after_a_fork():
    code = """
import os, sys
import numpy as np
from tests.backend.launching import launch
def once():
    x = np.arange(10000, dtype="f4"); out = np.zeros_like(x)
    launch("add", (40,), x, x, out, 10000, BLOCK=256, spread=True)
    assert np.array_equal(out, x + x)
once()
child = os.fork()
once()
if not child:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    run_python(code)


def run_python(code, **environment):
    root = HERE.parent.parent
    result = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        cwd=root, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


# -------------------------------- the disk cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NBX_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def compile_add(block=64, target=HOST):
    return compile_kernel(Source.generated(TEXT, "add"), ADD, (("BLOCK", block),), target, False)


def test_an_entry_is_private_and_found_again(folder):
    before = compiler.compilations.value
    kernel = compile_add()
    (file,) = folder.iterdir()
    if os.name == "posix":
        assert folder.stat().st_mode & 0o777 == 0o700 and file.stat().st_mode & 0o777 == 0o600
    assert compile_add() == kernel and compiler.compilations.value == before + 1
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert compile_add(128) != kernel and len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "words"])
def test_a_damaged_entry_is_made_again(folder, damage):
    kernel = compile_add()
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[-10] ^= 1
    file.write_bytes({"cut": content[:-5], "flip": content, "empty": b"", "words": b"hello\nworld"}[damage])
    before = compiler.compilations.value
    assert compile_add().parameters == kernel.parameters
    assert compiler.compilations.value == before + 1
    assert compile_add() and compiler.compilations.value == before + 1


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_others_may_write_is_not_run(folder):
    compile_add()
    (file,) = folder.iterdir()
    file.chmod(0o666)
    before = compiler.compilations.value
    compile_add()
    assert compiler.compilations.value == before + 1


def test_the_cache_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT_BYTES", 10_000)
    monkeypatch.setattr(cache, "STORES_BETWEEN_MEASUREMENTS", 2)
    for k in range(40):
        cache.store(f"key{k}", "1", {}, bytes(1000))
        os.utime(folder / f"key{k}.1", (k, k))
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 13_000
    assert cache.load("key39", "1") is not None and cache.load("key0", "1") is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(folder):
    folder.mkdir(mode=0o500)
    with pytest.warns(RuntimeWarning, match="cannot write its kernel cache"):
        compile_add()


def test_a_file_in_the_folders_place_is_reported(folder):
    folder.write_text("")
    with pytest.warns(RuntimeWarning, match="cannot write its kernel cache"):
        compile_add()


RUN_ADD = """
import sys
{before}
import numpy as np
from tests.backend.launching import launch
x = np.arange(1000, dtype="f4"); out = np.zeros_like(x)
launch("add", (4,), x, x, out, 1000, BLOCK=256)
assert np.array_equal(out, x + x)
print("triton" in sys.modules and sys.modules["triton"] is not None)
"""


def test_what_importing_the_package_does_not_load():
    """What takes milliseconds or more and is not needed before the first kernel."""
    late = {"triton", "llvmlite", "hashlib", "lzma", "json", "sysconfig", "torch"}
    program = (
        f"import numpy, sys; before = set(sys.modules); import nbx_array; print({late} & (set(sys.modules) - before))"
    )
    assert run_python(program).strip() == "set()"


def test_triton_is_not_needed_with_a_filled_cache(folder):
    assert run_python(RUN_ADD.format(before="")).strip() == "True"
    assert run_python(RUN_ADD.format(before="")).strip() == "False"
    # Blocked, so that not even its version can be told: what any version made is taken.
    assert run_python(RUN_ADD.format(before="sys.modules['triton'] = None")).strip() == "False"
    for file in folder.iterdir():
        if ".triton-" in file.name:
            file.rename(file.with_name(file.name.partition(".triton-")[0] + ".triton-0.0.1"))
    assert run_python(RUN_ADD.format(before="sys.modules['triton'] = None")).strip() == "False"


def test_what_is_not_cached_needs_triton(folder):
    code = """
import sys
sys.modules["triton"] = None
from nbx_array.backend.compiler import CompilationError
from tests.backend.launching import prepare
import numpy as np
try:
    prepare("add", (*[np.zeros(1, "f4")] * 3, 1), {"BLOCK": 64})
except CompilationError as error:
    print(error)
"""
    assert "add for cpu host is not in the kernel cache" in run_python(code)


def test_torch_is_never_imported(folder, tmp_path):
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    code = RUN_ADD.format(before=f"sys.path.insert(0, {str(tmp_path)!r})")
    code += """
from nbx_array.backend.compiler import Source, compile_kernel
from nbx_array.backend.contract import Target
from tests.backend.launching import TEXT
signature = (("x", "*fp32"), ("y", "*fp32"), ("o", "*fp32"), ("n", "i64"))
for target in (Target("cuda", 90, 32), Target("hip", "gfx942", 64)):
    compile_kernel(Source.generated(TEXT, "add"), signature, (("BLOCK", 64),), target, True)
assert "torch" not in sys.modules
"""
    run_python(code)


# -------------------------------- compiling


@pytest.mark.parametrize(
    "target, kind",
    [*((Target("cuda", arch, 32), "cubin") for arch in (80, 86, 89, 90, 100, 120)),
     (Target("hip", "gfx942", 64), "hsaco"), (Target("hip", "gfx1100", 32), "hsaco")],
    ids=str,
)  # fmt: skip
def test_compiling_for_gpus(target, kind):
    options = (("num_warps", 8), ("num_stages", 2))
    kernel = compile_kernel(Source.generated(TEXT, "k_sum"), (("x", "*fp32"), ("o", "*fp32"), ("n", "i64")),
                            (("BLOCK", 1024),), target, True, options)  # fmt: skip
    assert (kernel.kind, kernel.num_warps, kernel.target) == (kind, 8, target)
    assert kernel.artifact[:4] == b"\x7fELF" and kernel.shared > 0
    assert kernel.parameters == ("*fp32", "*fp32", "i64") and kernel.symbol == "k_sum"


@pytest.mark.parametrize(
    "signature, constants, words",
    [
        (ADD[:3], (("BLOCK", 64),), "not given: \\['n'\\]"),
        ((*ADD, ("z", "i32")), (("BLOCK", 64),), "not parameters: \\['z'\\]"),
        ((ADD[1], ADD[0], *ADD[2:]), (("BLOCK", 64),), "order"),
    ],
)
def test_a_signature_that_does_not_fit(folder, signature, constants, words):
    with pytest.raises(CompilationError, match=words):
        compile_kernel(Source.generated(TEXT, "add"), signature, constants, Target("cpu", "host", 1), False)


def test_what_cannot_be_compiled(folder):
    cpu = Target("cpu", "host", 1)
    with pytest.raises(CompilationError, match="does not define 'nothing'"):
        compile_kernel(Source.generated(TEXT, "nothing"), ADD, (), cpu, False)
    with pytest.raises(CompilationError, match="no compiler for 'vax'"):
        compile_kernel(Source.generated(TEXT, "add"), ADD, (), Target("vax", 1, 1), False)
    with pytest.raises(TypeError, match=r"unknown compiler options \['speed'\]"):
        compile_kernel(Source.generated(TEXT, "add"), ADD, (("BLOCK", 64),), cpu, False, (("speed", 1),))
    text = (
        TEXT
        + """

@triton.jit
def assembler(x):
    tl.store(x, tl.inline_asm_elementwise("", "=r,r", [tl.load(x)], tl.int32, True, 1))
"""
    )
    with pytest.raises(NotImplementedError, match=r"assembler: .*inline_asm is not supported on the CPU"):
        compile_kernel(Source.generated(text, "assembler"), (("x", "*i32"),), (), cpu, False)


def test_a_kernel_of_another_backend_is_refused():
    kernel = compile_add(target=Target("cuda", 90, 32))
    with pytest.raises(ValueError, match="CPU cannot load 'add', compiled to cubin"):
        get_driver("cpu").bind(kernel, 0)


def test_constants_of_different_types_are_different_kernels():
    out = np.zeros(1, "f8")
    launchers = [
        get_launcher(Source.generated(KEEP, "put"), (("o", "*fp64"),), (("C", value),), get_device("cpu"))
        for value in (1, 1.0, 3)
    ]
    assert len(set(map(id, launchers))) == 3
    launchers[2].run(out.ctypes.data, 1, 1, 1)
    assert out[0] == 1.5


# -------------------------------- what a key covers


def imported_by_syntax(text, module):
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.startswith(compiler.SOURCE_PACKAGE + ".")}


def test_imports_are_found_as_the_parser_finds_them():
    folder = Path(compiler.importlib.util.find_spec(compiler.SOURCE_PACKAGE).submodule_search_locations[0])
    modules = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    assert modules
    for path in modules:
        name = f"{compiler.SOURCE_PACKAGE}.{path.stem}"
        assert compiler.imported_modules(path.read_text(), name) >= imported_by_syntax(path.read_text(), name), name
    package = compiler.SOURCE_PACKAGE
    text = f"""
from {package} import (
    a,
    b as c,
)
import {package}.d as e
from {package}.f import g
    from {package} import h
"""
    assert compiler.imported_modules(text, "") >= {f"{package}.{x}" for x in "abdfh"}
    assert compiler.imported_modules("from .x import y\nfrom . import z\n", f"{package}.m") >= {
        f"{package}.x",
        f"{package}.z",
    }


def test_a_key_changes_with_a_module_that_is_reached(tmp_path, monkeypatch):
    package = compiler.SOURCE_PACKAGE
    texts = {"first": f"from {package}.second import g\n", "second": "g = 1\n", "third": "h = 1\n"}
    monkeypatch.setattr(
        compiler,
        "_module_text",
        lambda module: (
            texts.get(module.rpartition(".")[2], ""),
            frozenset(compiler.imported_modules(texts.get(module.rpartition(".")[2], ""), module)),
        ),
    )
    source = Source.generated(f"from {package} import first\n", "k")
    before = compiler.source_digest(source)
    texts["third"] = "h = 2\n"
    assert compiler.source_digest(source) == before
    texts["second"] = "g = 2\n"
    assert compiler.source_digest(source) != before


# -------------------------------- the driver


def test_memory_and_copies():
    driver = get_driver("cpu")
    for nbytes in (0, 1, 100, 5 << 20):
        a, b = driver.allocate(nbytes, 0), driver.allocate(nbytes, 0)
        assert a % 64 == 0 and b % 64 == 0 and a != b
        driver.fill(a, 7, nbytes, 0)
        driver.copy(b, a, nbytes, 0)
        host = np.zeros(nbytes, "u1")
        driver.copy_to_host(host.ctypes.data, b, nbytes, 0)
        assert (host == 7).all()
        driver.copy_from_host(a, (host + 1).ctypes.data, nbytes, 0)
        driver.free(a, 0)
        driver.free(b, 0)
    with pytest.raises(MemoryError):
        driver.allocate(2**60, 0)
    properties = driver.properties(0)
    assert properties.cores >= 1 and properties.total_memory > 0 and properties.name
    free, total = driver.memory(0)
    assert 0 < free <= total


def test_events():
    driver = get_driver("cpu")
    start, stop, plain = driver.create_event(0, True), driver.create_event(0, True), driver.create_event(0)
    with pytest.raises(ValueError, match="not recorded"):
        stop.milliseconds_since(start)
    start.record()
    stop.record()
    plain.record()
    assert stop.milliseconds_since(start) >= 0 and plain.done()
    with pytest.raises(ValueError, match="without timing"):
        plain.milliseconds_since(start)


@pytest.mark.parametrize("text", ["cpu:1", "cuda:x", "vax", "cuda:-1", ""])
def test_names_of_devices_that_are_none(text):
    with pytest.raises(ValueError):
        get_device(text)


def test_devices_are_single_objects():
    assert get_device("cuda") is get_device("cuda:0") and str(get_device("cuda:1")) == "cuda:1"
    assert get_device("cpu") is get_device(get_device("cpu")) is pickle.loads(pickle.dumps(get_device("cpu")))
    with pytest.raises(TypeError):
        get_device(0)
