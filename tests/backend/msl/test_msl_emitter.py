"""The Metal Shading Language that kernels become: what is refused, and that barriers and address spaces are right, of
which the header that runs it and clang notice a wrong one."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from nbx_array.backend.metal import emit
from nbx_array.kernels import registry

from . import shim
from .kernels import METAL, emitted, emitted_text

needs_compiler = pytest.mark.skipif(shim.compiler() is None, reason="neither clang++ nor g++ builds libraries here")
needs_clang = pytest.mark.skipif(shim.clang() is None, reason="clang++ is not here")
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
BARRIER = re.compile(r"^ *metal::threadgroup_barrier\(.*\);\n", re.MULTILINE)


def kernel(text, name="k", signature=None, **constants):
    return emitted_text(HEAD + text, name, signature or {"x": "*fp32", "o": "*fp32"}, **constants)


# ------------------------------------------------------------------------------------------------------- barriers

SUM_OF_ROUNDS = """
def k(x, o):
    i = tl.arange(0, 256)
    v = tl.load(x + i)
    for _ in range(3):
        v = tl.load(x + i) - v + tl.sum(v, 0) / 256
    tl.store(o + i, v)
"""
SCAN = """
def k(x, o):
    i = tl.arange(0, 256)
    tl.store(o + i, tl.cumsum(tl.load(x + i), 0))
"""
TRANSPOSE = """
def k(x, o):
    i = tl.arange(0, 16)
    v = tl.load(x + i[:, None] * 16 + i[None, :])
    tl.store(x + i[:, None] * 16 + i[None, :], tl.trans(v))
    tl.debug_barrier()
    tl.store(o + i[:, None] * 16 + i[None, :], tl.load(x + i[None, :] * 16 + i[:, None]))
"""
PRODUCT = """
def k(x, o):
    i = tl.arange(0, 16)
    v = tl.load(x + i[:, None] * 16 + i[None, :])
    w = tl.dot(v, v, input_precision="ieee")
    tl.store(o + i[:, None] * 16 + i[None, :], tl.dot(w, v, input_precision="ieee"))
"""


def sum_of_rounds(x):
    v = x.astype(np.float64)
    for _ in range(3):
        v = x - v + v.mean()
    return v


CASES = {
    "reduction": (SUM_OF_ROUNDS, sum_of_rounds),
    "scan": (SCAN, lambda x: np.cumsum(x, dtype=np.float64)),
    "transpose": (TRANSPOSE, lambda x: x),
    "product": (PRODUCT, lambda x: (lambda m: m @ m @ m)(x.reshape(16, 16).astype(np.float64)).ravel()),
}


def is_right(built, x, wanted, seed):
    out, data = np.zeros(256, np.float32), x.copy()
    built.run([data.ctypes.data, out.ctypes.data], (1,), seed)
    return np.allclose(out, wanted, rtol=1e-4, atol=1e-4)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_every_barrier_is_needed(name, rng):
    """The kernel is right in every order of threads, and without any one of its barriers it is wrong in some."""
    text, reference = CASES[name]
    source = kernel(text)
    x = rng.standard_normal(256).astype(np.float32)
    places = [found.span() for found in BARRIER.finditer(source.text)]
    assert places
    lacking = [SimpleNamespace(**{**vars(source), "text": source.text[:a] + source.text[b:]}) for a, b in places]
    whole, *broken = shim.build_all([source, *lacking])
    wanted = reference(x)
    assert all(is_right(whole, x, wanted, seed) for seed in range(20))
    for number, built in enumerate(broken):
        assert not all(is_right(built, x, wanted, seed) for seed in range(20)), f"barrier {number} of {len(places)}"


@needs_compiler
def test_memory_is_not_taken_again_before_all_have_read_it(rng):
    """The barrier between the two reductions may not run, so their partial results lie in different places."""
    source = kernel("""
def k(x, o):
    i = tl.arange(0, 256)
    v = tl.load(x + i)
    total = tl.sum(v, 0)
    if total > 1e30:
        tl.debug_barrier()
    tl.store(o + i, total + tl.max(v, 0))
""")
    built, x = shim.build(source), rng.standard_normal(256).astype(np.float32)
    assert all(is_right(built, x, np.full(256, x.sum(dtype=np.float64) + x.max()), seed) for seed in range(40))


@needs_compiler
def test_a_barrier_that_some_threads_miss_is_noticed():
    source = kernel(SCAN)
    one = BARRIER.search(source.text)
    text = source.text[: one.start()] + "    if (tid < 7)\n" + source.text[one.start() :]
    built = shim.build(SimpleNamespace(text=text, entry=source.entry, threads=source.threads))
    x = np.zeros(256, np.float32)
    with pytest.raises(shim.DivergentBarrier, match="seed 3"):
        built.run([x.ctypes.data] * 2, (1,), 3)


@needs_compiler
def test_threads_run_in_another_order_with_another_seed():
    """Each thread stores where it stands in the order, by an atomic counter."""
    source = emitted_text(
        HEAD + "def k(x, o):\n    i = tl.arange(0, 128)\n    tl.store(o + i, tl.atomic_add(x + i * 0, 1))\n",
        "k", {"x": "*i32", "o": "*i32"},
    )  # fmt: skip
    built = shim.build(source)
    orders = set()
    for seed in (1, 1, 2, 3):
        count, out = np.zeros(1, np.int32), np.zeros(128, np.int32)
        built.run([count.ctypes.data, out.ctypes.data], (1,), seed)
        assert sorted(out) == list(range(128))
        orders.add(tuple(out))
    assert len(orders) == 3


@needs_compiler
def test_sums_of_int64_carry(rng):
    """Metal adds 32 bits at a time."""
    text = """
def k(x, o, n):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.atomic_add(o + i % 3, tl.load(x + i, mask=i < n), mask=i < n, sem="relaxed")
"""
    built = shim.build(kernel(text, signature={"x": "*i64", "o": "*i64", "n": "i32"}))
    x, out, n = rng.integers(-(2**40), 2**40, 1000), np.array([0, -1, 2**32 - 1]), np.array([1000], np.int32)
    wanted = out + [x[k::3].sum() for k in range(3)]
    built.run([x.ctypes.data, out.ctypes.data, n.ctypes.data], (8,))
    assert np.array_equal(out, wanted)


# ------------------------------------------------------------------------------------------------- address spaces


@needs_clang
@pytest.mark.parametrize("name", CASES)
def test_pointers_are_in_the_right_address_space(name):
    assert shim.check(kernel(CASES[name][0])) == ""


@needs_clang
@pytest.mark.parametrize("family", registry.FAMILIES)
def test_a_sample_of_each_family_is_well_formed(family):
    specs = registry.specs(family, METAL)
    texts = [emitted(spec) for spec in specs[:: len(specs) // 5 + 1]]
    assert texts and shim.check(*texts) == ""


@needs_clang
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (r"threadgroup float\* const (\w+) = ", r"device float* const \1 = "),
        (r"device float\* const (\w+) = a0", r"float* const \1 = a0"),
        (r"device float\* a0", r"threadgroup float* a0"),
        (r"\((device|threadgroup) float\*\)\(memory", r"(float*)(memory"),
    ],
)
def test_a_pointer_in_the_wrong_address_space_is_noticed(wrong, right):
    source = kernel(SCAN)
    text, count = re.subn(wrong, right, source.text)
    assert count
    problem = shim.check(SimpleNamespace(text=text))
    assert "error:" in problem and re.search("'(device|threadgroup) float \\*", problem)


@needs_clang
def test_float64_in_the_text_is_noticed():
    source = kernel(SCAN)
    assert shim.check(SimpleNamespace(text=source.text.replace("const float t", "const double t"))) != ""


# -------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("def k(x, o):\n    tl.store(o, tl.load(x))\n", {"x": "*fp64", "o": "*fp32"}),
        ("def k(x, o):\n    tl.store(o, x.to(tl.float32))\n", {"x": "fp64", "o": "*fp32"}),
        ("def k(x, o):\n    tl.store(o, (tl.load(x).to(tl.float64) * 2).to(tl.float32))\n", None),
        ("def k(x, o):\n    tl.store(o, tl.sum(tl.zeros([8], tl.float64), 0).to(tl.float32))\n", None),
    ],
)
def test_float64_is_refused(text, signature):
    with pytest.raises(NotImplementedError, match=r"float64 .* does not exist on Metal"):
        kernel(text, signature=signature)


def test_what_metal_has_no_room_for_is_refused():
    names = [f"p{k}" for k in range(32)]
    text = f"def k({', '.join(names)}):\n    tl.store(p0, 1.0)\n"
    with pytest.raises(NotImplementedError, match="32 arguments are more than the 31"):
        kernel(text, signature=dict.fromkeys(names, "*fp32"))
    large = "def k(x, o):\n    i = tl.arange(0, 16384)\n    tl.store(o + i, tl.cumsum(tl.load(x + i), 0))\n"
    with pytest.raises(NotImplementedError, match="bytes of threadgroup memory; Metal has 32768"):
        kernel(large)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("tl.store(o, tl.erf(tl.load(x)))", "erf is not supported on Metal"),
        ("tl.atomic_xchg(x.to(tl.pointer_type(tl.int64)), 1)", "an atomic xchg of i64"),
        ("tl.store(o, tl.atomic_add(x.to(tl.pointer_type(tl.int64)), 1).to(tl.float32))", "an atomic add of i64"),
    ],
)
def test_operations_that_the_language_lacks_are_refused(body, reason):
    with pytest.raises(NotImplementedError, match=reason):
        kernel(f"def k(x, o):\n    {body}\n")


def test_what_launching_takes_is_told():
    source = emitted_text(
        HEAD + "def k(x, n, f, b, o):\n    tl.store(o + n, tl.load(x) * f + b)\n",
        "k", {"x": "*fp32", "n": "i64", "f": "fp32", "b": "i1", "o": "*fp32"}, num_warps=2,
    )  # fmt: skip
    assert isinstance(source, emit.Source)
    assert source.arguments == ("pointer", "i64", "f32", "i1", "pointer")
    assert (source.entry, source.threads, source.threadgroup_bytes) == ("k_kernel", 64, 0)
    assert f"void {source.entry}(" in source.text and "max_total_threads_per_threadgroup(64)" in source.text
