"""Two logs beside one another: one flight in every format, shifted and rescaled logs, and what cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from flown_logs import synthetic, wave

from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario_files import find, load
from aeroloop.flight.export import FlownPart, export_run, write_log
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.results import LOG
from aeroloop.flown import as_json, page, paper_table
from aeroloop.flown.comparison import Comparison, Settings, compare
from aeroloop.flown.quantities import PUBLISHED
from aeroloop.flown.read import read
from aeroloop.flown.record import FlightRecord, Signal

DURATION_S = 24.0


@pytest.fixture(scope="session")
def flight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FlightRecord]:
    """One flight of the virtual Pixhawk as MCAP, .bin, ULog and CSV."""
    folder = tmp_path_factory.mktemp("flown")
    plan = load(find("quad-mission"), (f"duration_s={DURATION_S}", "checks=[]"))
    write_log(folder / LOG, [FlownPart(plan, "", fly_inline(plan).logs[0])])
    written = export_run(folder / LOG, ("bin", "ulg", "signals"), folder / "export")
    return {path.suffix: read(path) for path in (folder / LOG, *written)}


def without(record: FlightRecord, *names: str) -> FlightRecord:
    return replace(record, signals={name: of for name, of in record.signals.items() if name not in names})


def with_signal(record: FlightRecord, signal: Signal) -> FlightRecord:
    return replace(record, signals={**record.signals, signal.name: signal})


@pytest.mark.parametrize(("first", "second"), [*combinations((".mcap", ".bin", ".csv", ".ulg"), 2)])
def test_one_flight_in_two_formats_is_one(flight: dict[str, FlightRecord], first: str, second: str) -> None:
    found = compare(flight[first], flight[second])
    assert abs(found.alignment.lag_s) <= 0.001
    assert found.segment.duration_s > 10.0
    names = {each.quantity.name for each in found.signals}
    assert names >= {*PUBLISHED, "throttle", "north", "vel_down", "pulse_4"}
    for each in found.signals:
        rounded = each.quantity.name.startswith(("pulse", "lat", "lon"))  # to 1 us and 1e-7 deg in a .bin
        assert each.score.r == pytest.approx(1.0, abs=1e-3 if rounded else 1e-6), each.quantity.name
        assert each.score.scale == pytest.approx(1.0, abs=5e-3 if rounded else 1e-5), each.quantity.name
        assert not each.scale_words
    for each in found.signals[:3]:
        assert each.score.nrmse < 1e-5
        assert each.trivial is not None
        assert 0.9 < each.trivial.r <= 1.0


def test_the_table_of_the_paper(flight: dict[str, FlightRecord]) -> None:
    table = paper_table.rows(compare(flight[".bin"], flight[".csv"]))
    assert [(row.name, row.published) for row in table] == list(PUBLISHED.items())
    assert len(table) == 16
    assert all(row.r == pytest.approx(1.0, abs=1e-3) for row in table)
    assert paper_table.findings(table)[1] == "Each correlation is above 0.8."
    turned = [replace(row, r=0.7 if row.name == "lat" else None if row.name == "lon" else row.r) for row in table]
    words = paper_table.findings(turned)
    assert words[0].startswith("The order of the groups is the published one except: pressure and height (1.000) above")
    assert words[1:] == ["Not above 0.8: lat 0.700.", "Not compared: lon."]


def resampled_copy(record: FlightRecord, *, later_s: float, rate_hz: float, factor: float) -> FlightRecord:
    """Another logger's: other rows, another clock, other units."""
    signals = {}
    for name, signal in record.signals.items():
        t_s = np.arange(signal.t_s[0], signal.t_s[-1], 1.0 / rate_hz)
        values = np.interp(t_s, signal.t_s, np.unwrap(signal.values) if name == "yaw" else signal.values)
        signals[name] = Signal(name, t_s + later_s, values if name == "throttle" else factor * values, name)
    return replace(record, path=Path("other.csv"), signals=signals)


@pytest.mark.parametrize("later_s", [0.3137, -1.25, 0.0, 1.9])
def test_a_log_that_is_shifted_resampled_and_rescaled(flight: dict[str, FlightRecord], later_s: float) -> None:
    degrees = resampled_copy(flight[".bin"], later_s=later_s, rate_hz=37.0, factor=180 / np.pi)
    found = compare(flight[".bin"], degrees)
    assert found.alignment.lag_s == pytest.approx(later_s, abs=0.001)
    for name in ("roll", "pitch", "gyro_x", "height"):
        assert found[name].score.r > 0.98
        assert found[name].score.scale == pytest.approx(180 / np.pi, rel=0.02)
    assert "(degrees for radians)" in found["roll"].scale_words
    assert any("roll" in words and "degrees for radians" in words for words in page.summary(found))


def test_clocks_that_have_nothing_in_common_are_aligned_by_the_flights() -> None:
    found = compare(synthetic(), synthetic(later_s=5000.25, rate_hz=80.0))
    assert found.alignment.lag_s == pytest.approx(5000.25, abs=0.001)
    assert found["roll"].score.r > 0.999


def test_the_trivial_model_is_the_delayed_setpoint() -> None:
    trivial = compare(synthetic(), synthetic(later_s=0.2))["roll"].trivial
    assert trivial is not None
    assert trivial.lag_s == pytest.approx(0.1, abs=0.001)
    assert trivial.r > 0.999
    assert compare(without(synthetic(), "roll_setpoint"), synthetic())["roll"].trivial is None


def test_a_signal_of_its_own_lag_shows_it() -> None:
    record = synthetic()
    t_s = record["pitch"].t_s
    late = with_signal(record, Signal("pitch", t_s, 0.1 * wave(t_s - 0.05, 2), "TEST.pitch"))
    found = compare(record, late)
    assert found.alignment.lag_s == pytest.approx(0.0, abs=0.001)
    assert found["pitch"].lag_s == pytest.approx(0.05, abs=0.002)
    assert found["roll"].lag_s == pytest.approx(0.0, abs=0.001)


def test_what_hardly_moves_is_told() -> None:
    """A yaw held to a tenth of a degree; a gyro that is noise."""
    record = synthetic()
    t_s = record["gyro_x"].t_s
    noisy = with_signal(record, Signal("gyro_x", t_s, np.random.default_rng(1).normal(size=len(t_s)), "TEST.gyro"))
    found = compare(noisy, record)
    remarks = {each.quantity.name: each.remark for each in found.signals}
    assert remarks == {
        **dict.fromkeys(("roll", "pitch", "height", "lat", "north", "east", "down"), ""),
        **dict.fromkeys(("yaw", "gyro_x", "throttle"), "hardly moves"),
    }


def test_only_the_chosen_part_is_compared() -> None:
    found = compare(synthetic(), synthetic(later_s=0.5), Settings(from_s=10.0, to_s=22.0))
    assert (found.segment.start_s, found.segment.end_s) == pytest.approx((10.0, 22.0))
    assert found["roll"].t_s[0] == pytest.approx(10.0)
    assert len(found["roll"].t_s) == 1201


def unlike(record: FlightRecord) -> FlightRecord:
    changed = {
        name: replace(of, values=of.values if name == "throttle" else wave(of.t_s, 100 + index, 5.0))
        for index, (name, of) in enumerate(record.signals.items())
    }
    return replace(record, path=Path("unlike.bin"), signals=changed)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (synthetic(), unlike(synthetic()), r"cannot be aligned: the best correlation within 2 s of lag is 0\.\d+, of"),
        (synthetic(), synthetic(10.9), r"have 4\.90 s of flight in common; expected 5 s or more"),
        (
            synthetic(),
            without(synthetic(), *PUBLISHED, "throttle", "north", "east", "down"),
            "have no signal in common",
        ),
        (
            replace(synthetic(), vehicle="fixedwing"),
            replace(synthetic(name="px4.ulg"), vehicle="multirotor"),
            r"flown.bin was flown by a fixedwing, px4.ulg by a multirotor: nothing to compare",
        ),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(first: FlightRecord, second: FlightRecord, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        compare(first, second)
    assert "\n" not in str(raised.value)


def test_all_names_of_a_family_are_one() -> None:
    first, second = (replace(synthetic(), vehicle=vehicle) for vehicle in ("quadrotor", "multirotor"))
    assert compare(first, second).signals


def numbers(found: Comparison) -> dict[str, object]:
    written: dict[str, object] = json.loads(json.dumps(as_json.numbers(found, paper=True), allow_nan=False))
    return written


def test_numbers_and_page() -> None:
    record = replace(synthetic(), remarks=["The log is truncated: its last row is cut."], parameters={"A": 1.0})
    found = compare(record, without(synthetic(name="other.csv", scale=0.9), "gyro_x"))
    told = numbers(found)
    assert told["aligned_by"] == found.alignment.by
    assert {each["name"] for each in told["signals"]} == {each.quantity.name for each in found.signals}  # type: ignore[attr-defined]
    html = page.render(found, paper=True)
    for words in (
        "flown.bin and other.csv compared",
        "The log is truncated: its last row is cut.",
        "0.9 times the value of flown.bin.",
        '<span class="soft">',
        "hardly moves",
        "Beside the paper",
        "Spectra: attitude",
        "Top view, and height over time",
        "<code>TEST.roll</code>",
    ):
        assert words in html
    assert next(page.sections(found, paper=False)).key == "scores"


def test_a_run_in_its_folder_has_kind_and_parameters(tmp_path: Path) -> None:
    plan = load(find("quad-mission"), ("duration_s=0.2", "checks=[]"))
    write_log(tmp_path / LOG, [FlownPart(plan, "", fly_inline(plan).logs[0])])
    scenario = Path(find("quad-mission")).read_text(encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(scenario, encoding="utf-8")
    record = read(tmp_path)
    assert load_plan(tmp_path / "scenario.toml").name == "quad-mission"
    assert (record.vehicle, record.parameters, record.path) == ("quadrotor", {"RTL_RETURN_ALT": 10.0}, tmp_path)
