"""Diagonal blocks and panels of blocked factorisations, in place. A factorisation's updates are matrix products.

Views are stacks of matrices, of shape (stack, rows, columns) and any strides, but that panels have packed rows;
`inverse` are packed stacks of BLOCK by BLOCK matrices for what solving with a diagonal block takes; `status` is the
address of an int64.
"""

from __future__ import annotations

from functools import partial

from nbx_array.backend.launcher import Launcher, special_or_general
from nbx_array.kernels.linalg.launch import Constants, arguments, is_complex, kernel_of, power_of_two
from nbx_array.kernels.matmul import precision
from nbx_array.memory import View

MODULE = "linalg_panels"
BLOCK = 32  # rows of a diagonal block, and columns of a panel at most
# By backend: bytes of a panel that a program's registers hold beside what it takes, and the fewest columns of panels
# that a block is cut into to fit. Only of CUDA is it known what registers take, and that narrow panels pay for their
# launches; on the CPU the tile passes through memory instead.
_REGISTERS = {"cuda": (1 << 17, 4), "cpu": (1 << 15, BLOCK), "hip": (1 << 13, BLOCK), "metal": (1 << 13, BLOCK)}

_CHOLESKY = arguments("a:matrix inverse:matrix status:*i64 n stack row column")
_INVERT = arguments("t:matrix inverse:matrix size stack step row column inverse_stack")
_SUBSTITUTE = arguments(
    "t:matrix inverse:matrix b:matrix n columns t_stack t_row t_column inverse_stack b_stack b_row b_column"
)
_SWAP = arguments("a:matrix pivots:*i64 first stop columns skip skip_end stack row column pivots_stack")
_PANELS = {
    "lu_panel": arguments("a:matrix pivots:*i64 status:*i64 rows n first stack row pivots_stack"),
    "lu_panel_in_registers": arguments("a:matrix pivots:*i64 status:*i64 rows first stack row pivots_stack"),
    "qr_panel": arguments("a:matrix v:matrix t:matrix rows n stack row v_stack v_row t_stack t_row"),
    "qr_panel_in_registers": arguments("a:matrix v:matrix t:matrix rows stack row v_stack v_row t_stack t_row"),
}


def part(a: View, rows: slice, columns: slice) -> View:
    """Rows and columns of the matrices, by slices with a start and a stop."""
    _, row, column = a.strides
    shape = (a.shape[0], rows.stop - rows.start, columns.stop - columns.start)
    return View(a.storage, a.dtype, shape, a.strides, a.offset + rows.start * row + columns.start * column)


def transposed(a: View) -> View:
    (stack, m, n), (step, row, column) = a.shape, a.strides
    return View(a.storage, a.dtype, (stack, n, m), (step, column, row), a.offset)


def _constants(a: View, *others: tuple[str, object]) -> Constants:
    return (("COMPLEX", is_complex(a)), ("PRECISION", precision(a.storage.device, a.dtype)), *others, ("B", BLOCK))


def cholesky_block(a: View, inverse: View, status: int) -> None:
    """The Cholesky factors of square blocks with at most BLOCK rows, from their lower triangles."""
    kernel = kernel_of(MODULE, "cholesky_block", _CHOLESKY, _constants(a), a.dtype, a.storage.device)
    stack, n, _ = a.shape
    kernel.spread((a.address, inverse.address, status, n, *a.strides), stack, 1, 1)


def invert_triangles(t: View, inverse: View, *, upper: bool) -> None:
    """What solving with the diagonal blocks of triangles takes, upper ones or lower ones with ones on their diagonals;
    inverse: of shape (stack, blocks, BLOCK, BLOCK), or of one block without the second dimension."""
    stack, n, _ = t.shape
    step, row, column = t.strides
    constants = _constants(t, ("UPPER", upper))
    kernel = kernel_of(MODULE, "invert_triangles", _INVERT, constants, t.dtype, t.storage.device)
    args = (t.address, inverse.address, n, step, BLOCK * (row + column), row, column, inverse.strides[0])
    kernel.spread(args, stack, -(-n // BLOCK), 1)


def substitute(t: View, inverse: View, b: View, *, upper: bool, unit: bool = False, conjugate: bool = False) -> None:
    """b becomes the x with t x = b, for triangles t with at most BLOCK rows."""
    stack, n, columns = b.shape
    width = 32
    constants = _constants(
        b, ("UPPER", upper), ("UNIT", unit), ("CONJUGATE", conjugate and is_complex(b)), ("COLUMNS", width)
    )
    kernel = kernel_of(MODULE, "substitute", _SUBSTITUTE, constants, b.dtype, b.storage.device)
    args = (t.address, inverse.address, b.address, n, columns, *t.strides, inverse.strides[0], *b.strides)
    kernel.spread(args, stack, -(-columns // width), 1)


def lu_panel(a: View, pivots: View, first: int, status: int) -> None:
    """L and U of panels with at most BLOCK columns, whose top row is number `first` of the matrix."""
    stack, rows, n = a.shape
    kernel, whole = special_or_general(partial(panel_launcher, "lu_panel", a))
    sizes = (rows, first) if whole else (rows, n, first)
    args = (a.address, pivots.address, status, *sizes, *a.strides[:2], pivots.strides[0])
    kernel.spread(args, stack, 1, 1)


def swap_rows(a: View, pivots: View, first: int, stop: int, skip: range = range(0)) -> None:
    """The exchanges of rows that pivots `first` to `stop` name, in all columns outside of `skip`."""
    stack, _, columns = a.shape
    words, across = 2 if is_complex(a) else 1, 32
    constants = (("WORDS", words), ("ACROSS", across), ("B", BLOCK))
    kernel = kernel_of(MODULE, "swap_rows", _SWAP, constants, a.dtype, a.storage.device)
    args = (a.address, pivots.address, first, stop, columns, skip.start, skip.stop, *a.strides, pivots.strides[0])
    kernel.spread(args, stack, -(-columns * words // across), 1)


def qr_panel(a: View, v: View, t: View) -> None:
    """R of panels with at most BLOCK columns, above the diagonal; V and T, of which 1 - V T Vᴴ is the product of the
    reflections, t of shape (stack, BLOCK, BLOCK) and packed matrices."""
    stack, rows, n = a.shape
    kernel, whole = special_or_general(partial(panel_launcher, "qr_panel", a))
    sizes = (rows,) if whole else (rows, n)
    args = (a.address, v.address, t.address, *sizes, *a.strides[:2], *v.strides[:2], *t.strides[:2])
    kernel.spread(args, stack, 1, 1)


def columns_in_registers(a: View) -> int:
    """How many columns, BLOCK at most, a panel with the rows of `a` may have to stay in registers; 0 for too few."""
    most, fewest = _REGISTERS[a.storage.device.backend]
    columns = min(most // (_whole_height(a) * a.dtype.itemsize), BLOCK)  # a power of two, as all of these are
    return columns if columns >= fewest else 0


def panel_launcher(name: str, a: View, general: bool) -> tuple[Launcher, bool]:
    """The kernel for a panel, if `general` the one for any; and whether it keeps the panel in registers."""
    _, rows, n = a.shape
    whole = not general and n == columns_in_registers(a) and n <= rows
    if whole:
        height = _whole_height(a)
        warps, columns = min(height // 32, 16), n
        name += "_in_registers"
    else:
        (height, warps), columns = _height(a), BLOCK
    constants = (("COMPLEX", is_complex(a)), ("ROWS", height), ("B", columns))
    return kernel_of(MODULE, name, _PANELS[name], constants, a.dtype, a.storage.device, warps), whole


def _whole_height(a: View) -> int:
    """Rows of a tile that holds a whole panel."""
    return power_of_two(a.shape[1], 2 * BLOCK)


def _height(a: View) -> tuple[int, int]:
    """Rows of a panel that a program takes at a time, as many as registers hold, and its warps."""
    if a.shape[1] <= BLOCK:
        return BLOCK, 4
    warps = 8 if a.storage.device.backend == "hip" else 16  # CDNA's warps have 64 threads
    return min(1024 // a.dtype.itemsize, 128), warps
