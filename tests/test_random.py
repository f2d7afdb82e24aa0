"""Random numbers: the bits against a reference of Philox, the distributions by their fit, the interface as NumPy's."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from scipy import stats

import nbx_array as xp
from nbx_array import random

SEED = 20261130  # fixed: a test of fit fails one time in 10^5, and would for no reason
N = 20_000
WIDE = xp.__array_namespace_info__().default_dtypes()["real floating"]
needs_float64 = pytest.mark.skipif(np.float64 != WIDE, reason="the device has no float64")


def philox(key: int, counter: tuple[int, int, int, int]) -> tuple[int, ...]:
    """Philox4x32-10 with Python's integers."""
    a, b, c, d = counter
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        x, y = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = y >> 32 ^ b ^ k0, y & 0xFFFFFFFF, x >> 32 ^ d ^ k1, x & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return a, b, c, d


def test_reference():
    """The known answers that the authors publish."""
    assert philox(0, (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox(2**64 - 1, (ones,) * 4) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    assert philox(0x299F31D0_A4093822, pi) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


@pytest.mark.parametrize("position", [0, 5, 2**32 - 3, 2**40 + 7])
@pytest.mark.parametrize("seed", [0, 1, 2**64 + 1])
def test_bits(seed, position):
    rng = random.default_rng(seed)
    key = rng.bit_generator.state["key"]
    rng.bit_generator.state = {"bit_generator": "Philox", "key": key, "position": position}
    words = [philox(key, (i & 0xFFFFFFFF, i >> 32, 0, 0)) for i in range(position, position + 6)]
    narrow = np.asarray(rng.random(3, dtype=xp.float32))
    np.testing.assert_array_equal(narrow, np.asarray([(a >> 8) * 2.0**-24 for a, *_ in words[:3]], np.float32))
    whole = np.asarray(rng.integers(0, 2**64 - 1, 3, xp.uint64, endpoint=True))
    assert whole.tolist() == [a << 32 | b for a, b, *_ in words[3:]]
    if np.float64 == WIDE:
        rng.bit_generator.state = {"bit_generator": "Philox", "key": key, "position": position}
        wide = np.asarray(rng.random(3))
        np.testing.assert_array_equal(wide, [((a << 32 | b) >> 11) * 2.0**-53 for a, b, *_ in words[:3]])


CONTINUOUS: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
    "random": [((), stats.uniform())],
    "uniform": [((-2, 3), stats.uniform(-2, 5))],
    "standard_normal": [((), stats.norm())],
    "normal": [((-2, 3), stats.norm(-2, 3))],
    "lognormal": [((0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5)))],
    "standard_cauchy": [((), stats.cauchy())],
    "chisquare": [((3.5,), stats.chi2(3.5))],
    "noncentral_chisquare": [((3, 2.5), stats.ncx2(3, 2.5))],
    "f": [((3, 7), stats.f(3, 7))],
    "noncentral_f": [((3, 7, 2.0), stats.ncf(3, 7, 2.0))],
    "standard_t": [((4,), stats.t(4))],
    "wald": [((1.5, 2.0), stats.invgauss(0.75, scale=2.0))],
    "standard_exponential": [((), stats.expon())],
    "exponential": [((2.0,), stats.expon(scale=2.0))],
    "standard_gamma": [((a,), stats.gamma(a)) for a in (0.1, 0.9, 1.0, 3.5, 1000.0)],
    "gamma": [((2.5, 3.0), stats.gamma(2.5, scale=3.0))],
    "beta": [((0.5, 2.0), stats.beta(0.5, 2.0))],
    "weibull": [((1.7,), stats.weibull_min(1.7))],
    "pareto": [((3.0,), stats.lomax(3.0))],
    "power": [((3.0,), stats.powerlaw(3.0))],
    "rayleigh": [((2.0,), stats.rayleigh(scale=2.0))],
    "laplace": [((1, 2), stats.laplace(1, 2))],
    "logistic": [((1, 2), stats.logistic(1, 2))],
    "gumbel": [((1, 2), stats.gumbel_r(1, 2))],
    "triangular": [((-1, 0, 3), stats.triang(0.25, -1, 4))],
    "vonmises": [
        *(((0.0, k), stats.vonmises(k)) for k in (1e-9, 1e-3, 0.3, 1.0, 4.0, 50.0, 700.0)),
        *(((0.0, k), stats.norm(scale=k**-0.5)) for k in (1e7, 1e13)),
    ],
}
DISCRETE: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
    "poisson": [((m,), stats.poisson(m)) for m in (0.3, 5.0, 9.9, 10.0, 50.0, 1e4)],
    "binomial": [
        ((n, p), stats.binom(n, p))
        for n, p in ((1, 0.5), (10, 0.3), (100, 0.05), (100, 0.5), (1000, 0.9), (10**6, 0.3))
    ],
    "negative_binomial": [((3, 0.4), stats.nbinom(3, 0.4))],
    "geometric": [((0.3,), stats.geom(0.3)), ((1.0,), stats.geom(1.0))],
    "logseries": [((0.8,), stats.logser(0.8))],
    "zipf": [((2.5,), stats.zipf(2.5))],
    "hypergeometric": [
        ((good, bad, drawn), stats.hypergeom(good + bad, good, drawn))
        for good, bad, drawn in (
            *((3, 4, 5), (0, 5, 3), (5, 0, 3), (7, 8, 0), (7, 8, 15), (20, 10, 8), (10, 200, 150), (5, 10**6, 500_000)),
            *((60, 50, 40), (50, 600, 500), (600, 50, 500), (10**4, 10**4, 5000), (10**6, 3 * 10**6, 10**5)),
        )
    ],
    "integers": [((-5, 9), stats.randint(-5, 9)), ((7,), stats.randint(0, 7))],
}
OTHERS = {
    "multivariate_normal",
    "multivariate_hypergeometric",
    "dirichlet",
    "multinomial",
    "permutation",
    "permuted",
    "shuffle",
    "choice",
    "bytes",
}


def cases(table):
    return [pytest.param(name, *case, id=f"{name}{case[0]}") for name, rows in table.items() for case in rows]


def test_every_distribution_has_a_test():
    methods = {name for name in vars(random.Generator) if not name.startswith("_")}
    assert methods == {*CONTINUOUS, *DISCRETE, *OTHERS, "spawn"}


@pytest.mark.parametrize("name, parameters, reference", cases(CONTINUOUS))
def test_fit(name, parameters, reference):
    drawn = getattr(random.default_rng(SEED), name)(*parameters, size=N)
    assert drawn.shape == (N,) and drawn.dtype == WIDE
    x = np.asarray(drawn, np.float64)
    assert stats.kstest(x, reference.cdf).pvalue > 1e-5
    assert len(np.unique(x)) > 0.9 * N or np.float32 == WIDE


@pytest.mark.parametrize("name, parameters, reference", cases(DISCRETE))
def test_fit_of_whole_numbers(name, parameters, reference):
    drawn = getattr(random.default_rng(SEED), name)(*parameters, size=N)
    assert drawn.shape == (N,) and drawn.dtype == np.int64
    x = np.asarray(drawn)
    # cells of about N/50, the probability of each from the distribution function
    edges = np.unique(reference.ppf(np.linspace(0, 1, 51)[1:-1]))
    cells = np.searchsorted(edges, x, side="left")
    expected = np.diff([0.0, *reference.cdf(edges), 1.0]) * N
    enough = expected > 5
    observed = np.bincount(cells, minlength=len(expected))
    assert observed[expected < 1e-9].sum() == 0
    if enough.sum() > 1:
        assert (
            stats.chisquare(observed[enough], expected[enough] * observed[enough].sum() / expected[enough].sum()).pvalue
            > 1e-5
        )


@pytest.mark.parametrize(
    "dtype", [xp.int8, xp.uint8, xp.int16, xp.uint16, xp.int32, xp.uint32, xp.int64, xp.uint64, bool]
)
def test_integers_of_every_dtype(dtype):
    rng = random.default_rng(SEED)
    low, high = (0, 1) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = np.asarray(rng.integers(low, high, 3000, dtype, endpoint=True))
    assert x.dtype == np.dtype(dtype)
    places = (x.astype(np.float64) - low) / (float(high) - low)
    assert abs(places.mean() - 0.5) < 0.05 and places.min() < 0.05 and places.max() > 0.95
    assert np.asarray(rng.integers(high, high, 5, dtype, endpoint=True)).tolist() == [high] * 5


def test_the_same_numbers_whatever_the_calls_shape():
    for draw in (lambda r, s: r.random(s), lambda r, s: r.standard_gamma(0.5, s), lambda r, s: r.integers(0, 1000, s)):
        whole = np.asarray(draw(random.default_rng(3), (5000,)))
        again = random.default_rng(3)
        parts = [np.asarray(draw(again, n)).ravel() for n in (1, (2, 3), (), 0, 4992)]
        np.testing.assert_array_equal(whole, np.concatenate(parts))
    different = np.asarray(random.default_rng(4).random(5000))
    assert not np.any(different == np.asarray(random.default_rng(3).random(5000)))


def test_parameters_that_are_arrays():
    rng = random.default_rng(SEED)
    lam = xp.asarray([0.5, 100.0])
    x = np.asarray(rng.poisson(lam, (4000, 2)))
    assert abs(x[:, 0].mean() - 0.5) < 0.1 and abs(x[:, 1].mean() - 100) < 1
    assert rng.poisson(lam[::-1]).shape == (2,) and rng.normal(lam[:, None], [1.0, 2.0, 3.0]).shape == (2, 3)
    x = np.asarray(rng.integers([0, 100], [[110], [200]], endpoint=True))
    assert x.shape == (2, 2) and 0 <= x[0, 0] <= 110 and 100 <= x[1, 1] <= 200
    transposed = xp.broadcast_to(xp.asarray([[1.0], [50.0], [2000.0]]), (3, 1000)).T
    means = np.asarray(xp.mean(xp.astype(rng.binomial(4000, transposed / 4000), WIDE), axis=0))
    np.testing.assert_allclose(means, [1, 50, 2000], rtol=0.2)


def test_vectors():
    rng = random.default_rng(SEED)
    cov = [[2.0, 0.5], [0.5, 1.0]]
    for method in ("svd", "eigh", "cholesky"):
        x = np.asarray(rng.multivariate_normal([1.0, -2.0], cov, 20_000, method=method), np.float64)
        np.testing.assert_allclose(x.mean(0), [1, -2], atol=0.05)
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)
    assert rng.multivariate_normal([0.0], [[1.0]]).shape == (1,)
    x = np.asarray(rng.dirichlet([1.0, 2.0, 3.0], 5000))
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(x.mean(0), [1 / 6, 1 / 3, 1 / 2], atol=0.02)
    x = np.asarray(rng.multinomial(100, [0.2, 0.3, 0.5], 2000))
    assert x.shape == (2000, 3) and (x.sum(-1) == 100).all() and (x >= 0).all()
    np.testing.assert_allclose(x.mean(0), [20, 30, 50], atol=0.6)
    assert np.asarray(rng.multinomial([1, 7], [1.0, 0.0])).tolist() == [[1, 0], [7, 0]]


def test_colors_drawn_without_putting_back():
    rng = random.default_rng(SEED)
    colors = [30, 0, 500, 7]
    for method in ("marginals", "count"):
        x = np.asarray(rng.multivariate_hypergeometric(colors, 60, (50, 100), method=method))
        assert x.shape == (50, 100, 4) and (x.sum(-1) == 60).all() and (x >= 0).all() and (x <= colors).all()
        x = x.reshape(-1, 4)
        reference = stats.multivariate_hypergeom(colors, 60)
        np.testing.assert_allclose(x.mean(0), reference.mean(), atol=0.1)
        np.testing.assert_allclose(np.cov(x.T), reference.cov(), atol=0.2)
    assert np.asarray(rng.multivariate_hypergeometric(xp.asarray([2, 3]), 5)).tolist() == [2, 3]
    assert rng.multivariate_hypergeometric([], 0, 3).shape == (3, 0)
    assert np.asarray(rng.multivariate_hypergeometric([4], 3, 2)).tolist() == [[3], [3]]


def test_angles_about_a_mean():
    """They lie in [-pi, pi] wherever the mean is; NaN has NaN, and infinite concentration the mean."""
    rng = random.default_rng(SEED)
    mu = np.asarray([[0.0], [3.0], [-3.0], [10.0]])
    x = np.asarray(rng.vonmises(xp.asarray(mu), 2.0, (4, 5000)), np.float64)
    assert (np.abs(x) <= np.pi).all()
    assert np.ptp(x[1]) > 6  # on both sides of pi
    for row, mean in zip(x, mu.ravel(), strict=True):
        assert stats.kstest(np.angle(np.exp(1j * (row - mean))), stats.vonmises(2.0).cdf).pvalue > 1e-5
    x = np.asarray(rng.vonmises([0.5, np.nan, 0.5, 7.0], [np.nan, 1.0, np.inf, np.inf]))
    assert np.isnan(x[:2]).all()
    np.testing.assert_allclose(x[2:], [0.5, 7.0 - 2 * np.pi], rtol=1e-5)


def test_numbers_of_parameters_that_are_arrays():
    """Each element has its own algorithm, and the same number in an array as alone."""
    good, drawn = np.asarray([3, 500, 10**6]), np.asarray([[2], [400]])
    whole = np.asarray(random.default_rng(2).hypergeometric(good, 800, drawn))
    one = random.default_rng(2)
    each = [[int(one.hypergeometric(g, 800, int(d))) for g in good.tolist()] for d in drawn[:, 0]]
    assert whole.tolist() == each


def test_names_that_numpy_has():
    """All methods and functions of NumPy's but what belongs to its own bit generators."""
    missing = {name for name in dir(np.random.Generator) if name[0] != "_"} - set(dir(random.Generator))
    assert missing == {"bit_generator"} and hasattr(random.default_rng(0), "bit_generator")
    assert {name for name in dir(np.random.RandomState) if name[0] != "_"} <= set(dir(random.RandomState))
    missing = {name for name in dir(np.random) if name[0] != "_"} - set(dir(random))
    bits = {"BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "SFC64", "bit_generator", "get_bit_generator"}
    assert missing <= {*bits, "set_bit_generator", "mtrand", "test"}
    for name in missing & bits:
        with pytest.raises(AttributeError, match=f"{name}.*Philox"):
            getattr(random, name)


def test_older_whole_numbers():
    rng = random.RandomState(SEED)
    assert set(np.asarray(rng.random_integers(3, size=200)).tolist()) == {1, 2, 3}
    assert set(np.asarray(rng.random_integers(-1, 1, (20, 10))).ravel().tolist()) == {-1, 0, 1}
    x = np.asarray(rng.tomaxint(1000))
    assert x.min() >= 0 and x.max() > 2**62 and x.dtype == np.int64


def test_order_of_a_list():
    rng = random.default_rng(SEED)
    names = list("abcdefgh")
    rng.shuffle(names)
    assert sorted(names) == list("abcdefgh") and names != list("abcdefgh")
    with pytest.raises(NotImplementedError, match="shuffle"):
        rng.shuffle(names, axis=1)


def test_order():
    rng = random.default_rng(SEED)
    assert sorted(np.asarray(rng.permutation(1001)).tolist()) == list(range(1001))
    x = xp.reshape(xp.arange(12), (4, 3))
    rows = np.asarray(rng.permutation(x))
    assert sorted(map(tuple, rows.tolist())) == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    columns = np.asarray(rng.permutation(x, axis=1))
    assert sorted(columns[0].tolist()) == [0, 1, 2] and (np.diff(columns, axis=0) == 3).all()
    each = np.asarray(rng.permuted(xp.broadcast_to(xp.arange(50), (20, 50)), axis=1))
    assert (np.sort(each, axis=1) == np.arange(50)).all() and len({tuple(row) for row in each}) == 20
    y = xp.arange(100)
    view = y[::2]
    rng.shuffle(view)
    assert sorted(np.asarray(y)[::2].tolist()) == list(range(0, 100, 2))
    assert (np.asarray(y)[1::2] == np.arange(1, 100, 2)).all()
    orders = np.asarray([np.asarray(rng.permutation(3)) for _ in range(600)])
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-5


def test_choice():
    rng = random.default_rng(SEED)
    p = [0.1, 0.0, 0.2, 0.3, 0.4]
    x = np.asarray(rng.choice(5, 20_000, p=p))
    observed = np.bincount(x, minlength=5)
    assert (
        observed[1] == 0
        and stats.chisquare(observed[[0, 2, 3, 4]], np.asarray([0.1, 0.2, 0.3, 0.4]) * 20_000).pvalue > 1e-5
    )
    assert len(set(np.asarray(rng.choice(100, 50, replace=False)).tolist())) == 50
    assert sorted(np.asarray(rng.choice(5, 4, replace=False, p=p)).tolist()) == [0, 2, 3, 4]
    table = xp.reshape(xp.arange(6), (2, 3))
    assert rng.choice(table, (4, 5), axis=1).shape == (2, 4, 5) and rng.choice(table).shape == (3,)
    assert rng.choice([1.5, 2.5]).shape == () and float(rng.choice([7.0])) == 7
    for bad in (
        {"a": 0},
        {"a": 3, "size": 4, "replace": False},
        {"a": 2, "p": [0.5, 0.6]},
        {"a": 2, "p": [1.0]},
        {"a": 2, "p": [-1, 2]},
    ):
        with pytest.raises(ValueError, match="choice"):
            rng.choice(**bad)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("normal", (0, -1)),
        ("gamma", (-1,)),
        ("beta", (0, 1)),
        ("poisson", (-1,)),
        ("poisson", (np.nan,)),
        ("poisson", ([1.0, -1.0],)),
        ("binomial", (-1, 0.5)),
        ("binomial", (5, 1.5)),
        ("geometric", (0.0,)),
        ("zipf", (1.0,)),
        ("triangular", (1, 0, 2)),
        ("dirichlet", ([1.0, -1.0],)),
        ("multinomial", (3, [0.7, 0.6, 0.1])),
        ("integers", (3, 3)),
        ("integers", (0, 2**63 + 1)),
        ("exponential", (-1.0,)),
        ("vonmises", (0.0, -1.0)),
        ("vonmises", (0.0, [1.0, -1.0])),
        ("hypergeometric", (-1, 2, 1)),
        ("hypergeometric", (5, -2, 1)),
        ("hypergeometric", (5, 5, -1)),
        ("hypergeometric", (5, 5, 11)),
        ("hypergeometric", ([5, 6], 5, [10, 12])),
        ("hypergeometric", (10**9, 5, 2)),
        ("hypergeometric", (np.nan, 5, 2)),
        ("multivariate_hypergeometric", ([3, 4], 8)),
        ("multivariate_hypergeometric", ([3, -4], 1)),
        ("multivariate_hypergeometric", ([3, 4], -1)),
        ("multivariate_hypergeometric", ([3.5, 4.0], 1)),
        ("multivariate_hypergeometric", ([[3, 4]], 1)),
        ("multivariate_hypergeometric", (5, 1)),
        ("multivariate_hypergeometric", ([3, 4], 2.5)),
        ("multivariate_hypergeometric", ([10**9, 4], 2)),
        ("multivariate_hypergeometric", ([3, 4], 2, None, "urn")),
        ("standard_t", (0,)),
        ("chisquare", (0,)),
    ],
)
def test_parameters_outside_their_domain(name, parameters):
    rng = random.default_rng(SEED)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=name):
        getattr(rng, name)(*parameters)
    assert rng.bit_generator.state == before
    with pytest.raises(ValueError):
        getattr(np.random.default_rng(0), name)(*parameters)


def test_bad_arguments():
    rng = random.default_rng(SEED)
    for call, error in (
        (lambda: rng.normal("a"), TypeError),
        (lambda: rng.normal(size=2.5), TypeError),
        (lambda: rng.normal(size=(2, -1)), ValueError),
        (lambda: rng.normal(xp.ones(3), size=(2,)), ValueError),
        (lambda: rng.random(dtype=xp.int32), TypeError),
        (lambda: rng.integers(0.5, 2), TypeError),
        (lambda: rng.integers(0, 2, dtype=xp.float32), TypeError),
        (lambda: rng.shuffle((1, 2)), TypeError),
        (lambda: random.default_rng("seed"), TypeError),
        (lambda: random.default_rng(-1), ValueError),
    ):
        with pytest.raises(error):
            call()


def test_scalars_and_empty_shapes():
    rng = random.default_rng(SEED)
    assert rng.random().shape == () and rng.integers(5).shape == () and rng.poisson(3.0).shape == ()
    for shape in (0, (0, 3), (2, 0)):
        assert rng.standard_normal(shape).size == 0 and rng.binomial(5, 0.5, shape).size == 0


def test_state_pickling_and_children():
    rng = random.default_rng(SEED)
    rng.random(10)
    state, twin = rng.bit_generator.state, pickle.loads(pickle.dumps(rng))
    first = np.asarray(rng.random(5))
    np.testing.assert_array_equal(np.asarray(twin.random(5)), first)
    rng.bit_generator.state = state
    np.testing.assert_array_equal(np.asarray(rng.random(5)), first)
    children = rng.spawn(2)
    assert not np.any(np.asarray(children[0].random(5)) == np.asarray(children[1].random(5)))
    assert random.default_rng(rng) is rng


def test_the_functions_of_the_module():
    random.seed(5)
    a, b = np.asarray(random.rand(2, 3)), np.asarray(random.randn(4))
    state = random.get_state()
    c = np.asarray(random.randint(0, 10, 5))
    random.set_state(state)
    assert (np.asarray(random.randint(0, 10, 5)) == c).all()
    random.seed(5)
    assert (np.asarray(random.rand(2, 3)) == a).all() and (np.asarray(random.randn(4)) == b).all()
    assert random.rand().shape == () and random.random_sample((2,)).shape == (2,)
    assert set(random.__all__) <= set(dir(random))
    assert (
        np.asarray(random.RandomState(9).uniform(size=3)) == np.asarray(random.default_rng(9).uniform(size=3))
    ).all()


def test_threads_share_a_generator():
    rng = random.default_rng(SEED)
    parts: list[np.ndarray] = []

    def draw():
        for _ in range(50):
            parts.append(np.asarray(rng.random(7, dtype=xp.float32)))

    workers = [threading.Thread(target=draw) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    together = np.sort(np.concatenate(parts))
    np.testing.assert_array_equal(
        together, np.sort(np.asarray(random.default_rng(SEED).random(1400, dtype=xp.float32)))
    )
