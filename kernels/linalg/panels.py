"""Diagonal blocks and panels of blocked factorisations, in place. A factorisation's updates are matrix products.

Views are stacks of matrices, of shape (stack, rows, columns) and any strides; `status` is the address of an int64.
"""

from __future__ import annotations

from nbx_array.kernels.linalg.launch import arguments, is_complex, kernel_of
from nbx_array.memory import View

MODULE = "linalg_panels"
BLOCK = 32  # columns of a panel, and rows of a diagonal block

_CHOLESKY = arguments("a:matrix status:*i64 n stack row column")
_SUBSTITUTE = arguments("t:matrix b:matrix n columns t_stack t_row t_column b_stack b_row b_column")
_LU = arguments("a:matrix pivots:*i64 status:*i64 rows n first stack row column pivots_stack")
_SWAP = arguments("a:matrix pivots:*i64 first stop columns skip skip_end stack row column pivots_stack")
_QR = arguments("a:matrix rows n stack row column")


def cholesky_block(a: View, status: int) -> None:
    """The Cholesky factor of square blocks with at most BLOCK rows, from their lower triangles."""
    constants = (("COMPLEX", is_complex(a)), ("B", BLOCK))
    kernel = kernel_of(MODULE, "cholesky_block", _CHOLESKY, constants, a.dtype, a.storage.device, _warps(a))
    stack, n, _ = a.shape
    kernel.spread((a.address, status, n, *a.strides), stack, 1, 1)


def substitute(t: View, b: View, *, upper: bool, unit: bool = False, conjugate: bool = False) -> None:
    """b becomes the x with t x = b, for triangles t with at most BLOCK rows."""
    stack, n, columns = b.shape
    width = 32
    constants = (
        *(("UPPER", upper), ("UNIT", unit), ("CONJUGATE", conjugate and is_complex(b))),
        *(("COMPLEX", is_complex(b)), ("B", BLOCK), ("COLUMNS", width)),
    )
    kernel = kernel_of(MODULE, "substitute", _SUBSTITUTE, constants, b.dtype, b.storage.device, _warps(b))
    kernel.spread((t.address, b.address, n, columns, *t.strides, *b.strides), stack, -(-columns // width), 1)


def lu_panel(a: View, pivots: View, first: int, status: int) -> None:
    """L and U of panels with at most BLOCK columns, whose top row is number `first` of the matrix."""
    stack, rows, n = a.shape
    constants = (("COMPLEX", is_complex(a)), *_heights(a), ("B", BLOCK))
    kernel = kernel_of(MODULE, "lu_panel", _LU, constants, a.dtype, a.storage.device, num_warps=8)
    args = (a.address, pivots.address, status, rows, n, first, *a.strides, pivots.strides[0])
    kernel.spread(args, stack, 1, 1)


def swap_rows(a: View, pivots: View, first: int, stop: int, skip: range = range(0)) -> None:
    """The exchanges of rows that pivots `first` to `stop` name, in all columns outside of `skip`."""
    stack, _, columns = a.shape
    width = 64
    constants = (("WORDS", 2 if is_complex(a) else 1), ("COLUMNS", width))
    kernel = kernel_of(MODULE, "swap_rows", _SWAP, constants, a.dtype, a.storage.device, num_warps=2)
    args = (a.address, pivots.address, first, stop, columns, skip.start, skip.stop, *a.strides, pivots.strides[0])
    kernel.spread(args, stack, -(-columns // width), 1)


def qr_panel(a: View) -> None:
    """R of panels with at most BLOCK columns and, below it, the vectors of the reflections."""
    stack, rows, n = a.shape
    constants = (("COMPLEX", is_complex(a)), *_heights(a), ("B", BLOCK))
    kernel = kernel_of(MODULE, "qr_panel", _QR, constants, a.dtype, a.storage.device, num_warps=8)
    kernel.spread((a.address, rows, n, *a.strides), stack, 1, 1)


def _heights(a: View) -> tuple[tuple[str, int], ...]:
    """Rows of a panel, and of one column, that a program takes at a time: as many as registers hold."""
    short = a.shape[1] <= BLOCK
    rows, tall = (BLOCK, BLOCK) if short else (1024 // a.dtype.itemsize, 1024)
    return ("ROWS", rows), ("TALL", tall)


def _warps(a: View) -> int:
    """Warps for a tile of BLOCK by BLOCK: one, whose sums need no shared memory, if its registers hold the tile."""
    return 4 if is_complex(a) else 1
