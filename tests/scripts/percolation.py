"""Percolation on a square lattice: clusters by union and find, and by flooding with shifted masks."""

import numpy as np

SIDE = 16
i, j = np.indices((SIDE, SIDE))
field = (np.sin(12.9898 * i + 78.233 * j) * 43758.5453) % 1.0
parent = np.arange(SIDE * SIDE + 2)


def find(k):
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


def union(a, b):
    a, b = find(a), find(b)
    if a != b:
        parent[max(a, b)] = min(a, b)


order = np.argsort(field, axis=None, kind="stable")
is_open = np.zeros(SIDE * SIDE, dtype=bool)
top, bottom = SIDE * SIDE, SIDE * SIDE + 1
for step, site in enumerate(order):  # noqa: B007
    site = int(site)
    row, column = divmod(site, SIDE)
    is_open[site] = True
    if row == 0:
        union(site, top)
    if row == SIDE - 1:
        union(site, bottom)
    for there, exists in (
        (site - SIDE, row > 0),
        (site + SIDE, row < SIDE - 1),
        (site - 1, column > 0),
        (site + 1, column < SIDE - 1),
    ):
        if exists and is_open[there]:
            union(site, there)
    if find(top) == find(bottom):
        break
print("percolates with", step + 1, "of", SIDE * SIDE, "threshold", round(float(field.ravel()[order[step]]), 6))

opened = is_open.reshape(SIDE, SIDE)
wet = np.zeros_like(opened)
wet[0] = opened[0]
rounds = 0
while True:
    spread = wet.copy()
    spread[1:] |= wet[:-1]
    spread[:-1] |= wet[1:]
    spread[:, 1:] |= wet[:, :-1]
    spread[:, :-1] |= wet[:, 1:]
    spread &= opened
    if np.array_equal(spread, wet):
        break
    wet = spread
    rounds += 1
print("flooded in", rounds, "wet", wet.sum(), "bottom", wet[-1].any())
labels = np.array([find(k) for k in range(SIDE * SIDE)]).reshape(SIDE, SIDE)
names, sizes = np.unique(labels[opened], return_counts=True)
print("clusters", len(names), "largest", sizes.max(), "sizes", np.sort(sizes)[::-1][:5])
print("by size", np.bincount(sizes)[:6])
