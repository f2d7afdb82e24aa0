"""The heat equation on a plate, explicit in time."""

import numpy as np

n, steps, r = 30, 100, 0.2
u = np.zeros((n, n))
u[0, :] = 100.0
u[:, -1] = np.linspace(0, 50, n)
u[10:15, 5:9] += 30
for _ in range(steps):
    u[1:-1, 1:-1] += r * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
print(u.mean(), u.std(), u.max(), u.min())
print(np.array2string(u[::6, ::6], precision=3))
print(np.unravel_index(np.argmax(u[1:-1, 1:-1]), (n - 2, n - 2)))
