"""NumPy programs at large sizes on a GPU, one source with ours and CuPy: ``python benchmarks/programs.py [cuda:0]``.

The libraries alternate; a timing is a whole program, synchronised; figures are medians. Results are held against each
other on a sample. The aim is to be no slower than CuPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gpu_peers
import numpy
import report
from nbx_array.backend.contract import get_device, get_driver

import nbx_array as xp


def mandelbrot(np: Any, side: int, steps: int) -> Any:
    """How often a point is squared until it is further away than 2, complex64."""
    c = (
        np.linspace(-2, 0.5, side, dtype=np.float32)[None, :]
        + 1j * np.linspace(-1.25, 1.25, side, dtype=np.float32)[:, None]
    )
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(steps):
        inside = z.real * z.real + z.imag * z.imag <= 4
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def life(np: Any, side: int, steps: int) -> Any:
    """Conway's game on a torus, int8."""
    world = (np.arange(side * side) * 7919 % 11 < 4).astype(np.int8).reshape(side, side)
    for _ in range(steps):
        rows = np.roll(world, 1, 0) + world + np.roll(world, -1, 0)
        near = np.roll(rows, 1, 1) + rows + np.roll(rows, -1, 1) - world
        world = ((near == 3) | ((world == 1) & (near == 2))).astype(np.int8)
    return world


def heat(np: Any, side: int, steps: int) -> Any:
    """The heat equation with fixed edges, by item assignment, float32."""
    u = np.zeros((side, side), np.float32)
    u[0, :] = 100
    u[side // 4 : side // 2, side // 4 : side // 2] = 50
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def wave(np: Any, side: int, steps: int) -> Any:
    """The wave equation by leapfrog, float32."""
    x = np.linspace(-1, 1, side, dtype=np.float32)
    now = np.exp(-100 * (x[:, None] ** 2 + x[None, :] ** 2))
    before = now.copy()
    for _ in range(steps):
        after = np.zeros_like(now)
        near = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
        after[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + 0.25 * (near - 4 * now[1:-1, 1:-1])
        before, now = now, after
    return now


def red_and_black(np: Any, side: int, steps: int) -> Any:
    """Laplace's equation by Gauss and Seidel's method in the order of a chessboard: strided assignments, float32."""
    u = np.zeros((side, side), np.float32)
    u[0, :] = 1
    for _ in range(steps):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            rows, columns = slice(i, side - 1, 2), slice(j, side - 1, 2)
            above, below = slice(i - 1, side - 2, 2), slice(i + 1, side, 2)
            left, right = slice(j - 1, side - 2, 2), slice(j + 1, side, 2)
            u[rows, columns] = 0.25 * (u[above, columns] + u[below, columns] + u[rows, left] + u[rows, right])
    return u


def stencil(np: Any, side: int, steps: int) -> Any:
    """Jacobi's method in three dimensions, float32."""
    u = np.zeros((side, side, side), np.float32)
    u[0] = 1
    for _ in range(steps):
        near = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        u[1:-1, 1:-1, 1:-1] = (near + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]) / 6
    return u


def lattice_boltzmann(np: Any, side: int, steps: int) -> Any:
    """A shear flow by the nine-velocity lattice Boltzmann method (Succi, 2001), float32."""
    steps_x, steps_y = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
    weights = (4 / 9, *(1 / 9,) * 4, *(1 / 36,) * 4)
    u = np.zeros((side, side), np.float32) + 0.05 * np.sin(np.linspace(0, 6.25, side, dtype=np.float32))[:, None]
    f = [w * (1 + 3 * cx * u + 4.5 * (cx * u) ** 2 - 1.5 * u * u) for w, cx in zip(weights, steps_x, strict=True)]
    for _ in range(steps):
        f = [np.roll(g, (cy, cx), (0, 1)) for g, cx, cy in zip(f, steps_x, steps_y, strict=True)]
        density = sum(f[1:], f[0])
        u = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / density
        v = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / density
        square = 1.5 * (u * u + v * v)
        for k, (w, cx, cy) in enumerate(zip(weights, steps_x, steps_y, strict=True)):
            along = 3 * (cx * u + cy * v)
            f[k] = f[k] + 0.6 * (w * density * (1 + along + 0.5 * along * along - square) - f[k])
    return u


def bodies(np: Any, count: int, steps: int) -> Any:
    """Gravitation between all pairs, softened, float32."""
    t = np.arange(count, dtype=np.float32)
    place = np.stack([np.cos(t * 0.7), np.sin(t * 1.1), np.cos(t * 1.9)], axis=1)
    speed = np.zeros_like(place)
    for _ in range(steps):
        apart = place[None, :, :] - place[:, None, :]
        squares = (apart * apart).sum(axis=2) + 0.01
        speed += 0.001 * (apart * (squares**-1.5)[:, :, None]).sum(axis=1)
        place += 0.01 * speed
    return place


PROGRAMS: list[tuple[Callable[[Any, int, int], Any], int, int]] = [
    (mandelbrot, 4096, 50),
    (life, 8192, 20),
    (heat, 8192, 20),
    (wave, 8192, 20),
    (red_and_black, 8192, 10),
    (stencil, 400, 20),
    (lattice_boltzmann, 2048, 10),
    (bodies, 8192, 3),
]


def main() -> None:
    device = get_device(sys.argv[1] if len(sys.argv) > 1 else "cuda:0")
    found = [lib for lib in gpu_peers.libraries(device.index) if lib.name != "torch"]
    xp.set_device(str(device))
    name = get_driver(device.backend).properties(device.index).name
    print(report.heading(name, ["nbx-array", "triton", "numpy", "cupy-cuda13x", "cupy-cuda12x"]), end="\n\n")
    lines = []
    for program, size, steps in PROGRAMS:
        calls: dict[str, tuple[gpu_peers.Library, Callable[[], Any]]] = {}
        results = []
        for lib in found:

            def call(lib: gpu_peers.Library = lib, program: Any = program, size: int = size, steps: int = steps) -> Any:
                return lib.realize(program(lib.namespace, size, steps))

            results.append(lib.get(call().reshape(-1)[:: gpu_peers.STRIDE]).astype(numpy.float64))
            calls[lib.name] = (lib, call)
        apart = [float(numpy.abs(other - results[0]).max()) for other in results[1:]]
        times = gpu_peers.medians(calls, 1, rounds=5)
        ours = times[found[0].name]
        lines.append(
            [
                f"{program.__name__.replace('_', ' ')}, {size}, {steps} steps",
                *(f"{times[lib.name] * 1e3:.2f}" for lib in found),
                " ".join(f"{ours / times[lib.name]:.2f}" for lib in found[1:]),
                " ".join(f"{x:.1e}" for x in apart),
                str(gpu_peers.launches(calls[found[0].name][1])),
            ]
        )
        print(*lines[-1], sep=" | ", flush=True)
    columns = ["program", *(f"{lib.name} ms" for lib in found), "ratio", "largest difference", "launches"]
    print(report.table(columns, lines))


if __name__ == "__main__":
    main()
