"""The suites: how each is started under pytest, and the result that a run leaves."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from nbx_array.conformance import results

import nbx_array

VARIABLES = ("NBX_FUSE", "NBX_HOST_ROUTINES", "NBX_NUM_THREADS")
"""Environment variables that change what is tested, so that a result names them."""

PEERS = {
    "scipy": r"\bxp\b",
    "sklearn": r"yield_namespace|yield_mixed_namespace|array_api_for_tests",
}
"""The packages that ship array-API tests, and what the files that hold them speak of."""

_DISTRIBUTIONS = ("numpy", "llvmlite", "triton", "ml_dtypes", "pytest", "hypothesis", "scipy", "scikit-learn")


class Run(NamedTuple):
    """One run of a suite."""

    suite: str
    version: str
    device: str
    settings: dict[str, Any]  # what tells this run from others of the suite, in its name and in the table
    options: str  # of our command, for the result
    arguments: list[str]  # of pytest
    environment: dict[str, str]
    root: Path  # where pytest runs; the ids of tests begin there
    command: str = ""  # what has started it, where that was not our command


def array_api_tests(suite: Path, examples: Iterable[int], device: str | None, seed: int | None) -> list[Run]:
    """Runs of a checkout of data-apis/array-api-tests, one for each number of examples; on the CPU one more, without
    NumPy's routines.

    Nothing is expected to fail and nothing is skipped: the lists that the suite reads such tests from are empty.
    float64 is left out on a device that has none. Raises FileNotFoundError where there is no checkout or no submodule.
    """
    suite = suite.resolve()
    for needed in (suite / "array_api_tests", suite / "array-api" / "src"):
        if not needed.is_dir():
            raise FileNotFoundError(f"array-api-tests: {needed} is not there; --suite is a clone with its submodules")
    chosen = _device(device)
    seed = secrets.randbits(32) if seed is None else seed
    environment = {"ARRAY_API_TESTS_MODULE": "nbx_array"}
    if "float64" not in nbx_array.__array_namespace_info__().dtypes(device=chosen):
        environment["ARRAY_API_TESTS_SKIP_DTYPES"] = "float64,complex128"
    variants: list[dict[str, str]] = [{}]
    if chosen == "cpu" and "NBX_HOST_ROUTINES" not in os.environ:
        variants.append({"NBX_HOST_ROUTINES": "0"})
    return [
        Run(
            suite="array-api-tests",
            version=f"{_commit(suite)} (array-api {_commit(suite / 'array-api')})",
            device=chosen,
            settings={"examples": number} | _variables() | variant,
            options=f"--suite PATH --examples {number} --seed {seed}",
            arguments=[
                *("-p", "nbx_array.conformance.array_api_plugin", "-c", "pytest.ini", "array_api_tests"),
                *("--disable-deadline", "--max-examples", str(number), "--hypothesis-seed", str(seed)),
                *("--xfails-file", os.devnull, "--skips-file", os.devnull),
            ],
            environment=environment | variant,
            root=suite,
        )
        for number in examples
        for variant in variants
    ]


def peer(package: str, parts: Sequence[str], device: str | None, like: str | None) -> Run:
    """The run of an installed package's own array-API tests, of some of its subpackages or of all.

    Raises ModuleNotFoundError without the package, ValueError for a part that has no such tests.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed", name=package)
    home = Path(spec.origin).parent
    found = [path.relative_to(home.parent) for path in sorted(home.rglob("test_*.py")) if _speaks(path, PEERS[package])]
    if package == "sklearn":
        found.append(Path("sklearn", "tests", "test_common.py"))  # every estimator's, by parameters alone
    files = [str(path) for path in found if not parts or path.parts[1] in parts]
    absent = set(parts) - {path.parts[1] for path in found}
    if absent:
        raise ValueError(f"{package}: no array-API tests in {', '.join(sorted(absent))}")
    return Run(
        suite=package,
        version=importlib.metadata.version("scikit-learn" if package == "sklearn" else package),
        device=_device(device),
        settings=({"parts": " ".join(parts)} if parts else {}) | ({"like": like} if like else {}) | _variables(),
        options=" ".join([*(["--like", like] if like else []), *parts]),
        arguments=[
            *("-p", f"nbx_array.conformance.{package}_plugin", "--continue-on-collection-errors"),
            *(["-m", "array_api_backends"] if package == "scipy" else []),
            *(["--like", like] if like else []),
            *files,
        ],
        environment={"SCIPY_ARRAY_API": "1"},
        root=home.parent,
    )


def execute(run: Run, workers: int, output: Path, reports: Path | None = None) -> int:
    """Run a suite in so many processes, print a report, keep the result. 0 if nothing failed, 1, or pytest's status."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "pytest.ini").write_text("[pytest]\n")  # a peer's wheel has none, and no other may be found
        kept = scratch / "reports" if reports is None else reports.resolve() / _name(run)
        kept.mkdir(parents=True, exist_ok=True)
        for path in kept.glob("*.jsonl"):
            path.unlink()
        config = [] if "-c" in run.arguments else ["-c", str(scratch / "pytest.ini")]
        command = [
            *(
                sys.executable,
                "-m",
                "pytest",
                *config,
                f"--rootdir={run.root}",
                "-q",
                "--tb=no",
                "-rN",
                "--disable-warnings",
            ),
            *("-p", "no:cacheprovider", "-n", str(workers), "--dist", "worksteal", "--array-device", run.device),
            *("-p", "nbx_array.conformance.recorder", "--record", str(kept), *run.arguments),
        ]
        environment = os.environ | run.environment | {"HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis")}
        began = time.monotonic()
        print(f"{run.suite} {run.version}: {run.device} {run.settings}", flush=True)
        status = subprocess.run(command, cwd=run.root, env=environment).returncode
        seconds = time.monotonic() - began
        tests = results.read(kept)
    if status not in (0, 1) or not tests:
        print(f"{run.suite}: pytest ended with status {status}; no result is kept", file=sys.stderr)
        return status or 1
    print(results.report(tests))
    path = results.write(output, _name(run), _head(run, workers, seconds) | results.summary(tests))
    print(f"kept in {path}\n", flush=True)
    return 1 if any(test.outcome in results.FAILED for test in tests) else 0


def _head(run: Run, workers: int, seconds: float) -> dict[str, Any]:
    """The part of a result that says what was run, when and on what."""
    variables = " ".join(f"{name}={value}" for name, value in run.settings.items() if name in VARIABLES)
    command = f"{variables} python -m nbx_array.conformance {run.suite} --device {run.device} --workers {workers}"
    return {
        "suite": run.suite,
        "version": run.version,
        "device": run.device,
        "settings": run.settings,
        "command": run.command or f"{command} {run.options}".strip(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(run.device),
        "versions": {"nbx_array": _ours(), "python": platform.python_version(), **_installed()},
        "seconds": round(seconds, 1),
    }


def machine(device: str) -> str:
    """What a device is, in words: the processor and its cores, or the GPU that NVIDIA's tool names."""
    if device == "cpu":
        models = re.findall(r"^model name\s*: (.*)$", _text(Path("/proc/cpuinfo")), re.MULTILINE)
        name = models[0] if models else platform.processor() or platform.machine()
        return f"{name}, {os.cpu_count()} cores, {platform.system()}"
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", device.rpartition(":")[2]]
    return _output(*query) or device


def _device(device: str | None) -> str:
    """The name of a device of ours, of the default one for None. Raises ValueError for one that is not there."""
    return str(nbx_array.empty(0, device=device).device)


def _variables() -> dict[str, str]:
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def _name(run: Run) -> str:
    """The name of a run's result."""
    settings = [str(value) if name == "examples" else f"{name}={value}" for name, value in run.settings.items()]
    return "-".join([run.suite, run.device, *settings]).replace(":", "").replace(" ", "+")


def _ours() -> str:
    """Our version, in a clone with the last commit that changed the library and a + for what is not committed."""
    root = Path(nbx_array.__file__).parents[1]
    floors = ("nbx_array", "kernels", "memory", "backend")
    commit = _output("git", "-C", str(root), "log", "-1", "--format=%h", "--", *floors)
    changed = _output("git", "-C", str(root), "status", "--porcelain", "--", *floors)
    return f"{nbx_array.__version__} ({commit}{'+' if changed else ''})" if commit else nbx_array.__version__


def _commit(folder: Path) -> str:
    return _output("git", "-C", str(folder), "rev-parse", "--short=7", "HEAD") or "of unknown commit"


def _installed() -> dict[str, str]:
    versions = {}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "absent"
    return versions


def _speaks(path: Path, pattern: str) -> bool:
    return re.search(pattern, _text(path)) is not None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _output(*command: str) -> str:
    """What a program prints; nothing where it is absent or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
