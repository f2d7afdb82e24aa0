"""What AMD's compiler wrote into a code object about its kernels, and whether it is what we launch.

An hsaco is an ELF file; a note of owner ``AMDGPU`` and type 32 holds, as MessagePack, where each argument lies in the
kernel's argument segment, how much local memory and how many registers it takes, and what it spilled:
https://llvm.org/docs/AMDGPUUsage.html#code-object-v5-metadata and https://github.com/msgpack/msgpack/blob/master/spec.md.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .. import native
from ..contract import CompiledKernel

LOCAL_MEMORY = 64 << 10  # bytes of LDS that a workgroup may have, on every CDNA up to 3 and every RDNA
_NOTES, _DYNAMIC_SYMBOLS = 7, 11  # ELF's SHT_NOTE and SHT_DYNSYM
_METADATA = 32  # NT_AMDGPU_METADATA


class Argument(NamedTuple):
    offset: int
    size: int
    kind: str  # "global_buffer", "by_value", "hidden_..."


class Kernel(NamedTuple):
    """What the note says of one kernel."""

    target: str
    name: str
    arguments: tuple[Argument, ...]
    segment: int  # bytes of arguments
    local_memory: int  # bytes that it takes beside what the launch adds
    stack: int  # bytes of private memory of a thread
    spilled: int  # vector registers kept in private memory
    spilled_scalars: int  # scalar registers, kept in lanes of vector registers while there are any
    wave: int
    most_threads: int  # in a workgroup


def kernels(artifact: bytes) -> list[Kernel]:
    """The kernels of a code object; ValueError where it is none."""
    metadata = unpack(_note(artifact))
    # "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"; before the architecture LLVM's versions differ
    target = metadata["amdhsa.target"].partition(":")[0].rpartition("-")[2]
    return [
        Kernel(
            target=target,
            name=row[".name"],
            arguments=tuple(Argument(a[".offset"], a[".size"], a[".value_kind"]) for a in row.get(".args", ())),
            segment=row[".kernarg_segment_size"],
            local_memory=row[".group_segment_fixed_size"],
            stack=row[".private_segment_fixed_size"],
            spilled=row[".vgpr_spill_count"],
            spilled_scalars=row[".sgpr_spill_count"],
            wave=row[".wavefront_size"],
            most_threads=row[".max_flat_workgroup_size"],
        )
        for row in metadata["amdhsa.kernels"]
    ]


def problems(kernel: CompiledKernel, may_spill: bool = False) -> list[str]:
    """In what a compiled kernel's note differs from what the driver launches; empty where in nothing."""
    found = [row for row in kernels(kernel.artifact) if row.name == kernel.symbol]
    if len(found) != 1:
        return [f"the code object has {len(found)} kernels {kernel.symbol!r}"]
    (note,) = found
    threads = kernel.num_warps * kernel.target.warp_size
    expected = [*kernel.parameters, "*", "*"]  # and the two pointers to scratch memory
    offsets, _ = native.buffer_layout(expected)
    wanted = [
        Argument(offset, native.argument_type(kind).size, "global_buffer" if kind.startswith("*") else "by_value")
        for kind, offset in zip(expected, offsets, strict=True)
    ]
    given = [argument for argument in note.arguments if not argument.kind.startswith("hidden_")]
    texts = []
    if given != wanted:
        texts.append(f"its arguments are {given}, not {wanted}")
    if note.target != kernel.target.arch or note.wave != kernel.target.warp_size:
        texts.append(f"it is for {note.target} with waves of {note.wave}")
    if threads > note.most_threads:
        texts.append(f"a workgroup may have {note.most_threads} threads, not {threads}")
    if note.local_memory + kernel.shared > LOCAL_MEMORY:
        texts.append(f"it takes {note.local_memory + kernel.shared} bytes of local memory")
    if (note.spilled or note.stack) and not may_spill:
        texts.append(f"it spills {note.spilled} registers and has {note.stack} bytes of stack")
    if missing := missing_functions(kernel.artifact):
        texts.append(f"it calls {', '.join(missing)}, which AMD's device library lacks")
    return texts


def _sections(artifact: bytes) -> list[tuple[int, int, int, int]]:
    """Kind, offset, size and linked section of each section of an ELF file of 64 bits, little-endian."""
    if artifact[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a code object: it is no ELF file of 64 bits")
    (start,) = struct.unpack_from("<Q", artifact, 40)
    size, count = struct.unpack_from("<HH", artifact, 58)
    rows = (struct.unpack_from("<IIQQQQI", artifact, start + i * size) for i in range(count))
    return [(kind, place, length, link) for _, kind, _, _, place, length, link in rows]


def _note(artifact: bytes) -> memoryview:
    """The metadata note."""
    for kind, place, length, _ in _sections(artifact):
        end = place + length
        while kind == _NOTES and place < end:
            name, description, note = struct.unpack_from("<III", artifact, place)
            content = place + 12 + -(-name // 4) * 4
            if note == _METADATA and artifact[place + 12 : place + 12 + name].rstrip(b"\0") == b"AMDGPU":
                return memoryview(artifact)[content : content + description]
            place = content + -(-description // 4) * 4
    raise ValueError("not a code object: it has no AMDGPU metadata note")


def missing_functions(artifact: bytes) -> list[str]:
    """Functions that a code object calls and does not hold: AMD's linker lets them pass, its loader would not."""
    sections, names = _sections(artifact), []
    for kind, place, length, link in sections:
        for symbol in range(place, place + length, 24) if kind == _DYNAMIC_SYMBOLS else ():
            name, _, _, section = struct.unpack_from("<IBBH", artifact, symbol)
            if name and not section:
                start = sections[link][1] + name
                names.append(artifact[start : artifact.index(b"\0", start)].decode())
    return names


# ---------------------------------------------------------------------------------------------- MessagePack

#: Formats whose first byte says all of the type; the value's layout, and for text and containers that of their length.
_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
            0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}  # fmt: skip
_LENGTHS = {0xC4: (">B", "bytes"), 0xC5: (">H", "bytes"), 0xC6: (">I", "bytes"),
            0xD9: (">B", "text"), 0xDA: (">H", "text"), 0xDB: (">I", "text"),
            0xDC: (">H", "list"), 0xDD: (">I", "list"), 0xDE: (">H", "map"), 0xDF: (">I", "map")}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpack(data: bytes | memoryview) -> Any:
    """The value that MessagePack bytes stand for; ValueError where they are none, or more than one."""
    try:
        value, end = _unpack(data, 0)
    except (struct.error, IndexError):
        raise ValueError("MessagePack data end too soon") from None
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the MessagePack data")
    return value


def _unpack(data: bytes | memoryview, at: int) -> tuple[Any, int]:
    """The value at a place, and the place after it."""
    first, at = data[at], at + 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first in _CONSTANTS:
        return _CONSTANTS[first], at
    if layout := _NUMBERS.get(first):
        return struct.unpack_from(layout, data, at)[0], at + struct.calcsize(layout)
    if first < 0xC0:
        length, kind = (first & 0x1F, "text") if first >= 0xA0 else (first & 0x0F, "list" if first >= 0x90 else "map")
    elif first in _LENGTHS:
        layout, kind = _LENGTHS[first]
        (length,) = struct.unpack_from(layout, data, at)
        at += struct.calcsize(layout)
    else:
        raise ValueError(f"MessagePack data of type {first:#x}, which no code object has")
    if kind in ("text", "bytes"):
        raw, at = bytes(data[at : at + length]), at + length
        if len(raw) < length:
            raise ValueError("MessagePack data end too soon")
        return (raw.decode() if kind == "text" else raw), at
    values = []
    for _ in range(length if kind == "list" else 2 * length):
        value, at = _unpack(data, at)
        values.append(value)
    return (values if kind == "list" else dict(zip(values[::2], values[1::2], strict=True))), at
