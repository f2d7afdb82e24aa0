"""Every driver that is present passes the checker; the cases that a checker must catch are in test_cuda.py."""

from __future__ import annotations

import pytest
from nbx_array.backend import detect
from nbx_array.backend.contract import get_device
from nbx_array.backend.verify import verify_driver


@pytest.mark.parametrize("backend", detect.ORDER)
def test_the_driver_keeps_the_contract(backend, request):
    chosen = request.config.getoption("device")
    reason = detect.reason_absent(backend)
    if reason:
        assert not (chosen or "").startswith(backend), reason
        pytest.skip(f"{backend}: {reason}")
    for device in [d for d in detect.devices() if d.backend == backend]:
        assert [check for check in verify_driver(device) if check.problem] == []


def test_a_problem_is_reported_with_its_check(monkeypatch):
    from nbx_array.backend.contract import get_driver

    driver = get_driver("cpu")
    monkeypatch.setattr(driver, "fill", lambda *arguments: None, raising=False)
    (problem,) = [check for check in verify_driver(get_device("cpu")) if check.problem and "fill" in check.name]
    assert problem.name == "fills"
    assert "50 of 64 differ" in problem.problem
