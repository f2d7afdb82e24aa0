"""Our kernels as text in the Metal Shading Language, for tests."""

from __future__ import annotations

from nbx_array.backend import compiler
from nbx_array.backend.compiler import Source
from nbx_array.backend.contract import Target
from nbx_array.backend.metal import emit
from nbx_array.backend.recording import Spec

METAL = Target("metal", "apple7", 32)


def emitted(spec: Spec) -> emit.Source:
    """A kernel that something of ours launches."""
    text = compiler.ttir(spec.source, spec.signature, spec.constants)
    return emit.emit(text, dict(spec.options).get("num_warps", 4))


def emitted_text(
    text: str, name: str, signature: dict[str, str], num_warps: int = 4, **constants: object
) -> emit.Source:
    """The kernel ``name`` of a module of Triton source, with the types of its arguments."""
    source = Source.generated(text, name)
    return emit.emit(compiler.ttir(source, tuple(signature.items()), tuple(constants.items())), num_warps)
