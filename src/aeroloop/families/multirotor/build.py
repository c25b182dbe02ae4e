"""A multirotor put together for a flight: motors, rigid body, earth, air and ground, its set of sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.codegen.host import fastest
from aeroloop.core.bounds import beyond
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.motion import MotionScene, MultirotorMotion, Parts
from aeroloop.families.multirotor.rows import MultirotorRows
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import Sample, Suite
from aeroloop.sim.vehicle import Stages, TouchDown, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.surroundings import Surroundings
from aeroloop.world.terrain import Flat, terrain
from aeroloop.world.wind import Wind


def random_streams(scenario: QuadrotorScenario, number: int) -> Streams:
    return Streams(scenario.seed).child(f"vehicle-{number}") if number else Streams(scenario.seed)


def vehicle(
    scenario: QuadrotorScenario,
    number: int,
    publish: Mapping[str, Callable[..., None]],
    *,
    compiled: bool = True,
) -> Vehicle[RotorEffort, RigidState]:
    """Aircraft number `number`, with random streams of its own. Not `compiled`: MuJoCo steps it in free air too."""
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    streams = random_streams(scenario, number)
    ground = terrain(scenario.aircraft.world.terrain)
    world = airframes.world(airframe, scenario.aircraft.world.step_s, scenario.aircraft.start_m(number), ground)
    ground_m = None if isinstance(ground, Flat) else ground.height_m
    earth, atmosphere = Earth(scenario.aircraft.world.home), Atmosphere(scenario.aircraft.world.day)
    wind = Wind(scenario.aircraft.world.wind, streams.generator("wind"), fastest)
    around = Surroundings(earth, atmosphere, wind, world.state(0), ground_m)
    motors = Motors(airframe.motors, airframe.rotors.count)
    parts = Parts(airframe, motors, world, around, earth, atmosphere)
    motion = MultirotorMotion(parts, fastest if compiled else None)
    scene = MotionScene(motion, airframes.supply(airframe), ground_m)
    sensors = Suite(scenario.aircraft.aboard, streams, scenario.aircraft.sensors.faults)
    bound_m = scenario.aircraft.world.bound_m

    def sense(state: RigidState, effort: RotorEffort) -> list[Sample]:
        scene.state, scene.effort, scene.force_B = state, effort, motion.force_B()
        return sensors.sample_scene(scene)

    stages = Stages(
        motion=motion,
        surroundings=motion,
        sense=sense,
        lost=lambda state: beyond(state.pos_W, bound_m),
        contact=TouchDown(motion.touching),
        switch=sensors.switch,
        rows=MultirotorRows(publish, airframe.rotors.count),
    )
    stopped = (0.0,) * airframe.rotors.count
    return Vehicle(stages, step_ns=round(scenario.aircraft.world.step_s * NS), command=stopped)
