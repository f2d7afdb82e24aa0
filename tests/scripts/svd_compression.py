"""Compressing a picture by its singular values, and the pseudo-inverse as a fit."""

import numpy as np

y, x = np.mgrid[-1:1:40j, -1.5:1.5:60j]
picture = np.exp(-4 * (x**2 + y**2)) + 0.3 * np.sin(6 * x) * np.cos(5 * y) + 0.2 * (np.abs(x + y) < 0.3)
U, s, Vt = np.linalg.svd(picture, full_matrices=False)
print("shape", picture.shape, "rank", np.linalg.matrix_rank(picture, tol=1e-6))
print("singular values", np.round(s[:6], 6))
print("alone", np.allclose(np.linalg.svd(picture, compute_uv=False), s))
energy = np.cumsum(s**2) / np.sum(s**2)
for k in (1, 3, 8, 20):
    approximation = (U[:, :k] * s[:k]) @ Vt[:k]
    error = np.linalg.norm(picture - approximation) / np.linalg.norm(picture)
    ratio = k * (picture.shape[0] + picture.shape[1] + 1) / picture.size
    print(f"rank {k:2d}: error {error:.6f}, energy {energy[k - 1]:.6f}, size {ratio:.3f}")
needed = int(np.searchsorted(energy, 0.999)) + 1
print("99.9% of the energy with", needed)
best = (U[:, :needed] * s[:needed]) @ Vt[:needed]
noise = np.clip(np.rint(255 * (picture - picture.min()) / np.ptp(picture)), 0, 255).astype(np.uint8)
print("grey levels", noise.min(), noise.max(), noise.dtype, np.bincount(noise.ravel(), minlength=256)[:4])
mse = np.mean((picture - best) ** 2)
print(f"PSNR {10 * np.log10(np.ptp(picture) ** 2 / mse):.4f}")
A = np.vander(np.linspace(-1, 1, 30), 4)
print("fit", np.round(np.linalg.pinv(A) @ np.cos(np.linspace(-1, 1, 30)), 6) + 0.0)
