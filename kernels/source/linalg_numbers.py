"""Numbers of matrices, real or complex: a value is a pair (re, im) whose second part is unused where not COMPLEX."""

import triton
import triton.language as tl
from nbx_array.kernels.source.core_math import div, hypot


@triton.jit
def load(p, place, mask, COMPLEX: tl.constexpr):
    """The elements at some places, 0 where the mask does not hold."""
    if COMPLEX:
        at = flat(2 * place)
        flat_mask = flat(mask)
        re = tl.reshape(tl.load(p + at, mask=flat_mask, other=0.0), place.shape)
        im = tl.reshape(tl.load(p + at + 1, mask=flat_mask, other=0.0), place.shape)
    else:
        re = tl.load(p + place, mask=mask, other=0.0)
        im = re
    return re, im


@triton.jit
def flat(x):
    """A tile as a vector, row by row, so that a warp takes neighbours in a row: of addresses that are two apart some
    compilers (triton 3.6) give it neighbours in a column, each in a line of memory of its own."""
    return tl.reshape(x, (x.numel,))


@triton.jit
def load_rows(p, place, mask, COMPLEX: tl.constexpr):
    """As `load`, with neighbours in a row of the tile on neighbouring threads wherever they lie in memory."""
    re, im = load(p, flat(place), flat(mask), COMPLEX)
    return tl.reshape(re, place.shape), tl.reshape(im, place.shape)


@triton.jit
def load_one(p, place, COMPLEX: tl.constexpr):
    """The element at one place."""
    if COMPLEX:
        re = tl.load(p + 2 * place)
        im = tl.load(p + 2 * place + 1)
    else:
        re = tl.load(p + place)
        im = re
    return re, im


@triton.jit
def store(p, place, re, im, mask, COMPLEX: tl.constexpr):
    if COMPLEX:
        at = flat(2 * place)
        tl.store(p + at, flat(re), mask=flat(mask))
        tl.store(p + at + 1, flat(im), mask=flat(mask))
    else:
        tl.store(p + place, re, mask=mask)


@triton.jit
def store_rows(p, place, re, im, mask, COMPLEX: tl.constexpr):
    """As `store`, with threads as `load_rows` has them."""
    store(p, flat(place), flat(re), flat(im), flat(mask), COMPLEX)


@triton.jit
def multiply(ar, ai, br, bi, COMPLEX: tl.constexpr):
    if COMPLEX:
        re = ar * br - ai * bi
        im = ar * bi + ai * br
    else:
        re = ar * br
        im = re
    return re, im


@triton.jit
def dot(ar, ai, br, bi, COMPLEX: tl.constexpr, PRECISION: tl.constexpr):
    """The product of two matrices."""
    number = ar.dtype
    re = tl.dot(ar, br, input_precision=PRECISION, out_dtype=number)
    if COMPLEX:
        re = tl.dot(-ai, bi, re, input_precision=PRECISION, out_dtype=number)
        im = tl.dot(ar, bi, input_precision=PRECISION, out_dtype=number)
        im = tl.dot(ai, br, im, input_precision=PRECISION, out_dtype=number)
    else:
        im = re
    return re, im


@triton.jit
def square(re, im, COMPLEX: tl.constexpr):
    """The square of the modulus."""
    if COMPLEX:
        return re * re + im * im
    else:
        return re * re


@triton.jit
def modulus(re, im, COMPLEX: tl.constexpr):
    if COMPLEX:
        return hypot(re, im)
    else:
        return tl.abs(re)


@triton.jit
def greatest_part(re, im, COMPLEX: tl.constexpr):
    """The greater magnitude of the two parts, which serves to compare and to scale."""
    if COMPLEX:
        return tl.maximum(tl.abs(re), tl.abs(im))
    else:
        return tl.abs(re)


@triton.jit
def divide(ar, ai, br, bi, COMPLEX: tl.constexpr):
    """a / b, where the result is in range; b is scaled, so that its square neither overflows nor underflows."""
    if COMPLEX:
        size = greatest_part(br, bi, True)
        cr = div(br, size)
        ci = div(bi, size)
        norm = cr * cr + ci * ci
        xr = div(ar, size)
        xi = div(ai, size)
        re = div(xr * cr + xi * ci, norm)
        im = div(xi * cr - xr * ci, norm)
    else:
        re = div(ar, br)
        im = re
    return re, im


@triton.jit
def reciprocal(re, im, COMPLEX: tl.constexpr):
    """(s, r) with x / b = (x s) r: s is 1, or a power of two where 1 / b is out of range.

    As in LAPACK, many divisions by one number become products; on a GPU each would take ten times as many instructions.
    """
    size = greatest_part(re, im, COMPLEX)
    s = tl.where(size < 1e-35, tl.where(size > 0, 18446744073709551616.0, 1.0), 1.0).to(re.dtype)
    rr, ri = divide(1.0 + 0.0 * s, 0.0 * s, re * s, im * s, COMPLEX)
    return s, rr, ri
