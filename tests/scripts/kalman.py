"""A Kalman filter that follows a point from noisy places."""

import numpy as np

dt = 0.1
A = np.array([[1, dt], [0, 1]])
H = np.array([[1.0, 0.0]])
Q = 0.01 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
R = np.array([[0.25]])
times = np.arange(0, 6, dt)
truth = 2 * np.sin(times)
measured = truth + 0.5 * np.sin(57 * times**2)
x, P = np.zeros((2, 1)), np.eye(2)
estimates = np.empty(len(times))
for n, z in enumerate(measured):
    x, P = A @ x, A @ P @ A.T + Q
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    x = x + K @ (z - H @ x)
    P = (np.eye(2) - K @ H) @ P
    estimates[n] = x[0, 0]
rms = np.sqrt(np.mean((estimates - truth) ** 2))
print(f"{rms:.6f} < {np.sqrt(np.mean((measured - truth) ** 2)):.6f}")
print(P)
print(estimates[::12])
