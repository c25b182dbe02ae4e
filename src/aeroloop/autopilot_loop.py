"""The bench as a loop around an autopilot that brings its own control law, such as PX4.

    controls ─▶ motors ─▶ world ─▶ state ─▶ sensors ─▶ MAVLink ─▶ link ─▶ autopilot
       ▲                    ▲                                                │
       │        earth, atmosphere, wind                                      │
       └──────────────────────── MAVLink ◀────────── link ◀──────────────────┘

Here the plant owns the clock: a HIL_SENSOR is the autopilot's tick. The loop runs free, at the pace it is given, until
the autopilot's first answer, and from then on in lockstep with it (`protocols/px4_lockstep.py`).
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from aeroloop.errors import LinkError
from aeroloop.frames import Vec3
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.protocols.px4_lockstep import Px4Lockstep
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.suite import Sample
from aeroloop.signals import NS, Air, Place, RigidState

SIMULATOR_SYSTEM, SIMULATOR_COMPONENT = 1, 51
"""How we sign our messages: PX4 takes HIL messages from any sender."""
PATIENCE_S = 10.0
"""Wall time after which an autopilot that was in lockstep and does not answer counts as gone."""
TRAILING_S = 1.0
"""Wall time after which an autopilot that answers to older samples is taken to do so always."""
FEWER_S = 2.0
"""Wall time after which an autopilot that does not answer a sample may answer the next."""
START_POLL_S = 0.1
GARBAGE_S = 0.2
"""Wall time after which the rest of a frame does not come any more."""
HEARTBEAT_PERIOD_NS = NS
CLOCK_PERIOD_NS = NS // 20
"""Without an IMU sample for so long, a HIL_SENSOR without one keeps the autopilot's clock going: it must not jump."""

Mix = Callable[[tuple[float, ...]], tuple[float, ...]]
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True)


class MotorStage(Protocol[E_co]):
    def step(self, command: tuple[float, ...], dt_ns: int) -> E_co: ...


class WorldStage(Protocol[E_contra]):
    def step(self, effort: E_contra, air: Air, gravity_m_s2: float, dt_ns: int) -> None: ...
    def state(self, t_ns: int) -> RigidState: ...


class EarthStage(Protocol):
    def place(self, pos_W: Vec3) -> Place: ...


class AtmosphereStage(Protocol):
    def air(self, alt_m: float, wind_W: Vec3) -> Air: ...


class WindStage(Protocol):
    def step(self, t_ns: int, dt_ns: int, height_m: float, vel_W: Vec3) -> Vec3: ...


class SensorStage(Protocol):
    def sample(self, state: RigidState, air: Air, place: Place) -> list[Sample]: ...


class LinkStage(Protocol):
    url: str

    def send(self, data: bytes) -> None: ...
    def poll(self) -> bytes: ...


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
    be more than an autopilot that has just started can take."""
    origin_ns = 0

    def until(t_ns: int) -> None:
        nonlocal origin_ns
        early_ns = origin_ns + t_ns - time.monotonic_ns()
        if early_ns > 0:
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
    ) -> None:
        """`mix` makes motor commands of the older HIL_CONTROLS' axes; without it they are counted and ignored."""
        self._motors, self._world, self._sensors = motors, world, sensors
        self._earth, self._atmosphere, self._wind = earth, atmosphere, wind
        self._link, self._timing = link, timing
        self._step_ns = step_ns
        self._mix = mix
        self.unmixed = 0  # axes that nobody here can turn into motor commands
        self.restarts = 0  # of the autopilot, in flight
        self._silent_s = 0.0  # wall time of waiting since the last answer
        self.counters = MavlinkCounters()
        self.lockstep = Px4Lockstep()
        self.actuators = hil.ActuatorEnd(frozenset(range(rotors)))
        self._in = MavlinkIn(self.counters)
        self._out = MavlinkOut(self.counters, SIMULATOR_SYSTEM, SIMULATOR_COMPONENT)
        self._stopped = (0.0,) * rotors
        self._controls = self._stopped
        self.t_ns = 0
        self.state = world.state(0)
        self._place = earth.place(self.state.pos_W)
        self._air = atmosphere.air(self._place.alt_m, wind.step(0, 0, max(0.0, self.state.pos_W[2]), self.state.vel_W))
        self._heartbeat_ns = 0
        self._early: dict[type, Sample] = {}  # slow samples that came between two of the IMU
        self._clock_runs, self._clock_ns = False, 0

    def await_autopilot(self, timeout_s: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Time begins with the autopilot's first word: samples sent before would come upon it all at once."""
        waited_s, began_s = 0.0, self._timing.now_s()
        while not stopped():
            if self._timing.readable(START_POLL_S):
                chunk = self._link.poll()
                self._take(chunk)
                if chunk:
                    return
            else:
                waited_s += START_POLL_S
            if max(waited_s, self._timing.now_s() - began_s) >= timeout_s:
                raise LinkError(f"no autopilot has spoken on {self._link.url} within {timeout_s:g} s; is it running?")

    def fly(self, until_ns: int, stopped: Callable[[], bool] = lambda: False) -> None:
        while self.t_ns < until_ns and not stopped():
            if not self.lockstep.settled:
                self._timing.until(self.t_ns + self._step_ns)
                self._take(self._link.poll())
            self.tick()

    def tick(self) -> None:
        """One step of the world, what the sensors make of it, and the autopilot's answer."""
        dt_ns = self._step_ns
        self.t_ns += dt_ns
        self._world.step(self._motors.step(self._controls, dt_ns), self._air, self._place.gravity_m_s2, dt_ns)
        self.state = state = self._world.state(self.t_ns)
        self._place = place = self._earth.place(state.pos_W)
        # The sensors meet the air where and when the aircraft is now, and so does the next step.
        wind_W = self._wind.step(self.t_ns, dt_ns, max(0.0, state.pos_W[2]), state.vel_W)
        self._air = air = self._atmosphere.air(place.alt_m, wind_W)
        self._send(self._sensors.sample(state, air, place))
        self._take(self._link.poll())
        self._await_answer()

    def _send(self, samples: list[Sample]) -> None:
        overdue = self._clock_runs and self.t_ns - self._clock_ns >= CLOCK_PERIOD_NS
        sample, fixes = gathered(self.t_ns, (*self._early.values(), *samples), without_imu=overdue)
        if sample is not None:
            self._early.clear()
        else:
            self._early.update((type(s), s) for s in samples if not isinstance(s, GnssSample))
        # Until the first HIL_SENSOR the autopilot has no clock to set a fix by.
        frames = [self._out.pack(hil.hil_gps(fix)) for fix in fixes] if self._clock_runs else []
        if self.t_ns >= self._heartbeat_ns:
            self._heartbeat_ns += HEARTBEAT_PERIOD_NS
            frames.append(self._out.pack(hil.heartbeat()))
        if sample is not None:
            # Last: it is the autopilot's tick, and all that belongs to it must be there already.
            frames.append(self._out.pack(hil.hil_sensor(sample)))
        if frames:
            self._link.send(b"".join(frames))
        if sample is not None:
            self._clock_runs, self._clock_ns = True, self.t_ns
            self.lockstep.sent(sample.t_ns // 1000, answerable=sample.rate_B is not None)

    def _take(self, chunk: bytes) -> None:
        for frame in self._in.feed(chunk):
            self._obey(frame)

    def _obey(self, frame: Frame) -> None:
        if hil.is_greeting(frame) and self.lockstep.locked:
            self.restarts += 1
            self._controls = self._stopped
            self.lockstep.restarted()
        actuators = self.actuators.accept(frame)
        if actuators is None:
            return
        self._in.listen_to(frame.system)
        if not actuators.armed:
            self._controls = self._stopped
        elif not actuators.axes:
            self._controls = actuators.controls[: len(self._stopped)]
        elif self._mix is not None:
            self._controls = self._mix(actuators.controls)
        else:
            self.unmixed += 1
        if not actuators.axes:  # which have no lockstep to tell of
            self._silent_s = 0.0
            self.lockstep.answered(actuators.time_usec, actuators.lockstep)

    def _await_answer(self) -> None:
        if not self.lockstep.waiting:
            return
        quiet_s, began_s = 0.0, self._timing.now_s()
        while self.lockstep.waiting:
            if self._timing.readable(GARBAGE_S):
                self._take(self._link.poll())
            else:
                for frame in self._in.give_up():  # an answer may stand behind the beginning of a frame that was none
                    self._obey(frame)
                quiet_s += GARBAGE_S
            # By the clock too: bytes that are no answers must not hide that none comes.
            waited_s = max(quiet_s, self._timing.now_s() - began_s)
            if self.lockstep.waiting and waited_s >= (TRAILING_S if self.lockstep.trails else FEWER_S):
                self._silent_s += waited_s
                self.lockstep.timed_out()
            if self._silent_s >= PATIENCE_S:
                raise LinkError(
                    f"the autopilot on {self._link.url} has not answered for {PATIENCE_S:g} s "
                    f"(at {self.t_ns / NS:.2f} s of the flight); it does not reconnect by itself, so start it again"
                )


def gathered(
    t_ns: int, samples: Iterable[Sample], without_imu: bool = False
) -> tuple[hil.HilSample | None, list[hil.HilFix]]:
    """What arrived at one instant: one HIL_SENSOR, as a rule only with a new IMU sample, and fixes."""
    accel_B = rate_B = field_B_T = barometer = diff_pressure_Pa = None
    fixes = []
    for sample in samples:
        match sample:
            case ImuSample():
                accel_B, rate_B = sample.accel_B, sample.rate_B
            case MagnetometerSample():
                field_B_T = sample.field_B_T
            case BarometerSample():
                barometer = hil.BarometerSample(sample.pressure_Pa, sample.pressure_altitude_m, sample.temperature_K)
            case AirspeedSample():
                diff_pressure_Pa = sample.pressure_Pa
            case GnssSample():
                fixes.append(_fix(sample))
    if rate_B is None and not without_imu:
        return None, fixes
    return hil.HilSample(t_ns, accel_B, rate_B, field_B_T, barometer, diff_pressure_Pa), fixes


def _fix(sample: GnssSample) -> hil.HilFix:
    return hil.HilFix(
        sample.t_ns,
        sample.lat_deg,
        sample.lon_deg,
        sample.alt_m,
        sample.vel_W,
        sample.eph_m,
        sample.epv_m,
        sample.satellites,
        3 if sample.fix else 0,
    )
