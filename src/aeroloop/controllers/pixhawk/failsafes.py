"""Failsafes in flight: detect each cause, report it once, and switch to the mode that the parameters set.

A cause is active until it disappears or the pilot changes the mode; the failsafe mode is not left when the cause
disappears.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum

from aeroloop.controllers.pixhawk.arming_checks import HEIGHT_MODES, POSITION_MODES, STICK_MODES
from aeroloop.controllers.pixhawk.battery import Pack
from aeroloop.controllers.pixhawk.offboard import Offboard
from aeroloop.controllers.pixhawk.parameters import Act, Parameters
from aeroloop.controllers.pixhawk.sticks import StickInput
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Severity
from aeroloop.core.signals import NavEstimate


class FailsafeCause(Enum):
    """In order of urgency, the most urgent last: the reported failsafe, and the texts."""

    OFFBOARD = (0, Failsafe.LINK_LOST, "Offboard setpoints lost", "Offboard setpoints restored")
    STICKS = (1, Failsafe.LINK_LOST, "Sticks lost", "Stick input restored")
    GROUND_LINK = (2, Failsafe.LINK_LOST, "Ground link lost", "Ground link restored")
    BATTERY_LOW = (3, Failsafe.BATTERY_LOW, "Battery low", "")
    POSITION = (4, Failsafe.POSITION_LOST, "Position lost", "Position restored")
    HEIGHT = (5, Failsafe.POSITION_LOST, "Height lost", "Height restored")
    BATTERY_CRITICAL = (6, Failsafe.BATTERY_CRITICAL, "Battery critical", "")
    ATTITUDE = (7, Failsafe.ATTITUDE_LOST, "Attitude lost", "Attitude restored")

    def __init__(self, urgency: int, failsafe: Failsafe, words: str, gone: str) -> None:
        self.urgency = urgency
        self.failsafe = failsafe
        self.words = words
        self.gone = gone


OFFBOARD_LOST = {3: FlightMode.RETURN, 4: FlightMode.LAND, 5: FlightMode.HOLD}
"""By COM_OBL_RC_ACT."""
MODE_OF = {Act.HOLD: FlightMode.HOLD, Act.RETURN: FlightMode.RETURN, Act.LAND: FlightMode.LAND}
DOING = {FlightMode.HOLD: "holding", FlightMode.RETURN: "returning", FlightMode.LAND: "landing"}
CAUTION = {FlightMode.HOLD: 1, FlightMode.RETURN: 2, FlightMode.PRECLAND: 3, FlightMode.LAND: 4}
"""A failsafe never selects a less cautious mode than the current one."""


class ActiveFailsafes:
    def __init__(self) -> None:
        self._present: frozenset[FailsafeCause] = frozenset()
        self._accepted: frozenset[FailsafeCause] = frozenset()

    @property
    def causes(self) -> Collection[FailsafeCause]:
        """Those present. A tuple if there are none, in which a search needs no hash, which is slow for an Enum."""
        return self._present or ()

    def update(self, present: frozenset[FailsafeCause]) -> tuple[list[FailsafeCause], list[FailsafeCause]]:
        """The causes that appeared and disappeared since the last call, the most urgent first."""
        if present == self._present:
            return [], []
        came = sorted(present - self._present, key=lambda cause: -cause.urgency)
        gone = sorted(self._present - present, key=lambda cause: -cause.urgency)
        self._present = present
        self._accepted &= present
        return came, gone

    def accept(self) -> None:
        """The pilot continues in spite of them."""
        self._accepted |= self._present

    def forget(self) -> None:
        self._present = self._accepted = frozenset()

    @property
    def worst(self) -> Failsafe:
        if not self._present:
            return Failsafe.NONE
        return max((cause.failsafe for cause in self._present - self._accepted), default=Failsafe.NONE)


class FailsafeMonitor:
    """Detects failsafe causes and selects a mode."""

    def __init__(
        self,
        parameters: Parameters,
        hands: StickInput,
        offboard: Offboard,
        pack: Pack,
        send_text: Callable[[Severity, str], None],
    ) -> None:
        self.active = ActiveFailsafes()
        self._parameters = parameters
        self._hands = hands
        self._offboard = offboard
        self._pack = pack
        self._send_text = send_text
        self._heard_ns: int | None = None

    def note_ground_station(self, t_ns: int) -> None:
        self._heard_ns = t_ns

    def react(
        self, t_ns: int, mode: FlightMode, estimate: NavEstimate | None, *, has_home: bool, landing: bool
    ) -> FlightMode | None:
        """The mode to change to in flight. `estimate` is None when the attitude is lost."""
        came, gone = self.active.update(self._present(t_ns, mode, estimate))
        for cause in gone:
            if cause.gone:
                self._send_text(Severity.INFO, cause.gone)
        chosen: FlightMode | None = None
        for cause in came:
            now = chosen or mode
            response = self._answer(cause, t_ns, now, estimate, has_home)
            caution = CAUTION[FlightMode.LAND] if landing else CAUTION.get(now, 0)
            doing = ""
            if response is FlightMode.ALTITUDE:
                chosen, doing = response, ": altitude mode"
            elif response is not None and CAUTION[response] > caution:
                chosen, doing = response, f": {DOING[response]}"
            severity = Severity.WARNING if cause is FailsafeCause.BATTERY_LOW else Severity.CRITICAL
            self._send_text(severity, f"{cause.words}{doing}")
        return chosen

    def _present(self, t_ns: int, mode: FlightMode, estimate: NavEstimate | None) -> frozenset[FailsafeCause]:
        get, before = self._parameters.get, self.active.causes
        present = []
        if self._heard_ns is not None and (t_ns - self._heard_ns) * 1e-9 > get("COM_DL_LOSS_T"):
            present.append(FailsafeCause.GROUND_LINK)
        # The failsafe mode does not need the lost input, so the cause stays active until the input is restored.
        if (mode in STICK_MODES or FailsafeCause.STICKS in before) and not self._hands.fresh(t_ns):
            present.append(FailsafeCause.STICKS)
        offboard = mode is FlightMode.OFFBOARD
        if (offboard or FailsafeCause.OFFBOARD in before) and not self._offboard.fresh(t_ns):
            present.append(FailsafeCause.OFFBOARD)
        remaining = self._pack.remaining
        if remaining < get("BAT_LOW_THR"):
            present.append(FailsafeCause.BATTERY_LOW)
        if remaining < get("BAT_CRIT_THR"):
            present.append(FailsafeCause.BATTERY_CRITICAL)
        if estimate is None:
            present.append(FailsafeCause.ATTITUDE)
            return frozenset(present)
        needs_position = mode in POSITION_MODES or mode is FlightMode.LAND
        needs_position = needs_position or (offboard and self._offboard.needs_position)
        if not estimate.position_ok and (needs_position or FailsafeCause.POSITION in before):
            present.append(FailsafeCause.POSITION)
        needs_height = mode in HEIGHT_MODES or offboard or mode is FlightMode.LAND
        if not estimate.height_ok and (needs_height or FailsafeCause.HEIGHT in before):
            present.append(FailsafeCause.HEIGHT)
        return frozenset(present)

    def _answer(
        self, cause: FailsafeCause, t_ns: int, mode: FlightMode, estimate: NavEstimate | None, has_home: bool
    ) -> FlightMode | None:
        if cause is FailsafeCause.ATTITUDE or cause is FailsafeCause.HEIGHT:
            return FlightMode.LAND
        if cause is FailsafeCause.POSITION:
            piloted = mode is FlightMode.POSITION and self._hands.fresh(t_ns) and estimate is not None
            return FlightMode.ALTITUDE if piloted else FlightMode.LAND
        if cause is FailsafeCause.OFFBOARD:
            return self._placed(OFFBOARD_LOST[self._parameters.whole("COM_OBL_RC_ACT")], estimate, has_home)
        name = {
            FailsafeCause.STICKS: "NAV_RCL_ACT",
            FailsafeCause.GROUND_LINK: "NAV_DLL_ACT",
            FailsafeCause.BATTERY_LOW: "AL_BAT_LOW_ACT",
            FailsafeCause.BATTERY_CRITICAL: "AL_BAT_CRIT_ACT",
        }[cause]
        act = Act(self._parameters.whole(name))
        if act is Act.WARN:
            return None
        return self._placed(MODE_OF[act], estimate, has_home)

    @staticmethod
    def _placed(response: FlightMode, estimate: NavEstimate | None, has_home: bool) -> FlightMode:
        """Land if the inputs of the mode are not available."""
        knows_place = estimate is not None and estimate.position_ok and estimate.height_ok
        if not knows_place or (response is FlightMode.RETURN and not has_home):
            return FlightMode.LAND
        return response
