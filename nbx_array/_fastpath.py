"""The operators' fast path as native code.

A node of an expression costs what CPython takes for its method: 0.3 to 0.4 µs, of which a good part goes to entering
the method's frame from an operator. The hit of `nbx_array._array`'s tables, and nothing else, is therefore written here
once more as LLVM IR: two dictionary look-ups, tuples joined, one object made, one list append, 0.1 µs. Whatever does
not hit goes to the Python method, so that the native code decides nothing and raises nothing. Where CPython's C
interface cannot be reached, or its objects do not lie as expected, the Python methods stay.

Which references are held when: an allocation may collect garbage, that may run Python code, and another thread may then
realise the operand. So everything read from an operand is counted before the first allocation, and its signature looked
at once more in the end (see `nbx_array._expression`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from nbx_array import _journal
from nbx_array.backend import native, objects
from nbx_array.backend.objects import count, load, slot_offsets, store, word
from nbx_array.kernels.signature import SAME, Sig

_ARRAY_SLOTS = ("sig", "dims", "args", "keep", "sources")
_SIG_SLOTS = ("binary", "reflected", "unary", "inside", "general")
_WORDS = ("array_type", "notes", "same", "true")  # further words: each operator's name and its Python method


def _finish(array: Mapping[str, int], check: str) -> str:
    """The end of each function: an array of %found, %dims, %all_args, %all_keep and %sources, all of them owned.

    `check` are lines that tell whether operands are no longer what they were, in %changed: then it is a miss.
    """
    return (
        "  %new = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)\n"
        "  %no_memory = icmp eq ptr %new, null\n"
        "  br i1 %no_memory, label %drop, label %fill\n"
        "drop:\n"
        + "".join(
            f"  call void @Py_DecRef(ptr %{owned})\n" for owned in ("found", "dims", "all_args", "all_keep", "sources")
        )
        + "  ret ptr null\nfill:\n"
        + store("found", "%new", array["sig"])
        + store("dims", "%new", array["dims"])
        + store("all_args", "%new", array["args"])
        + store("all_keep", "%new", array["keep"])
        + store("sources", "%new", array["sources"])
        + "  %no_args = icmp eq ptr %all_args, null\n"
        "  %no_keep = icmp eq ptr %all_keep, null\n"
        "  %no_parts = icmp eq ptr %sources, null\n"
        "  %parts_missing = and i1 %no_parts, %inside\n"
        "  %missing = or i1 %no_args, %no_keep\n"
        "  %failed = or i1 %missing, %parts_missing\n"
        "  br i1 %failed, label %undo, label %note\n"
        "note:\n"
        + word("notes", _WORDS.index("notes"))
        + "  %appended = call i32 @PyList_Append(ptr %notes, ptr %new)\n"
        "  %refused = icmp ne i32 %appended, 0\n"
        "  br i1 %refused, label %undo, label %done\n"
        "undo:\n  call void @Py_DecRef(ptr %new)\n  ret ptr null\n"
        "done:\n"
        + load("sig_now", "%self", array["sig"])
        + "  %self_changed = icmp ne ptr %sig_now, %sig\n"
        + check
        + "  br i1 %changed, label %again, label %well\n"
        "again:\n  call void @Py_DecRef(ptr %new)\n  br label %miss\n"
        "well:\n  ret ptr %new\n"
    )


def _binary(table: str, array: Mapping[str, int], sig: Mapping[str, int]) -> str:
    """`self OP other` by the signature's table `binary`, or `other OP self` by `reflected`."""
    scalar_args = "ptr %one, ptr %args" if table == "reflected" else "ptr %args, ptr %one"
    return (
        f"define internal ptr @{table}(ptr %self, ptr %other, i64 %operator) {{\n"
        + word("array_type", _WORDS.index("array_type"))
        + word("name", "%operator")
        + load("sig", "%self", array["sig"])
        + "  %raw = icmp eq ptr %sig, null\n  br i1 %raw, label %miss, label %made\nmade:\n"
        + load("table", "%sig", sig[table])
        + "  %inner = call ptr @PyDict_GetItemWithError(ptr %table, ptr %name)\n"
        "  %unknown = icmp eq ptr %inner, null\n  br i1 %unknown, label %miss, label %known\nknown:\n"
        + load("dims", "%self", array["dims"])
        + load("args", "%self", array["args"])
        + load("keep", "%self", array["keep"])
        + "  %type_at = getelementptr ptr, ptr %other, i64 1\n  %type = load ptr, ptr %type_at\n"
        "  %is_array = icmp eq ptr %type, %array_type\n  br i1 %is_array, label %with_array, label %look\n"
        "with_array:\n"
        "  %is_same = icmp eq ptr %self, %other\n  br i1 %is_same, label %with_self, label %with_other\n"
        "with_self:\n" + word("same", _WORDS.index("same")) + "  br label %look\n"
        "with_other:\n"
        + load("other_sig", "%other", array["sig"])
        + load("other_dims", "%other", array["dims"])
        + "  %unmade = icmp eq ptr %other_sig, null\n  br i1 %unmade, label %miss, label %compare\ncompare:\n"
        "  %one_dims = icmp eq ptr %dims, %other_dims\n  br i1 %one_dims, label %alike, label %examine\nexamine:\n"
        "  %equal = call i32 @PyObject_RichCompareBool(ptr %dims, ptr %other_dims, i32 2)\n"
        "  %agree = icmp eq i32 %equal, 1\n  br i1 %agree, label %alike, label %miss\nalike:\n"
        + load("other_args", "%other", array["args"])
        + load("other_keep", "%other", array["keep"])
        + "  br label %look\nlook:\n"
        "  %key = phi ptr [ %type, %known ], [ %same, %with_self ], [ %other_sig, %alike ]\n"
        "  %more_args = phi ptr [ null, %known ], [ null, %with_self ], [ %other_args, %alike ]\n"
        "  %more_keep = phi ptr [ null, %known ], [ null, %with_self ], [ %other_keep, %alike ]\n"
        "  %found = call ptr @PyDict_GetItemWithError(ptr %inner, ptr %key)\n"
        "  %absent = icmp eq ptr %found, null\n  br i1 %absent, label %miss, label %hit\nhit:\n"
        + count("found", "dims", "args", "keep")
        + word("true", _WORDS.index("true"))
        + load("inside_flag", "%found", sig["inside"])
        + "  %inside = icmp eq ptr %inside_flag, %true\n"
        "  %joins = icmp ne ptr %more_args, null\n  br i1 %joins, label %join, label %alone\n"
        "join:\n"
        "  call void @Py_IncRef(ptr %more_args)\n  call void @Py_IncRef(ptr %more_keep)\n"
        "  %joined_args = call ptr @PySequence_Concat(ptr %args, ptr %more_args)\n"
        "  %joined_keep = call ptr @PySequence_Concat(ptr %keep, ptr %more_keep)\n"
        "  call void @Py_DecRef(ptr %args)\n  call void @Py_DecRef(ptr %keep)\n"
        "  call void @Py_DecRef(ptr %more_args)\n  call void @Py_DecRef(ptr %more_keep)\n"
        "  br i1 %inside, label %join_parts, label %make\n"
        "join_parts:\n"
        "  %both = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %self, ptr %other)\n  br label %make\n"
        "alone:\n  br i1 %is_array, label %own, label %scalar\n"
        "scalar:\n"
        "  %one = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %other)\n"
        "  %no_one = icmp eq ptr %one, null\n  br i1 %no_one, label %own, label %append\nappend:\n"
        f"  %longer = call ptr @PySequence_Concat({scalar_args})\n"
        "  call void @Py_DecRef(ptr %one)\n  call void @Py_DecRef(ptr %args)\n  br label %own\n"
        "own:\n"
        "  %own_args = phi ptr [ %args, %alone ], [ null, %scalar ], [ %longer, %append ]\n"
        "  br i1 %inside, label %own_part, label %make\n"
        "own_part:\n  %single = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %self)\n  br label %make\n"
        "make:\n"
        "  %all_args = phi ptr [ %joined_args, %join ], [ %joined_args, %join_parts ],"
        " [ %own_args, %own ], [ %own_args, %own_part ]\n"
        "  %all_keep = phi ptr [ %joined_keep, %join ], [ %joined_keep, %join_parts ],"
        " [ %keep, %own ], [ %keep, %own_part ]\n"
        "  %sources = phi ptr [ null, %join ], [ %both, %join_parts ], [ null, %own ], [ %single, %own_part ]\n"
        + _finish(
            array,
            "  %looked_at = select i1 %joins, ptr %other, ptr %self\n"
            + load("other_now", "%looked_at", array["sig"])
            + "  %was = select i1 %joins, ptr %key, ptr %sig\n"
            "  %other_changed = icmp ne ptr %other_now, %was\n"
            "  %changed = or i1 %self_changed, %other_changed\n",
        )
        + "miss:\n"
        "  %method_index = add i64 %operator, 1\n"
        + word("method", "%method_index")
        + "  %operands = alloca [2 x ptr]\n  store ptr %self, ptr %operands\n"
        "  %second = getelementptr ptr, ptr %operands, i64 1\n  store ptr %other, ptr %second\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 2, ptr null)\n"
        "  ret ptr %result\n}\n"
    )


def _unary(array: Mapping[str, int], sig: Mapping[str, int]) -> str:
    """`name` of `self` by the signature's table; null without an exception where that has none."""
    return (
        "define internal ptr @unary(ptr %self, ptr %name) {\n"
        + word("array_type", _WORDS.index("array_type"))
        + "  %type_at = getelementptr ptr, ptr %self, i64 1\n  %type = load ptr, ptr %type_at\n"
        "  %is_array = icmp eq ptr %type, %array_type\n  br i1 %is_array, label %begin, label %miss\nbegin:\n"
        + load("sig", "%self", array["sig"])
        + "  %raw = icmp eq ptr %sig, null\n  br i1 %raw, label %miss, label %made\nmade:\n"
        + load("table", "%sig", sig["unary"])
        + "  %found = call ptr @PyDict_GetItemWithError(ptr %table, ptr %name)\n"
        "  %absent = icmp eq ptr %found, null\n  br i1 %absent, label %miss, label %known\nknown:\n"
        + word("true", _WORDS.index("true"))
        + load("general_flag", "%found", sig["general"])
        + "  %general = icmp eq ptr %general_flag, %true\n  br i1 %general, label %miss, label %hit\nhit:\n"
        + load("dims", "%self", array["dims"])
        + load("all_args", "%self", array["args"])
        + load("all_keep", "%self", array["keep"])
        + count("found", "dims", "all_args", "all_keep")
        + load("inside_flag", "%found", sig["inside"])
        + "  %inside = icmp eq ptr %inside_flag, %true\n  br i1 %inside, label %part, label %make\n"
        "part:\n  %single = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %self)\n  br label %make\n"
        "make:\n  %sources = phi ptr [ null, %hit ], [ %single, %part ]\n"
        + _finish(array, "  %changed = or i1 %self_changed, false\n")
        + "miss:\n  ret ptr null\n}\n"
    )


_FALL_BACK = """  %missed = icmp eq ptr %hit, null
  br i1 %missed, label %miss, label %done
done:
  ret ptr %hit
miss:
  %error = call ptr @PyErr_Occurred()
  %erred = icmp ne ptr %error, null
  br i1 %erred, label %done, label %python
python:
"""


def _text(array: Mapping[str, int], sig: Mapping[str, int], operators: Mapping[str, Operator]) -> str:
    """The module: a function for each operator, `function` (operation, x), and `survivors`."""
    text = [_binary("binary", array, sig), _binary("reflected", array, sig)]
    text += [_unary(array, sig), _SURVIVORS]
    for k, (name, row) in enumerate(operators.items()):
        index = len(_WORDS) + 2 * k
        if row.kind == "unary":
            text.append(
                f"define ptr @{name}(ptr %self, ptr %ignored) {{\n"
                + word("name", index)
                + "  %hit = call ptr @unary(ptr %self, ptr %name)\n"
                + _FALL_BACK
                + word("method", index + 1)
                + "  %operand = alloca ptr\n  store ptr %self, ptr %operand\n"
                "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operand, i64 1, ptr null)\n"
                "  ret ptr %result\n}\n"
            )
        else:
            text.append(
                f"define ptr @{name}(ptr %self, ptr %other) {{\n"
                f"  %result = call ptr @{row.kind}(ptr %self, ptr %other, i64 {index})\n  ret ptr %result\n}}\n"
            )
    text.append(
        "define ptr @function(ptr %ignored, ptr %args, i64 %nargs) {\n"
        "  %two = icmp eq i64 %nargs, 2\n  br i1 %two, label %try, label %python\ntry:\n"
        "  %name = load ptr, ptr %args\n"
        "  %x_at = getelementptr ptr, ptr %args, i64 1\n  %x = load ptr, ptr %x_at\n"
        "  %hit = call ptr @unary(ptr %x, ptr %name)\n"
        + _FALL_BACK
        + word("method", len(_WORDS) + 2 * len(operators))
        + "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %nargs, ptr null)\n"
        "  ret ptr %result\n}\n"
    )
    return "".join(text)


_SURVIVORS = """define ptr @survivors(ptr %ignored, ptr %batch) {
start:
  %kept = call ptr @PyList_New(i64 0)
  %size = call i64 @PyList_Size(ptr %batch)
  %none = icmp eq ptr %kept, null
  br i1 %none, label %done, label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %look ], [ %next, %keep ]
  %next = add i64 %k, 1
  %more = icmp slt i64 %k, %size
  br i1 %more, label %look, label %done
look:
  %item = call ptr @PyList_GetItem(ptr %batch, i64 %k)
  %count = load i32, ptr %item
  %unused = icmp eq i32 %count, 2
  br i1 %unused, label %loop, label %keep
keep:
  %appended = call i32 @PyList_Append(ptr %kept, ptr %item)
  %refused = icmp ne i32 %appended, 0
  br i1 %refused, label %drop, label %loop
drop:
  call void @Py_DecRef(ptr %kept)
  ret ptr null
done:
  ret ptr %kept
}
"""
"""Of the expressions in a list, those that more than it and the journal refer to. The reference count is an object's
first word, or the lower half of it; little-endian machines find it at the object's address."""


class Operator(NamedTuple):
    """A Python method that native code can stand in for."""

    method: Callable[..., Any]
    kind: str  # the table of the signature that it looks in
    operation: str  # its key there
    missed: Callable[..., Any]  # the rest of the method, for operands that are not in the table


def install(cls: type, operators: Mapping[str, Operator], function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace operators of `cls`, given by their names, by native code that falls back on their Python methods.

    `function` is the Python function (operation, x) of one array. Returns the one that stands in for it: itself where
    this interpreter's objects cannot be made by native code. Then nothing has changed.
    """
    if not objects.AVAILABLE:
        return function
    ir = _text(slot_offsets(cls, _ARRAY_SLOTS), slot_offsets(Sig, _SIG_SLOTS), operators)
    held = [cls, _journal.notes, SAME, True]
    held += [part for row in operators.values() for part in (row.operation, row.missed)] + [function]
    code = objects.load_code(ir, [*operators, "function", "survivors"], held)
    for name, row in operators.items():
        if row.kind == "unary":
            method = native.method(cls, code[name], native.METH_NOARGS, f"{name}($self, /)")
        else:
            method = native.method(cls, code[name], native.METH_O, f"{name}($self, other, /)")
        setattr(cls, name, method)
    _journal.survivors = native.function(code["survivors"], native.METH_O, "survivors(batch, /)")
    return native.function(code["function"], native.METH_FASTCALL, "function(operation, x, /)")
