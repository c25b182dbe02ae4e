"""Precision landing on a target that a companion computer sees; states and parameters are PX4's.

    START ─▶ APPROACH ─▶ DESCEND ─▶ FINAL          unseen for PLD_BTOUT: back to START, at most PLD_MAX_SRCH times
       └──▶ SEARCH ─▶┘                             otherwise, and without a target: FALLBACK, a normal landing

PX4 descends at the landing speed whatever the error. With AL_PLD_GATE = 1, the default here,

- the position is held more stiffly over the target (`pad_hold`), since gusts move a hovering aircraft by decimetres;
- the descent is slower near the pad, stops while the error is greater than 0.04 m + 0.06 of the height or the target
  was unseen for `UNSEEN_S`, and waits at `WAIT_M` until it would touch down within `TOUCH_M`.

Each wait ends after `GATE_PATIENCE_S`, so that an aircraft which already stands beside the pad does not wait for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum, IntEnum

from aeroloop.controllers.pixhawk import pad_hold
from aeroloop.controllers.pixhawk.landing_targets import LandingTargets
from aeroloop.controllers.pixhawk.navigator import Navigator
from aeroloop.controllers.pixhawk.pad_hold import XY
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import Severity
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NavEstimate

POINT_S = 2.0
"""Time at the start before a search, and over the target before the descent."""
ACQUIRED_S = 1.0
"""Time in view before a search ends."""
ACQUIRED_CLIMB_M = 1.0
APPROACH_PATIENCE_S = 10.0
FINAL_UNSEEN_S = 0.5
GATE_M, GATE_PER_M = 0.04, 0.06
GATE_PATIENCE_S = 10.0
UNSEEN_S = 1.0
SINK_M_S, SINK_PER_M = 0.25, 0.35
WAIT_M, WAIT_BAND_M, WAIT_GAIN = 0.145, 0.05, 1.5
"""Height of the feet over the target at which the descent waits, where that ends, and the rate (1/s) at which it is
approached."""
LOW_M = 0.045
"""With the feet lower than this it goes on in any case."""
TOUCH_M, TOUCH_M_S, TOUCH_S = 0.03, 0.12, 0.4
"""Largest error and speed for the last decimetres, and the time that these take."""
TOUCH_SINK_M_S = 0.35
LOST_M = 0.08
"""With a greater error the last decimetres are not flown."""
PAD_IS_GROUND_M = 3.0
"""Below this height over the target its height is taken as the ground's."""


class Precision(IntEnum):
    """Parameter 2 of MAV_CMD_NAV_LAND."""

    OFF = 0
    OPPORTUNISTIC = 1
    REQUIRED = 2


class Stage(Enum):
    START = "start"
    SEARCH = "search"
    APPROACH = "approach"
    DESCEND = "descend"
    FINAL = "final"
    FALLBACK = "fallback"


class PrecisionLanding:
    def __init__(
        self,
        parameters: Parameters,
        navigator: Navigator,
        targets: LandingTargets,
        send_text: Callable[[Severity, str], None],
        rest_height_m: float = 0.0,
    ) -> None:
        """`rest_height_m`: of the aircraft's origin over the ground that it stands on."""
        self._get = parameters.get
        self._navigator, self._targets, self._send_text = navigator, targets, send_text
        self._rest_height_m = rest_height_m
        self.enter(Precision.REQUIRED)

    def enter(self, precision: Precision) -> None:
        """A new landing begins."""
        self._precision = precision
        self._starts = 0
        self._stay_W: Vec3 | None = None
        self._t_ns = -1
        self._push_W: XY = (0.0, 0.0)
        self._integral: XY = (0.0, 0.0)
        self._to(Stage.START)

    @property
    def stage(self) -> Stage:
        return self._stage

    def push_W(self, t_ns: int) -> XY:
        """Horizontal acceleration that holds it over the target, m/s2; none unless this time's step was made here."""
        return self._push_W if t_ns == self._t_ns else (0.0, 0.0)

    def step(self, t_ns: int, home_z_W: float, estimate: NavEstimate, dt_s: float) -> None:
        self._t_ns, self._home_z_W = t_ns, home_z_W
        self._stage_s += dt_s
        if self._stay_W is None:
            self._stay_W = self._navigator.trajectory.pos_W
            self._search_z = max(self._stay_W[2], home_z_W + self._get("PLD_SRCH_ALT"))
        {
            Stage.START: self._start,
            Stage.SEARCH: self._search,
            Stage.APPROACH: self._approach,
            Stage.DESCEND: self._descend,
            Stage.FINAL: self._sink,
            Stage.FALLBACK: self._sink,
        }[self._stage](estimate, dt_s)
        self._push(estimate, dt_s)

    def _to(self, stage: Stage) -> None:
        self._stage, self._stage_s = stage, 0.0
        self._met_s = self._held_s = 0.0
        self._touches = False

    def _again(self, words: str) -> None:
        """The target was lost: start again where it is, or land there."""
        self._send_text(Severity.WARNING, words)
        self._starts += 1
        self._stay_W = None
        if self._starts > self._get("PLD_MAX_SRCH"):
            self._fall_back("no more searches")
        else:
            self._to(Stage.START)

    def _fall_back(self, reason: str) -> None:
        self._send_text(Severity.WARNING, f"Precision landing: {reason}; landing here")
        self._to(Stage.FALLBACK)

    @property
    def _seen(self) -> bool:
        return self._targets.age_s(self._t_ns) < self._get("PLD_BTOUT")

    def _target(self) -> Vec3:
        assert self._targets.last is not None
        return self._targets.last.pos_W

    # One step of each stage.

    def _start(self, estimate: NavEstimate, dt_s: float) -> None:
        assert self._stay_W is not None
        if self._seen:
            self._send_text(Severity.INFO, "Precision landing: target seen")
            self._to(Stage.APPROACH)
            self._approach(estimate, dt_s)
        elif self._precision is Precision.OPPORTUNISTIC:
            self._fall_back("no target")
            self._sink(estimate, dt_s)
        else:
            self._hold(self._stay_W, estimate, dt_s)
            if self._stage_s >= POINT_S:
                self._send_text(Severity.INFO, "Precision landing: searching")
                self._to(Stage.SEARCH)

    def _search(self, estimate: NavEstimate, dt_s: float) -> None:
        assert self._stay_W is not None
        x, y, _ = self._stay_W
        if self._seen:
            if self._met_s == 0.0:  # stop the climb softly
                self._search_z = min(self._search_z, estimate.pos_W[2] + ACQUIRED_CLIMB_M)
            self._met_s += dt_s
        else:
            self._met_s = 0.0
        self._hold((x, y, self._search_z), estimate, dt_s)
        if self._met_s >= ACQUIRED_S:
            self._send_text(Severity.INFO, "Precision landing: target seen")
            self._to(Stage.APPROACH)
        elif self._stage_s > self._get("PLD_SRCH_TOUT"):
            self._fall_back("no target")

    def _approach(self, estimate: NavEstimate, dt_s: float) -> None:
        if not self._seen:
            self._again("Precision landing: target lost in approach")
            self._hold(self._navigator.trajectory.pos_W, estimate, dt_s)
            return
        if self._stage_s <= dt_s or self._stay_W is None:
            self._stay_W = self._navigator.trajectory.pos_W  # its height is kept
        x, y, _ = self._target()
        self._hold((x, y, self._stay_W[2]), estimate, dt_s)
        limit_m = self._get("PLD_HACC_RAD")
        near = abs(x - estimate.pos_W[0]) < limit_m and abs(y - estimate.pos_W[1]) < limit_m
        self._met_s = self._met_s + dt_s if near else 0.0
        if self._met_s >= POINT_S:
            self._send_text(Severity.INFO, "Precision landing: descending")
            self._to(Stage.DESCEND)
        elif self._stage_s > APPROACH_PATIENCE_S:
            self._fall_back("approach too long")

    def _descend(self, estimate: NavEstimate, dt_s: float) -> None:
        height_m = estimate.pos_W[2] - self._target()[2]
        feet_m = height_m - self._rest_height_m
        low = height_m < self._get("PLD_FAPPR_ALT") or (self._get("AL_PLD_GATE") > 0 and feet_m < LOW_M)
        if not self._seen or (low and self._targets.age_s(self._t_ns) >= FINAL_UNSEEN_S):
            if low:
                self._send_text(Severity.INFO, "Precision landing: final approach")
                self._to(Stage.FINAL)
                self._sink(estimate, dt_s)
            else:
                self._again("Precision landing: target lost in descent")
                self._hold(self._navigator.trajectory.pos_W, estimate, dt_s)
            return
        if self._get("AL_PLD_GATE"):
            self._descend_with_care(estimate, height_m, low, dt_s)
        else:
            self._sink(estimate, dt_s)

    def _descend_with_care(self, estimate: NavEstimate, height_m: float, low: bool, dt_s: float) -> None:
        x, y, z = self._target()
        dx, dy, (vx, vy, _) = estimate.pos_W[0] - x, estimate.pos_W[1] - y, estimate.vel_W
        off_m = math.hypot(dx, dy)
        outside = off_m > GATE_M + GATE_PER_M * max(0.0, height_m) or self._targets.age_s(self._t_ns) > UNSEEN_S
        feet_m = height_m - self._rest_height_m
        waits = feet_m < WAIT_M + WAIT_BAND_M
        if waits and not outside and math.hypot(vx, vy) < TOUCH_M_S:
            # The error at the touch-down, as far as it is known.
            ahead_m = math.hypot(dx + TOUCH_S * vx, dy + TOUCH_S * vy)
            self._touches = self._touches or max(off_m, ahead_m) < TOUCH_M
        self._touches = self._touches and off_m < LOST_M
        free = low or self._touches
        self._held_s = 0.0 if free or not (outside or waits) else self._held_s + dt_s
        if free or self._held_s > GATE_PATIENCE_S:
            sink_m_s = max(TOUCH_SINK_M_S, SINK_M_S + SINK_PER_M * (feet_m - WAIT_M))
        elif outside:
            sink_m_s = 0.0
        else:
            sink_m_s = min(SINK_M_S + SINK_PER_M * height_m, max(0.0, WAIT_GAIN * (feet_m - WAIT_M)))
        ground_z = z if height_m < PAD_IS_GROUND_M else self._home_z_W
        sink_m_s = min(sink_m_s, self._navigator.landing_speed(ground_z, estimate))
        self._navigator.stay_over((x, y), -sink_m_s, estimate, dt_s)

    def _push(self, estimate: NavEstimate, dt_s: float) -> None:
        self._push_W = (0.0, 0.0)
        over = self._stage in (Stage.APPROACH, Stage.DESCEND, Stage.FINAL)
        if not over or not self._get("AL_PLD_GATE") or not estimate.position_ok:
            return
        trajectory, (x, y, _) = self._navigator.trajectory, self._target()
        if math.dist(trajectory.pos_W[:2], (x, y)) > pad_hold.NEAR_M:
            return
        error_m = x - estimate.pos_W[0], y - estimate.pos_W[1]
        slower_m_s = trajectory.vel_W[0] - estimate.vel_W[0], trajectory.vel_W[1] - estimate.vel_W[1]
        self._push_W, self._integral = pad_hold.push(error_m, slower_m_s, self._integral, dt_s)

    def _sink(self, estimate: NavEstimate, dt_s: float) -> None:
        """At landing speed: over the target, or where it is without one."""
        if self._stage is Stage.FALLBACK:
            self._navigator.land(self._home_z_W, estimate, dt_s)
            return
        x, y, z = self._target()
        ground_z = z if estimate.pos_W[2] - z < PAD_IS_GROUND_M else self._home_z_W
        self._navigator.land(ground_z, estimate, dt_s, over_W=(x, y))

    def _hold(self, pos_W: Vec3, estimate: NavEstimate, dt_s: float) -> None:
        """Without turning: the camera should not."""
        self._navigator.hold_at(pos_W, self._navigator.trajectory.yaw_rad)
        self._navigator.hold(estimate, dt_s)
