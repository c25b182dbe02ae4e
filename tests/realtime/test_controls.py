"""Orders in flight: what is well formed arrives, and nothing else does any harm."""

from __future__ import annotations

import math
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.changes import Change
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import KINDS, KINDS_OF, LINE_KINDS, MOTOR_KINDS, SENSOR_KINDS, TARGETS, Switch
from aeroloop.realtime import controls as controls_module
from aeroloop.realtime.controls import (
    LONGEST,
    POLL_PERIOD_NS,
    SOCKET,
    ControlPort,
    Controls,
    End,
    Pause,
    Speed,
    Step,
    decoded,
)

GNSS_OFF = Switch(target="gnss", kind="silent", on=True)


class Clock:
    now_ns = 0

    def __call__(self) -> int:
        self.now_ns += POLL_PERIOD_NS
        return self.now_ns


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def throw(folder: Path, datagram: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(datagram, str(folder / SOCKET))


def test_a_switch_arrives_as_it_was_given(folder: Path) -> None:
    port, controls = ControlPort(folder, Clock()), Controls(folder)
    bias = Switch(target="imu", kind="bias", on=True, vehicle=3, channel="accel", value=(0.1, 0.0, -0.2))
    for switch in (GNSS_OFF, bias):
        controls.switch(switch)
    assert port.poll() == [GNSS_OFF, bias]
    assert port.poll() == []
    assert port.refused == 0


def test_an_order_to_end_arrives_and_only_from_those_who_may_give_it(folder: Path) -> None:
    port, controls = ControlPort(folder, Clock()), Controls(folder)
    controls.end("page")
    controls.switch(GNSS_OFF)
    throw(folder, b'{"end":"anybody"}')
    throw(folder, b'{"end":"page","more":1}')
    assert port.poll() == [End(end="page"), GNSS_OFF]
    assert port.refused == 2


def test_commands_to_the_simulation_arrive_as_they_were_given(folder: Path) -> None:
    port, controls = ControlPort(folder, Clock()), Controls(folder)
    wind = Change(change="world.wind.steady_W", value=(1.0, 0.0, -2.0), vehicle=2)
    controls.pause()
    controls.step(np.int64(3))  # type: ignore[arg-type]
    controls.set_speed(0.25)
    controls.change(wind)
    assert port.poll() == [Pause(pause=True), Step(step=3), Speed(speed=0.25), wind]
    controls.resume()
    assert port.poll() == [Pause(pause=False)]
    with pytest.raises(ConfigError, match=r"speed: expected 0.01 to 100 times real time, or max; not 1000"):
        controls.set_speed(1000.0)
    for count in (0, -1, 10**9, 1.5, math.nan, "2"):
        with pytest.raises(
            ConfigError, match=rf"step: expected a whole number of steps from 1 to 1000000, not {count!r}"
        ):
            controls.step(count)  # type: ignore[arg-type]
    assert port.poll() == [] and port.refused == 0


def test_it_looks_no_more_often_than_it_should(folder: Path) -> None:
    now_ns = 0
    port = ControlPort(folder, lambda: now_ns)
    assert port.poll() == []
    Controls(folder).switch(GNSS_OFF)
    now_ns = POLL_PERIOD_NS - 1
    assert port.poll() == []
    now_ns = POLL_PERIOD_NS
    assert port.poll() == [GNSS_OFF]


def test_a_flood_is_taken_a_few_at_a_time_and_its_sender_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controls_module, "MOST_AT_ONCE", 3)  # below what the system queues
    port, controls = ControlPort(folder, Clock()), Controls(folder)
    with pytest.raises(LinkError, match="has not processed the previous command"):
        for _ in range(100_000):
            controls.switch(GNSS_OFF)
    assert len(port.poll()) == 3


def test_without_a_flight_the_sentence_says_so(folder: Path) -> None:
    with pytest.raises(LinkError, match="the flight has ended"):
        Controls(folder).switch(GNSS_OFF)
    port = ControlPort(folder)
    port._socket.close()  # killed
    with pytest.raises(LinkError, match="the flight has ended"):
        Controls(folder).switch(GNSS_OFF)
    port.close()
    assert not (folder / SOCKET).exists()


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\xff\xfe",
        b"[" * 900,
        b'{"target": "gnss", "kind": "silent"}',
        b'{"target": "gnss", "kind": "silent", "on": true, "more": 1}',
        b'{"target": "gnss", "kind": "loss", "on": true}',
        b'{"target": "to_plant", "kind": "silent", "on": true}',
        b'{"target": "to_plant", "kind": "loss", "on": true, "value": [0.1, 0.1, 0.1]}',
        b'{"target": "gnss", "kind": "silent", "on": true, "vehicle": 16}',
        b'{"target": "gnss", "kind": "silent", "on": true, "channel": "position"}',
        b'{"target": "imu", "kind": "bias", "on": true, "value": 1e300}',
        b'{"target": "imu", "kind": "bias", "on": true, "value": 0}',
        b'{"target": "imu", "kind": "noise", "on": true, "value": -1}',
        b'{"target": "imu", "kind": "bias", "on": true, "value": NaN}',
        b'{"pause": 1}',
        b'{"step": 0}',
        b'{"step": 10000000}',
        b'{"speed": -1}',
        b'{"speed": 1e9}',
        b'{"change": "battery.voltage"}',
        b'{"change": "battery.voltage", "value": "0.5"}',
        b'{"change": "battery.voltage", "value": 0.5, "pause": true}',
        msgspec.json.encode(GNSS_OFF).ljust(LONGEST + 1),
    ],
)
def test_what_is_no_order_is_refused_and_counted(folder: Path, datagram: bytes) -> None:
    port = ControlPort(folder, Clock())
    throw(folder, datagram)
    Controls(folder).switch(GNSS_OFF)
    assert port.poll() == [GNSS_OFF]
    assert port.refused == 1


@given(st.binary(max_size=LONGEST + 10) | st.text(max_size=300).map(str.encode))
def test_noise_is_never_more_than_refused(datagram: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decoded(datagram)


def test_the_tables_that_number_the_log_fit_the_kinds() -> None:
    assert KINDS[: len(SENSOR_KINDS + LINE_KINDS)] == SENSOR_KINDS + LINE_KINDS
    assert KINDS[11:20] == ("dead", "stuck", "weak", "slow", "offset", "sag", "hang", "reset", "no_fix")
    known = (*MOTOR_KINDS, "payload", "friction", "dark", "hide", "cover")
    assert KINDS[20 : 20 + len(known)] == known
    added = ("babbling", "nan", "ramp", "jump", "vibration", "clipped")
    of_boards = ("sensor_bias", "reference_bias", "unaligned", "wrong_image")
    assert KINDS[20 + len(known) :] == added + of_boards
    assert TARGETS[7:14] == ("to_plant", "to_board", "rotor", "servo", "battery", "board", "tachometer")
    assert TARGETS[14:19] == ("joint", "platform", "encoder", "camera", "pad")
    assert TARGETS[19:] == ("board.1", "board.2", "board.3")
    for target in TARGETS:
        kinds = KINDS_OF[target]
        for kind in KINDS:
            table = {"target": target, "kind": kind, "on": False}
            if kind in kinds:
                assert msgspec.convert(table, Switch).kind == kind
            else:
                with pytest.raises(msgspec.ValidationError, match="cannot have"):
                    msgspec.convert(table, Switch)
