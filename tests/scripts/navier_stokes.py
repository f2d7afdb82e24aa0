"""Two-dimensional turbulence: vorticity by Fourier's transform, with dealiasing and Runge and Kutta's second order."""

import numpy as np

n, nu, dt = 32, 1e-3, 0.02
x = 2 * np.pi * np.arange(n) / n
X, Y = np.meshgrid(x, x)
w = np.sin(X) * np.cos(Y) + 0.5 * np.cos(2 * X + Y) - 0.3 * np.sin(3 * Y)
k = np.fft.fftfreq(n, 1 / n)
KX, KY = np.meshgrid(k, k)
K2 = KX**2 + KY**2
inverse = np.zeros_like(K2)
inverse[K2 > 0] = 1 / K2[K2 > 0]
keep = (np.abs(KX) < n / 3) & (np.abs(KY) < n / 3)


def slope(wh):
    psi = wh * inverse
    u, v = np.fft.ifft2(1j * KY * psi).real, -np.fft.ifft2(1j * KX * psi).real
    wx, wy = np.fft.ifft2(1j * KX * wh).real, np.fft.ifft2(1j * KY * wh).real
    return -np.fft.fft2(u * wx + v * wy) * keep - nu * K2 * wh


wh = np.fft.fft2(w)
for _ in range(20):
    middle = wh + 0.5 * dt * slope(wh)
    wh = wh + dt * slope(middle)
w = np.fft.ifft2(wh).real
print(f"{(w**2).mean():.8f} {np.abs(w).max():.8f} {np.abs(w.mean()):.3f}")
print(np.round(w[::8, ::8], 6))
