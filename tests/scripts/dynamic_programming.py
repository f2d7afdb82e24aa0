"""Knapsack, longest common subsequence and edit distance, a row at a time."""

import numpy as np

weights, worth = np.array([3, 4, 5, 9, 4]), np.array([3, 4, 4, 10, 4])
best = np.zeros(21, dtype=int)
for w, v in zip(weights, worth):
    taken = best.copy()
    taken[w:] = np.maximum(best[w:], best[:-w] + v)
    best = taken
print(best)
a, b = (np.frombuffer(text, dtype=np.uint8) for text in (b"kitten on the mat", b"sitting in the hat"))
row = np.arange(len(b) + 1)
for i, letter in enumerate(a):
    change = row[:-1] + (b != letter)
    new = np.concatenate(([i + 1], np.minimum(row[1:] + 1, change)))
    row = np.minimum.accumulate(new - np.arange(len(new))) + np.arange(len(new))
print(row[-1], row)
common = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
same = a[:, None] == b[None, :]
for i in range(len(a)):
    common[i + 1, 1:] = np.maximum.accumulate(np.maximum(common[i, 1:], common[i, :-1] + same[i]))
print(common[-1, -1], common[-1])
