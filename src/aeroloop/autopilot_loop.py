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
START_POLL_S = 0.1
GARBAGE_S = 0.2
"""Wall time after which the rest of a frame does not come any more."""
HEARTBEAT_PERIOD_NS = NS

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
    ) -> None:
        self._motors, self._world, self._sensors = motors, world, sensors
        self._earth, self._atmosphere, self._wind = earth, atmosphere, wind
        self._link, self._timing = link, timing
        self._step_ns = step_ns
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
        self._heartbeat_ns = 0

    def await_autopilot(self, timeout_s: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Time begins with the autopilot's first word: samples sent before would come upon it all at once."""
        waited_s = 0.0
        while not stopped():
            if self._timing.readable(START_POLL_S):
                chunk = self._link.poll()
                self._take(chunk)
                if chunk:
                    return
            else:
                waited_s += START_POLL_S
            if waited_s >= timeout_s:
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
        state, place = self.state, self._place
        wind_W = self._wind.step(self.t_ns, dt_ns, max(0.0, state.pos_W[2]), state.vel_W)
        air = self._atmosphere.air(place.alt_m, wind_W)
        self._world.step(self._motors.step(self._controls, dt_ns), air, place.gravity_m_s2, dt_ns)
        self.state = state = self._world.state(self.t_ns)
        self._place = place = self._earth.place(state.pos_W)
        self._send(self._sensors.sample(state, air, place))
        self._take(self._link.poll())
        self._await_answer()

    def _send(self, samples: list[Sample]) -> None:
        sample, fixes = gathered(self.t_ns, samples)
        frames = [self._out.pack(hil.hil_gps(fix)) for fix in fixes]
        if self.t_ns >= self._heartbeat_ns:
            self._heartbeat_ns += HEARTBEAT_PERIOD_NS
            frames.append(self._out.pack(hil.heartbeat()))
        if sample is not None:
            # Last: it is the autopilot's tick, and all that belongs to it must be there already.
            frames.append(self._out.pack(hil.hil_sensor(sample)))
        if frames:
            self._link.send(b"".join(frames))
        if sample is not None:
            self.lockstep.sent(sample.t_ns // 1000)

    def _take(self, chunk: bytes) -> None:
        for frame in self._in.feed(chunk):
            self._obey(frame)

    def _obey(self, frame: Frame) -> None:
        actuators = self.actuators.accept(frame)
        if actuators is None:
            return
        count = len(self._stopped)
        self._controls = actuators.controls[:count] if actuators.armed else self._stopped
        self.lockstep.answered(actuators.time_usec, actuators.lockstep)

    def _await_answer(self) -> None:
        waited_s = 0.0
        while self.lockstep.waiting:
            if self._timing.readable(GARBAGE_S):
                self._take(self._link.poll())
                continue
            for frame in self._in.give_up():  # an answer may stand behind the beginning of a frame that was none
                self._obey(frame)
            waited_s += GARBAGE_S
            if self.lockstep.trails and waited_s >= TRAILING_S:
                self.lockstep.timed_out()
            if self.lockstep.waiting and waited_s >= PATIENCE_S:
                raise LinkError(
                    f"the autopilot on {self._link.url} has not answered for {PATIENCE_S:g} s "
                    f"(at {self.t_ns / NS:.2f} s of the flight); it does not reconnect by itself, so start it again"
                )


def gathered(t_ns: int, samples: Iterable[Sample]) -> tuple[hil.HilSample | None, list[hil.HilFix]]:
    """What arrived at one instant: one HIL_SENSOR, sent only with a new IMU sample, and fixes."""
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
    if rate_B is None:
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
