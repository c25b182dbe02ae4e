"""The board of a multirotor as events of a batch: the estimator of `estimation/board_filter.py`, and its law.

The board decides in each period what is due. Here the schedule does, which is the same for all flights: sensors sample
at fixed times, and the estimator begins after a fixed time at rest in the stand.
"""

from __future__ import annotations

import casadi as ca

from aeroloop.control.clipping import within
from aeroloop.control.quad_toolkit import SETPOINT, STATE, YAW
from aeroloop.controllers.law.guided import touched_down
from aeroloop.estimation import board_filter, ekf
from aeroloop.families.multirotor import batch_sensors as sensors
from aeroloop.families.multirotor.batch_setup import COLUMNS, HELD, Setup

_ALIGNED_BY = {"imu": slice(0, 6), "magnetometer": slice(6, 9), "barometer": slice(9, 10)}
_MEASURES = {
    "imu": sensors.imu,
    "magnetometer": sensors.magnetometer,
    "barometer": sensors.barometer,
    "gnss": sensors.gnss,
}


def first_noise(setup: Setup, sensor: str) -> ca.Function:
    """The slow errors of a sensor before its first sample."""
    normals = ca.SX.sym("normals", setup.noise[sensor].first_count)
    memory = setup.noise[sensor].first(normals)
    return setup.parts.event(f"{sensor}_first", {"normals": normals}, {f"{sensor}_noise": memory})


def skipped_noise(setup: Setup, sensor: str) -> ca.Function:
    """The errors of a sample that nobody takes."""
    normals = ca.SX.sym("normals", setup.noise[sensor].count)
    _, memory = setup.noise[sensor].sample(normals, setup.parts[f"{sensor}_noise"])
    return setup.parts.event(f"{sensor}_skipped", {"normals": normals}, {f"{sensor}_noise": memory})


def aligning(setup: Setup, sensor: str) -> ca.Function:
    """A sample at rest, added to its sum."""
    normals = ca.SX.sym("normals", setup.noise[sensor].count)
    measured, memory = _MEASURES[sensor](setup, normals)
    sums = ca.SX(setup.parts["sums"])
    sums[_ALIGNED_BY[sensor]] += measured
    changes = {"sums": sums, f"{sensor}_noise": memory}
    return setup.parts.event(f"{sensor}_align", {**_params(setup), "normals": normals}, changes)


def aligned(setup: Setup) -> ca.Function:
    """The estimator's first state, from the means."""
    s, schedule, config = setup.parts, setup.schedule, setup.config
    periods = schedule.aligned + 1
    counts = (
        periods,
        1 + periods // schedule.magnetometer_every,
        1 + periods // schedule.barometer_every,
    )
    sums = s["sums"]
    means = board_filter.Means(sums[0:3] / counts[0], sums[3:6] / counts[0], sums[6:9] / counts[1], sums[9] / counts[2])
    x, p = board_filter.first(config, setup.field, means, setup.start_W[2])
    still = ca.logic_and(
        ca.norm_2(means.rate_B) < config.still_rate_rad_s,
        ca.fabs(ca.norm_2(means.accel_B) - config.gravity_m_s2) < config.still_accel_m_s2,
    )
    return s.event("aligned", {}, {"x": x, "p": p, "ready": still})


def propagated(setup: Setup) -> ca.Function:
    """One sample of the IMU, and the time for which measurements have been rejected."""
    s, normals = setup.parts, ca.SX.sym("normals", setup.noise["imu"].count)
    measured, memory = sensors.imu(setup, normals)
    period_s = setup.schedule.period_s
    x = ekf.propagate(setup.config.gravity_m_s2)(s["x"], ca.vertcat(period_s, measured))
    refused = s["refused"] + period_s * (s["refused"] > 0)
    changes = {"x": x, "refused": refused, "imu_noise": memory}
    return s.event("propagated", {**_params(setup), "normals": normals}, changes)


def covariance(setup: Setup) -> ca.Function:
    s, config = setup.parts, setup.config
    noise = ekf.Noise(
        config.gyro_noise, config.accel_noise, config.gyro_bias_walk, config.accel_bias_walk, config.baro_walk
    )
    since = setup.schedule.covariance_every * setup.schedule.period_s
    x, p = board_filter.moved_on(noise, config)(s["x"], s["p"], since)
    return s.event("covariance", {}, {"x": x, "p": p})


def corrected(setup: Setup, sensor: str) -> ca.Function:
    """A sample of magnetometer or barometer, and its correction."""
    s, normals = setup.parts, ca.SX.sym("normals", setup.noise[sensor].count)
    measured, memory = _MEASURES[sensor](setup, normals)
    if sensor == "magnetometer":
        correction = board_filter.correct_by_field(setup.config, setup.field)
    else:
        correction = board_filter.correct_by_barometer(setup.config)
    x, p, refused = correction(s["x"], s["p"], s["refused"], measured)
    changes = {"x": x, "p": p, "refused": refused, f"{sensor}_noise": memory}
    return s.event(f"{sensor}_used", {**_params(setup), "normals": normals}, changes)


def fix_taken(setup: Setup) -> ca.Function:
    """A fix, kept until it arrives; newest first."""
    normals = ca.SX.sym("normals", setup.noise["gnss"].count)
    measured, memory = sensors.gnss(setup, normals)
    kept = ca.vertcat(measured, setup.parts["fix"][: setup.parts.sizes["fix"] - 6])
    return setup.parts.event("fix_taken", {"normals": normals}, {"fix": kept, "gnss_noise": memory})


def fix_used(setup: Setup) -> ca.Function:
    """The fix arrives, late by its delay."""
    s, gnss = setup.parts, setup.scenario.aircraft.aboard.gnss
    assert gnss is not None
    age_s = setup.schedule.gnss_late * setup.step_s
    sample = ca.vertcat(age_s, s["fix"][-6:], gnss.eph_m, gnss.epv_m)
    x, p, refused = board_filter.correct_by_fix(setup.config)(s["x"], s["p"], s["refused"], sample)
    return s.event("fix_used", {}, {"x": x, "p": p, "refused": refused})


def control(setup: Setup) -> ca.Function:
    """The law on the estimated motion, as `controllers.law.guided.composed` calls it."""
    s, row = setup.parts, ca.SX.sym("table", COLUMNS)
    setpoint = row[:SETPOINT]
    believed = ekf.motion(s["x"])
    down = touched_down(believed, setpoint, s["down"])
    flies = ca.logic_and(s["ready"], ca.logic_not(down))
    motors, memory, *setpoints = setup.law.call([believed[:STATE], setpoint, s["memory"]])
    command = ca.if_else(flies, within(motors, 0, 1), 0)
    kept = ca.vertcat(command, s["commands"][: setup.rotors * (HELD - 1)])
    changes = {"commands": kept, "memory": ca.if_else(flies, memory, 0), "down": down}
    if setpoints:
        changes["attitude_setpoint"] = ca.if_else(flies, setpoints[0][:3], ca.vertcat(0, 0, setpoint[YAW]))
    return s.event("control", {"table": row}, changes)


def _params(setup: Setup) -> dict[str, ca.SX]:
    return {"params": setup.params}
