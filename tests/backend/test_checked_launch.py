"""`checked_launch.launch`: a user's own kernels on buffers, with every argument looked at."""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from fake_cuda import FakeCuda, install
from nbx_array.backend import compiler, detect, launcher
from nbx_array.backend.checked_launch import launch, pointer_type, scalar_type
from nbx_array.backend.contract import get_device
from nbx_array.backend.verify import Buffer, _Bench


@triton.jit
def double(v):
    return v + v


@triton.jit
def scaled_sum(x, y, o, n, factor, BLOCK: tl.constexpr, TWICE: tl.constexpr = False):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = (tl.load(x + i, mask=m) + tl.load(y + i, mask=m)) * factor
    if TWICE:
        v = double(v)
    tl.store(o + i, v, mask=m)


@triton.jit
def maybe(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.full((BLOCK,), 7, tl.int64)
    if x is not None:
        v = tl.load(x + i, mask=i < n).to(tl.int64)
    tl.store(o + i, v, mask=i < n)


@triton.jit
def where(o, flag, big, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.where(flag, big, 0).to(tl.int64))


@triton.jit
def applied(o, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, f(i))


@pytest.fixture(params=["cpu", "cuda:0"])
def bench(request, monkeypatch):
    """Every present device, and CUDA as `fake_cuda` has it where there is none."""
    if request.param == "cuda:0" and detect.reason_absent("cuda"):
        install(monkeypatch, FakeCuda(devices=2))
    with _Bench(get_device(request.param)) as bench:
        yield bench


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_a_kernel_runs(bench, rng, n):
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    a, b, out = bench.put(x), bench.put(y), bench.empty(n)

    def blocks(meta):
        return triton.cdiv(meta["n"], meta["BLOCK"])

    launch(scaled_sum, (triton.cdiv(n, 64),), a, b, out, n, 0.5, BLOCK=64)
    np.testing.assert_array_equal(bench.get(out), (x + y) * np.float32(0.5))
    launch(scaled_sum, blocks, a, b, o=out, n=n, factor=2, BLOCK=32, TWICE=True)
    np.testing.assert_array_equal(bench.get(out), (x + y) * 4)


def test_all_by_position(bench):
    x = bench.put(np.arange(5.0))
    out = bench.empty(5, np.float64)
    launch(scaled_sum, [1], x, x, out, 5, 1.0, 8, False)
    np.testing.assert_array_equal(bench.get(out), np.arange(5) * 2)


def test_none_takes_a_pointer_out(bench):
    x, out = bench.put(np.arange(4, dtype=np.uint8)), bench.empty(4, np.int64)
    launch(maybe, 1, x, out, 4, BLOCK=4)
    np.testing.assert_array_equal(bench.get(out), range(4))
    launch(maybe, 1, None, out, 4, BLOCK=4)
    np.testing.assert_array_equal(bench.get(out), [7] * 4)


@pytest.mark.parametrize("big", [5, -(2**31), 2**31, -(2**63), 2**63 - 1, 2**64 - 1, np.int8(-3), np.uint64(2**63)])
@pytest.mark.parametrize("flag", [True, np.True_, False])
def test_scalars_keep_their_values(bench, big, flag):
    out = bench.empty(4, np.int64)
    launch(where, 1, out, flag, big, BLOCK=4)
    expected = np.array([int(big) if flag else 0]).astype(np.uint64).view(np.int64)
    np.testing.assert_array_equal(bench.get(out), np.repeat(expected, 4))


def test_a_value_does_not_recompile(bench):
    out = bench.empty(4, np.int64)
    launch(where, 1, out, True, 1, BLOCK=4)
    made = len(launcher._launchers)
    for value in (1, 2, 16, 17, -1):
        launch(where, 1, out, False, value, BLOCK=4)
    assert len(launcher._launchers) == made
    launch(where, 1, out, True, 1, BLOCK=4, num_warps=2)
    assert len(launcher._launchers) == made + 1


PROGRAM = """
import triton

@triton.jit
def f(v):
    return v + {number}
"""


def test_a_function_as_a_constant_stands_for_its_source(bench, tmp_path):
    for number in (1, 2):
        (tmp_path / f"m{number}.py").write_text(PROGRAM.format(number=number))
        spec = importlib.util.spec_from_file_location("m", tmp_path / f"m{number}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        out = bench.empty(4, np.int32)
        launch(applied, 1, out, f=module.f, BLOCK=4)
        np.testing.assert_array_equal(bench.get(out), np.arange(4) + number)


def test_an_address_that_is_not_aligned(bench):
    x = bench.put(np.arange(9, dtype=np.float32))
    out = bench.empty(9)
    part = Buffer(x.device, x.ptr + 4, 32, np.float32)
    launch(scaled_sum, 1, part, part, out, 8, 1.0, BLOCK=8)
    np.testing.assert_array_equal(bench.get(out)[:8], np.arange(1, 9) * 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda b: launch(lambda: 1, 1), TypeError, "function; a function made by @triton.jit is needed"),
        (lambda b: launch(scaled_sum, 1, *b, 5), TypeError, "scaled_sum needs factor, BLOCK"),
        (lambda b: launch(scaled_sum, 1, *b, 5, 1.0, BLCK=8), TypeError, "no argument 'BLCK'"),
        (lambda b: launch(scaled_sum, 1, *b, 5, 1.0, 8, x=b[0]), TypeError, "two values for argument 'x'"),
        (lambda b: launch(scaled_sum, 1, *b, 5, 1.0, 8, False, 1), TypeError, "takes 7 arguments, 8 were given"),
        (lambda b: launch(scaled_sum, 1, *b, "5", 1.0, BLOCK=8), TypeError, "'n' of scaled_sum is a str"),
        (lambda b: launch(scaled_sum, 1, *b, 2**64, 1.0, BLOCK=8), OverflowError, "'n' of scaled_sum"),
        (lambda b: launch(scaled_sum, 1, *b, -(2**63) - 1, 1.0, BLOCK=8), OverflowError, "'n' of scaled_sum"),
        (lambda b: launch(scaled_sum, (1, 1, 1, 1), *b, 5, 1.0, BLOCK=8), ValueError, "one to three"),
        (lambda b: launch(scaled_sum, (), *b, 5, 1.0, BLOCK=8), ValueError, "one to three"),
        (lambda b: launch(scaled_sum, 1.5, *b, 5, 1.0, BLOCK=8), TypeError, "made of integers"),
        (lambda b: launch(scaled_sum, -1, *b, 5, 1.0, BLOCK=8), ValueError, "negative"),
        (
            lambda b: launch(scaled_sum, 1, *b, 5, np.zeros(3), BLOCK=8),
            TypeError,
            "'factor' of scaled_sum is",
        ),
    ],
)
def test_wrong_calls(bench, call, error, text):
    buffers = [bench.put(np.zeros(5, np.float32)) for _ in range(3)]
    before = launcher.launch_count()
    with pytest.raises(error, match=text):
        call(buffers)
    assert launcher.launch_count() == before


def test_buffers_of_two_devices(bench, monkeypatch):
    x, out = bench.put(np.zeros(5, np.float32)), bench.empty(5)
    other = Buffer(get_device("cuda:1"), x.ptr, 20, np.float32)
    with pytest.raises(ValueError, match=f"'y' of scaled_sum is on cuda:1, the kernel runs on {bench.device}"):
        launch(scaled_sum, 1, x, other, out, 5, 1.0, BLOCK=8)
    x.closed = True
    with pytest.raises(ValueError, match="'x' of scaled_sum has been closed"):
        launch(scaled_sum, 1, x, x, out, 5, 1.0, BLOCK=8)


@pytest.mark.parametrize("dtype", ["complex64", "S3", "datetime64[s]", "object"])
def test_dtypes_that_triton_does_not_have(dtype):
    with pytest.raises(TypeError, match="here has dtype"):
        pointer_type(np.dtype(dtype), "here")


def test_types():
    known = {"bool": "*i1", "int8": "*i8", "uint64": "*u64", "float16": "*fp16", "float64": "*fp64"}
    assert {name: pointer_type(np.dtype(name), "") for name in known} == known
    assert pointer_type(np.dtype(ml_dtypes.bfloat16), "") == "*bf16"
    assert [scalar_type(v, "") for v in (True, 1, 2**31, 2**63, 0.5, np.float64(1), np.int8(1))] == [
        "i1", "i32", "i64", "u64", "fp32", "fp32", "i32",
    ]  # fmt: skip


def test_a_change_in_a_called_function_changes_the_key():
    source = compiler.Source.of_function(scaled_sum)
    before = compiler.source_digest(source)
    assert before == compiler.source_digest(source)
    assert before != compiler.source_digest(compiler.Source.of_function(double))
