"""NumPy's names beyond the standard: each one's results are NumPy's own, over awkward shapes and dtypes.

A case is a function of a namespace and an array of it. It runs with NumPy and with ours, and what it returns, arrays in
tuples, lists and dictionaries too, has the same shapes, kinds of dtype and values.
"""

from __future__ import annotations

import inspect
import io
import json
import operator
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

FIRST_150 = [
    "np.array",
    "ndarray.astype",
    "np.random.randn",
    "ndarray.reshape",
    "ndarray.sum",
    "ndarray.ravel",
    "np.ndim",
    "np.unique",
    "np.concatenate",
    "ndarray.copy",
    "np.random.rand",
    "np.random.randint",
    "np.dot",
    "np.issubdtype",
    "np.absolute",
    "ndarray.all",
    "ndarray.take",
    "ndarray.max",
    "np.vstack",
    "ndarray.mean",
    "np.amax",
    "ndarray.min",
    "ndarray.any",
    "np.hstack",
    "ndarray.view",
    "np.amin",
    "np.asanyarray",
    "np.random.normal",
    "np.atleast_1d",
    "ndarray.flat",
    "np.errstate",
    "np.allclose",
    "np.array_equal",
    "np.average",
    "np.isscalar",
    "ndarray.searchsorted",
    "np.pad",
    "ndarray.flags",
    "np.ravel",
    "np.random.uniform",
    "np.putmask",
    "np.random.random_sample",
    "np.random.random",
    "ndarray.tolist",
    "np.random.seed",
    "np.mgrid",
    "np.r_",
    "np.cumsum",
    "np.bincount",
    "np.percentile",
    "ndarray.fill",
    "np.c_",
    "ndarray.std",
    "ndarray.argsort",
    "np.atleast_2d",
    "np.random.choice",
    "ndarray.flatten",
    "np.may_share_memory",
    "np.ascontiguousarray",
    "ndarray.dot",
    "np.einsum",
    "np.transpose",
    "np.column_stack",
    "ndarray.base",
    "np.deg2rad",
    "np.vectorize",
    "np.median",
    "np.shape",
    "ndarray.item",
    "ndarray.repeat",
    "np.linalg.norm",
    "ndarray.argmax",
    "ndarray.transpose",
    "np.power",
    "np.copy",
    "np.diag",
    "np.promote_types",
    "np.random.permutation",
    "ndarray.squeeze",
    "np.setdiff1d",
    "np.append",
    "ndarray.nonzero",
    "np.nanmax",
    "np.size",
    "ndarray.nbytes",
    "np.nanmin",
    "np.flatnonzero",
    "np.rad2deg",
    "np.isclose",
    "np.random.shuffle",
    "np.nanmean",
    "np.arctan2",
    "np.random.RandomState",
    "np.delete",
    "np.min_scalar_type",
    "np.interp",
    "np.random.standard_normal",
    "ndarray.cumsum",
    "np.cov",
    "np.lib.stride_tricks.as_strided",
    "np.frombuffer",
    "np.resize",
    "np.around",
    "ndarray.round",
    "np.random.multivariate_normal",
    "np.ptp",
    "ndarray.strides",
    "np.ogrid",
    "np.histogram",
    "ndarray.argmin",
    "np.load",
    "np.insert",
    "np.nansum",
    "np.fromiter",
    "ndarray.setflags",
    "np.arctan",
    "np.nanpercentile",
    "np.asfortranarray",
    "ufunc.reduce",
    "np.nanvar",
    "np.arcsin",
    "ndarray.sort",
    "np.apply_along_axis",
    "np.cumprod",
    "np.invert",
    "np.histogram_bin_edges",
    "np.ix_",
    "np.unravel_index",
    "np.logspace",
    "np.gradient",
    "np.dstack",
    "np.arctanh",
    "np.arcsinh",
    "np.arccosh",
    "np.fmax",
    "np.fill_diagonal",
    "np.outer",
    "np.atleast_3d",
    "np.exp2",
    "np.copyto",
    "np.rollaxis",
    "np.ravel_multi_index",
    "np.place",
    "np.split",
    "np.fabs",
    "np.digitize",
    "np.corrcoef",
    "np.arccos",
    "np.lexsort",
    "np.compress",
]
"""The names outside the standard that 15 libraries use most, by their rank."""


def test_the_first_150_names(xp):
    """Each is there."""
    assert len(FIRST_150) == 150
    lacking = []
    for name in FIRST_150:
        owner, *path = name.split(".")
        found = {"np": xp, "ndarray": xp.ndarray, "ufunc": xp.ufunc}[owner]
        try:
            for part in path:
                found = getattr(found, part)
        except AttributeError:
            lacking.append(name)
    assert not lacking


def test_every_name_that_is_listed_is_there(xp):
    from nbx_array import _numpy_names

    for name in _numpy_names.NAMES:
        assert getattr(xp, name) is not None
        assert name in dir(xp)
        assert name not in _numpy_names.ABSENT
    assert len(set(_numpy_names.NAMES)) == len(_numpy_names.NAMES)


# --------------------------------------------------------------------------------------------------------------- data


def grid(dtype: str) -> np.ndarray:
    """A matrix with equal elements, both signs, and of floats NaN, infinities and both zeros."""
    a = (np.arange(35) * 17 % 23 - 7).reshape(5, 7)
    if dtype in ("bool", "uint8"):
        return (a % 3).astype(dtype)
    a = a.astype(dtype)
    if dtype.startswith("complex"):
        a += 1j * a[::-1]
    return a


def gaps() -> np.ndarray:
    a = grid("float64")
    a[1, 2] = a[3, 3] = a[:, 5] = np.nan
    return a


INPUTS = {
    "f8": lambda: grid("float64") / 4,
    "f4": lambda: grid("float32") / 4,
    "i8": lambda: grid("int64"),
    "u1": lambda: grid("uint8"),
    "b1": lambda: grid("bool"),
    "c16": lambda: grid("complex128"),
    "view": lambda: (grid("float64") / 4).T[::-2, ::3],
    "line": lambda: np.linspace(-3, 3, 13)[::-1],
    "one": lambda: np.array([2.5]),
    "none": lambda: np.empty((0, 3)),
    "0d": lambda: np.array(-1.5),
    "nan": gaps,
    "cube": lambda: np.arange(24.0).reshape(2, 3, 4)[:, ::-1],
    "whole": lambda: np.array([3, 0, 2, 3, 1, 1, 6]),
    "sorted": lambda: np.array([0.0, 1.0, 1.0, 2.5, 7.0]),
    "square": lambda: np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]]),
}
FLOATS = ("f8", "f4", "view", "0d", "none")
ALL = (*FLOATS, "i8", "u1", "b1", "c16")

CASES = [
    # making and shaping
    ("array", ALL, lambda m, a: [m.array(a), m.array(a, ndmin=3), m.array([a, a]), m.array([1, 2.5], dtype=m.float32)]),
    ("array", ("0d",), lambda m, a: m.array([[a, 1.0], [2.0, a]])),
    ("asanyarray", ALL, lambda m, a: m.asanyarray(a)),
    (
        "ascontiguousarray",
        ("view", "0d"),
        lambda m, a: [m.ascontiguousarray(a), m.ascontiguousarray(a).flags.c_contiguous],
    ),
    ("asfortranarray", ("f8", "view"), lambda m, a: [m.asfortranarray(a), m.asfortranarray(a).strides]),
    ("require", ("view",), lambda m, a: m.require(a, requirements="C")),
    ("ndim", ALL, lambda m, a: [m.ndim(a), m.ndim([[1]]), m.ndim(3)]),
    ("shape", ALL, lambda m, a: [m.shape(a), m.shape([[1]])]),
    ("size", ("f8",), lambda m, a: [m.size(a), m.size(a, 1)]),
    ("ravel", ALL, lambda m, a: [m.ravel(a), m.ravel(a, order="F"), a.ravel()]),
    ("transpose", ("f8", "cube"), lambda m, a: [m.transpose(a), a.transpose()]),
    ("transpose", ("cube",), lambda m, a: [m.transpose(a, (1, 0, 2)), a.transpose(1, 2, 0), a.transpose((2, 0, 1))]),
    ("swapaxes", ("cube",), lambda m, a: [m.swapaxes(a, 0, -1), a.swapaxes(1, 2)]),
    ("rollaxis", ("cube",), lambda m, a: [m.rollaxis(a, 2), m.rollaxis(a, 0, 2), m.rollaxis(a, 1, 3)]),
    ("rot90", ("f8", "cube"), lambda m, a: [m.rot90(a, k) for k in range(-1, 4)]),
    ("fliplr", ("i8",), lambda m, a: [m.fliplr(a), m.flipud(a), m.flip(a, 0)]),
    ("atleast_1d", ("0d", "f8"), lambda m, a: [f(a) for f in (m.atleast_1d, m.atleast_2d, m.atleast_3d)]),
    ("atleast_3d", ("line",), lambda m, a: [m.atleast_3d(a), m.atleast_2d(a, 3)]),
    (
        "concatenate",
        ("f8", "i8"),
        lambda m, a: [m.concatenate([a, a]), m.concatenate((a, a), 1), m.concatenate([a, a], axis=None)],
    ),
    ("concatenate", ("line",), lambda m, a: m.concatenate([a, [1, 2]])),
    ("vstack", ("line", "f8"), lambda m, a: [m.vstack([a, a]), m.vstack((a, a))]),
    ("hstack", ("line", "f8"), lambda m, a: m.hstack([a, a])),
    ("dstack", ("line", "f8"), lambda m, a: m.dstack([a, a])),
    ("column_stack", ("line", "f8"), lambda m, a: m.column_stack([a, a])),
    ("stack", ("line",), lambda m, a: [m.stack([a, a], 1), m.stack([a, a], axis=-1)]),
    ("block", ("f8",), lambda m, a: m.block([[a, m.zeros((5, 2))], [m.ones((1, 7)), m.ones((1, 2))]])),
    ("append", ("f8",), lambda m, a: [m.append(a, a), m.append(a, a, axis=0), m.append(a, 3)]),
    (
        "insert",
        ("line",),
        lambda m, a: [m.insert(a, 1, 9), m.insert(a, [0, 13, -1], [1, 2, 3]), m.insert(a, 2, [5, 6])],
    ),
    (
        "insert",
        ("f8",),
        lambda m, a: [m.insert(a, 1, 9, axis=0), m.insert(a, [1, 3], 2, axis=1), m.insert(a, 1, m.arange(5.0), axis=1)],
    ),
    ("delete", ("line",), lambda m, a: [m.delete(a, 1), m.delete(a, [0, -1]), m.delete(a, slice(None, None, 2))]),
    ("delete", ("f8",), lambda m, a: [m.delete(a, 1, 0), m.delete(a, [1, 3], axis=1)]),
    ("resize", ("whole", "none"), lambda m, a: [m.resize(a, (2, 5)), m.resize(a, 3)]),
    ("split", ("cube",), lambda m, a: [m.split(a, 2), m.split(a, [1, 3], axis=2), m.split(a, [1, 7], 1)]),
    ("array_split", ("line",), lambda m, a: [m.array_split(a, 4), m.array_split(a, [2, 5])]),
    ("hsplit", ("cube",), lambda m, a: [m.hsplit(a, 3), m.vsplit(a, 2), m.dsplit(a, 2)]),
    (
        "pad",
        ("whole", "line"),
        lambda m, a: [
            m.pad(a, (2, 3), mode=k)
            for k in ("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean")
        ],
    ),
    (
        "pad",
        ("whole",),
        lambda m, a: [m.pad(a, 20, mode="reflect"), m.pad(a, 17, mode="wrap"), m.pad(a, 1, constant_values=(4, 5))],
    ),
    (
        "pad",
        ("f8",),
        lambda m, a: [m.pad(a, ((1, 0), (0, 2))), m.pad(a, 1, "edge"), m.pad(a, 2, constant_values=((1, 2), (3, 4)))],
    ),
    (
        "pad",
        ("none",),
        lambda m, a: [m.pad(a, w, constant_values=((5, 6), (7, 8))) for w in (((0, 2), (0, 1)), ((3, 0), (0, 0)), 1)],
    ),
    ("trim_zeros", ("whole",), lambda m, a: m.trim_zeros(m.append(m.array([0, 0]), a))),
    ("diag", ("square", "line", "f8"), lambda m, a: [m.diag(a), m.diag(a, 1), m.diag(a, k=-2)]),
    ("diagflat", ("u1",), lambda m, a: m.diagflat(a[0], 1)),
    ("diagonal", ("cube",), lambda m, a: [m.diagonal(a), m.diagonal(a, 1, 1, 2), a.diagonal()]),
    ("trace", ("square", "cube"), lambda m, a: [m.trace(a), a.trace(1)]),
    ("lib", ("line",), lambda m, a: m.lib.stride_tricks.as_strided(m.array(a), (3, 4), (16, 8))),
    ("lib", ("f8",), lambda m, a: m.lib.stride_tricks.sliding_window_view(a, (2, 3))),
    (
        "may_share_memory",
        ("f8",),
        lambda m, a: [m.may_share_memory(a, a[1:]), m.may_share_memory(a, m.copy(a)), m.shares_memory(a, a)],
    ),
    (
        "apply_along_axis",
        ("f8",),
        lambda m, a: [m.apply_along_axis(m.sum, 0, a), m.apply_along_axis(lambda v: v[:2] * 2, 1, a)],
    ),
    ("apply_over_axes", ("cube",), lambda m, a: m.apply_over_axes(m.sum, a, (0, 2))),
    ("copy", ("view",), lambda m, a: [m.copy(a), m.copy(a, order="F").T.flags.c_contiguous]),
    (
        "zeros_like",
        ("f4",),
        lambda m, a: [m.zeros_like(a, dtype=int), m.ones_like(a, shape=(2,)), m.full_like(a, 3), m.zeros_like([1, 2])],
    ),
    (
        "zeros",
        ("f8",),
        lambda m, a: [
            m.zeros((2, 3), int),
            m.ones(2, m.int8),
            m.full((2,), 3, float),
            m.eye(3, k=1),
            m.eye(2, 3, 1, int),
        ],
    ),
    ("arange", ("f8",), lambda m, a: [m.arange(3), m.arange(0, 1, 0.25), m.arange(0, 5, 2, float)]),
    (
        "linspace",
        ("f8",),
        lambda m, a: [m.linspace(0, 1), m.linspace(0, 1, 5, retstep=True), m.linspace(0, 9, 4, False)],
    ),
    (
        "logspace",
        ("f8",),
        lambda m, a: [
            m.logspace(0, 2, 5),
            m.logspace(0, 3, 4, base=2),
            m.geomspace(1, 1000, 4),
            m.geomspace(-1, -8, 4),
        ],
    ),
    (
        "geomspace",
        ("whole",),
        lambda m, a: [
            m.geomspace(a + 1, 100, 5),
            m.geomspace([-1, 2.5], [-8, 40], 4, axis=1),
            m.geomspace([[1], [3]], [10, 100], 3, endpoint=False, axis=-1),
        ],
    ),
    ("meshgrid", ("i8", "0d"), lambda m, a: [m.meshgrid(a, [1, 2]), m.meshgrid([1, 2], a, indexing="ij", copy=False)]),
    (
        "full",
        ("line",),
        lambda m, a: [
            m.full((2, 13), a),
            m.full(3, [1, 2, 3]),
            m.full((2, 2), [[1.5], [2]], int),
            m.full_like(a, a * 2),
        ],
    ),
    (
        "broadcast_to",
        ("f8",),
        lambda m, a: [m.broadcast_to([1, 2], (3, 2)), m.broadcast_to(2.5, 2), m.array(m.broadcast_shapes(3, (2, 1)))],
    ),
    ("tensordot", ("square",), lambda m, a: [m.tensordot(a, a, axes=(0, 1)), m.tensordot(a, a, axes=[[-1], 0])]),
    ("imag", ("f8", "i8", "c16", "0d"), lambda m, a: [m.imag(a), m.imag([1, 2.5]), m.imag(3), m.imag([1j])]),
    ("meshgrid", ("f8",), lambda m, a: [m.meshgrid([1, 2], [3, 4, 5]), m.meshgrid([1, 2], [3, 4, 5], sparse=True)]),
    # grids, places, selections
    ("mgrid", ("f8",), lambda m, a: [m.mgrid[0:2, 1:4], m.mgrid[0:3], m.mgrid[0:1:3j, 0:2:2j], m.mgrid[-1:1:0.5]]),
    ("ogrid", ("f8",), lambda m, a: [m.ogrid[0:2, 1:4], m.ogrid[0:1:5j]]),
    (
        "r_",
        ("line",),
        lambda m, a: [m.r_[a, 1.5, 0:3], m.r_[1:4, 0, 4], m.r_["0,2", [1, 2], [3, 4]], m.r_[-1:1:6j, [0] * 3]],
    ),
    ("c_", ("line",), lambda m, a: [m.c_[a, a], m.c_[[1, 2], [3, 4]], m.c_[m.ones((2, 2)), [1, 2]]]),
    ("s_", ("f8",), lambda m, a: [a[m.s_[1:3, ::2]], a[m.index_exp[1]]]),
    ("ix_", ("f8",), lambda m, a: [a[m.ix_([0, 2], [1, 3])], m.ix_([1, 2], [True, False, True])]),
    ("indices", ("f8",), lambda m, a: [m.indices((2, 3)), m.indices((2, 3), sparse=True)]),
    ("unravel_index", ("whole",), lambda m, a: [m.unravel_index(a, (2, 4)), m.unravel_index(5, (2, 3), order="F")]),
    (
        "ravel_multi_index",
        ("f8",),
        lambda m, a: [
            m.ravel_multi_index(([1, 0], [2, 1]), (2, 3)),
            m.ravel_multi_index(([1, 4], [-2, 1]), (2, 3), mode="wrap"),
        ],
    ),
    (
        "tri",
        ("f8",),
        lambda m, a: [
            m.identity(2),
            m.tri(3),
            m.tri(2, 4, 1, int),
            m.tril_indices(3),
            m.triu_indices(3, 1),
            m.tril_indices(3, m=4),
        ],
    ),
    (
        "diag_indices",
        ("square",),
        lambda m, a: [m.diag_indices(3), a[m.diag_indices_from(a)], m.triu_indices_from(a), m.tril_indices_from(a, -1)],
    ),
    ("flatnonzero", ("b1", "i8"), lambda m, a: [m.flatnonzero(a), m.argwhere(a), m.nonzero(a)]),
    ("where", ("i8",), lambda m, a: [m.where(a > 0, a, 0), m.where(a > 0), m.where(True, 1, 2)]),
    ("extract", ("i8",), lambda m, a: m.extract(a > 2, a)),
    (
        "compress",
        ("i8",),
        lambda m, a: [m.compress([True, False, True], a, axis=0), m.compress(a.ravel() > 3, a), a.compress([0, 1], 1)],
    ),
    (
        "choose",
        ("whole",),
        lambda m, a: [m.choose(a % 3, [a, -a, a * 10]), m.choose(a, [a, -a], mode="clip"), (a % 2).choose([1, 2])],
    ),
    ("select", ("line",), lambda m, a: [m.select([a < -1, a > 1], [a, a**2], 42), m.select([a < 0], [a])]),
    (
        "piecewise",
        ("line",),
        lambda m, a: [
            m.piecewise(a, [a < 0, a > 1], [lambda x: -x, 7, lambda x: x * 2]),
            m.piecewise(a, a < 0, [1, 2]),
        ],
    ),
    (
        "take",
        ("f8",),
        lambda m, a: [
            m.take(a, [0, -1]),
            a.take([1, 1], axis=1),
            m.take(a, [9, -9], axis=0, mode="wrap"),
            m.take(a, [9, 0], mode="clip", axis=1),
        ],
    ),
    ("take_along_axis", ("f8",), lambda m, a: m.take_along_axis(a, m.argsort(a, axis=1), 1)),
    ("lexsort", ("whole",), lambda m, a: [m.lexsort((m.arange(7), a)), m.lexsort((a, -a // 2))]),
    ("partition", ("line",), lambda m, a: [m.partition(a, 3)[3], a[m.argpartition(a, 4)][4]]),
    ("sort", ("f8", "nan"), lambda m, a: [m.sort(a), m.sort(a, 0), m.sort(a, axis=None), m.sort(a, kind="stable")]),
    (
        "digitize",
        ("line",),
        lambda m, a: [m.digitize(a, [-1.0, 0.0, 2.0]), m.digitize(a, [2.0, 0.0, -1.0], right=True)],
    ),
    (
        "searchsorted",
        ("sorted",),
        lambda m, a: [m.searchsorted(a, [1, 8]), a.searchsorted(1.0, side="right"), a.searchsorted([0.5])],
    ),
    # pointwise
    *(
        (name, ("line", "i8", "0d"), lambda m, a, name=name: getattr(m, name)(a))
        for name in (
            "absolute",
            "fabs",
            "rint",
            "exp2",
            "cbrt",
            "deg2rad",
            "rad2deg",
            "degrees",
            "radians",
            "fix",
            "sinc",
            "conjugate",
            "around",
        )
    ),
    *(
        (name, ("line",), lambda m, a, name=name: getattr(m, name)(a / 3.1))
        for name in (
            "arccos",
            "arcsin",
            "arctan",
            "arctanh",
            "arcsinh",
            "spacing",
            "modf",
            "frexp",
            "isposinf",
            "isneginf",
        )
    ),
    ("arccosh", ("sorted",), lambda m, a: m.arccosh(a + 1)),
    ("arctan2", ("line",), lambda m, a: m.arctan2(a, a[::-1])),
    ("power", ("line", "i8"), lambda m, a: [m.power(a, 2), m.power(2.0, a), m.float_power(a, 2)]),
    ("invert", ("i8", "b1"), lambda m, a: [m.invert(a), m.bitwise_not(a)]),
    ("left_shift", ("whole",), lambda m, a: [m.left_shift(a, 2), m.right_shift(a, 1)]),
    ("true_divide", ("i8",), lambda m, a: [m.true_divide(a, 4), m.mod(a, 5), m.divmod(a, 3)]),
    ("fmax", ("nan",), lambda m, a: [m.fmax(a, a[::-1]), m.fmin(a, 1.0)]),
    ("fmod", ("line", "i8"), lambda m, a: [m.fmod(a, 2), m.fmod(a, -3)]),
    ("heaviside", ("line", "nan"), lambda m, a: m.heaviside(a, 0.5)),
    ("logaddexp2", ("line",), lambda m, a: m.logaddexp2(a, a[::-1])),
    ("ldexp", ("line",), lambda m, a: m.ldexp(a, m.arange(13) - 5)),
    ("i0", ("line", "i8", "0d"), lambda m, a: [m.i0(a), m.i0([0, 1.5]), m.i0(2)]),
    ("bitwise_count", ("i8", "u1", "b1"), lambda m, a: [m.bitwise_count(a), m.bitwise_count(a[:, 1:2].T)]),
    (
        "packbits",
        ("i8", "u1", "b1", "none", "f8"),
        lambda m, a: [m.packbits(a, axis=d, bitorder=k) for d in (None, 0, -1) for k in ("big", "little")],
    ),
    (
        "packbits",
        ("cube",),
        lambda m, a: [
            m.packbits(a % 3 > 1, axis=1),
            m.packbits(a[..., :3] > 5, 2),
            m.packbits(a[0, 0, 1] > 0),
            m.packbits(a[0, 0, 0] > 5, 0),
            m.packbits(m.repeat(a > 5, 4, axis=1), axis=1),
            m.packbits([1, 0, -3]),
        ],
    ),
    (
        "unpackbits",
        ("u1", "none", "f8"),
        lambda m, a: [
            *(m.unpackbits(a, axis=d, bitorder=k) for d in (None, 1, -2) for k in ("big", "little")),
            *(m.unpackbits(a, d, n) for d in (None, 0) for n in (0, 1, 13, 40, 301, -1, -13, -40)),
            m.unpackbits(a[::-2, 1::3].T, 0),
            m.unpackbits(a[1, 0]),
            m.unpackbits(a[1, 0], axis=0, count=-3),
        ],
    ),
    ("gcd", ("whole",), lambda m, a: [m.gcd(a, 6), m.lcm(a, a[::-1])]),
    ("round", ("line", "i8"), lambda m, a: [m.round(a * 1.2345, 2), a.round(), m.around(a * 111, -1)]),
    ("clip", ("line", "i8"), lambda m, a: [m.clip(a, -1, 2), a.clip(0, 1), m.clip(a, None, 1)]),
    ("angle", ("c16", "line"), lambda m, a: [m.angle(a), m.angle(a, deg=True)]),
    ("isreal", ("c16", "f8"), lambda m, a: [m.isreal(a), m.iscomplex(a), m.iscomplexobj(a), m.isrealobj(a)]),
    ("real_if_close", ("c16",), lambda m, a: [m.real_if_close(a), m.real_if_close(a * 0)]),
    ("nan_to_num", ("nan", "i8"), lambda m, a: [m.nan_to_num(a), m.nan_to_num(a, nan=-1)]),
    (
        "isclose",
        ("nan", "c16"),
        lambda m, a: [m.isclose(a, a), m.isclose(a, a + 1e-9), m.isclose(a, a, equal_nan=True)],
    ),
    (
        "allclose",
        ("f8", "nan"),
        lambda m, a: [m.allclose(a, a), m.allclose(a, a + 1), m.allclose(a, a, equal_nan=True)],
    ),
    (
        "array_equal",
        ("f8", "nan"),
        lambda m, a: [
            m.array_equal(a, a),
            m.array_equal(a, a[1:]),
            m.array_equal(a, a, equal_nan=True),
            m.array_equiv(a, a[None]),
        ],
    ),
    # sums, order, counts
    ("sum", ALL, lambda m, a: [m.sum(a), a.sum(), m.sum(a, dtype=complex), m.sum([1, 2, 3])]),
    (
        "sum",
        ("f8",),
        lambda m, a: [
            m.sum(a, 0),
            m.sum(a, axis=1, keepdims=True),
            m.sum(a, where=a > 0),
            m.sum(a, initial=5),
            a.sum(1),
        ],
    ),
    ("prod", ("u1",), lambda m, a: [m.prod(a, 0), a.prod(axis=1)]),
    (
        "mean",
        ("f8", "i8", "c16"),
        lambda m, a: [m.mean(a), a.mean(0), m.mean(a, 1, keepdims=True), m.mean(a, dtype=m.complex64)],
    ),
    (
        "std",
        ("f8", "i8", "c16"),
        lambda m, a: [m.std(a), a.std(0, ddof=1), m.var(a, 1), a.var(), m.var(a, where=m.abs(a) > 1)],
    ),
    (
        "amax",
        ("f8", "i8"),
        lambda m, a: [
            m.amax(a),
            m.amin(a, 0),
            a.max(axis=1),
            a.min(),
            m.max(a, initial=100),
            m.min(a, where=a > 0, initial=9),
        ],
    ),
    (
        "all",
        ("b1", "f8"),
        lambda m, a: [m.all(a, 0), a.all(), a.any(1), m.any(a, axis=0, keepdims=True), m.all(a, where=a > 0)],
    ),
    ("argmax", ("i8",), lambda m, a: [m.argmax(a), a.argmax(0), a.argmin(axis=1), m.argmin(a, 1)]),
    (
        "cumsum",
        ("i8", "f4"),
        lambda m, a: [m.cumsum(a), m.cumsum(a, axis=0), a.cumsum(1), m.cumprod(a[:2], 1), a[:2].cumprod(0)],
    ),
    ("ptp", ("i8",), lambda m, a: [m.ptp(a), m.ptp(a, axis=0)]),
    ("diff", ("i8",), lambda m, a: [m.diff(a), m.diff(a, 2), m.diff(a, axis=0), m.diff(a, prepend=0)]),
    (
        "average",
        ("f8",),
        lambda m, a: [
            m.average(a),
            m.average(a, 0, weights=[1, 2, 3, 4, 5.0]),
            m.average(a, weights=m.abs(a) + 1, returned=True),
        ],
    ),
    (
        "median",
        ("f8", "i8", "nan", "line"),
        lambda m, a: [m.median(a), m.median(a, axis=0), m.median(a, keepdims=True)],
    ),
    (
        "percentile",
        ("f8", "nan"),
        lambda m, a: [m.percentile(a, 30), m.percentile(a, [0, 25, 100], axis=1), m.percentile(a, 50, keepdims=True)],
    ),
    ("quantile", ("line", "i8"), lambda m, a: [m.quantile(a, 0.3), m.quantile(a, [[0.1], [0.9]], axis=0)]),
    (
        "quantile",
        ("line",),
        lambda m, a: [
            m.quantile(a, [0, 0.21, 0.5, 0.77, 1], method=k)
            for k in (
                *("lower", "higher", "nearest", "midpoint", "weibull", "hazen", "median_unbiased", "normal_unbiased"),
                *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
            )
        ],
    ),
    *(
        (name, ("nan", "i8"), lambda m, a, name=name: [getattr(m, name)(a), getattr(m, name)(a, axis=0)])
        for name in (
            "nansum",
            "nanprod",
            "nanmax",
            "nanmin",
            "nanmean",
            "nanvar",
            "nanstd",
            "nanmedian",
            "nancumsum",
            "nancumprod",
        )
    ),
    ("nanpercentile", ("nan",), lambda m, a: [m.nanpercentile(a, [10, 60], axis=0), m.nanquantile(a, 0.4)]),
    ("nanargmax", ("nan",), lambda m, a: [m.nanargmax(a), m.nanargmin(a, axis=1)]),
    (
        "bincount",
        ("whole",),
        lambda m, a: [
            m.bincount(a),
            m.bincount(a, minlength=10),
            m.bincount(a, weights=m.arange(7) / 2),
            m.bincount(a[:0]),
        ],
    ),
    (
        "histogram",
        ("f8", "i8", "b1"),
        lambda m, a: [m.histogram(a, range=(-1, 3)), m.histogram(a, 4, density=True), m.histogram(a, [0, 1, 5])],
    ),
    ("histogram", ("line",), lambda m, a: m.histogram(a, bins=3, weights=m.arange(13) / 4)),
    (
        "histogram_bin_edges",
        ("line",),
        lambda m, a: [
            m.histogram_bin_edges(a, b) for b in (3, "auto", "fd", "sturges", "scott", "rice", "sqrt", "doane")
        ],
    ),
    ("histogram2d", ("line",), lambda m, a: m.histogram2d(a, a**2, bins=[3, 4])),
    ("histogramdd", ("cube",), lambda m, a: m.histogramdd(a.reshape(8, 3), bins=(2, 3, 2))),
    (
        "cov",
        ("f8", "square"),
        lambda m, a: [
            m.cov(a),
            m.cov(a, rowvar=False),
            m.cov(a[0], a[1]),
            m.cov(a, ddof=0, aweights=m.arange(a.shape[1]) + 1),
        ],
    ),
    ("corrcoef", ("square",), lambda m, a: [m.corrcoef(a), m.corrcoef(a[0], a[1])]),
    # series
    (
        "interp",
        ("line",),
        lambda m, a: [
            m.interp(a, [-2.0, 0.0, 1.0], [3.0, 5.0, -1.0]),
            m.interp(a, [0.0, 1.0], [2.0, 4.0], left=-9, right=9),
            m.interp(0.5, [0, 1], [0, 10]),
            m.interp(a, [0.5, 2.0], [1.0, 2.0], period=3),
        ],
    ),
    ("convolve", ("line", "whole"), lambda m, a: [m.convolve(a, [1, 2, 3, 4], k) for k in ("full", "same", "valid")]),
    ("convolve", ("one",), lambda m, a: [m.convolve(a, [1.0, 2.0]), m.convolve([1.0, 2.0, 3.0], a, "same")]),
    ("correlate", ("line",), lambda m, a: [m.correlate(a, [1, 2, 3], k) for k in ("full", "same", "valid")]),
    ("gradient", ("f8",), lambda m, a: [m.gradient(a), m.gradient(a, axis=1), m.gradient(a, 2.0, edge_order=2)]),
    (
        "gradient",
        ("sorted",),
        lambda m, a: [
            m.gradient(a),
            m.gradient(a, [0.0, 1.0, 3.0, 3.5, 5.0]),
            m.gradient(a, [0.0, 1.0, 3.0, 3.5, 5.0], edge_order=2),
        ],
    ),
    (
        "trapezoid",
        ("f8",),
        lambda m, a: [m.trapezoid(a), m.trapezoid(a, dx=2.0, axis=0), m.trapezoid(a[0], m.arange(7.0) ** 2)],
    ),
    ("ediff1d", ("whole",), lambda m, a: [m.ediff1d(a), m.ediff1d(a, to_begin=-1, to_end=[8, 9])]),
    ("unwrap", ("line",), lambda m, a: m.unwrap(a * 5)),
    (
        "polyval",
        ("line",),
        lambda m, a: [
            m.polyval([1, 2, 3], a),
            m.polyadd([1, 2], [3, 4, 5]),
            m.polyder([1, 2, 3]),
            m.polyval([], a),
            m.polyval([True, False], a > 0),
            m.polysub(m.asarray([5], dtype=m.int8), m.asarray([3, 1, 200], dtype=m.uint8)),
            m.polysub([1, 2, 3], [True, False]),
        ],
    ),
    ("polymul", ("line",), lambda m, a: [m.polymul([1, 2], [3, 4]), m.polymul([0, 0, 1, 2], a), m.polymul([], a)]),
    (
        "polydiv",
        ("line", "one", "whole", "i8"),
        lambda m, a: [
            *m.polydiv(a.ravel(), [2.0, 1.0, -3.0]),
            *m.polydiv([1, 2], a.ravel()),
            *m.polydiv(a.ravel(), a.ravel()),
            *m.polydiv(a.ravel(), 1j),
            *m.polydiv(3, 2),
        ],
    ),
    ("polyfit", ("line",), lambda m, a: m.polyfit(a, a**2 - a, 2)),
    ("roots", ("f8",), lambda m, a: m.sort(m.real(m.roots([1.0, -6.0, 11.0, -6.0, 0.0])))),
    ("vander", ("whole",), lambda m, a: [m.vander(a, 3), m.vander(a, 3, increasing=True)]),
    (
        "hanning",
        ("f8",),
        lambda m, a: [f(k) for f in (m.hanning, m.hamming, m.blackman, m.bartlett) for k in (0, 1, 2, 7, 8)],
    ),
    # sets
    (
        "unique",
        ("whole", "nan", "f8", "c16"),
        lambda m, a: [m.unique(a), m.unique(a, return_index=True, return_inverse=True, return_counts=True)],
    ),
    ("unique", ("u1",), lambda m, a: [m.unique(a % 2, axis=0), m.unique(a % 2, axis=0, return_counts=True)]),
    ("in1d", ("whole",), lambda m, a: (m.in1d if hasattr(m, "in1d") else m.isin)(a, [2, 3])),
    (
        "union1d",
        ("whole",),
        lambda m, a: [f(a, [2, 9, 3]) for f in (m.union1d, m.intersect1d, m.setdiff1d, m.setxor1d)],
    ),
    ("intersect1d", ("whole",), lambda m, a: m.intersect1d(a, [2, 9, 3, 3], return_indices=True)),
    # products
    ("dot", ("square",), lambda m, a: [m.dot(a, a), m.dot(a, a[0]), a.dot(a), m.dot(a, 2), m.dot([1, 2], [3, 4])]),
    ("dot", ("cube",), lambda m, a: m.dot(a, m.arange(8.0).reshape(4, 2))),
    ("inner", ("square", "c16"), lambda m, a: [m.inner(a, a), m.vdot(a, a)]),
    *(
        [
            (
                "matvec",
                ("square", "c16", "i8", "b1"),
                lambda m, a: [m.matvec(a, a), m.matvec(a, a[0])],
            ),
            ("matvec", ("cube", "none"), lambda m, a: [m.matvec(a, a[0]), m.matvec(a[:, None], a), m.matvec(a[0], a)]),
            ("vecmat", ("square", "c16", "i8", "b1"), lambda m, a: [m.vecmat(a.T, a), m.vecmat(a[:, 0], a)]),
            ("vecmat", ("cube", "none"), lambda m, a: [m.vecmat(a[..., 0], a), m.vecmat(a[0, :, 0], a)]),
        ]
        if hasattr(np, "matvec")
        else []
    ),
    ("outer", ("line", "u1"), lambda m, a: [m.outer(a, a), m.kron(a, m.array([1, 2], dtype=a.dtype))]),
    ("cross", ("square",), lambda m, a: m.cross(a, a[::-1])),
    *(
        [("cross", ("square",), lambda m, a: [m.cross(a[:, :2], a[:, 1:]), m.cross(a, a[:, :2])])]
        if np.lib.NumpyVersion(np.__version__) < "2.5.0"  # which refuses vectors of two elements
        else []
    ),
    (
        "einsum",
        ("square",),
        lambda m, a: [
            *(m.einsum(s, a) for s in ("ii", "ii->i", "ij->ji", "ij->", "ij->i", "...j->...")),
            *(m.einsum(s, a, a) for s in ("ij,jk", "ij,ij->", "ij,ij->ij", "ij,kl->ikjl", "ij,kj->k", "ij,j...->i...")),
            m.einsum("ij,jk,kl,li->", a, a, a, a),
            m.einsum("i,j,k->ijk", a[0], a[1], a[2]),
            m.einsum(a, [0, 1], a, [1, 2], [0, 2]),
        ],
    ),
    ("sort_complex", ("line",), lambda m, a: m.sort_complex(a)),
    ("einsum_path", ("square",), lambda m, a: m.einsum_path("ij,jk,kl->il", a, a, a)[0]),
    (
        "einsum",
        ("cube",),
        lambda m, a: [m.einsum("bij,bkj->bik", a, a), m.einsum("...ij->...ji", a), m.einsum("bij,bij->b", a, a)],
    ),
    (
        "linalg",
        ("square",),
        lambda m, a: [
            *(m.linalg.norm(a, k) for k in (None, "fro", "nuc", 1, -1, 2, -2, np.inf)),
            m.linalg.norm(a[0]),
            m.linalg.norm(a, axis=0),
            m.linalg.norm(a[0], 3),
            m.linalg.cond(a),
            m.linalg.cond(a, 1),
            m.linalg.matrix_rank(a),
            m.linalg.multi_dot([a, a[:, :1], a[:1], a]),
            *(m.linalg.lstsq(a[:, :2], a[0], rcond=None)[k] for k in (0, 1, 3)),
            m.linalg.lstsq(a[:2], a[:2], rcond=None)[0],
        ],
    ),
    # methods and attributes
    ("astype", ALL, lambda m, a: [a.astype(m.float32) if a.dtype.kind != "c" else a, a.astype(a.dtype, copy=False)]),
    (
        "reshape",
        ("f8",),
        lambda m, a: [
            a.reshape(7, 5),
            a.reshape(-1),
            a.reshape((5, -1)),
            a.reshape(7, 5, order="F"),
            m.reshape(a, (7, 5)),
        ],
    ),
    (
        "flatten",
        ("view",),
        lambda m, a: [
            a.flatten(),
            a.flatten("F"),
            a.copy(),
            a.tolist(),
            a.item(1),
            a.item((0, 1)),
            a.size,
            a.nbytes,
            a.itemsize,
        ],
    ),
    ("flat", ("view",), lambda m, a: [a.flat[3], a.flat[1:4], len(a.flat), [float(x) for x in a.flat]]),
    ("squeeze", ("cube",), lambda m, a: [a[:1].squeeze(), a[:, :1].squeeze(1), m.expand_dims(a, 0)]),
    ("repeat", ("line",), lambda m, a: [a.repeat(2), m.repeat(a, 3, axis=0), m.tile(a, 2)]),
    (
        "view",
        ("f8",),
        lambda m, a: [a.view(m.int64), a.view("int32"), a.view(), m.array([1, 2], dtype=m.int16).view(m.uint8)],
    ),
    (
        "strides",
        ("f8", "view"),
        lambda m, a: [
            a.strides if a.flags["C_CONTIGUOUS"] else a.shape,
            m.zeros((3, 4))[:, ::2].strides,
            m.zeros((3, 4)).T.strides,
        ],
    ),
    (
        "flags",
        ("f8",),
        lambda m, a: [m.zeros((2, 3)).T.flags.f_contiguous, m.zeros((2, 3)).flags.forc, m.zeros(3).flags["W"]],
    ),
    ("base", ("f8",), lambda m, a: [m.zeros(3).base is None, m.zeros(3)[1:].base is None]),
    ("nonzero", ("i8",), lambda m, a: [a.nonzero(), a.argsort(), a.conj(), (a.real, a.imag)]),
    ("tobytes", ("view",), lambda m, a: [a.tobytes(), a.tobytes("F")]),
    ("divmod", ("i8",), lambda m, a: [divmod(a, 3)]),
    # types
    (
        "issubdtype",
        ("f4",),
        lambda m, a: [m.issubdtype(a.dtype, m.floating), m.issubdtype(m.int8, m.integer), m.promote_types("i4", "f4")],
    ),
    ("min_scalar_type", ("f8",), lambda m, a: [m.min_scalar_type(300), m.min_scalar_type(-1), m.min_scalar_type(a)]),
    ("linalg", ("square", "f8", "view"), lambda m, a: m.abs(m.linalg.qr(a, mode="r"))),
    (
        "ndenumerate",
        ("cube", "0d", "none", "view"),
        lambda m, a: [(m.array(place), element * 2) for place, element in m.ndenumerate(a)],
    ),
    (
        "isinstance",
        (*FLOATS, "i8", "u1", "b1", "c16"),
        lambda m, a: [
            [isinstance(x, kind) for x in (a, m.sum(a), m.array(1, dtype=a.dtype), 1.5, np.int8(1), "a")]
            + [m.issubdtype(a.dtype, kind), issubclass(a.dtype.type, kind)]
            for kind in (
                *(m.generic, m.number, m.integer, m.signedinteger, m.unsignedinteger, m.inexact, m.floating),
                *(m.complexfloating, (int, m.integer)),
            )
        ],
    ),
    (
        "isscalar",
        ("f8",),
        lambda m, a: [m.isscalar(3), m.isscalar(a), m.isscalar("a"), m.isscalar(a[0, 0]), m.iterable(a)],
    ),
    ("common_type", ("f4", "i8"), lambda m, a: m.common_type(a)),
    (
        "dtype",
        ("f4",),
        lambda m, a: [m.dtype("int8"), isinstance(a, m.ndarray), m.float64 is np.float64, m.bool_, m.intp],
    ),
    ("errstate", ("f8",), lambda m, a: [with_errstate(m, a)]),
    ("array2string", ("f8",), lambda m, a: [m.array2string(a, precision=2), m.array_str(a)]),
    # from what the host has
    (
        "frombuffer",
        ("f8",),
        lambda m, a: [m.frombuffer(b"abcdefgh", dtype=m.uint8), m.frombuffer(b"abcdefgh", m.int16, 2, 2)],
    ),
    ("fromiter", ("f8",), lambda m, a: [m.fromiter((i * i for i in range(4)), float), m.fromstring("1 2 3", sep=" ")]),
    ("fromfunction", ("f8",), lambda m, a: m.fromfunction(lambda i, j: i * 10 + j, (2, 3))),
]


def with_errstate(m, a):
    with m.errstate(all="ignore"):
        return m.log(a)


def host(xp, x):
    """A result with our arrays as NumPy's."""
    if isinstance(x, xp.ndarray):
        return xp.asnumpy(x)
    if isinstance(x, (tuple, list)):
        return [host(xp, part) for part in x]
    return x


def assert_same(got, wanted, tolerance, place="result"):
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted), place
        for k, (x, y) in enumerate(zip(got, wanted, strict=True)):
            assert_same(x, y, tolerance, f"{place}[{k}]")
    elif isinstance(wanted, (np.ndarray, np.generic)) and not isinstance(wanted, np.dtype):
        wanted = np.asarray(wanted)
        assert np.shape(got) == wanted.shape, place
        got = np.asarray(got)
        assert got.dtype == wanted.dtype, f"{place}: {got.dtype} and not {wanted.dtype}"
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=place)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=place)
    else:
        assert got == wanted, place


WAITS = {
    *("allclose", "array_equal", "array_equiv", "average", "bincount", "choose", "compress", "diag_indices"),
    *(
        "digitize",
        "extract",
        "flatnonzero",
        "gcd",
        "geomspace",
        "histogram",
        "histogram2d",
        "histogram_bin_edges",
        "histogramdd",
    ),
    *("in1d", "intersect1d", "ix_", "linalg", "nanargmax", "nonzero", "polydiv", "polyfit", "polymul"),
    *("ravel_multi_index", "real_if_close", "roots", "setdiff1d", "tri", "trim_zeros", "union1d", "unique"),
    *("unravel_index", "where"),
}
"""Functions that read from the device: their shape, their error or their answer depends on data, as they document."""
READ_BY_THE_CASE = {"flatten", "flat", "tobytes", "array2string", "isscalar", "min_scalar_type"}


@pytest.mark.parametrize(("name", "inputs", "case"), CASES, ids=[f"{k}-{name}" for k, (name, _, _) in enumerate(CASES)])
def test_as_numpy_has_it(name, inputs, case, xp):
    for kind in inputs:
        a = INPUTS[kind]()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = case(np, a.copy() if a.flags.c_contiguous else a)
            except (ValueError, np.linalg.LinAlgError, IndexError, TypeError) as error:
                with pytest.raises(type(error)):
                    case(xp, xp.asarray(a))
                continue
        x = xp.asarray(a.base if a.base is not None and a.ndim == 2 and kind == "view" else a)
        x = x.reshape(5, 7).T[::-2, ::3] if kind == "view" else x
        before = xp.counters()
        got = case(xp, x)
        read = (xp.counters() - before)["bytes_to_host"]
        assert not read or name in WAITS | READ_BY_THE_CASE, f"{name} copied {read} bytes to the host"
        assert_same(host(xp, got), host(xp, wanted), 2e-6 if kind == "f4" else 1e-12, kind)


KEYWORDS = {
    "clip": lambda m, a: [m.clip(a, a_min=-1, a_max=2), m.clip(a, a_min=None, a_max=0)],
    "tile": lambda m, a: [m.tile(a, reps=2), m.tile(a, reps=(2, 1))],
    "can_cast": lambda m, a: m.can_cast(m.float64, m.float32, casting="same_kind"),
    "concat": lambda m, a: m.concat([a, a], dtype=m.float32, casting="unsafe"),
    "stack": lambda m, a: m.stack([a, a], dtype=m.complex128, casting="safe"),
    "eye": lambda m, a: [m.eye(N=2, M=3), m.eye(3, M=2, k=-1)],
    "isin": lambda m, a: m.isin(a, a[0], kind="sort"),
    "linspace": lambda m, a: [
        m.linspace(a[0], 2, 5),
        m.linspace(0, a, 4, axis=-1, endpoint=False),
        m.linspace([1, 2], [[3], [4]], 3, axis=1),
        *m.linspace(a[0], a[1], 3, retstep=True),
        m.linspace([1.0], [2.0], 1),
        m.linspace([1, 2], 3, 0),
    ],
    "logspace": lambda m, a: [m.logspace([0, 1], 2, 3), m.logspace([0, 1], 2, 3, axis=1, base=2.0)],
    "broadcast_to": lambda m, a: m.broadcast_to(a, (2, *a.shape), subok=True),
    "asanyarray": lambda m, a: m.asanyarray(a, device=None),
    "polyfit": lambda m, a: [
        *m.polyfit(a[0], a[1], 2, cov=True),
        *m.polyfit(a[0], a[:3].T, 1, cov="unscaled"),
        *m.polyfit(a[0], a[:3].T, 1, cov=True),
    ],
    "eigh": lambda m, a: [abs(m.linalg.eigh(a[:, :5], UPLO=k)[0]) for k in "LU"],
    "eigvalsh": lambda m, a: [m.linalg.eigvalsh(a[:, :5], UPLO="U"), m.linalg.eigvalsh(a[:, :5], "l")],
    "svd": lambda m, a: [m.linalg.svd(a, compute_uv=False), m.linalg.svd(a, hermitian=False)[1]],
    "pinv": lambda m, a: [m.linalg.pinv(a, rcond=1e-3), m.linalg.pinv(a, 0.9), m.linalg.pinv(a, rtol=0.5)],
    "matrix_rank": lambda m, a: [m.linalg.matrix_rank(a, tol=1.5), m.linalg.matrix_rank(a, 1e9)],
    "fft": lambda m, a: [m.fft.fft(a, out=m.empty(a.shape, dtype=complex)), m.fft.rfft(a, norm=None)],
}
"""Calls with the keywords that NumPy has beyond the standard."""


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords_beyond_the_standard(name, xp, rng):
    a = rng.normal(size=(5, 7))
    assert_same(host(xp, KEYWORDS[name](xp, xp.asarray(a))), host(xp, KEYWORDS[name](np, a)), 1e-9, name)


MORE = {
    "polysub": lambda m, a: [m.polysub(a[0], a[1, :3]), m.polysub([1, 2], 3)],
    "poly": lambda m, a: [m.poly(a[0]), m.poly(a[:, :5]), m.poly([1, 2]), m.poly([1j, -1j]), m.poly([1j]), m.poly([])],
    "polyint": lambda m, a: [
        m.polyint(a[0]),
        m.polyint([3, 2, 1], 2, [5, 7]),
        m.polyint([1.0], k=4),
        m.polyint(a[0], 0),
    ],
    "kaiser": lambda m, a: [m.kaiser(7, 5.0), m.kaiser(1, 2.0), m.kaiser(0, 2.0), m.kaiser(4, 0.0)],
    "isfortran": lambda m, a: [m.isfortran(x) for x in (a, a.T, a[0], a[::2].T, m.ones((2, 2), order="F"))],
}


@pytest.mark.parametrize("name", MORE)
def test_more_names(name, xp, rng):
    a = rng.normal(size=(5, 7))
    assert_same(host(xp, MORE[name](xp, xp.asarray(a))), host(xp, MORE[name](np, a)), 1e-9, name)


@pytest.mark.parametrize(
    "act",
    [
        lambda m: m.poly(m.ones((2, 3))),
        lambda m: m.poly(m.ones((2, 2, 2))),
        lambda m: m.polyint(m.ones(2), -1),
        lambda m: m.polyint(m.ones(2), 3, [1, 2]),
    ],
)
def test_more_names_refuse(act, xp):
    for module in (xp, np):
        with pytest.raises(ValueError):
            act(module)


def polynomials(m, a):
    """What `poly1d` does, its coefficients read."""
    p, q = m.poly1d(a), m.poly1d([2.0, 0.0, 1.0], variable="z")
    results = [p + q, p - q, p * q, -p, +p, p**0, p**3, p + 1, 1 - p, 3 * p, p * 2.5, p / 4, 2 / p, [1, 2] - p]
    results += [*(p / q), *(q / p), *(q / [0, 2, 1]), *([1, 2, 3, 4] / q)]
    results += [p.deriv(), p.deriv(2), p.integ(), p.integ(2, k=[1, 2]), p(q), m.polyadd(p, [1, 2]), m.polysub([1], q)]
    results += [m.polymul(p, q), *m.polydiv(p, [2.0, 1.0]), m.polyder(q), m.polyint(q, 2), m.polyval(p, q)]
    results += [m.poly1d(p), m.poly1d([0, 0, 1, 2]), m.poly1d([0, 0]), m.poly1d(3), m.poly1d([1.0, 2.0], True)]
    assert all(isinstance(x, m.poly1d) for x in results)
    changed = m.poly1d([1.0, 2.0])
    changed[3], changed[0] = 7.0, -1.0
    changed.coeffs *= 2
    return [
        *(x.coeffs for x in (*results, changed)),
        *(p(2), p(a), p([[1.0, 2.0]]), m.polyval(p, a), p[0], p[1], p[99], p[-1]),
        *(p.c, p.coef, p.coefficients, len(p), p.order, p.o, p.variable, q.variable, list(p)),
        *(m.sort(m.abs(x)) for x in (q.r, q.roots, m.roots(q))),
        *(bool(p == m.poly1d(a)), bool(p == q), p != q, p == 3, str(p), str(q), str(-p), str(m.poly1d([0]))),
        *(str(m.poly1d([1j, 0, 2 + 1j, 3])), str(p**7), repr(q)[:18], np.asarray(q)),
    ]


@pytest.mark.parametrize("kind", ["line", "one", "whole", "sorted"])
def test_poly1d(kind, xp):
    a = INPUTS[kind]()
    with np.errstate(all="ignore"):
        wanted = polynomials(np, a)
    assert_same(host(xp, polynomials(xp, xp.asarray(a))), wanted, 1e-9)
    assert_same(host(xp, [(np.float64(2) * xp.poly1d(xp.asarray(a))).coeffs]), [2.0 * np.poly1d(a).coeffs], 0)


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (ValueError, lambda m: m.poly1d([[1.0]])),
        (ValueError, lambda m: m.poly1d([1.0, 2.0]) ** -1),
        (ValueError, lambda m: m.poly1d([1.0, 2.0]) ** 0.5),
        (ValueError, lambda m: m.poly1d([1.0, 2.0]).__setitem__(-1, 3)),
        (AttributeError, lambda m: setattr(m.poly1d([1.0, 2.0]), "coeffs", 3)),
        (TypeError, lambda m: hash(m.poly1d([1.0]))),
    ],
)
def test_poly1d_refuses(error, act, xp):
    for module in (xp, np):
        with pytest.raises(error):
            act(module)


def several(x, y=2):
    """The sum, and which is larger."""
    return x + y, x > y


def vectorized(m, a):
    twice = m.vectorize(lambda x: 2 * x if x > 1 else 0)
    yield twice(a), twice(a[::-2]), twice(3), twice([1, 2.5]), twice(a[:1])
    yield m.vectorize(several)(a), m.vectorize(several)(a, [[1], [2]]), m.vectorize(several)(a[:3], y=a[:3])
    f = m.vectorize(several, otypes="fi", doc="Other.")
    yield f(a), f.otypes, f.__doc__, m.vectorize(several).__doc__, f.__name__, f.pyfunc is several
    yield m.vectorize(lambda x: x, otypes=[m.float32])(a[:0]), m.vectorize(lambda x: x, [complex])(a)
    calls = []
    yield m.vectorize(lambda x: calls.append(x) or 1.0, cache=True)(a), len(calls)
    table = m.array([1.0, 10.0, 100.0])
    by_name = m.vectorize(lambda x, table, y: m.polyval(table, x) + y, excluded=["table"])
    yield by_name(a, table=table, y=1), m.vectorize(lambda p, x: m.sum(p) * x, excluded={0})(table, a)
    yield m.vectorize(m.sin)(a / 3), m.vectorize(lambda x: (m.exp(x), m.asarray(x) > 0))(a / 3)
    dots = m.vectorize(lambda x, y: m.sum(x * y), signature="(n),(n)->()")
    yield dots(a, a), dots(m.stack([a, a]), a)
    yield m.vectorize(lambda x: (x[::-1], m.max(x)), signature="(n)->(n),()")(m.stack([a, a + 1]))

    @m.vectorize(otypes=[float], excluded=[1])
    def decorated(x, n):
        return x**n

    yield decorated(a, 2), decorated.excluded, m.vectorize(lambda *x: 5)()


@pytest.mark.parametrize("kind", ["line", "one", "whole"])
def test_vectorize(kind, xp, device):
    a = INPUTS[kind]()
    x = xp.asarray(a)
    got = list(vectorized(xp, x))
    assert all(type(result) is xp.ndarray and result.device == device for result in (*got[0], *got[1][0]))
    assert_same(host(xp, got), list(vectorized(np, a)), 1e-12)
    before = xp.counters()
    xp.vectorize(several, otypes="dd")(x, x)
    assert (xp.counters() - before)["bytes_to_host"] <= 2 * a.nbytes


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (TypeError, lambda xp: xp.vectorize(3)),
        (ValueError, lambda xp: xp.vectorize(abs, otypes="?!")),
        (ValueError, lambda xp: xp.vectorize(abs, otypes=3)),
        (ValueError, lambda xp: xp.vectorize(abs)(xp.ones(0))),
        (ValueError, lambda xp: xp.vectorize(several)(xp.ones(2), xp.ones(3))),
        (TypeError, lambda xp: xp.vectorize(abs, signature="(n),(n)->()")(xp.ones(2))),
        (TypeError, lambda xp: xp.vectorize(abs)(np.ones(2))),
        (TypeError, lambda xp: xp.vectorize(str)(xp.ones(2))),
        (ZeroDivisionError, lambda xp: xp.vectorize(lambda x: 1 / int(x))(xp.zeros(2))),
    ],
)
def test_vectorize_refuses(error, act, xp):
    with pytest.raises(error):
        act(xp)


LEFT_OUT = {
    "mean": "of var and std",
    "weights": "of percentile and quantile",
    "axis": "of trim_zeros",
    "ndmax": "of array",
    "kwargs": "of clip and pad: those of ufuncs",
    "subok": "there are no subclasses",
    "fix_imports": "of pickles",
}


def test_keywords_are_numpys(xp):
    """A keyword with a default that NumPy has, ours take, too, but for those that are left out for a reason."""
    lacking = []
    for prefix in ("", "linalg.", "fft."):
        numpys, ours = (getattr(m, prefix[:-1]) if prefix else m for m in (np, xp))
        for name in dir(numpys):
            theirs, mine = getattr(numpys, name), getattr(ours, name, None) if name in dir(ours) else None
            if name[0] == "_" or not inspect.isroutine(theirs) or mine is None or mine is theirs:
                continue
            try:
                wanted, got = inspect.signature(theirs).parameters, inspect.signature(mine).parameters
            except ValueError:  # a builtin function without a signature
                continue
            if any(p.kind == p.VAR_KEYWORD for p in got.values()):
                continue
            for p in wanted.values():
                optional = (
                    p.kind != p.POSITIONAL_ONLY and p.default is not p.empty and p.name not in {*LEFT_OUT, "like"}
                )
                if optional and (p.name not in got or got[p.name].kind == p.POSITIONAL_ONLY):
                    lacking.append(f"{prefix}{name}({p.name}=)")
    assert not lacking


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (ValueError, lambda xp, a: xp.clip(a, 0, a_min=1)),
        (ValueError, lambda xp, a: xp.linalg.eigh(a, UPLO="X")),
        (ValueError, lambda xp, a: xp.linalg.pinv(a, 0.1, rtol=0.1)),
        (ValueError, lambda xp, a: xp.linalg.matrix_rank(a, 0.1, rtol=0.1)),
        (TypeError, lambda xp, a: xp.concat([a, a], dtype=xp.int64)),
        (TypeError, lambda xp, a: xp.stack([a], dtype=xp.float32, casting="safe")),
        (ValueError, lambda xp, a: xp.polyfit(a[0], a[1], 1, cov=True)),
        (ValueError, lambda xp, a: xp.fft.fft(a, out=xp.empty((3, 3), dtype=complex))),
    ],
)
def test_keywords_refuse(error, act, xp):
    with pytest.raises(error):
        act(xp, xp.ones((2, 2)))


def test_every_function_has_a_case(xp):
    """Each name of a chapter stands in a case, or in a test of this file."""
    from nbx_array import _numpy_names

    tried = set(re.findall(r"(?:\bm|\bxp)\.(\w+)|^ +\(?\"(\w+)\",", Path(__file__).read_text(), re.MULTILINE))
    tried = {name for pair in tried for name in pair} | {name for name, _, _ in CASES}
    assert not set(_numpy_names.MODULES) - tried


# ------------------------------------------------------------------------------------------------------------- writing


def written(m, a):
    """Arrays after functions that write to them."""
    results = []

    def fresh():
        results.append(m.array(a))
        return results[-1]

    x = fresh()
    m.putmask(x, x > 1, m.array([7.0, 8.0, 9.0]))
    m.place(fresh(), a > 0, [5.0, 6.0])
    m.copyto(fresh(), 3.0, where=a < 0)
    m.put(fresh(), [0, -1, 3], [1.0, 2.0])
    m.put(fresh().T, [1, 2], [9.0])
    m.fill_diagonal(fresh(), 7.0)
    m.fill_diagonal(fresh().T, m.array([1.0, 2.0, 3.0]), wrap=True)
    m.put_along_axis(fresh(), m.array([[0], [1], [2], [3], [0]]), 99.0, 1)
    fresh().fill(2.5)
    fresh().sort(axis=0)
    fresh().T.sort()
    fresh().flat[3:9] = -1.0
    fresh().T.flat[[0, 4]] = m.array([10.0, 20.0])
    fresh().flat = [1.0, 2.0]
    m.nan_to_num(fresh(), copy=False)
    x = fresh()
    x[1:-1, 1:-1] += x[:-2, 1:-1]
    x[x > 2] *= 2
    x[:, 0], x[:, 1] = x[:, 1].copy(), x[:, 0].copy()
    return results


def test_writing(xp):
    a = grid("float64") / 4
    assert_same(host(xp, written(xp, xp.asarray(a))), written(np, a), 1e-12)
    z = np.array([1 + 2j, 3 - 4j])
    x = xp.asarray(z)
    x.real, x.imag = x.imag, 7
    assert x.tolist() == [2 + 7j, -4 + 7j]


# -------------------------------------------------------------------------------------------------------------- ufuncs


def ufuncs(m, a):
    out = m.zeros(a.shape)
    yield m.add(a, 1.0, out=out)
    yield out
    yield m.sqrt(m.abs(a), out)
    yield m.multiply(a, 2.0, where=a > 0, out=m.ones(a.shape))
    yield m.add([1, 2], [3, 4], dtype=m.float32)
    yield (
        m.maximum.reduce(a),
        m.add.reduce(a, axis=None),
        m.multiply.reduce(a, axis=1),
        m.logical_or.reduce(a > 1, axis=1),
    )
    yield (
        m.bitwise_xor.reduce([5, 3, 9]),
        m.bitwise_and.reduce([[7, 3], [6, 2]], axis=1),
        m.logical_xor.reduce([True, True, True]),
    )
    yield (
        m.fmax.reduce(a, axis=(0, 1)),
        m.hypot.reduce(a, axis=1),
        m.subtract.reduce(a),
        m.minimum.reduce(a, axis=1, keepdims=True),
    )
    yield m.add.reduce(a, axis=0, initial=10.0), m.maximum.reduce(a, axis=0, where=a < 3, initial=-9.0)
    yield (
        m.add.accumulate(a),
        m.maximum.accumulate(a, axis=1),
        m.multiply.accumulate(a[0]),
        m.subtract.accumulate(a, axis=1),
    )
    yield m.minimum.accumulate([3, 1, 2, 0, 5])
    yield (
        m.add.reduceat(m.arange(8.0), [0, 4, 1, 5, 2, 6, 3, 7]),
        m.maximum.reduceat(a, [0, 2, 3], axis=1),
        m.add.reduceat(m.arange(6), [5, 0]),
    )
    yield m.add.outer([1, 2], [3, 4, 5]), m.multiply.outer(a[0], a[:2])
    x = m.zeros(6)
    m.add.at(x, [0, 0, 3, -1], [1.0, 2.0, 3.0, 4.0])
    m.subtract.at(x, m.array([1, 1]), 2.0)
    m.multiply.at(x, slice(0, 2), 3.0)
    m.maximum.at(x, [4, 4, 5], [2.0, 7.0, 1.0])
    yield x
    y = m.array(a)
    m.add.at(y, (m.array([0, 1, 0]), m.array([2, 2, 2])), m.array([1.0, 10.0, 100.0]))
    m.add.at(y.T, 3, 1.0)
    m.add.at(y, a > 2, 0.5)
    yield y
    n = m.array([1, 2, 3])
    m.add.at(n, [0, 0], 5)
    yield n, m.add.nin, m.add.identity, m.exp.nin


def test_ufuncs(xp):
    a = grid("float64") / 4
    assert_same(host(xp, list(ufuncs(xp, xp.asarray(a)))), host(xp, list(ufuncs(np, a))), 1e-12)
    assert isinstance(xp.add, xp.ufunc)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64"])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("matmul", ((2, 3), (3, 2))),
        ("matmul", ((2, 3), (3,))),
        ("dot", ((2, 3), (3, 2))),
        ("dot", ((2, 2, 3), (3,))),
        ("matvec", ((2, 3), (3,))),
        ("vecmat", ((3,), (3, 2))),
        ("outer", ((3,), (2,))),
    ],
)
def test_products_go_where_out_says(name, shapes, dtype, xp):
    a, b = (np.arange(np.prod(s)).reshape(s).astype(dtype) for s in shapes)
    wanted = getattr(np, name)(a, b)
    out = xp.zeros(wanted.shape, dtype=dtype)
    assert getattr(xp, name)(xp.asarray(a), xp.asarray(b), out=out) is out
    assert_same(host(xp, out), wanted, 0)


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (TypeError, lambda xp: xp.equal.reduce([1, 2])),
        (TypeError, lambda xp: xp.divide.accumulate([1, 2], dtype=int)),
        (ValueError, lambda xp: xp.exp.reduce([1.0])),
        (ValueError, lambda xp: xp.maximum.reduce(xp.zeros(0))),
        (TypeError, lambda xp: xp.add.at([1, 2], [0], 1)),
        (IndexError, lambda xp: xp.add.at(xp.zeros(2), [2], 1)),
        (IndexError, lambda xp: xp.add.reduceat(xp.zeros(2), [2])),
        (TypeError, lambda xp: xp.add(1, 2, 3, 4)),
        (TypeError, lambda xp: xp.add([1], [2], out=3)),
        (ValueError, lambda xp: xp.add([1, 2], 1, out=xp.zeros(3))),
        (TypeError, lambda xp: xp.add(1.5, [1], out=xp.zeros(1, int))),
        (TypeError, lambda xp: xp.add([1], [2], where=[1])),
        (TypeError, lambda xp: xp.add(1)),
    ],
)
def test_ufuncs_refuse(error, act, xp):
    with pytest.raises(error):
        act(xp)


# ---------------------------------------------------------------------------------------------------- scalars, messages


def test_arrays_of_no_dimension_are_scalars(xp):
    """They hash, format, index and compare as numbers do."""
    x = xp.asarray([3, 1, 2])
    y = xp.asarray([0.5, 2.25])
    assert {x[0]: "a"}[3] == "a" and hash(y[1]) == hash(2.25)
    assert f"{y[1]:.1f} {x[0]:03d} {x[1]}" == "2.2 003 1"
    assert "abcd"[x[0]] == "d" and list(range(x[2])) == [0, 1]
    assert round(float(y[1]), 1) == 2.2 and int(y[1]) == 2 and bool(x[1])
    assert max(x) == 3 and sorted(y)[0] == 0.5 and sum(x) == 6
    assert "{:d} {:.2f}".format(*[x[0], y[0]]) == "3 0.50"
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


@pytest.mark.parametrize("name", ["frompyfunc", "nditer", "matrix", "ma", "char", "float", "busday_count"])
def test_names_left_out_say_what_to_use(name, xp):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; .*(use|call|write with|asnumpy)"):
        getattr(xp, name)


@pytest.mark.parametrize("name", ["ctypes", "data", "byteswap", "is_integer"])
def test_methods_left_out_say_what_to_use(name, xp):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; "):
        getattr(xp.ones(2), name)


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (ValueError, lambda xp: xp.split(xp.arange(5), 2)),
        (ValueError, lambda xp: xp.pad([1], 1, mode="no")),
        (ValueError, lambda xp: xp.pad([1], -1)),
        (ValueError, lambda xp: xp.percentile([1.0], 101)),
        (ValueError, lambda xp: xp.quantile([1.0], 0.5, method="no")),
        (TypeError, lambda xp: xp.median([1j])),
        (ValueError, lambda xp: xp.bincount([-1])),
        (TypeError, lambda xp: xp.bincount([1.5])),
        (ValueError, lambda xp: xp.histogram([xp.nan])),
        (ValueError, lambda xp: xp.histogram([1.0], bins=[2, 1])),
        (ZeroDivisionError, lambda xp: xp.average([1.0, 2.0], weights=[0, 0])),
        (ValueError, lambda xp: xp.nanargmax([xp.nan])),
        (ValueError, lambda xp: xp.unravel_index(6, (2, 3))),
        (ValueError, lambda xp: xp.ravel_multi_index(([2], [0]), (2, 3))),
        (IndexError, lambda xp: xp.delete(xp.arange(3), 3)),
        (IndexError, lambda xp: xp.insert(xp.arange(3), 4, 0)),
        (ValueError, lambda xp: xp.einsum("ij,jk", xp.ones((2, 3)), xp.ones((2, 3)))),
        (ValueError, lambda xp: xp.einsum("ij->k", xp.ones((2, 3)))),
        (ValueError, lambda xp: xp.interp(1, [], [])),
        (ValueError, lambda xp: xp.convolve([], [1])),
        (ValueError, lambda xp: xp.digitize([1], [1, 3, 2])),
        (ValueError, lambda xp: xp.choose([2], [[1], [2]])),
        (ValueError, lambda xp: xp.linalg.norm(xp.ones((2, 2)), "no")),
        (ValueError, lambda xp: xp.zeros(3).view(xp.complex128)),
        (ValueError, lambda xp: xp.zeros(3).setflags(write=False)),
        (ValueError, lambda xp: setattr(xp.zeros(3).flags, "writeable", False)),
        (ValueError, lambda xp: xp.lib.stride_tricks.as_strided(xp.zeros(3), (5,), (8,))),
        (TypeError, lambda xp: xp.zeros(2).astype(int, casting="safe")),
        (TypeError, lambda xp: xp.bitwise_count([1.5])),
        (TypeError, lambda xp: xp.i0([1j])),
        (TypeError, lambda xp: xp.packbits([1.5])),
        (ValueError, lambda xp: xp.packbits([1], bitorder="middle")),
        (np.exceptions.AxisError, lambda xp: xp.packbits(xp.asarray(True), axis=1)),
        (TypeError, lambda xp: xp.unpackbits([1])),
        (TypeError, lambda xp: xp.unpackbits(xp.zeros(1, xp.uint8), count=1.5)),
        (ValueError, lambda xp: xp.unpackbits(xp.zeros(1, xp.uint8), count=-9)),
        (ValueError, lambda xp: xp.matvec(xp.ones(3), xp.ones(3))),
        (ValueError, lambda xp: xp.matvec(xp.ones((2, 3)), xp.ones(2))),
        (ValueError, lambda xp: xp.vecmat(xp.ones(2), xp.ones(2))),
        (ValueError, lambda xp: xp.vecmat(xp.ones((5, 3)), xp.ones((4, 3, 2)))),
        (IndexError, lambda xp: xp.polydiv([], [1.0])),
        (ValueError, lambda xp: xp.polydiv([1.0, 2.0], [[1.0]])),
        (TypeError, lambda xp: xp.polyval(5, [1.0])),
        (ValueError, lambda xp: xp.polyder([1.0, 2.0], -1)),
        (TypeError, lambda xp: xp.copyto(xp.zeros(2, int), [1.5, 2])),
        (TypeError, lambda xp: xp.concatenate([xp.ones(2), np.ones(2)])),
    ],
)
def test_bad_input(error, act, xp):
    with pytest.raises(error):
        act(xp)


# --------------------------------------------------------------------------------------------------------------- files


def test_files(xp, tmp_path):
    a = grid("float32")
    xp.save(tmp_path / "a.npy", xp.asarray(a).T)
    assert xp.load(tmp_path / "a.npy").tolist() == a.T.tolist()
    assert np.load(tmp_path / "a.npy").tolist() == a.T.tolist()
    assert xp.load(tmp_path / "a.npy", allow_pickle=True).tolist() == a.T.tolist()
    np.save(tmp_path / "objects.npy", np.array([{}]))
    with pytest.raises(ValueError, match=r"load.*pickle.*numpy\.load"):
        xp.load(tmp_path / "objects.npy", allow_pickle=True)
    for save in (xp.savez, xp.savez_compressed):
        save(tmp_path / "b.npz", xp.asarray(a), second=[1, 2])
        with xp.load(tmp_path / "b.npz") as found:
            assert sorted(found) == sorted(found.files) == ["arr_0", "second"]
            assert found["arr_0"].dtype == "float32" and found["second"].tolist() == [1, 2]
    half = xp.asarray([1.5, -2.0], dtype=xp.bfloat16)
    for save in (xp.save, xp.savez, xp.savez_compressed):
        with pytest.raises(TypeError, match=rf"{save.__name__}: .*bfloat16; store x.view\(uint16\)"):
            save(tmp_path / "e", half)
    xp.save(tmp_path / "e.npy", half.view(xp.uint16))
    assert xp.all(xp.load(tmp_path / "e.npy").view(xp.bfloat16) == half)
    assert xp.load(tmp_path / "a.npy", mmap_mode="r").tolist() == a.T.tolist()
    with pytest.raises(ValueError, match=r"load: .*'r\+' is numpy.load's"):
        xp.load(tmp_path / "a.npy", mmap_mode="r+")
    buffer = io.BytesIO()
    xp.save(buffer, [1, 2, 3])
    buffer.seek(0)
    assert xp.load(buffer).tolist() == [1, 2, 3]
    xp.savetxt(tmp_path / "c.txt", xp.asarray(a[:2]))
    for unpacked in (xp.loadtxt(tmp_path / "c.txt", unpack=True), xp.genfromtxt(tmp_path / "c.txt", unpack=True)):
        assert unpacked.tolist() == a[:2].T.tolist()
    assert xp.loadtxt(tmp_path / "c.txt").tolist() == xp.genfromtxt(tmp_path / "c.txt").tolist() == a[:2].tolist()
    xp.asarray(a[:, 1]).tofile(tmp_path / "d.txt", sep=",", format="%.2f")
    assert xp.loadtxt(tmp_path / "d.txt", delimiter=",").tolist() == [round(float(v), 2) for v in a[:, 1]]
    xp.asarray(a).T.T.tofile(tmp_path / "d.bin")
    assert xp.fromfile(tmp_path / "d.bin", xp.float32).tolist() == a.ravel().tolist()
    assert "array(" in xp.array_repr(xp.ones(2))


def test_safetensors(xp, tmp_path):
    """The format: an 8-byte length, a JSON header, the bytes."""
    tensors = {"w": grid("float32"), "n": np.array(7, np.int64), "m": np.array([True, False])}
    names = {"float32": "F32", "int64": "I64", "bool": "BOOL"}
    header, body = {"__metadata__": {"by": "hand"}}, b""
    for name, a in tensors.items():
        header[name] = {
            "dtype": names[str(a.dtype)],
            "shape": a.shape,
            "data_offsets": [len(body), len(body) + a.nbytes],
        }
        body += a.tobytes()
    header["half"] = {"dtype": "BF16", "shape": [2], "data_offsets": [len(body), len(body) + 4]}
    body += np.array([0x3F80, 0xC000], "<u2").tobytes()
    text = json.dumps(header).encode()
    (tmp_path / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
    found = xp.load(tmp_path / "x.safetensors")
    assert list(found) == [*tensors, "half"]
    for name, a in tensors.items():
        assert found[name].dtype == a.dtype and found[name].tolist() == a.tolist()
    assert found["half"].astype(xp.float32).tolist() == [1.0, -2.0]


def test_einsum_takes_the_order_of_opt_einsum(xp, monkeypatch):
    """Where it is installed, its path is taken: here a stand-in whose path is the other way round."""
    import sys
    import types

    asked = []

    def contract_path(text, *shapes, shapes_given=True, **options):
        asked.append((text, shapes))
        return [(1, 2), (0, 1)], ""

    monkeypatch.setitem(sys.modules, "opt_einsum", types.SimpleNamespace(contract_path=contract_path))
    a, b, c = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))
    got = xp.einsum("ij,jk,kl->il", *(xp.asarray(x) for x in (a, b, c)))
    assert asked == [("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)))]
    assert got.tolist() == (a @ b @ c).tolist()


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_sums_at_the_edges_take_what_overlaps(function, mode, xp):
    """Infinities and NaN of either operand reach the sums that they are in, and no others."""
    line = [1.0, 2.0, 0.0, 4.0, -5.0, 6.0]
    for shorter in ([1.0, np.nan, 1.0], [np.inf, 1.0], [1.0, 1.0, 0.0, -np.inf], [np.nan, np.inf, 0.0], [2.0, 1.0]):
        for longer in (line, [*line, np.inf], [np.nan, *line], [-np.inf, *line, np.nan]):
            for a, b in ((longer, shorter), (shorter, longer), (longer, longer)):
                for dtype in (np.float64, np.float32):
                    x, y = np.array(a, dtype), np.array(b, dtype)
                    with np.errstate(invalid="ignore"):
                        got = getattr(xp, function)(xp.asarray(x), xp.asarray(y), mode)
                        wanted = getattr(np, function)(x, y, mode)
                    np.testing.assert_allclose(xp.asnumpy(got), wanted, rtol=1e-6)


TESTED = {
    "an element": lambda m, t: t.assert_equal(m.asarray([1, 2])[0], 1),
    "a sum": lambda m, t: t.assert_equal(3, m.sum(m.asarray([1, 2]))),
    "arrays": lambda m, t: t.assert_equal(m.ones(3), m.ones(3)),
    "nested": lambda m, t: t.assert_equal({"a": [m.ones(3), (m.ones(2), 1)]}, {"a": [m.ones(3), (m.ones(2), 1)]}),
    "a list": lambda m, t: t.assert_array_equal(m.ones(2), [1, 1], strict=False),
    "near": lambda m, t: t.assert_allclose(actual=m.ones(2), desired=1 + 1e-9),
    "fewer digits": lambda m, t: t.assert_approx_equal(m.ones(2)[0], 1.001, significant=3),
    "an error": lambda m, t: t.assert_raises(ValueError, m.reshape, m.ones(3), (2, 2)),
    "another element": lambda m, t: t.assert_equal(m.asarray([1, 2])[0], 2),
    "other arrays": lambda m, t: t.assert_equal(m.ones(3), m.zeros(3)),
    "no error": lambda m, t: t.assert_raises(ValueError, m.reshape, m.ones(4), (2, 2)),
    "another shape": lambda m, t: t.assert_equal([m.ones(3)], [m.ones(2)]),
    "not near": lambda m, t: t.assert_allclose(m.ones(2), 1.1),
}


@pytest.mark.parametrize("case", TESTED.values(), ids=TESTED)
def test_testing(case, xp):
    """NumPy's testing says of our arrays what it says of its own."""

    def outcome(m):
        try:
            return case(m, m.testing)
        except AssertionError as error:
            return str(error)

    assert outcome(xp) == outcome(np)
    with pytest.raises(AttributeError):
        _ = xp.testing.no_such_name


def test_dtypes_are_numpys_objects(xp):
    """Programs ask `x.dtype is ...`."""
    for x in (xp.asarray([1.5]), xp.asarray(np.ones(2)), xp.zeros(2, dtype="f8"), xp.ones(2) / 3, xp.asarray([1.5])[0]):
        assert x.dtype is np.dtype(np.float64)


IMPORTS = """
import {0} as np
import {0}.linalg as la
import {0}.typing as npt
from {0}.lib.stride_tricks import as_strided
from {0}.typing import ArrayLike, DTypeLike, NDArray
from {0} import *


def f(x: NDArray[np.float64], y: npt.NDArray[np.integer]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return as_strided(concatenate((x, arctan2(y, 1))), (2, 2), (8, 8))


windows = np.lib.stride_tricks.sliding_window_view([pi, e], 2)
result = f(linspace(0, 1, 3), array([1, 2])), la.norm(eye(2)), max([1, 2]), windows
"""


def test_imports(xp):
    """Modules and names as programs import them, annotations among them."""
    ours, numpys = {}, {}
    exec(IMPORTS.format("nbx_array"), ours)
    exec(IMPORTS.format("numpy"), numpys)
    for got, wanted in zip(ours["result"], numpys["result"], strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted)


BY_POSITION = {"i0", "imag", "real"}
"""Element-wise functions that are no ufuncs of NumPy's."""


def test_arguments_have_numpys_names(xp):
    """So that `sum(a=x)` and `linspace(start=0, stop=1)` are calls; ufuncs have their operands by position alone."""
    for module in ("", "linalg.", "fft."):
        for name, numpys in vars(getattr(np, module[:-1] or "linalg") if module else np).items():
            if name[0] == "_" or name in BY_POSITION or not inspect.isroutine(numpys):
                continue
            try:
                ours = operator.attrgetter(module + name)(xp)
                wanted, got = inspect.signature(numpys).parameters, inspect.signature(ours).parameters
            except (AttributeError, ValueError):
                continue
            if not inspect.isfunction(ours):
                continue
            for p in wanted.values():
                needed = p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
                found = got.get(p.name)
                there = found is not None and found.kind is not found.POSITIONAL_ONLY
                assert not needed or there, f"{module}{name}({p.name}=)"


def test_items_out_of_range(xp):
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    assert [x.item(n) for n in (0, 5, -1, -6)] == [1, 6, 6, 1]
    for n in (6, -7):
        with pytest.raises(IndexError, match="item: index"):
            x.item(n)
