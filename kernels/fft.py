"""Fourier transforms: Triton kernels on GPUs, NumPy on the same memory on the CPU unless NBX_HOST_ROUTINES=0.

Arrays are packed and have three dimensions (outer, n, inner), of which the middle one is transformed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Device
from nbx_array.backend.launcher import Launcher, get_launcher
from nbx_array.kernels.host import on_host
from nbx_array.kernels.types import component, is_complex, type_row
from nbx_array.memory import Storage, View, allocate, register_release_hook
from nbx_array.memory.transfer import as_numpy, from_host

MODULE = "nbx_array.kernels.source.fft"
DOUBLE_MODULE = "nbx_array.kernels.source.fft_double"

RADICES = (1, 2, 4, 8, 16, 27, 9, 7, 5, 3)
"""Radices of passes whose sets of elements are transformed in registers; 1 is that of a transform of one element."""
DOUBLES = {32: (8, 4), 64: (8, 8), 128: (16, 8), 256: (16, 16)}
"""Radices of passes that are two passes in one, with the two's: elements go between registers through shared memory."""
LARGE = {"cuda"}
"""Backends that have such passes, and those of radix 27, for less memory traffic: 2^24 elements take 3 and not 6."""
LINE = 128
"""The bytes of neighbouring elements that a program of such a pass reads and writes: a line of a GPU's caches."""
LARGEST_FACTOR = 61
"""The largest prime factor that has a pass, of direct sums. Lengths with a larger one go by Bluestein's algorithm."""
CONVOLVED_BYTES = 1 << 28
"""A stack is convolved in parts of this size: the rows of a convolution are up to four times as long."""


class Kind(NamedTuple):
    """What a transform reads and writes. The second half of a real row's transform follows from the first."""

    real_input: bool = False  # real rows; only the first n // 2 + 1 elements of each transform are written
    real_output: bool = False  # the reverse
    inverse: bool = False  # the sign of the exponent is +


def _hfft(x: np.ndarray[Any, Any], n: int, axis: int, norm: str, out: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NumPy's own leaves `out` as it is."""
    other = {"backward": "forward", "forward": "backward"}.get(norm, norm)
    return np.fft.irfft(np.conj(x), n, axis, other, out)  # type: ignore[arg-type]


ROUTINES: dict[Kind, Callable[..., object]] = {
    Kind(): np.fft.fft,
    Kind(inverse=True): np.fft.ifft,
    Kind(real_input=True): np.fft.rfft,
    Kind(real_input=True, inverse=True): np.fft.ihfft,
    Kind(real_output=True): _hfft,
    Kind(real_output=True, inverse=True): np.fft.irfft,
}


def transform(x: View, out: View, n: int, kind: Kind, norm: str) -> None:
    """Transforms of length n along the middle axis of x, of which up to n elements are taken; zeros follow.

    x has the precision of `out`. Where neither input nor output is real by kind, x may be. `norm` scales as in NumPy.
    """
    if out.size == 0:
        return
    if on_host(out.storage.device):
        if x.size == 0:  # NumPy's irfft reads an element that is not there
            as_numpy(out)[...] = 0
            return
        ROUTINES[kind](as_numpy(x), n, 1, norm, as_numpy(out))
    else:
        backward = {"backward": 1.0, "ortho": 0.5, "forward": 0.0}[norm]
        calculate(x, out, n, kind, float(n) ** -(backward if kind.inverse else 1.0 - backward))


def calculate(x: View, out: View, n: int, kind: Kind, scale: float) -> None:
    """`transform` by Triton kernels, with any scale."""
    outer, width, inner = x.shape
    dtype = np.dtype(np.complex64 if component(out.dtype) == np.float32 else np.complex128)
    rows = _Rows(outer, inner, dtype, out.storage.device)
    sign = -1.0 if kind.inverse else 1.0
    source, target = x.address, out.address
    aligned = source % 16 == 0
    complex_input = is_complex(x.dtype)
    paired = n % 2 == 0 and inner == 1  # real rows are read as complex ones of half their length
    if paired and not complex_input:
        if width != n or not aligned:
            made = rows.scratch(n // 2)
            rows.prepare(source, made.ptr, n // 2, min(width, n), width, "pairs")
            source = made.ptr
        halves = rows.scratch(n // 2)
        rows.transform(source, halves.ptr, n // 2, 1.0, 1.0)
        rows.untangle(halves.ptr, target, n // 2, sign, scale / 2, not kind.real_input)
    elif paired and kind.real_output:
        halves = rows.scratch(n // 2)
        rows.tangle(source, halves.ptr, n // 2, width, -sign)
        rows.transform(halves.ptr, target, n // 2, -1.0, scale)
    else:
        given = n // 2 + 1 if kind.real_output else n
        if width != n or kind.real_output or not (aligned and complex_input):
            made = rows.scratch(n)
            form = "half" if kind.real_output else "complex" if complex_input else "real"
            rows.prepare(source, made.ptr, n, min(width, given), width, form)
            source = made.ptr
        if kind.real_input or kind.real_output:
            whole = rows.scratch(n)
            rows.transform(source, whole.ptr, n, sign, scale)
            rows.deliver(whole.ptr, target, out.shape[1], n, kind.real_output)
        else:
            rows.transform(source, target, n, sign, scale)


class _Rows(NamedTuple):
    """Launches kernels over complex arrays of shape (outer, any, inner), which are given by their addresses."""

    outer: int
    inner: int
    dtype: np.dtype[Any]
    device: Device

    def scratch(self, n: int) -> Storage:
        return allocate(self.outer * n * self.inner * self.dtype.itemsize, self.device)

    def transform(self, x: int, y: int, n: int, sign: float, scale: float) -> None:
        """y = `scale` times the transform of length n of x, with the exponent's sign."""
        radices = factors(n, self.device.backend in LARGE)
        if radices:
            self.passes(x, y, n, radices, sign, scale)
        else:
            self.convolution(x, y, n, sign, scale)

    def passes(self, x: int, y: int, n: int, radices: tuple[int, ...], sign: float, scale: float) -> None:
        """A transform by one pass for each factor of n. The last pass writes y, those before y and a spare in turn."""
        table, bits = roots(n, self.dtype, self.device)
        spare = self.scratch(n) if len(radices) > 1 else None
        ready = _passes(self, n, radices, bits, sign, scale, not (x % 16 or y % 16))
        for k, (launcher, numbers, grid) in enumerate(ready):
            target = y if spare is None or (len(radices) - k) % 2 else spare.ptr
            launcher.spread((x, target, table.ptr, *numbers), grid, 1, 1)
            x = target

    def convolution(self, x: int, y: int, n: int, sign: float, scale: float) -> None:
        """A transform by Bluestein's algorithm: times a chirp, convolved with its conjugate, times the chirp."""
        length = 1 << (2 * n - 2).bit_length()
        most = max(CONVOLVED_BYTES // (length * self.inner * self.dtype.itemsize), 1)
        if self.outer > most:
            for first in range(0, self.outer, most):
                skipped = first * n * self.inner * self.dtype.itemsize
                part = self._replace(outer=min(most, self.outer - first))
                part.convolution(x + skipped, y + skipped, n, sign, scale)
            return
        table, bits = roots(2 * n, self.dtype, self.device)
        factors = filter_of(n, length, self.dtype, self.device)
        one, other = self.scratch(length), self.scratch(length)
        total = self.outer * length * self.inner

        def turn(source: int, target: int, width: int, to: int, signs: tuple[float, float], scale: float) -> None:
            numbers = (self.outer * to * self.inner, to, self.inner, width, n, bits)
            self.launch("multiply_by_chirp", length, (source, target, table.ptr), numbers, (signs[0], scale, signs[1]))

        turn(x, one.ptr, n, length, (sign, 1.0), 1.0)
        self.transform(one.ptr, other.ptr, length, 1.0, 1.0)
        self.launch("convolve", length, (other.ptr, factors.ptr), (total, length, self.inner), ())
        self.transform(other.ptr, one.ptr, length, -1.0, 1.0)
        turn(one.ptr, y, length, n, (1.0, sign), scale)

    def prepare(self, x: int, y: int, n: int, given: int, width: int, form: str) -> None:
        """Complex rows of n elements from the first `given` of rows of `width`, in the form that the kernel names."""
        numbers = (self.outer * n * self.inner, n, self.inner, given, width)
        self.launch("prepare", max(n, width), (x, y), numbers, (), (("KIND", form),))

    def deliver(self, x: int, y: int, n: int, width: int, real: bool) -> None:
        """The first n elements of rows of `width`, or their real parts."""
        numbers = (self.outer * n * self.inner, n, self.inner, width)
        self.launch("deliver", width, (x, y), numbers, (), (("REAL", real),))

    def untangle(self, x: int, y: int, m: int, sign: float, scale: float, whole: bool) -> None:
        """Half the transforms of real rows of 2m from those of their pairs, or the whole ones, times 2 · `scale`."""
        table, bits = roots(2 * m, self.dtype, self.device)
        numbers = (self.outer * (m // 2 + 1), m, bits)
        self.launch("untangle", 2 * m, (x, y, table.ptr), numbers, (sign, scale), (("WHOLE", whole),))

    def tangle(self, x: int, y: int, m: int, width: int, sign: float) -> None:
        """The reverse, without scale, from half the transforms."""
        table, bits = roots(2 * m, self.dtype, self.device)
        numbers = (self.outer * (m // 2 + 1), m, min(width, m + 1), width, bits)
        self.launch("tangle", max(m, width), (x, y, table.ptr), numbers, (sign,))

    def launch(
        self,
        name: str,
        longest: int,
        addresses: tuple[int, ...],
        integers: tuple[int, ...],
        reals: tuple[float, ...],
        constants: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        """Launch a kernel whose arrays' rows have at most `longest` elements. The first integer counts its elements."""
        aligned = not any(address % 16 for address in addresses)
        launcher, block = self.launcher(name, longest, aligned, constants)
        launcher.spread((*addresses, *integers, *reals), -(-integers[0] // block), 1, 1)

    def launcher(
        self, name: str, longest: int, aligned: bool, constants: tuple[tuple[str, Any], ...] = ()
    ) -> tuple[Launcher, int]:
        """A kernel whose arrays' rows have at most `longest` elements, and how many a program takes."""
        wide = 2 * self.outer * longest * self.inner >= 2**31
        return launcher_of(name, self.dtype, wide, aligned, constants, self.device)


@lru_cache(maxsize=1024)
def _passes(
    rows: _Rows, n: int, radices: tuple[int, ...], bits: int, sign: float, scale: float, aligned: bool
) -> tuple[tuple[Launcher, tuple[float, ...], int], ...]:
    """The launches of a transform by passes: each one's kernel, its arguments after the arrays, and its grid."""
    ready = []
    outer, inner, before = rows.outer, rows.inner, 1
    for k, radix in enumerate(radices):
        distance = n // radix * inner
        numbers: tuple[int, ...] = (distance, before * inner, inner, n // (before * radix), bits)
        if radix in RADICES:
            launcher, block = rows.launcher("butterflies", n, aligned, (("R", radix), ("FIRST", k == 0)))
            numbers = (outer * distance, *numbers)
        elif radix in DOUBLES:
            place = "later" if before * inner > 1 else "first" if distance > 1 else "only"
            constants = (*zip("AB", DOUBLES[radix], strict=True), ("PLACE", place))
            launcher, block = rows.launcher("double_butterflies", n, aligned, constants)
            numbers = (outer * distance, *numbers)
        else:
            launcher, block = rows.launcher("direct_sums", n, aligned)
            numbers = (outer * n * inner, *numbers, radix, n)
        reals = (sign, scale if k == len(radices) - 1 else 1.0)
        ready.append((launcher, (*numbers, *reals), -(-numbers[0] // block)))
        before *= radix
    return tuple(ready)


ARGUMENTS = {
    "butterflies": ("x y roots", "total distance before inner step bits", "sign scale"),
    "double_butterflies": ("x y roots", "total distance before inner step bits", "sign scale"),
    "direct_sums": ("x y roots", "total distance before inner step bits radix n", "sign scale"),
    "prepare": ("x y", "total n inner given width", ""),
    "deliver": ("x y", "total n inner width", ""),
    "conjugate_chirp": ("y roots", "total n bits", "scale"),
    "multiply_by_chirp": ("x y roots", "total length inner width n bits", "sign scale conjugate"),
    "convolve": ("y factors", "total length inner", ""),
    "untangle": ("x y roots", "total m bits", "sign scale"),
    "tangle": ("x y roots", "total m given width bits", "sign"),
}
"""Each kernel's pointers, integers and real numbers."""


@lru_cache(maxsize=1024)
def launcher_of(
    name: str, dtype: np.dtype[Any], wide: bool, aligned: bool, constants: tuple[tuple[str, Any], ...], device: Device
) -> tuple[Launcher, int]:
    """A kernel for arrays of a complex dtype, with 64-bit integers if `wide`; and the elements a program takes."""
    row = type_row(dtype)
    pointers, integers, reals = (words.split() for words in ARGUMENTS[name])
    signature = dict.fromkeys(pointers, row.pointer) | dict.fromkeys(integers, "i64" if wide else "i32")
    signature |= dict.fromkeys(reals, row.parameter)
    gpu = device.backend != "cpu"
    given = dict(constants)
    if "B" in given:
        block = LINE // dtype.itemsize
        warps = given["B"] * block // 32
    else:  # a set of 16 elements fills a thread's registers
        block, warps = max(128, 512 >> (given.get("R", 1).bit_length() - 1)) if gpu else 256, 4
    launcher = get_launcher(
        Source.of(DOUBLE_MODULE if name == "double_butterflies" else MODULE, name),
        tuple(signature.items()),
        (*constants, ("PAIRED", gpu), ("BLOCK", block)),
        device,
        aligned=aligned,
        options=(("num_warps", warps if gpu else 1),),
    )
    return launcher, block


# --------------------------------------------------------------------------------------------------- factors and tables


@lru_cache(maxsize=1024)
def factors(n: int, large: bool) -> tuple[int, ...]:
    """The radices of the passes that make up a transform of length n; none where n has a large prime factor."""
    radices = []
    most = {2: 8, 3: 3} if large else {2: 4, 3: 2}  # exponents
    for prime in (2, *range(3, LARGEST_FACTOR + 1, 2)):
        exponent = 0
        while n % prime == 0:
            exponent += 1
            n //= prime
        passes = -(-exponent // most.get(prime, 1))
        radices += [prime ** ((exponent + k) // passes) for k in reversed(range(passes))]
    return tuple(radices or [1]) if n == 1 else ()


def exponentials(t: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    """exp(-2πi · t/n), from angles of at most π/4."""
    quarter = (8 * t + n) // (2 * n)
    angle = np.pi / 2 * ((4 * t - quarter * n) / n)
    return np.exp(-1j * angle) * np.array([1, -1j, -1, 1j])[quarter % 4]


@lru_cache(maxsize=128)
def roots(n: int, dtype: np.dtype[Any], device: Device) -> tuple[Storage, int]:
    """The table of powers of w = exp(-2πi/n) that kernels read, and its `bits`."""
    bits = ((n - 1).bit_length() + 1) // 2
    low = np.arange(1 << bits)
    high = np.arange((n >> bits) + 1) << bits
    return from_host(exponentials(np.concatenate([low, high]) % n, n).astype(dtype), device), bits


@lru_cache(maxsize=8)
def filter_of(n: int, length: int, dtype: np.dtype[Any], device: Device) -> Storage:
    """The transform of the conjugate chirp that Bluestein's algorithm convolves with, over `length`."""
    row = _Rows(1, 1, dtype, device)
    table, bits = roots(2 * n, dtype, device)
    chirp, result = row.scratch(length), row.scratch(length)
    row.launch("conjugate_chirp", length, (chirp.ptr, table.ptr), (length, n, bits), (1 / length,))
    row.transform(chirp.ptr, result.ptr, length, 1.0, 1.0)
    return result


@register_release_hook
def _forget_tables(device: Device) -> None:
    """Tables can be made again."""
    roots.cache_clear()
    filter_of.cache_clear()
