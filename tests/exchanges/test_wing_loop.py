"""The fixed wing's loop around a board that does as it is told: who waits for whom, what is logged, how it ends."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from stream_tables import FIXED_WING

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.scenario_files import of_table
from aeroloop.core.signals import NS, Event, ResetCause
from aeroloop.core.stream import numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.core.wing_signals import Step, WingCommand, WingSensors
from aeroloop.exchanges import numbered_periods
from aeroloop.exchanges.board_period import BoardPeriod
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.protocols import interface
from aeroloop.protocols.framing import encode
from aeroloop.protocols.handshake import Claim, host_claim
from aeroloop.protocols.interface import TILTROTOR, WING
from aeroloop.protocols.wing import BoardEnd, Done, Goal, Servos
from aeroloop.sensors.collect import Readings
from aeroloop.sensors.imu import ImuSample
from peers.wing_craft import WingCraft

START_M, GOAL_M = (-3375.0, 2175.0), (75.0, -3475.0)
Act = Callable[["ScriptedBoard", WingSensors], bytes]


def plan(**changes: Any) -> FixedWingScenario:
    table: dict[str, Any] = {
        "name": "test",
        "duration_s": 2.0,
        "vehicle": {"kind": "fixedwing"},
        "mission": {"start_m": START_M, "goal_m": GOAL_M, "command_at_s": 0.5, "linger_s": 0.5},
        "sensors": {"preset": "ideal"},
    }
    for key, value in changes.items():
        table[key] = {**table.get(key, {}), **value} if isinstance(value, dict) else value
    scenario = of_table(table, "test")
    assert isinstance(scenario.aircraft, FixedWingTables)
    return scenario


class ScriptedBoard:
    """A link with a board behind it that answers within the send; what it says besides, `act` says."""

    url = "scripted://"

    def __init__(self, act: Act = lambda board, sensors: b"") -> None:
        self.end = BoardEnd()
        self.command: WingCommand = (0.0, 0.0, 0.0, 0.5)
        self.heard: list[WingSensors] = []
        self.goals: list[Goal] = []
        self.answers = self.ends = True
        self._act, self._out = act, b""

    def fileno(self) -> int:
        raise AssertionError("nobody should have to wait for this board")

    def send(self, data: bytes) -> None:
        for message in self.end.receive(data):
            if isinstance(message, Goal):
                self.goals.append(message)
                continue
            self.heard.append(message)
            if self.answers:
                self._out += self.end.servos(Servos(message.cycle, self.command, 0.001))
            self._out += self._act(self, message)
            if self.ends:
                self._out += self.end.done(Done(message.cycle, 0.002))

    def poll(self) -> bytes:
        out, self._out = self._out, b""
        return out

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


class Bench:
    def __init__(self, scenario: FixedWingScenario, board: ScriptedBoard, *, expected_image: int = 0) -> None:
        self.rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        self.board = board
        publish = {s.name: self._keeper(s.name) for s in writes("plant", streams_of(scenario), scenario.loop)}
        self.flown = WingCraft(scenario, board, numbered(publish, 0), expected_image)
        self.vehicle, self.exchange = self.flown.vehicle, self.flown.exchange
        aileron, elevator, rudder, throttle = self.vehicle.command
        board.command = aileron, elevator, rudder, throttle

    def _keeper(self, name: str) -> Callable[..., None]:
        return lambda *row: self.rows[name].append(row)

    def fly(self) -> str:
        return self.flown.fly()

    def column(self, stream: str, field: str) -> list[float]:
        at = FIXED_WING[stream].names.index(field)
        return [row[at] for row in self.rows[stream]]

    def events(self, event: Event) -> list[float]:
        return [value for *_, code, value in self.rows["event"] if code == event]


def test_it_begins_trimmed_where_its_circle_does_and_flies_straight_with_the_trim_command() -> None:
    bench = Bench(plan(duration_s=8.0), ScriptedBoard())
    assert bench.fly() == "completed"
    x, y, z = (np.array(bench.column("truth", f"{axis}_m")) for axis in "xyz")
    assert (x[0], y[0], z[0]) == (START_M[0] + 150.0, START_M[1], 660.0)
    assert bench.column("truth", "vy_m_s")[0] == pytest.approx(20.0)
    assert np.max(np.abs(x - x[0])) < 2.0
    assert np.max(np.abs(z - 660.0)) < 1.0
    assert y[-1] - y[0] == pytest.approx(160.0, abs=0.5)


def test_every_row_fits_its_stream_and_comes_at_its_rate() -> None:
    bench = Bench(plan(world={"step_s": 0.01}, sensors={"preset": "ideal", "imu": {"rate_hz": 100.0}}), ScriptedBoard())
    bench.fly()
    for name, rows in bench.rows.items():
        stream = FIXED_WING[name]
        assert all(len(row) == len(stream.fields) for row in rows), name
        if stream.rate_hz and name != "link":
            times_s = np.array([row[0] for row in rows])
            assert np.diff(times_s) == pytest.approx(1 / stream.rate_hz), name
    assert {"truth", "effort", "air", "sensors", "command", "link"} <= set(bench.rows)


def test_sensors_are_means_over_the_period_and_the_board_hears_every_one() -> None:
    bench = Bench(plan(), ScriptedBoard())
    bench.fly()
    heard = bench.board.heard
    assert [sensors.cycle for sensors in heard] == list(range(40))
    assert [sensors.t_ms for sensors in heard] == [50 * cycle for cycle in range(40)]
    assert heard[20].gyro_B == pytest.approx((0.0, 0.0, 0.0), abs=2e-3)
    assert math.hypot(*heard[20].accel_B) == pytest.approx(9.79, abs=0.02)
    assert heard[20].static_Pa == pytest.approx(93_620, abs=60)
    ahead_m_s = 20.0 * math.cos(bench.column("truth", "alpha_rad")[0])  # the way that the tube points
    assert heard[20].dynamic_Pa == pytest.approx(0.5 * 1.149 * ahead_m_s**2, rel=0.005)
    fixes = [sensors for sensors in heard if sensors.fix]
    assert 0 < len(fixes) < len(heard), "a fix is new only once"
    assert fixes[-1].lat_deg == pytest.approx(36.386, abs=0.002)
    assert fixes[-1].alt_m == pytest.approx(661.3, abs=0.5), "the earth is round: 1.3 m at 4 km"


def test_readings_average_the_imu_and_repeat_a_silent_one() -> None:
    one = ImuSample(0, 0, (1.0, 2.0, 3.0), (0.0, 0.0, 9.0))
    other = ImuSample(1, 1, (3.0, 2.0, 1.0), (2.0, 0.0, 11.0))
    readings = Readings([one, other])
    first = readings.take(0, 0)
    assert (first.gyro_B, first.accel_B) == ((2.0, 2.0, 2.0), (1.0, 0.0, 10.0))
    assert readings.take(1, 0).gyro_B == first.gyro_B


def test_the_goal_is_commanded_when_it_is_time_and_again_until_it_is_taken_up() -> None:
    bench = Bench(plan(duration_s=5.0), ScriptedBoard())
    bench.fly()
    assert [(goal.x_m, goal.y_m) for goal in bench.board.goals] == [GOAL_M] * 3

    def takes_up(board: ScriptedBoard, sensors: WingSensors) -> bytes:
        return board.end.report("mission_step", (float(Step.PLAN), 0.0)) if len(board.goals) == 1 else b""

    bench = Bench(plan(duration_s=5.0), ScriptedBoard(takes_up))
    bench.fly()
    assert len(bench.board.goals) == 1


def test_the_flight_is_over_when_it_has_lingered_at_the_goal() -> None:
    def arrives(board: ScriptedBoard, sensors: WingSensors) -> bytes:
        return board.end.report("mission_step", (float(Step.ARRIVED), 0.0)) if sensors.cycle == 10 else b""

    bench = Bench(plan(duration_s=60.0), ScriptedBoard(arrives))
    assert bench.fly() == "completed"
    assert bench.vehicle.t_ns == NS
    assert bench.rows["mission_step"] == [(0.5, 0, Step.ARRIVED, 0.0)]


def test_telemetry_is_written_at_the_time_of_its_period_in_the_order_sent() -> None:
    def tells(board: ScriptedBoard, sensors: WingSensors) -> bytes:
        cells = (board.end.report("plan_cell", (0.0, float(at), 6.0, 1.0, 2.0)) for at in range(3))
        return b"".join(cells) if sensors.cycle == 7 else b""

    bench = Bench(plan(), ScriptedBoard(tells))
    bench.fly()
    assert bench.rows["plan_cell"] == [(0.35, 0, 0.0, float(at), 6.0, 1.0, 2.0) for at in range(3)]


def test_flying_into_the_ground_ends_the_flight() -> None:
    bench = Bench(plan(duration_s=60.0), ScriptedBoard())
    bench.board.command = (0.0, 0.3, 0.0, 0.0)
    assert bench.fly() == "crashed"
    (speed_m_s,) = bench.events(Event.GROUND_CONTACT)
    assert speed_m_s < 0.0
    assert bench.column("truth", "z_m")[-1] <= bench.column("truth", "ground_m")[-1]


def test_leaving_the_world_ends_the_flight_as_diverged() -> None:
    bench = Bench(plan(world={"bound_m": 4100.0}, duration_s=60.0), ScriptedBoard())
    assert bench.fly() == "diverged"
    assert bench.events(Event.DIVERGED) == [pytest.approx(4100.0, abs=1.0)]


def test_a_state_that_is_no_number_ends_the_flight_as_diverged() -> None:
    bench = Bench(plan(), ScriptedBoard())
    world: Any = bench.vehicle._motion._body._world  # type: ignore[attr-defined]
    world.reset((math.nan, 0.0, 660.0), tuple(world._state[3:7]))
    assert bench.fly() == "diverged"
    (distance_m,) = bench.events(Event.DIVERGED)
    assert math.isnan(distance_m)


def test_garbage_and_implausible_answers_are_counted_and_the_last_command_stands() -> None:
    def babbles(board: ScriptedBoard, sensors: WingSensors) -> bytes:
        bad = encode(interface.SERVOS.pack(sensors.cycle, math.nan, 0.0, 0.0, 0.5, 0.0))
        return b"\x7e\x01\x02garbage\x7e" + encode(b"\xee" * 9) + bad

    bench = Bench(plan(), ScriptedBoard(babbles))
    bench.board.answers = False
    assert bench.fly() == "completed"
    assert not bench.rows["command"]
    assert bench.column("link", "bad_checksums")[-1] == 40
    assert bench.column("link", "malformed")[-1] == 80
    assert bench.events(Event.SENSORS_LOST) == [float(cycle) for cycle in range(39)], "each without an answer is told"


def test_an_answer_of_before_does_not_count() -> None:
    def late(board: ScriptedBoard, sensors: WingSensors) -> bytes:
        return board.end.servos(Servos(max(sensors.cycle - 1, 0), (0.1, 0.0, 0.0, 0.1), 0.0))

    bench = Bench(plan(), ScriptedBoard(late))
    bench.fly()
    assert set(bench.column("command", "throttle")) == {np.float32(bench.board.command[3])}


def test_a_board_that_never_ends_its_period_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoardPeriod, "patience_s", 0.0)
    bench = Bench(plan(), ScriptedBoard())
    bench.board.ends = False
    with pytest.raises(LinkError, match=r"the board has not ended control period 0 within 0 s \(at 0.00 s"):
        bench.fly()


class MuteBoard(ScriptedBoard):
    """There is a descriptor, and nothing ever comes through it."""

    def __init__(self) -> None:
        super().__init__()
        self._pipe = os.pipe()

    def fileno(self) -> int:
        return self._pipe[0]

    def close(self) -> None:
        for end in self._pipe:
            os.close(end)


def test_a_board_that_never_speaks_is_named_and_one_that_greets_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_periods, "POLL_S", 0.01)
    mute = MuteBoard()
    bench = Bench(plan(), mute)
    says = r"no start message from the board over scripted:// within 0.05 s; is it running\?"
    with pytest.raises(LinkError, match=says):
        bench.exchange.await_ready(0.05, lambda: False)
    bench.exchange.await_ready(0.05, lambda: True)
    mute._out = mute.end.start(host_claim(WING, 0))
    bench.exchange.await_ready(0.0, lambda: False)
    mute.close()
    assert not mute.heard, "nothing was sent before"


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (host_claim(TILTROTOR, 0), "the board's image is old: it uses revision 1 of the interface and this bench"),
        (replace(host_claim(WING, 0), interface=1), "differ in its content"),
        (replace(host_claim(WING, 0), image=7), "it is 00000007, this flight needs 00000008"),
    ],
)
def test_a_board_that_does_not_fit_is_refused_before_the_flight(claim: Claim, says: str) -> None:
    board = ScriptedBoard()
    bench = Bench(plan(), board, expected_image=8)
    board._out = board.end.start(claim)
    with pytest.raises(LinkError, match=f"{says}.*aeroloop board run SCENARIO"):
        bench.exchange.await_ready(0.0, lambda: False)


def test_a_board_that_restarts_is_seen_by_its_uptime_and_its_telemetry_counts_anew() -> None:
    def restarts(board: ScriptedBoard, sensors: WingSensors) -> bytes:
        if sensors.cycle == 5:
            return board.end.start(host_claim(WING, 250))  # repeated, not restarted
        if sensors.cycle != 20:
            return board.end.report("board_event", (float(Event.STARTED), 0.0))
        board.end = BoardEnd()
        return board.end.start(Claim(ResetCause.WATCHDOG, WING.revision, WING.hash, 0, 0))

    board = ScriptedBoard(restarts)
    bench = Bench(plan(), board)
    board._out = board.end.start(host_claim(WING, 0))
    bench.exchange.await_ready(0.0, lambda: False)
    assert bench.fly() == "completed"
    assert bench.events(Event.BOARD_RESTARTED) == [ResetCause.WATCHDOG]
    assert bench.events(Event.MESSAGES_LOST) == []


def test_what_a_board_still_tells_of_a_flight_before_is_not_logged() -> None:
    before, board = (
        BoardEnd(),
        ScriptedBoard(lambda board, _: board.end.report("board_event", (float(Event.STARTED), 0))),
    )
    stale = b"".join(before.report("board_event", (float(Event.OVERRUN), 1.0)) for _ in range(3))
    board._out = stale + before.servos(Servos(65535, (0.1, 0.1, 0.1, 0.1), 0.0)) + board.end.start(host_claim(WING, 0))
    bench = Bench(plan(), board)
    bench.exchange.await_ready(0.0, lambda: False)
    assert bench.fly() == "completed"
    assert {code for _, _, code, _ in bench.rows["board_event"]} == {Event.STARTED}
    assert bench.events(Event.MESSAGES_LOST) == []


class Babbler(MuteBoard):
    """There is always the same to read."""

    def __init__(self, noise: bytes) -> None:
        super().__init__()
        self._noise = noise
        os.write(self._pipe[1], b".")

    def send(self, data: bytes) -> None: ...

    def poll(self) -> bytes:
        return self._noise


def test_neither_noise_nor_one_command_for_ever_ends_a_control_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoardPeriod, "patience_s", 0.01)
    for sent in (b"\x7e noise \x7e", BoardEnd().servos(Servos(0, (0.0, 0.0, 0.0, 0.5), 0.0))):
        babbler = Babbler(sent)
        with pytest.raises(LinkError, match="the board has not ended control period 0"):
            Bench(plan(), babbler).fly()
        babbler.close()
    swallowed = Babbler(b"")  # as by a line that loses everything
    with pytest.raises(LinkError, match="no start message from the board"):
        Bench(plan(), swallowed).exchange.await_ready(0.01, lambda: False)
    swallowed.close()


def test_one_seed_one_flight_and_another_seed_another() -> None:
    def truth(seed: int) -> list[tuple[float, ...]]:
        rough = plan(seed=seed, sensors={"preset": "px4"}, world={"wind": {"turbulence": {"w20_m_s": 15.4}}})
        bench = Bench(rough, ScriptedBoard())
        bench.fly()
        return [*bench.rows["truth"], *bench.rows["sensors"]]

    first = truth(1)
    assert truth(1) == first
    assert truth(2) != first


def test_sensors_fail_on_order_and_lines_only_where_time_does_not_wait_for_them() -> None:
    switch = Bench(plan(), ScriptedBoard()).flown.craft.switch
    assert switch(Switch(target="gnss", kind="silent", on=True)) == Switched(0, ())
    with pytest.raises(ConfigError, match="to_board: in lockstep and on pil, time waits for every message"):
        switch(Switch(target="to_board", kind="loss", on=True, value=0.5))


def test_a_silent_receiver_gives_no_new_fix_and_the_last_place() -> None:
    fault = {"sensor": "gnss", "kind": "silent", "start_s": 1.0}
    bench = Bench(plan(sensors={"preset": "px4", "gnss": {"start_s": 0.0}, "faults": [fault]}), ScriptedBoard())
    bench.fly()
    late = [sensors for sensors in bench.board.heard if sensors.t_ms > 1200]
    assert late
    assert not any(sensors.fix for sensors in late)
    assert {sensors.lat_deg for sensors in late} == {late[0].lat_deg} != {0.0}


def test_a_board_may_be_silent_for_as_long_by_the_wall_at_every_speed() -> None:
    silences_ns = [Bench(plan(pace=pace), ScriptedBoard()).exchange._settings.silence_ns for pace in ("real", "8x")]
    assert silences_ns == [NS, 8 * NS], "of simulated time, which goes faster"
