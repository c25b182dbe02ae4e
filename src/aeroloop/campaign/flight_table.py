"""The flights of a campaign as one table: a row each, with parameters, verdict and metrics; CSV or Parquet."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aeroloop.campaign.judgement import Judged
from aeroloop.core.errors import ConfigError, not_written

FORMATS = (".csv", ".parquet")


def write(path: Path, judged: Judged) -> None:
    if path.suffix not in FORMATS:
        raise ConfigError(f"--out {path}: expected the name of a {' or '.join(FORMATS)} file")
    table = judged.exported()
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


def _write_parquet(path: Path, table: Mapping[str, Sequence[Any]]) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow, which is not installed: pip install 'aeroloop[export]'")
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(table), path)
