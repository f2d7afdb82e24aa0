"""Random kernels of int32 tiles, against the same program in NumPy: broadcasts, reductions, scans, permutations, loops,
conditions and stores that later loads must see, in any order."""

import os
import random
import textwrap

import numpy as np
import pytest

from .launching import prepare

HEAD = """import triton
import triton.language as tl


@triton.jit
def k(x0, x1, o0, o1, m, n, t, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
"""
INSIDE = "(i < m) & (j < n)"
SEEDS = int(os.environ.get("NBX_TEST_PROGRAMS", 40))


def divide(a, b):
    """Towards zero, as kernels divide."""
    return (np.sign(a) * (np.abs(np.asarray(a, "i8")) // b)).astype("i4")


def remainder(a, b):
    return (a - divide(a, b) * np.int32(b)).astype("i4")


class Program:
    """A kernel and the same in NumPy, line by line. Values are named; their shapes are kept."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        choice = self.random
        self.rows, self.columns = 2 ** choice.randint(0, 5), 2 ** choice.randint(0, 6)
        self.shape = (self.rows, self.columns)
        self.m = choice.choice([self.rows, choice.randint(0, self.rows)])
        self.n = choice.choice([self.columns, choice.randint(0, self.columns)])
        self.trips = choice.randint(0, 3)
        self.triton: list[str] = []
        self.numpy = ["i = np.arange(M, dtype='i4')[:, None]", "j = np.arange(N, dtype='i4')[None, :]"]
        self.shapes = {}
        for k in range(2):
            other = choice.randint(-3, 3)
            if self.m < self.rows or self.n < self.columns:
                self.add(self.shape, f"tl.load(x{k} + i * N + j, mask={INSIDE}, other={other})",
                         f"np.where({INSIDE}, X{k}, np.int32({other}))")  # fmt: skip
            else:
                self.add(self.shape, f"tl.load(x{k} + i * N + j)", f"X{k}.copy()")
        steps = [self.arithmetic, self.arithmetic, self.selection, self.expensive, self.reduction, self.scan,
                 self.transposition, self.reshaping, self.flip, self.loop, self.condition, self.write,
                 self.writing_loop, self.writing_condition]  # fmt: skip
        for _ in range(choice.randint(3, 9)):
            choice.choice(steps)()
        last = [self.tile() for _ in range(2)]
        self.line(f"tl.store(o0 + i * N + j, {last[0]}, mask={INSIDE})", f"O0[:m, :n] = {last[0]}[:m, :n]")
        self.line(f"tl.store(o1 + i * N + j, {last[1]})", f"O1[:] = {last[1]}")
        self.text = HEAD + textwrap.indent("\n".join(self.triton), "    ") + "\n"

    def line(self, triton, numpy):
        self.triton.append(triton)
        self.numpy.append(numpy)

    def add(self, shape, triton, numpy):
        name = f"v{len(self.shapes)}"
        self.line(f"{name} = {triton}", f"{name} = {numpy}")
        self.shapes[name] = shape
        return name

    def tile(self):
        """Some value, as a tile of the whole shape."""
        name = self.random.choice(list(self.shapes))
        shape = self.shapes[name]
        if shape == self.shape:
            return name
        ways = {
            (): (f"tl.zeros((M, N), tl.int32) + {name}", f"np.zeros((M, N), 'i4') + {name}"),
            (self.rows * self.columns,): (f"tl.reshape({name}, (M, N))", f"{name}.reshape(M, N)"),
            self.shape[::-1]: (f"tl.trans({name})", f"{name}.T"),
            (self.rows,): (f"tl.broadcast_to({name}[:, None], (M, N))", f"np.broadcast_to({name}[:, None], (M, N))"),
            (self.columns,): (f"tl.broadcast_to({name}[None, :], (M, N))", f"np.broadcast_to({name}, (M, N))"),
        }
        return self.add(self.shape, *ways[shape])

    def arithmetic(self):
        a, b, operator = self.tile(), self.tile(), self.random.choice("+-*^&|")
        self.add(self.shape, f"{a} {operator} {b}", f"{a} {operator} {b}")

    def selection(self):
        a, b, c = self.tile(), self.tile(), self.tile()
        self.add(self.shape, f"tl.where({a} > {b}, {c}, {a})", f"np.where({a} > {b}, {c}, {a})")

    def expensive(self):
        a = self.tile()
        first = f"remainder(divide({a} * np.int32(7) + np.int32(3), 5), 11)"
        self.add(self.shape, f"(({a} * 7 + 3) // 5 % 11 + {a} % 13) // 3",
                 f"divide({first} + remainder({a}, 13), 3)")  # fmt: skip

    def reduction(self):
        a, name, axis = self.tile(), self.random.choice(["sum", "max"]), self.random.choice([0, 1, None])
        if self.random.random() < 0.5:
            a = self.add(self.shape, f"tl.where({INSIDE}, {a}, 0)", f"np.where({INSIDE}, {a}, np.int32(0))")
        shape = () if axis is None else (self.columns,) if axis == 0 else (self.rows,)
        dtype = ", dtype='i4'" if name == "sum" else ""
        self.add(shape, f"tl.{name}({a}, {axis})", f"np.{name}({a}, {axis}{dtype})")

    def scan(self):
        a, axis, reverse = self.tile(), self.random.choice([0, 1]), self.random.random() < 0.4
        flip = (lambda text: f"np.flip({text}, {axis})") if reverse else (lambda text: text)
        self.add(self.shape, f"tl.cumsum({a}, {axis}, reverse={reverse})",
                 flip(f"np.cumsum({flip(a)}, {axis}, dtype='i4')"))  # fmt: skip

    def transposition(self):
        a = self.tile()
        self.add(self.shape[::-1], f"tl.trans({a})", f"{a}.T.copy()")

    def reshaping(self):
        a = self.tile()
        self.add((self.rows * self.columns,), f"tl.reshape({a}, (M * N,))", f"{a}.reshape(M * N)")

    def flip(self):
        a = self.tile()
        self.add(self.shape, f"tl.flip({a}, 1)", f"{a}[:, ::-1].copy()")

    def loop(self):
        a, b = self.tile(), self.tile()
        w = self.add(self.shape, f"{a}", f"{a}.copy()")
        self.line(f"for q in range(0, t):\n    {w} = {w} * 3 + {b} + q",
                  f"for q in range(t):\n    {w} = {w} * np.int32(3) + {b} + np.int32(q)")  # fmt: skip
        u = self.add((self.columns,), "tl.zeros((N,), tl.int32)", "np.zeros(N, 'i4')")
        self.line(f"for q in range(0, t):\n    {u} += tl.load(x0 + q % M * N + tl.arange(0, N)) + tl.max({w}, 0)",
                  f"for q in range(t):\n    {u} = {u} + X0[q % M] + np.max({w}, 0)")  # fmt: skip

    def writing_loop(self):
        """A tile is stored in each iteration, and read again by the next."""
        a = self.tile()
        w = self.add(self.shape, f"{a}", f"{a}.copy()")
        before = self.add(self.shape, "tl.load(x1 + i * N + j)", "X1.copy()")
        self.line(
            "for q in range(0, t):\n    u = tl.load(x1 + i * N + j)\n"
            f"    tl.store(x1 + i * N + j, {w} + q, mask={INSIDE})\n    tl.debug_barrier()\n"
            f"    {w} = u - {w} + tl.load(x1 + i * N + (N - 1 - j))\n    tl.debug_barrier()",
            f"for q in range(t):\n    u = X1.copy()\n    X1[:m, :n] = ({w} + np.int32(q))[:m, :n]\n"
            f"    {w} = u - {w} + X1[:, ::-1]",
        )
        self.add(self.shape, f"{before} + {w}", f"{before} + {w}")

    def writing_condition(self):
        a, b = self.tile(), self.tile()
        s = self.add((), f"tl.max({a})", f"np.max({a})")
        self.line(
            f"if {s} > 20:\n    tl.store(x1 + i * N + j, {b}, mask={INSIDE})\n    tl.debug_barrier()",
            f"if {s} > 20:\n    X1[:m, :n] = {b}[:m, :n]",
        )
        self.add(self.shape, f"tl.load(x1 + i * N + j) + {a}", f"X1 + {a}")

    def condition(self):
        a, b = self.tile(), self.tile()
        s = self.add((), f"tl.sum({a})", f"np.sum({a}, dtype='i4')")
        w = self.add(self.shape, a, a)
        self.line(f"if {s} % 2 == 0:\n    {w} = {b} + 1\nelse:\n    {w} = {a} - {b}",
                  f"if remainder({s}, 2) == 0:\n    {w} = {b} + np.int32(1)\nelse:\n    {w} = {a} - {b}")  # fmt: skip

    def write(self):
        a = self.tile()
        self.line(f"tl.store(x1 + i * N + j, {a}, mask={INSIDE})\ntl.debug_barrier()", f"X1[:m, :n] = {a}[:m, :n]")
        self.add(self.shape, "tl.load(x1 + i * N + j)", "X1.copy()")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_program(seed):
    program = Program(seed)
    rng = np.random.default_rng(seed)
    x0, x1 = (rng.integers(-50, 50, program.shape).astype("i4") for _ in range(2))
    o0, o1 = np.zeros_like(x0), np.zeros_like(x0)
    ours = [a.copy() for a in (x0, x1, o0, o1)]
    sizes = program.m, program.n, program.trips
    launcher, values = prepare("k", (*ours, *sizes), {"M": program.rows, "N": program.columns}, text=program.text)
    launcher.run(*values, 1, 1, 1)
    names = {"M": program.rows, "N": program.columns, "m": sizes[0], "n": sizes[1], "t": sizes[2]}
    names |= {"X0": x0, "X1": x1, "O0": o0, "O1": o1, "np": np, "divide": divide, "remainder": remainder}
    with np.errstate(all="ignore"):
        exec("\n".join(program.numpy), names)
    for name, expected, got in zip(("x1", "o0", "o1"), (x1, o0, o1), ours[1:], strict=True):
        assert np.array_equal(expected, got), f"{name} differs\n{program.text}"


def test_addresses_of_a_few_bits_of_a_counter():
    """LLVM 22 vectorises this wrongly where it is let."""
    text = """import triton
import triton.language as tl


@triton.jit
def k(x, o, N: tl.constexpr):
    i = tl.arange(0, N)[None, :]
    j = tl.arange(0, N)[:, None]
    low = i & 7
    tl.store(o + (j * N + i), tl.load(x + (low + 16 * (i >> 3) + 32 * j)) ^ tl.load(x + (low + 16 * j)))
"""
    x, i, j = np.arange(1024, dtype="i4") * 7919 % 5000, np.arange(16)[None, :], np.arange(16)[:, None]
    out = np.zeros((16, 16), "i4")
    launcher, values = prepare("k", (x, out), {"N": 16}, text=text)
    launcher.run(*values, 1, 1, 1)
    assert np.array_equal(out, x[(i & 7) + 16 * (i >> 3) + 32 * j] ^ x[(i & 7) + 16 * j])
