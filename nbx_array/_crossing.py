"""Where a program that `nbx-array run` serves meets other packages: arrays of ours go in as NumPy's.

Other packages ask for `numpy.ndarray`, `numpy.integer` or a buffer, and take nothing that is merely like one. So the
program's own code is compiled with every call `f(x)` as `__nbx_call__(f)(x)` and every index `o[k]` as
`__nbx_index__(o)[k]`: what belongs to another package is wrapped there, all else is itself. On the CPU an array crosses
as an ndarray over the same memory, on a GPU as a copy that is written back where it was changed; an array of no
dimension, such as an element or a sum, crosses as NumPy's scalar. Modules that hand nothing to others are compiled as
they are.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from nbx_array import _served
from nbx_array._array import Array

# ---------------------------------------------------------------------------------------------------- whose it is

_TAKES_NUMBERS = frozenset(
    (
        *("array", "base64", "binascii", "bz2", "datetime", "decimal", "fractions", "gzip", "hashlib", "io", "lzma"),
        *("mmap", "sqlite3", "statistics", "struct", "time", "wave", "zlib"),
        *("_hashlib", "_io", "_bz2", "_lzma", "_sqlite3", "_struct"),
    )
)
"""Modules of the standard library that read numbers and bytes. Others keep what they are given, such as a queue."""

_TAKES_BYTES = frozenset((memoryview, bytes, bytearray))

_BY_FRAME = frozenset(("query", "eval", "evaluate"))
"""Functions that look for the program's variables in the frame that calls them, which therefore must be its own."""


@functools.cache
def _is_foreign(module: str) -> bool:
    """Whether a module takes NumPy's arrays alone: another package's, or one of the standard library's readers."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return root in _TAKES_NUMBERS
    file = getattr(sys.modules.get(root), "__file__", None)
    return root not in ("numpy", "nbx_array") and isinstance(file, str) and not _served.is_users_file(file)


def _module_of(function: Any) -> str:
    """The name of the module that something callable comes from: what another package has made of a function of the
    program, by a decorator, is that package's."""
    kind, owner = type(function), getattr(function, "__self__", None)
    if _is_foreign(kind.__module__):
        return kind.__module__
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    module = getattr(function, "__module__", None)
    return module if isinstance(module, str) else type(owner).__module__


# -------------------------------------------------------------------------------------------------- what goes in


class _Crossing:
    """Arrays on their way into another package."""

    def __init__(self) -> None:
        self.hosted = _served.Hosted()

    def take(self, value: Any) -> Any:
        """The value, or what NumPy has instead: for arrays of ours, and for containers of them."""
        kind = type(value)
        if kind is Array:
            if not value.dims:
                return np.asarray(value)[()]
            return np.asarray(value) if value.device.backend == "cpu" else self.hosted.take(value)
        if kind is tuple or kind is list:
            items = [self.take(item) for item in value]
            return value if all(map(_is, items, value)) else kind(items)
        if kind is dict:
            items = [self.take(item) for item in value.values()]
            return value if all(map(_is, items, value.values())) else dict(zip(value, items, strict=True))
        return self.hosted.take(value) if isinstance(value, (_served.Function, _served.ArrayType)) else value


def _is(a: object, b: object) -> bool:
    return a is b


def _results_of_numpy(function: types.FunctionType) -> Callable[..., Any]:
    """A function of the program for a package that keeps its results."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        return _Crossing().take(function(*args, **keywords))

    return call


def _crossed(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    """A function of another package for the program."""

    def call(*args: Any, **keywords: Any) -> Any:
        crossing = _Crossing()
        given, named = crossing.take(args), crossing.take(keywords)
        if given is not args or named is not keywords:
            _served.record.host[f"{module.partition('.')[0]}.{getattr(function, '__qualname__', '')}".rstrip(".")] += 1
        if module.startswith("pandas"):  # makes columns of objects of what is not NumPy's
            given = tuple(_results_of_numpy(x) if type(x) is types.FunctionType else x for x in given)
        result = function(*given, **named)
        crossing.hosted.write_back(None)
        return result

    return call


_KINDS = (types.FunctionType, types.MethodType, type, _served.Function)

_at_home: set[str] = set()
"""Modules whose functions are not wrapped: a look-up for most calls of a program."""


def call(function: Any) -> Any:
    """What the program calls instead of a function."""
    known = type(function) in _KINDS
    if known and function.__module__ in _at_home:
        return function
    module = _module_of(function)
    if _is_foreign(module):
        return function if getattr(function, "__name__", "") in _BY_FRAME else _crossed(function, module)
    if isinstance(function, type) and function in _TAKES_BYTES:
        return _crossed(function, module)
    if known and module != "builtins":
        _at_home.add(module)
    return function


class _Indexed:
    """An object of another package, to be indexed by the program."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing

    def __getitem__(self, key: Any) -> Any:
        return self._object[_Crossing().take(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        crossing = _Crossing()
        self._object[crossing.take(key)] = crossing.take(value)

    def __delitem__(self, key: Any) -> None:
        del self._object[_Crossing().take(key)]


_foreign_types: dict[type, bool] = {}


def index(thing: Any) -> Any:
    """What the program indexes instead of an object."""
    kind = type(thing)
    foreign = _foreign_types.get(kind)
    if foreign is None:
        foreign = _foreign_types[kind] = kind is not type and _is_foreign(kind.__module__)
    return _Indexed(thing) if foreign else thing


# ------------------------------------------------------------------------------------------------------- compiling

_QUIET = (sys.stdlib_module_names - _TAKES_NUMBERS) | {
    *("numpy", "nbx_array", "__future__"),
    *("datetime", "io", "time"),  # seldom for arrays, often for other things
}
"""What a module may import and be compiled as it is: marks cost every call a tenth of a microsecond."""

_SIGNS_OF_BYTES = ("memoryview", "wb", "ab", "xb", "r+b", "rb+", "w+b", "wb+")

_PLAIN = frozenset(name for name in dir(builtins) if name not in ("memoryview", "bytes", "bytearray"))


class Crossings(ast.NodeTransformer):
    """Marks the calls and indices of a program."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN):
            node.func = _marked("__nbx_call__", node.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        node.value = _marked("__nbx_index__", node.value)
        return node

    # annotations name types, whatever they look like

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def _marked(name: str, node: ast.expr) -> ast.expr:
    marked = ast.Call(ast.Name(name, ast.Load()), [node], [])
    return ast.fix_missing_locations(ast.copy_location(marked, node))


def _meets_others(tree: ast.AST) -> bool:
    """Whether a module may hand arrays to others: whether it imports what may want NumPy's, looks at bytes, or writes
    them to a file."""
    roots: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add("." if node.level else (node.module or "").partition(".")[0])
        elif getattr(node, "id", getattr(node, "value", None)) in _SIGNS_OF_BYTES:
            return True
    return bool(roots - _QUIET)


def compiled(source: bytes | str, path: str) -> types.CodeType:
    """The code of a module of the program."""
    tree = ast.parse(source, path)
    if _meets_others(tree):
        tree = Crossings().visit(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def install() -> None:
    """From now on modules of the program are compiled so when they are imported; what is compiled is not kept."""
    vars(builtins).update(__nbx_call__=call, __nbx_index__=index)
    before = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        if not _served.is_users_file(self.path):
            return before(self, fullname)
        return compiled(self.get_data(self.path), self.path)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
