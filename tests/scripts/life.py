"""Conway's game of life on a torus: a glider and an R-pentomino."""

import numpy as np

board = np.zeros((24, 24), dtype=np.uint8)
board[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
board[12:15, 12:15] = np.array([[0, 1, 1], [1, 1, 0], [0, 1, 0]])


def step(cells):
    neighbours = sum(np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(np.uint8)


for generation in range(30):
    board = step(board)
    if generation % 10 == 0:
        print(generation, board.sum(), np.argwhere(board)[:3].tolist())
for row in board[8:14]:
    print("".join(".#"[cell] for cell in row))
