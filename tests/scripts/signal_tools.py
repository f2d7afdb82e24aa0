"""A cosine transform by its matrix, a smoothing filter by least squares, lengths of runs, sliding windows."""

import numpy as np

N = 32
k, n = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
D = np.sqrt(2 / N) * np.cos(np.pi * (2 * n + 1) * k / (2 * N))
D[0] /= np.sqrt(2)
print("orthogonal", np.allclose(D @ D.T, np.eye(N)))
t = np.linspace(0, 1, N)
signal = t**2 + 0.3 * np.sin(20 * t) + 0.05 * np.where(np.arange(N) % 2, 1, -1)
spectrum = D @ signal
spectrum[np.abs(spectrum) < 0.1] = 0
print("kept", np.count_nonzero(spectrum), "error", round(float(np.abs(D.T @ spectrum - signal).max()), 6))
half = 3
powers = np.vander(np.arange(-half, half + 1), 4, increasing=True)
weights = np.linalg.pinv(powers)[0]
print("weights", np.round(weights * 21, 6) + 0.0)
smooth = np.convolve(np.pad(signal, half, mode="edge"), weights[::-1], mode="valid")
print(
    "rough",
    round(float(np.abs(np.diff(signal, 2)).mean()), 6),
    "smooth",
    round(float(np.abs(np.diff(smooth, 2)).mean()), 6),
)
windows = np.lib.stride_tricks.sliding_window_view(signal, 5)
print("medians", np.round(np.median(windows, axis=1)[:4], 5), windows.shape)
bits = (np.sin(np.arange(40) ** 1.3) > 0).astype(int)
starts = np.flatnonzero(np.concatenate(([True], bits[1:] != bits[:-1])))
lengths = np.diff(np.append(starts, bits.size))
print("runs", lengths.tolist(), bits[starts][:3])
print("again", np.array_equal(np.repeat(bits[starts], lengths), bits))
print("sums", np.add.reduceat(signal, starts[starts < N])[:3].round(5))
peaks = np.flatnonzero((smooth[1:-1] > smooth[:-2]) & (smooth[1:-1] > smooth[2:])) + 1
print("peaks", peaks, "zero crossings", np.sum(np.diff(np.sign(signal - signal.mean())) != 0))
envelope = np.maximum.accumulate(signal)
print("drawdown", round(float((envelope - signal).max()), 6), np.argmax(envelope - signal))
rate = np.fft.rfftfreq(N, d=t[1] - t[0])
power = np.abs(np.fft.rfft((signal - signal.mean()) * np.hanning(N))) ** 2
print("loudest", round(float(rate[np.argmax(power)]), 4), np.round(power.max(), 5))
