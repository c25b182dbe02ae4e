"""MAVLink HIL: an autopilot that brings its own control law, such as PX4 or the virtual Pixhawk.

The plant owns the clock: a HIL_SENSOR is the autopilot's tick. The autopilot runs free, at the pace it is given, until
its first answer, and from then on in lockstep with the plant (`protocols/px4_lockstep.py`). While an autopilot in
lockstep is away, its connection lost, time stands still.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event, RigidState
from aeroloop.exchanges.hil_samples import gathered, true_state
from aeroloop.exchanges.line_faults import LineFaults
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn
from aeroloop.protocols.px4_lockstep import Px4Lockstep
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample
from aeroloop.sim.exchange import Row, Stopped

SIMULATOR_SYSTEM, SIMULATOR_COMPONENT = 1, 51
"""How we sign our messages: PX4 takes HIL messages from any sender."""
PATIENCE_S = 60.0
"""Wall time after which an autopilot that was in lockstep and does not answer counts as gone. Time stands still
meanwhile, so a debugger or a busy machine may take a while."""
TRAILING_S = 1.0
"""Wall time after which an autopilot that answers to older samples is taken to do so always."""
RETURN_S = 60.0
"""Wall time after which one that left its connection does not come back: time enough to start it again by hand."""
SILENCE_NS = NS
"""Time after which an autopilot without lockstep that sends no actuators counts as gone; its motors stop."""
FEWER_S = 2.0
"""Wall time after which an autopilot that does not answer a sample may answer the next; twice as long each time where
it always answered so far."""
START_POLL_S = 0.1
INVITE_S = 1.0
GARBAGE_S = 0.2
"""Wall time after which the rest of a frame does not come any more."""
HEARTBEAT_PERIOD_NS = NS
CLOCK_PERIOD_NS = NS // 20
"""Without an IMU sample for so long, a HIL_SENSOR without one keeps the autopilot's clock going: it must not jump."""

NOT_IN_LOCKSTEP = "in lockstep time waits for every message, so none may be lost or late"

Mix = Callable[[tuple[float, ...]], tuple[float, ...]]


class Flown(Protocol):
    """What MAVLink HIL needs of a vehicle."""

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
    """Where the exchange's rows go."""

    def event(self, t_ns: int, event: Event, value: float, /) -> None: ...
    def exchanged(self, t_ns: int, samples: list[Sample], accepted: int, counters: MavlinkCounters, /) -> None: ...
    def finish(self, t_ns: int, counters: MavlinkCounters, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """How the exchange meets the outside world's time."""

    readable: Callable[[float], bool]  # waits for bytes at most so many seconds; False when none came
    now_s: Callable[[], float] = time.monotonic  # of the wall


def wall_timing(link: Readable) -> Timing:
    poller, watched = select.poll(), -1

    def readable(timeout_s: float) -> bool:
        nonlocal watched
        descriptor = link.fileno()
        if descriptor != watched:  # the peer of a link that outlives its peers has changed
            if watched >= 0:
                poller.unregister(watched)
            poller.register(descriptor, select.POLLIN)
            watched = descriptor
        return bool(poller.poll(timeout_s * 1000))

    return Timing(readable)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known of an autopilot before it speaks."""

    rotors: int
    mix: Mix | None = None  # motor commands of the older HIL_CONTROLS' axes; without it they are counted and ignored
    answers_every_sample: bool = False  # from the first on
    notify: Callable[[str], None] = lambda words: None  # words for whoever waits with us
    line: LineFaults | None = None  # what can be done to the link in flight
    impaired: Callable[[], bool] = lambda: False
    """While messages may be lost or late, there is no lockstep: time would wait for what waits for time."""


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
    ) -> None:
        """`bare` is the link without its impairments, which begin with the flight."""
        self._vehicle, self._link, self._timing, self._rows = vehicle, link, timing, rows
        self._bare = bare or link
        self._mix, self._notify, self._impaired = settings.mix, settings.notify, settings.impaired
        self._line = settings.line
        self._inbox = vehicle.tap()
        self._next_ns = vehicle.step_ns
        self._owed = False  # samples were sent in this round
        self.unmixed = 0  # axes that nobody here can turn into motor commands
        self.restarts = 0  # of the autopilot, in flight
        self.departures = 0  # of the autopilot, in flight
        self._silent_s = 0.0  # wall time of waiting since the last answer
        self.counters = MavlinkCounters()
        self.lockstep = Px4Lockstep(prompt=settings.answers_every_sample)
        self.actuators = hil.ActuatorEnd(frozenset(range(settings.rotors)))
        self._in = MavlinkIn(self.counters)
        self._out = hil.HilOut(self.counters, SIMULATOR_SYSTEM, SIMULATOR_COMPONENT)
        self._stopped: Row = (0.0,) * settings.rotors
        self.command: Row = self._stopped
        self._events: list[tuple[Event, float]] = []
        self._heartbeat_ns = 0
        self._truth_period_ns, self._truth_ns = 0, 0  # 0: no ground truth is wished for
        self._early: dict[type, Sample] = {}  # slow samples that came between two of the IMU
        self._clock_runs, self._clock_ns = False, 0
        self._answered = False  # since the autopilot started
        self._heard_ns = 0  # the last actuators
        self._refusing = False
        self._away = False  # it answered, and then it left
        self._held = False  # nobody is there: time stands still
        self._lasting = hasattr(self._bare, "departures")  # it outlives its peers, and counts those that left
        self._link_departures = 0

    @property
    def locked(self) -> bool:
        """In lockstep, and nothing is owed: time may go as fast as it can."""
        return self.lockstep.settled

    def next_ns(self) -> int:
        return self._next_ns

    def fileno(self) -> int:
        return -1  # what comes between two steps counts from the next one on

    def wake(self, t_ns: int) -> None: ...

    def await_ready(self, timeout_s: float, stopped: Stopped = lambda: False) -> None:
        """Time begins with the autopilot's first message: samples sent before would come upon it all at once.

        Some do not speak first: PX4 over UDP waits for a datagram, over USB for a heartbeat.
        """
        flown_over, self._link = self._link, self._bare
        try:
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

    def hear(self, t_ns: int) -> None:
        """Of an autopilot that runs free, the command for the step that is about to be made."""
        if not self.lockstep.settled:
            self._poll()
        if self._events:
            self._tell_events(t_ns)

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
        if self._answered and not self.lockstep.locked and not self._away and t_ns - self._heard_ns > SILENCE_NS:
            self._lose()
        if self._events:
            self._tell_events(t_ns)
        if self._rows is not None:
            self._rows.exchanged(t_ns, samples, self.actuators.accepted, self.counters)

    def settle(self, stopped: Stopped = lambda: False) -> None:
        """Take the autopilot's answers, and wait for one where lockstep demands it."""
        if not self._owed:
            return
        self._poll()
        while (owed := self._held or self.lockstep.waiting) and not stopped():
            if self._held:
                self._await_return(stopped)
            else:
                self._await_answer(stopped)
        self._owed = owed

    def switch(self, switch: Switch) -> Switched:
        if self._line is None:
            raise ConfigError(f"{switch.target}: {NOT_IN_LOCKSTEP}; fly with --pace real")
        if self.lockstep.locked:
            raise ConfigError(f"{switch.target}: {NOT_IN_LOCKSTEP}, and this autopilot flies in lockstep")
        return self._line.switch(switch)

    def finish(self) -> None:
        self._tell_events(self._vehicle.t_ns)
        if self._rows is not None:
            self._rows.finish(self._vehicle.t_ns, self.counters)

    def close(self) -> None:
        self._link.close()

    def _poll(self) -> None:
        """Take what has come."""
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
            self._in = MavlinkIn(self.counters)  # whoever comes next may have another number, and ends no old frame

    def _say(self, event: Event, value: float) -> None:
        """Logged with the time of the step that follows: what comes while time stands still belongs to that."""
        if self._rows is not None:
            self._events.append((event, value))

    def _tell_events(self, t_ns: int) -> None:
        if self._rows is not None:
            for event, value in self._events:
                self._rows.event(t_ns, event, value)
            self._events.clear()

    def _send(self, t_ns: int, samples: list[Sample]) -> None:
        overdue = self._clock_runs and t_ns - self._clock_ns >= CLOCK_PERIOD_NS
        if self._early:
            samples = [*self._early.values(), *samples]
        sample, fixes, ranges = gathered(t_ns, samples, without_imu=overdue)
        if sample is not None:
            self._early.clear()
        else:
            self._early.update((type(s), s) for s in samples if not isinstance(s, GnssSample | RangefinderSample))
        frames = []
        if self._clock_runs:  # until the first HIL_SENSOR the autopilot has no clock to set a fix by
            for fix in fixes:
                frames.append(self._out.pack(hil.hil_gps(fix)))
            for measured in ranges:
                frames.append(self._out.pack(hil.distance_sensor(measured)))
            # In HITL, where nothing is in lockstep, the truth would overwrite the autopilot's own estimate.
            if self._truth_period_ns and t_ns >= self._truth_ns and self.lockstep.locked:
                self._truth_ns = max(self._truth_ns, t_ns - self._truth_period_ns) + self._truth_period_ns
                around = self._vehicle.surroundings
                truth = true_state(self._vehicle.state, around.air, around.place)
                frames.append(self._out.pack(hil.hil_state_quaternion(truth, hitl=False)))
        if t_ns >= self._heartbeat_ns:
            self._heartbeat_ns += HEARTBEAT_PERIOD_NS
            frames.append(self._out.pack(hil.heartbeat()))
        if sample is not None:
            # Last: it is the autopilot's tick, and all that belongs to it must be there already.
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
            return
        time_usec, controls, armed, lockstep, axes, held = actuators
        self._in.listen_to(frame.system)
        if not axes:  # which have no lockstep to tell of
            strays = self.lockstep.stray_answers
            self.lockstep.answered(time_usec, lockstep and not self._impaired())
            if self.lockstep.stray_answers != strays:  # its clock goes backwards, or ahead of ours
                return
            self._silent_s = 0.0
        if self._away or not self._answered:
            self._welcome(lockstep)
        self._heard_ns = self._vehicle.t_ns
        if held is not self._refusing:
            self._refusing = held
            if held:
                self._say(Event.ACTUATORS_REFUSED, self.actuators.refused)
        if not armed:
            self.command = self._stopped
        elif not axes:
            self.command = controls[: len(self._stopped)]
        elif self._mix is not None:
            self.command = self._mix(controls)
        else:
            self.unmixed += 1

    def _greet(self, truth_interval_us: float) -> None:
        """An autopilot that begins. If one has flown before, it is another, or the same after a restart."""
        self._truth_period_ns = max(0, round(truth_interval_us * 1000)) if math.isfinite(truth_interval_us) else 0
        if self._answered:
            self._answered = False
            self.restarts += 1
            self._say(Event.AUTOPILOT_RESTARTED, self.restarts)
            self.command = self._stopped
            self.lockstep.restarted()

    def _welcome(self, lockstep: bool) -> None:
        """The first actuators of an autopilot, or of one that was away."""
        if not self._answered:
            self._answered = True
            self._say(Event.AUTOPILOT_ANSWERED, float(lockstep))
        if self._away:
            self._away = False
            self._notify(f"the autopilot on {self._link.url} is back")
            self._say(Event.AUTOPILOT_BACK, (self._vehicle.t_ns - self._heard_ns) / NS)

    def _lose(self) -> None:
        """The autopilot has gone. Where time goes on without it, no signal is left to keep the motors turning."""
        self._away = True
        self.departures += 1
        self._say(Event.AUTOPILOT_LEFT, self.departures)
        waits = f"time stands still for {RETURN_S:g} s at most" if self._held else "its motors stop"
        self._notify(
            f"the autopilot has left {self._link.url} at {self._vehicle.t_ns / NS:.2f} s of the flight: {waits}"
        )
        if not self._held:
            self.command = self._stopped

    def _await_answer(self, stopped: Callable[[], bool]) -> None:
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self.lockstep.waiting and not stopped():
            if self._timing.readable(GARBAGE_S):
                self._poll()
            else:
                for frame in self._in.give_up():  # an answer may stand behind the beginning of a frame that was none
                    self._obey(frame)
                quiet_s += GARBAGE_S
            # By the clock too: bytes that are no answers must not hide that none comes.
            waited_s = max(quiet_s, self._timing.now_s() - began_s)
            enough_s = TRAILING_S if self.lockstep.trails else FEWER_S
            if self.lockstep.known and not self.lockstep.trails:
                enough_s *= 2**self.lockstep.silences
            if self.lockstep.waiting and waited_s >= enough_s:
                if not self._silent_s:
                    at = f"at {self._vehicle.t_ns / NS:.2f} s of the flight"
                    self._notify(f"the autopilot on {self._link.url} does not answer ({at}): {PATIENCE_S:g} s at most")
                self._silent_s += waited_s
                self.lockstep.timed_out()
            if self._silent_s >= PATIENCE_S:
                raise LinkError(
                    f"the autopilot on {self._link.url} has not answered for {PATIENCE_S:g} s "
                    f"(at {self._vehicle.t_ns / NS:.2f} s of the flight); it does not reconnect by itself: restart it"
                )

    def _await_return(self, stopped: Callable[[], bool]) -> None:
        """Until somebody speaks on a link whose peer has left."""
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self._held and not stopped():
            if self._timing.readable(GARBAGE_S):
                self._poll()
            else:
                quiet_s += GARBAGE_S
            if self._held and max(quiet_s, self._timing.now_s() - began_s) >= RETURN_S:
                raise LinkError(
                    f"the autopilot left {self._link.url} at {self._vehicle.t_ns / NS:.2f} s of the flight "
                    f"and has not come back for {RETURN_S:g} s"
                )
