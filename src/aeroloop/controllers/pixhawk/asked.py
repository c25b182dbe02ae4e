"""What the control law is asked for, as setpoints: by hand, along the guide, level, or to idle."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.landing import GroundContact
from aeroloop.controllers.pixhawk.navigator import Navigator
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.seam import FlightMode
from aeroloop.controllers.pixhawk.sticks import THRUST_LOW, Hands
from aeroloop.core.signals import NavEstimate, Setpoint

STILL = (0.0, 0.0, 0.0)


class Asked:
    def __init__(self, parameters: Parameters, navigator: Navigator, hands: Hands, contact: GroundContact) -> None:
        self._parameters = parameters
        self._navigator = navigator
        self._hands = hands
        self._contact = contact

    def idle(self, mode: FlightMode, t_ns: int) -> Setpoint:
        """The motors turn, but do not carry; by hand they may turn a little faster."""
        by_hand = mode is FlightMode.MANUAL and self._hands.fresh(t_ns) and self._hands.thrust > THRUST_LOW
        return self.level(self._hands.thrust_ratio(0.0) if by_hand else 0.0)

    def level(self, thrust: float) -> Setpoint:
        guide = self._navigator.guide
        return Setpoint(guide.pos_W, STILL, STILL, guide.yaw_rad, 0.0, 0.0, thrust, False, False)

    def by_hand(self, mode: FlightMode, estimate: NavEstimate, dt_s: float) -> Setpoint:
        """In one of the three modes that obey sticks."""
        guide, limits = self._navigator.guide, self._navigator.limits
        self._navigator.descending = False
        roll, pitch = self._hands.tilt(dt_s)
        guide.turn(self._hands.yaw_rate(), limits, dt_s)
        if mode is FlightMode.POSITION:
            guide.fly(self._hands.velocity(guide.yaw_rad), estimate.pos_W, limits, dt_s)
            return self.guided(estimate, hold_xy=True)
        if mode is FlightMode.ALTITUDE:
            guide.fly((guide.vel_W[0], guide.vel_W[1], self._hands.climb()), estimate.pos_W, limits, dt_s)
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
        """What the guide asks for. Where it is not followed it follows, so that a later hold begins at the aircraft."""
        guide, limits = self._navigator.guide, self._navigator.limits
        hold_z = thrust is None
        if not hold_xy:
            guide.follow_xy(estimate.pos_W, estimate.vel_W, limits.speed_m_s)
        if not hold_z:
            guide.follow_z(estimate.pos_W, estimate.vel_W, limits)
        (vx, vy, vz), (ax, ay, az) = guide.vel_W, guide.accel_W
        return Setpoint(
            guide.pos_W,
            (vx * hold_xy, vy * hold_xy, vz * hold_z),
            (ax * hold_xy, ay * hold_xy, az * hold_z),
            guide.yaw_rad,
            roll_rad,
            pitch_rad,
            self._contact.hover_thrust if thrust is None else thrust,
            hold_xy,
            hold_z,
            guide.yaw_rate_rad_s,
        )
