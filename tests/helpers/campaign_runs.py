"""Campaigns of flights of half a second as commands in the background, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from aeroloop.campaign.store import DATABASE, Store
from aeroloop.core.errors import ConfigError
from aeroloop.realtime.limits import SHARED_MEMORY

SHORT: dict[str, Any] = {
    "name": "short",
    "summary": "A second of the spiral",
    "duration_s": 0.6,
    "world": {"start": "moving"},
    "ground": {"trajectory": {"kind": "spiral"}},
    "checks": [{"metric": "pos_max_m", "below": 0.5}],
}
DELAY = {"key": "link.to_plant.delay_s", "uniform": [0.0, 0.004]}
PATIENCE_S = 120.0


def write_files(folder: Path, flights: int) -> Path:
    table = {"name": "quick", "scenario": "short.toml", "flights": flights, "parameter": [DELAY]}
    (folder / "short.toml").write_text(tomli_w.dumps(SHORT))
    (folder / "quick.toml").write_text(tomli_w.dumps(table))
    return folder / "quick.toml"


def start(folder: Path, *more: str, mark: str = "", env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """`aeroloop campaign run quick.toml` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "aeroloop.cli", "campaign", "run", "quick.toml", "--out", "out", *more],
        cwd=folder,
        env={**os.environ, **(env or {}), "AEROLOOP_MARK": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """Whatever must not depend on how the flights were distributed."""
    store = Store(folder)
    metrics = store.metrics()
    found = [
        (
            *(row.key, row.number, row.state, row.values, row.seed, row.verdict, row.log_sha256, row.checks),
            metrics.get(row.key),
        )
        for row in store.rows()
    ]
    store.close()
    return found


def rows_flown(folder: Path) -> dict[str, tuple[Any, ...]]:
    """By key; empty while there is no database."""
    if not (folder / DATABASE).exists():
        return {}
    try:
        store = Store(folder)
    except ConfigError:  # its tables are being made
        return {}
    try:
        return {
            row.key: (row.number, row.log_sha256, row.wall_s, row.attempt)
            for row in store.rows()
            if row.state == "flown"
        }
    finally:
        store.close()


def processes(marked: str, words: str = "") -> list[int]:
    """With a text in their environment, and words in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if marked.encode() in (path / "environ").read_bytes() and words.encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def left_behind(runtime: Path, seen: set[str]) -> list[str]:
    """Folders and files of flights but for locks, their shared memory, and sockets that are still bound."""
    folders = [path.name for path in runtime.iterdir() if path.suffix != ".lock"]
    memory = [path.name for path in SHARED_MEMORY.iterdir() if any(path.name.startswith(f"{name}_") for name in seen)]
    sockets = [line for line in Path("/proc/net/unix").read_text().splitlines() if str(runtime) in line]
    return [*folders, *memory, *sockets]


def wait_for(condition: Callable[[], Any], within_s: float = PATIENCE_S) -> None:
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)
