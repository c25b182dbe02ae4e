"""Builds a helicopter for a flight: servos, engine, rotors, body in MuJoCo, air, ground and measured state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aeroloop.actuators.servos import Limits, Servos
from aeroloop.codegen.host import fastest
from aeroloop.core.bounds import beyond
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3, quat_from_euler
from aeroloop.core.signals import NS, NavEstimate, RigidState
from aeroloop.core.stream import Publish
from aeroloop.families.helicopter import airframe, model, reference, world
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.families.helicopter.balance import RotorcraftForces
from aeroloop.families.helicopter.faults import HelicopterFaults
from aeroloop.families.helicopter.reference import Reference
from aeroloop.families.helicopter.rotors import Flow, RotorSystem, State
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.families.helicopter.sensing import Instruments, Sensing
from aeroloop.families.helicopter.streams import LOG_HZ
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.rows import row_of
from aeroloop.sim.balance import RigidLedger, balanced
from aeroloop.sim.collisions import Solid
from aeroloop.sim.exchange import Row
from aeroloop.sim.recorded_motion import Source, accel_of_state, recorded
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.touchdown import touch_down
from aeroloop.sim.turning_earth import on_earth
from aeroloop.sim.vehicle import Stages, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.rigid import Rigid
from aeroloop.world.surroundings import Surroundings
from aeroloop.world.terrain import Flat, terrain
from aeroloop.world.wind import Wind

LOG_NS, SLOW_NS = round(NS / LOG_HZ), NS // 50


class Controls(NamedTuple):
    """Mean over a step."""

    pitches: tuple[float, float, float, float]
    power_W: float


class Effort(NamedTuple):
    controls: Controls
    rotors: State
    thrust_N: tuple[float, float]  # main and tail rotor
    saturated: bool


def servo_limits(h: Helicopter) -> Limits:
    plate, cyclic = h.swashplate, h.swashplate.cyclic_max_rad
    rate, lag = plate.rate_rad_s, plate.lag_s
    return Limits(
        low=(plate.collective_rad[0], -cyclic, -cyclic, plate.tail_rad[0]),
        high=(plate.collective_rad[1], cyclic, cyclic, plate.tail_rad[1]),
        rate_per_s=(rate, rate, rate, rate),
        lag_s=(lag, lag, lag, lag),
    )


class HelicopterMotion:
    """Servos, engine and rotors, and the body that they move; in hover at the start."""

    def __init__(self, h: Helicopter, rigid: Callable[[Any], Rigid[Controls]], start: tuple[Vec3, float]) -> None:
        state, command = model.hover(h)
        tilt_x, tilt_y = state[model.TILT]
        inflow, tail_inflow = state[model.INFLOW]
        self._h, self._dt_s = h, 0.0
        self.loads_B: Sequence[float] = (0.0,) * 6
        """Force and torque that the last step held."""
        self.rotors = RotorSystem(h, (tilt_x, tilt_y, inflow, tail_inflow, h.head.speed_rad_s))
        self.hover: Row = tuple(command.tolist())
        self._servos, self._throttle = Servos(servo_limits(h), self.hover[: model.THROTTLE]), self.hover[model.THROTTLE]
        self.body = rigid(self._loads)
        pos_W, yaw_rad = start
        roll, pitch, _ = state[model.ANGLES]
        self.body.reset(pos_W, quat_from_euler(float(roll), float(pitch), yaw_rad))
        self.state = self.body.state
        self.surroundings: Surroundings | None = None
        at_rest, still = Controls(self._servos.controls, h.drive.power_max_W * self._throttle), (0.0, 0.0, 0.0)
        self.rotors.loads(self.rotors.state, Flow(still, still, model.SEA_LEVEL_KG_M3, *at_rest))
        self.at_rest = self._effort(at_rest, saturated=False)

    @property
    def first_command(self) -> Row:
        return self.hover

    def restart(self) -> None:
        raise ConfigError("this helicopter cannot be put back to its start in flight")

    def _loads(self, controls: Controls, vel_air_B: Vec3, rate_B: Vec3, density_kg_m3: float) -> Sequence[float]:
        self.loads_B = self.rotors.step(Flow(vel_air_B, rate_B, density_kg_m3, *controls), self._dt_s)
        return self.loads_B

    def drive(self, command: Row, dt_ns: int) -> Effort:
        around = self.surroundings
        assert around is not None
        self._dt_s = dt_ns / NS
        moved = self._servos.step(command[: model.THROTTLE], dt_ns)
        wanted = command[model.THROTTLE]
        to = min(max(wanted, 0.0), 1.0) if math.isfinite(wanted) else self._throttle
        was, kept = self._throttle, math.exp(-self._dt_s / self._h.drive.engine_lag_s)
        self._throttle = to + kept * (was - to)
        mean = to + (was - to) * (1.0 - kept) * self._h.drive.engine_lag_s / self._dt_s
        controls = Controls(moved.controls, self._h.drive.power_max_W * mean)
        self.body.step(controls, around.air, around.place.gravity_m_s2, dt_ns)
        return self._effort(controls, saturated=moved.saturated or to != wanted)

    def _effort(self, controls: Controls, *, saturated: bool) -> Effort:
        rotors = self.rotors
        return Effort(controls, rotors.state, (rotors.main.thrust_N, rotors.tail.thrust_N), saturated)


class RotorSpeeds:
    """Mean speeds of main and tail rotor over a step, by those at its ends."""

    def __init__(self, h: Helicopter, motion: HelicopterMotion) -> None:
        self._gear, self._last_rad_s = h.drive.tail_gear, motion.rotors.state[4]

    def __call__(self, effort: Effort) -> tuple[float, float]:
        now = effort.rotors[4]
        mean, self._last_rad_s = 0.5 * (self._last_rad_s + now), now
        return mean, self._gear * mean


class Rows(CommonRows):
    """Logs the rows of a helicopter."""

    def __init__(
        self, publish: Mapping[str, Publish], table: Reference | None, estimate: Callable[[], NavEstimate | None]
    ) -> None:
        super().__init__(publish)
        self._reference, self._estimate = table, estimate
        self._log_ns = self._slow_ns = 0

    def step(self, vehicle: Vehicle[Effort, RigidState], effort: Effort, samples: list[Any]) -> None:
        t_ns, publish, around = vehicle.t_ns, self._publish, vehicle.surroundings
        t_s = t_ns / NS
        if t_ns >= self._log_ns:
            self._log_ns = t_ns + LOG_NS
            _, pos_W, quat_WB, vel_W, rate_B, _ = vehicle.state
            tilt_x, tilt_y, inflow, tail_inflow, speed = effort.rotors
            publish["truth"](t_s, *pos_W, *vel_W, *quat_WB, *rate_B)
            self.wanted(vehicle, t_s)
            controls = (*effort.controls.pitches, effort.controls.power_W, speed, *effort.thrust_N)
            publish["effort"](t_s, *controls, tilt_x, tilt_y, inflow, tail_inflow, effort.saturated)
        for sample in samples:
            stream, values = row_of(sample)
            publish[stream](t_s, *values)
        if t_ns >= self._slow_ns and around is not None:
            self._slow_ns += SLOW_NS
            publish["air"](t_s, *around.air.wind_W, around.air.density_kg_m3, around.ground_m)
            if (estimate := self._estimate()) is not None:
                _, pos_W, vel_W, quat_WB, _, *stds, _, _, _ = estimate
                publish["estimate"](t_s, *pos_W, *vel_W, *quat_WB, *stds)

    def wanted(self, vehicle: Vehicle[Effort, RigidState], t_s: float) -> None:
        """The row of what it is to do."""
        if self._reference is not None:
            setpoint = reference.at(self._reference, t_s)
            self._publish["setpoint"](t_s, *setpoint.pos_W, *setpoint.vel_W, setpoint.yaw_rad)


def out_of_control(state: RigidState, bound_m: float) -> bool:
    """Beyond the bound or upside down; written so that NaN counts as lost too."""
    _, qx, qy, _ = state.quat_WB
    return beyond(state.pos_W, bound_m) or not qx * qx + qy * qy < 0.5


def start(scenario: HelicopterScenario) -> tuple[Vec3, float]:
    """Position and heading."""
    first = reference.at(scenario.aircraft.reference, 0.0)
    (x, y, z), (dx, dy, dz) = first.pos_W, scenario.aircraft.world.start_offset_m
    return (x + dx, y + dy, z + dz), first.yaw_rad


def vehicle(scenario: HelicopterScenario, number: int, publish: Mapping[str, Publish]) -> Vehicle[Effort, RigidState]:
    at = start(scenario)

    def motion(h: Helicopter, rigid: Callable[[Any], Rigid[Controls]], ground_m: float) -> HelicopterMotion:
        return HelicopterMotion(h, rigid, at)

    (x, y, _), _ = at
    return assembled(
        scenario,
        Streams(scenario.seed),
        (x, y),
        motion,
        lambda estimate: Rows(publish, scenario.aircraft.reference, estimate),
        publish["event"],
    )


def assembled(
    scenario: HelicopterScenario,
    streams: Streams,
    place_m: tuple[float, float],
    moving: Callable[[Helicopter, Callable[[Any], Rigid[Controls]], float], HelicopterMotion],
    rows: Callable[[Callable[[], NavEstimate | None]], Rows],
    log_event: Publish,
) -> Vehicle[Effort, RigidState]:
    """`moving` makes its motion from airframe, body by loads, and the height of the ground at its place."""
    tables = scenario.aircraft
    table, h = tables.world, airframe.load(tables.vehicle.airframe)
    ground = terrain(table.terrain)
    built = world.build(h, table.step_s, ground)
    on = world.feet(h, ground)
    motion = moving(h, lambda loads: Rigid(built, loads, on), ground.height_m(*place_m))
    ground_m = None if isinstance(ground, Flat) else ground.height_m
    wind = Wind(table.wind, streams.generator("wind"), fastest)
    around = Surroundings(Earth(table.home), Atmosphere(table.day), wind, motion.state(0), ground_m)
    motion.surroundings = around
    instruments = Instruments(tables, streams, lambda: motion.rotors.state[4])
    sensing = Sensing(tables, instruments, motion.state(0), around, ground_m=ground_m, streams=streams)
    touched = touch_down(lambda: motion.body.touching, on, log_event)
    hard_m_s = h.contact.speed_max_m_s

    def contact(t_ns: int, state: RigidState) -> str | None:
        met = touched(t_ns, state)
        return "crashed" if met is not None and math.hypot(*state.vel_W) > hard_m_s else met

    logged = rows(sensing.estimate)
    turning = on_earth(motion, table.turn_W, motion.body.inertia_kgm2, motion.body.displace)
    ledger = RigidLedger(RotorcraftForces(motion), table.turn_W) if scenario.log.balance else None
    moving_body, sense = recorded(
        balanced(turning, ledger, logged.balance),
        lambda state, effort: sensing.sense(state, effort.thrust_N[0]),
        sensing.history,
        Source(around, accel_of_state, RotorSpeeds(h, motion)),
    )
    stages: Stages[Effort, RigidState] = Stages(
        motion=moving_body,
        surroundings=around,
        sense=sense,
        lost=lambda state: out_of_control(state, table.bound_m),
        contact=contact,
        switch=sensing.switch,
        rows=logged,
        measure=sensing.measure,
        actuators=HelicopterFaults(motion.rotors),
        changes={"world.wind.steady_W": wind.set_steady, "payload.mass_kg": motion.body.carry},
        solid=Solid(lambda: motion.body.mass_properties, motion.body.strike, crash_m_s=hard_m_s),
        see=sensing.see,
        restart=motion.restart,
    )
    return Vehicle(stages, step_ns=round(table.step_s * NS), command=motion.first_command, first_effort=motion.at_rest)
