"""A multirotor's flight in the air as a batch: plant, sensors, estimator and law of our board (`docs/batch.md`).

    cycle: step, wind, sensors with the estimator's corrections, law, telemetry, metrics

It begins in the stand, where the estimator aligns. Each event has its period, the same for all flights. What the bench
has and this loop has not is refused by its key.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.batch.flights import Plan
from aeroloop.batch.loop import Call, Loop
from aeroloop.controllers.law.guided import TELEMETRY_HZ
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.impairment import Impairment
from aeroloop.core.signals import NS
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor import batch_board as board
from aeroloop.families.multirotor import batch_metrics as metrics
from aeroloop.families.multirotor import batch_plant as plant
from aeroloop.families.multirotor import powered
from aeroloop.families.multirotor.batch_channels import WIND, BatchScenario, steps
from aeroloop.families.multirotor.batch_setup import ARMED, COLUMNS, HELD, Setup
from aeroloop.families.multirotor.stand import LOWEST_M
from aeroloop.ground.flight_plan import planned
from aeroloop.sensors.error_functions import without_twin
from aeroloop.world.earth import CELL_M
from aeroloop.world.terrain import Level

ALIGNED_S = 1.5
SCALE_RANGE = (0.1, 3.0)
_BOARD = "overruns board_restarts late_cycles sensor_losses implausible_sensors law_not_finite board_messages_lost"
ALWAYS = dict.fromkeys(_BOARD.split(), 0.0)
"""Metrics of the bench that no flight of a batch changes: in lockstep without impairment no board is late or lost."""
HIGHEST_M = 10_500.0
"""Above the sea, below the tropopause."""


def plan(scenario: BatchScenario) -> Plan:
    """ConfigError for what a batch cannot fly."""
    check(scenario)
    setup = Setup(scenario)
    scales = ("mass", "inertia", "thrust", *(f"rotors[{i}]" for i in range(setup.rotors)))
    ranges = {
        **{f"vehicle.scale.{name}": SCALE_RANGE for name in scales},
        "link.to_plant.delay_s": (0.0, longest_delay(setup.telemetry_every) * setup.step_s),
        "world.stand.pos_W[2]": (LOWEST_M, scenario.aircraft.world.bound_m),
        "world.wind.turbulence.w20_m_s": (0.0, 50.0),
    }
    for key, (low, high) in ranges.items():
        if not low <= setup.defaults.get(key, low) <= high:
            raise ConfigError(f"{key}: a batch expects {low:g} to {high:g}, not {setup.defaults[key]:g}")
    return Plan(loop(setup), table(setup), setup.defaults, ranges, ALWAYS)


def table(setup: Setup) -> Vec:
    """(cycles, COLUMNS) of `batch_setup`."""
    scenario, schedule, step_s = setup.scenario, setup.schedule, setup.step_s
    wanted = planned(scenario.controller.ground, setup.start_W)
    released_ns, step_ns = round(setup.stand.until_s * NS), round(step_s * NS)
    rows = []
    for n in range(1, steps(scenario.duration_s, step_s) + 1):
        asked_n = n - (n - 1) % schedule.setpoint_every
        point, accel_W, armed = wanted(asked_n * step_ns / NS)
        setpoint = (*point.pos_W, *point.vel_W, *accel_W, point.yaw_rad, point.yaw_rate_rad_s)
        held, released = (n - 1) * step_ns < released_ns, n * step_ns > released_ns
        rows.append((*setpoint, float(armed), float(held), float(n % setup.telemetry_every), float(released)))
    made = np.array(rows)
    assert made.shape[1] == COLUMNS
    return made


def loop(setup: Setup) -> Loop:
    schedule = setup.schedule
    flies = schedule.aligned + 1
    armed = int(np.argmax(table(setup)[:, ARMED] > 0))
    wind: tuple[Call, ...] = ()
    if setup.turbulent:
        wind = (
            Call(plant.first_gust(setup), until=1, stream=WIND),
            Call(plant.gust(setup), stream=WIND, ahead=2),
        )
    imu = setup.noise["imu"]
    calls = [
        Call(plant.step(setup)),
        *wind,
        *_first(setup, "imu"),
        *([Call(board.skipped_noise(setup, "imu"), until=1, stream=imu.stream, ahead=1)] if imu.memory else []),
        Call(board.aligning(setup, "imu"), until=flies, stream=imu.stream, ahead=2),
        Call(board.propagated(setup), phase=flies, stream=imu.stream, ahead=2),
        Call(board.covariance(setup), every=schedule.covariance_every, phase=flies - 1 + schedule.covariance_every),
        *_slow(setup, "magnetometer", schedule.magnetometer_every),
        *_slow(setup, "barometer", schedule.barometer_every),
        *_fixes(setup),
        Call(board.aligned(setup), phase=schedule.aligned, until=flies),
        Call(board.control(setup), phase=max(armed, flies)),
        Call(metrics.told(setup), every=setup.telemetry_every, phase=setup.telemetry_every - 1),
        Call(metrics.watched(setup)),
    ]
    return Loop(
        start=plant.start(setup),
        cycle=tuple(calls),
        finish=metrics.finish(setup),
        parameters=tuple(setup.defaults),
        metrics=metrics.names(setup),
        table_columns=COLUMNS,
        steps_per_cycle=1,
    )


def _first(setup: Setup, sensor: str) -> list[Call]:
    noise = setup.noise[sensor]
    made = board.first_noise(setup, sensor)
    return [Call(made, until=1, stream=noise.stream, ahead=noise.origin)] if noise.memory else []


def _slow(setup: Setup, sensor: str, every: int) -> list[Call]:
    """Magnetometer or barometer: a sample at the first step, then one at every multiple of its period."""
    stream, flies = setup.noise[sensor].stream, setup.schedule.aligned + 1
    aligns, ahead = board.aligning(setup, sensor), 1 + every
    return [
        *_first(setup, sensor),
        *([Call(aligns, until=1, stream=stream, ahead=every)] if every > 1 else []),
        Call(aligns, every=every, phase=every - 1, until=flies, stream=stream, ahead=ahead),
        Call(board.corrected(setup, sensor), every=every, phase=_from(flies, every, -1), stream=stream, ahead=ahead),
    ]


def _fixes(setup: Setup) -> list[Call]:
    schedule, stream = setup.schedule, setup.noise["gnss"].stream
    every, taken = schedule.gnss_every, board.fix_taken(setup)
    first = schedule.gnss_first or every
    used = _from(max(schedule.aligned + 1, first + schedule.gnss_late - 1), every, first + schedule.gnss_late - 1)
    early = [] if schedule.gnss_first else [Call(taken, until=1, stream=stream, ahead=every)]
    return [
        *_first(setup, "gnss"),
        *early,
        Call(taken, every=every, phase=first - 1, stream=stream, ahead=1 + every),
        Call(board.fix_used(setup), every=every, phase=used),
    ]


def _from(least: int, every: int, phase: int) -> int:
    """The first cycle at or after `least` that is `phase` modulo `every`."""
    return least + (phase - least) % every


def check(scenario: BatchScenario) -> None:
    """ConfigError, with the key, for what a batch cannot fly."""
    aircraft, ground = scenario.aircraft, scenario.controller.ground
    world, link = aircraft.world, scenario.link
    if world.stand is None:
        raise ConfigError("world.stand: a batch flies a multirotor in the air alone; expected a stand that holds it")
    refused = {
        "ground.land_s": ground.land_s > 0,
        "world.terrain": world.terrain != Level(),
        "world.room": world.room is not None,
        "world.scene": bool(world.scene),
        "world.earth_rotation": world.earth_rotation,
        "world.objects": bool(world.objects),
        **world.wind.outside_batches,
        "vehicle.count": aircraft.vehicle.count > 1,
        "vehicle.motor_noise": aircraft.vehicle.motor_noise > 0,
        "motors": aircraft.has_drive,
        "payload": aircraft.payload is not None,
        "battery": powered.file_of(aircraft, airframes.load(aircraft.vehicle.airframe)) is not None,
        "faults": bool(scenario.faults),
        "sensors.faults": bool(aircraft.sensors.faults),
        "changes": bool(scenario.changes),
        "link.to_board": link.to_board.active,
        "link.to_plant": link.to_plant != Impairment(delay_s=link.to_plant.delay_s),
    }
    for key, is_refused in refused.items():
        if is_refused:
            raise ConfigError(f"{key}: a batch of a multirotor flies without it; use the engine `bench`")
    if airframes.load(aircraft.vehicle.airframe).rotors.aerodynamics is not None:
        raise ConfigError(
            f"vehicle.airframe: a batch of a multirotor flies without rotors.aerodynamics, which "
            f"{aircraft.vehicle.airframe} has; use the engine `bench`"
        )
    _check_rates(scenario)
    _check_sensors(scenario)
    _check_times(scenario)


def _check_rates(scenario: BatchScenario) -> None:
    """Every period is a whole number of steps, the board's is one."""
    aboard, control, step_s = scenario.aircraft.aboard, scenario.controller.control, scenario.aircraft.world.step_s
    imu, gnss = aboard.imu, aboard.gnss
    assert imu is not None and aboard.magnetometer is not None and aboard.barometer is not None and gnss is not None
    equal = {"control.period_s": control.period_s, "sensors.imu.rate_hz": imu.period_s}
    for key, period_s in equal.items():
        if not math.isclose(period_s, step_s):
            raise ConfigError(f"{key}: a batch runs it once a step; expected a period of {step_s:g} s")
    whole = {
        "sensors.magnetometer.rate_hz": aboard.magnetometer.period_s,
        "sensors.barometer.rate_hz": aboard.barometer.period_s,
        "sensors.gnss.rate_hz": gnss.period_s,
        "control.setpoint_hz": 1 / control.setpoint_hz,
        "sensors.gnss.start_s": gnss.start_s,
        "duration_s": scenario.duration_s,
    }
    for key, time_s in whole.items():
        if not math.isclose(round(time_s / step_s) * step_s, time_s, abs_tol=1e-9):
            raise ConfigError(f"{key}: expected a whole number of steps of {step_s:g} s in a batch")


def _check_sensors(scenario: BatchScenario) -> None:
    aboard = scenario.aircraft.aboard
    imu, magnetometer, barometer, gnss = aboard.imu, aboard.magnetometer, aboard.barometer, aboard.gnss
    assert imu is not None and magnetometer is not None and barometer is not None and gnss is not None
    refused = {
        "sensors.imu.delay_s": imu.delay_s > 0,
        "sensors.imu.start_s": imu.start_s > 0,
        "sensors.imu.lever_B": any(imu.lever_B),
        "sensors.imu.gyro.errors.quantum": imu.gyro.errors.quantum > 0,
        "sensors.imu.accel.errors.quantum": imu.accel.errors.quantum > 0,
        "sensors.magnetometer.delay_s": magnetometer.delay_s > 0,
        "sensors.magnetometer.start_s": magnetometer.start_s > 0,
        "sensors.magnetometer.errors.quantum": magnetometer.errors.quantum > 0,
        "sensors.barometer.delay_s": barometer.delay_s > 0,
        "sensors.barometer.start_s": barometer.start_s > 0,
        "sensors.barometer.pressure.quantum": barometer.pressure.quantum > 0,
        "sensors.barometer.pressure.range": barometer.pressure.range is not None,
        "sensors.gnss.lat_lon_quantum_deg": gnss.lat_lon_quantum_deg > 0,
        "sensors.gnss.alt_quantum_m": gnss.alt_quantum_m > 0,
        "sensors.gnss.velocity.quantum": gnss.velocity.quantum > 0,
        "sensors.gnss.lost_s": bool(gnss.lost_s),
        **without_twin(imu, barometer, gnss),
    }
    for key, is_refused in refused.items():
        if is_refused:
            raise ConfigError(f"{key}: a batch of a multirotor flies without it; use the engine `bench`")


def _check_times(scenario: BatchScenario) -> None:
    world, control = scenario.aircraft.world, scenario.controller.control
    assert world.stand is not None
    if world.stand.until_s < ALIGNED_S:
        raise ConfigError(f"world.stand.until_s: the estimator aligns at rest; expected at least {ALIGNED_S:g} s")
    if world.bound_m > CELL_M / 2 or world.home.alt_m + world.bound_m > HIGHEST_M:
        raise ConfigError(
            f"world.bound_m: a batch has the air near home alone; expected at most {CELL_M / 2:g} m, and less than "
            f"{HIGHEST_M:g} m above the sea"
        )
    told = max(1, round(1 / (TELEMETRY_HZ * control.period_s)))
    if steps(scenario.duration_s, world.step_s) % told:
        raise ConfigError(f"duration_s: expected a multiple of {told * world.step_s:g} s in a batch")


def longest_delay(told: int) -> int:
    """In steps: commands are kept that long, and a row of telemetry arrives before the next one."""
    return min(HELD - 1, told - 1)
