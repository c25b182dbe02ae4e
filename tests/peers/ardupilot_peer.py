"""An ArduPilot that judges its simulator: datagrams in, servo packets and complaints out; no I/O, no clock of its own.

It is written from what ArduPilot 4.6 does and refuses (docs/ardupilot-sitl.md), with the standard library and pymavlink
alone, so that it shares no code with what it judges. It sends a servo packet and blocks until an answer; the timestamp
of an answer is its clock. Refused answers stay in its buffer, a NaN ends it. It counts its frame rate, does not arm
below 1.8 times its loop rate nor before its estimator uses GPS, and flies by commands over MAVLink.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Protocol

from pymavlink.dialects.v20 import common as mavlink

from peers.ardupilot_copter import Motion
from peers.ardupilot_judge import Judge
from peers.ardupilot_mavlink import Words
from peers.ardupilot_reader import Reader, SigFpeError

RESEND_S = 1.1
"""Wall time after which it sends an unanswered packet again."""
ORIGIN_S, GPS_S, READY_S = 20.0, 43.0, 45.0
"""Of its own time: origin of the estimator, GPS in use, ready to arm."""
MIXED_S = 2.0
"""Of its own time: while it starts, its channels are 0 or 1000."""
MAGIC = {16: 18458, 32: 29569}
LEAST_RATIO = 1.8
STANDING = (mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_TYPE_HELICOPTER)
"""Types that stand on the ground before they take off; a plane may be on a catapult."""


class Craft(Protocol):
    """A program of ArduPilot: copter or plane."""

    mav_type: int
    loop_hz: float
    mode: int
    armed: bool

    def disarmed(self) -> list[int]: ...
    def arm(self, motion: Motion, t_s: float) -> str: ...
    def disarm(self) -> str: ...
    def set_mode(self, mode: int, motion: Motion) -> str: ...
    def command(self, number: int, params: tuple[float, ...], motion: Motion) -> str | None: ...
    def parameter(self, name: str, value: float) -> None: ...
    def step(self, motion: Motion, t_s: float, dt_s: float) -> list[int]: ...


class ArdupilotPeer:
    """`packet` first, then `receive` what came; `complaints` has everything that was wrong so far."""

    def __init__(
        self,
        craft: Craft,
        *,
        channels: int = 16,
        rate_hz: int = 800,
        system: int = 1,
        home: tuple[float, float, float] = (47.397742, 8.545594, 488.0),
        ready_s: float = READY_S,
        change: Callable[[int, list[int]], list[int]] = lambda frame, pwm: pwm,
    ) -> None:
        """`ready_s` shortens its start for a test; `change` is what a test makes of the pulses of a frame."""
        self.craft, self.complaints = craft, list[str]()
        self.frame = 0
        self.aborted = ""  # SIGFPE
        self.answers = 0  # accepted
        self.repeated = 0  # packets sent again
        self.judge = Judge(self._complain)
        self.reader = Reader()
        self.words = Words(system, craft.mav_type, home)
        self._said: set[str] = set()
        self._channels, self._rate, self._wish_hz = channels, float(rate_hz), rate_hz
        self._early = GPS_S * ready_s / READY_S, ORIGIN_S * ready_s / READY_S
        self._ready_s, self._change = ready_s, change
        self._waiting = False
        self._pwm = [0] * channels
        self._loop_s = 0.0
        self._ekf = 0
        self.motion = Motion((0.0,) * 3, (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3)  # type: ignore[arg-type]

    @property
    def t_s(self) -> float:
        return self.judge.t_s or 0.0

    @property
    def gyro_hz(self) -> float:
        return 1.0 / self.judge.dt_s if self.judge.dt_s > 0 else self._rate

    def packet(self) -> bytes:
        """The servo packet of the present frame."""
        if self._waiting:
            self.repeated += 1
        self._waiting = True
        pwm = self._change(self.frame, list(self._pwm))
        return struct.pack(f"<HHI{self._channels}H", MAGIC[self._channels], round(self._rate), self.frame, *pwm)

    def receive(self, datagram: bytes) -> bytes:
        """What it sends next; nothing where it hears or lives no more."""
        if self.aborted or self.reader.deaf:
            return b""
        if not self._waiting:
            self._complain("order", "an answer came to no packet: one packet, one answer")
        try:
            accepted = self.reader.receive(datagram)
        except SigFpeError as error:
            self.aborted = f"SIGFPE: {error}"
            self._complain("NaN", f"floating point exception: {error}")
            return b""
        self._waiting = accepted is False
        if not accepted:
            self._complain("refused", f"answer refused: {self.reader.refused[-1]}")
            return b"" if self.reader.deaf else self.packet()
        self.answers += 1
        self.frame += 1
        self._fly()
        return self.packet()

    def hear(self, data: bytes) -> None:
        """Commands over MAVLink."""
        for message in self.words.heard(data):
            self._obey(message)

    def telemetry(self) -> bytes:
        """What it has to say over MAVLink since the last call."""
        return self.words.said()

    def finish(self) -> list[str]:
        if self.answers == 0:
            self._complain("silence", "no answer was ever accepted")
        return self.complaints

    def _complain(self, kind: str, words: str) -> None:
        """Each kind once: the first is the cause."""
        if kind not in self._said:
            self._said.add(kind)
            self.complaints.append(f"{self.t_s:.3f} s: {words}")

    def _fly(self) -> None:
        state = self.reader.state
        self.judge.take(state, at_rest=not self.craft.armed and self.craft.mav_type in STANDING)
        self.motion = Motion(state["position"], state["velocity"], state["quaternion"], state["gyro"])  # type: ignore[arg-type]
        t_s, dt_s = self.t_s, self.judge.dt_s
        if dt_s > 0:
            self._rate = 1.0 / dt_s + max(-1.0, min(1.0, self._wish_hz - 1.0 / dt_s))
        self._align(t_s)
        since_s = t_s - self._loop_s
        if since_s < 1.0 / self.craft.loop_hz - 1e-6:
            return
        self._loop_s = t_s
        pulses = self.craft.step(self.motion, t_s, since_s) if self.craft.armed else self.craft.disarmed()
        if t_s < MIXED_S:
            pulses = [0 if (index + self.frame) % 3 else 1000 for index in range(len(pulses))]
        self._pwm = [*pulses, *[0] * self._channels][: self._channels]
        self.words.step(t_s, self.motion, self.craft, ekf=self._ekf)

    def _align(self, t_s: float) -> None:
        gps_s, origin_s = self._early
        stages = ((origin_s, "EKF3 IMU0 origin set"), (gps_s, "EKF3 IMU0 is using GPS"))
        if self._ekf < len(stages) and t_s >= stages[self._ekf][0]:
            self.words.text(mavlink.MAV_SEVERITY_INFO, stages[self._ekf][1])
            self._ekf += 1

    def _obey(self, message: Any) -> None:
        kind = message.get_type()
        if kind == "PARAM_SET":
            name = message.param_id.rstrip("\0")
            self.craft.parameter(name, message.param_value)
            self.words.parameter(name, message.param_value)
        elif kind in ("COMMAND_LONG", "COMMAND_INT"):
            params = tuple(getattr(message, f"param{number}") for number in range(1, 5))
            if kind == "COMMAND_INT":
                params += (message.x / 1e7, message.y / 1e7, message.z)
            else:
                params += (message.param5, message.param6, message.param7)
            self._command(message.command, params)

    def _command(self, number: int, params: tuple[float, ...]) -> None:
        refusal: str | None
        if number == mavlink.MAV_CMD_SET_MESSAGE_INTERVAL:
            self.words.set_interval(int(params[0]), params[1])
            refusal = ""
        elif number == mavlink.MAV_CMD_COMPONENT_ARM_DISARM:
            refusal = self._arm() if params[0] else self.craft.disarm()
        elif number == mavlink.MAV_CMD_DO_SET_MODE:
            refusal = self.craft.set_mode(int(params[1]), self.motion) if int(params[0]) & 1 else "Mode change failed"
        else:
            place = self.words.local(params[4], params[5])
            refusal = self.craft.command(number, (*params[:4], *place, params[6]), self.motion)
        result = mavlink.MAV_RESULT_ACCEPTED
        if refusal is None:
            result = mavlink.MAV_RESULT_UNSUPPORTED
        elif refusal:
            result = mavlink.MAV_RESULT_FAILED
            self.words.text(mavlink.MAV_SEVERITY_CRITICAL, refusal)
        self.words.acknowledge(number, result)

    def _arm(self) -> str:
        least_hz = LEAST_RATIO * self.craft.loop_hz
        if self.gyro_hz < least_hz - 0.5:
            return f"Arm: Gyro 0 rate {self.gyro_hz:.0f}Hz < loop ratex1.8 {least_hz:.0f}Hz"
        if self.t_s < self._ready_s or self._ekf < 2:
            return "Arm: Need Position Estimate"
        refusal = self.craft.arm(self.motion, self.t_s)
        if not refusal:
            self.words.text(mavlink.MAV_SEVERITY_INFO, "Arming motors")
        return refusal
