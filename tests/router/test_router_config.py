"""The router's file: what it says, and the sentence for each way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from stream_tables import MULTIROTOR

from aeroloop.core.errors import ConfigError
from aeroloop.flight.routing import check
from aeroloop.router.config import ROLES, load
from aeroloop.router.statistics import LinkMessage, LinkState

GOOD = """
name = "bench"
[[endpoints]]
name = "pixhawk"
url = "serial:///dev/ttyACM0?baud=57600"
[[endpoints]]
name = "qgc"
url = "udp://127.0.0.1:14550"
role = "command"
[[endpoints]]
name = "wall-display"
url = "tcp://127.0.0.1:5760?listen"
role = "observe"
signing_key_file = "key.txt"
[[endpoints]]
name = "board"
url = "pty:///tmp/board"
protocol = "board"
[[forward]]
from = "pixhawk"
to = "wall-display"
messages = ["ATTITUDE", 33]
systems = [1]
max_rate_hz = 10.0
[[rates]]
endpoint = "pixhawk"
message = "ATTITUDE"
hz = 50.0
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "bench.toml"
    path.write_text(text)
    return path


def test_a_good_file(tmp_path: Path) -> None:
    config = load(written(tmp_path, GOOD))
    assert [end.role for end in config.endpoints] == ["vehicle", "command", "observe", "vehicle"]
    assert config.forward[0].source == "pixhawk" and config.forward[0].messages == ("ATTITUDE", 33)
    assert config.endpoints[2].signing_key_file == str(tmp_path / "key.txt")
    assert [end.link_baud for end in config.endpoints] == [57600, 0, 0, 0]


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ('"ATTITUDE", 33', '"ATITUDE"', "forward[0].messages: mavlink has no message 'ATITUDE'"),
        ('"ATTITUDE", 33', "-1", "forward[0].messages: no message has the number -1"),
        ('role = "command"', 'role = "boss"', "endpoints[1].role: invalid enum value 'boss', expected one of: command"),
        ('to = "wall-display"', 'to = "wall"', "forward[0].to: no endpoint 'wall', expected one of: pixhawk, qgc"),
        ('to = "wall-display"', 'to = "board"', "forward[0]: pixhawk and board have different protocols"),
        ("udp://127.0.0.1:14550", "udp://127.0.0.1", "endpoints[1]: url: link URL 'udp://127.0.0.1': missing port"),
        ('name = "qgc"', 'name = "pixhawk"', "endpoints[1].name: 'pixhawk' is taken"),
        ('name = "qgc"', 'name = "a b"', "endpoints[1]: name: 'a b': expected 1 to 32 letters"),
        ("max_rate_hz", "max_rate", "forward[0].max_rate: unknown key"),
        ("max_rate_hz = 10.0", "max_rate_hz = -1.0", "forward[0].max_rate_hz: expected `float` >= 0"),
        ("systems = [1]", "systems = [256]", "forward[0].systems: expected numbers from 0 to 255"),
        ('endpoint = "pixhawk"', 'endpoint = "x"', "rates[0].endpoint: no endpoint 'x'"),
        ('protocol = "board"', 'protocol = "board"\nsigning_key_file = "k"', "endpoints[3]: signing_key_file: only"),
        ("name =", "name", "not valid TOML"),
        (
            "[[endpoints]]",
            "[[ends]]",
            "ends: unknown key (did you mean 'endpoints'?), expected one of: endpoints",
        ),
        ('url = "udp://127.0.0.1:14550"\n', "", "endpoints[1].url: missing"),
        ("udp://127.0.0.1:14550", "http://a", "endpoints[1]: url: link URL 'http://a': expected one of serial://"),
        ("udp://127.0.0.1:14550", "udp://127.0.0.1:99999", "endpoints[1]: url: link URL 'udp://127.0.0.1:99999': Port"),
        ("pty:///tmp/board", "pty:///dev/ttyACM0", "endpoints[3].url: pty:///dev/ttyACM0 is pixhawk's, expected a"),
        ("udp://127.0.0.1:14550", "tcp://:5760?listen", "endpoints[2].url: tcp://127.0.0.1:5760?listen is qgc's"),
        ('["ATTITUDE", 33]', '"ATTITUDE"', "forward[0].messages: expected `array`, got `str`"),
        ("hz = 50.0\n", "hz = 0\n", "rates[0].hz: expected `float` > 0"),
    ],
)
def test_a_sentence_names_file_and_key(tmp_path: Path, right: str, wrong: str, words: str) -> None:
    assert right in GOOD
    path = written(tmp_path, GOOD.replace(right, wrong))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("udp://no-such-host.invalid:1", "endpoints[1].url: udp://no-such-host.invalid:1: no such host"),
        ("udp://127.0.0.1:14550", "endpoints[2].signing_key_file: "),
    ],
)
def test_what_only_this_machine_can_tell_is_checked_too(tmp_path: Path, wrong: str, words: str) -> None:
    path = written(tmp_path, GOOD.replace("udp://127.0.0.1:14550", wrong))
    with pytest.raises(ConfigError) as caught:
        check(path)
    assert str(caught.value).startswith(f"{path}: {words}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.toml")


def test_states_are_rows_of_the_streams() -> None:
    for stream, kind in (("router_link", LinkState), ("router_message", LinkMessage)):
        fields = MULTIROTOR[stream].names
        assert fields == ("t_s", *kind.__dataclass_fields__)
        state = kind(*range(1, len(fields)))
        assert state.row(0.0) == tuple(map(float, range(len(fields))))
    assert ROLES == ("vehicle", "command", "observe", "simulator")
