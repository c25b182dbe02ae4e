"""The real virtual Pixhawk lands on the pad in simulated flight, by LANDING_TARGET with a camera's errors."""

from __future__ import annotations

import math

import pytest
from precision_flights import Companion, fly

from aeroloop.controllers.pixhawk.types import FlightMode

LOST = "PLD_BTOUT=1.0,PLD_SRCH_ALT=3.0"


def test_it_lands_on_the_pad_although_its_position_is_biased() -> None:
    companion = Companion()
    log = fly(companion)
    assert companion.off_m < 0.10
    assert companion.said("Landed") == 1
    assert not companion.aircraft[0].pixhawk.logic.status.armed
    assert companion.aircraft[0].pixhawk.services.links[0].counters.bad_landing_targets == 0
    assert FlightMode.PRECLAND in log.column("autopilot_state", "mode")


def test_without_targets_it_lands_by_gps_where_it_is() -> None:
    companion = Companion(sees=lambda t_s, height_m: False, precision=1)
    fly(companion)
    assert companion.said("no target; landing here") == 1
    assert companion.said("Landed") == 1
    assert companion.off_m > 0.5


@pytest.mark.soak  # test_pixhawk_precision_landing has each of these with a point mass
@pytest.mark.parametrize("seed", range(1, 6))
def test_more_seeds_land_on_the_pad(seed: int) -> None:
    companion = Companion(seed=seed)
    fly(companion)
    assert companion.off_m < 0.10


@pytest.mark.soak  # as above
def test_a_target_lost_in_the_descent_is_found_again() -> None:
    companion = Companion(sees=lambda t_s, height_m: not 14.0 < t_s < 18.0)
    fly(companion, f"autopilot.parameters={{{LOST}}}")
    assert companion.said("target lost in descent") == 1
    assert companion.said("target seen") == 2
    assert companion.off_m < 0.10


@pytest.mark.soak  # as above
def test_targets_in_the_wrong_frame_are_as_none() -> None:
    companion = Companion(frame=12)
    fly(companion)
    assert companion.sent > 100
    assert companion.aircraft[0].pixhawk.services.links[0].counters.bad_landing_targets == companion.sent
    assert companion.said("searching") == 1
    assert companion.said("no target; landing here") == 1
    assert math.isfinite(companion.off_m)
    assert companion.said("Landed") == 1
