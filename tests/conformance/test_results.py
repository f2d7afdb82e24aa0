"""What is made of a run: counts, groups of failures, the table; and that the README shows what was run."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nbx_array.conformance import __main__ as command
from nbx_array.conformance import results
from nbx_array.conformance.results import Case

ROOT = Path(__file__).parents[2]
TESTS = [
    Case("peer/fft/tests/test_a.py::test_one[0]", "passed", 0.25),
    Case("peer/fft/tests/test_a.py::test_one[1]", "skipped", 0.0, "no reason"),
    Case("peer/fft/tests/test_a.py::test_two", "failed", 1.5, "ValueError: 3 is not 4 @ fft/a.py:9"),
    Case("peer/stats/test_b.py::test_one", "failed", 0.5, "ValueError: 12 is not 1e-3 @ stats/b.py:7"),
    Case("peer/stats/test_b.py::test_two", "error", 0.5, "TypeError: Array([1, 2]) @ stats/b.py:8"),
    Case("peer/stats/test_b.py::test_three", "xfailed", 0.5, "known"),
]


def lines(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_reports_of_all_processes_are_read(tmp_path):
    passed = {"id": "a::b", "outcome": "passed", "seconds": 1.0}
    failed = {"id": "a::a", "outcome": "failed", "seconds": 2.0, "why": "no"}
    (tmp_path / "gw0.jsonl").write_text(lines({"start": "a::b"}, passed, {"start": "a::c"}))
    (tmp_path / "gw1.jsonl").write_text(lines({"start": "a::a"}, failed))
    (tmp_path / "notes.txt").write_text("not a report")
    died = Case("a::c", "error", 0.0, "the process ended in this test")
    assert results.read(tmp_path) == [Case("a::a", "failed", 2.0, "no"), Case("a::b", "passed", 1.0), died]


def test_a_file_that_no_process_can_import_counts_once(tmp_path):
    line = lines({"id": "a/b.py", "outcome": "error", "seconds": 0.0, "why": "ImportError"})
    for worker in ("gw0", "gw1"):
        (tmp_path / f"{worker}.jsonl").write_text(line)
    assert results.counts(results.read(tmp_path))["error"] == 1


def test_summary_counts_in_all_and_by_part():
    summary = results.summary(TESTS)
    assert summary["counts"] == {"passed": 1, "failed": 2, "error": 1, "skipped": 1, "xfailed": 1, "xpassed": 0}
    assert {name: sum(part.values()) for name, part in summary["parts"].items()} == {"fft": 3, "stats": 3}
    assert summary["test_seconds"] == 3.2  # of 3.25, to the even tenth
    assert [failure["id"] for failure in summary["failures"]] == [TESTS[k].id for k in (2, 3, 4)]


def test_parts_of_a_flat_suite_are_its_files():
    assert results.part("array_api_tests/test_fft.py::test_fft[x/y]") == "test_fft.py"
    assert results.part("test_fft.py::test_fft") == "test_fft.py"


def test_failures_are_grouped_by_message():
    groups = results.by_message(TESTS)
    assert [(message, len(members)) for message, members in groups] == [
        ("ValueError: N is not N", 2),
        ("TypeError: …", 1),
    ]
    assert [message for message, _ in results.by_message(TESTS, ["skipped"])] == ["no reason"]
    report = results.report(TESTS)
    assert "2  ValueError: N is not N" in report and "fft/a.py:9" in report
    assert report.splitlines()[3].split() == ["total", "1", "2", "1", "1", "1", "0"]


def result(**changes) -> dict:
    head = {"suite": "peer", "version": "1.2", "device": "cpu", "machine": "chip, 2 cores", "date": "2026-01-02"}
    return head | {"settings": {}} | results.summary(TESTS) | changes


def test_table_has_a_row_for_each_result(tmp_path, capsys):
    many = dict.fromkeys(results.OUTCOMES, 0) | {"passed": 12345}
    results.write(tmp_path / "new", "b", result())
    results.write(tmp_path / "new", "a", result(settings={"examples": 200, "NBX_FUSE": "0"}, counts=many))
    results.write(tmp_path / "new", "c", result(settings={"examples": 20}, counts=many))
    assert command.main(["table", str(tmp_path / "new")]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [
        "| peer 1.2 | – | cpu: chip, 2 cores, 2026-01-02 | 1 | 3 | 1 | 1 |",
        "| peer 1.2 | 20 examples | cpu: chip, 2 cores, 2026-01-02 | 12,345 | 0 | 0 | 0 |",
        "| peer 1.2 | 200 examples, `NBX_FUSE=0` | cpu: chip, 2 cores, 2026-01-02 | 12,345 | 0 | 0 | 0 |",
    ]


def test_readme_has_the_table_of_the_results():
    assert command.RESULTS == ROOT / "conformance" / "results"
    assert results.table(command.RESULTS) in (ROOT / "README.md").read_text()


def test_results_are_whole():
    """Counts agree with the tests listed, and no result tells of the place where it was made."""
    for path in command.RESULTS.glob("*.json"):
        text = path.read_text()
        kept = json.loads(text)
        failed = [sum(counts[name] for name in results.FAILED) for counts in (kept["counts"], *kept["parts"].values())]
        assert failed[0] == sum(failed[1:]) == len(kept["failures"]), path.name
        assert "+)" not in kept["versions"]["nbx_array"], f"{path.name}: of sources that were not committed"
        assert not re.search(r"""(^|[\s"'=(])/\w+/""", text), f"{path.name}: an absolute path"


def test_a_table_of_nothing(tmp_path, capsys):
    assert command.main(["table", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert not printed.out and "no results in" in printed.err and "pip install -e ." in printed.err
