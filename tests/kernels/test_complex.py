"""Complex functions against mpmath (values), the standard's tables and cmath (special cases), and their symmetries.

Errors are measured on the whole number: |error| ≤ 4 eps · |result| plus the smallest subnormal.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Iterator

import mpmath
import numpy as np
import pytest
from evaluate import evaluate

DTYPES = [np.complex64, np.complex128]
COUNT = 300  # points of each kind
PRECISION = 200  # bits of the reference where nothing cancels


def real_type(dtype: type) -> np.dtype:
    return np.empty(0, dtype).real.dtype


def join(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    z = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    z.real, z.imag = real, imaginary
    return z


def module_of(function: str) -> str:
    return "complex_functions" if function in FUNCTIONS or function == "pow" else "complex"


def call(function: str, *operands: np.ndarray, device: str = "cpu") -> np.ndarray:
    """The complex result of a function of complex operands."""
    parts = [part for z in operands for part in (z.real, z.imag)]
    return join(*evaluate(module_of(function), function, parts, [parts[0].dtype] * 2, device))


# ------------------------------------------------------------------------------------------------------ points


def spread(
    rng: np.random.Generator, n: int, dtype: type, low: float | None = None, high: float | None = None
) -> np.ndarray:
    """Numbers whose parts have exponents in [low, high) (default: all, with subnormals); half have parts alike."""
    info = np.finfo(real_type(dtype))
    low = math.log2(float(info.smallest_subnormal)) if low is None else low
    high = info.maxexp if high is None else high

    def part() -> np.ndarray:
        mantissa = rng.choice([-1.0, 1.0], n) * rng.uniform(1, 2 - 2**-20, n)
        return np.ldexp(mantissa, np.floor(rng.uniform(low, high, n)).astype(int)).astype(info.dtype)

    z = join(part(), part())
    half = n // 2
    z.imag[:half] = z.real[:half] * rng.uniform(-1, 1, half).astype(info.dtype)
    z.imag += 0.0  # mpmath has no -0
    return z


def rectangle(rng: np.random.Generator, n: int, dtype: type, x: float, y: float, center: complex = 0) -> np.ndarray:
    kind = real_type(dtype)
    return join((rng.uniform(-x, x, n) + center.real).astype(kind), (rng.uniform(-y, y, n) + center.imag).astype(kind))


def near(rng: np.random.Generator, n: int, dtype: type, points: list[complex]) -> np.ndarray:
    """The points plus differences of all magnitudes down to an ulp."""
    digits = np.finfo(real_type(dtype)).nmant + 3
    return (rng.choice(np.array(points, complex), n) + spread(rng, n, np.complex128, -digits, 0)).astype(dtype)


def exponential_points(rng: np.random.Generator, dtype: type) -> Iterator[np.ndarray]:
    """Where the exponential family is hard: around 0, zeros and poles, where e^x over- or underflows, large angles."""
    edge, angle, digits = (89, 1e30, 24) if dtype is np.complex64 else (710, 1e300, 53)
    quarter = math.pi / 2
    yield spread(rng, COUNT, dtype)
    yield spread(rng, COUNT, dtype, -digits, 1)
    yield rectangle(rng, COUNT, dtype, 20, 20)
    yield rectangle(rng, COUNT, dtype, edge, 1e5)
    yield rectangle(rng, COUNT, dtype, 1e5, edge)
    yield rectangle(rng, COUNT, dtype, 2, angle)
    yield rectangle(rng, COUNT, dtype, 3, 1e-3, edge)
    yield rectangle(rng, COUNT, dtype, 1e-3, 3, edge * 1j)
    yield rectangle(rng, COUNT, dtype, edge * 0.3, 1, -edge * 1.1)
    yield join(
        *(
            x.astype(real_type(dtype))
            for x in (rng.uniform(edge, 2 * edge, COUNT), 10 ** rng.uniform(-edge * 0.4, 0, COUNT))
        )
    )
    yield near(rng, COUNT, dtype, [0, quarter, -quarter * 1j, quarter * 1j, 2 * quarter * 1j, 2 * quarter])


def inverse_points(rng: np.random.Generator, dtype: type) -> Iterator[np.ndarray]:
    """Where logarithms and inverse functions are hard: branch points, unit circles around 0 and -1, axes, all sizes."""
    top, digits = (127, 24) if dtype is np.complex64 else (1023, 53)
    yield spread(rng, COUNT, dtype)
    yield spread(rng, COUNT, dtype, -digits, 1)
    yield spread(rng, COUNT, dtype, digits // 2, 2 * digits)
    yield spread(rng, COUNT, dtype, top - 3, top)
    yield rectangle(rng, COUNT, dtype, 2, 2)
    yield rectangle(rng, COUNT, dtype, 20, 20)
    yield near(rng, COUNT, dtype, [1, -1, 1j, -1j, 2, -2])
    yield near(rng, COUNT, dtype, [x for r in np.linspace(-3, 3, 25) for x in (r, r * 1j)])
    circle = np.exp(1j * rng.uniform(-math.pi, math.pi, COUNT))
    circle *= 1 + rng.choice([-1, 1], COUNT) * 0.5 ** rng.uniform(1, digits + 3, COUNT)
    yield circle.astype(dtype)
    yield (circle - 1).astype(dtype)


def algebraic_points(rng: np.random.Generator, dtype: type) -> Iterator[np.ndarray]:
    top = np.finfo(real_type(dtype)).maxexp
    yield spread(rng, COUNT, dtype)
    yield spread(rng, COUNT, dtype, -3, 3)
    yield spread(rng, COUNT, dtype, top - 3, top)
    yield spread(rng, COUNT, dtype, -top - 20, -top + 8)


Points = Callable[[np.random.Generator, type], Iterator[np.ndarray]]

ALGEBRAIC: dict[str, Callable] = {
    "square": lambda z: z * z,
    "reciprocal": lambda z: 1 / z,
    "sign": lambda z: z / abs(z),
    "sqrt": mpmath.sqrt,
}
EXPONENTIALS = ["exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
INVERSES = ["log", "log1p", "log2", "log10", "asin", "acos", "atan", "asinh", "acosh", "atanh"]
FUNCTIONS: dict[str, Points] = dict.fromkeys(EXPONENTIALS, exponential_points) | dict.fromkeys(INVERSES, inverse_points)


def log2(z: mpmath.mpc) -> mpmath.mpc:
    return mpmath.log(z) / mpmath.log(2)


def atanh(z: mpmath.mpc) -> mpmath.mpc:
    return mpmath.atanh(z) if abs(z) > 1e-20 else z + z**3 / 3  # there mpmath 1.4's digits cancel


def atan(z: mpmath.mpc) -> mpmath.mpc:
    return mpmath.atan(z) if abs(z) > 1e-20 else z - z**3 / 3


REFERENCES: dict[str, Callable] = {"log2": log2, "atan": atan, "atanh": atanh}


# ---------------------------------------------------------------------------------------------------- accuracy


def exact(z: np.ndarray) -> list[mpmath.mpc]:
    return [mpmath.mpc(float(v.real), float(v.imag)) for v in z]


def difference(value: float, reference: mpmath.mpf, largest: mpmath.mpf, eps: mpmath.mpf) -> mpmath.mpf:
    """The error of one part; infinity is right where the reference rounds to it, up to 4 eps."""
    if abs(reference) > largest or math.isinf(value):
        reached = abs(reference) >= largest * (1 - 4 * eps) and abs(value) >= float(largest) * (1 - 4 * float(eps))
        return mpmath.mpf(0) if reached and (value > 0) == (reference > 0) else mpmath.inf
    return mpmath.mpf(value) - reference if value == value else mpmath.inf


def worst(z: np.ndarray, references: list[mpmath.mpc], *operands: np.ndarray) -> tuple[float, str]:
    """The largest error less the smallest subnormal, in eps · |result|, and where it is."""
    info = np.finfo(real_type(z.dtype.type))
    eps, tiny, largest = (mpmath.mpf(float(x)) for x in (info.eps, info.smallest_subnormal, info.max))
    found = (0.0, "")
    for i, (value, reference) in enumerate(zip(z, references, strict=True)):
        w = mpmath.mpc(reference)
        pairs = ((float(value.real), w.real), (float(value.imag), w.imag))
        error = mpmath.hypot(*(difference(v, r, largest, eps) for v, r in pairs)) - tiny
        if error > found[0] * eps * abs(w):
            found = (
                float(error / (eps * abs(w))),
                f"{[x[i] for x in operands]} gives {value}, not {mpmath.nstr(w, 20)}",
            )
    return found


def check(rng_points: Iterator[tuple[np.ndarray, ...]], function: str, reference: Callable, limit: float = 4) -> None:
    with mpmath.workprec(PRECISION):
        for operands in rng_points:
            value = call(function, *operands)
            error, where = worst(value, [reference(*x) for x in zip(*map(exact, operands), strict=True)], *operands)
            assert error <= limit, f"{function}: {error:.3g} eps: {where}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ALGEBRAIC)
def test_algebraic(function, dtype, rng):
    check(((z,) for z in algebraic_points(rng, dtype)), function, ALGEBRAIC[function], 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function, dtype, rng):
    check(
        ((z,) for z in FUNCTIONS[function](rng, dtype)), function, REFERENCES.get(function) or getattr(mpmath, function)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_abs(dtype, rng):
    with mpmath.workprec(PRECISION):
        for z in algebraic_points(rng, dtype):
            (r,) = evaluate("complex", "abs", [z.real, z.imag], [real_type(dtype)])
            error, where = worst(r + z * 0, [abs(w) for w in exact(z)], z)
            assert error <= 2, where


def powers(rng: np.random.Generator, dtype: type) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Bases and exponents of all sizes; results near the limits; bases near 1 and the unit circle, axes, diagonals."""
    edge, digits = (88, 24) if dtype is np.complex64 else (709, 53)
    yield rectangle(rng, COUNT, dtype, 2, 2), rectangle(rng, COUNT, dtype, 3, 3)
    yield rectangle(rng, COUNT, dtype, 50, 50), rectangle(rng, COUNT, dtype, 20, 20)
    z = spread(rng, COUNT, dtype)
    yield z, rectangle(rng, COUNT, dtype, edge / 40, edge / 40)
    size = np.log(abs(z.astype(np.clongdouble))).astype(float)
    yield z, (edge / size * rng.uniform(-1.05, 1.05, COUNT) + 1j * rng.uniform(-1, 1, COUNT)).astype(dtype)
    yield near(rng, COUNT, dtype, [1]), spread(rng, COUNT, dtype, 0, 16)
    circle = np.exp(1j * rng.uniform(-math.pi, math.pi, COUNT)) * (1 + 0.5 ** rng.uniform(1, digits, COUNT))
    yield circle.astype(dtype), rectangle(rng, COUNT, dtype, 1e5, 1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow(dtype, rng):
    check(powers(rng, dtype), "pow", lambda z, w: mpmath.exp(w * mpmath.log(z)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_powers(dtype, rng):
    """Whole powers of Gaussian integers, which have so few digits, are exact; so are powers of i, however large."""
    base = [complex(a, b) for a in range(-6, 7) for b in range(-6, 7) if a or b]
    z, n = (x.ravel() for x in np.meshgrid(np.array(base, dtype), np.arange(9)))
    expected = []
    for w, k in zip(z, n, strict=True):
        a, b = 1, 0
        for _ in range(k):
            a, b = a * int(w.real) - b * int(w.imag), a * int(w.imag) + b * int(w.real)
        expected.append(complex(a, b))
    few = abs(np.array(expected)) < 1 / np.finfo(dtype).eps
    assert (call("pow", z, n.astype(dtype))[few] == np.array(expected, dtype)[few]).all()
    large = np.array([2**20 + 1, 2**24 - 1, 2**24, 2**30], dtype)
    assert (call("pow", np.full(4, 1j, dtype), large) == np.array([1j, -1j, 1, 1])).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_powers(dtype):
    inf, nan = math.inf, math.nan
    cases = {
        (0, 0): 1,
        (0, 2): 0,
        (0, 1 + 1j): 0,
        (0, -1): complex(nan, nan),
        (0, 1j): complex(nan, nan),
        (nan, 0): 1,
        (inf, 0): 1,
        (1, nan): complex(nan, nan),
        (nan, 1): complex(nan, nan),
        (2, -inf): 0,
        (2, inf): complex(inf, nan),
        (inf, 2): complex(inf, nan),
    }
    z, w = (np.array(x, dtype) for x in zip(*cases, strict=True))
    value, expected = call("pow", z, w), np.array(list(cases.values()), dtype)
    right = same(value, expected)
    assert right.all(), (z[~right], w[~right], value[~right], expected[~right])


def pairs_of_operands(rng: np.random.Generator, dtype: type) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Operands of all sizes, near 1, at the limits, and such that the product or quotient is at them."""
    top = np.finfo(real_type(dtype)).maxexp
    half = top // 2
    regions = {"all": (None, None), "one": (-3, 3), "top": (top - 3, top), "bottom": (-top - 20, -top + 8)}
    regions |= {"low": (-half - 12, -half + 12), "high": (half - 3, half + 3)}
    for left, right in itertools.product(regions.values(), repeat=2):
        yield spread(rng, COUNT // 4, dtype, *left), spread(rng, COUNT // 4, dtype, *right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_multiply(dtype, rng):
    check(pairs_of_operands(rng, dtype), "multiply", lambda a, b: a * b, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_divide(dtype, rng):
    check(pairs_of_operands(rng, dtype), "divide", lambda a, b: a / b, 2)


# ------------------------------------------------------------------------------------------------ special cases

#: The standard's tables for a + bj with b ≥ 0 or NaN; those of the other half follow from f(conj z) = conj f(z).
#: `nonzero` and `positive` are finite; ?0, ?inf… have the sign that the standard leaves open.
SPECIAL_CASES = {
    "sqrt": """
        ±0 +0: 0 0
        any +inf: inf inf
        finite nan: nan nan
        -inf positive: 0 inf
        +inf positive: inf 0
        -inf nan: nan ?inf
        +inf nan: inf nan
        nan finite: nan nan
        nan nan: nan nan""",
    "exp": """
        ±0 +0: 1 0
        finite +inf: nan nan
        finite nan: nan nan
        +inf +0: inf 0
        -inf finite: 0*cos 0*sin
        +inf nonzero: inf*cos inf*sin
        -inf +inf: ?0 ?0
        +inf +inf: ?inf nan
        -inf nan: ?0 ?0
        +inf nan: ?inf nan
        nan +0: nan 0
        nan nonzero: nan nan
        nan +inf: nan nan
        nan nan: nan nan""",
    "expm1": """
        ±0 +0: 0 0
        finite +inf: nan nan
        finite nan: nan nan
        +inf +0: inf 0
        -inf finite: -1 0*sin
        +inf nonzero: inf*cos inf*sin
        -inf +inf: -1 ?0
        +inf +inf: ?inf nan
        -inf nan: -1 ?0
        +inf nan: ?inf nan
        nan +0: nan 0
        nan nonzero: nan nan
        nan +inf: nan nan
        nan nan: nan nan""",
    "sinh": """
        +0 +0: 0 0
        +0 +inf: ?0 nan
        +0 nan: ?0 nan
        positive +inf: nan nan
        positive nan: nan nan
        +inf +0: inf 0
        +inf positive: inf*cos inf*sin
        +inf +inf: ?inf nan
        +inf nan: ?inf nan
        nan +0: nan 0
        nan nonzero: nan nan
        nan nan: nan nan""",
    "cosh": """
        +0 +0: 1 0
        +0 +inf: nan ?0
        +0 nan: nan ?0
        nonzero +inf: nan nan
        nonzero nan: nan nan
        +inf +0: inf 0
        +inf nonzero: inf*cos inf*sin
        +inf +inf: ?inf nan
        +inf nan: inf nan
        nan ±0: nan ?0
        nan nonzero: nan nan
        nan nan: nan nan""",
    "tanh": """
        +0 +0: 0 0
        nonzero +inf: nan nan
        +0 +inf: 0 nan
        nonzero nan: nan nan
        +0 nan: 0 nan
        +inf positive: 1 0
        +inf +inf: 1 ?0
        +inf nan: 1 ?0
        nan +0: nan 0
        nan nonzero: nan nan
        nan nan: nan nan""",
    "log": """
        -0 +0: -inf pi
        +0 +0: -inf 0
        finite +inf: inf pi/2
        finite nan: nan nan
        -inf positive: inf pi
        +inf positive: inf 0
        -inf +inf: inf 3pi/4
        +inf +inf: inf pi/4
        ±inf nan: inf nan
        nan finite: nan nan
        nan +inf: inf nan
        nan nan: nan nan""",
    "log1p": """
        -1 +0: -inf 0
        finite +inf: inf pi/2
        finite nan: nan nan
        -inf positive: inf pi
        +inf positive: inf 0
        -inf +inf: inf 3pi/4
        +inf +inf: inf pi/4
        ±inf nan: inf nan
        nan finite: nan nan
        nan +inf: inf nan
        nan nan: nan nan""",
    "acos": """
        ±0 +0: pi/2 -0
        ±0 nan: pi/2 nan
        finite +inf: pi/2 -inf
        nonzero nan: nan nan
        -inf positive: pi -inf
        +inf positive: 0 -inf
        -inf +inf: 3pi/4 -inf
        +inf +inf: pi/4 -inf
        ±inf nan: nan ?inf
        nan finite: nan nan
        nan +inf: nan -inf
        nan nan: nan nan""",
    "acosh": """
        ±0 +0: 0 pi/2
        finite +inf: inf pi/2
        nonzero nan: nan nan
        +0 nan: nan ?pi/2
        -inf positive: inf pi
        +inf positive: inf 0
        -inf +inf: inf 3pi/4
        +inf +inf: inf pi/4
        ±inf nan: inf nan
        nan finite: nan nan
        nan +inf: inf nan
        nan nan: nan nan""",
    "asinh": """
        +0 +0: 0 0
        positive +inf: inf pi/2
        finite nan: nan nan
        +inf positive: inf 0
        +inf +inf: inf pi/4
        nan +0: nan 0
        nan nonzero: nan nan
        nan +inf: ?inf nan
        nan nan: nan nan""",
    "atanh": """
        +0 +0: 0 0
        +0 nan: 0 nan
        1 +0: inf 0
        positive +inf: 0 pi/2
        nonzero nan: nan nan
        +inf positive: 0 pi/2
        +inf +inf: 0 pi/2
        +inf nan: 0 nan
        nan finite: nan nan
        nan +inf: ?0 pi/2
        nan nan: nan nan""",
}
NONZERO = [-2.5, -1e-30, 1e-30, 0.75, 3.0, 1e30]
CLASSES = {
    "+0": [0.0],
    "-0": [-0.0],
    "±0": [0.0, -0.0],
    "+inf": [math.inf],
    "-inf": [-math.inf],
    "±inf": [math.inf, -math.inf],
    "nan": [math.nan],
    "nonzero": NONZERO,
    "positive": [x for x in NONZERO if x > 0],
    "finite": [*NONZERO, 0.0, -0.0],
    "any": [*NONZERO, 0.0, -0.0, math.inf, -math.inf, math.nan],
    "1": [1.0],
    "-1": [-1.0],
}


def agrees(value: float, expected: str, angle: float, rtol: float) -> bool:
    """Whether one part of a result is as a table has it; signs of zeros and infinities count unless marked by ?."""
    if expected == "nan":
        return math.isnan(value)
    free = expected.startswith("?")
    body = expected.lstrip("?")
    if "*" in body:
        size, function = body.split("*")
        size = math.copysign(float(size), getattr(math, function)(angle))
    else:
        numerator, _, denominator = body.partition("/")
        factor = float(numerator.removesuffix("pi") or 1) * math.pi if "pi" in numerator else float(numerator)
        size = factor / float(denominator or 1)
    if free:
        value, size = abs(value), abs(size)
    if size == 0 or math.isinf(size):
        return value == size and math.copysign(1, value) == math.copysign(1, size)
    return math.isclose(value, size, rel_tol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", SPECIAL_CASES)
def test_special_cases(function, dtype):
    for row in SPECIAL_CASES[function].strip().splitlines():
        case, _, result = row.partition(":")
        left, right = (CLASSES[word] for word in case.split())
        points = np.array([complex(a, b) for a in left for b in right], dtype)
        for z, value in zip(points, call(function, points), strict=True):
            for part, expected in zip((value.real, value.imag), result.split(), strict=True):
                ok = agrees(float(part), expected, float(z.imag), 4 * np.finfo(dtype).eps)
                assert ok, f"{function}({z}) is {value}; the standard's row is {row.strip()}"


PARTS = [0.0, 1e-310, 1e-30, 0.25, 1.0, 1.5, 3.0, 700.0, 1e30, 1e300, math.inf, math.nan]
with np.errstate(over="ignore"):
    GRID = np.array([complex(a, b) for a in PARTS for b in PARTS])
    GRID = np.concatenate([GRID, -GRID, GRID.conj(), -GRID.conj()])


def same(a: np.ndarray, b: np.ndarray, rtol: float = 0, atol: float = 0) -> np.ndarray:
    """Equal with the signs of zeros, or both NaN, part by part."""

    def parts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            close = (x == y) | (abs(x - y) <= rtol * abs(y) + atol)
        return (np.isnan(x) & np.isnan(y)) | (close & (np.signbit(x) == np.signbit(y)))

    return parts(a.real, b.real) & parts(a.imag, b.imag)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["sqrt", *FUNCTIONS])
def test_conjugate(function, dtype):
    """f(conj z) = conj f(z), on both sides of branch cuts, too."""
    with np.errstate(over="ignore"):
        z = GRID[~np.isnan(GRID)].astype(dtype)
    wrong = ~same(call(function, z.conj()), call(function, z).conj())
    assert not wrong.any(), z[wrong][:5]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["sinh", "tanh", "sin", "tan", "asin", "asinh", "atan", "atanh"])
def test_odd(function, dtype):
    with np.errstate(over="ignore"):
        z = GRID[~np.isnan(GRID)].astype(dtype)
    wrong = ~same(call(function, -z), -call(function, z))
    assert not wrong.any(), z[wrong][:5]


@pytest.mark.parametrize("function", ["sqrt", *FUNCTIONS])
def test_cmath(function):
    """Python's cmath, which follows C99: equal where it returns a value and is right."""
    if not hasattr(cmath, function):
        pytest.skip("not in cmath")
    values = call(function, GRID)
    for z, value in zip(GRID, values, strict=True):
        try:
            expected = np.array([getattr(cmath, function)(complex(z))])
        except (ValueError, OverflowError):
            continue
        # Where a part is NaN, C99 leaves signs and sometimes the other part open; the standard's table decides.
        if not (np.isnan(expected).any() or math.isinf(z.real) or math.isinf(z.imag)):
            assert same(np.array([value]), expected, 1e-14, 1e-322).all(), (
                f"{function}({z}) is {value}, in cmath {expected[0]}"
            )


# ------------------------------------------------------------------------------------------ arithmetic, one by one

INFINITE, ZERO, FINITE, UNKNOWN = "infinite", "zero", "finite", "unknown"


def kind(z: complex) -> str:
    if math.isinf(z.real) or math.isinf(z.imag):
        return INFINITE
    if math.isnan(z.real) or math.isnan(z.imag):
        return UNKNOWN
    return ZERO if z == 0 else FINITE


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities(dtype):
    """C99, Annex G.5.1: what multiplication and division of infinities give."""
    parts = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]
    numbers = [complex(a, b) for a in parts for b in parts]
    left, right = (np.array(x, dtype) for x in zip(*itertools.product(numbers, numbers), strict=True))
    products = {(INFINITE, INFINITE), (INFINITE, FINITE), (FINITE, INFINITE)}
    infinite = {(INFINITE, FINITE), (INFINITE, ZERO), (FINITE, ZERO)}
    for a, b, p, q in zip(left, right, call("multiply", left, right), call("divide", left, right), strict=True):
        case = kind(a), kind(b)
        if case in products:
            assert kind(p) == INFINITE, f"{a} * {b} is {p}"
        if case in infinite:
            assert kind(q) == INFINITE, f"{a} / {b} is {q}"
        if case in {(FINITE, INFINITE), (ZERO, INFINITE)}:
            assert q == 0, f"{a} / {b} is {q}"
        if case == (ZERO, ZERO):
            assert kind(q) == UNKNOWN, f"{a} / {b} is {q}"
        if case == (UNKNOWN, UNKNOWN):
            assert kind(p) == kind(q) == UNKNOWN


def test_limits():
    """Quotients and products near the limits, where the textbook's formula fails."""
    largest, tiny = (float(x) for x in (np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal))
    z = call(
        "divide",
        np.array([0j, tiny, complex(largest, largest)], "c8"),
        np.array([1e-36, tiny, complex(largest, largest)], "c8"),
    )
    assert z.tolist() == [0, 1, 1]
    a = np.array([1e308 + 1e308j, 1e308 + 1e308j, 5e-324, 1e-300 + 1e-300j])
    assert call("divide", a, np.array([1e308 + 1e308j, 1e308j, 5e-324j, 1e300 + 1e300j])).tolist() == [
        1,
        1 - 1j,
        -1j,
        0,
    ]
    assert call("multiply", np.array([1e200 + 1e200j]), np.array([1e108 + 1e108j])).tolist() == [complex(0, math.inf)]
    assert call("square", np.array([1e200 + 1e200j, 3 + 4j])).tolist() == [complex(0, math.inf), -7 + 24j]


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_identities(dtype, rng):
    """z/z = 1, z·1 = z, z/1 = z, z·conj z is real, products commute."""
    top = np.finfo(real_type(dtype)).maxexp
    z, w = (spread(rng, 1000, dtype, -top + 30, top - 5) for _ in range(2))
    one = np.ones_like(z)
    assert same(call("multiply", z, one), z).all()
    assert same(call("divide", z, one), z).all()
    close = spread(rng, 1000, dtype, -50, 50)
    assert (call("divide", close, close) == 1).all()
    assert (call("multiply", z, z.conj()).imag == 0).all()
    assert same(call("multiply", z, w), call("multiply", w, z)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_functions(dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        z = GRID.astype(dtype)
    kind = z.real.dtype
    left, right = (x.ravel() for x in np.meshgrid(z[::3], z[::5]))

    def parts(*operands: np.ndarray) -> list[np.ndarray]:
        return [part for x in operands for part in (x.real, x.imag)]

    with np.errstate(all="ignore"):
        assert same(call("add", left, right), left + right).all()
        assert same(call("subtract", left, right), left - right).all()
    assert same(call("conj", z), z.conj()).all()
    assert same(call("negative", z), -z).all()
    assert same(call("positive", z), z).all()
    halves = z[np.isfinite(z)] * 0.5 + 0.5
    assert same(call("round", halves), np.round(halves)).all()
    assert same(call("round", z), join(np.rint(z.real), np.rint(z.imag))).all()
    for function, reference in {
        "isnan": np.isnan,
        "isinf": np.isinf,
        "isfinite": np.isfinite,
        "nonzero": lambda z: z != 0,
    }.items():
        assert (evaluate("complex", function, parts(z), [bool])[0] == reference(z)).all(), function
    for function, reference in {"equal": np.equal, "not_equal": np.not_equal}.items():
        assert (evaluate("complex", function, parts(left, right), [bool])[0] == reference(left, right)).all(), function
    np.testing.assert_array_equal(evaluate("complex", "real", parts(z), [kind])[0], z.real)
    np.testing.assert_array_equal(evaluate("complex", "imag", parts(z), [kind])[0], z.imag)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sign_and_abs_of_special_numbers(dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        z = GRID.astype(dtype)
    (r,) = evaluate("complex", "abs", [z.real, z.imag], [real_type(dtype)])
    info = np.finfo(dtype)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(r, np.hypot(z.real, z.imag), rtol=2 * info.eps, atol=float(info.smallest_subnormal))
    zeros = np.array([complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)], dtype)
    assert same(call("sign", zeros), np.zeros(4, dtype)).all()
    inf = math.inf
    special = np.array(
        [complex(inf, 1), complex(-2, -inf), complex(inf, inf), complex(inf, math.nan), complex(1, math.nan)], dtype
    )
    nan = complex(math.nan, math.nan)
    assert same(call("sign", special), np.array([1, complex(-0.0, -1), nan, nan, nan], dtype)).all()


def test_imaginary_axis():
    """Exact zeros, and infinity where the other part is 0."""
    z = np.array([100j, 1j, -1j], np.complex64)
    with np.errstate(over="ignore"):
        assert call("sin", z)[0] == complex(0, math.inf)
    for function in ("sin", "sinh", "tan", "tanh"):
        assert (call(function, z).real == 0).all()
    for function in ("cos", "cosh"):
        assert (call(function, z).imag == 0).all()
