"""Where stick events come from: devices and recordings."""

from __future__ import annotations

import errno
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sticks import CODES, HEADER, NAMES, PLAIN, RANGES
from tiltrotor_scenarios import tiltrotor

from aeroloop.controllers.law.ground_process import build_source
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.ground import evdev_stick, stick_recording
from aeroloop.ground.axes import AxisEvent
from aeroloop.ground.config import GroundStationSettings
from aeroloop.ground.evdev_stick import EvdevSource, open_stick
from aeroloop.ground.stick import Deflection, Pilot, Stick
from aeroloop.ground.stick_recording import RecordedSource, Recorder
from aeroloop.ground.trajectories import Point


class FakeDevice:
    """Stands in for evdev.InputDevice: hands out batches, then has nothing, then whatever error is set."""

    def __init__(self, path: str = "/dev/input/event7", keys: tuple[int, ...] = (0x130,)) -> None:
        self.path = path
        self.name = "Fake Pad"
        self.keys = keys
        self.batches: list[list[Any]] = []
        self.error: OSError = BlockingIOError(errno.EAGAIN, "again")
        self.values = dict.fromkeys(NAMES, 0)
        self.closed = False

    def capabilities(self) -> dict[int, list[Any]]:
        info = SimpleNamespace(value=0, min=-100, max=100)
        stuck = SimpleNamespace(value=0, min=0, max=0)
        return {1: list(self.keys), 3: [(code, info) for code in NAMES] + [(2, stuck), (63, info)]}

    def absinfo(self, axis_num: int) -> Any:
        return SimpleNamespace(value=self.values[axis_num], min=-100, max=100)

    def read(self) -> Iterator[Any]:
        if not self.batches:
            raise self.error
        for kind, code, value in self.batches.pop(0):
            yield SimpleNamespace(type=kind, code=code, value=value)

    def close(self) -> None:
        self.closed = True


def test_evdev_events_are_drained_and_stamped() -> None:
    device = FakeDevice()
    source = EvdevSource(device, {**NAMES, 2: "ABS_Z"})
    assert source.ranges == RANGES  # neither the axis without travel nor the one without a name
    assert source.poll(0.5) == []
    device.batches = [[(3, 0, 7), (0, 0, 0), (1, 0x130, 1), (3, 63, 1)], [(3, 4, -9), (3, 0, 8)]]
    assert source.poll(1.25) == [
        AxisEvent(1.25, "ABS_X", 7),
        AxisEvent(1.25, "ABS_RY", -9),
        AxisEvent(1.25, "ABS_X", 8),
    ]
    source.close()
    assert device.closed


def test_events_the_kernel_dropped_are_made_good() -> None:
    device = FakeDevice()
    source = EvdevSource(device, NAMES)
    device.batches = [[(3, 0, 7), (0, 3, 0)]]
    device.values[4] = 55
    stick = Stick(PLAIN, source.ranges, source.name)
    stick.feed(source.poll(1.0))
    assert stick.deflection == Deflection(forward=0.55)


def test_an_unplugged_stick_is_a_link_failure() -> None:
    device = FakeDevice()
    source = EvdevSource(device, NAMES)
    device.batches = [[(3, 0, 7)]]
    device.error = OSError(errno.ENODEV, "No such device")
    with pytest.raises(LinkError, match=r"^joystick /dev/input/event7 \(Fake Pad\) was unplugged$"):
        source.poll(1.0)
    device.error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(LinkError, match="cannot be read: Input/output error"):
        source.poll(1.0)


@pytest.fixture
def input_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeDevice | OSError]:
    """A fake evdev module; what it opens, by file name."""
    devices: dict[str, FakeDevice | OSError] = {}

    def opened(path: str) -> FakeDevice:
        device = devices[Path(path).name]
        if isinstance(device, OSError):
            raise device
        return device

    monkeypatch.setitem(sys.modules, "evdev", SimpleNamespace(InputDevice=opened, ecodes=SimpleNamespace(ABS=NAMES)))
    monkeypatch.setattr(evdev_stick, "INPUT_DIR", tmp_path)
    for name in ("event2", "event10"):
        (tmp_path / name).touch()
    return devices


def test_the_first_stick_is_found(input_dir: dict[str, FakeDevice | OSError]) -> None:
    keyboard, pad = FakeDevice(keys=(30,)), FakeDevice("/dev/input/event10", keys=(0x120,))
    input_dir.update(event2=keyboard, event10=pad)
    source = open_stick()
    assert source.name == "/dev/input/event10 (Fake Pad)"
    assert keyboard.closed and not pad.closed
    keyboard.keys = (0x130,)
    assert open_stick().name.startswith("/dev/input/event7")


def test_a_named_device_is_used_whatever_its_buttons(input_dir: dict[str, FakeDevice | OSError]) -> None:
    input_dir["radio"] = FakeDevice("/dev/input/radio", keys=())
    assert open_stick("/dev/input/radio").ranges == RANGES


def test_no_stick_no_permission_and_no_device_say_so(input_dir: dict[str, FakeDevice | OSError]) -> None:
    input_dir.update(event2=FakeDevice(keys=(30,)), event10=FakeDevice(keys=()))
    with pytest.raises(LinkError, match=r"^no joystick or gamepad found among .*/event\*$"):
        open_stick()
    input_dir["event2"] = PermissionError(errno.EACCES, "Permission denied")
    with pytest.raises(LinkError, match=r"no joystick .*event2: no permission; .* group `input`"):
        open_stick()
    with pytest.raises(LinkError, match=r"^/x/event2: no permission; .* group `input`"):
        open_stick("/x/event2")
    input_dir["event9"] = FileNotFoundError(errno.ENOENT, "No such file or directory")
    with pytest.raises(LinkError, match=r"^/dev/input/event9: cannot be opened: No such file or directory$"):
        open_stick("/dev/input/event9")


def test_a_missing_module_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evdev", None)
    with pytest.raises(ConfigError, match=r"needs the Python module evdev; .*aeroloop\[joystick\]"):
        open_stick()


def test_a_real_device_moves_the_stick() -> None:
    evdev = pytest.importorskip("evdev", reason="the module evdev is not installed")
    info = evdev.AbsInfo(value=0, min=-100, max=100, fuzz=0, flat=0, resolution=0)
    able = {evdev.ecodes.EV_KEY: [evdev.ecodes.BTN_GAMEPAD]}
    able[evdev.ecodes.EV_ABS] = [(code, info) for code in NAMES]
    try:
        pad = evdev.UInput(able, name="aeroloop test pad")
    except (OSError, evdev.UInputError) as error:
        pytest.skip(f"no virtual input device can be made here: {error}")
    with pad:
        if pad.device is None:
            pytest.skip("virtual input devices do not appear under /dev/input here")
        source = open_stick(pad.device.path)
        try:
            assert source.ranges == RANGES
            pad.write(evdev.ecodes.EV_ABS, CODES["ABS_RY"], 50)
            pad.syn()
            assert source.poll(1.0) == [AxisEvent(1.0, "ABS_RY", 50)]
        finally:
            source.close()


@settings(deadline=None)
@given(
    moves=st.lists(st.tuples(st.floats(0.0, 1e6), st.sampled_from(sorted(RANGES)), st.integers(-(2**31), 2**31 - 1)))
)
def test_a_recording_plays_back_what_was_recorded(
    moves: list[tuple[float, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    events = [AxisEvent(*move) for move in sorted(moves)]
    path = tmp_path_factory.mktemp("stick") / "flight.stick"
    recorder = Recorder(path, RANGES)
    for event in events:
        recorder.write([event])
    recorder.close()
    source = RecordedSource(path)
    assert source.ranges == RANGES
    played = [event for t_s in sorted({e.t_s for e in events}) for event in source.poll(t_s)]
    assert played == events
    assert source.poll(math.inf) == []
    source.close()


def test_events_come_when_they_are_due(tmp_path: Path) -> None:
    path = tmp_path / "flight.stick"
    path.write_text(HEADER + "0.5,ABS_X,1\n0.5,ABS_Y,2\n1,ABS_X,3\n")
    source = RecordedSource(path)
    assert source.poll(0.49) == []
    assert source.poll(0.5) == [AxisEvent(0.5, "ABS_X", 1), AxisEvent(0.5, "ABS_Y", 2)]
    assert source.poll(0.5) == []
    assert source.poll(7.0) == [AxisEvent(1.0, "ABS_X", 3)]


def test_a_recorded_flight_flies_the_same_reference(tmp_path: Path) -> None:
    path = tmp_path / "flight.stick"
    device = FakeDevice()
    live = EvdevSource(device, NAMES)
    recorder = Recorder(path, live.ranges)

    def fly(source: EvdevSource | RecordedSource, cycle: Any) -> list[Any]:
        stick = Stick(PLAIN, source.ranges, source.name)
        pilot = Pilot(stick, PLAIN, pos_W=(0.0, 0.0, 2.0))
        flown = []
        for k in range(100):
            events = cycle(source, k)
            stick.feed(events)
            flown.append(pilot.step(0.012))
        return flown

    def record(source: EvdevSource, k: int) -> list[AxisEvent]:
        device.batches = [[(3, k % 5, k * 3 % 200 - 100)]]
        events = source.poll(k * 0.012)
        recorder.write(events)
        return events

    first = fly(live, record)
    # not closed: what was flown until a crash can be flown again
    assert fly(RecordedSource(path), lambda source, k: source.poll(k * 0.012)) == first
    recorder.close()
    assert first[-1].pos_W != (0.0, 0.0, 2.0)


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "flight.stick"
    path.write_text("mine")
    with pytest.raises(ConfigError, match=r"flight\.stick: exists already"):
        Recorder(path, RANGES)
    assert path.read_text() == "mine"
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        Recorder(tmp_path / "none" / "flight.stick", RANGES)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full to stand in for a full disk")
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(Path, "open", lambda *_, **__: full)
        with pytest.raises(ConfigError, match=r"flight\.stick: cannot be written: No space left on device"):
            Recorder(tmp_path / "flight.stick", RANGES)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 1, "expected a JSON header such as"),
        ("0.5,ABS_X,1\n", 1, "expected a JSON header such as"),
        ("[1]\n", 1, "expected a JSON header such as"),
        ("{}\n", 1, "axes: missing"),
        ('{"axes":{}}\n', 1, "axes: expected `object` of length >= 1"),
        ('{"axes":{"ABS_X":[0,255]},"rate":3}\n', 1, "rate: unknown key, expected one of: axes"),
        ('{"axes":{"X":[0,255]}}\n', 1, "matching regex"),
        ('{"axes":{"ABS_X":[255,0]}}\n', 1, "expected the low end of an axis below its high end"),
        ('{"axes":{"ABS_X":[0,99999999999]}}\n', 1, "expected `int` <= 2147483647"),
        ('{"axes":{"ABS_X":[0]}}\n', 1, "expected `array` of at least length 2"),
        (HEADER + "0.5,ABS_X\n", 2, "expected t_s,axis,value with a whole value, not '0.5,ABS_X'"),
        (HEADER + "0.5,ABS_X,1\n\n0.6,ABS_X,1\n", 3, "expected t_s,axis,value"),
        (HEADER + "0.5,ABS_X,1.5\n", 2, "expected t_s,axis,value"),
        (HEADER + "0.5,ABS_X,99999999999\n", 2, "expected t_s,axis,value"),
        (HEADER + "nan,ABS_X,1\n", 2, "expected t_s,axis,value"),
        (HEADER + "-1,ABS_X,1\n", 2, "expected t_s,axis,value"),
        (HEADER + "0.5,ABS_X,1,\n", 2, "expected t_s,axis,value"),
        (HEADER + "1e999,ABS_X,1\n", 2, "t_s: expected a time not before 0.0, not 1e999"),
        (HEADER + "0.5,ABS_X,1\n0.4,ABS_X,2\n", 3, "t_s: expected a time not before 0.5, not 0.4"),
        (HEADER + "0.5,ABS_Z,1\n", 2, "axis: expected one of the header's: ABS_X, ABS_Y, not ABS_Z"),
        (HEADER + "0.5,ABS_X," + "1" * 5000 + "\n", 2, "expected t_s,axis,value"),
    ],
)
def test_a_malformed_recording_names_the_line(tmp_path: Path, text: str, line: int, expected: str) -> None:
    path = tmp_path / "bad.stick"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        RecordedSource(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert expected in str(error.value)
    assert len(str(error.value)) < 400


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_the_recording_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "any.stick"
    path.write_text(HEADER + text, encoding="utf-8", errors="replace")
    try:
        events = RecordedSource(path).poll(math.inf)
    except ConfigError:
        return
    assert all(event.axis in ("ABS_X", "ABS_Y") for event in events)


def test_recordings_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.stick"
    path.write_text(HEADER + "0,ABS_X,1\n" * 3)
    monkeypatch.setattr(stick_recording, "MAX_EVENTS", 2)
    with pytest.raises(ConfigError, match="line 4: expected at most 2 events"):
        RecordedSource(path)
    monkeypatch.setattr(stick_recording, "MAX_BYTES", 10)
    with pytest.raises(ConfigError, match="expected at most 10 bytes"):
        RecordedSource(path)


def test_a_stick_that_joins_late_starts_where_the_aircraft_is(tmp_path: Path) -> None:
    """Held over since the start of the flight, it must not fly all that time in its first step."""
    (tmp_path / "held.stick").write_text(
        HEADER.replace("}}", ',"ABS_RX":[-100,100],"ABS_RY":[-100,100]}}') + "0,ABS_Y,0\n"
    )
    scenario = tiltrotor(
        name="x",
        pace="real",
        ground=GroundStationSettings(source="joystick", joystick_recording=str(tmp_path / "held.stick")),
    )
    source = build_source(scenario, joins=(Point((4.0, 5.0, 3.0), 0.5, (0.0, 0.0, 0.0), 0.0), 30.0))
    first = source(30_000_000_000)
    assert (first.pos_W, first.yaw_rad) == ((4.0, 5.0, 3.0), 0.5)
    second = source(30_012_000_000)
    assert second.vel_W[2] > 0
    assert second.pos_W[2] == pytest.approx(3.0 + 0.012 * second.vel_W[2])
