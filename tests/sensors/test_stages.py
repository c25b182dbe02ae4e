"""Actuators, sensors, generated code and topics: the small stages."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from stream_tables import TILTROTOR

from aeroloop.actuators.lagged import Actuators, LaggedActuators
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import c_source, compiled, fastest
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import body_from_euler_rates, quat_from_euler
from aeroloop.core.paths import runtime_dir
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.signals import Truth
from aeroloop.core.streams import streams_of_kind
from aeroloop.core.tables import FAMILIES
from aeroloop.families.tiltrotor.design import design
from aeroloop.realtime.topics import BUFFERED_RECORDS, Topics, sweep
from aeroloop.sensors.state import StateSensors, TiltrotorSensors, ideal

MS = 1_000_000
TRUTH = Truth(
    0,
    (1.0, 2.0, 3.0),
    quat_from_euler(0.1, 0.2, 0.3),
    (4.0, 5.0, 6.0),
    body_from_euler_rates(0.1, 0.2, 0.7, 0.8, 0.9),
    (0.01, 0.02),
    (0.03, 0.04),
)


def test_actuators_cut_to_their_limits_and_say_so() -> None:
    actuators = LaggedActuators(Actuators(thrust_max_N=20.0, torque_max_Nm=2.0), (10.0, 10.0, 0.0, 0.0))
    free = actuators.step((19.9, 0.0, -1.9, 2.0), 4 * MS)
    assert (free.thrust_N, free.tilt_torque_Nm, free.saturated) == ((19.9, 0.0), (-1.9, 2.0), False)
    cut = actuators.step((25.0, -1.0, 0.0, -3.0), 4 * MS)
    assert (cut.thrust_N, cut.tilt_torque_Nm, cut.saturated) == ((20.0, 0.0), (0.0, -2.0), True)


def test_lag_is_the_exact_first_order_response_for_any_step() -> None:
    config = Actuators(lag_s=0.05)
    one = LaggedActuators(config, (10.0, 10.0, 0.0, 0.0))
    many = LaggedActuators(config, (10.0, 10.0, 0.0, 0.0))
    whole = one.step((12.0, 10.0, 0.0, 0.0), 50 * MS)
    for _ in range(50):
        parts = many.step((12.0, 10.0, 0.0, 0.0), MS)
    assert whole.thrust_N[0] == pytest.approx(10.0 + 2.0 * (1 - math.exp(-1)))
    assert parts.thrust_N == pytest.approx(whole.thrust_N)


def test_ideal_sensors_are_in_the_papers_order() -> None:
    expected = (1, 2, 3, 0.1, 0.2, 0.3, 0.01, 0.02, 4, 5, 6, 0.7, 0.8, 0.9, 0.03, 0.04)
    assert ideal(TRUTH) == pytest.approx(expected)


def test_sensor_noise_has_its_stated_spread_and_its_own_seed() -> None:
    config = TiltrotorSensors(pos_std_m=0.1, angle_std_rad=0.02, tilt_std_rad=0.03, vel_std_m_s=0.4, rate_std_rad_s=0.5)
    sensors = StateSensors(config, np.random.default_rng(1))
    noise = np.array([sensors.sample(TRUTH) for _ in range(4000)]) - np.array(ideal(TRUTH))
    stated = [0.1] * 3 + [0.02] * 3 + [0.03] * 2 + [0.4] * 3 + [0.5] * 5
    assert noise.std(axis=0) == pytest.approx(stated, rel=0.05)
    assert noise.mean(axis=0) / stated == pytest.approx(np.zeros(16), abs=0.07)
    again = StateSensors(config, np.random.default_rng(1))
    other = StateSensors(config, np.random.default_rng(2))
    first = StateSensors(config, np.random.default_rng(1)).sample(TRUTH)
    assert again.sample(TRUTH) == first != other.sample(TRUTH)


def test_compiled_law_equals_the_interpreted_one(tmp_path: Path) -> None:
    law = design("cad", "published", 0.012).law("dlqr-heading")
    runs = [Evaluator(law), Evaluator(compiled(law, tmp_path))]
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = [rng.normal(size=n) for n in (16, 8, 8)]
        for run in runs:
            for array, value in zip(run.inputs, values, strict=True):
                array[:] = value
            run()
        assert runs[0].outputs[0] == pytest.approx(runs[1].outputs[0], abs=1e-12)
        assert runs[0].outputs[1] == pytest.approx(runs[1].outputs[1], abs=1e-12)


def test_compiled_code_is_cached_by_content(tmp_path: Path) -> None:
    x = ca.SX.sym("x")
    double, triple = ca.Function("law", [x], [2 * x]), ca.Function("law", [x], [3 * x])
    assert c_source(double) == c_source(ca.Function("law", [x], [2 * x])) != c_source(triple)
    assert float(compiled(double, tmp_path)(2)) == 4
    (library,) = tmp_path.glob("*.so")
    made = library.stat().st_mtime_ns
    assert float(compiled(double, tmp_path)(2)) == 4
    assert library.stat().st_mtime_ns == made
    assert float(compiled(triple, tmp_path)(2)) == 6
    assert len(list(tmp_path.iterdir())) == 2


def test_missing_and_broken_compilers_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ca.SX.sym("x")
    function = ca.Function("law", [x], [x + 41])
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="needs a C compiler"):
        compiled(function, tmp_path)
    monkeypatch.setenv("CC", "/bin/false")
    with pytest.raises(ConfigError, match="/bin/false failed"):
        compiled(function, tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_the_interpreter_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ca.SX.sym("x")
    function = ca.Function("law", [x], [x + 41])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = fastest(function)
    run.inputs[0][:] = 1
    run()
    assert run.outputs[0] == 42
    assert list((tmp_path / "aeroloop").glob("law-*.so"))
    for name, value in (("CC", "/bin/false"), ("XDG_CACHE_HOME", "/proc/nowhere")):
        monkeypatch.setenv(name, value)
        run = fastest(function)
        run.inputs[0][:] = 2
        run()
        assert run.outputs[0] == 43


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flight-", dir=runtime_dir()) as made:  # short: sockets live there
        yield Path(made)
        sweep(Path(made))
        assert not list(Path("/dev/shm").glob(f"{Path(made).name}*"))


def test_topics_deliver_rows_in_order(folder: Path) -> None:
    topics = Topics(folder, wait=True)
    stream = TILTROTOR["command"]
    publisher, subscriber = topics.publisher(stream), topics.subscriber(stream)
    rows = [tuple(float(10 * n + i) for i in range(6)) for n in range(100)]
    for row in rows:
        publisher.send(*row)
    assert [stream.packing.unpack(record) for record in subscriber.records()] == rows
    assert subscriber.lost == 0


def test_a_full_buffer_never_blocks_in_real_time_and_the_loss_is_counted(folder: Path) -> None:
    topics = Topics(folder, wait=False)
    stream = TILTROTOR["command"]
    publisher, subscriber = topics.publisher(stream), topics.subscriber(stream)
    for n in range(BUFFERED_RECORDS + 50):
        publisher.send(float(n), 0.0, 0.0, 0.0, 0.0, 0.0)
    assert sum(1 for _ in subscriber.records()) == BUFFERED_RECORDS
    publisher.send(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert sum(1 for _ in subscriber.records()) == 1
    assert subscriber.lost == 50


def test_the_clock_rings(folder: Path) -> None:
    topics = Topics(folder, wait=False)
    publisher, subscriber = topics.publisher(TILTROTOR["clock"]), topics.subscriber(TILTROTOR["clock"])
    publisher.send(1.5, 0)
    publisher.send(2.5, 0)
    subscriber.wait(30.0)  # returns at once, or the test hangs for half a minute
    assert subscriber.latest() == (2.5, 0.0)
    assert subscriber.latest() is None


@pytest.mark.parametrize("kind", FAMILIES)
def test_stream_table_is_sound(kind: str) -> None:
    streams = streams_of_kind(kind)
    assert len({stream.name for stream in streams}) == len(streams)
    for stream in streams:
        assert stream.names[:2] == ("t_s", "vehicle") or stream in ROUTER_STREAMS
        assert len(set(stream.names)) == len(stream.names)
        assert all(field.unit and field.meaning for field in stream.fields)
        assert stream.logged or not stream.simulated
