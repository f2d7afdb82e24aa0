"""The operators' fast path as native code.

A node of an expression costs what CPython takes for its method: 0.3 to 0.4 µs, of which a good part goes to entering
the method's frame from an operator. The hit of `nbx_array._array`'s tables, and nothing else, is therefore written here
once more as LLVM IR: two dictionary look-ups, tuples joined, one object made, one list append, 0.1 µs. What does not
hit goes to `_fast_arithmetic`, for elements, and then to the Python method, so that the native code decides nothing and
raises nothing. Where CPython's C interface cannot be reached, or its objects do not lie as expected, the Python methods
stay.

Which references are held when: an allocation may collect garbage, that may run Python code, and another thread may then
realise the operand. So everything read from an operand is counted before the first allocation, and its signature looked
at once more in the end (see `nbx_array._expression`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from nbx_array import _fast_elements, _fast_values, _journal
from nbx_array._fast_arithmetic import BINARY, UNARY
from nbx_array.backend import native, objects
from nbx_array.backend.contract import get_device
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.memory import Storage

if TYPE_CHECKING:
    from nbx_array._array import Operator

_FINISH = """
define internal ptr @finish(ptr %found, ptr %dims, ptr %args, ptr %keep, ptr %sources, i1 %inside) {
  %array_type = word array_type
  %new = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)
  %no_memory = icmp eq ptr %new, null
  br i1 %no_memory, label %lose, label %make
lose:
  drop %found, %dims, %args, %keep, %sources
  ret ptr null
make:
  fill array.sig %new, %found
  fill array.dims %new, %dims
  fill array.args %new, %args
  fill array.keep %new, %keep
  fill array.sources %new, %sources
  %no_args = icmp eq ptr %args, null
  %no_keep = icmp eq ptr %keep, null
  %no_parts = icmp eq ptr %sources, null
  %parts_missing = and i1 %no_parts, %inside
  %missing = or i1 %no_args, %no_keep
  %failed = or i1 %missing, %parts_missing
  br i1 %failed, label %undo, label %note
note:
  %notes = word notes
  %appended = call i32 @PyList_Append(ptr %notes, ptr %new)
  %refused = icmp ne i32 %appended, 0
  br i1 %refused, label %undo, label %done
undo:
  drop %new
  ret ptr null
done:
  ret ptr %new
}
"""
"""The end of a hit: an array, whose parts are all owned. A part that could not be made is null."""

_BINARY = Template("""
define internal ptr @$table(ptr %self, ptr %other, i64 %operator, i64 %operation) {
  %array_type = word array_type
  %name = word operators[%operator]
  %sig = slot array.sig %self
  %raw = icmp eq ptr %sig, null
  br i1 %raw, label %miss, label %made
made:
  %table = slot sig.$table %sig
  %inner = call ptr @PyDict_GetItemWithError(ptr %table, ptr %name)
  %unknown = icmp eq ptr %inner, null
  br i1 %unknown, label %miss, label %known
known:
  %dims = slot array.dims %self
  %args = slot array.args %self
  %keep = slot array.keep %self
  %type_at = getelementptr ptr, ptr %other, i64 1
  %type = load ptr, ptr %type_at
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %with_array, label %look
with_array:
  %is_same = icmp eq ptr %self, %other
  br i1 %is_same, label %with_self, label %with_other
with_self:
  %same = word same
  br label %look
with_other:
  %other_sig = slot array.sig %other
  %other_dims = slot array.dims %other
  %unmade = icmp eq ptr %other_sig, null
  br i1 %unmade, label %miss, label %compare
compare:
  %one_dims = icmp eq ptr %dims, %other_dims
  br i1 %one_dims, label %alike, label %examine
examine:
  %equal = call i32 @PyObject_RichCompareBool(ptr %dims, ptr %other_dims, i32 2)
  %agree = icmp eq i32 %equal, 1
  br i1 %agree, label %alike, label %miss
alike:
  %other_args = slot array.args %other
  %other_keep = slot array.keep %other
  br label %look
look:
  %key = phi ptr [ %type, %known ], [ %same, %with_self ], [ %other_sig, %alike ]
  %more_args = phi ptr [ null, %known ], [ null, %with_self ], [ %other_args, %alike ]
  %more_keep = phi ptr [ null, %known ], [ null, %with_self ], [ %other_keep, %alike ]
  %found = call ptr @PyDict_GetItemWithError(ptr %inner, ptr %key)
  %absent = icmp eq ptr %found, null
  br i1 %absent, label %miss, label %hit
hit:
  count %found, %dims, %args, %keep
  %true = word true
  %inside_flag = slot sig.inside %found
  %inside = icmp eq ptr %inside_flag, %true
  %joins = icmp ne ptr %more_args, null
  br i1 %joins, label %join, label %alone
join:
  count %more_args, %more_keep
  %joined_args = call ptr @PySequence_Concat(ptr %args, ptr %more_args)
  %joined_keep = call ptr @PySequence_Concat(ptr %keep, ptr %more_keep)
  drop %args, %keep, %more_args, %more_keep
  br i1 %inside, label %join_parts, label %make
join_parts:
  %both = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %self, ptr %other)
  br label %make
alone:
  br i1 %is_array, label %own, label %scalar
scalar:
  %one = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %other)
  %no_one = icmp eq ptr %one, null
  br i1 %no_one, label %own, label %append
append:
  %longer = call ptr @PySequence_Concat($scalar_args)
  drop %one, %args
  br label %own
own:
  %own_args = phi ptr [ %args, %alone ], [ null, %scalar ], [ %longer, %append ]
  br i1 %inside, label %own_part, label %make
own_part:
  %single = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %self)
  br label %make
make:
  %all_args = phi ptr [ %joined_args, %join ], [ %joined_args, %join_parts ],
    [ %own_args, %own ], [ %own_args, %own_part ]
  %all_keep = phi ptr [ %joined_keep, %join ], [ %joined_keep, %join_parts ], [ %keep, %own ], [ %keep, %own_part ]
  %sources = phi ptr [ null, %join ], [ %both, %join_parts ], [ null, %own ], [ %single, %own_part ]
  %new = call ptr @finish(ptr %found, ptr %dims, ptr %all_args, ptr %all_keep, ptr %sources, i1 %inside)
  %no_new = icmp eq ptr %new, null
  br i1 %no_new, label %give, label %check
check:
  %sig_now = slot array.sig %self
  %self_changed = icmp ne ptr %sig_now, %sig
  %looked_at = select i1 %joins, ptr %other, ptr %self
  %other_now = slot array.sig %looked_at
  %was = select i1 %joins, ptr %key, ptr %sig
  %other_changed = icmp ne ptr %other_now, %was
  %changed = or i1 %self_changed, %other_changed
  br i1 %changed, label %again, label %give
again:
  drop %new
  br label %miss
give:
  ret ptr %new
miss:
  %element = call ptr @operate($elements, i64 %operation)
  %no_element = icmp eq ptr %element, null
  br i1 %no_element, label %python, label %answer
answer:
  ret ptr %element
python:
  %method_index = add i64 %operator, 1
  %method = word operators[%method_index]
  %result = call ptr @call_with_two(ptr %method, ptr %self, ptr %other)
  ret ptr %result
}
""")
"""`self OP other` by the signature's table `binary`, or `other OP self` by `reflected`."""

_UNARY = """
define internal ptr @unary(ptr %self, ptr %name) {
  %array_type = word array_type
  %type_at = getelementptr ptr, ptr %self, i64 1
  %type = load ptr, ptr %type_at
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %begin, label %miss
begin:
  %sig = slot array.sig %self
  %raw = icmp eq ptr %sig, null
  br i1 %raw, label %miss, label %made
made:
  %table = slot sig.unary %sig
  %found = call ptr @PyDict_GetItemWithError(ptr %table, ptr %name)
  %absent = icmp eq ptr %found, null
  br i1 %absent, label %miss, label %known
known:
  %true = word true
  %general_flag = slot sig.general %found
  %general = icmp eq ptr %general_flag, %true
  br i1 %general, label %miss, label %hit
hit:
  %dims = slot array.dims %self
  %args = slot array.args %self
  %keep = slot array.keep %self
  count %found, %dims, %args, %keep
  %inside_flag = slot sig.inside %found
  %inside = icmp eq ptr %inside_flag, %true
  br i1 %inside, label %part, label %make
part:
  %single = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %self)
  br label %make
make:
  %sources = phi ptr [ null, %hit ], [ %single, %part ]
  %new = call ptr @finish(ptr %found, ptr %dims, ptr %args, ptr %keep, ptr %sources, i1 %inside)
  %no_new = icmp eq ptr %new, null
  br i1 %no_new, label %give, label %check
check:
  %sig_now = slot array.sig %self
  %changed = icmp ne ptr %sig_now, %sig
  br i1 %changed, label %again, label %give
again:
  drop %new
  br label %miss
give:
  ret ptr %new
miss:
  ret ptr null
}
"""
"""`name` of `self` by the signature's table; null without an exception where that has none."""

_SURVIVORS = """
define ptr @survivors(ptr %ignored, ptr %batch) {
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
  %references = load i32, ptr %item
  %unused = icmp eq i32 %references, 2
  br i1 %unused, label %loop, label %keep
keep:
  %appended = call i32 @PyList_Append(ptr %kept, ptr %item)
  %refused = icmp ne i32 %appended, 0
  br i1 %refused, label %lose, label %loop
lose:
  drop %kept
  ret ptr null
done:
  ret ptr %kept
}
"""
"""Of the expressions in a list, those that more than it and the journal refer to. The reference count is an object's
first word, or the lower half of it; little-endian machines find it at the object's address."""

_OF_TWO = Template("""
define ptr @$name(ptr %self, ptr %other) {
  %result = call ptr @$kind(ptr %self, ptr %other, i64 $index, i64 $operation)
  ret ptr %result
}
define ptr @careful$name(ptr %self, ptr %other) {
  %hit = call ptr @operate($elements, i64 $operation)
  %missed = icmp eq ptr %hit, null
  br i1 %missed, label %python, label %done
done:
  ret ptr %hit
python:
  %method = word operators[$whole]
  %result = call ptr @call_with_two(ptr %method, ptr %self, ptr %other)
  ret ptr %result
}
""")
"""An operator twice: as it is, and `careful`, where deferring takes the whole Python method and elements do not."""

_QUICK_LOOK = """
  %hit = call ptr @unary(ptr %x, ptr %name)
  %missed = icmp eq ptr %hit, null
  br i1 %missed, label %miss, label %done
done:
  ret ptr %hit
miss:
  %error = call ptr @PyErr_Occurred()
  %erred = icmp ne ptr %error, null
  br i1 %erred, label %done, label %python
"""

_OF_ONE = Template("""
define ptr @$symbol(ptr %x, ptr %ignored) {
  %name = word operators[$index]
  %element = call ptr @alter(ptr %x, i64 $operation)
  %no_element = icmp eq ptr %element, null
  br i1 %no_element, label %look, label %answer
answer:
  ret ptr %element
look:
  $look
python:
  %method = word operators[$python]
  %result = call ptr @call_with_one(ptr %method, ptr %x)
  ret ptr %result
}
""")

_FUNCTION = Template("""
define ptr @$symbol(ptr %ignored, ptr %args, i64 %nargs) {
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %try, label %python
try:
  %name = load ptr, ptr %args
  %x_at = getelementptr ptr, ptr %args, i64 1
  %x = load ptr, ptr %x_at
  %operation = call i64 @operation_of(ptr %name)
  %element = call ptr @alter(ptr %x, i64 %operation)
  %no_element = icmp eq ptr %element, null
  br i1 %no_element, label %look, label %answer
answer:
  ret ptr %element
look:
  $look
python:
  %method = word function
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %nargs, ptr null)
  ret ptr %result
}
""")
"""The function (operation, x) of one array."""


def _text(operators: Mapping[str, Operator]) -> str:
    """Of each operator, of the function (operation, x), and `survivors`."""
    elements = {"binary": "ptr %self, ptr %other", "reflected": "ptr %other, ptr %self"}
    scalars = {"binary": "ptr %args, ptr %one", "reflected": "ptr %one, ptr %args"}
    text = [_FINISH, _UNARY, _SURVIVORS]
    text += [_BINARY.substitute(table=k, elements=elements[k], scalar_args=scalars[k]) for k in elements]
    for k, (name, row) in enumerate(operators.items()):
        index = 3 * k
        if row.kind == "unary":
            operation = UNARY.index(row.operation)
            for symbol, look, python in ((name, _QUICK_LOOK, index + 1), (f"careful{name}", _NO_LOOK, index + 2)):
                text.append(
                    _OF_ONE.substitute(symbol=symbol, index=index, operation=operation, look=look, python=python)
                )
        else:
            known = row.operation in BINARY
            operation = BINARY.index(row.operation) if known else -1
            text.append(
                _OF_TWO.substitute(
                    name=name,
                    kind=row.kind,
                    index=index,
                    whole=index + 2,
                    operation=operation,
                    elements=elements[row.kind],
                )
            )
    text.append(_FUNCTION.substitute(symbol="quick", look=_QUICK_LOOK))
    text.append(_FUNCTION.substitute(symbol="careful", look=_NO_LOOK))
    return "".join(text)


_NO_LOOK = "br label %python"


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
    methods = _fast_elements.methods(in_place)
    words = {"array_type": cls, "notes": _journal.notes, "same": SAME, "function": function}
    words |= _fast_values.WORDS | {name: vars(cls)[name] for name in methods}
    groups = _fast_values.groups(get_device("cpu")) | {"unary": UNARY}
    groups["operators"] = [part for row in operators.values() for part in (row.operation, row.missed, row.method)]
    code = objects.load_code(
        _fast_elements.text(in_place) + _text(operators),
        [*operators, *(f"careful{name}" for name in operators), *methods, "quick", "careful", "survivors"],
        {"array": cls, "sig": Sig, "storage": Storage},
        words,
        groups,
        _fast_values.TABLES,
    )

    def method(name: str, symbol: str) -> Any:
        flags, parameters = methods.get(name, (native.METH_O, "other, /"))
        if name in operators and operators[name].kind == "unary":
            flags, parameters = native.METH_NOARGS, "/"
        return native.method(cls, code[symbol], flags, f"{name}($self, {parameters})")

    for name in methods:
        setattr(cls, name, method(name, name))
    _journal.survivors = native.function(code["survivors"], native.METH_O, "survivors(batch, /)")
    return Native(
        {name: method(name, name) for name in operators},
        {name: method(name, f"careful{name}") for name in operators},
        native.function(code["quick"], native.METH_FASTCALL, "function(operation, x, /)"),
        native.function(code["careful"], native.METH_FASTCALL, "function(operation, x, /)"),
    )
