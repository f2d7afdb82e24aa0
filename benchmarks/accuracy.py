"""The largest error of every mathematical function, in units in the last place, against mpmath.

    python benchmarks/accuracy.py [--device cuda:0] [--count 2000] [--seed 0] [--output FILE] [name ...]

prints a table in Markdown: a row a function, a column a dtype, NumPy's errors at the same points beside ours. Points
are random bit patterns, random numbers where the function does something, powers of two and their neighbours, subnormal
numbers, and the neighbours of each function's hard arguments. Special values (zeros, infinities, NaN, what lies outside
a domain) are exact, and tested in tests/kernels/test_math_accuracy.py.

A function is a row of FUNCTIONS. A result above the largest number counts as the next power of two, infinity too.
"""

from __future__ import annotations

import argparse
import platform
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from mpmath import mp, mpf


class Format(NamedTuple):
    """A binary floating-point format."""

    dtype: np.dtype
    precision: int  # bits of the significand
    least: int  # exponents of normal numbers
    greatest: int

    def ulp(self, value: mpf) -> mpf:
        """The distance of the numbers around `value`; the smallest subnormal below the normal numbers."""
        exponent = int(mp.floor(mp.log(abs(value), 2))) if value else self.least
        if value and mpf(2) ** (exponent + 1) <= abs(value):  # the logarithm was rounded down to an integer
            exponent += 1
        return mpf(2) ** (min(max(exponent, self.least), self.greatest) - self.precision + 1)

    @property
    def limit(self) -> mpf:
        return mpf(2) ** (self.greatest + 1)

    @property
    def smallest(self) -> mpf:
        return mpf(2) ** (self.least - self.precision + 1)


FORMATS = {
    "float32": Format(np.dtype(np.float32), 24, -126, 127),
    "float64": Format(np.dtype(np.float64), 53, -1022, 1023),
    "float16": Format(np.dtype(np.float16), 11, -14, 15),
    "bfloat16": Format(np.dtype(ml_dtypes.bfloat16), 8, -126, 127),
}

Points = tuple[np.ndarray, ...]


class Function(NamedTuple):
    name: str
    reference: Callable[..., mpf]
    domain: Callable[..., Any]  # where the reference is finite: of float64 arrays, gives an array of bool
    ranges: tuple[tuple[float, float], ...]  # where to look closely
    hard: Callable[[Format], Iterable[Any]] = lambda form: ()  # arguments to look at with their neighbours
    pairs: Callable[[np.random.Generator, int, Format], tuple[Any, ...]] | None = None  # for a function of several
    unit: Callable[..., mpf] | None = None  # a larger unit than the result's, from the arguments and the format
    bound: float = 2  # how many units float32 and float64 may be off


def anywhere(*x: np.ndarray) -> Any:
    return np.ones(x[0].shape, bool)


def logaddexp(x: mpf, y: mpf) -> mpf:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def limits_of(inverse: Callable[[mpf], mpf], *scales: float) -> Callable[[Format], Iterable[mpf]]:
    """Arguments at which a function overflows and, from where it is subnormal and where it vanishes."""

    def hard(form: Format) -> Iterable[mpf]:
        results = (form.limit, mpf(2) ** form.least, form.smallest, form.smallest / 2)
        return [s * inverse(r) for r in results for s in scales]

    return hard


def around_halves_of_pi(form: Format) -> Iterable[mpf]:
    known = (mpf(16367173) * 2**72, mpf(6381956970095103) * mpf(2) ** 797, mpf(2) ** form.greatest)
    return [*(k * mp.pi / 4 for k in (*range(1, 17), 99, 1001, 65537, 2**20 + 1, 2**30 + 3)), *known]


def around_one(form: Format) -> Iterable[mpf]:
    return [1 - mpf(2) ** -k for k in range(1, form.precision)] + [1 + mpf(2) ** -k for k in range(1, form.precision)]


def powers_in_range(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    """x anywhere or near 1, and y so that x**y lies between the smallest subnormal and overflow."""
    x = np.exp2(rng.uniform(form.least, form.greatest, n))
    x[::3] = 1 + rng.standard_normal(x[::3].size) * np.exp2(-rng.uniform(1, form.precision, x[::3].size))
    x[::5] = rng.integers(2, 100, x[::5].size)
    x = np.abs(x).astype(form.dtype)
    target = rng.uniform(form.least - form.precision, form.greatest + 1, n)
    with np.errstate(all="ignore"):
        y = (target / np.log2(x.astype(np.longdouble))).astype(np.float64).astype(form.dtype)
        y[::7] = np.round(y[::7].astype(np.float64)).astype(form.dtype)
        x[::7] *= np.asarray(-1, form.dtype)
    return x, y


def of_similar_size(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    exponent = rng.uniform(form.least - form.precision, form.greatest, n)
    x = rng.choice([-1, 1], n) * np.exp2(exponent)
    return x, rng.standard_normal(n) * np.exp2(np.minimum(exponent + rng.uniform(-form.precision, 1, n), form.greatest))


def around_zero_sum(rng: np.random.Generator, n: int, form: Format) -> tuple[Any, Any]:
    """Arguments whose exponentials sum to about 1, or differ by little."""
    x = -np.exp2(rng.uniform(-form.precision, 6, n))
    x[::2] = rng.uniform(-100, 100, x[::2].size)
    y = np.log1p(-np.exp(np.minimum(x, -1e-5)))
    y[::2] = x[::2] + rng.standard_normal(x[::2].size) * 4
    return x, y


FUNCTIONS = [
    Function("sqrt", mp.sqrt, lambda x: x >= 0, ((0.5, 4),)),
    Function("reciprocal", lambda x: 1 / x, lambda x: x != 0, ((0.5, 4),)),
    Function("hypot", mp.hypot, anywhere, ((-4, 4),), pairs=of_similar_size),
    Function("exp", mp.exp, anywhere, ((-1, 1), (-100, 90), (-745, 710)), limits_of(mp.log, 1)),
    Function("expm1", mp.expm1, anywhere, ((-2, 2), (-40, 90), (-40, 710)), limits_of(mp.log, 1)),
    Function("log", mp.log, lambda x: x > 0, ((0.5, 2), (0, 100)), around_one),
    Function("log1p", mp.log1p, lambda x: x > -1, ((-0.9, 1), (-1, 100)), lambda form: [-x for x in around_one(form)]),
    Function("log2", lambda x: mp.log(x, 2), lambda x: x > 0, ((0.5, 2), (0, 100)), around_one),
    Function(
        "log10", mp.log10, lambda x: x > 0, ((0.5, 2), (0, 2000)), lambda form: [mpf(10) ** k for k in range(-5, 39)]
    ),
    Function(
        "logaddexp",
        logaddexp,
        anywhere,
        ((-5, 5),),
        pairs=around_zero_sum,
        unit=lambda form, *x: max(mpf(2) ** (1 - form.precision) * max(map(abs, x)), form.ulp(logaddexp(*x))),
    ),
    Function(
        "pow", mp.power, lambda x, y: (x > 0) | ((x != 0) & (y == np.floor(y))), ((0.1, 10),), pairs=powers_in_range
    ),
    Function("sin", mp.sin, anywhere, ((-7, 7), (-1e5, 1e5)), around_halves_of_pi),
    Function("cos", mp.cos, anywhere, ((-7, 7), (-1e5, 1e5)), around_halves_of_pi),
    Function("tan", mp.tan, anywhere, ((-7, 7), (-1e5, 1e5)), around_halves_of_pi),
    Function("asin", mp.asin, lambda x: np.abs(x) <= 1, ((-1, 1), (0.4, 0.6)), around_one),
    Function("acos", mp.acos, lambda x: np.abs(x) <= 1, ((-1, 1), (0.4, 0.6)), around_one),
    Function("atan", mp.atan, anywhere, ((-3, 3), (-100, 100)), around_one),
    Function("atan2", mp.atan2, lambda y, x: x != 0, ((-3, 3),), pairs=of_similar_size),
    Function("sinh", mp.sinh, anywhere, ((-2, 2), (-90, 90), (-711, 711)), limits_of(lambda r: mp.log(2 * r), 1, -1)),
    Function("cosh", mp.cosh, anywhere, ((-2, 2), (-90, 90), (-711, 711)), limits_of(lambda r: mp.log(2 * r), 1, -1)),
    Function("tanh", mp.tanh, anywhere, ((-1, 1), (-20, 20)), lambda form: [mp.log(2) * form.precision / 2]),
    Function("asinh", mp.asinh, anywhere, ((-3, 3), (-1e5, 1e5)), lambda form: [-4096, 4096, 2**26, 2**27]),
    Function("acosh", mp.acosh, lambda x: x >= 1, ((1, 1.1), (1, 3), (1, 1e5)), around_one),
    Function("atanh", mp.atanh, lambda x: np.abs(x) < 1, ((-1, 1), (-0.4, 0.4)), around_one),
]


def neighbours(x: np.ndarray, form: Format, steps: int) -> np.ndarray:
    """x and the numbers up to `steps` places from it."""
    integer = np.dtype(f"i{form.dtype.itemsize}")
    bits = x.astype(form.dtype).view(integer)
    return np.concatenate([(bits + k).astype(integer) for k in range(-steps, steps + 1)]).view(form.dtype)


def anything(rng: np.random.Generator, n: int, form: Format) -> np.ndarray:
    """Random bit patterns: every exponent as often as the next."""
    return rng.integers(0, 256, n * form.dtype.itemsize, dtype=np.uint8).view(form.dtype)


def points(function: Function, form: Format, count: int, rng: np.random.Generator) -> Points:
    """Arguments inside the function's domain: about `count` of each kind."""
    with np.errstate(all="ignore"):
        if function.pairs is not None:
            chosen = [np.asarray(x).astype(form.dtype) for x in function.pairs(rng, 2 * count, form)]
            some = [anything(rng, count, form) for _ in chosen]
            close = [rng.uniform(*function.ranges[0], count).astype(form.dtype) for _ in chosen]
            x = tuple(np.concatenate(three) for three in zip(some, close, chosen, strict=True))
        else:
            powers = np.exp2(np.arange(form.least - form.precision + 1, form.greatest + 1, dtype=np.float64))
            powers = neighbours(rng.choice(powers, min(count // 3, powers.size), replace=False), form, 1)
            hard = np.array([float(h) for h in function.hard(form) if abs(h) < form.limit])
            x = (
                np.concatenate(
                    [
                        anything(rng, count, form),
                        *(rng.uniform(*ends, count).astype(form.dtype) for ends in function.ranges),
                        *(rng.choice([-1, 1], powers.size).astype(form.dtype) * powers, powers),
                        (rng.uniform(-1, 1, count // 8) * 2.0**form.least).astype(form.dtype),
                        np.arange(-40, 41).astype(form.dtype) / np.asarray(2, form.dtype),
                        neighbours(hard, form, 3),
                    ]
                ),
            )
        wide = [a.astype(np.float64) for a in x]
        inside = np.logical_and.reduce([np.isfinite(a) for a in wide])
        inside &= function.domain(*wide)
    return tuple(a[inside] for a in x)


def errors(function: Function, form: Format, x: Points, result: np.ndarray) -> np.ndarray:
    """The error of each result in units in the last place of the exact value."""
    found = np.empty(result.size)
    with mp.workprec(256):
        for i, (got, *arguments) in enumerate(
            zip(result.astype(np.float64), *(a.astype(np.float64) for a in x), strict=True)
        ):
            given = [mpf(a) for a in arguments]
            exact = function.reference(*given)
            unit = function.unit(form, *given) if function.unit else form.ulp(exact)
            if np.isnan(got):
                found[i] = np.inf
                continue
            value = form.limit * np.sign(got) if np.isinf(got) else mpf(got)
            exact = min(max(exact, -form.limit), form.limit)
            found[i] = abs(value - exact) / unit
    return found


class Worst(NamedTuple):
    error: float
    arguments: tuple[float, ...]


def worst(function: Function, form: Format, x: Points, call: Callable[..., np.ndarray]) -> Worst:
    with np.errstate(all="ignore"):
        found = errors(function, form, x, call(*x))
    i = int(np.argmax(found))
    return Worst(float(found[i]), tuple(float(a[i]) for a in x))


def on_device(function: Callable[..., Any], xp: Any, device: Any) -> Callable[..., np.ndarray]:
    """A function of the array namespace as a function of NumPy's arrays."""
    return lambda *x: np.asarray(function(*(xp.asarray(a, device=device) for a in x)))


class Peers(NamedTuple):
    """The module whose functions are measured, and the one beside it."""

    ours: Any
    theirs: Any
    name: str
    formats: Sequence[str] = tuple(FORMATS)


def table(
    functions: Sequence[Function], peers: Peers, xp: Any, device: Any, names: Sequence[str], count: int, seed: int
) -> list[str]:
    columns = [*peers.formats, f"{peers.name} float32", f"{peers.name} float64"]
    lines = [f"| function | {' | '.join(columns)} |", f"|---|{'--:|' * len(columns)}"]
    for function in functions:
        if names and function.name not in names:
            continue
        cells = {}
        for name in peers.formats:
            form = FORMATS[name]
            rng = np.random.default_rng([seed, zlib.crc32(f"{function.name} {name}".encode())])
            x = points(function, form, count, rng)
            ours = worst(function, form, x, on_device(getattr(peers.ours, function.name), xp, device))
            print(f"{function.name} {name}: {ours}, {x[0].size} points", file=sys.stderr)
            cells[name] = f"{ours.error:.3f}"
            theirs = getattr(peers.theirs, function.name, None)
            if f"{peers.name} {name}" in columns and theirs is not None:
                error = worst(function, form, x, theirs).error
                cells[f"{peers.name} {name}"] = f"{error:.3f}" if error < 1000 else f"{error:.0e}"
        lines.append(f"| {function.name} | {' | '.join(cells.get(c, '') for c in columns)} |")
    return lines


def run(functions: Sequence[Function], peers: Peers, script: str, title: str, says: str, description: str) -> None:
    """The command line of a script that prints a table of errors."""
    import nbx_array as xp

    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu or cuda:0 (default: the default device)")
    parser.add_argument("--count", type=int, default=2000, help="points of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the table here too")
    parser.add_argument("names", nargs="*", help="functions (default: all)")
    options = parser.parse_args()
    device = options.device or xp.empty(0).device
    module = sys.modules[peers.theirs.__name__.partition(".")[0]]
    lines = [
        f"# {title} on {device}, in units in the last place",
        "",
        f"`python benchmarks/{script} --count {options.count} --seed {options.seed}`, "
        f"Python {platform.python_version()}, {peers.name} {module.__version__}. {says}",
        "",
        *table(functions, peers, xp, device, options.names, options.count, options.seed),
    ]
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")


def main() -> None:
    import nbx_array as xp

    says = "The unit of logaddexp is eps·max(|x|, |y|), or the result's where that is larger."
    run(FUNCTIONS, Peers(xp, np, "NumPy"), "accuracy.py", "Largest errors", says, __doc__ or "")


if __name__ == "__main__":
    main()
