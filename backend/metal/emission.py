"""Writing the Metal Shading Language as text: names, blocks, helpers, and where tensors are kept.

Every value is a variable of its own, assigned by one operation, so that no compiler fuses a product with a sum.

A tensor that is kept has a *home*: registers of the threads, where element ``i`` is the thread ``i % threads``'s, or
memory of the threadgroup, where any thread finds any element. Between writing to that memory and reading from it
stands a barrier. Code that touches it is written in *sections*, which see to that: a section runs from one possible
barrier to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..ttir.indices import Operand
from ..ttir.reader import Type, Value
from ..ttir.types import NotSupported

#: What Apple's GPUs give a threadgroup (Metal feature set tables, families Apple4 and later).
MEMORY_LIMIT = 32 << 10
TID = Operand("tid")

KINDS = {
    "i1": "bool", "i8": "uchar", "i16": "ushort", "i32": "uint", "i64": "ulong", "index": "ulong",
    "f16": "half", "bf16": "bfloat", "f32": "float",
}  # fmt: skip

#: Functions that the text defines where it uses them, and those that these use.
HELPERS: dict[str, str] = {
    "quotient": """\
// Towards zero. Where a processor may trap, the divisor is taken as 1.
template <typename S, typename U> inline U quotient(U x, U y) {
    const bool unsafe = y == 0 || (S(-1) < S(0) && y == U(-1) && x == U(1) << (8 * sizeof(U) - 1));
    return U(S(x) / S(unsafe ? U(1) : y));
}""",
    "remainder_of": """\
template <typename S, typename U> inline U remainder_of(U x, U y) {
    const bool unsafe = y == 0 || (S(-1) < S(0) && y == U(-1) && x == U(1) << (8 * sizeof(U) - 1));
    return U(S(x) % S(unsafe ? U(1) : y));
}""",
    "shift_left": """\
template <typename U> inline U shift_left(U x, U n) { return n < 8 * sizeof(U) ? x << n : U(0); }""",
    "shift_right": """\
template <typename U> inline U shift_right(U x, U n) { return n < 8 * sizeof(U) ? x >> n : U(0); }""",
    "shift_right_signed": """\
template <typename S, typename U> inline U shift_right_signed(U x, U n) {
    return U(S(x) >> (n < 8 * sizeof(U) ? n : U(8 * sizeof(U) - 1)));
}""",
    "high_product": """\
inline ulong high_product(ulong x, ulong y) {
    const ulong a = x & 0xffffffffu, b = x >> 32, c = y & 0xffffffffu, d = y >> 32;
    const ulong middle = b * c + (a * c >> 32), other = a * d + (middle & 0xffffffffu);
    return b * d + (middle >> 32) + (other >> 32);
}""",
    "maximum": """\
// The larger, -0 below +0; NaN if either is.
inline float maximum(float x, float y) {
    return x != x ? x : y != y ? y : x > y ? x : y > x ? y : as_type<float>(as_type<uint>(x) & as_type<uint>(y));
}""",
    "minimum": """\
inline float minimum(float x, float y) {
    return x != x ? x : y != y ? y : x < y ? x : y < x ? y : as_type<float>(as_type<uint>(x) | as_type<uint>(y));
}""",
    # Towards zero, saturating, NaN to 0: the language leaves a conversion out of range undefined.
    "to_int": """\
inline uint to_int(float x) {
    return x >= 2147483648.0f ? 0x7fffffffu : x > -2147483648.0f ? uint(int(x)) : x != x ? 0u : 0x80000000u;
}""",
    "to_uint": """\
inline uint to_uint(float x) { return x >= 4294967296.0f ? 0xffffffffu : x > 0.0f ? uint(x) : 0u; }""",
    "to_long": """\
inline ulong to_long(float x) {
    return x >= 9223372036854775808.0f ? 0x7ffffffffffffffful
         : x > -9223372036854775808.0f ? ulong(long(x)) : x != x ? 0ul : 0x8000000000000000ul;
}""",
    "to_ulong": """\
inline ulong to_ulong(float x) { return x >= 18446744073709551616.0f ? ~0ul : x > 0.0f ? ulong(x) : 0ul; }""",
    # The simdgroup's functions take no 64-bit numbers.
    "exchange": """\
inline float exchange(float x, ushort lanes) { return metal::simd_shuffle_xor(x, lanes); }
inline uint exchange(uint x, ushort lanes) { return metal::simd_shuffle_xor(x, lanes); }
inline bool exchange(bool x, ushort lanes) { return metal::simd_shuffle_xor(uint(x), lanes) != 0; }
inline uchar exchange(uchar x, ushort lanes) { return uchar(metal::simd_shuffle_xor(uint(x), lanes)); }
inline ushort exchange(ushort x, ushort lanes) { return ushort(metal::simd_shuffle_xor(uint(x), lanes)); }
inline half exchange(half x, ushort lanes) { return as_type<half>(exchange(as_type<ushort>(x), lanes)); }
inline bfloat exchange(bfloat x, ushort lanes) { return as_type<bfloat>(exchange(as_type<ushort>(x), lanes)); }
inline ulong exchange(ulong x, ushort lanes) {
    return ulong(metal::simd_shuffle_xor(uint(x >> 32), lanes)) << 32 | metal::simd_shuffle_xor(uint(x), lanes);
}""",
    "add_long": """\
// There are no atomics of 64 bits that add. Whoever carries adds to the upper half: when all have, the sum is right.
inline void add_long(device metal::atomic_uint* place, ulong value) {
    const uint low = uint(value);
    const uint before = metal::atomic_fetch_add_explicit(place, low, metal::memory_order_relaxed);
    const uint high = uint(value >> 32) + (before + low < low ? 1u : 0u);
    if (high != 0) metal::atomic_fetch_add_explicit(place + 1, high, metal::memory_order_relaxed);
}""",
    "compare_exchange": """\
// What was there. The language has the form that may fail for no reason only.
inline uint compare_exchange(device metal::atomic_uint* place, uint wanted, uint value) {
    uint found = wanted;
    while (!metal::atomic_compare_exchange_weak_explicit(place, &found, value, metal::memory_order_relaxed,
                                                         metal::memory_order_relaxed) && found == wanted) {}
    return found;
}""",
}


def kind_of(type: Type) -> str:
    """The language's type of a value."""
    if type.element == "ptr":
        return f"device {memory_kind(type.pointee or 'i8')}*"
    return element_kind(type.element)


def element_kind(element: str) -> str:
    try:
        return KINDS[element]
    except KeyError:
        raise NotSupported(f"elements of type {element} are not supported on Metal") from None


def memory_kind(element: str) -> str:
    """The type of an element in memory, where a bool is a byte."""
    return "uchar" if element == "i1" else element_kind(element)


@dataclass(eq=False)
class Home:
    """Where a kept tensor is."""

    name: str
    kind: str
    bits: int  # that count its elements
    shared: bool
    values: set[Value] = field(default_factory=set)
    nbytes: int = 0
    #: The sections between which memory holds it, and homes that were used just before it, with no barrier between.
    first: int = -1
    last: int = -1
    near: set[Home] = field(default_factory=set)

    def interferes(self, other: Home) -> bool:
        """Whether the two must be in different places."""
        return (self.first <= other.last and other.first <= self.last) or other in self.near or self in other.near


@dataclass
class Accesses:
    """What was done to memory of the threadgroup since the last barrier."""

    read: set[Home] = field(default_factory=set)
    written: set[Home] = field(default_factory=set)
    unknown: bool = False  # or anything, as in the iteration before this one

    def conflicts(self, later: Accesses) -> bool:
        """Whether a barrier must stand between these and later ones."""
        touched = later.read | later.written
        return bool((self.unknown and touched) or touched & self.written or later.written & self.read)

    def __or__(self, other: Accesses) -> Accesses:
        return Accesses(self.read | other.read, self.written | other.written, self.unknown or other.unknown)


class Writer:
    """Writes one kernel's body."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.thread_bits = threads.bit_length() - 1
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.helpers: set[str] = set()
        self.homes: list[Home] = []
        self.clock = 0  # sections so far
        self.since = Accesses()  # the last barrier
        self.section_accesses = Accesses()

    # -- text

    def name(self, letter: str = "t") -> Operand:
        self.count += 1
        return Operand(f"{letter}{self.count}")

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def emit(self, kind: str, text: str) -> Operand:
        """A constant that an expression initialises."""
        name = self.name()
        self.add(f"const {kind} {name} = {text};" if not kind.endswith("*") else f"{kind} const {name} = {text};")
        return name

    def variable(self, kind: str, first: str | None = None) -> Operand:
        name = self.name("v")
        self.add(f"{kind} {name};" if first is None else f"{kind} {name} = {first};")
        return name

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        self.add(f"{head} {{".lstrip())
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")

    def helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    # -- homes

    def new_home(self, kind: str, nbytes: int, bits: int, shared: bool) -> Home:
        if shared and kind.endswith("*"):
            raise NotSupported("pointers that other threads need are not supported on Metal")
        home = Home(self.name("m" if shared else "r"), kind, bits, shared, nbytes=nbytes)
        self.homes.append(home)
        return home

    def touch(self, home: Home, writes: bool) -> None:
        if home.shared:
            (self.section_accesses.written if writes else self.section_accesses.read).add(home)

    def declarations(self) -> tuple[list[str], int]:
        """The homes' declarations, and how many bytes of the threadgroup's memory they take."""
        lines, nbytes = [], 0
        placed: list[tuple[int, Home]] = []
        for home in self.homes:
            if not home.shared:
                slots = 1 << max(home.bits - self.thread_bits, 0)
                lines.append(f"{home.kind} {home.name}[{slots}];" if slots > 1 else f"{home.kind} {home.name};")
                continue
            place = 0
            size = -(-home.nbytes // 16) * 16
            for start, other in sorted(placed, key=lambda pair: pair[0]):
                if home.interferes(other) and start < place + size:
                    place = max(place, start + -(-other.nbytes // 16) * 16)
            placed.append((place, home))
            nbytes = max(nbytes, place + size)
            kind = f"threadgroup {home.kind}*"
            lines.append(f"{kind} const {home.name} = ({kind})(memory + {place // 8});")
        if nbytes > MEMORY_LIMIT:
            raise NotSupported(f"it takes {nbytes} bytes of threadgroup memory; Metal has {MEMORY_LIMIT}")
        if nbytes:
            lines.insert(0, f"threadgroup ulong memory[{nbytes // 8}];")
        return ["    " + line for line in lines], nbytes

    # -- barriers

    def barrier(self, flags: str = "metal::mem_flags::mem_threadgroup") -> None:
        self.add(f"metal::threadgroup_barrier({flags});")
        self.since = Accesses()

    def section(self, body: Callable[[], None]) -> None:
        """Code within which no thread may need what another one writes there."""
        outer, self.lines = self.lines, []
        self.section_accesses = Accesses()
        body()
        lines, self.lines = self.lines, outer
        if self.since.conflicts(self.section_accesses):
            self.barrier()
        self.lines += lines
        self.clock += 1
        for home in self.section_accesses.read | self.section_accesses.written:
            home.first = self.clock if home.first < 0 else home.first
            home.last = self.clock
            home.near |= self.since.read | self.since.written
        self.since |= self.section_accesses

    @contextmanager
    def looping(self) -> Iterator[list[Accesses]]:
        """Around a loop's statements: each may follow every other one, and what is kept from before must last. To the
        list goes what has been done where the loop can be left."""
        start, before = self.clock, self.since
        self.since = Accesses(unknown=True)
        exits: list[Accesses] = []
        yield exits
        for home in self.homes:
            if 0 <= home.first <= start < home.last:
                home.last = self.clock
        for after in (before, *exits):
            self.since |= after
        self.since.unknown = before.unknown
