"""Campaign files of any content: read, or refused in one sentence that names a key and what was expected."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.campaign import definition
from aeroloop.campaign.design_size import design_of
from aeroloop.core.errors import ConfigError

WIND = "world.wind.steady_W[0]"
GOOD: dict[str, Any] = {
    "name": "windy",
    "scenario": {
        "name": "short",
        "summary": "A second of the spiral",
        "duration_s": 0.6,
        "ground": {"trajectory": {"kind": "spiral"}},
        "checks": [{"metric": "pos_max_m", "below": 0.5}],
    },
    "flights": 8,
    "seed": 3,
    "design": "random",
    "seeds_per_point": 2,
    "loop": "mil",
    "parameter": [
        {"key": "link.to_plant.delay_s", "normal": {"mean": 0.002, "std": 0.001, "clip": [0.0, 0.004]}},
        {"key": "ground.trajectory.kind", "choice": ["spiral"], "weights": [1.0]},
        {"key": "duration_s", "lin": [0.4, 0.6, 2]},
    ],
    "check": [{"rate": "passed", "at_least": 0.5, "confidence": 0.9}],
    "wall_limit_s": 60.0,
    "retries": 2,
    "keep": 5,
}
KEYS = sorted({"name", "scenario", "from", "to", "search", "key", "grid", "lin", "uniform", "normal", "std", "weights"})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["", "sobol", "grid", "passed", "..", "/dev/null", "world.wind.steady_W[9]", "a[0][1]", "[0]", "."]
    ),
    st.datetimes(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for key, item in items for place in places(item, (*path, key))]


PLACES = [place for place in places(GOOD) if place[0] != "scenario"] + [("scenario",), ("search",), ("odd",)]


def changed(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    table = copy.deepcopy(GOOD)
    owner: Any = table
    for key in place[:-1]:
        owner = owner[key]
    owner[place[-1]] = value
    return table


@settings(max_examples=150)
@given(st.sampled_from(PLACES), VALUES)
def test_any_value_anywhere_is_read_or_refused_in_a_sentence(place: tuple[Any, ...], value: Any) -> None:
    try:
        read = definition.read(changed(place, value))
        design_of(read.definition)
    except ConfigError as error:
        text = str(error)
        assert text.startswith("campaign in code: "), text
        assert len(text) < 2000 and "\n" not in text and "Traceback" not in text
        named = {str(key) for key in place if isinstance(key, str)} | {each["key"] for each in GOOD["parameter"]}
        consequences = {"design": {"flights", "seeds_per_point"}, "search": {"parameter"}}
        assert any(name in text for name in named | consequences.get(place[0], set())), text


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_a_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("fuzz", numbered=True) / "odd.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        definition.read(file)
    assert str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


def test_the_good_one_is_good() -> None:
    assert definition.read(GOOD).path == Path("campaign in code")
