"""The table of element-wise functions: one row a function.

A row names the function of the array API standard (or of NumPy where the standard has none), the Triton functions that
compute it for real and for complex operands, which kinds of dtype it takes, and the rule from operand dtypes to the
dtype it is computed in and the dtype of its result. Kinds are NumPy's letters: b(ool), i(nt), u(nsigned), f(loat),
c(omplex).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from nbx_array.kernels.types import component, kind

BOOL = np.dtype(np.bool_)
UINT8 = np.dtype(np.uint8)


class Pointwise(NamedTuple):
    name: str
    arity: int
    kinds: str
    rule: str  # see `_RULES`
    real: str | None  # "module.function" under nbx_array.kernels.source
    complex: str | None = None
    boolean: str | None = None  # where bool operands need another function
    integer: str | None = None  # likewise integers
    costly: bool = False  # worth storing rather than computing twice
    native16: bool = False  # works on 16-bit patterns: float16 and bfloat16 are not computed in float32
    long: bool = False  # hundreds of statements or more: computing takes much longer than moving its operands

    def function(self, compute: np.dtype) -> str:
        """The Triton function for operands of dtype `compute`."""
        others = {"c": self.complex, "b": self.boolean, "i": self.integer, "u": self.integer}
        name = others.get(compute.kind) or self.real
        assert name is not None, (self.name, compute)
        return name


def _e(name: str) -> str:
    return "elementwise." + name


def _c(name: str) -> str:
    return "complex." + name


def _unary_float(name: str, module: str, complex_module: str | None = "complex_functions") -> Pointwise:
    """A function whose result is floating point whatever it is given: ints and bools count as the default float."""
    return Pointwise(
        name,
        1,
        "biufc" if complex_module else "biuf",
        "float",
        f"{module}.{name}",
        f"{complex_module}.{name}" if complex_module else None,
        costly=True,
    )


def _special(name: str, arity: int, module: str) -> Pointwise:
    """A function of `nbx_array.special`: of real numbers, its result floating point."""
    long = module in ("gamma", "beta", "incomplete_gamma", "incomplete_beta", "zeta")
    return Pointwise(name, arity, "biuf", "float", f"special_{module}.{name}", costly=True, long=long)


_ROWS = [
    # arithmetic
    Pointwise("add", 2, "biufc", "same", _e("add"), _c("add"), _e("logical_or")),
    Pointwise("subtract", 2, "iufc", "same", _e("subtract"), _c("subtract")),
    Pointwise("multiply", 2, "biufc", "same", _e("multiply"), _c("multiply"), _e("logical_and")),
    Pointwise("divide", 2, "biufc", "float", _e("divide"), _c("divide")),
    Pointwise("floor_divide", 2, "biuf", "number", _e("floor_divide")),
    Pointwise("remainder", 2, "biuf", "number", _e("remainder")),
    Pointwise(
        "pow", 2, "biufc", "number", "exponential.pow", "complex_functions.pow", integer=_e("integer_pow"), costly=True
    ),
    Pointwise("negative", 1, "iufc", "same", _e("negative"), _c("negative")),
    Pointwise("positive", 1, "iufc", "same", _e("positive"), _c("positive")),
    Pointwise("abs", 1, "biufc", "magnitude", _e("abs"), _c("abs"), _e("positive")),
    Pointwise("square", 1, "biufc", "number", _e("square"), _c("square")),
    Pointwise("sign", 1, "iufc", "same", _e("sign"), _c("sign")),
    Pointwise("reciprocal", 1, "biufc", "number", _e("reciprocal"), _c("reciprocal")),
    Pointwise("maximum", 2, "biuf", "same", _e("maximum"), boolean=_e("logical_or")),
    Pointwise("minimum", 2, "biuf", "same", _e("minimum"), boolean=_e("logical_and")),
    Pointwise("gcd", 2, "iu", "same", _e("gcd"), costly=True),
    Pointwise("lcm", 2, "iu", "same", _e("lcm"), costly=True),
    Pointwise("copysign", 2, "biuf", "float", _e("copysign")),
    Pointwise("nextafter", 2, "biuf", "float", _e("nextafter"), native16=True),
    # comparison
    Pointwise("equal", 2, "biufc", "compare", _e("equal"), _c("equal")),
    Pointwise("not_equal", 2, "biufc", "compare", _e("not_equal"), _c("not_equal")),
    Pointwise("less", 2, "biuf", "compare", _e("less")),
    Pointwise("less_equal", 2, "biuf", "compare", _e("less_equal")),
    Pointwise("greater", 2, "biuf", "compare", _e("greater")),
    Pointwise("greater_equal", 2, "biuf", "compare", _e("greater_equal")),
    # logic and bits
    Pointwise("logical_and", 2, "biufc", "logical", _e("logical_and")),
    Pointwise("logical_or", 2, "biufc", "logical", _e("logical_or")),
    Pointwise("logical_xor", 2, "biufc", "logical", _e("logical_xor")),
    Pointwise("logical_not", 1, "biufc", "logical", _e("logical_not")),
    Pointwise("bitwise_and", 2, "biu", "same", _e("bitwise_and"), boolean=_e("logical_and")),
    Pointwise("bitwise_or", 2, "biu", "same", _e("bitwise_or"), boolean=_e("logical_or")),
    Pointwise("bitwise_xor", 2, "biu", "same", _e("bitwise_xor"), boolean=_e("logical_xor")),
    Pointwise("bitwise_invert", 1, "biu", "same", _e("bitwise_invert"), boolean=_e("logical_not")),
    Pointwise("bitwise_left_shift", 2, "iu", "same", _e("bitwise_left_shift")),
    Pointwise("bitwise_right_shift", 2, "iu", "same", _e("bitwise_right_shift")),
    Pointwise("bitwise_count", 1, "biu", "count", _e("bitwise_count")),
    # inspection of values
    Pointwise("isfinite", 1, "biufc", "predicate", _e("isfinite"), _c("isfinite")),
    Pointwise("isinf", 1, "biufc", "predicate", _e("isinf"), _c("isinf")),
    Pointwise("isnan", 1, "biufc", "predicate", _e("isnan"), _c("isnan")),
    Pointwise("signbit", 1, "biuf", "predicate", _e("signbit")),
    # rounding
    Pointwise("floor", 1, "biuf", "same", _e("floor"), boolean=_e("positive")),
    Pointwise("ceil", 1, "biuf", "same", _e("ceil"), boolean=_e("positive")),
    Pointwise("trunc", 1, "biuf", "same", _e("trunc"), boolean=_e("positive")),
    Pointwise("round", 1, "biufc", "same", _e("round"), _c("round"), _e("positive")),
    # parts of complex numbers
    Pointwise("real", 1, "biufc", "magnitude", _e("positive"), _c("real")),
    Pointwise("imag", 1, "c", "magnitude", None, _c("imag")),
    Pointwise("conj", 1, "biufc", "same", _e("positive"), _c("conj")),
    # roots, exponentials, logarithms
    Pointwise("sqrt", 1, "biufc", "float", "core_math.sqrt", _c("sqrt")),
    _unary_float("exp", "exponential"),
    _unary_float("expm1", "exponential"),
    _unary_float("log", "exponential"),
    _unary_float("log1p", "exponential"),
    _unary_float("log2", "exponential"),
    _unary_float("log10", "exponential"),
    Pointwise("hypot", 2, "biuf", "float", "core_math.hypot", costly=True),
    Pointwise("logaddexp", 2, "biuf", "float", "exponential.logaddexp", costly=True),
    # trigonometric and hyperbolic
    _unary_float("sin", "trigonometric"),
    _unary_float("cos", "trigonometric"),
    _unary_float("tan", "trigonometric"),
    _unary_float("asin", "trigonometric"),
    _unary_float("acos", "trigonometric"),
    _unary_float("atan", "trigonometric"),
    Pointwise("atan2", 2, "biuf", "float", "trigonometric.atan2", costly=True),
    _unary_float("sinh", "hyperbolic"),
    _unary_float("cosh", "hyperbolic"),
    _unary_float("tanh", "hyperbolic"),
    _unary_float("asinh", "hyperbolic"),
    _unary_float("acosh", "hyperbolic"),
    _unary_float("atanh", "hyperbolic"),
]

_SPECIAL_ROWS = [
    _special("expit", 1, "logarithms"),
    _special("logit", 1, "logarithms"),
    _special("log_expit", 1, "logarithms"),
    _special("xlogy", 2, "logarithms"),
    _special("xlog1py", 2, "logarithms"),
    _special("entr", 1, "logarithms"),
    _special("rel_entr", 2, "logarithms"),
    _special("kl_div", 2, "logarithms"),
    _special("sinc", 1, "logarithms"),
    _special("erf", 1, "errors"),
    _special("erfc", 1, "errors"),
    _special("erfinv", 1, "errors"),
    _special("erfcinv", 1, "errors"),
    _special("ndtr", 1, "errors"),
    _special("ndtri", 1, "errors"),
    _special("log_ndtr", 1, "errors"),
    _special("gamma", 1, "gamma"),
    _special("gammaln", 1, "gamma"),
    _special("digamma", 1, "gamma"),
    _special("beta", 2, "beta"),
    _special("betaln", 2, "beta"),
    _special("poch", 2, "beta"),
    _special("gammainc", 2, "incomplete_gamma"),
    _special("gammaincc", 2, "incomplete_gamma"),
    _special("gammaincinv", 2, "incomplete_gamma"),
    _special("chdtr", 2, "incomplete_gamma"),
    _special("chdtrc", 2, "incomplete_gamma"),
    _special("betainc", 3, "incomplete_beta"),
    _special("stdtr", 2, "incomplete_beta"),
    _special("fdtr", 3, "incomplete_beta"),
    _special("zeta", 2, "zeta"),
    _special("riemann_zeta", 1, "zeta"),
    _special("i0", 1, "bessel"),
    _special("i0e", 1, "bessel"),
    _special("i1", 1, "bessel"),
    _special("i1e", 1, "bessel"),
]

SPECIAL: dict[str, Pointwise] = {row.name: row for row in _SPECIAL_ROWS}
"""The functions of `nbx_array.special` among them."""

TABLE: dict[str, Pointwise] = {row.name: row for row in _ROWS} | SPECIAL
"""Every element-wise function by its name, save `where`, `clip` and casts, which `generate` knows by itself."""


class UnsupportedDtype(TypeError):
    """The function takes no operands of this kind."""


def resolve(row: Pointwise, common: np.dtype, default_float: np.dtype) -> tuple[np.dtype, np.dtype]:
    """(dtype computed in, dtype of the result) of a function over operands whose common dtype is `common`.

    Raises UnsupportedDtype (a TypeError) where the function takes no such operands.
    """
    k = kind(common)
    if k not in row.kinds:
        raise UnsupportedDtype(f"{row.name} has no meaning for dtype {common}")
    match row.rule:
        case "same":
            return common, common
        case "number" | "count":  # bools count as int8, as NumPy has it
            common = np.dtype(np.int8) if k == "b" else common
            return common, UINT8 if row.rule == "count" else common
        case "float":
            common = common if k in "fc" else default_float
            return common, common
        case "compare" | "predicate":
            return common, BOOL
        case "logical":
            return BOOL, BOOL
        case "magnitude":
            return common, component(common)
    raise AssertionError(row.rule)


def computed_dtypes(
    op: str, compute: np.dtype | None, result: np.dtype, given: Sequence[np.dtype]
) -> tuple[np.dtype, ...]:
    """The dtypes that operands of the given ones are cast to before an operation, see `generate`."""
    if op == "astype":
        return tuple(given)
    if op == "where":
        return BOOL, result, result
    assert compute is not None, op
    if compute == np.int64 and np.uint64 in given:  # compared exactly
        return tuple(dtype if dtype == np.uint64 else compute for dtype in given)
    return (compute,) * len(given)
