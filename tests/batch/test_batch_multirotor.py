"""The multirotor's batch: the flight of the bench with its own noise, in single precision, whatever the lanes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from batch_code import check_vectorised, needs_objdump

from aeroloop.api.flying import fly, verified
from aeroloop.api.scenarios import named
from aeroloop.batch import flights
from aeroloop.batch.engine import Engine
from aeroloop.batch.loop import source
from aeroloop.campaign.worker import flown as flown_of
from aeroloop.codegen import batch, batch_build
from aeroloop.core.errors import ConfigError
from aeroloop.recording.log import read

NAME = "quad-air"
LIMITED = {"m": 1e-3, "deg": 0.02, "steps": 0, "contacts": 0, "diverged": 0, "s": 0.01}
"""Largest difference from the bench, by the metric's unit."""
OTHERS = {
    "vehicle.scale.mass": 1.1,
    "vehicle.scale.inertia": 0.9,
    "vehicle.scale.thrust": 0.95,
    "vehicle.scale.rotors[1]": 0.97,
    "world.wind.steady_W[1]": -2.0,
    "world.wind.turbulence.w20_m_s": 6.5,
    "link.to_plant.delay_s": 0.008,
    "world.stand.pos_W[0]": 0.3,
    "world.stand.pos_W[2]": 5.8,
}
OTHERS_ON_BENCH = (
    *(f"{key}={value}" for key, value in OTHERS.items() if "[" not in key),
    "vehicle.scale.rotors=[1.0, 0.97, 1.0, 1.0]",
    "world.wind.steady_W=[2.0, -2.0, 0.0]",
    "world.stand.pos_W=[0.3, 0.0, 5.8]",
)
SEED, FLIGHT = 7, 98_296


@pytest.fixture(scope="module")
def plan() -> flights.Plan:
    return flights.plan(NAME)


@pytest.fixture(scope="module")
def engine(plan: flights.Plan, cache: Path) -> Engine:
    return Engine(plan.loop, cache=cache)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lanes")


def rows(plan: flights.Plan, count: int, changes: dict[str, Any]) -> np.ndarray:
    return flights.columns(plan, {key: np.broadcast_to(value, count) for key, value in changes.items()}, count)


def on_bench(changes: tuple[str, ...]) -> Any:
    """The same flight there."""
    return named(NAME).changed(
        (*changes, 'noise.generator="philox"', f"noise.flight={FLIGHT}", f"seed={SEED}", 'loop="mil"')
    )


def test_a_flight_is_flown_again_on_the_bench_with_its_own_noise(plan: flights.Plan, engine: Engine) -> None:
    """Every parameter changed: 20 s in the air through processes and link, all metrics within a millimetre."""
    own = rows(plan, 1, OTHERS)
    made = engine.fly(own, plan.table, np.array([SEED]), flights=np.array([FLIGHT])).metrics
    bench = flown_of(verified(on_bench(OTHERS_ON_BENCH)))[0]["metrics"]
    differences = {name: abs(float(values[0]) - bench[name]) for name, values in made.items()}
    assert len(differences) == 19
    far = {name: off for name, off in differences.items() if off > LIMITED[name.rsplit("_", 1)[-1]]}
    assert not far
    assert 0.1 < made["pos_rms_m"][0] < 1.0  # it flew, and the noise had its effect


def test_parameters_and_noise_act(plan: flights.Plan, engine: Engine) -> None:
    table = plan.table[:1500]

    def pair(metric: str, key: str, values: tuple[float, float]) -> tuple[float, float]:
        first, second = engine.fly(rows(plan, 2, {key: values}), table, np.ones(2), flights=np.ones(2)).metrics[metric]
        return float(first), float(second)

    for metric, key, values in (
        ("altitude_rms_m", "vehicle.scale.mass", (1.0, 1.3)),
        ("altitude_rms_m", "vehicle.scale.thrust", (1.0, 0.8)),
        ("altitude_rms_m", "vehicle.scale.rotors[0]", (1.0, 0.8)),
        ("yaw_rms_deg", "vehicle.scale.inertia", (1.0, 1.6)),
        ("roll_max_deg", "world.wind.turbulence.w20_m_s", (0.0, 12.0)),
        ("horizontal_rms_m", "world.wind.steady_W[0]", (2.0, 12.0)),
        ("pos_max_m", "world.stand.pos_W[1]", (0.0, 1.5)),
        ("horizontal_rms_m", "link.to_plant.delay_s", (0.0, 0.016)),
    ):
        little, much = pair(metric, key, values)
        assert much > 1.03 * little, key
    flown = engine.fly(rows(plan, 3, {}), table, np.array([1, 1, 2]), flights=np.array([0, 0, 0])).metrics["pos_rms_m"]
    assert flown[0] == flown[1] != flown[2]


def test_a_lost_flight_ends_as_one(plan: flights.Plan, engine: Engine) -> None:
    """Too weak rotors fall to the ground; the others of the block are not disturbed."""
    flown = engine.fly(
        rows(plan, 3, {"vehicle.scale.thrust": [1.0, 0.3, 1.0]}), plan.table, np.ones(3), flights=np.zeros(3)
    ).metrics
    assert flown["ground_contacts"].tolist() == flown["hard_contacts"].tolist() == [0, 1, 0]
    assert flown["diverged"].tolist() == [0, 0, 0]
    assert 4.0 < flown["flown_s"][1] < 8.0 < flown["flown_s"][0]
    assert flown["pos_rms_m"][0] == flown["pos_rms_m"][2]
    assert all(np.isfinite(values).all() for values in flown.values())


@pytest.mark.parametrize(
    "change",
    [
        "ground.land_s=20.0",
        "vehicle.motor_noise=0.01",
        "vehicle.airframe=iris-aero",
        "sensors.imu.lever_B=[0.1, 0.0, 0.0]",
        "sensors.imu.rate_hz=500.0",
        "sensors.gnss.lat_lon_quantum_deg=1e-7",
        "sensors.magnetometer.rate_hz=60.0",
        "sensors.imu.average=true",
        "sensors.imu.low_pass={gyro_hz=80.0, accel_hz=40.0}",
        "sensors.imu.vibration={at_rad_s=600.0}",
        "sensors.imu.thermal={time_s=60.0}",
        "sensors.imu.g_sensitivity=[[1e-4, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
        "sensors.imu.count_clipped=true",
        "sensors.barometer.thermal={time_s=60.0}",
        "sensors.gnss.consistent=true",
        "sensors.gnss.multipath={ground_std_m=[1.0, 1.0, 2.0], scale_height_m=5.0, time_s=20.0}",
        "sensors.gnss.constellation={least=6, most=12, time_s=60.0}",
        'sensors.faults=[{sensor="gnss", kind="silent", start_s=5.0}]',
        "link.to_plant.loss=0.1",
        "link.to_board.delay_s=0.004",
        "link.to_plant.delay_s=0.05",
        "world.stand.until_s=1.0",
        "world.wind.gusts=[{start_s=5.0, amplitude_W=[1.0, 0.0, 0.0], rise_s=1.0}]",
        'world.wind.profile={kind="power"}',
        "world.wind.terrain={decay_m=30.0}",
        'world.wind.turbulence.model="von_karman"',
        "world.wind.turbulence.fade_in_s=2.0",
        "world.bound_m=6000.0",
        "duration_s=24.004",
    ],
)
def test_what_a_batch_cannot_fly_is_refused_by_its_key(change: str) -> None:
    key = change.split("=", maxsplit=1)[0]
    group = key if not key.startswith("link.to_plant.loss") and not key.startswith("link.to_board") else key[:13]
    with pytest.raises(ConfigError, match=re.escape(group.rstrip("."))):
        flights.plan(NAME, (change,))


def test_a_flight_from_the_ground_and_another_controller_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"world\.stand"):
        flights.plan("quad-law-hover")
    with pytest.raises(ConfigError, match="no batch flies quadrotor with controller pixhawk"):
        flights.plan("quad-wind")


@needs_objdump
def test_every_function_of_the_loop_is_vectorised(plan: flights.Plan, engine: Engine, cache: Path) -> None:
    own = ("step", "gust", "imu_align", "magnetometer_align", "aligned", "propagated", "covariance", "control", "told")
    used = ("magnetometer_used", "barometer_used", "fix_used", "watched", "al_normals")
    check_vectorised(plan.loop, own + used, cache)


@pytest.mark.soak
def test_lanes_do_not_change_a_bit_and_double_is_near(plan: flights.Plan, engine: Engine, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    own = rows(
        plan,
        37,
        {
            "vehicle.scale.mass": rng.uniform(0.8, 1.2, 37),
            "world.wind.steady_W[0]": rng.normal(0, 5, 37),
            "link.to_plant.delay_s": rng.uniform(0, 0.016, 37),
        },
    )
    seeds, table = np.arange(37), plan.table[:2500]
    expected = engine.fly(own, table, seeds, threads=1).metrics
    others = [engine.fly(own, table, seeds, threads=2).metrics]
    others += [Engine(plan.loop, lanes=lanes, cache=tmp_path).fly(own, table, seeds).metrics for lanes in (1, 8)]
    for other in others:
        for name, values in expected.items():
            assert other[name].tobytes() == values.tobytes(), name
    assert len(set(expected["pos_rms_m"].tolist())) == 37
    double = Engine(plan.loop, "double", cache=tmp_path).fly(own, table, seeds).metrics
    assert np.max(np.abs(double["pos_rms_m"] - expected["pos_rms_m"])) < 1e-4
    assert np.max(np.abs(double["est_attitude_rms_deg"] - expected["est_attitude_rms_deg"])) < 5e-3


@pytest.mark.soak
@pytest.mark.parametrize("changes", [{}, OTHERS], ids=["scenario", "changed"])
def test_positions_and_attitudes_of_the_bench(
    plan: flights.Plan, changes: dict[str, float], cache: Path, tmp_path: Path
) -> None:
    """20 s in the air: within 1 mm and 0.1 deg at any time; seen 0.015 mm and 0.0003 deg."""
    state = ca.SX.sym("state", plan.loop.state_count)
    finish = ca.Function("finish", [state], [state[:7]], ["state"], ["metrics"])
    probe = Engine(dataclasses.replace(plan.loop, finish=finish, metrics=tuple("xyzabcd")), cache=cache)
    run = fly(on_bench(OTHERS_ON_BENCH if changes else ()), out=tmp_path / "run")
    log = read(next(Path(run.folder).glob("*.mcap")))
    truth, columns = log.rows["truth"], log.columns["truth"]
    wanted = [columns.index(name) for name in ("x_m", "y_m", "z_m", "qw", "qx", "qy", "qz")]
    own = rows(plan, 1, changes)
    for n in range(1000, 6001, 125):
        made = probe.fly(own, plan.table[:n], np.array([SEED]), flights=np.array([FLIGHT])).metrics
        motion, bench = np.array([float(value[0]) for value in made.values()]), truth[n - 1, wanted]
        assert truth[n - 1, 0] == pytest.approx(0.004 * n)
        assert np.linalg.norm(motion[:3] - bench[:3]) < 1e-3
        off = motion[3:] * np.sign(motion[3:] @ bench[3:]) - bench[3:]
        assert 2 * np.degrees(np.linalg.norm(off)) < 0.1


@pytest.mark.soak
@pytest.mark.skipif(batch_build.cuda_compiler() is None, reason="no nvcc on this machine")
def test_nvcc_compiles_it(plan: flights.Plan, tmp_path: Path) -> None:
    built = batch_build.cuda_library(source(plan.loop, batch.CUDA), tmp_path, ("-Werror", "all-warnings"))
    assert b"aeroloop_batch_run" in built.read_bytes()
