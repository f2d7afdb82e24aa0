"""What a lowering needs to know of a kernel before it starts: which tensors to compute where they are used, and which
to store in memory first.

A tensor is normally not stored. The *sink* that uses it in the end (a store, a reduction, a yield) loops over elements
and computes each of the tensor's elements where it needs it. A tensor is *materialised* in a buffer instead when it is
expensive and would be computed several times, or when it holds loads that must happen before something is written.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from .reader import Block, Operation, Value

#: Operations whose result at an index is their operands' elements at indices that follow from it.
STRUCTURAL = frozenset(
    ("tt.splat", "tt.make_range", "tt.broadcast", "tt.expand_dims", "tt.trans", "tt.reshape", "tt.join", "tt.split",
     "tt.cat", "tt.gather")
)  # fmt: skip
#: Those that read an element at another place than the one they make.
PERMUTING = frozenset(("tt.trans", "tt.reshape", "tt.join", "tt.split", "tt.cat", "tt.gather"))
ELEMENTWISE = frozenset(
    ("tt.addptr", "tt.load", "tt.bitcast", "tt.fp_to_fp", "tt.int_to_ptr", "tt.ptr_to_int", "tt.clampf", "tt.mulhiui",
     "tt.extern_elementwise", "tt.precise_divf", "tt.precise_sqrt")
)  # fmt: skip
#: A barrier orders what the threads of a GPU do before and after it, so no load may be delayed beyond it.
WRITES = frozenset(("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "ttg.barrier", "gpu.barrier"))
LOOPS = frozenset(("scf.for", "scf.while"))

#: Rough costs of computing an element again, against an addition's 1.
COSTS = {
    "arith.divf": 8, "arith.remf": 30, "arith.divsi": 20, "arith.divui": 20, "arith.remsi": 20, "arith.remui": 20,
    "tt.precise_divf": 8, "tt.precise_sqrt": 12, "math.sqrt": 12, "math.rsqrt": 20, "math.fma": 1, "math.absf": 1,
    "math.floor": 1, "math.ceil": 1, "tt.extern_elementwise": 40,
}  # fmt: skip
#: Reading an element back from a buffer, and writing it first, costs about this much.
COST_OF_MATERIALISING = 12
CAP = 10**6


def is_lazy(operation: Operation) -> bool:
    """Whether a tensor that the operation makes can be computed one element at a time, where it is used."""
    name = operation.name
    return name in STRUCTURAL or name in ELEMENTWISE or name.startswith(("arith.", "math."))


def walk(blocks: list[Block]) -> Iterator[Operation]:
    """All operations, in the order of the text."""
    for block in blocks:
        for operation in block.operations:
            yield operation
            for region in operation.regions:
                yield from walk(region)


class Sink(NamedTuple):
    """A use of a tensor by something that loops over elements."""

    operation: Operation
    permuted: bool  # the tensor is read at other places than the sink's own


class Plan(NamedTuple):
    materialised: set[Value]
    #: Stores of one shape and mask that follow each other, run by one loop: each store's group.
    groups: dict[Operation, list[Operation]]
    #: Integers that become offsets of addresses.
    offsets: set[Value]


def make_plan(function: Operation, permuting: frozenset[str] = PERMUTING) -> Plan:
    """What to store in memory; ``permuting`` are the operations that read elements which their sink's loop does
    elsewhere."""
    operations = list(walk(function.regions[0]))
    groups = _group_stores(function.regions[0])
    materialised: set[Value] = set()
    sinks = _sinks(operations, groups, materialised, permuting)
    _mark_expensive(operations, sinks, materialised)
    sinks = _sinks(operations, groups, materialised, permuting)
    _mark_early_loads(operations, sinks, groups, materialised)
    return Plan(materialised, groups, _offsets(operations))


def _group_stores(blocks: list[Block]) -> dict[Operation, list[Operation]]:
    groups: dict[Operation, list[Operation]] = {}
    for block in blocks:
        group: list[Operation] = []
        for op in block.operations:
            if op.name == "tt.store" and op.operands[0].type.is_tensor:
                same = group and group[0].operands[0].shape == op.operands[0].shape
                if same and group[0].operands[2:] == op.operands[2:]:
                    group.append(op)
                else:
                    group = [op]
                groups[op] = group
            elif not is_lazy(op) or op.name == "tt.load":
                group = []
            for region in op.regions:
                groups.update(_group_stores(region))
    return groups


def _sinks(
    operations: list[Operation],
    groups: dict[Operation, list[Operation]],
    materialised: set[Value],
    permuting: frozenset[str],
) -> dict[Value, set[Sink]]:
    """Where each lazy tensor is computed."""
    sinks: dict[Value, set[Sink]] = {}
    for op in reversed(operations):
        if not is_lazy(op):
            continue
        for value in op.results:
            if not value.type.is_tensor:
                continue
            found: set[Sink] = set()
            for user, _ in value.uses:
                if is_lazy(user) and user.results[0].type.is_tensor:
                    permuted = user.name in permuting
                    for result in user.results:
                        if result in materialised:
                            found.add(Sink(user, permuted))
                        else:
                            found.update(Sink(s.operation, s.permuted or permuted) for s in sinks.get(result, ()))
                else:
                    found.add(Sink(groups[user][-1] if user in groups else user, False))
            sinks[value] = found
    return sinks


def _mark_expensive(operations: list[Operation], sinks: dict[Value, set[Sink]], materialised: set[Value]) -> None:
    costs: dict[Value, int] = {}
    for op in operations:
        if not is_lazy(op):
            continue
        own = 0 if op.name in STRUCTURAL else COSTS.get(op.name, 40 if op.name.startswith("math.") else 1)
        for value in op.results:
            if not value.type.is_tensor:
                continue
            cost = min(own + sum(costs.get(operand, 0) for operand in set(op.operands)), CAP)
            costs[value] = cost
            if cost <= COST_OF_MATERIALISING:
                continue
            again = len(value.uses) > 1 and len({sink.operation for sink in sinks[value]}) > 1
            if again or _in_deeper_loop(op, sinks[value]) or _is_repeated(value):
                materialised.add(value)
                costs[value] = 1


def _in_deeper_loop(op: Operation, sinks: set[Sink]) -> bool:
    around = set(loops_around(op.block))
    return any(set(loops_around(sink.operation.block)) - around for sink in sinks)


def _is_repeated(value: Value) -> bool:
    """Whether a use reads each element many times: a broadcast along an outer dimension, or a gather."""
    for user, position in value.uses:
        if user.name == "tt.gather" and position == 0:
            return True
        if user.name == "tt.broadcast":
            before, after = value.shape, user.result.shape
            # Along the last dimensions the loop keeps the element in a register.
            for axis, size in enumerate(before):
                if size == 1 and after[axis] > 1 and any(inner > 1 for inner in before[axis + 1 :]):
                    return True
    return False


def _mark_early_loads(
    operations: list[Operation],
    sinks: dict[Value, set[Sink]],
    groups: dict[Operation, list[Operation]],
    materialised: set[Value],
) -> None:
    """Loads that would happen after a write that follows them, or be disturbed by their own sink's writing."""
    writes = [op for op in operations if op.name in WRITES]
    for op in operations:
        if op.name != "tt.load" or not op.result.type.is_tensor:
            continue
        around = set(loops_around(op.block))
        for sink, permuted in sinks[op.result]:
            between = any(
                op.position < write.position < sink.position and groups.get(write, [write])[-1] is not sink
                for write in writes
            )
            inner = set(loops_around(sink.block)) - around
            repeated = any(inner & set(loops_around(write.block)) for write in writes)
            if between or repeated or (permuted and sink.name in WRITES):
                materialised.add(op.result)
                break


def _offsets(operations: list[Operation]) -> set[Value]:
    work = [op.operands[1] for op in operations if op.name == "tt.addptr"]
    found: set[Value] = set()
    followed = {"arith.addi", "arith.subi", "arith.muli", "arith.extsi", "tt.splat", "tt.broadcast", "tt.expand_dims"}
    while work:
        value = work.pop()
        if value not in found and value.operation is not None and value.operation.name in followed:
            found.add(value)
            work += value.operation.operands
    return found


def loops_around(block: Block) -> list[Operation]:
    """The loops that a block is in, innermost first."""
    found = []
    while block.parent is not None and block.parent.name != "tt.func":
        if block.parent.name in LOOPS:
            found.append(block.parent)
        block = block.parent.block
    return found


def depends_on(value: Value, targets: set[Value]) -> bool:
    """Whether computing a lazy value reads one of ``targets``."""
    seen: set[Value] = set()
    work = [value]
    while work:
        value = work.pop()
        if value in targets:
            return True
        if value not in seen and value.operation is not None and is_lazy(value.operation):
            seen.add(value)
            work += value.operation.operands
    return False


def has_loads(value: Value) -> bool:
    """Whether computing a lazy value reads memory."""
    seen: set[Value] = set()
    work = [value]
    while work:
        value = work.pop()
        if value in seen or not value.type.is_tensor:
            continue
        seen.add(value)
        if value.operation is None or not is_lazy(value.operation) or value.operation.name == "tt.load":
            return True
        work += value.operation.operands
    return False


def increment_of(argument: Value, init: Value, new: Value, body: Block, materialised: set[Value]) -> Value | None:
    """The scalar, or tensor of equal elements, that each iteration adds to a carried tensor of cheap elements."""
    op = new.operation
    if op is None or op.name not in ("tt.addptr", "arith.addi") or op.operands[0] is not argument:
        return None
    if op.block is not body or has_loads(init) or init in materialised:
        return None
    return uniform(op.operands[1])


def uniform(value: Value) -> Value | None:
    """The scalar that every element of a tensor equals; a constant tensor stands for itself."""
    op = value.operation
    if not value.type.is_tensor or (op is not None and op.name == "arith.constant"):
        return value
    if op is not None and op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims"):
        return uniform(op.operands[0])
    return None


def reads_in_place(value: Value, olds: set[Value], kept: Container[Value]) -> bool:
    """Whether an element of ``value`` reads no element of ``olds`` but that at its own place. ``kept`` are the tensors
    that are read from where they are kept."""
    seen: set[Value] = set()  # a value with many uses is looked at once: there are exponentially many ways to it
    work = [value]
    while work:
        value = work.pop()
        if value in seen or value in olds or value in kept or value.operation is None or not is_lazy(value.operation):
            continue
        seen.add(value)
        if value.operation.name not in PERMUTING and value.operation.name not in STRUCTURAL:
            work += value.operation.operands
        elif depends_on(value, olds):
            return False
    return True
