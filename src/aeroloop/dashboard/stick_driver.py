"""Threads that send the stick input of a page: references for a board, stick messages for an autopilot.

Each stops on request, when the flight ends, or when the page is closed; then the board holds its last reference, and
the autopilot's own failsafe applies.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.dashboard.sticks import Hands, Shaper
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.stick import Deflection

OWNER = "the dashboard's sticks"
STICK_PERIOD_S = 0.05
"""Autopilots count sticks as lost after half a second."""
JOIN_S = 2.0
NO_FLIGHT = "no flight is running"


class Driver(ABC):
    """A thread that sends until it is ended; `ended` is the reason."""

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
        """Run until `over()`; any exception becomes `ended`."""

    def _run(self) -> None:
        try:
            self.drive()
        except Exception as error:  # the topics have their own exceptions, and a thread that dies would not report them
            self.failed = not self._flight_over()
            words = str(error) if isinstance(error, AeroloopError) else f"the sticks failed: {error!r}"
            self.ended = words if self.failed else "the flight has ended"
            return
        if self._stop.is_set():
            self.ended = "released"
        elif self._flight_over():
            self.ended = "the flight has ended"
        else:
            self.failed, self.ended = True, "the page that had the sticks was closed; sticks released"


class AutopilotDriver(Driver):
    """Sends the stick deflection to an autopilot, twenty times a second until the page is closed.

    For a page that stalls, centred sticks are sent: sending nothing would trigger the failsafe at every short stall.
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


async def autopilot_driver(watched: WatchedFlight, hands: Hands, vehicle: int) -> Driver:
    """For a flight whose autopilot accepts stick messages."""
    if watched.launch is None:
        raise ConfigError(NO_FLIGHT)
    aircraft = await watched.command(lambda each: each, vehicle)
    folder = watched.launch.folder_path

    def send(deflection: Deflection) -> None:
        aircraft.sticks(*deflection)

    return AutopilotDriver(send, hands, lambda: not folder.exists())
