"""Any log as a flight record: the table of readers, by what the file is called and how it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import part
from aeroloop.flown.record import FlightRecord

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the size of the file."""


@dataclass(frozen=True)
class Options:
    """What a user may say about a log; each reader takes what concerns it."""

    mapping: Path | None = None  # of a CSV: a TOML file, which column is which signal
    aircraft: int = 0  # of a run with several
    progress: Progress | None = None


class Reader(Protocol):
    def __call__(self, path: Path, options: Options) -> FlightRecord: ...


READERS: dict[str, str] = {
    ".bin": "aeroloop.flown.dataflash:read",
    ".log": "aeroloop.flown.dataflash_text:read",
    ".ulg": "aeroloop.flown.px4_ulog:read",
    ".csv": "aeroloop.flown.csv_table:read",
    ".mcap": "aeroloop.flown.own_run:read",
}
"""By the ending of the file; a folder that `aeroloop fly` made is read by that of its flight.mcap."""
LOG = "flight.mcap"


def read(path: Path, options: Options = Options()) -> FlightRecord:  # noqa: B008  frozen
    """ConfigError says in a sentence why a log cannot be used."""
    file = path / LOG if path.is_dir() else path
    if not file.exists():
        expected = f"a folder that `aeroloop fly` made, with its {LOG}," if path.is_dir() else "a log"
        raise ConfigError(f"{path}: no such log; expected {expected} or a file ending in {', '.join(READERS)}")
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise ConfigError(f"{path}: unknown kind of log; expected a run, or a file ending in {', '.join(READERS)}")
    if not file.stat().st_size:
        raise ConfigError(f"{path}: the log is empty")
    of_kind: Reader = part(reader)
    return of_kind(file, options)
