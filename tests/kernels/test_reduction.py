"""The table of reductions and the partition of their work."""

from __future__ import annotations

import numpy as np
import pytest
from nbx_array.backend.contract import get_device
from nbx_array.kernels import reduction
from nbx_array.kernels.signature import leaf

import nbx_array as xp

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def stages(name, dtype, shape, axes):
    return reduction.plan(name, leaf(np.dtype(dtype), get_device("cpu")), shape, None, axes)


def test_every_row_has_a_function():
    for name in reduction.TABLE:
        assert callable(getattr(xp, name, None) or getattr(xp.linalg, name))


@pytest.mark.parametrize("name", reduction.TABLE)
def test_dtypes_of_the_table(name):
    row = reduction.TABLE[name]
    for dtype in map(np.dtype, DTYPES):
        if dtype.kind in row.kinds:
            result = reduction.result_dtype(row, dtype)
            assert result.kind in (dtype.kind, "f" if dtype.kind == "c" else "i")  # a variance is real
            assert reduction.accumulator(row, dtype).itemsize >= min(dtype.itemsize, 8)


@pytest.mark.parametrize(
    ("shape", "axes"), [((10_000_019,), (0,)), ((1000, 3001), (1,)), ((3001, 1000), (0,)), ((5, 70_000, 3), (1,))]
)
def test_the_partition_is_the_same_for_every_dtype(shape, axes):
    partitions = {
        tuple(stage.grid for stage in stages("sum", dtype, shape, axes)) for dtype in ("bool", "float16", "complex128")
    }
    assert len(partitions) == 1


def test_partial_states_are_few():
    for shape, axes in (((10_000_019,), (0,)), ((1_000_003, 8), (0,)), ((4, 10**6), (1,))):
        first, *_ = stages("sum", "float32", shape, axes)
        assert sum(first.scratch) < np.prod(shape) * 4 / 100


def test_a_short_reduction_is_one_launch():
    for shape, axes in (
        ((1000,), (0,)),
        ((50_000,), (0,)),
        ((1000, 1000), (0,)),
        ((1000, 1000), (1,)),
        ((10**6, 3), (1,)),
    ):
        assert len(stages("sum", "float32", shape, axes)) == 1
