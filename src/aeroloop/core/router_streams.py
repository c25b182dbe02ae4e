"""The router's part of the stream table: the state of its lines, in a flight or alone."""

from __future__ import annotations

from aeroloop.core.stream import Stream, timed

ROUTER_STREAMS: tuple[Stream, ...] = (
    Stream(
        "line",
        "router",
        2.0,
        False,
        True,
        "the state of one line of the router; counters since it began",
        timed(
            ("line", "-", "number of the line in the flight's lines.json"),
            ("up", "-", "1 while it is open and somebody is there"),
            ("role", "-", "number of its role in router.config.ROLES; the one commander adds 10"),
            ("frames_in", "-", "good frames received"),
            ("frames_out", "-", "frames sent"),
            ("bytes_in", "B", "bytes received"),
            ("bytes_out", "B", "bytes sent"),
            ("rate_in_hz", "Hz", "good frames a second, lately"),
            ("rate_out_hz", "Hz", "frames sent a second, lately"),
            ("load_in_pct", "%", "of what the baud rate can carry towards us; NaN where there is none"),
            ("load_out_pct", "%", "of what the baud rate can carry from us; NaN where there is none"),
            ("lost", "-", "gaps in the senders' numbering"),
            ("bad_checksums", "-", "frames whose checksum or signature did not hold"),
            ("duplicates", "-", "frames that had come before, on this or another line"),
            ("refused", "-", "frames that this line's role does not allow"),
            ("dropped", "-", "frames for this line that its full queue cost"),
            ("queued", "-", "frames that wait to be sent"),
            ("round_trip_s", "s", "newest round trip over this line; NaN while none is known"),
            ("last_seen_s", "s", "since the last good frame; NaN while there was none"),
        ),
    ),
    Stream(
        "line_message",
        "router",
        0.0,
        False,
        True,
        "one kind of message of one sender on one line of the router",
        timed(
            ("line", "-", "number of the line in the flight's lines.json"),
            ("outbound", "-", "1 for what the router sends"),
            ("system", "-", "the sender's system; 0 for frames without one"),
            ("component", "-", "the sender's component; 0 for frames without one"),
            ("message", "-", "number of the message"),
            ("rate_hz", "Hz", "messages a second, lately"),
            ("set_hz", "Hz", "the rate that it should have; 0 when it comes as it comes"),
            ("count", "-", "messages so far"),
            ("bytes", "B", "bytes so far"),
            ("last_seen_s", "s", "since the last one"),
        ),
    ),
)
LINE, LINE_MESSAGE = ROUTER_STREAMS
