"""Black and Scholes: prices on a grid, derivatives by finite differences, volatilities that prices imply."""

import numpy as np


def normal_cdf(x):
    """Abramowitz and Stegun, 26.2.17."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1 - tail, tail)


def call(spot, strike, rate, volatility, years):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / root
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d1 - root)


spots = np.linspace(80, 120, 9)
strikes = np.array([90.0, 100.0, 110.0])[:, np.newaxis]
prices = call(spots, strikes, 0.03, 0.2, 1.0)
print(np.array2string(prices, precision=4, suppress_small=True))
fine = np.linspace(60, 140, 161)
value = call(fine, 100.0, 0.03, 0.2, 1.0)
delta = np.gradient(value, fine)
gamma = np.gradient(delta, fine, edge_order=2)
at = np.searchsorted(fine, 100.0)
print(f"delta {delta[at]:.5f} gamma {gamma[at]:.5f}")
h = 1e-3
vega = (call(100.0, 100.0, 0.03, 0.2 + h, 1.0) - call(100.0, 100.0, 0.03, 0.2 - h, 1.0)) / (2 * h)
theta = -(call(100.0, 100.0, 0.03, 0.2, 1.0 + h) - call(100.0, 100.0, 0.03, 0.2, 1.0 - h)) / (2 * h)
print(f"vega {float(vega):.4f} theta {float(theta):.4f}")
low, high = np.full(prices.shape, 0.01), np.full(prices.shape, 1.0)
for _ in range(40):
    middle = (low + high) / 2
    above = call(spots, strikes, 0.03, middle, 1.0) > prices
    high[above], low[~above] = middle[above], middle[~above]
print("implied", np.round(middle.mean(axis=1), 6), np.ptp(middle) < 1e-5)
put = prices - spots + strikes * np.exp(-0.03)
print("puts", np.round(put[1], 4), "least", round(float(put.min()), 4))
print("in the money", np.count_nonzero(spots > strikes, axis=1))
