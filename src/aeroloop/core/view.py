"""Programs that show a flight from outside (`[view]`), and what of an aircraft's actuators they show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note

FLIGHTGEAR_URL = "udp://127.0.0.1:5503"
"""Where FlightGear listens if nobody says otherwise: the port of ArduPilot's scripts."""
MOST_PORT = 65535
_URL = re.compile(r"udp://([\w.-]+):(\d{1,5})", re.ASCII)


class View(Config, frozen=True):
    """Programs that show the flight. The recorder sends to them and never waits."""

    flightgear: Annotated[
        str,
        note(
            "`udp://HOST:PORT` of FlightGear's `--native-fdm`; aircraft n of several sends to the n-th port after it; "
            "empty: none. `--view flightgear` sets `udp://127.0.0.1:5503`"
        ),
    ] = ""
    version: Annotated[
        Literal[24, 25], note("version of FlightGear's packets: 24 up to 2020.3, 25 for its development since 2021")
    ] = 24
    rate_hz: Annotated[
        float, meta("Hz", "packets per simulated second; at most the rate of the stream `truth`", ge=10, le=120)
    ] = 30.0
    visibility_m: Annotated[float, meta("m", "visibility in FlightGear's scenery", gt=0, le=1e6)] = 25000.0

    def __post_init__(self) -> None:
        if self.flightgear:
            address(self.flightgear)


def address(url: str, number: int = 0) -> tuple[str, int]:
    """Host and port of aircraft `number`; ValueError says what is wrong."""
    match = _URL.fullmatch(url)
    port = int(match.group(2)) + number if match else 0
    if match is None or not 0 < port <= MOST_PORT:
        raise ValueError(f"view.flightgear: expected udp://HOST:PORT, for example {FLIGHTGEAR_URL}, not {url!r}")
    return match.group(1), port


@dataclass(frozen=True)
class Shown:
    """A column of the stream `effort`, times a factor."""

    column: str
    factor: float = 1.0


@dataclass(frozen=True)
class ShownEffort:
    """What of an aircraft's actuators is shown; a family's row names what makes it of a scenario
    (`core.tables.Family.view`)."""

    rpm: tuple[Shown, ...] = ()  # of each engine or rotor
    surfaces: Mapping[str, Shown] = field(default_factory=dict)  # by their names in protocols.flightgear.NetFdm
