"""Campaign files: what is refused and in which words, and what is drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.campaign import definition
from aeroloop.campaign.design import flights
from aeroloop.campaign.design_size import MOST_FLIGHTS, design_of
from aeroloop.campaign.parameter import MOST_LEVELS, MOST_SAMPLES, Parameter
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import CAMPAIGNS

WIND = "world.wind.steady_W[0]"
MASS = "world.wind.turbulence.w20_m_s"


def table(**more: Any) -> dict[str, Any]:
    return {"name": "windy", "scenario": "quad-wind", "flights": 8, **more}


def uniform(key: str, *ends: float) -> dict[str, Any]:
    return {"key": key, "uniform": list(ends)}


@pytest.mark.parametrize("path", sorted(CAMPAIGNS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_campaigns_are_read_by_name(path: Path) -> None:
    assert definition.read(path.stem).path.resolve() == path.resolve()


def test_own_files_come_first_and_a_scenario_may_have_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = Path("quad-wind.toml")
    campaign, scenario = own.absolute(), (scenario_files.SCENARIOS / own).read_text("utf-8")
    campaign.write_text((CAMPAIGNS / own).read_text("utf-8"), encoding="utf-8")
    assert definition.find("quad-wind").samefile(campaign)
    assert definition.read("quad-wind").scenario.path == scenario_files.SCENARIOS / own
    assert own in definition.available()
    assert own not in scenario_files.available()
    own.write_text(scenario, encoding="utf-8")
    assert definition.find("quad-wind") == CAMPAIGNS / own
    assert scenario_files.find("quad-wind").samefile(own)
    assert {path.stem for path in definition.available()} == {path.stem for path in CAMPAIGNS.glob("*.toml")}
    with pytest.raises(ConfigError, match=r"unknown campaign 'quad-winds' \(did you mean 'quad-wind'\?\)"):
        definition.find("quad-winds")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fligths": 3}, "fligths: unknown key (did you mean 'flights'?), expected one of: name, "),
        ({"design": "sobel"}, "design: invalid enum value 'sobel', expected one of: grid, lhs, random, sobol"),
        ({"loop": "hil"}, "loop: invalid enum value 'hil', expected one of: mil, pil, sil"),
        ({"engine": "gpu"}, "engine: invalid enum value 'gpu', expected one of: batch, bench"),
        ({"scenario": "quad-winds"}, "scenario: unknown scenario 'quad-winds' (did you mean 'quad-wind'?)"),
        ({"scenario": "quad-free"}, "pilot.source: ground stations join in real time only"),
        ({"flights": None}, "flights: missing; expected the number of flights of a random design"),
        ({"parameter": [uniform("world.wind.stedy_W[0]", 0, 1)]}, "world.wind.stedy_W: unknown key (did you mean"),
        ({"parameter": [uniform("world.wind.steady_W[3]", 0, 1)]}, "world.wind.steady_W has 3 elements"),
        ({"parameter": [uniform("duration_s[0]", 0, 1)]}, "parameter[0].key: duration_s[0]: duration_s is not a list"),
        ({"parameter": [uniform("vehicle.scales.mass", 0, 1)]}, "parameter[0].key: vehicle.scales: unknown key"),
        ({"parameter": [uniform("duration_s", -2, 1)]}, "parameter[0].key: duration_s: expected"),
        ({"parameter": [{"key": WIND}]}, "expected exactly one of normal, uniform, choice, grid, lin, not none"),
        ({"parameter": [uniform(WIND, 2, 1)]}, f"{WIND}: expected the smaller value first, not [2.0, 1.0]"),
        ({"parameter": [uniform(WIND, 0, 1), uniform(WIND, 0, 2)]}, f"{WIND}: two parameters have this key"),
        ({"parameter": [{"key": WIND, "choice": [1, 2], "weights": [1]}]}, "weights: expected one for each"),
        ({"parameter": [uniform(WIND, 0, 1)], "design": "grid", "flights": None}, f"{WIND}: is drawn; expected `grid`"),
        ({"check": [{"rate": "pos_rms", "at_least": 0.5}]}, "unknown rate 'pos_rms' (did you mean 'pos_rms_m'?)"),
        ({"check": [{"at_least": 1.5}]}, "check[0].at_least: expected"),
        ({"search": {"key": "duration_s", "from": 1, "to": 2, "pass_rate": 0.0}}, "search.pass_rate: expected"),
        ({"search": {"key": "duration_ss", "from": 1, "to": 2}}, "search.key: duration_ss: unknown key (did you"),
    ],
)
def test_errors_name_file_key_and_expectation(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    given = {key: value for key, value in table(**changes).items() if value is not None}
    with pytest.raises(ConfigError) as refused:
        definition.read(given)
    text = str(refused.value)
    assert text.startswith("campaign in code: ")
    assert words in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"flights": 10_000_000}, "flights: the design has 10000000; expected at most 100000 with engine ="),
        ({"flights": 100_000, "design": "sobol"}, "flights: the design has 131072; expected at most 100000"),
        ({"flights": 10**12}, "flights: expected `int` <= 10000000"),
        ({"parameter": [{"key": WIND, "lin": [0, 0.01, 10**11]}]}, f"{WIND}: lin: expected 2 to {MOST_LEVELS} values"),
        (
            {"parameter": [{"key": WIND, "lin": [0, 1, 3000]}, {"key": MASS, "lin": [0, 1, 300_000]}]},
            "parameter: the grids ask for 900000000 flights with 1 seeds_per_point; expected at most 100000",
        ),
        (
            {
                "design": "grid",
                "flights": None,
                "seeds_per_point": 100,
                "parameter": [{"key": WIND, "lin": [0, 1, 2000]}],
            },
            "parameter: the grids ask for 200000 flights with 100 seeds_per_point",
        ),
        (
            {"engine": "batch", "flights": 10_000_000, "design": "sobol", "parameter": [uniform(WIND, 0, 1)]},
            "flights: the design has 16777216; expected at most 10000000 with engine =",
        ),
        (
            {
                "engine": "batch",
                "flights": None,
                "sensitivity": {"samples": 1 << 20},
                "parameter": [uniform(f"world.wind.steady_W[{index}]", 0, 1) for index in range(8)],
            },
            "sensitivity.samples: asks for 10485760 flights with 8 parameters; expected at most 10000000",
        ),
        (
            {
                "flights": None,
                "search": {
                    "keys": [
                        {"key": WIND, "from": 0, "to": 1, "scan": 1000},
                        {"key": MASS, "from": 0, "to": 1, "scan": 100},
                    ]
                },
            },
            "search.scan: its 100000 points ask for at least 300000 flights; expected at most 100000",
        ),
    ],
)
def test_too_many_flights_are_refused_before_any_is_planned(
    changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No list of levels is made to count them."""
    monkeypatch.setattr(Parameter, "levels", property(lambda self: pytest.fail("levels are listed")))
    given = {key: value for key, value in table(**changes).items() if value is not None}
    with pytest.raises(ConfigError) as refused:
        definition.read(given)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_as_many_flights_as_are_allowed_are_read() -> None:
    most = MOST_FLIGHTS["bench"]
    assert design_of(definition.read(table(flights=most)).definition).flights == most


def test_of_many_levels_a_few_are_tried_with_the_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    load = definition.CampaignFile._load
    monkeypatch.setattr(
        definition.CampaignFile, "_load", lambda self, changes: (loaded.append(changes), load(self, changes))
    )
    given = table(design="grid", parameter=[{"key": MASS, "lin": [0.0, 9.0, 90_000]}])
    del given["flights"]
    definition.read(given)
    assert len(loaded) == MOST_SAMPLES
    assert (loaded[0], loaded[-1]) == ((f"{MASS}=0.0",), (f"{MASS}=9.0",))


def test_the_worst_value_of_a_long_list_is_tried_with_the_scenario() -> None:
    grid = [1.0] * 501
    grid[277] = -1.0
    given = table(design="grid", parameter=[{"key": MASS, "grid": grid}])
    del given["flights"]
    with pytest.raises(ConfigError, match=r"parameter\[0\].key: world.wind.turbulence.w20_m_s: expected"):
        definition.read(given)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"quad-winds.*did you mean 'quad-wind'"):
        definition.find("quad-winds")


def values(key: str, **more: Any) -> list[Any]:
    read = definition.read(table(**more))
    return [flight.values[key] for flight in flights(read.definition)]


def test_another_parameter_and_more_flights_leave_random_draws_alone() -> None:
    alone = values(WIND, parameter=[uniform(WIND, -1, 1)])
    both = values(WIND, parameter=[uniform(MASS, 0, 9), uniform(WIND, -1, 1)])
    longer = values(WIND, parameter=[uniform(WIND, -1, 1)], flights=20)
    assert alone == both == longer[:8]
    assert len(set(alone)) == 8
    assert values(WIND, parameter=[uniform(WIND, -1, 1)], seed=2) != alone


def test_sobol_is_rounded_up_and_doubles_without_other_values() -> None:
    parameters = [uniform(MASS, 0, 9), uniform(WIND, -1, 1)]
    read = definition.read(table(flights=6, design="sobol", parameter=parameters))
    design = design_of(read.definition)
    assert (design.flights, design.points) == (8, 8)
    assert design.remark == "8 flights instead of 6: a Sobol design needs a power of two (8 points of 1 flight)"
    assert design_of(definition.read(table(design="sobol", parameter=parameters)).definition).remark == ""
    eight = values(WIND, design="sobol", parameter=parameters)
    assert values(WIND, design="sobol", parameter=parameters[::-1]) == eight
    assert values(WIND, design="sobol", parameter=parameters, flights=16)[:8] == eight
    assert sorted(math.floor(4 * (value + 1)) for value in eight) == list(range(8))  # one in each eighth


def test_latin_hypercube_has_one_value_in_each_stratum() -> None:
    drawn = values(WIND, design="lhs", parameter=[uniform(WIND, 0, 8), uniform(MASS, 0, 1)])
    assert sorted(map(math.floor, drawn)) == list(range(8))


def test_grids_multiply_and_share_noise_seeds() -> None:
    parameters = [{"key": WIND, "grid": [0.0, 4.0]}, {"key": MASS, "lin": [0, 9, 4]}]
    given = {**table(design="grid", seeds_per_point=2, parameter=parameters)}
    del given["flights"]
    planned = list(flights(definition.read(given).definition))
    assert len(planned) == 16
    assert [flight.number for flight in planned] == list(range(1, 17))
    assert {(flight.values[WIND], flight.values[MASS]) for flight in planned} == {
        (wind, mass) for wind in (0.0, 4.0) for mass in (0.0, 3.0, 6.0, 9.0)
    }
    assert len({flight.seed for flight in planned}) == 2


def test_distributions_have_their_moments_and_limits() -> None:
    normal = {"key": WIND, "normal": {"mean": 1.0, "std": 2.0, "clip": [-3, 5]}}
    choice = {"key": "sensors.preset", "choice": ["px4", "consumer"], "weights": [3, 1]}
    drawn = list(flights(definition.read(table(flights=4000, parameter=[normal, choice])).definition))
    wind = np.array([flight.values[WIND] for flight in drawn])
    assert (wind.min(), wind.max()) == (-3.0, 5.0)
    assert abs(np.median(wind) - 1.0) < 0.15
    assert abs(np.mean(np.abs(wind - 1.0) < 2.0) - 0.683) < 0.03
    assert abs(np.mean([flight.values["sensors.preset"] == "px4" for flight in drawn]) - 0.75) < 0.03
    assert len({flight.seed for flight in drawn}) == 4000


def test_elements_of_one_tuple_change_together() -> None:
    campaign = definition.read(table(parameter=[uniform(WIND, 0, 1), uniform("world.wind.steady_W[1]", 0, 1)]))
    changes = campaign.changes({WIND: 0.5, "world.wind.steady_W[1]": 0.25}, seed=7)
    assert changes == ("world.wind.steady_W=[0.5, 0.25, 0.0]", "seed=7")
    assert campaign.scenario.changed(changes)["world.wind.steady_W"] == (0.5, 0.25, 0.0)
