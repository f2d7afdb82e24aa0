"""Other packages, random seeds, strings, dates and records beside arrays, errors, modules of one's own."""

import copy
import pickle
import sys

import _beside
import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.stats
from numpy import pi, sqrt
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression

np.random.seed(0)
x = np.random.randn(50, 3)
print(isinstance(x, np.ndarray), x.shape, x.dtype, x[:2])
print(scipy.stats.zscore(x, axis=0)[:2], scipy.stats.pearsonr(x[:, 0], x[:, 1])[0])
y = x @ np.array([1.0, 2.0, 3.0]) + 0.1 * np.random.normal(size=50)
m = LinearRegression().fit(x, y)
print(m.coef_, m.coef_ + np.ones(3))
print(scipy.linalg.solve(x.T @ x, x.T @ y))
r = scipy.optimize.minimize(lambda p: ((p - np.array([1.0, 2.0])) ** 2).sum(), np.zeros(2))
print(np.round(r.x, 4))
print(_beside.total(x), sqrt(pi))
rng = np.random.default_rng(3)
print(rng.random(3), rng.integers(0, 10, 4), rng.choice(["a", "b", "c"], 3))
rs = np.random.RandomState(1)
print(rs.rand(2), KMeans(2, random_state=rs, n_init=2).fit(x).labels_[:10])
names = np.array(["bob", "al"])
print(names, np.sort(names), names == "al")
d = np.array(["2020-01-01", "2020-02-03"], dtype="datetime64[D]")
print(d[1] - d[0])
s = np.zeros(2, dtype=[("a", int), ("b", float)])
s["a"] = [1, 2]
print(s)
f = np.vectorize(lambda v: v * 2 if v > 1 else 0)
print(f(np.arange(4)), f(np.arange(4)) + np.arange(4))
a = np.arange(6.0).reshape(2, 3)
np.fill_diagonal(a, 9)
np.put(a, [1], 7)
print(a)
out = np.empty(3)
np.add([1, 2, 3], 1, out=out)
print(out)
a[a > 5] = -1
print(a, a.sum(), a.mean(axis=1), a.max(), a.argmax(), a.T.flags.c_contiguous)
print(np.ma.masked_array(a, a < 0).sum(), np.poly1d([1, 2])(3))
print([float(v) for v in a.flat], {np.float64(2): 1}[np.float64(2)])
print(repr(np.arange(3)), repr(np.float64(2.5)), f"{a.mean():.3f}", format(a.shape[0], "d"), str(a[0, 0]))
try:
    np.ones(3) + np.ones(4)
except ValueError as e:
    print("ValueError", e)
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as e:
    print("LinAlgError", e)
for i, row in enumerate(a):
    row += i
print(a, np.einsum("ij->j", a), np.float32(1) + np.arange(2, dtype=np.float32))
L = [np.ones(2), np.zeros(2)]
print(np.vstack(L), np.concatenate(L), np.array(L).shape, sum(L))
v = np.arange(10)
v[2:5] *= 3
w = v[::2]
w[0] = 100
print(v, v[[1, 2]], v[np.array([True, False] * 5)], v.tolist())
b = np.add.reduce(v), np.multiply.outer([1, 2], [3, 4])
print(b)
c = np.lib.stride_tricks.sliding_window_view(v, 3)
print(c.shape)


class Sub:
    def __init__(self):
        self.z = np.zeros(3)


q = copy.deepcopy(Sub())
q.z[0] = 1
print(q.z, pickle.loads(pickle.dumps(q.z)))
print(
    np.intersect1d([1, 2], [2, 3]), np.histogram([1, 2, 1], bins=[0, 1, 2, 3]), np.unique([3, 1, 1], return_counts=True)
)
print(np.finfo(np.float32).eps, np.iinfo(int).max, np.nan, np.newaxis is None, np.bool_(True), np.inf > 1)
print(np.frombuffer(b"\x01\x02", dtype=np.uint8), np.longdouble(1) / 3 > 0.33, np.array([1, None], dtype=object))
print(all(np.isclose(np.arange(3), [0, 1, 2])), len(np.arange(4)), 3 in np.arange(4), max(np.arange(4)))
with np.printoptions(precision=2):
    print(np.array([1 / 3]))


class Metres(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def in_feet(self):
        return self * 3.25


length = np.ndarray.__new__(Metres, (2,))
length[:] = [1.0, 2.0]
print(isinstance(length, np.ndarray), type(length).__name__, length.in_feet()[1], type(Metres([1, 2])).__name__)
sys.exit(3)
counts = np.array([2, 3, 1])
print([0] * counts[0], [[0] * counts.max()], counts.view(np.ndarray)[0], x.view(type=np.ndarray).shape)
