"""Builds a multirotor for a flight: motors, rigid body, earth, air, ground and sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.actuators.motor_noise import NoisyMotors
from aeroloop.actuators.motors import Motors, RotorEffort, command_at, weakened
from aeroloop.actuators.power import Power
from aeroloop.codegen.host import fastest
from aeroloop.controllers.law.guided_tables import GuidedTables
from aeroloop.core.bounds import leaves
from aeroloop.core.scenario import narrowed
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor import motion as motions
from aeroloop.families.multirotor import rotor_law
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.balance import RotorForces
from aeroloop.families.multirotor.batch_channels import drawn
from aeroloop.families.multirotor.faults import rotor_names
from aeroloop.families.multirotor.motion import MotionScene, MultirotorMotion, Parts
from aeroloop.families.multirotor.powered import PoweredMotion, PoweredRows, feel_air, metered, power_of
from aeroloop.families.multirotor.rotor_drive import (
    Differing,
    FaultsBehindLaw,
    RotorDrive,
    SpeedLaw,
    Wiring,
    free_motor,
)
from aeroloop.families.multirotor.rows import MultirotorRows
from aeroloop.families.multirotor.scenario import MultirotorTables, QuadrotorScenario
from aeroloop.sensors.streams import Streams, streams
from aeroloop.sensors.suite import Sample, Suite
from aeroloop.sim.balance import RigidLedger, balanced
from aeroloop.sim.collisions import Solid
from aeroloop.sim.recorded_motion import Source, accel_of_state, recorded
from aeroloop.sim.touchdown import touch_down
from aeroloop.sim.turning_earth import on_earth
from aeroloop.sim.vehicle import Stages, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.surroundings import Surroundings
from aeroloop.world.terrain import Flat, terrain
from aeroloop.world.wind import Wind


def random_streams(scenario: QuadrotorScenario, number: int) -> Streams:
    own = narrowed(scenario, MultirotorTables, GuidedTables)
    channels = drawn(own) if own is not None and scenario.noise.generator == "philox" else None
    made = streams(scenario.seed, scenario.noise, channels)
    return made.child(f"vehicle-{number}") if number else made


def actuator_faults(
    airframe: Airframe, motion: MultirotorMotion, differing: Differing, power: Power | None = None
) -> ActuatorFaults:
    """Rotor faults act on the commands, so that the compiled step does not change; a sag acts on the battery."""
    motor = airframe.motors

    def held(index: int) -> Callable[[], float]:
        if power is not None:
            return lambda: command_at(
                motor, power.setpoint_for(index, motion.speed_rad_s[index]) / differing.gain[index]
            )
        return lambda: command_at(motor, motion.speed_rad_s[index] / differing.gain[index])

    def slowed(command: float, fraction: float) -> float:
        return command_at(motor, fraction * differing.speed(command))

    def loaded(index: int) -> Callable[[float, float], float]:
        def command_of(command: float, load_rad_s2: float) -> float:
            speed = differing.speed(command)
            return command_at(motor, differing.loaded(index, motion.speed_rad_s[index], speed, load_rad_s2))

        return command_of

    names = rotor_names(airframe.rotors.count)
    return ActuatorFaults(
        [
            Channel(name, "rotor", held(index), partial(weakened, motor), slowed, loaded(index))
            for index, name in enumerate(names)
        ],
        power.supply if power is not None else None,
    )


def speed_law(scenario: QuadrotorScenario, differing: Differing) -> SpeedLaw | None:
    table = scenario.aircraft.synchronisation
    designed = rotor_law.axes_and_gains(scenario.aircraft, differing.motor, len(differing.gain))
    return SpeedLaw(*designed, table.coupling, fastest) if designed is not None and table is not None else None


def vehicle(
    scenario: QuadrotorScenario,
    number: int,
    publish: Mapping[str, Callable[..., None]],
    *,
    compiled: bool = True,
) -> Vehicle[RotorEffort, RigidState]:
    """Aircraft number `number`, with its own random streams. Not `compiled`: MuJoCo steps it in free air too, as it
    does with a payload."""
    designed = airframes.load(scenario.aircraft.vehicle.airframe)
    airframe = airframes.scaled(designed, scenario.aircraft.vehicle.scale)
    random = random_streams(scenario, number)
    ground = terrain(scenario.aircraft.world.terrain)
    payload = scenario.aircraft.payload
    start_m = scenario.aircraft.start_m(number)
    around_home = scenario.aircraft.world.room
    room = None if around_home is None else around_home.layout
    blades = airframes.blade_loads(airframe)
    world = airframes.world(airframe, scenario.aircraft.world.step_s, start_m, ground, payload, room, blades)
    stand = scenario.aircraft.world.stand
    if stand is not None:
        world.resume(stand.motion)
    ground_m = None if isinstance(ground, Flat) else ground.height_m
    earth, atmosphere = Earth(scenario.aircraft.world.home), Atmosphere(scenario.aircraft.world.day)
    wind = Wind(scenario.aircraft.world.wind, random.generator("wind"), fastest)
    around = Surroundings(earth, atmosphere, wind, world.state(0), ground_m)
    driven, power = scenario.aircraft.has_drive, power_of(scenario.aircraft, airframe)
    free = driven or power is not None
    moved = msgspec.structs.replace(airframe, motors=free_motor(airframe.motors)) if free else airframe
    motors = Motors(moved.motors, airframe.rotors.count)
    parts = Parts(moved, motors, world, around, earth, atmosphere, blades)
    # The compiled step has its centre of mass in the origin; with a payload MuJoCo steps in free air too.
    motion = motions.motion(parts, fastest if compiled and payload is None else None)
    if power is not None:
        feel_air(power, airframe, motion)
    differing = Differing.of(airframe.motors, scenario.aircraft.motors, airframe.rotors.count)
    faults = actuator_faults(airframe, motion, differing, power)
    noise = scenario.aircraft.vehicle.motor_noise
    turned = motion if power is None or driven else PoweredMotion(motion, power, airframe)
    noisy = NoisyMotors(turned, noise, airframe.rotors.count, random.generator("motors")) if noise else turned
    period_ns = round(rotor_law.period_s(scenario.aircraft) * NS)
    wiring = Wiring(differing, speed_law(scenario, differing), faults, period_ns, power)
    drive = RotorDrive(motion, noisy.drive, wiring, publish) if driven else None
    supply = airframes.supply(designed)
    scene = MotionScene(motion, supply if power is None else metered(supply, power), ground_m)
    turn_W = scenario.aircraft.world.turn_W
    sensors = Suite(scenario.aircraft.aboard, random, turn_W)
    bound_m = scenario.aircraft.world.bound_m
    stopped = (0.0,) * airframe.rotors.count
    standing = world.motion
    held_ns = round(stand.until_s * NS) if stand is not None else 0
    motion.hold(held_ns)
    rows = MultirotorRows(publish, airframe.rotors.count)
    if power is not None:
        rows = PoweredRows(publish, airframe.rotors.count, power)

    def sense(state: RigidState, effort: RotorEffort) -> list[Sample]:
        scene.state, scene.effort, scene.force_B = state, effort, motion.force_B()
        samples = sensors.sample_scene(scene)
        if drive is not None:
            drive.take(samples)
        return samples

    def restart() -> None:
        motion.reset(standing, stopped)
        motion.hold(held_ns)
        if drive is not None:
            drive.restart()
        if power is not None:
            power.reset()

    turning = on_earth(drive or noisy, turn_W, world.inertia_kgm2, motion.displace)
    ledger = RigidLedger(RotorForces(moved, motion, world), turn_W) if scenario.log.balance else None
    moving, sensing = recorded(
        balanced(turning, ledger, rows.balance),
        sense,
        sensors.history,
        Source(motion, accel_of_state, lambda effort: effort.speed_rad_s),
    )
    stages: Stages[RotorEffort, RigidState] = Stages(
        motion=moving,
        surroundings=motion,
        sense=sensing,
        lost=leaves(bound_m),
        contact=touch_down(motion.touching, world.feet, publish["event"]),
        switch=sensors.switch,
        rows=rows,
        actuators=FaultsBehindLaw(faults) if drive is not None else faults,
        restart=restart,
        changes={
            "world.wind.steady_W": wind.set_steady,
            "battery.voltage": faults.supply,
            "payload.mass_kg": motion.carry,
        },
        battery=power.battery if power is not None else None,
        solid=Solid(lambda: world.mass_properties, motion.strike),
        see=sensors.see,
    )
    return Vehicle(stages, step_ns=round(scenario.aircraft.world.step_s * NS), command=stopped)
