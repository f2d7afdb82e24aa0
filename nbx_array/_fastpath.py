"""The operators' fast path as native code.

A node of an expression costs what CPython takes for its method: 0.3 to 0.4 µs, of which a good part goes to entering
the method's frame from an operator. The hit of `nbx_array._array`'s tables, and nothing else, is therefore written here
once more as LLVM IR: two dictionary look-ups, tuples joined, one object made, one list append, 0.1 µs. Whatever does
not hit goes to the Python method, so that the native code decides nothing and raises nothing. Where CPython's C
interface cannot be reached, or its objects do not lie as expected, the Python methods stay.

Which references are held when: an allocation may collect garbage, that may run Python code, and another thread may then
realise the operand. So everything read from an operand is counted before the first allocation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nbx_array import _fast_elements, _journal
from nbx_array.backend import native, objects
from nbx_array.backend.contract import get_device
from nbx_array.backend.objects import count, load, slot_offsets, store, word
from nbx_array.kernels.signature import SAME, VALUE_DTYPES, Sig
from nbx_array.memory import Storage

if TYPE_CHECKING:
    from nbx_array._array import Operator

_ARRAY_SLOTS = ("sig", "dims", "args", "keep", "sources")
_SIG_SLOTS = ("binary", "reflected", "unary", "inside", "general", "element", "code")
_WORDS = ("array_type", "notes", "same", "true", *_fast_elements.WORDS, *_fast_elements.UNARY)
_SIGNATURES = len(_WORDS)  # further words: the signatures of elements,
_TYPES = _SIGNATURES + len(VALUE_DTYPES)  # NumPy's types of them,
_OPERATORS = _TYPES + len(VALUE_DTYPES)  # and of each operator its name and two Python methods, missed and whole


def _finish(array: Mapping[str, int]) -> str:
    """The end of each function: an array of %found, %dims, %all_args, %all_keep and %sources, all of them owned."""
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
        "done:\n  ret ptr %new\n"
    )


def _binary(table: str, array: Mapping[str, int], sig: Mapping[str, int]) -> str:
    """`self OP other` by the signature's table `binary`, or `other OP self` by `reflected`."""
    elements = "ptr %other, ptr %self" if table == "reflected" else "ptr %self, ptr %other"
    scalar_args = "ptr %one, ptr %args" if table == "reflected" else "ptr %args, ptr %one"
    return (
        f"define internal ptr @{table}(ptr %self, ptr %other, i64 %operator, i64 %operation) {{\n"
        "  %operands = alloca [2 x ptr]\n"
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
        + _finish(array)
        + "miss:\n"
        f"  %element = call ptr @operate({elements}, i64 %operation)\n"
        "  %no_element = icmp eq ptr %element, null\n  br i1 %no_element, label %python, label %answer\n"
        "answer:\n  ret ptr %element\n"
        "python:\n  %method_index = add i64 %operator, 1\n"
        + word("method", "%method_index")
        + "  store ptr %self, ptr %operands\n"
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
        + _finish(array)
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


def _operator(name: str, row: Operator, index: int) -> str:
    """An operator twice: as it is, and `careful`, where deferring takes the whole Python method and elements do not."""
    if row.kind != "unary":
        operation = _fast_elements.BINARY.index(row.operation) if row.operation in _fast_elements.BINARY else -1
        elements = "ptr %other, ptr %self" if row.kind == "reflected" else "ptr %self, ptr %other"
        return (
            f"define ptr @{name}(ptr %self, ptr %other) {{\n"
            f"  %result = call ptr @{row.kind}(ptr %self, ptr %other, i64 {index}, i64 {operation})\n"
            "  ret ptr %result\n}\n"
            f"define ptr @careful{name}(ptr %self, ptr %other) {{\n  %operands = alloca [2 x ptr]\n"
            f"  %hit = call ptr @operate({elements}, i64 {operation})\n"
            "  %missed = icmp eq ptr %hit, null\n  br i1 %missed, label %python, label %done\n"
            "done:\n  ret ptr %hit\npython:\n" + word("method", index + 2) + "  store ptr %self, ptr %operands\n"
            "  %second = getelementptr ptr, ptr %operands, i64 1\n  store ptr %other, ptr %second\n"
            "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 2, ptr null)\n"
            "  ret ptr %result\n}\n"
        )
    operation = _fast_elements.UNARY.index(row.operation)
    head = (
        "  %operand = alloca ptr\n"
        f"  %element = call ptr @alter(ptr %self, i64 {operation})\n"
        "  %no_element = icmp eq ptr %element, null\n  br i1 %no_element, label %look, label %answer\n"
        "answer:\n  ret ptr %element\nlook:\n"
    )
    call = (
        "  store ptr %self, ptr %operand\n"
        "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operand, i64 1, ptr null)\n"
        "  ret ptr %result\n}\n"
    )
    return (
        f"define ptr @{name}(ptr %self, ptr %ignored) {{\n"
        + head
        + word("name", index)
        + "  %hit = call ptr @unary(ptr %self, ptr %name)\n"
        + _FALL_BACK
        + word("method", index + 1)
        + call
        + f"define ptr @careful{name}(ptr %self, ptr %ignored) {{\n"
        + head
        + word("method", index + 2)
        + call
    )


def _function(name: str, method: int, careful: bool) -> str:
    """The function (operation, x) of one array, whose Python form is the word `method`."""
    text = (
        f"define ptr @{name}(ptr %ignored, ptr %args, i64 %nargs) {{\n"
        "  %two = icmp eq i64 %nargs, 2\n  br i1 %two, label %try, label %python\ntry:\n"
        "  %name = load ptr, ptr %args\n"
        "  %x_at = getelementptr ptr, ptr %args, i64 1\n  %x = load ptr, ptr %x_at\n"
        "  %operation0 = add i64 0, -1\n"
    )
    for k, operation in enumerate(_fast_elements.UNARY):
        text += word(operation, _WORDS.index(operation))
        text += f"  %is_{operation} = icmp eq ptr %name, %{operation}\n"
        text += f"  %operation{k + 1} = select i1 %is_{operation}, i64 {k}, i64 %operation{k}\n"
    text += (
        f"  %element = call ptr @alter(ptr %x, i64 %operation{len(_fast_elements.UNARY)})\n"
        "  %no_element = icmp eq ptr %element, null\n  br i1 %no_element, label %look, label %answer\n"
        "answer:\n  ret ptr %element\nlook:\n"
    )
    if careful:
        text += "  br label %python\npython:\n"
    else:
        text += "  %hit = call ptr @unary(ptr %x, ptr %name)\n" + _FALL_BACK
    return (
        text
        + word("method", method)
        + "  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %nargs, ptr null)\n"
        "  ret ptr %result\n}\n"
    )


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


class Native(NamedTuple):
    """Native methods by their names, and the function (operation, x) of one array, quick and careful ones."""

    quick: Mapping[str, Any]
    careful: Mapping[str, Any]
    quick_function: Callable[..., Any]
    careful_function: Callable[..., Any]


def install(
    cls: type, operators: Mapping[str, Operator], in_place: Mapping[str, str], function: Callable[..., Any]
) -> Native | None:
    """Native code for operators of `cls`, given by their names, which falls back on their Python methods.

    The caller puts the quick or the careful ones in place; methods that only elements gain from are there after the
    call. `in_place` gives the operations of methods such as `__iadd__`, `function` is the Python function (operation,
    x) of one array. None where this interpreter's objects cannot be made by native code: then nothing has changed.
    """
    if not objects.AVAILABLE:
        return None
    singles = ["__getitem__", "__setitem__", *_fast_elements.CONVERSIONS, *in_place]
    first_single = _OPERATORS + 3 * len(operators) + 1
    words = {name: k for k, name in enumerate(_WORDS)} | {"signatures": _SIGNATURES, "types": _TYPES}
    words |= {name: first_single + k for k, name in enumerate(singles)}
    array, sig = slot_offsets(cls, _ARRAY_SLOTS), slot_offsets(Sig, _SIG_SLOTS)
    text = [_fast_elements.text(array, sig, slot_offsets(Storage, ("readers",)), words, in_place)]
    text += [_binary("binary", array, sig), _binary("reflected", array, sig), _unary(array, sig), _SURVIVORS]
    text += [_operator(name, row, _OPERATORS + 3 * k) for k, (name, row) in enumerate(operators.items())]
    text += [_function(name, first_single - 1, name == "careful") for name in ("quick", "careful")]
    held = [cls, _journal.notes, SAME, True, *_fast_elements.WORDS.values(), *_fast_elements.UNARY]
    held += _fast_elements.by_number(get_device("cpu"))
    held += [part for row in operators.values() for part in (row.operation, row.missed, row.method)]
    held += [function, *(vars(cls)[name] for name in singles)]
    careful = [f"careful{name}" for name in operators]
    code = objects.load_code("".join(text), [*operators, *careful, *singles, "quick", "careful", "survivors"], held)

    def method(name: str, symbol: str) -> Any:
        kind, parameters = native.METH_O, "other"
        if name in _fast_elements.CONVERSIONS or (name in operators and operators[name].kind == "unary"):
            return native.method(cls, code[symbol], native.METH_NOARGS, f"{name}($self, /)")
        if name == "__setitem__":
            kind, parameters = native.METH_FASTCALL, "key, value"
        elif name == "__getitem__":
            parameters = "key"
        return native.method(cls, code[symbol], kind, f"{name}($self, {parameters}, /)")

    for name in singles:
        setattr(cls, name, method(name, name))
    _journal.survivors = native.function(code["survivors"], native.METH_O, "survivors(batch, /)")
    return Native(
        {name: method(name, name) for name in operators},
        {name: method(name, f"careful{name}") for name in operators},
        native.function(code["quick"], native.METH_FASTCALL, "function(operation, x, /)"),
        native.function(code["careful"], native.METH_FASTCALL, "function(operation, x, /)"),
    )
