"""NumPy's statistics: order statistics, functions that leave NaN out, counts and histograms, covariances."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from nbx_array import _searching, _statistical
from nbx_array._array import Array, broadcast_to, cast, copy, filled, packed, where
from nbx_array._creation import _array, arange, asarray, linspace
from nbx_array._elementwise import (
    add,
    clip,
    conj,
    divide,
    equal,
    floor,
    isnan,
    less,
    logical_and,
    logical_not,
    maximum,
    multiply,
    real,
    round,
    sqrt,
    subtract,
)
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import concat, permute_dims, reshape, stack
from nbx_array._out import deliver
from nbx_array._reduction import Axis, check_axes, inexact
from nbx_array._searching import searchsorted
from nbx_array._segments import combine_by_key
from nbx_array._sorting import sort
from nbx_array._taking import take_along_axis
from nbx_array._utility import all, any, diff
from nbx_array.kernels import indexing as kernels
from nbx_array.kernels.types import default_float, kind

INT64 = np.dtype(np.int64)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """Running sums along an axis, of `a` flattened by default: `cumulative_sum`. Source: NumPy, `cumsum`.

    >>> xp.cumsum(xp.asarray([[1, 2], [3, 4]]))
    Array([ 1,  3,  6, 10], device='cpu')
    """
    a = _array(a, "cumsum")
    a, axis = (reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return _statistical.cumulative_sum(a, axis, dtype, out)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """Running products along an axis, of `a` flattened by default: `cumulative_prod`. Source: NumPy, `cumprod`."""
    a = _array(a, "cumprod")
    a, axis = (reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return _statistical.cumulative_prod(a, axis, dtype, out)


def ptp(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Array:
    """The greatest element less the least, over axes. Source: NumPy, `ptp`.

    >>> xp.ptp(xp.asarray([3, 9, 4]))
    Array(6, device='cpu')
    """
    greatest, least = (f(a, axis, keepdims=keepdims) for f in (_statistical.max, _statistical.min))
    return deliver("ptp", subtract(greatest, least), out)


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean over axes, of elements that weigh as `weights` says: an array of `a`'s shape, or a vector for one axis.

    returned: give the sums of the weights, too. Raises ZeroDivisionError for weights that sum to zero, for which the
    function waits for the device; TypeError or ValueError for weights of another shape. Source: NumPy, `average`.

    >>> xp.average(xp.asarray([1.0, 4.0]), weights=[2, 1])
    Array(2., device='cpu')
    """
    a = _array(a, "average")
    if weights is None:
        result = _statistical.mean(a, axis, keepdims=keepdims)
        count = a.size / builtins.max(result.size, 1)
        return (result, filled(result.shape, count, result.dtype, a.device, "average")) if returned else result
    w = _array(weights, "average")
    if w.shape != a.shape:
        if axis is None:
            raise TypeError("average: axis must be specified when shapes of a and weights differ")
        axes = tuple(axis) if isinstance(axis, tuple) else (axis,)
        places = tuple(d % a.ndim for d in axes)
        if w.shape != tuple(a.shape[d] for d in places):
            raise ValueError("average: shape of weights must be consistent with shape of a along specified axis")
        order = sorted(range(len(places)), key=lambda k: places[k])
        w = permute_dims(w, tuple(order))
        w = broadcast_to(reshape(w, tuple(n if d in places else 1 for d, n in enumerate(a.shape))), a.shape)
    a, w = inexact(a), inexact(w)
    total = _statistical.sum(w, axis, keepdims=keepdims)
    if bool(any(equal(total, 0))):
        raise ZeroDivisionError("average: weights sum to zero, can't be normalized")
    result = divide(_statistical.sum(multiply(a, w), axis, keepdims=keepdims), total)
    return (result, broadcast_to(total, result.shape)) if returned else result


# --------------------------------------------------------------------------------------------------- order statistics

METHODS = {
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "hazen": (0.5, 0.5),
    "interpolated_inverted_cdf": (0.0, 1.0),
}
"""The quantiles of Hyndman and Fan (The American Statistician 50, 1996) that are given by their alpha and beta."""


OTHERS = (
    *("linear", "lower", "higher", "midpoint", "nearest"),
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation"),
)


def _positions(method: str, n: Any, q: Any) -> tuple[Any, Any]:
    """The place before the q-th quantile of n ordered elements, and its weight beside the next one."""
    last = (n - 1) * q
    match method:
        case "linear":
            place = last
        case "lower":
            return floor(last), 0.0
        case "higher":
            return -floor(-last), 0.0
        case "midpoint":
            place = 0.5 * (floor(last) - floor(-last))
        case "nearest":
            return round(last), 0.0
        case "inverted_cdf" | "averaged_inverted_cdf":
            place = n * q - 1
            whole = equal(place - floor(place), 0)
            return floor(place), where(whole, 0.5 if method == "averaged_inverted_cdf" else 0.0, 1.0)
        case "closest_observation":
            place = n * q - 1.5
            before = floor(place)
            even = logical_and(equal(place - before, 0), equal(before % 2, 1))
            return before, where(even, 0.0, 1.0)
        case _:
            if method not in METHODS:
                raise ValueError(f"quantile: unknown method {method!r}; known: {', '.join([*OTHERS, *METHODS])}")
            alpha, beta = METHODS[method]
            place = n * q + (alpha + q * (1 - alpha - beta)) - 1
    before = floor(place)
    return before, place - before


def _quantiles(
    name: str, x: Any, q: Any, axis: Axis, out: Any, method: str, keepdims: bool, ignore: bool, scale: float = 1.0
) -> Array:
    """Quantiles over axes; those of the numbers alone if `ignore`, else NaN where there is one."""
    x = inexact(_array(x, name)) if method not in ("lower", "higher", "nearest") else _array(x, name)
    if kind(x.dtype) not in "biuf":
        raise TypeError(f"{name}: a must be an array of real numbers, got dtype {x.dtype}")
    host = np.asarray(q, dtype=np.float64) / scale  # a parameter, which the host reads
    if not ((host >= 0) & (host <= 1)).all():
        raise ValueError(f"{name}: {'percentiles' if scale > 1 else 'quantiles'} must be in the range [0, {scale:g}]")
    axes = check_axes(name, axis, x.ndim)
    kept = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    others = tuple(d for d in range(x.ndim) if d not in axes)
    frame = tuple(x.shape[d] for d in others)
    length = math.prod(x.shape[d] for d in axes)
    shape = (*host.shape, *(kept if keepdims else frame))
    if not length:
        return deliver(name, filled(shape, math.nan, x.dtype, x.device, name), out)
    rows = sort(reshape(permute_dims(x, (*others, *axes)), (*frame, length)))
    # NaN comes last
    numbers = _statistical.sum(logical_not(isnan(rows)), axis=-1) if kind(x.dtype) == "f" else None
    count: Any = cast(maximum(numbers, 1), default_float(x.device)) if ignore and numbers is not None else float(length)
    points = reshape(asarray(host.ravel(), device=x.device), (host.size, *(1,) * len(frame)))
    before, share = _positions(method, count, points)
    low = cast(clip(before, 0.0, count - 1), INT64)
    high = cast(clip(before + 1, 0.0, count - 1), INT64)
    spread = (host.size, *frame)
    below, above = (take_along_axis(rows[None], broadcast_to(k, spread)[..., None])[..., 0] for k in (low, high))
    if isinstance(share, Array):
        gap, weight = subtract(above, below), cast(share, x.dtype)
        gap = where(equal(above, below), np.zeros((), x.dtype)[()], gap)  # infinities that are equal have none
        below = where(weight < 0.5, add(below, multiply(gap, weight)), subtract(above, multiply(gap, 1 - weight)))
    if numbers is not None:
        below = where(equal(numbers, 0) if ignore else less(numbers, length), math.nan, below)
    return deliver(name, reshape(below, shape), out)


def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The q-th quantiles over axes, q in [0, 1]; NaN where there is NaN. Integers count as the default float.

    q: a number, or several: the result's first axes are q's. method: one of NumPy's names of ways between two elements.
    Raises ValueError for a q out of range or another method, TypeError for complex numbers. Source: NumPy, `quantile`.

    >>> xp.quantile(xp.asarray([1.0, 2.0, 4.0]), [0.5, 0.75])
    Array([2., 3.], device='cpu')
    """
    return _quantiles("quantile", a, q, axis, out, method, keepdims, False)


def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """`quantile` with q in [0, 100]. Source: NumPy, `percentile`.

    >>> xp.percentile(xp.asarray([1.0, 2.0, 4.0]), 75)
    Array(3., device='cpu')
    """
    return _quantiles("percentile", a, q, axis, out, method, keepdims, False, 100.0)


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """`quantile` of what is not NaN; NaN where nothing is. Source: NumPy, `nanquantile`."""
    return _quantiles("nanquantile", a, q, axis, out, method, keepdims, True)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """`percentile` of what is not NaN; NaN where nothing is. Source: NumPy, `nanpercentile`."""
    return _quantiles("nanpercentile", a, q, axis, out, method, keepdims, True, 100.0)


def median(a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The middle element over axes, or the mean of the middle two; NaN where there is NaN. Source: NumPy, `median`.

    >>> xp.median(xp.asarray([3, 1, 2, 9]))
    Array(2.5, device='cpu')
    """
    return _quantiles("median", a, 0.5, axis, out, "linear", keepdims, False)


def nanmedian(
    a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """`median` of what is not NaN; NaN where nothing is. Source: NumPy, `nanmedian`."""
    return _quantiles("nanmedian", a, 0.5, axis, out, "linear", keepdims, True)


# -------------------------------------------------------------------------------------------------------- without NaN


def _numbers(x: Array, otherwise: Any) -> Array:
    """x with another number for NaN."""
    return where(isnan(x), np.asarray(otherwise, x.dtype)[()], x) if kind(x.dtype) in "fc" else x


def nansum(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Array:
    """`sum` with NaN as 0. Source: NumPy, `nansum`.

    >>> xp.nansum(xp.asarray([1.0, xp.nan]))
    Array(1., device='cpu')
    """
    return _statistical.sum(_numbers(_array(a, "nansum"), 0), axis, dtype, out, keepdims, **options)


def nanprod(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Array:
    """`prod` with NaN as 1. Source: NumPy, `nanprod`."""
    return _statistical.prod(_numbers(_array(a, "nanprod"), 1), axis, dtype, out, keepdims, **options)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """`cumsum` with NaN as 0. Source: NumPy, `nancumsum`."""
    return cumsum(_numbers(_array(a, "nancumsum"), 0), axis, dtype, out)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """`cumprod` with NaN as 1. Source: NumPy, `nancumprod`."""
    return cumprod(_numbers(_array(a, "nancumprod"), 1), axis, dtype, out)


def nanmax(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False, **options: Any) -> Array:
    """The greatest element that is not NaN; NaN where there is none. Source: NumPy, `nanmax`.

    >>> xp.nanmax(xp.asarray([1.0, xp.nan]))
    Array(1., device='cpu')
    """
    return _nan_extreme("nanmax", _statistical.max, -math.inf, a, axis, out, keepdims, options)


def nanmin(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False, **options: Any) -> Array:
    """The least element that is not NaN; NaN where there is none. Source: NumPy, `nanmin`."""
    return _nan_extreme("nanmin", _statistical.min, math.inf, a, axis, out, keepdims, options)


def _nan_extreme(
    name: str, function: Any, worst: float, x: Any, axis: Axis, out: Any, keepdims: bool, options: dict[str, Any]
) -> Array:
    x = _array(x, name)
    if kind(x.dtype) != "f":
        return function(x, axis, out, keepdims, **options)
    found = function(_numbers(x, worst), axis, keepdims=keepdims, **options)
    return deliver(name, where(all(isnan(x), axis=axis, keepdims=keepdims), math.nan, found), out)


def _nan_place(name: str, function: Any, worst: float, x: Any, axis: int | None, out: Any, keepdims: bool) -> Array:
    x = _array(x, name)
    if kind(x.dtype) != "f":
        return function(x, axis, out, keepdims=keepdims)
    if bool(any(all(isnan(x), axis=axis))):
        raise ValueError(f"{name}: All-NaN slice encountered")
    return function(_numbers(x, worst), axis, out, keepdims=keepdims)


def nanargmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """`argmax` of what is not NaN; ValueError where nothing is, for which it waits. Source: NumPy, `nanargmax`."""
    return _nan_place("nanargmax", _searching.argmax, -math.inf, a, axis, out, keepdims)


def nanargmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """`argmin` of what is not NaN; ValueError where nothing is, for which it waits. Source: NumPy, `nanargmin`."""
    return _nan_place("nanargmin", _searching.argmin, math.inf, a, axis, out, keepdims)


def _are_numbers(x: Array, also: Any) -> Any:
    there = logical_not(isnan(x)) if kind(x.dtype) in "fc" else True
    return there if also is True else also if there is True else logical_and(there, _array(also, "where"))


def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Array:
    """`mean` of what is not NaN; NaN where nothing is. Source: NumPy, `nanmean`.

    >>> xp.nanmean(xp.asarray([1.0, xp.nan, 3.0]))
    Array(2., device='cpu')
    """
    a = _array(a, "nanmean")
    return _statistical.mean(a, axis, dtype, out, keepdims, where=_are_numbers(a, where))


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Array:
    """`var` of what is not NaN; NaN where too little is. Source: NumPy, `nanvar`."""
    a = _array(a, "nanvar")
    return deliver("nanvar", _nan_spread(_statistical.var, a, axis, dtype, ddof or correction, keepdims, where), out)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Array:
    """`std` of what is not NaN; NaN where too little is. Source: NumPy, `nanstd`."""
    a = _array(a, "nanstd")
    return deliver("nanstd", _nan_spread(_statistical.std, a, axis, dtype, ddof or correction, keepdims, where), out)


def _nan_spread(function: Any, x: Array, axis: Axis, dtype: Any, ddof: float, keepdims: bool, mask: Any) -> Array:
    there = _are_numbers(x, mask)
    result = function(x, axis, dtype, None, ddof, keepdims, where=there)
    if there is True:
        return result
    enough = _statistical.sum(there, axis, keepdims=keepdims) > ddof
    return where(enough, result, math.nan)


# ---------------------------------------------------------------------------------------------------- counts by value


def tally(places: Array, bins: int) -> Array:
    """How often each of the numbers from 0 up to bins occurs in an array, int64."""
    wide = places.size >= 2**31
    counts = copy(filled((bins,), 0, np.dtype(np.int64 if wide else np.int32), places.device, "tally"))
    if places.size:
        kernels.tally(packed(places).memory(), counts.memory())
    return cast(counts, INT64)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each integer from 0 on occurs in a vector, or the sum of its weights. Waits for the device.

    minlength: the least length of the result. Weights are added by groups, so that sums repeat bit for bit. Raises
    ValueError for negative integers, TypeError for other dtypes. Source: NumPy, `bincount`.

    >>> xp.bincount(xp.asarray([1, 1, 3]))
    Array([0, 2, 0, 1], device='cpu')
    """
    x = _array(x, "bincount")
    if x.ndim != 1:
        raise ValueError(f"bincount: object of too small or large depth: expected a vector, got shape {x.shape}")
    if x.dtype.kind not in "biu" and x.size:
        raise TypeError(f"bincount: cannot cast from {x.dtype} to int64 by the rule 'safe'")
    if operator.index(minlength) < 0:
        raise ValueError(f"bincount: 'minlength' must not be negative, got {minlength}")
    x = cast(x, INT64)
    least, greatest = stack([_statistical.min(x), _statistical.max(x)]).tolist() if x.size else (0, -1)
    if least < 0:
        raise ValueError("bincount: 'list' argument must have no negative elements")
    bins = builtins.max(greatest + 1, minlength)
    if weights is None:
        return tally(x, bins)
    weights = cast(_array(weights, "bincount"), default_float(x.device))
    if weights.shape != x.shape:
        raise ValueError(f"bincount: the weights and list don't have the same length, {weights.shape} and {x.shape}")
    out = copy(filled((bins,), 0, weights.dtype, x.device, "bincount"))
    if x.size:
        keys, sums = combine_by_key(add, x, weights)
        out[keys] = sums
    return out


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of a histogram's bins: `bins` of equal width over the range, which is that of a by default.

    bins: a number of bins, ascending edges, or "auto", "fd", "sturges", "scott", "rice", "sqrt", "doane" or "stone",
    of which all but the last are there. Raises ValueError for a range that is not finite or descends. Waits for the
    device where it needs the range. Source: NumPy, `histogram_bin_edges`.

    >>> xp.histogram_bin_edges(xp.asarray([0.0, 4.0]), bins=2)
    Array([0., 2., 4.], device='cpu')
    """
    x = reshape(_array(a, "histogram"), (-1,))
    if not isinstance(bins, str) and (bins.ndim if isinstance(bins, Array) else np.ndim(bins)):
        edges = _array(bins, "histogram")
        if edges.ndim != 1 or bool(any(edges[:-1] > edges[1:])):
            raise ValueError("histogram: bins must increase monotonically, in 1 dimension")
        return edges
    first, last = _range(x, range)
    count = _width_rule(x, bins, first, last, weights) if isinstance(bins, str) else operator.index(bins)
    if count < 1:
        raise ValueError("histogram: bins must be positive, when an integer")
    dtype = x.dtype if x.dtype.kind == "f" else default_float(x.device)
    return linspace(first, last, count + 1, dtype=dtype, device=x.device)


def _range(x: Array, limits: Any) -> tuple[float, float]:
    if limits is not None:
        first, last = float(limits[0]), float(limits[1])
        if first > last:
            raise ValueError("histogram: max must be larger than min in range parameter")
    elif not x.size:
        first, last = 0.0, 1.0
    else:
        x = cast(x, INT64) if x.dtype.kind == "b" else x
        first, last = (float(v) for v in stack([_statistical.min(x), _statistical.max(x)]).tolist())
    if not (math.isfinite(first) and math.isfinite(last)):
        raise ValueError(f"histogram: range of [{first}, {last}] is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def _width_rule(x: Array, name: str, first: float, last: float, weights: Any) -> int:
    """NumPy's rules for the number of bins of equal width."""
    if weights is not None:
        raise TypeError("histogram: automated estimation of the number of bins is not supported for weighted data")
    x = inexact(x[logical_and(x >= first, x <= last)])
    n = x.size
    if not n:
        return 1
    extent = float(ptp(x))

    def fd() -> float:
        upper, lower = percentile(x, [75, 25]).tolist()
        return 2.0 * (upper - lower) * n ** (-1.0 / 3.0)

    def doane() -> float:
        sigma = float(_statistical.std(x))
        if n <= 2 or sigma <= 0:
            return 0.0
        skew = float(_statistical.mean(((x - _statistical.mean(x)) / sigma) ** 3))
        spread = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
        return extent / (1.0 + math.log2(n) + math.log2(1.0 + builtins.abs(skew) / spread))

    rules = {
        "sqrt": lambda: extent / math.sqrt(n),
        "sturges": lambda: extent / (math.log2(n) + 1.0),
        "rice": lambda: extent / (2.0 * n ** (1.0 / 3)),
        "scott": lambda: (24.0 * math.pi**0.5 / n) ** (1.0 / 3.0) * float(_statistical.std(x)),
        "fd": fd,
        "doane": doane,
    }
    if name == "auto":
        width, other = fd(), rules["sturges"]()
        width = builtins.min(width, other) if width else other
    elif name in rules:
        width = rules[name]()
    else:
        raise ValueError(f"histogram: {name!r} is not a valid estimator for `bins`; known: auto, {', '.join(rules)}")
    return math.ceil((last - first) / width) if width else 1


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array]:
    """How many elements fall between each two edges, the last of which counts to its bin, and the edges.

    bins, range: as `histogram_bin_edges` has them. density: divide by the width of the bin and the number of all.
    weights: what each element counts; sums are made by groups. Source: NumPy, `histogram`.

    >>> xp.histogram(xp.asarray([0.0, 1.0, 3.0, 4.0]), bins=2)
    (Array([2, 2], device='cpu'), Array([0., 2., 4.], device='cpu'))
    """
    x = reshape(_array(a, "histogram"), (-1,))
    edges = histogram_bin_edges(x, bins, range, weights)
    n = edges.size - 1
    places = _bins(x, edges)
    inside = logical_and(places >= 0, places < n)
    places = where(inside, places, n)  # one bin more for what lies outside
    if weights is None:
        counts: Array = tally(places, n + 1)[:n]
    else:
        w = reshape(_array(weights, "histogram"), (-1,))
        if w.shape != x.shape:
            raise ValueError(f"histogram: weights should have the same shape as a, {x.shape}, got {w.shape}")
        w = cast(w, INT64) if w.dtype.kind == "b" else w
        counts = copy(filled((n + 1,), 0, w.dtype, x.device, "histogram"))
        if x.size:
            keys, sums = combine_by_key(add, places, w)
            counts[keys] = sums
        counts = counts[:n]
    if density:
        return counts / diff(edges) / _statistical.sum(counts), edges
    return counts, edges


def _bins(x: Array, edges: Array) -> Array:
    """The bin of each element between ascending edges, the last of which belongs to its bin; beyond them -1 or more."""
    place = searchsorted(edges, cast(x, INT64) if x.dtype.kind == "b" else x, side="right") - 1
    n = edges.size - 1
    return where(equal(x, edges[n]), n - 1, place)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, tuple[Array, ...]]:
    """The histogram of points, rows of a matrix or one array a coordinate, and the edges along each axis.

    Source: NumPy, `histogramdd`.
    """
    points = sample if isinstance(sample, Array) else stack([_array(x, "histogramdd") for x in sample], axis=1)
    count = points.shape[1]
    every = list(bins) if isinstance(bins, (list, tuple)) else [bins] * count
    if len(every) != count:
        raise ValueError(f"histogramdd: the dimension of bins must be equal to the dimension of the sample, {count}")
    limits = [None] * count if range is None else list(range)
    columns = [points[:, k] for k in builtins.range(count)]
    edges = tuple(histogram_bin_edges(x, b, r) for x, b, r in zip(columns, every, limits, strict=True))
    sizes = [e.size - 1 for e in edges]
    flat: Any = 0
    inside: Any = None
    for x, e, n in zip(columns, edges, sizes, strict=True):
        place = _bins(x, e)
        here = logical_and(place >= 0, place < n)
        inside = here if inside is None else logical_and(inside, here)
        flat = flat * n + place
    total = math.prod(sizes)
    places = where(inside, flat, total)
    if weights is None:
        counts = cast(tally(places, total + 1), default_float(points.device))
    else:
        counts = bincount(places, weights, total + 1)
    counts = reshape(counts[:total], tuple(sizes))
    if density:
        volume: Any = 1.0
        for k, e in enumerate(edges):
            volume = volume * reshape(diff(e), (*(1,) * k, e.size - 1, *(1,) * (count - k - 1)))
        counts = counts / volume / _statistical.sum(counts)
    return counts, edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array, Array]:
    """The histogram of points in the plane, and the edges along both axes. Source: NumPy, `histogram2d`.

    >>> xp.histogram2d([0.0, 1.0], [0.0, 1.0], bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if isinstance(bins, Array) or (isinstance(bins, (list, tuple)) and len(bins) not in (1, 2)):
        bins = [bins, bins]  # the edges of both
    columns = [_array(x, "histogram2d"), _array(y, "histogram2d")]
    counts, edges = histogramdd(columns, bins, range, density, weights)
    return counts, edges[0], edges[1]


# --------------------------------------------------------------------------------------------------------- covariances


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """The covariances of variables, each a row of observations, or a column without `rowvar`.

    y: more variables. ddof: taken from the number of observations, 1 by default, 0 with `bias`. fweights, aweights: how
    often each observation occurred, and how much it counts. Source: NumPy, `cov`.

    >>> xp.cov(xp.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], device='cpu')
    """
    x = _rows("cov", m, rowvar)
    if y is not None:
        x = concat([x, _rows("cov", y, rowvar)])
    x = inexact(x) if dtype is None else cast(x, np.dtype(dtype))
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights: Any = None
    for given in (fweights, aweights):
        if given is not None:
            w = inexact(_array(given, "cov"))
            if w.shape != (x.shape[1],):
                raise RuntimeError(f"cov: incompatible numbers of samples {x.shape[1]} and weights {w.shape}")
            weights = w if weights is None else weights * w
    if weights is None:
        centred, divisor = x - _statistical.mean(x, 1, keepdims=True), builtins.max(x.shape[1] - ddof, 0)
        scaled = conj(centred).T if x.dtype.kind == "c" else centred.T
    else:
        total = _statistical.sum(weights)
        centred = x - (_statistical.sum(x * weights, 1) / total)[:, None]
        again = total if aweights is None else _statistical.sum(weights * inexact(_array(aweights, "cov"))) / total
        divisor = total - ddof * (1.0 if aweights is None else again)
        scaled = (conj(centred) * weights).T if x.dtype.kind == "c" else (centred * weights).T
    result = divide(matmul(centred, scaled), divisor if isinstance(divisor, Array) else float(divisor))
    return result[0, 0] if result.shape == (1, 1) else result


def _rows(name: str, x: Any, rowvar: bool) -> Array:
    x = _array(x, name)
    if x.ndim > 2:
        raise ValueError(f"{name}: m has more than 2 dimensions, {x.shape}")
    x = x if x.ndim == 2 else x[(None,) * (2 - x.ndim)]
    return x if rowvar or x.shape[0] == 1 else x.T


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """The correlations of variables, arranged as `cov` has them. Source: NumPy, `corrcoef`.

    >>> xp.corrcoef([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    Array([[ 1., -1.],
           [-1.,  1.]], device='cpu')
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    scale = sqrt(real(c[arange(c.shape[0], device=c.device), arange(c.shape[0], device=c.device)]))
    result = c / scale[:, None] / scale[None, :]
    return result if c.dtype.kind == "c" else clip(result, -1.0, 1.0)
