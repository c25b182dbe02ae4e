"""Several boards of one aircraft: which of them flies, since when and why, and what the selector thinks of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nicegui import ui

from aeroloop.core.redundancy import BY_VOTE, MOST_BOARDS, REDUNDANCY, VERDICT_WORDS, Verdict, board_name
from aeroloop.dashboard.layout import card, chip, every, set_chip
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_flight import WatchedFlight

PERIOD_S = 0.25
WAITS = (Verdict.STARTING, Verdict.RETURNING)
CAN_FLY = (Verdict.VALID, Verdict.RETURNING)


class BoardsView(NamedTuple):
    """The words of the panel."""

    flies: str
    why: str
    boards: tuple[tuple[str, Severity, str], ...]  # name, severity, verdict
    spread: str


def boards_view(row: Mapping[str, float]) -> BoardsView:
    """From the newest row of the stream `redundancy`."""
    verdicts = [Verdict(int(row[f"board_{n + 1}"])) for n in range(MOST_BOARDS) if row[f"board_{n + 1}"] >= 0]
    active, reason = int(row["active"]), Verdict(int(row["reason"]))
    since = f"since {row['since_s']:.2f} s" if row["since_s"] else "since the start"
    why = f"{since}, because the one before {VERDICT_WORDS[reason]}" if reason and row["since_s"] else since
    if row["held_cycles"]:
        why += f"; the last command is held for {row['held_cycles']:.0f} control periods"
    boards = tuple(
        (board_name(number), _severity(verdict), _words(verdict, number, active))
        for number, verdict in enumerate(verdicts)
    )
    return BoardsView(_who(active, verdicts), why, boards, f"{100 * row['spread']:.0f} % of the band")


def _who(active: int, verdicts: Sequence[Verdict]) -> str:
    if not any(verdict in CAN_FLY for verdict in verdicts):
        return "no board flies"
    if active == BY_VOTE:
        return f"vote of {sum(verdict is Verdict.VALID for verdict in verdicts)} boards"
    return f"{board_name(active)} flies"


def _words(verdict: Verdict, number: int, active: int) -> str:
    if verdict is not Verdict.VALID:
        return VERDICT_WORDS[verdict]
    if active == BY_VOTE:
        return "votes"
    return "flies" if number == active else "stands by"


def _severity(verdict: Verdict) -> Severity:
    if verdict is Verdict.VALID:
        return "ok"
    return "warn" if verdict in WAITS else "bad"


class BoardsPanel:
    """Hidden in a flight with one board."""

    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        with card().props('data-testid="boards"') as self._card:
            self._flies = ui.label().classes("text-lg").props('data-testid="board-flies"')
            self._why = ui.label().classes("al-soft").props('data-testid="board-why"')
            self._rows = []
            for number in range(MOST_BOARDS):
                with ui.row().classes("items-center gap-2") as row:
                    name = ui.label(board_name(number))
                    self._rows.append((row, name, chip(testid=f"board-{number + 1}")))
            self._spread = ui.label().classes("al-soft").props('data-testid="board-spread"')
        self._show()
        every(PERIOD_S, self._show)

    def _show(self) -> None:
        row = self._watched.store.latest(REDUNDANCY.name, 0)
        self._card.set_visibility(row is not None)
        if row is None:
            return
        view = boards_view(row)
        self._flies.set_text(view.flies)
        self._why.set_text(view.why)
        self._spread.set_text(f"commands differ by {view.spread}")
        for number, (line, _, state) in enumerate(self._rows):
            line.set_visibility(number < len(view.boards))
            if number < len(view.boards):
                _, severity, words = view.boards[number]
                set_chip(state, words, severity)
