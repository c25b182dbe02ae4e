"""JSON exchange with ArduPilot's SITL: a servo packet in, one step, one answer out, in strict alternation.

    ArduPilot ──(servo packet n)────▶ plant      it sends, then blocks until it has an answer
    ArduPilot ◀─(state after a step)─ plant      the timestamp is its clock

ArduPilot speaks first, and its clock stands still while it waits, so that the plant waits for the next packet at every
pace. The number of a packet rises by one for each answer that ArduPilot has accepted. The same number again: it did not
get the answer or refused it, so the same answer is sent again and the aircraft makes no step. A smaller number: it has
restarted. An answer that it refuses stays in its buffer, which some hundred of them fill; so the exchange ends after
three repeats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event, RigidState
from aeroloop.exchanges.held_events import HeldEvents
from aeroloop.exchanges.mavlink_hil import NOT_IN_LOCKSTEP, HilRows, Timing
from aeroloop.protocols.ardupilot_json import AnswerState, ServoIn, ServoPacket, answer
from aeroloop.protocols.mavlink import MavlinkCounters
from aeroloop.protocols.servo_pulses import PulseMap, Pulses
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample
from aeroloop.sim.exchange import Row, Stopped

MOST_REPEATS = 3
"""Packets with the number of one that was answered: more of them fill ArduPilot's buffer with refused answers."""
START_POLL_S = 0.1
HINT_S = 10.0
"""Wall time without a packet after which the usual reason is printed."""
QUIET_S = 0.2
SILENT_S = 5.0
"""Wall time without a packet after which ArduPilot counts as lost: it repeats an unanswered one every 1.1 s."""
PATIENCE_S = 60.0
"""Wall time to wait for ArduPilot: enough to restart it manually."""
HINT = (
    "ArduPilot is not running, or waits for a ground station on its first serial port before it sends anything; start "
    "it with --serial0 udpclient:127.0.0.1:14550, or connect one to TCP port 5760"
)

CROSSING = (ImuSample, RangefinderSample)
"""Samples that an answer tells; ArduPilot simulates all other sensors itself."""

OnRestart = Literal["reset", "continue", "end"]


class Flown(Protocol):
    """The part of a vehicle that the JSON interface uses."""

    t_ns: int
    ended: str
    state: RigidState
    surroundings: Any  # sim.vehicle.Surroundings

    def tap(self) -> list[Any]: ...
    def restart(self) -> None: ...


class DatagramLink(Protocol):
    url: str

    def send(self, data: bytes) -> None: ...
    def datagrams(self) -> list[bytes]: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    pulses: PulseMap
    period_ns: int  # of the answers; a multiple of the vehicle's step
    on_restart: OnRestart = "reset"
    notify: Callable[[str], None] = lambda text: None  # message to the user
    settled: Callable[[int], None] = lambda t_ns: None  # called at the end of each step's exchange


class JsonAutopilot:
    """One ArduPilot on one link, and the vehicle that it flies."""

    cuts = False
    over = False

    def __init__(
        self, vehicle: Flown, link: DatagramLink, timing: Timing, settings: Settings, rows: HilRows | None = None
    ) -> None:
        self._vehicle, self._link, self._timing, self._rows = vehicle, link, timing, rows
        self._settings, self._notify = settings, settings.notify
        self._command_of = settings.pulses.command
        self.pulses = Pulses(settings.pulses.channels)
        self.command: Row = self._command_of(self.pulses.take(()))
        # Of the log's link stream: unknown is another magic number, skipped bytes are of another size.
        self.counters = MavlinkCounters()
        self.servos = ServoIn()
        self.frame_rate_hz = 0  # that ArduPilot wishes for
        self.restarts = 0
        self.repeats = 0  # of answered packets
        self.departures = 0
        self._inbox = vehicle.tap()
        self._next_ns = settings.period_ns
        self._origin_ns = 0  # simulated time at which ArduPilot's clock starts
        self._imu: ImuSample | None = None
        self._ranges_m: tuple[float, ...] = ()
        self._frame = -1  # number of the packet in hand
        self._answer = b""  # to the packet in hand, once sent
        self._again = 0  # repeats of the packet in hand
        self._refusing = self._away = False
        self._events = HeldEvents(rows)

    @property
    def locked(self) -> bool:
        return True

    def next_ns(self) -> int:
        return self._next_ns

    def fileno(self) -> int:
        return -1  # a packet is the answer to ours, which `settle` waits for

    def wake(self, t_ns: int) -> None: ...

    def await_ready(self, timeout_s: float, stopped: Stopped = lambda: False) -> None:
        """Wait for the first packet; in either order of starting ArduPilot repeats it until it is answered."""
        quiet_s, began_s, hinted = 0.0, self._timing.now_s(), False
        while not stopped():
            if self._timing.readable(START_POLL_S):
                self._poll()
                if self._frame >= 0:
                    return
            else:
                quiet_s += START_POLL_S
            waited_s = max(quiet_s, self._timing.now_s() - began_s)
            if waited_s >= timeout_s:
                raise LinkError(f"no servo packet on {self._link.url} within {timeout_s:g} s; {self._reason()}")
            if waited_s >= HINT_S and not hinted:
                hinted = True
                self._notify(f"no servo packet on {self._link.url} for {HINT_S:g} s; {self._reason()}")

    def receive(self, t_ns: int) -> None: ...

    def serve(self) -> None:
        """Answer the packet in hand with the state after the step that it commanded."""
        vehicle = self._vehicle
        t_ns = vehicle.t_ns
        if t_ns < self._next_ns:
            return  # a step of another aircraft
        self._next_ns = t_ns + self._settings.period_ns
        samples: list[Sample] = [sample for sample in self._inbox if isinstance(sample, CROSSING)]
        self._inbox.clear()
        self._keep(samples)
        if not vehicle.ended:
            self._poll()  # what ArduPilot repeated before it could have an answer
            self._send(self._told(t_ns))
        self._events.log(t_ns)
        if self._rows is not None:
            self._rows.exchanged(t_ns, samples, self.servos.counters.packets, self.counters)

    def settle(self, stopped: Stopped = lambda: False) -> None:
        """Wait for the next packet."""
        if not self._answer:
            return
        self._poll()
        if self._answer:
            self._await_packet(stopped)
        if not self._answer:
            self._settings.settled(self._vehicle.t_ns)

    def switch(self, switch: Switch) -> Switched:
        raise ConfigError(f"{switch.target}: {NOT_IN_LOCKSTEP}, and ArduPilot always runs in lockstep")

    def finish(self) -> None:
        self._events.log(self._vehicle.t_ns)
        if self._rows is not None:
            self._rows.finish(self._vehicle.t_ns, self.counters)

    def close(self) -> None:
        self._link.close()

    def _reason(self) -> str:
        """Why nothing useful arrived, as far as is known."""
        strange = self.servos.counters.wrong_size + self.servos.counters.wrong_magic
        if strange:
            return f"{strange} datagrams were no servo packets (40 bytes with magic 18458, or 72 with 29569)"
        return HINT

    def _poll(self) -> None:
        counters, servos = self.counters, self.servos
        for datagram in self._link.datagrams():
            counters.bytes_in += len(datagram)
            packet = servos.read(datagram)
            if packet is not None:
                counters.frames_in += 1
                self._take(packet)
                continue
            known_size = servos.counters.wrong_magic > counters.unknown
            counters.unknown = servos.counters.wrong_magic
            counters.skipped_bytes += 0 if known_size else len(datagram)

    def _take(self, packet: ServoPacket) -> None:
        number = packet.frame_count
        if number == self._frame:
            self._repeat(number)
            return
        if number < self._frame:
            self._restarted(number)
        elif self._frame >= 0:
            self.counters.lost += number - self._frame - 1
        else:
            self._events.add(Event.AUTOPILOT_ANSWERED, 1.0)
        self._frame, self._answer, self._again = number, b"", 0
        self.frame_rate_hz = packet.frame_rate
        self.command = self._command_of(self.pulses.take(packet.pwm))
        if self.pulses.refusing is not self._refusing:
            self._refusing = self.pulses.refusing
            if self._refusing:
                self._events.add(Event.ACTUATORS_REFUSED, self.pulses.refused)

    def _repeat(self, number: int) -> None:
        """One that was not answered yet needs nothing: its answer is due anyway."""
        if not self._answer:
            return
        self.repeats += 1
        self.counters.lost += 1
        self._again += 1
        if self._again >= MOST_REPEATS:
            raise LinkError(
                f"ArduPilot on {self._link.url} has repeated frame {number} {MOST_REPEATS} times "
                f"(at {self._vehicle.t_ns / NS:.2f} s of the flight): it refuses the answers or does not get them; "
                "restart it, since refused answers stay in its buffer"
            )
        self._send(self._answer)

    def _restarted(self, number: int) -> None:
        self.restarts += 1
        at = f"at {self._vehicle.t_ns / NS:.2f} s of the flight"
        if self._settings.on_restart == "end":
            raise LinkError(f"ArduPilot on {self._link.url} restarted {at} (frame {number} after {self._frame})")
        self._events.add(Event.AUTOPILOT_RESTARTED, self.restarts)
        self.pulses.rest()
        self._origin_ns = self._vehicle.t_ns  # its clock starts near 0 again
        if self._settings.on_restart == "reset":
            self._vehicle.restart()
        how = "is put back to its start" if self._settings.on_restart == "reset" else "stays where it is"
        self._notify(f"ArduPilot on {self._link.url} restarted {at}: the aircraft {how}")

    def _keep(self, samples: list[Sample]) -> None:
        """A sensor without a new sample keeps its last one: an answer has all values."""
        for sample in samples:
            if isinstance(sample, ImuSample):
                self._imu = sample
            elif isinstance(sample, RangefinderSample):
                self._ranges_m = (sample.range_m if sample.valid else sample.max_m + 1.0,)

    def _told(self, t_ns: int) -> bytes:
        _, pos_W, quat_WB, vel_W, _, _ = self._vehicle.state
        around, imu = self._vehicle.surroundings, self._imu
        if imu is None:
            raise LinkError(f"sensors.imu: no sample at {t_ns / NS:.3f} s, and ArduPilot needs one in every answer")
        wind_W = around.air.wind_W
        airspeed_m_s = math.dist(vel_W, wind_W)
        state = AnswerState(
            t_ns - self._origin_ns, imu.rate_B, imu.accel_B, pos_W, quat_WB, vel_W, wind_W, airspeed_m_s, self._ranges_m
        )
        try:
            return answer(state)
        except ValueError as error:
            raise LinkError(f"no answer was sent to ArduPilot: {error}") from None

    def _send(self, data: bytes) -> None:
        self._answer = data
        self.counters.frames_out += 1
        self.counters.bytes_out += len(data)
        self._link.send(data)

    def _await_packet(self, stopped: Stopped) -> None:
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self._answer and not stopped():
            if self._timing.readable(QUIET_S):
                self._poll()
            else:
                quiet_s += QUIET_S
            waited_s = max(quiet_s, self._timing.now_s() - began_s)
            if not self._answer:
                break
            if waited_s >= SILENT_S and not self._away:
                self._lose()
            if waited_s >= PATIENCE_S:
                raise LinkError(
                    f"ArduPilot on {self._link.url} has sent nothing for {PATIENCE_S:g} s "
                    f"(at {self._vehicle.t_ns / NS:.2f} s of the flight)"
                )
        if self._away and not self._answer:
            self._away = False
            self._notify(f"ArduPilot on {self._link.url} sends again")
            self._events.add(Event.AUTOPILOT_BACK, 0.0)  # simulated time stood still

    def _lose(self) -> None:
        self._away = True
        self.departures += 1
        self._events.add(Event.AUTOPILOT_LEFT, self.departures)
        self._notify(
            f"ArduPilot on {self._link.url} sends nothing at {self._vehicle.t_ns / NS:.2f} s of the flight: "
            f"simulated time is stopped for {PATIENCE_S:g} s at most"
        )
