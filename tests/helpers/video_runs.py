"""Runs for the tests of films: a folder with a log whose aircraft fly circles of a known radius and rate."""

from __future__ import annotations

import math
from pathlib import Path

from aeroloop.core.fleet import Plan, parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.paths import EXAMPLES, SCENARIOS
from aeroloop.core.streams import channels
from aeroloop.flight.results import LOG, make_folder
from aeroloop.recording.log import LogWriter

RADIUS_M, RATE_RAD_S = 6.0, 0.5
PERIOD_S = 0.05
HEIGHTS_M = {"fixedwing-loiter": 640.0, "rrr-circle": 0.1}


def plan_of(name: str) -> Plan:
    return load_plan((EXAMPLES / "aircraft" if name == "rocket-hop" else SCENARIOS) / f"{name}.toml")


def height_m(name: str) -> float:
    return HEIGHTS_M.get(name, 5.0)


def position(name: str, t_s: float, number: int = 0) -> tuple[float, float, float]:
    radius_m, angle = (0.02 if name == "rrr-circle" else RADIUS_M), RATE_RAD_S * t_s
    return radius_m * math.cos(angle) + 3.0 * number, radius_m * math.sin(angle), height_m(name)


def yaw_rad(name: str, t_s: float) -> float:
    """Along the circle."""
    return 0.0 if name == "rrr-circle" else RATE_RAD_S * t_s + math.pi / 2


def made(folder: Path, name: str, duration_s: float = 2.0, plan: Plan | None = None) -> Path:
    """The run of a shipped scenario, with rows of `truth` alone."""
    plan = plan or plan_of(name)
    make_folder(folder, plan)
    streams = {stream.name: stream for stream in channels(plan) if stream.logged}
    writer = LogWriter(folder / LOG, list(streams.values()))
    writer.begin(0)
    for step in range(round(duration_s / PERIOD_S) + 1):
        t_s = step * PERIOD_S
        number = 0
        for part in parts_of(plan):
            for vehicle in range(part.aircraft.count):
                stream = streams[f"{prefix(plan, part)}truth"]
                w, x, y, z = quat_from_euler(0.0, 0.0, yaw_rad(name, t_s))
                east, north, up = position(name, t_s, number)
                values = {"t_s": t_s, "vehicle": vehicle, "x_m": east, "y_m": north, "z_m": up}
                values |= {"qw": w, "qx": x, "qy": y, "qz": z}
                writer.write(stream, tuple(values.get(column, 0.0) for column in stream.names))
                number += 1
    writer.close()
    return folder
