"""A flight in the background, with its processes: paused, stepped, changed from Python and from the command line, and
restarted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import aeroloop
from aeroloop.cli.flight_command_line import app
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.flight.flight_control import speed_of
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.running import flight_id
from aeroloop.recording.log import log_sha256

WAIT_S = 120.0


@pytest.fixture
def flight(tmp_path: Path) -> Iterator[aeroloop.LiveFlight]:
    """In lockstep, with the autopilot in the plant's process: the fewest processes of a flight."""
    changed = {"duration_s": 1.2, "checks": []}
    with aeroloop.start("quad-hover", set=changed, out=tmp_path / "run", paused=True) as started:
        yield started


def test_a_flight_is_paused_stepped_changed_and_repeats_from_its_folder(
    flight: aeroloop.LiveFlight, tmp_path: Path
) -> None:
    assert flight.pause() == 0.0 and flight.paused and flight.running
    assert [flight.step(), flight.step(10)] == [0.004, 0.044]
    with pytest.raises(ConfigError, match=r"step: expected a whole number of steps from 1 to 1000000, not 1\.5"):
        flight.step(1.5)  # type: ignore[arg-type]
    flight.change("world.wind.steady_W", (3.0, -1.0, 0.0))
    flight.fault("rotor", "weak", channel="rotor2", value=0.95)
    assert flight.step(25) == 0.144
    with pytest.raises(
        ConfigError, match=r"world\.wind: cannot be changed in this flight.*expected one of: world\.wind"
    ):
        flight.change("world.wind", 1.0)
    with pytest.raises(ConfigError, match="rotor has no 'rotor9'; expected one of: rotor1, rotor2, rotor3, rotor4"):
        flight.fault("rotor", "dead", channel="rotor9")
    launch = flight._launch
    assert launch is not None
    said = [command(launch_id, *words) for launch_id in [flight_id(launch)] for words in COMMANDS]
    assert said == [
        (0, "paused at 0.164 s"),
        (0, "payload.mass_kg 0.05"),
        (0, "rotor weak off"),
        (2, "speed: expected a number of times real time such as 0.25, or real or max; not 'slow'"),
        (0, "speed max"),
        (0, "resumed"),
    ]
    run = flight.wait(WAIT_S)
    assert run.ended == "completed" and "to repeat the flight with them: aeroloop fly" in run.remarks[-1]
    assert [len(run.plan.changes), len(run.plan.faults)] == [2, 2]  # type: ignore[union-attr]
    assert [e["value"] for e in run.events if e["event"] == "CHANGED"] == [
        "steady wind: 3, -1, 0 m/s",
        "payload at the centre of mass: 0.05 kg",
    ]
    again = fly_inline(load(tmp_path / "run" / "scenario.toml"))
    assert log_sha256(again.logs[0]) == run.log_sha256
    with pytest.raises(LinkError, match="the flight has ended"):
        flight.pause()


COMMANDS = (
    ("step", "5"),
    ("change", "payload.mass_kg", "0.05"),
    ("fault", "rotor", "weak", "--channel", "rotor2", "--off"),
    ("speed", "slow"),
    ("speed", "max"),
    ("resume",),
)


def command(launch_id: str, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words, "--flight", launch_id])
    if isinstance(done.exception, ConfigError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.output.strip()


def test_a_restarted_flight_flies_the_same_plan_into_another_folder(
    flight: aeroloop.LiveFlight, tmp_path: Path
) -> None:
    flight.change("payload.mass_kg", 0.2)
    flight.step(3)
    flight.restart()
    run = flight.wait(WAIT_S)
    assert (run.folder, run.ended) == (tmp_path / "run-restart1", "completed")
    first = aeroloop.open_run(tmp_path / "run")
    assert first.ended == "ended by user (restart)"
    assert [len(each.plan.changes) for each in (first, run)] == [1, 0]  # type: ignore[union-attr]


@pytest.mark.parametrize("pause_s", [pytest.param(60.0, marks=pytest.mark.soak), 0.5])
@pytest.mark.parametrize(
    ("name", "loop", "pace"), [("tiltrotor-wind", "mil", "lockstep"), ("fixedwing-loiter", "pil", "real")]
)
def test_a_pause_changes_no_simulated_row(name: str, loop: str, pace: str, pause_s: float, tmp_path: Path) -> None:
    """With all processes, beside the same flight without them and without a pause: in lockstep board and ground wait
    with their batons, in real time the plant for the board. Deadlines that a busy machine misses are events.

    Of the short pause tests/flight/test_simulation_control.py makes minutes, by a clock of its own, and
    tests/realtime/test_flight_clock.py an hour for those who wait."""
    changed = {"duration_s": 1.0, "checks": []}
    flight = aeroloop.start(name, loop=loop, pace=pace, set=changed, out=tmp_path / "run", paused=True)
    stood_s = flight.step(40)
    time.sleep(pause_s)
    assert flight.paused and flight.pause() == stood_s, "no simulated time passed"
    assert flight.step(3) > stood_s
    flight.resume()
    run = flight.wait(WAIT_S)
    assert run.ended == "completed"
    plain = fly_inline(load(find(name), (f'loop="{loop}"', "duration_s=1.0", "checks=[]"))).logs[0]
    for stream in plain.streams:
        if stream.simulated:
            rows = run._log.rows[stream.name]
            if stream.name == "event":
                rows = rows[run._log.column("event", "code") != Event.DEADLINE_MISSED]
            assert np.array_equal(plain.rows[stream.name], rows, equal_nan=True), stream.name
    if pace == "lockstep":
        assert log_sha256(plain) == run.log_sha256


@pytest.mark.parametrize(("text", "speed"), [("0.25", 0.25), ("4x", 4.0), ("real", 1.0), ("max", 0.0), (2, 2.0)])
def test_speeds_are_numbers_or_words(text: str | float, speed: float) -> None:
    assert speed_of(text) == speed


@pytest.mark.parametrize("text", ["", "-1", "0", "nan", "inf", "fast", "1e999"])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="speed: expected a number"):
        speed_of(text)
