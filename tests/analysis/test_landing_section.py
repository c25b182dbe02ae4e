"""The report's section on a landing, from a log made here: a descent of 10 s with a companion that is 3 cm wrong."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest

from aeroloop.analysis import checks, landing_section, landing_views
from aeroloop.analysis.landing_metrics import metrics, touchdown
from aeroloop.analysis.landing_times import followed
from aeroloop.analysis.section import Facts, Figures
from aeroloop.core.camera_streams import DESCENT_METADATA
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.core.streams import streams_of
from aeroloop.core.text_rows import numbers_of
from aeroloop.recording.log import Log

cv2 = pytest.importorskip("cv2")
EAST_M, WRONG_M, DRIFT_M = 0.04, 0.03, 2.0
PAD = (0.5, -0.4)


def row(log: Log, stream: str, **values: float) -> list[float]:
    return [values.get(name, 0.0) for name in log.columns[stream]]


def made(scenario: Scenario) -> Log:
    """Down from 5 m at 0.5 m/s, 4 cm east of the pad; the autopilot's frame has drifted by 2 m."""
    log = Log.empty(streams_of(scenario))
    times = np.arange(0.0, 10.01, 0.05)
    heights = [0.0, *(max(0.0, 5.0 - 0.5 * t) for t in times[1:])]  # it started from the ground
    rows: dict[str, list[list[float]]] = {"truth": [], "landing": [], "event": [], "status_text": []}
    for t_s, z in zip(times, heights, strict=True):
        x, y = PAD[0] + EAST_M, PAD[1]
        rows["truth"].append(row(log, "truth", t_s=t_s, x_m=x, y_m=y, z_m=z, qw=1.0))
        if "landing" in log.rows:
            own = {"own_x": x + DRIFT_M, "own_y": y, "own_z": z}
            pad = {"pad_x": PAD[0] + DRIFT_M + WRONG_M, "pad_y": PAD[1], "pad_z": 0.0}
            seen = {"markers": 4, "residual_px": 0.4, "sent_s": t_s + 0.08, "landing": 1, "state": -1, "work_s": 0.01}
            rows["landing"].append(row(log, "landing", t_s=t_s, outcome=0.0, **own, **pad, **seen))
    rows["event"].append(row(log, "event", t_s=10.0, code=Event.GROUND_CONTACT))
    for t_s, words in ((3.0, "target seen"), (5.0, "descending"), (9.5, "final approach")):
        rows["status_text"].append([t_s, 0, 6, *numbers_of(f"Precision landing: {words}")])
    from pad_images import drawn, view  # needs OpenCV

    _, jpeg = cv2.imencode(".jpg", drawn(view(2.0), np.random.default_rng(1)), [cv2.IMWRITE_JPEG_QUALITY, 80])
    image = base64.b64encode(jpeg.tobytes()).decode()
    filled = {name: np.array(values, float) for name, values in rows.items() if values}
    metadata = {**log.metadata, DESCENT_METADATA: {"1 8.000": image, "2 6.000": image}}
    return replace(log, rows={**log.rows, **filled}, metadata=metadata)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load(find("quad-landing"))


@pytest.fixture(scope="module")
def log(scenario: Scenario) -> Log:
    return made(scenario)


def test_errors_of_the_estimate_are_free_of_the_drift_of_the_autopilots_frame(scenario: Scenario, log: Log) -> None:
    flight = followed(scenario, log, touchdown(scenario, log))
    assert flight.looks is not None
    assert np.allclose(flight.looks.error_m, [WRONG_M, 0.0, 0.0])
    assert np.allclose(flight.off_m[:, 0], EAST_M)
    assert np.allclose(flight.looks.latency_s, 0.08)
    bands = [(band.name, band.start_s, band.end_s) for band in flight.bands]
    assert bands == [("approach", 3.0, 5.0), ("descend", 5.0, 9.5), ("final", 9.5, 11.0)]


def test_it_shows_the_pad_from_each_height_with_its_markers(scenario: Scenario, log: Log) -> None:
    (section,) = landing_section.sections(scenario, log)
    facts, frames, figures = section.blocks
    assert isinstance(facts, Facts) and isinstance(frames, Figures) and isinstance(figures, Figures)
    assert any("4 cm from the middle" in words for words in facts.items)
    assert [picture.name for picture in frames.pictures] == ["pad-at-2-m", "pad-at-1-m"]
    assert frames.pictures[0].title == "The pad from 2 m, at 6.000 s"
    assert frames.pictures[0].svg.count("<polygon") >= 8
    names = [picture.name for picture in figures.pictures]
    assert names == [
        "landing-way",
        "landing-estimate",
        "landing-sightings",
        "landing-latency",
        "landing-touchdown",
        "landing-workspace",
        "landing-views",
    ]


def test_by_gps_alone_only_the_way_and_the_touchdown_are_shown() -> None:
    scenario = load(find("quad-landing"), ("landing.use=gps", "cameras=[]", "checks=[]"))
    log = made(scenario)
    (section,) = landing_section.sections(scenario, log)
    (figures,) = (block for block in section.blocks if isinstance(block, Figures))
    assert [picture.name for picture in figures.pictures] == [
        "landing-way",
        "landing-touchdown",
        "landing-workspace",
        "landing-views",
    ]
    assert metrics(scenario, log)["touchdown_east_m"] == pytest.approx(EAST_M)


def test_a_flight_without_a_pad_has_no_section() -> None:
    scenario = load(find("quad-hover"))
    assert landing_section.sections(scenario, Log.empty(streams_of(scenario))) == []


def test_views_are_of_the_last_descent_and_of_the_touchdown(scenario: Scenario) -> None:
    log = made(scenario)
    truth = landing_views.path(scenario, log)
    moments = landing_views._moments(scenario, truth, touchdown(scenario, log))
    assert moments == pytest.approx([5.95, 7.95, 9.15, 10.0], abs=0.11)  # 2, 1, 0.4 m, and the ground
    assert not landing_views._moments(scenario, truth, None)
    (first, *_), middle = (
        landing_views._board(scenario.pad, 0.0, 0.1),
        np.mean(landing_views._board(scenario.pad, 0.0, 0.1), axis=0),
    )
    assert middle == pytest.approx((*PAD, 0.1))
    assert np.hypot(*(first - middle)[:2]) == pytest.approx(1.10 / np.sqrt(2.0))


@pytest.mark.parametrize("use", ["gps", "external"])
def test_what_no_companion_of_the_flight_sees_is_not_checked(use: str) -> None:
    settings = (f"landing.use={use}", "pace=real")
    names = [check.metric for check in checks.required(load(find("quad-landing"), settings))]
    checks.verify(load(find("quad-landing"), settings))
    assert "pad_seen_pct" not in names and "touchdown_m" in names
    assert "pad_seen_pct" in [check.metric for check in checks.required(load(find("quad-landing")))]
