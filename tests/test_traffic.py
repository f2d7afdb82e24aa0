"""No public function copies to the host or waits for the device, but for the few whose shape depends on data.

Meant for a GPU and for the stand-in of one (`--device cuda:0` or `--device fake`); the CPU counts in the same way.
"""

from __future__ import annotations

import inspect

import pytest
from calls import CALLS, operands
from nbx_array.kernels import host
from table import DTYPES, ROWS, kind

OPERATIONS = {
    "slice": lambda xp, x: x[1:, ::-1],
    "one element": lambda xp, x: x[1, 2],
    "integer array": lambda xp, x: x[xp.astype(x[:, 0] > 0, xp.int64)],
    "assignment": lambda xp, x: x.__setitem__(slice(1, 2), x[:1] + 1),
    "assignment by mask": lambda xp, x: x.__setitem__(x > 0, 0),
    "in place": lambda xp, x: x.__iadd__(x[:1]),
    "product": lambda xp, x: x @ x.T,
    "divisors": lambda xp, x: xp.lcm(xp.gcd(xp.astype(x * 100, xp.int64), 12), 18),
}
# Not functions of arrays, or others by NumPy's names of them.
OTHERS = {
    "asnumpy", "counters", "device", "empty_cache", "explain", "launch", "memory_info", "memory_limit", "realize",
    "set_device", "stream", "synchronize", "warmup", "logspace", "fft.fft2", "fft.ifft2", "fft.irfft2", "fft.rfft2",
}  # fmt: skip


def traffic(xp, call, x):
    """Bytes to the host and synchronisations of a call whose results are all computed."""
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


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_stay_on_the_device(name, xp, matrix):
    assert traffic(xp, OPERATIONS[name], matrix) == (0, 0)


THROUGH_THE_HOST = {"linalg.eig", "linalg.eigvals"}
"""LAPACK computes them: see their documentation."""


@pytest.mark.parametrize("name", sorted(CALLS.keys() - THROUGH_THE_HOST))
def test_functions_stay_on_the_device(name, xp, rng, monkeypatch):
    """But for one word where its shape, or whether there is one, depends on data: by our kernels, as on a GPU."""
    monkeypatch.setattr(host, "HOST_ROUTINES", False)
    for number, call in enumerate(CALLS[name]):
        for dtype in ("float64", "int64", "complex128", "bool", "uint64"):
            if kind(DTYPES[dtype]) in call.kinds:
                arrays = [
                    xp.realize(xp.asarray(x) + (0 if dtype != "bool" else False))
                    for x in operands(call, DTYPES[dtype], rng)
                ]
                found = traffic(xp, lambda xp, arrays, call=call: call.run(xp, *arrays), arrays)
                waits = min(call.words, 1)
                assert found == (8 * call.words, waits), f"call {number} with {dtype}"
                break


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_element_wise_functions_stay_on_the_device(row, xp, matrix):
    x = xp.astype(matrix, xp.complex128) if row.kinds == "c" else matrix
    x = x if "f" in row.kinds or row.kinds == "c" else xp.astype(matrix, xp.int64)
    assert traffic(xp, lambda xp, x: getattr(xp, row.name)(*[xp.realize(x)] * row.arity), x) == (0, 0)


def test_a_mask_takes_one_word(xp, matrix):
    assert traffic(xp, lambda xp, x: x[x > 0], matrix) == (8, 1)


def test_every_public_function_is_listed(xp):
    listed = {*CALLS, *OTHERS, *(row.name for row in ROWS)}
    for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft)):
        for name in getattr(module, "__all__", dir(module)):
            function = getattr(module, name)
            chapter = getattr(function, "__module__", "").startswith(("numpy", "nbx_array._numpy", "nbx_array.special"))
            if inspect.isfunction(function) and not chapter and function.__name__ == name and not name.startswith("_"):
                assert prefix + name in listed


LAUNCHES = {
    "positive": (1, lambda xp, x, k: xp.positive(x)),
    "sinc": (1, lambda xp, x, k: xp.sinc(x)),
    "clip": (1, lambda xp, x, k: xp.clip(x, -0.5, 0.5)),
    "where": (1, lambda xp, x, k: xp.where(x > 0, x, 0)),
    "eye": (1, lambda xp, x, k: xp.eye(5, 7, k=1)),
    "tril": (1, lambda xp, x, k: xp.tril(x)),
    "triu": (1, lambda xp, x, k: xp.triu(x, k=-1)),
    "logspace": (2, lambda xp, x, k: xp.logspace(0, 1, 5)),
    "meshgrid": (2, lambda xp, x, k: xp.meshgrid(x[0, :], x[:, 0])),
    "concat": (2, lambda xp, x, k: xp.concat([x, x + 1])),
    "stack": (2, lambda xp, x, k: xp.stack([x, x + 1], axis=1)),
    "roll": (2, lambda xp, x, k: xp.roll(x, 3)),
    "roll of two axes": (4, lambda xp, x, k: xp.roll(x, (1, 2), axis=(0, 1))),
    "take": (1, lambda xp, x, k: xp.take(x, k[0, :], axis=0)),
    "integer array": (1, lambda xp, x, k: x[k[0, :], :]),
    "take_along_axis": (1, lambda xp, x, k: xp.take_along_axis(x, k, axis=0)),
    "cross": (3, lambda xp, x, k: xp.linalg.cross(x[:, :3], x[:, 3:6])),
    "views": (0, lambda xp, x, k: (x.T, xp.moveaxis(x, 0, 1), xp.squeeze(x[:1], axis=0), xp.reshape(x, (7, 5)))),
}
"""At most so many launches: what each takes on a GPU is mostly the host's time."""


@pytest.mark.parametrize("name", LAUNCHES)
def test_few_launches(name, xp, matrix, rng):
    k = xp.asarray(rng.integers(-5, 5, (5, 7)))
    most, call = LAUNCHES[name]
    xp.warmup(call, xp, matrix, k)  # what is fused is compiled when it is seen again, or more often for few elements
    before = xp.counters()["launches"]
    result = call(xp, matrix, k)
    xp.realize(*(result if isinstance(result, tuple) else (result,)))
    assert xp.counters()["launches"] - before <= most


def test_what_was_read_is_known(xp):
    """On a GPU the answer to a question is kept, and a single number is an argument: no copy either way."""
    x = xp.realize(xp.asarray([1.0, 2.0]) + 0)
    if x.device.backend == "cpu":
        pytest.skip("elements carry their value")
    asked, element = xp.isnan(xp.max(x)), x[1]
    before = xp.counters()
    assert not asked and not asked and float(element) == float(element) == 2.0
    assert (xp.counters() - before)["synchronisations"] == 2
    before = xp.counters()
    number = xp.asarray(2.5, dtype=xp.float32)
    assert bool(number) and float(number) == 2.5 and xp.realize(x * number).shape == (2,)
    change = xp.counters() - before
    assert (change["bytes_to_device"], change["bytes_to_host"], change["synchronisations"], change["launches"]) == (
        0,
        0,
        0,
        1,
    )


def test_one_element_is_written_by_one_launch(xp):
    x, v = xp.realize(xp.zeros((9, 9), dtype=xp.float32)), xp.realize(xp.arange(9, dtype=xp.float32) + 0)
    if x.device.backend == "cpu":
        pytest.skip("elements are written without a kernel")
    before = xp.counters()
    for i in range(9):
        x[i, i] = v[i]
    change = xp.counters() - before
    assert (change["launches"], change["synchronisations"], change["bytes_to_host"]) == (9, 0, 0)
    assert xp.asnumpy(xp.linalg.diagonal(x)).tolist() == list(range(9))
