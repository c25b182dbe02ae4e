"""The fixed wing's flight as a batch: what a batch can fly, its parameters, its loop and its table."""

from __future__ import annotations

from aeroloop.batch.flights import Plan
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing import powered
from aeroloop.families.fixedwing.batch_loop import OFFSET, PARAMETERS, SCALES, STEADY, W20, WingLoop
from aeroloop.families.fixedwing.batch_sampling import sensors, steps
from aeroloop.families.fixedwing.batch_table import table
from aeroloop.families.fixedwing.scenario import LEAST_SCALE, MOST_SCALE, FixedWingScenario
from aeroloop.protocols.interface import DEGREES
from aeroloop.sensors.error_functions import without_twin

MOST_TURBULENCE_M_S = 50.0
MOST_OFFSET_M = 300.0
"""Series about the middle of the flight hold there (`batch_local.py`)."""

ALWAYS = dict.fromkeys(
    (
        *("overruns", "board_restarts", "law_not_finite", "unanswered_cycles", "messages_lost", "collisions"),
        *("deadlines_missed", "log_lost_rows", "arrived", "stranded", "plans", "outside_channel"),
    ),
    0.0,
)
"""Metrics of the bench that no flight of a batch changes: it stays on its circle, with a board that answers."""


def plan(scenario: FixedWingScenario) -> Plan:
    """The flight of a scenario; ConfigError for what a batch cannot fly."""
    _check(scenario)
    world, vehicle = scenario.aircraft.world, scenario.aircraft.vehicle
    scales = [float(getattr(vehicle.scale, name)) for name in SCALES]
    numbers = (*scales, *world.wind.steady_W, world.wind.turbulence.w20_m_s, *world.start_offset_W)
    return Plan(
        WingLoop(scenario).loop(),
        table(scenario),
        dict(zip(PARAMETERS, numbers, strict=True)),
        ranges={
            **{f"vehicle.scale.{name}": (LEAST_SCALE, MOST_SCALE) for name in SCALES},
            **{f"{STEADY}[{axis}]": (-50.0, 50.0) for axis in range(3)},
            **{f"{OFFSET}[{axis}]": (-MOST_OFFSET_M, MOST_OFFSET_M) for axis in range(3)},
            W20: (0.0, MOST_TURBULENCE_M_S),
        },
        always=ALWAYS,
    )


def _check(scenario: FixedWingScenario) -> None:
    aircraft, link = scenario.aircraft, scenario.link
    world, mission, wind = aircraft.world, aircraft.mission, aircraft.world.wind
    own, airframe = aircraft.aboard, airframes.load(aircraft.vehicle.airframe)
    assert own.imu and own.magnetometer and own.barometer and own.gnss and own.airspeed  # the scenario's own check
    refused = {
        "battery": powered.file_of(aircraft, airframe) is not None,
        "faults": bool(scenario.planned),
        "changes": bool(scenario.changes),
        "operator": bool(scenario.controller.operator),
        "link.to_board": link.to_board.active,
        "link.to_plant": link.to_plant.active,
        "launch.by": aircraft.launch.by not in ("", "air"),
        "vehicle.airframe (gear)": bool(airframe.gear),
        "vehicle.airframe (servos.dead_band)": airframe.servos.dead_band is not None,
        "vehicle.count": aircraft.vehicle.count > 1,
        "world.earth_rotation": world.earth_rotation,
        "world.objects": bool(world.objects or world.scene),
        **wind.outside_batches,
        "world.home.geoid_height_m": world.home.geoid_height_m != 0.0,
        "sensors.imu.lever_B": any(own.imu.lever_B),
        "sensors.gnss.lat_lon_quantum_deg": own.gnss.lat_lon_quantum_deg not in (0.0, 1 / DEGREES),
        "sensors.gnss.alt_quantum_m": own.gnss.alt_quantum_m not in (0.0, 0.001),
        **without_twin(own.imu, own.barometer, own.gnss),
        **{f"sensors.{name}.start_s": getattr(own, name).start_s > 0 for name in sensors(scenario)},
        **{f"sensors.{name}.delay_s": getattr(own, name).delay_s > 0 for name in sensors(scenario) if name != "gnss"},
    }
    for key, is_refused in refused.items():
        if is_refused:
            raise ConfigError(f"{key}: a batch of the fixed wing flies without it; expected engine = bench")
    if mission.start_m is None:
        raise ConfigError(
            "mission.start_m: a batch of the fixed wing starts at one place for every seed; expected the centre of its "
            "circle, east and north"
        )
    if mission.command_at_s < scenario.duration_s:
        raise ConfigError(
            "mission.command_at_s: a batch of the fixed wing stays on its first circle, the planner is not in it; "
            "expected a time after the flight, or engine = bench"
        )
    period = steps("board.period_s", scenario.controller.board.period_s, world.step_s)
    if period % sensors(scenario)["imu"].every:
        raise ConfigError(
            "sensors.imu.rate_hz: a batch needs whole samples in each control period; expected engine = bench"
        )
