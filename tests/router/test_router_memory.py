"""Whoever makes up senders leaves nothing behind: no garbage to search for, and no table that grows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pymavlink.dialects.v20 import common as dialect
from router_scenes import VEHICLE, Program, Scene, heartbeat

from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkOut
from aeroloop.realtime import setup
from aeroloop.router.decisions import MOST_DECISIONS


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def pretend(scene: Scene, program: Program, senders: int, vehicle: Program) -> None:
    for number in range(senders):
        out = MavlinkOut(MavlinkCounters(), 2 + number % 250, 2 + number // 250)
        program.socket.sendall(out.pack(heartbeat()) + out.pack(dialect.MAVLink_ping_message(1, 2, 0, 0)))
        scene.turn(1)
        if number % 50 == 0:
            vehicle.frames()


@pytest.mark.usefixtures("uncollected")
def test_a_peer_with_many_names_leaves_no_garbage(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("crowd", "command")
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        vehicle.say(heartbeat())
        for come_and_gone in range(3):
            hostile = scene.program("crowd")
            pretend(scene, hostile, 300, vehicle)
            (peer,) = (peer for peer in scene.router.mavlink_peers() if peer.role == "command")
            assert 300 < len(peer.decisions) <= MOST_DECISIONS
            hostile.close()
            del peer
            scene.turn()
            scene.later(1.0)
            assert gc.collect() == 0 or come_and_gone == 0, "the first call of a library may leave some"


def test_only_young_objects_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[int] = []
    monkeypatch.setattr(setup.gc, "freeze", lambda: None)
    monkeypatch.setattr(setup.gc, "set_threshold", lambda *numbers: set_to.extend(numbers))
    setup.without_long_collections()
    assert set_to == [*gc.get_threshold()[:2], setup.NEVER]
