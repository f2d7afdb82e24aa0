"""Host functions that llvmlite compiles, and Python callables made of them.

A launch has to unbox its Python arguments and call a function by address. Written as LLVM IR and made into a built-in
function (``METH_FASTCALL``), that takes 0.1 µs; ctypes takes ten times as long. This module generates the unboxing,
which is the same for every backend, compiles it once for each list of argument types, and binds it to a kernel's
addresses.

How a driver uses it::

    ir = native.fastcall("run", types, body)          # the body finds %slot0 ... %arg0 ... and %data
    code = native.load(ir, ["run"])                   # compiled, or from the disk cache
    run = native.bind(code["run"], words, "add", native.complainer("add", types, names))

Addresses of what a body calls come as data words (``%data``, 64 bits each, from the ``words`` of :func:`bind`) or as
symbols given to :func:`load`. Compiled code lives as long as the process, since callables made of it may.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import cache
from .digest import sha256

#: CPython's C interface can be reached: elsewhere the drivers call through ctypes.
HAVE_C_API = platform.python_implementation() == "CPython" and hasattr(ctypes, "pythonapi")


class ArgumentType(NamedTuple):
    """How an argument of one Triton type is unboxed and stored."""

    llvm: str  # the value's type in LLVM
    size: int  # bytes in a buffer of arguments, also the alignment
    format: str  # the same for the struct module
    low: int  # the least and the greatest integer accepted; both 0 for floating point
    high: int


ARGUMENT_TYPES = {
    "*": ArgumentType("i64", 8, "Q", 0, 2**64 - 1),
    "i1": ArgumentType("i8", 1, "B", 0, 1),
    "fp32": ArgumentType("float", 4, "f", 0, 0),
    "fp64": ArgumentType("double", 8, "d", 0, 0),
    # A number of programs along one axis of a grid.
    "grid": ArgumentType("i32", 4, "i", 0, 2**31 - 1),
}
for _bits, _format in ((8, "b"), (16, "h"), (32, "i"), (64, "q")):
    _size, _half = _bits // 8, 1 << _bits - 1
    ARGUMENT_TYPES[f"i{_bits}"] = ArgumentType(f"i{_bits}", _size, _format, -_half, _half - 1)
    ARGUMENT_TYPES[f"u{_bits}"] = ArgumentType(f"i{_bits}", _size, _format.upper(), 0, 2 * _half - 1)

GRID = ("grid", "grid", "grid")


def argument_type(triton_type: str) -> ArgumentType:
    """The row of a Triton type string; every pointer is ``"*"``."""
    try:
        return ARGUMENT_TYPES["*" if triton_type.startswith("*") else triton_type]
    except KeyError:
        raise TypeError(f"a kernel argument cannot be of type {triton_type!r}") from None


def buffer_layout(types: Sequence[str]) -> tuple[list[int], int]:
    """Offset of each argument in a buffer, each aligned to its size, and the buffer's size."""
    offsets, end = [], 0
    for name in types:
        size = argument_type(name).size
        end = -(-end // size) * size
        offsets.append(end)
        end += size
    return offsets, end


# ---------------------------------------------------------------------------------------------- code generation


def fastcall(symbol: str, types: Sequence[str], body: str) -> str:
    """LLVM IR of a function that unboxes Python arguments of ``types`` and runs ``body``.

    The body may use ``%argN`` (the value), ``%slotN`` (where it lies in the function's own frame), ``%buffer`` (all
    slots, laid out by :func:`buffer_layout`) and ``%data`` (see :func:`data_word`). It starts in the block ``%go`` and
    ends by branching to ``%none`` (return None), to ``%failed`` (an exception is set), or to ``%complain``.
    """
    offsets, size = buffer_layout(types)
    lines = [
        f"define ptr @{symbol}(ptr %self, ptr %args, i64 %nargs) {{",
        f"  %buffer = alloca [{max(size, 1)} x i8], align 16",
        "  %data = call ptr @PyBytes_AsString(ptr %self)",
        f"  %counted = icmp eq i64 %nargs, {len(types)}",
        "  br i1 %counted, label %unbox, label %complain",
        "unbox:",
    ]
    doubtful, wrong = ["false"], ["false"]  # values that may stand for an error; integers out of range
    for i, (name, offset) in enumerate(zip(types, offsets, strict=True)):
        kind = argument_type(name)
        lines += [
            f"  %place{i} = getelementptr ptr, ptr %args, i64 {i}",
            f"  %object{i} = load ptr, ptr %place{i}",
            f"  %slot{i} = getelementptr i8, ptr %buffer, i64 {offset}",
        ]
        if kind.format in "fd":
            lines += [
                f"  %wide{i} = call double @PyFloat_AsDouble(ptr %object{i})",
                f"  %doubt{i} = fcmp oeq double %wide{i}, -1.0",
                f"  %arg{i} = "
                + (f"fptrunc double %wide{i} to float" if kind.format == "f" else f"fadd double %wide{i}, -0.0"),
            ]
        else:
            function = "PyLong_AsUnsignedLongLong" if kind.high > 2**63 else "PyLong_AsLongLong"
            lines += [
                f"  %wide{i} = call i64 @{function}(ptr %object{i})",
                f"  %doubt{i} = icmp eq i64 %wide{i}, -1",
                f"  %arg{i} = "
                + (f"add i64 %wide{i}, 0" if kind.llvm == "i64" else f"trunc i64 %wide{i} to {kind.llvm}"),
            ]
            if kind.size < 8:
                lines += [
                    f"  %shifted{i} = sub i64 %wide{i}, {kind.low}",
                    f"  %wrong{i} = icmp ugt i64 %shifted{i}, {kind.high - kind.low}",
                ]
                wrong.append(f"%wrong{i}")
        lines.append(f"  store {kind.llvm} %arg{i}, ptr %slot{i}")
        doubtful.append(f"%doubt{i}")
    lines += _any("doubtful", doubtful) + _any("wrong", wrong)
    lines += [
        "  br i1 %wrong, label %complain, label %inrange",
        "inrange:",
        "  br i1 %doubtful, label %ask, label %go",
        "ask:",
        "  %error = call ptr @PyErr_Occurred()",
        "  %erred = icmp ne ptr %error, null",
        "  br i1 %erred, label %complain, label %go",
        "complain:",  # the Python function of `complainer` finds what is wrong and raises
        "  call void @PyErr_Clear()",
        "  %complainer = load ptr, ptr %data",
        "  %never = call ptr @PyObject_Vectorcall(ptr %complainer, ptr %args, i64 %nargs, ptr null)",
        "  br label %failed",
        "failed:",
        "  ret ptr null",
        "none:",
        "  %nothing_at = getelementptr ptr, ptr %data, i64 1",
        "  %nothing = load ptr, ptr %nothing_at",
        "  call void @Py_IncRef(ptr %nothing)",
        "  ret ptr %nothing",
        "go:",
        body.strip("\n"),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _any(name: str, flags: list[str]) -> list[str]:
    """Lines that define ``%name`` as the disjunction of i1 values."""
    lines, last = [], flags[0]
    for k, flag in enumerate(flags[1:], 1):
        result = f"%{name}" if k == len(flags) - 1 else f"%{name}_{k}"
        lines.append(f"  {result} = or i1 {last}, {flag}")
        last = result
    return lines or [f"  %{name} = or i1 {last}, {last}"]


def data_word(name: str, index: int, llvm_type: str = "ptr") -> str:
    """Lines that load word ``index`` of those given to :func:`bind` into ``%name``."""
    return (
        f"  %{name}_at = getelementptr i64, ptr %data, i64 {index + RESERVED_WORDS}\n"
        f"  %{name} = load {llvm_type}, ptr %{name}_at\n"
    )


#: The first words of a bound function's data: the complainer and None.
RESERVED_WORDS = 2

_PYTHON_FUNCTIONS = {
    "PyBytes_AsString": "ptr (ptr)",
    "PyFloat_AsDouble": "double (ptr)",
    "PyComplex_RealAsDouble": "double (ptr)",
    "PyComplex_ImagAsDouble": "double (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_AsUnsignedLongLong": "i64 (ptr)",
    "PyErr_Occurred": "ptr ()",
    "PyErr_Clear": "void ()",
    "PyErr_NoMemory": "ptr ()",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_CallFunction": "ptr (ptr, ptr, ...)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "Py_IncRef": "void (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyLong_FromUnsignedLongLong": "ptr (i64)",
    "PyFloat_FromDouble": "ptr (double)",
    "Py_DecRef": "void (ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyObject_RichCompareBool": "i32 (ptr, ptr, i32)",
    "PySequence_Concat": "ptr (ptr, ptr)",
    "PyTuple_Pack": "ptr (i64, ...)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_GetSlice": "ptr (ptr, i64, i64)",
    "PyTuple_Size": "i64 (ptr)",
    "PyObject_Size": "i64 (ptr)",
    "PySlice_Unpack": "i32 (ptr, ptr, ptr, ptr)",
    "PySlice_AdjustIndices": "i64 (i64, ptr, ptr, i64)",
    "PyObject_Hash": "i64 (ptr)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
    "PyList_New": "ptr (i64)",
    "PyList_Size": "i64 (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)",
    "PyList_Append": "i32 (ptr, ptr)",
    "PyList_SetSlice": "i32 (ptr, i64, i64, ptr)",
}


def _declarations(ir: str) -> str:
    """Declarations of the C functions of Python that ``ir`` calls."""
    lines = []
    for name, prototype in _PYTHON_FUNCTIONS.items():
        if f"@{name}(" in ir:
            result, _, parameters = prototype.partition(" ")
            lines.append(f"declare {result} @{name}{parameters}")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------- compiling, loading

#: Held by whoever compiles, kernels too: one at a time, for the compilers have locks of their own.
making = threading.RLock()

if hasattr(os, "register_at_fork"):
    # A child that begins in the midst of a compilation would wait for ever for the compilers' and importers' locks.
    os.register_at_fork(before=making.acquire, after_in_parent=making.release, after_in_child=making.release)


@functools.cache
def llvm() -> Any:
    """llvmlite's binding, initialised for this machine. Imported when the first native function is needed."""
    import llvmlite.binding

    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    return llvmlite.binding


def llvm_version() -> str:
    import llvmlite

    return f"{llvmlite.__version__}-{'.'.join(map(str, llvm().llvm_version_info))}"


@functools.cache
def host() -> tuple[str, str]:
    """Name and features of this machine's processor, as LLVM has them."""
    try:
        features = llvm().get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot ask on every processor
        features = ""
    return llvm().get_host_cpu_name(), features


def target_machine(cpu: str, features: str, level: int) -> Any:
    """LLVM's code generator. Made anew each time: one must not be used by two threads."""
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True)


@functools.cache
def _linker() -> Any:
    # JITLink lays all sections of an object side by side, within reach of the small code model's 32-bit offsets. The
    # older linker asks for memory section by section, and aborts where a GPU's driver has taken the neighbourhood.
    linker = llvm().create_lljit_compiler(target_machine("", "", 1), use_jit_link=True)
    keep(linker)
    return linker


_library_numbers = itertools.count()
#: What native code is, or holds by address. One reference too many keeps it while the interpreter shuts down, when
#: modules are cleared and others may still call the code: finalisers, and the deleters of exported memory.
_alive: list[object] = []
if HAVE_C_API:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_alive))


def link(artifact: bytes, exports: Sequence[str], symbols: Mapping[str, int]) -> dict[str, int]:
    """Load an object file; the addresses of its exported functions. 0.2 ms."""
    builder = llvm().JITLibraryBuilder().add_object_img(artifact)
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    library = builder.link(_linker(), f"nbx{next(_library_numbers)}")
    keep(library)  # unloads its code when it goes
    return {name: library[name] for name in exports}


def load(ir: str, exports: Sequence[str], symbols: Mapping[str, int] | None = None, level: int = 2) -> dict[str, int]:
    """Compile LLVM IR for this machine, or take the code from the disk cache; the addresses of its functions.

    The IR may call the C functions of Python that this module knows without declaring them; ``symbols`` are the
    addresses of others that it declares. ``level`` is the compiler's level of optimisation.
    """
    with making:
        return _load(ir, exports, symbols or {}, level)


def _load(ir: str, exports: Sequence[str], symbols: Mapping[str, int], level: int) -> dict[str, int]:
    version = llvm_version()
    text = f"native\0{platform.machine()}\0{sys.platform}\0{level}\0{ir}"
    key = sha256(text.encode()).hexdigest()
    entry = cache.load(key, version)
    if entry is not None:
        artifact = entry.artifact
    else:
        # Any processor of this kind: nothing here is worth its newest instructions.
        machine = target_machine("", "", level)
        module = llvm().parse_assembly(_declarations(ir) + ir)
        module.triple = llvm().get_process_triple()
        module.data_layout = str(machine.target_data)
        module.verify()
        artifact = machine.emit_object(module)
        cache.store(key, version, {}, artifact)
    return link(artifact, exports, _python_symbols() | dict(symbols))


@functools.cache
def _python_symbols() -> dict[str, int]:
    return {name: function_address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}


def function_address(function: Any) -> int:
    """The address of a ctypes function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


# ---------------------------------------------------------------------------------------------- callables


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


METH_NOARGS, METH_O, METH_FASTCALL = 0x4, 0x8, 0x80


def bind(address: int, words: Sequence[int], name: str, complainer: Callable[..., Any]) -> Callable[..., Any]:
    """A built-in function of the code at ``address`` (made by :func:`fastcall`) and 64-bit data words."""
    definition = _MethodDefinition(name.encode(), address, METH_FASTCALL, None)
    data = struct.pack(f"={len(words) + RESERVED_WORDS}Q", id(complainer), id(None), *(w & 2**64 - 1 for w in words))
    keep(definition, complainer)
    return _new_function()(ctypes.addressof(definition), data, None)


def function(address: int, flags: int, signature: str) -> Callable[..., Any]:
    """A built-in function of the code at ``address``, a PyCFunction of the given calling convention.

    ``signature`` is its name and parameters as in ``"f(x, y, /)"``, which `inspect.signature` reads.
    """
    return _new_function()(ctypes.addressof(_definition(address, flags, signature)), None, None)


def method(cls: type, address: int, flags: int, signature: str) -> Any:
    """The same as a method of ``cls``, for the caller to put there; the parameters begin with ``$self``."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
    new = prototype(("PyDescr_NewMethod", ctypes.pythonapi))
    return new(cls, ctypes.addressof(_definition(address, flags, signature)))


def _definition(address: int, flags: int, signature: str) -> _MethodDefinition:
    name, _, _ = signature.partition("(")
    definition = _MethodDefinition(name.encode(), address, flags, f"{signature}\n--\n\n".encode())
    keep(definition)
    return definition


def keep(*objects: object) -> None:
    """Keep what native code holds by address for as long as the process lives."""
    _alive.extend(objects)


@functools.cache
def _new_function() -> Callable[..., Any]:
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


def complainer(function: str, types: Sequence[str], names: Sequence[str]) -> Callable[..., Any]:
    """A Python function that says what is wrong with the arguments that the native code has refused."""

    def complain(*args: Any) -> None:
        check_arguments(function, types, names, args)
        raise ValueError(f"{function}: the grid {args[len(types) - 3 : len(types)]} is too large")

    return complain


def check_arguments(function: str, types: Sequence[str], names: Sequence[str], args: Sequence[Any]) -> None:
    """Raise TypeError or OverflowError as the native unboxing would."""
    if len(args) != len(types):
        raise TypeError(f"{function} takes {len(types)} arguments ({', '.join(names)}), {len(args)} were given")
    for i, (triton_type, name, value) in enumerate(zip(types, names, args, strict=True), 1):
        kind = argument_type(triton_type)
        if kind.format in "fd":
            if not hasattr(type(value), "__float__") and not hasattr(type(value), "__index__"):
                raise TypeError(f"{function}: argument {i} ({name}) must be a number, not {type(value).__name__}")
            float(value)
            continue
        unsigned_word = kind.high > 2**63
        if not (isinstance(value, int) or (hasattr(type(value), "__index__") and not unsigned_word)):
            raise TypeError(f"{function}: argument {i} ({name}) must be an integer, not {type(value).__name__}")
        if not kind.low <= int(value) <= kind.high:
            raise OverflowError(f"{function}: argument {i} ({name}) is {value}, out of range for {triton_type}")


# ---------------------------------------------------------------------------------------------- cells


class Cell:
    """A 64-bit integer that native code reads or adds to."""

    __slots__ = ("_cell", "address")

    def __init__(self, value: int = 0) -> None:
        self._cell = ctypes.c_int64(value)
        self.address = ctypes.addressof(self._cell)

    @property
    def value(self) -> int:
        return self._cell.value

    @value.setter
    def value(self, value: int) -> None:
        self._cell.value = value
