"""Ising's model on a torus by Metropolis's rule on the two colours of a chess board, below and above the critical
temperature: magnetised, and not."""

import numpy as np

rng = np.random.default_rng(1)
n = 24
colour = np.add.outer(np.arange(n), np.arange(n)) % 2 == 0


def neighbours(s):
    return np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)


def run(temperature, sweeps):
    spins = np.ones((n, n), dtype=int)
    for _ in range(sweeps):
        for board in (colour, ~colour):
            change = 2 * spins * neighbours(spins)
            flip = board & (rng.random((n, n)) < np.exp(-change / temperature))
            spins[flip] *= -1
    return spins


for temperature in (1.5, 5.0):
    spins = run(temperature, 40)
    energy = -(spins * neighbours(spins)).sum() / 2 / n**2
    print(temperature, abs(spins.mean()) > 0.9, energy < -1.7, np.unique(spins).tolist() == [-1, 1], spins.shape)
