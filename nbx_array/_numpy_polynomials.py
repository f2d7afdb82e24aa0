"""NumPy's polynomials: vectors of coefficients, the highest first."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbx_array import linalg
from nbx_array._array import Array, asnumpy, cast, copy, filled
from nbx_array._creation import _array, _new, arange, zeros_like
from nbx_array._data_types import result_type
from nbx_array._elementwise import abs, less_equal, logical_not, pow, real
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import concat, flip
from nbx_array._numpy_series import convolve
from nbx_array._numpy_shapes import atleast_1d, trim_zeros
from nbx_array._numpy_types import isscalar
from nbx_array._reduction import inexact
from nbx_array._searching import nonzero
from nbx_array._utility import all
from nbx_array.kernels.types import default_complex

INT64 = np.dtype(np.int64)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix of powers of a vector, the highest first. Source: NumPy, `vander`."""
    x = _array(x, "vander")
    count = x.size if N is None else operator.index(N)
    exponents = arange(count, device=x.device)
    dtype = x.dtype if x.dtype.kind in "fc" else INT64
    powers = pow(cast(x, dtype)[:, None], cast(exponents, dtype)[None, :])
    return copy(powers if increasing else flip(powers, axis=1))


def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients p, the highest first, at x, by Horner's scheme; for a poly1d as x a poly1d.

    Source: NumPy, `polyval`.

    >>> xp.polyval([1.0, 0.0, 2.0], xp.asarray([3.0]))
    Array([11.], device='cpu')
    """
    coefficients, at = _operands("polyval", p, x)
    y, at = (0, x) if isinstance(x, poly1d) else (zeros_like(at), at)
    for k in range(len(coefficients)):
        y = y * at + coefficients[k]
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


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials' coefficients. Source: NumPy, `polyadd`."""
    x, y = _aligned("polyadd", a1, a2)
    return _like(x + y, a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials' coefficients. Source: NumPy, `polysub`.

    >>> xp.polysub([2, 10, -2], [3, 10, -4])
    Array([-1,  0,  2], device='cpu')
    """
    x, y = _aligned("polysub", a1, a2)
    return _like(x - y, a1, a2)


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials' coefficients, of which leading zeros are left out; that takes waiting for the
    device. Source: NumPy, `polymul`."""
    x, y = _operands("polymul", a1, a2)
    return _like(convolve(poly1d(x).coeffs, poly1d(y).coeffs), a1, a2)


def polydiv(u: Any, v: Any) -> Any:
    """The quotient and the remainder of two polynomials' coefficients, floating point.

    The remainder is without leading coefficients of at most 1e-8 in size, which takes waiting for the device. A few
    launches for each coefficient of the quotient. Raises IndexError for no coefficients, ValueError for more than one
    dimension. Source: NumPy, `polydiv`.

    >>> xp.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
    (Array([1.5 , 1.75], device='cpu'), Array([0.25], device='cpu'))
    """
    x, y = map(inexact, atleast_1d(*_operands("polydiv", u, v)))
    if x.ndim > 1 or y.ndim > 1:
        raise ValueError(f"polydiv: takes vectors of coefficients, got shapes {x.shape} and {y.shape}")
    dtype = result_type(x, y)
    m, n = x.size, y.size
    if not m or not n:
        raise IndexError(f"polydiv: takes at least one coefficient of each, got {m} and {n}")
    scale = 1.0 / y[0]
    quotient = copy(filled((max(m - n + 1, 1),), 0, dtype, x.device, "polydiv"))
    rest = copy(cast(x, dtype))
    for k in range(m - n + 1):
        quotient[k] = scale * rest[k]
        rest[k : k + n] -= quotient[k] * y
    (places,) = nonzero(logical_not(less_equal(abs(rest), 1e-8)))
    first = int(places[0]) if places.size else m - 1
    return _like(quotient, u, v), _like(rest[first:], u, v)


def polyder(p: Any, m: int = 1) -> Any:
    """The coefficients of the m-th derivative. Raises ValueError for a negative m. Source: NumPy, `polyder`."""
    (x,) = _operands("polyder", p)
    if operator.index(m) < 0:
        raise ValueError("polyder: order of derivative must be positive")
    for _ in range(m):
        x = x[:-1] * arange(x.size - 1, 0, -1, device=x.device)
    return _like(x, p)


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


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The coefficients of the m-th antiderivative, with the constants k: a number, or one for each.

    Raises ValueError for a negative m or too few constants. Source: NumPy, `polyint`.

    >>> xp.polyint([2.0, 1.0])
    Array([1., 1., 0.], device='cpu')
    """
    (x,) = _operands("polyint", p)
    if operator.index(m) < 0:
        raise ValueError("polyint: order of integral must be positive")
    constants = [0] * m if k is None else list(k) if isinstance(k, (list, tuple)) else [k] * m
    if len(constants) < m:
        raise ValueError(f"polyint: takes a constant for each of {m} steps, got {len(constants)}")
    for constant in constants[:m]:
        x = concat([x / arange(x.size, 0, -1, device=x.device), inexact(_array([constant], "polyint", x.device))])
    return _like(x, p)


def roots(p: Any) -> Array:
    """The zeros of a polynomial given by its coefficients: eigenvalues of its companion matrix. Source: NumPy, `roots`.

    Waits for the device, to leave out coefficients of zero at both ends.
    """
    (x,) = map(inexact, _operands("roots", p))
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


def _operands(name: str, *given: Any) -> list[Any]:
    """Coefficients as arrays: those of a poly1d its own, numbers and lists on the device of the arrays among them."""
    given = tuple(x.coeffs if isinstance(x, poly1d) else x for x in given)
    device = next((x.device for x in given if isinstance(x, Array)), None)
    return [_array(x, name, device) for x in given]


def _aligned(name: str, *given: Any) -> list[Array]:
    """Coefficients of one dtype, the shorter ones behind zeros."""
    arrays = atleast_1d(*_operands(name, *given))
    n, dtype = max(x.size for x in arrays), result_type(*arrays)
    return [concat([filled((n - x.size,), 0, dtype, x.device, name), cast(x, dtype)]) for x in arrays]


def _like(coefficients: Array, *given: Any) -> Any:
    """Coefficients as a poly1d where an operand is one."""
    return poly1d(coefficients) if any(isinstance(x, poly1d) for x in given) else coefficients


class poly1d:
    """A polynomial of one variable: `p(x)` evaluates it, operators combine it with polynomials, coefficients, numbers.

    c_or_r: the coefficients, the highest first, or with r=True the zeros. variable: its name in `str`, "x" by default.
    Leading zeros are left out, so making one waits for the device. `p / q` is the pair of `polydiv`, `p[k]` the
    coefficient of the k-th power, `len(p)` the order. Beside an array on their left, too, operators are the
    polynomial's. Raises ValueError for more than one dimension. Source: NumPy, `poly1d`.

    >>> p = xp.poly1d([1.0, -3.0, 2.0])
    >>> p(xp.asarray([0.0, 3.0])), p.deriv(), p[2]
    (Array([2., 2.], device='cpu'), poly1d([ 2., -3.], device='cpu'), Array(1., device='cpu'))
    >>> print(p * 2 + 1)
       2
    2 x - 6 x + 5
    """

    __array_ufunc__ = None  # NumPy's numbers leave operators to the polynomial
    _coeffs: Array
    _variable: str
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        if isinstance(c_or_r, poly1d):
            self._coeffs, self._variable = c_or_r._coeffs, variable or c_or_r._variable
            return
        x = atleast_1d(_array(poly(c_or_r) if r else c_or_r, "poly1d"))
        if x.ndim > 1:
            raise ValueError(f"poly1d: polynomial must be 1d only, got shape {x.shape}")
        x = trim_zeros(x, "f")
        self._coeffs = x if x.size else filled((1,), 0, x.dtype, x.device, "poly1d")
        self._variable = variable or "x"

    @property
    def coeffs(self) -> Array:
        """The coefficients, the highest first; `c`, `coef` and `coefficients`, too."""
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        if value is not self._coeffs:  # `p.coeffs *= 2` assigns what it has changed
            raise AttributeError("poly1d: coeffs cannot be set; change their elements, or make another one")

    c = coef = coefficients = coeffs

    @property
    def variable(self) -> str:
        """The name of the variable."""
        return self._variable

    @property
    def order(self) -> int:
        """The highest power; `o`, too."""
        return self._coeffs.size - 1

    o = order

    @property
    def roots(self) -> Array:
        """Where the polynomial is zero; `r`, too."""
        return roots(self._coeffs)

    r = roots

    def deriv(self, m: int = 1) -> poly1d:
        """The m-th derivative."""
        return poly1d(polyder(self._coeffs, m))

    def integ(self, m: int = 1, k: Any = 0) -> poly1d:
        """The m-th antiderivative, with the constants k."""
        return poly1d(polyint(self._coeffs, m, k))

    def __call__(self, val: Any) -> Any:
        return polyval(self._coeffs, val)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._coeffs, dtype, copy=copy)

    def __repr__(self) -> str:
        return f"poly1d({repr(self._coeffs)[6:-1]})"

    def __str__(self) -> str:
        return str(np.poly1d(asnumpy(self._coeffs), variable=self._variable))

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[Array]:
        return iter(self._coeffs)

    def __getitem__(self, power: int) -> Array:
        if 0 <= power <= self.order:
            return self._coeffs[self.order - power]
        return filled((), 0, self._coeffs.dtype, self._coeffs.device, "poly1d")

    def __setitem__(self, power: int, value: Any) -> None:
        if power < 0:
            raise ValueError(f"poly1d: does not support negative powers, got {power}")
        if power > self.order:
            zeros = filled((power - self.order,), 0, self._coeffs.dtype, self._coeffs.device, "poly1d")
            self._coeffs = concat([zeros, self._coeffs])
        self._coeffs[self.order - power] = value

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        return self.order == other.order and bool(all(self._coeffs == other._coeffs))

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> poly1d:
        return polyadd(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> poly1d:
        return polysub(self, other)

    def __rsub__(self, other: Any) -> poly1d:
        return polysub(other, self)

    def __mul__(self, other: Any) -> poly1d:
        return poly1d(self._coeffs * other) if isscalar(other) else polymul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return poly1d(self._coeffs / other) if isscalar(other) else polydiv(self, self._beside(other))

    def __rtruediv__(self, other: Any) -> Any:
        return poly1d(other / self._coeffs) if isscalar(other) else polydiv(self._beside(other), self)

    def _beside(self, other: Any) -> poly1d:
        return other if isinstance(other, poly1d) else poly1d(_array(other, "poly1d", self._coeffs.device))

    def __pow__(self, exponent: Any) -> poly1d:
        if not isscalar(exponent) or int(exponent) != exponent or exponent < 0:
            raise ValueError(f"poly1d: power to non-negative integers only, got {exponent!r}")
        result = _array([1], "poly1d", self._coeffs.device)
        for _ in range(int(exponent)):
            result = convolve(self._coeffs, result)
        return poly1d(result)
