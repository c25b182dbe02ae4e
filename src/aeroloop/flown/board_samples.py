"""The samples that a pose board flew with: of each class of sensor the driver in use, soft or hard.

The streams of the sensors are the plant's own. A board with soft drivers flies with what it rebuilt from poses, and
that is what its log would hold.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aeroloop.core.config import read_toml
from aeroloop.core.geodesy import geodetic
from aeroloop.core.signals import Origin
from aeroloop.flown.record import Array
from aeroloop.flown.rules import Message, Rule, above_start, scaled
from aeroloop.recording.log import Log
from aeroloop.sensors.barometer import EXPONENT, LAPSE_K_PER_M, SEA_LEVEL_K, SEA_LEVEL_PA
from aeroloop.sensors.reconstruction import CLASSES

STREAM = "pose_sensor"
USES_SOFT = 4  # of its column `flags`
AXES = ("x", "y", "z")
SIGNS = (1.0, -1.0, -1.0)
"""Forward-left-up to forward-right-down."""
MESSAGES = {name: f"board {name}" for name in CLASSES}
RULES: tuple[Rule, ...] = (
    *(
        scaled(f"{name}_{axis}", MESSAGES[of], axis, sign)
        for name, of in (("gyro", "gyro"), ("accel", "accelerometer"), ("mag", "magnetometer"))
        for axis, sign in zip(AXES, SIGNS, strict=True)
    ),
    scaled("pressure", MESSAGES["barometer"], "pressure_Pa"),
    Rule("height", MESSAGES["barometer"], ("altitude_m",), above_start),
    *(
        scaled(name, MESSAGES["gnss"], f"{name}_{unit}")
        for name, unit in (("lat", "deg"), ("lon", "deg"), ("alt", "m"))
    ),
)


def used(log: Log, aircraft: int, scenario: Path, *, always_soft: bool = False) -> dict[str, Message]:
    """Messages by class, for RULES; empty for another board. Places need home, from the scenario beside the log.

    `always_soft`: those of the soft drivers also where they were not in use (`pose.shadow`).
    """
    if STREAM not in log.rows or not len(log.rows[STREAM]):
        return {}
    names = log.columns[STREAM]
    rows = log.rows[STREAM][log.rows[STREAM][:, names.index("vehicle")] == aircraft]
    made = {}
    for number, name in enumerate(CLASSES):
        own = rows[rows[:, names.index("part")] == number]
        soft = (own[:, names.index("flags")].astype(int) & USES_SOFT > 0) | always_soft
        pick = {
            column: np.where(soft, own[:, names.index(f"soft_{column}")], own[:, names.index(f"hard_{column}")])
            for column in ("age_s", *AXES)
        }
        made[MESSAGES[name]] = Message(own[:, 0] - pick.pop("age_s"), pick)
    barometer, gnss = made[MESSAGES["barometer"]], made.pop(MESSAGES["gnss"])
    altitude_m = barometer.columns["x"]
    made[MESSAGES["barometer"]] = Message(
        barometer.t_s, {"altitude_m": altitude_m, "pressure_Pa": _pressure(altitude_m)}
    )
    home = _home(scenario)
    if home is not None:
        made[MESSAGES["gnss"]] = Message(gnss.t_s, _places(gnss, home))
    return made


def _home(scenario: Path) -> Origin | None:
    if not scenario.is_file():
        return None
    home = read_toml(scenario).get("world", {}).get("home")
    return None if home is None else Origin(home["lat_deg"], home["lon_deg"], home["alt_m"])


def _pressure(altitude_m: Array) -> Array:
    """Of the standard atmosphere: the board keeps the barometer's altitude."""
    return np.asarray(SEA_LEVEL_PA * (1.0 - altitude_m * LAPSE_K_PER_M / SEA_LEVEL_K) ** (1.0 / EXPONENT))


def _places(gnss: Message, home: Origin) -> dict[str, Array]:
    pos_W = np.stack([gnss.columns[axis] for axis in AXES], axis=1)
    places = [geodetic(home, (x, y, z)) for x, y, z in pos_W.tolist()]
    return dict(zip(("lat_deg", "lon_deg", "alt_m"), np.array(places).reshape(-1, 3).T, strict=True))
