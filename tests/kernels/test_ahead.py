"""Compiling ahead: every family for every target, lists of recorded kernels, caches that travel."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbx_array.backend import ahead, recording
from nbx_array.backend.ahead import parse_target
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device, Target, get_device
from nbx_array.backend.recording import Spec
from nbx_array.kernels import __main__ as command
from nbx_array.kernels import registry, rules

ROOT = Path(__file__).parents[2]


OTHER_TARGETS = ("gfx90a", "gfx1201", "sm_89", "sm_100", "sm_120")


def run(*arguments: object, **environment: object) -> subprocess.CompletedProcess[str]:
    env = os.environ | {key: str(value) for key, value in environment.items()}
    return subprocess.run([sys.executable, "-P", *map(str, arguments)], env=env, text=True, capture_output=True)


def compile_ahead(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run("-m", "nbx_array.kernels", "compile", "--jobs", 2, *arguments)


TARGETS = ("sm_80", "sm_90", "gfx942", "gfx1100")


@pytest.mark.parametrize("text", TARGETS)
@pytest.mark.parametrize("family", [family for family in registry.FAMILIES if family != "special"])
def test_every_function_compiles_for_every_target(family, text):
    """Each function for the first of its dtypes on a vendor's one target and for the last on its other; of families of
    30 functions and more, every second one on each (with scalars, which are the same functions, every fourth). The
    command compiles all of them."""
    target = parse_target(text)
    same: dict[str, list[Spec]] = {}
    for spec in registry.specs(family, target):
        same.setdefault(registry.describe(spec).partition(" (")[0], []).append(spec)
    last = TARGETS.index(text) % 2
    chosen = [specs[-last] for specs in same.values()]
    if len(chosen) >= 30:
        chosen = chosen[TARGETS.index(text) :: 4] if family == "scalars" else chosen[last::2]
    may = registry.may_spill(family, target)
    problems = {registry.describe(spec): ahead.compile_ahead(spec, target, may).problem for spec in chosen}
    assert not {name: problem for name, problem in problems.items() if problem}


def test_targets_of_one_backend_are_kept_apart():
    """What is remembered of one target's launches, such as a product's tile, is not taken for another's."""
    found = {}
    for text in ("gfx942", "gfx1100", "gfx942"):
        tiles = [(*spec.constants, *spec.options) for spec in registry.specs("matmul", parse_target(text))]
        assert found.setdefault(text, tiles) == tiles
    assert found["gfx942"] != found["gfx1100"]


@pytest.mark.parametrize("place", range(len(OTHER_TARGETS)))
def test_a_kernel_of_a_family_compiles_for_the_other_targets(place):
    """Every second family, another kernel for each target; `benchmarks/compiled.md` has what came of all of them."""
    target = parse_target(OTHER_TARGETS[place])
    problems = {}
    for family in list(registry.FAMILIES)[place % 2 :: 2]:
        specs = registry.specs(family, target)
        spec = specs[(2 * place + 1) * len(specs) // (2 * len(OTHER_TARGETS))]
        outcome = ahead.compile_ahead(spec, target, registry.may_spill(family, target))
        problems[registry.describe(spec)] = outcome.problem
    assert not {name: problem for name, problem in problems.items() if problem}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "place"), [("sm_90", 0), ("gfx942", 3)])
def test_special_functions_compile(text, place):
    """Long kernels that take seconds each: one of each module of source, the first or second function."""
    target = parse_target(text)
    modules: dict[str, list[Spec]] = {}
    for spec in registry.specs("special", target):
        modules.setdefault(registry.describe(spec).partition("special_")[2].partition(".")[0], []).append(spec)
    chosen = [specs[place % len(specs)] for specs in modules.values()]
    assert len(chosen) > 5
    problems = {registry.describe(spec): ahead.compile_ahead(spec, target).problem for spec in chosen}
    assert not {name: problem for name, problem in problems.items() if problem}


def test_every_module_that_launches_kernels_is_in_the_registry():
    launching = set()
    for path in (*(ROOT / "kernels").glob("*.py"), *(ROOT / "kernels/linalg").glob("*.py")):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        if names & {"get_launcher", "kernel_of"} and path.name != "launch.py":  # which launches what others name
            launching.add(".".join(("nbx_array", *path.relative_to(ROOT).with_suffix("").parts)))
    assert launching
    used = {value.__name__ for value in vars(registry).values() if type(value).__name__ == "module"}
    assert launching <= used, f"kernels.registry has no family for {launching - used}"


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_a_family_has_kernels_and_leaves_no_trace(family):
    made = registry.specs(family, Target("cuda", 90, 32))
    assert len(made) == len(set(made)) > 10
    assert registry.specs(family, Target("cuda", 90, 32)) == made
    assert not recording.watchers


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("sm_80", ("cuda", 80, 32)),
        ("sm_120", ("cuda", 120, 32)),
        ("gfx90a", ("hip", "gfx90a", 64)),
        ("gfx942", ("hip", "gfx942", 64)),
        ("gfx1100", ("hip", "gfx1100", 32)),
        ("apple7", ("metal", "apple7", 32)),
        ("cpu", ("cpu", "host", 1)),
    ],
)
def test_targets(text, target):
    assert parse_target(text) == target


@pytest.mark.parametrize("text", ["sm90", "sm_", "sm_99", "gfx", "gfx000", "cuda:90", ""])
def test_wrong_targets(text):
    with pytest.raises(ValueError, match="unknown target"):
        parse_target(text)
    done = compile_ahead("--target", text)
    assert done.returncode == 2 and "--target" in done.stderr and "unknown target" in done.stderr


def test_what_is_no_list(tmp_path):
    (tmp_path / "program.py").write_text("import numpy as np\n")
    done = compile_ahead("--target", "sm_90", "--list", tmp_path / "program.py")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "program.py, line 1: not a recorded kernel" in done.stderr


def test_targets_with_commas_and_a_report(tmp_path):
    report, path = tmp_path / "report.md", tmp_path / "list"
    bad = {**GOOD, "name": "bad", "text": GOOD["text"].replace("copy", "bad").replace("tl.load", "tl.lode")}
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(bad) + "\n")
    done = compile_ahead("--target", "gfx942,sm_90", "--target", "gfx1100", "--list", path, "--report", report)
    assert done.returncode == 1
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.read_text().splitlines() if "|" in line]
    assert ["family", "gfx942", "sm_90", "gfx1100"] in rows
    assert ["all", "1 of 2", "1 of 2", "1 of 2"] in rows
    assert ["gfx942", "1", "0", "0", "0"] in rows and ["gfx1100", "1", "0", "0", "0"] in rows
    assert report.read_text().count("\n- recorded bad") == 3


def test_a_run_that_is_ended_has_reported_what_it_did():
    specs = registry.specs("where", parse_target("sm_90"))[:3]
    tasks = [command.Task("where", spec, parse_target("sm_90")) for spec in specs]
    text = command._report(tasks, {tasks[0]: ahead.Outcome(), tasks[2]: ahead.Outcome("bad")})
    assert "| where | 1 of 3 |" in text and "ended after 2 of 3 kernels" in text and text.count(": bad") == 1


def test_all_is_every_target_once():
    targets = command._targets("all")
    assert len(set(targets)) == 9 and {target.backend for target in targets} == {"cuda", "hip"}
    assert {str(t) for t in (*TARGETS, *OTHER_TARGETS)} == set(command.EVERY)


@pytest.mark.parametrize("text", TARGETS)
def test_a_long_function_takes_short_blocks(text):
    """Its body is written once for each element of a thread: one form, and a quarter of the elements."""
    target = parse_target(text)
    for spec in registry.specs("special", target):
        long, limits = "special_beta." in spec.source.text, rules.rule_of(target)
        if long or "special_logarithms." in spec.source.text:
            calls = re.findall(r"special_\w+\.\w+\(", spec.source.text)
            assert len(calls) == (1 if long else 2), spec
            assert dict(spec.constants)["BLOCK"] == (limits.block // 4 if long else limits.block)
            assert dict(spec.options)["num_warps"] == limits.num_warps
            for other in map(parse_target, TARGETS):
                moved = registry.move(spec, target, other)
                assert moved in registry.specs("special", other)


def test_a_list_that_is_not_there(tmp_path):
    done = compile_ahead("--target", "cpu", "--list", tmp_path / "absent")
    assert done.returncode == 2 and "absent" in done.stderr and "Traceback" not in done.stderr


GOOD = {
    "name": "copy",
    "target": ["cpu", "host", 1],
    "module": None,
    "text": "import triton\nimport triton.language as tl\n\n@triton.jit\ndef copy(x, o, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n    tl.store(o + i, tl.load(x + i))\n",
    "signature": [["x", "*fp32"], ["o", "*fp32"]],
    "constants": [["BLOCK", 128]],
    "aligned": True,
    "options": [["num_warps", 1]],
}


def test_a_kernel_that_fails_is_named_and_the_others_are_compiled(tmp_path):
    bad = {
        **GOOD,
        "name": "broken",
        "text": GOOD["text"].replace("def copy", "def broken").replace("tl.load", "tl.lode"),
    }
    foreign = {"name": "mine", "target": ["cuda", 80, 32]}
    path = tmp_path / "list"
    path.write_text("".join(json.dumps(line) + "\n" for line in (GOOD, bad, foreign, GOOD)))
    done = compile_ahead("--target", "sm_80", "--target", "gfx942", "--list", path, "--output", tmp_path / "cache")
    assert done.returncode == 1
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failures) == 2 and all("broken" in line and "lode" in line for line in failures)
    assert "2 of 4 compiled" in done.stdout and "left out: mine" in done.stdout
    kinds = {json.loads(p.read_bytes().split(b"\n")[1])["kind"] for p in (tmp_path / "cache").iterdir()}
    assert kinds == {"cubin", "hsaco"}


def test_a_list_that_is_none(tmp_path):
    path = tmp_path / "list"
    path.write_text(json.dumps(GOOD) + "\nnonsense\n")
    with pytest.raises(ValueError, match="line 2: not a recorded kernel"):
        recording.read(str(path))
    path.write_text("")
    done = compile_ahead("--target", "sm_80", "--list", path)
    assert done.returncode == 1 and "nothing to compile" in done.stdout


def test_a_program_is_recorded_and_its_kernels_compiled_for_another_target(tmp_path):
    program = """if True:
        import nbx_array as xp
        x = xp.arange(10, dtype=xp.float32)
        print(float((xp.exp(x) * 2 + 1)[3]))
        """
    listed, cache = tmp_path / "list", tmp_path / "cache"
    done = run("-c", program, NBX_RECORD=listed, NBX_BACKEND="cpu", NBX_CACHE_DIR=tmp_path / "own", NBX_FUSE=1)
    assert done.returncode == 0, done.stderr
    found = recording.read(str(listed))
    assert {r.target for r in found} == {Target("cpu", "host", 1)}
    assert any("exponential.exp" in (r.spec.source.text or "") for r in found)
    done = compile_ahead("--target", "sm_90", "--list", listed, "--output", cache)
    assert done.returncode == 0, done.stdout
    # What was recorded for the CPU is compiled with the block and the warps of a GPU.
    specs = [registry.move(r.spec, r.target, Target("cuda", 90, 32)) for r in found]
    limits = rules.rule(Device("cuda"))
    assert any("BLOCK" in dict(spec.constants) for spec in specs)
    assert any("quick" in dict(r.spec.options) for r in found)  # an option of the CPU's that no GPU asks for
    assert not any("quick" in dict(spec.options) for spec in specs)
    for spec in specs:
        blocks, rest = divmod(dict(spec.constants).get("BLOCK", 0), limits.block)
        assert rest == 0
        assert dict(spec.options)["num_warps"] == (blocks * limits.num_warps or limits.tile_warps)


def test_a_recorded_kernel_is_read_back_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "list"
    monkeypatch.setenv("NBX_RECORD", str(path))
    constants = (("a", 1), ("b", 1.5), ("c", True), ("d", None), ("e", "text"), ("f", (1, (2, 3))), ("g", float("inf")))
    target = Target("cuda", 90, 32)
    specs = [
        Spec(Source.generated("text\n", "k"), (("x", "*fp32"),), constants, True, (("num_warps", 4),)),
        Spec(Source.of("nbx_array.kernels.source.creation", "spaced"), (), (), False, ()),
    ]
    for spec in specs:
        recording.announce(spec, get_device("cuda"), target)
        recording.announce(spec, get_device("cuda"), target)
    recording.announce(specs[0]._replace(constants=(("dtype", object()),)), get_device("cuda"), target)
    assert recording.read(str(path)) == [
        *(("k" if s.source.text else "spaced", target, s) for s in specs),
        ("k", target, None),
    ]


def test_a_carried_cache_needs_no_triton(tmp_path):
    """Kernels compiled ahead are found by the code that launches them, with triton out of reach."""
    done = compile_ahead("--target", "sm_90", "--family", "creation", "--output", tmp_path)
    assert done.returncode == 0, done.stdout
    program = """if True:
        import sys
        sys.modules["triton"] = None
        from nbx_array.backend import compiler
        from nbx_array.backend.ahead import parse_target
        from nbx_array.kernels import registry
        target = parse_target("sm_90")
        for spec in registry.specs("creation", target):
            kernel = compiler.compile_kernel(*spec[:3], target, *spec[3:])
            assert kernel.kind == "cubin" and kernel.artifact[:4] == bytes([127]) + b"ELF"
        assert compiler.compilations.value == 0
        print("loaded")
        """
    done = run("-c", program, NBX_CACHE_DIR=tmp_path)
    assert done.stdout == "loaded\n", done.stderr
