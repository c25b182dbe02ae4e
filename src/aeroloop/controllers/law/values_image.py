"""The firmware of any board law: a family's law -> generated C (`firmware/values/`)."""

from __future__ import annotations

from aeroloop.codegen.embedded import content_hash, embedded
from aeroloop.codegen.images import Generated, check_period
from aeroloop.control.board_law import BoardLaw
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import WATCHDOG_PERIODS
from aeroloop.links.url import DEFAULT_BAUD
from aeroloop.protocols import values
from aeroloop.protocols.interface_c import c_header

LOCKSTEP, UART = "values-lockstep-qemu", "values-uart-qemu"
UART_BYTE_S = 38e-6
"""Longest time per byte into the emulated UART."""


def generate(law: BoardLaw) -> Generated:
    check_period(f"law {law.function.name()}: its period", law.period_s)
    if law.measured > values.MOST_VALUES or law.commands > values.MOST_COMMANDS:
        raise ConfigError(
            f"law {law.function.name()}: {law.measured} values and {law.commands} commands; expected at most "
            f"{values.MOST_VALUES} and {values.MOST_COMMANDS}, the capacity of one frame of a board with firmware"
        )
    made, config = embedded(law.whole), config_header(law)
    image_id = content_hash(made.c, made.h, config)
    files = {
        "law.c": made.c,
        "law.h": made.h,
        "config.h": config,
        "interface.h": c_header(values.INTERFACE),
        "image.h": f"#define IMAGE_ID 0x{image_id:08x}u\n",
    }
    return Generated(files, image_id)


def config_header(law: BoardLaw) -> str:
    places = [sum(row.size for row in law.tells[:index]) for index in range(len(law.tells))]
    rows = [f"{{{place}, {row.size}, {row.every}}}" for place, row in zip(places, law.tells, strict=True)]
    lines = [
        "/* Generated from a board law: what the firmware knows of it. */",
        "#ifndef CONFIG_H",
        "#define CONFIG_H",
        "",
        f"#define CONTROL_PERIOD_US {round(law.period_s * 1e6)}u",
        f"#define WATCHDOG_PERIODS {WATCHDOG_PERIODS}u",
        f"#define LINE_BAUD {DEFAULT_BAUD}u",
        f"#define GROUP_COUNT {len(law.sizes)}u",
        f"#define GROUP_SIZES {{ {', '.join(map(str, law.sizes))} }}",
        f"#define TOLD_COUNT {law.whole.size1_out(2)}u",
        f"#define ROW_COUNT {len(rows)}u",
        f"#define ROW_TABLE {', '.join(rows or ['{0, 0, 1}'])}",
        *(("#define LAW_RESTARTS",) if law.restarts else ()),
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def check_line(law: BoardLaw) -> None:
    """Whether the emulated UART can carry the plant's messages in real time: on average in half of each period."""
    in_period = [group.size for group in law.groups if not group.rate_hz] if law.groups else [law.measured]
    slow = sum(4 * group.size * group.rate_hz for group in law.groups)
    bytes_per_s = values.frame_bytes(sum(in_period)) / law.period_s + slow
    share = bytes_per_s * UART_BYTE_S
    if share > 0.5:
        raise ConfigError(
            f"pace: the plant sends {bytes_per_s * law.period_s:.0f} bytes in a control period of "
            f"{law.period_s * 1e3:g} ms, and a byte into the emulated UART takes {UART_BYTE_S * 1e6:g} us: "
            f"{100 * share:.0f} % of the period, expected at most half; fly pil in lockstep"
        )
