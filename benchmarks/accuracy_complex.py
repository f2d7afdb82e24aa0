"""The largest error of every complex function against mpmath, in units of eps · |result|.

    python benchmarks/accuracy_complex.py [--device cuda:0] [--count 1000] [--seed 0] [--output FILE] [name ...]

prints a table in Markdown: a row a function, a column a dtype, NumPy's errors at the same points beside ours. An error
is that of the whole number, less the smallest subnormal number: |error| ≤ 4 eps · |result| + smallest is the bound.
Each function has kinds of points: all sizes of the parts, and where it is hard (branch points, the unit circle, zeros,
poles, over- and underflow). Special values and branch cuts are tested in tests/kernels/test_complex.py.

A function is a row of FUNCTIONS. pow keeps to the bound where |w log z| is below 2^20 (complex128: 2^30); beyond, the
logarithm has too few digits for the angle.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpc, mpf

DTYPES = (np.dtype(np.complex64), np.dtype(np.complex128))

Operands = tuple[np.ndarray, ...]


# ------------------------------------------------------------------------------------------------------ points


def part(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype


def join(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    z = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    z.real, z.imag = real, imaginary
    return z


class Points:
    """Draws `count` complex numbers at a time."""

    def __init__(self, rng: np.random.Generator, count: int, dtype: np.dtype) -> None:
        self.rng, self.count, self.dtype = rng, count, dtype
        self.info = np.finfo(part(dtype))
        self.digits = self.info.nmant + 1
        self.top = self.info.maxexp
        self.edge = math.log(float(self.info.max))  # e^x overflows beyond

    def uniform(self, low: float, high: float) -> np.ndarray:
        return self.rng.uniform(low, high, self.count)

    def spread(self, low: float | None = None, high: float | None = None) -> np.ndarray:
        """Parts with exponents in [low, high) (default: all, with subnormals); half of the numbers have parts alike."""
        low = math.log2(float(self.info.smallest_subnormal)) if low is None else low
        high = self.top if high is None else high

        def parts() -> np.ndarray:
            mantissa = self.rng.choice([-1.0, 1.0], self.count) * self.uniform(1, 2 - 2**-20)
            return np.ldexp(mantissa, np.floor(self.uniform(low, high)).astype(int)).astype(self.info.dtype)

        z = join(parts(), parts())
        half = self.count // 2
        z.imag[:half] = z.real[:half] * self.rng.uniform(-1, 1, half).astype(self.info.dtype)
        z.imag += 0.0  # mpmath has no -0
        return z

    def rectangle(self, x: float, y: float, center: complex = 0) -> np.ndarray:
        return (self.uniform(-x, x) + 1j * self.uniform(-y, y) + center).astype(self.dtype)

    def near(self, *centers: complex) -> np.ndarray:
        """The centers plus differences of all sizes down to an ulp."""
        differences = Points(self.rng, self.count, DTYPES[1]).spread(-self.digits - 3, 0)
        return (self.rng.choice(np.array(centers, complex), self.count) + differences).astype(self.dtype)

    def circle(self) -> np.ndarray:
        """Close to the unit circle: at all distances down to an ulp."""
        distance = self.rng.choice([-1, 1], self.count) * 0.5 ** self.uniform(1, self.digits + 3)
        return np.exp(1j * self.uniform(-math.pi, math.pi)) * (1 + distance)


def algebraic(p: Points) -> Iterator[Operands]:
    for low, high in ((None, None), (-3, 3), (p.top - 3, p.top), (-p.top - 20, -p.top + 8)):
        yield (p.spread(low, high),)


def exponential(p: Points) -> Iterator[Operands]:
    """Around 0, zeros and poles, where e^x over- or underflows, at large angles."""
    quarter = math.pi / 2
    yield (p.spread(),)
    yield (p.spread(-p.digits, 1),)
    yield (p.rectangle(20, 20),)
    yield (p.rectangle(p.edge, 1e5),)
    yield (p.rectangle(1e5, p.edge),)
    yield (p.rectangle(2, 1e30),)
    yield (p.rectangle(3, 1e-3, p.edge),)
    yield (p.rectangle(1e-3, 3, p.edge * 1j),)
    yield (p.rectangle(p.edge * 0.3, 1, -p.edge * 1.1),)
    yield ((p.uniform(p.edge, 2 * p.edge) + 1j * 10 ** p.uniform(-p.edge * 0.4, 0)).astype(p.dtype),)
    yield (p.near(0, quarter, 2 * quarter, -quarter * 1j, quarter * 1j, 2 * quarter * 1j),)


def inverse(p: Points) -> Iterator[Operands]:
    """At branch points, the unit circles around 0 and -1, the axes."""
    yield (p.spread(),)
    yield (p.spread(-p.digits, 1),)
    yield (p.spread(p.digits // 2, 2 * p.digits),)
    yield (p.spread(p.top - 3, p.top),)
    yield (p.rectangle(2, 2),)
    yield (p.rectangle(20, 20),)
    yield (p.near(1, -1, 1j, -1j, 2, -2),)
    yield (p.near(*(direction * r for direction in (1, 1j) for r in np.linspace(-3, 3, 25))),)
    yield (p.circle().astype(p.dtype),)
    yield ((p.circle() - 1).astype(p.dtype),)


def two(p: Points) -> Iterator[Operands]:
    """Operands of all sizes, near 1, at the limits, and such that the product or quotient is at them."""
    half = p.top // 2
    regions = [(None, None), (-3, 3), (p.top - 3, p.top), (-p.top - 20, -p.top + 8), (-half - 12, -half + 12)]
    regions += [(half - 3, half + 3)]
    few = Points(p.rng, max(p.count // 4, 1), p.dtype)
    for left in regions:
        for right in regions:
            yield few.spread(*left), few.spread(*right)


def powers(p: Points) -> Iterator[Operands]:
    """Results of all sizes; bases near 1 and the unit circle."""
    yield p.rectangle(2, 2), p.rectangle(3, 3)
    yield p.rectangle(50, 50), p.rectangle(20, 20)
    z = p.spread()
    yield z, p.rectangle(p.edge / 40, p.edge / 40)
    size = np.log(np.abs(z.astype(np.clongdouble))).astype(float)
    yield z, (p.edge / size * p.uniform(-1.05, 1.05) + 1j * p.uniform(-1, 1)).astype(p.dtype)
    yield p.near(1), p.spread(0, 16)
    yield p.circle().astype(p.dtype), p.rectangle(1e5, 1e-3)


# --------------------------------------------------------------------------------------------------- functions


class Function(NamedTuple):
    name: str
    reference: Callable[..., Any]
    points: Callable[[Points], Iterator[Operands]]
    precision: int = 200  # bits that the reference is computed with


def log2(z: mpc) -> mpc:
    return mp.log(z) / mp.log(2)


def atan(z: mpc) -> mpc:
    return mp.atan(z) if abs(z) > 1e-20 else z - z**3 / 3  # mpmath 1.4 loses digits there


def atanh(z: mpc) -> mpc:
    return mp.atanh(z) if abs(z) > 1e-20 else z + z**3 / 3


FUNCTIONS = [
    Function("multiply", lambda z, w: z * w, two),
    Function("divide", lambda z, w: z / w, two),
    Function("abs", abs, algebraic),
    Function("square", lambda z: z * z, algebraic),
    Function("reciprocal", lambda z: 1 / z, algebraic),
    Function("sign", lambda z: z / abs(z), algebraic),
    Function("sqrt", mp.sqrt, algebraic),
    Function("pow", lambda z, w: mp.exp(w * mp.log(z)), powers),
    *(Function(f, getattr(mp, f), exponential) for f in ("exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh")),
    *(Function(f, getattr(mp, f), inverse) for f in ("log", "log1p", "log10")),
    # mpmath's subtract from squares of the argument, which may be 2^2148 apart
    *(Function(f, getattr(mp, f), inverse, 2400) for f in ("asin", "acos", "asinh", "acosh")),
    Function("log2", log2, inverse),
    Function("atan", atan, inverse),
    Function("atanh", atanh, inverse),
]


# ------------------------------------------------------------------------------------------------------ errors


class Worst(NamedTuple):
    error: float = 0.0
    operands: tuple[complex, ...] = ()
    result: complex = 0
    exact: str = ""


def difference(value: float, exact: mpf, largest: mpf, eps: mpf) -> mpf:
    """The error of one part. Infinity is right from 4 eps below the largest number on, which is right beyond, too."""
    if abs(exact) > largest or math.isinf(value):
        reached = min(abs(exact), abs(mpf(value))) >= largest * (1 - 4 * eps)
        return mpf(0) if reached and (value > 0) == (exact > 0) else mp.inf
    return mpf(value) - exact if value == value else mp.inf


def worst(function: Function, operands: Operands, results: np.ndarray) -> Worst:
    info = np.finfo(results.dtype)
    eps, smallest, largest = (mpf(float(x)) for x in (info.eps, info.smallest_subnormal, info.max))
    found = Worst()
    with mp.workprec(function.precision):
        for result, *given in zip(results, *operands, strict=True):
            exact = mpc(function.reference(*(mpc(float(z.real), float(z.imag)) for z in given)))
            parts = ((float(result.real), exact.real), (float(result.imag), exact.imag))
            error = mp.hypot(*(difference(value, x, largest, eps) for value, x in parts)) - smallest
            if error > found.error * eps * abs(exact):
                found = Worst(
                    float(error / (eps * abs(exact))), tuple(map(complex, given)), result.item(), mp.nstr(exact, 20)
                )
    return found


def largest_error(
    function: Function, dtype: np.dtype, count: int, rng: np.random.Generator, *calls: Callable[..., np.ndarray]
) -> list[Worst]:
    """The largest error of each of `calls`, ways to compute the function, over `count` points of each kind."""
    found = [Worst() for _ in calls]
    for operands in function.points(Points(rng, count, dtype)):
        for i, call in enumerate(calls):
            with np.errstate(all="ignore"):
                found[i] = max(found[i], worst(function, operands, call(*operands)), key=lambda w: w.error)
    return found


def on_device(function: Callable[..., Any], xp: Any, device: Any) -> Callable[..., np.ndarray]:
    """A function of the array namespace as a function of NumPy's arrays."""
    return lambda *x: np.asarray(function(*(xp.asarray(a, device=device) for a in x)))


def table(xp: Any, device: Any, names: Sequence[str], count: int, seed: int) -> list[str]:
    columns = [str(dtype) for dtype in DTYPES]
    columns += [f"NumPy {name}" for name in columns]
    lines = [f"| function | {' | '.join(columns)} |", f"|---|{'--:|' * len(columns)}"]
    for function in FUNCTIONS:
        if names and function.name not in names:
            continue
        cells = {}
        for dtype in DTYPES:
            rng = np.random.default_rng([seed, zlib.crc32(f"{function.name} {dtype}".encode())])
            calls = [on_device(getattr(xp, function.name), xp, device), getattr(np, function.name)]
            ours, theirs = largest_error(function, dtype, count, rng, *calls)
            print(f"{function.name} {dtype}: {ours}", file=sys.stderr)
            cells |= {str(dtype): f"{ours.error:.3f}", f"NumPy {dtype}": f"{theirs.error:.3g}"}
        lines.append(f"| {function.name} | {' | '.join(cells[column] for column in columns)} |")
    return lines


def main() -> None:
    import nbx_array as xp

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu or cuda:0 (default: the default device)")
    parser.add_argument("--count", type=int, default=1000, help="points of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the table here too")
    parser.add_argument("names", nargs="*", help="functions (default: all)")
    options = parser.parse_args()
    device = options.device or xp.empty(0).device
    lines = [
        f"# Largest errors of complex functions on {device}, in eps · |result|",
        "",
        f"`python benchmarks/accuracy_complex.py --count {options.count} --seed {options.seed}`, "
        f"Python {platform.python_version()}, NumPy {np.__version__}. "
        "inf: NaN, or infinity where the result is finite.",
        "",
        *table(xp, device, options.names, options.count, options.seed),
    ]
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
