"""A sample described: histograms, quantiles, moments, outliers, correlations."""

import numpy as np

t = np.arange(500)
sample = 10 + 3 * np.sin(t * 0.77) + np.cos(t**2 * 0.31) + np.where(t % 97 == 0, 15, 0)
counts, edges = np.histogram(sample, bins=12)
for count, low, high in zip(counts, edges[:-1], edges[1:]):
    print(f"{low:7.3f} to {high:7.3f} {count:4d} {'*' * (count // 8)}")
print(np.percentile(sample, [5, 25, 50, 75, 95]))
q1, q3 = np.quantile(sample, [0.25, 0.75])
outliers = sample[(sample < q1 - 1.5 * (q3 - q1)) | (sample > q3 + 1.5 * (q3 - q1))]
print(len(outliers), np.sort(outliers)[-3:])
z = (sample - sample.mean()) / sample.std(ddof=1)
print(f"skewness {np.mean(z**3):.6f} kurtosis {np.mean(z**4) - 3:.6f}")
bins = np.digitize(sample, np.array([8.0, 10.0, 12.0]))
print(np.bincount(bins), [round(float(sample[bins == k].mean()), 6) for k in range(4)])
both = np.vstack([sample, np.roll(sample, 1), t])
print(np.round(np.corrcoef(both), 6))
heat, _, _ = np.histogram2d(sample, t, bins=(3, 4))
print(heat.astype(int))
