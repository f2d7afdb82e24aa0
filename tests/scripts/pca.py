"""Principal components by the covariance's eigenvectors and by singular values, and an image of low rank."""

import numpy as np

t = np.arange(80)
data = np.column_stack([np.sin(t), np.sin(t) + 0.1 * np.cos(3 * t), 0.5 * np.cos(t), 0.01 * t])
centred = data - data.mean(axis=0)
values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False))
order = np.argsort(values)[::-1]
values, vectors = values[order], vectors[:, order]
u, s, vt = np.linalg.svd(centred, full_matrices=False)
print(values / values.sum(), np.allclose(s**2 / (len(t) - 1), values))
vectors *= np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(4)])
print(np.round(vectors, 6))
scores = centred @ vectors[:, :2]
print(np.round(np.cov(scores.T), 8))
low = (u[:, :2] * s[:2]) @ vt[:2]
print(f"{np.linalg.norm(centred - low):.8f} {np.sqrt((s[2:] ** 2).sum()):.8f}")
