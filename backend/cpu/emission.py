"""Writing LLVM IR as text: names, blocks, loops, buffers, metadata.

Code is written into *segments*. While a loop nest is being built there is one segment a depth, and an instruction goes
to the outermost depth that its operands allow, so what does not change in a loop is computed before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..ttir.indices import Operand

#: A kernel's buffers lie on the stack up to this many bytes in all, else the larger ones in memory from malloc.
STACK_LIMIT = 256 << 10
LARGE = 4 << 10


def operand(text: str, level: int = -1) -> Operand:
    made = Operand(text)
    made.level = level
    return made


TRUE, FALSE, ZERO = Operand("true"), Operand("false"), Operand("0")


def level_of(operands: Iterable[str]) -> int:
    return max((getattr(one, "level", -1) for one in operands), default=-1)


class Segment:
    """Lines of code, and the label of the block that the next line goes to."""

    def __init__(self, label: str) -> None:
        self.lines: list[str] = []
        self.label = label
        self.end = label

    def add(self, line: str) -> None:
        self.lines.append("  " + line)

    def begin(self, label: str) -> None:
        self.lines.append(label + ":")
        self.end = label

    def reserve(self) -> int:
        """A place for lines that are known later (phi instructions)."""
        self.lines.append("")
        return len(self.lines) - 1

    def fill(self, place: int, lines: list[str]) -> None:
        self.lines[place] = "\n".join("  " + line for line in lines)


class Emitter:
    """Writes one function."""

    def __init__(self) -> None:
        self.count = 0
        self.effects = 0
        #: Instructions in loops that compute, and that read or write memory.
        self.arithmetic = 0
        self.accesses = 0
        self.segments = [Segment("body")]
        self.declarations: dict[str, str] = {}
        self.metadata: list[str] = []
        self.buffers: list[tuple[Operand, int]] = []  # name and bytes
        #: The access group of the nest being built, where its elements are independent of each other.
        self.access_group: str | None = None
        #: Whether LLVM may vectorise the nest being built. It must not where an address contains a few bits cut out of
        #: a counter: of ``x[i & 7] ^ x[(i & 7) + 16 * (i >> 3)]`` LLVM 22 makes loads of neighbours, without the test
        #: that ``i & 7`` does not start again.
        self.vectorise = True

    # -- instructions

    def label(self) -> str:
        self.count += 1
        return f"L{self.count}"

    def name(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    @property
    def here(self) -> Segment:
        """The innermost segment."""
        return self.segments[-1]

    def segment_for(self, level: int) -> Segment:
        return self.segments[min(level + 1, len(self.segments) - 1)]

    def emit(self, text: str, *operands: str) -> Operand:
        """An instruction without effects, as far out as its operands allow."""
        level = level_of(operands)
        result = operand(self.name(), level)
        if level >= 0 and text.startswith(("f", "call", "select", "xor", "or", "shl", "lshr", "ashr", "sdiv", "udiv")):
            self.arithmetic += 1
        if not text.startswith(("icmp", "fcmp", "load", "phi", "call")):
            result.counts = any(getattr(one, "counts", False) for one in operands)
            cuts = re.match(r"and |trunc .* to i(1|8|16)$|[us]rem .*, \d+$", text)
            result.wraps = any(getattr(one, "wraps", False) for one in operands) or (result.counts and bool(cuts))
        self.segment_for(level).add(f"{result} = {text}")
        return result

    def effect(self, text: str, has_result: bool = False) -> Operand:
        """An instruction that must stay where it is."""
        self.effects += 1
        result = operand(self.name(), len(self.segments) - 2)
        self.here.add(f"{result} = {text}" if has_result else text)
        return result

    def call(self, function: str, kind: str, *arguments: str, attributes: str = "") -> Operand:
        """A call of a function without effects, all of whose arguments have the result's type."""
        self.declarations[function] = f"declare {kind} @{function}({', '.join([kind] * len(arguments))}){attributes}"
        listed = ", ".join(f"{kind} {argument}" for argument in arguments)
        return self.emit(f"call {kind} @{function}({listed})", *arguments)

    def intrinsic(self, name: str, kind: str, *arguments: str) -> Operand:
        """A call of LLVM's function of a name for a type, which may be a vector."""
        found = re.fullmatch(r"<(\d+) x (\w+)>", kind)
        element = found[2] if found else kind
        suffix = {"float": "f32", "double": "f64"}.get(element, element)
        return self.call(f"llvm.{name}.{f'v{found[1]}' if found else ''}{suffix}", kind, *arguments)

    # -- memory

    def buffer(self, nbytes: int) -> Operand:
        """The address of memory that is the kernel's own, for as long as it runs."""
        address = operand(f"%buffer{len(self.buffers)}")
        self.buffers.append((address, nbytes))
        return address

    def buffer_lines(self) -> tuple[list[str], int]:
        """Lines that define the buffers, and how many bytes of scratch memory (``%scratch``) they take."""
        lines, scratch = [], 0
        spill = sum(nbytes for _, nbytes in self.buffers) > STACK_LIMIT
        for address, nbytes in self.buffers:
            if spill and nbytes > LARGE:
                lines.append(f"  {address} = getelementptr inbounds i8, ptr %scratch, i64 {scratch}")
                scratch += -(-nbytes // 64) * 64
            else:
                lines.append(f"  {address} = alloca [{nbytes} x i8], align 64")
        return lines, scratch

    def access(self) -> str:
        """The suffix of a load or store: elements of a nest do not depend on each other."""
        return f", !llvm.access.group {self.access_group}" if self.access_group else ""

    def copy(self, target: Operand, source: Operand, nbytes: int) -> None:
        """Copy from one buffer to another."""
        self.declarations["llvm.memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        self.effect(
            f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {target}, ptr align 64 {source}, i64 {nbytes}, i1 false)"
        )

    # -- metadata

    def new_access_group(self) -> str:
        self.metadata.append("distinct !{}")
        return f"!{len(self.metadata) - 1}"

    def loop_metadata(self, access_group: str | None, vectorise: bool = True, unroll: bool = True) -> str:
        number = len(self.metadata)
        items = [f"!{number}"]
        self.metadata.append("")
        properties = [] if vectorise else ['!"llvm.loop.vectorize.enable", i1 false']
        properties += [] if unroll else ['!"llvm.loop.unroll.disable"']
        if access_group:
            properties.append(f'!"llvm.loop.parallel_accesses", {access_group}')
        for one in properties:
            items.append(f"!{len(self.metadata)}")
            self.metadata.append(f"!{{{one}}}")
        self.metadata[number] = f"distinct !{{{', '.join(items)}}}"
        return f"!{number}"

    # -- control flow between statements

    def loop(
        self,
        start: str,
        stop: str,
        body: Callable[[Operand, list[Operand]], Sequence[str] | None],
        step: int = 1,
        carried: Sequence[tuple[str, str]] = (),
    ) -> list[Operand]:
        """A loop over i32 from ``start`` to below ``stop``; ``carried`` are types and first values, ``body`` gives the
        next ones. The values after the loop."""
        segment = self.here
        before, head, after = segment.end, self.label(), self.label()
        guard = self.emit(f"icmp slt i32 {start}, {stop}")
        segment.add(f"br i1 {guard}, label %{head}, label %{after}")
        segment.begin(head)
        phis = segment.reserve()
        counter = operand(self.name())
        values = [operand(self.name()) for _ in carried]
        new = body(counter, values) or []
        following = self.emit(f"add nuw nsw i32 {counter}, {step}")
        more = self.emit(f"icmp slt i32 {following}, {stop}")
        end = segment.end
        lines = [f"{counter} = phi i32 [ {start}, %{before} ], [ {following}, %{end} ]"]
        for value, (kind, first), last in zip(values, carried, new, strict=True):
            lines.append(f"{value} = phi {kind} [ {first}, %{before} ], [ {last}, %{end} ]")
        segment.fill(phis, lines)
        segment.add(f"br i1 {more}, label %{head}, label %{after}, !llvm.loop {self.loop_metadata(None, False)}")
        segment.begin(after)
        return [
            self.emit(f"phi {kind} [ {last}, %{end} ], [ {first}, %{before} ]")
            for (kind, first), last in zip(carried, new, strict=True)
        ]

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """Run ``body``'s code where the condition holds."""
        segment = self.here
        inside, after = self.label(), self.label()
        segment.add(f"br i1 {condition}, label %{inside}, label %{after}")
        segment.begin(inside)
        body()
        segment.add(f"br label %{after}")
        segment.begin(after)
