"""Cholesky's factor by hand, element by element, and triangular systems solved with it."""

import numpy as np

n = 7
B = np.cos(np.arange(n * n).reshape(n, n))
A = B @ B.T + n * np.eye(n)
L = np.zeros_like(A)
for i in range(n):
    for j in range(i + 1):
        s = np.dot(L[i, :j], L[j, :j])
        if i == j:
            L[i, j] = np.sqrt(A[i, i] - s)
        else:
            L[i, j] = (A[i, j] - s) / L[j, j]
print(np.allclose(L, np.linalg.cholesky(A)), f"{np.prod(np.diag(L)) ** 2:.4f} {np.linalg.det(A):.4f}")
b = np.arange(1.0, n + 1)
y = np.zeros(n)
for i in range(n):
    y[i] = (b[i] - L[i, :i] @ y[:i]) / L[i, i]
x = np.zeros(n)
for i in reversed(range(n)):
    x[i] = (y[i] - L[i + 1 :, i] @ x[i + 1 :]) / L[i, i]
print(x)
print(np.allclose(x, np.linalg.solve(A, b)))
