"""What a user's kernel may contain, in the Metal Shading Language: the CPU's tests, their kernels run by the shim."""

import ctypes
import struct
from types import SimpleNamespace

import pytest
from nbx_array.backend import compiler, native
from nbx_array.backend.metal import emit

from .. import launching
from ..test_cpu_kernels import (  # noqa: F401
    test_add_bfloat16,
    test_argmax,
    test_bool_bytes,
    test_dot_of_short_floats_and_batches,
    test_early_return,
    test_extrema_of_nothing_but_nan,
    test_grid_in_three_dimensions,
    test_histograms,
    test_lock,
    test_loops_and_conditions,
    test_matrix_product,
    test_products_are_not_fused_with_sums,
    test_reductions_of_tiles,
    test_scans,
    test_softmax_and_layer_norm,
    test_sort_gather_swap,
    test_tensor_descriptor,
    test_while_carries_tensors,
)
from ..test_cpu_kernels import test_conversion_to_floats as convert_to_floats
from ..test_cpu_kernels import test_conversion_to_integers_saturates as convert_to_integers
from ..test_cpu_kernels import test_division_is_exact_and_never_traps as divide
from ..test_cpu_kernels import test_extrema_of_special_values as extrema
from ..test_cpu_kernels import test_high_product as high_product
from ..test_cpu_kernels import test_reductions_in_three_dimensions as reduce_in_three_dimensions
from ..test_cpu_kernels import test_shifts_beyond_the_width as shift
from ..test_cpu_language import (  # noqa: F401
    test_a_reversed_scan_of_maxima,
    test_a_softmax_in_one_pass,
    test_a_while_loop_with_two_conditions,
    test_an_early_return_between_tensors,
    test_block_pointers,
    test_gather_concatenation_and_the_largest,
    test_pointers_in_memory,
    test_printing_and_asserting_are_ignored,
    test_products_of_transposed_and_short_operands,
    test_random_numbers,
    test_reductions_of_integers_and_bools,
)
from . import shim

pytestmark = pytest.mark.skipif(shim.compiler() is None, reason="neither clang++ nor g++ builds libraries here")


@pytest.fixture(autouse=True)
def metal(monkeypatch):
    """Launch by the shim what the tests launch on the CPU: on the same memory."""

    def get_launcher(source, signature, constants, device):
        kernel = shim.build(emit.emit(compiler.ttir(source, signature, constants), num_warps=4))
        kinds = [kind for _, kind in signature]

        def run(*arguments):
            *values, gx, gy, gz = arguments
            scalars = [
                None if kind.startswith("*") else struct.pack(native.argument_type(kind).format, value)
                for kind, value in zip(kinds, values, strict=True)
            ]
            keep = [ctypes.create_string_buffer(one, len(one)) if one is not None else None for one in scalars]
            addresses = [
                value if one is None else ctypes.addressof(one) for one, value in zip(keep, values, strict=True)
            ]
            kernel.run(addresses, (gx, gy, gz))

        return SimpleNamespace(run=run, spread=lambda values, *grid: run(*values, *grid))

    monkeypatch.setattr(launching, "get_launcher", get_launcher)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "uint32"])
def test_integer_arithmetic(rng, dtype):
    divide(rng, dtype)
    shift(rng, dtype)
    if dtype == "uint32":
        for one in ("uint32", "uint64"):
            high_product(rng, one)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_extrema(dtype):
    extrema(dtype)


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "int32", "int8", "uint8"])
def test_conversions(rng, source):
    for target in ("float16", "bfloat16", "float32"):
        convert_to_floats(rng, source, target)
    if source == "float32":
        for target in ("int32", "int64", "uint32"):
            convert_to_integers(rng, source, target)


@pytest.mark.parametrize("shape", [(4, 8, 16), (1, 64, 2)])
def test_reductions_in_three_dimensions(rng, shape):
    for axis in range(3):
        reduce_in_three_dimensions(rng, shape, axis)
