"""Run one function of ``nbx_array.kernels.source`` on arrays of numbers, through the launcher alone, on any device."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import get_device, get_driver
from nbx_array.backend.launcher import get_launcher

TYPES = {
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "bool": "i1",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
}
TYPES |= {"bfloat16": "bf16", "uint64": "u64", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64"}
BLOCK = 256

KERNEL = """
import triton
import triton.language as tl
from {module} import {function} as function

@triton.jit
def kernel({inputs}, {outputs}, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    {results} = function({arguments})
    {stores}
"""


def evaluate(
    module: str,
    function: str,
    operands: Sequence[np.ndarray],
    results: Sequence[object],
    device: str = "cpu",
    constants: Sequence[str] = (),
) -> list[np.ndarray]:
    """``function`` of a module of Triton source, element by element: operands of one length, one array for each dtype
    in ``results``. ``constants`` are further arguments, as source."""
    operands = [np.ascontiguousarray(x) for x in operands]
    n = operands[0].size
    outputs = [np.empty(n, dtype) for dtype in results]
    x = [f"x{k}" for k in range(len(operands))]
    r = [f"r{k}" for k in range(len(outputs))]
    text = KERNEL.format(
        module=f"nbx_array.kernels.source.{module}",
        function=function,
        inputs=", ".join(x),
        outputs=", ".join(f"p{name}" for name in r),
        results=", ".join(r),
        arguments=", ".join([*(f"tl.load({name} + i, mask=mask)" for name in x), *constants]),
        stores="\n    ".join(f"tl.store(p{name} + i, {name}, mask=mask)" for name in r),
    )
    arrays = dict(zip(x, operands, strict=True)) | {f"p{name}": y for name, y in zip(r, outputs, strict=True)}
    signature = tuple((name, f"*{TYPES[y.dtype.name]}") for name, y in arrays.items())
    place = get_device(device)
    driver = get_driver(place.backend)
    launcher = get_launcher(
        Source.generated(text, "kernel"), (*signature, ("n", "i32")), (("BLOCK", BLOCK),), place, aligned=True
    )
    with contextlib.ExitStack() as stack:
        addresses = []
        for y in arrays.values():
            address = driver.allocate(max(y.nbytes, 1), place.index)
            stack.callback(driver.free, address, place.index)
            addresses.append(address)
        for address, y in zip(addresses, operands, strict=False):
            driver.copy_from_host(address, y.ctypes.data, y.nbytes, place.index)
        launcher.run(*addresses, n, -(-n // BLOCK), 1, 1)
        for address, y in zip(addresses[len(operands) :], outputs, strict=True):
            driver.copy_to_host(y.ctypes.data, address, y.nbytes, place.index)
    return outputs
