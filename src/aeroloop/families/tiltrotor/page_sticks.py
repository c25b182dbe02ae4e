"""Pages that fly the tilt-rotor, with sticks or along a drawn route: references for its board, after the flight's
clock."""

from __future__ import annotations

import math

from aeroloop.controllers.law.ground_process import Source, StickSource, run_wall, setpoint_publisher
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.frames import euler_from_quat
from aeroloop.core.streams import named
from aeroloop.dashboard import readings
from aeroloop.dashboard.stick_driver import JOIN_S, NO_FLIGHT, OWNER, Driver
from aeroloop.dashboard.sticks import HandAxes, Hands, mapping
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground import trajectories
from aeroloop.ground.lock import claim
from aeroloop.ground.route_offer import DrawnRoute, joining_s
from aeroloop.ground.trajectories import REST, Point
from aeroloop.links.open import open_link
from aeroloop.realtime.topics import Topics

ROUTE_OWNER = "the dashboard's trajectory"
UNTURNED_LAW = "dlqr"


class ReferenceDriver(Driver):
    """Drives the reference link of a flight with a board, from where the aircraft is, after the flight's clock."""

    def __init__(
        self, launch: LaunchSettings, hands: Hands, here: Point, source: Source | None = None, owner: str = OWNER
    ) -> None:
        """From the sticks, or from `source`. ConfigError where a page cannot drive, or another program does."""
        super().__init__(hands, lambda: not launch.folder_path.exists())
        if launch.scenario.lockstep:
            raise ConfigError("this flight runs in lockstep with its own base station; fly with --pace real")
        self._launch = launch
        self._source = source or reference_source(hands, launch, here)
        self._claim = claim(launch.reference_client, owner)
        self._claim.__enter__()  # opened here, so that the caller gets the error; the thread releases it

    def drive(self) -> None:
        try:
            topics = Topics(self._launch.folder_path, wait=False)
            clock = topics.subscriber(named(self._launch.scenario)["clock"])
            publish = setpoint_publisher(topics, self._launch.scenario)
            link = open_link(self._launch.reference_client)
            try:
                run_wall(self._source, link, publish, clock, over=self.over)
            except LinkError:
                # At the end of a flight the board ends first, and its folder is removed last.
                self._stop.wait(JOIN_S)
                raise
            finally:
                link.close()
        finally:
            self._claim.__exit__(None, None, None)


def reference_source(hands: Hands, launch: LaunchSettings, here: Point) -> Source:
    """References from the sticks, with the scales and limits of the scenario's axis map."""
    scenario = launch.flown_by(RequestTables)
    ground = scenario.controller.ground
    return StickSource(ground, scenario, here=here, axes=HandAxes(hands), mapping=mapping(ground.joystick_map))


async def reference_driver(watched: WatchedFlight, hands: Hands, vehicle: int) -> Driver:
    """For a flight whose board takes references: starts at the aircraft's position."""
    launch, here = _flight(watched, vehicle)
    return ReferenceDriver(launch, hands, here)


async def route_driver(watched: WatchedFlight, route: DrawnRoute) -> Driver:
    """The same along a route."""
    launch, here = _flight(watched, 0)
    return ReferenceDriver(launch, Held(), here, route_source(route, launch, here, watched.store.t_s), ROUTE_OWNER)


def route_source(route: DrawnRoute, launch: LaunchSettings, here: Point, begin_s: float) -> Source:
    """References from the aircraft's position to the first point, and then to the last one, where they stay."""
    controller = launch.flown_by(RequestTables).controller
    law = controller.control.law_file or controller.control.law
    if route.heading == "along" and law == UNTURNED_LAW:
        raise ConfigError(f"heading: the law {law} of this flight is valid near yaw 0; expected a fixed heading")
    before_s = joining_s(math.dist(here.pos_W, route.points[0].pos_W))
    path = trajectories.joined(trajectories.of_route(route.timed, before_s), here, begin_s)
    return lambda t_ns: trajectories.reference_at(path, t_ns, feedforward=controller.ground.velocity_feedforward)


class Held(Hands):
    """Nobody needs to hold a route."""

    @property
    def gone(self) -> bool:
        return False


def _flight(watched: WatchedFlight, vehicle: int) -> tuple[LaunchSettings, Point]:
    """The running flight, and where its aircraft is."""
    if watched.launch is None or watched.scenario is None:
        raise ConfigError(NO_FLIGHT)
    pose = readings.pose(watched.store, watched.scenario, vehicle)
    if pose is None:
        raise ConfigError("the aircraft's position is not known yet; try again in a moment")
    return watched.launch, Point(pose.pos_W, euler_from_quat(pose.quat_WB)[2], REST, 0.0)
