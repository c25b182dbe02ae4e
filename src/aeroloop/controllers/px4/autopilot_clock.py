"""Conversion from an autopilot's own clock to simulated time.

PX4's SITL takes its clock from HIL_SENSOR and counts from the first of them: its `time_boot_ms` is simulated time minus
that of the first sample. A board in HITL, or an autopilot that was restarted in flight, counts from its own start: then
the offset is the shortest time from its stamp to the message's arrival.
"""

from __future__ import annotations

from aeroloop.core.signals import NS

OURS_NS = NS
"""At a wall-clock pace, a clock within this difference of ours counts as taken from our samples."""
BACK_NS = NS
"""A stamp this long before the newest is that of a restarted autopilot."""
FORGET = 1e-3
"""Fraction of the difference that each message corrects, for a drifting clock."""


class AutopilotClock:
    def __init__(self, first_sample_ns: int, *, lockstep: bool) -> None:
        """In lockstep a message may arrive long after its time, which runs as fast as possible."""
        self._offset_ns = self._usual_ns = first_sample_ns
        self._lockstep = lockstep
        self._newest_ns = 0
        self.own = False  # it counts from its own start

    def simulated_ns(self, stamp_ns: int, now_ns: int) -> int:
        """The time of a message with this stamp that arrives at `now_ns` of simulated time."""
        apart_ns = now_ns - stamp_ns
        restarted = stamp_ns < self._newest_ns - BACK_NS
        self._newest_ns = stamp_ns if restarted else max(self._newest_ns, stamp_ns)
        if restarted:
            self.own, self._offset_ns = True, apart_ns
        elif not self._lockstep and not self.own:
            if abs(apart_ns - self._usual_ns) > OURS_NS:
                self.own, self._offset_ns = True, apart_ns
        elif self.own and apart_ns < self._offset_ns:
            self._offset_ns = apart_ns
        elif self.own:
            self._offset_ns += round(FORGET * (apart_ns - self._offset_ns))
        return stamp_ns + self._offset_ns
