"""The running flights of this machine, and the request to end one."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import runtime_dir
from aeroloop.flight.processes.common import LaunchSettings, read_launch_settings


def flights() -> list[LaunchSettings]:
    """In the order of their folders' names."""
    return [launch for launch in map(_running, sorted(runtime_dir().glob("flight-*/launch.json"))) if launch]


def chosen(wanted: str = "") -> LaunchSettings:
    """The running flight, or of several the one with this ID; for a fleet any part represents all."""
    found = {launch.supervisor_pid: launch for launch in reversed(flights()) if wanted in ("", flight_id(launch))}
    if not found:
        raise ConfigError(f"no flight{f' {wanted!r}' if wanted else ''} is running")
    if len(found) > 1:
        names = ", ".join(map(flight_id, found.values()))
        raise ConfigError(f"several flights are running; choose one with --flight: {names}")
    return next(iter(found.values()))


def flight_id(launch: LaunchSettings) -> str:
    return Path(launch.folder).name.removeprefix("flight-")


def _running(path: Path) -> LaunchSettings | None:
    try:
        launch = read_launch_settings(path)
        os.kill(launch.supervisor_pid, 0)
    except (OSError, msgspec.MsgspecError):
        return None  # ended, or not yet written
    return launch
