"""A multirotor put together for a flight: motors, rigid body, earth, air and ground, its set of sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.core.bounds import beyond
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.rows import MultirotorRows
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.rangefinder import beam_ground_m
from aeroloop.sensors.suite import Sample, Suite
from aeroloop.sim.vehicle import Stages, TouchDown, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.surroundings import InAir, Surroundings
from aeroloop.world.terrain import Flat, terrain
from aeroloop.world.wind import Wind


def random_streams(scenario: QuadrotorScenario, number: int) -> Streams:
    return Streams(scenario.seed).child(f"vehicle-{number}") if number else Streams(scenario.seed)


def vehicle(
    scenario: QuadrotorScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[RotorEffort, RigidState]:
    """Aircraft number `number`, with random streams of its own."""
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    streams = random_streams(scenario, number)
    ground = terrain(scenario.aircraft.world.terrain)
    world = airframes.world(airframe, scenario.aircraft.world.step_s, scenario.aircraft.start_m(number), ground)
    ground_m = None if isinstance(ground, Flat) else ground.height_m
    around = Surroundings(
        Earth(scenario.aircraft.world.home),
        Atmosphere(scenario.aircraft.world.day),
        Wind(scenario.aircraft.world.wind, streams.generator("wind")),
        world.state(0),
        ground_m,
    )
    sensors = Suite(scenario.aircraft.aboard, streams, scenario.aircraft.sensors.faults)
    bound_m = scenario.aircraft.world.bound_m
    stages = Stages(
        actuators=Motors(airframe.motors, airframe.rotors.count),
        body=InAir(world, around),
        surroundings=around,
        sense=_sense(sensors, around, airframes.supply(airframe), ground_m),
        lost=lambda state: beyond(state.pos_W, bound_m),
        contact=TouchDown(lambda: world.touching),
        switch=sensors.switch,
        rows=MultirotorRows(publish),
    )
    stopped = (0.0,) * airframe.rotors.count
    return Vehicle(stages, step_ns=round(scenario.aircraft.world.step_s * NS), command=stopped)


def _sense(
    sensors: Suite,
    around: Surroundings,
    supply: Callable[..., tuple[float, float]],
    ground_m: Callable[[float, float], float] | None,
) -> Callable[[RigidState, RotorEffort], list[Sample]]:
    """Motor current and ground cost a moment: they are found only for sensors that feel or see them."""

    def plain(state: RigidState, effort: RotorEffort) -> list[Sample]:
        return sensors.sample(state, around.air, around.place)

    def full(state: RigidState, effort: RotorEffort) -> list[Sample]:
        current_A, thrust_N = supply(effort, around.air) if sensors.feels_motors else (0.0, 0.0)
        below_m = beam_ground_m(state, ground_m) if ground_m is not None else 0.0
        return sensors.sample(
            state, around.air, around.place, motor_current_A=current_A, thrust_N=thrust_N, terrain_m=below_m
        )

    return full if sensors.feels_motors or ground_m is not None else plain
