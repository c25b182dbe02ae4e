"""The fixed wing's batch: the flight of the bench with its noise, in single precision, whatever the lanes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import casadi as ca
import numpy as np
import pytest
from batch_code import check_vectorised, needs_objdump

from aeroloop.api.flying import fly
from aeroloop.api.scenarios import named
from aeroloop.batch import flights
from aeroloop.batch.engine import Engine
from aeroloop.batch.loop import source
from aeroloop.codegen import batch, batch_build
from aeroloop.codegen.host import c_source
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.models import fixedwing
from aeroloop.recording.log import read

GUARD_S = 240
SHORT_CYCLES = 300
SEED, FLIGHT, DURATION_S = 5, 7, 14
NEAR = {"m": 1e-3, "m_s": 1e-3, "deg": 0.01}
"""Largest difference of a metric, by its unit; all others are equal."""
CHANGED = {
    "vehicle.scale.mass": 1.05,
    "vehicle.scale.inertia": 0.9,
    "vehicle.scale.thrust": 0.97,
    "world.wind.steady_W[0]": 4.0,
    "world.wind.steady_W[1]": -2.0,
    "world.start_offset_W[2]": -2.0,
}
LEAD = 10
"""Cycles of the sensors' start before the flight begins."""
CHANGED_ON_BENCH = (
    'noise.generator="philox"',
    *(f"{key}={value}" for key, value in CHANGED.items() if not key.endswith("]")),
    "world.wind.steady_W=[4.0, -2.0, 0.0]",
    "world.start_offset_W=[0.0, 0.0, -2.0]",
)


@pytest.fixture(scope="module")
def plan() -> flights.Plan:
    return flights.plan("fixedwing-circle")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lanes")


@pytest.fixture(scope="module")
def engine(plan: flights.Plan, cache: Path) -> Engine:
    return Engine(plan.loop, cache=cache)


def scattered(plan: flights.Plan, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    own = {
        "vehicle.scale.mass": rng.uniform(0.9, 1.1, count),
        "vehicle.scale.inertia": rng.uniform(0.8, 1.2, count),
        "world.wind.steady_W[0]": rng.uniform(-6, 6, count),
        "world.wind.turbulence.w20_m_s": rng.uniform(0, 23, count),
        "world.start_offset_W[0]": rng.uniform(-20, 20, count),
    }
    return flights.columns(plan, own, count)


def flown_on_the_bench(folder: Path, sets: list[str]) -> dict[str, float]:
    settings = [part for setting in sets for part in ("--set", setting)]
    command = ["fly", "fixedwing-circle", "--loop", "mil", "--no-report", "--seed", str(SEED), "--out", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", *command, *settings],
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    metrics: dict[str, float] = json.loads((folder / "summary.json").read_text())["metrics"]
    return metrics


def assert_near(plan: flights.Plan, made: dict[str, np.ndarray], bench: dict[str, float]) -> None:
    for name, values in made.items():
        unit = next((unit for unit in ("m_s", "deg", "m") if name.endswith(f"_{unit}")), "")
        assert float(values[0]) == pytest.approx(bench[name], abs=NEAR.get(unit, 0.0)), name
    assert {name: bench[name] for name in plan.always} == dict(plan.always)


def test_a_flight_of_the_bench_with_its_noise(plan: flights.Plan, engine: Engine, tmp_path: Path) -> None:
    """Turbulence, wind, errors of all sensors, another mass: metrics within 1 mm, 1 mm/s and 0.01 degrees."""
    sets = [f"noise.flight={FLIGHT}", f"duration_s={DURATION_S}", *CHANGED_ON_BENCH]
    bench = flown_on_the_bench(tmp_path / "run", sets)
    own = flights.columns(plan, {key: [value] for key, value in CHANGED.items()}, 1)
    table = flights.plan("fixedwing-circle", (f"duration_s={DURATION_S}",)).table
    made = engine.fly(own, table, np.array([SEED]), flights=np.array([FLIGHT])).metrics
    assert_near(plan, made, bench)
    assert made["airspeed_error_max_m_s"][0] > 0.5 and made["est_pos_rms_m"][0] > 0.05  # there was wind and noise


def test_a_clamped_propeller_and_hinges_fly_as_on_the_bench(tmp_path: Path, cache: Path) -> None:
    """Servos so weak that they hold little more than the elevator of a turn, and less aileron than gusts need."""
    file = tmp_path / "weak.toml"
    file.write_text(
        'base = "aerosonde-parasitic"\n[servos.hinges]\ntorque_Nm = [0.01, 0.065, 0.05]\n'
        "area_m2 = [0.02, 0.02, 0.02]\n"
        "chord_m = [0.05, 0.05, 0.05]\nmoment_1_rad = [0.6, 0.6, 0.6]\n"
    )
    sets = [f'vehicle.airframe="{file}"', f"noise.flight={FLIGHT}", "duration_s=11", 'noise.generator="philox"']
    bench = flown_on_the_bench(tmp_path / "run", sets)
    weak = flights.plan("fixedwing-circle", tuple(sets))
    engine = Engine(weak.loop, cache=cache)
    made = engine.fly(flights.columns(weak, {}, 1), weak.table, np.array([SEED]), flights=np.array([FLIGHT])).metrics
    assert bench["saturated_steps"] > 0.0
    assert_near(weak, made, bench)


@pytest.mark.soak
def test_positions_and_attitudes_of_the_bench(plan: flights.Plan, cache: Path, tmp_path: Path) -> None:
    """20 s with noise, turbulence and another mass: within 1 mm and 0.1 deg at any time."""
    state = ca.SX.sym("state", plan.loop.state_count)
    finish = ca.Function("finish", [state], [state[:7]], ["state"], ["metrics"])
    probe = Engine(dataclasses.replace(plan.loop, finish=finish, metrics=tuple("xyzabcd")), cache=cache)
    scenario = named("fixedwing-circle").changed(
        (*CHANGED_ON_BENCH, f"noise.flight={FLIGHT}", f"seed={SEED}", 'loop="mil"', "duration_s=20.0")
    )
    run = fly(scenario, out=tmp_path / "run")
    log = read(next(Path(run.folder).glob("*.mcap")))
    truth, columns = log.rows["truth"], log.columns["truth"]
    wanted = [columns.index(name) for name in ("x_m", "y_m", "z_m", "qw", "qx", "qy", "qz")]
    own = flights.columns(plan, {key: [value] for key, value in CHANGED.items()}, 1)
    middle_W, far_m, far_deg = centre(), [], []
    for row in range(50, 1001, 25):  # of the log, every 20 ms: two plant steps
        n = LEAD + 2 * row
        made = probe.fly(own, plan.table[:n], np.array([SEED]), flights=np.array([FLIGHT])).metrics
        motion, bench = np.array([float(value[0]) for value in made.values()]), truth[row, wanted]
        assert truth[row, 0] == pytest.approx(0.02 * row)
        far_m.append(np.linalg.norm(motion[:3] + middle_W - bench[:3]))
        off = motion[3:] * np.sign(motion[3:] @ bench[3:]) - bench[3:]
        far_deg.append(2 * np.degrees(np.linalg.norm(off)))
    print(f"{1e3 * max(far_m):.3g} mm, {max(far_deg):.3g} deg")
    assert max(far_m) < 1e-3 and max(far_deg) < 0.1


def centre() -> np.ndarray:
    """What positions of the batch are relative to."""
    scenario = cast(FixedWingScenario, scenario_files.load(scenario_files.find("fixedwing-circle")))
    return np.array([*places(scenario).start_m, scenario.aircraft.mission.height_m])


@pytest.mark.soak
def test_a_whole_flight_without_noise(tmp_path: Path) -> None:
    """Ideal sensors, whose first fix comes at once, in still air; in both precisions."""
    calm = ('sensors.preset="ideal"', "world.wind.turbulence.w20_m_s=0")
    plan = flights.plan("fixedwing-circle", calm)
    bench = flown_on_the_bench(tmp_path / "run", list(calm))
    for target in ("lanes", "double"):
        made = Engine(plan.loop, target).fly(flights.columns(plan, {}, 1), plan.table, np.array([SEED])).metrics
        assert_near(plan, made, bench)
    assert abs(float(made["est_pos_rms_m"][0]) - bench["est_pos_rms_m"]) < 1e-5  # the last is in double precision


@pytest.mark.soak
def test_lanes_and_threads_do_not_change_a_bit(plan: flights.Plan, engine: Engine, tmp_path: Path) -> None:
    own, table, seeds = scattered(plan, 37), plan.table[:SHORT_CYCLES], np.arange(37)
    expected = engine.fly(own, table, seeds, threads=1)
    others = [engine.fly(own, table, seeds, threads=2)]
    others += [Engine(plan.loop, lanes=lanes, cache=tmp_path).fly(own, table, seeds) for lanes in (1, 8)]
    for other in others:
        for name, values in expected.metrics.items():
            assert other.metrics[name].tobytes() == values.tobytes(), name
    assert len(set(expected.metrics["roll_max_deg"].tolist())) == 37


@pytest.mark.soak
@pytest.mark.skipif(batch_build.cuda_compiler() is None, reason="no nvcc on this machine")
def test_nvcc_compiles_the_circle(plan: flights.Plan, tmp_path: Path) -> None:
    built = batch_build.cuda_library(source(plan.loop, batch.CUDA), tmp_path, ("-Werror", "all-warnings"))
    assert b"aeroloop_batch_run" in built.read_bytes()


def test_parameters_and_noise_act(plan: flights.Plan, engine: Engine) -> None:
    def pair(metric: str, key: str, values: list[float], seeds: list[int]) -> tuple[float, float]:
        own = flights.columns(plan, {key: values}, 2)
        before, after = (
            engine.fly(own, plan.table[:1800], np.array(seeds), flights=np.zeros(2)).metrics[metric].tolist()
        )
        return before, after

    calm, rough = pair("airspeed_error_rms_m_s", "world.wind.turbulence.w20_m_s", [5.0, 20.0], [1, 1])
    assert rough > 2 * calm
    light, heavy = pair("altitude_error_max_m", "vehicle.scale.mass", [1.0, 1.3], [1, 1])
    assert heavy > light
    there, beside = pair("clearance_min_m", "world.start_offset_W[0]", [0.0, 200.0], [1, 1])
    assert abs(there - beside) > 1  # the circle lies over other ground
    one, other = pair("roll_max_deg", "vehicle.scale.mass", [1.0, 1.0], [1, 2])
    assert one != other


def test_a_flight_into_the_ground_ends(plan: flights.Plan, engine: Engine) -> None:
    """A third of the thrust does not hold three times the mass."""
    own = flights.columns(plan, {"vehicle.scale.mass": [3.0], "vehicle.scale.thrust": [0.3]}, 1)
    made = engine.fly(own, plan.table, np.array([1])).metrics
    assert made["ground_contacts"][0] == 1 and made["diverged"][0] == 0
    assert 1 < made["flown_s"][0] < 60


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("mission.command_at_s=10", "mission.command_at_s"),
        ("world.wind.gusts=[{start_s=5.0,amplitude_W=[0.0,5.0,0.0],rise_s=1.0}]", "world.wind.gusts"),
        ('world.wind.profile={kind="log"}', "world.wind.profile"),
        ("world.wind.turbulence={altitude='medium',sigma_m_s=1.0}", "world.wind.turbulence.altitude"),
        ("world.wind.turbulence.rates=true", "world.wind.turbulence.rates"),
        ("sensors.barometer.delay_s=0.01", "sensors.barometer.delay_s"),
        ("sensors.gnss.start_s=3", "sensors.gnss.start_s"),
        ("sensors.gnss.rate_hz=3", "sensors.gnss.rate_hz"),
        ("sensors.imu.average=true", "sensors.imu.average"),
        ("sensors.imu.vibration={at_rad_s=400.0}", "sensors.imu.vibration"),
        ("sensors.gnss.consistent=true", "sensors.gnss.consistent"),
        ("link.to_board={delay_s=0.01}", "link.to_board"),
        ('faults=[{target="gnss",kind="silent",from_s=20.0}]', "faults"),
    ],
)
def test_what_a_batch_cannot_fly_is_refused_by_its_key(setting: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{re.escape(key)}: .*batch") as refused:
        flights.plan("fixedwing-circle", (setting,))
    assert "\n" not in str(refused.value)


def test_a_start_drawn_from_the_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^mission\.start_m: .*expected the centre"):
        flights.plan("fixedwing-loiter", ("world.wind.turbulence.fade_in_s=0.0",))


def test_symbols_leave_the_equations_of_numbers_as_they_were() -> None:
    """Hashes of the generated C before mass and inertia could be symbols."""
    made = [fixedwing.step(airframe.load(name)) for name in ("aerosonde", "anaconda")]
    hashes = [hashlib.sha256(c_source(function).encode()).hexdigest()[:16] for function in made]
    assert hashes == ["c249553fc2f4ca94", "b66e777d9e48b511"]


@needs_objdump
def test_every_function_of_the_loop_is_vectorised(plan: flights.Plan, engine: Engine, cache: Path) -> None:
    own = ("begin", "surround", "imu", "gnss", "barometer", "magnetometer", "control", "stage", "end", "al_normals")
    check_vectorised(plan.loop, own, cache)
