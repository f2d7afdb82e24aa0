"""Device facts: the files are well formed, every key has a reader, the driver's word wins."""

from __future__ import annotations

import re

import pytest
import yaml
from fake_cuda import FakeCuda, install
from nbx_array.backend import facts
from nbx_array.backend.contract import Target, get_device

FILES = sorted(facts.FOLDER.glob("*/*.yml"))
CAPABILITY_KEYS = {
    "threads_per_multiprocessor",
    "registers_per_multiprocessor",
    "shared_per_multiprocessor",
    "shared_per_block",
    "fp32_lanes",
    "fp32_to_fp64_ratio",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_say_what_is_read_and_where_it_is_from(path):
    text = path.read_text()
    content = yaml.safe_load(text)
    assert set(content) <= {"family", "capabilities", "bandwidth_gb_per_s"}
    for capability, row in content["capabilities"].items():
        assert isinstance(capability, int if path.parent.name == "nvidia" else str)
        assert set(row) == CAPABILITY_KEYS
        assert all(value is None or (isinstance(value, int) and value > 0) for value in row.values())
        if path.parent.name == "nvidia":
            assert row["shared_per_block"] == row["shared_per_multiprocessor"] - 1024  # CUDA keeps 1 KB a block
    assert all(value is None or value > 0 for value in content["bandwidth_gb_per_s"].values())
    assert text.startswith("# Sources:")
    assert re.search(r"https://\S+", text)


def test_every_key_is_read():
    source = facts.Path(facts.__file__).read_text()
    for key in CAPABILITY_KEYS | {"family", "capabilities", "bandwidth_gb_per_s"}:
        assert f'"{key}"' in source, key


@pytest.mark.parametrize(
    ("arch", "family"),
    [(80, "Ampere"), (86, "Ampere"), (89, "Ada Lovelace"), (90, "Hopper"), (100, "Blackwell"), (120, "Blackwell")],
)
def test_targets_have_a_family(arch, family):
    known = facts.of_target(Target("cuda", arch, 32))
    assert known.family == family
    assert known.threads_per_multiprocessor in (1536, 2048)
    assert known.name is None and known.bandwidth is None


@pytest.mark.parametrize("target", [Target("cuda", 75, 32), Target("hip", "gfx942", 64), Target("cpu", "host", 1)])
def test_what_is_not_known_is_none(target):
    known = facts.of_target(target)
    assert known.family is None and known.shared_per_block is None


def test_the_driver_s_word_wins(monkeypatch):
    facts.of_device.cache_clear()
    install(
        monkeypatch,
        FakeCuda(threads_per_multiprocessor=1000, fp32_to_fp64_ratio=3, memory_clock_khz=1000, memory_bus_bits=8),
    )
    known = facts.of_device(get_device("cuda:0"))
    assert (known.family, known.name, known.multiprocessors) == ("Hopper", "Imaginary GPU", 132)
    assert (known.threads_per_multiprocessor, known.fp32_to_fp64_ratio) == (1000, 3)
    assert known.shared_per_multiprocessor == 233472
    assert known.bandwidth == 2e6
    assert known.fp32_rate == 132 * 128 * 2 * 1980000e3
    facts.of_device.cache_clear()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("NVIDIA H200", 4.8e12), ("NVIDIA H100 NVL", 3.9e12), ("NVIDIA H100 80GB HBM3", 3.35e12), ("NVIDIA X", None)],
)
def test_bandwidth_by_name_where_the_driver_is_silent(monkeypatch, name, expected):
    architecture, _ = facts._row(Target("cuda", 90, 32))
    assert facts._bandwidth(architecture, name, {}) == expected


def test_the_cpu_has_facts_too():
    known = facts.of_device(get_device("cpu"))
    assert known.name and known.multiprocessors >= 1


@pytest.mark.parametrize(
    ("family", "name", "bandwidth"),
    [(7, "Apple M1", 68e9), (7, "Apple M1 Max", 400e9), (8, "Apple M2 Pro", 200e9), (9, "Apple M3 Max", None)],
)
def test_macs(monkeypatch, family, name, bandwidth):
    import fake_metal

    fake = fake_metal.FakeMetal(family=family)
    fake.devices()[0].name = name
    fake_metal.install(monkeypatch, fake)
    facts.of_device.cache_clear()
    known = facts.of_device(get_device("metal:0"))
    facts.of_device.cache_clear()
    assert (known.family, known.name, known.bandwidth) == (f"Apple{family}", name, bandwidth)
    assert known.shared_per_block == 32768 and known.multiprocessors is None
