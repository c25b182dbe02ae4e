"""The messages that the router knows: pymavlink's largest dialect, so that other autopilots' own messages pass too.

It holds `common` and all others that do not contradict it. Only what routes imports this: it costs some megabytes.
"""

from __future__ import annotations

from typing import Any

from pymavlink.dialects.v20 import all as _all

from aeroloop.protocols.mavlink_framing import formats_of

KINDS: dict[int, Any] = _all.mavlink_map
"""By number: pymavlink's classes, which carry no types."""
FORMATS = formats_of(KINDS)
