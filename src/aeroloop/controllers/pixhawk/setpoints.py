"""Setpoints of the control law: from the sticks, along the trajectory, level, or idle."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.landing import GroundContact
from aeroloop.controllers.pixhawk.navigator import Navigator
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.sticks import THRUST_LOW, StickInput
from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.core.signals import NavEstimate, Setpoint, new_tuple

STILL = (0.0, 0.0, 0.0)


class SetpointSource:
    def __init__(self, parameters: Parameters, navigator: Navigator, hands: StickInput, contact: GroundContact) -> None:
        self._parameters = parameters
        self._navigator = navigator
        self._hands = hands
        self._contact = contact

    def idle(self, mode: FlightMode, t_ns: int) -> Setpoint:
        """The motors turn without lifting; in manual mode they may turn slightly faster."""
        by_hand = mode is FlightMode.MANUAL and self._hands.fresh(t_ns) and self._hands.thrust > THRUST_LOW
        return self.level(self._hands.thrust_ratio(0.0) if by_hand else 0.0)

    def level(self, thrust: float) -> Setpoint:
        trajectory = self._navigator.trajectory
        return Setpoint(trajectory.pos_W, STILL, STILL, trajectory.yaw_rad, 0.0, 0.0, thrust, False, False)

    def by_hand(self, mode: FlightMode, estimate: NavEstimate, dt_s: float) -> Setpoint:
        """In one of the three stick modes."""
        trajectory, limits = self._navigator.trajectory, self._navigator.limits
        self._navigator.descending = False
        roll, pitch = self._hands.tilt(dt_s)
        trajectory.turn(self._hands.yaw_rate(), limits, dt_s)
        if mode is FlightMode.POSITION:
            trajectory.fly(self._hands.velocity(trajectory.yaw_rad), estimate.pos_W, limits, dt_s)
            return self.guided(estimate, hold_xy=True)
        if mode is FlightMode.ALTITUDE:
            trajectory.fly(
                (trajectory.vel_W[0], trajectory.vel_W[1], self._hands.climb()), estimate.pos_W, limits, dt_s
            )
            return self.guided(estimate, hold_xy=False, roll_rad=roll, pitch_rad=pitch)
        thrust = self._hands.thrust_ratio(self._parameters.get("MPC_MANTHR_MIN"))
        return self.guided(estimate, hold_xy=False, roll_rad=roll, pitch_rad=pitch, thrust=thrust)

    def guided(
        self,
        estimate: NavEstimate,
        *,
        hold_xy: bool,
        roll_rad: float = 0.0,
        pitch_rad: float = 0.0,
        thrust: float | None = None,
    ) -> Setpoint:
        """The setpoint of the trajectory. On axes that are not controlled it follows the aircraft, so that a later hold
        starts there."""
        trajectory = self._navigator.trajectory
        hold_z = thrust is None
        if not hold_xy:
            trajectory.follow_xy(estimate.pos_W, estimate.vel_W, self._navigator.limits.speed_m_s)
        if not hold_z:
            trajectory.follow_z(estimate.pos_W, estimate.vel_W, self._navigator.limits)
        (vx, vy, vz), (ax, ay, az) = trajectory.vel_W, trajectory.accel_W
        fields = (
            trajectory.pos_W,
            (vx * hold_xy, vy * hold_xy, vz * hold_z),
            (ax * hold_xy, ay * hold_xy, az * hold_z),
            trajectory.yaw_rad,
            roll_rad,
            pitch_rad,
            self._contact.hover_thrust if thrust is None else thrust,
            hold_xy,
            hold_z,
            trajectory.yaw_rate_rad_s,
        )
        return new_tuple(Setpoint, fields)
