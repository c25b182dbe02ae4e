"""The flight logic of the virtual Pixhawk behind its MAVLink services: state, and accepted or refused requests."""

from __future__ import annotations

import math

from aeroloop.controllers.pixhawk import mission as missions
from aeroloop.controllers.pixhawk.arming_checks import STICK_MODES, arming_problems, mode_problem
from aeroloop.controllers.pixhawk.flight_logic import FlightLogic, Phase
from aeroloop.controllers.pixhawk.limits import REACH_M, TAKEOFF_HEIGHT, place_problem, refused
from aeroloop.controllers.pixhawk.mission_geodesy import local_from_geodetic
from aeroloop.controllers.pixhawk.precision_landing import Precision
from aeroloop.controllers.pixhawk.sticks import THRUST_LOW
from aeroloop.controllers.pixhawk.types import (
    AttitudeTarget,
    Failsafe,
    FlightMode,
    Landed,
    LandingTarget,
    MissionItem,
    PathTarget,
    Refusal,
    Severity,
    Status,
    Sticks,
)
from aeroloop.core.frames import euler_from_quat
from aeroloop.core.signals import NavEstimate, Origin, Setpoint


class PixhawkAutopilot(FlightLogic):
    """Implements `types.AutopilotInterface`."""

    @property
    def status(self) -> Status:
        """The whole status, which is slow to build: code that reads it every step uses the properties below."""
        return Status(
            t_ns=self._t_ns,
            mode=self._mode,
            armed=self._armed,
            landed=self._landed(),
            failsafe=self._failsafes.active.worst,
            battery=self._pack.state,
            health=self._health,
            estimate=self._estimate,
            origin=self._origin,
            home_W=self._home_W,
            setpoint=self._setpoint,
            mission_current=self._mission.current,
            mission_reached=self._mission.reached,
            mission_finished=self._mission.finished,
            ready_to_arm=not self.arming_problems(),
        )

    @property
    def mission(self) -> tuple[MissionItem, ...]:
        return self._mission.items

    @property
    def mission_reached(self) -> int:
        return self._mission.reached

    @property
    def doing(self) -> tuple[bool, FlightMode, Failsafe, int]:
        """Armed, mode, failsafe, and the last mission item reached."""
        return self._armed, self._mode, self._failsafes.active.worst, self._mission.reached

    @property
    def state(self) -> tuple[FlightMode, bool, Landed, Failsafe, float, int]:
        """Mode, armed, landed, failsafe, remaining battery, and the current mission item."""
        worst, remaining = self._failsafes.active.worst, self._pack.remaining
        return self._mode, self._armed, self._landed(), worst, remaining, self._mission.current

    @property
    def airborne(self) -> bool:
        return self._phase is Phase.AIR

    def send_text(self, severity: Severity, text: str) -> None:
        """Texts of components outside the flight logic."""
        self._send_text(severity, text)

    @property
    def estimate(self) -> NavEstimate | None:
        """None also if the given mission is not valid."""
        return self._estimate

    @property
    def origin(self) -> Origin | None:
        return self._origin

    @property
    def setpoint(self) -> Setpoint | None:
        return self._setpoint

    def arming_problems(self) -> list[str]:
        """A sentence for each condition that prevents arming."""
        lowest = THRUST_LOW if self._mode is FlightMode.MANUAL else 0.5 + self.parameters.get("MPC_HOLD_DZ") / 2
        problems = arming_problems(
            self._mode,
            self._estimate,
            self._health,
            self.parameters,
            battery_remaining=self._pack.remaining,
            has_mission=bool(self._mission.items),
            sticks_fresh=self._hands.fresh(self._t_ns),
            thrust_low=self._hands.thrust <= lowest,
        )
        if self._mode is FlightMode.OFFBOARD and (lacking := self._offboard.problem(self._t_ns, self._estimate)):
            problems.append(lacking)
        return problems

    def arm(self, *, force: bool = False) -> Refusal | None:
        if self._armed:
            return None
        problems = self.arming_problems()
        if problems and not force:
            return Refusal(problems[0])
        self._armed = True
        self._flown = False
        self._to_phase(Phase.GROUND)
        self._failsafes.active.forget()
        self._contact.forget()
        if self._mission.finished:
            self._mission.restart()
        if self._estimate is not None:
            self._ground_z = self._estimate.pos_W[2]
            if self._estimate.position_ok:
                self._home_W = self._estimate.pos_W
        self._send_text(Severity.INFO, "Armed by force" if problems else "Armed")
        return None

    def disarm(self, *, force: bool = False) -> Refusal | None:
        if not self._armed:
            return None
        if self._phase is not Phase.GROUND and not force:
            return Refusal("Not landed: disarming refused")
        self._disarm("Disarmed by force" if self._phase is not Phase.GROUND else "Disarmed")
        return None

    def set_mode(self, mode: FlightMode) -> Refusal | None:
        if mode is FlightMode.TAKEOFF:
            return self.take_off(None)
        problem = self._mode_problem(mode)
        if problem is not None:
            return problem
        if not self._armed and mode in (FlightMode.LAND, FlightMode.PRECLAND, FlightMode.RETURN):
            self._send_text(Severity.INFO, "On the ground already")  # these modes refuse the next arming
            return None
        if mode is FlightMode.MISSION and self._mission.finished:
            self._mission.restart()
        self._pilot_chose(mode)
        return None

    def take_off(self, height_m: float | None) -> Refusal | None:
        height = self.parameters.get("MIS_TAKEOFF_ALT") if height_m is None else height_m
        if outside := TAKEOFF_HEIGHT.problem(height):
            return refused(outside)
        problem = self._mode_problem(FlightMode.TAKEOFF)
        if problem is not None:
            return problem
        assert self._home_W is not None
        self._takeoff_z = self._home_W[2] + height
        if self._phase is Phase.AIR:
            self._takeoff_z = max(self._takeoff_z, self._navigator.trajectory.pos_W[2])
        self._pilot_chose(FlightMode.TAKEOFF)
        return None

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_rad: float | None) -> Refusal | None:
        if outside := place_problem(lat_deg, lon_deg, alt_m):
            return refused(outside)
        if yaw_rad is not None and not math.isfinite(yaw_rad):
            yaw_rad = None
        problem = self._mode_problem(FlightMode.HOLD)
        if problem is not None:
            return problem
        if self._phase is not Phase.AIR:
            return Refusal("On the ground: take off first")
        if self._origin is None or self._home_W is None:
            return Refusal("No position: wait for satellites")
        east, north = local_from_geodetic(self._origin, lat_deg, lon_deg)
        if math.hypot(east - self._home_W[0], north - self._home_W[1]) > REACH_M:
            return Refusal(f"Target is over {REACH_M / 1000:g} km from home", temporary=False)
        self._pilot_chose(FlightMode.HOLD)
        self._navigator.hold_at((east, north, alt_m - self._origin.alt_m), yaw_rad)
        return None

    def set_mission(self, items: tuple[MissionItem, ...]) -> Refusal | None:
        """A new mission starts at its first item, at once if a mission is being flown."""
        problem = missions.check(items)
        if problem is not None:
            return problem
        flying = self._mode is FlightMode.MISSION and self._phase is not Phase.GROUND
        before = self._mission.items
        self._mission.load(items)
        if flying and (not items or self._too_far() is not None):
            self._send_text(
                Severity.WARNING, "Mission deleted: holding" if not items else "New mission too far away: holding"
            )
            self._enter(FlightMode.HOLD)
        elif before != items:
            self._navigator.enter()
        return None

    def set_current(self, number: int) -> Refusal | None:
        if not 0 <= number < len(self._mission.items):
            return Refusal(f"No mission item {number}", temporary=False)
        self._mission.select(number)
        return None

    def sticks(self, sticks: Sticks) -> None:
        """A sample with a NaN is dropped."""
        if self._hands.take(self._t_ns, sticks):
            self._failsafes.note_ground_station(self._t_ns)

    def offboard(self, target: PathTarget | AttitudeTarget) -> Refusal | None:
        yaw_rad = 0.0 if self._estimate is None else euler_from_quat(self._estimate.quat_WB)[2]
        return self._offboard.take(self._t_ns, target, yaw_rad)

    def land(self, precision: int) -> Refusal | None:
        kind = Precision(precision)
        refusal = self.set_mode(FlightMode.LAND if kind is Precision.OFF else FlightMode.PRECLAND)
        if refusal is None and self._mode is FlightMode.PRECLAND:
            self._precision.enter(kind)
        return refusal

    def landing_target(self, target: LandingTarget) -> Refusal | None:
        estimate = self._estimate
        own_W = estimate.pos_W if estimate is not None and estimate.position_ok else None
        return self._targets.take(self._t_ns, target, own_W)

    def note_ground_station(self) -> None:
        self._failsafes.note_ground_station(self._t_ns)

    def take_texts(self) -> list[tuple[Severity, str]]:
        texts, self._texts = self._texts, []
        return texts

    def _mode_problem(self, mode: FlightMode) -> Refusal | None:
        reason = mode_problem(mode, self._estimate, bool(self._mission.items))
        if reason is not None:
            return Refusal(reason)
        if mode is FlightMode.OFFBOARD and (lacking := self._offboard.problem(self._t_ns, self._estimate)):
            return Refusal(lacking)
        if mode in (FlightMode.TAKEOFF, FlightMode.MISSION, FlightMode.RETURN) and self._home_W is None:
            return Refusal("No home position")
        if mode is FlightMode.MISSION:
            return self._too_far()
        if mode in STICK_MODES and self._phase is not Phase.GROUND and not self._hands.fresh(self._t_ns):
            return Refusal(f"Mode {mode.name.lower()} needs stick input; none received")
        return None

    def _pilot_chose(self, mode: FlightMode) -> None:
        self._failsafes.active.accept()
        self._enter(mode)

    def _landed(self) -> Landed:
        if self._phase is Phase.GROUND:
            return Landed.ON_GROUND if self._estimate is not None else Landed.UNKNOWN
        if self._phase is Phase.LIFT:
            return Landed.TAKEOFF
        return Landed.LANDING if self._navigator.descending else Landed.IN_AIR
