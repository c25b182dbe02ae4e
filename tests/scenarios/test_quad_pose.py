"""A quadrotor whose board rebuilds its sensors from pose packets: mil, sil and pil agree, and lost packets show."""

from __future__ import annotations

import re

import numpy as np
import pytest

from aeroloop.analysis.section import Table
from aeroloop.analysis.summary import summarise
from aeroloop.cli import board_commands
from aeroloop.controllers.pose import report
from aeroloop.controllers.pose.driver_table import LOG_HARD, LOG_SOFT, LOG_STALE, LOG_USES_SOFT, PARTS
from aeroloop.controllers.pose.metrics import differences
from aeroloop.controllers.pose.parameters import NAMES, Answer
from aeroloop.core.errors import EXIT_USAGE, ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.core.text_rows import text_of
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256

FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
SHORT = (
    "duration_s=5.0",
    "checks=[]",
    "ground.takeoff_s=1.5",
    "ground.climb_m_s=3.0",
    "ground.land_s=0.0",
    'ground.trajectory={kind="circle",center_W=[0.0,0.0,2.0],radius_m=1.5,period_s=5.0}',
)
"""Up, and into a circle; one law for all of these flights."""
POS_TOLERANCE_M = 2e-3
"""From mil: pulses of whole microseconds turn a rounding into a thousandth of a motor's range."""
OUTAGE = "pose.silent_s=[[3.0, 3.3]]"


def scenario(loop: str, *overrides: str) -> Scenario:
    return load(find("quad-pose"), (f'loop="{loop}"', *SHORT, *overrides))


def flown(loop: str, *overrides: str) -> Log:
    flight = fly_inline(scenario(loop, *overrides))
    assert flight.ended == "completed"
    return flight.logs[0]


def said(log: Log, event: Event) -> list[tuple[float, float]]:
    rows = log.rows["board_event"]
    return [(t_s, value) for t_s, _, code, value in rows.tolist() if code == event]


def samples(log: Log, part: str) -> np.ndarray:
    rows = log.rows["pose_sensor"]
    return rows[rows[:, 2] == PARTS.index(part)]


@pytest.fixture(scope="module")
def mil() -> Log:
    return flown("mil")


@pytest.fixture(scope="module")
def pil() -> Log:
    return flown("pil")


def test_sil_equals_mil_to_the_bit(mil: Log) -> None:
    assert log_sha256(flown("sil")) == log_sha256(mil)


def test_pil_flies_as_mil_does(mil: Log, pil: Log) -> None:
    assert np.max(np.abs(mil.rows["truth"][:, 2:5] - pil.rows["truth"][:, 2:5])) < POS_TOLERANCE_M
    assert len(mil.rows["pose_sensor"]) == len(pil.rows["pose_sensor"])
    assert np.array_equal(mil.rows["pose_sensor"][:, :4], pil.rows["pose_sensor"][:, :4])
    assert mil.rows["pose_state"].tolist() == pil.rows["pose_state"].tolist()


@pytest.mark.parametrize("loop", ["mil", "pil"])
def test_soft_is_near_hard_and_both_are_logged(loop: str, mil: Log, pil: Log) -> None:
    log = {"mil": mil, "pil": pil}[loop]
    numbers = summarise(scenario(loop), log, outcome=FLOWN)["metrics"]
    assert 1e-6 < numbers["soft_acc_rms_m_s2"] < 0.05
    assert 1e-6 < numbers["soft_gyro_rms_rad_s"] < 0.02
    assert numbers["soft_mag_rms_T"] < 2e-7
    assert numbers["soft_baro_max_m"] < 0.05
    assert numbers["soft_gnss_max_m"] < 0.05
    assert numbers["pose_sets_lost"] == 0
    assert (samples(log, "gyro")[-100:, 3] == LOG_SOFT | LOG_HARD | LOG_USES_SOFT).all()
    assert len(samples(log, "gnss")) == len(samples(log, "gnss velocity")) > 20
    assert np.isnan(samples(log, "barometer")[:, 7:9]).all()


def test_tilt_only_is_wrong_in_flight() -> None:
    paper = ("pose.format=paper", "pose.reconstruction=paper", 'pose.soft=["gyro","magnetometer","barometer","gnss"]')
    log = flown("sil", *paper, "ground.climb_m_s=5.0")
    assert np.sqrt(np.mean(differences(log, PARTS.index("accelerometer")) ** 2)) > 0.8
    assert np.sqrt(np.mean(differences(log, PARTS.index("gyro")) ** 2)) < 0.02


def test_the_board_reports_what_soft_sensors_cost(pil: Log, mil: Log) -> None:
    assert len(mil.rows["pose_cost"]) == 0
    flown_by = scenario("pil")
    sensors, cost = report.sections(flown_by, pil, {})  # type: ignore[arg-type]
    tables = [block for section in (sensors, cost) for block in section.blocks if isinstance(block, Table)]
    assert [row[0].partition(" (")[0] for row in tables[0].rows] == list(PARTS)
    assert [row[-1] for row in tables[0].rows[:3]] == ["0.006", "0.0081", "86"]
    assert [row[0] for row in tables[1].rows][-1] == "all"
    smallest, mean, largest, p99 = map(float, tables[1].rows[-1][1:5])
    assert 1000 < smallest <= mean <= p99 <= largest < 30_000
    numbers = summarise(flown_by, pil, outcome=FLOWN)["metrics"]
    assert 0.1 < numbers["pose_cost_mean_pct"] <= numbers["pose_cost_max_pct"] < 5


def test_a_short_outage_is_flagged_and_survived() -> None:
    log = flown("sil", OUTAGE)
    (lost,), (back,) = said(log, Event.SENSORS_LOST), said(log, Event.SENSORS_BACK)
    assert lost[0] == pytest.approx(3.1, abs=0.013)
    assert back[0] == pytest.approx(3.3, abs=0.009)
    assert said(log, Event.SAFE_COMMAND) == []
    flagged = samples(log, "gyro")
    flagged = flagged[flagged[:, 3].astype(int) & LOG_STALE > 0]
    assert flagged[0, 0] == lost[0]
    assert log.rows["truth"][-1, 4] > 1.0
    assert log.rows["pose_state"][-1, log.columns["pose_state"].index("lost")] == 0, "nothing was sent, so nothing lost"


@pytest.mark.parametrize("loop", ["mil", "pil"])
def test_a_long_outage_stops_the_rotors(loop: str) -> None:
    log = flown(loop, "pose.silent_s=[[3.0, 3.9]]", "duration_s=4.2")
    ((at_s, age_s),) = said(log, Event.SAFE_COMMAND)
    assert at_s == pytest.approx(3.5, abs=0.013)
    assert age_s == pytest.approx(0.504, abs=0.01)
    command = log.rows["command"]
    assert (command[command[:, 0] > at_s + 0.01, 2:6] == 0).all()
    assert (command[(command[:, 0] > 2.0) & (command[:, 0] < at_s), 2:6] > 0).all()


@pytest.mark.parametrize("loop", ["mil", "pil"])
def test_sens_soft_changes_only_while_disarmed(loop: str) -> None:
    changes = 'pose.changes=[{at_s=0.5,name="SENS_SOFT",value=30},{at_s=2.0,name="SENS_SOFT",value=0}]'
    log = flown(loop, changes, "duration_s=2.4")
    soft = NAMES.index("SENS_SOFT")
    assert [row[2:] for row in log.rows["pose_parameter"].tolist()] == [
        [soft, 30.0, 30.0, Answer.SET],
        [soft, 0.0, 30.0, Answer.ARMED],
    ]
    texts = [text_of(row[3:]) for row in log.rows["status_text"].tolist()]
    assert texts == ["SENS_SOFT 0: refused, the board is armed"]
    used = samples(log, "accelerometer")
    uses = used[:, 3].astype(int) & LOG_USES_SOFT > 0
    assert uses[used[:, 0] < 0.49].all()
    assert not uses[used[:, 0] > 0.51].any()
    assert log.rows["pose_state"][-1, 2] == 30


def test_noise_is_the_boards_or_the_pcs(mil: Log) -> None:
    quiet = np.std(differences(mil, PARTS.index("gyro")))
    for who in ("board", "pc"):
        log = flown("sil", f"pose.noise={who}", "duration_s=3.5")
        noisy = np.std(differences(log, PARTS.index("gyro")))
        assert 0.0025 < np.sqrt(max(noisy**2 - quiet**2, 0.0)) < 0.006, who
        state = dict(zip(log.columns["pose_state"], log.rows["pose_state"][-1], strict=True))
        assert state["sens_soft_noise"] == (who == "board")


def test_pulses_and_speeds_fly_alike(mil: Log) -> None:
    log = flown("sil", "pose.motors=pulses", "duration_s=3.0")
    rows = len(log.rows["truth"])
    assert np.max(np.abs(log.rows["truth"][:, 2:5] - mil.rows["truth"][:rows, 2:5])) < 0.01


def test_a_slow_line_in_the_format_of_the_paper_flies() -> None:
    log = flown("sil", "pose.rate_hz=50", "pose.baud=115200", "pose.position=float32", "pose.crc_init=0")
    assert log.rows["truth"][-1, 4] > 1.0
    assert said(log, Event.SENSORS_LOST) == []


REFUSED = {
    "rate beyond the line": (("pose.rate_hz=1000",), r"pose\.rate_hz: 1000 Hz of 108 bytes need 117% of 921600 baud"),
    "extended to a paper board": (
        ("pose.board=paper",),
        r"pose\.format: the board knows the paper's types 1 to 4 only .*; expected paper, not extended",
    ),
    "packet of another format": (
        ("pose.format=paper", 'pose.set=["attitude","position","force"]'),
        r"pose\.set: 'force' needs pose\.format 'extended', not 'paper'",
    ),
    "no position": (('pose.set=["attitude","rates"]',), r"pose\.set: .* without position"),
    "failsafe before the flag": (("pose.fail_s=0.05",), r"pose\.fail_s: expected at least pose\.stale_s \(0\.1 s\)"),
    "outage that ends first": (("pose.silent_s=[[2,1]]",), r"pose\.silent_s: expected \[from, to\]"),
    "unknown parameter": (
        ('pose.changes=[{at_s=1,name="SENS_HARD",value=1}]',),
        r"pose\.changes\[0\]\.name: unknown 'SENS_HARD', expected one of: SENS_SOFT",
    ),
    "unknown class": (('pose.soft=["sonar"]',), r"pose\.soft"),
    "impaired first line": (("link.to_board.loss=0.1",), r"link: the pose board's first line takes no impairment"),
    "emulated in real time": (("loop=pil", "pace=real"), r"pace: the emulated pose board flies in lockstep"),
    "more bytes than a packet takes": (("loop=pil", "pose.baud=3000000"), r"pose\.baud: in a control period"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(what: str) -> None:
    overrides, words = REFUSED[what]
    with pytest.raises(ConfigError, match=words) as refused:
        scenario("mil", *overrides)
    assert refused.value.exit_code == EXIT_USAGE
    assert "\n" not in str(refused.value)


def test_type_4_has_four_motors() -> None:
    with pytest.raises(ConfigError, match=re.escape("vehicle.airframe: type 4 of the pose packets has 4 motors")):
        fly_inline(scenario("mil", "vehicle.airframe=hexarotor"))


def test_a_board_on_a_line_of_its_own_is_refused() -> None:
    with pytest.raises(ConfigError, match="quad-pose: controller pose does not fly on hil; expected one of: mil, sil"):
        board_commands.firmware("quad-pose", None, None, rung="hil")
