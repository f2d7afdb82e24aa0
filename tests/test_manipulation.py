"""Manipulation functions against NumPy: views where NumPy has views, and what joins arrays."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from table import DTYPES, assert_same_bits, laid_out, random_values, stored

fixtures_stay = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def numbered(shape, dtype=np.int64):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@st.composite
def arrays(draw):
    shape = draw(SHAPES)
    return numbered(shape), draw(st.permutations(range(len(shape))))


def check_view(xp, x, got, wanted):
    """`got` has NumPy's elements and sees what is written to `x`."""
    assert_same_bits(xp.asnumpy(got), wanted)
    x += 100
    assert_same_bits(xp.asnumpy(got), wanted + 100)
    x -= 100


@fixtures_stay
@given(arrays(), st.data())
def test_views(xp, drawn, data):
    a, order = drawn
    x = laid_out(xp, a, order)
    n = a.ndim
    axes = tuple(data.draw(st.permutations(range(n))))
    check_view(xp, x, xp.permute_dims(x, axes), a.transpose(axes))
    check_view(xp, x, x.T, a.T)
    some = tuple(data.draw(st.lists(st.integers(-n, n - 1), unique_by=lambda i: i % n, max_size=n))) if n else ()
    check_view(xp, x, xp.flip(x, axis=some), np.flip(a, some))
    check_view(xp, x, xp.flip(x), np.flip(a))
    new = data.draw(st.integers(-n - 1, n))
    check_view(xp, x, xp.expand_dims(x, axis=new), np.expand_dims(a, new))
    check_view(xp, x, xp.expand_dims(x, axis=(0, -1)), np.expand_dims(a, (0, -1)))
    ones = tuple(i for i in range(n) if a.shape[i] == 1)
    check_view(xp, x, xp.squeeze(x, axis=ones), np.squeeze(a, ones))
    target = (2, *(3 if size == 1 else size for size in a.shape))
    check_view(xp, x, xp.broadcast_to(x, target), np.broadcast_to(a, target))
    if n:
        source, destination = data.draw(st.integers(-n, n - 1)), data.draw(st.integers(-n, n - 1))
        moved = xp.moveaxis(x, source, destination)
        check_view(xp, x, moved, np.moveaxis(a, source, destination))
        places = tuple(data.draw(st.permutations(range(n))))
        check_view(xp, x, xp.moveaxis(x, axes, places), np.moveaxis(a, axes, places))
        check_view(xp, x, xp.expand_dims(x, axis=0)[0], a)
    if n >= 2:
        check_view(xp, x, x.mT, a.mT)


@fixtures_stay
@given(arrays(), st.data())
def test_reshape(xp, drawn, data):
    """A view exactly where NumPy has one."""
    a, order = drawn
    memory, signs, inverse = stored(a, order)
    b = memory[signs].transpose(inverse)
    x = laid_out(xp, a, order)
    sizes = [d for d in range(1, a.size + 1) if a.size % d == 0]
    first = data.draw(st.sampled_from(sizes)) if sizes else 0
    for shape in [
        a.shape,
        a.size,
        -1,
        (first, -1) if a.size else (0, 3),
        (1, *a.shape[::-1]),
        (first, a.size // max(first, 1), 1),
    ]:
        wanted = b.reshape(shape)
        got = xp.reshape(x, shape)
        assert_same_bits(xp.asnumpy(got), wanted)
        copy = xp.reshape(x, shape, copy=True)
        x += 100
        shares = a.size == 0 or np.shares_memory(b, wanted)
        assert_same_bits(xp.asnumpy(got), wanted + 100 * shares)
        assert_same_bits(xp.asnumpy(copy), wanted)
        x -= 100
        if shares:
            assert_same_bits(xp.asnumpy(xp.reshape(x, shape, copy=False)), wanted)
        else:
            with pytest.raises(ValueError, match="without a copy"):
                xp.reshape(x, shape, copy=False)


@fixtures_stay
@given(st.data())
def test_broadcasting(xp, data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=4, min_side=0))
    originals = [numbered(shape) for shape in shapes.input_shapes]
    assert xp.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape
    got = xp.broadcast_arrays(*map(xp.asarray, originals))
    for x, wanted in zip(got, np.broadcast_arrays(*originals), strict=True):
        assert_same_bits(xp.asnumpy(x), wanted)
    total = sum(xp.asarray(a) * 2 for a in originals)
    assert_same_bits(xp.asnumpy(total), np.asarray(sum(a * 2 for a in originals)))


@pytest.mark.parametrize("name", DTYPES)
def test_concat_and_stack(name, xp, rng):
    dtype = DTYPES[name]
    a = random_values(dtype, 24, rng).reshape(2, 3, 4)
    x = xp.asarray(a)
    for axis in range(-3, 3):
        pieces, ours = (
            [a, a[::-1], a[:, ::-1, ::2].repeat(2, 2)],
            [x, x[::-1], xp.asarray(a[:, ::-1, ::2].repeat(2, 2))],
        )
        assert_same_bits(xp.asnumpy(xp.concat(ours, axis=axis)), np.concat(pieces, axis=axis))
        assert_same_bits(xp.asnumpy(xp.stack(ours, axis=axis)), np.stack(pieces, axis=axis))
    assert_same_bits(xp.asnumpy(xp.concat((x, x[0, 0], x[:0]), axis=None)), np.concat((a, a[0, 0], a[:0]), axis=None))
    assert_same_bits(xp.asnumpy(xp.concat([x[:, :0], x, x[:, :0]], axis=1)), a)


def test_concat_of_mixed_dtypes_and_pending_arrays(xp):
    x = xp.asarray([1, 2], dtype=xp.int8)
    y = xp.asarray([0.5])
    got = xp.concat([x, y + 1, x * 2])
    assert_same_bits(xp.asnumpy(got), np.array([1, 2, 1.5, 2, 4]))
    z = xp.concat([x])
    x[0] = 9
    assert z.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (ValueError, lambda xp, x: xp.reshape(x, (4, 2))),
        (ValueError, lambda xp, x: xp.reshape(x, (-1, -1))),
        (ValueError, lambda xp, x: xp.reshape(x, (-1, 4))),
        (ValueError, lambda xp, x: xp.reshape(x, (-2, 3))),
        (TypeError, lambda xp, x: xp.reshape(x, (2.0, 3))),
        (ValueError, lambda xp, x: xp.broadcast_to(x, (3, 3))),
        (ValueError, lambda xp, x: xp.broadcast_to(x, (3,))),
        (ValueError, lambda xp, x: xp.broadcast_arrays(x, xp.ones((3, 2)))),
        (ValueError, lambda xp, x: xp.broadcast_shapes((2,), (3,))),
        (ValueError, lambda xp, x: xp.concat([])),
        (ValueError, lambda xp, x: xp.concat([x, xp.ones((2, 2))])),
        (ValueError, lambda xp, x: xp.concat([x, xp.ones(3)])),
        (ValueError, lambda xp, x: xp.concat([xp.ones(())])),
        (IndexError, lambda xp, x: xp.concat([x, x], axis=2)),
        (TypeError, lambda xp, x: xp.concat([x, np.ones((2, 3))])),
        (ValueError, lambda xp, x: xp.stack([])),
        (ValueError, lambda xp, x: xp.stack([x, x.T])),
        (IndexError, lambda xp, x: xp.stack([x, x], axis=3)),
        (IndexError, lambda xp, x: xp.expand_dims(x, axis=3)),
        (IndexError, lambda xp, x: xp.expand_dims(x, axis=-4)),
        (ValueError, lambda xp, x: xp.expand_dims(x, axis=(0, 0))),
        (ValueError, lambda xp, x: xp.squeeze(x, axis=0)),
        (IndexError, lambda xp, x: xp.squeeze(x, axis=2)),
        (IndexError, lambda xp, x: xp.flip(x, axis=-3)),
        (ValueError, lambda xp, x: xp.flip(x, axis=(0, 0))),
        (ValueError, lambda xp, x: xp.permute_dims(x, (0, 0))),
        (ValueError, lambda xp, x: xp.permute_dims(x, (0,))),
        (IndexError, lambda xp, x: xp.permute_dims(x, (0, 2))),
        (ValueError, lambda xp, x: xp.moveaxis(x, (0, 1), 0)),
        (ValueError, lambda xp, x: xp.moveaxis(x, (0, 0), (0, 1))),
        (IndexError, lambda xp, x: xp.moveaxis(x, 2, 0)),
        (ValueError, lambda xp, x: xp.ones(3).mT),
        (TypeError, lambda xp, x: xp.flip(np.ones(3))),
        (TypeError, lambda xp, x: xp.reshape("ab", (2, 1))),
    ],
)
def test_bad_input(error, act, xp):
    with pytest.raises(error):
        act(xp, xp.ones((2, 3)))
