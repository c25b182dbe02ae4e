"""Rows of a stream whose numbers are known, for logs that no flight has written."""

from __future__ import annotations

from typing import Any

import numpy as np

from aeroloop.core.stream_table import BY_NAME


def rows(stream: str, t_s: Any, **columns: Any) -> np.ndarray:
    """Columns that are not named are 0."""
    names = BY_NAME[stream].names
    made = np.zeros((len(t_s), len(names)))
    made[:, 0] = t_s
    for name, values in columns.items():
        made[:, names.index(name)] = values
    return made
