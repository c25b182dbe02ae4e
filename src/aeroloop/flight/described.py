"""Descriptions for the well-known topics of a flight: names, shapes, positions on the earth, terrain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from aeroloop.core import geodesy
from aeroloop.core.errors import AeroloopError
from aeroloop.core.fault_offers import offers, words
from aeroloop.core.frames import Quat, Vec3, quat_product
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.shape import Shape, box, of_scenario
from aeroloop.core.signals import Origin
from aeroloop.core.stream import SETPOINT, Track
from aeroloop.core.tables import part
from aeroloop.recording.scene_messages import TerrainMesh
from aeroloop.recording.well_known import WORLD, Described, Row
from aeroloop.world.placed_objects import PlacedObject
from aeroloop.world.placed_objects import of_scenario as objects_of
from aeroloop.world.relief import mesh, of_config, shaded
from aeroloop.world.terrain import Level

GROUND_POINTS = 64
"""Maximum number of points of the terrain mesh along either side."""


def described(parts: Sequence[tuple[Scenario, str]], notice: Callable[[str], None] = lambda _: None) -> list[Described]:
    """The descriptions of all parts of a flight, each given by scenario and prefix. `notice`: what cannot be drawn, and
    why."""
    first = _origin(parts[0][0])
    several = len(parts) > 1 or parts[0][0].aircraft.count > 1
    return [_described(scenario, prefix, first, several, notice) for scenario, prefix in parts]


def _described(
    scenario: Scenario, prefix: str, first: Origin | None, several: bool, notice: Callable[[str], None]
) -> Described:
    origin, track = _origin(scenario), _setpoint(scenario)
    elsewhere = None if origin is None or first is None or origin == first else _placed(first, origin)
    height_m = value_at(scenario, track.height)
    return Described(
        names=names(prefix, scenario.aircraft.count),
        shape=_shape(scenario, notice),
        labelled=several,
        setpoint=track,
        setpoint_height_m=float(height_m) if isinstance(height_m, int | float) else math.nan,
        origin=origin,
        ground=_ground(scenario),
        frame=f"{prefix}{WORLD}" if elsewhere is not None else WORLD,
        frame_in_world=elsewhere,
        prefix=prefix,
        objects=_objects(scenario),
        fault_words=_fault_words(scenario),
    )


def names(prefix: str, count: int) -> tuple[str, ...]:
    """Names of the aircraft of a part in topics and frames: for a fleet the part's name, otherwise the number."""
    own = prefix.rstrip("/")
    if count == 1:
        return (own or "0",)
    return tuple(f"{own}-{number}" if own else str(number) for number in range(count))


def _origin(scenario: Scenario) -> Origin | None:
    home = value_at(scenario, "world.home")
    return None if home is None else Origin(home.lat_deg, home.lon_deg, home.alt_m)


def _setpoint(scenario: Scenario) -> Track:
    reference = scenario.family.setpoint
    track: Track = part(reference) if reference else SETPOINT
    return track


def _shape(scenario: Scenario, notice: Callable[[str], None]) -> Shape:
    try:
        return of_scenario(scenario)
    except AeroloopError as error:  # a log without the shape is better than none
        notice(f"{error}; the log shows a box")
        return box()


def _ground(scenario: Scenario) -> TerrainMesh | None:
    """None for level ground, which needs no mesh."""
    config = value_at(scenario, "world.terrain")
    if config is None or isinstance(config, Level):
        return None
    try:
        easts, norths, heights = mesh(of_config(config), GROUND_POINTS)
    except AeroloopError:  # its file is missing: a log without terrain is better than none
        return None
    return TerrainMesh(easts, norths, heights, shaded(easts, norths, heights, heights))


def _objects(scenario: Scenario) -> tuple[PlacedObject, ...]:
    try:
        return objects_of(scenario)
    except AeroloopError:  # a mesh is missing: a log without objects is better than none
        return ()


def _fault_words(scenario: Scenario) -> Callable[[Row], str]:
    def description(row: Row) -> str:
        return words(row, offers(scenario))

    return description


def _placed(first: Origin, origin: Origin) -> tuple[Vec3, Quat]:
    """Position and orientation of one world frame in another."""
    w, x, y, z = _axes(first)
    return geodesy.local(first, origin.lat_deg, origin.lon_deg, origin.alt_m), quat_product(
        (w, -x, -y, -z), _axes(origin)
    )


def _axes(origin: Origin) -> Quat:
    """Earth-centred axes from east, north and up: a rotation about z to the east, then about that axis until z is
    up."""
    east, up = math.radians(origin.lon_deg + 90.0) / 2, math.radians(90.0 - origin.lat_deg) / 2
    return quat_product((math.cos(east), 0.0, 0.0, math.sin(east)), (math.cos(up), math.sin(up), 0.0, 0.0))
