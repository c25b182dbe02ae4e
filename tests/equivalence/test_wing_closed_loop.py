"""The fixed wing's law flies the model: sensors with noise, turbulence, estimation, path following, inner loops.

Once as CasADi evaluates it, once as the firmware's C in single precision.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import casadi as ca
import numpy as np
import pytest

from aeroloop.actuators.servos import Servos
from aeroloop.codegen.embedded import FLAGS, embedded
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import path_following
from aeroloop.core.config import convert
from aeroloop.core.frames import Vec, Vec3, euler_from_quat
from aeroloop.core.geodesy import local
from aeroloop.core.signals import NS, Air, Origin, Place
from aeroloop.estimation import wing
from aeroloop.families.fixedwing.airframe import Airframe, load
from aeroloop.families.fixedwing.law import ROLL_MOST_RAD, WingLaw, wing_law
from aeroloop.families.fixedwing.trim import trim
from aeroloop.models import fixedwing
from aeroloop.models.integrate import rk4
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import SensorSet, Suite, preset_table
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.dryden import Turbulence
from aeroloop.world.earth import Earth, Home
from aeroloop.world.flight_model import FlightModel
from aeroloop.world.wind import Wind, WindConfig

HOME = Home(lat_deg=36.4, lon_deg=-84.0, alt_m=0.0)
AIRSPEED_M_S, HEIGHT_M, GROUND_M = 20.0, 600.0, 420.0
START_W = (4000.0, -4000.0, HEIGHT_M)
"""Near a corner of the map, where single precision is coarsest."""
STEP_NS, TICK_STEPS = 5_000_000, 10
MODERATE_W20_M_S = 15.4
DS_M = 2.0

NAMES = ("x", "y", "z", "roll", "airspeed", "cross", "roll_command", "est_x", "est_y", "est_z", "est_roll")


class Runner(Protocol):
    """What flies: interpreted or compiled."""

    inputs: list[Vec]
    outputs: list[Vec]

    def __call__(self) -> None: ...


class InSinglePrecision:
    """The firmware's C of a function, compiled for this host."""

    def __init__(self, function: ca.Function, folder: Path) -> None:
        name = function.name()
        made = embedded(function, name)
        (folder / f"{name}.c").write_text(made.c)
        (folder / f"{name}.h").write_text(made.h)
        compiler = shutil.which("cc")
        assert compiler, "this test needs a C compiler: apt install gcc libc6-dev"
        library = folder / f"{name}.so"
        command = [compiler, *FLAGS, "-fPIC", "-shared", "-o", str(library), str(folder / f"{name}.c"), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        self._run = getattr(ctypes.CDLL(str(library)), f"{name}_run")
        self.inputs = [np.zeros(function.numel_in(i)) for i in range(function.n_in())]
        self.outputs = [np.zeros(function.numel_out(i)) for i in range(function.n_out())]

    def __call__(self) -> None:
        pointer = ctypes.POINTER(ctypes.c_float)
        given = [np.array(values, np.float32) for values in self.inputs]
        taken = [np.zeros(len(values), np.float32) for values in self.outputs]
        self._run(*(values.ctypes.data_as(pointer) for values in (*given, *taken)))
        for place, values in zip(self.outputs, taken, strict=True):
            place[:] = values


class Turns:
    """Quarter turns to either side with straights between, as through cells of 150 m; curvature is continuous."""

    def __init__(self, length_m: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        peak_1_m = 1.6 / 150
        n = round(math.pi / peak_1_m / DS_M)
        kappa = [0.0] * 50
        while len(kappa) * DS_M < length_m:
            side = 1.0 if rng.random() < 0.5 else -1.0
            kappa += [side * peak_1_m * math.sin(math.pi * i / n) ** 2 for i in range(n)]
            kappa += [0.0] * round(150.0 / DS_M * rng.integers(0, 3))
        k = np.array(kappa)
        psi = np.concatenate(([0.0], np.cumsum(0.5 * (k[1:] + k[:-1]) * DS_M)))
        middle = 0.5 * (psi[1:] + psi[:-1])
        x = START_W[0] + np.concatenate(([0.0], np.cumsum(np.cos(middle) * DS_M)))
        y = START_W[1] + np.concatenate(([0.0], np.cumsum(np.sin(middle) * DS_M)))
        self._s = [i * DS_M for i in range(len(kappa))]
        self._rows = list(zip(x.tolist(), y.tolist(), psi.tolist(), kappa, strict=True))

    def at(self, s: float) -> tuple[float, ...]:
        i = min(max(bisect_right(self._s, s) - 1, 0), len(self._s) - 2)
        part = (s - self._s[i]) / DS_M
        return tuple(a + part * (b - a) for a, b in zip(self._rows[i], self._rows[i + 1], strict=True))


class Board:
    """The tick, in the order of the tasks' priorities: a roll command is flown one period after it was found."""

    def __init__(
        self,
        law: WingLaw,
        runners: Sequence[Runner],
        path: Turns,
        vel_W: Vec3,
        static_Pa: float,
        azimuth_rad: float,
    ) -> None:
        self._atti, self._nav, self._cntr, self._pfol = runners
        self._atti.inputs[0][:], self._nav.inputs[0][:] = wing.initial(START_W, vel_W, static_Pa)
        self._atti.inputs[5][0] = azimuth_rad
        self._cntr.inputs[1][:] = 0.0, HEIGHT_M, AIRSPEED_M_S
        self._pfol.inputs[0][:] = path_following.initial(0.0, law.path_gains)
        self._pfol.inputs[3][0] = ROLL_MOST_RAD
        self._pfol.inputs[4][:] = path_following.tuning(law.path_gains)
        self._path = path

    @property
    def estimate(self) -> Vec:
        return self._nav.outputs[0]

    @property
    def roll_command(self) -> float:
        return float(self._cntr.inputs[1][0])

    def tick(self, imu: Vec, field_B: Vec3, pressures: tuple[float, float], fix: Sequence[float]) -> tuple[float, ...]:
        atti, nav, cntr, pfol = self._atti, self._nav, self._cntr, self._pfol
        atti.inputs[1][:], atti.inputs[2][:] = nav.inputs[0], imu[:3]
        atti.inputs[3][:], atti.inputs[4][:] = imu[3:], field_B
        atti()
        atti.inputs[0][:] = nav.inputs[1][:] = atti.outputs[0]
        nav.inputs[2][:], nav.inputs[3][:], nav.inputs[4][:] = imu[3:], pressures, fix
        nav()
        nav.inputs[0][:] = nav.outputs[1]
        cntr.inputs[0][:] = nav.outputs[0]
        cntr()
        cntr.inputs[2][:] = cntr.outputs[1]
        x, y, *_, course, speed = nav.outputs[0].tolist()
        pfol.inputs[1][:] = x, y, course, speed, nav.outputs[0][6]
        pfol.inputs[2][:] = self._path.at(float(pfol.inputs[0][0]))
        pfol()
        pfol.inputs[0][:] = pfol.outputs[1]
        cntr.inputs[1][0] = pfol.outputs[0][0]
        return tuple(cntr.outputs[0].tolist())

    def cross_m(self, x: float, y: float) -> float:
        """Where the aircraft really is, left of the virtual point."""
        path_x, path_y, psi, _ = self._pfol.inputs[2].tolist()
        return math.cos(psi) * (y - path_y) - math.sin(psi) * (x - path_x)


class Samples:
    """Sensors between two ticks: means of the IMU, the latest of the others."""

    def __init__(self, seed: int) -> None:
        table = {name: dict(value) for name, value in preset_table("px4").items() if name != "rangefinder"}
        table["gnss"]["start_s"] = 0.0  # the flight begins in the air
        self._suite = Suite(convert(table, SensorSet, "px4 in the air"), Streams(seed))
        self._imu, self._count = np.zeros(6), 0
        self._latest: dict[type, Any] = {}

    def take(self, model: FlightModel, t_ns: int, air: Air, place: Place) -> None:
        for sample in self._suite.sample(model.state(t_ns), air, place):
            if isinstance(sample, ImuSample):
                self._imu += (*sample.rate_B, *sample.accel_B)
                self._count += 1
            self._latest[type(sample)] = sample

    def read(self) -> tuple[Vec, Vec3, tuple[float, float], tuple[float, ...]]:
        imu = self._imu / self._count
        self._imu, self._count = np.zeros(6), 0
        latest = self._latest
        gnss: GnssSample | None = latest.pop(GnssSample, None)
        fix: tuple[float, ...] = (0.0,) * 7
        if gnss is not None:
            origin = Origin(HOME.lat_deg, HOME.lon_deg, HOME.alt_m)
            fix = (1.0, *local(origin, gnss.lat_deg, gnss.lon_deg, gnss.alt_m), *gnss.vel_W)
        pressures = latest[BarometerSample].pressure_Pa, latest[AirspeedSample].pressure_Pa
        return imu, latest[MagnetometerSample].field_B_T, pressures, fix


def fly(
    airframe: Airframe, law: WingLaw, runners: Sequence[Runner], seconds: float, *, seed: int, wind_W: Vec3 = (0, 0, 0)
) -> dict[str, Vec]:
    """What was flown by name, one value a tick."""
    earth, atmosphere = Earth(HOME), Atmosphere(Day())
    steady = WindConfig(steady_W=wind_W, turbulence=Turbulence(w20_m_s=MODERATE_W20_M_S))
    wind, samples = Wind(steady, np.random.default_rng(seed), Evaluator), Samples(seed)
    at = trim(airframe, AIRSPEED_M_S, density_kg_m3=atmosphere.at(HEIGHT_M)[2])
    servos = Servos(airframe.servos, at.controls)
    model = FlightModel(Evaluator(rk4(fixedwing.dynamics(airframe))))
    vel_W = (at.vel_W[0] + wind_W[0], at.vel_W[1] + wind_W[1], at.vel_W[2])
    model.reset(START_W, at.quat_WB(), vel_W=vel_W)
    start = earth.place(START_W)
    azimuth_rad = math.atan2(start.field_W_T[1], start.field_W_T[0])
    board = Board(law, runners, Turns(30 * seconds, seed), vel_W, atmosphere.at(start.alt_m)[0], azimuth_rad)
    command: tuple[float, ...] = at.controls
    rows = []
    for k in range(round(seconds * NS / STEP_NS) + 1):
        t_ns = k * STEP_NS
        state = model.state(t_ns)
        place = earth.place(state.pos_W)
        air = atmosphere.air(place.alt_m, wind.step(t_ns, STEP_NS if k else 0, state.pos_W[2] - GROUND_M, state.vel_W))
        samples.take(model, t_ns, air, place)
        if k and k % TICK_STEPS == 0:
            command = board.tick(*samples.read())
            roll, airspeed = euler_from_quat(state.quat_WB)[0], math.dist(state.vel_W, air.wind_W)
            cross = board.cross_m(*state.pos_W[:2])
            rows.append((*state.pos_W, roll, airspeed, cross, board.roll_command, *board.estimate[[0, 1, 2, 6]]))
        model.step(servos.step(command, STEP_NS), air, place.gravity_m_s2, STEP_NS)
    return dict(zip(NAMES, np.array(rows).T, strict=True))


def law_for(airframe: Airframe) -> WingLaw:
    return wing_law(airframe, airspeed_m_s=AIRSPEED_M_S, density_kg_m3=Atmosphere(Day()).at(HEIGHT_M)[2])


def rms(values: Vec) -> float:
    return float(np.sqrt(np.mean(values**2)))


@pytest.mark.parametrize("name", ["aerosonde", "anaconda"])
def test_every_airframe_follows_its_path_in_moderate_turbulence(name: str) -> None:
    airframe = load(name)
    law = law_for(airframe)
    flown = fly(airframe, law, [Evaluator(f) for f in law.functions], 60.0, seed=20, wind_W=(2.0, -1.0, 0.0))
    assert np.degrees(np.abs(flown["roll"]).max()) <= 30.0
    assert np.degrees(np.abs(flown["roll_command"]).max()) > 20.0, "the path has turns that need banking"
    assert rms(flown["cross"]) < 5.0
    assert np.abs(flown["cross"]).max() < 15.0
    assert np.abs(flown["z"] - HEIGHT_M).max() < 10.0
    assert np.abs(flown["airspeed"] - AIRSPEED_M_S).max() < 2.0
    assert np.hypot(flown["est_x"] - flown["x"], flown["est_y"] - flown["y"]).max() < 1.0
    assert np.abs(flown["est_z"] - flown["z"]).max() < 1.0
    settled = slice(600, None)  # the estimation begins with level wings
    assert np.degrees(np.abs(flown["est_roll"] - flown["roll"])[settled].max()) < 1.5


def test_single_precision_flies_the_same_flight(tmp_path: Path) -> None:
    airframe = load("aerosonde")
    law = law_for(airframe)
    double = fly(airframe, law, [Evaluator(f) for f in law.functions], 20.0, seed=3)
    single = fly(airframe, law, [InSinglePrecision(f, tmp_path) for f in law.functions], 20.0, seed=3)
    assert single["est_x"] == pytest.approx(double["est_x"], abs=0.02)
    assert single["y"] == pytest.approx(double["y"], abs=0.02)
    assert single["z"] == pytest.approx(double["z"], abs=0.02)
    assert single["roll"] == pytest.approx(double["roll"], abs=2e-3)
