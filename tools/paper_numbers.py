"""Numbers that the papers print, computed by the bench without a flight: `python -m tools.paper_numbers NAME`.

`docs/papers.md` has them beside the papers'; its test runs every NAME and compares the page with what comes out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping

from aeroloop.core import scenario_files
from aeroloop.core.wing_signals import WING_TASKS
from aeroloop.families.fixedwing.planning_map import planning_map
from aeroloop.families.fixedwing.scenario import FixedWingTables
from aeroloop.families.tiltrotor.analysis.link_budget import ESCAPED_BYTES, LONGEST_BYTES, budget
from aeroloop.families.tiltrotor.design import design
from aeroloop.families.tiltrotor.design import parameters as tiltrotor_parameters
from aeroloop.planning.cells import SUB, Leaves
from aeroloop.planning.templates import library
from aeroloop.protocols import pose
from aeroloop.protocols.framing import encode, fletcher16
from aeroloop.sensors import reconstruction
from aeroloop.sensors.suite import preset_table

PERIOD_S = 0.012
GRAVITY_M_S2 = 9.81
BAUD = 921_600
AIRSPEED_M_S, BANK_DEG = 20.0, 30.0
"""Of the fixed-wing paper, for its smallest turn."""
CHECK = b"123456789"
GROUND_PA, GROUND_K, HEIGHT_M = 101_325.0, 288.15, 20.0


def equilibrium() -> dict[str, float]:
    """Hover of the tilt-rotor, by the CAD values and by Table 1 as printed."""
    cad, table1 = (design(name, "published", PERIOD_S) for name in ("cad", "table1"))
    mass_kg = {name: _mass_kg(name) for name in ("cad", "table1")}
    return {
        "thrust_right_N": float(cad.u_eq[0]),
        "thrust_left_N": float(cad.u_eq[1]),
        "mass_kg": mass_kg["cad"],
        "table1_thrust_right_N": float(table1.u_eq[0]),
        "table1_thrust_left_N": float(table1.u_eq[1]),
        "table1_mass_kg": mass_kg["table1"],
    }


def _mass_kg(name: str) -> float:
    p = tiltrotor_parameters(name)
    return float(p.fuselage_mass_kg + sum(p.pod_mass_kg))


def gain() -> dict[str, float]:
    """Gains from height, climb rate and the integral of height to the right thrust, and how much delay they bear."""
    published, printed = (design("cad", name, PERIOD_S) for name in ("published", "printed"))
    return {
        "height_N_per_m": float(published.K[0, 2]),
        "climb_N_s_per_m": float(published.K[0, 10]),
        "integral_N_per_m_s": float(published.K[0, 18]),
        "delay_margin_ms": published.delay_margin_s() * 1e3,
        "printed_height_N_per_m": float(printed.K[0, 2]),
        "printed_delay_margin_ms": printed.delay_margin_s() * 1e3,
    }


def serial_frame() -> dict[str, float]:
    """The answer to a sensor request, at its longest: every byte escaped."""
    worst = budget(LONGEST_BYTES, BAUD, PERIOD_S)
    return {
        "escaped_bytes": ESCAPED_BYTES,
        "frame_bytes": LONGEST_BYTES,
        "time_ms": worst.time_s * 1e3,
        "period_pct": worst.period_pct,
        "flag": encode(b"")[0],
        "escape": encode(b"\x7d")[1],
        "fletcher_abcde": fletcher16(b"abcde"),
    }


def pose_packet() -> dict[str, float]:
    """Frames and checksum of the Pixhawk paper's packets; a set is attitude, position and rates."""
    attitude, motors = pose.encode(pose.Attitude(0.1, -0.2, 1.5)), pose.encode(pose.Motors((1500,) * 4))
    return {
        "attitude_bytes": len(attitude),
        "motors_bytes": len(motors),
        "set_ms": 3 * len(attitude) * 10 / BAUD * 1e3,
        "crc_modbus": pose.crc16(CHECK),
        "crc_arc": pose.crc16(CHECK, pose.PoseFormat(crc_init=0)),
    }


def barometer() -> dict[str, float]:
    """Pressure at 20 m, rebuilt by the board's function, and by the paper's equation (4) as printed."""
    names = {"pressure_Pa": GROUND_PA, "temperature_K": GROUND_K}
    place = [names.get(name, 0.0) for name in reconstruction.TAKEOFF]
    values = [0.0] * reconstruction.POSE_SIZE
    values[reconstruction.POSE["pos_W"]] = [0.0, 0.0, HEIGHT_M]
    soft = reconstruction.rebuilt("paper", ("attitude", "position", "rates")).barometer
    sample, _ = soft(values, 0.004, place, [0.0])
    printed_Pa = GROUND_PA * 10 ** (5.256 * math.log(1 - HEIGHT_M / (153.8462 * GROUND_K)))
    ours_Pa = float(sample[0])
    printed_m = 153.8462 * GROUND_K * (1 - math.exp(0.190259 * math.log10(ours_Pa / GROUND_PA)))
    return {"pressure_Pa": ours_Pa, "printed_pressure_Pa": printed_Pa, "printed_height_m": printed_m}


def turn() -> dict[str, float]:
    """The smallest turn V^2 / (g tan phi), and the tightest path template, in cells of 150 m."""
    fine_m = _planner_map()["fine_cell_m"]
    tightest = max(template.shape.kappa_bound for template in library().values())
    return {
        "radius_m": AIRSPEED_M_S**2 / (GRAVITY_M_S2 * math.tan(math.radians(BANK_DEG))),
        "template_radius_m": fine_m / tightest,
    }


def cells() -> dict[str, float]:
    """The map and its cells, around an aircraft in the middle."""
    return _planner_map()


def _planner_map() -> dict[str, float]:
    tables = scenario_files.load(scenario_files.find("fixedwing-hierarchical")).aircraft
    assert isinstance(tables, FixedWingTables)
    elevation, resolution = planning_map(tables), tables.planner.resolution
    middle = elevation.side * SUB // 2
    return {
        "units": elevation.side,
        "side_km": elevation.side * elevation.unit_m / 1e3,
        "fine_cell_m": (elevation.side >> resolution.finest) * elevation.unit_m,
        "leaves": len(Leaves(elevation.order, resolution, middle, middle)),
        "uniform_cells": 4**resolution.finest,
    }


def tasks() -> dict[str, float]:
    """Tasks of the fixed wing's board, and the priorities that they span."""
    priorities = [task.priority for task in WING_TASKS]
    return {"tasks": len(priorities), "first": min(priorities), "last": max(priorities)}


def sensor_noise() -> dict[str, float]:
    """The preset `thesis`: standard deviations of its white noise, and rates."""
    imu, gnss = (preset_table("thesis")[name] for name in ("imu", "gnss"))
    gyro_deg_s = [math.degrees(std) for std in imu["gyro"]["errors"]["white_std"]]
    accel_m_s2 = imu["accel"]["errors"]["white_std"]
    return {
        **{f"gyro_{axis}_deg_s": std for axis, std in zip("xyz", gyro_deg_s, strict=True)},
        **{f"accel_{axis}_m_s2": std for axis, std in zip("xyz", accel_m_s2, strict=True)},
        "gnss_m": gnss["position"]["white_std"],
        "imu_hz": imu["rate_hz"],
        "gnss_hz": gnss["rate_hz"],
    }


NUMBERS: Mapping[str, Callable[[], dict[str, float]]] = {
    "equilibrium": equilibrium,
    "gain": gain,
    "serial-frame": serial_frame,
    "pose-packet": pose_packet,
    "barometer": barometer,
    "turn": turn,
    "cells": cells,
    "tasks": tasks,
    "sensor-noise": sensor_noise,
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in NUMBERS:
        print(f"usage: python -m tools.paper_numbers {' | '.join(NUMBERS)}", file=sys.stderr)
        return 2
    for name, value in NUMBERS[arguments[0]]().items():
        print(f"{name} = {value:.7g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
