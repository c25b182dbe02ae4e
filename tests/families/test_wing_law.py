"""Inner loops from a user's file: flown on every rung, refused in one sentence, and the delay they are predicted to
stand."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.control import path_following
from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import narrowed
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.core.wing_signals import SURFACES
from aeroloop.families.fixedwing import airframe, margin
from aeroloop.families.fixedwing import law as wing_laws
from aeroloop.families.fixedwing.autopilot import autopilot_of
from aeroloop.families.fixedwing.design import flight_law
from aeroloop.families.fixedwing.images import generate
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.trim import trim
from aeroloop.flight.inline import fly_inline
from aeroloop.models.integrate import rk4
from aeroloop.recording.log import Log, log_sha256

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "laws" / "wing_pid.py"
HEAD = "import casadi as ca\nfrom aeroloop.control import wing_toolkit as tk\n\ndef law(design):\n"
BUILT_IN = HEAD + "    return design.law()\n"
TRIM = "    e, s, m = tk.inputs()\n    u = ca.SX(ca.DM(design.trim))\n"
PATH_FAILS_AT_Y_M, LOOPS_FAIL_AT_Y_M = 2205.0, 2235.0
"""Within the first seconds of the flight, one after the other."""
FAILING = f"""{HEAD}    good = design.law()
    e, s, m = (ca.SX.sym(good.name_in(i), good.size1_in(i)) for i in range(3))
    u, after = good(e, s, m)
    ill = ca.fabs(e[1] - {LOOPS_FAIL_AT_Y_M}) < 10
    return tk.function(e, s, m, u + ca.sqrt(-ill), after)
"""
TOLERANCES_M = {"sil": 0.02, "pil": 0.02}
"""Beside mil, after 8 s: single precision."""


def scenario(law: Path | None, rung: str = "mil", *more: str) -> FixedWingScenario:
    own = (f"control.law_file={law}",) if law else ()
    found = load(find("fixedwing-loiter"), (f'loop="{rung}"', "duration_s=8", "checks=[]", *own, *more))
    made = narrowed(found, FixedWingTables, PeriodTables)
    assert made is not None
    return made


@cache
def flown(law: Path | None, rung: str = "mil") -> Log:
    flight = fly_inline(scenario(law, rung))
    assert flight.ended == "completed"
    return flight.logs[0]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


def test_the_built_in_loops_from_a_file_are_the_same_flight(written: Path) -> None:
    written.write_text(BUILT_IN)
    assert log_sha256(flown(written)) == log_sha256(flown(None))


@pytest.mark.parametrize("rung", TOLERANCES_M)
def test_the_example_flies_alike_on_every_rung(rung: str) -> None:
    mil, other = flown(EXAMPLE), flown(EXAMPLE, rung)
    places = [np.stack([log.column("truth", f"{axis}_m") for axis in "xyz"]) for log in (mil, other)]
    assert np.max(np.abs(places[0] - places[1])) < TOLERANCES_M[rung]


def test_the_example_holds_height_and_airspeed_its_own_way() -> None:
    log, built_in = flown(EXAMPLE), flown(None)
    settled = log.column("truth", "t_s") > 4.0
    assert np.max(np.abs(log.column("truth", "airspeed_m_s")[settled] - 20.0)) < 3.0
    height_m = scenario(None).aircraft.mission.height_m
    assert np.max(np.abs(log.column("truth", "z_m")[settled] - height_m)) < 5.0
    assert np.max(np.abs(log.column("command", "aileron_rad") - built_in.column("command", "aileron_rad"))) > 0.01


def test_a_law_makes_another_image() -> None:
    assert generate(scenario(EXAMPLE)).image_id != generate(scenario(None)).image_id


@pytest.fixture
def path_following_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For 20 m of the flight its roll limit is NaN, which its clipping hides: every output remains a number."""

    def failing(*given: Any, **options: Any) -> ca.Function:
        good = path_following.pfol(*given, **options)
        inputs = [ca.SX.sym(good.name_in(i), good.size1_in(i)) for i in range(good.n_in())]
        ill = ca.fabs(inputs[1][1] - PATH_FAILS_AT_Y_M) < 10.0
        outputs = good.call([*inputs[:3], inputs[3] + ca.sqrt(-ill), *inputs[4:]])
        return ca.Function(good.name(), inputs, outputs, good.name_in(), good.name_out())

    monkeypatch.setattr(wing_laws, "pfol", failing)
    wing_laws.wing_law.cache_clear()
    yield
    wing_laws.wing_law.cache_clear()


@pytest.mark.parametrize("rung", ["mil", "sil", "pil"])
def test_laws_that_fail_in_flight_are_told_and_trim_or_wings_level_is_flown(
    written: Path, path_following_fails: None, rung: str
) -> None:
    written.write_text(FAILING)
    flight = fly_inline(scenario(written, rung, "duration_s=6"))
    log = flight.logs[0]
    told = log.column("board_event", "code") == Event.LAW_NOT_FINITE
    element, told_s = log.column("board_event", "value")[told], log.column("board_event", "t_s")[told]
    loops_s, path_s = told_s[element == 0], told_s[element == len(SURFACES)]
    assert len(loops_s) + len(path_s) == len(element), "the first servo, and after the servos the roll setpoint"
    assert all(10 < len(failed_s) < 30 for failed_s in (loops_s, path_s)), "20 m at about 20 m/s"
    assert np.all(np.isfinite(log.rows["command"])) and np.all(np.isfinite(log.rows["guidance"]))

    at_s = log.column("guidance", "t_s")
    level = log.column("guidance", "roll_command_rad") == 0.0
    assert at_s[level] == pytest.approx(path_s)
    trim = log.column("command", "aileron_rad") == 0.0
    assert log.column("command", "t_s")[trim][-len(loops_s) :] == pytest.approx(loops_s)
    assert flight.ended == "completed" and at_s[-1] - 1.0 > max(path_s[-1], loops_s[-1]), "it flies its law again"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", r"mine\.py: expected a function law\(design\) that returns a casadi\.Function, found none"),
        ("def law(design)\n", r"mine\.py, line 1: not valid Python"),
        (HEAD + "    return 3\n", r"mine\.py: law\(design\) must return a casadi\.Function, not int"),
        (HEAD + "    return design.thrust\n", r"mine\.py, line 5: AttributeError: .*thrust"),
        (
            HEAD + TRIM + "    return tk.function(e, s, m, u[:3])\n",
            r"mine\.py: command is 3x1; expected a law with inputs \(15\), \(3\), \(n\) and outputs \(4\), \(n\), not",
        ),
        (
            "import casadi as ca\nfrom aeroloop.control import toolkit as tk\n\ndef law(design):\n"
            "    a, b, m = tk.inputs()\n    return tk.function(a, b, m, a[:4])\n",
            r"mine\.py: estimate is 16x1; expected a law with inputs \(15\), \(3\), \(n\)",
        ),
        (
            HEAD + TRIM + "    u[3] = ca.log(-1 - e[4] ** 2)\n    return tk.function(e, s, m, u)\n",
            r"mine\.py: in straight and level flight the law returns nan for the throttle; expected a finite number",
        ),
    ],
)
def test_a_wrong_law_is_one_sentence(written: Path, text: str, words: str) -> None:
    written.write_text(text)
    with pytest.raises(ConfigError, match=words) as refused:
        autopilot_of(scenario(written))
    assert "\n" not in str(refused.value)


def test_what_single_precision_cannot_hold_is_refused_where_it_counts(written: Path) -> None:
    written.write_text(HEAD + TRIM + "    return tk.function(e, s, m, u + 1e-60 * e[0])\n")
    autopilot_of(scenario(written))
    with pytest.raises(ConfigError, match=r"mine\.py: cntr: the constant 1e-60 does not fit single precision"):
        generate(scenario(written, "sil"))


def swings_rad(law: Path | None, delay_s: float) -> tuple[float, float]:
    """The largest roll early and late in a flight of the model with exact estimates, rates as means over the period,
    and its commands delayed."""
    flight, step_s = scenario(law), 0.005
    craft, cntr = airframe.load("aerosonde"), flight_law(flight).cntr
    at = trim(craft, 20.0)
    move = rk4(margin._with_height(craft, craft.cruise.density_kg_m3))
    see = margin._estimate()
    x = margin._state(at.alpha_rad, 20.0, at.roll_rad, at.pitch_rad, at.rate_B)
    x[6] += 0.01
    lag_s, servos = np.array(craft.servos.lag_s), np.array(at.controls)
    waiting: deque[tuple[int, np.ndarray]] = deque()
    command, memory, late = np.array(at.controls), np.zeros(cntr.size1_in(2)), round(delay_s / step_s)
    rolls, rates = [], [x[3:6]]
    for tick in range(4000):
        if tick % 10 == 0:
            seen = x.copy()
            seen[3:6], rates = np.mean(rates, axis=0), []
            given, kept = cntr(see(seen), [at.roll_rad, 0.0, 20.0], memory)
            memory = kept.full().ravel()
            waiting.append((tick + late, given.full().ravel()))
        while waiting and waiting[0][0] <= tick:
            command = waiting.popleft()[1]
        servos = command + (servos - command) * np.exp(-step_s / lag_s)
        x = move(x, servos, step_s).full().ravel()
        rates.append(x[3:6])
        rolls.append(abs(x[6] - at.roll_rad))
    return max(rolls[400:1200]), max(rolls[-800:])


@pytest.mark.parametrize("law", [None, EXAMPLE], ids=["built-in", "example"])
def test_the_predicted_delay_margin_is_where_the_model_stops_converging(law: Path | None) -> None:
    predicted = margin.delay_margin(scenario(law))
    assert predicted is not None
    early, late = swings_rad(law, 0.85 * predicted["margin_s"])
    assert late < early
    early, late = swings_rad(law, 1.15 * predicted["margin_s"])
    assert late > 2 * early


def test_of_a_law_without_a_derivative_nothing_is_predicted(written: Path) -> None:
    written.write_text(HEAD + TRIM + "    return tk.function(e, s, m, u + ca.sqrt(e[9]))\n")
    assert margin.delay_margin(scenario(written)) is None


@pytest.mark.parametrize(("delay_s", "swings"), [(0.052, False), (0.06, True)])
def test_with_path_following_the_aircraft_stands_less(delay_s: float, swings: bool) -> None:
    still = ("world.wind.turbulence.w20_m_s=0", 'sensors.preset="ideal"', f"link.to_plant.delay_s={delay_s}")
    (log,) = fly_inline(scenario(None, "sil", *still)).logs
    late = log.column("truth", "t_s") > 6.0
    assert (np.ptp(log.column("truth", "roll_rad")[late]) > 0.3) == swings
