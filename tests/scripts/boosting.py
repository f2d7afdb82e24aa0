"""Boosted stumps: each a threshold on one feature that reduces the squared error most."""

import numpy as np

n = 160
t = np.arange(n)
X = np.column_stack([(t * 0.618) % 1, (t * 0.414) % 1, (t * 0.732) % 1])
y = np.where(X[:, 0] > 0.5, 2.0, -1.0) + np.sin(6 * X[:, 1]) + 0.1 * np.cos(40 * X[:, 2])
train, test = t % 4 != 0, t % 4 == 0
orders = np.argsort(X[train], axis=0, kind="stable")
ordered = np.take_along_axis(X[train], orders, axis=0)
target, prediction = y[train], np.full(train.sum(), y[train].mean())
outside = np.full(test.sum(), y[train].mean())
stumps = []
for _ in range(30):
    residual = (target - prediction)[orders]
    left = np.cumsum(residual, axis=0)[:-1]
    count = np.arange(1, len(target))[:, None]
    gain = left**2 / count + (residual.sum(axis=0) - left) ** 2 / (len(target) - count)
    gain[np.diff(ordered, axis=0) <= 0] = -np.inf
    place, feature = np.unravel_index(np.argmax(gain), gain.shape)
    threshold = (ordered[place, feature] + ordered[place + 1, feature]) / 2
    below = X[train][:, feature] <= threshold
    residual = target - prediction
    low, high = residual[below].mean(), residual[~below].mean()
    prediction += 0.5 * np.where(below, low, high)
    outside += 0.5 * np.where(X[test][:, feature] <= threshold, low, high)
    stumps.append((int(feature), float(threshold)))
for feature, threshold in stumps[:4]:
    print(f"feature {feature} below {threshold:.4f}")
print("features used", np.bincount([feature for feature, _ in stumps], minlength=3))
print(f"error {np.mean((target - prediction) ** 2):.6f}, outside {np.mean((y[test] - outside) ** 2):.6f}")
print(f"R2 {1 - np.sum((y[test] - outside) ** 2) / np.sum((y[test] - y[test].mean()) ** 2):.5f}")
print("correlation", np.round(np.corrcoef(y[test], outside)[0, 1], 6))
print("worst", np.argsort(-np.abs(y[test] - outside))[:3])
