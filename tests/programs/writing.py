"""What NumPy writes to arguments, to buffers of others and in place is seen where the program looks."""

import array
import ctypes
import mmap
import os
import tempfile
from multiprocessing import shared_memory

import numpy as np

# Lists
for seeded in (np.random.default_rng(3), np.random.RandomState(3), np.random):
    np.random.seed(3)
    numbers, nested = list(range(8)), [[1, 2], [3], [4, 5, 6]]
    first = nested[0]
    arrays = [np.arange(2), np.arange(3), np.ones(4)]
    kept = {id(x) for x in arrays}
    for x in numbers, nested, arrays:
        seeded.shuffle(x)
    print(numbers, nested, any(x is first for x in nested), [x.size for x in arrays], {id(x) for x in arrays} == kept)

# Shapes in place
a = np.arange(4)
a.resize((3, 2), refcheck=False)
print(a, a + 1)
a.resize(2, 2, refcheck=False)
print(a.sum(), a.shape)
try:
    a.resize((2, -2))
except ValueError as error:
    print(type(error).__name__)

# Memory of others
shared = shared_memory.SharedMemory(create=True, size=16)
x = np.ndarray((2,), dtype="f8", buffer=shared.buf)
x[:] = 0
x[0] = 7
x += np.ones(2)
np.add(x, 1, out=x)
np.multiply(x, 2, x)
print(np.ndarray((2,), "f8", shared.buf), type(np.sin(x)) is type(np.sin(np.ones(2))))
del x
shared.close()
shared.unlink()
text = bytearray(b"xyz")
np.frombuffer(text, dtype="u1")[0] = 65
np.copyto(np.frombuffer(text, dtype="u1")[1:2], np.array([66], "u1"))
print(text)
numbers = array.array("d", [1, 2, 3, 4])
np.asarray(numbers)[0] = 65
np.asarray(memoryview(numbers)).reshape(2, 2)[1, 1] = 66
np.add.at(np.asarray(numbers), [1, 1], 1.5)
np.fill_diagonal(np.asarray(numbers).reshape(2, 2)[:, ::-1], -1)
np.array(numbers)[0] = 0
print(numbers)
with mmap.mmap(-1, 8) as mapped:
    y = np.frombuffer(mapped, "i4")
    np.cumsum(np.array([1, 2], "i4"), out=y)
    print(mapped[:], np.max(y))
    np.take(np.arange(5, 9, dtype="i4"), [3, 2], 0, y)
    np.dot(np.ones((2, 2), "i4"), np.array([1, 2], "i4"), y[:])
    print(mapped[:], y.sum())
    del y
counted = (ctypes.c_int * 3)(1, 2, 3)
np.ctypeslib.as_array(counted)[0] = 8
print(counted[0])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.npy")
    np.save(path, np.zeros(3))
    opened = np.load(path, mmap_mode="r+")
    opened[0] = 5
    opened[1:] += np.ones(2)
    opened = np.memmap(path + "x", dtype="f8", mode="w+", shape=(3,))
    opened[:] = np.arange(3)
    np.add(opened, 1, out=opened)
    np.asarray(opened)[0] = 4
    del opened
    print(np.load(path), np.fromfile(path + "x"))

# Two results
whole, part = np.empty(2), np.frombuffer(bytearray(16))
np.modf(np.array([1.5, 2.25]), out=(part, whole))
print(part, whole)

# Real where all are real
for m in np.diag([1.0, 2.0]), np.array([[0.0, 1.0], [-1.0, 0.0]]), np.ones((2, 2), int):
    values = np.linalg.eigvals(m)
    print(values.dtype == np.linalg.eig(m).eigenvalues.dtype, np.sort(values.real).round(6) + 0)
print(np.roots([1, -3, 2]))
