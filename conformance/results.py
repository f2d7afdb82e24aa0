"""What came of a run: read from the reports of its processes, kept as JSON, shown as a table and by message."""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
FAILED = ("failed", "error")


class Case(NamedTuple):
    """One test: its pytest id, one of OUTCOMES, how long it took, and why it did not pass."""

    id: str
    outcome: str
    seconds: float
    why: str = ""


def read(folder: Path) -> list[Case]:
    """The tests that the processes of a run wrote down (`recorder`), by id; a test that did not end is an error."""
    tests: dict[str, Case] = {}
    for path in sorted(folder.glob("*.jsonl")):
        started: set[str] = set()
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if "start" in line:
                started.add(line["start"])
            else:
                started.discard(line["id"])
                tests[line["id"]] = Case(**line)
        tests |= {name: Case(name, "error", 0.0, "the process ended in this test") for name in started}
    return sorted(tests.values())


def part(name: str) -> str:
    """The part of a suite that a test belongs to: the folder below a package's, or a file of a flat suite."""
    folders = name.split("::")[0].removeprefix("../").split("/")
    return folders[1] if len(folders) > 1 else folders[0]


def counts(tests: Iterable[Case]) -> dict[str, int]:
    """How many tests had each outcome."""
    found = collections.Counter(test.outcome for test in tests)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def summary(tests: list[Case]) -> dict[str, Any]:
    """The part of a result that the tests make: their counts, in all and by part, and what failed."""
    parts = collections.defaultdict(list)
    for test in tests:
        parts[part(test.id)].append(test)
    return {
        "counts": counts(tests),
        "parts": {name: counts(members) for name, members in sorted(parts.items())},
        "test_seconds": round(sum(test.seconds for test in tests), 1),
        "failures": [{"id": t.id, "outcome": t.outcome, "why": t.why} for t in tests if t.outcome in FAILED],
    }


def by_message(tests: Iterable[Case], outcomes: Iterable[str] = FAILED) -> list[tuple[str, list[Case]]]:
    """Tests of these outcomes in groups of one message, numbers and arrays aside; the largest group first."""
    groups = collections.defaultdict(list)
    for test in tests:
        if test.outcome in outcomes:
            message = re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "N", re.sub(r"Array\(.*|\[.*", "…", test.why.split(" @ ")[0]))
            groups[message[:160]].append(test)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def report(tests: list[Case]) -> str:
    """Counts by part, and failures by message with one test of each."""
    result = summary(tests)
    width = max(map(len, [*result["parts"], "total"]))
    rows = [(name, *found.values()) for name, found in [*result["parts"].items(), ("total", result["counts"])]]
    lines = [" " * width + "".join(f"{outcome:>9}" for outcome in OUTCOMES)]
    lines += [f"{name:{width}}" + "".join(f"{number:>9}" for number in numbers) for name, *numbers in rows]
    for message, members in by_message(tests):
        lines += [f"{len(members):>6}  {message}", f"        {members[0].id}  @ {members[0].why.rpartition(' @ ')[2]}"]
    return "\n".join(lines)


def write(folder: Path, name: str, result: dict[str, Any]) -> Path:
    """Keep a result as FOLDER/NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def table(folder: Path) -> str:
    """The README's table: a row for each result in the folder."""
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    kept.sort(key=lambda result: (result["suite"], result["device"], list(result["settings"].items())))
    header = ["suite", "run with", "on", "passed", "failed", "skipped", "xfailed"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *map(_cells, kept)))


def _cells(result: dict[str, Any]) -> list[str]:
    settings = result["settings"].items()
    number = result["counts"]
    return [
        f"{result['suite']} {result['version']}",
        ", ".join(f"{value} {name}" if name == "examples" else f"`{name}={value}`" for name, value in settings) or "–",
        f"{result['device']}: {result['machine']}, {result['date']}",
        f"{number['passed'] + number['xpassed']:,}",
        f"{number['failed'] + number['error']:,}",
        f"{number['skipped']:,}",
        f"{number['xfailed']:,}",
    ]
