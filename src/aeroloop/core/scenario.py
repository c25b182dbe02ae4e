"""A scenario: vehicle + world + board + links + reference + checks, as TOML turned into frozen structs.

Here is what every scenario has, and the tilt-rotor's tables; `families/` adds those of the others.
`docs/scenario.md` is generated from these types.
"""

from __future__ import annotations

import re
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS

Rung = Literal["mil", "sil", "pil", "hil"]
Family = Literal["board", "mavlink", "wing"]
"""What plant and controller speak: the board's frames, or MAVLink HIL."""
MEMORY = "memory://"
"""The link of a controller in the plant's own process."""
SPEED = re.compile(r"^(\d+(?:\.\d+)?)x$")


class Vehicle(Config, frozen=True):
    """Which aircraft flies."""

    kind: Annotated[Literal["tiltrotor"], note("family of aircraft")] = "tiltrotor"
    parameters: Annotated[str, note("parameter set in the vehicle's `params.toml`")] = "cad"


class World(Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-5, le=0.02)] = 0.004
    start_pos_W: Annotated[
        Vec3 | None, meta("m", "where the flight starts, at equilibrium; by default on the reference")
    ] = None
    start: Annotated[
        Literal["rest", "moving"],
        note("`rest`: hovering; `moving`: with the reference's velocity, so that no step upsets the first seconds"),
    ] = "rest"
    start_yaw_rad: Annotated[float, meta("rad", "heading at the start", ge=-3.2, le=3.2)] = 0.0
    bound_m: Annotated[
        float,
        meta("m", "farther than this from the origin, or upside down, the flight counts as diverged and ends", gt=0),
    ] = 200.0


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


class Impairment(Config, frozen=True):
    """Impairment of a link in one direction; zero is none."""

    delay_s: Annotated[float, meta("s", "constant delay", ge=0, le=10)] = 0.0
    jitter_s: Annotated[float, meta("s", "extra delay, uniform from zero to this; order is kept", ge=0, le=10)] = 0.0
    loss: Annotated[float, meta("-", "probability that a frame is lost", ge=0, le=1)] = 0.0
    corrupt: Annotated[float, meta("-", "probability that a byte is corrupted", ge=0, le=1)] = 0.0
    duplicate: Annotated[float, meta("-", "probability that a frame arrives twice", ge=0, le=1)] = 0.0
    reorder: Annotated[float, meta("-", "probability that a frame is overtaken by the next one", ge=0, le=1)] = 0.0
    baud: Annotated[int, meta("Bd", "pace the bytes like a UART (10 bits a byte); 0 for no pacing", ge=0)] = 0

    @property
    def active(self) -> bool:
        return self != Impairment()


class Link(Config, frozen=True):
    """The link between plant and board."""

    url: Annotated[
        str,
        note(
            "`loopback://`, `pty:///path`, `serial:///dev/x?baud=n`, `udp://h:p` or `tcp://h:p`; `memory://`: in "
            "lockstep the controller in the plant's own process; empty for the rung's own: loopback for "
            "mil, TCP on a free port for sil, for pil loopback in lockstep and a pty in real time, "
            "for hil of multirotors `tcp://127.0.0.1:4560?listen`"
        ),
    ] = ""
    to_plant: Annotated[Impairment, note("impairment on the way from board to plant")] = Impairment()
    to_board: Annotated[Impairment, note("impairment on the way from plant to board")] = Impairment()
    silence_s: Annotated[
        float, meta("s", "a tilt-rotor's board silent for this long in real time has failed", gt=0, le=60)
    ] = 1.0
    start_timeout_s: Annotated[
        float, meta("s", "wall time in which the board must send its start message", gt=0, le=3600)
    ] = 15.0


class Sensors(Config, frozen=True):
    """White noise on the sixteen measured values, one seeded stream; all zero is ideal."""

    pos_std_m: Annotated[float, meta("m", "position", ge=0, le=10)] = 0.0
    angle_std_rad: Annotated[float, meta("rad", "roll, pitch and yaw", ge=0, le=1)] = 0.0
    tilt_std_rad: Annotated[float, meta("rad", "pod tilt", ge=0, le=1)] = 0.0
    vel_std_m_s: Annotated[float, meta("m/s", "velocity", ge=0, le=10)] = 0.0
    rate_std_rad_s: Annotated[float, meta("rad/s", "angle rates and tilt rates", ge=0, le=10)] = 0.0


class Actuators(Config, frozen=True):
    """Limits and lag of rotors and tilt servos."""

    thrust_max_N: Annotated[float, meta("N", "largest thrust of one rotor; the smallest is 0", gt=0, le=1000)] = 20.0
    torque_max_Nm: Annotated[float, meta("N m", "largest tilt torque of one servo, both ways", gt=0, le=100)] = 2.0
    lag_s: Annotated[float, meta("s", "first-order time constant of all four; 0 for none", ge=0, le=1)] = 0.0


class Spiral(Config, frozen=True, tag_field="kind", tag="spiral"):
    """The paper's spiral: `turns` circles of `radius_m` while climbing `height_m`, starting at `start_W`."""

    radius_m: Annotated[float, meta("m", "radius", gt=0, le=1e4)] = 5.0
    height_m: Annotated[float, meta("m", "climb over the whole path", ge=-1e4, le=1e4)] = 10.0
    turns: Annotated[float, meta("-", "number of circles", gt=0, le=1000)] = 3.0
    period_s: Annotated[float, meta("s", "time for all turns", gt=0, le=1e5)] = 60.0
    start_W: Annotated[Vec3, meta("m", "first point")] = (2.0, 0.0, 0.5)


class Hover(Config, frozen=True, tag_field="kind", tag="hover"):
    """Stay at one point."""

    pos_W: Annotated[Vec3, meta("m", "the point")] = (0.0, 0.0, 2.0)
    yaw_rad: Annotated[float, meta("rad", "heading", ge=-3.2, le=3.2)] = 0.0


class Circle(Config, frozen=True, tag_field="kind", tag="circle"):
    """A level circle, started on its easternmost point."""

    center_W: Annotated[Vec3, meta("m", "centre")] = (0.0, 0.0, 3.0)
    radius_m: Annotated[float, meta("m", "radius", gt=0, le=1e4)] = 3.0
    period_s: Annotated[float, meta("s", "time for one turn", gt=0, le=1e5)] = 20.0


class Lemniscate(Config, frozen=True, tag_field="kind", tag="lemniscate"):
    """A level figure of eight (Gerono), started at its crossing."""

    center_W: Annotated[Vec3, meta("m", "crossing point")] = (0.0, 0.0, 3.0)
    size_m: Annotated[float, meta("m", "half length; it is half as wide", gt=0, le=1e4)] = 4.0
    period_s: Annotated[float, meta("s", "time for one figure", gt=0, le=1e5)] = 30.0


class Waypoints(Config, frozen=True, tag_field="kind", tag="waypoints"):
    """Points from a CSV file (`t_s,x_m,y_m,z_m` and optionally `yaw_rad`), with a rest at each point."""

    file: Annotated[str, note("path of the CSV file, relative to the scenario file")]


Trajectory = Spiral | Hover | Circle | Lemniscate | Waypoints


class Ground(Config, frozen=True):
    """The source of the board's references."""

    source: Annotated[
        Literal["base-station", "joystick", "external"],
        note("sender on the reference link; `external`: a command in another terminal"),
    ] = "base-station"
    url: Annotated[str, note("the reference link, as for `link.url`")] = "loopback://"
    trajectory: Annotated[Trajectory, note("what the base station streams")] = Spiral()
    velocity_feedforward: Annotated[bool, note("send the path's velocity, not only its position")] = True
    joystick_device: Annotated[str, note("`/dev/input/event*`, or empty for the first stick found")] = ""
    joystick_map: Annotated[str, note("axis map file, or empty for the map that ships with Aeroloop")] = ""
    joystick_recording: Annotated[str, note("recorded event stream to fly instead of a joystick")] = ""
    impair: Annotated[Impairment, note("impairment on the way to the board")] = Impairment()


class Check(Config, frozen=True):
    """One pass/fail criterion: a metric of `summary.json` and its limit."""

    metric: Annotated[str, note("name of a metric in `summary.json`")]
    below: Annotated[float | None, meta("of the metric", "must be less than this")] = None
    above: Annotated[float | None, meta("of the metric", "must be more than this")] = None
    equals: Annotated[float | None, meta("of the metric", "must be exactly this")] = None

    def __post_init__(self) -> None:
        if sum(limit is not None for limit in (self.below, self.above, self.equals)) != 1:
            raise ValueError(f"check of {self.metric}: expected exactly one of below, above, equals")


class _AbstractMeta(msgspec.StructMeta, ABCMeta):
    """Of structs that only serve to be filled in: one that lacks a part cannot be made."""


class Scenario(Config, frozen=True, metaclass=_AbstractMeta):
    """What every flight has, whatever flies; the tables of an aircraft's own come with its kind."""

    FAMILY: ClassVar[Family]
    FILES: ClassVar[dict[str, str]]
    """Keys that name a file, and what a run's folder calls its copy."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", description="name of the scenario", extra={"unit": "-"})]
    summary: Annotated[str, note("one sentence for `aeroloop list`")] = ""
    duration_s: Annotated[float, meta("s", "simulated length of the flight", gt=0, le=86400)] = 60.0
    seed: Annotated[int, meta("-", "seed of every random stream", ge=0)] = 1
    loop: Annotated[Rung, note("rung of the ladder; `--loop` overrides it")] = "mil"
    pace: Annotated[str, note("`lockstep`, `real`, or a speed such as `4x`; `--pace` overrides it")] = "lockstep"
    link: Annotated[Link, note("link between plant and board")] = Link()
    busy_processes: Annotated[
        int, meta("-", "background load: number of processes that each keep a core busy", ge=0, le=64)
    ] = 0
    checks: Annotated[tuple[Check, ...], note("pass/fail criteria of the flight")] = ()

    def __post_init__(self) -> None:
        if self.pace not in ("lockstep", "real") and not (SPEED.match(self.pace) and self.speed > 0):
            raise ValueError(f"pace: expected lockstep, real or a speed such as 4x, not {self.pace!r}")

    @property
    def kind(self) -> str:
        """Where its family is found: a name in the table of families, or the path of a folder."""
        return str(value_at(self, "vehicle.kind"))

    @property
    def lockstep(self) -> bool:
        return self.pace == "lockstep"

    @property
    def speed(self) -> float:
        """Simulated seconds per wall second at a paced run."""
        match = SPEED.match(self.pace)
        return float(match.group(1)) if match else 1.0

    @property
    def controller(self) -> str:
        """Which of its family's controllers flies it."""
        return "law"

    @property
    def inline(self) -> bool:
        """Whether the controller runs in the plant's own process."""
        return self.link.url == MEMORY

    @property
    def aircraft(self) -> int:
        """How many fly."""
        return 1

    @property
    def end_ns(self) -> int:
        """When the flight ends, at the latest."""
        return round(self.duration_s * NS)

    @property
    @abstractmethod
    def flown_at_least_s(self) -> float:
        """What a flight that went to its end has flown; half a step less, so that rounding does not decide."""

    @property
    @abstractmethod
    def link_url(self) -> str:
        """The link between plant and board, the rung's own where none is named."""

    def files(self) -> dict[str, str]:
        """The files that it names, by key."""
        named = {key: value_at(self, key) for key in self.FILES}
        return {key: name for key, name in named.items() if name}

    def with_files(self, names: Mapping[str, str]) -> Self:
        """The same with other names for some of them."""
        changed = self
        for key, name in names.items():
            changed = with_value(changed, key, name)
        return changed

    def anchored(self, folder: Path) -> Self:
        """File names in a scenario are relative to it; absolute ones are found by every process."""
        return self.with_files({key: str(folder / name) for key, name in self.files().items()})


def value_at(table: Struct, key: str) -> Any:
    """What stands under a dotted key; None where this kind of table has no such key."""
    value: Any = table
    for part in key.split("."):
        value = getattr(value, part, None)
    return value


S = TypeVar("S", bound=Struct)


def with_value(table: S, key: str, value: Any) -> S:
    """A copy with another value under a dotted key."""
    first, _, rest = key.partition(".")
    return msgspec.structs.replace(table, **{first: with_value(getattr(table, first), rest, value) if rest else value})


class TiltrotorScenario(Scenario, frozen=True):
    """A flight of the tilt-rotor, flown by a board that speaks docs/board-protocol.md."""

    FAMILY = "board"
    FILES: ClassVar[dict[str, str]] = {
        "control.law_file": "law.py",
        "ground.trajectory.file": "waypoints.csv",
        "ground.joystick_map": "joystick.toml",
        "ground.joystick_recording": "sticks.txt",
    }

    vehicle: Annotated[Vehicle, note("which aircraft")] = Vehicle()
    world: Annotated[World, note("the simulated world")] = World()
    control: Annotated[Control, note("the control law")] = Control()
    board: Annotated[Board, note("behaviour of the board")] = Board()
    emulator: Annotated[Emulator, note("the emulated board, rung `pil`")] = Emulator()
    sensors: Annotated[Sensors, note("sensor noise")] = Sensors()
    actuators: Annotated[Actuators, note("limits of the actuators")] = Actuators()
    ground: Annotated[Ground, note("source of references")] = Ground()

    def __post_init__(self) -> None:
        Scenario.__post_init__(self)
        if round(self.control.period_s * NS) % round(self.world.step_s * NS):
            raise ValueError(
                f"control.period_s: expected a multiple of world.step_s ({self.world.step_s} s), "
                f"not {self.control.period_s}"
            )
        if abs(self.control.period_s * 1000 - round(self.control.period_s * 1000)) > 1e-9:
            raise ValueError(f"control.period_s: expected whole milliseconds, not {self.control.period_s}")
        if self.lockstep and self.loop == "hil":
            raise ValueError("pace: a physical board keeps its own time; fly hil with --pace real")
        if self.loop == "pil" and self.pace not in ("lockstep", "real"):
            raise ValueError(f"pace: the emulated board flies in lockstep or in real time, not at {self.pace}")
        if self.loop == "pil" and not self.lockstep and any(fault.kind == "hang" for fault in self.emulator.faults):
            raise ValueError("emulator.faults: hang can be injected in lockstep only; in real time use reset")
        if self.ground.impair.active and (self.loop == "hil" or (self.loop == "pil" and not self.lockstep)):
            raise ValueError("ground.impair: a board outside this host has its own reference line; use link.to_board")
        if self.lockstep and self.ground.source == "external":
            raise ValueError("ground.source: external needs --pace real, since lockstep waits for its own base station")
        if self.lockstep and self.ground.source == "joystick" and not self.ground.joystick_recording:
            raise ValueError("ground.source: a live joystick needs --pace real; in lockstep give joystick_recording")

    @property
    def flown_at_least_s(self) -> float:
        # The flight ends with the last whole control period.
        return round(self.duration_s - self.control.period_s - self.world.step_s / 2, 9)

    @property
    def link_url(self) -> str:
        """The link between plant and board, the rung's own where none is named."""
        if self.link.url:
            return self.link.url
        if self.loop == "hil":
            raise ConfigError(
                "link.url: hil needs the board's link, for example --link serial:///dev/ttyACM0?baud=921600"
            )
        if self.loop == "pil" and not self.lockstep:
            return "pty://"
        return "tcp://127.0.0.1:0" if self.loop == "sil" else "loopback://"
