"""Lorenz's attractor by Runge and Kutta's fourth order, and how fast two paths part."""

import numpy as np


def slope(s, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


dt, state = 0.01, np.array([1.0, 1.0, 1.0])
path = np.empty((101, 3))
path[0] = state
for k in range(100):
    k1 = slope(state)
    k2 = slope(state + dt / 2 * k1)
    k3 = slope(state + dt / 2 * k2)
    k4 = slope(state + dt * k3)
    state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    path[k + 1] = state
print(np.round(path[::25], 6))
print(np.round(path.mean(axis=0), 6), np.round(np.gradient(path[:, 0], dt)[:3], 6))
