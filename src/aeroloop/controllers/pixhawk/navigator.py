"""The navigator: procedures that move the setpoint, from which flight modes are composed.

Each is called every step while its mode is active, moves the trajectory, and returns whether it is done. Whether a
position is reached is decided by the aircraft's estimate, not by the setpoint.
"""

from __future__ import annotations

import math
from dataclasses import replace

from aeroloop.controllers.pixhawk.mission import Goal, Kind, Mission
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.trajectory import Limits, TrajectoryGenerator, corner_speed
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NavEstimate, Origin

STOPPED_M_S = 0.05
HEIGHT_REACHED_M = 0.5
SPOT_REACHED_M = 0.7
"""Distance within which it must stop before it lands."""
SMALLEST_RADIUS_M = 0.5
"""Smallest acceptance radius: a mission may request less, but the estimate is not accurate enough, and it would circle
without end."""
LEG_WITH_HEADING_M = 1.0
"""On a shorter leg the heading is not changed."""


class Navigator:
    def __init__(self, parameters: Parameters) -> None:
        self.trajectory = TrajectoryGenerator()
        self.descending = False  # whether the last step commanded a landing
        self._parameters = parameters
        self._limits_of = -1
        self._own_limits: dict[tuple[float, float], Limits] = {}
        self._limits = self.limits
        self.enter()

    @property
    def limits(self) -> Limits:
        """From the current parameters."""
        if self._limits_of != self._parameters.changes:
            get = self._parameters.get
            self._limits_of = self._parameters.changes
            self._own_limits.clear()
            self._limits = Limits(
                speed_m_s=get("MPC_XY_VEL_MAX"),
                up_m_s=get("MPC_Z_VEL_MAX_UP"),
                down_m_s=get("MPC_Z_VEL_MAX_DN"),
                accel_m_s2=get("MPC_ACC_HOR"),
                jerk_m_s3=get("MPC_JERK_AUTO"),
                yaw_rate_rad_s=math.radians(get("MPC_YAWRAUTO_MAX")),
            )
        return self._limits

    def enter(self) -> None:
        """A new procedure starts: only the setpoint itself is kept."""
        self.descending = False
        self._leg: tuple[Vec3, Vec3] | None = None
        self._hold_W: Vec3 | None = None
        self._yaw_rad: float | None = None
        self._stage = 0
        self._spot_W: Vec3 | None = None
        self._passed_W: Vec3 | None = None
        self._waited_s = 0.0
        self._goal: Goal | None = None

    def hold_at(self, pos_W: Vec3, yaw_rad: float | None) -> None:
        self._hold_W, self._yaw_rad = pos_W, yaw_rad

    def hold(self, estimate: NavEstimate, dt_s: float) -> None:
        """Hold the given position, or else the position where the setpoint comes to rest."""
        self.descending = False
        if self._hold_W is None:
            self.trajectory.fly((0.0, 0.0, 0.0), estimate.pos_W, self.limits, dt_s)
            self._turn(dt_s)
            if self.trajectory.speed_m_s < STOPPED_M_S:
                self._hold_W = self.trajectory.pos_W
        else:
            self._go(self._hold_W, estimate, dt_s)

    def climb(self, z_W: float, estimate: NavEstimate, dt_s: float) -> bool:
        """Climb or descend vertically to this height."""
        if self._spot_W is None:
            self._spot_W = self.trajectory.pos_W
        target = (self._spot_W[0], self._spot_W[1], z_W)
        limits = self.limits
        limits = self._limited(limits, limits.speed_m_s, self._parameters.get("MPC_TKO_SPEED"))
        self.descending = False
        self._go(target, estimate, dt_s, limits)
        if abs(estimate.pos_W[2] - z_W) < HEIGHT_REACHED_M:
            self.hold_at(target, self._yaw_rad)
            return True
        return False

    def land(
        self, home_z_W: float, estimate: NavEstimate, dt_s: float, *, over_W: tuple[float, float] | None = None
    ) -> None:
        """Descend vertically, slower near the height of home, until ground contact is detected; over a target if one is
        given."""
        sink_m_s = self.landing_speed(home_z_W, estimate)
        # Without a position the setpoint drifts with the aircraft, and has no acceleration in reserve for stopping.
        vx, vy = (0.0, 0.0) if estimate.position_ok else self.trajectory.vel_W[:2]
        if over_W is not None and estimate.position_ok:
            vx, vy = self.trajectory.toward(over_W, self._cruising(None))
        self._sink((vx, vy, -sink_m_s), estimate, dt_s)
        self.descending = True

    def landing_speed(self, home_z_W: float, estimate: NavEstimate) -> float:
        """Descent rate of a landing at this height."""
        get = self._parameters.get
        slow, fast = get("MPC_LAND_SPEED"), max(get("MPC_LAND_SPEED"), self.limits.down_m_s)
        low, high = get("MPC_LAND_ALT2"), max(get("MPC_LAND_ALT1"), get("MPC_LAND_ALT2") + 0.1)
        part = max(0.0, min(1.0, (estimate.pos_W[2] - home_z_W - low) / (high - low)))
        return slow + (fast - slow) * part

    def stay_over(self, xy_W: tuple[float, float], climb_m_s: float, estimate: NavEstimate, dt_s: float) -> None:
        """Over a place, with this climb rate."""
        self._sink((*self.trajectory.toward(xy_W, self._cruising(None)), climb_m_s), estimate, dt_s)
        self.descending = climb_m_s < 0.0

    def _sink(self, vel_W: Vec3, estimate: NavEstimate, dt_s: float) -> None:
        # It also descends in wind that carries it away: the setpoint waits only for its height.
        abreast_W = (*self.trajectory.pos_W[:2], estimate.pos_W[2])
        self.trajectory.fly(vel_W, abreast_W, self.limits, dt_s)
        self._turn(dt_s)

    @property
    def landing_spot_reached(self) -> bool:
        """Whether a mission's landing is at the place where the descent begins."""
        return self._goal is not None and self._goal.kind is Kind.LAND and self._stage > 0

    def back(self, home_W: Vec3, estimate: NavEstimate, dt_s: float) -> None:
        """Climb to a safe height, fly home, and land."""
        get = self._parameters.get
        if self._spot_W is None:
            self._spot_W = self.trajectory.pos_W
            height = max(self._spot_W[2], home_W[2] + get("RTL_RETURN_ALT"))
            near = math.dist(self._spot_W[:2], home_W[:2]) < get("RTL_MIN_DIST")
            self._spot_W = (self._spot_W[0], self._spot_W[1], self._spot_W[2] if near else height)
        over_home = (home_W[0], home_W[1], self._spot_W[2])
        if self._stage == 0:
            self._go(self._spot_W, estimate, dt_s)
            self._stage += abs(estimate.pos_W[2] - self._spot_W[2]) < HEIGHT_REACHED_M
        elif self._stage == 1:
            self._go(over_home, estimate, dt_s, self._cruising(None))
            self._stage += self._stands_at(over_home, estimate)
        else:
            self.land(home_W[2], estimate, dt_s)

    def mission(
        self, mission: Mission, origin: Origin, home_W: Vec3, estimate: NavEstimate, dt_s: float
    ) -> Kind | None:
        """One step of the current item; returns its kind when it is reached. A landing never is: it ends with ground
        contact."""
        goal = mission.goal(origin, home_W)
        if goal is None:
            self.hold(estimate, dt_s)
            return None
        if goal is not self._goal:
            self._begin(goal)
        here = self.trajectory.pos_W
        if self._spot_W is None:
            self._spot_W = (*(goal.xy_W or here[:2]), here[2] if goal.z_W is None else goal.z_W)
            if self._passed_W is not None:
                self._leg = (self._passed_W, self._spot_W)
        limits = self._cruising(mission.speed_m_s)
        if goal.kind is Kind.RETURN:
            met = True
        elif goal.kind is Kind.WAIT:
            self.hold(estimate, dt_s)
            met = self._waited(goal.hold_s, dt_s)
        elif goal.kind is Kind.TAKEOFF:
            # An aircraft that is already higher does not descend for a take-off.
            met = here[2] > self._spot_W[2] or self.climb(self._spot_W[2], estimate, dt_s)
        elif goal.kind is Kind.LAND:
            met = False
            if self._stage == 0:
                self._go(self._spot_W, estimate, dt_s, limits)
                self._stage += self._stands_at(self._spot_W, estimate)
            else:
                self.land(home_W[2], estimate, dt_s)
        else:
            met = self._waypoint(goal, self._spot_W, limits, estimate, dt_s)
        return goal.kind if met else None

    def _begin(self, goal: Goal) -> None:
        """A leg starts at the waypoint just passed, although the setpoint turned before it."""
        passed = None
        if self._goal is not None and self._goal.next_W is not None and self._spot_W is not None:
            near = math.dist(self.trajectory.pos_W, self._spot_W) < self._radius(self._goal) + HEIGHT_REACHED_M
            passed = self._spot_W if near else None
        self.enter()
        self._passed_W = passed
        self._goal = goal
        self._yaw_rad = goal.yaw_rad

    def _radius(self, goal: Goal) -> float:
        return max(goal.radius_m or self._parameters.get("NAV_ACC_RAD"), SMALLEST_RADIUS_M)

    def _waypoint(self, goal: Goal, target_W: Vec3, limits: Limits, estimate: NavEstimate, dt_s: float) -> bool:
        radius = self._radius(goal)
        end_speed = 0.0
        if goal.next_W is not None:
            start = self._leg[0] if self._leg is not None else self.trajectory.pos_W
            end_speed = corner_speed(start, target_W, goal.next_W, radius, limits.accel_m_s2)
        self._go(target_W, estimate, dt_s, limits, end_speed, radius)
        if goal.next_W is not None:
            return math.dist(estimate.pos_W, target_W) < radius
        # At the end of a path or a stop, being near is not sufficient: the setpoint must have come to rest there.
        near = (
            math.dist(estimate.pos_W, target_W) < radius and math.dist(self.trajectory.pos_W, target_W) < SPOT_REACHED_M
        )
        return (near or self._waited_s > 0.0) and self._waited(goal.hold_s, dt_s)

    def _waited(self, hold_s: float, dt_s: float) -> bool:
        self._waited_s += dt_s
        return self._waited_s >= hold_s

    def _stands_at(self, pos_W: Vec3, estimate: NavEstimate) -> bool:
        return math.dist(estimate.pos_W, pos_W) < SPOT_REACHED_M and self.trajectory.speed_m_s < 2 * STOPPED_M_S

    def _cruising(self, speed_m_s: float | None) -> Limits:
        limits = self.limits
        speed = self._parameters.get("MPC_XY_CRUISE") if speed_m_s is None else speed_m_s
        return self._limited(limits, min(speed, limits.speed_m_s), limits.up_m_s)

    def _limited(self, limits: Limits, speed_m_s: float, up_m_s: float) -> Limits:
        """The parameters' limits except for these two; cached, since they are used in every step."""
        own, key = self._own_limits, (speed_m_s, up_m_s)
        if key not in own:
            own[key] = replace(limits, speed_m_s=speed_m_s, up_m_s=up_m_s)
        return own[key]

    def _go(
        self,
        target_W: Vec3,
        estimate: NavEstimate,
        dt_s: float,
        limits: Limits | None = None,
        end_speed_m_s: float = 0.0,
        radius_m: float = 0.0,
    ) -> None:
        self.descending = False
        if self._leg is None or self._leg[1] != target_W:
            self._leg = (self.trajectory.pos_W, target_W)
        start = self._leg[0]
        if self._yaw_rad is None and math.dist(start[:2], target_W[:2]) > LEG_WITH_HEADING_M:
            self._yaw_rad = math.atan2(target_W[1] - start[1], target_W[0] - start[0])
        limits = limits or self._cruising(None)
        self.trajectory.go(start, target_W, end_speed_m_s, radius_m, estimate.pos_W, limits, dt_s)
        self._turn(dt_s)

    def _turn(self, dt_s: float) -> None:
        if self._yaw_rad is None:
            self.trajectory.turn(0.0, self.limits, dt_s)
        else:
            self.trajectory.turn_to(self._yaw_rad, self.limits, dt_s)
