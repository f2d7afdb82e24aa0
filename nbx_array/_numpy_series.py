"""NumPy's functions of sampled functions: interpolation, convolution, differences, windows."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from nbx_array import _statistical, special
from nbx_array._array import Array, cast, copy, where
from nbx_array._creation import _array, _new, arange, logspace
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
    sqrt,
    subtract,
)
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import _axes, concat, flip, moveaxis, reshape
from nbx_array._numpy_shapes import pad, sliding_window_view
from nbx_array._reduction import check_axis, inexact
from nbx_array._searching import searchsorted
from nbx_array._sorting import argsort
from nbx_array._taking import take
from nbx_array._utility import diff
from nbx_array.kernels.types import default_complex, default_float
from nbx_array.memory.transfer import as_numpy

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
    y = cast(y, dtype)
    windows = sliding_window_view(pad(cast(x, dtype), (before, after)), m)
    sums = matmul(windows, y)
    if dtype.kind not in "fc" or (y.device.backend == "cpu" and np.isfinite(as_numpy(y.memory())).all()):
        return sums
    for first, rows in ((0, before), (sums.size - after, after)):  # where infinity or NaN would meet the padding
        if rows:
            windowed = slice(first, first + rows)
            place = arange(first, first + rows, device=x.device)[:, None] + arange(m, device=x.device) - before
            inside = logical_and(place >= 0, place < x.size)
            sums[windowed] = _statistical.sum(where(inside, windows[windowed] * y, 0), axis=1)
    return sums


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


# ------------------------------------------------------------------------------------------------- numbers and windows


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Array:
    """Numbers of which each is the same multiple of the one before it. Source: NumPy, `geomspace`.

    Ends that are arrays or lists broadcast; the numbers between them then lie along a new axis, `axis`. Raises
    ValueError where one of the ends is zero, for which ends on a device are waited for.

    >>> xp.geomspace(1, 8, 4)
    Array([1., 2., 4., 8.], device='cpu')
    """
    numbers = not (np.ndim(start) or np.ndim(stop))
    first, last = (np.float64(x) if numbers else _array(x, "geomspace") * 1.0 for x in (start, stop))
    if np.any((first == 0) | (last == 0)):  # NumPy's functions of our arrays are ours
        raise ValueError("geomspace: geometric sequence cannot include zero")
    if np.any((first < 0) != (last < 0)):
        raise ValueError("geomspace: the ends have different signs")
    result = copy(logspace(np.log10(np.abs(first)), np.log10(np.abs(last)), num, endpoint) * np.sign(first))
    if num > 0:
        result[0] = first
        if num > 1 and endpoint:
            result[-1] = last
    result = moveaxis(result, 0, check_axis("geomspace", axis, result.ndim))
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
