"""Planets that attract each other, by leapfrog; energy and momentum hardly change."""

import numpy as np

n, dt, softening = 12, 0.01, 0.1
k = np.arange(n)
position = np.stack([np.cos(k * 2.4) * (1 + 0.1 * k), np.sin(k * 2.4) * (1 + 0.1 * k), 0.05 * k], axis=1)
velocity = 0.5 * np.column_stack((-position[:, 1], position[:, 0], np.zeros(n)))
mass = 1.0 / (1 + k)
velocity -= np.mean(mass[:, None] * velocity, axis=0) / np.mean(mass)


def acceleration(p):
    d = p[np.newaxis, :, :] - p[:, np.newaxis, :]
    inverse = ((d**2).sum(axis=-1) + softening**2) ** -1.5
    return (d * inverse[:, :, None]).transpose(0, 2, 1) @ mass


def energy():
    d = np.linalg.norm(position[:, None] - position[None], axis=-1)
    pairs = np.triu_indices(n, k=1)
    kinetic = 0.5 * np.sum(mass * (velocity**2).sum(1))
    return kinetic - np.sum((mass[:, None] * mass)[pairs] / np.sqrt(d[pairs] ** 2 + softening**2))


before = energy()
a = acceleration(position)
for _ in range(50):
    velocity += a * dt / 2
    position += velocity * dt
    a = acceleration(position)
    velocity += a * dt / 2
print(f"{before:.6f} {energy():.6f}")
print(np.round(position[:4], 6))
print(np.allclose((mass[:, None] * velocity).sum(axis=0), 0, atol=1e-12))
