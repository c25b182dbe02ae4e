"""Topics: the streams of the table in shared memory, through iceoryx2.

In lockstep a publisher waits for a full subscriber, so nothing is lost. In real time it never waits; each
record carries a sequence number, so a subscriber knows how many it missed.
"""

from __future__ import annotations

import ctypes
import shutil
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import iceoryx2 as iox2

from aeroloop.streams import Stream

BUFFERED_RECORDS = 4096
MOST_SUBSCRIBERS = 4

iox2.set_log_level(iox2.LogLevel.Fatal)


def _payload_type(stream: Stream) -> type[ctypes.Structure]:
    """Sequence number, then the record's fields."""

    def type_name() -> str:
        return f"aeroloop_{stream.name}_{len(stream.fields)}"

    return type(
        f"Record_{stream.name}",
        (ctypes.Structure,),
        {
            "_fields_": [("values", ctypes.c_double * (1 + len(stream.fields)))],
            "type_name": staticmethod(type_name),
        },
    )


class Publisher:
    def __init__(self, service: Any, bell: Any | None, stream: Stream, *, wait: bool) -> None:
        strategy = iox2.BackpressureStrategy
        self._port = (
            service.publisher_builder()
            .backpressure_strategy(strategy.RetryUntilDelivered if wait else strategy.DiscardData)
            .create()
        )
        self._notifier = bell.notifier_builder().create() if bell else None
        self._record = _payload_type(stream)()
        self._pack = struct.Struct(f"<{1 + len(stream.fields)}d").pack_into
        self._sequence = 0

    def send(self, *row: float) -> None:
        self._pack(self._record, 0, self._sequence, *row)
        self._sequence += 1
        self._port.send_copy(self._record)
        if self._notifier:
            self._notifier.notify()


class Subscriber:
    def __init__(self, service: Any, bell: Any | None, stream: Stream) -> None:
        self.stream = stream
        self.lost = 0
        self._port = service.subscriber_builder().create()
        self._listener = bell.listener_builder().create() if bell else None
        self._size = 8 * (1 + len(stream.fields))
        self._next_sequence: float | None = None

    def records(self) -> Iterator[bytes]:
        """Everything that has arrived, as packed rows."""
        while (sample := self._port.receive()) is not None:
            data = ctypes.string_at(sample.payload_ptr, self._size)
            sample.delete()
            (sequence,) = struct.unpack_from("<d", data)
            if self._next_sequence is not None:
                # A lower number is another publisher's first: the reference link changes hands.
                self.lost += max(0, int(sequence - self._next_sequence))
            self._next_sequence = sequence + 1
            yield data[8:]

    def latest(self) -> tuple[float, ...] | None:
        records = list(self.records())
        return self.stream.packing.unpack(records[-1]) if records else None

    def wait(self, timeout_s: float) -> None:
        """Until the publisher rings, or the time is over."""
        assert self._listener is not None, f"stream {self.stream.name} has no bell"
        with suppress(iox2.ListenerWaitError):  # a signal came: whoever waits looks whether to stop
            self._listener.timed_wait(iox2.Duration.from_nanos(int(timeout_s * 1e9)))


class Topics:
    """The topics of one flight; `folder` is private to it, so that flights never see each other's."""

    BELLS = frozenset({"clock"})

    def __init__(self, folder: Path, *, wait: bool) -> None:
        config = iox2.config.default()
        config.global_cfg.root_path = iox2.Path.new(str(folder / "topics"))
        config.global_cfg.prefix = iox2.FileName.new(_prefix(folder))
        self._node = (
            iox2.NodeBuilder.new()
            .config(config)
            .signal_handling_mode(iox2.SignalHandlingMode.Disabled)
            .create(iox2.ServiceType.Ipc)
        )
        self._wait = wait

    def publisher(self, stream: Stream) -> Publisher:
        return Publisher(self._service(stream), self._bell(stream), stream, wait=self._wait)

    def subscriber(self, stream: Stream) -> Subscriber:
        return Subscriber(self._service(stream), self._bell(stream), stream)

    def _service(self, stream: Stream) -> Any:
        return (
            self._node.service_builder(iox2.ServiceName.new(stream.name))
            .publish_subscribe(_payload_type(stream))
            .enable_safe_overflow(False)
            .subscriber_max_buffer_size(BUFFERED_RECORDS)
            .max_subscribers(MOST_SUBSCRIBERS)
            .open_or_create()
        )

    def _bell(self, stream: Stream) -> Any | None:
        if stream.name not in self.BELLS:
            return None
        return self._node.service_builder(iox2.ServiceName.new(f"{stream.name}/bell")).event().open_or_create()


def _prefix(folder: Path) -> str:
    return f"{folder.name}_"


def sweep(folder: Path) -> None:
    """Remove what processes that were killed left in shared memory."""
    shutil.rmtree(folder / "topics", ignore_errors=True)
    for segment in Path("/dev/shm").glob(f"{_prefix(folder)}*"):
        segment.unlink(missing_ok=True)
