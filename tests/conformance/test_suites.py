"""Suites run on the library: a small one in the form of data-apis/array-api-tests, and a part of each peer's own."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest
from nbx_array.conformance import __main__ as command
from nbx_array.conformance import suites

CONFTEST = """
    import os
    import pytest

    def pytest_addoption(parser):
        parser.addoption("--disable-deadline", action="store_true")
        parser.addoption("--max-examples", type=int)
        parser.addoption("--xfails-file")
        parser.addoption("--skips-file")

    def pytest_collection_modifyitems(config, items):
        assert open(config.getoption("--xfails-file")).read() == open(config.getoption("--skips-file")).read() == ""
        for item in items:
            if item.name == "test_of_an_extension":
                item.add_marker(pytest.mark.skip(reason="not in this library"))
"""
SUITE = """
    import importlib, os
    import pytest

    xp = importlib.import_module(os.environ["ARRAY_API_TESTS_MODULE"])

    @pytest.mark.skip(reason="flaky")
    @pytest.mark.parametrize("n", [1, 2])
    def test_remainder(n):
        assert int(xp.asarray(7) % n) == 7 % n

    @pytest.mark.parametrize("n", [pytest.param(0, marks=pytest.mark.skip(reason="absent")), 1])
    def test_some(n):
        assert n

    def test_of_an_extension():
        assert False

    def test_options(pytestconfig):
        assert pytestconfig.getoption("--max-examples") == 7 and pytestconfig.getoption("--disable-deadline")
        assert os.environ.get("NBX_HOST_ROUTINES", "1") == "1", "host routines"
        assert "ARRAY_API_TESTS_SKIP_DTYPES" not in os.environ

    def test_wrong():
        assert int(xp.sum(xp.ones(3))) == 4, "three ones"

    def test_death():
        os._exit(7)

    @pytest.mark.xfail
    def test_expected():
        assert False

    @pytest.fixture
    def broken():
        yield
        raise RuntimeError("in teardown")

    def test_teardown(broken):
        pass
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    """A checkout of a small suite, which is no git repository."""
    root = tmp_path_factory.mktemp("suite")
    (root / "array-api" / "src").mkdir(parents=True)
    (root / "array_api_tests").mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "conftest.py").write_text(textwrap.dedent(CONFTEST))
    (root / "array_api_tests" / "test_all.py").write_text(textwrap.dedent(SUITE))
    return root


def listing(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_suite(suite, tmp_path):
    """Both runs of a suite: every outcome is told, what it always skips is run, and no file of it is changed."""
    before = listing(suite)
    arguments = ["--suite", str(suite), "--examples", "7", "--seed", "5", "--workers", "2", "--device", "cpu"]
    assert command.main(["array-api-tests", *arguments, "--output", str(tmp_path), "--reports", str(tmp_path)]) == 1
    assert listing(suite) == before
    kept = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert set(kept) == {"array-api-tests-cpu-7", "array-api-tests-cpu-7-NBX_HOST_ROUTINES=0"}
    assert len(list((tmp_path / "array-api-tests-cpu-7").glob("gw*.jsonl"))) >= 2
    for name, result in kept.items():
        by_host = "NBX_HOST_ROUTINES" in name
        why = {failure["id"].split("::")[1]: failure["why"] for failure in result["failures"]}
        assert set(why) == {"test_wrong", "test_death", "test_teardown"} | ({"test_options"} if by_host else set())
        assert "three ones" in why["test_wrong"] and "array_api_tests/test_all.py:" in why["test_wrong"]
        assert "in teardown" in why["test_teardown"] and "process ended" in why["test_death"]
        assert result["counts"] == {
            **{"passed": 4 - by_host, "failed": 1 + by_host, "error": 2, "skipped": 2, "xfailed": 1, "xpassed": 0}
        }
        assert result["settings"] == {"examples": 7} | ({"NBX_HOST_ROUTINES": "0"} if by_host else {})
        assert "--suite PATH --examples 7 --seed 5" in result["command"] and str(suite) not in json.dumps(result)
        assert set(result["versions"]) >= {"nbx_array", "python", "numpy", "triton"}


def test_a_suite_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="array_api_tests is not there"):
        suites.array_api_tests(tmp_path, [20], "cpu", None)


def test_a_suite_that_cannot_start_leaves_no_result(suite, tmp_path, capfd):
    broken = tmp_path / "broken"
    (broken / "array-api" / "src").mkdir(parents=True)
    (broken / "array_api_tests").mkdir()
    (broken / "conftest.py").write_text("raise ImportError('no such library')")
    (broken / "pytest.ini").write_text("[pytest]\n")
    run = suites.array_api_tests(broken, [20], "cpu", 1)[0]
    assert suites.execute(run, 1, tmp_path / "results") not in (0, 1)
    assert not (tmp_path / "results").exists()
    assert "no result is kept" in capfd.readouterr().err


def test_float64_is_left_out_where_a_device_has_none(suite, monkeypatch):
    info = suites.nbx_array.__array_namespace_info__()
    present = {name: dtype for name, dtype in info.dtypes().items() if name not in ("float64", "complex128")}
    monkeypatch.setattr(type(info), "dtypes", lambda self, *, device=None, kind=None: present)
    for run in suites.array_api_tests(suite, [20, 200], "cpu", 1):
        assert run.environment["ARRAY_API_TESTS_SKIP_DTYPES"] == "float64,complex128"


def test_settings_of_the_environment_are_told(suite, monkeypatch):
    monkeypatch.setenv("NBX_HOST_ROUTINES", "0")
    monkeypatch.setenv("NBX_FUSE", "0")
    (run,) = suites.array_api_tests(suite, [20], "cpu", 1)
    assert run.settings == {"examples": 20, "NBX_FUSE": "0", "NBX_HOST_ROUTINES": "0"}


@pytest.mark.parametrize(("package", "part", "least"), [("scipy", "constants", 3), ("sklearn", "_loss", 60)])
def test_a_part_of_a_peer(package, part, least, tmp_path):
    """The peers' tests run on our arrays, and none else is counted."""
    arguments = [package, part, "--workers", "1", "--device", "cpu", "--output", str(tmp_path)]
    status = command.main(arguments)
    (path,) = tmp_path.glob("*.json")
    result = json.loads(path.read_text())
    assert status == 0, result["failures"]
    assert result["counts"]["passed"] >= least
    assert set(result["parts"]) == {part} and result["settings"] == {"parts": part}


def test_unknown_parts_are_refused():
    with pytest.raises(ValueError, match="no array-API tests in dance"):
        suites.peer("scipy", ["constants", "dance"], "cpu", None)


def test_machine_names_the_processor():
    assert f"{os.cpu_count()} cores" in suites.machine("cpu")
