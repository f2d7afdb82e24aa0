"""An image blurred and its edges found: by shifted slices, by windows, and by the Fourier transform."""

import numpy as np

y, x = np.mgrid[0:24, 0:32]
image = ((x // 6 + y // 5) % 2).astype(float) + 0.1 * np.sin(x * y)
kernel = np.outer([1, 2, 1], [1, 2, 1]) / 16
padded = np.pad(image, 1, mode="edge")
blurred = np.zeros_like(image)
for i in range(3):
    for j in range(3):
        blurred += kernel[i, j] * padded[i : i + 24, j : j + 32]
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
again = np.einsum("ijkl,kl->ij", windows, kernel)
print(np.allclose(blurred, again), f"{blurred.std():.8f}")
sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
gx, gy = (np.tensordot(windows, k, axes=((2, 3), (0, 1))) for k in (sobel, sobel.T))
edges = np.hypot(gx, gy)
print((edges > 2).sum(), f"{np.percentile(edges, 90):.6f}", np.median(windows, axis=(2, 3))[::8, ::8])
spectrum = np.fft.fftshift(np.fft.fft2(image))
distance = np.hypot(y - 12, x - 16)
low = np.fft.ifft2(np.fft.ifftshift(np.where(distance <= 6, spectrum, 0))).real
print(np.round(low[::8, ::8], 6), f"{np.abs(image - low).max():.6f}")
small = image.reshape(12, 2, 16, 2).mean(axis=(1, 3))
print(small.shape, np.round(np.rot90(small)[:2, :4], 6), np.clip(image * 200, 0, 255).astype(np.uint8)[0, :8])
