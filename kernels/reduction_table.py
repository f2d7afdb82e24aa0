"""The table of reductions: one row a reduction, and the rules from an operand's dtype to the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nbx_array.kernels.types import component, is_complex, kind

INT8, INT32, INT64, UINT64 = (np.dtype(name) for name in ("int8", "int32", "int64", "uint64"))
FLOAT32 = np.dtype(np.float32)


class Reduction(NamedTuple):
    """One reduction. Functions are Triton functions of nbx_array.kernels.source.reduction."""

    name: str
    kinds: str  # NumPy's letters of the operands' dtypes
    state: str  # which components a state has: see `state_dtypes`
    identity: str  # the state that changes nothing: see `identity`
    combine: str
    result: str = "same"  # the dtype of the result: that of the operand, of its "part", of the "state", or "index"
    before: str | None = None  # an element's state, if it is not the element cast to the state's dtype
    fold: str | None = None  # takes a tile into a state of its own kind, if not element by element
    settle: str | None = None  # the state of one of that kind
    after: str | None = None  # the result of a state and a number
    suffix: str = ""  # of the functions' names for complex operands

    def function(self, name: str, dtype: np.dtype) -> str:
        return f"reduction.{name}{self.suffix if is_complex(dtype) else ''}"


_ROWS = [
    Reduction("sum", "biufc", "total", "zero", "add", "state", suffix="_complex"),
    Reduction("prod", "biufc", "total", "one", "multiply", "state", suffix="_complex"),
    Reduction("mean", "fc", "total", "zero", "add", after="quotient", suffix="_complex"),
    Reduction(
        "var", "fc", "moments", "zero", "merge_moments", "part", None, "deviations", "moments", "variance", "_complex"
    ),
    Reduction(
        "std", "fc", "moments", "zero", "merge_moments", "part", None, "deviations", "moments", "deviation", "_complex"
    ),
    Reduction("vector_norm", "f", "squares", "zero", "add_squares", before="squares", after="root"),
    Reduction("max", "biuf", "value", "lowest", "greater"),
    Reduction("min", "biuf", "value", "highest", "less"),
    Reduction("argmax", "biuf", "place", "lowest", "first_greatest", "index", before="rank"),
    Reduction("argmin", "biuf", "place", "lowest", "first_greatest", "index", before="reverse_rank"),
]

TABLE: dict[str, Reduction] = {row.name: row for row in _ROWS}


def accumulator(row: Reduction, dtype: np.dtype) -> np.dtype:
    """The dtype that elements are accumulated in: float32 for 16-bit floats, 64 bits for sums of integers."""
    k = kind(dtype)
    if k == "f" and dtype.itemsize == 2:
        return FLOAT32
    if row.state == "total" and k in "biu":
        return UINT64 if k == "u" else INT64
    return INT8 if k == "b" else dtype


def result_dtype(row: Reduction, dtype: np.dtype) -> np.dtype:
    """The dtype of the result of a reduction over elements of `dtype`."""
    if row.result == "index":
        return INT64
    if row.result == "part":
        return component(dtype)
    return accumulator(row, dtype) if row.result == "state" and kind(dtype) in "biu" else dtype


def state_dtypes(row: Reduction, dtype: np.dtype, wide: bool) -> tuple[np.dtype, ...]:
    """The dtypes of a state's components; `wide` if an index needs 64 bits."""
    base = accumulator(row, dtype)
    match row.state:
        case "moments":
            return (component(base),) * (6 if is_complex(base) else 4)
        case "squares":
            return (base,) * 3
        case "place":
            key = np.dtype(f"int{8 * base.itemsize}") if kind(base) == "f" else base
            return key, INT64 if wide else INT32
        case _:
            return (component(base),) * (2 if is_complex(base) else 1)


def identity(row: Reduction, dtypes: tuple[np.dtype, ...]) -> list[str]:
    match row.identity:
        case "zero":
            return ["0"] * len(dtypes)
        case "one":
            return ["1", "0"][: len(dtypes)]
    low = row.identity == "lowest"
    if kind(dtypes[0]) == "f":
        texts = [f'float("{"-" if low else ""}inf")']
    else:
        limits = np.iinfo(dtypes[0])
        texts = [str(limits.min if low else limits.max)]
    return texts + [str(np.iinfo(dtype).max) for dtype in dtypes[1:]]
