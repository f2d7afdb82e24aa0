"""Every element-wise function in the Metal Shading Language against NumPy, run on this processor."""

import numpy as np
import pytest
from nbx_array.backend.ahead import absent_device, kernels_of
from nbx_array.kernels import fused, signature
from nbx_array.kernels.pointwise import TABLE, resolve
from table import ROWS, arguments, check, takes

from . import shim
from .kernels import METAL, emitted

FLOAT32 = np.dtype(np.float32)  # the default float there
SIZE = 4097
pytestmark = pytest.mark.skipif(shim.compiler() is None, reason="neither clang++ nor g++ builds libraries here")


@pytest.mark.parametrize("name", ["float32", "int32", "bool", "complex64"])
def test_every_function(name, rng):
    dtype = np.dtype(name)
    rows = [row for row in ROWS if takes(row, dtype)]
    results, specs = [], []
    with absent_device(METAL) as device:
        for row in rows:
            compute, result = resolve(TABLE[row.name], dtype, FLOAT32)
            operands = (signature.leaf(dtype, device),) * row.arity
            sig = signature.operation(row.name, operands, compute, result, device, general=False)
            specs += kernels_of([lambda sig=sig: fused.flat_launcher(sig)], device)
            results.append(result)
    assert len(specs) == len(rows)
    kernels = shim.build_all(emitted(spec) for spec in specs)
    for row, result, spec, kernel in zip(rows, results, specs, kernels, strict=True):
        operands = [np.ascontiguousarray(x) for x in arguments(row, dtype, SIZE, rng)]
        count = np.array([operands[0].size])
        out = np.full(count[0] + 8, 77, result)  # beyond the end nothing is written
        grid = (-(-count[0] // dict(spec.constants)["BLOCK"]),)
        kernel.run([x.ctypes.data for x in (*operands, out, count)], grid)
        assert (out[count[0] :] == np.full(8, 77, result)).all(), row.name
        if row.result == "float" and dtype.kind in "biu":
            operands = [x.astype(FLOAT32) for x in operands]
        check(row, out[: count[0]], *operands)
