"""A fixed wing from a parameter file of one's own: trimmed, flown on its circle, and refused where it cannot fly."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from aeroloop.analysis.summary import summarise
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.trim import trim
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.process_table import launch_settings

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "aircraft"
SKYHUNTER = EXAMPLES / "skyhunter.toml"
FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}


def test_it_trims_at_its_own_speeds_and_not_at_the_aerosondes_angles() -> None:
    own, aerosonde = airframes.load(str(SKYHUNTER)), airframes.load("aerosonde")
    for speed_m_s in (own.cruise.speed_min_m_s, own.cruise.speed_m_s, own.cruise.speed_max_m_s):
        assert trim(own, speed_m_s).residual < 1e-9
    assert math.degrees(trim(own, 15.0).alpha_rad) == pytest.approx(0.6, abs=0.1)
    with pytest.raises(ConfigError, match="cannot fly at 15 m/s"):
        trim(aerosonde, 15.0)


def test_it_flies_its_circle_on_mil() -> None:
    plan = scenario_files.load(EXAMPLES / "skyhunter-loiter.toml", ("duration_s=20",))
    flight = fly_inline(plan)
    summary = summarise(plan, flight.logs[0], outcome=FLOWN)
    assert flight.ended == "completed" and summary["ok"], summary["checks"]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("mission.airspeed_m_s=5.0",), r"mission\.airspeed_m_s: the airframe cannot fly at 5 m/s.*skyhunter\.toml"),
        (
            ("mission.airspeed_m_s=60.0", "mission.loiter_radius_m=900.0"),
            r"it would need 1\.\d+ of throttle, expected 0",
        ),
    ],
)
def test_a_speed_without_a_trim_is_refused_before_take_off(
    overrides: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    plan = scenario_files.load(EXAMPLES / "skyhunter-loiter.toml", overrides)
    with pytest.raises(ConfigError, match=words):
        launch_settings(plan, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mass_kg = 2.28", "mass_kg = 500.0", "expected lift and thrust to balance; no solution found"),
        ("diameter_m = 0.2794", "diameter_m = 0.05", r"it would need 4\.\d+ of throttle, expected 0 to 1"),
        ("mass_kg = 2.28", "mass_kg = -1.0", r"mine\.toml: body\.mass_kg: expected `float` > 0"),
        (
            "area_m2 = 0.4296",
            "surface_m2 = 0.4296",
            r"mine\.toml: wing\.surface_m2: unknown key, expected one of: area_m2, span_m",
        ),
        (
            'kind = "polar"',
            'kind = "none"',
            r"mine\.toml: drag\.kind: invalid value 'none', expected one of: polar, linear",
        ),
        ("alpha = 5.1069", "alpha = 0.0", r"mine\.toml: lift\.alpha: expected more than 0, not 0"),
        ("rudder = -0.069", "rudder = 0.0", r"mine\.toml: yaw\.rudder: expected a surface that has an effect, not 0"),
        ("speed_m_s = 15.0", "speed_m_s = 30.0", r"mine\.toml: cruise\.speed_m_s: expected it between"),
    ],
)
def test_a_wing_that_cannot_fly_is_refused_with_its_file_and_key(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    text = SKYHUNTER.read_text()
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new, 1))
    plan = scenario_files.load(EXAMPLES / "skyhunter-loiter.toml", (f'vehicle.airframe="{tmp_path / "mine.toml"}"',))
    with pytest.raises(ConfigError, match=words) as told:
        launch_settings(plan, tmp_path)
    assert "\n" not in str(told.value)
