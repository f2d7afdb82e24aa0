"""Segregation after Schelling: who is unhappy with the neighbours moves to the next empty place."""

import numpy as np

SIDE = 14
i, j = np.ogrid[:SIDE, :SIDE]
noise = np.modf(np.abs(np.sin(i * 12.9898 + j * 4.1414) * 43758.5453))[0]
town = np.select([noise < 0.42, noise < 0.84], [1, 2], default=0)
counts = np.bincount(town.ravel(), minlength=3)
print("town", counts)


def around(mask):
    """How many of the eight neighbours are in a mask, on a torus."""
    return sum(
        np.roll(mask, (a, b), axis=(0, 1)).astype(int) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)
    )


for year in range(12):
    same = np.choose(town, [np.zeros_like(town), around(town == 1), around(town == 2)])
    neighbours = around(town > 0)
    share = np.divide(same, neighbours, out=np.zeros(town.shape), where=neighbours > 0)
    unhappy = (town > 0) & (share < 0.5)
    if year % 4 == 0:
        print(f"year {year}: unhappy {unhappy.sum()}, alike {share[town > 0].mean():.5f}")
    who, empty = np.argwhere(unhappy), np.argwhere(town == 0)
    moves = min(len(who), len(empty))
    if not moves:
        break
    empty = np.roll(empty, year, axis=0)[:moves]
    who = who[:: max(1, len(who) // moves)][:moves]
    town[empty[:, 0], empty[:, 1]] = town[who[:, 0], who[:, 1]]
    town[who[:, 0], who[:, 1]] = 0
print("kept", np.array_equal(np.bincount(town.ravel(), minlength=3), counts))
print("edges", np.sum(town[:, 1:] != town[:, :-1]), np.sum(np.diff(town, axis=0) != 0))
print("\n".join("".join(".ox"[k] for k in row) for row in town[:4].tolist()))
