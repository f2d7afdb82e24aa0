"""NumPy's `testing`, whose functions see our arrays as NumPy's: `assert_equal` would tell an element from a number."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from nbx_array._array import Array, asnumpy


def __getattr__(name: str) -> Any:
    found = getattr(np.testing, name)
    if not callable(found) or isinstance(found, type):
        return found

    @functools.wraps(found)
    def function(*args: Any, **options: Any) -> Any:
        if any(map(callable, args)):  # `assert_raises` calls one with the others, which are ours
            return found(*args, **options)
        return found(*map(_of_numpy, args), **{key: _of_numpy(value) for key, value in options.items()})

    return function


def __dir__() -> list[str]:
    return dir(np.testing)


def _of_numpy(value: Any) -> Any:
    """Copies of our arrays, also within lists, tuples and dictionaries; those of no dimension as NumPy's scalars."""
    if isinstance(value, Array):
        return asnumpy(value)[()]
    if type(value) in (list, tuple):
        return type(value)(map(_of_numpy, value))
    return {key: _of_numpy(item) for key, item in value.items()} if type(value) is dict else value
