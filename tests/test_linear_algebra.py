"""Matrix products against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from nbx_array.kernels import host, matmul
from table import BFLOAT16, DTYPES, kind, random_values

SHAPES = [
    *(((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((1, 1), (1, 1)), ((2, 3), (3, 4)), ((65, 127), (127, 33))),
    *(((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((0,), (0,)), ((4, 2, 3), (3, 5)), ((4, 2, 3), (3,))),
    *(
        ((4, 2, 3), (4, 3, 5)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((3,), (4, 3, 5)),
        ((2, 1, 2, 0), (3, 0, 2)),
        ((129, 1), (1, 129)),
    ),
]


def agree(got, x, y):
    """Exact in integers; else within what adding up in the dtype that sums have may lose."""
    wide = {"f": np.float64, "c": np.complex128}.get(kind(x.dtype))
    if wide is None:
        np.testing.assert_array_equal(got, x @ y, strict=True)
        return
    wanted = x.astype(wide) @ y.astype(wide)
    bound = abs(x).astype(np.float64) @ abs(y).astype(np.float64)
    accumulator = np.float32 if got.dtype in (np.float16, BFLOAT16) else got.dtype
    rounding = {np.dtype(np.float16): 2.0**-11, BFLOAT16: 2.0**-8}.get(got.dtype, 0.0)
    least = 2.0**-25 if got.dtype == np.float16 else 0.0  # half of the smallest float16
    assert got.shape == wanted.shape
    error = abs(got.astype(wide) - wanted)
    assert (
        error <= 4 * np.finfo(accumulator).eps * np.sqrt(x.shape[-1] + 1) * bound + rounding * abs(wanted) + least
    ).all()


@pytest.mark.parametrize("name", DTYPES)
def test_matmul(name, xp, rng):
    dtype = DTYPES[name]

    def draw(shape):
        size = int(np.prod(shape))
        if kind(dtype) in "fc":
            return rng.normal(size=shape).astype(dtype)
        return random_values(dtype, size, rng).reshape(shape)

    for first, second in SHAPES:
        x, y = draw(first), draw(second)
        got = xp.asarray(x) @ xp.asarray(y)
        assert got.dtype == dtype
        agree(xp.asnumpy(got), x, y)
    x, y = draw((33, 20)), draw((17, 40))
    a, b = xp.asarray(x).T[:, ::-2], xp.asarray(y)[:, ::-2].T[:17]
    agree(xp.asnumpy(xp.matmul(a, b)), x.T[:, ::-2], y[:, ::-2].T[:17])


def test_operands(xp):
    x = xp.asarray([[1, 2], [3, 4]])
    y = x + 1
    assert (x @ y).tolist() == [[10, 13], [22, 29]]
    assert (x @ xp.asarray([0.5, 0.5])).dtype == np.float64
    x @= xp.asarray([[0, 1], [1, 0]])
    assert x.tolist() == [[2, 1], [4, 3]]
    b = xp.broadcast_to(xp.asarray([[1.0, 2.0]]), (3, 2, 2))
    np.testing.assert_allclose(xp.asnumpy(b @ b), np.full((3, 2, 2), [3.0, 6.0]))


@pytest.mark.parametrize(("m", "k", "n"), [(32, 32, 1), (1, 32, 32), (16, 48, 1), (32, 1, 32), (64, 64, 64)])
def test_products_by_kernels_of_sizes_that_are_multiples_of_16(m, k, n, xp, rng, monkeypatch):
    """Rows then begin at whole vectors, but neighbours may lie next to each other along both axes: in one column, and
    in windows that overlap."""
    monkeypatch.setattr(host, "HOST_ROUTINES", False)
    x, y = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    for a, b in ((xp.asarray(x), xp.asarray(y)), (xp.asarray(x.T.copy()).T, xp.asarray(y.T.copy()).T)):
        agree(xp.asnumpy(a @ b), x, y)
    line = rng.normal(size=m + k - 1)
    windows = np.lib.stride_tricks.sliding_window_view(line, k)
    ours = xp.lib.stride_tricks.sliding_window_view(xp.asarray(line), k)
    agree(xp.asnumpy(ours @ xp.asarray(y)), windows, y)
    agree(xp.asnumpy(xp.asarray(y).T @ ours.T), y.T, windows.T)


@pytest.mark.parametrize("k", [1, 2, 5, 9, 16, 17, 100])
@pytest.mark.parametrize(("m", "n"), [(7, 1), (1, 33), (64, 48)])
def test_products_of_float32_are_rounded_once_a_term(m, k, n, xp, rng, monkeypatch):
    """The bound of k roundings holds for few terms, too, where TF32's three products would lose more than that."""
    monkeypatch.setattr(host, "HOST_ROUTINES", False)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((m, k), (k, n)))
    exact, size = (f(x.astype(np.float64)) @ f(y.astype(np.float64)) for f in (np.positive, np.abs))
    got = xp.asnumpy(xp.asarray(x) @ xp.asarray(y))
    assert (abs(got - exact) <= 1.01 * k * 2.0**-24 * size).all()


@pytest.mark.parametrize("name", ["int8", "int64", "uint32", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"), [((1031, 3, 3), (1031, 3, 1)), ((31, 1, 4, 2), (37, 2, 4)), ((2048, 1, 4), (4,))]
)
def test_many_products_of_tiny_matrices(name, left, right, xp, rng):
    """On a GPU they are not a program each; operands are strided, stacks broadcast, vectors drop a dimension."""
    dtype = DTYPES[name]
    x, y = (random_values(dtype, int(np.prod(shape)), rng).reshape(shape) for shape in (left, right))
    if kind(dtype) in "fc":
        x, y = (rng.normal(size=shape).astype(dtype) for shape in (left, right))
    got = xp.asarray(np.repeat(x, 2, -1))[..., ::2] @ xp.asarray(y[::-1].copy())[::-1]
    assert got.dtype == dtype and got.shape == (x @ y).shape
    agree(xp.asnumpy(got), x, y)


LONG = [((), 64, 9999, 64), ((), 1, 1025, 70), ((2,), 5, 4096, 4), ((3, 1), 1, 2050, 1), ((), 70, 1500, 33)]


@pytest.mark.parametrize("name", DTYPES)
def test_products_with_a_long_inner_dimension(name, xp, rng, monkeypatch):
    """It is split where the result has few tiles, and the products of its parts are added up."""
    monkeypatch.setattr(host, "HOST_ROUTINES", False)
    dtype = DTYPES[name]
    added = []
    monkeypatch.setattr(matmul, "_add_parts", lambda *args, do=matmul._add_parts: (added.append(args[1]), do(*args)))
    for stack, m, k, n in LONG:
        if kind(dtype) in "fc":
            x, y = (rng.normal(size=(*stack, *shape)).astype(dtype) for shape in ((k, m), (k, n)))
        else:
            x, y = (random_values(dtype, int(np.prod(s)), rng).reshape(s) for s in ((*stack, k, m), (*stack, k, n)))
        got = xp.asarray(x).mT @ xp.asarray(y)
        assert got.dtype == dtype
        agree(xp.asnumpy(got), x.mT, y)
        again = xp.asarray(x).mT @ xp.asarray(y)
        assert xp.asnumpy(again).tobytes() == xp.asnumpy(got).tobytes()
        backwards = xp.asarray(np.repeat(y, 2, -1)).mT[..., ::-2, ::-1] @ xp.asarray(np.repeat(x, 2, -2))[..., ::-2, :]
        agree(xp.asnumpy(backwards), np.repeat(y, 2, -1).mT[..., ::-2, ::-1], np.repeat(x, 2, -2)[..., ::-2, :])
    assert len(added) == 3 * len(LONG) and min(added) > 1


@pytest.mark.parametrize("name", ["float16", "float32", "complex128"])
def test_products_of_parts_are_subtracted(name, xp, rng, monkeypatch):
    """From rows and columns that do not lie next to each other; the conjugate of an operand counts."""
    monkeypatch.setattr(host, "HOST_ROUTINES", False)
    dtype = DTYPES[name]
    draw = lambda *shape: rng.normal(size=shape) + (1j if kind(dtype) == "c" else 0) * rng.normal(size=shape)  # noqa: E731
    x, y, z = (draw(*shape).astype(dtype) for shape in ((2, 6, 3001), (2, 3001, 5), (2, 10, 12)))
    a, b, c = (xp.asarray(value) for value in (x, y, z))
    target = c.memory()
    part = target._replace(shape=(2, 6, 5), strides=(target.strides[0], 12, 2), offset=target.offset + 13)
    matmul.multiply(a.memory(), b.memory(), part, subtract=True, conjugate="a")
    wanted, wide = z.astype(np.complex128), np.complex128
    wanted[:, 1:7, 1:11:2] -= x.conj().astype(wide) @ y.astype(wide)
    tolerance = {"float16": 0.1, "float32": 3e-4, "complex128": 1e-12}[name]
    np.testing.assert_allclose(xp.asnumpy(c).astype(wide), wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (ValueError, lambda xp: xp.ones((2, 3)) @ xp.ones((2, 3))),
        (ValueError, lambda xp: xp.ones(3) @ xp.ones(4)),
        (ValueError, lambda xp: xp.ones(()) @ xp.ones(3)),
        (ValueError, lambda xp: xp.ones((2, 3, 4)) @ xp.ones((3, 4, 5))),
        (TypeError, lambda xp: xp.ones((2, 2)) @ 2),
        (ValueError, lambda xp: xp.ones((2, 2)) @ xp.asarray(np.ones((3, 2)))),
        (TypeError, lambda xp: xp.matmul(xp.ones(2), np.ones(2))),
    ],
)
def test_bad_input(error, act, xp):
    with pytest.raises(error):
        act(xp)
