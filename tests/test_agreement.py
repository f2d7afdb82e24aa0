"""The same bits on the CPU and on a GPU, for every element-wise function; and arrays of more than 2^31 elements."""

from __future__ import annotations

import numpy as np
import pytest
from table import DTYPES, ROWS, arguments, assert_same_bits, takes

SIZE = 1 << 16
CASES = [(row, name) for row in ROWS for name, dtype in DTYPES.items() if takes(row, dtype)]
HUGE = 2**31 + 8


@pytest.fixture
def gpu(device):
    if device.backend == "cpu":
        pytest.skip("compares a GPU with the CPU: run with --device cuda:0")
    return device


@pytest.fixture
def roomy(gpu, xp):
    if xp.memory_info(gpu).total < 16 << 30:
        pytest.skip("needs a GPU with 16 GiB of memory")
    yield gpu
    xp.empty_cache(gpu)


@pytest.mark.parametrize(("row", "name"), CASES, ids=[f"{row.name}-{name}" for row, name in CASES])
def test_bits_of_a_function(row, name, xp, gpu, rng):
    operands = arguments(row, DTYPES[name], SIZE + 3, rng)
    function = getattr(xp, row.name)
    here = xp.asnumpy(function(*(xp.asarray(x, device="cpu") for x in operands)))
    there = xp.asnumpy(function(*(xp.asarray(x, device=gpu) for x in operands)))
    assert_same_bits(there, here)


@pytest.mark.parametrize("source", DTYPES)
def test_bits_of_casts(source, xp, gpu, rng):
    row = next(row for row in ROWS if row.name == "equal")
    (x, _) = arguments(row, DTYPES[source], SIZE, rng)
    for target in DTYPES.values():
        if DTYPES[source].kind == "c" and target.kind != "c":
            continue
        here = xp.asnumpy(xp.astype(xp.asarray(x, device="cpu"), target))
        there = xp.asnumpy(xp.astype(xp.asarray(x, device=gpu), target))
        assert_same_bits(there, here)


def test_bits_of_a_fused_expression(xp, gpu, rng):
    x = rng.normal(size=100_003).astype(np.float32)

    def gauss(a):
        return xp.exp(-((a - 0.5) ** 2) / (2 * 0.3 * 0.3)) * xp.sin(a) + a / 3

    results = [xp.asnumpy(xp.warmup(gauss, xp.asarray(x, device=d))) for d in ("cpu", gpu)]
    assert_same_bits(results[1], results[0])


def test_more_than_2_to_the_31_elements(xp, roomy):
    x = xp.zeros(HUGE, dtype=xp.int8, device=roomy)
    x[HUGE - 3] = 1
    assert int(xp.argmax(x)) == HUGE - 3
    assert int(xp.sum(x)) == 1
    assert int(xp.max(x)) == 1
    assert bool(xp.any(x[2**31 :]))
    assert xp.asnumpy(x[-5:]).tolist() == [0, 0, 1, 0, 0]
    assert xp.asnumpy(x[:: 2**31 + 5]).tolist() == [0, 1]
    assert xp.asnumpy(xp.nonzero(x)[0]).tolist() == [HUGE - 3]
    assert xp.asnumpy(x[x > 0]).tolist() == [1]
    y = xp.reshape(x, (2, HUGE // 2)).T + 1
    assert int(xp.sum(y, dtype=xp.int64)) == HUGE + 1
    assert xp.asnumpy(xp.flip(x)[:4]).tolist() == [0, 0, 1, 0]
    x[x == 1] = 5
    assert int(x[xp.asarray([HUGE - 3], device=roomy)][0]) == 5


def test_strides_beyond_2_to_the_30(xp, roomy):
    x = xp.zeros(2**31 + 4, dtype=xp.int8, device=roomy)
    x[2**30 + 1] = 3
    x[2**31 + 2] = 4
    assert xp.asnumpy(x[:: 2**30 + 1]).tolist() == [0, 3, 4]
    assert int(xp.sum(x[:: 2**30 + 1] + 1)) == 10


def sort_and_scan(xp, device, n):
    """Sort and add up n small numbers of which two are not zero, as a vector and as two rows."""
    x = xp.zeros(n, dtype=xp.uint8, device=device)
    x[5], x[n - 3] = 7, 1
    assert xp.sort(x)[-3:].tolist() == [0, 1, 7]
    assert xp.sort(x, descending=True)[:3].tolist() == [7, 1, 0]
    sums = xp.cumulative_sum(x)
    assert sums.dtype == xp.uint64
    assert [int(sums[k]) for k in (4, 5, n - 4, n - 3, n - 1)] == [0, 7, 7, 8, 8]
    del sums
    rows = xp.reshape(x, (2, n // 2))
    sums = xp.cumulative_sum(rows, axis=1, dtype=xp.uint8)
    assert sums[:, -1].tolist() == [7, 1] and sums[:, n // 2 - 4].tolist() == [7, 0]
    sums = xp.cumulative_sum(rows, axis=0, dtype=xp.uint8)
    assert sums[:, 5].tolist() == [7, 7] and sums[:, n // 2 - 3].tolist() == [0, 1]
    sums = xp.cumulative_sum(rows.T, axis=0, dtype=xp.uint8)
    assert sums[-1, :].tolist() == [7, 1]


def test_sorts_and_scans(xp, device):
    sort_and_scan(xp, device, 100_008)


def test_sorts_and_scans_of_more_than_2_to_the_32_elements(xp, roomy):
    if xp.memory_info(roomy).total < 80 << 30:
        pytest.skip("needs a GPU with 80 GiB of memory")
    sort_and_scan(xp, roomy, 2**32 + 8)
    xp.empty_cache(roomy)
    order = xp.argsort(xp.zeros(HUGE, dtype=xp.bool, device=roomy))
    assert [int(order[k]) for k in (0, 2**31 - 1, HUGE - 1)] == [0, 2**31 - 1, HUGE - 1]
