"""Primes by Eratosthenes, twins, gaps, divisors counted, Collatz."""

import numpy as np

n = 500
prime = np.ones(n + 1, dtype=bool)
prime[:2] = False
for i in range(2, int(n**0.5) + 1):
    if prime[i]:
        prime[i * i :: i] = False
primes = np.flatnonzero(prime)
print(len(primes), primes[-5:], primes.sum())
gaps = np.diff(primes)
print(gaps.max(), primes[np.argmax(gaps)], np.unique(gaps, return_counts=True))
print(primes[:-1][gaps == 2][-3:])
numbers = np.arange(1, 61)
divisors = (numbers[:, None] % numbers[None, :] == 0).sum(axis=1)
print(divisors, numbers[divisors == divisors.max()])
x, steps = np.arange(1, 30), np.zeros(29, dtype=int)
while np.any(x != 1):
    moving = x != 1
    x = np.where(moving, np.where(x % 2 == 0, x // 2, 3 * x + 1), x)
    steps[moving] += 1
print(steps)
