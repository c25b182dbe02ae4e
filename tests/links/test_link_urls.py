"""Link URLs: what is accepted, what is refused and how, and how a scenario's URL becomes two ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.links.url import LinkUrl, ends, parse


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("serial:///dev/ttyUSB0?baud=57600", LinkUrl("serial", path="/dev/ttyUSB0", baud=57600)),
        ("serial:///dev/ttyUSB0", LinkUrl("serial", path="/dev/ttyUSB0", baud=921600)),
        ("pty:///tmp/board0", LinkUrl("pty", path="/tmp/board0")),
        ("udp://127.0.0.1:14560", LinkUrl("udp", host="127.0.0.1", port=14560)),
        ("udp://10.0.0.7:14560?listen", LinkUrl("udp", host="10.0.0.7", port=14560, listen=True)),
        ("tcp://board.lan:4560?listen", LinkUrl("tcp", host="board.lan", port=4560, listen=True)),
        ("loopback:///run/a.sock?listen", LinkUrl("loopback", path="/run/a.sock", listen=True)),
    ],
)
def test_accepted_and_put_together_again(url: str, parts: LinkUrl) -> None:
    assert parse(url) == parts
    assert parse(str(parts)) == parts


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ttyUSB0", "expected one of serial://"),
        ("", "expected one of serial://"),
        ("usb:///dev/x", "expected one of serial://"),
        ("serial:/dev/ttyUSB0", "expected one of serial://"),
        ("serial://", "missing path"),
        ("serial:///", "missing path"),
        ("serial://dev/ttyUSB0", "third slash"),
        ("serial:///dev/x?baud=fast", "bad baud 'fast'"),
        ("serial:///dev/x?baud=0", "bad baud '0'"),
        ("serial:///dev/x?baud=-9600", "bad baud '-9600'"),
        ("serial:///dev/x?baud=", "bad baud ''"),
        ("serial:///dev/x?baud=9600&baud=9600", "'baud' given twice"),
        ("serial:///dev/x?speed=9600", "unknown option 'speed'"),
        ("serial:///dev/x?listen", "unknown option 'listen'"),
        ("pty://", "missing path"),
        ("pty:///tmp/a?baud=9600", "unknown option 'baud'"),
        ("pty:///tmp/a%00b", "null byte"),
        ("pty:///tmp/a#b", "unexpected #b"),
        ("loopback://", "missing path"),
        ("udp://127.0.0.1", "missing port"),
        ("udp://", "missing port"),
        ("udp://127.0.0.1:0", "port 0"),
        ("udp://127.0.0.1:70000", "range"),
        ("udp://127.0.0.1:http", "Port"),
        ("udp://127.0.0.1:1/x", "unexpected path /x"),
        ("udp://me@127.0.0.1:1", "IPv4"),
        ("udp://[::1]:1", "IPv4"),
        ("udp://a..b:1", "IPv4"),
        ("udp://b\u00f6ard:1", "IPv4"),
        ("tcp://127.0.0.1:1?listen=yes", "listen takes no value"),
        ("tcp://127.0.0.1:45\n60", "control character"),
    ],
)
def test_refused_in_one_sentence_that_names_the_url(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(url)
    text = str(caught.value)
    assert repr(url) in text and says in text and "expected" in text
    assert "\n" not in text


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for url in (text, f"serial:///{text}", f"udp://{text}", f"tcp://h:1?{text}"):
        with suppress(ConfigError):
            assert parse(str(parse(url))) == parse(url)


def test_a_host_that_is_not_written_is_this_machine() -> None:
    assert parse("udp://:14560?listen").host == "127.0.0.1"


def test_ends_of_loopback_meet_in_the_folder(tmp_path: Path) -> None:
    server, client = ends("loopback://", folder=tmp_path, name="board")
    assert server == f"loopback://{tmp_path}/board.sock?listen"
    assert client == f"loopback://{tmp_path}/board.sock"


def test_ends_of_pty_are_a_pty_and_a_serial_port(tmp_path: Path) -> None:
    assert ends("pty://", folder=tmp_path, name="board") == (
        f"pty://{tmp_path}/board.pty",
        f"serial://{tmp_path}/board.pty",
    )
    assert ends("pty:///tmp/board0", folder=tmp_path, name="board") == (
        "pty:///tmp/board0",
        "serial:///tmp/board0",
    )


@pytest.mark.parametrize("scheme", ["udp", "tcp"])
def test_ends_of_sockets(scheme: str, tmp_path: Path) -> None:
    expected = (f"{scheme}://192.168.7.2:4560?listen", f"{scheme}://192.168.7.2:4560")
    assert ends(f"{scheme}://192.168.7.2:4560", folder=tmp_path, name="board") == expected
    assert ends(f"{scheme}://192.168.7.2:4560?listen", folder=tmp_path, name="board") == expected

    server, client = ends(f"{scheme}://127.0.0.1:0", folder=tmp_path, name="board")
    assert client is not None and server == f"{client}?listen"
    assert parse(client).port > 0


def test_a_serial_port_has_its_peer_outside(tmp_path: Path) -> None:
    url = "serial:///dev/ttyACM0?baud=57600"
    assert ends(url, folder=tmp_path, name="board") == (url, None)
    with pytest.raises(ConfigError, match="missing path"):
        ends("serial://", folder=tmp_path, name="board")


def test_no_free_port_on_another_machine(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"udp://192\.0\.2\.1:0.*no free port"):
        ends("udp://192.0.2.1:0", folder=tmp_path, name="board")


@given(name=st.text(st.characters(blacklist_characters="/\0", codec="utf-8"), min_size=1, max_size=20))
def test_any_folder_survives_the_url(name: str) -> None:
    folder = Path("/tmp") / f"x{name}"
    server, client = ends("loopback://", folder=folder, name="board")
    assert client is not None
    assert parse(server).path == parse(client).path == str(folder / "board.sock")
