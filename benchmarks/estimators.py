"""scikit-learn and SciPy on a GPU, our arrays beside torch's: ``python benchmarks/estimators.py [cuda:0 [ROW...]]``.

Both take arrays by the array API standard (``array_api_dispatch``, ``SCIPY_ARRAY_API``). The libraries alternate;
figures are medians of whole calls, synchronised. Samples are 10^6 by 64, vectors 2^24 long, float32; on the CPU, where
there is no peer, the small sizes try the rows out. What a package refuses for a library is named. The aim is to be no
slower than with torch.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import gpu_peers
import numpy as np
import report
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from nbx_array.backend.contract import get_device, get_driver
from scipy.spatial.transform import Rotation
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture

import nbx_array as xp
from nbx_array._demo import k_means

SAMPLES, FEATURES, LENGTH = 10**6, 64, 1 << 24


class Data(NamedTuple):
    x: Any  # samples by features
    label: Any  # 0 to 3 for each sample, int64
    target: Any  # a number for each sample
    u: Any  # long vectors, normal
    v: Any
    positive: Any
    kernel: Any  # 4,097 numbers


def data(samples: int, length: int) -> Data:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, samples)
    x = rng.standard_normal((samples, FEATURES), np.float32) + label[:, None].astype(np.float32) * (
        np.arange(FEATURES, dtype=np.float32) % 4 / 4
    )
    u, v = rng.standard_normal((2, length), np.float32)
    target = (x @ rng.standard_normal(FEATURES, np.float32)).astype(np.float32)
    return Data(x, label, target, u, v, np.abs(u) + np.float32(0.1), rng.random(4097, np.float32))


def mixture(d: Data) -> Any:
    model = GaussianMixture(4, max_iter=5, tol=0.0, init_params="random_from_data", random_state=0)
    return model.fit(d.x).means_


ROWS: dict[str, Callable[[Data], Any]] = {
    "PCA, covariance": lambda d: PCA(8, svd_solver="covariance_eigh").fit(d.x).explained_variance_,
    "PCA, SVD": lambda d: PCA(8, svd_solver="full").fit(d.x).explained_variance_,
    "LogisticRegression": lambda d: LogisticRegression(max_iter=20, tol=1e-12).fit(d.x, d.label).coef_,
    "Ridge": lambda d: Ridge(solver="svd").fit(d.x, d.target).coef_,
    "LinearDiscriminantAnalysis": lambda d: LinearDiscriminantAnalysis().fit(d.x, d.label).transform(d.x),
    "GaussianMixture": mixture,
    "k-means": lambda d: k_means(d.x, 8, 10),
    "stats.zscore": lambda d: scipy.stats.zscore(d.x),
    "stats.pearsonr": lambda d: scipy.stats.pearsonr(d.u, d.v).statistic,
    "stats.skew": lambda d: scipy.stats.skew(d.x),
    "stats.kurtosis": lambda d: scipy.stats.kurtosis(d.u),
    "stats.ttest_ind": lambda d: scipy.stats.ttest_ind(d.u, d.v).pvalue,
    "stats.gmean": lambda d: scipy.stats.gmean(d.positive),
    "stats.rankdata": lambda d: scipy.stats.rankdata(d.u),
    "signal.fftconvolve": lambda d: scipy.signal.fftconvolve(d.u, d.kernel),
    "signal.hilbert": lambda d: scipy.signal.hilbert(d.u),
    "spatial.transform.Rotation": lambda d: Rotation.from_quat(d.x[:, :4]).apply(d.x[:, 4:7]),
    "special.gammaln": lambda d: scipy.special.gammaln(d.positive),
    "special.ndtr": lambda d: scipy.special.ndtr(d.u),
    "special.logsumexp": lambda d: scipy.special.logsumexp(d.x, axis=1),
}


def main() -> None:
    device = get_device(sys.argv[1] if len(sys.argv) > 1 else "cuda:0")
    if device.backend == "cpu":
        found, samples, length = [gpu_peers.Library(xp, 0)], 10**4, 1 << 16
        found[0].device = "cpu"
    else:
        found, samples, length = gpu_peers.libraries(device.index)[:2], SAMPLES, LENGTH
    xp.set_device(str(device))
    name = get_driver(device.backend).properties(device.index).name
    print(report.heading(name, ["nbx-array", "triton", "numpy", "torch", "scipy", "scikit-learn"]), end="\n\n")
    host = data(samples, length)
    operands = {lib.name: Data(*map(lib.put, host)) for lib in found}
    warnings.simplefilter("ignore")  # iterations are few on purpose
    lines = []
    with sklearn.config_context(array_api_dispatch=True):
        for row in sys.argv[2:] or ROWS:
            lines.append(measure(row, ROWS[row], found, operands))
            print(*lines[-1], sep=" | ", flush=True)
    print(report.table(["function", *(f"{lib.name} ms" for lib in found), "ratio", "difference", "launches"], lines))


def measure(
    row: str, function: Callable[[Data], Any], found: list[gpu_peers.Library], operands: dict[str, Data]
) -> list[str]:
    """A line of the table."""
    calls: dict[str, tuple[gpu_peers.Library, Callable[[], Any]]] = {}
    refused, results = {}, {}
    for lib in found:

        def call(lib: gpu_peers.Library = lib) -> Any:
            return lib.realize(function(operands[lib.name]))

        try:
            results[lib.name] = np.abs(lib.get(call()).astype(np.float64))  # eigenvectors have either sign
            calls[lib.name] = (lib, call)
        except Exception as error:
            refused[lib.name] = f"{type(error).__name__}: {error}".splitlines()[0][:60]
    once = max((gpu_peers.seconds(lib, run, 1) for lib, run in calls.values()), default=0.0)
    times = gpu_peers.medians(calls, 1, rounds=5 if once < 0.5 else 1)
    cells = [f"{times[lib.name] * 1e3:.2f}" if lib.name in times else refused[lib.name] for lib in found]
    both = len(times) == 2
    ratio = f"{times[found[0].name] / times[found[1].name]:.2f}" if both else ""
    apart = ""
    if both:
        mine, peers = results.values()
        apart = f"{np.max(np.abs(mine - peers)) / (np.max(np.abs(peers)) + 1e-30):.1e}"
    launches = str(gpu_peers.launches(calls[found[0].name][1])) if found[0].name in calls else ""
    return [row, *cells, ratio, apart, launches]


if __name__ == "__main__":
    main()
