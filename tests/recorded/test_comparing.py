"""What `recorded_flights.py` does with flights that only one of two revisions has, and with their speeds."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
import recorded_flights
from recorded_flights import (
    Both,
    FailedError,
    Flight,
    Flown,
    Pairs,
    RefusedError,
    against,
    in_pairs,
    record,
    recorded,
    speeds,
)

SPIRAL = Flight("tiltrotor-spiral", "mil")


def pairs(*factors: tuple[float, float], streams: tuple[str, str] = ("1", "1")) -> Pairs:
    before, after = ({"truth": value} for value in streams)
    return Pairs(SPIRAL, "full", tuple((Flown("", before, a), Flown("", after, b)) for a, b in factors))


def flown(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> list[Pairs]:
    """Two pairs with a base that has the spiral alone, each flight of which gives `error`."""

    def fly(flight: Flight, *, source: Path = recorded_flights.ROOT, **options: object) -> Flown:
        if source != recorded_flights.ROOT and (error or flight != SPIRAL):
            raise error or RefusedError("no such scenario")
        return Flown("", {}, 1.0 if source != recorded_flights.ROOT else 2.0)

    monkeypatch.setattr(recorded_flights, "checkout", lambda revision: nullcontext(Path(revision)))
    monkeypatch.setattr(recorded_flights, "fly", fly)
    return list(in_pairs("old", "", ("full",), 2, Both("", inline=False, hashes=False)))


def test_flights_that_the_older_revision_does_not_have_are_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = flown(monkeypatch)
    assert (found.flight, found.ratios) == (SPIRAL, [2.0, 2.0])
    assert "quad-hover mil: not flown by old: no such scenario" in capsys.readouterr().err


def test_a_revision_without_the_file_of_a_scenario_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="no scenario tiltrotor-spiral"):
        recorded_flights.fly(SPIRAL, full=False, source=tmp_path)


def test_a_flight_that_fails_fails_the_comparison_and_does_not_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = flown(monkeypatch, FailedError("the link is down"))
    assert len(found) == len(recorded_flights.flights())
    assert not against(found)
    assert not speeds([*found, pairs((1.0, 1.1))])
    assert "the link is down" in capsys.readouterr().out


def test_speeds_are_a_table_with_their_spread_whatever_the_hashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert speeds([pairs((10.0, 20.0), (10.0, 5.0), (10.0, 30.0), streams=("1", "2")), pairs((4.0, 2.0))])
    _, _, first, second, _, last = capsys.readouterr().out.splitlines()
    assert first == "| tiltrotor-spiral mil | full | 10.0x | 20.0x | 2.00 | 0.50 | 3.00 | 3 |"
    assert second == "| tiltrotor-spiral mil | full | 4.0x | 2.0x | 0.50 | 0.50 | 0.50 | 1 |"
    assert last == "At least as fast: 1 of 2. Slower: tiltrotor-spiral mil full (0.50)."


def test_what_is_recorded_is_written_after_each_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = tmp_path / "flights.json"
    found: list[int] = []

    def fly(flight: Flight, *, full: bool) -> Flown:
        found.append(sum(len(own["flights"]) for own in recorded()) if records.exists() else 0)
        if flight == recorded_flights.flights()[2]:
            raise FailedError("interrupted")
        return Flown("", {"truth": "1"}, 1.0)

    monkeypatch.setattr(recorded_flights, "RECORDS", records)
    monkeypatch.setattr(recorded_flights, "fly", fly)
    with pytest.raises(FailedError, match="interrupted"):
        record("", ("full",), missing=False)
    assert found == [0, 1, 2]
    (own,) = recorded()
    assert list(own["flights"]) == [flight.name for flight in recorded_flights.flights()[:2]]


def test_hashes_that_differ_fail_the_comparison() -> None:
    assert against([pairs((1.0, 1.0))])
    assert not against([pairs((1.0, 1.0), streams=("1", "2"))])
    assert not against([])


def test_a_fleet_is_flown_inline_with_its_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recorded_flights.SHORT_S, "mixed", 0.2)
    flown = recorded_flights.fly_inline(Flight("mixed-fleet", "mil"), full=False)
    assert {"tiltrotor/truth", "wing/truth"} <= flown.streams.keys()
    assert flown.factor > 0.0


def test_an_inline_flight_that_fails_says_why() -> None:
    with pytest.raises(FailedError, match=r"rrr-all hil inline: ConfigError: .*pace: a physical board"):
        recorded_flights.fly_inline(Flight("rrr-all", "hil"), full=False)
