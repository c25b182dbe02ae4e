"""The tables of a scenario about our boards: the law, the behaviour of the board, and how it is emulated."""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note


class Control(Config, frozen=True):
    """The control law and its design."""

    law: Annotated[
        Literal["dlqr", "dlqr-heading"],
        note(
            "discrete LQR with integral action; `dlqr` is the paper's, for yaw near 0, `dlqr-heading` flies any heading"
        ),
    ] = "dlqr"
    law_file: Annotated[
        str,
        note("Python file with a law of your own, relative to the scenario file; empty for `law`; `--law` overrides"),
    ] = ""
    weights: Annotated[str, note("weight set in the vehicle's `params.toml`")] = "published"
    period_s: Annotated[float, meta("s", "control period of the board", gt=0, le=1)] = 0.012


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


class Computer(Config, frozen=True):
    """The slow computer aboard."""

    period_s: Annotated[float, meta("s", "control period", ge=0.01, le=0.2)] = 0.05
    scheduler: Annotated[
        Literal["preemptive", "cooperative"],
        note("`preemptive`: planning has all time that the other tasks leave; `cooperative`: a slice each period"),
    ] = "preemptive"
    slice_s: Annotated[float, meta("s", "the cooperative scheduler's slice for planning", gt=0, le=0.2)] = 0.010
    piece_s: Annotated[
        float, meta("s", "rungs mil and sil: what one piece of planning costs the slow computer", ge=0, le=1)
    ] = 6e-5
    routine_s: Annotated[
        float, meta("s", "rungs mil and sil: what all other tasks cost it in a control period", ge=0, le=0.2)
    ] = 6e-4


class Processor(Config, frozen=True):
    """The emulated processor of rung `pil`."""

    shift: Annotated[
        int, meta("-", "an instruction takes 2^shift ns: 5 is 31.25 million a second, 3 is 125 million", ge=0, le=10)
    ] = 5
