"""Triton source of pointwise kernels, made from signatures.

Every kernel evaluates a whole expression: each operation once, operands first, operations on equal operands shared.
A complex value is a pair of names, its real and imaginary part. Values of 16-bit float dtypes are computed in float32
and rounded after each operation, so that fused and unfused results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from nbx_array.kernels.pointwise import BOOL, TABLE
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.kernels.types import component, is_complex, parameter, type_row

INT64, UINT64 = np.dtype(np.int64), np.dtype(np.uint64)

HEADER = "import triton\nimport triton.language as tl\n"

Value = tuple[str, ...]
"""Names of one value: (real,) or (real, imaginary)."""


class Body(NamedTuple):
    """The statements of an expression inside a kernel, and the arguments that they read."""

    lines: list[str]
    value: Value
    parameters: list[tuple[str, str]]  # name and Triton type string, in the order of the expression's arguments
    modules: set[str]  # modules of nbx_array.kernels.source that the statements call
    parts: list[Value]  # values of the parts that were asked for


class Address(NamedTuple):
    """Where an array operand is read or written: an offset in elements, and whether it differs over the block.

    `paired` moves both parts of complex numbers at once, as a block of pairs: on GPUs one wide access instead of two
    that leave half of each cache line's words unused. It takes a vector of neighbouring elements.
    """

    offset: str
    block: bool = True
    mask: str = ", mask=m"
    paired: bool = False

    def pairs(self) -> tuple[str, str]:
        """Offsets and mask of the block of pairs."""
        mask = f"{self.mask}[:, None]" if self.mask else ""
        return f"(2 * ({self.offset}))[:, None] + tl.arange(0, 2)[None, :]", mask


class _Emitter:
    def __init__(self, address: Callable[[int], Address], shape: str, aliases: dict[int, int]) -> None:
        self.address = address
        self.shape = shape
        self.aliases = aliases
        self.lines: list[str] = []
        self.names: dict[tuple[object, ...], str] = {}
        self.parameters: list[tuple[str, str]] = []
        self.pointers: list[str] = []
        self.modules: set[str] = set()
        self.values: dict[tuple[int, ...], Value] = {}  # by place in the signature

    def assign(self, text: str) -> str:
        """The name of the value of an expression; equal texts share one."""
        name = self.names.get((text,))
        if name is None:
            name = self.names[(text,)] = f"v{len(self.names)}"
            self.lines.append(f"{name} = {text}")
        return name

    def call(self, function: str, *arguments: str) -> str:
        self.modules.add(function.partition(".")[0])
        return self.assign(f"{function}({', '.join(arguments)})")

    def call_pair(self, function: str, *arguments: str) -> Value:
        self.modules.add(function.partition(".")[0])
        return self.split(f"{function}({', '.join(arguments)})")

    def split(self, text: str) -> Value:
        """The names of the two values of an expression."""
        key = (text, "pair")
        if key not in self.names:
            name = self.names[key] = f"v{len(self.names)}"
            self.lines.append(f"{name}r, {name}i = {text}")
        name = self.names[key]
        return f"{name}r", f"{name}i"

    def visit(self, sig: Sig, place: tuple[int, ...] = ()) -> Value:
        value = self.values[place] = self.evaluate(sig, place)
        return value

    def evaluate(self, sig: Sig, place: tuple[int, ...]) -> Value:
        if sig.op == "leaf":
            return self.load(sig)
        if sig.op == "scalar":
            return self.scalar(sig)
        kids = [self.visit(kid, (*place, k)) for k, kid in enumerate(sig.kids) if kid is not SAME]
        dtypes = [kid.dtype for kid in sig.kids if kid is not SAME]
        if SAME in sig.kids:
            kids, dtypes = kids * 2, dtypes * 2
        return self.operation(sig, kids, dtypes)

    def load(self, sig: Sig) -> Value:
        index = len(self.pointers)
        name = f"p{index}"
        self.pointers.append(name)
        self.parameters.append((name, type_row(sig.dtype).pointer))
        index = self.aliases.get(index, index)
        name = self.pointers[index]
        address = self.address(index)
        offset, block, mask, paired = address
        if is_complex(sig.dtype) and paired:
            offset, mask = address.pairs()
            return self.split(f"tl.split(tl.load({name} + {offset}{mask}))")
        if is_complex(sig.dtype):
            texts = [f"tl.load({name} + 2 * ({offset}){mask})", f"tl.load({name} + 2 * ({offset}) + 1{mask})"]
        else:
            texts = [f"tl.load({name} + ({offset}){mask})"]
        value = type_row(sig.dtype).value
        return tuple(self.assign(text if block else f"tl.full({self.shape}, {text}, {value})") for text in texts)

    def scalar(self, sig: Sig) -> Value:
        row = type_row(sig.dtype)
        value: list[str] = []
        for _ in range(2 if is_complex(sig.dtype) else 1):
            name = f"s{len(self.parameters)}"
            kind = parameter(sig.dtype, sig.device)
            self.parameters.append((name, kind))
            rounded = self.convert(name, _PARAMETER_DTYPES[kind], component(sig.dtype))
            value.append(self.assign(f"tl.full({self.shape}, {rounded}, {row.value})"))
        return tuple(value)

    def convert(self, name: str, source: np.dtype, target: np.dtype) -> str:
        """A real value in another real dtype, as NumPy's astype has it."""
        if source == target:
            return name
        return self.call("elementwise.cast", name, type_row(target).value)

    def cast(self, value: Value, source: np.dtype, target: np.dtype) -> Value:
        """A value in another dtype, complex ones included."""
        if source == target:
            return value
        if is_complex(target):
            part = component(target)
            real = self.convert(value[0], component(source), part)
            if is_complex(source):
                return real, self.convert(value[1], component(source), part)
            return real, self.assign(f"tl.zeros({self.shape}, {type_row(part).value})")
        if is_complex(source):
            if target == BOOL:
                return (self.call("complex.nonzero", *value),)
            return (self.convert(value[0], component(source), target),)
        return (self.convert(value[0], source, target),)

    def operation(self, sig: Sig, kids: list[Value], dtypes: list[np.dtype]) -> Value:
        if sig.op == "astype":
            return self.cast(kids[0], dtypes[0], sig.dtype)
        if sig.op == "where":
            (condition,) = self.cast(kids[0], dtypes[0], BOOL)
            left, right = (self.cast(kid, dtype, sig.dtype) for kid, dtype in zip(kids[1:], dtypes[1:], strict=True))
            return tuple(self.assign(f"tl.where({condition}, {x}, {y})") for x, y in zip(left, right, strict=True))
        row = TABLE[sig.op]
        compute = sig.compute
        assert compute is not None, sig
        if compute == INT64 and UINT64 in dtypes:
            operands = self.ordered(kids, dtypes)
        else:
            operands = [self.cast(kid, dtype, compute) for kid, dtype in zip(kids, dtypes, strict=True)]
        function = row.function(compute)
        arithmetic = type_row(compute)
        widened = arithmetic.compute != arithmetic.value and not row.native16
        flat = [part for operand in operands for part in operand]
        if widened:
            flat = [self.assign(f"{part}.to({arithmetic.compute})") for part in flat]
        if is_complex(sig.dtype):
            return self.call_pair(function, *flat)
        result = self.call(function, *flat)
        if widened and sig.dtype == compute:
            result = self.convert(result, np.dtype(np.float32), compute)
        return (result,)

    def ordered(self, kids: list[Value], dtypes: list[np.dtype]) -> list[Value]:
        """A uint64 and a signed integer as two int64 of the same order."""
        unsigned = dtypes.index(UINT64)
        (signed,) = self.cast(kids[1 - unsigned], dtypes[1 - unsigned], INT64)
        x, y = self.call_pair("elementwise.same_order", signed, kids[unsigned][0])
        return [(y,), (x,)] if unsigned == 0 else [(x,), (y,)]


_PARAMETER_DTYPES = {
    "i1": BOOL,
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
}


def body(
    sig: Sig,
    address: Callable[[int], Address],
    shape: str,
    aliases: dict[int, int] | None = None,
    parts: tuple[tuple[int, ...], ...] = (),
) -> Body:
    """Statements that compute an expression.

    `address(k)` says where the k-th array operand is read; its pointer is named `p{k}`. `shape` is the text of the
    block's shape. `aliases` maps the number of an array operand to that of an earlier one that is the same array,
    which is then read once. `parts` are places in the signature whose values are wanted, too.
    """
    emitter = _Emitter(address, shape, aliases or {})
    value = emitter.visit(sig)
    wanted = [emitter.values[place] for place in parts]
    return Body(emitter.lines, value, emitter.parameters, emitter.modules, wanted)


def parameters(sig: Sig) -> list[tuple[str, str]]:
    """The kernel parameters of an expression: name and Triton type string, in the order of its arguments."""
    return body(sig, lambda k: Address("0", block=False, mask=""), "[1]").parameters


def store(pointer: str, address: Address, value: Value) -> list[str]:
    """Statements that write a value: two components for a complex one."""
    offset, _, mask, paired = address
    if len(value) == 1:
        return [f"tl.store({pointer} + ({offset}), {value[0]}{mask})"]
    if paired:
        offset, mask = address.pairs()
        return [f"tl.store({pointer} + {offset}, tl.join({value[0]}, {value[1]}){mask})"]
    return [
        f"tl.store({pointer} + 2 * ({offset}), {value[0]}{mask})",
        f"tl.store({pointer} + 2 * ({offset}) + 1, {value[1]}{mask})",
    ]


def module(body_modules: set[str], text: str) -> str:
    """A kernel's whole module: imports, then the kernel."""
    imports = "".join(f"from nbx_array.kernels.source import {name}\n" for name in sorted(body_modules))
    return f"{HEADER}{imports}\n\n{text}"


def function(name: str, parameters: list[str], lines: list[str]) -> str:
    """A @triton.jit function of the given statements."""
    return f"@triton.jit\ndef {name}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in lines)


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
