"""The sensors that the board reads, as expressions: twins of `sensors/imu.py` and the others, in local coordinates."""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.batch_plant import motion
from aeroloop.families.multirotor.batch_setup import Setup
from aeroloop.models.rigid_body import rotation
from aeroloop.sensors.error_functions import limited


def imu(setup: Setup, normals: Any) -> tuple[Any, Any]:
    """Rate and specific force, and the memory of the errors."""
    config, now = setup.scenario.aircraft.aboard.imu, motion(setup.parts["motion"])
    assert config is not None
    errors, memory = setup.noise["imu"].sample(normals, setup.parts["imu_noise"])
    up_W = ca.vertcat(0, 0, setup.air.gravity(now.pos_W))
    force_B = rotation(now.quat_WB).T @ (now.accel_W + up_W)
    rate_B = _response(config.gyro.response(), now.rate_B)
    force_B = _response(config.accel.response(), force_B)
    gyro = limited(rate_B + errors["gyro"], config.gyro.errors)
    return ca.vertcat(gyro, limited(force_B + errors["accel"], config.accel.errors)), memory


def _response(matrix: Any, value: Any) -> Any:
    return value if matrix is None else ca.DM(matrix) @ value


def magnetometer(setup: Setup, normals: Any) -> tuple[Any, Any]:
    config, now = setup.scenario.aircraft.aboard.magnetometer, motion(setup.parts["motion"])
    assert config is not None
    errors, memory = setup.noise["magnetometer"].sample(normals, setup.parts["magnetometer_noise"])
    field_B = ca.DM(config.soft_iron) @ (rotation(now.quat_WB).T @ setup.air.field_W_T(now.pos_W))
    field_B = field_B + ca.DM(config.hard_iron_B_T)
    if setup.needs_current:
        speed, density = setup.parts["mean_speed"], setup.air.density(now.pos_W)
        amperes, newtons = airframes.supply_factors(setup.airframe)
        shares = ca.DM(setup.airframe.rotors.shares)
        field_B += amperes * density * ca.sum1(speed**3) * ca.DM(config.current_B_T_per_A)
        field_B += newtons * density * ca.sum1(shares * speed**2) * ca.DM(config.thrust_B_T_per_N)
    return limited(field_B + errors["field"], config.errors), memory


def barometer(setup: Setup, normals: Any) -> tuple[Any, Any]:
    """Pressure altitude from home's."""
    config, now = setup.scenario.aircraft.aboard.barometer, motion(setup.parts["motion"])
    assert config is not None
    errors, memory = setup.noise["barometer"].sample(normals, setup.parts["barometer_noise"])
    error_Pa = errors["pressure"]
    if config.port_coefficient:
        relative_W = now.vel_W - setup.parts["wind"]
        error_Pa += config.port_coefficient * 0.5 * setup.air.density(now.pos_W) * ca.sumsqr(relative_W)
    return setup.air.pressure_altitude_m(now.pos_W, error_Pa), memory


def gnss(setup: Setup, normals: Any) -> tuple[Any, Any]:
    """Position and velocity of a fix. Its error lies along the local axes, which are W's to a hundred thousandth."""
    now = motion(setup.parts["motion"])
    errors, memory = setup.noise["gnss"].sample(normals, setup.parts["gnss_noise"])
    config = setup.scenario.aircraft.aboard.gnss
    assert config is not None
    velocity = limited(now.vel_W + errors["velocity"], config.velocity)
    return ca.vertcat(now.pos_W + errors["position"], velocity), memory
