"""``python tests/backend/msl/everything.py [family ...]``: emit every kernel of every family for Metal, and have clang
check its types and address spaces. The tests take a sample; this takes minutes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from msl import shim
from msl.kernels import METAL, emitted
from nbx_array.kernels import registry

TOGETHER = 40  # kernels that clang reads at once


def main(families: list[str]) -> int:
    """Print a line a family; 0 where every kernel is well formed."""
    wrong = 0
    print("| family | kernels | emitted | largest threadgroup memory |\n| --- | --- | --- | --- |")
    for family in families:
        specs = registry.specs(family, METAL)
        made, problems = [], []
        for spec in specs:
            try:
                made.append(emitted(spec))
            except NotImplementedError as error:
                problems.append(f"{registry.describe(spec)}: {error}")
        for start in range(0, len(made), TOGETHER):
            if problem := shim.check(*made[start : start + TOGETHER]):
                problems.append(problem)
        largest = max((one.threadgroup_bytes for one in made), default=0)
        print(f"| {family} | {len(specs)} | {len(made)} | {largest} |", *problems, sep="\n", flush=True)
        wrong += len(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(registry.FAMILIES)))
