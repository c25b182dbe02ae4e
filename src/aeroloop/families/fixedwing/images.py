"""The fixed wing's firmware images: a scenario's aircraft, map and mission -> generated C -> an image.

The start of a flight comes with its first sensors and its goal over the ground's link, so that one image flies between
any two positions of a map.

python -m aeroloop.families.fixedwing.images FOLDER [SCENARIO]   writes the generated files for `make -C firmware`
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import casadi as ca

from aeroloop.codegen.embedded import EmbeddedC, content_hash, embedded
from aeroloop.codegen.images import Generated, check_period, floats
from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.geodesy import radii_m, span_m
from aeroloop.core.scenario import narrowed
from aeroloop.core.scenario_files import find, load, of_table
from aeroloop.core.signals import WATCHDOG_PERIODS
from aeroloop.estimation.wing import EXPONENT
from aeroloop.families.fixedwing.design import flight_law
from aeroloop.families.fixedwing.law import WingLaw
from aeroloop.families.fixedwing.operating import console, regions
from aeroloop.families.fixedwing.planning_map import ground_of, planning_map
from aeroloop.families.fixedwing.scenario import MOST_BANK_RAD, FixedWingScenario, FixedWingTables
from aeroloop.links.url import DEFAULT_BAUD
from aeroloop.planning.loiter import JoinSettings
from aeroloop.planning.mission import MissionSettings
from aeroloop.planning.search import HEADINGS
from aeroloop.planning.tables_c import mission_c, templates_c
from aeroloop.protocols.interface import DEGREES, WING
from aeroloop.protocols.interface_c import c_header
from aeroloop.world.earth import Earth, Home

PREEMPTIVE, COOPERATIVE = "wing-lockstep-qemu", "wing-cooperative-lockstep-qemu"
IMAGE = {"preemptive": PREEMPTIVE, "cooperative": COOPERATIVE}
"""By the scheduler's name in a scenario."""
MOST_BYTES, MOST_RAM_BYTES = 512 << 10, 128 << 10
"""Limits of an image in all, and of its RAM: the memory of the paper's board, and the part's."""
TELEMETRY_BYTES = 1200
"""Limit of a period's telemetry; after so many bytes no further message is started."""
MAP_ORDERS = range(4, 9)
"""The map is in flash, two bytes per unit."""


def generate(scenario: FixedWingScenario) -> Generated:
    check_period("board.period_s", scenario.controller.board.period_s)
    law = flight_law(scenario)
    files: dict[str, str] = {}
    for function in law.functions:
        made = _embedded(function, scenario.controller.control.law_file if function is law.cntr else "")
        files |= {f"{function.name()}.c": made.c, f"{function.name()}.h": made.h}
    files["map.c"] = _map(scenario)
    files |= templates_c() | mission_c(transient_stitch=scenario.aircraft.planner.stitch == "transient")
    files["config.h"] = config_header(scenario, law)
    image_id = content_hash(*files.values())
    files |= {
        "interface.h": c_header(WING),
        "image.h": f"#define IMAGE_ID 0x{image_id:08x}u\n",
    }
    return Generated(files, image_id)


def _embedded(function: ca.Function, own: str) -> EmbeddedC:
    """In single precision, which may not hold the numbers of a user's law: the error then names its file."""
    try:
        return embedded(function, function.name())
    except ConfigError as error:
        raise ConfigError(f"{own}: {error}" if own else str(error)) from None


def image(scenario: FixedWingScenario) -> tuple[Generated, str]:
    """The image of a flight's emulated board."""
    return generate(scenario), IMAGE[scenario.controller.board.scheduler]


def config_header(scenario: FixedWingScenario, law: WingLaw) -> str:
    mission, board = scenario.aircraft.mission, scenario.controller.board
    lines = [
        "/* Generated from a scenario: what the firmware knows of aircraft, map and duties. SI. */",
        "#ifndef CONFIG_H",
        "#define CONFIG_H",
        "",
        "#include <stdint.h>",
        "",
        f"#define CONTROL_PERIOD_US {round(board.period_s * 1e6)}u",
        f"#define SLICE_US {round(board.slice_s * 1e6)}u",
        f"#define WATCHDOG_PERIODS {WATCHDOG_PERIODS}u",
        "#ifndef TELEMETRY_BYTES",  # a link may take less at once: its build defines it
        f"#define TELEMETRY_BYTES {TELEMETRY_BYTES}u",
        "#endif",
        f"#define LINE_BAUD {DEFAULT_BAUD}u",
        f"#define TRIM_COMMAND {floats((0.0, law.dynamics.elevator_rad, 0.0, law.dynamics.throttle))}",
        _number("TRIM_ALPHA_RAD", law.dynamics.alpha_rad),
        _number("PRESSURE_EXPONENT", EXPONENT),
        _number("LOITER_RADIUS_M", mission.loiter_radius_m),
        _number("ROLL_LAG_S", law.path_gains.lag_s),
        *_parameters(scenario, law),
        *_place(scenario.aircraft.world.home),
        *_planner(scenario),
        _mission(MissionSettings()),
        f"#define PGEN_SETTINGS {{ MAP_SIDE_UNITS * MAP_UNIT_M, LOITER_RADIUS_M, {_joining(JoinSettings())} }}",
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _number(name: str, value: float) -> str:
    return f"#define {name} {_float(value)}"


def _float(value: float) -> str:
    return floats((value,)).strip("{ }")


def _parameters(scenario: FixedWingScenario, law: WingLaw) -> list[str]:
    """What an operator may change in flight, and what its checks need."""
    rows = " ".join(f"{floats((spec.default, spec.low, spec.high))}," for spec in console(scenario).parameters)
    gains = law.path_gains
    return [
        f"#define PARAMETER_TABLE {{ {rows} }}",
        _number("PSI_INF_RAD", gains.psi_inf_rad),
        _number("PATH_SLOPE_RAD_M", gains.psi_inf_rad * gains.kd_1_m),
        _number("TURN_ACCEL_M_S2", GRAVITY_M_S2 * math.tan(MOST_BANK_RAD)),
        _number("BOUND_M", scenario.aircraft.world.reach_m),
        "extern const uint8_t map_regions[];",
    ]


def _place(home: Home) -> list[str]:
    """Second-order terms of the tangent plane, for each 1e-7 degree; see place.c."""
    lat = math.radians(home.lat_deg)
    step = math.radians(1.0 / DEGREES)
    prime_m, meridian_m = radii_m(lat)
    east_m, north_m = span_m(lat, 1.0, 1.0)
    x, y, _ = Earth(home).field_W_T((0.0, 0.0, 0.0))
    return [
        f"#define HOME_LAT_1E7 {round(home.lat_deg * DEGREES)}",
        f"#define HOME_LON_1E7 {round(home.lon_deg * DEGREES)}",
        _number("EARTH_M", math.sqrt(prime_m * meridian_m)),
        _number("PLACE_EAST_M", east_m * step),
        _number("PLACE_EAST_BY_LAT_M", -meridian_m * math.sin(lat) * step**2),
        _number("PLACE_NORTH_M", north_m * step),
        _number("PLACE_NORTH_BY_LON2_M", 0.5 * prime_m * math.sin(lat) * math.cos(lat) * step**2),
        _number("FIELD_AZIMUTH_RAD", math.atan2(y, x)),
    ]


def _map(scenario: FixedWingScenario) -> str:
    values = planning_map(scenario.aircraft).values
    rows = "\n".join("    " + " ".join(f"{value}," for value in row) for row in values.tolist())
    declared = "extern const int16_t map_elevations[];\nconst int16_t map_elevations[]"
    joined = "\n".join("    " + " ".join(f"{value}," for value in row) for row in regions(scenario).tolist())
    areas = f"extern const uint8_t map_regions[];\nconst uint8_t map_regions[] = {{\n{joined}\n}};\n"
    return f"#include <stdint.h>\n\n{declared} = {{\n{rows}\n}};\n\n{areas}"


def _planner(scenario: FixedWingScenario) -> list[str]:
    ground, settings = ground_of(scenario.aircraft.world.terrain), scenario.aircraft.planner
    resolution = settings.resolution
    order = ground.side.bit_length() - 1
    if order not in MAP_ORDERS:
        raise ConfigError(
            f"world.terrain: a map of {ground.side} units a side; expected {2 ** MAP_ORDERS[0]} to "
            f"{2 ** MAP_ORDERS[-1]}, which is what the board's memory holds"
        )
    approximations, leaves, states, times = _memory(scenario, order)
    radii = ", ".join(str(radius) for radius in resolution.radii_units)
    return [
        f"#define MAP_ORDER {order}",
        f"#define MAP_SIDE_UNITS {ground.side}.0f",
        _number("MAP_UNIT_M", ground.unit_m),
        "extern const int16_t map_elevations[];",
        f"#define PLANNER_APPROXIMATIONS {max(approximations, 1)}u",
        f"#define PLANNER_LEAVES {leaves}u",
        f"#define PLANNER_STATES {states}u",
        f"#define PLANNER_TIMES {times}u",
        f"#define PLANNER_FINEST {resolution.finest}",
        "#define PLANNER_SETTINGS { .map = map_elevations, .order = MAP_ORDER, "
        f".coarsest = {resolution.coarsest}, .finest = PLANNER_FINEST, .radii = {{ {radii} }}, "
        f".safe = {settings.safe_m}, .highest = {settings.highest_m}, .blocked_above = {settings.blocked_above_m}, "
        f".obstacle = {settings.obstacle_m}, .weight = {settings.weight_256}, "
        f".turn_rule = {int(settings.turn_rule)} }}",
    ]


def _memory(scenario: FixedWingScenario, order: int) -> tuple[int, int, int, int]:
    """Approximations, leaves, states and times that the planner needs at any vehicle position: its `planner_needs`."""
    resolution = scenario.aircraft.planner.resolution
    leaves, width = 0, 1 << resolution.coarsest
    for level, radius in zip(range(resolution.coarsest, resolution.finest), resolution.radii_units, strict=True):
        leaves += width**2
        split = -(-2 * radius // (1 << (order - level))) + 1 if radius else 0
        width = 2 * min(split, width)
    headings = HEADINGS if scenario.aircraft.planner.turn_rule else 1
    approximations = (4 ** (order - 1) - 4**resolution.coarsest) // 3 if resolution.coarsest + 2 <= order else 0
    times = (4 ** (resolution.finest + 1) - 4**resolution.coarsest) // 3
    return approximations, leaves + width**2, leaves + width**2 * headings + 1, times


def _joining(joining: JoinSettings) -> str:
    """With the names of C, which have no units."""
    return _fields({re.sub(r"_(1_)?m2?$", "", name): getattr(joining, name) for name in joining.__struct_fields__})


def _mission(settings: MissionSettings) -> str:
    values = {
        "budget_s": settings.budget_s,
        "speed": settings.speed_m_s,
        "margin": settings.margin_m,
        "replan_after": settings.replan_after_m,
        "again_after_s": settings.again_after_s,
        "told_every": settings.told_every_m,
    }
    flags = f".told_at_once = {settings.told_at_once}, .side = MAP_SIDE_UNITS * MAP_UNIT_M, .finest = PLANNER_FINEST"
    return f"#define MISSION_SETTINGS {_fields(values, flags)}"


def _fields(values: dict[str, float], *more: str) -> str:
    """A C initialiser by names."""
    return "{ " + ", ".join((*(f".{name} = {_float(value)}" for name, value in values.items()), *more)) + " }"


def scenario_of(name: str | None = None) -> FixedWingScenario:
    """A fixed-wing scenario by its name or file; without one, the defaults."""
    found = load(find(name)) if name else of_table({"name": "wing", "vehicle": {"kind": "fixedwing"}}, "the defaults")
    scenario = narrowed(found, FixedWingTables, PeriodTables)
    if scenario is None:
        raise ConfigError(f"{name}: expected a scenario of the fixed wing")
    return scenario


def main(arguments: list[str]) -> str | None:
    """Write the files; returns an error message if that fails."""
    if len(arguments) not in (1, 2):
        return "usage: python -m aeroloop.families.fixedwing.images FOLDER [SCENARIO]"
    try:
        generate(scenario_of(*arguments[1:])).write(Path(arguments[0]))
    except ConfigError as error:
        return f"aeroloop: {error}"
    except OSError as error:
        return f"aeroloop: {arguments[0]}: cannot be written: {error.strerror}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
