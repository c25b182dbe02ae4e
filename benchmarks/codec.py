"""Floats to frame and back to floats, for the two messages that carry numbers, against a byte-by-byte codec."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from functools import partial

from aeroloop.core.signals import COMMAND_COUNT, SENSOR_COUNT
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.interface import ACTUATORS
from benchmarks import paper_codec
from benchmarks.measure import Outcome, row, take_turns

MESSAGES = {"answer": f"<{SENSOR_COUNT}f", "actuators": f"<B{COMMAND_COUNT}f"}
DISTINCT = 256
"""Different messages, so that no run of escapes, and no lack of them, is typical."""

Codec = tuple[Callable[[bytes], bytes], Callable[[bytes], list[bytes]]]


def run(quick: bool) -> Outcome:
    rounds, repeats = (2, 1) if quick else (11, 20)
    outcome = Outcome()
    for name, layout in MESSAGES.items():
        packing = struct.Struct(layout)
        messages = _messages(name)
        codecs: dict[str, Codec] = {
            "aeroloop": (encode, Deframer(packing.size, Counters()).feed),
            "byte by byte": (paper_codec.encode, paper_codec.Decoder().feed),
        }
        _must_agree(codecs, packing, messages)
        taken = take_turns(
            {who: partial(_rate, codec, packing, messages, repeats) for who, codec in codecs.items()}, rounds
        )
        outcome.rows.append(
            row(f"{name}, there and back", "frames/s", taken["aeroloop"], "byte by byte", taken["byte by byte"])
        )
    return outcome


def _messages(name: str) -> list[tuple[float, ...]]:
    chance = random.Random(1)
    head = (ACTUATORS.number,) if name == "actuators" else ()
    count = COMMAND_COUNT if name == "actuators" else SENSOR_COUNT
    return [(*head, *(chance.uniform(-20.0, 20.0) for _ in range(count))) for _ in range(DISTINCT)]


def _rate(codec: Codec, packing: struct.Struct, messages: list[tuple[float, ...]], repeats: int) -> float:
    to_frame, from_bytes = codec
    began_s = time.perf_counter()
    for _ in range(repeats):
        for message in messages:
            (data,) = from_bytes(to_frame(packing.pack(*message)))
            packing.unpack(data)
    return repeats * len(messages) / (time.perf_counter() - began_s)


def _must_agree(codecs: dict[str, Codec], packing: struct.Struct, messages: list[tuple[float, ...]]) -> None:
    """Speed is worth nothing if they do not do the same."""
    for message in messages:
        data = packing.pack(*message)
        frames = {to_frame(data) for to_frame, _ in codecs.values()}
        if len(frames) != 1:
            raise RuntimeError(f"the codecs make different frames of {data.hex()}")
        (frame,) = frames
        if any(from_bytes(frame) != [data] for _, from_bytes in codecs.values()):
            raise RuntimeError(f"a codec does not get {data.hex()} back")
