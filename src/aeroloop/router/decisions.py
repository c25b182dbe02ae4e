"""Routing decision for frames of one key from one peer: made once, used for every frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from aeroloop.router.peers import Peer
from aeroloop.router.queues import Queue
from aeroloop.router.statistics import LinkStatistics, Record
from aeroloop.router.table import Limiter

Check = Callable[[Peer, "Decision", bytes], bool]
"""Whether a frame is forwarded; called for messages that are restricted, and for those addressed to the router."""

MOST_DECISIONS = 4096
MOST_ADDRESSES = 256


class Target(NamedTuple):
    queue: Queue
    limiter: Limiter | None
    record: Record
    peer: Peer


class Decision:
    """`targets` are valid for `epoch` only: routes change."""

    __slots__ = (
        "absent",
        "addressed",
        "as_vehicle",
        "check",
        "component",
        "component_at",
        "epoch",
        "key",
        "message",
        "number_at",
        "numbering",
        "passed",
        "passed_ns",
        "passed_size",
        "payload_at",
        "plain",
        "probe",
        "record",
        "reliable",
        "system",
        "system_at",
        "targets",
        "urgent",
    )

    def __init__(self, key: bytes, record: Record) -> None:
        self.key = key
        self.system, self.component = key[0], key[1]
        self.message = int.from_bytes(key[2:], "little")
        self.record = record
        self.numbering: list[int] | None = None  # the last sequence number of the sender
        self.number_at = 0
        self.payload_at = 0
        self.system_at = 0  # offset in the frame; 0 for broadcast messages
        self.component_at = 0
        self.reliable = False
        self.urgent = False  # HIL: goes ahead of all others, to one link
        self.check: Check | None = None
        self.probe: Check | None = None  # the same check, if it looks for answers to the router
        self.as_vehicle = False  # sent on another link with the ID of a vehicle
        self.epoch = -1
        self.targets: tuple[Target, ...] = ()
        self.plain: tuple[Callable[[bytes], None], ...] | None = None  # the targets' queues, if no rate is limited
        self.passed = 0  # frames sent to all of `plain` that are not in their records yet
        self.passed_size = 0
        self.passed_ns = 0
        self.absent: tuple[LinkStatistics, ...] = ()  # links that would be targets if a peer were connected
        self.addressed: dict[tuple[int, int], tuple[Target, ...]] = {}

    def settle(self) -> None:
        """Add the forwarded frames to the records of their targets; done in batches, since it would be the largest cost
        per frame."""
        if self.passed:
            for target in self.targets:
                record = target.record
                record.count += self.passed
                record.size += self.passed_size
                record.seen_ns = self.passed_ns
            self.passed = self.passed_size = 0

    def payload(self, frame: bytes) -> bytes:
        """As sent; MAVLink 2 may omit zeros at its end."""
        return frame[self.payload_at : self.payload_at + frame[1]]

    def address(self, frame: bytes) -> tuple[int, int]:
        """Target system and component of a frame; 0: all."""
        end = self.payload_at + frame[1]
        at, component_at = self.system_at, self.component_at
        if not at or at >= end:
            return 0, 0
        return frame[at], frame[component_at] if 0 < component_at < end else 0
