"""Code objects' notes: MessagePack by its specification's formats, and that what the driver relies on is checked."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import replace

import pytest
from nbx_array.backend import verify
from nbx_array.backend.compiler import Source, compile_kernel
from nbx_array.backend.contract import CompiledKernel, Target
from nbx_array.backend.hip import notes

#: Bytes by https://github.com/msgpack/msgpack/blob/master/spec.md, and what they stand for.
FORMATS = [
    (b"\x00", 0),
    (b"\x7f", 127),
    (b"\xff", -1),
    (b"\xe0", -32),
    (b"\xc0", None),
    (b"\xc2", False),
    (b"\xc3", True),
    (b"\xcc\xff", 255),
    (b"\xcd\x01\x00", 256),
    (b"\xce\xff\xff\xff\xff", 2**32 - 1),
    (b"\xcf" + b"\xff" * 8, 2**64 - 1),
    (b"\xd0\x80", -128),
    (b"\xd1\x80\x00", -(2**15)),
    (b"\xd2\x80\x00\x00\x00", -(2**31)),
    (b"\xd3\x80" + bytes(7), -(2**63)),
    (b"\xca\x3f\x80\x00\x00", 1.0),
    (b"\xcb\xc0" + bytes(7), -2.0),
    (b"\xa0", ""),
    (b"\xa3abc", "abc"),
    (b"\xbf" + b"x" * 31, "x" * 31),
    (b"\xd9\x20" + b"x" * 32, "x" * 32),
    (b"\xda\x01\x00" + b"x" * 256, "x" * 256),
    (b"\xdb\x00\x01\x00\x00" + b"x" * 65536, "x" * 65536),
    (b"\xc4\x02\x00\xff", b"\x00\xff"),
    (b"\xc5\x00\x01\x07", b"\x07"),
    (b"\xc6\x00\x00\x00\x00", b""),
    (b"\x90", []),
    (b"\x92\x01\xa1a", [1, "a"]),
    (b"\xdc\x00\x10" + bytes(16), [0] * 16),
    (b"\xdd\x00\x00\x00\x01\x91\xc0", [[None]]),
    (b"\x80", {}),
    (b"\x82\xa1a\x01\xa1b\x81\xa1c\xc3", {"a": 1, "b": {"c": True}}),
    (b"\xde\x00\x01\xa1k\x05", {"k": 5}),
    (b"\xdf\x00\x00\x00\x01\xa1k\x90", {"k": []}),
]


@pytest.mark.parametrize(("data", "value"), FORMATS, ids=lambda item: repr(item)[:20])
def test_every_format_is_read_and_a_part_of_it_is_refused(data, value):
    found = notes.unpack(data)
    assert found == value and type(found) is type(value)
    for end in {0, 1, len(data) // 2, len(data) - 1} - {len(data)}:
        with pytest.raises(ValueError, match="end too soon"):
            notes.unpack(data[:end])
    with pytest.raises(ValueError, match="2 bytes follow"):
        notes.unpack(data + b"\x00\x00")


def test_a_type_that_no_code_object_has_is_refused():
    with pytest.raises(ValueError, match="0xc7"):
        notes.unpack(b"\xc7\x00\x00")


@pytest.mark.parametrize("artifact", [b"", b"\x7fELF", b"rubbish" * 20, b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_no_code_object_is_refused(artifact):
    with pytest.raises(ValueError, match="not a code object"):
        notes.kernels(artifact)


@pytest.fixture(params=["gfx90a", "gfx942", "gfx1100", "gfx1201"], scope="module")
def compiled(request) -> CompiledKernel:
    target = Target("hip", request.param, 64 if request.param.startswith("gfx9") else 32)
    signature = (("x", "*fp32"), ("o", "*fp32"), ("n", "i64"), ("scale", "fp32"), ("rows", "i32"))
    return compile_kernel(Source.generated(verify._SOURCE, "affine"), signature, (("BLOCK", 256),), target, True)


def test_a_kernel_s_notes(compiled):
    """The layout that C's rules give two pointers, int64_t, float, int32_t and two more pointers."""
    (note,) = notes.kernels(compiled.artifact)
    layout = struct.Struct("@PPqfiPP")
    assert [(a.offset, a.size) for a in note.arguments[:7]] == [
        (0, 8),
        (8, 8),
        (16, 8),
        (24, 4),
        (28, 4),
        (32, 8),
        (40, 8),
    ]
    assert note.segment >= layout.size == 48
    assert (note.name, note.target, note.wave) == ("affine", compiled.target.arch, compiled.target.warp_size)
    assert notes.problems(compiled) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"symbol": "another"}, "0 kernels 'another'"),
        ({"parameters": ("*fp32", "*fp32", "i64", "fp32")}, "its arguments are"),
        ({"parameters": ("*fp32", "*fp32", "i32", "fp32", "i32")}, "its arguments are"),
        ({"parameters": ("*fp32", "i64", "i64", "fp32", "i32")}, "its arguments are"),
        ({"target": Target("hip", "gfx900", 64)}, "it is for gfx"),
        ({"num_warps": 64}, "a workgroup may have"),
        ({"shared": 65537}, "65537 bytes of local memory"),
    ],
)
def test_what_differs_is_a_problem(compiled, change, text):
    assert any(text in problem for problem in notes.problems(replace(compiled, **change)))


def test_spilled_registers_are_a_problem(compiled, monkeypatch):
    (note,) = notes.kernels(compiled.artifact)
    monkeypatch.setattr(notes, "kernels", lambda artifact: [note._replace(spilled=3, stack=16)])
    assert notes.problems(compiled) == ["it spills 3 registers and has 16 bytes of stack"]
    assert notes.problems(compiled, may_spill=True) == []


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc, which makes a library with a function missing, is not here")
def test_a_function_that_is_missing_is_found(compiled, tmp_path):
    """A linker lets a shared object call what is nowhere, the host's as AMD's."""
    assert notes.missing_functions(compiled.artifact) == []
    (tmp_path / "a.c").write_text(
        "double __ocml_nowhere_f64(double); double f(double x) { return __ocml_nowhere_f64(x); }"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-o", tmp_path / "a.so", tmp_path / "a.c"], check=True)
    assert notes.missing_functions((tmp_path / "a.so").read_bytes()) == ["__ocml_nowhere_f64"]
