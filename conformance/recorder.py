"""A pytest plugin: put the library on the device of ``--array-device``, write down what came of every test.

With ``--record FOLDER`` each process that runs tests writes FOLDER/<worker>.jsonl: one line when a test starts and one
when it has ended, so that a test whose process died is known, too. `results.read` reads them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import nbx_array


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nbx_array.conformance")
    group.addoption("--array-device", help="the device that arrays are made on (default: the library's own)")
    group.addoption("--record", metavar="FOLDER", help="write the outcome of every test to a file in this folder")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest.py, which may make arrays."""
    device = early_config.known_args_namespace.array_device
    if device is not None:
        nbx_array.set_device(device)


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("record")
    worker = getattr(config, "workerinput", {}).get("workerid")
    distributes = worker is None and bool(getattr(config.option, "numprocesses", None))
    if folder and not distributes:  # the tests run in pytest-xdist's workers, or else here
        config.pluginmanager.register(Recorder(Path(folder, f"{worker or 'main'}.jsonl")))


class Recorder:
    """Writes a line when a test starts and one with its outcome, duration and reason when it has ended."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8")
        self.running: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running[nodeid] = {"outcome": "passed", "seconds": 0.0}
        self._write({"start": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.running[report.nodeid]
        test["seconds"] += report.duration
        outcome, why = outcome_of(report)
        if outcome != "passed" and test["outcome"] not in ("failed", "error"):
            test |= {"outcome": outcome, "why": why}
        if report.when == "teardown":
            self._write({"id": report.nodeid, **self.running.pop(report.nodeid)})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write({"id": report.nodeid, "outcome": "error", "seconds": 0.0, "why": reason(report)})

    def pytest_unconfigure(self) -> None:
        self.file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def outcome_of(report: pytest.TestReport) -> tuple[str, str]:
    """One of `results.OUTCOMES` for one phase of a test, and why; a failure outside the test itself is an error."""
    expected_failure = getattr(report, "wasxfail", None)
    if expected_failure is not None:
        return "xfailed" if report.skipped else "xpassed", expected_failure
    if report.failed:
        return "failed" if report.when == "call" else "error", reason(report)
    if report.skipped:
        return "skipped", str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return "passed", ""


def reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The first lines of an error's message and its place, without what changes from run to run or between machines."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)[-400:]
    text = re.sub(r"0x[0-9a-f]{4,}", "0x…", text)
    lines = " | ".join(line.strip() for line in text.strip().splitlines()[:4])[:300]
    return f"{lines} @ {'/'.join(Path(crash.path).parts[-2:])}:{crash.lineno}" if crash else lines
