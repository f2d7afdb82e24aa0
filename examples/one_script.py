"""The same script under NumPy and under nbx_array: Newton's method for the golden mean from many starting points."""

import numpy
import numpy.testing

import nbx_array


def newton(xp):
    x = xp.linspace(1, 10, 1000)
    for _ in range(20):
        x = x - (x**2 - x - 1) / (2 * x - 1)
    grid = xp.reshape(x, (20, 50))
    grid[::2, :] = -grid[::2, :]
    return grid[:, ::-1]


expected, ours = newton(numpy), newton(nbx_array)
numpy.testing.assert_array_equal(ours, expected)
print(f"equal bit for bit on {ours.device}: {ours[0, 0]} and {ours[1, 0]}")
