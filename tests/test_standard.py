"""Every function of the standard with each of its arguments, in every dtype, against array-api-strict and NumPy.

array-api-strict says which functions and arguments there are, and what they give; `calls.py` and, for element-wise
functions, `table.py` have a row for each.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from calls import CALLS, Call, operands
from nbx_array.kernels import host
from table import BY_NAME, DTYPES, kind, laid_out

STANDARD = [name for name in DTYPES if name not in ("float16", "bfloat16")]
BY_HOST_ROUTINES = {"sort", "argsort", "searchsorted", "isin", "matmul", "tensordot", "argmax"}


def functions() -> dict[str, Any]:
    """The functions of array-api-strict and its extensions; it leaves two out of what it lists."""
    found = {}
    for prefix, module in (("", strict), ("linalg.", strict.linalg), ("fft.", strict.fft)):
        for name in {*module.__all__, *(("eig", "eigvals") if prefix == "linalg." else ())}:
            value = getattr(module, name)
            if inspect.isfunction(value) and not name.startswith("_") and "array_api_strict_flags" not in name:
                found[prefix + name] = value
    return found


@pytest.fixture(scope="module", autouse=True)
def newest():
    strict.set_array_api_strict_flags(api_version="2025.12")
    yield
    strict.reset_array_api_strict_flags()


# ------------------------------------------------------------------------------------------------- what there must be


NUMPY_S = {"linspace": 50}
"""Defaults of NumPy where the standard has none."""


def test_signatures(xp):
    """Names, kinds and defaults of all arguments are the standard's; NumPy's are there, too, and what the standard has
    by keyword alone may also be given by position, what it has by position alone by NumPy's name."""
    assert len(functions()) > 170
    for name, function in functions().items():
        mine = inspect.signature(operator.attrgetter(name)(xp)).parameters
        for place, b in enumerate(inspect.signature(function).parameters.values()):
            a = list(mine.values())[place] if b.kind is b.POSITIONAL_ONLY else mine[b.name]
            both_ways = b.kind in (b.KEYWORD_ONLY, b.POSITIONAL_ONLY) and a.kind is a.POSITIONAL_OR_KEYWORD
            assert a.kind == b.kind or both_ways, name
            assert b.kind in (b.KEYWORD_ONLY, b.POSITIONAL_ONLY) or list(mine)[place] == b.name, name
            unset = b.default is b.empty or type(b.default).__name__ == "Undef"
            assert a.default == b.default or (unset and a.default in (a.empty, None, NUMPY_S.get(name))), name


def test_attributes_of_arrays(xp):
    """Every method and property of the standard's array, with its arguments."""
    ours, theirs = xp.Array, type(strict.asarray(1))
    for name in dir(theirs):
        value = getattr(theirs, name)
        if name in dir(object) or (name.startswith("_") and not name.startswith("__")) or not callable(value):
            assert name.startswith("_") or hasattr(ours, name)
        elif name not in ("__buffer__", "__array__"):  # beyond the standard
            mine, wanted = (list(inspect.signature(getattr(cls, name)).parameters.values()) for cls in (ours, theirs))
            assert len(mine) == len(wanted), name
            keywords = [p.name for p in wanted if p.kind is p.KEYWORD_ONLY]
            assert set(keywords) <= {p.name for p in mine if p.kind is p.KEYWORD_ONLY}, name


class Recorder:
    """array-api-strict, with a note of each argument that a call gives."""

    def __init__(self, module: Any, prefix: str, given: set[tuple[str, str]]) -> None:
        self.module, self.prefix, self.given = module, prefix, given

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.module, name)
        if name in ("linalg", "fft") and not self.prefix:
            return Recorder(value, f"{name}.", self.given)
        if not inspect.isfunction(value):
            return value

        def call(*args: Any, **keywords: Any) -> Any:
            self.given |= {
                (self.prefix + name, key) for key in inspect.signature(value).bind(*args, **keywords).arguments
            }
            return value(*args, **keywords)

        return call


def test_every_argument_has_a_call(rng):
    given: set[tuple[str, str]] = set()
    recorder = Recorder(strict, "", given)
    for calls in CALLS.values():
        for call in calls:
            call.run(recorder, *map(strict.asarray, operands(call, np.dtype(first_dtype(call)), rng)))
    standard = functions()
    assert set(CALLS) <= set(standard)
    assert set(CALLS).isdisjoint(BY_NAME)
    for name, function in standard.items():
        if name not in BY_NAME:
            missing = {key for key in inspect.signature(function).parameters if (name, key) not in given}
            assert not missing, f"{name}: no call gives {missing}"


# ------------------------------------------------------------------------------------------------------------- values


def first_dtype(call: Call) -> str:
    return next(
        name for name in ("int64", "float64", "uint64", "complex128", "bool") if kind(DTYPES[name]) in call.kinds
    )


def outcome(call: Call, xp: Any, arrays: list[Any]) -> Any:
    """What a call gives, with its arrays as NumPy's; the exception that it raises otherwise."""
    try:
        with np.errstate(all="ignore"):
            return plain(call.run(xp, *arrays))
    except Exception as error:  # compared with the other's
        return error


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return np.asarray(value) if hasattr(value, "__dlpack__") or isinstance(value, np.generic) else value


def agree(got: Any, wanted: Any, exact: bool) -> None:
    if isinstance(wanted, Exception):
        assert isinstance(got, type(wanted))
        return
    assert not isinstance(got, Exception)
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            agree(a, b, exact)
    elif not isinstance(wanted, np.ndarray):
        assert got == wanted
    else:
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        if exact or wanted.dtype.kind in "biu":
            np.testing.assert_array_equal(got, wanted)
        else:
            rtol = 3e-5 if wanted.dtype in (np.float32, np.complex64) else 1e-12
            scale = np.max(np.abs(wanted), initial=1, where=np.isfinite(wanted))
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale)


def forms(call: Call, dtype: np.dtype, hosts: list[np.ndarray]):
    """The operands as they are and, in two dtypes, in another order of memory, of size 0, and of size 1."""
    yield hosts, None
    if dtype.name in ("int16", "float64") and hosts:
        yield hosts, "reversed"
        yield [x[:0] for x in hosts], None
        yield [x[..., :0] for x in hosts], None
        yield [x[:1] for x in hosts], None


@pytest.fixture
def routines(request, device, monkeypatch):
    if device.backend != "cpu" and request.param:
        pytest.skip("a GPU has kernels only")
    monkeypatch.setattr(host, "HOST_ROUTINES", request.param)


def takes(call: Call, dtype: str) -> bool:
    return kind(DTYPES[dtype]) in call.kinds and (bool(call.shapes) or dtype == first_dtype(call))


def cases():
    for name, calls in CALLS.items():
        for dtype in STANDARD:
            if any(takes(call, dtype) for call in calls):
                yield name, dtype, True
                if dtype in ("int64", "float32", "complex128") and ("." in name or name in BY_HOST_ROUTINES):
                    yield name, dtype, False


@pytest.mark.parametrize(
    ("name", "dtype", "routines"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}{'' if case[2] else '-kernels'}") for case in cases()],
    indirect=["routines"],
)
def test_values(name, dtype, routines, xp, rng):
    for number, call in enumerate(CALLS[name]):
        if not takes(call, dtype):
            continue
        for hosts, order in forms(call, DTYPES[dtype], operands(call, DTYPES[dtype], rng)):
            mine = [laid_out(xp, x, range(x.ndim)[::-1]) if order else xp.asarray(x) for x in hosts]
            got = outcome(call, xp, mine)
            wanted = outcome(call, strict, [strict.asarray(x.copy()) for x in hosts])
            others = [outcome(call, np, hosts)] if call.numpy else []
            if others and not isinstance(others[0], Exception) and (isinstance(wanted, Exception) or not call.strict):
                wanted = others[0]  # array-api-strict refuses a size 0 of its own accord
            try:
                for answer in (wanted, *others):
                    agree(got, answer, call.exact)
            except AssertionError as error:
                error.add_note(
                    f"call {number}, shapes {[x.shape for x in hosts]} {order or ''}: {got!r}, not {wanted!r}"
                )
                raise
