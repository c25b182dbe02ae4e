"""Threads that fly with the hands of a page: references for a board, stick messages for an autopilot.

Each stops when it is told to, when the flight ends, or when the page is gone; then the board holds its last reference,
and the autopilot does what its own failsafe says.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.core.frames import euler_from_quat
from aeroloop.core.streams import BY_NAME
from aeroloop.dashboard import readings
from aeroloop.dashboard.sticks import HandAxes, Hands, Shaper, mapping
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.processes.common import Orders
from aeroloop.flight.processes.ground import Source, StickSource, run_wall
from aeroloop.ground.lock import claim
from aeroloop.ground.stick import Deflection
from aeroloop.ground.trajectories import REST, Point
from aeroloop.links.open import open_link
from aeroloop.realtime.topics import Topics

OWNER = "the dashboard's sticks"
STICK_PERIOD_S = 0.05
"""Autopilots take sticks as lost after half a second."""
JOIN_S = 2.0
NO_FLIGHT = "no flight is running"


class Driver(ABC):
    """A thread that drives until somebody ends it; `ended` says why, in a sentence."""

    def __init__(self, hands: Hands, over: Callable[[], bool]) -> None:
        self._hands = hands
        self._flight_over = over
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sticks", daemon=True)
        self.ended = ""
        self.failed = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(JOIN_S)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def over(self) -> bool:
        return self._stop.is_set() or self._flight_over() or self._hands.gone

    @abstractmethod
    def drive(self) -> None:
        """Until `over()`; whatever it raises becomes `ended`."""

    def _run(self) -> None:
        try:
            self.drive()
        except Exception as error:  # the topics have errors of their own, and a thread that dies says nothing
            self.failed = not self._flight_over()
            words = str(error) if isinstance(error, AeroloopError) else f"the sticks cannot drive: {error!r}"
            self.ended = words if self.failed else "the flight has ended"
            return
        if self._stop.is_set():
            self.ended = "released"
        elif self._flight_over():
            self.ended = "the flight has ended"
        else:
            self.failed, self.ended = True, "the page that had the sticks is gone; they were released"


class ReferenceDriver(Driver):
    """Drives the reference link of a flight with a board, from where the aircraft is, after the flight's clock."""

    def __init__(self, orders: Orders, hands: Hands, here: Point) -> None:
        """ConfigError where sticks cannot drive, or another program does."""
        super().__init__(hands, lambda: not orders.folder_path.exists())
        scenario = orders.tiltrotor
        if scenario.lockstep:
            raise ConfigError("this flight runs in lockstep with its own base station; fly with --pace real")
        self._orders = orders
        self._source = reference_source(hands, orders, here)
        self._claim = claim(orders.reference_client, OWNER)
        self._claim.__enter__()  # here, so that whoever asked gets the sentence; the thread gives it back

    def drive(self) -> None:
        try:
            topics = Topics(self._orders.folder_path, wait=False)
            clock, publish = topics.subscriber(BY_NAME["clock"]), topics.publisher(BY_NAME["reference"])
            link = open_link(self._orders.reference_client)
            try:
                run_wall(self._source, link, publish, clock, over=self.over)
            except LinkError:
                # At the end of a flight the board goes first, its folder last.
                self._stop.wait(JOIN_S)
                raise
            finally:
                link.close()
        finally:
            self._claim.__exit__(None, None, None)


def reference_source(hands: Hands, orders: Orders, here: Point) -> Source:
    """References that the hands fly, at the scales and inside the limits of the scenario's axis map."""
    scenario = orders.tiltrotor
    ground = scenario.ground
    return StickSource(ground, scenario, here=here, axes=HandAxes(hands), mapping=mapping(ground.joystick_map))


class AutopilotDriver(Driver):
    """Sends the hands' deflection to an autopilot, twenty times a second until the page is gone.

    Centred sticks stand for a page that stalls: silence at once would send the aircraft home at every hiccup.
    """

    def __init__(self, send: Callable[[Deflection], None], hands: Hands, over: Callable[[], bool]) -> None:
        super().__init__(hands, over)
        self._send = send
        self._shaper = Shaper(hands)

    def drive(self) -> None:
        due_s = time.monotonic()
        while not self.over():
            self._send(self._shaper.deflection())
            due_s = max(due_s + STICK_PERIOD_S, time.monotonic())
            self._stop.wait(due_s - time.monotonic())


async def reference_driver(watched: WatchedFlight, hands: Hands, vehicle: int) -> Driver:
    """For a flight whose board takes references: from where the aircraft is."""
    if watched.orders is None or watched.scenario is None:
        raise ConfigError(NO_FLIGHT)
    pose = readings.pose(watched.store, watched.scenario, vehicle)
    if pose is None:
        raise ConfigError("the aircraft's position is not known yet; try again in a moment")
    here = Point(pose.pos_W, euler_from_quat(pose.quat_WB)[2], REST, 0.0)
    return ReferenceDriver(watched.orders, hands, here)


async def autopilot_driver(watched: WatchedFlight, hands: Hands, vehicle: int) -> Driver:
    """For a flight whose autopilot takes stick messages."""
    if watched.orders is None:
        raise ConfigError(NO_FLIGHT)
    aircraft = await watched.command(lambda each: each, vehicle)
    folder = watched.orders.folder_path

    def send(deflection: Deflection) -> None:
        aircraft.sticks(*deflection)

    return AutopilotDriver(send, hands, lambda: not folder.exists())
