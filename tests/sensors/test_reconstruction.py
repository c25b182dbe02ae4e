"""Sensors rebuilt from pose packets: at rest, in a known manoeuvre, at the packet rates of the specification, in C."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pose_manoeuvre import (
    FIELD_NED_T,
    FLIP,
    SECONDS,
    TAKEOFF,
    TRUTH_HZ,
    Held,
    Manoeuvre,
    poses,
    rebuild,
    single,
)

from aeroloop.codegen.embedded import FLAGS, embedded
from aeroloop.codegen.run import host_compiler
from aeroloop.controllers.pose.table_a3 import TABLE
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.core.geodesy import geodetic
from aeroloop.core.signals import Origin
from aeroloop.sensors.reconstruction import CLASSES, POSE, POSE_SIZE, Mode, place, rebuilt

BARE = ("attitude", "position")
EVERY_SET: tuple[tuple[str, ...], ...] = (
    BARE,
    (*BARE, "rates"),
    (*BARE, "rates", "velocity"),
    (*BARE, "rates", "velocity", "force"),
)
G = GRAVITY_M_S2

CUTOFFS_HZ = {10: 3.0, 20: 8.0, 50: 20.0}
"""Of the filter for float32 metres: the best of 3, 8, 20 and 40 Hz below the rate's half; from 100 Hz on 40 Hz."""


@pytest.fixture(scope="module")
def truth() -> Manoeuvre:
    return Manoeuvre(np.arange(0, SECONDS, 1 / TRUTH_HZ))


def unfiltered(sets: Manoeuvre, pos_W: Vec, rate_hz: float) -> Vec:
    accel_W = np.zeros_like(pos_W)
    accel_W[2:] = np.diff(pos_W, 2, axis=0) * rate_hz**2
    accel = np.stack([accel_W[:, 1], accel_W[:, 0], -accel_W[:, 2] - G], axis=1)
    return np.asarray(np.einsum("nij,nj->ni", sets.dcm, accel)) * FLIP


def errors(truth: Manoeuvre, rate_hz: int, baud: int) -> list[float]:
    """A row of the table."""
    held = Held(rate_hz, baud)
    sent, force, step_s = poses(held.sets), truth.force * FLIP, 1 / rate_hz
    metres = poses(held.sets, single(held.sets.pos_W))
    best_hz = CUTOFFS_HZ.get(rate_hz, 40.0)

    def error(
        mode: Mode, names: tuple[str, ...], name: str, true: Vec, rows: Vec = sent, cutoff_hz: float = 3.0
    ) -> float:
        function = rebuilt(mode, names, cutoff_hz).by_class()[name]
        return held.error(rebuild(function, rows, step_s), true)

    return [
        error("paper", BARE, "accelerometer", force),
        error("exact", BARE, "accelerometer", force),
        held.error(unfiltered(held.sets, sent[:, POSE["pos_W"]], rate_hz), force),
        error("exact", BARE, "accelerometer", force, metres, best_hz),
        error("exact", (*BARE, "velocity"), "accelerometer", force),
        error("exact", (*BARE, "velocity", "force"), "accelerometer", force),
        error("exact", (*BARE, "rates"), "gyro", truth.rates * FLIP),
        error("exact", BARE, "gyro", truth.rates * FLIP),
        math.degrees(held.error(sent[:, POSE["attitude"]], truth.attitude)),
        1e9 * error("exact", BARE, "magnetometer", truth.field * FLIP),
    ]


def test_the_manoeuvre_is_the_specifications(truth: Manoeuvre) -> None:
    assert np.degrees(np.arccos(truth.dcm[:, 2, 2])).max() == pytest.approx(43, abs=1)
    assert np.linalg.norm(truth.vel, axis=1).max() == pytest.approx(6.3, abs=0.1)
    assert truth.rates.std(axis=0) == pytest.approx([0.57, 0.72, 0.35], abs=0.01)
    assert truth.force.std(axis=0) == pytest.approx([0.77, 0.67, 0.90], abs=0.01)


def test_tilt_alone_is_wrong_in_flight(truth: Manoeuvre) -> None:
    """A multirotor's accelerometer measures thrust and drag: tilt hardly correlates with it, and in z against it."""
    tilt = rebuild(rebuilt("paper", BARE).accelerometer, poses(truth)[::20], 20 / TRUTH_HZ)
    force = truth.force[::20] * FLIP
    r = [float(np.corrcoef(tilt[:, axis], force[:, axis])[0, 1]) for axis in range(3)]
    assert r == pytest.approx([0.14, 0.20, -0.70], abs=0.01)
    assert np.sqrt(np.mean((tilt - force) ** 2, axis=0)) == pytest.approx([3.2, 2.8, 2.5], abs=0.1)


@pytest.mark.parametrize(("rate_hz", "baud"), TABLE)
def test_errors_by_packet_rate(truth: Manoeuvre, rate_hz: int, baud: int) -> None:
    measured, published = errors(truth, rate_hz, baud), TABLE[rate_hz, baud]
    for value, cell in zip(measured, published, strict=True):
        # A cell is printed with so many digits; 0.003 may be 0.0025.
        last_digit = 10.0 ** -len(f"{cell}".partition(".")[2]) / 2
        assert value == pytest.approx(cell, rel=0.15, abs=last_digit)
    tilt, position, raw, metres, velocity, sent, gyro, from_attitude, *_ = measured
    assert tilt > position > metres > velocity > sent
    assert from_attitude > gyro
    assert (raw > position) == (rate_hz > 10)


def at(attitude: tuple[float, float, float] = (0, 0, 0), up_m: float = 0.0) -> Vec:
    row = np.zeros(POSE_SIZE)
    row[POSE["attitude"]], row[5] = attitude, up_m
    row[POSE["force"]] = (0, 0, -G)
    return row


@pytest.mark.parametrize("mode", ["paper", "exact"])
@pytest.mark.parametrize("sent", EVERY_SET)
def test_at_rest_every_reconstruction_is_right(mode: Mode, sent: tuple[str, ...]) -> None:
    rows = np.tile(at((0.0, 0.0, math.pi / 2), up_m=20.0), (50, 1))
    found = {name: rebuild(f, rows, 0.01) for name, f in rebuilt(mode, sent).by_class().items()}
    assert found["accelerometer"] == pytest.approx(np.tile([0, 0, G], (50, 1)), abs=1e-6)
    assert found["gyro"] == pytest.approx(np.zeros((50, 3)), abs=1e-9)
    north, east, down = FIELD_NED_T
    strength = float(np.linalg.norm(FIELD_NED_T))
    # Heading east: the field's north component comes from the left.
    field = (0.0, strength, 0.0) if mode == "paper" else (east, north, -down)
    assert found["magnetometer"][-1] == pytest.approx(field, abs=1e-12)
    pressure, altitude = found["barometer"][-1]
    assert pressure == pytest.approx(101_084.96, abs=0.01)
    assert altitude == pytest.approx(20.0, abs=0.01)
    assert found["gnss"] == pytest.approx(np.tile([0, 0, 20, 0, 0, 0], (50, 1)), abs=1e-6)


@pytest.mark.parametrize("height_m", [-50.0, 0.0, 20.0, 1000.0])
def test_pressure_is_the_inverse_of_ardupilots_height(height_m: float) -> None:
    ((pressure, _),) = rebuild(rebuilt("exact", BARE).barometer, at(up_m=height_m)[None], 0.01)
    assert 153.8462 * 288.15 * (1 - math.exp(0.190259 * math.log(pressure / 101_325))) == pytest.approx(
        height_m, abs=1e-3
    )


def test_the_first_sets_make_no_jerk() -> None:
    """The first position and velocity are far from 0, and the differences begin at the second and third set."""
    motion = Manoeuvre(np.arange(5, 6, 0.01))
    for sent in ((*BARE, "velocity"), BARE):
        (first, *_) = rebuild(rebuilt("exact", sent).accelerometer, poses(motion, motion.pos_W), 0.01)
        assert first == pytest.approx((motion.dcm[0] @ (0, 0, -G)) * FLIP, abs=1e-4)
    velocity = rebuild(rebuilt("exact", BARE).gnss, poses(motion, motion.pos_W), 0.01)[:, 3:]
    assert np.abs(velocity).max() < 1.2 * np.linalg.norm(motion.vel, axis=1).max()


def test_rates_by_attitude_through_north_and_upside_down() -> None:
    """The angles wrap and the quaternion changes its sign; the rate does not."""
    t_s = np.arange(0, 8, 0.01)
    for axis, expected in ((0, (1.5, 0, 0)), (2, (0, 0, -1.5))):
        rows = np.tile(at(), (len(t_s), 1))
        rows[:, axis] = (1.5 * t_s + np.pi) % (2 * np.pi) - np.pi
        rates = rebuild(rebuilt("exact", BARE).gyro, rows, 0.01)
        assert rates[1:] == pytest.approx(np.tile(expected, (len(t_s) - 1, 1)), abs=1e-9)


def test_velocity_of_the_receiver_is_sent_or_follows_the_position() -> None:
    motion = Manoeuvre(np.arange(0, 6, 0.01))
    vel_W = np.stack([motion.vel[:, 1], motion.vel[:, 0], -motion.vel[:, 2]], axis=1)
    sent = rebuild(rebuilt("exact", (*BARE, "velocity")).gnss, poses(motion), 0.01)
    assert sent[:, 3:] == pytest.approx(vel_W, abs=1e-6)
    followed = rebuild(rebuilt("exact", BARE).gnss, poses(motion), 0.01)
    # A second-order low-pass at 2 Hz delays by 0.11 s.
    assert followed[200:, 3:] == pytest.approx(vel_W[200 - 12 : -12], abs=0.4)


def test_the_filter_is_a_second_order_butterworth() -> None:
    """A sine at the cutoff comes out with 0.707 of its amplitude, and one two octaves above with 1/16."""
    dt, cutoff = 0.001, 3.0
    for hz, gain in ((0.3, 1.0), (cutoff, 2**-0.5), (4 * cutoff, 1 / 16)):
        t = np.arange(0, 8, dt)
        rows = np.tile(at(), (len(t), 1))
        rows[:, 5] = -np.sin(2 * np.pi * hz * t) / (2 * np.pi * hz) ** 2
        up = rebuild(rebuilt("exact", BARE, cutoff).accelerometer, rows, dt)[len(t) // 2 :, 2] - G
        assert (up.max() - up.min()) / 2 == pytest.approx(gain, rel=0.03)


@given(st.tuples(*[st.floats(-2000, 2000)] * 2), st.floats(-50, 500), st.floats(-60, 60), st.floats(-179, 179))
def test_place_is_that_of_the_ellipsoid(horizontal: tuple[float, float], up_m: float, lat: float, lon: float) -> None:
    origin = Origin(lat_deg=lat, lon_deg=lon, alt_m=50.0)
    pos_W = (*horizontal, up_m)
    lat_deg, lon_deg, alt_m = geodetic(origin, pos_W)
    counts = ((lon_deg - lon) * 1e7, (lat_deg - lat) * 1e7, (alt_m - 50) * 1e3)
    takeoff = TAKEOFF.copy()
    takeoff[0] = math.radians(lat)
    assert np.array(place()(counts, takeoff)).ravel() == pytest.approx(pos_W, abs=0.0015)


class InC:
    """A function as the firmware's C, compiled for this machine: single precision."""

    def __init__(self, function: ca.Function, folder: Path) -> None:
        made, name = embedded(function, "soft"), function.name()
        (folder / "soft.c").write_text(made.c)
        (folder / "soft.h").write_text(made.h)
        library = folder / f"{name}.so"
        command = [host_compiler(), *FLAGS, "-shared", "-fPIC", "-o", str(library), str(folder / "soft.c"), "-lm"]
        subprocess.run(command, check=True, timeout=240)
        self._run = ctypes.CDLL(str(library)).soft_run
        self._sizes = (
            [function.size1_in(i) for i in range(function.n_in())],
            [function.size1_out(i) for i in range(function.n_out())],
        )

    def rebuild(self, sets: Vec, step_s: float) -> Vec:
        (_, _, _, memory), (size, _) = self._sizes
        sample, kept = (ctypes.c_float * size)(), (ctypes.c_float * memory)()
        step, takeoff = (ctypes.c_float * 1)(step_s), (ctypes.c_float * len(TAKEOFF))(*TAKEOFF)
        samples = np.empty((len(sets), size))
        for i, row in enumerate(sets):
            self._run((ctypes.c_float * POSE_SIZE)(*row), step, takeoff, kept, sample, kept)
            samples[i] = sample[:]
        return samples


CLOSE = {"accelerometer": 0.03, "gyro": 2e-4, "magnetometer": 1e-10, "barometer": 0.02, "gnss": 1e-4}
"""Single precision: positions differenced twice at 100 Hz by steps of 1e-6 m; pressure by steps of 0.008 Pa."""


@pytest.mark.parametrize(("mode", "sent"), [("paper", EVERY_SET[1]), ("exact", BARE), ("exact", EVERY_SET[2])])
def test_the_boards_c_rebuilds_the_same(mode: Mode, sent: tuple[str, ...], tmp_path: Path) -> None:
    sets = poses(Manoeuvre(np.arange(0, 4, 0.01)))
    for name, function in rebuilt(mode, sent).by_class().items():
        in_C = InC(function, tmp_path).rebuild(sets, 0.01)
        assert in_C == pytest.approx(rebuild(function, sets, 0.01), abs=CLOSE[name]), name
    assert set(CLOSE) == set(CLASSES)
