"""Every function of the standard against other libraries: ``python benchmarks/functions.py [cuda:0|cpu] [NAME...]``.

On a GPU the peers are torch and CuPy, on the CPU NumPy, each through array_api_compat, which gives their functions the
standard's names; what a peer lacks or refuses is left out of its column, as is what gives its argument itself and
computes nothing. Vectors have 2^20 elements, matrices 1,024
rows and columns. The libraries alternate, and figures are medians. The aim is to be within five times the better peer;
a function of ours that raises misses it. Values have their own tests. Launches are ours, of one call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import array_api_compat
import gpu_peers
import numpy as np
import report
from nbx_array.backend.contract import get_device, get_driver
from nbx_array.kernels.pointwise import TABLE

import nbx_array as xp

SIZE, SIDE, PRIME = 1 << 20, 1024, (1 << 20) - 3
AIM = 5.0
LOOPS = 10
BY_THE_HOST = {"linalg.eig", "linalg.eigvals"}  # eigenvalues of matrices without symmetry: no aim


class Data(NamedTuple):
    """What the functions are called on."""

    x: Any  # random numbers between 0 and 1, float32
    y: Any
    n: Any  # integers below SIZE, int64
    m: Any  # bools
    z: Any  # complex64
    a: Any  # a random matrix, float32
    s: Any  # a symmetric, positive definite one


Call = Callable[[Any, Data], Any]

CALLS: dict[str, Call] = {
    "astype": lambda f, d: f.astype(d.x, f.float64),
    "where": lambda f, d: f.where(d.m, d.x, d.y),
    "clip": lambda f, d: f.clip(d.x, 0.25, 0.75),
    "asarray": lambda f, d: f.asarray(d.x, copy=True),
    "from_dlpack": lambda f, d: f.from_dlpack(d.x),
    **{
        name: lambda f, d, name=name: getattr(f, name)(SIZE, device=d.x.device)  # type: ignore[misc]
        for name in ("empty", "ones", "zeros")
    },
    **{
        name: lambda f, d, name=name: getattr(f, name)(d.x)  # type: ignore[misc]
        for name in ("empty_like", "ones_like", "zeros_like")
    },
    "full": lambda f, d: f.full(SIZE, 7.0, device=d.x.device),
    "full_like": lambda f, d: f.full_like(d.x, 7.0),
    "arange": lambda f, d: f.arange(SIZE, device=d.x.device),
    "linspace": lambda f, d: f.linspace(0, 1, SIZE, device=d.x.device),
    "logspace": lambda f, d: f.logspace(0, 1, SIZE, device=d.x.device),
    "eye": lambda f, d: f.eye(SIDE, device=d.x.device),
    "tril": lambda f, d: f.tril(d.a),
    "triu": lambda f, d: f.triu(d.a),
    "meshgrid": lambda f, d: f.meshgrid(d.x[:SIDE], d.y[:SIDE])[1],
    "concat": lambda f, d: f.concat([d.x, d.y]),
    "flip": lambda f, d: f.flip(d.x) + 0,
    "permute_dims, copied": lambda f, d: f.permute_dims(d.a, (1, 0)) + 0,
    "permute_dims": lambda f, d: f.permute_dims(d.a, (1, 0)),
    "matrix_transpose": lambda f, d: f.matrix_transpose(d.a),
    "moveaxis": lambda f, d: f.moveaxis(d.a, 0, 1),
    "expand_dims": lambda f, d: f.expand_dims(d.x, axis=0),
    "squeeze": lambda f, d: f.squeeze(d.x[None, :], axis=0),
    "reshape": lambda f, d: f.reshape(d.x, (SIDE, SIDE)),
    "reshape, copied": lambda f, d: f.reshape(f.permute_dims(d.a, (1, 0)), (-1,)),
    "broadcast_to": lambda f, d: f.broadcast_to(d.x, (2, SIZE)),
    "broadcast_arrays": lambda f, d: f.broadcast_arrays(d.a, d.a[0, :])[1],
    "unstack": lambda f, d: f.unstack(d.a[:8, :])[7],
    "repeat": lambda f, d: f.repeat(d.x, 3),
    "repeat, array": lambda f, d: f.repeat(d.x, d.n % 3),
    "roll": lambda f, d: f.roll(d.x, 1000),
    "stack": lambda f, d: f.stack([d.x, d.y], axis=1),
    "tile": lambda f, d: f.tile(d.x, (3,)),
    "diff": lambda f, d: f.diff(d.x),
    "take": lambda f, d: f.take(d.x, d.n),
    "take_along_axis": lambda f, d: f.take_along_axis(d.a, f.reshape(d.n, (SIDE, SIDE)) % SIDE, axis=1),
    "mask": lambda f, d: d.x[d.m],
    "nonzero": lambda f, d: f.nonzero(d.m)[0],
    "count_nonzero": lambda f, d: f.count_nonzero(d.m),
    "searchsorted": lambda f, d: f.searchsorted(d.x[:SIDE], d.y),
    "sort": lambda f, d: f.sort(d.x),
    "sort, int64": lambda f, d: f.sort(d.n),
    "sort, rows": lambda f, d: f.sort(d.a, axis=1),
    "sort, columns": lambda f, d: f.sort(d.a, axis=0),
    "argsort": lambda f, d: f.argsort(d.x),
    "argsort, rows": lambda f, d: f.argsort(d.a, axis=1),
    "unique_all": lambda f, d: f.unique_all(d.n)[0],
    "unique_counts": lambda f, d: f.unique_counts(d.n)[0],
    "unique_inverse": lambda f, d: f.unique_inverse(d.n)[0],
    "unique_values": lambda f, d: f.unique_values(d.n),
    "isin": lambda f, d: f.isin(d.n, d.n[:SIDE]),
    "cumulative_sum": lambda f, d: f.cumulative_sum(d.x),
    "cumulative_prod": lambda f, d: f.cumulative_prod(d.x),
    "cumulative_sum, rows": lambda f, d: f.cumulative_sum(d.a, axis=1),
    "cumulative_sum, columns": lambda f, d: f.cumulative_sum(d.a, axis=0),
    **{
        name: lambda f, d, name=name: getattr(f, name)(d.x)  # type: ignore[misc]
        for name in ("sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "all", "any")
    },
    "matmul": lambda f, d: f.matmul(d.a, d.a),
    "matmul, complex": lambda f, d: f.matmul(f.reshape(d.z, (SIDE, SIDE)), f.reshape(d.z, (SIDE, SIDE))),
    "matmul, int64": lambda f, d: f.matmul(f.reshape(d.n, (SIDE, SIDE)), f.reshape(d.n, (SIDE, SIDE))),
    "tensordot": lambda f, d: f.tensordot(d.a, d.a, axes=1),
    "vecdot": lambda f, d: f.vecdot(d.x, d.y),
    **{
        f"fft.{name}": lambda f, d, name=name: getattr(f.fft, name)(d.z)
        for name in ("fft", "ifft", "hfft", "irfft", "ifftshift")
    },  # type: ignore[misc]
    **{f"fft.{name}": lambda f, d, name=name: getattr(f.fft, name)(d.x) for name in ("rfft", "ihfft", "fftshift")},  # type: ignore[misc]
    "fft.fft, prime": lambda f, d: f.fft.fft(d.z[:PRIME]),
    **{
        f"fft.{name}": lambda f, d, name=name: getattr(f.fft, name)(f.reshape(d.z, (SIDE, SIDE)))  # type: ignore[misc]
        for name in ("fftn", "ifftn", "irfftn", "fft2", "ifft2", "irfft2")
    },
    "fft.rfftn": lambda f, d: f.fft.rfftn(d.a),
    "fft.rfft2": lambda f, d: f.fft.rfft2(d.a),
    **{
        f"fft.{name}": lambda f, d, name=name: getattr(f.fft, name)(SIZE, device=d.x.device)  # type: ignore[misc]
        for name in ("fftfreq", "rfftfreq")
    },
    **{
        f"linalg.{name}": lambda f, d, name=name: getattr(f.linalg, name)(d.s)  # type: ignore[misc]
        for name in ("cholesky", "eigh", "eigvalsh")
    },
    **{
        f"linalg.{name}": lambda f, d, name=name: getattr(f.linalg, name)(d.a)  # type: ignore[misc]
        for name in (
            "det",
            "slogdet",
            "inv",
            "pinv",
            "qr",
            "svd",
            "svdvals",
            "eig",
            "eigvals",
            "matrix_norm",
            "matrix_rank",
            "trace",
            "diagonal",
            "matrix_transpose",
        )
    },
    "linalg.svd, reduced": lambda f, d: f.linalg.svd(d.a, full_matrices=False),
    "linalg.eigh, 3 by 3": lambda f, d: f.linalg.eigh(f.reshape(d.x[: SIZE // 9 * 9], (-1, 3, 3))),
    "linalg.svd, 3 by 3": lambda f, d: f.linalg.svd(f.reshape(d.x[: SIZE // 9 * 9], (-1, 3, 3))),
    "linalg.inv, complex": lambda f, d: f.linalg.inv(f.reshape(d.z, (SIDE, SIDE))),
    "linalg.matrix_power": lambda f, d: f.linalg.matrix_power(d.a, 5),
    "linalg.solve": lambda f, d: f.linalg.solve(d.a, d.a),
    "linalg.vector_norm": lambda f, d: f.linalg.vector_norm(d.x),
    "linalg.outer": lambda f, d: f.linalg.outer(d.x[:SIDE], d.y[:SIDE]),
    "linalg.cross": lambda f, d: f.linalg.cross(
        f.reshape(d.x[: 3 * SIDE], (-1, 3)), f.reshape(d.y[: 3 * SIDE], (-1, 3))
    ),
}


def element_wise(name: str, arity: int) -> Call:
    """A call of an element-wise function: with floats, with integers where it takes none."""

    def call(f: Any, d: Data) -> Any:
        operand = d.n if name.startswith("bitwise") or name in ("gcd", "lcm") else d.x
        return getattr(f, name)(*(operand, d.n if operand is d.n else d.y)[:arity])

    return call


def data(seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    x, y = rng.random(SIZE, np.float32), rng.random(SIZE, np.float32)
    n, a = rng.integers(0, SIZE, SIZE), rng.random((SIDE, SIDE), np.float32)
    return Data(x, y, n, x < 0.5, x + 1j * y, a, a @ a.T + SIDE * np.eye(SIDE, dtype=np.float32))


class HostNumPy(gpu_peers.Library):
    name = "NumPy"

    def put(self, host: np.ndarray) -> np.ndarray:
        return host

    def realize(self, array: Any) -> Any:
        return array

    def synchronize(self) -> None:
        pass


def realize_all(library: gpu_peers.Library, result: Any) -> None:
    for array in result if isinstance(result, tuple) else (result,):
        library.realize(array)


def main() -> None:
    device = get_device(sys.argv[1] if len(sys.argv) > 1 else "cuda:0")
    if device.backend == "cpu":
        found = [gpu_peers.Library(xp, 0), HostNumPy(np, 0)]
        found[0].device = "cpu"
    else:
        found = gpu_peers.libraries(device.index)
    name = get_driver(device.backend).properties(device.index).name
    print(report.heading(name, ["nbx-array", "triton", "numpy", "torch", "cupy-cuda13x", "cupy-cuda12x"]), end="\n\n")
    host = data()
    operands = {lib.name: Data(*map(lib.put, host)) for lib in found}
    spaces = {lib.name: array_api_compat.array_namespace(operands[lib.name].x) for lib in found}
    calls = {name: element_wise(name, row.arity) for name, row in TABLE.items() if hasattr(xp, name)} | CALLS
    chosen = sys.argv[2:] or list(calls)
    names = " | ".join(f"{lib.name} µs" for lib in found)
    print(f"| function | {names} | ratio | | launches |\n|{' --- |' * (len(found) + 4)}")
    lines = []
    for name in chosen:
        lines.append(measure(name, calls[name], found, spaces, operands))
        print(f"| {' | '.join(lines[-1])} |", flush=True)
    verdicts = [line[-2] for line in lines]
    missed = ", ".join(line[0] for line in lines if line[-2] not in ("met", ""))
    print(
        f"\n{verdicts.count('met')} of {len(lines) - verdicts.count('')} met" + (f"; missed: {missed}" * bool(missed))
    )


def measure(
    name: str, call: Call, found: list[gpu_peers.Library], spaces: dict[str, Any], operands: dict[str, Data]
) -> list[str]:
    """A line of the table."""
    runs = {}
    for lib in found:

        def run(lib: gpu_peers.Library = lib) -> None:
            realize_all(lib, call(spaces[lib.name], operands[lib.name]))

        try:
            run()
            itself = any(call(spaces[lib.name], operands[lib.name]) is operand for operand in operands[lib.name])
        except Exception as error:
            if lib is found[0]:
                return [name, *[""] * len(found), "", f"RAISED {type(error).__name__}: {error}".splitlines()[0], ""]
            continue
        if itself and lib is not found[0]:
            continue
        runs[lib.name] = (lib, run)
    before = xp.counters()
    runs[found[0].name][1]()
    launches = (xp.counters() - before)["launches"]
    once = max(gpu_peers.seconds(lib, run, 1) for lib, run in runs.values())
    times = gpu_peers.medians(runs, LOOPS if once < 0.01 else 1, rounds=9 if once < 0.1 else 1)
    best = min((t for peer, t in times.items() if peer != found[0].name), default=0.0)
    ratio = times[found[0].name] / best if best else 0.0
    verdict = "" if not best or name in BY_THE_HOST else "met" if ratio <= AIM else "MISSED"
    figures = (f"{times[lib.name] * 1e6:,.1f}" if lib.name in times else "" for lib in found)
    return [name, *figures, f"{ratio:.2f}" if best else "", verdict, str(launches)]


if __name__ == "__main__":
    main()
