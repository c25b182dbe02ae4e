"""Flight logic that grants what it can and flies nowhere near physics: for tests of those who speak for it.

Armed and told to take off it is up after a moment; every item of a mission takes a quarter of a second; landing ends
disarmed.
"""

from __future__ import annotations

from aeroloop.controllers.pixhawk.types import (
    AttitudeTarget,
    Battery,
    Failsafe,
    FlightMode,
    Landed,
    LandingTarget,
    MissionItem,
    PathTarget,
    Refusal,
    SensorHealth,
    Severity,
    Status,
    Sticks,
)
from aeroloop.core.signals import NS, NavEstimate, Origin, Setpoint
from aeroloop.protocols.mavlink_hil import HilFix

ORIGIN = Origin(47.397742, 8.545594, 488.0)
FIX = HilFix(0, ORIGIN.lat_deg, ORIGIN.lon_deg, ORIGIN.alt_m, (0.0, 0.0, 0.0), 0.3, 0.4, 10)
_CLIMB_M_S = 10.0
_ITEM_NS = NS // 4


def level(t_ns: int, height_m: float = 0.0) -> NavEstimate:
    zero = (0.0, 0.0, 0.0)
    return NavEstimate(
        t_ns, (0.0, 0.0, height_m), zero, (1.0, 0.0, 0.0, 0.0), zero, 0.01, 0.02, 0.3, 0.2, True, True, True
    )


class FakeBrain:
    def __init__(self, *, knows_place: bool = True) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.texts: list[tuple[Severity, str]] = []
        self.refusal: Refusal | None = None  # the answer to every request, if set
        self.grounds = 0
        self.takeoff_m = 2.5  # unless a take-off says more
        self.mission: tuple[MissionItem, ...] = ()
        self._target_m = 0.0
        self._item_ns = 0
        self.status = Status(
            0,
            FlightMode.HOLD,
            armed=False,
            landed=Landed.ON_GROUND,
            failsafe=Failsafe.NONE,
            battery=Battery(12.6, 1.5, 0.875, 120.0),
            health=SensorHealth(True, True, True, True),
            estimate=level(0) if knows_place else None,
            origin=ORIGIN if knows_place else None,
            home_W=(0.0, 0.0, 0.0) if knows_place else None,
            setpoint=None,
            mission_current=0,
            mission_reached=-1,
            mission_finished=False,
            ready_to_arm=True,
        )

    @property
    def mission_reached(self) -> int:
        return self.status.mission_reached

    def change(self, **what: object) -> None:
        self.status = self.status._replace(**what)  # type: ignore[arg-type]

    def arm(self, *, force: bool = False) -> Refusal | None:
        self.calls.append(("arm", force))
        if self.refusal is None:
            self.change(armed=True)
        return self.refusal

    def disarm(self, *, force: bool = False) -> Refusal | None:
        self.calls.append(("disarm", force))
        if self.refusal is None:
            self.change(armed=False, landed=Landed.ON_GROUND)
        return self.refusal

    def set_mode(self, mode: FlightMode) -> Refusal | None:
        self.calls.append(("set_mode", mode))
        if self.refusal is None:
            self.change(mode=mode)
            if mode is FlightMode.LAND:
                self._target_m = 0.0
        return self.refusal

    def take_off(self, height_m: float | None) -> Refusal | None:
        self.calls.append(("take_off", height_m))
        if self.refusal is None:
            self._target_m = self.takeoff_m if height_m is None else height_m
            self.change(mode=FlightMode.TAKEOFF, landed=Landed.TAKEOFF)
        return self.refusal

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_rad: float | None) -> Refusal | None:
        self.calls.append(("go_to", lat_deg, lon_deg, alt_m, yaw_rad))
        return self.refusal

    def set_mission(self, items: tuple[MissionItem, ...]) -> Refusal | None:
        self.calls.append(("set_mission", len(items)))
        if self.refusal is None:
            self.mission = items
            self.change(mission_current=0, mission_reached=-1, mission_finished=False)
        return self.refusal

    def set_current(self, number: int) -> Refusal | None:
        self.calls.append(("set_current", number))
        if self.refusal is None:
            self.change(mission_current=number)
        return self.refusal

    def sticks(self, sticks: Sticks) -> None:
        self.calls.append(("sticks", sticks))

    def offboard(self, target: PathTarget | AttitudeTarget) -> Refusal | None:
        self.calls.append(("offboard", target))
        return self.refusal

    def land(self, precision: int) -> Refusal | None:
        self.calls.append(("land", precision))
        return self.refusal

    def landing_target(self, target: LandingTarget) -> Refusal | None:
        self.calls.append(("landing_target", target))
        return self.refusal

    def note_ground_station(self) -> None:
        self.grounds += 1

    def take_texts(self) -> list[tuple[Severity, str]]:
        texts, self.texts = self.texts, []
        return texts

    def step(self, t_ns: int) -> None:
        status = self.status
        height_m = status.estimate.pos_W[2] if status.estimate else 0.0
        passed_s = (t_ns - status.t_ns) / NS
        if status.armed and status.mode in (FlightMode.TAKEOFF, FlightMode.LAND):
            way = self._target_m - height_m
            height_m += max(-1.0, min(1.0, way / (_CLIMB_M_S * passed_s or 1.0))) * _CLIMB_M_S * passed_s
            if abs(self._target_m - height_m) < 1e-3:
                if status.mode is FlightMode.LAND:
                    self.change(armed=False, landed=Landed.ON_GROUND, mode=FlightMode.HOLD)
                else:
                    self.change(landed=Landed.IN_AIR, mode=FlightMode.HOLD)
        if status.mode is FlightMode.MISSION and status.armed and self.mission and t_ns - self._item_ns > _ITEM_NS:
            self._item_ns = t_ns
            reached = status.mission_current
            last = reached == len(self.mission) - 1
            self.change(mission_reached=reached, mission_current=reached if last else reached + 1)
            self.change(landed=Landed.IN_AIR, mission_finished=last)
            if last:
                self.change(mode=FlightMode.HOLD)
        hold = Setpoint((0.0, 0.0, height_m), (0.0,) * 3, (0.0,) * 3, 0.0, 0.0, 0.0, 0.5, True, True)
        self.change(t_ns=t_ns, estimate=level(t_ns, height_m) if status.estimate else None, setpoint=hold)
