"""Finalisers of storages, and what takes a small block from its bin, in Python and as native code.

Every operation of a small array goes through both. In Python they take 0.25 and 0.15 µs, as native code 0.1 and 0.05.
Nor does an interrupt (Ctrl-C) come into native code: it would be lost in a finaliser, and the block with it. It may
have come before a storage was filled.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Template
from typing import Any

from nbx_array.backend import native, objects
from nbx_array.backend.contract import Device
from nbx_array.memory.storage import Storage


def small_storage(device: Device) -> Any:
    """The class of storages of one device that lie in a block of a bin."""

    class SmallStorage(Storage):
        __slots__ = ("home",)

        home: list[int]  # the free blocks of its size

        def __del__(self) -> None:
            self.home.append(self.ptr)

    SmallStorage.device = device
    if objects.AVAILABLE:
        code = objects.load_code(_FINALISE, ["finalise"], {"storage": SmallStorage}, {"none": None})
        SmallStorage.__del__ = native.method(  # type: ignore[method-assign]
            SmallStorage, code["finalise"], native.METH_NOARGS, "__del__($self, /)"
        )
    return SmallStorage


def large_storage(device: Device, give_back: Callable[[tuple[int, int, int]], None]) -> Any:
    """The class of storages with a block of their own: `give_back` takes its bytes, its address and the bytes asked."""

    class LargeStorage(Storage):
        __slots__ = ("block",)

        block: int  # bytes of the block, which may be larger than nbytes

        def __del__(self) -> None:
            give_back((self.block, self.ptr, self.nbytes))

    LargeStorage.device = device
    if objects.AVAILABLE:
        words = {"none": None, "give_back": give_back}
        code = objects.load_code(_FINALISE_LARGE, ["finalise"], {"storage": LargeStorage}, words)
        LargeStorage.__del__ = native.method(  # type: ignore[method-assign]
            LargeStorage, code["finalise"], native.METH_NOARGS, "__del__($self, /)"
        )
    return LargeStorage


def small_allocator(
    cls: Any, free: list[list[int]], alignment: int, allocate_slowly: Callable[[int], Storage]
) -> Callable[[int], Storage]:
    """The function that pops a block from the bin of its size, ``free[bits of nbytes - 1]``, or calls another."""
    if objects.AVAILABLE:
        text = _ALLOCATE.substitute(low_bits=alignment - 1, bins=len(free))
        words = {"class": cls, "readers": (), "shared": False, "slowly": allocate_slowly}
        code = objects.load_code(text, ["allocate"], {"storage": cls}, words, {"free": free})
        return native.function(code["allocate"], native.METH_O, "allocate(nbytes, /)")
    low_bits = alignment - 1

    def allocate(nbytes: int) -> Storage:
        try:
            home = free[(nbytes - 1 | low_bits).bit_length()]
            ptr = home.pop()
        except IndexError:
            return allocate_slowly(nbytes)
        storage = cls()
        storage.ptr = ptr
        storage.nbytes = nbytes
        storage.readers = ()
        storage.shared = False
        storage.home = home
        return storage

    return allocate


_FINALISE = """
define ptr @finalise(ptr %self, ptr %ignored) {
  %home = slot storage.home %self
  %ptr = slot storage.ptr %self
  %empty = icmp eq ptr %home, null
  br i1 %empty, label %done, label %give_back
give_back:
  %appended = call i32 @PyList_Append(ptr %home, ptr %ptr)
  %refused = icmp ne i32 %appended, 0
  br i1 %refused, label %failed, label %done
failed:
  ret ptr null
done:
  %none = word none
  count %none
  ret ptr %none
}
"""

_FINALISE_LARGE = """
define ptr @finalise(ptr %self, ptr %ignored) {
  %argument = alloca ptr
  %block = slot storage.block %self
  %ptr = slot storage.ptr %self
  %nbytes = slot storage.nbytes %self
  %empty = icmp eq ptr %block, null
  br i1 %empty, label %done, label %pack
pack:
  %all = call ptr (i64, ...) @PyTuple_Pack(i64 3, ptr %block, ptr %ptr, ptr %nbytes)
  %no_memory = icmp eq ptr %all, null
  br i1 %no_memory, label %failed, label %give
give:
  %give_back = word give_back
  store ptr %all, ptr %argument
  %result = call ptr @PyObject_Vectorcall(ptr %give_back, ptr %argument, i64 1, ptr null)
  drop %all
  %refused = icmp eq ptr %result, null
  br i1 %refused, label %failed, label %given
given:
  drop %result
  br label %done
failed:
  ret ptr null
done:
  %none = word none
  count %none
  ret ptr %none
}
"""

_ALLOCATE = Template("""
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
define ptr @allocate(ptr %ignored, ptr %nbytes) {
  %argument = alloca ptr
  %asked = call i64 @PyLong_AsLongLong(ptr %nbytes)
  %positive = call i64 @llvm.smax.i64(i64 %asked, i64 1)
  %last = sub i64 %positive, 1
  %ones = or i64 %last, $low_bits
  %zeros = call i64 @llvm.ctlz.i64(i64 %ones, i1 true)
  %bin = sub i64 64, %zeros
  %small = icmp slt i64 %bin, $bins
  %sensible = icmp sge i64 %asked, 0
  %quick = and i1 %small, %sensible
  br i1 %quick, label %look, label %slow
look:
  %home = word free[%bin]
  %size = call i64 @PyList_Size(ptr %home)
  %some = icmp sgt i64 %size, 0
  br i1 %some, label %take, label %slow
take:
  %top = sub i64 %size, 1
  %ptr = call ptr @PyList_GetItem(ptr %home, i64 %top)
  count %ptr
  %cut = call i32 @PyList_SetSlice(ptr %home, i64 %top, i64 %size, ptr null)
  %class = word class
  %new = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %no_memory = icmp eq ptr %new, null
  br i1 %no_memory, label %give_back, label %make
give_back:
  %appended = call i32 @PyList_Append(ptr %home, ptr %ptr)
  ret ptr null
make:
  %readers = word readers
  %shared = word shared
  count %home, %nbytes, %readers, %shared
  fill storage.home %new, %home
  fill storage.nbytes %new, %nbytes
  fill storage.ptr %new, %ptr
  fill storage.readers %new, %readers
  fill storage.shared %new, %shared
  ret ptr %new
slow:
  call void @PyErr_Clear() ; of what is no integer
  %slowly = word slowly
  store ptr %nbytes, ptr %argument
  %result = call ptr @PyObject_Vectorcall(ptr %slowly, ptr %argument, i64 1, ptr null)
  ret ptr %result
}
""")
