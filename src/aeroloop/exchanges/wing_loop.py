"""The bench as a loop around a fixed wing's board.

    servos ─▶ model ─▶ truth ─▶ sensors ─▶ protocol ─▶ link ─▶ board
      ▲         ▲                                                │
      │       wind, air, earth, ground      goal ─▶ link ────────┤
      └──────────────────────── protocol ◀──── link ◀────────────┘

The plant drives. Every control period it sends sensors, numbered. In lockstep it then waits until the board says that
this period's work is done; in wall time the latest servos count, and a period without any is counted.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.errors import LinkError
from aeroloop.core.frames import Vec3, euler_from_quat
from aeroloop.core.signals import NS, Air, Event, Place, RigidState
from aeroloop.core.wing_signals import Step, WingCommand, WingSensors
from aeroloop.protocols.board import Missing, Start, Told
from aeroloop.protocols.handshake import Claim, Presence, objection
from aeroloop.protocols.interface import WING
from aeroloop.protocols.wing import CYCLES, Done, FromBoard, Goal, PlantEnd, Servos
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.sensors.suite import Sample
from aeroloop.sim.stages import AtmosphereStage, EarthStage, LinkStage, PaceStage, Publish, WindStage

TRUTH_PERIOD_NS = NS // 50
AIR_PERIOD_NS = NS // 20
COUNTERS_PERIOD_NS = NS
PATIENCE_S = 30.0
"""Wall time after which a board that does not end a control period in lockstep counts as hung."""
POLL_S = 0.2
MOST_COMMANDED = 3
"""How often the ground repeats a goal that nobody has taken up."""
COMMAND_AGAIN_NS = NS


class ServoStage(Protocol):
    def step(self, command: WingCommand, dt_ns: int) -> SurfaceEffort: ...


class WorldStage(Protocol):
    def step(self, effort: SurfaceEffort, air: Air, gravity_m_s2: float, dt_ns: int) -> None: ...
    def state(self, t_ns: int) -> RigidState: ...


class SensorStage(Protocol):
    def sample(self, state: RigidState, air: Air, place: Place) -> list[Sample]: ...


class WaitedLink(LinkStage, Protocol):
    """One that can be slept on."""

    def fileno(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Errand:
    """What the ground wants, and when the flight is over."""

    goal_m: tuple[float, float]
    command_at_ns: int
    linger_ns: int  # at the goal
    duration_ns: int  # and not a moment longer
    bound_m: float


class Readings:
    """What the sensors have delivered since the board was last told: the IMU's mean, of the others the latest."""

    def __init__(self, first: Iterable[Sample] = ()) -> None:
        self._gyro: list[Vec3] = []
        self._accel: list[Vec3] = []
        self._mean_gyro_B: Vec3 = (0.0, 0.0, 0.0)
        self._mean_accel_B: Vec3 = (0.0, 0.0, 0.0)
        self._field_B: Vec3 = (0.0, 0.0, 0.0)
        self._static_Pa = self._dynamic_Pa = 0.0
        self._fix: GnssSample | None = None
        self._fresh = False
        self.add(first)

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            match sample:
                case ImuSample():
                    self._gyro.append(sample.rate_B)
                    self._accel.append(sample.accel_B)
                case MagnetometerSample():
                    self._field_B = sample.field_B_T
                case BarometerSample():
                    self._static_Pa = sample.pressure_Pa
                case AirspeedSample():
                    self._dynamic_Pa = sample.pressure_Pa
                case GnssSample() if sample.fix:
                    self._fix, self._fresh = sample, True

    def take(self, cycle: int, t_ns: int) -> WingSensors:
        """Everything so far as the board is sent it; an IMU that is silent repeats itself."""
        if self._gyro:
            self._mean_gyro_B, self._mean_accel_B = _mean(self._gyro), _mean(self._accel)
            self._gyro.clear()
            self._accel.clear()
        fresh, self._fresh = self._fresh, False
        fix = self._fix
        place = (fix.lat_deg, fix.lon_deg, fix.alt_m, fix.vel_W) if fix else (0.0, 0.0, 0.0, (0.0, 0.0, 0.0))
        return WingSensors(
            cycle,
            t_ns * 1000 // NS,
            self._mean_gyro_B,
            self._mean_accel_B,
            self._field_B,
            self._static_Pa,
            self._dynamic_Pa,
            fresh,
            *place,
        )


def _mean(rows: list[Vec3]) -> Vec3:
    count = len(rows)
    return (
        sum(row[0] for row in rows) / count,
        sum(row[1] for row in rows) / count,
        sum(row[2] for row in rows) / count,
    )


def _await_bytes(link: WaitedLink) -> float:
    """Wait for a moment, or until there is something to read; how long that was, in s."""
    began_s = time.monotonic()
    select.select([link.fileno()], [], [], POLL_S)
    return min(time.monotonic() - began_s, POLL_S)  # while the whole bench is suspended nobody waits


class WingLoop:
    """One fixed wing, one board, one link."""

    def __init__(
        self,
        *,
        servos: ServoStage,
        world: WorldStage,
        earth: EarthStage,
        atmosphere: AtmosphereStage,
        wind: WindStage,
        sensors: SensorStage,
        link: WaitedLink,
        ground_m: Callable[[float, float], float],
        publish: dict[str, Publish],
        errand: Errand,
        initial_command: WingCommand,
        step_ns: int,
        period_ns: int,
        pace: PaceStage | None = None,
        waits: bool = False,
        silence_ns: int = NS,
        board: str = "board",
        wanted_image: int = 0,
    ) -> None:
        """With `waits`, time goes on when the board has done its work: without a `pace`, lockstep; with one, no faster
        than that. A board that keeps its own time is not waited for."""
        self._servos, self._world, self._sensors = servos, world, sensors
        self._earth, self._atmosphere, self._wind = earth, atmosphere, wind
        self._link, self._pace, self._publish = link, pace, publish
        self._waits = waits or pace is None
        self._ground_m = ground_m
        self._errand = errand
        self.command = initial_command  # the latest
        self._step_ns, self._period_ns, self._silence_ns = step_ns, period_ns, silence_ns
        self._board = board
        self._wanted_image = wanted_image
        self._presence = Presence(period_ns)
        self._started = False
        self.protocol = PlantEnd()
        self.t_ns = 0
        self.ended = ""
        self.cycle = -1  # the control period that goes on
        self._answered = self._done = -1
        self._goals = 0
        self._command_ns = errand.command_at_ns
        self._step = Step.LOITER
        self._arrived_ns = -1
        self._heard_ns = 0
        self._missed = 0
        self.state = world.state(0)
        self._ground_below_m = ground_m(*self.state.pos_W[:2])
        self._place = earth.place(self.state.pos_W)
        height_m = self.state.pos_W[2] - self._ground_below_m
        self._air = atmosphere.air(self._place.alt_m, wind.step(0, 0, height_m, self.state.vel_W))
        self._readings = Readings(sensors.sample(self.state, self._air, self._place))

    def await_board(self, link: WaitedLink, timeout_s: float, stopped: Callable[[], bool]) -> None:
        """Nothing moves before the board's start message: on some links it cannot be reached until then.

        `link` is the bare one: what is done to messages on the way begins with the flight.
        """
        waited_s = 0.0
        while not self._started and not stopped():
            if self._hear(link.poll()):
                continue
            if waited_s >= timeout_s:
                raise LinkError(
                    f"no start message from the {self._board} over {link.url} within {timeout_s:g} s; is it running?"
                )
            waited_s += _await_bytes(link)

    def fly(self, stopped: Callable[[], bool], attend: Callable[[], None] = lambda: None) -> str:
        """Until the end of the flight; says why it ended. `attend` is called each period, for orders in flight."""
        if self._pace is not None:
            self._pace.start()
        self._heard_ns = time.monotonic_ns()
        self._note_step(self.command, saturated=False)
        while not self.ended:
            self._speak()
            if self._waits:
                self._await_done(stopped)
            attend()
            self._advance(self.t_ns + self._period_ns, stopped)
            if stopped():
                self.ended = self.ended or "stopped"
            elif self._over():
                self.ended = self.ended or "completed"
        self._note_counters()
        return self.ended

    def _over(self) -> bool:
        lingered = self._arrived_ns >= 0 and self.t_ns - self._arrived_ns >= self._errand.linger_ns
        return lingered or self.t_ns >= self._errand.duration_ns

    def _speak(self) -> None:
        """A control period begins: the sensors go out, and what the ground has to say."""
        if self.cycle >= 0 and self._answered < self.cycle:
            self._say(Event.SENSORS_LOST, self.cycle)
        self.cycle += 1
        sensors = self._readings.take(self.cycle, self.t_ns)
        out = self.protocol.sensors(sensors)
        self._publish["wing_sensors"](
            self.t_ns / NS,
            *sensors.gyro_B,
            *sensors.accel_B,
            *sensors.field_B,
            sensors.static_Pa,
            sensors.dynamic_Pa,
            sensors.fix,
            sensors.lat_deg,
            sensors.lon_deg,
            sensors.alt_m,
            *sensors.vel_W,
        )
        # The sensors end what a period's bytes are: who has them has all.
        self._link.send(self._goal() + out)

    def _goal(self) -> bytes:
        """The user's command; again while the board has not gone beyond its first circle, as over a radio."""
        due = self.t_ns >= self._command_ns and self._goals < MOST_COMMANDED and self._step == Step.LOITER
        if not due:
            return b""
        self._goals += 1
        self._command_ns = self.t_ns + COMMAND_AGAIN_NS
        return self.protocol.goal(Goal(0, *self._errand.goal_m))

    def _await_done(self, stopped: Callable[[], bool]) -> None:
        """Lockstep: nothing moves before the board says that it has done this period's work."""
        waited_s = 0.0
        while self._done < self.cycle and not stopped():
            if self._hear(self._link.poll()):
                waited_s = 0.0
            elif waited_s >= PATIENCE_S:
                raise LinkError(
                    f"the {self._board} has not ended control period {self.cycle} within {PATIENCE_S:g} s "
                    f"(at {self.t_ns / NS:.2f} s of the flight)"
                )
            else:
                waited_s += _await_bytes(self._link)

    def _hear(self, chunk: bytes) -> bool:
        """Whether there was any message in it: bytes alone are no sign of life."""
        messages = self.protocol.receive(chunk) if chunk else []
        for message in messages:
            self._take(message)
        if messages:
            self._heard_ns = time.monotonic_ns()
        return bool(messages)

    def _take(self, message: FromBoard) -> None:
        t_s = self.t_ns / NS
        match message:
            case Servos(cycle, command, latency_s):
                if (number := self._number(cycle)) > self._answered:
                    self._answered, self.command = number, command
                    self._publish["wing_command"](t_s, *command, number, latency_s)
            case Done(cycle, _):
                self._done = max(self._done, self._number(cycle))
            case Told(stream, row):
                self._publish[stream](t_s, *row)
                if stream == "wing_step":
                    self._note_mission(Step(int(row[0])))
            case Missing(count):
                self._say(Event.MESSAGES_LOST, count)
            case Start(Claim() as claim):
                self._greet(claim)

    def _greet(self, claim: Claim) -> None:
        """A board says what it is, and flies only if that fits; one that we know already has started anew."""
        reason = objection(WING, claim, self._wanted_image)
        if reason:
            raise LinkError(reason)
        self._started = True
        if self._presence.restarted(claim, self.t_ns):
            self.protocol.new_board()
            self._say(Event.BOARD_RESTARTED, claim.cause)

    def _number(self, cycle: int) -> int:
        """A control period's number from its last sixteen bits; one that has not begun is none."""
        behind = (self.cycle - cycle) % CYCLES
        return self.cycle - behind if behind < CYCLES // 2 else -1

    def _note_mission(self, step: Step) -> None:
        if step == Step.ARRIVED and self._step != Step.ARRIVED:
            self._arrived_ns = self.t_ns
        elif step != Step.ARRIVED:
            self._arrived_ns = -1
        self._step = step

    def _advance(self, until_ns: int, stopped: Callable[[], bool]) -> None:
        """Tick by tick; a tick ends on the step grid, or where the control period does."""
        while self.t_ns < until_ns and not self.ended and not stopped():
            target_ns = until_ns if self._pace is None else min(self._pace.wait(self.t_ns), until_ns)
            while self.t_ns < target_ns and not self.ended:
                self._tick(min((self.t_ns // self._step_ns + 1) * self._step_ns, target_ns))
            if not self._waits:
                self._serve()

    def _serve(self) -> None:
        """Of a board that keeps its own time: what the link has brought, and whether it brings anything."""
        if not self._hear(self._link.poll()) and time.monotonic_ns() - self._heard_ns > self._silence_ns:
            raise LinkError(
                f"the {self._board} has been silent on {self._link.url} for {self._silence_ns / NS:g} s "
                f"(at {self.t_ns / NS:.2f} s of the flight)"
            )

    def _tick(self, until_ns: int) -> None:
        dt_ns = until_ns - self.t_ns
        effort = self._servos.step(self.command, dt_ns)
        self._world.step(effort, self._air, self._place.gravity_m_s2, dt_ns)
        self.t_ns = until_ns
        self.state = state = self._world.state(until_ns)
        x, y, z = state.pos_W
        if self._lost(state):
            self._note_step(effort.controls, saturated=effort.saturated)
            return
        self._ground_below_m = self._ground_m(x, y)
        self._place = self._earth.place(state.pos_W)
        wind_W = self._wind.step(until_ns, dt_ns, max(z - self._ground_below_m, 0.0), state.vel_W)
        self._air = self._atmosphere.air(self._place.alt_m, wind_W)
        self._readings.add(self._sensors.sample(state, self._air, self._place))
        if z <= self._ground_below_m:
            self._say(Event.GROUND_CONTACT, state.vel_W[2])
            self.ended = "crashed"
        self._note_step(effort.controls, saturated=effort.saturated)

    def _lost(self, state: RigidState) -> bool:
        """Out of bounds, or no number any more: written so that NaN counts."""
        distance_m = math.hypot(*state.pos_W[:2])
        if distance_m < self._errand.bound_m and abs(state.pos_W[2]) < self._errand.bound_m:
            return False
        self._say(Event.DIVERGED, distance_m if math.isfinite(distance_m) else 0.0)
        self.ended = "diverged"
        return True

    def _note_step(self, controls: WingCommand, *, saturated: bool) -> None:
        t_s = self.t_ns / NS
        if self.t_ns % TRUTH_PERIOD_NS == 0 or self.ended:
            self._publish["wing_truth"](t_s, *self._truth())
            self._publish["wing_effort"](t_s, *controls, saturated)
        if self.t_ns % AIR_PERIOD_NS == 0:
            self._publish["wing_air"](t_s, *self._air.wind_W, self._air.density_kg_m3)
            self._note_pace(t_s)
        if self.t_ns % COUNTERS_PERIOD_NS == 0:
            self._note_counters()

    def _truth(self) -> tuple[float, ...]:
        state = self.state
        relative_W = [v - w for v, w in zip(state.vel_W, self._air.wind_W, strict=True)]
        u, left, up = times(body_from_world(state.quat_WB), *relative_W)
        return (
            *state.pos_W,
            *state.vel_W,
            *state.quat_WB,
            *euler_from_quat(state.quat_WB),
            *state.rate_B,
            math.hypot(u, left, up),
            math.atan2(-up, u),
            math.atan2(-left, math.hypot(u, up)),
            self._ground_below_m,
        )

    def _note_pace(self, t_s: float) -> None:
        if self._pace is None:
            return
        missed = self._pace.missed_deadlines
        self._publish["wing_pace"](t_s, self._pace.lateness_s, missed)
        if missed != self._missed:
            self._say(Event.DEADLINE_MISSED, missed - self._missed)
            self._missed = missed

    def _note_counters(self) -> None:
        c = self.protocol.counters
        bad = c.bad_checksums, c.malformed + c.implausible, c.lost
        self._publish["wing_link"](self.t_ns / NS, c.frames_in, c.frames_out, c.bytes_in, c.bytes_out, *bad)

    def _say(self, event: Event, value: float) -> None:
        self._publish["wing_event"](self.t_ns / NS, event, value)
