"""LANDING_TARGET: where a companion computer sees the pad. Each message is checked; the last accepted one is kept.

As in PX4, the position must be given in the local frame (MAV_FRAME_LOCAL_NED, position_valid 1). The time is that of
the image, since boot.
"""

from __future__ import annotations

import math

from aeroloop.controllers.pixhawk.types import LandingTarget, Refusal
from aeroloop.core.frames import Vec3
from aeroloop.core.frames import ned_from_enu as enu_from_ned
from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink import Message

LOCAL_NED = 1
OLDEST_NS = NS // 2
NEWEST_NS = NS // 10
"""A companion's clock may be ahead by this much."""
FARTHEST_M = 200.0


def target_from(message: Message) -> LandingTarget | Refusal:
    if not message.position_valid:
        return Refusal("Landing target: position_valid must be 1", temporary=False)
    if message.frame != LOCAL_NED:
        return Refusal(f"Landing target: frame {message.frame} unsupported", temporary=False)
    return LandingTarget(1000 * message.time_usec, enu_from_ned((message.x, message.y, message.z)))


class LandingTargets:
    def __init__(self) -> None:
        self.last: LandingTarget | None = None

    def take(self, t_ns: int, target: LandingTarget, own_W: Vec3 | None) -> Refusal | None:
        """`own_W`: the aircraft's estimated position."""
        if not all(map(math.isfinite, target.pos_W)):
            return Refusal("Landing target: position is not finite", temporary=False)
        if t_ns - target.t_ns > OLDEST_NS:
            return Refusal("Landing target: image is older than 0.5 s")
        if target.t_ns - t_ns > NEWEST_NS:
            return Refusal("Landing target: its time is in the future")
        if self.last is not None and target.t_ns <= self.last.t_ns:
            return Refusal("Landing target: images are out of order")
        if own_W is None:
            return Refusal("Landing target: own position is not known")
        if math.dist(target.pos_W, own_W) > FARTHEST_M:
            return Refusal(f"Landing target: over {FARTHEST_M:g} m away")
        self.last = target
        return None

    def age_s(self, t_ns: int) -> float:
        """Since the image of the last target; infinite without one."""
        return math.inf if self.last is None else (t_ns - self.last.t_ns) / NS
