"""From Triton source to a :class:`CompiledKernel`, by way of the disk cache. The only importer of triton.

Triton is imported when something must be compiled that the cache does not have. Its private interfaces (``ASTSource``,
``libtriton.ir`` and ``passes``) are touched in this module and nowhere else. On a machine without triton a kernel for
the CPU or for Metal, which we make from Triton's intermediate text, can still come from the archive of such texts.
"""

from __future__ import annotations

import functools
import importlib.util
import linecache
import re
import threading
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from . import cache, native
from .contract import CompiledKernel, Target
from .digest import sha256

#: Modules of Triton source that generated source may import.
SOURCE_PACKAGE = "nbx_array.kernels.source"
#: Options that a caller may set: Triton's compiler's, and ``quick``, by which a kernel of small arrays is compiled for
#: the CPU in half the time, without vectors.
OPTIONS = frozenset(
    ("num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim",
     "launch_cooperative_grid", "quick")
)  # fmt: skip
ARTIFACT_KINDS = {"cpu": "object", "cuda": "cubin", "hip": "hsaco", "metal": "msl"}
#: Backends whose code we make from Triton's intermediate text; Triton makes that of the others.
OWN_BACKENDS = ("cpu", "metal")


class CompilationError(RuntimeError):
    """A kernel that cannot be compiled; the message names it and says why."""


class KernelMissing(CompilationError):
    """A kernel that is not at hand, on a machine without triton, or that a target has no room for; a more general one
    may be."""


class Source(NamedTuple):
    """Where a kernel's source is: in a module, in a text, or in a ``@triton.jit`` function of the user's."""

    module: str | None
    name: str
    text: str | None
    function: Any = None

    @classmethod
    def of(cls, module: str, name: str) -> Source:
        """The kernel ``name`` of a module in ``nbx_array.kernels.source``."""
        return cls(module, name, None)

    @classmethod
    def generated(cls, text: str, name: str) -> Source:
        """The kernel ``name`` of a module with this text, which may import from ``nbx_array.kernels.source``."""
        return cls(None, name, text)

    @classmethod
    def of_function(cls, function: Any) -> Source:
        """A user's own kernel."""
        return cls(None, function.__name__, None, function)


compilations = native.Cell()


def compile_kernel(
    source: Source,
    signature: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, Any], ...],
    target: Target,
    aligned: bool,
    options: tuple[tuple[str, Any], ...] = (),
) -> CompiledKernel:
    """Compile a kernel, or take it from the disk cache.

    ``signature`` maps the run-time parameters' names to Triton's type strings, in order; ``constants`` the others to
    their values. ``aligned`` says that every pointer is divisible by 16.
    """
    if target.backend not in ARTIFACT_KINDS:
        raise CompilationError(f"{source.name}: there is no compiler for {target.backend!r}")
    if unknown := [name for name, _ in options if name not in OPTIONS]:
        raise TypeError(f"{source.name}: unknown compiler options {unknown}; known: {sorted(OPTIONS)}")
    key = _key(source, signature, constants, target, aligned, options)
    version = triton_version()
    entry = cache.load(key, f"triton-{version}") if version else cache.load_any_version(key)
    if entry is None:
        try:
            import triton
        except ImportError as error:
            entry = cache.load_any_version(key)
            if entry is None:
                text = _archived(source, signature, constants, target)
                if text is None:
                    raise KernelMissing(
                        f"{source.name} for {target.backend} {target.arch} is not in the kernel cache "
                        f"({cache.directory()}) nor in the archive, and triton cannot be imported: {error}"
                    ) from error
                return _stored(_translate(text, source.name, signature, target, options, key), key, "archive")
        else:
            kernel = _compile(source, signature, constants, target, aligned, options, key)
            return _stored(kernel, key, f"triton-{triton.__version__}")
    header = entry.header
    return CompiledKernel(
        **header
        | {
            "artifact": entry.artifact,
            "target": Target(*header["target"]),
            **{name: tuple(header[name]) for name in ("parameters", "names", "cluster_dims")},
        }
    )


def _stored(kernel: CompiledKernel, key: str, version: str) -> CompiledKernel:
    """Note a compilation and keep what it made."""
    compilations.value += 1
    header = asdict(kernel)
    del header["artifact"]
    cache.store(key, version, header, kernel.artifact)
    return kernel


def _archived(
    source: Source, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, Any], ...], target: Target
) -> str | None:
    """A kernel's intermediate text from the archive, if it has it."""
    if target.backend not in OWN_BACKENDS:
        return None
    from .archive import archive  # whose decompression takes a millisecond to load

    found = archive()
    return found.text(archive_key(source, signature, constants)) if found is not None else None


# ---------------------------------------------------------------------------------------------- cache keys


def _key(
    source: Source,
    signature: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, Any], ...],
    target: Target,
    aligned: bool,
    options: tuple[tuple[str, Any], ...],
) -> str:
    # A constant that is itself a @triton.jit function stands for its source and that of the functions it calls.
    values = [(name, getattr(value, "cache_key", value)) for name, value in constants]
    parts = [source.name, source_digest(source), repr((signature, values, tuple(target), aligned, sorted(options)))]
    parts.append(_own_digest(target.backend))
    if target.backend == "cpu":
        parts += [native.llvm_version(), *native.host()]
    return sha256("\0".join(parts).encode()).hexdigest()


def archive_key(
    source: Source, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, Any], ...]
) -> bytes:
    """What the archive calls a kernel's intermediate text, which is the same for all of `OWN_BACKENDS`."""
    parts = [source.name, source_digest(source), repr((signature, constants)), _own_digest("")]
    return sha256("\0".join(parts).encode()).digest()


@functools.cache
def triton_version() -> str | None:
    """The version of triton that would be imported, without importing it; None where there is none."""
    try:
        spec = importlib.util.find_spec("triton")
        if spec is None or spec.origin is None:
            return None
        found = re.search(rb"^__version__ = ['\"]([^'\"]+)['\"]", Path(spec.origin).read_bytes(), re.MULTILINE)
    except (ImportError, ValueError, OSError):
        return None
    return found[1].decode() if found else None


@functools.cache
def _own_digest(backend: str) -> str:
    """A hash of the modules that decide what a compilation gives."""
    here = Path(__file__).parent
    files = [here / "compiler.py"]
    if backend in OWN_BACKENDS:
        files += sorted((here / "ttir").glob("*.py")) + sorted((here / backend).glob("*.py"))
    digest = sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def source_digest(source: Source) -> str:
    """A hash of the source and of every module of ours that it reaches."""
    if source.function is not None:
        return source.function.cache_key  # Triton's own, over all functions that it calls
    digest = sha256()
    if source.text is not None:
        digest.update(source.text.encode())
        modules = list(reached_modules(source.text, ""))
    else:
        assert source.module is not None
        modules = [source.module, *reached_modules(_module_text(source.module)[0], source.module)]
    for module in sorted(set(modules)):
        digest.update(f"\0{module}\0".encode())
        digest.update(_module_text(module)[0].encode())
    return digest.hexdigest()


# Finding imports with the ast module takes 10 ms for a large module, which would be paid at every first launch.
# A test compares the two on all of our modules.
_IMPORT_FROM = r"(?m)^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
_IMPORT = r"(?m)^[ \t]*import[ \t]+([^\n]+)"


def imported_modules(text: str, package: str) -> set[str]:
    """The modules of SOURCE_PACKAGE that a text names in import statements, perhaps more."""
    found = set()
    for base, names in re.findall(_IMPORT_FROM, text):
        if base.startswith("."):  # relative to the package that holds the module
            stem = base.lstrip(".")
            parent = package.split(".")[: -(len(base) - len(stem))] if package else []
            base = ".".join([*parent, stem] if stem else parent)
        found.add(base)
        found.update(f"{base}.{name}" for name in re.findall(r"\w+", names))
    for names in re.findall(_IMPORT, text):
        found.update(re.findall(r"[\w.]+", names))
    return {name for name in found if name.startswith(SOURCE_PACKAGE + ".")}


def reached_modules(text: str, package: str) -> set[str]:
    """The modules of SOURCE_PACKAGE that a text imports, and those that they import, and so on."""
    reached: set[str] = set()
    new = imported_modules(text, package)
    while new:
        name = new.pop()
        found = _module_text(name)
        if name not in reached and found[0]:
            reached.add(name)
            new |= found[1]
    return reached


@functools.cache
def _module_text(module: str) -> tuple[str, frozenset[str]]:
    """A module's text and what it imports; empty where there is no such module (the name of a function, say)."""
    parent, _, name = module.rpartition(".")
    folder = importlib.util.find_spec(parent) if parent else None
    for base in folder.submodule_search_locations or () if folder else ():
        path = Path(base) / f"{name}.py"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            return text, frozenset(imported_modules(text, module))
    return "", frozenset()


# ---------------------------------------------------------------------------------------------- compiling

_front_end = threading.Lock()  # Triton's front end keeps state of its own
_knobs = threading.Lock()  # and its knobs are the process's


def _compile(
    source: Source,
    signature: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, Any], ...],
    target: Target,
    aligned: bool,
    options: tuple[tuple[str, Any], ...],
    key: str,
) -> CompiledKernel:
    if target.backend in OWN_BACKENDS:
        return _translate(ttir(source, signature, constants), source.name, signature, target, options, key)
    with _front_end:
        tree = _tree(source, signature, constants, aligned)
        names, parameters = tuple(dict(signature)), tuple(dict(signature).values())
        theirs = {name: value for name, value in options if name != "quick"}
        return _compile_for_gpu(source.name, tree, target, theirs, names, parameters)


def ttir(source: Source, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, Any], ...]) -> str:
    """Triton's intermediate text of a kernel, in MLIR's generic form."""
    with _front_end:
        return _ttir(_tree(source, signature, constants, aligned=False))


def _tree(
    source: Source, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, Any], ...], aligned: bool
) -> Any:
    """A kernel with the types of its arguments, as Triton's compiler takes it."""
    from triton.compiler import ASTSource

    function = _load(source)
    given = dict(signature)
    unknown = [n for n in (*given, *dict(constants)) if n not in function.arg_names]
    missing = [n for n in function.arg_names if n not in given and n not in dict(constants)]
    if unknown or missing:
        raise CompilationError(f"{source.name}: parameters not given: {missing}; not parameters: {unknown}")
    order = [n for n in function.arg_names if n in given]
    if order != list(given):
        raise CompilationError(f"{source.name}: the signature must be in the parameters' order, {order}")
    types_of = {name: given.get(name, "constexpr") for name in function.arg_names}
    attributes = {}
    if aligned:
        pointers = [i for i, name in enumerate(function.arg_names) if types_of[name].startswith("*")]
        attributes = {(i,): [["tt.divisibility", 16]] for i in pointers}
    return ASTSource(function, types_of, dict(constants), attributes)


def _translate(
    text: str,
    name: str,
    signature: tuple[tuple[str, str], ...],
    target: Target,
    options: tuple[tuple[str, Any], ...],
    key: str,
) -> CompiledKernel:
    """Code for one of `OWN_BACKENDS` from a kernel's intermediate text."""
    names, parameters = tuple(dict(signature)), tuple(dict(signature).values())
    symbol = f"{name}_{key[:16]}"
    try:
        if target.backend == "metal":
            from .metal import emit

            if len(names) > emit.MOST_ARGUMENTS:
                raise KernelMissing(f"{name}: {len(names)} arguments are more than the {emit.MOST_ARGUMENTS} of Metal")
            made = emit.emit(text, dict(options).get("num_warps", 4))
            return CompiledKernel(
                name, made.entry, "msl", made.text.encode(), target, parameters, names,
                num_warps=made.threads // target.warp_size, shared=made.threadgroup_bytes,
            )  # fmt: skip
        from .cpu import codegen, lowering

        ir = lowering.lower(text, symbol, native.host()[1], codegen.vector_bytes())
    except NotImplementedError as error:
        raise NotImplementedError(f"{name}: {error}") from error
    code = codegen.emit_object(ir, vectors=not dict(options).get("quick", False))
    return CompiledKernel(name, symbol, "object", code, target, parameters, names)


def _load(source: Source) -> Any:
    """The ``@triton.jit`` function of a source."""
    if source.function is not None:
        return source.function
    if source.module is not None:
        module = importlib.import_module(source.module)
    else:
        assert source.text is not None
        # Triton reads a function's text through inspect, which finds it here without a file.
        file = f"<nbx_array {sha256(source.text.encode()).hexdigest()[:16]}>"
        linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)
        module = types.ModuleType(f"nbx_array_generated_{file[11:-1]}")
        exec(compile(source.text, file, "exec"), module.__dict__)
    function = getattr(module, source.name, None)
    if not hasattr(function, "arg_names"):
        where = source.module or "the generated source"
        raise CompilationError(f"{where} does not define {source.name!r} with @triton.jit")
    return function


def _compile_for_gpu(
    name: str, tree: Any, target: Target, options: dict[str, Any], names: tuple[str, ...], parameters: tuple[str, ...]
) -> CompiledKernel:
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget

    # The same bits as on every other backend: no product fused with a sum unless the source says so, and
    # subnormal numbers kept. Triton leaves out what a target does not have.
    options = {"enable_fp_fusion": False, "enable_reflect_ftz": False, **options}
    make = functools.partial(triton.compile, tree, target=GPUTarget(*target), options=options)
    if target.backend == "hip":
        with _knobs, knobs.amd.scope():
            # Triton 3.6 makes of an exchange in a buffer an intrinsic that its LLVM has not.
            knobs.amd.use_buffer_atomics = False
            made = make()
    else:
        made = make()
    metadata = made.metadata

    def get(field: str, default: Any) -> Any:
        value = getattr(metadata, field, None)
        return default if value is None else value

    kind = ARTIFACT_KINDS[target.backend]
    return CompiledKernel(
        name,
        metadata.name,
        kind,
        made.asm[kind],
        target,
        parameters,
        names,
        num_warps=metadata.num_warps,
        shared=metadata.shared,
        global_scratch_size=get("global_scratch_size", 0),
        global_scratch_align=get("global_scratch_align", 1),
        profile_scratch_size=get("profile_scratch_size", 0),
        profile_scratch_align=get("profile_scratch_align", 1),
        cluster_dims=tuple(get("cluster_dims", (get("num_ctas", 1), 1, 1))),
        cooperative=bool(get("launch_cooperative_grid", False)),
    )


class _CpuOptions:
    """What Triton's front end asks of a target's options. Nearly all of it concerns GPUs."""

    num_warps = num_ctas = num_stages = warp_size = 1
    cluster_dims = (1, 1, 1)
    supported_fp8_dtypes = deprecated_fp8_dtypes = deprecated_fp8_dot_operand_dtypes = ()
    default_dot_input_precision = "ieee"
    allowed_dot_input_precisions = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default = 0
    extern_libs = ir_override = None
    backend_name, arch, instrumentation_mode = "cpu", "host", ""
    debug = sanitize_overflow = enable_fp_fusion = enable_iisan = False
    launch_cooperative_grid = fpsan_homomorphic_casts = False


def _ttir(tree: Any) -> str:
    """Triton's intermediate text of a kernel, in MLIR's generic form, after the passes that any target has."""
    from triton._C.libtriton import ir, passes
    from triton.backends.compiler import GPUTarget

    context = ir.context()
    ir.load_dialects(context)
    functions = {"min_dot_size": lambda left, right: (1, 1, 1), "convert_custom_types": None}
    module = tree.make_ir(GPUTarget("cpu", "host", 1), _CpuOptions(), functions, {}, context)
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # block pointers, which Triton 3.9 no longer has
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(module, "make_ttir")
    # An attribute without a dialect makes MLIR's printer fall back on the generic form, which is easy to read.
    module.set_attr("generic", ir.builder(context).get_unit_attr())
    return module.str_nodebug()
