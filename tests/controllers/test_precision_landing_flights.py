"""The real virtual Pixhawk lands on the pad in simulated flight, by LANDING_TARGET with a camera's errors."""

from __future__ import annotations

import math

import pytest
from precision_flights import Companion, OffboardCompanion, by_autopilot, by_companion, fly, resting, rms_m

from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.core.signals import Event
from aeroloop.perception.landing_states import LandingSettings, State
from aeroloop.perception.offboard_landing import OffboardSettings, Outcome

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


def test_it_lands_on_the_pad_in_wind_and_turbulence() -> None:
    """With AL_PLD_GATE = 0 the same flight ends 49 cm from the pad."""
    touchdown = by_autopilot(1)
    assert touchdown.by_vision
    assert touchdown.off_m < 0.05
    assert touchdown.speed_m_s < 0.2


@pytest.mark.soak  # test_it_lands_on_the_pad_in_wind_and_turbulence is one of these
def test_twenty_landings_in_wind_meet_the_targets() -> None:
    by_vision, by_gps = ([by_autopilot(seed, vision=vision) for seed in range(20)] for vision in (True, False))
    assert all(touchdown.by_vision for touchdown in by_vision)
    assert rms_m(by_vision) <= 0.05
    assert max(touchdown.off_m for touchdown in by_vision) <= 0.12
    assert rms_m(by_vision) <= 0.1 * rms_m(by_gps)


def test_the_companion_lands_on_a_driving_pad() -> None:
    touchdown = by_companion(1, speed_m_s=0.5)
    assert touchdown.by_vision
    assert touchdown.off_m < 0.06
    assert touchdown.speed_m_s < 0.2, "over the pad"


@pytest.mark.soak  # the test above is one of these
@pytest.mark.parametrize(("speed_m_s", "most_m"), [(0.0, 0.05), (0.5, 0.06)])
def test_twenty_landings_by_the_companion_meet_the_targets(speed_m_s: float, most_m: float) -> None:
    touchdowns = [by_companion(seed, speed_m_s=speed_m_s) for seed in range(20)]
    assert all(touchdown.by_vision for touchdown in touchdowns)
    assert rms_m(touchdowns) <= most_m
    assert max(touchdown.off_m for touchdown in touchdowns) <= 0.12


@pytest.mark.soak  # test_offboard_landing has phases and requests alone
def test_the_companion_enters_the_mode_lands_and_the_motors_stop() -> None:
    companion = OffboardCompanion(pad=resting((0.6, -0.4, 0.0)))
    log = fly(companion, "autopilot.parameters={COM_DISARM_LAND=-1}")
    assert companion.states == [State.SEARCH, State.APPROACH, State.DESCEND, State.LAND, State.DONE]
    assert companion.off_m < 0.05
    assert companion.said("Landed") == 1
    assert not companion.aircraft[0].pixhawk.logic.status.armed, "by the companion's request"
    assert FlightMode.OFFBOARD in log.column("autopilot_state", "mode")
    assert companion.aircraft[0].pixhawk.services.links[0].counters.bad_offboard == 0


@pytest.mark.soak  # as above
def test_without_a_pad_the_companion_lets_the_autopilot_land() -> None:
    settings = OffboardSettings(landing=LandingSettings(search_s=5.0))
    companion = OffboardCompanion(sees=lambda t_s, height_m: False, settings=settings)
    log = fly(companion)
    assert companion.flight is not None
    assert companion.flight.outcome is Outcome.GIVEN_UP
    assert companion.said("Landed") == 1
    assert FlightMode.LAND in log.column("autopilot_state", "mode")


@pytest.mark.soak  # test_pixhawk_precision_landing has this with a point mass
def test_a_target_lost_in_the_descent_is_found_again() -> None:
    companion = Companion(sees=lambda t_s, height_m: not 14.0 < t_s < 18.0)
    fly(companion, f"autopilot.parameters={{{LOST}}}")
    assert companion.said("target lost in descent") == 1
    assert companion.said("target seen") == 2
    assert companion.off_m < 0.10


@pytest.mark.soak  # as above
def test_targets_in_the_wrong_frame_are_as_none() -> None:
    companion = Companion(frame=12)
    log = fly(companion)
    assert companion.sent > 100
    assert companion.aircraft[0].pixhawk.services.links[0].counters.bad_landing_targets == companion.sent
    refused = log.column("board_event", "value")[log.column("board_event", "code") == Event.LANDING_TARGETS_REFUSED]
    assert refused[-1] == companion.sent
    assert companion.said("searching") == 1
    assert companion.said("no target; landing here") == 1
    assert math.isfinite(companion.off_m)
    assert companion.said("Landed") == 1
