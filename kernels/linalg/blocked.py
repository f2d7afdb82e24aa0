"""Cholesky's factorisation, LU with partial pivoting and Householder's QR, by blocks of columns.

A step is a panel of BLOCK columns by one program a matrix, and matrix products for all columns on its right. Where
registers do not hold so many columns, a panel is cut into narrower ones. Views are stacks of matrices, of shape (stack,
rows, columns); `status` is the address of an int64 that becomes 1 where something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from nbx_array.kernels.linalg import panels
from nbx_array.kernels.linalg.panels import BLOCK, part, transposed
from nbx_array.kernels.matmul import multiply
from nbx_array.memory import View, allocate
from nbx_array.memory.view import contiguous_strides


def _new(a: View, *shape: int) -> View:
    """Memory for numbers of a's dtype."""
    size = int(np.prod(shape)) * a.dtype.itemsize
    return View(allocate(size, a.storage.device), a.dtype, shape, contiguous_strides(shape))


def _steps(n: int) -> Iterator[tuple[slice, slice]]:
    """For each block of n columns: it, and the columns after it."""
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        yield slice(start, end), slice(end, n)


def _panels(a: View, block: slice) -> Iterator[slice]:
    """The columns of the panels that a block of a's columns is cut into, from the diagonal down."""
    step = panels.columns_in_registers(part(a, slice(block.start, a.shape[1]), block)) or BLOCK
    for start in range(block.start, block.stop, step):
        yield slice(start, min(start + step, block.stop))


def _filled(block: slice) -> bool:
    return block.start < block.stop


def cholesky(a: View, status: int) -> View:
    """The lower triangle of a becomes L with a = L Lᴴ; status: whether a is not positive definite. Returns what
    `solve_cholesky` takes."""
    inverses = _new_inverses(a)
    for here, after in _steps(a.shape[-1]):
        corner, inverse = part(a, here, here), _block(inverses, here)
        panels.cholesky_block(corner, inverse, status)
        if _filled(after):
            below = part(a, after, here)
            panels.substitute(corner, inverse, transposed(below), upper=False, conjugate=True)  # of below Lᴴ = below
            multiply(below, transposed(below), part(a, after, after), subtract=True, conjugate="b")
    return inverses


def solve_cholesky(a: View, inverses: View, b: View) -> None:
    """b becomes the x with a x = b, of a that `cholesky` has factorised."""
    _forwards(a, inverses, b, unit=False)
    _backwards(transposed(a), b, conjugate=True)


def lu(a: View, pivots: View, status: int) -> View:
    """Square a becomes L below its diagonal, where L has ones, and U; pivots, of shape (stack, n), says which row was
    exchanged with each. status: whether U is singular. Returns what `solve_lu` takes."""
    n, inverses = a.shape[-1], _new_inverses(a)
    for here, after in _steps(n):
        inverse = _block(inverses, here)
        for panel in _panels(a, here):
            start, stop = panel.start, panel.stop
            order = pivots._replace(offset=pivots.offset + start * pivots.strides[1])
            panels.lu_panel(part(a, slice(start, n), panel), order, start, status)
            panels.swap_rows(a, pivots, start, stop, skip=range(start, stop))
            if stop < here.stop:
                _eliminate(a, inverse, panel, slice(stop, here.stop))
        _eliminate(a, inverse, here, after)
    return inverses


def _eliminate(a: View, inverse: View, block: slice, right: slice) -> None:
    """The rows of U and the rest that a block of columns of L leaves in columns on its right; `inverse` becomes what
    solving with the block's triangle takes."""
    corner, below = part(a, block, block), slice(block.stop, a.shape[-1])
    panels.invert_triangles(corner, inverse, upper=False)
    if _filled(right):
        upper = part(a, block, right)
        panels.substitute(corner, inverse, upper, upper=False, unit=True)
        multiply(part(a, below, block), upper, part(a, below, right), subtract=True)


def solve_lu(a: View, pivots: View, inverses: View, b: View) -> None:
    """b becomes the x with a x = b, of a that `lu` has factorised."""
    panels.swap_rows(b, pivots, 0, a.shape[-1])
    _forwards(a, inverses, b, unit=True)
    _backwards(a, b, conjugate=False)


def _new_inverses(a: View) -> View:
    """Memory for what solving with the diagonal blocks takes."""
    return _new(a, a.shape[0], -(-a.shape[-1] // BLOCK), BLOCK, BLOCK)


def _block(inverses: View, block: slice) -> View:
    stack, step, row, column = inverses.strides
    shape, strides = (inverses.shape[0], BLOCK, BLOCK), (stack, row, column)
    return View(inverses.storage, inverses.dtype, shape, strides, inverses.offset + block.start // BLOCK * step)


def _forwards(t: View, inverses: View, b: View, *, unit: bool) -> None:
    """b becomes the x with t x = b, of lower triangles t, if `unit` with ones on their diagonals."""
    columns = slice(0, b.shape[-1])
    for here, after in _steps(t.shape[-1]):
        known = part(b, here, columns)
        panels.substitute(part(t, here, here), _block(inverses, here), known, upper=False, unit=unit)
        if _filled(after):
            multiply(part(t, after, here), known, part(b, after, columns), subtract=True)


def _backwards(t: View, b: View, *, conjugate: bool) -> None:
    """b becomes the x with t x = b, of upper triangles t or their conjugates."""
    columns, inverses = slice(0, b.shape[-1]), _new_inverses(t)
    panels.invert_triangles(t, inverses, upper=True)
    for here, _ in reversed(list(_steps(t.shape[-1]))):
        known, before = part(b, here, columns), slice(0, here.start)
        panels.substitute(part(t, here, here), _block(inverses, here), known, upper=True, conjugate=conjugate)
        if _filled(before):
            left = part(t, before, here)
            multiply(left, known, part(b, before, columns), subtract=True, conjugate="a" if conjugate else "")


def qr(a: View, q: View | None) -> None:
    """a becomes R above its diagonal, and q, which holds as many columns of an identity matrix, the first columns of Q,
    unless it is None.

    Squares of the elements of a must be in range. The product of a panel's reflections is 1 - V T Vᴴ = 1 - W Vᴴ.
    """
    stack, m, n = a.shape
    v, w = (_new(a, stack, m, min(m, n)) for _ in range(2))
    t = _new(a, stack, BLOCK, BLOCK)
    scratch = _new(a, stack, BLOCK, max(n, q.shape[-1] if q is not None else 0))
    steps = [panel for block, _ in _steps(min(m, n)) for panel in _panels(a, block)]
    for here in steps:
        rows, inside, after = slice(here.start, m), slice(0, here.stop - here.start), slice(here.stop, n)
        panel, vectors, others = (part(x, rows, here) for x in (a, v, w))
        panels.qr_panel(panel, vectors, t)
        if q is not None or _filled(after):
            multiply(vectors, part(t, inside, inside), others)
        if _filled(after):
            _reflect(vectors, others, part(a, rows, after), scratch)
    if q is None:
        return
    for here in reversed(steps):
        rows = slice(here.start, m)
        _reflect(part(w, rows, here), part(v, rows, here), part(q, rows, slice(here.start, q.shape[-1])), scratch)


def _reflect(left: View, right: View, b: View, scratch: View) -> None:
    """b becomes (1 - left rightᴴ) b."""
    y = part(scratch, slice(0, right.shape[-1]), slice(0, b.shape[-1]))
    multiply(transposed(right), b, y, conjugate="a")
    multiply(left, y, b, subtract=True)
