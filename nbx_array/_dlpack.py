"""DLPack both ways, in terms of views: capsules of our memory for others, and views of memory that others own.

What is handed out must be given back by native code: the consumer calls the deleter from any thread, with or without
the interpreter's lock, and perhaps when the interpreter is gone. So the deleter and the destructor of a capsule that
nobody consumed are compiled by llvmlite, their code is never unloaded, and a deleter that comes after the interpreter's
end does nothing.

The layout is DLPack's (https://dmlc.github.io/dlpack/latest/c_api.html), the behaviour the array API standard's.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from nbx_array.backend import native
from nbx_array.backend.contract import Device, get_device
from nbx_array.memory import transfer
from nbx_array.memory.pool import pool_of
from nbx_array.memory.storage import share, wrap
from nbx_array.memory.streams import current_stream, order
from nbx_array.memory.view import View, check_shape, contiguous_strides, is_contiguous, span

__all__ = ["Imported", "device_of", "dlpack_device", "from_capsule", "to_capsule"]

VERSION = (1, 0)  # exported, and asked for; every 1.x can be read

READ_ONLY = 1 << 0
IS_COPIED = 1 << 1

CPU, CUDA, CUDA_HOST, METAL, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 8, 10, 11, 13
DEVICE_TYPES = {"cpu": CPU, "cuda": CUDA, "metal": METAL, "hip": ROCM}
BACKENDS = {
    CPU: "cpu", CUDA_HOST: "cpu", ROCM_HOST: "cpu", CUDA: "cuda", CUDA_MANAGED: "cuda", METAL: "metal", ROCM: "hip",
}  # fmt: skip

INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
NAMES = {
    BOOL: ("bool",),
    INT: ("int8", "int16", "int32", "int64"),
    UINT: ("uint8", "uint16", "uint32", "uint64"),
    FLOAT: ("float16", "float32", "float64"),
    BFLOAT: (ml_dtypes.bfloat16,),
    COMPLEX: ("complex64", "complex128"),
}
DTYPES = {(code, np.dtype(name).itemsize * 8): np.dtype(name) for code, names in NAMES.items() for name in names}
CODES = {dtype: code for (code, _), dtype in DTYPES.items()}

MAX_DIMS = 64


# ------------------------------------------------------------------------------------------------ DLPack's structures


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),  # of int64
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLManagedTensor, of DLPack before 1.0."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class _Kind(NamedTuple):
    """A kind of capsule: its structure, and addresses of its names and of the native functions for it."""

    structure: type[Any]
    name: int
    used_name: int
    delete: int
    destroy: int


_FORMS = {
    "dltensor": _Managed,
    "dltensor_versioned": _ManagedVersioned,
}

_NATIVE = """
declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
"""

_NATIVE_FORM = """
@{name} = constant [{length} x i8] c"{name}\\00"
@used_{name} = constant [{used_length} x i8] c"used_{name}\\00"

; The deleter of what we export: drops the reference to the Python object that holds the memory.
define void @delete_{name}(ptr %managed) {{
  %is_null = icmp eq ptr %managed, null
  br i1 %is_null, label %done, label %ask
ask:
  %running = call i32 @Py_IsInitialized()
  %is_over = icmp eq i32 %running, 0
  br i1 %is_over, label %done, label %drop
drop:
  %state = call i32 @PyGILState_Ensure()
  %context_at = getelementptr i8, ptr %managed, i64 {context}
  %context = load ptr, ptr %context_at
  call void @Py_DecRef(ptr %context)
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  ret void
}}

; The destructor of a capsule: calls the deleter, unless a consumer has renamed the capsule and will do so.
define void @destroy_{name}(ptr %capsule) {{
  %valid = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @{name})
  %is_used = icmp eq i32 %valid, 0
  br i1 %is_used, label %done, label %get
get:
  %managed = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @{name})
  %deleter_at = getelementptr i8, ptr %managed, i64 {deleter}
  %deleter = load ptr, ptr %deleter_at
  %has_none = icmp eq ptr %deleter, null
  br i1 %has_none, label %done, label %delete
delete:
  call void %deleter(ptr %managed)
  br label %done
done:
  ret void
}}
"""


@functools.cache
def _kinds() -> dict[str, _Kind]:
    """The kinds of capsules by name, with their native functions compiled or loaded."""
    ir = _NATIVE
    exports: list[str] = []
    for name, structure in _FORMS.items():
        ir += _NATIVE_FORM.format(
            name=name,
            length=len(name) + 1,
            used_length=len(name) + 6,
            context=structure.context.offset,
            deleter=structure.deleter.offset,
        )
        exports += [name, f"used_{name}", f"delete_{name}", f"destroy_{name}"]
    functions = [line.split("@")[1].split("(")[0] for line in _NATIVE.strip().splitlines()]
    symbols = {name: native.function_address(getattr(ctypes.pythonapi, name)) for name in functions}
    address = native.load(ir, exports, symbols)
    return {
        name: _Kind(structure, *(address[f"{prefix}{name}"] for prefix in ("", "used_", "delete_", "destroy_")))
        for name, structure in _FORMS.items()
    }


def _python_function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new_capsule = _python_function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_is_capsule = _python_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_capsule_pointer = _python_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
_rename_capsule = _python_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_increase_references = _python_function("Py_IncRef", None, ctypes.py_object)


# ------------------------------------------------------------------------------------------------ devices


def dlpack_device(device: Device) -> tuple[int, int]:
    """What ``__dlpack_device__`` returns for an array on ``device``."""
    return DEVICE_TYPES[device.backend], device.index


def device_of(dl_device: tuple[int, int]) -> Device:
    """Our device for DLPack's (type, number); BufferError where there is none.

    Pinned host memory is the CPU's, managed memory the GPU's.
    """
    device_type, number = int(dl_device[0]), int(dl_device[1])
    backend = BACKENDS.get(device_type)
    if backend is None:
        raise BufferError(f"from_dlpack: memory of DLPack device type {device_type} cannot be used")
    return get_device("cpu" if backend == "cpu" else f"{backend}:{number}")


def _metal(device: Device) -> Any:
    """Metal's driver, which alone names memory by objects: `handle` and `adopt`."""
    return pool_of(device).driver


# ------------------------------------------------------------------------------------------------ export


def to_capsule(
    view: View,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
    readonly: bool = False,
) -> Any:
    """The capsule that ``__dlpack__`` returns for a view; the arguments are that method's.

    Without a copy, the storage is marked shared from now on; the caller has realised the expressions that read it.
    With ``copy=True`` a view on a GPU is packed. BufferError where the export is impossible: a read-only view for a
    consumer that cannot know it, another device, a copy that is needed and forbidden.
    """
    device = view.storage.device
    target = dlpack_device(device)
    if dl_device is not None and tuple(map(int, dl_device)) != target:
        if tuple(map(int, dl_device)) != (CPU, 0):
            raise BufferError(f"__dlpack__: an array on {device} cannot be exported to DLPack device {dl_device}")
        if copy is not False:
            view = _to_cpu(view)
        elif device.backend == "metal":  # the processor shares its memory; who writes to it synchronises
            _metal(device).synchronize(device.index)
            share(view.storage)
            view = view._replace(storage=wrap(view.storage.ptr, view.storage.nbytes, get_device("cpu"), view.storage))
        else:
            raise BufferError(f"__dlpack__: an array on {device} reaches the CPU only by a copy, and copy=False")
        copied, same_order = copy is not False, True
    else:
        copied = bool(copy)
        if copied:
            view = View(transfer.to_device(view, device), view.dtype, view.shape, contiguous_strides(view.shape))
        same_order = _hand_over(device, stream)
    versioned = max_version is not None and max_version[0] >= VERSION[0]
    if readonly and not copied and not versioned:
        raise BufferError(
            "__dlpack__: the array is read-only, which this version of DLPack cannot tell the consumer; "
            "it may ask for max_version=(1, 0) or a copy"
        )
    kind = _kinds()["dltensor_versioned" if versioned else "dltensor"]
    managed = kind.structure()
    if versioned:
        managed.major, managed.minor = VERSION
        managed.flags = (IS_COPIED if copied else 0) | (READ_ONLY if readonly and not copied else 0)
    extents = _extents_of(view)
    managed.tensor = _described(view, extents)
    if not copied:
        share(view.storage)
    holder = view.storage if same_order else pool_of(device).lend(view.storage)
    context = (holder, managed, extents)
    managed.context = id(context)
    managed.deleter = kind.delete
    _increase_references(context)
    return _new_capsule(ctypes.addressof(managed), kind.name, kind.destroy)


def _to_cpu(view: View) -> View:
    """A copy of a GPU's view in host memory."""
    if is_contiguous(view.shape, view.strides):
        return view._replace(storage=transfer.to_cpu(view), offset=0)
    array = transfer.to_host(view)
    low, high = span(view.shape, view.strides)
    itemsize = view.dtype.itemsize
    first = array.__array_interface__["data"][0]
    storage = wrap(first + low * itemsize, (high - low) * itemsize, get_device("cpu"), array)
    return View(storage, array.dtype, array.shape, tuple(s // itemsize for s in array.strides), -low)


def _extents_of(view: View) -> Any:
    """Lengths and strides as DLPack's tensor points to them."""
    return (ctypes.c_int64 * (2 * len(view.shape)))(*view.shape, *view.strides)


def _described(view: View, extents: Any) -> _Tensor:
    """A view in DLPack's words, with its extents, which must live as long as the tensor."""
    dtype = view.dtype
    code = CODES.get(dtype)
    if code is None:
        raise BufferError(f"__dlpack__: DLPack has no type for {dtype}")
    data, offset, ndim, first = view.address, 0, len(view.shape), ctypes.addressof(extents)
    device = view.storage.device
    if device.backend == "metal":  # memory is named by its object for a buffer
        data, offset = _metal(device).handle(data, device.index) if 0 not in view.shape else (0, 0)
    return _Tensor(data, *dlpack_device(device), ndim, code, dtype.itemsize * 8, 1, first, first + 8 * ndim, offset)


def _hand_over(device: Device, stream: int | None) -> bool:
    """Let the consumer's stream wait for ours, as the standard's ``stream`` asks; whether they are the same."""
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise TypeError(f"__dlpack__: stream is an integer or None, not {type(stream).__name__}")
    if device.backend == "cpu":
        if stream not in (None, -1):
            raise ValueError(f"__dlpack__: an array on {device} has no streams, so stream must be None, not {stream}")
        return True
    if device.backend == "metal":
        if stream not in (None, -1):
            raise ValueError(f"__dlpack__: an array on {device} has one stream, so stream must be None, not {stream}")
        pool_of(device).driver.synchronize(device.index)  # other libraries have queues of their own
        return False
    if stream == -1:  # the consumer wants no ordering
        return False
    if device.backend == "cuda":
        if stream == 0:
            raise ValueError("__dlpack__: stream 0 is ambiguous on CUDA; 1 is the legacy default stream, 2 per thread")
        theirs = 0 if stream in (None, 1) else stream
    else:
        if stream in (1, 2):
            raise ValueError(f"__dlpack__: stream {stream} means nothing on ROCm; the default stream is 0")
        theirs = stream or 0
    ours = current_stream(device)
    order(device, ours, theirs)
    return ours == theirs


# ------------------------------------------------------------------------------------------------ import


class Imported(NamedTuple):
    """A view of what a producer gave, and whether it may not be written to."""

    view: View
    readonly: bool


def from_capsule(producer: Any, device: Device | None = None, copy: bool | None = None) -> Imported:
    """A view of the memory of any object with ``__dlpack__`` and ``__dlpack_device__``.

    Without a copy the view's storage is shared and keeps the producer's memory until it dies itself. A copy is made
    where ``copy`` is True, for another ``device``, and for elements that are not aligned. ValueError where one is
    needed and ``copy`` is False, BufferError for what cannot be represented.
    """
    if not hasattr(producer, "__dlpack__") or not hasattr(producer, "__dlpack_device__"):
        raise AttributeError(
            f"from_dlpack: an object with __dlpack__ and __dlpack_device__ is needed, not {type(producer).__name__}"
        )
    source = device_of(producer.__dlpack_device__())
    target = source if device is None else device
    if copy is False and target is not source:
        raise ValueError(f"from_dlpack: going from {source} to {target} takes a copy, and copy=False was given")
    view, readonly, copied = _consume(_ask(producer, source, bool(copy)), source)
    element = view.dtype.itemsize // (2 if view.dtype.kind == "c" else 1)
    if view.storage.ptr % element:
        if copy is False:
            raise ValueError("from_dlpack: the elements are not aligned, which takes a copy, and copy=False was given")
        copy = True
    if target is not source or (copy and not copied):
        storage = transfer.to_device(view, target)
        return Imported(View(storage, view.dtype, view.shape, contiguous_strides(view.shape)), False)
    return Imported(view, readonly)


def _ask(producer: Any, source: Device, copy: bool) -> Any:
    """Call ``__dlpack__`` with our stream and the newest version, or without where the producer knows neither.

    A GPU's producer is also asked for a copy if one is wanted, since it can pack any strides on the device.
    """
    arguments: dict[str, Any] = {}
    if source.backend in ("cuda", "hip"):
        stream = current_stream(source)
        arguments["stream"] = 1 if stream == 0 and source.backend == "cuda" else stream
    newest: dict[str, Any] = {"max_version": VERSION}
    if copy and source.backend != "cpu":
        newest["copy"] = True
    try:
        return producer.__dlpack__(**arguments, **newest)
    except TypeError:  # written before DLPack 1.0
        return producer.__dlpack__(**arguments)


def _consume(capsule: Any, device: Device) -> tuple[View, bool, bool]:
    """Take over a capsule: the view, whether it is read-only, and whether the producer has copied for us."""
    for kind in _kinds().values():
        if _is_capsule(capsule, kind.name):
            break
    else:
        raise BufferError(f"from_dlpack: __dlpack__ returned {capsule!r}, which is no DLPack capsule or a used one")
    address = _capsule_pointer(capsule, kind.name)
    _rename_capsule(capsule, kind.used_name)
    # From here on a capsule of our own, which does what the producer's would have done, calls the deleter.
    owner = _new_capsule(address, kind.name, kind.destroy)
    managed = kind.structure.from_address(address)
    flags = 0
    if kind.structure is _ManagedVersioned:
        if managed.major != VERSION[0]:
            raise BufferError(f"from_dlpack: version {managed.major}.{managed.minor} of DLPack cannot be read")
        flags = managed.flags
    return _view_of(managed.tensor, device, owner), bool(flags & READ_ONLY), bool(flags & IS_COPIED)


def _view_of(tensor: _Tensor, device: Device, owner: object) -> View:
    dtype = DTYPES.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise BufferError(
            f"from_dlpack: no dtype for elements of code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        )
    if not 0 <= tensor.ndim <= MAX_DIMS:
        raise BufferError(f"from_dlpack: {tensor.ndim} dimensions are more than {MAX_DIMS}")
    numbers = ctypes.c_int64 * tensor.ndim
    shape = tuple(numbers.from_address(tensor.shape)) if tensor.ndim else ()
    check_shape(shape, dtype.itemsize)
    given = tensor.ndim and tensor.strides
    strides = tuple(numbers.from_address(tensor.strides)) if given else contiguous_strides(shape)
    low, high = span(shape, strides)
    first = tensor.data or 0
    if device.backend == "metal" and first:
        adopted = _metal(device).adopt(first, device.index)
        first, owner = adopted.address, (owner, adopted)
    first += tensor.byte_offset
    storage = wrap(first + low * dtype.itemsize, (high - low) * dtype.itemsize, device, owner)
    return View(storage, dtype, shape, strides, -low)
