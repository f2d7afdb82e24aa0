"""LLVM: from the text of a kernel to an object file for this machine's processor."""

from __future__ import annotations

import re

from .. import native

#: Functions of the C library that a user's kernel calls by ``tl.exp`` and the like.
LIBRARY_FUNCTIONS = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "erf", "tanh", "sinh", "cosh",
    "asin", "acos", "atan", "cbrt", "pow", "atan2", "fmod",
)  # fmt: skip
#: Those that LLVM calls where the processor has no instruction.
SOFTWARE_INSTRUCTIONS = ("fma", "floor", "ceil", "trunc", "round", "roundeven")


def emit_object(ir: str, cpu: str | None = None, features: str | None = None, vectors: bool = True) -> bytes:
    """Optimise and compile LLVM IR; for this machine's processor unless another is named. Without vectors it takes half
    the time, and gives the same bits."""
    llvm = native.llvm()
    host_cpu, host_features = native.host()
    machine = native.target_machine(
        host_cpu if cpu is None else cpu, host_features if features is None else features, level=2
    )
    module = llvm.parse_assembly(ir)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    # Loops over elements are what there is to vectorise. Level 3 and vectors of straight-line code (slp) made nothing
    # faster that was tried, and took half as long again to compile.
    tuning = llvm.create_pipeline_tuning_options(2)
    tuning.loop_vectorization = tuning.loop_unrolling = tuning.loop_interleaving = vectors
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    if llvm.llvm_version_info[0] < 23 and "+avx512" in (host_features if features is None else features):
        module = llvm.parse_assembly(_without_masked_logic(str(module)))
    return machine.emit_object(module)


_LOGIC = re.compile(
    r"^ *(%[\w.]+) = (?:tail )?(?:and|or|xor|fneg|call .*@llvm\.(?:fabs|copysign)|(bitcast)) (.*)$", re.M
)
_SELECT = re.compile(
    r"^( *%[\w.]+ = select <(\d+) x i1> [^,]*, <\d+ x (i32|i64|float|double)> )(\S+), (<[^>]*> )(\S+)(.*)$", re.M
)


def _without_masked_logic(ir: str) -> str:
    """Optimised LLVM IR with a fence between bit operations and the vector `select` that takes their result.

    X86's instruction selection folds the two into one masked VPTERNLOG whose table of truth it permutes wrongly where
    an operand lies in memory (https://github.com/llvm/llvm-project/issues/157929, mended in LLVM 23).
    """
    logic: set[str] = set()
    for name, cast, rest in _LOGIC.findall(ir):
        if not cast or rest.split()[-3] in logic:  # a cast reads "<8 x i32> %v to <8 x float>"
            logic.add(name)
    declarations: set[str] = set()

    def fenced(match: re.Match[str]) -> str:
        head, count, element, first, middle, second, tail = match.groups()
        floating = {"i32": "float", "i64": "double"}.get(element, element)
        vector, fence_type = f"<{count} x {element}>", f"<{count} x {floating}>"
        fence = f"@llvm.arithmetic.fence.v{count}f{32 if floating == 'float' else 64}"
        lines: list[str] = []
        arms: list[str] = []
        for arm in (first, second):
            if arm in logic:
                name = f"%fence{len(declarations)}.{match.start()}.{len(arms)}"
                declarations.add(f"declare {fence_type} {fence}({fence_type})")
                lines += [
                    f"{name}.in = bitcast {vector} {arm} to {fence_type}",
                    f"{name}.out = call {fence_type} {fence}({fence_type} {name}.in)",
                    f"{name} = bitcast {fence_type} {name}.out to {vector}",
                ]
                arm = name
            arms.append(arm)
        return "\n".join([*lines, f"{head}{arms[0]}, {middle}{arms[1]}{tail}"])

    ir = _SELECT.sub(fenced, ir)
    return "\n".join([ir, *sorted(declarations)])


def vector_bytes() -> int:
    """Bytes of this processor's vector registers."""
    features = native.host()[1].split(",")
    return 64 if "+avx512f" in features else 32 if "+avx2" in features else 16
