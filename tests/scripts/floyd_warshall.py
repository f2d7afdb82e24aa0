"""All shortest paths of a graph by Floyd and Warshall."""

import numpy as np

n = 20
d = np.full((n, n), np.inf)
np.fill_diagonal(d, 0)
edges = np.arange(60)
d[edges % n, (edges * 7 + 3) % n] = 1 + (edges * 13) % 17
nxt = np.where(np.isfinite(d), np.arange(n)[None, :], -1)
for k in range(n):
    through = d[:, k, None] + d[None, k, :]
    shorter = through < d
    d[shorter] = through[shorter]
    nxt = np.where(shorter, nxt[:, k][:, None], nxt)
finite = d[np.isfinite(d)]
print(finite.size, finite.sum(), finite.max())
print(d[0])
path = [0]
while path[-1] != 11:
    path.append(int(nxt[path[-1], 11]))
print(path, np.unravel_index(np.argmax(np.where(np.isinf(d), -1, d)), d.shape))
