"""The companion computer of a flight: the pad it looks for (`[pad]`), how it lands on it (`[landing]`), and the map it
makes (`[slam]`).

A companion is a process of its own. It gets frames, the camera's calibration and MAVLink, and never the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from aeroloop.core.camera import Camera, fitted
from aeroloop.core.config import Config, meta, note

LEAST_LATENCY_S = 0.02
"""In lockstep poses reach the camera process a few rows of the log after their time."""


class Pad(Config, frozen=True):
    """The landing pad on the ground (docs/precision-landing.md). It drives along its heading, and turns."""

    pos_m: Annotated[tuple[float, float], meta("m", "middle of the pad at the start of the flight: east, north")] = (
        0.0,
        0.0,
    )
    yaw_deg: Annotated[float, meta("deg", "rotation of the board at the start, counter-clockwise from above")] = 0.0
    scale: Annotated[float, meta("-", "size relative to the board of 1.10 m", ge=0.05, le=20)] = 1.0
    heading_deg: Annotated[float, meta("deg", "direction of motion at the start, from east counter-clockwise")] = 0.0
    speed_m_s: Annotated[float, meta("m/s", "speed; 0: at rest", ge=0, le=5)] = 0.0
    turn_deg_s: Annotated[float, meta("deg/s", "rate of turn, counter-clockwise", ge=-90, le=90)] = 0.0

    def at(self, t_s: float) -> tuple[float, float, float]:
        """East and north in m, and the board's rotation in rad."""
        (x, y), turn = self.pos_m, math.radians(self.turn_deg_s)
        start, way_m, turned = math.radians(self.heading_deg), self.speed_m_s * t_s, turn * t_s
        middle = start + turned / 2.0  # a circular arc: its chord has the heading of its middle
        chord_m = way_m * (math.sin(turned / 2.0) / (turned / 2.0) if abs(turned) > 1e-9 else 1.0)
        yaw = math.radians(self.yaw_deg) + turned
        return x + chord_m * math.cos(middle), y + chord_m * math.sin(middle), yaw


class Landing(Config, frozen=True):
    """Landing on the pad."""

    use: Annotated[
        Literal["vision", "gps", "external"],
        note(
            "`gps`: the same flight without a companion, for comparison; `external`: a companion outside of the flight "
            "sends the targets (docs/precision-landing.md)"
        ),
    ] = "vision"
    camera: Annotated[str, note("name of the camera that looks for the pad; empty: the first")] = ""
    by: Annotated[
        Literal["autopilot", "companion"],
        note("`autopilot`: LANDING_TARGET, the autopilot lands; `companion`: it lands by offboard setpoints"),
    ] = "autopilot"
    frame: Annotated[
        Literal["local_ned", "body_frd"],
        note("frame of LANDING_TARGET: `local_ned` for PX4 and the virtual Pixhawk, `body_frd` for ArduPilot"),
    ] = "local_ned"
    without: Annotated[
        Literal["land", "hold"], note('`by = "companion"`: when the pad is not found, land by GPS or hold')
    ] = "land"
    rest_height_m: Annotated[
        float, meta("m", '`by = "companion"`: height of the aircraft\'s origin when it stands', ge=0, le=5)
    ] = 0.055
    compute_s: Annotated[
        float, meta("s", "lockstep: simulated time from a frame's delivery to the companion's messages", ge=0, le=1)
    ] = 0.0

    @property
    def precise(self) -> bool:
        """Whether the autopilot lands on targets, its own companion's or others'."""
        return self.use != "gps" and self.by == "autopilot"


class Slam(Config, frozen=True):
    """Map and path by RGB-D graph-SLAM, in flight (docs/slam.md). The flight does not use the result."""

    camera: Annotated[str, note("name of the camera, which must have depth; empty: the first that has")] = ""
    features: Annotated[Literal["orb", "sift", "icp"], note("front end")] = "orb"
    loops: Annotated[bool, note("`false`: odometry alone")] = True


def watched(cameras: Sequence[Camera], landing: Landing | None, slam: Slam | None) -> int | None:
    """Index of the camera whose frames the companion gets; None without a companion."""
    if slam is not None:
        first = next((camera.name for camera in cameras if fitted(camera).depth is not None), "")
        return _named(cameras, slam.camera or first)
    return landing_camera(cameras, landing) if landing is not None and landing.use == "vision" else None


def landing_camera(cameras: Sequence[Camera], landing: Landing) -> int | None:
    """Index of the camera that looks for the pad, whoever gets its frames."""
    return _named(cameras, landing.camera or (cameras[0].name if cameras else ""))


def _named(cameras: Sequence[Camera], name: str) -> int | None:
    names = [camera.name for camera in cameras]
    return names.index(name) if name in names else None


def lacking(
    cameras: Sequence[Camera], pad: Pad | None, landing: Landing | None, slam: Slam | None, *, lockstep: bool
) -> str:
    """What does not match between the companion and its flight, in one sentence; "": nothing."""
    if landing is not None and slam is not None:
        return "slam: the flight has [landing] too; expected one task of the companion"
    if landing is not None and pad is None:
        return "landing: expected a [pad] to land on"
    if landing is not None and landing.use == "external" and lockstep:
        return 'landing.use: lockstep does not wait for an external companion; expected pace = "real"'
    key = "slam" if slam is not None else "landing"
    if (slam is None and landing is None) or (landing is not None and landing.use != "vision"):
        return ""
    index = watched(cameras, landing, slam)
    if index is None:
        names = ", ".join(camera.name for camera in cameras) or "none"
        kind = " with depth" if slam is not None else ""
        return f"{key}.camera: expected one of [[cameras]]{kind}; the flight has: {names}"
    camera = cameras[index]
    if slam is not None and fitted(camera).depth is None:
        return f"slam.camera: {camera.name} has no depth; expected a camera such as preset rgbd"
    if slam is not None and any(camera.lens):
        return f"cameras[{index}].lens: expected zeros for SLAM, which has no model of distortion"
    if landing is not None and lockstep and camera.latency_s < LEAST_LATENCY_S:
        return (
            f"cameras[{index}].latency_s: expected at least {LEAST_LATENCY_S:g} s with a companion in lockstep, "
            f"not {camera.latency_s:g}"
        )
    return ""
