"""Complex functions: errors against mpmath, special cases against the standard's tables and cmath, symmetries.

Errors are measured on the whole number: |error| ≤ 4 eps · |result| plus the smallest subnormal.
"""

from __future__ import annotations

import cmath
import itertools
import math
import re

import accuracy_complex
import numpy as np
import pytest
from accuracy_complex import Points, join, part

DTYPES = [np.complex64, np.complex128]
COUNT = 80  # points of each kind; benchmarks/accuracy_complex.py takes more
EXPONENTIALS = ["exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
INVERSES = ["log", "log1p", "log2", "log10", "asin", "acos", "atan", "asinh", "acosh", "atanh"]
FUNCTIONS = ["sqrt", *EXPONENTIALS, *INVERSES]


@pytest.fixture
def call(xp, device):
    """A function by its name on NumPy's arrays."""

    def function(name: str, *operands: np.ndarray) -> np.ndarray:
        return accuracy_complex.on_device(getattr(xp, name), xp, device)(*operands)

    return function


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", accuracy_complex.FUNCTIONS, ids=[f.name for f in accuracy_complex.FUNCTIONS])
def test_error_is_within_the_bound(function, dtype, call, rng):
    (found,) = accuracy_complex.largest_error(function, np.dtype(dtype), COUNT, rng, lambda *x: call(function.name, *x))
    assert found.error <= 4, found


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_powers(dtype, call):
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
def test_special_powers(dtype, call):
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
def test_special_cases(function, dtype, call):
    for row in SPECIAL_CASES[function].strip().splitlines():
        case, _, result = row.partition(":")
        left, right = (CLASSES[word] for word in case.split())
        points = np.array([complex(a, b) for a in left for b in right], dtype)
        for z, value in zip(points, call(function, points), strict=True):
            for got, expected in zip((value.real, value.imag), result.split(), strict=True):
                ok = agrees(float(got), expected, float(z.imag), 4 * np.finfo(dtype).eps)
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
@pytest.mark.parametrize("function", FUNCTIONS)
def test_conjugate(function, dtype, call):
    """f(conj z) = conj f(z), on both sides of branch cuts, too."""
    with np.errstate(over="ignore"):
        z = GRID[~np.isnan(GRID)].astype(dtype)
    wrong = ~same(call(function, z.conj()), call(function, z).conj())
    assert not wrong.any(), z[wrong][:5]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["sinh", "tanh", "sin", "tan", "asin", "asinh", "atan", "atanh"])
def test_odd(function, dtype, call):
    with np.errstate(over="ignore"):
        z = GRID[~np.isnan(GRID)].astype(dtype)
    wrong = ~same(call(function, -z), -call(function, z))
    assert not wrong.any(), z[wrong][:5]


@pytest.mark.parametrize("function", [function for function in FUNCTIONS if hasattr(cmath, function)])
def test_cmath(function, call):
    """Python's cmath, which follows C99: equal where it returns a value and is right."""
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


@pytest.mark.parametrize("name", ["multiply", "divide", "square"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities(dtype, name, call):
    """The textbook's formulas, as NumPy has them and the standard allows; zeros may have any sign."""
    parts = [0.0, -0.0, 1.0, -2.5, 1e-15, 1e15, math.inf, -math.inf, math.nan]
    numbers = [complex(a, b) for a in parts for b in parts]
    pairs = itertools.product(numbers, numbers)
    special = [p for p in pairs if not all(np.isfinite(p)) or (name == "divide" and p[1] == 0)]
    operands = [np.array(x, dtype) for x in zip(*special, strict=True)]
    if name == "square":
        operands = [operands[0][~np.isfinite(operands[0])]]
    got = call(name, *operands)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(*operands)
    np.testing.assert_array_equal(got.real, wanted.real)
    np.testing.assert_array_equal(got.imag, wanted.imag)


def test_limits(call):
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
def test_exact_identities(dtype, call, rng):
    """z/z = 1, z·1 = z, z/1 = z, z·conj z is real, products commute."""
    points = Points(rng, 1000, np.dtype(dtype))
    z, w = (points.spread(-points.top + 30, points.top - 5) for _ in range(2))
    one = np.ones_like(z)
    assert same(call("multiply", z, one), z).all()
    assert same(call("divide", z, one), z).all()
    close = points.spread(-50, 50)
    assert (call("divide", close, close) == 1).all()
    assert (call("multiply", z, z.conj()).imag == 0).all()
    assert same(call("multiply", z, w), call("multiply", w, z)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_functions(dtype, call, xp, device):
    with np.errstate(over="ignore", invalid="ignore"):
        z = GRID.astype(dtype)
    left, right = (x.ravel() for x in np.meshgrid(z[::3], z[::5]))
    with np.errstate(all="ignore"):
        assert same(call("add", left, right), left + right).all()
        assert same(call("subtract", left, right), left - right).all()
        assert same(call("round", z), join(np.rint(z.real), np.rint(z.imag))).all()
    halves = z[np.isfinite(z)] * 0.5 + 0.5
    assert same(call("round", halves), np.round(halves)).all()
    assert same(call("conj", z), z.conj()).all()
    assert same(call("negative", z), -z).all()
    assert same(call("positive", z), z).all()
    for function in ("isnan", "isinf", "isfinite", "real", "imag"):
        np.testing.assert_array_equal(call(function, z), getattr(np, function)(z))
    for function in ("equal", "not_equal"):
        np.testing.assert_array_equal(call(function, left, right), getattr(np, function)(left, right))
    np.testing.assert_array_equal(np.asarray(xp.astype(xp.asarray(z, device=device), xp.bool)), z.astype(bool))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sign_and_abs_of_special_numbers(dtype, call):
    with np.errstate(over="ignore", invalid="ignore"):
        z = GRID.astype(dtype)
    r = call("abs", z)
    assert r.dtype == part(np.dtype(dtype))
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


def test_imaginary_axis(call):
    """Exact zeros, and infinity where the other part is 0."""
    z = np.array([100j, 1j, -1j], np.complex64)
    with np.errstate(over="ignore"):
        assert call("sin", z)[0] == complex(0, math.inf)
    for function in ("sin", "sinh", "tan", "tanh"):
        assert (call(function, z).real == 0).all()
    for function in ("cos", "cosh"):
        assert (call(function, z).imag == 0).all()


# ----------------------------------------------------------------------------------------------- compiled code

# The others consist of the same parts.
CALLS = ["complex.multiply(x, y, u, v)", "complex.divide(x, y, u, v)", "complex_functions.pow(x, y, u, v)"]
CALLS += [f"complex.{name}(x, y)" for name in ("sign", "sqrt")]
CALLS += [f"complex_functions.{name}(x, y)" for name in ("exp", "expm1", "tanh", "log1p", "acos", "atanh")]
KERNEL = """
import triton
import triton.language as tl
from nbx_array.kernels.source import complex, complex_functions

@triton.jit
def kernel(a32, a64, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", [("cuda", 90, 32), ("hip", "gfx942", 64)], ids=str)
def test_compiled_code_is_exact(target, tmp_path, monkeypatch):
    """No approximate division or root, nothing that flushes subnormals, no vendor's library."""
    triton = pytest.importorskip("triton")
    from nbx_array.backend.compiler import Source, _load
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    text = KERNEL
    for width in (32, 64):
        for k, name in enumerate("xyuv"):
            text += f"    {name} = tl.load(a{width} + {k} * 4096 + i)\n"
        for k, function in enumerate(CALLS):
            text += f"    p, q = {function}\n"
            text += f"    tl.store(a{width} + {2 * k + 4} * 4096 + i, p)\n"
            text += f"    tl.store(a{width} + {2 * k + 5} * 4096 + i, q)\n"
    types = {"a32": "*fp32", "a64": "*fp64", "BLOCK": "constexpr"}
    tree = ASTSource(_load(Source.generated(text, "kernel")), types, {"BLOCK": 32 if target[0] == "cuda" else 64}, {})
    made = triton.compile(
        tree,
        target=GPUTarget(*target),
        options={"enable_fp_fusion": False, "enable_reflect_ftz": False, "num_warps": 1},
    )
    code = made.asm["ptx" if target[0] == "cuda" else "amdgcn"]
    found = re.findall(r".*(?:\.approx|\.ftz|div\.full|call\.uni|v_exp_f|v_log_f|v_sin_f|s_swappc).*", code)
    assert not found, found[:5]
