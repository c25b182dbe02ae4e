"""Channels of external autopilots: each moves its surface, in the direction that the autopilot means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.core.wing_signals import SURFACES
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.channels import STANDARD, Channels, SurfaceChannel, commands, rows
from aeroloop.families.fixedwing.trim import trim
from aeroloop.models import fixedwing

AEROSONDE = airframes.load("aerosonde")
LEVEL = trim(AEROSONDE)
NEUTRAL = {"px4": [0.0] * 16, "ardupilot": [1500.0] * 16}
STANDARD_ROWS = Channels()
SPAN = {"px4": 1.0, "ardupilot": 500.0}


def commanded(controller: str, changed: dict[int, float], channels: Channels = STANDARD_ROWS):
    values = list(NEUTRAL[controller])
    values[rows(channels, controller)[3].channel - 1] = rows(channels, controller)[3].trim
    for channel, value in changed.items():
        values[channel - 1] = value
    return commands(rows(channels, controller), AEROSONDE.servos, LEVEL.controls)(values)


@pytest.mark.parametrize("controller", list(STANDARD))
def test_neutral_values_are_level_flight_without_throttle(controller: str) -> None:
    assert commanded(controller, {}) == (*LEVEL.controls[:3], 0.0)


@pytest.mark.parametrize("controller", list(STANDARD))
@pytest.mark.parametrize(("surface", "axis", "direction"), [(0, 0, 1), (1, 1, -1), (2, 2, -1)])
def test_a_positive_value_rolls_right_pitches_up_and_yaws_right(
    controller: str, surface: int, axis: int, direction: int
) -> None:
    """The signs are the model's answer, in axes forward, left, up: pitching up and yawing right are negative there."""
    row = rows(Channels(), controller)[surface]
    dot = fixedwing.state_dot(AEROSONDE)
    around = (LEVEL.state(), np.zeros(3), AEROSONDE.cruise.density_kg_m3, 9.80665)
    turned = [
        np.array(dot(around[0], commanded(controller, changed), *around[1:])).ravel()[10 + axis]
        for changed in ({}, {row.channel: row.trim + 0.3 * SPAN[controller]})
    ]
    assert direction * (turned[1] - turned[0]) > 0.5


@pytest.mark.parametrize(("controller", "full"), [("px4", 1.0), ("ardupilot", 2000.0)])
def test_throttle_runs_from_none_to_full(controller: str, full: float) -> None:
    row = rows(Channels(), controller)[3]
    assert commanded(controller, {row.channel: full})[3] == 1.0
    assert commanded(controller, {row.channel: (row.trim + full) / 2})[3] == 0.5
    assert commanded(controller, {row.channel: row.trim - 0.5})[3] == 0.0


def test_a_scenario_changes_single_values_of_a_row() -> None:
    changed = Channels(elevator=SurfaceChannel(sign=1, neutral=0.0), aileron=SurfaceChannel(channel=7, trim=0.1))
    table = rows(changed, "px4")
    assert table[0] == (7, 0.1, 1.0, 1, None)
    assert table[1] == (2, 0.0, 1.0, 1, 0.0)
    travel = AEROSONDE.servos.high[1]
    assert commanded("px4", {2: 0.5}, changed)[1] == pytest.approx(0.5 * travel)


def test_two_surfaces_on_one_channel_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"channels\.rudder\.channel: 1 is the aileron's"):
        rows(Channels(rudder=SurfaceChannel(channel=1)), "px4")


def test_a_value_that_is_nan_stays_nan() -> None:
    assert math.isnan(commanded("px4", {2: math.nan})[1])


@given(st.lists(st.floats(-10.0, 10.0), min_size=16, max_size=16))
def test_positions_stay_within_one_travel_of_neutral(values: list[float]) -> None:
    command = commands(STANDARD["px4"], AEROSONDE.servos, LEVEL.controls)(values)
    for at, name in enumerate(SURFACES[:3]):
        assert abs(command[at] - LEVEL.controls[at]) <= AEROSONDE.servos.high[at] + 1e-12, name
    assert 0.0 <= command[3] <= 1.0
