"""Deferred expressions: fused and unfused results have the same bits, writes wait for readers, and what it costs."""

from __future__ import annotations

import gc
import operator
import os
import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from table import DTYPES, ROWS, assert_same_bits, kind, takes

from nbx_array import _journal

DEFERS = os.environ.get("NBX_FUSE", "1") != "0"
deferred = pytest.mark.skipif(not DEFERS, reason="NBX_FUSE=0: nothing is deferred")

# ----------------------------------------------------------------------------------------------------------- bits

# Programs over x and y, one operation a statement; the last one gives the result.
PROGRAMS = {
    "gaussian": ("float32", "a = x - 0.5; a = a ** 2; a = -a; a = a / 3.0; r = xp.exp(a)"),
    "softplus": ("float64", "a = xp.maximum(x, 0.0); b = abs(x); b = -b; b = xp.exp(b); b = xp.log1p(b); r = a + b"),
    "fma": ("float64", "a = x * y; b = x * 3.0; r = a + b"),
    "quotients": ("float32", "a = x / y; b = x // y; b = b * y; a = a - b; b = x % y; r = a + b"),
    "signs": ("float32", "a = x > y; b = xp.round(x); b = xp.copysign(b, y); r = xp.where(a, b, x)"),
    "half": ("float16", "a = x * y; a = a + x; b = abs(y); b = xp.sqrt(b); r = a / b"),
    "brain": ("bfloat16", "a = x * y; a = xp.sin(a); b = x / 3.0; r = a - b"),
    "integers": ("int32", "a = x * y; b = x >> 3; a = a ^ b; b = y | 1; b = b % 7; r = a // b"),
    "bytes": ("uint8", "a = x + y; a = a * x; b = ~y; b = b << 2; r = a - b"),
    "mixed": ("int16", "a = x / 7; b = xp.astype(y, xp.float32); a = a + b; r = xp.astype(a, xp.int16)"),
    "logic": ("float64", "a = x > 0; b = y < x; c = x * y; d = c > 1; b = b | d; a = a & b; r = xp.where(a, c, 2.0)"),
    "complex": ("complex64", "a = x * y; b = xp.conj(x); a = a + b; b = y + 2.0; b = abs(b); r = a / b"),
}


def run(program, xp, x, y, *, stepwise=False):
    names = {"xp": xp, "x": x, "y": y}
    for statement in program.split("; "):
        exec(statement, names)
        if stepwise:
            xp.realize(names[statement[0]])
    return names["r"]


LENGTH = 40_000


def operands(dtype, rng):
    dtype = DTYPES[dtype]
    if kind(dtype) in "iu":
        info = np.iinfo(dtype)
        return [rng.integers(info.min, info.max, LENGTH, dtype, endpoint=True) for _ in range(2)]
    if dtype.kind == "c":
        return [(rng.normal(size=LENGTH) + 1j * rng.normal(size=LENGTH)).astype(dtype) for _ in range(2)]
    return [(rng.normal(size=LENGTH) * 3).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_fused_bits_are_those_of_single_operations(name, xp, rng):
    """At every length and position: vector bodies and their tails run the same arithmetic."""
    dtype, program = PROGRAMS[name]
    x, y = map(xp.asarray, operands(dtype, rng))
    wanted = xp.asnumpy(run(program, xp, x, y, stepwise=True))

    def fused(a, b):
        return run(program, xp, a, b)

    xp.warmup(fused, x[:5], y[:5])
    before = xp.counters()
    for n in [*range(81), 1000, 16383, 16384, 16385, LENGTH]:
        assert_same_bits(xp.asnumpy(fused(x[:n], y[:n])), wanted[:n])
    for start in range(1, 66):
        assert_same_bits(xp.asnumpy(fused(x[start : start + 35], y[start : start + 35])), wanted[start : start + 35])
    if DEFERS and x.device.backend == "cpu":
        assert (xp.counters() - before)["launches"] <= 81 + 5 + 65
    strided = xp.warmup(fused, x[::-3], y[::-3])
    assert_same_bits(xp.asnumpy(strided), wanted[::-3])


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.arity == 1 and takes(row, DTYPES["float32"])])
def test_equal_elements_give_equal_results(name, xp):
    """exp([v] * 1033) is constant: no element's result depends on its place."""
    for value in (0.1, -0.7, 1.5, 88.0, 1e-40, -1e10):
        for dtype in (xp.float32, xp.float64):
            result = xp.asnumpy(getattr(xp, name)(xp.full(1033, value, dtype=dtype) + 0))
            assert_same_bits(result, np.full(1033, result[0]))


# -------------------------------------------------------------------------------------------------- kernels that run


def launches(xp, function):
    before = xp.counters()
    function()
    return xp.counters() - before


@deferred
def test_an_operation_on_few_elements_runs_by_a_quickly_compiled_kernel_at_first(xp, device):
    """Its bits are those of the one with vectors, which takes its place for many elements and after many runs."""
    if device.backend != "cpu":
        pytest.skip("a GPU's kernels are of one kind")
    host = np.linspace(-3, 3, 1033)
    x, y = xp.asarray(host), xp.asarray(host[::-1].copy())
    sig = xp.nextafter(x[:2], y[:2]).sig

    def run(n):
        assert_same_bits(xp.asnumpy(xp.nextafter(x[:n], y[:n])), np.nextafter(host[:n], host[::-1][:n]))
        return sig.flat is not None

    sig.flat, sig.trials = None, 0  # as if new
    assert [run(5) for _ in range(18)] == [False] * 16 + [True] * 2
    sig.flat, sig.trials = None, 0
    assert [run(n) for n in (1024, 1025, 3)] == [False, True, True]
    sig.flat, sig.trials = None, 0
    assert xp.warmup(run, 3)


@deferred
def test_few_elements_are_fused_when_they_come_often(xp, device):
    x = xp.asarray(np.linspace(-3, 3, 1024))

    def launched(n):
        before = xp.counters()
        xp.realize(xp.nextafter(xp.copysign(x[:n], 0.75 - x[:n]), 0.625))
        return (xp.counters() - before)["launches"]

    assert [launched(1000 + k) for k in range(18)] == [3] * 16 + [1] * 2

    def strided(n):
        return xp.sum(xp.nextafter(xp.copysign(x[: 2 * n : 2], 0.75 - x[: 2 * n : 2]), 0.375))

    xp.warmup(strided, 3)
    before = xp.counters()
    xp.realize(strided(4))
    assert (xp.counters() - before)["launches"] == 1


@deferred
def test_gaussian_is_one_kernel_that_reads_x_once(xp, capsys):
    x = xp.realize(xp.linspace(-1, 1, 1000))

    def gaussian():
        return xp.exp(-((x - 0.1) ** 2) / (2 * 0.3 * 0.3))

    xp.warmup(gaussian)
    y = gaussian()
    xp.explain(y)
    text = capsys.readouterr().out
    assert text.count("reads") == text.count("reads 8.00 kB, writes 8.00 kB") == 1, text
    counted = launches(xp, lambda: xp.realize(y))
    assert (counted["launches"], counted["fused"], counted["compilations"]) == (1, 1, 0)
    wanted = np.exp(-((xp.asnumpy(x) - 0.1) ** 2) / (2 * 0.3 * 0.3))
    np.testing.assert_allclose(xp.asnumpy(y), wanted, rtol=1e-14)


@deferred
def test_chains_of_many_lengths_compile_few_kernels(xp):
    """At first sight a chain runs operation by operation."""
    x = xp.realize(xp.ones(300, dtype=xp.int16))
    xp.realize(x - 3)

    def chains():
        for length in range(1, 12):
            y = x
            for _ in range(length):
                y = y - 3
            assert int(y[0]) == 1 - 3 * length

    assert launches(xp, chains)["compilations"] <= 2


@deferred
def test_small_arrays_of_many_shapes_share_kernels(xp, rng):
    """Any strides and sizes: a program of small arrays compiles one for each of a few numbers of dimensions."""
    kernels = set()
    shapes = [(3, 4), (4, 3), (1, 31), (31, 2), (2, 3, 4), (7, 1, 5), (5, 4, 3), (2, 3, 2, 3), (2, 2, 3, 2, 2), (1000,)]
    for shape in shapes:
        a, b = rng.normal(size=shape), rng.normal(size=shape)
        x = xp.permute_dims(xp.asarray(np.ascontiguousarray(a.T)), tuple(range(a.ndim))[::-1])
        result = xp.hypot(x, xp.flip(xp.asarray(b), axis=-1))
        sig = result.sig
        np.testing.assert_allclose(xp.asnumpy(result), np.hypot(a, b[..., ::-1]), rtol=1e-15)
        kernels |= {launcher.kernel.symbol for launcher in sig.launchers.values()}
    assert len(kernels) <= 5  # with 0, 2 or 6 dimensions outside the tile; one operand strided, or both


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_arrays_have_the_bits_of_large_ones(dtype, xp, rng):
    """Their kernels are compiled without vectors, and reduce in other groups: integers show that none is left out."""
    a = rng.normal(scale=3, size=(300, 40)).astype(dtype)
    x = xp.asarray(a)
    small = xp.asarray(a[:9, :8])
    for function in (xp.sin, xp.exp, xp.tanh, lambda v: abs(v) ** 1.7, lambda v: xp.hypot(v, 1 / v), xp.floor):
        part = function(small[:, ::-1].T)
        assert_same_bits(xp.asnumpy(part), xp.asnumpy(function(x))[:9, :8][:, ::-1].T)
    whole = xp.asarray(np.round(a))
    for axis in (0, 1, (0, 1)):
        for few in (whole[:9, :8], whole[:9, 7::-1], whole[:17:2, :40].T, whole[:300, :1], whole[:1, :40]):
            wanted = np.sum(xp.asnumpy(few), axis=axis)
            assert_same_bits(xp.asnumpy(xp.sum(few, axis=axis)), np.asarray(wanted))


def test_doubling_is_linear(xp):
    x = xp.realize(xp.ones(7))

    def double():
        y = x
        for _ in range(30):
            y = y + y
        assert xp.asnumpy(y).tolist() == [2.0**30] * 7

    assert launches(xp, double)["launches"] <= 30


def test_sums_of_shared_terms_are_linear(xp):
    x = y = xp.asarray([1.0, 2.0])

    def fibonacci():
        a, b = x, y
        for _ in range(40):
            a, b = b, a + b
        assert xp.asnumpy(b).tolist() == [267914296.0, 535828592.0]

    counted = launches(xp, fibonacci)
    assert counted["launches"] <= 4 * 40


def test_long_chains_neither_overflow_nor_grow(xp):
    x = xp.realize(xp.zeros(3))
    before = xp.memory_info().live
    y = x
    for _ in range(100_000):
        y = y + 1.0
    assert xp.asnumpy(y).tolist() == [100_000.0] * 3
    assert xp.memory_info().live - before < 1 << 20


def test_dropped_expressions_do_not_pile_up(xp):
    x = xp.realize(xp.zeros(3))
    for _ in range(20_000):
        x + 1.0
    xp.realize(x * 2)
    gc.collect()
    assert len(_journal.notes) + len(_journal._waiting) < 20_000


def test_many_pending_expressions(xp):
    """None is lost, however many wait."""
    x = xp.realize(xp.zeros(3))
    waiting = [x + i for i in range(10_000)]
    x[...] = -1
    assert [float(y[0]) for y in waiting[::997]] == list(range(0, 10_000, 997))


def test_a_node_is_cheap(xp):
    """A guard against accidents of ten times; benchmarks measure."""
    x = y = xp.realize(xp.zeros(3))
    start = time.thread_time()  # a busy machine takes none of it
    for _ in range(1000):
        y = x + 1.0
    assert time.thread_time() - start < 0.1
    xp.realize(y)


# ------------------------------------------------------------------------------------------- memory held by expressions


def test_large_operands_of_small_masks_are_freed(xp):
    """After mask = big > 0; del big, the bytes of big are freed by mask's first use."""
    big = xp.realize(xp.ones(4_000_000))
    mask = big > 0
    live = xp.memory_info().live
    del big
    xp.realize(mask)
    assert xp.memory_info().live <= live - 4_000_000 * (8 - 1) + (1 << 16)


def test_results_keep_nothing_that_they_were_made_of(xp):
    x = xp.realize(xp.ones(1_000_000))
    before = xp.memory_info().live
    y = xp.sin(x) * 2 + xp.exp(x)
    xp.realize(y)
    z = xp.realize(xp.exp(y) + xp.cos(y))
    del y
    assert xp.memory_info().live - before < 8_000_000 + (1 << 20)
    assert z.shape == (1_000_000,)


def test_small_results_of_large_operands_are_realised_early(xp):
    before = xp.memory_info().live
    parts = []
    for _ in range(30):
        big = xp.realize(xp.ones(500_000))
        parts.append(big[0] + 1)
    del big
    xp.realize(xp.ones(500_000))
    assert xp.memory_info().live - before < 3 * 4_000_000 + (1 << 20)
    assert [float(part) for part in parts] == [2.0] * 30


# -------------------------------------------------------------------------------------------------------------- writes


def both(xp, change, *arrays):
    """Apply a change to our arrays and to NumPy's, and compare all of them."""
    mine, theirs = [xp.asarray(a) for a in arrays], [a.copy() for a in arrays]
    change(*mine)
    change(*theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert_same_bits(xp.asnumpy(a), b)


def shift_up(d):
    d[1:] += d[:-1]


def shift_down(d):
    d[:-1] -= d[1:]


def reverse(d):
    d[:] = d[::-1]


def into_reversed(d):
    d[::-1] = d


def scaled_shift(d):
    d[3:] = d[:-3] * 2 + d[3:]


def every_other(d):
    d[::2] = d[1::2] + d[::2]


def twice(d):
    d[1:] = d[:-1] + 1
    d[:-1] = d[1:] * d[:-1]


def own_elements(d):
    d[:] = d[0]
    d[1:] += d[0:1]


@pytest.mark.parametrize(
    "change", [shift_up, shift_down, reverse, into_reversed, scaled_shift, every_other, twice, own_elements]
)
@pytest.mark.parametrize("length", [1, 2, 6, 64, 20_000, 70_000])
def test_overlapping_assignments_are_as_if_copied(change, length, xp, rng):
    if length == 1 and change is every_other:
        length = 4
    both(xp, change, rng.integers(-1000, 1000, length + length % 2 if change is every_other else length))


def test_overlapping_assignments_of_matrices(xp, rng):
    def transpose(m):
        m[...] = m.T

    def add_transpose(m):
        m += m.T

    def rows(m):
        m[1:, :] = m[:-1, ::-1] + m[1:, :]

    def diagonal_shift(m):
        m[1:, 1:] = m[:-1, :-1]

    def broadcast(m):
        m[...] = m[0]
        m *= m[:, :1]

    for change in (transpose, add_transpose, rows, diagonal_shift, broadcast):
        for size in (3, 130):
            both(xp, change, rng.integers(0, 100, (size, size)))


def test_swap(xp):
    a = xp.asarray([1, 2, 3])
    i, j = 0, 2
    a[i], a[j] = a[j], a[i]
    assert a.tolist() == [3, 2, 1]
    m = xp.asarray([[1, 2], [3, 4]])
    m[0, 0], m[1, 1] = m[1, 1], m[0, 0]
    assert m.tolist() == [[4, 2], [3, 1]]


def test_writes_wait_for_pending_readers(xp):
    x = xp.asarray([1.0, 2.0, 3.0])
    view = x[1:]
    y, z, w = x * 10, view + 1, x + view[0]
    x[...] = 0
    x += 1
    view[0] = 7
    assert (y.tolist(), z.tolist(), w.tolist()) == ([10, 20, 30], [3, 4], [3, 4, 5])
    assert (x.tolist(), view.tolist()) == ([1, 7, 1], [7, 1])


def test_writes_to_pending_arrays(xp):
    x = xp.asarray([1.0, 2.0, 3.0])
    y = x + 1
    z = y * 2
    y[0] = 100
    y += 1
    assert (x.tolist(), y.tolist(), z.tolist()) == ([1, 2, 3], [101, 4, 5], [4, 6, 8])
    y = x + 1
    z = y * 2
    y *= 3
    assert (y.tolist(), z.tolist()) == ([6, 9, 12], [4, 6, 8])


def test_in_place_on_itself(xp):
    x = xp.asarray([1.0, 2.0, 3.0])
    x += x
    x *= x
    x -= x[::-1]
    assert x.tolist() == [-32, 0, 32]


STEPS = st.sampled_from(
    [
        *("add", "add", "multiply", "scalar", "slice", "reverse", "iadd", "imul", "iscalar", "set", "set scalar"),
        *("set mask", "set array", "gather", "copy", "drop", "realize", "where", "element"),
    ]
)


@settings(max_examples=150)
@given(st.lists(st.tuples(STEPS, *[st.integers(0, 10**6)] * 3), min_size=3, max_size=25))
def test_programs(xp, steps):
    """Random programs over arrays and views of each other give what NumPy gives."""
    ours, theirs = [xp.asarray(np.arange(1, 9)), xp.asarray(np.arange(8) - 4)], [np.arange(1, 9), np.arange(8) - 4]

    def keep(x, a):
        ours.append(x)
        theirs.append(a)

    for step, i, j, k in steps:
        i %= len(ours)
        x, a = ours[i], theirs[i]
        partners = [n for n, other in enumerate(theirs) if other.shape == a.shape]
        j = partners[j % len(partners)]
        y, b = ours[j], theirs[j]
        n, number = len(a), k % 7 - 3
        match step:
            case "add" | "multiply":
                function = operator.add if step == "add" else operator.mul
                keep(function(x, y), function(a, b))
            case "scalar":
                keep(number - x, number - a)
            case "slice":
                key = slice(k % 3, n - k % 2, 1 + k % 2)
                keep(x[key], a[key])
            case "reverse":
                keep(x[::-1], a[::-1])
            case "iadd":
                x += y
                a += b
            case "imul":
                x *= y
                a *= b
            case "iscalar":
                x -= number
                a -= number
            case "set":
                x[...] = y
                a[...] = b
            case "set scalar":
                x[k % 3 :] = number
                a[k % 3 :] = number
            case "set mask":
                x[y > number] = k
                a[b > number] = k
            case "set array":
                order = np.random.default_rng(k).permutation(n)
                x[xp.asarray(order)] = y * 2
                a[order] = b * 2
            case "gather":
                order = np.random.default_rng(k).integers(0, n, n) if n else np.zeros(0, int)
                keep(x[xp.asarray(order)], a[order])
            case "copy":
                keep(xp.asarray(x, copy=True), a.copy())
            case "drop" if len(ours) > 2:
                del ours[i], theirs[i]
            case "realize":
                xp.realize(x)
            case "where":
                keep(xp.where(x > y, x, number), np.where(a > b, a, number))
            case "element" if n:
                x[k % n], x[0] = x[0], x[k % n]
                a[k % n], a[0] = a[0], a[k % n]
    for x, a in zip(ours, theirs, strict=True):
        assert_same_bits(xp.asnumpy(x), a)


@pytest.mark.parametrize("start", ["from_dlpack", "asarray"])
def test_foreign_writers(start, xp, device):
    """x = from_dlpack(a); y = x * 2; a[:] = 0; y keeps its values."""
    if device.backend != "cpu":
        pytest.skip("NumPy shares memory of the CPU alone")
    a = np.arange(5.0)
    x = xp.from_dlpack(a) if start == "from_dlpack" else xp.asarray(a, copy=False)
    y, z = x * 2, x[1:] + 1
    a[:] = 0
    assert (y.tolist(), z.tolist()) == ([0, 2, 4, 6, 8], [2, 3, 4, 5])
    assert x.tolist() == [0] * 5
    x[1:3] = 9
    assert a.tolist() == [0, 9, 9, 0, 0]


@deferred
def test_memory_that_numpy_has_let_go_of_is_deferred_over_again(xp, device):
    """While NumPy holds memory, expressions over it run at the call; before and afterwards they are deferred."""
    if device.backend != "cpu":
        pytest.skip("NumPy shares memory of the CPU alone")

    def waits(y):
        return y.sig.op != "leaf"

    x, other = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0])
    before = x + 1
    whole = np.asarray(x)
    rest = whole[1:]
    whole[0] = 10
    assert before.tolist() == [2, 3, 4]
    del whole
    during, elsewhere = x * 2, other * 2
    rest[0] = 20
    assert (waits(during), waits(elsewhere)) == (False, True)  # NumPy cannot write to the other
    assert during.tolist() == [20, 4, 6]
    del rest
    assert waits(x * 2)
    for holder in (memoryview, lambda a: a[::-1].T, lambda a: a.view(np.int64)):
        held = holder(np.asarray(x))
        assert not waits(x + 1)
        del held
        assert waits(x + 1)
    assert (x + 1).tolist() == [11, 21, 4]


@pytest.mark.parametrize("way", ["from_dlpack", "asarray"])
def test_exported_memory_has_foreign_writers(way, xp, device):
    if device.backend != "cpu":
        pytest.skip("NumPy shares memory of the CPU alone")
    x = xp.asarray([1.0, 2.0, 3.0])
    pending = x + 1
    a = np.from_dlpack(x) if way == "from_dlpack" else np.asarray(x, copy=False)
    later = x * 2
    if a.flags.writeable:
        a[:] = 0
        assert x.tolist() == [0, 0, 0]
    assert (pending.tolist(), later.tolist()) == ([2, 3, 4], [2, 4, 6])
    x[0] = 5
    assert a[0] == 5


@deferred
def test_pending_arrays_are_written_by_masks_without_a_pass(xp, rng):
    """`x[mask] = number` of what has no memory yet makes another expression of it."""
    host = rng.standard_normal((40, 25)).astype(np.float32)
    x = xp.realize(xp.asarray(host) + 0)
    for value in (0.0, -np.inf, 7, xp.asarray(2.5, dtype=xp.float32)):
        before = xp.counters()
        y, z = x * 2, xp.zeros(x.shape, dtype=xp.float32)
        same = y
        y[y > 1] = value
        z[x < 0] = value
        assert (xp.counters() - before)["launches"] == 0
        y[x < -1] = 3
        wanted, other = host * 2, np.zeros_like(host)
        wanted[wanted > 1] = value
        wanted[host < -1] = 3
        other[host < 0] = value
        assert np.array_equal(xp.asnumpy(y), wanted) and np.array_equal(xp.asnumpy(z), other) and same is y
        y[...] = 1
        assert np.array_equal(xp.asnumpy(x), host)
    y = x + 1
    view = y[1:]  # from now on it has memory, which others see
    y[y > 0] = 0
    assert not xp.any(view > 0) and not xp.any(y > 0)
    y = x + 1
    for wrong in ("a", xp.asarray([1.0, 2.0]), 1j):
        with pytest.raises((TypeError, ValueError)):
            y[x > 0] = wrong
    assert np.array_equal(xp.asnumpy(y), host + 1)
