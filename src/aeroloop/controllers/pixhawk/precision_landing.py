"""Precision landing on a target that a companion computer sees; states and parameters are PX4's.

    START ─▶ APPROACH ─▶ DESCEND ─▶ FINAL          unseen for PLD_BTOUT: back to START, at most PLD_MAX_SRCH times
       └──▶ SEARCH ─▶┘                             otherwise, and without a target: FALLBACK, a normal landing

PX4 descends at the landing speed whatever the error. With AL_PLD_GATE = 1, the default here, the descent stops while
the error is greater than 0.04 m + 0.06 of the height; above PLD_FAPPR_ALT only, and at most `GATE_PATIENCE_S` at a
time, so that an aircraft which already stands beside the pad does not wait for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum, IntEnum

from aeroloop.controllers.pixhawk.landing_targets import LandingTargets
from aeroloop.controllers.pixhawk.navigator import Navigator
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
    ) -> None:
        self._get = parameters.get
        self._navigator, self._targets, self._send_text = navigator, targets, send_text
        self.enter(Precision.REQUIRED)

    def enter(self, precision: Precision) -> None:
        """A new landing begins."""
        self._precision = precision
        self._starts = 0
        self._stay_W: Vec3 | None = None
        self._to(Stage.START)

    @property
    def stage(self) -> Stage:
        return self._stage

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

    def _to(self, stage: Stage) -> None:
        self._stage, self._stage_s = stage, 0.0
        self._met_s = self._held_s = 0.0

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
        low = height_m < self._get("PLD_FAPPR_ALT")
        if not self._seen or (low and self._targets.age_s(self._t_ns) >= FINAL_UNSEEN_S):
            if low:
                self._send_text(Severity.INFO, "Precision landing: final approach")
                self._to(Stage.FINAL)
                self._sink(estimate, dt_s)
            else:
                self._again("Precision landing: target lost in descent")
                self._hold(self._navigator.trajectory.pos_W, estimate, dt_s)
            return
        if not low and self._gated(estimate, height_m, dt_s):
            x, y, _ = self._target()
            self._hold((x, y, self._navigator.trajectory.pos_W[2]), estimate, dt_s)
            return
        self._sink(estimate, dt_s)

    def _gated(self, estimate: NavEstimate, height_m: float, dt_s: float) -> bool:
        off_m = math.dist(estimate.pos_W[:2], self._target()[:2])
        outside = self._get("AL_PLD_GATE") and off_m > GATE_M + GATE_PER_M * max(0.0, height_m)
        self._held_s = self._held_s + dt_s if outside else 0.0
        return bool(outside) and self._held_s <= GATE_PATIENCE_S

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
