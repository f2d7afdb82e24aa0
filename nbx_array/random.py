"""Random numbers on the device, with the interface of `numpy.random`.

The bits come from Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011), a function of the seed and of the position in
the stream. So the numbers depend on the seed and on the calls made before, and neither on the device nor on how a
kernel is launched. They are not NumPy's numbers for the same seed.

Every function takes `size`, the shape of the result; without it the shape is that of the parameters, which broadcast.
The result is an array of the current device in its default float, or of int64 where it counts. Raises ValueError for a
parameter outside its domain; checking a parameter that is an array waits for the device. What `numpy.random` has beyond
this are other bit generators.
Source: NumPy reference, `numpy.random`.

>>> rng = xp.random.default_rng(7)
>>> rng.normal(size=(2, 3)).shape
(2, 3)
>>> bool(xp.all(xp.random.default_rng(1).random(4) == xp.random.default_rng(1).random(4)))
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbx_array._array import Array
from nbx_array._generator import Generator, Philox, Size

__all__ = ["Generator", "Philox", "RandomState", "SeedSequence", "default_rng"]

SeedSequence = np.random.SeedSequence


def default_rng(seed: Any = None, *, device: Any = None) -> Generator:
    """A generator for a seed: None for one from the operating system, an int, a sequence of ints, a SeedSequence, a
    Philox, or a Generator, which is returned as it is. It draws on `device`, by default the current one at each call.

    Raises TypeError or ValueError for another seed, as numpy.random.default_rng does.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, Philox) else Philox(seed), device)


class RandomState(Generator):
    """The older interface: the distributions of `Generator` and the older names."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed if isinstance(seed, Philox) else Philox(seed))

    def seed(self, seed: Any = None) -> None:
        """Start anew from a seed."""
        self.bit_generator = Philox(seed)

    def get_state(self, legacy: bool = False) -> dict[str, Any]:
        """The state, for `set_state`."""
        return self.bit_generator.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.bit_generator.state = state

    def rand(self, *dims: int) -> Array:
        """Uniform in [0, 1), of the shape `dims`."""
        return self.random(dims)

    def randn(self, *dims: int) -> Array:
        """Standard normal, of the shape `dims`."""
        return self.standard_normal(dims)

    def randint(self, low: Any, high: Any = None, size: Size = None, dtype: Any = int) -> Array:
        """Whole numbers from low up to but not including high; [0, low) if high is None."""
        return self.integers(low, high, size, dtype)

    def random_sample(self, size: Size = None) -> Array:
        """Uniform in [0, 1)."""
        return self.random(size)

    ranf = sample = random_sample

    def random_integers(self, low: Any, high: Any = None, size: Size = None) -> Array:
        """Whole numbers from low up to and including high; [1, low] if high is None."""
        if high is None:
            low, high = 1, low
        return self.integers(low, high, size, endpoint=True)

    def tomaxint(self, size: Size = None) -> Array:
        """Whole numbers from 0 up to and including the greatest of int64."""
        return self.integers(0, np.iinfo(np.int64).max, size, endpoint=True)


_state = RandomState()

LEGACY = tuple(
    name
    for name in dir(RandomState)
    if not name.startswith("_") and name not in ("bit_generator", "integers", "permuted", "spawn")
)
"""The functions of the module: methods of one generator that all callers share."""

for _name in LEGACY:
    globals()[_name] = getattr(_state, _name)
__all__ += LEGACY


def __getattr__(name: str) -> Any:
    if name in dir(np.random):
        raise AttributeError(
            f"module 'nbx_array.random' has no attribute {name!r}; the bits are those of Philox alone, which "
            "default_rng(seed) makes",
            name=name,
        )
    raise AttributeError(f"module 'nbx_array.random' has no attribute {name!r}", name=name)
