"""MAVLink HIL exchange with an autopilot that has its own control law, such as PX4 or the virtual Pixhawk.

The plant owns the clock: a HIL_SENSOR is the autopilot's tick. The autopilot runs free, at the configured pace, until
its first answer, and from then on in lockstep with the plant (`protocols/px4_lockstep.py`). While an autopilot in
lockstep is disconnected, simulated time stops. Over an impaired link, where a sample or its answer may be lost or late,
an autopilot of ours alternates with the plant by a baton, and runs on its own clock.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event, RigidState
from aeroloop.exchanges.barriers import BatonBarrier
from aeroloop.exchanges.board_faults import passed_on
from aeroloop.exchanges.held_events import HeldEvents
from aeroloop.exchanges.hil_samples import gathered, true_state
from aeroloop.exchanges.link_faults import LinkFaults
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn
from aeroloop.protocols.px4_lockstep import Px4Lockstep
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample
from aeroloop.sim.exchange import Row, Stopped

SIMULATOR_SYSTEM, SIMULATOR_COMPONENT = 1, 51
"""System and component ID of our messages: PX4 accepts HIL messages from any sender."""
PATIENCE_S = 60.0
"""Wall time after which an autopilot in lockstep that does not answer counts as lost. Simulated time is stopped
meanwhile, so a debugger or a busy machine may take a while."""
TRAILING_S = 1.0
"""Wall time after which an autopilot that answers older samples is assumed to do so always."""
RETURN_S = 60.0
"""Wall time to wait for a disconnected autopilot: enough to restart it manually."""
SILENCE_NS = NS
"""Time without actuator messages after which an autopilot without lockstep counts as lost; its motors stop."""
FEWER_S = 2.0
"""Wall time after which an autopilot that does not answer a sample may answer the next; doubled each time if it always
answered so far."""
START_POLL_S = 0.1
INVITE_S = 1.0
GARBAGE_S = 0.2
"""Wall time after which an incomplete frame is discarded."""
HEARTBEAT_PERIOD_NS = NS
BATTERY_PERIOD_NS = NS // 10
CLOCK_PERIOD_NS = NS // 20
"""Maximum time without an IMU sample: after it a HIL_SENSOR without IMU data advances the autopilot's clock, which must
not jump."""

NO_ARDUPILOT_HIL = (
    "ArduPilot has no MAVLink HIL; use its SITL (JSON: aeroloop fly quad-ardupilot), "
    "or a board with pose-packet firmware"
)
NOT_IN_LOCKSTEP = "in lockstep, time waits for every message, so none may be lost or late"

Mix = Callable[[tuple[float, ...]], tuple[float, ...]]


class Flown(Protocol):
    """The part of a vehicle that MAVLink HIL uses."""

    t_ns: int
    step_ns: int
    ended: str
    state: RigidState

    surroundings: Any  # sim.vehicle.Surroundings

    def tap(self) -> list[Any]: ...


class HilLink(Protocol):
    url: str

    def send(self, data: bytes) -> None: ...
    def poll(self) -> bytes: ...
    def close(self) -> None: ...


class Readable(Protocol):
    def fileno(self) -> int: ...


class HilRows(Protocol):
    """Destinations of the exchange's log rows."""

    def event(self, t_ns: int, event: Event, value: float, /) -> None: ...
    def exchanged(self, t_ns: int, samples: list[Sample], accepted: int, counters: MavlinkCounters, /) -> None: ...
    def finish(self, t_ns: int, counters: MavlinkCounters, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """Access to wall time and to the descriptor."""

    readable: Callable[[float], bool]  # waits for bytes at most so many seconds; False on timeout
    now_s: Callable[[], float] = time.monotonic  # of the wall
    wait_first: bool = False  # for an answer: it takes a while, so that reading at once would find none


def wall_timing(link: Readable, *, wait_first: bool = False) -> Timing:
    """`wait_first` is for a link that keeps no bytes which its descriptor does not show."""
    poller, watched = select.poll(), -1

    def readable(timeout_s: float) -> bool:
        nonlocal watched
        descriptor = link.fileno()
        if descriptor != watched:  # a new peer on a link that outlives its peers
            if watched >= 0:
                poller.unregister(watched)
            poller.register(descriptor, select.POLLIN)
            watched = descriptor
        return bool(poller.poll(timeout_s * 1000))

    return Timing(readable, wait_first=wait_first)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the channels of HIL_ACTUATOR_CONTROLS move; a family's row may name it."""

    motors: frozenset[int]  # channels, from 0, that range from 0 to 1; all others from -1 to 1
    stopped: Row  # command while disarmed or without an autopilot
    command: Mix  # from all channels
    mix: Mix | None = None  # from the axes of the older HIL_CONTROLS; without it they are counted and ignored


def motor_outputs(rotors: int, mix: Mix | None = None) -> Outputs:
    """A channel for each rotor, in order."""
    return Outputs(frozenset(range(rotors)), (0.0,) * rotors, itemgetter(slice(rotors)), mix)


@dataclass(frozen=True, slots=True)
class Settings:
    """Autopilot settings known before its first message."""

    outputs: Outputs
    answers_every_sample: bool = False  # from the first sample on
    notify: Callable[[str], None] = lambda text: None  # message to the user
    line: LinkFaults | None = None  # impairments that can be switched in flight
    impaired: Callable[[], bool] | None = None
    """While messages may be lost or late there is no lockstep: it would deadlock on a lost message. None: never."""
    settled: Callable[[int], None] | None = None  # called at the end of each step's exchange
    others: Callable[[Frame], None] | None = None  # handler of messages that are not part of HIL
    battery: Callable[[], hil.HilBattery] | None = None  # a simulated battery, for an autopilot that reads its monitor


class MavlinkHil:
    """One autopilot on one link, and the vehicle that it flies."""

    cuts = False
    over = False

    def __init__(
        self,
        vehicle: Flown,
        link: HilLink,
        timing: Timing,
        settings: Settings,
        rows: HilRows | None = None,
        *,
        bare: HilLink | None = None,
        barrier: BatonBarrier | None = None,
    ) -> None:
        """`bare` is the link without impairments; they start with the flight. With a `barrier` the exchange waits by
        the baton, and never for an answer."""
        self._vehicle, self._link, self._timing, self._rows = vehicle, link, timing, rows
        self._bare, self._barrier = bare or link, barrier
        outputs, self._notify, self._impaired = settings.outputs, settings.notify, settings.impaired
        self._line, self._settled, self._others = settings.line, settings.settled, settings.others
        self._battery, self._battery_ns = settings.battery, 0
        self._inbox = vehicle.tap()
        self._next_ns = vehicle.step_ns
        self._owed = False  # samples were sent in this round
        self.unmixed = 0  # axes without a mixer to motor commands
        self.restarts = 0  # restarts of the autopilot in flight
        self.departures = 0  # disconnections of the autopilot in flight
        self._silent_s = 0.0  # wall time waited since the last answer
        self.counters = MavlinkCounters()
        self.lockstep = Px4Lockstep(answers_every_sample=settings.answers_every_sample)
        self.actuators = hil.ActuatorEnd(outputs.motors)
        self._in = MavlinkIn(self.counters)
        self._out = hil.HilOut(self.counters, SIMULATOR_SYSTEM, SIMULATOR_COMPONENT)
        self._stopped, self._commanded, self._mix = outputs.stopped, outputs.command, outputs.mix
        self.command: Row = self._stopped
        self._events = HeldEvents(rows)
        self._heartbeat_ns = 0
        self._truth_period_ns, self._truth_ns = 0, 0  # 0: no ground truth requested
        self._early: dict[type, Sample] = {}  # slow samples between two IMU samples
        self._clock_runs, self._clock_ns = False, 0
        self._answered = False  # since the autopilot started
        self._received_ns = 0  # time of the last actuator message
        self._refusing = False
        self._away = False  # it answered before and has disconnected
        self._held = False  # no autopilot connected: simulated time is stopped
        self._lasting = hasattr(self._bare, "departures")  # the link outlives its peers, and counts their departures
        self._link_departures = 0

    @property
    def locked(self) -> bool:
        """In lockstep with no answer pending: time may advance as fast as possible."""
        return self.lockstep.settled or self._barrier is not None

    def next_ns(self) -> int:
        return self._next_ns

    def fileno(self) -> int:
        return -1  # what arrives between two steps applies from the next step on

    def wake(self, t_ns: int) -> None: ...

    def await_ready(self, timeout_s: float, stopped: Stopped = lambda: False) -> None:
        """Time starts with the autopilot's first message: samples sent before would be queued and arrive all at once.

        Some autopilots do not send first: PX4 over UDP waits for a datagram, over USB for a heartbeat.
        """
        flown_over, self._link = self._link, self._bare
        try:
            if self._barrier is not None:
                self._barrier.begin()
                self._poll()
            else:
                self._await_first(timeout_s, stopped)
        finally:
            self._link = flown_over

    def _await_first(self, timeout_s: float, stopped: Stopped) -> None:
        waited_s, began_s, invited = 0.0, self._timing.now_s(), 0
        while not stopped():
            if max(waited_s, self._timing.now_s() - began_s) >= invited * INVITE_S:
                invited += 1
                self._link.send(self._out.pack(hil.heartbeat()))
            if self._timing.readable(START_POLL_S):
                self._poll()
                if self.counters.frames_in:
                    return
            else:
                waited_s += START_POLL_S
            if max(waited_s, self._timing.now_s() - began_s) >= timeout_s:
                raise LinkError(
                    f"no MAVLink received on {self._link.url} within {timeout_s:g} s; is the autopilot running?"
                )

    def receive(self, t_ns: int) -> None:
        """Read the command of a free-running autopilot for the next step."""
        if not self.lockstep.settled:
            self._poll()
        if self._events.held and t_ns >= self._next_ns:  # not the step of another aircraft
            self._events.log(t_ns)

    def serve(self) -> None:
        vehicle = self._vehicle
        t_ns = vehicle.t_ns
        if t_ns < self._next_ns:
            return  # a step of another aircraft
        self._next_ns = t_ns + vehicle.step_ns
        self._owed = not vehicle.ended
        samples = self._inbox[:]
        self._inbox.clear()
        if self._owed:
            self._send(t_ns, samples)
        if self._answered and not self.lockstep.locked and not self._away and t_ns - self._received_ns > SILENCE_NS:
            self._lose()
        if self._events.held:
            self._events.log(t_ns)
        if self._rows is not None:
            self._rows.exchanged(t_ns, samples, self.actuators.accepted, self.counters)

    def settle(self, stopped: Stopped = lambda: False) -> None:
        """Read the autopilot's answers, and wait for one where lockstep requires it."""
        if not self._owed:
            return
        if self._held or not (self.lockstep.waiting and self._timing.wait_first):
            self._poll()
        if self._barrier is not None:
            self._barrier.settle(self._vehicle.t_ns)
            self._poll()
        while (owed := self._held or self.lockstep.waiting) and not stopped():
            if self._held:
                self._await_return(stopped)
            else:
                self._await_answer(stopped)
        self._owed = owed
        if not owed and self._settled is not None:
            self._settled(self._vehicle.t_ns)

    def switch(self, switch: Switch) -> Switched:
        if self._line is None:
            raise ConfigError(
                f"{switch.target}: {NOT_IN_LOCKSTEP}; give the scenario an impairment to switch from, or fly with "
                "--pace real"
            )
        if self.lockstep.locked:
            raise ConfigError(f"{switch.target}: {NOT_IN_LOCKSTEP}, and this autopilot runs in lockstep")
        return self._line.switch(switch)

    @property
    def boards_fail(self) -> bool:
        return self._barrier is not None

    def switch_board(self, switch: Switch) -> Switched:
        return passed_on(switch, self._barrier)

    def finish(self) -> None:
        if self._barrier is not None:
            self._barrier.close()
        self._events.log(self._vehicle.t_ns)
        if self._rows is not None:
            self._rows.finish(self._vehicle.t_ns, self.counters)

    def close(self) -> None:
        self._link.close()

    def _poll(self) -> None:
        """Read and handle what has arrived."""
        chunk = self._link.poll()
        if chunk:
            self._held = False
            for frame in self._in.feed(chunk):
                self._obey(frame)
        if self._lasting and self._link.departures != self._link_departures:  # type: ignore[attr-defined]
            self._link_departures = self._link.departures  # type: ignore[attr-defined]
            self._held = not self._answered or self.lockstep.locked
            if self._answered and not self._away:
                self._lose()
            self.lockstep.restarted()
            self._in = MavlinkIn(self.counters)  # the next peer may have another ID, and completes no old frame

    def _send(self, t_ns: int, samples: list[Sample]) -> None:
        overdue = self._clock_runs and t_ns - self._clock_ns >= CLOCK_PERIOD_NS
        if self._early:
            samples = [*self._early.values(), *samples]
        sample, fixes, ranges = gathered(t_ns, samples, without_imu=overdue)
        if sample is not None:
            if self._early:
                self._early.clear()
        else:
            self._early.update((type(s), s) for s in samples if not isinstance(s, GnssSample | RangefinderSample))
        frames = []
        if self._clock_runs:  # before the first HIL_SENSOR the autopilot has no clock to timestamp a fix with
            for fix in fixes:
                frames.append(self._out.pack(hil.hil_gps(fix)))
            for measured in ranges:
                frames.append(self._out.pack(hil.distance_sensor(measured)))
            if self._battery is not None and t_ns >= self._battery_ns:
                self._battery_ns = t_ns + BATTERY_PERIOD_NS
                frames.append(self._out.pack(hil.battery_status(self._battery())))
            # In HITL, without lockstep, the truth would overwrite the autopilot's own estimate.
            if self._truth_period_ns and t_ns >= self._truth_ns and self.lockstep.locked:
                self._truth_ns = max(self._truth_ns, t_ns - self._truth_period_ns) + self._truth_period_ns
                around = self._vehicle.surroundings
                truth = true_state(self._vehicle.state, around.air, around.place)
                frames.append(self._out.pack(hil.hil_state_quaternion(truth, hitl=False)))
        if t_ns >= self._heartbeat_ns:
            self._heartbeat_ns += HEARTBEAT_PERIOD_NS
            frames.append(self._out.pack(hil.heartbeat()))
        if sample is not None:
            # Sent last: it is the autopilot's tick, and all other samples of that time must have arrived before it.
            frames.append(self._out.sensor(sample))
        if frames:
            self._link.send(b"".join(frames))
        if sample is not None:
            self._clock_runs, self._clock_ns = True, t_ns
            self.lockstep.sent(t_ns // 1000, answerable=sample.rate_B is not None)

    def _obey(self, frame: Frame) -> None:
        actuators = self.actuators.accept(frame)
        if actuators is None:
            wish_us = hil.truth_interval_us(frame)
            if wish_us is not None:
                self._greet(wish_us)
            elif not self._answered and hil.is_ardupilot(frame):
                raise LinkError(f"{self._link.url}: {NO_ARDUPILOT_HIL}")
            elif self._others is not None:
                self._others(frame)
            return
        time_usec, controls, armed, lockstep, axes, held = actuators
        self._in.system = frame.system  # only this one is accepted from now on
        if not axes:  # HIL_CONTROLS has no lockstep flag
            strays = self.lockstep.stray_answers
            impaired = self._barrier is not None or (self._impaired is not None and self._impaired())
            self.lockstep.answered(time_usec, lockstep and not impaired)
            if self.lockstep.stray_answers != strays:  # its clock runs backwards, or ahead of ours
                return
            self._silent_s = 0.0
        if self._away or not self._answered:
            self._welcome(lockstep)
        self._received_ns = self._vehicle.t_ns
        if held is not self._refusing:
            self._refusing = held
            if held:
                self._events.add(Event.ACTUATORS_REFUSED, self.actuators.refused)
        if not armed:
            self.command = self._stopped
        elif not axes:
            self.command = self._commanded(controls)
        elif self._mix is not None:
            self.command = self._mix(controls)
        else:
            self.unmixed += 1

    def _greet(self, truth_interval_us: float) -> None:
        """First message of an autopilot. If one has flown before, it is a different one, or restarted."""
        self._truth_period_ns = max(0, round(truth_interval_us * 1000)) if math.isfinite(truth_interval_us) else 0
        if self._answered:
            self._answered = False
            self.restarts += 1
            self._events.add(Event.AUTOPILOT_RESTARTED, self.restarts)
            self.command = self._stopped
            self.lockstep.restarted()

    def _welcome(self, lockstep: bool) -> None:
        """First actuators of an autopilot, or of one that has reconnected."""
        if not self._answered:
            self._answered = True
            self._events.add(Event.AUTOPILOT_ANSWERED, float(lockstep))
        if self._away:
            self._away = False
            self._notify(f"the autopilot on {self._link.url} has reconnected")
            self._events.add(Event.AUTOPILOT_BACK, (self._vehicle.t_ns - self._received_ns) / NS)

    def _lose(self) -> None:
        """The autopilot is lost. If time runs on without it, no command keeps the motors turning."""
        self._away = True
        self.departures += 1
        self._events.add(Event.AUTOPILOT_LEFT, self.departures)
        waits = f"simulated time is stopped for {RETURN_S:g} s at most" if self._held else "its motors stop"
        self._notify(
            f"the autopilot disconnected from {self._link.url} "
            f"at {self._vehicle.t_ns / NS:.2f} s of the flight: {waits}"
        )
        if not self._held:
            self.command = self._stopped

    def _await_answer(self, stopped: Callable[[], bool]) -> None:
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self.lockstep.waiting and not stopped():
            if self._timing.readable(GARBAGE_S):
                self._poll()
            else:
                for frame in self._in.give_up():  # an answer may follow the start of an invalid frame
                    self._obey(frame)
                quiet_s += GARBAGE_S
            if not self.lockstep.waiting:
                return
            # Check the clock as well: bytes that are no answers must not hide that no answer arrives.
            waited_s = max(quiet_s, self._timing.now_s() - began_s)
            enough_s = TRAILING_S if self.lockstep.trails else FEWER_S
            if self.lockstep.known and not self.lockstep.trails:
                enough_s *= 2**self.lockstep.silences
            if waited_s >= enough_s:
                if not self._silent_s:
                    at = f"at {self._vehicle.t_ns / NS:.2f} s of the flight"
                    self._notify(f"the autopilot on {self._link.url} does not answer ({at}); timeout {PATIENCE_S:g} s")
                self._silent_s += waited_s
                self.lockstep.timed_out()
            if self._silent_s >= PATIENCE_S:
                raise LinkError(
                    f"the autopilot on {self._link.url} has not answered for {PATIENCE_S:g} s "
                    f"(at {self._vehicle.t_ns / NS:.2f} s of the flight); it does not reconnect by itself: restart it"
                )

    def _await_return(self, stopped: Callable[[], bool]) -> None:
        """Wait for a message on a link whose peer has disconnected."""
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self._held and not stopped():
            if self._timing.readable(GARBAGE_S):
                self._poll()
            else:
                quiet_s += GARBAGE_S
            if self._held and max(quiet_s, self._timing.now_s() - began_s) >= RETURN_S:
                raise LinkError(
                    f"the autopilot disconnected from {self._link.url} "
                    f"at {self._vehicle.t_ns / NS:.2f} s of the flight "
                    f"and has not reconnected for {RETURN_S:g} s"
                )
