"""The look-out in flight: finds dangers, says them aloud once, and answers each with a mode, as the parameters say.

A danger stays until it is gone or the pilot changes the mode; what was done about it is not undone when it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from aeroloop.controllers.pixhawk.battery import Pack
from aeroloop.controllers.pixhawk.checks import HEIGHT_MODES, POSITION_MODES, STICK_MODES
from aeroloop.controllers.pixhawk.parameters import Act, Parameters
from aeroloop.controllers.pixhawk.seam import Failsafe, FlightMode, Severity
from aeroloop.controllers.pixhawk.sticks import Hands
from aeroloop.core.signals import NavEstimate


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


class Watch:
    """Looks for dangers and reacts with a mode."""

    def __init__(self, parameters: Parameters, hands: Hands, pack: Pack, say: Callable[[Severity, str], None]) -> None:
        self.dangers = Dangers()
        self._parameters = parameters
        self._hands = hands
        self._pack = pack
        self._say = say
        self._heard_ns: int | None = None

    def heard(self, t_ns: int) -> None:
        self._heard_ns = t_ns

    def react(
        self, t_ns: int, mode: FlightMode, estimate: NavEstimate | None, *, has_home: bool, landing: bool
    ) -> FlightMode | None:
        """The mode to change to, while it flies. `estimate` is None when the attitude is lost."""
        came, gone = self.dangers.update(self._present(t_ns, mode, estimate))
        for danger in gone:
            if danger.gone:
                self._say(Severity.INFO, danger.gone)
        chosen: FlightMode | None = None
        for danger in came:
            now = chosen or mode
            wanted = self._answer(danger, t_ns, now, estimate, has_home)
            caution = CAUTION[FlightMode.LAND] if landing else CAUTION.get(now, 0)
            doing = ""
            if wanted is FlightMode.ALTITUDE:
                chosen, doing = wanted, ": altitude mode"
            elif wanted is not None and CAUTION[wanted] > caution:
                chosen, doing = wanted, f": {DOING[wanted]}"
            severity = Severity.WARNING if danger is Danger.BATTERY_LOW else Severity.CRITICAL
            self._say(severity, f"{danger.words}{doing}")
        return chosen

    def _present(self, t_ns: int, mode: FlightMode, estimate: NavEstimate | None) -> frozenset[Danger]:
        get = self._parameters.get
        present = []
        if self._heard_ns is not None and (t_ns - self._heard_ns) * 1e-9 > get("COM_DL_LOSS_T"):
            present.append(Danger.GROUND_LINK)
        # The answer changes the mode to one without this need, so what is lost once stays lost until it is back.
        if (mode in STICK_MODES or Danger.STICKS in self.dangers) and not self._hands.fresh(t_ns):
            present.append(Danger.STICKS)
        remaining = self._pack.remaining
        if remaining < get("BAT_LOW_THR"):
            present.append(Danger.BATTERY_LOW)
        if remaining < get("BAT_CRIT_THR"):
            present.append(Danger.BATTERY_CRITICAL)
        if estimate is None:
            present.append(Danger.ATTITUDE)
            return frozenset(present)
        needs_position = mode in POSITION_MODES or mode is FlightMode.LAND
        if not estimate.position_ok and (needs_position or Danger.POSITION in self.dangers):
            present.append(Danger.POSITION)
        needs_height = mode in HEIGHT_MODES or mode is FlightMode.LAND
        if not estimate.height_ok and (needs_height or Danger.HEIGHT in self.dangers):
            present.append(Danger.HEIGHT)
        return frozenset(present)

    def _answer(
        self, danger: Danger, t_ns: int, mode: FlightMode, estimate: NavEstimate | None, has_home: bool
    ) -> FlightMode | None:
        if danger is Danger.ATTITUDE or danger is Danger.HEIGHT:
            return FlightMode.LAND
        if danger is Danger.POSITION:
            piloted = mode is FlightMode.POSITION and self._hands.fresh(t_ns) and estimate is not None
            return FlightMode.ALTITUDE if piloted else FlightMode.LAND
        name = {
            Danger.STICKS: "NAV_RCL_ACT",
            Danger.GROUND_LINK: "NAV_DLL_ACT",
            Danger.BATTERY_LOW: "AL_BAT_LOW_ACT",
            Danger.BATTERY_CRITICAL: "AL_BAT_CRIT_ACT",
        }[danger]
        act = Act(self._parameters.whole(name))
        if act is Act.WARN:
            return None
        wanted = MODE_OF[act]
        knows_place = estimate is not None and estimate.position_ok and estimate.height_ok
        if not knows_place or (wanted is FlightMode.RETURN and not has_home):
            return FlightMode.LAND
        return wanted
