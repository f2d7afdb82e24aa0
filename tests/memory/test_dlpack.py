"""DLPack against NumPy in both directions: values, strides, dtypes, versions, flags, lifetimes, errors."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from nbx_array.backend.contract import get_device
from nbx_array.memory import transfer
from nbx_array.memory.pool import pool_of
from nbx_array.memory.storage import Storage
from nbx_array.memory.view import View, contiguous_strides

from nbx_array import _dlpack
from nbx_array._dlpack import from_capsule, to_capsule

CPU = get_device("cpu")
VERSIONS = [None, (1, 0), (1, 2)]


def view_of(array: np.ndarray, device=CPU) -> View:
    """A view of a copy of the array on a device, in C order."""
    return View(transfer.from_host(array, device), array.dtype, array.shape, contiguous_strides(array.shape))


class Producer:
    """An array of ours as a consumer sees it; `calls` lists what it was asked."""

    def __init__(self, view: View, readonly: bool = False) -> None:
        self.view = view
        self.readonly = readonly
        self.calls: list[dict] = []

    def __dlpack__(self, **arguments):
        self.calls.append(arguments)
        return to_capsule(self.view, readonly=self.readonly, **arguments)

    def __dlpack_device__(self):
        return _dlpack.dlpack_device(self.view.storage.device)


class Old(Producer):
    """A producer from before DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


def name_of(capsule) -> str:
    get = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    return get(capsule).decode()


BASE = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)
ARRAYS = {
    "0-d": np.array(3.5),
    "empty": np.zeros((3, 0, 2), np.int16),
    "one": np.array([7], np.int8),
    "prime": np.arange(1009, dtype=np.uint16),
    "matrix": np.arange(6.0).reshape(2, 3),
    "transposed": BASE.T,
    "sliced": BASE[::2, 1:4, ::3],
    "reversed": BASE[::-1, :, ::-2],
    "reversed empty": BASE[::-1, :0],
    "broadcast": np.broadcast_to(BASE[0, 0], (3, 6)),
    "read-only": np.frombuffer(b"abcdefgh", np.int32),
    **{
        dtype: np.array([0, 1, 1], dtype)
        for dtype in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
    },
}


# ------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("name", ARRAYS)
def test_import(name):
    array = ARRAYS[name]
    view, readonly = from_capsule(array)
    assert view.dtype is np.dtype(array.dtype.type) and view.shape == array.shape
    assert readonly is not array.flags.writeable
    assert view.storage.shared and view.storage.device is CPU
    seen = transfer.as_numpy(view)
    assert np.array_equal(seen, array)
    if array.size:
        assert seen.__array_interface__["data"][0] == array.__array_interface__["data"][0]
        assert view.offset >= 0 and view.storage.ptr + view.storage.nbytes >= view.address + array.itemsize


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "read-only"])
def test_export(name):
    array = ARRAYS[name]
    view, _ = from_capsule(array.copy() if name == "broadcast" else array, copy=None)
    if not array.flags.writeable:
        view = view_of(array)
    producer = Producer(view)
    theirs = np.from_dlpack(producer)
    assert theirs.dtype == array.dtype and theirs.shape == array.shape
    assert np.array_equal(theirs, array)
    assert view.storage.shared
    if array.size:
        assert theirs.__array_interface__["data"][0] == view.address
    if array.size > 1:
        assert theirs.strides == tuple(s * array.itemsize for s in view.strides)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["0-d", "empty", "matrix", "c8", "?"])
def test_both_versions(version, name):
    view = view_of(ARRAYS[name])

    class Versioned(Producer):
        def __dlpack__(self, **arguments):
            return to_capsule(self.view, max_version=version)

    capsule = Versioned(view).__dlpack__()
    assert name_of(capsule) == ("dltensor" if version is None else "dltensor_versioned")
    assert np.array_equal(np.from_dlpack(Versioned(view)), ARRAYS[name])
    again, _ = from_capsule(Versioned(view))
    assert np.array_equal(transfer.as_numpy(again), ARRAYS[name])


def test_bfloat16():
    array = np.array([1.5, -2, 3], ml_dtypes.bfloat16)
    view, _ = from_capsule(Producer(view_of(array)))
    assert view.dtype == array.dtype and np.array_equal(transfer.as_numpy(view), array)


def test_a_producer_from_before_version_1():
    view, readonly = from_capsule(Old(view_of(BASE)))
    assert np.array_equal(transfer.as_numpy(view), BASE) and not readonly
    assert np.array_equal(np.from_dlpack(Old(view_of(BASE))), BASE)


def test_null_strides_mean_c_order():
    extents = _dlpack._extents_of(view_of(BASE))
    tensor = _dlpack._described(view_of(BASE), extents)
    tensor.strides = None
    tensor.byte_offset = 24
    ctypes.c_int64.from_address(tensor.shape).value = 3
    view = _dlpack._view_of(tensor, CPU, extents)
    assert view.strides == (30, 6, 1)
    assert transfer.as_numpy(view).ravel()[0] == 6


def test_writes_are_seen_on_both_sides():
    array = np.zeros(5)
    view, _ = from_capsule(array)
    transfer.as_numpy(view)[1] = 7
    assert array[1] == 7
    array[2] = 8
    assert transfer.as_numpy(view)[2] == 8


# ------------------------------------------------------------------------------------------------ copies, read-only


def test_copy():
    array = np.arange(6.0).reshape(2, 3).T
    view, _ = from_capsule(array, copy=True)
    assert not view.storage.shared and view.strides == (2, 1)
    array[0] = 9
    assert transfer.as_numpy(view)[0, 0] == 0

    view = view_of(BASE)
    assert np.shares_memory(np.from_dlpack(Producer(view), copy=False), transfer.as_numpy(view))
    theirs = np.from_dlpack(Producer(view), copy=True)
    assert not np.shares_memory(theirs, transfer.as_numpy(view)) and np.array_equal(theirs, BASE)


def test_a_copy_leaves_the_storage_unshared():
    view = view_of(BASE)
    assert np.array_equal(np.from_dlpack(Producer(view), copy=True), BASE)
    assert not view.storage.shared


def test_read_only():
    array = np.frombuffer(b"abcdefgh", np.int32)
    view, readonly = from_capsule(array)
    assert readonly
    assert not np.from_dlpack(Producer(view, readonly)).flags.writeable
    copied, readonly = from_capsule(Producer(view, readonly), copy=True)
    assert not readonly and np.array_equal(transfer.as_numpy(copied), array)
    with pytest.raises(BufferError, match="read-only"):
        to_capsule(view, readonly=True)
    assert np.array_equal(np.from_dlpack(Producer(view, True), copy=True), array)


def test_unaligned_elements_are_copied():
    array = np.frombuffer(b"x" + np.arange(3.0).tobytes(), np.float64, offset=1)
    view, readonly = from_capsule(array)
    assert view.storage.ptr % 8 == 0 and not readonly
    assert np.array_equal(transfer.as_numpy(view), array)
    with pytest.raises(ValueError, match="aligned"):
        from_capsule(array, copy=False)


# ------------------------------------------------------------------------------------------------ lifetimes


class Watched(np.ndarray):
    """An ndarray that can be referred to weakly."""


@pytest.mark.parametrize("copy", [None, True])
def test_import_keeps_the_producer_and_lets_it_go(copy):
    array = np.arange(10.0).view(Watched)
    watch = weakref.ref(array)
    view, _ = from_capsule(array, copy=copy)
    del array
    gc.collect()
    assert (watch() is None) == bool(copy)
    assert transfer.as_numpy(view).tolist() == list(range(10))
    del view
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("version", VERSIONS)
def test_export_keeps_the_storage_and_lets_it_go(version):
    view = view_of(BASE)
    watch = weakref.ref(view.storage)

    class Versioned(Producer):
        def __dlpack__(self, **arguments):
            return to_capsule(self.view, max_version=version)

    theirs = np.from_dlpack(Versioned(view))
    del view
    gc.collect()
    assert watch() is not None and np.array_equal(theirs, BASE)
    del theirs
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capsule_that_nobody_consumes(version):
    view = view_of(BASE)
    watch = weakref.ref(view.storage)
    capsule = to_capsule(view, max_version=version)
    del view
    assert watch() is not None
    del capsule
    assert watch() is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capsule_is_consumed_once(version):
    view = view_of(BASE)
    watch = weakref.ref(view.storage)
    capsule = to_capsule(view, max_version=version)

    class Given:
        def __dlpack__(self, **arguments):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    ours, _ = from_capsule(Given())
    assert name_of(capsule) == ("used_dltensor" if version is None else "used_dltensor_versioned")
    with pytest.raises(BufferError, match="used"):
        from_capsule(Given())
    del view
    assert watch() is not None and np.array_equal(transfer.as_numpy(ours), BASE)
    del ours
    assert watch() is None


def test_through_our_hands_and_back_many_times():
    """References neither leak nor go missing."""
    array = np.arange(100.0)
    before = sys.getrefcount(array)
    for _ in range(1000):
        view, _ = from_capsule(array)
        np.from_dlpack(Producer(view))
        to_capsule(view)
    live = [view]
    for _ in range(50):
        live.append(from_capsule(Producer(live[-1]))[0])
    assert np.array_equal(transfer.as_numpy(live[-1]), array)
    del view, live
    gc.collect()
    assert sys.getrefcount(array) == before
    assert not [o for o in gc.get_objects() if isinstance(o, Storage) and getattr(o, "owner", None) is array]


def test_a_deleter_called_without_the_interpreters_lock_in_another_thread():
    view = view_of(BASE)
    watch = weakref.ref(view.storage)
    capsule = to_capsule(view)
    kind = _dlpack._kinds()["dltensor"]
    address = _dlpack._capsule_pointer(capsule, kind.name)
    _dlpack._rename_capsule(capsule, kind.used_name)
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_dlpack._Managed.from_address(address).deleter)
    del view, capsule
    thread = threading.Thread(target=deleter, args=(address,))  # CFUNCTYPE gives the lock away
    thread.start()
    thread.join()
    assert watch() is None
    deleter(None)


EXIT = """
import sys, threading, atexit
import numpy as np
from nbx_array._dlpack import from_capsule, to_capsule
from nbx_array.backend.contract import get_device
from nbx_array.memory import transfer
from nbx_array.memory.view import View
view = View(transfer.from_host(np.arange(10.), get_device("cpu")), np.dtype(float), (10,), (1,))
class Producer:
    def __dlpack__(self, **a): return to_capsule(view, max_version={version})
    def __dlpack_device__(self): return (1, 0)
theirs = np.from_dlpack(Producer())
unconsumed = to_capsule(view, max_version={version})
ours, _ = from_capsule(np.arange(5.))
both, _ = from_capsule(Producer())
loop = [theirs, unconsumed, ours, both]; loop.append(loop)
# What outlives every module: a class is torn down after the modules, a C global never is.
sys.keep = loop
np.keep = [np.from_dlpack(Producer()), to_capsule(view), from_capsule(Producer())]
import ctypes
immortal = np.from_dlpack(Producer()); ctypes.pythonapi.Py_IncRef(ctypes.py_object(immortal))
def last(): import gc; gc.collect()
atexit.register(last)
print("done")
"""

AFTER_THE_END = """
import ctypes, numpy as np
from nbx_array._dlpack import to_capsule, _kinds, _capsule_pointer, _rename_capsule
from nbx_array.backend.contract import get_device
from nbx_array.memory import transfer
from nbx_array.memory.view import View
view = View(transfer.from_host(np.arange(10.), get_device("cpu")), np.dtype(float), (10,), (1,))
kind = _kinds()["dltensor"]
capsule = to_capsule(view)
address = _capsule_pointer(capsule, kind.name)
_rename_capsule(capsule, kind.used_name)
# Called when the process exits, after Python's end.
ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(kind.delete), ctypes.c_void_p(address), None)
print("done", flush=True)
"""


def run_python(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout.strip() == "done" and not done.stderr, done.stderr


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_exit_with_memory_in_all_hands(version):
    run_python(EXIT.format(version=version))


@pytest.mark.skipif(sys.platform != "linux", reason="the C library's __cxa_atexit is called as on Linux")
def test_a_deleter_called_after_the_interpreters_end():
    run_python(AFTER_THE_END)


# ------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize("thing", [[1, 2], 3.0, None, type("Half", (), {"__dlpack__": None})()])
def test_what_has_no_dlpack(thing):
    with pytest.raises(AttributeError, match="from_dlpack"):
        from_capsule(thing)


def test_what_returns_no_capsule():
    class Liar:
        def __dlpack__(self, **arguments):
            return 42

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(BufferError, match="42"):
        from_capsule(Liar())


@pytest.mark.parametrize(("code", "bits", "lanes"), [(2, 32, 4), (2, 128, 1), (3, 64, 1), (0, 4, 1), (7, 8, 1)])
def test_unknown_elements(code, bits, lanes):
    extents = _dlpack._extents_of(view_of(BASE))
    tensor = _dlpack._described(view_of(BASE), extents)
    tensor.code, tensor.bits, tensor.lanes = code, bits, lanes
    with pytest.raises(BufferError, match=f"code {code}, {bits} bits, {lanes} lanes"):
        _dlpack._view_of(tensor, CPU, extents)


def test_dtypes_that_dlpack_lacks():
    array = np.zeros(3, "f8")
    with pytest.raises(BufferError, match="no type"):
        to_capsule(view_of(array)._replace(dtype=np.dtype("M8[s]")))


def test_a_newer_major_version():
    capsule = to_capsule(view_of(BASE), max_version=(1, 0))
    kind = _dlpack._kinds()["dltensor_versioned"]
    _dlpack._ManagedVersioned.from_address(_dlpack._capsule_pointer(capsule, kind.name)).major = 2

    class Newer:
        def __dlpack__(self, **arguments):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(BufferError, match=r"version 2\.0"):
        from_capsule(Newer())


def test_unknown_device():
    class Elsewhere(Producer):
        def __dlpack_device__(self):
            return (9, 0)

    with pytest.raises(BufferError, match="9"):
        from_capsule(Elsewhere(view_of(BASE)))


@pytest.mark.parametrize("stream", [1, 0, 77])
def test_the_cpu_has_no_streams(stream):
    with pytest.raises(ValueError, match="stream"):
        to_capsule(view_of(BASE), stream=stream)


@pytest.mark.parametrize("stream", ["1", 1.0, True])
def test_a_stream_is_an_integer(stream):
    with pytest.raises(TypeError, match="stream"):
        to_capsule(view_of(BASE), stream=stream)


def test_another_device_than_ours():
    with pytest.raises(BufferError, match="exported"):
        to_capsule(view_of(BASE), dl_device=(2, 0))
    assert to_capsule(view_of(BASE), dl_device=(1, 0))


@pytest.mark.parametrize(
    ("type_", "name"),
    [(1, "cpu"), (3, "cpu"), (11, "cpu"), (2, "cuda:1"), (13, "cuda:1"), (10, "hip:1")],
)
def test_devices(type_, name):
    assert _dlpack.device_of((type_, 0 if name == "cpu" else 1)) is get_device(name)


# ------------------------------------------------------------------------------------------------ GPUs


@pytest.mark.parametrize(("stream", "theirs"), [(None, 0), (1, 0), (2, 2), (12345, 12345)])
def test_the_consumers_stream_waits_for_ours(fake_gpu, stream, theirs):
    view = view_of(BASE, fake_gpu)
    driver = pool_of(fake_gpu).driver
    driver.log.clear()
    capsule = to_capsule(view, stream=stream)
    if theirs == 0:  # the same stream
        assert driver.log == []
    else:
        record, wait = driver.log
        assert record[:2] == ("record", 0) and wait == ("wait", theirs, record[2])
    del capsule


def test_stream_minus_one_asks_for_nothing(fake_gpu):
    view = view_of(BASE, fake_gpu)
    pool_of(fake_gpu).driver.log.clear()
    to_capsule(view, stream=-1)
    assert pool_of(fake_gpu).driver.log == []
    with pytest.raises(ValueError, match="ambiguous"):
        to_capsule(view, stream=0)


def test_the_producer_is_told_our_stream(fake_gpu):
    producer = Producer(view_of(BASE, fake_gpu))
    view, _ = from_capsule(producer)
    assert producer.calls == [{"stream": 1, "max_version": (1, 0)}]
    assert view.storage.device is fake_gpu and view.storage.ptr == producer.view.storage.ptr


def test_a_block_lent_to_another_stream_is_reused_after_the_device_was_waited_for(fake_gpu):
    pool = pool_of(fake_gpu)
    big = np.zeros(3 << 20, np.uint8)
    view = view_of(big, fake_gpu)
    ptr = view.storage.ptr
    for stream, waits in ((12345, True), (1, False)):
        capsule = to_capsule(view, stream=stream)
        del view
        pool.driver.log.clear()
        del capsule  # the consumer is done, its stream may not be
        assert ("synchronize", None) not in pool.driver.log
        view = view_of(big, fake_gpu)
        assert view.storage.ptr == ptr
        assert (("synchronize", None) in pool.driver.log) is waits


def test_to_the_cpu(fake_gpu):
    view = view_of(BASE, fake_gpu)
    ours, readonly = from_capsule(Producer(view), CPU)
    assert ours.storage.device is CPU and not readonly and np.array_equal(transfer.as_numpy(ours), BASE)
    with pytest.raises(ValueError, match="copy=False"):
        from_capsule(Producer(view), CPU, copy=False)
    view = view_of(BASE, fake_gpu)
    theirs = np.from_dlpack(Producer(view), device="cpu")
    assert np.array_equal(theirs, BASE) and not view.storage.shared
    with pytest.raises(BufferError, match="copy=False"):
        to_capsule(view, dl_device=(1, 0), copy=False)
    strided = view._replace(shape=(6, 4), strides=(-1, 30), offset=5)
    theirs = np.from_dlpack(Producer(strided), device="cpu")
    assert np.array_equal(theirs, BASE[:, 0, ::-1].T)


def test_to_the_gpu(fake_gpu):
    view, _ = from_capsule(BASE[:, ::2], fake_gpu)
    assert view.storage.device is fake_gpu and not view.storage.shared
    assert np.array_equal(transfer.to_host(view), BASE[:, ::2])
    with pytest.raises(ValueError, match="copy=False"):
        from_capsule(BASE, fake_gpu, copy=False)


def test_a_gpus_producer_makes_the_copy(fake_gpu):
    producer = Producer(view_of(BASE, fake_gpu))
    view, _ = from_capsule(producer, copy=True)
    assert producer.calls == [{"stream": 1, "max_version": (1, 0), "copy": True}]
    assert view.storage.ptr != producer.view.storage.ptr and not producer.view.storage.shared
    assert np.array_equal(transfer.to_host(view), BASE)
    view, _ = from_capsule(Old(producer.view), copy=True)
    assert view.storage.ptr != producer.view.storage.ptr
    assert np.array_equal(transfer.to_host(view), BASE)
