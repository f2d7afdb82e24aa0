"""A pytest plugin for data-apis/array-api-tests: run the tests that the suite skips whatever the library.

Such a skip is a mark on the test's function, which holds for all of its parameters; as of 55fcc60 it is that of
``test_remainder``. Marks of single parameters (a name that the library lacks) stay.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        hard_coded = [mark for mark in getattr(getattr(item, "obj", None), "pytestmark", ()) if mark.name == "skip"]
        item.own_markers = [mark for mark in item.own_markers if mark not in hard_coded]
