"""Builds a fixed wing for a flight: it starts on its first circle, east of the centre, flying straight north."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import casadi as ca
import msgspec

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.actuators.servos import Servos, SurfaceEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import fastest
from aeroloop.core.bounds import leaves
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import ControllerTables, Scenario
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.airframe import Airframe, scaled
from aeroloop.families.fixedwing.planning_map import ground_of
from aeroloop.families.fixedwing.powered import ElectricWing, power_of
from aeroloop.families.fixedwing.rows import FixedWingRows
from aeroloop.families.fixedwing.scenario import ROTORS, SERVOS, FixedWingScenario, FixedWingTables, Scale
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.families.fixedwing.trim import Trim, trim
from aeroloop.models import fixedwing
from aeroloop.sensors.streams import Streams
from aeroloop.sensors.streams import streams as random_streams
from aeroloop.sensors.suite import Suite
from aeroloop.sim.turning_earth import on_earth
from aeroloop.sim.vehicle import Driven, Stages, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.flight_model import FlightModel, Height, Runner
from aeroloop.world.surroundings import InAir, Surroundings
from aeroloop.world.wind import Wind


def vehicle(
    scenario: FixedWingScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[SurfaceEffort, RigidState]:
    mission = scenario.aircraft.mission
    start_m = places(scenario).start_m
    dx, dy, dz = scenario.aircraft.world.start_offset_W
    pos_W = (start_m[0] + mission.loiter_radius_m + dx, start_m[1] + dy, mission.height_m + dz)
    start = Start(pos_W, math.pi / 2, scenario.aircraft.world.wind.steady_W)
    return assembled(scenario, start, _random_streams(scenario), FixedWingRows(publish))


def _random_streams(scenario: FixedWingScenario) -> Streams:
    if scenario.noise.generator != "philox":
        return Streams(scenario.seed)
    from aeroloop.families.fixedwing.batch_sampling import channels  # not needed by most flights

    return random_streams(scenario.seed, scenario.noise, channels(scenario))


def level_flight(tables: FixedWingTables) -> Trim:
    """At the airspeed and height of the mission."""
    mission = tables.mission
    _, _, density_kg_m3 = Atmosphere(tables.world.day).at(mission.height_m)
    return trim(airframes.load(tables.vehicle.airframe), mission.airspeed_m_s, density_kg_m3=density_kg_m3)


def assembled(
    scenario: Scenario[FixedWingTables, ControllerTables],
    start: Start,
    streams: Streams,
    rows: FixedWingRows,
    carried: Callable[[FlightModel, Body], Body] = lambda world, flying: flying,
    throttle: float | None = None,
) -> Vehicle[SurfaceEffort, RigidState]:
    """`carried`: what moves the aircraft until it flies; `throttle`: at the start, if not that of level flight."""
    nominal, scale = airframes.load(scenario.aircraft.vehicle.airframe), scenario.aircraft.vehicle.scale
    airframe = nominal if scale == Scale() else scaled(nominal, scale.mass, scale.inertia, scale.thrust)
    atmosphere = Atmosphere(scenario.aircraft.world.day)
    flying = level_flight(scenario.aircraft)
    if throttle is not None:
        flying = replace(flying, controls=(*flying.controls[:3], throttle))
    # A scaled aircraft is interpreted: compiling equations that one flight needs would take longer than the flight.
    world, servos = build_world(airframe, start, fastest if airframe is nominal else Evaluator, at=flying)
    wind = Wind(scenario.aircraft.world.wind, streams.generator("wind"), fastest)
    around = Surroundings(
        Earth(scenario.aircraft.world.home),
        atmosphere,
        wind,
        world.state(0),
        ground_of(scenario.aircraft.world.terrain).grid().height_m,
    )
    power = power_of(scenario.aircraft, nominal)
    faults = actuator_faults(servos, power.supply if power is not None else None)

    def carry(values: tuple[float, ...]) -> None:
        """Other equations of motion, interpreted: compiling them would take seconds of the flight."""
        heavier = msgspec.structs.replace(airframe.body, mass_kg=airframe.body.mass_kg + values[0])
        world.exchange(Evaluator(fixedwing.step(msgspec.structs.replace(airframe, body=heavier))))

    turn_W = scenario.aircraft.world.turn_W
    sensors = Suite(scenario.aircraft.aboard, streams, turn_W)
    bound_m = scenario.aircraft.world.reach_m

    def crashed(t_ns: int, state: RigidState) -> str | None:
        return "crashed" if state.pos_W[2] <= around.ground_m else None

    flying_body: Body = InAir(world, around)
    if power is not None:
        flying_body, rows.power = ElectricWing(world, around, power), power
    body = carried(world, flying_body)

    def restart() -> None:
        servos.reset(flying.controls)
        body.restart()  # type: ignore[attr-defined]
        if power is not None:
            power.reset()

    stages = Stages(
        motion=on_earth(Driven(servos, body), turn_W, airframe.body.inertia_rows_kgm2, world.displace),
        surroundings=around,
        sense=lambda state, effort: sensors.sample(state, around.air, around.place),
        lost=leaves(bound_m),
        contact=crashed,
        switch=sensors.switch,
        rows=rows,
        actuators=faults,
        changes={"world.wind.steady_W": wind.set_steady, "battery.voltage": faults.supply, "payload.mass_kg": carry},
        battery=power.battery if power is not None else None,
        restart=restart if hasattr(body, "restart") else None,
        see=sensors.see,
    )
    still = SurfaceEffort(flying.controls, saturated=False, rate_limited=False, not_finite=False)
    step_ns = round(scenario.aircraft.world.step_s * NS)
    return Vehicle(stages, step_ns=step_ns, command=flying.controls, first_effort=still)


class Body(Protocol):
    """What the servos drive."""

    @property
    def state(self) -> Callable[[int], RigidState]: ...
    def step(self, effort: SurfaceEffort, dt_ns: int, /) -> None: ...


def actuator_faults(servos: Servos, supplied: Callable[[float], None] | None = None) -> ActuatorFaults:
    """Faults of surfaces act on the angle, those of the motor on the voltage ratio. `supplied`: sets the voltage of a
    simulated battery."""

    def held(index: int) -> Callable[[], float]:
        return lambda: servos.controls[index]

    surfaces = [Channel(name, "servo", held(index)) for index, name in enumerate(SERVOS)]
    rotors = (Channel(name, "rotor", held(len(SERVOS)), _weakened) for name in ROTORS)
    return ActuatorFaults([*surfaces, *rotors], supplied)


def _weakened(throttle: float, fraction: float) -> float:
    """Static thrust is proportional to the square of the voltage; a throttle below the minimum gives none."""
    return math.sqrt(fraction) * min(throttle, 1.0)


@dataclass(frozen=True, slots=True)
class Start:
    """Start of a flight: in the air, trimmed."""

    pos_W: Vec3
    yaw_rad: float = 0.0  # heading, counter-clockwise from east
    wind_W: Vec3 = (0.0, 0.0, 0.0)  # the aircraft moves with it


def build_world(
    airframe: Airframe,
    start: Start,
    run: Callable[[ca.Function], Runner],
    *,
    at: Trim | None = None,
    ground: Height | None = None,
) -> tuple[FlightModel, Servos]:
    """`run` makes the step function callable, as codegen.evaluate.Evaluator does, compiled or not."""
    flying = trim(airframe) if at is None else at
    world = FlightModel(run(fixedwing.step(airframe)), ground)
    servos = Servos(airframe.servos, flying.controls)
    _, _, _, _, _, _, _, vx, vy, vz, *_ = flying.state(start.pos_W, start.yaw_rad).tolist()
    wind_x, wind_y, wind_z = start.wind_W
    # A trim in a turn is a circle: its acceleration points to the centre.
    accel_W = (-flying.turn_rate_rad_s * vy, flying.turn_rate_rad_s * vx, 0.0)
    world.reset(
        start.pos_W,
        flying.quat_WB(start.yaw_rad),
        vel_W=(vx + wind_x, vy + wind_y, vz + wind_z),
        rate_B=flying.rate_B,
        accel_W=accel_W,
    )
    return world, servos
