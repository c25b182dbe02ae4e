"""How each new path was joined to the one before it, and what of the paths was followed in channels."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.statistics import Array, largest
from aeroloop.planning.mission_messages import Kind
from aeroloop.recording.log import Log


def metrics(log: Log, in_channel: NDArray[np.bool_]) -> dict[str, float]:
    """`in_channel`: the rows of guidance on a channel, or on the way from one to the next."""
    by_transient, at_node = _joints(log)
    kappa = np.abs(log.column("guidance", "path_kappa_1_m"))[in_channel]
    return {
        "stitches_transient": float(by_transient),
        "stitches_node": float(at_node),
        "path_curvature_max_1_m": largest(kappa),
        "path_length_m": _length_m(log, in_channel),
    }


def _joints(log: Log) -> tuple[int, int]:
    """New channels that were reached by a transient from the channel before, and at a node of it."""
    kinds: dict[int, Kind] = {}
    for number, kind in zip(log.column("path", "path"), log.column("path", "kind"), strict=True):
        kinds.setdefault(int(number), Kind(int(kind)))
    flown = [kinds[number] for number in sorted(kinds)]
    beside = list(pairwise(flown))
    by_transient = (Kind.CHANNEL, Kind.TRANSIENT), (Kind.TRANSIENT, Kind.CHANNEL)
    return list(pairwise(beside)).count(by_transient), beside.count((Kind.CHANNEL, Kind.CHANNEL))


def _length_m(log: Log, in_channel: NDArray[np.bool_]) -> float:
    """Flown by the virtual point."""
    if not in_channel.any():
        return math.nan
    x_m, y_m = (log.column("guidance", f"path_{axis}_m") for axis in "xy")
    step_m: Array = np.hypot(np.diff(x_m), np.diff(y_m))
    return float(np.sum(step_m[in_channel[1:] & in_channel[:-1]]))
