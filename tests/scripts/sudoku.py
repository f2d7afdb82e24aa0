"""Sudoku: what each cell may still be as a cube of truth values, and going back where that is not enough."""

import numpy as np

PUZZLE = """
53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79
"""
grid = np.array([[0 if c == "." else int(c) for c in line] for line in PUZZLE.split()])
tried = 0


def allowed(grid):
    """Whether each number may stand in each cell."""
    used = np.zeros((9, 9, 10), dtype=bool)
    i, j = np.nonzero(grid)
    used[i, j, grid[i, j]] = True
    rows = used.any(axis=1, keepdims=True)
    columns = used.any(axis=0, keepdims=True)
    boxes = used.reshape(3, 3, 3, 3, 10).any(axis=(1, 3))
    boxes = np.repeat(np.repeat(boxes, 3, axis=0), 3, axis=1)
    return ~(rows | columns | boxes)[:, :, 1:] & (grid == 0)[:, :, None]


def solve(grid):
    global tried
    tried += 1
    while True:
        free = allowed(grid)
        count = free.sum(axis=2)
        empty = grid == 0
        if (count[empty] == 0).any():
            return None
        single = empty & (count == 1)
        if not single.any():
            break
        i, j = np.argwhere(single)[0]
        grid[i, j] = np.argmax(free[i, j]) + 1
    if not empty.any():
        return grid
    i, j = np.unravel_index(np.argmin(np.where(empty, count, 10)), grid.shape)
    for number in np.flatnonzero(free[i, j]) + 1:
        attempt = grid.copy()
        attempt[i, j] = number
        found = solve(attempt)
        if found is not None:
            return found
    return None


print("given", np.count_nonzero(grid))
solution = solve(grid.copy())
print(solution)
print("tried", tried, "right", bool((np.sort(solution, axis=0) == np.arange(1, 10)[:, None]).all()))
print("kept", np.array_equal(solution[grid > 0], grid[grid > 0]), "trace", np.trace(solution))
print("boxes", solution.reshape(3, 3, 3, 3).sum(axis=(1, 3)).tolist())
