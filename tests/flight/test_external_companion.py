"""A companion outside of the flight, as on a board: `examples/companion.py` lands an aircraft whose GNSS is biased."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from aeroloop.api.flying import choose
from aeroloop.api.scenarios import named
from aeroloop.controllers.pixhawk.process import build_pilot
from aeroloop.core.errors import ConfigError
from aeroloop.flight.process_table import roles
from aeroloop.world.earth import Earth

pytest.importorskip("cv2")
from external_landing import EXAMPLE, landing
from pad_images import DOWN, drawn, view


def test_an_external_companion_is_no_process_and_the_mission_lands_on_its_targets() -> None:
    plan = landing("tcp://127.0.0.1:5600")
    assert plan.pace == "real"
    assert plan.cameras[0].link == "tcp://127.0.0.1:5600?listen"
    assert [role.name for role in roles(plan)] == ["recorder", "plant", "board", "router", "camera"]
    assert plan.landing is not None and plan.landing.precise
    assert plan.controller.autopilot.ground_links[0] == "udp://127.0.0.1:14540"


@pytest.mark.parametrize(("use", "precision"), [("vision", 2.0), ("gps", 0.0)])
def test_a_mission_lands_at_the_coordinates_of_the_pad(use: str, precision: float) -> None:
    plan = named("quad-landing").changed((f"landing.use={use}", "pad.pos_m=[3.0, -2.0]", "checks=[]")).plan
    *_, last = build_pilot(plan, 0)._items
    lat_deg, lon_deg, _ = Earth(plan.aircraft.home).geodetic((3.0, -2.0, 0.0))
    assert (last.lat_deg, last.lon_deg) == pytest.approx((lat_deg, lon_deg), abs=1e-9)
    assert last.params[1] == precision


def test_for_a_board_elsewhere_mavlink_is_served_where_the_frames_are() -> None:
    """Its address is not known before it was heard."""
    links = landing("tcp://0.0.0.0:5600?listen").controller.autopilot.ground_links
    assert links == ("udp://0.0.0.0:14540?listen", "udp://127.0.0.1:14550")


@pytest.mark.parametrize(
    ("name", "url", "pace", "expected"),
    [
        ("quad-landing", "udp://1.2.3.4:5", None, "--companion: expected tcp://HOST:PORT, for example"),
        ("quad-hover", "tcp://0.0.0.0:5600", None, "--companion: quad-hover is no landing with a camera; expected"),
        ("quad-landing", "tcp://0.0.0.0:5600", "lockstep", "landing.use: lockstep does not wait for an external"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(name: str, url: str, pace: str | None, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _ = choose(named(name), companion=url, pace=pace).plan
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_example_is_short_and_independent() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert "import aeroloop" not in text and "from aeroloop" not in text


@pytest.mark.parametrize("yaw", [0.0, 1.6, 3.14, -2.0])
@pytest.mark.parametrize("height_m", [0.15, 1.0, 6.0])
def test_the_example_finds_the_pad_however_it_is_turned(height_m: float, yaw: float) -> None:
    described = importlib.util.spec_from_file_location("companion_example", EXAMPLE)
    assert described is not None and described.loader is not None
    example = importlib.util.module_from_spec(described)
    described.loader.exec_module(example)
    seen = view(height_m, 0.1 * height_m, -0.05 * height_m, tilt=(0.1, -0.05), yaw=yaw)
    pos_C = example.find_pad(drawn(seen, np.random.default_rng(1)), DOWN.matrix, np.zeros(5))
    assert pos_C == pytest.approx(seen.pos_C, abs=0.01 * height_m)
    assert example.find_pad(np.zeros((480, 640), np.uint8), DOWN.matrix, np.zeros(5)) is None
