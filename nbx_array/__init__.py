"""The Python array API standard and what NumPy has beyond it, as Triton kernels over our own device memory."""

try:
    import nbx_array.backend as _  # the other floors, which only an installation has under this name
except ModuleNotFoundError as error:
    if error.name != "nbx_array.backend":
        raise
    raise ImportError(
        f"{__path__[0]} is the source of nbx_array, not an installation: start Python outside the clone, "
        "or install with pip install -e ."
    ) from None

from math import e, inf, nan, pi

from nbx_array._array import Array, asnumpy
from nbx_array._controls import (
    counters,
    device,
    empty_cache,
    launch,
    memory_info,
    memory_limit,
    realize,
    set_device,
    stream,
    synchronize,
    warmup,
)
from nbx_array._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from nbx_array._data_types import (
    astype,
    bool,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    uint8,
    uint16,
    uint32,
    uint64,
)
from nbx_array._elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from nbx_array._explain import explain
from nbx_array._inspection import __array_namespace_info__
from nbx_array._linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from nbx_array._manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from nbx_array._searching import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from nbx_array._sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from nbx_array._sorting import argsort, sort
from nbx_array._statistical import cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var
from nbx_array._taking import take, take_along_axis
from nbx_array._utility import all, any, diff
from nbx_array.memory import OutOfMemoryError

__version__ = "0.1.0.dev0"
__array_api_version__ = "2025.12"
newaxis = None

_MODULES = ("fft", "lib", "linalg", "random", "special", "testing", "typing")


def __getattr__(name: str) -> object:
    """What is loaded when first asked for."""
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"nbx_array.{name}")
    if name == "bfloat16":
        from nbx_array._data_types import bfloat16

        return bfloat16()
    if name == "load_ipython_extension":
        from nbx_array._run import load_ipython_extension

        return load_ipython_extension
    if name == "__all__":
        return [x for x in __dir__() if x[0] != "_" and x not in ("backend", "bfloat16", "kernels", "memory")]
    from nbx_array._numpy_names import find

    value = globals()[name] = find(name)
    return value


def __dir__() -> list[str]:
    from nbx_array._numpy_names import NAMES

    return sorted({*globals(), "bfloat16", *_MODULES, *NAMES})
