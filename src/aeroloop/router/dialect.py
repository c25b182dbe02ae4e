"""The messages that the router knows: pymavlink's largest dialect, so that other autopilots' own messages pass too.

It holds `common` and all others that do not contradict it. Only what routes imports this: it costs some megabytes.
"""

from __future__ import annotations

from typing import Any

from pymavlink.dialects.v20 import all as _all

KINDS: dict[int, Any] = _all.mavlink_map
"""By number: pymavlink's classes, which carry no types."""
FORMATS: dict[int, tuple[int, bytes]] = {
    number: (kind.unpacker.size, bytes([kind.crc_extra])) for number, kind in KINDS.items()
}
"""Length of the payload, and the byte that the checksum ends with."""
