"""The router's streams: the state of its links, in a flight or standalone."""

from __future__ import annotations

from aeroloop.core.stream import Stream, timed

ROUTER_STREAMS: tuple[Stream, ...] = (
    Stream(
        "router_link",
        "router",
        2.0,
        False,
        True,
        "state of one link of the router; counters since its start",
        timed(
            ("link", "-", "number of the link in the flight's links.json"),
            ("up", "-", "1 while it is open and a peer is connected"),
            ("role", "-", "number of its role in router.config.ROLES; 10 is added for the commander"),
            ("frames_in", "-", "valid frames received"),
            ("frames_out", "-", "frames sent"),
            ("bytes_in", "B", "bytes received"),
            ("bytes_out", "B", "bytes sent"),
            ("rate_in_hz", "Hz", "valid frames received per second, recent"),
            ("rate_out_hz", "Hz", "frames sent per second, recent"),
            ("load_in_pct", "%", "received bytes relative to the baud rate; NaN: no baud rate"),
            ("load_out_pct", "%", "sent bytes relative to the baud rate; NaN: no baud rate"),
            ("lost", "-", "gaps in the senders' sequence numbers"),
            ("bad_checksums", "-", "frames with a wrong checksum or signature"),
            ("duplicates", "-", "duplicate frames, received on this or another link before"),
            ("refused", "-", "frames that the role of this link does not allow"),
            ("dropped", "-", "frames dropped because the queue of this link was full"),
            ("queued", "-", "frames in the send queue"),
            ("round_trip_s", "s", "latest round-trip time of this link; NaN until measured"),
            ("last_seen_s", "s", "time since the last valid frame; NaN before the first"),
        ),
    ),
    Stream(
        "router_message",
        "router",
        0.0,
        False,
        True,
        "one message type of one sender on one link of the router",
        timed(
            ("link", "-", "number of the link in the flight's links.json"),
            ("outbound", "-", "1: sent by the router; 0: received"),
            ("system", "-", "the sender's system; 0 for frames without one"),
            ("component", "-", "the sender's component; 0 for frames without one"),
            ("message", "-", "number of the message"),
            ("rate_hz", "Hz", "messages per second, recent"),
            ("set_hz", "Hz", "set rate; 0 if none is set"),
            ("count", "-", "messages so far"),
            ("bytes", "B", "bytes so far"),
            ("last_seen_s", "s", "time since the last message"),
        ),
    ),
)
ROUTER_LINK, ROUTER_MESSAGE = ROUTER_STREAMS
