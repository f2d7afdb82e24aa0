"""Gram and Schmidt's orthogonal vectors, modified, beside QR and Householder's reflections."""

import numpy as np

n = 6
A = 1.0 / (np.arange(n)[:, None] + np.arange(n)[None, :] + 1) + np.eye(n)
Q, R = np.zeros((n, n)), np.zeros((n, n))
for j in range(n):
    v = A[:, j].copy()
    for i in range(j):
        R[i, j] = Q[:, i] @ v
        v -= R[i, j] * Q[:, i]
    R[j, j] = np.linalg.norm(v)
    Q[:, j] = v / R[j, j]
print(np.allclose(Q @ R, A), np.allclose(Q.T @ Q, np.eye(n)), np.array_equal(R, np.triu(R)))
print(np.round(np.abs(np.diag(R)), 8))
q, r = np.linalg.qr(A)
print(np.allclose(np.abs(r), np.abs(R)))
H = np.eye(n)
T = A.copy()
for k in range(n - 1):
    v = T[k:, k].copy()
    v[0] += np.copysign(np.linalg.norm(v), v[0])
    v /= np.linalg.norm(v)
    T[k:, k:] -= 2 * np.outer(v, v @ T[k:, k:])
print(np.round(np.abs(np.diagonal(T)), 8), np.abs(np.tril(T, -1)).max() < 1e-12)
