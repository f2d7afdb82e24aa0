"""A string that is plucked: the wave equation with fixed ends, three levels of time that change places."""

import numpy as np

n, c = 101, 0.9
x = np.linspace(0, 1, n)
old = np.where(x < 0.3, x / 0.3, (1 - x) / 0.7)
now = old.copy()
now[1:-1] = old[1:-1] + 0.5 * c**2 * np.diff(old, 2)
new = np.empty_like(now)
for t in range(150):
    new[1:-1] = 2 * now[1:-1] - old[1:-1] + c**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
    new[0] = new[-1] = 0
    old, now, new = now, new, old
    if t % 50 == 49:
        print(t + 1, np.abs(now).max(), np.trapezoid(now, x), x[np.argmax(now)])
print(now[::10])
