"""Faults that somebody switches while an aircraft flies, and watchers of a flight, as a control page has them."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from aeroloop.controllers.pixhawk.types import Failsafe
from aeroloop.core.errors import LinkError
from aeroloop.core.faults import KINDS, TARGETS, Switch
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis.summary import PARAMETERS
from aeroloop.flight.processes.common import read_launch_settings
from aeroloop.flight.results import SUMMARY
from aeroloop.ground.commands import NoAnswerError, Patience, RefusedError, Vehicle
from aeroloop.realtime.controls import SOCKET, Controls
from aeroloop.realtime.feed import LISTENERS, FeedIn
from conftest import until

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench, Running

NO_GROUND = ("--set", "autopilot.ground_links=[]")  # whose ports another flight may have
GUARD_S = 60.0
"""Of the wall: a flight that has not come so far by then never does."""


class Watched:
    """A running flight with somebody who watches it and switches."""

    def __init__(self, bench: Bench, *args: str) -> None:
        self.bench = bench
        self.running: Running = bench.start("fly", *args, "--no-report", "--out", "run", "--set", "checks=[]")
        self.folder: Path = bench.flight()
        self.feed, self.controls = FeedIn(self.folder), Controls(self.folder)
        self.rows: list[tuple[str, tuple[float, ...]]] = []

    def until(self, happens: Callable[[str, tuple[float, ...]], bool], what: str) -> tuple[float, ...]:
        """The first row from now on of which it is true."""
        deadline_s = time.monotonic() + GUARD_S
        while time.monotonic() < deadline_s and self.running.process.poll() is None:
            fresh = [(stream.name, row) for stream, row in self.feed.rows()]
            self.rows += fresh
            for name, row in fresh:
                if happens(name, row):
                    return row
            time.sleep(0.002)
        pytest.fail(f"{what}: never seen; {self.running.err}")

    def switch(self, target: str, kind: str, on: bool, **more: Any) -> tuple[float, ...]:
        """Give the order, and wait until the flight says that it was done."""
        self.controls.switch(Switch(target=target, kind=kind, on=on, **more))  # type: ignore[arg-type]
        what = [TARGETS.index(target), KINDS.index(kind), float(on)]

        def done(name: str, row: tuple[float, ...]) -> bool:
            return name == "fault" and list(row[2:5]) == what

        return self.until(done, f"{target} {kind} {on}")

    def stall(self, watchers: int) -> list[socket.socket]:
        """Watchers who never read."""
        stalled = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(watchers)]
        for number, watcher in enumerate(stalled):
            watcher.bind(str(self.folder / LISTENERS / f"stalled-{number}.sock"))
        return stalled

    def end(self, remark: str = "made by hand in flight") -> dict[str, Any]:
        ended = self.running.wait()
        assert ended.code == 0, ended.err
        assert remark in ended.err + ended.out
        self.feed.close()
        assert self.bench.log().metadata["recorder"]["lost_rows"] == "0", "whoever watches"
        summary: dict[str, Any] = json.loads((self.bench.folder / "run" / SUMMARY).read_bytes())
        return summary


def assert_every_step_is_logged(bench: Bench, duration_s: float) -> None:
    """Also the last ones, of which nobody can count that they were lost. Simulated time is even at every pace."""
    steps_s = bench.log().column("truth", "t_s")
    assert np.diff(steps_s) == pytest.approx(steps_s[1] - steps_s[0], abs=1e-6)
    assert (steps_s[0], steps_s[-1]) == pytest.approx((0.0, duration_s), abs=0.021)


def test_satellites_lost_and_found_again(bench: Bench) -> None:
    """Also: orders that are none, and a watcher who never reads."""
    flight = Watched(bench, "quad-hover", "--set", "duration_s=40")
    stalled = flight.stall(3)
    flight.until(lambda name, row: name == "truth" and row[4] > 2.0, "in the air")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as rude:
        rude.setblocking(False)
        for garbage in (b"", b"\xff" * 500, b'{"target": "gnss"}', os.urandom(4000)):
            with suppress(BlockingIOError):
                rude.sendto(garbage, str(flight.folder / SOCKET))
    flight.controls.switch(Switch(target="to_board", kind="loss", on=True, value=0.3))
    off = flight.switch("gnss", "silent", True)
    lost = lambda name, row: name == "board_event" and row[2:4] == (Event.FAILSAFE, Failsafe.POSITION_LOST)  # noqa: E731
    noticed = flight.until(lost, "position lost")
    on = flight.switch("gnss", "silent", False)
    seen = flight.until(lambda name, row: name == "gnss" and row[0] > on[0], "a fix again")
    assert off[0] < noticed[0] < on[0] < seen[0]
    summary = flight.end()
    for watcher in stalled:
        watcher.close()
    assert_every_step_is_logged(bench, 40.0)
    log = bench.log()
    fixes_s = log.column("gnss", "t_s")
    assert not ((fixes_s > off[0] + 0.2) & (fixes_s < on[0])).any()
    assert (fixes_s > on[0] + 0.2).any()
    failsafes = [event["value"] for event in summary["events"] if event["event"] == "FAILSAFE"]
    assert failsafes[:2] == [Failsafe.POSITION_LOST, Failsafe.NONE], "it knows its place again"
    assert len(log.rows["fault"]) == 2, "the one that was refused is not there"
    words = [event["value"] for event in summary["events"] if event["event"] == "FAULT_SWITCHED"]
    assert words == ["GNSS: silent on", "GNSS: silent off"]
    assert "an invalid command was received" in flight.running.err
    assert "to_board: in lockstep, time waits for every message" in flight.running.err
    bench.assert_clean()


def test_a_line_that_loses_frames_for_a_while(bench: Bench) -> None:
    flight = Watched(bench, "tiltrotor-spiral", "--set", "duration_s=30")
    flight.until(lambda name, row: name == "truth" and row[0] > 1.0, "in the air")
    on = flight.switch("to_board", "loss", True, value=0.3)
    flight.until(lambda name, row: name == "truth" and row[0] > on[0] + 2.0, "flown on")
    off = flight.switch("to_board", "loss", False)
    frozen = flight.switch("state", "noise", True, channel="position", value=0.01)
    flight.end()
    log = bench.log()
    events = log.rows["board_event"]
    lost_s = events[events[:, 2] == Event.SENSORS_LOST][:, 0]
    assert ((lost_s >= on[0]) & (lost_s <= off[0] + 0.1)).sum() >= 10
    assert not (lost_s < on[0]).any()
    assert not (lost_s > off[0] + 0.1).any()
    assert log.rows["fault"][:, 2:5].tolist() == [
        [TARGETS.index("to_board"), KINDS.index("loss"), 1.0],
        [TARGETS.index("to_board"), KINDS.index("loss"), 0.0],
        [TARGETS.index("state"), KINDS.index("noise"), 1.0],
    ]
    assert log.rows["fault"][2, 5:].tolist() == [0.0, 0.01, 0.01, 0.01]
    assert frozen[0] >= off[0]
    with pytest.raises(LinkError, match="the flight has ended"):
        flight.controls.switch(Switch(target="state", kind="frozen", on=True))


def test_in_real_time_an_autopilots_line_fails_too(bench: Bench) -> None:
    flight = Watched(bench, "quad-hover", "--pace", "4x", "--set", "duration_s=6", *NO_GROUND)
    stalled = flight.stall(3)
    flight.until(lambda name, row: name == "truth" and row[0] > 1.0, "begun")
    on = flight.switch("to_board", "loss", True, value=0.5)
    flight.until(lambda name, row: name == "truth" and row[0] > on[0] + 2.0, "flown on")
    flight.switch("to_board", "loss", False)
    late = flight.switch("to_plant", "delay_s", True, value=0.02)
    flight.until(lambda name, row: name == "truth" and row[0] > late[0] + 1.0, "flown on")
    flight.end()
    for watcher in stalled:
        watcher.close()
    assert_every_step_is_logged(bench, 6.0)
    log = bench.log()
    t_s, lost = log.column("board_link", "t_s"), log.column("board_link", "lost")
    assert lost[t_s < on[0]].max() == 0
    assert lost[-1] > 100
    assert log.column("link", "bad_checksums")[-1] == 0, "whole frames are lost"
    assert len(log.rows["fault"]) == 3


def test_a_router_that_is_killed_costs_the_flight_only_its_ground(bench: Bench) -> None:
    """Flown by hand over the router, so that the autopilot finds itself alone in the air."""
    patient = ("--set", "autopilot.parameters.COM_DL_LOSS_T=8")  # a heartbeat comes every 5 s of the aircraft's time
    flight = Watched(bench, "quad-free", "--pace", "5x", "--set", "duration_s=32", *patient, *NO_GROUND)
    flight.until(lambda name, row: name == "truth", "begun")
    link = read_launch_settings(flight.folder / "launch.json").dash_link
    with Vehicle.connect(link, timeout_s=GUARD_S, patience=Patience(answer_s=GUARD_S)) as vehicle:
        vehicle.wait(lambda state: state.alt_m is not None, GUARD_S)
        assert vehicle.set_parameter("MPC_XY_CRUISE", 3.5) == 3.5
        until(lambda: _armed(vehicle), GUARD_S, "ready to arm")
        vehicle.takeoff(3.0)
        flight.until(lambda name, row: name == "truth" and row[4] > 1.5, "in the air")
        os.kill(flight.running.children()["router"], signal.SIGKILL)
        with pytest.raises(NoAnswerError, match="the link was lost"):
            vehicle.wait(lambda state: False, GUARD_S)
        with pytest.raises(NoAnswerError, match="land: the link was lost"):
            vehicle.land()
    flight.running.says("the router process was killed by SIGKILL: the flight continues")
    summary = flight.end("the router process was killed by SIGKILL: the flight continues")
    assert summary["ended"] == "completed"
    assert_every_step_is_logged(bench, 32.0)
    log = bench.log()
    assert log.rows["parameter_change"][:, 2:].tolist() == [[PARAMETERS.index("MPC_XY_CRUISE"), 5.0, 3.5]]
    failsafes = [event["value"] for event in summary["events"] if event["event"] == "FAILSAFE"]
    assert failsafes[:1] == [Failsafe.LINK_LOST]
    bench.assert_clean()


def _armed(vehicle: Vehicle) -> bool:
    with suppress(RefusedError):
        vehicle.arm()
        return True
    return False
