"""Rows of a stream whose numbers are known, for logs that no flight has written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aeroloop.core.stream import Stream


def rows_of(streams: Mapping[str, Stream]) -> Callable[..., np.ndarray]:
    def rows(stream: str, t_s: Any, **columns: Any) -> np.ndarray:
        """Columns that are not named are 0."""
        names = streams[stream].names
        made = np.zeros((len(t_s), len(names)))
        made[:, 0] = t_s
        for name, values in columns.items():
            made[:, names.index(name)] = values
        return made

    return rows
