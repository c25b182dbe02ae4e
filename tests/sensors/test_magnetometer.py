"""The magnetometer: the field turned into the body, iron, and currents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygeomag import GeoMag
from sensor_scenes import FIELD_W_T, G, scene, state

from aeroloop.core import frames
from aeroloop.core.signals import Place
from aeroloop.sensors.magnetometer import Magnetometer, MagnetometerConfig
from aeroloop.sensors.noise import Errors, Streams

ANGLE = st.floats(-math.pi, math.pi)
PITCH = st.floats(-1.5, 1.5)


def magnetometer(**config: object) -> Magnetometer:
    return Magnetometer(MagnetometerConfig(rate_hz=50.0, **config), Streams(1))


def test_level_and_facing_east_it_measures_the_field_as_it_is() -> None:
    assert magnetometer().measure(scene(), 1).field_B_T == pytest.approx(FIELD_W_T, rel=1e-12)


def test_facing_north_in_the_world_magnetic_model() -> None:
    """Zurich, level, nose north: forward is the model's north, left its west, up its up."""
    lat_deg, lon_deg, alt_m = 47.397742, 8.545594, 488.0
    model = GeoMag()
    when = model.life_span[0] + 1.0
    found = model.calculate(glat=lat_deg, glon=lon_deg, alt=alt_m / 1000, time=when)
    north, east, down = (1e-9 * part for part in (found.x, found.y, found.z))
    place = Place(lat_deg, lon_deg, alt_m, G, (east, north, -down))
    facing_north = frames.quat_from_euler(0.0, 0.0, math.pi / 2)
    sample = magnetometer().measure(scene(state(quat_WB=facing_north), place=place), 1)
    assert sample.field_B_T == pytest.approx((north, -east, -down), rel=1e-9)
    assert 20e-6 < sample.field_B_T[0] < 23e-6  # and the model's field there is that of central Europe
    assert -45e-6 < sample.field_B_T[2] < -41e-6


@given(ANGLE, PITCH, ANGLE)
def test_the_strength_does_not_depend_on_attitude(roll: float, pitch: float, yaw: float) -> None:
    sample = magnetometer().measure(scene(state(quat_WB=frames.quat_from_euler(roll, pitch, yaw))), 1)
    assert np.linalg.norm(sample.field_B_T) == pytest.approx(np.linalg.norm(FIELD_W_T), rel=1e-12)


@given(ANGLE)
def test_the_heading_can_be_read_from_it(yaw: float) -> None:
    """Level: the horizontal field points to magnetic north, which the body sees turned by -yaw."""
    x, y, _ = magnetometer().measure(scene(state(quat_WB=frames.quat_from_euler(0.0, 0.0, yaw))), 1).field_B_T
    magnetic_north = math.atan2(FIELD_W_T[1], FIELD_W_T[0])
    assert math.remainder(magnetic_north - math.atan2(y, x) - yaw, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_iron_and_currents() -> None:
    soft = ((1.1, 0.02, 0.0), (0.02, 0.9, 0.0), (0.0, 0.0, 1.0))
    sensor = magnetometer(
        hard_iron_B_T=(1e-6, 2e-6, 3e-6),
        soft_iron=soft,
        current_B_T_per_A=(1e-8, 0.0, -1e-8),
        thrust_B_T_per_N=(0.0, 5e-8, 0.0),
    )
    banked = state(quat_WB=frames.quat_from_euler(math.pi / 2, 0.0, 0.0))
    found = sensor.measure(scene(banked, motor_current_A=30.0, thrust_N=15.0), 1).field_B_T
    # On its right side the body's left is up and its up is south: the iron turns with the body, the field does not.
    east, north, up = FIELD_W_T
    expected = np.array(soft) @ [east, up, -north] + [1e-6 + 3e-7, 2e-6 + 7.5e-7, 3e-6 - 3e-7]
    assert found == pytest.approx(expected, rel=1e-12)


def test_interference_is_proportional_to_current() -> None:
    sensor = magnetometer(current_B_T_per_A=(2e-8, 0.0, 0.0))
    x = [sensor.measure(scene(motor_current_A=current), 1).field_B_T[0] for current in (0.0, 10.0, 20.0)]
    assert np.diff(x) == pytest.approx([2e-7, 2e-7], rel=1e-9)


def test_quantum_and_range() -> None:
    sensor = magnetometer(errors=Errors(quantum=3e-7, range=(-30e-6, 30e-6)))
    x, y, z = sensor.measure(scene(), 1).field_B_T
    assert (x, y, z) == pytest.approx((1.2e-6, 21.3e-6, -30e-6), rel=1e-9)
