"""One step of the flight logic: time and the estimate in, a setpoint for the control law out.

The step updates the state (estimate, battery, ground contact), derives transitions (failsafes, touch-down, disarming),
and computes the setpoint of the resulting mode. Nothing here reads a clock or the true state.

On the ground and armed, the motors idle until a flight is commanded: a take-off, a mission, a thrust stick. When the
attitude is lost in the air, the motors are not stopped, which would be a certain crash: the setpoint is level flight
with slightly less thrust than hover, for as long as the descent from the last height takes at landing speed; only then
are they stopped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from aeroloop.controllers.pixhawk.arming_checks import STICK_MODES, is_sane, mode_problem, tilt_rad
from aeroloop.controllers.pixhawk.battery import Pack
from aeroloop.controllers.pixhawk.failsafes import FailsafeMonitor
from aeroloop.controllers.pixhawk.landing import GroundContact, thrust_ratio
from aeroloop.controllers.pixhawk.landing_targets import LandingTargets
from aeroloop.controllers.pixhawk.mission import Goal, Kind, Mission
from aeroloop.controllers.pixhawk.navigator import Navigator
from aeroloop.controllers.pixhawk.offboard import Offboard
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.precision_landing import Precision, PrecisionLanding
from aeroloop.controllers.pixhawk.setpoints import SetpointSource
from aeroloop.controllers.pixhawk.sticks import THRUST_LOW, StickInput
from aeroloop.controllers.pixhawk.types import (
    Battery,
    FlightMode,
    Refusal,
    SensorHealth,
    Severity,
)
from aeroloop.core.frames import Vec3, euler_from_quat
from aeroloop.core.signals import NavEstimate, Origin, Setpoint

TEXT_LENGTH = 50
MAX_TEXTS = 50
MAX_STEP_S = 0.1
"""Longest step: a longer one is limited to this."""
GRACE_S = 0.25
"""Time for which the last setpoint is held when the estimate fails."""
STALE_S = 0.5
LIFTED_M = 0.3
LIFT_PATIENCE_S = 10.0
LEARNING_TILT_RAD = math.radians(15)
SINKING_THRUST = 0.95
"""Fraction of the hover thrust, when the height is unknown."""
BLIND_MARGIN_S = 5.0
HOME_MOVED_M = 1.0
STRUCK_M = 1.0
"""A path that leads this far below an aircraft which does not follow leads into the ground."""


class Phase(Enum):
    GROUND = "ground"
    LIFT = "lift"  # a flight is commanded, but it has not lifted off
    AIR = "air"


class FlightLogic:
    """State of the flight, and its step. The interface for others is `types.AutopilotInterface`."""

    def __init__(self, parameters: Parameters, rest_height_m: float = 0.0) -> None:
        """`rest_height_m`: of the aircraft's origin above level ground when it stands there."""
        self.parameters = parameters
        self._texts: list[tuple[Severity, str]] = []
        self._pack = Pack(parameters)
        self._hands = StickInput(parameters)
        self._contact = GroundContact(parameters)
        self._navigator = Navigator(parameters)
        self._setpoints = SetpointSource(parameters, self._navigator, self._hands, self._contact)
        self._offboard = Offboard(parameters, self._navigator, self._setpoints)
        self._failsafes = FailsafeMonitor(parameters, self._hands, self._offboard, self._pack, self._send_text)
        self._targets = LandingTargets()
        self._precision = PrecisionLanding(parameters, self._navigator, self._targets, self._send_text, rest_height_m)
        self._mission = Mission()
        self._t_ns = 0
        self._estimate: NavEstimate | None = None
        self._origin: Origin | None = None
        self._health = SensorHealth()
        self._home_W: Vec3 | None = None
        self._mode = FlightMode.HOLD
        self._armed = False
        self._phase = Phase.GROUND
        self._flown = False  # time since arming
        self._lifting = False  # until it has the height from which a mission may continue
        self._phase_s = 0.0
        self._ground_z = 0.0
        self._takeoff_z = 0.0
        self._lost_s = 0.0  # time without attitude
        self._flipped_s = 0.0  # time upside down
        self._blind_s = 0.0  # time of descent without a known height
        self._blind_limit_s = 0.0
        self._setpoint: Setpoint | None = None
        self._precision_goal: Goal | None = None  # item of a mission that is landing with precision
        parameters.watch(self._parameter_changed)

    # The step.

    def step(
        self,
        t_ns: int,
        estimate: NavEstimate | None,
        origin: Origin | None,
        health: SensorHealth,
        motors: Sequence[float],
        dt_s: float,
    ) -> Setpoint | None:
        """`motors`: the last commands, 0..1. Returns None if the motors are stopped."""
        dt_s = min(MAX_STEP_S, dt_s) if dt_s > 0.0 else 0.0
        self._t_ns = t_ns
        if estimate is not None and (not is_sane(estimate) or (t_ns - estimate.t_ns) * 1e-9 > STALE_S):
            estimate = None
        self._estimate, self._origin, self._health = estimate, origin, health
        self._pack.step(motors if self._armed else (), dt_s)
        self._phase_s += dt_s
        self._keep_home()
        if not self._armed:
            self._setpoint = None
            return None
        has_attitude = estimate is not None and estimate.attitude_ok
        self._lost_s = 0.0 if has_attitude else self._lost_s + dt_s
        if self._phase is not Phase.GROUND and 0.0 < self._lost_s < GRACE_S and self._setpoint is not None:
            return self._setpoint
        self._look_out(estimate if has_attitude else None)
        self._notice_a_flip(estimate if has_attitude else None, dt_s)
        if self._armed and self._phase is Phase.GROUND:
            self._wait_on_ground(estimate)
        if self._armed and self._phase is not Phase.GROUND:
            self._setpoint = self._fly(estimate, dt_s)
            self._check_ground_contact(estimate, thrust_ratio(motors), dt_s)
        if not self._armed:
            self._setpoint = None
        elif self._phase is Phase.GROUND:
            self._setpoint = self._setpoints.idle(self._mode, self._t_ns)
        return self._setpoint

    def measure_battery(self, battery: Battery) -> None:
        """A battery monitor has reported."""
        self._pack.measured = battery

    def _keep_home(self) -> None:
        estimate = self._estimate
        if estimate is None or not estimate.position_ok or (self._armed and self._home_W is not None):
            return
        if self._armed:
            self._home_W = (estimate.pos_W[0], estimate.pos_W[1], self._ground_z)
            self._send_text(Severity.NOTICE, "Home set in flight")
        elif self._home_W is None or math.dist(self._home_W, estimate.pos_W) > HOME_MOVED_M:
            self._home_W = estimate.pos_W

    def _look_out(self, estimate: NavEstimate | None) -> None:
        if self._phase is Phase.GROUND:
            self._failsafes.active.forget()
            return
        landing = self._navigator.descending and self._mode in (FlightMode.MISSION, FlightMode.RETURN)
        mode = self._failsafes.react(
            self._t_ns, self._mode, estimate, has_home=self._home_W is not None, landing=landing
        )
        if mode is not None and mode is not self._mode:
            self._enter(mode)

    def _notice_a_flip(self, estimate: NavEstimate | None, dt_s: float) -> None:
        """An aircraft that is upside down does not recover by itself: turning motors would only cause damage."""
        flipped = estimate is not None and tilt_rad(estimate) > math.radians(self.parameters.get("AL_FLIP_TILT"))
        self._flipped_s = self._flipped_s + dt_s if flipped else 0.0
        if self._flipped_s >= self.parameters.get("AL_FLIP_TIME"):
            self._disarm("Motors stopped: upside down")

    # On the ground.

    def _wait_on_ground(self, estimate: NavEstimate | None) -> None:
        if estimate is not None:
            self._navigator.trajectory.settle(estimate.pos_W, euler_from_quat(estimate.quat_WB)[2])
        if self._flight_commanded(estimate):
            assert estimate is not None
            self._ground_z = estimate.pos_W[2]
            self._navigator.enter()
            self._hands.level()
            self._flown = self._lifting = True
            self._to_phase(Phase.LIFT)
            return
        limit_s = self.parameters.get("COM_DISARM_LAND" if self._flown else "COM_DISARM_PRFLT")
        if 0.0 <= limit_s <= self._phase_s:
            self._disarm("Disarmed after landing" if self._flown else "Disarmed: no take-off")

    def _flight_commanded(self, estimate: NavEstimate | None) -> bool:
        has_mission = bool(self._mission.items)
        if estimate is None or not estimate.attitude_ok or mode_problem(self._mode, estimate, has_mission):
            return False
        if self._mode is FlightMode.TAKEOFF:
            return True
        if self._mode is FlightMode.OFFBOARD:
            return self._offboard.commands_flight(self._t_ns, estimate)
        if self._mode is FlightMode.MISSION:
            ready = self._origin is not None and self._home_W is not None
            return ready and not self._mission.finished and self._too_far() is None
        if self._mode in STICK_MODES and self._hands.fresh(self._t_ns):
            if self._mode is FlightMode.MANUAL:
                return self._hands.thrust_ratio(0.0) > 0.5 * self.parameters.get("MPC_THR_HOVER")
            return self._hands.climb() > 0.0
        return False

    def _check_ground_contact(self, estimate: NavEstimate | None, thrust: float, dt_s: float) -> None:
        if not self._armed or self._setpoint is None or estimate is None or not estimate.height_ok:
            return
        if self._phase is Phase.LIFT:
            if estimate.pos_W[2] - self._ground_z > LIFTED_M:
                self._to_phase(Phase.AIR)
            elif self._phase_s > LIFT_PATIENCE_S and self._mode not in STICK_MODES:
                self._send_text(Severity.ERROR, "No lift-off: take-off aborted")
                self._to_phase(Phase.GROUND)
                self._enter(FlightMode.HOLD)
                return
        struck = self._path_leads_into_ground(estimate)
        descent = self._descent_commanded(estimate) or struck
        if self._contact.step(descent, thrust, estimate, self._setpoint, dt_s):
            if struck:
                self._send_text(Severity.ERROR, "Path leads into the ground: aborted")
                self._enter(FlightMode.HOLD)
            self._touched_down()
        elif not descent and self._phase is Phase.AIR and tilt_rad(estimate) < LEARNING_TILT_RAD:
            self._contact.learn_hover(thrust, estimate, dt_s)

    def _descent_commanded(self, estimate: NavEstimate) -> bool:
        if self._mode is FlightMode.OFFBOARD:
            return self._offboard.descends(estimate)
        if self._mode is FlightMode.MANUAL:
            return self._hands.thrust <= THRUST_LOW
        if self._mode in STICK_MODES:
            return self._hands.climb() < 0.0
        return self._navigator.descending

    def _path_leads_into_ground(self, estimate: NavEstimate) -> bool:
        """A waypoint may be below the ground: the aircraft must not push against it without end."""
        led = self._mode not in STICK_MODES and self._mode is not FlightMode.OFFBOARD
        if self._phase is not Phase.AIR or not led or self._navigator.descending:
            return False
        return estimate.pos_W[2] - self._navigator.trajectory.pos_W[2] > STRUCK_M

    def _touched_down(self) -> None:
        self._send_text(Severity.INFO, "Landed")
        self._to_phase(Phase.GROUND)
        if self._mode is FlightMode.MISSION and self._origin is not None and self._home_W is not None:
            goal = self._mission.goal(self._origin, self._home_W)
            if goal is not None and goal.kind is Kind.LAND:
                self._mission.advance()
                self._mission.goal(self._origin, self._home_W)

    # In the air.

    def _fly(self, estimate: NavEstimate | None, dt_s: float) -> Setpoint | None:
        if estimate is None or not estimate.attitude_ok or not estimate.height_ok:
            return self._sink(estimate, dt_s)
        self._blind_s = 0.0
        # With a leg on the ground it stays level, and does not hold its position against the wind.
        setpoint_z = (
            self._offboard.setpoint_z if self._mode is FlightMode.OFFBOARD else self._navigator.trajectory.pos_W[2]
        )
        standing = self._descent_commanded(estimate) and self._contact.felt(estimate, setpoint_z)
        if self._mode is FlightMode.OFFBOARD:
            setpoint = self._offboard.setpoint(estimate, dt_s)
            return setpoint._replace(hold_xy=False, roll_rad=0.0, pitch_rad=0.0) if standing else setpoint
        if self._mode in STICK_MODES:
            if standing and self._mode is FlightMode.POSITION:
                return self._setpoints.by_hand(FlightMode.ALTITUDE, estimate, dt_s)
            return self._setpoints.by_hand(self._mode, estimate, dt_s)
        home_z = self._ground_z if self._home_W is None else self._home_W[2]
        if self._mode is FlightMode.TAKEOFF:
            if self._navigator.climb(self._takeoff_z, estimate, dt_s):
                self._mode = FlightMode.HOLD
                self._send_text(Severity.INFO, "Take-off done: holding")
        elif self._mode is FlightMode.PRECLAND:
            self._precision.step(self._t_ns, home_z, estimate, dt_s)
        elif self._mode is FlightMode.HOLD or self._home_W is None:
            self._navigator.hold(estimate, dt_s)
        elif self._mode is FlightMode.RETURN:
            self._navigator.back(self._home_W, estimate, dt_s)
        elif self._mode is FlightMode.MISSION:
            self._fly_mission(self._home_W, estimate, dt_s)
        if self._mode is FlightMode.LAND:
            self._navigator.land(home_z, estimate, dt_s)
        setpoint = self._setpoints.guided(estimate, hold_xy=estimate.position_ok and not standing)
        push_x, push_y = self._precision.push_W(self._t_ns)
        if setpoint.hold_xy and (push_x or push_y):
            ax, ay, az = setpoint.accel_W
            setpoint = setpoint._replace(accel_W=(ax + push_x, ay + push_y, az))
        return setpoint

    def _fly_mission(self, home_W: Vec3, estimate: NavEstimate, dt_s: float) -> None:
        if self._origin is None:
            self._navigator.hold(estimate, dt_s)
            return
        goal = self._mission.goal(self._origin, home_W)
        if self._lifting and goal is not None and goal.kind is not Kind.TAKEOFF:
            # A mission without a take-off: climb first, then continue.
            z_W = home_W[2] + self.parameters.get("MIS_TAKEOFF_ALT")
            self._lifting = not self._navigator.climb(z_W, estimate, dt_s)
            return
        self._lifting = False
        if goal is not None and goal.precision and self._navigator.landing_spot_reached:
            if self._precision_goal is not goal:
                self._precision_goal = goal
                self._precision.enter(Precision(goal.precision))
            self._precision.step(self._t_ns, home_W[2], estimate, dt_s)
            return
        met = self._navigator.mission(self._mission, self._origin, home_W, estimate, dt_s)
        if met is not None:
            goes_on = self._mission.advance()
            self._mission.goal(self._origin, home_W)
            if met is Kind.RETURN:
                self._enter(FlightMode.RETURN)
                return
            if not goes_on and not self._mission.finished:
                self._send_text(Severity.NOTICE, f"Mission waits after item {self._mission.reached}")
                self._enter(FlightMode.HOLD)
                return
        if self._mission.finished:
            self._send_text(Severity.INFO, "Mission finished: holding")
            self._enter(FlightMode.HOLD)

    def _sink(self, estimate: NavEstimate | None, dt_s: float) -> Setpoint | None:
        """Descent without a known height: level with slightly less than hover thrust, for a time; or by stick input."""
        if self._mode is FlightMode.MANUAL and estimate is not None and estimate.attitude_ok:
            return self._setpoints.by_hand(self._mode, estimate, dt_s)
        if self._blind_s == 0.0:
            height = max(0.0, self._navigator.trajectory.pos_W[2] - self._ground_z)
            self._blind_limit_s = height / self.parameters.get("MPC_LAND_SPEED") + BLIND_MARGIN_S
        self._blind_s += dt_s
        if self._blind_s > self._blind_limit_s:
            self._disarm("Motors stopped after descent without position")
            return None
        return self._setpoints.level(SINKING_THRUST * self._contact.hover_thrust)

    # Changes of state.

    def _too_far(self) -> Refusal | None:
        if self._origin is None or self._home_W is None:
            return Refusal("No position: wait for satellites")
        return self._mission.too_far(self._origin, self._home_W, self.parameters)

    def _enter(self, mode: FlightMode) -> None:
        if mode in STICK_MODES and self._mode not in STICK_MODES and self._estimate is not None:
            self._hands.level(*euler_from_quat(self._estimate.quat_WB)[:2])
        self._mode = mode
        self._precision_goal = None
        self._precision.enter(Precision.REQUIRED)
        self._navigator.enter()

    def _to_phase(self, phase: Phase) -> None:
        self._phase, self._phase_s = phase, 0.0

    def _disarm(self, words: str) -> None:
        self._armed = False
        self._setpoint = None
        self._to_phase(Phase.GROUND)
        self._failsafes.active.forget()
        self._blind_s = 0.0
        if self._mode in (FlightMode.TAKEOFF, FlightMode.RETURN, FlightMode.LAND, FlightMode.PRECLAND):
            self._enter(FlightMode.HOLD)
        self._send_text(Severity.INFO, words)

    def _parameter_changed(self, name: str) -> None:
        if name in ("SIM_BAT_START", "BAT1_CAPACITY") and not self._armed:
            self._pack.charge()

    def _send_text(self, severity: Severity, text: str) -> None:
        if len(self._texts) < MAX_TEXTS:
            self._texts.append((severity, text[:TEXT_LENGTH]))
