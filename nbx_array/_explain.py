"""`explain`: which kernels an array takes, what each moves, and why."""

from __future__ import annotations

from math import prod

from nbx_array import _expression
from nbx_array._array import Array
from nbx_array.kernels import fused
from nbx_array.kernels.signature import SAME, Sig
from nbx_array.memory.exhaustion import bytes_text


def explain(x: Array, /) -> None:
    """Print the kernels that realising an array takes, the bytes that each moves, and what chose them.

    Nothing runs. What is no element-wise function, a sum or a product of matrices, has run at its call and shows none.

    >>> x = xp.realize(xp.ones(1000))
    >>> xp.explain(x)
    float64 array of shape (1000,) on cpu, in memory: no kernel
    """
    if not isinstance(x, Array):
        raise TypeError(f"explain: expected an array, got {type(x).__name__}")
    print("\n".join(_lines(x)))


def _lines(x: Array) -> list[str]:
    sig, n = x.sig, prod(x.shape)
    head = f"{sig.dtype} array of shape {x.shape} on {sig.device}"
    if sig.op == "leaf":
        return [f"{head}, in memory: no kernel"]
    form = ("strided or broadcast " if sig.general else "contiguous ") if sig.leaves else ""
    operands = f"{_counted(sig.leaves, form + 'array')} and {_counted(sig.scalars, 'scalar')}"
    lines = [f"{head}, deferred: {_counted(sig.nodes, 'operation')} over {operands}"]
    fused, reason = _choice(x)
    steps = [sig] if fused else _operations(sig)
    for number, step in enumerate(steps, 1):
        name = _formula(step) if fused else step.op
        parts = _bytes_read(step, n, whole=fused)
        repeats = {again for again, _ in _expression.aliases(x)} if fused and not sig.general else set()
        read = sum(part for k, part in enumerate(parts) if k not in repeats)
        lines.append(f"  {number}. {name}: reads {bytes_text(read)}, writes {bytes_text(n * step.itemsize)}")
    lines.append(f"  {reason}")
    return lines


def _counted(n: int, thing: str) -> str:
    return f"{n or 'no'} {thing}{'' if n == 1 else 's'}"


def _choice(x: Array) -> tuple[bool, str]:
    sig = x.sig
    if sig.nodes <= 1:
        return True, "one operation, one kernel"
    if not _expression.FUSE:
        return False, "fusion is off (NBX_FUSE=0)"
    saved = 2 * sig.nodes * prod(x.shape) * sig.itemsize
    if sig.flat is not None or sig.launchers:
        return True, "one kernel: it is compiled already"
    if sig.seen < 0:
        return False, "operation by operation: its one kernel is missing, and triton is not here to compile it"
    if prod(x.shape) <= fused.FEW and sig.seen < fused.TRIALS:
        return False, f"operation by operation: of few elements and seen {sig.seen} times, fused after {fused.TRIALS}"
    if sig.seen:
        return True, "one kernel, to be compiled: the expression was seen before"
    if saved >= _expression.EARLY_BYTES:
        return True, f"one kernel, to be compiled at first sight: it saves {bytes_text(saved)} of memory traffic"
    return False, "operation by operation: seen for the first time and small; one kernel will be compiled the next time"


def _operations(sig: Sig) -> list[Sig]:
    """Operations in the order they run."""
    return [step for kid in sig.kids for step in _operations(kid)] + ([sig] if sig.kids else [])


def _bytes_read(sig: Sig, n: int, *, whole: bool) -> list[int]:
    if sig.op == "scalar" or sig is SAME:
        return []
    if sig.op == "leaf":
        return [n * sig.itemsize]
    if not whole:
        return [n * kid.itemsize for kid in sig.kids if kid.op != "scalar" and kid is not SAME]
    return [part for kid in sig.kids for part in _bytes_read(kid, n, whole=True)]


def _formula(sig: Sig) -> str:
    if sig.op == "leaf":
        return f"{sig.dtype}[]"
    if sig.op == "scalar":
        return f"{sig.dtype}"
    kids = [_formula(sig.kids[0]) if kid is SAME else _formula(kid) for kid in sig.kids]
    return f"{sig.op}({', '.join(kids)})"
