"""Methods of elements and of their arrays in native code: reading and writing one, conversions, `+=`.

A loop over elements costs what its steps cost, in Python 0.4 to 1 µs each. Here they are written once more as LLVM IR,
0.1 µs a step, for arrays in memory and values that fit 64 bits. What is not simple goes to the Python method.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from nbx_array import _fast_arithmetic, _fast_values
from nbx_array._fast_values import NAMES
from nbx_array.backend import native

_INDEXING = """
define internal i64 @integer_of(ptr %item) { ; an index, or the lowest integer for what is none
  %v = alloca [3 x i64]
  %code = call i64 @decode(ptr %item, i1 false, ptr %v)
  %invalid = icmp sle i64 %code, $BOOL
  br i1 %invalid, label %no, label %look
look:
  %kind = entry kind[%code]
  %no_integer = icmp ne i8 %kind, 0
  %is_unsigned = icmp eq i64 %code, $UINT64
  %unfit = or i1 %no_integer, %is_unsigned
  br i1 %unfit, label %no, label %yes
yes:
  %index = load i64, ptr %v
  ret i64 %index
no:
  ret i64 $NO_INDEX
}
define internal i64 @step(i64 %place, ptr %item, ptr %dims, i64 %axis) {
  %length_object = call ptr @PyTuple_GetItem(ptr %dims, i64 %axis)
  %length = call i64 @PyLong_AsLongLong(ptr %length_object)
  %index = call i64 @integer_of(ptr %item)
  %from_end = add i64 %index, %length
  %negative = icmp slt i64 %index, 0
  %k = select i1 %negative, i64 %from_end, i64 %index
  %inside = icmp ult i64 %k, %length
  %row = mul i64 %place, %length
  %there = add i64 %row, %k
  %result = select i1 %inside, i64 %there, i64 -1
  ret i64 %result
}
define internal i64 @place(ptr %dims, i64 %ndim, ptr %key) {
start:
  %is_tuple = call i1 @is_tuple(ptr %key)
  br i1 %is_tuple, label %several, label %single
single:
  %no_axis = icmp eq i64 %ndim, 0
  br i1 %no_axis, label %none, label %one
one:
  %only = call i64 @step(i64 0, ptr %key, ptr %dims, i64 0)
  ret i64 %only
several:
  %size = call i64 @PyTuple_Size(ptr %key)
  %agree = icmp eq i64 %size, %ndim
  br i1 %agree, label %loop, label %none
loop:
  %axis = phi i64 [ 0, %several ], [ %next, %inside ]
  %so_far = phi i64 [ 0, %several ], [ %found, %inside ]
  %more = icmp slt i64 %axis, %ndim
  br i1 %more, label %look, label %done
look:
  %item = call ptr @PyTuple_GetItem(ptr %key, i64 %axis)
  %found = call i64 @step(i64 %so_far, ptr %item, ptr %dims, i64 %axis)
  %next = add i64 %axis, 1
  %outside = icmp slt i64 %found, 0
  br i1 %outside, label %none, label %inside
inside:
  br label %loop
done:
  ret i64 %so_far
none:
  ret i64 -1
}
define internal i1 @is_tuple(ptr %key) {
  %type_at = getelementptr ptr, ptr %key, i64 1
  %type = load ptr, ptr %type_at
  %tuple_type = word tuple_type
  %is_tuple = icmp eq ptr %type, %tuple_type
  ret i1 %is_tuple
}
define internal i64 @elements_of(ptr %self) { ; the code of the elements that it reads, -1 where they carry no values
  %sig = slot array.sig %self
  %raw = icmp eq ptr %sig, null
  br i1 %raw, label %none, label %made
made:
  %element_sig = slot sig.element %sig
  %no_element_sig = word none
  %no_element = icmp eq ptr %element_sig, %no_element_sig
  br i1 %no_element, label %none, label %some
some:
  %code_object = slot sig.code %element_sig
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  ret i64 %code
none:
  ret i64 -1
}
define internal ptr @address_of(ptr %self, i64 %place, i64 %bytes) {
  %args = slot array.args %self
  %start_object = call ptr @PyTuple_GetItem(ptr %args, i64 0)
  %start = call i64 @PyLong_AsUnsignedLongLong(ptr %start_object)
  %behind = mul i64 %place, %bytes
  %there = add i64 %start, %behind
  %address = inttoptr i64 %there to ptr
  ret ptr %address
}
define internal i64 @bytes_of_rows(ptr %dims, i64 %ndim, i64 %itemsize) { ; of all axes but the first
start:
  br label %loop
loop:
  %axis = phi i64 [ 1, %start ], [ %next, %longer ]
  %bytes = phi i64 [ %itemsize, %start ], [ %product, %longer ]
  %more = icmp slt i64 %axis, %ndim
  br i1 %more, label %longer, label %done
longer:
  %length_object = call ptr @PyTuple_GetItem(ptr %dims, i64 %axis)
  %length = call i64 @PyLong_AsLongLong(ptr %length_object)
  %product = mul i64 %bytes, %length
  %next = add i64 %axis, 1
  br label %loop
done:
  ret i64 %bytes
}
define internal ptr @view(ptr %sig, ptr %keep, ptr %dims, ptr %address) { ; takes the references over; null: no memory
  %no_dims = icmp eq ptr %dims, null
  br i1 %no_dims, label %no_args, label %go
go:
  %there = ptrtoint ptr %address to i64
  %number = call ptr @PyLong_FromUnsignedLongLong(i64 %there)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %no_args, label %pack
pack:
  %args = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %number)
  drop %number
  %no_pack = icmp eq ptr %args, null
  br i1 %no_pack, label %no_args, label %allocate
allocate:
  %array_type = word array_type
  %new = call ptr @PyType_GenericAlloc(ptr %array_type, i64 0)
  %no_new = icmp eq ptr %new, null
  br i1 %no_new, label %lose, label %complete
complete:
  fill array.sig %new, %sig
  fill array.dims %new, %dims
  fill array.args %new, %args
  fill array.keep %new, %keep
  ret ptr %new
lose:
  drop %args
  br label %no_args
no_args:
  drop %sig, %keep, %dims
  ret ptr null
}
define internal ptr @dims_of_slice(i64 %length, ptr %dims, i64 %ndim) { ; null where memory is short
  %number = call ptr @PyLong_FromLongLong(i64 %length)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %failed, label %pack
pack:
  %first = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %number)
  drop %number
  %no_first = icmp eq ptr %first, null
  %is_vector = icmp eq i64 %ndim, 1
  %complete = or i1 %no_first, %is_vector
  br i1 %complete, label %done, label %longer
longer:
  %rest = call ptr @PyTuple_GetSlice(ptr %dims, i64 1, i64 %ndim)
  %no_rest = icmp eq ptr %rest, null
  br i1 %no_rest, label %lose, label %join
join:
  %all = call ptr @PySequence_Concat(ptr %first, ptr %rest)
  drop %first, %rest
  ret ptr %all
lose:
  drop %first
  ret ptr null
done:
  ret ptr %first
failed:
  ret ptr null
}
define ptr @__getitem__(ptr %self, ptr %key) {
  %v = alloca [3 x i64]
  %start_at = alloca i64
  %stop_at = alloca i64
  %step_at = alloca i64
  %code = call i64 @elements_of(ptr %self)
  %elsewhere = icmp slt i64 %code, 0
  br i1 %elsewhere, label %python, label %here
here:
  %type_at = getelementptr ptr, ptr %key, i64 1
  %type = load ptr, ptr %type_at
  %slice_type = word slice_type
  %is_slice = icmp eq ptr %type, %slice_type
  br i1 %is_slice, label %slice, label %index
slice:
  %unpacked = call i32 @PySlice_Unpack(ptr %key, ptr %start_at, ptr %stop_at, ptr %step_at)
  %refused = icmp slt i32 %unpacked, 0
  br i1 %refused, label %python, label %stepped
stepped: ; the bounds' own code may have run, and changed the array
  %code_now = call i64 @elements_of(ptr %self)
  %changed = icmp ne i64 %code_now, %code
  %step = load i64, ptr %step_at
  %jumps = icmp ne i64 %step, 1
  %dims_now = slot array.dims %self
  %ndim_now = call i64 @PyTuple_Size(ptr %dims_now)
  %no_axis = icmp eq i64 %ndim_now, 0
  %unlike = or i1 %changed, %jumps
  %unfit = or i1 %unlike, %no_axis
  br i1 %unfit, label %python, label %cut
cut:
  %length_object = call ptr @PyTuple_GetItem(ptr %dims_now, i64 0)
  %length = call i64 @PyLong_AsLongLong(ptr %length_object)
  %taken = call i64 @PySlice_AdjustIndices(i64 %length, ptr %start_at, ptr %stop_at, i64 1)
  %start = load i64, ptr %start_at
  %item_bytes = entry itemsize[%code]
  %slice_bytes = call i64 @bytes_of_rows(ptr %dims_now, i64 %ndim_now, i64 %item_bytes)
  %slice_address = call ptr @address_of(ptr %self, i64 %start, i64 %slice_bytes)
  %slice_sig = slot array.sig %self
  %slice_keep = slot array.keep %self
  count %slice_sig, %slice_keep, %dims_now
  %slice_dims = call ptr @dims_of_slice(i64 %taken, ptr %dims_now, i64 %ndim_now)
  drop %dims_now
  %slice_view = call ptr @view(ptr %slice_sig, ptr %slice_keep, ptr %slice_dims, ptr %slice_address)
  br label %made
index:
  %dims = slot array.dims %self
  %ndim = call i64 @PyTuple_Size(ptr %dims)
  %place = call i64 @place(ptr %dims, i64 %ndim, ptr %key)
  %none = icmp slt i64 %place, 0
  br i1 %none, label %python, label %found
found:
  %itemsize = entry itemsize[%code]
  %is_tuple = call i1 @is_tuple(ptr %key)
  %is_vector = icmp eq i64 %ndim, 1
  %names_element = or i1 %is_tuple, %is_vector
  br i1 %names_element, label %read, label %row
read:
  %address = call ptr @address_of(ptr %self, i64 %place, i64 %itemsize)
  call void @fetch(i64 %code, ptr %address, ptr %v)
  %element = call ptr @element(i64 %code, ptr %v)
  br label %made
row:
  %bytes = call i64 @bytes_of_rows(ptr %dims, i64 %ndim, i64 %itemsize)
  %row_address = call ptr @address_of(ptr %self, i64 %place, i64 %bytes)
  %sig = slot array.sig %self
  %keep = slot array.keep %self
  count %sig, %keep, %dims
  %rest = call ptr @PyTuple_GetSlice(ptr %dims, i64 1, i64 %ndim)
  drop %dims
  %row_view = call ptr @view(ptr %sig, ptr %keep, ptr %rest, ptr %row_address)
  br label %made
made:
  %new = phi ptr [ %slice_view, %cut ], [ %element, %read ], [ %row_view, %row ]
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %python, label %done
done:
  ret ptr %new
python:
  call void @PyErr_Clear()
  %method = word __getitem__
  %result = call ptr @call_with_two(ptr %method, ptr %self, ptr %key)
  ret ptr %result
}
define ptr @__setitem__(ptr %self, ptr %args, i64 %nargs) {
  %operands = alloca [3 x ptr]
  %v = alloca [3 x i64]
  %method = word __setitem__
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %begin, label %complain
complain: ; the Python method says what it takes
  %complaint = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 0, ptr null)
  ret ptr %complaint
begin:
  %key = load ptr, ptr %args
  %given_at = getelementptr ptr, ptr %args, i64 1
  %given = load ptr, ptr %given_at
  %code = call i64 @elements_of(ptr %self)
  %elsewhere = icmp slt i64 %code, 0
  br i1 %elsewhere, label %python, label %here
here: ; nothing may be pending, since it could read what is written
  %notes = word notes
  %pending = call i64 @PyList_Size(ptr %notes)
  %keep = slot array.keep %self
  %storage = call ptr @PyTuple_GetItem(ptr %keep, i64 0)
  %readers = slot storage.readers %storage
  %reading = call i64 @PyObject_Size(ptr %readers)
  %waiting = or i64 %pending, %reading
  %quiet = icmp eq i64 %waiting, 0
  br i1 %quiet, label %look, label %python
look:
  %dims = slot array.dims %self
  %ndim = call i64 @PyTuple_Size(ptr %dims)
  %place = call i64 @place(ptr %dims, i64 %ndim, ptr %key)
  %none = icmp slt i64 %place, 0
  br i1 %none, label %python, label %found
found:
  %is_tuple = call i1 @is_tuple(ptr %key)
  %is_vector = icmp eq i64 %ndim, 1
  %names_element = or i1 %is_tuple, %is_vector
  br i1 %names_element, label %take, label %python
take:
  %from = call i64 @decode(ptr %given, i1 false, ptr %v)
  %unfit = icmp slt i64 %from, 0
  br i1 %unfit, label %python, label %change
change:
  %fits = call i1 @convert(i64 %from, i64 %code, ptr %v)
  br i1 %fits, label %write, label %python
write:
  %itemsize = entry itemsize[%code]
  %address = call ptr @address_of(ptr %self, i64 %place, i64 %itemsize)
  call void @put(i64 %code, ptr %address, ptr %v)
  %nothing = word none
  count %nothing
  ret ptr %nothing
python:
  store ptr %self, ptr %operands
  %second = getelementptr ptr, ptr %operands, i64 1
  store ptr %key, ptr %second
  %third = getelementptr ptr, ptr %operands, i64 2
  store ptr %given, ptr %third
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %operands, i64 3, ptr null)
  ret ptr %result
}
"""
"""`place`: how many elements, or rows, behind the first the one lies that a key names; -1 for every other key. A tuple
names one element of all axes, an integer a row of the first."""

# ----------------------------------------------------------------------------------- conversions, in-place operators

_CONVERSION = Template("""
define ptr @$name(ptr %self, ptr %ignored) {
  %v = alloca [3 x i64]
  %code = call i64 @decode(ptr %self, i1 true, ptr %v)
  %unfit = icmp slt i64 %code, $lowest
  br i1 %unfit, label %python, label %look
look:
  %real_at = getelementptr double, ptr %v, i64 1
  %x = load i64, ptr %v
  %a = load double, ptr %real_at
  %kind = entry kind[%code]
  switch i8 %kind, label %python [ i8 0, label %whole i8 1, label %real ]
real:
  $real
whole:
  $whole
python:
  %method = word $name
  %result = call ptr @call_with_one(ptr %method, ptr %self)
  ret ptr %result
}
""")

_INTEGER = """%number = call ptr @number_of(i64 %code, ptr %v)
  ret ptr %number"""
_TRUTH = Template("""%is_true_$x = $comparison
  %true_$x = word true
  %false_$x = word false
  %truth_$x = select i1 %is_true_$x, ptr %true_$x, ptr %false_$x
  count %truth_$x
  ret ptr %truth_$x""")
_HASH_OF_REAL = """%is_nan = fcmp uno double %a, 0.0
  br i1 %is_nan, label %python, label %hash"""
_HASH = """br label %hash
hash:
  %value = call ptr @number_of(i64 %code, ptr %v)
  %lost = icmp eq ptr %value, null
  br i1 %lost, label %python, label %take
take:
  %hashed = call i64 @PyObject_Hash(ptr %value)
  drop %value
  %number = call ptr @PyLong_FromLongLong(i64 %hashed)
  ret ptr %number"""
_FLOAT_OF_WHOLE = """%wide = call double @as_real(i64 %code, i64 %x)
  %float_x = call ptr @PyFloat_FromDouble(double %wide)
  ret ptr %float_x"""
_FLOAT_OF_REAL = """%float_a = call ptr @PyFloat_FromDouble(double %a)
  ret ptr %float_a"""
_TO_PYTHON = "br label %python"

_CONVERSIONS = {
    "__float__": (_FLOAT_OF_REAL, _FLOAT_OF_WHOLE, NAMES["BOOL"]),
    "__int__": (_TO_PYTHON, _INTEGER, NAMES["BOOL"] + 1),
    "__index__": (_TO_PYTHON, _INTEGER, NAMES["BOOL"] + 1),
    "__bool__": (
        _TRUTH.substitute(x="a", comparison="fcmp une double %a, 0.0"),
        _TRUTH.substitute(x="x", comparison="icmp ne i64 %x, 0"),
        NAMES["BOOL"],
    ),
    "__hash__": (_HASH_OF_REAL, _HASH, NAMES["BOOL"]),
}
"""What methods without arguments make of a real value, of a whole one, and from which code on."""

_IN_PLACE = Template("""
define ptr @$name(ptr %self, ptr %other) {
  %mine = call i1 @is_element(ptr %self)
  br i1 %mine, label %try, label %python
try:
  %new = call ptr @operate(ptr %self, ptr %other, i64 $operation)
  %missed = icmp eq ptr %new, null
  br i1 %missed, label %python, label %done
done:
  ret ptr %new
python:
  %method = word $name
  %result = call ptr @call_with_two(ptr %method, ptr %self, ptr %other)
  ret ptr %result
}
""")
"""An element stays what it is, so that `+=` makes a new one; what is no element is for the Python method."""


def methods(in_place: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    """Methods that have a native form: calling convention and parameters."""
    return {
        "__getitem__": (native.METH_O, "key, /"),
        "__setitem__": (native.METH_FASTCALL, "key, value, /"),
        **dict.fromkeys(_CONVERSIONS, (native.METH_NOARGS, "/")),
        **dict.fromkeys(in_place, (native.METH_O, "other, /")),
    }


def text(in_place: Mapping[str, str]) -> str:
    """The IR of values, their arithmetic and the methods; `in_place` gives the operations of methods such as
    `__iadd__`."""
    conversions = (
        _CONVERSION.substitute(name=name, real=real, whole=whole, lowest=lowest)
        for name, (real, whole, lowest) in _CONVERSIONS.items()
    )
    operations = {name: _fast_arithmetic.BINARY.index(operation) for name, operation in in_place.items()}
    return "".join(
        (
            _fast_values.text(),
            _fast_arithmetic.text(),
            Template(_INDEXING).substitute(NAMES),
            *conversions,
            *(_IN_PLACE.substitute(name=name, operation=operation) for name, operation in operations.items()),
        )
    )
