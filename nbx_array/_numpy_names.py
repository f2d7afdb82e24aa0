"""NumPy's names beyond the standard: the module of each, loaded when one of its names is first asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

CHAPTERS = {
    "_numpy_bits": ("packbits", "unpackbits"),
    "_numpy_files": (
        *("array2string", "array_repr", "array_str", "frombuffer", "fromfile", "fromfunction", "fromiter"),
        *("fromstring", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed"),
    ),
    "_numpy_indexing": (
        *("argpartition", "argwhere", "c_", "choose", "compress", "copyto", "diag_indices", "diag_indices_from"),
        *("digitize", "extract", "fill_diagonal", "flatnonzero", "identity", "index_exp", "indices", "ix_"),
        *("lexsort", "mgrid"),
        *("ogrid", "partition", "piecewise", "place", "put", "put_along_axis", "putmask", "r_", "ravel_multi_index"),
        *("s_", "select", "sort_complex", "tri", "tril_indices", "tril_indices_from", "triu_indices"),
        *("triu_indices_from", "unravel_index"),
    ),
    "_numpy_methods": ("copy", "ndenumerate"),
    "_numpy_pointwise": (
        *("allclose", "angle", "array_equal", "array_equiv", "bitwise_count", "cbrt", "deg2rad", "degrees", "divmod"),
        *("exp2", "fabs"),
        *("fix", "float_power", "fmax", "fmin", "fmod", "frexp", "gcd", "heaviside", "isclose", "iscomplex"),
        *("iscomplexobj", "isneginf", "isposinf", "isreal", "isrealobj", "lcm", "ldexp", "logaddexp2", "modf"),
        *("nan_to_num", "rad2deg", "radians", "real_if_close", "rint", "sinc", "spacing"),
    ),
    "_numpy_polynomials": (
        *("poly", "poly1d", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval"),
        *("roots", "vander"),
    ),
    "_numpy_products": ("cross", "dot", "einsum", "einsum_path", "inner", "kron", "matvec", "outer", "vdot", "vecmat"),
    "_numpy_series": (
        *("bartlett", "blackman", "convolve", "correlate", "ediff1d", "geomspace", "gradient", "hamming", "hanning"),
        *("interp", "kaiser", "trapezoid", "unwrap"),
    ),
    "_numpy_sets": ("in1d", "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"),
    "_numpy_shapes": (
        *("append", "apply_along_axis", "apply_over_axes", "array", "array_split", "asanyarray", "ascontiguousarray"),
        *("asfortranarray", "atleast_1d", "atleast_2d", "atleast_3d", "block", "column_stack", "delete", "diag"),
        *("diagflat", "diagonal", "dsplit", "dstack", "fliplr", "flipud", "hsplit", "hstack", "insert"),
        *(
            "isfortran",
            "may_share_memory",
            "ndim",
            "pad",
            "ravel",
            "require",
            "resize",
            "rollaxis",
            "rot90",
            "shape",
            "size",
        ),
        *("split", "swapaxes", "trace", "transpose", "trim_zeros", "vsplit", "vstack"),
    ),
    "_numpy_statistics": (
        *("average", "bincount", "corrcoef", "cov", "cumprod", "cumsum", "histogram", "histogram2d"),
        *("histogram_bin_edges", "histogramdd", "median", "nanargmax", "nanargmin", "nancumprod", "nancumsum"),
        *("nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum"),
        *("nanvar", "percentile", "ptp", "quantile"),
    ),
    "_numpy_types": (
        *("common_type", "complexfloating", "floating", "generic", "inexact", "integer", "isscalar", "iterable"),
        *("min_scalar_type", "ndarray", "number", "signedinteger", "unsignedinteger"),
    ),
    "_numpy_vectorize": ("vectorize",),
    "_ufunc": ("ufunc",),
    "special": ("i0",),
}
"""The modules of NumPy's functions, by subject."""

MODULES = {name: module for module, names in CHAPTERS.items() for name in names}

ALIASES = {
    "absolute": "abs",
    "alltrue": "all",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "around": "round",
    "bitwise_not": "bitwise_invert",
    "concatenate": "concat",
    "conjugate": "conj",
    "cumproduct": "cumprod",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "product": "prod",
    "right_shift": "bitwise_right_shift",
    "round_": "round",
    "row_stack": "vstack",
    "shares_memory": "may_share_memory",
    "sometrue": "any",
    "trapz": "trapezoid",
    "true_divide": "divide",
}
"""NumPy's names, of version 1 too, of functions that have another one here."""

NUMPYS = (
    # dtypes and kinds that arrays have not; arrays take the 15 dtypes that `asarray` names
    *("dtype", "flexible", "character", "bool_", "byte", "ubyte", "short", "ushort", "intc", "uintc", "int_"),
    *("uint", "intp", "uintp", "long", "ulong", "longlong", "ulonglong", "half", "single", "double", "longdouble"),
    *("csingle", "cdouble", "clongdouble", "str_", "bytes_", "object_", "void", "datetime64", "timedelta64"),
    *("issubdtype", "promote_types", "typename", "sctypeDict", "typecodes", "ScalarType"),
    # what happens on the host, and settings: our kernels warn of nothing; `repr` and `str` print as NumPy is told to
    *("errstate", "seterr", "geterr", "set_printoptions", "get_printoptions", "printoptions"),
    *("format_float_positional", "format_float_scientific", "base_repr", "binary_repr", "ndindex", "broadcast_shapes"),
    *("exceptions", "euler_gamma", "little_endian", "True_", "False_"),
)
"""What NumPy's own objects do as well here."""

CONSTANTS = {
    "Inf": np.inf,
    "Infinity": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NaN": np.nan,
    "PINF": np.inf,
    "complex_": np.complex128,
    "float_": np.float64,
    "infty": np.inf,
}
"""Names of NumPy 1 for constants and dtypes."""

_FILES_OF_OBJECTS = "strings, objects, dates and records are NumPy's alone; convert with asnumpy and use numpy"
ABSENT = {
    "frompyfunc": "use vectorize(), or call the function on arrays, with where() for its branches",
    "nditer": "it would bring each element to the host; write with whole arrays, or iterate over tolist()",
    "broadcast": "use broadcast_arrays() or broadcast_shapes()",
    "matrix": "use arrays and the operator @",
    "asmatrix": "use arrays and the operator @",
    "mat": "use arrays and the operator @",
    "ma": "use masks with where(), nanmean() and the like",
    "memmap": "use load(file, mmap_mode='r')",
    "fromregex": "use numpy.fromregex and asarray()",
    "busday_count": _FILES_OF_OBJECTS,
    "char": _FILES_OF_OBJECTS,
    "chararray": _FILES_OF_OBJECTS,
    "rec": _FILES_OF_OBJECTS,
    "recarray": _FILES_OF_OBJECTS,
    "strings": _FILES_OF_OBJECTS,
    "sctype2char": "use dtype(t).char",
    "int": "use int itself, or int64",
    "float": "use float itself, or float64",
    "complex": "use complex itself, or complex128",
    "object": "use object itself",
    "str": "use str itself",
    # methods of arrays
    "ctypes": "use asnumpy(x).ctypes, or launch() for kernels of your own",
    "data": "use asnumpy(x).data, or DLPack",
    "byteswap": "arrays have the machine's order of bytes; use asnumpy(x).byteswap()",
    "newbyteorder": "arrays have the machine's order of bytes",
    "dump": "use pickle or save()",
    "dumps": "use pickle",
    "getfield": "use view()",
    "setfield": "use view()",
}
"""What is left out for a reason, and what to do instead."""


OF_SCALARS = ("as_integer_ratio", "bit_count", "denominator", "hex", "is_integer", "numerator")
"""What NumPy's scalars have and its arrays have not."""


def find(name: str) -> Any:
    """One of NumPy's names; AttributeError, which says what to use, for one that there is not."""
    if name in MODULES:
        return getattr(importlib.import_module(f"nbx_array.{MODULES[name]}"), name)
    if name in ALIASES:
        return getattr(sys.modules["nbx_array"], ALIASES[name])
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in NUMPYS:
        return getattr(np, name)
    raise AttributeError(f"module 'nbx_array' has no attribute {name!r}{advice(name)}", name=name)


def advice(name: str) -> str:
    """What an AttributeError adds for one of NumPy's names: what to use."""
    if name in ABSENT:
        return f"; {ABSENT[name]}"
    if name in ALIASES or name in MODULES or callable(vars(sys.modules["nbx_array"]).get(name)):
        return f"; there is the function nbx_array.{ALIASES.get(name, name)}"
    return f"; numpy.{name} takes arrays converted with nbx_array.asnumpy" if hasattr(np, name) else ""


def advice_on_method(name: str) -> str:
    """What an AttributeError of an array adds: the function there is in the place of a method."""
    if name in ABSENT and hasattr(np.ndarray, name):
        return f"; {ABSENT[name]}"
    found = MODULES.get(name) or ALIASES.get(name) or vars(sys.modules["nbx_array"]).get(name)
    is_function = found and (isinstance(found, str) or (callable(found) and not isinstance(found, type)))
    if is_function and name[0] != "_":
        return f"; there is the function nbx_array.{ALIASES.get(name, name)}"
    return f"; Python's numbers have it: x.item().{name}" if name in OF_SCALARS else ""


NAMES = (*MODULES, *ALIASES, *CONSTANTS, *NUMPYS)
"""All that `find` finds."""
