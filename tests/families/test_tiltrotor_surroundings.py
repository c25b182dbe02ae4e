"""The tilt-rotor meets wind and ground, carries sensors, and flies on a state that is estimated from them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.families.tiltrotor.analysis.metrics import metrics
from aeroloop.families.tiltrotor.analysis.plots import flight_pictures
from aeroloop.families.tiltrotor.build import vehicle
from aeroloop.families.tiltrotor.page import PAGE
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.flight.inline import InlineFlight, fly_inline
from aeroloop.recording.log import Log, log_sha256
from aeroloop.sensors.suite import NAMES

SPIRAL = find("tiltrotor-spiral")
ALL = 'sensors.fitted=["imu","magnetometer","barometer","gnss","airspeed","rangefinder"]'
FOUR = 'sensors.fitted=["imu","magnetometer","barometer","gnss"]'
ESTIMATED = ('sensors.state="estimated"', ALL)
WIND = ("world.wind.steady_W=[3.0,-2.0,0.0]", "world.wind.turbulence.w20_m_s=4.0")
HOVER = ('ground.trajectory={kind="hover",pos_W=[2.0,0.0,3.0]}', 'world.start="rest"')


def scenario(*changes: str, duration_s: float = 3.0) -> TiltrotorScenario:
    return load_tiltrotor(SPIRAL, ("checks=[]", f"duration_s={duration_s}", *changes))


@cache
def flown(*changes: str, duration_s: float = 3.0) -> InlineFlight:
    return fly_inline(scenario(*changes, duration_s=duration_s))


def log_of(*changes: str, duration_s: float = 3.0) -> Log:
    return flown(*changes, duration_s=duration_s).logs[0]


def positions(log: Log) -> np.ndarray:
    return np.stack([log.column("truth", axis) for axis in ("x_m", "y_m", "z_m")], axis=1)


def test_neither_still_air_nor_sensors_that_are_only_logged_change_the_flight() -> None:
    bare, fitted = log_of(), log_of(ALL)
    assert log_sha256(log_of("world.drag=false")) == log_sha256(bare)
    for stream in ("truth", "effort", "sensors", "command"):
        assert np.array_equal(bare.rows[stream], fitted.rows[stream]), stream
    assert not len(bare.rows["air"]) and not len(bare.rows["imu"])
    rates_hz = {"imu": 250, "magnetometer": 50, "barometer": 50, "airspeed": 50, "rangefinder": 50}
    assert {name: len(fitted.rows[name]) // 3 for name in rates_hz} == rates_hz


def test_in_a_hover_ideal_sensors_measure_what_is_there() -> None:
    log = log_of(ALL, 'sensors.preset="ideal"', *HOVER)
    means = {name: log.rows[name][-50:, 2:].mean(axis=0) for name in NAMES if name != "tachometer"}
    assert np.linalg.norm(means["imu"][:3]) == pytest.approx(9.81, abs=1e-3), "the gravity that its design has"
    assert means["barometer"][1] == pytest.approx(491.0, abs=0.1) and means["rangefinder"] == pytest.approx(
        3.0, abs=0.05
    )
    assert means["gnss"][1:4] == pytest.approx((47.397742, 8.545594, 491.0), abs=0.05)
    assert 4e-5 < np.linalg.norm(means["magnetometer"]) < 6e-5 and means["airspeed"] == pytest.approx(0.0, abs=0.1)


def test_wind_pushes_it_and_is_logged() -> None:
    still, windy = log_of(*HOVER), log_of(*HOVER, "world.wind.steady_W=[0.0,5.0,0.0]")
    assert np.all(windy.column("air", "wind_y_m_s") == 5.0)
    assert windy.column("air", "density_kg_m3") == pytest.approx(1.168, abs=0.01)  # at home, 488 m above the sea
    pushed_m = positions(windy)[:, 1] - positions(still)[:, 1]
    assert 0.02 < pushed_m.max() < 0.5
    leans_rad = windy.column("truth", "roll_rad")[-50:].mean() - still.column("truth", "roll_rad")[-50:].mean()
    assert leans_rad > 0.02  # into the wind: thrust to the south holds it
    assert metrics(windy, scenario())["wind_max_m_s"] == 5.0


def test_drag_without_wind_slows_it() -> None:
    free, slowed = log_of(), log_of("world.drag=true")
    assert 1e-3 < np.abs(positions(slowed) - positions(free)).max() < 0.1
    assert np.all(slowed.column("air", "wind_x_m_s") == 0.0)


@pytest.mark.parametrize("kind", ["slope", "grid"])
def test_ground_rises_under_it(kind: str, tmp_path: Path) -> None:
    """The same slope as a plane and as a grid of heights."""
    file = tmp_path / "slope.csv"
    file.write_text("\n".join(["100.0,103.0,106.0"] * 3))
    terrain = {"slope": "east=0.3", "grid": f'file="{file}",spacing_m=10.0,corner_m=[0.0,-10.0]'}
    slope = f'world.terrain={{kind="{kind}",{terrain[kind]}}}'
    down = ('ground.trajectory={kind="hover",pos_W=[2.0,0.0,0.0]}', 'world.start="rest"', "world.start_pos_W=[2,0,1.5]")
    log = log_of(*down, slope, 'sensors.fitted=["rangefinder"]', 'sensors.preset="ideal"')
    contacts = log.rows["event"][log.column("event", "code") == Event.GROUND_CONTACT]
    assert len(contacts), "its legs meet the ground"
    before = log.column("truth", "t_s") < contacts[0, 0]
    x_m, _, z_m = positions(log)[before][-1]
    assert 0.15 < z_m - 0.3 * x_m < 0.35, "above the slope, by the length of its legs"
    assert log.column("air", "ground_m")[0] == pytest.approx(0.6)
    level = log.column("rangefinder", "distance_m")[0]
    assert level == pytest.approx(0.9, abs=0.05), "to the ground, not to home's height"
    assert metrics(log, scenario())["ground_clearance_min_m"] < 0.35


def test_the_board_flies_on_the_estimate() -> None:
    changes = (*ESTIMATED, *WIND)
    log = log_of(*changes, duration_s=6.0)
    numbers = metrics(log, scenario(*changes))
    assert 0.01 < numbers["est_pos_rms_m"] < 1.0 and numbers["est_attitude_rms_deg"] < 1.5
    assert numbers["pos_max_m"] < 1.5 and not numbers["diverged"]
    told = {round(row[0], 6): row[2:8] for row in log.rows["estimate"]}
    columns = [log.columns["sensors"].index(name) for name in ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s")]
    both = [(row[columns], told[round(row[0], 6)]) for row in log.rows["sensors"] if round(row[0], 6) in told]
    assert len(both) > 50
    sent, estimated = (np.array(values) for values in zip(*both, strict=True))
    assert np.array_equal(sent, estimated)
    assert np.array_equal(log.column("sensors", "tilt_right_rad")[1:3], log.column("truth", "tilt_right_rad")[3:7:3])


def test_one_seed_is_one_flight_on_estimated_state() -> None:
    changes = (*ESTIMATED, *WIND)
    first, again = log_of(*changes), fly_inline(scenario(*changes)).logs[0]
    assert log_sha256(first) == log_sha256(again)
    assert log_sha256(log_of(*changes, "seed=2")) != log_sha256(first)


def test_without_an_imu_no_state_is_sent() -> None:
    silent = 'sensors.faults=[{sensor="imu",kind="silent",start_s=1.0,end_s=1.2}]'
    log = log_of(*ESTIMATED, *HOVER, silent)
    codes, t_s = log.column("board_event", "code"), log.column("board_event", "t_s")
    lost, back = (t_s[codes == event] for event in (Event.SENSORS_LOST, Event.SENSORS_BACK))
    assert 1.04 < lost[0] < 1.1 and 1.19 < back[0] < 1.25


def test_a_biased_barometer_moves_the_height() -> None:
    biased = 'sensors.faults=[{sensor="barometer",kind="bias",start_s=1.0,value=10.0}]'
    changes = ('sensors.state="estimated"', ALL, 'sensors.preset="ideal"', "sensors.gnss.epv_m=10.0", *HOVER)
    sound, wrong = log_of(*changes), log_of(*changes, biased)
    higher_m = positions(wrong)[-1, 2] - positions(sound)[-1, 2]
    assert 0.4 < higher_m < 1.2, "more pressure reads as less height"


def test_offers_name_the_state_and_what_is_fitted() -> None:
    targets = {offer.target for offer in offers(scenario(FOUR))}
    assert {"state", "imu", "magnetometer", "barometer", "gnss", "to_board"} <= targets
    assert not {"airspeed", "rangefinder"} & targets
    assert "imu" not in {offer.target for offer in offers(scenario())}


def test_every_fault_of_a_sensor_that_is_offered_can_be_switched_by_hand() -> None:
    fitted = scenario(ALL)
    craft = vehicle(fitted, 0, {stream.name: lambda *row: None for stream in STREAMS})
    of_sensors = [offer for offer in offers(fitted) if offer.target in (*NAMES, "state")]
    assert len(of_sensors) > 30
    for offer in of_sensors:
        craft.switch(offer.switch(on=True))
    craft.advance(100_000_000, exact=False)
    assert craft.measured() is None  # silent, among the rest
    for offer in of_sensors:
        craft.switch(offer.switch(on=False))
    assert craft.measured() is not None


def test_report_and_page_show_what_the_flight_has() -> None:
    windy = scenario(*ESTIMATED, *WIND)
    log = log_of(*ESTIMATED, *WIND)
    assert {"wind", "estimation"} <= {picture.name for picture in flight_pictures(log, windy)}
    known = {f"{stream.name}.{column}" for stream in log.streams for column in stream.columns}
    charts = PAGE.more_charts(windy)
    assert {"air.wind_x_m_s", "estimate.x_m", "imu.accel_z_m_s2"} <= {name for chart in charts for name in chart}
    assert all(name in known for chart in charts for name in chart)
    assert PAGE.more_charts(scenario()) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (('sensors.state="estimated"',), "sensors.fitted: an estimated state needs imu, magnetometer, barometer, gnss"),
        ((*ESTIMATED, "sensors.pos_std_m=0.1"), "sensors.pos_std_m: the state is estimated"),
        (("world.drag=false", WIND[0]), "world.drag: wind acts only through drag"),
        (('sensors.fitted=["sonar"]',), "sensors.fitted"),
        (('world.terrain={kind="hill"}',), "world.terrain.kind"),
        (("world.start_pos_W=[0,0,1]", 'world.terrain={kind="slope",north=1.5}'), "world.terrain.north"),
    ],
)
def test_what_does_not_fit_is_refused_at_loading(changes: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"tiltrotor-spiral.toml[^:]*: {sentence}"):
        load(SPIRAL, changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (('world.terrain={kind="slope",east=0.5}',), r"world.start_pos_W: the start is below the ground; .* 1.00 m"),
        (('sensors.faults=[{sensor="gnss",kind="silent",start_s=1}]',), "no fault of gnss can be switched"),
    ],
)
def test_what_cannot_fly_is_refused_before_take_off(changes: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        fly_inline(scenario(*changes))
