"""One row a function of the element-wise kind: what NumPy answers, how near to it ours must be, and hard arguments.

The rows say again, in their own words, what `nbx_array.kernels.pointwise` says: tests compare the two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {
    name: BFLOAT16 if name == "bfloat16" else np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
"""Every dtype of arrays."""


def kind(dtype: np.dtype) -> str:
    return "f" if dtype == BFLOAT16 else dtype.kind


def weak(scalar: object, dtype: np.dtype) -> Any:
    """A Python scalar as NumPy 2 takes it beside an array; ml_dtypes does not do so by itself."""
    return np.asarray(scalar, dtype) if dtype == BFLOAT16 and isinstance(scalar, (int, float)) else scalar


class Row(NamedTuple):
    name: str
    kinds: str  # of the operands, in NumPy's letters, bfloat16 among "f"
    arity: int = 1
    result: str = "same"  # "same", "bool", "uint8", "float" (integers as float64), "number" (bools as int8), "part"
    numpy: Callable[..., Any] | None = None  # where NumPy has another name
    steps: int = 0  # units in the last place that ours may be off; 0: the same bits
    second: Callable[[np.ndarray], np.ndarray] | None = None  # limits the second operand
    zeros: bool = True  # whether the sign of a zero is settled

    @property
    def reference(self) -> Callable[..., Any]:
        return self.numpy or getattr(np, self.name)


def _integer_exponents(x: np.ndarray) -> np.ndarray:
    return np.abs(x % 64).astype(x.dtype) if x.dtype.kind in "iu" else x


def floor_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """NumPy's floor division, but with infinities the floor of the quotient, as the standard has it."""
    if kind(x.dtype) != "f":
        return np.floor_divide(x, y)
    return np.where(np.isinf(x) | np.isinf(y), np.trunc(np.divide(x, y)), np.floor_divide(x, y))


REAL, NUMERIC, ALL = "biuf", "iufc", "biufc"
_MATH = (
    *("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)

ROWS = [
    Row("add", ALL, 2),
    Row("subtract", NUMERIC, 2),
    Row("multiply", ALL, 2),
    Row("divide", ALL, 2, "float"),
    Row("floor_divide", REAL, 2, "number", numpy=floor_divide),
    Row("remainder", REAL, 2, "number"),
    Row("pow", ALL, 2, "number", steps=2, second=_integer_exponents),
    Row("negative", NUMERIC),
    Row("positive", NUMERIC),
    Row("abs", ALL, result="part"),
    Row("square", ALL, result="number"),
    Row("sign", NUMERIC),
    Row("reciprocal", ALL, result="number"),
    Row("maximum", REAL, 2, zeros=False),
    Row("minimum", REAL, 2, zeros=False),
    Row("gcd", "iu", 2),
    Row("lcm", "iu", 2),
    Row("copysign", REAL, 2, "float"),
    Row("nextafter", REAL, 2, "float", numpy=lambda x, y: np.where(x == y, y, np.nextafter(x, y))),  # float16: -0 to +0
    *(Row(name, ALL, 2, "bool") for name in ("equal", "not_equal")),
    *(Row(name, REAL, 2, "bool") for name in ("less", "less_equal", "greater", "greater_equal")),
    *(Row(name, ALL, 2, "bool") for name in ("logical_and", "logical_or", "logical_xor")),
    Row("logical_not", ALL, result="bool"),
    *(Row(name, "biu", 2) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    Row("bitwise_invert", "biu"),
    *(Row(name, "iu", 2) for name in ("bitwise_left_shift", "bitwise_right_shift")),
    Row("bitwise_count", "biu", result="uint8"),
    *(Row(name, ALL, result="bool") for name in ("isfinite", "isinf", "isnan")),
    Row("signbit", REAL, result="bool"),
    *(Row(name, REAL) for name in ("floor", "ceil", "trunc")),
    Row("round", ALL, numpy=lambda x: x if x.dtype.kind in "biu" else np.rint(x)),
    Row("real", ALL, result="part"),
    Row("imag", "c", result="part"),
    Row("conj", ALL, numpy=lambda x: x if x.dtype.kind == "b" else np.conj(x)),
    *(Row(name, ALL, result="float", steps=0 if name == "sqrt" else 2) for name in _MATH),
    *(Row(name, REAL, 2, "float", steps=2) for name in ("hypot", "logaddexp", "atan2")),
]
BY_NAME = {row.name: row for row in ROWS}

SPECIAL = [
    *(Row(name, REAL, 1, "float") for name in ("expit", "logit", "log_expit", "entr", "sinc")),
    *(Row(name, REAL, 2, "float") for name in ("xlogy", "xlog1py", "rel_entr", "kl_div")),
    *(Row(name, REAL, 1, "float") for name in ("erf", "erfc", "erfinv", "erfcinv", "ndtr", "ndtri", "log_ndtr")),
    *(Row(name, REAL, 1, "float") for name in ("gamma", "gammaln", "digamma")),
    *(Row(name, REAL, 2, "float") for name in ("beta", "betaln", "poch")),
    *(Row(name, REAL, 2, "float") for name in ("gammainc", "gammaincc", "gammaincinv", "chdtr", "chdtrc")),
    Row("betainc", REAL, 3, "float"),
    Row("stdtr", REAL, 2, "float"),
    Row("fdtr", REAL, 3, "float"),
    Row("zeta", REAL, 2, "float"),
    Row("riemann_zeta", REAL, 1, "float"),
    *(Row(name, REAL, 1, "float") for name in ("i0", "i0e", "i1", "i1e")),
]
"""The functions of `nbx_array.special`: tests/test_special.py compares with SciPy, its neighbours with mpmath."""

SAME_BITS_COMPLEX = {"add", "subtract", "negative", "positive", "conj", "real", "imag", "round"}
"""Functions of complex numbers that are right to the bit; in the others NumPy itself has rounding errors."""

TEXTBOOK = {"multiply", "divide", "square"}
"""Of infinite complex numbers these are what the textbook's formulas give, here and in NumPy."""


def takes(row: Row, dtype: np.dtype) -> bool:
    return kind(dtype) in row.kinds


def result_dtype(row: Row, dtype: np.dtype) -> np.dtype:
    """The dtype of the function's result for operands of one dtype: NumPy's, but that integers count as float64."""
    match row.result:
        case "bool":
            return np.dtype(bool)
        case "uint8":
            return np.dtype(np.uint8)
        case "float":
            return dtype if kind(dtype) in "fc" else np.dtype(np.float64)
        case "number":
            return np.dtype(np.int8) if kind(dtype) == "b" else dtype
        case "part":
            return np.zeros(0, dtype).real.dtype
    return dtype


def expected(row: Row, *operands: np.ndarray) -> np.ndarray:
    """NumPy's answer, from more precision than ours where the function is not exact."""
    dtype = operands[0].dtype
    result = result_dtype(row, dtype)
    compute = dtype
    if row.result == "float" and kind(dtype) in "biu":
        compute = np.dtype(np.float64)
    elif (row.steps and dtype.kind != "c") or dtype in (np.float16, BFLOAT16):
        wide = np.float64 if row.steps else np.float32
        compute = np.dtype(wide) if kind(dtype) == "f" and row.name != "nextafter" else dtype
    elif dtype.kind == "c" and row.name not in SAME_BITS_COMPLEX and row.result != "bool":
        compute = np.dtype(np.complex128 if dtype == np.complex64 else np.clongdouble)
    with np.errstate(all="ignore"):
        return np.asarray(row.reference(*(x.astype(compute) for x in operands))).astype(result)


# ---------------------------------------------------------------------------------------------------------- arguments


def specials(dtype: np.dtype) -> np.ndarray:
    """Zeros, infinities, NaN, extremes and halves of a dtype."""
    match kind(dtype):
        case "b":
            return np.array([False, True])
        case "i" | "u":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            values = {low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 100}
            values |= {-x for x in (1, 2, 3, 7, 64)}
            return np.array(sorted(x for x in values if low <= x <= high), dtype)
    if dtype.kind == "c":
        parts = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1e-3, 30.0, np.inf, -np.inf, np.nan])
        return np.array([complex(x, y) for x, y in itertools.product(parts, repeat=2)], dtype)
    info = ml_dtypes.finfo(dtype)
    limits = [float(x) for x in (info.max, info.tiny, info.smallest_subnormal, info.eps)]
    positive = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 1e-3, 100.0, 2.0**24, np.inf, *limits]
    with np.errstate(over="ignore"):
        return np.array([*positive, *(-x for x in positive), np.nan], np.float64).astype(dtype)


def arguments(row: Row, dtype: np.dtype, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Operands of `size` elements: all combinations of special values, then random ones of all magnitudes."""
    hard = specials(dtype)
    if dtype.kind == "c" and row.name not in {*SAME_BITS_COMPLEX, *TEXTBOOK} and row.result != "bool":
        hard = hard[np.isfinite(hard)]  # NumPy's platform decides on the others: tests/kernels/test_complex.py
    pairs = np.array(list(itertools.product(hard, repeat=row.arity)), dtype)[: size // 2]
    operands = []
    for k in range(row.arity):
        rest = random_values(dtype, size - len(pairs), rng)
        operands.append(np.concatenate([pairs[:, k], rest]))
    if row.second is not None:
        operands[1] = row.second(operands[1])
    return tuple(operands)


def random_values(dtype: np.dtype, size: int, rng: np.random.Generator) -> np.ndarray:
    """Random values: half of any bit pattern or magnitude, half small."""
    match kind(dtype):
        case "b":
            return rng.random(size) < 0.5
        case "i" | "u":
            info = np.iinfo(dtype)
            wide = rng.integers(info.min, info.max, size, dtype, endpoint=True)
            small = rng.integers(max(info.min, -20), 20, size, dtype)
            return np.where(rng.random(size) < 0.5, wide, small)
    if dtype.kind == "c":
        scale = 10.0 ** rng.uniform(-3, 1, size)
        return (scale * (rng.normal(size=size) + 1j * rng.normal(size=size))).astype(dtype)
    reach = 4 if dtype == np.float16 else 30
    wide = rng.normal(size=size) * 10.0 ** rng.uniform(-reach, reach, size)
    return np.where(rng.random(size) < 0.5, wide, rng.normal(size=size) * 3).astype(dtype)


def stored(a: np.ndarray, order: Any) -> tuple[np.ndarray, Any, tuple[int, ...]]:
    """The array's elements in such memory, and the index and the order of axes that lead back."""
    signs = (..., *(slice(None, None, -1 if axis % 2 else 1) for axis in order))
    return a.transpose(order)[signs].copy(), signs, tuple(np.argsort(order))


def laid_out(xp: Any, a: np.ndarray, order: Any) -> Any:
    """Our array of the same elements with its axes stored in another order, some of them backwards."""
    memory, signs, inverse = stored(a, order)
    return xp.permute_dims(xp.asarray(memory)[signs], inverse)


# ----------------------------------------------------------------------------------------------------------- checking


def assert_same_bits(got: np.ndarray, wanted: np.ndarray, *, zeros: bool = True) -> None:
    """The same dtype, shape and bits; any NaN equals any NaN, and unless `zeros` any zero any zero."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    if got.dtype.kind == "c":
        assert_same_bits(got.real, wanted.real, zeros=zeros)
        assert_same_bits(got.imag, wanted.imag, zeros=zeros)
        return
    same = got == wanted
    if kind(got.dtype) == "f":
        same &= (np.signbit(got) == np.signbit(wanted)) | ((got == 0) & (not zeros))
        same |= (got != got) & (wanted != wanted)
    _complain(same, got, wanted)


def assert_near(got: np.ndarray, wanted: np.ndarray, steps: float, slack: Any = 0.0) -> None:
    """Real results within `steps` units in the last place and `slack` besides; the sign of zeros counts, too."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    info = ml_dtypes.finfo(got.dtype)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(np.maximum(np.abs(a), np.abs(b)))[1] - 1, info.minexp)
        unit = np.ldexp(1.0, exponent - info.nmant)
        limit = float(info.max)
        beyond = np.isinf(a) != np.isinf(b)  # one may be rounded to infinity where the other is the largest number
        near = np.abs(np.clip(a, -limit, limit) - np.clip(b, -limit, limit)) <= steps * unit + slack
        signed = (np.signbit(a) == np.signbit(b)) | (np.abs(a - b) <= slack)
    same = ((a == b) | (near & (np.isfinite(a) | beyond) & ~np.isnan(b))) & signed
    _complain(same | (np.isnan(a) & np.isnan(b)), got, wanted)


def assert_near_complex(got: np.ndarray, wanted: np.ndarray, steps: float) -> None:
    """Complex results whose error is within `steps` epsilons of the modulus; of an infinite one the infinite parts."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.clongdouble) - wanted)
        near = error <= steps * (info.eps * np.abs(wanted) + info.smallest_subnormal)
    near |= np.isinf(wanted)
    for part in (np.real, np.imag):
        near &= ~np.isinf(part(wanted)) | (part(got) == part(wanted))
    _complain(near | (np.isnan(got) & np.isnan(wanted)), got, wanted)


def _complain(same: np.ndarray, got: np.ndarray, wanted: np.ndarray) -> None:
    if not same.all():
        where = np.argwhere(~same)
        shown = [(*map(int, place), got[tuple(place)], wanted[tuple(place)]) for place in where[:5]]
        raise AssertionError(f"{len(where)} of {same.size} differ; (place, got, wanted): {shown}")


def check(row: Row, got: np.ndarray, *operands: np.ndarray) -> None:
    """A function's result against NumPy's."""
    wanted = expected(row, *operands)
    if operands[0].dtype.kind == "c" and row.name not in SAME_BITS_COMPLEX and row.result != "bool":
        if got.dtype.kind == "c":
            assert_near_complex(got, wanted, 16)
        else:
            assert_near(got, wanted, 2)
    elif row.steps and kind(got.dtype) == "f":
        # NumPy's own float64 functions are good to 4 units in the last place; the others were computed in float64
        steps = row.steps + 4 if got.dtype == np.float64 else row.steps
        slack: Any = 0.0
        if row.name == "logaddexp":
            with np.errstate(all="ignore"):
                largest = np.maximum(*(np.abs(x.astype(np.float64)) for x in operands))
            slack = np.where(np.isfinite(largest), 2 * float(ml_dtypes.finfo(got.dtype).eps) * largest, 0)
        assert_near(got, wanted, steps, slack)
    else:
        assert_same_bits(got, wanted, zeros=row.zeros)
