"""Topics: the streams of the table in shared memory, through iceoryx2.

In lockstep a publisher waits for a full subscriber, so nothing is lost. In real time it never waits; each
sample carries the number of its first record, so a subscriber knows how many it missed.

The waiting is done here: with iceoryx2's own strategy (RetryUntilDelivered, 0.10) samples for a full subscriber were
lost after all, without an error. A sample that not every subscriber has taken is sent again; those that have it already
know it by its sender and number.

Sending a sample costs far more than writing a record into it. So where a plant runs many times faster than real time,
records are sent in batches: several in one sample, none of them held longer than HELD_S of the stream's own time. In
lockstep, where no process acts on a topic, every fast stream is batched, and for longer.
"""

from __future__ import annotations

import ctypes
import secrets
import shutil
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import iceoryx2 as iox2

from aeroloop.core.errors import LinkError
from aeroloop.core.stream import Publish, Stream
from aeroloop.realtime.limits import SHARED_MEMORY, lacking_words

BUFFERED_RECORDS = 4096
HELD_S = 0.02
LOCKSTEP_HELD_S = 0.1
LOCKSTEP_BATCH = 64
FAST_HZ = 16.0
"""Rows of a slower stream would wait too long for a full batch."""
MOST_SUBSCRIBERS = 4
RETRY_S = 0.0005
"""Between attempts while a subscriber is full."""
CLEAN_UP_S = 0.25
"""How often a waiting publisher looks for subscribers whose process has died: they stay full."""
LAST_WAIT_S = 2.0
"""How long a process that has been told to end still waits for a full subscriber."""

iox2.set_log_level(iox2.LogLevel.Fatal)


_HEAD = struct.Struct("<3d")
"""Number of the sender, number of the sample's first record, and how many it holds."""


def _payload_type(stream: Stream, batch: int) -> type[ctypes.Structure]:
    """A head, then the fields of up to `batch` records."""

    def type_name() -> str:
        return f"aeroloop_{stream.name}_{len(stream.fields)}x{batch}"

    return type(
        f"Records_{stream.name}",
        (ctypes.Structure,),
        {
            "_fields_": [("values", ctypes.c_double * (3 + batch * len(stream.fields)))],
            "type_name": staticmethod(type_name),
        },
    )


class Publisher:
    def __init__(
        self,
        service: Any,
        bell: Any | None,
        stream: Stream,
        *,
        waits_until: Callable[[], bool] | None,
        batch: int = 1,
        held_s: float = HELD_S,
    ) -> None:
        """`waits_until`: when to stop waiting for a full subscriber; None: never wait."""
        self._service, self._waits_until = service, waits_until
        self._port = service.publisher_builder().backpressure_strategy(iox2.BackpressureStrategy.DiscardData).create()
        self._sender = float(secrets.randbits(52))
        self._subscribers = MOST_SUBSCRIBERS  # that took the last sample; more until the first one is sent
        self._notifier = bell.notifier_builder().create() if bell else None
        self._sample = _payload_type(stream, batch)()
        self._pack, self._size = stream.packing.pack_into, stream.packing.size
        self._end, self._full = _HEAD.size, _HEAD.size + batch * self._size
        self._held_s, self._oldest_s = held_s, 0.0
        self.sent = 0  # records

    def send(self, t_s: float, *values: float) -> None:
        end = self._end
        if end == _HEAD.size:
            self._oldest_s = t_s
        self._pack(self._sample, end, t_s, *values)
        self._end = end = end + self._size
        if end == self._full or t_s - self._oldest_s >= self._held_s:
            self.flush()

    def numbered(self, vehicle: int) -> Publish:
        """`send` for the rows of one aircraft, given without its number: one call per row, not two."""
        pack, sample, first, size = self._pack, self._sample, _HEAD.size, self._size
        full, held_s = self._full, self._held_s

        def send(t_s: float, *values: float) -> None:
            end = self._end
            if end == first:
                self._oldest_s = t_s
            pack(sample, end, t_s, vehicle, *values)
            self._end = end = end + size
            if end == full or t_s - self._oldest_s >= held_s:
                self.flush()

        return send

    def flush(self) -> None:
        """Send the queued records; required before a stream ends."""
        count = (self._end - _HEAD.size) // self._size
        if not count:
            return
        _HEAD.pack_into(self._sample, 0, self._sender, self.sent, count)
        self.sent += count
        self._end = _HEAD.size
        took = self._port.send_copy(self._sample)
        if took < self._subscribers and self._waits_until is not None:
            took = self._insist(took, self._waits_until)
        self._subscribers = took
        if self._notifier:
            self._notifier.notify()

    def _insist(self, took: int, stopped: Callable[[], bool]) -> int:
        """Send until all subscribers that are alive took the sample at once; returns their number."""
        began_s = cleaned_s = time.monotonic()
        while took < self._service.dynamic_config.number_of_subscribers:
            time.sleep(RETRY_S)
            now_s = time.monotonic()
            if stopped() and now_s - began_s > LAST_WAIT_S:
                break
            if now_s - cleaned_s > CLEAN_UP_S:
                self._service.try_cleanup_dead_nodes()
                cleaned_s = now_s
            took = self._port.send_copy(self._sample)
        return took


def numbered(publishers: Mapping[str, Publisher], vehicle: int) -> dict[str, Publish]:
    """Where one aircraft publishes its rows."""
    return {name: publisher.numbered(vehicle) for name, publisher in publishers.items()}


class Subscriber:
    def __init__(self, service: Any, bell: Any | None, stream: Stream, *, batch: int = 1) -> None:
        self.stream = stream
        self.lost = 0
        self._port = service.subscriber_builder().create()
        self._listener = bell.listener_builder().create() if bell else None
        self._size = stream.packing.size
        self._total = _HEAD.size + batch * self._size
        self._sender, self._next_sequence = -1.0, 0.0

    def records(self) -> Iterator[bytes]:
        """Everything that has arrived, as packed rows."""
        size = self._size
        while (sample := self._port.receive()) is not None:
            data = ctypes.string_at(sample.payload_ptr, self._total)
            sample.delete()
            sender, sequence, count = _HEAD.unpack_from(data)
            if sender != self._sender:  # the first, or the reference link has a new one
                self._sender = sender
            elif sequence < self._next_sequence:
                continue  # sent again for another subscriber
            else:
                self.lost += int(sequence - self._next_sequence)
            self._next_sequence = sequence + count
            for at in range(_HEAD.size, _HEAD.size + int(count) * size, size):
                yield data[at : at + size]

    def latest(self) -> tuple[float, ...] | None:
        records = list(self.records())
        return self.stream.packing.unpack(records[-1]) if records else None

    def wait(self, timeout_s: float) -> None:
        """Wait until the publisher notifies, or the timeout ends."""
        assert self._listener is not None, f"stream {self.stream.name} has no notification event"
        with suppress(iox2.ListenerWaitError):  # a signal arrived: the caller checks whether to stop
            self._listener.timed_wait(iox2.Duration.from_nanos(int(timeout_s * 1e9)))


class Topics:
    """The topics of one flight; `folder` is private to it, so that flights stay separate."""

    def __init__(
        self,
        folder: Path,
        *,
        wait: bool,
        lockstep: bool | None = None,
        held_s: float = LOCKSTEP_HELD_S,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """`wait` for a full subscriber, unless `stopped`: normally in a flight in `lockstep`. `held_s`: how long a row
        may wait for others in lockstep.

        LinkError, here and when a topic is opened, names what is missing on the machine.
        """
        config = iox2.config.default()
        config.global_cfg.root_path = iox2.Path.new(str(folder / "topics"))
        config.global_cfg.prefix = iox2.FileName.new(_prefix(folder))
        with _in_words():
            self._node = (
                iox2.NodeBuilder.new()
                .config(config)
                .signal_handling_mode(iox2.SignalHandlingMode.Disabled)
                .create(iox2.ServiceType.Ipc)
            )
        self._waits_until = stopped if wait else None
        self._lockstep = wait if lockstep is None else lockstep
        self._held_s = held_s if self._lockstep else HELD_S
        self._publishers: list[Publisher] = []

    def publisher(self, stream: Stream, *, batch: int | None = None) -> Publisher:
        """`batch`, where it is given, must be the same at both ends."""
        batch = self._batch(stream) if batch is None else batch
        with _in_words():
            service = self._service(stream, batch)
            publisher = Publisher(
                service,
                self._bell(stream),
                stream,
                waits_until=self._waits_until,
                batch=batch,
                held_s=self._held_s,
            )
        self._publishers.append(publisher)
        return publisher

    def subscriber(self, stream: Stream, *, batch: int | None = None) -> Subscriber:
        batch = self._batch(stream) if batch is None else batch
        with _in_words():
            return Subscriber(self._service(stream, batch), self._bell(stream), stream, batch=batch)

    def flush(self) -> None:
        """Send the queued records of this process's publishers."""
        for publisher in self._publishers:
            publisher.flush()

    def _batch(self, stream: Stream) -> int:
        held = self._lockstep and stream.rate_hz >= FAST_HZ and not stream.rings
        return LOCKSTEP_BATCH if held else stream.batch

    def _service(self, stream: Stream, batch: int) -> Any:
        return (
            self._node.service_builder(iox2.ServiceName.new(stream.name))
            .publish_subscribe(_payload_type(stream, batch))
            .enable_safe_overflow(False)
            .subscriber_max_buffer_size(max(1, BUFFERED_RECORDS // batch))
            .max_subscribers(MOST_SUBSCRIBERS)
            .open_or_create()
        )

    def _bell(self, stream: Stream) -> Any | None:
        if not stream.rings:
            return None
        return self._node.service_builder(iox2.ServiceName.new(f"{stream.name}/bell")).event().open_or_create()


@contextmanager
def _in_words() -> Iterator[None]:
    """iceoryx2 has a separate error for each object that it cannot create."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("iceoryx2"):
            raise
        what = f"the topics of the flight cannot be created in shared memory ({type(error).__name__}: {error})"
        raise LinkError(f"{what}: {lacking_words()}", root_cause=True) from None


def _prefix(folder: Path) -> str:
    return f"{folder.name}_"


def sweep(folder: Path) -> None:
    """Remove shared memory left by killed processes."""
    shutil.rmtree(folder / "topics", ignore_errors=True)
    for segment in SHARED_MEMORY.glob(f"{_prefix(folder)}*"):
        segment.unlink(missing_ok=True)
