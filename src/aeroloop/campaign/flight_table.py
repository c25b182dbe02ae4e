"""The flights of a campaign as one table: a row each, with parameters, verdict and metrics; CSV or Parquet."""

from __future__ import annotations

import csv
import importlib.util
import math
from pathlib import Path
from typing import Any

from aeroloop.campaign.judgement import Judged
from aeroloop.core.errors import ConfigError, not_written

FIXED = ("number", "state", "verdict", "seed", "attempt", "exit_code", "ended", "wall_s", "log_sha256", "why", "key")
FORMATS = (".csv", ".parquet")


def columns(judged: Judged) -> dict[str, list[Any]]:
    """By name, in the order of the flights; None where there is no value."""
    table: dict[str, list[Any]] = {name: [getattr(row, name) for row in judged.rows] for name in FIXED}
    for key in judged.varied:
        table[key] = [row.values.get(key) for row in judged.rows]
    for name in dict.fromkeys(name for own in judged.metrics.values() for name in own):
        values = [judged.metrics.get(row.key, {}).get(name, math.nan) for row in judged.rows]
        table[name] = [None if math.isnan(value) else value for value in values]
    return table


def write(path: Path, judged: Judged) -> None:
    if path.suffix not in FORMATS:
        raise ConfigError(f"--out {path}: expected the name of a {' or '.join(FORMATS)} file")
    table = columns(judged)
    try:
        if path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
            return
        _write_parquet(path, table)
    except OSError as error:
        raise not_written(path, error) from None


def _write_parquet(path: Path, table: dict[str, list[Any]]) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow, which is not installed: pip install 'aeroloop[export]'")
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(table), path)
