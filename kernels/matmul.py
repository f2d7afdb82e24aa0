"""Matrix products: Triton kernels on GPUs, NumPy on the same memory on the CPU unless NBX_HOST_ROUTINES=0.

A program computes a tile of the result. Where there are fewer tiles than a GPU has multiprocessors and the inner
dimension is long, it is split: each part of it has programs of its own, and another kernel adds up their products,
always in the same order.
"""

from __future__ import annotations

from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend import facts
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher, special_or_general
from nbx_array.kernels.host import on_host
from nbx_array.kernels.rules import has_short_warps, warps
from nbx_array.kernels.types import component, is_complex, type_row
from nbx_array.memory import View, allocate
from nbx_array.memory.transfer import as_numpy
from nbx_array.memory.view import contiguous_strides

MODULE = "nbx_array.kernels.source.matmul"


def matmul(a: View, b: View, out: View) -> None:
    """out = a @ b for stacks of matrices: shapes (s, m, k), (s, k, n), (s, m, n), `out` contiguous, one dtype."""
    if on_host(out.storage.device):
        x, y = as_numpy(a), as_numpy(b)
        if out.dtype.itemsize == 2 and type_row(out.dtype).kind == "f":
            as_numpy(out)[...] = np.matmul(x.astype(np.float32), y.astype(np.float32))
        else:
            np.matmul(x, y, out=as_numpy(out))
    else:
        multiply(a, b, out)


def multiply(a: View, b: View, out: View, *, subtract: bool = False, conjugate: str = "") -> None:
    """out = a @ b, or with `subtract` out -= a @ b, by a Triton kernel; `out` has any strides.

    `conjugate`: "a" or "b" for the conjugate of that operand.
    """
    parts, steps = _parts(out.shape, a.shape[-1], out.dtype, out.storage.device, subtract)
    if parts > 1:
        products = _parts_of(out, parts)
        _multiply(a, b, products, parts, steps, False, conjugate)
        _add_parts(products, parts, out, subtract)
    else:
        _multiply(a, b, out, 1, steps, subtract, conjugate)


def _multiply(a: View, b: View, out: View, parts: int, steps: int, subtract: bool, conjugate: str) -> None:
    """A product, or those of the parts that the inner dimension is split into, one after another in `out`."""
    stack, m, n = out.shape
    product = Product.of(a, b, out, subtract, conjugate)
    launcher, tile, strides = special_or_general(partial(product_launcher, product))
    grid = -(-m // tile.rows) * -(-n // tile.columns)
    for first in range(0, stack, 65535):  # a grid's second dimension ends there
        addresses = tuple(view.address + first * view.strides[0] * view.dtype.itemsize for view in (a, b, out))
        launcher.spread((*addresses, m, n, product.k, *strides, steps), grid, min(stack - first, 65535), parts)


class Product(NamedTuple):
    """What the kernel of a product depends on: all of it but where the matrices lie."""

    shape: tuple[int, ...]  # of the result
    k: int
    strides: tuple[tuple[int, ...], ...]  # of a, b and the result
    dtype: np.dtype
    out_dtype: np.dtype
    device: Device
    subtract: bool
    conjugate: str
    aligned: bool  # all three begin at whole vectors

    @classmethod
    def of(cls, a: View, b: View, out: View, subtract: bool = False, conjugate: str = "") -> Product:
        aligned = (a.address | b.address | out.address) % 16 == 0
        strides, device = (a.strides, b.strides, out.strides), out.storage.device
        return cls(out.shape, a.shape[-1], strides, a.dtype, out.dtype, device, subtract, conjugate, aligned)


@lru_cache(maxsize=4096)
def product_launcher(product: Product, general: bool) -> tuple[Launcher, _Tile, list[int]]:
    """The kernel of a product, if `general` one for any sizes and strides, its tile, and the strides that it takes."""
    (stack, m, n), k, all_strides, dtype, out_dtype, device, subtract, conjugate, aligned = product
    tile = _tile_of(*((2**31,) * 3 if general else (m, n, k)), dtype, device, subtract)
    shapes = (stack, m, k), (stack, k, n), (stack, m, n)
    given = list(zip(shapes, all_strides, strict=True))
    unit = [_unit(*of) for of in given]
    even = [not general and _is_even(*of, axis) for of, axis in zip(given, unit, strict=True)]
    rows = (*all_strides[:2], (*all_strides[2], _apart(product.shape)))
    if type_row(out_dtype).kind in "fc":
        # as multiples of 16 they tell the compiler that rows begin at whole vectors
        strides = [s // 16 if by16 and s != 1 else s for of, by16 in zip(rows, even, strict=True) for s in of]
        fits = not general and not subtract and m % tile.rows == 0 and n % tile.columns == 0
        whole = fits, not general and k % tile.inner == 0
        conjugate = conjugate if is_complex(out_dtype) else ""
        exact = not general and not subtract and k <= FEW
        units = ["", "", ""] if general else unit
        form = _product(dtype, out_dtype, device, tile, units, even, whole, subtract, conjugate, exact)
    else:
        strides = [s for of in rows for s in of]
        form = _outer_product_sum(out_dtype, tile)
    return get_launcher(*form[:3], device, aligned and not general, form[3]), tile, strides


Form = tuple[Source, tuple[tuple[str, str], ...], tuple[tuple[str, Any], ...], tuple[tuple[str, Any], ...]]
_AXES = ("stack", "row", "column")
_NUMBERS = (*"mnk", *(f"{matrix}_{axis}" for matrix in ("a", "b", "out") for axis in _AXES), "out_part", "steps")


def _form(name: str, dtype: np.dtype, out_dtype: np.dtype, constants: dict[str, Any], tile: _Tile) -> Form:
    """A kernel as `get_launcher` takes it."""
    pointers = dict(zip("ab", (type_row(dtype).pointer,) * 2, strict=True)) | {"out": type_row(out_dtype).pointer}
    types = pointers | dict.fromkeys(_NUMBERS, "i64")
    sides = {"BM": tile.rows, "BN": tile.columns}
    options = (("num_warps", tile.num_warps), ("num_stages", tile.num_stages))
    return Source.of(MODULE, name), tuple(types.items()), tuple((constants | sides).items()), options


def _product(
    dtype: np.dtype,
    out_dtype: np.dtype,
    device: Device,
    tile: _Tile,
    units: list[str],
    even: list[bool],
    whole: tuple[bool, bool],
    subtract: bool,
    conjugate: str,
    exact: bool,
) -> Form:
    constants = {
        "PRECISION": "ieee" if exact else precision(device, dtype),
        **dict(zip(("A_UNIT", "B_UNIT", "OUT_UNIT"), units, strict=True)),
        **{name: 16 if by16 else 1 for name, by16 in zip(("A_STEP", "B_STEP", "OUT_STEP"), even, strict=True)},
        "WHOLE": whole[0],
        "WHOLE_K": whole[1],
        "BK": tile.inner,
        "GROUP": 8,
        "COMPLEX": is_complex(dtype),
        "SUBTRACT": subtract,
        "CONJUGATE": conjugate,
    }
    return _form("product", dtype, out_dtype, constants, tile)


def _outer_product_sum(dtype: np.dtype, tile: _Tile) -> Form:
    return _form("outer_product_sum", dtype, dtype, {}, tile)


FEW = 16
"""Sums of so few terms are of float32's products themselves: three TF32 products lose 2^-22 of each, more than such a
sum is rounded by. On an H200 10^6 by 16 times 16 by 64 takes 240 µs so and 231 otherwise; thin products with longer
sums take nearly twice as long (10^6 by 64 times 64 by 4: 295 and 161), so that theirs are of TF32."""


def precision(device: Device, dtype: np.dtype) -> str:
    """float32 products have float32 accuracy: three TF32 products where the target has them (DESIGN, Numbers)."""
    return "tf32x3" if device.backend == "cuda" and component(dtype) == np.float32 else "ieee"


def _unit(shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """The axis of the matrices along which neighbours lie next to each other, or ""."""
    row, column = strides[-2:]
    return "column" if column == 1 and shape[-1] != 1 else "row" if row == 1 else "column" if column == 1 else ""


def _is_even(shape: tuple[int, ...], strides: tuple[int, ...], unit: str) -> bool:
    """Whether the strides that count are multiples of 16, but for that of the axis along which neighbours lie next to
    each other: of overlapping windows another one is 1, too."""
    axes = zip(("stack", "row", "column"), shape, strides, strict=True)
    return all(stride % 16 == 0 for axis, size, stride in axes if axis != unit and size != 1)


class _Tile(NamedTuple):
    rows: int
    columns: int
    inner: int
    num_warps: int
    num_stages: int


def _tile_of(m: int, n: int, k: int, dtype: np.dtype, device: Device, subtract: bool) -> _Tile:
    if type_row(dtype).kind not in "fc":
        return _Tile(_side(m, 32), _side(n, 32), 1, 4, 1)
    # Factorisations subtract products of ever smaller matrices: one kernel for all of them.
    return _update_tile(dtype, device) if subtract else _tile(m, n, k, dtype, device)


def _side(size: int, most: int) -> int:
    return min(max(1 << max(size - 1, 0).bit_length(), 16), most)


@lru_cache(maxsize=4096)
def _tile(m: int, n: int, k: int, dtype: np.dtype, device: Device) -> _Tile:
    """The tile of a program, for floating point: large ones as measured on an H200 (benchmarks/NOTES.md). A complex
    tile has two accumulators, so that it takes half as many elements."""
    if device.backend == "cpu":
        rows, columns, inner = (16 if size <= 16 else 64 for size in (m, n, k))  # few kernels to compile
        return _Tile(rows, columns, inner, 1, 1)
    most, inner, warps, stages = {
        "e": ((128, 128), 64, 4, 4),
        "f": ((128, 64), 32, 4, 3),
        "d": ((64, 64), 16, 4, 3),
        "F": ((64, 64), 16, 4, 3),  # of 8 warps half would go over the same rows again, or move sums in every step
        "D": ((64, 32), 16, 4, 2),
    }[dtype.char if dtype.itemsize > 2 else "e"]
    if device.backend != "cuda" and dtype.char == "F":
        warps = 8
    if device.backend == "hip":  # 64 KiB of local memory
        stages = 2
    if has_short_warps(device) and dtype.itemsize > 2:  # products go by multiply-adds, their operands by registers
        most, inner = {"f": ((64, 64), 32), "d": ((64, 64), 16), "F": ((32, 32), 16), "D": ((16, 16), 16)}[dtype.char]
        warps = 8
    if device.backend == "metal":  # 32 KiB of threadgroup memory: for operands, and to turn a result by columns
        inner //= 2
        if dtype.char == "F":
            most = (32, 64)
    rows, columns = _side(m, most[0]), _side(n, most[1])
    if device.backend == "cuda" and dtype.char == "f" and rows == columns == 64:
        inner = 64  # as a square of few numbers: 64 by 10^6 times 10^6 by 64 takes 232 us so, 321 with 32
    return _Tile(rows, columns, _side(k, inner), warps, stages)


@lru_cache(maxsize=64)
def _update_tile(dtype: np.dtype, device: Device) -> _Tile:
    """The tile of a program that subtracts a product of few columns and as many rows. On CUDA it is small: with one
    step of the inner loop there is nothing to do but to read and write, and many programs do that sooner."""
    if device.backend != "cuda" or dtype.itemsize == 2:
        return _tile(128, 128, 32, dtype, device)
    rows, inner = {"f": (64, 32), "d": (32, 16), "F": (64, 16), "D": (32, 16)}[dtype.char]
    return _Tile(rows, 32, inner, 4, 1)


# -------------------------------------------------------------------------------------- a long inner dimension in parts

LEAST = 512
"""A part of the inner dimension is no shorter: for it, in a tile of 64 by 64 float32, one multiprocessor of an H200
takes about 20 µs, a few times what it takes to add the parts up."""

_ADD = ("count", "step", "words", "m", "n", *(f"out_{axis}" for axis in _AXES))


@lru_cache(maxsize=4096)
def _parts(shape: tuple[int, ...], k: int, dtype: np.dtype, device: Device, subtract: bool) -> tuple[int, int]:
    """How many parts the inner dimension of a product is split into, and how many steps of a tile each takes.

    With few tiles there are four programs for each multiprocessor, or two of the largest, so that all run at once.
    """
    stack, m, n = shape
    tile = _tile_of(m, n, k, dtype, device, subtract)
    steps = -(-k // tile.inner)
    if k < 2 * LEAST:
        return 1, steps
    # On the CPU always as many, so that the bits of a result do not depend on its processors.
    processors = 8 if device.backend == "cpu" else facts.of_device(device).multiprocessors or 0
    tiles = stack * -(-m // tile.rows) * -(-n // tile.columns)
    if tiles >= processors:
        return 1, steps
    programs = 4 if tile.rows * tile.columns * dtype.itemsize <= 1 << 14 else 2
    each = max(-(-steps * tiles // (programs * processors)), -(-LEAST // tile.inner))
    return -(-steps // each), each


def _apart(shape: tuple[int, ...]) -> int:
    """How far the products of parts lie apart: multiples of 16, so that they begin at whole vectors."""
    return -(-prod(shape) // 16) * 16


def _parts_of(out: View, parts: int) -> View:
    """Memory for the products of parts: the packed stack of the first of them."""
    dtype = sum_dtype(out.dtype)
    storage = allocate(parts * _apart(out.shape) * dtype.itemsize, out.storage.device)
    return View(storage, dtype, out.shape, contiguous_strides(out.shape))


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype that the products of parts are added up in."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and type_row(dtype).kind == "f" else dtype


def _add_parts(products: View, parts: int, out: View, subtract: bool) -> None:
    """out = the sum of the products of parts, or with `subtract` out -= the sum."""
    _, m, n = out.shape
    kernel, block = parts_launcher(products.dtype, out.dtype, out.storage.device, parts > 32, subtract)
    words = 2 if is_complex(out.dtype) else 1
    count = prod(out.shape) * words
    numbers = (parts, _apart(out.shape) * words, count, m, n, *out.strides)
    kernel.spread((products.address, out.address, *numbers), -(-count // block), 1, 1)


@lru_cache
def parts_launcher(
    dtype: np.dtype, out_dtype: np.dtype, device: Device, many: bool, subtract: bool
) -> tuple[Launcher, int]:
    """The kernel that adds up parts, few or many, and the words that a program takes."""
    parts, block = (128, 32) if many else (8, 256)
    types = {"parts": type_row(dtype).pointer, "out": type_row(out_dtype).pointer}
    types.update((name, "i64") for name in _ADD)
    constants = {"WORDS": 2 if is_complex(dtype) else 1, "PARTS": parts, "BLOCK": block, "SUBTRACT": subtract}
    options = (("num_warps", warps(device, 8 if many else 4)),)
    source = Source.of(MODULE, "add_parts")
    # Of the result any rows and columns are written: as if nothing began at a whole vector.
    return get_launcher(source, tuple(types.items()), tuple(constants.items()), device, False, options), block
