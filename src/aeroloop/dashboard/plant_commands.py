"""Commands of pages to the plant of the shown flight: faults, changes, pause, steps, speed, end and restart."""

from __future__ import annotations

from pathlib import Path

from aeroloop.core.errors import LinkError
from aeroloop.core.faults import Switch
from aeroloop.core.operator import OperatorCommand
from aeroloop.flight.flight_control import FlightControl
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.realtime.controls import Controls
from aeroloop.realtime.flight_clock import ClockIn, ClockState


class PlantCommands:
    """Of the flight whose launch settings are there."""

    _launch: LaunchSettings | None = None
    _folder: Path | None = None
    _clock: tuple[Path, ClockIn] | None = None

    @property
    def clock(self) -> ClockState | None:
        """Whether the flight is paused, and its speed; None without a flight."""
        if self._folder is None:
            self._clock = None
            return None
        if self._clock is None or self._clock[0] != self._folder:
            self._clock = self._folder, ClockIn(self._folder)
        return self._clock[1].state

    def control(self) -> FlightControl:
        """Pause, steps, speed and changes; LinkError without a flight."""
        if self._launch is None:
            raise LinkError("no flight is running: command not sent")
        return FlightControl(self._launch)

    def switch(self, switch: Switch) -> None:
        """Switch a fault on or off at the plant."""
        self._controls("fault not switched").switch(switch)

    def operate(self, order: OperatorCommand, vehicle: int = 0) -> None:
        """Send a user command to the board of an aircraft; its answer comes with the flight's streams."""
        self._controls("command not sent").operate(order, vehicle)

    def kill(self, process: str) -> None:
        """Kill a process of the flight that is not vital."""
        self._controls("nothing to kill").kill(process)

    def end(self) -> None:
        """End the flight, as `aeroloop cmd end` does; its checks are evaluated and reported."""
        self._controls("nothing to end").end("page")

    def _controls(self, otherwise: str) -> Controls:
        if self._launch is None:
            raise LinkError(f"no flight is running: {otherwise}")
        return Controls(self._launch.folder_path)
