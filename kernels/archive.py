"""``python -m nbx_array.kernels.archive``: kernels for machines that triton has no package for, as one file.

The file holds Triton's intermediate text of every kernel that is not made from a user's expression: each function of
the tables by itself for packed arrays of every dtype, and of the other families the kernels that take any sizes and
strides. A wheel carries it where it was written into the clone before the wheel was built.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
from nbx_array.backend import archive, compiler, verify
from nbx_array.backend.ahead import absent_device, kernels_of, parse_target
from nbx_array.backend.contract import Device, Target
from nbx_array.backend.recording import Spec
from nbx_array.kernels import fused, indexing, matmul, reduction, registry, scan, signature, sort
from nbx_array.kernels.pointwise import TABLE
from nbx_array.kernels.registry import INTEGERS, Dtypes, Launches, dtypes_of, flat
from nbx_array.kernels.rules import rule
from nbx_array.kernels.types import is_complex, kind
from nbx_array.memory import View, wrap

#: What the archive is for. Apple's families take the same kernels.
TARGETS = ("cpu", "apple7")
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
BOOL, INT64, UINT64 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.uint64)


def mixed(device: Device, dtypes: Dtypes) -> Launches:
    """What packed arrays of one dtype leave out: comparisons of uint64 with int64, copies, casts from complex."""
    signed, unsigned = signature.leaf(INT64, device), signature.leaf(UINT64, device)
    for row in TABLE.values():
        if row.rule == "compare" and row.arity == 2:
            for kids in ((signed, unsigned), (unsigned, signed)):
                yield flat(row.name, kids, INT64, BOOL)
    for source in filter(is_complex, dtypes):
        for target in dtypes:
            if not is_complex(target):
                yield flat("astype", (signature.leaf(source, device),), None, target)
    for dtype in dtypes:
        yield flat("astype", (signature.leaf(dtype, device),), None, dtype)


def copies(device: Device, dtypes: Dtypes) -> Launches:
    """Copies from and to any strides."""
    for dtype in dtypes:
        leaf = signature.leaf(dtype, device, general=True)
        copy = signature.operation("astype", (leaf,), None, dtype, device, general=True)
        for outer in fused.OUTER:
            for inner, strides in (((99,), (2,)), ((99, 99), (1, 99))):
                shape = (3,) * outer + inner
                steps = tuple(10**6 + d for d in range(outer)) + strides
                yield partial(fused._plan, copy, shape, (steps,), (*steps[:-1], 2 * steps[-1]), True, True)


def indexed(device: Device, dtypes: Dtypes) -> Launches:
    """Offsets of index arrays, gather and scatter of any sizes, positions of masks, counts."""
    limits = rule(device)
    for dtype in INTEGERS:
        for first in (True, False):
            yield partial(indexing.offsets_launcher, dtype, first, device)
    for dtype in dtypes:
        for columns in (1, limits.side, limits.tile):
            for name in ("gather", "scatter"):
                yield partial(indexing.move_launcher, name, dtype, 2, columns, device, True)
    yield from registry.picks(device, dtypes)
    for launcher in (indexing.count_launcher, indexing.totals_launcher, indexing.positions_launcher):
        yield partial(launcher, device)
    for wide in (False,) if device.backend == "metal" else (False, True):
        yield partial(indexing.tally_launcher, wide, device)
        for name in ("claim", "keep_last"):
            yield partial(indexing.last_launcher, name, wide, device)


def products(device: Device, dtypes: Dtypes) -> Launches:
    """Products of matrices of any sizes and strides."""
    nowhere = wrap(0, 0, device, None)
    for dtype in dtypes:
        matrix = View(nowhere, dtype, (1, 9, 9), (81, 9, 1))
        for subtract in (False, True):
            for conjugate in ("", "a", "b") if is_complex(dtype) else ("",):
                yield partial(
                    matmul.product_launcher, matmul.Product.of(matrix, matrix, matrix, subtract, conjugate), True
                )
            for many in (False, True):
                yield partial(matmul.parts_launcher, matmul.sum_dtype(dtype), dtype, device, many, subtract)
        part = matrix._replace(dtype=matmul.sum_dtype(dtype))
        if part.dtype != dtype:
            yield partial(matmul.product_launcher, matmul.Product.of(matrix, matrix, part), True)


def reductions(device: Device, dtypes: Dtypes) -> Launches:
    """Reductions of rows of any length: of few long ones, by stages, and of many short ones."""
    for row in reduction.TABLE.values():
        for dtype in dtypes:
            if kind(dtype) in row.kinds:
                leaf = signature.leaf(dtype, device)
                for form in reduction.GENERAL_FORMS:
                    yield partial(reduction.general_launcher, row, leaf, *form)


def scans(device: Device, dtypes: Dtypes) -> Launches:
    """Running sums, products and extremes of any sizes and strides: short and long ones, and those that take a program
    for each tile."""
    rule = scan.RULES[device.backend]
    for name, reduced in scan.NAMES.items():
        row = reduction.TABLE[reduced]
        for dtype in dtypes:
            if kind(dtype) in row.kinds and reduction.result_dtype(row, dtype) == dtype:
                leaf = signature.leaf(dtype, device)
                wide = reduction.accumulator(row, dtype)
                operands = (scan.Operand(2, 2, 2),) * 2
                forms = [scan.form_of(rule, (9, steps, 9), operands, wide.itemsize, True) for steps in (9, 999)]
                if device.backend != "cpu":
                    forms.append(scan.linked_form_of(rule, (9, 99999, 9), operands, wide.itemsize, True))
                for form in forms:
                    warps = (rule.linked if form.look else rule.whole).num_warps
                    yield partial(scan.launcher_of, name, leaf, form, dtype, False, warps)


def sorts(device: Device, dtypes: Dtypes) -> Launches:
    """Sorting of short rows, the passes over long ones, and searching."""
    wanted = (True, False), (False, True), (True, True)
    nowhere = wrap(0, 0, device, None)
    for dtype in dtypes:
        if is_complex(dtype):
            continue
        for values, indices in wanted:
            rule = sort._RULES[device.backend]
            for side in (*sort.SIDES, rule.run, rule.run + 1):
                yield partial(sort.run_launcher, dtype, side, values, indices, device, True)
            for last in (True, False):
                yield partial(sort.merge_launcher, dtype, values, indices, last, device)
            for small in (sort.INT32, INT64):
                for first in (True, False):
                    yield partial(sort.move_launcher, dtype, small, device, True, indices, first, False)
                    yield partial(sort.move_launcher, dtype, small, device, values, indices, first, True)
        for small in (sort.INT32, INT64):
            yield partial(sort.count_launcher, dtype, small, device)
        vector = View(nowhere, dtype, (99,), (1,))
        for right in (True, False):
            yield partial(sort.search, vector, vector, vector, right=right)


def checks(device: Device, dtypes: Dtypes) -> Launches:
    """What `nbx-array doctor` checks a driver with."""
    yield partial(verify.affine, device)
    yield partial(verify.scalars, device)


FAMILIES: dict[str, Callable[[Device, Dtypes], Launches]] = {
    **{name: registry.FAMILIES[name] for name in ("pointwise", "special", "scalars", "casts", "where", "creation")},
    "mixed": mixed,
    "copies": copies,
    "indexing": indexed,
    "matmul": products,
    "linalg": registry.FAMILIES["linalg"],
    "reductions": reductions,
    "fft": registry.FAMILIES["fft"],
    "scan": scans,
    "sort": sorts,
    **{name: registry.FAMILIES[name] for name in ("sets", "random")},
    "checks": checks,
}


def specs(target: Target, families: Iterable[str]) -> list[Spec]:
    """The kernels of families for a target in every dtype, 16-bit floats too; those that are alike side by side."""
    with absent_device(target) as device:
        dtypes = (*dtypes_of(device), *HALVES)
        made = [spec for family in families for spec in kernels_of(FAMILIES[family](device, dtypes), device)]
    return sorted(dict.fromkeys(made), key=lambda spec: (spec.source.name, spec.source.text or "", str(spec)))


def text_of(spec: Spec) -> tuple[bytes, str] | str:
    """A kernel's key and its text; what went wrong where there is none."""
    kernel = spec.source, spec.signature, spec.constants
    try:
        return compiler.archive_key(*kernel), compiler.ttir(*kernel)
    except Exception as error:
        return f"{registry.describe(spec)}: {type(error).__name__}: {error}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 where every kernel was compiled."""
    parser = argparse.ArgumentParser(prog="python -m nbx_array.kernels.archive", description=__doc__)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only this family; several times")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only for this target; several times")
    parser.add_argument("--output", type=Path, default=archive.path(), help="the file (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    options = parser.parse_args(arguments)
    version = compiler.triton_version()
    if version is None:
        print("triton, which makes the kernels' text, is not installed", file=sys.stderr)
        return 2
    start = time.monotonic()
    wanted = [s for t in options.target or TARGETS for s in specs(parse_target(t), options.family or list(FAMILIES))]
    # A kernel's text is the same for all targets.
    wanted = list({(spec.source, spec.signature, spec.constants): spec for spec in wanted}.values())
    print(f"compiling {len(wanted)} kernels with {options.jobs} processes", flush=True)
    # Fresh processes: triton's compiler starts threads, which a fork would not carry over.
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        made = list(pool.map(text_of, wanted, chunksize=16))
    problems = [result for result in made if isinstance(result, str)]
    for problem in problems:
        print(f"FAILED {problem}")
    count = archive.write(options.output, [result for result in made if not isinstance(result, str)], version)
    size = options.output.stat().st_size
    print(f"{count} kernels, {size / 1e6:.2f} MB in {options.output}, {time.monotonic() - start:.1f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
