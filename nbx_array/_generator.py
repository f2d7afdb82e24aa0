"""The random number generator: a key, a position in its stream, and the distributions."""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence, Sequence
from typing import Any

import numpy as np

from nbx_array import _elementwise as ew
from nbx_array import linalg
from nbx_array._array import Array, asnumpy, packed, where
from nbx_array._creation import _sizes, asarray, empty, ones
from nbx_array._data_types import as_dtype
from nbx_array._linear_algebra import matmul
from nbx_array._manipulation import broadcast_shapes, broadcast_to, expand_dims, reshape, stack
from nbx_array._searching import searchsorted
from nbx_array._sorting import argsort
from nbx_array._statistical import cumulative_sum, sum
from nbx_array._taking import take, take_along_axis
from nbx_array._utility import all
from nbx_array.backend import detect, locks
from nbx_array.backend.contract import Device
from nbx_array.kernels import random as kernels
from nbx_array.kernels.types import default_float

Size = int | tuple[int, ...] | None

_lock = locks.lock()  # of the places in all streams

_MOST = 10**9
"""As many as NumPy draws from without putting back: beyond, its and our formulas lose digits."""


class Philox:
    """The bit generator Philox4x32-10: a 64-bit key and a position in its stream of 2^63 elements.

    seed: None (the operating system's entropy), an int, a sequence of ints or a numpy.random.SeedSequence; what it is
    becomes the key by NumPy's SeedSequence.
    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
    """

    def __init__(self, seed: Any = None) -> None:
        self.seed_seq = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._key = int(self.seed_seq.generate_state(1, np.uint64)[0])
        self._position = 0

    @property
    def state(self) -> dict[str, Any]:
        """Key and position; setting it goes back to an earlier place."""
        return {"bit_generator": "Philox", "key": self._key, "position": self._position}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if value.get("bit_generator") != "Philox" or not {"key", "position"} <= value.keys():
            raise ValueError(f"state: expected the state of a Philox, got {value!r}")
        key, position = int(value["key"]), int(value["position"])
        with _lock:
            self._key, self._position = key, position

    def take(self, n: int) -> tuple[int, int]:
        """The key and the position of the next n elements, which nobody else gets."""
        with _lock:
            start = self._position
            self._position += n
            key = self._key
        return key, start

    def spawn(self, n_children: int) -> list[Philox]:
        """Bit generators whose streams have nothing to do with this one's."""
        with _lock:
            children = self.seed_seq.spawn(n_children)
        return [Philox(child) for child in children]

    def __reduce__(self) -> Any:
        return _restored, (self.seed_seq, self.state)


def _restored(seed: np.random.SeedSequence, state: dict[str, Any]) -> Philox:
    bits = Philox(seed)
    bits.state = state
    return bits


def _shape(name: str, size: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a result: `size`, which the parameters must broadcast to, or the parameters' own."""
    if size is None:
        return broadcast_shapes(*shapes)
    try:
        dims = tuple(map(operator.index, _sizes(size)))
    except TypeError:
        raise TypeError(f"{name}: size is an integer or a tuple of integers, not {size!r}") from None
    if any(dim < 0 for dim in dims):
        raise ValueError(f"{name}: negative dimensions are not allowed, got size {size!r}")
    if any(shapes) and broadcast_shapes(dims, *shapes) != dims:
        raise ValueError(f"{name}: parameters of shapes {list(shapes)} do not broadcast to the size {dims}")
    return dims


def _holds(condition: Any) -> bool:
    return bool(all(condition)) if isinstance(condition, Array) else bool(condition)


class Generator:
    """Draws from many distributions; see `default_rng`. Methods and parameters are those of numpy.random.Generator."""

    def __init__(self, bit_generator: Philox, device: Any = None) -> None:
        if not isinstance(bit_generator, Philox):
            raise TypeError(f"Generator: expected a Philox, got {type(bit_generator).__name__}")
        self.bit_generator = bit_generator
        self._device = None if device is None else detect.find_device(device)

    def __repr__(self) -> str:
        return "Generator(Philox)"

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators whose streams have nothing to do with this one's."""
        return [Generator(bits, self._device) for bits in self.bit_generator.spawn(n_children)]

    # ------------------------------------------------------------------------------------------------- kernels

    def _where(self) -> Device:
        return detect.default_device() if self._device is None else self._device

    def _draw(self, kernel: str, shape: tuple[int, ...], dtype: np.dtype, parameters: Sequence[Array] = ()) -> Array:
        device = self._where()
        for p in parameters:
            if p.sig.device is not device:
                raise ValueError(f"random: the parameters are on {p.sig.device}, the generator draws on {device}")
        out = empty(shape, dtype=dtype, device=device)
        n = math.prod(shape)
        if n:
            views = [(packed(broadcast_to(p, shape)) if p.ndim else p).memory() for p in parameters]
            key, position = self.bit_generator.take(n)
            flat = [(view.storage.ptr + view.offset * view.dtype.itemsize, int(view.shape != ())) for view in views]
            kernels.draw(kernel, out.memory().storage.ptr, dtype, device, flat, key, position, n)
        return out

    def _float(self, dtype: Any, name: str) -> np.dtype:
        widest = default_float(self._where())
        chosen = widest if dtype is None else as_dtype(dtype, name)
        if chosen not in (np.float32, widest):
            raise TypeError(f"{name}: the dtype is float32 or {widest}, not {chosen}")
        return chosen

    def _numbers(self, name: str, *values: Any) -> tuple[Any, ...]:
        """Parameters as Python floats or arrays of the default float."""
        widest = default_float(self._where())
        found: list[Any] = []
        for value in values:
            if isinstance(value, Array):
                found.append(ew.positive(value) if value.dtype == widest else asarray(value, dtype=widest))
            elif isinstance(value, (bool, int, float, np.generic)):
                found.append(float(value))
            else:
                try:
                    found.append(asarray(np.asarray(value, dtype=widest), device=self._where()))
                except (TypeError, ValueError):
                    raise TypeError(
                        f"{name}: a parameter is a real number or an array of them, not {value!r}"
                    ) from None
        return tuple(found)

    def _check(self, name: str, condition: Any, text: str) -> None:
        if not _holds(condition):
            raise ValueError(f"{name}: {text}")

    def _of_parameters(self, name: str, size: Size, *values: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        numbers = self._numbers(name, *values)
        return _shape(name, size, [x.shape for x in numbers if isinstance(x, Array)]), numbers

    def _uniform(self, shape: tuple[int, ...]) -> Array:
        return self._draw("uniform", shape, default_float(self._where()))

    def _operand(self, value: Any, dtype: np.dtype) -> Array:
        return value if isinstance(value, Array) else asarray(value, dtype=dtype, device=self._where())

    def _counted(self, name: str, kernel: str, shape: tuple[int, ...], *numbers: Any) -> Array:
        """A distribution over whole numbers, by its kernel."""
        widest = default_float(self._where())
        return self._draw(kernel, shape, np.dtype(np.int64), [self._operand(x, widest) for x in numbers])

    # ------------------------------------------------------------------------------------------------- uniform

    def random(self, size: Size = None, dtype: Any = None, out: Array | None = None) -> Array:
        """Uniform in [0, 1): multiples of 2^-53, or of 2^-24 in float32."""
        return self._standard("random", "uniform", size, dtype, out)

    def _standard(self, name: str, kernel: str, size: Size, dtype: Any, out: Array | None) -> Array:
        if out is None:
            return self._draw(kernel, _shape(name, size, [()]), self._float(dtype, name))
        if size is not None and _shape(name, size, [()]) != out.shape:
            raise ValueError(f"{name}: out has the shape {out.shape}, not the size {size!r}")
        out[...] = self._draw(kernel, out.shape, self._float(dtype or out.dtype, name))
        return out

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Array:
        """Uniform in [low, high)."""
        shape, (low, high) = self._of_parameters("uniform", size, low, high)
        return low + (high - low) * self._uniform(shape)

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Array:
        """Whole numbers from low up to but not including high, or up to it if `endpoint`; [0, low) if high is None."""
        kind = np.dtype(np.bool_) if dtype is bool else as_dtype(dtype, "integers")
        if kind.kind not in "iub":
            raise TypeError(f"integers: the dtype is one of integers or bool, not {kind}")
        if high is None:
            low, high = 0, low
        ends = [x if isinstance(x, Array) else np.asarray(x) for x in (low, high)]
        if any(x.dtype.kind not in "iubO" and not (isinstance(x, np.ndarray) and _whole(x)) for x in ends):
            raise TypeError(f"integers: low and high are integers, got {low!r} and {high!r}")
        shape = _shape("integers", size, [x.shape for x in ends])
        limits = (0, 1)
        if kind.kind != "b":
            info: Any = np.iinfo(kind.name)
            limits = (info.min, info.max)
        host = [np.asarray(asnumpy(x) if isinstance(x, Array) else x).astype(object) for x in ends]
        least, last = host[0], host[1] - (0 if endpoint else 1)
        if np.any(least < limits[0]):
            raise ValueError(f"integers: low is out of bounds for {kind}")
        if np.any(last > limits[1]):
            raise ValueError(f"integers: high is out of bounds for {kind}")
        if np.any(least > last):
            raise ValueError(f"integers: low {'>' if endpoint else '>='} high")
        least, above = np.broadcast_arrays(least, last - least)
        words = [np.asarray(x.astype(object) % 2**64, np.uint64).view(np.int64) for x in (least, above)]
        return self._draw("integers", shape, kind, [asarray(x, device=self._where()) for x in words])

    def bytes(self, length: int) -> bytes:
        """So many random bytes, on the host."""
        return asnumpy(self.integers(0, 256, length, np.uint8)).tobytes()

    # -------------------------------------------------------------------------------- normal and what follows from it

    def standard_normal(self, size: Size = None, dtype: Any = None, out: Array | None = None) -> Array:
        """Normal with mean 0 and standard deviation 1."""
        return self._standard("standard_normal", "normal", size, dtype, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Normal with mean `loc` and standard deviation `scale`."""
        shape, (loc, scale) = self._of_parameters("normal", size, loc, scale)
        self._check("normal", scale >= 0, "scale < 0")
        return loc + scale * self.standard_normal(shape)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None) -> Array:
        """The exponential of a normal variate."""
        shape, (mean, sigma) = self._of_parameters("lognormal", size, mean, sigma)
        self._check("lognormal", sigma >= 0, "sigma < 0")
        return ew.exp(mean + sigma * self.standard_normal(shape))

    def standard_cauchy(self, size: Size = None) -> Array:
        """The ratio of two normal variates."""
        shape = _shape("standard_cauchy", size, [()])
        return self.standard_normal(shape) / self.standard_normal(shape)

    def chisquare(self, df: Any, size: Size = None) -> Array:
        """Chi-square with `df` > 0 degrees of freedom."""
        shape, (df,) = self._of_parameters("chisquare", size, df)
        self._check("chisquare", df > 0, "df <= 0")
        return 2.0 * self._gamma(df / 2.0, shape)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Size = None) -> Array:
        """Chi-square of normal variates that are not centred: a mixture over Poisson numbers of degrees of freedom."""
        shape, (df, nonc) = self._of_parameters("noncentral_chisquare", size, df, nonc)
        self._check("noncentral_chisquare", df > 0, "df <= 0")
        self._check("noncentral_chisquare", nonc >= 0, "nonc < 0")
        more = self._counted("noncentral_chisquare", "poisson", shape, nonc / 2.0)
        return 2.0 * self._gamma(df / 2.0 + asarray(more, dtype=default_float(self._where())), shape)

    def f(self, dfnum: Any, dfden: Any, size: Size = None) -> Array:
        """Fisher's F: the ratio of two chi-square variates, each by its degrees of freedom."""
        shape, (dfnum, dfden) = self._of_parameters("f", size, dfnum, dfden)
        self._check("f", dfnum > 0, "dfnum <= 0")
        self._check("f", dfden > 0, "dfden <= 0")
        return self._gamma(dfnum / 2.0, shape) * dfden / (self._gamma(dfden / 2.0, shape) * dfnum)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None) -> Array:
        """The same with a numerator that is not centred."""
        shape, (dfnum, dfden, nonc) = self._of_parameters("noncentral_f", size, dfnum, dfden, nonc)
        self._check("noncentral_f", dfden > 0, "dfden <= 0")
        above = self.noncentral_chisquare(dfnum, nonc, shape)
        return above * dfden / (2.0 * self._gamma(dfden / 2.0, shape) * dfnum)

    def standard_t(self, df: Any, size: Size = None) -> Array:
        """Student's t with `df` > 0 degrees of freedom."""
        shape, (df,) = self._of_parameters("standard_t", size, df)
        self._check("standard_t", df > 0, "df <= 0")
        return self.standard_normal(shape) * ew.sqrt(df / (2.0 * self._gamma(df / 2.0, shape)))

    def wald(self, mean: Any, scale: Any, size: Size = None) -> Array:
        """Inverse normal (Michael, Schucany and Haas, 1976)."""
        shape, (mean, scale) = self._of_parameters("wald", size, mean, scale)
        self._check("wald", mean > 0, "mean <= 0")
        self._check("wald", scale > 0, "scale <= 0")
        y = mean * ew.square(self.standard_normal(shape))
        x = mean + mean / (2.0 * scale) * (y - ew.sqrt(y * (4.0 * scale + y)))
        return where(self._uniform(shape) <= mean / (mean + x), x, mean * mean / x)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Array:
        """Normal vectors with the mean (n,) and the covariance (n, n); the result has the shape (*size, n).

        method: how the covariance is factorised, "cholesky" or by its eigenvalues, which are its singular values, too
        ("svd", "eigh").
        """
        mean, cov = self._numbers("multivariate_normal", mean, cov)
        if not isinstance(mean, Array) or mean.ndim != 1:
            raise ValueError("multivariate_normal: mean must be 1 dimensional")
        if not isinstance(cov, Array) or cov.shape != (mean.shape[0],) * 2:
            raise ValueError("multivariate_normal: cov must be 2 dimensional and square, of mean's length")
        if method not in ("svd", "eigh", "cholesky"):
            raise ValueError(f"multivariate_normal: method must be 'svd', 'eigh' or 'cholesky', not {method!r}")
        if method == "cholesky":
            factor = linalg.cholesky(cov, upper=True)
        else:
            values, vectors = linalg.eigh(cov)
            if check_valid != "ignore" and float(values[0]) < -tol * float(ew.abs(values[-1])):
                message = "multivariate_normal: the covariance is not symmetric positive-semidefinite"
                if check_valid == "raise":
                    raise ValueError(message)
                import warnings

                warnings.warn(message, RuntimeWarning, stacklevel=2)
            factor = expand_dims(ew.sqrt(ew.clip(values, min=0.0)), axis=1) * vectors.T
        shape = (*_shape("multivariate_normal", size, [()]), mean.shape[0])
        normal = reshape(self.standard_normal(shape), (-1, mean.shape[0]))
        return reshape(mean + matmul(normal, factor), shape)

    # -------------------------------------------------------------------------------- exponential, gamma and theirs

    def standard_exponential(
        self, size: Size = None, dtype: Any = None, method: str = "inv", out: Array | None = None
    ) -> Array:
        """Exponential with mean 1, by inversion whatever the method."""
        return self._standard("standard_exponential", "exponential", size, dtype, out)

    def exponential(self, scale: Any = 1.0, size: Size = None) -> Array:
        """Exponential with mean `scale`."""
        shape, (scale,) = self._of_parameters("exponential", size, scale)
        self._check("exponential", scale >= 0, "scale < 0")
        return scale * self.standard_exponential(shape)

    def _gamma(self, shape_parameter: Any, shape: tuple[int, ...], dtype: np.dtype | None = None) -> Array:
        dtype = default_float(self._where()) if dtype is None else dtype
        return self._draw("gamma", shape, dtype, [self._operand(shape_parameter, dtype)])

    def standard_gamma(self, shape: Any, size: Size = None, dtype: Any = None, out: Array | None = None) -> Array:
        """Gamma with the shape parameter `shape` and scale 1."""
        kind = self._float(dtype, "standard_gamma")
        dims, (parameter,) = self._of_parameters("standard_gamma", out.shape if out is not None else size, shape)
        self._check("standard_gamma", parameter >= 0, "shape < 0")
        parameter = asarray(parameter, dtype=kind) if isinstance(parameter, Array) else parameter
        drawn = self._gamma(parameter, dims, kind)
        if out is None:
            return drawn
        out[...] = drawn
        return out

    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None) -> Array:
        """Gamma with the given shape parameter and scale."""
        dims, (shape, scale) = self._of_parameters("gamma", size, shape, scale)
        self._check("gamma", shape >= 0, "shape < 0")
        self._check("gamma", scale >= 0, "scale < 0")
        return scale * self._gamma(shape, dims)

    def beta(self, a: Any, b: Any, size: Size = None) -> Array:
        """Beta with the parameters a, b > 0: a gamma variate by the sum of two."""
        shape, (a, b) = self._of_parameters("beta", size, a, b)
        self._check("beta", a > 0, "a <= 0")
        self._check("beta", b > 0, "b <= 0")
        x = self._gamma(a, shape)
        return x / (x + self._gamma(b, shape))

    def dirichlet(self, alpha: Any, size: Size = None) -> Array:
        """Proportions (*size, k) with the parameters alpha (k,): gamma variates by their sum."""
        (alpha,) = self._numbers("dirichlet", alpha)
        if not isinstance(alpha, Array) or alpha.ndim != 1:
            raise ValueError("dirichlet: alpha must be 1 dimensional")
        self._check("dirichlet", alpha >= 0, "alpha < 0")
        x = self._gamma(alpha, (*_shape("dirichlet", size, [()]), alpha.shape[0]))
        return x / sum(x, axis=-1, keepdims=True)

    def weibull(self, a: Any, size: Size = None) -> Array:
        """Weibull with the shape parameter a."""
        shape, (a,) = self._of_parameters("weibull", size, a)
        self._check("weibull", a >= 0, "a < 0")
        return ew.pow(self.standard_exponential(shape), 1.0 / a)

    def pareto(self, a: Any, size: Size = None) -> Array:
        """Pareto II (Lomax) with the shape parameter a."""
        shape, (a,) = self._of_parameters("pareto", size, a)
        self._check("pareto", a > 0, "a <= 0")
        return ew.expm1(self.standard_exponential(shape) / a)

    def power(self, a: Any, size: Size = None) -> Array:
        """On [0, 1] with the density a x^(a-1)."""
        shape, (a,) = self._of_parameters("power", size, a)
        self._check("power", a > 0, "a <= 0")
        return ew.pow(1.0 - self._uniform(shape), 1.0 / a)

    def rayleigh(self, scale: Any = 1.0, size: Size = None) -> Array:
        """The length of a vector of two normal variates."""
        shape, (scale,) = self._of_parameters("rayleigh", size, scale)
        self._check("rayleigh", scale >= 0, "scale < 0")
        return scale * ew.sqrt(2.0 * self.standard_exponential(shape))

    # -------------------------------------------------------------------------------- on both sides of a middle

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Laplace: an exponential variate on either side."""
        shape, (loc, scale) = self._of_parameters("laplace", size, loc, scale)
        self._check("laplace", scale >= 0, "scale < 0")
        distance = self.standard_exponential(shape)
        return loc + scale * where(self._uniform(shape) < 0.5, -distance, distance)

    def _log_exponential(self, shape: tuple[int, ...]) -> Array:
        """Finite, though one exponential variate in 2^53 is zero."""
        return ew.log(ew.clip(self.standard_exponential(shape), min=2.0**-54))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Logistic: the logarithm of a ratio of exponential variates."""
        shape, (loc, scale) = self._of_parameters("logistic", size, loc, scale)
        self._check("logistic", scale >= 0, "scale < 0")
        return loc + scale * (self._log_exponential(shape) - self._log_exponential(shape))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Gumbel: the largest of many."""
        shape, (loc, scale) = self._of_parameters("gumbel", size, loc, scale)
        self._check("gumbel", scale >= 0, "scale < 0")
        return loc - scale * self._log_exponential(shape)

    def triangular(self, left: Any, mode: Any, right: Any, size: Size = None) -> Array:
        """With a density that rises from left to mode and falls to right."""
        shape, (left, mode, right) = self._of_parameters("triangular", size, left, mode, right)
        self._check("triangular", left <= mode, "left > mode")
        self._check("triangular", mode <= right, "mode > right")
        self._check("triangular", left < right, "left == right")
        u = self._uniform(shape)
        whole, rising = right - left, mode - left
        return where(
            u * whole <= rising,
            left + ew.sqrt(u * whole * rising),
            right - ew.sqrt((1.0 - u) * whole * (right - mode)),
        )

    def vonmises(self, mu: Any, kappa: Any, size: Size = None) -> Array:
        """Von Mises on [-pi, pi], a circle's normal distribution: about mu, with concentration kappa."""
        shape, (mu, kappa) = self._of_parameters("vonmises", size, mu, kappa)
        self._check("vonmises", (kappa >= 0) | (kappa != kappa), "kappa < 0")
        widest = default_float(self._where())
        angle = mu + self._draw("vonmises", shape, widest, [self._operand(kappa, widest)])
        return ew.clip(angle - ew.round(angle / math.tau) * math.tau, min=-math.pi, max=math.pi)

    # ------------------------------------------------------------------------------------------------- counting

    def poisson(self, lam: Any = 1.0, size: Size = None) -> Array:
        """Poisson with the mean lam."""
        shape, (lam,) = self._of_parameters("poisson", size, lam)
        self._check("poisson", (lam >= 0) & (lam <= 9.2e18), "lam < 0 or lam is NaN or too large")
        return self._counted("poisson", "poisson", shape, lam)

    def binomial(self, n: Any, p: Any, size: Size = None) -> Array:
        """How many of n trials succeed, each with the probability p."""
        shape, (n, p) = self._of_parameters("binomial", size, n, p)
        self._check("binomial", n >= 0, "n < 0")
        self._check("binomial", (p >= 0) & (p <= 1), "p < 0, p > 1 or p is NaN")
        return self._counted("binomial", "binomial", shape, n, p)

    def negative_binomial(self, n: Any, p: Any, size: Size = None) -> Array:
        """How many trials fail before n succeed: Poisson with a gamma variate for its mean."""
        shape, (n, p) = self._of_parameters("negative_binomial", size, n, p)
        self._check("negative_binomial", n > 0, "n <= 0")
        self._check("negative_binomial", (p > 0) & (p <= 1), "p <= 0, p > 1 or p is NaN")
        return self._counted("negative_binomial", "poisson", shape, self._gamma(n, shape) * ((1.0 - p) / p))

    def geometric(self, p: Any, size: Size = None) -> Array:
        """The number of the first trial that succeeds."""
        shape, (p,) = self._of_parameters("geometric", size, p)
        self._check("geometric", (p > 0) & (p <= 1), "p <= 0, p > 1 or p is NaN")
        rate = -ew.log1p(-p) if isinstance(p, Array) else -math.log1p(-p) if p < 1 else math.inf
        found = ew.clip(ew.ceil(self.standard_exponential(shape) / rate), min=1.0, max=9.2e18)
        return asarray(found, dtype=np.int64)

    def logseries(self, p: Any, size: Size = None) -> Array:
        """The logarithmic series distribution (Kemp, 1981)."""
        shape, (p,) = self._of_parameters("logseries", size, p)
        self._check("logseries", (p >= 0) & (p < 1), "p < 0, p >= 1 or p is NaN")
        rate = ew.log1p(-self._operand(p, default_float(self._where())))
        u, v = self._uniform(shape), 1.0 - self._uniform(shape)
        q = -ew.expm1(rate * u)
        found = where(v <= q * q, ew.floor(1.0 + ew.log(v) / ew.log(q)), where(v <= q, 2.0 + 0.0 * v, 1.0 + 0.0 * v))
        return asarray(where(v >= p, 1.0 + 0.0 * v, where(found > 1.0, found, 1.0 + 0.0 * v)), dtype=np.int64)

    def zipf(self, a: Any, size: Size = None) -> Array:
        """Zipf with the exponent a > 1."""
        shape, (a,) = self._of_parameters("zipf", size, a)
        self._check("zipf", a > 1, "a <= 1 or a is NaN")
        return self._counted("zipf", "zipf", shape, a)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None) -> Array:
        """How many of nsample drawn without putting back are good, of ngood good and nbad bad ones."""
        shape, (ngood, nbad, nsample) = self._of_parameters("hypergeometric", size, ngood, nbad, nsample)
        ngood, nbad, nsample = map(
            ew.trunc, (self._operand(x, default_float(self._where())) for x in (ngood, nbad, nsample))
        )
        for name, number in (("ngood", ngood), ("nbad", nbad), ("nsample", nsample)):
            self._check("hypergeometric", number >= 0, f"{name} < 0 or {name} is NaN")
        self._check("hypergeometric", ngood + nbad >= nsample, "ngood + nbad < nsample")
        fits = (ngood < _MOST) & (nbad < _MOST)
        self._check("hypergeometric", fits, f"both ngood and nbad must be less than {_MOST}")
        return self._counted("hypergeometric", "hypergeometric", shape, ngood, nbad, nsample)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Size = None, method: str = "marginals"
    ) -> Array:
        """How many of each of k colors are among nsample drawn without putting back, (*size, k).

        colors: how many there are of each, (k,) integers, fewer than 10^9 together. method: "marginals" or "count";
        either way each color is drawn from what the colors before it left.
        """
        name = "multivariate_hypergeometric"
        if method not in ("marginals", "count"):
            raise ValueError(f'{name}: method must be "count" or "marginals", not {method!r}')
        try:
            drawn = operator.index(nsample)
        except TypeError:
            raise ValueError(f"{name}: nsample must be an integer, not {nsample!r}") from None
        host = np.asarray(asnumpy(colors) if isinstance(colors, Array) else colors)
        if host.ndim != 1 or (host.size and host.dtype.kind not in "iu") or (host.size and host.min() < 0):
            raise ValueError(f"{name}: colors must be a one-dimensional sequence of nonnegative integers")
        counts = [int(n) for n in host]
        left_over = math.fsum(counts)
        if left_over >= _MOST:
            raise ValueError(f"{name}: sum(colors) must be less than {_MOST}")
        if drawn < 0:
            raise ValueError(f"{name}: nsample must be nonnegative, got {drawn}")
        if drawn > left_over:
            raise ValueError(f"{name}: nsample > sum(colors)")
        shape, widest = _shape(name, size, [()]), default_float(self._where())
        if not counts:
            return empty((*shape, 0), dtype=np.int64, device=self._where())
        left: Any = broadcast_to(self._operand(float(drawn), widest), shape)
        found = []
        for count in counts[:-1]:
            left_over -= count
            found.append(self._counted(name, "hypergeometric", shape, float(count), left_over, left))
            left = left - asarray(found[-1], dtype=widest)
        return stack([*found, asarray(left, dtype=np.int64)], axis=-1)

    def multinomial(self, n: Any, pvals: Any, size: Size = None) -> Array:
        """How often each of k outcomes with the probabilities pvals (..., k) comes up in n trials, (..., k)."""
        n, pvals = self._numbers("multinomial", n, pvals)
        if not isinstance(pvals, Array) or not pvals.shape or not pvals.shape[-1]:
            raise ValueError("multinomial: pvals must have at least one dimension and one element")
        self._check("multinomial", n >= 0, "n < 0")
        self._check("multinomial", (pvals >= 0) & (pvals <= 1), "pvals < 0, pvals > 1 or pvals contains NaN")
        self._check("multinomial", sum(pvals[..., :-1], axis=-1) <= 1.0 + 1e-12, "sum(pvals[:-1]) > 1.0")
        shapes = [pvals.shape[:-1], *([n.shape] if isinstance(n, Array) else [])]
        shape = _shape("multinomial", size, shapes)
        left: Any = broadcast_to(self._operand(n, pvals.dtype), shape)
        rest: Any = ones(pvals.shape[:-1], dtype=pvals.dtype, device=pvals.device)
        counts = []
        for k in range(pvals.shape[-1] - 1):
            p = pvals[..., k]
            chance = where(rest > 0, ew.clip(p / where(rest > 0, rest, 1.0 + 0.0 * rest), min=0.0, max=1.0), 0.0 * rest)
            counts.append(self._counted("multinomial", "binomial", shape, left, chance))
            left = left - asarray(counts[-1], dtype=pvals.dtype)
            rest = rest - p
        return stack([*counts, asarray(left, dtype=np.int64)], axis=-1)

    # ------------------------------------------------------------------------------------------------- order

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The numbers below x in random order, or a copy of an array with its parts along an axis so."""
        if not isinstance(x, Array) and np.ndim(x) == 0:
            return self._order(operator.index(x))
        x = x if isinstance(x, Array) else asarray(x, device=self._where())
        if not x.ndim:
            return self._order(int(x))
        return take(x, self._order(x.shape[axis]), axis=axis)

    def _order(self, n: int) -> Array:
        return argsort(self._draw("integers", (n,), np.dtype(np.int64), self._full_range()))

    def _full_range(self) -> list[Array]:
        return [asarray(x, dtype=np.int64, device=self._where()) for x in (0, -1)]

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the parts of an array along an axis, or the items of a list, into random order, in place."""
        if isinstance(x, MutableSequence):
            if axis:
                raise NotImplementedError("shuffle: axis is of arrays alone; for a list it must be 0")
            x[:] = [x[k] for k in self._order(len(x)).tolist()]
            return
        if not isinstance(x, Array):
            raise TypeError(f"shuffle: expected an array or a list, got {type(x).__name__}")
        x[...] = self.permutation(x, axis)

    def permuted(self, x: Any, *, axis: int | None = None, out: Array | None = None) -> Array:
        """A copy with the elements along an axis in random order, another one in each row; None: of the whole array."""
        x = x if isinstance(x, Array) else asarray(x, device=self._where())
        if axis is None:
            drawn = reshape(self.permutation(reshape(x, (-1,))), x.shape)
        else:
            keys = self._draw("integers", x.shape, np.dtype(np.int64), self._full_range())
            drawn = take_along_axis(x, argsort(keys, axis=axis), axis=axis)
        if out is None:
            return drawn
        out[...] = drawn
        return out

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Array:
        """Elements of the array a along an axis, or numbers below the integer a, with the probabilities p."""
        items = None if not isinstance(a, Array) and np.ndim(a) == 0 else asarray(a, device=self._where())
        if items is not None and not items.ndim:
            a, items = int(items), None
        count = operator.index(a) if items is None else items.shape[axis]
        shape = _shape("choice", size, [()])
        wanted = math.prod(shape)
        if not count and wanted:
            raise ValueError("choice: a cannot be empty unless no samples are taken")
        if p is not None:
            (p,) = self._numbers("choice", p)
            if not isinstance(p, Array) or p.shape != (count,):
                raise ValueError("choice: a and p must have same size")
            self._check("choice", p >= 0, "probabilities are not non-negative")
            if abs(float(sum(p)) - 1.0) > 1e-7:
                raise ValueError("choice: probabilities do not sum to 1")
        if replace:
            if p is None:
                chosen = self.integers(0, max(count, 1), shape)
            else:
                steps = cumulative_sum(p)
                chosen = searchsorted(steps / steps[-1], self._uniform(shape), side="right")
        else:
            if wanted > count:
                raise ValueError("choice: cannot take a larger sample than population when replace is False")
            if p is None:
                order = self._order(count)
            else:
                if wanted > int(sum(asarray(p > 0, dtype=np.int64))):
                    raise ValueError("choice: fewer non-zero entries in p than size")
                # the least of exponential variates with the rates p (Efraimidis and Spirakis, 2006)
                order = argsort(self.standard_exponential((count,)) / p)
            chosen = reshape(order[:wanted], shape)
        return chosen if items is None else self._selected(items, chosen, axis)

    def _selected(self, items: Array, chosen: Array, axis: int) -> Array:
        axis = axis % items.ndim
        taken = take(items, reshape(chosen, (-1,)), axis=axis)
        return reshape(taken, items.shape[:axis] + chosen.shape + items.shape[axis + 1 :])


def _whole(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" and bool(np.all(x == np.floor(x)))
