"""Logistic regression by gradient descent, features standardised, a tenth held out."""

import numpy as np

n, d = 200, 4
i = np.arange(n)[:, None]
X = np.sin(i * np.array([0.37, 0.91, 1.3, 2.1]) + np.arange(d)) + np.array([0, 1, -2, 3])
y = (X[:, 0] - 0.5 * X[:, 1] + 0.25 * X[:, 2] + 0.2 * np.cos(i[:, 0] * 5.0) > -0.9).astype(float)
X = (X - X.mean(axis=0)) / X.std(axis=0)
X = np.c_[np.ones(n), X]
train = i[:, 0] % 10 != 0
w = np.zeros(d + 1)
losses = []
for _ in range(60):
    p = 1 / (1 + np.exp(-X[train] @ w))
    losses.append(-np.mean(y[train] * np.log(p) + (1 - y[train]) * np.log1p(-p)))
    w -= 0.5 * (X[train].T @ (p - y[train])) / train.sum()
predicted = (X[~train] @ w > 0).astype(int)
print(np.array(losses)[::15])
print(w)
print("accuracy", np.mean(predicted == y[~train]), np.flatnonzero(predicted != y[~train]))
