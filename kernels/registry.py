"""Every kernel family, and for each the launches that stand for it.

Compiling ahead asks here what there is to compile, and CI compiles all of it for every target. A family is a function
of a device and of the dtypes wanted that yields launches: functions of no arguments that would launch a kernel or fetch
its launcher. They are called to learn which kernel that is, and never reach the launch itself, so addresses are 0.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from nbx_array.backend.ahead import absent_device, kernels_of
from nbx_array.backend.contract import Device, Target
from nbx_array.backend.recording import Spec
from nbx_array.kernels import (
    creation,
    fft,
    fused,
    indexing,
    matmul,
    random,
    reduction,
    rules,
    scan,
    sets,
    signature,
    sort,
)
from nbx_array.kernels.linalg import jacobi, panels, spectra
from nbx_array.kernels.pointwise import SPECIAL, TABLE, Pointwise, UnsupportedDtype, resolve
from nbx_array.kernels.types import component, default_float, is_complex, kind
from nbx_array.memory import View, wrap

Launches = Iterator[Callable[[], object]]
Dtypes = tuple[np.dtype, ...]

INTEGERS: tuple[np.dtype, ...] = tuple(
    np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
)
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
DTYPES = (np.dtype(np.bool_), *INTEGERS, *FLOATS, *COMPLEX)


def dtypes_of(device: Device) -> tuple[np.dtype, ...]:
    """The standard's dtypes that a device has: Metal's GPUs have no float64."""
    wide = default_float(device).itemsize == 8
    return tuple(dtype for dtype in DTYPES if wide or component(dtype) != np.float64)


def _of_kind(kinds: str, dtypes: Dtypes) -> list[np.dtype]:
    return [dtype for dtype in dtypes if kind(dtype) in kinds]


def factored(dtypes: Dtypes) -> list[np.dtype]:
    """The dtypes that linear algebra takes; 16-bit floats are refused there."""
    return [dtype for dtype in _of_kind("fc", dtypes) if component(dtype).itemsize > 2]


def flat(op: str, kids: tuple[signature.Sig, ...], compute: np.dtype | None, dtype: np.dtype) -> Callable[[], object]:
    sig = signature.operation(op, kids, compute, dtype, kids[0].device, general=False)
    return lambda: fused.flat_launcher(sig)


def _computed(row: Pointwise, device: Device, dtypes: Dtypes) -> Iterator[tuple[np.dtype, np.dtype]]:
    """The dtypes that a function is computed in, each with the result's."""
    known = set()
    for dtype in dtypes:
        with contextlib.suppress(UnsupportedDtype):
            compute, result = resolve(row, dtype, default_float(device))
            if compute not in known:
                known.add(compute)
                yield compute, result


def pointwise(device: Device, dtypes: Dtypes) -> Launches:
    """Every function of the standard for every dtype that it is computed in, over contiguous arrays."""
    yield from _over_arrays([row for row in TABLE.values() if row.name not in SPECIAL], device, dtypes)


def special(device: Device, dtypes: Dtypes) -> Launches:
    """Every special function, likewise."""
    yield from _over_arrays(SPECIAL.values(), device, dtypes)


def _over_arrays(rows: Iterable[Pointwise], device: Device, dtypes: Dtypes) -> Launches:
    for row in rows:
        for compute, result in _computed(row, device, dtypes):
            yield flat(row.name, (signature.leaf(compute, device),) * row.arity, compute, result)


def scalars(device: Device, dtypes: Dtypes) -> Launches:
    """Every function of the standard of two operands with a scalar on either side."""
    for row in TABLE.values():
        if row.arity == 2 and row.name not in SPECIAL:
            for compute, result in _computed(row, device, dtypes):
                array, number = signature.leaf(compute, device), signature.scalar(compute, device)
                yield flat(row.name, (array, number), compute, result)
                yield flat(row.name, (number, array), compute, result)


def casts(device: Device, dtypes: Dtypes) -> Launches:
    """From every dtype to every other one that is not of a lesser kind."""
    for source in dtypes:
        for target in dtypes:
            if source != target and (is_complex(target) or not is_complex(source)):
                yield flat("astype", (signature.leaf(source, device),), None, target)


def choice(device: Device, dtypes: Dtypes) -> Launches:
    """`where` for every dtype."""
    condition = signature.leaf(np.dtype(np.bool_), device)
    for dtype in dtypes:
        yield flat("where", (condition, *(signature.leaf(dtype, device),) * 2), None, dtype)


def word_sizes(dtypes: Dtypes) -> list[tuple[int, int]]:
    """The bytes of an element of each dtype, and of how many words it is."""
    return sorted({(dtype.itemsize, 2 if is_complex(dtype) else 1) for dtype in dtypes})


def created(device: Device, dtypes: Dtypes) -> Launches:
    """Arrays filled with one value, `arange` and `linspace`."""
    for dtype in dtypes:
        fill = signature.scalar(dtype, device)
        yield lambda fill=fill: fused.flat_launcher(fill)  # type: ignore[misc]
    for dtype in (*INTEGERS, *_of_kind("f", dtypes)):
        yield lambda dtype=dtype: creation.arithmetic(0, dtype, device, 0, 1, 1)  # type: ignore[misc]
    for dtype in _of_kind("f", dtypes):
        yield lambda dtype=dtype: creation.spaced(0, dtype, device, 0.0, 1.0, 2, True)  # type: ignore[misc]
    limits = rules.rule(device)
    for itemsize, words in word_sizes(dtypes):
        for columns in (1, limits.side, limits.tile):
            for name, lower in (("diagonal", False), ("triangle", False), ("triangle", True)):
                yield partial(creation.matrix_launcher, name, itemsize, words, columns, lower, device, True)


def strided(device: Device, dtypes: Dtypes) -> Launches:
    """Addition of a matrix and its transpose, of a row and of a number, and a copy to every other element."""
    for dtype in dtypes:
        leaf = signature.leaf(dtype, device, general=True)
        add = signature.operation(
            "logical_or" if dtype.kind == "b" else "add", (leaf, leaf), dtype, dtype, device, general=True
        )
        copy = signature.operation("astype", (leaf,), None, dtype, device, general=True)
        for other in ((1, 99), (0, 1), (0, 0)):
            yield lambda add=add, other=other: fused.plan(add, (99, 99), ((99, 1), other), (99, 1), True)  # type: ignore[misc]
        yield lambda copy=copy: fused.plan(copy, (9999,), ((1,),), (2,), True)  # type: ignore[misc]


def indexed(device: Device, dtypes: Dtypes) -> Launches:
    """Offsets of index arrays, gather and scatter, positions of masks, counts."""
    for dtype in INTEGERS:
        for first in (True, False):
            yield lambda dtype=dtype, first=first: indexing.offsets_launcher(dtype, first, device)  # type: ignore[misc]
    nowhere = wrap(0, 0, device, None)
    for dtype in dtypes:
        values = View(nowhere, dtype, (1, 1, 1), (1, 1, 1))
        for before, after in ((1, 1), (1, 99), (9, 1)):
            places = indexing.Places(0, dtype, View(nowhere, np.dtype(np.int64), (1,), (1,)), before, 1, after, 1, 1)
            yield lambda places=places, values=values: indexing.gather(places, values)  # type: ignore[misc]
            yield lambda places=places, values=values: indexing.scatter(places, values, repeat=False, distinct=True)  # type: ignore[misc]
    yield from picks(device, dtypes)
    for launcher in (indexing.count_launcher, indexing.totals_launcher, indexing.positions_launcher):
        yield lambda launcher=launcher: launcher(device)  # type: ignore[misc]
    for wide in (False,) if device.backend == "metal" else (False, True):
        yield partial(indexing.tally_launcher, wide, device)
        for name in ("claim", "keep_last"):
            yield partial(indexing.last_launcher, name, wide, device)


def picks(device: Device, dtypes: Dtypes) -> Launches:
    """Elements at indices along one axis, in arrays of any sizes."""
    limits = rules.rule(device)
    for itemsize, words in word_sizes(dtypes):
        for columns in (1, limits.side, limits.tile):
            for each in (False, True):
                yield partial(indexing.pick_launcher, each, itemsize, words, 2, columns, device, True)


def products(device: Device, dtypes: Dtypes) -> Launches:
    """Products of small and of large matrices, and of those with a long inner dimension, in parts, and their sums."""
    nowhere = wrap(0, 0, device, None)
    for dtype in dtypes:
        for columns in (4, 64):
            left, right = (
                View(nowhere, dtype, (1, 64, 9999), (1, 1, 64)),
                View(nowhere, dtype, (1, 9999, columns), (1, columns, 1)),
            )
            out = View(nowhere, dtype, (1, 64, columns), (1, columns, 1))
            yield partial(matmul.product_launcher, matmul.Product.of(left, right, out), False)
        for parts in (False, True):
            yield partial(matmul.parts_launcher, matmul.sum_dtype(dtype), dtype, device, parts, False)
        tall, thin, out = (View(nowhere, dtype, (1, m, n), (1, n, 1)) for m, n in ((999, 64), (64, 4), (999, 4)))
        yield partial(matmul.product_launcher, matmul.Product.of(tall, thin, out), False)
        for size in (1, 999):
            matrix = View(nowhere, dtype, (1, size, size), (1, size, 1))
            yield lambda matrix=matrix: matmul.multiply(matrix, matrix, matrix)  # type: ignore[misc]


def reductions(device: Device, dtypes: Dtypes) -> Launches:
    """Every reduction, for every dtype of a long array, and for float32 in the other forms: short, of rows, of columns,
    of strided dimensions, of rows that share a program."""
    square = (992, 992)
    forms: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((9,), (0,)),
        (square, (1,)),
        (square, (0,)),
        ((9, 99, 99), (0, 2)),
        ((9, 33), (1,)),
    ]
    for row in reduction.TABLE.values():
        cases = [(dtype, (999_999,), (0,)) for dtype in dtypes if kind(dtype) in row.kinds]
        for dtype, shape, axes in (*cases, *((FLOATS[0], *form) for form in forms)):
            sig = signature.leaf(dtype, device)
            yield lambda row=row, sig=sig, shape=shape, axes=axes: reduction.plan(  # type: ignore[misc]
                row.name, sig, shape, None, axes
            )


def transforms(device: Device, dtypes: Dtypes) -> Launches:
    """Fourier transforms: a pass of every radix, first and later, and what comes before and after passes."""
    large = device.backend in fft.LARGE
    radices = [radix for radix in fft.RADICES if large or radix < 27]
    forms = ("complex", "real", "pairs", "half")
    kernels: list[tuple[str, dict[str, object]]] = [("prepare", {"KIND": form}) for form in forms]
    kernels.append(("tangle", {}))
    read = len(kernels)  # the others never read an array that is not aligned
    kernels += [("butterflies", {"R": radix, "FIRST": True}) for radix in radices]
    kernels += [("butterflies", {"R": radix, "FIRST": False}) for radix in radices if radix > 1]
    if large:
        for (a, b), place in itertools.product(fft.DOUBLES.values(), ("first", "later", "only")):
            kernels.append(("double_butterflies", {"A": a, "B": b, "PLACE": place}))
    kernels += [("deliver", {"REAL": flag}) for flag in (True, False)]
    kernels += [("untangle", {"WHOLE": flag}) for flag in (True, False)]
    named = {"double_butterflies", *(name for name, _ in kernels)}
    kernels += [(name, {}) for name in fft.ARGUMENTS if name not in named]
    for dtype in _of_kind("c", dtypes):
        for aligned in (True, False):
            for name, constants in kernels[: None if aligned else read]:
                arguments = (name, dtype, False, aligned, tuple(constants.items()), device)
                yield lambda arguments=arguments: fft.launcher_of.__wrapped__(*arguments)  # type: ignore[misc]


def scans(device: Device, dtypes: Dtypes) -> Launches:
    """Running sums, products and extremes for every dtype: along rows and columns by programs that go along the axis,
    of vectors and along long columns by those that take a tile each."""
    rule = scan.RULES[device.backend]
    shapes = (
        ((1, 10**7, 1), (0, 1, 0), True),
        ((1, 99, 999), (0, 1, 99), False),
        ((9, 999, 99), (98901, 99, 1), False),
        ((9, 99999, 99), (99 * 99999, 99, 1), True),
    )
    for name, reduced in scan.NAMES.items():
        row = reduction.TABLE[reduced]
        for dtype in dtypes:
            if kind(dtype) in row.kinds and reduction.result_dtype(row, dtype) == dtype:
                sig = signature.leaf(dtype, device)
                wide = reduction.accumulator(row, dtype)
                for sizes, strides, linked in shapes:
                    operands = (scan.Operand(*strides),) * 2
                    if not linked:
                        form = scan.form_of(rule, sizes, operands, wide.itemsize)
                        yield partial(scan.launcher_of, name, sig, form, dtype, False, rule.whole.num_warps)
                    elif device.backend != "cpu":  # whose programs all go along the axis
                        form = scan.linked_form_of(rule, sizes, operands, wide.itemsize)
                        yield partial(scan.launcher_of, name, sig, form, dtype, True, rule.linked.num_warps)


def sorts(device: Device, dtypes: Dtypes) -> Launches:
    """Sorting of short rows, merges and passes over longer ones, and searching, for every real dtype."""
    nowhere = wrap(0, 0, device, None)
    small = np.dtype(np.int32)
    for dtype in dtypes:
        if is_complex(dtype):
            continue
        row = View(nowhere, dtype, (1, 99), (99, 1), 0)
        places = View(nowhere, np.dtype(np.int64), (1, 99), (99, 1), 0)
        for values, indices in ((row, None), (None, places), (row, places)):
            yield partial(sort.sort, row, values, indices, descending=False)
            wanted = values is not None, indices is not None
            yield partial(sort.merge_launcher, dtype, *wanted, True, device)
            yield partial(sort.move_launcher, dtype, small, device, True, wanted[1], True, False)
            yield partial(sort.move_launcher, dtype, small, device, True, wanted[1], False, False)
            yield partial(sort.move_launcher, dtype, small, device, *wanted, False, True)
        yield partial(sort.run_launcher, dtype, 10**6, True, False, device)
        yield partial(sort.merge_launcher, dtype, True, False, False, device)
        yield partial(sort.count_launcher, dtype, small, device)
        vector = row._replace(shape=(99,), strides=(1,))
        for right in (True, False):
            yield partial(sort.search, vector, vector, vector, right=right)


def distinct(device: Device, dtypes: Dtypes) -> Launches:
    """Counting and placing the distinct elements of sorted vectors, for every dtype, with all that is asked for."""
    for dtype in dtypes:
        yield partial(sets.count_launcher, dtype, device)
        for wanted in ((False, False, False), (False, False, True), (False, True, False), (True, True, True)):
            yield partial(sets.place_launcher, dtype, device, *wanted)


def factorisations(device: Device, dtypes: Dtypes) -> Launches:
    """Blocks and panels of factorisations, of few rows and of many; rotations of small and of large matrices."""
    nowhere = wrap(0, 0, device, None)
    flag = View(nowhere, np.dtype(np.int64), (1,), (1,))
    for dtype in factored(dtypes):
        small = View(nowhere, dtype, (1, 9, 9), (81, 9, 1))
        large = View(nowhere, dtype, (1, 999, 99), (98901, 99, 1))
        pivots = View(nowhere, flag.dtype, (1, 99), (99, 1))
        keys = View(nowhere, component(dtype), (1, 99), (99, 1))
        blocks = View(nowhere, dtype, (1, 4, 32, 32), (4096, 1024, 32, 1))
        yield partial(panels.cholesky_block, small, small, 0)
        for upper in (True, False):
            yield partial(panels.invert_triangles, small, blocks, upper=upper)
        for upper, unit, conjugate in (
            (False, True, False),
            *((upper, False, c) for upper in (True, False) for c in (True, False)),
        ):
            yield partial(panels.substitute, small, small, small, upper=upper, unit=unit, conjugate=conjugate)
        yield partial(panels.swap_rows, small, pivots, 0, 9)
        for name in ("lu_panel", "qr_panel"):
            for rows in (64, 1024, 4096):
                block = View(nowhere, dtype, (1, rows, 32), (rows * 32, 32, 1))
                columns = panels.columns_in_registers(block) or 32
                yield partial(panels.panel_launcher, name, block._replace(shape=(1, rows, columns)), general=False)
            for panel in (small, large):
                yield partial(panels.panel_launcher, name, panel, general=True)
        for panel in (small, large):
            for side in ("a", "b"):
                yield partial(matmul.multiply, panel, panel, panel, subtract=True, conjugate=side)
        for size in (2, 4, 8, 16, 32, 64):
            matrix = View(nowhere, dtype, (1, size, size), (size * size, size, 1))
            yield partial(spectra.eigh_launcher, matrix)
            for with_vectors in (True, False):
                yield partial(spectra.svd_launcher, matrix, with_vectors)
        matrix = View(nowhere, dtype, (1, 99, 99), (9801, 99, 1))
        for vectors, finite in ((None, False), (None, True), (matrix, True)):
            for general in (True, False):
                yield partial(jacobi.round_launcher, matrix, vectors, finite, general=general)
        for descending in (True, False):
            yield partial(jacobi.sort_rows, keys, keys, large, large, descending=descending)


def variates(device: Device, dtypes: Dtypes) -> Launches:
    """Every distribution of random numbers, in each dtype that it is drawn in."""
    for name in random.DISTRIBUTIONS:
        for dtype in random.result_dtypes(name, device):
            yield partial(random.launcher_of, name, dtype, device)


FAMILIES: dict[str, Callable[[Device, Dtypes], Launches]] = {
    "pointwise": pointwise,
    "special": special,
    "scalars": scalars,
    "casts": casts,
    "where": choice,
    "creation": created,
    "strided": strided,
    "indexing": indexed,
    "matmul": products,
    "linalg": factorisations,
    "reductions": reductions,
    "fft": transforms,
    "scan": scans,
    "sort": sorts,
    "sets": distinct,
    "random": variates,
}


def specs(family: str, target: Target) -> list[Spec]:
    """The kernels of a family for a target, whether or not there is such a device."""
    with absent_device(target) as device:
        return list(dict.fromkeys(kernels_of(FAMILIES[family](device, dtypes_of(device)), device)))


def may_spill(family: str, target: Target) -> bool:
    """Do kernels of a family need more registers than AMD's targets have? On RDNA, which has 256 a thread and no matrix
    instructions for it, a product of two blocks of a factorisation does: 32 by 32 numbers, up to 16 bytes each."""
    return family == "linalg" and target.warp_size == 32


def describe(spec: Spec) -> str:
    """A kernel in a line: its name, for generated source the statement that says most, and its argument types."""
    name = spec.source.name
    if spec.source.text is not None:
        calls = [line.strip() for line in spec.source.text.splitlines() if " = " in line and "(" in line]
        name += f" [{calls[-1]}]" if calls else ""
    return f"{name} ({', '.join(kind for _, kind in spec.signature)})"


def move(spec: Spec, recorded: Target, wanted: Target) -> Spec:
    """A kernel recorded for one target with the block and warps that another one takes."""
    old, new = rules.rule_of(recorded), rules.rule_of(wanted)
    if old == new:
        return spec
    block = dict(spec.constants).get("BLOCK", 0)
    flat = block and (block % old.block == 0 or rules.SHORT * block == old.block)
    constants = tuple((k, new.block * block // old.block if k == "BLOCK" and flat else v) for k, v in spec.constants)
    warps = new.num_warps * max(block // old.block, 1) if flat else new.tile_warps
    options = tuple((k, warps if k == "num_warps" else v) for k, v in spec.options if k != "quick")  # the CPU's alone
    return spec._replace(constants=constants, options=options)
