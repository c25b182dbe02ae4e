"""The tilt-rotor's firmware images: a scenario's law and board settings -> generated C.

python -m aeroloop.families.tiltrotor.images FOLDER [SCENARIO]   writes the generated files for `make -C firmware`
"""

from __future__ import annotations

import sys
from pathlib import Path

import casadi as ca

from aeroloop.boards.config import Control
from aeroloop.codegen.embedded import EmbeddedC, content_hash, embedded
from aeroloop.codegen.images import Generated, check_period, floats
from aeroloop.control import mpc
from aeroloop.core.errors import ConfigError
from aeroloop.core.redundancy import Health
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import NS, WATCHDOG_PERIODS, Event
from aeroloop.families.tiltrotor.design import Design, flight_law, integrators, of_scenario, parameter_file
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.links.url import DEFAULT_BAUD
from aeroloop.protocols.interface import TILTROTOR, redundant
from aeroloop.protocols.interface_c import c_header
from aeroloop.protocols.plausible import Bounds
from aeroloop.protocols.reference import LATEST_MS, ReferenceBounds

LOCKSTEP, UART, DISCOVERY = "tiltrotor-lockstep-qemu", "tiltrotor-uart-qemu", "tiltrotor-uart-discovery"


def generate(scenario: TiltrotorScenario) -> Generated:
    check_period("control.period_s", scenario.controller.control.period_s)
    plan = of_scenario(scenario)
    function, law = _law(scenario.controller.control, plan)
    table = TILTROTOR
    if scenario.controller.redundancy is not None:
        table = redundant(integrators(scenario.controller.control, function))
    hover = tuple(plan.u_eq.tolist())
    config = config_header(scenario, hover, plan.safe_command(scenario.controller.board.safe_thrust_ratio))
    image_id = content_hash(law.c, law.h, config)
    files = {
        "law.c": law.c,
        "law.h": law.h,
        "config.h": config,
        "interface.h": c_header(table),
        "image.h": f"#define IMAGE_ID 0x{image_id:08x}u\n",
    }
    return Generated(files, image_id)


def image(scenario: TiltrotorScenario) -> tuple[Generated, str]:
    """The image of a flight's emulated board."""
    return generate(scenario), LOCKSTEP if scenario.lockstep else UART


def _law(control: Control, plan: Design) -> tuple[ca.Function, EmbeddedC]:
    try:
        law = flight_law(control, plan)
        return law, embedded(law)
    except ConfigError as error:
        own = control.law_file  # a law that the host can fly may not fit single precision: the error names its file
        raise ConfigError(f"{own}: {error}" if own and own not in str(error) else str(error)) from None


def config_header(scenario: TiltrotorScenario, hover: tuple[float, ...], safe: tuple[float, ...]) -> str:
    board = scenario.controller.board
    lines = [
        "/* Generated from a scenario: what the firmware knows of aircraft and duties. SI units. */",
        "#ifndef CONFIG_H",
        "#define CONFIG_H",
        "",
        f"#define CONTROL_PERIOD_US {round(scenario.controller.control.period_s * 1e6)}u",
        f"#define WATCHDOG_PERIODS {WATCHDOG_PERIODS}u",
        f"#define SENSOR_HOLD_NS {round(board.sensor_hold_s * NS)}ull",
        f"#define REFERENCE_TIMEOUT_NS {round(board.reference_timeout_s * NS)}ull",
        f"#define REFERENCE_LATEST_MS {LATEST_MS}u",
        f"#define LINE_BAUD {DEFAULT_BAUD}u",
        *(_status() if scenario.controller.control.predictive else ()),
        *(_several() if scenario.controller.redundancy is not None else ()),
        f"#define HOVER_COMMAND {floats(hover)}",
        f"#define SAFE_COMMAND {floats(safe)}",
        *_bounds("SENSOR", parameter_file().plausible.sensors),
        *_bounds("REFERENCE", ReferenceBounds()),
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _status() -> list[str]:
    """Of a law with a third output: its size, and the event of a change of what flies."""
    return [f"#define LAW_STATUS {mpc.STATUS_SIZE}u", f"#define EVENT_LAW_FALLBACK {Event.LAW_FALLBACK:d}u"]


def _several() -> list[str]:
    """Of one of several boards: it sends heartbeats, and takes integrators."""
    return ["#define REDUNDANT 1", *(f"#define HEALTH_{health.name} {health:d}u" for health in Health)]


def _bounds(name: str, bounds: Bounds) -> list[str]:
    rows = {"LOW": bounds.low, "HIGH": bounds.high, "STEP": bounds.step}
    wraps = sum(1 << index for index in bounds.wraps)
    return [
        *(f"#define {name}_{row} {floats(values)}" for row, values in rows.items()),
        f"#define {name}_WRAPS {wraps}u",
    ]


if __name__ == "__main__":
    generate(load_tiltrotor(find(sys.argv[2] if len(sys.argv) > 2 else "tiltrotor-spiral"))).write(Path(sys.argv[1]))
