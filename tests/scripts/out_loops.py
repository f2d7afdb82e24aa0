"""Loops that allocate nothing: everything goes to arrays that are there."""

import numpy as np

n = 64
x = np.linspace(0, 1, n)
a, b, mask = np.empty(n), np.empty(n), np.empty(n, dtype=bool)
total = np.zeros(n)
for k in range(1, 20, 2):
    np.multiply(x, k * np.pi, out=a)
    np.sin(a, out=a)
    np.divide(a, k, out=a)
    np.add(total, a, out=total)
    np.greater(total, 0.5, out=mask)
    np.copyto(b, total, where=mask)
print(total[::9], mask.sum())
matrix = np.ones((4, 4)) + np.eye(4)
vector, product = np.ones(4), np.empty(4)
for _ in range(30):
    np.matmul(matrix, vector, out=product)
    np.divide(product, np.linalg.norm(product), out=vector)
print(vector @ matrix @ vector, vector)
acc = np.zeros(3)
np.sum(np.arange(12.0).reshape(4, 3), axis=0, out=acc)
np.cumsum(acc, out=acc)
np.clip(acc, 20, 50, out=acc)
np.negative(acc, where=acc > 30, out=acc)
print(acc, np.sqrt(np.abs(acc), acc) is acc, acc)
i = np.arange(6)
i += 3
i //= 2
i **= 2
i[::2] -= 1
i <<= 1
print(i, i % 5)
