"""Scenarios in code: what is changed there is checked as a file is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import aeroloop
from aeroloop.api.flying import choose
from aeroloop.api.scenarios import named
from aeroloop.core.config import apply_overrides, override

ROOT = Path(__file__).resolve().parents[2]
SLED = ROOT / "examples/aircraft/sled"

values = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(values)
@example("C:\\x\n\"'\x7f\u2028 = [1]")
@example({"a b": {"": [[], {}]}})
@example(float("inf"))
def test_a_value_in_python_is_the_value_in_the_table(value: Any) -> None:
    table: dict[str, Any] = {"world": {"other": 1}}
    apply_overrides(table, (override("world.key", value),))
    assert table == {"world": {"other": 1, "key": value}}


def test_values_of_numpy_and_paths_are_values_too() -> None:
    plan = aeroloop.scenario(
        "quad-hover", set={"world.wind.steady_W": np.array([3.0, 0.0, 1.0]), "duration_s": np.float64(4.5)}
    )
    assert plan["world.wind.steady_W"] == (3.0, 0.0, 1.0) or plan["world.wind.steady_W"] == [3.0, 0.0, 1.0]
    assert plan["duration_s"] == 4.5
    assert override("x", Path("a/b")) == 'x="a/b"'


@pytest.mark.parametrize("value", [None, object(), {1, 2}, [1, None]], ids=["none", "object", "set", "list"])
def test_a_value_that_toml_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(aeroloop.ConfigError, match="seed: expected a number, text, true or false"):
        aeroloop.scenario("quad-hover", set={"seed": value})


def test_set_gives_another_plan_and_leaves_the_first() -> None:
    first = aeroloop.scenario("quad-hover")
    windy = first.set({"world.wind.steady_W": [3, 0, 0]}).set({"seed": 9})
    assert (first["seed"], windy["seed"]) == (1, 9)
    assert list(windy["world.wind.steady_W"]) == [3.0, 0.0, 0.0] and list(first["world.wind.steady_W"]) == [0, 0, 0]
    assert windy.name == "quad-hover" and windy.parts == ("quad-hover",)
    assert "steady_W" in repr(windy)


def test_a_mistake_is_told_where_it_is_made() -> None:
    with pytest.raises(aeroloop.ConfigError, match=r"world\.wind\.stedy_W: unknown key"):
        aeroloop.scenario("quad-hover").set({"world.wind.stedy_W": [3, 0, 0]})
    with pytest.raises(aeroloop.ConfigError, match="unknown scenario 'quad-hoover'"):
        aeroloop.scenario("quad-hoover")
    with pytest.raises(aeroloop.ConfigError, match="set: expected a mapping"):
        aeroloop.scenario("quad-hover", set=["seed=3"])  # type: ignore[arg-type]


def test_a_goal_in_the_hillside_is_told_where_it_is_made() -> None:
    goal = {"mission.goal_m": [-225, -675]}
    words = r"mission\.goal_m: the circle of 150 m around -225, -675 leads over blocked cells"
    with pytest.raises(aeroloop.ConfigError, match=f"^{words}"):
        aeroloop.scenario("fixedwing-hierarchical", set=goal)
    with pytest.raises(aeroloop.ConfigError, match=f"^{words}"):
        aeroloop.scenario("fixedwing-hierarchical").set(goal)
    with pytest.raises(
        aeroloop.ConfigError, match=r"^aircraft\[0\]\.world\.start_pos_W: the start is below the ground"
    ):
        aeroloop.scenario("mixed-fleet", set={"aircraft[0].world.start_pos_W": [0, 0, -5]})


def test_the_options_of_a_flight_are_checked_together_with_what_is_set() -> None:
    """On pil another controller flies a quadrotor than on mil, with other keys."""
    asked = named({"name": "mine", "vehicle": {"kind": "quadrotor"}}).changed(('ground.trajectory.kind="hover"',))
    with pytest.raises(aeroloop.ConfigError, match="ground: a table of controller law"):
        asked.checked()
    chosen = choose(asked, loop="pil", seed=4, pace="real")
    assert (chosen["loop"], chosen["seed"], chosen["pace"]) == ("pil", 4, "real")


def test_a_controller_with_a_clock_of_its_own_flies_in_real_time() -> None:
    assert choose(named("tiltrotor-spiral"), loop="hil", link="serial:///dev/x")["pace"] == "real"
    assert choose(named("quad-hover"))["pace"] == "lockstep"
    assert choose(named("quad-hover"), watched=True)["pace"] == "real"


def test_a_law_of_ones_own_is_a_key_of_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert choose(named("tiltrotor-spiral"), law="my law.py")["control.law_file"] == str(tmp_path / "my law.py")
    with pytest.raises(aeroloop.ConfigError, match="--law: several aircraft fly"):
        choose(named("mixed-fleet"), law="law.py")


def test_a_key_that_is_not_there_is_a_key_error() -> None:
    plan = aeroloop.scenario("mixed-fleet")
    assert plan["aircraft[0].seed"] == plan.to_dict()["aircraft"][0]["seed"]
    for key in ("world.nothing", "aircraft[99]", "name.x"):
        with pytest.raises(KeyError, match="no such key"):
            _ = plan[key]


def test_a_scenario_can_be_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SLED.parent)  # file names in code are relative to the current folder
    table = {"name": "mine", "duration_s": 2.0, "vehicle": {"kind": "./sled", "mass_kg": 3.0}}
    plan = aeroloop.scenario(table, set={"seed": 5})
    assert (plan.name, plan["vehicle.mass_kg"], plan["seed"]) == ("mine", 3.0, 5)
    assert "seed" not in table
    (tmp_path / "mine.toml").write_text(plan.to_toml())
    assert aeroloop.scenario(tmp_path / "mine.toml").to_dict() == plan.to_dict()
    with pytest.raises(aeroloop.ConfigError, match=r"scenario in code: mass_kg: unknown key"):
        aeroloop.scenario({**table, "mass_kg": 3.0})


def test_a_table_can_be_a_fleet() -> None:
    sled = str(SLED.parent / "sled.toml")
    two = aeroloop.scenario({"name": "two", "aircraft": [{"scenario": sled}, {"scenario": sled, "name": "other"}]})
    assert two.parts == ("sled", "other")


def test_the_scenarios_that_are_there_have_names_and_summaries() -> None:
    listed = {info.name: info for info in aeroloop.scenarios()}
    assert "quad-hover" in listed and listed["quad-hover"].summary
    assert listed["quad-hover"].path.name == "quad-hover.toml"


def test_a_family_from_elsewhere_is_executed_only_with_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    here.mkdir()
    (elsewhere / "glider").mkdir(parents=True)
    (elsewhere / "glider" / "family.py").write_text("raise RuntimeError('it ran')\n")
    (elsewhere / "glide.toml").write_text('name = "glide"\n[vehicle]\nkind = "./glider"\n')
    monkeypatch.chdir(here)
    for opened in (aeroloop.scenario, aeroloop.bench):
        with pytest.raises(aeroloop.ConfigError, match="is executed as Python"):
            opened(elsewhere / "glide.toml")
        with pytest.raises(aeroloop.ConfigError, match="it ran"):
            opened(elsewhere / "glide.toml", trust=True)
