"""Factorisations by their backward error, by NumPy's routines and by our kernels, and what is made of them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from nbx_array.backend.ahead import absent_device, parse_target
from nbx_array.backend.launcher import launch_count
from nbx_array.kernels.linalg import panels
from nbx_array.kernels.matmul import on_host
from nbx_array.memory import View, wrap

from nbx_array import _factorisations, _spectra

DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [(n, dtype) for n in (1, 2, 3, 5, 17, 65) for dtype in DTYPES] + [(130, "float64"), (130, "complex64")]
SHAPES = [(1, 1), (5, 3), (3, 5), (17, 17), (65, 33), (33, 70), (2, 3, 4, 4), (7, 3, 3)]


@pytest.fixture(params=["default", "kernels"])
def la(request, xp, monkeypatch):
    """xp.linalg as it comes and, on the CPU, with NumPy's routines off."""
    if request.param == "kernels":
        monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    return xp.linalg


def noise(rng, dtype, shape):
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def orthonormal(rng, dtype, n):
    return np.linalg.qr(noise(rng, np.result_type(dtype, np.float64), (n, n)))[0]


def with_spectrum(rng, dtype, spectrum, hermitian=False):
    """A matrix of given singular values, or of given eigenvalues."""
    u = orthonormal(rng, dtype, len(spectrum))
    v = u if hermitian else orthonormal(rng, dtype, len(spectrum))
    return ((u * spectrum) @ v.conj().T).astype(dtype)


def spectra(n, eps):
    """Spectra that are hard: ill-conditioned to 1/eps, deficient, graded, clustered, all equal."""
    steps = np.arange(n) / max(n - 1, 1)
    yield "graded", eps**steps
    yield "rank-deficient", np.where(np.arange(n) < (n + 1) // 2, 1.0, 0.0)
    yield "clustered", 1 + eps * 10 * np.arange(n)
    yield "one small", np.where(np.arange(n) < n - 1, 1.0, eps)
    yield "tiny", 1e-30 * (1 + steps)
    yield "large", 1e30 * (1 + steps)


def wide(x):
    return np.asarray(x).astype(np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64)


def norm(x):
    """The 2-norm of the worst matrix of a stack's error, or of the matrix."""
    return np.linalg.norm(wide(x), 2, axis=(-2, -1)) if 0 not in x.shape else np.zeros(x.shape[:-2])


def eps_of(x):
    return float(np.finfo(x.dtype).eps)


def adjoint(x):
    return np.swapaxes(wide(x), -1, -2).conj()


def assert_orthonormal(q):
    """The columns."""
    n = max(q.shape[-2:])
    assert np.all(norm(adjoint(q) @ wide(q) - np.eye(q.shape[-1])) <= 50 * n * eps_of(q))


def assert_product(x, *factors):
    product = wide(factors[0])
    for factor in factors[1:]:
        product = product @ wide(factor)
    assert np.all(norm(wide(x) - product) <= 50 * max(x.shape[-2:]) * eps_of(x) * norm(x))


def check_svd(xp, la, host):
    m, n = host.shape[-2:]
    k = min(m, n)
    for full in (True, False):
        u, s, vh = (np.asarray(part) for part in la.svd(xp.asarray(host), full_matrices=full))
        assert u.shape == (*host.shape[:-1], m if full else k) and vh.shape == (*host.shape[:-2], n if full else k, n)
        assert s.shape == (*host.shape[:-2], k) and s.dtype == host.real.dtype and u.dtype == vh.dtype == host.dtype
        assert_orthonormal(u)
        assert_orthonormal(np.swapaxes(vh.conj(), -1, -2))
        assert np.all(s >= 0) and np.all(np.diff(s, axis=-1) <= 0)
        assert_product(host, u[..., :k] * s[..., None, :], vh[..., :k, :])
    values = np.asarray(la.svdvals(xp.asarray(host)))
    assert np.all(np.abs(values - s) <= 50 * max(m, n) * eps_of(s) * s[..., :1])


def check_eigh(xp, la, host):
    n = host.shape[-1]
    w, v = (np.asarray(part) for part in la.eigh(xp.asarray(host)))
    assert w.shape == host.shape[:-1] and v.shape == host.shape
    assert w.dtype == host.real.dtype and v.dtype == host.dtype
    strict = np.tril(host, -1)
    full = strict + np.swapaxes(strict, -1, -2).conj() + np.tril(np.triu(host)).real
    assert_orthonormal(v)
    assert np.all(np.diff(w, axis=-1) >= 0)
    assert np.all(norm(wide(full) @ wide(v) - wide(v) * w[..., None, :]) <= 50 * n * eps_of(w) * norm(full))
    values = np.asarray(la.eigvalsh(xp.asarray(host)))
    assert np.all(np.abs(values - w) <= 50 * n * eps_of(w) * norm(full)[..., None])


def check_qr(xp, la, host):
    m, n = host.shape[-2:]
    k = min(m, n)
    for mode, rows in (("reduced", k), ("complete", m)):
        q, r = (np.asarray(part) for part in la.qr(xp.asarray(host), mode=mode))
        assert q.shape == (*host.shape[:-1], rows) and r.shape == (*host.shape[:-2], rows, n)
        assert q.dtype == r.dtype == host.dtype
        assert_orthonormal(q)
        assert not np.any(np.tril(r, -1))
        assert_product(host, q, r)


def check_solve(xp, la, a, b):
    x = np.asarray(la.solve(xp.asarray(a), xp.asarray(b)))
    assert x.dtype == a.dtype
    columns = (b[:, None], x[..., None]) if b.ndim == 1 else (b, x)
    right, x = (wide(part) for part in columns)
    n = a.shape[-1]
    error = norm(wide(a) @ x - right)
    assert np.all(error <= 50 * n * eps_of(a) * (norm(a) * norm(x) + norm(right)))


@pytest.mark.parametrize(("n", "dtype"), SIZES)
def test_square_matrices(la, xp, rng, n, dtype):
    host = noise(rng, dtype, (n, n))
    positive = (wide(host) @ adjoint(host) + n * np.eye(n)).astype(dtype)
    lower = np.asarray(la.cholesky(xp.asarray(positive)))
    assert lower.dtype == dtype and not np.any(np.triu(lower, 1)) and np.all(np.diagonal(lower).real > 0)
    assert_product(positive, lower, adjoint(lower))
    np.testing.assert_array_equal(np.asarray(la.cholesky(xp.asarray(positive), upper=True)), lower.conj().T)
    check_solve(xp, la, host, noise(rng, dtype, n))
    check_solve(xp, la, host, noise(rng, dtype, (n, 3)))
    inverse = np.asarray(la.inv(xp.asarray(host)))
    error = norm(wide(host) @ wide(inverse) - np.eye(n))
    assert inverse.dtype == dtype and error <= 50 * n * eps_of(host) * norm(host) * norm(inverse)
    sign, logarithm = np.linalg.slogdet(wide(host))
    got = la.slogdet(xp.asarray(host))
    slack = 50 * n * eps_of(host) * np.linalg.cond(wide(host))
    assert got.sign.dtype == dtype and got.logabsdet.dtype == host.real.dtype
    assert abs(np.asarray(got.sign) - sign) <= slack and abs(np.asarray(got.logabsdet) - logarithm) <= slack * n
    if n < 20:
        determinant = np.linalg.det(wide(host))
        assert abs(np.asarray(la.det(xp.asarray(host))) - determinant) <= slack * n * abs(determinant)
    check_qr(xp, la, host)
    check_svd(xp, la, host)
    check_eigh(xp, la, host)


@pytest.mark.parametrize(("n", "dtype"), [(3, "float32"), (3, "complex128"), (17, "complex64"), (65, "float32")])
def test_hard_spectra(la, xp, rng, n, dtype):
    for _, spectrum in spectra(n, float(np.finfo(dtype).eps)):
        host = with_spectrum(rng, dtype, spectrum)
        check_svd(xp, la, host)
        check_qr(xp, la, host)
        signs = rng.choice([-1, 1], size=n)
        check_eigh(xp, la, with_spectrum(rng, dtype, spectrum * signs, hermitian=True))
        check_solve_or_singular(xp, la, host, noise(rng, dtype, (n, 2)))
        check_cholesky(xp, la, host)
        assert int(la.matrix_rank(xp.asarray(host), rtol=1e-3)) == np.linalg.matrix_rank(host, rtol=1e-3)


def hard_matrices(rng, dtype, n):
    """Matrices whose rows or columns differ by 1/eps, that look harmless to a factorisation, or that have no rank."""
    scales = float(np.finfo(dtype).eps) ** (np.arange(n) / max(n - 1, 1))
    i = np.arange(1.0, n + 1)
    yield "graded rows", (noise(rng, dtype, (n, n)) * scales[:, None]).astype(dtype)
    yield "graded columns", (noise(rng, dtype, (n, n)) * scales[::-1]).astype(dtype)
    yield "Hilbert", (1 / (i[:, None] + i - 1)).astype(dtype)
    yield "Kahan", (0.9 ** i[:, None] * (np.eye(n) - 0.43 * np.triu(np.ones((n, n)), 1))).astype(dtype)
    yield "two clusters", with_spectrum(rng, dtype, np.where(np.arange(n) % 2, 1.0, 1e-3))
    yield "zeros", np.zeros((n, n), dtype)


def check_solve_or_singular(xp, la, host, b):
    """The backward error; LinAlgError only of a matrix that rounding errors can make singular."""
    try:
        check_solve(xp, la, host, b)
    except np.linalg.LinAlgError:
        s = np.linalg.svd(wide(host), compute_uv=False)
        assert s[-1] <= len(s) * eps_of(host) * s[0]


def check_cholesky(xp, la, host):
    """Of a matrix whose condition is about 1 / (4 n eps), as bad as one that is positive definite may be."""
    n = host.shape[-1]
    unit = wide(host) / max(norm(host), 1e-30)
    positive = (unit @ adjoint(unit) + 4 * n * eps_of(host) * np.eye(n)).astype(host.dtype)
    lower = np.asarray(la.cholesky(xp.asarray(positive)))
    assert_product(positive, lower, adjoint(lower))


@pytest.mark.parametrize(("n", "dtype"), [(5, "float64"), (33, "float32"), (33, "complex128"), (70, "float32")])
def test_hard_matrices(la, xp, rng, n, dtype):
    for _, host in hard_matrices(rng, dtype, n):
        check_svd(xp, la, host)
        check_qr(xp, la, host)
        check_eigh(xp, la, (host + host.conj().T) / 2)
        check_solve_or_singular(xp, la, host, noise(rng, dtype, (n, 2)))
        check_cholesky(xp, la, host)


@pytest.mark.slow
@pytest.mark.parametrize("n", [257, 511, 1025])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["solve", "qr", "cholesky", "svd", "eigh"])
def test_large_matrices(la, xp, rng, n, dtype, name):
    eps = float(np.finfo(dtype).eps)
    spectrum = dict(spectra(n, eps))["graded"]
    for host in (noise(rng, dtype, (n, n)), with_spectrum(rng, dtype, spectrum)):
        match name:
            case "solve":
                check_solve(xp, la, host, noise(rng, dtype, (n, 3)))
            case "qr":
                check_qr(xp, la, host)
            case "cholesky":
                check_cholesky(xp, la, host)
            case "svd":
                check_svd(xp, la, host)
            case "eigh":
                check_eigh(xp, la, (host + host.conj().T) / 2)


@pytest.mark.parametrize(("n", "dtype"), [(33, "float64"), (63, "complex64"), (64, "float32"), (64, "complex128")])
def test_eigenvectors_of_small_matrices(xp, rng, monkeypatch, n, dtype):
    """By the kernel that does the whole of it: sizes about a power of two, in stacks, from strided memory, of which the
    other triangle is not read."""
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    la, eps = xp.linalg, float(np.finfo(dtype).eps)
    hosts = [with_spectrum(rng, dtype, s * rng.choice([-1, 1], size=n), hermitian=True) for _, s in spectra(n, eps)]
    hosts += [(host + host.conj().T) / 2 for _, host in hard_matrices(rng, dtype, n)]
    check_eigh(xp, la, np.stack(hosts))
    host = noise(rng, dtype, (2, 3, n, n))
    upper = np.triu(np.ones((n, n), bool), 1)
    x = xp.asarray(np.where(upper, np.nan, host))
    values = np.linalg.eigvalsh(wide(host))
    for a, triangle in ((x, "L"), (xp.flip(xp.flip(x, axis=0), axis=1)[::-1, ::-1], "L"), (xp.conj(x.mT), "U")):
        got = np.asarray(la.eigh(a, UPLO=triangle).eigenvalues)
        np.testing.assert_allclose(got, values, rtol=0, atol=50 * n * eps * np.abs(values).max())
    assert np.all(np.isnan(np.asarray(la.eigvalsh(xp.asarray(np.full((n, n), np.nan, dtype))))))


@pytest.mark.parametrize(("shape", "dtype"), [((33, 33), "float64"), ((64, 63), "complex64"), ((64, 64), "float32")])
def test_singular_vectors_of_small_matrices(xp, rng, monkeypatch, shape, dtype):
    """Likewise: of matrices that lack rank, whose missing vectors the kernel finds, too."""
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    la, (m, n), eps = xp.linalg, shape, float(np.finfo(dtype).eps)
    left = orthonormal(rng, dtype, m)[:, :n]
    hosts = [(left * spectrum) @ orthonormal(rng, dtype, n) for _, spectrum in spectra(n, eps)]
    hosts += [host[:, :n] for _, host in hard_matrices(rng, dtype, m)]
    hosts += [np.ones(shape), np.eye(*shape), np.eye(*shape, 1), np.diag(eps ** np.arange(m))[:, ::-1][:, :n]]
    stack = np.stack(hosts).astype(dtype)
    check_svd(xp, la, stack)
    check_svd(xp, la, np.swapaxes(stack, 1, 2)[::-1])
    for wrong in (np.nan, np.inf):
        host = stack.copy()
        host[2, 5, 3] = wrong
        for function in (la.svd, la.svdvals):
            with pytest.raises(np.linalg.LinAlgError, match=r"svd.*\(16, "):
                function(xp.asarray(host))


def test_launches_of_small_spectra(xp, rng, monkeypatch):
    """One, and one that clears the word that it may set."""
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    x = xp.asarray(noise(rng, "float32", (2, 7, 5, 5)))
    for function in (xp.linalg.eigh, xp.linalg.eigvalsh, xp.linalg.svd, xp.linalg.svdvals):
        before = launch_count()
        function(x)
        assert launch_count() - before == 2


def kahan(m, n):
    """Kahan's upper triangle, of condition about 10^n / 3 for the angle taken here, over rows of zeros."""
    c, s = 0.8, 0.6
    square = np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))
    return np.concatenate([square, np.zeros((m - n, n))])


@pytest.fixture
def by_blocks(xp, monkeypatch):
    """Kernels, with tall matrices cut into blocks of 32 rows at least."""
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    monkeypatch.setattr(_factorisations, "BLOCK_ROWS", 32)
    cut, blocks = [], _factorisations._blocks
    monkeypatch.setattr(
        _factorisations, "_blocks", lambda a, height: (cut.append((*a.shape, height)), blocks(a, height))[1]
    )
    return cut


@pytest.mark.parametrize(
    "dtype",
    ["float32", *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in ("float64", "complex64")), "complex128"],
)
def test_tall_matrices(xp, rng, by_blocks, dtype):
    """By blocks of rows, on several levels, with rows left over; of stacks; ill-conditioned ones, too: against
    backward errors, which do not depend on the condition."""
    eps = float(np.finfo(dtype).eps)

    def check(host):
        del by_blocks[:]
        q, r = (np.asarray(part) for part in xp.linalg.qr(xp.asarray(host)))
        assert by_blocks
        n = host.shape[-1]
        assert q.shape == host.shape and r.shape == (*host.shape[:-2], n, n) and q.dtype == r.dtype == host.dtype
        assert not np.any(np.tril(r, -1))
        # with the bounds of n columns, not of as many as there are rows
        assert np.all(norm(adjoint(q) @ wide(q) - np.eye(n)) <= 50 * max(n, 4) * eps)
        assert np.all(norm(wide(host) - wide(q) @ wide(r)) <= 50 * max(n, 4) * eps * norm(host))
        u, s, vh = (np.asarray(part) for part in xp.linalg.svd(xp.asarray(host), full_matrices=False))
        assert_orthonormal(u)
        assert_orthonormal(np.swapaxes(vh.conj(), -1, -2))
        assert_product(host, u * s[..., None, :], vh)
        for values in (np.asarray(xp.linalg.svdvals(xp.asarray(host))), np.linalg.svd(wide(host), compute_uv=False)):
            assert np.all(np.abs(values - s) <= 50 * max(n, 4) * eps * s[..., :1])

    for shape in ((64, 1), (1001, 3), (2, 545, 5), (1, 128, 8)):
        check(noise(rng, dtype, shape))
    m, n = 517, 9
    left = np.linalg.qr(noise(rng, np.result_type(dtype, np.float64), (m, n)))[0]
    for _, spectrum in spectra(n, eps):
        check(((left * spectrum) @ orthonormal(rng, dtype, n)).astype(dtype))
    for host in (kahan(m, n), kahan(m, n)[::-1], np.zeros((m, n)), np.ones((m, n)), np.eye(m, n)):
        check(host.astype(dtype))
    wide_one = noise(rng, dtype, (4, 300))
    u, s, vh = (np.asarray(part) for part in xp.linalg.svd(xp.asarray(wide_one), full_matrices=False))
    assert_product(wide_one, u * s, vh)


def test_which_matrices_are_cut_into_blocks(xp, rng, monkeypatch):
    """Tall ones, and those of their triangles; with all columns of Q asked for none."""
    height = _factorisations._block_height
    assert [height(*shape) for shape in ((10**6, 64), (2048, 256), (2047, 1), (4095, 300), (4096, 300))] == [
        *(1024, 1024, 0, 0, 2048)
    ]
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    host = noise(rng, "float32", (5001, 33))
    q, r = (np.asarray(part) for part in xp.linalg.qr(xp.asarray(host)))
    assert_orthonormal(q)
    assert_product(host, q, r)
    values = np.asarray(xp.linalg.svdvals(xp.asarray(host)))
    np.testing.assert_allclose(values, np.linalg.svd(wide(host), compute_uv=False), rtol=1e-5)
    with pytest.raises(np.linalg.LinAlgError, match="svdvals"):
        xp.linalg.svdvals(xp.asarray(np.where(host == host[4000, 7], np.nan, host)))


def test_large_matrices_in_parts(xp, rng):
    for n in (257, 515):
        host = noise(rng, "float64", (n, n))
        check_solve(xp, xp.linalg, host, noise(rng, "float64", (n, 3)))
        check_qr(xp, xp.linalg, host)
        check_svd(xp, xp.linalg, host)
        check_eigh(xp, xp.linalg, host)


@pytest.fixture
def narrow_panels(monkeypatch):
    """Kernels, with panels of less than 32 columns where 32 take more than 16 KB."""
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    monkeypatch.setattr(panels, "_REGISTERS", dict.fromkeys(panels._REGISTERS, (1 << 14, 4)))
    seen, launcher = [], panels.panel_launcher
    monkeypatch.setattr(
        panels, "panel_launcher", lambda name, a, general: (seen.append(a.shape[2]), launcher(name, a, general))[1]
    )
    return seen


@pytest.mark.parametrize(
    ("dtype", "n", "widths"),
    [
        ("float64", 130, [*[8] * 4, *[16] * 4, 32, 2]),
        pytest.param("complex64", 129, [*[8] * 4, *[16] * 4, 32, 1], marks=pytest.mark.slow),
        ("complex128", 65, [*[8] * 4, *[16] * 2, 1]),
    ],
)
def test_narrow_panels(xp, rng, narrow_panels, dtype, n, widths):
    """Of ever more columns as fewer rows are left, and of what is left over in the end."""
    check_solve(xp, xp.linalg, noise(rng, dtype, (2, n, n)), noise(rng, dtype, (2, n, 3)))
    assert narrow_panels == widths
    check_qr(xp, xp.linalg, noise(rng, dtype, (n, n)))
    assert narrow_panels == 3 * widths  # of Q reduced and complete
    for shape in ((n + 20, 40), (40, n + 20), (2, n, 33)):
        check_qr(xp, xp.linalg, noise(rng, dtype, shape))
    for _, host in hard_matrices(rng, dtype, n):
        check_qr(xp, xp.linalg, host)
        check_solve_or_singular(xp, xp.linalg, host, noise(rng, dtype, (n, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="inv: Singular"):
        xp.linalg.inv(xp.asarray(np.where(np.arange(n) == n - 3, 0, noise(rng, dtype, (n, n)))))


def test_narrow_panels_choose_the_same_pivots(xp, rng, narrow_panels):
    """As LAPACK, which takes the largest element of a column likewise."""
    lu_factor = pytest.importorskip("scipy.linalg").lu_factor
    host = noise(rng, "float64", (130, 130))
    factors = _factorisations._LU(_factorisations._packed(xp.asarray(host)))
    wanted, pivots = lu_factor(host)
    np.testing.assert_array_equal(np.asarray(factors.pivots)[0], pivots)
    np.testing.assert_allclose(np.asarray(factors.factors)[0], wanted, rtol=1e-7, atol=1e-9)


def test_columns_of_panels():
    """As many as 128 KB hold on CUDA, none where that were fewer than 4, elsewhere 32 or none."""

    def columns(target):
        with absent_device(parse_target(target)) as device:
            nowhere = wrap(0, 0, device, None)
            for dtype in DTYPES:
                shapes = ((1, rows, 32) for rows in (33, 512, 513, 1023, 1024, 1025, 2049, 4097, 9000))
                views = (View(nowhere, np.dtype(dtype), shape, (0, 32, 1)) for shape in shapes)
                yield [panels.columns_in_registers(view) for view in views]

    assert list(columns("sm_90")) == [
        [32, 32, 32, 32, 32, 16, 8, 4, 0],
        [32, 32, 16, 16, 16, 8, 4, 0, 0],
        [32, 32, 16, 16, 16, 8, 4, 0, 0],
        [32, 16, 8, 8, 8, 4, 0, 0, 0],
    ]
    assert list(columns("gfx942")) == [[32, *[0] * 8], [0] * 9, [0] * 9, [0] * 9]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_rows_are_swapped_in_order(xp, rng, dtype):
    """Many at once, of which some meet the same row, against one after another."""
    n = 100
    for first, stop, skip in ((0, n, range(0)), (32, 64, range(32, 64)), (31, 97, range(31, 97)), (99, 100, range(9))):
        host = noise(rng, dtype, (2, n, n))
        pivots = np.array([[rng.integers(j, n) for j in range(n)], [min(j + 40, n - 1) for j in range(n)]])
        wanted = host.copy()
        for matrix, order in zip(wanted, pivots, strict=True):
            others = np.delete(np.arange(n), skip)
            for j in range(first, stop):
                matrix[np.ix_([j, order[j]], others)] = matrix[np.ix_([order[j], j], others)]
        for turned in (False, True):
            got = xp.realize(xp.asarray(np.swapaxes(host, 1, 2).copy() if turned else host))
            view = panels.transposed(got.memory()) if turned else got.memory()
            panels.swap_rows(view, xp.realize(xp.asarray(pivots)).memory(), first, stop, skip)
            np.testing.assert_array_equal(np.asarray(got), np.swapaxes(wanted, 1, 2) if turned else wanted)


@pytest.mark.parametrize("dtype", ["float64", pytest.param("complex64", marks=pytest.mark.slow)])
def test_large_matrices_are_halved(xp, rng, monkeypatch, dtype):
    """Spectra by products, made to begin at 25 rows."""
    by_rotations, leaves = _spectra._eigen_by_rotations, []
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    monkeypatch.setattr(_spectra, "LARGE", 24)
    monkeypatch.setattr(
        _spectra, "_eigen_by_rotations", lambda name, a: leaves.append(a.shape[-1]) or by_rotations(name, a)
    )
    la, n = xp.linalg, 65
    check_eigh(xp, la, noise(rng, dtype, (2, n, n)))
    check_svd(xp, la, noise(rng, dtype, (n + 7, n)))
    assert len(leaves) > 8 and max(leaves) <= 24
    for _, spectrum in spectra(n, float(np.finfo(dtype).eps)):
        check_eigh(xp, la, with_spectrum(rng, dtype, spectrum * rng.choice([-1, 1], size=n), hermitian=True))
        check_svd(xp, la, with_spectrum(rng, dtype, spectrum))
    for host in (np.zeros((n, n), dtype), np.eye(n, dtype=dtype)):
        check_eigh(xp, la, host)
        check_svd(xp, la, host)
    host = np.eye(n, dtype=dtype)
    host[3, 2] = np.nan
    assert np.isnan(np.asarray(la.eigvalsh(xp.asarray(host)))).any()
    with pytest.raises(np.linalg.LinAlgError, match="svdvals"):
        la.svdvals(xp.asarray(host))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_shapes_and_stacks(la, xp, rng, shape, dtype):
    host = noise(rng, dtype, shape)
    check_qr(xp, la, host)
    check_svd(xp, la, host)
    if shape[-1] == shape[-2]:
        check_eigh(xp, la, host)
        check_solve(xp, la, host, noise(rng, dtype, (*shape[:-1], 2)))
        check_solve(xp, la, host, noise(rng, dtype, (shape[-1], 2)))
        check_solve(xp, la, host, noise(rng, dtype, shape[-1]))
    inverse = np.asarray(la.pinv(xp.asarray(host)))
    np.testing.assert_allclose(inverse, np.linalg.pinv(host), atol=1e-3 if dtype == "complex64" else 1e-10)


def test_strided_operands_are_left_alone(la, xp, rng):
    host = noise(rng, "float64", (6, 9, 9))
    x = xp.asarray(host)[::-2, ::2, ::2]
    a = np.asarray(x).copy()
    check_solve(xp, la, a, noise(rng, "float64", (5, 2)))
    for function in (la.qr, la.svd, la.eigh, la.inv, la.det):
        function(x.mT)
        np.testing.assert_array_equal(np.asarray(x), a)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 3, 3), (0, 4, 2)])
def test_zero_sizes(la, xp, shape):
    host = np.zeros(shape)
    x = xp.asarray(host)
    for got, wanted in (
        (la.svd(x), np.linalg.svd(host)),
        (la.svd(x, full_matrices=False), np.linalg.svd(host, full_matrices=False)),
        (la.qr(x), np.linalg.qr(host)),
        (la.qr(x, mode="complete"), np.linalg.qr(host, mode="complete")),
        ([la.svdvals(x), la.pinv(x), la.matrix_rank(x)],
         [np.linalg.svdvals(host), np.linalg.pinv(host), np.linalg.matrix_rank(host)]),
    ):  # fmt: skip
        for mine, theirs in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(mine), theirs)
    if shape[-1] == shape[-2]:
        for name in ("det", "inv", "cholesky", "eigvalsh", "eigvals"):
            wanted = getattr(np.linalg, name)(host)
            np.testing.assert_array_equal(np.asarray(getattr(la, name)(x)), wanted)
        assert [part.shape for part in la.slogdet(x)] == [shape[:-2]] * 2
        assert [part.shape for part in la.eigh(x)] == [shape[:-1], shape]
        assert la.solve(x, xp.asarray(np.zeros(shape[:-1])[..., None])).shape == (*shape[:-1], 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants_of_large_and_small_pivots(la, xp, dtype):
    """Products of some of them leave the dtype's range in any order, the determinant does not."""
    large = np.finfo(dtype).max ** 0.75
    small = 1 / large
    for pivots, wanted in (
        ([large, -large, small, small], -1),
        ([small, small, large, large], 1),
        ([large, large, 0], 0),
        ([large, large], np.inf),
        ([small, small], 0),
    ):
        got = np.asarray(la.det(xp.asarray(np.diag(pivots).astype(dtype)))).real
        np.testing.assert_allclose(got, wanted, rtol=1e-3 if got.dtype == np.float32 else 1e-11)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_without_a_result(la, xp, dtype):
    eye = np.eye(3, dtype=dtype)
    singular = np.stack([eye, np.ones((3, 3), dtype), eye])
    for host in (np.zeros((1, 1), dtype), singular, np.zeros((40, 40), dtype)):
        x = xp.asarray(host)
        n = host.shape[-1]
        for call in (lambda x=x: la.inv(x), lambda x=x, n=n: la.solve(x, xp.ones(n, dtype=x.dtype))):
            with pytest.raises(np.linalg.LinAlgError, match=r"(inv|solve): .*\("):
                call()
        assert np.any(np.asarray(la.det(x)) == 0)
        sign, logarithm = (np.asarray(part) for part in la.slogdet(x))
        assert np.any((sign == 0) & (logarithm == -np.inf))
        with pytest.raises(np.linalg.LinAlgError, match=r"inv: "):
            la.matrix_power(x, -1)
    for host in (-eye, np.stack([eye, -eye]), np.diag([1.0] * 39 + [0]).astype(dtype)):
        with pytest.raises(np.linalg.LinAlgError, match=r"cholesky: .*\("):
            la.cholesky(xp.asarray(host))


def test_numbers_that_are_not_finite(la, xp):
    """They go through to the result where there is one, and end every iteration."""
    host = np.eye(4)
    host[2, 1] = np.nan
    x = xp.asarray(host)
    for got in (la.inv(x), la.det(x), la.solve(x, x), *la.qr(x), *la.eigh(x), la.cholesky(x)):
        assert np.isnan(np.asarray(got)).any()


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 3), (3, 5), (2, 3, 3), (70, 70)])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_nan_has_no_singular_values(la, xp, rng, shape, dtype):
    """As in NumPy, wherever it stands."""
    host = noise(rng, dtype, shape)
    host.flat[-1] = np.nan
    for name in ("svd", "svdvals", "pinv", "matrix_rank"):
        with pytest.raises(np.linalg.LinAlgError):
            getattr(np.linalg, name)(host)
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
            getattr(la, name)(xp.asarray(host))
    with pytest.raises(np.linalg.LinAlgError, match=r"^matrix_norm: "):
        la.matrix_norm(xp.asarray(host), ord=2)
    host.flat[-1] = np.inf  # for which NumPy's may not end
    for name in ("svd", "pinv"):
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
            getattr(la, name)(xp.asarray(host))


@pytest.mark.parametrize("seed", [49, 148, 225, 233])
def test_solutions_in_range_by_inverses_beyond_it(la, xp, seed):
    """Inverses of the triangles have elements that float32 has not, those of the matrices have none."""
    host = (noise(np.random.default_rng(seed), "float32", (20, 20)).astype(np.longdouble) * 1e-38).astype(np.float32)
    exact = np.linalg.inv(host.astype(np.float64))
    assert np.finfo(np.float32).max / 2 < abs(exact).max() < np.finfo(np.float32).max
    slack = 20 * np.finfo(np.float32).eps * np.linalg.cond(host.astype(np.float64)) * abs(exact).max()
    assert abs(np.asarray(la.inv(xp.asarray(host))).astype(np.float64) - exact).max() <= slack
    for scale in (1e-38, 1e37):  # of solutions like 1, where the right side is as near to an end
        host = (noise(np.random.default_rng(seed), "float32", (20, 20)).astype(np.longdouble) * scale).astype(
            np.float32
        )
        right = np.full((20, 2), scale, np.float32)
        exact = np.linalg.solve(host.astype(np.float64), right.astype(np.float64))
        slack = 20 * np.finfo(np.float32).eps * np.linalg.cond(host.astype(np.float64)) * abs(exact).max()
        assert abs(np.asarray(la.solve(xp.asarray(host), xp.asarray(right))) - exact).max() <= slack


@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e-38), ("float32", 1e37), ("complex128", 1e306)])
def test_numbers_at_the_ends_of_the_range(la, xp, rng, dtype, scale):
    host = (noise(rng, dtype, (20, 20)).astype(np.clongdouble if dtype[0] == "c" else np.longdouble) * scale).astype(
        dtype
    )
    q, r = (np.asarray(part).astype(np.clongdouble) for part in la.qr(xp.asarray(host)))
    u, s, vh = (np.asarray(part).astype(np.clongdouble) for part in la.svd(xp.asarray(host)))
    limit = 50 * 20 * float(np.finfo(dtype).eps) * float(s[0].real / scale)
    for product in (q @ (r / scale), (u * (s / scale)) @ vh):
        assert np.abs(product - host.astype(np.clongdouble) / scale).max() <= limit
    w, v = (np.asarray(part).astype(np.clongdouble) for part in la.eigh(xp.asarray(host)))
    lower = np.tril(host, -1).astype(np.clongdouble) / scale
    full = lower + lower.conj().T + np.diag(np.diagonal(host).real.astype(np.clongdouble) / scale)
    assert np.abs(full @ v - v * (w / scale)).max() <= limit
    with np.errstate(over="ignore"):
        if not np.isfinite(np.linalg.inv(host.astype(np.result_type(dtype, np.float64))).astype(dtype)).all():
            return  # elements of the inverse lie beyond the range
    inverse = np.asarray(la.inv(xp.asarray(host))).astype(np.clongdouble) * scale
    slack = limit * float(np.abs(inverse).sum())
    assert np.abs(inverse @ (host.astype(np.clongdouble) / scale) - np.eye(20)).max() <= slack


def test_operands_that_are_refused(la, xp):
    square = ("cholesky", "det", "slogdet", "eig", "eigh", "eigvals", "eigvalsh", "inv")
    for name in square:
        with pytest.raises(ValueError, match=rf"{name}: expected square matrices, got shape \(2, 3\)"):
            getattr(la, name)(xp.ones((2, 3)))
    for name in (*square, "qr", "svd", "svdvals", "pinv", "matrix_rank", "matrix_norm", "diagonal", "trace"):
        with pytest.raises(ValueError, match=rf"{name}: expected at least 2 dimensions, got shape \(3,\)"):
            getattr(la, name)(xp.ones(3))
        with pytest.raises(TypeError, match=f"{name}: expected an array"):
            getattr(la, name)(np.ones((3, 3)))
    with pytest.raises(TypeError, match="inv: dtype float16"):
        la.inv(xp.ones((2, 2), dtype=xp.float16))
    with pytest.raises(ValueError, match=r"solve: \(3, 3\) and \(2,\)"):
        la.solve(xp.eye(3), xp.ones(2))
    with pytest.raises(ValueError, match=r"solve: .*broadcast"):
        la.solve(xp.ones((2, 3, 3)), xp.ones((4, 3, 1)))
    with pytest.raises(ValueError, match="qr: mode"):
        la.qr(xp.eye(3), mode="raw")
    with pytest.raises(ValueError, match="matrix_norm: ord"):
        la.matrix_norm(xp.eye(3), ord=3)
    with pytest.raises(TypeError):
        la.matrix_power(xp.eye(3), 1.5)
    with pytest.raises(ValueError, match="outer: expected 1-dimensional"):
        la.outer(xp.ones((1, 1)), xp.ones(2))
    with pytest.raises(ValueError, match=r"cross: expected 3 components along axis -1, got shape \(2,\)"):
        la.cross(xp.ones(3), xp.ones(2))
    with pytest.raises(ValueError, match="tensordot"):
        xp.tensordot(xp.ones((2, 3)), xp.ones((2, 3)), axes=1)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(3, 5), (2, 17, 4), (0, 3), (3, 0), (0, 2, 2)])
def test_matrix_norm(la, xp, rng, shape, ord):
    host = noise(rng, "complex128", shape)
    try:
        wanted = np.linalg.matrix_norm(host, ord=ord, keepdims=True)
    except ValueError:
        with pytest.raises(ValueError, match="no identity"):
            la.matrix_norm(xp.asarray(host), ord=ord)
        return
    for keepdims in (True, False):
        got = la.matrix_norm(xp.asarray(host), ord=ord, keepdims=keepdims)
        assert got.dtype == xp.float64
        np.testing.assert_allclose(
            np.asarray(got), wanted if keepdims else wanted[..., 0, 0], rtol=1e-12, err_msg=str(ord)
        )


def test_powers_and_ranks(la, xp, rng):
    host = noise(rng, "float64", (2, 4, 4))
    for n in (-3, -1, 0, 1, 2, 5, 8):
        wanted = np.linalg.matrix_power(host, n)
        np.testing.assert_allclose(np.asarray(la.matrix_power(xp.asarray(host), n)), wanted, rtol=1e-8)
    ints = xp.asarray(np.array([[1, 1], [1, 0]]))
    assert la.matrix_power(ints, 10).tolist() == [[89, 55], [55, 34]]
    x = xp.ones((2, 2))
    power = la.matrix_power(x, 1)
    power[0, 0] = 7
    assert float(x[0, 0]) == 1
    deficient = np.stack([host[0], np.outer(host[0, 0], host[0, 1])])
    assert la.matrix_rank(xp.asarray(deficient)).tolist() == [4, 1]
    assert la.matrix_rank(xp.asarray(deficient), rtol=xp.asarray([2.0, 0.5])).tolist() == [0, 1]
    np.testing.assert_allclose(
        np.asarray(la.pinv(xp.asarray(deficient))), np.linalg.pinv(deficient), atol=1e-8
    )  # one of them has no inverse


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64"])
def test_products_of_vectors_and_tensors(la, xp, rng, dtype):
    def make(*shape):
        return rng.integers(-9, 9, size=shape).astype(dtype)

    def same(got, wanted):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_allclose(np.asarray(got), wanted)

    for left, right, axis in (((3,), (3,), -1), ((4, 3), (3,), -1), ((3, 4), (3, 4), 0), ((2, 3, 5), (3, 1), -2)):
        a, b = make(*left), make(*right)
        wanted = np.moveaxis(np.cross(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)), -1, axis)
        same(la.cross(xp.asarray(a), xp.asarray(b), axis=axis), wanted)
    a, b = make(5), make(3)
    same(la.outer(xp.asarray(a), xp.asarray(b)), np.outer(a, b))
    a, b = make(2, 3, 4), make(3, 4, 5)
    for axes in (0, 2, ((1, 2), (0, 1)), ((-1, 1), (1, 0)), ([2], [1])):
        same(xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes), np.tensordot(a, b, axes=axes))
    same(xp.matrix_transpose(xp.asarray(a)), np.matrix_transpose(a))


@pytest.mark.parametrize("offset", [0, 1, -1, 2, -3, 5, -7])
@pytest.mark.parametrize("shape", [(3, 5), (2, 5, 3), (0, 3), (1, 1)])
def test_diagonals(la, xp, rng, shape, offset):
    host = rng.integers(0, 99, size=shape).astype(np.int16)
    x = xp.asarray(host)
    wanted = np.linalg.diagonal(host, offset=offset)
    got = la.diagonal(x, offset=offset)
    np.testing.assert_array_equal(np.asarray(got), wanted)
    total = la.trace(x, offset=offset)
    assert total.dtype == xp.int64
    np.testing.assert_array_equal(np.asarray(total), np.linalg.trace(host, offset=offset))
    assert la.trace(x, offset=offset, dtype=xp.float32).dtype == xp.float32
    if got.size:
        got[...] = 100
        assert np.all(np.linalg.diagonal(np.asarray(x), offset=offset) == 100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(la, xp, rng, dtype):
    for n in (1, 4, 33):
        host = noise(rng, dtype, (2, n, n))
        values, vectors = la.eig(xp.asarray(host))
        assert values.dtype == vectors.dtype == np.result_type(host.dtype, np.complex64)
        w, v = wide(np.asarray(values)), wide(np.asarray(vectors))
        assert np.all(norm(wide(host) @ v - v * w[:, None, :]) <= 50 * n * eps_of(host) * norm(host))
        np.testing.assert_allclose(np.linalg.vector_norm(v, axis=-2), 1, rtol=1e-5)
        other = np.sort_complex(np.asarray(la.eigvals(xp.asarray(host))))
        np.testing.assert_allclose(other, np.sort_complex(w), rtol=1e-3, atol=1e-3)
    real = la.eig(xp.asarray(np.eye(2)))
    assert real.eigenvalues.dtype == xp.complex128 and real.eigenvectors.dtype == xp.complex128


def test_integers_count_as_floats_and_results_have_names(la, xp):
    x = xp.asarray(np.array([[2, 0], [0, 3]]))
    assert la.inv(x).dtype == la.det(x).dtype == xp.float64
    assert la.qr(x)._fields == ("Q", "R") and la.svd(x)._fields == ("U", "S", "Vh")
    assert la.eigh(x)._fields == la.eig(x)._fields == ("eigenvalues", "eigenvectors")
    assert la.slogdet(x)._fields == ("sign", "logabsdet")


WORDS = {"cholesky": 1, "inv": 1, "solve": 1, "det": 0, "slogdet": 0, "qr": 0, "eigh": 1, "eigvalsh": 1, "svd": 1,
         "svdvals": 1, "pinv": 1, "matrix_rank": 1, "cross": 0, "diagonal": 0, "outer": 0, "trace": 0}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_kernels_tell_the_host_one_word(xp, monkeypatch, name):
    """Whether a result exists, or an iteration has ended; of small matrices, once."""
    monkeypatch.setattr(sys.modules[on_host.__module__], "HOST_ROUTINES", False)
    x = xp.realize(xp.eye(3) * 2)
    operands = {"solve": (x, x), "cross": (x, x), "outer": (x[0], x[1])}.get(name, (x,))
    before = xp.counters()
    result = getattr(xp.linalg, name)(*operands)
    for array in result if isinstance(result, tuple) else (result,):
        xp.realize(array)
    change = xp.counters() - before
    assert (change["bytes_to_host"], change["synchronisations"]) == (8 * WORDS[name], WORDS[name])
