"""A mixture of normal distributions by expectation and maximisation, with einsum and logaddexp."""

import numpy as np

k = np.arange(1, 121)
u, v = (k * 0.6180339887) % 1.0, (k * 0.7548776662) % 1.0
radius, angle = np.sqrt(-2 * np.log(u)), 2 * np.pi * v
plane = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
clouds = plane[:40] * 0.5, plane[40:80] * [1.0, 0.3] + [4, 1], plane[80:] @ [[0.6, 0.4], [0, 0.5]] + [0, 5]
data = np.concatenate(clouds)
means = data[[0, 50, 100]].copy()
covariances = np.repeat(np.eye(2)[None], 3, axis=0)
weights = np.ones(3) / 3
last = -np.inf
for _ in range(100):
    apart = data[:, None] - means
    inverse = np.linalg.inv(covariances)
    mahalanobis = np.einsum("nki,kij,nkj->nk", apart, inverse, apart)
    sign, logdet = np.linalg.slogdet(covariances)
    logs = np.log(weights) - 0.5 * (mahalanobis + logdet + 2 * np.log(2 * np.pi))
    total = np.logaddexp.reduce(logs, axis=1)
    share = np.exp(logs - total[:, None])
    likelihood = total.sum()
    if likelihood - last < 1e-9:
        break
    last = likelihood
    counts = share.sum(axis=0)
    weights = counts / len(data)
    means = share.T @ data / counts[:, None]
    apart = data[:, None] - means
    covariances = np.einsum("nk,nki,nkj->kij", share, apart, apart) / counts[:, None, None]
    covariances += 1e-6 * np.eye(2)
print("likelihood", round(float(likelihood), 5))
order = np.lexsort((means[:, 1], weights))
print("weights", np.round(weights, 5))
print("means", np.round(means, 5).tolist())
print("covariances", np.round(covariances, 4).tolist())
label = np.argmax(share, axis=1)
table = np.zeros((3, 3), dtype=int)
np.add.at(table, (np.repeat(np.arange(3), 40), label), 1)
print(table)
entropy = -np.sum(share * np.log(np.maximum(share, 1e-300)), axis=1)
print("least sure", np.argsort(entropy)[-1], np.round(np.percentile(entropy, [50, 90]), 6) + 0.0)
