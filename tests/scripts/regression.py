"""Lines and polynomials fitted: normal equations, least squares, ridge, polyfit, residuals."""

import numpy as np

x = np.linspace(-2, 2, 41)
y = 1.5 - 0.7 * x + 0.3 * x**3 + 0.05 * np.sin(40 * x)
X = np.vander(x, 4, increasing=True)
normal = np.linalg.solve(X.T @ X, X.T @ y)
fit, residuals, rank, s = np.linalg.lstsq(X, y, rcond=None)
print(normal, np.allclose(normal, fit), rank)
print(residuals, s)
p = np.polyfit(x, y, 3)
print(np.allclose(p[::-1], fit), np.polyval(p, [0.0, 1.0]))
ridge = np.linalg.inv(X.T.dot(X) + 0.1 * np.identity(4)).dot(X.T).dot(y)
print(ridge)
r2 = 1 - np.sum((y - X @ fit) ** 2) / np.sum((y - y.mean()) ** 2)
print(f"{r2:.8f} {np.linalg.cond(X):.6f} {np.linalg.matrix_rank(X)}")
lags = np.array([np.corrcoef(y[:-k], y[k:])[0, 1] for k in range(1, 4)])
print(lags)
