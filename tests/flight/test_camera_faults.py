"""Faults of cameras and pad in the camera process, and which flights have them; without rendering."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aeroloop.cameras.shots import Image
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import check_planned, of_sight, sight_switch, words
from aeroloop.core.faults import KINDS, TARGETS, SightFaults, Switch, log_row
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load
from aeroloop.flight.processes.camera import Station

TWO = 'cameras=[{name="down"}, {name="eyes", preset="rgbd"}]'


def scenario(*changes: str) -> Scenario:
    return load(SCENARIOS / "quad-camera.toml", (TWO, "checks=[]", *changes))


class Pad:
    def __init__(self) -> None:
        self.seen: list[tuple[float, bool, bool]] = []

    def place(self, t_s: float, *, hidden: bool = False, covered: bool = False) -> None:
        self.seen.append((t_s, hidden, covered))


def station(pad: Pad) -> Station:
    """A camera of 10 Hz whose images have their number as colour."""

    def image(number: int, colour: int) -> Image:
        return Image(number, number * 100_000_000, np.full((2, 2, 3), colour, np.uint8), None)

    shooter: Any = SimpleNamespace(
        model=SimpleNamespace(first=0, rate_hz=10.0),
        shoot=lambda number, _: image(number, 10 + number),
        black=lambda number: image(number, 0),
    )
    return Station(0, shooter, None, pad=pad)


def switched(faults: SightFaults, t_s: float, target: str, kind: str, *, on: bool) -> None:
    faults.take(t_s, TARGETS.index(target), KINDS.index(kind), on, 0)


def test_each_fault_acts_on_its_frames() -> None:
    faults, pad = SightFaults(), Pad()
    for t_s, target, kind, on in (
        (0.0, "pad", "hide", True),
        (0.15, "pad", "hide", False),
        (0.15, "pad", "cover", True),
        (0.25, "camera", "frozen", True),
        (0.45, "camera", "frozen", False),
        (0.45, "camera", "dark", True),
    ):
        switched(faults, t_s, target, kind, on=on)
    camera, poses = station(pad), SimpleNamespace(set_scene=lambda _: None, at=None)
    images = [camera.shoot(poses, faults)[0] for _ in range(6)]  # type: ignore[arg-type]
    assert [int(image.rgb[0, 0, 0]) for image in images] == [10, 11, 12, 12, 12, 0]
    assert [image.number for image in images] == [0, 1, 2, 3, 4, 5]
    assert [image.t_ns for image in images] == [number * 100_000_000 for number in range(6)]
    assert pad.seen == [(0.0, False, False), (0.1, True, False), (0.2, False, True)]


def test_a_camera_is_found_by_its_name_and_named_in_the_log() -> None:
    flight = scenario()
    switch = Switch(target="camera", kind="dark", on=True, channel="eyes")
    row = log_row(switch, sight_switch(flight, switch))
    assert words(row, of_sight(flight)) == "camera eyes: dark on"
    assert sight_switch(flight, Switch(target="camera", kind="frozen", on=True)).channel == 0
    with pytest.raises(ConfigError, match="camera has no 'nose'; expected one of: down, eyes"):
        sight_switch(flight, Switch(target="camera", kind="dark", on=True, channel="nose"))


def test_a_flight_without_a_pad_has_no_fault_of_it() -> None:
    assert {offer.target for offer in of_sight(scenario())} == {"camera"}
    with pytest.raises(ConfigError, match=r"faults\[0\].target: no fault of pad can be switched in this flight"):
        check_planned(scenario('faults=[{target="pad", kind="hide", from_s=1.0}]'))
    landing = load(SCENARIOS / "quad-landing.toml")
    assert [offer.kind for offer in of_sight(landing) if offer.target == "pad"] == ["hide", "cover"]


def test_the_pad_has_no_channel_and_a_camera_no_bias() -> None:
    with pytest.raises(ValueError, match="concerns the whole"):
        Switch(target="pad", kind="hide", on=True, channel="left")
    with pytest.raises(ValueError, match="camera: cannot have bias, expected one of: frozen, dark"):
        Switch(target="camera", kind="bias", on=True, value=1.0)
