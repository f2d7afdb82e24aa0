"""Where a program that `nbx-array run` serves meets other packages: arrays of ours go in as NumPy's.

Other packages ask for `numpy.ndarray`, `numpy.integer` or a buffer, and take nothing that is merely like one. So the
program's own code is compiled with every call `f(x)` as `__nbx_call__(f)(x)`, every index `o[k]` as
`__nbx_index__(o)[k]` and every operator `a * b` as `__nbx_left__(a) * b`: what belongs to another package is wrapped
there, all else is itself. On the CPU an array crosses as an ndarray over the same memory, on a GPU as a copy that is
written back where it was changed; an array of no dimension, such as an element or a sum, crosses as NumPy's scalar, a
function of the program as one whose results cross, too. Modules that hand nothing to others are compiled as they are,
and so is what numba compiles.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.machinery
import inspect
import operator
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
        *("array", "base64", "binascii", "bz2", "ctypes", "datetime", "decimal", "fractions", "gzip", "hashlib"),
        *("hmac", "io", "json", "lzma", "mmap", "socket", "sqlite3", "statistics", "struct", "time", "wave", "zlib"),
        *("_ctypes", "_hashlib", "_io", "_bz2", "_lzma", "_socket", "_sqlite3", "_struct"),
    )
)
"""Modules of the standard library that read numbers and bytes. Others keep what they are given, such as a queue."""

_TAKES_BYTES = frozenset((memoryview, bytes, bytearray))

_COMPILERS = frozenset(("numba",))
"""Packages that compile the code of functions, whose calls and indices must be what they were."""

_BY_FRAME = frozenset(("query", "eval", "evaluate"))
"""Functions that look for the program's variables in the frame that calls them, which therefore must be its own."""


@functools.cache
def _is_foreign(module: str) -> bool:
    """Whether a module takes NumPy's arrays alone: another package's, one without a name, or one of the standard
    library's readers."""
    root = module.partition(".")[0]
    if not root:
        return True
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
    if isinstance(module, str):
        return module
    kind = owner if isinstance(owner, type) else type(owner)
    return kind.__module__ if kind.__module__ != "builtins" or kind in _BUILT_IN else ""


_BUILT_IN = frozenset(x for x in (*vars(builtins).values(), *vars(types).values()) if isinstance(x, type))
"""What is of `builtins`: compiled types of other packages say so, too, where they name no module."""


# -------------------------------------------------------------------------------------------------- what goes in


class _Crossing:
    """Arrays on their way into another package."""

    def __init__(self, *, compiles: bool = False) -> None:
        self.hosted = _served.Hosted()
        self.compiles = compiles

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
        if kind in _FUNCTIONS:
            return _Given(value) if not self.compiles and _gives_results(value) else value
        return self.hosted.take(value) if isinstance(value, (_served.Function, _served.ArrayType)) else value


def _is(a: object, b: object) -> bool:
    return a is b


_FUNCTIONS = types.FunctionType, types.MethodType


def _gives_results(function: Any) -> bool:
    """Whether a function is the program's and gives what it returns at once."""
    later = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    code = getattr(function, "__code__", None)
    return code is not None and not code.co_flags & later and _served.is_users(function.__globals__)


class _Given:
    """A function of the program for another package, whose compiled code may take NumPy's results alone."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return _Crossing().take(self.__wrapped__(*args, **keywords))

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not there yet, where it is being copied
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __eq__(self, other: object) -> bool:
        return self.__wrapped__ == (other.__wrapped__ if isinstance(other, _Given) else other)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __reduce__(self) -> Any:
        return _unpickled, (self.__wrapped__,)


def _unpickled(function: Callable[..., Any]) -> _Given:
    """In another process, too, whose code may have come from here with its marks."""
    _define_marks()
    return _Given(function)


def given(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates the methods of the program's classes that NumPy itself calls."""

    @functools.wraps(method)
    def call(*args: Any, **keywords: Any) -> Any:
        return _Crossing().take(method(*args, **keywords))

    return call


def _crossed(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    """A function of another package for the program."""

    def call(*args: Any, **keywords: Any) -> Any:
        crossing = _Crossing(compiles=module.partition(".")[0] in _COMPILERS)
        given, named = crossing.take(args), crossing.take(keywords)
        if given is not args or named is not keywords:
            label = getattr(function, "__qualname__", None)
            names = module.partition(".")[0], label if isinstance(label, str) else ""
            _served.record.host[".".join(filter(None, names))] += 1
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
        name = getattr(function, "__name__", None)
        return function if isinstance(name, str) and name in _BY_FRAME else _crossed(function, module)
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


def _operator(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: compute(self._object, _Crossing().take(other))


class _Left:
    """An object of another package, the left operand of the program's operator."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing


for _compute in (*_served.SYMBOLS.values(), operator.matmul):
    setattr(_Left, f"__{_compute.__name__.rstrip('_')}__", _operator(_compute))


_foreign_types: dict[type, bool] = {}


def _is_of_others(thing: Any) -> bool:
    kind = type(thing)
    foreign = _foreign_types.get(kind)
    if foreign is None:
        foreign = _foreign_types[kind] = kind is not type and _is_foreign(kind.__module__)
    return foreign


def index(thing: Any) -> Any:
    """What the program indexes instead of an object."""
    return _Indexed(thing) if _is_of_others(thing) else thing


def left(thing: Any) -> Any:
    """What the program has to the left of an operator instead of an object."""
    return _Left(thing) if _is_of_others(thing) else thing


def scalar(thing: Any) -> Any:
    """What the program asks for methods instead of an object."""
    return thing.dtype.type() if type(thing) is Array and not thing.dims else thing


def theirs(thing: Any) -> Any:
    """What the program compares with what NumPy has given it instead of an object."""
    return thing.theirs if isinstance(thing, _served.Function) else thing


def right(target: Any, value: Any) -> Any:
    """What the program has to the right of an operator in place instead of a value."""
    return _Crossing().take(value) if _is_of_others(target) else value


# ------------------------------------------------------------------------------------------------------- compiling

_QUIET = (sys.stdlib_module_names - _TAKES_NUMBERS) | {
    *("numpy", "nbx_array", "__future__"),
    *("datetime", "io", "time"),  # seldom for arrays, often for other things
}
"""What a module may import and be compiled as it is: marks cost every call a tenth of a microsecond."""

_SIGNS_OF_BYTES = ("memoryview", "wb", "ab", "xb", "r+b", "rb+", "w+b", "wb+")

_PLAIN = frozenset(name for name in dir(builtins) if name not in ("memoryview", "bytes", "bytearray"))


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


_ASKED = frozenset(("__array__", "__array_ufunc__", "__array_function__"))
"""Methods of the program's classes that NumPy itself calls."""

_ABSTRACT = frozenset(("Iterable", "Sized", "Container", "Collection"))
"""Types whose instances are told by their methods, which arrays of no dimension have and NumPy's scalars have not."""


class Crossings(ast.NodeTransformer):
    """Marks the calls, indices and operators of a program."""

    def __init__(self) -> None:
        self.asked = False
        self.compilers: set[str] = set()
        self.compiled: set[str] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        for inner in ast.walk(node):
            for root, alias in _imports(inner):
                if root in _COMPILERS:
                    self.compilers.add((alias.asname or alias.name).partition(".")[0])
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and _root(inner) in self.compilers:
                self.compiled |= {argument.id for argument in inner.args if isinstance(argument, ast.Name)}
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _looks_for_methods(node):
            node.args[0] = _marked("__nbx_scalar__", node.args[0])
        if not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN):
            node.func = _marked("__nbx_call__", node.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        node.value = _marked("__nbx_index__", node.value)
        return node

    # beside a constant there is no array to hand over

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.left, ast.Constant) and not isinstance(node.right, ast.Constant):
            node.left = _marked("__nbx_left__", node.left)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if (
            isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq))
            and not isinstance(node.left, ast.Constant)
            and not isinstance(node.comparators[0], ast.Constant)
        ):
            node.left = _marked("__nbx_left__", node.left)
        elif self.asked and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            node.left = _marked("__nbx_theirs__", node.left)
            node.comparators[0] = _marked("__nbx_theirs__", node.comparators[0])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and not isinstance(node.value, ast.Constant):
            node.value = _marked("__nbx_right__", ast.Name(node.target.id, ast.Load()), node.value)
        return node

    # annotations name types, whatever they look like

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        if self._is_compiled(node):
            return node
        returns, node.returns = node.returns, None
        asked, self.asked = self.asked, self.asked or node.name in _ASKED
        self.generic_visit(node)
        node.returns, self.asked = returns, asked
        if node.name == "__array__":
            node.decorator_list.append(ast.copy_location(ast.Name("__nbx_given__", ast.Load()), node))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node if self._is_compiled(node) else self.generic_visit(node)

    def _is_compiled(self, node: Any) -> bool:
        return node.name in self.compiled or any(_root(x) in self.compilers for x in node.decorator_list)


def _marked(name: str, *nodes: ast.expr) -> ast.expr:
    marked = ast.Call(ast.Name(name, ast.Load()), list(nodes), [])
    return ast.fix_missing_locations(ast.copy_location(marked, nodes[-1]))


def _looks_for_methods(node: ast.AST) -> bool:
    """Whether a call asks what methods an object has."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2):
        return False
    if node.func.id == "isinstance":
        return any(getattr(x, "id", getattr(x, "attr", None)) in _ABSTRACT for x in ast.walk(node.args[1]))
    return node.func.id == "hasattr"


def _imports(node: ast.AST) -> list[tuple[str, ast.alias]]:
    """What a statement imports: the packages, and the names."""
    if isinstance(node, ast.Import):
        return [(alias.name.partition(".")[0], alias) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [("." if node.level else (node.module or "").partition(".")[0], alias) for alias in node.names]
    return []


def _meets_others(tree: ast.AST) -> bool:
    """Whether a module may hand arrays to others: whether it imports what may want NumPy's, looks at bytes, writes
    them to a file, is asked by NumPy, or looks for methods that scalars lack."""
    for node in ast.walk(tree):
        if any(root not in _QUIET for root, _ in _imports(node)):
            return True
        if getattr(node, "id", getattr(node, "value", None)) in _SIGNS_OF_BYTES:
            return True
        if getattr(node, "name", None) in _ASKED or _looks_for_methods(node):
            return True
    return False


def compiled(source: bytes | str, path: str) -> types.CodeType:
    """The code of a module of the program."""
    tree = ast.parse(source, path)
    if _meets_others(tree):
        tree = Crossings().visit(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def _define_marks() -> None:
    vars(builtins).update(
        **{f"__nbx_{mark.__name__}__": mark for mark in (call, index, left, right, scalar, theirs, given)}
    )


def install() -> None:
    """From now on modules of the program are compiled so when they are imported; what is compiled is not kept."""
    _define_marks()
    before = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        if not _served.is_users_file(self.path):
            return before(self, fullname)
        return compiled(self.get_data(self.path), self.path)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
