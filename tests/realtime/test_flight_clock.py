"""The flight's clock: stands while the flight is paused, runs at its speed, and a peer that waits knows why."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS
from aeroloop.realtime import lockstep
from aeroloop.realtime.flight_clock import FILE, LOOK_S, ClockIn, ClockOut
from aeroloop.realtime.lockstep import Baton


class Wall:
    now_ns = 7 * NS

    def __call__(self) -> int:
        return self.now_ns

    def passes(self, seconds: float) -> None:
        self.now_ns += round(seconds * NS)


def test_it_is_the_wall_clock_until_it_is_paused_and_goes_on_at_another_speed(tmp_path: Path) -> None:
    wall = Wall()
    early = ClockIn(tmp_path, now_ns=wall)
    assert early.now_ns() == wall.now_ns, "before the plant has written anything"
    out, late = ClockOut((tmp_path,), 1.0, wall), ClockIn(tmp_path, now_ns=wall)
    for clock in (early, late):
        assert clock.now_ns() == wall.now_ns
    wall.passes(2.0)
    out.tell(paused=True, speed=1.0, t_ns=3 * NS)
    stands_ns = late.now_ns()
    wall.passes(60.0)
    assert early.now_ns() == late.now_ns() == stands_ns
    assert late.state.paused and late.state.t_ns == 3 * NS
    assert late.wall_s(NS) == LOOK_S, "only until the next look"
    out.tell(paused=False, speed=0.25, t_ns=3 * NS)
    wall.passes(4.0)
    assert late.now_ns() == stands_ns + NS
    assert late.wall_s(NS // 4000) == pytest.approx(0.001)
    out.tell(paused=False, speed=4.0, t_ns=4 * NS)
    wall.passes(0.5)
    assert late.now_s() == pytest.approx((stands_ns + 3 * NS) / NS)
    assert late.wall_s(NS) == 0.25
    out.close()
    early.close()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.01, 0.5, 1.0, 7.3]), st.floats(0.0, 5.0)), max_size=12))
def test_it_never_goes_back(changes: list[tuple[bool, float, float]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        wall = Wall()
        out, clock = ClockOut((Path(folder),), 1.0, wall), ClockIn(Path(folder), now_ns=wall)
        was_ns = clock.now_ns()
        for paused, speed, passes_s in changes:
            wall.passes(passes_s)
            out.tell(paused=paused, speed=speed, t_ns=0)
            assert clock.now_ns() >= was_ns
            was_ns = clock.now_ns()
        out.close()
        clock.close()


def test_a_plant_that_died_while_it_wrote_leaves_the_last_state(tmp_path: Path) -> None:
    wall = Wall()
    out, clock = ClockOut((tmp_path,), 1.0, wall), ClockIn(tmp_path, now_ns=wall)
    out.tell(paused=True, speed=1.0, t_ns=NS)
    assert clock.state.paused
    with (tmp_path / FILE).open("r+b") as file:
        file.write(struct.pack("<q", 99))  # odd: being written
    assert clock.state.paused
    out.close()
    clock.close()


def test_a_board_waits_for_a_paused_plant_and_not_for_a_hung_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lockstep, "PATIENCE_S", 0.01)
    wall = Wall()
    out, clock = ClockOut((tmp_path,), 1.0, wall), ClockIn(tmp_path, now_ns=wall)
    ours, plant = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked: list[float] = []

    def held(within_s: float) -> bool:
        asked.append(within_s)
        if len(asked) == 3:
            plant.send(struct.pack("<4q", 1, 2, 3, 4))
        return clock.held(within_s)

    out.tell(paused=True, speed=1.0, t_ns=0)
    wall.passes(3600.0)
    baton = Baton(ours.detach(), "plant", held)
    assert baton.take() == (1, 2, 3, 4)
    assert len(asked) == 3
    out.tell(paused=False, speed=1.0, t_ns=0)
    assert clock.held(0.01), "it has just gone on, and may need a whole turn"
    wall.passes(1.0)
    with pytest.raises(LinkError, match="the plant did not finish its cycle"):
        baton.take()
    out.tell(paused=False, speed=0.01, t_ns=0)
    assert clock.held(0.01), "slow on request"
    plant.close()
    baton.close()
    out.close()
