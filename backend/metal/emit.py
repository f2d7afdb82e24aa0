"""From a kernel in Triton's intermediate language to the Metal Shading Language, version 3.1.

A program is a threadgroup, and each thread computes some elements of every tensor. The work is in layers, each a module
and a class that builds on the one below: emission (text, homes of tensors, barriers), scalars (arithmetic), elements
(values of tensors), collectives (what combines elements of several threads), control (loops and branches), and
statements here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..ttir.graph import PERMUTING, Plan, make_plan, walk
from ..ttir.indices import Indices, Operand, constant_index
from ..ttir.reader import Operation, Value, kernel_of, read
from ..ttir.types import NotSupported
from .collectives import ALL_MEMORY
from .control import ControlFlow
from .emission import HELPERS, TID, kind_of

#: Threads of a simdgroup.
WARP = 32
#: These make and take apart the pairs of complex numbers, which one thread stores whole.
PAIRING = frozenset(("tt.join", "tt.split"))
#: A kernel can be given this many buffers, each argument being one.
MOST_ARGUMENTS = 31

_HEADER = """\
#include <metal_stdlib>
// Bits are those of every other backend: nothing is reassociated, and a product is fused with a sum by fma alone.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
"""


@dataclass(frozen=True)
class Source:
    """A kernel's text and what launching it takes.

    Argument ``i`` is ``[[buffer(i)]]``: a pointer's buffer, or the bytes of a scalar, of which a bool has one. Memory
    of the threadgroup is declared in the text.
    """

    text: str
    entry: str
    threads: int  # of a threadgroup
    threadgroup_bytes: int
    #: "pointer", or the type of a scalar: "i1", "i8", "i16", "i32", "i64", "f32".
    arguments: tuple[str, ...]


def emit(ttir_text: str, num_warps: int) -> Source:
    """The kernel in ``ttir_text``, in MLIR's generic form, for threadgroups of ``num_warps`` simdgroups.

    Raises NotImplementedError for what Metal lacks, float64 above all: nothing is narrowed in silence.
    """
    function = kernel_of(read(ttir_text))
    _refuse_float64(function)
    plan = make_plan(function, PERMUTING - PAIRING)
    entry = re.sub(r"\W", "_", function.string("sym_name")) + "_kernel"
    shared: set[Value] = set()
    while True:  # which tensors other threads read shows in what is emitted
        lowering = Lowering(num_warps * WARP, shared)
        source = lowering.function(function, plan, entry)
        if lowering.foreign <= shared:
            return source
        shared = shared | lowering.foreign


def _refuse_float64(function: Operation) -> None:
    operations = list(walk(function.regions[0]))
    values = [value for op in operations for value in (*op.operands, *op.results)]
    for value in (*function.regions[0][0].arguments, *values):
        if "f64" in (value.type.element, value.type.pointee):
            raise NotSupported("float64 (and complex128, a pair of them) does not exist on Metal: use float32")


class Lowering(ControlFlow):
    """Emits a whole kernel."""

    def function(self, function: Operation, plan: Plan, entry: str) -> Source:
        # An address is cheaper to compute again than to keep.
        self.materialised = {value for value in plan.materialised if value.type.element != "ptr"}
        self.groups = plan.groups
        blocks = function.regions[0]
        self.blocks = {block.label: block for block in blocks}
        parameters, kinds = [], []
        if len(blocks[0].arguments) > MOST_ARGUMENTS:
            raise NotSupported(f"{len(blocks[0].arguments)} arguments are more than the {MOST_ARGUMENTS} of Metal")
        for k, argument in enumerate(blocks[0].arguments):
            pointer = argument.type.element == "ptr"
            kind = kind_of(argument.type)
            parameters.append(f"{kind if pointer else f'constant {kind}&'} a{k} [[buffer({k})]]")
            kinds.append("pointer" if pointer else argument.type.element)
            self.scalars[argument] = Operand(f"a{k}")
        parameters += [
            "uint3 pid [[threadgroup_position_in_grid]]",
            "uint3 grid [[threadgroups_per_grid]]",
            f"uint {TID} [[thread_index_in_threadgroup]]",
        ]
        self.block(blocks[0])
        declared, nbytes = self.declarations()
        text = "\n".join(
            [
                _HEADER,
                *(text for name, text in HELPERS.items() if name in self.helpers),
                "",
                f"[[kernel, max_total_threads_per_threadgroup({self.threads})]] void {entry}(",
                ",\n".join(f"    {parameter}" for parameter in parameters) + ")",
                "{",
                *declared,
                *self.lines,
                "}",
                "",
            ]
        )
        return Source(text, entry, self.threads, nbytes, tuple(kinds))

    def program_id(self, axis: str) -> Operand:
        return Operand(f"pid.{axis}")

    def programs(self, axis: str) -> Operand:
        return Operand(f"grid.{axis}")

    def leave(self) -> None:
        self.add("return;")

    def wait_for_all(self) -> None:
        self.barrier(ALL_MEMORY)

    def store_statement(self, op: Operation) -> None:
        """A store, or a group of stores at its last."""
        group = self.groups.get(op, [op])
        if group[-1] is not op:
            return
        mask = op.operands[2] if len(op.operands) > 2 else None

        shape = op.operands[0].type.shape or ()
        made_by = [one.operands[1].operation for one in group]

        def holds(indices: Indices) -> str:
            return self.at(mask, indices) if mask is not None else "true"

        def found(indices: Indices) -> list[tuple[str, Operand, Operand]]:
            return [
                (one.operands[1].type.element, self.at(one.operands[0], indices), self.at(one.operands[1], indices))
                for one in group
            ]

        def store(indices: Indices) -> None:
            self.when(holds(indices), lambda: self.store_all(found(indices)))

        def store_pair(indices: Indices) -> None:
            places = [(*indices, constant_index(number, 2)) for number in range(2)]
            # Both are computed before either is stored, since both may read what is stored over.
            for condition, values in [(holds(place), found(place)) for place in places]:
                self.when(condition, lambda values=values: self.store_all(values))  # type: ignore[misc]

        if any(one is not None and one.name == "tt.join" for one in made_by):
            self.section(lambda: self.elements(shape[:-1], store_pair, once=True))
        else:
            self.section(lambda: self.elements(shape, store, once=True))

    def store_all(self, items: list[tuple[str, Operand, Operand]]) -> None:
        for element, address, value in items:
            self.add(f"*{address} = {f'uchar({value})' if element == 'i1' else value};")
