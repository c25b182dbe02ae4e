"""A bounded fuzz run over the firmware's frame parser, with sanitizers, against the Python parser; and what it reached.

Seeded: every run sees the same frames.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path

import pytest
from host_build import FIRMWARE, run

from aeroloop.protocols import interface
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.interface_c import c_header

FRAMES = 200_000
LONGEST_DATA = max(message.size for message in interface.TILTROTOR.messages)
SPIKES = bytes([0x7E, 0x7D, 0x5E, 0x5D, 0x20, 0x00, 0xFF])
COUNTERS = struct.Struct("<10I")


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built anew for each run: coverage counts add up."""
    folder = tmp_path_factory.mktemp("parser")
    (folder / "interface.h").write_text(c_header(interface.TILTROTOR), encoding="utf-8")
    run(["make", "-f", str(FIRMWARE / "host" / "host.mk"), f"BUILD={folder}", f"GENERATED={folder}", "parser"])
    return folder / "parser"


def payload(source: random.Random, longest: int) -> bytes:
    size = source.randint(1, longest)
    if source.random() < 0.2:
        return bytes(source.choices(SPIKES, k=size))
    return source.randbytes(size)


def mutated(source: random.Random, frame: bytes) -> bytes:
    at = source.randrange(len(frame))
    kind = source.randrange(5)
    if kind == 0:
        return frame[:at] + bytes([frame[at] ^ 1 << source.randrange(8)]) + frame[at + 1 :]
    if kind == 1:
        return frame[:at] + frame[at + 1 :]
    if kind == 2:
        return frame[:at] + source.choice([SPIKES[at % 7 : at % 7 + 1], source.randbytes(1)]) + frame[at:]
    if kind == 3:
        return frame[:at]
    return frame[:at] + frame[source.randrange(len(frame)) :]


def hostile(source: random.Random, longest: int, count: int) -> Iterator[bytes]:
    """Good frames, damaged ones, ones too long, and noise."""
    for _ in range(count):
        kind = source.random()
        if kind < 0.4:
            yield encode(payload(source, longest))
        elif kind < 0.9:
            yield mutated(source, encode(payload(source, longest)))
        elif kind < 0.95:
            yield encode(payload(source, 2 * longest + 8))
        else:
            yield source.randbytes(source.randrange(40))


def expected(stream: bytes, longest: int) -> tuple[bytes, Counters]:
    counters = Counters()
    deframer = Deframer(longest, counters)
    heard = b"".join(
        encode(data) for at in range(0, len(stream), 5000) for data in deframer.feed(stream[at : at + 5000])
    )
    counters.frames_out, counters.bytes_out = counters.frames_in, len(heard)
    return heard, counters


def parsed(parser: Path, stream: bytes, longest: int) -> tuple[bytes, Counters]:
    done = subprocess.run([parser, str(longest)], input=stream, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout[: -COUNTERS.size], Counters(*COUNTERS.unpack(done.stdout[-COUNTERS.size :]))


def covered(parser: Path) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """By line of framing.c, how often it ran, and how often each of its branches was taken."""
    (notes,) = parser.parent.glob("*framing.gcno")
    text = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", notes.name],
        cwd=parser.parent, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (file,) = (file for file in json.loads(text)["files"] if file["file"].endswith("app/framing.c"))
    lines = {line["line_number"]: line["count"] for line in file["lines"]}
    return lines, [(line["line_number"], branch["count"]) for line in file["lines"] for branch in line["branches"]]


def test_the_parser_takes_whatever_comes_and_agrees_with_its_twin(
    parser: Path, record_property: Callable[[str, object], None]
) -> None:
    source = random.Random(20)
    total = Counters()
    counting = parser.with_name("parser-coverage")
    for longest, count in ((LONGEST_DATA, FRAMES - 50_000), (interface.REFERENCE.size, 40_000), (3, 10_000)):
        stream = b"".join(hostile(source, longest, count))
        heard, counters = parsed(parser, stream, longest)
        wanted, wanted_counters = expected(stream, longest)
        assert counters == wanted_counters
        assert heard == wanted
        assert parsed(counting, stream, longest) == (heard, counters)
        total = Counters(*map(sum, zip(astuple(total), astuple(counters), strict=True)))
    assert min(total.frames_in, total.malformed, total.bad_checksums) > FRAMES // 20, "all of it was tried"
    lines, branches = covered(counting)
    reached = [number for number, count in lines.items() if count], [number for number, count in branches if count]
    record_property(
        "table",
        f"{FRAMES} frames, {total.bytes_in} bytes: {total.frames_in} good, {total.bad_checksums} with a bad checksum, "
        f"{total.malformed} malformed; {len(reached[0])} of {len(lines)} lines of framing.c ran, "
        f"{len(reached[1])} of {len(branches)} branches were taken",
    )
    assert len(lines) > 40
    assert sorted(set(lines) - set(reached[0])) == [], "lines that never ran"
    assert [number for number, count in branches if count == 0] == [], "lines with a branch that was never taken"


@pytest.mark.parametrize("size", [0, 1, 2, 131, 132, 133, 1_000_000])
@pytest.mark.parametrize("tail", [b"", b"\x7d"])
def test_megabytes_without_a_flag_are_one_malformed_frame(parser: Path, size: int, tail: bytes) -> None:
    stream = encode(b"before") + b"\x41" * size + tail + encode(b"after")
    assert parsed(parser, stream, LONGEST_DATA) == expected(stream, LONGEST_DATA)


def all_escapes(source: random.Random) -> bytes:
    """Data of the longest frame on the wire: every byte of it, and of its checksum, is escaped."""
    while True:
        data = bytes(source.choices(b"\x7e\x7d", k=LONGEST_DATA))
        if len(encode(data)) == 2 + 2 * (LONGEST_DATA + 2):
            return data


def test_a_frame_may_be_all_escapes(parser: Path) -> None:
    frame = encode(all_escapes(random.Random(3)))
    for stream in (frame, frame[:-1] + b"\x5e\x7e", frame[:-1] + b"\x7d\x7e"):
        assert parsed(parser, stream, LONGEST_DATA) == expected(stream, LONGEST_DATA)
    assert parsed(parser, frame, LONGEST_DATA)[1].frames_in == 1
