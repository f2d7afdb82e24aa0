"""Clusters of a graph by the eigenvectors of its Laplacian, and paths on it by breadth."""

import numpy as np

t = np.arange(20) / 20 * 2 * np.pi
ring = np.column_stack([np.cos(t), np.sin(t)])
points = np.vstack([ring * 0.3, ring * [2.0, 1.5]])
distance = np.hypot(*(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1))
near = np.argsort(distance, axis=1, kind="stable")[:, 1:5]
A = np.zeros((40, 40))
A[np.arange(40)[:, None], near] = 1
A = np.maximum(A, A.T)
degree = A.sum(axis=1)
L = np.diag(degree) - A
scale = 1 / np.sqrt(degree)
values, vectors = np.linalg.eigh(scale[:, None] * L * scale)
print("zeros", np.sum(np.abs(values) < 1e-9), "gap", round(float(values[2]), 5))
embedded = vectors[:, :2] / np.linalg.norm(vectors[:, :2], axis=1, keepdims=True)
same = np.abs(embedded @ embedded.T) > 0.5
print("clusters", len(np.unique(same, axis=0)), np.unique(same.sum(axis=1)))
print("right", np.array_equal(same, np.equal.outer(np.arange(40) < 20, np.arange(40) < 20)))
reached = np.full(40, -1)
frontier = np.zeros(40, dtype=bool)
frontier[0] = True
depth = 0
while frontier.any():
    reached[frontier] = depth
    frontier = (A[frontier].sum(axis=0) > 0) & (reached < 0)
    depth += 1
print("depth", depth - 1, "reached", np.count_nonzero(reached >= 0), np.bincount(reached[reached >= 0]))
walks = np.linalg.matrix_power(A.astype(int), 4)
print("walks", walks[0, :4], np.trace(walks) // 8)
kernel = np.exp(-(distance**2))
centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
top = np.linalg.eigvalsh(centred)[::-1][:3]
print("kernel", np.round(top, 5))
