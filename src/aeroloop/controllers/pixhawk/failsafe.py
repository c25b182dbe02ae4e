"""Which dangers are present, which are news, and which the pilot has taken upon himself.

A danger stays until it is gone or the pilot changes the mode; what was done about it is not undone when it goes.
"""

from __future__ import annotations

from enum import Enum

from aeroloop.controllers.pixhawk.parameters import Act
from aeroloop.controllers.pixhawk.seam import Failsafe, FlightMode


class Danger(Enum):
    """In order of urgency, the greatest last: what others are told, and the words for it."""

    STICKS = (1, Failsafe.LINK_LOST, "Sticks lost", "Sticks are back")
    GROUND_LINK = (2, Failsafe.LINK_LOST, "Ground link lost", "Ground link is back")
    BATTERY_LOW = (3, Failsafe.BATTERY_LOW, "Battery low", "")
    POSITION = (4, Failsafe.POSITION_LOST, "Position lost", "Position is back")
    HEIGHT = (5, Failsafe.POSITION_LOST, "Height lost", "Height is back")
    BATTERY_CRITICAL = (6, Failsafe.BATTERY_CRITICAL, "Battery critical", "")
    ATTITUDE = (7, Failsafe.ATTITUDE_LOST, "Attitude lost", "Attitude is back")

    def __init__(self, urgency: int, failsafe: Failsafe, words: str, gone: str) -> None:
        self.urgency = urgency
        self.failsafe = failsafe
        self.words = words
        self.gone = gone


MODE_OF = {Act.HOLD: FlightMode.HOLD, Act.RETURN: FlightMode.RETURN, Act.LAND: FlightMode.LAND}
DOING = {FlightMode.HOLD: "holding", FlightMode.RETURN: "returning", FlightMode.LAND: "landing"}
CAUTION = {FlightMode.HOLD: 1, FlightMode.RETURN: 2, FlightMode.LAND: 3}
"""A failsafe never replaces a mode by a less cautious one."""


class Dangers:
    def __init__(self) -> None:
        self._present: frozenset[Danger] = frozenset()
        self._accepted: frozenset[Danger] = frozenset()

    def __contains__(self, danger: object) -> bool:
        return danger in self._present

    def update(self, present: frozenset[Danger]) -> tuple[list[Danger], list[Danger]]:
        """Those that came and those that went since the last call, the most urgent first."""
        if present == self._present:
            return [], []
        came = sorted(present - self._present, key=lambda danger: -danger.urgency)
        gone = sorted(self._present - present, key=lambda danger: -danger.urgency)
        self._present = present
        self._accepted &= present
        return came, gone

    def accept(self) -> None:
        """The pilot flies on in spite of them."""
        self._accepted |= self._present

    def forget(self) -> None:
        self._present = self._accepted = frozenset()

    @property
    def worst(self) -> Failsafe:
        if not self._present:
            return Failsafe.NONE
        return max((danger.failsafe for danger in self._present - self._accepted), default=Failsafe.NONE)
