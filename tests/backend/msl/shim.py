"""Run kernels in the Metal Shading Language on this processor: a header of ours has the language's names, and clang or
g++ builds the text into a shared library.

``build(source)`` takes what ``nbx_array.backend.metal.emit.emit`` returns (of it ``text``, ``entry`` and ``threads``)
and returns a kernel; ``kernel.run(addresses, grid)`` runs it, each address being that of a buffer or of a scalar's
bytes. ``build_all`` puts several kernels into one library, which takes less time. ``check`` asks clang whether every
pointer is in the right address space.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# No sum is fused with a product. Most kernels run once, and building them takes longer than that: nothing is optimised,
# and linking leaves out what a library of C++ has for its start.
FLAGS = ("-std=c++17", "-O0", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing", "-w")
FLAGS += ("-shared", "-fPIC", "-nostdlib")
MEMORY = re.compile(r"^ *threadgroup (\w+) (\w+)\[(\d+)\];$", re.MULTILINE)
PARAMETER = re.compile(r"^ *(device|constant)\b.*\[\[buffer\((\d+)\)\]\]", re.MULTILINE)

_lock = threading.Lock()  # the header's state is a library's own, and a kernel's memory is static


class NoCompiler(RuntimeError):
    """Neither clang nor g++ is here."""


class DivergentBarrier(RuntimeError):
    """Threads of a threadgroup wait at a barrier that others never come to."""


@functools.cache
def compiler() -> str | None:
    """clang or g++, whichever can build and link a small library here."""
    for name in ("clang++", "g++"):
        path = shutil.which(name)
        if path and not _compile_error(path, 'extern "C" int one() { return 1; }\n', *FLAGS, "-lm", "-lc"):
            return path
    return None


@functools.cache
def clang() -> str | None:
    """The compiler that knows address spaces."""
    return shutil.which("clang++")


class Kernel:
    """A kernel of a library. ``seed``, by default NBX_TEST_SEED, decides the order of threadgroups and threads."""

    def __init__(self, library: ctypes.CDLL, symbol: str) -> None:
        self._function = getattr(library, symbol)
        self._function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]

    def run(self, addresses: Sequence[int], grid: Sequence[int], seed: int | None = None) -> None:
        if seed is None:
            seed = int(os.environ.get("NBX_TEST_SEED", "0"))
        gx, gy, gz = (*grid, 1, 1)[:3]
        packed = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        with _lock:
            wrong = self._function(packed, (ctypes.c_uint32 * 3)(gx, gy, gz), seed)
        if wrong:
            raise DivergentBarrier(f"some threads wait at a barrier that others never come to (seed {seed})")


def build(source: Any) -> Kernel:
    return build_all([source])[0]


def build_all(sources: Iterable[Any]) -> list[Kernel]:
    """The kernels of one library. NoCompiler where there is none."""
    path = compiler()
    if path is None:
        raise NoCompiler("neither clang++ nor g++ builds libraries here")
    sources = list(sources)
    text = "#include <metal_stdlib>\n" + "".join(_wrapped(source, number) for number, source in enumerate(sources))
    library = _library(text, path)
    return [Kernel(library, f"run_{number}") for number in range(len(sources))]


def check(*sources: Any) -> str:
    """What clang says of kernels' types and address spaces; nothing where all is well."""
    path = clang()
    if path is None:
        raise NoCompiler("clang++ is not here")
    parts = ["#include <metal_stdlib>"]
    for number, source in enumerate(sources):
        text, memory = _without_memory(source.text)
        declared = f"threadgroup static {memory[0]} {memory[1]}[{memory[2]}];" if memory else ""
        parts.append(f"namespace kernel_{number} {{\n{declared}\n{text}\n}}")
    flags = ("-std=c++17", "-fsyntax-only", "-Wno-unknown-pragmas", "-Wno-unknown-attributes")
    return _compile_error(path, "\n".join(parts), *flags, include="check")


def _without_memory(text: str) -> tuple[str, tuple[str, str, str] | None]:
    """The text without its declaration of the threadgroup's memory, and that declaration's type, name and length."""
    found = MEMORY.findall(text)
    assert len(found) <= 1, found
    return MEMORY.sub("", text), found[0] if found else None


def _wrapped(source: Any, number: int) -> str:
    """A kernel in a namespace of its own, and the function that runs it."""
    text, memory = _without_memory(source.text)
    kinds = {int(index): kind for kind, index in PARAMETER.findall(text)}
    arguments = [
        f"shim::{'Pointer' if kinds[index] == 'device' else 'Scalar'}{{arguments[{index}]}}" for index in sorted(kinds)
    ]
    yields = "barrier" in text or "simd_" in text
    declared = f"static {memory[0]} {memory[1]}[{memory[2]}];" if memory else ""
    area = f"{memory[1]}, sizeof {memory[1]}" if memory else "nullptr, 0"
    return f"""
namespace kernel_{number} {{
{declared}
{text}
static void thread(void** arguments, uint3 group, uint3 groups, uint number) {{
    {source.entry}({", ".join([*arguments, "group", "groups", "number"])});
}}
extern "C" int run_{number}(void** arguments, const uint* grid, uint64_t seed) {{
    return shim::launch(thread, arguments, grid, {source.threads}, seed, {str(yields).lower()}, {area});
}}
}}
"""


@functools.cache
def _directory() -> Path:
    made = Path(tempfile.mkdtemp(prefix="msl_shim_"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def _library(text: str, path: str) -> ctypes.CDLL:
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    target = _directory() / f"{name}.so"
    problem = _compile_error(path, text, *FLAGS, "-o", str(target), "-lm", "-lc")
    if problem:
        raise RuntimeError(f"{path} does not build the kernel:\n{problem[:4000]}")
    return ctypes.CDLL(str(target))


def _compile_error(path: str, text: str, *flags: str, include: str = "run") -> str:
    if "-o" not in flags and "-fsyntax-only" not in flags:
        flags = (*flags, "-o", os.devnull)
    made = subprocess.run(
        [path, "-I", str(HERE / include), "-x", "c++", "-", *flags], input=text, capture_output=True, text=True
    )
    return made.stderr if made.returncode or "-fsyntax-only" in flags else ""
