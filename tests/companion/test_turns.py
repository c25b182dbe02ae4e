"""Turns between autopilot and companion: messages arrive at their simulated time, whatever the wall clock does."""

from __future__ import annotations

import socket
import threading

import pytest

from aeroloop.companion import turns
from aeroloop.companion.turns import AutopilotTurns, CompanionTurns, Schedule
from aeroloop.core.signals import NS

SCHEDULE = Schedule(rate_hz=10.0, latency_s=0.08, compute_s=0.02)
STEP_NS = NS // 100


def never() -> bool:
    return False


def pair(schedule: Schedule = SCHEDULE) -> tuple[CompanionTurns, AutopilotTurns, list[str], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told: list[str] = []
    return CompanionTurns(ours, schedule, told.append, never), AutopilotTurns(theirs), told, theirs


def test_what_is_sent_and_received_follows_from_the_schedule_alone() -> None:
    host, companion, told, _ = pair()
    got: list[tuple[int, int, bytes]] = []

    def work() -> None:
        while (turn := companion.following(never)) is not None:
            got.append((turn.number, turn.t_ns, turn.telemetry))
            companion.answer(turn, b"answer %d " % turn.number)

    thread = threading.Thread(target=work)
    thread.start()
    heard = {}
    for step in range(31):
        answer = host.exchange(step * STEP_NS, b"%d " % step)
        if answer:
            heard[step] = answer
    host.close()
    thread.join()
    # Frame k of k/10 s is handed over 0.04 s later, and answered 0.10 s after its time.
    assert heard == {10: b"answer 0 ", 20: b"answer 1 ", 30: b"answer 2 "}
    assert [(number, t_ns // STEP_NS) for number, t_ns, _ in got] == [(0, 4), (1, 14), (2, 24)]
    assert b"".join(telemetry for _, _, telemetry in got) == b"".join(b"%d " % step for step in range(25))
    assert not told


def test_the_first_turn_is_that_of_the_cameras_first_frame() -> None:
    host, companion, _, _ = pair(Schedule(10.0, 0.08, 0.0, first=2))
    for step in range(25):
        host.exchange(step * STEP_NS, b"")
    turn = companion.following(never)
    assert turn is not None
    assert (turn.number, turn.t_ns) == (2, 24 * STEP_NS)


def test_a_companion_that_died_is_not_waited_for() -> None:
    host, _, told, theirs = pair()
    host.exchange(4 * STEP_NS, b"")
    theirs.close()
    assert host.exchange(10 * STEP_NS, b"") == b""
    assert host.closed
    assert not told  # the supervisor says it


def test_a_companion_that_hangs_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE_S", 0.0)
    monkeypatch.setattr(turns, "POLL_MS", 1)
    host, _, told, _ = pair()
    host.exchange(4 * STEP_NS, b"")
    assert host.exchange(10 * STEP_NS, b"") == b""
    assert host.closed
    assert told == ["the companion has not answered frame 0 for 0 s: the flight continues without it"]


def test_the_companion_ends_with_the_flight() -> None:
    host, companion, _, _ = pair()
    host.close()
    assert companion.following(never) is None
