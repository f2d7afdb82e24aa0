"""The archive: what it holds, and that a machine without triton and with an empty cache computes from it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msl import shim
from nbx_array.backend import archive, compiler, recording
from nbx_array.backend.ahead import parse_target
from nbx_array.kernels import archive as command
from nbx_array.kernels import fft, registry

ROOT = Path(__file__).parents[2]

MAC = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/backend")!r})
import fake_metal, pytest
fake_metal.install(pytest.MonkeyPatch(), fake_metal.FakeMetal(memory=1 << 30))
"""
PROGRAM = """
import numpy as np
import nbx_array as xp

def check(found, expected):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)

h = np.random.default_rng(SEED).normal(size=(37, 53)).astype(np.float32)
n = np.arange(-17, 36)
x, i = xp.asarray(h, device=DEVICE), xp.asarray(n, device=DEVICE)
i32, i64 = xp.astype(i, xp.int32), i
# one operation: contiguous, with a number, the same operand twice, strided, broadcast, backwards
check(x + x, h + h)
check(2.5 - x, 2.5 - h)
check(x * x, h * h)
check(x.T + x.T, h.T + h.T)
check(x + x[0], h + h[0])
check(x[::-1, ::-3] + x[:, ::3], h[::-1, ::-3] + h[:, ::3])
# of two dtypes, and where a number meets two arrays
check(xp.where(x > 0, x, 0.0), np.where(h > 0, h, 0))
check(xp.where(i32 > 3, i64, 7), np.where(n > 3, n, 7))
check(i32 + i64, n + n)
check(xp.astype(i, xp.uint64) > i - 4, np.ones(53, bool))
# expressions, seen more than once
for _ in range(3):
    check(xp.exp(-x * x / 2) + x, np.exp(-h * h / 2) + h)
# five dimensions in no order
h5 = h[:36, :48].reshape(4, 9, 6, 8, 1) * np.ones(3, np.float32)
check(xp.permute_dims(xp.asarray(h5, device=DEVICE), (4, 2, 0, 3, 1)) + 1, h5.transpose(4, 2, 0, 3, 1) + 1)
# reductions of an expression, long, by rows, by columns, of a strided array; scans
for axis in (None, 0, 1):
    check(xp.sum(x + 1, axis=axis), (h + 1).sum(axis))
    check(xp.max(x, axis=axis), h.max(axis))
    check(xp.std(x[:, ::2], axis=axis), h[:, ::2].std(axis))
check(xp.argmin(x.T, axis=1), h.T.argmin(1))
check(xp.argmin(x), h.argmin())
check(xp.sum(xp.ones(1_000_003, dtype=xp.float32, device=DEVICE)), 1_000_003)
check(xp.sum(x[:, :3], axis=1), h[:, :3].sum(1))
check(xp.cumulative_sum(x, axis=0), h.cumsum(0))
check(xp.cumulative_sum((x + 1)[:, ::2], axis=1), (h + 1)[:, ::2].cumsum(1))
check(xp.cumulative_sum(xp.ones(100_003, dtype=xp.float32, device=DEVICE)), np.arange(1, 100_004))
# writing to a part of an array, indexing by arrays and masks
y, k = xp.asarray(h, device=DEVICE), h.copy()
y[1:20:3, ::2] = x[1:20:3, ::2] * 2
k[1:20:3, ::2] *= 2
y[xp.asarray([3, 1, 3], device=DEVICE), :] = 7
k[[3, 1]] = 7
y += 1
check(y, k + 1)
check(x[xp.asarray([3, -1], device=DEVICE)], h[[3, -1]])
check(x[x > 0], h[h > 0])
# sorting, searching, products
check(xp.sort(x, axis=0), np.sort(h, axis=0))
check(xp.argsort(x, axis=1), np.argsort(h, axis=1))
check(xp.searchsorted(xp.sort(x[0]), x[1]), np.searchsorted(np.sort(h[0]), h[1]))
check(x @ x.T, h @ h.T)
a = (h[:35, :35] @ h[:35, :35].T + 35 * np.eye(35)).astype(np.float32)
b = xp.asarray(a, device=DEVICE)
check(xp.linalg.solve(b, x[:35, :3]), np.linalg.solve(a, h[:35, :3]))
check(xp.linalg.cholesky(b) / 6, np.linalg.cholesky(a) / 6)
check(xp.fft.fft(xp.astype(x[:, :12], xp.complex64)), np.fft.fft(h[:, :12]))
check(xp.arange(7, dtype=xp.float32, device=DEVICE), np.arange(7))

from nbx_array.backend.compiler import compilations
import sys
assert "triton" not in sys.modules
print("compiled from the archive:", compilations.value)
"""


TARGETS = [
    pytest.param(("cpu", "'cpu'", ""), id="cpu"),
    pytest.param(
        ("apple7", "'metal:0'", MAC),
        id="metal-shim",
        marks=[pytest.mark.slow, pytest.mark.skipif(shim.compiler() is None, reason="no C++ compiler is here")],
    ),
]


@pytest.mark.parametrize("small_archive", TARGETS, indirect=True)
def test_without_triton_everything_comes_from_the_archive(small_archive, tmp_path):
    file, device, before = small_archive
    done = run(file, tmp_path, before + PROGRAM.replace("DEVICE", device))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.partition(":")[2]) > 30


@pytest.mark.parametrize("call", ["x * x", "x[::2] + 1", "xp.sum(x, axis=0)", "xp.cumulative_sum(x, axis=0)"])
@pytest.mark.parametrize("small_archive", TARGETS[:1], indirect=True)
def test_what_the_archive_lacks_is_refused_with_a_message(small_archive, tmp_path, call):
    """This one has nothing for int16, not even copies."""
    program = f"""if True:
        import numpy as np, nbx_array as xp
        x = xp.asarray(np.ones((8, 3), np.int16), device='cpu')[:, ::2]
        xp.realize({call})
        """
    done = run(small_archive[0], tmp_path, program)
    assert done.returncode == 1
    assert "not in the kernel cache" in done.stderr and "nor in the archive" in done.stderr


#: Every function of the standard with each of its arguments, and every element-wise one, in every dtype.
TABLES = ("tests/test_standard.py", "tests/test_elementwise.py")


@pytest.mark.slow  # half an hour
@pytest.mark.parametrize(
    ("target", "device"),
    [
        ("cpu", "cpu"),
        pytest.param(
            *("apple7", "metal-shim"),
            marks=pytest.mark.skipif(shim.compiler() is None, reason="no C++ compiler is here"),
        ),
    ],
)
def test_the_tables_of_the_public_api_come_from_the_whole_archive(target, device, tmp_path):
    file = tmp_path / "kernels"
    assert command.main(["--target", target, "--output", str(file)]) == 0
    assert file.stat().st_size < 12 << 20  # of the 15 MB that a wheel may have
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--device", device, *TABLES],
        env=without_triton(file, tmp_path / "cache"), cwd=ROOT, text=True, capture_output=True,
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout[-9000:]


def without_triton(file: Path, cache: Path) -> dict[str, str]:
    """The environment of a process with triton blocked, an empty cache, and our kernels for what NumPy does else."""
    return os.environ | {
        "NBX_ARCHIVE": str(file),
        "NBX_CACHE_DIR": str(cache),
        "NBX_HOST_ROUTINES": "0",
        "PYTHONPATH": str(ROOT / ".ci/no-triton"),
    }


def run(file: Path, cache: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = without_triton(file, cache)
    program = program.replace("SEED", environment.get("NBX_TEST_SEED", "0"))
    return subprocess.run([sys.executable, "-P", "-c", program], env=environment, text=True, capture_output=True)


@pytest.fixture(scope="module")
def small_archive(request, tmp_path_factory) -> tuple[Path, str, str]:
    """An archive of what the program needs, of the families, functions and dtypes of the whole one; the device, and
    what comes before the program there."""
    target = parse_target(request.param[0])
    wanted = []
    for family in command.FAMILIES:
        for spec in command.specs(target, [family]):
            if worth(family, spec):
                wanted.append(spec)
    file = tmp_path_factory.mktemp("archive") / "kernels"
    made = [command.text_of(spec) for spec in wanted]
    assert not [result for result in made if isinstance(result, str)]
    assert archive.write(file, made, compiler.triton_version()) == len({key for key, _ in made})
    return file, *request.param[1:]


FAMILY_TYPES = {
    "casts": "*fp32 *i64 *i32 *i1 *u64",
    "reductions": "*fp32 *i64 *i32",
    "scan": "*fp32 *i64 *i32",
    "copies": "*fp32 *i64 *i1",
    "matmul": "*fp32",
    "creation": "*fp32 *i64 *i32 *i1",
    "sort": "*i32 *i64",
    "indexing": "*i32 *i64 *i8",
    "linalg": "*fp32 *i64",
    "fft": "*fp32",
}
FUNCTIONS = re.compile(
    r"\.(add|subtract|multiply|divide|negative|exp|greater|less|less_equal|abs|floor|log2|pow|maximum|minimum|bitwise_and)\("
)


def worth(family: str, spec: recording.Spec) -> bool:
    """Whether the program may need a kernel: it does without most dtypes and functions."""
    pointers = {kind for _, kind in spec.signature if kind.startswith("*")}
    if not pointers <= set(FAMILY_TYPES.get(family, "*fp32 *i64 *i32 *i1 *u64").split()):
        return False
    text, constants = spec.source.text or "", dict(spec.constants)
    if family in ("pointwise", "scalars"):
        return FUNCTIONS.search(text) is not None
    if family == "reductions":
        return not re.search(r"reduction\.(multiply|squares|root|less|rank|quotient)\(", text)
    if family == "sort":
        return spec.source.name != "move" and constants.get("INFINITY", 0x7F800000) == 0x7F800000
    if family == "linalg":
        return not constants.get("COMPLEX") and not re.search("jacobi|small|qr", spec.source.name)
    if family == "fft":
        return constants.get("R", 4) in (3, 4) and constants.get("KIND") != "half"
    return True


# ------------------------------------------------------------------------------------------------- the file


def test_texts_come_back_by_their_keys(tmp_path):
    texts = {bytes([k]) * 32: f"kernel {k} " * (k * 200) for k in range(1, 60)}
    file = tmp_path / "archive"
    assert archive.write(file, texts.items(), "3.9.0") == 59
    read = archive.Archive(file)
    assert len(read) == 59 and read.triton == "3.9.0"
    assert all(read.text(key) == text for key, text in texts.items())
    assert read.text(bytes(32)) is None
    assert file.stat().st_size < sum(map(len, texts.values())) / 100


@pytest.mark.parametrize("place", [0, 25, 90, 200, -1])
def test_a_damaged_archive_is_refused(tmp_path, place):
    file = tmp_path / "archive"
    archive.write(file, [(bytes(32), "text")], "3.9.0")
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(archive.ArchiveError, match="archive"):
        archive.Archive(file)


def test_every_family_is_in_the_archive():
    """What strided expressions take is made from them; their copies to packed arrays are the family `copies`."""
    assert set(registry.FAMILIES) - {"strided"} <= set(command.FAMILIES)


def entries() -> set[tuple[str, str]]:
    """The kernels that `kernels/source` defines, by module and name: functions that return nothing and that no other
    calls. The rest of what is launched is generated."""
    found, named = set(), set()
    for path in sorted((ROOT / "kernels/source").glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                inside = list(ast.walk(node))
                named |= {part.id for part in inside if isinstance(part, ast.Name)}
                named |= {part.attr for part in inside if isinstance(part, ast.Attribute)}
                if not any(isinstance(part, ast.Return) and part.value for part in inside):
                    found.add((path.stem, node.name))
    return {(module, name) for module, name in found if name not in named}


@pytest.mark.parametrize("target", ["cpu", "apple7", "sm_90"])
def test_every_kernel_of_the_source_is_listed(target):
    """What is compiled ahead has each at least once, and so has the archive for the targets that it is for."""
    parsed, wanted = parse_target(target), entries()
    if parsed.backend not in fft.LARGE:
        wanted.remove(("fft_double", "double_butterflies"))
    assert len(wanted) > 30
    listed = [[s for family in registry.FAMILIES for s in registry.specs(family, parsed)]]
    listed += [command.specs(parsed, command.FAMILIES)] if target in command.TARGETS else []
    for specs in listed:
        held = {(spec.source.module.rpartition(".")[2], spec.source.name) for spec in specs if spec.source.module}
        assert not wanted - held


def test_a_kernel_has_one_text_for_all_targets():
    kernels = [{(s.source, s.signature, s.constants) for s in command.specs(parse_target(t), ["matmul", "indexing"])}
               for t in command.TARGETS]  # fmt: skip
    assert kernels[0] & kernels[1]


@pytest.mark.parametrize("family", command.FAMILIES)
def test_metal_has_no_kernel_with_float64(family):
    for spec in command.specs(parse_target("apple7"), [family]):
        assert not [name for name, kind in spec.signature if "64" in kind and "fp" in kind], spec
