"""PageRank by power iteration, with pages that lead nowhere."""

import numpy as np

n = 40
links = np.zeros((n, n))
source = np.arange(n * 3) % n
target = (source * 7 + np.arange(n * 3) * 3 + 1) % n
keep = source % 9 != 4
links[target[keep], source[keep]] = 1
out = links.sum(axis=0)
dangling = out == 0
M = np.divide(links, out, out=np.zeros_like(links), where=out != 0)
rank = np.full(n, 1 / n)
for _ in range(100):
    new = 0.85 * (M @ rank + rank[dangling].sum() / n) + 0.15 / n
    change = np.abs(new - rank).sum()
    rank = new
    if change < 1e-10:
        break
order = np.argsort(-rank)
print(dangling.sum(), f"{rank.sum():.12f}")
print(order[:2], rank[order[:5]], np.sort(order[2:4]))
