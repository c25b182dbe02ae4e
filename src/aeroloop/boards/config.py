"""The tables of a scenario about a board with our firmware: its behaviour, and how it is emulated."""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note


class Board(Config, frozen=True):
    """What the board does when sensors or references are missing."""

    sensor_hold_s: Annotated[
        float, meta("s", "without sensors, keep the last command this long, then the safe one", ge=0, le=10)
    ] = 0.06
    reference_timeout_s: Annotated[
        float, meta("s", "without references for this long, report it; the last one is held", gt=0, le=60)
    ] = 0.5
    safe_thrust_ratio: Annotated[
        float, meta("-", "safe command: this part of the hover thrust, no tilt torque", ge=0, le=1)
    ] = 0.9


class Fault(Config, frozen=True):
    """A fault injected into the emulated board."""

    at_s: Annotated[float, meta("s", "simulated time at which it happens", ge=0, le=86400)]
    kind: Annotated[
        Literal["hang", "reset"],
        note("`hang`: the control task never returns, until the watchdog resets the board; `reset`: the reset button"),
    ]


class Emulator(Config, frozen=True):
    """The emulated board of rung `pil`."""

    shift: Annotated[
        int, meta("-", "an instruction takes 2^shift ns: 5 is 31.25 million a second, 3 is 125 million", ge=0, le=10)
    ] = 5
    timed: Annotated[
        bool,
        note(
            "in lockstep, let what the board sends come after the time its instructions took; otherwise that "
            "counts only where it is longer than the control period"
        ),
    ] = False
    faults: Annotated[tuple[Fault, ...], note("injected faults")] = ()
