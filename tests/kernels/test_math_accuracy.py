"""Mathematical functions: errors against mpmath at points drawn anew in each run, special values, compiled code."""

from __future__ import annotations

import itertools
import re

import accuracy
import numpy as np
import pytest

BOUNDS = {"float32": 2, "float64": 2, "float16": 1, "bfloat16": 1}  # in units in the last place
COUNT = 80  # points of each kind; benchmarks/accuracy.py takes more
NAMES = [function.name for function in accuracy.FUNCTIONS]


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("function", accuracy.FUNCTIONS, ids=NAMES)
def test_error_is_within_the_bound(function, dtype, xp, device, rng):
    form = accuracy.FORMATS[dtype]
    x = accuracy.points(function, form, COUNT, rng)
    call = accuracy.on_device(getattr(xp, function.name), xp, device)
    found = accuracy.worst(function, form, x, call)
    assert found.error <= BOUNDS[dtype], found


# ----------------------------------------------------------------------------------------------- special values

ARITHMETIC = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1e-45, 1e-310, 1e30, 1e300, 4096.0, 2.0**24, 2.0**24 + 2, 2.0**53, np.inf]
SPECIAL = [*ARITHMETIC, *(-x for x in ARITHMETIC), np.nan]
# the standard's name, and NumPy's where it has none under that name
NUMPY_UFUNCS = {name: getattr(np, name) for name in NAMES}
TWO = {"hypot", "logaddexp", "pow", "atan2", "div", "floor_divide", "remainder", "maximum", "kl_div"}


def agree(got: np.ndarray, expected: np.ndarray, steps: int) -> np.ndarray:
    """Equal as to NaN, sign and infinity, and within `steps` units in the last place elsewhere."""
    with np.errstate(all="ignore"):
        close = np.abs(got - expected) <= steps * np.spacing(np.maximum(np.abs(got), np.abs(expected)))
    same = ((got == expected) | (np.isfinite(got) & np.isfinite(expected) & close)) & (
        np.signbit(got) == np.signbit(expected)
    )
    return same | (np.isnan(got) & np.isnan(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_those_of_the_standard(name, dtype, xp, device):
    """NumPy's are; in float32 its own code strays from them here and there, so it computes in float64."""
    with np.errstate(all="ignore"):
        values = np.unique(np.asarray(SPECIAL, dtype).view(f"u{np.dtype(dtype).itemsize}")).view(dtype)
        x = np.array(list(itertools.product(values, repeat=2))).T if name in TWO else values[None]
        x = tuple(np.ascontiguousarray(a) for a in x)
        expected = NUMPY_UFUNCS[name](*(a.astype(np.float64) for a in x)).astype(dtype)
    got = accuracy.on_device(getattr(xp, name), xp, device)(*x)
    wrong = ~agree(got, expected, 4)
    assert not wrong.any(), [tuple(map(float, t)) for t in zip(*(a[wrong] for a in (*x, got, expected)), strict=True)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_the_base_have_exact_logarithms(dtype, xp, device):
    exponents = np.arange(-30, 31)
    two = np.exp2(exponents).astype(dtype)
    np.testing.assert_array_equal(np.asarray(xp.log2(xp.asarray(two, device=device))), exponents)
    ten = np.array([10.0**k for k in range(11)], dtype)  # exact in float32 up to here
    np.testing.assert_array_equal(np.asarray(xp.log10(xp.asarray(ten, device=device))), range(11))


# ------------------------------------------------------------------------------------------------ compiled code

MODULES = {
    "exponential": "exp expm1 log log1p log2 log10 logaddexp pow",
    "hyperbolic": "sinh cosh tanh asinh acosh atanh",
    "trigonometric": "sin cos tan asin acos atan atan2",
    "core_math": "sqrt hypot div",
    "special_logarithms": "logit kl_div sinc",
    "special_errors": "ndtri",
    "special_bessel": "i0",
    "elementwise": "floor_divide remainder reciprocal floor ceil trunc round maximum sign",
}

KERNEL = """
import triton
import triton.language as tl
from nbx_array.kernels.source import {module}

@triton.jit
def kernel(a32, a64, b32, b64, out32, out64, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x32 = tl.load(a32 + i)
    x64 = tl.load(a64 + i)
    y32 = tl.load(b32 + i)
    y64 = tl.load(b64 + i)
"""


@pytest.mark.parametrize("target", [("cuda", 90, 32), ("hip", "gfx942", 64)], ids=str)
@pytest.mark.parametrize("module", MODULES)
def test_compiled_code_is_exact(module, target, tmp_path, monkeypatch):
    """No approximate division, root or exponential, nothing that flushes subnormals, no vendor's library."""
    triton = pytest.importorskip("triton")
    from nbx_array.backend.compiler import Source, _load
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    text = KERNEL.format(module=module)
    for k, name in enumerate(MODULES[module].split()):
        for width in (32, 64):
            second = f", y{width}" if name in TWO else ""
            text += f"    tl.store(out{width} + {k} * 4096 + i, {module}.{name}(x{width}{second}))\n"
    types = {name: "*fp64" if "64" in name else "*fp32" for name in ("a32", "a64", "b32", "b64", "out32", "out64")}
    tree = ASTSource(_load(Source.generated(text, "kernel")), types | {"BLOCK": "constexpr"}, {"BLOCK": 128}, {})
    made = triton.compile(
        tree, target=GPUTarget(*target), options={"enable_fp_fusion": False, "enable_reflect_ftz": False}
    )
    code = made.asm["ptx" if target[0] == "cuda" else "amdgcn"]
    found = re.findall(r".*(?:\.approx|\.ftz|div\.full|call\.uni|v_exp_f|v_log_f|v_sin_f|s_swappc).*", code)
    assert not found, found[:5]
