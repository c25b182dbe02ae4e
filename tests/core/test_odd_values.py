"""Values of a kind that a key does not have, wherever they stand: one sentence, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet_files import controllers_of, load_plan
from aeroloop.core.scenario_files import find

ODD = ("[]", "inf", '""', "[[]]")
TABLES = ("vehicle", "sensors", "controller", "pilot", "ground", "mission")


def keys(table: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, value in table.items():
        yield f"{before}{name}"
        if isinstance(value, dict):
            yield from keys(value, f"{before}{name}.")


@pytest.mark.parametrize("name", ["quad-hover", "tiltrotor-navigation", "fixedwing-loiter"])
def test_an_odd_value_is_a_sentence(name: str) -> None:
    path = find(name)
    flat = load_plan(path).flat()
    refused = 0
    for key in keys({table: flat[table] for table in TABLES if table in flat}):
        if key.count(".") > 1:
            continue
        for odd in ODD:
            override = (f"{key}={odd}",)
            try:
                controllers_of(path, override)
                load_plan(path, override).flat()
            except ConfigError as error:
                assert str(error).startswith(f"{path} with {override[0]}: "), error
                refused += 1
    assert refused > 60


def test_a_kind_that_is_no_text_is_named() -> None:
    with pytest.raises(ConfigError, match=r"vehicle\.kind: expected the name of a family .*, not \[\]"):
        load_plan(find("quad-hover"), ("vehicle.kind=[]",))
    with pytest.raises(ConfigError, match=r"quad-hover\.toml with vehicle=\[\]: vehicle: expected a table, not \[\]$"):
        load_plan(find("quad-hover"), ("vehicle=[]",))
    with pytest.raises(ConfigError, match=r"sensors\.fitted: expected `array`, got `float`"):
        load_plan(find("quad-hover"), ("sensors.fitted=inf",))


@pytest.mark.parametrize(
    ("name", "override", "words"),
    [
        (
            "quad-hover",
            "sensors.imu.accel.errors.offset=1e300",
            r"errors: offset: expected at most 1e\+09 in magnitude",
        ),
        ("quad-hover", "sensors.imu.gyro.errors.drift_std=[1e300,0,0]", "errors: drift_std: expected at most"),
        ("quad-hover", "sensors.imu.accel.misalignment_rad=[0,1e300,0]", "misalignment_rad: expected at most a turn"),
        ("quad-hover", "sensors.imu.gyro.scale_error=[1e300,0,0]", "scale_error: expected at most 1000"),
        ("rrr-circle", "vehicle.robot=[1]", r"vehicle\.robot: expected `str`, got `array`"),
        ("rrr-circle", "robot.proximal_kg=1e-300", r"robot\.proximal_kg: expected `float` >= 0\.001"),
    ],
)
def test_a_number_that_no_message_or_model_takes_is_refused(name: str, override: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_plan(find(name), (override,))
