"""The stick: shaping, flying a reference with it, live devices, recordings, and the map file."""

from __future__ import annotations

import errno
import math
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.errors import ConfigError, LinkError
from aeroloop.reference import axis_map, evdev_stick, stick_recording
from aeroloop.reference.axes import AxisEvent, AxisRange
from aeroloop.reference.axis_map import AxisMap, Channel, Limits
from aeroloop.reference.evdev_stick import EvdevSource, open_stick
from aeroloop.reference.stick import Deflection, Pilot, Stick, deflection_of, shaped
from aeroloop.reference.stick_recording import RecordedSource, Recorder

DOCS = Path(__file__).parents[2] / "docs" / "joystick.md"
CODES = {"ABS_X": 0, "ABS_Y": 1, "ABS_RX": 3, "ABS_RY": 4}
NAMES = {code: name for name, code in CODES.items()}
RANGES = {name: AxisRange(-100, 100) for name in CODES}
PLAIN = AxisMap(
    forward=Channel(axis="ABS_RY", scale=2.0, dead_zone=0.0),
    left=Channel(axis="ABS_RX", scale=2.0, dead_zone=0.0),
    up=Channel(axis="ABS_Y", scale=1.0, dead_zone=0.0),
    yaw=Channel(axis="ABS_X", scale=0.5, dead_zone=0.0),
    limits=Limits(floor_m=1.0, ceiling_m=5.0),
)
HEADER = '{"axes":{"ABS_X":[-100,100],"ABS_Y":[0,255]}}\n'

dead_zones = st.floats(0.0, 0.9)
expos = st.floats(0.0, 1.0)
deflections = st.floats(-1.0, 1.0)


@settings(deadline=None)
@given(x=deflections, dead_zone=dead_zones, expo=expos)
def test_shaping_is_odd_and_bounded(x: float, dead_zone: float, expo: float) -> None:
    y = shaped(x, dead_zone=dead_zone, expo=expo)
    assert y == -shaped(-x, dead_zone=dead_zone, expo=expo)
    assert abs(y) <= abs(x) <= 1.0
    assert (y == 0.0) if abs(x) <= dead_zone else True


@settings(deadline=None)
@given(dead_zone=dead_zones, expo=expos)
def test_shaping_reaches_exactly_one_at_the_ends(dead_zone: float, expo: float) -> None:
    assert shaped(1.0, dead_zone=dead_zone, expo=expo) == 1.0
    assert shaped(-1.0, dead_zone=dead_zone, expo=expo) == -1.0


@settings(deadline=None)
@given(x=deflections, dx=st.floats(0.0, 0.01), dead_zone=dead_zones, expo=expos)
def test_shaping_is_monotonic_and_continuous(x: float, dx: float, dead_zone: float, expo: float) -> None:
    rise = shaped(min(1.0, x + dx), dead_zone=dead_zone, expo=expo) - shaped(x, dead_zone=dead_zone, expo=expo)
    # steepest at the ends: (1 + 2 expo) / (1 - dead zone)
    assert -1e-12 <= rise <= dx * 3.0 / (1.0 - dead_zone) + 1e-12


def test_expo_softens_the_middle_only() -> None:
    assert shaped(0.5, dead_zone=0.0, expo=0.0) == 0.5
    assert shaped(0.5, dead_zone=0.0, expo=1.0) == 0.125
    assert shaped(0.5, dead_zone=0.0, expo=0.5) == 0.3125
    assert shaped(0.6, dead_zone=0.2, expo=0.0) == pytest.approx(0.5)


@settings(deadline=None)
@given(value=st.integers(-(2**31), 2**31 - 1), low=st.integers(-1000, 0), width=st.integers(1, 70000))
def test_raw_values_use_the_whole_range_and_no_more(value: int, low: int, width: int) -> None:
    span = AxisRange(low, low + width)
    ahead = Channel(axis="ABS_X", scale=1.0, dead_zone=0.0)
    back = Channel(axis="ABS_X", scale=1.0, dead_zone=0.0, invert=True)
    assert deflection_of(span.low, span, ahead) == -1.0
    assert deflection_of(span.high, span, ahead) == 1.0
    y = deflection_of(value, span, ahead)
    assert -1.0 <= y <= 1.0
    assert deflection_of(value, span, back) == -y


def test_a_stick_is_centred_until_moved_and_ignores_other_axes() -> None:
    stick = Stick(PLAIN, {**RANGES, "ABS_X": AxisRange(0, 255), "ABS_Z": AxisRange(0, 255)}, "pad")
    assert stick.deflection == Deflection(0.0, 0.0, 0.0, 0.0)
    stick.feed([AxisEvent(0.0, "ABS_RY", 50), AxisEvent(0.0, "ABS_Z", 255), AxisEvent(0.0, "ABS_X", 0)])
    assert stick.deflection == Deflection(forward=0.5, yaw=-1.0)
    stick.feed([AxisEvent(0.1, "ABS_RY", 10), AxisEvent(0.1, "ABS_RY", -50)])
    assert stick.deflection == Deflection(forward=-0.5, yaw=-1.0)


def test_a_stick_without_a_mapped_axis_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"pad: has no axis ABS_RY, .* forward; it has: ABS_X, ABS_Y"):
        Stick(PLAIN, {"ABS_X": AxisRange(0, 1), "ABS_Y": AxisRange(0, 1)}, "pad")


def pilot_with(**deflection: float) -> tuple[Pilot, Stick]:
    stick = Stick(PLAIN, RANGES, "pad")
    stick.deflection = Deflection(**deflection)
    return Pilot(stick, PLAIN, pos_W=(1.0, 2.0, 3.0), yaw_rad=0.0), stick


def test_a_pilot_starts_where_it_is_told_and_holds_when_released() -> None:
    pilot, stick = pilot_with()
    assert pilot.step(0.02).pos_W == (1.0, 2.0, 3.0)
    stick.feed([AxisEvent(0.0, "ABS_RY", 100), AxisEvent(0.0, "ABS_RX", -50), AxisEvent(0.0, "ABS_Y", 50)])
    for _ in range(50):
        moving = pilot.step(0.02)
    assert moving.pos_W == pytest.approx((3.0, 1.0, 3.5))
    assert moving.vel_W == (2.0, -1.0, 0.5)
    stick.feed([AxisEvent(1.0, axis, 0) for axis in CODES])
    for _ in range(50):
        held = pilot.step(0.02)
    assert held.pos_W == moving.pos_W
    assert (held.vel_W, held.yaw_rate_rad_s) == ((0.0, 0.0, 0.0), 0.0)


def test_forward_follows_the_heading_and_a_turn_closes() -> None:
    pilot, _ = pilot_with(forward=1.0, yaw=1.0)
    turn_s = math.tau / 0.5
    quarter = [pilot.step(turn_s / 1000) for _ in range(250)][-1]
    assert quarter.pos_W == pytest.approx((1.0 + 4.0, 2.0 + 4.0, 3.0), abs=1e-3)  # radius 2 m/s : 0.5 rad/s
    assert quarter.vel_W == pytest.approx((0.0, 2.0, 0.0), abs=1e-9)
    assert quarter.yaw_rad == pytest.approx(math.pi / 2)
    headings = [pilot.step(turn_s / 1000) for _ in range(750)]
    assert headings[-1].pos_W == pytest.approx((1.0, 2.0, 3.0), abs=1e-9)
    assert all(abs(point.yaw_rad) <= math.pi for point in headings)


@settings(deadline=None)
@given(moves=st.lists(st.tuples(*[deflections] * 4), max_size=20), dt_s=st.floats(0.001, 0.1))
def test_feedforward_velocity_is_the_motion_of_the_reference(
    moves: list[tuple[float, float, float, float]], dt_s: float
) -> None:
    pilot, stick = pilot_with()
    last = pilot.step(0.0)
    for move in moves:
        stick.deflection = Deflection(*move)
        point = pilot.step(dt_s)
        assert 1.0 <= point.pos_W[2] <= 5.0
        for before, after, speed in zip(last.pos_W[:2], point.pos_W[:2], point.vel_W[:2], strict=True):
            # the heading turns by at most 0.5 rad/s * dt / 2 between the middle and the end of a step
            assert (after - before) / dt_s == pytest.approx(speed, abs=4.0 * 0.25 * dt_s + 1e-9)
        last = point


def test_floor_and_ceiling_stop_the_reference_and_its_velocity() -> None:
    pilot, stick = pilot_with(up=-1.0)
    for _ in range(30):
        low = pilot.step(0.1)
    assert (low.pos_W[2], low.vel_W[2]) == (1.0, 0.0)
    stick.deflection = Deflection(up=1.0)
    assert pilot.step(0.1).vel_W[2] == 1.0
    for _ in range(60):
        high = pilot.step(0.1)
    assert (high.pos_W[2], high.vel_W[2]) == (5.0, 0.0)


def test_a_start_below_the_floor_does_not_jump() -> None:
    stick = Stick(PLAIN, RANGES, "pad")
    pilot = Pilot(stick, PLAIN, pos_W=(0.0, 0.0, 0.2))
    assert pilot.step(0.1).pos_W[2] == 0.2
    stick.deflection = Deflection(up=-1.0)
    assert pilot.step(0.1).pos_W[2] == 0.2
    stick.deflection = Deflection(up=1.0)
    assert pilot.step(0.1).pos_W[2] == pytest.approx(0.3)


def test_the_shipped_map_is_mode_2() -> None:
    shipped = axis_map.load()
    stick = Stick(shipped, RANGES, "pad")
    ends = {"ABS_RY": "forward", "ABS_RX": "left", "ABS_Y": "up", "ABS_X": "yaw"}
    for axis, quantity in ends.items():  # pushed up or left, which gamepads report as the low end
        stick.feed([AxisEvent(0.0, axis, -100)])
        assert getattr(stick.deflection, quantity) == 1.0


def test_the_page_shows_the_shipped_map_and_every_key() -> None:
    page = DOCS.read_text()
    block = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert block
    assert msgspec.convert(tomllib.loads(block[1]), AxisMap) == axis_map.load()
    for table in (AxisMap, Channel, Limits):
        assert [key for key in table.__struct_fields__ if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "expo = 0.4",
            "exp0 = 0.4",
            "exp0: unknown key, expected one of: axis, scale, invert, dead_zone, expo",
        ),
        ("dead_zone = 0.08", "dead_zone = 0.95", "dead_zone: expected `float` <= 0.9"),
        ("dead_zone = 0.08", "dead_zone = nan", "dead_zone: expected `float` >= 0.0"),
        ("scale = 1.5", "scale = 0", "scale: expected `float` > 0.0"),
        ("scale = 1.5", "scale = 'fast'", "scale: expected `float`, got `str`"),
        ('axis = "ABS_RX"', 'axis = "BTN_A"', "left.axis: expected `str` matching regex"),
        ('axis = "ABS_RX"', 'axis = "ABS_RY"', "left.axis: ABS_RY already commands forward"),
        ("floor_m = 0.3", "floor_m = 30", "expected floor_m below ceiling_m (30.0), not 30.0"),
        ("[yaw]", "[rudder]", "rudder: unknown key, expected one of: forward, left, up, yaw, limits"),
        ("[yaw]", "[yaw", "not valid TOML"),
    ],
)
def test_a_bad_map_names_file_and_key(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = axis_map.DEFAULT.read_text()
    assert old in text
    file = tmp_path / "map.toml"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        axis_map.load(str(file))
    assert str(error.value).startswith(f"{file}: ")
    assert expected in str(error.value)


def test_a_map_may_leave_out_what_has_a_default(tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text(
        "".join(
            f"[{q}]\naxis='ABS_{a}'\nscale=1\n" for q, a in zip(("forward", "left", "up", "yaw"), "XYZR", strict=True)
        )
    )
    assert axis_map.load(str(file)).limits == Limits()
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        axis_map.load(str(tmp_path / "none.toml"))


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
        ("{}\n", 1, "missing required field `axes`"),
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
