"""Scenario tables of references: their sender and their trajectory."""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.impairment import Impairment
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.planning.route_limits import Limits


class Spiral(Config, frozen=True, tag_field="kind", tag="spiral"):
    """The paper's spiral: `turns` circles of `radius_m` while climbing `height_m`, starting at `start_W`."""

    radius_m: Annotated[float, meta("m", "radius", gt=0, le=1e4)] = 5.0
    height_m: Annotated[float, meta("m", "climb over the whole trajectory", ge=-1e4, le=1e4)] = 10.0
    turns: Annotated[float, meta("-", "number of circles", gt=0, le=1000)] = 3.0
    period_s: Annotated[float, meta("s", "time for all turns", gt=0, le=1e5)] = 60.0
    start_W: Annotated[Vec3, meta("m", "first point")] = (2.0, 0.0, 0.5)


class Hover(Config, frozen=True, tag_field="kind", tag="hover"):
    """Stay at one point."""

    pos_W: Annotated[Vec3, meta("m", "the point")] = (0.0, 0.0, 2.0)
    yaw_rad: Annotated[float, meta("rad", "heading", ge=-3.2, le=3.2)] = 0.0


class Circle(Config, frozen=True, tag_field="kind", tag="circle"):
    """A level circle, started on its easternmost point."""

    center_W: Annotated[Vec3, meta("m", "centre")] = (0.0, 0.0, 3.0)
    radius_m: Annotated[float, meta("m", "radius", gt=0, le=1e4)] = 3.0
    period_s: Annotated[float, meta("s", "time for one turn", gt=0, le=1e5)] = 20.0


class Lemniscate(Config, frozen=True, tag_field="kind", tag="lemniscate"):
    """A level figure of eight (Gerono), started at its crossing."""

    center_W: Annotated[Vec3, meta("m", "crossing point")] = (0.0, 0.0, 3.0)
    size_m: Annotated[float, meta("m", "half length; it is half as wide", gt=0, le=1e4)] = 4.0
    period_s: Annotated[float, meta("s", "time for one figure", gt=0, le=1e5)] = 30.0


class Waypoints(Config, frozen=True, tag_field="kind", tag="waypoints"):
    """Points from a CSV file (`t_s,x_m,y_m,z_m` and optionally `yaw_rad`), with a rest at each point."""

    file: Annotated[str, note("path of the CSV file, relative to the scenario file")]


class Route(Config, frozen=True, tag_field="kind", tag="route"):
    """A smooth curve through the points of a CSV file (`x_m,y_m,z_m` and optionally `speed_m_s`, from the point on),
    from rest to rest as fast as the limits permit. `aeroloop trajectory` and the dashboard write such files."""

    file: Annotated[str, note("path of the CSV file, relative to the scenario file")]
    limits: Annotated[Limits, note("limits of the flight along the curve")] = Limits()
    fit: Annotated[
        bool, note("slow down where bends and slopes need it; without it the speeds of the points are flown as given")
    ] = True
    heading: Annotated[
        Literal["fixed", "along"], note("`fixed`: `yaw_rad`; `along`: with the path, turning where it stops")
    ] = "fixed"
    yaw_rad: Annotated[float, meta("rad", "heading, if fixed", ge=-3.2, le=3.2)] = 0.0
    start_s: Annotated[float, meta("s", "rest at the first point before it begins", ge=0, le=86400)] = 0.0
    offset_W: Annotated[Vec3, meta("m", "added to every point")] = (0.0, 0.0, 0.0)


Trajectory = Spiral | Hover | Circle | Lemniscate | Waypoints | Route


class GroundStationSettings(Config, frozen=True):
    """The source of the board's references."""

    source: Annotated[
        Literal["base-station", "joystick", "external"],
        note("sender on the reference link; `external`: a command in another terminal"),
    ] = "base-station"
    url: Annotated[str, note("the reference link, as for `link.url`")] = "loopback://"
    trajectory: Annotated[Trajectory, note("trajectory sent by the base station")] = Spiral()
    velocity_feedforward: Annotated[bool, note("send the trajectory's velocity, not only its position")] = True
    joystick_device: Annotated[str, note("`/dev/input/event*`, or empty for the first stick found")] = ""
    joystick_map: Annotated[str, note("axis map file, or empty for the default map of Aeroloop")] = ""
    joystick_recording: Annotated[str, note("recorded event stream to fly instead of a joystick")] = ""
    impair: Annotated[Impairment, note("impairment of the link to the board")] = Impairment()


def ground_of(scenario: Scenario) -> GroundStationSettings | None:
    """Source of the references of its board; None if the scenario's controller takes none."""
    ground = value_at(scenario, "ground")
    return ground if isinstance(ground, GroundStationSettings) else None
