"""The command line: what a user sees."""

from __future__ import annotations

import subprocess
import sys


def run(*arguments, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "nbx_array", *arguments], capture_output=True, text=True, **kwargs)


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


def test_unknown_command_is_refused():
    done = run("dance")
    assert done.returncode == 2
    assert "dance" in done.stderr and "doctor" in done.stderr
