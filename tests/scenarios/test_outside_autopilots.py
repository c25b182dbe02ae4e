"""Autopilots that are nobody's child, over TCP: waited for in words, flown in lockstep, and forgiven what they do."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect
from quad_runs import FLIGHT_GUARD_S, Bench, OutsideAutopilot, Peer, command, free_port

from aeroloop.controllers.pixhawk.types import FlightMode


def listening(port: int) -> str:
    return f"tcp://127.0.0.1:{port}?listen"


@pytest.mark.soak  # short: test_px4_process.py
def test_an_outside_autopilot_takes_off_and_lands(tmp_path: Path) -> None:
    port = free_port()
    autopilot = OutsideAutopilot(port)
    autopilot.orders = {
        6_000_000: lambda logic: logic.arm(),
        6_500_000: lambda logic: logic.take_off(5.0),
        14_000_000: lambda logic: logic.set_mode(FlightMode.LAND),
    }
    with autopilot:
        run = Bench(tmp_path, listening(port), "--set", "duration_s=28").end()
    assert run.exit_code == 0, run.said
    assert f"waits for an autopilot on tcp://127.0.0.1:{port}" in run.said
    assert run.metrics["height_max_m"] == pytest.approx(5.0, abs=0.6)
    assert run.positions()[-1, 2] < 0.2
    assert run.metrics["pos_rms_m"] is None, "what it wanted is not known from outside"
    assert not autopilot.pixhawk.status.armed


def test_nobody_comes(tmp_path: Path) -> None:
    port = free_port()
    run_folder = tmp_path / "run"
    done = subprocess.run(
        command(
            "quad-px4", "--link", f"tcp://127.0.0.1:{port}?listen", "--set", "link.start_timeout_s=1", out=run_folder
        ),
        capture_output=True,
        text=True,
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    assert done.returncode == 3
    assert f"no MAVLink received on tcp://127.0.0.1:{port}?listen within 1 s; is the autopilot running?" in done.stderr
    assert "docs/px4-sitl.md" in done.stderr, "how to start one"


class Parrot(Peer):
    """Answers every sample with the same controls; `spoil` may say something else."""

    def __init__(self, port: int, spoil: Any = None, leave_after: int = 0) -> None:
        super().__init__(port)
        self._spoil, self._leave_after = spoil, leave_after
        self.answered = 0

    def talk(self) -> None:
        mav = dialect.MAVLink(None, srcSystem=1, srcComponent=1)
        mav.robust_parsing = True
        with self.connected() as line:
            line.sendall(dialect.MAVLink_command_long_message(0, 0, 511, 0, 115, 5000, 0, 0, 0, 0, 0).pack(mav))
            line.sendall(dialect.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3).pack(mav))
            while chunk := line.recv(65536):
                for message in mav.parse_buffer(chunk) or []:
                    if message.get_type() == "HIL_SENSOR":
                        self.answered += 1
                        if self.answered == self._leave_after:
                            return
                        line.sendall(self._answer(mav, message.time_usec))

    def _answer(self, mav: Any, time_usec: int) -> bytes:
        said = self._spoil(mav, time_usec) if self._spoil else b""
        answer: bytes = dialect.MAVLink_hil_actuator_controls_message(time_usec, [0.0] * 16, 1, 1).pack(mav)
        return said + answer


def rubbish(mav: Any, time_usec: int) -> bytes:
    """Garbage, another system's command, one from the past, and controls that are no numbers."""
    stranger = dialect.MAVLink(None, srcSystem=77, srcComponent=1)
    takeover = dialect.MAVLink_hil_actuator_controls_message(time_usec, [1.0] * 16, 129, 1).pack(stranger)
    past = dialect.MAVLink_hil_actuator_controls_message(max(0, time_usec - 40_000), [1.0] * 16, 129, 1).pack(mav)
    absurd = dialect.MAVLink_hil_actuator_controls_message(time_usec, [float("nan")] * 16, 1, 1).pack(mav)
    return b"\xfd\x09\x00junk" + takeover + past + (absurd if time_usec > 3_000_000 else b"")


def test_what_goes_wrong_in_an_autopilot_here_is_raised_and_none_is_left_behind() -> None:
    class Wrong(Peer):
        def talk(self) -> None:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"), Wrong(0):
        pass
    with pytest.raises(AssertionError, match="the flight's") as failed, Wrong(0) as wrong:
        wrong.join(FLIGHT_GUARD_S)
        raise AssertionError("the flight's")
    assert failed.value.__notes__ == ["Wrong: ValueError('mine')"]
    with Parrot(free_port()) as alone:
        assert alone.is_alive()
    assert not alone.is_alive() and not wrong.is_alive()


def test_what_an_autopilot_says_wrong_is_counted_and_flies_nobody(tmp_path: Path) -> None:
    port = free_port()
    with Parrot(port, spoil=rubbish):
        run = Bench(tmp_path, listening(port), "--set", "duration_s=5").end()
    assert run.summary["ended"] == "completed", run.said
    assert run.metrics["height_max_m"] < 0.2, "it never left the ground"
    assert run.events("ACTUATORS_REFUSED")
    assert run.metrics["actuators_refused"] > 0
    assert run.exit_code == 1, "an implied check"
    link = run.summary["links"]["link"]
    assert link["other_system"] > 1000
    assert link["skipped_bytes"] > 1000


def test_one_that_leaves_may_come_back(tmp_path: Path) -> None:
    port = free_port()
    bench = Bench(tmp_path, listening(port), "--set", "duration_s=6")
    with Parrot(port, leave_after=500) as first:
        first.finish()
    with Parrot(port) as second:
        run = bench.end()
    assert run.summary["ended"] == "completed", run.said
    assert run.events("AUTOPILOT_LEFT")
    assert run.events("AUTOPILOT_BACK")
    assert f"the autopilot disconnected from tcp://127.0.0.1:{port}?listen at" in run.said
    assert f"the autopilot on tcp://127.0.0.1:{port}?listen has reconnected" in run.said
    assert second.answered > 500


def test_one_that_leaves_for_good_is_in_the_log(tmp_path: Path) -> None:
    port = free_port()
    bench = Bench(tmp_path, listening(port), "--set", "duration_s=6")
    with Parrot(port, leave_after=500) as only:
        only.finish()
    bench.says("the autopilot disconnected")
    bench.process.send_signal(signal.SIGINT)
    run = bench.end()
    (left,) = run.events("AUTOPILOT_LEFT")
    assert left["t_s"] == pytest.approx(500 * 0.004, abs=0.02)


def test_a_second_one_on_the_same_port_does_no_harm(tmp_path: Path) -> None:
    port = free_port()
    bench = Bench(tmp_path, listening(port), "--set", "duration_s=6")
    with Parrot(port) as first, Parrot(port) as second:
        run = bench.end()
    assert {first.answered, second.answered} == {1500, 0}
    assert run.exit_code == 0, run.said
    assert run.metrics["autopilot_restarts"] == 0


def test_each_of_several_vehicles_has_its_port(tmp_path: Path) -> None:
    port = free_port()
    parrots = [Parrot(port), Parrot(port + 1)]
    with parrots[0], parrots[1]:
        run = Bench(tmp_path, listening(port), "--set", "vehicle.count=2", "--set", "duration_s=3").end()
    assert run.exit_code == 0, run.said
    assert [parrot.answered for parrot in parrots] == [750, 750]


def test_a_line_that_is_too_slow_is_refused_before_the_flight(tmp_path: Path) -> None:
    done = subprocess.run(
        command("quad-px4", "--pace", "real", "--link", "serial:///dev/ttyS9?baud=115200", out=tmp_path / "run"),
        capture_output=True,
        text=True,
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    assert done.returncode == 2
    assert "172% of what 115200 baud carries" in done.stderr
