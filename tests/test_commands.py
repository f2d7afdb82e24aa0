"""The command line: what a user sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]


def run(*arguments, path=(), **environment) -> subprocess.CompletedProcess:
    """Run a command with the folders of ``path`` before all others that modules are looked for in."""
    folders = os.pathsep.join(map(str, [*path, *filter(None, [os.environ.get("PYTHONPATH")])]))
    environment = os.environ | environment | ({"PYTHONPATH": folders} if folders else {})
    command = [sys.executable, "-m", "nbx_array", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_doctor_reports_and_passes():
    done = run("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    for heading in ("Versions", "Backends", "Kernel cache", "Driver of cpu"):
        assert f"{heading}\n" in done.stdout
    assert "nbx-array" in done.stdout and "triton" in done.stdout


def test_doctor_fails_when_a_check_does(monkeypatch, capsys):
    from nbx_array import _doctor

    broken = [_doctor.verify.Check("copies", None), _doctor.verify.Check("grids", "row 3 holds 7")]
    monkeypatch.setattr(_doctor.verify, "verify_driver", lambda device: broken)
    assert _doctor.main() == 1
    printed = capsys.readouterr().out
    assert "1 of 2 passed" in printed and "row 3 holds 7" in printed


def test_doctor_without_a_device_or_with_settings_that_are_wrong():
    done = run("doctor", NBX_BACKEND="foo")
    assert done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1 and "'foo'" in done.stderr
    done = run("doctor", NBX_BACKEND="metal", NBX_CACHEDIR="x")
    assert done.returncode == 1 and "No device" in done.stdout
    assert "perhaps NBX_CACHE_DIR was meant" in done.stdout


def test_doctor_into_a_pipe_that_is_closed():
    command = [sys.executable, "-m", "nbx_array", "doctor"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_doctor_on_the_archive(tmp_path):
    """With the archive every check runs without triton; without one those that lack kernels are no failures."""
    file, bare = tmp_path / "kernels.archive", {"path": [ROOT / ".ci" / "no-triton"], "NBX_BACKEND": "cpu"}
    done = run("doctor", NBX_CACHE_DIR=str(tmp_path / "1"), NBX_ARCHIVE=str(file), **bare)
    assert done.returncode == 0 and "NBX_ARCHIVE names no file" in done.stdout and str(file) in done.stdout
    assert "neither cache nor archive" in done.stdout and "2 of 10 passed" in done.stdout
    make = [
        sys.executable,
        "-m",
        "nbx_array.kernels.archive",
        "--family",
        "checks",
        "--target",
        "cpu",
        "--output",
        file,
    ]
    subprocess.run(make, check=True, capture_output=True)
    done = run("doctor", NBX_CACHE_DIR=str(tmp_path / "2"), NBX_ARCHIVE=str(file), **bare)
    assert done.returncode == 0 and "2 kernels, made by triton" in done.stdout and "10 of 10 passed" in done.stdout


def test_version_is_that_of_the_package():
    import nbx_array

    assert run("--version").stdout == f"nbx-array {nbx_array.__version__}\n"


def test_python_at_the_root_of_the_sources_says_what_is_wrong(tmp_path):
    """The folder of the sources has no floor below; what Python says of it must help."""
    shutil.copytree(ROOT / "nbx_array", tmp_path / "nbx_array")
    command = [sys.executable, "-S", "-c", "import nbx_array"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "ImportError" in done.stderr and "pip install -e ." in done.stderr


def test_unknown_command_is_refused():
    done = run("dance")
    assert done.returncode == 2
    assert "dance" in done.stderr and "doctor" in done.stderr


def test_demo_agrees_with_numpy_and_needs_no_compiler_the_second_time(tmp_path):
    """The cache that a first run fills serves a second one, in which Triton and torch cannot be imported."""
    environment = {"NBX_CACHE_DIR": str(tmp_path), "COLUMNS": "120"}
    first = run("demo", **environment)
    assert first.returncode == 0, first.stdout + first.stderr
    for name in ("k-means", "logistic regression", "zscore", "pearsonr"):
        assert name in first.stdout
    second = run("demo", path=[ROOT / ".ci" / "no-torch", ROOT / ".ci" / "no-triton"], **environment)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "0 kernels compiled" in second.stdout


def test_demo_names_what_is_missing(tmp_path):
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError('No module named rich', name='rich')")
    done = run("demo", path=[tmp_path])
    assert done.returncode == 2
    assert "rich" in done.stderr and "pip install 'nbx-array[demo]'" in done.stderr


def test_demo_says_what_is_wrong_with_the_device():
    for backend in ("foo", "metal"):
        done = run("demo", NBX_BACKEND=backend)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and backend in done.stderr


def test_k_means_is_scikit_learns():
    from sklearn.cluster import KMeans

    from nbx_array import _demo

    x = _demo.steps()[0].data[0]
    starts = x[:: len(x) // 10][:10]
    expected = KMeans(10, init=starts, n_init=1, max_iter=20, tol=0).fit(x).cluster_centers_
    np.testing.assert_allclose(_demo.k_means(x, 10), expected, rtol=1e-12, atol=1e-12)


def test_logistic_regression_classifies():
    from nbx_array import _demo

    x, y = _demo.steps()[1].data
    weights = _demo.logistic_regression(x, y)
    assert np.mean((x @ weights[:-1] + weights[-1] > 0) == (y == 1)) > 0.98
