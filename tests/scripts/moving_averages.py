"""A series of prices smoothed: running, exponential and weighted means, drawdowns, crossings."""

import numpy as np

days = np.arange(200)
prices = 100 + np.cumsum(np.sin(days * 0.9) + 0.6 * np.cos(days * 0.13))
window = 10
total = np.cumsum(np.insert(prices, 0, 0))
simple = (total[window:] - total[:-window]) / window
print(np.allclose(simple, np.convolve(prices, np.ones(window) / window, mode="valid")), simple[::40])
weights = np.arange(1, window + 1) / (window * (window + 1) / 2)
print(np.convolve(prices, weights[::-1], mode="valid")[::40])
alpha, smooth = 0.2, np.zeros_like(prices)
smooth[0] = prices[0]
for i in range(1, len(prices)):
    smooth[i] = alpha * prices[i] + (1 - alpha) * smooth[i - 1]
print(smooth[::40])
peaks = np.maximum.accumulate(prices)
drawdown = (peaks - prices) / peaks
print(f"{drawdown.max():.6f} at {np.argmax(drawdown)}")
above = simple > np.median(prices)
print(np.flatnonzero(np.diff(above.astype(int)) != 0))
returns = np.diff(np.log(prices))
print(f"{returns.std() * np.sqrt(252):.6f} {np.nanmax(returns):.6f} {np.ptp(prices):.6f}")
