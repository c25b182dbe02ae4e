"""A board for tests: a law in plain arithmetic, in C and in Python, and settings that are exact in single precision."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tiltrotor_scenarios import tiltrotor

from aeroloop.boards.config import Board as Config
from aeroloop.boards.config import Control
from aeroloop.boards.host import Behaviour, HostBoard
from aeroloop.codegen.images import Generated
from aeroloop.core.signals import Command, Event, Reference, Sensors
from aeroloop.families.tiltrotor.design import parameter_file
from aeroloop.families.tiltrotor.images import config_header
from aeroloop.protocols import interface
from aeroloop.protocols.interface_c import c_header

PERIOD_NS = 12_000_000
HOVER: Command = (10.0, 10.5, 0.0, 0.25)
SAFE: Command = (9.0, 9.5, 0.0, 0.0)
SETTINGS = Config(sensor_hold_s=0.03, reference_timeout_s=0.25)
IMAGE_ID = 0x007E7D01
NO_NUMBER = {13: 1.0}
"""Sensor values, by index, for which the law returns no number."""
TIMER_IN_LAW = {15: 110.0}
"""And those during which the timer comes, in a board that was built for it."""


class PlainLaw:
    """plain_law.c in single precision."""

    def __init__(self) -> None:
        self._memory = np.float32(0.0)

    def __call__(self, sensors: Sensors, reference: Reference) -> Command:
        with np.errstate(divide="ignore", invalid="ignore"):
            s, r = np.float32(sensors), np.float32(reference.row())
            below = r[2] - s[2]
            command = (
                np.float32(10.0) + below + self._memory,
                np.float32(10.0) + below - self._memory,
                r[4] - s[8] + (r[3] - s[5]),
                s[4] / (np.float32(1.0) - s[13]) + (r[0] - s[0]) + (r[1] - s[1]),
            )
            self._memory = self._memory + np.float32(0.25) * below
        return tuple(map(float, command))


def twin(say: Callable[[int, Event, float], None]) -> HostBoard:
    """The board in Python."""
    bounds = parameter_file().plausible.sensors
    return HostBoard(PlainLaw(), Behaviour(PERIOD_NS, HOVER, SAFE, bounds, SETTINGS), say)


def generated(
    *,
    timer_in_law: bool = False,
    revision: int = interface.TILTROTOR.revision,
    interface_hash: int = interface.TILTROTOR.hash,
) -> Generated:
    """The files that make the firmware such a board."""
    here = Path(__file__).parent
    scenario = tiltrotor(name="plain", control=Control(period_s=PERIOD_NS / 1e9), board=SETTINGS)
    header = _defined(c_header(interface.TILTROTOR), INTERFACE_REVISION=revision, INTERFACE_HASH=interface_hash)
    files = {
        "law.c": "#define TIMER_IN_LAW\n" * timer_in_law + (here / "plain_law.c").read_text(encoding="utf-8"),
        "law.h": (here / "plain_law.h").read_text(encoding="utf-8"),
        "config.h": config_header(scenario, HOVER, SAFE),
        "interface.h": header,
        "image.h": f"#define IMAGE_ID 0x{IMAGE_ID:08x}u\n",
    }
    return Generated(files, IMAGE_ID)


def _defined(header: str, **values: int) -> str:
    for name, value in values.items():
        header, count = re.subn(rf"(#define {name}) .*", rf"\1 0x{value:x}u", header)
        assert count == 1, name
    return header
