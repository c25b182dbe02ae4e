"""The tables of a board whose sensors come from pose packets, and what must fit for it to fly."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from aeroloop.controllers.law import guided_tables
from aeroloop.controllers.law.guided_tables import GuidedTables, Sensed
from aeroloop.controllers.pose.parameters import NAMES
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Common, Scenario
from aeroloop.links.url import DEFAULT_BAUD
from aeroloop.protocols.pose import PoseFormat
from aeroloop.protocols.pose_sets import BITS_PER_BYTE, DEFAULT_SETS, line_load, set_types
from aeroloop.world.config import CommonWorld

Class = Literal["accelerometer", "gyro", "magnetometer", "barometer", "gnss"]
Packet = Literal["attitude", "position", "rates", "velocity", "force", "status"]
ROTORS = 4
"""Of a type-4 packet."""
MOST_LINE_BYTES = 512
"""What the emulated board takes of a line in one control period."""


class NoiseLevels(Config, frozen=True):
    """Standard deviations of the noise of soft sensors."""

    accelerometer_m_s2: Annotated[float, meta("m/s2", "of each axis", ge=0, le=100)] = 0.03
    gyro_rad_s: Annotated[float, meta("rad/s", "of each axis", ge=0, le=10)] = 0.003
    magnetometer_T: Annotated[float, meta("T", "of each axis; on the board only", ge=0, le=1e-3)] = 2e-7
    barometer_m: Annotated[float, meta("m", "on the board only", ge=0, le=1000)] = 0.1
    position_m: Annotated[float, meta("m", "of each axis of a fix", ge=0, le=1000)] = 0.3
    velocity_m_s: Annotated[float, meta("m/s", "of each axis of a fix", ge=0, le=100)] = 0.05


class ParameterChange(Config, frozen=True):
    """A parameter that the plant sends to the board in flight."""

    at_s: Annotated[float, meta("s", "simulated time", ge=0)]
    name: Annotated[str, note("name of the parameter (docs/pose-board.md)")]
    value: Annotated[float, meta("-", "new value")]


class PoseLine(Config, frozen=True):
    """The line of pose packets and the soft drivers on the board."""

    rate_hz: Annotated[float, meta("Hz", "sets of packets a second", gt=0, le=2000)] = 250.0
    baud: Annotated[int, meta("Bd", "speed of the line; ten bits a byte", ge=1200, le=20_000_000)] = DEFAULT_BAUD
    format: Annotated[
        Literal["paper", "extended"], note("`paper`: types 1 to 3; `extended` adds velocity, specific force and status")
    ] = "extended"
    board: Annotated[
        Literal["paper", "extended"], note("types that the board knows: a `paper` board cannot take `extended`")
    ] = "extended"
    set: Annotated[tuple[Packet, ...], note("packets of a set; empty for all of the format")] = ()
    position: Annotated[
        Literal["int32", "float32"], note("position in 1e-7 deg and mm, or in degrees and m as float32")
    ] = "int32"
    crc_init: Annotated[int, meta("-", "initial value of the CRC: 65535 Modbus, 0 ARC", ge=0, le=65535)] = 0xFFFF
    crc_reflected: Annotated[bool, note("CRC least significant bit first; false takes the printed constant")] = True
    crc_low_first: Annotated[bool, note("low byte of the CRC first")] = True
    motors: Annotated[Literal["pulses", "speeds"], note("type 4 back: pulses in us, or rotor speeds in rpm")] = "speeds"
    reconstruction: Annotated[
        Literal["exact", "paper"],
        note("`exact`, or `paper`: the accelerometer shows tilt only, which is wrong in flight"),
    ] = "exact"
    soft: Annotated[tuple[Class, ...], note("classes of sensors with the soft driver (SENS_SOFT)")] = (
        "accelerometer",
        "gyro",
        "magnetometer",
        "barometer",
        "gnss",
    )
    shadow: Annotated[bool, note("read and log the drivers that are not in use too")] = True
    stale_s: Annotated[float, meta("s", "time without a complete set until samples are flagged", gt=0, le=60)] = 0.1
    fail_s: Annotated[float, meta("s", "time without a complete set until the failsafe acts", gt=0, le=60)] = 0.5
    noise: Annotated[
        Literal["none", "board", "pc"],
        note("what adds noise to soft sensors: nothing, the board (SENS_SOFT_NOISE), the PC"),
    ] = "none"
    noise_std: Annotated[NoiseLevels, note("its standard deviations")] = NoiseLevels()
    silent_s: Annotated[
        tuple[tuple[float, float], ...], meta("s", "intervals in which no pose is sent, as [from, to]")
    ] = ()
    changes: Annotated[tuple[ParameterChange, ...], note("parameters that are changed in flight")] = ()

    @property
    def layout(self) -> PoseFormat:
        return PoseFormat(
            crc_init=self.crc_init,
            crc_reflected=self.crc_reflected,
            crc_low_first=self.crc_low_first,
            position=self.position,
            types=self.format,
            motors=self.motors,
        )

    @property
    def packets(self) -> tuple[str, ...]:
        """Names of the packets of a set."""
        return self.set or DEFAULT_SETS[self.format]

    @property
    def kinds(self) -> frozenset[int]:
        """Their types; ConfigError where the format has no such packet."""
        return set_types(self.packets, self.format)


class PoseTables(GuidedTables, frozen=True):
    """What a flight adds with a board that gets pose packets on a second line."""

    pose: Annotated[PoseLine, note("the line of pose packets, and the soft drivers on the board")] = PoseLine()

    def board_faults(self, flight: Common) -> tuple[str, ...]:
        """Its firmware's own: two lines are not counted for a baton."""
        return ("hang", "reset") if flight.loop == "pil" and flight.lockstep else ()

    def board_faults_by_hand(self, flight: Common) -> tuple[str, ...]:
        return ()


class Posed(Sensed, Protocol):
    """An aircraft with a set of sensors, in a world."""

    @property
    def world(self) -> CommonWorld: ...


PoseScenario = Scenario[Posed, PoseTables]


def needs(scenario: PoseScenario) -> str:
    """What does not fit; empty if all does."""
    pose, period_s = scenario.controller.pose, scenario.controller.control.period_s
    if scenario.controller.control.host_only:
        return "control.law: the pose board flies firmware; expected cascade, not nmpc"
    if pose.format == "extended" and pose.board == "paper":
        return "pose.format: the board knows the paper's types 1 to 4 only (pose.board); expected paper, not extended"
    try:
        kinds = pose.kinds
    except ConfigError as error:
        return str(error)
    load = line_load(kinds, pose.rate_hz, pose.baud, 1 / period_s)
    if load.refusal:
        return load.refusal
    if pose.fail_s < pose.stale_s:
        return f"pose.fail_s: expected at least pose.stale_s ({pose.stale_s:g} s), not {pose.fail_s:g}"
    if any(not 0 <= start < end for start, end in pose.silent_s):
        return "pose.silent_s: expected [from, to] with from before to"
    if scenario.loop == "pil" and pose.baud / BITS_PER_BYTE * period_s > MOST_LINE_BYTES:
        return (
            f"pose.baud: in a control period of {period_s:g} s the emulated board takes {MOST_LINE_BYTES} bytes of a "
            f"line; expected at most {MOST_LINE_BYTES * BITS_PER_BYTE / period_s:.0f} baud, not {pose.baud}"
        )
    if scenario.loop == "pil" and not scenario.lockstep:
        return "pace: the emulated pose board flies in lockstep; fly mil or sil in real time"
    if scenario.impaired:
        return "link: the pose board's first line takes no impairment; use pose.silent_s for the second"
    return _unknown_parameter(pose) or guided_tables.needs(scenario)


def _unknown_parameter(pose: PoseLine) -> str:
    for index, change in enumerate(pose.changes):
        if change.name not in NAMES:
            return f"pose.changes[{index}].name: unknown {change.name!r}, expected one of: {', '.join(NAMES)}"
    return ""
