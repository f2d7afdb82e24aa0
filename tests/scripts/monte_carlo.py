"""Options priced by random paths, beside Black and Scholes's formula; pi and an integral by random points.

Random numbers differ between libraries, so what is printed is whether results are near enough.
"""

import math

import numpy as np

rng = np.random.default_rng(7)
spot, strike, rate, sigma, years, n = 100.0, 105.0, 0.03, 0.2, 1.0, 20000
z = rng.standard_normal(n)
z = np.concatenate([z, -z])
final = spot * np.exp((rate - sigma**2 / 2) * years + sigma * math.sqrt(years) * z)
payoff = np.exp(-rate * years) * np.maximum(final - strike, 0)
price, error = payoff.mean(), payoff.std(ddof=1) / math.sqrt(n)
d1 = (math.log(spot / strike) + (rate + sigma**2 / 2) * years) / (sigma * math.sqrt(years))
cdf = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))  # noqa: E731
exact = spot * cdf(d1) - strike * math.exp(-rate * years) * cdf(d1 - sigma * math.sqrt(years))
print("call", abs(price - exact) < 4 * error, error < 0.2)
steps = rng.normal((rate - sigma**2 / 2) / 50, sigma / math.sqrt(50), size=(2000, 50))
paths = spot * np.exp(np.cumsum(steps, axis=1))
asian = np.exp(-rate) * np.maximum(paths.mean(axis=1) - strike, 0).mean()
print("asian", paths.shape, 0 < asian < price, (paths > 0).all())
np.random.seed(3)
x, y = np.random.rand(20000), np.random.uniform(size=20000)
print("pi", abs(4 * np.mean(x**2 + y**2 <= 1) - math.pi) < 0.05)
counts, _ = np.histogram(rng.integers(0, 6, size=6000), bins=np.arange(7))
print("dice", counts.sum(), ((counts - 1000) ** 2 / 1000).sum() < 25)
