"""The results of a campaign in one SQLite file, `campaign.db`. One process writes: the driver.

flight     one row for each flight by its content hash, whatever its state; `planned`: it belongs to the present design
metric     its numbers, NaN as NULL
block      flights of a batch by the thousands: their columns as bytes, in the order of their numbers
campaign   the definition as it was read, the present edition and where the file is

A row is durable before the next flight is counted (WAL, synchronous=FULL), so a killed driver loses only the flights
that were in the air.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.campaign.parameter import Value
from aeroloop.core.errors import DISK_FULL, ConfigError, StorageError, not_written

DATABASE = "campaign.db"
PLANNED, FLOWN, ABORTED = "planned", "flown", "gave_up"
"""States of a flight. One that was flown has a verdict; one that could not be flown, for its link, worker or wall
limit, is tried again, and then aborted: `gave_up` in the database."""
BUSY_S = 30.0
_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS campaign (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS flight (
  key TEXT PRIMARY KEY, number INTEGER, state TEXT, attempt INTEGER, params TEXT, seed INTEGER, verdict TEXT,
  exit_code INTEGER, ended TEXT, wall_s REAL, host TEXT, log_sha256 TEXT, why TEXT, edition TEXT, planned INTEGER,
  checks TEXT);
CREATE TABLE IF NOT EXISTS metric (key TEXT, name TEXT, value REAL, PRIMARY KEY (key, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS block (
  design TEXT, first INTEGER, count INTEGER, edition TEXT, params BLOB, noise BLOB, metrics BLOB,
  PRIMARY KEY (design, first));
CREATE INDEX IF NOT EXISTS by_number ON flight (planned, number);
COMMIT;
"""
"""One transaction: who reads meanwhile sees all tables or none."""
_COLUMNS = "key, number, state, attempt, params, seed, verdict, exit_code, ended, wall_s, log_sha256, why, checks"


@dataclass(frozen=True)
class Outcome:
    """The result of one flight, as a worker reports it."""

    verdict: str  # passed or failed
    exit_code: int
    ended: str
    wall_s: float
    host: str
    log_sha256: str
    checks: tuple[dict[str, Any], ...]  # name, value, limit, ok
    metrics: Mapping[str, float | None]


@dataclass(frozen=True)
class Row:
    """A flight of the store."""

    key: str
    number: int
    state: str
    attempt: int  # that failed, of one that could not be flown
    values: Mapping[str, Value]
    seed: int
    verdict: str | None
    exit_code: int | None
    ended: str | None
    wall_s: float | None
    log_sha256: str | None
    why: str | None
    checks: tuple[dict[str, Any], ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"


class Store:
    def __init__(self, folder: Path, *, writes: bool = False) -> None:
        """ConfigError if the folder holds no campaign, unless it is made by `writes`."""
        self.path = folder / DATABASE
        if not writes and not self.path.is_file():
            raise ConfigError(f"{folder}: holds no {DATABASE}; expected a folder of `aeroloop campaign run`")
        try:
            if writes:
                folder.mkdir(parents=True, exist_ok=True)
            address = f"{self.path.resolve().as_uri()}?mode={'rwc' if writes else 'ro'}"
            self._database = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None)
            if writes:
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=FULL")
                self._database.executescript(_SCHEMA)
            self._database.execute("SELECT value FROM campaign LIMIT 1").fetchone()
        except sqlite3.OperationalError as error:
            if writes and _storage(error):
                raise self._not_written(error) from None
            raise ConfigError(f"{self.path}: not a campaign's database: {error}") from None
        except sqlite3.DatabaseError as error:
            raise ConfigError(f"{self.path}: not a campaign's database: {error}") from None
        except OSError as error:
            raise not_written(folder, error) from None

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # SQLite itself takes back what a full disk cut short
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            raise self._not_written(error) from None

    def _not_written(self, error: sqlite3.OperationalError) -> StorageError:
        why = DISK_FULL if error.sqlite_errorcode == sqlite3.SQLITE_FULL else str(error)
        return StorageError(f"{self.path}: cannot be written: {why}; what was flown is kept")

    # What the campaign is.

    def begin(self, about: Mapping[str, Any]) -> None:
        """Another definition or edition: no flight is planned until `plan` says so."""
        self.keep(about)
        with self._writing() as database:
            database.execute("UPDATE flight SET planned = 0")

    def keep(self, about: Mapping[str, Any]) -> None:
        with self._writing() as database:
            database.executemany(
                "INSERT OR REPLACE INTO campaign VALUES (?, ?)",
                [(name, json.dumps(value)) for name, value in about.items()],
            )

    @property
    def about(self) -> dict[str, Any]:
        rows = self._database.execute("SELECT name, value FROM campaign")
        return {name: json.loads(value) for name, value in rows}

    # Flights.

    def plan(self, flights: Iterable[tuple[str, int, Mapping[str, Value], int]], edition: str) -> None:
        """Key, number, values and seed of each; one that is known keeps its result."""
        given = [
            (key, number, PLANNED, 0, json.dumps(dict(values), sort_keys=True), seed, edition, 1)
            for key, number, values, seed in flights
        ]
        with self._writing() as database:
            database.executemany(
                "INSERT OR IGNORE INTO flight (key, number, state, attempt, params, seed, edition, planned) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                given,
            )
            database.executemany(
                "UPDATE flight SET planned = 1, number = ? WHERE key = ?", [(row[1], row[0]) for row in given]
            )

    def flown(self, key: str, outcome: Outcome) -> None:
        """A result; the first one of a flight counts."""
        with self._writing() as database:
            changed = database.execute(
                "UPDATE flight SET state = ?, verdict = ?, exit_code = ?, ended = ?, wall_s = ?, host = ?, "
                "log_sha256 = ?, checks = ?, why = NULL WHERE key = ? AND state != ?",
                (
                    *(FLOWN, outcome.verdict, outcome.exit_code, outcome.ended, outcome.wall_s, outcome.host),
                    *(outcome.log_sha256, json.dumps(outcome.checks), key, FLOWN),
                ),
            ).rowcount
            if changed:
                database.executemany(
                    "INSERT OR REPLACE INTO metric VALUES (?, ?, ?)",
                    [(key, name, value) for name, value in outcome.metrics.items()],
                )

    def not_flown(self, key: str, why: str, *, exit_code: int, retries: int) -> bool:
        """It could not be flown; whether it is aborted."""
        with self._writing() as database:
            ((attempt,),) = database.execute("SELECT attempt FROM flight WHERE key = ?", (key,)).fetchall()
            aborted = attempt + 1 > retries
            database.execute(
                "UPDATE flight SET attempt = ?, state = ?, why = ?, exit_code = ? WHERE key = ? AND state != ?",
                (attempt + 1, ABORTED if aborted else PLANNED, why, exit_code, key, FLOWN),
            )
        return bool(aborted)

    def rows(self, state: str | None = None) -> list[Row]:
        """Of the present design, by number."""
        asked = "SELECT " + _COLUMNS + " FROM flight WHERE planned = 1"
        found = self._database.execute(
            f"{asked}{' AND state = ?' if state else ''} ORDER BY number", (state,) if state else ()
        )
        return [_row(each) for each in found]

    def metrics(self) -> dict[str, dict[str, float]]:
        """Of the present design: key of the flight -> name -> value."""
        found: dict[str, dict[str, float]] = {}
        asked = "SELECT metric.key, name, value FROM metric JOIN flight USING (key) WHERE planned = 1"
        for key, name, value in self._database.execute(asked):
            found.setdefault(key, {})[name] = math.nan if value is None else value
        return found

    def not_counted(self, edition: str) -> tuple[int, int]:
        """Flights that were flown and are not of the present design: of other editions, and of this one."""
        asked = "SELECT count(*) FILTER (WHERE edition != ?), count(*) FILTER (WHERE edition = ?) FROM flight "
        asked += "WHERE planned = 0 AND state = 'flown'"
        ((others, own),) = self._database.execute(asked, (edition, edition)).fetchall()
        return int(others), int(own)

    # Flights of a batch.

    def add_block(self, design: str, edition: str, block: Block) -> None:
        """One transaction; what was there from this flight on is replaced."""
        columns = (block.params.astype("<f8"), block.noise.astype("<u4"), block.metrics.astype("<f4"))
        with self._writing() as database:
            database.execute(
                "INSERT OR REPLACE INTO block VALUES (?, ?, ?, ?, ?, ?, ?)",
                (design, block.first, len(block.noise), edition, *(column.tobytes() for column in columns)),
            )

    def blocks(self, design: str) -> Iterator[Block]:
        """In the order of their first flights."""
        asked = "SELECT first, count, params, noise, metrics FROM block WHERE design = ? ORDER BY first"
        for first, count, params, noise, metrics in self._database.execute(asked, (design,)):
            yield Block(
                first,
                np.frombuffer(params, "<f8").reshape(-1, count),
                np.frombuffer(noise, "<u4"),
                np.frombuffer(metrics, "<f4").reshape(-1, count),
            )

    def flown_blocks(self, design: str) -> list[tuple[int, int]]:
        """First flight and number of flights of each."""
        asked = "SELECT first, count FROM block WHERE design = ? ORDER BY first"
        return [(int(first), int(count)) for first, count in self._database.execute(asked, (design,))]

    def blocks_not_counted(self, design: str, edition: str) -> tuple[int, int]:
        """Flights of other designs: of other editions, and of this one."""
        asked = "SELECT coalesce(sum(count) FILTER (WHERE edition != ?), 0), "
        asked += "coalesce(sum(count) FILTER (WHERE edition = ?), 0) FROM block WHERE design != ?"
        ((others, own),) = self._database.execute(asked, (edition, edition, design)).fetchall()
        return int(others), int(own)


@dataclass(frozen=True)
class Block:
    """Flights of a batch."""

    first: int  # number of the first, from 0 on
    params: NDArray[Any]  # (parameters, flights), of the campaign's file, in its order
    noise: NDArray[Any]  # (flights,)
    metrics: NDArray[Any]  # (metrics, flights)


def _storage(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _row(found: tuple[Any, ...]) -> Row:
    key, number, state, attempt, params, seed, verdict, exit_code, ended, wall_s, log_sha256, why, checks = found
    return Row(
        *(key, number, state, attempt, json.loads(params), seed, verdict, exit_code, ended, wall_s, log_sha256, why),
        checks=tuple(json.loads(checks or "[]")),
    )
