"""K-means by Lloyd's algorithm on three clouds of points."""

import numpy as np

t = np.arange(150)
noise = np.stack([np.sin(t * 1.7) * np.cos(t * 0.3), np.sin(t * 2.9 + 1)], axis=1)
points = noise + np.repeat(np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 6.0]]), 50, axis=0)
centres = points[[0, 60, 149]].copy()
for _ in range(20):
    distances = np.linalg.norm(points[:, None, :] - centres[None, :, :], axis=2)
    labels = np.argmin(distances, axis=1)
    moved = np.array([points[labels == k].mean(axis=0) for k in range(3)])
    if np.allclose(moved, centres):
        break
    centres = moved
print(np.bincount(labels))
print(centres)
print(f"inertia {np.min(distances, axis=1).dot(np.min(distances, axis=1)):.6f}")
