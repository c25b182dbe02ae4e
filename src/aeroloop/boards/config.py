"""Scenario tables of our own boards: control law, board behaviour and emulation."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.signals import NS

HOST_LAWS = ("nmpc", "mppi")
"""Values of `control.law` that fly on mil and sil alone."""


class PredictiveBounds(Config, frozen=True):
    """Bounds of a predictive law."""

    roll_max_deg: Annotated[float, meta("deg", "bound on roll, both ways", gt=0, le=80)] = 15.0
    yaw_error_max_deg: Annotated[float, meta("deg", "bound on yaw from its reference, both ways", gt=0, le=180)] = 3.0
    thrust_max_N: Annotated[float, meta("N", "bound on the thrust of one rotor; the smallest is 0", gt=0, le=1000)] = (
        20.0
    )
    torque_max_Nm: Annotated[float, meta("N m", "bound on the tilt torque of one servo, both ways", gt=0, le=100)] = 2.0
    accel_max_m_s2: Annotated[
        float, meta("m/s2", "bound on the acceleration that is read from the reference's velocity", gt=0, le=100)
    ] = 2.0
    yaw_accel_max_rad_s2: Annotated[float, meta("rad/s2", "the same of its yaw rate", gt=0, le=100)] = 2.0


class Predictive(PredictiveBounds, frozen=True):
    """Horizon and bounds of the model predictive law."""

    steps: Annotated[int, meta("-", "steps of the horizon", ge=2, le=40)] = 10
    step_s: Annotated[float, meta("s", "one step of the horizon", gt=0, le=1)] = 0.048
    iterations: Annotated[int, meta("-", "iterations in each control period", ge=1, le=50)] = 5
    input_penalty: Annotated[
        float, meta("-", "ADMM's penalty on inputs, as a fraction of their weights", gt=0, le=1e3)
    ] = 1.0
    state_penalty: Annotated[float, meta("1/rad2", "ADMM's penalty on roll and yaw", gt=0, le=1e6)] = 3000.0
    residual_max: Annotated[
        float,
        meta(
            "-", "without a solution this near to the bounds, as a fraction of them, the law falls back", gt=0, le=1e6
        ),
    ] = 1.0


class NonlinearPredictive(PredictiveBounds, frozen=True):
    """Horizon and bounds of the nonlinear model predictive law."""

    steps: Annotated[int, meta("-", "steps of the horizon", ge=2, le=60)] = 20
    step_s: Annotated[float, meta("s", "one step of the horizon", gt=0, le=0.1)] = 0.024
    slack_weight: Annotated[
        float, meta("1/rad2", "weight of roll and yaw beyond their bounds, squared, in a control period", gt=0, le=1e6)
    ] = 10000.0
    gap_max: Annotated[
        float,
        meta(
            "-",
            "without a trajectory whose steps join this closely, in the unit of each state, the law falls back",
            gt=0,
            le=1e6,
        ),
    ] = 20.0


class SampledPredictive(PredictiveBounds, frozen=True):
    """Rollouts, noise and bounds of the sampling-based predictive law."""

    rollouts: Annotated[int, meta("-", "rollouts in each control period", ge=16, le=4_194_304)] = 1024
    engine: Annotated[
        Literal["lanes", "gpu"], note("what computes them: `lanes` of this processor, or the `gpu`; with equal bits")
    ] = "lanes"
    threads: Annotated[
        int, meta("-", "threads of the engine `lanes`, at most the cores of the board's process", ge=1, le=256)
    ] = 1
    steps: Annotated[int, meta("-", "steps of the horizon", ge=2, le=100)] = 16
    step_s: Annotated[float, meta("s", "one step of the horizon", gt=0, le=0.1)] = 0.048
    knots: Annotated[
        int, meta("-", "points of the plan in the horizon, with straight lines between them", ge=2, le=16)
    ] = 5
    thrust_std_N: Annotated[float, meta("N", "noise of one rotor's thrust at a knot", ge=0, le=100)] = 0.2
    torque_std_Nm: Annotated[float, meta("N m", "noise of one servo's torque at a knot", ge=0, le=10)] = 0.005
    temperature: Annotated[
        float, meta("-", "cost at which a weight falls to 1/e, as a fraction of the costs' spread", gt=0, le=100)
    ] = 0.1
    roll_penalty: Annotated[float, meta("1/rad2", "cost of roll beyond its bound, squared", ge=0, le=1e8)] = 1e5
    yaw_penalty: Annotated[float, meta("1/rad2", "the same of yaw", ge=0, le=1e8)] = 3e4
    effective_min: Annotated[
        float, meta("-", "with fewer effective samples, (sum w)^2 / sum w^2, the law falls back", ge=1, le=1e6)
    ] = 1.2

    def __post_init__(self) -> None:
        if self.knots > self.steps:
            raise ValueError(f"knots: expected at most {self.steps}, the number of steps, not {self.knots}")


class Control(Config, frozen=True):
    """The control law and its design."""

    law: Annotated[
        Literal["dlqr", "dlqr-heading", "mpc", "nmpc", "mppi"],
        note(
            "discrete LQR with integral action: `dlqr` is the paper's, for yaw near 0, `dlqr-heading` flies any "
            "heading; `mpc`: linear model predictive control with bounds, for yaw near 0; "
            "`nmpc`: nonlinear model predictive control, any heading, mil and sil; "
            "`mppi`: sampling-based predictive control, for yaw near 0, mil and sil (docs/predictive-control.md)"
        ),
    ] = "dlqr"
    mpc: Annotated[Predictive, note("horizon and bounds of the law `mpc`")] = Predictive()
    nmpc: Annotated[NonlinearPredictive, note("horizon and bounds of the law `nmpc`")] = NonlinearPredictive()
    mppi: Annotated[SampledPredictive, note("rollouts, noise and bounds of the law `mppi`")] = SampledPredictive()
    law_file: Annotated[
        str,
        note(
            "Python file with your own law, which is executed, relative to the scenario file; empty for `law`; "
            "`--law` overrides"
        ),
    ] = ""
    weights: Annotated[str, note("weight set in the vehicle's `params.toml`")] = "published"
    period_s: Annotated[float, meta("s", "control period of the board", gt=0, le=1)] = 0.012

    @property
    def predictive(self) -> bool:
        """Whether the law `mpc` flies."""
        return self.law == "mpc" and not self.law_file

    @property
    def sampled(self) -> bool:
        """Whether the law `mppi` flies."""
        return self.law == "mppi" and not self.law_file

    @property
    def host_only(self) -> bool:
        """Whether a host law flies: an object of `control.host_law`, which does not become firmware."""
        return self.law in HOST_LAWS and not self.law_file


class Board(Config, frozen=True):
    """Behaviour of the board when sensors or references are missing."""

    sensor_hold_s: Annotated[
        float, meta("s", "without sensors, hold the last command this long, then send the safe command", ge=0, le=10)
    ] = 0.06
    reference_timeout_s: Annotated[
        float, meta("s", "report missing references after this time; the last reference is held", gt=0, le=60)
    ] = 0.5
    safe_thrust_ratio: Annotated[
        float, meta("-", "safe command: this fraction of the hover thrust, no tilt torque", ge=0, le=1)
    ] = 0.9


class Fault(Config, frozen=True):
    """A fault injected into the emulated board."""

    at_s: Annotated[float, meta("s", "simulated time of the fault", ge=0, le=86400)]
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
            "in lockstep, delay the board's messages by the execution time of its instructions; otherwise that "
            "used only if it is longer than the control period"
        ),
    ] = False
    faults: Annotated[tuple[Fault, ...], note("injected faults")] = ()


class InnerLoops(Config, frozen=True):
    """The inner loops of the onboard computer."""

    law_file: Annotated[
        str,
        note(
            "Python file with your own inner loops, which is executed, relative to the scenario file; empty for the "
            "built-in ones; `--law` overrides"
        ),
    ] = ""


class Computer(Config, frozen=True):
    """The slow onboard computer."""

    period_s: Annotated[float, meta("s", "control period", ge=0.01, le=0.2)] = 0.05
    scheduler: Annotated[
        Literal["preemptive", "cooperative"],
        note("`preemptive`: planning gets all time that the other tasks leave; `cooperative`: a slice each period"),
    ] = "preemptive"
    slice_s: Annotated[float, meta("s", "the cooperative scheduler's slice for planning", gt=0, le=0.2)] = 0.010
    piece_s: Annotated[float, meta("s", "rungs mil and sil: execution time of one piece of planning", ge=0, le=1)] = (
        6e-5
    )
    routine_s: Annotated[
        float, meta("s", "rungs mil and sil: execution time of all other tasks in a control period", ge=0, le=0.2)
    ] = 6e-4

    @property
    def pieces_each_period(self) -> int | None:
        """Pieces of planning done in a control period; None: no limit."""
        if self.piece_s == 0.0:
            return None
        idle_s = self.period_s - self.routine_s
        time_s = idle_s if self.scheduler == "preemptive" else min(self.slice_s, idle_s)
        return max(1, math.floor(time_s / self.piece_s + 1e-9))

    @property
    def piece_ns(self) -> int:
        """Execution time of one piece where the other tasks take no time: as many then fill a period, or a slice."""
        whole_s = self.period_s if self.scheduler == "preemptive" else self.slice_s
        pieces = self.pieces_each_period
        return 0 if pieces is None else math.ceil(whole_s * NS / pieces)


class Processor(Config, frozen=True):
    """The emulated processor of rung `pil`."""

    shift: Annotated[
        int, meta("-", "an instruction takes 2^shift ns: 5 is 31.25 million a second, 3 is 125 million", ge=0, le=10)
    ] = 5
