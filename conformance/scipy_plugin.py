"""A pytest plugin for SciPy's own tests of array namespaces: their fixture ``xp`` gives this library alone.

`scipy.conftest` makes its list of namespaces and the fixture when it is imported. It is imported here, before pytest
collects it, the library is added to what it knows, and the fixture is made anew of SciPy's own function. SciPy must see
``SCIPY_ARRAY_API`` in the environment before that.
"""

from __future__ import annotations

from typing import cast

import pytest

import nbx_array

NAME = nbx_array.__name__


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nbx_array.conformance")
    group.addoption("--like", help="where a mark for all libraries excepts this one, it excepts ours, too")


@pytest.hookimpl
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    import scipy.conftest as conftest

    conftest.xp_known_backends.add(NAME)
    if str(nbx_array.empty(0).device) != "cpu":
        conftest.xp_skip_cpu_only_backends.add(NAME)
    ours = pytest.param(nbx_array, id=NAME, marks=pytest.mark.array_api_backends)
    conftest.xp_available_backends[:] = [ours]
    conftest.xp = pytest.fixture(params=[ours])(conftest.xp.__wrapped__)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """SciPy's marks for all libraries name those that are exempt, and cannot name one that SciPy does not know."""
    like = config.getoption("like")
    for item in items if like else ():
        for kind in ("skip_xp_backends", "xfail_xp_backends"):
            for mark in item.iter_markers(kind):
                exceptions = mark.kwargs.get("exceptions") or ()
                if like in exceptions and NAME not in exceptions:
                    cast(dict, mark.kwargs)["exceptions"] = [*exceptions, NAME]
