"""A table with gaps cleaned: masks, NaN, forward fill, groups, scaling."""

import numpy as np

table = np.round(np.sin(np.arange(60).reshape(12, 5) * 1.3) * 50, 1)
table[2, 1] = table[5, 3] = table[6, 3] = table[11, 0] = np.nan
table[8, 4] = -999
table[table == -999] = np.nan
missing = np.isnan(table)
print(missing.sum(axis=0), np.argwhere(missing).tolist())
print(np.nanmean(table, axis=0), np.nanmedian(table, axis=0))
filled = np.where(missing, np.nanmean(table, axis=0), table)
print(np.round(filled[[2, 5, 11]], 4))
forward = table.copy()
places = np.where(~missing, np.arange(12)[:, None], 0)
np.maximum.accumulate(places, axis=0, out=places)
forward = forward[places, np.arange(5)]
print(forward[6], forward[11])
complete = table[~missing.any(axis=1)]
print(complete.shape, np.round(complete.mean(axis=0), 6))
groups = np.arange(12) % 3
names, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
sums = np.zeros(len(names))
np.add.at(sums, inverse, filled[:, 2])
print(names, counts, sums / counts, np.bincount(inverse, weights=filled[:, 2]))
low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
print(np.nan_to_num((table - low) / (high - low), nan=-1.0)[::4])
interpolated = table[:, 3].copy()
bad = np.isnan(interpolated)
interpolated[bad] = np.interp(np.flatnonzero(bad), np.flatnonzero(~bad), interpolated[~bad])
print(interpolated)
