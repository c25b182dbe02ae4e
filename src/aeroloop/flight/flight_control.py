"""Control of a running flight for pages, command line and Python: pause, steps, speed, faults, changes, end, restart.

What the flight cannot do is refused here in one sentence; the plant checks again.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from aeroloop.core.change_offers import change_offers, checked
from aeroloop.core.changes import Change, ChangeOffer
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.fault_offers import Offer, check_switch, offers
from aeroloop.core.faults import Switch
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.flight.processes.common import LAUNCH_FILE, LaunchSettings, read_launch_settings
from aeroloop.realtime.controls import UNLIMITED, Controls, Ender
from aeroloop.realtime.flight_clock import ClockIn, ClockState

ANSWER_S = 10.0
"""Wall time for the plant to pause; one that waits for its board cannot."""
LOOK_S = 0.005
FASTEST = ("max", "lockstep")
"""Words for the speed of lockstep that nothing limits."""


def speed_of(text: str | float) -> float:
    """`0.25`, `4x`, `real` or `max`; ConfigError if it is none of them."""
    if text in FASTEST:
        return UNLIMITED
    if text == "real":
        return 1.0
    try:
        speed = float(str(text).removesuffix("x"))
    except ValueError:
        speed = math.nan
    if not (math.isfinite(speed) and speed > 0.0):
        raise ConfigError(f"speed: expected a number of times real time such as 0.25, or real or max; not {text!r}")
    return speed


class FlightControl:
    """One part of a running flight; pause, steps, speed and end concern the whole flight."""

    def __init__(self, launch: LaunchSettings) -> None:
        self.launch = launch
        self._controls, self._clock = Controls(launch.folder_path), ClockIn(launch.folder_path, launch.scenario.speed)

    @property
    def state(self) -> ClockState:
        return self._clock.state

    @property
    def paused(self) -> bool:
        return self.state.paused

    def pause(self) -> float:
        """Returns the simulated time at which it stands, in s."""
        number = self.state.number if not self.paused else -1
        self._controls.pause()
        return self._stands(number)

    def resume(self) -> None:
        self._controls.resume()

    def step(self, count: int = 1) -> float:
        """Advance by so many steps of the simulation, and pause; returns the simulated time then, in s."""
        number = self.state.number
        self._controls.step(count)
        return self._stands(number)

    def set_speed(self, speed: str | float) -> None:
        """Simulated seconds a second, or `real` or `max`."""
        wanted = speed_of(speed)
        scenario = self.launch.scenario
        if scenario.fixed_speed:
            raise ConfigError(scenario.fixed_speed)
        if wanted == UNLIMITED and not scenario.lockstep:
            raise ConfigError("speed: only lockstep can fly as fast as possible; expected a number")
        self._controls.set_speed(wanted)

    def change(self, key: str, value: float | tuple[float, ...], *, vehicle: int = 0) -> None:
        """Set wind, mass or battery before the next step."""
        change = convert({"change": key, "value": value, "vehicle": vehicle}, Change, "change")
        checked(change, self.launch.scenario, self.changes())
        self._controls.change(change)

    def fault(
        self,
        target: str,
        kind: str,
        *,
        on: bool = True,
        channel: str = "",
        value: float | Vec3 | None = None,
        vehicle: int = 0,
    ) -> None:
        """Switch a fault before the next step; without a value the usual one."""
        if value is None:
            alike = [offer for offer in self.faults() if (offer.target, offer.kind) == (target, kind)]
            fitting = [offer for offer in alike if not channel or channel in offer.channels]
            value = fitting[0].value if fitting else 0.0
        table = {"target": target, "kind": kind, "on": on, "channel": channel, "vehicle": vehicle}
        switch = convert({**table, "value": value if on else 0.0}, Switch, "fault")
        check_switch(self.launch.scenario, switch)
        self._controls.switch(switch)

    def changes(self) -> tuple[ChangeOffer, ...]:
        """The quantities that can be changed."""
        return change_offers(self.launch.scenario)

    def faults(self) -> tuple[Offer, ...]:
        """The faults that can be switched."""
        return offers(self.launch.scenario)

    def end(self, by: Ender = "command") -> None:
        """Its checks are evaluated."""
        self._controls.end(by)

    def restart(self) -> None:
        """End the flight; whoever started it flies the same plan again, into another folder."""
        self._controls.end("restart")

    def _stands(self, number: int) -> float:
        """Wait for a pause after this change of the clock."""
        deadline_s = time.monotonic() + ANSWER_S
        while not ((state := self.state).paused and state.number > number):
            if not self.launch.folder_path.exists():
                raise LinkError("the flight has ended")
            if time.monotonic() > deadline_s:
                raise LinkError(f"the flight has not stopped within {ANSWER_S:g} s: it waits for its controller")
            time.sleep(LOOK_S)
        return state.t_ns / NS


def part_of(launch: LaunchSettings, name: str) -> LaunchSettings:
    """A part of the flight by its name; without one the only part."""
    parts = [read_launch_settings(Path(folder) / LAUNCH_FILE) for folder in launch.parts] or [launch]
    names = {part.scenario.name: part for part in parts}
    if not name and len(parts) == 1:
        return parts[0]
    if name not in names:
        raise ConfigError(f"aircraft {name!r}: expected one of: {', '.join(names)}")
    return names[name]
