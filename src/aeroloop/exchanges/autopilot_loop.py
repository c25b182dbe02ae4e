"""The bench as a loop around an autopilot that brings its own control law, such as PX4.

    controls ─▶ motors ─▶ world ─▶ state ─▶ sensors ─▶ MAVLink ─▶ link ─▶ autopilot
       ▲                    ▲                                                │
       │        earth, atmosphere, wind                                      │
       └──────────────────────── MAVLink ◀────────── link ◀──────────────────┘

Here the plant owns the clock: a HIL_SENSOR is the autopilot's tick. The loop runs free, at the pace it is given, until
the autopilot's first answer, and from then on in lockstep with it (`protocols/px4_lockstep.py`).

A tick has two halves, so that several aircraft can share one time (`fleet.py`): `advance` ends with the samples on
their way, `settle` with the answer. While an autopilot in lockstep is away, its connection lost, time stands still.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from aeroloop.core.errors import LinkError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Air, Place, RigidState
from aeroloop.exchanges.hil_samples import gathered, true_state
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn
from aeroloop.protocols.px4_lockstep import Px4Lockstep
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.rangefinder import RangefinderSample, beam_ground_m
from aeroloop.sensors.suite import Sample
from aeroloop.sim.stages import AtmosphereStage, EarthStage, LinkStage, WindStage

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
BOUND_M = 10_000.0
"""Farther from home than this, and nobody flies the aircraft any more."""
AIRBORNE_NS = NS // 5
"""Shorter hops over the ground are not worth an event each."""
LONGEST_WAIT_NS = NS // 10
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


Mix = Callable[[tuple[float, ...]], tuple[float, ...]]
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True)


class Happening(StrEnum):
    """What is worth a line in the log; its value stands beside each."""

    ANSWERED = "the autopilot gave its first actuators"  # value: 1 in lockstep, 0 without
    RESTARTED = "the autopilot started anew"  # value: how often so far
    LEFT = "the autopilot has gone: its connection, or without lockstep its actuators"  # value: how often so far
    RETURNED = "the autopilot that had gone gave actuators again"  # value: seconds of flight since
    REFUSED = "actuators that cannot be believed; the last command stands"  # value: messages refused so far
    GROUND_CONTACT = "the aircraft touched the ground"  # value: vertical speed in m/s
    DIVERGED = "the aircraft is out of bounds, or its state no number"  # value: distance from home in m


Events = Sequence[tuple[Happening, float]]


class MotorStage(Protocol[E_co]):
    def step(self, command: tuple[float, ...], dt_ns: int) -> E_co: ...


class WorldStage(Protocol[E_contra]):
    @property
    def touching(self) -> bool: ...
    def step(self, effort: E_contra, air: Air, gravity_m_s2: float, dt_ns: int) -> None: ...
    def state(self, t_ns: int) -> RigidState: ...


class SensorStage(Protocol):
    feels_motors: bool

    def sample(
        self,
        state: RigidState,
        air: Air,
        place: Place,
        *,
        motor_current_A: float = 0.0,
        thrust_N: float = 0.0,
        terrain_m: float = 0.0,
    ) -> list[Sample]: ...


class Observer(Protocol[E_contra]):
    """Told once a tick what happened in it, after the samples were sent and before the answer is awaited."""

    def __call__(
        self,
        state: RigidState,
        effort: E_contra,
        controls: tuple[float, ...],  # what the motors were told in this step, 0..1
        air: Air,
        samples: list[Sample],  # delivered at this instant
        events: Events,  # since the last tick; as a rule empty
        /,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """How a loop meets the outside world's time."""

    until: Callable[[int], None]  # sleeps until the wall has reached a simulated time; only before lockstep
    readable: Callable[[float], bool]  # waits for bytes at most so many seconds; False when none came
    now_s: Callable[[], float] = time.monotonic  # of the wall


class Readable(Protocol):
    def fileno(self) -> int: ...


def wall_timing(link: Readable) -> Timing:
    """The monotonic clock, and the link's descriptor. Time that was lost is not made up for: a burst of samples would
    be more than an autopilot that has just started can take. Nor is time that lockstep gained waited for."""
    origin_ns = 0

    def until(t_ns: int) -> None:
        nonlocal origin_ns
        early_ns = origin_ns + t_ns - time.monotonic_ns()
        if 0 < early_ns <= LONGEST_WAIT_NS:
            time.sleep(early_ns / NS)
        else:
            origin_ns -= early_ns

    return Timing(until, lambda timeout_s: bool(select.select([link.fileno()], [], [], timeout_s)[0]))


class AutopilotLoop(Generic[E]):
    """One multirotor, one autopilot, one link."""

    def __init__(
        self,
        *,
        motors: MotorStage[E],
        world: WorldStage[E],
        earth: EarthStage,
        atmosphere: AtmosphereStage,
        wind: WindStage,
        sensors: SensorStage,
        link: LinkStage,
        timing: Timing,
        rotors: int,
        step_ns: int,
        mix: Mix | None = None,
        prompt: bool = False,
        note: Observer[E] | None = None,
        load: Callable[[E, Air], tuple[float, float]] | None = None,
        terrain_m: Callable[[float, float], float] | None = None,
        bound_m: float = BOUND_M,
        tell: Callable[[str], None] = lambda words: None,
        worn: Callable[[], bool] = lambda: False,
    ) -> None:
        """`mix` makes motor commands of the older HIL_CONTROLS' axes; without it they are counted and ignored.

        `prompt` says that the autopilot answers every sample from the first on. `load` gives the motors' supply current
        (A) and thrust (N), which a magnetometer may feel; `terrain_m` the ground's height at x and y. `tell` gets words
        for whoever waits with us. While `worn` says that messages may be lost or late, there is no lockstep: time would
        wait for what waits for time.
        """
        self._motors, self._world, self._sensors = motors, world, sensors
        self._earth, self._atmosphere, self._wind = earth, atmosphere, wind
        self._link, self._timing = link, timing
        self.step_ns = step_ns
        self._mix, self._note, self._terrain_m, self._bound_m = mix, note, terrain_m, bound_m
        self._tell, self._worn = tell, worn
        self._load = load if sensors.feels_motors else None
        self.unmixed = 0  # axes that nobody here can turn into motor commands
        self.restarts = 0  # of the autopilot, in flight
        self.departures = 0  # of the autopilot, in flight
        self._silent_s = 0.0  # wall time of waiting since the last answer
        self.counters = MavlinkCounters()
        self.lockstep = Px4Lockstep(prompt=prompt)
        self.actuators = hil.ActuatorEnd(frozenset(range(rotors)))
        self._in = MavlinkIn(self.counters)
        self._out = hil.HilOut(self.counters, SIMULATOR_SYSTEM, SIMULATOR_COMPONENT)
        self._stopped = (0.0,) * rotors
        self._controls = self._stopped
        self._events: list[tuple[Happening, float]] = []
        self.t_ns = 0
        self.diverged = False
        self.ground_m = 0.0  # height of the ground below the aircraft
        self.state = world.state(0)
        self._touched_ns = 0
        self._place = earth.place(self.state.pos_W)
        self._air = atmosphere.air(
            self._place.alt_m, wind.step(0, 0, self._height_m(self.state.pos_W), self.state.vel_W)
        )
        self._heartbeat_ns = 0
        self._truth_period_ns, self._truth_ns = 0, 0  # 0: no ground truth is wished for
        self._early: dict[type, Sample] = {}  # slow samples that came between two of the IMU
        self._clock_runs, self._clock_ns = False, 0
        self._answered = False  # since the autopilot started
        self._heard_ns = 0  # the last actuators
        self._refusing = False
        self._away = False  # it answered, and then it left
        self._held = False  # nobody is there: time stands still
        self._lasting = hasattr(link, "departures")  # it outlives its peers, and counts those that left
        self._link_departures = 0

    @property
    def settled(self) -> bool:
        """In lockstep, and nothing is owed: time may go as fast as it can."""
        return self.lockstep.settled

    def await_autopilot(self, timeout_s: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Time begins with the autopilot's first word: samples sent before would come upon it all at once.

        Some do not speak first: PX4 over UDP waits for a datagram, over USB for a heartbeat.
        """
        waited_s, began_s, invited = 0.0, self._timing.now_s(), 0
        while not stopped():
            if max(waited_s, self._timing.now_s() - began_s) >= invited * INVITE_S:
                invited += 1
                self._link.send(self._out.pack(hil.heartbeat()))
            if self._timing.readable(START_POLL_S):
                self.hear()
                if self.counters.frames_in:
                    return
            else:
                waited_s += START_POLL_S
            if max(waited_s, self._timing.now_s() - began_s) >= timeout_s:
                raise LinkError(f"no autopilot has spoken on {self._link.url} within {timeout_s:g} s; is it running?")

    def fly(self, until_ns: int, stopped: Callable[[], bool] = lambda: False) -> None:
        """One aircraft by itself, as fast as its autopilot answers."""
        while self.t_ns < until_ns and not self.diverged and not stopped():
            if not self.settled:
                self._timing.until(self.t_ns + self.step_ns)
                self.hear()
            self.tick(stopped)

    def tick(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """One step of the world, what the sensors make of it, and the autopilot's answer."""
        self.advance()
        self.settle(stopped)

    def advance(self) -> None:
        """One step of the world, and what the sensors make of it is on its way."""
        dt_ns, controls, world = self.step_ns, self._controls, self._world
        self.t_ns = t_ns = self.t_ns + dt_ns
        effort = self._motors.step(controls, dt_ns)
        world.step(effort, self._air, self._place.gravity_m_s2, dt_ns)
        self.state = state = world.state(t_ns)
        x, y, z = state.pos_W
        bound_m = self._bound_m
        if -bound_m < x < bound_m and -bound_m < y < bound_m and -bound_m < z < bound_m:
            self._place = place = self._earth.place(state.pos_W)
            # The sensors meet the air where and when the aircraft is now, and so does the next step.
            wind_W = self._wind.step(t_ns, dt_ns, self._height_m(state.pos_W), state.vel_W)
            self._air = air = self._atmosphere.air(place.alt_m, wind_W)
            samples = self._sample(state, air, place, effort)
            self._send(samples)
        else:  # what is no number is here too
            self.diverged = True
            samples = []
            self._say(Happening.DIVERGED, math.hypot(x, y, z))
        if world.touching:
            if t_ns - self._touched_ns > AIRBORNE_NS:
                self._say(Happening.GROUND_CONTACT, state.vel_W[2])
            self._touched_ns = t_ns
        if self._answered and not self.lockstep.locked and not self._away and t_ns - self._heard_ns > SILENCE_NS:
            self._lose()
        if self._note is not None:
            self._note(state, effort, controls, self._air, samples, self.untold())

    def settle(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Take the autopilot's answers, and wait for one where lockstep demands it."""
        self.hear()
        while (self._held or self.lockstep.waiting) and not stopped():
            if self._held:
                self._await_return(stopped)
            else:
                self._await_answer(stopped)

    def hear(self) -> None:
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

    def _height_m(self, pos_W: Vec3) -> float:
        """Over ground."""
        x, y, z = pos_W
        if self._terrain_m is not None:
            self.ground_m = self._terrain_m(x, y)
            z -= self.ground_m
        return z if z > 0.0 else 0.0

    def _sample(self, state: RigidState, air: Air, place: Place, effort: E) -> list[Sample]:
        if self._load is None and self._terrain_m is None:
            return self._sensors.sample(state, air, place)
        current_A, thrust_N = self._load(effort, air) if self._load is not None else (0.0, 0.0)
        ground_m = beam_ground_m(state, self._terrain_m) if self._terrain_m is not None else 0.0
        return self._sensors.sample(state, air, place, motor_current_A=current_A, thrust_N=thrust_N, terrain_m=ground_m)

    def _send(self, samples: list[Sample]) -> None:
        t_ns = self.t_ns
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
            frames += [self._out.pack(hil.hil_gps(fix)) for fix in fixes]
            frames += [self._out.pack(hil.distance_sensor(measured)) for measured in ranges]
            # In HITL, where nothing is in lockstep, the truth would overwrite the autopilot's own estimate.
            if self._truth_period_ns and t_ns >= self._truth_ns and self.lockstep.locked:
                self._truth_ns = max(self._truth_ns, t_ns - self._truth_period_ns) + self._truth_period_ns
                truth = true_state(self.state, self._air, self._place)
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
        wish_us = hil.truth_interval_us(frame)
        if wish_us is not None:
            self._greet(wish_us)
            return
        actuators = self.actuators.accept(frame)
        if actuators is None:
            return
        self._in.listen_to(frame.system)
        if not actuators.axes:  # which have no lockstep to tell of
            strays = self.lockstep.stray_answers
            self.lockstep.answered(actuators.time_usec, actuators.lockstep and not self._worn())
            if self.lockstep.stray_answers != strays:  # its clock goes backwards, or ahead of ours
                return
            self._silent_s = 0.0
        self._welcome(actuators)
        if not actuators.armed:
            self._controls = self._stopped
        elif not actuators.axes:
            self._controls = actuators.controls[: len(self._stopped)]
        elif self._mix is not None:
            self._controls = self._mix(actuators.controls)
        else:
            self.unmixed += 1

    def _greet(self, truth_interval_us: float) -> None:
        """An autopilot that begins. If one has flown before, it is another, or the same after a restart."""
        self._truth_period_ns = max(0, round(truth_interval_us * 1000)) if math.isfinite(truth_interval_us) else 0
        if self._answered:
            self._answered = False
            self.restarts += 1
            self._say(Happening.RESTARTED, self.restarts)
            self._controls = self._stopped
            self.lockstep.restarted()

    def _welcome(self, actuators: hil.Actuators) -> None:
        if not self._answered:
            self._answered = True
            self._say(Happening.ANSWERED, float(actuators.lockstep))
        if self._away:
            self._away = False
            self._tell(f"the autopilot on {self._link.url} is back")
            self._say(Happening.RETURNED, (self.t_ns - self._heard_ns) / NS)
        self._heard_ns = self.t_ns
        if actuators.held is not self._refusing:
            self._refusing = actuators.held
            if actuators.held:
                self._say(Happening.REFUSED, self.actuators.refused)

    def _lose(self) -> None:
        """The autopilot has gone. Where time goes on without it, no signal is left to keep the motors turning."""
        self._away = True
        self.departures += 1
        self._say(Happening.LEFT, self.departures)
        waits = f"time stands still for {RETURN_S:g} s at most" if self._held else "its motors stop"
        self._tell(f"the autopilot has left {self._link.url} at {self.t_ns / NS:.2f} s of the flight: {waits}")
        if not self._held:
            self._controls = self._stopped

    def untold(self) -> Events:
        """What happened since the last tick: also when there is no next one, since the autopilot left for good."""
        events, self._events = self._events, []
        return events

    def _say(self, event: Happening, value: float) -> None:
        if self._note is not None:
            self._events.append((event, value))

    def _await_answer(self, stopped: Callable[[], bool]) -> None:
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self.lockstep.waiting and not stopped():
            if self._timing.readable(GARBAGE_S):
                self.hear()
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
                    at = f"at {self.t_ns / NS:.2f} s of the flight"
                    self._tell(f"the autopilot on {self._link.url} does not answer ({at}): {PATIENCE_S:g} s at most")
                self._silent_s += waited_s
                self.lockstep.timed_out()
            if self._silent_s >= PATIENCE_S:
                raise LinkError(
                    f"the autopilot on {self._link.url} has not answered for {PATIENCE_S:g} s "
                    f"(at {self.t_ns / NS:.2f} s of the flight); it does not reconnect by itself, so start it again"
                )

    def _await_return(self, stopped: Callable[[], bool]) -> None:
        """Until somebody speaks on a link whose peer has left."""
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self._held and not stopped():
            if self._timing.readable(GARBAGE_S):
                self.hear()
            else:
                quiet_s += GARBAGE_S
            if self._held and max(quiet_s, self._timing.now_s() - began_s) >= RETURN_S:
                raise LinkError(
                    f"the autopilot left {self._link.url} at {self.t_ns / NS:.2f} s of the flight "
                    f"and has not come back for {RETURN_S:g} s"
                )
