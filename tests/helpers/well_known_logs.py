"""Short flights within one process, written as a recorder writes them, and read by readers that are not ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

from aeroloop.core.fleet import Fleet, Plan, parts_of, prefix
from aeroloop.core.fleet_files import expanded, load_plan
from aeroloop.core.scenario_files import find
from aeroloop.flight.export import FlownPart, write_log
from aeroloop.flight.inline import fly_inline

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EPOCH_NS = 1_780_000_000_123_456_789


class Told(NamedTuple):
    topic: str
    schema: str
    log_time: int
    data: bytes
    message: Any  # decoded by the definitions in the file


def short_plan(name: str, duration_s: float, *overrides: str) -> Plan:
    path = EXAMPLES / name if name.endswith(".toml") else find(name)
    return load_plan(path, (*overrides, f"duration_s={duration_s}"))


def write_flight(path: Path, plan: Plan, epoch_ns: int = EPOCH_NS) -> list[FlownPart]:
    """Fly it, and write its log."""
    whole = plan if isinstance(plan, Fleet) else expanded(plan)
    logs = fly_inline(plan).logs
    parts = [FlownPart(part, prefix(whole, part), log) for part, log in zip(parts_of(whole), logs, strict=True)]
    write_log(path, parts, epoch_ns)
    return parts


def well_known(path: Path) -> Iterator[Told]:
    """Of a log, the messages whose definitions are protobuf's."""
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        factory = DecoderFactory()
        for schema, channel, message in reader.iter_messages():
            if schema is not None and schema.encoding == "protobuf":
                decode = factory.decoder_for(channel.message_encoding, schema)
                assert decode is not None
                yield Told(channel.topic, schema.name, message.log_time, message.data, decode(message.data))
