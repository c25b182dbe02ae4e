"""Timing of a flight: percentiles of wall-clock measurements in its log.

In lockstep these show the speed of the host, not the quality of any pacing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}
BIN_EDGES_S = np.arange(121) / 4000  # 0.25 ms each, to 30 ms


def statistics(values_s: NDArray[np.float64]) -> dict[str, float | int]:
    values_s = values_s[np.isfinite(values_s)]
    if not values_s.size:
        return {"count": 0, **dict.fromkeys(("mean", "min", *PERCENTILES, "max"), math.nan)}
    return {
        "count": len(values_s),
        "mean": float(np.mean(values_s)),
        "min": float(np.min(values_s)),
        **{name: float(np.percentile(values_s, q)) for name, q in PERCENTILES.items()},
        "max": float(np.max(values_s)),
    }


def histogram(values_s: NDArray[np.float64]) -> dict[str, Any]:
    counts, _ = np.histogram(values_s, BIN_EDGES_S)
    return {
        "bin_edges_s": BIN_EDGES_S.tolist(),
        "counts": counts.tolist(),
        "overflow": int(np.count_nonzero(values_s > BIN_EDGES_S[-1])),
    }
