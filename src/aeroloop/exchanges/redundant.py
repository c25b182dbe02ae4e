"""Several boards on links of their own: an exchange for each, the selector of the command, and what they are aligned
with.

The plant forwards the boards' integrators (`protocols/crossing.py`), since each has one link. A board that fails,
disconnects or is killed does not end the flight while another has a command, and in lockstep time does not wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import BOARDS, INSTANT, Switch, Switched
from aeroloop.core.redundancy import (
    BY_VOTE,
    MOST_BOARDS,
    PER_BOARD,
    Health,
    Redundancy,
    Verdict,
    board_name,
    stream_name,
)
from aeroloop.core.signals import NS, Event
from aeroloop.exchanges.board_faults import CHANGED, FaultyOutput, encoded
from aeroloop.exchanges.board_request import BoardRequest, Publish, RefusedError, Settings
from aeroloop.exchanges.wire import Wire
from aeroloop.protocols.board import Actuators, FromBoard, Heartbeat, Integrators, Request, Start
from aeroloop.protocols.crossing import CrossingPlantEnd, memory_hash
from aeroloop.protocols.interface import Interface, redundant
from aeroloop.sim.exchange import NEVER_NS, Row, Stopped
from aeroloop.sim.selector import Occurrence, Report, Selector

ALL_GONE = "every board of this flight has disconnected"
MOST_BYTES = 1024
"""A board that sends more in a control period babbles: its messages are below 500."""
_OCCURRED = {
    "selected": Event.BOARD_SELECTED,
    "out": Event.BOARD_OUT,
    "in": Event.BOARD_IN,
}
_ALARMS = {
    "disagree": (Event.BOARDS_DISAGREE, 1.0),
    "agree": (Event.BOARDS_DISAGREE, 0.0),
    "none": (Event.NO_BOARD, 1.0),
    "some": (Event.NO_BOARD, 0.0),
}


class Flown(Protocol):
    """The part of a vehicle that several boards use."""

    t_ns: int
    ended: str

    def measured(self) -> Row | None: ...
    def log_event(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class GroupSettings:
    redundancy: Redundancy
    board: Settings
    integrators: int
    elements: tuple[str, ...]  # names of the command's elements
    seed: int


class BoardGroup:
    """The boards of one aircraft, and who of them flies."""

    def __init__(
        self, vehicle: Flown, settings: GroupSettings, wires: Sequence[Wire], publish: Mapping[str, Publish]
    ) -> None:
        self._vehicle, self.settings, self._publish = vehicle, settings, publish
        redundancy, period_ns = settings.redundancy, settings.board.period_ns
        self._selector = Selector(redundancy, period_ns, settings.board.first_command)
        self.table: Interface = redundant(settings.integrators)
        self.news = True  # whether a board has sent a command, or failed, since the selector looked
        self._due_ns = 0
        self._sampled_ns = -1
        self._samples: list[Row | None] = []
        self.exchanges = [
            RedundantBoard(vehicle, wire, self, number, _rows_of(publish, number)) for number, wire in enumerate(wires)
        ]

    @property
    def deadline_ns(self) -> int:
        """When the selector must look even if nothing has come."""
        if self.news:
            t_ns = self._vehicle.t_ns
            self._due_ns = self._selector.deadline_ns(t_ns, [board.report(t_ns) for board in self.exchanges])
        return self._due_ns

    def select(self, commands: Sequence[Row | None]) -> Row | None:
        """The command that flies from now on; None: the last one. The selector of `sim.loop.Craft`."""
        t_ns = self._vehicle.t_ns
        if not self.news and t_ns < self._due_ns:
            return None
        reports = [board.report(t_ns) for board in self.exchanges]
        decision = self._selector.decide(t_ns, reports)
        self.news, self._due_ns = False, self._selector.deadline_ns(t_ns, reports)
        if decision is None:
            return None
        for occurred in decision.occurred:
            self._log(occurred)
        if decision.command is not None:
            self._publish["command"](t_ns / NS, *decision.command)
        self._note(decision.reason, decision.since_ns, decision.verdicts, decision.spread, decision.held)
        if decision.command is None and all(board.gone for board in self.exchanges):
            raise LinkError(ALL_GONE)
        return decision.command

    def _log(self, occurred: Occurrence) -> None:
        if occurred.kind in _ALARMS:
            self._vehicle.log_event(*_ALARMS[occurred.kind])
        else:
            self._vehicle.log_event(_OCCURRED[occurred.kind], occurred.board + 1)

    def _note(self, reason: Verdict, since_ns: int, verdicts: Sequence[Verdict], spread: float, held: int) -> None:
        shown = (*verdicts, *(-1,) * (MOST_BOARDS - len(verdicts)))
        row = (self._selector.active, reason, since_ns / NS, *shown, spread, held)
        self._last = row
        self._publish["redundancy"](self._vehicle.t_ns / NS, *row)

    def finish(self) -> None:
        """How long the last command was held at the end of the flight."""
        held = self._selector.held(self._vehicle.t_ns)
        if held > 1:
            self._publish["redundancy"](self._vehicle.t_ns / NS, *self._last[:-1], held)

    def sensors(self, number: int) -> Row | None:
        """What one board is sent: a sample of all of them at each time, so that a board that does not ask changes no
        other's noise."""
        if self._vehicle.t_ns != self._sampled_ns:
            own = self.settings.redundancy.sensors == "own"
            first = self._vehicle.measured()
            count = self.settings.redundancy.boards - 1
            self._samples = [first, *(self._vehicle.measured() if own else first for _ in range(count))]
            self._sampled_ns = self._vehicle.t_ns
        return self._samples[number]

    def active(self, number: int) -> bool:
        return self._selector.active in (number, BY_VOTE)

    def integrators_for(self, number: int) -> Row | None:
        """What a board computes its next command with; None: its own."""
        if not self.settings.redundancy.align or self.exchanges[number].unaligned:
            return None
        known = {n: board.integrators for n, board in enumerate(self.exchanges) if board.aligns}
        if self._selector.active != BY_VOTE:
            return None if self._selector.active == number else known.get(self._selector.active)
        rows = list(known.values())
        return tuple(median(values) for values in zip(*rows, strict=True)) if rows else None

    def switch_link(self, switch: Switch) -> Switched:
        """Of one board's link, or of all."""
        numbers = [BOARDS.index(switch.channel)] if switch.channel else range(len(self.exchanges))
        switched = Switched()
        for number in numbers:
            switched = self.exchanges[number].switch_own(switch)
        return switched._replace(channel=BOARDS.index(switch.channel) + 1 if switch.channel else 0)

    def switch_board(self, switch: Switch) -> Switched:
        board = self.exchanges[BOARDS.index(switch.target)]
        elements = self.settings.elements
        element = elements.index(switch.channel) if switch.channel else 0
        board.fail(switch, element)
        return Switched(element, switch.values if switch.on else ())


class RedundantBoard(BoardRequest):
    """One of several boards."""

    boards_fail = True

    def __init__(
        self, vehicle: Flown, wire: Wire, group: BoardGroup, number: int, publish: Mapping[str, Publish]
    ) -> None:
        own = group.settings.board
        super().__init__(vehicle, wire, own, publish)
        self._group, self._number = group, number
        self._crossing = CrossingPlantEnd(own.bounds, self._suspect, own.first_command, group.settings.integrators)
        self.protocol = self._crossing
        self._output = FaultyOutput(group.settings.seed * MOST_BOARDS + number)
        self._wait_ns = round(group.settings.redundancy.wait_s * NS)
        self.gone = self.unaligned = self._dead = False
        self._sensor_bias_m = 0.0
        self._count = self._command_ns = self._bytes = 0
        self._implausible = self._babbles = False
        self._beat: Heartbeat | None = None
        self._beat_ns = self._late_ns = 0
        self._base_ns: int | None = None  # time of its cycle 0, by its first heartbeat
        self._stands = False  # its cycle does not advance
        self.integrators: Row = ()
        self._integrators_ns = -NEVER_NS
        self._given = 0  # hash of what it was given to compute with; 0: its own

    def report(self, t_ns: int) -> Report:
        beat = self._beat
        aligned = not self._given or (beat is not None and beat.memory == self._given)
        return Report(self.command, self._command_ns, self._count, self._fault(t_ns), aligned)

    def _fault(self, t_ns: int) -> Verdict:
        period_ns = self._settings.period_ns
        if self.gone:
            return Verdict.DISCONNECTED
        if self._babbles:
            return Verdict.BABBLING
        if self._implausible:
            return Verdict.IMPLAUSIBLE
        if self._count:
            if self._beat is None or self._stands or t_ns - self._beat_ns > 2 * period_ns + self._wait_ns:
                return Verdict.MISSING if t_ns - self._command_ns > period_ns + self._wait_ns else Verdict.NO_HEARTBEAT
            if self._late_ns > period_ns + self._wait_ns:
                return Verdict.LATE
            if self._beat.health != Health.GOOD:
                return Verdict.UNHEALTHY
        return Verdict.VALID

    @property
    def aligns(self) -> bool:
        """Whether its integrators are those of the last control period, and of a board in good health."""
        t_ns = self._vehicle.t_ns
        fresh = t_ns - self._integrators_ns <= self._settings.period_ns + self._wait_ns
        return fresh and not self.unaligned and self._fault(t_ns) is Verdict.VALID

    def next_ns(self) -> int:
        own_ns = NEVER_NS if self.gone or self._dead else super().next_ns()
        return min(own_ns, self._group.deadline_ns) if self._number == 0 else own_ns

    def fileno(self) -> int:
        return -1 if self.gone else super().fileno()

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        try:
            super().await_ready(timeout_s, stopped)
        except LinkError as error:
            raise LinkError(f"{board_name(self._number)}: {error}") from None

    def serve(self) -> None:
        if self.gone:
            return
        try:
            super().serve()
        except RefusedError as error:
            raise LinkError(f"{board_name(self._number)}: {error}") from None
        except LinkError:
            self.gone = self._group.news = True

    def settle(self, stopped: Stopped) -> None:
        if self.gone or self._dead:
            return
        try:
            super().settle(stopped)
        except LinkError:
            self.gone = self._group.news = True

    def finish(self) -> None:
        super().finish()
        if self._number == 0:
            self._group.finish()

    def switch(self, switch: Switch) -> Switched:
        return self._group.switch_link(switch)

    def switch_own(self, switch: Switch) -> Switched:
        return super().switch(switch)

    def switch_board(self, switch: Switch) -> Switched:
        return self._group.switch_board(switch)

    def fail(self, switch: Switch, element: int) -> None:
        """Switch a fault of this board."""
        kind, on, value = switch.kind, switch.on, switch.values[0]
        if kind in CHANGED:
            self._output.switch(kind, on=on, element=element, value=value)
        elif kind == "sensor_bias":
            self._sensor_bias_m = value if on else 0.0
        elif kind == "unaligned":
            self.unaligned = on
        elif kind == "dead":
            if not on:
                raise ConfigError(f"{switch.target}: a board that has stopped cannot be switched on again")
            self._dead = True
            if self._barrier is not None:
                self._barrier.drop()
        elif self._barrier is None:
            raise ConfigError(f"{switch.target}: {kind} can be switched in lockstep only")
        elif on or kind not in INSTANT:
            self._barrier.fail(encoded(kind, on=on, value=value))

    def _received(self) -> bytes:
        chunk = super()._received()
        if self._dead:
            return b""
        chunk = self._output.changed(chunk)
        self._bytes += len(chunk)
        if self._bytes > MOST_BYTES:
            self._babbles = self._group.news = True
        return chunk

    def _silent(self) -> None:
        """A silent board is missing, which the selector sees."""

    def _suspect(self, index: int) -> None:
        super()._suspect(index)
        self._implausible = self._group.news = True

    def _take(self, message: FromBoard, read_ns: int) -> None:
        t_ns = self._vehicle.t_ns
        match message:
            case Heartbeat():
                self._beats(message, t_ns)
                return
            case Integrators(_, values):
                self.integrators, self._integrators_ns = values, t_ns
                return
            case Request():
                self._babbles, self._bytes = self._bytes > MOST_BYTES, 0
            case Actuators():
                self._count, self._command_ns, self._implausible = self._count + 1, t_ns, False
                self._group.news = True
        super()._take(message, read_ns)

    def _beats(self, beat: Heartbeat, t_ns: int) -> None:
        since_ns = t_ns - beat.cycle * self._settings.period_ns
        self._base_ns = since_ns if self._base_ns is None else min(self._base_ns, since_ns)
        self._late_ns = since_ns - self._base_ns
        self._stands = self._beat is not None and self._beat.cycle == beat.cycle
        self._beat, self._beat_ns = beat, t_ns

    def _check_start(self, start: Start) -> None:
        claim = start.claim
        if claim is not None and self._presence.is_newer(claim, self._vehicle.t_ns):
            self._base_ns = self._beat = None
        super()._check_start(start)

    def _interface(self) -> Interface:
        return self._group.table

    def _sensed(self) -> Row | None:
        sensors = self._group.sensors(self._number)
        if sensors is None or not self._sensor_bias_m:
            return sensors
        return sensors[0] + self._sensor_bias_m, *sensors[1:]

    def _before_answer(self) -> bytes:
        values = self._group.integrators_for(self._number)
        if self._group.settings.integrators and values is None:
            self._given, shown = 0, (0.0,) * self._group.settings.integrators
        else:
            shown = values or ()
            self._given = memory_hash(shown)
        if self.unaligned:
            return b""
        cycle = self._vehicle.t_ns // self._settings.period_ns
        return self._crossing.align(cycle, shown, active=self._group.active(self._number), take=values is not None)


def _rows_of(publish: Mapping[str, Publish], number: int) -> dict[str, Publish]:
    """The rows of one board, under the names that a single one has."""
    names = {name: stream_name(name, number) for name in (*PER_BOARD, "cpu", "task")}
    return {name: publish[its_own] for name, its_own in names.items() if its_own in publish}
