"""How many steps points of the plane take to leave the Mandelbrot set."""

import numpy as np

width, height, steps = 48, 32, 40
x = np.linspace(-2.2, 0.8, width)
y = np.linspace(-1.2, 1.2, height)
c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
z = np.zeros_like(c)
counts = np.zeros(c.shape, dtype=int)
for _ in range(steps):
    inside = np.abs(z) <= 2
    z[inside] = z[inside] ** 2 + c[inside]
    counts[inside] += 1
print(counts.sum(), counts.max(), counts.min())
print(np.bincount(counts.ravel(), minlength=steps + 1))
print("%.4f" % counts.mean(), counts[height // 2])
