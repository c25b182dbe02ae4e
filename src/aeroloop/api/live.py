"""A flight in the background that a program pauses, steps, changes, ends and restarts.

flight = aeroloop.start("quad-hover", paused=True)
flight.step(100)
flight.change("world.wind.steady_W", (4.0, 0.0, 0.0))
flight.resume()
run = flight.wait()
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aeroloop.api import flying
from aeroloop.api.run import Run
from aeroloop.api.scenarios import ScenarioPlan
from aeroloop.core.changes import ChangeOffer
from aeroloop.core.errors import LinkError
from aeroloop.core.fault_offers import Offer
from aeroloop.core.frames import Vec3
from aeroloop.flight.flight_control import FlightControl, part_of
from aeroloop.flight.processes.common import LaunchSettings

START_S = 120.0


class LiveFlight:
    """A flight that runs in a thread of this program; `aeroloop.start` makes it."""

    def __init__(self, scenario: Any, options: Mapping[str, Any]) -> None:
        self._scenario, self._options = scenario, dict(options)
        self._began, self._ended = threading.Event(), threading.Event()
        self._launch: LaunchSettings | None = None
        self._run: Run | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._fly, name="aeroloop flight", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._began.is_set() and not self._ended.is_set()

    @property
    def paused(self) -> bool:
        return self._control().paused

    def pause(self) -> float:
        """Stop simulated time between two steps; returns it, in s."""
        return self._control().pause()

    def resume(self) -> None:
        """Let simulated time go on."""
        self._control().resume()

    def step(self, count: int = 1) -> float:
        """Advance by so many steps of the simulation, and pause; returns the simulated time then, in s."""
        return self._control().step(count)

    def set_speed(self, speed: float | str) -> None:
        """Simulated seconds a second from now on: a number, "real", or in lockstep "max"."""
        self._control().set_speed(speed)

    def change(self, key: str, value: float | tuple[float, ...], *, vehicle: int = 0, part: str = "") -> None:
        """Set wind, mass or battery before the next step (`changes` lists the keys); `part`: which of a fleet."""
        self._control(part).change(key, value, vehicle=vehicle)

    def fault(
        self,
        target: str,
        kind: str,
        *,
        on: bool = True,
        channel: str = "",
        value: float | Vec3 | None = None,
        vehicle: int = 0,
        part: str = "",
    ) -> None:
        """Switch a fault before the next step (docs/faults.md); without a value the usual one."""
        self._control(part).fault(target, kind, on=on, channel=channel, value=value, vehicle=vehicle)

    def changes(self, part: str = "") -> tuple[ChangeOffer, ...]:
        """The quantities that can be changed in flight, with units and limits."""
        return self._control(part).changes()

    def faults(self, part: str = "") -> tuple[Offer, ...]:
        """The faults that can be switched in flight."""
        return self._control(part).faults()

    def restart(self) -> None:
        """Fly the same plan again, from its start and into another folder; `wait` gives the last run."""
        control = self._control()
        self._began.clear()
        self._launch = None
        control.restart()

    def end(self) -> None:
        """End the flight now; its checks are evaluated."""
        self._control().end()

    def wait(self, timeout_s: float | None = None) -> Run:
        """The run, when the flight has ended; LinkError after the timeout. Errors are those of `aeroloop.fly`."""
        if not self._ended.wait(timeout_s):
            raise LinkError(f"the flight has not ended within {timeout_s:g} s")
        if self._error is not None:
            raise self._error
        assert self._run is not None
        return self._run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Ends a flight that is still running, and waits for it."""
        if not self._ended.is_set():
            with suppress(LinkError):  # it has ended meanwhile
                self.end()
        self._thread.join()

    def _fly(self) -> None:
        try:
            self._run = flying.fly(self._scenario, **self._options, began=self._begin)
        except BaseException as error:  # for `wait`, in the caller's thread
            self._error = error
        finally:
            self._ended.set()
            self._began.set()

    def _begin(self, launch: LaunchSettings) -> None:
        self._launch = self._launch or launch
        self._began.set()

    def _control(self, part: str = "") -> FlightControl:
        if not self._began.wait(START_S):
            raise LinkError(f"the flight has not started within {START_S:g} s")
        if self._ended.is_set():
            if self._error is not None:
                raise self._error
            raise LinkError("the flight has ended")
        assert self._launch is not None
        return FlightControl(part_of(self._launch, part) if part else self._launch)


def start(scenario: str | Path | Mapping[str, Any] | ScenarioPlan, **options: Any) -> LiveFlight:
    """Fly in the background; `scenario` and `options` as for `aeroloop.fly`. `paused=True`: it stands at its start."""
    return LiveFlight(scenario, options)
