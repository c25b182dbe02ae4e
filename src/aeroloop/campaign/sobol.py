"""Sobol's first and total indices from flights of the design of `design.sobol_columns`, with bootstrap intervals.

A. Saltelli et al., Computer Physics Communications 181 (2010); computed by `scipy.stats.sobol_indices`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.campaign.batch_file import SobolIndices
from aeroloop.campaign.statistics import Array, Interval


@dataclass(frozen=True)
class Index:
    """Share of a metric's variance that a parameter causes alone, and together with others; 95 % intervals."""

    metric: str
    key: str
    first: float
    first_interval: Interval
    total: float
    total_interval: Interval


def indices(metrics: Mapping[str, Array], keys: Sequence[str], settings: SobolIndices, seed: int) -> list[Index]:
    """Of the metrics that vary and are finite; `keys` in the order of the design's columns."""
    from scipy.stats import sobol_indices

    n, found = settings.samples, list[Index]()
    for name, values in metrics.items():
        if not np.isfinite(values).all() or np.ptp(values) == 0.0:
            continue
        centred = values - values[: 2 * n].mean()  # a large mean costs digits
        f_A, f_B = centred[:n].reshape(1, n), centred[n : 2 * n].reshape(1, n)
        f_AB = centred[2 * n :].reshape(len(keys), 1, n)
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a resample without variance
            result = sobol_indices(func={"f_A": f_A, "f_B": f_B, "f_AB": f_AB}, n=n, rng=rng)
            ends = result.bootstrap(confidence_level=0.95, n_resamples=settings.resamples)
        first, total = np.ravel(result.first_order), np.ravel(result.total_order)
        low_high = [
            [np.ravel(end) for end in (of.confidence_interval.low, of.confidence_interval.high)]
            for of in (ends.first_order, ends.total_order)
        ]
        for i, key in enumerate(keys):
            intervals = [(float(low[i]), float(high[i])) for low, high in low_high]
            found.append(Index(name, key, float(first[i]), intervals[0], float(total[i]), intervals[1]))
    return found
