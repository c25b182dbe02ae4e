"""The tables of a board with its own timer that requests sensors, and the checks before a flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol

from aeroloop.boards.config import Board, Control, Emulator, Fault
from aeroloop.controllers.routing import RoutedTables
from aeroloop.core.config import convert, note
from aeroloop.core.faults import BOARD, INSTANT
from aeroloop.core.frames import Vec3
from aeroloop.core.redundancy import Redundancy, process_name, streams_with
from aeroloop.core.scenario import Aircraft, Common, LinkEnds, Scenario, value_at
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.core.tables import MEMORY, offered
from aeroloop.ground.config import GroundStationSettings
from aeroloop.links.url import parse


class RequestTables(RoutedTables, frozen=True):
    """Tables of a flight whose board uses the protocol of docs/board-protocol.md."""

    FILES: ClassVar[Mapping[str, str]] = {
        "control.law_file": "law.py",
        "ground.trajectory.file": "waypoints.csv",
        "ground.joystick_map": "joystick.toml",
        "ground.joystick_recording": "sticks.txt",
    }

    control: Annotated[Control, note("the control law")] = Control()
    board: Annotated[Board, note("behaviour of the board")] = Board()
    emulator: Annotated[Emulator, note("the emulated board, rung `pil`")] = Emulator()
    ground: Annotated[GroundStationSettings, note("source of references")] = GroundStationSettings()
    redundancy: Annotated[
        Redundancy | None, note("two or three boards fly the aircraft (docs/redundancy.md); left out: one")
    ] = None

    def __post_init__(self) -> None:
        if abs(self.control.period_s * 1000 - round(self.control.period_s * 1000)) > 1e-9:
            raise ValueError(f"control.period_s: expected whole milliseconds, not {self.control.period_s}")

    @property
    def control_period_s(self) -> float:
        return self.control.period_s

    def flown_at_least_s(self, flight: Scenario) -> float:
        # The flight ends with the last whole control period.
        return round(flight.duration_s - self.control.period_s - flight.aircraft.step_s / 2, 9)

    @property
    def board_processes(self) -> tuple[str, ...]:
        numbers = self.redundancy.numbers if self.redundancy else range(1)
        return tuple(process_name(number) for number in numbers)

    @property
    def several_boards(self) -> bool:
        return True

    def with_own_streams(self, streams: tuple[Stream, ...]) -> tuple[Stream, ...]:
        return streams_with(streams, self.redundancy) if self.redundancy else streams

    def board_faults(self, flight: Common) -> tuple[str, ...]:
        if self.redundancy is not None:
            return ()  # each of several is a target of its own
        if flight.lockstep:
            return ("hang", "reset", "slow")
        return ("reset",) if flight.loop == "pil" else ()

    def notices(self, flight: Scenario, ends: LinkEnds, flight_id: str) -> list[str]:
        board = [f"flight {flight_id} waits for the board on {ends.link_server}"] if flight.loop == "hil" else []
        if self.ground.source != "external":
            return board
        return [
            *board,
            f"flight {flight_id} waits for references on {ends.reference_client}; in another terminal: "
            "aeroloop base-station, or: aeroloop joystick, or: aeroloop dash, for sticks on a page",
        ]


class Referenced(Aircraft, Protocol):
    """An aircraft whose board receives references."""

    @property
    def start_pos_W(self) -> Vec3 | None: ...
    @property
    def start_yaw_rad(self) -> float: ...


RequestScenario = Scenario[Referenced, RequestTables]


def injected(scenario: Scenario) -> tuple[Fault, ...]:
    """The faults of an emulated board: those planned with all others, and those of its own table, if it has one."""
    planned = (fault for fault in scenario.faults if fault.target == BOARD and fault.kind in INSTANT)
    common = (convert({"at_s": fault.from_s, "kind": fault.kind}, Fault, "faults") for fault in planned)
    return (*(value_at(scenario, "emulator.faults") or ()), *common)


def _several_lack(scenario: RequestScenario, redundancy: Redundancy) -> str:
    """Why several boards cannot fly; empty: they can."""
    if scenario.loop == "hil":
        return "redundancy: a physical board has one link in a flight; expected loop mil, sil or pil"
    control = scenario.controller.control
    if control.host_only:
        return f"redundancy: boards with the law {control.law} cannot be aligned; expected mpc, dlqr or dlqr-heading"
    if scenario.controller.emulator.faults:
        return "emulator.faults: several boards have their faults in [[faults]], with target board.1 and so on"
    link = parse(scenario.link.url, template=True) if scenario.link.url not in ("", MEMORY) else None
    if link is not None and (link.path or link.port):
        return f"link.url: {redundancy.boards} boards need a link each; expected loopback://, pty:// or a port 0"
    elements = len(offered(scenario.kind, "command_bounds").low)
    if len(redundancy.band) not in (1, elements):
        return f"redundancy.band: expected one number, or {elements}; not {len(redundancy.band)}"
    return ""


def needs(scenario: RequestScenario) -> str:
    """What does not match; empty: nothing."""
    control, ground = scenario.controller.control, scenario.controller.ground
    step_s = scenario.aircraft.step_s
    if round(control.period_s * NS) % round(step_s * NS):
        return f"control.period_s: expected a multiple of world.step_s ({step_s} s), not {control.period_s}"
    if control.host_only and scenario.loop in ("pil", "hil"):
        return (
            f"control.law: {control.law} needs the host's processor and flies on mil and sil, not on {scenario.loop}; "
            "expected mpc, dlqr or dlqr-heading for a board"
        )
    if scenario.lockstep and scenario.loop == "hil":
        return "pace: a physical board has its own clock; fly hil with --pace real"
    if scenario.loop == "pil" and scenario.pace not in ("lockstep", "real"):
        return f"pace: the emulated board flies in lockstep or in real time, not at {scenario.pace}"
    hangs = any(fault.kind == "hang" for fault in scenario.controller.emulator.faults)
    if scenario.loop == "pil" and not scenario.lockstep and hangs:
        return "emulator.faults: hang can be injected in lockstep only; in real time use reset"
    several = scenario.controller.redundancy
    if several is not None and (lacking := _several_lack(scenario, several)):
        return lacking
    if ground.impair.active and (scenario.loop == "hil" or (scenario.loop == "pil" and not scenario.lockstep)):
        return "ground.impair: an external board has its own reference link; use link.to_board"
    if scenario.lockstep and ground.source == "external":
        return "ground.source: external needs --pace real, since lockstep waits for its own base station"
    if scenario.lockstep and ground.source == "joystick" and not ground.joystick_recording:
        return "ground.source: a live joystick needs --pace real; in lockstep give joystick_recording"
    return ""
