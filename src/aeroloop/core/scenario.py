"""A scenario: vehicle + world + board + links + reference + checks, as TOML turned into frozen structs.

Here is what every scenario has; each of `families/` adds the tables of its own.
`docs/scenario.md` is generated from these types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from aeroloop.core.config import Config, meta, note
from aeroloop.core.signals import NS

Rung = Literal["mil", "sil", "pil", "hil"]
MEMORY = "memory://"
"""The link of a controller in the plant's own process."""
SPEED = re.compile(r"^(\d+(?:\.\d+)?)x$")


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
            "lockstep the controller, or on pil what drives the emulator, in the plant's own process; empty for the "
            "rung's own: loopback for mil, TCP on a free port for sil, for pil memory in lockstep and a pty in real "
            "time, for hil of multirotors `tcp://127.0.0.1:4560?listen`"
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


class Check(Config, frozen=True):
    """One pass/fail criterion: a metric of `summary.json` and its limit."""

    metric: Annotated[str, note("name of a metric in `summary.json`")]
    below: Annotated[float | None, meta("of the metric", "must be less than this")] = None
    above: Annotated[float | None, meta("of the metric", "must be more than this")] = None
    equals: Annotated[float | None, meta("of the metric", "must be exactly this")] = None

    def __post_init__(self) -> None:
        if sum(limit is not None for limit in (self.below, self.above, self.equals)) != 1:
            raise ValueError(f"check of {self.metric}: expected exactly one of below, above, equals")


class LinkEnds(Protocol):
    """The links of a flight that somebody outside may speak on."""

    @property
    def link_server(self) -> str: ...
    @property
    def reference_client(self) -> str: ...
    @property
    def vehicle_links(self) -> Sequence[tuple[str, str]]: ...


class Scenario(Config, frozen=True):
    """What every flight has, whatever flies; the tables of an aircraft's own come with its kind."""

    FAMILY: ClassVar[str]
    """Name of its family."""
    FILES: ClassVar[dict[str, str]]
    """Keys that name a file, and what a run's folder calls its copy."""
    KEEPS_ITS_OWN_TIME: ClassVar[bool] = False
    """Whether a controller on rung hil runs on its own clock, so that it cannot fly in lockstep."""
    TAKES_LAW: ClassVar[bool] = False
    """Whether it flies a control law from a file (`--law`)."""

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

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        """A file's table with what the family adds where the file is silent; ConfigError without the file's name."""
        return table

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
        return self.link_url == MEMORY

    @property
    def aircraft(self) -> int:
        """How many fly."""
        return 1

    @property
    def end_ns(self) -> int:
        """When the flight ends, at the latest."""
        return round(self.duration_s * NS)

    @property
    def flown_at_least_s(self) -> float:
        """What a flight that went to its end has flown; a little less, so that rounding does not decide."""
        return max(0.0, self.duration_s - 0.1)

    @property
    def link_url(self) -> str:
        """The link between plant and board, the rung's own where none is named."""
        return self.link.url or ("tcp://127.0.0.1:0" if self.loop == "sil" else "loopback://")

    def notices(self, ends: LinkEnds, flight_id: str) -> list[str]:
        """What somebody outside must know to take part, a sentence each."""
        return []

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
