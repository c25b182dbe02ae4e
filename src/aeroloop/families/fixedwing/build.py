"""Builds a fixed wing for a flight: it starts on its first circle, east of the centre, flying straight north."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import casadi as ca
import msgspec

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.actuators.propeller_power import PropellerPower
from aeroloop.actuators.servos import DeadBand, HingedServos, Servos, SurfaceEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import fastest
from aeroloop.core.bounds import leaves
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import ControllerTables, Scenario
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.airframe import Airframe, scaled
from aeroloop.families.fixedwing.balance import WingForces
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
from aeroloop.sim.balance import RigidLedger, balanced
from aeroloop.sim.recorded_motion import Source, accel_of_state, recorded
from aeroloop.sim.turning_earth import on_earth, stepped
from aeroloop.sim.vehicle import Driven, Stages, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.flight_model import FlightModel, FlightModelInGusts, Height, Runner
from aeroloop.world.surroundings import InAir, Surroundings
from aeroloop.world.wind import Wind, shaped_at

if TYPE_CHECKING:
    from aeroloop.families.fixedwing.wheels import Wheels


def vehicle(
    scenario: FixedWingScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[SurfaceEffort, RigidState]:
    if scenario.aircraft.launch.by not in ("", "air"):
        from aeroloop.families.fixedwing.launch import of_board  # it builds on this module

        start, carried = of_board(scenario)
        return assembled(scenario, start, _random_streams(scenario), FixedWingRows(publish), carried, throttle=0.0)
    mission = scenario.aircraft.mission
    start_m = places(scenario).start_m
    dx, dy, dz = scenario.aircraft.world.start_offset_W
    pos_W = (start_m[0] + mission.loiter_radius_m + dx, start_m[1] + dy, mission.height_m + dz)
    world = scenario.aircraft.world
    wind_W = world.wind.steady_W
    if world.wind.is_shaped:
        wind_W = shaped_at(world.wind, pos_W, ground_of(world.terrain).grid().height_m)
    start = Start(pos_W, math.pi / 2, wind_W)
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
    run, feels_rates = fastest if airframe is nominal else Evaluator, scenario.aircraft.world.wind.turbulence.rates
    world, own = build_world(airframe, start, run, at=flying, in_gusts=feels_rates)
    servos: Servos | DeadBand = own
    wind = Wind(scenario.aircraft.world.wind, streams.generator("wind"), fastest, airframe.wing.span_m)
    if isinstance(world, FlightModelInGusts):
        world.air_rate_W = lambda: wind.rate_W
        rows.log_gust_rates(world.air_rate_W)
    ground = ground_of(scenario.aircraft.world.terrain).grid().height_m
    around = Surroundings(Earth(scenario.aircraft.world.home), atmosphere, wind, world.state(0), ground)
    if airframe.servos.hinges is not None:
        servos = own = HingedServos(airframe.servos, lambda: _pressure_Pa(world, around), flying.controls)
    if airframe.servos.dead_band is not None:
        servos = DeadBand(own, airframe.servos.dead_band)
    power = power_of(scenario.aircraft, nominal)
    faults = actuator_faults(servos, power.supply if power is not None else None)

    in_air: Body = InAir(world, around)
    wheels = _wheels(airframe, world, around, in_air, ground) if airframe.gear else None

    def carry(values: tuple[float, ...]) -> None:
        """Other equations of motion, interpreted: compiling them would take seconds of the flight."""
        heavier = msgspec.structs.replace(airframe.body, mass_kg=airframe.body.mass_kg + values[0])
        laden = msgspec.structs.replace(airframe, body=heavier)
        world.exchange(Evaluator(_step(feels_rates)(laden)))
        if wheels is not None:
            wheels.exchange(Evaluator(fixedwing.step_on_ground(laden)))
        if forces is not None:
            forces.carry(values[0])

    turn_W = scenario.aircraft.world.turn_W
    sensors = Suite(scenario.aircraft.aboard, streams, turn_W)
    bound_m = scenario.aircraft.world.reach_m

    def crashed(t_ns: int, state: RigidState) -> str | None:
        return "crashed" if state.pos_W[2] <= around.ground_m else None

    def collapsed(t_ns: int, state: RigidState) -> str | None:
        assert wheels is not None
        return "crashed" if wheels.broken else crashed(t_ns, state)

    flying_body = in_air if wheels is None else wheels
    if power is not None:
        flying_body, rows.power = ElectricWing(flying_body, around, power), power
    body = carried(world, flying_body)

    def supported() -> bool:
        return not getattr(body, "airborne", True) or (wheels is not None and wheels.near_ground)

    forces = WingForces(airframe, world, around, supported, power) if scenario.log.balance else None
    turning = on_earth(Driven(servos, body), turn_W, airframe.body.inertia_rows_kgm2, world.displace)
    ledger = RigidLedger(forces, turn_W, stepped(turning)) if forces is not None else None

    def restart() -> None:
        servos.reset(flying.controls)
        if wheels is not None:
            wheels.broken = False
        body.restart()  # type: ignore[attr-defined]
        if power is not None:
            power.reset()

    moving, sense = recorded(
        balanced(turning, ledger, rows.balance),
        lambda state, effort: sensors.sample(state, around.air, around.place, ground_m=around.ground_m),
        sensors.history,
        Source(around, accel_of_state, propeller_speed(airframe, world, around, power)),
    )
    stages = Stages(
        motion=moving,
        surroundings=around,
        sense=sense,
        lost=leaves(bound_m),
        contact=crashed if wheels is None else collapsed,
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


def propeller_speed(
    airframe: Airframe, world: FlightModel, around: Surroundings, power: PropellerPower | None
) -> Callable[[SurfaceEffort], tuple[float]]:
    """Of the end of a step, in equilibrium with its motor; several propellers turn alike."""
    speed_rad_s = fixedwing.propeller_speed(airframe.propulsion)

    def speed(effort: SurfaceEffort) -> tuple[float]:
        (vx, vy, vz), (wx, wy, wz) = world.state(0).vel_W, around.air.wind_W
        airspeed_m_s = math.hypot(vx - wx, vy - wy, vz - wz)
        throttle = effort.controls[3] if power is None else power.throttle
        return (float(speed_rad_s(airspeed_m_s, throttle, around.air.density_kg_m3)),)

    return speed


def _wheels(airframe: Airframe, world: FlightModel, around: Surroundings, in_air: Body, ground: Height) -> Wheels:
    from aeroloop.families.fixedwing.wheels import Wheels  # it builds on this module

    return Wheels(airframe.gear, world, around, in_air, Evaluator(fixedwing.step_on_ground(airframe)), ground)


def _pressure_Pa(world: FlightModel, around: Surroundings) -> float:
    """Dynamic pressure at the aircraft."""
    air = around.air
    return 0.5 * air.density_kg_m3 * sum((v - w) ** 2 for v, w in zip(world.state(0).vel_W, air.wind_W, strict=True))


class Body(Protocol):
    """What the servos drive."""

    @property
    def state(self) -> Callable[[int], RigidState]: ...
    def step(self, effort: SurfaceEffort, dt_ns: int, /) -> None: ...


def actuator_faults(servos: Servos | DeadBand, supplied: Callable[[float], None] | None = None) -> ActuatorFaults:
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


def _step(in_gusts: bool) -> Callable[[Airframe], ca.Function]:
    return fixedwing.step_in_gusts if in_gusts else fixedwing.step


def build_world(
    airframe: Airframe,
    start: Start,
    run: Callable[[ca.Function], Runner],
    *,
    at: Trim | None = None,
    ground: Height | None = None,
    in_gusts: bool = False,
) -> tuple[FlightModel, Servos]:
    """`run` makes the step function callable, as codegen.evaluate.Evaluator does, compiled or not. `in_gusts`: a model
    that feels the rotation of the air."""
    flying = trim(airframe) if at is None else at
    model = FlightModelInGusts if in_gusts else FlightModel
    world = model(run(_step(in_gusts)(airframe)), ground)
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
