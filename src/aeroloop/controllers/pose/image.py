"""The firmware of a pose board: generated C beside `firmware/values/` and `firmware/pose/`, and its drivers alone."""

from __future__ import annotations

from aeroloop.codegen.embedded import content_hash, embedded
from aeroloop.codegen.images import Generated, floats
from aeroloop.control.board_law import BoardLaw
from aeroloop.controllers.law import values_image
from aeroloop.controllers.pose.board_settings import BoardSettings
from aeroloop.controllers.pose.driver_table import DRIVERS, SENSED_VALUES
from aeroloop.controllers.pose.parameters import TABLE
from aeroloop.protocols.pose import FORMATS, STATUS, crc_table
from aeroloop.sensors.reconstruction import RAD_PER_COUNT

LOCKSTEP = "pose-lockstep-qemu"


def generate(law: BoardLaw, settings: BoardSettings) -> Generated:
    """All files of the image."""
    made = values_image.generate(law)
    files = {**made.files, **driver_files(settings)}
    files.pop("image.h")
    image_id = content_hash(*files.values())
    return Generated({**files, "image.h": f"#define IMAGE_ID 0x{image_id:08x}u\n"}, image_id)


def driver_files(settings: BoardSettings) -> dict[str, str]:
    """Of the drivers: their tables and the functions that rebuild samples."""
    files = {"pose_config.h": config_header(settings)}
    for name, function in settings.rebuild.items():
        made = embedded(function, f"soft_{name}")
        files |= {f"soft_{name}.c": made.c, f"soft_{name}.h": made.h}
    lines = [f'#include "soft_{name}.h"' for name in settings.rebuild]
    files["soft.h"] = "\n".join(["/* Generated: every function that rebuilds a sample. */", *lines]) + "\n"
    return files


def config_header(settings: BoardSettings) -> str:
    layout = settings.layout
    first, second = layout.header
    lines = [
        "/* Generated from aeroloop.controllers.pose: the line, the classes of sensors, the parameters. */",
        "#ifndef POSE_CONFIG_H",
        "#define POSE_CONFIG_H",
        "",
        f"#define POSE_HEADER {{0x{first:02x}, 0x{second:02x}}}",
        f"#define POSE_CRC_INIT 0x{layout.crc_init:04x}u",
        f"#define POSE_CRC_REFLECTED {int(layout.crc_reflected)}",
        f"#define POSE_CRC_LOW_FIRST {int(layout.crc_low_first)}",
        f"#define POSE_CRC_TABLE {{ {', '.join(f'0x{word:04x}' for word in crc_table(layout.crc_reflected))} }}",
        f"#define POSE_BAUD {settings.baud}u",
        f"#define POSE_POSITION_FLOAT {int(layout.position == 'float32')}",
        f"#define POSE_MOTORS_SPEED {int(layout.motors == 'speeds')}",
        f"#define POSE_STAMPED {int(STATUS in settings.kinds)}",
        f"#define POSE_KNOWN_TYPES 0x{_bits(FORMATS[layout.types]):02x}u",
        f"#define POSE_SET 0x{_bits(settings.kinds):02x}u",
        f"#define MOTOR_IDLE_RPM {_float(settings.idle_rpm)}",
        f"#define MOTOR_RPM_PER_US {_float(settings.rpm_per_us)}",
        f"#define RAD_PER_COUNT {_float(RAD_PER_COUNT)}",
        f"#define SENSED_VALUES {SENSED_VALUES}u",
        "",
        "/* X(name, NAME, group, offset, count, aged, soft_from, period_us) */",
        f"#define DRIVER_TABLE(X) \\\n{_rows(_drivers(settings))}",
        "",
        "/* X(name, value, low, high) */",
        f"#define PARAMETER_TABLE(X) \\\n{_rows(_parameters(settings))}",
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _drivers(settings: BoardSettings) -> list[str]:
    return [
        f"X({row.name}, {row.name.upper()}, {row.group}, {row.offset}, {row.count}, {int(row.aged)}, {row.soft_from}, "
        f"{period_us}u)"
        for row, period_us in zip(DRIVERS, settings.periods_us, strict=True)
    ]


def _parameters(settings: BoardSettings) -> list[str]:
    return [
        f"X({row.name}, {_float(settings.parameters[row.name])}, {_float(row.low)}, {_float(row.high)})"
        for row in TABLE
    ]


def _rows(rows: list[str]) -> str:
    return " \\\n".join(f"    {row}" for row in rows)


def _bits(kinds: frozenset[int]) -> int:
    return sum(1 << kind for kind in kinds)


def _float(value: float) -> str:
    return floats([value]).strip("{ }")
