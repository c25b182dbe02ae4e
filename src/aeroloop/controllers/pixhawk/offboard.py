"""Offboard mode: setpoints that a companion program streams, instead of a path of the flight logic's own.

A position is passed to the control law directly, with its velocity and acceleration fed forward; a velocity moves the
trajectory, which is limited in acceleration and jerk; an attitude with its thrust replaces both. East and north on one
side and height on the other are handled separately: position if given, else velocity. As with PX4, the mode requires a
stream of at least two setpoints a second, and the loss of the stream is a failsafe (COM_OF_LOSS_T, COM_OBL_RC_ACT).
"""

from __future__ import annotations

import math

from aeroloop.controllers.pixhawk.navigator import Navigator
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.setpoints import SetpointSource
from aeroloop.controllers.pixhawk.sticks import THRUST_LOW
from aeroloop.controllers.pixhawk.trajectory import Limits
from aeroloop.controllers.pixhawk.types import AttitudeTarget, PathTarget, Refusal
from aeroloop.core.frames import Quat, Vec3, euler_from_quat
from aeroloop.core.signals import NavEstimate, Setpoint

STREAM_NS = 500_000_000
"""Longest time between two setpoints for entering the mode: 2 Hz."""
APART_NS = 5_000_000_000
"""A setpoint this long after the previous one starts a new stream. As in PX4, more are expected to follow: MAVSDK
requests the mode right after its first."""
MOVE_M = 0.3
"""A position this far above an aircraft on the ground commands a take-off; this far below one in the air, a descent."""
FARTHEST_RAD = math.radians(30)
"""Maximum angle between the integrated attitude of body-rate setpoints and the actual one: it waits for an aircraft
that does not follow."""


class Offboard:
    def __init__(self, parameters: Parameters, navigator: Navigator, setpoints: SetpointSource) -> None:
        self._parameters, self._navigator, self._setpoints = parameters, navigator, setpoints
        self._target: PathTarget | AttitudeTarget | None = None
        self._at_ns = self._before_ns = -2 * APART_NS
        self._turned: Quat | None = None  # the integrated attitude of body-rate setpoints

    def take(self, t_ns: int, target: PathTarget | AttitudeTarget, yaw_rad: float) -> Refusal | None:
        """`yaw_rad`: heading of the aircraft, for a target along its own axes."""
        if isinstance(target, PathTarget):
            level, height = zip(target.pos_W, target.vel_W, strict=True), (target.pos_W[2], target.vel_W[2])
            (px, vx), (py, vy), _ = level
            if not (_known(px, py) or _known(vx, vy)) or not any(map(math.isfinite, height)):
                return Refusal("Offboard needs a position or velocity", temporary=False)
            if target.body:
                target = target.turned(yaw_rad)
        if not isinstance(target, AttitudeTarget) or target.quat_WB is not None:
            self._turned = None
        self._target = target
        self._before_ns, self._at_ns = self._at_ns, t_ns
        return None

    def fresh(self, t_ns: int) -> bool:
        return self._target is not None and (t_ns - self._at_ns) * 1e-9 <= self._parameters.get("COM_OF_LOSS_T")

    def problem(self, t_ns: int, estimate: NavEstimate | None) -> str | None:
        """The requirements of the mode that are not met."""
        if t_ns - self._at_ns > STREAM_NS or STREAM_NS < self._at_ns - self._before_ns < APART_NS:
            return "Offboard needs setpoints at 2 Hz or more"
        if self.needs_position and (estimate is None or not estimate.position_ok):
            return "No position: wait for satellites"
        if estimate is None or not estimate.height_ok:
            return "No height estimate"
        return None

    @property
    def needs_position(self) -> bool:
        return isinstance(self._target, PathTarget)

    def commands_flight(self, t_ns: int, estimate: NavEstimate) -> bool:
        """Whether a setpoint commands an aircraft on the ground to take off."""
        target = self._target
        if target is None or not self.fresh(t_ns) or self.problem(t_ns, estimate):
            return False
        if isinstance(target, AttitudeTarget):
            return target.thrust_ratio > 0.5 * self._parameters.get("MPC_THR_HOVER")
        z = target.pos_W[2]
        return z - estimate.pos_W[2] > MOVE_M if math.isfinite(z) else target.vel_W[2] > 0.0

    def descends(self, estimate: NavEstimate) -> bool:
        """Whether a setpoint commands a descent, and so possibly a landing."""
        target = self._target
        if target is None:
            return False
        if isinstance(target, AttitudeTarget):
            return target.thrust_ratio <= THRUST_LOW
        z = target.pos_W[2]
        return estimate.pos_W[2] - z > MOVE_M if math.isfinite(z) else target.vel_W[2] < 0.0

    @property
    def setpoint_z(self) -> float:
        """Height of the setpoint."""
        guide_z, target = self._navigator.trajectory.pos_W[2], self._target
        z = target.pos_W[2] if isinstance(target, PathTarget) else guide_z
        return z if math.isfinite(z) else guide_z

    def setpoint(self, estimate: NavEstimate, dt_s: float) -> Setpoint:
        self._navigator.descending = False
        target = self._target
        if isinstance(target, AttitudeTarget):
            return self._attitude(target, estimate, dt_s)
        assert target is not None
        return self._path(target, estimate, dt_s)

    def _path(self, target: PathTarget, estimate: NavEstimate, dt_s: float) -> Setpoint:
        trajectory, limits = self._navigator.trajectory, self._navigator.limits
        if math.isfinite(target.yaw_rad):
            trajectory.turn_to(target.yaw_rad, limits, dt_s)
        else:
            trajectory.turn(target.yaw_rate_rad_s if math.isfinite(target.yaw_rate_rad_s) else 0.0, limits, dt_s)
        placed_xy, placed_z = _known(*target.pos_W[:2]), math.isfinite(target.pos_W[2])
        vx, vy, vz = _bounded(target.vel_W, limits)
        ax, ay, az = (value if math.isfinite(value) else 0.0 for value in target.accel_W)
        trajectory.fly((vx * (not placed_xy), vy * (not placed_xy), vz * (not placed_z)), estimate.pos_W, limits, dt_s)
        # On axes it does not control, the trajectory follows the aircraft, so that a later hold starts there.
        if placed_xy:
            trajectory.follow_xy(estimate.pos_W, estimate.vel_W, limits.speed_m_s)
        if placed_z:
            trajectory.follow_z(estimate.pos_W, estimate.vel_W, limits)
        led = self._setpoints.guided(estimate, hold_xy=True)
        px, py = target.pos_W[:2] if placed_xy else led.pos_W[:2]
        pz = target.pos_W[2] if placed_z else led.pos_W[2]
        return led._replace(
            pos_W=(px, py, pz),
            vel_W=(*((vx, vy) if placed_xy else led.vel_W[:2]), vz if placed_z else led.vel_W[2]),
            accel_W=(*((ax, ay) if placed_xy else led.accel_W[:2]), az if placed_z else led.accel_W[2]),
        )

    def _attitude(self, target: AttitudeTarget, estimate: NavEstimate, dt_s: float) -> Setpoint:
        quat_WB = target.quat_WB
        if quat_WB is None:
            self._turned = quat_WB = _turned(self._turned or estimate.quat_WB, target.rate_B, dt_s, estimate.quat_WB)
        roll, pitch, yaw = euler_from_quat(quat_WB)
        trajectory = self._navigator.trajectory
        trajectory.yaw_rad, trajectory.yaw_rate_rad_s = yaw, 0.0
        return self._setpoints.guided(
            estimate, hold_xy=False, roll_rad=roll, pitch_rad=pitch, thrust=max(0.0, min(1.0, target.thrust_ratio))
        )


def _known(*values: float) -> bool:
    return all(map(math.isfinite, values))


def _bounded(vel_W: Vec3, limits: Limits) -> Vec3:
    """Missing values are 0; the others are limited."""
    vx, vy, vz = (value if math.isfinite(value) else 0.0 for value in vel_W)
    scale = min(1.0, limits.speed_m_s / max(math.hypot(vx, vy), 1e-9))
    return vx * scale, vy * scale, max(-limits.down_m_s, min(limits.up_m_s, vz))


def _turned(quat_WB: Quat, rate_B: Vec3, dt_s: float, flown_WB: Quat) -> Quat:
    """The attitude after a step with these body rates; the actual attitude if the difference is too large."""
    angle = math.hypot(*rate_B) * dt_s
    scale = 0.5 * dt_s if angle < 1e-9 else math.sin(0.5 * angle) / math.hypot(*rate_B)
    x, y, z = (rate * scale for rate in rate_B)
    after = _product(quat_WB, (math.cos(0.5 * angle), x, y, z))
    dot = abs(sum(a * b for a, b in zip(after, flown_WB, strict=True)))
    return after if 2.0 * math.acos(min(1.0, dot)) < FARTHEST_RAD else quat_WB


def _product(a: Quat, b: Quat) -> Quat:
    (aw, ax, ay, az), (bw, bx, by, bz) = a, b
    product = (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )
    norm = math.hypot(*product)
    return product[0] / norm, product[1] / norm, product[2] / norm, product[3] / norm
