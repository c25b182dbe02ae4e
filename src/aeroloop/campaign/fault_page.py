"""The report of a fault campaign: silent failures, the matrix of faults and phases, pairs, cut sets, latencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from aeroloop.analysis.section import Block, Column, Facts, Note, Section, Table, Text, code
from aeroloop.campaign.fault_matrix import Cell, FaultFlight, FaultResults, cells_by
from aeroloop.campaign.fault_outcome import Result
from aeroloop.flight.results import REPORT

LATENCIES = ("noticed_s", "acted_s", "recovered_s")
EFFECTS = (
    ("lost without being noticed", lambda flight: flight.silent),
    ("lost", lambda flight: flight.result is Result.LOST),
    ("failed check", lambda flight: flight.result is Result.FAILED_CHECK),
)
"""Effects of the cut sets, the worst first."""
MOST_PAIR_COLUMNS = 40


def sections(results: FaultResults, folder: Path) -> Iterator[Section]:
    yield Section("silent", "Silent failures", list(_silent(results)))
    yield Section("outcomes", "Outcomes", list(_outcomes(results)))
    yield Section(
        "matrix", f"Faults by {'phase of flight' if len(results.phases) > 1 else 'time'}", list(_matrix(results))
    )
    yield Section("pairs", "Pairs of faults", list(_pairs(results)))
    yield Section("cut-sets", "Cut sets", list(_cut_sets(results)))
    yield Section("latencies", "Latencies by fault", list(_latencies(results)))
    yield Section("cell-flights", "Worst flight of each cell", list(_worst(results, folder)))


def summary_words(results: FaultResults) -> str:
    """One sentence for the verdict and the terminal."""
    counts = ", ".join(f"{results.count(each)} {each.words}" for each in reversed(Result))
    alarmed, free = results.false_alarms
    return (
        f"{len(results.flights)} flights with faults: {counts}. {len(results.silent)} silent failures. "
        f"False alarms in {alarmed} of {free} fault-free flights."
    )


def _outcomes(results: FaultResults) -> Iterator[Block]:
    total = max(1, len(results.flights))
    rows = [
        (_mark(each, each.words), str(count), f"{100 * count / total:.1f} %", _MEANINGS[each])
        for each in reversed(Result)
        for count in (results.count(each),)
    ]
    yield Table([Column("outcome", "name"), Column("flights"), Column("share"), Column("meaning", "text")], rows)
    alarmed, free = results.false_alarms
    yield Facts([f"{len(results.silent)} silent failures", f"false alarms in {alarmed} of {free} fault-free flights"])


_MEANINGS = {
    Result.LOST: "ended early, hit the ground or an object, turned upside down, or went more than 100 m astray",
    Result.FAILED_CHECK: "a check of the scenario failed, and nothing reacted",
    Result.FAILSAFE_SAFE: "the controller reacted, and the aircraft was not lost",
    Result.DEGRADED: "all checks passed; more than 0.1 m or 2 deg from the fault-free flight",
    Result.UNAFFECTED: "all checks passed, nearer to the fault-free flight",
}


def _silent(results: FaultResults) -> Iterator[Block]:
    if not results.silent:
        yield Text("None: whatever was lost had been noticed before.")
        return
    yield Text("Lost, and nothing noticed the fault before.")
    cells = cells_by(results.silent, lambda flight: " and ".join(flight.faults))
    rows = [
        (
            fault,
            str(len(cell.flights)),
            ", ".join(dict.fromkeys(flight.phase for flight in cell.flights)),
            _span([flight.number("lost_s") for flight in cell.flights]),
            _link(cell.worst),
        )
        for fault, cell in sorted(cells.items(), key=lambda item: -len(item[1].flights))
    ]
    columns = [Column("fault", "name"), Column("flights"), Column("phases", "text"), Column("lost after")]
    yield Table([*columns, Column("worst flight", "text")], rows)


def _matrix(results: FaultResults) -> Iterator[Block]:
    if not results.singles:
        return
    yield _legend()
    if len(results.phases) > 1:
        yield _table(results.by_phase, results.phases, _cell)
        yield Note(
            "A cell shows the worst outcome of its flights, how many had it, and after which time the fault was "
            "noticed: median and longest. It opens its worst flight."
        )
        return
    times = sorted({flight.at for flight in results.singles}, key=lambda text: float(text.removesuffix(" s")))
    yield _table(results.by_time, times, _timed_cell)
    yield Note(
        f"All in phase {', '.join(results.phases)}. A cell has the colour of its worst outcome, and says after which "
        "time the fault was noticed. It opens its worst flight."
    )


def _table(
    matrix: Mapping[str, Mapping[str, Cell]], columns: Sequence[str], shown: Callable[[Cell | None], str]
) -> Table:
    rows = [(fault, *(shown(cells.get(column)) for column in columns)) for fault, cells in matrix.items()]
    return Table([Column("fault", "name"), *(Column(column, "text") for column in columns)], rows)


def _pairs(results: FaultResults) -> Iterator[Block]:
    pairs = results.by_pair
    if not pairs:
        return
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    shown = names[:MOST_PAIR_COLUMNS]
    yield _legend()
    columns = [Column("fault", "name"), *(Column(str(index), "text") for index, _ in enumerate(shown, start=1))]
    rows = [
        (f"{index}. {name}", *(_small_cell(pairs.get((name, other)) or pairs.get((other, name))) for other in shown))
        for index, name in enumerate(names, start=1)
    ]
    yield Table(columns, rows)
    yield Note(
        "Both faults at the same time. Columns have the numbers of the rows. A cell has the colour of its worst "
        "outcome, says how many flights had it, and opens its worst flight."
    )


def _cut_sets(results: FaultResults) -> Iterator[Block]:
    rows = []
    for effect, had in EFFECTS:
        for found in results.cut_sets(had):
            own = [flight for flight in results.flights if set(flight.faults) == {*found.faults} and had(flight)]
            worst = max(own, key=lambda flight: flight.badness)
            share = f"{found.hits} of {found.flights}"
            rows.append((effect, str(len(found.faults)), " and ".join(found.faults), share, _link(worst)))
    if not rows:
        yield Text("No fault or pair of faults caused a failed check or a loss.")
        return
    columns = [
        Column("effect", "name"),
        Column("order"),
        Column("faults", "text"),
        Column("flights"),
        Column("", "text"),
    ]
    yield Table(columns, rows)
    yield Note(
        "Minimal sets of faults that caused the effect in at least one flight: the fault tree that the flights show. A "
        "pair is listed if neither of its faults causes the effect alone."
    )


def _latencies(results: FaultResults) -> Iterator[Block]:
    cells = cells_by(results.singles, lambda flight: flight.faults[0])
    columns = [Column("fault", "name"), Column("flights")]
    columns += [Column(f"{name.removesuffix('_s')}: median, longest") for name in LATENCIES]
    columns += [Column("largest deviation")]
    rows = [
        (fault, str(len(cell.flights)), *(_latency(cell, name) for name in LATENCIES), _deviation(cell))
        for fault, cell in cells.items()
    ]
    if rows:
        yield Table(columns, rows)
        yield Note(
            "From the step in which the fault begins, exact to a step of the simulation; in brackets the flights that "
            "have one. Noticed: an event of implausible, late or lost data, a failsafe, or the third measurement in a "
            "row that the estimator rejects, before the aircraft is lost. Acted: another mode, a safe command, a "
            "failsafe, a reallocation. Recovered: the distance from the setpoint stays below the largest one of the "
            "fault-free flight; 0 if it never rose above it."
        )


def _worst(results: FaultResults, folder: Path) -> Iterator[Block]:
    linked = _linked(results)
    columns = [Column("flight", "name"), Column("faults", "text"), Column("at"), Column("outcome", "text")]
    columns += [Column("noticed"), Column("acted"), Column("deviation"), Column("fly it again", "text")]
    rows = [
        (
            Markup('<span id="flight-{}">{}</span>').format(flight.row.number, flight.row.number),
            " and ".join(flight.faults),
            f"{flight.number('fault_s'):.6g} s, {flight.phase}",
            _mark(flight.result, flight.result.words),
            duration(flight.number("noticed_s")),
            duration(flight.number("acted_s")),
            f"{flight.number('deviation_m'):.3g} m, {flight.number('deviation_deg'):.3g} deg",
            _again(folder, flight),
        )
        for flight in linked
    ]
    if rows:
        yield Table(columns, rows)


def _linked(results: FaultResults) -> list[FaultFlight]:
    """The flights that cells open, by number."""
    matrix = results.by_phase if len(results.phases) > 1 else results.by_time
    cells: list[Cell] = [cell for cells in matrix.values() for cell in cells.values()]
    cells += results.by_pair.values()
    cells += cells_by(results.silent, lambda flight: flight.faults).values()
    for _, had in EFFECTS:
        cells += cells_by(filter(had, results.flights), lambda flight: frozenset(flight.faults)).values()
    found = {cell.worst.row.number: cell.worst for cell in cells}
    return [found[number] for number in sorted(found)]


def _again(folder: Path, flight: FaultFlight) -> str:
    """The command, and the report of a flight that was flown again."""
    number = flight.row.number
    command = code(f"aeroloop campaign replay {folder} {number}")
    kept = Path("replays") / f"flight-{number}" / REPORT
    if (folder / kept).is_file():
        return command + Markup(' <a href="{}">report</a>').format(kept)
    return command


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    worst = cell.worst
    middle_s, longest_s, known = cell.latency("noticed_s")
    if not known:
        noticed = "silent" if cell.silent else "not noticed"
    elif math.isclose(middle_s, longest_s):
        noticed = f"noticed {duration(middle_s)}"
    else:
        noticed = f"noticed {duration(middle_s)}, {duration(longest_s)}"
    if known and cell.silent:
        noticed += f", {cell.silent} silent"
    return Markup('<a class="cell outcome-{}" href="#flight-{}"><b>{}</b> {}/{}<br><small>{}</small></a>').format(
        int(worst.result), worst.row.number, worst.result.words, cell.count, len(cell.flights), noticed
    )


def _timed_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    worst, longest_s = cell.worst, cell.latency("noticed_s")[1]
    noticed = duration(longest_s) if not cell.silent else "silent"
    return Markup('<a class="cell narrow outcome-{}" href="#flight-{}" title="{}"><small>{}</small></a>').format(
        int(worst.result), worst.row.number, worst.result.words, noticed
    )


def _small_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    worst = cell.worst
    title = f"{' and '.join(worst.faults)}: {worst.result.words}"
    return Markup('<a class="cell outcome-{}" href="#flight-{}" title="{}">{}/{}</a>').format(
        int(worst.result), worst.row.number, title, cell.count, len(cell.flights)
    )


def _link(flight: FaultFlight) -> str:
    return Markup('<a href="#flight-{}">flight {}</a>').format(flight.row.number, flight.row.number)


def _mark(result: Result, text: str) -> str:
    return Markup('<span class="cell outcome-{}">{}</span>').format(int(result), text)


def _legend() -> Facts:
    return Facts([_mark(each, each.words) for each in Result])


def _latency(cell: Cell, name: str) -> str:
    middle_s, longest_s, known = cell.latency(name)
    return f"{duration(middle_s)}, {duration(longest_s)} ({known})" if known else "-"


def _deviation(cell: Cell) -> str:
    largest = max(
        (value for flight in cell.flights if not math.isnan(value := flight.number("deviation_m"))), default=0.0
    )
    return f"{largest:.3g} m"


def _span(values_s: Sequence[float]) -> str:
    known = [value for value in values_s if not math.isnan(value)]
    if not known:
        return "-"
    low, high = min(known), max(known)
    return duration(low) if low == high else f"{duration(low)} to {duration(high)}"


def duration(value_s: float) -> str:
    if math.isnan(value_s):
        return "-"
    return f"{1000 * value_s:.4g} ms" if value_s < 1.0 else f"{value_s:.4g} s"


def table_of(results: FaultResults) -> Mapping[str, object]:
    """For scripts: part of the summary of a campaign."""
    alarmed, free = results.false_alarms
    return {
        "flights": len(results.flights),
        "outcomes": {each.words: results.count(each) for each in Result},
        "silent_failures": _listed(results.silent),
        "fault_free": {"flights": free, "with_false_alarms": alarmed},
        "cut_sets": {effect: [list(each.faults) for each in results.cut_sets(had)] for effect, had in EFFECTS},
    }


def _listed(flights: Iterable[FaultFlight]) -> list[dict[str, object]]:
    return [
        {
            "flight": flight.row.number,
            "faults": list(flight.faults),
            "at_s": flight.number("fault_s"),
            "phase": flight.phase,
        }
        for flight in flights
    ]
