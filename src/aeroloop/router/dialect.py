"""Messages known to the router: pymavlink's largest dialect, so that messages of other autopilots are forwarded too.

It contains `common` and all dialects compatible with it. Only routing code imports this module: it takes some
megabytes.
"""

from __future__ import annotations

from typing import Any

from pymavlink.dialects.v20 import all as _all

from aeroloop.protocols.mavlink_framing import formats_of

KINDS: dict[int, Any] = _all.mavlink_map
"""Message number -> pymavlink class, which is untyped."""
FORMATS = formats_of(KINDS)
