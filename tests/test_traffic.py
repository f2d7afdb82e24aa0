"""No public function copies to the host or waits for the device, but for the few whose shape depends on data.

Meant for a GPU and for the stand-in of one (`--device cuda:0` or `--device fake`); the CPU counts in the same way.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from table import ROWS

# Functions of the namespace other than the element-wise ones: how to call them on a matrix x of floats.
CALLS = {
    "all": lambda xp, x: xp.all(x),
    "any": lambda xp, x: xp.any(x, axis=0),
    "arange": lambda xp, x: xp.arange(5, device=x.device),
    "argmax": lambda xp, x: xp.argmax(x, axis=1),
    "argmin": lambda xp, x: xp.argmin(x),
    "argsort": lambda xp, x: xp.argsort(x),
    "asarray": lambda xp, x: xp.asarray(x, copy=True),
    "astype": lambda xp, x: xp.astype(x, xp.int32),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[0])[1],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, *x.shape)),
    "clip": lambda xp, x: xp.clip(x, 0, x),
    "concat": lambda xp, x: xp.concat([x, x + 1], axis=1),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=0),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda xp, x: xp.diff(x),
    "empty": lambda xp, x: xp.empty(3, device=x.device),
    "empty_like": lambda xp, x: xp.empty_like(x),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=0),
    "eye": lambda xp, x: xp.eye(3, device=x.device),
    "flip": lambda xp, x: xp.flip(x),
    "from_dlpack": lambda xp, x: xp.from_dlpack(x),
    "full": lambda xp, x: xp.full((2, 3), 7, device=x.device),
    "full_like": lambda xp, x: xp.full_like(x, 7),
    "isin": lambda xp, x: xp.isin(x, x[0]),
    "linspace": lambda xp, x: xp.linspace(0, 1, 9, device=x.device),
    "matmul": lambda xp, x: xp.matmul(x, x.T),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "max": lambda xp, x: xp.max(x),
    "mean": lambda xp, x: xp.mean(x, axis=0),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[1])[0],
    "min": lambda xp, x: xp.min(x, axis=1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "ones": lambda xp, x: xp.ones(3, device=x.device),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "prod": lambda xp, x: xp.prod(x),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "reshape": lambda xp, x: xp.reshape(x.T, (-1,)),
    "roll": lambda xp, x: xp.roll(x, 3),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x[0]), x),
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "squeeze": lambda xp, x: xp.squeeze(x[:1], axis=0),
    "stack": lambda xp, x: xp.stack([x, x]),
    "std": lambda xp, x: xp.std(x),
    "sum": lambda xp, x: xp.sum((x - 1) ** 2),
    "take": lambda xp, x: xp.take(x, xp.astype(x[:, 0] > 0, xp.int64), axis=1),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x)),
    "tensordot": lambda xp, x: xp.tensordot(x, x),
    "tile": lambda xp, x: xp.tile(x, (2, 2)),
    "tril": lambda xp, x: xp.tril(x),
    "triu": lambda xp, x: xp.triu(x, k=1),
    "unstack": lambda xp, x: xp.unstack(x)[1],
    "var": lambda xp, x: xp.var(x, axis=1),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
    "where": lambda xp, x: xp.where(x > 0, x, 0),
    "zeros": lambda xp, x: xp.zeros(3, device=x.device),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
}
OPERATIONS = {
    "slice": lambda xp, x: x[1:, ::-1],
    "one element": lambda xp, x: x[1, 2],
    "integer array": lambda xp, x: x[xp.astype(x[:, 0] > 0, xp.int64)],
    "assignment": lambda xp, x: x.__setitem__(slice(1, 2), x[:1] + 1),
    "assignment by mask": lambda xp, x: x.__setitem__(x > 0, 0),
    "in place": lambda xp, x: x.__iadd__(x[:1]),
    "product": lambda xp, x: x @ x.T,
}
# Their result's shape depends on data: they wait once and read the number of elements.
DATA_DEPENDENT = {"nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"}
# Not functions of arrays.
OTHERS = {
    *(
        "Array",
        "OutOfMemoryError",
        "asnumpy",
        "broadcast_shapes",
        "can_cast",
        "counters",
        "device",
        "empty_cache",
        "explain",
        "finfo",
    ),
    *(
        "iinfo",
        "isdtype",
        "launch",
        "memory_info",
        "memory_limit",
        "realize",
        "result_type",
        "set_device",
        "stream",
        "synchronize",
        "warmup",
    ),
}


def traffic(xp, call, x):
    """Bytes to the host and synchronisations of a call whose results are all computed."""
    with xp.device(x.device):
        before = xp.counters()
        result = call(xp, x)
        for array in result if isinstance(result, tuple) else [result]:
            if isinstance(array, xp.Array):
                xp.realize(array)
    change = xp.counters() - before
    return change["bytes_to_host"], change["synchronisations"]


@pytest.fixture
def matrix(xp, rng):
    return xp.realize(xp.asarray(rng.normal(size=(5, 7))) + 0)


@pytest.mark.parametrize("name", [*CALLS, *OPERATIONS])
def test_functions_stay_on_the_device(name, xp, matrix):
    call = CALLS.get(name) or OPERATIONS[name]
    assert traffic(xp, call, matrix) == (0, 0)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_element_wise_functions_stay_on_the_device(row, xp, matrix):
    x = xp.astype(matrix, xp.complex128) if row.kinds == "c" else matrix
    x = x if "f" in row.kinds or row.kinds == "c" else xp.astype(matrix, xp.int64)
    assert traffic(xp, lambda xp, x: getattr(xp, row.name)(*[xp.realize(x)] * row.arity), x) == (0, 0)


def test_a_shape_that_depends_on_data_takes_one_word(xp, matrix):
    assert traffic(xp, lambda xp, x: xp.nonzero(x), matrix) == (8, 1)
    assert traffic(xp, lambda xp, x: x[x > 0], matrix) == (8, 1)
    for name in DATA_DEPENDENT:
        assert traffic(xp, lambda xp, x, name=name: getattr(xp, name)(x), matrix) == (8, 1)


def test_every_public_function_is_listed(xp):
    listed = {*CALLS, *DATA_DEPENDENT, *OTHERS, *(row.name for row in ROWS)}
    names = {name: value for name, value in vars(xp).items() if callable(value) and not name.startswith("_")}
    public = {name for name, value in names.items() if not (inspect.isclass(value) and issubclass(value, np.generic))}
    assert public - listed == set()
