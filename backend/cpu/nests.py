"""Loop nests over the elements of a tensor, split where a mask is known.

A kernel masks the elements beyond the end of its data: ``i < n``. Testing that for each element would keep loops from
being vectorised on processors without masked instructions. Where such a comparison is linear in a loop's counter it
becomes the loop's bound: up to it the mask holds, and beyond it does not.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from ..ttir.graph import PERMUTING
from ..ttir.indices import Index, Indices, Operand, operand_indices, unflatten
from ..ttir.reader import Value
from ..ttir.types import INTEGER_PREDICATES
from .elements import Elements
from .emission import Segment, operand
from .scalars import register_type

#: Dimensions are joined into one loop until it has this many iterations.
SHORTEST_INNER_LOOP = 16
#: No nest is split along more dimensions than this; each doubles its code.
MOST_SPLITS = 2

Body = Callable[[Indices], None]


class Linear(NamedTuple):
    """``sum(counters) + sum(factor * operand) + constant``, exact."""

    counters: dict[Operand, int]
    terms: list[tuple[int, Operand, str]]  # factor, operand, its type
    constant: int

    def plus(self, other: Linear, sign: int) -> Linear:
        counters = dict(self.counters)
        for counter, factor in other.counters.items():
            counters[counter] = counters.get(counter, 0) + sign * factor
        return Linear(
            {counter: factor for counter, factor in counters.items() if factor},
            self.terms + [(sign * factor, one, kind) for factor, one, kind in other.terms],
            self.constant + sign * other.constant,
        )

    def times(self, factor: int) -> Linear:
        return Linear(
            {counter: factor * f for counter, f in self.counters.items()},
            [(factor * f, one, kind) for f, one, kind in self.terms],
            factor * self.constant,
        )


class Bound(NamedTuple):
    """A comparison that holds exactly where ``counter < limit``."""

    comparison: tuple[Value, Indices]
    counter: Operand
    limit: Linear


class Nests(Elements):
    """Emits loops over elements."""

    def nest(
        self,
        shape: Sequence[int],
        body: Body,
        probes: Sequence[Value] = (),
        mask: Value | None = None,
        indices_of: Callable[[Indices], Indices] = lambda indices: indices,
        parallel: bool = True,
        outer: int = 0,
    ) -> None:
        """``body`` for each element. ``probes`` are the tensors it evaluates, at ``indices_of`` an element's indices;
        where ``mask`` does not hold, nothing need be done, so that all its bounds make one; of other masks the first
        bound of a loop splits it. ``parallel`` says that elements can be done in any order,
        but for those that differ along the first ``outer`` axes."""
        loops = [[axis] for axis, size in enumerate(shape) if size > 1]
        counters, indices = self.counters(loops, shape)
        bounds = self.find_bounds(counters, indices_of(indices), probes, mask)
        if not bounds:
            loops = [axes for axes in loops if axes[0] < outer] + self.joined(
                [axes for axes in loops if axes[0] >= outer], shape
            )
        if outer and (not loops or loops[-1][0] < outer):
            parallel = False  # the innermost loop is one along which the order matters
        stops: dict[int, Operand] = {}
        for depth, counter in enumerate(counters):
            found = [bound for bound in bounds if bound.counter == counter]
            if found:
                stops[depth] = self.least_limit(found if mask is not None else found[:1], shape[loops[depth][0]])
        sides = (True,) if mask is not None else (True, False)
        for below in itertools.product(*(sides if depth in stops else (None,) for depth in range(len(loops)))):
            counters, indices = self.counters(loops, shape)
            bounds = self.find_bounds(counters, indices_of(indices), probes, mask) if stops else []
            decided: dict[tuple[Value, Indices], Operand] = {}
            ranges = []
            for depth, counter in enumerate(counters):
                size = str(prod(shape[axis] for axis in loops[depth]))
                if below[depth] is None:
                    ranges.append(("0", size))
                    continue
                ranges.append(("0", stops[depth]) if below[depth] else (stops[depth], size))
                found = [bound for bound in bounds if bound.counter == counter]
                for bound in found if mask is not None else found[:1]:
                    decided[bound.comparison] = operand("true" if below[depth] else "false", depth)
            self.emit_nest(counters, ranges, decided, functools.partial(body, indices), parallel)

    def least_limit(self, bounds: list[Bound], size: int) -> Operand:
        """Where the first of some bounds is reached."""
        limits = [self.limit_value(bound.limit, size) for bound in bounds]
        least = limits[0]
        for limit in limits[1:]:
            least = self.intrinsic("smin", "i32", least, limit)
        return least

    def counters(self, loops: list[list[int]], shape: Sequence[int]) -> tuple[list[Operand], Indices]:
        """A counter a loop, and the indices they make."""
        counters: list[Operand] = []
        indices: list[Index] = [()] * len(shape)
        for depth, axes in enumerate(loops):
            sizes = [shape[axis] for axis in axes]
            counter = operand(self.name(), depth)
            counter.counts = True
            counters.append(counter)
            for axis, index in zip(axes, unflatten(self.counter(counter, prod(sizes)), sizes), strict=True):
                indices[axis] = index
        return counters, tuple(indices)

    @staticmethod
    def joined(loops: list[list[int]], shape: Sequence[int]) -> list[list[int]]:
        """Loops so short that their overhead would matter become one."""
        result: list[list[int]] = []
        size = 0
        for axes in reversed(loops):
            if result and size < SHORTEST_INNER_LOOP:
                result[0] = axes + result[0]
                size *= shape[axes[0]]
            else:
                result.insert(0, axes)
                size = shape[axes[0]]
        return result

    def emit_nest(
        self,
        counters: list[Operand],
        ranges: list[tuple[str, str]],
        decided: dict[tuple[Value, Indices], Operand],
        body: Callable[[], None],
        parallel: bool,
    ) -> None:
        """Loops inside each other over the ranges. The body is written first, into a segment for each depth."""
        outer = self.segments
        saved = self.known, self.decided, self.access_group, self.vectorise
        self.segments = [Segment(self.label()) for _ in range(len(counters) + 1)]
        self.known, self.decided = {}, {**self.decided, **decided}
        self.access_group = self.new_access_group() if parallel else None
        self.vectorise = True
        effects = self.effects
        body()
        group, segments, self.segments = self.access_group, self.segments, outer
        vectorise = self.vectorise
        self.known, self.decided, self.access_group, self.vectorise = saved
        if self.effects == effects:
            return  # nothing to do where a mask does not hold, say

        here = self.here
        here.add(f"br label %{segments[0].label}")
        here.begin(segments[0].label)
        heads = []
        for depth, (start, stop) in enumerate(ranges):
            here.lines += segments[depth].lines
            head, after = segments[depth + 1].label, self.label()
            certain = start.isdigit() and stop.isdigit() and int(start) < int(stop)
            if certain:
                here.add(f"br label %{head}")
            else:
                guard = self.name()
                here.add(f"{guard} = icmp slt i32 {start}, {stop}")
                here.add(f"br i1 {guard}, label %{head}, label %{after}")
            here.begin(head)
            heads.append((depth, segments[depth].end, head, after, here.reserve()))
        here.lines += segments[-1].lines
        end = segments[-1].end
        for depth, before, head, after, phi in reversed(heads):
            start, stop = ranges[depth]
            following, more = self.name(), self.name()
            here.fill(phi, [f"{counters[depth]} = phi i32 [ {start}, %{before} ], [ {following}, %{end} ]"])
            innermost = depth == len(counters) - 1
            # Only loops of constant length gain from being unrolled more than their vectors are.
            constant = start.isdigit() and stop.isdigit()
            metadata = self.loop_metadata(group if innermost else None, vectorise, unroll=constant)
            here.add(f"{following} = add nuw nsw i32 {counters[depth]}, 1")
            here.add(f"{more} = icmp slt i32 {following}, {stop}")
            here.add(f"br i1 {more}, label %{head}, label %{after}, !llvm.loop {metadata}")
            here.begin(after)
            end = after
        here.end = end

    # -- masks

    def find_bounds(
        self, counters: Sequence[Operand], indices: Indices, probes: Sequence[Value], mask: Value | None
    ) -> list[Bound]:
        """Comparisons that bound a counter: those of ``mask``, else the masks of loads and selections in ``probes``."""
        found: list[Bound] = []
        if mask is not None:
            self.comparisons(mask, indices, counters, found)
            return found
        seen: set[tuple[Value, Indices]] = set()
        for value in probes:
            self.probe(value, indices, counters, found, seen)
        # The innermost dimensions gain most.
        split = [counter for counter in counters if any(bound.counter == counter for bound in found)]
        return [bound for bound in found if bound.counter in split[-MOST_SPLITS:]]

    def probe(
        self,
        value: Value,
        indices: Indices,
        counters: Sequence[Operand],
        found: list[Bound],
        seen: set[tuple[Value, Indices]],
    ) -> None:
        """The masks that are tested while an element of a tensor is computed."""
        if (value, indices) in seen or not value.type.is_tensor or value in self.places:
            return
        seen.add((value, indices))
        op = value.operation
        if value in self.inductions:
            self.probe(self.inductions[value][0], indices, counters, found, seen)
            return
        if op is None or op.name in ("arith.constant", "tt.splat", "tt.make_range"):
            return
        moved = operand_indices(value, indices)
        if moved is not None:
            self.probe(op.operands[0], moved, counters, found, seen)
            return
        if op.name in PERMUTING:
            return
        if op.name == "tt.load" and len(op.operands) > 1:
            self.comparisons(op.operands[1], indices, counters, found)
        if op.name == "arith.select":
            self.comparisons(op.operands[0], indices, counters, found)
        for one in op.operands:
            self.probe(one, indices, counters, found, seen)

    def comparisons(self, mask: Value, indices: Indices, counters: Sequence[Operand], found: list[Bound]) -> None:
        """The bounds among the conjuncts of a mask."""
        op = mask.operation
        if not mask.type.is_tensor or mask in self.places or mask in self.inductions or op is None:
            return
        if op.name == "arith.andi":
            for one in op.operands:
                self.comparisons(one, indices, counters, found)
        elif op.name == "arith.cmpi":
            predicate = INTEGER_PREDICATES[op.integer("predicate")]
            left, right = (self.linear(one, indices, counters) for one in op.operands)
            if predicate not in ("slt", "sle", "sgt", "sge") or left is None or right is None:
                return
            if predicate[1] == "g":
                left, right = right, left
            limit = right.plus(left, -1)  # the comparison is 0 < limit, or 0 <= limit
            if len(limit.counters) != 1 or -1 not in limit.counters.values():
                return
            (counter,) = limit.counters
            orequal = predicate[2] == "e"
            found.append(Bound((mask, indices), counter, Linear({}, limit.terms, limit.constant + orequal)))
        elif op.name in ("tt.expand_dims", "tt.broadcast"):
            moved = operand_indices(mask, indices)
            assert moved is not None
            self.comparisons(op.operands[0], moved, counters, found)

    def linear(self, value: Value, indices: Indices, counters: Sequence[Operand]) -> Linear | None:
        """An integer element as a linear function of the counters, where it is one."""
        op = value.operation
        if not value.type.is_tensor:
            return Linear({}, [(1, self.scalars[value], value.type.element)], 0)
        if value in self.places or value in self.inductions or op is None:
            return None
        if op.name == "tt.make_range":
            index = self.linear_index(indices[0], counters)
            return index and index._replace(constant=index.constant + op.integer("start"))
        if op.name == "arith.constant":
            found = re.match(r"dense<(-?\d+)> : ", op.attributes["value"])
            return Linear({}, [], int(found[1])) if found else None
        if op.name == "tt.splat":
            source = op.operands[0].operation
            if source is not None and source.name == "arith.constant":
                return Linear({}, [], int(self.scalars[op.operands[0]]))
            return self.linear(op.operands[0], (), counters)
        if op.name in ("tt.expand_dims", "tt.broadcast"):
            moved = operand_indices(value, indices)
            assert moved is not None
            return self.linear(op.operands[0], moved, counters)
        if op.name == "arith.extsi":
            return self.linear(op.operands[0], indices, counters)
        if op.name in ("arith.addi", "arith.subi", "arith.muli"):
            left, right = (self.linear(one, indices, counters) for one in op.operands)
            if left is None or right is None:
                return None
            if op.name != "arith.muli":
                return left.plus(right, 1 if op.name == "arith.addi" else -1)
            for factor, other in ((left, right), (right, left)):
                if not factor.counters and not factor.terms:
                    return other.times(factor.constant)
        return None

    def linear_index(self, index: Index, counters: Sequence[Operand]) -> Linear | None:
        result, place = Linear({}, [], 0), 0
        for field in index:
            factor = 1 << place
            if field.operand in counters:
                if not self.is_whole(field):
                    return None
                result = result.plus(Linear({field.operand: factor}, [], 0), 1)
            else:
                value = self.field_value(field)
                if value.level >= 0:
                    return None  # it changes with a counter that is not asked for
                result = result.plus(Linear({}, [(factor, value, "i32")], 0), 1)
            place += field.bits
        return result

    def limit_value(self, limit: Linear, size: int) -> Operand:
        """A bound as an i32 from 0 to ``size``."""
        total = Operand(str(limit.constant))
        for factor, value, kind in limit.terms:
            if register_type(kind) != "i64":
                value = self.emit(f"sext {register_type(kind)} {value} to i64", value)
            if factor != 1:
                value = self.emit(f"mul i64 {value}, {factor}", value)
            total = self.emit(f"add i64 {total}, {value}", total, value)
        total = self.intrinsic("smin", "i64", self.intrinsic("smax", "i64", total, "0"), str(size))
        return self.emit(f"trunc i64 {total} to i32", total)
