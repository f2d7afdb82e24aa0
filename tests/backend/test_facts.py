"""Device facts: the files are well formed, every key has a reader, the driver's word wins."""

from __future__ import annotations

import re

import pytest
import yaml
from fake_cuda import FakeCuda, install
from fake_hip import FakeHip, needs_gcc
from fake_hip import install as install_hip
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
        vendor = path.parent.name
        assert isinstance(capability, int if vendor == "nvidia" else str)
        assert set(row) == CAPABILITY_KEYS
        assert all(value is None or (isinstance(value, int) and value > 0) for value in row.values())
        if vendor == "nvidia":
            assert row["shared_per_block"] == row["shared_per_multiprocessor"] - 1024  # CUDA keeps 1 KB a block
        elif vendor == "amd":
            assert row["shared_per_block"] == 65536
    assert all(value is None or value > 0 for value in content["bandwidth_gb_per_s"].values())
    assert "# Sources" in text
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


@pytest.mark.parametrize(
    ("part", "arch", "units", "ghz", "single", "double", "bandwidth"),
    [  # as the data sheets have them, in TFLOPS and TB/s; an RDNA part's units are counted in pairs
        ("AMD Instinct MI210", "gfx90a", 104, 1.7, 22.6, 22.6, 1.6),
        ("AMD Instinct MI250X/MI250", "gfx90a", 110, 1.7, 47.9 / 2, 47.9 / 2, 3.2 / 2),
        ("AMD Instinct MI300X", "gfx942", 304, 2.1, 163.4, 81.7, 5.3),
        ("AMD Instinct MI300A", "gfx942", 228, 2.1, 122.6, 61.3, 5.3),
        ("AMD Radeon RX 7900 XTX", "gfx1100", 48, 2.5, 61.4, 1.92, 0.96),
        ("AMD Radeon RX 9070 XT", "gfx1201", 32, 2.97, 48.7, None, 0.64),
    ],
)
def test_amd_s_data_sheets(part, arch, units, ghz, single, double, bandwidth):
    known = facts._facts(Target("hip", arch, 64), part, units, {"clock_khz": int(ghz * 1e6)})
    assert known.fp32_rate == pytest.approx(single * 1e12, rel=3e-3)
    if double is not None:
        assert known.fp32_rate / known.fp32_to_fp64_ratio == pytest.approx(double * 1e12, rel=3e-3)
    assert known.bandwidth == pytest.approx(bandwidth * 1e12, rel=0.03)
    assert known.shared_per_block == 65536


@pytest.mark.parametrize("target", [Target("cuda", 75, 32), Target("hip", "gfx900", 64), Target("cpu", "host", 1)])
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


@needs_gcc
def test_amd_s_driver_s_word_wins(monkeypatch):
    facts.of_device.cache_clear()
    install_hip(monkeypatch, FakeHip(threads_per_multiprocessor=1000, shared_per_block_optin=32768))
    known = facts.of_device(get_device("hip:0"))
    assert (known.family, known.name, known.multiprocessors) == ("CDNA 3", "Imaginary Instinct", 304)
    assert (known.threads_per_multiprocessor, known.shared_per_block, known.l2_bytes) == (1000, 32768, 4 << 20)
    assert (known.registers_per_multiprocessor, known.fp32_to_fp64_ratio, known.bandwidth) == (131072, 2, None)
    facts.of_device.cache_clear()


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
