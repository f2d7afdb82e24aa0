"""A pytest plugin for scikit-learn's own array-API tests: those of this library alone.

Its test modules call three generators of `sklearn.utils._array_api` when they are imported. Here they yield this
library, with NumPy as the partner of tests of mixed inputs, and only tests whose parameters name it are kept.
scikit-learn must see ``SCIPY_ARRAY_API=1`` in the environment.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import nbx_array

NAME = nbx_array.__name__


@pytest.hookimpl
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    from sklearn.utils import _array_api

    device = nbx_array.empty(0).device

    def yield_namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
        yield NAME

    def yield_namespace_device_dtype_combinations(
        include_numpy_namespaces: bool = True,
    ) -> Iterator[tuple[str, object, str]]:
        yield NAME, device, "float64"
        yield NAME, device, "float32"

    def yield_mixed_namespace_input_permutations() -> Iterator[tuple[Any, Any, str]]:
        ours, numpy = _array_api.NamespaceAndDevice(NAME, device), _array_api.NamespaceAndDevice("numpy", None)
        yield ours, numpy, f"{NAME} to numpy"
        yield numpy, ours, f"numpy to {NAME}"

    for ours in (yield_namespaces, yield_namespace_device_dtype_combinations, yield_mixed_namespace_input_permutations):
        setattr(_array_api, ours.__name__, ours)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep: list[pytest.Item] = []
    drop: list[pytest.Item] = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        (keep if callspec and NAME in names(tuple(callspec.params.values())) else drop).append(item)
    config.hook.pytest_deselected(items=drop)
    items[:] = keep


def names(value: object) -> set[str]:
    """The strings within one parameter of a test: a name, a tuple, a check with its arguments bound."""
    match value:
        case str():
            return {value}
        case tuple():
            return set(itertools.chain.from_iterable(map(names, value)))
        case functools.partial():
            return names(value.args) | names(tuple(value.keywords.values()))
    return set()
