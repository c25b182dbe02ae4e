"""Several programs at one line of a router, of which one commands: refused, taken over, refused in turn."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect
from router_scenes import free_port
from typer.testing import CliRunner

from aeroloop.cli import flight_command_line
from aeroloop.controllers.routing import BENCH
from aeroloop.core import scenario_files as scenarios
from aeroloop.dashboard.fly_commands import other_commander, take_command
from aeroloop.ground.commands import HeldError, NoAnswerError, Patience, RefusedError, Station
from aeroloop.ground.commands.taking_command import RequestCommand
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.router.config import EndpointConfig, RouterConfig
from aeroloop.router.engine import Router
from peers.fake_autopilot import FakeAutopilot

LONG_S = 30.0
PATIENCE = Patience(answer_s=LONG_S, tries=1)


@contextmanager
def bench(folder: Path, role: Any = "command") -> Iterator[str]:
    """An autopilot behind a router; the link to the line that the programs share."""
    port = free_port(socket.SOCK_DGRAM)
    path = folder / "bench.sock"
    ends = (
        EndpointConfig("pixhawk", f"udp://127.0.0.1:{port}?listen"),
        EndpointConfig(BENCH, f"loopback://{path}?listen", role=role),
    )
    ended = threading.Event()
    with Router(RouterConfig(endpoints=ends)) as router:
        thread = threading.Thread(target=router.run, args=(ended.is_set,))
        thread.start()
        try:
            with FakeAutopilot(port) as fake:
                fake.services.links[0].rates.set_interval(0, 20_000, 0)
                yield f"loopback://{path}"
        finally:
            ended.set()
            thread.join()


def typed(*words: str) -> tuple[int, str]:
    ran = CliRunner().invoke(flight_command_line.app, words)
    if isinstance(ran.exception, RefusedError):
        return 1, str(ran.exception)
    return ran.exit_code, ran.output.strip()


class Watched(SimpleNamespace):
    """As much of a watched flight as taking command asks for."""

    @property
    def commander(self) -> str:
        return str(self.station.holder)


def test_a_program_that_shares_the_line_takes_over(tmp_path: Path) -> None:
    with bench(tmp_path) as url, Station.connect(url, LONG_S, patience=PATIENCE) as station:
        vehicle = station.vehicle(timeout_s=LONG_S)
        vehicle.arm()
        vehicle.disarm()

        code, words = typed("arm", "--link", url)
        assert code == 1
        assert words == (f"arm: the router refused: {BENCH}/1 has control; take command first: repeat with --take-over")
        code, words = typed("param", "set", "MPC_XY_CRUISE", "3", "--link", url)
        assert code == 1 and "the router refused" in words and "--take-over" in words

        with Station.connect(url, LONG_S, me=(253, 190), patience=PATIENCE) as other:
            theirs = other.vehicle(timeout_s=LONG_S)
            with pytest.raises(HeldError):
                theirs.arm()
            assert other.holder == f"{BENCH}/1"
            other.take_command()
            assert other.holder == ""
            theirs.arm()
            with pytest.raises(HeldError, match=f"disarm: the router refused: {BENCH}/4 has control"):
                vehicle.disarm()
            assert station.holder == f"{BENCH}/4"
            watched: Any = Watched(
                may_command=True,
                launch=object(),
                scenario=scenarios.load(scenarios.find("quad-hover")),
                station=station,
                links=[SimpleNamespace(name=BENCH)],
                store=SimpleNamespace(newest=lambda *_: [{"link": 0.0, "role": 11.0, "up": 1.0}]),
            )
            assert other_commander(watched) == f"{BENCH}/4"
            take_command(watched)
            assert other_commander(watched) == ""
            vehicle.disarm()
            other.take_command()
        vehicle.arm()  # the other has left: command is free at once
        vehicle.disarm()

        assert typed("arm", "--take-over", "--link", url) == (0, "armed")
        vehicle.disarm()


def test_who_may_only_observe_cannot_take_command(tmp_path: Path) -> None:
    with bench(tmp_path, "observe") as url, Station.connect(url, LONG_S, patience=PATIENCE) as station:
        with pytest.raises(RefusedError, match="take command: the router refused: this link may only observe"):
            station.take_command()
        with pytest.raises(RefusedError, match=f"arm: the router refused: {BENCH} may only observe"):
            station.vehicle(timeout_s=LONG_S).arm()


def test_without_a_router_nobody_answers() -> None:
    port = free_port(socket.SOCK_DGRAM)
    with FakeAutopilot(port) as fake:
        fake.services.links[0].rates.set_interval(0, 20_000, 0)
        quick = Patience(answer_s=0.05, tries=2)
        with (
            Station.connect(f"udp://127.0.0.1:{port}?listen", LONG_S, patience=quick) as station,
            pytest.raises(NoAnswerError, match="take command: no router answered after 2 tries"),
        ):
            station.take_command()


def test_an_answer_to_another_station_is_not_ours() -> None:
    """Nor one to a release: only `system` 254 asked, and it asked for control (0)."""
    asked = RequestCommand((254, 190), PATIENCE)
    asked.begin(0)
    out = MavlinkOut(MavlinkCounters(), 254, 191)

    def answer(system: int, request: int, verdict: int) -> None:
        wire = out.pack(dialect.MAVLink_change_operator_control_ack_message(system, request, verdict))
        for frame in MavlinkIn(MavlinkCounters()).feed(wire):
            asked.handle(frame, 0)

    answer(253, 0, 0)
    answer(253, 0, 3)
    answer(254, 1, 0)
    assert not asked.done
    answer(254, 0, 0)
    assert asked.done and asked.error is None
