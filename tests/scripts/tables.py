"""Tables of numbers as text and as files, columns, groups and joins."""

import io

import numpy as np

text = """# day, station, temperature, rain
1, 10, 11.5, 0.0
1, 20, 13.25, 2.5
2, 10, 9.75, 1.0
2, 20, 12.0, 0.0
3, 10, 10.5, 0.5
3, 30, 15.0, 0.0
"""
table = np.loadtxt(io.StringIO(text), delimiter=",")
day, station, temperature, rain = np.loadtxt(io.StringIO(text), delimiter=",", unpack=True)
print(table.shape, table.dtype, day.astype(int))
first = np.loadtxt(io.StringIO(text), delimiter=",", usecols=(0, 2), skiprows=2, max_rows=2)
print(first)
holes = np.genfromtxt(io.StringIO("1,2,3\n4,,6\n7,8,\n"), delimiter=",")
print(np.isnan(holes).sum(axis=0), np.nanmean(holes, axis=0), np.nan_to_num(holes, nan=-1.0)[1])
stations, group = np.unique(station, return_inverse=True)
total = np.zeros(len(stations))
np.add.at(total, group, temperature)
count = np.bincount(group)
print(stations, total / count, np.bincount(group, weights=rain))
warmest = np.full(len(stations), -np.inf)
np.maximum.at(warmest, group, temperature)
print(warmest)
order = np.lexsort((temperature, station))
print(table[order][:, 1:3].tolist())
pivot = np.full((3, len(stations)), np.nan)
pivot[day.astype(int) - 1, group] = temperature
print(pivot)
print(np.nanmax(pivot, axis=0), np.isnan(pivot).any(axis=1))
heights = np.array([[10, 120.0], [30, 560.0]])
place = np.searchsorted(heights[:, 0], station)
known = (place < len(heights)) & (heights[np.minimum(place, len(heights) - 1), 0] == station)
print(known, heights[place[known], 1])
file = io.BytesIO()
np.savez(file, table=table, group=group)
file.seek(0)
with np.load(file) as kept:
    print(sorted(kept.files), np.array_equal(kept["table"], table), kept["group"].dtype.kind)
one = io.BytesIO()
np.save(one, table.T)
one.seek(0)
print(np.load(one).sum(axis=1))
out = io.StringIO()
np.savetxt(out, table[:2], fmt="%.2f", delimiter=";", header="d;s;t;r", comments="")
print(out.getvalue().strip().replace("\n", " | "))
