"""Decides when the simulator waits for PX4: a state machine without clock or link.

PX4's clock is the `time_usec` of HIL_SENSOR. It answers nothing at first, so the simulator runs free until the first
HIL_ACTUATOR_CONTROLS with the lockstep flag. From then on each answer carries the time of its sample, and the simulator
waits for the answer to its newest sample; but PX4 answers at most 250 times a second of its clock, every second or
fourth sample of a faster stream, so that waiting for each would be a deadlock.
"""

from __future__ import annotations

from collections import deque

LATEST_START_US = 1_000_000
"""A clock that starts late delays PX4's estimator."""
LONGEST_STEP_US = 100_000
ANSWER_PERIOD_US = 4000
LARGEST_RATIO = 16
_ALIKE_TO_LEARN = 8
_LAPSES_TO_LEARN = 3
"""Consecutive time-outs before less frequent answers are assumed: a single pause must not change the rest of the
flight."""
_LAPSES_AT_FIRST = 2
"""The same while its answer rate is unknown: one that is slow to start pauses too."""


class Px4Lockstep:
    """Call `sent` with each HIL_SENSOR, `answered` with each HIL_ACTUATOR_CONTROLS, `timed_out` when the caller stops
    waiting."""

    def __init__(self, *, answers_every_sample: bool = False) -> None:
        """`answers_every_sample`: answers every sample from the first on, so that a flight repeats to the bit."""
        self.locked = answers_every_sample
        # In lockstep with no answer pending: the first may arrive while a sample is in transit.
        self.settled = answers_every_sample
        self.waiting = False
        self.ratio = 1  # samples per answer, once locked
        self.timeouts = 0
        self.stray_answers = 0  # to no sample sent, or older than one already answered
        self._sent_us = 0
        self._period_us = 0
        self._number = 0  # of the newest sample
        self._recent: deque[int] = deque(maxlen=2 * LARGEST_RATIO)  # times of the last samples
        self._answered_number = 0
        self._answered_us = -1
        self._lag = 0  # samples by which this autopilot's answers trail
        self._trails = 0  # consecutive time-outs of this kind
        self._trailing = 0  # how old the newest answer of this wait is, in samples
        self.silences = 0  # time-outs since the last answer
        self._skips = 0  # consecutive answers that arrived only after a time-out
        self._alike = 0
        self._last_gap = 0
        self.known = answers_every_sample  # its answer rate is known: how many samples an answer takes

    @property
    def trails(self) -> bool:
        """While waiting: an answer arrived, but to an older sample."""
        return self._trailing > 0

    def sent(self, time_usec: int, answerable: bool = True) -> bool:
        """Whether to wait for an answer before the next sample. Raises for a clock that would make PX4 fail.

        A sample without a gyro's data advances PX4's clock, but its control law does not run, so there is no answer.
        """
        if self._number == 0:
            if not 0 < time_usec <= LATEST_START_US:
                raise ValueError(f"time_usec starts at {time_usec}: PX4 expects 1 to {LATEST_START_US}.")
        else:
            step = time_usec - self._sent_us
            if not 0 < step <= LONGEST_STEP_US:
                raise ValueError(
                    f"time_usec went from {self._sent_us} to {time_usec}: it must rise by 1 to {LONGEST_STEP_US}."
                )
            self._period_us = step
        self._sent_us = time_usec
        self._number += 1
        self._recent.append(time_usec)
        self._trailing = 0
        due = self._number - self._answered_number >= self.ratio + self._lag
        self.settled = self.locked and not due
        self.waiting = answerable and self.locked and due
        return self.waiting

    def answered(self, time_usec: int, lockstep: bool) -> bool:
        """An answer arrived; returns whether the next sample may be sent. An autopilot without lockstep is never waited
        for."""
        if not lockstep:
            self.locked = self.settled = self.waiting = False
            return True
        if time_usec <= self._answered_us or time_usec > self._sent_us:
            self.stray_answers += 1
            return not self.waiting
        self._answered_us = time_usec
        # Normally the newest is answered.
        behind = sum(1 for sent in self._recent if sent > time_usec) if time_usec != self._sent_us else 0
        number = self._number - behind
        if not self.locked:
            self.locked = True
            self.ratio = max(1, min(LARGEST_RATIO, -(-ANSWER_PERIOD_US // self._period_us) if self._period_us else 1))
        else:
            gap = number - self._answered_number
            if self.silences or self._skips:
                self._judge_silence(gap)
            self._alike = self._alike + 1 if gap == self._last_gap else 1
            self._last_gap = gap
            if self._alike >= _ALIKE_TO_LEARN and not (self.known and gap == self.ratio):
                self.known = True
                self.ratio = max(1, min(LARGEST_RATIO, gap))
        self._answered_number = number
        due = behind >= self.ratio + self._lag
        self.settled = not due
        if self.waiting and due:
            self._trailing = behind
        else:
            self.waiting = False
            self._trails = 0
        return not self.waiting

    def restarted(self) -> None:
        """The autopilot restarted: at first it does not answer, as at the start, and its answer rate is unknown."""
        self.locked = self.settled = self.waiting = self.known = False
        self._lag = self._trailing = self._trails = self._alike = self.silences = self._skips = 0

    def timed_out(self) -> None:
        """Timeout of the wait: continue with a sample, which it may answer. A lower answer rate is assumed only if this
        repeats: the autopilot may just have paused, in a debugger or on a busy machine."""
        self.timeouts += 1
        self._alike = 0
        if self._trailing:
            self._trails += 1
            if self._trails >= _LAPSES_TO_LEARN:
                self._lag = self._trailing - self.ratio + 1
                due = self._number - self._answered_number >= self.ratio + self._lag
                self.settled = self.locked and not due
        else:
            self.silences += 1
        self.waiting = False

    def _judge_silence(self, gap: int) -> None:
        """Whether time-outs were a pause, after which every answer arrives again, or a new answer rate."""
        if self.silences:
            self.silences = 0
            self._skips += 1
            if self._skips >= (_LAPSES_TO_LEARN if self.known else _LAPSES_AT_FIRST):
                self._skips = 0
                self.ratio = max(1, min(LARGEST_RATIO, gap))
        elif self.waiting:
            self._skips = 0
