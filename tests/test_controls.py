"""Controls beyond the standard: counters, explain, warmup, devices, memory limits, your own kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import triton
import triton.language as tl
from table import assert_same_bits

DEFERS = os.environ.get("NBX_FUSE", "1") != "0"
deferred = pytest.mark.skipif(not DEFERS, reason="NBX_FUSE=0: nothing is deferred")


def counted(xp, function):
    before = xp.counters()
    function()
    return xp.counters() - before


def test_realize(xp):
    x = xp.ones(3)
    y, z = x + 1, x * 3
    assert xp.realize(y) is y
    assert xp.realize(y, z) == (y, z)
    assert counted(xp, lambda: xp.realize(y, z))["launches"] == 0
    with pytest.raises(TypeError, match="realize"):
        xp.realize(np.ones(3))


def test_counters(xp):
    x = xp.realize(xp.ones(1000, dtype=xp.float32))
    xp.realize(x + 1)
    once = counted(xp, lambda: xp.realize(x + 1))
    assert (once["launches"], once["compilations"], once["fused"]) == (1, 0, 0)
    assert (once["bytes_to_host"], once["bytes_to_device"], once["synchronisations"]) == (0, 0, 0)
    assert counted(xp, lambda: xp.asnumpy(x))["bytes_to_host"] == 4000
    assert counted(xp, lambda: xp.asarray(np.ones(10)))["bytes_to_device"] == 80
    assert counted(xp, lambda: x[10:20].T)["launches"] == 0


@deferred
def test_warmup_compiles_what_a_function_needs(xp):
    x, y = xp.realize(xp.ones(77, dtype=xp.int8), xp.full(77, 2, dtype=xp.int8))

    def function(a, *, b):
        return (a * b - a) ^ b

    first = xp.warmup(function, x, b=y)
    assert first.tolist() == [((1 * 2 - 1) ^ 2)] * 77
    again = counted(xp, lambda: xp.realize(function(x, b=y)))
    assert (again["launches"], again["compilations"], again["fused"]) == (1, 0, 1)


@deferred
def test_explain(xp, capsys):
    x = xp.realize(xp.ones(2000))

    def shown(y):
        xp.explain(y)
        return capsys.readouterr().out

    assert "in memory: no kernel" in shown(x)
    assert "one operation, one kernel" in shown(x + 1)
    assert "1 operation over 1 contiguous array and 1 scalar\n" in shown(x + 1)
    assert "no operations over no arrays and 1 scalar\n" in shown(xp.ones(3))
    large = xp.realize(xp.ones(10**6, dtype=xp.float32))
    twice = xp.warmup(lambda x: xp.exp(-x * x / 2), large)
    del twice
    assert "reads 4.00 MB, writes 4.00 MB" in shown(xp.exp(-large * large / 2))  # what comes twice is read once
    y = xp.copysign(x + 1, x * 2) - 3
    before = xp.counters()["launches"]
    text = shown(y)
    assert xp.counters()["launches"] == before
    assert "4 operations over 2 contiguous arrays" in text
    assert "operation by operation" in text
    xp.realize(xp.copysign(x + 1, x * 2) - 3)
    text = shown(y)
    assert "one kernel" in text
    assert "subtract(copysign(add(float64[]" in text
    assert "few elements and seen 0 times" in shown(xp.nextafter(xp.copysign(x[:9], x[:9] + 0.375), 2.0))
    with pytest.raises(TypeError, match="explain"):
        xp.explain(3)


def test_devices(xp, device):
    with xp.device("cpu") as current:
        assert str(current) == "cpu"
        assert xp.ones(2).device == current
        seen = []
        thread = threading.Thread(target=lambda: seen.append(xp.ones(1).device))
        thread.start()
        thread.join()
        assert str(xp.asarray([1]).device) == "cpu"
    assert xp.ones(2).device == device
    with pytest.raises(KeyError), xp.device("cpu"):
        raise KeyError
    assert xp.ones(2).device == device
    assert xp.ones(2, device="cpu").device == current
    for act in (xp.set_device, lambda name: xp.ones(2, device=name), lambda name: xp.device(name).__enter__()):
        with pytest.raises(ValueError, match="word"):
            act("word")


def test_absent_devices(xp):
    if any(d.backend == "hip" for d in xp.__array_namespace_info__().devices()):
        pytest.skip("there is one")
    with pytest.raises(RuntimeError, match="hip"):
        xp.ones(2, device="hip:0")


def test_streams(xp, device):
    if device.backend == "cpu":
        with xp.stream(0):
            assert (xp.ones(2) + 1).tolist() == [2, 2]
    xp.synchronize()
    xp.synchronize(device)


def test_memory_limit(xp):
    """Limit 1 GB: allocate 0.5, delete, allocate 0.8 works; more raises a MemoryError that says what there is."""
    xp.empty_cache()
    base = xp.memory_info()
    megabyte = 1 << 20
    xp.memory_limit(base.live + base.cached + 100 * megabyte)
    try:
        x = xp.empty(50 * megabyte, dtype=xp.uint8)
        assert xp.memory_info().live - base.live >= 50 * megabyte
        with pytest.raises(xp.OutOfMemoryError, match=r"80|84|83") as failure:
            xp.empty(80 * megabyte, dtype=xp.uint8)
        assert isinstance(failure.value, MemoryError)
        small = xp.realize(xp.ones((9_000, 1), dtype=xp.uint8))
        with pytest.raises(xp.OutOfMemoryError) as failure:
            xp.realize(small + small[:, 0])
        if DEFERS:
            assert "while computing the deferred add" in failure.value.__notes__[0]
        del x
        xp.empty(80 * megabyte, dtype=xp.uint8)
        big = xp.realize(xp.ones(60 * megabyte // 8))
        mask = big > 7
        small = big[:5] + 1
        del big
        xp.realize(mask)
        xp.empty(30 * megabyte, dtype=xp.uint8)  # fits since what pending expressions held was released
        assert small.tolist() == [2] * 5
    finally:
        xp.memory_limit(None)
    assert xp.memory_info().limit is None


# ------------------------------------------------------------------------------------------------------- own kernels


@triton.jit
def scale_kernel(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def test_launch(xp):
    x = xp.arange(1000, dtype=xp.float32) + 0
    y = xp.zeros(1000, dtype=xp.float32)
    pending, z = y + 1, y[500:]
    xp.launch(scale_kernel, (8,), x, y, 1000, 0.5, BLOCK=128)
    wanted = np.arange(1000, dtype=np.float32) / 2
    assert_same_bits(xp.asnumpy(y), wanted)
    assert_same_bits(xp.asnumpy(z), wanted[500:])
    assert_same_bits(xp.asnumpy(pending), np.ones(1000, np.float32))
    xp.launch(scale_kernel, lambda given: (-(-given["n"] // given["BLOCK"]),), x, z, n=500, factor=2.0, BLOCK=256)
    assert_same_bits(xp.asnumpy(z), np.arange(500, dtype=np.float32) * 2)


@pytest.mark.parametrize(
    ("error", "args", "keywords"),
    [
        (TypeError, lambda x: (x, x, 10), {"BLOCK": 128}),
        (TypeError, lambda x: (x, x, 10, 1.0), {"BLOCK": 128, "other": 1}),
        (TypeError, lambda x: (np.ones(3), x, 3, 1.0), {"BLOCK": 128}),
        (TypeError, lambda x: (x.keep[0].ptr, x, 3, 1.0), {}),
        (TypeError, lambda x: ([1.0], x, 3, 1.0), {"BLOCK": 128}),
    ],
)
def test_launch_checks_its_arguments(error, args, keywords, xp):
    x = xp.realize(xp.ones(10, dtype=xp.float32))
    with pytest.raises(error):
        xp.launch(scale_kernel, (1,), *args(x), **keywords)
    assert x.tolist() == [1] * 10


@pytest.mark.parametrize("name", ["NBX_FUSE", "NBX_HOST_ROUTINES"])
def test_switches_are_0_or_1(name):
    for value, is_fine in (("0", True), ("1", True), ("", True), ("yes", False), ("2", False)):
        environment = os.environ | {name: value, "NBX_BACKEND": "cpu"}
        command = [sys.executable, "-c", "import nbx_array as xp; print(float(xp.sum(xp.ones(3) + 1)))"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if is_fine:
            assert done.stdout.strip() == "6.0", done.stderr
        else:
            assert f"ValueError: {name} is {value!r}; it must be 0 or 1" in done.stderr
