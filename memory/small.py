"""Finalisers of storages, and what takes a small block from its bin, in Python and as native code.

Every operation of a small array goes through both. In Python they take 0.25 and 0.15 µs, as native code 0.1 and 0.05.
Nor does an interrupt (Ctrl-C) come into native code: it would be lost in a finaliser, and the block with it. It may
have come before a storage was filled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbx_array.backend import native, objects
from nbx_array.backend.contract import Device
from nbx_array.backend.objects import count, load, store, word
from nbx_array.memory.storage import Storage

_SLOTS = ("home", "nbytes", "ptr", "readers", "shared")


def small_storage(device: Device) -> Any:
    """The class of storages of one device that lie in a block of a bin."""

    class SmallStorage(Storage):
        __slots__ = ("home",)

        home: list[int]  # the free blocks of its size

        def __del__(self) -> None:
            self.home.append(self.ptr)

    SmallStorage.device = device
    if objects.AVAILABLE:
        text = _finaliser(objects.slot_offsets(SmallStorage, _SLOTS))
        code = objects.load_code(text, ["finalise"], [None])
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
        text = _large_finaliser(objects.slot_offsets(LargeStorage, ("block", "ptr", "nbytes")))
        code = objects.load_code(text, ["finalise"], [None, give_back])
        LargeStorage.__del__ = native.method(  # type: ignore[method-assign]
            LargeStorage, code["finalise"], native.METH_NOARGS, "__del__($self, /)"
        )
    return LargeStorage


def small_allocator(
    cls: Any, free: list[list[int]], alignment: int, allocate_slowly: Callable[[int], Storage]
) -> Callable[[int], Storage]:
    """The function that pops a block from the bin of its size, ``free[bits of nbytes - 1]``, or calls another."""
    if objects.AVAILABLE:
        text = _allocator(objects.slot_offsets(cls, _SLOTS), alignment, len(free))
        code = objects.load_code(text, ["allocate"], [cls, (), False, allocate_slowly, *free])
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


def _finaliser(slot: dict[str, int]) -> str:
    return (
        "define ptr @finalise(ptr %self, ptr %ignored) {\n"
        + load("home", "%self", slot["home"])
        + load("ptr", "%self", slot["ptr"])
        + "  %empty = icmp eq ptr %home, null\n  br i1 %empty, label %done, label %give_back\n"
        "give_back:\n"
        "  %appended = call i32 @PyList_Append(ptr %home, ptr %ptr)\n"
        "  %refused = icmp ne i32 %appended, 0\n  br i1 %refused, label %failed, label %done\n"
        "failed:\n  ret ptr null\ndone:\n" + word("none", 0) + count("none") + "  ret ptr %none\n}\n"
    )


def _large_finaliser(slot: dict[str, int]) -> str:
    return (
        "define ptr @finalise(ptr %self, ptr %ignored) {\n"
        + load("block", "%self", slot["block"])
        + load("ptr", "%self", slot["ptr"])
        + load("nbytes", "%self", slot["nbytes"])
        + "  %empty = icmp eq ptr %block, null\n  br i1 %empty, label %done, label %pack\npack:\n"
        "  %all = call ptr (i64, ...) @PyTuple_Pack(i64 3, ptr %block, ptr %ptr, ptr %nbytes)\n"
        "  %no_memory = icmp eq ptr %all, null\n  br i1 %no_memory, label %failed, label %give\ngive:\n"
        + word("give_back", 1)
        + "  %argument = alloca ptr\n  store ptr %all, ptr %argument\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %give_back, ptr %argument, i64 1, ptr null)\n"
        "  call void @Py_DecRef(ptr %all)\n"
        "  %refused = icmp eq ptr %result, null\n  br i1 %refused, label %failed, label %given\n"
        "given:\n  call void @Py_DecRef(ptr %result)\n  br label %done\n"
        "failed:\n  ret ptr null\ndone:\n" + word("none", 0) + count("none") + "  ret ptr %none\n}\n"
    )


def _allocator(slot: dict[str, int], alignment: int, bins: int) -> str:
    return (
        "declare i64 @llvm.ctlz.i64(i64, i1)\ndeclare i64 @llvm.smax.i64(i64, i64)\n"
        "define ptr @allocate(ptr %ignored, ptr %nbytes) {\n"
        "  %asked = call i64 @PyLong_AsLongLong(ptr %nbytes)\n"
        "  %positive = call i64 @llvm.smax.i64(i64 %asked, i64 1)\n"
        "  %last = sub i64 %positive, 1\n"
        f"  %ones = or i64 %last, {alignment - 1}\n"
        "  %zeros = call i64 @llvm.ctlz.i64(i64 %ones, i1 true)\n"
        "  %bin = sub i64 64, %zeros\n"
        f"  %small = icmp slt i64 %bin, {bins}\n"
        "  %sensible = icmp sge i64 %asked, 0\n"
        "  %quick = and i1 %small, %sensible\n"
        "  br i1 %quick, label %look, label %slow\nlook:\n"
        "  %place = add i64 %bin, 4\n" + word("home", "%place") + "  %size = call i64 @PyList_Size(ptr %home)\n"
        "  %some = icmp sgt i64 %size, 0\n  br i1 %some, label %take, label %slow\ntake:\n"
        "  %top = sub i64 %size, 1\n"
        "  %ptr = call ptr @PyList_GetItem(ptr %home, i64 %top)\n"
        + count("ptr")
        + "  %cut = call i32 @PyList_SetSlice(ptr %home, i64 %top, i64 %size, ptr null)\n"
        + word("class", 0)
        + "  %new = call ptr @PyType_GenericAlloc(ptr %class, i64 0)\n"
        "  %no_memory = icmp eq ptr %new, null\n  br i1 %no_memory, label %give_back, label %fill\n"
        "give_back:\n  %appended = call i32 @PyList_Append(ptr %home, ptr %ptr)\n  ret ptr null\n"
        "fill:\n"
        + word("readers", 1)
        + word("shared", 2)
        + count("home", "nbytes", "readers", "shared")
        + "".join(store(name, "%new", slot[name]) for name in ("home", "nbytes", "ptr", "readers", "shared"))
        + "  ret ptr %new\nslow:\n"
        "  call void @PyErr_Clear()\n"  # of what is no integer
         + word("slowly", 3) + "  %argument = alloca ptr\n  store ptr %nbytes, ptr %argument\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %slowly, ptr %argument, i64 1, ptr null)\n"
        "  ret ptr %result\n}\n"
    )
