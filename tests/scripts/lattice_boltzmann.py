"""Flow around a cylinder by the lattice Boltzmann method with nine velocities."""

import numpy as np

ny, nx, tau = 20, 40, 0.6
cx = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
cy = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
X, Y = np.meshgrid(np.arange(nx), np.arange(ny))
F = np.ones((ny, nx, 9)) + 0.01 * np.sin(X + 2 * Y)[:, :, None]
F[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * X / nx * 4))
F *= 100 / F.sum(axis=2, keepdims=True)
cylinder = (X - nx / 4) ** 2 + (Y - ny / 2) ** 2 < (ny / 5) ** 2
for _ in range(12):
    for i in range(9):
        F[:, :, i] = np.roll(F[:, :, i], (cx[i], cy[i]), axis=(1, 0))
    boundary = F[cylinder, :]
    boundary = boundary[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
    rho = np.sum(F, 2)
    ux, uy = np.sum(F * cx, 2) / rho, np.sum(F * cy, 2) / rho
    equilibrium = np.zeros(F.shape)
    for i, vx, vy, w in zip(range(9), cx, cy, weights):
        u = vx * ux + vy * uy
        equilibrium[:, :, i] = rho * w * (1 + 3 * u + 9 * u**2 / 2 - 3 * (ux**2 + uy**2) / 2)
    F += -(1.0 / tau) * (F - equilibrium)
    F[cylinder, :] = boundary
ux[cylinder] = uy[cylinder] = 0
vorticity = np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0) - np.roll(uy, -1, axis=1) + np.roll(uy, 1, axis=1)
print(rho.sum(), ux.mean(), np.abs(uy).max(), cylinder.sum())
print(np.round(vorticity[::5, ::8], 6))
