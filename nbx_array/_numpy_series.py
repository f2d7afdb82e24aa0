"""NumPy's functions of sampled functions: interpolation, convolution, differences, polynomials, windows."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from nbx_array import _statistical, linalg, special
from nbx_array._array import Array, asnumpy, cast, copy, filled, where
from nbx_array._creation import _array, _new, arange, linspace
from nbx_array._data_types import result_type
from nbx_array._elementwise import (
    abs,
    add,
    clip,
    conj,
    cos,
    divide,
    equal,
    greater,
    less,
    logical_and,
    multiply,
    pow,
    real,
    sqrt,
    subtract,
)
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import _axes, concat, flip, reshape
from nbx_array._numpy_shapes import pad, sliding_window_view
from nbx_array._reduction import inexact
from nbx_array._searching import nonzero, searchsorted
from nbx_array._sorting import argsort
from nbx_array._taking import take
from nbx_array._utility import diff
from nbx_array.kernels.types import default_complex, default_float

INT64 = np.dtype(np.int64)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Array:
    """Values between points (xp, fp), xp ascending, on the straight lines that join them.

    left, right: values beyond the points, by default those of the ends. period: of xp, which then need not ascend.
    Raises ValueError for points of unequal number or none. Source: NumPy, `interp`.

    >>> xp.interp(xp.asarray([0.5, 3.0]), [0.0, 1.0], [10.0, 20.0])
    Array([15., 20.], device='cpu')
    """
    places, knots, values = _array(x, "interp"), _array(xp, "interp"), _array(fp, "interp")
    if knots.ndim != 1 or knots.shape != values.shape:
        raise ValueError(f"interp: fp and xp are not of the same length, {values.shape} and {knots.shape}")
    if not knots.size:
        raise ValueError("interp: array of sample points is empty")
    dtype = default_float(places.device)
    places, knots = cast(places, dtype), cast(knots, dtype)
    values = cast(values, default_complex(places.device) if values.dtype.kind == "c" else dtype)
    if period is not None:
        if period == 0:
            raise ValueError("interp: period must be a non-zero value")
        period = math.fabs(period)
        places, knots = places % period, knots % period
        order = argsort(knots)
        knots, values = take(knots, order), take(values, order)
        knots = concat([knots[-1:] - period, knots, knots[:1] + period])
        values = concat([values[-1:], values, values[:1]])
        left = right = None
    n = knots.size
    low = clip(searchsorted(knots, places, side="right") - 1, 0, max(n - 2, 0))
    high = clip(low + 1, 0, n - 1)
    x0, x1 = take(knots, low), take(knots, high)
    y0, y1 = take(values, low), take(values, high)
    slope = divide(y1 - y0, where(equal(x1, x0), 1.0, x1 - x0))
    result = where(equal(places, x1), y1, where(equal(y0, y1), y0, add(multiply(slope, subtract(places, x0)), y0)))
    result = where(less(places, knots[0]), values[0] if left is None else left, result)
    result = where(greater(places, knots[-1]), values[-1] if right is None else right, result)
    return where(equal(places, places), result, places)


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The discrete convolution of two vectors: sums of products of one with the other reversed.

    mode: "full", "same" for the middle as long as the longer one, "valid" for where both overlap whole. Sums are
    matrix products over a view of windows, with as much memory as the result. Raises ValueError for no elements.
    Source: NumPy, `convolve`.

    >>> xp.convolve([1, 2, 3], [0, 1])
    Array([0, 1, 2, 3], device='cpu')
    """
    x, y = _array(a, "convolve"), _array(v, "convolve")
    x, y = (z if z.ndim else z[None] for z in (x, y))
    if x.ndim > 1 or y.ndim > 1:
        raise ValueError(f"convolve: object too deep for desired array: shapes {x.shape} and {y.shape}")
    if not x.size or not y.size:
        raise ValueError("convolve: a and v cannot be empty")
    if y.size > x.size:
        x, y = y, x
    return _sums("convolve", x, flip(y), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The cross-correlation of two vectors: sums of products of one with the conjugate of the other.

    mode: as for `convolve`. Source: NumPy, `correlate`.

    >>> xp.correlate([1, 2, 3], [0, 1], "full")
    Array([1, 2, 3, 0], device='cpu')
    """
    x, y = _array(a, "correlate"), _array(v, "correlate")
    x, y = (z if z.ndim else z[None] for z in (x, y))
    if not x.size or not y.size:
        raise ValueError("correlate: a and v cannot be empty")
    y = conj(y) if y.dtype.kind == "c" else y
    if y.size > x.size:
        return flip(_sums("correlate", y, x, mode))
    return _sums("correlate", x, y, mode)


def _sums(name: str, x: Array, y: Array, mode: str) -> Array:
    """The products of y with every window of x summed; x is the longer one."""
    m = y.size
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    before, after = {"full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)}[mode]
    dtype = result_type(x, y)
    return matmul(sliding_window_view(pad(cast(x, dtype), (before, after)), m), cast(y, dtype))


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The integral along an axis by the trapezoidal rule, over points x or `dx` apart. Source: NumPy, `trapezoid`.

    >>> xp.trapezoid(xp.asarray([1.0, 2.0, 3.0]))
    Array(4., device='cpu')
    """
    y = _array(y, "trapezoid")
    (along,) = _axes(axis, y.ndim, "trapezoid")
    widths: Any = dx
    if x is not None:
        widths = _array(x, "trapezoid")
        if widths.ndim == 1:
            widths = reshape(diff(widths), (-1, *(1,) * (y.ndim - 1 - along)))
        else:
            widths = diff(widths, axis=axis)
    later, earlier = (y[(*(slice(None),) * along, k)] for k in (slice(1, None), slice(None, -1)))
    return _statistical.sum(inexact(add(later, earlier)) * widths / 2.0, axis=along)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """The differences of neighbours in x flattened, and what to put before and behind. Source: NumPy, `ediff1d`."""
    x = reshape(_array(ary, "ediff1d"), (-1,))
    given = [end for end in (to_begin, diff(x), to_end) if end is not None]
    return concat([reshape(cast(_array(part, "ediff1d"), x.dtype), (-1,)) for part in given])


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slope along each axis: central differences, and at the ends one-sided ones of first or second order.

    varargs: the spacing, one number for all axes or for each a number or the points' coordinates. Returns an array for
    one axis, else a tuple. Raises ValueError for fewer than edge_order + 1 points. Source: NumPy, `gradient`.

    >>> xp.gradient(xp.asarray([1.0, 2.0, 4.0]))
    Array([1. , 1.5, 2. ], device='cpu')
    """
    f = inexact(_array(f, "gradient"))
    axes = tuple(range(f.ndim)) if axis is None else _axes(axis, f.ndim, "gradient")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"gradient: {len(varargs)} spacings and {len(axes)} axes")
    spacings = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if edge_order not in (1, 2):
        raise ValueError("gradient: 'edge_order' greater than 2 not supported")
    results = tuple(_slope(f, d, h, edge_order) for d, h in zip(axes, spacings, strict=True))
    return results[0] if len(results) == 1 else results


def _slope(f: Array, axis: int, spacing: Any, edge_order: int) -> Array:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError("gradient: shape of array too small to calculate a numerical gradient")

    def at(k: Any) -> Array:
        return f[(*(slice(None),) * axis, k, ...)]

    out = _new(f.shape, f.dtype, f.device)
    front = (slice(None),) * axis
    points = spacing if isinstance(spacing, (Array, list, tuple)) and np.ndim(spacing) else None
    if isinstance(points, Array) and not points.ndim:
        points = None
    if points is None:
        h: Any = spacing
        out[(*front, slice(1, -1))] = (at(slice(2, None)) - at(slice(None, -2))) / (2.0 * h)
        first = last = (h, h)
    else:
        coordinates = _array(points, "gradient")
        if coordinates.shape != (n,):
            raise ValueError("gradient: when 1d, distances must match the length of the corresponding dimension")
        gaps = inexact(diff(coordinates))
        shape = (-1, *(1,) * (f.ndim - 1 - axis))
        before, after = reshape(gaps[:-1], shape), reshape(gaps[1:], shape)
        out[(*front, slice(1, -1))] = (
            -after / (before * (before + after)) * at(slice(None, -2))
            + (after - before) / (before * after) * at(slice(1, -1))
            + before / (after * (before + after)) * at(slice(2, None))
        )
        first = (gaps[0], gaps[min(1, n - 2)])
        last = (gaps[-1], gaps[max(-2, 1 - n)])
    if edge_order == 1:
        out[(*front, 0)] = (at(1) - at(0)) / first[0]
        out[(*front, -1)] = (at(n - 1) - at(n - 2)) / last[0]
        return out
    for place, sign, (near, far) in ((0, 1, first), (n - 1, -1, last)):
        total = near + far
        slope = (
            at(place) * (-(2.0 * near + far) / (near * total))
            + at(place + sign) * (total / (near * far))
            + at(place + 2 * sign) * (-near / (far * total))
        )
        out[(*front, place)] = slope * sign
    return out


def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Array:
    """Values that differ from p by periods, so that neighbours differ by at most half of one.

    discont: leave steps below this as they are. Source: NumPy, `unwrap`.

    >>> xp.unwrap(xp.asarray([0.0, 6.0]))
    Array([ 0.        , -0.28318531], device='cpu')
    """
    x = inexact(_array(p, "unwrap"))
    (along,) = _axes(axis, x.ndim, "unwrap")
    steps = diff(x, axis=along)
    half = period / 2
    wrapped = (steps + half) % period - half
    wrapped = where(logical_and(equal(wrapped, -half), greater(steps, 0)), half, wrapped)
    corrections = where(less(abs(steps), half if discont is None else discont), 0.0, wrapped - steps)
    front = (slice(None),) * along
    moved = x[(*front, slice(1, None))] + _statistical.cumulative_sum(corrections, axis=along)
    return concat([x[(*front, slice(0, 1))], moved], axis=along)


# --------------------------------------------------------------------------------------------------------- polynomials


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix of powers of a vector, the highest first. Source: NumPy, `vander`."""
    x = _array(x, "vander")
    count = x.size if N is None else operator.index(N)
    exponents = arange(count, device=x.device)
    dtype = x.dtype if x.dtype.kind in "fc" else INT64
    powers = pow(cast(x, dtype)[:, None], cast(exponents, dtype)[None, :])
    return copy(powers if increasing else flip(powers, axis=1))


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with coefficients p, the highest first, at x, by Horner's scheme. Source: NumPy, `polyval`.

    >>> xp.polyval([1.0, 0.0, 2.0], xp.asarray([3.0]))
    Array([11.], device='cpu')
    """
    coefficients, x = _array(p, "polyval"), _array(x, "polyval")
    y = x * 0
    for k in range(coefficients.shape[0]):
        y = y * x + coefficients[k]
    return y


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The coefficients, the highest first, of the polynomial that fits points best in the sense of least squares.

    full: return the residuals, the rank, the singular values and rcond, too. cov: return the coefficients' covariance,
    too, scaled by the residuals unless it is "unscaled". Source: NumPy, `polyfit`.

    >>> xp.round(xp.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1), 6)
    Array([2., 1.], device='cpu')
    """
    x, y = inexact(_array(x, "polyfit")), inexact(_array(y, "polyfit"))
    if operator.index(deg) < 0:
        raise ValueError("polyfit: expected deg >= 0")
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0] or not x.size:
        raise TypeError(f"polyfit: expected x and y to have same length, got {x.shape} and {y.shape}")
    left = vander(x, deg + 1)
    if w is not None:
        weights = inexact(_array(w, "polyfit"))
        left, y = left * weights[:, None], y * (weights[:, None] if y.ndim == 2 else weights)
    scale = linalg.vector_norm(left, axis=0)
    rcond = x.size * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    c, residuals, rank, s = linalg.lstsq(left / scale, y, rcond)
    c = c / (scale[:, None] if y.ndim == 2 else scale)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    inverse = linalg.inv(matmul(left.T, left) / (scale[:, None] * scale)) / (scale[:, None] * scale)
    if cov == "unscaled":
        factor: Any = 1
    elif x.size <= deg + 1:
        raise ValueError("polyfit: the number of data points must exceed deg + 1 to scale the covariance matrix")
    else:
        factor = residuals / (x.size - deg - 1)
    return c, inverse * factor if y.ndim == 1 else inverse[:, :, None] * factor


def polyadd(a1: Any, a2: Any) -> Array:
    """The sum of two polynomials' coefficients. Source: NumPy, `polyadd`."""
    x, y = (z if z.ndim else z[None] for z in (_array(a1, "polyadd"), _array(a2, "polyadd")))
    n = max(x.size, y.size)
    dtype = result_type(x, y)
    x, y = (concat([filled((n - z.size,), 0, dtype, z.device, "polyadd"), cast(z, dtype)]) for z in (x, y))
    return x + y


def polysub(a1: Any, a2: Any) -> Array:
    """The difference of two polynomials' coefficients. Source: NumPy, `polysub`.

    >>> xp.polysub([2, 10, -2], [3, 10, -4])
    Array([-1,  0,  2], device='cpu')
    """
    return polyadd(a1, -_array(a2, "polysub"))


def polymul(a1: Any, a2: Any) -> Array:
    """The product of two polynomials' coefficients. Source: NumPy, `polymul`."""
    return convolve(a1, a2)


def polyder(p: Any, m: int = 1) -> Array:
    """The coefficients of the m-th derivative. Source: NumPy, `polyder`."""
    x = _array(p, "polyder")
    for _ in range(m):
        x = x[:-1] * arange(x.size - 1, 0, -1, device=x.device)
    return x


def poly(seq_of_zeros: Any) -> Array:
    """The coefficients, the highest first, of the polynomial with these zeros, or a square matrix's characteristic one.

    Real where the zeros are real or come in conjugate pairs. Waits for the device, to know. Raises ValueError for more
    than 2 dimensions and for a matrix that is not square. Source: NumPy, `poly`.

    >>> xp.poly([1.0, 2.0])
    Array([ 1., -3.,  2.], device='cpu')
    """
    zeros = inexact(_array(seq_of_zeros, "poly"))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.size:
        zeros = linalg.eigvals(zeros)
    elif zeros.ndim > 1:
        raise ValueError(f"poly: input must be 1d or non-empty square 2d array, got shape {zeros.shape}")
    zeros = zeros if zeros.ndim else zeros[None]
    terms = filled((1,), 1, zeros.dtype, zeros.device, "poly")
    for k in range(zeros.shape[0]):
        terms = concat([terms, terms[:1] * 0]) - concat([terms[:1] * 0, terms * zeros[k]])
    if terms.dtype.kind == "c":
        host = np.sort(asnumpy(zeros))
        if np.array_equal(host, np.sort(host.conj())):
            return real(terms)
    return terms


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The coefficients of the m-th antiderivative, with the constants k: a number, or one for each.

    Raises ValueError for a negative m or too few constants. Source: NumPy, `polyint`.

    >>> xp.polyint([2.0, 1.0])
    Array([1., 1., 0.], device='cpu')
    """
    x = _array(p, "polyint")
    if operator.index(m) < 0:
        raise ValueError("polyint: order of integral must be positive")
    constants = [0] * m if k is None else list(k) if isinstance(k, (list, tuple)) else [k] * m
    if len(constants) < m:
        raise ValueError(f"polyint: takes a constant for each of {m} steps, got {len(constants)}")
    for constant in constants[:m]:
        x = concat([x / arange(x.size, 0, -1, device=x.device), inexact(_array([constant], "polyint"))])
    return x


def roots(p: Any) -> Array:
    """The zeros of a polynomial given by its coefficients: eigenvalues of its companion matrix. Source: NumPy, `roots`.

    Waits for the device, to leave out coefficients of zero at both ends.
    """
    x = inexact(_array(p, "roots"))
    if x.ndim != 1:
        raise ValueError(f"roots: input must be a rank-1 array, got shape {x.shape}")
    (places,) = nonzero(x)
    if not places.size:
        return x[:0]
    first, last = int(places[0]), int(places[-1])
    trailing, x = x.size - 1 - last, x[first : last + 1]
    n = x.size - 1
    found = filled((0,), 0, default_complex(x.device), x.device, "roots")
    if n > 0:
        companion = _new((n, n), x.dtype, x.device)
        companion[...] = 0
        companion[arange(1, n, device=x.device), arange(n - 1, device=x.device)] = 1
        companion[0] = -x[1:] / x[0]
        found = linalg.eigvals(companion)
    return concat([found, filled((trailing,), 0, found.dtype, x.device, "roots")])


# ------------------------------------------------------------------------------------------------- numbers and windows


def geomspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Array:
    """Numbers of which each is the same multiple of the one before it. Source: NumPy, `geomspace`.

    Raises ValueError where one of the ends is zero.

    >>> xp.geomspace(1, 8, 4)
    Array([1., 2., 4., 8.], device='cpu')
    """
    start, stop = float(start), float(stop)
    if start == 0 or stop == 0:
        raise ValueError("geomspace: geometric sequence cannot include zero")
    sign = 1.0
    if start < 0 and stop < 0:
        sign, start, stop = -1.0, -start, -stop
    if start < 0 or stop < 0:
        raise ValueError("geomspace: the ends have different signs")
    result = copy(pow(10.0, linspace(math.log10(start), math.log10(stop), num, endpoint)))
    if num > 0:
        result[0] = start
        if num > 1 and endpoint:
            result[-1] = stop
    result = result * sign
    return result if dtype is None else cast(result, np.dtype(dtype))


def _window(name: str, M: int, terms: tuple[float, ...]) -> Array:
    n = operator.index(M)
    if n < 1:
        return arange(0.0)
    if n == 1:
        return arange(1.0) + 1.0
    k = arange(1 - n, n, 2) * (math.pi / (n - 1))
    total: Any = terms[0]
    for order, weight in enumerate(terms[1:], 1):
        total = total + weight * cos(order * k)
    return total


def hanning(M: int) -> Array:
    """The Hann window: 0.5 + 0.5 cos. Source: NumPy, `hanning`.

    >>> xp.hanning(3)
    Array([0., 1., 0.], device='cpu')
    """
    return _window("hanning", M, (0.5, 0.5))


def hamming(M: int) -> Array:
    """The Hamming window: 0.54 + 0.46 cos. Source: NumPy, `hamming`."""
    return _window("hamming", M, (0.54, 0.46))


def blackman(M: int) -> Array:
    """The Blackman window: 0.42 + 0.5 cos + 0.08 cos of twice the angle. Source: NumPy, `blackman`."""
    return _window("blackman", M, (0.42, 0.5, 0.08))


def kaiser(M: int, beta: float) -> Array:
    """The Kaiser window: a Bessel function of a half ellipse. Source: NumPy, `kaiser`.

    >>> xp.round(xp.kaiser(3, 2.0), 4)
    Array([0.4387, 1.    , 0.4387], device='cpu')
    """
    n = operator.index(M)
    if n <= 1:
        return _window("kaiser", n, (1.0,))
    place = arange(1 - n, n, 2) / (n - 1)
    height = sqrt(clip(1.0 - place * place, 0.0, None))
    return special.i0(float(beta) * height) / special.i0(float(beta) + 0.0 * height)


def bartlett(M: int) -> Array:
    """The triangular window with zero ends. Source: NumPy, `bartlett`."""
    n = operator.index(M)
    if n < 1:
        return arange(0.0)
    return 1.0 - abs(arange(1 - n, n, 2) / float(max(n - 1, 1)))
