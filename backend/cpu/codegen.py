"""LLVM: from the text of a kernel to an object file for this machine's processor."""

from __future__ import annotations

from .. import native


def emit_object(ir: str, cpu: str | None = None, features: str | None = None) -> bytes:
    """Optimise and compile LLVM IR; for this machine's processor unless another is named."""
    llvm = native.llvm()
    host_cpu, host_features = native.host()
    machine = native.target_machine(
        host_cpu if cpu is None else cpu, host_features if features is None else features, level=3
    )
    module = llvm.parse_assembly(ir)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(3)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = tuning.loop_interleaving = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def vector_bytes() -> int:
    """Bytes of this processor's vector registers."""
    features = native.host()[1].split(",")
    return 64 if "+avx512f" in features else 32 if "+avx2" in features else 16
